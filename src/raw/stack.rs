//! The free list: a dense LIFO of free cells, by pointer or by index.
//!
//! Pointers save an insertion the arithmetic from index to cell; indices take
//! half the memory. Popping touches only the top of this array, never the cell,
//! so an insertion does not wait for a cold line. Links through the cells, the
//! textbook way, make each insertion wait for the load of the cell before it
//! (BENCHMARKS.md, "INSERT"). An entry that means *none* stands below the bottom: the emptiness
//! test is the value just loaded, and no second pointer is compared.
//!
//! # Invariants
//!
//! * `stack-room`: `bottom <= top <= bottom + capacity`; `bottom[-1]` is
//!   `None`. The array is committed up to `capacity`, which is at most
//!   `entries`, for which it is laid out.
//! * `stack-source`: the array, if there is one, came from `source`.
//! * `free-on-stack`: the entries in `bottom..top` are pairwise distinct free
//!   cells of the stack's owner.

use core::alloc::Layout;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::memory::{Block, COMMIT};
use super::source::Source;
use super::touch::PAGE;
use crate::error::AllocError;
use crate::key::MAX_SLOTS;

/// A pointer to a free cell.
pub(crate) type CellEntry = Option<NonNull<u8>>;

const _: () = assert!(size_of::<CellEntry>() == size_of::<usize>());

/// Where the top of a stack is without its last entry.
#[derive(Clone, Copy, Debug)]
pub struct Lowered(NonNull<CellEntry>);

/// A stack of free cells with room for a fixed number of them.
#[repr(C)]
pub(crate) struct FreeStack {
    /// First, so that a pointer to the stack is one to its top.
    top: Cell<NonNull<CellEntry>>,
    bottom: Cell<NonNull<CellEntry>>,
    /// Entries there is room for.
    capacity: Cell<usize>,
    /// Entries that the array is laid out for: more than there is room for where
    /// it is only reserved. With 0 the bottom is the end of
    /// [`BELOW_NO_ROOM`] and no array is owned.
    entries: Cell<usize>,
    source: Source,
}

impl FreeStack {
    /// A stack without room, whose array may come from `source` later. Allocates
    /// nothing.
    pub(crate) const fn empty(source: Source) -> Self {
        let below = (&raw const BELOW_NO_ROOM.0).cast_mut();
        let bottom = NonNull::new(below.wrapping_add(1)).expect("past a static");
        FreeStack {
            top: Cell::new(bottom),
            bottom: Cell::new(bottom),
            capacity: Cell::new(0),
            entries: Cell::new(0),
            source,
        }
    }

