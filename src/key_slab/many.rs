//! Operations on several values: borrowing them together, inserting, reading and removing by many
//! keys, removing by a predicate or all, and compaction.
//!
//! An operation on many keys prefetches the cells of the next few keys, so that it waits for
//! several cache misses at once.

use core::fmt;
use core::iter::FusedIterator;

#[cfg(doc)]
use super::GenKey;
use super::cell::{self, Cell};
use super::iter::Walk;
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, Storage};
use crate::error::{DisjointError, FullError};
use crate::key::Key;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Borrows several values mutably at once.
    ///
    /// # Complexity
    ///
    /// O(`N`²); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with one of the keys, or if two keys refer to the same
    /// value.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{DisjointError, KeySlab};
    ///
    /// let mut slab = KeySlab::new();
    /// let (a, b) = (slab.insert(1), slab.insert(2));
    /// let [one, two] = slab.get_disjoint_mut([a, b]).unwrap();
    /// core::mem::swap(one, two);
    /// assert_eq!((slab[a], slab[b]), (2, 1));
    /// assert_eq!(slab.get_disjoint_mut([a, a]), Err(DisjointError::Overlapping));
    /// ```
    #[doc(alias("get2_mut", "get_many_mut"))]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let places = self.disjoint(keys)?;
        // SAFETY: `disjoint` returned the places, and nothing was removed since.
        Ok(unsafe { self.values_of(places) })
    }

    /// Returns slot and version of each key, if all are those of different values.
    #[inline]
    pub(super) fn disjoint<const N: usize>(
        &self,
        keys: [K; N],
    ) -> Result<[(usize, u32); N], DisjointError> {
        let mut places = [(0, 0); N];
        for (at, key) in keys.into_iter().enumerate() {
            let (index, version) = (key.index(), key.version());
            self.find(index, version).ok_or(DisjointError::Missing)?;
            if places[..at].iter().any(|&(other, _)| other == index) {
                return Err(DisjointError::Overlapping);
            }
            places[at] = (index, version);
        }
        Ok(places)
    }

    /// Borrows the values in these slots.
    ///
    /// # Safety
    ///
    /// [`disjoint`](Self::disjoint) returned them, and no value was removed since.
    #[inline]
    pub(super) unsafe fn values_of<const N: usize>(
        &mut self,
        places: [(usize, u32); N],
    ) -> [&mut T; N] {
        // SAFETY: the cells are occupied, distinct because their indices are (precondition), and
        // borrowed as long as the slab is.
        places.map(|(index, _)| unsafe { self.place(index).as_mut().value_mut() })
    }

    /// Borrows several values mutably at once, without a check.
    ///
    /// # Safety
    ///
    /// There is a value with each key ([`contains`](Self::contains) would return `true`), and no
    /// two keys refer to the same value. A key type that is not of this crate returns the same
    /// numbers each time.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(1), slab.insert(2)];
    /// // SAFETY: just inserted, into two slots.
    /// let [one, two] = unsafe { slab.get_disjoint_unchecked_mut(keys) };
    /// core::mem::swap(one, two);
    /// assert_eq!(slab[keys[0]], 2);
    /// ```
    #[must_use]
    #[doc(alias = "get2_unchecked_mut")]
    pub unsafe fn get_disjoint_unchecked_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> [&mut T; N] {
        // SAFETY: the keys open values, so their cells are occupied; they are distinct
        // (preconditions), and borrowed as long as the slab is.
        keys.map(|key| unsafe { self.place(key.index()).as_mut().value_mut() })
    }
}

