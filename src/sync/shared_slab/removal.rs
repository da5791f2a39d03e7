//! Removing values: by key, moved out, or all of them.

use super::SharedSlab;
use super::access::refused;
use super::cell::Removal;
use super::ends::Clearing;
use super::key::SharedKey;
use crate::error::AccessError;

impl<T> SharedSlab<T> {
    /// Removes a value, and returns whether this call removed it: of several calls at once one
    /// does. O(1) besides its destructor.
    ///
    /// From now on its key leads to no value. The value is dropped here, or by the last guard if
    /// there are guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert!(slab.remove(key));
    /// assert!(!slab.remove(key));
    /// ```
    #[inline]
    pub fn remove(&self, key: SharedKey) -> bool {
        let Some((cell, generation)) = self.locate(key) else {
            return false;
        };
        // SAFETY: allocated as long as the slab is (H1).
        match unsafe { cell.word().remove(generation) } {
            Removal::Missing => false,
            Removal::Deferred => true,
            Removal::Claimed => {
                // SAFETY: `remove` has claimed the end of the value (S2).
                unsafe { self.end(self.index(key), generation) };
                true
            }
        }
    }

    /// Moves the value at a key out; O(1), no allocation. `None` if there is none. Does not wait
    /// for guards.
    ///
    /// # Panics
    ///
    /// If there are guards of the value. [`try_take`](Self::try_take) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!((slab.take(key), slab.take(key)), (Some(7), None));
    /// ```
    #[inline]
    #[track_caller]
    pub fn take(&self, key: SharedKey) -> Option<T> {
        match self.try_take(key) {
            Ok(value) => Some(value),
            Err(AccessError::Missing) => None,
            Err(error) => refused(key, error),
        }
    }

    /// Moves the value at a key out, like [`take`](Self::take); never panics.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing), and [`Borrowed`](AccessError::Borrowed) while there
    /// are guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get(key);
    /// assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_take(key), Ok(7));
    /// assert_eq!(slab.try_take(key), Err(AccessError::Missing));
    /// ```
    #[inline]
    pub fn try_take(&self, key: SharedKey) -> Result<T, AccessError> {
        let (cell, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        // SAFETY: allocated as long as the slab is (H1); if its end is claimed, the value is
        // there and no one else's (S1, S2), and is moved out before the cell is freed.
        unsafe {
            cell.word().take(generation)?;
            let value = cell.value().read();
            self.free(self.index(key), generation);
            Ok(value)
        }
    }

    /// Drops the values that guards have [left to it](super::SharedRef::retire), at most as many as
    /// there are slots, and returns their number; O(that number) besides the destructors.
    ///
    /// Any thread may call it, and several at once: each value is dropped by one of them. So that
    /// a thread without time never runs a destructor, let another one call it now and then;
    /// insertions do not. If a destructor panics, the others wait for the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(vec![7]).unwrap();
    /// let guard = slab.get(key).unwrap();
    /// slab.remove(key);
    /// SharedRef::retire(guard);
    /// assert!(slab.is_full());
    /// assert_eq!(slab.reclaim(), 1);
    /// assert!(slab.is_empty());
    /// ```
    pub fn reclaim(&self) -> usize {
        self.reclaim_some(self.capacity())
    }

    /// Like [`reclaim`](Self::reclaim), but drops at most `most` values.
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(2);
    /// for number in 0..2 {
    ///     let key = slab.insert(number).unwrap();
    ///     let guard = slab.get(key).unwrap();
    ///     slab.remove(key);
    ///     SharedRef::retire(guard);
    /// }
    /// assert_eq!((slab.reclaim_some(1), slab.reclaim_some(8)), (1, 1));
    /// ```
    pub fn reclaim_some(&self, most: usize) -> usize {
        for dropped in 0..most {
            let Some(index) = self.given_back.take() else {
                return dropped;
            };
            // SAFETY: below the capacity, and the claim to the end of its value went with it (H5).
            unsafe { self.end_removed(self.cell(index)) };
        }
        most
    }

    /// Removes and drops all values; O(capacity). Slots of which a guard was forgotten are free
    /// again too.
    ///
    /// If a destructor panics, the others run first.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let mut slab = SharedSlab::with_capacity(8);
    /// let key = slab.insert(7).unwrap();
    /// slab.clear();
    /// assert!(slab.is_empty() && slab.get(key).is_none());
    /// ```
    pub fn clear(&mut self) {
        // Their values are found in their cells, as all others.
        while self.given_back.take().is_some() {}
        Clearing {
            slab: self,
            next: 0,
        }
        .run();
    }
}
