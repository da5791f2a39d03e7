//! All tables of a record, a file for each bench.

use std::cmp::Reverse;

use flatslab_benches::record::{Case, Record};
use flatslab_benches::table::{self, Column, Ratios, named};
use flatslab_benches::{arena, bytes, epoch, goals, lives, slowest, threads};

use crate::{Section, pages, runs};

/// The number of live values of most tables.
const USUAL: usize = 8192;

/// The benches that have a file, in the order in which these are written.
pub(crate) const BENCHES: [&str; 16] = [
    "cycles",
    "growth",
    lives::BENCH,
    "malloc",
    "pages",
    "arena",
    bytes::BENCH,
    epoch::BENCH,
    threads::BENCH,
    "intrusive",
    "objects",
    "collections",
    "checkpoints",
    "registered",
    "heaps",
    slowest::BENCH,
];

/// The file of each bench that the record has, which is in a file of this name.
pub(crate) fn files(record: &Record, name: &str) -> Vec<(&'static str, String)> {
    let recorded = BENCHES.into_iter().filter(|it| record.bench(it).is_some());
    recorded
        .map(|bench| (bench, file(record, name, bench)))
        .collect()
}

/// The tables of a bench.
fn sections(record: &Record, bench: &'static str) -> Vec<Section> {
    let notes = || {
        let notes = record.bench(bench).map_or(&[][..], |it| &it.notes);
        format!("- {}", notes.join("\n- "))
    };
    let of_arenas = |section: Option<String>| section.unwrap_or_else(|| missing(bench));
    let mut sections = match bench {
        "cycles" => cycles(record),
        "growth" => vec![
            ("Values of 8 bytes", growth(record, bench, 8)),
            ("Values of 64 bytes", growth(record, bench, 64)),
        ],
        lives::BENCH => vec![
            ("Values of 8 bytes", lives::tables(record, &[8])),
            ("Values of 64 bytes", lives::tables(record, &[64])),
            ("Values of 200 bytes", lives::tables(record, &[200])),
        ],
        "malloc" => vec![("Orders of 64 bytes", malloc(record))],
        "pages" => pages::sections(record, notes()),
        "arena" => vec![
            ("Fresh arenas", of_arenas(arena::fresh(record))),
            ("Warm arenas", of_arenas(arena::frames(record))),
            ("Warm arenas, in batches", of_arenas(arena::tails(record))),
            (GOALS, of_arenas(arena::behind(record))),
        ],
        bytes::BENCH => vec![
            ("Byte buffers", bytes::tables(record)),
            ("Rings of 10", notes()),
        ],
        epoch::BENCH => vec![("Epoch slabs", epoch::tables(record))],
        threads::BENCH => vec![("Across threads", threads::tables(record))],
        slowest::BENCH => vec![("The slowest single operation", slowest::tables(record))],
        _ => OTHERS
            .iter()
            .filter(|it| it.bench == bench)
            .map(|it| (it.title, all_cases(record, it)))
            .collect(),
    };
    sections.extend(goals::of_bench(record, bench).map(|goals| (GOALS, goals)));
    sections
}

const GOALS: &str = "Goals";

/// Tables of all cases of a bench whose rows begin so, and whose values have this size.
struct Other {
    bench: &'static str,
    title: &'static str,
    rows: &'static str,
    bytes: usize,
    /// The subject of the ratios.
    reference: &'static str,
}

const fn other(
    bench: &'static str,
    title: &'static str,
    rows: &'static str,
    bytes: usize,
    reference: &'static str,
) -> Other {
    Other {
        bench,
        title,
        rows,
        bytes,
        reference,
    }
}

const OTHERS: [Other; 15] = [
    other("intrusive", "Values of 8 bytes", "", 8, "Box, linked"),
    other("intrusive", "Values of 64 bytes", "", 64, "Box, linked"),
    other("objects", "Trait objects", "", 64, "Box<dyn>"),
    other("collections", "Sorted maps", "MAP", 16, "BTreeMap"),
    other("collections", "Heaps", "HEAP", 8, "BinaryHeap"),
    other(
        "collections",
        "Timeouts",
        "TIMERS",
        8,
        "BinaryHeap, stale entries",
    ),
    other("collections", "Lists", "LIST", 24, "nexus List"),
    other(
        "collections",
        "Books of orders",
        "BOOK",
        32,
        "BTreeMap, List",
    ),
    other("collections", "Indices", "INDEX", 64, "HashMap, foldhash"),
    other("collections", "Caches", "CACHE", 64, "lru"),
    other(
        "checkpoints",
        "Frames that are saved",
        "",
        64,
        "KeySlab, clone_from",
    ),
    other(
        "registered",
        "Direct reads of 4 KiB",
        "",
        4 << 10,
        "Vec of pages",
    ),
    other(
        "registered",
        "Direct reads of 16 KiB",
        "",
        16 << 10,
        "Vec of pages",
    ),
    other(
        "registered",
        "Direct reads of 128 KiB",
        "",
        128 << 10,
        "Vec of pages",
    ),
    other(
        "heaps",
        "Queues of jobs by time",
        "",
        8,
        "BinaryHeap, outdated entries",
    ),
];

