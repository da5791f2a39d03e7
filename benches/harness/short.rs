//! The short tables, for the terminal and for BENCHMARKS.md: of each family the rows that decide.

use crate::first_touch::FAULTS;
use crate::operation::GET_AHEAD;
use crate::record::Metric::{self, Faults, Memory, P50, P99, P999, P9999, Recycled, Ticks, Worst};
use crate::record::{Case, Record};
use crate::table::{self, NOTHING, Ratios, figure, line, named};
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
    match bench {
        "cycles" => SLABS.iter().map(|it| it.section(record)).collect(),
        lives::BENCH => vec![(
            "lives",
            "Whole lives, and many values at once",
            lives::tables(record, &[64]),
        )],
        "arena" => {
            let rows = [ARENAS, &arena::WARM[1..4]].concat();
            let table = arena::in_short(record, &rows).unwrap_or_default();
            vec![("arenas", "Arenas: the fastest library is 1.00", table)]
        }
        bytes::BENCH => vec![("bytes", "Byte buffers", duels(record, bench, &BYTES))],
        epoch::BENCH => vec![("epochs", "Epoch slabs", duels(record, bench, &EPOCHS))],
        threads::BENCH => vec![("threads", "Across threads", across_threads(record))],
        slowest::BENCH => vec![(
            "the slowest",
            "The slowest single operations",
            slowest::in_short(record),
        )],
        _ => by_subject(record, bench),
    }
}

/// Operations on slabs: core cycles of one subject, and of the others the ratios to it.
struct OfSlabs {
    name: &'static str,
    title: &'static str,
    base: &'static str,
    /// Whether a walk is among the rows.
    walks: bool,
    subjects: &'static [&'static str],
}

const SLABS: [OfSlabs; 3] = [
    OfSlabs {
        name: "slabs",
        title: "Slabs: `slab` in core cycles, the others as ratios to it",
        base: "slab",
        walks: true,
        subjects: &[
            "BoundedSlab, Slot",
            "BoundedSlab, Key",
            "Slab, Slot",
            "Slab, Key",
            "floor, stamped",
            "Box, malloc",
        ],
    },
    OfSlabs {
        name: "key slabs",
        title: "Key slabs: `slab` in core cycles, the others as ratios to it",
        base: "slab",
        walks: true,
        subjects: &[
            "BoundedKeySlab",
            "KeySlab",
            "BoundedKeySlab, GenKey",
            "KeySlab, GenKey",
            "slotmap",
        ],
    },
    OfSlabs {
        name: "the pool",
        title: "Pools: an unchecked pool of bare cells in core cycles, the others as ratios to it",
        base: "floor, bare",
        walks: false,
        subjects: &[
            "Pool, PoolBox",
            "Pool, storage",
            "nexus-slab bounded",
            "BoundedSlab, Slot",
            "Box, malloc",
        ],
    },
];

/// The rows of these tables, and the sizes of the values.
const OPERATIONS: [(&str, usize); 9] = [
    ("INSERT steady", 8),
    ("GET random", 8),
    ("REMOVE random", 8),
    ("CHURN LIFO", 8),
    ("CHURN random", 8),
    ("GET random", 64),
    ("REMOVE random", 64),
    ("CHURN LIFO, copied", 64),
    ("ITERATE mut", 8),
];

impl OfSlabs {
    fn section(&self, record: &Record) -> Section {
        let rows = match self.walks {
            true => &OPERATIONS[..],
            false => OPERATIONS.split_last().expect("there are some").1,
        };
        let cases = rows
            .iter()
            .map(|&(row, bytes)| Case::of("cycles", row, bytes, USUAL));
        let ratios = Ratios {
            title: &format!("time / that of {}", table::prose(self.base)),
            base: self.base,
            unit: ("cycles", true),
            subjects: named(self.subjects),
        };
        let cases: Vec<Case<'_>> = cases.collect();
        let table = ratios.of(record, &cases, |case| case.by_bytes());
        (self.name, self.title, table.unwrap_or_default())
    }
}

/// A column: its name, the row and the figure that it shows, the bytes of a value, and how many are
/// live.
type Shown = (&'static str, &'static str, Metric, usize, usize);

