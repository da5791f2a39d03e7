//! Across threads: values handed over, next to boxes on malloc and mimalloc; what the owner's
//! own operations take after that; slabs and rings that threads share.
//!
//! A figure is of one value: the median over batches, since two threads on a machine that
//! others use too are interrupted often, and a batch that was tells of nothing else.

mod crossings;

use crossings::alone::{self, sides};
use crossings::frames::{self, BbQueue, Rtrb, Spsc};
use crossings::hand_over::{self, Pace};
use crossings::heaps::{Jemalloc, Mimalloc};
use crossings::larson;
use crossings::rings::{Deque, full, half_full};
use crossings::scratch;
use crossings::shared::{get, get_one, oldest, remove, single, take};
use crossings::stores::{
    Indices, Locked, Malloc, Plurality, Sends, Sharded, Shared, Unshared, Word,
};
use crossings::{Container, Store};
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
            MALLOC, MIMALLOC, WORD, NEVER_SENT, SHARDED, PLURALITY, UNSHARED, RTRB, BBQUEUE,
            JEMALLOC,
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

fn entry(subject: &'static str, turn: fn(Setting) -> Turn) -> Entry {
    Entry {
        subject,
        // Each turn checks its answers.
        check: || Ok(()),
        turn,
    }
}

fn case(rows: &[&'static str], turns: usize, entries: Vec<Entry>) -> Case {
    Case {
        rows: rows.to_vec(),
        turns,
        columns: COLUMNS,
        entries,
    }
}

fn cases(_: &Arguments, _: usize, bytes: usize) -> Vec<Case> {
    match bytes {
        8 => of_value::<u64>(),
        64 => {
            let mut cases = of_value::<[u64; 8]>();
            cases.extend(of_frames::<64>());
            cases
        }
        LARGEST => of_mixed_sizes(),
        _ => of_frames::<900>(),
    }
}

/// Objects of mixed sizes, which two threads hand to each other.
fn of_mixed_sizes() -> Vec<Case> {
    macro_rules! entries {
        ($($store:ty)*) => {
            vec![$(entry(<$store as Container<u64>>::NAME, |setting| {
                larson::turn::<$store>(&setting)
            })),*]
        };
    }
    vec![case(
        &[LARSON],
        21,
        entries![Sends Shared Sharded Plurality Locked Malloc Mimalloc Jemalloc],
    )]
}

/// Objects next to each other, on one number of threads.
fn of_neighbours<const WORDS: usize, const AT: usize>() -> Case {
    macro_rules! entries {
        ($($store:ty)*) => {
            vec![$(entry(<$store as Container<scratch::Value<WORDS>>>::NAME, |setting| {
                scratch::turn::<WORDS, $store>(&setting, THREADS[AT])
            })),*]
        };
    }
    let entries = entries![Sends Shared Sharded Malloc Mimalloc Jemalloc];
    case(&[SCRATCH[AT]], 21, entries)
}

/// Frames of bytes from one thread to another.
fn of_frames<const BYTES: usize>() -> Vec<Case> {
    macro_rules! entries {
        ($turn:ident $(, $pace:expr)?) => {
            vec![
                entry(SPSC, |setting| frames::$turn::<BYTES, Spsc>(&setting $(, $pace)?)),
                entry(RTRB, |setting| frames::$turn::<BYTES, Rtrb>(&setting $(, $pace)?)),
                entry(BBQUEUE, |setting| frames::$turn::<BYTES, BbQueue>(&setting $(, $pace)?)),
            ]
        };
    }
    vec![
        case(&[FRAMES_IN_TURNS], 31, entries!(turn, Pace::InTurns)),
        case(&[FRAMES_STREAMING], 31, entries!(turn, Pace::Streaming)),
        case(&[FRAMES_ALONE], 21, entries!(alone)),
    ]
}

fn of_value<V: Payload + Send + Sync>() -> Vec<Case> {
    macro_rules! entries {
        ($turn:ident; $($store:ty)*) => {
            vec![$(
                entry(<$store as Container<V>>::NAME, |setting| {
                    $turn::<V, $store>(&setting)
                })
            ),*]
        };
    }
    fn streaming<V: Payload + Send, S: Store<V, Handle: Send>>(setting: &Setting) -> Turn {
        hand_over::turn::<V, S>(setting, Pace::Streaming)
    }
    fn in_turns<V: Payload + Send, S: Store<V, Handle: Send>>(setting: &Setting) -> Turn {
        hand_over::turn::<V, S>(setting, Pace::InTurns)
    }
    let mut cases = vec![
        case(
            &[IN_TURNS],
            31,
            entries![in_turns; Sends Malloc Mimalloc Plurality Shared Sharded Indices Locked Word<V>],
        ),
        case(
            &[STREAMING],
            31,
            entries![streaming; Sends Malloc Mimalloc Plurality Shared Sharded Indices Locked Word<V>],
        ),
        case(
            &[MAKE, END, RECLAIM],
            21,
            entries![sides; Sends Malloc Mimalloc Plurality],
        ),
        case(
            &[OWNER],
            31,
            vec![
                entry(NEVER_SENT, |setting| alone::owner::<V>(&setting, false)),
                entry(HAS_SENT, |setting| alone::owner::<V>(&setting, true)),
            ],
        ),
    ];
    macro_rules! shared {
        ($($at:literal)*) => {
            $(if THREADS[$at] <= machine::processors() {
                cases.extend(of_threads::<V, $at>());
                cases.push(match V::BYTES {
                    8 => of_neighbours::<1, $at>(),
                    _ => of_neighbours::<8, $at>(),
                });
                if V::BYTES == ENTRY {
                    cases.extend(of_rings::<$at>());
                }
            })*
        };
    }
    shared!(0 1 2 3);
    cases
}

/// Rings of buffers, on one number of threads.
fn of_rings<const AT: usize>() -> [Case; 2] {
    macro_rules! entries {
        ($turn:ident) => {
            vec![
                entry(RING, |setting| $turn::<SharedRing>(&setting, THREADS[AT])),
                entry(DEQUE, |setting| $turn::<Deque>(&setting, THREADS[AT])),
            ]
        };
    }
    [
        case(&[HALF_FULL[AT]], 21, entries![half_full]),
        case(&[FULL[AT]], 21, entries![full]),
    ]
}

/// Stores that threads share, on one number of threads.
fn of_threads<V: Payload + Send + Sync, const AT: usize>() -> Vec<Case> {
    macro_rules! entries {
        ($turn:ident; $($store:ident)*) => {
            vec![$(entry(<$store as Container<V>>::NAME, |setting| {
                $turn::<V, $store>(&setting, THREADS[AT])
            })),*]
        };
    }
    const TURNS: usize = 21;
    let mut cases = vec![
        case(
            &[REMOVES[AT]],
            TURNS,
            entries![remove; Shared Sharded Plurality Indices Locked Unshared],
        ),
        case(
            &[TAKES[AT]],
            TURNS,
            entries![take; Shared Sharded Plurality Indices Locked Unshared],
        ),
        case(
            &[OLDEST[AT]],
            TURNS,
            entries![oldest; Shared Sharded Plurality Indices Locked Unshared],
        ),
        case(
            &[GETS[AT]],
            TURNS,
            entries![get; Shared Sharded Locked Unshared],
        ),
        case(
            &[GETS_OF_ONE[AT]],
            TURNS,
            entries![get_one; Shared Sharded Locked],
        ),
    ];
    cases.push(Case {
        columns: SINGLE,
        ..case(
            &[SINGLES[AT]],
            TURNS,
            entries![single; Shared Sharded Plurality Indices Locked Unshared],
        )
    });
    cases
}
