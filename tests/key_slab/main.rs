//! `KeySlab` and `BoundedKeySlab`, with plain keys and with generations.

#![cfg(feature = "alloc")]
#![forbid(unsafe_code)]

#[allow(unreachable_pub, reason = "other users are crates of their own")]
#[path = "../common/amount.rs"]
mod amount;
mod checkpoints;
mod compact;
mod detach;
// It takes as long to compile as all others here: where all features are on, and in the
// interpreter.
#[cfg(all(feature = "serde", any(feature = "zerocopy", miri)))]
mod formats;
mod generations;
mod golden;
mod groups;
mod iteration;
mod many;
mod model;
mod panics;
mod program;
#[cfg(feature = "serde")]
#[allow(unreachable_pub, reason = "other users are crates of their own")]
#[path = "../common/random.rs"]
mod random;
#[cfg(feature = "os-memory")]
mod range;
mod restore;
mod secondary;
#[cfg(not(each_run))]
mod slab_promises;
#[cfg(feature = "serde")]
mod snapshots;
mod strict;
#[cfg(not(each_run))]
mod threads;
mod worlds;
mod wrapping;

/// The message with which `what` panics, as it has to.
fn message_of<R>(what: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
    match panic.map(drop).expect_err("it panics").downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (*other.downcast::<&str>().expect("a message")).to_string(),
    }
}
