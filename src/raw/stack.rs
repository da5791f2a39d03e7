//! The free list: a dense LIFO of pointers to free cells.
//!
//! Popping touches only the top of this array, never the cell, so an insertion
//! does not wait for a cold line. Links through the cells, the textbook way,
//! make each insertion wait for the load of the cell before it (BENCHMARKS.md,
//! "INSERT"). A null stands below the bottom: the emptiness test is the value
//! just loaded, and no second pointer is compared.
//!
//! # Invariants
//!
//! * F1: `bottom <= top <= bottom + capacity`; `bottom[-1]` is null.
//! * F2: the entries in `bottom..top` are pairwise distinct free cells of the
//!   stack's owner.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::memory::Block;
use crate::error::AllocError;

/// A free cell, or the null below the bottom.
type Entry = Option<NonNull<u8>>;

const _: () = assert!(size_of::<Entry>() == size_of::<usize>());

/// A stack of free cells with room for a fixed number of them.
#[repr(C)]
pub(crate) struct FreeStack {
    /// First, so that a pointer to the stack is one to its top.
    top: Cell<NonNull<Entry>>,
    bottom: Cell<NonNull<Entry>>,
    /// Entries there is room for. With 0 the bottom is the shared null's end
    /// and no array is owned.
    capacity: Cell<usize>,
}

impl FreeStack {
    /// A stack without room. Allocates nothing.
    pub(crate) const fn empty() -> Self {
        // SAFETY: one past the only element of `NULL`, and not null.
        let bottom = unsafe { NonNull::new_unchecked((&raw const NULL.0).add(1).cast_mut()) };
        FreeStack {
            top: Cell::new(bottom),
            bottom: Cell::new(bottom),
            capacity: Cell::new(0),
        }
    }

    /// An empty stack with room for `capacity` entries. Writes only its null.
    ///
    /// # Errors
    ///
    /// When its bytes pass `isize::MAX`, or the allocator refuses.
    pub(crate) fn try_new(capacity: usize) -> Result<Self, AllocError> {
        if capacity == 0 {
            return Ok(Self::empty());
        }
        let array = Block::allocate(Self::layout(capacity)?)?;
        let null = array.leak_start().cast::<Entry>();
        // SAFETY: the array has room for the null and at least one entry.
        let bottom = unsafe {
            null.write(None);
            null.add(1)
        };
        Ok(FreeStack {
            top: Cell::new(bottom),
            bottom: Cell::new(bottom),
            capacity: Cell::new(capacity),
        })
    }

    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        capacity
            .checked_add(1)
            .and_then(|entries| Layout::array::<Entry>(entries).ok())
            .ok_or(AllocError::TooManyBytes {
                slots: capacity,
                slot_bytes: size_of::<Entry>(),
            })
    }

    /// Entries there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.get()
    }

    /// Entries there are.
    pub(crate) fn depth(&self) -> usize {
        // SAFETY: by F1 both point into one array, the top not below the bottom.
        unsafe { self.top.get().offset_from(self.bottom.get()) as usize }
    }

    /// Takes the cell that was pushed last; `None` when the stack is empty.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<NonNull<u8>> {
        // SAFETY: by F1 an entry or the null stands below the top. The top is
        // lowered only past an entry.
        unsafe {
            let below = self.top.get().sub(1);
            let cell = below.read()?;
            self.top.set(below);
            Some(cell)
        }
    }

    /// Adds a free cell.
    ///
    /// # Safety
    ///
    /// The cell is the owner's, free before any other code runs, and not on
    /// the stack. There is room: the stack has room for every cell of its
    /// owner, and this one is not among the entries (F2).
    #[inline(always)]
    pub(crate) unsafe fn push(&self, cell: NonNull<u8>) {
        let top = self.top.get();
        // SAFETY: there is room above the top, says the caller (F1).
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
            // SAFETY: says the caller.
            unsafe { self.push(cell) };
        }
    }

    /// Adds `count` free cells below all others, so that they are popped after
    /// those, in their own order; O(entries).
    ///
    /// # Safety
    ///
    /// There are `count` cells, and each is as for [`push`](Self::push).
    pub(crate) unsafe fn push_below(&self, count: usize, cells: impl Iterator<Item = NonNull<u8>>) {
        let (bottom, depth) = (self.bottom.get(), self.depth());
        // SAFETY: there is room, says the caller. The cells fill every place
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
    /// empty; O(entries). `other` is empty and has room for them.
    pub(crate) fn move_to(&self, other: FreeStack) -> FreeStack {
        let depth = self.depth();
        assert!(other.depth() == 0 && other.capacity() >= depth);
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
        other
    }

    /// The array of an empty stack, whose entries are not needed.
    pub(crate) fn into_block(self) -> Option<Block> {
        let block = self.array();
        core::mem::forget(self);
        block
    }

    fn array(&self) -> Option<Block> {
        if self.capacity.get() == 0 {
            return None;
        }
        let layout = Self::layout(self.capacity.get()).ok()?;
        // SAFETY: `try_new` allocated the array with this layout, its null
        // first; every caller gives it up.
        Some(unsafe { Block::from_start(self.bottom.get().sub(1).cast(), layout) })
    }

    /// The entry at `index`, counted from the bottom.
    fn entry(&self, index: usize) -> Entry {
        assert!(index < self.depth());
        // SAFETY: below the depth, so by F1 within the array and written.
        unsafe { self.bottom.get().add(index).read() }
    }
}

