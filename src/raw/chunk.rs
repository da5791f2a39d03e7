//! Chunks: equal cells in a row, by the layout of one cell.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::memory::Block;
use super::source::Source;
use crate::error::AllocError;
use crate::key::MAX_SLOTS;

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
    // SAFETY: the cells lie in one block (precondition).
    (0..slots).map(move |index| unsafe { start.add(index * size) })
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
}
