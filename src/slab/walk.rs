//! What is done to every cell of a slab: clearing, retaining, closing.
//!
//! A walk that drops values goes by key, looks up each cell when it comes to it,
//! and holds no pointer across a destructor: user code may insert, remove, clear
//! or grow at any point of the walk. When a destructor panics the walk goes on
//! with the rest while the panic unwinds. The iterators' [`Walk`] goes by pointer,
//! and no chunk that it may stand in is given back while there is one.

use core::ops::Range;
use core::ptr::{self, NonNull};

use super::cell::{CellPtr, Live};
use super::cells::{Cells, SlabMemory};
use super::state::State;
use super::{header, sent};
use crate::key::Key;
use crate::raw::touch::prefetch_lines;

/// Lines of the next row that are loaded ahead.
const LINES: usize = 8;

/// The cells of all keys there are, one after the other, while user code may run
/// in between and insert, remove or grow.
///
/// Cells that follow each other in memory are a row, and are walked by pointer:
/// looking up each cell in the table took twice the time. The memory counts its walks,
/// and gives back no chunk while there is one, but that which stands in for holes, when the
/// last hole is filled. (To ask after each value whether a chunk had gone was two instructions
/// of ten, and a quarter of the time at 64 bytes.)
///
/// The pointer is to the cell before the next one. Tried, in instructions per value of a
/// mutable `for` loop over the `u64` of a bounded slab (`slab` takes 6): a start and an end
/// pointer 9, counting down the bytes 11, this 9, and 8 in `fold`. `next` is always inlined;
/// otherwise the compiler returns the guard through the stack, and does not see that its end
/// undoes its beginning.
///
/// # Invariants
///
/// * `counted-walk`: the memory counts this walk, and the cells after `at` up to `row_last` are
///   those of the last keys below `row_keys_end`. Only a row without a value, a hole's, may get
///   other cells, and a walk passes that without user code.
/// * `row-keys`: `row_keys_end <= keys_end`.
pub(crate) struct Walk<'a, T, M: SlabMemory> {
    cells: Cells<'a, T, M>,
    at: *mut u8,
    row_last: *mut u8,
    row_keys_end: usize,
    keys_end: usize,
}

impl<T, M: SlabMemory> Clone for Walk<'_, T, M> {
    fn clone(&self) -> Self {
        self.cells.memory.begin_walk();
        Walk { ..*self }
    }
}

impl<T, M: SlabMemory> Drop for Walk<'_, T, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: counted when it was made (`counted-walk`), and ends once.
        unsafe { self.cells.memory.end_walk() };
    }
}

impl<'a, T, M: SlabMemory> Walk<'a, T, M> {
    /// All slots there are now, stamped or not: chunks that are added later are not
    /// visited, so that loops that insert end.
    #[inline]
    pub(crate) fn new(cells: Cells<'a, T, M>) -> Self {
        cells.memory.begin_walk();
        Walk {
            cells,
            at: ptr::null_mut(),
            row_last: ptr::null_mut(),
            row_keys_end: 0,
            keys_end: cells.keys_end(),
        }
    }

    pub(crate) fn cells(&self) -> Cells<'a, T, M> {
        self.cells
    }

    /// The keys still to be visited, which do not end before they start (`row-keys`).
    pub(crate) fn keys(&self) -> Range<usize> {
        Self::first_key(self.at, self.row_last, self.row_keys_end)..self.keys_end
    }

    /// The key of the cell that was returned last, which is not read from its stamp
    /// (`link-at-key`).
    #[inline(always)]
    pub(crate) fn last_key(&self) -> Key {
        let next = Self::first_key(self.at, self.row_last, self.row_keys_end);
        Key::from_raw(next as u32 - 1)
    }

    /// Where [`keys`](Self::keys) start. A call, so that the compiler does not
    /// compute it at each step to choose by a conditional move.
    #[cold]
    #[inline(never)]
    fn first_key(at: *mut u8, row_last: *mut u8, row_keys_end: usize) -> usize {
        row_keys_end - row_last.addr().wrapping_sub(at.addr()) / CellPtr::<T>::SIZE
    }

    /// The next cell of the row, usable until user code runs (`live-by-key`). At the end of
    /// the row [`find_row`](Self::find_row) goes on.
    #[inline(always)]
    pub(crate) fn next_in_row(&mut self) -> Option<Live<'a, T>> {
        if self.at == self.row_last {
            return None;
        }
        self.at = self.at.wrapping_add(CellPtr::<T>::SIZE);
        // SAFETY: by `counted-walk` there is a whole cell, which stays as long as this walk;
        // stamped, and of the type that `Cells::new` was told.
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
        if self.row_keys_end < end {
            // SAFETY: below the bound.
            unsafe { prefetch_row(self.cells, Key::from_raw(self.row_keys_end as u32)) };
        }
        true
    }
}

