//! All of them in turns, each in a process of its own, and the medians.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use clap::ValueEnum;
use order_flow::program::table::{grouped, write_columns};
use order_flow::program::{self, Failure};
use serde::Serialize;

use super::{Arguments, Kind};
use crate::outcome::Outcome;

/// The file that `--record` writes.
const RECORD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../benches/record/exchange.json"
);

/// What came of it: all rounds of each.
#[derive(Serialize)]
pub(super) struct Beside {
    rounds: u32,
    live_orders: usize,
    commands: u64,
    exchanges: Vec<Exchange>,
}

#[derive(Serialize)]
struct Exchange {
    name: String,
    rounds: Vec<Outcome>,
}

/// Runs each kind so many times.
///
/// # Errors
///
/// [`Failure`], if one cannot run, they trade differently, or the record cannot be written.
pub(super) fn run(arguments: &Arguments) -> Result<Beside, Failure> {
    let kinds = Kind::value_variants();
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); kinds.len()];
    for round in 0..arguments.rounds as usize {
        for turn in 0..kinds.len() {
            let index = (turn + round) % kinds.len();
            outcomes[index].push(child(kinds[index])?);
        }
    }
    let first = outcomes[0][0].clone();
    if outcomes
        .iter()
        .flatten()
        .any(|it| it.digest != first.digest)
    {
        return Err(Failure::run("the exchanges trade or end differently"));
    }
    let beside = Beside {
        rounds: arguments.rounds,
        live_orders: first.orders,
        commands: first.commands,
        exchanges: (outcomes.into_iter())
            .map(|rounds| Exchange {
                name: rounds[0].name.clone(),
                rounds,
            })
            .collect(),
    };
    if arguments.record {
        program::record(Path::new(RECORD), &beside)?;
    }
    Ok(beside)
}

/// Runs one kind in a process of its own, with the arguments of this one.
fn child(kind: Kind) -> Result<Outcome, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("{kind:?}: {error}"));
    let value = kind.to_possible_value().expect("none is hidden");
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1));
    command.args(["--child", value.get_name()]);
    let output = command.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// A column: its name, and the figure of one round.
type Column = (&'static str, fn(&Outcome) -> u64);

const COLUMNS: [Column; 10] = [
    ("commands/s", |it| it.per_second),
    ("one at a time: p50 ns", |it| it.closed.p50_ns),
    ("p99 ns", |it| it.closed.p99_ns),
    ("p99.9 ns", |it| it.closed.p99_9_ns),
    ("at half: p50 ns", |it| it.open.p50_ns),
    ("p99 ns", |it| it.open.p99_ns),
    ("p99.9 ns", |it| it.open.p99_9_ns),
    ("allocator calls", |it| it.calls),
    ("page faults", |it| it.faults.unwrap_or(0)),
    ("quotes missed", |it| it.published - it.seen.frames),
];

impl Beside {
    pub(super) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "Medians (rounds: {}), each round in a process of its own; the same trades and books.",
            self.rounds
        )?;
        let head = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
        let mut rows = vec![[String::new()].into_iter().chain(head).collect()];
        for exchange in &self.exchanges {
            let median = |(_, figure): &Column| {
                let mut figures: Vec<u64> = exchange.rounds.iter().map(figure).collect();
                figures.sort_unstable();
                grouped(figures[figures.len() / 2])
            };
            let figures = COLUMNS.iter().map(median);
            rows.push([exchange.name.clone()].into_iter().chain(figures).collect());
        }
        write_columns(out, &rows)
    }
}
