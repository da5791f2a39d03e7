//! `KeySlab`: a container with stable keys and plain references.
//!
//! Use it like a `Vec` whose indices stay valid: `&mut self`, `&T`, `slab[key]`, and
//! `Send` if its values are. Its methods have the names of the `slab` crate wherever
//! they mean the same, so moving a program changes a type and its `usize`s. Unlike
//! there, an insertion does not wait for a cold cell, keys may have a type of your own
//! ([`key_type!`](crate::key_type)) or generations ([`GenKey`]), and a snapshot restores
//! values under their own keys.
//!
//! | you have | use |
//! |---|---|
//! | no bound on the number of values | [`KeySlab`]: grows as a `Vec` does; then values may move, and keys stay |
//! | a bound, or references to values that must not move | [`BoundedKeySlab`]: allocated when it is made; a full one returns [`FullError`] |
//! | the same without an allocator, in a static, on the stack, in a struct | [`KeySlabStorage`] |
//! | no bound, and growth that copies nothing | `grow_in_place` of its [builder](KeySlab::builder) (Linux, feature `os-memory`), or a [tracked slab](crate::Slab) |
//! | more about some of the values, apart from them | a [`SecondarySlab`] |
//! | keys that may be used after their value is gone | `KeySlab<T, `[`GenKey`]`>` |
//! | several of them, whose keys must not be mixed up | a [`key_type!`](crate::key_type) each |
//! | owners that drop their value, values shared while they are borrowed | a [tracked slab](crate::TrackedSlab) instead |
//!
//! # What it costs
//!
//! A slot takes an `Option<T>`, which is no larger than a `T` that has a niche. With
//! [`GenKey`] it takes a `T` and 4 bytes, rounded up to the alignment of `T`, or to 4.
//! The stack of free slots takes 4 bytes more for each.
//! An empty slab has 64 bytes and no memory, the first value gets it four slots. Every operation
//! is O(1) and allocates nothing unless it says otherwise; an insertion that grows a [`KeySlab`]
//! takes memory for twice as many values, and copies those there are.
//! A [`KeySlab`] does not touch memory before it is used: the first insertion into a page may
//! fault, unless [`prepare`](KeySlab::prepare) has touched the page. A [`BoundedKeySlab`] touches all of
//! its memory when it is made, unless it is built `lazy`.
//!
//! # Invariants
//!
//! * `used-cells`: the cells below `used` exist, those from there on are uninitialised;
//!   `used <= capacity`.
//! * `vacant-stack`: the stack has the indices of the vacant cells, each once, but those of
//!   retired ones, of which there are `retired`, and of those kept for detached values, of which
//!   there are `detached`; it has room for `capacity`.
//! * `whole-key-slab`: no user code runs while either does not hold.

// | file | what |
// |---|---|
// | `key.rs`, `cell.rs` | plain keys, keys with generations, key types of the user's own; a cell for each |
// | `cells.rs` | the memory: cells, and the free indices |
// | `insert.rs`, `generations.rs` | insertion with growth, entries; slots without a generation left, values that leave for a while |
// | `iter.rs`, `many.rs` | iteration, by reference and by value; several values at once, or all |
// | `restore.rs`, `snapshot.rs`, `as_map.rs` | values under keys they had; snapshots; the form of the `slab` crate |
// | `growable.rs`, `bounded.rs`, `options.rs` | what each kind of slab has to itself, and the memory of a bounded one in a static |
// | `secondary.rs` | more of the values of another slab |

#[cfg(feature = "serde")]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub mod as_map;
mod bounded;
mod cell;
mod cells;
mod generations;
#[cfg(feature = "alloc")]
mod growable;
mod insert;
mod iter;
mod key;
mod many;
#[cfg(feature = "alloc")]
mod options;
mod restore;
#[cfg(feature = "alloc")]
mod secondary;
#[cfg(feature = "serde")]
mod snapshot;

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};
use core::ptr::NonNull;

use cell::Cell;
use cells::Cells;
use key::Inside;

#[cfg(feature = "alloc")]
use crate::error::AllocError;
#[cfg(feature = "alloc")]
use crate::raw::memory;
#[cfg(feature = "alloc")]
use crate::raw::source::Source;
use crate::raw::touch::prefetch;

#[cfg(doc)]
use crate::error::FullError;
#[cfg(doc)]
use crate::key::Key;

