//! The short tables, for the terminal and for BENCHMARKS.md: of each family the rows that decide.

use crate::first_touch::FAULTS;
use crate::operation::GET_AHEAD;
use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING};
use crate::{arena, bytes, epoch, growth, lives, slowest, threads};

/// A table: its name as a marker of BENCHMARKS.md, what it shows, and itself.
pub type Section = (&'static str, &'static str, String);

/// The number of live values of most tables.
const USUAL: usize = 8192;

/// The tables of a bench that the record has figures for.
#[must_use]
pub fn sections(record: &Record, bench: &str) -> Vec<Section> {
    if record.bench(bench).is_none() {
        return Vec::new();
    }
    let slabs = |subjects| operations(record, "slab", &OPERATIONS, &WALKS, subjects);
    match bench {
        "cycles" => vec![
            (
                "slabs",
                "Slabs: `slab` in core cycles, the others as ratios to it",
                slabs(&SLABS),
            ),
            (
                "key slabs",
                "Key slabs: `slab` in core cycles, the others as ratios to it",
                slabs(&KEY_SLABS),
            ),
            (
                "the pool",
                "Pools: an unchecked pool of bare cells in core cycles, the others as ratios to it",
                operations(record, "floor, bare", &OPERATIONS, &[], &POOLS),
            ),
        ],
        growth::BENCH => vec![("growth", "Two million insertions", growth_tables(record))],
        lives::BENCH => vec![(
            "lives",
            "Whole lives, and many values at once",
            lives::tables(record, &[64]),
        )],
        "malloc" => vec![("malloc", "A million orders", malloc(record))],
        "pages" => vec![("pages", "Kinds of pages", pages(record))],
        "arena" => {
            let rows = [ARENAS, &arena::WARM[1..4]].concat();
            let table = arena::in_short(record, &rows).unwrap_or_default();
            vec![("arenas", "Arenas: the fastest library is 1.00", table)]
        }
        bytes::BENCH => vec![("bytes", "Byte buffers", duels(record, bytes::BENCH, &BYTES))],
        epoch::BENCH => vec![(
            "epochs",
            "Epoch slabs",
            duels(record, epoch::BENCH, &EPOCHS),
        )],
        threads::BENCH => vec![("threads", "Across threads", across_threads(record))],
        slowest::BENCH => vec![(
            "the slowest",
            "The slowest single operations",
            slowest::in_short(record),
        )],
        INTRUSIVE => vec![(
            "intrusive",
            "Linked values: time of one value of 64 bytes",
            linked(record),
        )],
        OBJECTS => vec![(
            "objects",
            "Trait objects: time of one step",
            objects(record),
        )],
        HEAPS => vec![(
            "heaps",
            "Queues of jobs by time: time of one step",
            heaps(record),
        )],
        CHECKPOINTS => vec![(
            "checkpoints",
            "Frames that are saved: 16,384 values of 64 bytes",
            saved(record),
        )],
        REGISTERED => vec![(
            "registered",
            "Direct reads by io_uring: time of one read, in batches of 16",
            direct_reads(record),
        )],
        _ => Vec::new(),
    }
}

const OBJECTS: &str = "objects";

/// Queues of trait objects, small ones and large ones.
fn objects(record: &Record) -> String {
    let of = |live| of_bench(OBJECTS, "ADD, CALL, DROP", (live, 64));
    let columns = [
        ("64 objects", of(1 << 6), Metric::Ticks),
        ("8,192 objects", of(1 << 13), Metric::Ticks),
    ];
    let subjects = ["Box<dyn>", "DynSlotBox<dyn>", "PoolBox<dyn>"];
    by_subject(record, "", &subjects, &columns)
}

const HEAPS: &str = "heaps";