    /// An empty stack with room for `capacity` entries. Writes only what stands
    /// below the bottom.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`, or the source refuses.
    pub(crate) fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        if capacity == 0 {
            return Ok(Self::empty(source.clone()));
        }
        Ok(Self::new_in(Block::allocate(
            Self::layout(capacity)?,
            source,
        )?))
    }

    /// An empty stack in an array that is all there, of the [layout](Self::layout)
    /// for 1 entry or more. Writes only what stands below the bottom.
    pub(crate) fn new_in(array: Block) -> Self {
        let capacity = array.layout().size() / size_of::<CellEntry>() - 1;
        assert!(capacity > 0 && Self::layout(capacity) == Ok(array.layout()));
        // SAFETY: the array is not only reserved (`new_in` is for memory that is there), and by the
        // assertion laid out for `capacity` entries.
        let stack = unsafe { Self::in_array(array, capacity) };
        stack.capacity.set(capacity);
        stack
    }

    /// An empty stack whose array is laid out for `entries`, and only reserved:
    /// there is no room yet.
    ///
    /// # Errors
    ///
    /// As for [`try_new`](Self::try_new).
    pub(crate) fn try_reserve(entries: usize, source: &Source) -> Result<Self, AllocError> {
        if entries == 0 {
            return Ok(Self::empty(source.clone()));
        }
        let array = Block::reserve(Self::layout(entries)?, source)?;
        array.commit(0, size_of::<CellEntry>())?;
        // SAFETY: the array is laid out for `entries`, and its first one was committed just now.
        Ok(unsafe { Self::in_array(array, entries) })
    }

    /// An empty stack for a container that grows, with room for `capacity` entries:
    /// where address space costs nothing it is never outgrown. Doubling it populated 16 MiB in
    /// one insertion, 18 million ticks; this way the slowest takes 0.3 million.
    ///
    /// # Errors
    ///
    /// As for [`try_new`](Self::try_new).
    pub(crate) fn try_new_growing(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        if source.reserves() {
            if let Ok(stack) = Self::try_reserve(MAX_SLOTS, source) {
                if stack.try_commit(capacity, true)? {
                    return Ok(stack);
                }
            }
        }
        Self::try_new(capacity, source)
    }

    /// Returns whether its array is reserved for every slot there can be.
    pub(crate) fn is_never_outgrown(&self) -> bool {
        self.source.reserves() && self.entries.get() == MAX_SLOTS
    }

    /// A stack without room in an array laid out for `entries`, which is not 0.
    ///
    /// # Safety
    ///
    /// The first entry is committed.
    unsafe fn in_array(array: Block, entries: usize) -> Self {
        let stack = Self::empty(array.source().clone());
        let below = array.leak_start().cast::<CellEntry>();
        // SAFETY: the array has room for that and at least one entry.
        let bottom = unsafe {
            below.write(None);
            below.add(1)
        };
        stack.top.set(bottom);
        stack.bottom.set(bottom);
        stack.entries.set(entries);
        stack
    }

    /// Makes room for `capacity` entries in an array that is reserved, populated if
    /// `populate`, and says whether it is laid out for so many.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    pub(crate) fn try_commit(&self, capacity: usize, populate: bool) -> Result<bool, AllocError> {
        let room = self.capacity();
        if capacity <= room {
            return Ok(true);
        }
        if capacity > self.entries.get() {
            return Ok(false);
        }
        let (from, to) = (Self::bytes(room), Self::bytes(capacity));
        self.with_array(|array| {
            let committed = array.commit(from, to)?;
            if populate {
                array.populate(from, to)?;
            }
            // What was committed beyond, to whole pages, is room too.
            let entries = committed / size_of::<CellEntry>() - 1;
            self.capacity
                .set(entries.clamp(capacity, self.entries.get()));
            Ok(true)
        })
        .unwrap_or(Ok(false))
    }

    /// Makes room for `capacity` entries in an array that is reserved for as many, and for some
    /// more.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    pub(crate) fn commit_ahead(&self, capacity: usize) -> Result<(), AllocError> {
        debug_assert!(capacity <= self.entries.get());
        if capacity > self.capacity() {
            let ahead = capacity.max(self.capacity() + COMMIT / size_of::<CellEntry>());
            self.try_commit(ahead.min(self.entries.get()), false)?;
        }
        Ok(())
    }

    /// Populates the room for the entries between these two that are not there.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub(crate) fn populate(&self, from: usize, to: usize) -> Result<(), AllocError> {
        debug_assert!(to <= self.capacity());
        let from = from.max(self.depth());
        self.with_array(|array| array.populate(Self::bytes(from), Self::bytes(to)))
            .unwrap_or(Ok(()))
    }

    /// Writes to the place of an entry, counted from the bottom: there is room for
    /// it, and it is not in use.
    pub(crate) fn touch_place(&self, index: usize) {
        assert!((self.depth()..self.capacity()).contains(&index));
        // SAFETY: by `stack-room` there is room for that entry, and nothing is
        // read there before it is written.
        unsafe { self.bottom.get().add(index).write_volatile(None) };
    }

    /// Gives back the memory of a reserved array that is not needed for `capacity`
    /// entries, of which there are fewer.
    pub(crate) fn decommit(&self, capacity: usize) {
        let room = self.capacity();
        if capacity >= room {
            return;
        }
        let (from, to) = (Self::bytes(capacity), Self::bytes(room));
        self.with_array(|array| {
            let committed = array.decommit(from, to);
            let entries = committed / size_of::<CellEntry>() - 1;
            self.capacity.set(entries.clamp(capacity, room));
        });
    }

    /// Bytes of an array of that many entries, with the one below the bottom.
    fn bytes(entries: usize) -> usize {
        (entries + 1) * size_of::<CellEntry>()
    }

    /// Calls `f` with the array, which stays this stack's.
    fn with_array<R>(&self, f: impl FnOnce(&Block) -> R) -> Option<R> {
        let array = ManuallyDrop::new(self.array()?);
        let result = f(&array);
        let _ = ManuallyDrop::into_inner(array).leak_start();
        Some(result)
    }

    /// Of the array of a stack with room for `capacity` entries.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`.
    pub(crate) fn layout(capacity: usize) -> Result<Layout, AllocError> {
        capacity
            .checked_add(1)
            .and_then(|entries| Layout::array::<CellEntry>(entries).ok())
            .ok_or(AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<CellEntry>(),
            })
    }

    /// Entries there is room for.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.get()
    }

    /// Entries there are.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        Self::distance(self.bottom.get(), self.top.get())
    }

    /// Entries from one place of the array to a later one.
    #[inline]
    fn distance(from: NonNull<CellEntry>, to: NonNull<CellEntry>) -> usize {
        (to.addr().get() - from.addr().get()) / size_of::<CellEntry>()
    }

    /// Takes the cell that was pushed last; `None` when the
    /// stack is empty.
    #[inline]
    pub(crate) fn pop(&self) -> CellEntry {
        let (cell, lowered) = self.look()?;
        // SAFETY: `look` returned `lowered`, and nothing has used the stack since.
        unsafe { self.lower(lowered) };
        Some(cell)
    }

    /// The cell that the next [`pop`](Self::pop) takes, and what [`lower`](Self::lower) needs to
    /// take it.
    #[inline]
    pub(crate) fn look(&self) -> Option<(NonNull<u8>, Lowered)> {
        // SAFETY: by `stack-room` an entry or `None` is below the top, in the same array.
        let (cell, lowered) = unsafe {
            let last = self.top.get().sub(1);
            (last.read()?, last)
        };
        Some((cell, Lowered(lowered)))
    }

    /// Takes the cell that was [looked at](Self::look).
    ///
    /// # Safety
    ///
    /// `top` came with it, from this stack, which has not changed since.
    #[inline]
    pub(crate) unsafe fn lower(&self, top: Lowered) {
        self.top.set(top.0);
    }

    /// Adds a free cell.
    ///
    /// # Safety
    ///
    /// The cell is the owner's, free before any other code runs, and not on
    /// the stack. There is room: the stack has room for every cell of its
    /// owner, and this one is not among the entries (`free-on-stack`).
    #[inline]
    pub(crate) unsafe fn push(&self, cell: NonNull<u8>) {
        let top = self.top.get();
        // SAFETY: there is room above the top (precondition, `stack-room`).
        unsafe {
            top.write(Some(cell));
            self.top.set(top.add(1));
        }
    }

    /// Adds free cells so that they are popped in their own order.
    ///
    /// # Safety
    ///
    /// Each cell is as for [`push`](Self::push).
    pub(crate) unsafe fn refill(&self, cells: impl DoubleEndedIterator<Item = NonNull<u8>>) {
        for cell in cells.rev() {
            // SAFETY: free, the owner's, and not on the stack (precondition).
            unsafe { self.push(cell) };
        }
    }

    /// Adds free cells, the last of which is popped first, until there is none; how many there
    /// were. The top stays in a register: through memory each push would wait for the one before.
    ///
    /// # Safety
    ///
    /// Each cell is as for [`push`](Self::push); `next` uses nothing of this, and does not unwind.
    #[inline]
    pub(crate) unsafe fn push_all(&self, mut next: impl FnMut() -> CellEntry) -> usize {
        let first = self.top.get();
        let mut top = first;
        while let Some(cell) = next() {
            // SAFETY: there is room above the top for this cell, too (precondition, `stack-room`).
            unsafe {
                top.write(Some(cell));
                top = top.add(1);
            }
        }
        self.top.set(top);
        Self::distance(first, top)
    }

    /// Adds `count` free cells below all others, so that they are popped after
    /// those, in their own order; O(entries).
    ///
    /// # Safety
    ///
    /// There are `count` cells, and each is as for [`push`](Self::push).
    pub(crate) unsafe fn push_below(&self, count: usize, cells: impl Iterator<Item = NonNull<u8>>) {
        let (bottom, depth) = (self.bottom.get(), self.depth());
        // SAFETY: there is room (precondition). The cells fill every place
        // that the moved entries leave open.
        unsafe {
            bottom.add(count).copy_from(bottom, depth);
            let mut place = bottom.add(count);
            for cell in cells {
                place = place.sub(1);
                place.write(Some(cell));
            }
            debug_assert!(place == bottom);
            self.top.set(bottom.add(count + depth));
        }
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.top.set(self.bottom.get());
    }

    /// Removes the entries for which `keep` is false; O(entries).
    pub(crate) fn retain(&self, mut keep: impl FnMut(NonNull<u8>) -> bool) {
        let mut kept = self.bottom.get();
        for index in 0..self.depth() {
            let entry = self.entry(index);
            if entry.is_some_and(&mut keep) {
                // SAFETY: not above the entry just read, so within the array.
                unsafe {
                    kept.write(entry);
                    kept = kept.add(1);
                }
            }
        }
        self.top.set(kept);
    }

    /// Moves the entries into `other`'s array and gives the old array back,
    /// empty; O(entries). `other` is empty, has room for them, and is of the same
    /// source.
    pub(crate) fn move_to(&self, other: FreeStack) -> FreeStack {
        let depth = self.depth();
        assert!(other.depth() == 0 && other.capacity() >= depth);
        assert!(self.source.is(&other.source), "stack-source: one source");
        // SAFETY: there is room, as asserted, and the arrays are distinct.
        unsafe {
            let bottom = other.bottom.get();
            bottom.copy_from_nonoverlapping(self.bottom.get(), depth);
            other.top.set(bottom.add(depth));
        }
        self.top.set(self.bottom.get());
        self.top.swap(&other.top);
        self.bottom.swap(&other.bottom);
        self.capacity.swap(&other.capacity);
        self.entries.swap(&other.entries);
        other
    }

    /// Writes to every page of the room that is left, so that no push faults.
    pub(crate) fn touch(&self) {
        if self.source.populates() {
            return;
        }
        let left = self.capacity() - self.depth();
        for place in (0..left)
            .step_by(PAGE / size_of::<CellEntry>())
            .chain(left.checked_sub(1))
        {
            self.touch_place(self.depth() + place);
        }
    }

    /// The array of an empty stack, whose entries are not needed.
    pub(crate) fn into_block(self) -> Option<Block> {
        let mut stack = ManuallyDrop::new(self);
        let block = stack.array();
        // The block has a clone of it.
        stack.source = Source::GLOBAL;
        block
    }

    /// The source of its arrays.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Bytes of the array; of one that is reserved at no cost, as far as there is
    /// room in it.
    pub(crate) fn array_bytes(&self) -> usize {
        match self.entries.get() {
            0 => 0,
            _ if self.source.reserves() => Self::bytes(self.capacity()),
            entries => Self::bytes(entries),
        }
    }

    fn array(&self) -> Option<Block> {
        if self.entries.get() == 0 {
            return None;
        }
        let layout = Self::layout(self.entries.get()).ok()?;
        // SAFETY: `try_new` allocated the array with this layout from this source
        // (`stack-source`), the entry below the bottom first; every caller gives it up.
        Some(unsafe { Block::from_start(self.bottom.get().sub(1).cast(), layout, &self.source) })
    }

    /// The entry at `index`, counted from the bottom.
    fn entry(&self, index: usize) -> CellEntry {
        assert!(index < self.depth());
        // SAFETY: below the depth, so by `stack-room` within the array and written.
        unsafe { self.bottom.get().add(index).read() }
    }
}

