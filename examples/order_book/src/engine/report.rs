//! The tables, and what they show and do not show.

use std::io::{self, Write};

use order_flow::program::table::{grouped, write_columns};

use crate::engine::process::LOADS;
use crate::engine::rounds::{Figures, Results, StoreResult};
use crate::engine::verdict::{PERCENTILES, RATE, lowest, median};

/// How it was measured, an answer to each doubt.
const MEASURED: &[&str] = &[
    "Each store and round runs in a process of its own, and the stores take turns. Commands a \
     second are of a pass without timers; latencies include the clock.",
    "Figures are medians of the rounds; the longest command and the number above 100 µs are the \
     lowest of the rounds.",
    "Ids stand in the commands as on the wire, recorded in a pass before: no table of the \
     client's is looked up while a clock runs.",
    "All stores get the same kind of pages, those of the machine's default, and find malloc as a \
     program does that has just been started.",
    "From empty, `keys` grows in a range of addresses, and `bounded`, `pool` and `floor` begin with \
     room for all. Reserved, no store grows, so the longest commands are the machine's.",
];

/// What no table here shows.
const NOT_SHOWN: &[&str] = &[
    "Venues whose clients cancel by their own ids need a table for each session all the same.",
    "Such ids can be guessed, and do not rise: the engine checks whose order it is.",
    "There are no risk checks and no journal, which take their share of a command in any engine.",
];

/// Text and tables.
pub(crate) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let source = match results.source {
        "lobster" => "the recorded hour".to_owned(),
        _ => format!("generated commands, seed {}", results.seed),
    };
    writeln!(
        out,
        "A matching engine whose keys are the order numbers: {source}, {} symbols, {} sessions, \
         {} % latecomers, {} rounds.",
        grouped(results.symbols as u64),
        grouped(u64::from(results.sessions)),
        results.late_per_cent,
        results.rounds,
    )?;
    let [no_order, not_yours, ..] = results.refused;
    writeln!(
        out,
        "{} orders live at most, {} trades; {} commands refused as of no order, {} as of another \
         session's.\n",
        grouped(results.peak_live_orders as u64),
        grouped(results.trades),
        grouped(no_order),
        grouped(not_yours),
    )?;
    let [from_empty, reserved] = results.commands.map(|commands| grouped(commands as u64));
    type Rounds = fn(&StoreResult) -> &[Figures];
    let starts: [(String, Rounds); 2] = [
        (
            format!("From empty, {from_empty} commands: growth is part of it"),
            |it| &it.from_empty,
        ),
        (
            format!("Reserved and touched, {reserved} commands to full books"),
            |it| &it.reserved,
        ),
    ];
    for (title, rounds) in starts {
        writeln!(out, "{title}")?;
        write_columns(out, &table(&results.stores, rounds))?;
        writeln!(out)?;
    }
    write_other_late(results, out)?;
    for line in MEASURED {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nWhat this does not show:")?;
    for line in NOT_SHOWN {
        writeln!(out, "  {line}")?;
    }
    writeln!(
        out,
        "\nAll {} stores made the same trades and refusals and end in the same books ({}).",
        results.stores.len(),
        results.digest
    )?;
    for sentence in &results.says {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

fn table(stores: &[StoreResult], rounds: fn(&StoreResult) -> &[Figures]) -> Vec<Vec<String>> {
    let mut head = vec!["store".to_owned(), "commands/s".to_owned()];
    head.extend(PERCENTILES.map(|(name, _)| format!("{name} ns")));
    head.extend(["longest µs", ">100 µs"].map(str::to_owned));
    for load in LOADS {
        let load = load * 100.0;
        head.extend([format!("{load} %: p99 ns"), "longest µs".to_owned()]);
    }
    head.push("bytes an order".to_owned());
    let micros = |ns: u64| grouped(ns.div_ceil(1_000));
    let mut rows = vec![head];
    for store in stores {
        let rounds = rounds(store);
        let mut row = vec![store.name.to_owned(), grouped(median(rounds, RATE))];
        row.extend(PERCENTILES.map(|(_, figure)| grouped(median(rounds, figure))));
        row.push(micros(lowest(rounds, |it| it.closed.max_ns)));
        row.push(grouped(lowest(rounds, |it| it.closed.long)));
        row.push(grouped(median(rounds, |it| it.open_50.p99_ns)));
        row.push(micros(lowest(rounds, |it| it.open_50.max_ns)));
        row.push(grouped(median(rounds, |it| it.open_80.p99_ns)));
        row.push(micros(lowest(rounds, |it| it.open_80.max_ns)));
        row.push(store.order_bytes.to_string());
        rows.push(row);
    }
    rows
}

/// Commands a second with other shares of latecomers, if they were measured.
fn write_other_late(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let others = results.stores.first().map_or(&[][..], |it| &it.other_late);
    if others.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "Commands a second, reserved, by the share of latecomers"
    )?;
    let mut rows = vec![vec!["store".to_owned()]];
    rows[0].extend(others.iter().map(|other| format!("{} %", other.per_cent)));
    rows[0].push(format!("{} %", results.late_per_cent));
    for store in &results.stores {
        let mut row = vec![store.name.to_owned()];
        row.extend(store.other_late.iter().map(|other| {
            let mut rates: Vec<u64> = (other.commands_per_second.iter())
                .map(|rates| rates[1])
                .collect();
            rates.sort_unstable();
            grouped(rates[rates.len() / 2])
        }));
        row.push(grouped(median(&store.reserved, RATE)));
        rows.push(row);
    }
    write_columns(out, &rows)?;
    writeln!(out)
}
