//! Insertion with growth, the entry of the next slot, memory for later insertions, and the report
//! about memory. For both kinds of slabs: that a bounded slab does not grow is known at compile
//! time.

use core::fmt;

use super::cell::Cell;
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, Storage};
use crate::error::{AllocError, FullError};
use crate::key::Key;
use crate::raw::held::Held;
#[cfg(feature = "alloc")]
use crate::raw::report::Report;
use crate::raw::touch::{PAGE, touch};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Inserts a value into a free slot, and returns its key. Never panics or aborts.
    ///
    /// If no slot is free and the slab can grow, it doubles its memory, and may move all values.
    ///
    /// # Complexity
    ///
    /// Amortised O(1). O(used slots) if the slab grows.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.try_insert(7).unwrap();
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[doc(alias("try_insert_key", "try_alloc"))]
    pub fn try_insert(&mut self, value: T) -> Result<K, FullError<T>> {
        self.insert_or_grow(value, |_, held| {
            if Held::<T>::IN_REGISTERS {
                FullError(held.value)
            } else {
                refused(held)
            }
        })
    }

    /// Inserts a value like [`try_insert`](Self::try_insert), and borrows it: for a caller that
    /// changes the value once it has its key.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let (key, value) = slab.try_insert_ref(7).unwrap();
    /// *value += 1;
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn try_insert_ref(&mut self, value: T) -> Result<(K, &mut T), FullError<T>> {
        match self.try_vacant_entry() {
            Ok(entry) => Ok((entry.key(), entry.insert(value))),
            Err(_) => Err(FullError(value)),
        }
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its
    /// own key. Never panics or aborts.
    ///
    /// If no slot is free and the slab can grow, it grows.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let entry = slab.try_vacant_entry().unwrap();
    /// assert_eq!(*entry.insert(7), 7);
    /// ```
    #[inline]
    pub fn try_vacant_entry(&mut self) -> Result<VacantEntry<'_, T, K, S>, AllocError> {
        match self.place_or_grow() {
            // SAFETY: `place_or_grow` returned the slab's next place, and nothing has used the slab
            // since.
            Ok(place) => Ok(unsafe { VacantEntry::new(self, place) }),
            Err(cause) => Err(cause.unwrap_or(AllocError::Full {
                capacity: self.capacity(),
            })),
        }
    }

    /// Inserts the value that `value` makes of its key, and returns the key; never panics or aborts
    /// by itself. If `value` panics, nothing is inserted.
    ///
    /// # Complexity
    ///
    /// That of [`try_insert`](Self::try_insert).
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow; `value` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let key = slab.try_insert_with_key(|key| key)?;
    /// assert_eq!(slab[key], key);
    /// assert!(slab.try_insert_with_key(|key| key).is_err());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[inline]
    pub fn try_insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> Result<K, AllocError> {
        let entry = self.try_vacant_entry()?;
        let key = entry.key();
        entry.insert(value(key));
        Ok(key)
    }

    /// Allocates and touches the memory for the next `slots` insertions, or for all free slots of a
    /// bounded slab that has fewer.
    ///
    /// These insertions, and the removals of their values, then neither call the allocator nor
    /// fault.
    ///
    /// # Complexity
    ///
    /// O(bytes of these slots), and O(used slots) more if the slab grows.
    ///
    /// # Errors
    ///
    /// Returns an error where `try_reserve` of a [`KeySlab`](super::KeySlab) does. A bounded slab
    /// never fails.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::with_capacity(100_000);
    /// slab.prepare(100_000)?;
    /// assert!(slab.free_slots() >= 100_000);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[doc(alias("touch", "prefault", "warm_up"))]
    pub fn prepare(&mut self, slots: usize) -> Result<(), AllocError> {
        #[cfg(feature = "alloc")]
        if !S::CAPACITY.is_fixed() {
            self.try_reserve_slots(slots)?;
        }
        let fresh = slots.saturating_sub(self.cells.len());
        let end = self.capacity().min(self.used.saturating_add(fresh));
        self.cells.touch(Self::CELL, self.used..end);
        self.touch_free(slots);
        if S::CAPACITY.is_fixed() && end == self.capacity() {
            self.cells.set_touched();
        }
        Ok(())
    }

    /// Touches the cells of the next free slots.
    ///
    /// If a cell is not larger than a page, touching the first and the last cell suffices: a part
    /// of every cell was written when it was created, and each cell ends in the page in which the
    /// next one begins.
    fn touch_free(&mut self, slots: usize) {
        #[cfg(feature = "alloc")]
        if self.cells.source().populates() {
            return;
        }
        if size_of::<K::Cell<T>>() > PAGE {
            for index in (0..slots).map_while(|others| self.cells.top_but(others)) {
                self.touch_vacant(index);
            }
        } else if let Some(last) = self.used.checked_sub(1) {
            self.touch_vacant(0);
            self.touch_vacant(last);
        }
    }

    /// Touches a cell that exists, if it is vacant.
    fn touch_vacant(&self, index: usize) {
        debug_assert!(index < self.used);
        // SAFETY: by `used-cells` the cell exists; a vacant one is written again.
        unsafe {
            let cell = self.place(index);
            if !cell.as_ref().is_occupied() {
                let version = cell.as_ref().version();
                touch(cell.cast(), 0, size_of::<K::Cell<T>>());
                K::Cell::<T>::write_vacant(cell, version);
            }
        }
    }

    /// Returns a report about the slab's memory: its bytes, and which of the requested page options
    /// were obtained.
    ///
    /// It asks the system about [its pages](crate::memory::Pages), so call it at the start of a
    /// program or for diagnostics.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 4));
    /// ```
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.cells.bytes(Self::CELL), self.cells.source())
            .in_range(self.cells.reserved())
    }

    /// Inserts a value into a free slot, or into a slot of new memory if no slot is free.
    ///
    /// The paths for a reused and for a fresh slot are separate until the end, so that the
    /// compiler uses what each path knows about its cell. The value stays in the caller's place
    /// until it is inserted: as a part of a function's result, 64 bytes would be copied twice
    /// (CHURN LIFO: 2.6 times the time).
    ///
    /// # Errors
    ///
    /// Returns what `refuse` makes of the value and of the reason why the slab does not grow.
    #[inline(always)]
    pub(super) fn insert_or_grow<E>(
        &mut self,
        value: T,
        refuse: impl FnOnce(Option<AllocError>, Held<T>) -> E,
    ) -> Result<K, E> {
        if let Some(index) = self.cells.pop() {
            // SAFETY: by `vacant-stack` a vacant cell, and not on the stack any more.
            return Ok(unsafe { self.fill(index, value) });
        }
        if self.used == self.capacity() {
            if S::CAPACITY.is_fixed() {
                self.tally.note_refusal();
                return Err(refuse(None, Held::new(value)));
            }
            if let Err(error) = self.try_grow_to_insert(self.used + 1) {
                return Err(refuse(Some(error), Held::new(value)));
            }
        }
        // SAFETY: there was room, or the slab has grown.
        Ok(unsafe { self.fill_fresh(value) })
    }

    /// Inserts a value into the slot that [`next_place`](Self::next_place) returns; does not
    /// allocate, and cannot fail.
    ///
    /// # Safety
    ///
    /// There is such a slot.
    #[inline(always)]
    pub(super) unsafe fn fill_next(&mut self, value: T) -> &mut T {
        let index = match self.cells.pop() {
            Some(index) => {
                // SAFETY: by `vacant-stack` a vacant cell, and not on the stack any more.
                unsafe { self.fill(index, value) };
                index
            }
            None => {
                let fresh = self.used;
                // SAFETY: none is on the stack, so there is a fresh one (precondition).
                unsafe { self.fill_fresh(value) };
                fresh
            }
        };
        // SAFETY: the cell of `index` was filled just now, so it is occupied.
        unsafe { self.place(index).as_mut().value_mut() }
    }

    /// Puts a value into the first slot that was never used.
    ///
    /// # Safety
    ///
    /// `used` is below the capacity.
    #[inline(always)]
    unsafe fn fill_fresh(&mut self, value: T) -> K {
        let (fresh, version) = (self.used, self.floor + 1);
        debug_assert!(fresh < self.capacity());
        self.used += 1;
        // SAFETY: below the capacity; from here on the cell exists (`used-cells`).
        unsafe {
            let cell = self.place(fresh);
            if K::Cell::<T>::VERSIONED {
                K::Cell::<T>::write_vacant(cell, self.floor);
            }
            K::Cell::fill(cell, version, value);
        }
        K::new(fresh, version, Inside)
    }

    /// Returns the [next place](Self::next_place), and grows if no slot is free. The caller does
    /// not ask for the place again: the compiler could not tell that there is one, and a panic
    /// would remain in the code.
    #[inline]
    pub(super) fn place_or_grow(&mut self) -> Result<(usize, u32), Option<AllocError>> {
        if let Some(place) = self.next_place() {
            return Ok(place);
        }
        if !S::CAPACITY.is_fixed() {
            self.try_grow_to_insert(self.used + 1).map_err(Some)?;
            return self.next_place().ok_or(None);
        }
        self.tally.note_refusal();
        Err(None)
    }

    /// Grows to at least `slots` slots, which is more than the capacity, and to twice the capacity
    /// if there is memory.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, or the allocator refuses: nothing has changed.
    #[cfg(feature = "alloc")]
    #[inline]
    fn try_grow(&mut self, slots: usize) -> Result<(), AllocError> {
        debug_assert!(!S::CAPACITY.is_fixed() && slots > self.capacity());
        // SAFETY: by `used-cells` the cells below `used` are initialised, and no others.
        unsafe { self.cells.try_grow(Self::CELL, self.used, slots)? };
        self.cells.note_growth();
        Ok(())
    }

    /// [Grows](Self::try_grow) for an insertion, and counts if it is refused.
    #[cold]
    #[inline(never)]
    fn try_grow_to_insert(&mut self, slots: usize) -> Result<(), AllocError> {
        let grown = self.try_grow(slots);
        if grown.is_err() {
            self.tally.note_refusal();
        }
        grown
    }

    /// Refuses: without an allocator no slab grows.
    #[cfg(not(feature = "alloc"))]
    fn try_grow(&mut self, _slots: usize) -> Result<(), AllocError> {
        Err(AllocError::Full {
            capacity: self.capacity(),
        })
    }

    /// [Grows](Self::try_grow), if necessary, until there is a slot with this index.
    #[cfg(feature = "alloc")]
    pub(super) fn try_reach(&mut self, index: usize) -> Result<(), AllocError> {
        if index < self.capacity() {
            return Ok(());
        }
        self.try_grow(index + 1)
    }

    /// [Grows](Self::try_grow), if necessary, until `additional` more values fit.
    #[cfg(feature = "alloc")]
    pub(super) fn try_reserve_slots(&mut self, additional: usize) -> Result<(), AllocError> {
        match additional.saturating_sub(self.free_slots()) {
            0 => Ok(()),
            missing => self.try_grow(self.capacity().saturating_add(missing)),
        }
    }

    /// Creates the cells below `end`, vacant. `end` is at most the capacity. They are not on
    /// the stack yet.
    pub(super) fn create_up_to(&mut self, end: usize) {
        for index in self.used..end {
            // SAFETY: `index` is below the capacity, and its cell does not exist yet
            // (`used-cells`).
            unsafe { K::Cell::write_vacant(self.place(index), self.floor) };
        }
        self.used = self.used.max(end);
    }
}

