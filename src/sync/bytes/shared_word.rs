//! What a place of a shared ring has: one word, so that one operation changes all of it.

use crate::raw::atomic::AtomicU64;

/// Bits of a chunk's number.
const CHUNK_BITS: u32 = 24;

/// The most chunks of a ring.
pub(super) const MOST_CHUNKS: usize = 1 << CHUNK_BITS;

/// The bit of a place that has an entry.
const FULL: u64 = 1 << CHUNK_BITS;

/// Whether a place has an entry, the position of that or of the next one, and the chunk.
///
/// Of a position there are 39 bits. A thread that stops between its look at a place and its
/// exchange would take one word for another if 2³⁹ entries were pushed in between, to the entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    /// A place for the entry of that position.
    #[inline(always)]
    pub(super) const fn empty(position: u64) -> Self {
        Word(position << (CHUNK_BITS + 1))
    }

    /// A place with the entry of that position.
    #[inline(always)]
    pub(super) const fn full(position: u64, chunk: usize) -> Self {
        debug_assert!(chunk < MOST_CHUNKS);
        Word(Self::empty(position).0 | FULL | chunk as u64)
    }

    /// Whether it has the entry of that position.
    #[inline(always)]
    pub(super) const fn is_full_at(self, position: u64) -> bool {
        // The chunk's bits are left out.
        self.0 >> CHUNK_BITS == Self::full(position, 0).0 >> CHUNK_BITS
    }

    /// The chunk of an entry.
    #[inline(always)]
    pub(super) const fn chunk(self) -> usize {
        self.0 as usize % MOST_CHUNKS
    }

    pub(super) const fn into_atomic(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) const fn from_atomic(word: u64) -> Self {
        Word(word)
    }
}

/// Where words are.
pub(super) type Slot = AtomicU64;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_positions_chunks_and_states_differ() {
        let positions = [0, 1, 7, 8, (1 << 39) - 1, 1 << 38];
        for &position in &positions {
            let full = Word::full(position, MOST_CHUNKS - 1);
            assert_eq!(full.chunk(), MOST_CHUNKS - 1);
            assert!(full.is_full_at(position) && full != Word::full(position, 0));
            assert!(!Word::empty(position).is_full_at(position));
            assert!(Word::full(position, 0) != Word::empty(position));
            for &other in positions.iter().filter(|&&other| other != position) {
                assert!(!full.is_full_at(other) && Word::empty(position) != Word::empty(other));
            }
            assert!(Word::from_atomic(full.into_atomic()) == full);
        }
    }
}
