//! Replays messages through the stores and times them.
//!
//! Throughput and latency are measured in separate passes, since reading the
//! clock for every message would be a large part of the throughput. The latencies
//! include the clock's own cost once; it is measured too and reported. Each pass
//! starts with empty books and a new store. Building the store is not timed,
//! growing it is.
//!
//! The stores take turns, and each round starts with another store: if the
//! machine becomes slower or faster, it does so for all of them.

use std::fmt::Display;
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use indicatif::ProgressBar;

use crate::book::{Market, Top};
use crate::cli::StoreKind;
use crate::message::Message;
use crate::report::{Figures, StoreReport};
use crate::store::{
    BoundedStore, BoxStore, FloorStore, GrowableStore, KeyStore, SlabCrateStore, Store,
};

/// Why the program ends early, in one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A bad argument or input file: exit code 2.
    Input(String),
    /// Anything else: exit code 1.
    Run(String),
}

impl Failure {
    /// A file that cannot be created or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Failure::Run(format!("{}: {error}", path.display()))
    }
}

/// The messages, and the symbols to replay them for.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// The messages of one symbol; all symbols get the same.
    pub(crate) messages: &'a [Message],
    pub(crate) symbols: u32,
    /// The most orders live at once, all symbols together.
    pub(crate) peak_live_orders: usize,
    pub(crate) progress: &'a ProgressBar,
}

impl Job<'_> {
    /// Messages of one pass.
    fn total(&self) -> u64 {
        self.messages.len() as u64 * u64::from(self.symbols)
    }
}

