//! What a pool needs from its memory, and what both kinds of memory have in common.
//!
//! A cell is *fresh* until it is first used. Then it is *free*, on the list of its memory, or
//! *taken*. Cells become free from the first to the last, so a number tells which are fresh:
//! [`Fresh`]. Where the cells lie and how the free ones are listed differs: `heap.rs` and
//! `storage.rs`.
//!
//! # Invariants
//!
//! * `cell-states`: each cell from `Fresh::next` on is fresh: not on the list, not taken, and its
//!   content is lost. Each cell before it is on the list, once, or taken.
//! * `cell-owner`: a taken cell has one owner: a box, the claim that becomes one, code that got a
//!   pointer or a reference in exchange for a box, or a list of cells that other threads returned.
//!   Only the owner frees the cell, and no longer owns it then.
//! * `cell-memory`: the memory of a cell is valid, and large and aligned enough for a value, from
//!   before the cell is first free until the memory is freed.

use core::alloc::Layout;
use core::cell::Cell;
#[cfg(not(feature = "alloc"))]
use core::convert::Infallible;
use core::num::NonZero;
use core::ops::Range;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::poison::poison_bytes;

/// A kind of memory: [`Heap`](super::Heap) or [`InStorage`](super::InStorage). Sealed.
///
/// It is the cells of a pool, and the list of free ones, last freed first. No one outside has a value
/// of it: a pool does not lend its memory.
///
/// # Safety
///
/// * `cell-states` and `cell-memory` hold.
/// * `look` returns cells that `free` or `refill` put on the list of this memory.
pub unsafe trait PoolMemory: Sized + 'static {
    /// The part of a box, next to the address of its cell, that finds the list.
    #[doc(hidden)]
    type Way: Copy + 'static;

    /// The list without its first cell.
    #[doc(hidden)]
    type Rest: Copy;

    #[doc(hidden)]
    fn way(&self) -> Self::Way;

    /// Returns the range of cells that were never used, and the number of all cells.
    #[doc(hidden)]
    fn fresh(&self) -> &Fresh;

    /// Returns the number of cells on the list.
    #[doc(hidden)]
    fn free_cells(&self) -> usize;

    /// Returns the bytes of the cells, and of the list.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// Returns the cell that was freed last, and the list without it.
    #[doc(hidden)]
    fn look(&self) -> Option<(NonNull<u8>, Self::Rest)>;

    /// Takes the cell that [`look`](Self::look) returned. A value may have been written to it
    /// since.
    ///
    /// # Safety
    ///
    /// `rest` was returned with the cell, and the list has not changed since. If the cell was
    /// written to, `look` was not called after that.
    #[doc(hidden)]
    unsafe fn take(&self, rest: Self::Rest);

    /// Takes the cell that was freed last.
    #[doc(hidden)]
    #[inline(always)]
    fn pop(&self) -> Option<NonNull<u8>> {
        let (cell, rest) = self.look()?;
        // SAFETY: `rest` was returned with the cell, and nothing has used the list since.
        unsafe { self.take(rest) };
        Some(cell)
    }

    /// Puts a cell on the list of its memory.
    ///
    /// # Safety
    ///
    /// * `cell` is a taken cell of a memory of this type, made for values of the layout `value`, and
    ///   has the provenance with which it was taken. The caller owns it (`cell-owner`), gives it up
    ///   before any other code runs, and does not use it any more.
    /// * `way` is from the same memory, which is alive and has not moved since it returned `way`.
    // The layout is a value, for the type of a value may be known only at run time. Where it is
    // known, the layout is a constant after inlining.
    #[doc(hidden)]
    unsafe fn free(cell: NonNull<u8>, value: Layout, way: Self::Way);

    /// Puts fresh cells on the list: at most a page of them, and at most 16.
    ///
    /// # Errors
    ///
    /// `None` if no cell is fresh; the source's error if it refuses memory.
    #[doc(hidden)]
    fn refill(&self) -> Result<(), Option<AllocError>>;

    /// Touches the memory of the fresh cells that the next `cells` allocations take.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    #[doc(hidden)]
    fn prepare(&self, cells: usize) -> Result<(), AllocError>;

    /// Makes all cells free or fresh, including taken ones.
    ///
    /// # Safety
    ///
    /// The taken cells are not used or freed any more.
    #[doc(hidden)]
    unsafe fn reset(&mut self);

    /// Calls `f` with the index of each cell on the list; panics if an address is not that of a
    /// cell.
    #[doc(hidden)]
    #[cfg(any(test, fuzzing))]
    fn for_each_free(&self, f: impl FnMut(usize));

    /// Panics if `cell-states` does not hold.
    #[doc(hidden)]
    #[cfg(any(test, fuzzing))]
    fn check(&self) {
        let used = self.fresh().used();
        assert!(used <= self.fresh().capacity(), "the fresh cells");
        let mut seen = alloc::collections::BTreeSet::new();
        self.for_each_free(|index| {
            assert!(index < used, "a fresh cell is on the list");
            assert!(seen.insert(index), "a cell is on the list twice");
        });
        assert_eq!(seen.len(), self.free_cells(), "the number of free cells");
    }
}