/// A table with a line for each subject.
struct BySubject {
    bench: &'static str,
    /// Its name; one after the other have the same if they are shown together.
    name: &'static str,
    title: &'static str,
    label: &'static str,
    subjects: &'static [&'static str],
    columns: &'static [Shown],
}

const TABLES: [BySubject; 9] = [
    BySubject {
        bench: "objects",
        name: "objects",
        title: "Trait objects: time of one step",
        label: "",
        subjects: &["Box<dyn>", "DynSlotBox<dyn>", "PoolBox<dyn>"],
        columns: &[
            ("64 objects", "ADD, CALL, DROP", Ticks, 64, 1 << 6),
            ("8,192 objects", "ADD, CALL, DROP", Ticks, 64, 1 << 13),
        ],
    },
    BySubject {
        bench: "heaps",
        name: "heaps",
        title: "Queues of jobs by time: time of one step",
        label: "",
        subjects: &[
            "BinaryHeap, outdated entries",
            "priority-queue",
            "pairing heap in a KeySlab",
        ],
        columns: &[
            ("1,024 jobs", "POP, PUSH", Ticks, 8, 1 << 10),
            ("1 move", "1 MOVE, POP, PUSH", Ticks, 8, 1 << 10),
            ("8 moves", "8 MOVES, POP, PUSH", Ticks, 8, 1 << 10),
            ("65,536 jobs", "POP, PUSH", Ticks, 8, 1 << 16),
            ("1 move", "1 MOVE, POP, PUSH", Ticks, 8, 1 << 16),
            ("8 moves", "8 MOVES, POP, PUSH", Ticks, 8, 1 << 16),
        ],
    },
    BySubject {
        bench: "intrusive",
        name: "intrusive",
        title: "Linked values: time of one value of 64 bytes",
        label: "",
        subjects: &[
            "Box, linked",
            "SlotBox, linked",
            "PoolBox, linked",
            "BoundedSlab, by key",
            "KeySlab, by key",
        ],
        columns: &[
            ("insert, 8,192 live", "INSERT at the end", Ticks, 64, USUAL),
            ("cancel", "CANCEL in the middle", Ticks, 64, USUAL),
            ("walk", "WALK", Ticks, 64, USUAL),
            ("insert, 1 Mi live", "INSERT at the end", Ticks, 64, 1 << 20),
            ("cancel", "CANCEL in the middle", Ticks, 64, 1 << 20),
            ("walk", "WALK", Ticks, 64, 1 << 20),
        ],
    },
    BySubject {
        bench: "checkpoints",
        name: "checkpoints",
        title: "Frames that are saved: 16,384 values of 64 bytes",
        label: "",
        subjects: &[
            "CheckpointSlab",
            "KeySlab, clone_from",
            "KeySlab, clone",
            "KeySlab, postcard",
            "KeySlab, not saved",
        ],
        columns: &[
            ("saved, 1 % changed", "FRAME 1 %", Ticks, 64, 1 << 14),
            ("10 %", "FRAME 10 %", Ticks, 64, 1 << 14),
            ("33 %", "FRAME 33 %", Ticks, 64, 1 << 14),
            ("all", "FRAME 100 %", Ticks, 64, 1 << 14),
            ("saved and undone, 1 %", "ROLLBACK 1 %", Ticks, 64, 1 << 14),
            ("10 %", "ROLLBACK 10 %", Ticks, 64, 1 << 14),
            ("33 %", "ROLLBACK 33 %", Ticks, 64, 1 << 14),
            ("all", "ROLLBACK 100 %", Ticks, 64, 1 << 14),
        ],
    },
    BySubject {
        bench: "registered",
        name: "registered",
        title: "Direct reads by io_uring: time of one read, in batches of 16",
        label: "",
        subjects: &["Vec of pages", "ByteArena", "ByteArena, registered"],
        columns: &[
            ("submit, 4 KiB", "SUBMIT", Ticks, 4 << 10, 256),
            ("16 KiB", "SUBMIT", Ticks, 16 << 10, 256),
            ("128 KiB", "SUBMIT", Ticks, 128 << 10, 256),
            ("until read, 4 KiB", "READ", Ticks, 4 << 10, 256),
            ("16 KiB", "READ", Ticks, 16 << 10, 256),
            ("128 KiB", "READ", Ticks, 128 << 10, 256),
        ],
    },
    // The longest insertion by allocator, then percentiles in the running program.
    BySubject {
        bench: growth::BENCH,
        name: "growth",
        title: "Two million insertions",
        label: "longest insertion",
        subjects: &GROWING,
        columns: &[
            ("fresh glibc", growth::FRESH, Worst, 64, GROWN),
            ("running", growth::RUNNING, Worst, 64, GROWN),
            ("mimalloc", growth::MIMALLOC, Worst, 64, GROWN),
            ("jemalloc", growth::JEMALLOC, Worst, 64, GROWN),
        ],
    },
    BySubject {
        bench: growth::BENCH,
        name: "growth",
        title: "Two million insertions",
        label: "in a running program",
        subjects: &GROWING,
        columns: &[
            ("p50", growth::RUNNING, P50, 64, GROWN),
            ("p99", growth::RUNNING, P99, 64, GROWN),
            ("p99.9", growth::RUNNING, P999, 64, GROWN),
            ("p99.99", growth::RUNNING, P9999, 64, GROWN),
        ],
    },
    BySubject {
        bench: "malloc",
        name: "malloc",
        title: "A million orders",
        label: "64 bytes written",
        subjects: &[
            "Pool, PoolBox",
            "BoundedSlab, Slot",
            "Slab, Slot",
            "floor",
            "floor, stamped",
            "Box, mimalloc",
            "Box, malloc",
        ],
        columns: &[
            ("first allocation", "first allocation", Ticks, 64, 1_000_000),
            ("allocation", "linear allocation", Ticks, 64, 1_000_000),
            ("free, LIFO", "linear free, LIFO", Ticks, 64, 1_000_000),
            ("free, FIFO", "linear free, FIFO", Ticks, 64, 1_000_000),
            (
                "churn, LIFO",
                "hot churn, LIFO (pair)",
                Ticks,
                64,
                1_000_000,
            ),
            (
                "churn, FIFO",
                "hot churn, FIFO (pair)",
                Ticks,
                64,
                1_000_000,
            ),
            ("Swiss cheese", "Swiss cheese", Ticks, 64, 1_000_000),
        ],
    },
    BySubject {
        bench: "pages",
        name: "pages",
        title: "Kinds of pages",
        label: "",
        subjects: &[
            "slab",
            "slab, transparent",
            "KeySlab",
            "KeySlab, transparent",
            "BoundedSlab, Slot",
            "BoundedSlab, Slot, transparent",
            "Slab, Slot",
            "Slab, Slot, transparent",
            "Slab, transparent, 64 spare chunks",
        ],
        columns: &[
            ("GET of 1 Mi", GET_AHEAD[3], P50, 64, 1 << 20),
            ("of 8 Mi", GET_AHEAD[3], P50, 64, 1 << 23),
            ("of 8 Mi, 4 ahead", GET_AHEAD[5], P50, 64, 1 << 23),
            ("faults in a fill", FAULTS[1], Faults, 64, 1 << 20),
            ("growth, p99.9", "GROWTH", P999, 8, GROWN),
            ("p99.99", "GROWTH", P9999, 8, GROWN),
            ("worst", "GROWTH", Worst, 8, GROWN),
        ],
    },
];

