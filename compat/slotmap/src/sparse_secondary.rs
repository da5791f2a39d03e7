//! More about a few of the values of a map, in a hash map.

use alloc::collections::TryReserveError;
use core::fmt;
use core::hash::BuildHasher;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};
use std::collections::hash_map::{self, HashMap, RandomState};

use crate::iter::{Item, iterators};
use crate::secondary::is_older;
use crate::{Key, KeyData};

/// Values under a few of the keys of another map.
///
/// An entry of an earlier value in the same slot is replaced, one of a later value stays.
///
/// ```
/// use slotmap::{SlotMap, SparseSecondaryMap};
///
/// let mut names = SlotMap::new();
/// let key = names.insert("Bob");
/// let mut ages = SparseSecondaryMap::new();
/// ages.insert(key, 40);
/// assert_eq!(ages[key], 40);
/// ```
#[derive(Clone)]
pub struct SparseSecondaryMap<K: Key, V, S: BuildHasher = RandomState> {
    /// By the number of the slot.
    slots: HashMap<u32, Slot<V>, S>,
    keys: PhantomData<fn(K) -> K>,
}

#[derive(Clone, Debug)]
struct Slot<V> {
    version: NonZeroU32,
    value: V,
}

impl<K: Key, V> SparseSecondaryMap<K, V> {
    /// Creates an empty map.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates a map with memory for so many values at least.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }
}

impl<K: Key, V, S: BuildHasher> SparseSecondaryMap<K, V, S> {
    /// Creates an empty map with a hasher.
    pub fn with_hasher(hash_builder: S) -> Self {
        SparseSecondaryMap {
            slots: HashMap::with_hasher(hash_builder),
            keys: PhantomData,
        }
    }

    /// Creates a map with a hasher and memory for so many values at least.
    pub fn with_capacity_and_hasher(capacity: usize, hash_builder: S) -> Self {
        SparseSecondaryMap {
            slots: HashMap::with_capacity_and_hasher(capacity, hash_builder),
            keys: PhantomData,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Number of values that there is memory for.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Reserves memory for at least `additional` more values.
    pub fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional);
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// # Errors
    ///
    /// If they take more than `isize::MAX` bytes, or the allocator refuses.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.slots.try_reserve(additional)
    }

    fn find(&self, data: KeyData) -> Option<&V> {
        let slot = self.slots.get(&data.idx)?;
        (slot.version == data.version).then_some(&slot.value)
    }

    /// Whether the key opens a value here.
    pub fn contains_key(&self, key: K) -> bool {
        self.find(key.data()).is_some()
    }

