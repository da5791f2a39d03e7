//! Values that leave for a while, and come back under their keys.

use super::cell::{Cell, DETACHED};
use super::key::{GenerationKey, SlabKey};
use super::{InsertAtError, PlainSlab, Storage};

impl<T, K: GenerationKey, S: Storage> PlainSlab<T, K, S> {
    /// Moves the value at `key` out and keeps its slot, so that it, or another, can come
    /// [back](Self::reattach) under the same key; O(1). `None` if there is none.
    ///
    /// Until then the key opens nothing, [`len`](Self::len) does not count the value, and no
    /// insertion fills the slot. [`clear`](Self::clear), [`retain`](Self::retain) and
    /// [`drain`](Self::drain) do not change that, `shrink_to_fit` keeps the slot, and a clone and
    /// a snapshot have it too. [`free_detached`](Self::free_detached) gives up.
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
        let cell = self.find(index, version)?;
        self.detached += 1;
        // SAFETY: `find` says that the cell is occupied, and has this version. It is vacant
        // then, and kept.
        unsafe { Some(K::Cell::vacate(cell, (version + 1) | DETACHED)) }
    }

    /// Puts a value into the slot that was kept for `key`; O(1).
    ///
    /// # Panics
    ///
    /// If no value was [detached](Self::detach) from the key, or one is back already;
    /// [`try_reattach`](Self::try_reattach) returns the value then.
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

    /// Puts a value into the slot that was kept for `key`; O(1).
    ///
    /// # Errors
    ///
    /// Returns the value if no value was [detached](Self::detach) from the key, or one is back
    /// already.
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

    /// Frees the slot that is kept for `key`: its value does not come back. O(1). Returns
    /// whether there was one.
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
        // there is room for it (K2).
        unsafe {
            let next = self.free(index, version);
            K::Cell::<T>::write_vacant(self.place(index), next);
        }
        true
    }

    /// Whether a slot is kept for the value of this key; O(1).
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

    /// Whether the slot is kept for the value of this version.
    #[inline(always)]
    fn find_detached(&self, index: usize, version: u32) -> Option<()> {
        if index >= self.used {
            return None;
        }
        // SAFETY: by K1 the cell exists.
        let present = unsafe { self.place(index).as_ref().version() };
        (present == (version + 1) | DETACHED).then_some(())
    }

    /// # Safety
    ///
    /// The slot is kept for the value of this version.
    #[inline(always)]
    unsafe fn refill(&mut self, index: usize, version: u32, value: T) {
        self.detached -= 1;
        // SAFETY: the cell exists and is vacant (precondition). It gets back a version that it
        // had, of a key whose value it is.
        unsafe { K::Cell::fill(self.place(index), version, value) };
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the number of slots that are kept for [detached](Self::detach) values; O(1).
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