/// Each of these cases, with the ratio to one of the subjects.
fn all_cases(record: &Record, of: &Other) -> String {
    let columns = [
        Column::Nanoseconds,
        Column::Cycles,
        Column::Ratio(of.reference),
    ];
    let mut cases = record.cases(of.bench);
    cases.retain(|case| case.bytes == of.bytes && case.row.starts_with(of.rows));
    let table = |case: &Case<'_>| {
        let title = format!("{}, {} live", case.row, table::thousands(case.live));
        let table = table::subjects(record, "", &[*case], &columns);
        format!("{title}:\n\n{table}")
    };
    cases.iter().map(table).collect::<Vec<_>>().join("\n\n")
}

/// What every generated file begins with.
pub(crate) fn head(bench: &str, from: &str) -> String {
    format!(
        "# Tables: {bench}\n\n<!-- Generated by `report`. Do not edit. -->\n\n\
         Generated by `cargo run --release -p flatslab-benches --bin report` from {from}. \
         [BENCHMARKS.md](../../../BENCHMARKS.md) says how it is measured, and \
         [ROWS.md](../../ROWS.md) what each row is."
    )
}

/// A file: its head, then a heading for each table.
fn file(record: &Record, name: &str, bench: &'static str) -> String {
    let (ticks_per_ns, step, commit) = record.bench(bench).map_or((0.0, 0, ""), |it| {
        (it.ticks_per_ns, it.step, it.commit.as_str())
    });
    let mut text = head(bench, &format!("`benches/record/{name}`"));
    text += &format!(
        "\n\n{}, {ticks_per_ns:.1} ticks per ns in steps of {step}; commit {commit}, {}. \
         Runs: {}.\n",
        record.machine,
        record.machine.date,
        runs(record, bench)
    );
    for (heading, section) in sections(record, bench) {
        text += &format!("\n## {heading}\n\n{section}\n");
    }
    text
}

/// The operations on slabs and pools.
fn cycles(record: &Record) -> Vec<Section> {
    let case = |case: Case<'_>| case.row.to_owned();
    let (mut walks, mut others) = (record.cases("cycles"), record.cases("cycles"));
    walks.retain(is_walk);
    others.retain(|it| it.live == USUAL && !is_walk(it));
    let of_size = |bytes| {
        let mut cases = others.clone();
        cases.retain(|it| it.bytes == bytes);
        to_slab(record, &cases, named(&OTHERS_OF_SLAB), case)
    };
    let of_main = |pairs: &[(usize, usize)], label: fn(Case<'_>) -> String| {
        let of = |&(live, bytes): &(usize, usize)| {
            move |row: &'static str| Case::of("cycles", row, bytes, live)
        };
        let cases = MAIN
            .iter()
            .flat_map(|row| pairs.iter().map(move |pair| of(pair)(row)));
        let cases: Vec<Case<'_>> = cases.collect();
        to_slab(record, &cases, named(&OTHERS_OF_SLAB), label)
    };
    let mut sections = vec![
        ("Next to others, 8 bytes", of_size(8)),
        ("Next to others, 64 bytes", of_size(64)),
        ("Value sizes", of_main(&VALUE_SIZES, |case| case.by_bytes())),
        ("Live values", of_main(&LIVE_VALUES, in_full)),
    ];
    if !walks.is_empty() {
        let subjects = WALKING.map(|(subject, name)| (subject, name.to_owned()));
        sections.push((
            "Iteration",
            to_slab(record, &walks, subjects.to_vec(), in_full),
        ));
    }
    sections.push(("Pools", pool(record)));
    sections
}

/// The operations of the tables of value sizes and live values.
const MAIN: [&str; 4] = [
    "INSERT steady",
    "GET random",
    "REMOVE random",
    "CHURN random",
];

