//! Where the cells are: one block, and the free indices after them.
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
//!   lie in one block of [`Plan`]`(capacity)`, from `offset` bytes before `cells` on, or in a
//!   range in which as many are open (`in_range.rs`). With a capacity of 0 there is neither.
//! * B2: `bottom <= top <= bottom + capacity`. The indices on the stack are `bottom..top`.

#[cfg(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
))]
mod in_range;
#[cfg(not(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
)))]
#[path = "no_range.rs"]
mod in_range;
#[cfg(all(
    feature = "os-memory",
    any(miri, all(target_os = "linux", target_pointer_width = "64"))
))]
mod range;

mod form;

use core::alloc::Layout;
use core::ops::Range;
use core::ptr::NonNull;

use form::Form;

use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::source::Source;
use crate::raw::touch::touch;

type Index = u32;

/// Blocks from here on begin at a cache line, so that cells of 32 or 16 bytes do not cross one.
/// Below, a line is worth less than what the allocator wastes for it: 80 bytes take 129 ns and
/// 96 bytes by malloc, 262 ns and 144 bytes aligned to a line.
const LINES: usize = 4096;

const LINE: usize = 64;

/// Blocks from here on are what allocators map by themselves: they begin 16 bytes after a page
/// does, and grow without a copy if no alignment is asked for. So the cells begin within them.
const MAPPED: usize = 128 << 10;

/// What an allocator aligns any block to.
const USUAL_ALIGN: usize = 16;

/// The memory of cells, of a type that each method is told, and their free indices.
pub(super) struct Cells {
    cells: NonNull<u8>,
    bottom: NonNull<Index>,
    top: NonNull<Index>,
    source: Source,
    form: Form,
}

// SAFETY: it owns its block, which is only written by functions that take `&mut self`.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

/// What a block has.
struct Plan {
    layout: Layout,
    /// Bytes from the first cell to the first index.
    indices: usize,
}

impl Plan {
    /// # Errors
    ///
    /// Past the limits of keys and of `isize`.
    #[inline]
    fn new<C>(capacity: usize) -> Result<Self, AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError::TooManySlots {
                requested: capacity,
                limit: MAX_SLOTS,
            });
        }
        let planned = || {
            let indices = size_of::<C>().checked_mul(capacity)?;
            let indices = indices.checked_next_multiple_of(align_of::<Index>())?;
            let bytes = indices.checked_add(capacity.checked_mul(size_of::<Index>())?)?;
            let align = align_of::<C>().max(align_of::<Index>());
            let (bytes, align) = match bytes {
                ..LINES => (bytes, align),
                MAPPED.. if align <= USUAL_ALIGN => {
                    (bytes.checked_add(LINE - USUAL_ALIGN)?, USUAL_ALIGN)
                }
                _ => (bytes, align.max(LINE)),
            };
            let layout = Layout::from_size_align(bytes, align).ok()?;
            Some(Plan { layout, indices })
        };
        planned().ok_or(AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<C>(),
        })
    }

    /// Of a block that there is.
    fn of<C>(capacity: usize) -> Self {
        match Self::new::<C>(capacity) {
            Ok(plan) => plan,
            Err(_) => unreachable!("the block was allocated"),
        }
    }

    /// Whether the first cell may begin within the block.
    fn has_offset(&self) -> bool {
        self.layout.align() == USUAL_ALIGN && self.layout.size() >= MAPPED
    }

    /// Bytes from the start of a block to its first cell.
    fn offset(&self, start: NonNull<u8>) -> u8 {
        if self.has_offset() {
            (start.addr().get().wrapping_neg() % LINE) as u8
        } else {
            0
        }
    }
}

/// How many cells a block has at first: a single large one, or a few, as in a `Vec`.
const fn first_capacity<C>() -> usize {
    if size_of::<C>() > 1024 { 1 } else { 4 }
}

impl Cells {
    /// No cells, and no block.
    pub(super) const fn empty<C>(source: Source) -> Self {
        Cells {
            cells: NonNull::<C>::dangling().cast(),
            bottom: NonNull::dangling(),
            top: NonNull::dangling(),
            source,
            form: Form::NONE,
        }
    }

    /// A large block of cells is to become a range.
    pub(super) fn set_to_range(&mut self, to_range: bool) {
        if to_range {
            Self::ask_system();
        }
        self.form.set_to_range(to_range);
    }

