//! `KeyIndex`: finds a value of a slab by an id that the value contains.
//!
//! The ids stay in the values. `id_table.rs` has the table of an index, whose entries are the
//! numbers of slots, each with some bits of the hash of its id.
//!
//! A growing index allocates its next table when three quarters of the slots are used, writes a few
//! groups of it with each insertion, and moves a few groups of the old table with each insertion
//! after it was replaced. So no insertion is O(n), unless the slots of the keys jump.

use core::error::Error;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem;

use super::hash::{HasherOption, IdState};
use super::heap::SlotError;
use super::id_table::{Group, Place, Table};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, FullError};
use crate::key::MAX_SLOTS;
use crate::key_slab::SlabKey;
use crate::memory::Pages;
use crate::raw::memory;
use crate::raw::source::Source;
use crate::store::Store;

/// A value that contains its id.
///
/// A type may have several ids, of different types. An id is looked up by a reference to it, so the id
/// of a `String` is a `str`. The id of a value in a [`KeyIndex`] must not change: take the key out
/// before, and add it again. If it does change, or the implementation returns another id each time,
/// the index does not find the value, and may no longer find others, until it is
/// [rebuilt](KeyIndex::rebuild).
///
/// # Examples
///
/// ```
/// use flatslab::collections::Indexed;
///
/// struct Session { token: u64, user: String }
///
/// impl Indexed<u64> for Session {
///     fn id(&self) -> &u64 { &self.token }
/// }
///
/// impl Indexed<str> for Session {
///     fn id(&self) -> &str { &self.user }
/// }
/// ```
pub trait Indexed<Id: ?Sized> {
    /// Borrows the id of this value.
    fn id(&self) -> &Id;
}

/// Finds the key of a value by an id that the value contains: the order id of a client, a name, an
/// address.
///
/// The index has 12 bytes for each slot of the slab, or as many as its
/// [load](Builder::max_load) takes. They are allocated and touched when it is created, and nothing is
/// allocated later, unless the index [grows](Builder::growing). It has no copy of the ids, and no
/// reference to the slab, which every method takes.
///
/// # Removal
///
/// [`remove`](Self::remove) removes a value from the slab and from the index. Before a value is
/// removed in another way, or its id changes, take its key out with [`forget`](Self::forget). The
/// entry of a value that was removed without it is *stale*: it takes up room, and finds the next
/// value in the slot only if that has the id that is looked for. If that one is added too, its key is
/// there twice. [`rebuild`](Self::rebuild) creates
/// all entries again: after a rewind of the slab, and when it was read from a snapshot.
///
/// # Complexity
///
/// Expected O(1) for all operations that do not say otherwise. A search reads half a cache line of the
/// table, and another half for each group that was full: one more in a tenth of the searches, in a
/// table that is as full as it may be. Then it reads the value.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedKeySlab;
/// use flatslab::collections::{Indexed, KeyIndex};
///
/// struct Order { client_id: u64, shares: u32 }
///
/// impl Indexed<u64> for Order {
///     fn id(&self) -> &u64 { &self.client_id }
/// }
///
/// let mut orders = BoundedKeySlab::with_capacity(1000);
/// let mut by_id = KeyIndex::<u64>::with_capacity(orders.capacity());
///
/// let key = by_id.insert(&mut orders, Order { client_id: 4711, shares: 5 })?;
/// assert_eq!(by_id.get(&orders, &4711), Some(key));
/// assert_eq!(by_id.remove(&mut orders, &4711).unwrap().shares, 5);
/// assert!(orders.is_empty() && by_id.is_empty());
/// # Ok::<(), flatslab::collections::InsertIdError<Order>>(())
/// ```
#[doc(alias("HashMap", "HashSet", "HashTable", "IndexMap"))]
pub struct KeyIndex<Id: ?Sized, H = IdState> {
    table: Table,
    growth: Growth,
    layout: Layout,
    hasher: H,
    id: PhantomData<fn(&Id)>,
}

/// The state of a table that is replaced by a larger one.
enum Growth {
    Rests,
    /// The next table, some of whose groups are written.
    Clears(Table),
    /// The old table, whose groups before this one have been moved.
    Moves(Table, usize),
}

