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
//! | deadlines or priorities that change, or are cancelled | [`Heap`] |
//! | `Copy` values in order of a key | [`SortedMap`] |
//! | values of any type in order of a key, reached again without a search | [`SortedSlab`] |
//! | thousands of sorted maps, with common memory and a common bound | [`Tree`]s in [`Nodes`] |
//!
//! # Which slabs
//!
//! Lists and indices work on every [`Store`]: [`KeySlab`](crate::KeySlab),
//! [`BoundedKeySlab`](crate::BoundedKeySlab), [`CheckpointSlab`](crate::key_slab::CheckpointSlab),
//! the parts of a [`SlabGroup`](crate::key_slab::SlabGroup). A heap holds keys of any slab. In a
//! [`Slab`](crate::Slab) or [`BoundedSlab`](crate::BoundedSlab), whose borrows are tracked, values
//! are linked as before: with `Cell`s, or with the crate `intrusive-collections`.
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
//! group. Lists and their links have serde, and so have [`SortedMap`] and [`SortedSlab`]; of a `Tree`
//! write the entries. A [`Heap`] and a [`KeyIndex`] are tables of their own, and are built again, in
//! O(n), by [`KeyIndex::rebuild`] and by pushing the keys.
//!
//! # What leaves the slab
//!
//! | method | the value |
//! |---|---|
//! | `List::remove`, `pop_front`, `pop_back`, `clear`, `retain`; `KeyIndex::remove` | leaves the slab too |
//! | `List::unlink`, `unlink_front`, `unlink_all`; `KeyIndex::forget`, `clear`; all of `Heap` | stays in the slab |
//!
//! To remove a value that is in several collections, first [`forget`](KeyIndex::forget) it in each
//! index, remove its key from each heap and unlink it from all lists but one; then
//! [`List::remove`], or the slab's `remove`, frees the slot. A value that contains its own key, such
//! as the owner of a list, is inserted by the slab's `vacant_entry`, and then
//! [added](KeyIndex::add) to an index.
//!
//! # Examples
//!
//! A cache that drops what was not used for longest: an index finds a value, and a list has the order.
//!
//! ```
//! use flatslab::collections::{Indexed, InsertIdError, KeyIndex, Links, List};
//! use flatslab::{BoundedKeySlab, Key, linked};
//!
//! struct Page { id: u64, text: String, used: Links }
//!
//! linked!(impl Linked<Key, Key> for Page { used });
//!
//! impl Indexed<u64> for Page {
//!     fn id(&self) -> &u64 { &self.id }
//! }
//!
//! struct Cache { pages: BoundedKeySlab<Page>, by_id: KeyIndex<u64>, by_use: List }
//!
//! impl Cache {
//!     fn get(&mut self, id: u64) -> Option<&str> {
//!         let key = self.by_id.get(&self.pages, &id)?;
//!         self.by_use.move_to_back(&mut self.pages, key).ok()?;
//!         Some(&self.pages[key].text)
//!     }
//!
//!     fn insert(&mut self, id: u64, text: String) -> Result<(), InsertIdError<Page>> {
//!         if let (true, Some(oldest)) = (self.pages.is_full(), self.by_use.first()) {
//!             self.by_id.forget(&self.pages, oldest);
//!             self.by_use.pop_front(&mut self.pages);
//!         }
//!         let page = Page { id, text, used: Links::new() };
//!         let key = self.by_id.insert(&mut self.pages, page)?;
//!         self.by_use.link_back(&mut self.pages, key).expect("it is in no list");
//!         Ok(())
//!     }
//! }
//!
//! let mut cache = Cache {
//!     pages: BoundedKeySlab::with_capacity(2),
//!     by_id: KeyIndex::with_capacity(2),
//!     by_use: List::new(Key::from_raw(0)),
//! };
//! cache.insert(1, "one".into())?;
//! cache.insert(2, "two".into())?;
//! assert_eq!(cache.get(1), Some("one"));
//! cache.insert(3, "three".into())?; // in the place of the second one
//! assert_eq!(cache.get(2), None);
//! assert_eq!(cache.get(3), Some("three"));
//! # Ok::<(), InsertIdError<Page>>(())
//! ```

// | file | concept |
// |---|---|
// | `list.rs`, `list_walk.rs` | a list; its iterator and cursor |
// | `key_index.rs`, `id_table.rs`, `hash.rs` | an index by id; its table; the hash that it uses unless told otherwise |
// | `heap.rs` | a heap |
// | `nodes.rs`, `tree.rs`, `tree_walk.rs`, `entry.rs` | the nodes of sorted maps; a map in them; its iterator and cursor; its entries |
// | `sorted_map.rs`, `sorted_slab.rs` | a map that owns its nodes; values in order |
//
// What a collection needs of a slab is `src/store.rs`, and the links of a value `src/links.rs`.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
mod circles;
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
pub use lru::Lru;
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
