//! Collections by key: lists, an index by id, heaps and sorted maps of values that a slab has.
//!
//! A slab is a place for values; a program also has an order of them, and ways to find them. These
//! collections hold keys, of 4 or 8 bytes, and the values stay in a slab of the program's choice. So
//! a value can be in several collections at the same time, is removed from each of them by its key,
//! and is reached through a plain reference.
//!
//! | you have | use |
//! |---|---|
//! | queues, price levels, buckets: values in an order that changes, removed by key in O(1) | [`List`], whose links are a field of the values |
//! | an id that the value contains: of a client, a session, an address | [`KeyIndex`]: no copy of the ids, no page fault after construction |
//! | priorities, or deadlines, that change or are cancelled | [`Heap`] |
//! | timeouts, most of which never come | [`TimerWheel`] |
//! | what was used last, of more than there is room for | [`Lru`] |
//! | `Copy` values in order of a key | [`SortedMap`] |
//! | values of any type in order of a key, reached again without a search | [`SortedSlab`] |
//! | values that are walked as one slice, and found by a key that stays valid | [`DenseSlab`] |
//! | thousands of sorted maps, with common memory and a common bound | [`Tree`]s in [`Nodes`] |
//!
//! The guide has a page for each of these jobs: an [order book](crate::guide::order_book), a
//! [cache](crate::guide::lru_cache), [timers](crate::guide::timers), a
//! [table by id](crate::guide::id_table), [snapshots](crate::guide::snapshots) and
//! [rollback](crate::guide::rollback).
//!
//! # Which slabs
//!
//! Lists and indices work on every [`Store`]: [`KeySlab`](crate::KeySlab),
//! [`BoundedKeySlab`](crate::BoundedKeySlab), [`CheckpointSlab`](crate::key_slab::CheckpointSlab),
//! the parts of a [`SlabGroup`](crate::key_slab::SlabGroup). A heap and a timer wheel hold keys of
//! any slab; a cache has its own. In a [`Slab`](crate::Slab) or
//! [`BoundedSlab`](crate::BoundedSlab), whose borrows are tracked, values are linked as before:
//! with `Cell`s, or with the crate `intrusive-collections`.
//!
//! # What misuse does
//!
//! The module has no unsafe code. A stale key, a value that was removed while it was linked, another
//! slab, an old copy, a comparison or a hash that panics or lies: the answer is an error, a panic
//! before anything has changed, or a wrong result. It is never undefined behaviour, and it does not
//! change another list or tree; the pages of [`List`] and [`Nodes::from_stores`] say what tells them
//! apart. Nothing has to be called before a collection is dropped.
//!
//! # Rewinds and snapshots
//!
//! [`List`] and [`Tree`] are plain data beside the values and nodes, and are rewound with them, in a
//! group. Lists and their links have serde, and so have [`SortedMap`], [`SortedSlab`] and [`DenseSlab`];
//! of a `Tree` write the entries. Of a `DenseSlab`, keep a clone for each state. A [`Heap`], a [`TimerWheel`] and a [`KeyIndex`] are tables of their own, and are
//! built again, in O(capacity), by [`KeyIndex::rebuild`] and by adding the keys. An [`Lru`] is filled
//! again.
//!
//! # What leaves the slab
//!
//! | method | the value |
//! |---|---|
//! | `List::remove`, `pop_front`, `pop_back`, `clear`, `retain`; `KeyIndex::remove` | leaves the slab too |
//! | `List::unlink`, `unlink_front`, `unlink_all`; `KeyIndex::forget`, `clear`; all of `Heap` and `TimerWheel` | stays in the slab |
//!
//! To remove a value that is in several collections, first [`forget`](KeyIndex::forget) it in each
//! index, remove its key from each heap, stop its timer, and unlink it from all lists but one; then
//! [`List::remove`], or the slab's `remove`, frees the slot. A value that contains its own key, such
//! as the owner of a list, is inserted by the slab's `vacant_entry`, and then
//! [added](KeyIndex::add) to an index.
//!
//! # Examples
//!
//! Sessions that are found by the token of their client, time out, and each have a queue of jobs:
//!
//! ```
//! use flatslab::collections::{Indexed, KeyIndex, Links, List, TimerWheel};
//! use flatslab::{BoundedKeySlab, KeySlab, Key, key_type, linked};
//!
//! key_type!(struct SessionKey(GenKey));
//!
//! struct Session { token: u64, jobs: List<Key, SessionKey> }
//! struct Job { cost: u32, in_session: Links<Key, SessionKey> }
//!
//! linked!(impl Linked<Key, SessionKey> for Job { in_session });
//!
//! impl Indexed<u64> for Session {
//!     fn id(&self) -> &u64 { &self.token }
//! }
//!
//! let mut sessions: BoundedKeySlab<Session, SessionKey> = BoundedKeySlab::with_capacity_and_key(100);
//! let mut by_token = KeyIndex::<u64>::with_capacity(sessions.capacity());
//! let mut timeouts = TimerWheel::with_capacity(sessions.capacity());
//! let mut jobs = KeySlab::new();
//!
//! // A session contains its own key, as the owner of its jobs.
//! let entry = sessions.vacant_entry()?;
//! let key = entry.key();
//! entry.insert(Session { token: 4711, jobs: List::new(key) });
//! by_token.add(&sessions, key)?;
//! timeouts.start(key, 30)?;
//!
//! // A message, which is found by its token.
//! let key = by_token.get(&sessions, &4711).unwrap();
//! timeouts.start(key, 60)?;
//! let queue = &mut sessions[key].jobs;
//! queue.push_back(&mut jobs, Job { cost: 5, in_session: Links::new() })?;
//!
//! // What was not heard from goes with its jobs.
//! while let Some((_, key)) = timeouts.pop_expired(60) {
//!     by_token.forget(&sessions, key);
//!     let mut session = sessions.remove(key);
//!     session.jobs.clear(&mut jobs);
//! }
//! assert!(sessions.is_empty() && jobs.is_empty() && by_token.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// | file | concept |
// |---|---|
// | `list.rs`, `list_walk.rs` | a list; its iterator and cursor |
// | `key_index.rs`, `id_table.rs`, `hash.rs` | an index by id; its table; the hash that it uses unless told otherwise |
// | `heap.rs` | a heap |
// | `timer_wheel.rs`, `lru.rs` | a timer wheel; a cache |
// | `circles.rs` | lists of slots, for both |
// | `nodes.rs`, `tree.rs`, `tree_walk.rs`, `entry.rs` | the nodes of sorted maps; a map in them; its iterator and cursor; its entries |
// | `dense_slab.rs` | values in one slice |
// | `sorted_map.rs`, `sorted_slab.rs` | a map that owns its nodes; values in order |
//
// What a collection needs of a slab is `src/store.rs`, and the links of a value `src/links.rs`.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
mod circles;
#[cfg(feature = "alloc")]
mod dense_slab;
#[cfg(feature = "alloc")]
mod entry;
#[cfg(feature = "alloc")]
mod hash;
#[cfg(feature = "alloc")]
mod heap;
#[cfg(feature = "alloc")]
mod id_table;
#[cfg(feature = "alloc")]
mod key_index;
mod list;
mod list_walk;
#[cfg(feature = "alloc")]
mod lru;
#[cfg(feature = "alloc")]
mod nodes;
#[cfg(feature = "alloc")]
mod sorted_map;
#[cfg(feature = "alloc")]
mod sorted_slab;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod timer_wheel;
#[cfg(feature = "alloc")]
mod tree;
#[cfg(feature = "alloc")]
mod tree_walk;