pub use bounded::{BoundedKeySlab, KeySlabStorage};
#[cfg(feature = "alloc")]
pub use growable::KeySlab;
pub use insert::VacantEntry;
pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
#[doc(hidden)]
pub use key::NamedKey;
pub use key::{GenKey, GenerationKey, SlabKey};
pub use many::{DisjointError, GetMany, RemoveMany};
pub use restore::InsertAtError;
#[cfg(feature = "alloc")]
pub use secondary::{Join, JoinMut, SecondarySlab};
#[cfg(feature = "serde")]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub use snapshot::Restore;

/// Whether a slab grows: [`Growable`], or [`Bounded`] and [`InStorage`]. Sealed.
pub trait Storage: sealed::Kind {}

/// A fixed capacity: [`Bounded`] or [`InStorage`]. Sealed.
pub trait FixedStorage: Storage {}

mod sealed {
    pub trait Kind {
        const BOUNDED: bool;
    }
}

/// A fixed capacity: of a [`BoundedKeySlab`].
#[derive(Debug)]
pub enum Bounded {}

/// A fixed capacity in a [`KeySlabStorage`] that is borrowed for `'s`.
#[derive(Debug)]
pub struct InStorage<'s>(PhantomData<&'s ()>);

/// A capacity that grows with the values: of a [`KeySlab`].
#[derive(Debug)]
pub enum Growable {}

impl Storage for Bounded {}
impl Storage for Growable {}
impl Storage for InStorage<'_> {}

impl FixedStorage for Bounded {}
impl FixedStorage for InStorage<'_> {}

impl sealed::Kind for Bounded {
    const BOUNDED: bool = true;
}

impl sealed::Kind for InStorage<'_> {
    const BOUNDED: bool = true;
}

impl sealed::Kind for Growable {
    const BOUNDED: bool = false;
}

/// Values of one type under keys that do not change, accessed by plain references: the
/// generic type of [`KeySlab`] and [`BoundedKeySlab`].
///
/// - [`KeySlab`]`<T>`, [`Growable`]: grows as a `Vec` does.
/// - [`BoundedKeySlab`]`<T>`, [`Bounded`]: a fixed capacity, from which no value moves.
/// - [`InStorage`]: the same in a [`KeySlabStorage`] that it borrows.
///
/// Their pages have the constructors and the insertions that tell them apart.
/// `K` is the type of the keys: [`Key`] if it is not named, [`GenKey`], or one
/// that [`key_type!`](crate::key_type) declares. See the [module](self) for when
/// to use it and what it costs.
///
/// Slots are reused last in, first out; a fresh slab hands out ascending keys from 0. Which key
/// an insertion gives follows from the calls before it alone: not from the memory there is.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::{PlainSlab, SlabKey, Storage};
/// use flatslab::{BoundedKeySlab, FullError, KeySlab};
///
/// fn insert_all<K: SlabKey, S: Storage>(
///     slab: &mut PlainSlab<u64, K, S>,
///     n: u64,
/// ) -> Result<Vec<K>, FullError<u64>> {
///     (0..n).map(|value| slab.try_insert(value)).collect()
/// }
///
/// assert_eq!(insert_all(&mut KeySlab::new(), 3).unwrap().len(), 3);
/// assert!(insert_all(&mut BoundedKeySlab::with_capacity(2), 3).is_err());
/// ```
pub struct PlainSlab<T, K: SlabKey, S: Storage> {
    /// Of `K::Cell<T>`.
    cells: Cells,
    used: usize,
    retired: u32,
    detached: u32,
    /// The highest version of the cells that were cut off, with which those after `used` begin.
    floor: u32,
    /// Whether a slot that has used its last generation begins with the first one again.
    wraps: bool,
    /// Covariant in `T`.
    values: PhantomData<T>,
    keys: InKeys<K>,
    storage: PhantomData<fn() -> S>,
}

