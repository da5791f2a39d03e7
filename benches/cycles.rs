//! Ticks and core cycles per operation, next to the `slab` crate and others, in
//! one run on one pinned core.

mod allocators;
mod peers;

use flatslab_benches::operation::{
    churn_fifo, churn_lifo, churn_lifo_built, churn_lifo_copied, churn_random, contains,
    free_random, get_hot, get_mut_random, get_random, insert_fresh, insert_steady, iterate_dense,
    iterate_mut, iterate_sparse, remove_lifo, remove_random, replace_random, take_refill,
};
use flatslab_benches::prelude::*;
use flatslab_benches::subject::floors::*;
use flatslab_benches::subject::ours::*;
use flatslab_benches::subject::pools::*;
use peers::*;

const USUAL: usize = 8192;

/// At a million values: the others say nothing new for minutes of time.
const MAIN: [&str; 7] = [
    "INSERT steady",
    "GET random",
    "REMOVE random",
    "CHURN random",
    "ITERATE dense",
    "ITERATE 1 %",
    "ITERATE mut",
];

const PLAN: Plan = Plan {
    runs: 1,
    ..plan::of(
        "cycles",
        &[
            (USUAL, &[8, 64, 256, 1024]),
            (1024, &[8, 64]),
            (1 << 20, &[8, 64]),
        ],
        1024,
        &["slab"],
        cases,
    )
};

const COLUMNS: &[Column] = &[
    Column::Value(Metric::Ticks),
    Column::Cycles,
    Column::Value(Metric::P50),
    Column::Value(Metric::P90),
    Column::Value(Metric::P99),
    Column::Value(Metric::P999),
    Column::Highest(Metric::Worst),
    Column::Ratio("slab"),
];

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(arguments: &Arguments, live: usize, bytes: usize) -> Vec<Case> {
    let mut cases = match bytes {
        8 => operations::<u64>(turns(live, bytes)),
        64 => operations::<[u64; 8]>(turns(live, bytes)),
        256 => operations::<[u64; 32]>(turns(live, bytes)),
        _ => operations::<[u64; 128]>(turns(live, bytes)),
    };
    if live > USUAL && arguments.live.is_empty() {
        cases.retain(|case| MAIN.contains(&case.rows[0]));
    }
    cases
}

/// More turns where a turn is short; fewer where it takes tens of milliseconds.
fn turns(live: usize, bytes: usize) -> usize {
    match live * bytes.max(32) {
        0..0x4_0000 => 183,
        0x4_0000..0x10_0000 => 61,
        0x10_0000..0x100_0000 => 30,
        _ => 5,
    }
}

/// All operations on values of type `V`.
fn operations<V: Payload>(turns: usize) -> Vec<Case> {
    // `slab` first: it is what all ratios refer to.
    macro_rules! all {
        ($operation:ident) => {
            entries!(V, $operation: SlabCrate
                BoundedBySlot BoundedByKey GrowableBySlot GrowableByKey
                PlainBounded Plain GenerationsBounded Generations
                PoolByBox PoolInStorage
                BareFloor Floor StampedFloor
                NexusBounded NexusUnbounded SlotMap Plurality BoxOnMalloc)
        };
    }
    macro_rules! access {
        ($operation:ident) => {
            entries!(V, $operation: SlabCrate
                BoundedBySlot BoundedUnchecked BoundedBox BoundedByKey BoundedUntracked
                GrowableBySlot GrowableUnchecked GrowableBox GrowableByKey GrowableUntracked
                PlainBounded Plain GenerationsBounded Generations
                PoolByBox PoolInStorage
                BareFloor Floor StampedFloor
                NexusBounded NexusUnbounded SlotMap Plurality BoxOnMalloc)
        };
    }
    macro_rules! occupancy {
        ($operation:ident) => {
            entries!(V, $operation: SlabCrate
                BoundedBySlot BoundedByKey GrowableBySlot GrowableByKey
                PlainBounded Plain GenerationsBounded Generations StampedFloor SlotMap)
        };
    }
    macro_rules! walks {
        ($operation:ident) => {
            entries!(V, $operation: SlabCrate BoundedByKey GrowableByKey
                PlainBounded Plain GenerationsBounded Generations SlotMap)
        };
    }
    macro_rules! table {
        ($($name:literal: $subjects:ident $operation:ident;)*) => {
            vec![$(Case::of(&[$name], turns, COLUMNS, $subjects!($operation))),*]
        };
    }
    table! {
        "INSERT fresh": all insert_fresh;
        "INSERT steady": all insert_steady;
        "GET random": access get_random;
        "GET hot": access get_hot;
        "GET_MUT random": access get_mut_random;
        "CONTAINS": occupancy contains;
        "REPLACE": all replace_random;
        "REMOVE random": all remove_random;
        "REMOVE LIFO": all remove_lifo;
        "FREE random": all free_random;
        "TAKE": all take_refill;
        "CHURN LIFO": all churn_lifo;
        "CHURN LIFO, built": all churn_lifo_built;
        "CHURN LIFO, copied": all churn_lifo_copied;
        "CHURN FIFO": all churn_fifo;
        "CHURN random": all churn_random;
        "ITERATE dense": walks iterate_dense;
        "ITERATE 1 %": walks iterate_sparse;
        "ITERATE mut": walks iterate_mut;
    }
}
