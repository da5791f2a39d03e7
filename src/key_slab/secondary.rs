//! `SecondarySlab`: more data about the values of another slab, under the same keys.

use core::fmt;
use core::iter::{FusedIterator, Peekable};
use core::ops::{Index, IndexMut};

use super::cell::{Cell, DETACHED};
use super::iter::{IntoIter, Keys, Slots, Values, ValuesMut, Walk};
use super::key::{GenerationKey, Inside};
use super::restore::{Refusal, or_panic};
use super::{Growable, InsertAtError, Iter, IterMut, KeySlab, PlainSlab, Storage, missing};
use crate::error::DisjointError;
use crate::raw::memory;
use crate::raw::report::Report;

/// The version of a slot without an entry: the lowest of a slot that is kept for a detached value,
/// so a snapshot may have it (`kept-version`).
pub(super) const NO_ENTRY: u32 = DETACHED | 2;

/// A second value for some of the values of another slab, under the same keys; for example the
/// components of entities.
///
/// An entry has the generation of its key. So a key whose value in the other slab was removed never
/// finds the entry of the next value in the slot, as an index into a `Vec` would. The entry of a
/// removed value stays until its slot gets another entry, or until [`prune`](Self::prune) drops it.
/// If generations [wrap](super::GenKey#how-long-generations-last), prune in time.
///
/// An insertion also takes the other slab. So a key that has no value there, forged or stale, takes
/// no memory.
///
/// If the other slab is [rewound](super::SlabGroup::rewind) to an earlier state, its keys are used
/// again, and the entries of this slab are of another time: a restored value may have lost its
/// entry, and a new value may find an old one's. A [`SlabGroup`](super::SlabGroup) rewinds both.
///
/// # Cost
///
/// Memory use is proportional to the highest index with an entry: a value, its generation and 4
/// bytes for each slot up to it. Operations on all entries visit each slot up to the last entry: an
/// entry in the last of a million slots costs a million slots. If only few of the values have
/// entries, use a `HashMap<K, V>`: a key contains its generation, so there too the key of a removed
/// value never finds the entry of the next value, and `retain(|key, _| slab.contains(*key))` prunes
/// it.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::SecondarySlab;
/// use flatslab::{GenKey, KeySlab};
///
/// let mut names: KeySlab<&str, GenKey> = KeySlab::with_key();
/// let mut ages = SecondarySlab::new();
/// let (alice, bob) = (names.insert("Alice"), names.insert("Bob"));
/// ages.insert(&names, bob, 40);
/// assert_eq!((ages.get(alice), ages[bob]), (None, 40));
/// assert!(ages.join(&names).eq([(bob, &"Bob", &40)]));
///
/// names.remove(bob);
/// let carol = names.insert("Carol"); // in the same slot
/// assert_eq!(ages.get(carol), None);
/// ```
pub struct SecondarySlab<V, K: GenerationKey> {
    /// Each vacant slot counts as kept for a detached value, so that none is on the stack. Its
    /// version is not used: the keys of entries come from another slab, whose versions never fall.
    pub(super) slab: KeySlab<V, K>,
}

