//! The tables of the bench `pages`: what each kind of memory is worth.

use flatslab_benches::first_touch::{FAULTS, TIMES};
use flatslab_benches::operation::GET_AHEAD;
use flatslab_benches::record::{Case, Metric, Record, Row, median};
use flatslab_benches::table;

use crate::{Section, figure};

const MANY: usize = 1 << 20;
const MOST: usize = 1 << 23;

/// All sections that the record has figures for.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let notes = record.bench("pages").map_or(&[][..], |bench| &bench.notes);
    vec![
        (
            "Memory that was obtained",
            format!("- {}", notes.join("\n- ")),
        ),
        (
            "Access at random, 1,048,576 values",
            at_random(record, MANY),
        ),
        (
            "Access at random, 8,388,608 values",
            at_random(record, MOST),
        ),
        ("First touch", first_touch(record)),
        ("Growth, values of 8 bytes", growth(record, 8)),
        ("Growth, values of 64 bytes", growth(record, 64)),
    ]
}

fn case(row: &'static str, live: usize, bytes: usize) -> Case<'static> {
    Case {
        bench: "pages",
        row,
        bytes,
        live,
    }
}

/// The subjects of a row, in the order in which they were measured.
fn subjects<'a>(record: &'a Record, case: Case<'_>) -> Vec<&'a str> {
    let mut subjects: Vec<&str> = Vec::new();
    for row in record.rows.iter().filter(|row| row.case() == case) {
        if !subjects.contains(&&*row.subject) {
            subjects.push(&row.subject);
        }
    }
    subjects
}

fn nanoseconds(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> Option<f64> {
    let ticks_per_ns = record.bench(case.bench)?.ticks_per_ns;
    Some(record.value(case, subject, metric)? / ticks_per_ns)
}

/// Nanoseconds of one GET in half of the batches, which leaves out what interrupts
/// a turn, and the ratio to what `slab` takes for it without a look ahead, in the
/// same run.
fn at_random(record: &Record, live: usize) -> String {
    let mut head = vec!["ns (/ `slab`)".to_owned()];
    head.extend(GET_AHEAD.map(|row| row.trim_start_matches("GET ").to_owned()));
    let first = case(GET_AHEAD[0], live, 64);
    let cell = |row: &'static str, subject: &str| {
        let of = case(row, live, 64);
        let without = row.split(',').next().unwrap_or(row);
        let ratio = ratio_to_slab(record, of, case(without, live, 64), subject);
        match (nanoseconds(record, of, subject, Metric::P50), ratio) {
            (Some(ns), Some(ratio)) => format!("{ns:.1} ({ratio:.2})"),
            _ => table::NOTHING.to_owned(),
        }
    };
    let row = |subject: &&str| {
        let cells = GET_AHEAD.map(|row| cell(row, subject));
        [table::prose(subject)].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = subjects(record, first).iter().map(row).collect();
    if rows.is_empty() {
        return "Not measured in this record: not enough memory.".to_owned();
    }
    let spreads = GET_AHEAD.map(|row| spreads(record, case(row, live, 64)));
    let mut spreads = spreads.concat();
    spreads.sort_unstable_by(f64::total_cmp);
    let middle = median(spreads.iter().copied()).unwrap_or(1.0);
    let runs = record.rows_of(first, "slab").count();
    format!(
        "{}\n\nMedians of {runs} runs. The highest figure of the runs is {middle:.2} times the \
         lowest in the median of all cells, and {:.2} times at most.",
        table::markdown(&head, &rows),
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
        let rows = record.rows_of(case, subject);
        let ticks = rows.filter_map(|row| row.values.get(&Metric::P50).copied());
        let ticks: Vec<f64> = ticks.collect();
        let highest = ticks.iter().copied().max_by(f64::total_cmp)?;
        Some(highest / ticks.iter().copied().min_by(f64::total_cmp)?)
    };
    let subjects = subjects(record, case);
    subjects.into_iter().filter_map(spread).collect()
}

/// Faults and nanoseconds of building and of filling, and faults afterwards.
fn first_touch(record: &Record) -> String {
    let mut head = vec!["1,048,576 values of 64 bytes".to_owned()];
    head.extend(FAULTS.map(|row| row.to_owned()));
    head.extend(TIMES.map(|row| format!("{row}, ns a slot")));
    let row = |subject: &&str| {
        let faults = FAULTS.map(|row| {
            let faults = record.value(case(row, MANY, 64), subject, Metric::Faults);
            faults.map_or_else(
                || table::NOTHING.to_owned(),
                |it| table::thousands(it as usize),
            )
        });
        let times = TIMES.map(|row| {
            figure(
                nanoseconds(record, case(row, MANY, 64), subject, Metric::Ticks),
                1,
            )
        });
        let cells = faults.into_iter().chain(times);
        [table::prose(subject)].into_iter().chain(cells).collect()
    };
    let subjects = subjects(record, case(FAULTS[0], MANY, 64));
    let rows: Vec<Vec<String>> = subjects.iter().map(row).collect();
    table::markdown(&head, &rows)
}

fn growth(record: &Record, bytes: usize) -> String {
    let mut cases = record.cases("pages");
    cases.retain(|case| case.row == "GROWTH" && case.bytes == bytes);
    table::subjects(record, "ticks of one insertion", &cases, table::PERCENTILES)
}
