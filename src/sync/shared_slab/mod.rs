//! `SharedSlab`: a bounded slab that threads share.
//!
//! A bitmap of free cells ([`FreeMap`]), and one atomic word beside each value (`cell.rs`).
//! An insertion and a removal together are three locked operations: take the cell from the
//! map, claim the end of its value, give the cell back. Between them only the thread that has the
//! cell writes to it. A reader takes two: enter by a compare-exchange that includes the
//! generation, and leave.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | `SharedSlab` and its options |
//! | `free_map/` | the free cells |
//! | `cell.rs` | a value and its word; keys |
//! | `values.rs` | the life of a value |
//! | `guard.rs` | guards; iteration |
//! | `counted.rs`, `models.rs` | atomics that count their changes, for tests; the loom models |
//!
//! # Invariants
//!
//! Those of `cell.rs` (S), and:
//!
//! * `block-of-cells`: `block` holds `capacity()` cells of `T` from `cells` on, each with its word
//!   written, as long as the slab lives. They are reached through pointers from there alone.
//! * `free-without-value`: `free` has as many cells. A cell that is in it has no value (`VACANT`);
//!   so has the cell of a value that is being made.
//! * `guard-counted`: who reads a value through a guard is counted by its word until the guard
//!   ends.
//! * `cell-state-known`: user code (a destructor, a closure) runs only while each cell is in a
//!   state that all methods know: the cell it runs for is in no one's reach, and is freed when it
//!   returns or unwinds.
//! * `given-back-once`: a cell is in `given_back` once, from when the last reader of its removed
//!   value has left the end of that value, which it has claimed, to the thread that takes the cell
//!   from there.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, who has allocated it"
)]

mod cell;
#[cfg(all(test, not(loom)))]
mod counted;
mod free_map;
mod guard;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
mod values;

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::panic::RefUnwindSafe;
use core::ptr::NonNull;

use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::Pages;
use crate::raw::atomic::{AtomicUsize, Ordering};
use crate::raw::chunk;
use crate::raw::memory::{self, Block};
use crate::raw::report::Report;
use crate::raw::source::Source;
use cell::{CellPtr, LOW_BITS, LOW_BITS_OF_LARGE, Word};
use free_map::FreeMap;

pub use cell::SharedKey;
pub use guard::{Iter, SharedRef};

/// A slab of fixed capacity that threads share: each of them inserts, reads and removes values
/// at any time, without locks.
///
/// Use it for values that many threads find by key: sessions, connections, orders in flight.
/// All its memory is allocated and touched when it is made. No operation allocates or waits for
/// another thread; only [`memory`](Self::memory) calls the system. If one thread owns the slab
/// and others only get single values, a [`BoundedSlab`](crate::BoundedSlab) is faster.
///
/// Values are shared by reference: [`get`](Self::get) returns a guard that keeps the value
/// alive. If a value is [removed](Self::remove) while it has guards, its key leads to no value at
/// once, and the last guard drops the value, on its thread, or leaves that to
/// [`reclaim`](Self::reclaim). To change a value in place, use a
/// `Mutex`, an atomic or the like.
///
/// A slot takes the size of a value and 8 bytes of state, rounded up to the value's alignment,
/// or to that of the state, and about two bits; the slab takes up to 4 KiB. Each thread takes the
/// slot that it freed last, then slots from a region of its own, and then those of other regions.
/// There are up to 16 regions; threads that insert all the time compete less in a slab of 512
/// slots for each of them than in a smaller one.
///
/// An insertion and a removal together take three locked instructions, wherever the values are,
/// and a guard two, as long as threads do not use the same value. Every operation is lock-free:
/// it starts over only if another one has completed.
///
/// # How long an operation takes
///
/// The words that have free slots are found by a tree of bitmaps, one level for each factor of 64
/// above 64 slots: two levels are enough for 2^18 slots, four for all. An insertion that finds a
/// slot reads at most one word of each level; it writes to them only if it takes the last free
/// slot of 64 neighbours, at most twice to each. A removal writes at most once to each. An
/// insertion that is refused reads the top and 3 words for each of the 16 regions, in a slab of
/// any size. Other threads add to that: one word for each level, for each thread that is taking
/// the last of 64 slots; and a thread starts over if another one took the slot it has found. If
/// more than 16 threads (the number of regions) are taking the last of 64 slots at once, a
/// further insertion may read a word for every 64 slots.
///
/// # How long a slab lasts
///
/// A slot has 2^40 − 1 generations, one for each value, or 2^34 − 1 in a slab of more than 2^24
/// slots. Then it is retired, so that a key never leads to a later value. A thread that removes each
/// value before it inserts the next, `r` times a second, uses the same slot each time:
///
/// > (2^40 − 1) / `r` seconds a slot, and `n` times as long for `n` slots
///
/// At a million a second a slot lasts 12 days, and 1,000 of them 34 years; at 10 ns a pair 3 hours,
/// and four months of nothing else. Of more than 2^24 slots one lasts 3 minutes at 10 ns, and all
/// of them 90 years. Then the slab is full for good. [`wear`](Self::wear) says how far the most worn
/// slot is, [`retired_slots`](Self::retired_slots) how many are used up.
///
/// Instead, generations may *wrap*, an option of the [builder](Self::builder): after the last one a
/// slot begins with the first one again, and none is retired. Then a key whose value is gone leads
/// to a later one once its slot has had 2^40 − 1 more (2^34 − 1), for as long as that value lives.
/// No memory becomes unsafe by it.
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
    /// The cells of values that are to be dropped by `reclaim` (`given-back-once`).
    given_back: FreeMap,
    /// Cells that are never freed again (`cell-generation-grows`).
    retired: AtomicUsize,
    /// Whether a cell begins with the first generation again after the last one.
    wraps: bool,
    block: Block,
    /// Owns values, and is invariant: they are put in through a shared reference.
    values: PhantomData<UnsafeCell<T>>,
}