/// Views for tests, and ways to break invariants.
#[cfg(any(test, fuzzing))]
impl FreeStack {
    /// The entries, in the order in which they would be popped.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = CellEntry> {
        (0..self.depth()).rev().map(|index| self.entry(index))
    }

    /// The entry that `count` pops come to.
    pub(crate) fn peek(&self, count: usize) -> Option<CellEntry> {
        self.entries().nth(count)
    }

    /// Panics where `stack-room` or the distinctness of `free-on-stack` does
    /// not hold; hands each entry to `is_free`, which says whether it is a free
    /// cell met first.
    pub(crate) fn check(&self, mut is_free: impl FnMut(CellEntry) -> bool) {
        assert!(self.depth() <= self.capacity(), "stack-room: the top");
        // SAFETY: by `stack-room` `None` was written there.
        let below = unsafe { self.bottom.get().sub(1).read() };
        assert!(below.is_none(), "stack-room: below the bottom");
        for entry in self.entries() {
            assert!(entry.is_some(), "free-on-stack: an entry names a cell");
            assert!(
                is_free(entry),
                "free-on-stack: distinct free cells of this slab"
            );
        }
    }

    /// # Safety
    ///
    /// The stack is not used again except by a check.
    #[cfg(test)]
    pub(crate) unsafe fn overwrite_below(&self, cell: CellEntry) {
        // SAFETY: by `stack-room` the array begins there.
        unsafe { self.bottom.get().sub(1).write(cell) };
    }
}

