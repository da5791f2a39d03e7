//! The slot map.

use alloc::collections::TryReserveError;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Index, IndexMut};

use flatslab::{GenKey, KeySlab, key_slab};

use crate::iter::iterators;
use crate::{DefaultKey, Key, KeyData, memory};

/// Values of one type under keys that the map hands out, and that open nothing when their value is
/// gone.
///
/// ```
/// let mut map = slotmap::SlotMap::new();
/// let (one, two) = (map.insert(1), map.insert(2));
/// map.remove(one);
/// assert_eq!((map.get(one), map[two]), (None, 2));
/// ```
pub struct SlotMap<K: Key, V> {
    pub(crate) inner: KeySlab<V, GenKey>,
    keys: PhantomData<fn(K) -> K>,
}

impl<V> SlotMap<DefaultKey, V> {
    /// Creates an empty map, which allocates nothing before the first value.
    pub fn new() -> Self {
        Self::with_key()
    }

    /// Creates a map with memory for exactly so many values.
    ///
    /// # Panics
    ///
    /// If they are 2^30 or more, or take more than `isize::MAX` bytes.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }
}

impl<K: Key, V> SlotMap<K, V> {
    /// Creates an empty map with keys of a type of the caller's.
    pub fn with_key() -> Self {
        Self::from_inner(KeySlab::with_key())
    }

    /// Creates a map with memory for exactly so many values, and keys of a type of the caller's.
    ///
    /// # Panics
    ///
    /// If they are 2^30 or more, or take more than `isize::MAX` bytes.
    #[track_caller]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        match KeySlab::try_with_capacity_and_key(capacity) {
            Ok(inner) => Self::from_inner(inner),
            Err(error) => memory::fail(error),
        }
    }

    pub(crate) const fn from_inner(inner: KeySlab<V, GenKey>) -> Self {
        SlotMap {
            inner,
            keys: PhantomData,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Number of values that there is memory for.
    pub fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// # Panics
    ///
    /// As [`with_capacity_and_key`](Self::with_capacity_and_key).
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.inner.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// # Errors
    ///
    /// Where [`reserve`](Self::reserve) panics, or the allocator refuses.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.inner.try_reserve(additional).map_err(memory::refused)
    }

    /// Whether the key opens a value.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        self.inner.contains(key.data().key())
    }

    /// Inserts a value, and returns its key; O(1), amortised.
    ///
    /// # Panics
    ///
    /// If the map would have 2^30 slots or more, or their bytes exceed `isize::MAX`.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: V) -> K {
        KeyData::of(self.inner.insert(value)).into()
    }

    /// Inserts the value that a closure makes of its key, and returns the key. If the closure
    /// panics, nothing has changed.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    #[track_caller]
    pub fn insert_with_key<F>(&mut self, f: F) -> K
    where
        F: FnOnce(K) -> V,
    {
        let key = KeyData::of(self.inner.vacant_key());
        self.insert(f(key.into()))
    }

    /// Inserts the value that a closure makes of its key, and returns the key. If the closure
    /// panics, nothing has changed.
    ///
    /// # Errors
    ///
    /// That of the closure: nothing has changed.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    #[track_caller]
    pub fn try_insert_with_key<F, E>(&mut self, f: F) -> Result<K, E>
    where
        F: FnOnce(K) -> Result<V, E>,
    {
        let key = KeyData::of(self.inner.vacant_key());
        Ok(self.insert(f(key.into())?))
    }

    /// Moves the value at a key out; O(1). `None` if there is none.
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.inner.try_remove(key.data().key())
    }

    /// Moves the value at a key out, and keeps its slot for [`reattach`](Self::reattach); O(1).
    #[inline]
    pub fn detach(&mut self, key: K) -> Option<V> {
        self.inner.detach(key.data().key())
    }

    /// Puts a value into the slot that was kept for a key; O(1).
    ///
    /// # Panics
    ///
    /// If no value was [detached](Self::detach) from the key, or one is back already.
    #[inline]
    #[track_caller]
    pub fn reattach(&mut self, detached_key: K, value: V) {
        let key = detached_key.data().key();
        if self.inner.try_reattach(key, value).is_err() {
            panic!("key is not detached");
        }
    }

    /// Drops the values for which `f` is false, in the order of the slots; O(slots used).
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(K, &mut V) -> bool,
    {
        (self.inner).retain(|key, value| f(KeyData::of(key).into(), value));
    }

    /// Drops all values; O(slots used). Slots are reused from the last one on.
    pub fn clear(&mut self) {
        // Not `clear` of the slab, after which they are reused from the first one on.
        self.inner.retain(|_, _| false);
    }

    /// Moves all values out. Slots are reused from the last one on.
    pub fn drain(&mut self) -> Drain<'_, K, V> {
        Drain {
            inner: Draining(ManuallyDrop::new(self.inner.drain())),
            keys: PhantomData,
        }
    }

    /// Borrows the value at a key.
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        self.inner.get(key.data().key())
    }

    /// Borrows the value at a key, without a check.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked(&self, key: K) -> &V {
        // SAFETY: the key opens a value (precondition).
        unsafe { self.inner.get_unchecked(key.data().key()) }
    }

    /// Borrows the value at a key mutably.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.inner.get_mut(key.data().key())
    }

    /// Borrows the value at a key mutably, without a check.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> &mut V {
        // SAFETY: the key opens a value (precondition).
        unsafe { self.inner.get_unchecked_mut(key.data().key()) }
    }

    /// Borrows the values at several keys mutably; O(`N`²). `None` if one opens no value, or two
    /// open the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[&mut V; N]> {
        let keys = keys.map(|key| key.data().key());
        self.inner.get_disjoint_mut(keys).ok()
    }

    /// Borrows the values at several keys mutably, without a check.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true for each, and no two are the same.
    pub unsafe fn get_disjoint_unchecked_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> [&mut V; N] {
        let keys = keys.map(|key| key.data().key());
        // SAFETY: the keys open values, each its own (precondition).
        unsafe { self.inner.get_disjoint_unchecked_mut(keys) }
    }

    /// The values with their keys, in the order of the slots; O(slots used).
    #[inline]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            inner: self.inner.iter(),
            keys: PhantomData,
        }
    }

    /// The values with their keys, to be changed, in the order of the slots; O(slots used).
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut {
            inner: self.inner.iter_mut(),
            keys: PhantomData,
        }
    }

    /// The keys of the values, in the order of the slots; O(slots used).
    #[inline]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, in the order of the slots; O(slots used).
    #[inline]
    pub fn values(&self) -> Values<'_, K, V> {
        Values {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, to be changed, in the order of the slots; O(slots used).
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut {
            inner: self.iter_mut(),
            keys: PhantomData,
        }
    }
}

