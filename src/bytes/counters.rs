//! What an arena counts.

use core::cell::Cell;

use super::references::References;
#[cfg(feature = "stats")]
use crate::raw::atomic::{Count, Ordering};

/// A number that goes up.
#[derive(Default)]
pub(super) struct Counter(Cell<u64>);

impl Counter {
    #[inline(always)]
    pub(super) fn add(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }

    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// What is counted apart from the classes.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) mallocs: Counter,
    pub(super) malloc_errs: Counter,
    pub(super) too_large_errs: Counter,
    pub(super) add_chunk_errs: Counter,
    pub(super) pop_free_errs: Counter,
    pub(super) freed_chunks: Counter,
}

/// A number that goes up with each reference, also by other threads where these count. Without
/// the feature `stats` it is none: clone and drop would take 1.3 to 1.6 times as long, and longer
/// if several threads counted.
#[derive(Default)]
pub(super) struct Tally(#[cfg(feature = "stats")] Count);

impl Tally {
    #[inline(always)]
    #[cfg_attr(
        not(feature = "stats"),
        expect(clippy::unused_self, reason = "counts nothing")
    )]
    pub(super) fn add<R: References>(&self) {
        #[cfg(feature = "stats")]
        if R::ATOMIC {
            // Relaxed, here and below: a figure.
            self.0.fetch_add(1, Ordering::Relaxed);
        } else {
            let next = self.0.load(Ordering::Relaxed).wrapping_add(1);
            self.0.store(next, Ordering::Relaxed);
        }
    }

    #[cfg(feature = "stats")]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

/// What is counted of references.
#[derive(Default)]
// Not on the lines that the arena's thread writes to.
#[cfg_attr(feature = "stats", repr(align(128)))]
pub(super) struct Tallies {
    pub(super) add_refs: Tally,
    pub(super) dec_refs: Tally,
    pub(super) dec_ref_zeroes: Tally,
    pub(super) get_nexts: Tally,
    pub(super) set_nexts: Tally,
}
