//! Cells in a [range]: where there is one, large slabs grow in it if they were
//! built so.

use core::ptr::NonNull;

use super::range::{self, GRAIN, Range, STEP, Sizes, THRESHOLD};
use super::{Cells, Index};
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::report::ReservedRange;

/// Ranges are this many times what is used, and a GiB at least: addresses cost nothing, and the move
/// of 16 MiB to a larger range took 100 µs.
const TIMES: usize = if cfg!(miri) { 4 } else { 256 };
const SMALLEST: usize = if cfg!(miri) { 1024 } else { 1 << 30 };
/// Half of the addresses that a process has.
const MOST: usize = if cfg!(target_pointer_width = "64") {
    1 << 46
} else {
    1 << 30
};

impl Cells {
    const fn sizes<C>() -> Sizes {
        Sizes {
            cell: size_of::<C>(),
            index: size_of::<Index>(),
        }
    }

    pub(super) fn ask_system() {
        range::ask_system();
    }

    pub(in super::super) fn is_in_range(&self) -> bool {
        self.form.range() != 0
    }

    fn as_range(&self) -> Range {
        debug_assert!(self.is_in_range());
        Range {
            cells: self.cells,
            indices: self.bottom.cast(),
            log: self.form.range(),
        }
    }

    /// Notes a range, with `free` indices on the stack.
    ///
    /// # Safety
    ///
    /// It is open for `capacity`, and has so many indices.
    unsafe fn set_range(&mut self, range: Range, capacity: usize, free: usize) {
        self.cells = range.cells;
        self.bottom = range.indices.cast();
        // SAFETY: within the indices (precondition).
        self.top = unsafe { self.bottom.add(free) };
        self.form.set(capacity, 0, range.log);
    }

    /// Bytes of so many cells and indices, if they may be in a range.
    fn bytes_in_range<C>(&self, capacity: usize) -> Option<usize> {
        let may_be = self.form.to_range()
            && self.source.kind().is_none()
            && size_of::<C>() > 0
            && align_of::<C>() <= 4096;
        let slot = size_of::<C>() + size_of::<Index>();
        slot.checked_mul(capacity).filter(|_| may_be)
    }

    /// A range with room for `capacity` cells, twice as many at least: as large as can be had.
    fn reserve_range<C>(capacity: usize) -> Option<Range> {
        let sizes = Self::sizes::<C>();
        let bytes = |slots: usize| {
            let bytes = slots.checked_mul(sizes.cell + sizes.index)?;
            bytes.checked_add(2 * GRAIN)?.checked_next_power_of_two()
        };
        let most = bytes(MAX_SLOTS).unwrap_or(MOST).min(MOST);
        let least = bytes(2 * capacity)?.min(most);
        if capacity > sizes.most_slots(least.ilog2() as u8) {
            return None;
        }
        let wish = bytes(TIMES.saturating_mul(capacity)).unwrap_or(most);
        let wish = wish.max(SMALLEST).clamp(least, most);
        let logs = (least.ilog2()..=wish.ilog2()).rev();
        logs.into_iter()
            .find_map(|log| Range::reserve(log as u8, sizes))
    }

