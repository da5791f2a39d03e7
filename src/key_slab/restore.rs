//! Insertion under given keys: the keys of another slab, or keys that values had before.

use core::error::Error;
use core::fmt;

#[cfg(feature = "alloc")]
use super::Growable;
use super::cell::{Cell, is_detached};
use super::key::SlabKey;
use super::{PlainSlab, Storage};
use crate::error::AllocError;
use crate::key::MAX_SLOTS;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Inserts a value under a key of your choice.
    ///
    /// A growable slab allocates all slots up to the key; the new slots below it are free
    /// afterwards. To insert many values in any order use [`try_extend`](Self::try_extend) or
    /// `collect`, which walk over the free slots once. A key from outside the program costs the
    /// memory of all slots below it: check its index first.
    ///
    /// # Complexity
    ///
    /// O(1) if the slot is the next free one, or the first one after all used slots, as in a slab
    /// that repeats the insertions of another. Otherwise O(slots that are free before it), and
    /// O(free slots + new slots) if there are new slots below the key.
    ///
    /// # Errors
    ///
    /// Returns the value if
    ///
    /// - there is a value with this key,
    /// - the slot has had a value of the key's generation or of a later one,
    /// - the slot is kept for a [detached](Self::detach) value, or
    /// - the key is past the limit of slots, or the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, KeySlab};
    ///
    /// let mut slab = KeySlab::new();
    /// slab.insert_at(Key::from_raw(2), "two").unwrap();
    /// assert_eq!(slab.insert("zero").index(), 0);
    /// let error = slab.insert_at(Key::from_raw(2), "again").unwrap_err();
    /// assert_eq!(error.to_string(), "slot of this key has a value");
    /// assert_eq!(error.into_inner(), "again");
    /// ```
    #[doc(alias = "insert_with_key")]
    pub fn insert_at(&mut self, key: K, value: T) -> Result<(), InsertAtError<T>> {
        let (index, version) = (key.index(), key.version());
        match self.reach(index, version) {
            Ok(()) => {
                // SAFETY: `reach` says that the slot admits a value of the version.
                unsafe { self.put_at(index, version, value) };
                Ok(())
            }
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Inserts a value into a slot that [`reach`](Self::reach) was asked for.
    ///
    /// # Safety
    ///
    /// It said that the slot admits a value of this version, and the slab has not changed since.
    pub(super) unsafe fn put_at(&mut self, index: usize, version: u32, value: T) {
        let first = self.used;
        if index < first {
            self.cells.remove(index);
        } else {
            self.create_up_to(index + 1);
            // SAFETY: by `vacant-stack` there is room; they are vacant, and new.
            unsafe { self.cells.push_below(first..index) };
        }
        // SAFETY: vacant, not on the stack, and of an earlier version (precondition).
        unsafe { K::Cell::fill(self.place(index), version | 1, value) };
    }

    /// Inserts values under keys of your choice, like `extend`, but returns an error where `extend`
    /// panics.
    ///
    /// A value replaces one with the same key, or one of an earlier generation. Afterwards slots
    /// that were free before are reused first, in their previous order. New slots below the given
    /// keys follow, in descending order; or in ascending order, if one of them was filled after a
    /// slot above it, as in a slab that the `slab` crate collects. The free slots and used
    /// generations of the slab from which the keys come are not known here; a snapshot contains
    /// them (feature `serde`).
    ///
    /// # Complexity
    ///
    /// O(values + free slots + new slots).
    ///
    /// # Errors
    ///
    /// Returns the first value that cannot be inserted. The values before it are inserted.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, KeySlab};
    ///
    /// let mut slab = KeySlab::new();
    /// let key = Key::from_raw(7);
    /// slab.try_extend([(key, "first"), (key, "later")]).unwrap();
    /// assert_eq!(slab[key], "later");
    /// assert!(slab.try_extend([(Key::NONE, "nowhere")]).is_err());
    /// ```
    pub fn try_extend<I>(&mut self, values: I) -> Result<(), InsertAtError<T>>
    where
        I: IntoIterator<Item = (K, T)>,
    {
        let mut filling = Filling::new(self);
        let mut values = values.into_iter();
        // The iterator is dropped before the error is returned: if its destructor
        // panics, the value in the error is dropped too.
        let put = values
            .try_for_each(|(key, value)| filling.put(key.index(), key.version(), value).map(drop));
        drop(values);
        put
    }

    /// Allocates memory up to this slot, if it takes a value of this version.
    pub(super) fn reach(&mut self, index: usize, version: u32) -> Result<(), Refusal> {
        let limit = if S::CAPACITY.is_fixed() {
            self.capacity()
        } else {
            MAX_SLOTS
        };
        let out_of_range = Refusal::OutOfRange {
            value: (),
            index,
            limit,
        };
        if index >= limit {
            return Err(out_of_range);
        }
        self.admits(index, version)?;
        if S::CAPACITY.is_fixed() {
            return Ok(());
        }
        #[cfg(feature = "alloc")]
        if let Err(error) = self.try_reach(index) {
            self.tally.note_refusal();
            return Err(Refusal::NoMemory((), error));
        }
        Ok(())
    }

    /// Returns an error if the slot takes no value of this version.
    fn admits(&self, index: usize, version: u32) -> Result<(), Refusal> {
        let mut past = self.floor;
        if let Some(cell) = self.existing().get(index) {
            if cell.is_occupied() {
                return Err(Refusal::Taken(()));
            }
            past = cell.version();
            if is_detached(past) {
                return Err(Refusal::Detached(()));
            }
        }
        if K::Cell::<T>::VERSIONED && version <= past {
            Err(Refusal::Outdated(()))
        } else {
            Ok(())
        }
    }
}

/// Inserts values under their keys. A value replaces one with the same key, or one of an earlier
/// generation. O(values + free slots + new slots).
///
/// # Panics
///
/// Panics where [`try_extend`](PlainSlab::try_extend) returns an error; the values before are
/// inserted.
impl<T, K: SlabKey, S: Storage> Extend<(K, T)> for PlainSlab<T, K, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, T)>>(&mut self, values: I) {
        or_panic(self.try_extend(values));
    }
}