/// Invariant in `K`: a subtype of a key type is another type, whose cells may be
/// of another kind.
type InKeys<K> = PhantomData<fn(K) -> K>;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    #[cfg(feature = "alloc")]
    const fn new_in(source: Source) -> Self {
        Self::in_cells(Cells::empty::<K::Cell<T>>(source))
    }

    /// A slab without values over memory for cells of type `K::Cell<T>`.
    const fn in_cells(cells: Cells) -> Self {
        PlainSlab {
            cells,
            used: 0,
            retired: 0,
            detached: 0,
            floor: 0,
            wraps: false,
            values: PhantomData,
            keys: PhantomData,
            storage: PhantomData,
        }
    }

    /// An empty slab with memory for exactly so many values.
    ///
    /// # Errors
    ///
    /// Past the limits, or when the source refuses.
    #[cfg(feature = "alloc")]
    fn try_with_exact_capacity(
        capacity: usize,
        source: &Source,
        to_range: bool,
    ) -> Result<Self, AllocError> {
        let mut slab = Self::new_in(source.clone());
        slab.cells.set_to_range(to_range);
        // SAFETY: there is no cell yet.
        unsafe { slab.cells.try_resize::<K::Cell<T>>(0, capacity)? };
        Ok(slab)
    }

    /// The place of a cell.
    ///
    /// # Safety
    ///
    /// The index is below the capacity, or 0.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> NonNull<K::Cell<T>> {
        // SAFETY: the index is below the capacity (precondition); the cells are of this type.
        unsafe { self.cells.cell(index) }
    }

    /// The occupied cell that a key opens. The caller reads the numbers of the key
    /// once: a key type of the user's may return others at the next call.
    #[inline(always)]
    fn find(&self, index: usize, version: u32) -> Option<NonNull<K::Cell<T>>> {
        if index < self.used {
            // SAFETY: by `used-cells` the cell exists.
            unsafe {
                let cell = self.place(index);
                cell.as_ref().holds(version).then_some(cell)
            }
        } else {
            None
        }
    }

    /// Number of values; O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// slab.insert(7);
    /// assert_eq!(slab.len(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.used - self.cells.len() - self.retired as usize - self.detached as usize
    }

    /// Whether there is no value.
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::new().is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of slots allocated.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// Prefetches the value at `key`: a hint to the processor, for a key that will be
    /// used soon. O(1); accesses no value, checks only the range of keys, and cannot
    /// fault. Does nothing on processors other than x86_64 and aarch64.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let (first, second) = (slab.insert(1), slab.insert(2));
    /// slab.prefetch(second);
    /// assert_eq!(slab[first] + slab[second], 3);
    /// ```
    #[inline]
    pub fn prefetch(&self, key: K) {
        let index = key.index();
        if index < self.used {
            self.prefetch_cell(index);
        }
    }

    #[inline(always)]
    fn prefetch_cell(&self, index: usize) {
        debug_assert!(index < self.used);
        // SAFETY: by `used-cells` the cell exists.
        let cell = unsafe { self.place(index) };
        prefetch(cell.cast(), size_of::<K::Cell<T>>());
    }

    /// Number of slots that are neither taken, [retired](Self::retired_slots) nor kept for a
    /// [detached](Self::detached_slots) value: an insertion into them allocates nothing.
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(8);
    /// slab.insert(7).unwrap();
    /// assert_eq!(slab.free_slots(), 7);
    /// ```
    #[inline]
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.capacity() - self.used + self.cells.len()
    }

    /// Number of slots up to the last one that has had a value since the slab was made, shrunk or,
    /// without generations, cleared: the most that an iteration visits, which ends with the last
    /// value. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::with_capacity(8);
    /// let key = slab.insert(7);
    /// slab.remove(key);
    /// assert_eq!(slab.used_slots(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn used_slots(&self) -> usize {
        self.used
    }

    /// Whether no slot is free, so that an insertion needs more memory, or fails in a
    /// bounded slab; O(1).
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// slab.insert(7).unwrap();
    /// assert!(slab.is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free_slots() == 0
    }

    /// Whether the key opens a value; O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.contains(key));
    /// ```
    #[inline]
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.find(key.index(), key.version()).is_some()
    }

    /// Borrows the value at `key`; O(1). `None` if there is none.
    ///
    /// A plain [`Key`] whose value is gone opens the slot's next value,
    /// [`GenKey`] does not. A key of another slab opens whatever value has the
    /// same key here; [`key_type!`](crate::key_type) keeps the slabs apart.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.get(key), Some(&7));
    /// slab.remove(key);
    /// assert_eq!(slab.get(key), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<&T> {
        let cell = self.find(key.index(), key.version())?;
        // SAFETY: occupied, and borrowed as long as the slab is.
        Some(unsafe { cell.as_ref().value() })
    }

    /// Borrows the value at `key` mutably; O(1). `None` as in [`get`](Self::get).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// if let Some(value) = slab.get_mut(key) {
    ///     *value += 1;
    /// }
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let mut cell = self.find(key.index(), key.version())?;
        // SAFETY: occupied, and borrowed as long as the slab is.
        Some(unsafe { cell.as_mut().value_mut() })
    }

    /// Borrows the value at `key`, without a check.
    ///
    /// # Safety
    ///
    /// The key opens a value: [`contains`](Self::contains) would return `true`, and a
    /// key type that is not of this crate has the same numbers each time.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// // SAFETY: just inserted.
    /// assert_eq!(unsafe { *slab.get_unchecked(key) }, 7);
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn get_unchecked(&self, key: K) -> &T {
        // SAFETY: the key opens a value (precondition), so its cell is occupied.
        unsafe { self.place(key.index()).as_ref().value() }
    }

    /// Borrows the value at `key` mutably, without a check.
    ///
    /// # Safety
    ///
    /// The key opens a value: [`contains`](Self::contains) would return `true`, and a
    /// key type that is not of this crate has the same numbers each time.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// // SAFETY: just inserted.
    /// unsafe { *slab.get_unchecked_mut(key) += 1 };
    /// assert_eq!(slab[key], 8);
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> &mut T {
        // SAFETY: the key opens a value (precondition), so its cell is occupied.
        unsafe { self.place(key.index()).as_mut().value_mut() }
    }

    /// Moves the value at `key` out and frees its slot; O(1).
    ///
    /// # Panics
    ///
    /// If there is none; [`try_remove`](Self::try_remove) returns `None` then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.remove(key), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, key: K) -> T {
        let (index, version) = (key.index(), key.version());
        match self.find(index, version) {
            // SAFETY: `find` says that the cell is occupied, and has this version.
            Some(_) => unsafe { self.vacate(index, version) },
            None => missing(key),
        }
    }

    /// Moves the value at `key` out and frees its slot; O(1). `None` if there is
    /// none.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_remove(key), Some(7));
    /// assert_eq!(slab.try_remove(key), None);
    /// ```
    #[inline]
    pub fn try_remove(&mut self, key: K) -> Option<T> {
        let (index, version) = (key.index(), key.version());
        self.find(index, version)?;
        // SAFETY: `find` says that the cell is occupied, and has this version.
        Some(unsafe { self.vacate(index, version) })
    }

    /// Moves a value out and frees its slot.
    ///
    /// The push comes first, because the next insertion waits for it. The value is
    /// read last, into the place where the caller wants it. The version is the
    /// caller's, in a register: if insertions and removals alternate, that of the cell
    /// was stored a moment ago, and the next insertion would wait for it.
    ///
    /// # Safety
    ///
    /// The cell of this index is occupied, and has this version.
    #[inline(always)]
    unsafe fn vacate(&mut self, index: usize, version: u32) -> T {
        // SAFETY: occupied, so it exists (`used-cells`), is not on the stack and there is
        // room for it (`vacant-stack`).
        unsafe {
            let cell = self.place(index);
            let next = self.free(index, version);
            K::Cell::vacate(cell, next)
        }
    }

    /// A cell whose value has this version becomes free, or retires. Returns the version that it is
    /// to have when it is vacant.
    ///
    /// # Safety
    ///
    /// The cell is occupied, or kept for a value that does not come back; it is vacated next.
    #[inline(always)]
    unsafe fn free(&mut self, index: usize, version: u32) -> u32 {
        let mut next = version + 1;
        if K::Cell::<T>::VERSIONED && next == cell::RETIRED {
            if !self.wraps {
                self.retired += 1;
                return next;
            }
            next = 0;
        }
        // SAFETY: not on the stack, and room for it (`vacant-stack`).
        unsafe { self.cells.push(index) };
        next
    }

    /// Puts a value into a vacant cell.
    ///
    /// # Safety
    ///
    /// The cell of this index exists, is vacant, not retired, and not on the
    /// stack.
    #[inline(always)]
    unsafe fn fill(&mut self, index: usize, value: T) -> K {
        // SAFETY: the cell exists and is vacant (precondition), so its version is even
        // and the next one is odd.
        unsafe {
            let cell = self.place(index);
            let version = cell.as_ref().version() + 1;
            K::Cell::fill(cell, version, value);
            K::new(index, version, Inside)
        }
    }

    /// Where the next value goes, if there is memory for it, and its version.
    #[inline(always)]
    fn next_place(&self) -> Option<(usize, u32)> {
        if let Some(index) = self.cells.top() {
            // SAFETY: by `vacant-stack` a vacant cell.
            let version = unsafe { self.place(index).as_ref().version() };
            return Some((index, version + 1));
        }
        (self.used < self.capacity()).then_some((self.used, self.floor + 1))
    }
}

