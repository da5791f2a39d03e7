//! What is done to every cell of a slab: clearing, retaining, closing.
//!
//! A walk that drops values goes by key, looks up each cell when it comes to it,
//! and holds no pointer across a destructor: user code may insert, remove, clear
//! or grow at any point of the walk. When a destructor panics the walk goes on
//! with the rest while the panic unwinds. The iterators' [`Walk`] goes by pointer,
//! and finds out whether it still may.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::{self, NonNull};

use super::header::{self, SlabHeader};
use super::layout::CellPtr;
use super::place::{Live, Place};
use super::sent;
use super::state::State;
use crate::key::Key;

/// Where the kinds of memory differ: how a key leads to a cell.
///
/// # Safety
///
/// While the memory lives, `header` is allocated, and what `cell` returns is an
/// allocated, stamped cell of the type that the memory was made for: one of
/// that header, or one that is free for ever and has no key.
/// The cells of the keys from `key` to `row_end(key)` that are below the bound follow
/// each other; they stay allocated, and the cells of those keys, while `changes` is the
/// same.
pub unsafe trait Lookup {
    #[doc(hidden)]
    fn header(&self) -> NonNull<SlabHeader>;

    /// Keys from here on have no cell, or one that was never handed out.
    #[doc(hidden)]
    fn bound(&self) -> usize;

    /// Cells that the keys from the bound on have.
    #[doc(hidden)]
    fn unstamped(&self) -> usize;

    /// The cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound, and the memory is of cells of `T`.
    #[doc(hidden)]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T>;

    /// The keys from `key` to here have cells that follow each other in memory.
    #[doc(hidden)]
    fn row_end(&self, key: Key) -> usize;

    /// Differs from what it was if a key has got another cell since, or none.
    #[doc(hidden)]
    fn changes(&self) -> u64;
}

/// The cells of a slab of `T`, by key.
pub(crate) struct Cells<'a, T, M> {
    memory: &'a M,
    /// Invariant in `T`, like the slab.
    values: PhantomData<&'a Cell<T>>,
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
    pub(crate) fn header(self) -> &'a SlabHeader {
        // SAFETY: allocated while the memory lives.
        unsafe { self.memory.header().as_ref() }
    }

    pub(crate) fn memory(self) -> &'a M {
        self.memory
    }

    #[inline(always)]
    pub(crate) fn bound(self) -> usize {
        self.memory.bound()
    }

    pub(crate) fn unstamped(self) -> usize {
        self.memory.unstamped()
    }

    /// Keys from here on belong to no slot that there is now. Those between the bound
    /// and here get a cell when the bound is raised.
    pub(crate) fn keys_end(self) -> usize {
        self.bound() + self.unstamped()
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
        // SAFETY: the key is below the bound (precondition), so its cell is allocated and
        // stamped until user code runs (P4).
        unsafe { self.place(self.memory.cell(key)).live() }
    }

    #[inline(always)]
    pub(crate) fn place(self, cell: CellPtr<T>) -> Place<T> {
        Place::new(cell, self.memory.header())
    }

    /// [`get`](Self::get) by number.
    pub(crate) fn at(self, index: usize) -> Option<Live<'a, T>> {
        self.get(Key::from_raw(u32::try_from(index).ok()?))
    }
}

/// The cells of all keys there are, one after the other, while user code may run
/// in between and insert, remove, grow or shrink.
///
/// Cells that follow each other in memory are a row, and are walked by pointer:
/// looking up each cell in the table took twice the time. Whether user code has
/// changed what is where is one comparison.
///
/// The pointer is to the cell before the next one: that was the fastest of the ways
/// that were tried (DESIGN.md, "Iteration").
///
/// # Invariants
///
/// * W1: as long as the memory's `changes` are those noted, the cells after `at`
///   up to `row_last` are those of the last keys below `row_keys_end`.
/// * W2: `row_keys_end <= keys_end`.
pub(crate) struct Walk<'a, T, M> {
    cells: Cells<'a, T, M>,
    at: *mut u8,
    row_last: *mut u8,
    row_keys_end: usize,
    keys_end: usize,
    changes: u64,
}

impl<T, M> Clone for Walk<'_, T, M> {
    fn clone(&self) -> Self {
        Walk { ..*self }
    }
}

impl<'a, T, M: Lookup> Walk<'a, T, M> {
    /// All slots there are now, stamped or not: chunks that are added later are not
    /// visited, so that loops that insert end.
    #[inline]
    pub(crate) fn new(cells: Cells<'a, T, M>) -> Self {
        Walk {
            cells,
            at: ptr::null_mut(),
            row_last: ptr::null_mut(),
            row_keys_end: 0,
            keys_end: cells.keys_end(),
            changes: cells.memory.changes(),
        }
    }

