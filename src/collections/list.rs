//! `List`: a doubly linked list of values of a slab, whose links are fields of the values.
//!
//! The list is plain data: the keys of the first and the last value, their number, and the key of
//! its owner. So it is copied, saved and rewound with the value that contains it, and there is
//! nothing outside of slabs that a rewind or a snapshot would forget. The owner's key is in the
//! links of each value too. It says whether a value is in this list, and from a value it finds the
//! list: a cancelled order finds its price level.
//!
//! # Invariants
//!
//! They hold as long as the program uses a list with one store, removes no value while it is linked,
//! and has no second list of the same owner. Each is checked where a method relies on it, before
//! anything changes.
//!
//! * `list-owner`: `owner` of the links of a value is that of the list that the value is in, and
//!   `NONE` if it is in no list.
//! * `list-ends`: the first value has no previous one, the last value has no next one, and there are
//!   `len` values. An empty list has neither.
//! * `list-mutual`: the next value of a value has that one as its previous value.

use core::error::Error;
use core::fmt;

#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::FullError;
use crate::key::Key;
use crate::key_slab::SlabKey;
use crate::links::{Linked, Links};
use crate::store::Store;

/// A doubly linked list of values of a slab, by their keys: 16 bytes, `Copy`.
///
/// The links are a [field of the values](Links). A value is removed by its key in O(1), and stays in
/// its slot when it is linked, unlinked or moved, so it can be in several lists at the same time. No
/// operation allocates, except an insertion into a slab that grows. All take the slab as an
/// argument, because several lists, and other owners of keys, use one slab.
///
/// # Owners
///
/// A list has an *owner*: the key of the value that contains it, such as a price level, a session or
/// a node of a tree, or any key of your choice, such as `Key::from_raw(bucket)`. The key is in the
/// links of each value, so [`Links::owner`] finds the list of a value. An owner has one list of each
/// type of links.
///
/// Before an owner is removed, [unlink](Self::unlink_all) or [remove](Self::clear) its values:
/// without generations its key will be that of another owner, which would find values in its list
/// that it did not add.
///
/// # Wrong keys
///
/// An operation looks up the value and its neighbours. With a key that has no value, or whose value
/// is in another list or in none, it returns an error and changes nothing. It panics, and changes
/// nothing, if a neighbour is not linked to the value: because a value was removed from the slab
/// while it was linked, because the store is not the one with this list's values, or because an old
/// copy of the list is used. Lists are told apart by their owners: if owners in several slabs have
/// the same key, such as the first level of each of several books, a mistake between their stores
/// is not noticed. There, use keys that differ. A walk ends after [`len`](Self::len) values, and
/// panics at a value that is not in this list.
///
/// # Cost
///
/// Every operation takes constant time, except those that say O(n). In a
/// [`CheckpointSlab`](crate::key_slab::CheckpointSlab) each value whose links change is logged; the
/// list itself is rewound if it is in a value of the same group.
///
/// # Examples
///
/// A book of price levels. A cancel finds the level by the order:
///
/// ```
/// use flatslab::collections::{Links, List};
/// use flatslab::{KeySlab, key_type, linked};
///
/// key_type!(struct OrderKey);
/// key_type!(struct LevelKey);
///
/// struct Order { shares: u32, links: Links<OrderKey, LevelKey> }
/// struct Level { price: u32, orders: List<OrderKey, LevelKey> }
///
/// linked!(impl Linked<OrderKey, LevelKey> for Order { links });
///
/// let mut orders: KeySlab<Order, OrderKey> = KeySlab::with_key();
/// let mut levels: KeySlab<Level, LevelKey> = KeySlab::with_key();
/// let entry = levels.vacant_entry();
/// let level = entry.key();
/// entry.insert(Level { price: 100, orders: List::new(level) });
///
/// let order = |shares| Order { shares, links: Links::new() };
/// let first = levels[level].orders.push_back(&mut orders, order(5))?;
/// levels[level].orders.push_back(&mut orders, order(7))?;
///
/// let its_level = orders[first].links.owner().unwrap();
/// levels[its_level].orders.remove(&mut orders, first).unwrap();
/// let left: u32 = levels[level].orders.iter(&orders).map(|(_, order)| order.shares).sum();
/// assert_eq!((left, levels[level].price), (7, 100));
/// # Ok::<(), flatslab::FullError<Order>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias("LinkedList", "intrusive"))]
pub struct List<K = Key, O = Key> {
    pub(super) first: K,
    pub(super) last: K,
    pub(super) len: u32,
    pub(super) owner: O,
}

