//! The cells of a slab: finding the cell of a key, and taking a free cell.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::{CellPtr, Live, Place};
use super::header::SlabHeader;
use super::holder::{Holder, Popped};
use super::shape::Shape;
use crate::error::AllocError;
use crate::key::Key;
use crate::raw::report::Report;
use crate::raw::stack::Lowered;

/// The kind of memory of a [`TrackedSlab`](crate::TrackedSlab): [`Bounded`](crate::Bounded) or
/// [`Growable`](crate::Growable).
///
/// This trait is sealed. The kinds differ in how the cell of a key is found, and where a free cell
/// comes from when the stack is empty.
///
/// # Safety
///
/// While the memory lives, `header` is allocated, and `cell` returns an allocated, stamped cell of
/// the type that the memory was made for: a cell of that header, or a cell that is free forever and
/// has no key. The cells of the keys from `key` to `row_end(key)` that are below the bound follow
/// each other in memory. Between a `begin_walk` and its `end_walk`, a row that has a value at any
/// time stays: its cells remain allocated, and remain the cells of their keys.
pub unsafe trait Memory {
    /// The name of the slab, for `Debug`.
    #[doc(hidden)]
    const NAME: &'static str;

    #[doc(hidden)]
    fn header(&self) -> NonNull<SlabHeader>;

    /// Keys from here on have no cell, or a cell that was never used.
    #[doc(hidden)]
    fn bound(&self) -> usize;

    /// Returns the number of cells of the keys from the bound on.
    #[doc(hidden)]
    fn unstamped(&self) -> usize;

    /// Returns the cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound, and the memory has cells of `T`.
    #[doc(hidden)]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T>;

    /// Returns the start of the cell of a key, like [`cell`](Self::cell), to cold code.
    ///
    /// # Safety
    ///
    /// The key is below the bound, and the memory has cells of this shape.
    #[doc(hidden)]
    unsafe fn cell_of(&self, shape: &Shape, key: Key) -> NonNull<u8>;

    /// Returns the end of the keys from `key` on whose cells follow each other in memory.
    #[doc(hidden)]
    fn row_end(&self, key: Key) -> usize;

    /// Returns the number of free cells that belong to no key below the bound yet.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    fn unfilled(&self) -> usize {
        0
    }

    /// Counts a walk by pointer. Until it ends, no row that has or had a value is freed. Does
    /// nothing if only an exclusive borrow frees memory.
    #[doc(hidden)]
    #[inline]
    fn begin_walk(&self) {}

    /// Ends a walk.
    ///
    /// # Safety
    ///
    /// Called at most once for each [`begin_walk`](Self::begin_walk).
    #[doc(hidden)]
    #[inline]
    unsafe fn end_walk(&self) {}

    /// Takes a free cell when the stack is empty. The error is the reason why the memory cannot
    /// grow, if it is of the kind that grows.
    ///
    /// # Safety
    ///
    /// The memory was made for cells of `T`.
    #[doc(hidden)]
    unsafe fn claim_when_empty<T>(&self) -> Result<Popped<T>, Option<AllocError>>;

    #[doc(hidden)]
    fn memory(&self) -> Report;

    /// Returns the bytes of all blocks.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// Returns how many insertions were refused.
    #[doc(hidden)]
    fn refusals(&self) -> u64;

    /// Returns how many chunks were added, if the memory grows.
    #[doc(hidden)]
    fn growths(&self) -> Option<u64>;
}

/// The header of a memory.
#[inline]
fn header_of<M: Memory>(memory: &M) -> &SlabHeader {
    // SAFETY: the header of a `Memory` is allocated as long as the memory is borrowed.
    unsafe { memory.header().as_ref() }
}

/// The cells of a slab, without the type of their values: what cold code takes, which is then
/// compiled once for each kind of memory.
pub(super) struct ShapedCells<'a, M> {
    memory: &'a M,
    shape: &'static Shape,
}

impl<M> Clone for ShapedCells<'_, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for ShapedCells<'_, M> {}

