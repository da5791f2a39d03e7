//! The pool: over its own memory, over the caller's, and with values that are used
//! again.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;

mod forgotten;
mod kinds;
mod layouts;
mod model;
mod panics;
mod program;
mod recycled;
mod recycling;
mod reentrancy;
mod samples;
mod storage;
mod threads;
mod trees;
