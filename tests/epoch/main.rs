//! Epoch slabs: values and buffers. Each rule that keeps `src/epoch` sound has a file here.

#![cfg(feature = "arenas")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

mod attacks;
#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/system/child.rs"]
mod child;
mod guards;
mod idle;
mod keys;
#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
mod memory;
mod model;
mod panics;
#[cfg(not(each_run))]
mod pinning;
mod program;
mod reentrancy;
#[cfg(feature = "std")]
mod refused;
mod scopes;
#[cfg(not(each_run))]
mod send;
#[cfg(not(each_run))]
mod sources;
#[cfg(not(each_run))]
mod states;
#[cfg(not(each_run))]
mod stats;
#[cfg(feature = "track")]
#[cfg(not(each_run))]
mod track;
mod within;