/// The number of fresh cells that become free at once, for cells of this size in bytes. Neither is
/// 0. At most a page of cells, so that an allocation pays for one page fault, and enough cells to
/// make the call of a cold function cheap.
pub(super) const fn refill_of(cell: usize) -> usize {
    const CELLS: usize = 16;
    const BYTES: usize = 4096;
    match BYTES / cell {
        0 => 1,
        CELLS.. => CELLS,
        cells => cells,
    }
}

/// The number of cells, and the index of the first fresh one.
#[derive(Debug)]
pub struct Fresh {
    /// At most `capacity`.
    next: Cell<usize>,
    capacity: usize,
    /// Where the memory of the cells begins.
    start: NonNull<u8>,
    /// Number of allocations that found no free cell.
    refusals: Cell<u64>,
    /// The largest number of taken cells at the end of a stretch of allocations.
    #[cfg(feature = "stats")]
    peak: Cell<usize>,
}

impl Fresh {
    /// `capacity` fresh cells.
    pub(super) fn new(capacity: usize, start: NonNull<u8>) -> Self {
        Fresh {
            next: Cell::new(0),
            capacity,
            start,
            refusals: Cell::new(0),
            #[cfg(feature = "stats")]
            peak: Cell::new(0),
        }
    }

    pub(super) fn refusals(&self) -> u64 {
        self.refusals.get()
    }

    pub(super) fn count_refusal(&self) {
        self.refusals.set(self.refusals.get() + 1);
    }

    /// The largest number of taken cells at the same time, if that is counted. `free` cells are on
    /// the list.
    pub(super) fn peak(&self, free: usize) -> Option<usize> {
        #[cfg(feature = "stats")]
        return Some(self.peak.get().max(self.used() - free));
        #[cfg(not(feature = "stats"))]
        {
            let _ = free;
            None
        }
    }

    /// Notes the number of taken cells, before one of them becomes free: between two calls it only
    /// rises. `free` returns the number of cells on the list.
    #[inline(always)]
    pub(super) fn note_peak(&self, free: impl FnOnce() -> usize) {
        #[cfg(feature = "stats")]
        self.peak.set(self.peak.get().max(self.used() - free()));
        #[cfg(not(feature = "stats"))]
        let _ = free;
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of cells that are not fresh.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.next.get()
    }

    /// The cell at that address, with the provenance of the memory.
    pub(super) fn cell_at(&self, address: NonZero<usize>) -> NonNull<u8> {
        self.start.with_addr(address)
    }

    /// The first fresh cells, `most` of them or all.
    pub(super) fn first(&self, most: usize) -> Range<usize> {
        let first = self.next.get();
        first..self.capacity.min(first.saturating_add(most))
    }

    /// Calls `push` with the cells up to `end`, the last one first, so that they are taken in their
    /// own order. `place` is the place of a cell, in bytes from the start.
    ///
    /// # Safety
    ///
    /// `end` is from `used` to `capacity`. The memory of these cells, at their places, is valid,
    /// and `push` puts a cell on the list.
    pub(super) unsafe fn push_up_to(
        &self,
        end: usize,
        place: impl Fn(usize) -> usize,
        push: impl Fn(NonNull<u8>),
    ) {
        let first = self.next.replace(end);
        for index in (first..end).rev() {
            // SAFETY: the memory of the cell is valid (precondition).
            push(unsafe { self.start.add(place(index)) });
        }
    }

    /// Makes all cells fresh; the caller must empty the list too.
    pub(super) fn reset(&self) {
        self.next.set(0);
        #[cfg(feature = "stats")]
        self.peak.set(0);
    }
}

/// A taken cell that has no value, or is about to lose it; dropping this frees the cell.
///
/// The cell is of a [`MaybeUninit`](core::mem::MaybeUninit), or a
/// [`ManuallyDrop`](core::mem::ManuallyDrop) whose value may be unsized. It can be borrowed
/// without a value, so its layout need not be a field: a field would be written to the stack before
/// each call that may unwind.
pub(super) struct Vacated<T: ?Sized, M: PoolMemory> {
    cell: NonNull<T>,
    way: M::Way,
}

impl<T: ?Sized, M: PoolMemory> Vacated<T, M> {
    /// # Safety
    ///
    /// The caller owns the cell (`cell-owner`) and gives it up. Until this is dropped, the cell and
    /// the way are valid for [`PoolMemory::free`] with the layout of `cell`, and `cell` can be
    /// borrowed, even if the value is gone. The cell is not used after the drop.
    #[inline(always)]
    pub(super) unsafe fn new(cell: NonNull<T>, way: M::Way) -> Self {
        Vacated { cell, way }
    }
}

impl<T: ?Sized, M: PoolMemory> Drop for Vacated<T, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this owns the cell, which can be borrowed and is for values of that layout, and
        // cell and way are those of one memory (preconditions of `new`).
        unsafe {
            let value = Layout::for_value(self.cell.as_ref());
            // The value is gone. Before the free, for a list may have its links in the cells.
            poison_bytes(self.cell.cast(), value.size());
            M::free(self.cell.cast(), value, self.way);
        }
    }
}

