//! The small fields of [`Cells`](super::Cells).

#![cfg_attr(
    not(feature = "alloc"),
    allow(dead_code, reason = "all memory is lent")
)]

use crate::key::MAX_SLOTS;

/// What the memory is, in one word: a slab that is moved as soon as it has a block would wait for
/// the stores of several small fields.
#[derive(Clone, Copy)]
pub(super) struct Form(u64);

impl Form {
    /// No memory.
    pub(super) const NONE: Form = Form(0);

    /// Of so many cells, that begin `offset` bytes within their block, or in a range of 2^`range`
    /// bytes; 0 if it is a block.
    #[inline(always)]
    pub(super) fn set(&mut self, capacity: usize, offset: u8, range: u8) {
        debug_assert!(capacity <= MAX_SLOTS);
        let new = capacity as u64 | u64::from(offset) << 32 | u64::from(range) << 40;
        self.0 = self.0 & Self::TO_RANGE | new;
    }

    /// Of so many cells in memory that is lent.
    pub(super) fn set_lent(&mut self, capacity: usize) {
        debug_assert!(capacity <= MAX_SLOTS);
        self.0 = capacity as u64 | Self::LENT;
    }

    pub(super) fn is_lent(self) -> bool {
        self.0 & Self::LENT != 0
    }

    /// Set if the memory is not the slab's own.
    const LENT: u64 = 1 << 62;

    /// Set if a large block is to become a range.
    const TO_RANGE: u64 = 1 << 63;

    #[inline(always)]
    pub(super) fn capacity(self) -> usize {
        self.0 as u32 as usize
    }

    pub(super) fn offset(self) -> u8 {
        (self.0 >> 32) as u8
    }

    pub(super) fn range(self) -> u8 {
        (self.0 >> 40) as u8
    }

    pub(super) fn to_range(self) -> bool {
        self.0 & Self::TO_RANGE != 0
    }

    pub(super) fn set_to_range(&mut self, to_range: bool) {
        self.0 = u64::from(to_range) << 63 | self.0 & !Self::TO_RANGE;
    }
}