/// The reason why a key was not added to an index. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError<K> {
    /// There is no value with this key.
    Missing,
    /// Another value has this id: the one with this key.
    Taken(K),
    /// The slot of the key is not below the capacity of the index.
    OutOfRange(SlotError),
    /// The index has as many entries as it has room for; so some of them are
    /// [stale](KeyIndex#removal).
    Full,
    /// Memory for a larger table was refused.
    NoMemory(AllocError),
}

impl<K> fmt::Display for AddError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddError::Missing => f.write_str("no value has this key"),
            AddError::Taken(_) => f.write_str("another value has this id"),
            AddError::OutOfRange(error) => error.fmt(f),
            AddError::Full => f.write_str("the index is full of entries, some of them stale"),
            AddError::NoMemory(error) => error.fmt(f),
        }
    }
}

impl<K: fmt::Debug> Error for AddError<K> {}

/// The reason why a value was not inserted into a slab and an index. Contains the value; no value and
/// no entry has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InsertIdError<T> {
    /// Another value has this id: [`get`](KeyIndex::get) returns its key.
    Taken(T),
    /// The slab is full, or the index: an index with room for all slots of the slab, only if some of
    /// its entries are [stale](KeyIndex#removal). One that grows was refused memory.
    Full(T),
}

impl<T> InsertIdError<T> {
    /// Returns the value that was not inserted.
    pub fn into_inner(self) -> T {
        match self {
            InsertIdError::Taken(value) | InsertIdError::Full(value) => value,
        }
    }
}

/// Prints the reason for any `T`, so that `unwrap` works for all of them.
impl<T> fmt::Debug for InsertIdError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertIdError::Taken(_) => "Taken(..)",
            InsertIdError::Full(_) => "Full(..)",
        })
    }
}

impl<T> fmt::Display for InsertIdError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertIdError::Taken(_) => "another value has this id",
            InsertIdError::Full(_) => "the slab or the index is full: the value was not inserted",
        })
    }
}

impl<T> Error for InsertIdError<T> {}

/// The fewest slots of a growing index.
const FEWEST: usize = 16;

/// The part of a table's places that is used at most, in percent, unless a program chooses another.
const LOAD: usize = 45;

impl<Id: ?Sized + Hash + Eq> KeyIndex<Id> {
    /// Creates an index for the keys of this many slots, whose memory is allocated and touched now.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(slots: usize) -> Self {
        match Self::try_with_capacity(slots) {
            Ok(index) => index,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates an index like [`with_capacity`](Self::with_capacity).
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses.
    pub fn try_with_capacity(slots: usize) -> Result<Self, AllocError> {
        Self::try_new_in(Layout::of(slots), IdState::new(), &Source::GLOBAL)
    }

    /// Returns a builder: for an index that grows, for a table with more free places, and for
    /// memory from [`Pages`].
    pub const fn builder() -> Builder<Self> {
        Builder::new(KeyIndexOptions {
            layout: Layout::of(0),
            hasher: HasherOption::New(IdState::new),
        })
    }
}

impl<Id: ?Sized + Hash + Eq, H: BuildHasher> KeyIndex<Id, H> {
    /// Creates an index with a hasher of your choice, for the keys of this many slots.
    ///
    /// The first bits of a hash choose the group, and the bits after them tell entries apart. A hasher
    /// that does not mix its input makes all operations slow, up to O(n), and changes no answer. The
    /// [builder](Builder::hasher) has other options.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use flatslab::collections::KeyIndex;
    ///
    /// let index = KeyIndex::<u64, _>::with_capacity_and_hasher(100, RandomState::new());
    /// assert_eq!(index.capacity(), 100);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(slots: usize, hasher: H) -> Self {
        match Self::try_new_in(Layout::of(slots), hasher, &Source::GLOBAL) {
            Ok(index) => index,
            Err(error) => memory::fail(error),
        }
    }

    pub(super) fn try_new_in(
        layout: Layout,
        hasher: H,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let mut table = Table::try_new(
            layout.slots,
            Table::groups(layout.slots, layout.load),
            source,
        )?;
        table.write(usize::MAX);
        Ok(KeyIndex {
            table,
            growth: Growth::Rests,
            layout,
            hasher,
            id: PhantomData,
        })
    }