/// How many cells ahead are prefetched: about as many cache misses as a core waits for at once.
const AHEAD: usize = 8;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Inserts values, and adds their keys to a collection.
    ///
    /// The keys are those that [`try_insert`](Self::try_insert) would return, value by value. If
    /// the iterator panics, the values before are in the slab, and their keys in the collection.
    ///
    /// # Complexity
    ///
    /// O(values), and growth.
    ///
    /// # Errors
    ///
    /// Returns the first value that was not inserted, because no slot is free and the slab cannot
    /// grow. The values before it are inserted. If the iterator was passed by reference (`&mut
    /// iter`), the values after it are still in the iterator.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(3);
    /// let (mut values, mut keys) = (10..15, Vec::new());
    /// let full = slab.try_insert_many(&mut values, &mut keys).unwrap_err();
    /// assert_eq!((keys.len(), full.into_inner()), (3, 13));
    /// assert!(values.eq([14]));
    /// ```
    pub fn try_insert_many(
        &mut self,
        values: impl IntoIterator<Item = T>,
        keys: &mut impl Extend<K>,
    ) -> Result<(), FullError<T>> {
        for value in values {
            self.prefetch_free();
            keys.extend([self.try_insert(value)?]);
        }
        Ok(())
    }

    /// Prefetches the cell that an insertion fills soon.
    #[inline(always)]
    fn prefetch_free(&self) {
        if let Some(index) = self.cells.top_but(AHEAD) {
            self.prefetch_cell(index);
        }
    }

    /// Returns an iterator that borrows the values with these keys, in the order of the keys. It
    /// yields `None` for each key without a value. O(keys).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(7), slab.insert(8)];
    /// slab.remove(keys[0]);
    /// assert!(slab.get_many(&keys).eq([None, Some(&8)]));
    /// ```
    #[inline]
    pub fn get_many<'a>(&'a self, keys: &'a [K]) -> GetMany<'a, T, K, S> {
        self.prefetch_first(keys);
        GetMany { slab: self, keys }
    }

    /// Prefetches the first values of an iterator over these keys.
    #[inline]
    fn prefetch_first(&self, keys: &[K]) {
        for &key in keys.iter().take(AHEAD) {
            self.prefetch(key);
        }
    }

    /// Takes the first key off the slice, and prefetches the value of a later one.
    #[inline(always)]
    fn next_key(&self, keys: &mut &[K]) -> Option<K> {
        let (&key, rest) = keys.split_first()?;
        *keys = rest;
        if let Some(&later) = rest.get(AHEAD - 1) {
            self.prefetch(later);
        }
        Some(key)
    }

    /// Returns an iterator that removes the values with these keys, and yields them in the order of
    /// the keys. It yields `None` for each key without a value, or whose value it has moved out
    /// before. O(keys).
    ///
    /// When the iterator is dropped, the remaining values are removed and dropped, as with
    /// [`drain`](Self::drain). If it is forgotten, they stay.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(7), slab.insert(8), slab.insert(9)];
    /// assert_eq!(slab.remove_many(&keys[..2]).flatten().sum::<i32>(), 15);
    /// assert!(slab.values().eq(&[9]));
    /// ```
    pub fn remove_many<'a>(&'a mut self, keys: &'a [K]) -> RemoveMany<'a, T, K, S> {
        self.prefetch_first(keys);
        RemoveMany { slab: self, keys }
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey> PlainSlab<T, K, Growable> {
    /// Inserts values, and adds their keys to a collection.
    ///
    /// The keys are those that [`insert`](Self::insert) would return, value by value. If the
    /// iterator panics, the values before are in the slab, and their keys in the collection.
    ///
    /// # Complexity
    ///
    /// O(values), and growth.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let mut keys = Vec::new();
    /// slab.insert_many(10..13, &mut keys);
    /// assert_eq!(slab[keys[2]], 12);
    /// ```
    #[track_caller]
    pub fn insert_many(&mut self, values: impl IntoIterator<Item = T>, keys: &mut impl Extend<K>) {
        let values = values.into_iter();
        // Memory that is refused here may not be needed.
        let _ = self.try_reserve(values.size_hint().0);
        for value in values {
            self.prefetch_free();
            keys.extend([self.insert(value)]);
        }
    }
}

/// An iterator over the values with given keys. Created by [`get_many`](PlainSlab::get_many).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let keys = [slab.insert(7), slab.insert(8)];
/// let mut values = slab.get_many(&keys);
/// assert_eq!((values.len(), values.next()), (2, Some(Some(&7))));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct GetMany<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    slab: &'a PlainSlab<T, K, S>,
    keys: &'a [K],
}

impl<'a, T, K: SlabKey, S: Storage> Iterator for GetMany<'a, T, K, S> {
    type Item = Option<&'a T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.slab.next_key(&mut self.keys)?;
        Some(self.slab.get(key))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.keys.len(), Some(self.keys.len()))
    }
}

impl<T, K: SlabKey, S: Storage> Clone for GetMany<'_, T, K, S> {
    fn clone(&self) -> Self {
        GetMany { ..*self }
    }
}

