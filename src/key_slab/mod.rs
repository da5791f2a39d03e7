//! `KeySlab`: a container with stable keys and plain references.
//!
//! Use it like a `Vec` whose indices stay valid: with `&mut self`, `&T` and `slab[key]`; it is
//! `Send` and `Sync` if its values are. Its methods have the names of the `slab` crate wherever
//! they mean the same, so moving a program changes a type and its `usize`s. Unlike in that crate,
//! an insertion does not wait for a cold cell, keys may have a type of your own
//! ([`key_type!`](crate::key_type)) or generations ([`GenKey`]), and a snapshot restores values
//! under their own keys.
//!
//! | you have | use |
//! |---|---|
//! | an unbounded number of values | [`KeySlab`]: grows as a `Vec` does; values may move then, and keys stay valid |
//! | a bounded number, or values that must not move | [`BoundedKeySlab`]: allocated at construction; a full slab returns [`FullError`] |
//! | the same without an allocator: in a static, on the stack, in a struct | [`KeySlabStorage`] |
//! | an unbounded number, and growth that copies nothing | `grow_in_place` of its [builder](KeySlab::builder) (Linux, feature `os-memory`), or a [tracked slab](crate::Slab) |
//! | more data about some of the values, stored apart from them | a [`SecondarySlab`] |
//! | `Clone` values, and a way back to earlier states: rollback, speculation, backtracking | a [`CheckpointSlab`]: a frame costs what it changes; for several slabs and their secondary slabs a [`SlabGroup`] |
//! | keys that may be used after their value was removed | `KeySlab<T, `[`GenKey`]`>` |
//! | several slabs whose keys must not be mixed up | a [`key_type!`](crate::key_type) for each |
//! | owners that drop their value, or values shared while some are borrowed | a [tracked slab](crate::TrackedSlab) instead |
//!
//! # What it costs
//!
//! A slot takes an `Option<T>`, which is no larger than `T` if `T` has a niche. With [`GenKey`] it
//! takes a `T` and 4 bytes, rounded up to the alignment of `T` (at least 4 bytes). The stack of
//! free slots takes 4 bytes more for each slot.
//!
//! An empty slab is 64 bytes and does not allocate. The first insertion allocates four slots (one,
//! if a slot takes more than 1 KiB). Every operation is O(1) and does not allocate unless its
//! documentation says otherwise. An insertion that grows a [`KeySlab`] allocates memory for twice
//! as many values, and may copy the present ones. If the allocator refuses, the program aborts, as
//! with `Vec`; `try_insert` returns the value instead.
//!
//! # When an insertion may fault
//!
//! The system provides memory page by page, when it is first touched. A [`KeySlab`] does not touch
//! memory before it is used, so the first insertion into a page may cause a page fault, unless
//! [`prepare`](KeySlab::prepare) has touched the page. An insertion that grows the slab may also
//! wait for the allocator, and for a copy of the values. A [`BoundedKeySlab`] touches all its
//! memory at construction, so no insertion faults, unless the slab was built `lazy` or deserialized
//! from a snapshot. The memory of a [`KeySlabStorage`] is touched when it is used, or by `prepare`.
//! Memory from [`Pages`](crate::memory::Pages) of the system is populated when it is allocated.
//!
//! # Invariants
//!
//! * `used-cells`: the cells below `used` exist, those from there on are uninitialised;
//!   `used <= capacity`.
//! * `vacant-stack`: the stack has the index of each vacant cell once, except those of retired
//!   cells, of which there are `retired`, and those of cells kept for detached values, of which
//!   there are `detached`. It has room for `capacity` indices.
//! * `whole-key-slab`: no user code runs while one of these does not hold, except for destructors of
//!   values that a rewind or a difference replaces: they do not reach the slab, and the rest is done even
//!   if one panics.

