//! A matching engine on trial: checked on several stores of its orders, and timed.
//!
//! The programs `order_book` and `engine_record` are this, with an engine and its stores.
//!
//! | file | contents |
//! |---|---|
//! | `stores.rs` | the stores that are compared, and the engine over each of them: a trait |
//! | `cli.rs`, `arguments.rs` | the program |
//! | `wire.rs` | commands with the ids that a store has given |
//! | `check.rs`, `recorded.rs`, `restart.rs` | each store compared with the naive engine, with the known tops of a recorded hour, and with itself after a restart |
//! | `measure.rs` | one pass of a store |
//! | `process.rs`, `rounds.rs` | the same in a process of its own; all stores and rounds |
//! | `interruptions.rs` | how much the machine disturbed a process while it was timed |
//! | `report.rs`, `verdict.rs`, `explain.txt` | the table, its summary in sentences, and an explanation of its columns |

mod arguments;
pub mod check;
pub mod cli;
pub mod interruptions;
pub mod measure;
mod process;
pub mod recorded;
pub mod report;
pub mod restart;
pub mod rounds;
pub mod stores;
mod verdict;
pub mod wire;

pub use self::arguments::Arguments;

/// The name of the system's allocator.
pub const SYSTEM: &str = "system";
