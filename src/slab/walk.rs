//! Operations on every cell of a slab: clearing, retaining, closing.
//!
//! A walk that drops values goes by key: it looks up each cell when it reaches it, and holds no
//! pointer across a destructor, because user code may insert, remove, clear or grow at any point
//! of the walk. If a destructor panics, the walk continues with the remaining values while the
//! panic unwinds. The iterators' [`Walk`] goes by pointer, and no chunk that it may be in is freed
//! before it ends.

use core::ops::Range;
use core::ptr::{self, NonNull};

use super::cell::{CellPtr, Live};
use super::cells::{Cells, Memory};
use super::state::State;
use super::{header, sent};
use crate::key::Key;
use crate::raw::touch::prefetch_lines;

/// The number of cache lines of the next row that are prefetched.
const LINES: usize = 8;

/// A walk over the cells of all keys, between whose steps user code may insert, remove or grow.
///
/// Cells that follow each other in memory form a row, and are walked by pointer: looking up each
/// cell in the table took twice the time. The memory counts its walks, and frees no chunk while
/// there is one, except the stand-in for holes when the last hole is filled. (Checking after each
/// value whether a chunk was freed took two instructions of ten, and a quarter of the time at 64
/// bytes.)
///
/// The pointer is to the cell before the next one. These were tried, in instructions per value of a
/// mutable `for` loop over a bounded slab of `u64` (`slab` takes 6): a start and an end pointer 9,
/// counting down the bytes 11, this 9, and 8 in `fold`. `next` is always inlined; otherwise the
/// compiler returns the guard through the stack, and does not see that its drop undoes the borrow.
///
/// # Invariants
///
/// * `counted-walk`: the memory counts this walk, and the cells after `at` up to `row_last` are
///   those of the last keys below `row_keys_end`. Only the row of a hole, which has no value, may
///   get other cells; a walk passes such a row without running user code.
/// * `row-keys`: `row_keys_end <= keys_end`.
pub(crate) struct Walk<'a, T, M: Memory> {
    cells: Cells<'a, T, M>,
    at: *mut u8,
    row_last: *mut u8,
    row_keys_end: usize,
    keys_end: usize,
}

impl<T, M: Memory> Clone for Walk<'_, T, M> {
    fn clone(&self) -> Self {
        self.cells.memory.begin_walk();
        Walk { ..*self }
    }
}

impl<T, M: Memory> Drop for Walk<'_, T, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: counted when it was made (`counted-walk`), and ends once.
        unsafe { self.cells.memory.end_walk() };
    }
}

impl<'a, T, M: Memory> Walk<'a, T, M> {
    /// Starts a walk over all present slots, stamped or not. Chunks that are added later are not
    /// visited, so that loops that insert terminate.
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

    /// Returns the range of keys that were not visited yet; its start is not after its end
    /// (`row-keys`).
    pub(crate) fn keys(&self) -> Range<usize> {
        Self::first_key(self.at, self.row_last, self.row_keys_end)..self.keys_end
    }

    /// Returns the key of the cell that was returned last, without reading it from the stamp
    /// (`link-at-key`).
    #[inline(always)]
    pub(crate) fn last_key(&self) -> Key {
        let next = Self::first_key(self.at, self.row_last, self.row_keys_end);
        Key::from_raw(next as u32 - 1)
    }

    /// Returns the start of [`keys`](Self::keys). A function call, so that the compiler does not
    /// compute it at each step and choose by a conditional move.
    #[cold]
    #[inline(never)]
    fn first_key(at: *mut u8, row_last: *mut u8, row_keys_end: usize) -> usize {
        row_keys_end - row_last.addr().wrapping_sub(at.addr()) / CellPtr::<T>::SIZE
    }

    /// Returns the next cell of the row, usable until user code runs (`live-by-key`). At the end of
    /// the row call [`find_row`](Self::find_row).
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

    /// Goes to the row of the next key below the present bound, which insertions may have raised.
    /// Returns `false` if no row is left: the walk is over, even if the slab grows again.
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
            // SAFETY: the key is below `end`, which is at most the bound; cells of `T`, says
            // `Cells::new`.
            unsafe { prefetch_row(self.cells, Key::from_raw(self.row_keys_end as u32)) };
        }
        true
    }
}