/// Queues of jobs whose times change, small ones and large ones.
fn heaps(record: &Record) -> String {
    let of = |row, live| of_bench(HEAPS, row, (live, 8));
    let columns = [
        ("1,024 jobs", of("POP, PUSH", 1 << 10)),
        ("1 move", of("1 MOVE, POP, PUSH", 1 << 10)),
        ("8 moves", of("8 MOVES, POP, PUSH", 1 << 10)),
        ("65,536 jobs", of("POP, PUSH", 1 << 16)),
        ("1 move", of("1 MOVE, POP, PUSH", 1 << 16)),
        ("8 moves", of("8 MOVES, POP, PUSH", 1 << 16)),
    ];
    let columns = columns.map(|(name, case)| (name, case, Metric::Ticks));
    let subjects = [
        "BinaryHeap, outdated entries",
        "priority-queue",
        "pairing heap in a KeySlab",
    ];
    by_subject(record, "", &subjects, &columns)
}

const INTRUSIVE: &str = "intrusive";
const CHECKPOINTS: &str = "checkpoints";

/// Queues of linked values, small ones and large ones.
fn linked(record: &Record) -> String {
    let of = |row, live| of_bench(INTRUSIVE, row, (live, 64));
    let columns = [
        ("insert, 8,192 live", of("INSERT at the end", 1 << 13)),
        ("cancel", of("CANCEL in the middle", 1 << 13)),
        ("walk", of("WALK", 1 << 13)),
        ("insert, 1 Mi live", of("INSERT at the end", 1 << 20)),
        ("cancel", of("CANCEL in the middle", 1 << 20)),
        ("walk", of("WALK", 1 << 20)),
    ];
    let columns = columns.map(|(name, case)| (name, case, Metric::Ticks));
    let subjects = [
        "Box, linked",
        "SlotBox, linked",
        "PoolBox, linked",
        "BoundedSlab, by key",
        "KeySlab, by key",
    ];
    by_subject(record, "", &subjects, &columns)
}

/// Frames that change a part of the values.
fn saved(record: &Record) -> String {
    let of = |row| of_bench(CHECKPOINTS, row, (1 << 14, 64));
    let columns = [
        ("saved, 1 % changed", of("FRAME 1 %")),
        ("10 %", of("FRAME 10 %")),
        ("33 %", of("FRAME 33 %")),
        ("all", of("FRAME 100 %")),
        ("saved and undone, 1 %", of("ROLLBACK 1 %")),
        ("10 %", of("ROLLBACK 10 %")),
        ("33 %", of("ROLLBACK 33 %")),
        ("all", of("ROLLBACK 100 %")),
    ];
    let columns = columns.map(|(name, case)| (name, case, Metric::Ticks));
    let subjects = [
        "CheckpointSlab",
        "KeySlab, clone_from",
        "KeySlab, clone",
        "KeySlab, postcard",
        "KeySlab, not saved",
    ];
    by_subject(record, "", &subjects, &columns)
}

const REGISTERED: &str = "registered";

/// Reads from a disk into buffers, small ones and large ones.
fn direct_reads(record: &Record) -> String {
    let of = |row, bytes| of_bench(REGISTERED, row, (1 << 8, bytes));
    let columns = [
        ("submit, 4 KiB", of("SUBMIT", 4 << 10)),
        ("16 KiB", of("SUBMIT", 16 << 10)),
        ("128 KiB", of("SUBMIT", 128 << 10)),
        ("until read, 4 KiB", of("READ", 4 << 10)),
        ("16 KiB", of("READ", 16 << 10)),
        ("128 KiB", of("READ", 128 << 10)),
    ];
    let columns = columns.map(|(name, case)| (name, case, Metric::Ticks));
    let subjects = ["Vec of pages", "ByteArena", "ByteArena, registered"];
    by_subject(record, "", &subjects, &columns)
}

const OPERATIONS: [&str; 5] = [
    "INSERT steady",
    "GET random",
    "REMOVE random",
    "CHURN LIFO",
    "CHURN random",
];
/// On values of 64 bytes.
const LARGER: [&str; 3] = ["GET random", "REMOVE random", "CHURN LIFO, copied"];
const WALKS: [&str; 1] = ["ITERATE mut"];

