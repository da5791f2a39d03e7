//! The memory of a growable slab: a header, a table of chunks, and one free stack for all chunks.
//!
//! The usual way, a free stack for each chunk and a list of chunks with free cells, was several
//! times slower under random churn: chunks change between full and not full at every operation. One
//! stack also gives strict LIFO order and a count in O(1).
//!
//! Growth never copies a value. It happens when the stack is empty, so a larger stack needs no
//! copying either. The cells of the new chunk are *fresh*: free, but not on the stack. Each is
//! stamped by the insertion that takes it, so that the system provides the chunk's memory page by
//! page. An insertion pays an allocation, or one page fault. Whenever their size doubles, the stack
//! and the table are allocated too, within the insertion unless a helper has them ready, and the
//! entries of the table are copied.
//!
//! Tried and measured:
//!
//! - Stamping and pushing 16 cells at a time made one insertion in 16 slower by 90 ticks, and the
//!   others faster by 10. A number of cells that is rare enough for the p99, 128, takes 200 ticks.
//! - Touching and stamping a whole chunk at once took as long as all its faults together, and
//!   showed in the slowest of ten thousand insertions (BENCHMARKS.md, "Growth").
//! - Touching half or a third of a chunk at once, and stamping nothing, leaves the slowest of a
//!   thousand insertions without a fault. This is the default.
//!
//! # Invariants
//!
//! * `table-slots`: `slots` of the header is the number of slots of the chunks in the table.
//! * `fresh-keys`: the fresh cells are those with the keys from `next_fresh` on, all in one chunk
//!   of the table. All of them are stamped, or none; in a chunk that is being filled, those below
//!   its `filled_to` are stamped (`table-entries`).
//! * `stack-fits-all`: the stack has room for every cell of every chunk.
//! * `ready-fresh`: the fresh cells with keys below `ready_to` may be used: their memory is touched
//!   as far as `touch_ahead` requires, and their keys find them once they are stamped. If no cell
//!   is ready, `ready_to` equals `next_fresh`.

use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;

use super::table::{ChunkShape, ChunkTable, Chunks};
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;
use crate::slab::growth::table::LooseChunks;
#[cfg(any(doc, test))]
use crate::slab::header;
use crate::slab::header::SlabHeader;
use crate::slab::shape::Shape;

/// The header is first, so that a pointer to it is also a pointer to the whole.
#[repr(C)]
pub(crate) struct GrowableHeader {
    pub(super) header: SlabHeader,
    next_fresh: Cell<usize>,
    /// Fresh cells from this key on are not ready yet (`ready-fresh`).
    ready_to: Cell<usize>,
    /// The number of fresh cells that are touched at once; 0 for none.
    touch_ahead: usize,
    chunks_added: Cell<u64>,
    table: RefCell<ChunkTable>,
}

/// One of the two arrays of pointers that grow with the number of chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Array {
    /// The free stack: written from its start on, as cells are freed.
    Stack,
    /// The table of chunks: copied when it grows.
    Table,
}

/// The blocks of a growth. Before it is committed: the new blocks. After: the blocks that they
/// replaced, and new blocks that were not used.
///
/// Dropping this calls the allocator, so the slab must be consistent before.
#[must_use = "dropping it frees what the slab may still refer to"]
pub(crate) struct Supplies {
    /// A chunk that was built ahead.
    spare: Option<Block>,
    chunks: LooseChunks,
    /// Whether one of `chunks` had to be built.
    pub(crate) built: bool,
    /// After a refusal: whether it was of what a single chunk needs, and not of an array for several.
    pub(crate) is_for_one: bool,
    stack: FreeStack,
    origins: Option<Block>,
}

/// Builds a header with no chunk, for chunks of `1 << shift` cells.
///
/// # Errors
///
/// When such a chunk passes the limits, or the source refuses.
pub(crate) fn try_new(
    cells: ChunkShape,
    shift: u32,
    touch_ahead: usize,
    source: &Source,
) -> Result<NonNull<GrowableHeader>, AllocError> {
    let table = ChunkTable::try_new(cells, shift, source)?;
    let packing = cells.packing;
    let body = GrowableHeader {
        header: SlabHeader::new(FreeStack::empty(source.clone()), 0, packing, release),
        next_fresh: Cell::new(0),
        ready_to: Cell::new(0),
        touch_ahead,
        chunks_added: Cell::new(0),
        table: RefCell::new(table),
    };
    let header = Block::leak(body, source).map_err(|(error, _)| error)?;
    Ok(NonNull::from(header))
}