    /// Makes room for the keys of this many slots, if there is less. A [growing](Builder::growing)
    /// index needs no call.
    ///
    /// Entries that are [stale](Self#removal) are dropped.
    ///
    /// # Complexity
    ///
    /// O(slots): all entries are added to a new table.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses.
    /// Nothing has changed then, and neither if the hasher panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use flatslab::collections::{Indexed, KeyIndex};
    ///
    /// struct Order { id: u64 }
    ///
    /// impl Indexed<u64> for Order {
    ///     fn id(&self) -> &u64 { &self.id }
    /// }
    ///
    /// let mut orders = KeySlab::new();
    /// let mut by_id = KeyIndex::<u64>::with_capacity(1);
    /// by_id.insert(&mut orders, Order { id: 7 })?;
    /// by_id.try_grow(&orders, 2).unwrap();
    /// by_id.insert(&mut orders, Order { id: 8 })?;
    /// assert!(by_id.get(&orders, &7).is_some());
    /// # Ok::<(), flatslab::collections::InsertIdError<Order>>(())
    /// ```
    #[doc(alias = "reserve")]
    pub fn try_grow<S>(&mut self, store: &S, slots: usize) -> Result<(), AllocError>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        if slots <= self.capacity() {
            return Ok(());
        }
        let groups = Table::groups(slots, self.layout.load);
        let mut larger = Table::try_new(slots, groups, self.table.groups.source())?;
        larger.write(usize::MAX);
        for (number, table) in self.tables().enumerate() {
            for (group, entries) in table.groups.iter().enumerate() {
                for at in entries.entries() {
                    let slot = table.slot(entries, at);
                    let Some(hash) = hash_of(&self.hasher, store, slot) else {
                        continue;
                    };
                    // A stale entry of the slot would find a value that was not added, or be its
                    // second.
                    let is_this = |place: Place| (place.group, place.at) == (group, at);
                    let finds = match self.find_slot(hash, slot) {
                        Some(Found::Here(place)) => number == 0 && is_this(place),
                        Some(Found::InOld(place)) => number == 1 && is_this(place),
                        None => false,
                    };
                    if finds {
                        larger.insert(hash, slot);
                    }
                }
            }
        }
        (self.table, self.growth) = (larger, Growth::Rests);
        Ok(())
    }

    /// The table, and the old one whose entries are being moved.
    fn tables(&self) -> impl Iterator<Item = &Table> {
        let old = match &self.growth {
            Growth::Moves(old, _) => Some(old),
            _ => None,
        };
        [Some(&self.table), old].into_iter().flatten()
    }

    /// Returns the number of slots whose keys there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.table.slots
    }

    /// Returns the number of entries, including [stale](Self#removal) ones.
    #[must_use]
    pub fn len(&self) -> usize {
        let old = match &self.growth {
            Growth::Moves(old, _) => old.len,
            _ => 0,
        };
        self.table.len + old
    }

    /// Returns `true` if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that are allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let other = match &self.growth {
            Growth::Rests => 0,
            Growth::Clears(table) | Growth::Moves(table, _) => table.groups.bytes(),
        };
        self.table.groups.bytes() + other
    }

    /// Returns the key of a value with this id. Returns `None` if no value of the slab has it, or it
    /// was not added.
    ///
    /// For ids that are `String`s, declare a `KeyIndex<str>`, of values that are `Indexed<str>`.
    #[inline]
    #[must_use]
    pub fn get<S>(&self, store: &S, id: &Id) -> Option<S::Key>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (_, key) = self.find_key(store, self.hasher.hash_one(id), id)?;
        Some(key)
    }

    /// Borrows a value with this id, and returns it with its key. Returns `None` if no value of the
    /// slab has it, or it was not added.
    #[inline]
    #[must_use]
    pub fn find<'a, S>(&self, store: &'a S, id: &Id) -> Option<(S::Key, &'a S::Value)>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let hash = self.hasher.hash_one(id);
        let (_, found) = self.find_by(hash, |slot| value_of(store, slot, id))?;
        Some(found)
    }

    /// Borrows a value with this id mutably, and returns it with its key. Returns `None` if no value of
    /// the slab has it, or it was not added. The id must not be changed.
    #[inline]
    #[must_use]
    pub fn find_mut<'a, S>(&self, store: &'a mut S, id: &Id) -> Option<(S::Key, &'a mut S::Value)>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let key = self.get(store, id)?;
        Some((key, store.get_mut(key)?))
    }

    /// Returns an iterator over the keys of all values with this id, in no particular order.
    ///
    /// There is more than one if [`add_another`](Self::add_another) was called.
    pub fn get_all<'a, S>(&'a self, store: &'a S, id: &'a Id) -> KeysOfId<'a, Id, H, S>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        KeysOfId {
            index: self,
            store,
            id,
            hash: self.hasher.hash_one(id),
            place: None,
            is_old: false,
        }
    }

    /// Inserts a value into the slab, adds its key, and returns it.
    ///
    /// # Errors
    ///
    /// Returns the value if another one has its id, or if the slab or the index is full. The slab's
    /// [`peak`](crate::Stats::peak) may count the value if its slot is past the capacity of the index,
    /// or if memory for a larger index was refused.
    ///
    /// # Panics
    ///
    /// Panics if the hasher or the comparison of ids does; the value is dropped then, and nothing else
    /// has changed.
    #[inline]
    pub fn insert<S>(
        &mut self,
        store: &mut S,
        value: S::Value,
    ) -> Result<S::Key, InsertIdError<S::Value>>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let hash = self.hasher.hash_one(value.id());
        if self.find_key(store, hash, value.id()).is_some() {
            return Err(InsertIdError::Taken(value));
        }
        // Before the slab counts the value; a full slab counts its refusal.
        if self.is_full() && !store.refuses() {
            return Err(InsertIdError::Full(value));
        }
        let key = match store.try_insert_ref(value) {
            Ok((key, _)) => key,
            Err(FullError(value)) => return Err(InsertIdError::Full(value)),
        };
        // Removes the value if the hasher panics, while entries move to a larger table.
        let inserted = Inserted { store, key };
        if self.make_room(inserted.store, key.index()).is_ok() {
            self.table.insert(hash, key.index());
            mem::forget(inserted);
            return Ok(key);
        }
        match inserted.remove() {
            Some(value) => Err(InsertIdError::Full(value)),
            None => panic!("{key:?} has no value after its insertion"),
        }
    }

    /// Adds the key of a value that is in the slab.
    ///
    /// Adding a key that is in the index does nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, if another value has its id, or if the
    /// index has no room.
    #[inline]
    pub fn add<S>(&mut self, store: &S, key: S::Key) -> Result<(), AddError<S::Key>>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let id = store.get(key).ok_or(AddError::Missing)?.id();
        let hash = self.hasher.hash_one(id);
        if let Some((_, there)) = self.find_key(store, hash, id) {
            return match there == key || self.find_slot(hash, key.index()).is_some() {
                true => Ok(()),
                false => Err(AddError::Taken(there)),
            };
        }
        self.make_room(store, key.index())?;
        self.table.insert(hash, key.index());
        Ok(())
    }

    /// Adds the key of a value that is in the slab, also if another value has the same id.
    ///
    /// [`get`](Self::get) then returns one of them, and [`get_all`](Self::get_all) all. Adding a key
    /// that is in the index does nothing.
    ///
    /// # Complexity
    ///
    /// Expected O(n) for the n values with this id.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or if the index has no room.
    pub fn add_another<S>(&mut self, store: &S, key: S::Key) -> Result<(), AddError<S::Key>>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let id = store.get(key).ok_or(AddError::Missing)?.id();
        let hash = self.hasher.hash_one(id);
        if self.find_slot(hash, key.index()).is_none() {
            self.make_room(store, key.index())?;
            self.table.insert(hash, key.index());
        }
        Ok(())
    }

    /// Removes a value with this id from the slab and from the index, and returns it. Returns `None`
    /// if there is none.
    #[inline]
    pub fn remove<S>(&mut self, store: &mut S, id: &Id) -> Option<S::Value>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (found, key) = self.find_key(store, self.hasher.hash_one(id), id)?;
        let value = store.try_remove(key)?;
        self.remove_found(found);
        Some(value)
    }

    /// Takes a key out of the index; the value stays in the slab. Returns `false` if there is no
    /// value with this key, or the key is not in the index under the id that the value has now.
    #[inline]
    pub fn forget<S>(&mut self, store: &S, key: S::Key) -> bool
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let Some(value) = store.get(key) else {
            return false;
        };
        let hash = self.hasher.hash_one(value.id());
        let Some(found) = self.find_slot(hash, key.index()) else {
            return false;
        };
        self.remove_found(found);
        true
    }

    /// Removes all entries. O(capacity).
    pub fn clear(&mut self) {
        self.growth = Growth::Rests;
        self.table.groups.fill(Group::EMPTY);
        self.table.len = 0;
    }

    /// Removes all entries, and adds these keys of a slab: all of its
    /// [`keys`](crate::PlainSlab::keys), as a rule. Returns the number of keys that were not added,
    /// because they have no value, or one whose id another one has, or because there is no room.
    ///
    /// # Complexity
    ///
    /// O(capacity), and expected O(1) for each key.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::collections::{Indexed, KeyIndex};
    /// use flatslab::key_slab::CheckpointSlab;
    ///
    /// #[derive(Clone, Copy)]
    /// struct Order { id: u64 }
    ///
    /// impl Indexed<u64> for Order {
    ///     fn id(&self) -> &u64 { &self.id }
    /// }
    ///
    /// let mut orders = CheckpointSlab::new();
    /// let mut by_id = KeyIndex::<u64>::with_capacity(100);
    /// let key = by_id.insert(&mut orders, Order { id: 7 })?;
    /// let checkpoint = orders.checkpoint();
    /// by_id.remove(&mut orders, &7);
    ///
    /// orders.rewind(checkpoint);
    /// assert_eq!(by_id.get(&orders, &7), None);
    /// assert_eq!(by_id.rebuild(&orders, orders.keys()), 0);
    /// assert_eq!(by_id.get(&orders, &7), Some(key));
    /// # Ok::<(), flatslab::collections::InsertIdError<Order>>(())
    /// ```
    pub fn rebuild<S>(&mut self, store: &S, keys: impl IntoIterator<Item = S::Key>) -> usize
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        self.clear();
        let mut refused = 0;
        for key in keys {
            refused += usize::from(self.add(store, key).is_err());
        }
        refused
    }

    /// Returns the number of entries that do not find their value: stale ones, and those of values
    /// whose id has changed. O(capacity).
    #[must_use]
    #[doc(alias = "check")]
    pub fn stale<S>(&self, store: &S) -> usize
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let mut stale = 0;
        for table in self.tables() {
            for (group, entries) in table.groups.iter().enumerate() {
                for at in entries.entries() {
                    let slot = table.slot(entries, at);
                    let finds = |(_, value): (S::Key, &S::Value)| {
                        let hash = self.hasher.hash_one(value.id());
                        let found = table.find(hash, |found| (found == slot).then_some(()));
                        found.is_some_and(|(found, ())| (found.group, found.at) == (group, at))
                    };
                    stale += usize::from(!store.get_at(slot).is_some_and(finds));
                }
            }
        }
        stale
    }

    /// The key of a value with this id, and its entry.
    #[inline(always)]
    fn find_key<S>(&self, store: &S, hash: u64, id: &Id) -> Option<(Found, S::Key)>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (found, (key, _)) = self.find_by(hash, |slot| value_of(store, slot, id))?;
        Some((found, key))
    }

    /// The entry of a slot.
    #[inline(always)]
    pub(super) fn find_slot(&self, hash: u64, slot: usize) -> Option<Found> {
        let (found, ()) = self.find_by(hash, |found| (found == slot).then_some(()))?;
        Some(found)
    }

    #[inline(always)]
    pub(super) fn find_by<R>(
        &self,
        hash: u64,
        look: impl Fn(usize) -> Option<R>,
    ) -> Option<(Found, R)> {
        if let Some((place, found)) = self.table.find(hash, &look) {
            return Some((Found::Here(place), found));
        }
        match &self.growth {
            Growth::Moves(old, _) => find_in_old(old, hash, look),
            _ => None,
        }
    }

    /// Removes an entry that was found.
    #[inline(always)]
    pub(super) fn remove_found(&mut self, found: Found) {
        match (found, &mut self.growth) {
            (Found::InOld(place), Growth::Moves(old, _)) => old.remove(place),
            (Found::Here(place) | Found::InOld(place), _) => self.table.remove(place),
        }
    }

    /// The hash of an id, or of what it is found by.
    #[inline(always)]
    pub(super) fn hash<Q: ?Sized + Hash>(&self, id: &Q) -> u64 {
        self.hasher.hash_one(id)
    }

    /// Adds the entry of a value whose id is in no other, to an index that does not grow. Returns
    /// `false`, and does nothing, if there is no room.
    #[inline(always)]
    pub(super) fn add_hashed(&mut self, hash: u64, slot: usize) -> bool {
        let has_room = slot < self.table.slots && self.table.len < self.table.slots;
        if has_room {
            self.table.insert(hash, slot);
        }
        has_room
    }

    /// Whether the index has as many entries as it has room for, and does not grow.
    #[inline(always)]
    fn is_full(&self) -> bool {
        !self.layout.grows && self.len() >= self.table.slots
    }

    /// Makes room for the entry of a slot.
    #[inline(always)]
    fn make_room<S>(&mut self, store: &S, slot: usize) -> Result<(), AddError<S::Key>>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        if self.layout.grows {
            self.grow(store, slot).map_err(AddError::NoMemory)
        } else if slot >= self.table.slots {
            let capacity = self.table.slots;
            Err(AddError::OutOfRange(SlotError::OutOfRange {
                slot,
                capacity,
            }))
        } else if self.is_full() {
            Err(AddError::Full)
        } else {
            Ok(())
        }
    }

    /// Does the next steps of growth; all that are left, if the entry of this slot needs them.
    fn grow<S>(&mut self, store: &S, slot: usize) -> Result<(), AllocError>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let needs = slot >= self.table.slots || self.len() >= self.table.slots;
        let groups_per_slot = self.table.count / self.table.slots.max(1) + 1;
        if let Growth::Moves(..) = self.growth {
            self.move_some(
                store,
                if needs {
                    usize::MAX
                } else {
                    2 * groups_per_slot
                },
            );
        } else if needs || slot >= self.table.slots / 4 * 3 {
            if matches!(&self.growth, Growth::Clears(next) if slot >= next.slots) {
                self.growth = Growth::Rests;
            }
            if let Growth::Rests = self.growth {
                let twice = (2 * self.table.slots).clamp(FEWEST, MAX_SLOTS);
                let slots = twice.max(slot + 1);
                // Exactly twice as many, so that entries move without a look at their values.
                let groups = match slots == 2 * self.table.slots {
                    true => 2 * self.table.count,
                    false => Table::groups(slots, self.layout.load),
                };
                match Table::try_new(slots, groups, self.table.groups.source()) {
                    Ok(next) => self.growth = Growth::Clears(next),
                    Err(error) if needs => return Err(error),
                    // It is tried again by each of the following insertions.
                    Err(_) => return Ok(()),
                }
            }
            if let Growth::Clears(next) = &mut self.growth {
                next.write(if needs {
                    usize::MAX
                } else {
                    8 * groups_per_slot
                });
            }
        }
        if !needs {
            return Ok(());
        }
        match mem::replace(&mut self.growth, Growth::Rests) {
            Growth::Clears(next) => {
                debug_assert!(next.is_written());
                self.growth = Growth::Moves(mem::replace(&mut self.table, next), 0);
                Ok(())
            }
            // The old table has just been moved, and the next one is not there.
            rests => {
                self.growth = rests;
                self.grow(store, slot)
            }
        }
    }

    /// Moves the entries of the next groups of the old table.
    fn move_some<S>(&mut self, store: &S, most: usize)
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (hasher, table) = (&self.hasher, &mut self.table);
        let Growth::Moves(old, next) = &mut self.growth else {
            return;
        };
        let is_double = table.count == 2 * old.count && table.slot_mask > old.slot_mask;
        for _ in 0..most {
            let Some(entries) = old.groups.get(*next).copied() else {
                self.growth = Growth::Rests;
                return;
            };
            let reads = !is_double || entries.guests() > 0;
            for at in entries.entries() {
                let slot = old.slot(&entries, at);
                let hash = match reads {
                    true => hash_of(hasher, store, slot).filter(|hash| {
                        let found = old.find(*hash, |found| (found == slot).then_some(()));
                        found.is_some_and(|(place, ())| (place.group, place.at) == (*next, at))
                    }),
                    false => Some(old.hash_of_entry(*next, at)),
                };
                // Before it is added to the other table. A stale one is not.
                old.groups[*next].tags &= !(0xff << (8 * at));
                old.len -= 1;
                if let Some(hash) = hash {
                    table.insert(hash, slot);
                }
            }
            *next += 1;
        }
    }
}