/// The values of a container that grows.
const GROWN: usize = 2_000_000;

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

/// The table of growth of the README: the slowest insertions of 64 bytes. Its rows and columns are
/// also those in which ours is slower.
const README_GROWTH: BySubject = BySubject {
    bench: growth::BENCH,
    name: growth::BENCH,
    title: "",
    label: "one insertion of 64 bytes",
    subjects: &[
        "slab",
        "slotmap",
        "Vec, push",
        "Box",
        "nexus-slab unbounded",
        "Slab, Slot",
        "BoundedSlab, Slot",
        "KeySlab",
        "KeySlab, grow_in_place",
    ],
    columns: &[
        ("p99.9, running", growth::RUNNING, P999, 64, GROWN),
        ("p99.99", growth::RUNNING, P9999, 64, GROWN),
        ("longest: fresh glibc", growth::FRESH, Worst, 64, GROWN),
        ("running", growth::RUNNING, Worst, 64, GROWN),
        ("mimalloc", growth::MIMALLOC, Worst, 64, GROWN),
        ("jemalloc", growth::JEMALLOC, Worst, 64, GROWN),
    ],
};

/// The tables of a bench.
fn by_subject(record: &Record, bench: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for it in TABLES.iter().filter(|it| it.bench == bench) {
        let table = it.table(record).unwrap_or_default();
        match sections.last_mut() {
            Some(last) if last.0 == it.name => last.2 += &format!("\n\n{table}"),
            _ => sections.push((it.name, it.title, table)),
        }
    }
    sections
}

