//! What the five systems that this crate set out to beat say of themselves, and what is measured
//! here: each next to what it was compared with, in one run.
//!
//! Their figures are of their machines. What can be compared is a ratio: theirs to what stands
//! next to it there, ours to the same here.

use crate::record::{Case, Metric, Record};
use crate::table::{self, NOTHING};
use crate::{arena, bytes, epoch, growth};

/// A system and its claims.
struct System {
    /// What it is.
    name: &'static str,
    /// The bench that measures it here; a second one for some rows.
    benches: &'static [&'static str],
    rows: fn(&Figures<'_>) -> Vec<[String; 3]>,
}

const SYSTEMS: [System; 5] = [
    System {
        name: "A slab with owning slots, `nexus-slab` 0.8: core cycles of one operation",
        benches: &["cycles", growth::BENCH],
        rows: owning_slots,
    },
    System {
        name: "A C allocator for orders of 64 bytes: times as fast as malloc",
        benches: &["malloc"],
        rows: orders_in_c,
    },
    System {
        name: "`stumpalo`: arenas, the fastest library of a row is 1.00",
        benches: &["arena"],
        rows: arenas,
    },
    System {
        name: "`go-slab`: 1,000 writes through a ring of 10, then its reads",
        benches: &[bytes::BENCH],
        rows: ring_of_ten,
    },
    System {
        name: "`temporal-slab`: lifetimes apart",
        benches: &[epoch::BENCH],
        rows: lifetimes,
    },
];

/// Looks for figures in the record that has the bench.
struct Figures<'r>(Vec<&'r Record>);

impl<'r> Figures<'r> {
    fn of(&self, bench: &str) -> Option<&'r Record> {
        self.0.iter().find(|it| it.bench(bench).is_some()).copied()
    }

    /// The value of a metric in nanoseconds.
    fn ns(&self, case: Case<'_>, subject: &str, metric: Metric) -> Option<f64> {
        let record = self.of(case.bench)?;
        Some(record.value(case, subject, metric)? / record.bench(case.bench)?.ticks_per_ns)
    }

    fn fact(&self, case: Case<'_>, subject: &str, metric: Metric) -> Option<f64> {
        self.of(case.bench)?.value(case, subject, metric)
    }

    fn cycles(&self, row: &'static str, subject: &str) -> String {
        let case = case("cycles", row, 8, 8192);
        let cycles = self.of("cycles").and_then(|it| it.cycles(case, subject));
        shown(cycles, 1)
    }
}

fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |it| format!("{it:.decimals$}"))
}

/// Nanoseconds in the unit that a reader would choose.
fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NOTHING.to_owned(), table::time)
}

fn case(bench: &'static str, row: &'static str, bytes: usize, live: usize) -> Case<'static> {
    Case {
        bench,
        row,
        bytes,
        live,
    }
}

fn row(what: &str, claimed: &str, measured: String) -> [String; 3] {
    [what.to_owned(), claimed.to_owned(), measured]
}

/// The claims of each system that the records have figures for: its name, and a table.
#[must_use]
pub fn tables(records: &[&Record]) -> Vec<(&'static str, String)> {
    let figures = Figures(records.to_vec());
    let mut tables = Vec::new();
    for system in &SYSTEMS {
        let is_there = |bench: &&&str| figures.of(bench).is_some();
        if !system.benches.iter().any(|bench| is_there(&bench)) {
            continue;
        }
        let mut rows = (system.rows)(&figures);
        rows.retain(|row| row[2].contains(|it: char| it.is_ascii_digit()));
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        let head = ["", "claimed there", "measured here"].map(str::to_owned);
        tables.push((system.name, table::markdown(&head, &rows)));
    }
    tables
}

fn owning_slots(figures: &Figures<'_>) -> Vec<[String; 3]> {
    let operation = |what: &str, claimed: &str, row_name| {
        let of = |subject| figures.cycles(row_name, subject);
        let measured = format!(
            "{} by slot, {} by key; `slab` {}; `nexus-slab` {}",
            of("BoundedSlab, Slot"),
            of("BoundedSlab, Key"),
            of("slab"),
            of("nexus-slab bounded")
        );
        row(what, claimed, measured)
    };
    let growing = |what: &str, claimed: &str, metric| {
        let case = case(growth::BENCH, growth::RUNNING, 64, 2_000_000);
        let of = |subject| figures.ns(case, subject, metric);
        let times = of("slab")
            .zip(of("Slab, Slot"))
            .map(|(slab, ours)| slab / ours);
        let measured = format!(
            "{} in `Slab`; `slab` {}: {} times",
            time(of("Slab, Slot")),
            time(of("slab")),
            shown(times, 0)
        );
        row(what, claimed, measured)
    };
    vec![
        operation("GET", "2 by slot, 2 by key; `slab` 3", "GET random"),
        operation("GET_MUT", "2 by slot, 2 by key; `slab` 3", "GET_MUT random"),
        operation("INSERT", "7; `slab` 5", "INSERT steady"),
        operation("REMOVE", "8 by slot, 3 by key; `slab` 4", "REMOVE random"),
        operation("REPLACE", "3; `slab` 4", "REPLACE"),
        growing(
            "growing, p99.9",
            "64 cycles; `slab` 2,700: 43 times",
            Metric::P999,
        ),
        growing(
            "growing, longest",
            "230,000 cycles; `slab` 2,700,000: 12 times",
            Metric::Worst,
        ),
    ]
}

