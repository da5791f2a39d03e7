//! `Ref` and `RefMut`: a value, borrowed under run-time tracking.
//!
//! They hold pointers, not references: the end of a guard may drop a doomed
//! value and free the memory, which a reference would have promised to leave
//! alone.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::error::AccessError;
use crate::slab::cell::place::{Live, Place};
use crate::slab::cell::state::State;

/// A shared borrow of a value in a slab, like [`core::cell::Ref`].
///
/// While it lives the value cannot be mutably borrowed, moved out or dropped.
/// 16 bytes; where it is used and dropped in one expression the tracking
/// compiles to a single comparison.
///
/// Its functions are associated ones, like those of [`core::cell::Ref`], so as
/// not to hide the value's methods.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::with_capacity(1);
/// let slot = slab.insert(7).unwrap();
/// let (one, two) = (slot.get(), slab.get(slot.key()).unwrap());
/// assert_eq!(*one + *two, 14);
/// assert!(slot.try_get_mut().is_err());
/// ```
#[must_use = "the borrow ends at once"]
pub struct Ref<'a, T> {
    place: Place<T>,
    value: PhantomData<&'a T>,
}

impl<'a, T> Ref<'a, T> {
    /// The borrow, unless it is refused.
    #[inline(always)]
    pub(crate) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        cell.begin_read().then(|| Ref {
            place: cell.place(),
            value: PhantomData,
        })
    }

    /// Another guard of the same value; O(1), no allocation. Also of a value
    /// that its owner has dropped since, which then lives as long as this
    /// one too.
    ///
    /// An associated function, so that `guard.clone()` clones the value.
    ///
    /// # Panics
    ///
    /// With 2^27 - 1 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Ref;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let one = slot.get();
    /// let two = Ref::clone(&one);
    /// drop(one);
    /// assert_eq!(*two, 7);
    /// assert!(slot.try_get_mut().is_err());
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the value's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        // SAFETY: P1, by the guard that is cloned.
        let live: Live<'a, T> = unsafe { guard.place.live() };
        if !live.begin_read_along() {
            // Whatever else its state says: a doomed value is cloned too.
            panic!(
                "Ref::clone was refused for {:?}: it has too many readers",
                live.key()
            );
        }
        Ref {
            place: guard.place,
            value: PhantomData,
        }
    }

    /// The place, whose reader the caller becomes.
    #[inline(always)]
    pub(super) fn into_place(self) -> Place<T> {
        let place = self.place;
        core::mem::forget(self);
        place
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: by P1 the cell is allocated; by S1 and S2 the value stays and
        // is not written to while this reader is counted.
        unsafe { self.place.live().value().as_ref() }
    }
}

impl<T> Drop for Ref<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reader that was admitted.
        unsafe { self.place.end_read() };
    }
}

/// A mutable borrow of a value in a slab, like [`core::cell::RefMut`].
///
/// While it lives the value cannot be reached any other way. 16 bytes; where it
/// is used and dropped in one expression the tracking compiles to a single
/// comparison.
///
/// # Examples
///
/// ```
/// use flatslab::{AccessError, BoundedSlab};
///
/// let slab = BoundedSlab::with_capacity(1);
/// let slot = slab.insert(7).unwrap();
/// let mut guard = slot.get_mut();
/// *guard += 1;
/// assert_eq!(slab.try_get(slot.key()).unwrap_err(), AccessError::Borrowed);
/// drop(guard);
/// assert_eq!(*slot.get(), 8);
/// ```
#[must_use = "the borrow ends at once"]
pub struct RefMut<'a, T> {
    place: Place<T>,
    /// Invariant in `T`.
    value: PhantomData<&'a mut T>,
}

impl<'a, T> RefMut<'a, T> {
    /// The borrow, unless it is refused.
    #[inline(always)]
    pub(crate) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        cell.begin_write().then(|| RefMut {
            place: cell.place(),
            value: PhantomData,
        })
    }

    /// Drops the value in place instead of ending the borrow.
    pub(crate) fn destroy(self) {
        // SAFETY: this is the writer that was admitted, and it ends.
        unsafe { self.into_place().destroy_by_writer() };
    }

    /// The place, whose writer the caller becomes.
    #[inline(always)]
    pub(super) fn into_place(self) -> Place<T> {
        let place = self.place;
        core::mem::forget(self);
        place
    }
}

impl<T> Deref for RefMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: by P1 the cell is allocated; by S1 and S2 the value stays and
        // is only reached through this guard while it holds `X`.
        unsafe { self.place.live().value().as_ref() }
    }
}

impl<T> DerefMut for RefMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: by P1 the cell is allocated; by S1 and S2 the value stays and
        // is only reached through this guard while it holds `X`.
        unsafe { self.place.live().value().as_mut() }
    }
}

impl<T> Drop for RefMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the writer that was admitted.
        unsafe { self.place.end_write() };
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for RefMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for RefMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Of a value that a handle leads to.
#[cold]
#[inline(never)]
pub(super) fn why_no_reader(state: State) -> AccessError {
    state.why_no_reader()
}

/// Of a value that a handle leads to.
#[cold]
#[inline(never)]
pub(super) fn why_no_writer(state: State) -> AccessError {
    state.why_no_writer()
}
