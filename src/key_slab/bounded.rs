//! Slabs of fixed capacity: `BoundedKeySlab`, in one block of its own, and `KeySlabStorage`, the
//! memory of such a slab in a static, on the stack or in a struct.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::cells::{Cells, Index};
use super::key::{GenKey, Inside, SlabKey};
use super::{Bounded, FixedStorage, InStorage, PlainSlab, VacantEntry};
use crate::error::{AllocError, FullError};
use crate::key::{Key, MAX_SLOTS};
use crate::raw::atomic::Flag;
#[cfg(feature = "alloc")]
use crate::raw::memory;
#[cfg(feature = "alloc")]
use crate::raw::source::Source;

/// A [`KeySlab`](super::KeySlab) of fixed capacity, allocated and touched at construction. It never
/// allocates or faults afterwards, and no value moves.
///
/// If no slot is free, an insertion fails with [`FullError`] or [`AllocError::Full`]. All other
/// methods are those of [`KeySlab`](super::KeySlab).
///
/// In three cases the memory is not touched at construction: the slab is
/// [built](super::BoundedKeySlab::builder) with `lazy`, deserialized from a snapshot, or in a
/// [`KeySlabStorage`], which needs no allocator. A generous bound then costs only address space,
/// also in a clone of the slab, and the first insertion into a page faults, unless
/// [`prepare`](Self::prepare) has touched the page.
///
/// With [`GenKey`] a slot takes 2^30 − 1 values, and the slab takes `capacity` × (2^30 − 1) values
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
    /// Creates a slab of `capacity` slots, with all its memory allocated and touched, so that no
    /// insertion or removal faults.
    ///
    /// Its keys are [`Key`]s. For keys with generations, or of your own type, call
    /// [`with_capacity_and_key`](PlainSlab::with_capacity_and_key).
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 2^30 or more, or its bytes exceed `isize::MAX`. If the allocator
    /// refuses, the program aborts, as with `Vec`.
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

    /// Creates a slab of `capacity` slots, like [`with_capacity`](Self::with_capacity); never
    /// panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if `capacity` is 2^30 or more, its bytes exceed `isize::MAX`, or the
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
    /// Creates a slab of `capacity` slots, whose keys are of a type of your choice.
    ///
    /// Otherwise like [`with_capacity`](PlainSlab::with_capacity).
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`with_capacity`](PlainSlab::with_capacity) does.
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
    /// Returns an error where [`try_with_capacity`](PlainSlab::try_with_capacity) does.
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

    /// Creates a slab, and touches all its memory.
    pub(super) fn try_touched(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        Self::try_with_exact_capacity(capacity, source, false).map(touched)
    }
}

/// Touches all memory of a slab.
#[cfg(feature = "alloc")]
pub(super) fn touched<T, K: SlabKey>(
    mut slab: PlainSlab<T, K, Bounded>,
) -> PlainSlab<T, K, Bounded> {
    let fresh = slab.used..slab.capacity();
    slab.cells.touch(PlainSlab::<T, K, Bounded>::CELL, fresh);
    slab.cells.set_touched();
    slab
}

impl<T, K: SlabKey, S: FixedStorage> PlainSlab<T, K, S> {
    /// Inserts a value into a free slot, and returns its key.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
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
    #[doc(alias("insert_key", "emplace", "push", "alloc"))]
    pub fn insert(&mut self, value: T) -> Result<K, FullError<T>> {
        self.try_insert(value)
    }

    /// Inserts the value that `value` makes of its key, and returns the key. O(1). If `value` panics,
    /// nothing is inserted.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free; `value` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let key = slab.insert_with_key(|key| key)?;
    /// assert_eq!(slab[key], key);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[inline]
    pub fn insert_with_key(&mut self, value: impl FnOnce(K) -> T) -> Result<K, AllocError> {
        self.try_insert_with_key(value)
    }

    /// Returns the entry of the slot that the next insertion fills, for a value that contains its
    /// own key. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free.
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
    #[doc(alias("vacant_slot", "claim"))]
    pub fn vacant_entry(&mut self) -> Result<VacantEntry<'_, T, K, S>, AllocError> {
        self.try_vacant_entry()
    }

    /// Returns the key that the next insertion will return. Returns `None` if no slot is free.
    /// O(1).
    ///
    /// ```
    /// let mut slab = flatslab::BoundedKeySlab::with_capacity(1);
    /// let key = slab.vacant_key();
    /// assert_eq!(slab.insert(7).ok(), key);
    /// assert_eq!(slab.vacant_key(), None);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "key")]
    pub fn vacant_key(&self) -> Option<K> {
        self.next_place()
            .map(|(index, version)| K::new(index, version, Inside))
    }
}

