//! Iterators: over all values, over a row of cells at a time.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::Cell;
use super::key::SlabKey;
use super::storage::{Chunks, Storage};
use super::{InKeys, PlainSlab};
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
    pub fn iter(&self) -> Iter<'_, T, K, S> {
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
    pub fn iter_mut(&mut self) -> IterMut<'_, T, K, S> {
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

/// The cells with a value that are still to be visited, by address within a row.
///
/// The end of a row is found by its address alone, and `front` is set there, so
/// that the compiler removes the counting if keys are not used.
///
/// # Invariants
///
/// * W1: the slots `front..back` exist, and `left` of them are occupied.
/// * W2: `cell` is the cell of slot `front`, and the cells from there to
///   `row_end` are those up to slot `row_back`, which is at most `back`.
struct Walk<T, K: SlabKey, S> {
    /// Of a slab that is borrowed as long as the walk lives.
    storage: NonNull<S>,
    /// Without its type, which would make the iterators invariant.
    cell: *const u8,
    row_end: *const u8,
    front: usize,
    row_back: usize,
    back: usize,
    left: usize,
    values: PhantomData<*const T>,
    keys: InKeys<K>,
}

impl<T, K: SlabKey, S> Clone for Walk<T, K, S> {
    fn clone(&self) -> Self {
        Walk { ..*self }
    }
}

impl<T, K: SlabKey, S: Storage> Walk<T, K, S> {
    #[inline]
    fn new(slab: &PlainSlab<T, K, S>) -> Self {
        Walk {
            storage: NonNull::from(&slab.storage),
            cell: core::ptr::null(),
            row_end: core::ptr::null(),
            front: 0,
            row_back: 0,
            back: slab.used,
            left: slab.len(),
            values: PhantomData,
            keys: PhantomData,
        }
    }

    /// # Safety
    ///
    /// The slot exists.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> NonNull<K::Cell<T>> {
        // SAFETY: the storage is borrowed as long as the walk lives; the slot exists
        // (precondition).
        unsafe { self.storage.as_ref().cell(index) }
    }

    /// The key of an occupied cell.
    ///
    /// # Safety
    ///
    /// It is the cell of this slot.
    #[inline(always)]
    unsafe fn key(index: usize, cell: NonNull<K::Cell<T>>) -> K {
        // SAFETY: it is the cell of this slot (precondition); the version is odd.
        unsafe { K::new(index, cell.as_ref().version() | 1) }
    }

    /// The next cell of the row and its slot.
    #[inline(always)]
    fn next_in_row(&mut self) -> Option<(usize, NonNull<K::Cell<T>>)> {
        if self.cell == self.row_end {
            return None;
        }
        let index = self.front;
        // SAFETY: `cell` is not `row_end`, so by W2 it is the cell of slot `front`.
        let cell = unsafe { NonNull::new_unchecked(self.cell.cast_mut()) }.cast();
        self.cell = self.cell.wrapping_add(size_of::<K::Cell<T>>());
        self.front += 1;
        Some((index, cell))
    }

    /// Goes to the next row; `false` if there is none.
    #[inline(always)]
    fn find_row(&mut self) -> bool {
        self.front = self.row_back;
        if self.front == self.back {
            return false;
        }
        let cells = S::run::<K::Cell<T>>(self.front).min(self.back - self.front);
        self.row_back = self.front + cells;
        // SAFETY: by W1 the slot exists.
        self.cell = unsafe { self.place(self.front) }.as_ptr().cast();
        self.row_end = (self.cell).wrapping_add(cells * size_of::<K::Cell<T>>());
        true
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        loop {
            while let Some((index, cell)) = self.next_in_row() {
                // SAFETY: by W2 `cell` is the cell of slot `index`.
                unsafe {
                    if cell.as_ref().is_occupied() {
                        self.left -= 1;
                        return Some((Self::key(index, cell), cell));
                    }
                }
            }
            if !self.find_row() {
                return None;
            }
        }
    }

    #[inline(always)]
    fn next_back(&mut self) -> Option<(K, NonNull<K::Cell<T>>)> {
        while self.back > self.front {
            self.back -= 1;
            if self.row_back > self.back {
                self.row_back = self.back;
                self.row_end = self.row_end.wrapping_sub(size_of::<K::Cell<T>>());
            }
            // SAFETY: by W1 the slot exists.
            unsafe {
                let cell = self.place(self.back);
                if cell.as_ref().is_occupied() {
                    self.left -= 1;
                    return Some((Self::key(self.back, cell), cell));
                }
            }
        }
        None
    }

    /// Visits all that are left: a loop over each row.
    #[inline(always)]
    fn fold<A>(mut self, start: A, mut f: impl FnMut(A, K, NonNull<K::Cell<T>>) -> A) -> A {
        let mut result = start;
        loop {
            while let Some((index, cell)) = self.next_in_row() {
                // SAFETY: by W2 `cell` is the cell of slot `index`.
                unsafe {
                    if cell.as_ref().is_occupied() {
                        result = f(result, Self::key(index, cell), cell);
                    }
                }
            }
            if !self.find_row() {
                return result;
            }
        }
    }
}

