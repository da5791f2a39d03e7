//! The growable `KeySlab`: chunks, added one at a time.

use super::cell::{self, Cell};
use super::free::FreeIndices;
use super::key::SlabKey;
use super::storage::Chunks;
use super::storage::sealed::Cells;
use super::{PlainSlab, VacantEntry};
use crate::error::AllocError;
use crate::key::Key;
use crate::raw::memory;
use crate::raw::source::Source;

/// A container with stable keys and plain references. It grows by chunks and copies
/// nothing.
///
/// The second parameter is the type of its keys: [`Key`] by default,
/// [`GenKey`](super::GenKey), or one that [`key_type!`](crate::key_type) declares.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
///
/// struct Order { price: u64, quantity: u32 }
///
/// let mut book = KeySlab::new();
/// let key = book.insert(Order { price: 100, quantity: 30 });
/// book[key].quantity -= 10;
/// assert_eq!((book[key].price, book[key].quantity), (100, 20));
///
/// let book = std::thread::spawn(move || { // it is `Send`
///     book.remove(key);
///     book
/// });
/// assert!(book.join().unwrap().is_empty());
/// ```
pub type KeySlab<T, K = Key> = PlainSlab<T, K, Chunks>;

impl<T> PlainSlab<T, Key, Chunks> {
    /// Creates an empty slab; allocates nothing before the first insertion. Its keys
    /// are [`Key`]s; [`with_key`](PlainSlab::with_key) is for others.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert("value");
    /// assert_eq!(slab[key], "value");
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self::with_key()
    }

    /// Creates a slab with memory for at least `capacity` values; O(chunks).
    ///
    /// # Panics
    ///
    /// As [`reserve`](PlainSlab::reserve).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::with_capacity(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }

    /// Creates a slab with memory for at least `capacity` values; never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// Where [`with_capacity`](PlainSlab::with_capacity) panics, or the allocator
    /// refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_with_capacity_and_key(capacity)
    }
}

impl<T, K: SlabKey> PlainSlab<T, K, Chunks> {
    /// Creates an empty slab whose keys are of a type of your choice; allocates
    /// nothing before the first insertion.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let key: GenKey = slab.insert("value");
    /// assert_eq!(slab[key], "value");
    /// ```
    #[must_use]
    pub const fn with_key() -> Self {
        Self::new_in(Source::GLOBAL, Source::GLOBAL)
    }

    /// An empty slab whose memory comes from `source`, of which `same` is a clone.
    pub(super) const fn new_in(source: Source, same: Source) -> Self {
        // SAFETY: the storage is made for these cells, and has no capacity yet.
        unsafe { Self::from_parts(Chunks::new::<K::Cell<T>>(source), FreeIndices::empty(same)) }
    }

    /// Creates a slab with memory for at least `capacity` values, whose keys are of a
    /// type of your choice.
    ///
    /// # Panics
    ///
    /// As [`reserve`](Self::reserve).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let slab = KeySlab::<u64, GenKey>::with_capacity_and_key(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        match Self::try_with_capacity_and_key(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a slab with memory for at least `capacity` values, whose keys are of a
    /// type of your choice; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`with_capacity_and_key`](Self::with_capacity_and_key) panics, or
    /// the allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// assert!(KeySlab::<u64, GenKey>::try_with_capacity_and_key(100).is_ok());
    /// ```
    pub fn try_with_capacity_and_key(capacity: usize) -> Result<Self, AllocError> {
        let mut slab = Self::with_key();
        slab.try_reserve(capacity)?;
        Ok(slab)
    }

