//! `SortedMap`: a [`Tree`] that owns its nodes.

use core::fmt;
use core::ops::{Bound, RangeBounds};

use super::Capacity;
use super::entry::Entry;
use super::nodes::Nodes;
use super::tree::Tree;
use super::tree_walk::{Range, TreeCursor};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, FullError};
use crate::memory::Pages;

/// A sorted map of `Copy` keys and values: a B+ tree in two slabs, which allocates nothing as long as
/// its [capacity](Self::with_capacity) suffices.
///
/// It has what a `BTreeMap` has, with two differences: `range_mut` is
/// [`for_each_mut`](Self::for_each_mut) or a [cursor](Self::lower_bound), and a walk is also possible
/// while entries are removed, by a cursor. For values that are not `Copy`, or that need a key of
/// their own, use a [`SortedSlab`](super::SortedSlab). For many maps with common memory, a
/// [bound](Nodes::from_stores), or checkpoints, use [`Tree`]s in [`Nodes`].
///
/// # Complexity
///
/// O(log n) for n entries, unless a method says otherwise. The first and the last entry are reached,
/// and an iterator takes its next step, in O(1).
///
/// # If a comparison panics
///
/// A comparison happens before anything has changed, so no entry is lost. If the order of keys is
/// inconsistent, answers are wrong or a method panics.
///
/// # Examples
///
/// ```
/// use flatslab::collections::SortedMap;
///
/// let mut levels = SortedMap::with_capacity(1000);
/// levels.insert(101, 5);
/// *levels.entry(100).or_insert(0) += 7;
/// assert_eq!(levels.first(), Some((&100, &7)));
/// assert!(levels.range(101..).eq([(&101, &5)]));
/// assert_eq!(levels.pop_last(), Some((101, 5)));
/// ```
#[doc(alias("BTreeMap", "RbTree"))]
pub struct SortedMap<K: Ord + Copy, V: Copy> {
    tree: Tree<K, V>,
    nodes: Nodes<K, V>,
}

impl<K: Ord + Copy, V: Copy> SortedMap<K, V> {
    /// Creates an empty map. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        SortedMap {
            tree: Tree::new(),
            nodes: Nodes::new(),
        }
    }

    /// Creates a map with memory, allocated now, for this many entries that are inserted in any
    /// order. Removals leave [leaves of fewer entries](Nodes#memory), so later insertions may need more.
    ///
    /// # Panics
    ///
    /// Panics or aborts if there are more leaves than a slab can have, or the allocator refuses.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        SortedMap {
            tree: Tree::new(),
            nodes: Nodes::with_capacity(entries),
        }
    }

    /// Returns a builder, for memory from [`Pages`]. The default capacity is 0 entries.
    pub const fn builder() -> Builder<Self> {
        Builder::new(Capacity(0))
    }

    /// Makes room for this many more entries.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more leaves than a slab can have, or the allocator refuses.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.nodes.try_reserve(additional)
    }

    /// Borrows the nodes, for their numbers and bytes.
    #[must_use]
    pub const fn nodes(&self) -> &Nodes<K, V> {
        &self.nodes
    }

    /// Returns the number of entries. O(1).
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns `true` if there is no entry. O(1).
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Borrows the value of a key. Returns `None` if the key is not there.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.tree.get(&self.nodes, key)
    }

    /// Borrows the value of a key mutably. Returns `None` if the key is not there.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.tree.get_mut(&mut self.nodes, key)
    }

    /// Returns `true` if the key is there.
    #[inline]
    #[must_use]
    #[doc(alias = "contains_key")]
    pub fn contains(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Borrows the smallest key and its value. Returns `None` if there is none. O(1).
    #[inline]
    #[must_use]
    #[doc(alias = "first_key_value")]
    pub fn first(&self) -> Option<(&K, &V)> {
        self.tree.first(&self.nodes)
    }

    /// Borrows the largest key and its value. Returns `None` if there is none. O(1).
    #[inline]
    #[must_use]
    #[doc(alias = "last_key_value")]
    pub fn last(&self) -> Option<(&K, &V)> {
        self.tree.last(&self.nodes)
    }

    /// Inserts an entry. Returns the value that the key had, which is replaced; the key is not.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node, where [`try_insert`](Self::try_insert) returns
    /// an error.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.tree.insert(&mut self.nodes, key, value)
    }

    /// Inserts an entry. Returns the value that the key had, which is replaced; the key is not.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no memory for another node. Nothing has changed then.
    #[inline]
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, FullError<V>> {
        self.tree.try_insert(&mut self.nodes, key, value)
    }

    /// Removes a key, and returns its value. Returns `None` if the key is not there.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.tree.remove(&mut self.nodes, key)
    }

    /// Removes the smallest key, and returns it with its value. Returns `None` if there is none. O(1)
    /// amortized.
    #[inline]
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.tree.pop_first(&mut self.nodes)
    }

    /// Removes the largest key, and returns it with its value. Returns `None` if there is none. O(1)
    /// amortized.
    #[inline]
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.tree.pop_last(&mut self.nodes)
    }

    /// Returns the entry of a key, for what depends on whether it is there.
    #[inline]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        self.tree.entry(&mut self.nodes, key)
    }

    /// Returns an iterator over all entries, in order, from both ends.
    pub fn iter(&self) -> Range<'_, K, V> {
        self.tree.iter(&self.nodes)
    }

    /// Returns an iterator over the entries whose keys are in a range, in order, from both ends. A
    /// range whose start is above its end has no entries.
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'_, K, V> {
        self.tree.range(&self.nodes, range)
    }

    /// Calls `change` with each entry whose key is in a range, in order.
    ///
    /// ```
    /// let mut map = flatslab::collections::SortedMap::new();
    /// map.insert(1, 10);
    /// map.insert(2, 20);
    /// map.for_each_mut(2.., |_, value| *value += 1);
    /// assert_eq!(map.get(&2), Some(&21));
    /// ```
    #[doc(alias("range_mut", "iter_mut"))]
    pub fn for_each_mut(&mut self, range: impl RangeBounds<K>, change: impl FnMut(&K, &mut V)) {
        self.tree.for_each_mut(&mut self.nodes, range, change);
    }

    /// Returns a cursor at the first entry whose key is in the range that begins with this bound.
    pub fn lower_bound(&mut self, bound: Bound<&K>) -> TreeCursor<'_, K, V> {
        self.tree.lower_bound(&mut self.nodes, bound)
    }

    /// Returns a cursor at the last entry whose key is in the range that ends with this bound; at the
    /// end if there is none.
    pub fn upper_bound(&mut self, bound: Bound<&K>) -> TreeCursor<'_, K, V> {
        self.tree.upper_bound(&mut self.nodes, bound)
    }

    /// Moves the entries from a key on to a new map. O(m log m) for the m entries that are moved.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for the new map. Nothing has changed then.
    #[must_use]
    #[track_caller]
    pub fn split_off(&mut self, key: &K) -> Self {
        let mut split = Self::new();
        for (key, value) in self.range((Bound::Included(*key), Bound::Unbounded)) {
            split.insert(*key, *value);
        }
        for _ in 0..split.len() {
            self.pop_last();
        }
        split
    }

    /// Moves all entries of another map to this one. The values of keys that are in both are
    /// replaced. O(m log n) for the m entries of the other map.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node. Each entry is in one of the maps then.
    #[track_caller]
    pub fn append(&mut self, other: &mut Self) {
        while let Some((&key, &value)) = other.first() {
            self.insert(key, value);
            other.pop_first();
        }
    }

    /// Removes the entries for which `keep` returns `false`. O(n), and O(log n) for each entry that is
    /// removed.
    ///
    /// # Panics
    ///
    /// Panics if `keep` panics; the rest of the entries is kept then.
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.tree.retain(&mut self.nodes, keep);
    }

    /// Removes all entries; the memory is kept. O(nodes).
    pub fn clear(&mut self) {
        self.tree.clear(&mut self.nodes);
    }
}