/// # Panics
///
/// Panics if `extend` was refused.
#[track_caller]
pub(super) fn or_panic<T>(extended: Result<(), InsertAtError<T>>) {
    match extended {
        Ok(()) => {}
        Err(InsertAtError::NoMemory(_, cause)) => panic!("extend was refused: {cause}"),
        Err(error) => panic!("extend was refused: {error}"),
    }
}

/// Creates a slab with these values under these keys, like [`Extend`].
#[cfg(feature = "alloc")]
impl<T, K: SlabKey> FromIterator<(K, T)> for PlainSlab<T, K, Growable> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, T)>>(values: I) -> Self {
        let mut slab = Self::with_key();
        slab.extend(values);
        slab
    }
}

/// Inserts many values, and updates the stack once, at the end.
///
/// Until then the stack may contain occupied slots, and lacks the new vacant slots
/// (`vacant-stack`): nothing is inserted or removed in another way, and user code does not reach
/// the slab.
pub(super) struct Filling<'a, T, K: SlabKey, S: Storage> {
    pub(super) slab: &'a mut PlainSlab<T, K, S>,
    /// The first slot that did not exist before.
    first: usize,
    /// Whether a slot was filled that was free before.
    has_filled_free: bool,
    /// Whether a new slot was filled after a slot above it.
    has_filled_hole: bool,
}

impl<'a, T, K: SlabKey, S: Storage> Filling<'a, T, K, S> {
    pub(super) fn new(slab: &'a mut PlainSlab<T, K, S>) -> Self {
        Filling {
            first: slab.used,
            slab,
            has_filled_free: false,
            has_filled_hole: false,
        }
    }

