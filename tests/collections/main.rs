//! Lists, heaps, indices and sorted maps of keys.

#![cfg(feature = "alloc")]
#![forbid(unsafe_code)]

#[allow(unreachable_pub, reason = "other users are crates of their own")]
#[path = "../common/amount.rs"]
mod amount;
#[cfg(not(each_run))]
mod caches;
#[cfg(not(each_run))]
mod dense;
mod fragile;
mod heaps;
#[cfg(not(each_run))]
mod indices;
mod lists;
#[cfg(not(each_run))]
mod maps;
mod misuse;
#[allow(unreachable_pub, reason = "other users are crates of their own")]
#[path = "../common/random.rs"]
mod random;
#[cfg(not(each_run))]
mod rewinds;
#[cfg(not(each_run))]
mod timers;

/// Runs what may panic, and returns the message if it does.
fn message_of<R>(what: impl FnOnce() -> R) -> Option<String> {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
    let message = panic.map(drop).err()?;
    Some(match message.downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (*other.downcast::<&str>().expect("a message")).to_string(),
    })
}

/// How many steps random programs take: a million in the weekly run.
fn steps() -> u64 {
    match std::env::var("FLATSLAB_WEEKLY") {
        Ok(_) => 1_000_000,
        Err(_) => amount::amount(20_000, 150),
    }
}
