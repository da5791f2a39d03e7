//! Epoch slabs: what closing an epoch gives back, what pins it, and that memory stays flat;
//! then times, next to the allocators.
//!
//! Rates, drift and resident bytes are facts: the bench fails where one is not as claimed. Each
//! turn runs in a process of its own, so that the resident set is that of one subject.

mod allocators;
mod epochs;
mod peers;

use allocators::{Jemalloc, Malloc, Mimalloc};
use epochs::heaps::{Bump, Cleared, InEpochBytes, On};
use epochs::{drain, fill, memory, pinning, requests};
use flatslab_benches::epoch::*;
use flatslab_benches::model;
use flatslab_benches::operation::{churn_random, get_random, insert_steady, remove_random};
use flatslab_benches::prelude::*;
use flatslab_benches::subject::ours::{Generations, InEpoch};
use peers::SlotMap;

const PLAN: Plan = Plan {
    runs: 1,
    in_processes: true,
    notes: |_| {
        vec![format!(
            "an epoch of {} requests, closed {} later; {} sessions",
            drain::BATCH,
            drain::LAG,
            drain::SESSIONS
        )]
    },
    tables: Some(tables),
    ..plan::of(
        BENCH,
        &[
            (100_000, &[fill::BYTES]),
            (4_000, &[drain::SESSION]),
            (8_192, &[8]),
        ],
        QUICK,
        &[APART, MIXED, MALLOC, MIMALLOC, FLOOR, SLOTMAP],
        cases,
    )
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

const FACTS: &[Column] = &[Column::Value(Metric::Memory)];

/// The percentiles of single operations.
const TIMES: &[Column] = &[
    Column::Value(Metric::Ticks),
    Column::Value(Metric::P50),
    Column::Value(Metric::P95),
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

fn case(row: &'static str, turns: usize, columns: &'static [Column], entries: Vec<Entry>) -> Case {
    Case {
        rows: vec![row],
        turns,
        columns,
        entries,
    }
}

fn cases(arguments: &Arguments, live: usize, bytes: usize) -> Vec<Case> {
    if bytes == 8 {
        return hot_cases();
    }
    if bytes == drain::SESSION {
        return drain_cases(arguments.quick || live < drain::SESSIONS);
    }
    let mut cases = Vec::new();
    macro_rules! pinning {
        ($($at:literal)*) => {
            $(cases.push(case(PINNING[$at], 1, FACTS, vec![
                entry(SLAB, |setting| pinning::sweep(&setting, SHARES[$at])),
            ]));)*
        };
    }
    pinning!(0 1 2 3 4 5 6);
    cases.push(case(
        SUSTAINED,
        1,
        FACTS,
        vec![
            entry(RELEASED, |_| pinning::sustained(true)),
            entry(NEVER, |_| pinning::sustained(false)),
        ],
    ));
    cases.push(case(CHURN, 1, FACTS, vec![entry(SLAB, memory::churn)]));
    cases.push(case(RETURN, 1, FACTS, vec![entry(SLAB, memory::give_back)]));
    macro_rules! fills {
        ($($at:literal)*) => {
            $(cases.push(case(FILLS[$at], 5, TIMES, vec![
                entry(MALLOC, |setting| fill::allocator::<Malloc>(&setting, THREADS[$at])),
                entry(MIMALLOC, |setting| fill::allocator::<Mimalloc>(&setting, THREADS[$at])),
                entry(JEMALLOC, |setting| fill::allocator::<Jemalloc>(&setting, THREADS[$at])),
                entry(GROWS, |setting| fill::slab(&setting, THREADS[$at], false)),
                entry(RESERVED, |setting| fill::slab(&setting, THREADS[$at], true)),
            ]));)*
        };
    }
    fills!(0 1 2 3);
    cases.push(case(
        REQUESTS,
        6,
        TIMES,
        vec![
            entry(FLOOR, requests::serve::<Bump>),
            entry(MALLOC, requests::serve::<On<Malloc>>),
            entry(MIMALLOC, requests::serve::<On<Mimalloc>>),
            entry(JEMALLOC, requests::serve::<On<Jemalloc>>),
            entry(BYTES, requests::serve::<InEpochBytes>),
            entry(CLEARED, requests::serve::<Cleared>),
        ],
    ));
    cases
}

/// All loads; of a quick run the short ones.
fn drain_cases(is_quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    macro_rules! drains {
        ($($row:literal: $length:literal $replaced:literal)*) => {
            $({
                const LOAD: drain::Load = drain::Load {
                    requests: LENGTHS[$length],
                    replaced: REPLACED[$replaced],
                };
                if !(is_quick && $length == 1) {
                    let mut entries = vec![
                        entry(APART, |_| drain::in_epochs(true, LOAD)),
                        entry(MIXED, |_| drain::in_epochs(false, LOAD)),
                    ];
                    if BUSY.contains(&DRAINS[$row]) {
                        entries.push(entry(BOX, |_| drain::in_boxes(LOAD)));
                    }
                    cases.push(case(DRAINS[$row], 1, FACTS, entries));
                }
            })*
        };
    }
    drains!(0: 0 0   1: 0 1   2: 0 2   3: 0 3   4: 1 0   5: 1 1   6: 1 2   7: 1 3);
    cases
}

/// Operations on one epoch, next to slabs with generations and no epochs.
fn hot_cases() -> Vec<Case> {
    macro_rules! hot {
        ($($at:literal $operation:ident)*) => {
            vec![$(case(HOT[$at], 31, HOT_COLUMNS, vec![
                hot!(SlotMap $operation),
                hot!(Generations $operation),
                hot!(InEpoch $operation),
            ])),*]
        };
        ($subject:ident $operation:ident) => {
            Entry {
                subject: <$subject<u64> as Subject<u64>>::NAME,
                check: model::check::<u64, $subject<u64>>,
                turn: |mut setting| {
                    machine::pin();
                    setting.overhead = clock::overhead();
                    $operation::<u64, $subject<u64>>(setting).into()
                },
            }
        };
    }
    hot!(0 insert_steady 1 get_random 2 remove_random 3 churn_random)
}

const HOT_COLUMNS: &[Column] = &[Column::Value(Metric::Ticks)];
