//! What most plans have. It stands apart from the runner, which knows no bench, because it knows
//! what is said of the figures: sentences and short tables for a person who decides, and the
//! workshop's goals.

use crate::arguments::Arguments;
use crate::record::Record;
use crate::run::{Case, Plan, Results};
use crate::{goals, short, summary};

/// The plan of a bench whose subjects take turns in one process, with a table for each case.
#[must_use]
pub const fn of(
    bench: &'static str,
    grid: &'static [(usize, &'static [usize])],
    quick_live: usize,
    references: &'static [&'static str],
    cases: fn(&Arguments, live: usize, bytes: usize) -> Vec<Case>,
) -> Plan {
    Plan {
        bench,
        grid,
        quick_live,
        runs: 3,
        references,
        in_processes: false,
        stretches: None,
        notes: |_| Vec::new(),
        cases,
        tables: None,
        results,
    }
}

fn results(record: &Record, bench: &str) -> Results {
    let sections = short::sections(record, bench).into_iter();
    let tables = sections.map(|(_, title, table)| (title.to_owned(), table));
    Results {
        sentences: summary::sentences(std::iter::once(record)),
        tables: tables.collect(),
        goals: goals::of_bench(record, bench),
        missed: goals::missed_facts(record, bench),
    }
}
