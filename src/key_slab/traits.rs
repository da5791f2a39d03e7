//! What the standard library's traits ask for.

use core::fmt;
use core::ops::{Index, IndexMut};

use super::cell::Cell;
use super::key::SlabKey;
use super::storage::sealed::Cells;
use super::storage::{Array, Chunks, Storage};
use super::{PlainSlab, missing};
use crate::error::AllocError;
use crate::raw::memory;

/// # Panics
///
/// If there is no value at the key.
impl<T, K: SlabKey, S: Storage> Index<K> for PlainSlab<T, K, S> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

/// # Panics
///
/// If there is no value at the key.
impl<T, K: SlabKey, S: Storage> IndexMut<K> for PlainSlab<T, K, S> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

impl<T: Clone, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Clones everything into an empty slab with as many slots at least.
    fn clone_to(&self, clone: &mut Self) {
        debug_assert!(clone.used == 0 && clone.capacity() >= self.used);
        for index in 0..self.used {
            // SAFETY: by K1 the cell exists here, and there is memory for it
            // there; it exists there once it is written. User code runs before.
            unsafe {
                let (from, to) = (self.place(index).as_ref(), clone.place(index));
                if from.is_occupied() {
                    let value = from.value().clone();
                    K::Cell::fill(to, from.version() | 1, value);
                } else {
                    K::Cell::<T>::write_vacant(to, from.version());
                }
            }
            clone.used = index + 1;
        }
        clone.free.copy_from(&self.free);
        clone.retired = self.retired;
    }
}

impl<T, K: SlabKey> PlainSlab<T, K, Chunks> {
    fn try_make_room_for_clone_of(&mut self, other: &Self) -> Result<(), AllocError> {
        (self.try_grow_to(other.used)).map_err(|error| error.expect("chunks grow"))?;
        self.storage.try_copy_floors(&other.storage)
    }
}

/// The same values under the same keys, and the same next keys; O(slots used).
/// Allocates memory for the used slots only, from the same
/// [pages](crate::memory::Pages).
impl<T: Clone, K: SlabKey> Clone for PlainSlab<T, K, Chunks> {
    #[track_caller]
    fn clone(&self) -> Self {
        let source = self.storage.source();
        let mut clone = Self::new_in(source.clone(), source.clone());
        if let Err(error) = clone.try_make_room_for_clone_of(self) {
            memory::fail(error);
        }
        self.clone_to(&mut clone);
        clone
    }
}

/// The same values under the same keys, the same next keys, and the same
/// capacity, from the same [pages](crate::memory::Pages); O(slots used).
impl<T: Clone, K: SlabKey> Clone for PlainSlab<T, K, Array> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = match Self::try_new_in(self.capacity(), self.storage.source()) {
            Ok(clone) => clone,
            Err(error) => memory::fail(error),
        };
        self.clone_to(&mut clone);
        clone
    }
}

/// Prints a map from keys to values.
impl<T: fmt::Debug, K: SlabKey, S: Storage> fmt::Debug for PlainSlab<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Equal where the same keys open equal values, whatever the capacity and the
/// next keys.
impl<T, U, K, S, R> PartialEq<PlainSlab<U, K, R>> for PlainSlab<T, K, S>
where
    T: PartialEq<U>,
    K: SlabKey,
    S: Storage,
    R: Storage,
{
    fn eq(&self, other: &PlainSlab<U, K, R>) -> bool {
        self.len() == other.len()
            && self.iter().zip(other).all(|((a, value), (b, other))| {
                (a.index(), a.version()) == (b.index(), b.version()) && value == other
            })
    }
}

impl<T: Eq, K: SlabKey, S: Storage> Eq for PlainSlab<T, K, S> {}