// | file | content |
// |---|---|
// | `key.rs`, `cell.rs` | plain keys, keys with generations, key types of the user's own; the cell for each |
// | `cells.rs` | the memory: cells, and the free indices |
// | `insert.rs`, `generations.rs` | insertion with growth, entries; slots whose generations are used up, detached values |
// | `iter.rs`, `many.rs` | iteration, by reference and by value; operations on several values at once, or all |
// | `restore.rs`, `snapshot.rs`, `as_map.rs` | values under keys they had; snapshots; the format of the `slab` crate |
// | `growable.rs`, `bounded.rs`, `options.rs` | what differs between the kinds of slab, and the memory of a bounded slab in a static |
// | `convert.rs` | slabs made of the values of another one |
// | `secondary.rs`, `secondary_entry.rs` | more data about the values of another slab; the place of an entry |
// | `checkpoint.rs`, `part.rs` | slabs that return to earlier states together; what can be one of them |
// | `undo_log.rs`, `undo.rs` | the log of what changed in a slab; how the slab undoes it |
// | `logged.rs`, `logged_restore.rs`, `logged_secondary.rs` | a slab whose changes are logged, values under keys they had, and a secondary slab |
// | `difference.rs` | what changed since a checkpoint, for a replica |

#[cfg(feature = "serde")]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub mod as_map;
mod bounded;
mod cell;
mod cells;
#[cfg(feature = "alloc")]
mod checkpoint;
#[cfg(feature = "alloc")]
mod convert;
#[cfg(feature = "alloc")]
mod difference;
mod generations;
#[cfg(feature = "alloc")]
mod growable;
mod insert;
mod iter;
mod key;
#[cfg(feature = "alloc")]
mod logged;
#[cfg(feature = "alloc")]
mod logged_restore;
#[cfg(feature = "alloc")]
mod logged_secondary;
mod many;
#[cfg(feature = "alloc")]
mod options;
#[cfg(feature = "alloc")]
mod part;
mod restore;
#[cfg(feature = "alloc")]
mod secondary;
#[cfg(feature = "alloc")]
mod secondary_entry;
#[cfg(feature = "serde")]
mod snapshot;
#[cfg(feature = "alloc")]
mod undo;
#[cfg(feature = "alloc")]
mod undo_log;

use core::alloc::Layout;
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
use crate::stats::Stats;

#[cfg(doc)]
use crate::error::FullError;
#[cfg(doc)]
use crate::key::Key;

#[doc(no_inline)]
pub use crate::error::DisjointError;
pub use bounded::{BoundedKeySlab, KeySlabStorage};
#[cfg(feature = "alloc")]
pub use checkpoint::{CheckpointSlab, RewindError, SlabGroup};
#[cfg(feature = "alloc")]
pub use difference::{Changes, Patch, PatchError};
#[cfg(feature = "alloc")]
pub use growable::KeySlab;
pub use insert::VacantEntry;
pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
#[doc(hidden)]
pub use key::NamedKey;
#[cfg(feature = "alloc")]
pub(crate) use key::is_older;
pub use key::{GenKey, GenerationKey, SlabKey};
#[cfg(feature = "alloc")]
pub use logged::{ChangeError, CheckpointIterMut, Logged, LoggedSlab};
#[cfg(feature = "alloc")]
pub use logged_secondary::LoggedSecondary;
pub use many::{GetMany, RemoveMany};
#[cfg(feature = "alloc")]
pub use part::Part;
pub use restore::InsertAtError;
#[cfg(feature = "alloc")]
pub use secondary::{Join, JoinMut, SecondaryDrain, SecondarySlab};
#[cfg(feature = "alloc")]
pub use secondary_entry::{OccupiedSecondary, SecondaryEntry, VacantSecondary};
#[cfg(feature = "serde")]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub use snapshot::Restore;
#[cfg(feature = "alloc")]
pub use undo_log::Checkpoint;

/// The kind of memory of a [`PlainSlab`]: [`Growable`], [`Bounded`] or [`InStorage`].
///
/// This trait is sealed.
#[expect(
    private_interfaces,
    reason = "sealed: no one else can name the constant's type"
)]
pub trait Storage {
    #[doc(hidden)]
    const CAPACITY: CapacityKind;
}

