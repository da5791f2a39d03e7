//! Operations per second by the wall clock, on any machine: what `criterion`
//! sees of the same subjects as `cycles`. It keeps its results under
//! `target/criterion`, and nothing in the record.

mod allocators;
mod peers;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use flatslab_benches::arguments::Arguments;
use flatslab_benches::payload::barrier;
use flatslab_benches::subject::ours::{BoundedByKey, BoundedBySlot, GrowableByKey, GrowableBySlot};
use flatslab_benches::subject::pools::PoolByBox;
use flatslab_benches::{Payload, Subject, model};
use peers::{BoxOnMalloc, NexusBounded, SlabCrate, SlotMap};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

type Order = [u64; 8];
type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// One subject in one workload.
struct Entry {
    row: &'static str,
    subject: &'static str,
    check: fn() -> Result<(), String>,
    run: fn(&mut Group<'_>, usize),
}

fn entries() -> Vec<Entry> {
    macro_rules! on_all {
        ($($row:literal: $workload:ident;)*) => {
            [$(on_all!($row, $workload: SlabCrate BoundedBySlot BoundedByKey GrowableBySlot
                GrowableByKey PoolByBox NexusBounded SlotMap BoxOnMalloc)),*]
        };
        ($row:literal, $workload:ident: $($subject:ident)*) => {
            [$(Entry {
                row: $row,
                subject: <$subject<Order> as Subject<Order>>::NAME,
                check: model::check::<Order, $subject<Order>>,
                run: $workload::<$subject<Order>>,
            }),*]
        };
    }
    let rows = on_all! {
        "fill and empty": fill_and_empty;
        "churn": churn;
        "get": get;
    };
    let mut entries: Vec<Entry> = rows.into_iter().flatten().collect();
    entries.extend(retentions());
    entries
}

/// What it costs to refuse before anything is changed: `retain` looks at every
/// stamp first, `try_retain` does not.
fn retentions() -> [Entry; 4] {
    macro_rules! retention {
        ($name:literal, $subject:ident, $retain:ident) => {
            Entry {
                row: "retain, all kept",
                subject: $name,
                check: model::check::<Order, $subject<Order>>,
                run: |group, live| {
                    let mut subject = $subject::<Order>::with_capacity(live);
                    for number in 0..live as u64 {
                        subject.insert(Order::of(number));
                    }
                    let keep = |_, order: &mut Order| order.number() < u64::MAX;
                    group.bench_function($name, |bencher| {
                        bencher.iter(|| assert_eq!(black_box(subject.0.$retain(keep)), 0));
                    });
                },
            }
        };
    }
    [
        retention!("BoundedSlab, retain", BoundedByKey, retain),
        retention!("BoundedSlab, try_retain", BoundedByKey, try_retain),
        retention!("Slab, retain", GrowableByKey, retain),
        retention!("Slab, try_retain", GrowableByKey, try_retain),
    ]
}

fn main() {
    let arguments = Arguments::of_this_process();
    let mut entries = entries();
    arguments.select(&mut entries, |it| (it.row, it.subject));
    let pairs = (arguments.pairs(&[(8192, &[size_of::<Order>()])], 1024))
        .unwrap_or_else(|message| arguments.refuse(&message));
    if arguments.list {
        for Entry { row, subject, .. } in entries {
            println!("{row}: {subject}");
        }
        return;
    }
    let mut criterion = match arguments.quick {
        true => criterion(10, 20, 10),
        false => criterion(100, 1000 * u64::from(arguments.runs.unwrap_or(1)), 200),
    };
    for (live, _) in pairs {
        for of_a_row in entries.chunk_by(|a, b| a.row == b.row) {
            let mut group = criterion.benchmark_group(format!("{}, {live} live", of_a_row[0].row));
            group.throughput(Throughput::Elements(live as u64));
            for entry in of_a_row {
                (entry.check)().unwrap_or_else(|error| panic!("{error}"));
                (entry.run)(&mut group, live);
            }
            group.finish();
        }
    }
    criterion.final_summary();
}

/// Samples of each, and milliseconds of measuring and of warming up.
fn criterion(samples: usize, measured: u64, warm_up: u64) -> Criterion {
    Criterion::default()
        .sample_size(samples)
        .measurement_time(Duration::from_millis(measured))
        .warm_up_time(Duration::from_millis(warm_up))
}

/// The sum of the numbers in a full container.
fn sum_of(live: usize) -> u64 {
    (0..live as u64).sum()
}

/// Fills a container, empties it in random order.
fn fill_and_empty<S: Subject<Order>>(group: &mut Group<'_>, live: usize) {
    let mut subject = S::with_capacity(live);
    let mut handles = Vec::with_capacity(live);
    let mut places: Vec<usize> = (0..live).collect();
    places.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    group.bench_function(S::NAME, |bencher| {
        bencher.iter(|| {
            for number in 0..live as u64 {
                handles.push(Some(subject.insert(Order::of(number))));
            }
            let mut sum = 0;
            for &place in &places {
                let handle = handles[place].take().expect("a handle a place");
                sum += subject.remove(handle).number();
            }
            handles.clear();
            assert_eq!(sum, sum_of(live));
        });
    });
}

/// Removes one value at random and inserts another, in a full container.
fn churn<S: Subject<Order>>(group: &mut Group<'_>, live: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let places: Vec<usize> = (0..live).map(|_| random.random_range(0..live)).collect();
    let mut subject = S::with_capacity(live);
    let mut handles: Vec<_> = (0..live as u64)
        .map(|number| Some(subject.insert(Order::of(number))))
        .collect();
    group.bench_function(S::NAME, |bencher| {
        bencher.iter(|| {
            for &place in &places {
                let handle = handles[place].take().expect("a handle a place");
                barrier(&subject);
                let value = subject.remove(handle);
                barrier(&subject);
                handles[place] = Some(subject.insert(value));
            }
        });
    });
    let sum: u64 = handles
        .into_iter()
        .flatten()
        .map(|handle| subject.remove(handle).number())
        .sum();
    assert_eq!(sum, sum_of(live));
}

/// Reads every value in random order.
fn get<S: Subject<Order>>(group: &mut Group<'_>, live: usize) {
    let mut subject = S::with_capacity(live);
    let mut handles: Vec<_> = (0..live as u64)
        .map(|number| subject.insert(Order::of(number)))
        .collect();
    handles.shuffle(&mut ChaCha8Rng::seed_from_u64(3));
    group.bench_function(S::NAME, |bencher| {
        bencher.iter(|| {
            let sum: u64 = handles.iter().map(|handle| subject.get(handle)).sum();
            assert_eq!(black_box(sum), sum_of(live));
        });
    });
    for handle in handles {
        subject.free(handle);
    }
}
