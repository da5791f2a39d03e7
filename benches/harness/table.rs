//! Results, as tables a person can read.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, presets};

use crate::record::{Case, Metric, Record};

/// Stands where nothing was measured.
pub const NOTHING: &str = "–";

/// Rows of cells under a head, the first column left, figures right.
#[must_use]
pub fn markdown(head: &[String], rows: &[Vec<String>]) -> String {
    let mut table = comfy_table::Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(head.iter());
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
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
            Column::Highest(metric) => {
                let rows = record.rows_of(case, subject);
                let values = rows.filter_map(|row| row.values.get(&metric).copied());
                ticks(values.max_by(f64::total_cmp)?)
            }
            Column::Nanoseconds => {
                let ticks_per_ns = record.bench(case.bench)?.ticks_per_ns;
                let ticks = record.value(case, subject, Metric::Ticks)?;
                format!("{:.2}", ticks / ticks_per_ns)
            }
            Column::Cycles => format!("{:.2}", record.cycles(case, subject)?),
            Column::Ratio(other) => format!("{:.2}", record.ticks_ratio(case, subject, other)?),
            Column::RatioOf(metric, other) => {
                let limit = (other, metric, 0.0);
                format!("{:.2}", record.ratio(case, (subject, metric), limit)?)
            }
            Column::Speed(other) => format!("{:.2}", record.ticks_ratio(case, other, subject)?),
        })
    }
}

/// A line for each subject, the columns once for each case.
#[must_use]
pub fn subjects(record: &Record, label: &str, cases: &[Case<'_>], columns: &[Column]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for row in record.rows.iter().filter(|row| cases.contains(&row.case())) {
        if !names.contains(&&*row.subject) {
            names.push(&row.subject);
        }
    }
    let figures = || {
        let each = |case| columns.iter().map(move |&column| (case, column));
        cases.iter().copied().flat_map(each)
    };
    let mut head = vec![label.to_owned()];
    head.extend(figures().map(|(_, column)| column.head()));
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|subject| {
            let figure = |(case, column): (Case<'_>, Column)| column.figure(record, case, subject);
            let cells = figures().map(|it| figure(it).unwrap_or_else(|| NOTHING.to_owned()));
            [(*subject).to_owned()].into_iter().chain(cells).collect()
        })
        .collect();
    markdown(&head, &rows)
}

/// A subject's name as prose has it: types and crates as code.
#[must_use]
pub fn prose(subject: &str) -> String {
    match subject {
        "floor, stamped" => return "stamped floor".to_owned(),
        "floor, bare" => return "bare floor".to_owned(),
        _ => {}
    }
    let words = subject.split(' ').map(|word| {
        let name = word.trim_end_matches(',');
        let is_code = name.starts_with(char::is_uppercase)
            || name.contains("::")
            || [
                "slab",
                "slotmap",
                "nexus-slab",
                "plurality",
                "sharded-slab",
                "usize",
            ]
            .contains(&name);
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
        let text = format!("- {}\n\n{}", "word ".repeat(60), markdown(&head, &rows));
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
