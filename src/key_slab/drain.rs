//! Iterators that move the values out.

use core::fmt;
use core::iter::FusedIterator;

use super::cell::Cell;
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, Storage};
use crate::key::Key;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the values out with their keys, in the order of the slots;
    /// O(slots used).
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

/// The slots from which values are still to be moved out, `left` of them
/// occupied.
struct Slots {
    front: usize,
    back: usize,
    left: usize,
}

impl Slots {
    fn new<T, K: SlabKey, S: Storage>(slab: &PlainSlab<T, K, S>) -> Self {
        Slots {
            front: 0,
            back: slab.used,
            left: slab.len(),
        }
    }

    fn next<T, K: SlabKey, S: Storage>(&mut self, slab: &mut PlainSlab<T, K, S>) -> Option<(K, T)> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.front += 1;
            if let Some(item) = slab.take_at(self.front - 1) {
                return Some(item);
            }
        }
    }

    fn next_back<T, K: SlabKey, S: Storage>(
        &mut self,
        slab: &mut PlainSlab<T, K, S>,
    ) -> Option<(K, T)> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.back -= 1;
            if let Some(item) = slab.take_at(self.back) {
                return Some(item);
            }
        }
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the value out of a slot, if it exists and has one.
    fn take_at(&mut self, index: usize) -> Option<(K, T)> {
        assert!(index < self.used);
        // SAFETY: by K1 the cell exists.
        unsafe {
            let cell = self.place(index);
            if !cell.as_ref().is_occupied() {
                return None;
            }
            let version = cell.as_ref().version();
            Some((
                K::new(index, version | 1, Inside),
                self.vacate(index, version),
            ))
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
        self.slots.next(self.slab)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for Drain<'_, T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.slots.next_back(self.slab)
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
        self.slots.next(&mut self.slab)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.left, Some(self.slots.left))
    }
}

impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for IntoIter<T, K, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.slots.next_back(&mut self.slab)
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