/// What tests look through, and what they break.
#[cfg(any(test, fuzzing))]
impl FreeStack {
    /// The entry that `count` pops come to.
    pub(crate) fn peek(&self, count: usize) -> Option<NonNull<u8>> {
        self.entry(self.depth().checked_sub(count + 1)?)
    }

    /// Panics where F1 or the distinctness of F2 does not hold; hands each
    /// entry to `is_free`, which says whether it is a free cell met first.
    pub(crate) fn check(&self, mut is_free: impl FnMut(NonNull<u8>) -> bool) {
        assert!(self.depth() <= self.capacity(), "F1: the top");
        // SAFETY: by F1 a null was written there.
        let below = unsafe { self.bottom.get().sub(1).read() };
        assert_eq!(below, None, "F1: the null");
        for index in 0..self.depth() {
            let entry = self.entry(index).expect("F2: no null within the stack");
            assert!(is_free(entry), "F2: distinct free cells of this slab");
        }
    }

    /// # Safety
    ///
    /// The stack is not used again except by a check.
    #[cfg(test)]
    pub(crate) unsafe fn overwrite_null(&self, cell: NonNull<u8>) {
        // SAFETY: by F1 the array begins there.
        unsafe { self.bottom.get().sub(1).write(Some(cell)) };
    }
}

impl Drop for FreeStack {
    fn drop(&mut self) {
        drop(self.array());
    }
}

/// What stands below the bottom of every stack without room. Never written.
static NULL: Null = Null(None);

#[repr(transparent)]
struct Null(Entry);

// SAFETY: only ever read.
unsafe impl Sync for Null {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_entries_than_there_can_be_bytes_are_an_error() {
        let entry = size_of::<Entry>();
        for capacity in [usize::MAX, usize::MAX / entry, isize::MAX as usize / entry] {
            assert!(matches!(
                FreeStack::try_new(capacity),
                Err(AllocError::TooManyBytes { slots, .. }) if slots == capacity
            ));
        }
    }

    #[test]
    fn entries_keep_their_order_when_the_array_changes() {
        let places = [0u8; 6];
        let cell = |index: usize| NonNull::from(&places[index]);
        let stack = FreeStack::empty();
        assert_eq!((stack.pop(), stack.depth(), stack.capacity()), (None, 0, 0));
        drop(stack.move_to(FreeStack::try_new(6).unwrap()));
        // SAFETY: distinct cells, and room for six.
        unsafe {
            stack.refill([cell(0), cell(1)].into_iter());
            stack.push_below(2, [cell(2), cell(3)].into_iter());
            stack.push(cell(4));
        }
        let old = stack.move_to(FreeStack::try_new(5).unwrap());
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
}
