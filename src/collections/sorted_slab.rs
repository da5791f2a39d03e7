//! `SortedSlab`: values of any type in order of a sort key, each of which has a slot, and the key of
//! the slot.

use core::fmt;
use core::ops::{Bound, Index, IndexMut, RangeBounds};

#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::entry::Entry;
use super::sorted_map::SortedMap;
use super::tree_walk::Range;
use crate::error::AllocError;
use crate::key::Key;
use crate::key_slab::{KeySlab, SlabKey};

/// Values of any type in order of a sort key. Each value is in a slot, and is reached without a
/// search by the key of the slot, as long as it is there.
///
/// For price levels, whose orders find their level by its key; for sessions in order of their names;
/// wherever a program searches once and then comes back to the same value. The sort keys are `Copy`
/// and distinct, and the order of the values is kept in a [`SortedMap`].
///
/// # Complexity
///
/// O(log n) by sort key, and O(1) by slot key, unless a method says otherwise.
///
/// # Examples
///
/// ```
/// use flatslab::collections::SortedSlab;
///
/// let mut levels: SortedSlab<u32, Vec<&str>> = SortedSlab::with_capacity(1000);
/// let level = levels.key_or_insert_with(101, |_| Vec::new());
/// levels[level].push("order");
/// levels.insert(100, vec!["another order"]);
///
/// assert_eq!(levels.first(), Some((100, levels.key_of(&100).unwrap())));
/// assert_eq!(levels.remove_by_key(level), Some((101, vec!["order"])));
/// assert_eq!(levels.get(&101), None);
/// ```
pub struct SortedSlab<K: Ord + Copy, V, I: SlabKey = Key> {
    order: SortedMap<K, I>,
    values: KeySlab<(K, V), I>,
}

impl<K: Ord + Copy, V, I: SlabKey> SortedSlab<K, V, I> {
    /// Creates an empty slab, with slot keys of a type of your choice. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        SortedSlab {
            order: SortedMap::new(),
            values: KeySlab::with_key(),
        }
    }

    /// Creates a slab with memory for this many values, allocated now.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_reserve`](Self::try_reserve) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(values: usize) -> Self {
        let mut slab = Self::new();
        if let Err(error) = slab.try_reserve(values) {
            crate::raw::memory::fail(error);
        }
        slab
    }

    /// Makes room for this many more values.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more values than a slab can have, or the allocator refuses.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.values.try_reserve(additional)?;
        self.order.try_reserve(additional)
    }

    /// Returns the number of values. O(1).
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there is no value. O(1).
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the slot key of the value with this sort key. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn key_of(&self, sort_key: &K) -> Option<I> {
        self.order.get(sort_key).copied()
    }

    /// Borrows the value with this sort key. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, sort_key: &K) -> Option<&V> {
        let (_, value) = self.get_by_key(self.key_of(sort_key)?)?;
        Some(value)
    }

    /// Borrows the value with this sort key mutably. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, sort_key: &K) -> Option<&mut V> {
        let (_, value) = self.get_mut_by_key(self.key_of(sort_key)?)?;
        Some(value)
    }

    /// Borrows the value with this slot key, with its sort key. Returns `None` if there is none. O(1).
    #[inline]
    #[must_use]
    pub fn get_by_key(&self, key: I) -> Option<(&K, &V)> {
        let (sort_key, value) = self.values.get(key)?;
        Some((sort_key, value))
    }

    /// Borrows the value with this slot key mutably, with its sort key. Returns `None` if there is
    /// none. O(1).
    #[inline]
    #[must_use]
    pub fn get_mut_by_key(&mut self, key: I) -> Option<(&K, &mut V)> {
        let (sort_key, value) = self.values.get_mut(key)?;
        Some((sort_key, value))
    }

    /// Inserts a value. Returns the one that the sort key had, which is replaced in its slot.
    ///
    /// # Panics
    ///
    /// Panics or aborts if memory is refused; [`try_reserve`](Self::try_reserve) rules this out.
    #[track_caller]
    pub fn insert(&mut self, sort_key: K, value: V) -> Option<V> {
        match self.order.entry(sort_key) {
            Entry::Occupied(entry) => {
                let key = *entry.get();
                let (_, there) = self.values.get_mut(key)?;
                Some(core::mem::replace(there, value))
            }
            Entry::Vacant(entry) => {
                let slot = self.values.vacant_entry();
                entry.insert(slot.key());
                slot.insert((sort_key, value));
                None
            }
        }
    }

    /// Returns the slot key of the value with this sort key. If there is none, inserts the result of
    /// a call, which is passed the slot key.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does, or if the call panics. Nothing has
    /// changed then.
    #[inline]
    #[track_caller]
    pub fn key_or_insert_with(&mut self, sort_key: K, value: impl FnOnce(I) -> V) -> I {
        match self.order.entry(sort_key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let slot = self.values.vacant_entry();
                let key = slot.key();
                let value = value(key);
                entry.insert(key);
                slot.insert((sort_key, value));
                key
            }
        }
    }

    /// Removes the value with this sort key, and returns it. Returns `None` if there is none.
    #[inline]
    pub fn remove(&mut self, sort_key: &K) -> Option<V> {
        let key = self.order.remove(sort_key)?;
        let (_, value) = self.values.try_remove(key)?;
        Some(value)
    }

    /// Removes the value with this slot key, and returns it with its sort key. Returns `None` if there
    /// is none. O(log n).
    #[inline]
    pub fn remove_by_key(&mut self, key: I) -> Option<(K, V)> {
        let (sort_key, _) = self.values.get(key)?;
        self.order.remove(sort_key);
        self.values.try_remove(key)
    }

    /// Returns the smallest sort key, and the slot key of its value. Returns `None` if there is none.
    /// O(1).
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(K, I)> {
        let (sort_key, key) = self.order.first()?;
        Some((*sort_key, *key))
    }

    /// Returns the largest sort key, and the slot key of its value. Returns `None` if there is none.
    /// O(1).
    #[inline]
    #[must_use]
    pub fn last(&self) -> Option<(K, I)> {
        let (sort_key, key) = self.order.last()?;
        Some((*sort_key, *key))
    }

    /// Removes the value with the smallest sort key, and returns both. Returns `None` if there is
    /// none.
    #[inline]
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let (_, key) = self.order.pop_first()?;
        self.values.try_remove(key)
    }

    /// Removes the value with the largest sort key, and returns both. Returns `None` if there is none.
    #[inline]
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let (_, key) = self.order.pop_last()?;
        self.values.try_remove(key)
    }

    /// Returns an iterator over sort keys and values, in order, from both ends.
    pub fn iter(&self) -> SortedIter<'_, K, V, I> {
        self.range(..)
    }

    /// Returns an iterator over the values whose sort keys are in a range, in order, from both ends. A
    /// range whose start is above its end has no values.
    pub fn range(&self, range: impl RangeBounds<K>) -> SortedIter<'_, K, V, I> {
        SortedIter {
            order: self.order.range(range),
            values: &self.values,
        }
    }

    /// Returns an iterator over the sort keys in a range and the slot keys of their values, in order,
    /// from both ends.
    pub fn keys(&self, range: impl RangeBounds<K>) -> Range<'_, K, I> {
        self.order.range(range)
    }

    /// Calls `change` with each value whose sort key is in a range, in order.
    #[doc(alias("range_mut", "iter_mut"))]
    pub fn for_each_mut(
        &mut self,
        range: impl RangeBounds<K>,
        mut change: impl FnMut(&K, I, &mut V),
    ) {
        for (sort_key, key) in self.order.range(range) {
            if let Some((_, value)) = self.values.get_mut(*key) {
                change(sort_key, *key, value);
            }
        }
    }

    /// Removes the values for which `keep` returns `false`. O(n), and O(log n) for each value that is
    /// removed.
    ///
    /// # Panics
    ///
    /// Panics if `keep` or a destructor panics; the rest of the values is kept then.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, I, &mut V) -> bool) {
        let mut cursor = self.order.lower_bound(Bound::Unbounded);
        while let Some((sort_key, key)) = cursor.current() {
            let key = *key;
            let keeps = match self.values.get_mut(key) {
                Some((_, value)) => keep(sort_key, key, value),
                None => false,
            };
            if keeps {
                cursor.move_next();
            } else {
                cursor.remove();
                drop(self.values.try_remove(key));
            }
        }
    }

    /// Removes and drops all values; the memory is kept. O(n).
    ///
    /// # Panics
    ///
    /// Panics if a destructor panics; the rest of the values is kept then.
    pub fn clear(&mut self) {
        while self.pop_first().is_some() {}
    }
}

