//! The dense slot map.
//!
//! A slab has the position of each value, and each value has its key beside it. (It is not on a
//! [`DenseSlab`](flatslab::collections::DenseSlab), which has the keys as the slab knows them: here
//! [`keys_as_slice`](DenseSlotMap::keys_as_slice) lends those of the caller's type.)
//!
//! # Invariants
//!
//! * `dense-position`: `keys` and `values` have the same length, which is that of `slots`, and
//!   `slots[keys[i]] == i`. (With a key type that lies about its data, a method finds nothing, or
//!   another value, or panics.)

use alloc::collections::TryReserveError;
use alloc::vec::{self, Vec};
use core::convert::Infallible;
use core::fmt;
use core::iter::{Copied, FusedIterator, Zip};
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::slice;

use flatslab::{GenKey, KeySlab};

use crate::iter::iterators;
use crate::{DefaultKey, Key, KeyData, memory};

/// Values of one type side by side in one slice, under keys that the map hands out, and that open
/// nothing when their value is gone.
///
/// ```
/// let mut map = slotmap::DenseSlotMap::new();
/// let (one, two) = (map.insert(1), map.insert(2));
/// map.remove(one);
/// assert_eq!((map.get(one), map[two], map.values_as_slice()), (None, 2, &[2][..]));
/// ```
pub struct DenseSlotMap<K: Key, V> {
    keys: Vec<K>,
    values: Vec<V>,
    pub(crate) slots: KeySlab<u32, GenKey>,
}

impl<V> DenseSlotMap<DefaultKey, V> {
    /// Creates an empty map, which allocates nothing before the first value.
    pub fn new() -> Self {
        Self::with_key()
    }

    /// Creates a map with memory for exactly so many values.
    ///
    /// # Panics
    ///
    /// If they are 2^30 or more, or take more than `isize::MAX` bytes.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }
}

impl<K: Key, V> DenseSlotMap<K, V> {
    /// Creates an empty map with keys of a type of the caller's.
    pub fn with_key() -> Self {
        DenseSlotMap {
            keys: Vec::new(),
            values: Vec::new(),
            slots: KeySlab::with_key(),
        }
    }

