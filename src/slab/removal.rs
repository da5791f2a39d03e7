//! What removes many values at once: `retain`, `drain`, `clear`.
//!
//! A value that is borrowed cannot be removed, and half a removal is worse than
//! none. So without `try_` these read all stamps before they remove the first value,
//! and panic with key and reason. That pass reads one word of each slot; DESIGN.md,
//! "Absence and conflict", says what it costs. A value that user code borrows *during*
//! the walk is left, and counted.

use crate::error::AccessError;
use crate::key::Key;
use crate::slab::cell::sent;
use crate::slab::cell::walk;
use crate::slab::iter::Drain;
use crate::slab::keyed::refuse;
use crate::slab::{Memory, TrackedSlab};
#[cfg(doc)]
use crate::{Slot, SlotBox};

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Drops the values for which `keep` is false, in key order; O(slots), no
    /// allocation. Returns how many values it left without asking.
    ///
    /// `keep` runs with the value mutably borrowed, and may use the slab. A value that
    /// it or a destructor borrows ahead of the walk is left, and counted. A [`Slot`]
    /// whose value is removed is stale, and its cell out of use until the slot is
    /// dropped. If `keep` or a destructor panics, the values not yet visited stay.
    ///
    /// # Panics
    ///
    /// If a value is borrowed (a [`SlotBox`] counts), before `keep` is called:
    /// all stamps are read first, which takes about 1 ns a slot, a third of the call.
    /// [`try_retain`](Self::try_retain) leaves what is borrowed, and saves that
    /// pass.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// slab.retain(|_key, value| *value == 7);
    /// assert!(slab.contains_key(key));
    /// assert_eq!(slab.retain(|_key, value| *value != 7), 0);
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    pub fn retain<F>(&self, keep: F) -> usize
    where
        F: FnMut(Key, &mut T) -> bool,
    {
        self.refuse_if_in_use("retain");
        sent::drop_retired(self.cells(), usize::MAX);
        self.try_retain(keep)
    }

    /// Drops the values for which `keep` is false, in key order; O(slots), no
    /// allocation. Returns how many values it left because they were borrowed
    /// when their turn came; `keep` is not called for those.
    ///
    /// As [`retain`](Self::retain) otherwise, but never refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// assert_eq!(slab.try_retain(|_key, _value| false), 1);
    /// assert!(!slot.is_valid() && *boxed == 3);
    /// ```
    #[inline]
    pub fn try_retain<F>(&self, mut keep: F) -> usize
    where
        F: FnMut(Key, &mut T) -> bool,
    {
        let mut left = 0;
        for (key, value) in self.try_iter_mut() {
            match value {
                Ok(mut value) => {
                    if !keep(key, &mut value) {
                        value.destroy();
                    }
                }
                Err(_) => left += 1,
            }
        }
        left
    }

    /// Moves the values out with their keys, in key order; O(slots), no
    /// allocation.
    ///
    /// A value that is borrowed while the iterator lives is left, and counted by
    /// [`left`](Drain::left). A [`Slot`] whose value is moved out is stale, and its
    /// cell out of use until the slot is dropped. Dropping the iterator drops the
    /// remaining values.
    ///
    /// # Panics
    ///
    /// If a value is borrowed (a [`SlotBox`] counts), before any is moved: all
    /// stamps are read first, as by [`retain`](Self::retain).
    /// [`try_drain`](Self::try_drain) leaves what is borrowed, and saves that
    /// pass.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// assert!(slab.drain().eq([(key, 7)]));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    pub fn drain(&self) -> Drain<'_, T, M> {
        self.refuse_if_in_use("drain");
        sent::drop_retired(self.cells(), usize::MAX);
        self.try_drain()
    }

    /// Moves the values out with their keys, in key order, and leaves those that
    /// are borrowed when their turn comes; O(slots), no allocation.
    ///
    /// As [`drain`](Self::drain) otherwise, but never refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (boxed, slot) = (slab.insert(3).into_box(), slab.insert(4));
    /// let mut drain = slab.try_drain();
    /// assert_eq!(drain.next(), Some((slot.key(), 4)));
    /// assert_eq!((drain.next(), drain.left()), (None, 1));
    /// # drop(drain);
    /// # drop(boxed);
    /// ```
    #[inline]
    pub fn try_drain(&self) -> Drain<'_, T, M> {
        Drain::new(self)
    }

    /// Drops every value, in key order, and keeps all memory; O(slots).
    ///
    /// [Retired](crate::sync::SendSlot::retire) values are dropped first. A value that a [`Slot`]
    /// owns is dropped too; the slot is stale then and
    /// its cell out of use until the slot is gone, so a slab can be full right
    /// after `clear`. Reservations stay. If a destructor panics, the rest is
    /// dropped before the panic continues. A value that a destructor inserts,
    /// borrows or retires during the walk may stay.
    ///
    /// # Panics
    ///
    /// If a value is borrowed (a [`SlotBox`] counts), before any is dropped: all
    /// stamps are read first, as by [`retain`](Self::retain).
    /// [`try_clear`](Self::try_clear) says so.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// slab.clear();
    /// assert!(slab.is_empty() && !slot.is_valid());
    /// ```
    #[track_caller]
    pub fn clear(&self) {
        self.refuse_if_in_use("clear");
        self.destroy_all();
    }

    /// Drops every value, like [`clear`](Self::clear).
    ///
    /// # Errors
    ///
    /// [`Borrowed`](AccessError::Borrowed) where [`clear`](Self::clear) panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let guard = slot.get();
    /// assert_eq!(slab.try_clear(), Err(AccessError::Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_clear(), Ok(()));
    /// ```
    pub fn try_clear(&self) -> Result<(), AccessError> {
        self.free_returned();
        if walk::first_in_use(self.cells()).is_some() {
            return Err(AccessError::Borrowed);
        }
        self.destroy_all();
        Ok(())
    }

    fn destroy_all(&self) {
        struct Values<'a, T, M: Memory>(&'a TrackedSlab<T, M>);

        impl<T, M: Memory> Drop for Values<'_, T, M> {
            fn drop(&mut self) {
                // The slots of now: chunks that destructors add are not visited, so that
                // clearing ends.
                let cells = self.0.cells();
                walk::destroy_all(cells, 0..cells.keys_end());
            }
        }

        // If a destructor unwinds out of this, the drop goes on with the values.
        let _values = Values(self);
        sent::drop_all_retired(self.cells());
    }

    #[track_caller]
    fn refuse_if_in_use(&self, operation: &str) {
        self.free_returned();
        if let Some((key, state)) = walk::first_in_use(self.cells()) {
            refuse(operation, key, state);
        }
    }
}
