//! What everything unsafe rests on.
//!
//! # Invariants of the whole crate
//!
//! * L1: a cell that is not free stays allocated, and its home with it: a
//!   handle, a value, a guard, a box or a running destructor is on it. While the
//!   slab lives its home stays, and every key below its bound leads to a stamped
//!   cell.
//! * L2: a closed home's `remaining` is the number of its cells that are not
//!   free; whoever takes it to zero releases the block, and was the last.
//! * L3: user code (closures, destructors, and the allocator, which may use the
//!   very slab it serves) runs only in front of or behind a whole step, never
//!   within one, and what it may have changed is read again after it.
//!
//! Each file adds its own: M in `memory.rs`, S in `stamp.rs`, V in `cell.rs`,
//! F in `stack.rs`, H in `home.rs`, P in `place.rs`, T in `chunk_table.rs`, G in
//! `growable_home.rs`, R in `mailbox.rs` and `spares.rs`.
//! `walk::check` walks those that can be walked, and tests call it after
//! every step.

#[cfg(feature = "std")]
mod atomic;
pub(crate) mod bounded_home;
pub(crate) mod cell;
pub(crate) mod chunk;
pub(crate) mod chunk_table;
pub(crate) mod growable_home;
pub(crate) mod home;
#[cfg(feature = "std")]
mod mailbox;
pub(crate) mod memory;
mod owner;
pub(crate) mod place;
#[cfg(feature = "std")]
pub(crate) mod spares;
pub(crate) mod stack;
pub(crate) mod stamp;
pub(crate) mod walk;
