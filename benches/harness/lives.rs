//! Whole lives: a container is made, filled and dropped, again and again, as the allocator
//! has it warm; and many values at once beside one after the other.

use std::hint::black_box;

use flatslab::{GenKey, KeySlab};
use rand::seq::SliceRandom;

use crate::clock;
use crate::operation::{BATCH, Setting};
use crate::payload::Payload;
use crate::record::Record;
use crate::run::{Measured, Turn};
use crate::subject::Subject;
use crate::table::{self, Ratios, named};

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
            0..=16 => (BATCH, 32),
            17..=1_000 => (4, 16),
            1_001..=32_000 => (1, 12),
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
pub const MANY: [&str; 5] = [
    "INSERT many",
    "GET many",
    "REMOVE many",
    "GET many, alone",
    "REMOVE many, alone",
];

/// By the methods for many.
pub fn many<V: Payload>(setting: Setting) -> Turn {
    at_random::<V>(
        setting,
        |slab, values, keys| slab.insert_many(values.iter().copied(), keys),
        |slab, keys, each| {
            for value in slab.get_many(keys).flatten() {
                each(value.number());
            }
        },
        |slab, keys, each| {
            for value in slab.remove_many(keys).flatten() {
                each(value.number());
            }
        },
    )
}

/// By a loop.
pub fn one_by_one<V: Payload>(setting: Setting) -> Turn {
    at_random::<V>(
        setting,
        |slab, values, keys| keys.extend(values.iter().map(|value| slab.insert(*value))),
        |slab, keys, each| {
            for value in keys.iter().filter_map(|key| slab.get(*key)) {
                each(value.number());
            }
        },
        |slab, keys, each| {
            for key in keys {
                if let Some(value) = slab.try_remove(*key) {
                    each(value.number());
                }
            }
        },
    )
}

type Slab<V> = KeySlab<V, GenKey>;

/// What is done with a value: added up, and, where it is *alone*, waited for, as by a program
/// that has more to do with it than the processor looks ahead.
struct Sum<const ALONE: bool>(u64);

impl<const ALONE: bool> Sum<ALONE> {
    #[inline(always)]
    fn add(&mut self, number: u64) {
        self.0 = self.0.wrapping_add(number);
        if ALONE {
            black_box(self.0);
            clock::fence();
        }
    }
}

/// In batches at random places of a full slab.
fn at_random<V: Payload>(
    mut setting: Setting,
    insert: impl Fn(&mut Slab<V>, &[V], &mut Vec<GenKey>),
    get: impl Fn(&Slab<V>, &[GenKey], &mut dyn FnMut(u64)),
    remove: impl Fn(&mut Slab<V>, &[GenKey], &mut dyn FnMut(u64)),
) -> Turn {
    let mut slab = Slab::with_capacity_and_key(setting.live);
    let mut keys: Vec<_> = (0..setting.live)
        .map(|n| slab.insert(V::of(n as u64)))
        .collect();
    let mut numbers: Vec<u64> = (0..setting.live as u64).collect();
    keys.shuffle(&mut setting.random.clone());
    numbers.shuffle(&mut setting.random);
    let timed = setting.live.min(1 << 17) / 2;
    let mut rows = [const { Vec::new() }; 5];
    let mut batch = |row: usize, work: &mut dyn FnMut()| {
        let begun = clock::start();
        work();
        let ticks = clock::stop() - begun;
        rows[row].push(ticks.saturating_sub(setting.overhead) as f64 / BATCH as f64);
    };
    // Half of what is timed overlaps, half is alone.
    let (mut overlapped, mut alone) = (Sum::<false>(0), Sum::<true>(0));
    let halves = [0..timed, timed..2 * timed];
    for keys in keys[halves[0].clone()].chunks(BATCH) {
        batch(1, &mut || {
            get(&slab, keys, &mut |number| overlapped.add(number))
        });
    }
    for keys in keys[halves[1].clone()].chunks(BATCH) {
        batch(3, &mut || get(&slab, keys, &mut |number| alone.add(number)));
    }
    for keys in keys[halves[0].clone()].chunks(BATCH) {
        batch(2, &mut || {
            remove(&mut slab, keys, &mut |number| overlapped.add(number))
        });
    }
    for keys in keys[halves[1].clone()].chunks(BATCH) {
        batch(4, &mut || {
            remove(&mut slab, keys, &mut |number| alone.add(number))
        });
    }
    let [first, second] = halves.map(|half| numbers[half].iter().fold(0, |sum, n| sum + 2 * n));
    assert_eq!((overlapped.0, alone.0), (first, second), "a wrong value");
    let values: Vec<V> = (0..BATCH as u64).map(V::of).collect();
    let mut new = Vec::with_capacity(timed);
    for _ in 0..timed / BATCH {
        batch(0, &mut || insert(&mut slab, &values, &mut new));
    }
    let mut inserted = new.iter().zip(0..);
    assert!(inserted.all(|(key, at)| slab[*key].number() == at % BATCH as u64));
    rows.map(Measured::from).into()
}

/// Two tables: a life beside the other containers', and many values beside a loop; of values of
/// these sizes.
#[must_use]
pub fn tables(record: &Record, sizes: &[usize]) -> String {
    const SUBJECTS: [&str; 4] = [
        "KeySlab",
        "KeySlab, GenKey",
        "KeySlab, grow_in_place",
        "slotmap",
    ];
    let table = |rows: &[&str], base: &str, subjects: &[&str]| {
        let mut cases = record.cases(BENCH);
        cases.retain(|case| sizes.contains(&case.bytes) && rows.contains(&case.row));
        let ratios = Ratios {
            title: &format!("time / that of {}", table::prose(base)),
            base,
            unit: ("ticks a value", false),
            subjects: named(subjects),
        };
        ratios.of(record, &cases, |case| case.by_bytes())
    };
    let tables = [
        table(&LIVES, "slab", &SUBJECTS),
        table(&MANY, "one by one", &["many at once"]),
    ];
    tables
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}