#[cfg(feature = "alloc")]
use crate::builder::{Build, Builder};
pub use crate::links::{Linked, Links};
pub use crate::store::Store;
#[cfg(feature = "alloc")]
pub use dense_slab::{DenseDrain, DenseIntoIter, DenseIter, DenseIterMut, DenseSlab};
#[cfg(feature = "alloc")]
pub use entry::{Entry, OccupiedEntry, VacantEntry};
#[cfg(feature = "alloc")]
pub use hash::{IdHasher, IdState};
#[cfg(feature = "alloc")]
pub use heap::{Heap, HeapPeekMut, SlotError};
#[cfg(feature = "alloc")]
pub use key_index::{AddError, Indexed, InsertIdError, KeyIndex, KeysOfId};
pub use list::{InsertBesideError, LinkError, List};
pub use list_walk::{Cursor, ListIter};
#[cfg(feature = "alloc")]
pub use lru::{Lru, LruIter};
#[cfg(feature = "alloc")]
pub use nodes::{Inner, Leaf, NodeStore, Nodes};
#[cfg(feature = "alloc")]
pub use sorted_map::SortedMap;
#[cfg(feature = "alloc")]
pub use sorted_slab::{SortedIter, SortedSlab};
#[cfg(feature = "alloc")]
pub use timer_wheel::TimerWheel;
#[cfg(feature = "alloc")]
pub use tree::Tree;
#[cfg(feature = "alloc")]
pub use tree_walk::{Range, TreeCursor};

/// The option of the builders of collections: a number of slots, or of entries.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct Capacity(usize);

/// The option of collections.
#[cfg(feature = "alloc")]
impl<C: Build<Options = Capacity>> Builder<C> {
    /// Sets the capacity: the number of slots whose keys a collection has room for, or the number of
    /// entries of a map.
    ///
    /// ```
    /// use flatslab::collections::Heap;
    ///
    /// let heap = Heap::<u64>::builder().capacity(1000).build();
    /// assert_eq!(heap.capacity(), 1000);
    /// ```
    pub const fn capacity(mut self, capacity: usize) -> Self {
        self.options = Capacity(capacity);
        self
    }
}