/// What a capacity does when it is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CapacityKind {
    Fixed,
    Grows,
}

impl CapacityKind {
    #[inline(always)]
    const fn is_fixed(self) -> bool {
        matches!(self, CapacityKind::Fixed)
    }
}

/// A kind of memory with a fixed capacity: [`Bounded`] or [`InStorage`].
///
/// This trait is sealed.
pub trait FixedStorage: Storage {}

/// The memory of a [`BoundedKeySlab`]: a fixed capacity.
#[derive(Debug)]
pub enum Bounded {}

/// A fixed capacity in a [`KeySlabStorage`] that is borrowed for `'s`.
#[derive(Debug)]
pub struct InStorage<'s>(PhantomData<&'s ()>);

/// The memory of a [`KeySlab`]: a capacity that grows with the values.
#[derive(Debug)]
pub enum Growable {}

#[expect(private_interfaces, reason = "as above")]
impl Storage for Bounded {
    const CAPACITY: CapacityKind = CapacityKind::Fixed;
}

#[expect(private_interfaces, reason = "as above")]
impl Storage for InStorage<'_> {
    const CAPACITY: CapacityKind = CapacityKind::Fixed;
}

#[expect(private_interfaces, reason = "as above")]
impl Storage for Growable {
    const CAPACITY: CapacityKind = CapacityKind::Grows;
}

impl FixedStorage for Bounded {}
impl FixedStorage for InStorage<'_> {}

/// Values of one type under stable keys, accessed by plain references: the generic type of
/// [`KeySlab`] and [`BoundedKeySlab`].
///
/// - [`KeySlab`]`<T>` has [`Growable`] memory: it grows as a `Vec` does.
/// - [`BoundedKeySlab`]`<T>` has [`Bounded`] memory: a fixed capacity, and no value ever moves.
/// - A slab with [`InStorage`] memory is the same in a [`KeySlabStorage`] that it borrows.
///
/// The constructors and insertion methods that differ are documented on the aliases. `K` is the
/// type of the keys: [`Key`] by default, [`GenKey`], or a type that [`key_type!`](crate::key_type)
/// declares. The [module](self) says when to use it and what it costs.
///
/// Slots are reused last in, first out; a new slab returns ascending keys from 0. The key that an
/// insertion returns depends only on the previous calls, never on the allocator.
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
    /// The cells, of type `K::Cell<T>`.
    cells: Cells,
    used: usize,
    retired: u32,
    detached: u32,
    /// The highest version of the cells that were cut off. Cells after `used` start with it.
    floor: u32,
    tally: Tally,
    /// Covariant in `T`.
    values: PhantomData<T>,
    keys: InKeys<K>,
    storage: PhantomData<fn() -> S>,
}

/// The number of refused insertions, and whether a slot that has used its last generation starts
/// again with the first one: one word, because a slab has 64 bytes and no others to spare.
#[derive(Clone, Copy)]
struct Tally(u32);

impl Tally {
    const NONE: Tally = Tally(0);

    const WRAPS: u32 = 1;

    fn wraps(self) -> bool {
        self.0 & Self::WRAPS != 0
    }

    fn set_wraps(&mut self, wraps: bool) {
        self.0 = self.0 & !Self::WRAPS | u32::from(wraps);
    }

    fn refusals(self) -> u32 {
        self.0 >> 1
    }

    /// Starts again from 0 after the largest number: a number that stopped would hide from a rate
    /// that the slab still refuses. One instruction, also where a value waits in registers.
    #[inline(always)]
    fn note_refusal(&mut self) {
        self.0 = self.0.wrapping_add(2);
    }
}