impl<V, K: GenerationKey> SecondarySlab<V, K> {
    /// Creates a slab without entries; does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        SecondarySlab {
            slab: KeySlab::with_key(),
        }
    }

    /// Creates a slab with memory for the entries of the first `slots` slots.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::with_capacity`](PlainSlab::with_capacity) does.
    ///
    /// ```
    /// # use flatslab::{GenKey, key_slab::SecondarySlab};
    /// let slab = SecondarySlab::<u64, GenKey>::with_capacity(100);
    /// assert_eq!((slab.len(), slab.capacity()), (0, 100));
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(slots: usize) -> Self {
        SecondarySlab {
            slab: KeySlab::with_capacity_and_key(slots),
        }
    }

    /// Returns the number of slots whose entries there is memory for. O(1).
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slab.capacity()
    }

    /// Returns the number of entries, including those whose value in the other slab was removed.
    /// O(1).
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Returns `true` if there is no entry.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    /// Returns `true` if there is an entry with this key. O(1).
    #[inline]
    #[must_use]
    #[doc(alias = "contains_key")]
    pub fn contains(&self, key: K) -> bool {
        self.slab.contains(key)
    }

    /// Borrows the entry with this key. Returns `None` if there is no entry. O(1).
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<&V> {
        self.slab.get(key)
    }

    /// Borrows the entry with this key mutably. Returns `None` if there is no entry. O(1).
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.slab.get_mut(key)
    }

    /// Sets the entry of a value of `slab`, and returns the entry that the value had. An entry of
    /// an earlier value in the same slot is dropped.
    ///
    /// # Complexity
    ///
    /// O(1) if this or a higher slot had an entry before. Otherwise O(n) for the n new slots up to
    /// this one, each of which is written once, and growth.
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key in `slab`. Panics if the slot has an entry of a
    /// later value: the entry came from another slab, from before the slab's [generations were
    /// reset](PlainSlab::reset_generations), or from before the slab was
    /// [rewound](super::SlabGroup::rewind); [`clear`](Self::clear) the entries in the first two
    /// cases, and rewind them with the slab in the third. If generations wrap, such an entry is
    /// dropped, like one of an earlier value. If the allocator refuses, the program aborts, as with
    /// `Vec`.
    #[track_caller]
    pub fn insert<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
        value: V,
    ) -> Option<V> {
        or_fail(self.try_insert(slab, key, value))
    }

    /// Sets the entry of a value of `slab`, like [`insert`](Self::insert); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value where [`insert`](Self::insert) panics, or if the allocator refuses.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let mut more = SecondarySlab::new();
    /// let key = slab.insert("value");
    /// assert_eq!(more.try_insert(&slab, key, 7), Ok(None));
    /// slab.remove(key);
    /// let error = more.try_insert(&slab, key, 8).unwrap_err();
    /// assert_eq!(error.to_string(), "no value has this key");
    /// assert_eq!((more.get(key), error.into_inner()), (Some(&7), 8));
    /// ```
    pub fn try_insert<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
        value: V,
    ) -> Result<Option<V>, InsertAtError<V>> {
        let (index, version) = (key.index(), key.version());
        if slab.find(index, version).is_none() {
            return Err(InsertAtError::Missing(value));
        }
        self.set(index, version, slab.wraps(), value)
    }

    /// Allocates memory up to this slot, if it takes an entry of this version.
    pub(super) fn admits(
        &mut self,
        index: usize,
        version: u32,
        wraps: bool,
    ) -> Result<(), Refusal> {
        let present = self.slab.existing().get(index);
        // If generations wrap, a higher version may be of an earlier value.
        if present.is_some_and(|cell| cell.is_occupied() && cell.version() > version && !wraps) {
            return Err(InsertAtError::Outdated(()));
        }
        (self.slab.try_reach(index)).map_err(|error| InsertAtError::NoMemory((), error))
    }

    /// Sets the entry of a value whose key has these numbers, which the caller read once.
    pub(super) fn set(
        &mut self,
        index: usize,
        version: u32,
        wraps: bool,
        value: V,
    ) -> Result<Option<V>, InsertAtError<V>> {
        if let Err(refusal) = self.admits(index, version, wraps) {
            return Err(refusal.with(value));
        }
        self.create_up_to(index + 1);
        let entries = &mut self.slab;
        // SAFETY: the cell exists. It is vacant, and not on the stack, when it is filled.
        unsafe {
            let cell = entries.place(index);
            let present = cell.as_ref().version();
            let old = match cell.as_ref().is_occupied() {
                false => {
                    entries.detached -= 1;
                    None
                }
                true => Some(K::Cell::vacate(cell, present + 1)),
            };
            K::Cell::fill(cell, version, value);
            Ok(old.filter(|_| present == version))
        }
    }

    /// Creates the slots below `end`, without entries. `end` is at most the capacity.
    pub(super) fn create_up_to(&mut self, end: usize) {
        let entries = &mut self.slab;
        for fresh in entries.used..end {
            // SAFETY: below the capacity, and its cell does not exist yet (`used-cells`).
            unsafe { K::Cell::<V>::write_vacant(entries.place(fresh), NO_ENTRY) };
            entries.used += 1;
            entries.detached += 1;
        }
    }

    /// Removes the entry with this key, and returns it.
    ///
    /// # Panics
    ///
    /// Panics if there is no entry. [`try_remove`](Self::try_remove) returns `None` instead.
    #[track_caller]
    #[doc(alias = "erase")]
    pub fn remove(&mut self, key: K) -> V {
        match self.try_remove(key) {
            Some(value) => value,
            None => missing(key),
        }
    }

    /// Removes the entry with this key, and returns it. Returns `None` if there is no entry. O(1).
    pub fn try_remove(&mut self, key: K) -> Option<V> {
        self.take(key.index(), key.version())
    }

    /// Removes the entry of a key with these numbers, which the caller read once.
    pub(super) fn take(&mut self, index: usize, version: u32) -> Option<V> {
        self.slab.find(index, version)?;
        // SAFETY: `find` says that the cell is occupied.
        Some(unsafe { self.take_at(index) })
    }

    /// Moves the entry out of a slot.
    ///
    /// # Safety
    ///
    /// The slot exists, and has an entry.
    unsafe fn take_at(&mut self, index: usize) -> V {
        self.slab.detached += 1;
        // SAFETY: occupied (precondition), and vacant and counted so from here on.
        unsafe { K::Cell::vacate(self.slab.place(index), NO_ENTRY) }
    }

    /// Borrows several entries mutably at once, like
    /// [`get_disjoint_mut`](PlainSlab::get_disjoint_mut) of a [`KeySlab`].
    ///
    /// # Complexity
    ///
    /// O(`N`²).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no entry with one of the keys, or if two keys refer to the same
    /// entry.
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut V; N], DisjointError> {
        self.slab.get_disjoint_mut(keys)
    }

    /// Drops the entries whose value in `slab` was removed. Entries of values that are only
    /// [detached](PlainSlab::detach) stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry).
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let mut more = SecondarySlab::new();
    /// let key = slab.insert("value");
    /// more.insert(&slab, key, 7);
    /// slab.remove(key);
    /// more.prune(&slab);
    /// assert!(more.is_empty());
    /// ```
    pub fn prune<T, S: Storage>(&mut self, slab: &PlainSlab<T, K, S>) {
        self.retain(|key, _| slab.contains(key) || slab.is_detached(key));
    }

    /// Drops the entries for which `keep` returns `false`, in the order of the slots.
    ///
    /// If `keep` or a destructor panics, the entries that were not visited yet stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry).
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut V) -> bool) {
        let mut walk = Walk::new(&self.slab);
        while let Some((index, version, mut cell)) = walk.next_cell() {
            let key = K::new(index, version, Inside);
            // SAFETY: an occupied cell of this slab (`walk-left`); `keep` cannot reach the slab.
            // The visited cell is removed, not the entry of the key: the methods of the key may
            // return other numbers.
            unsafe {
                if !keep(key, cell.as_mut().value_mut()) {
                    self.slab.detached += 1;
                    drop(K::Cell::vacate(cell, NO_ENTRY));
                }
            }
        }
    }

    /// Drops all entries, and keeps the memory.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry), or O(1) if entries have no destructor.
    pub fn clear(&mut self) {
        let entries = self.len();
        self.slab.detached = 0;
        self.slab.destroy_all(false, entries);
    }

    /// Removes all entries, and returns an iterator that yields them with their keys, in the order of
    /// the slots. The memory stays.
    ///
    /// Dropping the iterator drops the remaining entries. If it is forgotten, they stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let mut more = SecondarySlab::new();
    /// let key = slab.insert("value");
    /// more.insert(&slab, key, 7);
    /// assert!(more.drain().eq([(key, 7)]));
    /// assert!(more.is_empty());
    /// ```
    #[must_use = "dropping it drops every entry; `clear` says so"]
    pub fn drain(&mut self) -> SecondaryDrain<'_, V, K> {
        SecondaryDrain {
            slots: Slots::new(&self.slab),
            entries: self,
        }
    }

    /// Returns an iterator over the keys of the entries, in the order of the slots.
    pub fn keys(&self) -> Keys<'_, V, K> {
        self.slab.keys()
    }

    /// Returns an iterator over the entries without their keys, in the order of the slots.
    pub fn values(&self) -> Values<'_, V, K> {
        self.slab.values()
    }

    /// Returns an iterator over mutable references to the entries without their keys, in the order of
    /// the slots.
    pub fn values_mut(&mut self) -> ValuesMut<'_, V, K> {
        self.slab.values_mut()
    }

    /// Returns an iterator over the entries with their keys, in the order of the slots.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration.
    #[inline]
    pub fn iter(&self) -> Iter<'_, V, K> {
        self.slab.iter()
    }

    /// Returns an iterator over mutable references to the entries, with their keys, in the order of
    /// the slots.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, V, K> {
        self.slab.iter_mut()
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration.
    #[inline]
    pub fn join<'a, T, S: Storage>(&'a self, slab: &'a PlainSlab<T, K, S>) -> Join<'a, T, V, K, S> {
        Join {
            entries: self.iter(),
            slab,
        }
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots. The references to the value and to the entry are mutable.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value and up to the last entry) for the whole iteration.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut places: KeySlab<i32, GenKey> = KeySlab::with_key();
    /// let mut speeds = SecondarySlab::new();
    /// let (still, moving) = (places.insert(0), places.insert(10));
    /// speeds.insert(&places, moving, 3);
    /// for (_, place, speed) in speeds.join_mut(&mut places) {
    ///     *place += *speed;
    /// }
    /// assert_eq!((places[still], places[moving]), (0, 13));
    /// ```
    #[inline]
    pub fn join_mut<'a, T, S: Storage>(
        &'a mut self,
        slab: &'a mut PlainSlab<T, K, S>,
    ) -> JoinMut<'a, T, V, K> {
        JoinMut {
            entries: self.iter_mut().peekable(),
            values: slab.iter_mut(),
        }
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots. The references to the entries are mutable.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last entry) for the whole iteration.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut places: KeySlab<i32, GenKey> = KeySlab::with_key();
    /// let mut speeds = SecondarySlab::new();
    /// let key = places.insert(10);
    /// speeds.insert(&places, key, 3);
    /// for (_, place, speed) in speeds.join_entries_mut(&places) {
    ///     *speed -= *place / 10; // a spring
    /// }
    /// assert_eq!(speeds[key], 2);
    /// ```
    pub fn join_entries_mut<'a, T, S: Storage>(
        &'a mut self,
        slab: &'a PlainSlab<T, K, S>,
    ) -> impl FusedIterator<Item = (K, &'a T, &'a mut V)> {
        (self.iter_mut()).filter_map(|(key, entry)| Some((key, slab.get(key)?, entry)))
    }

    /// Returns an iterator over the values of `slab` that have an entry, each with its key and its
    /// entry, in the order of the slots. The references to the values are mutable.
    ///
    /// The values of a [`CheckpointSlab`](super::CheckpointSlab) have it as
    /// [`join_values_mut`](super::LoggedSlab::join_values_mut).
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut places: KeySlab<i32, GenKey> = KeySlab::with_key();
    /// let mut speeds = SecondarySlab::new();
    /// let key = places.insert(10);
    /// speeds.insert(&places, key, 3);
    /// for (_, place, speed) in speeds.join_values_mut(&mut places) {
    ///     *place += *speed;
    /// }
    /// assert_eq!(places[key], 13);
    /// ```
    pub fn join_values_mut<'a, T, S: Storage>(
        &'a self,
        slab: &'a mut PlainSlab<T, K, S>,
    ) -> impl FusedIterator<Item = (K, &'a mut T, &'a V)> {
        (slab.iter_mut()).filter_map(|(key, value)| Some((key, value, self.get(key)?)))
    }

    /// Returns a report about the memory: its bytes, and where it comes from.
    #[must_use]
    pub fn memory(&self) -> Report {
        self.slab.memory()
    }
}

