//! The rows of what goes across threads, and their tables: nanoseconds a value, the medians of
//! batches.

use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING, line};

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

/// A row of each number of threads.
macro_rules! by_threads {
    ($row:literal) => {
        &[
            concat!($row, ": 1 thread"),
            concat!($row, ": 2 threads"),
            concat!($row, ": 4 threads"),
            concat!($row, ": 8 threads"),
        ]
    };
}

/// A value that is dropped at once.
pub const REMOVES: &[&str] = by_threads!("insert, remove");
/// A value that is moved out at once.
pub const TAKES: &[&str] = by_threads!("insert, take");
/// The oldest of a thread's 64 values is moved out.
pub const OLDEST: &[&str] = by_threads!("insert, take the oldest");
/// Each thread reads values of its own.
pub const GETS: &[&str] = by_threads!("get");
/// All threads read one value.
pub const GETS_OF_ONE: &[&str] = by_threads!("get, the same value");
/// As [`OLDEST`], every single operation timed.
pub const SINGLES: &[&str] = by_threads!("single insert, take");

/// Ours, of entries of bytes.
pub const RING: &str = "SharedRing";
/// What is usual in its place.
pub const DEQUE: &str = "Mutex<VecDeque<Vec<u8>>>";
/// Bytes of an entry.
pub const ENTRY: usize = 64;
/// A ring of 64 entries.
pub const HALF_FULL: &[&str] = by_threads!("ring half full, write, read");
/// See [`HALF_FULL`].
pub const FULL: &[&str] = by_threads!("ring full, overwrite");

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

/// Ours, of values that each of several readers gets.
pub const BROADCAST: &str = "BroadcastRing";
/// The same, whose reader may miss values.
pub const FOLLOWED: &str = "BroadcastRing, Follower";
/// The usual one for several readers.
pub const DISRUPTOR: &str = "disruptor";
/// All values of a batch are written before the first is read.
pub const VALUES_IN_TURNS: &str = "values, in turns";
/// Both threads at once.
pub const VALUES_STREAMING: &str = "values, streaming";
/// On one thread: a write and a read of a ring that is half full.
pub const VALUES_ALONE: &str = "values, one thread: write, read";
/// To three threads, each of which gets all.
pub const THREE_READERS: &str = "values, three readers that yield";
/// One at a time.
pub const THERE_AND_BACK: &str = "a value there and back";

/// Ours, of buffers that are used again.
pub const POOL: &str = "SharedPool";
/// Pools of the same kind, of other crates.
pub const OBJECT_POOL: &str = "object-pool";
/// See [`OBJECT_POOL`].
pub const OPOOL: &str = "opool";
/// See [`OBJECT_POOL`].
pub const DEADPOOL: &str = "deadpool, unmanaged";
/// All buffers of a batch are sent before the first comes back.
pub const RECYCLED_IN_TURNS: &str = "recycle, in turns";
/// Both threads at once.
pub const RECYCLED_STREAMING: &str = "recycle, streaming";
/// On one thread: a buffer taken, written, and given back.
pub const RECYCLED_ALONE: &str = "recycle, one thread";

/// Objects of 8, 64 and 200 bytes, at random freed and allocated, and handed to the other
/// thread now and then.
pub const LARSON: &str = "larson, 2 threads, mixed sizes";
/// The largest of them.
pub const LARGEST: usize = 200;
/// A write, of many to an object that is next to another thread's if the allocator is careless.
pub const SCRATCH: &[&str] = by_threads!("cache-scratch, a write");
/// Those in which lines can be shared.
pub const SCRATCH_OF_SEVERAL: &[&str] = &[SCRATCH[1], SCRATCH[2], SCRATCH[3]];

/// Of what the loop over unshared slabs gains by a second thread, ours gains at least this.
pub const SCALING: f64 = 0.9;

/// The stores that threads share, and what stands next to them.
const STORES: [&str; 6] = [SHARED, SHARDED, PLURALITY, INDICES, LOCKED, UNSHARED];

/// A table with a line for each row and size and a column for each subject: what the figures are,
/// the rows, and the subjects.
type Table = (
    &'static str,
    &'static [&'static [&'static str]],
    &'static [&'static str],
);

