//! The rows of epoch slabs, and their tables.

use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING};

/// The bench.
pub const BENCH: &str = "epoch";

/// Live values of a quick run.
pub const QUICK: usize = 640;

/// Ours, of values of one type.
pub const SLAB: &str = "EpochSlab";
/// Ours, of buffers.
pub const BYTES: &str = "EpochBytes";
/// The same, where epochs are cleared and nothing is freed one by one.
pub const CLEARED: &str = "EpochBytes, cleared";
/// What every program has.
pub const MALLOC: &str = "malloc";
/// See [`MALLOC`].
pub const MIMALLOC: &str = "mimalloc";
/// See [`MALLOC`].
pub const JEMALLOC: &str = "jemalloc";

/// Sessions are replaced in 1,000 requests: 2, 20, 80, and 2 in each.
pub const REPLACED: [usize; 4] = [2, 20, 80, 2_000];
/// Requests of a run.
pub const LENGTHS: [usize; 2] = [20_000, 200_000];
/// The rows of all of these, the short runs first.
pub const DRAINS: &[&str] = &[
    "drain: 20,000 requests, 2 of 1,000 with a session",
    "drain: 20,000 requests, 20 of 1,000",
    "drain: 20,000 requests, 80 of 1,000",
    "drain: 20,000 requests, 2 sessions each",
    "drain: 200,000 requests, 2 of 1,000 with a session",
    "drain: 200,000 requests, 20 of 1,000",
    "drain: 200,000 requests, 80 of 1,000",
    "drain: 200,000 requests, 2 sessions each",
];
/// Those with 2 sessions in each request.
pub const BUSY: &[&str] = &[DRAINS[3], DRAINS[7]];
/// Sessions in an epoch of their own.
pub const APART: &str = "sessions apart";
/// Sessions in the epoch of their request.
pub const MIXED: &str = "sessions mixed in";
/// The control: each object a `Box`, and memory is the resident set.
pub const BOX: &str = "Box, malloc (RSS)";

/// How likely it is that an epoch has a pinned value.
pub const SHARES: [f64; 7] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0];
/// Its rows.
pub const PINNING: &[&str] = &[
    "pinning: p = 0",
    "pinning: p = 0.01",
    "pinning: p = 0.05",
    "pinning: p = 0.1",
    "pinning: p = 0.25",
    "pinning: p = 0.5",
    "pinning: p = 1",
];
/// That of none.
pub const UNPINNED: &[&str] = &[PINNING[0]];

/// Cycles in which a fifth of the values stays for some more.
pub const SUSTAINED: &str = "2,000 cycles, 20 % pinned";
/// Values that stay are removed some cycles later.
pub const RELEASED: &str = "released later";
/// The control.
pub const NEVER: &str = "never released";

/// Values that are replaced in one epoch.
pub const CHURN: &str = "replaced in place";
/// Memory that goes back to the system.
pub const RETURN: &str = "given back";

/// So many threads.
pub const THREADS: [usize; 4] = [1, 2, 4, 8];
/// Cold linear fills.
pub const FILLS: &[&str] = &[
    "fill, 1 thread",
    "fill, 2 threads",
    "fill, 4 threads",
    "fill, 8 threads",
];
/// Chunks are fetched when they are needed.
pub const GROWS: &str = "EpochSlab, grows";
/// All chunks are there and touched.
pub const RESERVED: &str = "EpochSlab, reserved";

/// Requests: parse, allocate, respond, free.
pub const REQUESTS: &str = "requests, 4 threads";
/// Never frees.
pub const FLOOR: &str = "floor, bump";

/// Operations on values of one epoch.
pub const HOT: &[&str] = &[
    "INSERT steady",
    "GET random",
    "REMOVE random",
    "CHURN random",
];
/// Generations, and no epochs.
pub const SLOTMAP: &str = "slotmap";
/// See [`SLOTMAP`].
pub const GENERATIONS: &str = "KeySlab, GenKey";

/// All of it, for a terminal or a document.
#[must_use]
pub fn tables(record: &Record) -> String {
    let tables = [
        drains(record),
        facts(record),
        times(record, FILLS, &[Metric::P50, Metric::P99, Metric::P999]),
        times(
            record,
            &[REQUESTS],
            &[Metric::Ticks, Metric::P50, Metric::P95, Metric::P99],
        ),
        growths(record),
        hot(record),
    ];
    tables
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn cases<'r>(record: &'r Record, rows: &[&str]) -> Vec<Case<'r>> {
    let mut cases = record.cases(BENCH);
    cases.retain(|case| rows.contains(&case.row));
    cases.sort_by_key(|case| rows.iter().position(|row| *row == case.row));
    cases
}

fn figure(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.decimals$}"))
}

