//! From a key to its cell, and the end of a value: dropped in place or moved out, then its cell
//! is freed, or retired.

use super::SharedSlab;
use super::cell::CellPtr;
use super::key::SharedKey;
use crate::raw::atomic::Ordering;

impl<T> SharedSlab<T> {
    /// The cell of that index.
    ///
    /// # Safety
    ///
    /// It is below the capacity.
    #[inline(always)]
    pub(super) unsafe fn cell(&self, index: usize) -> CellPtr<T> {
        // SAFETY: the index is below the capacity (precondition), so within the block (H1).
        CellPtr::new(unsafe { self.cells.add(index * CellPtr::<T>::SIZE) })
    }

    #[inline(always)]
    pub(super) fn index(&self, key: SharedKey) -> usize {
        (key.into_raw() & self.mask) as usize
    }

    /// The index of a cell of this slab.
    pub(super) fn index_of(&self, cell: CellPtr<T>) -> usize {
        (cell.start().addr().get() - self.cells.addr().get()) / CellPtr::<T>::SIZE
    }

    /// Where a key leads to, and the generation that it means; `None` past the end.
    #[inline(always)]
    pub(super) fn locate(&self, key: SharedKey) -> Option<(CellPtr<T>, u64)> {
        let index = self.index(key);
        // SAFETY: `index` is below the capacity where this runs.
        (index < self.capacity())
            .then(|| (unsafe { self.cell(index) }, key.into_raw() & !self.mask))
    }

    /// From one generation to the next.
    #[inline(always)]
    pub(super) fn generation_step(&self) -> u64 {
        self.mask + 1
    }

    /// Frees a cell, or retires it.
    ///
    /// # Safety
    ///
    /// The caller has the cell: it took it or claimed the end of its value, which has this
    /// generation. The value is gone.
    #[inline(always)]
    pub(super) unsafe fn free(&self, index: usize, generation: u64) {
        // SAFETY: the caller's cell, so below the capacity.
        let word = unsafe { self.cell(index).word() };
        match generation.checked_add(self.generation_step()) {
            Some(next) => {
                word.vacate(next);
                // SAFETY: the caller's cell, which came from the map.
                unsafe { self.free.give(index) };
            }
            // SAFETY: the preconditions are the same.
            None => unsafe { self.retire_or_wrap(index, generation) },
        }
    }

    /// Retires a cell that had its last generation, or lets it begin with the first one again.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free).
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
            // Relaxed: a figure for people.
            self.retired.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Drops a value, and frees its cell on unwinding too.
    ///
    /// # Safety
    ///
    /// The caller has claimed the end of the value in that cell, which has this generation.
    #[inline(always)]
    pub(super) unsafe fn end(&self, index: usize, generation: u64) {
        if core::mem::needs_drop::<T>() {
            let taken = Taken {
                slab: self,
                index,
                generation,
            };
            // SAFETY: claimed, so the value is there and no one else's (S1, S2), and in no
            // one's reach while its destructor runs (H4).
            unsafe { self.cell(index).value().drop_in_place() };
            core::mem::forget(taken);
        }
        // SAFETY: the end of the value was claimed (precondition), and it is dropped.
        unsafe { self.free(index, generation) };
    }

    /// Ends a reader; drops the value if it was removed and this was the last one.
    ///
    /// # Safety
    ///
    /// A reader of the value in this cell, which is of this slab, was counted, and is ended
    /// once.
    #[inline(always)]
    pub(super) unsafe fn end_read(&self, cell: CellPtr<T>) {
        // SAFETY: allocated as long as the slab is (H1).
        if unsafe { cell.word().end_read() } {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed (S2).
            unsafe { self.end_removed(cell) };
        }
    }

    /// Ends a reader, and leaves the end of a removed value whose last one it was to `reclaim`.
    ///
    /// # Safety
    ///
    /// As for [`end_read`](Self::end_read).
    #[inline]
    pub(super) unsafe fn end_read_undropped(&self, cell: CellPtr<T>) {
        // SAFETY: allocated as long as the slab is (H1).
        if unsafe { cell.word().end_read() } {
            // SAFETY: `end_read` said that this was the last reader of a removed value, whose end
            // it has claimed, once (S2): the cell is not in the map (H5).
            unsafe { self.given_back.give(self.index_of(cell)) };
        }
    }

    /// # Safety
    ///
    /// As for [`end`](Self::end).
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn end_removed(&self, cell: CellPtr<T>) {
        // SAFETY: the end of the value in the cell was claimed (precondition).
        unsafe {
            let generation = cell.word().generation(self.mask);
            self.end(self.index_of(cell), generation);
        }
    }

    /// Tests let the next value of a free slot be the last one.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn age(&mut self, index: usize) {
        assert!(index < self.capacity());
        // SAFETY: below the capacity; exclusively borrowed.
        let word = unsafe { self.cell(index).word() };
        assert!(!word.has_any(), "the slot is in use");
        word.vacate(!self.mask);
    }
}

/// A cell that the caller has; it is freed when user code unwinds.
pub(super) struct Taken<'a, T> {
    pub(super) slab: &'a SharedSlab<T>,
    pub(super) index: usize,
    pub(super) generation: u64,
}

impl<T> Drop for Taken<'_, T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: made by who has the cell; the value is gone, or was never made.
        unsafe { self.slab.free(self.index, self.generation) };
    }
}

/// Drops all values of a slab, those after one whose destructor panics too.
pub(super) struct Clearing<'a, T> {
    pub(super) slab: &'a mut SharedSlab<T>,
    pub(super) next: usize,
}

impl<T> Clearing<'_, T> {
    pub(super) fn run(&mut self) {
        while self.next < self.slab.capacity() {
            let index = self.next;
            self.next += 1;
            // SAFETY: below the capacity; exclusively borrowed, so that a value that is there
            // has no readers but forgotten ones, and no one else ends it.
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
