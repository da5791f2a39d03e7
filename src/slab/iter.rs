//! Operations on all values of a slab: iteration, and bulk removal (`retain`, `drain`, `clear`).
//!
//! Values are visited in key order. The slab may be used, and may grow, during an iteration. No
//! chunk is freed while a walk may be in it ([`Walk`]). Slots that are added later are not
//! visited, so loops that insert terminate.
//!
//! A borrowed value is never skipped silently: the iterators panic when they reach it, or yield
//! an error. Unlike in `keyed.rs`, the check whether a cell that refuses access has a value is
//! inlined, because vacant cells are usual in a walk.
//!
//! A borrowed value cannot be removed, and a partial removal is worse than none. So removals
//! without `try_` read all stamps before they remove the first value, and panic with the key and
//! the reason. That pass reads one word of each slot; DESIGN.md, "Absence and conflict", says what
//! it costs. A value that user code borrows *during* the walk is left in the slab, and counted.

use core::fmt;
use core::iter::FusedIterator;

use crate::error::AccessError;
use crate::key::Key;
use crate::slab::cell::Live;
use crate::slab::cells::Cells;
use crate::slab::guard::{Ref, RefMut};
use crate::slab::keyed::refuse;
use crate::slab::walk::{self, Walk};
use crate::slab::{Memory, TrackedSlab, sent};
#[cfg(doc)]
use crate::{Slot, SlotBox};

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Returns an iterator over the values with their keys, in key order.
    ///
    /// Each value is borrowed when the iterator reaches it. The slab may be used at the same time:
    /// a value that is inserted ahead of the iterator is visited, up to the last slot that existed
    /// when the iterator was created.
    ///
    /// # Complexity
    ///
    /// O(slots) for the whole iteration; does not allocate.
    ///
    /// # Panics
    ///
    /// `next` panics when it reaches a value for which [`get`](Self::get) would panic; the iterator
    /// continues after this value. [`try_iter`](Self::try_iter) yields an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// for (at, value) in slab.iter() {
    ///     assert_eq!((at, *value), (key, 7));
    /// }
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, M> {
        Iter(self.walk())
    }

    /// Returns an iterator over the mutably borrowed values with their keys, in key order.
    ///
    /// Like [`iter`](Self::iter), but each value is borrowed mutably.
    ///
    /// # Panics
    ///
    /// `next` panics when it reaches a value for which [`get_mut`](Self::get_mut) would panic; the
    /// iterator continues after this value. [`try_iter_mut`](Self::try_iter_mut) yields an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// for (_key, mut value) in slab.iter_mut() {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab.get_copied(key), Some(8));
    /// ```
    #[inline]
    pub fn iter_mut(&self) -> IterMut<'_, T, M> {
        IterMut(self.walk())
    }

    /// Returns an iterator over the values with their keys, in key order, which yields an error for
    /// each value that cannot be borrowed, because a guard or a [`SlotBox`] holds it.
    ///
    /// Like [`iter`](Self::iter), but never panics. The error is the one that
    /// [`try_get`](Self::try_get) returns, and never [`AccessError::Missing`].
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{AccessError, Slab};
    ///
    /// let slab = Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// let mut iter = slab.try_iter();
    /// assert_eq!(iter.next().unwrap().1.unwrap_err(), AccessError::Borrowed);
    /// assert_eq!(*iter.next().unwrap().1.unwrap(), 4);
    /// assert!(iter.next().is_none());
    /// # drop((boxed, slot));
    /// ```
    #[inline]
    pub fn try_iter(&self) -> TryIter<'_, T, M> {
        TryIter(self.walk())
    }

    /// Returns an iterator over the mutably borrowed values with their keys, in key order, which
    /// yields an error for each value that cannot be borrowed.
    ///
    /// Like [`iter_mut`](Self::iter_mut), but never panics. The error is the one that
    /// [`try_get_mut`](Self::try_get_mut) returns, and never [`AccessError::Missing`].
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// let mut left = 0;
    /// for (_key, value) in slab.try_iter_mut() {
    ///     match value {
    ///         Ok(mut value) => *value += 1,
    ///         Err(_) => left += 1,
    ///     }
    /// }
    /// assert_eq!((*slot.get(), left), (5, 1));
    /// # drop(boxed);
    /// ```
    #[inline]
    pub fn try_iter_mut(&self) -> TryIterMut<'_, T, M> {
        TryIterMut(self.walk())
    }

    /// Returns an iterator over the keys of all values, borrowed or not, in ascending order.
    ///
    /// The slab may be used at the same time, as with [`iter`](Self::iter).
    ///
    /// # Complexity
    ///
    /// O(slots) for the whole iteration; does not allocate.
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
        Keys(self.walk())
    }

    /// Starts a walk over all slots. Slots that other threads returned are freed first: an
    /// iterator would find them borrowed.
    #[inline]
    fn walk(&self) -> Walk<'_, T, M> {
        self.free_returned();
        Walk::new(self.cells())
    }
}