const VALUE_SIZES: [(usize, usize); 4] = [(USUAL, 8), (USUAL, 64), (USUAL, 256), (USUAL, 1024)];
const LIVE_VALUES: [(usize, usize); 6] = [
    (1024, 8),
    (USUAL, 8),
    (1 << 20, 8),
    (1024, 64),
    (USUAL, 64),
    (1 << 20, 64),
];

const OTHERS_OF_SLAB: [&str; 16] = [
    "BoundedSlab, Slot",
    "BoundedSlab, Key",
    "Slab, Slot",
    "Slab, Key",
    "BoundedKeySlab",
    "KeySlab",
    "BoundedKeySlab, GenKey",
    "KeySlab, GenKey",
    "floor",
    "floor, stamped",
    "nexus-slab bounded",
    "nexus-slab unbounded",
    "slotmap",
    "plurality, Box",
    "Box, malloc",
    "Box, mimalloc",
];

/// What walks over all values, which has nothing to do with keys.
const WALKING: [(&str, &str); 7] = [
    ("BoundedSlab, Key", "`BoundedSlab`"),
    ("Slab, Key", "`Slab`"),
    ("BoundedKeySlab", "`BoundedKeySlab`"),
    ("BoundedKeySlab, GenKey", "`GenKey`"),
    ("KeySlab", "`KeySlab`"),
    ("KeySlab, GenKey", "`GenKey`"),
    ("slotmap", "`slotmap`"),
];

fn is_walk(case: &Case<'_>) -> bool {
    case.row.starts_with("ITERATE")
}

fn in_full(case: Case<'_>) -> String {
    format!("{}, {} of {} B", case.row, case.live, case.bytes)
}

/// Ratios to `slab`, and its core cycles first.
fn to_slab(
    record: &Record,
    cases: &[Case<'_>],
    subjects: Vec<(&str, String)>,
    label: fn(Case<'_>) -> String,
) -> String {
    let ratios = Ratios {
        title: "",
        base: "slab",
        unit: ("cycles", true),
        subjects,
    };
    ratios.of(record, cases, label).unwrap_or_default()
}

/// The growth of values of one size, all subjects.
pub(crate) fn growth(record: &Record, bench: &str, bytes: usize) -> String {
    let mut cases = record.cases(bench);
    cases.retain(|case| case.row.starts_with("GROWTH") && case.bytes == bytes);
    table::subjects(record, "ticks of one insertion", &cases, table::PERCENTILES)
}

/// The workloads of the malloc bench: with all of an order written, and with its
/// first word alone.
fn malloc(record: &Record) -> String {
    let columns = [
        Column::Nanoseconds,
        Column::Cycles,
        Column::Speed("Box, malloc"),
        Column::Ratio("floor"),
        Column::Value(flatslab_benches::record::Metric::Faults),
    ];
    let mut cases = record.cases("malloc");
    cases.sort_by_key(|case| Reverse(case.bytes));
    let workloads = cases.iter().filter(|case| case.bytes == 64);
    let table = |workload: &Case<'_>| {
        let mut pair = cases.clone();
        pair.retain(|case| case.row == workload.row);
        let title = workload.row[..1].to_uppercase() + &workload.row[1..];
        let label = "64 bytes written; 8 bytes written";
        let table = table::subjects(record, label, &pair, &columns);
        format!("{title}:\n\n{table}")
    };
    workloads.map(table).collect::<Vec<_>>().join("\n\n")
}

/// The pools next to the floors, to the slab that is unsafe to make, and to what they
/// take the place of: core cycles of the bare floor, of the others ratios to it.
fn pool(record: &Record) -> String {
    const POOL: &str = "Pool, PoolBox";
    let mut cases = record.cases("cycles");
    cases.retain(|it| it.live == USUAL && it.bytes <= 64);
    cases.retain(|it| record.rows_of(*it, POOL).next().is_some());
    cases.sort_by_key(|it| it.bytes);
    let ratios = Ratios {
        title: "",
        base: "floor, bare",
        unit: ("cycles", true),
        subjects: named(&[
            POOL,
            "Pool, storage",
            "floor",
            "nexus-slab bounded",
            "BoundedSlab, Slot",
            "Box, malloc",
        ]),
    };
    let table = ratios.of(record, &cases, |case| case.by_bytes());
    table.unwrap_or_else(|| missing("cycles"))
}

/// Stands for a table that is not in the record.
fn missing(bench: &str) -> String {
    format!(
        "The record has none of these rows; `cargo bench --bench {bench} -- --record` measures \
         them."
    )
}
