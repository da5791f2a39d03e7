//! Iterators over all values: by reference, and by value.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::Cell;
use super::key::{Inside, SlabKey};
use super::{Growable, InKeys, PlainSlab, Storage};
use crate::key::Key;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns an iterator over the values with their keys, in the order of the slots.
    ///
    /// Each call starts with the first slot. So a loop that removes the first value again and again
    /// takes O(slots²): use [`drain`](Self::drain) or [`retain`](Self::retain), which remove values
    /// in one walk.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.iter().eq([(key, &7)]));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, K> {
        Iter {
            walk: Walk::new(self),
            values: PhantomData,
        }
    }

    /// Returns an iterator over mutable references to the values, with their keys, in the order of
    /// the slots.
    ///
    /// Takes as long as [`iter`](Self::iter).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// for (_key, value) in slab.iter_mut() {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, K> {
        IterMut {
            walk: Walk::new(self),
            values: PhantomData,
        }
    }

    /// Returns an iterator over the keys of the values, in the order of the slots.
    ///
    /// Takes as long as [`iter`](Self::iter).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.keys().eq([key]));
    /// ```
    #[inline]
    pub fn keys(&self) -> Keys<'_, T, K> {
        Keys { walk: self.iter() }
    }

    /// Returns an iterator over the values, in the order of the slots.
    ///
    /// Takes as long as [`iter`](Self::iter).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// slab.insert(7);
    /// assert_eq!(slab.values().sum::<u64>(), 7);
    /// ```
    #[inline]
    pub fn values(&self) -> Values<'_, T, K> {
        Values { walk: self.iter() }
    }

    /// Returns an iterator over mutable references to the values, in the order of the slots.
    ///
    /// Takes as long as [`iter`](Self::iter).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// slab.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, T, K> {
        ValuesMut {
            walk: self.iter_mut(),
        }
    }
}

/// A walk by address over the cells with a value that were not visited yet.
///
/// It ends when the number of remaining values is 0: no cell after the last value is visited, and
/// no address is compared with an end. `end` is for the other direction.
///
/// # Invariants
///
/// * `walk-left`: the cells from `cell` to `end` exist, from slot `front` on, and `left` of them
///   are occupied. Their slab is borrowed as long as the walk lives.
pub(super) struct Walk<T, K: SlabKey> {
    /// A pointer without its type, which would make the iterators invariant.
    cell: *const u8,
    end: *const u8,
    front: usize,
    left: usize,
    values: PhantomData<*const T>,
    keys: InKeys<K>,
}

/// The slot, the version and the place of an occupied cell.
pub(super) type Visited<T, K> = (usize, u32, NonNull<<K as SlabKey>::Cell<T>>);

impl<T, K: SlabKey> Clone for Walk<T, K> {
    fn clone(&self) -> Self {
        Walk { ..*self }
    }
}

impl<T, K: SlabKey> Walk<T, K> {
    const SIZE: usize = size_of::<K::Cell<T>>();

    #[inline]
    pub(super) fn new<S: Storage>(slab: &PlainSlab<T, K, S>) -> Self {
        // SAFETY: `used` is at most the capacity (`used-cells`).
        let (cell, end) = unsafe {
            let place = |index| slab.cells.cell::<K::Cell<T>>(index).as_ptr().cast_const();
            (place(0), place(slab.used))
        };
        Walk {
            cell: cell.cast(),
            end: end.cast(),
            front: 0,
            // By `vacant-stack` so many of the cells that exist are occupied (`walk-left`).
            left: slab.len(),
            values: PhantomData,
            keys: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.left
    }

    #[inline(always)]
    pub(super) fn next_cell(&mut self) -> Option<Visited<T, K>> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let index = self.front;
            // SAFETY: by `walk-left` there is an occupied cell from here on, so this one exists.
            unsafe {
                let cell = NonNull::new_unchecked(self.cell.cast_mut()).cast::<K::Cell<T>>();
                self.cell = self.cell.wrapping_add(Self::SIZE);
                self.front += 1;
                if cell.as_ref().is_occupied() {
                    return Some((index, cell.as_ref().version(), cell));
                }
            }
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        let (index, version, cell) = self.next_cell()?;
        Some((K::new(index, version | 1, Inside), cell))
    }

    #[inline(always)]
    fn next_back(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        let (index, version, cell) = self.next_cell_back()?;
        Some((K::new(index, version | 1, Inside), cell))
    }