fn orders_in_c(figures: &Figures<'_>) -> Vec<[String; 3]> {
    let speed = |row_name, subject| {
        let case = case("malloc", row_name, 64, 1_000_000);
        let record = figures.of("malloc")?;
        record.ticks_ratio(case, "Box, malloc", subject)
    };
    let claim = |what: &str, claimed: &str, rows: &[(&str, &'static str)]| {
        let measured: Vec<String> = rows
            .iter()
            .map(|(name, row_name)| {
                format!(
                    "{name} {} in a pool, {} in a `BoundedSlab`",
                    shown(speed(row_name, "Pool, PoolBox"), 2),
                    shown(speed(row_name, "BoundedSlab, Slot"), 2)
                )
            })
            .collect();
        row(what, claimed, measured.join("; "))
    };
    vec![
        // Its malloc takes ten times longer for an allocation than where memory was touched before.
        claim(
            "allocation",
            "8.72",
            &[
                ("first", "first allocation"),
                ("later", "linear allocation"),
            ],
        ),
        claim(
            "free",
            "1.56",
            &[("LIFO", "linear free, LIFO"), ("FIFO", "linear free, FIFO")],
        ),
        claim(
            "allocation and free of the same cell",
            "4.69",
            &[
                ("LIFO", "hot churn, LIFO (pair)"),
                ("FIFO", "hot churn, FIFO (pair)"),
            ],
        ),
    ]
}

fn arenas(figures: &Figures<'_>) -> Vec<[String; 3]> {
    let counts = figures.of("arena").and_then(arena::counts);
    let Some(it) = counts else {
        return Vec::new();
    };
    let (fastest, close, worst) = (it.fastest, it.within(arena::MOST), it.worst);
    vec![
        row(
            "the fastest, or within the noise of it",
            "most of 97 rows",
            format!("{fastest} of {} rows", it.rows),
        ),
        row(
            "close to the fastest",
            "1.02 to 1.11 in the others",
            format!(
                "{close} of {} rows within {:.2}; {worst}",
                it.rows,
                arena::MOST
            ),
        ),
    ]
}

fn ring_of_ten(figures: &Figures<'_>) -> Vec<[String; 3]> {
    let case = case(bytes::BENCH, bytes::RING_OF_10, 40, 1024);
    // A figure is of one write.
    let thousand = |subject| time(figures.ns(case, subject, Metric::Ticks).map(|ns| ns * 1e3));
    let notes = figures
        .of(bytes::BENCH)
        .and_then(|it| it.bench(bytes::BENCH));
    let calls = |subject: &str| {
        let named = |note: &&String| note.contains(&format!("`{subject}`:"));
        let note = notes.and_then(|bench| bench.notes.iter().find(named))?;
        let numbers = note
            .rsplit_once(';')?
            .1
            .split(|it: char| !it.is_ascii_digit());
        let calls: Vec<u32> = numbers.filter_map(|it| it.parse().ok()).collect();
        // The bytes come first, then the calls when it was made, and afterwards.
        Some(calls.iter().skip(1).sum::<u32>())
    };
    let called = |subject| calls(subject).map_or(NOTHING.to_owned(), |it| it.to_string());
    vec![
        row(
            "time",
            "49–64 µs; without the arena 51–71",
            format!(
                "{}; `VecDeque<Vec<u8>>` {}",
                thousand(bytes::RING),
                thousand(bytes::DEQUE)
            ),
        ),
        row(
            "allocations",
            "46; without the arena 1,006",
            format!(
                "{}; `VecDeque<Vec<u8>>` {}",
                called(bytes::RING),
                called(bytes::DEQUE)
            ),
        ),
    ]
}

fn lifetimes(figures: &Figures<'_>) -> Vec<[String; 3]> {
    let drain = |row_name| case(epoch::BENCH, row_name, 256, 100_032);
    let cases = figures.of(epoch::BENCH).map(|it| it.cases(epoch::BENCH));
    let cases = cases.unwrap_or_default();
    // Rows have numbers of live values of their own.
    let found = |row_name: &'static str| {
        let of_it = |case: &&Case<'_>| case.row == row_name;
        cases.iter().find(of_it).copied().unwrap_or(drain(row_name))
    };
    let fact = |row_name, subject, metric| figures.fact(found(row_name), subject, metric);
    let times = |row_name, metric, ours, theirs| {
        let of = |subject| figures.ns(found(row_name), subject, metric);
        of(theirs).zip(of(ours)).map(|(theirs, ours)| theirs / ours)
    };
    vec![
        row(
            "chunks recycled, lifetimes apart against mixed",
            "66.5 % against 0.28 %",
            format!(
                "{} % against {} %",
                shown(fact(epoch::BUSY[1], epoch::APART, Metric::Recycled), 1),
                shown(fact(epoch::BUSY[1], epoch::MIXED, Metric::Recycled), 1)
            ),
        ),
        row(
            "drift of memory over 2,000 cycles",
            "0 %",
            format!(
                "{} %",
                shown(fact(epoch::SUSTAINED, epoch::RELEASED, Metric::Drift), 0)
            ),
        ),
        row(
            "cold allocation, times as fast as malloc",
            "p99 11, p99.9 12",
            format!(
                "p99 {}, p99.9 {}",
                shown(
                    times(epoch::FILLS[0], Metric::P99, epoch::RESERVED, epoch::MALLOC),
                    0
                ),
                shown(
                    times(
                        epoch::FILLS[0],
                        Metric::P999,
                        epoch::RESERVED,
                        epoch::MALLOC
                    ),
                    0
                )
            ),
        ),
        row(
            "requests, beside mimalloc, p50",
            "2.8 times as long",
            format!(
                "{} times as long",
                shown(
                    times(epoch::REQUESTS, Metric::P50, epoch::MIMALLOC, epoch::BYTES),
                    2
                )
            ),
        ),
    ]
}