/// Iterates like [`iter`](TrackedSlab::iter).
impl<'a, T, M: Memory> IntoIterator for &'a TrackedSlab<T, M> {
    type Item = (Key, Ref<'a, T>);
    type IntoIter = Iter<'a, T, M>;

    #[inline]
    fn into_iter(self) -> Iter<'a, T, M> {
        self.iter()
    }
}

/// Panics if there is a value, after a cell refused access: its value may have been dropped by
/// another thread. Returns nothing, like the function of this name for access by key.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse_if_occupied<T, M: Memory>(operation: &str, cells: Cells<'_, T, M>, cell: Live<'_, T>) {
    if let Some(state) = walk::conflict(cells, cell) {
        refuse(operation, walk::key_of(cells, cell), state);
    }
}

/// Implements the traits of all iterators. `$wanted` makes the item of a cell, or `None`, without
/// running user code.
macro_rules! iterator {
    ($iterator:ident, $item:ty, |$this:ident, $cell:ident| $wanted:expr) => {
        impl<'a, T, M: Memory> Iterator for $iterator<'a, T, M> {
            type Item = $item;

            // Always inlined, so that the item is not returned through the stack, and the
            // tracking of a short borrow folds away.
            #[inline(always)]
            #[track_caller]
            fn next(&mut self) -> Option<Self::Item> {
                let $this = self;
                loop {
                    while let Some($cell) = $this.0.next_in_row() {
                        if let Some(item) = $wanted {
                            return Some(item);
                        }
                    }
                    if !$this.0.find_row() {
                        return None;
                    }
                }
            }

            /// A loop over the cells of each chunk, whose only state between values is its
            /// position.
            #[inline]
            #[track_caller]
            fn fold<A, F>(mut self, first: A, mut fold: F) -> A
            where
                F: FnMut(A, Self::Item) -> A,
            {
                let $this = &mut self;
                let mut folded = first;
                loop {
                    while let Some($cell) = $this.0.next_in_row() {
                        if let Some(item) = $wanted {
                            folded = fold(folded, item);
                        }
                    }
                    if !$this.0.find_row() {
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

/// An iterator over the borrowed values of a slab with their keys. Created by
/// [`iter`](TrackedSlab::iter).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert_key(3);
/// slab.insert_key(4);
/// assert_eq!(slab.iter().map(|(_key, value)| *value).sum::<i32>(), 7);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Iter<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(Iter, (Key, Ref<'a, T>), |this, cell| {
    match Ref::try_new(cell) {
        Some(value) => Some((cell.key(), value)),
        None if !cell.state().is_occupied() => None,
        None => {
            refuse_if_occupied("iter", this.0.cells(), cell);
            None
        }
    }
});

impl<T, M: Memory> Clone for Iter<'_, T, M> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

/// An iterator over the mutably borrowed values of a slab with their keys. Created by
/// [`iter_mut`](TrackedSlab::iter_mut).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert_key(3);
/// for (_key, mut value) in slab.iter_mut() {
///     *value += 1;
/// }
/// assert_eq!(slab.get_copied(key), Some(4));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct IterMut<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(IterMut, (Key, RefMut<'a, T>), |this, cell| {
    match RefMut::try_new(cell) {
        Some(value) => Some((cell.key(), value)),
        None if !cell.state().is_occupied() => None,
        None => {
            refuse_if_occupied("iter_mut", this.0.cells(), cell);
            None
        }
    }
});

/// An iterator over the borrowed values of a slab with their keys, with an error for each value
/// that cannot be borrowed. Created by [`try_iter`](TrackedSlab::try_iter).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let boxed = slab.insert(3).into_box();
/// slab.insert_key(4);
/// assert_eq!(slab.try_iter().filter(|(_key, value)| value.is_ok()).count(), 1);
/// # drop(boxed);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct TryIter<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(
    TryIter,
    (Key, Result<Ref<'a, T>, AccessError>),
    |this, cell| match Ref::try_new(cell) {
        Some(value) => Some((cell.key(), Ok(value))),
        None if !cell.state().is_occupied() => None,
        None => walk::conflict(this.0.cells(), cell)
            .map(|state| (this.0.last_key(), Err(state.why_no_reader()))),
    }
);

impl<T, M: Memory> Clone for TryIter<'_, T, M> {
    fn clone(&self) -> Self {
        TryIter(self.0.clone())
    }
}

/// An iterator over the mutably borrowed values of a slab with their keys, with an error for each
/// value that cannot be borrowed. Created by [`try_iter_mut`](TrackedSlab::try_iter_mut).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert_key(3);
/// for (_key, value) in slab.try_iter_mut() {
///     *value.expect("nothing is borrowed") += 1;
/// }
/// assert_eq!(slab.get_copied(key), Some(4));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct TryIterMut<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(
    TryIterMut,
    (Key, Result<RefMut<'a, T>, AccessError>),
    |this, cell| match RefMut::try_new(cell) {
        Some(value) => Some((cell.key(), Ok(value))),
        None if !cell.state().is_occupied() => None,
        None => walk::conflict(this.0.cells(), cell)
            .map(|state| (this.0.last_key(), Err(state.why_no_writer()))),
    }
);

/// An iterator over the keys of the values in a slab, borrowed or not. Created by
/// [`keys`](TrackedSlab::keys).
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// let key = slab.insert_key(7);
/// assert_eq!(slab.keys().collect::<Vec<_>>(), [key]);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Keys<'a, T, M: Memory>(Walk<'a, T, M>);

iterator!(Keys, Key, |this, cell| {
    if cell.state().is_plain() {
        Some(cell.key())
    } else if cell.state().is_occupied() {
        walk::conflict(this.0.cells(), cell).map(|_| this.0.last_key())
    } else {
        None
    }
});

impl<T, M: Memory> Clone for Keys<'_, T, M> {
    fn clone(&self) -> Self {
        Keys(self.0.clone())
    }
}

