//! Slab allocators with flat memory and flat latency, for programs that are
//! judged by their slowest operation: matching engines, real-time systems,
//! game servers.
//!
//! A slab stores values of one type in slots, and gives access to them by handle or by
//! key. Insertion and removal take constant time. Memory is allocated at construction, or one
//! chunk at a time, and values do not move; a [`KeySlab`] grows as a `Vec` does, and moves its
//! values then. No sequence of safe calls is undefined behaviour, for any type of value, any
//! panic in user code, any `mem::forget`, and any order of drops.
//!
//! | family | what it is for |
//! |---|---|
//! | [`KeySlab`], [`BoundedKeySlab`] | A container like `Vec`, whose indices stay valid: values go in and out by key. |
//! | [`Slab`], [`BoundedSlab`] | Values shared through `&self`, with handles that own them and borrows checked at run time. |
//! | [`Pool`](pool::Pool) | Boxes for objects of one size that are made and dropped all the time. |
//! | [`Arena`](bump::Arena) | Scratch memory of mixed types that is freed all at once. |
//! | [`ByteArena`](bytes::ByteArena) | Reference-counted byte buffers of any size, for one thread or many. |
//! | [`EpochSlab`](epoch::EpochSlab) | Objects that end together: those of a request, a session, a day. |
//! | [`sync`] | Values and bytes between threads: [`SendSlot`](sync::SendSlot), [`SharedSlab`](sync::SharedSlab), rings. |
//! | [`memory`] | Huge pages, locked pages or your own memory, for any of the others. |
//!
//! ```
//! use flatslab::{BoundedSlab, KeySlab};
//!
//! let mut book = KeySlab::new();                  // plain references; grows as a Vec does
//! let key = book.insert(42);                      // 4 bytes
//! book[key] += 1;
//! assert_eq!(book.remove(key), 43);
//!
//! let slab = BoundedSlab::with_capacity(100_000); // all memory allocated and touched now
//! let slot = slab.insert(42).unwrap();            // an owning handle, 16 bytes
//! *slot.get_mut() = 100;                          // &self: borrows are tracked at run time
//! let key = slab.insert_key(7).unwrap();          // owned by the slab: no handle to keep
//! assert_eq!(*slot.get() + slab.remove_by_key(key), 107);
//! ```
//!
//! # Which type when
//!
//! | you have | use |
//! |---|---|
//! | what you would use `slab` or `slotmap` for | [`KeySlab`]; with a fixed capacity, [`BoundedKeySlab`] |
//! | keys that may be used after their value is gone | `KeySlab<T, `[`GenKey`]`>` |
//! | several containers, whose keys must not be mixed up | a [`key_type!`] each |
//! | values shared while some are borrowed, of a bounded number | [`BoundedSlab`]: never allocates after construction; a full one returns [`FullError`] |
//! | the same without a bound | [`Slab`]: nothing is copied; of values of up to 64 bytes fewer than one insertion in a thousand waits for memory |
//! | one owner of a value | [`Slot`]: drops its value like `Box`, refuses access to a value that is gone |
//! | one owner, and access as through a pointer | [`SlotBox`]: holds the exclusive borrow as long as it lives |
//! | links, tables, many references to a value | [`Key`]: 4 bytes, checked on every access |
//! | objects of one size with one owner, made and dropped all the time | [`pool::Pool`]: no metadata, boxes of 8 bytes, misuse does not compile |
//! | either without an allocator, in a static or on the stack | [`pool::PoolStorage`]; [`KeySlabStorage`](key_slab::KeySlabStorage) for a [`BoundedKeySlab`] |
//! | boxes that an interrupt and the main loop, or two threads, hand over | [`pool::SendBox`], of a pool in a static |
//! | temporaries of mixed types, of a message, a frame or a request | [`bump::Arena`], and its scopes |
//! | bytes of different lengths: frames, messages, values of a cache | [`bytes::ByteArena`]: reference counts, slices, chains; a [`Loc`](bytes::Loc) of 16 bytes for tables |
//! | the newest entries of a stream, in bounded memory | [`bytes::Ring`] |
//! | values made by one thread and ended by others | a tracked slab, and [`Slot::into_send`](Slot::into_send): the memory comes back, and no thread calls the allocator |
//! | values that many threads insert, read and remove at once | [`sync::SharedSlab`]: lock-free, keys with generations, guards |
//! | bytes and frames between threads | buffers with [atomic counts](bytes::Atomic); [`sync::SpscRing`] for two threads, [`sync::SharedRing`] for many |
//! | objects that die together: those of a request, a session, a day | [`epoch::EpochSlab`]; of bytes [`epoch::EpochBytes`] |
//! | a value that must know its own place | [`vacant_entry`](key_slab::PlainSlab::try_vacant_entry); `insert_with`, or [`VacantSlot`] |
//! | a loop over keys that you know to be right | [`untracked`](TrackedSlab::untracked): unsafe, no borrow tracking |
//! | all values | `iter`, `iter_mut`, `keys`; where some are held by guards, [`try_iter`](TrackedSlab::try_iter) |
//! | a maintenance window | [`retain`](TrackedSlab::retain), `drain`; [`Slab::shrink_to_fit`], [`Slab::reserve`] |
//! | a large working set, memory that never faults, or memory of your own | any of them, built with [`memory::Pages`] |
//! | code for both kinds of memory | [`PlainSlab`]`<T, K, S>`, [`TrackedSlab`]`<T, M>` |
//!
//! A table in [`sync`] says which types are `Send` and `Sync`. The tracked slabs are neither.
//!
//! # Coming from `slab`
//!
//! | there | here |
//! |---|---|
//! | `Slab<T>`, `usize` | [`KeySlab`]`<T>`, [`Key`]; [`Key::index`] and `Key::try_from(usize)` convert |
//! | `insert`, `get`, `get_mut`, `contains`, `remove`, `try_remove`, `slab[key]` | the same |
//! | `vacant_entry`, `vacant_key`, `key_of` | the same |
//! | `get2_mut` | [`get_disjoint_mut`](PlainSlab::get_disjoint_mut), of any number of keys |
//! | `iter`, `iter_mut`, `retain`, `drain`, `clear`, `reserve`, `shrink_to_fit` | the same |
//! | a slab of references to what is dropped before it | does not compile: declare it after what its values borrow |
//! | `compact`, `get2_unchecked_mut` | [`compact`](PlainSlab::compact), [`get_disjoint_unchecked_mut`](PlainSlab::get_disjoint_unchecked_mut) |
//! | `FromIterator<(usize, T)>` | the same with [`Key`]s |
//! | `serde` | a snapshot, which has the order of the free slots too; `#[serde(with = "flatslab::key_slab::as_map")]` for the form of `slab` |
//! | `slab.insert(7)` of a [`Slab`] or [`BoundedSlab`] | `insert_key(7)`: `insert` returns a handle that owns the value, and drops it |
//!
//! # Coming from `slotmap`
//!
//! | there | here |
//! |---|---|
//! | `SlotMap<DefaultKey, V>` | [`KeySlab`]`<V, `[`GenKey`]`>`, made by [`with_key`](PlainSlab::with_key) |
//! | `new_key_type! { struct K; }` | [`key_type!`]`(struct K(GenKey));` |
//! | `remove(key) -> Option<V>` | [`try_remove`](PlainSlab::try_remove); `remove` panics |
//! | `insert_with_key(f)` | [`vacant_entry`](PlainSlab::vacant_entry): its `key()`, then `insert` |
//! | `K::null()`, `Default` | `Option<K>`, which is not larger; [`Key::NONE`] of keys without generations |
//! | `key.data().as_ffi()` | [`GenKey::into_raw`], [`GenKey::from_raw`] |
//! | `SecondaryMap<K, U>` | [`SecondarySlab`](key_slab::SecondarySlab)`<U, K>`, whose `insert` names the slab that the key is of |
//! | `SparseSecondaryMap<K, U>` | `HashMap<K, U>`: a key contains its generation, so a stale one finds nothing |
//! | `detach`, `reattach` | the same; [`free_detached`](PlainSlab::free_detached) |
//! | `DenseSlotMap`, `HopSlotMap` | none: values do not move, and iteration visits the vacant slots before the last value |
//!
//! # Borrows
//!
//! Every access through a handle or a key is tracked at run time, as in
//! [`core::cell::RefCell`], one value at a time. Where a guard is used and
//! dropped in one expression the tracking compiles to one comparison.
//!
//! A *conflict* means that the value exists and is borrowed. That is a bug in most
//! programs, and never looks like absence. [`get`](TrackedSlab::get) returns `None` if
//! there is no value, and panics with key and reason if it is borrowed;
//! [`try_get`](TrackedSlab::try_get) returns an [`AccessError`] that tells the two apart.
//! Every method by key and the iterators do the same. `retain`, `drain` and `clear`
//! panic before they change anything.
//!
//! # Words that mean the same everywhere
//!
//! | word | meaning | instead of |
//! |---|---|---|
//! | `try_…` | returns a `Result`, or `None` if there is only one reason; never panics or aborts. `try_retain` and `try_drain` leave what is borrowed | |
//! | `insert` | puts a value into a slab, under a key or a handle; a `Result` if the slab is bounded | |
//! | `remove` | ends a value by its key, and returns it if no one else can have it borrowed by then | |
//! | `take` | moves a value out, where `remove` only drops it | |
//! | `alloc` | takes memory from an arena, a pool or an epoch; panics if that is full, where `try_alloc` returns an error | |
//! | `get` | borrows by key; `None` if there is no value | |
//! | `reserve` | makes room for more, as in `std` | |
//! | `vacant_…` | a place that has no value yet, to be filled | |
//! | `prepare` | allocates and touches memory for the next `n` insertions, which cause no page fault then | `touch`, `prefault` |
//! | `touch_ahead` | how many slots of a new chunk the insertion that comes to the first of them touches | |
//! | `shrink_to_fit` | gives unused memory back; walks over all of it | `trim`, `shrink` |
//! | `reclaim` | frees the slots that other threads gave back, and drops the values that they retired | |
//! | `clear` | drops all values | |
//! | `reset` | makes all memory free, and drops no value | |
//! | `capacity` | the number of values there is room for | |
//! | `max_bytes` | the limit of a container that grows | |
//! | generation | the number that distinguishes the values a slot has had | `version`, `era`, `round` |
//! | `wear` | how many generations the most worn slot has used | |
//! | retired | of a slot: it takes no more values, because its generations are used up; of a value: given back to its slab undropped, for [`reclaim`](TrackedSlab::reclaim) to drop | `worn_out` |
//! | chunk | a block of many slots or buffers; `chunk_bytes`, `chunk_capacity` | `slab_size`, `slab_bytes` |
//! | scope | a call at whose end everything allocated or inserted in it is freed | `domain` |
//! | guard | a value that ends a borrow, or an epoch, when it is dropped | `domain_guard` |
//! | `…Error` | every error; [`SizeError`] where bytes are too many | `NoRoom`, `Exhausted`, `TooBig` |
//! | `pages` | where the memory comes from: [`Pages`](memory::Pages), an option of every [`Builder`] | |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | chunks built ahead by a thread; [`sync::SharedRing`] |
//! | `alloc` (part of `std`) | everything but pools in a [`PoolStorage`](pool::PoolStorage) and slabs in a [`KeySlabStorage`](key_slab::KeySlabStorage), which need no allocator |
//! | `serde` | snapshots of [`KeySlab`] and its keys |
//! | `os-memory` | huge pages, locked memory and memory nodes of Linux |
//! | `allocator-api2` | the same pages for your own collections, and your allocators for the slabs |
//! | `zerocopy` | typed views of buffers |
//! | `bytes` | the traits of that crate for buffers |
//! | `stats` | counts of the references to buffers |
//! | `track` | where each value of an epoch slab was inserted |
#![cfg_attr(not(test), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(rustdoc::all, missing_debug_implementations)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The tests that need more than the public methods share their helpers with
// tests/ and fuzz/, where the crate has this name.
#[cfg(test)]
extern crate self as flatslab;

