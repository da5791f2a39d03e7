//! The table, and what it shows.

use std::io::{self, Write};

use clap::ValueEnum;
use order_flow::program::table::{grouped, write_columns};

use crate::SYSTEM;
use crate::rounds::{Figures, Results, StoreResult};
use crate::stores::StoreKind;
use crate::verdict;

/// The widest line.
const COLUMNS: usize = 100;

/// What the columns, the stores and the method are.
const EXPLANATION: &str = include_str!("explain.txt");

/// Writes the explanation, with two lines for each store.
pub(crate) fn explain(out: &mut dyn Write) -> io::Result<()> {
    let mut lines = String::new();
    for store in StoreKind::value_variants() {
        let value = store.to_possible_value();
        let help = value.and_then(|value| value.get_help().map(ToString::to_string));
        lines += &format!("{} (--store {})\n", store.name(), store.argument());
        lines += &format!("    {}.\n", help.unwrap_or_default());
    }
    write!(out, "{}", EXPLANATION.replace("STORES\n", &lines))
}

/// Writes what was measured.
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
    let commands = grouped(results.commands[0] as u64);
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
        let commands = grouped(results.commands[1] as u64);
        writeln!(
            out,
            "Memory reserved and touched, {commands} commands to full books"
        )?;
        write_columns(out, &table(&results.stores, |it| Figures::of(&it.reserved)))?;
        writeln!(out)?;
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

/// A row for each store.
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

/// Millions, with two decimals.
fn millions(number: u64) -> String {
    format!("{:.2} M", number as f64 / 1e6)
}

/// A time in the unit that a reader would choose: at most three digits that count.
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
    use crate::interruptions::Interruptions;
    use crate::measure::Latency;
    use crate::rounds::Round;

    /// A store whose figures make every sentence as long as it can be.
    fn store(at: usize, store: StoreKind) -> StoreResult {
        let rates = [
            9_000_000, 12_300_000, 30_000_000, 10_000_000, 10_100_000, 9_000_000, 700,
        ];
        let longest = [
            40_000,
            40_000,
            40_000,
            99_900_000,
            39_000,
            700,
            10_050_000_000,
        ];
        let round = |number: usize| Round {
            commands_per_second: rates[at],
            closed: Latency {
                p50_ns: 1_230,
                p99_ns: 12_300_000,
                p99_9_ns: 12_300_000,
                longest_ns: longest[at],
                ..Latency::default()
            },
            interruptions: Interruptions {
                off_core_ns: Some(123_456_789),
                stolen_ms: Some(10),
                ..Interruptions::default()
            },
            disturbed: at == 1 || number == 0,
            repeated: true,
            ..Round::default()
        };
        StoreResult::new(store, 100, (0..3).map(round).collect())
    }

    fn results() -> Results {
        let stores = StoreKind::DEFAULT.into_iter().enumerate();
        let stores: Vec<_> = stores.map(|(at, kind)| store(at, kind)).collect();
        Results {
            source: "generated",
            symbols: 65_535,
            sessions: 10_000_000,
            late_per_cent: 50,
            seed: u64::MAX,
            allocator: SYSTEM,
            running: true,
            peak_live_orders: 100_000_000,
            commands: [100_000_000; 2],
            trades: 100_000_000,
            digest: format!("{:016x}", u64::MAX),
            says: verdict::sentences(&stores),
            stores,
            ..Results::default()
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
