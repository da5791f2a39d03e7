//! Where the cells are: one block, and the free indices after them; or memory that is lent.
//!
//! A container whose every change goes through `&mut self` lends no reference while it grows, so
//! the block grows as that of a `Vec` does, and a key leads to its cell by one multiplication.
//! In chunks, whose origins stood in a table, an access by key took 1.2 to 1.4 times as long.
//!
//! The free indices are a dense stack. Popping one does not wait for a cold cell, as a link
//! through vacant cells would have it wait.
//!
//! # Invariants
//!
//! * B1: memory for `capacity` cells begins at `cells`, and for as many indices at `bottom`. Both
//!   lie in one block of the plan of that capacity, from `offset` bytes before `cells` on
//!   (`block.rs`), in a range in which as many are open (`in_range.rs`), or in memory that is lent
//!   for as long as this is used. With a capacity of 0 there is neither.
//! * B2: `bottom <= top <= bottom + capacity`. The indices on the stack are `bottom..top`.
//! * B3: lent memory is not resized, which no bounded slab is, and not released.

#[cfg(feature = "alloc")]
mod block;

#[cfg(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
))]
mod in_range;
#[cfg(not(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
)))]
#[cfg(feature = "alloc")]
#[path = "no_range.rs"]
mod in_range;
#[cfg(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
))]
mod range;

mod form;

use core::ops::Range;
use core::ptr::NonNull;

use form::Form;

#[cfg(feature = "alloc")]
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// What the stack has.
pub(super) type Index = u32;

/// The memory of cells, of a type that each method is told, and their free indices.
pub(super) struct Cells {
    cells: NonNull<u8>,
    bottom: NonNull<Index>,
    top: NonNull<Index>,
    #[cfg(feature = "alloc")]
    source: Source,
    form: Form,
}

// SAFETY: it owns its block, or nothing else uses the one that it was lent; either is only written
// by functions that take `&mut self`.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Cells {
    /// No cells, and no block.
    #[cfg(feature = "alloc")]
    pub(super) const fn empty<C>(source: Source) -> Self {
        Cells {
            cells: NonNull::<C>::dangling().cast(),
            bottom: NonNull::dangling(),
            top: NonNull::dangling(),
            source,
            form: Form::NONE,
        }
    }

    /// Memory that is lent.
    ///
    /// # Safety
    ///
    /// Memory for `capacity` cells of one type begins at `cells`, and for as many indices at
    /// `indices`. It stays, and nothing else uses it, as long as this is used.
    pub(super) unsafe fn lent(
        cells: NonNull<u8>,
        indices: NonNull<Index>,
        capacity: usize,
    ) -> Self {
        let mut form = Form::NONE;
        form.set_lent(capacity);
        Cells {
            cells,
            bottom: indices,
            top: indices,
            #[cfg(feature = "alloc")]
            source: Source::GLOBAL,
            form,
        }
    }

    /// Whether this is memory that is [lent](Self::lent).
    #[cfg(feature = "alloc")]
    fn is_lent(&self) -> bool {
        self.form.is_lent()
    }

    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.form.capacity()
    }

    /// The place of a cell.
    ///
    /// # Safety
    ///
    /// The index is at most the capacity; the cells are of type `C`.
    #[inline(always)]
    pub(super) unsafe fn cell<C>(&self, index: usize) -> NonNull<C> {
        // SAFETY: within the block, or at the end of its cells (B1).
        unsafe { self.cells.cast::<C>().add(index) }
    }

    /// Touches the memory of cells that do not exist, below the capacity, and of all indices
    /// that are not on the stack.
    pub(super) fn touch<C>(&mut self, cells: Range<usize>) {
        debug_assert!(cells.end <= self.capacity());
        #[cfg(feature = "alloc")]
        if self.source.populates() {
            return;
        }
        let room = self.capacity() - self.len();
        // SAFETY: memory of the block (B1), in which nothing is initialised.
        unsafe {
            let (size, index) = (size_of::<C>(), size_of::<Index>());
            #[cfg(feature = "alloc")]
            if self.is_in_range() {
                Self::populate(self.cells.add(cells.start * size), cells.len() * size);
                Self::populate(self.top.cast(), room * index);
                return;
            }
            touch(self.cells, cells.start * size, cells.end * size);
            touch(self.top.cast(), 0, room * index);
        }
    }
}