/// Invariant in `K`: a subtype of a key type is another type, whose cells may be
/// of another kind.
type InKeys<K> = PhantomData<fn(K) -> K>;

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// The layout of a cell.
    const CELL: Layout = Layout::new::<K::Cell<T>>();

    #[cfg(feature = "alloc")]
    const fn new_in(source: Source) -> Self {
        Self::in_cells(Cells::empty(source, Self::CELL))
    }

    /// Creates a slab without values over memory for cells of type `K::Cell<T>`.
    const fn in_cells(cells: Cells) -> Self {
        PlainSlab {
            cells,
            used: 0,
            retired: 0,
            detached: 0,
            floor: 0,
            tally: Tally::NONE,
            values: PhantomData,
            keys: PhantomData,
            storage: PhantomData,
        }
    }

    /// Creates an empty slab with memory for exactly `capacity` values.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded, or the source refuses.
    #[cfg(feature = "alloc")]
    fn try_with_exact_capacity(
        capacity: usize,
        source: &Source,
        to_range: bool,
    ) -> Result<Self, AllocError> {
        let mut slab = Self::new_in(source.clone());
        slab.cells.set_to_range(to_range);
        // SAFETY: the slab is new: no cell is initialised, and no index is on the stack.
        unsafe { slab.cells.try_resize(Self::CELL, 0, capacity)? };
        Ok(slab)
    }

    /// Whether a slot that has used its last generation starts again with the first one.
    #[inline(always)]
    fn wraps(&self) -> bool {
        self.tally.wraps()
    }

    fn set_wraps(&mut self, wraps: bool) {
        self.tally.set_wraps(wraps);
    }

    /// Returns the place of a cell.
    ///
    /// # Safety
    ///
    /// The index is below the capacity, or 0.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> NonNull<K::Cell<T>> {
        // SAFETY: the index is below the capacity (precondition); the cells are of this type.
        unsafe { self.cells.cell(index) }
    }

    /// Borrows all cells that exist. Not for an iterator that has lent a value mutably: it may only
    /// use the cells that it has not visited.
    #[inline]
    fn existing(&self) -> &[K::Cell<T>] {
        // SAFETY: by `used-cells` so many cells exist, one after the other (`cells-block`). What
        // changes them takes `&mut self`.
        unsafe { core::slice::from_raw_parts(self.place(0).as_ptr(), self.used) }
    }

    /// Borrows all cells that exist mutably.
    #[inline]
    fn existing_mut(&mut self) -> &mut [K::Cell<T>] {
        // SAFETY: as in `existing`; `&mut self` is the one borrow.
        unsafe { core::slice::from_raw_parts_mut(self.place(0).as_ptr(), self.used) }
    }

    /// Finds the value of a key. The caller reads the numbers of the key once: a key type of the
    /// user's may return others at the next call.
    #[inline]
    fn find(&self, index: usize, version: u32) -> Option<&T> {
        self.existing().get(index)?.get_of(version)
    }

    /// Finds the value of a key, like [`find`](Self::find), to be changed.
    #[inline]
    fn find_mut(&mut self, index: usize, version: u32) -> Option<&mut T> {
        self.existing_mut().get_mut(index)?.get_mut_of(version)
    }

    /// Returns the number of values. O(1).
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

    /// Returns `true` if there is no value.
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::new().is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots that there is memory for.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "max_capacity")]
    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// Prefetches the value with this key: a hint to the processor, for a value that will be used
    /// soon.
    ///
    /// Accesses no value, checks only the range of keys, and cannot fault. Does nothing on
    /// processors other than x86_64 and aarch64. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let (first, second) = (slab.insert(1), slab.insert(2));
    /// slab.prefetch(second);
    /// assert_eq!(slab[first] + slab[second], 3);
    /// ```
    #[inline]
    pub fn prefetch(&self, key: K) {
        self.prefetch_cell(key.index());
    }

    #[inline(always)]
    fn prefetch_cell(&self, index: usize) {
        if let Some(cell) = self.existing().get(index) {
            prefetch(NonNull::from(cell).cast(), size_of::<K::Cell<T>>());
        }
    }

    /// Returns the number of free slots, into which insertions allocate nothing.
    ///
    /// Slots that are [retired](Self::retired_slots) or kept for a [detached](Self::detached_slots)
    /// value are not free.
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

    /// Returns the figures of the slab: values, slots, bytes, and what was counted.
    ///
    /// # Complexity
    ///
    /// O(1). Does not allocate, and does not call the system.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::with_capacity(2);
    /// slab.insert(7);
    /// let stats = slab.stats();
    /// assert_eq!((stats.live, stats.free, stats.growths), (1, 1, Some(0)));
    /// println!("{stats}");
    /// ```
    #[must_use]
    #[doc(alias = "metrics")]
    pub fn stats(&self) -> Stats {
        Stats {
            peak: Some(self.used),
            refusals: Some(self.tally.refusals().into()),
            #[cfg(feature = "alloc")]
            growths: (!S::CAPACITY.is_fixed()).then(|| self.cells.growths().into()),
            retired: Some(self.retired as usize),
            ..Stats::new(
                self.len(),
                self.free_slots(),
                self.capacity(),
                self.cells.bytes(Self::CELL),
            )
        }
    }

    /// Returns the number of slots up to the last one that has had a value since the slab was
    /// created or shrunk.
    ///
    /// An iteration visits at most this many slots; it ends with the last value. If keys have no
    /// generations, [`clear`](Self::clear) sets the number to 0. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::with_capacity(8);
    /// let key = slab.insert(7);
    /// slab.remove(key);
    /// assert_eq!(slab.used_slots(), 1);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "high_water")]
    pub fn used_slots(&self) -> usize {
        self.used
    }

    /// Returns `true` if no slot is free: the next insertion fails in a bounded slab, and allocates
    /// in a growable one. O(1).
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

    /// Whether no slot is free, and the slab cannot grow.
    pub(crate) fn refuses(&self) -> bool {
        S::CAPACITY.is_fixed() && self.is_full()
    }

    /// Returns `true` if there is a value with this key. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert!(slab.contains(key));
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias("contains_key", "is_valid", "is_alive"))]
    pub fn contains(&self, key: K) -> bool {
        self.find(key.index(), key.version()).is_some()
    }

    /// Borrows the value with this key. Returns `None` if there is no value.
    ///
    /// A plain [`Key`] whose value was removed finds the next value in its slot; a [`GenKey`] does
    /// not. A key of another slab finds the value that has the same key in this slab;
    /// [`key_type!`](crate::key_type) tells the keys of several slabs apart.
    ///
    /// # Complexity
    ///
    /// O(1).
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
        self.find(key.index(), key.version())
    }

    /// Borrows the value with this key mutably. Returns `None` if there is no value, like
    /// [`get`](Self::get). O(1).
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
        self.find_mut(key.index(), key.version())
    }

    /// Borrows the value with this key without a check.
    ///
    /// # Safety
    ///
    /// There is a value with this key: [`contains`](Self::contains) would return `true`. A key type
    /// that is not of this crate returns the same numbers each time.
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

    /// Borrows the value with this key mutably without a check.
    ///
    /// # Safety
    ///
    /// There is a value with this key: [`contains`](Self::contains) would return `true`. A key type
    /// that is not of this crate returns the same numbers each time.
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

    /// Removes the value with this key, returns it, and frees its slot.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key. [`try_remove`](Self::try_remove) returns `None`
    /// instead.
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
    #[doc(alias("free", "erase", "remove_by_key", "release", "pop"))]
    pub fn remove(&mut self, key: K) -> T {
        let (index, version) = (key.index(), key.version());
        match self.find(index, version) {
            // SAFETY: `find` says that the cell is occupied, and has this version.
            Some(_) => unsafe { self.vacate(index, version) },
            None => missing(key),
        }
    }

    /// Removes the value with this key, returns it, and frees its slot. Returns `None` if there is
    /// no value with this key. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.try_remove(key), Some(7));
    /// assert_eq!(slab.try_remove(key), None);
    /// ```
    #[inline]
    #[doc(alias("try_remove_by_key", "take"))]
    pub fn try_remove(&mut self, key: K) -> Option<T> {
        let (index, version) = (key.index(), key.version());
        self.find(index, version)?;
        // SAFETY: `find` says that the cell is occupied, and has this version.
        Some(unsafe { self.vacate(index, version) })
    }

    /// Moves a value out and frees its slot.
    ///
    /// The push comes first, because the next insertion waits for it. The value is read last,
    /// straight into the place where the caller wants it. The caller passes the version in a
    /// register: if insertions and removals alternate, the version in the cell was stored a moment
    /// ago, and the next insertion would wait for that store.
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

    /// Frees or retires a cell whose value has this version. Returns the version that the vacant
    /// cell gets.
    ///
    /// # Safety
    ///
    /// The cell is occupied, or kept for a detached value that is given up; it is vacated next.
    #[inline(always)]
    unsafe fn free(&mut self, index: usize, version: u32) -> u32 {
        let mut next = version + 1;
        if K::Cell::<T>::VERSIONED && next == cell::RETIRED {
            if !self.wraps() {
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

    /// Returns the slot and the version of the next value, if there is memory for it.
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

/// Conversion of a value, or of its slot, to its key.
impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns the key of a value of this slab, from its address alone. O(1).
    ///
    /// # Panics
    ///
    /// Panics if the reference is not to a value of this slab.
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
            None => panic!("key_of was refused: the reference is not to a value of this slab"),
        }
    }

    /// Returns the key of a value of this slab, from its address alone. Returns `None` if the value
    /// is not in this slab. O(1).
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

    /// Returns the key of the value in a slot. Returns `None` if the slot has no value. O(1).
    ///
    /// If keys have generations, values can still link to each other by slot, in 4 bytes instead of
    /// 8: a program that unlinks each value before it removes it never follows a link to a later
    /// value.
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
        let cell = self.existing().get(index)?;
        let key = || K::new(index, cell.version() | 1, Inside);
        cell.is_occupied().then(key)
    }

    /// Borrows the value in the slot with this index, and returns it with its key. Returns `None` if
    /// there is no value. O(1).
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.get_at(key.index()), Some((key, &7)));
    /// assert_eq!(slab.get_at(1), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_at(&self, index: usize) -> Option<(K, &T)> {
        let key = self.key_at(index)?;
        Some((key, self.find(index, key.version())?))
    }

    fn index_of(&self, value: &T) -> Option<usize> {
        let size = size_of::<K::Cell<T>>().max(1);
        let start = self.existing().as_ptr().addr();
        let index = (&raw const *value).addr().wrapping_sub(start) / size;
        // A value of no size may stand at the end of its cell.
        [index, index.wrapping_sub(1)].into_iter().find(|&index| {
            let there = self.value_at(index);
            there.is_some_and(|there| core::ptr::eq(there, value))
        })
    }

    /// Returns the value of a slot that exists.
    fn value_at(&self, index: usize) -> Option<&T> {
        self.existing().get(index)?.get()
    }
}

