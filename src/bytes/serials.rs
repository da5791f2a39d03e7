//! Numbers that no two buffers have, of no two arenas.
//!
//! # Invariants
//!
//! * U1: a serial's high word was taken from the process's counter by one arena, which gives
//!   out each serial with that word once. No word is taken twice, and none is 0 or the last.
//! * U2: `words` are those that this arena has taken; there is room for the next.

use core::cell::Cell;

use crate::error::AllocError;
use crate::raw::atomic::{Count, Ordering};
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The high words that were taken, in this process.
static WORDS: Count = Count::new(0);

/// Where the serials of an arena come from.
pub(super) struct Serials {
    /// The serial that was given out last. Its low word is full before there is a first.
    last: Cell<u64>,
    words: Row<u32>,
}

/// Takes the next high word of the process; `None` once there is none.
fn next_word(words: &Count) -> Option<u32> {
    // Relaxed: each word is taken once, and nothing else is to be seen with it.
    let next = |last: usize| Some(last + 1).filter(|&it| it < u32::MAX as usize);
    let before = words.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    before.ok().map(|before| before as u32 + 1)
}

impl Serials {
    /// Allocates nothing.
    pub(super) fn new(source: Source) -> Self {
        Serials {
            last: Cell::new(u32::MAX.into()),
            words: Row::new(source),
        }
    }

    /// Allocates what the first 2^32 serials need.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn prepare(&self) -> Result<(), AllocError> {
        self.words.try_reserve(1)
    }

    /// The next serial; none if there is none.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        if self.last.get() as u32 == u32::MAX {
            self.take_word()?;
        }
        let serial = self.last.get() + 1;
        self.last.set(serial);
        Some(serial)
    }

    /// Takes another high word: once in 2^32 serials.
    #[cold]
    fn take_word(&self) -> Option<()> {
        // Again where the allocator has taken a word, and the room.
        while self.words.len() == self.words.capacity() {
            self.words.try_reserve(self.words.len() + 1).ok()?;
        }
        let word = next_word(&WORDS)?;
        self.words.push(word);
        self.last.set(u64::from(word) << 32);
        Some(())
    }

    /// Whether a serial was given out here, or could be.
    pub(super) fn knows(&self, serial: u64) -> bool {
        let word = (serial >> 32) as u32;
        let mut words = (0..self.words.len()).rev();
        words.any(|index| self.words.get(index) == Some(word))
    }

    /// Bytes of the table of words.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_serial_is_given_out_twice() {
        let [one, other] = [(); 2].map(|()| Serials::new(Source::GLOBAL));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..10 {
            let (serial, foreign) = (one.next().unwrap(), other.next().unwrap());
            assert!(seen.insert(serial) && seen.insert(foreign));
            assert!(one.knows(serial) && !one.knows(foreign) && !one.knows(0));
        }
    }

    #[test]
    fn a_full_low_word_takes_another_high_word() {
        let serials = Serials::new(Source::GLOBAL);
        let first = serials.next().unwrap();
        serials.last.set(first | u64::from(u32::MAX));
        let second = serials.next().unwrap();
        assert_ne!(first >> 32, second >> 32);
        assert!(serials.knows(first) && serials.knows(second));
    }

    #[test]
    fn high_words_end_and_do_not_begin_again() {
        let words = Count::new(u32::MAX as usize - 3);
        assert_eq!(next_word(&words), Some(u32::MAX - 2));
        assert_eq!(next_word(&words), Some(u32::MAX - 1));
        assert_eq!(next_word(&words), None);
        assert_eq!(next_word(&words), None);
    }
}