/// The stack of free indices.
impl Cells {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.top.addr().get() - self.bottom.addr().get()) / size_of::<Index>()
    }

    /// What [`pop`](Self::pop) would take.
    #[inline(always)]
    pub(super) fn top(&self) -> Option<usize> {
        // SAFETY: by B2 there is an index below the top.
        (self.top != self.bottom).then(|| unsafe { self.top.sub(1).read() } as usize)
    }

    /// What [`pop`](Self::pop) would take after so many others.
    #[inline(always)]
    pub(super) fn top_but(&self, others: usize) -> Option<usize> {
        // SAFETY: by B2 there are more indices below the top.
        (others < self.len()).then(|| unsafe { self.top.sub(1 + others).read() } as usize)
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        let index = self.top()?;
        // SAFETY: by B2 within the indices.
        self.top = unsafe { self.top.sub(1) };
        Some(index)
    }

    /// # Safety
    ///
    /// Fewer indices than the capacity are on the stack.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, index: usize) {
        // SAFETY: by B2 there is room (precondition).
        unsafe {
            self.top.write(index as Index);
            self.top = self.top.add(1);
        }
    }

    /// The indices on the stack, the last one on top.
    #[cfg(any(test, fuzzing, feature = "serde"))]
    pub(super) fn free(&self) -> &[Index] {
        // SAFETY: by B2 so many are initialised; they are borrowed as long as `self`.
        unsafe { core::slice::from_raw_parts(self.bottom.as_ptr(), self.len()) }
    }

    fn free_mut(&mut self) -> &mut [Index] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.bottom.as_ptr(), self.len()) }
    }

    /// Turns the order round.
    #[cfg(feature = "serde")]
    pub(super) fn reverse(&mut self) {
        self.free_mut().reverse();
    }

    /// Adds indices below all others, the first of them to be popped first.
    ///
    /// # Safety
    ///
    /// With them, not more than the capacity are on the stack.
    pub(super) unsafe fn push_below(
        &mut self,
        indices: impl DoubleEndedIterator<Item = usize> + Clone,
    ) {
        let (count, before) = (indices.clone().count(), self.len());
        if count == 0 {
            return;
        }
        visit(before);
        // SAFETY: by B2 there is room for so many more (precondition).
        unsafe {
            self.bottom.copy_to(self.bottom.add(count), before);
            for (place, index) in indices.rev().enumerate() {
                self.bottom.add(place).write(index as Index);
            }
            self.top = self.top.add(count);
        }
    }

    /// Removes an index, which is looked for from the top; O(indices from there on).
    pub(super) fn remove(&mut self, index: usize) {
        let indices = self.free_mut();
        let found = indices.iter().rposition(|&free| free as usize == index);
        debug_assert!(found.is_some(), "{index} is not on the stack");
        if let Some(at) = found {
            let above = self.len() - at - 1;
            visit(above + 1);
            // SAFETY: `at` is below the length, so by B2 the index there, and as many as stand above
            // it, are within the stack, whose top is one lower then.
            unsafe {
                let place = self.bottom.add(at);
                place.copy_from(place.add(1), above);
                self.top = self.top.sub(1);
            }
        }
    }

    /// Removes the indices for which `keep` is false; O(indices).
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        visit(self.len());
        let indices = self.free_mut();
        let mut kept = 0;
        for at in 0..indices.len() {
            if keep(indices[at] as usize) {
                indices[kept] = indices[at];
                kept += 1;
            }
        }
        // SAFETY: not more than there were.
        self.top = unsafe { self.bottom.add(kept) };
    }

    pub(super) fn clear(&mut self) {
        self.top = self.bottom;
    }

    /// Takes over another stack's indices, in the same order; there are none here.
    #[cfg(feature = "alloc")]
    pub(super) fn copy_stack(&mut self, other: &Self) {
        assert!(self.len() == 0 && other.len() <= self.capacity());
        // SAFETY: there is room.
        unsafe {
            (self.bottom).copy_from_nonoverlapping(other.bottom, other.len());
            self.top = self.bottom.add(other.len());
        }
    }
}

/// Counts indices that were looked at or moved, for tests that say how many an operation takes.
#[inline(always)]
fn visit(_indices: usize) {
    #[cfg(test)]
    VISITS.with(|visits| visits.set(visits.get() + _indices));
}

#[cfg(test)]
std::thread_local!(static VISITS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) });

/// What a call returns, and how many indices it looked at or moved.
#[cfg(test)]
pub(super) fn visits<R>(call: impl FnOnce() -> R) -> (R, usize) {
    let before = VISITS.get();
    let result = call();
    (result, VISITS.get() - before)
}
