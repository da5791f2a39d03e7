//! `IdState`: the hash of a [`KeyIndex`](super::KeyIndex) unless a program chooses another.

use core::fmt;
use core::hash::{BuildHasher, Hasher};

/// The first digits of π, as in many ciphers: numbers without a structure.
const DIGITS: [u64; 2] = [0x2437_0734_4a40_9382, 0x2299_f31d_0082_efa9];

/// The default hash of a [`KeyIndex`](super::KeyIndex): a multiplication for each 8 bytes.
///
/// It is seeded: by the system's random numbers with the feature `std`, otherwise by an address. Ids
/// that count up, that differ in a few bits only, or that were chosen without knowledge of the seed
/// are spread evenly. It does not resist a sender of ids who can measure how long look-ups take:
/// there, use `std::hash::RandomState`. The seed changes no answer and no order, only which ids share
/// a bucket.
///
/// # Examples
///
/// ```
/// use core::hash::BuildHasher;
/// use flatslab::collections::IdState;
///
/// let state = IdState::new();
/// assert_eq!(state.hash_one(7_u64), state.hash_one(7_u64));
/// ```
#[derive(Clone, Copy)]
pub struct IdState {
    seed: u64,
}

impl IdState {
    /// Creates a state with a new seed.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(feature = "std")]
        let seed = std::hash::RandomState::new().hash_one(DIGITS);
        #[cfg(not(feature = "std"))]
        let seed = {
            let place = 0_u8;
            (&raw const place).addr() as u64
        };
        IdState {
            seed: seed ^ DIGITS[0],
        }
    }
}

/// The same as [`new`](Self::new).
impl Default for IdState {
    fn default() -> Self {
        Self::new()
    }
}

impl BuildHasher for IdState {
    type Hasher = IdHasher;

    #[inline(always)]
    fn build_hasher(&self) -> IdHasher {
        IdHasher { state: self.seed }
    }
}

/// Where a builder has the hasher from.
#[derive(Clone, Copy)]
pub(super) enum HasherOption<H> {
    /// A new one for each container.
    New(fn() -> H),
    Given(H),
}

impl<H> HasherOption<H> {
    pub(super) fn into_hasher(self) -> H {
        match self {
            HasherOption::New(new) => new(),
            HasherOption::Given(hasher) => hasher,
        }
    }
}

/// The hasher of an [`IdState`].
#[derive(Clone)]
pub struct IdHasher {
    state: u64,
}

/// Prints no seed.
impl fmt::Debug for IdState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdState").finish_non_exhaustive()
    }
}

impl fmt::Debug for IdHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdHasher").finish_non_exhaustive()
    }
}

/// The two halves of the product, folded into one: every bit of the factors takes part in every bit
/// of the result.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for IdHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            // A chunk of 8 bytes.
            let word = chunk.try_into().map_or(0, u64::from_le_bytes);
            self.write_u64(word);
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
        // So that zeros at the end count.
        self.write_usize(bytes.len());
    }

    #[inline(always)]
    fn write_u64(&mut self, word: u64) {
        self.state = folded(self.state ^ word, DIGITS[1]);
    }

    #[inline(always)]
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    #[inline(always)]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline(always)]
    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    #[inline(always)]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    /// Multiplied once more: the first bits of the sum that was folded do not depend on all bits of an
    /// id whose low bits are zeros.
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.state.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