impl<K: Ord + Copy, V, I: SlabKey> Default for SortedSlab<K, V, I> {
    fn default() -> Self {
        Self::new()
    }
}

/// Borrows the value with a slot key.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<K: Ord + Copy, V, I: SlabKey> Index<I> for SortedSlab<K, V, I> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: I) -> &V {
        &self.values[key].1
    }
}

/// Borrows the value with a slot key mutably.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<K: Ord + Copy, V, I: SlabKey> IndexMut<I> for SortedSlab<K, V, I> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: I) -> &mut V {
        &mut self.values[key].1
    }
}

impl<K: Ord + Copy + fmt::Debug, V: fmt::Debug, I: SlabKey> fmt::Debug for SortedSlab<K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Serializes the values with their sort keys, as the slab that they are in; so each keeps its slot
/// key.
#[cfg(feature = "serde")]
impl<K, V, I> Serialize for SortedSlab<K, V, I>
where
    K: Ord + Copy + Serialize,
    V: Serialize,
    I: SlabKey,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

/// Deserializes the values, and orders them. Returns an error if two of them have the same sort key.
#[cfg(feature = "serde")]
impl<'de, K, V, I> Deserialize<'de> for SortedSlab<K, V, I>
where
    K: Ord + Copy + Deserialize<'de>,
    V: Deserialize<'de>,
    I: SlabKey,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = KeySlab::<(K, V), I>::deserialize(deserializer)?;
        let order: SortedMap<K, I> = values.iter().map(|(key, value)| (value.0, key)).collect();
        if order.len() < values.len() {
            return Err(serde::de::Error::custom(
                "two values have the same sort key",
            ));
        }
        Ok(SortedSlab { order, values })
    }
}

/// An iterator over the sort keys and values of a [`SortedSlab`], in order.
pub struct SortedIter<'a, K: Ord + Copy, V, I: SlabKey = Key> {
    order: Range<'a, K, I>,
    values: &'a KeySlab<(K, V), I>,
}

impl<'a, K: Ord + Copy, V, I: SlabKey> Iterator for SortedIter<'a, K, V, I> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (_, key) = self.order.next()?;
        let (sort_key, value) = self.values.get(*key)?;
        Some((sort_key, value))
    }
}

impl<K: Ord + Copy, V, I: SlabKey> DoubleEndedIterator for SortedIter<'_, K, V, I> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (_, key) = self.order.next_back()?;
        let (sort_key, value) = self.values.get(*key)?;
        Some((sort_key, value))
    }
}

impl<K: Ord + Copy, V, I: SlabKey> fmt::Debug for SortedIter<'_, K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedIter").finish_non_exhaustive()
    }
}