    /// Creates a map with memory for exactly so many values, and keys of a type of the caller's.
    ///
    /// # Panics
    ///
    /// If they are 2^30 or more, or take more than `isize::MAX` bytes.
    #[track_caller]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        let slots = match KeySlab::try_with_capacity_and_key(capacity) {
            Ok(slots) => slots,
            Err(error) => memory::fail(error),
        };
        DenseSlotMap {
            keys: Vec::with_capacity(capacity),
            values: Vec::with_capacity(capacity),
            slots,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of values that there is memory for.
    pub fn capacity(&self) -> usize {
        self.keys.capacity()
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// # Panics
    ///
    /// As [`with_capacity_and_key`](Self::with_capacity_and_key).
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.keys.reserve(additional);
        self.values.reserve(additional);
        if let Err(error) = self.slots.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// # Errors
    ///
    /// Where [`reserve`](Self::reserve) panics, or the allocator refuses.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.keys.try_reserve(additional)?;
        self.values.try_reserve(additional)?;
        self.slots.try_reserve(additional).map_err(memory::refused)
    }

    /// Whether the key opens a value.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        self.slots.contains(key.data().key())
    }

    /// Inserts a value, and returns its key; O(1), amortised. It is the last one of the slice.
    ///
    /// # Panics
    ///
    /// If the map would have 2^30 slots or more, or their bytes exceed `isize::MAX`.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: V) -> K {
        self.insert_with_key(|_| value)
    }

    /// Inserts the value that a closure makes of its key, and returns the key. If the closure
    /// panics, nothing has changed.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    #[track_caller]
    pub fn insert_with_key<F>(&mut self, f: F) -> K
    where
        F: FnOnce(K) -> V,
    {
        let inserted = self.try_insert_with_key(|key| Ok::<V, Infallible>(f(key)));
        match inserted {
            Ok(key) => key,
            Err(never) => match never {},
        }
    }

    /// Inserts the value that a closure makes of its key, and returns the key. If the closure
    /// panics, nothing has changed.
    ///
    /// # Errors
    ///
    /// That of the closure: nothing has changed.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    #[track_caller]
    pub fn try_insert_with_key<F, E>(&mut self, f: F) -> Result<K, E>
    where
        F: FnOnce(K) -> Result<V, E>,
    {
        let entry = self.slots.vacant_entry();
        let key = KeyData::of(entry.key()).into();
        let value = f(key)?;
        // Fewer than there are slots, so below 2^30.
        let position = self.values.len() as u32;
        self.values.push(value);
        self.keys.push(key);
        entry.insert(position);
        Ok(key)
    }

    /// Moves the value at a key out, and the last one of the slice to its position; O(1). `None` if
    /// there is none.
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<V> {
        let position = self.slots.try_remove(key.data().key())?;
        Some(self.take(position))
    }

    /// Moves the value at a key out, as [`remove`](Self::remove), and keeps its slot for
    /// [`reattach`](Self::reattach); O(1).
    #[inline]
    pub fn detach(&mut self, key: K) -> Option<V> {
        let position = self.slots.detach(key.data().key())?;
        Some(self.take(position))
    }

    /// Moves the value at a position out, whose slot has none any more, and tells the slot of the
    /// value that takes it (`dense-position`).
    #[inline]
    fn take(&mut self, position: u32) -> V {
        let index = position as usize;
        self.keys.swap_remove(index);
        let value = self.values.swap_remove(index);
        if let Some(moved) = self.keys.get(index) {
            if let Some(place) = self.slots.get_mut(moved.data().key()) {
                *place = position;
            }
        }
        value
    }

    /// Puts a value into the slot that was kept for a key; O(1). It is the last one of the slice.
    ///
    /// # Panics
    ///
    /// If no value was [detached](Self::detach) from the key, or one is back already.
    #[inline]
    #[track_caller]
    pub fn reattach(&mut self, detached_key: K, value: V) {
        let key = detached_key.data().key();
        if !self.slots.is_detached(key) {
            panic!("key is not detached");
        }
        let position = self.values.len() as u32;
        self.values.push(value);
        self.keys.push(detached_key);
        self.slots.reattach(key, position);
    }

    /// Drops the values for which `f` is false, from the first one of the slice on; O(values). The
    /// last one takes the position of a dropped one, and is visited next.
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(K, &mut V) -> bool,
    {
        let mut index = 0;
        while index < self.keys.len() {
            let data = self.keys[index].data();
            if f(data.into(), &mut self.values[index]) {
                index += 1;
            } else {
                self.slots.try_remove(data.key());
                drop(self.take(index as u32));
            }
        }
    }

    /// Drops all values, the last one of the slice first; O(values).
    pub fn clear(&mut self) {
        self.drain();
    }

    /// Moves all values out, the last one of the slice first.
    pub fn drain(&mut self) -> Drain<'_, K, V> {
        Drain {
            inner: Draining(self),
            keys: PhantomData,
        }
    }

    /// Borrows the value at a key.
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        let position = *self.slots.get(key.data().key())?;
        self.values.get(position as usize)
    }

    /// Borrows the value at a key, without a check of the key.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked(&self, key: K) -> &V {
        // SAFETY: the key opens a value (precondition).
        let position = unsafe { *self.slots.get_unchecked(key.data().key()) };
        &self.values[position as usize]
    }

    /// Borrows the value at a key mutably.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let position = *self.slots.get(key.data().key())?;
        self.values.get_mut(position as usize)
    }

    /// Borrows the value at a key mutably, without a check of the key.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> &mut V {
        // SAFETY: the key opens a value (precondition).
        let position = unsafe { *self.slots.get_unchecked(key.data().key()) };
        &mut self.values[position as usize]
    }

    /// Borrows the values at several keys mutably; O(`N`²). `None` if one opens no value, or two
    /// open the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[&mut V; N]> {
        let mut positions = [0; N];
        for (position, key) in positions.iter_mut().zip(keys) {
            *position = *self.slots.get(key.data().key())? as usize;
        }
        self.values.get_disjoint_mut(positions).ok()
    }

    /// Borrows the values at several keys mutably, without a check of the keys; O(`N`²).
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true for each, and no two are the same.
    pub unsafe fn get_disjoint_unchecked_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> [&mut V; N] {
        // SAFETY: the keys open values (precondition).
        let position = |key: K| unsafe { *self.slots.get_unchecked(key.data().key()) as usize };
        let positions = keys.map(position);
        let values = self.values.get_disjoint_mut(positions);
        values.expect("keys are not disjoint")
    }

    /// The values with their keys, in the order of the slice.
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            inner: self.keys.iter().copied().zip(&self.values),
            keys: PhantomData,
        }
    }

    /// The values with their keys, to be changed, in the order of the slice.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut {
            inner: self.keys.iter().copied().zip(&mut self.values),
            keys: PhantomData,
        }
    }

    /// The keys of the values, in the order of the slice.
    #[inline]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, in the order of the slice.
    #[inline]
    pub fn values(&self) -> Values<'_, K, V> {
        Values {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, to be changed, in the order of the slice.
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut {
            inner: self.iter_mut(),
            keys: PhantomData,
        }
    }

    /// The keys of the values, in their order, as one slice.
    pub fn keys_as_slice(&self) -> &[K] {
        &self.keys
    }

    /// The values as one slice.
    pub fn values_as_slice(&self) -> &[V] {
        &self.values
    }

    /// The values, to be changed, as one slice.
    pub fn values_as_mut_slice(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// The keys and the values, in the same order.
    pub fn as_slices(&self) -> (&[K], &[V]) {
        (&self.keys, &self.values)
    }

    /// The keys and the values, to be changed, in the same order.
    pub fn as_mut_slices(&mut self) -> (&[K], &mut [V]) {
        (&self.keys, &mut self.values)
    }
}

