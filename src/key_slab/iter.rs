//! Iterators over all values.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::Cell;
use super::key::{Inside, SlabKey};
use super::{InKeys, PlainSlab, Storage};
use crate::key::Key;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// The values with their keys, in the order of the slots; O(slots used).
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

    /// The values with their keys, to be changed, in the order of the slots;
    /// O(slots used).
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

    /// The keys of the values, in the order of the slots; O(slots used).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.keys().eq([key]));
    /// ```
    #[inline]
    pub fn keys(
        &self,
    ) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + FusedIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// The values, in the order of the slots; O(slots used).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// slab.insert(7);
    /// assert_eq!(slab.values().sum::<u64>(), 7);
    /// ```
    #[inline]
    pub fn values(
        &self,
    ) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + FusedIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The values, to be changed, in the order of the slots; O(slots used).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// slab.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn values_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator + FusedIterator {
        self.iter_mut().map(|(_, value)| value)
    }
}

/// The cells with a value that are still to be visited, by address.
///
/// The end is told by the address alone: where keys are not used, the counting of slots goes.
///
/// # Invariants
///
/// * W1: the cells from `cell` to `end` exist, from slot `front` on, and `left` of them are
///   occupied. Their slab is borrowed as long as the walk lives.
struct Walk<T, K: SlabKey> {
    /// Without its type, which would make the iterators invariant.
    cell: *const u8,
    end: *const u8,
    front: usize,
    left: usize,
    values: PhantomData<*const T>,
    keys: InKeys<K>,
}

impl<T, K: SlabKey> Clone for Walk<T, K> {
    fn clone(&self) -> Self {
        Walk { ..*self }
    }
}

impl<T, K: SlabKey> Walk<T, K> {
    const SIZE: usize = size_of::<K::Cell<T>>();

    #[inline]
    fn new<S: Storage>(slab: &PlainSlab<T, K, S>) -> Self {
        // SAFETY: `used` is at most the capacity (K1).
        let (cell, end) = unsafe {
            let place = |index| slab.cells.cell::<K::Cell<T>>(index).as_ptr().cast_const();
            (place(0), place(slab.used))
        };
        Walk {
            cell: cell.cast(),
            end: end.cast(),
            front: 0,
            left: slab.len(),
            values: PhantomData,
            keys: PhantomData,
        }
    }

    /// The key of an occupied cell.
    ///
    /// # Safety
    ///
    /// It is the cell of this slot.
    #[inline(always)]
    unsafe fn key(index: usize, cell: NonNull<K::Cell<T>>) -> K {
        // SAFETY: the cell exists (precondition).
        unsafe { K::new(index, cell.as_ref().version() | 1, Inside) }
    }

    /// The next cell and its slot.
    #[inline(always)]
    fn next_cell(&mut self) -> Option<(usize, NonNull<K::Cell<T>>)> {
        if self.cell == self.end {
            return None;
        }
        let index = self.front;
        // SAFETY: by W1 a cell.
        let cell = unsafe { NonNull::new_unchecked(self.cell.cast_mut()) }.cast();
        self.cell = self.cell.wrapping_add(Self::SIZE);
        self.front += 1;
        Some((index, cell))
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        while let Some((index, cell)) = self.next_cell() {
            // SAFETY: by W1 the slot's cell.
            unsafe {
                if cell.as_ref().is_occupied() {
                    self.left -= 1;
                    return Some((Self::key(index, cell), cell));
                }
            }
        }
        None
    }

    #[inline(always)]
    fn next_back(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        while self.cell != self.end {
            self.end = self.end.wrapping_sub(Self::SIZE);
            // Cells are there, so they have a size.
            let index = self.front + (self.end.addr() - self.cell.addr()) / Self::SIZE.max(1);
            // SAFETY: by W1 the slot's cell.
            unsafe {
                let cell = NonNull::new_unchecked(self.end.cast_mut()).cast::<K::Cell<T>>();
                if cell.as_ref().is_occupied() {
                    self.left -= 1;
                    return Some((Self::key(index, cell), cell));
                }
            }
        }
        None
    }

    /// Visits all that are left.
    #[inline(always)]
    fn fold<A>(mut self, start: A, mut f: impl FnMut(A, K, NonNull<K::Cell<T>>) -> A) -> A {
        let mut result = start;
        while let Some((index, cell)) = self.next_cell() {
            // SAFETY: by W1 the slot's cell.
            unsafe {
                if cell.as_ref().is_occupied() {
                    result = f(result, Self::key(index, cell), cell);
                }
            }
        }
        result
    }
}

/// Both directions, from `$self.$walk`: `$item` from a key and its cell.
macro_rules! iterator {
    ($iterator:ident, $item:ty, |$key:ident, $cell:ident| $of:expr) => {
        impl<'a, T, K: SlabKey> Iterator for $iterator<'a, T, K> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.walk.next().map(|($key, $cell)| $of)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.walk.left, Some(self.walk.left))
            }

            #[inline]
            fn fold<A, F>(self, start: A, mut f: F) -> A
            where
                F: FnMut(A, Self::Item) -> A,
            {
                self.walk.fold(start, |result, $key, $cell| f(result, $of))
            }
        }

        impl<T, K: SlabKey> DoubleEndedIterator for $iterator<'_, T, K> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.walk.next_back().map(|($key, $cell)| $of)
            }
        }
    };
}

/// What all iterators have in common; `Debug` prints how many values are left.
macro_rules! exact_size {
    ($($iterator:ident)*) => {$(
        impl<T, K: SlabKey> ExactSizeIterator for $iterator<'_, T, K> {}
        impl<T, K: SlabKey> FusedIterator for $iterator<'_, T, K> {}

        /// Prints how many are left.
        impl<T, K: SlabKey> fmt::Debug for $iterator<'_, T, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("left", &self.len())
                    .finish_non_exhaustive()
            }
        }
    )*};
}

/// The values of a slab with their keys; made by [`iter`](PlainSlab::iter).
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

iterator!(Iter, (K, &'a T), |key, cell| {
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

/// The values of a slab with their keys, to be changed; made by
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

iterator!(IterMut, (K, &'a mut T), |key, cell| {
    // SAFETY: occupied, visited once, and borrowed as long as the slab is.
    (key, unsafe { (&mut *cell.as_ptr()).value_mut() })
});

exact_size!(Iter IterMut);

/// As `iter`.
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a PlainSlab<T, K, S> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As `iter_mut`.
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a mut PlainSlab<T, K, S> {
    type Item = (K, &'a mut T);
    type IntoIter = IterMut<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
