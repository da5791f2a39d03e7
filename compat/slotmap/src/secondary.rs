//! More about the values of a map, in a vector of its own.
//!
//! [`SecondarySlab`](flatslab::key_slab::SecondarySlab) is not what is below: its `insert` names
//! the slab that a key is of, which `slotmap` does not.

use alloc::collections::TryReserveError;
use alloc::vec::{self, Vec};
use core::fmt;
use core::iter::{Enumerate, FusedIterator};
use core::marker::PhantomData;
use core::mem;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};
use core::slice;

use crate::iter::iterators;
use crate::{Key, KeyData};

/// Values under the keys of another map.
///
/// An entry of an earlier value in the same slot is replaced, one of a later value stays. Memory
/// is taken for all slots up to the last one with an entry: also for a key that was forged.
///
/// ```
/// use slotmap::{SecondaryMap, SlotMap};
///
/// let mut names = SlotMap::new();
/// let key = names.insert("Bob");
/// let mut ages = SecondaryMap::new();
/// ages.insert(key, 40);
/// assert_eq!(ages[key], 40);
/// ```
#[derive(Clone)]
pub struct SecondaryMap<K: Key, V> {
    /// From slot 0 on, of which only forged keys are.
    pub(crate) slots: Vec<Slot<V>>,
    /// How many have a value.
    len: usize,
    keys: PhantomData<fn(K) -> K>,
}

/// A value and its version.
pub(crate) type Slot<V> = Option<(NonZeroU32, V)>;

/// Whether a version is before another one, where versions start again at 0 after the last one.
pub(crate) fn is_older(version: NonZeroU32, than: NonZeroU32) -> bool {
    version.get().wrapping_sub(than.get()) >= 1 << 31
}

/// The place of a slot.
#[inline(always)]
fn place(data: KeyData) -> usize {
    data.idx as usize
}

/// Slot 0, and so many others.
const fn with_slot_0(slots: usize) -> usize {
    if slots == 0 {
        0
    } else {
        slots.saturating_add(1)
    }
}

impl<K: Key, V> SecondaryMap<K, V> {
    /// Creates an empty map, which allocates nothing before the first value.
    pub const fn new() -> Self {
        SecondaryMap {
            slots: Vec::new(),
            len: 0,
            keys: PhantomData,
        }
    }

    /// Creates a map with memory for so many slots at least.
    pub fn with_capacity(capacity: usize) -> Self {
        SecondaryMap {
            slots: Vec::with_capacity(with_slot_0(capacity)),
            ..Self::new()
        }
    }

    /// The map with these slots.
    #[cfg(feature = "serde")]
    pub(crate) fn from_slots(slots: Vec<Slot<V>>) -> Self {
        let len = slots.iter().flatten().count();
        SecondaryMap {
            slots,
            len,
            keys: PhantomData,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of slots that there is memory for.
    pub fn capacity(&self) -> usize {
        self.slots.capacity().saturating_sub(1)
    }

    /// Reserves memory for at least so many slots in all.
    pub fn set_capacity(&mut self, new_capacity: usize) {
        let missing = with_slot_0(new_capacity).saturating_sub(self.slots.len());
        self.slots.reserve(missing);
    }

    /// Reserves memory for at least so many slots in all.
    ///
    /// # Errors
    ///
    /// If they take more than `isize::MAX` bytes, or the allocator refuses.
    pub fn try_set_capacity(&mut self, new_capacity: usize) -> Result<(), TryReserveError> {
        let missing = with_slot_0(new_capacity).saturating_sub(self.slots.len());
        self.slots.try_reserve(missing)
    }

    /// The value of a slot and version.
    #[inline]
    fn find(&self, data: KeyData) -> Option<&V> {
        match self.slots.get(place(data)) {
            Some(Some((version, value))) if *version == data.version => Some(value),
            _ => None,
        }
    }

    /// The value of a slot and version.
    #[inline]
    fn find_mut(&mut self, data: KeyData) -> Option<&mut V> {
        match self.slots.get_mut(place(data)) {
            Some(Some((version, value))) if *version == data.version => Some(value),
            _ => None,
        }
    }

    /// A slot, which is made if it does not exist. `None` for the null key.
    fn reach(&mut self, data: KeyData) -> Option<&mut Slot<V>> {
        if data.is_null() {
            return None;
        }
        if place(data) >= self.slots.len() {
            self.slots.resize_with(place(data) + 1, || None);
        }
        self.slots.get_mut(place(data))
    }

    /// Whether the key opens a value here.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        self.find(key.data()).is_some()
    }

    /// Sets the value at a key, and returns the one it had. One of an earlier version is dropped.
    /// If there is one of a later version, or the key is null, the given value is.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let data = key.data();
        let slot = self.reach(data)?;
        match slot {
            Some((version, old)) if *version == data.version => {
                return Some(mem::replace(old, value));
            }
            Some((version, _)) if is_older(data.version, *version) => return None,
            _ => {}
        }
        let old = slot.replace((data.version, value));
        self.len += usize::from(old.is_none());
        None
    }