/// Memory for a [`BoundedKeySlab`] of `N` slots without an allocator: in a static, from which
/// [`claim`](Self::claim) takes the slab, or on the stack or in a struct, from which
/// [`in_storage`](PlainSlab::in_storage) borrows it.
///
/// Its keys have generations, unless a third parameter names another type of key: the tables of
/// firmware are mostly of connections, timers and requests, whose keys are kept elsewhere. A slot
/// takes 2^30 − 1 values, and the slab takes `N` × (2^30 − 1) values before it is
/// [full for good](GenKey#how-long-generations-last). Call
/// [`wrapping_generations`](PlainSlab::wrapping_generations) if the slab must last longer.
///
/// The slab of a static is an ordinary slab, whose methods neither allocate nor free. Only `clone`
/// allocates, with the global allocator; without the feature `alloc` there is no `clone`. Dropping
/// the slab drops its values, but the storage of a static cannot be claimed again.
///
/// In an optimised build, `claim`, `insert`, `get`, `try_remove`, iteration and the other methods
/// that return an [`Option`] or a [`Result`] link no panic code, if the destructors of the values
/// have none.
///
/// # Cost
///
/// A slot takes as much memory as in another slab, and a storage takes one byte more. It is not
/// written to before it is used, so it lies in `.bss` and takes no space in an image.
///
/// # Examples
///
/// ```
/// use flatslab::key_slab::KeySlabStorage;
/// use flatslab::{BoundedKeySlab, GenKey};
///
/// struct Timer { due: u32 }
///
/// static TIMERS: KeySlabStorage<Timer, 64> = KeySlabStorage::new();
///
/// let mut timers: BoundedKeySlab<Timer, GenKey> = TIMERS.claim().expect("not claimed yet");
/// assert!(TIMERS.claim().is_none());
/// let key = timers.insert(Timer { due: 100 }).expect("a free slot");
/// assert_eq!(timers[key].due, 100);
/// timers.remove(key);
/// assert!(timers.get(key).is_none()); // and no later timer, in the same slot
/// ```
///
/// With keys of 4 bytes, without generations:
///
/// ```
/// use flatslab::Key;
/// use flatslab::key_slab::KeySlabStorage;
///
/// static ORDERS: KeySlabStorage<u64, 64, Key> = KeySlabStorage::with_key();
///
/// let mut orders = ORDERS.claim().unwrap();
/// let key: Key = orders.insert(7).unwrap();
/// assert_eq!(orders[key], 7);
/// ```
pub struct KeySlabStorage<T, const N: usize, K: SlabKey = GenKey> {
    memory: UnsafeCell<Memory<K::Cell<T>, N>>,
    claimed: Flag,
    keys: PhantomData<fn(K) -> K>,
}

/// The parts of a block, in its order.
#[repr(C)]
struct Memory<C, const N: usize> {
    cells: [MaybeUninit<C>; N],
    indices: [MaybeUninit<Index>; N],
}

// SAFETY: it has no values: those of an earlier slab in it are lost, and a claimed storage is
// borrowed for `'static` and does not move.
unsafe impl<T, const N: usize, K: SlabKey> Send for KeySlabStorage<T, N, K> {}
// SAFETY: all that a shared storage returns is its slab, once. That has no values yet, and moves to
// another thread only if its values may.
unsafe impl<T, const N: usize, K: SlabKey> Sync for KeySlabStorage<T, N, K> {}

impl<T, const N: usize> KeySlabStorage<T, N> {
    /// Creates a storage that is not used yet, in a constant expression, so that a static can hold
    /// it.
    ///
    /// Its keys are [`GenKey`]s; for others use [`with_key`](KeySlabStorage::with_key). A storage
    /// with more slots than keys can name (2^30 or more) does not compile.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::KeySlabStorage;
    ///
    /// static STORAGE: KeySlabStorage<u64, 16> = KeySlabStorage::new();
    /// # let _ = &STORAGE;
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self::with_key()
    }
}

impl<T, const N: usize, K: SlabKey> KeySlabStorage<T, N, K> {
    const FITS: () = assert!(
        N <= MAX_SLOTS,
        "N must be at most 2^30 - 1 slots, so that each slot has a key"
    );

