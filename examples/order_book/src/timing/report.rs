//! The table, and what it shows.

use std::io::{self, Write};

use order_flow::program::table::{grouped, write_columns};

use crate::SYSTEM;
use crate::kind::StoreKind;
use crate::timing::measure::Latency;
use crate::timing::rounds::{Figures, LOADS, Results, Round, StoreResult, median};
use crate::timing::verdict;

/// The widest line.
const COLUMNS: usize = 100;

/// What the columns, the stores and the method are.
const EXPLANATION: &str = include_str!("explain.txt");

/// Writes the explanation, with a line for each store.
pub(crate) fn explain(out: &mut dyn Write) -> io::Result<()> {
    use clap::ValueEnum;
    let stores = StoreKind::value_variants().iter().map(|store| {
        let value = store.to_possible_value();
        let help = value.and_then(|value| value.get_help().map(ToString::to_string));
        let row = [
            store.name().to_owned(),
            store.argument(),
            help.unwrap_or_default(),
        ];
        row.to_vec()
    });
    let mut rows = Vec::new();
    for row in stores {
        rows.push(format!("{} (--store {})", row[0], row[1]));
        rows.push(format!("    {}.", row[2]));
    }
    write!(
        out,
        "{}",
        EXPLANATION.replace("STORES\n", &(rows.join("\n") + "\n"))
    )
}

/// Text and tables.
pub(crate) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let source = match results.source {
        "lobster" => "the recorded hour".to_owned(),
        _ => format!("seed {}", results.seed),
    };
    let allocator = match results.allocator {
        SYSTEM => String::new(),
        other => format!(" Its allocator is {other}."),
    };
    let started = match results.running {
        true => {
            "Each process first allocated, wrote and freed almost 32 MiB, like a program that \
             has been running."
        }
        false => "Each process had just been started: it had freed no large block before.",
    };
    let [commands, counted] = results.commands.map(|commands| grouped(commands as u64));
    paragraph(
        out,
        &format!(
            "A matching engine grows from empty to {} live orders. Only the store of the orders \
             differs.\n\
             {commands} commands, {} symbols, {} sessions, {} % latecomers, {} trades; {source}.\n\
             {started}{allocator}\n\
             `--explain` says what the columns, the stores and the method are.\n",
            grouped(results.peak_live_orders as u64),
            grouped(results.symbols as u64),
            grouped(u64::from(results.sessions)),
            results.late_per_cent,
            grouped(results.trades),
        ),
    )?;
    write_columns(out, &table(&results.stores, |it| it.figures))?;
    writeln!(out)?;
    if results.stores.iter().any(|it| !it.reserved.is_empty()) {
        writeln!(
            out,
            "Memory reserved and touched, {counted} commands to full books"
        )?;
        write_columns(out, &table(&results.stores, |it| Figures::of(&it.reserved)))?;
        writeln!(out)?;
        write_open_loops(&results.stores, out)?;
        write_other_late(results, out)?;
    }
    paragraph(
        out,
        &format!(
            "All {} stores made the same trades and refusals and end in the same books ({}).",
            results.stores.len(),
            results.digest
        ),
    )?;
    for sentence in &results.says {
        paragraph(out, sentence)?;
    }
    paragraph(out, &verdict::machine(&results.stores))
}

/// Writes text in lines of [`COLUMNS`] at most.
fn paragraph(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", textwrap::fill(text, COLUMNS))
}