/// Returns the entry that the value had.
///
/// # Panics
///
/// Panics or aborts if the insertion was refused.
#[track_caller]
pub(super) fn or_fail<V>(inserted: Result<Option<V>, InsertAtError<V>>) -> Option<V> {
    match inserted {
        Ok(old) => old,
        Err(InsertAtError::NoMemory(_, error)) => memory::fail(error),
        Err(error) => panic!("insert was refused: {error}"),
    }
}

/// An iterator over the values of a slab that have an entry. Created by
/// [`join`](SecondarySlab::join).
///
/// ```
/// use flatslab::key_slab::{Join, SecondarySlab};
/// use flatslab::{GenKey, KeySlab};
///
/// let mut names: KeySlab<&str, GenKey> = KeySlab::with_key();
/// let mut ages = SecondarySlab::new();
/// let bob = names.insert("Bob");
/// ages.insert(&names, bob, 40);
/// let mut both: Join<'_, &str, i32, GenKey> = ages.join(&names);
/// assert_eq!(both.next(), Some((bob, &"Bob", &40)));
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct Join<'a, T, V, K: GenerationKey, S: Storage = Growable> {
    entries: Iter<'a, V, K>,
    slab: &'a PlainSlab<T, K, S>,
}

impl<'a, T, V, K: GenerationKey, S: Storage> Iterator for Join<'a, T, V, K, S> {
    type Item = (K, &'a T, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slab = self.slab;
        let joined = |(key, entry)| Some((key, slab.get(key)?, entry));
        self.entries.find_map(joined)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

impl<T, V, K: GenerationKey, S: Storage> Clone for Join<'_, T, V, K, S> {
    fn clone(&self) -> Self {
        let (entries, slab) = (self.entries.clone(), self.slab);
        Join { entries, slab }
    }
}

impl<T, V, K: GenerationKey, S: Storage> FusedIterator for Join<'_, T, V, K, S> {}

/// Prints the number of remaining entries.
impl<T, V, K: GenerationKey, S: Storage> fmt::Debug for Join<'_, T, V, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("left", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// An iterator over mutable references to the values of a slab that have an entry, and to the
/// entries. Created by [`join_mut`](SecondarySlab::join_mut).
#[must_use = "iterators do nothing unless consumed"]
pub struct JoinMut<'a, T, V, K: GenerationKey> {
    entries: Peekable<IterMut<'a, V, K>>,
    values: IterMut<'a, T, K>,
}

