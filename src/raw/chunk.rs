//! Chunks: equal cells in a row, by the layout of one cell.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use super::touch::LINE;
use crate::error::AllocError;
use crate::key::MAX_SLOTS;

/// Rows of so many bytes begin at a cache line. malloc returns blocks that begin 16 bytes into
/// one: there every second cell of 32 bytes crosses a line, and each of 64. A value that is read
/// across lines soon after it was written waits for the store. For a smaller row the alignment
/// costs more than its few cells gain: 80 bytes take 129 ns and 96 bytes by malloc, 262 ns and
/// 144 bytes aligned to a line.
pub(crate) const LINES: usize = 4096;

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
        .and_then(|bytes| {
            let least = if bytes < LINES { 1 } else { LINE };
            Layout::from_size_align(bytes, cell.align().max(least)).ok()
        })
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
    // SAFETY: the cells lie in one block (precondition).
    (0..slots).map(move |index| unsafe { start.add(index * size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_of_a_long_row_crosses_a_line_if_its_size_allows() {
        for size in [16, 32, 64, 128] {
            let cell = Layout::from_size_align(size, 8).unwrap();
            for slots in [LINES / size, 1000] {
                let block = allocate(layout(cell, slots).unwrap(), &Source::GLOBAL).unwrap();
                assert_eq!(block.start().addr().get() % LINE, 0, "{size} {slots}");
            }
            let short = layout(cell, LINES / size - 1).unwrap();
            assert_eq!(short.align(), 8);
        }
    }

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
}