impl<K: Ord + Copy, V: Copy> Build for SortedMap<K, V> {
    type Options = Capacity;

    fn try_build(capacity: Capacity, pages: Pages) -> Result<Self, BuildError> {
        Ok(SortedMap {
            tree: Tree::new(),
            nodes: Nodes::try_build(capacity, pages)?,
        })
    }
}

impl<K: Ord + Copy, V: Copy> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord + Copy, V: Copy> Clone for SortedMap<K, V> {
    fn clone(&self) -> Self {
        self.iter().map(|(key, value)| (*key, *value)).collect()
    }
}

impl<K: Ord + Copy, V: Copy + PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Copy, V: Copy + Eq> Eq for SortedMap<K, V> {}

impl<K: Ord + Copy, V: Copy> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<E: IntoIterator<Item = (K, V)>>(&mut self, entries: E) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord + Copy, V: Copy> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<E: IntoIterator<Item = (K, V)>>(entries: E) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<'a, K: Ord + Copy, V: Copy> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Range<'a, K, V>;

    fn into_iter(self) -> Range<'a, K, V> {
        self.iter()
    }
}

impl<K: Ord + Copy + fmt::Debug, V: Copy + fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Serializes the entries, as a map.
#[cfg(feature = "serde")]
impl<K: Ord + Copy + serde::Serialize, V: Copy + serde::Serialize> serde::Serialize
    for SortedMap<K, V>
{
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Formats that begin with the number of entries are told it.
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            serde::ser::SerializeMap::serialize_entry(&mut map, key, value)?;
        }
        serde::ser::SerializeMap::end(map)
    }
}

/// Deserializes a map. Of several entries with the same key the last one counts.
#[cfg(feature = "serde")]
impl<'de, K, V> serde::Deserialize<'de> for SortedMap<K, V>
where
    K: Ord + Copy + serde::Deserialize<'de>,
    V: Copy + serde::Deserialize<'de>,
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visitor(SortedMap::new()))
    }
}

#[cfg(feature = "serde")]
struct Visitor<K: Ord + Copy, V: Copy>(SortedMap<K, V>);

#[cfg(feature = "serde")]
impl<'de, K, V> serde::de::Visitor<'de> for Visitor<K, V>
where
    K: Ord + Copy + serde::Deserialize<'de>,
    V: Copy + serde::Deserialize<'de>,
{
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(
        mut self,
        mut map: A,
    ) -> Result<Self::Value, A::Error> {
        while let Some((key, value)) = map.next_entry()? {
            self.0.insert(key, value);
        }
        Ok(self.0)
    }
}
