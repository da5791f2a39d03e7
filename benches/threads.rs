//! Across threads: values handed over, next to boxes on malloc and mimalloc; what the owner's
//! own operations take after that; slabs and rings that threads share.
//!
//! A figure is of one value: the median over batches, since two threads on a machine that
//! others use too are interrupted often, and a batch that was tells of nothing else.

mod allocators;
mod crossings;

use crossings::Container;
use crossings::alone::{owner, sides};
use crossings::frames::{BbQueue, Frames, Rtrb, Spsc, frames, frames_alone};
use crossings::hand_over::hand_over;
use crossings::larson::larson;
use crossings::recycled::{Deadpool, ObjectPool, Opool, Ours, Pooled, recycled, recycled_alone};
use crossings::rings::{Deque, Fifo, full, half_full};
use crossings::scratch::{self, scratch};
use crossings::shared::{BATCH, get, get_one, remove, take, window};
use crossings::stores::{
    Indices, Jemalloc, Locked, Malloc, Mimalloc, Plurality, Sends, Sharded, Shared, Unshared, Word,
};
use crossings::values::{
    self, Broadcast, Disruptor, Followed, Ring, there_and_back, three_readers, values, values_alone,
};
use flatslab::sync::SharedRing;
use flatslab_benches::prelude::*;
use flatslab_benches::threads::*;

