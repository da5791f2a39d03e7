//! The program: from arguments to text and an exit code.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use order_flow::program;

use crate::{engine, exchange};

/// Limit order books whose orders live in a slab, timed on several stores.
///
/// Exit codes: 0, all stores agree; 1, they do not, a store is full, its memory cannot
/// be had or an output cannot be written; 2, a bad argument or input file, or more
/// memory than there is.
#[derive(Debug, Parser)]
#[command(name = "order_book", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    job: Option<Job>,

    #[command(flatten)]
    engine: engine::Arguments,
}

/// What is timed.
#[derive(Debug, Subcommand)]
enum Job {
    Engine(engine::Arguments),
    Exchange(exchange::Arguments),
    #[cfg(feature = "rivals")]
    Rivals(crate::rivals::Arguments),
}

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    program::run(|cli: &Cli, out, err| match &cli.job {
        None => engine::run(&cli.engine, out, err),
        Some(Job::Engine(arguments)) => engine::run(arguments, out, err),
        Some(Job::Exchange(arguments)) => exchange::run(arguments, out, err),
        #[cfg(feature = "rivals")]
        Some(Job::Rivals(arguments)) => crate::rivals::run(arguments, out, err),
    })
}
