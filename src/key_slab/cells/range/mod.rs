//! Ranges of addresses, in which cells and free indices grow where they are.
//!
//! A range is reserved, inaccessible at first, and opened from the front as the slab grows: no
//! address changes and nothing is copied. Its pages come from the system when they are touched.
//! Where it is used up, its pages move into a larger one, by the tables of the processor.
//!
//! One mapping has both: the cells from its start, the indices after the room for all cells there
//! can be. Bytes are opened by whole [`GRAIN`]s.
//!
//! # Invariants
//!
//! * R1: a range's bytes are open, readable and writable, for `opened` cells and as many indices.
//! * R2: a range is the caller's alone from `reserve` to `release` or `move_to`.

#[cfg(miri)]
mod fake;
mod layout;
#[cfg(not(miri))]
mod system;

use core::ptr::NonNull;

#[cfg(miri)]
use fake as backend;
#[cfg(not(miri))]
use system as backend;

use core::sync::atomic::Ordering;

use crate::error::AllocError;
use crate::raw::atomic::Count;

pub(super) use layout::{GRAIN, Range, STEP, Sizes, THRESHOLD};

/// The most ranges a process has. The system allows 65,530 mappings, of which a range has four, and
/// threads that cannot start where they are used up.
pub(super) const MOST_RANGES: usize = 1024;

static RANGES: Count = Count::new(0);

/// Ranges that the process has.
pub(super) fn count() -> usize {
    // Relaxed: a figure for people.
    RANGES.load(Ordering::Relaxed)
}

impl Range {
    /// Reserves a range of 2^`log` bytes; `None` if the system refuses, or there are as many as
    /// there may be.
    pub(super) fn reserve(log: u8, sizes: Sizes) -> Option<Range> {
        // Relaxed: only the number matters.
        if RANGES.fetch_add(1, Ordering::Relaxed) >= MOST_RANGES {
            RANGES.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let range = backend::reserve(log, sizes);
        if range.is_none() {
            RANGES.fetch_sub(1, Ordering::Relaxed);
        }
        range
    }

    /// The bytes from `from` slots up to `to` become usable, or are given back.
    ///
    /// # Errors
    ///
    /// When the system refuses: nothing has changed. It refuses to give none back.
    ///
    /// # Safety
    ///
    /// So many slots are open, and both are at most what the range can have. What is given back is
    /// not used any more.
    pub(super) unsafe fn resize(
        &mut self,
        sizes: Sizes,
        from: usize,
        to: usize,
    ) -> Result<(), AllocError> {
        debug_assert!(from.max(to) <= sizes.most_slots(self.log));
        // SAFETY: the preconditions are the same.
        unsafe { backend::resize(self, sizes, from, to) }
    }

    /// Whether the system can move the pages of the cells of `opened` slots. It moves one mapping,
    /// and what is opened beside moved pages is another: a range moves by its pages once, and not
    /// after a fork.
    ///
    /// # Safety
    ///
    /// So many slots are open.
    pub(super) unsafe fn is_one_mapping(&self, sizes: Sizes, opened: usize) -> bool {
        // SAFETY: the precondition is the same.
        unsafe { backend::is_one_mapping(self, sizes, opened) }
    }

    /// Moves the pages of the cells of `opened` slots to the start of a larger range, in which as
    /// many are open, and releases this one; the indices are gone. If the system refuses, nothing
    /// has changed here, and the other range must not be touched any more: its place may be another
    /// thread's.
    ///
    /// # Safety
    ///
    /// So many slots are open in both, and the other's cells are not in use.
    pub(super) unsafe fn move_to(self, other: &Range, sizes: Sizes, opened: usize) -> bool {
        // SAFETY: the preconditions are the same.
        let is_moved = unsafe { backend::move_to(self, other, sizes, opened) };
        // One of both is left, or, if the other is lost, it is not counted for ever.
        RANGES.fetch_sub(1, Ordering::Relaxed);
        is_moved
    }

    /// # Safety
    ///
    /// So many slots are open, and the range is not used any more.
    pub(super) unsafe fn release(self, sizes: Sizes, opened: usize) {
        // SAFETY: the preconditions are the same.
        unsafe { backend::release(self, sizes, opened) };
        RANGES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Finds out what the first range of the process waits for.
pub(super) fn ask_system() {
    backend::is_advised();
}

/// Populates the pages of bytes of a range, so that no access faults.
///
/// # Safety
///
/// They are open, and not in use.
pub(super) unsafe fn populate(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the precondition is the same.
    unsafe { backend::populate(start, bytes) }
}
