//! More about the values of a slab, in slabs of their own.

use core::fmt;
use core::iter::{FusedIterator, Peekable};
use core::ops::{Index, IndexMut};

use super::cell::{Cell, DETACHED};
use super::iter::Walk;
use super::key::{GenerationKey, Inside};
use super::{Growable, InsertAtError, Iter, IterMut, KeySlab, PlainSlab, Storage, missing};
use crate::raw::memory;
use crate::raw::report::Report;

/// A value for some of the values of another slab, under the same keys: what components are to
/// entities.
///
/// A key whose value in the other slab is gone does not lead to what belongs to the next one, as
/// an index into a `Vec` would: its entry has the key's generation. Such entries stay until the
/// slot gets another one, or [`prune`](Self::prune) drops them: in time, if generations
/// [wrap](super::GenKey#how-long-generations-last).
///
/// An insertion names the other slab, so a key that opens no value there, forged or stale,
/// takes no memory. There is memory for each slot up to the highest one with an entry, with an entry
/// or without: a value, its generation, and 4 bytes. What goes over all entries visits each slot up
/// to that of the last one: an entry in the last of a million slots costs a million slots. For entries
/// of few of the values use a `HashMap<K, V>`: a key contains its generation, so one whose value is
/// gone finds nothing of the next value there either, and
/// `retain(|key, _| slab.contains(*key))` prunes it.
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
    /// version is of no use: entries come from another slab, where it does not fall.
    slab: KeySlab<V, K>,
}

