//! Atomics and threads: those of the standard library, or, under `cfg(loom)`,
//! of the model checker. No other file names either.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
#[cfg(not(loom))]
pub(crate) use std::thread;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
#[cfg(loom)]
pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, JoinHandle, park, spawn, yield_now};

    /// No time passes in a model.
    pub(crate) fn sleep(_: core::time::Duration) {
        yield_now();
    }
}
