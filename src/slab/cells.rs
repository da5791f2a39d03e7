//! The cells of a slab: that of a key, and a free one.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::{CellPtr, Live, Place};
use super::header::SlabHeader;
use crate::error::AllocError;
use crate::key::Key;
use crate::raw::report::Report;
use crate::raw::stack::Lowered;

/// Where the kinds of memory differ: how a key leads to a cell, and where another cell comes from.
///
/// # Safety
///
/// While the memory lives, `header` is allocated, and what `cell` returns is an
/// allocated, stamped cell of the type that the memory was made for: one of
/// that header, or one that is free for ever and has no key.
/// The cells of the keys from `key` to `row_end(key)` that are below the bound follow
/// each other. From a `begin_walk` to its `end_walk` no row goes that has a value at any time in
/// between: its cells stay allocated, and stay the cells of their keys.
pub unsafe trait SlabMemory {
    /// The name of the slab, for `Debug`.
    #[doc(hidden)]
    const NAME: &'static str;

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

    /// Cells that are free and that no key below the bound leads to yet.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    fn unfilled(&self) -> usize {
        0
    }

    /// Counts a walk by pointer, until whose end no row goes that has, or has had, a value. Nothing
    /// to do where only an exclusive borrow gives memory back.
    #[doc(hidden)]
    #[inline(always)]
    fn begin_walk(&self) {}

    /// One walk less.
    ///
    /// # Safety
    ///
    /// For each [`begin_walk`](Self::begin_walk) at most once.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn end_walk(&self) {}

    /// A free cell when the stack is empty; the error is why the memory cannot
    /// grow, if it is of the kind that grows.
    ///
    /// # Safety
    ///
    /// The memory was made for cells of `T`.
    #[doc(hidden)]
    unsafe fn claim_when_empty<T>(&self) -> Result<Place<T>, Option<AllocError>>;

    #[doc(hidden)]
    fn memory(&self) -> Report;
}

/// A free cell off the stack of this memory, which is of cells of `T`.
#[inline(always)]
pub(super) fn claim<T>(memory: &impl SlabMemory) -> Option<Place<T>> {
    // The header is read once, before the value is written: the compiler cannot
    // tell that this does not overwrite `memory`.
    let header = memory.header();
    // SAFETY: allocated while the memory lives.
    let cell = unsafe { header.as_ref() }.stack.pop()?;
    Some(Place::new(CellPtr::new(cell), header))
}

/// The cell that [`claim`] takes, still on the stack, and what takes it off.
#[inline(always)]
pub(super) fn look<T>(memory: &impl SlabMemory) -> Option<(Place<T>, Lowered)> {
    let header = memory.header();
    // SAFETY: allocated while the memory lives.
    let (cell, lowered) = unsafe { header.as_ref() }.stack.look()?;
    Some((Place::new(CellPtr::new(cell), header), lowered))
}

/// The cells of a slab of `T`, by key.
pub(crate) struct Cells<'a, T, M> {
    pub(super) memory: &'a M,
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

impl<'a, T, M: SlabMemory> Cells<'a, T, M> {
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

    /// The cell of a key, if it has one; usable until user code runs (`live-by-key`).
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
        // stamped until user code runs (`live-by-key`).
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
