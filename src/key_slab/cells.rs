//! The memory of a key slab: one block with the cells, followed by the free indices; or lent
//! memory.
//!
//! Every change goes through `&mut self`, so no reference into the container exists while it grows.
//! So the block grows as that of a `Vec` does, and the cell of a key is found by one
//! multiplication. With chunks and a table of their origins, an access by key took 1.2 to 1.4 times
//! as long. A large slab that is built with `grow_in_place` grows in place instead: its cells and
//! indices are in a reserved [range] of addresses, and growth opens more of the range.
//!
//! The free indices are a dense stack. Popping an index does not wait for a cold cell, as following
//! a link through vacant cells would.
//!
//! # Invariants
//!
//! * `cells-block`: memory for `capacity` cells begins at `cells`, and for as many indices at
//!   `bottom`. Both are in one block of the plan of that capacity, which starts `offset` bytes
//!   before `cells`; or in a range that is open for `capacity` cells; or in memory that is lent for
//!   as long as this is used. With a capacity of 0 there is no memory.
//! * `stack-bounds`: `bottom <= top <= bottom + capacity`. The indices on the stack are
//!   `bottom..top`.
//! * `lent-stays`: lent memory is neither resized (no bounded slab is) nor released.

use core::alloc::Layout;
use core::ops;
use core::ptr::NonNull;

#[cfg(feature = "alloc")]
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
#[cfg(feature = "alloc")]
use crate::raw::chunk::LINES;
#[cfg(feature = "alloc")]
use crate::raw::memory::dangling;
#[cfg(feature = "alloc")]
use crate::raw::pages::range::{self, GRAIN, Range, STEP, Sizes, THRESHOLD};
#[cfg(feature = "alloc")]
use crate::raw::source::Source;
#[cfg(feature = "alloc")]
use crate::raw::touch::LINE;
use crate::raw::touch::touch;

/// The index of a slot, as it is stored on the stack.
pub(super) type Index = u32;

/// The memory of cells and their free indices.
///
/// A method that opens a cell takes the type of the cells as a parameter. All others take its
/// layout: what is cold is compiled once in a program, and not once for each type of values.
pub(super) struct Cells {
    cells: NonNull<u8>,
    bottom: NonNull<Index>,
    top: NonNull<Index>,
    #[cfg(feature = "alloc")]
    source: Source,
    form: Form,
}

// SAFETY: it owns its block, or nothing else uses the lent memory; either is only written to by
// functions that take `&mut self`.
unsafe impl Send for Cells {}
// SAFETY: a shared reference only reads fields, indices and cells: what writes takes `&mut self`.
unsafe impl Sync for Cells {}

impl Cells {
    /// No cells, and no block.
    #[cfg(feature = "alloc")]
    pub(super) const fn empty(source: Source, cell: Layout) -> Self {
        Cells {
            cells: dangling(cell),
            bottom: NonNull::dangling(),
            top: NonNull::dangling(),
            source,
            form: Form::NONE,
        }
    }

    /// Creates this over lent memory.
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

    /// Returns `true` if the memory is [lent](Self::lent).
    #[cfg(feature = "alloc")]
    fn is_lent(&self) -> bool {
        self.form.is_lent()
    }

    #[inline(always)]
    pub(super) fn capacity(&self) -> usize {
        self.form.capacity()
    }

    fn lent_bytes(&self, cell: Layout) -> usize {
        self.capacity() * (cell.size() + size_of::<Index>())
    }

    /// Returns the bytes of lent memory, which is all that there is without an allocator.
    #[cfg(not(feature = "alloc"))]
    pub(super) fn bytes(&self, cell: Layout) -> usize {
        self.lent_bytes(cell)
    }

    /// Returns the place of a cell.
    ///
    /// # Safety
    ///
    /// The index is at most the capacity; the cells are of type `C`.
    #[inline(always)]
    pub(super) unsafe fn cell<C>(&self, index: usize) -> NonNull<C> {
        // SAFETY: within the block, or at the end of its cells (`cells-block`).
        unsafe { self.cells.cast::<C>().add(index) }
    }

