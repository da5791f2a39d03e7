//! Slabs whose changes are logged, so that a [group](super::SlabGroup) can undo them.
//!
//! A change is logged *before* it is made, and all memory for it is reserved before that. A slot
//! may be logged and then not change: a rewind writes the same state back. So the log stays correct
//! if the allocator refuses, if the user's key type panics, or if an entry is dropped.

use core::error::Error;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::{Deref, Index, IndexMut};

use super::cell::Cell;
use super::iter::{Iter, Visited, Walk};
use super::key::{Inside, SlabKey};
use super::undo::Undo;
use super::undo_log::UndoLog;
use super::{
    GenerationKey, Growable, InKeys, PlainSlab, SecondarySlab, Storage, VacantEntry, missing,
};
use crate::error::{AllocError, DisjointError, FullError};
use crate::key::Key;
use crate::raw::memory;

#[cfg(doc)]
use super::{CheckpointSlab, KeySlab, SlabGroup};

/// A slab, or a secondary slab, with the log of its changes: what a [`SlabGroup`] lends.
///
/// [`LoggedSlab`] and [`LoggedSecondary`](super::LoggedSecondary) are its two forms, whose pages have
/// the methods of each that change values, and the index operators; those that only read are those of
/// the slab itself, through [`Deref`].
///
/// The type has no size (`X` is always `[()]`), like `str`: it exists only behind a reference. So
/// no slab of a group can be replaced, or swapped with another one, without its checkpoints.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::key_slab::{LoggedSlab, SlabGroup};
///
/// fn step(numbers: &mut LoggedSlab<u64>) {
///     numbers.values_mut().for_each(|number| *number += 1);
/// }
///
/// let mut group = SlabGroup::from((KeySlab::new(), KeySlab::new()));
/// let (one, two) = group.parts_mut();
/// let key = one.insert(7);
/// step(one);
/// step(two);
/// assert_eq!((one[key], two.len()), (8, 0));
/// ```
pub struct Logged<C: Undo, X: ?Sized = [()]> {
    pub(super) slab: C,
    pub(super) log: UndoLog<C::Value>,
    _without_a_size: X,
}

/// A slab of `Clone` values whose changes are [logged](Logged): of a [`SlabGroup`], or of a
/// [`CheckpointSlab`].
pub type LoggedSlab<T, K = Key, S = Growable> = Logged<PlainSlab<T, K, S>>;

/// The reason why a value was not changed. Nothing has changed.
///
/// # Examples
///
/// ```
/// use flatslab::Key;
/// use flatslab::key_slab::{ChangeError, CheckpointSlab};
///
/// let mut slab = CheckpointSlab::<u64>::new();
/// assert_eq!(slab.try_get_mut(Key::NONE), Err(ChangeError::Missing));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// There is no value with this key.
    Missing,
    /// Memory for the log was refused.
    NoMemory(AllocError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Missing => f.write_str("no value has this key"),
            ChangeError::NoMemory(error) => error.fmt(f),
        }
    }
}

impl Error for ChangeError {}

impl From<AllocError> for ChangeError {
    fn from(error: AllocError) -> Self {
        ChangeError::NoMemory(error)
    }
}

/// # Panics
///
/// Aborts if memory was refused.
#[track_caller]
fn or_fail<R>(result: Result<R, AllocError>) -> R {
    result.unwrap_or_else(|error| memory::fail(error))
}

impl<C: Undo> Logged<C, [(); 0]> {
    pub(super) fn try_new(mut slab: C) -> Result<Self, AllocError> {
        let log = slab.try_new_log()?;
        Ok(Logged {
            slab,
            log,
            _without_a_size: [],
        })
    }

    /// Clones slab and log of `source`, into the present memory of the slab if it suffices. This log
    /// has no mark. If cloning a value panics, the log has none either, or those of `source`.
    #[track_caller]
    pub(super) fn clone_from_logged(&mut self, source: &Self) {
        // For the values that are cloned before one panics (`stamped-slots`).
        let used = source.slab.numbers().used as usize;
        or_fail(self.log.try_add_stamps(used, used));
        self.slab
            .clone_from_for(&source.slab, source.log.most_used());
        self.log = or_fail(source.log.try_clone());
    }
}

