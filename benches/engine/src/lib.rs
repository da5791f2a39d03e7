//! The matching engine of `examples/order_book` for the record: on every store, with full books,
//! commands at a fixed rate and other shares of latecomers, and on other allocators than the
//! system's.
//!
//! ```text
//! cargo run --release -p engine_record -- --full --record
//! cargo run --release -p engine_record --features allocators --bin engine_mimalloc -- --record
//! cargo run --release -p engine_record --features allocators --bin engine_jemalloc -- --record
//! ```

mod full;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use engine_trial::rounds::{self, Results};
use engine_trial::{Arguments, SYSTEM, cli};
use order_book::trial::OrderStores;
use order_flow::program::{self, Failure};

/// The matching engine of order_book on every store, for the record.
///
/// Exit codes: 0, all stores agree; 1, they do not, a store is full, its memory cannot
/// be had or an output cannot be written; 2, a bad argument or input file, or more
/// memory than there is.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    arguments: Arguments,

    /// All stores, 7 rounds, 2,000,000 commands, and tables of full books, of commands at a fixed
    /// rate and of other shares of latecomers
    #[arg(long, conflicts_with_all = ["check", "restart"])]
    full: bool,

    /// Write the JSON object to benches/record, too; with --full another one of processes that
    /// have just been started
    #[arg(long, conflicts_with_all = ["check", "restart", "explain"])]
    record: bool,
}

/// Runs the program, whose global allocator has this name.
pub fn run(allocator: &'static str) -> ExitCode {
    program::run(|cli: &Cli, out| {
        let mut arguments = cli.arguments.clone();
        if cli.full {
            arguments = full::in_full(arguments);
        }
        let measure = || measure(cli, &arguments, allocator);
        cli::carry_out::<OrderStores>(&arguments, measure, out)
    })
}

fn measure(cli: &Cli, arguments: &Arguments, allocator: &'static str) -> Result<Results, Failure> {
    let results = match cli.full {
        true => full::run(arguments, allocator)?,
        false => rounds::run::<OrderStores>(arguments, allocator)?,
    };
    if cli.record {
        record(&results)?;
        if cli.full && !arguments.fresh {
            let mut fresh = arguments.clone();
            fresh.fresh = true;
            record(&rounds::run::<OrderStores>(&fresh, allocator)?)?;
        }
    }
    Ok(results)
}

/// The directory of what `--record` writes.
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../record");

/// Writes the record of an allocator and of how the processes began.
fn record(results: &Results) -> Result<(), Failure> {
    let name = match (results.allocator, results.running) {
        (SYSTEM, true) => "engine.json".to_owned(),
        (SYSTEM, false) => "engine-fresh.json".to_owned(),
        (other, true) => format!("engine-{other}.json"),
        (other, false) => format!("engine-{other}-fresh.json"),
    };
    program::record(&Path::new(RECORDS).join(name), results)
}