/// From a value, or its slot, to its key.
impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the key of a value of this slab, by its address alone; O(1).
    ///
    /// # Panics
    ///
    /// If the reference is not to a value of this slab.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// let value = &slab[key];
    /// assert_eq!(slab.key_of(value), key);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn key_of(&self, value: &T) -> K {
        match self.try_key_of(value) {
            Some(key) => key,
            None => panic!("key_of was refused: the value is not in this slab"),
        }
    }

    /// Returns the key of a value of this slab, by its address alone; O(1). `None` if it is of
    /// another place.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_key_of(&slab[key]), Some(key));
    /// assert_eq!(slab.try_key_of(&7), None);
    /// ```
    #[must_use]
    pub fn try_key_of(&self, value: &T) -> Option<K> {
        self.key_at(self.index_of(value)?)
    }

    /// Returns the key of the value in a slot, if it has one; O(1).
    ///
    /// Where keys have generations, values that link to each other can do it by slot, in four
    /// bytes instead of eight: who unlinks a value before it is removed needs no generation
    /// to tell it from the next one.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let key = slab.insert("value");
    /// assert_eq!(slab.key_at(key.index()), Some(key));
    /// slab.remove(key);
    /// assert_eq!(slab.key_at(key.index()), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn key_at(&self, index: usize) -> Option<K> {
        if index >= self.used {
            return None;
        }
        // SAFETY: by `used-cells` the cell exists.
        let cell = unsafe { self.place(index).as_ref() };
        let key = || K::new(index, cell.version() | 1, Inside);
        cell.is_occupied().then(key)
    }

    fn index_of(&self, value: &T) -> Option<usize> {
        let size = size_of::<K::Cell<T>>().max(1);
        // SAFETY: the place of the first cell, if there is one.
        let start = unsafe { self.cells.cell::<K::Cell<T>>(0).addr().get() };
        let index = (&raw const *value).addr().wrapping_sub(start) / size;
        // A value of no size may stand at the end of its cell.
        [index, index.wrapping_sub(1)].into_iter().find(|&index| {
            let there = (index < self.used).then(|| self.value_at(index)).flatten();
            there.is_some_and(|there| core::ptr::eq(there, value))
        })
    }

    /// The value of a slot that exists.
    fn value_at(&self, index: usize) -> Option<&T> {
        debug_assert!(index < self.used);
        // SAFETY: by `used-cells` the cell exists.
        unsafe {
            let cell = self.place(index).as_ref();
            cell.is_occupied().then(|| cell.value())
        }
    }
}

