//! What a store of orders is worth: a matching engine, whose keys are the order numbers.
//!
//! ```text
//! cargo run --release -p order_book            # four stores
//! cargo run --release -p order_book -- --help
//! ```

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
