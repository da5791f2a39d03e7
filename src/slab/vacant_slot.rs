//! `VacantSlot`: a reservation.

use core::fmt;
use core::marker::PhantomData;

use crate::key::Key;
use crate::slab::cell::place::{Live, Place};
use crate::slab::slot::Slot;

/// A reserved slot, to be filled later, which cannot fail.
///
/// Its key and address are those that the value will have, so the value can be built
/// with them. Dropping it frees the slot. It may outlive its slab; a value that is
/// then inserted is owned, but not accessible (see [`insert`](Self::insert)).
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, Key};
///
/// struct Node { me: Key }
///
/// let slab = BoundedSlab::with_capacity(1);
/// let vacant = slab.vacant_slot().unwrap();
/// let node = Node { me: vacant.key() };
/// let slot = vacant.insert(node);
/// assert_eq!(slot.get().me, slot.key());
/// ```
#[must_use = "dropping a reservation gives the slot back"]
pub struct VacantSlot<T> {
    place: Place<T>,
    /// Invariant in `T`, like the slot it becomes.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<VacantSlot<u64>>() == 2 * size_of::<usize>());

impl<T> VacantSlot<T> {
    /// # Safety
    ///
    /// The place is held, and no other handle of it exists (P2).
    #[inline(always)]
    unsafe fn new(place: Place<T>) -> Self {
        VacantSlot {
            place,
            value: PhantomData,
        }
    }

    /// Reserves a cell.
    ///
    /// # Safety
    ///
    /// The caller has just popped it.
    #[inline(always)]
    pub(crate) unsafe fn hold(place: Place<T>) -> Self {
        // SAFETY: just popped, so allocated, and the caller's alone (F2).
        unsafe {
            place.live().hold();
            VacantSlot::new(place)
        }
    }

    #[inline(always)]
    fn live(&self) -> Live<'_, T> {
        // SAFETY: the handle keeps its cell allocated and stamped (P1).
        unsafe { self.place.live() }
    }

    /// Inserts the value; O(1), no allocation, cannot fail.
    ///
    /// If the slab is gone, the returned slot owns the value but is not
    /// [valid](Slot::is_valid): [`Slot::into_inner`] returns the value, dropping
    /// the slot drops it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let vacant = slab.vacant_slot().unwrap();
    /// assert_eq!(*vacant.insert(7).get(), 7);
    /// ```
    #[inline]
    pub fn insert(self, value: T) -> Slot<T> {
        let place = self.place;
        core::mem::forget(self);
        // SAFETY: the reservation ends and becomes the slot, the one handle.
        unsafe {
            place.fill_held(value);
            Slot::new(place)
        }
    }

    /// The key that the value will have.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let vacant = slab.vacant_slot().unwrap();
    /// let key = vacant.key();
    /// assert!(!slab.contains_key(key));
    /// assert_eq!(vacant.insert(7).key(), key);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(&self) -> Key {
        self.live().key()
    }

    /// A pointer to where the value will be. Nothing may be read there yet, and
    /// what is written there is overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let vacant = slab.vacant_slot().unwrap();
    /// let address = vacant.as_ptr();
    /// assert_eq!(vacant.insert(7).as_mut_ptr(), address);
    /// ```
    #[inline]
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        self.live().value().as_ptr()
    }

    /// The state word.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(&self) -> u32 {
        self.live().state().bits()
    }
}

impl<T> Slot<T> {
    /// Moves the value out and keeps the cell, reserved under the same key;
    /// O(1), no allocation.
    ///
    /// # Panics
    ///
    /// If the value is borrowed or the slot is not [valid](Self::is_valid). The
    /// slot is dropped then: a borrowed value goes with its last borrow.
    /// [`try_take`](Self::try_take) returns the slot.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let (value, vacant) = slot.take();
    /// let slot = vacant.insert(value + 1);
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn take(self) -> (T, VacantSlot<T>) {
        match self.try_take() {
            Ok(taken) => taken,
            Err(slot) => slot.refuse("take"),
        }
    }

    /// Moves the value out and keeps the cell, reserved under the same key;
    /// O(1), no allocation.
    ///
    /// # Errors
    ///
    /// Returns the slot where [`take`](Self::take) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slab.get(slot.key()).unwrap();
    /// let slot = slot.try_take().unwrap_err();
    /// drop(reader);
    /// assert_eq!(slot.try_take().unwrap().0, 7);
    /// ```
    #[inline]
    pub fn try_take(self) -> Result<(T, VacantSlot<T>), Self> {
        // SAFETY: on `Some` the slot becomes the reservation, the cell's one
        // handle.
        unsafe {
            match self.place().take_and_hold() {
                Some(value) => Ok((value, VacantSlot::new(self.into_place()))),
                None => Err(self),
            }
        }
    }
}

/// Frees the slot.
impl<T> Drop for VacantSlot<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reservation exists (P1), and ends with this call.
        unsafe { self.place.drop_reservation() };
    }
}

/// Prints the key.
impl<T> fmt::Debug for VacantSlot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VacantSlot")
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}