/// An iterator that moves the values out of a slab. Created by [`drain`](TrackedSlab::drain) and
/// [`try_drain`](TrackedSlab::try_drain).
///
/// Dropping it drops the remaining values that are not borrowed.
///
/// # Examples
///
/// ```
/// let slab = flatslab::Slab::new();
/// slab.insert_key("first");
/// slab.insert_key("second");
/// let (_key, value) = slab.drain().next().unwrap();
/// assert_eq!(value, "first");
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it drops every value; `clear` says so"]
pub struct Drain<'a, T, M: Memory>(Walk<'a, T, M>, usize);

iterator!(Drain, (Key, T), |this, cell| {
    if cell.vacate_by_key() {
        // SAFETY: the cell was just vacated for this call: the value is moved out once.
        Some((cell.key(), unsafe { cell.read() }))
    } else {
        this.1 += usize::from(
            cell.state().is_occupied() && walk::conflict(this.0.cells(), cell).is_some(),
        );
        None
    }
});

impl<'a, T, M: Memory> Drain<'a, T, M> {
    pub(super) fn new(slab: &'a TrackedSlab<T, M>) -> Self {
        Drain(slab.walk(), 0)
    }

    /// Returns the number of values that the iterator has left in the slab, because they were
    /// borrowed when it reached them. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (first, second) = (slab.insert(3), slab.insert(4));
    /// let mut drain = slab.drain();
    /// assert_eq!(drain.next(), Some((first.key(), 3)));
    /// let reader = second.get();
    /// assert_eq!((drain.next(), drain.left()), (None, 1));
    /// assert_eq!(*reader, 4);
    /// ```
    #[must_use]
    pub fn left(&self) -> usize {
        self.1
    }
}