/// Wraps a value that was not inserted. A function call that takes the value: see [`Held`].
#[cold]
#[inline(never)]
fn refused<T>(held: Held<T>) -> FullError<T> {
    FullError(held.value)
}

/// The slot that the next insertion fills. Created by [`vacant_entry`](PlainSlab::vacant_entry).
///
/// It changes nothing before [`insert`](Self::insert): it may be dropped or forgotten.
///
/// # Examples
///
/// ```
/// use flatslab::{Key, KeySlab};
///
/// struct Node { me: Key }
///
/// let mut slab = KeySlab::new();
/// let entry = slab.vacant_entry();
/// let me = entry.key();
/// let node = entry.insert(Node { me });
/// assert_eq!(node.me, me);
/// ```
#[must_use = "an entry does nothing before `insert`"]
pub struct VacantEntry<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    /// The slab has a [next place](PlainSlab::next_place), and keeps it: nothing else uses the
    /// slab while it is borrowed.
    slab: &'a mut PlainSlab<T, K, S>,
    /// The numbers of the key, not the key, whose methods may return other numbers later.
    index: usize,
    version: u32,
}

impl<'a, T, K: SlabKey, S: Storage> VacantEntry<'a, T, K, S> {
    /// # Safety
    ///
    /// `place` is the slab's [next place](PlainSlab::next_place).
    #[inline]
    pub(super) unsafe fn new(slab: &'a mut PlainSlab<T, K, S>, place: (usize, u32)) -> Self {
        debug_assert!(slab.next_place() == Some(place));
        let (index, version) = place;
        VacantEntry {
            slab,
            index,
            version,
        }
    }

    /// Returns the key that the value will have.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let entry = slab.vacant_entry();
    /// let key = entry.key();
    /// entry.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(&self) -> K {
        K::new(self.index, self.version, Inside)
    }

    /// Inserts the value, and returns a reference to it. Cannot fail, and does not allocate. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// *slab.vacant_entry().insert(7) += 1;
    /// assert_eq!(slab.values().next(), Some(&8));
    /// ```
    #[inline]
    pub fn insert(self, value: T) -> &'a mut T {
        // SAFETY: there was a next place when the entry was made, and the slab is
        // borrowed since.
        unsafe { self.slab.fill_next(value) }
    }
}

/// Prints the key.
impl<T, K: SlabKey, S: Storage> fmt::Debug for VacantEntry<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VacantEntry")
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}
