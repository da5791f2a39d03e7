//! The program: from arguments to text and an exit code.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use order_flow::program::{self, Failure, written};
use order_flow::top::TopsFile;

use crate::check::Check;
use crate::timing::rounds::{self, Results};
use crate::timing::{process, report};
use crate::{Arguments, SYSTEM, recorded, restart};

/// Limit order books whose orders live in a slab, timed on several stores.
///
/// Exit codes: 0, all stores agree; 1, they do not, a store is full, its memory cannot
/// be had or an output cannot be written; 2, a bad argument or input file, or more
/// memory than there is.
#[derive(Debug, Parser)]
#[command(name = "order_book", version)]
struct Cli {
    #[command(flatten)]
    arguments: Arguments,
}

/// Runs the program, whose global allocator has this name.
pub fn run(allocator: &'static str) -> ExitCode {
    program::run(|cli: &Cli, out, err| carry_out(&cli.arguments, allocator, out, err))
}

/// The directory of what `--record` writes.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/record");

/// Orders that the naive engine goes through for each command, at most.
const MOST_CHECKED: u64 = 4_000_000_000;

/// Times, checks or restarts the engine, and prints what came of it.
///
/// # Errors
///
/// [`Failure`], if it cannot, or two stores differ.
fn carry_out(
    arguments: &Arguments,
    allocator: &'static str,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    if let Some(store) = arguments.child {
        process::serve(store, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.explain {
        return Ok(written(
            report::explain(out).and_then(|()| out.flush()),
            err,
        ));
    }
    arguments.check_memory()?;
    if arguments.check {
        return check(arguments, out, err);
    }
    if arguments.restart {
        let restart = restart::run(&arguments.traffic()?)?;
        return Ok(written(restart.write(out).and_then(|()| out.flush()), err));
    }
    if let Some(input) = arguments.message_file()? {
        // A file that cannot be read is named once, not by every process; and before the file of
        // tops is touched.
        let messages = arguments.messages()?;
        let tops = arguments.bbo.as_deref();
        let tops = tops.map(|path| TopsFile::create(path, Some(&input)));
        recorded::check(&messages, &arguments.stores(), tops.transpose()?.as_ref())?;
    }
    let results = rounds::run(arguments, allocator)?;
    if arguments.record {
        record(&results)?;
        if let Some(fresh) = arguments.in_fresh_processes() {
            record(&rounds::run(&fresh, allocator)?)?;
        }
    }
    let printed = match arguments.json {
        true => serde_json::to_writer(&mut *out, &results)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out)),
        false => report::write(&results, out),
    };
    Ok(written(printed.and_then(|()| out.flush()), err))
}

/// Writes the record of an allocator and of how the processes began.
fn record(results: &Results) -> Result<(), Failure> {
    let name = match (results.allocator, results.running) {
        (SYSTEM, true) => "engine.json".to_owned(),
        (SYSTEM, false) => "engine-fresh.json".to_owned(),
        (other, true) => format!("engine-{other}.json"),
        (other, false) => format!("engine-{other}-fresh.json"),
    };
    let path = Path::new(RECORDS).join(name);
    let failed = |error: std::io::Error| Failure::file(&path, &error);
    let json = serde_json::to_string(results).map_err(|error| failed(error.into()))?;
    std::fs::write(&path, json + "\n").map_err(failed)
}

/// Compares each store with the naive engine.
fn check(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let traffic = arguments.traffic()?;
    let commands = traffic.commands.len();
    if commands as u64 * traffic.peak as u64 > MOST_CHECKED {
        return Err(Failure::Input(format!(
            "the naive engine would go through {} orders for each of {commands} commands: fewer \
             --symbols, --resting or --commands",
            traffic.peak
        )));
    }
    for store in arguments.stores() {
        store.with(Check {
            traffic: &traffic,
            every: 1_000,
        })?;
        let told = writeln!(
            out,
            "{}: {commands} answers and tops of book as the naive engine's",
            store.name()
        );
        if told.is_err() {
            return Ok(written(told, err));
        }
    }
    Ok(written(out.flush(), err))
}