    /// Sets the value at a key, and returns the one it had. One of an earlier version is dropped.
    /// If there is one of a later version, or the key is null, the given value is.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let data = key.data();
        if data.is_null() {
            return None;
        }
        let new = Slot {
            version: data.version,
            value,
        };
        match self.slots.entry(data.idx) {
            hash_map::Entry::Vacant(entry) => {
                entry.insert(new);
                None
            }
            hash_map::Entry::Occupied(mut entry) => {
                if is_older(data.version, entry.get().version) {
                    return None;
                }
                let old = entry.insert(new);
                (old.version == data.version).then_some(old.value)
            }
        }
    }

    /// Moves the value at a key out. `None` if there is none.
    pub fn remove(&mut self, key: K) -> Option<V> {
        let data = key.data();
        self.find(data)?;
        self.slots.remove(&data.idx).map(|slot| slot.value)
    }

    /// Drops the values for which `f` is false, in any order.
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(K, &mut V) -> bool,
    {
        self.slots.retain(|idx, slot| {
            let data = KeyData::new(*idx, slot.version.get());
            f(data.into(), &mut slot.value)
        });
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    /// Moves all values out, in any order.
    pub fn drain(&mut self) -> Drain<'_, K, V> {
        Drain {
            inner: self.slots.drain(),
            keys: PhantomData,
        }
    }

    /// Borrows the value at a key.
    pub fn get(&self, key: K) -> Option<&V> {
        self.find(key.data())
    }

    /// Borrows the value at a key, which is checked nevertheless.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    pub unsafe fn get_unchecked(&self, key: K) -> &V {
        self.get(key).expect("a key of a value")
    }

    /// Borrows the value at a key mutably.
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let data = key.data();
        let slot = self.slots.get_mut(&data.idx)?;
        (slot.version == data.version).then_some(&mut slot.value)
    }

    /// Borrows the value at a key mutably. It is checked nevertheless.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> &mut V {
        self.get_mut(key).expect("a key of a value")
    }

    /// Borrows the values at several keys mutably; O(`N`²). `None` if one opens no value, or two
    /// open the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[&mut V; N]> {
        let data = keys.map(|key| key.data());
        for (at, one) in data.iter().enumerate() {
            if self.find(*one).is_none() || data[..at].contains(one) {
                return None;
            }
        }
        let slots = self
            .slots
            .get_disjoint_mut(data.each_ref().map(|data| &data.idx));
        Some(slots.map(|slot| &mut slot.expect("found above").value))
    }

    /// Borrows the values at several keys mutably. They are checked nevertheless.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true for each, and no two are the same.
    pub unsafe fn get_disjoint_unchecked_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> [&mut V; N] {
        (self.get_disjoint_mut(keys)).expect("keys of different values")
    }

    /// The values with their keys, in any order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            inner: self.slots.iter(),
            keys: PhantomData,
        }
    }

    /// The values with their keys, to be changed, in any order.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut {
            inner: self.slots.iter_mut(),
            keys: PhantomData,
        }
    }

    /// The keys of the values, in any order.
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, in any order.
    pub fn values(&self) -> Values<'_, K, V> {
        Values {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, to be changed, in any order.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut {
            inner: self.iter_mut(),
            keys: PhantomData,
        }
    }

    /// The place of a key, with a value or without: one of an earlier version is dropped. `None`
    /// if the key is null, or there is a value of a later version.
    pub fn entry(&mut self, key: K) -> Option<Entry<'_, K, V>> {
        let data = key.data();
        if data.is_null() {
            return None;
        }
        if let Some(slot) = self.slots.get(&data.idx) {
            if slot.version != data.version {
                if !is_older(slot.version, data.version) {
                    return None;
                }
                self.slots.remove(&data.idx);
            }
        }
        Some(match self.slots.entry(data.idx) {
            hash_map::Entry::Occupied(inner) => Entry::Occupied(OccupiedEntry {
                inner,
                data,
                keys: PhantomData,
            }),
            hash_map::Entry::Vacant(inner) => Entry::Vacant(VacantEntry {
                inner,
                data,
                keys: PhantomData,
            }),
        })
    }
}

/// The place of a key; made by [`SparseSecondaryMap::entry`].
#[derive(Debug)]
pub enum Entry<'a, K: Key, V> {
    /// With a value.
    Occupied(OccupiedEntry<'a, K, V>),
    /// Without.
    Vacant(VacantEntry<'a, K, V>),
}

/// The place of a key with a value.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K: Key, V> {
    inner: hash_map::OccupiedEntry<'a, u32, Slot<V>>,
    data: KeyData,
    keys: PhantomData<fn(K) -> K>,
}

/// The place of a key without a value.
#[derive(Debug)]
pub struct VacantEntry<'a, K: Key, V> {
    inner: hash_map::VacantEntry<'a, u32, Slot<V>>,
    data: KeyData,
    keys: PhantomData<fn(K) -> K>,
}

impl<'a, K: Key, V> Entry<'a, K, V> {
    /// Inserts a value if there is none, and borrows the one there is.
    pub fn or_insert(self, default: V) -> &'a mut V {
        self.or_insert_with(|| default)
    }

    /// Inserts what a closure makes if there is no value, and borrows the one there is.
    pub fn or_insert_with<F: FnOnce() -> V>(self, default: F) -> &'a mut V {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(default()),
        }
    }

    /// The key.
    pub fn key(&self) -> K {
        match self {
            Entry::Occupied(entry) => entry.key(),
            Entry::Vacant(entry) => entry.key(),
        }
    }

    /// Changes the value if there is one.
    pub fn and_modify<F: FnOnce(&mut V)>(mut self, f: F) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            f(entry.get_mut());
        }
        self
    }
}

impl<'a, K: Key, V: Default> Entry<'a, K, V> {
    /// Inserts the default value if there is none, and borrows the one there is.
    pub fn or_default(self) -> &'a mut V {
        self.or_insert_with(V::default)
    }
}