impl<'a, T, V, K: GenerationKey> Iterator for JoinMut<'a, T, V, K> {
    type Item = (K, &'a mut T, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        let entries = &mut self.entries;
        self.values.find_map(|(key, value)| {
            let at = (key.index(), key.version());
            while let Some((other, _)) = entries.peek() {
                if (other.index(), other.version()) >= at {
                    break;
                }
                entries.next();
            }
            let entry = entries.next_if(|(other, _)| (other.index(), other.version()) == at);
            entry.map(|(_, entry)| (key, value, entry))
        })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.values.len()))
    }
}

impl<T, V, K: GenerationKey> FusedIterator for JoinMut<'_, T, V, K> {}

/// Prints the number of remaining values.
impl<T, V, K: GenerationKey> fmt::Debug for JoinMut<'_, T, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinMut")
            .field("left", &self.values.len())
            .finish_non_exhaustive()
    }
}

/// Borrows the entry with this key.
///
/// # Panics
///
/// Panics if there is no entry with this key.
impl<V, K: GenerationKey> Index<K> for SecondarySlab<V, K> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        &self.slab[key]
    }
}

/// Borrows the entry with this key mutably.
///
/// # Panics
///
/// Panics if there is no entry with this key.
impl<V, K: GenerationKey> IndexMut<K> for SecondarySlab<V, K> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.slab[key]
    }
}