fn table(stores: &[StoreResult], figures: fn(&StoreResult) -> Figures) -> Vec<Vec<String>> {
    let head = [
        "store",
        "commands/s",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "rounds",
        "per order",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for store in stores {
        let figures = figures(store);
        let mut row = vec![store.name.to_owned(), millions(figures.commands_per_second)];
        let latencies = [
            figures.p50_ns,
            figures.p99_ns,
            figures.p99_9_ns,
            figures.longest_ns,
        ];
        row.extend(latencies.map(duration));
        row.push(format!("{}/{}", figures.undisturbed_rounds, figures.rounds));
        row.push(format!("{} B", store.bytes_per_order));
        rows.push(row);
    }
    rows
}

/// Latencies at a fixed rate: medians of the rounds, and the longest command of all.
fn write_open_loops(stores: &[StoreResult], out: &mut dyn Write) -> io::Result<()> {
    type Of = fn(&Round) -> Option<&Latency>;
    let loads: [Of; 2] = [|it| it.open_50.as_ref(), |it| it.open_80.as_ref()];
    type Rounds = fn(&StoreResult) -> &[Round];
    let starts: [(&str, Rounds); 2] = [
        ("From empty", |it| &it.from_empty),
        ("Reserved", |it| &it.reserved),
    ];
    for (start, rounds) in starts {
        let percents = LOADS.map(|load| format!("{:.0} %", load * 100.0));
        writeln!(
            out,
            "{start}, commands at {} and {} of what the slowest store carries out",
            percents[0], percents[1]
        )?;
        let mut head = vec!["store".to_owned()];
        for percent in &percents {
            head.push(format!("{percent}: p50"));
            head.extend(["p99", "longest"].map(str::to_owned));
        }
        let mut rows = vec![head];
        for store in stores {
            let mut row = vec![store.name.to_owned()];
            for load in loads {
                let latencies = || rounds(store).iter().filter_map(load);
                row.push(duration(median(latencies().map(|it| it.p50_ns).collect())));
                row.push(duration(median(latencies().map(|it| it.p99_ns).collect())));
                row.push(duration(
                    latencies().map(|it| it.longest_ns).max().unwrap_or(0),
                ));
            }
            rows.push(row);
        }
        write_columns(out, &rows)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Commands a second with other shares of latecomers.
fn write_other_late(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Commands a second, reserved, by the share of latecomers"
    )?;
    let others = results.stores.first().map_or(&[][..], |it| &it.other_late);
    let mut rows = vec![vec!["store".to_owned()]];
    rows[0].extend(others.iter().map(|other| format!("{} %", other.per_cent)));
    rows[0].push(format!("{} %", results.late_per_cent));
    for store in &results.stores {
        let mut row = vec![store.name.to_owned()];
        let rates = store.other_late.iter().map(|it| &it.commands_per_second);
        row.extend(rates.map(|rates| millions(median(rates.clone()))));
        row.push(millions(Figures::of(&store.reserved).commands_per_second));
        rows.push(row);
    }
    write_columns(out, &rows)?;
    writeln!(out)
}

/// Millions, with two decimals.
fn millions(number: u64) -> String {
    format!("{:.2} M", number as f64 / 1e6)
}

/// In the unit that a reader would choose: at most three digits that count.
pub(crate) fn duration(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        1e9.. => (ns / 1e9, "s"),
        1e6.. => (ns / 1e6, "ms"),
        1e3.. => (ns / 1e3, "µs"),
        _ => return format!("{ns} ns"),
    };
    let decimals = match value {
        100.0.. => 0,
        10.0.. if unit == "µs" => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Refusal;
    use crate::timing::interruptions::Interruptions;
    use crate::timing::rounds::Attempt;

    /// Figures that make every sentence as long as it can be.
    fn results() -> Results {
        let stores = StoreKind::DEFAULT.into_iter().enumerate();
        let stores = stores.map(|(at, store)| {
            let rate = [
                9_000_000, 12_300_000, 30_000_000, 10_000_000, 10_100_000, 9_000_000, 700,
            ][at];
            let longest_ns = [
                40_000,
                40_000,
                40_000,
                99_900_000,
                39_000,
                700,
                10_050_000_000,
            ][at];
            let closed = Latency {
                p50_ns: 1_230,
                p99_ns: 12_300_000,
                p99_9_ns: 12_300_000,
                longest_ns,
                ..Latency::default()
            };
            let interruptions = Interruptions {
                off_core_ns: Some(123_456_789),
                stolen_ms: Some(10),
                ..Interruptions::default()
            };
            let round = |number: usize| Round {
                commands_per_second: rate,
                closed: closed.clone(),
                interruptions,
                disturbed: at == 1 || number == 0,
                first_attempt: Some(Attempt {
                    closed: closed.clone(),
                    interruptions,
                }),
                ..Round::default()
            };
            let from_empty: Vec<_> = (0..3).map(round).collect();
            StoreResult {
                store,
                name: store.name(),
                bytes_per_order: store.order_bytes(),
                figures: Figures::of(&from_empty),
                from_empty,
                reserved: Vec::new(),
                other_late: Vec::new(),
            }
        });
        let stores: Vec<_> = stores.collect();
        Results {
            source: "generated",
            symbols: 65_535,
            sessions: 10_000_000,
            late_per_cent: 50,
            seed: u64::MAX,
            rounds: 3,
            allocator: SYSTEM,
            running: true,
            peak_live_orders: 100_000_000,
            commands: [100_000_000; 2],
            trades: 100_000_000,
            refused: [0; Refusal::COUNT],
            digest: format!("{:016x}", u64::MAX),
            says: verdict::sentences(&stores),
            stores,
        }
    }

    #[test]
    fn the_longest_page_has_30_lines_of_100_columns_at_most() {
        let results = results();
        let mut out = Vec::new();
        write(&results, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        let count = page.lines().count();
        assert!((25..=30).contains(&count), "{count}\n{page}");
        assert!(
            page.lines().all(|line| line.chars().count() <= COLUMNS),
            "{page}"
        );
        for text in [
            "takes only",
            "is level",
            "ahead",
            "behind",
            "again when",
            "may be",
        ] {
            assert!(page.replace('\n', " ").contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn durations_have_the_unit_that_a_reader_would_choose() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_753, "1.75 µs"),
            (73_900, "74 µs"),
            (230_400, "230 µs"),
            (1_050_000, "1.05 ms"),
            (15_040_000, "15.0 ms"),
            (234_000_000, "234 ms"),
            (1_500_000_000, "1.50 s"),
            (60_000_000_000, "60.0 s"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }
}
