//! The life of a value: inserted, found by its key, removed, and dropped or moved out.
//!
//! When a value is dropped in place or moved out, its cell is freed or retired.

use alloc::sync::Arc;
use core::mem::ManuallyDrop;

use super::SharedSlab;
use super::cell::{CellPtr, Removal, SharedKey, Slot};
use super::guard::{SharedRef, refused};
use crate::error::{AccessError, AllocError, FullError};
use crate::raw::atomic::Ordering;

impl<T> SharedSlab<T> {
    // Insertion.

    /// Inserts a value into a free slot, and returns its key.
    ///
    /// While other threads insert and remove, the call is refused only if all slots were taken at
    /// one moment during the call. A program that never has more values than slots is therefore
    /// never refused, even if a thread is stopped within an operation. There is one exception: in a
    /// slab of more than 64 slots, if during the call more threads than there are regions take the
    /// last of 64 slots, it is refused if each slot was taken at some moment. If no other thread
    /// uses the slab, the call is refused exactly if all slots are taken. A slot is taken while
    /// [`insert_with`](Self::insert_with) creates a value, while it has one, even a removed one that
    /// guards keep alive, and until the removal of the value has returned.
    ///
    /// # Complexity
    ///
    /// O(1), no matter how full the slab is or where values were removed (see
    /// [above](Self#how-long-an-operation-takes)); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::FullError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8), Err(FullError(8)));
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// ```
    #[inline]
    #[doc(alias("create", "push", "emplace"))]
    pub fn insert(&self, value: T) -> Result<SharedKey, FullError<T>> {
        match self.take_vacant() {
            Some(vacant) => Ok(vacant.fill(value)),
            None => Err(FullError(value)),
        }
    }

    /// Inserts the value that `f` returns for its future key, and returns the key.
    ///
    /// The slot is reserved while `f` runs, and there is no value at the key yet. `f` may use the
    /// slab. If it panics, the slot is freed, and the key never refers to a value. If no slot is
    /// free, `f` is not called.
    ///
    /// # Complexity
    ///
    /// O(1) besides `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// If no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert_with(|key| key).unwrap();
    /// assert_eq!(*slab.get(key).unwrap(), key);
    /// assert!(slab.insert_with(|key| key).is_err());
    /// ```
    #[inline]
    #[doc(alias("create_with", "insert_with_key"))]
    pub fn insert_with<F>(&self, f: F) -> Result<SharedKey, AllocError>
    where
        F: FnOnce(SharedKey) -> T,
    {
        let Some(vacant) = self.take_vacant() else {
            return Err(AllocError::Full {
                capacity: self.capacity(),
            });
        };
        let value = f(vacant.key());
        Ok(vacant.fill(value))
    }

    // Access by key: guards, or a plain reference if nothing else has the slab.

