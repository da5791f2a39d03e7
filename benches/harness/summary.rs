//! Sentences for a person who decides: each compares a container of this crate with one that is
//! in use today. Which ones are compared is data (`benches/comparisons.json`).

use std::sync::LazyLock;

use serde::Deserialize;

use crate::record::{Case, Metric, Record};
use crate::table;

/// A difference this small comes and goes from one build to the next.
const LEVEL: f64 = 0.03;

/// Ours against theirs, in all rows that a bench has of both.
#[derive(Deserialize)]
struct Comparisons {
    bench: String,
    /// The number of live values; any, if there is none.
    live: Option<usize>,
    /// What the rows are, after the names.
    what: String,
    figure: Metric,
    /// A subject of ours, and what it is compared with.
    pairs: Vec<(String, String)>,
}

/// One of ours against one of theirs.
struct Comparison {
    all: &'static Comparisons,
    subject: &'static str,
    reference: &'static str,
}

static COMPARISONS: LazyLock<Vec<Comparisons>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../comparisons.json")).expect("what the type above says")
});

fn comparisons() -> impl Iterator<Item = Comparison> {
    COMPARISONS.iter().flat_map(|all| {
        let pairs = all.pairs.iter();
        pairs.map(move |(subject, reference)| Comparison {
            all,
            subject,
            reference,
        })
    })
}

/// A sentence for each comparison that one of the records has: what is faster, by how much, and
/// where it is not.
#[must_use]
pub fn sentences<'r>(records: impl Iterator<Item = &'r Record> + Clone) -> Vec<String> {
    let sentence = |it: Comparison| records.clone().find_map(|record| it.sentence(record));
    comparisons().filter_map(sentence).collect()
}

/// The rows in which ours takes more than a tenth longer than what it is compared with: a line
/// for each comparison that has such rows, the slowest row first.
#[must_use]
pub fn slower<'r>(records: impl Iterator<Item = &'r Record> + Clone) -> Vec<String> {
    let line = |it: Comparison| {
        let mut rows = records
            .clone()
            .map(|record| it.rows(record))
            .find(|rows| !rows.is_empty())?;
        rows.retain(|row| row.0 > 1.1);
        let rows: Vec<String> = rows
            .iter()
            .rev()
            .map(|(ratio, case)| format!("{}, {} bytes {ratio:.2}", case.row, case.bytes))
            .collect();
        (!rows.is_empty()).then(|| format!("{}: {}.", it.names(), rows.join("; ")))
    };
    comparisons().filter_map(line).collect()
}

impl Comparison {
    fn names(&self) -> String {
        let (subject, reference) = (table::prose(self.subject), table::prose(self.reference));
        format!("{subject} against {reference}{}", self.all.what)
    }

    /// The ratio of each row, the lowest first. Rows of larger values are left out: they exceed the
    /// second level of cache, and vary by tens of percent from run to run.
    fn rows<'r>(&self, record: &'r Record) -> Vec<(f64, Case<'r>)> {
        let Comparisons { bench, live, .. } = self.all;
        let largest = if bench == "cycles" { 64 } else { 1500 };
        let ratio = |case| record.ratio(case, self.all.figure, self.subject, self.reference);
        let mut rows: Vec<(f64, Case<'_>)> = record
            .cases(bench)
            .into_iter()
            .filter(|case| live.is_none_or(|live| case.live == live) && case.bytes <= largest)
            .filter_map(|case| Some((ratio(case)?, case)))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows
    }

    fn sentence(&self, record: &Record) -> Option<String> {
        let rows = self.rows(record);
        let (best, worst) = (rows.first()?, rows.last()?);
        let count = |wanted: fn(f64) -> bool| rows.iter().filter(|row| wanted(row.0)).count();
        let (faster, slower) = (
            count(|ratio| ratio < 1.0 - LEVEL),
            count(|ratio| ratio > 1.0 + LEVEL),
        );
        let (all, level) = (rows.len(), rows.len() - faster - slower);
        let counts = if faster == all {
            format!("faster in all {all} rows")
        } else if slower == all {
            format!("slower in all {all} rows")
        } else {
            format!("faster in {faster} of {all} rows, level in {level}, slower in {slower}")
        };
        let result = match all {
            1 => pace(*best),
            _ => format!("{counts}; from {} to {}", pace(*best), pace(*worst)),
        };
        Some(format!("{}: {result}.", self.names()))
    }
}

/// A ratio and its case in words.
fn pace((ratio, case): (f64, Case<'_>)) -> String {
    let pace = if ratio < 1.0 - LEVEL {
        format!("{:.1} × as fast", 1.0 / ratio)
    } else if ratio > 1.0 + LEVEL {
        format!("{ratio:.1} × the time")
    } else {
        "level".to_owned()
    };
    format!("{pace} ({}, {} bytes)", case.row, case.bytes)
}
