//! One slot: an atomic word and a value, addressed by a bare pointer; and the key of the value.
//!
//! The word has, from the top: the generation of the value, or of the next one; two flags; the
//! number of readers. All of it changes at once, so that a thread that enters by a compare-exchange
//! knows that the value exists, is the one that the key means, and stays.
//!
//! ```text
//! 63                      24   23       22      21         0
//! [ generation              | VACANT | REMOVED | readers    ]
//! ```
//!
//! In a slab of more than 2^24 slots the generation begins at bit 30. A [key](SharedKey) has the
//! generation in the same place, and the index of the cell below it.
//!
//! # Invariants
//!
//! * `live-without-vacant`: the value's bytes hold a live `T` exactly while the word has no
//!   `VACANT`. The exception is the one thread that has the cell: the thread that took it from the
//!   map, until it publishes the value, and the thread that claimed the end of the value, until it
//!   frees the cell.
//! * `readers-keep-value`: the value is not written to, moved or dropped while readers are counted.
//!   New readers are counted only for a value without `REMOVED`, or by another reader. The end of a
//!   value is claimed by the one change of the word to `REMOVED` without readers.
//! * `cell-generation-grows`: the generation of a cell begins at 1 and grows by 1 whenever the cell
//!   is freed. After the last generation the cell is never given back to the map, or, in a slab
//!   whose generations wrap, it begins at 1 again. It is never 0. That a generation recurs changes
//!   nothing for the others (`live-without-vacant`, `readers-keep-value`): an exchange that finds
//!   the bits it expects acts on the value that is there then.
//! * `word-apart`: the word is reached through `&AtomicU64`, the value through pointers to the
//!   value. Neither covers the other's bytes.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use super::SharedSlab;
use crate::error::AccessError;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::AtomicU64;
use crate::raw::atomic::Ordering;
use crate::raw::cell;
#[cfg(all(test, not(loom)))]
use crate::sync::counted::AtomicU64;

/// No value: the cell is free, or its value is being created.
const VACANT: u64 = 1 << 23;
/// Removed: there are no new readers, and the last one drops the value.
const REMOVED: u64 = 1 << 22;
const READERS: u64 = REMOVED - 1;
/// The most readers of one value.
pub(super) const MOST_READERS: u64 = READERS;

/// The bits below the generation in a slab of up to 2^24 slots: the index in a key, flags and
/// readers in a word.
pub(super) const LOW_BITS: u32 = 24;
/// The same in a larger slab.
pub(super) const LOW_BITS_OF_LARGE: u32 = 30;

/// The outcome of a request to remove a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// There is no such value, or it was removed before.
    Missing,
    /// It is removed; its last reader drops it.
    Deferred,
    /// It is removed, and the caller has claimed its end.
    Claimed,
}

/// The state of a cell, with its transitions.
#[repr(transparent)]
pub(super) struct Word(AtomicU64);

impl Word {
    /// A cell without a value; its first value gets this generation.
    pub(super) fn vacant(generation: u64) -> Self {
        Word(AtomicU64::new(generation | VACANT))
    }

    /// The generation of the value that is being created; the caller has the cell.
    #[inline(always)]
    pub(super) fn vacant_generation(&self) -> u64 {
        // Relaxed: the cell came from the map, which acquired what was done to it.
        let bits = self.0.load(Ordering::Relaxed);
        debug_assert!(bits & VACANT != 0, "a cell in use was taken");
        bits & !VACANT
    }

    /// Lets the value be found; the caller has the cell, and has written the value.
    #[inline(always)]
    pub(super) fn publish(&self, generation: u64) {
        // Release: pairs with the acquire of each reader, and of the thread that claims the end.
        self.0.store(generation, Ordering::Release);
    }

    /// Makes the cell one without a value, whose next value has this generation; the caller has the
    /// cell. Other threads may take the cell as soon as it is given to the map.
    #[inline(always)]
    pub(super) fn vacate(&self, generation: u64) {
        // Relaxed: giving it to the map releases it; the thread that comes by the key of an earlier
        // value only learns that there is none.
        self.0.store(generation | VACANT, Ordering::Relaxed);
    }

    /// Counts a reader of the value of this generation.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing), [`TooManyReaders`](AccessError::TooManyReaders).
    #[inline(always)]
    pub(super) fn begin_read(&self, generation: u64) -> Result<(), AccessError> {
        // Relaxed: checked by the exchange.
        let mut bits = self.0.load(Ordering::Relaxed);
        loop {
            // Another generation differs above the flags, and each flag is above the readers:
            // one comparison tells them all.
            if bits.wrapping_sub(generation) >= MOST_READERS {
                return Err(why_no_reader(bits, generation));
            }
            // Acquire: pairs with the release in `publish`; other changes of a word with a value
            // are read-modify-writes, which do not intervene. Relaxed where it fails: it is looked
            // at again.
            match self
                .0
                .compare_exchange_weak(bits, bits + 1, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(other) => bits = other,
            }
        }
    }

