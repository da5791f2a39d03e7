//! `DenseSlab`: values side by side in one slice, under keys that stay valid.
//!
//! A slab has the position of each value, and beside the values there is an array of their keys. A
//! removal moves the last value to the free position, and writes that position to its slot.
//!
//! # Invariants
//!
//! * `dense-position`: `values` and `keys` have the same length, which is that of `slots`, and
//!   `slots[keys[i]] == i`. (With a key type of the program's that lies about its numbers, a method
//!   finds nothing, or another value.)

use core::fmt;
use core::iter::{FusedIterator, Zip};
use core::ops::{Index, IndexMut};
use core::slice;

#[cfg(feature = "serde")]
use core::marker::PhantomData;
#[cfg(feature = "serde")]
use serde::de::{Error as _, SeqAccess, Visitor};
#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Capacity;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, DisjointError, FullError};
use crate::key::Key;
use crate::key_slab::{KeySlab, SlabKey};
use crate::memory::Pages;
#[cfg(feature = "serde")]
use crate::memory::array::AtMost;
use crate::memory::array::{Array, Values};
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// The values of the first memory.
const FIRST: usize = 4;

/// Values side by side in one slice, each under a key that stays valid until the value is removed.
///
/// For values that are walked much more often than they are inserted and removed: positions and
/// velocities of a simulation, which a loop over [`values_as_mut_slice`](Self::values_as_mut_slice)
/// changes with vector instructions, or several threads in parts. A walk takes as long as there are
/// values, however many there were before; a walk over a [`KeySlab`] visits the free slots too.
///
/// # Cost
///
/// An access by key is a look-up of the position, and then of the value: one load more than in a
/// [`KeySlab`], and a miss more where neither is in the cache. A removal moves the last value to the
/// free position, so values have no order that stays. A value takes its own size, and in three arrays
/// 8 bytes for a [`Key`] and 16 for a [`GenKey`](crate::GenKey).
///
/// # Growth
///
/// A full slab moves all values to memory for twice as many: O(n) for that insertion.
/// [`with_capacity`](Self::with_capacity) allocates and touches memory for a number of values, and
/// [`try_reserve`](Self::try_reserve) for more. [`builder`](Self::builder) takes it from
/// [`Pages`].
///
/// # More data under the same keys
///
/// A [`SecondarySlab`](crate::key_slab::SecondarySlab) takes the slab that its keys belong to: that is
/// [`slots`](Self::slots).
///
/// # Examples
///
/// ```
/// use flatslab::GenKey;
/// use flatslab::collections::DenseSlab;
/// use flatslab::key_slab::SecondarySlab;
///
/// let mut places: DenseSlab<f32, GenKey> = DenseSlab::with_key();
/// let (one, two) = (places.insert(1.0), places.insert(2.0));
/// let mut names = SecondarySlab::new();
/// names.insert(places.slots(), two, "two");
///
/// for place in places.values_as_mut_slice() {
///     *place *= 10.0;
/// }
/// assert_eq!(places.remove(one), 10.0);
/// assert_eq!((places[two], places.values_as_slice()), (20.0, &[20.0][..]));
/// assert_eq!((places.get(one), names[two]), (None, "two"));
/// ```
#[doc(alias("DenseSlotMap", "sparse set", "arena", "ecs"))]
pub struct DenseSlab<T, K: SlabKey = Key> {
    slots: KeySlab<u32, K>,
    keys: Array<K>,
    values: Values<T>,
}

impl<T> DenseSlab<T> {
    /// Creates an empty slab, whose keys are [`Key`]s. Does not allocate.
    #[must_use]
    pub fn new() -> Self {
        Self::with_key()
    }
}

impl<T, K: SlabKey> DenseSlab<T, K> {
    /// Creates an empty slab whose keys are of a type of your choice. Does not allocate.
    #[must_use]
    pub fn with_key() -> Self {
        Self::with_capacity(0)
    }

