//! Whole lives of containers, and many values at once.

mod allocators;
mod peers;

use flatslab_benches::lives::{BENCH, LIVES, MANY, lives, many, one_by_one};
use flatslab_benches::prelude::*;
use flatslab_benches::subject::ours::{Generations, InRange, Plain};
use peers::{SlabCrate, SlotMap};

const PLAN: Plan = plan::of(
    BENCH,
    &[(1 << 20, &[8, 64, 200])],
    1_024,
    &["slab", "one by one"],
    cases,
);

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, bytes: usize) -> Vec<Case> {
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