/// The memory of a pool on the heap. Without the feature `alloc` there is no such pool, but the
/// default kind of memory has the same name.
#[cfg(not(feature = "alloc"))]
#[derive(Debug)]
pub enum Heap {}

#[cfg(not(feature = "alloc"))]
// SAFETY: the enum has no variant, so no method is ever called.
#[cfg(not(feature = "alloc"))]
unsafe impl PoolMemory for Heap {
    type Way = Infallible;
    type Rest = Infallible;

    fn way(&self) -> Infallible {
        match *self {}
    }

    fn fresh(&self) -> &Fresh {
        match *self {}
    }

    fn free_cells(&self) -> usize {
        match *self {}
    }

    fn bytes(&self) -> usize {
        match *self {}
    }

    fn look(&self) -> Option<(NonNull<u8>, Infallible)> {
        match *self {}
    }

    unsafe fn take(&self, rest: Infallible) {
        match rest {}
    }

    unsafe fn free(_: NonNull<u8>, _: Layout, way: Infallible) {
        match way {}
    }

    fn refill(&self) -> Result<(), Option<AllocError>> {
        match *self {}
    }

    fn prepare(&self, _: usize) -> Result<(), AllocError> {
        match *self {}
    }

    unsafe fn reset(&mut self) {
        match *self {}
    }

    #[cfg(any(test, fuzzing))]
    fn for_each_free(&self, _: impl FnMut(usize)) {
        match *self {}
    }
}

/// Of what debug builds do with the bytes of values that are gone.
#[cfg(all(test, debug_assertions, not(miri), feature = "alloc"))]
mod tests {
    use crate::pool::{Pool, PoolBox, PoolMemory, PoolStorage};
    use crate::raw::poison::is_poisoned;
    use crate::unsize;

    struct Loud([u64; 4]);

    impl Drop for Loud {
        fn drop(&mut self) {
            assert_eq!(self.0, [7; 4], "poisoned before its destructor");
        }
    }

    const BYTES: usize = size_of::<Loud>();

    /// `link` bytes of a free cell are one.
    fn try_each<M: PoolMemory>(pool: &Pool<'_, Loud, M>, link: usize) {
        type End<M> = fn(PoolBox<'_, Loud, M>);
        let ends: [End<M>; 3] = [
            |boxed| drop(boxed),
            |boxed| drop(PoolBox::into_inner(boxed)),
            |boxed| drop(unsize!(boxed => dyn core::any::Any)),
        ];
        for end in ends {
            let pointer = PoolBox::into_raw(pool.alloc(Loud([7; 4])));
            // SAFETY: straight from `into_raw`, and used once. The memory stays, and all bytes of a
            // value that is gone are written.
            unsafe {
                end(pool.box_from_raw(pointer));
                assert!(is_poisoned(pointer.cast::<u8>().add(link), BYTES - link));
            }
        }
        // The cell of a value that was taken is not free.
        let pointer = PoolBox::into_raw(pool.alloc(Loud([7; 4])));
        // SAFETY: straight from `into_raw`, and used once. The memory stays, and its bytes are
        // written.
        unsafe {
            let (_value, vacant) = PoolBox::take(pool.box_from_raw(pointer));
            assert!(!is_poisoned(pointer.cast(), BYTES));
            drop(vacant);
            assert!(is_poisoned(pointer.cast::<u8>().add(link), BYTES - link));
        }
    }

    #[test]
    fn the_cell_of_a_value_that_is_gone_is_poisoned() {
        try_each(&Pool::with_capacity(2), 0);
        let mut storage = PoolStorage::<_, 2>::new();
        try_each(&Pool::in_storage(&mut storage), size_of::<usize>());
    }

    #[cfg(target_has_atomic = "ptr")]
    #[test]
    fn the_cell_that_a_sent_box_returns_is_poisoned() {
        static STORAGE: PoolStorage<Loud, 2> = PoolStorage::new();

        let pool = &*STORAGE.claim().unwrap();
        let pointer = PoolBox::into_raw(pool.alloc(Loud([7; 4])));
        let link = size_of::<usize>();
        // SAFETY: straight from `into_raw`, and used once. The memory stays, and all bytes of a
        // value that is gone are written.
        unsafe {
            drop(PoolBox::into_send(pool.box_from_raw(pointer)));
            assert!(is_poisoned(pointer.cast::<u8>().add(link), BYTES - link));
        }
        assert_eq!(pool.reclaim(), 1);
    }

    #[test]
    fn a_recycled_value_stays() {
        let pool = Pool::builder().capacity(1).recycle().build();
        drop(pool.alloc_or_reuse(|| Loud([7; 4]), |_| {}));
        let again = pool.alloc_or_reuse(|| unreachable!(), |_| {});
        assert_eq!(again.0, [7; 4]);
    }
}
