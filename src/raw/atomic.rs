//! Atomics, locks and threads: those of the standard library, or, under `cfg(all(test, loom))`,
//! of the model checker. No other file names either.

/// A count of owners. Not loom's: sources are made and shared outside of models
/// too, where loom's atomics may not be used.
#[cfg(feature = "alloc")]
pub(crate) use core::sync::atomic::AtomicUsize as Count;

/// A flag of a static. Not loom's: those cannot be made in a constant.
pub(crate) use core::sync::atomic::AtomicBool as Flag;

#[cfg(all(feature = "std", not(all(test, loom))))]
pub(crate) use core::sync::atomic::AtomicBool;
#[cfg(all(not(all(test, loom)), target_has_atomic = "ptr"))]
pub(crate) use core::sync::atomic::AtomicPtr;
#[cfg(all(feature = "alloc", not(all(test, loom)), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::AtomicU64;
#[cfg(all(not(all(test, loom)), any(feature = "alloc", target_has_atomic = "8")))]
pub(crate) use core::sync::atomic::Ordering;
#[cfg(all(feature = "threads", not(all(test, loom)), target_has_atomic = "64"))]
pub(crate) use core::sync::atomic::fence;
#[cfg(all(feature = "alloc", not(all(test, loom))))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize};
#[cfg(all(feature = "std", feature = "threads", not(all(test, loom))))]
pub(crate) use std::sync::{Condvar, Mutex};
#[cfg(all(feature = "std", not(all(test, loom))))]
pub(crate) use std::thread;

#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(all(test, loom))]
pub(crate) use loom::sync::{Condvar, Mutex};
#[cfg(all(test, loom))]
pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, JoinHandle, current, park, spawn, yield_now};

    /// No time passes in a model.
    pub(crate) fn sleep(_: core::time::Duration) {
        yield_now();
    }
}
