//! `KeyIndex`: finds a value of a slab by an id that the value contains.
//!
//! The ids stay in the values. A bucket has the number of a slot, and in the bits that are left a
//! *tag* of the id's hash, so that a search reads the value of an id that is there, and hardly ever
//! another one. Collisions take the next free bucket. A removal moves back the entries that follow,
//! so there are no tombstones, and a table never has to be cleaned up.
//!
//! # The tag
//!
//! The first home bits of a tag are the last bits of the entry's home bucket. As long as no entry is
//! further from its home than they can tell, a removal sees from an entry alone whether it may be
//! moved, and a growing table where it will be: no value is read, and no id is hashed. The rest of the
//! tag are the bits of the hash above those of the home, so that in a table of twice the size the
//! home gets one of them, and the tag is one bit shorter. If an entry is ever further away, the table
//! notes it, and reads values instead.
//!
//! # Growth
//!
//! A growing index allocates its next table when three quarters of the slots are used, writes a few
//! buckets of it with each insertion, and moves a few entries of the old table with each insertion
//! after it was replaced. So no insertion is O(n), unless the slots of the keys jump.
//!
//! # Invariants
//!
//! * `index-empty`: a table has fewer entries than buckets, and at least one bucket is `EMPTY`. So
//!   every search ends, whatever the values, the hasher and `Eq` do.
//! * `index-near`: unless `far` is set, every entry is less than `1 << home_bits` buckets after its
//!   home.
//! * `index-reachable`: no bucket between the home of an entry and the entry is `EMPTY`, unless the
//!   hasher has lied or panicked, or the id has changed.

use core::error::Error;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem;

use super::hash::IdState;
use super::heap::{SlotError, check_slots};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, FullError};
use crate::key_slab::SlabKey;
use crate::memory::Pages;
use crate::memory::array::Array;
use crate::raw::memory;
use crate::raw::source::Source;
use crate::store::Store;

/// A value that contains its id.
///
/// A type may have several ids, of different types. The id of a value in a [`KeyIndex`] must not
/// change: take the key out before, and add it again. If it does change, or the implementation
/// returns another id each time, the index does not find the value; nothing worse happens.
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
/// The index has 4 bytes for each bucket, and 2 to 4 buckets for each slot of the slab. They are
/// allocated and touched when it is created, and nothing is allocated later, unless the index
/// [grows](Builder::growing). It has no copy of the ids, and no reference to the slab, which every
/// method takes.
///
/// # Removal
///
/// [`remove`](Self::remove) removes a value from the slab and from the index. Before a value is
/// removed in another way, or its id changes, take its key out with [`forget`](Self::forget). The
/// entry of a value that was removed without it is *stale*: it takes up room, and finds the next
/// value in the slot only if that has the id that is looked for. [`rebuild`](Self::rebuild) creates
/// all entries again: after a rewind of the slab, and when it was read from a snapshot.
///
/// # Complexity
///
/// Expected O(1) for all operations that do not say otherwise. The entries from the id's home bucket
/// to the next empty one are visited: in a table that is half full 1.5 for an id that is there, and
/// 2.5 otherwise, on average; in one that is a quarter full 1.2 and 1.4.
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
    /// The number of slots whose keys there is room for.
    slots: usize,
    options: KeyIndexOptions,
    hasher: H,
    id: PhantomData<fn(&Id)>,
}

/// The state of a table that is replaced by a larger one.
enum Growth {
    Rests,
    /// The next table, some of whose buckets are written.
    Clears(Table),
    /// The old table, whose entries before this bucket have been moved.
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
    NoRoom(SlotError),
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
            AddError::NoRoom(error) => error.fmt(f),
            AddError::Full => f.write_str("the index is full of entries, some of them stale"),
            AddError::NoMemory(error) => error.fmt(f),
        }
    }
}

impl<K: fmt::Debug> Error for AddError<K> {}

/// The reason why a value was not inserted into a slab and an index. Contains the value; nothing has
/// changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InsertIdError<T> {
    /// Another value has this id.
    Taken(T),
    /// The slab or the index is full.
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

const EMPTY: u32 = 0;

/// A bucket of an old table whose entry has been moved, or removed.
const MOVED: u32 = u32::MAX;

/// The most home bits of a tag: clusters of a hundred buckets are rare in a table that is half full.
const HOME_BITS: u32 = 7;