impl<K: Key, V: Clone> Clone for SlotMap<K, V> {
    fn clone(&self) -> Self {
        Self::from_inner(self.inner.clone())
    }

    fn clone_from(&mut self, source: &Self) {
        self.inner.clone_from(&source.inner);
    }
}

/// Prints a map from keys to values.
impl<K: Key, V: fmt::Debug> fmt::Debug for SlotMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Key, V> Default for SlotMap<K, V> {
    fn default() -> Self {
        Self::with_key()
    }
}

impl<K: Key, V> Index<K> for SlotMap<K, V> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => invalid(),
        }
    }
}

impl<K: Key, V> IndexMut<K> for SlotMap<K, V> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut V {
        match self.get_mut(key) {
            Some(value) => value,
            None => invalid(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn invalid() -> ! {
    panic!("invalid SlotMap key used")
}

/// The slab's iterator, never dropped: it would put the free slots into another order.
struct Draining<'a, V>(ManuallyDrop<key_slab::Drain<'a, V, GenKey>>);

impl<V> Iterator for Draining<'_, V> {
    type Item = (GenKey, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> Drop for Draining<'_, V> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

iterators! {
    "SlotMap";
    Iter: key_slab::Iter<'a, V, GenKey>;
    IterMut: key_slab::IterMut<'a, V, GenKey>;
    IntoIter: key_slab::IntoIter<V, GenKey>;
    Drain: Draining<'a, V>;
}

impl<'a, K: Key, V> IntoIterator for &'a SlotMap<K, V> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: Key, V> IntoIterator for &'a mut SlotMap<K, V> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Key, V> IntoIterator for SlotMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter {
            inner: self.inner.into_iter(),
            keys: PhantomData,
        }
    }
}