    /// Inserts a value into a slot, and returns the value that it replaces, one of the same or an
    /// earlier generation.
    pub(super) fn put(
        &mut self,
        index: usize,
        version: u32,
        value: T,
    ) -> Result<Option<T>, InsertAtError<T>> {
        let existed = index < self.slab.used;
        match self.slab.reach(index, version) {
            Ok(()) => {
                self.slab.create_up_to(index + 1);
                self.has_filled_free |= index < self.first;
                self.has_filled_hole |= existed && index >= self.first;
                // SAFETY: the cell exists, is vacant and admits the version.
                unsafe { K::Cell::fill(self.slab.place(index), version | 1, value) };
                Ok(None)
            }
            // SAFETY: the cell exists, and is vacant when it is filled.
            Err(Refusal::Taken(())) => unsafe {
                let cell = self.slab.place(index);
                let present = cell.as_ref().version();
                if version < present {
                    return Err(InsertAtError::Outdated(value));
                }
                let old = K::Cell::vacate(cell, present + 1);
                K::Cell::fill(cell, version | 1, value);
                Ok(Some(old))
            },
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Pushes the new slots without a value below all slots that were free before, in descending
    /// order, or in ascending order if one of them was filled after a slot above it, as in the
    /// `slab` crate.
    fn settle(&mut self) {
        let slab = &mut *self.slab;
        // SAFETY: the place of the first cell, if there is one.
        let cells = unsafe { slab.place(0) };
        // SAFETY: by `used-cells` the cells exist whose indices it is asked for below.
        let is_vacant = |index: usize| unsafe { !cells.add(index).as_ref().is_occupied() };
        if self.has_filled_free {
            slab.cells.retain(is_vacant);
        }
        let new = (self.first..slab.used).filter(|index| is_vacant(*index));
        // SAFETY: each vacant slot is on the stack once, so there is room (`vacant-stack`).
        unsafe {
            if self.has_filled_hole {
                slab.cells.push_below(new);
            } else {
                slab.cells.push_below(new.rev());
            }
        }
    }
}

impl<T, K: SlabKey, S: Storage> Drop for Filling<'_, T, K, S> {
    fn drop(&mut self) {
        self.settle();
    }
}

/// The reason why a value was not inserted under its key. Contains the value.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedKeySlab, Key};
/// use flatslab::key_slab::InsertAtError;
///
/// let mut slab = BoundedKeySlab::with_capacity(1);
/// let error = slab.insert_at(Key::from_raw(3), 7).unwrap_err();
/// assert_eq!(error, InsertAtError::OutOfRange { value: 7, index: 3, limit: 1 });
/// assert_eq!(error.into_inner(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertAtError<T> {
    /// There is already a value with this key.
    Taken(T),
    /// The slot is past the key's generation: it has had a value of this generation or of a later
    /// one, or `shrink_to_fit` freed it together with a slot that has had such a value.
    Outdated(T),
    /// The slot is kept for a [detached](PlainSlab::detach) value.
    Detached(T),
    /// The given slab has no value with this key.
    Missing(T),
    /// No value was [detached](PlainSlab::detach) from the key.
    NotDetached(T),
    /// The key's slot is past the last slot that the slab can have.
    OutOfRange {
        /// The value that was not inserted.
        value: T,
        /// The index of the key's slot.
        index: usize,
        /// The largest number of slots that the slab can have.
        limit: usize,
    },
    /// The slab could not grow.
    NoMemory(T, AllocError),
}

/// The reason of an [`InsertAtError`], without the value.
pub(super) type Refusal = InsertAtError<()>;

impl Refusal {
    pub(super) fn with<T>(self, value: T) -> InsertAtError<T> {
        match self {
            InsertAtError::Taken(()) => InsertAtError::Taken(value),
            InsertAtError::Outdated(()) => InsertAtError::Outdated(value),
            InsertAtError::Detached(()) => InsertAtError::Detached(value),
            InsertAtError::Missing(()) => InsertAtError::Missing(value),
            InsertAtError::NotDetached(()) => InsertAtError::NotDetached(value),
            InsertAtError::OutOfRange { index, limit, .. } => InsertAtError::OutOfRange {
                value,
                index,
                limit,
            },
            InsertAtError::NoMemory((), error) => InsertAtError::NoMemory(value, error),
        }
    }
}

impl<T> InsertAtError<T> {
    /// Returns the value that was not inserted.
    ///
    /// ```
    /// # use flatslab::{BoundedKeySlab, Key};
    /// let mut slab = BoundedKeySlab::with_capacity(0);
    /// assert_eq!(slab.insert_at(Key::from_raw(3), 7).unwrap_err().into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            InsertAtError::Taken(value)
            | InsertAtError::Outdated(value)
            | InsertAtError::Detached(value)
            | InsertAtError::Missing(value)
            | InsertAtError::NotDetached(value)
            | InsertAtError::OutOfRange { value, .. }
            | InsertAtError::NoMemory(value, _) => value,
        }
    }
}

