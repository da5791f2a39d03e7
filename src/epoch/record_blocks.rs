//! Memory for the records of chunks, of several chunks at once.
//!
//! Between the cells of chunks, which begin at pages where these are given back to the system, a
//! record of its own took all of each page that it reached into: one of 4,200 bytes two pages.
//!
//! # Invariants
//!
//! * B1: the blocks of the table are there until this is dropped. Of the last one of a class the
//!   last `left` records were not given out; of the others all were.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The most records of a block: then what a page has left over is little of it.
const MOST: usize = 16;

/// The records of a class that were not given out.
pub(super) struct Spare {
    next: Cell<NonNull<u8>>,
    left: Cell<usize>,
    given: Cell<usize>,
}

impl Spare {
    pub(super) fn new() -> Self {
        Spare {
            next: Cell::new(NonNull::dangling()),
            left: Cell::new(0),
            given: Cell::new(0),
        }
    }

    /// A record of that layout, if one is left.
    pub(super) fn take(&self, record: Layout) -> Option<NonNull<u8>> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.given.set(self.given.get() + 1);
        let start = self.next.get();
        // SAFETY: the block has this record (B1), so its end is within it, or one past it.
        self.next.set(unsafe { start.add(record.size()) });
        Some(start)
    }
}

/// The blocks of all classes.
pub(super) struct RecordBlocks {
    blocks: Row<(NonNull<u8>, Layout)>,
    bytes: Cell<usize>,
    source: Source,
}

impl RecordBlocks {
    pub(super) fn new(source: &Source) -> Self {
        RecordBlocks {
            blocks: Row::new(source.clone()),
            bytes: Cell::new(0),
            source: source.clone(),
        }
    }

    /// Allocates further records of a class, as many as it has, unless some were allocated since
    /// it was asked. Of one chunk alone it has one.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn grow(&self, spare: &Spare, record: Layout) -> Result<(), AllocError> {
        let block = |count: usize| {
            let bytes = record.size() * count;
            // Records are small: slots are at most 2^15.
            let layout = Layout::from_size_align(bytes, record.align()).expect("it is small");
            Ok((count, Block::allocate(layout, &self.source)?))
        };
        let wanted = spare.given.get().clamp(1, MOST);
        let (count, block) = block(wanted).or_else(|_: AllocError| block(1))?;
        // Again where the allocator has used the room.
        while self.blocks.len() == self.blocks.capacity() {
            self.blocks.try_reserve(self.blocks.len() + 1)?;
        }
        if spare.left.get() == 0 {
            let layout = block.layout();
            let start = block.leak_start();
            self.blocks.push((start, layout));
            self.bytes.set(self.bytes.get() + layout.size());
            spare.next.set(start);
            spare.left.set(count);
        }
        Ok(())
    }

    /// Bytes of the blocks and their table.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get() + self.blocks.bytes()
    }
}

impl Drop for RecordBlocks {
    fn drop(&mut self) {
        for index in 0..self.blocks.len() {
            if let Some((start, layout)) = self.blocks.get(index) {
                // SAFETY: leaked by `grow`, of this layout and source; no record is used any more,
                // and none needs dropping.
                drop(unsafe { Block::from_start(start, layout, &self.source) });
            }
        }
    }
}
