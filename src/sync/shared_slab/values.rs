//! The life of a value: inserted, found by its key, removed, and dropped or moved out.
//!
//! When a value is dropped in place or moved out, its cell is freed or retired.

use alloc::sync::Arc;

use super::SharedSlab;
use super::cell::{CellPtr, Removal, SharedKey};
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
        let Some(index) = self.free.take() else {
            return Err(FullError(value));
        };
        // SAFETY: taken from the map, so below the capacity (`block-of-cells`), without a value
        // (`free-without-value`), and ours until it is published (`live-without-vacant`).
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            cell.value().write(value);
            cell.word().publish(generation);
            Ok(SharedKey::new(generation, index))
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
        let Some(index) = self.free.take() else {
            return Err(AllocError::Full {
                capacity: self.capacity(),
            });
        };
        // SAFETY: as in `insert`; if `f` unwinds, it is still without a value.
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            let key = SharedKey::new(generation, index);
            let taken = Taken {
                slab: self,
                index,
                generation,
            };
            cell.value().write(f(key));
            core::mem::forget(taken);
            cell.word().publish(generation);
            Ok(key)
        }
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
        let (cell, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        // SAFETY: allocated as long as the slab is (`block-of-cells`).
        unsafe { cell.word().begin_read(generation)? };
        // SAFETY: `begin_read` has counted the reader that the guard is (`guard-counted`).
        Ok(unsafe { SharedRef::new(self, cell) })
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
        // SAFETY: allocated as long as the slab is (`block-of-cells`).
        self.locate(key)
            .is_some_and(|(cell, generation)| unsafe { cell.word().has(generation) })
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
        let (cell, generation) = self.locate(key)?;
        // SAFETY: the value exists, and with the slab it is borrowed exclusively: guards that are
        // still counted were forgotten, and cannot be used.
        unsafe { (cell.word().has(generation)).then(|| cell.value().as_mut()) }
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
        let Some((cell, generation)) = self.locate(key) else {
            return false;
        };
        // SAFETY: allocated as long as the slab is (`block-of-cells`).
        match unsafe { cell.word().remove(generation) } {
            Removal::Missing => false,
            Removal::Deferred => true,
            Removal::Claimed => {
                // SAFETY: `remove` has claimed the end of the value (`readers-keep-value`).
                unsafe { self.end(self.index(key), generation) };
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
        let (cell, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        // SAFETY: allocated as long as the slab is (`block-of-cells`); if its end is claimed, the
        // value exists and has no other owner (`live-without-vacant`, `readers-keep-value`), and is
        // moved out before the cell is freed.
        unsafe {
            cell.word().take(generation)?;
            let value = cell.value().read();
            self.free(self.index(key), generation);
            Ok(value)
        }
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
            unsafe { self.end_removed(self.cell(index)) };
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
    #[inline(always)]
    pub(super) unsafe fn cell(&self, index: usize) -> CellPtr<T> {
        // SAFETY: the index is below the capacity (precondition), so within the block
        // (`block-of-cells`).
        CellPtr::new(unsafe { self.cells.add(index * CellPtr::<T>::SIZE) })
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
    fn locate(&self, key: SharedKey) -> Option<(CellPtr<T>, u64)> {
        let index = self.index(key);
        // SAFETY: `index` is below the capacity where this runs.
        (index < self.capacity())
            .then(|| (unsafe { self.cell(index) }, key.into_raw() & !self.mask))
    }

    /// The difference between a generation and the next one.
    #[inline(always)]
    pub(super) fn generation_step(&self) -> u64 {
        self.mask + 1
    }

    /// Frees a cell, or retires it.
    ///
    /// # Safety
    ///
    /// The caller has the cell: it took the cell, or claimed the end of its value, which has this
    /// generation. The value is gone.
    #[inline(always)]
    unsafe fn free(&self, index: usize, generation: u64) {
        // SAFETY: the caller's cell, so below the capacity.
        let word = unsafe { self.cell(index).word() };
        match generation.checked_add(self.generation_step()) {
            Some(next) => {
                word.vacate(next);
                // SAFETY: the caller's cell, which came from the map.
                unsafe { self.free.give(index) };
            }
            // SAFETY: the caller has the cell, and its value of this generation is gone
            // (precondition).
            None => unsafe { self.retire_or_wrap(index, generation) },
        }
    }

    /// Retires a cell that had its last generation, or starts again at the first one.
    ///
    /// # Safety
    ///
    /// The conditions of [`free`](Self::free).
    #[cold]
    unsafe fn retire_or_wrap(&self, index: usize, last: u64) {
        // SAFETY: the caller's cell, so below the capacity.
        let word = unsafe { self.cell(index).word() };
        if self.wraps {
            word.vacate(self.generation_step());
            // SAFETY: the caller's cell, which came from the map.
            unsafe { self.free.give(index) };
        } else {
            word.vacate(last);
            // Relaxed: only statistics.
            self.retired.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Drops a value, and frees its cell even if that unwinds.
    ///
    /// # Safety
    ///
    /// The caller has claimed the end of the value in this cell, which has this generation.
    #[inline(always)]
    unsafe fn end(&self, index: usize, generation: u64) {
        if core::mem::needs_drop::<T>() {
            let taken = Taken {
                slab: self,
                index,
                generation,
            };
            // SAFETY: claimed, so the value exists and has no other owner (`live-without-vacant`,
            // `readers-keep-value`), and in reach of no thread while its destructor runs
            // (`cell-state-known`).
            unsafe { self.cell(index).value().drop_in_place() };
            core::mem::forget(taken);
        }
        // SAFETY: the end of the value was claimed (precondition), and it is dropped.
        unsafe { self.free(index, generation) };
    }

    /// Subtracts a reader; drops the value if it was removed and this was its last reader.
    ///
    /// # Safety
    ///
    /// A reader of the value in this cell, which is in this slab, was counted, and is subtracted
    /// once.
    #[inline(always)]
    pub(super) unsafe fn end_read(&self, cell: CellPtr<T>) {
        // SAFETY: allocated as long as the slab is (`block-of-cells`).
        if unsafe { cell.word().end_read() } {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed (`readers-keep-value`).
            unsafe { self.end_removed(cell) };
        }
    }

    /// Subtracts a reader, and leaves the drop of a removed value to `reclaim` if this was its last
    /// reader.
    ///
    /// # Safety
    ///
    /// The conditions of [`end_read`](Self::end_read).
    #[inline]
    pub(super) unsafe fn end_read_undropped(&self, cell: CellPtr<T>) {
        // SAFETY: allocated as long as the slab is (`block-of-cells`).
        if unsafe { cell.word().end_read() } {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed, once (`readers-keep-value`): the cell is not in the map
            // (`given-back-once`).
            unsafe { self.given_back.give(self.index_of(cell)) };
        }
    }

    /// # Safety
    ///
    /// The conditions of [`end`](Self::end).
    #[cold]
    #[inline(never)]
    unsafe fn end_removed(&self, cell: CellPtr<T>) {
        // SAFETY: the end of the value in the cell was claimed (precondition).
        unsafe {
            let generation = cell.word().generation(self.mask);
            self.end(self.index_of(cell), generation);
        }
    }

    /// Makes the next value of a free slot its last one, for tests.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn age(&mut self, index: usize) {
        assert!(index < self.capacity());
        // SAFETY: by the assertion below the capacity (`block-of-cells`).
        let word = unsafe { self.cell(index).word() };
        assert!(!word.has_any(), "the slot is in use");
        word.vacate(!self.mask);
    }
}

/// A cell that the caller has; it is freed when user code unwinds.
struct Taken<'a, T> {
    slab: &'a SharedSlab<T>,
    index: usize,
    generation: u64,
}

impl<T> Drop for Taken<'_, T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: made by the thread that has the cell; the value is gone, or was never made.
        unsafe { self.slab.free(self.index, self.generation) };
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
            // SAFETY: below the capacity; exclusively borrowed, so that a value that exists has no
            // readers except forgotten ones, and no other code drops it.
            unsafe {
                let word = self.slab.cell(index).word();
                if word.has_any() {
                    self.slab.end(index, word.generation(self.slab.mask));
                }
            }
        }
    }
}

impl<T> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        self.run();
    }
}