impl<V, K: GenerationKey> Default for SecondarySlab<V, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone, K: GenerationKey> Clone for SecondarySlab<V, K> {
    fn clone(&self) -> Self {
        SecondarySlab {
            slab: self.slab.clone(),
        }
    }
}

impl<V: PartialEq, K: GenerationKey> PartialEq for SecondarySlab<V, K> {
    fn eq(&self, other: &Self) -> bool {
        self.slab == other.slab
    }
}

impl<V: Eq, K: GenerationKey> Eq for SecondarySlab<V, K> {}

/// Prints a map from keys to entries.
impl<V: fmt::Debug, K: GenerationKey> fmt::Debug for SecondarySlab<V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slab.fmt(f)
    }
}

/// An iterator that moves the entries out of a secondary slab. Created by
/// [`drain`](SecondarySlab::drain). Dropping it drops the remaining entries.
#[must_use = "dropping it drops every entry; `clear` says so"]
pub struct SecondaryDrain<'a, V, K: GenerationKey> {
    entries: &'a mut SecondarySlab<V, K>,
    slots: Slots,
}

impl<V, K: GenerationKey> Iterator for SecondaryDrain<'_, V, K> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.slots.next(&self.entries.slab)?;
        let version = self.entries.slab.existing()[index].version();
        // SAFETY: `Slots` says that the slot has an entry.
        let entry = unsafe { self.entries.take_at(index) };
        Some((K::new(index, version, Inside), entry))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.entries.len(), Some(self.entries.len()))
    }
}

