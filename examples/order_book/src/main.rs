//! What a store of orders is worth: a matching engine, whose keys are the order numbers.
//!
//! ```text
//! cargo run --release -p order_book            # the engine, on four stores
//! cargo run --release -p order_book -- --help
//! cargo run --release -p order_book -- exchange
//! cargo run --release -p order_book --features rivals -- rivals
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `engine/` | the matching engine, its commands, its stores, and how it is timed |
//! | `exchange/` | the engine at work: a gateway before it, market data and a standby behind it |
//! | `rivals/` | the exchange on what else there is: with the feature `rivals` |
//! | `cli.rs` | the program |
//! | `allocations.rs` | calls of the allocator |

mod allocations;
mod cli;
mod engine;
mod exchange;
#[cfg(feature = "rivals")]
mod rivals;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
