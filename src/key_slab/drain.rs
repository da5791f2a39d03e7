//! Iterators that move the values out.

use core::fmt;
use core::iter::FusedIterator;

use super::cell::Cell;
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, Storage};
use crate::key::Key;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the values out with their keys, in the order of the slots; O(slots up to that of the
    /// last value).
    ///
    /// Dropping the iterator drops the remaining values, and [clears](Self::clear) the
    /// slab. If it is forgotten, the remaining values stay in the slab.
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

/// The slots with a value that are still to be visited, while their slab is changed by the visitor
/// alone.
///
/// # Invariants
///
/// * W2: the slots from `front` to `back` exist, and `left` of them have a value. The visitor moves
///   values out of slots that were visited, and changes no other.
struct Slots {
    front: usize,
    back: usize,
    left: usize,
}

impl Slots {
    /// All slots of a slab.
    fn new<T, K: SlabKey, S: Storage>(slab: &PlainSlab<T, K, S>) -> Self {
        Slots {
            front: 0,
            back: slab.used,
            // By K2 so many of the cells that exist are occupied (W2).
            left: slab.len(),
        }
    }

    /// The next slot with a value. None after the last one is visited.
    #[inline(always)]
    fn next<T, K: SlabKey, S: Storage>(&mut self, slab: &PlainSlab<T, K, S>) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        loop {
            let index = self.front;
            debug_assert!(index < self.back && self.back <= slab.used, "W2");
            self.front += 1;
            // SAFETY: by W2 there is a slot with a value from here on, so this one exists.
            if unsafe { slab.place(index).as_ref().is_occupied() } {
                return Some(index);
            }
        }
    }

    /// The last slot with a value.
    #[inline(always)]
    fn next_back<T, K: SlabKey, S: Storage>(&mut self, slab: &PlainSlab<T, K, S>) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.back -= 1;
            debug_assert!(self.front <= self.back && self.back < slab.used, "W2");
            // SAFETY: by W2 there is a slot with a value before the end, so this one exists.
            if unsafe { slab.place(self.back).as_ref().is_occupied() } {
                return Some(self.back);
            }
        }
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the value out of a slot.
    ///
    /// # Safety
    ///
    /// The slot exists, and has a value.
    #[inline(always)]
    unsafe fn take_at(&mut self, index: usize) -> (K, T) {
        // SAFETY: the cell exists and is occupied (precondition).
        unsafe {
            let version = self.place(index).as_ref().version();
            let key = K::new(index, version | 1, Inside);
            (key, self.vacate(index, version))
        }
    }
}

/// Moves the values out of a slab; made by [`drain`](PlainSlab::drain). Dropping
/// it drops the rest.
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
        let index = self.slots.next(self.slab)?;
        // SAFETY: `next` says that the slot has a value.
        Some(unsafe { self.slab.take_at(index) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for Drain<'_, T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let index = self.slots.next_back(self.slab)?;
        // SAFETY: `next_back` says that the slot has a value.
        Some(unsafe { self.slab.take_at(index) })
    }
}

impl<T, K: SlabKey, S: Storage> Drop for Drain<'_, T, K, S> {
    fn drop(&mut self) {
        self.slab.clear();
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for Drain<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for Drain<'_, T, K, S> {}

/// Prints how many are left.
impl<T, K: SlabKey, S: Storage> fmt::Debug for Drain<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// The values of a slab with their keys, moved out; made by
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
        let index = self.slots.next(&self.slab)?;
        // SAFETY: `next` says that the slot has a value.
        Some(unsafe { self.slab.take_at(index) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for IntoIter<T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let index = self.slots.next_back(&self.slab)?;
        // SAFETY: `next_back` says that the slot has a value.
        Some(unsafe { self.slab.take_at(index) })
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for IntoIter<T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for IntoIter<T, K, S> {}

/// Prints how many are left.
impl<T, K: SlabKey, S: Storage> fmt::Debug for IntoIter<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Moves the values out, in the order of the slots.
impl<T, K: SlabKey, S: Storage> IntoIterator for PlainSlab<T, K, S> {
    type Item = (K, T);
    type IntoIter = IntoIter<T, K, S>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        let slots = Slots::new(&self);
        IntoIter { slab: self, slots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GenKey, KeySlab};

    fn ends_with_the_last_value<K: SlabKey>() {
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
        ends_with_the_last_value::<Key>();
        ends_with_the_last_value::<GenKey>();
    }
}