/// The fewest slots of a growing index.
const FEWEST: usize = 16;

/// A table of buckets: `EMPTY`, or the number of a slot plus 1 and a tag above it.
struct Table {
    /// A power of two of them, once all are written.
    buckets: Array<u32>,
    /// How many buckets there are, as a power of two.
    bits: u32,
    slot_bits: u32,
    home_bits: u32,
    /// An entry may be further from its home than its tag can tell.
    far: bool,
    len: usize,
}

impl Table {
    /// A table for the keys of this many slots, none of whose buckets is written.
    fn try_new(slots: usize, buckets_per_slot: usize, source: &Source) -> Result<Self, AllocError> {
        check_slots(slots)?;
        let buckets = slots.max(2).checked_mul(buckets_per_slot);
        let buckets = buckets.and_then(usize::checked_next_power_of_two);
        let buckets = buckets.ok_or(AllocError::TooManyBytes {
            slots,
            slot_bytes: 4 * buckets_per_slot,
        })?;
        let bits = buckets.trailing_zeros();
        // Neither `EMPTY` nor `MOVED` is an entry: their slots plus 1 would be 0 and the largest
        // number.
        let slot_bits = usize::BITS - (slots + 1).leading_zeros();
        Ok(Table {
            buckets: Array::try_with_capacity(buckets, source)?,
            bits,
            slot_bits,
            home_bits: HOME_BITS.min(bits).min(u32::BITS - slot_bits),
            far: false,
            len: 0,
        })
    }

    fn is_written(&self) -> bool {
        self.buckets.len() == 1 << self.bits
    }

    /// Writes more buckets.
    fn write(&mut self, count: usize) {
        let left = (1 << self.bits) - self.buckets.len();
        for _ in 0..count.min(left) {
            self.buckets.push(EMPTY);
        }
    }

    /// The bits of a hash that the place and the tag of an entry have.
    fn hash_bits(&self) -> u32 {
        self.bits + u32::BITS - self.slot_bits - self.home_bits
    }

    #[inline(always)]
    fn tag(&self, hash: u64) -> u32 {
        let home = hash as u32 & ((1 << self.home_bits) - 1);
        let tag = home | ((hash >> self.bits) as u32) << self.home_bits;
        // As many bits as fit above those of the slot.
        tag << self.slot_bits >> self.slot_bits
    }

    #[inline(always)]
    fn slot(&self, entry: u32) -> usize {
        (entry & ((1 << self.slot_bits) - 1)) as usize - 1
    }

    /// How far a bucket is after the home of its entry, by the entry's tag.
    #[inline(always)]
    fn distance(&self, entry: u32, at: usize) -> usize {
        at.wrapping_sub((entry >> self.slot_bits) as usize) & ((1 << self.home_bits) - 1)
    }

    /// The first entry with the tag of this hash for whose slot `is` returns `true`, from the home of
    /// the hash on, or after a bucket.
    #[inline(always)]
    fn find(
        &self,
        hash: u64,
        after: Option<usize>,
        mut is: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        let buckets: &[u32] = &self.buckets;
        let (tag, mask) = (self.tag(hash), buckets.len().wrapping_sub(1));
        let mut at = after.map_or(hash as usize, |at| at + 1) & mask;
        // Ends (`index-empty`).
        loop {
            let entry = *buckets.get(at)?;
            if entry == EMPTY {
                return None;
            }
            if entry >> self.slot_bits == tag && entry != MOVED && is(self.slot(entry)) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry, for which there is room.
    #[inline(always)]
    fn insert(&mut self, hash: u64, slot: usize) {
        let entry = (slot + 1) as u32 | self.tag(hash) << self.slot_bits;
        let buckets: &mut [u32] = &mut self.buckets;
        let mask = buckets.len() - 1;
        assert!(self.len < mask, "index-empty");
        let (home, mut distance) = (hash as usize, 0);
        loop {
            let bucket = &mut buckets[(home + distance) & mask];
            if *bucket == EMPTY {
                *bucket = entry;
                break;
            }
            distance += 1;
        }
        self.far |= distance >> self.home_bits != 0;
        self.len += 1;
    }

    /// Removes the entry of a bucket, and moves back those that follow. `hash_of` reads the value in
    /// a slot, if there is one.
    #[inline(always)]
    fn remove(&mut self, at: usize, hash_of: impl Fn(usize) -> Option<u64>) {
        let mask = self.buckets.len() - 1;
        let (mut hole, mut at) = (at, at);
        // Before user code runs: then the table has an entry less, and an empty bucket.
        self.buckets[hole] = EMPTY;
        self.len -= 1;
        loop {
            at = (at + 1) & mask;
            let entry = self.buckets[at];
            if entry == EMPTY {
                return;
            }
            // By the tag where it can tell (`index-near`). What is moved stays reachable from its home
            // (`index-reachable`), as do those that come after it.
            let distance = match self.far.then(|| hash_of(self.slot(entry))).flatten() {
                Some(hash) => at.wrapping_sub(hash as usize) & mask,
                None => self.distance(entry, at),
            };
            if distance >= at.wrapping_sub(hole) & mask {
                self.buckets[hole] = entry;
                self.buckets[at] = EMPTY;
                hole = at;
            }
        }
    }
}

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
        let options = KeyIndexOptions {
            slots,
            ..KeyIndexOptions::NEW
        };
        Self::try_new_in(options, IdState::new(), &Source::GLOBAL)
    }

