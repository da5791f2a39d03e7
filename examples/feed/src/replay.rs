//! Replays messages through the stores and times them.
//!
//! Throughput and latency are measured in separate passes, since reading the
//! clock for every message would be a large part of the throughput. The latencies
//! include the clock's own cost once; it is measured too and reported. Each pass
//! starts with empty books and a new store. Building the store is not timed,
//! growing it is.
//!
//! The variants take turns, and each round starts with another variant: if the
//! machine becomes slower or faster, it does so for all of them.
//!
//! A look-ahead is given the next message of the queue, which may be of another symbol.
//! An engine that reads from a queue has it too. The time of the look-ahead is part of
//! the message that is applied after it. The loops are generic over the look-ahead:
//! `off` compiles to the loop without one.

use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use flatslab::memory::PageAllocator;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;
use order_flow::message::Message;
use order_flow::program::Failure;
use order_flow::top::Top;

use crate::book::Market;
use crate::report::{Figures, Obtained, StoreReport};
use crate::store::{
    BoundedStore, BoxStore, FloorStore, GrowableStore, KeyStore, NoStore, PoolStore,
    SlabCrateStore, Store,
};
use crate::variant::{Prefetch, StoreKind, Variant};

/// The messages, and the symbols to replay them for.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    /// The messages of one symbol; all symbols get the same.
    pub(crate) messages: &'a [Message],
    pub(crate) symbols: u32,
    /// The most orders live at once, all symbols together.
    pub(crate) peak_live_orders: usize,
    /// The most prices on one side of a symbol at once.
    pub(crate) peak_levels: usize,
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
#[derive(Clone)]
struct End {
    /// Of every order in every book.
    digest: u64,
    live_orders: usize,
    bytes_held: usize,
    memory: Obtained,
}

/// The measurements of one variant.
#[derive(Clone, Default)]
struct Samples {
    /// The end of the first pass; those of the others have the same digest.
    end: Option<End>,
    rounds: Vec<Figures>,
}