    /// Moves to `capacity` cells in a range, if they are to be in one and it is to be had.
    ///
    /// # Safety
    ///
    /// As for [`try_resize`](Self::try_resize); `capacity` is neither 0 nor what it is, and within
    /// the limits.
    pub(super) unsafe fn try_resize_in_range<C>(
        &mut self,
        used: usize,
        capacity: usize,
    ) -> Option<Result<(), AllocError>> {
        let bytes = self.bytes_in_range::<C>(capacity)?;
        let sizes = Self::sizes::<C>();
        if self.is_in_range() {
            // With room to grow again, before it is a range again.
            if bytes < THRESHOLD / 2 {
                return None;
            }
            if capacity <= sizes.most_slots(self.form.range()) {
                let (mut range, free) = (self.as_range(), self.len());
                // SAFETY: so many are open; what is given back has no cell and no index.
                return Some(unsafe {
                    range
                        .resize(sizes, self.capacity(), capacity)
                        .map(|()| self.set_range(range, capacity, free))
                });
            }
            // SAFETY: the preconditions are the same.
            return unsafe { self.try_move_to_larger_range::<C>(used, capacity) };
        }
        if bytes < THRESHOLD {
            return None;
        }
        let mut range = Self::reserve_range::<C>(capacity)?;
        // SAFETY: nothing is open, and nothing in use; then the copies have room.
        unsafe {
            if let Err(error) = range.resize(sizes, 0, capacity) {
                range.release(sizes, 0);
                return Some(Err(error));
            }
            let (free, copied) = (self.len(), used * size_of::<C>());
            range::populate(range.cells, copied);
            range.cells.copy_from_nonoverlapping(self.cells, copied);
            range
                .indices
                .cast()
                .copy_from_nonoverlapping(self.bottom, free);
            self.free_block::<C>();
            self.set_range(range, capacity, free);
        }
        Some(Ok(()))
    }

    /// # Safety
    ///
    /// As for [`try_resize_in_range`](Self::try_resize_in_range); this one is used up.
    unsafe fn try_move_to_larger_range<C>(
        &mut self,
        used: usize,
        capacity: usize,
    ) -> Option<Result<(), AllocError>> {
        let (sizes, old) = (Self::sizes::<C>(), self.as_range());
        let (opened, free) = (self.capacity(), self.len());
        // SAFETY: so many are open.
        let is_one = unsafe { old.is_one_mapping(sizes, opened) };
        for is_copied in [!is_one, true] {
            let mut range = Self::reserve_range::<C>(capacity)?;
            // SAFETY: nothing is open, and nothing in use; then there is room for what is moved. A
            // range that could not be moved to is left alone.
            unsafe {
                if let Err(error) = range.resize(sizes, 0, capacity) {
                    range.release(sizes, 0);
                    return Some(Err(error));
                }
                range
                    .indices
                    .cast()
                    .copy_from_nonoverlapping(self.bottom, free);
                if is_copied {
                    range::populate(range.cells, used * size_of::<C>());
                    range
                        .cells
                        .copy_from_nonoverlapping(old.cells, used * size_of::<C>());
                    old.release(sizes, opened);
                } else if !old.move_to(&range, sizes, opened) {
                    continue;
                }
                self.set_range(range, capacity, free);
            }
            return Some(Ok(()));
        }
        unreachable!("the second one is copied to")
    }

    /// How many cells growth opens next: so that there are `least`, if the range has as many.
    pub(super) fn next_in_range<C>(&self, least: usize) -> usize {
        let sizes = Self::sizes::<C>();
        let most = sizes.most_slots(self.form.range());
        let step = self.capacity() + (STEP / sizes.cell).max(1);
        let next = step.max(least).min(MAX_SLOTS);
        if least <= most { next.min(most) } else { next }
    }

    /// The range, for people.
    pub(in super::super) fn reserved(&self) -> Option<ReservedRange> {
        self.is_in_range().then(|| ReservedRange {
            bytes: 1 << self.form.range(),
            ranges: range::count(),
            most_ranges: range::MOST_RANGES,
        })
    }

    /// Bytes that are open.
    pub(super) fn range_bytes<C>(&self) -> usize {
        Self::sizes::<C>().opened(self.capacity()).iter().sum()
    }

    /// Releases the range. Its cells are not used any more.
    ///
    /// # Safety
    ///
    /// There is one, and it is neither used any more nor released again.
    pub(super) unsafe fn release_range<C>(&mut self) {
        // SAFETY: so many are open (B1), and not used any more (precondition).
        unsafe { (self.as_range()).release(Self::sizes::<C>(), self.capacity()) };
    }

    /// Populates what [`touch`](Self::touch) touches.
    ///
    /// # Safety
    ///
    /// The bytes are open, and not in use.
    pub(super) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the precondition is the same.
            unsafe { range::populate(start, bytes) };
        }
    }
}