impl<'a, M: Memory> ShapedCells<'a, M> {
    #[inline]
    pub(super) fn memory(self) -> &'a M {
        self.memory
    }

    #[inline]
    pub(super) fn shape(self) -> &'static Shape {
        self.shape
    }

    #[inline]
    pub(super) fn header(self) -> &'a SlabHeader {
        header_of(self.memory)
    }

    /// Returns the start of the cell of a key.
    ///
    /// # Safety
    ///
    /// The key is below the bound.
    #[inline]
    pub(super) unsafe fn start(self, key: Key) -> NonNull<u8> {
        // SAFETY: below the bound (precondition); of this shape, from `shaped`.
        unsafe { self.memory.cell_of(self.shape, key) }
    }
}

/// The cells of a slab of `T`, by key.
pub(crate) struct Cells<'a, T, M> {
    pub(super) memory: &'a M,
    /// Invariant in `T`, like the slab.
    values: PhantomData<&'a Cell<T>>,
}

impl<T, M> Clone for Cells<'_, T, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Cells<'_, T, M> {}

impl<'a, T, M: Memory> Cells<'a, T, M> {
    /// # Safety
    ///
    /// The memory has cells of `T`.
    #[inline]
    pub(crate) unsafe fn new(memory: &'a M) -> Self {
        Cells {
            memory,
            values: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn header(self) -> &'a SlabHeader {
        header_of(self.memory)
    }

    /// The same cells, without the type of their values.
    #[inline]
    pub(super) fn shaped(self) -> ShapedCells<'a, M> {
        ShapedCells {
            memory: self.memory,
            shape: const { &Shape::of::<T>() },
        }
    }

    /// Takes a free cell off the stack.
    #[inline]
    pub(super) fn claim(self) -> Option<Popped<T>> {
        // The header is read once, before the value is written: the compiler cannot
        // tell that this does not overwrite `memory`.
        let header = self.memory.header();
        // SAFETY: the header of a `Memory` is allocated as long as the memory is borrowed. The cell
        // was just popped: free, and no one else has it (`free-on-stack`).
        unsafe {
            let cell = header.as_ref().stack.pop()?;
            Some(Holder::new(Place::new(CellPtr::new(cell), header)))
        }
    }

    /// Returns the cell that [`claim`](Self::claim) would take, still on the stack, and the step that
    /// takes it off.
    #[inline]
    pub(super) fn look(self) -> Option<(Place<T>, Lowered)> {
        let header = self.memory.header();
        // SAFETY: the header of a `Memory` is allocated as long as the memory is borrowed.
        let (cell, lowered) = unsafe { header.as_ref() }.stack.look()?;
        Some((Place::new(CellPtr::new(cell), header), lowered))
    }

    pub(crate) fn memory(self) -> &'a M {
        self.memory
    }

    #[inline]
    pub(crate) fn bound(self) -> usize {
        self.memory.bound()
    }

    pub(crate) fn unstamped(self) -> usize {
        self.memory.unstamped()
    }

    /// Returns the first key without a slot. The keys between the bound and this one get a cell
    /// when the bound is raised.
    pub(crate) fn keys_end(self) -> usize {
        self.bound() + self.unstamped()
    }

    /// Returns the cell of a key, if it has one. It is usable until user code runs (`live-by-key`).
    #[inline]
    pub(crate) fn get(self, key: Key) -> Option<Live<'a, T>> {
        if key.index() < self.bound() {
            // SAFETY: below the bound; cells of `T`, says `new`.
            Some(unsafe { self.get_unchecked(key) })
        } else {
            None
        }
    }

    /// Returns the cell of a key below the bound.
    ///
    /// # Safety
    ///
    /// The key is below the bound.
    #[inline]
    pub(crate) unsafe fn get_unchecked(self, key: Key) -> Live<'a, T> {
        // SAFETY: the key is below the bound (precondition), so its cell is allocated and
        // stamped until user code runs (`live-by-key`).
        unsafe { self.place(self.memory.cell(key)).live() }
    }

    #[inline]
    pub(crate) fn place(self, cell: CellPtr<T>) -> Place<T> {
        Place::new(cell, self.memory.header())
    }

    /// [`get`](Self::get) by number.
    pub(crate) fn at(self, index: usize) -> Option<Live<'a, T>> {
        self.get(Key::from_raw(u32::try_from(index).ok()?))
    }
}
