//! What an arena counts as it works, and its [statistics](super::stats) report.

use core::cell::Cell;

/// A number that only increases.
#[derive(Default)]
pub(super) struct Counter(Cell<u64>);

impl Counter {
    #[inline]
    pub(super) fn add(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }

    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// Counts that are not those of a class.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) mallocs: Counter,
    pub(super) malloc_errs: Counter,
    pub(super) too_large_errs: Counter,
    pub(super) add_chunk_errs: Counter,
    pub(super) pop_free_errs: Counter,
    pub(super) freed_chunks: Counter,
}
