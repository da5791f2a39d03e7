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
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use flatslab::BuildError;
use hdrhistogram::Histogram;
use order_flow::program::Failure;
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use crate::book::LevelId;
use crate::command::Command;
use crate::matching::Engine;
use crate::order::Order;
use crate::sessions::Member;
use crate::store::{Room, SessionStore, prefault};
use crate::tape::Tape;
use crate::timing::interruptions::{Interruptions, Watch};
use crate::traffic::Traffic;
use crate::wire;

/// Longer than this, in ns, is counted.
const LONG: u64 = 100_000;
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
pub(crate) enum Start {
    Empty,
    Reserved,
}

impl Start {
    pub(crate) const ALL: [Start; 2] = [Start::Empty, Start::Reserved];

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
    /// How many were longer than 100 µs.
    pub above_100_us: u64,
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
            above_100_us: histogram.count_between(LONG, u64::MAX),
        }
    }
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pass {
    Throughput,
    Closed,
    Open { commands_per_second: f64 },
}

/// What one pass has shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timed {
    pub(crate) commands_per_second: u64,
    /// Of single commands, unless it was [`Pass::Throughput`].
    pub(crate) latency: Latency,
    pub(crate) interruptions: Interruptions,
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
}

impl<'a> Desk<'a> {
    /// Records the ids that the store gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if there is no memory.
    pub(crate) fn new<S: SessionStore>(
        traffic: &'a Traffic,
        start: Start,
    ) -> Result<Self, Failure> {
        let mut engine = opened::<S>(traffic, start)?;
        let wire = wire::record(traffic, &mut engine);
        Ok(Desk {
            traffic,
            start,
            ids: wire.iter().map(|command| command.id).collect(),
            digest: engine.digest(),
            tape: engine.clients.tape,
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
            ramp: self.traffic.ramp,
            symbols: self.traffic.symbols,
            sessions: self.traffic.sessions,
            pages: self.traffic.pages,
            tick: self.traffic.tick,
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
    ramp: usize,
    symbols: usize,
    sessions: usize,
    pages: usize,
    tick: u32,
    peak: usize,
}

impl Assignment {
    /// Carries out the commands of the wire and times those that count.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if there is no memory.
    pub(crate) fn time<S: SessionStore>(&self, wire: &[Command]) -> Result<Timed, Failure> {
        let traffic = Traffic {
            commands: Vec::new(),
            targets: Vec::new(),
            ramp: self.ramp,
            symbols: self.symbols,
            sessions: self.sessions,
            pages: self.pages,
            tick: self.tick,
            peak: self.peak,
        };
        let mut engine = opened::<S>(&traffic, self.start)?;
        let (uncounted, counted) = wire.split_at(self.start.uncounted(&traffic));
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
            } => open(&mut engine, counted, 1e9 / rate, &mut histogram),
        }
        let (ran, interruptions) = watch.end();
        Ok(Timed {
            commands_per_second: (counted.len() as f64 / ran.as_secs_f64()) as u64,
            latency: Latency::of(&histogram),
            interruptions,
            tape: engine.clients.tape,
        })
    }
}

/// An engine that is ready for the first command.
pub(crate) fn opened<S: SessionStore>(
    traffic: &Traffic,
    start: Start,
) -> Result<Engine<S>, Failure> {
    Ok(Engine::new(store(traffic.peak, start)?, traffic.extent()))
}

/// An empty store with room for so many orders, whose memory has been touched.
pub fn reserved<S: SessionStore>(orders: usize) -> Result<S, Failure> {
    store(orders, Start::Reserved)
}

fn store<S: SessionStore>(orders: usize, start: Start) -> Result<S, Failure> {
    let room = Room {
        orders,
        reserved: start == Start::Reserved,
    };
    let failed =
        |error: BuildError| Failure::Run(format!("no room for {} orders: {error}", room.orders));
    // SAFETY: the engine gives the store its own links alone, by E1 of its module.
    let mut store = unsafe { S::open(room) }.map_err(failed)?;
    if start == Start::Reserved {
        prefault(&mut store, room.orders, empty::<S>());
    }
    Ok(store)
}

/// An order that is inserted so that its memory has been touched.
fn empty<S: SessionStore>() -> Order<S::Link, S::Owner> {
    Order {
        earlier: S::NONE,
        later: S::NONE,
        open: NonZeroU32::MIN,
        level: LevelId::NONE,
        owner: Member::of_none(S::NONE),
    }
}

#[inline(never)]
fn all<S: SessionStore>(engine: &mut Engine<S>, commands: &[Command]) {
    for command in commands {
        black_box(engine.apply(command));
    }
}

#[inline(never)]
fn closed<S: SessionStore>(
    engine: &mut Engine<S>,
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
fn open<S: SessionStore>(
    engine: &mut Engine<S>,
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
