//! The program: from arguments to text and an exit code.

use std::process::ExitCode;

use clap::Parser;
use order_flow::program;

use crate::engine;

/// Limit order books whose orders live in a slab, timed on several stores.
///
/// Exit codes: 0, all stores agree; 1, they do not, a store is full, its memory cannot
/// be had or an output cannot be written; 2, a bad argument or input file, or more
/// memory than there is.
#[derive(Debug, Parser)]
#[command(name = "order_book", version)]
struct Cli {
    #[command(flatten)]
    engine: engine::Arguments,
}

/// Runs the program, whose global allocator has this name.
pub fn run(allocator: &'static str) -> ExitCode {
    program::run(|cli: &Cli, out, err| engine::run(&cli.engine, allocator, out, err))
}