/// The time of a metric.
fn nanoseconds(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> String {
    let ns = record.ns(case, subject, metric);
    ns.map_or(NOTHING.to_owned(), table::time)
}

impl BySubject {
    /// Times and numbers of faults.
    fn table(&self, record: &Record) -> Option<String> {
        let of = |subject: &&str| {
            let columns = self.columns.iter().map(|&(_, row, metric, bytes, live)| {
                (Case::of(self.bench, row, bytes, live), metric)
            });
            let value = |(case, metric)| record.value(case, subject, metric);
            columns.clone().find_map(value)?;
            let cells = columns.map(|(case, metric)| match metric {
                Faults => value((case, metric)).map_or(NOTHING.to_owned(), thousands),
                _ => nanoseconds(record, case, subject, metric),
            });
            Some(line(table::prose(subject), cells))
        };
        let head = line(self.label, self.columns.iter().map(|it| it.0));
        table::markdown(head, self.subjects.iter().filter_map(of))
    }
}

fn thousands(number: f64) -> String {
    table::thousands(number.round() as usize)
}

/// Rows in fresh arenas: of each kind one or two.
const ARENAS: &[&str] = &[
    "alloc_u64",
    "alloc_slice_u8_32",
    "alloc_sized_slice_u8_8",
    "alloc_struct_26",
    "alloc_str_16",
];

/// A figure of ours next to that of what it is compared with: what it is, of which row and size of
/// values, ours and the other, and the figure. Ticks of the bench of buffers are told in
/// nanoseconds, those of epochs in core cycles.
type Duel = (
    &'static str,
    (&'static str, usize),
    &'static str,
    &'static str,
    Metric,
);

const BYTES: [Duel; 7] = {
    use bytes::*;
    let mixed = (ALLOC_MIXED, 1500);
    let all = (ALLOC_ALL, 128);
    [
        ("clone, drop, ns", (CLONE, 40), OURS, RC, Ticks),
        ("allocate, drop, 128 bytes", (ALLOC, 128), OURS, VEC, Ticks),
        ("allocate, drop, 1 to 1,500 bytes", mixed, OURS, VEC, Ticks),
        (
            "1,024 of 128 bytes, dropped at random",
            all,
            OURS,
            VEC,
            Ticks,
        ),
        ("`resolve` a position", (RESOLVE, 40), OURS, PAIR, Ticks),
        (
            "ring of 64, half full",
            (HALF_FULL[0], 40),
            RING,
            DEQUE,
            Ticks,
        ),
        ("ring of 64, full", (FULL[0], 40), RING, DEQUE, Ticks),
    ]
};

const EPOCHS: [Duel; 10] = {
    use epoch::*;
    let (busy, fill) = ((BUSY[1], 256), (FILLS[0], 128));
    let (sustained, request) = ((SUSTAINED, 128), (REQUESTS, 128));
    [
        ("sessions, KiB at the end", busy, APART, MIXED, Memory),
        ("chunks recycled, %", busy, APART, MIXED, Recycled),
        ("2,000 cycles, KiB", sustained, RELEASED, NEVER, Memory),
        ("fill, p50, ns", fill, RESERVED, MALLOC, P50),
        ("fill, p99.9, ns", fill, RESERVED, MALLOC, P999),
        ("request, p50, ns", request, BYTES, MIMALLOC, P50),
        ("INSERT steady, cycles", (HOT[0], 8), SLAB, SLOTMAP, Ticks),
        ("GET random", (HOT[1], 8), SLAB, SLOTMAP, Ticks),
        ("REMOVE random", (HOT[2], 8), SLAB, SLOTMAP, Ticks),
        ("CHURN random", (HOT[3], 8), SLAB, SLOTMAP, Ticks),
    ]
};

fn duels(record: &Record, bench: &str, duels: &[Duel]) -> String {
    let of = |&(what, (row, bytes), ours, theirs, metric): &Duel| {
        let cases = record.cases_of(bench, &[row]);
        let case = *cases.iter().find(|case| case.bytes == bytes)?;
        let shown = |subject| {
            let figure = match (bench, metric) {
                (epoch::BENCH, Ticks) => format!("{:.1}", record.cycles(case, subject)?),
                (_, Ticks | P50 | P999) => match record.ns(case, subject, metric)? {
                    ns @ 100.0.. => thousands(ns),
                    ns => format!("{ns:.1}"),
                },
                _ => match record.value(case, subject, metric)? {
                    value @ 1000.0.. => thousands(value),
                    value => format!("{value:.1}"),
                },
            };
            Some(format!("{} {figure}", table::prose(subject)))
        };
        let ratio = record.ratio(case, metric, ours, theirs);
        let ratio = figure(ratio.filter(|it| it.is_finite()), 2);
        Some(line(what, [shown(ours)?, shown(theirs)?, ratio]))
    };
    let head = line("", ["ours", "compared with", "ratio"]);
    table::markdown(head, duels.iter().filter_map(of)).unwrap_or_default()
}

/// What goes across threads: ours, and what could stand in its place.
fn across_threads(record: &Record) -> String {
    use threads::*;
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
    let of = |(ours, locked, row, bytes): (&str, &str, &'static str, usize)| {
        let case = Case::of(BENCH, row, bytes, 1024);
        record.value(case, ours, P50)?;
        let cell = |subject: &str| {
            let ns = nanoseconds(record, case, subject, P50);
            match above_a_word(record, case, subject) {
                Some(above) => format!("{ns} ({above:.1})"),
                None => ns,
            }
        };
        let cells = [ours, SHARDED, PLURALITY, MALLOC, MIMALLOC, locked, UNSHARED].map(cell);
        let (_, ours) = ours.rsplit_once(' ').unwrap_or(("", ours));
        Some(line(format!("`{ours}`, {}", case.by_bytes()), cells))
    };
    let others = [SHARDED, PLURALITY, MALLOC, MIMALLOC].map(table::prose);
    let last = ["behind a `Mutex`", "not shared"].map(str::to_owned);
    let head = ["ours".to_owned()].into_iter().chain(others).chain(last);
    let head = line("ns (less the channel)", head);
    table::markdown(head, rows.into_iter().filter_map(of)).unwrap_or_default()
}

/// The table of operations of the README, in the words of people: core cycles.
#[must_use]
pub fn readme(record: &Record) -> Option<String> {
    record.bench("cycles")?;
    let rows = [
        ("get, at random", "GET random"),
        ("get_mut, at random", "GET_MUT random"),
        ("insert, free slots in random order", "INSERT steady"),
        ("remove, at random", "REMOVE random"),
        ("replace, at random", "REPLACE"),
    ];
    let columns = [
        ("slab", "`slab`"),
        ("BoundedSlab, Slot", "`BoundedSlab`, `Slot`"),
        ("BoundedSlab, Key", "`Key`"),
        ("Slab, Slot", "`Slab`, `Slot`"),
        ("Slab, Key", "`Key`"),
        ("KeySlab", "`KeySlab`"),
        ("Pool, PoolBox", "`Pool`"),
    ];
    let of = |(label, row): (&str, &'static str)| {
        let case = Case::of("cycles", row, 8, USUAL);
        line(
            label,
            columns.map(|(subject, _)| figure(record.cycles(case, subject), 1)),
        )
    };
    table::markdown(
        line("core cycles, 8 bytes", columns.map(|it| it.1)),
        rows.map(of),
    )
}

/// The table of growth of the README.
#[must_use]
pub fn readme_growth(record: &Record) -> Option<String> {
    record.bench(growth::BENCH)?;
    README_GROWTH.table(record)
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
        let records = Record::newest_of_each_bench().unwrap().into_iter();
        let mut records = records.map(|(_, record)| record);
        records
            .find(|it| it.bench(growth::BENCH).is_some())
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