    /// Notes a block, with an empty stack.
    ///
    /// # Safety
    ///
    /// A block of the plan of `capacity` begins at `start`; the one there was is no more.
    unsafe fn set_block(&mut self, start: NonNull<u8>, offset: u8, plan: &Plan, capacity: usize) {
        // SAFETY: within the block (B1).
        unsafe {
            self.cells = start.add(offset.into());
            self.bottom = self.cells.add(plan.indices).cast();
        }
        self.top = self.bottom;
        self.form.set(capacity, offset, 0);
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Whether a large block is to become a range.
    pub(super) fn to_range(&self) -> bool {
        self.form.to_range()
    }

    /// Bytes of the block, or those of the range that are open.
    pub(super) fn bytes<C>(&self) -> usize {
        match self.capacity() {
            0 => 0,
            _ if self.is_in_range() => self.range_bytes::<C>(),
            capacity => Plan::of::<C>(capacity).layout.size(),
        }
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

    /// The start of the block, if it is one.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: so far before the cells (B1).
        unsafe { self.cells.sub(self.form.offset().into()) }
    }

    /// Grows to `least` cells or more: to twice as many as there are, or a few more in a range, if
    /// there is memory.
    ///
    /// # Errors
    ///
    /// Past the limits, or when the source refuses: nothing has changed.
    ///
    /// # Safety
    ///
    /// The first `used` cells, of type `C`, are initialised: all that are. `least` is not below
    /// the capacity.
    pub(super) unsafe fn try_grow<C>(
        &mut self,
        used: usize,
        least: usize,
    ) -> Result<(), AllocError> {
        if self.capacity() == 0 && least <= first_capacity::<C>() && self.try_first::<C>().is_ok() {
            return Ok(());
        }
        let usual = if self.is_in_range() {
            self.next_in_range::<C>(least)
        } else {
            (2 * self.capacity())
                .max(first_capacity::<C>())
                .min(MAX_SLOTS)
        };
        if usual > least {
            // SAFETY: the preconditions are the same.
            if let Ok(()) = unsafe { self.try_resize::<C>(used, usual) } {
                return Ok(());
            }
        }
        // SAFETY: the preconditions are the same.
        unsafe { self.try_resize::<C>(used, least) }
    }

    /// The first block, whose layout the compiler knows: most small slabs have no other.
    ///
    /// # Errors
    ///
    /// Past the limits, or when the source refuses.
    #[inline]
    fn try_first<C>(&mut self) -> Result<(), AllocError> {
        debug_assert!(self.capacity() == 0);
        let capacity = first_capacity::<C>();
        let plan = Plan::new::<C>(capacity)?;
        let start = self.source.allocate(plan.layout)?;
        // SAFETY: a block of this plan, and there was none.
        unsafe { self.set_block(start, plan.offset(start), &plan, capacity) };
        Ok(())
    }

    /// Moves to a block, or a range, of `capacity` cells.
    ///
    /// # Errors
    ///
    /// Past the limits, or when the source refuses: nothing has changed.
    ///
    /// # Safety
    ///
    /// As for [`try_grow`](Self::try_grow); `used` and the length of the stack are not above
    /// `capacity`.
    pub(super) unsafe fn try_resize<C>(
        &mut self,
        used: usize,
        capacity: usize,
    ) -> Result<(), AllocError> {
        debug_assert!(used <= capacity && self.len() <= capacity);
        if capacity == self.capacity() {
            return Ok(());
        }
        if capacity == 0 {
            self.free_block::<C>();
            return Ok(());
        }
        let plan = Plan::new::<C>(capacity)?;
        // SAFETY: the preconditions are the same.
        if let Some(resized) = unsafe { self.try_resize_in_range::<C>(used, capacity) } {
            return resized;
        }
        // In place, if indices need not be moved within the block.
        if self.capacity() > 0 && self.len() == 0 && !self.is_in_range() {
            let old_plan = Plan::of::<C>(self.capacity());
            let old = old_plan.layout;
            // With an offset on one side alone, the cells could end past the smaller block.
            let is_alike =
                old.align() == plan.layout.align() && old_plan.has_offset() == plan.has_offset();
            if is_alike && self.source.can_reallocate() {
                // SAFETY: the block, of its layout; not of 0 bytes.
                let start =
                    unsafe { (self.source).reallocate(self.start(), old, plan.layout.size())? };
                let offset = plan.offset(start);
                // SAFETY: so many bytes are in the block, before it grew or after it shrank.
                unsafe {
                    if offset != self.form.offset() {
                        let from = start.add(self.form.offset().into());
                        from.copy_to(start.add(offset.into()), used * size_of::<C>());
                    }
                    self.set_block(start, offset, &plan, capacity);
                }
                return Ok(());
            }
        }
        let start = self.source.allocate(plan.layout)?;
        let (from, bottom, free) = (self.cells, self.bottom, self.len());
        if self.capacity() > 0 {
            // SAFETY: both blocks have room for so many cells and indices; the old one is not
            // used any more once it is released.
            unsafe {
                let offset = plan.offset(start);
                let cells = start.add(offset.into());
                cells.copy_from_nonoverlapping(from, used * size_of::<C>());
                let indices = cells.add(plan.indices).cast::<Index>();
                indices.copy_from_nonoverlapping(bottom, free);
                self.free_block::<C>();
                self.set_block(start, offset, &plan, capacity);
                self.top = self.bottom.add(free);
            }
        } else {
            // SAFETY: a block of this plan, and there was none.
            unsafe { self.set_block(start, plan.offset(start), &plan, capacity) };
        }
        Ok(())
    }

    /// Frees the block, or the range. Its cells are not used any more.
    pub(super) fn free_block<C>(&mut self) {
        // SAFETY: released once: there is none from here on.
        unsafe { self.release::<C>() };
        self.cells = NonNull::<C>::dangling().cast();
        self.bottom = NonNull::dangling();
        self.top = self.bottom;
        self.form.set(0, 0, 0);
    }

    /// Frees the block, or the range, and notes nothing.
    ///
    /// # Safety
    ///
    /// It is not used any more, nor released again.
    #[inline]
    pub(super) unsafe fn release<C>(&mut self) {
        let capacity = self.capacity();
        // SAFETY: the block, of its layout, or the range (B1); not used any more (precondition).
        unsafe {
            if self.is_in_range() {
                self.release_range::<C>();
            } else if capacity > 0 {
                let layout = Plan::of::<C>(capacity).layout;
                self.source.release(self.start(), layout);
            }
        }
    }

    /// Touches the memory of cells that do not exist, below the capacity, and of all indices
    /// that are not on the stack.
    pub(super) fn touch<C>(&mut self, cells: Range<usize>) {
        debug_assert!(cells.end <= self.capacity());
        if self.source.populates() {
            return;
        }
        let room = self.capacity() - self.len();
        // SAFETY: memory of the block (B1), in which nothing is initialised.
        unsafe {
            let (size, index) = (size_of::<C>(), size_of::<Index>());
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
        // SAFETY: by B2 there is room for so many more (precondition).
        unsafe {
            self.bottom.copy_to(self.bottom.add(count), before);
            for (place, index) in indices.rev().enumerate() {
                self.bottom.add(place).write(index as Index);
            }
            self.top = self.top.add(count);
        }
    }

    /// Removes the indices for which `keep` is false; O(indices).
    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
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
    pub(super) fn copy_stack(&mut self, other: &Self) {
        assert!(self.len() == 0 && other.len() <= self.capacity());
        // SAFETY: there is room.
        unsafe {
            (self.bottom).copy_from_nonoverlapping(other.bottom, other.len());
            self.top = self.bottom.add(other.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the size: the cells are kept, the stack too, and from a page on the cells begin at
    /// a line.
    #[test]
    fn cells_and_indices_move_with_their_block() {
        fn resized<C: Copy + PartialEq + core::fmt::Debug>(make: fn(usize) -> C, free: usize) {
            let mut cells = Cells::empty::<C>(Source::GLOBAL);
            let sizes = [1, 4, 8, 60, 300, 301, 8_000, 40_000, 40_001, 300_000];
            let sizes = &sizes[..if cfg!(miri) { 7 } else { sizes.len() }];
            let back = sizes.iter().rev();
            for &capacity in sizes.iter().chain(back).chain(&[8_000, 3]) {
                let used = cells.capacity().min(capacity);
                // SAFETY: all cells below the capacity are filled.
                unsafe {
                    cells.retain(|index| index < used);
                    cells.try_resize::<C>(used, capacity).unwrap();
                    for index in 0..used {
                        assert_eq!(cells.cell::<C>(index).read(), make(index));
                    }
                    for index in used..capacity {
                        cells.cell::<C>(index).write(make(index));
                    }
                    while cells.len() < free.min(capacity) {
                        cells.push(cells.len());
                    }
                }
                assert!(cells.free().iter().copied().eq(0..cells.len() as u32));
                let place = cells.cells.addr().get();
                assert_eq!(place % align_of::<C>(), 0);
                assert!(cells.bytes::<C>() < LINES || place % LINE == 0);
            }
            cells.free_block::<C>();
            assert_eq!(
                (cells.capacity(), cells.len(), cells.bytes::<C>()),
                (0, 0, 0)
            );
        }
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(align(128))]
        struct Wide(u64);
        for free in [0, 3] {
            resized(|index| index as u8, free);
            resized(|index| [index as u64; 3], free);
            // Small blocks and large ones have the same alignment.
            resized(|index| index as u128, free);
            resized(|index| Wide(index as u64), free);
        }
    }

    #[test]
    fn what_passes_the_limits_is_refused() {
        fn try_new<C>(capacity: usize) -> Result<(), AllocError> {
            // SAFETY: there is no cell.
            unsafe { Cells::empty::<C>(Source::GLOBAL).try_resize::<C>(0, capacity) }
        }
        let slots = MAX_SLOTS + 1;
        assert!(matches!(
            try_new::<u8>(slots).err(),
            Some(AllocError::TooManySlots { requested, limit: MAX_SLOTS }) if requested == slots
        ));
        assert!(matches!(
            try_new::<[u8; isize::MAX as usize / 4]>(5).err(),
            Some(AllocError::TooManyBytes { slots: 5, .. })
        ));
    }
}
