//! `Slot`, the owning handle of a value in a slab, and `VacantSlot`, a reservation.
//! [`take`](Slot::take) turns a `Slot` into a `VacantSlot`, [`insert`](VacantSlot::insert) turns
//! it back.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use crate::error::AccessError;
use crate::key::Key;
use crate::raw::poison::move_out;
use crate::raw::touch::prefetch;
use crate::slab::cell::{CellPtr, Live, Place};
use crate::slab::guard::{Ref, RefMut, why_no_reader, why_no_writer};
use crate::slab::holder::{Holder, Popped, RESERVATION, SLOT};
use crate::slab::state::State;

/// An owning handle of a value in a [`BoundedSlab`](crate::BoundedSlab) or a [`Slab`](crate::Slab):
/// 16 bytes, used without the slab.
///
/// A `Slot` is not `Send`; [`into_send`](Self::into_send) turns it into a
/// [`SendSlot`](crate::sync::SendSlot), which is.
///
/// Like a `Box`, it drops its value when it is dropped. Unlike a `Box`, it also allows access by
/// the value's [`Key`], and borrows are tracked at run time.
///
/// A `Slot` may outlive its slab. It then keeps all memory of the slab. The last handle or guard of
/// a dropped slab frees this memory, in O(chunks), with a call of the allocator for each chunk
/// (some milliseconds for 100,000 chunks).
///
/// # Valid, stale, doomed
///
/// A slot is *valid* while its value is in the slab and the slab is alive. When the value is
/// removed by other means (by key, or by clearing or dropping the slab), the slot becomes *stale*:
/// every access through it is refused, and its cell stays out of use until the slot is dropped. So
/// a slot never refers to another value.
///
/// If a slot is dropped while its value is borrowed by key, the value is *doomed*: no key finds it,
/// and it is dropped when its last guard is dropped.
///
/// A slot that is forgotten ([`core::mem::forget`]) keeps its cell out of use for good. Its value
/// can still be accessed and removed by key, and is dropped with the slab; the slab's memory is
/// never freed. A guard that is forgotten keeps its value borrowed for good: the value is never
/// dropped.
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
    holder: Holder<'static, T, SLOT>,
    /// Invariant in `T`: a shorter-lived reference put in through one handle
    /// could be read through another.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<Slot<u64>>() == 2 * size_of::<usize>());
const _: () = assert!(size_of::<Option<Slot<u64>>>() == 2 * size_of::<usize>());

impl<T> Slot<T> {
    /// # Safety
    ///
    /// The place is not unheld, and no other handle of it exists (`one-handle`).
    #[inline]
    pub(crate) unsafe fn new(place: Place<T>) -> Self {
        // SAFETY: the caller's handle becomes this one (precondition).
        Slot::of(unsafe { Holder::new(place) })
    }

    #[inline]
    pub(super) fn of(holder: Holder<'static, T, SLOT>) -> Self {
        Slot {
            holder,
            value: PhantomData,
        }
    }

    /// Puts a value into a cell.
    #[inline]
    pub(super) fn fill(popped: Popped<T>, value: T) -> Self {
        Slot::of(popped.fill(value))
    }

