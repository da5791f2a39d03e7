//! The rows of what goes across threads, and their tables: nanoseconds a value, the medians of
//! batches.

use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING};

/// The bench.
pub const BENCH: &str = "threads";

/// Ours, handed over.
pub const SLAB: &str = "BoundedSlab, SendSlot";
/// What every program has.
pub const MALLOC: &str = "Box, malloc";
/// See [`MALLOC`].
pub const MIMALLOC: &str = "Box, mimalloc";
/// A pool of one thread, whose boxes may go to others.
pub const PLURALITY: &str = "plurality, Box";
/// A bare word through the same channel.
pub const WORD: &str = "usize";

/// All values of a batch are sent before the first is taken.
pub const IN_TURNS: &str = "hand over, in turns";
/// Both threads at once.
pub const STREAMING: &str = "hand over, streaming";
/// On one thread: what is made, and that its memory comes back.
pub const MAKE: &str = "one thread: make, reclaim";
/// On one thread: reads and ends what was made.
pub const END: &str = "one thread: end";
/// On one thread: the memory comes back.
pub const RECLAIM: &str = "one thread: reclaim";

/// A value of the owner's own.
pub const OWNER: &str = "owner: insert, drop";
/// Of a slab that never sent one.
pub const NEVER_SENT: &str = "BoundedSlab, has sent none";
/// Of a slab that has sent 1,000.
pub const HAS_SENT: &str = "BoundedSlab, has sent 1,000";

/// All of it, for a terminal or a document.
#[must_use]
pub fn tables(record: &Record) -> String {
    let tables = [hand_over(record), owner(record)];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    tables.join("\n\n")
}

/// The median of a subject's batches in nanoseconds.
fn median(record: &Record, case: Case<'_>, subject: &str) -> Option<f64> {
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    Some(record.value(case, subject, Metric::P50)? / ticks_per_ns)
}

/// The cases of these rows, in their order, values of each size one after the other.
fn cases<'r>(record: &'r Record, rows: &[&str]) -> Vec<Case<'r>> {
    let mut cases = record.cases(BENCH);
    cases.retain(|case| rows.contains(&case.row));
    cases.sort_by_key(|case| (rows.iter().position(|row| *row == case.row), case.bytes));
    cases
}

/// A line for each row and size, a column for each subject; in brackets what it takes more than
/// a bare word, where one went the same way.
fn table(record: &Record, title: &str, rows: &[&str], subjects: &[&str]) -> Option<String> {
    let line = |case: &Case<'_>| {
        let word = median(record, *case, WORD);
        let cell = |subject: &&str| match (median(record, *case, subject), word) {
            (Some(ns), Some(word)) if *subject != WORD => {
                format!("{} ({})", rounded(ns), rounded(ns - word))
            }
            (Some(ns), _) => rounded(ns),
            _ => NOTHING.to_owned(),
        };
        let label = format!("{}, {} B", case.row, case.bytes);
        [label]
            .into_iter()
            .chain(subjects.iter().map(cell))
            .collect()
    };
    let lines: Vec<Vec<String>> = cases(record, rows).iter().map(line).collect();
    let mut head = vec![title.to_owned()];
    head.extend(subjects.iter().map(|subject| table::prose(subject)));
    (!lines.is_empty()).then(|| table::markdown(&head, &lines))
}

fn hand_over(record: &Record) -> Option<String> {
    table(
        record,
        "ns a value (less `usize`)",
        &[IN_TURNS, STREAMING, MAKE, END, RECLAIM],
        &[SLAB, MALLOC, MIMALLOC, PLURALITY, WORD],
    )
}

fn owner(record: &Record) -> Option<String> {
    table(record, "ns", &[OWNER], &[NEVER_SENT, HAS_SENT])
}

/// Nanoseconds, as precise as the clock is.
fn rounded(ns: f64) -> String {
    match ns {
        100.0.. => format!("{ns:.0}"),
        _ => format!("{ns:.1}"),
    }
}
