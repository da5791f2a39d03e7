//! Where there are no ranges: cells stay in blocks.

use core::ptr::NonNull;

use super::Cells;
use crate::error::AllocError;
use crate::raw::report::ReservedRange;

#[expect(
    clippy::unused_self,
    clippy::extra_unused_type_parameters,
    reason = "as where there are ranges"
)]
impl Cells {
    pub(super) fn ask_system() {}

    pub(in super::super) fn is_in_range(&self) -> bool {
        debug_assert!(self.form.range() == 0);
        false
    }

    pub(super) unsafe fn try_resize_in_range<C>(
        &mut self,
        _used: usize,
        _capacity: usize,
    ) -> Option<Result<(), AllocError>> {
        None
    }

    pub(super) fn next_in_range<C>(&self, least: usize) -> usize {
        least
    }

    pub(in super::super) fn reserved(&self) -> Option<ReservedRange> {
        None
    }

    pub(super) fn range_bytes<C>(&self) -> usize {
        0
    }

    pub(super) unsafe fn release_range<C>(&mut self) {}

    pub(super) unsafe fn populate(_start: NonNull<u8>, _bytes: usize) {}
}
