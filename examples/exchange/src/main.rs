//! The exchange: a gateway, the engine, a journal, a standby and market data, each on a thread of its own,
//! and every family of flatslab at work between them.
//!
//! ```text
//! cargo run --release -p exchange
//! cargo run --release -p exchange -- --help
//! cargo run --release -p exchange --features rivals -- rivals
//! ```
//!
//! Read `program/mod.rs` first: the five threads. The engine is that of the package `order_book`.
//!
//! | file | contents |
//! |---|---|
//! | `program/` | the five threads |
//! | `frame.rs` | the frames on the wire |
//! | `parts.rs` | the parts that the threads share |
//! | `clients.rs` | the load |
//! | `rivals/` | the same program on other crates: with the feature `rivals` |
//! | `cli.rs`, `outcome.rs` | the command line, and the result of a run |
//! | `allocations.rs` | calls of the allocator |

mod allocations;
mod cli;
mod clients;
mod frame;
mod outcome;
mod parts;
mod program;
#[cfg(feature = "rivals")]
mod rivals;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    order_flow::program::run(cli::run)
}
