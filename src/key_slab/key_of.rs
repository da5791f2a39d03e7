//! From a value to its key.

use super::cell::Cell;
use super::{PlainSlab, SlabKey, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the key of a value of this slab, by its address alone; O(1) in a
    /// bounded slab, O(chunks) in a growable one.
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
        match self.index_of(value) {
            // SAFETY: `index_of` gives indices of occupied cells.
            Some(index) => unsafe { K::new(index, self.place(index).as_ref().version() | 1) },
            None => panic!("key_of was refused: the value is not in this slab"),
        }
    }

    fn index_of(&self, value: &T) -> Option<usize> {
        let size = size_of::<K::Cell<T>>().max(1);
        let mut first = 0;
        while first < self.used {
            let cells = S::run::<K::Cell<T>>(first).min(self.used - first);
            // SAFETY: `first` is below `used`, so below the capacity (K1).
            let start = unsafe { self.place(first).addr().get() };
            let distance = (&raw const *value).addr().wrapping_sub(start);
            // A value of no size may stand at the end of its cell.
            for at in [distance / size, (distance / size).wrapping_sub(1)] {
                if at < cells
                    && self
                        .value_at(first + at)
                        .is_some_and(|v| core::ptr::eq(v, value))
                {
                    return Some(first + at);
                }
            }
            first += cells;
        }
        None
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