impl<V, K: GenerationKey> ExactSizeIterator for SecondaryDrain<'_, V, K> {}
impl<V, K: GenerationKey> FusedIterator for SecondaryDrain<'_, V, K> {}

impl<V, K: GenerationKey> Drop for SecondaryDrain<'_, V, K> {
    fn drop(&mut self) {
        self.entries.clear();
    }
}

/// Prints the number of remaining entries.
impl<V, K: GenerationKey> fmt::Debug for SecondaryDrain<'_, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondaryDrain")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Sets entries under their keys. An entry replaces one of the same value, or of an earlier one.
///
/// No slab is asked whether it has such values: a key from outside the program costs the memory of
/// all slots below it.
///
/// # Panics
///
/// Panics if a slot has an entry of a later value, or the allocator refuses; the entries before are
/// set.
impl<V, K: GenerationKey> Extend<(K, V)> for SecondarySlab<V, K> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, entry) in entries {
            or_panic((self.set(key.index(), key.version(), false, entry)).map(drop));
        }
    }
}

/// Creates a slab of these entries, like [`Extend`].
impl<V, K: GenerationKey> FromIterator<(K, V)> for SecondarySlab<V, K> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut slab = Self::new();
        slab.extend(entries);
        slab
    }
}

/// Moves the entries out with their keys, in the order of the slots.
impl<V, K: GenerationKey> IntoIterator for SecondarySlab<V, K> {
    type Item = (K, V);
    type IntoIter = IntoIter<V, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.slab.into_iter()
    }
}

impl<'a, V, K: GenerationKey> IntoIterator for &'a SecondarySlab<V, K> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, V, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, V, K: GenerationKey> IntoIterator for &'a mut SecondarySlab<V, K> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, V, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