    /// Returns `true` if all memory was touched, when it was allocated or since.
    #[cfg(feature = "alloc")]
    pub(super) fn is_touched(&self) -> bool {
        self.form.is_touched()
    }

    /// Notes that all memory is touched, and stays so: it is neither resized nor given back.
    pub(super) fn set_touched(&mut self) {
        self.form.set_touched();
    }

    /// Touches the memory of these cells, which do not exist yet and are below the capacity, and of
    /// the whole stack above its top.
    pub(super) fn touch(&mut self, cell: Layout, cells: ops::Range<usize>) {
        debug_assert!(cells.end <= self.capacity());
        #[cfg(feature = "alloc")]
        if self.source.populates() {
            return;
        }
        let room = self.capacity() - self.len();
        // SAFETY: memory of the block (`cells-block`), in which nothing is initialised.
        unsafe {
            let (size, index) = (cell.size(), size_of::<Index>());
            #[cfg(feature = "alloc")]
            if self.is_in_range() {
                range::populate(self.cells.add(cells.start * size), cells.len() * size);
                range::populate(self.top.cast(), room * index);
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

    /// Returns the index that [`pop`](Self::pop) would take.
    #[inline(always)]
    pub(super) fn top(&self) -> Option<usize> {
        // SAFETY: by `stack-bounds` there is an index below the top.
        (self.top != self.bottom).then(|| unsafe { self.top.sub(1).read() } as usize)
    }

    /// Returns the index that [`pop`](Self::pop) would take after `others` other indices.
    #[inline(always)]
    pub(super) fn top_but(&self, others: usize) -> Option<usize> {
        let below = self.free().iter().rev().nth(others)?;
        Some(*below as usize)
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        let index = self.top()?;
        // SAFETY: by `stack-bounds` within the indices.
        self.top = unsafe { self.top.sub(1) };
        Some(index)
    }

    /// # Safety
    ///
    /// Fewer indices than the capacity are on the stack.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, index: usize) {
        // SAFETY: by `stack-bounds` there is room (precondition).
        unsafe {
            self.top.write(index as Index);
            self.top = self.top.add(1);
        }
    }

    /// The indices on the stack, the last one on top.
    #[inline]
    pub(super) fn free(&self) -> &[Index] {
        // SAFETY: by `stack-bounds` so many are initialised; they are borrowed as long as `self`.
        unsafe { core::slice::from_raw_parts(self.bottom.as_ptr(), self.len()) }
    }

    fn free_mut(&mut self) -> &mut [Index] {
        // SAFETY: by `stack-bounds` so many are initialised; `&mut self` borrows them exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.bottom.as_ptr(), self.len()) }
    }

    /// Reverses the order of the indices.
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
        // SAFETY: by `stack-bounds` there is room for so many more (precondition).
        unsafe {
            self.bottom.copy_to(self.bottom.add(count), before);
            for (place, index) in indices.rev().enumerate() {
                self.bottom.add(place).write(index as Index);
            }
            self.top = self.top.add(count);
        }
    }

    /// Removes an index, searching from the top. O(indices above it).
    pub(super) fn remove(&mut self, index: usize) {
        let indices = self.free_mut();
        let found = indices.iter().rposition(|&free| free as usize == index);
        debug_assert!(found.is_some(), "{index} is not on the stack");
        if let Some(at) = found {
            let above = self.len() - at - 1;
            visit(above + 1);
            // SAFETY: `at` is below the length, so by `stack-bounds` the index there, and as many
            // as stand above it, are within the stack, whose top is one lower then.
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
        self.truncate(kept);
    }

    pub(super) fn clear(&mut self) {
        self.top = self.bottom;
    }

    /// Keeps the first `len` indices, which are not more than there are.
    pub(super) fn truncate(&mut self, len: usize) {
        assert!(len <= self.len());
        // SAFETY: not above the top (`stack-bounds`).
        self.top = unsafe { self.bottom.add(len) };
    }

    /// Copies the indices of another stack, in the same order, to this empty stack.
    #[cfg(feature = "alloc")]
    pub(super) fn copy_stack(&mut self, other: &Self) {
        assert!(self.len() == 0 && other.len() <= self.capacity());
        // SAFETY: by the assertion there is room (`stack-bounds`); each slab has a stack of its
        // own.
        unsafe {
            (self.bottom).copy_from_nonoverlapping(other.bottom, other.len());
            self.top = self.bottom.add(other.len());
        }
    }
}

/// Memory that the slab owns: how it is allocated, how it grows, and how it is freed.
#[cfg(feature = "alloc")]
impl Cells {
    /// Sets whether a large block of cells becomes a range when it grows.
    pub(super) fn set_to_range(&mut self, to_range: bool) {
        if to_range {
            range::ask_system();
        }
        self.form.set_to_range(to_range);
    }

    /// Notes a block, with an empty stack.
    ///
    /// # Safety
    ///
    /// A block of the plan of `capacity` begins at `start`; the previous block was freed or there
    /// was no block.
    unsafe fn set_block(&mut self, start: NonNull<u8>, offset: u8, plan: &Plan, capacity: usize) {
        // SAFETY: within the block (`cells-block`).
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

    /// Returns how often the memory grew, as far as was [noted](Self::note_growth).
    pub(super) fn growths(&self) -> u16 {
        self.form.growths()
    }

    /// Notes that the memory grew. The number stops at the largest one.
    pub(super) fn note_growth(&mut self) {
        self.set_growths(self.growths().saturating_add(1));
    }

    pub(super) fn set_growths(&mut self, growths: u16) {
        self.form.set_growths(growths);
    }

    /// Returns `true` if a large block becomes a range when it grows.
    pub(super) fn to_range(&self) -> bool {
        self.form.to_range()
    }

    /// Returns the bytes of the block, or the open bytes of the range.
    pub(super) fn bytes(&self, cell: Layout) -> usize {
        match self.capacity() {
            0 => 0,
            _ if self.is_in_range() => self.range_bytes(cell),
            _ if self.is_lent() => self.lent_bytes(cell),
            capacity => Plan::of(cell, capacity).layout.size(),
        }
    }

    /// Returns the start of the block, if the memory is a block.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: so far before the cells (`cells-block`).
        unsafe { self.cells.sub(self.form.offset().into()) }
    }

    /// Grows to `least` cells or more: to twice the capacity, or in a range by a few cells more, if
    /// there is memory. Otherwise by at least an eighth: if a block grew by one cell, each of many
    /// insertions would copy everything.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, or the source refuses: nothing has changed.
    ///
    /// # Safety
    ///
    /// The first `used` cells, of layout `cell`, are initialised, and no others. `least` is above
    /// the capacity.
    #[inline]
    pub(super) unsafe fn try_grow(
        &mut self,
        cell: Layout,
        used: usize,
        least: usize,
    ) -> Result<(), AllocError> {
        if self.capacity() == 0 && least <= first_capacity(cell) && self.try_first(cell).is_ok() {
            return Ok(());
        }
        // SAFETY: `used` cells are initialised, and `least` is above the capacity (preconditions).
        unsafe { self.try_grow_more(cell, used, least) }
    }

    /// Grows as [`try_grow`](Self::try_grow) does, from a block that there may be.
    ///
    /// # Safety
    ///
    /// As for [`try_grow`](Self::try_grow).
    #[cold]
    #[inline(never)]
    unsafe fn try_grow_more(
        &mut self,
        cell: Layout,
        used: usize,
        least: usize,
    ) -> Result<(), AllocError> {
        let capacity = self.capacity();
        let (usual, enough) = if self.is_in_range() {
            (self.next_in_range(cell, least), least)
        } else {
            let double = (2 * capacity).max(first_capacity(cell));
            let eighth = capacity + capacity / 8;
            (double.min(MAX_SLOTS), eighth.min(MAX_SLOTS).max(least))
        };
        if usual > enough {
            // SAFETY: `used` cells are initialised (precondition). `usual` is above the capacity,
            // and so above what is used and on the stack (`stack-bounds`).
            if let Ok(()) = unsafe { self.try_resize(cell, used, usual) } {
                return Ok(());
            }
        }
        // SAFETY: as for `usual`: `enough` is at least `least`, which is above the capacity.
        unsafe { self.try_resize(cell, used, enough) }
    }

    /// Allocates the first block, whose layout the compiler knows: most small slabs have no other.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, or the source refuses.
    #[inline(always)]
    fn try_first(&mut self, cell: Layout) -> Result<(), AllocError> {
        debug_assert!(self.capacity() == 0);
        let capacity = first_capacity(cell);
        let plan = Plan::new(cell, capacity)?;
        let start = self.source.allocate(plan.layout)?;
        // SAFETY: a block of this plan, and there was none.
        unsafe { self.set_block(start, plan.offset(start), &plan, capacity) };
        Ok(())
    }

    /// Moves to a block, or a range, of `capacity` cells.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, or the source refuses: nothing has changed.
    ///
    /// # Safety
    ///
    /// As for [`try_grow`](Self::try_grow); `used` and the length of the stack are not above
    /// `capacity`.
    pub(super) unsafe fn try_resize(
        &mut self,
        cell: Layout,
        used: usize,
        capacity: usize,
    ) -> Result<(), AllocError> {
        debug_assert!(used <= capacity && self.len() <= capacity);
        debug_assert!(!self.is_lent(), "lent-stays");
        if capacity == self.capacity() {
            return Ok(());
        }
        if capacity == 0 {
            self.free_block(cell);
            return Ok(());
        }
        let plan = Plan::new(cell, capacity)?;
        // SAFETY: `used` and the stack are not above `capacity` (precondition), which is neither 0
        // nor the present one, and for which there is a `plan`.
        if let Some(resized) = unsafe { self.try_resize_in_range(cell, used, capacity) } {
            return resized;
        }
        // In place, if no indices have to be moved within the block.
        if self.capacity() > 0 && self.len() == 0 && !self.is_in_range() {
            let old_plan = Plan::of(cell, self.capacity());
            let old = old_plan.layout;
            // If only one of the blocks has an offset, the cells could end past the smaller block.
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
                        from.copy_to(start.add(offset.into()), used * cell.size());
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
                cells.copy_from_nonoverlapping(from, used * cell.size());
                let indices = cells.add(plan.indices).cast::<Index>();
                indices.copy_from_nonoverlapping(bottom, free);
                self.free_block(cell);
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
    fn free_block(&mut self, cell: Layout) {
        // SAFETY: released once: there is none from here on.
        unsafe { self.release(cell) };
        self.cells = dangling(cell);
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
    pub(super) unsafe fn release(&mut self, cell: Layout) {
        let capacity = self.capacity();
        // SAFETY: the block, of its layout, or the range (`cells-block`); not used any more
        // (precondition). What is lent is its owner's (`lent-stays`).
        unsafe {
            if self.is_in_range() {
                self.release_range(cell);
            } else if capacity > 0 && !self.is_lent() {
                let layout = Plan::of(cell, capacity).layout;
                self.source.release(self.start(), layout);
            }
        }
    }
}

/// Ranges have this many times the bytes in use, and at least a GiB: addresses cost nothing, and
/// moving 16 MiB to a larger range took 100 µs.
#[cfg(feature = "alloc")]
const TIMES: usize = if cfg!(miri) { 4 } else { 256 };
#[cfg(feature = "alloc")]
const SMALLEST: usize = if cfg!(miri) { 1024 } else { 1 << 30 };
/// Half of the addresses that a process has.
#[cfg(feature = "alloc")]
const MOST: usize = if cfg!(target_pointer_width = "64") {
    1 << 46
} else {
    1 << 30
};

/// Memory in a range, in which large slabs grow if they were built with `grow_in_place`.
#[cfg(feature = "alloc")]
impl Cells {
    const fn sizes(cell: Layout) -> Sizes {
        Sizes {
            cell: cell.size(),
            index: size_of::<Index>(),
        }
    }

    pub(super) fn is_in_range(&self) -> bool {
        range::SUPPORTED && self.form.range() != 0
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
        // SAFETY: the range has `free` indices (precondition), so this is at most their end.
        self.top = unsafe { self.bottom.add(free) };
        self.form.set(capacity, 0, range.log);
    }

    /// Returns the bytes of `capacity` cells and indices, if they may be in a range.
    fn bytes_in_range(&self, cell: Layout, capacity: usize) -> Option<usize> {
        let may_be = self.form.to_range()
            && self.source.kind().is_none()
            && cell.size() > 0
            && cell.align() <= 4096;
        let slot = cell.size() + size_of::<Index>();
        slot.checked_mul(capacity).filter(|_| may_be)
    }

    /// Reserves a range for at least twice `capacity` cells, as large as the system allows up to
    /// the usual size.
    fn reserve_range(cell: Layout, capacity: usize) -> Option<Range> {
        let sizes = Self::sizes(cell);
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

    /// Moves to `capacity` cells in a range. Returns `None` if they do not belong in a range, or no
    /// range is available.
    ///
    /// # Safety
    ///
    /// As for [`try_resize`](Self::try_resize); `capacity` is neither 0 nor what it is, and within
    /// the limits.
    unsafe fn try_resize_in_range(
        &mut self,
        cell: Layout,
        used: usize,
        capacity: usize,
    ) -> Option<Result<(), AllocError>> {
        let bytes = self.bytes_in_range(cell, capacity)?;
        let sizes = Self::sizes(cell);
        if self.is_in_range() {
            // Half of the threshold, so that the block can grow before it becomes a range again.
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
            // SAFETY: the preconditions of this function; the memory is a range (`is_in_range`).
            return unsafe { self.try_move_to_larger_range(cell, used, capacity) };
        }
        if bytes < THRESHOLD {
            return None;
        }
        let mut range = Self::reserve_range(cell, capacity)?;
        // SAFETY: nothing is open, and nothing in use; then the copies have room.
        unsafe {
            if let Err(error) = range.resize(sizes, 0, capacity) {
                range.release(sizes, 0);
                return Some(Err(error));
            }
            let (free, copied) = (self.len(), used * cell.size());
            range::populate(range.cells, copied);
            range.cells.copy_from_nonoverlapping(self.cells, copied);
            range
                .indices
                .cast()
                .copy_from_nonoverlapping(self.bottom, free);
            self.free_block(cell);
            self.set_range(range, capacity, free);
        }
        Some(Ok(()))
    }

    /// # Safety
    ///
    /// As for [`try_resize_in_range`](Self::try_resize_in_range); this one is used up.
    unsafe fn try_move_to_larger_range(
        &mut self,
        cell: Layout,
        used: usize,
        capacity: usize,
    ) -> Option<Result<(), AllocError>> {
        let (sizes, old) = (Self::sizes(cell), self.as_range());
        let (opened, free) = (self.capacity(), self.len());
        // SAFETY: by `cells-block` the range is open for `opened` cells.
        let is_one = unsafe { old.is_one_mapping(sizes, opened) };
        for is_copied in [!is_one, true] {
            let mut range = Self::reserve_range(cell, capacity)?;
            // SAFETY: nothing is open, and nothing in use; then there is room for what is moved. A
            // range that could not be moved to is left alone: it is no longer ours (`range-owner`).
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
                    range::populate(range.cells, used * cell.size());
                    range
                        .cells
                        .copy_from_nonoverlapping(old.cells, used * cell.size());
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

    /// Returns the capacity after the next growth: at least `least`, if the range has room for
    /// them.
    fn next_in_range(&self, cell: Layout, least: usize) -> usize {
        let sizes = Self::sizes(cell);
        let most = sizes.most_slots(self.form.range());
        let step = self.capacity() + (STEP / sizes.cell).max(1);
        let next = step.max(least).min(MAX_SLOTS);
        if least <= most { next.min(most) } else { next }
    }

    /// Returns the bytes of the range, open or not.
    pub(super) fn reserved(&self) -> Option<usize> {
        self.is_in_range().then(|| 1 << self.form.range())
    }

    /// Returns the bytes that are open.
    fn range_bytes(&self, cell: Layout) -> usize {
        Self::sizes(cell).opened(self.capacity()).iter().sum()
    }

    /// Releases the range. Its cells are not used any more.
    ///
    /// # Safety
    ///
    /// There is one, and it is neither used any more nor released again.
    unsafe fn release_range(&mut self, cell: Layout) {
        // SAFETY: so many are open (`cells-block`), and not used any more (precondition).
        unsafe { (self.as_range()).release(Self::sizes(cell), self.capacity()) };
    }
}

/// From this size on, allocators map a block by itself: it begins 16 bytes after the start of a
/// page, and grows without a copy if no larger alignment is requested. So the cells begin within
/// the block, at a cache line.
#[cfg(feature = "alloc")]
const MAPPED: usize = 128 << 10;

/// The alignment that an allocator gives to every block.
#[cfg(feature = "alloc")]
const USUAL_ALIGN: usize = 16;

/// The layout of a block, and where the indices are in it.
#[cfg(feature = "alloc")]
struct Plan {
    layout: Layout,
    /// Bytes from the first cell to the first index.
    indices: usize,
}

#[cfg(feature = "alloc")]
impl Plan {
    /// # Errors
    ///
    /// Past the limits of keys and of `isize`.
    #[inline]
    fn new(cell: Layout, capacity: usize) -> Result<Self, AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError::TooManySlots {
                requested: capacity,
                limit: MAX_SLOTS,
            });
        }
        let planned = || {
            let indices = cell.size().checked_mul(capacity)?;
            let indices = indices.checked_next_multiple_of(align_of::<Index>())?;
            let bytes = indices.checked_add(capacity.checked_mul(size_of::<Index>())?)?;
            let align = cell.align().max(align_of::<Index>());
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
            slot_bytes: cell.size(),
        })
    }

    /// Returns the plan of a block that exists.
    #[inline]
    fn of(cell: Layout, capacity: usize) -> Self {
        match Self::new(cell, capacity) {
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

/// The number of cells of the first block: one if cells are large, otherwise four, as in a `Vec`.
#[cfg(feature = "alloc")]
const fn first_capacity(cell: Layout) -> usize {
    if cell.size() > 1024 { 1 } else { 4 }
}

/// The form of the memory, and how often it grew, in one word: a slab that is moved as soon as it
/// has a block would wait for the stores of several small fields.
#[derive(Clone, Copy)]
struct Form(u64);

/// The bytes before the first cell, which are less than a line, have 7 bits.
#[cfg(feature = "alloc")]
const _: () = assert!(LINE <= 0x80);

#[cfg_attr(
    not(feature = "alloc"),
    allow(dead_code, reason = "all memory is lent")
)]
impl Form {
    /// No memory.
    const NONE: Form = Form(0);

    /// Sets the form of `capacity` cells that begin `offset` bytes within their block, or of cells
    /// in a range of 2^`range` bytes. `range` is 0 for a block.
    #[inline(always)]
    fn set(&mut self, capacity: usize, offset: u8, range: u8) {
        debug_assert!(capacity <= MAX_SLOTS);
        debug_assert!(offset < 0x80 && u64::from(range) << 40 < Self::LENT);
        let new = capacity as u64 | u64::from(offset) << 32 | u64::from(range) << 40;
        self.0 = self.0 & (Self::TO_RANGE | u64::MAX << Self::GROWTHS) | new;
    }

    /// Sets the form of `capacity` cells in lent memory.
    fn set_lent(&mut self, capacity: usize) {
        debug_assert!(capacity <= MAX_SLOTS);
        self.0 = capacity as u64 | Self::LENT;
    }

    fn is_lent(self) -> bool {
        self.0 & Self::LENT != 0
    }

    /// Set if the memory is not the slab's own.
    const LENT: u64 = 1 << 46;

    /// Set if a large block becomes a range when it grows.
    const TO_RANGE: u64 = 1 << 47;

    /// Set if all memory was touched.
    const TOUCHED: u64 = 1 << 39;

    /// The bit at which the number of growths begins.
    const GROWTHS: u32 = 48;

    #[inline(always)]
    fn capacity(self) -> usize {
        self.0 as u32 as usize
    }

    fn offset(self) -> u8 {
        (self.0 >> 32) as u8 & 0x7F
    }

    fn is_touched(self) -> bool {
        self.0 & Self::TOUCHED != 0
    }

    fn set_touched(&mut self) {
        self.0 |= Self::TOUCHED;
    }

    fn range(self) -> u8 {
        (self.0 >> 40) as u8 & 0x3F
    }

    fn growths(self) -> u16 {
        (self.0 >> Self::GROWTHS) as u16
    }

    fn set_growths(&mut self, growths: u16) {
        let others = self.0 & !(u64::MAX << Self::GROWTHS);
        self.0 = others | u64::from(growths) << Self::GROWTHS;
    }

    fn to_range(self) -> bool {
        self.0 & Self::TO_RANGE != 0
    }

    fn set_to_range(&mut self, to_range: bool) {
        self.0 &= !Self::TO_RANGE;
        if to_range {
            self.0 |= Self::TO_RANGE;
        }
    }
}

/// Counts indices that were looked at or moved, for tests that say how many an operation takes.
#[inline(always)]
fn visit(_indices: usize) {
    #[cfg(all(test, feature = "alloc"))]
    VISITS.with(|visits| visits.set(visits.get() + _indices));
}

#[cfg(all(test, feature = "alloc"))]
std::thread_local!(static VISITS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) });

/// Returns the result of a call, and how many indices it looked at or moved.
#[cfg(all(test, feature = "alloc"))]
pub(super) fn visits<R>(call: impl FnOnce() -> R) -> (R, usize) {
    let before = VISITS.get();
    let result = call();
    (result, VISITS.get() - before)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    /// Whatever the size: the cells are kept, the stack too, and from a page on the cells begin at
    /// a line.
    #[test]
    fn cells_and_indices_move_with_their_block() {
        fn resized<C: Copy + PartialEq + core::fmt::Debug>(make: fn(usize) -> C, free: usize) {
            let cell = Layout::new::<C>();
            let mut cells = Cells::empty(Source::GLOBAL, cell);
            // Under Miri: a page of cells that have 16 bytes or more, and one cell past it.
            let page = match 4096 / size_of::<C>() {
                page @ ..=256 => page,
                _ => 8,
            };
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
                    cells.try_resize(cell, used, capacity).unwrap();
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
                assert!(cells.bytes(cell) < LINES || place % LINE == 0);
            }
            cells.free_block(cell);
            assert_eq!(
                (cells.capacity(), cells.len(), cells.bytes(cell)),
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
            let cell = Layout::new::<C>();
            // SAFETY: the memory is empty: no cell is initialised, and no index is on the stack.
            unsafe { Cells::empty(Source::GLOBAL, cell).try_resize(cell, 0, capacity) }
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