impl<T, K: SlabKey, S: Storage> Drop for PlainSlab<T, K, S> {
    fn drop(&mut self) {
        /// Freed when it is dropped: also if a destructor panics.
        struct Block<'a, T, K: SlabKey, S: Storage>(&'a mut PlainSlab<T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Block<'_, T, K, S> {
            fn drop(&mut self) {
                // SAFETY: the slab ends, and with it the use of its block.
                #[cfg(feature = "alloc")]
                unsafe {
                    self.0.cells.release::<K::Cell<T>>();
                }
                // What is lent stays.
                #[cfg(not(feature = "alloc"))]
                let _ = &self.0;
            }
        }

        let values = self.len();
        Block(self).0.destroy_all(false, values);
    }
}

/// # Panics
///
/// If there is no value at the key.
impl<T, K: SlabKey, S: Storage> Index<K> for PlainSlab<T, K, S> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

/// # Panics
///
/// If there is no value at the key.
impl<T, K: SlabKey, S: Storage> IndexMut<K> for PlainSlab<T, K, S> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => missing(key),
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Clones everything into an empty slab with as many slots at least.
    fn clone_to(&self, clone: &mut Self) {
        /// Settles the stack, also when a clone panics (`whole-key-slab`).
        struct Settled<'a, T, K: SlabKey, S: Storage>(&'a mut PlainSlab<T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Settled<'_, T, K, S> {
            fn drop(&mut self) {
                self.0.rebuild_stack();
            }
        }

        debug_assert!(clone.used == 0 && clone.capacity() >= self.used);
        (clone.floor, clone.wraps) = (self.floor, self.wraps);
        let settled = Settled(clone);
        let clone = &mut *settled.0;
        for index in 0..self.used {
            // SAFETY: by `used-cells` the cell exists here, and there is memory for it
            // there; it exists there once it is written. User code runs before.
            unsafe {
                let (from, to) = (self.place(index).as_ref(), clone.place(index));
                if from.is_occupied() {
                    let value = from.value().clone();
                    K::Cell::fill(to, from.version() | 1, value);
                } else {
                    K::Cell::<T>::write_vacant(to, from.version());
                }
            }
            clone.used = index + 1;
        }
        clone.cells.copy_stack(&self.cells);
        clone.retired = self.retired;
        clone.detached = self.detached;
        core::mem::forget(settled);
    }
}

