//! Replays a flow through the stores, for time and for the books it leaves.
//!
//! Throughput and latency are measured in separate passes: reading the clock
//! around every message would be a large part of what it measures. The clock's
//! own cost is therefore measured too and reported next to the latencies, which
//! include it once. Each pass starts from empty books and a new store; building
//! them is not timed, growing them is.
//!
//! The stores take turns, and each round starts with another one, so that a
//! machine that becomes slower or faster does so for all of them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::ProgressBar;

use crate::book::{Market, Top};
use crate::cli::StoreKind;
use crate::message::Message;
use crate::store::{BoundedStore, BoxStore, GrowableStore, SlabCrateStore, Store};

/// What ends the program early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A bad argument or file: exit code 2.
    Input(String),
    /// Something that should not happen: exit code 1.
    Run(String),
}

/// A flow, the number of symbols it is replayed for and the room they need.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// One symbol's messages; all symbols get the same.
    pub(crate) messages: &'a [Message],
    pub(crate) symbols: u32,
    /// Orders live at once, at most, all symbols together.
    pub(crate) peak_live_orders: usize,
    pub(crate) progress: &'a ProgressBar,
}

impl Job<'_> {
    /// Messages of one pass.
    pub(crate) fn total(&self) -> u64 {
        self.messages.len() as u64 * u64::from(self.symbols)
    }
}

/// What a pass does besides replaying.
enum Task<'a> {
    /// Times all messages together.
    Throughput,
    /// Times each message.
    Latency(&'a mut Histogram<u64>),
    /// Shows the first symbol's top of book after each of its messages.
    Tops(&'a mut dyn FnMut(usize, Top) -> Result<(), Failure>),
}

/// The state at the end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Of every order in every book.
    pub(crate) digest: u64,
    pub(crate) live_orders: usize,
    pub(crate) bytes_held: usize,
    /// Time of a throughput pass; of any other, without meaning.
    elapsed: Duration,
}

/// Times one store, medians over the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) kind: StoreKind,
    pub(crate) end: End,
    pub(crate) messages_per_second: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    pub(crate) p99_99_ns: u64,
    pub(crate) max_ns: u64,
}

/// Times the stores.
///
/// # Errors
///
/// [`Failure`] where a store cannot hold the orders, a book breaks an invariant
/// or a store's passes do not end in the same book.
pub(crate) fn time(job: Job<'_>, kinds: &[StoreKind], rounds: u32) -> Result<Vec<Timing>, Failure> {
    struct Samples {
        ends: Vec<End>,
        histograms: Vec<Histogram<u64>>,
    }
    let mut samples: Vec<_> = kinds
        .iter()
        .map(|_| Samples {
            ends: Vec::new(),
            histograms: Vec::new(),
        })
        .collect();
    for round in 0..rounds as usize {
        for turn in 0..kinds.len() {
            let index = (turn + round) % kinds.len();
            let kind = kinds[index];
            job.progress.set_message(kind.name());
            let mut histogram = new_histogram();
            let timed = pass(kind, job, Task::Throughput)?;
            let other = pass(kind, job, Task::Latency(&mut histogram))?;
            let first = samples[index].ends.first().unwrap_or(&timed);
            if first.digest != timed.digest || first.digest != other.digest {
                let name = kind.name();
                return Err(Failure::Run(format!("two passes through {name} differ")));
            }
            samples[index].ends.push(timed);
            samples[index].histograms.push(histogram);
        }
    }
    Ok(kinds
        .iter()
        .zip(samples)
        .map(|(&kind, Samples { ends, histograms })| {
            let percentile = |percentile| {
                median(
                    histograms
                        .iter()
                        .map(|h| h.value_at_percentile(percentile))
                        .collect(),
                )
            };
            let rate = |end: &End| (job.total() as f64 / end.elapsed.as_secs_f64()) as u64;
            Timing {
                kind,
                end: ends[0],
                messages_per_second: median(ends.iter().map(rate).collect()),
                p50_ns: percentile(50.0),
                p99_ns: percentile(99.0),
                p99_9_ns: percentile(99.9),
                p99_99_ns: percentile(99.99),
                max_ns: median(histograms.iter().map(Histogram::max).collect()),
            }
        })
        .collect())
}