    #[inline(always)]
    pub(super) fn next_cell_back(&mut self) -> Option<Visited<T, K>> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.end = self.end.wrapping_sub(Self::SIZE);
            // Cells are there, so they have a size.
            let index = self.front + (self.end.addr() - self.cell.addr()) / Self::SIZE.max(1);
            // SAFETY: by `walk-left` there is an occupied cell before the end, so this one exists;
            // it is the slot's.
            unsafe {
                let cell = NonNull::new_unchecked(self.end.cast_mut()).cast::<K::Cell<T>>();
                if cell.as_ref().is_occupied() {
                    return Some((index, cell.as_ref().version(), cell));
                }
            }
        }
    }
}

/// Implements the traits of an iterator in both directions: `$of` makes an item of what `walk`
/// finds.
macro_rules! iterator {
    ($iterator:ident, $item:ty, |$found:pat_param| $of:expr) => {
        impl<'a, T, K: SlabKey> Iterator for $iterator<'a, T, K> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.walk.next().map(|$found| $of)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.walk.len(), Some(self.walk.len()))
            }
        }

        impl<T, K: SlabKey> DoubleEndedIterator for $iterator<'_, T, K> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.walk.next_back().map(|$found| $of)
            }
        }

        impl<T, K: SlabKey> ExactSizeIterator for $iterator<'_, T, K> {}
        impl<T, K: SlabKey> FusedIterator for $iterator<'_, T, K> {}

        /// Prints the number of remaining items.
        impl<T, K: SlabKey> fmt::Debug for $iterator<'_, T, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("left", &self.len())
                    .finish_non_exhaustive()
            }
        }
    };
}

/// An iterator over the values of a slab with their keys. Created by [`iter`](PlainSlab::iter).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// slab.insert(3);
/// slab.insert(4);
/// assert_eq!(slab.iter().map(|(_key, value)| value).sum::<u64>(), 7);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a, T, K: SlabKey = Key> {
    walk: Walk<T, K>,
    values: PhantomData<(&'a T, &'a InKeys<K>)>,
}

// SAFETY: it is a shared borrow of the slab, and cells are only read.
unsafe impl<T: Sync, K: SlabKey> Send for Iter<'_, T, K> {}
// SAFETY: `&Iter` gives only what the shared borrow of the slab gives.
unsafe impl<T: Sync, K: SlabKey> Sync for Iter<'_, T, K> {}

iterator!(Iter, (K, &'a T), |(key, cell)| {
    // SAFETY: occupied, and borrowed as long as the slab is.
    (key, unsafe { cell.as_ref().value() })
});

impl<T, K: SlabKey> Clone for Iter<'_, T, K> {
    fn clone(&self) -> Self {
        Iter {
            walk: self.walk.clone(),
            values: PhantomData,
        }
    }
}

/// An iterator over mutable references to the values of a slab, with their keys. Created by
/// [`iter_mut`](PlainSlab::iter_mut).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let key = slab.insert(3);
/// slab.iter_mut().for_each(|(_key, value)| *value += 1);
/// assert_eq!(slab[key], 4);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct IterMut<'a, T, K: SlabKey = Key> {
    walk: Walk<T, K>,
    values: PhantomData<(&'a mut T, &'a InKeys<K>)>,
}

// SAFETY: it is the one borrow of the slab, and hands each value out once.
unsafe impl<T: Send, K: SlabKey> Send for IterMut<'_, T, K> {}
// SAFETY: `&IterMut` gives access to no value.
unsafe impl<T: Sync, K: SlabKey> Sync for IterMut<'_, T, K> {}

iterator!(IterMut, (K, &'a mut T), |(key, cell)| {
    // SAFETY: occupied, visited once, and borrowed as long as the slab is.
    (key, unsafe { (&mut *cell.as_ptr()).value_mut() })
});

/// An iterator over the keys of a slab. Created by [`keys`](PlainSlab::keys).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let key = slab.insert(3);
/// let mut keys = slab.keys();
/// assert_eq!((keys.next(), keys.next()), (Some(key), None));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Keys<'a, T, K: SlabKey = Key> {
    walk: Iter<'a, T, K>,
}

iterator!(Keys, K, |(key, _)| key);

impl<T, K: SlabKey> Clone for Keys<'_, T, K> {
    fn clone(&self) -> Self {
        let walk = self.walk.clone();
        Keys { walk }
    }
}

/// An iterator over the values of a slab. Created by [`values`](PlainSlab::values).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// slab.insert(3);
/// let mut values = slab.values();
/// assert_eq!((values.len(), values.next()), (1, Some(&3)));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Values<'a, T, K: SlabKey = Key> {
    walk: Iter<'a, T, K>,
}

iterator!(Values, &'a T, |(_, value)| value);

impl<T, K: SlabKey> Clone for Values<'_, T, K> {
    fn clone(&self) -> Self {
        let walk = self.walk.clone();
        Values { walk }
    }
}

