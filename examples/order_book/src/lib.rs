//! A matching engine whose keys are the order numbers.
//!
//! Clients name an order by the id that the engine gave them. Where the store's keys have
//! generations, the key is that id, and a cancel that comes after its order was filled finds
//! nothing, instead of the order that has its slot now. The stores that are compared do the
//! same by other means, and answer the same commands with the same trades.
//!
//! The program `order_book` times it on several stores; the package `exchange` puts it between a
//! gateway, market data and a standby; `public_benchmark` makes a shared library of it.
//!
//! | file | contents |
//! |---|---|
//! | `order.rs` | what rests |
//! | `book.rs` | prices, and the orders at each of them |
//! | `matching.rs` | how an order trades, rests and leaves |
//! | `store.rs`, `store/`, `kind.rs` | where orders live: a trait and its implementations |
//! | `sessions.rs`, `command.rs`, `tape.rs` | sessions that name orders by their keys; what they send; what went out |
//! | `numbers.rs` | clients that number their orders themselves |
//! | `script.rs`, `traffic.rs`, `wire.rs` | what happens to one symbol; the commands of all; the same with the ids that a store has given |
//! | `recorded.rs` | the known top of book after each message of a recorded hour |
//! | `naive.rs`, `check.rs` | the engine without a store, and each store compared with it |
//! | `restart.rs` | a snapshot, and the engine restored from it |
//! | `timing/` | one pass of a store timed, in a process of its own; all of them; the report |
//! | `cli.rs`, `arguments.rs` | the program |

mod arguments;
pub mod book;
mod check;
pub mod cli;
pub mod command;
mod kind;
pub mod matching;
mod naive;
pub mod numbers;
pub mod order;
pub mod recorded;
pub mod restart;
pub mod script;
pub mod sessions;
pub mod store;
mod tape;
#[cfg(test)]
mod tests;
pub mod timing;
pub mod traffic;
pub mod wire;

pub use self::arguments::Arguments;
pub use self::kind::StoreKind;

/// The name of the system's allocator.
pub const SYSTEM: &str = "system";