/// Clones the slab, its log and its marks.
impl<C: Undo> Clone for Logged<C, [(); 0]> {
    #[track_caller]
    fn clone(&self) -> Self {
        Logged {
            slab: self.slab.clone_for(self.log.most_used()),
            log: or_fail(self.log.try_clone()),
            _without_a_size: [],
        }
    }
}

impl<C: Undo + PartialEq> PartialEq for Logged<C, [(); 0]> {
    fn eq(&self, other: &Self) -> bool {
        self.slab == other.slab
    }
}

impl<C: Undo + Eq> Eq for Logged<C, [(); 0]> {}

impl<T: Clone, K: SlabKey> Logged<PlainSlab<T, K, Growable>, [(); 0]> {
    pub(super) const fn empty() -> Self {
        Logged {
            slab: PlainSlab::with_key(),
            log: UndoLog::new(),
            _without_a_size: [],
        }
    }
}

impl<C: Undo> Logged<C> {
    /// Reserves memory in the log for at least `changes` more changes, which then do not allocate
    /// for it; never panics or aborts.
    ///
    /// Call it before the first frame, with the number of checkpoints that are kept times the
    /// number of slots that change between two of them. Insertions into new slots also need stamps,
    /// for which `reserve` makes room.
    ///
    /// # Complexity
    ///
    /// O(changes in the log) if the log grows, otherwise O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes would exceed `isize::MAX`, or if the allocator refuses; no
    /// value has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.try_reserve_changes(8 * 1000)?;
    /// assert!(slab.try_reserve_changes(usize::MAX).is_err());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_reserve_changes(&mut self, changes: usize) -> Result<(), AllocError> {
        self.log.try_reserve_changes(changes, changes)
    }
}

impl<C: Undo> Deref for Logged<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.slab
    }
}

impl<T: Clone, K: SlabKey> LoggedSlab<T, K> {
    /// Inserts a value into a free slot, and returns its key.
    ///
    /// # Complexity
    ///
    /// Amortised O(1), as for a [`KeySlab`]; the log may grow too.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::insert`](PlainSlab::insert) does, or if memory for the log
    /// is refused. [`try_insert`](Self::try_insert) returns the value instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let checkpoint = slab.checkpoint();
    /// let key = slab.insert(7);
    /// slab.rewind(checkpoint);
    /// assert!(!slab.contains(key));
    /// assert_eq!(slab.insert(8), key);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("insert_key", "emplace", "push", "alloc"))]
    pub fn insert(&mut self, value: T) -> K {
        if let Err(error) = self.try_log_next() {
            memory::fail(error);
        }
        self.slab.insert(value)
    }

    /// Inserts the value that `value` makes of its key, and returns the key. If `value` panics,
    /// nothing is inserted.
    ///
    /// # Complexity
    ///
    /// That of [`insert`](Self::insert).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does.
    /// [`try_insert_with_key`](Self::try_insert_with_key) returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert_with_key(|key| key);
    /// assert_eq!(slab[key], key);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> K {
        or_fail(self.try_insert_with_key(value))
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its own
    /// key.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does, where
    /// [`try_vacant_entry`](Self::try_vacant_entry) returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::<Key>::new();
    /// let entry = slab.vacant_entry();
    /// let key = entry.key();
    /// assert_eq!(*entry.insert(key), key);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vacant_entry(&mut self) -> VacantEntry<'_, T, K, Growable> {
        match self.try_vacant_entry() {
            Ok(entry) => entry,
            Err(error) => memory::fail(error),
        }
    }
}