impl Drop for FreeStack {
    fn drop(&mut self) {
        drop(self.array());
    }
}

/// The entry below the bottom of every stack without room.
struct BelowNoRoom(CellEntry);

static BELOW_NO_ROOM: BelowNoRoom = BelowNoRoom(None);

// SAFETY: the one static of this type is only read.
unsafe impl Sync for BelowNoRoom {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_entries_than_there_can_be_bytes_are_an_error() {
        let entry = size_of::<CellEntry>();
        for capacity in [usize::MAX, usize::MAX / entry, isize::MAX as usize / entry] {
            assert!(matches!(
                FreeStack::try_new(capacity, &Source::GLOBAL),
                Err(AllocError::TooManyBytes { slots, .. }) if slots == capacity
            ));
        }
    }

    #[test]
    fn entries_keep_their_order_when_the_array_changes() {
        let places = [0u8; 6];
        let cell = |index: usize| NonNull::from(&places[index]);
        let stack = FreeStack::empty(Source::GLOBAL);
        assert_eq!((stack.pop(), stack.depth(), stack.capacity()), (None, 0, 0));
        drop(stack.move_to(FreeStack::try_new(6, &Source::GLOBAL).unwrap()));
        // SAFETY: the cells are distinct, and the five of them have room in a stack of six.
        unsafe {
            stack.refill([cell(0), cell(1)].into_iter());
            stack.push_below(2, [cell(2), cell(3)].into_iter());
            stack.push(cell(4));
        }
        let old = stack.move_to(FreeStack::try_new(5, &Source::GLOBAL).unwrap());
        assert_eq!((old.depth(), old.capacity()), (0, 6));
        drop(old);
        stack.retain(|entry| entry != cell(1));
        let popped = core::array::from_fn(|_| stack.pop());
        assert_eq!(
            popped,
            [
                Some(cell(4)),
                Some(cell(0)),
                Some(cell(2)),
                Some(cell(3)),
                None
            ]
        );
    }

