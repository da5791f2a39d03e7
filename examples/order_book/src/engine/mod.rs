//! The matching engine, whose keys are the order numbers.
//!
//! Clients name an order by the id that the engine gave them. Where the store's keys have
//! generations, the key is that id, and a cancel that comes after its order was filled finds
//! nothing, instead of the order that has its slot now. The stores that are compared do the
//! same by other means, and answer the same commands with the same trades.
//!
//! | file | contents |
//! |---|---|
//! | `command.rs`, `order.rs`, `tape.rs` | what comes in, what rests, what goes out |
//! | `matching.rs`, `book.rs` | the engine; levels |
//! | `store.rs`, `store/`, `kind.rs` | where orders live: a trait and its implementations |
//! | `script.rs`, `traffic.rs` | what happens to one symbol; the commands of all |
//! | `recorded.rs` | the known top of book after each message of a recorded hour |
//! | `wire.rs` | commands with the ids that a store has given |
//! | `measure.rs`, `process.rs`, `rounds.rs` | one pass of a store timed; in a process of its own; all of them |
//! | `interruptions.rs` | what the machine did to a process while it was timed |
//! | `report.rs`, `verdict.rs`, `explain.txt` | the tables, what they say, and what they mean |
//! | `naive.rs`, `check.rs` | the engine without a store, and each store compared with it |
//! | `restart.rs` | a snapshot, and the engine restored from it |
//! | `arguments.rs` | the arguments |

mod arguments;
pub mod book;
mod check;
pub mod command;
mod interruptions;
mod kind;
pub mod matching;
pub mod measure;
mod naive;
pub mod numbers;
pub mod order;
mod process;
pub mod recorded;
mod report;
pub mod restart;
mod rounds;
pub mod script;
pub mod sessions;
pub mod store;
mod tape;
#[cfg(test)]
mod tests;
pub mod traffic;
mod verdict;
pub mod wire;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use order_flow::program::{Failure, written};
use order_flow::top::TopsFile;

pub use self::arguments::Arguments;
use self::check::Check;
pub use self::kind::StoreKind;
use self::rounds::Results;
use crate::SYSTEM;

/// The directory of what `--record` writes.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/record");

/// Orders that the naive engine goes through for each command, at most.
const MOST_CHECKED: u64 = 4_000_000_000;

/// Times, checks or restarts the engine, and prints what came of it. The program has the global
/// allocator of this name.
///
/// # Errors
///
/// [`Failure`], if it cannot, or two stores differ.
pub fn run(
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