    /// Counts a reader of the cell's value, whichever that is. Returns its generation, and whether
    /// the reader was admitted; `None` if there is no value, or a removed one.
    pub(super) fn begin_any_read(&self, mask: u64) -> Option<(u64, Result<(), AccessError>)> {
        loop {
            // Relaxed: checked by the exchange in `begin_read`.
            let bits = self.0.load(Ordering::Relaxed);
            if bits & (VACANT | REMOVED) != 0 {
                return None;
            }
            let generation = bits & !mask;
            match self.begin_read(generation) {
                // Replaced since.
                Err(AccessError::Missing) => {}
                result => return Some((generation, result)),
            }
        }
    }

    /// Counts another reader, for a caller that is one. Returns `false` if there are too many.
    #[inline]
    pub(super) fn begin_read_along(&self) -> bool {
        // Relaxed: checked by the exchange.
        let mut bits = self.0.load(Ordering::Relaxed);
        while bits & READERS < MOST_READERS {
            // Relaxed: the caller has acquired the value, and its own end releases.
            match self
                .0
                .compare_exchange_weak(bits, bits + 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(other) => bits = other,
            }
        }
        false
    }

    /// Subtracts a reader. Returns whether it was the last one of a removed value: then the caller
    /// has claimed the end of the value.
    #[inline(always)]
    pub(super) fn end_read(&self) -> bool {
        // Release: pairs with the acquire of the thread that claims the end.
        let before = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(before & READERS != 0, "a reader ends twice");
        before & (REMOVED | READERS) == REMOVED | 1 && self.claim_as_last_reader()
    }

    #[cold]
    fn claim_as_last_reader(&self) -> bool {
        // Acquire: pairs with the release of every other reader's end, and of `publish`. Nothing
        // changes the word any more but its end (`readers-keep-value`).
        let _ = self.0.load(Ordering::Acquire);
        true
    }

    /// Removes the value of this generation.
    #[inline(always)]
    pub(super) fn remove(&self, generation: u64) -> Removal {
        // Without a load first, because usually the value has no readers.
        match self.mark_removed(generation, generation) {
            Ok(()) => Removal::Claimed,
            Err(bits) => self.remove_from(generation, bits),
        }
    }

    /// Removes the value of this generation from a cell that was found to have these bits.
    #[cold]
    #[inline(never)]
    fn remove_from(&self, generation: u64, mut bits: u64) -> Removal {
        loop {
            if bits.wrapping_sub(generation) > MOST_READERS {
                return Removal::Missing;
            }
            match self.mark_removed(generation, bits) {
                Ok(()) if bits == generation => return Removal::Claimed,
                Ok(()) => return Removal::Deferred,
                Err(other) => bits = other,
            }
        }
    }

    /// Marks the value of this generation as removed, if the cell has these bits.
    #[inline(always)]
    fn mark_removed(&self, generation: u64, bits: u64) -> Result<(), u64> {
        debug_assert!(bits.wrapping_sub(generation) <= MOST_READERS);
        // Acquire: pairs with the release of `publish`, and of each reader's end. Relaxed
        // where it fails: it is looked at again.
        self.0
            .compare_exchange(bits, bits | REMOVED, Ordering::Acquire, Ordering::Relaxed)
            .map(drop)
    }

    /// Claims the end of the value of this generation, if it has no readers.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing), [`Borrowed`](AccessError::Borrowed).
    #[inline(always)]
    pub(super) fn take(&self, generation: u64) -> Result<(), AccessError> {
        self.mark_removed(generation, generation)
            .map_err(|bits| why_not_taken(bits, generation))
    }

    /// Removes the value that the caller reads. Returns whether it was not removed before.
    pub(super) fn remove_by_reader(&self) -> bool {
        // Relaxed: the caller's end as a reader follows, and releases.
        self.0.fetch_or(REMOVED, Ordering::Relaxed) & REMOVED == 0
    }

    /// Whether there is a value of this generation that is not removed.
    #[inline(always)]
    pub(super) fn has(&self, generation: u64) -> bool {
        // Relaxed: the result may be outdated by the time it is returned.
        self.0.load(Ordering::Relaxed).wrapping_sub(generation) <= MOST_READERS
    }

    /// The generation of a value that the caller reads, or whose end it has claimed.
    #[inline(always)]
    pub(super) fn generation(&self, mask: u64) -> u64 {
        // Relaxed: it does not change before the value's end.
        self.0.load(Ordering::Relaxed) & !mask
    }

    /// The number of generations that are used up, including that of a value.
    pub(super) fn used_generations(&self, low_bits: u32) -> u64 {
        // Relaxed: only statistics.
        let bits = self.0.load(Ordering::Relaxed);
        (bits >> low_bits) - u64::from(bits & VACANT != 0)
    }

    /// Whether the cell's bytes hold a value, removed or not; the caller has the slab alone.
    pub(super) fn has_any(&self) -> bool {
        // Relaxed: an exclusive borrow comes after all that others did.
        self.0.load(Ordering::Relaxed) & VACANT == 0
    }
}

