//! A block of cells: its layout, its stamps, and the way from an index to a
//! cell.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::cell::{CellPtr, assert_layout};
use super::memory::Block;
use crate::error::AllocError;
use crate::key::Key;

/// The most slots a slab can have. Every key is below 2^30, so none reaches
/// [`Key::NONE`], and two bits are left for those who pack a key with flags.
pub(crate) const MAX_SLOTS: usize = (1 << 30) - 1;

const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

/// The layout of `slots` cells in a row.
///
/// # Errors
///
/// Past the limits of keys and of `isize`.
pub(crate) fn layout<T>(slots: usize) -> Result<Layout, AllocError> {
    const { assert_layout::<T>() };
    if slots > MAX_SLOTS {
        return Err(AllocError::TooManySlots {
            requested: slots,
            limit: MAX_SLOTS,
        });
    }
    CellPtr::<T>::SIZE
        .checked_mul(slots)
        .and_then(|bytes| Layout::from_size_align(bytes, CellPtr::<T>::LAYOUT.align()).ok())
        .ok_or(AllocError::TooManyBytes {
            slots,
            slot_bytes: CellPtr::<T>::SIZE,
        })
}

/// Memory for a chunk of that layout, every page touched, no cell stamped.
///
/// # Errors
///
/// When the allocator refuses.
pub(crate) fn allocate(layout: Layout) -> Result<Block, AllocError> {
    let block = Block::allocate(layout)?;
    block.touch();
    Ok(block)
}

/// Makes all cells of a chunk free ones, with the keys that `key` has for their
/// places.
///
/// # Safety
///
/// The block that starts at `start` has the layout of `slots` cells of `T`, and
/// nobody looks at them.
pub(crate) unsafe fn stamp_all<T>(start: NonNull<u8>, slots: usize, key: impl Fn(u32) -> Key) {
    for index in 0..slots {
        // SAFETY: within the block, says the caller, and nobody's.
        unsafe { cell_at::<T>(start, index).stamp_free(key(index as u32)) };
    }
}

/// The cell at `index` of the chunk that starts at `start`.
///
/// # Safety
///
/// The chunk has more than `index` cells of `T`.
#[inline(always)]
pub(crate) unsafe fn cell_at<T>(start: NonNull<u8>, index: usize) -> CellPtr<T> {
    // SAFETY: the chunk's layout fits `isize`, and so does every offset in it.
    CellPtr::new(unsafe { start.add(index * CellPtr::<T>::SIZE) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_arithmetic_does_not_wrap() {
        // Where pointers have 32 bits there is no such number.
        let wraps_32_bits = 1_usize
            .checked_shl(32)
            .map_or(usize::MAX, |slots| slots + 4);
        for slots in [1 << 30, wraps_32_bits, usize::MAX] {
            assert_eq!(
                layout::<u64>(slots),
                Err(AllocError::TooManySlots {
                    requested: slots,
                    limit: MAX_SLOTS
                })
            );
        }
        type Huge = [u8; isize::MAX as usize / 4];
        assert!(matches!(
            layout::<Huge>(5),
            Err(AllocError::TooManyBytes { slots: 5, .. })
        ));
        // 16 GiB.
        assert_eq!(layout::<u64>(MAX_SLOTS).is_ok(), usize::BITS > 32);
    }

    #[test]
    fn every_cell_is_stamped() {
        let chunk = allocate(layout::<[u8; 3]>(5).unwrap()).unwrap();
        // SAFETY: the chunk has five cells, nobody's but this test's.
        unsafe {
            stamp_all::<[u8; 3]>(chunk.start(), 5, |index| Key::from_raw(8 + index));
            for index in 0..5 {
                let cell = cell_at::<[u8; 3]>(chunk.start(), index);
                assert_eq!(cell.key().index(), 8 + index);
                assert!(cell.state() == crate::raw::stamp::State::FREE);
            }
        }
    }
}