    pub(crate) fn cells(&self) -> Cells<'a, T, M> {
        self.cells
    }

    /// The keys still to be visited.
    pub(crate) fn keys(&self) -> Range<usize> {
        Self::first_key(self.at, self.row_last, self.row_keys_end)..self.keys_end
    }

    /// Where [`keys`](Self::keys) start. A call, so that the compiler does not
    /// compute it at each step to choose by a conditional move.
    #[cold]
    #[inline(never)]
    fn first_key(at: *mut u8, row_last: *mut u8, row_keys_end: usize) -> usize {
        row_keys_end - row_last.addr().wrapping_sub(at.addr()) / CellPtr::<T>::SIZE
    }

    /// Forgets the row if its cells may be gone: to be called after user code,
    /// which includes all there is between two calls of an iterator.
    #[inline(always)]
    pub(crate) fn resume(&mut self) {
        if self.changes != self.cells.memory.changes() {
            self.row_keys_end = Self::first_key(self.at, self.row_last, self.row_keys_end);
            self.row_last = self.at;
            self.changes = self.cells.memory.changes();
        }
    }

    /// The next cell of the row, usable until user code runs (P4). At the end of
    /// the row [`find_row`](Self::find_row) goes on.
    ///
    /// # Safety
    ///
    /// No user code has run since [`resume`](Self::resume).
    #[inline(always)]
    pub(crate) unsafe fn next_in_row(&mut self) -> Option<Live<'a, T>> {
        if self.at == self.row_last {
            return None;
        }
        self.at = self.at.wrapping_add(CellPtr::<T>::SIZE);
        // SAFETY: by W1 there is a whole cell; stamped, and of the type that
        // `Cells::new` was told.
        unsafe {
            let cell = CellPtr::new(NonNull::new_unchecked(self.at));
            Some(self.cells.place(cell).live())
        }
    }

    /// Goes to the row of the next key below the bound of now, which insertions may have
    /// raised. `false` if there is none: the walk is over, even if the slab grows again.
    #[inline(always)]
    pub(crate) fn find_row(&mut self) -> bool {
        let first = self.row_keys_end;
        let end = self.keys_end.min(self.cells.bound());
        if first >= end {
            self.row_keys_end = self.keys_end;
            return false;
        }
        let key = Key::from_raw(first as u32);
        self.row_keys_end = self.cells.memory.row_end(key).min(end);
        let cells = self.row_keys_end - first;
        // SAFETY: below the bound; cells of `T`, says `Cells::new`.
        let start = unsafe { self.cells.memory.cell::<T>(key) }.start().as_ptr();
        self.at = start.wrapping_sub(CellPtr::<T>::SIZE);
        self.row_last = self.at.wrapping_add(cells * CellPtr::<T>::SIZE);
        true
    }
}

/// The first value that is borrowed; O(slots). Runs no user code, so what it
/// says holds until some runs.
pub(crate) fn first_in_use<T, M: Lookup>(cells: Cells<'_, T, M>) -> Option<Live<'_, T>> {
    let mut walk = Walk::new(cells);
    loop {
        // SAFETY: no user code runs.
        while let Some(cell) = unsafe { walk.next_in_row() } {
            if cell.state().is_in_use() {
                return Some(cell);
            }
        }
        if !walk.find_row() {
            return None;
        }
    }
}

/// Drops the values at these keys, except those that are borrowed when the
/// walk comes to them. Ends at the bound: the keys from there on have no cell.
pub(crate) fn destroy_all<T, M: Lookup>(cells: Cells<'_, T, M>, keys: Range<usize>) {
    struct Rest<'a, T, M: Lookup> {
        cells: Cells<'a, T, M>,
        keys: Range<usize>,
    }

    impl<T, M: Lookup> Rest<'_, T, M> {
        fn run(&mut self) {
            // Destructors may raise the bound, and lower it.
            while self.keys.start < self.keys.end.min(self.cells.bound()) {
                let index = self.keys.start;
                self.keys.start += 1;
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
            let sent = sent::close(self.cells);
            let mut occupied = 0;
            for cell in (0..self.cells.bound()).filter_map(|index| self.cells.at(index)) {
                if cell.state() != State::FREE {
                    cell.close();
                    occupied += 1;
                }
            }
            // SAFETY: the slab's use ends, and exactly the cells that are not
            // free were counted, those that are out among them (L2, X2).
            unsafe { header::close(self.cells.memory.header(), occupied - sent, sent) };
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
