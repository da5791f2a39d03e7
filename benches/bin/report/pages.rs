//! The tables of the bench `pages`: what each kind of memory is worth.

use flatslab_benches::first_touch::{FAULTS, TIMES};
use flatslab_benches::operation::GET_AHEAD;
use flatslab_benches::record::{Case, Metric, Record, Row, median};
use flatslab_benches::table::{self, NOTHING, figure, line};

use crate::Section;
use crate::full::growth;

const MANY: usize = 1 << 20;
const MOST: usize = 1 << 23;

/// All sections that the record has figures for.
pub(crate) fn sections(record: &Record, notes: String) -> Vec<Section> {
    vec![
        ("Memory that was obtained", notes),
        (
            "Access at random, 1,048,576 values",
            at_random(record, MANY),
        ),
        (
            "Access at random, 8,388,608 values",
            at_random(record, MOST),
        ),
        ("First touch", first_touch(record)),
        ("Growth, values of 8 bytes", growth(record, "pages", 8)),
        ("Growth, values of 64 bytes", growth(record, "pages", 64)),
    ]
}

fn case(row: &'static str, live: usize) -> Case<'static> {
    Case::of("pages", row, 64, live)
}

/// Nanoseconds of one GET in half of the batches, which leaves out what interrupts
/// a turn, and the ratio to what `slab` takes for it without a look ahead, in the
/// same run.
fn at_random(record: &Record, live: usize) -> String {
    let first = case(GET_AHEAD[0], live);
    let cell = |row: &'static str, subject: &str| {
        let of = case(row, live);
        let without = row.split(',').next().unwrap_or(row);
        let ratio = ratio_to_slab(record, of, case(without, live), subject);
        match (record.ns(of, subject, Metric::P50), ratio) {
            (Some(ns), Some(ratio)) => format!("{ns:.1} ({ratio:.2})"),
            _ => NOTHING.to_owned(),
        }
    };
    let of = |subject: &str| {
        line(
            table::prose(subject),
            GET_AHEAD.map(|row| cell(row, subject)),
        )
    };
    let head = line(
        "ns (/ `slab`)",
        GET_AHEAD.map(|row| row.trim_start_matches("GET ")),
    );
    let lines = record.subjects(&[first]).into_iter().map(of);
    let Some(table) = table::markdown(head, lines) else {
        return "Not measured in this record: not enough memory.".to_owned();
    };
    let mut spreads = GET_AHEAD
        .map(|row| spreads(record, case(row, live)))
        .concat();
    spreads.sort_unstable_by(f64::total_cmp);
    let middle = median(spreads.iter().copied()).unwrap_or(1.0);
    let runs = record.rows_of(first, "slab").count();
    format!(
        "{table}\n\nMedians of {runs} runs. The highest figure of the runs is {middle:.2} times the \
         lowest in the median of all cells, and {:.2} times at most.",
        spreads.last().copied().unwrap_or(1.0)
    )
}

/// The median over runs of the ratio of a subject in a case to `slab` in another.
fn ratio_to_slab(record: &Record, of: Case<'_>, base: Case<'_>, subject: &str) -> Option<f64> {
    let ticks = |row: &Row| row.values.get(&Metric::P50).copied();
    median(record.rows_of(of, subject).filter_map(|row| {
        let mut slabs = record.rows_of(base, "slab");
        let slab = slabs.find(|slab| slab.run == row.run)?;
        Some(ticks(row)? / ticks(slab)?)
    }))
}

/// Of each subject in a case, the highest figure of the runs by the lowest.
fn spreads(record: &Record, case: Case<'_>) -> Vec<f64> {
    let spread = |subject: &str| {
        let ticks = || record.values(case, subject, Metric::P50);
        Some(ticks().max_by(f64::total_cmp)? / ticks().min_by(f64::total_cmp)?)
    };
    let subjects = record.subjects(&[case]);
    subjects.into_iter().filter_map(spread).collect()
}

/// Faults and nanoseconds of building and of filling, and faults afterwards.
fn first_touch(record: &Record) -> String {
    let of = |subject: &str| {
        let faults = FAULTS.map(|row| {
            let faults = record.value(case(row, MANY), subject, Metric::Faults);
            faults.map_or(NOTHING.to_owned(), |it| table::thousands(it as usize))
        });
        let times = TIMES.map(|row| figure(record.ns(case(row, MANY), subject, Metric::Ticks), 1));
        line(table::prose(subject), faults.into_iter().chain(times))
    };
    let times = TIMES.map(|row| format!("{row}, ns a slot"));
    let head = FAULTS.map(str::to_owned).into_iter().chain(times);
    let lines = record
        .subjects(&[case(FAULTS[0], MANY)])
        .into_iter()
        .map(of);
    table::markdown(line("1,048,576 values of 64 bytes", head), lines).unwrap_or_default()
}