    /// Creates a storage for a slab whose keys are of a type of your choice, in a constant
    /// expression.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::KeySlabStorage;
    /// use flatslab::key_type;
    ///
    /// key_type!(struct TimerKey(GenKey));
    ///
    /// static TIMERS: KeySlabStorage<u32, 16, TimerKey> = KeySlabStorage::with_key();
    ///
    /// let mut timers = TIMERS.claim().unwrap();
    /// let key: TimerKey = timers.insert(100).unwrap();
    /// assert_eq!(timers[key], 100);
    /// ```
    #[must_use]
    pub const fn with_key() -> Self {
        let () = Self::FITS;
        KeySlabStorage {
            memory: UnsafeCell::new(Memory {
                cells: [const { MaybeUninit::uninit() }; N],
                indices: [const { MaybeUninit::uninit() }; N],
            }),
            claimed: Flag::new(false),
            keys: PhantomData,
        }
    }

    /// Returns the slab of a static at the first call, and `None` at every later call.
    ///
    /// Any thread may call it. Targets without an atomic swap lack this method; use
    /// [`in_storage`](PlainSlab::in_storage) there. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::KeySlabStorage;
    ///
    /// static STORAGE: KeySlabStorage<u64, 16> = KeySlabStorage::new();
    ///
    /// let slab = STORAGE.claim().unwrap();
    /// assert_eq!(slab.capacity(), 16);
    /// assert!(STORAGE.claim().is_none());
    /// ```
    #[cfg(target_has_atomic = "8")]
    pub fn claim(&'static self) -> Option<BoundedKeySlab<T, K>> {
        // Relaxed: one thread makes the first swap, and nothing was written to the memory that
        // another thread would have to see.
        if self
            .claimed
            .swap(true, crate::raw::atomic::Ordering::Relaxed)
        {
            return None;
        }
        // SAFETY: the only claim of a storage that is borrowed for `'static`, so nothing else uses
        // its memory: an earlier slab in it has ended.
        Some(unsafe { PlainSlab::in_memory(self.memory.get()) })
    }
}

impl<'s, T, K: SlabKey> PlainSlab<T, K, InStorage<'s>> {
    /// Creates a slab in a storage that it borrows.
    ///
    /// Its methods are those of a [`BoundedKeySlab`]. When the slab is dropped, the storage can be
    /// used again, with generations that start at 0 again. If the slab is forgotten, its values are
    /// not dropped.
    ///
    /// # Complexity
    ///
    /// O(1); does not write to the memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::{KeySlabStorage, PlainSlab};
    ///
    /// let mut storage = KeySlabStorage::<&str, 16>::new();
    /// let mut slab = PlainSlab::in_storage(&mut storage);
    /// let key = slab.insert("value").unwrap();
    /// assert_eq!((slab[key], slab.capacity()), ("value", 16));
    /// ```
    pub fn in_storage<const N: usize>(storage: &'s mut KeySlabStorage<T, N, K>) -> Self {
        // SAFETY: the storage is borrowed mutably for `'s`, and the slab is used no longer.
        unsafe { Self::in_memory(storage.memory.get_mut()) }
    }
}

impl<T, K: SlabKey, S: FixedStorage> PlainSlab<T, K, S> {
    /// # Safety
    ///
    /// The memory stays, and nothing else uses it, as long as the slab is used.
    unsafe fn in_memory<const N: usize>(memory: *mut Memory<K::Cell<T>, N>) -> Self {
        // SAFETY: a pointer to memory that is there, which has `N` cells of the type and as many
        // indices, and which nothing else uses (precondition). `N` is within the limits (`FITS`).
        let cells = unsafe {
            let cells = NonNull::new_unchecked(&raw mut (*memory).cells);
            let indices = NonNull::new_unchecked(&raw mut (*memory).indices);
            Cells::lent(cells.cast(), indices.cast(), N)
        };
        Self::in_cells(cells)
    }
}

impl<T, const N: usize, K: SlabKey> Default for KeySlabStorage<T, N, K> {
    fn default() -> Self {
        Self::with_key()
    }
}

impl<T, const N: usize, K: SlabKey> fmt::Debug for KeySlabStorage<T, N, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySlabStorage")
            .field("capacity", &N)
            .field("claimed", &self.claimed)
            .finish_non_exhaustive()
    }
}
