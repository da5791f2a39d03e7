//! What came of an exchange, in words, and beside others in a table.

use std::io::Write;
use std::process::{Command, ExitCode};

use clap::ValueEnum;

use super::frame::BadFrame;
use super::{Arguments, Kind, Outcome};
use crate::exit::{Failure, written};
use crate::table::{grouped, write_columns};

pub(super) fn write(outcome: &Outcome, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "An exchange on four threads: {} live orders at most; {} commands to warm up, then three \
         times {}.",
        grouped(outcome.orders as u64),
        grouped(outcome.warm),
        grouped(outcome.commands),
    )?;
    writeln!(
        out,
        "{} commands a second, from the frame to the report.",
        grouped(outcome.per_second)
    )?;
    let paces = [
        ("One at a time".to_owned(), &outcome.closed),
        (
            format!("One every {} ns", grouped(outcome.interval_ns)),
            &outcome.open,
        ),
    ];
    for (pace, latency) in paces {
        writeln!(
            out,
            "{pace}: p50 {} ns, p99 {} ns, p99.9 {} ns, longest {} µs.",
            grouped(latency.p50_ns),
            grouped(latency.p99_ns),
            grouped(latency.p99_9_ns),
            grouped(latency.max_ns / 1_000),
        )?;
    }
    let bad: Vec<String> = (BadFrame::NAMES.iter().zip(outcome.bad))
        .map(|(name, count)| format!("{count} for their {name}"))
        .collect();
    writeln!(out, "Bad frames were refused: {}.", bad.join(", "))?;
    writeln!(
        out,
        "Market data: {} frames published, {} written, {} missed by their reader.",
        grouped(outcome.published),
        grouped(outcome.seen.frames),
        grouped(outcome.published - outcome.seen.frames),
    )?;
    writeln!(
        out,
        "Calls of the allocator while it ran, in all threads: {}; page faults: {}.",
        outcome.calls,
        faults(outcome)
    )?;
    writeln!(
        out,
        "The standby, from a snapshot and the log, gave every order the same id, and ends with the \
         same books and trades."
    )
}

fn faults(outcome: &Outcome) -> String {
    outcome.faults.map_or("unknown".to_owned(), grouped)
}

/// Runs each kind so many times, in turns, and prints the medians.
pub(super) fn beside(
    arguments: &Arguments,
    rounds: u32,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let kinds = Kind::value_variants();
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); kinds.len()];
    for round in 0..rounds as usize {
        for turn in 0..kinds.len() {
            let index = (turn + round) % kinds.len();
            outcomes[index].push(child(arguments, kinds[index])?);
        }
    }
    let all = outcomes.iter().flatten();
    let digests: Vec<u64> = all.map(|outcome| outcome.digest).collect();
    if digests.iter().any(|digest| *digest != digests[0]) {
        return Err(Failure::Run(
            "the exchanges trade or end differently".to_owned(),
        ));
    }
    let head = [
        "",
        "commands/s",
        "one at a time: p50 ns",
        "p99 ns",
        "p99.9 ns",
        "at half: p50 ns",
        "p99 ns",
        "allocator calls",
        "page faults",
        "quotes missed",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for rounds in &outcomes {
        let median = |figure: fn(&Outcome) -> u64| {
            let mut figures: Vec<u64> = rounds.iter().map(figure).collect();
            figures.sort_unstable();
            grouped(figures[figures.len() / 2])
        };
        rows.push(vec![
            rounds[0].name.clone(),
            median(|it| it.per_second),
            median(|it| it.closed.p50_ns),
            median(|it| it.closed.p99_ns),
            median(|it| it.closed.p99_9_ns),
            median(|it| it.open.p50_ns),
            median(|it| it.open.p99_ns),
            median(|it| it.calls),
            median(|it| it.faults.unwrap_or(0)),
            median(|it| it.published - it.seen.frames),
        ]);
    }
    let told = writeln!(
        out,
        "Medians of {rounds} rounds, each in a process of its own; the same trades and books."
    );
    let told = told.and_then(|()| write_columns(out, &rows));
    Ok(written(told.and_then(|()| out.flush()), err))
}

/// Runs one kind in a process of its own.
fn child(arguments: &Arguments, kind: Kind) -> Result<Outcome, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("{kind:?}: {error}"));
    let value = kind.to_possible_value().expect("none is hidden");
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(["exchange", "--child", value.get_name()]);
    command.args(["--symbols", &arguments.symbols.to_string()]);
    command.args(["--commands", &arguments.commands.to_string()]);
    command.args(["--seed", &arguments.seed.to_string()]);
    if let Some(slow) = arguments.slow {
        command.args(["--slow", &slow.to_string()]);
    }
    let output = command.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}
