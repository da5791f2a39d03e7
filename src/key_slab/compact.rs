//! Values that move to lower slots.

use super::cell::{self, Cell};
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab};

impl<T, K: SlabKey> PlainSlab<T, K, Growable> {
    /// Moves values from the last slots into the first free ones, and [frees the
    /// memory](Self::shrink_to_fit) after the last value; O(slots used).
    ///
    /// `rekey` gets each value before it moves, the key it has, and the key it is about to get: to
    /// correct what points to it. If it returns `false`, or panics, that value and the rest stay.
    /// Slots that are retired or kept for [detached](Self::detach) values are not filled. Free
    /// slots are used in the order of their numbers afterwards.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys: Vec<_> = (0..5).map(|n| slab.insert(n)).collect();
    /// slab.retain(|_, value| *value % 2 == 0);
    /// slab.compact(|value, from, to| {
    ///     assert_eq!((*value, from, to), (4, keys[4], keys[1]));
    ///     true
    /// });
    /// assert_eq!((slab[keys[1]], slab.capacity()), (4, 3));
    /// ```
    pub fn compact(&mut self, rekey: impl FnMut(&mut T, K, K) -> bool) {
        self.move_down(rekey);
        self.shrink_to_fit();
    }

    fn move_down(&mut self, mut rekey: impl FnMut(&mut T, K, K) -> bool) {
        /// Settles the stack, which is not told of moves, also when `rekey` panics.
        struct Settled<'a, T, K: SlabKey>(&'a mut PlainSlab<T, K, Growable>);

        impl<T, K: SlabKey> Drop for Settled<'_, T, K> {
            fn drop(&mut self) {
                self.0.rebuild_stack();
            }
        }

        let settled = Settled(self);
        let slab = &*settled.0;
        let (mut to, mut from) = (0, slab.used);
        loop {
            // SAFETY: by K1 the cell exists, as `from` is below what is used.
            let last = (0..from)
                .rev()
                .find(|&at| unsafe { slab.place(at).as_ref().is_occupied() });
            // SAFETY: as above.
            let free = (to..from).find(|&at| unsafe { is_free::<T, K>(slab.place(at).as_ref()) });
            match (free, last) {
                (Some(free), Some(last)) if free < last => (to, from) = (free, last),
                _ => return,
            }
            // SAFETY: both exist, the one is vacant and may be filled, the other occupied; `rekey`
            // cannot reach the slab.
            unsafe {
                let (low, mut high) = (slab.place(to), slab.place(from));
                let (old, new) = (high.as_ref().version(), low.as_ref().version() + 1);
                let keys = (K::new(from, old | 1, Inside), K::new(to, new, Inside));
                if !rekey(high.as_mut().value_mut(), keys.0, keys.1) {
                    return;
                }
                K::Cell::fill(low, new, K::Cell::vacate(high, old + 1));
            }
            to += 1;
        }
    }
}

/// Whether a cell takes a value.
fn is_free<T, K: SlabKey>(cell: &K::Cell<T>) -> bool {
    let version = cell.version();
    let is_retired = K::Cell::<T>::VERSIONED && version == cell::RETIRED;
    !cell.is_occupied() && !is_retired && !cell::is_detached(version)
}
