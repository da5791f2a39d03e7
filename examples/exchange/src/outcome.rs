//! What came of a run.

use std::fmt;

use engine_trial::measure::Latency;
use order_flow::program::table::grouped;
use serde::{Deserialize, Serialize};

use crate::frame::BadFrame;

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// Of the books and trades, whatever the exchange is made of.
    pub(crate) digest: u64,
    pub(crate) orders: usize,
    pub(crate) warm: u64,
    /// Frames refused, by reason: length, kind, session, range.
    pub(crate) bad: [u64; BadFrame::COUNT],
    pub(crate) commands: u64,
    pub(crate) per_second: u64,
    /// One command at a time.
    pub(crate) closed: Latency,
    /// One in each interval.
    pub(crate) open: Latency,
    pub(crate) interval_ns: u64,
    pub(crate) calls: u64,
    pub(crate) faults: Option<u64>,
    pub(crate) published: u64,
    pub(crate) seen: Seen,
}

/// What the reader of market data has seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) frames: u64,
    /// Overwritten before it came to them.
    pub(crate) missed: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = |it: &Latency| {
            let [p50, p99, p99_9, longest] =
                [it.p50_ns, it.p99_ns, it.p99_9_ns, it.longest_ns / 1_000].map(grouped);
            format!("p50 {p50} ns, p99 {p99} ns, p99.9 {p99_9} ns, longest {longest} µs")
        };
        let [length, kind, session, range] = self.bad;
        write!(
            f,
            "An exchange on five threads: {} live orders at most; {} commands to warm up, then \
             three times {}.\n\
             {} commands a second, from the frame to the report.\n\
             One at a time: {}.\n\
             One every {} ns: {}.\n\
             Bad frames were refused: {length} for their length, {kind} for their kind, {session} \
             for their session, {range} for their range.\n\
             Market data: {} frames published, {} written, {} missed by their reader.\n\
             Calls of the allocator while it ran, in all threads: {}; page faults: {}.\n\
             The standby, from a snapshot and the events, gave every order the same id, and ends with \
             the same books and trades.",
            grouped(self.orders as u64),
            grouped(self.warm),
            grouped(self.commands),
            grouped(self.per_second),
            latency(&self.closed),
            grouped(self.interval_ns),
            latency(&self.open),
            grouped(self.published),
            grouped(self.seen.frames),
            grouped(self.published - self.seen.frames),
            self.calls,
            self.faults.map_or("unknown".to_owned(), grouped),
        )
    }
}
