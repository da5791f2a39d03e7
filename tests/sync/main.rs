//! Across threads: values that are sent, shared slabs, buffers and rings between threads.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

mod arena;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod broadcast;
mod counted;
mod hostile;
mod model;
mod program;
#[cfg(feature = "std")]
mod reading;
mod retire;
mod send_slot;
#[cfg(target_has_atomic = "64")]
mod shared_pool;
#[cfg(feature = "std")]
#[cfg(not(each_run))]
mod shared_ring;
#[cfg(target_has_atomic = "64")]
mod shared_slab;
#[cfg(target_has_atomic = "64")]
#[cfg(not(each_run))]
mod shared_slab_threads;
mod spsc_ring;
mod spsc_values;