/// Has the first lines of the next row loaded while this one is walked: within a row the processor
/// looks ahead by itself, and not from one to the next. A call, as it is made once for each row.
///
/// # Safety
///
/// The key is below the bound.
#[inline(never)]
unsafe fn prefetch_row<T, M: SlabMemory>(cells: Cells<'_, T, M>, first: Key) {
    // SAFETY: below the bound (precondition); cells of `T`, says `Cells::new`.
    let start = unsafe { cells.memory.cell::<T>(first) }.start();
    prefetch_lines(start, LINES);
}

/// The state of a cell that has refused access; `None` if it has no value any more, after those that
/// came back from other threads were freed.
///
/// Not of a walk: with a reference to one, its loop would keep the walk in memory (twice the
/// instructions for each value).
#[cold]
#[inline(never)]
pub(crate) fn conflict<T, M: SlabMemory>(
    cells: Cells<'_, T, M>,
    cell: Live<'_, T>,
) -> Option<State> {
    let state = sent::look_again(cells, cell);
    state.is_occupied().then_some(state)
}

/// The key of a cell of this slab; O(chunks) where its stamp may not be read (`link-at-key`).
pub(crate) fn key_of<T, M: SlabMemory>(cells: Cells<'_, T, M>, cell: Live<'_, T>) -> Key {
    if !cell.state().is_sent() {
        return cell.key();
    }
    let mut walk = Walk::new(cells);
    let cell = cell.start().as_ptr();
    loop {
        if walk.at < cell && cell <= walk.row_last {
            walk.at = cell;
            return walk.last_key();
        }
        walk.at = walk.row_last;
        assert!(walk.find_row(), "a cell of this slab");
    }
}

/// Key and state of the first value that is borrowed; O(slots). Runs no user code, so what it
/// says holds until some runs. If all that were sent are back, and wait to be dropped, they are not
/// in use.
pub(crate) fn first_in_use<T, M: SlabMemory>(cells: Cells<'_, T, M>) -> Option<(Key, State)> {
    let any_is_out = sent::any_is_out(cells);
    let mut walk = Walk::new(cells);
    loop {
        while let Some(cell) = walk.next_in_row() {
            let state = cell.state();
            if state.is_in_use() && (any_is_out || !state.is_sent()) {
                return Some((walk.last_key(), state));
            }
        }
        if !walk.find_row() {
            return None;
        }
    }
}

/// Drops the values at these keys, except those that are borrowed when the
/// walk comes to them. Ends at the bound: the keys from there on have no cell.
pub(crate) fn destroy_all<T, M: SlabMemory>(cells: Cells<'_, T, M>, keys: Range<usize>) {
    struct Rest<'a, T, M: SlabMemory> {
        cells: Cells<'a, T, M>,
        keys: Range<usize>,
    }

    impl<T, M: SlabMemory> Rest<'_, T, M> {
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

    impl<T, M: SlabMemory> Drop for Rest<'_, T, M> {
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
pub(crate) unsafe fn close<T, M: SlabMemory>(cells: Cells<'_, T, M>) {
    struct Closing<'a, T, M: SlabMemory> {
        cells: Cells<'a, T, M>,
        next: usize,
        destroyed: bool,
    }

    impl<T, M: SlabMemory> Closing<'_, T, M> {
        /// Drops what was retired, and walks until a walk finds nothing to destroy: a destructor may fill a
        /// reservation, leak it, or end a guard that the walk has passed.
        fn destroy_all(&mut self) {
            loop {
                // Before the walk, which would mark them. A destructor of the walk may have sent
                // and retired another one.
                sent::close_retired(self.cells);
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
            // free were counted, those that are out among them (`last-holder`,
            // `sent-count`).
            unsafe { header::close(self.cells.memory.header(), occupied - sent, sent) };
        }
    }

    impl<T, M: SlabMemory> Drop for Closing<'_, T, M> {
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
