//! `Lru`: values by id, of which those used longest ago are displaced.
//!
//! An entry is in the slab, in the index by its id and in the list by use; if it has a deadline, in
//! the heap too. The links of the list are not in the entries: a hit touches its entry alone.
//! Hashes, which are code of the user, are calculated before an entry is taken out of any of them,
//! so a hasher that panics leaves the cache as it was.
//!
//! # Invariants
//!
//! They hold as long as ids do not change, and hash and compare consistently. Otherwise an entry may
//! not be found, until it is displaced.
//!
//! * `lru-entries`: the list has all entries, the index finds each of them, and `weight` is the sum of
//!   their weights.
//! * `lru-bounds`: there are at most `capacity` entries, of at most `max_weight` together. Slots
//!   are below the capacity of the index, as free ones are used first.
//! * `lru-room`: the list has room for all slots that the index has room for, and so has the heap,
//!   unless it has no room at all.

use core::borrow::Borrow;
use core::convert::Infallible;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use core::mem;

use super::circles::{Circles, Slots};
use super::hash::{HasherOption, IdState};
use super::heap::Heap;
use super::key_index::{Indexed, KeyIndex, Layout};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, FullError};
use crate::key::Key;
use crate::key_slab::KeySlab;
use crate::memory::Pages;
use crate::raw::memory;
use crate::raw::source::Source;

/// A cache of values by id, bounded by their number or by their weight: when it is full, an insertion
/// displaces the entry that was used longest ago.
///
/// # Memory
///
/// All memory is allocated and touched when the cache is created. An entry has the size of an
/// `Option<(Id, T, u32)>`, whose number is the weight, and 24 bytes besides: 12 of the index, 8 of
/// links, and 4 of the list of free slots. With ids and values of 8 bytes that is 56 bytes. Nothing
/// is allocated later, unless the cache is [resized](Self::try_resize), or the first entry gets a
/// [deadline](Self::set_deadline).
///
/// # Complexity
///
/// Expected O(1) for all operations that do not say otherwise; O(log n) where entries have deadlines.
/// An insertion displaces at most one entry, except where the cache is bounded by weight.
///
/// # If user code panics
///
/// If a hasher or a comparison of ids panics, nothing has changed, and a value that was to be
/// inserted is dropped. If an operation removes several entries, those that it had come to before
/// the panic are removed, and the others are still there. If the destructor of an id or value panics,
/// its entry has been removed.
///
/// # Examples
///
/// ```
/// use flatslab::collections::Lru;
///
/// let mut pages = Lru::with_capacity(2);
/// assert_eq!(pages.insert("one".to_string(), 1), None);
/// pages.insert("two".to_string(), 2);
/// assert_eq!(pages.get("one"), Some(&1));
///
/// // In the place of the one that was used longest ago.
/// assert_eq!(pages.insert("three".to_string(), 3), Some(("two".to_string(), 2)));
/// let by_use: Vec<_> = pages.iter().map(|(_, value)| *value).collect();
/// assert_eq!(by_use, [3, 1]);
/// ```
#[doc(alias("LruCache", "cache", "least recently used"))]
pub struct Lru<Id, T, H = IdState> {
    entries: KeySlab<LruEntry<Id, T>>,
    by_id: KeyIndex<Id, H>,
    by_use: Circles,
    deadlines: Heap<u64>,
    bounds: Bounds,
    weight: u64,
}

/// The list by use, from the entry used last on.
const USE: usize = 0;

/// The key of the entry in a slot.
#[inline(always)]
fn key(slot: usize) -> Key {
    Key::from_raw(slot as u32)
}

/// A value in the cache.
struct LruEntry<Id, T> {
    id: Id,
    value: T,
    weight: u32,
}

impl<Id, T> Indexed<Id> for LruEntry<Id, T> {
    #[inline(always)]
    fn id(&self) -> &Id {
        &self.id
    }
}

