//! `Slot`: the owning handle of a value in a slab.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::guard::{Ref, RefMut};
use crate::key::Key;
use crate::raw::place::Place;
use crate::slot_box::SlotBox;
use crate::vacant_slot::VacantSlot;

/// An owning handle: 16 bytes that lead to one value without its slab.
///
/// One type serves both slabs. Like a `Box` it drops its value when it is
/// dropped; unlike one it lives beside the value's [`Key`], and beside
/// borrows, which it tracks at run time. It may outlive its slab.
///
/// # Valid, stale, doomed
///
/// A slot is *valid* while its value is there and its slab alive. Where
/// somebody else removes the value — by key, or by clearing or dropping the
/// slab — the slot goes *stale*: every access is refused, and its cell stays
/// out of use until the slot is gone. So it can never come to point at another
/// value. A slot that is dropped while somebody reads the value by key leaves
/// it *doomed*: gone for everybody else, and dropped when the last guard ends.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, Slot};
///
/// let slab = BoundedSlab::with_capacity(8);
/// let slot: Slot<u64> = slab.insert(42).unwrap();
/// *slot.get_mut() += 1;
/// assert_eq!(*slot.get(), 43);
/// assert_eq!(slot.into_inner(), 43);
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping a slot drops its value"]
pub struct Slot<T> {
    place: Place<T>,
    /// Invariant in `T`: a shorter-lived reference put in through one handle
    /// could be read through another.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<Slot<u64>>() == 2 * size_of::<usize>());
const _: () = assert!(size_of::<Option<Slot<u64>>>() == 2 * size_of::<usize>());

impl<T> Slot<T> {
    /// # Safety
    ///
    /// The place is alive, not unheld, and no other handle of it exists (P2).
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        Slot {
            place,
            value: PhantomData,
        }
    }

    /// The place, whose handle the caller has become.
    #[inline(always)]
    fn into_place(self) -> Place<T> {
        let place = self.place;
        core::mem::forget(self);
        place
    }

