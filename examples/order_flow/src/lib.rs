//! Order messages of one symbol, generated and recorded, and what the programs that use them
//! share.
//!
//! | file | contents |
//! |---|---|
//! | `message.rs` | the messages of an exchange |
//! | `flow.rs`, `stats.rs` | generated messages, and the statistics they are to match |
//! | `lobster.rs` | recorded messages |
//! | `naive.rs` | the book that messages lead to, without a store |
//! | `top.rs`, `digest.rs` | the top of a book, and the file of tops; a hash of a book |
//! | `program/` | arguments, exit codes, limits of memory, tables |

pub mod digest;
pub mod flow;
pub mod lobster;
pub mod message;
pub mod naive;
pub mod program;
pub mod stats;
pub mod top;