impl<T: Clone, K: SlabKey, S: Storage> LoggedSlab<T, K, S> {
    /// Logs the slot that the next insertion fills, if it will be: a full slab that cannot grow
    /// refuses by itself.
    #[inline(always)]
    fn try_log_next(&mut self) -> Result<(), AllocError> {
        let slab = &self.slab;
        match slab.cells.top() {
            Some(index) if self.log.is_logged(index) => Ok(()),
            Some(index) => {
                // SAFETY: by `vacant-stack` a vacant cell.
                let version = unsafe { slab.place(index).as_ref().version() };
                self.log.try_log(index, version, None)
            }
            None if S::CAPACITY.is_fixed() && slab.used == slab.capacity() => Ok(()),
            None => self.log.try_stamp_fresh(slab.used, slab.used + 1),
        }
    }

    /// Reserves memory for at least `additional` more values, for their stamps, and in the log for
    /// those of them that will be in slots that are free now.
    ///
    /// The next `additional` insertions then allocate nothing, if no checkpoint is taken and
    /// nothing else is changed before them. [`try_reserve_changes`](Logged::try_reserve_changes)
    /// reserves for more.
    ///
    /// # Complexity
    ///
    /// O(used slots) if the slab grows, otherwise O(1).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`KeySlab::reserve`](PlainSlab::reserve) does, and if a slab that
    /// cannot grow has fewer free slots.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// slab.reserve(10_000);
    /// assert!(slab.free_slots() >= 10_000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for at least `additional` more values, like [`reserve`](Self::reserve);
    /// never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`reserve`](Self::reserve) panics, or if the allocator refuses; no
    /// value has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// assert!(slab.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if !S::CAPACITY.is_fixed() {
            self.slab.try_reserve_slots(additional)?;
        } else if self.slab.free_slots() < additional {
            let capacity = self.slab.capacity();
            return Err(AllocError::Full { capacity });
        }
        self.log.try_reserve_stamps(self.slab.capacity())?;
        let reused = additional.min(self.slab.cells.len());
        self.log.try_reserve_each(reused, 0)
    }

    /// Inserts a value into a free slot, and returns its key. Never panics or aborts.
    ///
    /// # Complexity
    ///
    /// Amortised O(1), as for a [`KeySlab`]; the log may grow too.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::from(BoundedKeySlab::with_capacity(1));
    /// let key = slab.try_insert(7).unwrap();
    /// assert_eq!(slab.try_insert(8).unwrap_err().into_inner(), 8);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[doc(alias("try_insert_key", "try_alloc"))]
    pub fn try_insert(&mut self, value: T) -> Result<K, FullError<T>> {
        match self.try_log_next() {
            Ok(()) => self.slab.try_insert(value),
            Err(_) => Err(FullError(value)),
        }
    }

    /// Inserts a value like [`try_insert`](Self::try_insert), and borrows it: for a caller that
    /// changes the value once it has its key.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::<u64>::new();
    /// let (key, value) = slab.try_insert_ref(7).unwrap();
    /// *value += 1;
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn try_insert_ref(&mut self, value: T) -> Result<(K, &mut T), FullError<T>> {
        match self.try_log_next() {
            Ok(()) => self.slab.try_insert_ref(value),
            Err(_) => Err(FullError(value)),
        }
    }

    /// Inserts the value that `value` makes of its key, and returns the key; never panics or aborts
    /// by itself. If `value` panics, nothing is inserted.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused; `value` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.try_insert_with_key(|key| key)?;
    /// assert_eq!(slab[key], key);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[inline]
    pub fn try_insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> Result<K, AllocError> {
        let entry = self.try_vacant_entry()?;
        let key = entry.key();
        entry.insert(value(key));
        Ok(key)
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its
    /// own key. Never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow, or if memory for the log is
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, key_slab::CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::<Key>::new();
    /// let entry = slab.try_vacant_entry()?;
    /// let key = entry.key();
    /// assert_eq!(*entry.insert(key), key);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[inline]
    pub fn try_vacant_entry(&mut self) -> Result<VacantEntry<'_, T, K, S>, AllocError> {
        self.try_log_next()?;
        self.slab.try_vacant_entry()
    }

    /// Removes the value with this key, returns it, and frees its slot.
    ///
    /// # Complexity
    ///
    /// O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key, where [`try_remove`](Self::try_remove) returns an
    /// error. Aborts if memory for the log is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.remove(key), 7);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("free", "erase", "remove_by_key", "release", "pop"))]
    pub fn remove(&mut self, key: K) -> T {
        let (index, version) = (key.index(), key.version());
        let Some(value) = self.slab.find(index, version) else {
            missing(key)
        };
        self.log.log(index, version | 1, Some(value));
        // SAFETY: `find` says that the cell is occupied, and has this version. Not by `try_remove`:
        // as a part of a `Result` the value would be copied once more.
        unsafe { self.slab.vacate(index, version) }
    }

    /// Removes the value with this key, returns it, and frees its slot. Never panics or aborts.
    ///
    /// # Complexity
    ///
    /// O(1), unless the log grows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or if memory for the log is refused;
    /// nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::{ChangeError, CheckpointSlab};
    ///
    /// let mut slab = CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_remove(key), Ok(7));
    /// assert_eq!(slab.try_remove(key), Err(ChangeError::Missing));
    /// ```
    #[inline]
    #[doc(alias("try_remove_by_key", "take"))]
    pub fn try_remove(&mut self, key: K) -> Result<T, ChangeError> {
        let (index, version) = (key.index(), key.version());
        let value = self.slab.find(index, version).ok_or(ChangeError::Missing)?;
        self.log.try_log(index, version | 1, Some(value))?;
        // SAFETY: `find` says that the cell is occupied, and has this version.
        Ok(unsafe { self.slab.vacate(index, version) })
    }

    /// Borrows the value with this key mutably, and logs its present state. Returns `None` if there
    /// is no value, like [`get`](PlainSlab::get).
    ///
    /// The value is logged even if it is not changed afterwards. To read it, use
    /// [`get`](PlainSlab::get).
    ///
    /// # Complexity
    ///
    /// O(1), unless the log grows.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_get_mut`](Self::try_get_mut) returns an
    /// error. It does not request any after [`try_reserve_changes`](Logged::try_reserve_changes).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// if let Some(value) = slab.get_mut(key) {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        match self.try_get_mut(key) {
            Ok(value) => Some(value),
            Err(ChangeError::Missing) => None,
            Err(ChangeError::NoMemory(error)) => memory::fail(error),
        }
    }

    /// Borrows the value with this key mutably, and logs its present state, like
    /// [`get_mut`](Self::get_mut); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or if memory for the log is refused;
    /// nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// *slab.try_get_mut(key)? += 1;
    /// assert_eq!(slab[key], 8);
    /// # Ok::<(), flatslab::key_slab::ChangeError>(())
    /// ```
    #[inline]
    pub fn try_get_mut(&mut self, key: K) -> Result<&mut T, ChangeError> {
        let (index, version) = (key.index(), key.version());
        let found = self.slab.find_mut(index, version);
        let value = found.ok_or(ChangeError::Missing)?;
        self.log.try_log(index, version | 1, Some(&*value))?;
        Ok(value)
    }

    /// Borrows several values mutably at once, and logs the present state of each.
    ///
    /// # Complexity
    ///
    /// O(`N`²), unless the log grows.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with one of the keys, or if two keys refer to the same
    /// value. Nothing is logged then.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused. It does not request any after
    /// [`try_reserve_changes`](Logged::try_reserve_changes).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let (a, b) = (slab.insert(1), slab.insert(2));
    /// let checkpoint = slab.checkpoint();
    /// let [one, two] = slab.get_disjoint_mut([a, b]).unwrap();
    /// core::mem::swap(one, two);
    /// assert_eq!((slab[a], slab[b]), (2, 1));
    /// slab.rewind(checkpoint);
    /// assert_eq!((slab[a], slab[b]), (1, 2));
    /// ```
    #[track_caller]
    #[doc(alias("get2_mut", "get_many_mut"))]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let places = self.slab.disjoint(keys)?;
        for (index, version) in places {
            self.log.log(index, version | 1, self.slab.value_at(index));
        }
        // SAFETY: `disjoint` returned the places, and nothing was removed since.
        Ok(unsafe { self.slab.values_of(places) })
    }

    /// Returns an iterator over mutable references to the values, with their keys, in the order of
    /// the slots. It logs each value that it yields.
    ///
    /// A loop over it that changes few of the values logs all of them: iterate over the slab, and
    /// borrow the few with [`get_mut`](Self::get_mut).
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration, and a copy of each value. The log may
    /// grow.
    ///
    /// # Panics
    ///
    /// The iterator aborts if memory for the log is refused, where
    /// [`try_iter_mut`](Self::try_iter_mut) returns an error.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// slab.insert(7);
    /// slab.insert(8);
    /// slab.checkpoint();
    /// for (_key, value) in slab.iter_mut().take(1) {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab.logged_changes(), 1);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> CheckpointIterMut<'_, T, K> {
        CheckpointIterMut::new(&mut self.slab, &mut self.log)
    }

    /// Returns an iterator over mutable references to the values, with their keys, like
    /// [`iter_mut`](Self::iter_mut), which never panics or aborts: memory to log all values is
    /// reserved first.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; no value has changed then.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// slab.try_iter_mut()?.for_each(|(_key, value)| *value += 1);
    /// assert_eq!(slab[key], 8);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_iter_mut(&mut self) -> Result<CheckpointIterMut<'_, T, K>, AllocError> {
        self.log
            .try_reserve_each(self.slab.len(), self.slab.len())?;
        Ok(self.iter_mut())
    }

    /// Returns an iterator over mutable references to the values, in the order of the slots. It
    /// logs each value that it yields, like [`iter_mut`](Self::iter_mut), and takes as long.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// slab.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    pub fn values_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = &mut T> + ExactSizeIterator + FusedIterator {
        self.iter_mut().map(|(_key, value)| value)
    }

    /// Returns an iterator over the values that have an entry, each with its key and its entry, in the
    /// order of the slots. The references to the values are mutable, and these values are logged.
    ///
    /// [`SecondarySlab::join`](super::SecondarySlab::join) and
    /// [`join_entries_mut`](super::SecondarySlab::join_entries_mut) only read the values, and take
    /// this slab too.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value) for the whole iteration, and a clone of each value that has an
    /// entry. The log may grow.
    ///
    /// # Panics
    ///
    /// The iterator aborts if memory for the log is refused. It does not request any after
    /// [`try_reserve_changes`](Logged::try_reserve_changes).
    ///
    /// ```
    /// use flatslab::GenKey;
    /// use flatslab::key_slab::{CheckpointSlab, SecondarySlab};
    ///
    /// let mut places: CheckpointSlab<i32, GenKey> = CheckpointSlab::with_key();
    /// let mut speeds = SecondarySlab::new();
    /// let ship = places.insert(0);
    /// speeds.insert(&places, ship, 3);
    /// for (_key, place, speed) in places.join_values_mut(&speeds) {
    ///     *place += *speed;
    /// }
    /// assert_eq!(places[ship], 3);
    /// ```
    pub fn join_values_mut<'a, V>(
        &'a mut self,
        entries: &'a SecondarySlab<V, K>,
    ) -> impl FusedIterator<Item = (K, &'a mut T, &'a V)>
    where
        K: GenerationKey,
    {
        let mut values = self.iter_mut();
        core::iter::from_fn(move || values.next_joined(&entries.slab)).fuse()
    }

    /// Removes the values for which `keep` returns `false`, in the order of their slots.
    ///
    /// Unlike in [`retain`](PlainSlab::retain) of a [`KeySlab`], `keep` gets shared references, so
    /// only the removed values are logged. If `keep` panics, the values that were not visited yet
    /// stay.
    ///
    /// # Complexity
    ///
    /// O(slots up to the last value), and a copy of each removed value. The log may grow.
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_retain`](Self::try_retain) returns an
    /// error.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let (one, two) = (slab.insert(1), slab.insert(2));
    /// slab.retain(|_key, value| *value > 1);
    /// assert!(!slab.contains(one) && slab.contains(two));
    /// ```
    #[track_caller]
    pub fn retain<F>(&mut self, mut keep: F)
    where
        F: FnMut(K, &T) -> bool,
    {
        let mut walk = Walk::new(&self.slab);
        while let Some((index, version, cell)) = walk.next_cell() {
            // SAFETY: an occupied cell of this slab (`walk-left`); `keep` cannot reach the slab.
            let value = unsafe { cell.as_ref().value() };
            if !keep(K::new(index, version | 1, Inside), value) {
                self.log.log(index, version | 1, Some(value));
                // SAFETY: the cell that was visited, in its slot, is still occupied.
                unsafe { self.slab.vacate(index, version) };
            }
        }
    }

    /// Removes the values for which `keep` returns `false`, like [`retain`](Self::retain); never
    /// aborts: memory to log all values is reserved first.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; `keep` was not called then.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let (one, two) = (slab.insert(1), slab.insert(2));
    /// slab.try_retain(|_key, value| *value > 1)?;
    /// assert!(!slab.contains(one) && slab.contains(two));
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_retain<F>(&mut self, keep: F) -> Result<(), AllocError>
    where
        F: FnMut(K, &T) -> bool,
    {
        self.log
            .try_reserve_each(self.slab.len(), self.slab.len())?;
        self.retain(keep);
        Ok(())
    }

    /// Removes all values, and keeps all memory. The next keys are those of a
    /// [cleared](PlainSlab::clear) [`KeySlab`].
    ///
    /// # Complexity
    ///
    /// O(used slots): each slot that was not logged since the last checkpoint is logged, with its
    /// value if it has one. The log may grow. Without a checkpoint nothing is logged, and the call
    /// takes as long as [`KeySlab::clear`](PlainSlab::clear).
    ///
    /// # Panics
    ///
    /// Aborts if memory for the log is refused, where [`try_clear`](Self::try_clear) returns an
    /// error.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// let key = slab.insert(7);
    /// let checkpoint = slab.checkpoint();
    /// slab.clear();
    /// slab.rewind(checkpoint);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[track_caller]
    pub fn clear(&mut self) {
        let (slab, log) = (&self.slab, &mut self.log);
        if log.marks() > 0 {
            // As insertions would pop them.
            for &index in slab.cells.free().iter().rev() {
                let index = index as usize;
                log.log(index, slab.existing()[index].version(), None);
            }
            for (index, cell) in slab.existing().iter().enumerate() {
                if let Some(value) = cell.get() {
                    log.log(index, cell.version() | 1, Some(value));
                }
            }
        }
        self.slab.clear();
    }

    /// Removes all values, like [`clear`](Self::clear); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if memory for the log is refused; nothing has changed then.
    ///
    /// ```
    /// let mut slab = flatslab::key_slab::CheckpointSlab::new();
    /// slab.insert(7);
    /// slab.try_clear()?;
    /// assert!(slab.is_empty());
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_clear(&mut self) -> Result<(), AllocError> {
        let (used, values) = (self.slab.used, self.slab.len());
        self.log.try_reserve_each(used, values)?;
        self.clear();
        Ok(())
    }
}

