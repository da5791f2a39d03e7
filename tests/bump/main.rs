//! Arenas, scopes, and the boxes and vectors in them. Each rule that keeps `src/bump`
//! sound has a file here; many of the tests are holes that other arenas had.

#![cfg(feature = "arenas")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

#[cfg(feature = "allocator-api2")]
#[cfg(not(each_run))]
mod allocators;
mod boxes;
#[cfg(not(each_run))]
mod capacity;
mod checkpoints;
mod failed_tries;
#[cfg(not(each_run))]
mod frames;
mod layouts;
mod model;
mod nested;
mod panics;
mod program;
mod reentrancy;
mod scopes;
#[cfg(not(each_run))]
mod sources;
#[cfg(not(each_run))]
mod text;
#[cfg(not(each_run))]
mod threads;
mod values;
mod vectors;