impl<'a, K: Key, V> OccupiedEntry<'a, K, V> {
    /// The key.
    pub fn key(&self) -> K {
        self.data.into()
    }

    /// Moves the key and its value out.
    pub fn remove_entry(self) -> (K, V) {
        (self.key(), self.remove())
    }

    /// Borrows the value.
    pub fn get(&self) -> &V {
        &self.inner.get().value
    }

    /// Borrows the value mutably.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.inner.get_mut().value
    }

    /// Borrows the value mutably, as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.inner.into_mut().value
    }

    /// Sets the value, and returns the one there was.
    pub fn insert(&mut self, value: V) -> V {
        mem::replace(self.get_mut(), value)
    }

    /// Moves the value out.
    pub fn remove(self) -> V {
        self.inner.remove().value
    }
}

impl<'a, K: Key, V> VacantEntry<'a, K, V> {
    /// The key.
    pub fn key(&self) -> K {
        self.data.into()
    }

    /// Inserts the value, and borrows it.
    pub fn insert(self, value: V) -> &'a mut V {
        let slot = Slot {
            version: self.data.version,
            value,
        };
        &mut self.inner.insert(slot).value
    }
}

impl<K: Key, V, S: BuildHasher + Default> Default for SparseSecondaryMap<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

/// Prints a map from keys to values.
impl<K: Key, V: fmt::Debug, S: BuildHasher> fmt::Debug for SparseSecondaryMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Key, V, S: BuildHasher> Index<K> for SparseSecondaryMap<K, V, S> {
    type Output = V;

    #[track_caller]
    fn index(&self, key: K) -> &V {
        match self.get(key) {
            Some(value) => value,
            None => invalid(),
        }
    }
}

impl<K: Key, V, S: BuildHasher> IndexMut<K> for SparseSecondaryMap<K, V, S> {
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
    panic!("invalid SparseSecondaryMap key used")
}

impl<K: Key, V: PartialEq, S: BuildHasher> PartialEq for SparseSecondaryMap<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Key, V: Eq, S: BuildHasher> Eq for SparseSecondaryMap<K, V, S> {}

impl<K, V, S> FromIterator<(K, V)> for SparseSecondaryMap<K, V, S>
where
    K: Key,
    S: BuildHasher + Default,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let mut map = Self::default();
        map.extend(iter);
        map
    }
}

impl<K: Key, V, S: BuildHasher> Extend<(K, V)> for SparseSecondaryMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        for (key, value) in iter {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Key, V: Copy, S: BuildHasher> Extend<(K, &'a V)> for SparseSecondaryMap<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, &'a V)>>(&mut self, iter: I) {
        self.extend(iter.into_iter().map(|(key, value)| (key, *value)));
    }
}

impl<V> Item for (u32, Slot<V>) {
    type Key = KeyData;
    type Value = V;

    fn split(self) -> (KeyData, V) {
        (KeyData::new(self.0, self.1.version.get()), self.1.value)
    }
}

impl<'a, V> Item for (&u32, &'a Slot<V>) {
    type Key = KeyData;
    type Value = &'a V;

    fn split(self) -> (KeyData, &'a V) {
        (KeyData::new(*self.0, self.1.version.get()), &self.1.value)
    }
}

impl<'a, V> Item for (&u32, &'a mut Slot<V>) {
    type Key = KeyData;
    type Value = &'a mut V;

    fn split(self) -> (KeyData, &'a mut V) {
        let data = KeyData::new(*self.0, self.1.version.get());
        (data, &mut self.1.value)
    }
}

iterators! {
    "SparseSecondaryMap";
    Iter: hash_map::Iter<'a, u32, Slot<V>>;
    IterMut: hash_map::IterMut<'a, u32, Slot<V>>;
    IntoIter: hash_map::IntoIter<u32, Slot<V>>;
    Drain: hash_map::Drain<'a, u32, Slot<V>>;
}

impl<'a, K: Key, V, S: BuildHasher> IntoIterator for &'a SparseSecondaryMap<K, V, S> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: Key, V, S: BuildHasher> IntoIterator for &'a mut SparseSecondaryMap<K, V, S> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Key, V, S: BuildHasher> IntoIterator for SparseSecondaryMap<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter {
            inner: self.slots.into_iter(),
            keys: PhantomData,
        }
    }
}
