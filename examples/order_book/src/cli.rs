//! The program: from arguments to text and an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::{BAD_INPUT, written};
use crate::{engine, exchange, feed};

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
    Feed(feed::Arguments),
    #[cfg(feature = "rivals")]
    Rivals(crate::rivals::Arguments),
}

/// Runs the program with the arguments of the process.
///
/// An error is written to `err`. If that fails too, only the exit code tells.
pub(crate) fn run(out: &mut dyn Write, err: &mut dyn Write) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let _ = write!(err, "{error}");
            return ExitCode::from(BAD_INPUT);
        }
        // `--help` and `--version` are answers, not errors.
        Err(answer) => {
            return written(write!(out, "{answer}").and_then(|()| out.flush()), err);
        }
    };
    let done = match cli.job.unwrap_or(Job::Engine(cli.engine)) {
        Job::Engine(arguments) => engine::run(&arguments, out, err),
        Job::Exchange(arguments) => exchange::run(&arguments, out, err),
        Job::Feed(arguments) => feed::run(&arguments, out, err),
        #[cfg(feature = "rivals")]
        Job::Rivals(arguments) => crate::rivals::run(&arguments, out, err),
    };
    done.unwrap_or_else(|failure| failure.tell(err))
}
