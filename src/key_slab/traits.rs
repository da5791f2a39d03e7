//! What the standard library's traits ask for.

use core::fmt;
use core::ops::{Index, IndexMut};

#[cfg(feature = "alloc")]
use super::cell::Cell;
use super::key::SlabKey;
use super::{PlainSlab, Storage, missing};
#[cfg(feature = "alloc")]
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

#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Clones everything into an empty slab with as many slots at least.
    fn clone_to(&self, clone: &mut Self) {
        /// Settles the stack, also when a clone panics.
        struct Settled<'a, T, K: SlabKey, S: Storage>(&'a mut PlainSlab<T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Settled<'_, T, K, S> {
            fn drop(&mut self) {
                self.0.rebuild_stack();
            }
        }

        debug_assert!(clone.used == 0 && clone.capacity() >= self.used);
        (clone.floor, clone.wraps) = (self.floor, self.wraps);
        let settled = Settled(clone);
        let clone = &mut *settled.0;
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
        clone.cells.copy_stack(&self.cells);
        clone.retired = self.retired;
        clone.detached = self.detached;
        core::mem::forget(settled);
    }
}

/// The same values under the same keys, the same detached ones, and the same next keys; O(slots
/// used). Of a growable slab it allocates memory for the used slots alone, of a bounded one for its capacity, from the same
/// [pages](crate::memory::Pages). That of a slab in a [`KeySlabStorage`](super::KeySlabStorage)
/// is the global allocator's; without the feature `alloc` there are no clones.
#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> Clone for PlainSlab<T, K, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        let capacity = if S::BOUNDED {
            self.capacity()
        } else {
            self.used
        };
        match Self::try_with_exact_capacity(capacity, self.cells.source(), self.cells.to_range()) {
            Ok(mut clone) => {
                if S::BOUNDED {
                    clone.cells.touch::<K::Cell<T>>(self.used..capacity);
                }
                self.clone_to(&mut clone);
                clone
            }
            Err(error) => memory::fail(error),
        }
    }

    /// Drops the values there are and clones the others into the memory that is there, if there
    /// is enough; a bounded slab has the other's capacity afterwards. If the clone of a value
    /// panics, those before are there.
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        let is_enough = if S::BOUNDED {
            self.capacity() == source.capacity()
        } else {
            self.capacity() >= source.used
        };
        if is_enough {
            // Should a destructor panic, no old key opens a new value.
            self.clear();
            self.cells.clear();
            self.used = 0;
            source.clone_to(self);
        } else {
            *self = source.clone();
        }
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