const SLABS: [&str; 6] = [
    "BoundedSlab, Slot",
    "BoundedSlab, Key",
    "Slab, Slot",
    "Slab, Key",
    "floor, stamped",
    "Box, malloc",
];
const KEY_SLABS: [&str; 5] = [
    "BoundedKeySlab",
    "KeySlab",
    "BoundedKeySlab, GenKey",
    "KeySlab, GenKey",
    "slotmap",
];
const POOLS: [&str; 5] = [
    "Pool, PoolBox",
    "Pool, storage",
    "nexus-slab bounded",
    "BoundedSlab, Slot",
    "Box, malloc",
];

/// Core cycles of one subject, and of the others the ratios to it: operations on values of 8
/// bytes, some on 64 bytes, and walks.
fn operations(
    record: &Record,
    base: &str,
    operations: &[&'static str],
    walks: &[&'static str],
    subjects: &[&str],
) -> String {
    let of = |rows: &[&'static str], bytes| {
        let cases = rows.iter().map(|row| case(row, USUAL, bytes));
        cases.collect::<Vec<_>>()
    };
    let cases = [of(operations, 8), of(&LARGER, 64), of(walks, 8)].concat();
    let row = |case: &Case<'_>| {
        let cycles = record.cycles(*case, base)?;
        let ratio = |subject: &&str| figure(record.ticks_ratio(*case, subject, base), 2);
        let head = [by_bytes(*case), format!("{cycles:.1}")];
        Some(head.into_iter().chain(subjects.iter().map(ratio)).collect())
    };
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    let base = table::prose(base);
    let mut head = vec![format!("time / that of {base}"), format!("{base}, cycles")];
    head.extend(subjects.iter().map(|it| table::prose(it)));
    table::markdown(&head, &rows)
}

/// The time of a metric.
fn nanoseconds(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> String {
    let ticks = record.value(case, subject, metric);
    let ticks_per_ns = record.bench(case.bench).map_or(1.0, |it| it.ticks_per_ns);
    ticks.map_or_else(|| NOTHING.to_owned(), |it| table::time(it / ticks_per_ns))
}

/// A row for each subject, a column for each metric of a case.
fn by_subject(
    record: &Record,
    label: &str,
    subjects: &[&str],
    columns: &[(&str, Case<'_>, Metric)],
) -> String {
    let row = |subject: &&str| {
        let mut figures = columns.iter().map(|it| record.value(it.1, subject, it.2));
        figures.any(|it| it.is_some()).then_some(())?;
        let cells = columns.iter().map(|(_, case, metric)| match metric {
            Metric::Faults => {
                let faults = record.value(*case, subject, *metric);
                faults.map_or(NOTHING.to_owned(), |it| table::thousands(it as usize))
            }
            _ => nanoseconds(record, *case, subject, *metric),
        });
        Some([table::prose(subject)].into_iter().chain(cells).collect())
    };
    let rows: Vec<Vec<String>> = subjects.iter().filter_map(row).collect();
    let mut head = vec![label.to_owned()];
    head.extend(columns.iter().map(|(name, ..)| (*name).to_owned()));
    table::markdown(&head, &rows)
}

fn of_bench(
    bench: &'static str,
    row: &'static str,
    (live, bytes): (usize, usize),
) -> Case<'static> {
    Case {
        bench,
        row,
        bytes,
        live,
    }
}

/// Those that grow, and one that does not: what the machine itself costs.
const GROWING: [&str; 11] = [
    "slab",
    "slotmap",
    "Vec, push",
    "Box",
    "Slab, Slot",
    "Slab, touch_ahead(0)",
    "Slab, 8 spare chunks",
    "KeySlab",
    "KeySlab, grow_in_place",
    "nexus-slab unbounded",
    "BoundedSlab, Slot",
];

/// The longest insertion by allocator, then percentiles in the running program: values of 64 bytes.
fn growth_tables(record: &Record) -> String {
    let of = |row| of_bench(growth::BENCH, row, (2_000_000, 64));
    let longest = [
        ("fresh glibc", growth::FRESH),
        ("running", growth::RUNNING),
        ("mimalloc", growth::MIMALLOC),
        ("jemalloc", growth::JEMALLOC),
    ];
    let longest = longest.map(|(name, row)| (name, of(row), Metric::Worst));
    let percentiles = [
        ("p50", Metric::P50),
        ("p99", Metric::P99),
        ("p99.9", Metric::P999),
        ("p99.99", Metric::P9999),
    ];
    let percentiles = percentiles.map(|(name, metric)| (name, of(growth::RUNNING), metric));
    [
        by_subject(record, "longest insertion", &GROWING, &longest),
        by_subject(record, "in a running program", &GROWING, &percentiles),
    ]
    .join("\n\n")
}

fn malloc(record: &Record) -> String {
    let subjects = [
        "Pool, PoolBox",
        "BoundedSlab, Slot",
        "Slab, Slot",
        "floor",
        "floor, stamped",
        "Box, mimalloc",
        "Box, malloc",
    ];
    let of = |name, row| {
        let case = of_bench("malloc", row, (1_000_000, 64));
        (name, case, Metric::Ticks)
    };
    let columns = [
        of("first allocation", "first allocation"),
        of("allocation", "linear allocation"),
        of("free, LIFO", "linear free, LIFO"),
        of("free, FIFO", "linear free, FIFO"),
        of("churn, LIFO", "hot churn, LIFO (pair)"),
        of("churn, FIFO", "hot churn, FIFO (pair)"),
        of("Swiss cheese", "Swiss cheese"),
    ];
    by_subject(record, "64 bytes written", &subjects, &columns)
}

fn pages(record: &Record) -> String {
    let subjects = [
        "slab",
        "slab, transparent",
        "KeySlab",
        "KeySlab, transparent",
        "BoundedSlab, Slot",
        "BoundedSlab, Slot, transparent",
        "Slab, Slot",
        "Slab, Slot, transparent",
        "Slab, transparent, 64 spare chunks",
    ];
    let [.., alone, _, four_ahead] = GET_AHEAD;
    let [_, fill, ..] = FAULTS;
    let of = |row, live| of_bench("pages", row, (live, 64));
    let growth = of_bench("pages", "GROWTH", (2_000_000, 8));
    let columns = [
        ("GET of 1 Mi", of(alone, 1 << 20), Metric::P50),
        ("of 8 Mi", of(alone, 1 << 23), Metric::P50),
        ("of 8 Mi, 4 ahead", of(four_ahead, 1 << 23), Metric::P50),
        ("faults in a fill", of(fill, 1 << 20), Metric::Faults),
        ("growth, p99.9", growth, Metric::P999),
        ("p99.99", growth, Metric::P9999),
        ("worst", growth, Metric::Worst),
    ];
    by_subject(record, "", &subjects, &columns)
}

/// Rows in fresh arenas: of each kind one or two.
const ARENAS: &[&str] = &[
    "alloc_u64",
    "alloc_slice_u8_32",
    "alloc_sized_slice_u8_8",
    "alloc_struct_26",
    "alloc_str_16",
];

/// What a duel is told in.
#[derive(Clone, Copy)]
enum Unit {
    Nanoseconds,
    Cycles,
    /// As it is.
    Fact,
}

/// A figure of ours next to that of what it is compared with.
struct Duel {
    what: &'static str,
    row: &'static str,
    bytes: usize,
    ours: &'static str,
    theirs: &'static str,
    metric: Metric,
    unit: Unit,
}

const fn time(
    what: &'static str,
    (row, bytes): (&'static str, usize),
    ours: &'static str,
    theirs: &'static str,
) -> Duel {
    Duel {
        what,
        row,
        bytes,
        ours,
        theirs,
        metric: Metric::Ticks,
        unit: Unit::Nanoseconds,
    }
}

impl Duel {
    const fn of(self, metric: Metric) -> Self {
        let unit = match metric {
            Metric::P50 | Metric::P999 => Unit::Nanoseconds,
            _ => Unit::Fact,
        };
        Duel {
            metric,
            unit,
            ..self
        }
    }

    const fn in_cycles(self) -> Self {
        Duel {
            unit: Unit::Cycles,
            ..self
        }
    }

    fn value(&self, record: &Record, case: Case<'_>, subject: &str) -> Option<String> {
        let value = record.value(case, subject, self.metric)?;
        Some(match self.unit {
            Unit::Nanoseconds => {
                let ns = value / record.bench(case.bench)?.ticks_per_ns;
                match ns {
                    100.0.. => table::thousands(ns.round() as usize),
                    _ => format!("{ns:.1}"),
                }
            }
            Unit::Cycles => format!("{:.1}", record.cycles(case, subject)?),
            Unit::Fact if value >= 1000.0 => table::thousands(value.round() as usize),
            Unit::Fact => format!("{value:.1}"),
        })
    }

    fn line(&self, record: &Record, bench: &str) -> Option<Vec<String>> {
        let cases = record.cases(bench);
        let of_it = |case: &&Case<'_>| (case.row, case.bytes) == (self.row, self.bytes);
        let case = *cases.iter().find(of_it)?;
        let (ours, metric) = ((self.ours, self.metric), self.metric);
        let ratio = record.ratio(case, ours, (self.theirs, metric, 0.0));
        let ratio = match ratio.filter(|it| it.is_finite()) {
            Some(ratio) => format!("{ratio:.2}"),
            None => NOTHING.to_owned(),
        };
        Some(vec![
            self.what.to_owned(),
            format!(
                "{} {}",
                table::prose(self.ours),
                self.value(record, case, self.ours)?
            ),
            format!(
                "{} {}",
                table::prose(self.theirs),
                self.value(record, case, self.theirs)?
            ),
            ratio,
        ])
    }
}

fn duels(record: &Record, bench: &str, duels: &[Duel]) -> String {
    let rows = duels.iter().filter_map(|it| it.line(record, bench));
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["", "ours", "compared with", "ratio"];
    table::markdown(&head.map(str::to_owned), &rows)
}

const BYTES: [Duel; 7] = {
    use bytes::{
        ALLOC, ALLOC_ALL, ALLOC_MIXED, CLONE, DEQUE, FULL, HALF_FULL, OURS, PAIR, RC, RESOLVE,
        RING, VEC,
    };
    [
        time("clone, drop, ns", (CLONE, 40), OURS, RC),
        time("allocate, drop, 128 bytes", (ALLOC, 128), OURS, VEC),
        time(
            "allocate, drop, 1 to 1,500 bytes",
            (ALLOC_MIXED, 1500),
            OURS,
            VEC,
        ),
        time(
            "1,024 of 128 bytes, dropped at random",
            (ALLOC_ALL, 128),
            OURS,
            VEC,
        ),
        time("`resolve` a position", (RESOLVE, 40), OURS, PAIR),
        time("ring of 64, half full", (HALF_FULL[0], 40), RING, DEQUE),
        time("ring of 64, full", (FULL[0], 40), RING, DEQUE),
    ]
};

const EPOCHS: [Duel; 10] = {
    use epoch::{
        APART, BUSY, BYTES, FILLS, HOT, MALLOC, MIMALLOC, MIXED, NEVER, RELEASED, REQUESTS,
        RESERVED, SLAB, SLOTMAP, SUSTAINED,
    };
    let [insert, get, remove, churn] = [
        (HOT[0], "INSERT steady, cycles"),
        (HOT[1], "GET random"),
        (HOT[2], "REMOVE random"),
        (HOT[3], "CHURN random"),
    ];
    [
        time("sessions, KiB at the end", (BUSY[1], 256), APART, MIXED).of(Metric::Memory),
        time("chunks recycled, %", (BUSY[1], 256), APART, MIXED).of(Metric::Recycled),
        time("2,000 cycles, KiB", (SUSTAINED, 128), RELEASED, NEVER).of(Metric::Memory),
        time("fill, p50, ns", (FILLS[0], 128), RESERVED, MALLOC).of(Metric::P50),
        time("fill, p99.9, ns", (FILLS[0], 128), RESERVED, MALLOC).of(Metric::P999),
        time("request, p50, ns", (REQUESTS, 128), BYTES, MIMALLOC).of(Metric::P50),
        time(insert.1, (insert.0, 8), SLAB, SLOTMAP).in_cycles(),
        time(get.1, (get.0, 8), SLAB, SLOTMAP).in_cycles(),
        time(remove.1, (remove.0, 8), SLAB, SLOTMAP).in_cycles(),
        time(churn.1, (churn.0, 8), SLAB, SLOTMAP).in_cycles(),
    ]
};

/// What goes across threads: ours, and what could stand in its place.
fn across_threads(record: &Record) -> String {
    use threads::{
        DEQUE, FULL, GETS_OF_ONE, HALF_FULL, IN_TURNS, LOCKED, MALLOC, MIMALLOC, OLDEST, PLURALITY,
        REMOVES, RING, SHARDED, SHARED, SLAB, STREAMING, TAKES, UNSHARED,
    };
    let rows = [
        (SLAB, LOCKED, IN_TURNS, 8),
        (SLAB, LOCKED, IN_TURNS, 64),
        (SLAB, LOCKED, STREAMING, 8),
        (SLAB, LOCKED, STREAMING, 64),
        (SHARED, LOCKED, REMOVES[1], 64),
        (SHARED, LOCKED, TAKES[1], 64),
        (SHARED, LOCKED, OLDEST[1], 64),
        (SHARED, LOCKED, GETS_OF_ONE[1], 8),
        (RING, DEQUE, HALF_FULL[1], 64),
        (RING, DEQUE, FULL[1], 64),
    ];
    let row = |(ours, locked, row, bytes): &(&str, &str, &'static str, usize)| {
        let case = of_bench(threads::BENCH, row, (1024, *bytes));
        let subjects = [ours, SHARDED, PLURALITY, MALLOC, MIMALLOC, locked, UNSHARED];
        record.value(case, ours, Metric::P50)?;
        let cell = |subject: &str| {
            let ns = nanoseconds(record, case, subject, Metric::P50);
            match threads::above_a_word(record, case, subject) {
                Some(above) => format!("{ns} ({above:.1})"),
                None => ns,
            }
        };
        let cells = subjects.map(cell);
        let (_, ours) = ours.rsplit_once(' ').unwrap_or(("", ours));
        let label = [format!("`{ours}`, {}", by_bytes(case))];
        Some(label.into_iter().chain(cells).collect())
    };
    let rows: Vec<Vec<String>> = rows.iter().filter_map(row).collect();
    let mut head = vec!["ns (less the channel)".to_owned(), "ours".to_owned()];
    head.extend([SHARDED, PLURALITY, MALLOC, MIMALLOC].map(table::prose));
    head.extend(["behind a `Mutex`", "not shared"].map(str::to_owned));
    table::markdown(&head, &rows)
}

/// The operations of the README's table, in the words of people.
const README: [(&str, &str); 5] = [
    ("get, at random", "GET random"),
    ("get_mut, at random", "GET_MUT random"),
    ("insert, free slots in random order", "INSERT steady"),
    ("remove, at random", "REMOVE random"),
    ("replace, at random", "REPLACE"),
];

/// The table of operations of the README: core cycles.
#[must_use]
pub fn readme(record: &Record) -> Option<String> {
    record.bench("cycles")?;
    let columns = [
        ("slab", "`slab`"),
        ("BoundedSlab, Slot", "`BoundedSlab`, `Slot`"),
        ("BoundedSlab, Key", "`Key`"),
        ("Slab, Slot", "`Slab`, `Slot`"),
        ("Slab, Key", "`Key`"),
        ("KeySlab", "`KeySlab`"),
        ("Pool, PoolBox", "`Pool`"),
    ];
    let row = |(label, operation): (&str, &'static str)| {
        let cycles = |(subject, _)| record.cycles(case(operation, USUAL, 8), subject);
        let cells = columns.iter().map(|column| figure(cycles(*column), 1));
        [label.to_owned()].into_iter().chain(cells).collect()
    };
    let mut head = vec!["core cycles, 8 bytes".to_owned()];
    head.extend(columns.map(|column| column.1.to_owned()));
    Some(table::markdown(&head, &README.map(row)))
}

/// The table of growth of the README: the slowest insertions of 64 bytes. Its rows and columns are
/// also those in which ours is slower.
#[must_use]
pub fn readme_growth(record: &Record) -> Option<String> {
    record.bench(growth::BENCH)?;
    let of = |row| of_bench(growth::BENCH, row, (2_000_000, 64));
    let columns = [
        ("p99.9, running", of(growth::RUNNING), Metric::P999),
        ("p99.99", of(growth::RUNNING), Metric::P9999),
        ("longest: fresh glibc", of(growth::FRESH), Metric::Worst),
        ("running", of(growth::RUNNING), Metric::Worst),
        ("mimalloc", of(growth::MIMALLOC), Metric::Worst),
        ("jemalloc", of(growth::JEMALLOC), Metric::Worst),
    ];
    let subjects = [
        "slab",
        "slotmap",
        "Vec, push",
        "Box",
        "nexus-slab unbounded",
        "Slab, Slot",
        "BoundedSlab, Slot",
        "KeySlab",
        "KeySlab, grow_in_place",
    ];
    Some(by_subject(
        record,
        "one insertion of 64 bytes",
        &subjects,
        &columns,
    ))
}

fn case(row: &'static str, live: usize, bytes: usize) -> Case<'static> {
    of_bench("cycles", row, (live, bytes))
}

fn by_bytes(case: Case<'_>) -> String {
    format!("{}, {} B", case.row, case.bytes)
}

fn figure(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::summary;

    /// A document of the repository.
    fn document(name: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::read_to_string(root.join(name)).unwrap()
    }

    /// The newest record of the growth bench.
    fn newest() -> Record {
        let files = std::fs::read_dir(Record::directory()).unwrap();
        let paths = files.map(|entry| entry.unwrap().path());
        let is_of_a_day = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(|first: char| first.is_ascii_digit()) && name.ends_with(".json")
        };
        let mut paths: Vec<_> = paths.filter(is_of_a_day).collect();
        paths.sort();
        let mut records = paths.iter().rev().map(|path| Record::read(path).unwrap());
        records
            .find(|record| record.bench(growth::BENCH).is_some())
            .unwrap()
    }

    #[test]
    fn the_first_page_shows_the_rows_and_columns_in_which_ours_is_slower() {
        let table = readme_growth(&newest()).unwrap();
        assert!(document("README.md").contains(&table), "{table}");
        let head = table.lines().next().unwrap();
        assert!(head.contains("p99.99"), "{head}");
        for row in ["`Box` ", "`nexus-slab` unbounded", "`KeySlab` "] {
            assert!(table.contains(&format!("| {row}")), "{row}: {table}");
        }
    }

    #[test]
    fn where_it_is_slower_lists_the_percentiles_of_growth() {
        let record = newest();
        let lines = summary::slower(std::iter::once(&record));
        let page = document("BENCHMARKS.md");
        for line in &lines {
            if line.contains("while it grows") {
                assert!(page.contains(line), "{line}");
            }
        }
        let of = |names: &str| lines.iter().any(|line| line.starts_with(names));
        assert!(of(
            "`Slab`, `Slot` against `slab`, the slowest insertion of 10,000"
        ));
        assert!(of(
            "`KeySlab`, grow_in_place against `slab`, the slowest insertion of 10,000"
        ));
    }
}