const PLAN: Plan = Plan {
    notes: |_| vec![machine::threads()],
    tables: Some(tables),
    ..plan::of(
        BENCH,
        &[(1024, &[8, 64, LARGEST, 900])],
        128,
        &[
            MALLOC,
            MIMALLOC,
            WORD,
            NEVER_SENT,
            SHARDED,
            PLURALITY,
            UNSHARED,
            RTRB,
            BBQUEUE,
            DISRUPTOR,
            JEMALLOC,
            OBJECT_POOL,
            OPOOL,
            DEADPOOL,
        ],
        cases,
    )
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

const COLUMNS: &[Column] = &[
    Column::Value(Metric::Ticks),
    Column::Value(Metric::P50),
    Column::Value(Metric::P90),
];

/// The percentiles of single operations.
const SINGLE: &[Column] = &[
    Column::Value(Metric::P50),
    Column::Value(Metric::P99),
    Column::Value(Metric::P999),
    Column::Value(Metric::Worst),
];

fn case(row: &'static str, turns: usize, entries: Vec<Entry>) -> Case {
    Case::of(&[row], turns, COLUMNS, entries)
}

fn cases(_: &Arguments, _: usize, bytes: usize) -> Vec<Case> {
    match bytes {
        8 => [of_value::<u64, 1>(), of_rings::<u64>()].concat(),
        64 => [
            of_value::<[u64; 8], 8>(),
            of_frames::<64>(),
            of_buffers(),
            of_rings::<[u64; 8]>(),
        ]
        .concat(),
        // Objects of mixed sizes, which two threads hand to each other.
        LARGEST => vec![case(
            LARSON,
            21,
            entries_of!(Container<u64>, larson[]:
                Sends, Shared, Sharded, Plurality, Locked, Malloc, Mimalloc, Jemalloc),
        )],
        _ => of_frames::<900>(),
    }
}

/// Frames of bytes from one thread to another.
fn of_frames<const BYTES: usize>() -> Vec<Case> {
    macro_rules! rings {
        ($turn:ident[$($more:tt)*]) => {
            entries_of!(Frames<BYTES>, $turn[BYTES, $($more)*]: Spsc, Rtrb, BbQueue)
        };
    }
    vec![
        case(FRAMES_IN_TURNS, 31, rings!(frames[true])),
        case(FRAMES_STREAMING, 31, rings!(frames[false])),
        case(FRAMES_ALONE, 21, rings!(frames_alone[])),
    ]
}

/// Values from one thread to another, through rings.
fn of_rings<V: Payload + Send + Sync>() -> Vec<Case> {
    use self::values::{Rtrb, Spsc};
    macro_rules! rings {
        ($turn:ident[$($more:tt)*]) => {
            entries_of!(Ring<V>, $turn[V, $($more)*]: Broadcast, Spsc, Rtrb, Disruptor)
        };
    }
    // A follower does not hold the writer up: it reads all only if it is asked to in turns.
    let followed = |turn| Entry::of(FOLLOWED, turn);
    let with = |mut entries: Vec<Entry>, turn| {
        entries.push(followed(turn));
        entries
    };
    vec![
        case(
            VALUES_IN_TURNS,
            31,
            with(rings!(values[true]), values::<Followed, V, true>),
        ),
        case(VALUES_STREAMING, 31, rings!(values[false])),
        case(
            THREE_READERS,
            21,
            vec![Entry::of(BROADCAST, three_readers::<V>)],
        ),
        case(
            VALUES_ALONE,
            21,
            with(rings!(values_alone[]), values_alone::<Followed, V>),
        ),
        Case::of(
            &[THERE_AND_BACK],
            21,
            SINGLE,
            with(rings!(there_and_back[]), there_and_back::<Followed, V>),
        ),
    ]
}

/// Buffers that come back from another thread.
fn of_buffers() -> Vec<Case> {
    macro_rules! pools {
        ($turn:ident[$($more:tt)*]) => {
            entries_of!(Pooled, $turn[$($more)*]: Ours, ObjectPool, Opool, Deadpool)
        };
    }
    vec![
        case(RECYCLED_IN_TURNS, 31, pools!(recycled[true])),
        case(RECYCLED_STREAMING, 31, pools!(recycled[false])),
        case(RECYCLED_ALONE, 21, pools!(recycled_alone[])),
    ]
}

/// Values of a type of so many words.
fn of_value<V: Payload + Send + Sync, const WORDS: usize>() -> Vec<Case> {
    macro_rules! stores {
        ($turn:ident[$($more:tt)*]) => {
            entries_of!(Container<V>, $turn[V, $($more)*]: Sends, Malloc, Mimalloc, Plurality, Shared,
                Sharded, Indices, Locked, Word<V>)
        };
    }
    let sides = entries_of!(Container<V>, sides[V]: Sends, Malloc, Mimalloc, Plurality);
    let owners = vec![
        Entry::of(NEVER_SENT, owner::<V, false>),
        Entry::of(HAS_SENT, owner::<V, true>),
    ];
    let mut cases = vec![
        case(IN_TURNS, 31, stores!(hand_over[true])),
        case(STREAMING, 31, stores!(hand_over[false])),
        Case::of(&[MAKE, END, RECLAIM], 21, COLUMNS, sides),
        case(OWNER, 31, owners),
    ];
    let on_threads = [
        of_threads::<V, WORDS, 0>,
        of_threads::<V, WORDS, 1>,
        of_threads::<V, WORDS, 2>,
        of_threads::<V, WORDS, 3>,
    ];
    for (threads, of_threads) in THREADS.into_iter().zip(on_threads) {
        if threads <= machine::processors() {
            cases.extend(of_threads());
        }
    }
    cases
}

/// Stores that threads share, objects next to each other, and rings of buffers: on one number of
/// threads.
fn of_threads<V: Payload + Send + Sync, const WORDS: usize, const AT: usize>() -> Vec<Case> {
    macro_rules! stores {
        ($turn:ident[$($more:tt)*]) => {
            entries_of!(Container<V>, $turn[V, AT $($more)*]:
                Shared, Sharded, Plurality, Indices, Locked, Unshared)
        };
    }
    const TURNS: usize = 21;
    let gets = entries_of!(Container<V>, get[V, AT]: Shared, Sharded, Locked, Unshared);
    let gets_of_one = entries_of!(Container<V>, get_one[V, AT]: Shared, Sharded, Locked);
    let neighbours = entries_of!(Container<scratch::Value<WORDS>>, scratch[WORDS, AT]:
        Sends, Shared, Sharded, Malloc, Mimalloc, Jemalloc);
    let mut cases = vec![
        case(REMOVES[AT], TURNS, stores!(remove[])),
        case(TAKES[AT], TURNS, stores!(take[])),
        case(OLDEST[AT], TURNS, stores!(window[, BATCH])),
        case(GETS[AT], TURNS, gets),
        case(GETS_OF_ONE[AT], TURNS, gets_of_one),
        Case::of(&[SINGLES[AT]], TURNS, SINGLE, stores!(window[, 1])),
        case(SCRATCH[AT], TURNS, neighbours),
    ];
    if V::BYTES == ENTRY {
        let half = entries_of!(Fifo, half_full[AT]: SharedRing, Deque);
        let whole = entries_of!(Fifo, full[AT]: SharedRing, Deque);
        cases.push(case(HALF_FULL[AT], TURNS, half));
        cases.push(case(FULL[AT], TURNS, whole));
    }
    cases
}