const _: () = assert!(size_of::<List>() == 16);

/// The reason why a value was not linked, unlinked or removed. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// There is no value with this key.
    Missing,
    /// The value is in a list, this one or another, and was to be linked.
    Linked,
    /// The value is not in this list.
    NotInList,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkError::Missing => "no value has this key",
            LinkError::Linked => "the value is already in a list",
            LinkError::NotInList => "the value is not in this list",
        })
    }
}

impl Error for LinkError {}

/// The reason why a value was not inserted beside another one. Contains the value; nothing has
/// changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InsertBesideError<T> {
    /// The other value is not there, or not in this list.
    NotInList(T),
    /// The slab is full.
    Full(T),
}

impl<T> InsertBesideError<T> {
    /// Returns the value that was not inserted.
    pub fn into_inner(self) -> T {
        match self {
            InsertBesideError::NotInList(value) | InsertBesideError::Full(value) => value,
        }
    }
}

/// Prints the reason for any `T`, so that `unwrap` works for all of them.
impl<T> fmt::Debug for InsertBesideError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertBesideError::NotInList(_) => "NotInList(..)",
            InsertBesideError::Full(_) => "Full(..)",
        })
    }
}

impl<T> fmt::Display for InsertBesideError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertBesideError::NotInList(_) => "the other value is not in this list",
            InsertBesideError::Full(_) => "the slab is full: the value was not inserted",
        })
    }
}

impl<T> Error for InsertBesideError<T> {}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn broken<K: SlabKey, O: SlabKey>(list: &List<K, O>, key: K) -> ! {
    panic!(
        "{key:?} is not linked as the list of {:?} says: a value was removed while it was linked, \
         or another store or a copy of the list was used",
        list.owner
    )
}

impl<K: SlabKey, O: SlabKey> List<K, O> {
    /// Creates an empty list with this owner, without which there is no list: so `Default` is not
    /// implemented.
    ///
    /// With [`SlabKey::NONE`] as the owner no value can be added, because the links of a value in no
    /// list have that owner.
    #[inline]
    #[must_use]
    pub const fn new(owner: O) -> Self {
        List {
            first: K::NONE,
            last: K::NONE,
            len: 0,
            owner,
        }
    }

    /// Returns the owner. O(1).
    #[inline]
    #[must_use]
    pub const fn owner(&self) -> O {
        self.owner
    }

    /// Returns the number of values. O(1).
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns `true` if there is no value. O(1).
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the key of the first value. Returns `None` if the list is empty. O(1).
    #[inline]
    #[must_use]
    #[doc(alias("front", "head"))]
    pub fn first(&self) -> Option<K> {
        (self.first != K::NONE).then_some(self.first)
    }

    /// Returns the key of the last value. Returns `None` if the list is empty. O(1).
    #[inline]
    #[must_use]
    #[doc(alias("back", "tail"))]
    pub fn last(&self) -> Option<K> {
        (self.last != K::NONE).then_some(self.last)
    }

