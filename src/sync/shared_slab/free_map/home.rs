//! `Home`: what the threads of one part of the map share, and which of them a thread has.

#[cfg(all(feature = "std", not(all(test, loom))))]
use core::cell::Cell;

use crate::key::MAX_SLOTS;
#[cfg(all(feature = "std", not(all(test, loom))))]
use crate::raw::atomic::Count;
use crate::raw::atomic::Ordering;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::{AtomicU32, AtomicU64};
#[cfg(all(test, not(loom)))]
use crate::sync::shared_slab::counted::{AtomicU32, AtomicU64};

/// The most homes. More threads than that share some; more homes make it longer to find that
/// no cell is free.
pub(super) const MOST_HOMES: usize = 16;

/// Two cache lines: processors load the second one with the first.
pub(super) const APART: usize = 128;

/// What a home has.
#[repr(C, align(128))]
pub(super) struct Home {
    pub(super) spare: Spare,
    pub(super) hint: AtomicU32,
    /// The word from which on its threads search.
    pub(super) first: u32,
    pub(super) note: Note,
}

const _: () = assert!(align_of::<Home>() == APART);
#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Home>() == APART);

/// Room for one cell: its index and 1, or 0.
pub(super) struct Spare(pub(super) AtomicU32);

// An index and 1 fit.
const _: () = assert!(MAX_SLOTS < u32::MAX as usize);

impl Spare {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: a figure, or checked by a change.
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Puts a cell there, if there is none.
    #[inline(always)]
    pub(super) fn put(&self, index: usize) -> bool {
        // Release: pairs with the acquire in `take`. Relaxed where it fails: nothing was learnt.
        let order = (Ordering::Release, Ordering::Relaxed);
        self.is_empty()
            && (self.0)
                .compare_exchange(0, index as u32 + 1, order.0, order.1)
                .is_ok()
    }

    /// Takes the cell that is there.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        // Acquire: pairs with the release in `put`.
        let spare = self.0.swap(0, Ordering::Acquire);
        spare.checked_sub(1).map(|index| index as usize)
    }
}

/// A closing under way: the word and 1, or 0; above that, how many were noted here. That may
/// wrap: only whether it is the same counts, and it has 39 bits.
pub(super) struct Note(pub(super) AtomicU64);

pub(super) const NOTED_WORD: u64 = (1 << 25) - 1;

impl Note {
    /// Notes a word, unless there is one. To be struck out by the caller.
    pub(super) fn begin(&self, word: usize) -> bool {
        // Relaxed: checked by the exchange.
        let free = self.0.load(Ordering::Relaxed);
        if free & NOTED_WORD != 0 {
            return false;
        }
        let noted = (free | NOTED_WORD).wrapping_add(word as u64 + 2);
        // Acquire: pairs with the release in `end`: who acquires the end of this closing sees
        // what those before it did, too. (No model notices: it takes four threads.) Who sees
        // the bit that is cleared next sees this: that change releases it.
        let order = (Ordering::Acquire, Ordering::Relaxed);
        (self.0)
            .compare_exchange(free, noted, order.0, order.1)
            .is_ok()
    }

    /// Strikes out the word that the caller has noted.
    pub(super) fn end(&self) {
        // Relaxed: no one else changes it while there is a word.
        let noted = self.0.load(Ordering::Relaxed);
        // Release: pairs with the acquire of a search: what was listed is seen.
        self.0.store(noted & !NOTED_WORD, Ordering::Release);
    }

    /// The word that the bits of a note say.
    pub(super) fn word(bits: u64) -> Option<usize> {
        (bits & NOTED_WORD).checked_sub(1).map(|word| word as usize)
    }
}

/// A number below [`MOST_HOMES`] that this thread keeps. Threads get them in turn, those that
/// follow each other far apart: where there are fewer homes, the first threads get one each.
#[cfg(all(feature = "std", not(all(test, loom))))]
#[inline(always)]
pub(super) fn thread_number() -> usize {
    std::thread_local! {
        static NUMBER: Cell<u8> = const { Cell::new(NO_NUMBER) };
    }
    // It is gone in destructors of other such values, where they are not the platform's own:
    // any number will do.
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
    // Relaxed: a number of no meaning.
    let next = NEXT.fetch_add(1, Ordering::Relaxed) % MOST_HOMES;
    let number = (next as u8).reverse_bits() >> (u8::BITS - MOST_HOMES.ilog2());
    place.set(number);
    usize::from(number)
}

/// A number below [`MOST_HOMES`] that differs between threads as a rule: their stacks lie
/// apart.
#[cfg(not(any(feature = "std", all(test, loom))))]
#[inline(always)]
pub(super) fn thread_number() -> usize {
    let local = 0_u8;
    let stack = (core::ptr::from_ref(&local).addr() >> 14) as u32;
    // Fibonacci hashing: the upper bits depend on all.
    (stack.wrapping_mul(0x9e37_79b9) >> (u32::BITS - MOST_HOMES.ilog2())) as usize
}

/// The models say which home a thread has.
#[cfg(all(test, loom))]
pub(super) fn thread_number() -> usize {
    0
}