    /// Moves the value at a key out. `None` if there is none.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.take(key.data())
    }

    fn take(&mut self, data: KeyData) -> Option<V> {
        self.find(data)?;
        self.len -= 1;
        let (_, value) = self.slots[place(data)].take()?;
        Some(value)
    }

    /// Drops the values for which `f` is false, in the order of the slots.
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(K, &mut V) -> bool,
    {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Some((version, value)) = slot {
                let data = KeyData::new(index as u32, version.get());
                if !f(data.into(), value) {
                    self.len -= 1;
                    *slot = None;
                }
            }
        }
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.drain();
    }

    /// Moves all values out.
    pub fn drain(&mut self) -> Drain<'_, K, V> {
        let mut slots = self.slots.iter_mut().enumerate();
        // A value that a forged key put into slot 0 stays, as in `slotmap`.
        slots.next();
        Drain {
            inner: Draining {
                slots,
                len: &mut self.len,
            },
            keys: PhantomData,
        }
    }

    /// Borrows the value at a key.
    #[inline]
    pub fn get(&self, key: K) -> Option<&V> {
        self.find(key.data())
    }

    /// Borrows the value at a key, which is checked nevertheless.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked(&self, key: K) -> &V {
        self.get(key).expect("a key of a value")
    }

    /// Borrows the value at a key mutably.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.find_mut(key.data())
    }

    /// Borrows the value at a key mutably. It is checked nevertheless.
    ///
    /// # Safety
    ///
    /// [`contains_key`](Self::contains_key) is true.
    #[inline]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> &mut V {
        self.get_mut(key).expect("a key of a value")
    }

    /// Borrows the values at several keys mutably; O(`N`²). `None` if one opens no value, or two
    /// open the same.
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[&mut V; N]> {
        let data = keys.map(|key| key.data());
        if data.iter().any(|data| self.find(*data).is_none()) {
            return None;
        }
        let slots = self.slots.get_disjoint_mut(data.map(place)).ok()?;
        Some(slots.map(|slot| &mut slot.as_mut().expect("found above").1))
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

    /// The values with their keys, in the order of the slots.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            inner: Walk::new(self.slots.iter(), self.len),
            keys: PhantomData,
        }
    }

    /// The values with their keys, to be changed, in the order of the slots.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut {
            inner: Walk::new(self.slots.iter_mut(), self.len),
            keys: PhantomData,
        }
    }

    /// The keys of the values, in the order of the slots.
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, in the order of the slots.
    pub fn values(&self) -> Values<'_, K, V> {
        Values {
            inner: self.iter(),
            keys: PhantomData,
        }
    }

    /// The values, to be changed, in the order of the slots.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut {
            inner: self.iter_mut(),
            keys: PhantomData,
        }
    }

    /// The place of a key, with a value or without. `None` if the key is null, or there is a value
    /// of a later version.
    pub fn entry(&mut self, key: K) -> Option<Entry<'_, K, V>> {
        let data = key.data();
        let is_occupied = match self.reach(data)? {
            Some((version, _)) if *version == data.version => true,
            Some((version, _)) if is_older(data.version, *version) => return None,
            _ => false,
        };
        Some(if is_occupied {
            Entry::Occupied(OccupiedEntry { map: self, data })
        } else {
            Entry::Vacant(VacantEntry { map: self, data })
        })
    }
}

/// The place of a key; made by [`SecondaryMap::entry`].
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
    /// It has a value for the key, and keeps it: it is borrowed.
    map: &'a mut SecondaryMap<K, V>,
    data: KeyData,
}

/// The place of a key without a value.
#[derive(Debug)]
pub struct VacantEntry<'a, K: Key, V> {
    /// It has a slot for the key, without a value or with one of an earlier version.
    map: &'a mut SecondaryMap<K, V>,
    data: KeyData,
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
        self.map.find(self.data).expect("an occupied entry")
    }

    /// Borrows the value mutably.
    pub fn get_mut(&mut self) -> &mut V {
        self.map.find_mut(self.data).expect("an occupied entry")
    }

    /// Borrows the value mutably, as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        self.map.find_mut(self.data).expect("an occupied entry")
    }

    /// Sets the value, and returns the one there was.
    pub fn insert(&mut self, value: V) -> V {
        mem::replace(self.get_mut(), value)
    }

    /// Moves the value out.
    pub fn remove(self) -> V {
        self.map.take(self.data).expect("an occupied entry")
    }
}