/// # Safety
///
/// As for [`header::Release`]; `header` came from [`try_new`].
unsafe fn release(header: NonNull<SlabHeader>) {
    let header = header.cast::<GrowableHeader>();
    // SAFETY: `try_new` leaked this block, and by `last-holder` this is the last use.
    unsafe {
        let source = header.as_ref().header.stack.source().clone();
        drop(Block::reclaim(header, &source));
    }
}

impl GrowableHeader {
    /// Returns where the chunks are; valid until the table changes.
    pub(crate) fn chunks(&self) -> Chunks {
        self.table.borrow().chunks()
    }

    /// Returns how many chunks were added since the slab was created.
    pub(crate) fn chunks_added(&self) -> u64 {
        self.chunks_added.get()
    }

    /// Returns the end of the row of cells that contains this key: the end of the chunk, or of the
    /// filled part of the chunk (`table-entries`).
    #[inline]
    pub(crate) fn row_end(&self, key: usize) -> usize {
        let table = self.table.borrow();
        let end = ((key >> table.shift()) + 1) << table.shift();
        if key < table.filled_to() {
            end.min(table.filled_to())
        } else {
            end
        }
    }

    #[cfg(test)]
    pub(crate) fn ready_to(&self) -> usize {
        self.ready_to.get()
    }