/// The value in a slot and its key, if it has this id.
#[inline(always)]
fn value_of<'a, Id, S>(store: &'a S, slot: usize, id: &Id) -> Option<(S::Key, &'a S::Value)>
where
    Id: ?Sized + Eq,
    S: ?Sized + Store<Value: Indexed<Id>>,
{
    let found = store.get_at(slot)?;
    (found.1.id() == id).then_some(found)
}

/// The hash of the id of the value in a slot, if there is one.
fn hash_of<Id, H, S>(hasher: &H, store: &S, slot: usize) -> Option<u64>
where
    Id: ?Sized + Hash,
    H: BuildHasher,
    S: ?Sized + Store<Value: Indexed<Id>>,
{
    let (_, value) = store.get_at(slot)?;
    Some(hasher.hash_one(value.id()))
}

/// A value that was inserted into a slab, and is removed again when this is dropped.
struct Inserted<'a, S: ?Sized + Store> {
    store: &'a mut S,
    key: S::Key,
}

impl<S: ?Sized + Store> Inserted<'_, S> {
    fn remove(self) -> Option<S::Value> {
        let value = self.store.try_remove(self.key);
        mem::forget(self);
        value
    }
}

impl<S: ?Sized + Store> Drop for Inserted<'_, S> {
    fn drop(&mut self) {
        self.store.try_remove(self.key);
    }
}

