//! Operations per second by the wall clock, on any machine: what `criterion`
//! sees of the same subjects as `cycles`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use flatslab_benches::payload::barrier;
use flatslab_benches::subject::ours::{BoundedByKey, BoundedBySlot, GrowableByKey, GrowableBySlot};
use flatslab_benches::subject::peers::{BoxOnMalloc, NexusBounded, SlabCrate, SlotMap};
use flatslab_benches::{Payload, Subject, model};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

type Order = [u64; 8];
type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

const LIVE: usize = 8192;

/// A workload on every subject, each checked against the model before.
macro_rules! on_all {
    ($criterion:ident, $name:literal, $workload:ident) => {{
        let mut group = $criterion.benchmark_group($name);
        group
            .throughput(Throughput::Elements(LIVE as u64))
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_secs(1));
        on_all!(group, $workload: SlabCrate BoundedBySlot BoundedByKey GrowableBySlot
            GrowableByKey NexusBounded SlotMap BoxOnMalloc);
        group.finish();
    }};
    ($group:ident, $workload:ident: $($subject:ident)*) => {
        $(
            model::check::<Order, $subject<Order>>().unwrap_or_else(|error| panic!("{error}"));
            $workload::<$subject<Order>>(&mut $group);
        )*
    };
}

/// Fills a container, empties it in random order.
fn fill_and_empty<S: Subject<Order>>(group: &mut Group<'_>) {
    let mut subject = S::with_capacity(LIVE);
    let mut handles = Vec::with_capacity(LIVE);
    let mut places: Vec<usize> = (0..LIVE).collect();
    places.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    group.bench_function(S::NAME, |bencher| {
        bencher.iter(|| {
            for number in 0..LIVE as u64 {
                handles.push(Some(subject.insert(Order::of(number))));
            }
            let mut sum = 0;
            for &place in &places {
                let handle = handles[place].take().expect("a handle a place");
                sum += subject.remove(handle).number();
            }
            handles.clear();
            assert_eq!(sum, LIVE as u64 * (LIVE as u64 - 1) / 2);
        });
    });
}

/// Removes one value at random and inserts another, in a full container.
fn churn<S: Subject<Order>>(group: &mut Group<'_>) {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let places: Vec<usize> = (0..LIVE).map(|_| random.random_range(0..LIVE)).collect();
    let mut subject = S::with_capacity(LIVE);
    let mut handles: Vec<_> = (0..LIVE as u64)
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
    assert_eq!(sum, LIVE as u64 * (LIVE as u64 - 1) / 2);
}

/// Reads every value in random order.
fn get<S: Subject<Order>>(group: &mut Group<'_>) {
    let mut subject = S::with_capacity(LIVE);
    let mut handles: Vec<_> = (0..LIVE as u64)
        .map(|number| subject.insert(Order::of(number)))
        .collect();
    handles.shuffle(&mut ChaCha8Rng::seed_from_u64(3));
    group.bench_function(S::NAME, |bencher| {
        bencher.iter(|| {
            let sum: u64 = handles.iter().map(|handle| subject.get(handle)).sum();
            assert_eq!(black_box(sum), LIVE as u64 * (LIVE as u64 - 1) / 2);
        });
    });
    for handle in handles {
        subject.free(handle);
    }
}

fn throughput(criterion: &mut Criterion) {
    on_all!(criterion, "fill and empty", fill_and_empty);
    on_all!(criterion, "churn", churn);
    on_all!(criterion, "get", get);
}

criterion_group!(benches, throughput);
criterion_main!(benches);