impl<Id: Hash + Eq, T> Lru<Id, T> {
    /// Creates a cache of this many entries, whose memory is allocated and touched now. A capacity of 0
    /// is taken as 1.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(cache) => cache,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a cache like [`with_capacity`](Self::with_capacity).
    ///
    /// # Errors
    ///
    /// Returns an error if there are more entries than a slab can have, or the allocator refuses.
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        let entries = KeySlab::try_with_capacity(capacity.max(1))?;
        Self::try_of(
            entries,
            Bounds::of(capacity),
            IdState::new(),
            &Source::GLOBAL,
        )
    }

    /// Returns a builder: for a cache that is bounded by weight, for a hasher of your choice, and for
    /// memory from [`Pages`]. The default capacity is 1.
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use flatslab::collections::Lru;
    ///
    /// let builder = Lru::builder().capacity(1000).max_weight(1 << 20).hasher(RandomState::new());
    /// let files: Lru<String, Vec<u8>, RandomState> = builder.build();
    /// assert_eq!((files.capacity(), files.max_weight()), (1000, 1 << 20));
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(LruOptions {
            bounds: Bounds::of(1),
            hasher: HasherOption::New(IdState::new),
        })
    }
}

impl<Id: Hash + Eq, T, H: BuildHasher> Lru<Id, T, H> {
    /// Creates a cache like [`with_capacity`](Lru::with_capacity), with a hasher of your choice.
    ///
    /// The page of [`KeyIndex::with_capacity_and_hasher`] says what the index needs of it.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Lru::try_with_capacity) returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use flatslab::collections::Lru;
    ///
    /// let mut cache = Lru::with_capacity_and_hasher(100, RandomState::new());
    /// cache.insert(7, "seven");
    /// assert_eq!(cache.peek(&7), Some(&"seven"));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(capacity: usize, hasher: H) -> Self {
        let entries = KeySlab::with_capacity(capacity.max(1));
        match Self::try_of(entries, Bounds::of(capacity), hasher, &Source::GLOBAL) {
            Ok(cache) => cache,
            Err(error) => memory::fail(error),
        }
    }

    fn try_of(
        mut entries: KeySlab<LruEntry<Id, T>>,
        bounds: Bounds,
        hasher: H,
        source: &Source,
    ) -> Result<Self, AllocError> {
        entries.prepare(bounds.capacity)?;
        Ok(Lru {
            entries,
            by_id: KeyIndex::try_new_in(Layout::of(bounds.capacity), hasher, source)?,
            by_use: Circles::try_new(1, bounds.capacity, source)?,
            deadlines: Heap::try_new_in(0, source)?,
            bounds,
            weight: 0,
        })
    }

    /// Changes the number of entries that the cache has room for; 0 is taken as 1. If it has more,
    /// those used longest ago are displaced, and given to `displaced`.
    ///
    /// # Complexity
    ///
    /// O(capacity) if there is to be more room: entries may move to new memory. Otherwise O(n) for
    /// the n entries that are displaced; no memory is freed.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more entries than a slab can have, or the allocator refuses. The
    /// capacity is the one before then, and no entry has been displaced. [`bytes`](Self::bytes) may have
    /// grown: the memory that was granted before the refusal is kept for the next call.
    ///
    /// # Panics
    ///
    /// Panics if `displaced` or a hasher does: the entries that `displaced` was given are not in
    /// the cache then, and the capacity is the one before.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut cache = Lru::with_capacity(2);
    /// cache.insert(1, "one");
    /// cache.insert(2, "two");
    /// cache.try_resize(1, |id, _| assert_eq!(id, 1))?;
    /// assert_eq!((cache.len(), cache.capacity()), (1, 1));
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_resize(
        &mut self,
        capacity: usize,
        mut displaced: impl FnMut(Id, T),
    ) -> Result<(), AllocError> {
        let capacity = capacity.max(1);
        // The index comes last, for `lru-room`.
        if self.deadlines.capacity() > 0 {
            self.deadlines.try_grow(capacity)?;
        }
        let additional = capacity.saturating_sub(self.len());
        self.entries.try_reserve_exact(additional)?;
        self.entries.prepare(additional)?;
        self.by_use.try_grow(capacity)?;
        self.by_id.try_grow(&self.entries, capacity)?;
        while self.len() > capacity {
            if let Some((id, value)) = self.pop_lru() {
                displaced(id, value);
            }
        }
        // After user code, for `lru-bounds`.
        self.bounds.capacity = capacity;
        Ok(())
    }

    /// Changes the bound of the weight; 0 is taken as 1. Entries used longest ago are displaced until
    /// the others weigh no more, and given to `displaced`. O(n) for n of them.
    ///
    /// # Panics
    ///
    /// Panics if `displaced` or a hasher does: the entries that `displaced` was given are not in
    /// the cache then, and the bound is the one before.
    pub fn set_max_weight(&mut self, max_weight: u64, displaced: impl FnMut(Id, T)) {
        let max_weight = max_weight.max(1);
        self.displace(max_weight, displaced);
        // After user code, for `lru-bounds`.
        self.bounds.max_weight = max_weight;
    }

    /// Returns the number of entries that the cache has room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bounds.capacity
    }

    /// Returns the number of entries.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there is no entry.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the bytes of memory that are allocated, without what ids and values own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tables = self.by_id.bytes() + self.by_use.bytes() + self.deadlines.bytes();
        self.entries.memory().bytes() + tables
    }

    /// Returns the sum of the weights of all entries.
    #[inline]
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns the bound of the weight: `u64::MAX` unless it was set.
    #[must_use]
    pub fn max_weight(&self) -> u64 {
        self.bounds.max_weight
    }

    /// Returns the value of an id, whose entry is the one used last from then on. Returns `None` if
    /// there is none.
    ///
    /// An entry whose [deadline](Self::set_deadline) is over is found too, until
    /// [`pop_expired`](Self::pop_expired) removes it.
    #[inline]
    pub fn get<Q>(&mut self, id: &Q) -> Option<&T>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        self.get_mut(id).map(|value| &*value)
    }

    /// Returns the value of an id like [`get`](Self::get), to change it.
    #[inline]
    pub fn get_mut<Q>(&mut self, id: &Q) -> Option<&mut T>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        Some(self.used(key))
    }

    /// Returns the value of an id, and leaves the order of use as it is. Returns `None` if there is
    /// none.
    #[inline]
    #[must_use]
    pub fn peek<Q>(&self, id: &Q) -> Option<&T>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        Some(&self.entries.get(key)?.value)
    }

    /// Returns the value of an id like [`peek`](Self::peek), to change it.
    #[inline]
    #[must_use]
    pub fn peek_mut<Q>(&mut self, id: &Q) -> Option<&mut T>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        Some(&mut self.entries.get_mut(key)?.value)
    }

    /// Returns `true` if there is an entry with this id. The order of use stays as it is.
    #[inline]
    #[must_use]
    pub fn contains<Q>(&self, id: &Q) -> bool
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        self.peek(id).is_some()
    }

    /// Makes the entry of an id the one used last. Returns `false` if there is none.
    #[inline]
    pub fn promote<Q>(&mut self, id: &Q) -> bool
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        self.get_mut(id).is_some()
    }

    /// Returns the value of an id like [`get_mut`](Self::get_mut), or inserts the one that `make`
    /// returns, with a weight of 1. The second value is the entry that it displaced.
    ///
    /// If `make` panics, nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut squares = Lru::with_capacity(100);
    /// let (square, displaced) = squares.get_or_insert_with(7_u64, || 7 * 7);
    /// assert_eq!((*square, displaced), (49, None));
    /// ```
    pub fn get_or_insert_with(
        &mut self,
        id: Id,
        make: impl FnOnce() -> T,
    ) -> (&mut T, Option<(Id, T)>) {
        let Ok(found) = self.try_get_or_insert_with(id, || Ok::<T, Infallible>(make()));
        found
    }

    /// Returns the value of an id like [`get_or_insert_with`](Self::get_or_insert_with), from a `make`
    /// that may fail: one that reads a file, or asks a server.
    ///
    /// # Errors
    ///
    /// Returns the error of `make`. Nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut numbers = Lru::with_capacity(100);
    /// let (number, _) = numbers.try_get_or_insert_with("7", || "7".parse::<u32>())?;
    /// assert_eq!(*number, 7);
    /// assert!(numbers.try_get_or_insert_with("seven", || "seven".parse()).is_err());
    /// assert!(!numbers.contains("seven"));
    /// # Ok::<(), std::num::ParseIntError>(())
    /// ```
    #[expect(
        clippy::type_complexity,
        reason = "what `get_or_insert_with` returns, or the error"
    )]
    pub fn try_get_or_insert_with<E>(
        &mut self,
        id: Id,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<(&mut T, Option<(Id, T)>), E> {
        let hash = self.by_id.hash(&id);
        if let Some(key) = self.key_of(hash, &id) {
            return Ok((self.used(key), None));
        }
        let value = make()?;
        let displaced = self.make_room_of_one();
        let key = self.insert_new(hash, id, value, 1);
        Ok((self.used(key), displaced))
    }

    /// Inserts a value, as the one used last. Returns the entry that it displaced: the one with the
    /// same id, or the one that was used longest ago.
    ///
    /// The entry has no deadline, and a weight of 1, also if it displaced one with the same id.
    #[inline]
    #[doc(alias("push", "put"))]
    pub fn insert(&mut self, id: Id, value: T) -> Option<(Id, T)> {
        let hash = self.by_id.hash(&id);
        if let Some(key) = self.key_of(hash, &id) {
            return Some(self.replace(key, id, value));
        }
        let displaced = self.make_room_of_one();
        self.insert_new(hash, id, value, 1);
        displaced
    }

    /// Inserts a value of this weight, as the one used last; a weight of 0 is taken as 1. The entry
    /// with the same id is displaced, and those used longest ago until there is room; each is given
    /// to `displaced`, the one with the same id first.
    ///
    /// # Errors
    ///
    /// Returns the id and the value if they are heavier than the [bound](Self::max_weight). Nothing has
    /// changed then: an entry with the same id is still there.
    ///
    /// # Complexity
    ///
    /// Expected O(n) for the n entries that are displaced.
    ///
    /// # Panics
    ///
    /// Panics if `displaced` or a hasher does: the entries that `displaced` was given are not in
    /// the cache then, and neither is the new one.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut files = Lru::builder().capacity(1_000).max_weight(100).build();
    /// files.insert_weighted("a", vec![0; 60], 60, |_, _| ())?;
    /// files.insert_weighted("b", vec![0; 30], 30, |_, _| ())?;
    /// let mut gone = Vec::new();
    /// files.insert_weighted("c", vec![0; 40], 40, |id, _| gone.push(id))?;
    /// assert_eq!((gone, files.weight()), (vec!["a"], 70));
    /// assert!(files.insert_weighted("b", vec![0; 101], 101, |_, _| ()).is_err());
    /// assert_eq!(files.peek("b").unwrap().len(), 30);
    /// # Ok::<(), flatslab::FullError<(&str, Vec<u8>)>>(())
    /// ```
    pub fn insert_weighted(
        &mut self,
        id: Id,
        value: T,
        weight: u32,
        mut displaced: impl FnMut(Id, T),
    ) -> Result<(), FullError<(Id, T)>> {
        let weight = weight.max(1);
        if u64::from(weight) > self.bounds.max_weight {
            return Err(FullError((id, value)));
        }
        if let Some((id, value)) = self.remove(&id) {
            displaced(id, value);
        }
        let hash = self.by_id.hash(&id);
        self.displace(self.bounds.max_weight - u64::from(weight), &mut displaced);
        if let Some((id, value)) = self.make_room_of_one() {
            displaced(id, value);
        }
        self.insert_new(hash, id, value, weight);
        Ok(())
    }

    /// Removes the entry with this id, and returns it. Returns `None` if there is none.
    #[inline]
    #[doc(alias = "pop")]
    pub fn remove<Q>(&mut self, id: &Q) -> Option<(Id, T)>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        self.take(key)
    }

    /// Borrows the entry that was used longest ago. Returns `None` if there is none. O(1).
    #[must_use]
    pub fn peek_lru(&self) -> Option<(&Id, &T)> {
        self.iter().next_back()
    }

    /// Removes the entry that was used longest ago, and returns it. Returns `None` if there is none.
    #[inline]
    #[doc(alias = "evict")]
    pub fn pop_lru(&mut self) -> Option<(Id, T)> {
        if self.is_empty() {
            return None;
        }
        self.take(key(self.by_use.last(USE)))
    }

    /// Gives the entry of an id a deadline, from which on [`pop_expired`](Self::pop_expired) removes it.
    /// Returns `false` if there is no entry. O(log n).
    ///
    /// A time is a number, such as of milliseconds. The cache has no clock: [`get`](Self::get) finds an
    /// entry until it is removed, and an insertion displaces the one used longest ago, also if another
    /// one's deadline is over. An entry that replaces another one has no deadline. The first call
    /// allocates memory for the deadlines of all entries, if
    /// [`try_reserve_deadlines`](Self::try_reserve_deadlines) has not.
    ///
    /// # Panics
    ///
    /// Panics or aborts if that memory is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut addresses = Lru::with_capacity(100);
    /// addresses.insert("localhost", [127, 0, 0, 1]);
    /// addresses.set_deadline("localhost", 60);
    /// assert_eq!(addresses.pop_expired(59), None);
    /// assert_eq!(addresses.pop_expired(60), Some(("localhost", [127, 0, 0, 1])));
    /// ```
    #[track_caller]
    #[doc(alias("ttl", "time to live", "expire"))]
    pub fn set_deadline<Q>(&mut self, id: &Q, deadline: u64) -> bool
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let Some(key) = self.key_of(self.by_id.hash(id), id) else {
            return false;
        };
        if let Err(error) = self.try_reserve_deadlines() {
            memory::fail(error)
        }
        self.deadlines.push(key, deadline).is_ok()
    }

    /// Takes the deadline from the entry of an id, and returns it. Returns `None` if there is no entry,
    /// or it has none. O(log n).
    pub fn clear_deadline<Q>(&mut self, id: &Q) -> Option<u64>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        self.deadlines.remove(key)
    }

    /// Returns the deadline of the entry of an id. Returns `None` if there is no entry, or it has none.
    #[must_use]
    pub fn deadline<Q>(&self, id: &Q) -> Option<u64>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        self.deadlines.priority(key)
    }

    /// Returns the weight of the entry of an id. Returns `None` if there is none.
    #[must_use]
    pub fn weight_of<Q>(&self, id: &Q) -> Option<u32>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let key = self.key_of(self.by_id.hash(id), id)?;
        Some(self.entries.get(key)?.weight)
    }

    /// Changes the weight of the entry of an id, which is the one used last from then on; a weight of 0
    /// is taken as 1. Entries used longest ago are displaced until there is room, and given to
    /// `displaced`. Returns `false`, and does nothing, if there is no entry, or the weight is more than
    /// the [bound](Self::max_weight). O(n) for n displaced entries.
    ///
    /// # Panics
    ///
    /// Panics if `displaced` or a hasher does: the entries that `displaced` was given are not in the
    /// cache then, and the weight is the one before.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut files = Lru::builder().capacity(1_000).max_weight(100).build();
    /// files.insert_weighted("a", vec![0; 60], 60, |_, _| ())?;
    /// files.insert_weighted("b", vec![0; 30], 30, |_, _| ())?;
    /// files.get_mut("b").unwrap().extend([1; 20]);
    /// let mut gone = Vec::new();
    /// assert!(files.set_weight("b", 50, |id, _| gone.push(id)));
    /// assert_eq!((gone, files.weight()), (vec!["a"], 50));
    /// # Ok::<(), flatslab::FullError<(&str, Vec<u8>)>>(())
    /// ```
    #[must_use]
    pub fn set_weight<Q>(&mut self, id: &Q, weight: u32, displaced: impl FnMut(Id, T)) -> bool
    where
        Id: Borrow<Q>,
        Q: ?Sized + Hash + Eq,
    {
        let weight = weight.max(1);
        let Some(key) = self.key_of(self.by_id.hash(id), id) else {
            return false;
        };
        let Some(others) = self.bounds.max_weight.checked_sub(weight.into()) else {
            return false;
        };
        self.used(key);
        let old = self.entries[key].weight;
        // As the one used last it stays: alone it weighs no more than this.
        self.displace(others.saturating_add(old.into()), displaced);
        // After user code, for `lru-bounds`.
        self.entries[key].weight = weight;
        self.weight = self.weight - u64::from(old) + u64::from(weight);
        true
    }

    /// Allocates memory for the deadlines of all entries, 20 bytes for each.
    ///
    /// # Errors
    ///
    /// Returns an error if the allocator refuses.
    pub fn try_reserve_deadlines(&mut self) -> Result<(), AllocError> {
        self.deadlines.try_grow(self.by_id.capacity())
    }

    /// Returns the earliest deadline. Returns `None` if no entry has one. O(1).
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        Some(self.deadlines.peek()?.0)
    }

    /// Removes an entry whose deadline is `now` or earlier, and returns it; the earliest first, and
    /// those of the same deadline in no particular order. Returns `None` if there is none. O(log n).
    pub fn pop_expired(&mut self, now: u64) -> Option<(Id, T)> {
        let (deadline, key) = self.deadlines.peek()?;
        match deadline <= now {
            true => self.take(key),
            false => None,
        }
    }

    /// Removes the entries for which `keep` returns `false`, and drops them; from the entry used
    /// longest ago to the one used last. O(n).
    ///
    /// # Panics
    ///
    /// Panics if `keep`, a hasher or a destructor does; the other entries are still there then.
    pub fn retain(&mut self, mut keep: impl FnMut(&Id, &mut T) -> bool) {
        let removed = self.extract_if(|id, value| !keep(id, value));
        removed.for_each(drop);
    }

    /// Removes the entries for which `is_taken` returns `true`, and returns an iterator over them; from
    /// the entry used longest ago to the one used last. O(n). Entries that were not reached stay.
    ///
    /// # Panics
    ///
    /// The iterator panics if `is_taken` or a hasher does; the other entries are still there then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let mut pages = Lru::with_capacity(3);
    /// for id in ["a/1", "b/1", "a/2"] {
    ///     pages.insert(id, id.len());
    /// }
    /// let removed = pages.extract_if(|id, _| id.starts_with("a/"));
    /// assert!(removed.eq([("a/1", 3), ("a/2", 3)]));
    /// assert!(pages.extract_if(|_, _| true).eq([("b/1", 3)]) && pages.is_empty());
    /// ```
    #[doc(alias("drain", "drain_filter", "invalidate"))]
    pub fn extract_if<'a>(
        &'a mut self,
        mut is_taken: impl FnMut(&Id, &mut T) -> bool + 'a,
    ) -> impl Iterator<Item = (Id, T)> + 'a {
        let mut at = (!self.is_empty()).then(|| self.by_use.last(USE));
        core::iter::from_fn(move || {
            loop {
                let slot = at?;
                at = self.by_use.previous(slot);
                let entry = self.entries.get_mut(key(slot))?;
                if is_taken(&entry.id, &mut entry.value) {
                    return self.take(key(slot));
                }
            }
        })
    }

    /// Removes all entries, and drops them. O(n).
    ///
    /// # Panics
    ///
    /// Panics if a hasher or a destructor does; the other entries are still there then.
    pub fn clear(&mut self) {
        while self.pop_lru().is_some() {}
    }

    /// Returns an iterator over ids and values, from the entry used last to the one used longest
    /// ago. O(1), and O(1) for each entry.
    pub fn iter(&self) -> LruIter<'_, Id, T> {
        LruIter {
            slots: self.by_use.slots(USE, self.len()),
            entries: &self.entries,
        }
    }

    /// The key of the entry with this id.
    #[inline(always)]
    fn key_of<Q>(&self, hash: u64, id: &Q) -> Option<Key>
    where
        Id: Borrow<Q>,
        Q: ?Sized + Eq,
    {
        let (_, key) = self.by_id.find_by(hash, |slot| {
            let (key, entry) = self.entries.get_at(slot)?;
            (entry.id.borrow() == id).then_some(key)
        })?;
        Some(key)
    }

    /// Makes an entry the one used last, and borrows its value.
    #[inline(always)]
    #[track_caller]
    fn used(&mut self, key: Key) -> &mut T {
        self.by_use.unlink(key.index());
        self.by_use.push_front(USE, key.index());
        &mut self.entries[key].value
    }

    /// Writes another value with the same id to an entry, which is the one used last from then on.
    fn replace(&mut self, key: Key, id: Id, value: T) -> (Id, T) {
        self.used(key);
        self.deadlines.remove(key);
        let entry = &mut self.entries[key];
        self.weight -= u64::from(mem::replace(&mut entry.weight, 1)) - 1;
        (
            mem::replace(&mut entry.id, id),
            mem::replace(&mut entry.value, value),
        )
    }

    /// Displaces the entry used longest ago, if there is no room for another one of weight 1.
    #[inline(always)]
    fn make_room_of_one(&mut self) -> Option<(Id, T)> {
        let is_full = self.len() >= self.bounds.capacity || self.weight >= self.bounds.max_weight;
        if is_full { self.pop_lru() } else { None }
    }

    /// Displaces entries until they weigh no more than this.
    fn displace(&mut self, most: u64, mut displaced: impl FnMut(Id, T)) {
        while self.weight > most {
            match self.pop_lru() {
                Some((id, value)) => displaced(id, value),
                None => return,
            }
        }
    }

    /// Inserts an entry for which there is room, and whose id is in no other.
    #[inline(always)]
    #[track_caller]
    fn insert_new(&mut self, hash: u64, id: Id, value: T, weight: u32) -> Key {
        let entry = LruEntry { id, value, weight };
        let key = self.entries.insert(entry);
        self.by_use.push_front(USE, key.index());
        self.weight += u64::from(weight);
        if !self.by_id.add_hashed(hash, key.index()) {
            self.rebuild();
        }
        key
    }

    /// Creates the index again, if ids have changed, or hashes: so that it was full of entries that
    /// find no value.
    #[cold]
    #[inline(never)]
    fn rebuild(&mut self) {
        self.by_id.rebuild(&self.entries, self.entries.keys());
    }

    /// Removes an entry.
    #[inline(always)]
    fn take(&mut self, key: Key) -> Option<(Id, T)> {
        self.by_id.forget(&self.entries, key);
        if !self.deadlines.is_empty() {
            self.deadlines.remove(key);
        }
        let entry = self.entries.try_remove(key)?;
        self.by_use.unlink(key.index());
        self.weight -= u64::from(entry.weight);
        Some((entry.id, entry.value))
    }
}

