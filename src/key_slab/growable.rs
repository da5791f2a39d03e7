//! The growable `KeySlab`.

use super::cell::{self, Cell};
use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, VacantEntry};
use crate::error::AllocError;
use crate::key::Key;
use crate::raw::memory;
use crate::raw::source::Source;

/// A container with stable keys and plain references.
///
/// It grows as a `Vec` does: an insertion that needs more memory may move all values, but keys stay
/// the same. [`reserve`](PlainSlab::reserve), [`prepare`](PlainSlab::prepare) and
/// [`shrink_to_fit`](PlainSlab::shrink_to_fit) may also move all values.
/// [`compact`](PlainSlab::compact) also changes the keys of the values that it moves, and reports
/// them to its caller. Nothing else moves a value. If values must not move, or every insertion must
/// be fast, call [`reserve`](PlainSlab::reserve) first or use a
/// [`BoundedKeySlab`](super::BoundedKeySlab).
///
/// An insertion may also cause a page fault: a `KeySlab` does not touch memory before it is used,
/// unless [`prepare`](PlainSlab::prepare) does; see the [module](super).
///
/// The second parameter is the type of its keys: [`Key`] by default,
/// [`GenKey`](super::GenKey), or a type that [`key_type!`](crate::key_type) declares. With
/// generations, a slab [needs another slot](super::GenKey#how-long-generations-last) for every
/// 2^30 − 1 values that were inserted into one slot, unless it was
/// [built](Self::builder_with_key) with generations that wrap.
///
/// # How long growth takes
///
/// The allocator decides whether an insertion that grows the slab copies the values. The table
/// shows the longest insertion while a slab grows to two million values of 64 bytes (in
/// parentheses: 8 bytes), as a `Vec` does and with `grow_in_place` of the [builder](Self::builder)
/// (Linux, feature `os-memory`).
///
/// | allocator | grows as a `Vec` | grows in place |
/// |---|--:|--:|
/// | glibc, in a program just started: moves the block in the page tables | 0.21 ms (0.08) | 0.09 ms (0.09) |
/// | glibc, after the program freed a block of almost 32 MiB, for example after it read a file: copies | 10.1 ms (11.6) | 0.09 ms (0.10) |
/// | mimalloc: copies, into huge pages | 6.7 ms (1.8) | 0.08 ms (0.05) |
/// | jemalloc: copies | 45.5 ms (14.2) | 0.08 ms (0.06) |
///
/// Each figure is the lowest of five runs, on an AMD EPYC (family 25, model 17). BENCHMARKS.md,
/// "Growth", has the table that `cargo bench --bench growth` prints.
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
pub type KeySlab<T, K = Key> = PlainSlab<T, K, Growable>;

const _: () = assert!(size_of::<KeySlab<u64>>() <= 64);

impl<T> PlainSlab<T, Key, Growable> {
    /// Creates an empty slab, whose keys are [`Key`]s. It allocates at the first insertion.
    ///
    /// For other keys use [`with_key`](PlainSlab::with_key).
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

    /// Creates a slab with memory for exactly `capacity` values.
    ///
    /// Its keys are [`Key`]s. For keys with generations, or of your own type, call
    /// [`with_capacity_and_key`](PlainSlab::with_capacity_and_key).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`reserve`](PlainSlab::reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::with_capacity(100);
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_key(capacity)
    }

    /// Creates a slab with memory for exactly `capacity` values; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`with_capacity`](PlainSlab::with_capacity) panics, or if the
    /// allocator refuses.
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

