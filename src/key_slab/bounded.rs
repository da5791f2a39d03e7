//! `BoundedKeySlab`: one array, a fixed capacity.

use super::key::{Inside, SlabKey};
use super::{Bounded, FixedStorage, PlainSlab, VacantEntry};
use crate::error::{AllocError, FullError};
use crate::key::Key;
#[cfg(feature = "alloc")]
use crate::raw::memory;
#[cfg(feature = "alloc")]
use crate::raw::source::Source;

/// A [`KeySlab`](super::KeySlab) of fixed capacity, allocated and touched when it is made. It never
/// allocates or faults afterwards, and no value moves.
///
/// An insertion fails with [`FullError`] or [`AllocError::Full`] if no slot is free. All other
/// methods are those of [`KeySlab`](super::KeySlab).
///
/// [Built](super::BoundedKeySlab::builder) with `lazy`, restored from a snapshot, or in a
/// [`KeySlabStorage`](super::KeySlabStorage), which needs no allocator, its memory is not touched
/// before it is used: a generous bound costs address space, and the system provides a page at the
/// first insertion into it, unless [`prepare`](Self::prepare) has touched them all.
///
/// With [`GenKey`](super::GenKey) a slot takes 2^30 − 1 values, and the slab `capacity` × (2^30 − 1)
/// before it is [full for good](super::GenKey#how-long-generations-last), unless it was
/// [built](super::BoundedKeySlab::builder_with_key) with generations that wrap.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedKeySlab, FullError};
///
/// let mut slab = BoundedKeySlab::with_capacity(2);
/// let one = slab.insert(1).unwrap();
/// let two = slab.insert(2).unwrap();
/// assert_eq!(slab.insert(3), Err(FullError(3)));
/// assert_eq!(slab.remove(one) + slab[two], 3);
/// ```
pub type BoundedKeySlab<T, K = Key> = PlainSlab<T, K, Bounded>;

#[cfg(feature = "alloc")]
impl<T> PlainSlab<T, Key, Bounded> {
    /// Creates a slab of `capacity` slots; O(capacity). Allocates everything it will ever use, and
    /// touches every page of it, so that no insertion or removal faults.
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or its bytes exceed `isize::MAX`. If the
    /// allocator refuses, the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }

    /// Creates a slab of `capacity` slots, like [`with_capacity`](Self::with_capacity); never panics
    /// or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, its bytes exceed `isize::MAX`, or the
    /// allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::BoundedKeySlab::<u64>::try_with_capacity(1 << 30).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_with_capacity_and_key(capacity)
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey> PlainSlab<T, K, Bounded> {
    /// Creates a slab of `capacity` slots, whose keys are of a type of your choice; O(capacity), as
    /// [`with_capacity`](PlainSlab::with_capacity) is.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](PlainSlab::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, GenKey};
    ///
    /// let mut slab: BoundedKeySlab<u64, GenKey> = BoundedKeySlab::with_capacity_and_key(8);
    /// let key: GenKey = slab.insert(7).unwrap();
    /// assert_eq!(slab[key], 7);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        match Self::try_with_capacity_and_key(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a slab of `capacity` slots, whose keys are of a type of your choice; never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// As [`try_with_capacity`](PlainSlab::try_with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, GenKey};
    ///
    /// assert!(BoundedKeySlab::<u64, GenKey>::try_with_capacity_and_key(8).is_ok());
    /// ```
    pub fn try_with_capacity_and_key(capacity: usize) -> Result<Self, AllocError> {
        Self::try_touched(capacity, &Source::GLOBAL)
    }

    /// A slab all of whose memory is touched.
    pub(super) fn try_touched(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let mut slab = Self::try_with_exact_capacity(capacity, source, false)?;
        slab.cells.touch::<K::Cell<T>>(0..capacity);
        Ok(slab)
    }
}

impl<T, K: SlabKey, S: FixedStorage> PlainSlab<T, K, S> {
    /// Inserts a value into a free slot; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8).unwrap_err().into_inner(), 8);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<K, FullError<T>> {
        self.try_insert(value)
    }

    /// The slot that the next insertion fills, for a value that knows its key;
    /// O(1).
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let entry = slab.vacant_entry().unwrap();
    /// let key = entry.key();
    /// entry.insert(key);
    /// assert_eq!(slab[key], key);
    /// assert!(slab.vacant_entry().is_err());
    /// ```
    #[inline]
    pub fn vacant_entry(&mut self) -> Result<VacantEntry<'_, T, K, S>, AllocError> {
        self.try_vacant_entry()
    }

    /// The key that the next insertion gives, if a slot is free; O(1).
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let key = slab.vacant_key();
    /// assert_eq!(slab.insert(7).ok(), key);
    /// assert_eq!(slab.vacant_key(), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn vacant_key(&self) -> Option<K> {
        self.next_place()
            .map(|(index, version)| K::new(index, version, Inside))
    }
}
