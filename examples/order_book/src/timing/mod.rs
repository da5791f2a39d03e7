//! How the engine is timed on each store.
//!
//! | file | contents |
//! |---|---|
//! | `measure.rs` | one pass of a store |
//! | `process.rs`, `rounds.rs` | the same in a process of its own; all stores and rounds |
//! | `interruptions.rs` | what the machine did to a process while it was timed |
//! | `report.rs`, `verdict.rs`, `explain.txt` | the tables, what they say, and what they mean |

mod interruptions;
pub mod measure;
pub(crate) mod process;
pub(crate) mod report;
pub(crate) mod rounds;
mod verdict;