/// An iterator over mutable references to the values of a slab. Created by
/// [`values_mut`](PlainSlab::values_mut).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let key = slab.insert(3);
/// *slab.values_mut().next().unwrap() += 1;
/// assert_eq!(slab[key], 4);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct ValuesMut<'a, T, K: SlabKey = Key> {
    walk: IterMut<'a, T, K>,
}

iterator!(ValuesMut, &'a mut T, |(_, value)| value);

/// Iterates like [`iter`](PlainSlab::iter).
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a PlainSlab<T, K, S> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates like [`iter_mut`](PlainSlab::iter_mut).
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a mut PlainSlab<T, K, S> {
    type Item = (K, &'a mut T);
    type IntoIter = IterMut<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns an iterator that moves the values out with their keys, in the order of the slots.
    ///
    /// Dropping the iterator drops the remaining values, and [clears](Self::clear) the slab. If the
    /// iterator is forgotten, the remaining values stay in the slab.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.drain().eq([(key, 7)]));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    pub fn drain(&mut self) -> Drain<'_, T, K, S> {
        let slots = Slots::new(self);
        Drain { slab: self, slots }
    }
}

/// The slots with a value that were not visited yet, while only the visitor changes their slab.
///
/// # Invariants
///
/// * `visit-left`: the slots from `front` to `back` exist, and `left` of them have a value. The
///   visitor moves values out of slots that were visited, and changes no other.
pub(super) struct Slots {
    front: usize,
    back: usize,
    left: usize,
}

impl Slots {
    /// All slots of a slab.
    pub(super) fn new<T, K: SlabKey, S: Storage>(slab: &PlainSlab<T, K, S>) -> Self {
        Slots {
            front: 0,
            back: slab.used,
            // By `vacant-stack` so many of the cells that exist are occupied (`visit-left`).
            left: slab.len(),
        }
    }

    /// Returns the next slot with a value. Visits no slot after the last value.
    #[inline(always)]
    pub(super) fn next<T, K: SlabKey, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
    ) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let index = self.front;
            debug_assert!(index < self.back && self.back <= slab.used, "visit-left");
            self.front += 1;
            // SAFETY: by `visit-left` there is a slot with a value from here on, so this one
            // exists.
            if unsafe { slab.place(index).as_ref().is_occupied() } {
                return Some(index);
            }
        }
    }

    /// Returns the last slot with a value that was not visited yet.
    #[inline(always)]
    fn next_back<T, K: SlabKey, S: Storage>(&mut self, slab: &PlainSlab<T, K, S>) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.back -= 1;
            debug_assert!(
                self.front <= self.back && self.back < slab.used,
                "visit-left"
            );
            // SAFETY: by `visit-left` there is a slot with a value before the end, so this one
            // exists.
            if unsafe { slab.place(self.back).as_ref().is_occupied() } {
                return Some(self.back);
            }
        }
    }

    /// Moves out the value of the next slot that has one.
    #[inline]
    fn take_next<T, K: SlabKey, S: Storage>(
        &mut self,
        slab: &mut PlainSlab<T, K, S>,
    ) -> Option<(K, T)> {
        let index = self.next(slab)?;
        // SAFETY: `next` says that the slot has a value.
        Some(unsafe { slab.take_at(index) })
    }

    /// Moves out the value of the last slot that has one.
    #[inline]
    fn take_next_back<T, K: SlabKey, S: Storage>(
        &mut self,
        slab: &mut PlainSlab<T, K, S>,
    ) -> Option<(K, T)> {
        let index = self.next_back(slab)?;
        // SAFETY: `next_back` says that the slot has a value.
        Some(unsafe { slab.take_at(index) })
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the value out of a slot.
    ///
    /// # Safety
    ///
    /// The slot exists, and has a value.
    #[inline(always)]
    pub(super) unsafe fn take_at(&mut self, index: usize) -> (K, T) {
        // SAFETY: the cell exists and is occupied (precondition).
        unsafe {
            let version = self.place(index).as_ref().version();
            let key = K::new(index, version | 1, Inside);
            (key, self.vacate(index, version))
        }
    }
}

/// An iterator that moves the values out of a slab. Created by [`drain`](PlainSlab::drain).
///
/// Dropping it drops the remaining values.
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// slab.insert("first");
/// slab.insert("second");
/// let (_key, value) = slab.drain().next().unwrap();
/// assert_eq!(value, "first");
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it drops every value; `clear` says so"]
pub struct Drain<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    slab: &'a mut PlainSlab<T, K, S>,
    slots: Slots,
}

