//! The slabs in other memory than that of the global allocator: memory of the
//! test's own, pages of the system, and memory that is only reserved.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
#![allow(
    clippy::large_enum_variant,
    clippy::result_large_err,
    reason = "values are wide, so that chunks can be small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../program/mod.rs"]
mod program;

#[cfg(feature = "allocator-api2")]
#[cfg(not(each_run))]
mod allocators;
#[cfg(not(each_run))]
mod failing;
// What is refused is a matter of amounts, which an interpreter takes hours for. It has the paths of a
// refusal in the tests of each family.
#[cfg(not(miri))]
mod fragmented;
mod lazy;
#[cfg(feature = "std")]
#[cfg(not(each_run))]
mod ledger;
#[cfg(not(each_run))]
mod meddling;
mod pools;
#[cfg(not(each_run))]
mod programs;
#[cfg(feature = "std")]
mod region;
#[cfg(not(each_run))]
mod reports;
mod source;
#[cfg(feature = "std")]
#[cfg(not(each_run))]
mod spares;
#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
mod system;
mod values;