/// Drops the values that were not moved out, except borrowed ones. If a destructor panics, the
/// remaining values are dropped before the panic continues.
impl<T, M: Memory> Drop for Drain<'_, T, M> {
    fn drop(&mut self) {
        walk::destroy_all(self.0.cells(), self.0.keys());
    }
}

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Drops the values for which `keep` returns `false`, in key order, and returns the number of
    /// values that it left without calling `keep`.
    ///
    /// `keep` is called with the value mutably borrowed, and may use the slab. If `keep` or a
    /// destructor borrows a value that has not been visited yet, this value is left and counted. A
    /// [`Slot`] whose value is removed becomes stale, and its cell stays out of use until the slot
    /// is dropped. If `keep` or a destructor panics, the values that were not visited yet stay.
    /// [Retired](crate::sync::SendSlot::retire) values are dropped first.
    ///
    /// # Complexity
    ///
    /// O(slots); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if a value is borrowed (a [`SlotBox`] counts), before `keep` is called: all stamps
    /// are read first, which takes about 1 ns a slot, a third of the call.
    /// [`try_retain`](Self::try_retain) leaves borrowed values, and does without that pass.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// slab.retain(|_key, value| *value == 7);
    /// assert!(slab.contains_key(key));
    /// assert_eq!(slab.retain(|_key, value| *value != 7), 0);
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    pub fn retain<F>(&self, keep: F) -> usize
    where
        F: FnMut(Key, &mut T) -> bool,
    {
        self.refuse_if_in_use("retain");
        sent::drop_retired(self.cells(), usize::MAX);
        self.try_retain(keep)
    }

    /// Drops the values for which `keep` returns `false`, in key order, and returns the number of
    /// values that it left because they were borrowed when it reached them. `keep` is not called
    /// for these.
    ///
    /// Like [`retain`](Self::retain), but does not panic because of a borrowed value, and leaves
    /// [retired](crate::sync::SendSlot::retire) values.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// assert_eq!(slab.try_retain(|_key, _value| false), 1);
    /// assert!(!slot.is_valid() && *boxed == 3);
    /// ```
    #[inline]
    pub fn try_retain<F>(&self, mut keep: F) -> usize
    where
        F: FnMut(Key, &mut T) -> bool,
    {
        let mut left = 0;
        for (key, value) in self.try_iter_mut() {
            match value {
                Ok(mut value) => {
                    if !keep(key, &mut value) {
                        value.destroy();
                    }
                }
                Err(_) => left += 1,
            }
        }
        left
    }

    /// Returns an iterator that moves the values out with their keys, in key order.
    ///
    /// A value that is borrowed when the iterator reaches it is left in the slab, and counted by
    /// [`left`](Drain::left). A [`Slot`] whose value is moved out becomes stale, and its cell stays
    /// out of use until the slot is dropped. Dropping the iterator drops the remaining values.
    /// [Retired](crate::sync::SendSlot::retire) values are dropped first.
    ///
    /// # Complexity
    ///
    /// O(slots) for the whole iteration; does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if a value is borrowed (a [`SlotBox`] counts), before any value is moved out: all
    /// stamps are read first, as by [`retain`](Self::retain). [`try_drain`](Self::try_drain) leaves
    /// borrowed values, and does without that pass.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// assert!(slab.drain().eq([(key, 7)]));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    pub fn drain(&self) -> Drain<'_, T, M> {
        self.refuse_if_in_use("drain");
        sent::drop_retired(self.cells(), usize::MAX);
        self.try_drain()
    }

    /// Returns an iterator that moves the values out with their keys, in key order, and leaves
    /// those that are borrowed when it reaches them.
    ///
    /// Like [`drain`](Self::drain), but does not panic because of a borrowed value, and leaves
    /// [retired](crate::sync::SendSlot::retire) values.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// let mut drain = slab.try_drain();
    /// assert_eq!(drain.next(), Some((slot.key(), 4)));
    /// assert_eq!((drain.next(), drain.left()), (None, 1));
    /// # drop(drain);
    /// # drop(boxed);
    /// ```
    #[inline]
    pub fn try_drain(&self) -> Drain<'_, T, M> {
        Drain::new(self)
    }

    /// Drops every value, in key order, and keeps all memory.
    ///
    /// [Retired](crate::sync::SendSlot::retire) values are dropped first. A value that a [`Slot`]
    /// owns is dropped too; the slot becomes stale, and its cell stays out of use until the slot is
    /// dropped. So a slab can be full right after `clear`. Reservations stay. If a destructor
    /// panics, the remaining values are dropped before the panic continues. A value that a
    /// destructor inserts, borrows or retires during the call may stay.
    ///
    /// # Complexity
    ///
    /// O(slots), and the time of the destructors.
    ///
    /// # Panics
    ///
    /// Panics if a value is borrowed (a [`SlotBox`] counts), before any value is dropped: all
    /// stamps are read first, as by [`retain`](Self::retain). [`try_clear`](Self::try_clear)
    /// returns an error instead.
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
        self.refuse_if_in_use("clear");
        self.destroy_all();
    }

    /// Drops every value, like [`clear`](Self::clear).
    ///
    /// # Errors
    ///
    /// Returns [`Borrowed`](AccessError::Borrowed) where [`clear`](Self::clear) panics; no value is
    /// dropped then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let guard = slot.get();
    /// assert_eq!(slab.try_clear(), Err(AccessError::Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_clear(), Ok(()));
    /// ```
    pub fn try_clear(&self) -> Result<(), AccessError> {
        self.free_returned();
        if walk::first_in_use(self.cells()).is_some() {
            return Err(AccessError::Borrowed);
        }
        self.destroy_all();
        Ok(())
    }

    fn destroy_all(&self) {
        struct Values<'a, T, M: Memory>(&'a TrackedSlab<T, M>);

        impl<T, M: Memory> Drop for Values<'_, T, M> {
            fn drop(&mut self) {
                // Only the present slots: chunks that destructors add are not visited, so
                // that clearing ends.
                let cells = self.0.cells();
                walk::destroy_all(cells, 0..cells.keys_end());
            }
        }

        // If a destructor unwinds out of this, the drop of `Values` drops the values.
        let _values = Values(self);
        sent::drop_all_retired(self.cells());
    }

    #[track_caller]
    fn refuse_if_in_use(&self, operation: &str) {
        self.free_returned();
        if let Some((key, state)) = walk::first_in_use(self.cells()) {
            refuse(operation, key, state);
        }
    }
}