#[cold]
fn why_no_reader(bits: u64, generation: u64) -> AccessError {
    if bits == generation | MOST_READERS {
        AccessError::TooManyReaders
    } else {
        AccessError::Missing
    }
}

#[cold]
fn why_not_taken(bits: u64, generation: u64) -> AccessError {
    if bits.wrapping_sub(generation) <= MOST_READERS {
        AccessError::Borrowed
    } else {
        AccessError::Missing
    }
}

/// A pointer to a cell, whose stamp is the word.
pub(super) type CellPtr<T> = cell::CellPtr<T, Word, 0>;

/// A cell of a slab that is borrowed for `'a`.
///
/// # Invariants
///
/// * `slot-allocated`: for `'a` the cell is allocated, with its word written (`block-of-cells`).
pub(super) struct Slot<'a, T>(CellPtr<T>, PhantomData<&'a SharedSlab<T>>);

impl<T> Clone for Slot<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<'_, T> {}

impl<'a, T> Slot<'a, T> {
    /// # Safety
    ///
    /// `slot-allocated` holds.
    #[inline(always)]
    pub(super) unsafe fn new(cell: CellPtr<T>) -> Self {
        Slot(cell, PhantomData)
    }

    #[inline]
    pub(super) fn cell(self) -> CellPtr<T> {
        self.0
    }

    #[inline]
    pub(super) fn word(self) -> &'a Word {
        // SAFETY: allocated and written (`slot-allocated`); the borrow meets no other kind of
        // access (`word-apart`).
        unsafe { self.0.stamp().as_ref() }
    }

    /// The address of the value, whether or not there is one.
    #[inline]
    pub(super) fn value(self) -> NonNull<T> {
        // SAFETY: allocated (`slot-allocated`).
        unsafe { self.0.value() }
    }
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(CellPtr::<u64>::SIZE == 16);
#[cfg(not(all(test, loom)))]
const _: () = assert!(CellPtr::<[u64; 8]>::SIZE == 72);

/// The key of a value in a [`SharedSlab`]: 8 bytes, `Copy`; `Option<SharedKey>` has 8 bytes too.
///
/// It contains the slot and its generation: after the value is gone, the key never refers to a
/// value again, even if the slot is reused. The generation has 40 bits, and 34 in a slab of more
/// than 2^24 slots. A slot whose generations are used up is retired, unless the slab was built so
/// that they [wrap](SharedSlab#how-long-a-slab-lasts).
///
/// A key does not name its slab. In another slab it refers to no value, or to the value whose key
/// has the same bits. The same holds for a key that was [made](Self::from_raw) of any bits.
///
/// Keys are ordered by generation, then by slot.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(1);
/// let first = slab.insert("first").unwrap();
/// assert!(slab.remove(first));
/// let second = slab.insert("second").unwrap();
/// assert!(slab.get(first).is_none()); // the same slot, not the same value
/// assert_eq!(*slab.get(second).unwrap(), "second");
/// assert_eq!(size_of_val(&Some(second)), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SharedKey(NonZeroU64);

const _: () = assert!(size_of::<SharedKey>() == 8 && size_of::<Option<SharedKey>>() == 8);

impl SharedKey {
    /// The key of the value with this generation, which is in place and not 0, and this slot.
    #[inline(always)]
    pub(super) fn new(generation: u64, index: usize) -> Self {
        debug_assert!(generation != 0 && generation & index as u64 == 0);
        // SAFETY: generations begin at 1 and are never 0 (`cell-generation-grows`).
        SharedKey(unsafe { NonZeroU64::new_unchecked(generation | index as u64) })
    }

    /// Returns the key's bits, to store or send. They are never 0.
    ///
    /// A poller whose tokens are keys may reserve 0 for tokens that are not connections. If the
    /// capacity is not 2²⁴, it may also reserve `u64::MAX`, which is the last generation of the
    /// slot with that number. On 32-bit targets a token that is a `usize` loses the generation if
    /// it is converted with `as usize`.
    ///
    /// ```
    /// use flatslab::sync::{SharedKey, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(SharedKey::from_raw(key.into_raw()), Some(key));
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        self.0.get()
    }

    /// Returns the key with these bits, or `None` if they are 0.
    ///
    /// A key that no slab returned behaves like one whose value is gone.
    ///
    /// ```
    /// use flatslab::sync::{SharedKey, SharedSlab};
    ///
    /// assert_eq!(SharedKey::from_raw(0), None);
    /// let slab = SharedSlab::<u64>::with_capacity(1);
    /// assert!(slab.get(SharedKey::from_raw(7).unwrap()).is_none());
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_raw(raw: u64) -> Option<Self> {
        match NonZeroU64::new(raw) {
            Some(raw) => Some(SharedKey(raw)),
            None => None,
        }
    }
}

/// Prints the key's bits: `SharedKey(0x1000002)`.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({:#x})", self.0)
    }
}
