//! What removes many values at once, and how the stack is written again.

#[cfg(doc)]
use super::GenKey;
use super::cell::{self, Cell};
use super::iter::Walk;
use super::key::{Inside, SlabKey};
use super::{PlainSlab, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Drops every value and keeps all memory; O(slots used), O(1) where values
    /// have no destructor and keys no generation.
    ///
    /// The next keys are those of a fresh slab, except for [retired](Self::retired_slots)
    /// slots and those of [detached](Self::detach) values; with [`GenKey`] they have later generations. If a destructor panics,
    /// the rest is dropped before the panic continues. Slots are *used* up to the
    /// highest one that has had a value since the slab was made or shrunk.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// slab.insert(7);
    /// slab.clear();
    /// assert!(slab.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.destroy_all(K::Cell::<T>::VERSIONED, self.len());
    }

    /// Drops the values in the order of their indices, of which there are at most `values`: none
    /// after so many is looked for. Then no slot exists any more, or, if `keep_slots`, which slots
    /// without a version cannot, all are free.
    pub(super) fn destroy_all(&mut self, keep_slots: bool, values: usize) {
        /// Goes on with the rest when a destructor panics.
        struct Rest<'a, T, K: SlabKey, S: Storage> {
            slab: &'a mut PlainSlab<T, K, S>,
            next: usize,
            end: usize,
            left: usize,
            keep_slots: bool,
        }

        impl<T, K: SlabKey, S: Storage> Rest<'_, T, K, S> {
            fn destroy(&mut self) {
                while self.next < self.end && self.left > 0 {
                    let index = self.next;
                    self.next += 1;
                    // SAFETY: below what `used` was, so by K1 it is initialised;
                    // it is not used as a cell again, or has a version.
                    unsafe {
                        let cell = self.slab.place(index);
                        if cell.as_ref().is_occupied() {
                            self.left -= 1;
                            K::Cell::destroy(cell);
                        }
                    }
                }
            }
        }

        impl<T, K: SlabKey, S: Storage> Drop for Rest<'_, T, K, S> {
            fn drop(&mut self) {
                self.destroy();
                if self.keep_slots {
                    self.slab.used = self.end;
                    self.slab.rebuild_stack();
                }
            }
        }

        debug_assert!(K::Cell::<T>::VERSIONED || !keep_slots);
        self.cells.clear();
        let end = core::mem::take(&mut self.used);
        if keep_slots || core::mem::needs_drop::<T>() {
            let mut rest = Rest {
                slab: self,
                next: 0,
                end,
                left: values,
                keep_slots,
            };
            rest.destroy();
        }
    }

    /// Puts every vacant cell onto the stack, the lowest index on top, but retired ones and
    /// those of detached values, and counts these; O(slots used).
    pub(super) fn rebuild_stack(&mut self) {
        self.cells.clear();
        (self.retired, self.detached) = (0, 0);
        for index in (0..self.used).rev() {
            // SAFETY: by K1 the cell exists; it is pushed once, and there is
            // room for all (K2).
            unsafe {
                let cell = self.place(index);
                if cell.as_ref().is_occupied() {
                    continue;
                }
                let version = cell.as_ref().version();
                if cell::is_detached(version) {
                    self.detached += 1;
                } else if K::Cell::<T>::VERSIONED && version == cell::RETIRED && !self.wraps {
                    self.retired += 1;
                } else {
                    if version == cell::RETIRED {
                        K::Cell::<T>::write_vacant(cell, 0);
                    }
                    self.cells.push(index);
                }
            }
        }
    }

    /// Drops the values for which `keep` is false, in the order of their keys; O(slots up to that
    /// of the last value).
    ///
    /// When `keep` or a destructor panics, the values not yet visited stay.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let (one, two) = (slab.insert(1), slab.insert(2));
    /// slab.retain(|_key, value| *value > 1);
    /// assert!(!slab.contains(one) && slab.contains(two));
    /// ```
    pub fn retain<F>(&mut self, mut keep: F)
    where
        F: FnMut(K, &mut T) -> bool,
    {
        let mut walk = Walk::new(self);
        while let Some((index, mut cell)) = walk.next_cell() {
            // SAFETY: an occupied cell of this slab (W1), and its slot; `keep` cannot reach the
            // slab, and what is removed is what was visited.
            unsafe {
                let version = cell.as_ref().version();
                let key = K::new(index, version | 1, Inside);
                if !keep(key, cell.as_mut().value_mut()) {
                    drop(self.vacate(index, version));
                }
            }
        }
    }
}