    #[inline]
    pub(crate) fn live(&self) -> Live<'_, T> {
        self.holder.live()
    }

    /// The place, whose handle the caller becomes.
    #[inline]
    pub(crate) fn into_place(self) -> Place<T> {
        self.holder.into_place()
    }

    #[inline]
    pub(super) fn into_holder(self) -> Holder<'static, T, SLOT> {
        self.holder
    }

    /// Borrows the value.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is mutably borrowed, if the slot is not [valid](Self::is_valid), or if
    /// there are already 2^27 - 1 readers.
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
    #[doc(alias("borrow", "as_ref"))]
    pub fn get(&self) -> Ref<'_, T> {
        match Ref::try_new(self.live()) {
            Some(guard) => guard,
            None => self.refuse("get"),
        }
    }

    /// Borrows the value, like [`get`](Self::get), but returns an error instead of panicking.
    ///
    /// `nexus-slab` returns an `Option` here. This method returns a `Result`, because a removed
    /// value and a borrowed one are different answers; `slot.try_get().ok()` is the `Option`.
    ///
    /// # Errors
    ///
    /// Returns [`Borrowed`](AccessError::Borrowed) if the value is mutably borrowed,
    /// [`TooManyReaders`](AccessError::TooManyReaders) if there are already 2^27 - 1 readers, and
    /// [`Missing`](AccessError::Missing) if the slot is not [valid](Self::is_valid).
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let guard = slot.get_mut();
    /// assert_eq!(slot.try_get().unwrap_err(), flatslab::AccessError::Borrowed);
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_get(&self) -> Result<Ref<'_, T>, AccessError> {
        let live = self.live();
        Ref::try_new(live).ok_or_else(|| why_no_reader(live.state()))
    }

    /// Borrows the value mutably. The borrow is tracked at run time.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed, or if the slot is not [valid](Self::is_valid).
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
    #[doc(alias("borrow_mut", "as_mut"))]
    pub fn get_mut(&self) -> RefMut<'_, T> {
        match RefMut::try_new(self.live()) {
            Some(guard) => guard,
            None => self.refuse("get_mut"),
        }
    }

    /// Borrows the value mutably, like [`get_mut`](Self::get_mut), but returns an error instead of
    /// panicking. `slot.try_get_mut().ok()` is an `Option`.
    ///
    /// # Errors
    ///
    /// Returns [`Borrowed`](AccessError::Borrowed) if the value is borrowed, and
    /// [`Missing`](AccessError::Missing) if the slot is not [valid](Self::is_valid).
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slot.get();
    /// assert_eq!(slot.try_get_mut().unwrap_err(), flatslab::AccessError::Borrowed);
    /// # drop(reader);
    /// ```
    #[inline]
    pub fn try_get_mut(&self) -> Result<RefMut<'_, T>, AccessError> {
        let live = self.live();
        RefMut::try_new(live).ok_or_else(|| why_no_writer(live.state()))
    }

    /// Borrows the value without checking its state: one load.
    ///
    /// # Safety
    ///
    /// The slot is valid. While the reference is alive, nothing writes to, mutably borrows,
    /// replaces or removes the value by any other means: this handle, its key, guards, iterators,
    /// accessors, `clear`, `retain`, `drain`, or dropping the slab. Dropping the last guard of a
    /// doomed value counts as removing it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and nothing else uses it.
    /// assert_eq!(unsafe { *slot.get_unchecked() }, 7);
    /// ```
    #[inline]
    pub unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: the slot is valid, so there is a value, and nothing writes to it while the
        // reference lives (precondition).
        unsafe { self.live().value().as_ref() }
    }

    /// Borrows the value mutably without checking its state: one load.
    ///
    /// # Safety
    ///
    /// The slot is valid. While the reference is alive, nothing reads, writes, borrows, replaces or
    /// removes the value by any other means: this handle, its key,
    /// [`get_copied`](crate::TrackedSlab::get_copied), guards, iterators, accessors, `clear`,
    /// `retain`, `drain`, or dropping the slab, even if the value itself contains the slab and is
    /// overwritten through the reference. Dropping the last guard of a doomed value counts as
    /// removing it.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let mut slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and nothing else uses it.
    /// unsafe { *slot.get_unchecked_mut() += 1 };
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    pub unsafe fn get_unchecked_mut(&mut self) -> &mut T {
        // SAFETY: the slot is valid, so there is a value, and nothing else uses it while the
        // reference lives (precondition).
        unsafe { self.live().value().as_mut() }
    }

    /// Returns a pointer to the value.
    ///
    /// The address does not change while the value lives. Reading through the pointer is unsafe.
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

    /// Returns a pointer to the value, for writing.
    ///
    /// The address does not change while the value lives. Writing through the pointer is unsafe.
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// // SAFETY: the value is there, and not borrowed.
    /// unsafe { slot.as_mut_ptr().write(8) };
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut T {
        self.live().value().as_ptr()
    }

    /// Returns the key with which the slab finds the value. A stale slot has a key too.
    ///
    /// The slot still owns the value: `slab.insert(7).key()` drops the value at the semicolon, and
    /// returns a key without a value. With `insert_key` or [`leak`](Self::leak) the slab owns the
    /// value.
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
        self.live().key()
    }

    /// Prefetches the value: a hint to the processor, for a value that will be used soon.
    ///
    /// Accesses and checks nothing, and cannot fault. Does nothing on processors other than x86_64
    /// and aarch64. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// slot.prefetch();
    /// assert_eq!(*slot.get(), 7);
    /// ```
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.live().start(), CellPtr::<T>::SIZE);
    }

    /// Returns `true` if the value is in the slab and the slab is alive, whether or not the value
    /// is borrowed.
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
    #[doc(alias("is_alive", "is_stale"))]
    pub fn is_valid(&self) -> bool {
        self.live().state().is_occupied()
    }

    /// Replaces the value, and returns the previous one.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate. Each value is copied once.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed, or if the slot is not [valid](Self::is_valid). The slot is
    /// then unchanged, and `value` is dropped; [`try_replace`](Self::try_replace) returns it.
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
        match self.live().replace(value) {
            Ok(old) => old,
            Err(_value) => self.refuse("replace"),
        }
    }

    /// Replaces the value, and returns the previous one, like [`replace`](Self::replace).
    ///
    /// # Errors
    ///
    /// Returns `value` where [`replace`](Self::replace) panics.
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
        self.live().replace(value)
    }

    /// Calls `f` with the value mutably borrowed, and returns the slot, for the next call.
    ///
    /// If there is no value, `f` is not called.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed. If `f` panics, the borrow ends, and the value stays in its
    /// slot.
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
        match RefMut::try_new(self.live()) {
            Some(mut guard) => f(&mut guard),
            None if !self.is_valid() => {}
            None => self.refuse("and_modify"),
        }
        self
    }

    /// Moves the value out, and frees its slot.
    ///
    /// This also returns a value that was put into a [`VacantSlot`] after its slab was dropped.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate, and copies the value once. O(chunks) if this is the last handle of
    /// a dropped slab.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed, or if there is no value. The slot is dropped then; a borrowed
    /// value is dropped when its last borrow ends. [`try_into_inner`](Self::try_into_inner) returns
    /// the slot instead.
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
    #[doc(alias("remove", "take", "free"))]
    pub fn into_inner(self) -> T {
        let mut spare = MaybeUninit::uninit();
        // SAFETY: the slot ends without a drop, and the value is read out once.
        // Both paths share one read: if the cold path returned a value of its own,
        // the usual one would be copied twice through the stack (CHURN LIFO of 64
        // bytes: more than twice the time).
        unsafe {
            let value = if self.live().vacate(State::OWNED) {
                ManuallyDrop::new(self).live().value()
            } else {
                self.into_inner_uncommonly(&mut spare)
            };
            move_out(value)
        }
    }

    /// The cold path of [`into_inner`](Self::into_inner), for any state but `OWNED`: moves the
    /// value to `spare`.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn into_inner_uncommonly(self, spare: &mut MaybeUninit<T>) -> NonNull<T> {
        match self.holder.try_into_inner_uncommonly() {
            Ok(value) => NonNull::from(spare.write(value)),
            Err(holder) => Slot::of(holder).refuse("into_inner"),
        }
    }

    /// Moves the value out, and frees its slot, like [`into_inner`](Self::into_inner).
    ///
    /// # Errors
    ///
    /// Returns the slot where [`into_inner`](Self::into_inner) panics.
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
        self.holder.try_into_inner().map_err(Slot::of)
    }

    /// Hands the value to its slab, and returns its key.
    ///
    /// The slab owns the value until it is removed by key, turned back into a `Slot`, or dropped
    /// with the slab. If the slot has no value, it is only dropped. If the slab is gone, the value
    /// is dropped, as it would have been with the slab. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// # let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap().leak();
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    #[inline]
    #[doc(alias("into_key", "forget"))]
    pub fn leak(self) -> Key {
        let key = self.key();
        self.holder.leak();
        key
    }

    /// Returns the state word.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(&self) -> u32 {
        self.live().state().bits()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) fn refuse(&self, operation: &str) -> ! {
        refuse(operation, self.key(), self.live().state())
    }
}

