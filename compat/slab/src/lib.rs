//! The interface of the `slab` crate, version 0.4, on a [`flatslab::KeySlab`].
//!
//! A program uses it instead of that crate by two lines in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! slab = { path = "<flatslab>/compat/slab" }
//! ```
//!
//! Keys, their order, capacities and panics are those of `slab`. What differs:
//!
//! - A slab has fewer than 2^30 slots. A larger key finds no value.
//! - A slot takes 4 bytes for the list of free slots, and an `Option<T>`. A slot of `slab` takes at
//!   least 16 bytes.
//! - A slab declared before the values that its own values refer to does not compile: only `std` may
//!   promise that a destructor does not use them.
//! - [`Slab::key_of`] panics with another message. [`Slab::get2_mut`] returns `None` for keys out of
//!   bounds, as the documentation of `slab` says.
//! - A [`Drain`] that is forgotten leaves the values in the slab.
//! - The capacity may differ after `collect` or deserialising with gaps between the keys, after
//!   `clone_from` into less memory, and after the closure of [`Slab::compact`] panics. `slab`
//!   promises no capacity there.
//! - `clone_from` drops all old values before it clones the new ones; `slab` drops and clones one
//!   after the other. If a clone panics, the slab has the values that were cloned before it.
//!
//! ```
//! use slab::Slab;
//!
//! let mut slab = Slab::new();
//! let (one, two) = (slab.insert("one"), slab.insert("two"));
//! assert_eq!((slab[one], slab.remove(two)), ("one", "two"));
//! ```

#![no_std]

extern crate alloc;

mod iter;
mod memory;
#[cfg(feature = "serde")]
mod serde;

use core::cell::Cell;
use core::{fmt, ops};

use flatslab::{Key, KeySlab};

pub use iter::{Drain, IntoIter, Iter, IterMut};

/// A container of values of one type, whose keys are numbers.
///
/// ```
/// let mut slab = slab::Slab::with_capacity(2);
/// let key = slab.insert(7);
/// slab[key] += 1;
/// assert_eq!(slab.remove(key), 8);
/// ```
pub struct Slab<T> {
    inner: KeySlab<T>,
}

/// The key of a number. One that no slab has a slot for becomes [`Key::NONE`], which opens
/// nothing.
#[inline(always)]
fn key(index: usize) -> Key {
    Key::from_raw(u32::try_from(index).unwrap_or(u32::MAX))
}

impl<T> Slab<T> {
    /// Creates an empty slab, which allocates nothing before the first value.
    #[inline]
    pub const fn new() -> Self {
        Slab {
            inner: KeySlab::new(),
        }
    }

