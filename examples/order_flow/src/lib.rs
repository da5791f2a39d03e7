//! Order messages of one symbol, generated and recorded; commands to a matching engine that cause
//! these messages; and code that the programs which use them share.
//!
//! | file | contents |
//! |---|---|
//! | `message.rs` | the messages of an exchange |
//! | `flow.rs`, `stats.rs` | generated messages, and the statistics they are to match |
//! | `lobster.rs` | recorded messages |
//! | `naive.rs` | the book that messages lead to, without a store |
//! | `command.rs`, `tape.rs` | what clients send to an engine and what it answers; what went out |
//! | `script.rs`, `traffic.rs` | what happens to one symbol; the commands of all |
//! | `naive_engine.rs` | what an engine must answer, without a store |
//! | `top.rs`, `digest.rs` | the top of a book, and the file of tops; a hash of a book |
//! | `program/` | arguments, exit codes, limits of memory, tables |

pub mod command;
pub mod digest;
pub mod flow;
pub mod lobster;
pub mod message;
pub mod naive;
pub mod naive_engine;
pub mod program;
pub mod script;
pub mod stats;
pub mod tape;
pub mod top;
pub mod traffic;