/// Panics with the key of a slot, and the reason.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse(operation: &str, key: Key, state: State) -> ! {
    let reason = state.why_refused();
    panic!("Slot::{operation} was refused for the value at {key:?}: {reason}")
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

/// A reserved slot, to be filled later. Filling it cannot fail.
///
/// The key and the address are those that the value will have, so a value can be built that
/// contains them. Dropping the reservation frees the slot; forgetting it keeps the slot out of use
/// for good. It may outlive its slab; a value that is inserted then is owned by the returned slot,
/// but not accessible (see [`insert`](Self::insert)). It is not `Send`.
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
    holder: Holder<'static, T, RESERVATION>,
    /// Invariant in `T`, like the slot it becomes.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<VacantSlot<u64>>() == 2 * size_of::<usize>());

impl<T> VacantSlot<T> {
    #[inline]
    fn of(holder: Holder<'static, T, RESERVATION>) -> Self {
        VacantSlot {
            holder,
            value: PhantomData,
        }
    }

    /// Reserves a cell.
    #[inline]
    pub(super) fn hold(popped: Popped<T>) -> Self {
        VacantSlot::of(popped.hold())
    }

    #[inline]
    fn live(&self) -> Live<'_, T> {
        self.holder.live()
    }

    /// Inserts the value. Cannot fail.
    ///
    /// If the slab is gone, the returned slot owns the value but is not [valid](Slot::is_valid):
    /// [`Slot::into_inner`] returns the value, and dropping the slot drops it.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
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
        Slot::of(self.holder.fill(value))
    }

    /// Returns the key that the value will have.
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

    /// Returns a pointer to the place where the value will be.
    ///
    /// The place is uninitialised: it must not be read, and what is written to it is overwritten by
    /// [`insert`](Self::insert).
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

    /// Returns the state word.
    #[cfg(any(test, fuzzing))]
    pub fn state_bits(&self) -> u32 {
        self.live().state().bits()
    }
}

impl<T> Slot<T> {
    /// Moves the value out, and keeps its slot reserved under the same key.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed, or if the slot is not [valid](Self::is_valid). The slot is
    /// dropped then; a borrowed value is dropped when its last borrow ends.
    /// [`try_take`](Self::try_take) returns the slot instead.
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

    /// Moves the value out, and keeps its slot reserved under the same key, like
    /// [`take`](Self::take).
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
        match self.holder.try_take() {
            Ok((value, holder)) => Ok((value, VacantSlot::of(holder))),
            Err(holder) => Err(Slot::of(holder)),
        }
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
