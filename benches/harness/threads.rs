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
/// See [`MALLOC`].
pub const JEMALLOC: &str = "Box, jemalloc";
/// A pool of one thread, whose boxes may go to others.
pub const PLURALITY: &str = "plurality, Box";
/// A bare word through the same channel.
pub const WORD: &str = "usize";

/// All values of a batch are sent before the first is taken.
pub const IN_TURNS: &str = "hand over, in turns";
/// Both threads at once.
pub const STREAMING: &str = "hand over, streaming";
/// On one core: what is made, and that its memory comes back.
pub const MAKE: &str = "one core: make, reclaim";
/// On one core: another thread reads and ends what was made.
pub const END: &str = "one core: end";
/// On one core: the memory comes back.
pub const RECLAIM: &str = "one core: reclaim";

/// A value of the owner's own.
pub const OWNER: &str = "owner: insert, drop";
/// Of a slab that never sent one.
pub const NEVER_SENT: &str = "BoundedSlab, has sent none";
/// Of a slab that has sent 1,000.
pub const HAS_SENT: &str = "BoundedSlab, has sent 1,000";

/// Ours, which threads share.
pub const SHARED: &str = "SharedSlab";
/// The one that is usual.
pub const SHARDED: &str = "sharded-slab";
/// A lock around the `slab` crate.
pub const LOCKED: &str = "Mutex<Slab>";
/// The free places of an array in a lock-free queue: no check of any kind.
pub const INDICES: &str = "ArrayQueue of places";
/// Nothing is shared.
pub const UNSHARED: &str = "BoundedSlab each";

/// So many threads, as far as each has a processor of its own.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];
/// A value that is dropped at once.
pub const REMOVES: &[&str] = &[
    "insert, remove: 1 thread",
    "insert, remove: 2 threads",
    "insert, remove: 4 threads",
    "insert, remove: 8 threads",
];
/// A value that is moved out at once.
pub const TAKES: &[&str] = &[
    "insert, take: 1 thread",
    "insert, take: 2 threads",
    "insert, take: 4 threads",
    "insert, take: 8 threads",
];
/// The oldest of a thread's 64 values is moved out.
pub const OLDEST: &[&str] = &[
    "insert, take the oldest: 1 thread",
    "insert, take the oldest: 2 threads",
    "insert, take the oldest: 4 threads",
    "insert, take the oldest: 8 threads",
];
/// Each thread reads values of its own.
pub const GETS: &[&str] = &[
    "get: 1 thread",
    "get: 2 threads",
    "get: 4 threads",
    "get: 8 threads",
];
/// All threads read one value.
pub const GETS_OF_ONE: &[&str] = &[
    "get, the same value: 1 thread",
    "get, the same value: 2 threads",
    "get, the same value: 4 threads",
    "get, the same value: 8 threads",
];
/// As [`OLDEST`], every single operation timed.
pub const SINGLES: &[&str] = &[
    "single insert, take: 1 thread",
    "single insert, take: 2 threads",
    "single insert, take: 4 threads",
    "single insert, take: 8 threads",
];

/// Ours, of entries of bytes.
pub const RING: &str = "SharedRing";
/// What is usual in its place.
pub const DEQUE: &str = "Mutex<VecDeque<Vec<u8>>>";
/// Bytes of an entry.
pub const ENTRY: usize = 64;
/// A ring of 64 entries.
pub const HALF_FULL: &[&str] = &[
    "ring half full, write, read: 1 thread",
    "ring half full, write, read: 2 threads",
    "ring half full, write, read: 4 threads",
    "ring half full, write, read: 8 threads",
];
/// See [`HALF_FULL`].
pub const FULL: &[&str] = &[
    "ring full, overwrite: 1 thread",
    "ring full, overwrite: 2 threads",
    "ring full, overwrite: 4 threads",
    "ring full, overwrite: 8 threads",
];

/// Ours, of frames that one thread writes and another reads.
pub const SPSC: &str = "SpscRing";
/// The usual one, of entries of one type.
pub const RTRB: &str = "rtrb";
/// One of bytes, of any length.
pub const BBQUEUE: &str = "bbqueue";
/// Bytes of a frame.
pub const FRAMES: [usize; 2] = [ENTRY, 900];
/// All frames of a batch are written before the first is read.
pub const FRAMES_IN_TURNS: &str = "frames, in turns";
/// Both threads at once.
pub const FRAMES_STREAMING: &str = "frames, streaming";
/// On one thread: a write and a read of a ring that is half full.
pub const FRAMES_ALONE: &str = "frames, one thread: write, read";

/// Objects of 8, 64 and 200 bytes, at random freed and allocated, and handed to the other
/// thread now and then.
pub const LARSON: &str = "larson, 2 threads, mixed sizes";
/// The largest of them.
pub const LARGEST: usize = 200;
/// A write, of many to an object that is next to another thread's if the allocator is careless.
pub const SCRATCH: &[&str] = &[
    "cache-scratch, a write: 1 thread",
    "cache-scratch, a write: 2 threads",
    "cache-scratch, a write: 4 threads",
    "cache-scratch, a write: 8 threads",
];
/// Those in which lines can be shared.
pub const SCRATCH_OF_SEVERAL: &[&str] = &[SCRATCH[1], SCRATCH[2], SCRATCH[3]];

