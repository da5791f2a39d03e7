//! Inserting values: made before, or in the slot.

use super::SharedSlab;
use super::ends::Taken;
use super::key::SharedKey;
use crate::error::{AllocError, FullError};

impl<T> SharedSlab<T> {
    /// Inserts a value into a free slot; O(1), no allocation, no matter how full the slab is or
    /// where values were removed (see [above](Self#how-long-an-operation-takes)).
    ///
    /// While other threads insert and remove, it is refused if each slot was taken at some
    /// moment of the call. So it is never refused while a slot is free all the time, even if
    /// another thread was stopped within an operation. If no other thread does anything, it is
    /// refused if and only if each slot is taken. A slot is taken while it has a value, also a
    /// removed one that guards keep alive, and while [`insert_with`](Self::insert_with) makes one.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::FullError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8), Err(FullError(8)));
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// ```
    #[inline]
    pub fn insert(&self, value: T) -> Result<SharedKey, FullError<T>> {
        let Some(index) = self.free.take() else {
            return Err(FullError(value));
        };
        // SAFETY: taken from the map, so below the capacity (H1), without a value, and ours
        // until it is published (S1).
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            cell.value().write(value);
            cell.word().publish(generation);
            Ok(SharedKey::new(generation, index))
        }
    }

    /// Builds a value that knows its key; O(1) besides `f`, no allocation.
    ///
    /// The slot is reserved while `f` runs, and there is no value at the key. `f` may use the
    /// slab. If it panics the slot is given back, and that key never leads to a value.
    /// If no slot is free, `f` is not called.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert_with(|key| key).unwrap();
    /// assert_eq!(*slab.get(key).unwrap(), key);
    /// assert!(slab.insert_with(|key| key).is_err());
    /// ```
    #[inline]
    pub fn insert_with<F>(&self, f: F) -> Result<SharedKey, AllocError>
    where
        F: FnOnce(SharedKey) -> T,
    {
        let Some(index) = self.free.take() else {
            return Err(AllocError::Full {
                capacity: self.capacity(),
            });
        };
        // SAFETY: as in `insert`; if `f` unwinds, it is still without a value.
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            let key = SharedKey::new(generation, index);
            let taken = Taken {
                slab: self,
                index,
                generation,
            };
            cell.value().write(f(key));
            core::mem::forget(taken);
            cell.word().publish(generation);
            Ok(key)
        }
    }
}
