//! What a store of orders is worth: a matching engine, whose keys are the order numbers.
//!
//! ```text
//! cargo run --release -p order_book            # seven stores, half a minute
//! cargo run --release -p order_book -- --help
//! ```

use std::process::ExitCode;

fn main() -> ExitCode {
    order_book::cli::run(order_book::SYSTEM)
}
