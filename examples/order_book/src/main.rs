//! A limit order book whose orders live in a slab.
//!
//! Every resting order is in one store that all symbols share: price levels
//! are intrusive lists of keys, and the exchange's order ids map to keys. The
//! same book runs on [`flatslab::BoundedSlab`], [`flatslab::Slab`], the `slab`
//! crate and `Box`, and must come out the same.
//!
//! ```text
//! cargo run --release -p order_book -- --help
//! ```
//!
//! A few hundred live orders fit any cache, and the stores hardly differ. With
//! `--symbols 1000` they do not fit; that takes minutes.
//!
//! | file | |
//! |---|---|
//! | `message.rs` | what an exchange says |
//! | `store.rs`, `store/` | where orders live |
//! | `book.rs` | the order book |
//! | `flow.rs`, `stats.rs` | a generated flow, and what makes it lifelike |
//! | `lobster.rs` | recorded flows |
//! | `replay.rs`, `report.rs` | timing, and what is printed of it |
//! | `cli.rs`, `run.rs` | the program |

mod book;
mod cli;
mod flow;
mod lobster;
mod message;
mod replay;
mod report;
mod run;
mod stats;
mod store;
#[cfg(test)]
mod tests;

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = run::run(
        std::env::args_os(),
        &mut io::BufWriter::new(io::stdout().lock()),
        &mut io::stderr(),
        true,
    );
    ExitCode::from(code)
}
