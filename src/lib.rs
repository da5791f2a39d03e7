//! Slab allocators with flat memory and flat latency, for programs that are
//! judged by their slowest operation: matching engines, real-time systems,
//! game servers.
//!
//! A slab keeps values of one type in slots of its own and gives access to them
//! by handle or by key. Insertion and removal are O(1) and straight-line code;
//! values never move; memory is allocated at construction, or a chunk at a time.
//! No sequence of safe calls is undefined behaviour, for any type of value, any
//! panic in user code, anything forgotten, and any order of drops.
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
//! let key = slab.insert_key("kept by its key");
//! assert_eq!(slab.remove_by_key(key), "kept by its key");
//! ```
//!
//! # Which type when
//!
//! | you have | take |
//! |---|---|
//! | a bound on the number of values | [`BoundedSlab`]: never allocates after construction; says [`Full`] |
//! | no bound | [`Slab`]: an insertion that grows pays for one chunk, and nothing is copied |
//! | one owner of a value | [`Slot`]: drops its value like `Box`, refuses access to a value that is gone |
//! | one owner, and access as through a pointer | [`SlotBox`]: holds the exclusive borrow as long as it lives |
//! | links, tables, many references to a value | [`Key`]: 4 bytes, checked on every access |
//! | a value that must know its own place | `insert_with`, or [`VacantSlot`] |
//! | a loop over keys that you know to be right | [`untracked`](TrackedSlab::untracked): unsafe, no borrow tracking |
//! | all values | [`iter`](TrackedSlab::iter), `iter_mut`, `keys`; [`try_iter`](TrackedSlab::try_iter) where some are borrowed |
//! | a maintenance window | [`retain`](TrackedSlab::retain), `drain`; [`Slab::shrink`], [`Slab::reserve`] |
//! | a collection that does not show its nodes | [`Ref::map`], [`RefMut::map`] |
//! | code for both slabs | [`TrackedSlab`]`<T, M: `[`Memory`]`>` |
//!
//! # When not to use it
//!
//! Values of many types or sizes, values shared by threads (everything here is
//! `!Send` and `!Sync`), or keys that must tell an old value from a new one in
//! the same slot (see [`Key`]): those want other containers.
//!
//! # Borrows
//!
//! Every access through a handle or a key is tracked at run time, as in
//! [`core::cell::RefCell`], one value at a time. Where a guard is used and
//! dropped in one expression the tracking compiles to one comparison.
//!
//! A *conflict* — the value is there, and borrowed — is a bug in most programs,
//! and never looks like absence. [`get`](TrackedSlab::get) says `None` where
//! there is no value and panics, with key and reason, where it is borrowed;
//! [`try_get`](TrackedSlab::try_get) tells the two apart by an [`AccessError`].
//! So it is with every method by key, with the iterators, and with `retain`,
//! `drain` and `clear`, which refuse before they change anything.
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
pub mod key_slab;
mod raw;
mod slab;

pub use error::{AccessError, AllocError, CapacityError, Full, KeyError};
pub use key::Key;
pub use key_slab::{BoundedKeySlab, GenKey, KeySlab, PlainSlab};
pub use slab::bounded::{Bounded, BoundedSlab};
pub use slab::builder::SlabBuilder;
pub use slab::growable::{Growable, Slab};
pub use slab::guard::{Ref, RefMut};
pub use slab::iter::{Drain, Iter, IterMut, Keys, TryIter, TryIterMut};
pub use slab::mapped::{MappedRef, MappedRefMut};
pub use slab::slot::Slot;
pub use slab::slot_box::SlotBox;
pub use slab::untracked::{SlabUntrackedAccessor, UntrackedAccessor};
pub use slab::vacant_slot::VacantSlot;
pub use slab::{Memory, TrackedSlab};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
