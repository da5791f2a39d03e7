//! A hash of the orders of a book.

/// FNV-1a over words, with a final mix: short, and the same on every platform.
#[derive(Debug)]
pub struct Digest(u64);

impl Digest {
    /// Begins with no words.
    #[expect(
        clippy::new_without_default,
        reason = "a digest of nothing is no value"
    )]
    pub fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a word.
    #[inline]
    pub fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// Returns the digest of the words so far.
    pub fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