    /// Creates a slab with memory for this many values, allocated and touched now.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(values: usize) -> Self {
        Self::try_with_capacity(values).unwrap_or_else(|error| memory::fail(error))
    }

    /// Creates a slab like [`with_capacity`](Self::with_capacity).
    ///
    /// # Errors
    ///
    /// Returns an error if there are more values than a slab can have, or the allocator refuses.
    pub fn try_with_capacity(values: usize) -> Result<Self, AllocError> {
        let mut slots = KeySlab::with_key();
        slots.try_reserve_exact(values)?;
        Self::try_of(slots, values, &Source::GLOBAL)
    }

    /// Returns a builder, for memory from [`Pages`]. The default capacity is 0 values.
    pub const fn builder() -> Builder<Self> {
        Builder::new(Capacity(0))
    }

    fn try_of(
        mut slots: KeySlab<u32, K>,
        values: usize,
        source: &Source,
    ) -> Result<Self, AllocError> {
        slots.prepare(values)?;
        Ok(DenseSlab {
            slots,
            keys: Array::try_with_capacity(values, source)?,
            values: Values::of(Array::try_with_capacity(values, source)?),
        })
    }

    /// Makes room for at least this many more values, which then do not allocate.
    ///
    /// # Complexity
    ///
    /// O(n) if memory is allocated: all values move.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more values than a slab can have, or the allocator refuses. No
    /// value has moved then.
    #[doc(alias = "reserve")]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.slots.try_reserve(additional)?;
        let least = self.len().saturating_add(additional);
        let wanted = least
            .max(self.values.capacity().saturating_mul(2))
            .max(FIRST);
        if least > self.keys.capacity() {
            self.keys.try_grow(wanted)?;
        }
        if least > self.values.capacity() {
            self.values.try_grow(wanted)?;
        }
        Ok(())
    }

    /// Returns the number of values. O(1).
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there is no value.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of values that there is memory for. O(1).
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        let values = self.values.capacity().min(self.keys.capacity());
        values.min(self.slots.capacity() - self.slots.retired_slots())
    }

    /// Inserts a value, and returns its key. It is the last one in the slice.
    ///
    /// # Complexity
    ///
    /// Amortised O(1): O(n) if the slab is full.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_insert`](Self::try_insert) returns the value.
    #[inline]
    #[track_caller]
    #[doc(alias("push", "alloc", "insert_key"))]
    pub fn insert(&mut self, value: T) -> K {
        self.insert_with_key(|_| value)
    }

    /// Inserts a value like [`insert`](Self::insert); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there are as many values as a slab can have, or the allocator refuses.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<K, FullError<T>> {
        match self.try_make_room() {
            Ok(()) => Ok(self.push(|_| value)),
            Err(_) => Err(FullError(value)),
        }
    }

    /// Inserts the value that `value` makes of its key, and returns the key. If `value` panics,
    /// nothing is inserted.
    ///
    /// # Panics
    ///
    /// Panics or aborts if there are as many values as a slab can have, or the allocator refuses.
    ///
    /// ```
    /// let mut slab = flatslab::collections::DenseSlab::new();
    /// let key = slab.insert_with_key(|key| key);
    /// assert_eq!(slab[key], key);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> K {
        if let Err(error) = self.try_make_room() {
            memory::fail(error);
        }
        self.push(value)
    }

    /// Makes room for one value.
    #[inline]
    fn try_make_room(&mut self) -> Result<(), AllocError> {
        if self.len() < self.values.capacity().min(self.keys.capacity())
            && self.slots.free_slots() > 0
        {
            return Ok(());
        }
        self.try_grow()
    }

    #[cold]
    #[inline(never)]
    fn try_grow(&mut self) -> Result<(), AllocError> {
        self.try_reserve(1)
    }

    /// Adds a value, for which there is room.
    #[inline]
    fn push(&mut self, value: impl FnOnce(K) -> T) -> K {
        // Positions are below the number of slots, which is below 2^30.
        let position = self.values.len() as u32;
        let entry = self.slots.vacant_entry();
        let key = entry.key();
        let value = value(key);
        entry.insert(position);
        self.keys.push(key);
        self.values.push(value);
        key
    }

    /// Returns the position of the value with this key in the slice, or `None` if there is no value.
    /// It stays until a value is removed. O(1).
    #[inline]
    #[must_use]
    pub fn position(&self, key: K) -> Option<usize> {
        self.slots.get(key).map(|position| *position as usize)
    }

    /// Returns the key of the value at a position of the slice. O(1).
    #[inline]
    #[must_use]
    pub fn key_at(&self, position: usize) -> Option<K> {
        self.keys.get(position).copied()
    }

    /// Returns `true` if there is a value with this key. O(1).
    #[inline]
    #[must_use]
    #[doc(alias = "contains_key")]
    pub fn contains(&self, key: K) -> bool {
        self.slots.contains(key)
    }

    /// Borrows the value with this key. Returns `None` if there is no value. O(1).
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<&T> {
        self.values.get(self.position(key)?)
    }

    /// Borrows the value with this key mutably. Returns `None` if there is no value. O(1).
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let position = self.position(key)?;
        self.values.get_mut(position)
    }

    /// Borrows several values mutably at once.
    ///
    /// # Complexity
    ///
    /// O(`N`²).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with one of the keys, or if two keys refer to the same
    /// value.
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let mut positions = [0; N];
        for (position, key) in positions.iter_mut().zip(keys) {
            *position = self.position(key).ok_or(DisjointError::Missing)?;
        }
        // In ascending order, each in what the slice has after the one before.
        let mut values = [const { None }; N];
        let (mut rest, mut start) = (&mut **self.values, 0);
        for _ in 0..N {
            let left = (0..N).filter(|at| values[*at].is_none());
            let Some(next) = left.min_by_key(|at| positions[*at]) else {
                break;
            };
            let Some(skipped) = positions[next].checked_sub(start) else {
                return Err(DisjointError::Overlapping);
            };
            let Some((value, after)) = rest[skipped..].split_first_mut() else {
                return Err(DisjointError::Missing);
            };
            values[next] = Some(value);
            (rest, start) = (after, positions[next] + 1);
        }
        Ok(values.map(|value| value.expect("each was found")))
    }

    /// Removes the value with this key, and returns it. The last value of the slice takes its
    /// position. O(1).
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key. [`try_remove`](Self::try_remove) returns `None`
    /// instead.
    #[inline]
    #[track_caller]
    #[doc(alias("erase", "free", "swap_remove"))]
    pub fn remove(&mut self, key: K) -> T {
        match self.try_remove(key) {
            Some(value) => value,
            None => panic!("there is no value at {key:?}"),
        }
    }

    /// Removes the value with this key, and returns it, like [`remove`](Self::remove). Returns `None`
    /// if there is no value.
    #[inline]
    pub fn try_remove(&mut self, key: K) -> Option<T> {
        let position = self.slots.try_remove(key)? as usize;
        self.take(position)
    }

    /// Removes the value at a position, whose slot is free already, and tells the slot of the value that
    /// takes it (`dense-position`).
    #[inline]
    fn take(&mut self, position: usize) -> Option<T> {
        let value = self.values.swap_remove(position);
        self.keys.swap_remove(position);
        // Last, because a key type of the program's runs its code here.
        if let Some(moved) = self.keys.get(position) {
            if let Some(place) = self.slots.get_mut(*moved) {
                *place = position as u32;
            }
        }
        value
    }

    /// Removes the values for which `keep` returns `false`, from the first one of the slice on. The last
    /// value takes the position of a removed one, and is visited next.
    ///
    /// If `keep` or a destructor panics, the values that were not visited yet stay.
    ///
    /// # Complexity
    ///
    /// O(n).
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut T) -> bool) {
        let mut position = 0;
        while let Some(value) = self.values.get_mut(position) {
            let key = self.keys[position];
            if keep(key, value) {
                position += 1;
            } else {
                self.slots.try_remove(key);
                drop(self.take(position));
            }
        }
    }

    /// Removes all values, and keeps the memory.
    ///
    /// # Complexity
    ///
    /// O(n), or O(slots) if keys have generations.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.keys.clear();
        self.values.clear();
    }

    /// Removes all values, and returns an iterator that yields them with their keys, the last one of
    /// the slice first. Dropping the iterator drops the remaining values. If it is forgotten, they
    /// stay.
    #[must_use = "dropping it drops every value; `clear` says so"]
    pub fn drain(&mut self) -> DenseDrain<'_, T, K> {
        DenseDrain { slab: self }
    }

    /// Removes the last value of the slice, and returns it with its key.
    pub fn pop(&mut self) -> Option<(K, T)> {
        let key = *self.keys.last()?;
        self.slots.try_remove(key);
        self.keys.pop();
        Some((key, self.values.pop()?))
    }

    /// Borrows all values as one slice.
    #[inline]
    #[must_use]
    pub fn values_as_slice(&self) -> &[T] {
        &self.values
    }

    /// Borrows all values mutably as one slice. Values that are swapped have the keys of each other
    /// then.
    #[inline]
    #[must_use]
    pub fn values_as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Borrows the keys of the values, in their order, as one slice.
    #[inline]
    #[must_use]
    pub fn keys_as_slice(&self) -> &[K] {
        &self.keys
    }

    /// Borrows the slots: a slab with the position of each value, to which the keys belong.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> &KeySlab<u32, K> {
        &self.slots
    }

    /// Returns an iterator over the values with their keys, in the order of the slice.
    #[inline]
    pub fn iter(&self) -> DenseIter<'_, T, K> {
        DenseIter(self.keys.iter().zip(self.values.iter()))
    }

    /// Returns an iterator over mutable references to the values, with their keys, in the order of the
    /// slice.
    #[inline]
    pub fn iter_mut(&mut self) -> DenseIterMut<'_, T, K> {
        DenseIterMut(self.keys.iter().zip(self.values.iter_mut()))
    }

    /// Returns a report about the memory: its bytes, and where it comes from.
    #[must_use]
    pub fn memory(&self) -> Report {
        let arrays = self.keys.bytes() + self.values.bytes();
        self.slots.memory().and_bytes(arrays)
    }
}