impl<'a, K: Key, V> VacantEntry<'a, K, V> {
    /// The key.
    pub fn key(&self) -> K {
        self.data.into()
    }

    /// Inserts the value, and borrows it. One of an earlier version is dropped.
    pub fn insert(self, value: V) -> &'a mut V {
        let slot = &mut self.map.slots[place(self.data)];
        self.map.len += usize::from(slot.is_none());
        let (_, value) = slot.insert((self.data.version, value));
        value
    }
}

impl<K: Key, V> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints a map from keys to values.
impl<K: Key, V: fmt::Debug> fmt::Debug for SecondaryMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Key, V> Index<K> for SecondaryMap<K, V> {
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

impl<K: Key, V> IndexMut<K> for SecondaryMap<K, V> {
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
    panic!("invalid SecondaryMap key used")
}

impl<K: Key, V: PartialEq> PartialEq for SecondaryMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Key, V: Eq> Eq for SecondaryMap<K, V> {}

impl<K: Key, V> FromIterator<(K, V)> for SecondaryMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let mut map = Self::new();
        map.extend(iter);
        map
    }
}

impl<K: Key, V> Extend<(K, V)> for SecondaryMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        for (key, value) in iter {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Key, V: Copy> Extend<(K, &'a V)> for SecondaryMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, &'a V)>>(&mut self, iter: I) {
        self.extend(iter.into_iter().map(|(key, value)| (key, *value)));
    }
}

/// A slot by value or by reference.
trait Content {
    type Value;

    fn content(self) -> Option<(NonZeroU32, Self::Value)>;
}

impl<V> Content for Slot<V> {
    type Value = V;

    fn content(self) -> Slot<V> {
        self
    }
}

impl<'a, V> Content for &'a Slot<V> {
    type Value = &'a V;

    fn content(self) -> Option<(NonZeroU32, &'a V)> {
        self.as_ref().map(|(version, value)| (*version, value))
    }
}

impl<'a, V> Content for &'a mut Slot<V> {
    type Value = &'a mut V;

    fn content(self) -> Option<(NonZeroU32, &'a mut V)> {
        self.as_mut().map(|(version, value)| (*version, value))
    }
}

/// The slots with a value, of which `left` are left.
#[derive(Clone)]
struct Walk<I> {
    slots: Enumerate<I>,
    left: usize,
}

impl<I: Iterator> Walk<I> {
    fn new(slots: I, left: usize) -> Self {
        Walk {
            slots: slots.enumerate(),
            left,
        }
    }
}

impl<I: Iterator<Item: Content>> Iterator for Walk<I> {
    type Item = (KeyData, <I::Item as Content>::Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        for (index, slot) in self.slots.by_ref() {
            if let Some((version, value)) = slot.content() {
                self.left -= 1;
                return Some((KeyData::new(index as u32, version.get()), value));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The slots whose values are moved out.
struct Draining<'a, V> {
    slots: Enumerate<slice::IterMut<'a, Slot<V>>>,
    len: &'a mut usize,
}

impl<V> Iterator for Draining<'_, V> {
    type Item = (KeyData, V);

    fn next(&mut self) -> Option<Self::Item> {
        for (index, slot) in self.slots.by_ref() {
            if let Some((version, value)) = slot.take() {
                *self.len -= 1;
                return Some((KeyData::new(index as u32, version.get()), value));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (*self.len, Some(*self.len))
    }
}

impl<V> Drop for Draining<'_, V> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

iterators! {
    "SecondaryMap";
    Iter: Walk<slice::Iter<'a, Slot<V>>>;
    IterMut: Walk<slice::IterMut<'a, Slot<V>>>;
    IntoIter: Walk<vec::IntoIter<Slot<V>>>;
    Drain: Draining<'a, V>;
}

impl<'a, K: Key, V> IntoIterator for &'a SecondaryMap<K, V> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: Key, V> IntoIterator for &'a mut SecondaryMap<K, V> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Key, V> IntoIterator for SecondaryMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(mut self) -> Self::IntoIter {
        // A value that a forged key put there is left out, and counted, as by `slotmap`.
        if let Some(slot_0) = self.slots.first_mut() {
            *slot_0 = None;
        }
        IntoIter {
            inner: Walk::new(self.slots.into_iter(), self.len),
            keys: PhantomData,
        }
    }
}