/// Times the variants; the figures are medians over the rounds.
///
/// # Errors
///
/// [`Failure`] if a store cannot hold the orders, a book breaks an invariant or
/// the passes of one variant end in different books.
pub(crate) fn time(
    job: Job<'_>,
    variants: &[Variant],
    rounds: u32,
) -> Result<Vec<StoreReport>, Failure> {
    let mut samples = vec![Samples::default(); variants.len()];
    for round in 0..rounds as usize {
        for turn in 0..variants.len() {
            let index = (turn + round) % variants.len();
            let (variant, samples) = (variants[index], &mut samples[index]);
            let (mut elapsed, mut histogram) = (Duration::ZERO, new_histogram());
            for task in [
                Task::Throughput(&mut elapsed),
                Task::Latency(&mut histogram),
            ] {
                let end = pass(variant, job, task)?;
                let digest = end.digest;
                if samples.end.get_or_insert(end).digest != digest {
                    return Err(Failure::Run(format!("two passes through {variant} differ")));
                }
            }
            let rate = job.total() as f64 / elapsed.as_secs_f64();
            samples.rounds.push(figures(rate as u64, &histogram));
        }
    }
    Ok(variants
        .iter()
        .zip(samples)
        .map(|(&variant, samples)| {
            let end = samples.end.expect("there is at least one round");
            StoreReport {
                variant,
                figures: Figures::medians(&samples.rounds),
                peak_live_orders: job.peak_live_orders,
                live_orders_at_end: end.live_orders,
                bytes_held: end.bytes_held,
                memory: end.memory,
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
/// variant has it. Compares the other variants to it.
///
/// # Errors
///
/// As [`time`]; [`Failure::Run`] too if `out`, the file at `path`, cannot be
/// written or a variant has another top.
pub(crate) fn write_tops(
    job: Job<'_>,
    variants: &[Variant],
    path: &Path,
    out: impl Write,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file(path, &error);
    let mut out = BufWriter::new(out);
    let mut tops: Vec<Top> = Vec::with_capacity(job.messages.len());
    for (turn, &variant) in variants.iter().enumerate() {
        let mut show = |row: usize, top: Top| {
            if turn == 0 {
                tops.push(top);
                return writeln!(out, "{top}").map_err(failed);
            }
            if tops[row] != top {
                return Err(Failure::Run(format!(
                    "after message {}, {variant} has {top}, {} has {}",
                    row + 1,
                    variants[0],
                    tops[row]
                )));
            }
            Ok(())
        };
        pass(variant, job, Task::Tops(&mut show))?;
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

/// Builds the variant's store and replays all messages through it.
fn pass(variant: Variant, job: Job<'_>, task: Task<'_>) -> Result<End, Failure> {
    job.progress.set_message(variant.to_string());
    let (orders, pages) = (job.peak_live_orders, variant.pages.pages());
    let reserved = variant.pages.reserved(orders);
    let failed = |error| {
        let what = format!("no {} store for {orders} orders", variant.store.name());
        match error {
            NoStore::TooManyOrders(reason) => Failure::Input(format!("{what}: {reason}")),
            NoStore::Memory(reason) => Failure::Run(format!("{what}: {reason}")),
        }
    };
    match variant.store {
        StoreKind::Keys => {
            let store = KeyStore::new(reserved, pages).map_err(failed)?;
            pass_through(store, variant, job, task)
        }
        StoreKind::Bounded => {
            let store = BoundedStore::with_capacity(orders, pages).map_err(failed)?;
            pass_through(store, variant, job, task)
        }
        StoreKind::Growable => {
            let store = GrowableStore::new(reserved, pages).map_err(failed)?;
            pass_through(store, variant, job, task)
        }
        StoreKind::Pool => {
            // SAFETY: `pass_through` gives the store to a market, which owns it
            // alone and by B1 and B4 uses only the keys of orders in it.
            let store = unsafe { PoolStore::with_capacity(orders, pages) }.map_err(failed)?;
            pass_through(store, variant, job, task)
        }
        StoreKind::Slab => pass_through(SlabCrateStore::default(), variant, job, task),
        StoreKind::Box => {
            // SAFETY: as above.
            let store = unsafe { BoxStore::new() };
            pass_through(store, variant, job, task)
        }
        StoreKind::Floor => {
            // SAFETY: as above.
            let store = unsafe { FloorStore::with_capacity(orders, pages) }.map_err(failed)?;
            pass_through(store, variant, job, task)
        }
    }
}

fn pass_through<S: Store>(
    store: S,
    variant: Variant,
    job: Job<'_>,
    task: Task<'_>,
) -> Result<End, Failure> {
    let memory = PageAllocator::try_new(variant.pages.pages())
        .map_err(|error| Failure::Run(format!("no memory for the index: {error}")))?;
    let mut market = Market::with_memory(store, job.symbols, &memory, variant.pages.pages());
    // Maps and levels are not compared, so they must not grow while a clock runs.
    market
        .try_reserve(job.peak_live_orders / job.symbols as usize, job.peak_levels)
        .map_err(|reason| Failure::Run(format!("no memory for the index: {reason}")))?;
    match variant.prefetch {
        Prefetch::Off => replay(&mut market, job, task, |_, _, _| ()),
        Prefetch::Index => replay(&mut market, job, task, Market::look_ahead),
        Prefetch::Order => replay(&mut market, job, task, Market::prefetch),
    }?;
    market.check().map_err(Failure::Run)?;
    Ok(End {
        digest: market.digest(),
        live_orders: market.len(),
        bytes_held: market.store().bytes_held(),
        memory: Obtained::new(market.store().memory(), memory.memory()),
    })
}

/// What to do for the next message before the present one is applied. It is given the
/// symbol of the next message.
trait Ahead<S: Store>: Fn(&Market<S>, u32, &Message) + Copy {}

impl<S: Store, F: Fn(&Market<S>, u32, &Message) + Copy> Ahead<S> for F {}

/// Applies all messages to every symbol.
fn replay<S: Store>(
    market: &mut Market<S>,
    job: Job<'_>,
    mut task: Task<'_>,
    ahead: impl Ahead<S>,
) -> Result<(), Failure> {
    // The bar moves between blocks, while no clock runs.
    let rows = (65_536 / job.symbols as usize).max(1);
    for (block, messages) in job.messages.chunks(rows).enumerate() {
        match &mut task {
            Task::Throughput(elapsed) => {
                **elapsed += throughput(market, job.symbols, messages, ahead)?;
            }
            Task::Latency(histogram) => {
                latency(market, job.symbols, messages, histogram, ahead)?;
            }
            Task::Tops(show) => {
                for row in 0..messages.len() {
                    apply_row(market, job.symbols, messages, row, ahead)?;
                    show(block * rows + row, market.top(0))?;
                }
            }
        }
        job.progress
            .inc(messages.len() as u64 * u64::from(job.symbols));
    }
    Ok(())
}

/// Applies one of the messages to every symbol in turn.
#[inline(always)]
fn apply_row<S: Store>(
    market: &mut Market<S>,
    symbols: u32,
    messages: &[Message],
    row: usize,
    ahead: impl Ahead<S>,
) -> Result<(), Failure> {
    for symbol in 0..symbols {
        if let Some((symbol, message)) = following(symbols, messages, row, symbol) {
            ahead(market, symbol, message);
        }
        if let Err(full) = market.apply(symbol, &messages[row]) {
            return Err(store_is_full(full.len));
        }
    }
    Ok(())
}

/// The message that comes after that of `row` to `symbol`, and its symbol. `None` for the
/// last message of a block.
#[inline(always)]
fn following(
    symbols: u32,
    messages: &[Message],
    row: usize,
    symbol: u32,
) -> Option<(u32, &Message)> {
    if symbol + 1 < symbols {
        Some((symbol + 1, &messages[row]))
    } else {
        Some((0, messages.get(row + 1)?))
    }
}

#[cold]
#[inline(never)]
fn store_is_full(len: usize) -> Failure {
    Failure::Run(format!("the store is full: it holds {len} orders"))
}

#[inline(never)]
fn throughput<S: Store>(
    market: &mut Market<S>,
    symbols: u32,
    messages: &[Message],
    ahead: impl Ahead<S>,
) -> Result<Duration, Failure> {
    let start = Instant::now();
    for row in 0..messages.len() {
        apply_row(market, symbols, messages, row, ahead)?;
    }
    Ok(start.elapsed())
}

#[inline(never)]
fn latency<S: Store>(
    market: &mut Market<S>,
    symbols: u32,
    messages: &[Message],
    histogram: &mut Histogram<u64>,
    ahead: impl Ahead<S>,
) -> Result<(), Failure> {
    for (row, message) in messages.iter().enumerate() {
        for symbol in 0..symbols {
            let next = following(symbols, messages, row, symbol);
            let start = Instant::now();
            if let Some((symbol, message)) = next {
                ahead(market, symbol, message);
            }
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
    use order_flow::flow::Flow;
    use order_flow::stats::FlowStats;

    #[test]
    fn a_full_store_fails_the_run() {
        let messages: Vec<_> = Flow::new(1).take(1_000).collect();
        let peak = 2 * FlowStats::measure(&messages).peak_live_orders;
        let timed = |peak_live_orders| {
            let job = Job {
                messages: &messages,
                symbols: 2,
                peak_live_orders,
                peak_levels: 0,
                progress: &ProgressBar::hidden(),
            };
            time(job, &[Variant::plain(StoreKind::Bounded)], 1)
        };
        assert!(timed(peak).is_ok());
        let Err(Failure::Run(reason)) = timed(peak - 1) else {
            panic!("the last order found room");
        };
        let wanted = format!("the store is full: it holds {} orders", peak - 1);
        assert_eq!(reason, wanted);
    }
}
