//! Whole lives: a container is made, filled and dropped, again and again, as the allocator
//! has it warm; and many values at once beside one after the other.

use std::hint::black_box;

use flatslab::{GenKey, KeySlab};
use rand::seq::SliceRandom;

use crate::clock;
use crate::operation::{BATCH, Setting};
use crate::payload::Payload;
use crate::run::{Measured, Turn};
use crate::subject::Subject;

/// The name of the bench.
pub const BENCH: &str = "lives";

/// The rows of [`lives`].
pub const LIVES: [&str; 5] = [
    "LIFE of 1",
    "LIFE of 16",
    "LIFE of 1,000",
    "LIFE of 32,000",
    "LIFE of 1,000,000",
];

/// How many values each has.
const VALUES: [usize; 5] = [1, 16, 1_000, 32_000, 1_000_000];

/// Ticks of a value's share of a life.
pub fn lives<V: Payload, S: Subject<V>>(setting: Setting) -> Turn {
    let rows = VALUES.map(|values| {
        if values > setting.live {
            return Measured::default();
        }
        let (lives, batches) = match values {
            ..=16 => (BATCH, 32),
            ..=1_000 => (4, 16),
            ..=32_000 => (1, 12),
            _ => (1, 3),
        };
        let mut handles: Vec<S::Handle> = Vec::with_capacity(values);
        let mut life = || {
            let mut subject = S::with_capacity(0);
            black_box(&mut subject);
            for number in 0..values {
                handles.push(subject.insert(V::of(number as u64)));
            }
            // As values, so that nothing is left to do for handles that own theirs.
            for handle in handles.drain(..) {
                std::mem::forget(handle);
            }
            // Dropped where it is: a move reads two fields at once that were stored apart.
        };
        life();
        let one = || {
            let begun = clock::start();
            (0..lives).for_each(|_| life());
            let ticks = clock::stop() - begun;
            ticks.saturating_sub(setting.overhead) as f64 / (lives * values) as f64
        };
        std::iter::repeat_with(one)
            .take(batches)
            .collect::<Vec<_>>()
            .into()
    });
    rows.into()
}

/// The rows of [`many`] and [`one_by_one`].
pub const MANY: [&str; 3] = ["INSERT many", "GET many", "REMOVE many"];

/// By the methods for many.
pub fn many<V: Payload>(setting: Setting) -> Turn {
    at_random::<V>(
        setting,
        |slab, values, keys| slab.insert_many(values.iter().copied(), keys),
        |slab, keys| {
            slab.get_many(keys)
                .flatten()
                .map(V::number)
                .fold(0, u64::wrapping_add)
        },
        |slab, keys| {
            slab.remove_many(keys)
                .flatten()
                .map(|v| v.number())
                .fold(0, u64::wrapping_add)
        },
    )
}

/// By a loop.
pub fn one_by_one<V: Payload>(setting: Setting) -> Turn {
    at_random::<V>(
        setting,
        |slab, values, keys| keys.extend(values.iter().map(|value| slab.insert(*value))),
        |slab, keys| {
            let values = keys.iter().filter_map(|key| slab.get(*key));
            values.map(V::number).fold(0, u64::wrapping_add)
        },
        |slab, keys| {
            let values = keys.iter().filter_map(|key| slab.try_remove(*key));
            values
                .map(|value| value.number())
                .fold(0, u64::wrapping_add)
        },
    )
}

type Slab<V> = KeySlab<V, GenKey>;

/// In batches at random places of a full slab.
fn at_random<V: Payload>(
    mut setting: Setting,
    insert: impl Fn(&mut Slab<V>, &[V], &mut Vec<GenKey>),
    get: impl Fn(&Slab<V>, &[GenKey]) -> u64,
    remove: impl Fn(&mut Slab<V>, &[GenKey]) -> u64,
) -> Turn {
    let mut slab = Slab::with_capacity_and_key(setting.live);
    let mut keys: Vec<_> = (0..setting.live)
        .map(|n| slab.insert(V::of(n as u64)))
        .collect();
    let mut numbers: Vec<u64> = (0..setting.live as u64).collect();
    keys.shuffle(&mut setting.random.clone());
    numbers.shuffle(&mut setting.random);
    let timed = setting.live.min(1 << 16);
    let mut rows = [const { Vec::new() }; 3];
    let mut batch = |row: usize, work: &mut dyn FnMut()| {
        let begun = clock::start();
        work();
        let ticks = clock::stop() - begun;
        rows[row].push(ticks.saturating_sub(setting.overhead) as f64 / BATCH as f64);
    };
    let mut sums = [0_u64; 3];
    for (keys, numbers) in keys
        .chunks(BATCH)
        .zip(numbers.chunks(BATCH))
        .take(timed / BATCH)
    {
        batch(1, &mut || sums[1] = sums[1].wrapping_add(get(&slab, keys)));
        sums[0] = numbers
            .iter()
            .fold(sums[0], |sum, number| sum.wrapping_add(*number));
    }
    for keys in keys[..timed].chunks(BATCH) {
        batch(2, &mut || {
            sums[2] = sums[2].wrapping_add(remove(&mut slab, keys))
        });
    }
    assert_eq!((sums[1], sums[2]), (sums[0], sums[0]), "a wrong value");
    let values: Vec<V> = (0..BATCH as u64).map(V::of).collect();
    let mut new = Vec::with_capacity(timed);
    for _ in 0..timed / BATCH {
        batch(0, &mut || insert(&mut slab, &values, &mut new));
    }
    assert!(
        new.iter()
            .zip(0..)
            .all(|(key, at)| slab[*key].number() == at % BATCH as u64)
    );
    rows.map(Measured::from).into()
}