    /// Returns `true` if there is a value with this key, and it is in this list. O(1).
    #[inline]
    #[must_use]
    pub fn contains<S>(&self, store: &S, key: K) -> bool
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.links(store, key).is_ok()
    }

    /// Inserts a value into the slab and as the last one of the list, and returns its key.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Panics
    ///
    /// Panics if the links of the list are [wrong](Self#wrong-keys), or the owner is
    /// [`SlabKey::NONE`]; the value is dropped.
    #[inline]
    #[track_caller]
    pub fn push_back<S>(&mut self, store: &mut S, value: S::Value) -> Result<K, FullError<S::Value>>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.insert_between(store, self.last, K::NONE, value)
    }

    /// Inserts a value into the slab and as the first one of the list, and returns its key.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Panics
    ///
    /// Panics where [`push_back`](Self::push_back) does.
    #[inline]
    #[track_caller]
    pub fn push_front<S>(
        &mut self,
        store: &mut S,
        value: S::Value,
    ) -> Result<K, FullError<S::Value>>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.insert_between(store, K::NONE, self.first, value)
    }

    /// Inserts a value into the slab and before a value of this list, and returns its key.
    ///
    /// # Errors
    ///
    /// Returns the value if the other one is not in this list, or the slab is full.
    ///
    /// # Panics
    ///
    /// Panics where [`push_back`](Self::push_back) does.
    #[inline]
    #[track_caller]
    pub fn insert_before<S>(
        &mut self,
        store: &mut S,
        next: K,
        value: S::Value,
    ) -> Result<K, InsertBesideError<S::Value>>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let Ok(links) = self.links(store, next) else {
            return Err(InsertBesideError::NotInList(value));
        };
        let inserted = self.insert_between(store, links.previous, next, value);
        inserted.map_err(|FullError(value)| InsertBesideError::Full(value))
    }

    /// Inserts a value into the slab and after a value of this list, and returns its key.
    ///
    /// # Errors
    ///
    /// Returns the value if the other one is not in this list, or the slab is full.
    ///
    /// # Panics
    ///
    /// Panics where [`push_back`](Self::push_back) does.
    #[inline]
    #[track_caller]
    pub fn insert_after<S>(
        &mut self,
        store: &mut S,
        previous: K,
        value: S::Value,
    ) -> Result<K, InsertBesideError<S::Value>>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let Ok(links) = self.links(store, previous) else {
            return Err(InsertBesideError::NotInList(value));
        };
        let inserted = self.insert_between(store, previous, links.next, value);
        inserted.map_err(|FullError(value)| InsertBesideError::Full(value))
    }

    /// Links a value of the slab as the last one of this list. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is in a list.
    ///
    /// # Panics
    ///
    /// Panics if the links of the list are [wrong](Self#wrong-keys), or the owner is
    /// [`SlabKey::NONE`]; nothing has changed then.
    #[inline]
    #[track_caller]
    pub fn link_back<S>(&mut self, store: &mut S, key: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.link_between(store, key, self.last, K::NONE)
    }

    /// Links a value of the slab as the first one of this list. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is in a list.
    ///
    /// # Panics
    ///
    /// Panics where [`link_back`](Self::link_back) does.
    #[inline]
    #[track_caller]
    pub fn link_front<S>(&mut self, store: &mut S, key: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.link_between(store, key, K::NONE, self.first)
    }

    /// Links a value of the slab before a value of this list. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if one of them is not there, if the first is in a list, or the second is not
    /// in this one.
    ///
    /// # Panics
    ///
    /// Panics where [`link_back`](Self::link_back) does.
    #[inline]
    #[track_caller]
    pub fn link_before<S>(&mut self, store: &mut S, key: K, next: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let previous = self.links(store, next)?.previous;
        self.link_between(store, key, previous, next)
    }

    /// Links a value of the slab after a value of this list. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if one of them is not there, if the first is in a list, or the second is not
    /// in this one.
    ///
    /// # Panics
    ///
    /// Panics where [`link_back`](Self::link_back) does.
    #[inline]
    #[track_caller]
    pub fn link_after<S>(&mut self, store: &mut S, key: K, previous: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let next = self.links(store, previous)?.next;
        self.link_between(store, key, previous, next)
    }

    /// Takes a value out of the list; it stays in the slab. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    ///
    /// # Panics
    ///
    /// Panics if the links of the list are [wrong](Self#wrong-keys); nothing has changed then.
    #[inline]
    #[track_caller]
    pub fn unlink<S>(&mut self, store: &mut S, key: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let &Links { previous, next, .. } = self.links(store, key)?;
        self.detach(store, key, previous, next);
        self.write_links(store, key, |links| *links = Links::new());
        Ok(())
    }

    /// Removes a value from the list and from the slab, and returns it. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    pub fn remove<S>(&mut self, store: &mut S, key: K) -> Result<S::Value, LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        // Mutably: a slab that logs its changes then has logged this one.
        let links = self.links_mut(store, key)?;
        let (previous, next) = (links.previous, links.next);
        self.detach(store, key, previous, next);
        self.take_out(store, key).ok_or(LinkError::Missing)
    }

    /// Removes the first value from the list and from the slab, and returns it. Returns `None` if
    /// the list is empty. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    pub fn pop_front<S>(&mut self, store: &mut S) -> Option<S::Value>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let first = self.detach_first(store)?;
        self.take_out(store, first)
    }

    /// Removes the last value from the list and from the slab, and returns it. Returns `None` if the
    /// list is empty. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    pub fn pop_back<S>(&mut self, store: &mut S) -> Option<S::Value>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let last = self.detach_last(store)?;
        self.take_out(store, last)
    }

    /// Takes the first value out of the list, and returns its key; it stays in the slab. Returns
    /// `None` if the list is empty. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    pub fn unlink_front<S>(&mut self, store: &mut S) -> Option<K>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let first = self.detach_first(store)?;
        *store.get_mut(first)?.links_mut() = Links::new();
        Some(first)
    }

    /// Takes the last value out of the list, and returns its key; it stays in the slab. Returns
    /// `None` if the list is empty. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    pub fn unlink_back<S>(&mut self, store: &mut S) -> Option<K>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let last = self.detach_last(store)?;
        *store.get_mut(last)?.links_mut() = Links::new();
        Some(last)
    }

    /// Moves a value of this list to its end. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    #[doc(alias = "promote")]
    pub fn move_to_back<S>(&mut self, store: &mut S, key: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let &Links { previous, next, .. } = self.links(store, key)?;
        let last = self.last;
        if key == last {
            return Ok(());
        }
        self.check_end(store, last, |links| links.next);
        self.bridge(store, key, previous, next);
        self.last = key;
        self.write_links(store, last, |links| links.next = key);
        self.write_links(store, key, |links| {
            (links.previous, links.next) = (last, K::NONE);
        });
        Ok(())
    }

    /// Moves a value of this list to its front. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[inline]
    #[track_caller]
    #[doc(alias = "promote")]
    pub fn move_to_front<S>(&mut self, store: &mut S, key: K) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let &Links { previous, next, .. } = self.links(store, key)?;
        let first = self.first;
        if key == first {
            return Ok(());
        }
        self.check_end(store, first, |links| links.previous);
        self.bridge(store, key, previous, next);
        self.first = key;
        self.write_links(store, first, |links| links.previous = key);
        self.write_links(store, key, |links| {
            (links.previous, links.next) = (K::NONE, first);
        });
        Ok(())
    }

    /// Moves a value of this list to the end of another list of the same slab. O(1). If both lists are
    /// in one slab, `get_disjoint_mut` borrows their owners.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does. If the links of the other list are wrong, the
    /// value is in neither list.
    #[inline]
    #[track_caller]
    pub fn move_to<S>(&mut self, store: &mut S, key: K, other: &mut Self) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.unlink(store, key)?;
        other.link_back(store, key)
    }

    /// Moves all values of another list of the same slab to the end of this one.
    ///
    /// # Complexity
    ///
    /// O(n) for the n values of the other list: the owner in the links of each of them changes.
    ///
    /// # Panics
    ///
    /// Panics if the links of one of the lists are [wrong](Self#wrong-keys). Every value is in one of
    /// the lists then, or one of them in neither.
    #[track_caller]
    pub fn append<S>(&mut self, store: &mut S, other: &mut Self)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        while let Some(key) = other.unlink_front(store) {
            if self.link_back(store, key).is_err() {
                broken(self, key)
            }
        }
    }

    /// Moves all values of another list of the same slab before a value of this one.
    ///
    /// # Complexity
    ///
    /// O(n) for the n values of the other list: the owner in the links of each of them changes.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list; no value is
    /// moved then.
    ///
    /// # Panics
    ///
    /// Panics where [`append`](Self::append) does.
    #[track_caller]
    #[doc(alias = "splice")]
    pub fn append_before<S>(
        &mut self,
        store: &mut S,
        next: K,
        other: &mut Self,
    ) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.links(store, next)?;
        while let Some(key) = other.unlink_front(store) {
            if self.link_before(store, key, next).is_err() {
                broken(self, key)
            }
        }
        Ok(())
    }

    /// Takes all values out of the list; they stay in the slab.
    ///
    /// # Complexity
    ///
    /// O(n) for n values. For a bounded number at a time, call
    /// [`unlink_front`](Self::unlink_front).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does.
    #[track_caller]
    pub fn unlink_all<S>(&mut self, store: &mut S)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        while self.unlink_front(store).is_some() {}
    }

    /// Removes all values from the list and from the slab, and drops them.
    ///
    /// # Complexity
    ///
    /// O(n) for n values. For a bounded number at a time, call [`pop_front`](Self::pop_front).
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does, or if a destructor panics; the rest of the values
    /// is still in the list then.
    #[track_caller]
    pub fn clear<S>(&mut self, store: &mut S)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        while self.pop_front(store).is_some() {}
    }

    /// Removes the values for which `keep` returns `false` from the list and from the slab, and
    /// drops them. O(n) for n values.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does, or if `keep` or a destructor panics; the rest of
    /// the values is still in the list then.
    #[track_caller]
    pub fn retain<S>(&mut self, store: &mut S, mut keep: impl FnMut(K, &mut S::Value) -> bool)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let len = self.len;
        let mut cursor = self.cursor_front(store);
        for _ in 0..len {
            match cursor.current() {
                Some((key, value)) => {
                    if keep(key, value) {
                        cursor.move_next();
                    } else {
                        drop(cursor.remove());
                    }
                }
                None => return,
            }
        }
    }

    /// Calls `change` with each value, from the first to the last. O(n) for n values.
    ///
    /// # Panics
    ///
    /// Panics where [`unlink`](Self::unlink) does, or if `change` panics.
    #[track_caller]
    #[doc(alias = "iter_mut")]
    pub fn for_each_mut<S>(&self, store: &mut S, mut change: impl FnMut(K, &mut S::Value))
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let mut key = self.first;
        for _ in 0..self.len {
            let Some(value) = store.get_mut(key) else {
                broken(self, key)
            };
            if value.links().owner != self.owner {
                broken(self, key)
            }
            let next = value.links().next;
            change(key, value);
            key = next;
        }
    }

    /// Checks the links of all values. O(n) for n values.
    ///
    /// # Errors
    ///
    /// Returns the key at which the links are [wrong](Self#wrong-keys), and
    /// [`SlabKey::NONE`] if an end or the number of values is.
    pub fn check<S>(&self, store: &S) -> Result<(), K>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let (mut previous, mut key) = (K::NONE, self.first);
        for _ in 0..self.len {
            match self.links(store, key) {
                Ok(links) if links.previous == previous => (previous, key) = (key, links.next),
                _ => return Err(key),
            }
        }
        if (previous, key) == (self.last, K::NONE) {
            Ok(())
        } else {
            Err(K::NONE)
        }
    }

    /// The links of a value of this list (`list-owner`).
    #[inline(always)]
    pub(super) fn links<'a, S>(&self, store: &'a S, key: K) -> Result<&'a Links<K, O>, LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let links = store.get(key).ok_or(LinkError::Missing)?.links();
        if links.owner == self.owner && links.is_linked() {
            Ok(links)
        } else {
            Err(LinkError::NotInList)
        }
    }

    /// The links of a value of this list (`list-owner`), which changes.
    #[inline(always)]
    fn links_mut<'a, S>(&self, store: &'a mut S, key: K) -> Result<&'a mut Links<K, O>, LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let links = store.get_mut(key).ok_or(LinkError::Missing)?.links_mut();
        if links.owner == self.owner && links.is_linked() {
            Ok(links)
        } else {
            Err(LinkError::NotInList)
        }
    }

    /// Changes the links of a value that was there a moment ago.
    #[inline(always)]
    fn write_links<S>(&self, store: &mut S, key: K, change: impl FnOnce(&mut Links<K, O>))
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        if let Some(value) = store.get_mut(key) {
            change(value.links_mut());
        }
    }

    /// Checks that a value is an end of this list (`list-ends`): one of its links is `NONE`.
    #[inline(always)]
    #[track_caller]
    fn check_end<S>(&self, store: &S, end: K, outwards: impl FnOnce(&Links<K, O>) -> K)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        match self.links(store, end) {
            Ok(links) if outwards(links) == K::NONE => {}
            _ => broken(self, end),
        }
    }

    /// Removes a value that is no longer in the list from the slab.
    #[inline(always)]
    fn take_out<S>(&self, store: &mut S, key: K) -> Option<S::Value>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let mut value = store.try_remove(key)?;
        *value.links_mut() = Links::new();
        Some(value)
    }

    /// Inserts a value into the slab and between two neighbours.
    ///
    /// The links are written to the slot, and not to the value before: a value that is put together
    /// from small parts and moved as a whole waits for its own stores.
    #[inline(always)]
    #[track_caller]
    pub(super) fn insert_between<S>(
        &mut self,
        store: &mut S,
        previous: K,
        next: K,
        value: S::Value,
    ) -> Result<K, FullError<S::Value>>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let (key, value) = store.try_insert_ref(value)?;
        *value.links_mut() = Links {
            previous,
            next,
            owner: self.owner,
        };
        if !self.attach(store, key, previous, next) {
            drop(store.try_remove(key));
            broken(self, key)
        }
        Ok(key)
    }

    /// Links a value of the slab between two neighbours.
    #[inline(always)]
    #[track_caller]
    fn link_between<S>(
        &mut self,
        store: &mut S,
        key: K,
        previous: K,
        next: K,
    ) -> Result<(), LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let links = store.get_mut(key).ok_or(LinkError::Missing)?.links_mut();
        if links.is_linked() {
            return Err(LinkError::Linked);
        }
        *links = Links {
            previous,
            next,
            owner: self.owner,
        };
        if !self.attach(store, key, previous, next) {
            self.write_links(store, key, |links| *links = Links::new());
            broken(self, key)
        }
        Ok(())
    }

    /// Makes two neighbours lead to a value between them. Returns `false`, and changes nothing, if
    /// they do not lead to each other (`list-mutual`).
    #[inline(always)]
    fn attach<S>(&mut self, store: &mut S, key: K, previous: K, next: K) -> bool
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let owner = self.owner;
        if owner == O::NONE || self.len == u32::MAX {
            return false;
        }
        match store.get_mut(previous).map(Linked::links_mut) {
            Some(links) if links.owner == owner && links.next == next && previous != key => {
                links.next = key;
            }
            None if previous == K::NONE && self.first == next => self.first = key,
            _ => return false,
        }
        match store.get_mut(next).map(Linked::links_mut) {
            Some(links) if links.owner == owner && links.previous == previous && next != key => {
                links.previous = key;
            }
            None if next == K::NONE && self.last == previous => self.last = key,
            _ => {
                self.write_next(store, previous, next);
                return false;
            }
        }
        self.len += 1;
        true
    }

    /// Makes what comes before a value lead to another one: undoes the first of two changes.
    #[cold]
    #[inline(never)]
    fn write_next<S>(&mut self, store: &mut S, previous: K, next: K)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        if previous == K::NONE {
            self.first = next;
        } else {
            self.write_links(store, previous, |links| links.next = next);
        }
    }

    /// Makes the neighbours of a value of this list lead to each other, and counts it out.
    #[inline(always)]
    #[track_caller]
    fn detach<S>(&mut self, store: &mut S, key: K, previous: K, next: K)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.bridge(store, key, previous, next);
        self.len -= 1;
    }

    /// Makes the neighbours of a value of this list lead to each other.
    #[inline(always)]
    #[track_caller]
    fn bridge<S>(&mut self, store: &mut S, key: K, previous: K, next: K)
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        match store.get_mut(previous).map(Linked::links_mut) {
            Some(links) if links.next == key && links.owner == self.owner && self.len > 0 => {
                links.next = next;
            }
            None if self.first == key && previous == K::NONE && self.len > 0 => self.first = next,
            _ => self.undo_bridge(store, key, None),
        }
        match store.get_mut(next).map(Linked::links_mut) {
            Some(links) if links.previous == key && links.owner == self.owner => {
                links.previous = previous;
            }
            None if self.last == key && next == K::NONE => self.last = previous,
            _ => self.undo_bridge(store, key, Some(previous)),
        }
    }

    /// Lets `previous` lead to `key` again, if it was changed, and panics.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn undo_bridge<S>(&mut self, store: &mut S, key: K, previous: Option<K>) -> !
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        if let Some(previous) = previous {
            self.write_next(store, previous, key);
        }
        broken(self, key)
    }

    /// Lets the list begin with its second value, and returns the key of the first one. Its links
    /// are not changed.
    #[inline(always)]
    #[track_caller]
    fn detach_first<S>(&mut self, store: &mut S) -> Option<K>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let first = self.first()?;
        let Ok(links) = self.links_mut(store, first) else {
            broken(self, first)
        };
        let next = links.next;
        self.detach(store, first, K::NONE, next);
        Some(first)
    }

    /// Lets the list end with its last value but one, and returns the key of the last one. Its links
    /// are not changed.
    #[inline(always)]
    #[track_caller]
    fn detach_last<S>(&mut self, store: &mut S) -> Option<K>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let last = self.last()?;
        let Ok(links) = self.links_mut(store, last) else {
            broken(self, last)
        };
        let previous = links.previous;
        self.detach(store, last, previous, K::NONE);
        Some(last)
    }
}

impl<K: SlabKey, O: SlabKey> fmt::Debug for List<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("owner", &self.owner)
            .field("len", &self.len)
            .field("first", &self.first())
            .field("last", &self.last())
            .finish()
    }
}

/// Serializes the keys of the ends, the number of values and the owner.
#[cfg(feature = "serde")]
impl<K: Serialize, O: Serialize> Serialize for List<K, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.first, &self.last, self.len, &self.owner).serialize(serializer)
    }
}

/// Deserializes a list of any content. What does not fit the values of the slab is found when the
/// list is used, or [checked](List::check).
#[cfg(feature = "serde")]
impl<'de, K: Deserialize<'de>, O: Deserialize<'de>> Deserialize<'de> for List<K, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, last, len, owner) = Deserialize::deserialize(deserializer)?;
        Ok(List {
            first,
            last,
            len,
            owner,
        })
    }
}
