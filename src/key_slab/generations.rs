//! How far generations are used up, and what happens then: slots retire or begin again.

#[cfg(doc)]
use super::KeySlabStorage;
use super::cell::{Cell, DETACHED};
use super::key::{GenerationKey, SlabKey};
use super::{FixedStorage, PlainSlab, Storage};
use crate::raw::amount::Amount;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the number of slots that take no more values, because their generations are
    /// [used up](super::GenKey#how-long-generations-last): after 2^30 − 1 insertions into the same
    /// slot, or [`insert_at`](Self::insert_at) with as late a generation. They are neither free nor
    /// counted as values. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::KeySlab::<u64>::new().retired_slots(), 0);
    /// ```
    #[doc(alias = "retired")]
    #[inline]
    #[must_use]
    pub fn retired_slots(&self) -> usize {
        self.retired as usize
    }

    /// Returns how many generations the most worn slot has used, of the 2^30 − 1 that a slot has:
    /// one for each value it has had, and those that [`insert_at`](Self::insert_at) and
    /// `shrink_to_fit` skipped. O(slots used): for diagnostics.
    ///
    /// A slot that has used all of them is [retired](Self::retired_slots); where generations
    /// [wrap](super::GenKey#how-long-generations-last), its count begins at 0 again. Without
    /// generations it is 0.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    /// for _ in 0..10 {
    ///     let key = slab.insert(7);
    ///     slab.remove(key);
    /// }
    /// assert_eq!(slab.wear(), 10);
    /// ```
    #[must_use]
    pub fn wear(&self) -> u32 {
        if !K::Cell::<T>::VERSIONED {
            return 0;
        }
        // SAFETY: by K1 the cells exist.
        let version = |index| unsafe { self.place(index).as_ref().version() & !DETACHED };
        let highest = (0..self.used).map(version).fold(self.floor, u32::max);
        highest.div_ceil(2)
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

impl<T, K: GenerationKey, S: FixedStorage> PlainSlab<T, K, S> {
    /// Lets generations [wrap](super::GenKey#how-long-generations-last) from now on, instead of
    /// retiring slots: for a slab in a [`KeySlabStorage`], which has no builder.
    ///
    /// ```
    /// use flatslab::key_slab::KeySlabStorage;
    ///
    /// static TIMERS: KeySlabStorage<u32, 8> = KeySlabStorage::new();
    ///
    /// let mut timers = TIMERS.claim().expect("not claimed yet").wrapping_generations();
    /// assert!(timers.insert(100).is_ok());
    /// ```
    #[must_use]
    pub fn wrapping_generations(mut self) -> Self {
        self.wraps = true;
        self
    }
}
