//! The command line: what the exchange has to do, and what is printed of it.

use std::io::Write;

use clap::{Args, Parser, value_parser};
use order_flow::program::table::grouped;
use order_flow::program::{Failure, memory};
use order_flow::traffic::{Market, Traffic};

use crate::program;

/// Messages of a symbol before its book is as full as those of a real hour.
const OPENING: usize = 10_000;

/// Runs an exchange: gateway, engine, market data and standby, each on a thread of its own, and
/// counts calls of the allocator and page faults while it runs.
///
/// Exit codes: 0, all went well; 1, the standby differs, the allocator was called, there is no
/// memory or the output cannot be written; 2, a bad argument, or more memory than there is.
#[derive(Debug, Parser)]
#[command(name = "exchange", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[cfg(feature = "rivals")]
    #[command(subcommand)]
    job: Option<Job>,

    #[command(flatten)]
    load: Load,

    /// End with 1 if there was a page fault
    #[arg(long)]
    strict: bool,
}

/// What to do instead.
#[cfg(feature = "rivals")]
#[derive(Debug, clap::Subcommand)]
enum Job {
    Rivals(crate::rivals::Arguments),
}

/// What the exchange has to do.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// Symbols
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = value_parser!(u32).range(1..=65_535))]
    pub(crate) symbols: u32,

    /// Commands of each of the three passes that count
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub(crate) commands: u32,

    /// Seed of the commands
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The reader of market data pauses after each so many frames
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) slow: Option<u64>,
}

impl Load {
    /// Commands after the snapshot, before anything counts: some of each symbol.
    pub(crate) fn warm(&self) -> usize {
        20_000.max(40 * self.symbols as usize)
    }

    /// What is to be done, as commands.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`], if there is no memory for them.
    pub(crate) fn traffic(&self) -> Result<Traffic, Failure> {
        let commands = 3 * self.commands as usize + self.warm();
        // As much as was seen, and half of it more.
        let bytes = u128::from(self.symbols) * 160_000 + commands as u128 * 160;
        memory::check(
            &format!("{} symbols and {commands} commands", self.symbols),
            bytes,
        )?;
        let market = Market {
            seed: self.seed,
            symbols: self.symbols as usize,
            sessions: 16_384,
            commands,
            late: 20,
        };
        Ok(Traffic::generated(market, OPENING, 0))
    }
}

/// Runs it, and prints what came of it.
///
/// # Errors
///
/// [`Failure`], if it cannot, if the standby differs, or the allocator was called.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    #[cfg(feature = "rivals")]
    if let Some(Job::Rivals(arguments)) = &arguments.job {
        return crate::rivals::run(arguments, out);
    }
    let outcome = program::run(&arguments.load)?;
    writeln!(out, "{outcome}")?;
    if outcome.calls > 0 {
        let calls = grouped(outcome.calls);
        return Err(Failure::Run(format!(
            "the allocator was called {calls} times"
        )));
    }
    if arguments.strict && outcome.faults != Some(0) {
        return Err(Failure::run("there were page faults"));
    }
    Ok(())
}
