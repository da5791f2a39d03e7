//! Slab allocators with flat memory and flat latency, for programs that are
//! judged by their slowest operation: matching engines, real-time systems,
//! game servers.
//!
//! A slab keeps values of one type in slots of its own and hands them out by
//! handle or by key. Insertion and removal are O(1) and straight-line code;
//! nothing is moved once it stands; memory is allocated at construction, or a
//! chunk at a time. No sequence of safe calls is undefined behaviour: whatever
//! the values, whoever panics, whatever is forgotten, in whichever order things
//! are dropped.
//!
//! ```
//! use flatslab::{BoundedSlab, Key, Slab};
//!
//! let slab = BoundedSlab::with_capacity(100_000); // all memory allocated and touched now
//! let slot = slab.insert(42).unwrap();            // an owning handle, 16 bytes
//! *slot.get_mut() = 100;                          // &self: borrows are tracked at run time
//! let key: Key = slot.key();                      // and a key to the same value, 4 bytes
//! assert_eq!(*slab.get(key).unwrap(), 100);
//! assert_eq!(slot.into_inner(), 100);
//!
//! let slab = Slab::new();                         // grows by chunks, copies nothing
//! let key = slab.insert("kept by its key").leak();
//! assert_eq!(slab.remove_by_key(key), "kept by its key");
//! ```
//!
//! # Which type when
//!
//! | you have | take |
//! |---|---|
//! | a bound on how many values there are | [`BoundedSlab`]: never allocates after construction; says [`Full`] |
//! | no such bound | [`Slab`]: an insertion that grows pays for one chunk, and nothing is copied |
//! | one owner of a value | [`Slot`]: drops its value like `Box`, refuses access to a value that is gone |
//! | one owner, and access like through a pointer | [`SlotBox`]: holds the exclusive borrow as long as it lives |
//! | links, tables, many who refer to a value | [`Key`]: 4 bytes, checked on every access |
//! | a value that must know where it stands | `insert_with`, or [`VacantSlot`] |
//! | a loop over keys that you vouch for | `untracked`: unsafe, no borrow tracking |
//! | all values | `iter`, `iter_mut`, `keys`: what is borrowed already is skipped |
//! | a maintenance window | `retain`, `drain`; [`Slab::shrink`], [`Slab::reserve`] |
//!
//! # When not to use it
//!
//! Values of many types or sizes, values shared by threads (everything here is
//! `!Send` and `!Sync`), or keys that must tell an old value from a new one in
//! the same slot (see [`Key`]): those want other containers.
//!
//! # Borrows
//!
//! Every access through a handle or a key is tracked at run time, as
//! [`core::cell::RefCell`] does it, one cell at a time. Where a guard is used
//! and dropped in one expression the tracking compiles to one comparison. A
//! method without `try_` in its name panics on a conflict, one with it says so.
//!
//! # Features
//!
//! `std` (default): nothing in the core depends on it. Without it the crate
//! needs `alloc` alone.
#![cfg_attr(not(test), no_std)]
#![warn(rustdoc::all, missing_debug_implementations)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The tests that need more than the public methods share their helpers with
// tests/ and fuzz/, where the crate has this name.
#[cfg(test)]
extern crate self as flatslab;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(doctest)]
mod compile_fail;
mod error;
mod key;
mod raw;
mod slab;

pub use error::{AllocError, Borrowed, CapacityError, Full};
pub use key::Key;
pub use slab::bounded::{Bounded, BoundedSlab};
pub use slab::builder::SlabBuilder;
pub use slab::growable::{Growable, Slab};
pub use slab::guard::{Ref, RefMut};
pub use slab::iter::{Drain, Iter, IterMut, Keys};
pub use slab::slot::Slot;
pub use slab::slot_box::SlotBox;
pub use slab::untracked::{SlabUntrackedAccessor, UntrackedAccessor};
pub use slab::vacant_slot::VacantSlot;
pub use slab::{Memory, TrackedSlab};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
