//! Growth, what is inserted with it, and the report about memory, for both kinds of
//! storage: an array refuses to grow at compile time.

use super::cell::Cell;
use super::key::SlabKey;
use super::storage::Storage;
use super::{PlainSlab, VacantEntry};
use crate::error::{AllocError, FullError};
use crate::raw::report::Report;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Inserts a value into a free slot; O(1). If none is free and the slab can
    /// grow, it allocates a chunk. Never panics or aborts.
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
    pub fn try_insert(&mut self, value: T) -> Result<K, FullError<T>> {
        self.insert_or_grow(value)
            .map_err(|(_, value)| FullError(value))
    }

    /// The slot that the next insertion fills, for a value that knows its key;
    /// O(1). If none is free and the slab can grow, it allocates a chunk. Never
    /// panics or aborts.
    ///
    /// # Errors
    ///
    /// When no slot is free and the slab cannot grow.
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
        match self.ensure_one() {
            Ok(()) => Ok(VacantEntry::try_new(self).expect("a slot is free")),
            Err(cause) => Err(cause.unwrap_or(AllocError::Full {
                capacity: self.capacity(),
            })),
        }
    }

    /// Makes and touches the memory of the next `slots` insertions: they neither call the
    /// allocator nor fault, and neither do their removals. O(bytes). A bounded slab has it for
    /// as many as it has slots.
    ///
    /// # Errors
    ///
    /// As of [`try_reserve`](PlainSlab::try_reserve); of a bounded slab there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::with_capacity(100_000);
    /// slab.prepare(100_000)?;
    /// assert!(slab.free_slots() >= 100_000);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn prepare(&mut self, slots: usize) -> Result<(), AllocError> {
        let missing = slots.saturating_sub(self.free_slots());
        match self.try_grow_to(self.capacity().saturating_add(missing)) {
            Err(Some(error)) => return Err(error),
            Ok(()) | Err(None) => {}
        }
        let fresh = slots.saturating_sub(self.free.len());
        let end = self.capacity().min(self.used.saturating_add(fresh));
        self.storage.touch::<K::Cell<T>>(self.used..end);
        self.free.touch();
        Ok(())
    }

    /// The slab's memory, and which of the requested page options were obtained. Asks the
    /// system about [its pages](crate::memory::Pages): for the start and for diagnostics.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 4));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.storage.bytes() + self.free.bytes();
        Report::new(bytes, self.storage.source())
    }

    /// Inserts a value into a free slot; if there is none, into a new chunk.
    ///
    /// The paths to a reused and to a fresh slot are separate until the end, so
    /// that the compiler uses what each knows of its cell. The value stays where
    /// the caller has it until it is inserted: as part of a function's result, 64
    /// bytes are copied twice (CHURN LIFO: 2.6 times the time).
    ///
    /// # Errors
    ///
    /// Why the slab does not grow, and the value.
    #[inline(always)]
    pub(super) fn insert_or_grow(&mut self, value: T) -> Result<K, (Option<AllocError>, T)> {
        if let Some(index) = self.free.pop() {
            // SAFETY: by K2 a vacant cell, and not on the stack any more.
            return Ok(unsafe { self.fill(index, value) });
        }
        if self.used == self.capacity() {
            if S::BOUNDED {
                return Err((None, value));
            }
            if let Err(error) = self.try_add_chunk() {
                return Err((error, value));
            }
            // A chunk whose number was used before has its slots on the stack.
            if let Some(index) = self.free.pop() {
                // SAFETY: by K2 a vacant cell, and not on the stack any more.
                return Ok(unsafe { self.fill(index, value) });
            }
        }
        // SAFETY: there was room, or a chunk was added.
        Ok(unsafe { self.fill_fresh(value) })
    }

    /// Inserts a value into the slot that [`next_place`](Self::next_place) gives; allocates
    /// nothing and cannot fail.
    ///
    /// # Safety
    ///
    /// There is such a slot.
    #[inline(always)]
    pub(super) unsafe fn fill_next(&mut self, value: T) -> &mut T {
        let index = match self.free.pop() {
            Some(index) => {
                // SAFETY: by K2 a vacant cell, and not on the stack any more.
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
        let fresh = self.used;
        debug_assert!(fresh < self.capacity());
        self.used += 1;
        // SAFETY: below the capacity; from here on the cell exists (K1).
        unsafe {
            let cell = self.place(fresh);
            if K::Cell::<T>::VERSIONED {
                K::Cell::<T>::write_vacant(cell, 0);
            }
            K::Cell::fill(cell, 1, value);
        }
        K::new(fresh, 1)
    }

    /// Grows unless a slot is free.
    #[inline]
    pub(super) fn ensure_one(&mut self) -> Result<(), Option<AllocError>> {
        match self.next_place() {
            Some(_) => Ok(()),
            None if S::BOUNDED => Err(None),
            None => self.try_add_chunk(),
        }
    }

    /// Adds chunks until the capacity is this at least.
    ///
    /// # Errors
    ///
    /// `None` if the storage cannot grow. Past the limits, and nothing has
    /// changed; or when the allocator refuses.
    pub(super) fn try_grow_to(&mut self, capacity: usize) -> Result<(), Option<AllocError>> {
        if capacity <= self.capacity() {
            return Ok(());
        }
        if S::BOUNDED {
            return Err(None);
        }
        let limit = self.storage.limit();
        if capacity > limit {
            return Err(Some(AllocError::TooManySlots {
                requested: capacity,
                limit,
            }));
        }
        let whole = capacity.next_multiple_of(self.storage.step());
        if size_of::<K::Cell<T>>() > isize::MAX as usize / whole {
            return Err(Some(AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<K::Cell<T>>(),
            }));
        }
        self.ensure_stack_room(whole)?;
        let created = Created {
            first: self.used,
            slab: self,
        };
        let mut added = Ok(());
        while added.is_ok() && created.slab.capacity() < capacity {
            added = created.slab.add_chunk();
        }
        added
    }

    /// Adds a chunk, and room for its slots on the stack.
    #[cold]
    #[inline(never)]
    pub(super) fn try_add_chunk(&mut self) -> Result<(), Option<AllocError>> {
        self.ensure_stack_room(self.capacity() + self.storage.step())?;
        let first = self.used;
        let added = self.add_chunk();
        self.push_created(first);
        added
    }

    /// Adds a chunk. Where the chunk's number was used before, its cells begin
    /// with the highest version that they had: those are created, and left for
    /// [`push_created`](Self::push_created).
    fn add_chunk(&mut self) -> Result<(), Option<AllocError>> {
        let first = self.capacity();
        let floor = self.storage.try_add()?;
        if floor > 0 {
            self.create_up_to(first, 0);
            self.create_up_to(self.capacity(), floor);
        }
        Ok(())
    }

    /// Where no slot is free, as in an insertion, nothing is copied.
    fn ensure_stack_room(&mut self, slots: usize) -> Result<(), AllocError> {
        if self.free.capacity() < slots {
            self.free.try_grow(slots)?;
        }
        Ok(())
    }

    /// Creates the cells below `end`, vacant, of this version. `end` is at most
    /// the capacity. They are not on the stack yet.
    pub(super) fn create_up_to(&mut self, end: usize, version: u32) {
        for index in self.used..end {
            // SAFETY: `index` is below the capacity, and its cell does not exist yet (K1).
            unsafe { K::Cell::write_vacant(self.place(index), version) };
        }
        self.used = self.used.max(end);
    }

    /// Puts the cells that were created from `first` on onto the stack, to be
    /// taken after all others; O(those + free slots).
    pub(super) fn push_created(&mut self, first: usize) {
        if first < self.used {
            // SAFETY: new cells, and room for all (K2).
            unsafe { self.free.push_below(first..self.used) };
        }
    }
}

/// Puts the cells that were created from `first` on onto the stack when it is
/// dropped: also if the source of memory unwinds.
struct Created<'a, T, K: SlabKey, S: Storage> {
    slab: &'a mut PlainSlab<T, K, S>,
    first: usize,
}

impl<T, K: SlabKey, S: Storage> Drop for Created<'_, T, K, S> {
    fn drop(&mut self) {
        self.slab.push_created(self.first);
    }
}