/// An iterator over mutable references to the values of a slab, with their keys, which logs each
/// value that it yields. Created by [`iter_mut`](LoggedSlab::iter_mut).
///
/// ```
/// let mut slab = flatslab::key_slab::CheckpointSlab::new();
/// let key = slab.insert(3);
/// slab.iter_mut().for_each(|(_key, value)| *value += 1);
/// assert_eq!(slab[key], 4);
/// ```
#[must_use = "iterators do nothing unless consumed"]
pub struct CheckpointIterMut<'a, T, K: SlabKey = Key> {
    /// Over a slab that is borrowed mutably for `'a`.
    walk: Walk<T, K>,
    log: &'a mut UndoLog<T>,
    keys: PhantomData<&'a InKeys<K>>,
}

impl<'a, T: Clone, K: SlabKey> CheckpointIterMut<'a, T, K> {
    #[inline]
    pub(super) fn new<S: Storage>(
        slab: &'a mut PlainSlab<T, K, S>,
        log: &'a mut UndoLog<T>,
    ) -> Self {
        CheckpointIterMut {
            walk: Walk::new(slab),
            log,
            keys: PhantomData,
        }
    }

    /// Returns the next value that has one with the same key in `others`. Logs only this one.
    pub(super) fn next_joined<'o, V, S: Storage>(
        &mut self,
        others: &'o PlainSlab<V, K, S>,
    ) -> Option<(K, &'a mut T, &'o V)> {
        loop {
            let visited = self.walk.next_cell()?;
            if let Some(other) = others.find(visited.0, visited.1) {
                let (key, value) = self.log_visited(visited);
                return Some((key, value, other));
            }
        }
    }

    /// Logs a value that the walk visits, and returns it.
    #[inline(always)]
    fn log_visited(&mut self, (index, version, cell): Visited<T, K>) -> (K, &'a mut T) {
        // SAFETY: occupied (`walk-left`), visited once, and borrowed as long as the slab is.
        let value = unsafe { (&mut *cell.as_ptr()).value_mut() };
        self.log.log(index, version | 1, Some(&*value));
        (K::new(index, version | 1, Inside), value)
    }
}