    /// Returns a builder: for an index that grows, for more buckets, and for memory from [`Pages`].
    pub const fn builder() -> Builder<Self> {
        Builder::new(KeyIndexOptions::NEW)
    }
}

impl<Id: ?Sized + Hash + Eq, H: BuildHasher> KeyIndex<Id, H> {
    /// Creates an index with a hasher of your choice, for the keys of this many slots.
    ///
    /// The last bits of a hash choose the bucket, and the bits above them tell entries apart. A
    /// hasher that does not mix its input makes all operations slow, up to O(n), and changes no
    /// answer.
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
        let options = KeyIndexOptions {
            slots,
            ..KeyIndexOptions::NEW
        };
        match Self::try_new_in(options, hasher, &Source::GLOBAL) {
            Ok(index) => index,
            Err(error) => memory::fail(error),
        }
    }

    fn try_new_in(
        options: KeyIndexOptions,
        hasher: H,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let mut table = Table::try_new(options.slots, options.buckets_per_slot, source)?;
        table.write(usize::MAX);
        Ok(KeyIndex {
            table,
            growth: Growth::Rests,
            slots: options.slots,
            options,
            hasher,
            id: PhantomData,
        })
    }

    /// Returns the number of slots whose keys there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots
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
            Growth::Clears(table) | Growth::Moves(table, _) => table.buckets.bytes(),
        };
        self.table.buckets.bytes() + other
    }

    /// Returns the key of a value with this id. Returns `None` if no value of the slab has it, or it
    /// was not added.
    #[inline]
    #[must_use]
    pub fn get<S>(&self, store: &S, id: &Id) -> Option<S::Key>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (key, _) = self.find(store, self.hasher.hash_one(id), id)?;
        Some(key)
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
    /// Returns the value if another one has its id, or if the slab or the index is full.
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
        if self.find(store, hash, value.id()).is_some() {
            return Err(InsertIdError::Taken(value));
        }
        let key = match store.try_insert_ref(value) {
            Ok((key, _)) => key,
            Err(FullError(value)) => return Err(InsertIdError::Full(value)),
        };
        match self.make_room(store, key.index()) {
            Ok(()) => {
                self.table.insert(hash, key.index());
                Ok(key)
            }
            Err(_) => match store.try_remove(key) {
                Some(value) => Err(InsertIdError::Full(value)),
                None => panic!("{key:?} has no value after its insertion"),
            },
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
        match self.find(store, hash, id) {
            Some((there, _)) if there == key => return Ok(()),
            Some((there, _)) => return Err(AddError::Taken(there)),
            None => {}
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
        let (key, place) = self.find(store, self.hasher.hash_one(id), id)?;
        let value = store.try_remove(key)?;
        self.remove_at(store, place);
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
        let Some(place) = self.find_slot(hash, key.index()) else {
            return false;
        };
        self.remove_at(store, place);
        true
    }

    /// Removes all entries. O(capacity).
    pub fn clear(&mut self) {
        self.growth = Growth::Rests;
        self.table.buckets.fill(EMPTY);
        self.table.len = 0;
        self.table.far = false;
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
        let old = match &self.growth {
            Growth::Moves(old, _) => Some(old),
            _ => None,
        };
        let mut stale = 0;
        for table in [Some(&self.table), old].into_iter().flatten() {
            for (at, &entry) in table.buckets.iter().enumerate() {
                if entry == EMPTY || entry == MOVED {
                    continue;
                }
                let slot = table.slot(entry);
                let finds = |(_, value): (S::Key, &S::Value)| {
                    let hash = self.hasher.hash_one(value.id());
                    table.find(hash, None, |found| found == slot) == Some(at)
                };
                stale += usize::from(!store.get_at(slot).is_some_and(finds));
            }
        }
        stale
    }

    /// The key of a value with this id, and the place of its entry.
    #[inline(always)]
    fn find<S>(&self, store: &S, hash: u64, id: &Id) -> Option<(S::Key, Place)>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let mut key = S::Key::NONE;
        let place = self.find_by(hash, |slot| match store.get_at(slot) {
            Some((there, value)) if value.id() == id => {
                key = there;
                true
            }
            _ => false,
        })?;
        Some((key, place))
    }

    /// The place of the entry of a slot.
    #[inline(always)]
    fn find_slot(&self, hash: u64, slot: usize) -> Option<Place> {
        self.find_by(hash, |found| found == slot)
    }

    #[inline(always)]
    fn find_by(&self, hash: u64, mut is: impl FnMut(usize) -> bool) -> Option<Place> {
        if let Some(at) = self.table.find(hash, None, &mut is) {
            return Some(Place { at, is_old: false });
        }
        match &self.growth {
            Growth::Moves(old, _) => {
                let at = old.find(hash, None, is)?;
                Some(Place { at, is_old: true })
            }
            _ => None,
        }
    }

    /// Removes the entry of a place.
    #[inline(always)]
    fn remove_at<S>(&mut self, store: &S, place: Place)
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        match &mut self.growth {
            Growth::Moves(old, _) if place.is_old => {
                old.buckets[place.at] = MOVED;
                old.len -= 1;
            }
            _ => {
                let hasher = &self.hasher;
                self.table
                    .remove(place.at, |slot| hash_of(hasher, store, slot));
            }
        }
    }

    /// Makes room for the entry of a slot.
    #[inline(always)]
    fn make_room<S>(&mut self, store: &S, slot: usize) -> Result<(), AddError<S::Key>>
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        if self.options.grows {
            self.grow(store, slot).map_err(AddError::NoMemory)
        } else if slot >= self.slots {
            let capacity = self.slots;
            Err(AddError::NoRoom(SlotError { slot, capacity }))
        } else if self.len() >= self.slots {
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
        let needs = slot >= self.slots || self.len() >= self.slots;
        let per_slot = self.options.buckets_per_slot;
        if let Growth::Moves(..) = self.growth {
            self.move_some(store, if needs { usize::MAX } else { 4 * per_slot });
        } else if needs || slot >= self.slots / 4 * 3 {
            if matches!(&self.growth, Growth::Clears(next) if slot >= next.most()) {
                self.growth = Growth::Rests;
            }
            if let Growth::Rests = self.growth {
                let slots = (2 * self.slots).max(slot + 1).max(FEWEST);
                match Table::try_new(slots, per_slot, self.table.buckets.source()) {
                    Ok(next) => self.growth = Growth::Clears(next),
                    Err(error) if needs => return Err(error),
                    // It is tried again by each of the following insertions.
                    Err(_) => return Ok(()),
                }
            }
            if let Growth::Clears(next) = &mut self.growth {
                next.write(if needs { usize::MAX } else { 16 * per_slot });
            }
        }
        if !needs {
            return Ok(());
        }
        match mem::replace(&mut self.growth, Growth::Rests) {
            Growth::Clears(next) => {
                debug_assert!(next.is_written());
                self.slots = next.most();
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

    /// Moves the entries of the next buckets of the old table.
    fn move_some<S>(&mut self, store: &S, most: usize)
    where
        S: ?Sized + Store<Value: Indexed<Id>>,
    {
        let (hasher, table) = (&self.hasher, &mut self.table);
        let Growth::Moves(old, at) = &mut self.growth else {
            return;
        };
        let reads = old.far || table.hash_bits() > old.hash_bits();
        for _ in 0..most {
            let Some(bucket) = old.buckets.get_mut(*at) else {
                self.growth = Growth::Rests;
                return;
            };
            let entry = *bucket;
            if entry != EMPTY && entry != MOVED {
                let slot = old.slot(entry);
                let hash = if reads {
                    hash_of(hasher, store, slot)
                } else {
                    let home = at.wrapping_sub(old.distance(entry, *at)) & ((1 << old.bits) - 1);
                    let rest = u64::from(entry >> old.slot_bits >> old.home_bits);
                    Some(home as u64 | rest << old.bits)
                };
                // Before it is added to the other table. A stale one is not.
                old.buckets[*at] = MOVED;
                old.len -= 1;
                if let Some(hash) = hash {
                    table.insert(hash, slot);
                }
            }
            *at += 1;
        }
    }
}

impl Table {
    /// The number of slots whose entries fit: their numbers and the table's buckets.
    fn most(&self) -> usize {
        let by_number = (1 << self.slot_bits) - 2;
        by_number.min((1 << self.bits) / 2)
    }
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

/// The bucket of an entry.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    is_old: bool,
}

/// An iterator over the keys of all values with an id, from [`KeyIndex::get_all`].
pub struct KeysOfId<'a, Id: ?Sized, H, S: ?Sized> {
    index: &'a KeyIndex<Id, H>,
    store: &'a S,
    id: &'a Id,
    hash: u64,
    /// The bucket of the previous one.
    place: Option<usize>,
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
            let mut key = S::Key::NONE;
            let is = |slot| match self.store.get_at(slot) {
                Some((there, value)) if value.id() == self.id => {
                    key = there;
                    true
                }
                _ => false,
            };
            match table.find(self.hash, self.place, is) {
                Some(at) => {
                    self.place = Some(at);
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
#[derive(Clone, Copy, Debug)]
pub struct KeyIndexOptions {
    slots: usize,
    buckets_per_slot: usize,
    grows: bool,
}

impl KeyIndexOptions {
    const NEW: Self = KeyIndexOptions {
        slots: 0,
        buckets_per_slot: 2,
        grows: false,
    };
}

/// The options of a [`KeyIndex`].
impl<Id: ?Sized + Hash + Eq> Builder<KeyIndex<Id>> {
    /// Sets the number of slots whose keys the index has room for. The default is 0.
    ///
    /// ```
    /// use flatslab::collections::KeyIndex;
    ///
    /// let index = KeyIndex::<u64>::builder().capacity(1000).build();
    /// assert_eq!(index.capacity(), 1000);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.slots = slots;
        self
    }

    /// Sets the smallest number of buckets for each slot, from 2 to 64. The default is 2.
    ///
    /// The number of buckets is a power of two, so there may be twice as many. With 4 a search visits
    /// fewer buckets, and the table has twice the memory.
    ///
    /// ```
    /// use flatslab::collections::KeyIndex;
    ///
    /// let half = KeyIndex::<u64>::builder().capacity(1000).build();
    /// let quarter = KeyIndex::<u64>::builder().capacity(1000).buckets_per_slot(4).build();
    /// assert_eq!(quarter.bytes(), 2 * half.bytes());
    /// ```
    pub const fn buckets_per_slot(mut self, buckets: usize) -> Self {
        self.options.buckets_per_slot = match buckets {
            0..2 => 2,
            64.. => 64,
            buckets => buckets,
        };
        self
    }

    /// Makes the index grow when a key is added for whose slot there is no room.
    ///
    /// An insertion then writes up to 16 buckets of the next table for each of the
    /// [`buckets_per_slot`](Self::buckets_per_slot), or moves 4. Only a key whose slot is far above
    /// those that were added before, or an allocator that refuses, makes an insertion finish all
    /// steps at once, in O(capacity).
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
        self.options.grows = true;
        self
    }
}

impl<Id: ?Sized + Hash + Eq> Build for KeyIndex<Id> {
    type Options = KeyIndexOptions;

    fn try_build(options: KeyIndexOptions, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        Ok(Self::try_new_in(options, IdState::new(), &source)?)
    }
}

impl<Id: ?Sized + Hash + Eq, H: BuildHasher> fmt::Debug for KeyIndex<Id, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyIndex")
            .field("len", &self.len())
            .field("capacity", &self.slots)
            .finish_non_exhaustive()
    }
}