impl<T, K: SlabKey> Build for DenseSlab<T, K> {
    type Options = Capacity;

    fn try_build(Capacity(values): Capacity, pages: Pages) -> Result<Self, BuildError> {
        let slots = KeySlab::builder_with_key()
            .reserve(values)
            .pages(pages.clone());
        Ok(Self::try_of(
            slots.try_build()?,
            values,
            &pages.into_source()?,
        )?)
    }
}

/// Creates an empty slab, like [`with_key`](DenseSlab::with_key).
impl<T, K: SlabKey> Default for DenseSlab<T, K> {
    fn default() -> Self {
        Self::with_key()
    }
}

/// Clones the values in their order, under their keys. The clone returns the same keys from then on.
///
/// # Panics
///
/// Aborts if the allocator refuses.
impl<T: Clone, K: SlabKey> Clone for DenseSlab<T, K> {
    #[track_caller]
    fn clone(&self) -> Self {
        let clone = Self::try_of(KeySlab::with_key(), 0, self.values.source());
        let mut clone = clone.unwrap_or_else(|error| memory::fail(error));
        clone.clone_from(self);
        clone
    }

    /// Drops the values of this slab and clones those of `source`, into the present memory if it
    /// suffices. If cloning a value panics, this slab is empty.
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        /// Empties a slab whose values are not complete.
        struct Filling<'a, T, K: SlabKey>(&'a mut DenseSlab<T, K>);

        impl<T, K: SlabKey> Drop for Filling<'_, T, K> {
            fn drop(&mut self) {
                self.0.clear();
            }
        }

        self.clear();
        if self.values.capacity().min(self.keys.capacity()) < source.len() {
            let room = self.keys.try_grow(source.len());
            if let Err(error) = room.and_then(|()| self.values.try_grow(source.len())) {
                memory::fail(error);
            }
        }
        let filling = Filling(self);
        let slab = &mut *filling.0;
        slab.slots.clone_from(&source.slots);
        slab.keys.extend_from_slice(&source.keys);
        for value in &**source.values {
            slab.values.push(value.clone());
        }
        core::mem::forget(filling);
    }
}