// SAFETY: it owns its values, and what else it points to is its own (`block-of-cells`).
unsafe impl<T: Send> Send for SharedSlab<T> {}
// SAFETY: a shared reference gives references to values on any thread (`Sync`), and moves values in
// on one and out on another, or drops them there (`Send`). All else is atomic; a value is written
// and moved only by the one thread that has its cell (`live-without-vacant`, `readers-keep-value`).
unsafe impl<T: Send + Sync> Sync for SharedSlab<T> {}

// A panic in user code leaves no cell half changed (`cell-state-known`).
impl<T: RefUnwindSafe> RefUnwindSafe for SharedSlab<T> {}

impl<T> SharedSlab<T> {
    /// Creates a slab of `capacity` slots; O(capacity). Allocates everything it will ever use,
    /// and touches every page of it. A slab of no slots is always full.
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or its bytes exceed `isize::MAX`. If the allocator
    /// refuses, the program ends, as with `Vec`.
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

    /// Creates a slab of `capacity` slots, like [`with_capacity`](Self::with_capacity); never
    /// panics or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, its bytes exceed `isize::MAX`, or the allocator refuses;
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

    /// A builder of a slab: its capacity, and where its memory comes from.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options {
            capacity: 0,
            wraps: false,
        })
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
            given_back: FreeMap::try_new_empty(capacity, source)?,
            retired: AtomicUsize::new(0),
            wraps: false,
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

    /// Number of slots in use: with a value, also a removed one that guards keep alive, or
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
        (self.capacity() - self.free.count()).saturating_sub(self.retired_slots())
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

    /// Number of slots, including retired ones; O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.free.capacity()
    }

    /// Returns the number of slots that are retired because their generations are
    /// [used up](Self#how-long-a-slab-lasts): after 2^40 − 1 values in the same slot, or 2^34 − 1 in
    /// a slab of more than 2^24 slots. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).retired_slots(), 0);
    /// ```
    #[doc(alias = "retired")]
    #[must_use]
    pub fn retired_slots(&self) -> usize {
        // Relaxed: a figure for people.
        self.retired.load(Ordering::Relaxed)
    }

    /// Returns how many generations the most worn slot has used, of the 2^40 − 1 that a slot has, or
    /// 2^34 − 1 in a slab of more than 2^24 slots: one for each value it has had. O(capacity): for
    /// diagnostics. Exact while no other thread inserts or removes.
    ///
    /// A slot that has used all of them is [retired](Self::retired_slots); where generations
    /// [wrap](Self#how-long-a-slab-lasts), its count begins at 0 again.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::with_capacity(8);
    /// for number in 0..10 {
    ///     let key = slab.insert(number).unwrap();
    ///     slab.remove(key);
    /// }
    /// assert_eq!(slab.wear(), 10);
    /// ```
    #[must_use]
    pub fn wear(&self) -> u64 {
        let low_bits = self.mask.trailing_ones();
        if self.retired_slots() > 0 {
            return u64::MAX >> low_bits;
        }
        // SAFETY: below the capacity.
        let word = |index| unsafe { self.cell(index).word() };
        let used = (0..self.capacity()).map(|index| word(index).used_generations(low_bits));
        used.max().unwrap_or(0)
    }

    /// The slab's memory, and which of the requested page options were obtained. The only method
    /// that calls the system: it asks about [its pages](crate::memory::Pages), which takes
    /// microseconds or more. For the start and for diagnostics.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.block.layout().size() + self.free.bytes() + self.given_back.bytes();
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

/// Prints the number of slots in use, and of all.
impl<T> fmt::Debug for SharedSlab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlab")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// What a builder of shared slabs has set.
#[derive(Clone, Debug)]
pub struct Options {
    capacity: usize,
    wraps: bool,
}

impl<T> Build for SharedSlab<T> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let mut slab = SharedSlab::try_new_in(options.capacity, &source)?;
        slab.wraps = options.wraps;
        Ok(slab)
    }
}

/// Options of a [`SharedSlab`].
///
/// [`build`](Self::build) is O(capacity), and panics as
/// [`with_capacity`](SharedSlab::with_capacity). The [pages](Pages) are those of the cells and of
/// the map of the free ones; the system's are all touched when the slab is made.
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::sync::SharedSlab;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = SharedSlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 100);
/// assert!(SharedSlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<SharedSlab<T>> {
    /// Number of slots; 0 by default.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }

    /// Lets generations wrap: a slot that has used its last one begins with the first one again,
    /// instead of being [retired](SharedSlab::retired_slots). See
    /// [how long a slab lasts](SharedSlab#how-long-a-slab-lasts).
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::<u64>::builder().capacity(8).wrapping_generations().build();
    /// assert!(slab.insert(7).is_ok());
    /// ```
    pub const fn wrapping_generations(mut self) -> Self {
        self.options.wraps = true;
        self
    }
}