    /// Borrows the value; O(1), no allocation.
    ///
    /// # Panics
    ///
    /// If the value is mutably borrowed, if the slot is not
    /// [valid](Self::is_valid), or with 2^27 - 1 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert("value").unwrap();
    /// assert_eq!(*slot.get(), "value");
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Ref<'_, T> {
        match self.try_get() {
            Some(guard) => guard,
            None => self.refuse("get"),
        }
    }

    /// Borrows the value, or says `None` where [`get`](Self::get) panics; O(1),
    /// no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let guard = slot.get_mut();
    /// assert!(slot.try_get().is_none());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_get(&self) -> Option<Ref<'_, T>> {
        // SAFETY: alive by P1, and admitted. The guard borrows the slot.
        unsafe { self.place.begin_read().then(|| Ref::new(self.place)) }
    }

    /// Borrows the value mutably, tracked at run time; O(1), no allocation.
    ///
    /// # Panics
    ///
    /// If the value is borrowed, or the slot is not [valid](Self::is_valid).
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// *slot.get_mut() += 1;
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut(&self) -> RefMut<'_, T> {
        match self.try_get_mut() {
            Some(guard) => guard,
            None => self.refuse("get_mut"),
        }
    }

    /// Borrows the value mutably, or says `None` where
    /// [`get_mut`](Self::get_mut) panics; O(1), no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slot.get();
    /// assert!(slot.try_get_mut().is_none());
    /// # drop(reader);
    /// ```
    #[inline]
    pub fn try_get_mut(&self) -> Option<RefMut<'_, T>> {
        // SAFETY: alive by P1, and admitted. The guard borrows the slot.
        unsafe { self.place.begin_write().then(|| RefMut::new(self.place)) }
    }

    /// The value, without a look at its state: one load.
    ///
    /// # Safety
    ///
    /// The slot is valid, and nobody borrows the value mutably while the
    /// reference lives, nor removes it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and nobody else knows of it.
    /// assert_eq!(unsafe { *slot.get_unchecked() }, 7);
    /// ```
    #[inline]
    pub unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: alive by P1; that there is a value and no conflicting borrow
        // is the caller's word.
        unsafe { self.place.value().as_ref() }
    }

    /// The value, mutably, without a look at its state: one load.
    ///
    /// # Safety
    ///
    /// The slot is valid, and nobody borrows the value while the reference
    /// lives, nor removes it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let mut slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and nobody else knows of it.
    /// unsafe { *slot.get_unchecked_mut() += 1 };
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    pub unsafe fn get_unchecked_mut(&mut self) -> &mut T {
        // SAFETY: alive by P1; that there is a value and no other borrow is the
        // caller's word.
        unsafe { self.place.value().as_mut() }
    }

    /// Where the value stands. The address is the value's for as long as it
    /// lives; reading through it is as unsafe as it looks.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slot.as_ptr(), &raw const *slot.get());
    /// ```
    #[inline]
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.as_mut_ptr()
    }

    /// Where the value stands, to write to. The address is the value's for as
    /// long as it lives; writing through it is as unsafe as it looks.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and nobody borrows it.
    /// unsafe { slot.as_mut_ptr().write(8) };
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut T {
        // SAFETY: alive by P1.
        unsafe { self.place.value().as_ptr() }
    }

    /// The key under which the slab finds the value. Answers for a stale slot
    /// too.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(*slab.get(slot.key()).unwrap(), 7);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(&self) -> Key {
        // SAFETY: alive by P1.
        unsafe { self.place.key() }
    }

    /// Whether the value is there and the slab alive; borrowed or not.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// slab.remove_by_key(slot.key());
    /// assert!(!slot.is_valid());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        // SAFETY: alive by P1.
        unsafe { self.place.state().is_occupied() }
    }

    /// Puts `value` in the place of the present one, which comes back; O(1), no
    /// allocation, one copy each way.
    ///
    /// # Panics
    ///
    /// If the value is borrowed, or the slot is not [valid](Self::is_valid):
    /// nothing has changed then, and `value` is dropped.
    /// [`try_replace`](Self::try_replace) gives it back.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slot.replace(8), 7);
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: alive by P1; the caller has the handle.
        match unsafe { self.place.replace(value) } {
            Ok(old) => old,
            Err(_value) => self.refuse("replace"),
        }
    }

    /// Puts `value` in the place of the present one, which comes back; O(1), no
    /// allocation.
    ///
    /// # Errors
    ///
    /// Gives `value` back where [`replace`](Self::replace) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slot.get();
    /// assert_eq!(slot.try_replace(8), Err(8));
    /// drop(reader);
    /// assert_eq!(slot.try_replace(8), Ok(7));
    /// ```
    #[inline]
    pub fn try_replace(&self, value: T) -> Result<T, T> {
        // SAFETY: alive by P1; the caller has the handle.
        unsafe { self.place.replace(value) }
    }

    /// Calls `f` with the value mutably borrowed, and returns the slot for the
    /// next call. Where there is no value, `f` is not called.
    ///
    /// # Panics
    ///
    /// If the value is borrowed. A panic of `f` ends the borrow and loses
    /// nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// slot.and_modify(|value| *value += 1).and_modify(|value| *value *= 2);
    /// assert_eq!(*slot.get(), 16);
    /// ```
    #[inline]
    #[track_caller]
    pub fn and_modify<F: FnOnce(&mut T)>(&self, f: F) -> &Self {
        match self.try_get_mut() {
            Some(mut guard) => f(&mut guard),
            None if !self.is_valid() => {}
            None => self.refuse("and_modify"),
        }
        self
    }

    /// Moves the value out and keeps the cell, reserved under the same key;
    /// O(1), no allocation.
    ///
    /// # Panics
    ///
    /// If the value is borrowed or the slot is not [valid](Self::is_valid). The
    /// slot is dropped then: a borrowed value goes with its last borrow.
    /// [`try_take`](Self::try_take) gives the slot back.
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
    /// Gives the slot back where [`take`](Self::take) panics.
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
        // SAFETY: alive by P1. On `Some` the slot has become the reservation,
        // the cell's one handle.
        unsafe {
            match self.place.take_and_hold() {
                Some(value) => Ok((value, VacantSlot::new(self.into_place()))),
                None => Err(self),
            }
        }
    }

    /// Moves the value out and frees its slot; O(1), no allocation, one copy.
    ///
    /// A value that was put into a [`VacantSlot`] after its slab was gone comes
    /// out too.
    ///
    /// # Panics
    ///
    /// If the value is borrowed, or there is none. The slot is dropped then: a
    /// borrowed value goes with its last borrow.
    /// [`try_into_inner`](Self::try_into_inner) gives the slot back.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slot.into_inner(), 7);
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_inner(self) -> T {
        let mut spare = MaybeUninit::uninit();
        // SAFETY: alive by P1. The slot ends without a drop, and the value is
        // read out, once. One read serves both ways, the unusual one by a
        // detour: were that one to return a value of its own, the usual one
        // would be copied twice to come out at the same place.
        unsafe {
            let place = self.place;
            let value = if place.vacate_by_handle() {
                core::mem::forget(self);
                place.value()
            } else {
                self.into_inner_uncommonly(&mut spare)
            };
            value.read()
        }
    }

    /// [`into_inner`](Self::into_inner) where the value is not an owned one:
    /// leaves it in `spare`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn into_inner_uncommonly(self, spare: &mut MaybeUninit<T>) -> NonNull<T> {
        match self.try_into_inner_uncommonly() {
            Ok(value) => NonNull::from(spare.write(value)),
            Err(slot) => slot.refuse("into_inner"),
        }
    }

    #[cold]
    #[inline(never)]
    fn try_into_inner_uncommonly(self) -> Result<T, Self> {
        // SAFETY: alive by P1. On `Some` the slot ends without a drop.
        unsafe {
            match self.place.take_from_closed() {
                Some(value) => {
                    core::mem::forget(self);
                    Ok(value)
                }
                None => Err(self),
            }
        }
    }

    /// Moves the value out and frees its slot; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// Gives the slot back where [`into_inner`](Self::into_inner) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// slab.remove_by_key(slot.key());
    /// let stale = slot.try_into_inner().unwrap_err();
    /// assert!(!stale.is_valid());
    /// ```
    #[inline]
    pub fn try_into_inner(self) -> Result<T, Self> {
        // SAFETY: as in `into_inner`.
        unsafe {
            if self.place.vacate_by_handle() {
                Ok(self.into_place().read())
            } else {
                self.try_into_inner_uncommonly()
            }
        }
    }

    /// Turns the slot into a box, which holds the exclusive borrow for as long
    /// as it lives and so reaches the value by a bare pointer; O(1), nothing
    /// is moved or allocated.
    ///
    /// # Panics
    ///
    /// If the value is borrowed or the slot is not [valid](Self::is_valid). The
    /// slot is dropped then: a borrowed value goes with its last borrow.
    /// [`try_into_box`](Self::try_into_box) gives the slot back.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let mut boxed = slab.insert(7).unwrap().into_box();
    /// *boxed += 1;
    /// assert_eq!(*boxed, 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_box(self) -> SlotBox<T> {
        match self.try_into_box() {
            Ok(boxed) => boxed,
            Err(slot) => slot.refuse("into_box"),
        }
    }

    /// Turns the slot into a box; O(1), nothing is moved or allocated.
    ///
    /// # Errors
    ///
    /// Gives the slot back where [`into_box`](Self::into_box) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slab.get(slot.key()).unwrap();
    /// let slot = slot.try_into_box().unwrap_err();
    /// drop(reader);
    /// assert_eq!(*slot.into_box(), 7);
    /// ```
    #[inline]
    pub fn try_into_box(self) -> Result<SlotBox<T>, Self> {
        // SAFETY: alive by P1. Admitted as the writer, the slot becomes the box.
        unsafe {
            if self.place.begin_write() {
                Ok(SlotBox::new(self.into_place()))
            } else {
                Err(self)
            }
        }
    }

    /// Gives the value to its key: it stays in the slab until it is removed by
    /// key, or taken back into a slot. O(1).
    ///
    /// A slot without a value just goes, and the key leads to nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap().leak();
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    #[inline]
    pub fn leak(self) -> Key {
        let key = self.key();
        // SAFETY: alive by P1; the slot ends without a drop.
        unsafe { self.into_place().leak_handle() };
        key
    }

    /// The state word. For tests.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(&self) -> u32 {
        // SAFETY: alive by P1.
        unsafe { self.place.state().bits() }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, operation: &str) -> ! {
        // SAFETY: alive by P1.
        let state = unsafe { self.place.state() };
        panic!(
            "Slot::{operation} was refused for the value at {:?}: {}",
            self.key(),
            state.why_refused()
        )
    }
}

/// Drops the value, or leaves that to its last borrow; without a value, gives
/// the cell back.
impl<T> Drop for Slot<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: alive by P1; the handle ends.
        unsafe { self.place.drop_handle() };
    }
}

/// Prints the key, not the value, which may be borrowed or gone.
impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("key", &self.key())
            .field("is_valid", &self.is_valid())
            .finish_non_exhaustive()
    }
}
