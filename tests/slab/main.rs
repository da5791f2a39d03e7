//! `BoundedSlab` and `Slab` by their public methods. The tests that look at
//! their state are in `src/slab/tests/`.

#![cfg(feature = "tracked")]
#![allow(
    clippy::large_enum_variant,
    clippy::result_large_err,
    reason = "values are wide, so that chunks can be small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../program/mod.rs"]
mod program;

#[cfg(not(each_run))]
mod conflicts;
#[cfg(not(each_run))]
mod contracts;
mod dyn_boxes;
mod forgotten;
#[cfg(not(each_run))]
mod growth;
mod handles;
#[cfg(not(each_run))]
mod iteration;
#[cfg(not(each_run))]
mod keys;
mod layouts;
mod mapped;
mod panics;
#[cfg(not(each_run))]
mod programs;
mod reentrancy;
mod walks;
