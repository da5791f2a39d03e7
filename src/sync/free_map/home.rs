//! The homes of a map's threads, which are on lines of their own: a thread takes its cells where it
//! gave some last, and away from the other threads.
//!
//! In a map that is nearly full, a thread that gives one cell and takes one lists and closes no word,
//! wherever the cells are: the one is in the spare of its home. Of a word it takes the lowest cell,
//! so that cells are used again while they are in the cache. A hint that is wrong costs a look at
//! an empty word.

#[cfg(all(feature = "std", not(all(test, loom))))]
use core::cell::Cell;

use super::note::Note;
use crate::key::MAX_SLOTS;
#[cfg(all(feature = "std", not(all(test, loom))))]
use crate::raw::atomic::Count;
use crate::raw::atomic::Ordering;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::{AtomicU32, AtomicU64};
#[cfg(all(test, not(loom)))]
use crate::sync::counted::{AtomicU32, AtomicU64};

/// The maximum number of homes. More threads than that share some; with more homes it takes longer
/// to find that no cell is free.
pub(in crate::sync) const MOST_HOMES: usize = 16;

/// Two cache lines: processors load the second one with the first.
pub(super) const APART: usize = 128;

/// The state of a home.
#[repr(C, align(128))]
pub(super) struct Home {
    pub(super) spare: Spare,
    /// The word in which one of its threads found or gave a cell last: a guess.
    pub(super) hint: AtomicU32,
    /// The word from which on its threads search.
    pub(super) first: u32,
    pub(super) note: Note,
}

const _: () = assert!(align_of::<Home>() == APART);
#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Home>() == APART);

/// Room for one cell: its index plus 1 in the lower half, or 0; in the upper half the number of cells
/// that were taken from here. That number may wrap: it is only compared with an earlier one.
pub(super) struct Spare(pub(super) AtomicU64);

// An index plus 1 fits.
const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

impl Spare {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: only statistics.
        self.0.load(Ordering::Relaxed) as u32 == 0
    }

    /// Puts a cell there, if the spare is empty.
    #[inline(always)]
    pub(super) fn put(&self, index: usize) -> bool {
        // Relaxed: checked by the exchange.
        let empty = self.0.load(Ordering::Relaxed);
        let full = empty + index as u64 + 1;
        // Release: pairs with the acquire in `take`. Relaxed where it fails: nothing was learnt.
        let order = (Ordering::Release, Ordering::Relaxed);
        empty as u32 == 0
            && (self.0)
                .compare_exchange(empty, full, order.0, order.1)
                .is_ok()
    }

    /// Takes the cell out.
    ///
    /// # Errors
    ///
    /// If there is none, or another thread takes it: what was seen.
    #[inline(always)]
    pub(super) fn take(&self) -> Result<usize, u64> {
        // Relaxed: checked by the exchange.
        let full = self.0.load(Ordering::Relaxed);
        if full as u32 == 0 {
            return Err(full);
        }
        // No cell, and one more in the upper half.
        let empty = (full | u64::from(u32::MAX)).wrapping_add(1);
        // Acquire: pairs with the release in `put`. Release: a search that sees the spare empty
        // sees what this thread gave before. Relaxed where it fails: nothing was learnt.
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        (self.0).compare_exchange(full, empty, order.0, order.1)?;
        Ok((full as u32 - 1) as usize)
    }
}

/// A number below [`MOST_HOMES`] that this thread keeps. Threads get the numbers in turn, with
/// consecutive threads far apart: if there are fewer homes, the first threads get one each.
#[cfg(all(feature = "std", not(all(test, loom))))]
#[inline(always)]
pub(in crate::sync) fn thread_number() -> usize {
    std::thread_local! {
        static NUMBER: Cell<u8> = const { Cell::new(NO_NUMBER) };
    }
    // On platforms without native thread-locals it does not exist in destructors of other
    // thread-locals: any number will do.
    let number = NUMBER.try_with(|number| match number.get() {
        NO_NUMBER => next_thread_number(number),
        number => usize::from(number),
    });
    number.unwrap_or(0)
}

#[cfg(all(feature = "std", not(all(test, loom))))]
const NO_NUMBER: u8 = u8::MAX;

#[cfg(all(feature = "std", not(all(test, loom))))]
#[cold]
#[inline(never)]
fn next_thread_number(place: &Cell<u8>) -> usize {
    static NEXT: Count = Count::new(0);
    // Relaxed: a number without a meaning.
    let next = NEXT.fetch_add(1, Ordering::Relaxed) % MOST_HOMES;
    let number = (next as u8).reverse_bits() >> (u8::BITS - MOST_HOMES.ilog2());
    place.set(number);
    usize::from(number)
}

/// A number below [`MOST_HOMES`] that usually differs between threads, because their stacks are
/// apart.
#[cfg(not(any(feature = "std", all(test, loom))))]
#[inline(always)]
pub(in crate::sync) fn thread_number() -> usize {
    let local = 0_u8;
    let stack = (core::ptr::from_ref(&local).addr() >> 14) as u32;
    // Fibonacci hashing: the upper bits depend on all.
    (stack.wrapping_mul(0x9e37_79b9) >> (u32::BITS - MOST_HOMES.ilog2())) as usize
}

/// The models say which home a thread has.
#[cfg(all(test, loom))]
pub(in crate::sync) fn thread_number() -> usize {
    0
}
