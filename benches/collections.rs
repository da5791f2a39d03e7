//! Collections by key beside those of `std`, of `nexus-collections` and of the crates that programs
//! take for them: sorted maps, heaps, timers, lists, books of orders, an index by id, caches, and values
//! in one slice.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flatslab::collections::{DenseSlab, Heap, Lru, SortedMap, SortedSlab, TimerWheel};
use flatslab::{GenKey, Key, KeySlab};
use flatslab_benches::prelude::*;
use priority_queue::PriorityQueue;
use rand::Rng;
use rand::seq::SliceRandom;

use books::{ByKey, OnBTree, OnBTreeMap, OnRbTree, Side, book};
use caches::{Cache, cache};
use dense::{Values, dense};
use heaps::{Binary, Nexus, OurHeap, Timers, heap};
use indices::{Dense, Fold, Fx, Index, OfHash, OfIndexMap, Sip, Sparse, growing, index};
use lists::{Boxes, NexusQueue, OurList, Queue, list};
use maps::{Map, NexusBTree, NexusRbTree, map};
use timers::{Stale, Timeouts, longest_tick, timers};

#[path = "by_key/books.rs"]
mod books;
#[path = "by_key/caches.rs"]
mod caches;
#[path = "by_key/dense.rs"]
mod dense;
#[path = "by_key/heaps.rs"]
mod heaps;
#[path = "by_key/indices.rs"]
mod indices;
#[path = "by_key/lists.rs"]
mod lists;
#[path = "by_key/maps.rs"]
mod maps;
#[path = "by_key/timers.rs"]
mod timers;

const PLAN: Plan = plan::of(
    "collections",
    &[
        (1 << 7, &FAMILIES),
        (1 << 10, &FAMILIES),
        (1 << 15, &FAMILIES),
        (1 << 20, &FAMILIES),
    ],
    1 << 10,
    &[
        "BTreeMap",
        "BinaryHeap",
        "nexus List",
        "HashMap, foldhash",
        "DenseSlotMap",
    ],
    cases,
);

/// Bytes of an entry of a map, of a priority, of a value in a list, of an order in a book, of a value
/// in one slice, and of a value with an id.
const FAMILIES: [usize; 6] = [16, 8, 24, 32, 48, 64];

const MAPS: [&str; 7] = [
    "MAP insert",
    "MAP get",
    "MAP get, not there",
    "MAP remove + insert",
    "MAP walk",
    "MAP first + later",
    "MAP first, to empty",
];

const HEAPS: [&str; 5] = [
    "HEAP pop + push",
    "HEAP nine cancels, a pop",
    "HEAP change",
    "HEAP remove + push",
    "HEAP push, from empty",
];

const TIMERS: [&str; 1] = ["TIMERS moved, nine of ten"];

const TICKS: [&str; 1] = ["TIMERS longest tick"];

const LISTS: [&str; 4] = [
    "LIST unlink + link",
    "LIST remove + insert",
    "LIST pop + push",
    "LIST walk",
];

const BOOKS: [&str; 1] = ["BOOK remove + add"];

const DENSE: [&str; 5] = [
    "DENSE insert",
    "DENSE get",
    "DENSE remove + insert",
    "DENSE walk",
    "DENSE walk, 1 % live",
];

const INDICES: [&str; 3] = ["INDEX get", "INDEX get, not there", "INDEX remove + insert"];

const CACHES: [&str; 3] = ["CACHE get", "CACHE request", "CACHE insert, one displaced"];

/// The longest of all insertions, in ticks.
const GROWING: [&str; 1] = ["INDEX longest insertion"];

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, live: usize, bytes: usize) -> Vec<Case> {
    macro_rules! case {
        ($rows:expr, $reference:expr, $turn:ident: $($subject:ty),*) => {
            Case::of(
                &$rows,
                if live > 1 << 16 { 3 } else { 9 },
                const { &[Column::Value(Metric::Ticks), Column::Ratio($reference)] },
                vec![$(Entry::of(<$subject>::NAME, $turn::<$subject>)),*],
            )
        };
    }
    match bytes {
        16 => vec![case!(
            MAPS, "BTreeMap", map: SortedMap<u64, u64>, SortedSlab<u64, u64>, BTreeMap<u64, u64>,
            NexusBTree, NexusRbTree
        )],
        8 => vec![
            case!(
                HEAPS, "BinaryHeap",
                heap: OurHeap, Binary, Nexus, PriorityQueue<u32, Reverse<u64>>
            ),
            case!(TIMERS, "BinaryHeap, stale entries", timers: TimerWheel, Heap<u64>, Stale),
            case!(TICKS, "BinaryHeap, stale entries", longest_tick: TimerWheel, Heap<u64>, Stale),
        ],
        24 => vec![case!(
            LISTS, "nexus List", list: OurList<Key>, OurList<GenKey>, NexusQueue, Boxes
        )],
        32 => vec![case!(
            BOOKS, "BTreeMap, List", book: ByKey, OnBTreeMap, OnBTree, OnRbTree
        )],
        48 => vec![case!(
            DENSE, "DenseSlotMap", dense: DenseSlab<[u64; 6], GenKey>,
            slotmap::DenseSlotMap<slotmap::DefaultKey, [u64; 6]>, KeySlab<[u64; 6], GenKey>,
            slotmap::SlotMap<slotmap::DefaultKey, [u64; 6]>
        )],
        _ => {
            let mut cases = vec![
                case!(
                    INDICES, "HashMap, foldhash", index: Dense, Sparse, OfHash<Fold>, OfHash<Fx>,
                    OfHash<Sip>, OfIndexMap
                ),
                case!(
                    CACHES, "lru",
                    cache: Lru<u64, [u64; 6]>, lru::LruCache<u64, [u64; 6]>,
                    quick_cache::unsync::Cache<u64, [u64; 6]>
                ),
            ];
            if live >= 1 << 15 {
                cases.push(case!(
                    GROWING, "HashMap, foldhash", growing: Dense, OfHash<Fold>, OfHash<Fx>
                ));
            }
            cases
        }
    }
}

/// How many operations are timed of a collection of so many.
fn timed(live: usize) -> usize {
    live.clamp(1 << 13, 1 << 17)
}

/// Distinct numbers without an order.
fn numbers(setting: &mut Setting, count: usize) -> Vec<u64> {
    let shift = setting.random.random::<u64>() << 24;
    let mut numbers: Vec<u64> = (0..count as u64)
        .map(|number| (shift + number).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    numbers.shuffle(&mut setting.random);
    numbers
}

/// Places of live values, in random order.
fn picks(setting: &mut Setting, count: usize) -> Vec<u32> {
    let live = setting.live as u32;
    (0..count)
        .map(|_| setting.random.random_range(0..live))
        .collect()
}
