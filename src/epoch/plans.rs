//! What a builder of epoch slabs has set, and the chunks of each size class that follow from it.

use core::alloc::Layout;

use super::chunk::Plan;
use super::sizes;
use crate::error::{AllocError, BuildError};
use crate::raw::source::Source;

/// What a builder of epoch slabs has set.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) chunk_capacity: usize,
    pub(super) chunk_bytes: usize,
    /// 64 KiB if none is set, or fewer within a limit.
    pub(super) largest: Option<usize>,
    pub(super) epochs: usize,
    pub(super) cached_chunks: usize,
    pub(super) reserve: usize,
    pub(super) max_bytes: usize,
}

impl Options {
    pub(super) const fn new() -> Self {
        Options {
            chunk_capacity: 64,
            chunk_bytes: 16 << 10,
            largest: None,
            epochs: 16,
            cached_chunks: 32,
            reserve: 0,
            max_bytes: usize::MAX,
        }
    }
}

/// The plans of all size classes.
#[derive(Debug)]
pub struct Plans {
    pub(super) of: [Option<Plan>; sizes::CLASSES],
    pub(super) len: usize,
}

impl Plans {
    /// Rounds the cells of each chunk up to whole pages, where pages are given back.
    pub(super) fn round_to_pages(&mut self, source: &Source) -> Result<(), AllocError> {
        let Some(page) = source.page_size() else {
            return Ok(());
        };
        for plan in self.of.iter_mut().flatten() {
            let (bytes, align) = (plan.data.size(), plan.data.align().max(page));
            plan.data = (bytes.checked_next_multiple_of(page))
                .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
                .ok_or(AllocError::OutOfMemory { bytes })?;
        }
        Ok(())
    }

    /// Leaves out the largest classes of which a chunk exceeds a limit, unless it is said which is the
    /// largest, and checks that each of the others is within it.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub(super) fn limit(&mut self, options: &Options) -> Result<(), BuildError> {
        let bytes = |plans: &Self| plans.iter().map(|plan| plan.data.size()).max();
        let limit = options.max_bytes;
        if options.largest.is_none() {
            while self.len > 1 && bytes(self) > Some(limit) {
                self.len -= 1;
            }
        }
        BuildError::in_range("max_bytes", limit, bytes(self).unwrap_or(0), usize::MAX)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Plan> {
        (0..self.len).map(|class| self.of[class].expect("within the length"))
    }
}