    /// Borrows the value at a key. O(1); does not allocate.
    ///
    /// The value stays as long as the guard, even if another thread removes it. Returns `None` if
    /// there is no value: it was removed, or never existed.
    ///
    /// # Panics
    ///
    /// If the value has 4,194,303 guards. [`try_get`](Self::try_get) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get(key).unwrap();
    /// assert!(slab.remove(key) && slab.get(key).is_none());
    /// assert_eq!(*guard, 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: SharedKey) -> Option<SharedRef<T, &SharedSlab<T>>> {
        match self.try_get(key) {
            Ok(guard) => Some(guard),
            Err(AccessError::Missing) => None,
            Err(error) => refused(key, error),
        }
    }

    /// Borrows the value at a key, like [`get`](Self::get), but never panics.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no value, and
    /// [`TooManyReaders`](AccessError::TooManyReaders) if it has 4,194,303 guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(*slab.try_get(key).unwrap(), 7);
    /// slab.remove(key);
    /// assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
    /// ```
    #[inline]
    pub fn try_get(&self, key: SharedKey) -> Result<SharedRef<T, &SharedSlab<T>>, AccessError> {
        let (slot, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        slot.word().begin_read(generation)?;
        // SAFETY: `begin_read` has counted the reader that the guard is (`guard-counted`).
        Ok(unsafe { SharedRef::new(self, slot.cell()) })
    }

    /// Borrows the value at a key with a guard that owns an `Arc` of the slab, for threads and
    /// tasks without a scope.
    ///
    /// A value that contains a guard of its own slab keeps itself and the slab alive for ever, as
    /// with any cycle of `Arc`s.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate. It also counts in the `Arc`.
    ///
    /// # Panics
    ///
    /// If the value has 4,194,303 guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    ///
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get_owned(key).unwrap();
    /// drop(slab);
    /// assert_eq!(thread::spawn(move || *guard).join().unwrap(), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_owned(self: &Arc<Self>, key: SharedKey) -> Option<SharedRef<T>> {
        let guard = self.get(key)?;
        let cell = guard.into_cell();
        // SAFETY: the reader that was counted, whose guard is given up.
        Some(unsafe { SharedRef::new(self.clone(), cell) })
    }

    /// Returns whether there is a value at the key. O(1).
    ///
    /// Another thread may remove it at any time.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert!(slab.contains_key(key));
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "contains")]
    pub fn contains_key(&self, key: SharedKey) -> bool {
        self.locate(key)
            .is_some_and(|(slot, generation)| slot.word().has(generation))
    }

    /// Borrows the value at a key mutably. O(1).
    ///
    /// The exclusive borrow of the slab excludes all guards except forgotten ones.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let mut slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// *slab.get_mut(key).unwrap() += 1;
    /// assert_eq!(*slab.get(key).unwrap(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: SharedKey) -> Option<&mut T> {
        let (slot, generation) = self.locate(key)?;
        // SAFETY: the value exists, and with the slab it is borrowed exclusively: guards that are
        // still counted were forgotten, and cannot be used.
        (slot.word().has(generation)).then(|| unsafe { slot.value().as_mut() })
    }

    // Removal: by key, moved out, or all of them.

    /// Removes the value at a key, and returns whether this call removed it.
    ///
    /// If several threads do so at once, one of the calls returns `true`. From now on the key
    /// refers to no value. The value is dropped here, or by the last guard if it has guards.
    ///
    /// # Complexity
    ///
    /// O(1) besides the destructor.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert!(slab.remove(key));
    /// assert!(!slab.remove(key));
    /// ```
    #[inline]
    #[doc(alias("free", "erase"))]
    pub fn remove(&self, key: SharedKey) -> bool {
        let Some((slot, generation)) = self.locate(key) else {
            return false;
        };
        match slot.word().remove(generation) {
            Removal::Missing => false,
            Removal::Deferred => true,
            Removal::Claimed => {
                // SAFETY: `remove` has claimed the end of the value (`readers-keep-value`).
                unsafe { Claimed::new(self, slot, self.index(key), generation) }.drop_value();
                true
            }
        }
    }

    /// Moves the value at a key out. O(1); does not allocate.
    ///
    /// Returns `None` if there is no value. It does not wait for guards.
    ///
    /// # Panics
    ///
    /// If the value has guards. [`try_take`](Self::try_take) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!((slab.take(key), slab.take(key)), (Some(7), None));
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "try_remove")]
    pub fn take(&self, key: SharedKey) -> Option<T> {
        match self.try_take(key) {
            Ok(value) => Some(value),
            Err(AccessError::Missing) => None,
            Err(error) => refused(key, error),
        }
    }

    /// Moves the value at a key out, like [`take`](Self::take), but never panics.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no value, and
    /// [`Borrowed`](AccessError::Borrowed) if it has guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get(key);
    /// assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_take(key), Ok(7));
    /// assert_eq!(slab.try_take(key), Err(AccessError::Missing));
    /// ```
    #[inline]
    pub fn try_take(&self, key: SharedKey) -> Result<T, AccessError> {
        let (slot, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        slot.word().take(generation)?;
        // SAFETY: `take` has claimed the end of the value (`readers-keep-value`).
        Ok(unsafe { Claimed::new(self, slot, self.index(key), generation) }.take())
    }

    /// Drops the values that guards have [retired](super::SharedRef::retire), and returns their
    /// number.
    ///
    /// It drops at most as many values as the slab has slots. Any thread may call it, and several
    /// at once: each value is dropped by one of them. Insertions do not drop such values, so a
    /// thread that may run destructors must call this now and then. If a destructor panics, the
    /// other values wait for the next call.
    ///
    /// # Complexity
    ///
    /// O(n) for n dropped values, besides the destructors.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(vec![7]).unwrap();
    /// let guard = slab.get(key).unwrap();
    /// slab.remove(key);
    /// SharedRef::retire(guard);
    /// assert!(slab.is_full());
    /// assert_eq!(slab.reclaim(), 1);
    /// assert!(slab.is_empty());
    /// ```
    pub fn reclaim(&self) -> usize {
        self.reclaim_some(self.capacity())
    }

    /// Drops at most `most` retired values, like [`reclaim`](Self::reclaim), and returns their
    /// number.
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(2);
    /// for number in 0..2 {
    ///     let key = slab.insert(number).unwrap();
    ///     let guard = slab.get(key).unwrap();
    ///     slab.remove(key);
    ///     SharedRef::retire(guard);
    /// }
    /// assert_eq!((slab.reclaim_some(1), slab.reclaim_some(8)), (1, 1));
    /// ```
    pub fn reclaim_some(&self, most: usize) -> usize {
        for dropped in 0..most {
            let Some(index) = self.given_back.take() else {
                return dropped;
            };
            // SAFETY: below the capacity, and the claim to the end of its value went with it
            // (`given-back-once`).
            unsafe { self.end_removed(self.slot(index)) };
        }
        most
    }

    /// Removes and drops all values, even if a destructor panics.
    ///
    /// Slots whose guard was forgotten become free again too.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let mut slab = SharedSlab::with_capacity(8);
    /// let key = slab.insert(7).unwrap();
    /// slab.clear();
    /// assert!(slab.is_empty() && slab.get(key).is_none());
    /// ```
    pub fn clear(&mut self) {
        // Their values are found in their cells, like all others.
        while self.given_back.take().is_some() {}
        Clearing {
            slab: self,
            next: 0,
        }
        .run();
    }

    // From a key to its cell, and how a value is dropped.

    /// The cell with this index.
    ///
    /// # Safety
    ///
    /// `index` is below the capacity.
    #[inline]
    pub(super) unsafe fn slot(&self, index: usize) -> Slot<'_, T> {
        // SAFETY: the index is below the capacity (precondition), so within the block, and the
        // block stays as long as the slab (`block-of-cells`, `slot-allocated`).
        unsafe { Slot::new(CellPtr::new(self.cells.add(index * CellPtr::<T>::SIZE))) }
    }

    #[inline(always)]
    fn index(&self, key: SharedKey) -> usize {
        (key.into_raw() & self.mask) as usize
    }

    /// The index of a cell of this slab.
    pub(super) fn index_of(&self, cell: CellPtr<T>) -> usize {
        (cell.start().addr().get() - self.cells.addr().get()) / CellPtr::<T>::SIZE
    }

    /// The cell of a key, and the generation in the key; `None` if the index is too large.
    #[inline(always)]
    fn locate(&self, key: SharedKey) -> Option<(Slot<'_, T>, u64)> {
        let index = self.index(key);
        // SAFETY: `index` is below the capacity where this runs.
        (index < self.capacity())
            .then(|| (unsafe { self.slot(index) }, key.into_raw() & !self.mask))
    }

    /// The difference between a generation and the next one.
    #[inline(always)]
    pub(super) fn generation_step(&self) -> u64 {
        self.mask + 1
    }

    /// Takes a cell from the map.
    #[inline]
    fn take_vacant(&self) -> Option<Vacant<'_, T>> {
        let index = self.free.take()?;
        // SAFETY: taken from the map, so below the capacity (`block-of-cells`).
        let slot = unsafe { self.slot(index) };
        Some(Vacant {
            slab: self,
            slot,
            index,
            generation: slot.word().vacant_generation(),
        })
    }

    /// Subtracts a reader; drops the value if it was removed and this was its last reader.
    ///
    /// # Safety
    ///
    /// A reader of the value in this cell of this slab was counted, and is subtracted once.
    #[inline(always)]
    pub(super) unsafe fn end_read(&self, slot: Slot<'_, T>) {
        if slot.word().end_read() {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed (`readers-keep-value`).
            unsafe { self.end_removed(slot) };
        }
    }

    /// Subtracts a reader, and leaves the drop of a removed value to `reclaim` if this was its last
    /// reader.
    ///
    /// # Safety
    ///
    /// The conditions of [`end_read`](Self::end_read).
    #[inline]
    pub(super) unsafe fn end_read_undropped(&self, slot: Slot<'_, T>) {
        if slot.word().end_read() {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed, once (`readers-keep-value`): the cell is not in the map
            // (`given-back-once`).
            unsafe { self.given_back.give(self.index_of(slot.cell())) };
        }
    }

    /// Drops a removed value, and frees its cell.
    ///
    /// # Safety
    ///
    /// The caller has claimed the end of the value in this cell of this slab.
    #[cold]
    #[inline(never)]
    unsafe fn end_removed(&self, slot: Slot<'_, T>) {
        let generation = slot.word().generation(self.mask);
        // SAFETY: the end of the value in the cell was claimed (precondition).
        unsafe { Claimed::new(self, slot, self.index_of(slot.cell()), generation) }.drop_value();
    }

    /// Retires a cell that had its last generation, or starts again at the first one.
    ///
    /// # Safety
    ///
    /// The caller has the cell, as in `vacant-alone`.
    #[cold]
    unsafe fn retire_or_wrap(&self, index: usize, last: u64) {
        // SAFETY: the caller's cell, so below the capacity.
        let word = unsafe { self.slot(index) }.word();
        if self.wraps {
            word.vacate(self.generation_step());
            // SAFETY: the caller's cell, which came from the map (`vacant-alone`).
            unsafe { self.free.give(index) };
        } else {
            word.vacate(last);
            // Relaxed: only statistics.
            self.retired.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Makes the next value of a free slot its last one, for tests.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn age(&mut self, index: usize) {
        assert!(index < self.capacity());
        // SAFETY: by the assertion below the capacity (`block-of-cells`).
        let word = unsafe { self.slot(index) }.word();
        assert!(!word.has_any(), "the slot is in use");
        word.vacate(!self.mask);
    }
}

/// A cell of a slab that this thread has, without a value. Dropping it frees the cell, also when
/// user code unwinds.
///
/// # Invariants
///
/// * `vacant-alone`: this thread alone has the cell: it took the cell from the map
///   (`free-without-value`), or claimed the end of its value, which is gone (`live-without-vacant`).
///   The next value has, or the last one had, this generation.
struct Vacant<'a, T> {
    slab: &'a SharedSlab<T>,
    slot: Slot<'a, T>,
    index: usize,
    generation: u64,
}