impl<T, K: SlabKey, S: Storage> Drop for PlainSlab<T, K, S> {
    fn drop(&mut self) {
        /// Frees the block when it is dropped, also if a destructor panics.
        struct Block<'a, T, K: SlabKey, S: Storage>(&'a mut PlainSlab<T, K, S>);

        impl<T, K: SlabKey, S: Storage> Drop for Block<'_, T, K, S> {
            fn drop(&mut self) {
                // SAFETY: the slab ends, and with it the use of its block.
                #[cfg(feature = "alloc")]
                unsafe {
                    self.0.cells.release(PlainSlab::<T, K, S>::CELL);
                }
                // Lent memory stays.
                #[cfg(not(feature = "alloc"))]
                let _ = &self.0;
            }
        }

        let values = self.len();
        Block(self).0.destroy_all(false, values);
    }
}

/// Borrows the value with this key.
///
/// # Panics
///
/// Panics if there is no value with this key.
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

/// Borrows the value with this key mutably.
///
/// # Panics
///
/// Panics if there is no value with this key.
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

/// The number of slots of a slab that are used, while that changes; also if user code panics.
#[cfg(feature = "alloc")]
struct Filled<'a, T, K: SlabKey, S: Storage> {
    slab: &'a mut PlainSlab<T, K, S>,
    used: usize,
}