impl<K: Key, V: Clone> Clone for DenseSlotMap<K, V> {
    fn clone(&self) -> Self {
        DenseSlotMap {
            keys: self.keys.clone(),
            values: self.values.clone(),
            slots: self.slots.clone(),
        }
    }

    /// Clones the values into those of this map. If that panics, this map is empty.
    fn clone_from(&mut self, source: &Self) {
        let mut all = core::mem::take(self);
        all.values.clone_from(&source.values);
        all.keys.clone_from(&source.keys);
        all.slots.clone_from(&source.slots);
        *self = all;
    }
}

/// Prints a map from keys to values.
impl<K: Key, V: fmt::Debug> fmt::Debug for DenseSlotMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Key, V> Default for DenseSlotMap<K, V> {
    fn default() -> Self {
        Self::with_key()
    }
}

impl<K: Key, V> Index<K> for DenseSlotMap<K, V> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => invalid(),
        }
    }
}

impl<K: Key, V> IndexMut<K> for DenseSlotMap<K, V> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut V {
        match self.get_mut(key) {
            Some(value) => value,
            None => invalid(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn invalid() -> ! {
    panic!("invalid DenseSlotMap key used")
}

#[cfg(feature = "serde")]
impl<K: Key, V> DenseSlotMap<K, V> {
    /// A map of these parts (`dense-position`).
    pub(crate) fn from_parts(keys: Vec<K>, values: Vec<V>, slots: KeySlab<u32, GenKey>) -> Self {
        DenseSlotMap {
            keys,
            values,
            slots,
        }
    }
}

/// Takes the last value of the slice, again and again.
struct Draining<'a, K: Key, V>(&'a mut DenseSlotMap<K, V>);

impl<K: Key, V> Iterator for Draining<'_, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.keys.pop().zip(self.0.values.pop())?;
        self.0.slots.try_remove(key.data().key());
        Some((key, value))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<K: Key, V> Drop for Draining<'_, K, V> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

iterators! {
    "DenseSlotMap";
    Iter: Zip<Copied<slice::Iter<'a, K>>, slice::Iter<'a, V>>;
    IterMut: Zip<Copied<slice::Iter<'a, K>>, slice::IterMut<'a, V>>;
    IntoIter: Zip<vec::IntoIter<K>, vec::IntoIter<V>>;
    Drain: Draining<'a, K, V>;
}

impl<K: Key, V: Clone> Clone for IntoIter<K, V> {
    fn clone(&self) -> Self {
        IntoIter {
            inner: self.inner.clone(),
            keys: PhantomData,
        }
    }
}

impl<'a, K: Key, V> IntoIterator for &'a DenseSlotMap<K, V> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: Key, V> IntoIterator for &'a mut DenseSlotMap<K, V> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Key, V> IntoIterator for DenseSlotMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter {
            inner: self.keys.into_iter().zip(self.values),
            keys: PhantomData,
        }
    }
}