#[cold]
#[inline(never)]
fn find_in_old<R>(old: &Table, hash: u64, look: impl Fn(usize) -> Option<R>) -> Option<(Found, R)> {
    let (place, found) = old.find(hash, look)?;
    Some((Found::InOld(place), found))
}

/// An entry of one of the tables.
pub(super) enum Found {
    Here(Place),
    InOld(Place),
}

/// An iterator over the keys of all values with an id, from [`KeyIndex::get_all`].
pub struct KeysOfId<'a, Id: ?Sized, H, S: ?Sized> {
    index: &'a KeyIndex<Id, H>,
    store: &'a S,
    id: &'a Id,
    hash: u64,
    /// The place of the previous one.
    place: Option<Place>,
    is_old: bool,
}

impl<Id, H, S> Iterator for KeysOfId<'_, Id, H, S>
where
    Id: ?Sized + Hash + Eq,
    H: BuildHasher,
    S: ?Sized + Store<Value: Indexed<Id>>,
{
    type Item = S::Key;

    fn next(&mut self) -> Option<S::Key> {
        loop {
            let table = match &self.index.growth {
                _ if !self.is_old => &self.index.table,
                Growth::Moves(old, _) => old,
                _ => return None,
            };
            let look = |slot| value_of(self.store, slot, self.id);
            let found = match self.place {
                None => table.find(self.hash, look),
                Some(Place { group, at, home }) => {
                    let (_, mark) = table.home(self.hash);
                    table.find_after(home, mark, group, at, look)
                }
            };
            match found {
                Some((place, (key, _))) => {
                    self.place = Some(place);
                    return Some(key);
                }
                None if self.is_old => return None,
                None => (self.place, self.is_old) = (None, true),
            }
        }
    }
}

