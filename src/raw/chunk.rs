//! A block of cells: its layout, its stamps, and the way from an index to a
//! cell.

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::cell::{CellPtr, assert_layout};
use super::memory::Block;
use crate::error::AllocError;
use crate::key::Key;

/// The most slots a slab can have. Every key is below 2^30, so none reaches
/// [`Key::NONE`], and two bits are left for those who pack a key with flags.
pub(crate) const MAX_SLOTS: usize = (1 << 30) - 1;

const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

/// Cells in one block. Dropping it frees the block and drops no value.
pub(crate) struct Chunk<T> {
    block: Block,
    cells: PhantomData<*mut T>,
}

impl<T> Chunk<T> {
    /// The layout of `slots` cells in a row.
    ///
    /// # Errors
    ///
    /// Past the limits of keys and of `isize`.
    pub(crate) fn layout(slots: usize) -> Result<Layout, AllocError> {
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

    /// `slots` free cells with ascending keys from `first`, every page touched
    /// and every stamp written.
    pub(crate) fn try_new(slots: usize, first: Key) -> Result<Self, AllocError> {
        let chunk = Chunk {
            block: Block::allocate(Self::layout(slots)?)?,
            cells: PhantomData,
        };
        chunk.block.touch();
        for (index, key) in (first.into_raw()..).take(slots).enumerate() {
            // SAFETY: `index < slots`, so the cell is within the block, and
            // nobody has seen the block yet.
            unsafe { cell_at::<T>(chunk.start(), index).stamp_free(Key::from_raw(key)) };
        }
        Ok(chunk)
    }

    /// Where the first cell stands.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.block.start()
    }

    /// The block, for a keeper that does not know `T`.
    pub(crate) fn into_block(self) -> Block {
        self.block
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
        for slots in [1 << 30, (1 << 32) + 4, usize::MAX] {
            assert_eq!(
                Chunk::<u64>::layout(slots),
                Err(AllocError::TooManySlots {
                    requested: slots,
                    limit: MAX_SLOTS
                })
            );
        }
        type Huge = [u8; isize::MAX as usize / 4];
        assert!(matches!(
            Chunk::<Huge>::layout(5),
            Err(AllocError::TooManyBytes { slots: 5, .. })
        ));
        assert!(Chunk::<u64>::layout(MAX_SLOTS).is_ok());
    }

    #[test]
    fn keys_ascend_from_the_first() {
        let chunk = Chunk::<[u8; 3]>::try_new(5, Key::from_raw(8)).unwrap();
        for index in 0..5 {
            // SAFETY: the chunk has five cells, all stamped.
            let key = unsafe { cell_at::<[u8; 3]>(chunk.start(), index).key() };
            assert_eq!(key.index(), 8 + index);
        }
    }
}