impl<T> Vacant<'_, T> {
    #[inline]
    fn key(&self) -> SharedKey {
        SharedKey::new(self.generation, self.index)
    }

    /// Puts a value in, which other threads can find from now on.
    #[inline]
    fn fill(self, value: T) -> SharedKey {
        // SAFETY: without a value, and this thread's until it is published (`vacant-alone`).
        unsafe { self.slot.value().write(value) };
        self.slot.word().publish(self.generation);
        let key = self.key();
        core::mem::forget(self);
        key
    }

    /// Frees the cell, or retires it.
    #[inline]
    fn free(self) {
        ManuallyDrop::new(self).give();
    }

    /// Gives the cell to the map, or retires it. Called once, as the last.
    #[inline]
    fn give(&self) {
        match self.generation.checked_add(self.slab.generation_step()) {
            Some(next) => {
                self.slot.word().vacate(next);
                // SAFETY: this thread's cell, which came from the map (`vacant-alone`).
                unsafe { self.slab.free.give(self.index) };
            }
            // SAFETY: this thread has the cell (`vacant-alone`).
            None => unsafe { self.slab.retire_or_wrap(self.index, self.generation) },
        }
    }
}

impl<T> Drop for Vacant<'_, T> {
    #[cold]
    fn drop(&mut self) {
        self.give();
    }
}

