//! Collections whose elements are keys: lists, an index by id, heaps and sorted maps of values that
//! a slab has.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
mod entry;
#[cfg(feature = "alloc")]
mod hash;
#[cfg(feature = "alloc")]
mod heap;
#[cfg(feature = "alloc")]
mod key_index;
mod list;
mod list_walk;
#[cfg(feature = "alloc")]
mod nodes;
#[cfg(feature = "alloc")]
mod sorted_map;
#[cfg(feature = "alloc")]
mod sorted_slab;
#[cfg(all(test, feature = "alloc"))]
mod tests;
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
pub use nodes::{Inner, Leaf, NodeStore, Nodes};
#[cfg(feature = "alloc")]
pub use sorted_map::SortedMap;
#[cfg(feature = "alloc")]
pub use sorted_slab::{SortedIter, SortedSlab};
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