/// An iterator that removes the values with given keys. Created by
/// [`remove_many`](PlainSlab::remove_many).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let keys = [slab.insert(7), slab.insert(8)];
/// assert_eq!(slab.remove_many(&keys).next(), Some(Some(7)));
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it removes and drops the values at all keys"]
pub struct RemoveMany<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    slab: &'a mut PlainSlab<T, K, S>,
    keys: &'a [K],
}

impl<T, K: SlabKey, S: Storage> Iterator for RemoveMany<'_, T, K, S> {
    type Item = Option<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.slab.next_key(&mut self.keys)?;
        Some(self.slab.try_remove(key))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.keys.len(), Some(self.keys.len()))
    }
}

impl<T, K: SlabKey, S: Storage> Drop for RemoveMany<'_, T, K, S> {
    fn drop(&mut self) {
        /// Continues with the remaining values if a destructor panics.
        struct Rest<'r, 'a, T, K: SlabKey, S: Storage>(&'r mut RemoveMany<'a, T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Rest<'_, '_, T, K, S> {
            fn drop(&mut self) {
                self.0.by_ref().for_each(drop);
            }
        }

        let rest = Rest(self);
        rest.0.by_ref().for_each(drop);
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for GetMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for GetMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> ExactSizeIterator for RemoveMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for RemoveMany<'_, T, K, S> {}

/// Prints the remaining keys.
impl<T, K: SlabKey, S: Storage> fmt::Debug for GetMany<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GetMany").field(&self.keys).finish()
    }
}

