//! What is measured of one store: how many commands a second it carries out, and how long
//! each of them takes.
//!
//! * **Throughput:** all commands, one after the other, without a clock between.
//! * **Closed loop:** the next command comes when the last one is answered, and each one is
//!   timed.
//! * **Open loop:** commands come at a fixed rate, whether the engine is ready or not. The
//!   latency counts from when a command was to come, so one that is late delays those after it.
//!
//! A pass starts *from empty*, where the store grows from nothing and all commands count, or
//! *reserved*, where its memory was allocated and touched and the books are full before the
//! first command that counts.
//!
//! A desk knows the ids that a store gives, so that they stand in the commands as on the
//! wire. It records them in a pass that is not timed, and in another process: the timed one
//! must not find memory that such a pass has left.

use std::hint::{black_box, spin_loop};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use order_flow::command::Command;
use order_flow::program::Failure;
use order_flow::tape::Tape;
use order_flow::traffic::{Extent, Traffic};
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use crate::interruptions::{Interruptions, Watch};
use crate::stores::Subject;
use crate::wire;

/// A command that took longer, in ns, may have been interrupted: a switch to another program
/// and back takes about as long.
const SUSPECT: u64 = 10_000;
/// After so many commands, what was interrupted between two of them is forgotten: it is not to
/// be taken for a part of the next long one.
const LOOK: usize = 1_024;
/// Commands written to the wire at once.
const BATCH: usize = 4_096;

/// How the store begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// The store grows from nothing.
    Empty,
    /// Its memory was allocated and touched, and the books are full.
    Reserved,
}

impl Start {
    /// Both.
    pub const ALL: [Start; 2] = [Start::Empty, Start::Reserved];

    /// The first commands, which are not timed.
    fn uncounted(self, traffic: &Traffic) -> usize {
        match self {
            Start::Empty => 0,
            Start::Reserved => traffic.ramp,
        }
    }
}

/// The latencies of one pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p99_9_ns: u64,
    /// The 99.99th percentile.
    pub p99_99_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl Latency {
    /// The latencies that a histogram holds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let percentile = |percent| histogram.value_at_percentile(percent);
        Latency {
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            p99_9_ns: percentile(99.9),
            p99_99_ns: percentile(99.99),
            longest_ns: histogram.max(),
        }
    }
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pass {
    /// Without a clock between commands.
    Throughput,
    /// The next command comes when the last one is answered.
    Closed,
    /// Commands come at a fixed rate.
    Open {
        /// The rate.
        commands_per_second: f64,
    },
}

/// What one pass has shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// Of the thread's own time.
    pub commands_per_second: u64,
    /// Of single commands, unless it was [`Pass::Throughput`].
    pub latency: Latency,
    /// What the machine did at the same time.
    pub interruptions: Interruptions,
    /// At the end.
    tape: Tape,
}

/// The ids that one store gives, and the tape and books that its commands lead to.
pub(crate) struct Desk<'a> {
    traffic: &'a Traffic,
    start: Start,
    /// Of each command.
    ids: Vec<u64>,
    pub(crate) tape: Tape,
    /// Of the books at the end.
    pub(crate) digest: u64,
    pub(crate) bytes_per_order: usize,
}

impl<'a> Desk<'a> {
    /// Records the ids that the store gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if there is no memory.
    pub(crate) fn new<E: Subject>(traffic: &'a Traffic, start: Start) -> Result<Self, Failure> {
        let mut engine: E = opened(traffic, start)?;
        let wire = wire::record(traffic, &mut engine);
        Ok(Desk {
            traffic,
            start,
            ids: wire.iter().map(|command| command.id).collect(),
            digest: engine.digest(),
            tape: engine.tape().clone(),
            bytes_per_order: E::ORDER_BYTES,
        })
    }

    /// The number of commands that count.
    pub(crate) fn counted(&self) -> usize {
        self.traffic.commands.len() - self.start.uncounted(self.traffic)
    }

    /// What another process needs for a pass, besides the wire.
    pub(crate) fn assignment(&self, pass: Pass, running: bool) -> Assignment {
        Assignment {
            pass,
            running,
            start: self.start,
            commands: self.traffic.commands.len(),
            uncounted: self.start.uncounted(self.traffic),
            extent: self.traffic.extent,
            peak: self.traffic.peak,
        }
    }

