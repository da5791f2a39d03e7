//! The exchange beside the same program on what else there is: the sources of `program/`, with
//! other parts.
//!
//! | directory | contents |
//! |---|---|
//! | `recycled/` | `rtrb`, a `Vec` that is filled again, `slab` and a number |
//! | `boxed/`, `boxed_mimalloc/` | boxes in channels, `slab` and a map; the boxes from mimalloc |
//! | `beside.rs` | all of them in turns, each in a process of its own |
//! | `common.rs` | what is alike in them: a queue for each reader, a standby without snapshots |

mod beside;
mod boxed;
mod boxed_mimalloc;
mod recycled;

use std::io::Write;

use clap::{Args, ValueEnum, value_parser};
use order_flow::program::Failure;

use crate::cli::Load;
use crate::outcome::Outcome;
use crate::program;

/// Runs the exchange, and the same program on other queues, stores and buffers, in turns.
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    load: Load,

    /// How often each runs, in a process of its own
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = value_parser!(u32).range(1..))]
    rounds: u32,

    /// Write what came of it to `benches/record/exchange.json`
    #[arg(long)]
    record: bool,

    /// Run on one of them, for another process of this program
    #[arg(long, value_enum, hide = true)]
    child: Option<Kind>,
}

/// What an exchange is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Flatslab,
    Recycled,
    Boxed,
    BoxedMimalloc,
}

impl Kind {
    fn run(self, load: &Load) -> Result<Outcome, Failure> {
        match self {
            Kind::Flatslab => program::run(load),
            Kind::Recycled => recycled::program::run(load),
            Kind::Boxed => boxed::program::run(load),
            Kind::BoxedMimalloc => boxed_mimalloc::program::run(load),
        }
    }
}

/// Runs them, and prints what came of it.
///
/// # Errors
///
/// [`Failure`], if one cannot run, or they trade differently.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.child {
        Some(kind) => {
            let outcome = kind.run(&arguments.load)?;
            serde_json::to_writer(out, &outcome).map_err(std::io::Error::from)?;
        }
        None => beside::run(arguments)?.write(out)?,
    }
    Ok(())
}
