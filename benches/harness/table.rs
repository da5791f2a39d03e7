//! Results, as tables a person can read.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, presets};

use crate::record::{Case, Metric, Record};

/// Stands where nothing was measured.
pub const NOTHING: &str = "–";

/// A line of a table, or its head: what it is, then its cells.
pub fn line<C: Into<String>>(
    label: impl Into<String>,
    cells: impl IntoIterator<Item = C>,
) -> Vec<String> {
    let cells = cells.into_iter().map(Into::into);
    [label.into()].into_iter().chain(cells).collect()
}

/// Lines under a head, the first column left, figures right; `None` if there are no lines.
pub fn markdown(head: Vec<String>, lines: impl IntoIterator<Item = Vec<String>>) -> Option<String> {
    let mut table = comfy_table::Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(head)
        .add_rows(lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    (table.row_count() > 0).then(|| table.to_string())
}

/// A figure with so many decimals.
#[must_use]
pub fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or(NOTHING.to_owned(), |it| format!("{it:.decimals$}"))
}

/// A line for each case, a column for each subject.
pub fn by_case(
    title: &str,
    cases: &[Case<'_>],
    subjects: &[&str],
    label: impl Fn(Case<'_>) -> String,
    cell: impl Fn(Case<'_>, &str) -> String,
) -> Option<String> {
    let of = |case| line(label(case), subjects.iter().map(|it| cell(case, it)));
    let head = line(title, subjects.iter().map(|it| prose(it)));
    markdown(head, cases.iter().map(|case| of(*case)))
}

/// A table of ratios to one subject.
pub struct Ratios<'a> {
    /// What stands above the cases.
    pub title: &'a str,
    /// The subject that the others are compared with.
    pub base: &'a str,
    /// Of this subject's own column: what it shows, and whether that is core cycles, or ticks.
    pub unit: (&'a str, bool),
    /// The others, and what stands above each.
    pub subjects: Vec<(&'a str, String)>,
}

impl Ratios<'_> {
    /// A line for each case in which the base was measured.
    #[must_use]
    pub fn of(
        &self,
        record: &Record,
        cases: &[Case<'_>],
        label: impl Fn(Case<'_>) -> String,
    ) -> Option<String> {
        let of = |case: &Case<'_>| {
            let base = match self.unit.1 {
                true => record.cycles(*case, self.base)?,
                false => record.value(*case, self.base, Metric::Ticks)?,
            };
            let ratio = |subject: &str| record.ticks_ratio(*case, subject, self.base);
            let ratios = self.subjects.iter().map(|it| figure(ratio(it.0), 2));
            Some(line(
                label(*case),
                [format!("{base:.1}")].into_iter().chain(ratios),
            ))
        };
        let base = format!("{}, {}", prose(self.base), self.unit.0);
        let names = self.subjects.iter().map(|it| it.1.clone());
        let head = line(self.title, [base].into_iter().chain(names));
        markdown(head, cases.iter().filter_map(of))
    }
}

/// Subjects, and their names as prose has them.
#[must_use]
pub fn named<'a>(subjects: &[&'a str]) -> Vec<(&'a str, String)> {
    subjects.iter().map(|it| (*it, prose(it))).collect()
}

/// One column of figures, of each subject.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// A metric over runs, in ticks.
    Value(Metric),
    /// The highest of all runs.
    Highest(Metric),
    /// Nanoseconds of an operation.
    Nanoseconds,
    /// Core cycles of an operation.
    Cycles,
    /// The ratio to this subject's ticks.
    Ratio(&'static str),
    /// The ratio of a metric to this subject's.
    RatioOf(Metric, &'static str),
    /// How many times as fast as this subject.
    Speed(&'static str),
}

/// What growth is told in.
pub const PERCENTILES: &[Column] = &[
    Column::Value(Metric::P50),
    Column::Value(Metric::P90),
    Column::Value(Metric::P99),
    Column::Value(Metric::P999),
    Column::Value(Metric::P9999),
    Column::Value(Metric::Worst),
    Column::Highest(Metric::Worst),
];

impl Column {
    /// The metric it shows.
    #[must_use]
    pub const fn metric(self) -> Metric {
        match self {
            Column::Value(metric) | Column::Highest(metric) | Column::RatioOf(metric, _) => metric,
            _ => Metric::Ticks,
        }
    }

    fn head(self) -> String {
        match self {
            Column::Value(Metric::Worst) => "lowest worst".to_owned(),
            Column::Value(metric) => metric.name().to_owned(),
            Column::Highest(metric) => format!("highest {}", metric.name()),
            Column::Nanoseconds => "ns".to_owned(),
            Column::Cycles => "cycles".to_owned(),
            Column::Ratio(subject) => format!("/ {subject}"),
            Column::RatioOf(metric, subject) => format!("{} / {subject}", metric.name()),
            Column::Speed(subject) => format!("× {}", subject.trim_start_matches("Box, ")),
        }
    }

    fn figure(self, record: &Record, case: Case<'_>, subject: &str) -> Option<String> {
        let ticks = |value: f64| match value.fract() {
            0.0 => format!("{value:.0}"),
            _ => format!("{value:.1}"),
        };
        Some(match self {
            Column::Value(metric) => ticks(record.value(case, subject, metric)?),
            Column::Highest(metric) => ticks(
                record
                    .values(case, subject, metric)
                    .max_by(f64::total_cmp)?,
            ),
            Column::Nanoseconds => format!("{:.2}", record.ns(case, subject, Metric::Ticks)?),
            Column::Cycles => format!("{:.2}", record.cycles(case, subject)?),
            Column::Ratio(other) => format!("{:.2}", record.ticks_ratio(case, subject, other)?),
            Column::RatioOf(metric, other) => {
                format!("{:.2}", record.ratio(case, metric, subject, other)?)
            }
            Column::Speed(other) => format!("{:.2}", record.ticks_ratio(case, other, subject)?),
        })
    }
}

/// A line for each subject, the columns once for each case.
#[must_use]
pub fn subjects(record: &Record, label: &str, cases: &[Case<'_>], columns: &[Column]) -> String {
    let each = |&case| columns.iter().map(move |&column| (case, column));
    let figures: Vec<(Case<'_>, Column)> = cases.iter().flat_map(each).collect();
    let head = line(label, figures.iter().map(|(_, column)| column.head()));
    let of = |subject: &&str| {
        let figure = |(case, column): &(Case<'_>, Column)| column.figure(record, *case, subject);
        line(
            *subject,
            figures
                .iter()
                .map(|it| figure(it).unwrap_or(NOTHING.to_owned())),
        )
    };
    markdown(head, record.subjects(cases).iter().map(of)).unwrap_or_default()
}

/// A subject's name as prose has it: types and crates as code.
#[must_use]
pub fn prose(subject: &str) -> String {
    match subject {
        "floor, stamped" => return "stamped floor".to_owned(),
        "floor, bare" => return "bare floor".to_owned(),
        _ => {}
    }
    const CODE: &str = " slab slotmap nexus-slab plurality sharded-slab usize ";
    let words = subject.split(' ').map(|word| {
        let name = word.trim_end_matches(',');
        let is_code = name.starts_with(char::is_uppercase)
            || name.contains("::")
            || CODE.contains(&format!(" {name} "));
        match is_code {
            true => format!("`{name}`{}", &word[name.len()..]),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A figure in bold, where it is to be seen.
#[must_use]
pub fn marked(figure: String, is_marked: bool) -> String {
    match is_marked {
        true => format!("**{figure}**"),
        false => figure,
    }
}

/// Nanoseconds, as precise as the clock is.
#[must_use]
pub fn rounded(ns: f64) -> String {
    match ns {
        100.0.. => format!("{ns:.0}"),
        _ => format!("{ns:.1}"),
    }
}

/// A time in the unit that a reader would choose.
#[must_use]
pub fn time(ns: f64) -> String {
    match ns {
        1e6.. => format!("{:.1} ms", ns / 1e6),
        1e4.. => format!("{:.0} µs", ns / 1e3),
        1e3.. => format!("{:.1} µs", ns / 1e3),
        100.0.. => format!("{ns:.0} ns"),
        _ => format!("{ns:.1} ns"),
    }
}

/// Columns of a terminal, at most.
const COLUMNS: u16 = 110;

/// A text with Markdown tables as a terminal shows it: heads are wrapped, so that no line is wider
/// than 110 columns, and names stand without quotes.
#[must_use]
pub fn for_terminal(text: &str) -> String {
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let text = text.replace('`', "");
    let mut shown = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('|') {
            shown.extend(wrapped(line));
            continue;
        }
        let mut table = comfy_table::Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(COLUMNS)
            .set_header(cells(line));
        // The line below the head.
        lines.next();
        while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
            table.add_row(cells(row));
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        // What a row is stands in one line.
        if let Some(first) = table.column_mut(0) {
            first.set_constraint(ColumnConstraint::ContentWidth);
        }
        shown.push(table.trim_fmt());
    }
    shown.join("\n")
}

/// The lines of a sentence; those after the first of an item are indented.
fn wrapped(text: &str) -> Vec<String> {
    let indent = match text.starts_with("- ") {
        true => "  ",
        false => "",
    };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let is_first = lines.len() == 1 && lines[0].is_empty();
        let last = lines.last_mut().expect("a line");
        if last.chars().count() + word.chars().count() >= usize::from(COLUMNS) && !is_first {
            lines.push(format!("{indent}{word}"));
        } else {
            if !is_first {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// With commas.
#[must_use]
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<&str> = groups
        .map(|group| core::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_terminal_is_wider_than_110_columns() {
        let head: Vec<String> = (0..9)
            .map(|n| format!("`Container{n}`, by a handle"))
            .collect();
        let rows = vec![vec!["a row of values, 64 B".to_owned(); 9]; 3];
        let table = markdown(head, rows).expect("lines");
        let text = format!("- {}\n\n{table}", "word ".repeat(60));
        let shown = for_terminal(&text);
        assert!(
            shown.lines().all(|line| line.chars().count() <= 110),
            "{shown}"
        );
        assert!(!shown.contains('`') && !shown.contains('|'), "{shown}");
        assert!(
            shown
                .lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("  word"))
        );
    }
}
