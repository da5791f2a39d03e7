//! `SharedSlab`: a bounded slab that threads share.
//!
//! A bitmap of free cells ([`FreeMap`]), and one atomic word beside each value (`cell.rs`).
//! An insertion and a removal together are three locked operations: take the cell from the
//! map, claim the end of its value, give the cell back. What is in between is written by the one thread
//! that has the cell. A reader is two: enter by a compare-exchange that has the generation in
//! it, and leave.
//!
//! # Invariants
//!
//! Those of `cell.rs` (S), and:
//!
//! * H1: `block` holds `capacity()` cells of `T` from `cells` on, each with its word written, as
//!   long as the slab lives. They are reached through pointers from there alone.
//! * H2: `free` has as many cells. A cell that is in it has no value (`VACANT`); so has the
//!   cell of a value that is being made.
//! * H3: who reads a value through a guard is counted by its word until the guard ends.
//! * H4: user code (a destructor, a closure) runs only while each cell is in a state that all
//!   methods know: the cell it runs for is in no one's reach, and is freed when it returns
//!   or unwinds.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, who has allocated it"
)]

mod cell;
mod ends;
mod guard;
mod iter;
mod key;
#[cfg(all(test, loom))]
mod models;
mod options;
mod removal;
#[cfg(all(test, not(loom)))]
mod tests;

use alloc::sync::Arc;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::panic::RefUnwindSafe;
use core::ptr::NonNull;

use crate::error::{AccessError, AllocError, CapacityError, Full};
use crate::raw::atomic::{AtomicUsize, Ordering};
use crate::raw::chunk;
use crate::raw::free_map::FreeMap;
use crate::raw::memory::{self, Block};
use crate::raw::report::Report;
use crate::raw::source::Source;
use cell::{CellPtr, LOW_BITS, LOW_BITS_OF_LARGE, Word};
use ends::Taken;

pub use guard::{OwnedRef, SharedGuard, SharedRef};
pub use iter::Iter;
pub use key::SharedKey;

/// A slab of fixed capacity that threads share: any of them inserts, reads and removes values
/// at any time, without locks.
///
/// It is for values that are found by key from many threads: sessions, connections, orders in
/// flight. All its memory is allocated and touched when it is made, and no operation
/// allocates or waits for another thread; none but [`memory`](Self::memory) calls the system.
/// Where one thread owns the slab and others only get single values, a
/// [`BoundedSlab`](crate::BoundedSlab) is faster.
///
/// Values are shared by reference: [`get`](Self::get) returns a guard that keeps the value
/// alive. A value that is [removed](Self::remove) while guards are there is gone for everyone
/// else at once, and is dropped by the last guard, on its thread. What is to be changed in
/// place has to be a `Mutex`, an atomic or the like.
///
/// A slot costs the size of a value and 8 bytes of state, rounded up to the value's alignment,
/// or to that of the state, and about one bit; the slab up to 2 KiB. Each thread takes the slot that it freed last, then slots from a region of its own as long as
/// there are some, and the others' before an insertion is refused. There are up to 16 regions;
/// threads that insert all the time meet less in a slab of 512 slots for each of them than in a
/// smaller one. An insertion and a removal take three locked instructions together, wherever the
/// values are, a guard two, as long as threads do not meet at the same value. Every operation is
/// lock-free: one that has to start over was overtaken by another that was done.
///
/// # How long an operation takes
///
/// The words that have free slots are found by a tree of bitmaps, one level for each factor of 64
/// above 64 slots: two levels are enough for 2^18 slots, four for all. An insertion that finds a
/// slot reads at most one word of each level; it writes to them only if it takes the last free
/// slot of 64 neighbours, at most twice to each. A removal writes at most once to each. An
/// insertion that is refused reads the top and 3 words for each of the 16 regions, in a slab of
/// any size. More is read only because of other threads: for each that is in the midst of an
/// insertion which takes the last of 64, one word for each level; and a thread begins again when
/// another has taken the slot it found. If more than 16 threads (as many as there are regions)
/// are in the midst of such insertions, one that comes then may look at every 64 slots.
///
/// # How long a slab lasts
///
/// A slot is retired after 2^40 values, or 2^34 in a slab of more than 2^24 slots, so that a key
/// never leads to a later value. One thread that inserts and removes at 10 ns a pair uses the
/// same slot again each time: 2^40 × 10 ns is about 3 hours, and then a slab of one slot is full
/// for good. With 1,000 slots it is 1,000 × 3 hours, four months of nothing else; at a million
/// pairs a second a single slot lasts 12 days, and 1,000 of them 34 years. In a large slab a
/// slot lasts 3 minutes at 10 ns, and 2^24 of them 90 years. See [`retired`](Self::retired).
///
/// `SharedSlab<T>` is `Send` where `T` is, and `Sync` where `T` is `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::thread;
///
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(1000);
/// let counter = slab.insert(AtomicU64::new(0)).unwrap();
/// thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             let mine = slab.insert(AtomicU64::new(1)).unwrap();
///             let count = slab.get(counter).unwrap();
///             count.fetch_add(slab.get(mine).unwrap().load(Ordering::Relaxed), Ordering::Relaxed);
///             assert!(slab.remove(mine));
///         });
///     }
/// });
/// assert_eq!(slab.try_take(counter).unwrap().into_inner(), 2);
/// assert!(slab.is_empty());
/// ```
pub struct SharedSlab<T> {
    cells: NonNull<u8>,
    /// The bits of a key that are the index.
    mask: u64,
    free: FreeMap,
    /// Cells that are never freed again (S3).
    retired: AtomicUsize,
    block: Block,
    /// Owns values, and is invariant: they are put in through a shared reference.
    values: PhantomData<UnsafeCell<T>>,
}

