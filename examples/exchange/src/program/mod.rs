//! Five threads, and what is between them:
//!
//! ```text
//!            frames            commands, a ring of two threads
//! clients ──────────▶ gateway ─────────────────────────────────▶ engine
//!                        ▲   reports, handed over and retired     │  │ events, one ring
//!                        └────────────────────────────────────────┘  ├──▶ journal
//!                                                                    ├──▶ standby, from a snapshot on
//!                                                                    └╌╌▶ market data, may miss some
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `gateway.rs` | decodes a batch of frames into an arena's scope, takes reports |
//! | `engine.rs` | carries commands out, reports, says what happened |
//! | `readers.rs` | the journal; the standby; market data, which never holds the engine up |

mod engine;
mod gateway;
pub(crate) mod readers;

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use engine_trial::measure::{Latency, histogram};
use engine_trial::stores::Subject;
use engine_trial::wire;
use order_book::matching::Engine;
use order_flow::digest::Digest;
use order_flow::program::{FAILED, Failure};
use order_flow::traffic::Traffic;

use self::engine::Desk;
use self::gateway::{Gateway, Pace};
use super::parts::{self, Batches, Consumer, Events, Orders};
use crate::allocations;
use crate::cli::Load;
use crate::clients;
use crate::frame::BadFrame;
use crate::outcome::Outcome;

/// Commands under way at once.
const UNDER_WAY: usize = 1_024;
/// Events that a reader may fall behind.
const EVENTS: usize = 4 * UNDER_WAY;

/// Runs an exchange: fills its books, warms up, and then counts.
///
/// # Errors
///
/// [`Failure`], if there is no memory, or the threads do not agree in the end.
pub(crate) fn run(load: &Load) -> Result<Outcome, Failure> {
    let traffic = load.traffic()?;
    let engine = || new_engine(&traffic);
    // Clients know the ids from reports; a store gives the same ones each time.
    let wire = wire::record(&traffic, &mut engine()?);
    let (received, bad) = clients::all(&wire);
    drop(wire);

    let (to_engine, at_engine) = parts::queue(UNDER_WAY);
    let mut events = Events::new(EVENTS);
    let (mut journal, mut quotes) = (events.join(), events.follow());
    let (reports, at_gateway) = parts::reports(UNDER_WAY);
    let (snapshots, taken) = mpsc::channel();
    let desk = Desk {
        engine: engine()?,
        commands: at_engine,
        events,
        reports,
        snapshot_at: parts::snapshot_at(traffic.ramp),
        snapshots,
    };
    let mut gateway = Gateway {
        clients: received.iter(),
        symbols: load.symbols,
        batches: Batches::new(),
        commands: to_engine,
        reports: at_gateway,
        came: vec![Instant::now(); UNDER_WAY],
        sent: 0,
        reported: 0,
        bad: [0; BadFrame::COUNT],
        answers: Digest::new(),
    };
    let mut unread = histogram();
    let (mut closed, mut open) = (histogram(), histogram());

    thread::scope(|scope| {
        let (slow, most, extent) = (load.slow, traffic.peak, traffic.extent);
        let engine = scope.spawn(|| on_core(1, || desk.run()));
        let market = scope.spawn(move || on_core(1, || readers::write_market(&mut quotes, slow)));
        let journal = scope.spawn(move || on_core(0, || readers::write_journal(&mut journal)));
        let standby = scope.spawn(move || on_core(0, || readers::follow(&taken, most, extent)));

        let (warm, each) = (
            (traffic.ramp + load.warm()) as u64,
            u64::from(load.commands),
        );
        let pass = || {
            let window = Pace::Window(UNDER_WAY);
            gateway.run(warm, window, &mut unread);
            // What counts: as fast as it goes, one at a time, and at half of what it can.
            let faults = allocations::page_faults();
            let ((elapsed, interval), calls) = allocations::during(|| {
                let elapsed = gateway.run(warm + each, window, &mut unread);
                gateway.run(warm + 2 * each, Pace::Window(1), &mut closed);
                let interval = 2 * elapsed / each as u32;
                gateway.run(warm + 3 * each, Pace::Every(interval), &mut open);
                (elapsed, interval)
            });
            let faults = allocations::page_faults().zip(faults);
            (
                elapsed,
                interval,
                calls,
                faults.map(|(after, before)| after - before),
            )
        };
        let (elapsed, interval, calls, faults) = on_core(0, pass);

        // Closes the engine, which closes what is behind it: all drains, and nothing is lost.
        drop(gateway.commands);
        let joined = "a thread that panics ends the program";
        let engine = engine.join().expect(joined);
        let seen = market.join().expect(joined);
        let journal = journal.join().expect(joined);
        let standby = standby.join().expect(joined)?;
        let (digest, tape) = (engine.engine.digest(), &engine.engine.clients.tape);
        if (digest, tape) != (standby.digest(), &standby.clients.tape) {
            return Err(Failure::Run("the standby ends otherwise".to_owned()));
        }
        let answers = engine.answers.finish();
        if journal.finish() != answers {
            return Err(Failure::Run(
                "the journal is not what was answered".to_owned(),
            ));
        }
        if gateway.answers.finish() != answers {
            return Err(Failure::Run("reports are not what was answered".to_owned()));
        }
        if gateway.bad != bad {
            let counts = format!("{:?} were refused, {bad:?} are bad", gateway.bad);
            return Err(Failure::Run(counts));
        }
        Ok(Outcome {
            name: parts::NAME.to_owned(),
            digest,
            orders: traffic.peak,
            warm,
            bad,
            commands: each,
            per_second: (each as f64 / elapsed.as_secs_f64()) as u64,
            closed: Latency::of(&closed),
            open: Latency::of(&open),
            interval_ns: interval.as_nanos() as u64,
            calls,
            faults,
            seen,
            published: engine.published,
        })
    })
}

fn new_engine(traffic: &Traffic) -> Result<Engine<Orders>, Failure> {
    Ok(Engine::new(parts::orders(traffic.peak)?, traffic.extent))
}

/// Runs one of the threads, always on the same core: which two of them share one decides more than
/// what they are made of. None of them ends alone.
fn on_core<R>(number: usize, f: impl FnOnce() -> R) -> R {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if let Some(core) = cores.get(number % cores.len().max(1)) {
        core_affinity::set_for_current(*core);
    }
    ending_all(f)
}

/// A thread that others wait for must not end alone.
fn ending_all<R>(f: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if thread::panicking() {
                std::process::exit(FAILED.into());
            }
        }
    }
    let _end = End;
    f()
}

/// The next value; `None` when the ring is closed and empty.
fn next<T: Copy>(ring: &mut Consumer<T>) -> Option<T> {
    let mut is_closed = false;
    loop {
        let value = ring.pop();
        if value.is_some() {
            return value;
        }
        if is_closed {
            return None;
        }
        // Looks once more when it is closed: what was pushed before is found.
        is_closed = ring.is_closed();
        if !is_closed {
            thread::yield_now();
        }
    }
}

/// There are more threads than cores: one that has to wait lets another one run.
fn wait_for<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    loop {
        match attempt() {
            Some(result) => return result,
            None => thread::yield_now(),
        }
    }
}
