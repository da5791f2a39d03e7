//! `BoundedSlab` and `Slab` by their public methods. The tests that look at
//! their state are in `src/slab/tests/`.

#![cfg(feature = "alloc")]
#![allow(
    clippy::large_enum_variant,
    clippy::result_large_err,
    reason = "values are wide, so that chunks can be small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../program/mod.rs"]
mod program;

mod conflicts;
mod contracts;
mod forgotten;
mod growth;
mod handles;
mod iteration;
mod keys;
mod layouts;
mod mapped;
mod panics;
mod programs;
mod reentrancy;
mod walks;