    /// Creates a slab with memory for exactly so many values.
    ///
    /// # Panics
    ///
    /// If they are 2^30 or more, or take more than `isize::MAX` bytes.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        match KeySlab::try_with_capacity(capacity) {
            Ok(inner) => Slab { inner },
            Err(error) => memory::fail(error),
        }
    }

    /// Number of values that there is memory for.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    /// Reserves memory for at least `additional` more values, and for twice as many as before if
    /// it grows.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](Self::with_capacity).
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.inner.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for exactly `additional` more values, unless there is memory for more.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](Self::with_capacity).
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        let missing = additional.saturating_sub(self.inner.free_slots());
        let last = self.capacity().saturating_add(missing).saturating_sub(1);
        if last > 0 && Key::try_from(last).is_err() {
            memory::overflow();
        }
        self.inner.reserve_exact(additional);
    }

    /// Frees the memory after the last value; O(slots used).
    pub fn shrink_to_fit(&mut self) {
        let last = self.inner.keys().next_back();
        let kept = last.map_or(0, |last| last.index() + 1);
        if kept < self.inner.used_slots() {
            // Where slots go, the free ones that stay are in the order of their numbers
            // afterwards, which `shrink_to_fit` would leave as it is.
            self.inner.compact(|_, _, _| false);
        } else {
            self.inner.shrink_to_fit();
        }
    }

    /// Moves values from the last slots into the first free ones, and frees the memory after the
    /// last value; O(slots used).
    ///
    /// `rekey` gets each value, its key, and the key it is about to get. If it returns `false`,
    /// that value and the rest stay. If it panics, that value is dropped.
    pub fn compact<F>(&mut self, mut rekey: F)
    where
        F: FnMut(&mut T, usize, usize) -> bool,
    {
        /// Drops the value at whose move `rekey` panicked.
        struct Moving<'a, T> {
            slab: &'a mut KeySlab<T>,
            key: &'a Cell<Key>,
        }

        impl<T> Drop for Moving<'_, T> {
            fn drop(&mut self) {
                if let Some(_dropped) = self.slab.try_remove(self.key.get()) {
                    self.slab.compact(|_, _, _| false);
                }
            }
        }

        let moved = Cell::new(Key::NONE);
        let moving = Moving {
            slab: &mut self.inner,
            key: &moved,
        };
        moving.slab.compact(|value, from, to| {
            moved.set(from);
            let is_moved = rekey(value, from.index(), to.index());
            moved.set(Key::NONE);
            is_moved
        });
    }

    /// Drops all values. The next keys start from 0.
    pub fn clear(&mut self) {
        self.inner.clear();
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Whether there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The values with their keys, in the order of the keys; O(slots used).
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        Iter {
            inner: self.inner.iter(),
        }
    }

    /// The values with their keys, to be changed, in the order of the keys; O(slots used).
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut {
            inner: self.inner.iter_mut(),
        }
    }

    /// Borrows the value at a key.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.inner.get(key(index))
    }

    /// Borrows the value at a key mutably.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.inner.get_mut(key(index))
    }

    /// Borrows the values at two keys mutably. `None` if one of them opens no value.
    ///
    /// # Panics
    ///
    /// If the keys are the same.
    #[track_caller]
    pub fn get2_mut(&mut self, key1: usize, key2: usize) -> Option<(&mut T, &mut T)> {
        assert!(key1 != key2);
        let keys = [key(key1), key(key2)];
        let [one, two] = self.inner.get_disjoint_mut(keys).ok()?;
        Some((one, two))
    }

    /// Borrows the values at several keys mutably; O(`N`²).
    ///
    /// # Errors
    ///
    /// If two keys are the same. If not, what is wrong with the first key that opens no value.
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [usize; N],
    ) -> Result<[&mut T; N], GetDisjointMutError> {
        let mut rest = &keys[..];
        while let Some((first, others)) = rest.split_first() {
            if others.contains(first) {
                return Err(GetDisjointMutError::OverlappingIndices);
            }
            rest = others;
        }
        let missing = |index: &usize| !self.contains(*index);
        if let Some(&index) = keys.iter().find(|index| missing(index)) {
            return Err(if index < self.inner.used_slots() {
                GetDisjointMutError::IndexVacant
            } else {
                GetDisjointMutError::IndexOutOfBounds
            });
        }
        Ok((self.inner.get_disjoint_mut(keys.map(key))).expect("each is of a value of its own"))
    }

    /// Borrows the value at a key that is within bounds. It is checked nevertheless: `slab`
    /// promises a panic where there is no value.
    ///
    /// # Safety
    ///
    /// The key is below the number of slots used.
    #[inline]
    #[track_caller]
    #[expect(unsafe_code, reason = "a declaration")]
    pub unsafe fn get_unchecked(&self, index: usize) -> &T {
        self.get(index).unwrap_or_else(|| unreachable!())
    }

    /// Borrows the value at a key that is within bounds, mutably. It is checked nevertheless:
    /// `slab` promises a panic where there is no value.
    ///
    /// # Safety
    ///
    /// The key is below the number of slots used.
    #[inline]
    #[track_caller]
    #[expect(unsafe_code, reason = "a declaration")]
    pub unsafe fn get_unchecked_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).unwrap_or_else(|| unreachable!())
    }

    /// Borrows the values at two different keys that are within bounds, mutably. They are checked
    /// nevertheless: `slab` promises a panic where there is no value.
    ///
    /// # Safety
    ///
    /// The keys are below the number of slots used, and not the same.
    #[inline]
    #[track_caller]
    #[expect(unsafe_code, reason = "a declaration")]
    pub unsafe fn get2_unchecked_mut(&mut self, key1: usize, key2: usize) -> (&mut T, &mut T) {
        let keys = [key(key1), key(key2)];
        match self.inner.get_disjoint_mut(keys) {
            Ok([one, two]) => (one, two),
            Err(_) => unreachable!(),
        }
    }

    /// The key of a value of this slab, by its address alone; O(1).
    ///
    /// # Panics
    ///
    /// If the reference is not to a value of this slab.
    #[track_caller]
    pub fn key_of(&self, present_element: &T) -> usize {
        self.inner.key_of(present_element).index()
    }

    /// Inserts a value, and returns its key; O(1), amortised.
    ///
    /// # Panics
    ///
    /// If the slab would have 2^30 slots or more, or their bytes exceed `isize::MAX`.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> usize {
        self.inner.insert(value).index()
    }

    /// The key that the next value gets.
    #[inline]
    pub fn vacant_key(&self) -> usize {
        self.inner.vacant_key().index()
    }

    /// The place of the next value, for one that contains its key.
    #[inline]
    pub fn vacant_entry(&mut self) -> VacantEntry<'_, T> {
        VacantEntry {
            key: self.vacant_key(),
            slab: self,
        }
    }

    /// Moves the value at a key out; O(1). `None` if there is none.
    #[inline]
    pub fn try_remove(&mut self, index: usize) -> Option<T> {
        self.inner.try_remove(key(index))
    }

    /// Moves the value at a key out; O(1).
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        match self.try_remove(index) {
            Some(value) => value,
            None => invalid_key(),
        }
    }

    /// Whether there is a value at a key.
    #[inline]
    pub fn contains(&self, index: usize) -> bool {
        self.inner.contains(key(index))
    }

    /// Drops the values for which `f` is false, in the order of their keys; O(slots used).
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(usize, &mut T) -> bool,
    {
        self.inner.retain(|key, value| f(key.index(), value));
    }

    /// Moves all values out, in the order of their keys. Dropping the iterator drops the rest.
    /// The next keys start from 0.
    pub fn drain(&mut self) -> Drain<'_, T> {
        Drain {
            inner: self.inner.drain(),
        }
    }
}

