//! `Home`: the state that a pool and its boxes share, the free cells and the place of all cells.
//!
//! # Invariants
//!
//! * H1: `fresh <= capacity`. Each cell below `fresh` is on the free list, once, or taken. The
//!   others are neither, and are not used: their content is lost.
//! * H2: a taken cell has one owner: a box, the claim that becomes one, the code that got a
//!   pointer or a reference for a box, or a list of cells that other threads gave back. Only the
//!   owner pushes the cell, and then owns it no more.
//! * H3: the memory of a cell, at its [place](Places), is valid from before it is first pushed
//!   until the home ends, and the header of its segment, if there is one, leads to the home.

use core::cell::Cell;
use core::ptr::NonNull;

use super::links::Links;
#[cfg(feature = "alloc")]
use crate::raw::stack::{FreeStack, Lowered};
use crate::raw::touch::touch;

/// A LIFO of free cells.
pub trait FreeCells: 'static {
    /// What the list is without its last cell.
    type Rest: Copy;

    /// The cell that was pushed last, and the list without it.
    fn look(&self) -> Option<(NonNull<u8>, Self::Rest)>;

    /// Takes the cell that was [looked at](Self::look), in which a value may have been written
    /// since.
    ///
    /// # Safety
    ///
    /// That is what came with the cell, and the list has not changed since. If the cell was written
    /// to, nothing was asked of the list after that.
    unsafe fn take(&self, rest: Self::Rest);

    /// Takes the cell that was pushed last.
    #[inline(always)]
    fn pop(&self) -> Option<NonNull<u8>> {
        let (cell, rest) = self.look()?;
        // SAFETY: just looked at.
        unsafe { self.take(rest) };
        Some(cell)
    }

    /// Adds a free cell.
    ///
    /// # Safety
    ///
    /// The caller owns the cell, which is not on the list, and for which there is room; it gives
    /// the cell up before any other code runs. Until the cell is popped or the list is cleared,
    /// its memory stays, and is not used, but by who looked at it and [takes](Self::take) it next.
    unsafe fn push(&self, cell: NonNull<u8>);

    /// Number of cells on the list.
    fn depth(&self) -> usize;

    /// Removes all.
    fn clear(&self);

    /// The cells, in the order in which they would be popped.
    #[cfg(any(test, fuzzing))]
    fn cells(&self) -> impl Iterator<Item = NonNull<u8>>;
}

impl FreeCells for Links {
    type Rest = Option<NonNull<u8>>;

    #[inline(always)]
    fn look(&self) -> Option<(NonNull<u8>, Self::Rest)> {
        self.look()
    }

    #[inline(always)]
    unsafe fn take(&self, rest: Self::Rest) {
        // SAFETY: the preconditions are the same.
        unsafe { self.take(rest) };
    }

    #[inline(always)]
    unsafe fn push(&self, cell: NonNull<u8>) {
        // SAFETY: the preconditions are the same; a pool's cells have room for a link
        // (`Memory::LEAST_CELL`).
        unsafe { self.push(cell) };
    }

    #[inline]
    fn depth(&self) -> usize {
        self.depth()
    }

    fn clear(&self) {
        self.clear();
    }

    #[cfg(any(test, fuzzing))]
    fn cells(&self) -> impl Iterator<Item = NonNull<u8>> {
        self.cells()
    }
}

#[cfg(feature = "alloc")]
impl FreeCells for FreeStack {
    type Rest = Lowered;

    #[inline(always)]
    fn look(&self) -> Option<(NonNull<u8>, Self::Rest)> {
        self.look()
    }

    #[inline(always)]
    unsafe fn take(&self, rest: Self::Rest) {
        // SAFETY: the preconditions are the same.
        unsafe { self.lower(rest) };
    }

    #[inline(always)]
    unsafe fn push(&self, cell: NonNull<u8>) {
        // SAFETY: the preconditions are the same.
        unsafe { self.push(cell) };
    }

    #[inline]
    fn depth(&self) -> usize {
        self.depth()
    }

    fn clear(&self) {
        self.clear();
    }

    #[cfg(any(test, fuzzing))]
    fn cells(&self) -> impl Iterator<Item = NonNull<u8>> {
        self.entries().flatten()
    }
}

/// Where the cells of one layout lie, from the start of their memory.
pub trait Places: Copy + 'static {
    /// The number of fresh cells that are pushed at once if none is free: not 0. A page at most,
    /// so that an allocation pays for one page fault, and as many cells as make the call of a cold
    /// function cheap.
    fn refill(&self) -> usize;

    /// Where a cell lies, in bytes from the start. One that is past the last may be asked for.
    fn offset(&self, index: usize) -> usize;

    /// The cell that lies there, if one does.
    #[cfg(any(test, fuzzing))]
    fn index(&self, offset: usize) -> Option<usize>;
}