/// Two slabs are equal if they have equal values under the same keys, whatever their order.
impl<T: PartialEq, K: SlabKey> PartialEq for DenseSlab<T, K> {
    fn eq(&self, other: &Self) -> bool {
        let has = |(key, value): (K, &T)| other.get(key) == Some(value);
        self.len() == other.len() && self.iter().all(has)
    }
}

impl<T: Eq, K: SlabKey> Eq for DenseSlab<T, K> {}

/// Prints a map from keys to values.
impl<T: fmt::Debug, K: SlabKey> fmt::Debug for DenseSlab<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Borrows the value with this key.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<T, K: SlabKey> Index<K> for DenseSlab<T, K> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => panic!("there is no value at {key:?}"),
        }
    }
}

/// Borrows the value with this key mutably.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<T, K: SlabKey> IndexMut<K> for DenseSlab<T, K> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => panic!("there is no value at {key:?}"),
        }
    }
}

/// Implements an iterator in both directions over two slices.
macro_rules! iterator {
    ($(#[$what:meta])* $iterator:ident, $values:ty, $item:ty) => {
        $(#[$what])*
        #[must_use = "iterators do nothing unless consumed"]
        pub struct $iterator<'a, T, K: SlabKey = Key>(Zip<slice::Iter<'a, K>, $values>);

        impl<'a, T, K: SlabKey> Iterator for $iterator<'a, T, K> {
            type Item = (K, $item);

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|(key, value)| (*key, value))
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<T, K: SlabKey> DoubleEndedIterator for $iterator<'_, T, K> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|(key, value)| (*key, value))
            }
        }

        impl<T, K: SlabKey> ExactSizeIterator for $iterator<'_, T, K> {}
        impl<T, K: SlabKey> FusedIterator for $iterator<'_, T, K> {}

        /// Prints the number of remaining values.
        impl<T, K: SlabKey> fmt::Debug for $iterator<'_, T, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("left", &self.len())
                    .finish_non_exhaustive()
            }
        }
    };
}

