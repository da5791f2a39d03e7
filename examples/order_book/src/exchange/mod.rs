//! The exchange: a gateway, the engine, market data and a standby, each on a thread of its own,
//! and every family of flatslab at work between them.
//!
//! ```text
//!            frames            commands, a ring of two threads
//! clients ──────────▶ gateway ─────────────────────────────────▶ engine ──▶ market data
//!                        ▲   reports, handed over and retired     │  │  quotes, a ring that
//!                        └────────────────────────────────────────┘  │  overwrites the oldest
//!                                                    log, a ring of  ▼
//!                                                    two threads   standby, from a snapshot on
//! ```
//!
//! The gateway decodes a batch of frames into an arena's scope. The orders live in a key slab on
//! huge pages where there are such; their keys are the ids. Reports live in a slab of the engine's
//! thread; the gateway reads each and gives it back undropped. The standby begins with a snapshot,
//! carries out what is logged, and must give each order the same id.
//!
//! | file | contents |
//! |---|---|
//! | `client.rs`, `frame.rs` | what comes in, and what of it is refused |
//! | `threads.rs` | the four threads |
//! | `plumbing.rs`, `flat.rs` | what is between them: traits, and flatslab |
//! | `rivals.rs`, `report.rs` | the same on what else there is; the tables |

mod client;
mod flat;
mod frame;
mod plumbing;
mod report;
mod rivals;
mod threads;

use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use clap::{Args, ValueEnum, value_parser};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use self::client::Stream;
use self::flat::Flat;
use self::frame::{BadFrame, COMMAND, LOGGED, QUOTE};
use self::plumbing::{Plumbing, Push};
use self::rivals::{Boxed, Recycled};
use self::threads::{Desk, Gateway, Pace, SNAPSHOT, STOP, Seen, follow, wait_for, write_market};
use crate::allocations;
use crate::engine::matching::Engine;
use crate::engine::measure::Latency;
use crate::engine::script::Script;
use crate::engine::traffic::{Market, Traffic};
use crate::engine::wire;
use crate::exit::{FAILED, Failure, written};
use crate::feed::book::Digest;
use crate::feed::flow::Flow;

/// Commands under way at once.
const UNDER_WAY: usize = 1_024;
/// Quotes that a reader may fall behind.
const QUOTES: usize = 4_096;
/// Messages of a symbol before its book is as full as those of a real hour.
const OPENING: usize = 10_000;
/// Commands after the snapshot, before anything counts.
const WARM: usize = 20_000;

/// Runs an exchange: gateway, engine, market data and standby, each on a thread of its own, and
/// counts calls of the allocator and page faults while it runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    /// Symbols
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = value_parser!(u32).range(1..=65_535))]
    symbols: u32,

    /// Commands of each of the three passes that count
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000_000))]
    commands: u32,

    /// Seed of the commands
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The reader of market data pauses after each so many frames
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    slow: Option<u64>,

    /// End with 1 if there was a page fault
    #[arg(long)]
    strict: bool,

    /// Run the same program on other queues, stores and buffers too, so many times each, in
    /// processes of their own
    #[arg(long, value_name = "ROUNDS", conflicts_with = "strict")]
    beside: Option<u32>,

    /// Run on one of them, for another process of this program
    #[arg(long, value_enum, hide = true)]
    child: Option<Kind>,
}

/// What the exchange is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Flat,
    Recycled,
    Boxed,
}

