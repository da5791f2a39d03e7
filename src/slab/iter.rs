//! What concerns all values of a slab: iteration, `clear`, `retain`, `drain`.
//!
//! Everything goes in key order. The slab may be used, and grow or shrink, during
//! an iteration: what an iterator knows of the cells to come holds until user
//! code has changed it ([`Walk`]). Slots past the starting bound are not visited,
//! so inserting loops terminate.

use core::fmt;
use core::iter::FusedIterator;

use crate::error::Borrowed;
use crate::key::Key;
use crate::slab::cell::walk::{self, Walk};
use crate::slab::guard::{Ref, RefMut};
use crate::slab::{Memory, TrackedSlab};
#[cfg(doc)]
use crate::{Slot, SlotBox};

impl<T, M: Memory> TrackedSlab<T, M> {
    /// The values with their keys, in key order; O(slots), no allocation.
    ///
    /// Each value is borrowed when the iterator comes to it, and skipped where
    /// [`get`](Self::get) would say `None`. The slab may be used at the same
    /// time: a value inserted ahead of the iterator is visited, up to the last
    /// slot there was when it was made.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert(7).leak();
    /// for (at, value) in slab.iter() {
    ///     assert_eq!((at, *value), (key, 7));
    /// }
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, M> {
        Iter(Walk::new(self.cells()))
    }

    /// The values with their keys, to be changed, in key order; O(slots), no
    /// allocation.
    ///
    /// As [`iter`](Self::iter), but a value is skipped where
    /// [`get_mut`](Self::get_mut) would say `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert(7).leak();
    /// for (_key, mut value) in slab.iter_mut() {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab.get_copied(key), Some(8));
    /// ```
    #[inline]
    pub fn iter_mut(&self) -> IterMut<'_, T, M> {
        IterMut(Walk::new(self.cells()))
    }

    /// The keys of the values, borrowed or not, ascending; O(slots), no
    /// allocation. The slab may be used at the same time, as with
    /// [`iter`](Self::iter).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let guard = slot.get_mut();
    /// assert!(slab.keys().eq([slot.key()]));
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn keys(&self) -> Keys<'_, T, M> {
        Keys(Walk::new(self.cells()))
    }

    /// Drops the values for which `keep` is false, in key order; O(slots), no
    /// allocation.
    ///
    /// A value that is borrowed when its turn comes stays, and `keep` is not
    /// called for it. `keep` runs with the value mutably borrowed, and may use
    /// the slab. A [`Slot`] whose value goes is stale, and its cell out of use
    /// until the slot is gone. When `keep` or a destructor panics, the values
    /// not yet visited stay.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert(7).leak();
    /// slab.retain(|_key, value| *value == 7);
    /// assert!(slab.contains_key(key));
    /// slab.retain(|_key, value| *value != 7);
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    pub fn retain<F>(&self, mut keep: F)
    where
        F: FnMut(Key, &mut T) -> bool,
    {
        for (key, mut value) in self.iter_mut() {
            if !keep(key, &mut value) {
                value.destroy();
            }
        }
    }

    /// Moves the values out with their keys, in key order; O(slots), no
    /// allocation.
    ///
    /// A value that is borrowed when its turn comes stays. A [`Slot`] whose
    /// value goes is stale, and its cell out of use until the slot is gone.
    /// Dropping the iterator drops the values it has not come to.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert(7).leak();
    /// assert!(slab.drain().eq([(key, 7)]));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    pub fn drain(&self) -> Drain<'_, T, M> {
        Drain(Walk::new(self.cells()))
    }

    /// Drops every value, in key order, and keeps all memory; O(slots).
    ///
    /// A value that a [`Slot`] owns is dropped too; the slot is stale then and
    /// its cell out of use until the slot is gone, so a slab can be full right
    /// after `clear`. Reservations stay. When a destructor panics the rest is
    /// dropped all the same, then the panic goes on. A value that a destructor
    /// inserts or borrows during the walk may stay.
    ///
    /// # Panics
    ///
    /// If a value is borrowed (a [`SlotBox`] counts), before any is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// slab.clear();
    /// assert!(slab.is_empty() && !slot.is_valid());
    /// ```
    #[track_caller]
    pub fn clear(&self) {
        if let Err(error) = self.try_clear() {
            panic!("clear was refused: {error}");
        }
    }

    /// Drops every value, like [`clear`](Self::clear).
    ///
    /// # Errors
    ///
    /// Where [`clear`](Self::clear) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Borrowed;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let guard = slot.get();
    /// assert_eq!(slab.try_clear(), Err(Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_clear(), Ok(()));
    /// ```
    pub fn try_clear(&self) -> Result<(), Borrowed> {
        walk::try_clear(self.cells())
    }
}