/// An iterator over ids and values, from [`Lru::iter`].
pub struct LruIter<'a, Id, T> {
    slots: Slots<'a>,
    entries: &'a KeySlab<LruEntry<Id, T>>,
}

impl<'a, Id, T> LruIter<'a, Id, T> {
    #[inline]
    fn entry(&self, slot: usize) -> (&'a Id, &'a T) {
        // Never missing (`lru-entries`).
        let entry = &self.entries[key(slot)];
        (&entry.id, &entry.value)
    }
}

impl<'a, Id, T> Iterator for LruIter<'a, Id, T> {
    type Item = (&'a Id, &'a T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.slots.next()?;
        Some(self.entry(slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.slots.size_hint()
    }
}

impl<Id, T> DoubleEndedIterator for LruIter<'_, Id, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let slot = self.slots.next_back()?;
        Some(self.entry(slot))
    }
}

impl<Id, T> ExactSizeIterator for LruIter<'_, Id, T> {}

impl<Id, T> FusedIterator for LruIter<'_, Id, T> {}

impl<Id, T> Clone for LruIter<'_, Id, T> {
    fn clone(&self) -> Self {
        LruIter {
            slots: self.slots.clone(),
            entries: self.entries,
        }
    }
}

impl<Id: fmt::Debug, T: fmt::Debug> fmt::Debug for LruIter<'_, Id, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