    #[test]
    fn a_reserved_stack_has_room_as_far_as_it_is_committed() {
        let stack = FreeStack::try_reserve(5000, &Source::GLOBAL).unwrap();
        assert_eq!((stack.pop(), stack.capacity(), stack.depth()), (None, 0, 0));
        assert_eq!(stack.try_commit(10, true), Ok(true));
        let room = stack.capacity();
        assert!((10..=5000).contains(&room));
        assert_eq!(stack.try_commit(5001, false), Ok(false));
        assert_eq!(stack.try_commit(5000, false), Ok(true));
        stack.populate(0, 5000).unwrap();
        stack.touch_place(4999);
        let place = 0_u8;
        // SAFETY: there is room; the cell is never used.
        unsafe { stack.push(NonNull::from(&place)) };
        stack.touch();
        stack.decommit(1);
        assert!(stack.capacity() >= 1);
        assert_eq!(stack.pop(), Some(NonNull::from(&place)));
        assert_eq!(stack.pop(), None);

        let none = FreeStack::try_reserve(0, &Source::GLOBAL).unwrap();
        none.decommit(0);
        assert_eq!(
            (none.try_commit(0, true), none.try_commit(1, true)),
            (Ok(true), Ok(false))
        );
        assert!(none.into_block().is_none());
    }
}
