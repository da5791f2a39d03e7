//! What is done to every cell of a slab: clearing, retaining, closing.
//!
//! A walk goes by key, looks up each cell when it comes to it, and holds no
//! pointer across a destructor: user code may insert, remove, clear or grow at
//! any point of the walk. When a destructor panics the walk goes on with the
//! rest while the panic unwinds.

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use super::home::{self, Home};
use super::layout::CellPtr;
use super::place::{Live, Place};
use super::state::State;
use crate::key::Key;

/// Where the kinds of memory differ: how a key leads to a cell.
///
/// # Safety
///
/// While the memory lives, `home` is allocated, and what `cell` returns is an
/// allocated, stamped cell of the type that the memory was made for: one of
/// that home, or one that is free for ever and has no key.
pub unsafe trait Lookup {
    #[doc(hidden)]
    fn home(&self) -> NonNull<Home>;

    /// Keys from here on have no cell.
    #[doc(hidden)]
    fn bound(&self) -> usize;

    /// The cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound, and the memory is of cells of `T`.
    #[doc(hidden)]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T>;
}

/// The cells of a slab of `T`, by key.
pub(crate) struct Cells<'a, T, M> {
    memory: &'a M,
    values: PhantomData<*mut T>,
}

impl<T, M> Clone for Cells<'_, T, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Cells<'_, T, M> {}

impl<'a, T, M: Lookup> Cells<'a, T, M> {
    /// # Safety
    ///
    /// The memory is of cells of `T`.
    #[inline(always)]
    pub(crate) unsafe fn new(memory: &'a M) -> Self {
        Cells {
            memory,
            values: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn home(self) -> &'a Home {
        // SAFETY: allocated while the memory lives.
        unsafe { self.memory.home().as_ref() }
    }

    #[inline(always)]
    pub(crate) fn bound(self) -> usize {
        self.memory.bound()
    }

    /// The cell of a key, if it has one; usable until user code runs (P4).
    #[inline(always)]
    pub(crate) fn get(self, key: Key) -> Option<Live<'a, T>> {
        if key.index() < self.bound() {
            // SAFETY: below the bound; cells of `T`, says `new`.
            Some(unsafe { self.get_unchecked(key) })
        } else {
            None
        }
    }

    /// The cell of a key that has one.
    ///
    /// # Safety
    ///
    /// The key is below the bound.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked(self, key: Key) -> Live<'a, T> {
        // SAFETY: below the bound, says the caller, so allocated and stamped
        // until user code runs (P4).
        unsafe { self.place(self.memory.cell(key)).live() }
    }

    #[inline(always)]
    pub(crate) fn place(self, cell: CellPtr<T>) -> Place<T> {
        Place::new(cell, self.memory.home())
    }

    /// [`get`](Self::get) by number.
    pub(crate) fn at(self, index: usize) -> Option<Live<'a, T>> {
        self.get(Key::from_raw(u32::try_from(index).ok()?))
    }
}

/// The first value that is borrowed; O(slots). Runs no user code, so what it
/// says holds until some runs.
pub(crate) fn first_in_use<T, M: Lookup>(cells: Cells<'_, T, M>) -> Option<Live<'_, T>> {
    (0..cells.bound())
        .filter_map(|index| cells.at(index))
        .find(|cell| cell.state().is_in_use())
}

/// Drops the values at these keys, except those that are borrowed when the
/// walk comes to them.
pub(crate) fn destroy_all<T, M: Lookup>(cells: Cells<'_, T, M>, keys: Range<usize>) {
    struct Rest<'a, T, M: Lookup> {
        cells: Cells<'a, T, M>,
        keys: Range<usize>,
    }

    impl<T, M: Lookup> Rest<'_, T, M> {
        fn run(&mut self) {
            for index in self.keys.by_ref() {
                if let Some(cell) = self.cells.at(index) {
                    cell.try_destroy();
                }
            }
        }
    }

    impl<T, M: Lookup> Drop for Rest<'_, T, M> {
        fn drop(&mut self) {
            self.run();
        }
    }

    // If a destructor unwinds out of this, the drop walks on.
    Rest { cells, keys }.run();
}

/// The slab is dropped: every value that is not borrowed goes now, in key
/// order, a borrowed one with its last borrow, and the memory with the last
/// holder.
///
/// # Safety
///
/// The slab's own use of its memory ends here.
pub(crate) unsafe fn close<T, M: Lookup>(cells: Cells<'_, T, M>) {
    struct Closing<'a, T, M: Lookup> {
        cells: Cells<'a, T, M>,
        next: usize,
        destroyed: bool,
    }

    impl<T, M: Lookup> Closing<'_, T, M> {
        /// Walks until a walk finds nothing to destroy: a destructor may fill a
        /// reservation, leak it, or end a guard that the walk has passed.
        fn destroy_all(&mut self) {
            loop {
                while self.next < self.cells.bound() {
                    let cell = self.cells.at(self.next);
                    self.next += 1;
                    if let Some(cell) = cell {
                        self.visit(cell);
                    }
                }
                if !core::mem::take(&mut self.destroyed) {
                    return;
                }
                self.next = 0;
            }
        }

        fn visit(&mut self, cell: Live<'_, T>) {
            let state = cell.state();
            if !state.has_value() {
                // Free, held, or dying further up the call stack.
            } else if state.is_borrowed() {
                cell.doom();
            } else {
                // Noted first: the destructor may unwind.
                self.destroyed = true;
                cell.try_destroy();
            }
        }

        /// Hands the memory to those who still hold cells. No user code runs.
        fn seal(&mut self) {
            let mut remaining = 0;
            for cell in (0..self.cells.bound()).filter_map(|index| self.cells.at(index)) {
                if cell.state() != State::FREE {
                    cell.close();
                    remaining += 1;
                }
            }
            // SAFETY: the slab's use ends, and exactly the cells that are not
            // free were counted (L2).
            unsafe { home::close(self.cells.memory.home(), remaining) };
        }
    }

    impl<T, M: Lookup> Drop for Closing<'_, T, M> {
        fn drop(&mut self) {
            // Finds something only while a destructor's panic unwinds; a second
            // panic ends the program.
            self.destroy_all();
            self.seal();
        }
    }

    Closing {
        cells,
        next: 0,
        destroyed: false,
    }
    .destroy_all();
}