    /// Returns the number of fresh cells below the bound that belong to no key yet.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn unfilled(&self) -> usize {
        let table = self.table.borrow();
        match table.filled_to() {
            usize::MAX => 0,
            key => (((key >> table.shift()) + 1) << table.shift()) - key,
        }
    }

    /// Makes the chunks smaller if there is none, and they can be smaller. Returns the binary
    /// logarithm of their slots.
    pub(crate) fn smaller_chunks(&self) -> Option<u32> {
        self.table.borrow_mut().make_chunks_smaller()
    }

    /// Returns the number of chunks to add for `slots` free cells.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded.
    fn chunks_wanted(&self, slots: usize) -> Result<usize, AllocError> {
        let table = self.table.borrow();
        let missing = slots.saturating_sub(self.header.free());
        let (layout, shift) = (table.layout(), table.shift());
        chunks_for(
            missing,
            layout,
            shift,
            table.chunks_left(),
            self.header.slots(),
        )
    }

    /// The number of the next chunk, unless it fills a hole.
    #[cfg(feature = "std")]
    pub(crate) fn next_number(&self) -> usize {
        self.table.borrow().next_number()
    }

    /// Returns the layout of the array that replaces this one when growth continues chunk by chunk,
    /// if that happens within `chunks` chunks. A stack that has all the room it will ever need is
    /// not replaced.
    #[cfg(feature = "std")]
    pub(crate) fn successor(&self, array: Array, chunks: usize) -> Option<Layout> {
        let table = self.table.borrow();
        let chunks = chunks.min(table.chunks_left());
        match array {
            Array::Stack => {
                let room = self.header.stack.capacity();
                let cells = self.header.slots() + (chunks << table.shift());
                if cells <= room || self.header.stack.is_never_outgrown() {
                    return None;
                }
                let outgrown = room + (1 << table.shift());
                FreeStack::layout(self.larger_stack(outgrown)).ok()
            }
            Array::Table => {
                if table.entries_with(chunks) <= table.room() {
                    return None;
                }
                let outgrown = table.entries_beyond_room();
                ChunkTable::origins_layout(table.larger_room(outgrown)).ok()
            }
        }
    }

    /// Returns the room of the stack that replaces this one when it is too small for `cells` cells.
    fn larger_stack(&self, cells: usize) -> usize {
        cells.max(2 * self.header.stack.capacity())
    }

    /// Where the chunks, the table and the stack come from.
    fn source(&self) -> &Source {
        self.header.stack.source()
    }

    /// Bytes of all blocks.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.header.stack.array_bytes() + self.table.borrow().bytes()
    }

    /// Whether `slots` cells are free.
    pub(crate) fn has_room(&self, slots: usize) -> bool {
        self.header.free() >= slots
    }

    /// Allocates the missing blocks for `slots` free cells; touches the chunks if `touch`. What was
    /// allocated is to be [added](Self::add), also after an error.
    ///
    /// Nothing of the slab changes: the allocator may re-enter. The closures take what a helper has
    /// allocated ahead. They are not type parameters, so this is compiled once.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, before anything is allocated; or if the allocator refuses.
    #[cold]
    pub(crate) fn gather(
        &self,
        slots: usize,
        touch: bool,
        take_spare: &dyn Fn() -> Option<Block>,
        take_array: &dyn Fn(Array, Layout) -> Option<Block>,
    ) -> (Supplies, Result<(), AllocError>) {
        let mut supplies = Supplies {
            spare: None,
            built: false,
            is_for_one: false,
            chunks: LooseChunks::new(self.table.borrow().layout(), self.source().clone()),
            stack: FreeStack::empty(self.source().clone()),
            origins: None,
        };
        let result = self.gather_to(slots, touch, take_spare, take_array, &mut supplies);
        (supplies, result)
    }

    /// Adds as many of the chunks that are missing for `slots` free cells as there are supplies
    /// for. O(slots added), and O(free cells) more if some are free.
    ///
    /// The cells of a single chunk are fresh afterwards, and not stamped. Those of several chunks
    /// are below all others on the stack. Nothing is allocated or freed: the supplies are those
    /// that were not used, and the blocks that were replaced, to be dropped once the slab is
    /// consistent.
    pub(crate) fn add(&self, slots: usize, supplies: &mut Supplies) {
        let chunks = self.affordable(slots, supplies);
        if chunks > 0 {
            self.add_chunks(chunks, supplies);
        }
    }

    fn gather_to(
        &self,
        slots: usize,
        touch: bool,
        take_spare: &dyn Fn() -> Option<Block>,
        take_array: &dyn Fn(Array, Layout) -> Option<Block>,
        supplies: &mut Supplies,
    ) -> Result<(), AllocError> {
        let mut take_spare = Some(take_spare);
        // Whether arrays double; otherwise they get the room that is needed, and no more.
        let mut doubles = true;
        // The allocator may re-enter. So the missing blocks are computed again after each call,
        // and nothing of this slab is borrowed during a call.
        loop {
            supplies.is_for_one = false;
            let chunks = self.chunks_wanted(slots)?;
            if chunks == 0 {
                return Ok(());
            }
            supplies.is_for_one = chunks == 1;
            let (entries, room, larger_room, shift, layout) = {
                let table = self.table.borrow();
                let entries = table.entries_with(chunks);
                (
                    entries,
                    table.room(),
                    table.larger_room(entries),
                    table.shift(),
                    table.layout(),
                )
            };
            if supplies.chunks.layout() != layout {
                // The allocator has used the slab, whose chunks are smaller now.
                let chunks = LooseChunks::new(layout, self.source().clone());
                drop(core::mem::replace(&mut supplies.chunks, chunks));
                continue;
            }
            let stack_room = self.header.stack.capacity();
            let cells = self.header.slots() + (chunks << shift);
            if entries > room.max(supplies.origins_room()) {
                let room = if doubles { larger_room } else { entries };
                let layout = ChunkTable::origins_layout(room)?;
                supplies.origins = Some(match take_array(Array::Table, layout) {
                    Some(block) => block,
                    None => match Block::allocate(layout, self.source()) {
                        Ok(block) => block,
                        Err(_) if room > entries => {
                            doubles = false;
                            continue;
                        }
                        Err(error) => return Err(error),
                    },
                });
            } else if cells > stack_room.max(supplies.stack.capacity()) {
                // A stack in system memory reserves all the room it will need at first.
                if !self.header.stack.try_commit(cells, true)? {
                    let room = if doubles {
                        self.larger_stack(cells)
                    } else {
                        cells
                    };
                    let layout = FreeStack::layout(room)?;
                    supplies.stack = match take_array(Array::Stack, layout) {
                        Some(block) => FreeStack::new_in(block),
                        None => match FreeStack::try_new_growing(room, self.source()) {
                            Ok(stack) => stack,
                            Err(_) if room > cells => {
                                doubles = false;
                                continue;
                            }
                            Err(error) => return Err(error),
                        },
                    };
                }
            } else if supplies.blocks() < chunks {
                // Last, so that a refusal does not cost a spare.
                supplies.spare = take_spare
                    .take()
                    .and_then(|take| take())
                    .or(supplies.spare.take());
                if supplies.blocks() < chunks {
                    supplies.is_for_one = true;
                    let block = Block::allocate(layout, self.source())?;
                    if touch {
                        block.touch();
                    }
                    supplies.chunks.add(block);
                    supplies.built = true;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Returns how many of the chunks that are missing for `slots` free cells can be added with
    /// these supplies: all of them, unless the allocator has refused.
    fn affordable(&self, slots: usize, supplies: &Supplies) -> usize {
        let wanted = self.chunks_wanted(slots).unwrap_or(0);
        let table = self.table.borrow();
        // Otherwise the allocator has used the slab, whose chunks are smaller now.
        if wanted == 0 || supplies.chunks.layout() != table.layout() {
            return 0;
        }
        let origins_room = table.room().max(supplies.origins_room());
        let stack_room = (self.header.stack.capacity()).max(supplies.stack.capacity());
        wanted
            .min(supplies.blocks())
            .min(table.chunks_within(origins_room))
            .min((stack_room - self.header.slots()) >> table.shift())
    }

    /// Adds that many chunks, for which there are supplies. No user code runs.
    fn add_chunks(&self, chunks: usize, supplies: &mut Supplies) {
        let mut table = self.table.borrow_mut();
        let shift = table.shift();
        let cells = chunks << shift;
        let stamps_all = chunks > 1;
        if self.header.slots() + cells > self.header.stack.capacity() {
            let larger =
                core::mem::replace(&mut supplies.stack, FreeStack::empty(self.source().clone()));
            supplies.stack = self.header.stack.move_to(larger);
        }
        if table.entries_with(chunks) > table.room() {
            supplies.origins = supplies.origins.take().map(|block| table.move_to(block));
        }
        drop(table);
        self.bury_fresh();

        self.header.add_slots(cells);
        self.chunks_added
            .set(self.chunks_added.get() + chunks as u64);
        let mut add = |_| {
            let mut table = self.table.borrow_mut();
            let number = table.add_next(&mut supplies.chunks, supplies.spare.take());
            if stamps_all {
                table.stamp_rest();
            }
            number << shift..(number + 1) << shift
        };
        if chunks == 1 {
            let first = add(0).start;
            self.next_fresh.set(first);
            self.ready_to.set(first);
            self.header.add_fresh(cells);
        } else {
            let cells_added = (0..chunks)
                .map(add)
                .flat_map(|keys| self.table.borrow().cells_of(keys));
            // SAFETY: just added, so free and on no stack; and `stack-fits-all`.
            unsafe { self.header.stack.push_below(cells, cells_added) };
        }
    }

    /// Removes all chunks whose cells are all free from the slab, and subtracts their cells from
    /// `slots` (`table-slots`). O(slots).
    pub(crate) fn shrink(&self) -> Option<LooseChunks> {
        self.bury_fresh();
        let mut table = self.table.borrow_mut();
        let stripped = table.strip_free_chunks();
        if stripped == 0 {
            return None;
        }
        // SAFETY: by `free-on-stack` a cell of this slab, and none is freed yet.
        (self.header.stack).retain(|cell| unsafe { table.has_key(cell) });
        self.header.remove_slots(stripped << table.shift());
        Some(table.release())
    }

    /// Moves the entries to a stack with room for exactly the present cells, if that is smaller and
    /// the allocator does not refuse. Returns the old stack.
    pub(crate) fn shrink_stack(&self) -> Option<FreeStack> {
        let slots = self.header.slots();
        self.header.stack.decommit(slots);
        if self.header.stack.capacity() <= slots || self.header.stack.is_never_outgrown() {
            return None;
        }
        let stack = FreeStack::try_new(slots, self.source()).ok()?;
        // The allocator may have made this slab grow, or shrink.
        let fits = self.header.slots()..self.header.stack.capacity();
        if fits.contains(&stack.capacity()) {
            Some(self.header.stack.move_to(stack))
        } else {
            Some(stack)
        }
    }

    /// See [`grain`](super::table::grain).
    pub(crate) fn grain(&self) -> u32 {
        self.table.borrow().grain()
    }

    /// Returns the next fresh cell, stamped, and whether this call stamped it. The cell does not
    /// pass through the stack, which is empty then: keys are used in ascending order.
    ///
    /// # Safety
    ///
    /// The slab has cells of this shape.
    #[inline]
    pub(crate) unsafe fn take_fresh(&self, shape: Shape) -> Option<(NonNull<u8>, bool)> {
        let key = self.next_fresh.get();
        if key == self.ready_to.get() && !self.make_ready() {
            return None;
        }
        // SAFETY: the table's cells are of this shape (precondition).
        let (cell, stamped) = unsafe { self.table.borrow_mut().stamp_next(key, shape) };
        self.next_fresh.set(key + 1);
        self.header.remove_fresh(1);
        Some((cell, stamped))
    }

    /// Makes the next stretch of fresh cells ready. Returns `false` if no cell is fresh.
    #[cold]
    #[inline(never)]
    fn make_ready(&self) -> bool {
        let (first, fresh) = (self.next_fresh.get(), self.header.fresh());
        if fresh == 0 {
            return false;
        }
        let mut table = self.table.borrow_mut();
        let ready_to = table.make_ready(first..first + fresh, self.touch_ahead);
        self.ready_to.set(ready_to);
        true
    }

    /// Touches the memory of the fresh cells that no insertion has reached yet.
    pub(crate) fn touch_fresh(&self) {
        self.table.borrow().touch_unstamped(usize::MAX);
    }

    /// Pushes all fresh cells on the stack below all others, so that the order in which cells are
    /// used does not change. O(free cells).
    pub(crate) fn bury_fresh(&self) {
        let first = self.next_fresh.get();
        let count = self.header.fresh();
        self.table.borrow_mut().stamp_rest();
        // SAFETY: by `fresh-keys` they lie in one chunk, are free and not on the stack, which
        // has room for them (`stack-fits-all`).
        unsafe {
            let fresh = self.table.borrow().cells_of(first..first + count);
            self.header.stack.push_below(count, fresh);
        }
        self.header.remove_fresh(count);
        self.ready_to.set(first);
    }
}

impl Supplies {
    /// Takes an outgrown array, if there is one.
    pub(crate) fn take_array(&mut self, array: Array) -> Option<Block> {
        match array {
            Array::Stack => {
                core::mem::replace(&mut self.stack, FreeStack::empty(Source::GLOBAL)).into_block()
            }
            Array::Table => self
                .origins
                .take()
                .filter(|block| block.layout().size() > 0),
        }
    }

    fn blocks(&self) -> usize {
        self.chunks.len() + usize::from(self.spare.is_some())
    }

    fn origins_room(&self) -> usize {
        self.origins.as_ref().map_or(0, ChunkTable::room_of)
    }
}

/// Returns how many chunks of this layout, with `1 << shift` cells each, have `slots` cells, if
/// there are `present` slots and `left` chunks can be added.
///
/// # Errors
///
/// If there are too few keys, or the bytes of all chunks together exceed `isize::MAX`.
pub(crate) fn chunks_for(
    slots: usize,
    chunk: Layout,
    shift: u32,
    left: usize,
    present: usize,
) -> Result<usize, AllocError> {
    if slots == 0 {
        return Ok(0);
    }
    let chunks = slots.div_ceil(1 << shift);
    let requested = slots.saturating_add(present);
    if chunks > left {
        return Err(AllocError::TooManySlots {
            requested,
            limit: (MAX_SLOTS >> shift) << shift,
        });
    }
    let bytes = chunk.size().checked_mul(chunks + (present >> shift));
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(AllocError::TooManyBytes {
            slots: requested,
            slot_bytes: chunk.size() >> shift,
        });
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_past_the_last_key_is_an_error() {
        let header = try_new(ChunkShape::of::<()>(), 4, 0, &Source::GLOBAL).unwrap();
        // SAFETY: `try_new` returned the only pointer to the header, which is closed once.
        unsafe {
            let body = header.as_ref();
            // As if there were as many chunks as keys; none is accessed.
            let chunks = MAX_SLOTS >> 4;
            body.table.borrow_mut().pretend_to_have(chunks);
            body.header.add_slots(chunks << 4);
            body.header.add_fresh(chunks << 4);
            let too_many = AllocError::TooManySlots {
                requested: (chunks << 4) + 1,
                limit: chunks << 4,
            };
            assert_eq!(body.chunks_wanted(chunks << 4), Ok(0));
            let (left_over, result) = body.gather((chunks << 4) + 1, false, &|| None, &|_, _| None);
            assert_eq!(result, Err(too_many));
            drop(left_over);
            assert!(body.chunks_wanted(usize::MAX).is_err());
            body.table.borrow_mut().pretend_to_have(0);
            header::close(header.cast(), 0, 0);
        }
    }
}