/// What a pass does besides replaying.
enum Task<'a> {
    /// Times all messages together, and adds that to the duration.
    Throughput(&'a mut Duration),
    /// Times each message.
    Latency(&'a mut Histogram<u64>),
    /// Calls the closure after each message of the first symbol, with the index
    /// of the message and the top of book.
    Tops(&'a mut dyn FnMut(usize, Top) -> Result<(), Failure>),
}

/// The state at the end of a pass.
#[derive(Clone, Copy)]
struct End {
    /// Of every order in every book.
    digest: u64,
    live_orders: usize,
    bytes_held: usize,
}

/// The measurements of one store.
#[derive(Clone, Default)]
struct Samples {
    /// The end of the first pass; those of the others have the same digest.
    end: Option<End>,
    rounds: Vec<Figures>,
}

/// Times the stores; the figures are medians over the rounds.
///
/// # Errors
///
/// [`Failure`] if a store cannot hold the orders, a book breaks an invariant or
/// the passes of one store end in different books.
pub(crate) fn time(
    job: Job<'_>,
    kinds: &[StoreKind],
    rounds: u32,
) -> Result<Vec<StoreReport>, Failure> {
    let mut samples = vec![Samples::default(); kinds.len()];
    for round in 0..rounds as usize {
        for turn in 0..kinds.len() {
            let index = (turn + round) % kinds.len();
            let (kind, samples) = (kinds[index], &mut samples[index]);
            let (mut elapsed, mut histogram) = (Duration::ZERO, new_histogram());
            let ends = [
                pass(kind, job, Task::Throughput(&mut elapsed))?,
                pass(kind, job, Task::Latency(&mut histogram))?,
            ];
            let first = samples.end.get_or_insert(ends[0]);
            if ends.iter().any(|end| end.digest != first.digest) {
                let name = kind.name();
                return Err(Failure::Run(format!("two passes through {name} differ")));
            }
            let rate = job.total() as f64 / elapsed.as_secs_f64();
            samples.rounds.push(figures(rate as u64, &histogram));
        }
    }
    Ok(kinds
        .iter()
        .zip(samples)
        .map(|(&store, samples)| {
            let end = samples.end.expect("there is at least one round");
            StoreReport {
                store,
                figures: Figures::medians(&samples.rounds),
                peak_live_orders: job.peak_live_orders,
                live_orders_at_end: end.live_orders,
                bytes_held: end.bytes_held,
                book_digest: format!("{:016x}", end.digest),
                of_rounds: samples.rounds,
            }
        })
        .collect())
}

/// The figures of one round.
fn figures(messages_per_second: u64, latencies: &Histogram<u64>) -> Figures {
    let percentile = |percent| latencies.value_at_percentile(percent);
    Figures {
        messages_per_second,
        p50_ns: percentile(50.0),
        p99_ns: percentile(99.0),
        p99_9_ns: percentile(99.9),
        p99_99_ns: percentile(99.99),
        max_ns: latencies.max(),
    }
}

/// Writes the first symbol's top of book after each of its messages, as the first
/// store has it. Compares the other stores to it.
///
/// # Errors
///
/// As [`time`]; [`Failure::Run`] too if `out`, the file at `path`, cannot be
/// written or a store has another top.
pub(crate) fn write_tops(
    job: Job<'_>,
    kinds: &[StoreKind],
    path: &Path,
    out: impl Write,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file(path, &error);
    let mut out = BufWriter::new(out);
    let mut tops: Vec<Top> = Vec::with_capacity(job.messages.len());
    for (turn, &kind) in kinds.iter().enumerate() {
        let mut show = |row: usize, top: Top| {
            if turn == 0 {
                tops.push(top);
                return writeln!(out, "{top}").map_err(failed);
            }
            if tops[row] != top {
                return Err(Failure::Run(format!(
                    "after message {}, {} has {top}, {} has {}",
                    row + 1,
                    kind.name(),
                    kinds[0].name(),
                    tops[row]
                )));
            }
            Ok(())
        };
        pass(kind, job, Task::Tops(&mut show))?;
    }
    out.flush().map_err(failed)
}

/// What reading the clock adds to a latency, in ns: the median of 10,000 readings.
pub(crate) fn clock_cost() -> u64 {
    let mut histogram = new_histogram();
    for _ in 0..10_000 {
        let start = Instant::now();
        histogram.saturating_record(black_box(start).elapsed().as_nanos() as u64);
    }
    histogram.value_at_percentile(50.0)
}

/// Three digits are finer than the clock. A message of more than a minute counts
/// as one minute.
fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are valid")
}

fn pass(kind: StoreKind, job: Job<'_>, task: Task<'_>) -> Result<End, Failure> {
    job.progress.set_message(kind.name());
    match kind {
        StoreKind::Keys => pass_through(KeyStore::new(), job, task),
        StoreKind::Bounded => {
            let store = BoundedStore::with_capacity(job.peak_live_orders)
                .map_err(|reason| no_store(kind, job, &reason))?;
            pass_through(store, job, task)
        }
        StoreKind::Growable => pass_through(GrowableStore::new(), job, task),
        StoreKind::Slab => pass_through(SlabCrateStore::default(), job, task),
        StoreKind::Box => {
            // SAFETY: `pass_through` gives the store to a market, which owns it
            // alone and by B1 and B4 uses only the keys of orders in it.
            let store = unsafe { BoxStore::new() };
            pass_through(store, job, task)
        }
        StoreKind::Floor => {
            // SAFETY: as above.
            let store = unsafe { FloorStore::with_capacity(job.peak_live_orders) }
                .map_err(|reason| no_store(kind, job, &reason))?;
            pass_through(store, job, task)
        }
    }
}

fn no_store(kind: StoreKind, job: Job<'_>, reason: &dyn Display) -> Failure {
    let (name, orders) = (kind.name(), job.peak_live_orders);
    Failure::Input(format!("no {name} store for {orders} orders: {reason}"))
}

fn pass_through<S: Store>(store: S, job: Job<'_>, mut task: Task<'_>) -> Result<End, Failure> {
    let mut market = Market::new(store, job.symbols);
    // The map of ids is not compared, so it must not grow while a clock runs.
    market.reserve_ids(job.peak_live_orders / job.symbols as usize);
    // The bar moves between blocks, while no clock runs.
    let rows = (65_536 / job.symbols as usize).max(1);
    for (block, messages) in job.messages.chunks(rows).enumerate() {
        match &mut task {
            Task::Throughput(elapsed) => **elapsed += throughput(&mut market, job, messages)?,
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
    })
}

/// Applies one message to every symbol in turn.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use crate::stats::FlowStats;

    #[test]
    fn a_full_store_fails_the_run() {
        let messages: Vec<_> = Flow::new(1).take(1_000).collect();
        let peak = 2 * FlowStats::measure(&messages).unwrap().peak_live_orders;
        let timed = |peak_live_orders| {
            let job = Job {
                messages: &messages,
                symbols: 2,
                peak_live_orders,
                progress: &ProgressBar::hidden(),
            };
            time(job, &[StoreKind::Bounded], 1)
        };
        assert!(timed(peak).is_ok());
        let Err(Failure::Run(reason)) = timed(peak - 1) else {
            panic!("the last order found room");
        };
        let wanted = format!("the store is full: it holds {} orders", peak - 1);
        assert_eq!(reason, wanted);
    }
}
