//! Slots without a generation left, and all generations from the start.

#[cfg(doc)]
use super::GenKey;
use super::key::SlabKey;
use super::{PlainSlab, Storage};
use crate::raw::amount::Amount;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Number of slots that take no more values, because their generations are used up:
    /// after 2^30 - 1 insertions into the same slot, or [`insert_at`](Self::insert_at) with as
    /// late a generation. They are neither free nor counted as values.
    ///
    /// ```
    /// assert_eq!(flatslab::KeySlab::<u64>::new().retired_slots(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn retired_slots(&self) -> usize {
        self.retired as usize
    }

    /// Restarts the generations of all slots: keys handed out before may open values
    /// again, and [retired](Self::retired_slots) slots are free, and those of
    /// [detached](Self::detach) values. Without generations, the next
    /// keys are those of a fresh slab, and nothing else changes.
    ///
    /// # Panics
    ///
    /// If there is a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    /// let old = slab.insert(7);
    /// slab.remove(old);
    /// slab.reset_generations();
    /// assert_eq!(slab.insert(8), old);
    /// ```
    #[track_caller]
    pub fn reset_generations(&mut self) {
        assert!(
            self.is_empty(),
            "reset_generations was refused: the slab has {}",
            Amount::values(self.len())
        );
        self.cells.clear();
        self.used = 0;
        self.retired = 0;
        self.detached = 0;
        self.floor = 0;
    }
}