/// [`Places::refill`] of cells of so many bytes, which are not 0.
pub(super) const fn refill_of(cell: usize) -> usize {
    const CELLS: usize = 16;
    const BYTES: usize = 4096;
    match BYTES / cell {
        0 => 1,
        CELLS.. => CELLS,
        cells => cells,
    }
}

/// Free cells and fresh ones, at the places `P`.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct Home<F, P> {
    /// First, so that a pointer to the home is one to its top.
    pub(super) free: F,
    fresh: Cell<usize>,
    capacity: usize,
    places: P,
    start: NonNull<u8>,
}

impl<F: FreeCells, P: Places> Home<F, P> {
    /// A home whose cells are all fresh.
    ///
    /// # Safety
    ///
    /// `start` is the start of memory for `capacity` cells at these places. The owner of the home
    /// keeps it, and nothing else uses it (H3).
    pub(super) unsafe fn new(free: F, capacity: usize, places: P, start: NonNull<u8>) -> Self {
        Home {
            free,
            fresh: Cell::new(0),
            capacity,
            places,
            start,
        }
    }

    pub(super) fn places(&self) -> P {
        self.places
    }

    #[cfg(feature = "alloc")]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Cells that were never used.
    pub(super) fn fresh(&self) -> core::ops::Range<usize> {
        self.fresh.get()..self.capacity
    }

    /// Number of cells that were ever used.
    #[cfg(feature = "alloc")]
    pub(super) fn used(&self) -> usize {
        self.fresh.get()
    }

    /// Number of cells that are taken.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.fresh.get() - self.free.depth()
    }

    /// The cell at that address, with the provenance of the home's memory.
    pub(super) fn cell_at(&self, address: core::num::NonZero<usize>) -> NonNull<u8> {
        self.start.with_addr(address)
    }

    /// The fresh cells that are to be pushed next; none if there are none.
    pub(super) fn next_fresh(&self) -> core::ops::Range<usize> {
        let fresh = self.fresh();
        fresh.start..(fresh.start + self.places.refill()).min(fresh.end)
    }

    /// Pushes the fresh cells up to `end`, so that they are popped in their own
    /// order.
    ///
    /// # Safety
    ///
    /// `end` is within [`fresh`](Self::fresh). The memory of these cells is valid, with the
    /// headers of their segments (H3), and the free list has room for them.
    pub(super) unsafe fn push_fresh(&self, end: usize) {
        let first = self.fresh.replace(end);
        for index in (first..end).rev() {
            // SAFETY: the cell lies within the memory (H3), and there is room for it in the list
            // (precondition). It was fresh, so it is neither on the list nor taken (H1).
            unsafe {
                let cell = self.start.add(self.places.offset(index));
                self.free.push(cell);
            }
        }
    }

    /// Makes all cells fresh, the taken ones too.
    ///
    /// # Safety
    ///
    /// The taken cells are not used or pushed any more.
    pub(super) unsafe fn forget_all(&self) {
        self.free.clear();
        self.fresh.set(0);
    }

    /// The fresh cells that the next `cells` allocations take: those for which no free one is
    /// left.
    pub(super) fn next_of(&self, cells: usize) -> core::ops::Range<usize> {
        let fresh = self.fresh();
        let missing = cells.saturating_sub(self.free.depth());
        fresh.start..fresh.end.min(fresh.start.saturating_add(missing))
    }

    /// Writes to every page of [these](Self::next_of), which lie in a row.
    pub(super) fn touch_fresh(&self, cells: usize) {
        let fresh = self.next_of(cells);
        if !fresh.is_empty() {
            let (from, to) = (
                self.places.offset(fresh.start),
                self.places.offset(fresh.end),
            );
            // SAFETY: their memory is valid and not in use (H1, H3).
            unsafe { touch(self.start, from, to) };
        }
    }

    /// Panics if H1 does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        let fresh = self.fresh.get();
        assert!(fresh <= self.capacity, "H1: the fresh cells");
        let mut seen = alloc::collections::BTreeSet::new();
        for cell in self.free.cells() {
            let offset = cell.addr().get() - self.start.addr().get();
            let index = self.places.index(offset).expect("H1: a free cell is one");
            assert!(index < fresh, "H1: it was pushed once");
            assert!(seen.insert(index), "H1: twice");
        }
        assert_eq!(seen.len(), self.free.depth(), "H1: the depth");
    }
}
