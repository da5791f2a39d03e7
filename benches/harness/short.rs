//! The short tables of BENCHMARKS.md: of each family one, with the rows that decide, and its
//! goals that are missed.

use flatslab_benches::first_touch::FAULTS;
use flatslab_benches::goals::Goal;
use flatslab_benches::operation::GET_AHEAD;
use flatslab_benches::record::{Case, Metric, Record};
use flatslab_benches::table::{self, NOTHING};
use flatslab_benches::verdict::{self, marked};
use flatslab_benches::{arena, bytes, epoch, growth, lives, slowest, threads};

use crate::{Section, Source, USUAL, by_bytes, case, figure, runs};

/// All sections that the record has figures for.
pub(crate) fn sections(source: &Source) -> Vec<Section> {
    let record = &source.record;
    let mut sections = Vec::new();
    // The table, where it is from and how many goals are met, and the goals that are not.
    let mut add =
        |bench: &'static str, name, are: fn(&Goal) -> bool, table: &dyn Fn() -> String| {
            if record.bench(bench).is_some() {
                let (result, misses) = match bench {
                    slowest::BENCH => (slowest::within(record), String::new()),
                    "arena" => (arena::verdict(record).unwrap_or_default(), String::new()),
                    _ => verdict::misses(record, bench, are).unwrap_or_default(),
                };
                let (table, origin) = (table(), origin(record, bench));
                let section = match misses.is_empty() {
                    true => format!("{table}\n\n{origin} {result}"),
                    false => format!("{table}\n\n- {origin} {result}\n{misses}"),
                };
                sections.push((name, section.trim_end().to_owned()));
            }
        };
    let of = |rows: &[&'static str], subjects: &[&str]| {
        operations(record, "slab", rows, &WALKS, subjects)
    };
    add("cycles", "slabs", is_of_a_slab, &|| of(&OPERATIONS, &SLABS));
    add("cycles", "key slabs", is_key_slab, &|| {
        of(&OPERATIONS, &KEY_SLABS)
    });
    add("cycles", "the pool", Goal::is_of_a_pool, &|| {
        operations(record, "floor, bare", &OPERATIONS, &[], &POOLS)
    });
    let all = |_: &Goal| true;
    add(growth::BENCH, "growth", all, &|| growth_tables(record));
    add(lives::BENCH, "lives", all, &|| lives::tables(record, &[64]));
    add("malloc", "malloc", all, &|| malloc(record));
    add("pages", "pages", all, &|| pages(record));
    add("arena", "arenas", all, &|| {
        let rows = [ARENAS, &arena::WARM[1..4]].concat();
        arena::in_short(record, &rows).unwrap_or_default()
    });
    add(bytes::BENCH, "bytes", all, &|| {
        duels(record, bytes::BENCH, &BYTES)
    });
    add(epoch::BENCH, "epochs", all, &|| {
        duels(record, epoch::BENCH, &EPOCHS)
    });
    add(threads::BENCH, "threads", all, &|| across_threads(record));
    add(slowest::BENCH, "the slowest", all, &|| {
        slowest::in_short(record)
    });
    sections
}

/// Where a table comes from, and where the rest of it is.
fn origin(record: &Record, bench: &str) -> String {
    let machine = &record.machine;
    let commit = record.bench(bench).map_or("", |it| it.commit.as_str());
    format!(
        "{} ({}), commit {commit}, {}, runs: {}; [all rows](benches/record/tables/{bench}.md).",
        machine.cpu,
        machine.cpu_version,
        machine.date,
        runs(record, bench)
    )
}

fn is_of_a_slab(goal: &Goal) -> bool {
    !goal.is_of_a_pool() && !is_key_slab(goal)
}

fn is_key_slab(goal: &Goal) -> bool {
    goal.subject.contains("KeySlab")
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
        let ratio = |subject: &&str| {
            let ratio = figure(record.ticks_ratio(*case, subject, base), 2);
            // Next to the bare floor stand the goals of pools alone.
            let has_goal = base == "slab" || subject.starts_with("Pool");
            let missed = || verdict::is_missed(record, *case, subject, Metric::Ticks);
            marked(ratio, has_goal && missed())
        };
        let head = [by_bytes(*case), format!("{cycles:.1}")];
        Some(head.into_iter().chain(subjects.iter().map(ratio)).collect())
    };
    let rows: Vec<Vec<String>> = cases.iter().filter_map(row).collect();
    let base = table::prose(base);
    let mut head = vec![format!("time / that of {base}"), format!("{base}, cycles")];
    head.extend(subjects.iter().map(|it| table::prose(it)));
    table::markdown(&head, &rows)
}

