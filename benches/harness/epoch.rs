//! The rows of epoch slabs, and their tables.

use crate::record::{Case, Metric, Record};
use crate::table::{self, figure, line};

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

/// So many requests, and sessions that are replaced in 1,000 of them: the short runs first.
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
    use Metric::{P50, P95, P99, P999, Ticks};
    let tables = [
        drains(record),
        facts(record),
        times(record, FILLS, &[P50, P99, P999]),
        times(record, &[REQUESTS], &[Ticks, P50, P95, P99]),
        growths(record),
        hot(record),
    ];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    tables.join("\n\n")
}

/// The two arms, and the control.
fn drains(record: &Record) -> Option<String> {
    let of = |case: &Case<'_>| {
        let of = |subject, metric| record.value(*case, subject, metric);
        let memory = |subject| of(subject, Metric::Memory);
        let ratio = memory(MIXED).zip(memory(APART)).map(|(a, b)| a / b);
        let arms = [APART, MIXED].map(|subject| {
            let [recycled, drift] = [Metric::Recycled, Metric::Drift].map(|it| of(subject, it));
            [
                figure(recycled, 1),
                figure(drift, 1),
                figure(memory(subject), 0),
            ]
        });
        let control = [figure(ratio, 2), figure(memory(BOX), 0)];
        let cells = arms.into_iter().flatten().chain(control);
        line(case.row.trim_start_matches("drain: "), cells)
    };
    let head = [
        "apart: recycled %",
        "drift %",
        "KiB",
        "mixed: recycled %",
        "drift %",
        "KiB",
        "× apart",
        "`Box`, RSS KiB",
    ];
    let cases = record.cases_of(BENCH, DRAINS);
    table::markdown(line("drainability", head), cases.iter().map(of))
}

/// A line for each subject of each case that has one of these figures.
fn lines(
    record: &Record,
    rows: &[&str],
    subjects: &[&str],
    metrics: &[Metric],
    label: impl Fn(Case<'_>, &str) -> String,
    (per, decimals): (f64, usize),
) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for case in record.cases_of(BENCH, rows) {
        for subject in subjects {
            let values = metrics.iter().map(|it| record.value(case, subject, *it));
            if values.clone().any(|it| it.is_some()) {
                let cells = values.map(|it| figure(it.map(|it| it / per), decimals));
                lines.push(line(label(case, subject), cells));
            }
        }
    }
    lines
}

/// What is neither a load nor a time.
fn facts(record: &Record) -> Option<String> {
    use Metric::{Chunks, Drift, Growth, Memory, Recycled, Resident, Sigmas};
    let metrics = [Recycled, Sigmas, Chunks, Memory, Drift, Growth, Resident];
    let rows = [PINNING, &[SUSTAINED, CHURN, RETURN]].concat();
    let label = |case: Case<'_>, subject: &str| match subject {
        SLAB => case.row.to_owned(),
        _ => format!("{}, {subject}", case.row),
    };
    let lines = lines(
        record,
        &rows,
        &[SLAB, RELEASED, NEVER],
        &metrics,
        label,
        (1.0, 2),
    );
    table::markdown(line("facts", metrics.map(Metric::name)), lines)
}

/// Nanoseconds: a line for each subject of each case.
fn times(record: &Record, rows: &[&str], metrics: &[Metric]) -> Option<String> {
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    let subjects = [
        GROWS, RESERVED, BYTES, CLEARED, MALLOC, MIMALLOC, JEMALLOC, FLOOR,
    ];
    let label = |case: Case<'_>, subject: &str| format!("{}: {}", case.row, table::prose(subject));
    let lines = lines(record, rows, &subjects, metrics, label, (ticks_per_ns, 0));
    let names = metrics.iter().map(|metric| match metric {
        Metric::Ticks => "mean",
        metric => metric.name(),
    });
    table::markdown(line("ns", names), lines)
}

/// The time above the floor, and memory of the requests.
fn growths(record: &Record) -> Option<String> {
    let case = *record.cases_of(BENCH, &[REQUESTS]).first()?;
    let ticks_per_ns = record.bench(BENCH)?.ticks_per_ns;
    let time = |subject| record.value(case, subject, Metric::P50);
    let of = |subject| {
        let above = (time(subject)? - time(FLOOR)?) / ticks_per_ns;
        let cells = [
            figure(Some(above), 0),
            figure(record.value(case, subject, Metric::Growth), 2),
            figure(record.value(case, subject, Metric::Memory), 0),
        ];
        Some(line(table::prose(subject), cells))
    };
    let subjects = [BYTES, CLEARED, MALLOC, MIMALLOC, JEMALLOC];
    let head = ["p50, ns above the floor", "RSS growth %", "RSS KiB"];
    table::markdown(line("a request", head), subjects.into_iter().filter_map(of))
}

/// Core cycles of the operations, and the ratios.
fn hot(record: &Record) -> Option<String> {
    let (others, all) = ([SLOTMAP, GENERATIONS], [SLOTMAP, GENERATIONS, SLAB]);
    let of = |case: &Case<'_>| {
        let cycles = all.map(|subject| figure(record.cycles(*case, subject), 1));
        let ratios = others.map(|other| figure(record.ticks_ratio(*case, SLAB, other), 2));
        line(case.row, cycles.into_iter().chain(ratios))
    };
    let ratios = others.map(|it| format!("/ {}", table::prose(it)));
    let head = all.map(table::prose).into_iter().chain(ratios);
    let cases = record.cases_of(BENCH, HOT);
    table::markdown(line("core cycles, 8 bytes", head), cases.iter().map(of))
}