/// Prints the remaining keys.
impl<T, K: SlabKey, S: Storage> fmt::Debug for RemoveMany<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoveMany").field(&self.keys).finish()
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Drops every value, and keeps all memory.
    ///
    /// The next keys are those of a new slab, except for [retired](Self::retired_slots) slots and
    /// slots kept for [detached](Self::detach) values; with [`GenKey`] they have later generations.
    /// If a destructor panics, the remaining values are dropped before the panic continues.
    ///
    /// # Complexity
    ///
    /// O(used slots), up to the highest slot that has had a value since the slab was created or
    /// shrunk. O(1) if values have no destructor and keys no generations.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// slab.insert(7);
    /// slab.clear();
    /// assert!(slab.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.destroy_all(K::Cell::<T>::VERSIONED, self.len());
    }

    /// Drops the values in the order of their indices, and stops after `values` of them: there are
    /// no more. Afterwards no slot exists, or, if `keep_slots`, all slots are free. Slots without a
    /// version cannot be kept.
    pub(super) fn destroy_all(&mut self, keep_slots: bool, values: usize) {
        /// Continues with the remaining values if a destructor panics.
        struct Rest<'a, T, K: SlabKey, S: Storage> {
            slab: &'a mut PlainSlab<T, K, S>,
            next: usize,
            end: usize,
            left: usize,
            keep_slots: bool,
        }

        impl<T, K: SlabKey, S: Storage> Rest<'_, T, K, S> {
            fn destroy(&mut self) {
                while self.next < self.end && self.left > 0 {
                    let index = self.next;
                    self.next += 1;
                    // SAFETY: below what `used` was, so by `used-cells` it is initialised;
                    // it is not used as a cell again, or has a version.
                    unsafe {
                        let cell = self.slab.place(index);
                        if cell.as_ref().is_occupied() {
                            self.left -= 1;
                            K::Cell::destroy(cell);
                        }
                    }
                }
            }
        }

        impl<T, K: SlabKey, S: Storage> Drop for Rest<'_, T, K, S> {
            fn drop(&mut self) {
                self.destroy();
                if self.keep_slots {
                    self.slab.used = self.end;
                    self.slab.rebuild_stack();
                }
            }
        }

        debug_assert!(K::Cell::<T>::VERSIONED || !keep_slots);
        self.cells.clear();
        let end = core::mem::take(&mut self.used);
        if keep_slots || core::mem::needs_drop::<T>() {
            let mut rest = Rest {
                slab: self,
                next: 0,
                end,
                left: values,
                keep_slots,
            };
            rest.destroy();
        }
    }

    /// Pushes every vacant cell on the stack, with the lowest index on top. Retired cells and cells
    /// kept for detached values are counted instead. O(used slots).
    pub(super) fn rebuild_stack(&mut self) {
        self.cells.clear();
        (self.retired, self.detached) = (0, 0);
        for index in (0..self.used).rev() {
            // SAFETY: by `used-cells` the cell exists; it is pushed once, and there is
            // room for all (`vacant-stack`).
            unsafe {
                let cell = self.place(index);
                if cell.as_ref().is_occupied() {
                    continue;
                }
                let version = cell.as_ref().version();
                if cell::is_detached(version) {
                    self.detached += 1;
                } else if K::Cell::<T>::VERSIONED && version == cell::RETIRED && !self.wraps() {
                    self.retired += 1;
                } else {
                    if version == cell::RETIRED {
                        K::Cell::<T>::write_vacant(cell, 0);
                    }
                    self.cells.push(index);
                }
            }
        }
    }

    /// Drops the values for which `keep` returns `false`, in the order of their slots.
    ///
    /// If `keep` or a destructor panics, the values that were not visited yet stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let (one, two) = (slab.insert(1), slab.insert(2));
    /// slab.retain(|_key, value| *value > 1);
    /// assert!(!slab.contains(one) && slab.contains(two));
    /// ```
    pub fn retain<F>(&mut self, mut keep: F)
    where
        F: FnMut(K, &mut T) -> bool,
    {
        let mut walk = Walk::new(self);
        while let Some((index, version, mut cell)) = walk.next_cell() {
            let key = K::new(index, version | 1, Inside);
            // SAFETY: an occupied cell of this slab (`walk-left`), and its slot; `keep` cannot
            // reach the slab, and what is removed is what was visited.
            unsafe {
                if !keep(key, cell.as_mut().value_mut()) {
                    drop(self.vacate(index, version));
                }
            }
        }
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey> PlainSlab<T, K, Growable> {
    /// Moves values from the last slots into the first free slots, and [frees the
    /// memory](Self::shrink_to_fit) after the last value.
    ///
    /// Before a value moves, `rekey` is called with the value, its present key and its new key, so
    /// that it can correct references to the value. If `rekey` returns `false` or panics, this
    /// value and the rest stay where they are. Slots that are retired or kept for
    /// [detached](Self::detach) values are not filled. Afterwards free slots are used in ascending
    /// order.
    ///
    /// # Complexity
    ///
    /// O(used slots).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys: Vec<_> = (0..5).map(|n| slab.insert(n)).collect();
    /// slab.retain(|_, value| *value % 2 == 0);
    /// slab.compact(|value, from, to| {
    ///     assert_eq!((*value, from, to), (4, keys[4], keys[1]));
    ///     true
    /// });
    /// assert_eq!((slab[keys[1]], slab.capacity()), (4, 3));
    /// ```
    pub fn compact(&mut self, rekey: impl FnMut(&mut T, K, K) -> bool) {
        self.move_down(rekey);
        self.shrink_to_fit();
    }

    fn move_down(&mut self, mut rekey: impl FnMut(&mut T, K, K) -> bool) {
        /// Rebuilds the stack, which is not updated at each move, also if `rekey` panics.
        struct Settled<'a, T, K: SlabKey>(&'a mut PlainSlab<T, K, Growable>);

        impl<T, K: SlabKey> Drop for Settled<'_, T, K> {
            fn drop(&mut self) {
                self.0.rebuild_stack();
            }
        }

        let settled = Settled(self);
        let slab = &*settled.0;
        let (mut to, mut from) = (0, slab.used);
        loop {
            let cells = &slab.existing()[..from];
            let last = cells.iter().rposition(K::Cell::is_occupied);
            let free = (to..from).find(|&at| is_free::<T, K>(&cells[at]));
            match (free, last) {
                (Some(free), Some(last)) if free < last => (to, from) = (free, last),
                _ => return,
            }
            // SAFETY: both exist, the one is vacant and may be filled, the other occupied; `rekey`
            // cannot reach the slab.
            unsafe {
                let (low, mut high) = (slab.place(to), slab.place(from));
                let (old, new) = (high.as_ref().version(), low.as_ref().version() + 1);
                let keys = (K::new(from, old | 1, Inside), K::new(to, new, Inside));
                if !rekey(high.as_mut().value_mut(), keys.0, keys.1) {
                    return;
                }
                K::Cell::fill(low, new, K::Cell::vacate(high, old + 1));
            }
            to += 1;
        }
    }
}

/// Whether a value can be put into the cell.
#[cfg(feature = "alloc")]
fn is_free<T, K: SlabKey>(cell: &K::Cell<T>) -> bool {
    let version = cell.version();
    let is_retired = K::Cell::<T>::VERSIONED && version == cell::RETIRED;
    !cell.is_occupied() && !is_retired && !cell::is_detached(version)
}
