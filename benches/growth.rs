//! Two million insertions into an empty container, every single one timed, each
//! container in a process of its own: what growth costs the insertion it hits.

mod peers;

use std::process::ExitCode;

use flatslab_benches::arguments::Arguments;
use flatslab_benches::growth::{growing, of_full_size};
use flatslab_benches::run::{self, Case, Plan};
use flatslab_benches::subject::ours::{
    BoundedBySlot, GrowableAhead, GrowableBySlot, InRange, Plain,
};
use flatslab_benches::{entries, table};
use peers::{BoxOnMalloc, NexusUnbounded, SlabCrate, SlotMap, VecPush};

const PLAN: Plan = Plan {
    bench: "growth",
    grid: &[(2_000_000, &[8, 64])],
    quick_live: 51_200,
    runs: 5,
    references: &["slab"],
    in_processes: true,
    stretches: Some(500),
    notes: |_| Vec::new(),
    cases,
    tables: None,
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    // The container that does not grow shows what the machine itself costs.
    macro_rules! subjects {
        ($value:ty) => {
            [
                entries!($value, growing: SlabCrate GrowableBySlot GrowableAhead),
                entries!($value, of_full_size: BoundedBySlot),
                entries!($value, growing: Plain InRange NexusUnbounded SlotMap VecPush BoxOnMalloc),
            ]
            .concat()
        };
    }
    vec![Case {
        rows: vec!["GROWTH"],
        turns: 1,
        columns: table::PERCENTILES,
        entries: match bytes {
            8 => subjects!(u64),
            _ => subjects!([u64; 8]),
        },
    }]
}
