//! The arena bench's tables: of each row the ratios of the libraries to the fastest of
//! them, and what a run of ours against ours says of the row's noise.

use std::cmp::Reverse;

use crate::operation::BATCH;
use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING, figure, line};

/// Ours.
pub const OURS: &str = "Arena";

/// Ours once more: what its figure differs by is noise.
pub const OURS_AGAIN: &str = "Arena, again";

/// What no library is: a pointer without a bound.
pub const FLOOR: &str = "floor, raw pointer";

/// Allocations of a warm frame.
pub const FRAME: usize = 1000;

/// The rows besides those of allocations in a fresh arena.
pub const COLD: [&str; 2] = ["clear", "clear_and_reuse"];

/// Frames in an arena that is warm.
pub const WARM: [&str; 6] = [
    "frame of u8",
    "frame of u64",
    "frame of [u64; 8]",
    "frame of text, 16 bytes",
    "frame of slices, 32 bytes",
    "frame of slices, 1 to 64 bytes",
];

/// The same frames, in batches.
pub const ALONE: [&str; 6] = [
    "batches of u8",
    "batches of u64",
    "batches of [u64; 8]",
    "batches of text, 16 bytes",
    "batches of slices, 32 bytes",
    "batches of slices, 1 to 64 bytes",
];

/// Up to which ratio to the fastest a mark stands.
const MARKS: [(f64, &str); 6] = [
    (1.02, "✅"),
    (1.10, "🟢"),
    (1.25, "🟡"),
    (1.50, "🟠"),
    (2.00, "🔴"),
    (f64::INFINITY, "🟥"),
];

/// Ours is one of the fastest up to this ratio.
const FASTEST: f64 = 1.02;

/// Ours is close to the fastest up to this ratio.
pub const MOST: f64 = 1.10;

/// One row, judged.
struct Judged<'r> {
    case: Case<'r>,
    /// Of each library its median over runs, as a ratio to the least of these.
    ratios: Vec<(&'r str, f64)>,
    /// The highest ratio of ours to ours, of all runs.
    noise: f64,
}

impl<'r> Judged<'r> {
    fn of(record: &'r Record, case: Case<'r>) -> Option<Self> {
        let fastest = fastest(record, case)?;
        let ratios: Vec<(&str, f64)> = libraries(record)
            .into_iter()
            .filter_map(|library| {
                let ticks = record.value(case, library, Metric::Ticks)?;
                Some((library, ticks / fastest))
            })
            .collect();
        let again = record.rows_of(case, OURS).filter_map(|row| {
            let mut again = record.rows_of(case, OURS_AGAIN);
            let again = again.find(|it| it.run == row.run)?.values[&Metric::Ticks];
            let ours = row.values[&Metric::Ticks];
            Some(f64::max(ours / again, again / ours))
        });
        let noise = again.max_by(f64::total_cmp)?;
        Some(Judged {
            case,
            ratios,
            noise,
        })
    }

    fn ratio(&self, library: &str) -> Option<f64> {
        let mut ratios = self.ratios.iter();
        ratios.find(|it| it.0 == library).map(|it| it.1)
    }

    /// Whether ours is as fast as the fastest, as far as this row can tell.
    fn is_fastest(&self) -> bool {
        self.ratio(OURS)
            .is_some_and(|ratio| rounded(ratio) <= f64::max(FASTEST, rounded(self.noise)))
    }

    /// Whether every library is within the noise.
    fn is_tie(&self) -> bool {
        let is_library = |it: &&(&str, f64)| it.0 != FLOOR;
        let slowest = self.ratios.iter().filter(is_library).map(|it| it.1);
        slowest.fold(1.0, f64::max) <= self.noise
    }
}

/// Libraries and the floor: ours first. The first case of a run may start with any.
fn libraries(record: &Record) -> Vec<&str> {
    let mut libraries = record.subjects(&record.cases("arena"));
    libraries.retain(|it| *it != OURS_AGAIN);
    libraries.sort_by_key(|&it| (it != OURS, it == FLOOR, Reverse(it)));
    libraries
}

