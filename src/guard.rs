//! `Ref` and `RefMut`: a value, borrowed under run-time tracking.
//!
//! They hold pointers, not references: a guard that goes may be the last to
//! hold a doomed value, and then frees what a reference would have promised
//! to leave alone.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::raw::place::Place;

/// A shared borrow of a value in a slab, like [`core::cell::Ref`].
///
/// While it lives nobody can borrow the value mutably, move it out or drop it.
/// 16 bytes; where it is used and dropped in one expression the tracking
/// compiles to a single comparison.
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
/// assert!(slot.try_get_mut().is_none());
/// ```
#[must_use = "the borrow ends at once"]
pub struct Ref<'a, T> {
    place: Place<T>,
    value: PhantomData<&'a T>,
}

impl<T> Ref<'_, T> {
    /// # Safety
    ///
    /// The place is alive, and its `begin_read` has just said yes.
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        Ref {
            place,
            value: PhantomData,
        }
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: by P1 the cell is alive; by S1 and S2 the value stays and
        // nobody writes to it while this reader is counted.
        unsafe { self.place.value().as_ref() }
    }
}

impl<T> Drop for Ref<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: alive (P1); this is the reader that was admitted.
        unsafe { self.place.end_read() };
    }
}

/// A mutable borrow of a value in a slab, like [`core::cell::RefMut`].
///
/// While it lives nobody else can reach the value. 16 bytes; where it is used
/// and dropped in one expression the tracking compiles to a single comparison.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::with_capacity(1);
/// let slot = slab.insert(7).unwrap();
/// let mut guard = slot.get_mut();
/// *guard += 1;
/// assert!(slab.get(slot.key()).is_none());
/// drop(guard);
/// assert_eq!(*slot.get(), 8);
/// ```
#[must_use = "the borrow ends at once"]
pub struct RefMut<'a, T> {
    place: Place<T>,
    /// Invariant in `T`.
    value: PhantomData<&'a mut T>,
}

impl<T> RefMut<'_, T> {
    /// # Safety
    ///
    /// The place is alive, and its `begin_write` or `begin_write_by_key` has
    /// just said yes.
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        RefMut {
            place,
            value: PhantomData,
        }
    }
}

impl<T> Deref for RefMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: by P1 the cell is alive; by S1 and S2 the value stays and
        // nobody else reaches it while this borrow holds `X`.
        unsafe { self.place.value().as_ref() }
    }
}

impl<T> DerefMut for RefMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.place.value().as_mut() }
    }
}

impl<T> Drop for RefMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: alive (P1); this is the writer that was admitted.
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
