//! Epoch slabs: what closing an epoch gives back, what pins it, and that memory stays flat;
//! then times, next to the allocators.
//!
//! Rates, drift and resident bytes are facts: the bench fails where one is not as claimed. Each
//! turn runs in a process of its own, so that the resident set is that of one subject.

mod allocators;
mod epochs;
mod peers;

use allocators::{Jemalloc, Malloc, Mimalloc};
use epochs::heaps::{Bump, Cleared, Heap, InEpochBytes, On};
use epochs::requests::serve;
use epochs::{drain, fill, memory, pinning};
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

fn case(row: &'static str, turns: usize, columns: &'static [Column], entries: Vec<Entry>) -> Case {
    Case::of(&[row], turns, columns, entries)
}

fn cases(arguments: &Arguments, live: usize, bytes: usize) -> Vec<Case> {
    match bytes {
        8 => return hot_cases(),
        drain::SESSION => return drain_cases(arguments.quick || live < drain::SESSIONS),
        _ => {}
    }
    let mut cases = Vec::new();
    macro_rules! pinning {
        ($($at:literal)*) => {
            $(cases.push(case(PINNING[$at], 1, FACTS, vec![
                Entry::of(SLAB, |setting| pinning::sweep(&setting, SHARES[$at])),
            ]));)*
        };
    }
    pinning!(0 1 2 3 4 5 6);
    let sustained = vec![
        Entry::of(RELEASED, |_| pinning::sustained(true)),
        Entry::of(NEVER, |_| pinning::sustained(false)),
    ];
    cases.push(case(SUSTAINED, 1, FACTS, sustained));
    cases.push(case(CHURN, 1, FACTS, vec![Entry::of(SLAB, memory::churn)]));
    let given_back = vec![Entry::of(SLAB, memory::give_back)];
    cases.push(case(RETURN, 1, FACTS, given_back));
    macro_rules! fills {
        ($($at:literal)*) => {
            $(cases.push(case(FILLS[$at], 5, TIMES, vec![
                Entry::of(MALLOC, fill::allocator::<Malloc, $at>),
                Entry::of(MIMALLOC, fill::allocator::<Mimalloc, $at>),
                Entry::of(JEMALLOC, fill::allocator::<Jemalloc, $at>),
                Entry::of(GROWS, fill::slab::<false, $at>),
                Entry::of(RESERVED, fill::slab::<true, $at>),
            ]));)*
        };
    }
    fills!(0 1 2 3);
    let served = entries_of!(Heap, serve[]:
        Bump, On<Malloc>, On<Mimalloc>, On<Jemalloc>, InEpochBytes, Cleared);
    cases.push(case(REQUESTS, 6, TIMES, served));
    cases
}

/// All loads; of a quick run the short ones.
fn drain_cases(is_quick: bool) -> Vec<Case> {
    fn entries<const REQUESTS: usize, const REPLACED: usize>() -> Vec<Entry> {
        let mut entries = vec![
            Entry::of(APART, |_| drain::in_epochs(true, REQUESTS, REPLACED)),
            Entry::of(MIXED, |_| drain::in_epochs(false, REQUESTS, REPLACED)),
        ];
        // The control of the busiest.
        if REPLACED == 2_000 {
            entries.push(Entry::of(BOX, |_| drain::in_boxes(REQUESTS, REPLACED)));
        }
        entries
    }
    let entries = [
        entries::<20_000, 2>,
        entries::<20_000, 20>,
        entries::<20_000, 80>,
        entries::<20_000, 2_000>,
        entries::<200_000, 2>,
        entries::<200_000, 20>,
        entries::<200_000, 80>,
        entries::<200_000, 2_000>,
    ];
    let rows = DRAINS.iter().zip(entries);
    let taken = rows.take(if is_quick { 4 } else { DRAINS.len() });
    taken
        .map(|(row, entries)| case(row, 1, FACTS, entries()))
        .collect()
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