/// The ticks of the fastest library, the floor aside.
fn fastest(record: &Record, case: Case<'_>) -> Option<f64> {
    let libraries = libraries(record)
        .into_iter()
        .filter(|&library| library != FLOOR);
    let ticks = libraries.filter_map(|library| record.value(case, library, Metric::Ticks));
    ticks.min_by(f64::total_cmp)
}

/// The rows of allocations in fresh arenas, in the order of the seed's table.
fn cold(record: &Record) -> Vec<Case<'_>> {
    let mut cases = record.cases("arena");
    cases.retain(|case| !WARM.contains(&case.row) && !ALONE.contains(&case.row));
    const GROUPS: [&str; 12] = [
        "alloc_u",
        "alloc_multiple",
        "alloc_array",
        "alloc_slice_u",
        "alloc_sized",
        "alloc_behind",
        "alloc_built",
        "alloc_struct",
        "alloc_str_lit",
        "alloc_str",
        "alloc_slice_lit",
        "clear",
    ];
    cases.sort_by_key(|case| {
        let group = GROUPS.iter().position(|group| case.row.starts_with(group));
        let element = case.row.split("_u").nth(1).unwrap_or("");
        let element = element.split('_').next().unwrap_or("").parse::<usize>();
        let is_chunk = case.row.contains("chunk");
        (group, is_chunk, element.unwrap_or(0), case.bytes)
    });
    cases
}

/// A ratio as it is printed.
fn rounded(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

/// With a mark.
fn marked(ratio: f64) -> String {
    let ratio = rounded(ratio);
    let mark = MARKS.iter().find(|mark| ratio <= mark.0);
    format!("{} {ratio:.2}", mark.map_or("", |mark| mark.1))
}

/// All of it, for a terminal or a document.
#[must_use]
pub fn tables(record: &Record) -> String {
    let all = [fresh(record), frames(record), tails(record), behind(record)];
    let given: Vec<String> = all.into_iter().flatten().collect();
    given.join("\n\n")
}

/// A line for each case: the ratio of each library to the fastest, what else is told of it, and
/// the noise.
fn judged(
    record: &Record,
    title: &str,
    cases: &[Case<'_>],
    label: impl Fn(Case<'_>) -> String,
    rest: impl Fn(Case<'_>, &str) -> Option<String>,
    tells_ties: bool,
) -> Option<String> {
    let libraries = libraries(record);
    let of = |it: Judged<'_>| {
        let cell = |library: &&str| {
            let (ratio, rest) = (it.ratio(library)?, rest(it.case, library)?);
            Some(format!("{}{rest}", marked(ratio)))
        };
        let cells = libraries
            .iter()
            .map(|it| cell(it).unwrap_or(NOTHING.to_owned()));
        let tie = if tells_ties && it.is_tie() {
            ", a tie"
        } else {
            ""
        };
        let noise = format!("{:.2}{tie}", it.noise);
        line(label(it.case), cells.chain([noise]))
    };
    let judged = cases.iter().filter_map(|case| Judged::of(record, *case));
    let head = libraries.iter().copied().chain(["noise"]);
    table::markdown(line(title, head), judged.map(of))
}

/// Some of the rows, without the times: ratios to the fastest library.
#[must_use]
pub fn in_short(record: &Record, rows: &[&str]) -> Option<String> {
    let cases = record.cases_of("arena", rows);
    let label = |case: Case<'_>| case.row.to_owned();
    let title = "time / that of the fastest";
    judged(
        record,
        title,
        &cases,
        label,
        |_, _| Some(String::new()),
        false,
    )
}

/// A row for each operation: ratio to the fastest library, and µs of a sample.
#[must_use]
pub fn fresh(record: &Record) -> Option<String> {
    let label = |case: Case<'_>| format!("{} × {}", table::thousands(case.live), case.row);
    let us = |case: Case<'_>, library: &str| {
        let us = record.ns(case, library, Metric::Ticks)? * 1e-3;
        Some(format!("  {us:.1}"))
    };
    let title = "fresh arena, allocations, end";
    judged(record, title, &cold(record), label, us, true)
}

/// The same of frames in a warm arena: ns of an allocation.
#[must_use]
pub fn frames(record: &Record) -> Option<String> {
    let cases = record.cases_of("arena", &WARM);
    let label = |case: Case<'_>| case.row.to_owned();
    let ns = |case: Case<'_>, library: &str| {
        let count = (case.live.div_ceil(FRAME) * FRAME) as f64;
        let ns = record.ns(case, library, Metric::Ticks)? * (1.0 / count);
        Some(format!("  {ns:.2}"))
    };
    judged(
        record,
        "warm frames, ns of an allocation",
        &cases,
        label,
        ns,
        true,
    )
}

/// Percentiles of batches in warm frames: ticks of an allocation.
#[must_use]
pub fn tails(record: &Record) -> Option<String> {
    let libraries = libraries(record);
    let cell = |case: &Case<'_>, library: &str| {
        let figures = [Metric::P50, Metric::P99, Metric::P999];
        let figures = figures.map(|metric| figure(record.value(*case, library, metric), 1));
        figures.join(" · ")
    };
    let of = |case: &Case<'_>| line(case.row, libraries.iter().map(|it| cell(case, it)));
    let title = format!("ticks of one of {BATCH}: p50 · p99 · p99.9");
    let cases = record.cases_of("arena", &ALONE);
    table::markdown(line(title, libraries.iter().copied()), cases.iter().map(of))
}

