//! Many values at once: each operation brings the cells of the next few into the cache while it
//! is at one, so that a row of misses is waited for together.

use core::fmt;
use core::iter::FusedIterator;

use super::key::SlabKey;
use super::{Growable, PlainSlab, Storage};
use crate::error::FullError;
use crate::key::Key;

/// How many cells ahead are prefetched: as many misses as a core waits for at once, about.
const AHEAD: usize = 8;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Inserts values, and adds their keys to a collection; O(values). The keys are those of
    /// [`try_insert`](Self::try_insert) for one after the other. If the values end with a panic,
    /// those before are in the slab, and their keys in the collection.
    ///
    /// # Errors
    ///
    /// The first value that no slot is free for, when the slab cannot grow. Those before are
    /// inserted; values that were lent (`&mut iter`) are left to those after.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(3);
    /// let (mut values, mut keys) = (10..15, Vec::new());
    /// let full = slab.try_insert_many(&mut values, &mut keys).unwrap_err();
    /// assert_eq!((keys.len(), full.into_inner()), (3, 13));
    /// assert!(values.eq([14]));
    /// ```
    pub fn try_insert_many(
        &mut self,
        values: impl IntoIterator<Item = T>,
        keys: &mut impl Extend<K>,
    ) -> Result<(), FullError<T>> {
        for value in values {
            self.prefetch_free();
            keys.extend([self.try_insert(value)?]);
        }
        Ok(())
    }

    /// Prefetches the cell that an insertion fills soon.
    #[inline(always)]
    fn prefetch_free(&self) {
        if let Some(index) = self.cells.top_but(AHEAD) {
            self.prefetch_cell(index);
        }
    }

    /// Borrows the values at keys, in their order; O(keys). `None` for each key that opens none.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(7), slab.insert(8)];
    /// slab.remove(keys[0]);
    /// assert!(slab.get_many(&keys).eq([None, Some(&8)]));
    /// ```
    #[inline]
    pub fn get_many<'a>(&'a self, keys: &'a [K]) -> GetMany<'a, T, K, S> {
        self.prefetch_first(keys);
        GetMany { slab: self, keys }
    }

    /// Prefetches the values that an iterator over these keys begins with.
    #[inline]
    fn prefetch_first(&self, keys: &[K]) {
        for &key in keys.iter().take(AHEAD) {
            self.prefetch(key);
        }
    }

    /// Takes the first key off, and prefetches what is needed soon.
    #[inline(always)]
    fn next_key(&self, keys: &mut &[K]) -> Option<K> {
        let (&key, rest) = keys.split_first()?;
        *keys = rest;
        if let Some(&later) = rest.get(AHEAD - 1) {
            self.prefetch(later);
        }
        Some(key)
    }

    /// Moves the values at keys out, in their order, and frees their slots; O(keys). `None` for
    /// each key that opens none, or whose value was moved out before.
    ///
    /// What the iterator has not reached when it is dropped is removed then, as with
    /// [`drain`](Self::drain), and dropped. If the iterator is forgotten, it stays.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(7), slab.insert(8), slab.insert(9)];
    /// assert_eq!(slab.remove_many(&keys[..2]).flatten().sum::<i32>(), 15);
    /// assert!(slab.values().eq(&[9]));
    /// ```
    pub fn remove_many<'a>(&'a mut self, keys: &'a [K]) -> RemoveMany<'a, T, K, S> {
        self.prefetch_first(keys);
        RemoveMany { slab: self, keys }
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey> PlainSlab<T, K, Growable> {
    /// Inserts values, and adds their keys to a collection; O(values) and growth. The keys are
    /// those of [`insert`](Self::insert) for one after the other. If the values end with a panic,
    /// those before are in the slab, and their keys in the collection.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let mut keys = Vec::new();
    /// slab.insert_many(10..13, &mut keys);
    /// assert_eq!(slab[keys[2]], 12);
    /// ```
    #[track_caller]
    pub fn insert_many(&mut self, values: impl IntoIterator<Item = T>, keys: &mut impl Extend<K>) {
        let values = values.into_iter();
        // What is refused may not be needed.
        let _ = self.try_reserve(values.size_hint().0);
        for value in values {
            self.prefetch_free();
            keys.extend([self.insert(value)]);
        }
    }
}

/// The values at keys; made by [`get_many`](PlainSlab::get_many).
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let keys = [slab.insert(7), slab.insert(8)];
/// let mut values = slab.get_many(&keys);
/// assert_eq!((values.len(), values.next()), (2, Some(Some(&7))));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct GetMany<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    slab: &'a PlainSlab<T, K, S>,
    keys: &'a [K],
}

impl<'a, T, K: SlabKey, S: Storage> Iterator for GetMany<'a, T, K, S> {
    type Item = Option<&'a T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.slab.next_key(&mut self.keys)?;
        Some(self.slab.get(key))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.keys.len(), Some(self.keys.len()))
    }
}

impl<T, K: SlabKey, S: Storage> Clone for GetMany<'_, T, K, S> {
    fn clone(&self) -> Self {
        GetMany { ..*self }
    }
}

/// The values at keys, moved out; made by [`remove_many`](PlainSlab::remove_many). Dropping it
/// drops the rest.
///
/// ```
/// let mut slab = flatslab::KeySlab::new();
/// let keys = [slab.insert(7), slab.insert(8)];
/// assert_eq!(slab.remove_many(&keys).next(), Some(Some(7)));
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it removes and drops the values at all keys"]
pub struct RemoveMany<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    slab: &'a mut PlainSlab<T, K, S>,
    keys: &'a [K],
}

impl<T, K: SlabKey, S: Storage> Iterator for RemoveMany<'_, T, K, S> {
    type Item = Option<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.slab.next_key(&mut self.keys)?;
        Some(self.slab.try_remove(key))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.keys.len(), Some(self.keys.len()))
    }
}

impl<T, K: SlabKey, S: Storage> Drop for RemoveMany<'_, T, K, S> {
    fn drop(&mut self) {
        /// Goes on when a destructor panics.
        struct Rest<'r, 'a, T, K: SlabKey, S: Storage>(&'r mut RemoveMany<'a, T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Rest<'_, '_, T, K, S> {
            fn drop(&mut self) {
                self.0.by_ref().for_each(drop);
            }
        }

        let rest = Rest(self);
        rest.0.by_ref().for_each(drop);
    }
}

impl<T, K: SlabKey, S: Storage> ExactSizeIterator for GetMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for GetMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> ExactSizeIterator for RemoveMany<'_, T, K, S> {}
impl<T, K: SlabKey, S: Storage> FusedIterator for RemoveMany<'_, T, K, S> {}

/// Prints the keys that are left.
impl<T, K: SlabKey, S: Storage> fmt::Debug for GetMany<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GetMany").field(&self.keys).finish()
    }
}

/// Prints the keys that are left.
impl<T, K: SlabKey, S: Storage> fmt::Debug for RemoveMany<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoveMany").field(&self.keys).finish()
    }
}
