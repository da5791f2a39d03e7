//! The free list: a dense LIFO of pointers to free cells.
//!
//! Popping touches only the top of this array, never the cell, so an insert
//! does not wait for a cold line: links through the cells, the textbook way,
//! make every insert wait for the load of the cell before it. Below the
//! bottom stands a null, so that the emptiness test is the value just loaded
//! and needs no comparison with a second pointer.
//!
//! This file has the array; its top lives in the [`Home`](super::home::Home),
//! which is what a handle points to.
//!
//! # Invariants
//!
//! * F1: `bottom <= top <= bottom + capacity`; `bottom[-1]` is null.
//! * F2: the entries in `bottom..top` are pairwise distinct free cells of this
//!   slab.
//! * F3: every free cell of the slab is among them, or fresh: never handed out
//!   and still to be pushed.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::memory::Block;
use crate::error::AllocError;

/// A free cell, or the null below the bottom.
pub(crate) type Entry = Option<NonNull<u8>>;

const _: () = assert!(size_of::<Entry>() == size_of::<usize>());

/// The array of a stack: one null and room for `capacity` cells.
pub(crate) struct Stack {
    block: Block,
    capacity: usize,
}

impl Stack {
    /// An empty stack with room for `capacity` entries. Only its null is written.
    pub(crate) fn try_new(capacity: usize) -> Result<Self, AllocError> {
        let too_many = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<Entry>(),
        };
        let entries = capacity.checked_add(1).ok_or(too_many)?;
        let layout = Layout::array::<Entry>(entries).map_err(|_| too_many)?;
        let stack = Stack {
            block: Block::allocate(layout)?,
            capacity,
        };
        // SAFETY: the block has room for one entry at least.
        unsafe { stack.block.start().cast::<Entry>().write(None) };
        Ok(stack)
    }

    /// The top of this stack when it is empty.
    pub(crate) fn bottom(&self) -> NonNull<Entry> {
        // SAFETY: the block has room for the null and `capacity` entries.
        unsafe { self.block.start().cast::<Entry>().add(1) }
    }

    /// How many entries there is room for.
    /// The memory, whose entries nobody needs any more.
    pub(crate) fn into_block(self) -> Block {
        self.block
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_entries_than_there_can_be_bytes_are_an_error() {
        let entry = size_of::<Entry>();
        for capacity in [usize::MAX, usize::MAX / entry, isize::MAX as usize / entry] {
            assert!(matches!(
                Stack::try_new(capacity),
                Err(AllocError::TooManyBytes { slots, .. }) if slots == capacity
            ));
        }
    }
}
