//! Tests of the slabs that look where users cannot: at the state words, at the
//! free stack, and at the invariants after every step. What the public methods
//! show is tested in `tests/slab/`.

#![allow(unreachable_pub, reason = "the fuzz target includes some of this")]

mod closed;
#[cfg(not(each_run))]
mod exploration;
mod forgotten;
mod holders;
mod model;
mod states;
mod table;
mod world;