impl<'a, Id: Hash + Eq, T, H: BuildHasher> IntoIterator for &'a Lru<Id, T, H> {
    type Item = (&'a Id, &'a T);
    type IntoIter = LruIter<'a, Id, T>;

    fn into_iter(self) -> LruIter<'a, Id, T> {
        self.iter()
    }
}

/// How much a cache may have.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    capacity: usize,
    max_weight: u64,
}

impl Bounds {
    const fn of(capacity: usize) -> Self {
        Bounds {
            capacity: if capacity == 0 { 1 } else { capacity },
            max_weight: u64::MAX,
        }
    }
}

/// The options of a builder of caches.
#[derive(Clone, Copy)]
pub struct LruOptions<H> {
    bounds: Bounds,
    hasher: HasherOption<H>,
}

impl<H> fmt::Debug for LruOptions<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bounds.fmt(f)
    }
}

/// The options of an [`Lru`].
impl<Id: Hash + Eq, T, H: BuildHasher + Clone> Builder<Lru<Id, T, H>> {
    /// Sets the hasher. The default is a new [`IdState`] for each cache.
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use flatslab::collections::Lru;
    ///
    /// let builder = Lru::builder().capacity(100).hasher(RandomState::new());
    /// let cache: Lru<String, u64, RandomState> = builder.build();
    /// # drop(cache);
    /// ```
    pub fn hasher<S: BuildHasher + Clone>(self, hasher: S) -> Builder<Lru<Id, T, S>> {
        self.map(|options| LruOptions {
            bounds: options.bounds,
            hasher: HasherOption::Given(hasher),
        })
    }