// SAFETY: it is the one borrow of the slab and of its log, and hands each value out once.
unsafe impl<T: Clone + Send, K: SlabKey> Send for CheckpointIterMut<'_, T, K> {}
// SAFETY: a shared reference to it gives access to no value.
unsafe impl<T: Clone + Sync, K: SlabKey> Sync for CheckpointIterMut<'_, T, K> {}

impl<'a, T: Clone, K: SlabKey> Iterator for CheckpointIterMut<'a, T, K> {
    type Item = (K, &'a mut T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let visited = self.walk.next_cell()?;
        Some(self.log_visited(visited))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.walk.len(), Some(self.walk.len()))
    }
}

impl<T: Clone, K: SlabKey> DoubleEndedIterator for CheckpointIterMut<'_, T, K> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let visited = self.walk.next_cell_back()?;
        Some(self.log_visited(visited))
    }
}

impl<T: Clone, K: SlabKey> ExactSizeIterator for CheckpointIterMut<'_, T, K> {}
impl<T: Clone, K: SlabKey> FusedIterator for CheckpointIterMut<'_, T, K> {}

/// Prints the number of remaining items.
impl<T: Clone, K: SlabKey> fmt::Debug for CheckpointIterMut<'_, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointIterMut")
            .field("left", &self.len())
            .finish_non_exhaustive()
    }
}