#[cfg(feature = "alloc")]
impl<'a, T, K: SlabKey, S: Storage> Filled<'a, T, K, S> {
    fn new(slab: &'a mut PlainSlab<T, K, S>, used: usize) -> Self {
        Filled { slab, used }
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey, S: Storage> Drop for Filled<'_, T, K, S> {
    fn drop(&mut self) {
        self.slab.used = self.used;
    }
}

/// A slab that is being filled; settles its stack if that panics (`whole-key-slab`).
#[cfg(feature = "alloc")]
struct Settled<'a, T, K: SlabKey, S: Storage>(&'a mut PlainSlab<T, K, S>);

#[cfg(feature = "alloc")]
impl<T, K: SlabKey, S: Storage> Drop for Settled<'_, T, K, S> {
    fn drop(&mut self) {
        self.0.rebuild_stack();
    }
}

#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns a clone that has at least this many slots, if it can grow.
    #[track_caller]
    fn clone_for(&self, slots: usize) -> Self {
        let mut clone = self.new_like(slots);
        self.clone_to(&mut clone);
        clone
    }

    /// Clones `source` like [`clone_from`](Clone::clone_from), into at least this many slots, if
    /// this slab can grow.
    #[track_caller]
    fn clone_from_for(&mut self, source: &Self, slots: usize) {
        if S::CAPACITY.is_fixed() || self.capacity() >= slots {
            self.clone_from(source);
        } else {
            *self = source.clone_for(slots);
        }
    }

    /// Clones everything into an empty slab with at least as many slots.
    #[inline]
    fn clone_to(&self, clone: &mut Self) {
        debug_assert!(clone.used == 0);
        self.clone_slots_to(clone, |_| 0);
    }

    /// Clones everything into a slab with at least as many slots, into its values where it has some.
    fn clone_over(&self, clone: &mut Self) {
        clone.cells.clear();
        self.clone_slots_to(clone, |clone| {
            let common = clone.used.min(self.used);
            while clone.cut_one(common) {}
            for (index, from) in self.existing()[..common].iter().enumerate() {
                // SAFETY: by `used-cells` the cell exists; versions are those of the other slab's
                // cells, odd exactly if these have a value. User code runs where the cell is whole.
                unsafe {
                    let mut to = clone.place(index);
                    let version = from.version();
                    match (to.as_ref().is_occupied(), from.get()) {
                        (true, Some(value)) => {
                            // First, which may panic: then the old key still finds the value.
                            to.as_mut().value_mut().clone_from(value);
                            to.as_mut().set_version(version | 1);
                        }
                        (true, None) => drop::<T>(K::Cell::vacate(to, version)),
                        (false, Some(value)) => K::Cell::fill(to, version | 1, value.clone()),
                        (false, None) => K::Cell::<T>::write_vacant(to, version),
                    }
                }
            }
            common
        });
    }

    /// Clones everything into a slab without free slots, after `common` has cloned into the slots
    /// that it uses, and returned their number. Settles its stack if that panics.
    #[inline(always)]
    fn clone_slots_to(&self, clone: &mut Self, common: impl FnOnce(&mut Self) -> usize) {
        debug_assert!(clone.capacity() >= self.used);
        clone.floor = self.floor;
        clone.set_wraps(self.wraps());
        let settled = Settled(clone);
        let clone = &mut *settled.0;
        let first = common(clone);
        // Both in registers: what `clone` refers to may be anywhere.
        // SAFETY: the place of the first cell, if there is one.
        let (cells, mut filling) = (unsafe { clone.place(0) }, Filled::new(clone, first));
        for (index, from) in self.existing().iter().enumerate().skip(first) {
            // SAFETY: the clone has at least as many slots, so the index is below its capacity.
            let to = unsafe { cells.add(index) };
            match from.get().cloned() {
                // SAFETY: the cell exists once it is written (`used-cells`). User code runs before.
                Some(value) => unsafe { K::Cell::fill(to, from.version() | 1, value) },
                // SAFETY: as above: the place is allocated, and not used as a cell yet.
                None => unsafe { K::Cell::<T>::write_vacant(to, from.version()) },
            }
            filling.used = index + 1;
        }
        drop(filling);
        clone.cells.copy_stack(&self.cells);
        clone.retired = self.retired;
        clone.detached = self.detached;
        core::mem::forget(settled);
    }
}