/// Nanoseconds of a metric, **marked** where it misses a goal.
fn nanoseconds(record: &Record, case: Case<'_>, subject: &str, metric: Metric) -> String {
    let Some(ticks) = record.value(case, subject, metric) else {
        return NOTHING.to_owned();
    };
    let ns = ticks / record.bench(case.bench).map_or(1.0, |it| it.ticks_per_ns);
    let shown = match ns {
        1e6.. => format!("{:.1} ms", ns / 1e6),
        100.0.. => table::thousands(ns.round() as usize),
        _ => format!("{ns:.1}"),
    };
    marked(shown, verdict::is_missed(record, case, subject, metric))
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

/// The longest insertion by allocator, then percentiles in the running program and at a pace.
fn growth_tables(record: &Record) -> String {
    use Metric::{P50, P99, P999, P9999, Worst};
    let of = |row, bytes| of_bench(growth::BENCH, row, (2_000_000, bytes));
    let worst = [8, 64].map(|bytes| {
        let column = |name: &'static str, row| (name, of(row, bytes), Worst);
        [
            column("fresh glibc", growth::FRESH),
            column("running", growth::RUNNING),
            column("mimalloc", growth::MIMALLOC),
            column("jemalloc", growth::JEMALLOC),
        ]
    });
    let longest = |at: usize, bytes| {
        let label = format!("longest insertion, {bytes} bytes");
        by_subject(record, &label, &GROWING, &worst[at])
    };
    let percentiles = |row, bytes, what: &str| {
        let metrics = [
            ("p50", P50),
            ("p99", P99),
            ("p99.9", P999),
            ("p99.99", P9999),
        ];
        let columns = metrics.map(|(name, metric)| (name, of(row, bytes), metric));
        let label = format!("ns, {what}, {bytes} bytes");
        by_subject(record, &label, &GROWING, &columns)
    };
    [
        longest(0, 8),
        longest(1, 64),
        percentiles(growth::RUNNING, 8, "running program"),
        percentiles(growth::RUNNING, 64, "running program"),
        percentiles(growth::PACED, 8, "a million a second"),
        percentiles(growth::PACED, 64, "a million a second"),
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
    by_subject(record, "ns, 64 bytes written", &subjects, &columns)
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
    by_subject(record, "ns", &subjects, &columns)
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
        let (bound, is_missed) = verdict::bound(record, case, ours, self.theirs)
            .unwrap_or_else(|| (NOTHING.to_owned(), false));
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
            marked(ratio, is_missed),
            bound,
        ])
    }
}

fn duels(record: &Record, bench: &str, duels: &[Duel]) -> String {
    let rows = duels.iter().filter_map(|it| it.line(record, bench));
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["", "ours", "compared with", "ratio", "at most"];
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

/// The small table of the README: core cycles.
pub(crate) fn readme(source: &Source) -> Option<Section> {
    let record = &source.record;
    record.bench("cycles")?;
    let columns = [
        ("slab", "`slab`"),
        ("KeySlab", "`KeySlab`"),
        ("slotmap", "`slotmap`"),
        ("KeySlab, GenKey", "`KeySlab`, `GenKey`"),
        ("BoundedSlab, Slot", "`BoundedSlab`, `Slot`"),
        ("BoundedSlab, Key", "`Key`"),
        ("Slab, Slot", "`Slab`, `Slot`"),
        ("Slab, Key", "`Key`"),
        ("Pool, PoolBox", "`Pool`"),
        ("Box, malloc", "`Box`"),
    ];
    let operations = [
        ("insert, free slots in random order", "INSERT steady", 8),
        ("get, at random", "GET random", 8),
        ("remove, at random", "REMOVE random", 8),
        ("remove and insert, at random, 64 bytes", "CHURN random", 64),
    ];
    let row = |(label, operation, bytes): (&str, &'static str, usize)| {
        let cycles = |(subject, _)| record.cycles(case(operation, USUAL, bytes), subject);
        let cells = columns.iter().map(|column| figure(cycles(*column), 1));
        [label.to_owned()].into_iter().chain(cells).collect()
    };
    let mut head = vec!["core cycles, 8,192 live".to_owned()];
    head.extend(columns.map(|column| column.1.to_owned()));
    let machine = &record.machine;
    let text = format!(
        "{}\n\n{} ({}), {}; one core of a shared machine.",
        table::markdown(&head, &operations.map(row)),
        machine.cpu,
        machine.cpu_version,
        machine.compiler
    );
    Some(("figures", text))
}
