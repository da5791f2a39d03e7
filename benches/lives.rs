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
        ($value:ty) => {{
            let lives = entries!($value, lives: SlabCrate Plain Generations InRange SlotMap);
            let many = vec![
                Entry::of("one by one", one_by_one::<$value>),
                Entry::of("many at once", many::<$value>),
            ];
            vec![
                Case::of(&LIVES, 5, &[Column::Value(Metric::Ticks), Column::Ratio("slab")], lives),
                Case::of(&MANY, 5, &[Column::Value(Metric::Ticks), Column::Ratio("one by one")], many),
            ]
        }};
    }
    match bytes {
        8 => cases!(u64),
        64 => cases!([u64; 8]),
        _ => cases!([u64; 25]),
    }
}