impl<V, K: GenerationKey> SecondarySlab<V, K> {
    /// Without entries; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        SecondarySlab {
            slab: KeySlab::with_key(),
        }
    }

    /// Number of entries, with those whose value in the other slab is gone; O(1).
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there is no entry.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    /// Whether there is an entry for the key; O(1).
    #[inline]
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.slab.contains(key)
    }

    /// Borrows the entry of a key; O(1). `None` if there is none.
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<&V> {
        self.slab.get(key)
    }

    /// Borrows the entry of a key mutably; O(1). `None` if there is none.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.slab.get_mut(key)
    }

    /// Sets the entry of a value of `slab`, and returns the one it had. An entry of an earlier value
    /// in the same slot is dropped. O(1), if a slot as high had an entry before; else O(slots) for
    /// those up to this one that had none, which are written once.
    ///
    /// # Panics
    ///
    /// If the key opens no value in `slab`, or this has an entry for a later value of the slot: of
    /// another slab, or from before the slab's [generations were
    /// reset](PlainSlab::reset_generations); then [clear](Self::clear) it. Where generations wrap,
    /// such an entry is dropped as one of an earlier value. If the allocator refuses, the program
    /// ends, as with `Vec`.
    #[track_caller]
    pub fn insert<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
        value: V,
    ) -> Option<V> {
        match self.try_insert(slab, key, value) {
            Ok(old) => old,
            Err(InsertAtError::NoMemory(_, error)) => memory::fail(error),
            Err(error) => panic!("insert was refused: {error}"),
        }
    }

    /// Sets the entry of a value of `slab`, like [`insert`](Self::insert); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value where [`insert`](Self::insert) panics, or the allocator refuses.
    ///
    /// ```
    /// # use flatslab::{GenKey, KeySlab, key_slab::SecondarySlab};
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let mut more = SecondarySlab::new();
    /// let key = slab.insert("value");
    /// assert_eq!(more.try_insert(&slab, key, 7), Ok(None));
    /// slab.remove(key);
    /// let error = more.try_insert(&slab, key, 8).unwrap_err();
    /// assert_eq!(error.to_string(), "there is no value at the key");
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
        let entries = &mut self.slab;
        if let Err(error) = entries.try_reach(index) {
            return Err(InsertAtError::NoMemory(value, error));
        }
        for fresh in entries.used..=index {
            // SAFETY: below the capacity, and its cell does not exist yet (`used-cells`).
            unsafe { K::Cell::<V>::write_vacant(entries.place(fresh), DETACHED) };
            entries.used += 1;
            entries.detached += 1;
        }
        // SAFETY: the cell exists. It is vacant, and not on the stack, when it is filled.
        unsafe {
            let cell = entries.place(index);
            let present = cell.as_ref().version();
            let old = match cell.as_ref().is_occupied() {
                false => {
                    entries.detached -= 1;
                    None
                }
                // Where they wrap, a later one may be of an earlier round.
                true if present > version && !slab.wraps => {
                    return Err(InsertAtError::Outdated(value));
                }
                true => Some(K::Cell::vacate(cell, present + 1)),
            };
            K::Cell::fill(cell, version, value);
            Ok(old.filter(|_| present == version))
        }
    }

    /// Removes the entry of a key.
    ///
    /// # Panics
    ///
    /// If there is none; [`try_remove`](Self::try_remove) returns `None` then.
    #[track_caller]
    pub fn remove(&mut self, key: K) -> V {
        match self.try_remove(key) {
            Some(value) => value,
            None => missing(key),
        }
    }

    /// Removes the entry of a key; O(1). `None` if there is none.
    pub fn try_remove(&mut self, key: K) -> Option<V> {
        self.slab.detach(key)
    }

    /// Drops the entries whose value in `slab` is gone, and not only
    /// [detached](PlainSlab::detach); O(slots up to that of the last entry).
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

    /// Drops the entries for which `keep` is false, in the order of the slots; O(slots up to that of
    /// the last entry). If `keep` or a destructor panics, those not yet visited stay.
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut V) -> bool) {
        let mut walk = Walk::new(&self.slab);
        while let Some((index, mut cell)) = walk.next_cell() {
            // SAFETY: an occupied cell of this slab (`walk-left`), and its slot; `keep` cannot
            // reach the slab. Not removed by the key, whose methods may return other numbers: what
            // is removed is what was visited.
            unsafe {
                let key = K::new(index, cell.as_ref().version(), Inside);
                if !keep(key, cell.as_mut().value_mut()) {
                    self.slab.detached += 1;
                    drop(K::Cell::vacate(cell, DETACHED));
                }
            }
        }
    }

    /// Drops all entries and keeps the memory; O(slots up to that of the last entry), O(1) where
    /// they have no destructor.
    pub fn clear(&mut self) {
        let entries = self.len();
        self.slab.detached = 0;
        self.slab.destroy_all(false, entries);
    }

    /// The entries with their keys, in the order of the slots; O(slots up to that of the last entry).
    #[inline]
    pub fn iter(&self) -> Iter<'_, V, K> {
        self.slab.iter()
    }

    /// The entries with their keys, to be changed, in the order of the slots; O(slots up to that of
    /// the last entry).
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, V, K> {
        self.slab.iter_mut()
    }

    /// The values of `slab` that have an entry, each with its key and its entry, in the order of
    /// the slots; O(slots up to that of the last entry).
    #[inline]
    pub fn join<'a, T, S: Storage>(&'a self, slab: &'a PlainSlab<T, K, S>) -> Join<'a, T, V, K, S> {
        Join {
            entries: self.iter(),
            slab,
        }
    }

    /// The values of `slab` that have an entry, each with its key and its entry, both to be
    /// changed, in the order of the slots; O(slots up to that of the last value and of the last
    /// entry).
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

    /// Bytes of memory, and where it is from.
    #[must_use]
    pub fn memory(&self) -> Report {
        self.slab.memory()
    }
}

/// The values of a slab that have an entry; made by [`join`](SecondarySlab::join).
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

/// Prints how many entries are left.
impl<T, V, K: GenerationKey, S: Storage> fmt::Debug for Join<'_, T, V, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("left", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// The values of a slab that have an entry, both to be changed; made by
/// [`join_mut`](SecondarySlab::join_mut).
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

/// Prints how many values are left.
impl<T, V, K: GenerationKey> fmt::Debug for JoinMut<'_, T, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinMut")
            .field("left", &self.values.len())
            .finish_non_exhaustive()
    }
}

/// # Panics
///
/// If there is no entry for the key.
impl<V, K: GenerationKey> Index<K> for SecondarySlab<V, K> {
    type Output = V;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &V {
        &self.slab[key]
    }
}

/// # Panics
///
/// If there is no entry for the key.
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