iterator! {
    /// An iterator over the values of a dense slab with their keys. Created by
    /// [`iter`](DenseSlab::iter).
    DenseIter, slice::Iter<'a, T>, &'a T
}

iterator! {
    /// An iterator over mutable references to the values of a dense slab, with their keys. Created by
    /// [`iter_mut`](DenseSlab::iter_mut).
    DenseIterMut, slice::IterMut<'a, T>, &'a mut T
}

impl<T, K: SlabKey> Clone for DenseIter<'_, T, K> {
    fn clone(&self) -> Self {
        DenseIter(self.0.clone())
    }
}

/// An iterator that moves the values out of a dense slab. Created by [`drain`](DenseSlab::drain).
/// Dropping it drops the remaining values.
#[must_use = "dropping it drops every value; `clear` says so"]
pub struct DenseDrain<'a, T, K: SlabKey = Key> {
    slab: &'a mut DenseSlab<T, K>,
}

impl<T, K: SlabKey> Iterator for DenseDrain<'_, T, K> {
    type Item = (K, T);

    fn next(&mut self) -> Option<Self::Item> {
        self.slab.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slab.len(), Some(self.slab.len()))
    }
}

impl<T, K: SlabKey> ExactSizeIterator for DenseDrain<'_, T, K> {}
impl<T, K: SlabKey> FusedIterator for DenseDrain<'_, T, K> {}

impl<T, K: SlabKey> Drop for DenseDrain<'_, T, K> {
    fn drop(&mut self) {
        self.slab.clear();
    }
}