/// Prints the reason, and `..` for the value, so that `unwrap` works for every `T`.
impl<T> fmt::Debug for InsertAtError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertAtError::Taken(_) => f.write_str("Taken(..)"),
            InsertAtError::Outdated(_) => f.write_str("Outdated(..)"),
            InsertAtError::Detached(_) => f.write_str("Detached(..)"),
            InsertAtError::Missing(_) => f.write_str("Missing(..)"),
            InsertAtError::NotDetached(_) => f.write_str("NotDetached(..)"),
            InsertAtError::OutOfRange { index, limit, .. } => f
                .debug_struct("OutOfRange")
                .field("index", index)
                .field("limit", limit)
                .finish_non_exhaustive(),
            InsertAtError::NoMemory(_, error) => write!(f, "NoMemory(.., {error:?})"),
        }
    }
}

impl<T> fmt::Display for InsertAtError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsertAtError::Taken(_) => f.write_str("slot of this key has a value"),
            InsertAtError::Outdated(_) => {
                f.write_str("slot of this key has had its generation or a later one")
            }
            InsertAtError::Detached(_) => {
                f.write_str("slot of this key is reserved for a detached value")
            }
            InsertAtError::Missing(_) => f.write_str("no value has this key"),
            InsertAtError::NotDetached(_) => f.write_str("no value is detached from this key"),
            InsertAtError::OutOfRange { index, limit, .. } => {
                write!(
                    f,
                    "slot index of this key must be less than {limit}, but is {index}"
                )
            }
            InsertAtError::NoMemory(..) => f.write_str("slab cannot grow to the slot of this key"),
        }
    }
}

impl<T> Error for InsertAtError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            InsertAtError::NoMemory(_, error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use crate::key_slab::cells::visits;
    use crate::{GenKey, Key, KeySlab};

    /// A standby does this, which receives the keys of the first slab: it looks at no index on the
    /// stack except the one that it takes.
    #[test]
    fn a_slab_in_step_with_another_one_looks_at_no_other_free_slot() {
        let (mut first, mut second) = (KeySlab::with_key(), KeySlab::<usize, GenKey>::with_key());
        let (all, removed) = if cfg!(miri) { (60, 40) } else { (300, 200) };
        let mut keys: Vec<GenKey> = (0..all).map(|n| first.insert(n)).collect();
        let (_, seen) = visits(|| {
            for (number, &key) in keys.iter().enumerate() {
                second.insert_at(key, number).unwrap();
            }
        });
        assert_eq!(seen, 0, "fresh slots");
        for key in keys.drain(..removed) {
            assert_eq!(first.remove(key), second.remove(key));
        }
        let (_, seen) = visits(|| {
            for number in 0..removed + 50 {
                let key = first.insert(number);
                second.insert_at(key, number).unwrap();
                keys.push(key);
            }
        });
        // The last 50 are fresh.
        assert_eq!((first == second, seen), (true, removed));
        assert_eq!(first.vacant_key(), second.vacant_key());
    }

    #[test]
    fn another_slot_is_looked_for_from_the_next_free_one_on() {
        let mut slab = KeySlab::new();
        let keys: Vec<Key> = (0..100).map(|n| slab.insert(n)).collect();
        for key in &keys {
            slab.remove(*key);
        }
        let (_, seen) = visits(|| slab.insert_at(keys[95], 0).unwrap());
        assert_eq!(seen, 5);
        // The others become free in the order they had.
        assert_eq!(slab.vacant_key(), keys[99]);
        let order = (0..99).map(|n| slab.insert(n).index());
        assert!(order.eq((0..95).chain(96..100).rev()));
        // New slots below come after all that were free.
        slab.remove(keys[7]);
        let (_, seen) = visits(|| slab.insert_at(Key::from_raw(103), 0).unwrap());
        let next = [0; 5].map(|_| slab.insert(0).index());
        assert_eq!((seen, next), (1, [7, 100, 101, 102, 104]));
    }
}