    /// Writes the commands as they stand on the wire.
    pub(crate) fn write_wire(&self, out: &mut dyn Write) -> io::Result<()> {
        let batches = self
            .traffic
            .commands
            .chunks(BATCH)
            .zip(self.ids.chunks(BATCH));
        let mut wire = Vec::with_capacity(BATCH);
        for (commands, ids) in batches {
            let with_ids = commands.iter().zip(ids);
            wire.clear();
            wire.extend(with_ids.map(|(command, &id)| Command { id, ..*command }));
            out.write_all(wire.as_bytes())?;
        }
        Ok(())
    }

    /// Whether a pass has ended as the recorded one.
    pub(crate) fn agrees(&self, timed: &Timed) -> bool {
        timed.tape == self.tape
    }
}

/// One pass, for a process that has only the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    pass: Pass,
    /// Whether the process is to be as one that has been running.
    pub(crate) running: bool,
    start: Start,
    /// On the wire.
    pub(crate) commands: usize,
    uncounted: usize,
    extent: Extent,
    peak: usize,
}

impl Assignment {
    /// Carries out the commands of the wire and times those that count.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if there is no memory.
    pub(crate) fn time<E: Subject>(&self, wire: &[Command]) -> Result<Timed, Failure> {
        let mut engine = E::open(self.extent, self.peak, self.start == Start::Reserved)?;
        let (uncounted, counted) = wire.split_at(self.uncounted);
        for command in uncounted {
            engine.apply(command);
        }
        let mut histogram = histogram();
        let mut watch = Watch::new();
        match self.pass {
            Pass::Throughput => all(&mut engine, counted),
            Pass::Closed => closed(&mut engine, counted, &mut watch, &mut histogram),
            Pass::Open {
                commands_per_second: rate,
            } => open_loop(&mut engine, counted, 1e9 / rate, &mut histogram),
        }
        let (ran, interruptions) = watch.end();
        Ok(Timed {
            commands_per_second: (counted.len() as f64 / ran.as_secs_f64()) as u64,
            latency: Latency::of(&histogram),
            interruptions,
            tape: engine.tape().clone(),
        })
    }
}

/// An engine that is ready for the first command.
pub(crate) fn opened<E: Subject>(traffic: &Traffic, start: Start) -> Result<E, Failure> {
    E::open(traffic.extent, traffic.peak, start == Start::Reserved)
}

#[inline(never)]
fn all<E: Subject>(engine: &mut E, commands: &[Command]) {
    for command in commands {
        black_box(engine.apply(command));
    }
}

#[inline(never)]
fn closed<E: Subject>(
    engine: &mut E,
    commands: &[Command],
    watch: &mut Watch,
    histogram: &mut Histogram<u64>,
) {
    for batch in commands.chunks(LOOK) {
        watch.look();
        for command in batch {
            let start = Instant::now();
            black_box(engine.apply(command));
            let mut elapsed = start.elapsed().as_nanos() as u64;
            if elapsed > SUSPECT {
                elapsed -= elapsed.min(watch.look());
            }
            histogram.saturating_record(elapsed);
        }
    }
}

#[inline(never)]
fn open_loop<E: Subject>(
    engine: &mut E,
    commands: &[Command],
    interval_ns: f64,
    histogram: &mut Histogram<u64>,
) {
    let start = Instant::now();
    for (turn, command) in commands.iter().enumerate() {
        let due = Duration::from_nanos((turn as f64 * interval_ns) as u64);
        while start.elapsed() < due {
            spin_loop();
        }
        black_box(engine.apply(command));
        let late = start.elapsed().saturating_sub(due);
        histogram.saturating_record(late.as_nanos() as u64);
    }
}

/// Three digits are finer than the clock. A command of more than a minute counts as one
/// minute. All of its memory has been touched.
pub fn histogram() -> Histogram<u64> {
    let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3);
    let mut histogram = histogram.expect("the bounds are valid");
    histogram.reset();
    histogram
}