/// Prints the number of remaining values.
impl<T, K: SlabKey> fmt::Debug for DenseDrain<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DenseDrain")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// An iterator that owns the values of a dense slab, with their keys. Created by its `into_iter`.
///
/// It has them in reverse, and takes them from the end.
pub struct DenseIntoIter<T, K: SlabKey = Key> {
    keys: Array<K>,
    values: Values<T>,
}

impl<T, K: SlabKey> Iterator for DenseIntoIter<T, K> {
    type Item = (K, T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.keys.pop().zip(self.values.pop())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.values.len(), Some(self.values.len()))
    }
}

impl<T, K: SlabKey> ExactSizeIterator for DenseIntoIter<T, K> {}
impl<T, K: SlabKey> FusedIterator for DenseIntoIter<T, K> {}

/// Prints the number of remaining values.
impl<T, K: SlabKey> fmt::Debug for DenseIntoIter<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DenseIntoIter")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Moves the values out with their keys, in the order of the slice. O(n) at the beginning.
impl<T, K: SlabKey> IntoIterator for DenseSlab<T, K> {
    type Item = (K, T);
    type IntoIter = DenseIntoIter<T, K>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.keys.reverse();
        self.values.reverse();
        DenseIntoIter {
            keys: self.keys,
            values: self.values,
        }
    }
}

impl<'a, T, K: SlabKey> IntoIterator for &'a DenseSlab<T, K> {
    type Item = (K, &'a T);
    type IntoIter = DenseIter<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, K: SlabKey> IntoIterator for &'a mut DenseSlab<T, K> {
    type Item = (K, &'a mut T);
    type IntoIter = DenseIterMut<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// Serializes the slots, as a snapshot of a [`KeySlab`] of positions, and the values in their order.
#[cfg(feature = "serde")]
impl<T: Serialize, K: SlabKey> Serialize for DenseSlab<T, K> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        (&self.slots, &**self.values).serialize(serializer)
    }
}

/// Deserializes a slab with the same values in the same order, under the same keys, which returns the
/// same keys from then on. Memory is that of the global allocator.
///
/// A number in the input claims at most a mebibyte. If the slots and the values do not belong together, that is
/// an error.
#[cfg(feature = "serde")]
impl<'de, T: Deserialize<'de>, K: SlabKey> Deserialize<'de> for DenseSlab<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The slots first, which say how many values there are.
        struct Parts<T, K>(PhantomData<(T, K)>);

        impl<'de, T: Deserialize<'de>, K: SlabKey> Visitor<'de> for Parts<T, K> {
            type Value = (KeySlab<u32, K>, Values<T>);

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the slots and the values of a dense slab")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let missing = || A::Error::custom("a part of the slab is missing");
                let slots: KeySlab<u32, K> = parts.next_element()?.ok_or_else(missing)?;
                let values = parts.next_element_seed(AtMost::new(slots.len()))?;
                Ok((slots, values.ok_or_else(missing)?))
            }
        }

        let (slots, values) = deserializer.deserialize_tuple(2, Parts(PhantomData))?;
        let apart = || D::Error::custom("the slots are not those of the values");
        if slots.len() != values.len() {
            return Err(apart());
        }
        // As many keys as positions, so each has one unless another one has two.
        let mut keys = Array::try_filled(values.len(), None, &Source::GLOBAL);
        let places = keys.as_mut().map_err(|error| D::Error::custom(*error))?;
        for (key, position) in &slots {
            match places.get_mut(*position as usize) {
                Some(place @ None) => *place = Some(key),
                _ => return Err(apart()),
            }
        }
        let mut keys = Array::try_with_capacity(values.len(), &Source::GLOBAL);
        let all = keys.as_mut().map_err(|error| D::Error::custom(*error))?;
        places.iter().flatten().for_each(|key| all.push(*key));
        let keys = keys.map_err(D::Error::custom)?;
        Ok(DenseSlab {
            slots,
            keys,
            values,
        })
    }
}