impl<Id, H, S> FusedIterator for KeysOfId<'_, Id, H, S>
where
    Id: ?Sized + Hash + Eq,
    H: BuildHasher,
    S: ?Sized + Store<Value: Indexed<Id>>,
{
}

impl<Id: ?Sized, H, S: ?Sized> fmt::Debug for KeysOfId<'_, Id, H, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeysOfId").finish_non_exhaustive()
    }
}

/// The options of a builder of indices.
#[derive(Clone, Copy)]
pub struct KeyIndexOptions<H> {
    layout: Layout,
    hasher: HasherOption<H>,
}

impl<H> fmt::Debug for KeyIndexOptions<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layout.fmt(f)
    }
}

/// The size of an index, and whether it changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    slots: usize,
    load: usize,
    grows: bool,
}

impl Layout {
    /// For so many slots, and else the defaults.
    pub(super) const fn of(slots: usize) -> Self {
        Layout {
            slots,
            load: LOAD,
            grows: false,
        }
    }
}

/// The options of a [`KeyIndex`].
impl<Id: ?Sized + Hash + Eq, H: BuildHasher + Clone> Builder<KeyIndex<Id, H>> {
    /// Sets the hasher. The default is a new [`IdState`] for each index;
    /// [`with_capacity_and_hasher`](KeyIndex::with_capacity_and_hasher) says what an index needs of it.
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use flatslab::collections::KeyIndex;
    ///
    /// let builder = KeyIndex::<str>::builder().growing().hasher(RandomState::new());
    /// let index: KeyIndex<str, RandomState> = builder.build();
    /// # drop(index);
    /// ```
    pub fn hasher<S: BuildHasher + Clone>(self, hasher: S) -> Builder<KeyIndex<Id, S>> {
        self.map(|options| KeyIndexOptions {
            layout: options.layout,
            hasher: HasherOption::Given(hasher),
        })
    }

