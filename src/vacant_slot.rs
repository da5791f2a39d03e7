//! `VacantSlot`: a reservation.

use core::fmt;
use core::marker::PhantomData;

use crate::key::Key;
use crate::raw::place::Place;
use crate::slot::Slot;

/// A reserved slot, to be filled later: it cannot fail to be.
///
/// Its key and address are those the value will have, so a value can be built
/// that knows them. Dropping it gives the slot back. It may outlive its slab;
/// what is then put into it is owned, but not reachable (see
/// [`insert`](Self::insert)).
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
    /// The place is alive and held, and no other handle of it exists (P2).
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        VacantSlot {
            place,
            value: PhantomData,
        }
    }

    /// Puts the value in its place; O(1), no allocation, cannot fail.
    ///
    /// Once the slab is gone the slot it returns owns the value but is not
    /// [valid](Slot::is_valid): [`Slot::into_inner`] gives the value, dropping
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
        // SAFETY: alive by P1; the reservation ends and becomes the slot, the
        // one handle.
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
        // SAFETY: alive by P1.
        unsafe { self.place.key() }
    }

    /// Where the value will stand. There is none yet: nothing may be read
    /// there, and what is written there is overwritten.
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
        // SAFETY: alive by P1.
        unsafe { self.place.value().as_ptr() }
    }

    /// The state word. For tests.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(&self) -> u32 {
        // SAFETY: alive by P1.
        unsafe { self.place.state().bits() }
    }
}

/// Gives the slot back.
impl<T> Drop for VacantSlot<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: alive by P1; the reservation ends.
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