impl<T, K: SlabKey> PlainSlab<T, K, Growable> {
    /// Creates an empty slab whose keys are of a type of your choice. It allocates at the first
    /// insertion.
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
        Self::new_in(Source::GLOBAL)
    }

    /// Creates a slab with memory for exactly `capacity` values, whose keys are of a type of your
    /// choice.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`reserve`](Self::reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let slab = KeySlab::<u64, GenKey>::with_capacity_and_key(100);
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    #[track_caller]
    #[must_use]
    #[inline]
    pub fn with_capacity_and_key(capacity: usize) -> Self {
        // Not out of a `Result`, which is moved once more.
        let mut slab = Self::with_key();
        if capacity > 0 {
            slab.reserve_exact(capacity);
            slab.cells.set_growths(0);
        }
        slab
    }

    /// Creates a slab with memory for exactly `capacity` values, whose keys are of a type of your
    /// choice; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`with_capacity_and_key`](Self::with_capacity_and_key) panics, or if
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
        Self::try_with_exact_capacity(capacity, &Source::GLOBAL, false)
    }

    /// Inserts a value into a free slot, and returns its key.
    ///
    /// # Complexity
    ///
    /// Amortised O(1). If no slot is free, the slab grows, in O(used slots).
    ///
    /// # Panics
    ///
    /// Panics if the slab would have 2^30 slots or more, or their bytes would exceed `isize::MAX`.
    /// If the allocator refuses, the program aborts, as with `Vec`.
    /// [`try_insert`](Self::try_insert) returns the value instead.
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
    #[doc(alias("insert_key", "emplace", "push", "alloc"))]
    pub fn insert(&mut self, value: T) -> K {
        match self.insert_or_grow(value, |error, held| (error, held)) {
            Ok(key) => key,
            Err((error, _value)) => fail(error),
        }
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
    /// [`try_insert_with_key`](PlainSlab::try_insert_with_key) returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, KeySlab};
    ///
    /// struct Node { me: Key }
    ///
    /// let mut slab = KeySlab::new();
    /// let key = slab.insert_with_key(|me| Node { me });
    /// assert_eq!(slab[key].me, key);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> K {
        let entry = self.vacant_entry();
        let key = entry.key();
        entry.insert(value(key));
        key
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its
    /// own key.
    ///
    /// If no slot is free, the slab grows, as in [`insert`](Self::insert).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does.
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
    #[doc(alias("vacant_slot", "claim"))]
    pub fn vacant_entry(&mut self) -> VacantEntry<'_, T, K, Growable> {
        match self.place_or_grow() {
            // SAFETY: `place_or_grow` returned the slab's next place, and nothing has used the slab
            // since.
            Ok(place) => unsafe { VacantEntry::new(self, place) },
            Err(error) => fail(error),
        }
    }

    /// Returns the key that the next insertion will return, if it succeeds. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.vacant_key();
    /// assert_eq!(slab.insert(7), key);
    /// ```
    #[inline]
    #[must_use]
    pub fn vacant_key(&self) -> K {
        let (index, version) = (self.next_place()).unwrap_or((self.used, self.floor + 1));
        K::new(index, version, Inside)
    }

    /// Reserves memory for at least `additional` more values.
    ///
    /// If the slab must grow, its capacity at least doubles; when it [grows in
    /// place](Self::builder), it grows by a little more than needed. If there is no memory for
    /// this, it grows by less.
    ///
    /// # Complexity
    ///
    /// O(used slots) if the slab grows, otherwise O(1).
    ///
    /// # Panics
    ///
    /// Panics if the slab would have 2^30 slots or more, or their bytes would exceed `isize::MAX`.
    /// If the allocator refuses, the program aborts, as with `Vec`.
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

    /// Reserves memory for at least `additional` more values, like [`reserve`](Self::reserve);
    /// never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`reserve`](Self::reserve) panics, or if the allocator refuses;
    /// nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::new().try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.try_reserve_slots(additional)
    }

    /// Reserves memory for exactly `additional` more values, if there is not that much already.
    ///
    /// # Complexity
    ///
    /// O(used slots) if the slab grows, otherwise O(1).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`reserve`](Self::reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::new();
    /// slab.reserve_exact(10);
    /// assert_eq!(slab.capacity(), 10);
    /// ```
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve_exact(additional) {
            memory::fail(error);
        }
    }

    /// Reserves memory for exactly `additional` more values, like
    /// [`reserve_exact`](Self::reserve_exact); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`reserve`](Self::reserve) panics, or if the allocator refuses;
    /// nothing has changed then.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::new();
    /// assert!(slab.try_reserve_exact(usize::MAX).is_err());
    /// slab.try_reserve_exact(10)?;
    /// assert_eq!(slab.capacity(), 10);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), AllocError> {
        let missing = additional.saturating_sub(self.free_slots());
        let capacity = self.capacity().saturating_add(missing);
        let grows = capacity > self.capacity();
        // SAFETY: by `used-cells` the cells below `used` are initialised, and no others.
        unsafe { self.cells.try_resize(Self::CELL, self.used, capacity)? };
        if grows {
            self.cells.note_growth();
        }
        Ok(())
    }

    /// Frees the memory after the last slot that has a value or is kept for a
    /// [detached](Self::detach) value.
    ///
    /// Keys do not change. If the allocator refuses a smaller block, the slab keeps the present
    /// one.
    ///
    /// With [`GenKey`](super::GenKey) the slab remembers the highest generation of the freed slots.
    /// A slot that is added later starts with the generation after it. If a slot has had more than
    /// 65,536 generations since the last shrink, it is kept, with all slots before it: freeing it
    /// would cost each slot that is added later that number of generations.
    ///
    /// # Complexity
    ///
    /// O(used slots).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::<u64>::with_capacity(100_000);
    /// slab.insert(7);
    /// slab.shrink_to_fit();
    /// assert_eq!(slab.capacity(), 1);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let highest = cell::highest_cut(self.floor, self.wraps());
        // The version of a cell kept for a detached value is higher too.
        let stays = |cell: &K::Cell<T>| cell.is_occupied() || cell.version() > highest;
        let last = self.existing().iter().rposition(stays);
        let kept = last.map_or(0, |last| last + 1);
        let cut = self.existing()[kept..].iter().map(K::Cell::version);
        self.floor = cut.fold(self.floor, u32::max);
        self.cells.retain(|index| index < kept);
        self.used = kept;
        // If it is refused, the present block stays.
        // SAFETY: by `used-cells` the cells below `used` are initialised, and no others; only they
        // are on the stack.
        let _ = unsafe { self.cells.try_resize(Self::CELL, kept, kept) };
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: Option<AllocError>) -> ! {
    memory::fail(error.expect("it grows"))
}

impl<T, K: SlabKey> Default for PlainSlab<T, K, Growable> {
    /// Creates an empty slab, like [`with_key`](Self::with_key).
    fn default() -> Self {
        Self::with_key()
    }
}
