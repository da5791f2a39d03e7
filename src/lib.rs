//! Slab allocators for programs that are judged by their slowest operation: matching engines,
//! real-time systems, game servers.
//!
//! A slab stores values of one type in slots. A value is accessed through a handle that owns it,
//! or by a key. Insertion and removal take constant time, except for an insertion that grows the
//! slab. Memory is allocated at construction, or one chunk at a time, and values do not move. The
//! exception is [`KeySlab`], which may move its values when it grows, as `Vec` does; its keys stay
//! valid.
//!
//! No sequence of safe calls causes undefined behaviour, for any type of value, any panic in user
//! code, any `mem::forget`, and any order of drops.
//!
//! | family | what it is for |
//! |---|---|
//! | [`BoundedSlab`], [`Slab`] | Values shared through `&self`, with handles that own them and borrows checked at run time. |
//! | [`KeySlab`], [`BoundedKeySlab`] | A container like `Vec` whose indices stay valid: values are inserted and removed by key. |
//! | [`collections`] | Lists, heaps, timer wheels, sorted maps, caches and an index by id, of the keys of a key slab. |
//! | [`Pool`](pool::Pool) | Boxes for objects of one type that are created and dropped all the time. |
//! | [`Arena`](bump::Arena) | Scratch memory for values of mixed types, freed all at once. |
//! | [`ByteArena`](bytes::ByteArena) | Reference-counted byte buffers of any size, for one thread or many. |
//! | [`EpochSlab`](epoch::EpochSlab) | Objects that are freed as a group: those of a request, a session, a day. |
//! | [`sync`] | Values and bytes between threads: [`SendSlot`](sync::SendSlot), [`SharedSlab`](sync::SharedSlab), [`SharedPool`](sync::SharedPool), rings. |
//! | [`memory`] | Huge pages, locked pages or your own memory, for any of the others. |
//!
//! ```
//! use flatslab::{BoundedSlab, KeySlab, Slab};
//!
//! let slab = BoundedSlab::with_capacity(100_000); // all memory allocated and touched now
//! let slot = slab.insert(42).unwrap();            // an owning handle, 16 bytes
//! *slot.get_mut() = 100;                          // `&self`: borrows are tracked at run time
//! let key = slab.insert_key(7).unwrap();          // owned by the slab; the key has 4 bytes
//! assert_eq!(*slot.get() + slab.remove_by_key(key), 107);
//!
//! let slab = Slab::new();                         // the same, growing by chunks
//! assert_eq!(slab.insert(42).into_inner(), 42);
//!
//! let mut book = KeySlab::new();                  // plain references; grows as a `Vec` does
//! let key = book.insert(42);
//! book[key] += 1;
//! assert_eq!(book.remove(key), 43);
//! ```
//!
//! The [`guide`] has pages about choosing a type, moving from other crates, and programs built step
//! by step: an order book, a cache, timers, a server, a game, firmware.
//!
//! # Which type when
//!
//! | you have | use |
//! |---|---|
//! | a bounded number of values, accessed while some of them are borrowed | [`BoundedSlab`]: never allocates after construction; a full slab returns [`FullError`] |
//! | the same without a bound | [`Slab`]: grows by chunks and copies nothing. For values of up to 64 bytes, fewer than one insertion in a thousand waits for memory |
//! | one owner of a value | [`Slot`]: drops its value like `Box`, and refuses access to a value that was removed |
//! | one owner, and access as through a pointer | [`SlotBox`]: holds the exclusive borrow for as long as it lives |
//! | owners of values of different types in one collection | [`unsize!`]: a [`PoolBox`](pool::PoolBox)`<dyn Trait>` or a [`DynSlotBox`]`<dyn Trait>` |
//! | links, tables, many references to a value | [`Key`]: 4 bytes, checked on every access |
//! | values that you would keep in `slab` or `slotmap` | [`KeySlab`]; with a fixed capacity, [`BoundedKeySlab`] |
//! | keys that may be used after their value was removed | `KeySlab<T, `[`GenKey`]`>` |
//! | several containers whose keys must not be mixed up | a [`key_type!`] for each |
//! | objects of one type with one owner, created and dropped all the time | [`pool::Pool`]: no metadata, boxes of 8 bytes, misuse does not compile |
//! | no allocator, or a container in a static or on the stack | [`pool::PoolStorage`]; [`KeySlabStorage`](key_slab::KeySlabStorage) for a [`BoundedKeySlab`] |
//! | boxes passed between an interrupt and the main loop, or between two threads | [`pool::SendBox`], from a pool in a static |
//! | temporaries of mixed types, for a message, a frame or a request | [`bump::Arena`], and its scopes |
//! | bytes of different lengths: frames, messages, cached values | [`bytes::ByteArena`]: reference counts, slices, chains; a [`Loc`](bytes::Loc) of 16 bytes for tables |
//! | the newest entries of a stream, in bounded memory | [`bytes::Ring`] |
//! | values created by one thread and dropped by others | a tracked slab, and [`Slot::into_send`](Slot::into_send): the slot returns to its slab, and neither thread calls the allocator |
//! | values that many threads insert, read and remove at once | [`sync::SharedSlab`]: lock-free, keys with generations, guards |
//! | buffers that are filled on one thread, dropped on another, and used again | [`sync::SharedPool`]: bounded, reset on return, waits if asked to |
//! | bytes and frames passed between threads | buffers with [atomic counts](bytes::Atomic); [`sync::SpscRing`] for two threads, [`sync::SharedRing`] for many |
//! | values that each of several readers on other threads gets | [`sync::BroadcastRing`] |
//! | objects that are freed as a group: those of a request, a session, a day | [`epoch::EpochSlab`]; for bytes, [`epoch::EpochBytes`] |
//! | a value that contains its own key or address | [`vacant_entry`](key_slab::PlainSlab::try_vacant_entry); in a tracked slab `insert_with`, or [`VacantSlot`] |
//! | lists or trees of the crate `intrusive-collections` | [`SlotBox`]es or [`PoolBox`](pool::PoolBox)es, by [`slab_adapter!`] (feature `intrusive-collections`) |
//! | values that are walked as one slice, in vector instructions or by several threads, and found by key | [`collections::DenseSlab`] |
//! | a simulation that returns to the states of earlier frames (rollback) | [`CheckpointSlab`](key_slab::CheckpointSlab), which logs what changes; [`SlabGroup`](key_slab::SlabGroup) for several slabs |
//! | a loop over keys whose borrows you check yourself | [`untracked`](TrackedSlab::untracked): unsafe, no borrow tracking |
//! | a loop over all values | `iter`, `iter_mut`, `keys`; [`try_iter`](TrackedSlab::try_iter) if guards may hold some of them |
//! | a maintenance window | [`retain`](TrackedSlab::retain), `drain`; [`Slab::shrink_to_fit`], [`Slab::reserve`] |
//! | a large working set, memory that never faults, or memory of your own | any of the containers, built with [`memory::Pages`] |
//! | a queue of jobs by time or priority, which are moved and cancelled by key | [`collections::Heap`] |
//! | timeouts, most of which are started again or stopped before they come | [`collections::TimerWheel`] |
//! | queues and lists whose values are removed by key, such as a price level | [`collections::List`] |
//! | a bounded cache that displaces what was used longest ago | [`collections::Lru`] |
//! | values that are found by an id which they contain | [`collections::KeyIndex`] |
//! | values in order of a key: price levels, time windows | [`collections::SortedMap`], [`collections::SortedSlab`] |
//! | memory that is registered with the kernel or a device as one block | a [`memory::Region`], from which any of the containers takes its memory (feature `std`) |
//! | a running program whose use of memory, peaks, refusals and growth you want to watch | the containers' `stats()`, and the guide's page [`metrics`](guide::metrics) |
//! | code that is generic over bounded and growable slabs | [`TrackedSlab`]`<T, M>`, [`PlainSlab`]`<T, K, S>` |
//!
//! [`BoundedSlab`] and [`Slab`] are called *tracked* slabs, because they track borrows. They and
//! their handles are neither `Send` nor `Sync`; a table in [`sync`] says which types are.
//!
//! # Coming from `slab`
//!
//! | there | here |
//! |---|---|
//! | `Slab<T>`, `usize` | [`KeySlab`]`<T>`, [`Key`]; [`Key::index`] and `Key::try_from(usize)` convert |
//! | `insert`, `get`, `get_mut`, `contains`, `remove`, `try_remove`, `slab[key]` | the same |
//! | `vacant_entry`, `vacant_key`, `key_of` | the same |
//! | `get2_mut`, `get_disjoint_mut` | [`get_disjoint_mut`](PlainSlab::get_disjoint_mut), for any number of keys |
//! | `iter`, `iter_mut`, `retain`, `clear`, `reserve`, `shrink_to_fit` | the same |
//! | `with_capacity` | the same; [`with_capacity_and_key`](PlainSlab::with_capacity_and_key) for keys of another type |
//! | `drain`, of values | [`drain`](PlainSlab::drain), of pairs of key and value |
//! | a slab declared before the values that it refers to | does not compile: declare the slab after them |
//! | `compact`, `get2_unchecked_mut` | [`compact`](PlainSlab::compact), [`get_disjoint_unchecked_mut`](PlainSlab::get_disjoint_unchecked_mut) |
//! | `FromIterator<(usize, T)>` | the same with [`Key`]s |
//! | `serde` | a snapshot, which also has the order of the free slots; `#[serde(with = "flatslab::key_slab::as_map")]` for the format of `slab` |
//! | `let key = slab.insert(7)` with a [`Slab`] or [`BoundedSlab`] | `insert_key(7)`; `insert` returns a [`Slot`] that owns the value and drops it |
//!
//! # Coming from `slotmap`
//!
//! | there | here |
//! |---|---|
//! | `SlotMap<DefaultKey, V>` | [`KeySlab`]`<V, `[`GenKey`]`>`, created by [`with_key`](PlainSlab::with_key) |
//! | `new_key_type! { struct K; }` | [`key_type!`]`(struct K(GenKey));` |
//! | `remove(key) -> Option<V>` | [`try_remove`](PlainSlab::try_remove); `remove` panics |
//! | `insert_with_key(f)` | [`vacant_entry`](PlainSlab::vacant_entry): its `key()`, then `insert` |
//! | `K::null()`, `Default` | `Option<K>`, which is not larger; [`Key::NONE`] for keys without generations |
//! | `key.data().as_ffi()` | [`GenKey::into_raw`], [`GenKey::from_raw`] |
//! | `SecondaryMap<K, U>` | [`SecondarySlab`](key_slab::SecondarySlab)`<U, K>`, whose `insert` also takes the slab that returned the key, and panics if the key is stale, where `SecondaryMap` stores the value or returns `None` |
//! | `SparseSecondaryMap<K, U>` | `HashMap<K, U>`: a key contains its generation, so a stale key finds nothing |
//! | `detach`, `reattach` | the same; [`free_detached`](PlainSlab::free_detached) |
//! | `DenseSlotMap` | [`DenseSlab`](collections::DenseSlab), whose values move in the same order |
//! | `HopSlotMap` | no counterpart: iteration visits the vacant slots before the last value |
//!
//! # Coming from `nexus-slab`
//!
//! | there | here |
//! |---|---|
//! | a bounded slab | [`BoundedSlab`]; for boxes without a check, [`pool::Pool`] |
//! | an unbounded slab | [`Slab`] |
//! | a slot that is freed by hand | [`Slot`], which frees its place when it is dropped: keep it, or insert with `insert_key` |
//! | access to a slot, `unsafe` | [`Slot::get`], [`Slot::get_mut`], checked; [`SlotBox`] without a check at each access |
//! | a key that is kept beside the slot | [`Slot::key`]; [`TrackedSlab::get`] by key |
//!
//! # Borrows
//!
//! Tracked slabs check borrows at run time, one value at a time, like [`core::cell::RefCell`]:
//! an access through a handle or by key returns a guard. Where a guard is used and dropped in
//! one expression, the tracking compiles to one comparison.
//!
//! A *conflict* is an access to a value whose present borrow excludes it. A conflict is usually a
//! bug, so it is never reported as `None`. [`get`](TrackedSlab::get) returns `None` if there is no
//! value, and panics with the key and the reason if the value is mutably borrowed;
//! [`try_get`](TrackedSlab::try_get) returns an [`AccessError`] that tells the two apart. Every
//! method by key and the iterators do the same. `retain`, `drain` and `clear` panic before they
//! change anything.
//!
//! # Debug builds
//!
//! With debug assertions, the bytes of a value in a tracked slab, a key slab or a pool are
//! overwritten with `0xDE` when the value has been moved out or dropped. `unsafe` code that still
//! has a pointer to the value then finds `0xDEDE_DEDE` (3,739,147,998), and not a value that looks
//! right. On 64-bit targets a pointer of such bytes is invalid, so following it ends the program.
//! Not overwritten are:
//!
//! * a removed value of a [`KeySlab`] with [`Key`]s, if an `Option` of its type is not larger than
//!   the type: the same bytes say that there is no value;
//! * the first word of a free cell in a [`PoolStorage`](pool::PoolStorage), or of a slot that
//!   another thread [returned](Slot::into_send), where a link is;
//! * a value that [`PoolBox::take`](pool::PoolBox::take) moves out, whose cell stays with the box;
//! * values that are forgotten and not visited: by a `reset` of a pool, by
//!   [`PlainSlab::clear`] if they have no destructor, or by a rewind of a
//!   [`CheckpointSlab`](key_slab::CheckpointSlab), which ends the use of their slots.
//!
//! Under Miri the same bytes become uninitialised, so it reports that they are read. Safe code never
//! sees these bytes, in any build.
//!
//! # Words that mean the same everywhere
//!
//! | word | meaning | instead of |
//! |---|---|---|
//! | `try_…` | returns a `Result`, or `None` if there is only one reason; never panics or aborts. In tracked slabs `try_retain` and `try_drain` skip borrowed values and count them | |
//! | `insert` | puts a value into a slab, and returns a key or a handle: in a `Result` if the slab is bounded. A slab that grows panics or aborts if it cannot, as `Vec` does, where `try_insert` returns the value | |
//! | `remove` | removes the value with this key, and returns it; panics if there is no value, where `try_remove` returns `None`, or an error if the slab [logs](key_slab::Logged) its changes. In a [`SharedSlab`](sync::SharedSlab) or [`EpochBytes`](epoch::EpochBytes) it drops the value instead, in a `SharedSlab` at the latest with its last guard, and returns whether there was a value | |
//! | `take` | moves a value out: by key, of a [`SharedSlab`](sync::SharedSlab) or an [`EpochSlab`](epoch::EpochSlab); or out of a [`Slot`] or a [`PoolBox`](pool::PoolBox), whose place stays reserved for the next value | |
//! | `alloc` | takes memory from an arena, a pool or an epoch; panics if that is full, where `try_alloc` returns an error | |
//! | `get` | borrows the value with this key; `None` if there is no value | |
//! | `reserve` | makes room for more values, as in `std` | |
//! | `vacant_…` | a slot or an entry that has no value yet, to be filled | |
//! | `prepare` | allocates and touches memory for the next `n` insertions, which then cause no page fault | `touch`, `prefault` |
//! | `touch_ahead` | the number of slots whose memory is touched at once, by the insertion that reaches the first of them | |
//! | `shrink_to_fit` | frees unused memory; visits every slot | `trim`, `shrink` |
//! | `reclaim` | frees the slots that other threads returned, and drops the values that they retired | |
//! | `checkpoint`, `rewind` | notes the present state, and returns to it: an [`Arena`](bump::Arena) frees what was allocated since, a [`CheckpointSlab`](key_slab::CheckpointSlab) or a [`SlabGroup`](key_slab::SlabGroup) undoes every change | `savepoint`, `rollback`, `roll_back` |
//! | `clear` | drops all values | |
//! | `reset` | frees everything at once, and drops no value | |
//! | `capacity` | the number of values there is room for | |
//! | `max_bytes` | the limit of a container that grows | |
//! | generation | the number that distinguishes the values a slot has had | `version`, `era`, `round` |
//! | `wear` | the number of generations that the most worn slot has used | |
//! | `retired_slots` | slots that take no more values, because their generations are used up | `worn_out` |
//! | `retired_values` | values that another thread left to its slab undropped ([`retire`](sync::SendSlot::retire)), for [`reclaim`](TrackedSlab::reclaim) to drop | |
//! | chunk | a block of many slots or buffers; `chunk_bytes`, `chunk_capacity` | `slab_size`, `slab_bytes` |
//! | scope | a call at whose end everything that was allocated or inserted in it is freed | `domain` |
//! | guard | a value that ends a borrow, or an epoch, when it is dropped | `domain_guard` |
//! | `…Error` | every error; [`SizeError`] where there are too many bytes | `NoRoom`, `Exhausted`, `TooBig` |
//! | `pages` | where the memory comes from: [`Pages`](memory::Pages), an option of every [`Builder`] | |
//!
//! # Features
//!
//! Without any feature the crate has [`pool::PoolStorage`] and
//! [`KeySlabStorage`](key_slab::KeySlabStorage), whose containers need no allocator, [`Key`]s, and
//! [`List`](collections::List)s of them.
//!
//! A program that must review what it uses leaves families out: `default-features = false`, and the
//! features of those that it has. [`KeySlab`], [`pool`] and [`memory`] come with `alloc`.
//!
//! | feature | adds |
//! |---|---|
//! | `tracked` (default; enables `alloc`) | slabs with handles, and with borrows that are tracked: [`Slab`], [`BoundedSlab`] and their guards |
//! | `arenas` (default; enables `alloc`) | [`bump`], [`bytes`] and [`epoch`] |
//! | `threads` (default; enables `alloc`) | [`sync`]: [`SendSlot`](sync::SendSlot) needs `tracked` too, [`SharedRing`](sync::SharedRing) `arenas` and `std` |
//! | `std` (default; enables `alloc`) | [spare chunks](Builder::spare_chunks) built by a thread, [`sync::SharedRing`], [`memory::Region`], `std::io::Write` and `read_from` for buffers and ring entries; a [`SendSlot`](sync::SendSlot) that is dropped on its slab's thread frees its slot at once |
//! | `alloc` | [`KeySlab`] and its relatives, the [`collections`] but [`List`](collections::List), pools that allocate, [`memory`], [`Builder`] |
//! | `serde` (enables `alloc`) | snapshots of [`KeySlab`] and [`BoundedKeySlab`], and serialization of their keys |
//! | `os-memory` (enables `std`) | huge pages, locked memory and memory nodes, and slabs that grow in place, on Linux |
//! | `allocator-api2` (enables `alloc`) | [`PageAllocator`](memory::PageAllocator) for your own collections, [`FromAllocator`](memory::FromAllocator) to use your allocator in the slabs; `&Arena` is an allocator |
//! | `zerocopy` (enables `arenas`) | typed views of buffers |
//! | `bytes` (enables `arenas`) | the traits of the crate `bytes` for buffers, and conversion into its `Bytes` |
//! | `intrusive-collections` (enables `tracked`) | [`SlotBox`]es and [`PoolBox`](pool::PoolBox)es in the lists and trees of the crate `intrusive-collections` ([`intrusive`], [`slab_adapter!`]) |
//! | `stats` | figures that take time to count: the references to buffers, in [`bytes::Stats`], and the peaks of tracked slabs and pools, in [`Stats`] |
//! | `track` (enables `arenas`) | the place in the code where each value of an epoch slab was inserted |
#![cfg_attr(not(test), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(rustdoc::all, missing_debug_implementations)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]
#![cfg_attr(
    not(all(feature = "tracked", feature = "arenas", feature = "threads")),
    allow(dead_code, reason = "a family that is left out uses it")
)]
#![cfg_attr(
    not(all(
        feature = "tracked",
        feature = "arenas",
        feature = "threads",
        feature = "std"
    )),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "it leads to what is left out"
    )
)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The tests that need more than the public methods share their helpers with
// tests/ and fuzz/, where the crate has this name.
#[cfg(test)]
extern crate self as flatslab;