impl<T, K: SlabKey, S: Storage> Iterator for Drain<'_, T, K, S> {
    type Item = (K, T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.slots.take_next(self.slab)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for Drain<'_, T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.slots.take_next_back(self.slab)
    }
}

impl<T, K: SlabKey, S: Storage> Drop for Drain<'_, T, K, S> {
    fn drop(&mut self) {
        self.slab.clear();
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for Drain<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for Drain<'_, T, K, S> {}

/// Prints the number of remaining values.
impl<T, K: SlabKey, S: Storage> fmt::Debug for Drain<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// An iterator that moves the values out of a slab that it owns. Created by
/// [`into_iter`](PlainSlab::into_iter).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let key = slab.insert(String::from("value"));
/// let mut values = slab.into_iter();
/// assert_eq!(values.next(), Some((key, String::from("value"))));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct IntoIter<T, K: SlabKey = Key, S: Storage = Growable> {
    slab: PlainSlab<T, K, S>,
    slots: Slots,
}

impl<T, K: SlabKey, S: Storage> Iterator for IntoIter<T, K, S> {
    type Item = (K, T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.slots.take_next(&mut self.slab)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for IntoIter<T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.slots.take_next_back(&mut self.slab)
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for IntoIter<T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for IntoIter<T, K, S> {}

/// Prints the number of remaining values.
impl<T, K: SlabKey, S: Storage> fmt::Debug for IntoIter<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Moves the values out with their keys, in the order of the slots.
impl<T, K: SlabKey, S: Storage> IntoIterator for PlainSlab<T, K, S> {
    type Item = (K, T);
    type IntoIter = IntoIter<T, K, S>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        let slots = Slots::new(&self);
        IntoIter { slab: self, slots }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::{GenKey, KeySlab};

    /// Ten values, from the first slot given, of many.
    fn ten_of_many<K: SlabKey>(first: usize) -> KeySlab<usize, K> {
        let mut slab = KeySlab::with_key();
        slab.insert_many(0..100, &mut Vec::new());
        slab.retain(|_, value| (first..first + 20).contains(value) && *value % 2 == 0);
        slab
    }

    /// After the last value there may be any number of used slots.
    fn ends_with_the_last_value<K: SlabKey>() {
        let mut slab = ten_of_many::<K>(40);
        let mut walk = Walk::new(&slab);
        assert_eq!(core::iter::from_fn(|| walk.next()).count(), 10);
        assert_eq!((walk.front, walk.len()), (59, 0));
        let (mut walk, mut indices) = (Walk::new(&slab), Vec::new());
        while let Some((key, _)) = walk.next_back() {
            indices.push(key.index());
        }
        assert!(indices.into_iter().eq((40..60).step_by(2).rev()));
        assert_eq!((walk.front, walk.len()), (0, 0));
        assert_eq!(
            walk.end.addr() - walk.cell.addr(),
            40 * Walk::<usize, K>::SIZE
        );
        // From both ends: the two meet at the last remaining value.
        let mut walk = Walk::new(&slab);
        for left in (0..10).rev() {
            let found = if left % 3 == 0 {
                walk.next_back()
            } else {
                walk.next()
            };
            assert!(found.is_some() && walk.len() == left);
        }
        assert!(walk.next().is_none() && walk.next_back().is_none());
        assert!(walk.end.addr() - walk.cell.addr() < 2 * Walk::<usize, K>::SIZE);

        let (mut iter, mut keys) = (slab.iter_mut(), 0);
        while iter.next().is_some() {
            keys += 1;
        }
        assert_eq!((keys, iter.walk.front), (10, 59));
    }

    #[test]
    fn a_walk_ends_with_the_last_value() {
        ends_with_the_last_value::<Key>();
        ends_with_the_last_value::<GenKey>();
    }

    fn moves_no_further_than_the_last_value<K: SlabKey>() {
        let mut slab: KeySlab<usize, K> = KeySlab::with_key();
        slab.insert_many(0..100, &mut Vec::new());
        slab.retain(|_, value| (40..60).contains(value) && *value % 2 == 0);
        let mut values = slab.clone().into_iter();
        assert!(
            values
                .by_ref()
                .map(|(_, value)| value)
                .eq((40..60).step_by(2))
        );
        assert_eq!((values.slots.front, values.slots.back), (59, 100));
        let mut drain = slab.drain();
        assert_eq!(drain.by_ref().rev().count(), 10);
        assert_eq!((drain.slots.front, drain.slots.back), (0, 40));
        assert!(drain.next().is_none() && drain.next_back().is_none());
    }

    #[test]
    fn values_are_looked_for_no_further_than_the_last_one() {
        moves_no_further_than_the_last_value::<Key>();
        moves_no_further_than_the_last_value::<GenKey>();
    }
}