const TABLES: [Table; 8] = [
    (
        "ns a value (less `usize`)",
        &[&[IN_TURNS, STREAMING, MAKE, END, RECLAIM]],
        &[
            SLAB, MALLOC, MIMALLOC, PLURALITY, SHARED, SHARDED, INDICES, LOCKED, WORD,
        ],
    ),
    ("ns", &[&[OWNER]], &[NEVER_SENT, HAS_SENT]),
    (
        "ns an operation",
        &[REMOVES, TAKES, OLDEST, GETS, GETS_OF_ONE],
        &STORES,
    ),
    ("ns an operation", &[HALF_FULL, FULL], &[RING, DEQUE]),
    (
        "ns a frame",
        &[&[FRAMES_IN_TURNS, FRAMES_STREAMING, FRAMES_ALONE]],
        &[SPSC, RTRB, BBQUEUE],
    ),
    (
        "ns a value",
        &[&[
            VALUES_IN_TURNS,
            VALUES_STREAMING,
            THREE_READERS,
            VALUES_ALONE,
        ]],
        &[BROADCAST, FOLLOWED, SPSC, RTRB, DISRUPTOR],
    ),
    (
        "ns a buffer",
        &[&[RECYCLED_IN_TURNS, RECYCLED_STREAMING, RECYCLED_ALONE]],
        &[POOL, OBJECT_POOL, OPOOL, DEADPOOL],
    ),
    (
        "ns",
        &[&[LARSON], SCRATCH],
        &[
            SLAB, SHARED, SHARDED, PLURALITY, LOCKED, MALLOC, MIMALLOC, JEMALLOC,
        ],
    ),
];

/// All of it, for a terminal or a document.
#[must_use]
pub fn tables(record: &Record) -> String {
    let mut tables: Vec<Option<String>> = TABLES.iter().map(|it| table(record, it)).collect();
    // After the stores that threads share.
    tables.splice(3..3, [scaling(record), singles(record, SINGLES, &STORES)]);
    tables.push(singles(
        record,
        &[THERE_AND_BACK],
        &[BROADCAST, FOLLOWED, SPSC, RTRB, DISRUPTOR],
    ));
    tables
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The median of a subject's batches in nanoseconds.
fn median(record: &Record, case: Case<'_>, subject: &str) -> Option<f64> {
    record.ns(case, subject, Metric::P50)
}

/// Nanoseconds that a subject takes more than a bare word that goes the same way.
#[must_use]
pub fn above_a_word(record: &Record, case: Case<'_>, subject: &str) -> Option<f64> {
    Some(median(record, case, subject)? - median(record, case, WORD)?)
}

/// In brackets what a subject takes more than a bare word, where one went the same way.
fn table(record: &Record, (title, rows, subjects): &Table) -> Option<String> {
    let cell = |case: Case<'_>, subject: &str| {
        let word = median(record, case, WORD);
        match (median(record, case, subject), word) {
            (Some(ns), Some(word)) if subject != WORD => {
                format!("{} ({})", rounded(ns), rounded(ns - word))
            }
            (Some(ns), _) => rounded(ns),
            _ => NOTHING.to_owned(),
        }
    };
    let cases = record.cases_of(BENCH, &rows.concat());
    table::by_case(title, &cases, subjects, |it| it.by_bytes(), cell)
}

/// Millions of operations a second of all threads, how many times those of one thread, and
/// what that is of the same figure of unshared slabs.
fn scaling(record: &Record) -> Option<String> {
    let mut lines = Vec::new();
    for rows in [REMOVES, TAKES, OLDEST] {
        for (threads, row) in THREADS.into_iter().zip(rows).skip(1) {
            for case in record.cases_of(BENCH, &[row]) {
                let alone = Case {
                    row: rows[0],
                    ..case
                };
                let rate = |case, threads: usize, subject: &str| {
                    Some(threads as f64 * 1e3 / median(record, case, subject)?)
                };
                let gain =
                    |subject: &str| Some(rate(case, threads, subject)? / rate(alone, 1, subject)?);
                let cell = |subject: &str| {
                    let (rate, own) = (rate(case, threads, subject)?, gain(subject)?);
                    let share = own / gain(UNSHARED).unwrap_or(f64::NAN);
                    let is_marked = subject == SHARED && share < SCALING;
                    let share = table::marked(format!("{share:.2}"), is_marked);
                    Some(format!("{rate:.0}, × {own:.2} ({share})"))
                };
                let cells = STORES.map(|subject| cell(subject).unwrap_or(NOTHING.to_owned()));
                lines.push(line(case.by_bytes(), cells));
            }
        }
    }
    let title = "million operations a second, × one thread (of unshared)";
    table::markdown(line(title, STORES.map(table::prose)), lines)
}

/// The percentiles of single operations, less an empty stretch.
fn singles(record: &Record, rows: &[&str], subjects: &[&str]) -> Option<String> {
    let cell = |case: Case<'_>, subject: &str| {
        let percentiles = [Metric::P50, Metric::P99, Metric::P999];
        let values = percentiles.map(|metric| record.ns(case, subject, metric));
        let shown = values.into_iter().map(|ns| Some(format!("{:.0}", ns?)));
        let shown: Option<Vec<String>> = shown.collect();
        shown.map_or(NOTHING.to_owned(), |shown| shown.join(" / "))
    };
    let cases = record.cases_of(BENCH, rows);
    table::by_case(
        "p50 / p99 / p99.9, ns",
        &cases,
        subjects,
        |it| it.by_bytes(),
        cell,
    )
}

/// Nanoseconds, as precise as the clock is.
fn rounded(ns: f64) -> String {
    match ns {
        ..1.0 => format!("{ns:.2}"),
        _ => table::rounded(ns),
    }
}
