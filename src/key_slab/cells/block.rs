//! Blocks of the slab's own: how they are laid out, and how they grow.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::{Cells, Index};
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::chunk::LINES;
use crate::raw::prefetch::LINE;
use crate::raw::source::Source;

/// Blocks from here on are what allocators map by themselves: they begin 16 bytes after a page
/// does, and grow without a copy if no alignment is asked for. So the cells begin within them.
const MAPPED: usize = 128 << 10;

/// What an allocator aligns any block to.
const USUAL_ALIGN: usize = 16;

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
    /// A large block of cells is to become a range.
    pub(in super::super) fn set_to_range(&mut self, to_range: bool) {
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

    pub(in super::super) fn source(&self) -> &Source {
        &self.source
    }

    /// Whether a large block is to become a range.
    pub(in super::super) fn to_range(&self) -> bool {
        self.form.to_range()
    }

    /// Bytes of the block, or those of the range that are open.
    pub(in super::super) fn bytes<C>(&self) -> usize {
        match self.capacity() {
            0 => 0,
            _ if self.is_in_range() => self.range_bytes::<C>(),
            capacity if self.is_lent() => capacity * (size_of::<C>() + size_of::<Index>()),
            capacity => Plan::of::<C>(capacity).layout.size(),
        }
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
    pub(in super::super) unsafe fn try_grow<C>(
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
    pub(in super::super) unsafe fn try_resize<C>(
        &mut self,
        used: usize,
        capacity: usize,
    ) -> Result<(), AllocError> {
        debug_assert!(used <= capacity && self.len() <= capacity);
        debug_assert!(!self.is_lent(), "B3");
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
    pub(in super::super) unsafe fn release<C>(&mut self) {
        let capacity = self.capacity();
        // SAFETY: the block, of its layout, or the range (B1); not used any more (precondition).
        // What is lent is its owner's (B3).
        unsafe {
            if self.is_in_range() {
                self.release_range::<C>();
            } else if capacity > 0 && !self.is_lent() {
                let layout = Plan::of::<C>(capacity).layout;
                self.source.release(self.start(), layout);
            }
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
            // Under Miri: a page of cells that have 16 bytes or more, and one cell past it.
            let page = (4096 / size_of::<C>()).min(256);
            let sizes: &[usize] = if cfg!(miri) {
                &[1, 4, page, page + 1]
            } else {
                &[1, 4, 8, 60, 300, 301, 8_000, 40_000, 40_001, 300_000]
            };
            let back = sizes.iter().rev();
            let again = [if cfg!(miri) { 60 } else { 8_000 }, 3];
            for &capacity in sizes.iter().chain(back).chain(&again) {
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