/// A cell of a slab whose value this thread drops or moves out.
///
/// # Invariants
///
/// * `claimed-value`: the cell has a value. This thread has claimed its end, so it has no other
///   owner, and is in reach of no thread (`readers-keep-value`, `cell-state-known`).
struct Claimed<'a, T>(Vacant<'a, T>);

impl<'a, T> Claimed<'a, T> {
    /// # Safety
    ///
    /// The caller has claimed the end of the value in this cell of this slab, which has this index
    /// and this generation.
    #[inline(always)]
    unsafe fn new(
        slab: &'a SharedSlab<T>,
        slot: Slot<'a, T>,
        index: usize,
        generation: u64,
    ) -> Self {
        Claimed(Vacant {
            slab,
            slot,
            index,
            generation,
        })
    }

    /// Drops the value, and frees its cell even if that unwinds.
    #[inline]
    fn drop_value(self) {
        let Claimed(vacant) = self;
        // SAFETY: the value exists, and is dropped once (`claimed-value`).
        unsafe { vacant.slot.value().drop_in_place() };
        vacant.free();
    }

    /// Moves the value out, and frees its cell.
    #[inline(always)]
    fn take(self) -> T {
        let Claimed(vacant) = self;
        // SAFETY: the value exists, and is moved out once, before its cell is freed
        // (`claimed-value`).
        let value = unsafe { vacant.slot.value().read() };
        vacant.free();
        value
    }
}

/// Drops all values of a slab, including those after one whose destructor panics.
struct Clearing<'a, T> {
    slab: &'a mut SharedSlab<T>,
    next: usize,
}

impl<T> Clearing<'_, T> {
    fn run(&mut self) {
        while self.next < self.slab.capacity() {
            let index = self.next;
            self.next += 1;
            // SAFETY: `index` is below the capacity, by the condition of the loop.
            let slot = unsafe { self.slab.slot(index) };
            if slot.word().has_any() {
                // SAFETY: the slab is borrowed exclusively, so that the value has no readers except
                // forgotten ones, and no other code drops it.
                unsafe { self.slab.end_removed(slot) };
            }
        }
    }
}

impl<T> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        self.run();
    }
}