/// As `iter`.
impl<'a, T, M: Memory> IntoIterator for &'a TrackedSlab<T, M> {
    type Item = (Key, Ref<'a, T>);
    type IntoIter = Iter<'a, T, M>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T, M> {
        self.iter()
    }
}

/// What all iterators have: `$item` from a cell, if it is wanted, which is asked
/// without running user code.
macro_rules! iterator {
    ($iterator:ident, $item:ty, |$cell:ident| $wanted:expr) => {
        impl<'a, T, M: Memory> Iterator for $iterator<'a, T, M> {
            type Item = $item;

            // Always inline: what is returned then never takes a place on the
            // stack, and the tracking of a short borrow folds away.
            #[inline(always)]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.resume();
                loop {
                    // SAFETY: resumed; what is wanted is decided without user code.
                    while let Some($cell) = unsafe { self.0.next_in_row() } {
                        if let Some(item) = $wanted {
                            return Some(item);
                        }
                    }
                    if !self.0.find_row() {
                        return None;
                    }
                }
            }

            /// A loop over the cells of each chunk, with nothing to keep from
            /// one value to the next but where it is.
            #[inline]
            fn fold<A, F>(mut self, first: A, mut fold: F) -> A
            where
                F: FnMut(A, Self::Item) -> A,
            {
                let mut folded = first;
                self.0.resume();
                loop {
                    // SAFETY: resumed whenever user code has run.
                    while let Some($cell) = unsafe { self.0.next_in_row() } {
                        if let Some(item) = $wanted {
                            folded = fold(folded, item);
                            self.0.resume();
                        }
                    }
                    if !self.0.find_row() {
                        return folded;
                    }
                }
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (0, Some(self.0.keys().len()))
            }
        }

        impl<T, M: Memory> FusedIterator for $iterator<'_, T, M> {}

        /// Prints the range of keys still to be visited.
        impl<T, M: Memory> fmt::Debug for $iterator<'_, T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($iterator))
                    .field("keys", &self.0.keys())
                    .finish_non_exhaustive()
            }
        }
    };
}

/// The values of a slab with their keys, borrowed; made by
/// [`iter`](TrackedSlab::iter).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert(3).leak();
/// slab.insert(4).leak();
/// assert_eq!(slab.iter().map(|(_key, value)| *value).sum::<i32>(), 7);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(Iter, (Key, Ref<'a, T>), |cell| {
    Ref::try_new(cell).map(|value| (cell.key(), value))
});

impl<T, M: Memory> Clone for Iter<'_, T, M> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

/// The values of a slab with their keys, borrowed mutably; made by
/// [`iter_mut`](TrackedSlab::iter_mut).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert(3).leak();
/// for (_key, mut value) in slab.iter_mut() {
///     *value += 1;
/// }
/// assert_eq!(slab.get_copied(key), Some(4));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct IterMut<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(IterMut, (Key, RefMut<'a, T>), |cell| {
    RefMut::try_new(cell).map(|value| (cell.key(), value))
});

/// The keys of the values in a slab, borrowed or not; made by
/// [`keys`](TrackedSlab::keys).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert(7).leak();
/// assert_eq!(slab.keys().collect::<Vec<_>>(), [key]);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Keys<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(Keys, Key, |cell| {
    cell.state().is_occupied().then(|| cell.key())
});

impl<T, M: Memory> Clone for Keys<'_, T, M> {
    fn clone(&self) -> Self {
        Keys(self.0.clone())
    }
}

/// Moves the values out of a slab; made by [`drain`](TrackedSlab::drain).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert("first").leak();
/// slab.insert("second").leak();
/// let (_key, value) = slab.drain().next().unwrap();
/// assert_eq!(value, "first");
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it drops every value; `clear` says so"]
pub struct Drain<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(Drain, (Key, T), |cell| {
    // SAFETY: vacated just now.
    (cell.vacate_by_key()).then(|| (cell.key(), unsafe { cell.place().read() }))
});

/// Drops the values that were not moved out. When a destructor panics the rest
/// is dropped all the same, then the panic goes on.
impl<T, M: Memory> Drop for Drain<'_, T, M> {
    fn drop(&mut self) {
        walk::destroy_all(self.0.cells(), self.0.keys());
    }
}
