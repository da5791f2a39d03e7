//! Compares stores of orders in a matching engine whose keys are the order numbers.
//!
//! ```text
//! cargo run --release -p order_book            # seven stores, half a minute
//! cargo run --release -p order_book -- --help
//! ```

use std::process::ExitCode;

use clap::Parser;
use engine_trial::{Arguments, SYSTEM, cli, rounds};
use order_book::trial::OrderStores;
use order_flow::program;

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

fn main() -> ExitCode {
    program::run(|Cli { arguments }: &Cli, out| {
        let measure = || rounds::run::<OrderStores>(arguments, SYSTEM);
        cli::carry_out::<OrderStores>(arguments, measure, out)
    })
}
