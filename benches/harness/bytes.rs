//! The byte buffers' rows, and their tables: nanoseconds of each subject, and the ratio to
//! what it takes the place of.

use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING, rounded};

/// The bench.
pub const BENCH: &str = "bytes";

/// Ours.
pub const OURS: &str = "ByteArena";
/// Ours, as a ring.
pub const RING: &str = "Ring";
/// What each row is compared with.
pub const VEC: &str = "Vec<u8>";
/// See [`VEC`].
pub const RC: &str = "Rc<[u8]>";
/// See [`VEC`].
pub const DEQUE: &str = "VecDeque<Vec<u8>>";
/// A clone of one `Buf` and its drop, measured next to what positions cost.
pub const PAIR: &str = "reference pair";
/// See [`VEC`].
pub const BYTES_IN_VEC: &str = "Vec<Bytes>";

/// A clone of a shared buffer, and its drop: the counts alone.
pub const CLONE: &str = "clone, drop";
/// The same, where the clone goes through memory, as in a queue.
pub const CLONE_MOVED: &str = "clone, move, drop";
/// A buffer, dropped at once.
pub const ALLOC: &str = "alloc, drop";
/// Of sizes from a list.
pub const ALLOC_MIXED: &str = "alloc, drop, mixed sizes";
/// As many buffers as are live, then all of them dropped in random order.
pub const ALLOC_ALL: &str = "alloc all, drop at random";
/// Of sizes from a list.
pub const ALLOC_ALL_MIXED: &str = "alloc all, drop at random, mixed sizes";
/// A buffer that is filled and shared.
pub const FILL: &str = "alloc, fill, freeze, drop";
/// A position to a buffer.
pub const RESOLVE: &str = "resolve, drop, at random";
/// A buffer to a position, and the end of that.
pub const HOLD: &str = "clone, into_loc, release, at random";
/// Links of a walk.
pub const LINKS: usize = 256;
/// A walk that has a reference to each link.
pub const WALK: &str = "walk of 256, by next";
/// A walk that borrows each.
pub const WALK_PARTS: &str = "walk of 256, by parts";
/// So many writes.
pub const RING_OF_10: &str = "ring of 10: 1,000 writes, 10 reads";
/// A write and a read for each step, and nothing is overwritten.
pub const HALF_FULL: [&str; 2] = [
    "ring of 64, half full: write, read",
    "ring of 1,024, half full: write, read",
];
/// A write over the oldest entry and a look at the next for each step.
pub const FULL: [&str; 2] = [
    "ring of 64, full: overwrite, look",
    "ring of 1,024, full: overwrite, look",
];
/// The rows of rings that run on.
pub const LOOPS: &[&str] = &[HALF_FULL[0], HALF_FULL[1], FULL[0], FULL[1]];

/// Rows with the same subjects: what a figure is of, the rows, and what ratios refer to.
const GROUPS: [(&str, &[&str], &str); 6] = [
    ("a reference", &[CLONE, CLONE_MOVED], RC),
    (
        "a buffer",
        &[ALLOC, ALLOC_MIXED, ALLOC_ALL, ALLOC_ALL_MIXED],
        VEC,
    ),
    ("a shared buffer", &[FILL], RC),
    ("a position", &[RESOLVE, HOLD], PAIR),
    ("a walk", &[WALK, WALK_PARTS], BYTES_IN_VEC),
    (
        "a write",
        &[RING_OF_10, HALF_FULL[0], HALF_FULL[1], FULL[0], FULL[1]],
        DEQUE,
    ),
];

/// All of it, for a terminal or a document: a line for each case, a column for each subject.
#[must_use]
pub fn tables(record: &Record) -> String {
    let table = |&(title, rows, reference): &(&str, &[&str], &str)| {
        let cases = record.cases_of(BENCH, rows);
        let cell = |case: Case<'_>, subject: &str| {
            let ratio = record.ticks_ratio(case, subject, reference);
            match (record.ns(case, subject, Metric::Ticks), ratio) {
                (Some(ns), Some(ratio)) => format!("{} ({ratio:.2})", rounded(ns)),
                (Some(ns), None) => rounded(ns),
                _ => NOTHING.to_owned(),
            }
        };
        let title = format!("{title}, ns (/ {})", table::prose(reference));
        table::by_case(&title, &cases, &subjects(record, &cases), label, cell)
    };
    let tables: Vec<String> = GROUPS.iter().filter_map(table).collect();
    tables.join("\n\n")
}

/// Those of the cases: ours first, the others in the order of their names. Which one a run
/// starts with is chance.
fn subjects<'r>(record: &'r Record, cases: &[Case<'_>]) -> Vec<&'r str> {
    let mut subjects = record.subjects(cases);
    subjects.sort_by_key(|subject| {
        let ours = [OURS, RING];
        (!ours.iter().any(|it| subject.starts_with(it)), *subject)
    });
    subjects
}

/// The row, and the bytes of a buffer.
fn label(case: Case<'_>) -> String {
    match case.row {
        ALLOC_MIXED | ALLOC_ALL_MIXED => format!("{}, 1 to {} B", case.row, case.bytes),
        _ => case.by_bytes(),
    }
}
