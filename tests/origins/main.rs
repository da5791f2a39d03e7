//! What the documentation of the five systems that this crate descends from shows, written with
//! the names that their users find here. A file each.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]

mod arena;
mod bytes;
mod epochs;
mod pool;
mod slots;

/// Whether this panics.
fn panics<R>(f: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
}