/// Prefetches the first cache lines of the next row while this row is walked: the processor
/// prefetches within a row by itself, but not across rows. A function call, made once for each row.
///
/// # Safety
///
/// The key is below the bound.
#[inline(never)]
unsafe fn prefetch_row<T, M: Memory>(cells: Cells<'_, T, M>, first: Key) {
    // SAFETY: below the bound (precondition); cells of `T`, says `Cells::new`.
    let start = unsafe { cells.memory.cell::<T>(first) }.start();
    prefetch_lines(start, LINES);
}

/// Returns the state of a cell that has refused access, after the slots that other threads returned
/// were freed. Returns `None` if the cell has no value any more.
///
/// Not a method of the walk: with a reference to it, the loop would keep the walk in memory (twice
/// the instructions for each value).
#[cold]
#[inline(never)]
pub(crate) fn conflict<T, M: Memory>(cells: Cells<'_, T, M>, cell: Live<'_, T>) -> Option<State> {
    let state = sent::look_again(cells, cell);
    state.is_occupied().then_some(state)
}

/// Returns the key of a cell of this slab. O(chunks) if its stamp may not be read (`link-at-key`).
pub(crate) fn key_of<T, M: Memory>(cells: Cells<'_, T, M>, cell: Live<'_, T>) -> Key {
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

/// Returns the key and the state of the first borrowed value. O(slots).
///
/// Runs no user code, so the answer holds until user code runs. Sent values are not in use if all
/// of them were returned and only wait to be dropped.
pub(crate) fn first_in_use<T, M: Memory>(cells: Cells<'_, T, M>) -> Option<(Key, State)> {
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

/// Drops the values with these keys, except values that are borrowed when the walk reaches them.
/// Ends at the bound, from which on keys have no cell.
pub(crate) fn destroy_all<T, M: Memory>(cells: Cells<'_, T, M>, keys: Range<usize>) {
    struct Rest<'a, T, M: Memory> {
        cells: Cells<'a, T, M>,
        keys: Range<usize>,
    }

    impl<T, M: Memory> Rest<'_, T, M> {
        fn run(&mut self) {
            // Destructors may raise or lower the bound.
            while self.keys.start < self.keys.end.min(self.cells.bound()) {
                let index = self.keys.start;
                self.keys.start += 1;
                if let Some(cell) = self.cells.at(index) {
                    cell.try_destroy();
                }
            }
        }
    }

    impl<T, M: Memory> Drop for Rest<'_, T, M> {
        fn drop(&mut self) {
            self.run();
        }
    }

    // If a destructor unwinds out of this, the drop continues the walk.
    Rest { cells, keys }.run();
}

/// Closes a slab that is dropped: drops every value that is not borrowed, in key order. A borrowed
/// value is dropped when its last borrow ends, and the memory is freed with the last holder.
///
/// # Safety
///
/// The slab does not use its memory afterwards.
pub(crate) unsafe fn close<T, M: Memory>(cells: Cells<'_, T, M>) {
    struct Closing<'a, T, M: Memory> {
        cells: Cells<'a, T, M>,
        next: usize,
        destroyed: bool,
    }

    impl<T, M: Memory> Closing<'_, T, M> {
        /// Drops the retired values, and repeats the walk until it finds nothing to destroy: a
        /// destructor may fill a reservation, leak it, or drop a guard that the walk has passed.
        fn destroy_all(&mut self) {
            loop {
                // Before the walk, which would mark them. In a later round, because a destructor
                // may have sent and retired another value.
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
                // Free, held, or being destroyed further up the call stack.
            } else if state.is_borrowed() {
                cell.doom();
            } else {
                // Noted first: the destructor may unwind.
                self.destroyed = true;
                cell.try_destroy();
            }
        }

        /// Hands the memory to the holders of the remaining cells. No user code runs.
        fn seal(&mut self) {
            let sent = sent::close(self.cells.shaped());
            let mut occupied = 0;
            for cell in (0..self.cells.bound()).filter_map(|index| self.cells.at(index)) {
                if cell.state() != State::FREE {
                    cell.close();
                    occupied += 1;
                }
            }
            // SAFETY: the slab's use ends, and exactly the cells that are not free were counted,
            // including those that other threads have (`last-holder`, `sent-count`).
            unsafe { header::close(self.cells.memory.header(), occupied - sent, sent) };
        }
    }

    impl<T, M: Memory> Drop for Closing<'_, T, M> {
        fn drop(&mut self) {
            // Finds values only while the panic of a destructor unwinds; a second panic aborts
            // the program.
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
