//! What is measured of one store: how many commands a second it carries out, and how long
//! each of them takes.
//!
//! * **Throughput:** all commands, one after the other, without a clock between.
//! * **Closed loop:** the next command comes when the last one is answered, and each one is
//!   timed.
//! * **Open loop:** commands come at a fixed rate, whether the engine is ready or not. The
//!   latency counts from when a command was to come, so one that is late makes those behind
//!   it late, too.
//!
//! Each of them runs twice: *from empty*, where the store grows from nothing and all commands
//! count, and *reserved*, where its memory was allocated and touched and the books are full
//! before the first command that counts.

use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use flatslab::BuildError;
use hdrhistogram::Histogram;
use order_flow::message::Side;
use order_flow::program::Failure;
use serde::{Deserialize, Serialize};

use crate::engine::command::Command;
use crate::engine::matching::Engine;
use crate::engine::order::Order;
use crate::engine::store::{Room, Store, prefault};
use crate::engine::tape::Tape;
use crate::engine::traffic::Traffic;
use crate::engine::wire;

/// Longer than this, in ns, is counted.
const LONG: u64 = 100_000;

/// How the store begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Empty,
    Reserved,
}

impl Start {
    pub(crate) const ALL: [Start; 2] = [Start::Empty, Start::Reserved];
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
    pub max_ns: u64,
    /// How many were longer than 100 µs.
    pub long: u64,
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
            max_ns: histogram.max(),
            long: histogram.count_between(LONG, u64::MAX),
        }
    }
}

/// One store's commands as they stand on the wire, and what they must lead to.
pub(crate) struct Desk<'a> {
    traffic: &'a Traffic,
    start: Start,
    wire: Vec<Command>,
    /// At the end.
    tape: Tape,
    /// Of the books at the end.
    pub(crate) digest: u64,
}

impl<'a> Desk<'a> {
    /// Records the ids that the store gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if there is no memory.
    pub(crate) fn new<S: Store>(traffic: &'a Traffic, start: Start) -> Result<Self, Failure> {
        let mut engine = opened::<S>(traffic, start)?;
        let wire = wire::record(traffic, &mut engine);
        Ok(Desk {
            traffic,
            start,
            wire,
            digest: engine.digest(),
            tape: engine.state.tape,
        })
    }

    /// The commands that count.
    pub(crate) fn counted(&self) -> &[Command] {
        match self.start {
            Start::Empty => &self.wire,
            Start::Reserved => &self.wire[self.traffic.ramp..],
        }
    }

    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }

    /// Lets `time` carry out the commands that count, on an engine that is ready for them.
    fn pass<S: Store, R>(
        &self,
        time: impl FnOnce(&mut Engine<S>, &[Command]) -> R,
    ) -> Result<R, Failure> {
        let mut engine = opened::<S>(self.traffic, self.start)?;
        let counted = self.counted();
        for command in &self.wire[..self.wire.len() - counted.len()] {
            engine.apply(command);
        }
        let result = time(&mut engine, counted);
        match engine.state.tape == self.tape {
            true => Ok(result),
            false => Err(Failure::Run("two passes through a store differ".to_owned())),
        }
    }

    /// Commands a second.
    pub(crate) fn throughput<S: Store>(&self) -> Result<u64, Failure> {
        let elapsed = self.pass(all::<S>)?;
        Ok((self.counted().len() as f64 / elapsed.as_secs_f64()) as u64)
    }

    /// The latencies if each command waits for the last one.
    pub(crate) fn closed<S: Store>(&self) -> Result<Latency, Failure> {
        let mut histogram = histogram();
        self.pass(|engine: &mut Engine<S>, commands| closed(engine, commands, &mut histogram))?;
        Ok(Latency::of(&histogram))
    }

    /// The latencies at a fixed rate, in commands a second.
    pub(crate) fn open<S: Store>(&self, rate: f64) -> Result<Latency, Failure> {
        let mut histogram = histogram();
        self.pass(|engine: &mut Engine<S>, commands| {
            open(engine, commands, 1e9 / rate, &mut histogram);
        })?;
        Ok(Latency::of(&histogram))
    }
}

/// An engine that is ready for the first command.
pub(crate) fn opened<S: Store>(traffic: &Traffic, start: Start) -> Result<Engine<S>, Failure> {
    Ok(Engine::new(store(traffic.peak, start)?, traffic.extent()))
}

/// An empty store with room for so many orders, whose memory has been touched.
pub fn reserved<S: Store>(orders: usize) -> Result<S, Failure> {
    store(orders, Start::Reserved)
}

fn store<S: Store>(orders: usize, start: Start) -> Result<S, Failure> {
    let room = Room {
        orders,
        reserved: start == Start::Reserved,
    };
    let failed =
        |error: BuildError| Failure::Run(format!("no room for {} orders: {error}", room.orders));
    // SAFETY: the engine gives the store its own links alone, by E1 of its module. Where the
    // store trusts ids, `Clerk::address` gives `NO_ID` for what is late or forged, and all
    // others are of live orders, as the traffic says.
    let mut store = unsafe { S::open(room) }.map_err(failed)?;
    if start == Start::Reserved {
        let order = Order {
            earlier: S::NONE,
            later: S::NONE,
            newer: S::NONE,
            older: S::NONE,
            price: 0,
            open: 0,
            filled: 0,
            session: 0,
            reference: [0; 2],
            symbol: 0,
            side: Side::Buy,
        };
        prefault(&mut store, room.orders, order);
    }
    Ok(store)
}

#[inline(never)]
fn all<S: Store>(engine: &mut Engine<S>, commands: &[Command]) -> Duration {
    let start = Instant::now();
    for command in commands {
        black_box(engine.apply(command));
    }
    start.elapsed()
}

#[inline(never)]
fn closed<S: Store>(engine: &mut Engine<S>, commands: &[Command], histogram: &mut Histogram<u64>) {
    for command in commands {
        let start = Instant::now();
        black_box(engine.apply(command));
        let elapsed = start.elapsed();
        histogram.saturating_record(elapsed.as_nanos() as u64);
    }
}

#[inline(never)]
fn open<S: Store>(
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
