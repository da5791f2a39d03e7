//! Generations: slots whose generations are used up retire or start again, and a slot can be kept
//! for a value that is detached, to be returned to its key later.

#[cfg(doc)]
use super::KeySlabStorage;
use super::cell::{Cell, DETACHED};
use super::key::{GenerationKey, SlabKey};
use super::{FixedStorage, InsertAtError, PlainSlab, Storage};
use crate::error::Amount;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the number of slots that take no more values, because their generations are [used
    /// up](super::GenKey#how-long-generations-last).
    ///
    /// This happens after 2^30 − 1 insertions into the same slot, or after an
    /// [`insert_at`](Self::insert_at) with a generation that late. Retired slots are neither free
    /// nor counted as values. O(1).
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

    /// Returns the number of generations that the most worn slot has used, of the 2^30 − 1
    /// generations of a slot.
    ///
    /// Each value that a slot has had uses one, and [`insert_at`](Self::insert_at) and
    /// `shrink_to_fit` may skip some. A slot that has used all of them is
    /// [retired](Self::retired_slots); if generations
    /// [wrap](super::GenKey#how-long-generations-last), its count starts at 0 again. For keys
    /// without generations this returns 0.
    ///
    /// # Complexity
    ///
    /// O(used slots): for diagnostics.
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
        let versions = self
            .existing()
            .iter()
            .map(|cell| cell.version() & !DETACHED);
        let highest = versions.fold(self.floor, u32::max);
        highest.div_ceil(2)
    }

    /// Restarts the generations of all slots.
    ///
    /// Keys that were returned before may find new values afterwards.
    /// [Retired](Self::retired_slots) slots and slots kept for [detached](Self::detach) values are
    /// free again. If keys have no generations, only the order of free slots is reset: the next
    /// keys are those of a new slab.
    ///
    /// # Panics
    ///
    /// Panics if the slab has a value.
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
            "reset_generations was refused: the slab must be empty, but has {}",
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
    /// retiring slots.
    ///
    /// This is for a slab in a [`KeySlabStorage`], which has no builder.
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
        self.set_wraps(true);
        self
    }
}

impl<T, K: GenerationKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the value with this key out, and keeps its slot, so that a value can be put
    /// [back](Self::reattach) under the same key. Returns `None` if there is no value with this
    /// key. O(1).
    ///
    /// Until then the key finds nothing, [`len`](Self::len) does not count the value, and no
    /// insertion fills the slot. [`clear`](Self::clear), [`retain`](Self::retain) and
    /// [`drain`](Self::drain) do not change that, `shrink_to_fit` keeps the slot, and clones and
    /// snapshots contain it. [`free_detached`](Self::free_detached) frees the slot.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<String, GenKey> = KeySlab::with_key();
    /// let key = slab.insert("one".to_string());
    /// // A value and the slab it is from can be changed together.
    /// let value = slab.detach(key).unwrap();
    /// let next = slab.insert(format!("{value}, two"));
    /// assert_eq!((slab.get(key), slab.len()), (None, 1));
    /// slab.reattach(key, value);
    /// assert_eq!((&*slab[key], &*slab[next]), ("one", "one, two"));
    /// ```
    #[inline]
    pub fn detach(&mut self, key: K) -> Option<T> {
        let (index, version) = (key.index(), key.version());
        self.find(index, version)?;
        self.detached += 1;
        // SAFETY: `find` says that the cell is occupied, and has this version. It is vacant
        // then, and kept.
        unsafe { Some(K::Cell::vacate(self.place(index), (version + 1) | DETACHED)) }
    }

    /// Puts a value into the slot that is kept for `key`. O(1).
    ///
    /// # Panics
    ///
    /// Panics if no slot is kept for the key: no value was [detached](Self::detach) from it, or a
    /// value has been put back already. [`try_reattach`](Self::try_reattach) returns the value
    /// instead.
    #[inline]
    #[track_caller]
    pub fn reattach(&mut self, key: K, value: T) {
        let (index, version) = (key.index(), key.version());
        match self.find_detached(index, version) {
            // SAFETY: `find_detached` says that the slot is kept for this version.
            Some(()) => unsafe { self.refill(index, version, value) },
            None => missing_detached(key),
        }
    }

    /// Puts a value into the slot that is kept for `key`, like [`reattach`](Self::reattach).
    ///
    /// # Errors
    ///
    /// Returns the value where [`reattach`](Self::reattach) panics.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_reattach(key, 8).unwrap_err().into_inner(), 8);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    pub fn try_reattach(&mut self, key: K, value: T) -> Result<(), InsertAtError<T>> {
        let (index, version) = (key.index(), key.version());
        match self.find_detached(index, version) {
            Some(()) => {
                // SAFETY: `find_detached` says that the slot is kept for this version.
                unsafe { self.refill(index, version, value) };
                Ok(())
            }
            None => Err(InsertAtError::NotDetached(value)),
        }
    }

    /// Frees the slot that is kept for `key`, and returns whether there was such a slot. O(1).
    ///
    /// No value can be put back under this key afterwards.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    /// let key = slab.insert(7);
    /// drop(slab.detach(key));
    /// assert!(slab.free_detached(key) && !slab.free_detached(key));
    /// let next = slab.insert(8);
    /// assert_eq!((next.index(), slab.get(key)), (key.index(), None));
    /// ```
    pub fn free_detached(&mut self, key: K) -> bool {
        let (index, version) = (key.index(), key.version());
        if self.find_detached(index, version).is_none() {
            return false;
        }
        self.detached -= 1;
        // SAFETY: the slot exists, and has no value; as it is kept, it is not on the stack, and
        // there is room for it (`vacant-stack`).
        unsafe {
            let next = self.free(index, version);
            K::Cell::<T>::write_vacant(self.place(index), next);
        }
        true
    }

    /// Returns `true` if a slot is kept for a value with this key. O(1).
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    /// let key = slab.insert(7);
    /// assert!(!slab.is_detached(key));
    /// slab.detach(key);
    /// assert!(slab.is_detached(key));
    /// ```
    #[must_use]
    pub fn is_detached(&self, key: K) -> bool {
        self.find_detached(key.index(), key.version()).is_some()
    }

    /// Returns `Some` if the slot is kept for a value of this version.
    #[inline(always)]
    fn find_detached(&self, index: usize, version: u32) -> Option<()> {
        let present = self.existing().get(index)?.version();
        (present == (version + 1) | DETACHED).then_some(())
    }

    /// # Safety
    ///
    /// The slot is kept for the value of this version.
    #[inline(always)]
    unsafe fn refill(&mut self, index: usize, version: u32, value: T) {
        self.detached -= 1;
        // SAFETY: the cell exists and is vacant (precondition). It gets the version again that the
        // key of the value has.
        unsafe { K::Cell::fill(self.place(index), version, value) };
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the number of slots that are kept for [detached](Self::detach) values. O(1).
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    /// let key = slab.insert(7);
    /// slab.detach(key);
    /// assert_eq!((slab.detached_slots(), slab.len()), (1, 0));
    /// ```
    #[doc(alias = "detached")]
    #[inline]
    #[must_use]
    pub fn detached_slots(&self) -> usize {
        self.detached as usize
    }
}

/// Panics: no value was detached from the key.
#[cold]
#[inline(never)]
#[track_caller]
fn missing_detached(key: impl core::fmt::Debug) -> ! {
    panic!("reattach was refused: no value is detached from {key:?}")
}