// SAFETY: it owns its values, and what else it points to is its own (H1).
unsafe impl<T: Send> Send for SharedSlab<T> {}
// SAFETY: a shared reference gives references to values on any thread (`Sync`), and moves values
// in on one and out on another, or drops them there (`Send`). All else is atomic; a value is
// written and moved only by the one thread that has its cell (S1, S2).
unsafe impl<T: Send + Sync> Sync for SharedSlab<T> {}

// A panic in user code leaves no cell half changed (H4).
impl<T: RefUnwindSafe> RefUnwindSafe for SharedSlab<T> {}

impl<T> SharedSlab<T> {
    /// A slab of `capacity` slots; O(capacity). Allocates everything it will ever use, and
    /// touches every page of it. A slab of no slots is always full.
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or its bytes pass `isize::MAX`. Where the allocator
    /// refuses the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// A slab of `capacity` slots, like [`with_capacity`](Self::with_capacity); never panics
    /// or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, its bytes pass `isize::MAX`, or the allocator refuses;
    /// nothing is leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// assert!(SharedSlab::<u64>::try_with_capacity(8).is_ok());
    /// assert!(SharedSlab::<u64>::try_with_capacity(1 << 30).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_new_in(capacity, &Source::GLOBAL)
    }

    /// A slab with memory from `source`.
    fn try_new_in(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = chunk::layout(CellPtr::<T>::LAYOUT, capacity)?;
        let block = chunk::allocate(layout, source)?;
        let free = FreeMap::try_new(capacity, source)?;
        let is_large = capacity > 1 << LOW_BITS;
        let low_bits = if is_large {
            LOW_BITS_OF_LARGE
        } else {
            LOW_BITS
        };
        let slab = SharedSlab {
            cells: block.start(),
            mask: (1 << low_bits) - 1,
            free,
            retired: AtomicUsize::new(0),
            block,
            values: PhantomData,
        };
        for index in 0..capacity {
            // SAFETY: below the capacity; no one else has the slab yet.
            unsafe {
                let word = slab.cell(index).word_place();
                word.write(Word::vacant(slab.generation_step()));
            }
        }
        Ok(slab)
    }

    /// Puts a value into a free slot; O(1), no allocation, no matter how full the slab is or
    /// where values were removed (see [above](Self#how-long-an-operation-takes)).
    ///
    /// While other threads insert and remove, it is refused if each slot was taken at some
    /// moment of the call. So it is never refused while a slot is free all the time, also if
    /// another thread was stopped in the midst of anything; and if no other thread does anything,
    /// it is refused if and only if each slot is taken. A slot is taken while it has a value, also a removed one that
    /// guards keep alive, and while [`insert_with`](Self::insert_with) makes one.
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Full;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8), Err(Full(8)));
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// ```
    #[inline]
    pub fn insert(&self, value: T) -> Result<SharedKey, Full<T>> {
        let Some(index) = self.free.take() else {
            return Err(Full(value));
        };
        // SAFETY: taken from the map, so below the capacity (H1), without a value, and ours
        // until it is published (S1).
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            cell.value().write(value);
            cell.word().publish(generation);
            Ok(SharedKey::new(generation, index))
        }
    }

    /// Builds a value that knows its key; O(1) besides `f`, no allocation.
    ///
    /// The slot is reserved while `f` runs, and there is no value at the key. `f` may use the
    /// slab. If it panics the slot is given back, and nothing comes to that key any more.
    /// When no slot is free, `f` is not called.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert_with(|key| key).unwrap();
    /// assert_eq!(*slab.get(key).unwrap(), key);
    /// assert!(slab.insert_with(|key| key).is_err());
    /// ```
    #[inline]
    pub fn insert_with<F>(&self, f: F) -> Result<SharedKey, CapacityError>
    where
        F: FnOnce(SharedKey) -> T,
    {
        let Some(index) = self.free.take() else {
            return Err(CapacityError::new(self.capacity(), None));
        };
        // SAFETY: as in `insert`; if `f` unwinds, it is still without a value.
        unsafe {
            let cell = self.cell(index);
            let generation = cell.word().vacant_generation();
            let key = SharedKey::new(generation, index);
            let taken = Taken {
                slab: self,
                index,
                generation,
            };
            cell.value().write(f(key));
            core::mem::forget(taken);
            cell.word().publish(generation);
            Ok(key)
        }
    }

    /// The value of a key; O(1), no allocation. It stays as long as the guard, no matter who removes
    /// it.
    ///
    /// `None` where there is none: it was removed, or never was.
    ///
    /// # Panics
    ///
    /// With 4,194,303 guards of the value. [`try_get`](Self::try_get) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get(key).unwrap();
    /// assert!(slab.remove(key) && slab.get(key).is_none());
    /// assert_eq!(*guard, 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: SharedKey) -> Option<SharedRef<'_, T>> {
        match self.try_get(key) {
            Ok(guard) => Some(guard),
            Err(AccessError::Missing) => None,
            Err(error) => refused(key, error),
        }
    }

    /// The value of a key, like [`get`](Self::get); never panics.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing), and
    /// [`TooManyReaders`](AccessError::TooManyReaders) with 4,194,303 of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(*slab.try_get(key).unwrap(), 7);
    /// slab.remove(key);
    /// assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
    /// ```
    #[inline]
    pub fn try_get(&self, key: SharedKey) -> Result<SharedRef<'_, T>, AccessError> {
        let (cell, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        // SAFETY: allocated as long as the slab is (H1).
        unsafe { cell.word().begin_read(generation)? };
        // SAFETY: the reader that was counted.
        Ok(unsafe { SharedRef::new(self, cell) })
    }

    /// The value of a key, with a guard that holds the slab: for threads and tasks that have
    /// no scope. O(1), no allocation; counts in the `Arc` too.
    ///
    /// A value that holds a guard of its own slab keeps itself and the slab alive for ever, as
    /// with any cycle of `Arc`s.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    ///
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get_owned(key).unwrap();
    /// drop(slab);
    /// assert_eq!(thread::spawn(move || *guard).join().unwrap(), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_owned(self: &Arc<Self>, key: SharedKey) -> Option<OwnedRef<T>> {
        let guard = self.get(key)?;
        let cell = guard.into_cell();
        // SAFETY: the reader that was counted, whose guard is given up.
        Some(unsafe { OwnedRef::new(self.clone(), cell) })
    }

    /// Whether there is a value at the key; O(1). Another thread may remove it the moment
    /// after.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert!(slab.contains_key(key));
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_key(&self, key: SharedKey) -> bool {
        // SAFETY: allocated as long as the slab is (H1).
        self.locate(key)
            .is_some_and(|(cell, generation)| unsafe { cell.word().has(generation) })
    }

    /// The value of a key, to be changed; O(1). The exclusive borrow excludes guards, but for
    /// those that were forgotten.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let mut slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// *slab.get_mut(key).unwrap() += 1;
    /// assert_eq!(*slab.get(key).unwrap(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: SharedKey) -> Option<&mut T> {
        let (cell, generation) = self.locate(key)?;
        // SAFETY: the value is there, and with the slab it is borrowed exclusively: guards that
        // are still counted were forgotten, and cannot be used.
        unsafe { (cell.word().has(generation)).then(|| cell.value().as_mut()) }
    }

    /// The values there are, each with its key and a guard, in the order of slots; O(capacity)
    /// for all. Each slot is looked at once: what other threads insert or remove at the same time may
    /// or may not be among them.
    ///
    /// # Panics
    ///
    /// Its `next` panics as [`get`](Self::get) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(8);
    /// let keys = [1, 2, 3].map(|number| slab.insert(number).unwrap());
    /// for (key, value) in &slab {
    ///     if *value == 2 {
    ///         assert!(slab.remove(key));
    ///     }
    /// }
    /// assert_eq!(slab.iter().map(|(_, value)| *value).sum::<i32>(), 4);
    /// # let _ = keys;
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// The number of slots in use: with a value, also a removed one that guards keep alive, or
    /// with one being made. O(capacity / 64); exact while no other thread changes it.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::with_capacity(8);
    /// slab.insert(7).unwrap();
    /// assert_eq!(slab.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Both may have changed in between.
        (self.capacity() - self.free.count()).saturating_sub(self.retired())
    }

    /// Whether no slot is in use; O(capacity / 64), as [`len`](Self::len).
    ///
    /// ```
    /// assert!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no slot is free; O(capacity / 64), exact while no other thread changes it.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedSlab::<u64>::with_capacity(0).is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free.count() == 0
    }

    /// The number of slots, those in use, the free and the retired ones; O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.free.capacity()
    }

    /// Returns the number of slots that are retired because their generations have run out:
    /// after 2^40 values in the same slot, or 2^34 in a slab of more than 2^24 slots. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).retired(), 0);
    /// ```
    #[must_use]
    pub fn retired(&self) -> usize {
        // Relaxed: a figure for people.
        self.retired.load(Ordering::Relaxed)
    }

    /// What memory the slab has, and what was obtained of what was asked for. The only method
    /// that calls the system: it asks about [its pages](crate::memory::Pages), which takes
    /// microseconds or more. For the start and for diagnostics.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.block.layout().size() + self.free.bytes();
        Report::new(bytes, self.block.source())
    }
}

impl<T> Drop for SharedSlab<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            self.clear();
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refused(key: SharedKey, error: AccessError) -> ! {
    panic!("access was refused for {key:?}: {error}")
}

/// Prints the number of slots in use, and of all.
impl<T> fmt::Debug for SharedSlab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlab")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<'a, T> IntoIterator for &'a SharedSlab<T> {
    type Item = (SharedKey, SharedRef<'a, T>);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