/// The two arms, and the control.
fn drains(record: &Record) -> Option<String> {
    let row = |case: &Case<'_>| {
        let of = |subject, metric| record.value(*case, subject, metric);
        let memory = |subject| of(subject, Metric::Memory);
        let ratio = memory(MIXED).zip(memory(APART)).map(|(a, b)| a / b);
        let label = case.row.trim_start_matches("drain: ").to_owned();
        let mut cells = vec![label];
        for subject in [APART, MIXED] {
            cells.push(figure(of(subject, Metric::Recycled), 1));
            cells.push(figure(of(subject, Metric::Drift), 1));
            cells.push(figure(memory(subject), 0));
        }
        cells.push(figure(ratio, 2));
        cells.push(figure(memory(BOX), 0));
        cells
    };
    let rows: Vec<Vec<String>> = cases(record, DRAINS).iter().map(row).collect();
    let head = [
        "drainability",
        "apart: recycled %",
        "drift %",
        "KiB",
        "mixed: recycled %",
        "drift %",
        "KiB",
        "× apart",
        "`Box`, RSS KiB",
    ];
    (!rows.is_empty()).then(|| table::markdown(&head.map(str::to_owned), &rows))
}

/// What is neither a load nor a time.
fn facts(record: &Record) -> Option<String> {
    let metrics = [
        Metric::Recycled,
        Metric::Sigmas,
        Metric::Chunks,
        Metric::Memory,
        Metric::Drift,
        Metric::Growth,
        Metric::Resident,
    ];
    let mut rows = Vec::new();
    let others = [PINNING, &[SUSTAINED, CHURN, RETURN]].concat();
    for case in cases(record, &others) {
        for subject in [SLAB, RELEASED, NEVER] {
            let values = metrics.map(|metric| record.value(case, subject, metric));
            if values.iter().any(Option::is_some) {
                let label = match subject {
                    SLAB => case.row.to_owned(),
                    _ => format!("{}, {subject}", case.row),
                };
                let mut cells = vec![label];
                cells.extend(values.map(|value| figure(value, 2)));
                rows.push(cells);
            }
        }
    }
    let mut head = vec!["facts".to_owned()];
    head.extend(metrics.map(|metric| metric.name().to_owned()));
    (!rows.is_empty()).then(|| table::markdown(&head, &rows))
}

/// Nanoseconds: a line for each subject of each case.
fn times(record: &Record, rows: &[&str], metrics: &[Metric]) -> Option<String> {
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    let subjects = [
        GROWS, RESERVED, BYTES, CLEARED, MALLOC, MIMALLOC, JEMALLOC, FLOOR,
    ];
    let mut lines = Vec::new();
    for case in cases(record, rows) {
        for subject in subjects {
            let values: Vec<_> = metrics
                .iter()
                .map(|&metric| record.value(case, subject, metric))
                .collect();
            if values.iter().any(Option::is_some) {
                let mut cells = vec![format!("{}: {}", case.row, table::prose(subject))];
                cells.extend(
                    values
                        .iter()
                        .map(|it| figure(it.map(|it| it / ticks_per_ns), 0)),
                );
                lines.push(cells);
            }
        }
    }
    let mut head = vec!["ns".to_owned()];
    head.extend(metrics.iter().map(|metric| match metric {
        Metric::Ticks => "mean".to_owned(),
        metric => metric.name().to_owned(),
    }));
    (!lines.is_empty()).then(|| table::markdown(&head, &lines))
}

/// The time above the floor, and memory of the requests.
fn growths(record: &Record) -> Option<String> {
    let case = cases(record, &[REQUESTS]).into_iter().next()?;
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    let time = |subject| record.value(case, subject, Metric::P50);
    let row = |subject| {
        let above = time(subject)? - time(FLOOR)?;
        Some(vec![
            table::prose(subject),
            figure(Some(above / ticks_per_ns), 0),
            figure(record.value(case, subject, Metric::Growth), 2),
            figure(record.value(case, subject, Metric::Memory), 0),
        ])
    };
    let subjects = [BYTES, CLEARED, MALLOC, MIMALLOC, JEMALLOC];
    let rows: Vec<Vec<String>> = subjects.into_iter().filter_map(row).collect();
    let head = [
        "a request",
        "p50, ns above the floor",
        "RSS growth %",
        "RSS KiB",
    ];
    (!rows.is_empty()).then(|| table::markdown(&head.map(str::to_owned), &rows))
}

/// Core cycles of the operations, and the ratios.
fn hot(record: &Record) -> Option<String> {
    let row = |case: &Case<'_>| {
        let mut cells = vec![case.row.to_owned()];
        for subject in [SLOTMAP, GENERATIONS, SLAB] {
            cells.push(figure(record.cycles(*case, subject), 1));
        }
        for other in [SLOTMAP, GENERATIONS] {
            cells.push(figure(record.ticks_ratio(*case, SLAB, other), 2));
        }
        cells
    };
    let rows: Vec<Vec<String>> = cases(record, HOT).iter().map(row).collect();
    let head = [
        "core cycles, 8 bytes".to_owned(),
        table::prose(SLOTMAP),
        table::prose(GENERATIONS),
        table::prose(SLAB),
        format!("/ {}", table::prose(SLOTMAP)),
        format!("/ {}", table::prose(GENERATIONS)),
    ];
    (!rows.is_empty()).then(|| table::markdown(&head, &rows))
}
