//! Atomics and threads: those of the standard library, or, under `cfg(loom)`,
//! of the model checker. No other file names either.

/// A count of owners. Not loom's: sources are made and shared outside of models
/// too, where loom's atomics may not be used.
#[cfg(feature = "alloc")]
pub(crate) use core::sync::atomic::{AtomicUsize as Count, fence};

/// A flag of a static. Not loom's: those cannot be made in a constant.
pub(crate) use core::sync::atomic::AtomicBool as Flag;

#[cfg(all(not(loom), any(feature = "alloc", target_has_atomic = "8")))]
pub(crate) use core::sync::atomic::Ordering;
#[cfg(all(feature = "std", not(loom)))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
#[cfg(all(feature = "std", not(loom)))]
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
