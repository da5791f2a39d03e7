//! The pool: over its own memory, over the caller's, and with values that are used
//! again.

#[path = "../common/mod.rs"]
mod common;

mod model;
mod program;
mod recycled;
mod samples;