/// Panics: there is no value at the key.
#[cold]
#[inline(never)]
#[track_caller]
fn invalid_key() -> ! {
    panic!("invalid key")
}

impl<T> ops::Index<usize> for Slab<T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(value) => value,
            None => invalid_key(),
        }
    }
}

impl<T> ops::IndexMut<usize> for Slab<T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        match self.get_mut(index) {
            Some(value) => value,
            None => invalid_key(),
        }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone> Clone for Slab<T> {
    fn clone(&self) -> Self {
        Slab {
            inner: self.inner.clone(),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        self.inner.clone_from(&source.inner);
    }
}

/// Prints the numbers of values and of slots; with `{:#?}` a map from keys to values.
impl<T: fmt::Debug> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.debug_map().entries(self).finish();
        }
        f.debug_struct("Slab")
            .field("len", &self.len())
            .field("cap", &self.capacity())
            .finish()
    }
}

/// A slab with these values under these keys. Of two with the same key, the later one stays.
///
/// It takes memory for all slots below the highest key.
impl<T> FromIterator<(usize, T)> for Slab<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (usize, T)>>(iterable: I) -> Self {
        let values = iterable.into_iter();
        let mut slab = Slab::with_capacity(values.size_hint().0);
        let values = values.map(|(index, value)| (key(index), value));
        if let Err(error) = slab.inner.try_extend(values) {
            memory::fail_to_insert(&error);
        }
        slab
    }
}

/// The place of the next value; made by [`Slab::vacant_entry`].
///
/// It allocates nothing before [`insert`](Self::insert).
#[derive(Debug)]
pub struct VacantEntry<'a, T> {
    slab: &'a mut Slab<T>,
    key: usize,
}

impl<'a, T> VacantEntry<'a, T> {
    /// Inserts the value, and borrows it.
    ///
    /// # Panics
    ///
    /// As [`Slab::insert`].
    #[inline]
    #[track_caller]
    pub fn insert(self, value: T) -> &'a mut T {
        self.slab.inner.vacant_entry().insert(value)
    }

    /// The key that the value will have.
    #[inline]
    pub fn key(&self) -> usize {
        self.key
    }
}

/// Why [`Slab::get_disjoint_mut`] borrowed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GetDisjointMutError {
    /// A slot has no value.
    IndexVacant,
    /// A slot has not been used.
    IndexOutOfBounds,
    /// Two keys are the same.
    OverlappingIndices,
}

impl fmt::Display for GetDisjointMutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            GetDisjointMutError::IndexVacant => "an index is vacant",
            GetDisjointMutError::IndexOutOfBounds => "an index is out of bounds",
            GetDisjointMutError::OverlappingIndices => "there were overlapping indices",
        })
    }
}

impl core::error::Error for GetDisjointMutError {}
