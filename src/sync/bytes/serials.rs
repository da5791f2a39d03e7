//! Numbers that no two buffers have, of no two arenas; taken by any thread.
//!
//! As in `bytes/serials.rs` the high word of a serial is one that the process gave this arena.
//! There the words are in a table that grows; here other threads take serials, and look for
//! nothing that an allocator would have to make. So an arena takes as many words as it has had,
//! in a row, and a table of thirty rows is enough for more than there are.
//!
//! # Invariants
//!
//! * M1: the `n`-th serial has the low word of `n`, and the high word that is the `n >> 32`-th of
//!   those in the rows, in their order. Row 0 has one word, row `r` as many as all before it.
//! * M2: the first word of a row is 0 until the row is taken, and does not change then. Who takes
//!   a row at once with another thread, and comes second, loses those words: they are no one's.
//! * M3: once [`CLOSED`] is set no serial is given out.

use crate::bytes::{LocError, take_words};
use crate::raw::atomic::{AtomicU32, AtomicU64, Ordering};

/// Rows of words: 2²⁹ in all, and so 2⁶¹ serials.
#[cfg(not(loom))]
const ROWS: usize = 30;
/// A model gives out a few, and each atomic of it costs time.
#[cfg(loom)]
const ROWS: usize = 1;

/// Set in the count of serials when the arena is dropped. So many are never counted.
const CLOSED: u64 = 1 << 63;

/// Where the serials of an arena come from. On lines of its own: other threads write to it.
#[repr(align(128))]
pub(super) struct Serials {
    /// How many were given out, and whether more are.
    given: AtomicU64,
    /// The first words of the rows.
    rows: [AtomicU32; ROWS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Serials>() == 128);

/// How many words the rows before one have.
fn before(row: usize) -> u32 {
    (1 << row) >> 1
}

/// How many words a row has.
fn words(row: usize) -> u32 {
    before(row).max(1)
}

impl Serials {
    pub(super) fn new() -> Self {
        Serials {
            given: AtomicU64::new(0),
            rows: core::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// The next serial.
    ///
    /// # Errors
    ///
    /// If there is none, or the arena was dropped.
    pub(super) fn next(&self) -> Result<u64, LocError> {
        // Relaxed: each number is given out once, and nothing else is to be seen with it.
        let count = self.given.fetch_add(1, Ordering::Relaxed);
        if count >= CLOSED {
            return Err(LocError::Closed);
        }
        let index = (count >> 32) as u32;
        let row = (u32::BITS - index.leading_zeros()) as usize;
        let first = self.row(row).ok_or(LocError::Exhausted)?;
        let word = first + (index - before(row));
        Ok((u64::from(word) << 32) | (count % (1 << 32)))
    }

    /// The first word of a row, which is taken if it was not.
    #[inline]
    fn row(&self, row: usize) -> Option<u32> {
        // Relaxed: a word, with which nothing else is to be seen.
        match self.rows.get(row)?.load(Ordering::Relaxed) {
            0 => self.take_row(row),
            first => Some(first),
        }
    }

    /// Takes the words of a row: thirty times at most.
    #[cold]
    #[inline(never)]
    fn take_row(&self, row: usize) -> Option<u32> {
        let first = take_words(words(row))?;
        // Relaxed: as in `row`; there is one exchange that finds 0 (M2).
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        match self.rows[row].compare_exchange(0, first, order.0, order.1) {
            Ok(_) => Some(first),
            Err(taken) => Some(taken),
        }
    }

    /// Whether a serial was given out here, or could be.
    pub(super) fn knows(&self, serial: u64) -> bool {
        let word = (serial >> 32) as u32;
        self.rows.iter().enumerate().any(|(row, first)| {
            // Relaxed: who was given a position with that word was given it after the word was
            // taken.
            let first = first.load(Ordering::Relaxed);
            first != 0 && word.wrapping_sub(first) < words(row)
        })
    }

    /// The arena is dropped: no more are given out. Whether any were.
    pub(super) fn close(&self) -> bool {
        // Relaxed: of each serial it is certain whether it was counted before this or refused.
        self.given.fetch_or(CLOSED, Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_serial_is_given_out_twice() {
        let (one, other) = (Serials::new(), Serials::new());
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            let (serial, foreign) = (one.next().unwrap(), other.next().unwrap());
            assert!(serial >> 32 != 0 && seen.insert(serial) && seen.insert(foreign));
            assert!(one.knows(serial) && !one.knows(foreign) && !one.knows(0));
            assert!(!one.knows(u64::MAX));
        }
    }

    #[test]
    fn each_full_low_word_takes_the_next_high_word() {
        let serials = Serials::new();
        let mut seen = BTreeSet::new();
        for index in 0..9_u64 {
            serials
                .given
                .store(index << 32 | 0xffff_ffff, Ordering::Relaxed);
            for _ in 0..2 {
                let serial = serials.next().unwrap();
                assert!(serials.knows(serial));
                assert!(seen.insert(serial), "{serial:x} of word {index}");
            }
        }
        // 0 to 9, each once but for the first.
        let words: BTreeSet<u64> = seen.iter().map(|serial| serial >> 32).collect();
        assert_eq!((seen.len(), words.len()), (18, 10));
    }

    #[test]
    fn rows_follow_each_other() {
        let mut sum = 0;
        for row in 0..ROWS {
            assert_eq!(before(row), sum);
            sum += words(row);
        }
        let serials = Serials::new();
        serials.given.store(u64::from(sum) << 32, Ordering::Relaxed);
        assert_eq!(serials.next(), Err(LocError::Exhausted));
    }

    #[test]
    fn a_closed_one_gives_out_none() {
        let serials = Serials::new();
        assert!(!serials.close());
        assert_eq!(serials.next(), Err(LocError::Closed));
        let serials = Serials::new();
        serials.next().unwrap();
        assert!(serials.close());
        assert_eq!(serials.next(), Err(LocError::Closed));
    }
}
