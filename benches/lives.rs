//! Whole lives of containers, and many values at once.

mod peers;

use std::process::ExitCode;

use flatslab_benches::entries;
use flatslab_benches::lives::{BENCH, LIVES, MANY, lives, many, one_by_one};
use flatslab_benches::record::Metric;
use flatslab_benches::results;
use flatslab_benches::run::{self, Case, Entry, Plan};
use flatslab_benches::subject::ours::{Generations, InRange, Plain};
use flatslab_benches::table::Column;
use peers::{SlabCrate, SlotMap};

const PLAN: Plan = Plan {
    bench: BENCH,
    grid: &[(1 << 20, &[8, 64, 200])],
    quick_live: 1_024,
    runs: 3,
    references: &["slab", "one by one"],
    in_processes: false,
    stretches: None,
    notes: |_| Vec::new(),
    cases,
    tables: None,
    results: results::of,
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &flatslab_benches::arguments::Arguments, _: usize, bytes: usize) -> Vec<Case> {
    macro_rules! cases {
        ($value:ty) => {
            vec![
                Case {
                    rows: LIVES.to_vec(),
                    turns: 5,
                    columns: const { &[Column::Value(Metric::Ticks), Column::Ratio("slab")] },
                    entries: entries!($value, lives: SlabCrate Plain Generations InRange SlotMap),
                },
                Case {
                    rows: MANY.to_vec(),
                    turns: 5,
                    columns: const { &[Column::Value(Metric::Ticks), Column::Ratio("one by one")] },
                    // Each turn checks its answers.
                    entries: vec![
                        Entry {
                            subject: "one by one",
                            check: || Ok(()),
                            turn: one_by_one::<$value>,
                        },
                        Entry {
                            subject: "many at once",
                            check: || Ok(()),
                            turn: many::<$value>,
                        },
                    ],
                },
            ]
        };
    }
    match bytes {
        8 => cases!(u64),
        64 => cases!([u64; 8]),
        _ => cases!([u64; 25]),
    }
}
