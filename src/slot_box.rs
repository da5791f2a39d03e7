//! `SlotBox`: an owning handle that is also the exclusive borrow.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;

use crate::key::Key;
use crate::raw::place::Place;
use crate::slot::Slot;

/// An owning handle that holds the exclusive borrow for as long as it lives,
/// so that access is a bare pointer's, safely.
///
/// Whoever asks by key sees the value as mutably borrowed. It may outlive its
/// slab, and keeps its value then. Its functions are associated ones, like
/// those of `Box`, so as not to hide the value's methods.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, SlotBox};
///
/// let slab = BoundedSlab::with_capacity(1);
/// let mut boxed = slab.insert(vec![1]).unwrap().into_box();
/// boxed.push(2);
/// assert!(slab.get(SlotBox::key(&boxed)).is_none());
/// drop(slab);
/// assert_eq!(SlotBox::into_inner(boxed), [1, 2]);
/// ```
#[must_use = "dropping a box drops its value"]
pub struct SlotBox<T> {
    place: Place<T>,
    /// Invariant in `T`, like the slot it came from.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<SlotBox<u64>>() == 2 * size_of::<usize>());

impl<T> SlotBox<T> {
    /// # Safety
    ///
    /// The place is alive and exclusively borrowed, and the caller gives its
    /// handle and that borrow up.
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        SlotBox {
            place,
            value: PhantomData,
        }
    }

    #[inline(always)]
    fn into_place(boxed: Self) -> Place<T> {
        let place = boxed.place;
        core::mem::forget(boxed);
        place
    }

    /// Ends the borrow and keeps the value in its slot; O(1). With the slab
    /// gone the slot is not [valid](Slot::is_valid), but owns its value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// let slot = SlotBox::into_slot(boxed);
    /// assert_eq!(*slab.get(slot.key()).unwrap(), 7);
    /// ```
    #[inline]
    pub fn into_slot(boxed: Self) -> Slot<T> {
        let place = Self::into_place(boxed);
        // SAFETY: alive by P1; the box ends and becomes the slot, the one
        // handle.
        unsafe {
            place.unbox();
            Slot::new(place)
        }
    }

    /// Moves the value out and frees its slot; O(1), no allocation, one copy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// assert_eq!(SlotBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let place = Self::into_place(boxed);
        let mut spare = MaybeUninit::uninit();
        // SAFETY: alive by P1; the box has ended without a drop, and the value
        // is read out, once. One read for both ways: see `Slot::into_inner`.
        unsafe {
            let value = if place.vacate_by_box() {
                place.value()
            } else {
                place.take_by_marked_box(&mut spare)
            };
            value.read()
        }
    }

    /// The key of the value, which nobody can reach by it while the box lives.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(7).unwrap().into_box();
    /// assert!(slab.contains_key(SlotBox::key(&boxed)));
    /// ```
    #[inline]
    #[must_use]
    pub fn key(boxed: &Self) -> Key {
        // SAFETY: alive by P1.
        unsafe { boxed.place.key() }
    }

    /// Pins the value where it stands: it is dropped there, and its memory is
    /// not used again before its destructor has returned. O(1), nothing moves.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let boxed = slab.insert(async { 7 }).unwrap().into_box();
    /// let mut pinned = SlotBox::into_pin(boxed);
    /// let _future = pinned.as_mut();
    /// ```
    #[inline]
    pub fn into_pin(boxed: Self) -> Pin<Self> {
        // SAFETY: nothing moves the value of a pinned box: it is reached only
        // by key (refused: `X`), through the box's own `Deref`, or by its drop,
        // which drops it in place and frees the cell afterwards (L3). A box
        // that is forgotten keeps `X`, and with it the memory, for ever.
        unsafe { Pin::new_unchecked(boxed) }
    }

    /// Gives the box up for a pointer to its value, the one word that an
    /// intrusive collection wants. The value stays, exclusively borrowed, until
    /// `box_from_raw` of its slab takes it back.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::SlotBox;
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let pointer = SlotBox::into_raw(slab.insert(7).unwrap().into_box());
    /// // SAFETY: the pointer is from `into_raw` of this slab's box, and used once.
    /// let boxed = unsafe { slab.box_from_raw(pointer) };
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    #[must_use = "the value is lost with the pointer"]
    pub fn into_raw(boxed: Self) -> *mut T {
        // SAFETY: alive by P1, and with `X` for ever.
        unsafe { Self::into_place(boxed).value().as_ptr() }
    }

    /// The state word. For tests.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(boxed: &Self) -> u32 {
        // SAFETY: alive by P1.
        unsafe { boxed.place.state().bits() }
    }
}

impl<T> Deref for SlotBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: alive by P1; the exclusive borrow is ours, so the value is
        // there and reached through this box alone (S1, S2).
        unsafe { self.place.value().as_ref() }
    }
}

impl<T> DerefMut for SlotBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { self.place.value().as_mut() }
    }
}

/// Drops the value and frees its slot.
impl<T> Drop for SlotBox<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: alive by P1; the box ends.
        unsafe { self.place.drop_box() };
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for SlotBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for SlotBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
