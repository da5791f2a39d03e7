//! `SharedSlab`: a bounded slab that threads share.
//!
//! A bitmap of free cells ([`FreeMap`], in `free_map/`), and one atomic word next to each value (`cell.rs`). An
//! insertion and a removal together are three locked operations: take the cell from the map, claim
//! the end of its value, give the cell back. Between them only the thread that has the cell writes
//! to it. A reader takes two: enter by a compare-exchange that includes the generation, and leave.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | `SharedSlab` and its options |
//! | `cell.rs` | a value and its word; keys |
//! | `values.rs` | the life of a value |
//! | `guard.rs` | guards; iteration |
//! | `models.rs` | the loom models |
//!
//! # Invariants
//!
//! Those of `cell.rs`, and:
//!
//! * `block-of-cells`: `block` holds `capacity()` cells of `T` from `cells` on, each with its word
//!   written, as long as the slab lives. They are only reached through pointers from there.
//! * `free-without-value`: `free` has as many cells. A cell in it has no value (`VACANT`), and so
//!   does the cell of a value that is being created.
//! * `guard-counted`: a thread that reads a value through a guard is counted by the value's word
//!   until the guard is dropped.
//! * `cell-state-known`: user code (a destructor, a closure) runs only while each cell is in a
//!   state that all methods know: the cell that it runs for cannot be reached by other threads, and
//!   is freed when it returns or unwinds.
//! * `given-back-once`: a cell is in `given_back` once, from when the last reader of its removed
//!   value, which has claimed the end of that value, puts it there, until a thread takes the cell
//!   out to drop the value.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, who has allocated it"
)]

mod cell;
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
use crate::stats::Stats;
use crate::sync::free_map::FreeMap;
use cell::{CellPtr, LOW_BITS, LOW_BITS_OF_LARGE, Word};

pub use cell::SharedKey;
pub use guard::{Iter, SharedRef};

/// A slab of fixed capacity that threads share: each of them can insert, read and remove values at
/// any time, without locks.
///
/// Use it for values that many threads find by key: sessions, connections, orders in flight. All
/// its memory is allocated and touched at construction. No operation allocates or waits for another
/// thread; only [`memory`](Self::memory) calls the system. If one thread owns the slab and other
/// threads only get single values, a [`BoundedSlab`](crate::BoundedSlab) is faster.
///
/// Values are shared by reference: [`get`](Self::get) returns a guard that keeps the value alive.
/// If a value is [removed](Self::remove) while it has guards, its key is stale at once, and the
/// last guard drops the value on its thread, or leaves that to [`reclaim`](Self::reclaim). To
/// change a value in place, use a `Mutex`, an atomic or the like.
///
/// A slot takes the size of a value and 8 bytes of state, rounded up to the alignment, and about
/// two bits; the slab takes up to 4 KiB. Each thread takes the slot that it freed last, then slots
/// from a region of its own, and then slots of other regions. There is one region for each 64 slots,
/// and 16 at most. Threads that insert all the time compete less if the slab has at least 512 slots
/// for each of them.
///
/// An insertion and a removal together take three locked instructions, wherever the values are, and
/// a guard takes two, as long as threads do not use the same value. Every operation is lock-free:
/// it starts over only if another one has completed.
///
/// # How long an operation takes
///
/// An insertion finds words with free slots through a tree of bitmaps, with one level for each
/// factor of 64 above 64 slots: two levels are enough for 2^18 slots, four for the maximum. An
/// insertion that finds a slot reads at most one word of each level. It writes to the levels only
/// if it takes the last free slot of 64 neighbours, at most twice to each level. A removal writes
/// at most once to each level. An insertion that is refused reads the top and 4 words for each
/// region.
///
/// Other threads add to that. A thread starts over if another one took the slot that it has found,
/// or freed one. A thread that takes the last of 64 slots may hide a free slot at that moment. If
/// there is one such thread, an insertion that is refused changes one word of each level and one
/// more; if there are `n`, and `l` levels, it changes `n (l + 1)` words `n l + 1` times. If there
/// are more than regions, an insertion may read a word for every 64 slots.
///
/// # How long a slab lasts
///
/// A slot has 2^40 − 1 generations, one for each value, or 2^34 − 1 in a slab of more than 2^24
/// slots. After the last one it is retired, so that a key never refers to a later value. A thread
/// that removes each value before it inserts the next, `r` times a second, uses the same slot each
/// time. The slot then lasts
///
/// > (2^40 − 1) / `r` seconds, and `n` slots last `n` times as long.
///
/// At a million values a second a slot lasts 12 days, and 1,000 slots 34 years. At 10 ns for an
/// insertion and a removal, without any other work, a slot lasts 3 hours, and 1,000 slots four
/// months. In a slab of more than 2^24 slots, one slot lasts 3 minutes at 10 ns, and all of them 90
/// years or more. When all slots are retired, the slab stays full. [`wear`](Self::wear) returns how
/// many generations the most worn slot has used, and [`retired_slots`](Self::retired_slots) how
/// many slots are retired.
///
/// Instead, generations may *wrap*, an option of the [builder](Self::builder): after its last
/// generation a slot begins with the first one again, and no slot is retired. Then a key whose
/// value is gone refers to another value once its slot has had 2^40 − 1 (2^34 − 1) more values, for
/// as long as that value lives. No memory becomes unsafe because of that.
///
/// `SharedSlab<T>` is `Send` if `T` is, and `Sync` if `T` is `Send` and `Sync`.
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
    /// The bits of a key that contain the index.
    mask: u64,
    free: FreeMap,
    /// The cells of values that `reclaim` will drop (`given-back-once`).
    given_back: FreeMap,
    /// Cells that are never freed again (`cell-generation-grows`).
    retired: AtomicUsize,
    /// Whether a cell begins with the first generation again after the last one.
    wraps: bool,
    block: Block,
    /// Owns values, and is invariant: values are put in through a shared reference.
    values: PhantomData<UnsafeCell<T>>,
}