    /// Sets the number of entries that the cache has room for. The default is 1, and 0 is taken as 1.
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let cache = Lru::<u64, u64>::builder().capacity(1000).build();
    /// assert_eq!(cache.capacity(), 1000);
    /// ```
    pub const fn capacity(mut self, capacity: usize) -> Self {
        self.options.bounds.capacity = Bounds::of(capacity).capacity;
        self
    }

    /// Sets the bound of the sum of all [weights](Lru::insert_weighted). The default is `u64::MAX`,
    /// and 0 is taken as 1.
    ///
    /// ```
    /// use flatslab::collections::Lru;
    ///
    /// let cache = Lru::<u64, u64>::builder().capacity(1000).max_weight(1 << 20).build();
    /// assert_eq!(cache.max_weight(), 1 << 20);
    /// ```
    pub const fn max_weight(mut self, max_weight: u64) -> Self {
        self.options.bounds.max_weight = if max_weight == 0 { 1 } else { max_weight };
        self
    }
}

impl<Id: Hash + Eq, T, H: BuildHasher + Clone> Build for Lru<Id, T, H> {
    type Options = LruOptions<H>;

    fn try_build(options: LruOptions<H>, pages: Pages) -> Result<Self, BuildError> {
        let LruOptions { bounds, hasher } = options;
        let entries = KeySlab::builder()
            .reserve(bounds.capacity)
            .pages(pages.clone());
        let entries = entries.try_build()?;
        Ok(Self::try_of(
            entries,
            bounds,
            hasher.into_hasher(),
            &pages.into_source()?,
        )?)
    }
}

impl<Id, T, H> fmt::Debug for Lru<Id, T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lru")
            .field("len", &self.entries.len())
            .field("capacity", &self.bounds.capacity)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}
