//! Arenas, scopes, and the boxes and vectors in them. Each rule that keeps `src/bump`
//! sound has a file here; many of the tests are holes that other arenas had.

#![cfg(feature = "alloc")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

#[cfg(feature = "allocator-api2")]
mod allocators;
mod boxes;
mod capacity;
mod checkpoints;
mod failed_tries;
mod frames;
mod layouts;
mod model;
mod nested;
mod panics;
mod program;
mod reentrancy;
mod scopes;
mod sources;
mod text;
mod threads;
mod values;
mod vectors;