/// Both directions, from `$self.$walk`: `$item` from a key and its cell.
macro_rules! iterator {
    ($iterator:ident, $item:ty, |$key:ident, $cell:ident| $of:expr) => {
        impl<'a, T, K: SlabKey, S: Storage> Iterator for $iterator<'a, T, K, S> {
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

        impl<T, K: SlabKey, S: Storage> DoubleEndedIterator for $iterator<'_, T, K, S> {
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
        impl<T, K: SlabKey, S: Storage> ExactSizeIterator for $iterator<'_, T, K, S> {}
        impl<T, K: SlabKey, S: Storage> FusedIterator for $iterator<'_, T, K, S> {}

        /// Prints how many are left.
        impl<T, K: SlabKey, S: Storage> fmt::Debug for $iterator<'_, T, K, S> {
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
pub struct Iter<'a, T, K: SlabKey = Key, S: Storage = Chunks> {
    walk: Walk<T, K, S>,
    values: PhantomData<&'a PlainSlab<T, K, S>>,
}

// SAFETY: it is a shared borrow of the slab, and cells are only read.
unsafe impl<T: Sync, K: SlabKey, S: Storage + Sync> Send for Iter<'_, T, K, S> {}
// SAFETY: `&Iter` gives only what the shared borrow of the slab gives.
unsafe impl<T: Sync, K: SlabKey, S: Storage + Sync> Sync for Iter<'_, T, K, S> {}

iterator!(Iter, (K, &'a T), |key, cell| {
    // SAFETY: occupied, and borrowed as long as the slab is.
    (key, unsafe { cell.as_ref().value() })
});

impl<T, K: SlabKey, S: Storage> Clone for Iter<'_, T, K, S> {
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
pub struct IterMut<'a, T, K: SlabKey = Key, S: Storage = Chunks> {
    walk: Walk<T, K, S>,
    values: PhantomData<&'a mut PlainSlab<T, K, S>>,
}

// SAFETY: it is the one borrow of the slab, and hands each value out once.
unsafe impl<T: Send, K: SlabKey, S: Storage + Send> Send for IterMut<'_, T, K, S> {}
// SAFETY: `&IterMut` gives access to no value.
unsafe impl<T: Sync, K: SlabKey, S: Storage + Sync> Sync for IterMut<'_, T, K, S> {}

iterator!(IterMut, (K, &'a mut T), |key, cell| {
    // SAFETY: occupied, visited once, and borrowed as long as the slab is.
    (key, unsafe { (&mut *cell.as_ptr()).value_mut() })
});

exact_size!(Iter IterMut);

/// As `iter`.
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a PlainSlab<T, K, S> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K, S>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As `iter_mut`.
impl<'a, T, K: SlabKey, S: Storage> IntoIterator for &'a mut PlainSlab<T, K, S> {
    type Item = (K, &'a mut T);
    type IntoIter = IterMut<'a, T, K, S>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