#[cfg(feature = "alloc")]
impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Returns an empty slab in memory of the same kind, with as many slots as this one uses, and at
    /// least `slots`; or with as many as this one has, if it cannot grow.
    #[track_caller]
    fn new_like<U>(&self, slots: usize) -> PlainSlab<U, K, S> {
        let capacity = if S::CAPACITY.is_fixed() {
            self.capacity()
        } else {
            self.used.max(slots)
        };
        let (source, to_range) = (self.cells.source(), self.cells.to_range());
        match PlainSlab::try_with_exact_capacity(capacity, source, to_range) {
            Ok(mut slab) => {
                if S::CAPACITY.is_fixed() && self.cells.is_touched() {
                    slab.cells
                        .touch(PlainSlab::<U, K, S>::CELL, self.used..capacity);
                    slab.cells.set_touched();
                }
                slab
            }
            Err(error) => memory::fail(error),
        }
    }
}

/// Clones the values under their keys. The clone also has the same detached slots, and returns the
/// same keys from then on. O(slots used), and O(capacity) if a bounded slab is touched.
///
/// A growable slab allocates memory for the used slots, a bounded slab for its capacity, both from
/// the same [pages](crate::memory::Pages) as the original. If all memory of a bounded slab was
/// touched, at construction or by [`prepare`](PlainSlab::prepare) of all free slots, so is that of
/// the clone. Otherwise (`lazy`, deserialized, in a storage) only used slots are touched.
///
/// The clone of a slab in a [`KeySlabStorage`] is allocated by the global allocator; without the
/// feature `alloc` there is no `clone`.
#[cfg(feature = "alloc")]
impl<T: Clone, K: SlabKey, S: Storage> Clone for PlainSlab<T, K, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.clone_for(0)
    }

    /// Clones the values of `source` into the present memory if it suffices: into the value of the
    /// same slot, by its `clone_from`, where there is one. A bounded slab has the capacity of `source`
    /// afterwards. If cloning a value panics, the slab has the values that were cloned before, and its
    /// own in later slots; if it needed other memory, it is unchanged.
    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        let is_enough = if S::CAPACITY.is_fixed() {
            self.capacity() == source.capacity()
        } else {
            self.capacity() >= source.used
        };
        if is_enough {
            source.clone_over(self);
        } else {
            let (growths, mut tally) = (self.cells.growths(), self.tally);
            *self = source.clone();
            self.cells.set_growths(growths);
            self.cells.note_growth();
            tally.set_wraps(self.wraps());
            self.tally = tally;
        }
    }
}

/// Prints a map from keys to values.
impl<T: fmt::Debug, K: SlabKey, S: Storage> fmt::Debug for PlainSlab<T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Two slabs are equal if they have equal values under the same keys. Their capacities and the keys
/// that they return next may differ.
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

/// Panics because there is no value with this key.
#[cold]
#[inline(never)]
#[track_caller]
fn missing(key: impl fmt::Debug) -> ! {
    panic!("there is no value at {key:?}")
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Panics if an invariant does not hold.
    pub fn check(&self) {
        assert!(self.used <= self.capacity(), "used-cells: used");
        assert!(self.cells.len() <= self.capacity(), "vacant-stack: room");
        let mut vacant = alloc::collections::BTreeSet::new();
        let (mut retired, mut detached) = (0, 0);
        for (index, cell) in self.existing().iter().enumerate() {
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
