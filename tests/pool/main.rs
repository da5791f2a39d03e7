//! The pool: over its own memory, over the caller's, and with values that are used
//! again.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;

mod dyn_boxes;
mod forgotten;
mod kinds;
mod layouts;
mod model;
mod panics;
mod program;
mod recycled;
#[cfg(not(each_run))]
mod recycling;
mod reentrancy;
mod samples;
#[cfg(target_has_atomic = "ptr")]
mod sent;
mod storage;
mod strict;
#[cfg(not(each_run))]
mod threads;
mod trees;
