//! Two million insertions into an empty container, every single one timed, each
//! container in a process of its own: what growth costs the insertion it hits, in programs of
//! four kinds, and at a pace.
//!
//! What a container that grows by copying pays is decided by the allocator. That of glibc moves a
//! large block by page tables, without a copy, as long as the program has not freed a block as
//! large: such a block raises the size from which blocks are mapped at all. So a program that
//! has just been started is the one that copies nothing.

mod growing {
    pub(crate) mod allocator;
}
mod allocators;
mod peers;

use flatslab_benches::growth::{
    self, growing, growing_in_running, of_full_size, of_full_size_in_running, paced,
    paced_of_full_size,
};
use flatslab_benches::prelude::*;
use flatslab_benches::subject::ours::{
    BoundedBySlot, GrowableAhead, GrowableByPages, GrowableBySlot, InRange, Plain,
};
use flatslab_benches::table;
use growing::allocator::ByRow;
use peers::{NexusUnbounded, RustBox, SlabCrate, SlotMap, VecPush};

#[global_allocator]
static ALLOCATOR: ByRow = ByRow::new();

const PLAN: Plan = Plan {
    runs: 5,
    in_processes: true,
    stretches: Some(500),
    ..plan::of(
        growth::BENCH,
        &[(2_000_000, &[8, 64])],
        51_200,
        &["slab"],
        cases,
    )
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    // The container that does not grow shows what the machine itself costs.
    macro_rules! subjects {
        ($value:ty, $growing:ident, $of_full_size:ident) => {
            entries!($value,
                $growing: SlabCrate GrowableBySlot GrowableByPages GrowableAhead;
                $of_full_size: BoundedBySlot;
                $growing: Plain InRange NexusUnbounded SlotMap VecPush RustBox)
        };
    }
    macro_rules! of_size {
        ($value:ty) => {
            (
                subjects!($value, growing, of_full_size),
                subjects!($value, growing_in_running, of_full_size_in_running),
                entries!($value,
                    paced: SlabCrate GrowableBySlot GrowableByPages GrowableAhead;
                    paced_of_full_size: BoundedBySlot),
            )
        };
    }
    let (fresh, after, paced) = match bytes {
        8 => of_size!(u64),
        _ => of_size!([u64; 8]),
    };
    let case = |row, entries: &[Entry]| Case::of(&[row], 1, table::PERCENTILES, entries.to_vec());
    let mut cases = vec![case(growth::FRESH, &fresh), case(growth::RUNNING, &after)];
    if growing::allocator::HAS_MIMALLOC {
        cases.push(case(growth::MIMALLOC, &fresh));
    }
    if growing::allocator::HAS_JEMALLOC {
        cases.push(case(growth::JEMALLOC, &fresh));
    }
    cases.push(case(growth::PACED, &paced));
    cases
}