impl Kind {
    fn run(self, arguments: &Arguments) -> Result<Outcome, Failure> {
        match self {
            Kind::Flat => exchange::<Flat>(arguments),
            Kind::Recycled => exchange::<Recycled>(arguments),
            Kind::Boxed => exchange::<Boxed>(arguments),
        }
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
    if let Some(rounds) = arguments.beside {
        return report::beside(arguments, rounds, out, err);
    }
    let outcome = arguments.child.unwrap_or(Kind::Flat).run(arguments)?;
    let told = match arguments.child {
        Some(_) => serde_json::to_writer(&mut *out, &outcome).map_err(std::io::Error::from),
        None => report::write(&outcome, out),
    };
    let told = told.and_then(|()| out.flush());
    if outcome.calls > 0 && arguments.child.is_none() {
        return Err(Failure::Run(format!(
            "the allocator was called {} times while the exchange ran",
            outcome.calls
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
struct Outcome {
    name: String,
    /// Of all trades, refusals and books, whatever the exchange is made of.
    digest: u64,
    orders: usize,
    warm: u64,
    bad: [u64; BadFrame::COUNT],
    commands: u64,
    per_second: u64,
    /// One command at a time.
    closed: Latency,
    /// One in each interval.
    open: Latency,
    interval_ns: u64,
    calls: u64,
    faults: Option<u64>,
    seen: Seen,
    published: u64,
}

/// The commands, each with the id that the store gives: clients have them from the reports before.
fn commands<P: Plumbing>(arguments: &Arguments) -> Result<(Traffic, Stream), Failure> {
    let counted = 3 * arguments.commands as usize + WARM;
    let symbols = arguments.symbols as usize;
    let of_each = counted * 3 / 2 / symbols + 100;
    let messages: Vec<_> = Flow::new(arguments.seed).take(OPENING + of_each).collect();
    let market = Market {
        seed: arguments.seed,
        symbols,
        sessions: 16_384,
        commands: counted,
        late: 20,
    };
    let traffic = Traffic::new(&Script::after(OPENING, &messages), market);
    // From a store as the engine will have: another one could give other ids.
    let mut engine = Engine::new(P::store(traffic.peak)?, traffic.extent());
    let stream = Stream::new(&wire::record(&traffic, &mut engine));
    Ok((traffic, stream))
}

/// Runs an exchange.
fn exchange<P: Plumbing>(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (traffic, stream) = commands::<P>(arguments)?;
    let (to_engine, at_engine) = P::queue(UNDER_WAY, COMMAND);
    let (to_standby, at_standby) = P::queue(4 * UNDER_WAY, LOGGED);
    let (publish, quotes) = P::market(QUOTES, QUOTE);
    let (reports, at_gateway) = P::reports(UNDER_WAY);
    let (snapshots, taken) = mpsc::channel();
    let (restored, ready) = mpsc::channel();
    let engine = || Ok(Engine::new(P::store(traffic.peak)?, traffic.extent()));
    let follower = (!P::HAS_SNAPSHOTS).then(engine).transpose()?;
    let engine = engine()?;
    let histogram = || {
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3);
        let mut histogram = histogram.expect("the bounds are valid");
        // Touches its memory.
        histogram.reset();
        histogram
    };

    thread::scope(|scope| {
        let engine = scope.spawn(move || {
            let desk = Desk::<P> {
                engine,
                commands: at_engine,
                log: to_standby,
                market: publish,
                reports: P::sender(reports),
                answers: Digest::new(),
                published: 0,
            };
            ending_all(|| desk.run(&snapshots))
        });
        let slow = arguments.slow;
        let market = scope.spawn(move || ending_all(|| write_market(quotes, slow)));
        let standby = scope.spawn(move || {
            ending_all(|| follow::<P>(at_standby, follower, traffic.peak, &taken, &restored))
        });

        let mut gateway = Gateway::<P> {
            client: stream.client(arguments.symbols as u16),
            scratch: P::scratch(),
            commands: to_engine,
            reports: at_gateway,
            came: vec![Instant::now(); UNDER_WAY],
            sent: 0,
            reported: 0,
            bad: [0; BadFrame::COUNT],
            answers: Digest::new(),
        };
        let (mut unread, mut closed, mut open) = (histogram(), histogram(), histogram());
        let window = Pace::Window(UNDER_WAY);
        gateway.run(traffic.ramp as u64, window, &mut unread);
        wait_for(|| gateway.commands.push(SNAPSHOT).then_some(()));
        ready.recv().expect("the standby is there");
        let warm = (traffic.ramp + WARM) as u64;
        gateway.run(warm, window, &mut unread);

        // What counts: as fast as it goes, one at a time, and at half of what it can.
        let each = u64::from(arguments.commands);
        let faults = allocations::page_faults();
        let ((elapsed, interval), calls) = allocations::during(|| {
            let elapsed = gateway.run(warm + each, window, &mut unread);
            gateway.run(warm + 2 * each, Pace::Window(1), &mut closed);
            let interval = 2 * elapsed / each as u32;
            gateway.run(warm + 3 * each, Pace::Every(interval), &mut open);
            (elapsed, interval)
        });
        let faults = allocations::page_faults()
            .zip(faults)
            .map(|(after, before)| after - before);

        wait_for(|| gateway.commands.push(STOP).then_some(()));
        let joined = "a thread that panics ends the program";
        let (engine, answers, published) = engine.join().expect(joined);
        let seen = market.join().expect(joined);
        let standby = standby.join().expect(joined).map_err(Failure::Run)?;
        if (engine.digest(), &engine.state.tape) != (standby.digest(), &standby.state.tape) {
            return Err(Failure::Run("the standby ends otherwise".to_owned()));
        }
        if gateway.answers.finish() != answers.finish() {
            return Err(Failure::Run("reports are not what was answered".to_owned()));
        }
        if gateway.bad != stream.bad {
            let counts = (gateway.bad, stream.bad);
            return Err(Failure::Run(format!(
                "refused frames and bad ones: {counts:?}"
            )));
        }
        Ok(Outcome {
            name: P::NAME.to_owned(),
            digest: engine.digest(),
            orders: traffic.peak,
            warm,
            bad: gateway.bad,
            commands: each,
            per_second: (each as f64 / elapsed.as_secs_f64()) as u64,
            closed: Latency::of(&closed),
            open: Latency::of(&open),
            interval_ns: interval.as_nanos() as u64,
            calls,
            faults,
            seen,
            published,
        })
    })
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

#[cfg(test)]
mod tests;