/// Of what the loop over unshared slabs gains by a second thread, ours gains at least this.
pub const SCALING: f64 = 0.9;

/// All of it, for a terminal or a document.
#[must_use]
pub fn tables(record: &Record) -> String {
    let tables = [
        hand_over(record),
        owner(record),
        shared(record),
        scaling(record),
        singles(record),
        rings(record),
        frames(record),
        patterns(record),
    ];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    tables.join("\n\n")
}

/// The median of a subject's batches in nanoseconds.
fn median(record: &Record, case: Case<'_>, subject: &str) -> Option<f64> {
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    Some(record.value(case, subject, Metric::P50)? / ticks_per_ns)
}

/// Nanoseconds that a subject takes more than a bare word that goes the same way.
#[must_use]
pub fn above_a_word(record: &Record, case: Case<'_>, subject: &str) -> Option<f64> {
    Some(median(record, case, subject)? - median(record, case, WORD)?)
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
        &[
            SLAB, MALLOC, MIMALLOC, PLURALITY, SHARED, SHARDED, INDICES, LOCKED, WORD,
        ],
    )
}

fn owner(record: &Record) -> Option<String> {
    table(record, "ns", &[OWNER], &[NEVER_SENT, HAS_SENT])
}

/// The stores that threads share, and what stands next to them.
const STORES: [&str; 6] = [SHARED, SHARDED, PLURALITY, INDICES, LOCKED, UNSHARED];

fn shared(record: &Record) -> Option<String> {
    let rows = [REMOVES, TAKES, OLDEST, GETS, GETS_OF_ONE].concat();
    table(record, "ns an operation", &rows, &STORES)
}

fn rings(record: &Record) -> Option<String> {
    let rows = [HALF_FULL, FULL].concat();
    table(record, "ns an operation", &rows, &[RING, DEQUE])
}

fn frames(record: &Record) -> Option<String> {
    let rows = [FRAMES_IN_TURNS, FRAMES_STREAMING, FRAMES_ALONE];
    table(record, "ns a frame", &rows, &[SPSC, RTRB, BBQUEUE])
}

fn patterns(record: &Record) -> Option<String> {
    let rows = [&[LARSON], SCRATCH].concat();
    let subjects = [
        SLAB, SHARED, SHARDED, PLURALITY, LOCKED, MALLOC, MIMALLOC, JEMALLOC,
    ];
    table(record, "ns", &rows, &subjects)
}

/// Millions of operations a second of all threads, how many times those of one thread, and
/// what that is of the same figure of unshared slabs.
fn scaling(record: &Record) -> Option<String> {
    let mut lines = Vec::new();
    for rows in [REMOVES, TAKES, OLDEST] {
        for (threads, row) in THREADS.iter().zip(rows).skip(1) {
            for case in cases(record, &[row]) {
                let alone = Case {
                    row: rows[0],
                    ..case
                };
                let rate = |case, threads: usize, subject: &str| {
                    Some(threads as f64 * 1e3 / median(record, case, subject)?)
                };
                let gain =
                    |subject: &str| Some(rate(case, *threads, subject)? / rate(alone, 1, subject)?);
                let cell = |subject: &&str| {
                    let figures = (rate(case, *threads, subject), gain(subject));
                    let (Some(rate), Some(own)) = figures else {
                        return NOTHING.to_owned();
                    };
                    let share = own / gain(UNSHARED).unwrap_or(f64::NAN);
                    let share = match *subject == SHARED && share < SCALING {
                        true => format!("**{share:.2}**"),
                        false => format!("{share:.2}"),
                    };
                    format!("{rate:.0}, × {own:.2} ({share})")
                };
                let label = format!("{row}, {} B", case.bytes);
                lines.push([label].into_iter().chain(STORES.iter().map(cell)).collect());
            }
        }
    }
    let mut head = vec!["million operations a second, × one thread (of unshared)".to_owned()];
    head.extend(STORES.map(table::prose));
    (!lines.is_empty()).then(|| table::markdown(&head, &lines))
}

/// The percentiles of single operations, less an empty stretch.
fn singles(record: &Record) -> Option<String> {
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    let line = |case: &Case<'_>| {
        let cell = |subject: &&str| {
            let percentiles = [Metric::P50, Metric::P99, Metric::P999];
            let values = percentiles.map(|metric| record.value(*case, subject, metric));
            let shown = values.map(|it| it.map(|ticks| format!("{:.0}", ticks / ticks_per_ns)));
            let shown: Option<Vec<String>> = shown.into_iter().collect();
            shown.map_or(NOTHING.to_owned(), |shown| shown.join(" / "))
        };
        let label = format!("{}, {} B", case.row, case.bytes);
        [label].into_iter().chain(STORES.iter().map(cell)).collect()
    };
    let lines: Vec<Vec<String>> = cases(record, SINGLES).iter().map(line).collect();
    let mut head = vec!["p50 / p99 / p99.9, ns".to_owned()];
    head.extend(STORES.map(table::prose));
    (!lines.is_empty()).then(|| table::markdown(&head, &lines))
}

/// Nanoseconds, as precise as the clock is.
fn rounded(ns: f64) -> String {
    match ns {
        100.0.. => format!("{ns:.0}"),
        ..1.0 => format!("{ns:.2}"),
        _ => format!("{ns:.1}"),
    }
}
