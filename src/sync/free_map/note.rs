//! What says that a word is being closed, so that a search finds what that hides.

#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::AtomicU64;
use crate::raw::atomic::Ordering;
#[cfg(all(test, not(loom)))]
use crate::sync::counted::AtomicU64;

/// A closing under way: the word plus 1, or 0; above that, the number of closings that were noted
/// here. That number may wrap: it is only compared with an earlier one, and has 39 bits.
pub(super) struct Note(pub(super) AtomicU64);

pub(super) const NOTED_WORD: u64 = (1 << 25) - 1;

impl Note {
    /// Notes a word, unless one is noted. The caller must strike it out.
    pub(super) fn begin(&self, word: usize) -> bool {
        // Relaxed: checked by the exchange.
        let free = self.0.load(Ordering::Relaxed);
        if free & NOTED_WORD != 0 {
            return false;
        }
        let noted = (free | NOTED_WORD).wrapping_add(word as u64 + 2);
        // Acquire: pairs with the release in `end`: who acquires the end of this closing sees what
        // those before it listed, too. The thread that sees the bit that is cleared next sees this: that change releases it.
        let order = (Ordering::Acquire, Ordering::Relaxed);
        (self.0)
            .compare_exchange(free, noted, order.0, order.1)
            .is_ok()
    }

    /// Counts another pass of the closing that the caller has noted.
    pub(super) fn begin_again(&self) {
        // Relaxed: no one else changes it while there is a word.
        let noted = self.0.load(Ordering::Relaxed);
        // Release: pairs with the acquire of a search, which sees the bits of the earlier passes as
        // cleared: while it looks, only those of this pass are cleared.
        self.0
            .store(noted.wrapping_add(NOTED_WORD + 1), Ordering::Release);
    }

    /// Strikes out the word that the caller has noted.
    pub(super) fn end(&self) {
        // Relaxed: no one else changes it while there is a word.
        let noted = self.0.load(Ordering::Relaxed);
        // Release: pairs with the acquire of a search: what was listed is seen.
        self.0.store(noted & !NOTED_WORD, Ordering::Release);
    }

    /// The word in the bits of a note.
    pub(super) fn word(bits: u64) -> Option<usize> {
        (bits & NOTED_WORD).checked_sub(1).map(|word| word as usize)
    }
}