    /// Inserts a value into a free slot; O(1). If none is free, it allocates a
    /// chunk.
    ///
    /// # Panics
    ///
    /// If the slab would have more slots than keys can name (a chunk less than 2^30), or
    /// their bytes exceed `isize::MAX`. If the allocator refuses, the program ends, as with
    /// `Vec`; [`try_insert`](Self::try_insert) returns the value instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> K {
        match self.insert_or_grow(value) {
            Ok(key) => key,
            Err((error, _value)) => fail(error),
        }
    }

    /// The slot that the next insertion fills, for a value that knows its key;
    /// O(1). If none is free, it allocates a chunk.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let entry = slab.vacant_entry();
    /// let key = entry.key();
    /// entry.insert(key);
    /// assert_eq!(slab[key], key);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vacant_entry(&mut self) -> VacantEntry<'_, T, K, Chunks> {
        match self.ensure_one() {
            Ok(()) => VacantEntry::try_new(self).expect("a slot is free"),
            Err(error) => fail(error),
        }
    }

    /// The key that the next insertion gives, if it succeeds; O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.vacant_key();
    /// assert_eq!(slab.insert(7), key);
    /// ```
    #[inline]
    #[must_use]
    pub fn vacant_key(&self) -> K {
        let (index, version) =
            (self.next_place()).unwrap_or_else(|| (self.capacity(), self.storage.next_floor() + 1));
        K::new(index, version)
    }

    /// Reserves memory for at least `additional` more values; O(chunks added), and
    /// O(free slots) more if some are free.
    ///
    /// # Panics
    ///
    /// If the slab would have more slots than keys can name (a chunk less than 2^30), or
    /// their bytes exceed `isize::MAX`. If the allocator refuses, the program ends, as with
    /// `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::new();
    /// slab.reserve(10_000);
    /// assert!(slab.free_slots() >= 10_000);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for at least `additional` more values, like
    /// [`reserve`](Self::reserve); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`reserve`](Self::reserve) panics, and nothing was allocated then,
    /// or the allocator refuses; what it gave before that is kept.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::new().try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        let missing = additional.saturating_sub(self.free_slots());
        (self.try_grow_to(self.capacity().saturating_add(missing))).map_err(grows)
    }

    /// Frees the last chunks that have no value, and the unused memory of the stack and
    /// of the table of chunks; O(slots used). Keys do not change.
    ///
    /// With [`GenKey`](super::GenKey) the slab remembers one generation for each freed
    /// chunk, the highest of its slots. A chunk stays if one of its slots has used half
    /// of its generations, because all others would lose as many.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::with_capacity(100_000);
    /// slab.insert(7);
    /// slab.shrink_to_fit();
    /// assert!(slab.capacity() < 100_000);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let last = (0..self.used).rev().find(|&index| {
            // SAFETY: by K1 the cell exists.
            let cell = unsafe { self.place(index).as_ref() };
            cell.is_occupied() || cell.version() > cell::RETIRED / 2
        });
        let needed = last.map_or(0, |last| last + 1);
        let chunk = self.storage.step();
        let kept = needed.next_multiple_of(chunk);
        // Slots with a version go only with their chunk, which has its floor.
        let used = if K::Cell::<T>::VERSIONED {
            self.used.min(kept)
        } else {
            needed
        };
        self.free.retain(|index| index < used);
        while self.capacity() > kept {
            let first = self.capacity() - chunk;
            let versions = (first..self.used).map(|index| {
                // SAFETY: by K1 the cell exists.
                unsafe { self.place(index).as_ref().version() }
            });
            let floor = versions.max().unwrap_or(0);
            self.used = self.used.min(first);
            self.storage.remove_last(floor);
        }
        self.used = self.used.min(used);
        self.storage.shrink_table();
        self.free.shrink(self.capacity());
    }
}

/// The reason why chunks do not grow; there always is one.
fn grows(error: Option<AllocError>) -> AllocError {
    error.expect("chunks grow")
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: Option<AllocError>) -> ! {
    memory::fail(grows(error))
}

impl<T, K: SlabKey> Default for PlainSlab<T, K, Chunks> {
    /// An empty slab, as [`with_key`](Self::with_key) makes it.
    fn default() -> Self {
        Self::with_key()
    }
}