mod as_value;
#[cfg(feature = "alloc")]
mod builder;
#[cfg(feature = "arenas")]
pub mod bump;
#[cfg(feature = "arenas")]
pub mod bytes;
pub mod collections;
#[cfg(all(test, feature = "alloc"))]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(feature = "arenas")]
pub mod epoch;
mod error;
// Its pages speak of all families.
#[cfg(all(
    any(doc, doctest),
    feature = "std",
    feature = "tracked",
    feature = "arenas",
    feature = "threads"
))]
pub mod guide;
#[cfg(feature = "intrusive-collections")]
#[cfg_attr(docsrs, doc(cfg(feature = "intrusive-collections")))]
pub mod intrusive;
mod key;
pub mod key_slab;
mod links;
#[cfg(feature = "alloc")]
pub mod memory;
pub mod pool;
mod raw;
#[cfg(feature = "tracked")]
mod slab;
mod stats;
mod store;
#[cfg(feature = "threads")]
pub mod sync;
#[doc(hidden)]
pub mod unsizing;

// For macros: a crate may have another crate, or itself, under the name `core`.
#[doc(hidden)]
pub use core as __core;

#[cfg(feature = "alloc")]
pub use builder::Builder;
/// The short name of [`FullError`].
#[doc(no_inline)]
pub use error::FullError as Full;
pub use error::{
    AccessError, AllocError, BuildError, CapacityError, DisjointError, FullError, SizeError,
};
pub use key::{Key, KeyError};
// Inline: their pages belong on the front page, like those of the other families.
#[cfg(feature = "alloc")]
#[doc(inline)]
pub use key_slab::KeySlab;
#[doc(inline)]
pub use key_slab::{BoundedKeySlab, GenKey, PlainSlab};
#[cfg(feature = "tracked")]
pub use slab::bounded::{Bounded, BoundedSlab};
#[cfg(feature = "tracked")]
pub use slab::dyn_slot_box::DynSlotBox;
#[cfg(feature = "tracked")]
pub use slab::growable::{Growable, Slab};
#[cfg(feature = "tracked")]
pub use slab::guard::{MappedRef, MappedRefMut};
#[cfg(feature = "tracked")]
pub use slab::guard::{Ref, RefMut};
#[cfg(feature = "tracked")]
pub use slab::iter::{Drain, Iter, IterMut, Keys, TryIter, TryIterMut};
#[cfg(feature = "tracked")]
pub use slab::keyed::{SlabUntrackedAccessor, UntrackedAccessor};
#[cfg(feature = "tracked")]
pub use slab::slot::Slot;
#[cfg(feature = "tracked")]
pub use slab::slot::VacantSlot;
#[cfg(feature = "tracked")]
pub use slab::slot_box::SlotBox;
#[cfg(feature = "tracked")]
pub use slab::{Memory, TrackedSlab};
pub use stats::{Figure, FigureKind, Stats};

#[cfg(all(doctest, feature = "tracked", feature = "arenas", feature = "threads"))]
#[doc = include_str!("../README.md")]
mod readme {}