/// Borrows the value with this key.
///
/// # Panics
///
/// Panics if there is no value with this key.
impl<T: Clone, K: SlabKey, S: Storage> Index<K> for LoggedSlab<T, K, S> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        &self.slab[key]
    }
}

/// Borrows the value with this key mutably, and logs its present state, like
/// [`get_mut`](LoggedSlab::get_mut).
///
/// # Panics
///
/// Panics if there is no value with this key. Aborts if memory for the log is refused.
impl<T: Clone, K: SlabKey, S: Storage> IndexMut<K> for LoggedSlab<T, K, S> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

/// Prints a map from keys to values.
impl<C: Undo + fmt::Debug> fmt::Debug for Logged<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slab.fmt(f)
    }
}

impl<'a, T: Clone, K: SlabKey, S: Storage> IntoIterator for &'a LoggedSlab<T, K, S> {
    type Item = (K, &'a T);
    type IntoIter = Iter<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.slab.iter()
    }
}

/// Logs each value that the iterator yields, like [`iter_mut`](LoggedSlab::iter_mut).
impl<'a, T: Clone, K: SlabKey, S: Storage> IntoIterator for &'a mut LoggedSlab<T, K, S> {
    type Item = (K, &'a mut T);
    type IntoIter = CheckpointIterMut<'a, T, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<T: Clone, K: SlabKey, S: Storage, X: ?Sized> Logged<PlainSlab<T, K, S>, X> {
    /// Panics if an invariant of the slab or of its log does not hold.
    pub(super) fn check(&self) {
        self.slab.check();
        self.log.check(self.slab.used);
        self.log.check_free(self.slab.cells.free());
    }
}
