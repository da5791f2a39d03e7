//! The exchange: a gateway, the engine, market data and a standby, each on a thread of its own,
//! and every family of flatslab at work between them.
//!
//! Read `program/mod.rs` first: the four threads. `frame.rs` says what stands on the wire, and
//! `parts.rs` what all is made of. `clients.rs` is their load, and what is here the command line.

pub(crate) mod clients;
pub(crate) mod frame;
mod parts;
pub(crate) mod program;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, value_parser};
use serde::{Deserialize, Serialize};

use self::frame::BadFrame;
use crate::engine::measure::Latency;
use crate::engine::script::Script;
use crate::engine::traffic::{Market, Traffic};
use crate::exit::{FAILED, Failure, written};
use crate::feed::flow::Flow;
use crate::memory;
use crate::table::grouped;

/// Messages of a symbol before its book is as full as those of a real hour.
const OPENING: usize = 10_000;

/// Runs an exchange: gateway, engine, market data and standby, each on a thread of its own, and
/// counts calls of the allocator and page faults while it runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    load: Load,

    /// End with 1 if there was a page fault
    #[arg(long)]
    strict: bool,
}

/// What the exchange has to do.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// Symbols
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) symbols: u32,

    /// Commands of each of the three passes that count
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub(crate) commands: u32,

    /// Seed of the commands
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The reader of market data pauses after each so many frames
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) slow: Option<u64>,
}

impl Load {
    /// Commands after the snapshot, before anything counts: some of each symbol.
    pub(crate) fn warm(&self) -> usize {
        20_000.max(40 * self.symbols as usize)
    }

    /// What is to be done, as commands.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if there is no memory for them.
    pub(crate) fn traffic(&self) -> Result<Traffic, Failure> {
        let commands = 3 * self.commands as usize + self.warm();
        // As much as was seen, and half of it more.
        let bytes = u128::from(self.symbols) * 160_000 + commands as u128 * 160;
        memory::check(
            &format!("{} symbols and {commands} commands", self.symbols),
            bytes,
        )?;
        let symbols = self.symbols as usize;
        let of_each = commands * 3 / 2 / symbols + 100;
        let messages: Vec<_> = Flow::new(self.seed).take(OPENING + of_each).collect();
        let market = Market {
            seed: self.seed,
            symbols,
            sessions: 16_384,
            commands,
            late: 20,
        };
        Ok(Traffic::new(&Script::after(OPENING, &messages), market))
    }
}

/// Runs it, and prints what came of it.
///
/// # Errors
///
/// [`Failure`], if it cannot, if the standby differs, or the allocator was called.
pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let outcome = program::run(&arguments.load)?;
    let told = writeln!(out, "{outcome}").and_then(|()| out.flush());
    if outcome.calls > 0 {
        let calls = grouped(outcome.calls);
        return Err(Failure::Run(format!(
            "the allocator was called {calls} times"
        )));
    }
    if arguments.strict && outcome.faults != Some(0) {
        let _ = writeln!(err, "error: there were page faults");
        return Ok(ExitCode::from(FAILED));
    }
    Ok(written(told, err))
}

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
            "An exchange on four threads: {} live orders at most; {} commands to warm up, then \
             three times {}.\n\
             {} commands a second, from the frame to the report.\n\
             One at a time: {}.\n\
             One every {} ns: {}.\n\
             Bad frames were refused: {length} for their length, {kind} for their kind, {session} \
             for their session, {range} for their range.\n\
             Market data: {} frames published, {} written, {} missed by their reader.\n\
             Calls of the allocator while it ran, in all threads: {}; page faults: {}.\n\
             The standby, from a snapshot and the log, gave every order the same id, and ends with \
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
