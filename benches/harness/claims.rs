//! What the five systems that this crate set out to beat say of themselves, and what is measured
//! here: each next to what it was compared with, in one run.
//!
//! Their figures are of their machines. What can be compared is a ratio: theirs to what stands
//! next to it there, ours to the same here.

use crate::record::Metric::{self, Drift, P50, P99, P999, Recycled, Ticks, Worst};
use crate::record::{Case, Record};
use crate::table::{self, NOTHING, figure, line};
use crate::{arena, bytes, epoch, growth};

/// A system and its claims.
struct System {
    /// What it is.
    name: &'static str,
    /// The bench that measures it here; a second one for some rows.
    benches: &'static [&'static str],
    claims: &'static [Claim],
}

/// What is claimed, and what was measured instead.
struct Claim(&'static str, &'static str, fn(&Figures<'_>) -> String);

const SYSTEMS: [System; 5] = [
    System {
        name: "A slab with owning slots, `nexus-slab` 0.8: core cycles of one operation",
        benches: &["cycles", growth::BENCH],
        claims: &[
            Claim("GET", "2 by slot, 2 by key; `slab` 3", |it| {
                it.operation("GET random")
            }),
            Claim("GET_MUT", "2 by slot, 2 by key; `slab` 3", |it| {
                it.operation("GET_MUT random")
            }),
            Claim("INSERT", "7; `slab` 5", |it| it.operation("INSERT steady")),
            Claim("REMOVE", "8 by slot, 3 by key; `slab` 4", |it| {
                it.operation("REMOVE random")
            }),
            Claim("REPLACE", "3; `slab` 4", |it| it.operation("REPLACE")),
            Claim(
                "growing, p99.9",
                "64 cycles; `slab` 2,700: 43 times",
                |it| it.growing(P999),
            ),
            Claim(
                "growing, longest",
                "230,000 cycles; `slab` 2,700,000: 12 times",
                |it| it.growing(Worst),
            ),
        ],
    },
    System {
        name: "A C allocator for orders of 64 bytes: times as fast as malloc",
        benches: &["malloc"],
        claims: &[
            // Its malloc takes ten times longer for an allocation than where memory was touched
            // before.
            Claim("allocation", "8.72", |it| {
                it.orders([
                    ("first", "first allocation"),
                    ("later", "linear allocation"),
                ])
            }),
            Claim("free", "1.56", |it| {
                it.orders([("LIFO", "linear free, LIFO"), ("FIFO", "linear free, FIFO")])
            }),
            Claim("allocation and free of the same cell", "4.69", |it| {
                it.orders([
                    ("LIFO", "hot churn, LIFO (pair)"),
                    ("FIFO", "hot churn, FIFO (pair)"),
                ])
            }),
        ],
    },
    System {
        name: "`stumpalo`: arenas, the fastest library of a row is 1.00",
        benches: &["arena"],
        claims: &[
            Claim(
                "the fastest, or within the noise of it",
                "most of 97 rows",
                |it| it.arenas(|it| format!("{} of {} rows", it.fastest, it.rows)),
            ),
            Claim("close to the fastest", "1.02 to 1.11 in the others", |it| {
                it.arenas(|it| {
                    let close = it.within(arena::MOST);
                    let (rows, worst, most) = (it.rows, &it.worst, arena::MOST);
                    format!("{close} of {rows} rows within {most:.2}; {worst}")
                })
            }),
        ],
    },
    System {
        name: "`go-slab`: 1,000 writes through a ring of 10, then its reads",
        benches: &[bytes::BENCH],
        claims: &[
            Claim("time", "49–64 µs; without the arena 51–71", |it| {
                it.rings(|subject| it.thousand_writes(subject))
            }),
            Claim("allocations", "46; without the arena 1,006", |it| {
                it.rings(|subject| it.calls(subject).unwrap_or(NOTHING.to_owned()))
            }),
        ],
    },
    System {
        name: "`temporal-slab`: lifetimes apart",
        benches: &[epoch::BENCH],
        claims: &[
            Claim(
                "chunks recycled, lifetimes apart against mixed",
                "66.5 % against 0.28 %",
                |it| {
                    let of = |subject| it.epochs(epoch::BUSY[1], subject, Recycled);
                    let (apart, mixed) = (of(epoch::APART), of(epoch::MIXED));
                    format!("{} % against {} %", figure(apart, 1), figure(mixed, 1))
                },
            ),
            Claim("drift of memory over 2,000 cycles", "0 %", |it| {
                let drift = it.epochs(epoch::SUSTAINED, epoch::RELEASED, Drift);
                format!("{} %", figure(drift, 0))
            }),
            Claim(
                "cold allocation, times as fast as malloc",
                "p99 11, p99.9 12",
                |it| {
                    let times = |metric| {
                        let times =
                            it.times(epoch::FILLS[0], metric, epoch::RESERVED, epoch::MALLOC);
                        figure(times, 0)
                    };
                    format!("p99 {}, p99.9 {}", times(P99), times(P999))
                },
            ),
            Claim(
                "requests, beside mimalloc, p50",
                "2.8 times as long",
                |it| {
                    let times = it.times(epoch::REQUESTS, P50, epoch::MIMALLOC, epoch::BYTES);
                    format!("{} times as long", figure(times, 2))
                },
            ),
        ],
    },
];

/// The claims of each system that the records have figures for: its name, and a table.
#[must_use]
pub fn tables(records: &[&Record]) -> Vec<(&'static str, String)> {
    let figures = Figures(records);
    let is_there = |it: &&System| it.benches.iter().any(|bench| figures.of(bench).is_some());
    let table = |system: &System| {
        let head = line("", ["claimed there", "measured here"]);
        let lines = system
            .claims
            .iter()
            .filter_map(|Claim(what, claimed, measured)| {
                let measured = measured(&figures);
                let is_measured = measured.contains(|it: char| it.is_ascii_digit());
                is_measured.then(|| line(*what, [(*claimed).to_owned(), measured]))
            });
        Some((system.name, table::markdown(head, lines)?))
    };
    SYSTEMS.iter().filter(is_there).filter_map(table).collect()
}

/// Looks for figures in the record that has the bench.
struct Figures<'r>(&'r [&'r Record]);

/// Nanoseconds in the unit that a reader would choose.
fn time(ns: Option<f64>) -> String {
    ns.map_or(NOTHING.to_owned(), table::time)
}

impl<'r> Figures<'r> {
    fn of(&self, bench: &str) -> Option<&'r Record> {
        self.0.iter().find(|it| it.bench(bench).is_some()).copied()
    }

    /// Core cycles of an operation on slabs.
    fn operation(&self, row: &str) -> String {
        let of = |subject| {
            let record = self.of("cycles");
            let cycles = record.and_then(|it| it.cycles(Case::of("cycles", row, 8, 8192), subject));
            figure(cycles, 1)
        };
        format!(
            "{} by slot, {} by key; `slab` {}; `nexus-slab` {}",
            of("BoundedSlab, Slot"),
            of("BoundedSlab, Key"),
            of("slab"),
            of("nexus-slab bounded")
        )
    }

    fn growing(&self, metric: Metric) -> String {
        let case = Case::of(growth::BENCH, growth::RUNNING, 64, 2_000_000);
        let of = |subject| self.of(growth::BENCH)?.ns(case, subject, metric);
        let (ours, slab) = (of("Slab, Slot"), of("slab"));
        let times = figure(slab.zip(ours).map(|(slab, ours)| slab / ours), 0);
        format!(
            "{} in `Slab`; `slab` {}: {times} times",
            time(ours),
            time(slab)
        )
    }

    /// How many times as fast as malloc, of some rows with a name each.
    fn orders(&self, rows: [(&str, &str); 2]) -> String {
        let speed = |row, subject| {
            let case = Case::of("malloc", row, 64, 1_000_000);
            let record = self.of("malloc");
            figure(
                record.and_then(|it| it.ticks_ratio(case, "Box, malloc", subject)),
                2,
            )
        };
        let measured = rows.map(|(name, row)| {
            let (pool, slab) = (speed(row, "Pool, PoolBox"), speed(row, "BoundedSlab, Slot"));
            format!("{name} {pool} in a pool, {slab} in a `BoundedSlab`")
        });
        measured.join("; ")
    }

    fn arenas(&self, say: fn(&arena::Counts) -> String) -> String {
        let counts = self.of("arena").and_then(arena::counts);
        counts.as_ref().map_or(NOTHING.to_owned(), say)
    }

    fn rings(&self, of: impl Fn(&str) -> String) -> String {
        format!(
            "{}; `VecDeque<Vec<u8>>` {}",
            of(bytes::RING),
            of(bytes::DEQUE)
        )
    }

    /// A figure is of one write.
    fn thousand_writes(&self, subject: &str) -> String {
        let case = Case::of(bytes::BENCH, bytes::RING_OF_10, 40, 1024);
        let record = self.of(bytes::BENCH);
        time(record.and_then(|it| Some(it.ns(case, subject, Ticks)? * 1e3)))
    }

    /// Calls of the allocator, from the notes of the bench.
    fn calls(&self, subject: &str) -> Option<String> {
        let notes = &self.of(bytes::BENCH)?.bench(bytes::BENCH)?.notes;
        let name = format!("`{subject}`:");
        let (_, numbers) = notes
            .iter()
            .find(|it| it.contains(&name))?
            .rsplit_once(';')?;
        let numbers = numbers.split(|it: char| !it.is_ascii_digit());
        let numbers = numbers.filter_map(|it| it.parse::<u32>().ok());
        // The bytes come first, then the calls when it was made, and afterwards.
        Some(numbers.skip(1).sum::<u32>().to_string())
    }

    /// Rows have numbers of live values of their own.
    fn epochs(&self, row: &str, subject: &str, metric: Metric) -> Option<f64> {
        let record = self.of(epoch::BENCH)?;
        record.value(
            *record.cases_of(epoch::BENCH, &[row]).first()?,
            subject,
            metric,
        )
    }

    fn times(&self, row: &str, metric: Metric, ours: &str, theirs: &str) -> Option<f64> {
        Some(self.epochs(row, theirs, metric)? / self.epochs(row, ours, metric)?)
    }
}