/// Replays through one store and shows the first symbol's top of book after
/// each of its messages, with the message's index.
///
/// # Errors
///
/// As [`time`], or what `show` returns.
pub(crate) fn tops(
    job: Job<'_>,
    kind: StoreKind,
    show: &mut dyn FnMut(usize, Top) -> Result<(), Failure>,
) -> Result<End, Failure> {
    job.progress.set_message(kind.name());
    pass(kind, job, Task::Tops(show))
}

/// What reading the clock adds to a latency, in ns: the median of many.
pub(crate) fn clock_cost() -> u64 {
    let mut histogram = new_histogram();
    for _ in 0..10_000 {
        let start = Instant::now();
        histogram.saturating_record(black_box(start).elapsed().as_nanos() as u64);
    }
    histogram.value_at_percentile(50.0)
}

/// Three digits are more than a clock of some ns can tell apart; a message of
/// more than a minute is recorded as one.
fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are valid")
}

/// The upper one of two in the middle.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn pass(kind: StoreKind, job: Job<'_>, task: Task<'_>) -> Result<End, Failure> {
    match kind {
        StoreKind::Bounded => {
            let store = BoundedStore::with_capacity(job.peak_live_orders).map_err(|reason| {
                let orders = job.peak_live_orders;
                Failure::Input(format!("no bounded store for {orders} orders: {reason}"))
            })?;
            pass_through(store, job, task)
        }
        StoreKind::Growable => pass_through(GrowableStore::new(), job, task),
        StoreKind::Slab => pass_through(SlabCrateStore::default(), job, task),
        StoreKind::Box => {
            // SAFETY: the market is the only owner of the store, and by its
            // invariants B1 and B4 holds and uses just the keys of live orders.
            let store = unsafe { BoxStore::new() };
            pass_through(store, job, task)
        }
    }
}

fn pass_through<S: Store>(store: S, job: Job<'_>, mut task: Task<'_>) -> Result<End, Failure> {
    let mut market = Market::new(store, job.symbols);
    // What is compared is where orders live: the index grows beforehand.
    market.reserve_ids(job.peak_live_orders / job.symbols as usize);
    // The bar moves between blocks, while no clock runs.
    let rows = (65_536 / job.symbols as usize).max(1);
    let mut elapsed = Duration::ZERO;
    for (block, messages) in job.messages.chunks(rows).enumerate() {
        match &mut task {
            Task::Throughput => elapsed += throughput(&mut market, job, messages)?,
            Task::Latency(histogram) => latency(&mut market, job, messages, histogram)?,
            Task::Tops(show) => {
                for (row, message) in messages.iter().enumerate() {
                    apply_row(&mut market, job, message)?;
                    show(block * rows + row, market.top(0))?;
                }
            }
        }
        job.progress
            .inc(messages.len() as u64 * u64::from(job.symbols));
    }
    market.check().map_err(Failure::Run)?;
    Ok(End {
        digest: market.digest(),
        live_orders: market.len(),
        bytes_held: market.store().bytes_held(),
        elapsed,
    })
}

/// One message, for every symbol in turn.
#[inline(always)]
fn apply_row<S: Store>(
    market: &mut Market<S>,
    job: Job<'_>,
    message: &Message,
) -> Result<(), Failure> {
    for symbol in 0..job.symbols {
        if let Err(full) = market.apply(symbol, message) {
            return Err(store_is_full(full.len));
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn store_is_full(len: usize) -> Failure {
    Failure::Run(format!("the store is full: it holds {len} orders"))
}

#[inline(never)]
fn throughput<S: Store>(
    market: &mut Market<S>,
    job: Job<'_>,
    messages: &[Message],
) -> Result<Duration, Failure> {
    let start = Instant::now();
    for message in messages {
        apply_row(market, job, message)?;
    }
    Ok(start.elapsed())
}

#[inline(never)]
fn latency<S: Store>(
    market: &mut Market<S>,
    job: Job<'_>,
    messages: &[Message],
    histogram: &mut Histogram<u64>,
) -> Result<(), Failure> {
    for message in messages {
        for symbol in 0..job.symbols {
            let start = Instant::now();
            let outcome = market.apply(symbol, message);
            let elapsed = start.elapsed();
            if let Err(full) = outcome {
                return Err(store_is_full(full.len));
            }
            histogram.saturating_record(elapsed.as_nanos() as u64);
        }
    }
    Ok(())
}