    /// Sets the number of slots whose keys the index has room for. The default is 0.
    ///
    /// ```
    /// use flatslab::collections::KeyIndex;
    ///
    /// let index = KeyIndex::<u64>::builder().capacity(1000).build();
    /// assert_eq!(index.capacity(), 1000);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.layout.slots = slots;
        self
    }

    /// Sets the part of the places of the table that is used at most, in percent, from 10 to 85. The
    /// default is 45.
    ///
    /// With less, fewer entries are outside of their home group, and the table has more memory: 5.3
    /// bytes for each place.
    ///
    /// ```
    /// use flatslab::collections::KeyIndex;
    ///
    /// let index = KeyIndex::<u64>::builder().capacity(1000).build();
    /// let sparse = KeyIndex::<u64>::builder().capacity(1000).max_load(20).build();
    /// assert!(sparse.bytes() > 2 * index.bytes());
    /// ```
    #[doc(alias = "load_factor")]
    pub const fn max_load(mut self, percent: usize) -> Self {
        self.options.layout.load = match percent {
            0..10 => 10,
            85.. => 85,
            percent => percent,
        };
        self
    }

    /// Makes the index grow when a key is added for whose slot there is no room.
    ///
    /// An insertion then writes up to 8 groups of the next table, of 32 bytes each, or moves 2; more if
    /// the [load](Self::max_load) is low. Only a key whose slot is far above those that were added
    /// before, or an allocator that refuses, makes an insertion finish all steps at once, in
    /// O(capacity).
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use flatslab::collections::{Indexed, KeyIndex};
    ///
    /// struct Order { id: u64 }
    ///
    /// impl Indexed<u64> for Order {
    ///     fn id(&self) -> &u64 { &self.id }
    /// }
    ///
    /// let mut orders = KeySlab::new();
    /// let mut by_id = KeyIndex::<u64>::builder().growing().build();
    /// for id in 0..1000 {
    ///     by_id.insert(&mut orders, Order { id })?;
    /// }
    /// assert!(by_id.len() == 1000 && by_id.capacity() >= 1000);
    /// # Ok::<(), flatslab::collections::InsertIdError<Order>>(())
    /// ```
    pub const fn growing(mut self) -> Self {
        self.options.layout.grows = true;
        self
    }
}

impl<Id: ?Sized + Hash + Eq, H: BuildHasher + Clone> Build for KeyIndex<Id, H> {
    type Options = KeyIndexOptions<H>;

    fn try_build(options: KeyIndexOptions<H>, pages: Pages) -> Result<Self, BuildError> {
        let hasher = options.hasher.into_hasher();
        Ok(Self::try_new_in(
            options.layout,
            hasher,
            &pages.into_source()?,
        )?)
    }
}

impl<Id: ?Sized + Hash + Eq, H: BuildHasher> fmt::Debug for KeyIndex<Id, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyIndex")
            .field("len", &self.len())
            .field("capacity", &self.table.slots)
            .finish_non_exhaustive()
    }
}