// SAFETY: it owns its values, and all other memory that it points to (`block-of-cells`).
unsafe impl<T: Send> Send for SharedSlab<T> {}
// SAFETY: a shared reference gives references to values on any thread (`Sync`), and moves values in
// on one and out on another, or drops them there (`Send`). Everything else is atomic; a value is
// written and moved only by the one thread that has its cell (`live-without-vacant`,
// `readers-keep-value`).
unsafe impl<T: Send + Sync> Sync for SharedSlab<T> {}

// A panic in user code leaves no cell half changed (`cell-state-known`).
impl<T: RefUnwindSafe> RefUnwindSafe for SharedSlab<T> {}

impl<T> SharedSlab<T> {
    /// Creates a slab with `capacity` slots.
    ///
    /// It allocates all the memory that it will ever use, and touches every page of it. A slab with
    /// no slots is always full.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or the slab needs more than `isize::MAX` bytes. If the
    /// allocator refuses, the program aborts, as with `Vec`.
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

    /// Creates a slab with `capacity` slots, or returns an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, the slab needs more than `isize::MAX` bytes, or the allocator
    /// refuses. Nothing is leaked then.
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

    /// Returns a builder, with options for the slab's capacity and memory.
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
            // SAFETY: within the block, as `index` is below the capacity; no one else has the slab
            // yet.
            unsafe {
                let cell = CellPtr::<T>::new(slab.cells.add(index * CellPtr::<T>::SIZE));
                (cell.stamp()).write(Word::vacant(slab.generation_step()));
            }
        }
        Ok(slab)
    }

    /// Returns the number of slots in use. O(capacity / 64).
    ///
    /// A slot is in use if it has a value, even a removed one that guards keep alive, or if a value
    /// is being created for it. The number is exact while no other thread changes it.
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

    /// Returns whether no slot is in use. O(capacity / 64).
    ///
    /// The result is exact while no other thread changes it.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether no slot is free. O(capacity / 64).
    ///
    /// The result is exact while no other thread changes it.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedSlab::<u64>::with_capacity(0).is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.free.count() == 0
    }

    /// Returns the number of slots, including retired ones. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.free.capacity()
    }

    /// Returns the number of slots that are retired because their generations are [used
    /// up](Self#how-long-a-slab-lasts). O(1).
    ///
    /// That happens after 2^40 − 1 values in the same slot, or 2^34 − 1 in a slab of more than 2^24
    /// slots.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedSlab::<u64>::with_capacity(8).retired_slots(), 0);
    /// ```
    #[doc(alias = "retired")]
    #[must_use]
    pub fn retired_slots(&self) -> usize {
        // Relaxed: only statistics.
        self.retired.load(Ordering::Relaxed)
    }

    /// Returns how many generations the most worn slot has used, one for each value that it has
    /// had.
    ///
    /// A slot has 2^40 − 1 of them, or 2^34 − 1 in a slab of more than 2^24 slots. A slot that has
    /// used all of them is [retired](Self::retired_slots); if generations
    /// [wrap](Self#how-long-a-slab-lasts), its count begins at 0 again. The number is exact while
    /// no other thread inserts or removes.
    ///
    /// # Complexity
    ///
    /// O(capacity), so it is meant for diagnostics.
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
        // SAFETY: every caller has an index below the capacity (`block-of-cells`).
        let word = |index| unsafe { self.slot(index) }.word();
        let used = (0..self.capacity()).map(|index| word(index).used_generations(low_bits));
        used.max().unwrap_or(0)
    }

    /// Returns the figures of the slab: values, slots, bytes. Does not allocate, and does not call
    /// the system.
    ///
    /// The figures are exact while no other thread changes the slab.
    ///
    /// # Complexity
    ///
    /// O(capacity / 64).
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::with_capacity(8);
    /// slab.insert(7).unwrap();
    /// let stats = slab.stats();
    /// assert_eq!((stats.live, stats.free, stats.retired), (1, 7, Some(0)));
    /// ```
    #[must_use]
    #[doc(alias = "metrics")]
    pub fn stats(&self) -> Stats {
        let (free, retired) = (self.free.count(), self.retired_slots());
        let live = self.capacity().saturating_sub(free + retired);
        Stats {
            retired: Some(retired),
            ..Stats::new(live, free, self.capacity(), self.bytes())
        }
    }

    fn bytes(&self) -> usize {
        self.block.layout().size() + self.free.bytes() + self.given_back.bytes()
    }

    /// Returns a report on the slab's memory: its size, and which of the requested page options
    /// were obtained.
    ///
    /// This is the only method that calls the system. It asks about [the
    /// pages](crate::memory::Pages), which takes microseconds or more, so it is meant for start-up
    /// and for diagnostics.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.bytes(), self.block.source())
    }
}

impl<T> Drop for SharedSlab<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            self.clear();
        }
    }
}

/// Prints the number of slots in use, and of all slots.
impl<T> fmt::Debug for SharedSlab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlab")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// The options of a builder of shared slabs.
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
/// [`build`](Self::build) takes O(capacity), and panics like
/// [`with_capacity`](SharedSlab::with_capacity). The cells and the map of free ones are in memory
/// of the given [pages](Pages), which are all touched at construction.
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
    /// Sets the number of slots, 0 by default.
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
    /// instead of being [retired](SharedSlab::retired_slots).
    ///
    /// See [how long a slab lasts](SharedSlab#how-long-a-slab-lasts).
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
