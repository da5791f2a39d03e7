//! Across threads: values handed over, next to boxes on malloc and mimalloc, and what the
//! hand-over of others leaves of the owner's own operations.
//!
//! A figure is of one value: the median over batches, since two threads on a machine that
//! others use too are interrupted often, and a batch that was tells of nothing else.

mod crossings;

use std::process::ExitCode;

use crossings::Store;
use crossings::alone::{self, sides};
use crossings::hand_over::{self, Pace};
use crossings::stores::{Malloc, Mimalloc, Plurality, Sends, Word};
use flatslab_benches::machine;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::Payload;
use flatslab_benches::record::Metric;
use flatslab_benches::run::{self, Case, Entry, Plan, Turn};
use flatslab_benches::table::Column;
use flatslab_benches::threads::*;

const PLAN: Plan = Plan {
    bench: BENCH,
    grid: &[(1024, &[8, 64])],
    quick_live: 128,
    runs: 3,
    references: &[MALLOC, MIMALLOC, WORD, NEVER_SENT],
    in_processes: false,
    stretches: None,
    notes: |_| vec![machine::threads()],
    cases,
    tables: Some(tables),
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

const COLUMNS: &[Column] = &[
    Column::Value(Metric::Ticks),
    Column::Value(Metric::P50),
    Column::Value(Metric::P90),
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

fn cases(_: &flatslab_benches::arguments::Arguments, _: usize, bytes: usize) -> Vec<Case> {
    match bytes {
        8 => of_value::<u64>(),
        _ => of_value::<[u64; 8]>(),
    }
}

fn of_value<V: Payload + Send>() -> Vec<Case> {
    macro_rules! entries {
        ($turn:ident; $($store:ty)*) => {
            vec![$(
                entry(<$store as Store<V>>::NAME, |setting| {
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
    vec![
        case(
            &[IN_TURNS],
            41,
            entries![in_turns; Sends Malloc Mimalloc Plurality Word<V>],
        ),
        case(
            &[STREAMING],
            41,
            entries![streaming; Sends Malloc Mimalloc Plurality Word<V>],
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
    ]
}