#[cfg(feature = "alloc")]
mod builder;
#[cfg(feature = "alloc")]
pub mod bump;
#[cfg(feature = "alloc")]
pub mod bytes;
#[cfg(all(test, feature = "alloc"))]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(feature = "alloc")]
pub mod epoch;
mod error;
mod key;
pub mod key_slab;
#[cfg(feature = "alloc")]
pub mod memory;
pub mod pool;
mod raw;
#[cfg(feature = "alloc")]
mod slab;
#[cfg(feature = "alloc")]
pub mod sync;

#[cfg(feature = "alloc")]
pub use builder::Builder;
/// The short name of [`FullError`].
#[doc(no_inline)]
pub use error::FullError as Full;
pub use error::{AccessError, AllocError, BuildError, CapacityError, FullError, SizeError};
pub use key::{Key, KeyError};
// Inline: their pages belong on the front page, like those of the other families.
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use key_slab::KeySlab;
#[doc(inline)]
pub use key_slab::{BoundedKeySlab, GenKey, PlainSlab};
#[cfg(feature = "alloc")]
pub use slab::bounded::{Bounded, BoundedSlab};
#[cfg(feature = "alloc")]
pub use slab::growable::{Growable, Slab};
#[cfg(feature = "alloc")]
pub use slab::guard::{MappedRef, MappedRefMut};
#[cfg(feature = "alloc")]
pub use slab::guard::{Ref, RefMut};
#[cfg(feature = "alloc")]
pub use slab::iter::{Drain, Iter, IterMut, Keys, TryIter, TryIterMut};
#[cfg(feature = "alloc")]
pub use slab::keyed::{SlabUntrackedAccessor, UntrackedAccessor};
#[cfg(feature = "alloc")]
pub use slab::slot::Slot;
#[cfg(feature = "alloc")]
pub use slab::slot::VacantSlot;
#[cfg(feature = "alloc")]
pub use slab::slot_box::SlotBox;
#[cfg(feature = "alloc")]
pub use slab::{Memory, TrackedSlab};

#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
mod readme {}