/// The same values under the same keys, the same detached ones, and the same next keys; O(slots
/// used). Of a growable slab it allocates memory for the used slots alone, of a bounded one for its capacity, from the same
/// [pages](crate::memory::Pages). That of a slab in a [`KeySlabStorage`]
/// is the global allocator's; without the feature `alloc` there are no clones.
#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> Clone for PlainSlab<T, K, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        let capacity = if S::BOUNDED {
            self.capacity()
        } else {
            self.used
        };
        match Self::try_with_exact_capacity(capacity, self.cells.source(), self.cells.to_range()) {
            Ok(mut clone) => {
                if S::BOUNDED {
                    clone.cells.touch::<K::Cell<T>>(self.used..capacity);
                }
                self.clone_to(&mut clone);
                clone
            }
            Err(error) => memory::fail(error),
        }
    }

    /// Drops the values there are and clones the others into the memory that is there, if there
    /// is enough; a bounded slab has the other's capacity afterwards. If the clone of a value
    /// panics, those before are there.
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        let is_enough = if S::BOUNDED {
            self.capacity() == source.capacity()
        } else {
            self.capacity() >= source.used
        };
        if is_enough {
            // Should a destructor panic, no old key opens a new value.
            self.clear();
            self.cells.clear();
            self.used = 0;
            source.clone_to(self);
        } else {
            *self = source.clone();
        }
    }
}

/// Prints a map from keys to values.
impl<T: fmt::Debug, K: SlabKey, S: Storage> fmt::Debug for PlainSlab<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Equal where the same keys open equal values, whatever the capacity and the
/// next keys.
impl<T, U, K, S, R> PartialEq<PlainSlab<U, K, R>> for PlainSlab<T, K, S>
where
    T: PartialEq<U>,
    K: SlabKey,
    S: Storage,
    R: Storage,
{
    fn eq(&self, other: &PlainSlab<U, K, R>) -> bool {
        self.len() == other.len()
            && self.iter().zip(other).all(|((a, value), (b, other))| {
                (a.index(), a.version()) == (b.index(), b.version()) && value == other
            })
    }
}

impl<T: Eq, K: SlabKey, S: Storage> Eq for PlainSlab<T, K, S> {}

/// Panics: the key opens no value.
#[cold]
#[inline(never)]
#[track_caller]
fn missing(key: impl fmt::Debug) -> ! {
    panic!("there is no value at {key:?}")
}

/// The invariants, walked.
#[cfg(any(test, fuzzing))]
impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Panics where an invariant does not hold.
    pub fn check(&self) {
        assert!(self.used <= self.capacity(), "used-cells: used");
        assert!(self.cells.len() <= self.capacity(), "vacant-stack: room");
        let mut vacant = alloc::collections::BTreeSet::new();
        let (mut retired, mut detached) = (0, 0);
        for index in 0..self.used {
            // SAFETY: by `used-cells` the cell exists.
            let cell = unsafe { self.place(index).as_ref() };
            if !cell.is_occupied() {
                if cell::is_detached(cell.version()) {
                    detached += 1;
                } else if K::Cell::<T>::VERSIONED && cell.version() == cell::RETIRED {
                    retired += 1;
                } else {
                    vacant.insert(index);
                }
            }
        }
        for &index in self.cells.free() {
            assert!(
                vacant.remove(&(index as usize)),
                "vacant-stack: {index} is not vacant, or twice"
            );
        }
        assert!(vacant.is_empty(), "vacant-stack: lost slots");
        assert_eq!(self.retired, retired, "vacant-stack: retired");
        assert_eq!(self.detached, detached, "vacant-stack: detached");
    }
}
