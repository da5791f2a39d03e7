//! The replay of a feed: a book that follows the messages of an exchange.
//!
//! ```text
//! cargo run --release -p feed              # five stores
//! cargo run --release -p feed -- --help
//! ```
//!
//! One store holds the resting orders of all symbols. Price levels are intrusive
//! lists of keys, and a map leads from the exchange's order ids to keys. The same
//! book runs on [`flatslab::KeySlab`], [`flatslab::BoundedSlab`], [`flatslab::Slab`],
//! the `slab` crate and `Box`, and must end in the same state on each.
//!
//! A few hundred live orders fit any cache; two thousand symbols' orders do not, and
//! `--resting` makes the books as large as you like. With `--pages huge`, orders, index
//! and levels are in huge pages, allocated before the first message. With `--prefetch`,
//! the order of the next message is looked up before the present one is applied. With
//! `--json`, the output has the format of the files `benches/record/order_book-*.json`, from which
//! the benches' `report` makes tables and a picture.
//!
//! | file | contents |
//! |---|---|
//! | `store.rs`, `store/` | where orders live: a trait and its implementations |
//! | `book.rs` | the order book |
//! | `variant.rs` | the variants that are compared: a store, its pages, its look-ahead |
//! | `replay.rs`, `report.rs` | timing, and the printed result |
//! | `cli.rs`, `run.rs` | the arguments, and the run that they describe |
//! | `real_hour.rs` | tests: a recorded hour |

mod book;
mod cli;
#[cfg(test)]
mod real_hour;
mod replay;
mod report;
mod run;
mod store;
mod variant;

use std::process::ExitCode;

fn main() -> ExitCode {
    order_flow::program::run(run::run)
}