/// How ours does in the rows that separate the libraries.
pub struct Counts {
    /// The rows.
    pub rows: usize,
    /// In how many ours is the fastest, or within the row's noise of it.
    pub fastest: usize,
    /// The slowest row: its name and ratio.
    pub worst: String,
    /// Of each row its name, ratio and noise, the slowest first.
    ratios: Vec<(String, f64, f64)>,
}

impl Counts {
    /// In how many rows ours takes at most so many times as long as the fastest.
    #[must_use]
    pub fn within(&self, ratio: f64) -> usize {
        self.ratios.iter().filter(|it| it.1 <= ratio).count()
    }
}

/// Counts the rows of fresh arenas that separate the libraries.
#[must_use]
pub fn counts(record: &Record) -> Option<Counts> {
    let cases = cold(record).into_iter();
    let judged: Vec<Judged<'_>> = cases.filter_map(|case| Judged::of(record, case)).collect();
    let apart = judged.iter().filter(|it| !it.is_tie());
    let fastest = apart.clone().filter(|it| it.is_fastest()).count();
    let named =
        |it: &Judged<'_>| Some((it.case.row.to_owned(), rounded(it.ratio(OURS)?), it.noise));
    let mut ratios: Vec<(String, f64, f64)> = apart.filter_map(named).collect();
    ratios.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (name, ratio, _) = ratios.first()?;
    Some(Counts {
        rows: ratios.len(),
        fastest,
        worst: format!("{name} {ratio:.2}"),
        ratios,
    })
}

/// The rows in which ours is neither the fastest nor close to it.
#[must_use]
pub fn behind(record: &Record) -> Option<String> {
    let counts = counts(record)?;
    let behind = counts.ratios.iter().filter(|it| it.1 > FASTEST);
    let lines =
        behind.map(|(name, ratio, noise)| format!("- {name} {ratio:.2} (noise {noise:.2})"));
    let lines: Vec<String> = lines.collect();
    Some(format!(
        "{} rows separate the libraries; ours is the fastest, or within the row's noise of it, in \
         {}, and within {MOST:.2} in {}. Above {FASTEST:.2}:\n\n{}",
        counts.rows,
        counts.fastest,
        counts.within(MOST),
        lines.join("\n")
    ))
}
