//! Chunks: equal cells in a row, by the layout of one cell.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use crate::error::AllocError;
use crate::key::MAX_SLOTS;

/// The arrays of pointers that grow with the number of chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Array {
    /// The free stack: written from its start on, as cells are freed.
    Stack,
    /// The table of chunks: copied when it grows.
    Table,
}

/// The layout of `slots` cells in a row. The cell's size is a multiple of its
/// alignment.
///
/// # Errors
///
/// Past the limits of keys and of `isize`.
pub(crate) fn layout(cell: Layout, slots: usize) -> Result<Layout, AllocError> {
    debug_assert!(cell.size() % cell.align() == 0);
    if slots > MAX_SLOTS {
        return Err(AllocError::TooManySlots {
            requested: slots,
            limit: MAX_SLOTS,
        });
    }
    cell.size()
        .checked_mul(slots)
        .and_then(|bytes| Layout::from_size_align(bytes, cell.align()).ok())
        .ok_or(AllocError::TooManyBytes {
            slots,
            slot_bytes: cell.size(),
        })
}

/// Memory for a chunk of that layout, every page touched, no cell written.
///
/// # Errors
///
/// When the source refuses.
pub(crate) fn allocate(layout: Layout, source: &Source) -> Result<Block, AllocError> {
    let block = Block::allocate(layout, source)?;
    block.touch();
    Ok(block)
}

/// The places of `slots` cells of `size` bytes each, from `start` on.
///
/// # Safety
///
/// They lie in one block.
pub(crate) unsafe fn cells(
    start: NonNull<u8>,
    size: usize,
    slots: usize,
) -> impl DoubleEndedIterator<Item = NonNull<u8>> + ExactSizeIterator {
    // SAFETY: within the block, says the caller.
    (0..slots).map(move |index| unsafe { start.add(index * size) })
}

/// Chunks without an owner, linked through their own memory.
///
/// They are either allocated for a growth, or given back by a shrink to be
/// freed once nothing refers to them.
#[must_use = "dropping it frees memory that may still be referred to"]
pub(crate) struct LooseChunks {
    first: Option<NonNull<u8>>,
    count: usize,
    layout: Layout,
    source: Source,
}

impl LooseChunks {
    /// No chunks. Those to come are from this source and of this layout, which
    /// has room for a pointer.
    pub(crate) fn new(layout: Layout, source: Source) -> Self {
        debug_assert!(layout.size() >= size_of::<Option<NonNull<u8>>>());
        LooseChunks {
            first: None,
            count: 0,
            layout,
            source,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn add(&mut self, chunk: Block) {
        debug_assert!(chunk.layout() == self.layout);
        let start = chunk.leak_start();
        // SAFETY: an unused chunk with room for a pointer.
        unsafe { start.cast().write_unaligned(self.first) };
        self.first = Some(start);
        self.count += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Block> {
        let start = self.first?;
        self.count -= 1;
        // SAFETY: `add` wrote the link there, and gave up a block of this layout and
        // source.
        unsafe {
            self.first = start.cast().read_unaligned();
            Some(Block::from_start(start, self.layout, &self.source))
        }
    }
}

impl Drop for LooseChunks {
    fn drop(&mut self) {
        while let Some(chunk) = self.pop() {
            drop(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_arithmetic_does_not_wrap() {
        let cell = Layout::new::<u128>();
        // Where pointers have 32 bits there is no such number.
        let wraps_32_bits = 1_usize
            .checked_shl(32)
            .map_or(usize::MAX, |slots| slots + 4);
        for slots in [1 << 30, wraps_32_bits, usize::MAX] {
            assert_eq!(
                layout(cell, slots),
                Err(AllocError::TooManySlots {
                    requested: slots,
                    limit: MAX_SLOTS
                })
            );
        }
        assert!(matches!(
            layout(Layout::new::<[u8; isize::MAX as usize / 4]>(), 5),
            Err(AllocError::TooManyBytes { slots: 5, .. })
        ));
        // 16 GiB.
        assert_eq!(layout(cell, MAX_SLOTS).is_ok(), usize::BITS > 32);
    }

    #[test]
    fn loose_chunks_come_back_or_are_freed() {
        let layout = layout(Layout::new::<u64>(), 3).unwrap();
        let mut chunks = LooseChunks::new(layout, Source::GLOBAL);
        let starts = [0, 1].map(|_| {
            let chunk = allocate(layout, &Source::GLOBAL).unwrap();
            let start = chunk.start();
            chunks.add(chunk);
            start
        });
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks.pop().unwrap().start(), starts[1]);
        assert_eq!(chunks.len(), 1);
    }
}
