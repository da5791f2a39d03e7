//! From a value, or its slot, to its key.

use super::cell::Cell;
use super::key::Inside;
use super::{PlainSlab, SlabKey, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the key of a value of this slab, by its address alone; O(1).
    ///
    /// # Panics
    ///
    /// If the reference is not to a value of this slab.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// let value = &slab[key];
    /// assert_eq!(slab.key_of(value), key);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn key_of(&self, value: &T) -> K {
        match self.try_key_of(value) {
            Some(key) => key,
            None => panic!("key_of was refused: the value is not in this slab"),
        }
    }

    /// Returns the key of a value of this slab, by its address alone; O(1). `None` if it is of
    /// another place.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_key_of(&slab[key]), Some(key));
    /// assert_eq!(slab.try_key_of(&7), None);
    /// ```
    #[must_use]
    pub fn try_key_of(&self, value: &T) -> Option<K> {
        self.key_at(self.index_of(value)?)
    }

    /// Returns the key of the value in a slot, if it has one; O(1).
    ///
    /// Where keys have generations, values that link to each other can do it by slot, in four
    /// bytes instead of eight: who unlinks a value before it is removed needs no generation
    /// to tell it from the next one.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let key = slab.insert("value");
    /// assert_eq!(slab.key_at(key.index()), Some(key));
    /// slab.remove(key);
    /// assert_eq!(slab.key_at(key.index()), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn key_at(&self, index: usize) -> Option<K> {
        if index >= self.used {
            return None;
        }
        // SAFETY: by K1 the cell exists.
        let cell = unsafe { self.place(index).as_ref() };
        let key = || K::new(index, cell.version() | 1, Inside);
        cell.is_occupied().then(key)
    }

    fn index_of(&self, value: &T) -> Option<usize> {
        let size = size_of::<K::Cell<T>>().max(1);
        // SAFETY: the place of the first cell, if there is one.
        let start = unsafe { self.cells.cell::<K::Cell<T>>(0).addr().get() };
        let index = (&raw const *value).addr().wrapping_sub(start) / size;
        // A value of no size may stand at the end of its cell.
        [index, index.wrapping_sub(1)].into_iter().find(|&index| {
            let there = (index < self.used).then(|| self.value_at(index)).flatten();
            there.is_some_and(|there| core::ptr::eq(there, value))
        })
    }

    /// The value of a slot that exists.
    fn value_at(&self, index: usize) -> Option<&T> {
        debug_assert!(index < self.used);
        // SAFETY: by K1 the cell exists.
        unsafe {
            let cell = self.place(index).as_ref();
            cell.is_occupied().then(|| cell.value())
        }
    }
}
