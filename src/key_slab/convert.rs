//! Slabs that are made of the values of another one, which keep their keys.

use super::bounded::touched;
use super::cell::Cell;
use super::cells::Cells;
use super::iter::Slots;
use super::key::SlabKey;
use super::{Bounded, Growable, PlainSlab, Settled, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns a slab of what `change` makes of each value and its key, under the same keys.
    ///
    /// It also has the same free slots in the same order, and the same detached ones, so it returns
    /// the same keys from then on. If `change` panics, all values are dropped.
    ///
    /// # Complexity
    ///
    /// O(slots used), and O(capacity) if a bounded slab is touched. It allocates where `clone` does.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `clone`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut names: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let (one, two) = (names.insert("one"), names.insert("two"));
    /// names.remove(one);
    /// let mut lengths: KeySlab<usize, GenKey> = names.map(|_key, name| name.len());
    /// assert_eq!((lengths[two], lengths.get(one)), (3, None));
    /// assert_eq!(lengths.insert(0).index(), one.index());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn map<U>(mut self, mut change: impl FnMut(K, T) -> U) -> PlainSlab<U, K, S> {
        let mut mapped: PlainSlab<U, K, S> = self.new_like(0);
        mapped.floor = self.floor;
        mapped.set_wraps(self.wraps());
        let settled = Settled(&mut mapped);
        let slab = &mut *settled.0;
        for (index, from) in self.existing().iter().enumerate() {
            // An occupied cell gets its version again when it is filled.
            let vacant = from.version() & !u32::from(from.is_occupied());
            // SAFETY: the slab has at least as many slots; the cell exists once it is written
            // (`used-cells`).
            unsafe { K::Cell::<U>::write_vacant(slab.place(index), vacant) };
            slab.used = index + 1;
        }
        let mut slots = Slots::new(&self);
        // Before the values are moved out, which frees their slots.
        slab.cells.copy_stack(&self.cells);
        (slab.retired, slab.detached) = (self.retired, self.detached);
        while let Some(index) = slots.next(&self) {
            let version = self.existing()[index].version();
            // SAFETY: `next` says that the slot has a value.
            let (key, value) = unsafe { self.take_at(index) };
            let value = change(key, value);
            // SAFETY: the cell exists, and is vacant and not on the stack: that of the other slab
            // had a value.
            unsafe { K::Cell::fill(slab.place(index), version | 1, value) };
        }
        core::mem::forget(settled);
        mapped
    }
}

/// Gives up growth: the capacity stays what it is, and its memory is touched.
///
/// # Complexity
///
/// O(capacity); does not allocate.
impl<T, K: SlabKey> From<PlainSlab<T, K, Growable>> for PlainSlab<T, K, Bounded> {
    fn from(mut slab: PlainSlab<T, K, Growable>) -> Self {
        let none = Cells::empty(
            slab.cells.source().clone(),
            PlainSlab::<T, K, Bounded>::CELL,
        );
        let mut bounded = Self::in_cells(core::mem::replace(&mut slab.cells, none));
        bounded.used = core::mem::take(&mut slab.used);
        (bounded.retired, bounded.detached) = (slab.retired, slab.detached);
        (slab.retired, slab.detached) = (0, 0);
        (bounded.floor, bounded.tally) = (slab.floor, slab.tally);
        touched(bounded)
    }
}

/// Creates a slab with these values under these keys, whose capacity ends with the highest one. The
/// slots without a value are free.
impl<T, K: SlabKey> FromIterator<(K, T)> for PlainSlab<T, K, Bounded> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, T)>>(values: I) -> Self {
        let mut slab = PlainSlab::<T, K, Growable>::from_iter(values);
        slab.shrink_to_fit();
        slab.into()
    }
}
