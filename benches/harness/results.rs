//! What a bench says at its end: sentences and short tables for a person who decides, all rows and
//! the workshop's goals for a file.

use crate::record::Record;
use crate::run::Results;
use crate::{short, summary, verdict};

/// The results of a bench.
#[must_use]
pub fn of(record: &Record, bench: &str) -> Results {
    let sections = short::sections(record, bench).into_iter();
    let tables = sections.map(|(_, title, table)| (title.to_owned(), table));
    Results {
        sentences: summary::sentences(std::iter::once(record)),
        tables: tables.collect(),
        goals: verdict::goals(record, bench),
        missed: verdict::missed_facts(record, bench),
    }
}
