//! `SharedPool`: a bounded pool of values that threads take and give back.
//!
//! Each cell is a value and a word, on cache lines of their own. The word says whether the cell is
//! *empty*, has an *idle* value, or is *taken*. A thread takes a cell by a compare-exchange, the
//! only locked operation of its way. It gives the cell back by a store, because no other thread writes
//! to the word of a taken cell.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | `SharedPool` and its options; how a cell is found |
//! | `cell.rs` | a cell and its word |
//! | `guard.rs` | the guard of a value |
//! | `models.rs` | the loom models |
//!
//! # Finding a cell
//!
//! A thread first tries the cell that it gave back last, whose value is in its cache; the address
//! is in its *home*, a line of its own. Otherwise it goes on from where it found a cell last, the
//! *hand* of its home. So cells that another thread gives back are taken in the order in which
//! they were given, far from those that come back at the moment, and the next ones can be
//! prefetched. Both are guesses; the words are the truth.
//!
//! That a cell is given by a store has a price: no map of free cells can be kept exact, because
//! the giver would have to look at the map after its store, which takes a fence on every processor.
//! A search has to look at the words. So only the first [`DIRECT`] cells are given by a store
//! alone, and a search looks at all of them at most. The others are *mapped*: a [`FreeMap`] has the
//! free ones, at one more locked operation. They are used while the direct ones are taken.
//!
//! # When no cell is free
//!
//! While a search looks at one cell after the other, a free cell could move behind its back: a
//! thread gives a cell that the search has passed, and takes one that the search has not reached.
//! So each word counts how often its cell was taken. A search that found no free cell looks at the
//! map, and at all words once more. If each of them is still taken, for the same time, all cells
//! were taken when it looked at the map (`takes-counted`).
//!
//! # Invariants
//!
//! * `cells-allocated`: `block` holds the homes, and `capacity` cells from `cells` on, whose words
//!   are written, as long as the pool lives. They are only reached through pointers from there.
//! * `state-says-value`: the bytes of a value hold a live `T` exactly if its word says `IDLE`. The
//!   exception is a taken cell: its owner knows.
//! * `taken-alone`: a taken cell has one owner: the thread whose exchange made it so, or that took
//!   it from the map, and then the guard. Only the owner writes to the word and the value, until it
//!   stores another state.
//! * `mapped-free`: `mapped` has the cells from `direct` on, and of these exactly the ones that are
//!   not taken are in it.
//! * `takes-counted`: each taking of a direct cell increments the number in its word, and releases
//!   what its thread did before, such as giving another cell. A search that acquires a word sees
//!   those. So if it sees the same numbers twice, and no free cell, nothing moved in between.
//! * `user-code-alone`: user code (`init`, `reset`, a destructor) runs only while the cell that it
//!   runs for is taken, and no lock is held. The cell is freed when it returns or unwinds.

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

use core::alloc::Layout;
use core::fmt;
use core::panic::RefUnwindSafe;
use core::ptr::NonNull;

use super::free_map::{FreeMap, MOST_HOMES, thread_number};
#[cfg(feature = "std")]
use super::sleepers::Sleepers;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::Pages;
use crate::raw::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::raw::chunk;
use crate::raw::memory::{self, Block};
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::touch::prefetch_to_write;
use crate::stats::Stats;
use cell::{Cell, Place, State};

pub use guard::Pooled;

/// The cells that are given by a store alone. A search looks at each of their words at most twice,
/// which bounds it; 256 values are more than are usually under way between threads.
const DIRECT: usize = 256;

/// The cells that a thread tries from its hand on before it searches.
const TRIES: u32 = 4;

/// The cells by which a hand prefetches ahead. Values in turn in an array, sent to another core and
/// used again, took twice as long with the next one prefetched as with the fourth.
const AHEAD: u32 = 4;

/// A bounded pool of values that threads share: a thread takes a value, and wherever its guard is
/// dropped, the value comes back with all that it has allocated.
///
/// Use it for values that are expensive to create and cheap to reset, such as buffers: a `Vec` that
/// is filled on one thread and dropped on another returns with its capacity. On one thread a
/// [`RecyclingPool`](crate::pool::RecyclingPool) is faster, and needs no atomic operations.
///
/// The pool has two functions. `init` creates a value if there is no idle one and a cell is empty.
/// `reset` is called when a guard is dropped, on the thread that drops it, before any other thread
/// can take the value. Both may use the pool. A value is never dropped by its guard, unless `reset`
/// panics: then the value is dropped, and its cell is empty.
///
/// The pool allocates at construction only. A cell takes the value and 8 bytes, rounded up to cache
/// lines, so that threads that have neighbouring values do not slow each other; the pool takes 2
/// KiB.
///
/// # How long an operation takes
///
/// Taking a value takes one locked instruction, and dropping the guard none, as long as 256 values
/// or fewer are taken. Beyond that, dropping takes one, too. No operation waits for another thread,
/// except those that say so, and none takes a lock, unless a thread sleeps. If no idle value is
/// near, taking looks at 256 words at most, twice if it is refused, and then at [a
/// map](crate::sync::SharedSlab#how-long-an-operation-takes). It starts over only if another thread has
/// taken a value.
///
/// A thread takes the value that it gave back last, and otherwise those that other threads gave
/// back, in turn. Empty cells are filled only if no idle value was found, so a program that never
/// has more than `n` values at the same time creates about `n`.
///
/// `SharedPool<T>` is `Send` and `Sync` if `T` is `Send`.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use std::thread;
///
/// use flatslab::sync::{Pooled, SharedPool};
///
/// // At most 8 buffers; each is cleared when it comes back.
/// let pool = Arc::new(SharedPool::with_capacity(8, || Vec::with_capacity(1500), Vec::clear));
/// let (sender, receiver) = mpsc::sync_channel::<Pooled<Vec<u8>>>(8); // a send never waits
/// let reader = thread::spawn(move || receiver.iter().map(|frame| frame.len()).sum::<usize>());
/// for _ in 0..100 {
///     let mut frame = pool.take_wait_owned(); // sleeps while all 8 are under way
///     frame.extend(b"a frame");
///     sender.send(frame).unwrap();
/// }
/// drop(sender);
/// assert_eq!(reader.join().unwrap(), 700);
/// assert!(pool.is_empty() && pool.idle() <= 8);
/// ```
pub struct SharedPool<T> {
    cells: NonNull<Cell<T>>,
    homes: NonNull<Home<T>>,
    /// The number of direct cells.
    direct: u32,
    /// The direct cells below it have had values; a guess, where hands turn round.
    filled: AtomicU32,
    reset: fn(&mut T),
    #[cfg(feature = "std")]
    sleepers: Sleepers,
    init: fn() -> T,
    capacity: usize,
    /// The free ones of the cells from `direct` on, if there are any (`mapped-free`).
    mapped: Option<FreeMap>,
    block: Block,
}

/// What the threads of a home use as a guess where to find a cell, on a line of its own, together
/// with the line that processors load with it.
#[repr(align(128))]
struct Home<T> {
    /// The direct cell that was given last, or null.
    last: AtomicPtr<Cell<T>>,
    /// The index of the direct cell that is tried next.
    hand: AtomicU32,
}

// SAFETY: it owns its values and all memory that it points to (`cells-allocated`).
unsafe impl<T: Send> Send for SharedPool<T> {}
// SAFETY: a shared reference moves values from one thread to another, each with one owner at a time
// (`taken-alone`), so they must be `Send`; it gives no shared reference to a value. All else is
// atomic or does not change.
unsafe impl<T: Send> Sync for SharedPool<T> {}

// A panic in user code leaves no cell half changed (`user-code-alone`).
impl<T: RefUnwindSafe> RefUnwindSafe for SharedPool<T> {}

/// A cell that the caller owns (`taken-alone`).
struct Taken<'a, T> {
    place: Place<'a, T>,
    has_value: bool,
}

/// What a walk over the direct cells found.
enum Walk<'a, T> {
    /// An idle value, which the caller has taken.
    Taken(Place<'a, T>),
    /// No idle value; how often all cells were taken, together, and the first empty one.
    None {
        takes: u64,
        empty: Option<Place<'a, T>>,
    },
}

impl<T> SharedPool<T> {
    /// Creates a pool with `capacity` empty cells.
    ///
    /// `init` creates a value, and `reset` makes a used value ready for its next user. If values
    /// need more than a function to create them, see [`fill_with`](Self::fill_with). The pool
    /// allocates all the memory that it will ever use, except what the values themselves allocate.
    /// A pool with no cells is always full.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or the pool needs more than `isize::MAX` bytes. If the
    /// allocator refuses, the program aborts, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = SharedPool::<Vec<u8>>::with_capacity(8, Vec::new, Vec::clear);
    /// assert_eq!((pool.capacity(), pool.idle()), (8, 0));
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize, init: fn() -> T, reset: fn(&mut T)) -> Self {
        match Self::try_with_capacity(capacity, init, reset) {
            Ok(pool) => pool,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a pool with `capacity` empty cells, or returns an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, the pool needs more than `isize::MAX` bytes, or the allocator
    /// refuses. Nothing is leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// assert!(SharedPool::<u64>::try_with_capacity(8, || 0, |_| {}).is_ok());
    /// assert!(SharedPool::<u64>::try_with_capacity(1 << 30, || 0, |_| {}).is_err());
    /// ```
    pub fn try_with_capacity(
        capacity: usize,
        init: fn() -> T,
        reset: fn(&mut T),
    ) -> Result<Self, AllocError> {
        Self::try_new_in(capacity, DIRECT, init, reset, &Source::GLOBAL)
    }

    /// Returns a builder, with options for the pool's capacity and memory.
    ///
    /// `init` and `reset` are those of [`with_capacity`](Self::with_capacity).
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = SharedPool::<Vec<u8>>::builder(Vec::new, Vec::clear).capacity(100).build();
    /// assert_eq!(pool.capacity(), 100);
    /// ```
    pub const fn builder(init: fn() -> T, reset: fn(&mut T)) -> Builder<Self> {
        Builder::new(Options {
            capacity: 0,
            init,
            reset,
        })
    }

    /// A pool with memory from `source`, and at most this number of direct cells.
    fn try_new_in(
        capacity: usize,
        most_direct: usize,
        init: fn() -> T,
        reset: fn(&mut T),
        source: &Source,
    ) -> Result<Self, AllocError> {
        let cells = chunk::layout(Layout::new::<Cell<T>>(), capacity)?;
        let too_many = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<Cell<T>>(),
        };
        let homes = Layout::new::<[Home<T>; MOST_HOMES]>();
        let (layout, cells_at) = homes.extend(cells).map_err(|_| too_many)?;
        let block = chunk::allocate(layout, source)?;
        let direct = capacity.min(most_direct);
        let mapped = match capacity - direct {
            0 => None,
            mapped => Some(FreeMap::try_new(mapped, source)?),
        };
        let pool = SharedPool {
            // SAFETY: within the block, by its layout.
            cells: unsafe { block.start().add(cells_at).cast() },
            homes: block.start().cast(),
            direct: direct as u32,
            filled: AtomicU32::new(0),
            reset,
            #[cfg(feature = "std")]
            sleepers: Sleepers::new(),
            init,
            capacity,
            mapped,
            block,
        };
        for home in 0..MOST_HOMES {
            let home_value = Home {
                last: AtomicPtr::new(core::ptr::null_mut()),
                hand: AtomicU32::new(0),
            };
            // SAFETY: the block is laid out for so many homes, and no one else has it yet.
            unsafe { pool.homes.add(home).write(home_value) };
        }
        for index in 0..capacity {
            // SAFETY: below the capacity, and no one else has the block yet.
            unsafe { Cell::write_empty(pool.cells.add(index)) };
        }
        Ok(pool)
    }

    /// Creates the missing values in advance, with `init`.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// ```
    /// let mut pool = flatslab::sync::SharedPool::<Vec<u8>>::with_capacity(8, Vec::new, Vec::clear);
    /// pool.fill();
    /// assert_eq!(pool.idle(), 8);
    /// ```
    pub fn fill(&mut self) {
        let init = self.init;
        self.fill_with(init);
    }

    /// Creates the missing values in advance, with a closure that may use more than `init` can.
    ///
    /// `init` is called afterwards only to replace values that were
    /// [moved out](Pooled::into_inner), or dropped because `reset` panicked. If `create` panics,
    /// the values that it has created stay in the pool.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// let frame_size = std::env::args().count() * 1500;
    /// let mut pool = SharedPool::<Vec<u8>>::with_capacity(8, Vec::new, Vec::clear);
    /// pool.fill_with(|| Vec::with_capacity(frame_size));
    /// assert!(pool.take().unwrap().capacity() >= frame_size);
    /// ```
    pub fn fill_with(&mut self, mut create: impl FnMut() -> T) {
        for index in 0..self.capacity {
            let place = self.place(index);
            if place.state().is_empty() {
                let value = create();
                // SAFETY: the pool is borrowed exclusively, and the cell has no value
                // (`state-says-value`).
                unsafe { place.value().write(value) };
                place.state().give(State::IDLE);
                self.note_filled(index);
            }
        }
    }

    // Finding a cell.

    /// The cell with this index, which is below the capacity.
    #[inline(always)]
    fn place(&self, index: usize) -> Place<'_, T> {
        debug_assert!(index < self.capacity);
        // SAFETY: the callers' indices are below the capacity (`cells-allocated`).
        unsafe { Place::new(self.cells.add(index)) }
    }

    #[inline(always)]
    fn home(&self) -> &Home<T> {
        // SAFETY: numbers of threads are below `MOST_HOMES` (`cells-allocated`).
        unsafe { self.homes.add(thread_number()).as_ref() }
    }

    /// Takes a cell, if possible one with a value. Runs no user code.
    #[inline]
    fn take_cell(&self) -> Option<Taken<'_, T>> {
        let home = self.home();
        // Relaxed: a guess; the exchange acquires the value.
        let last = home.last.load(Ordering::Relaxed);
        if let Some(last) = NonNull::new(last) {
            // SAFETY: `last` is null or the address of a direct cell (`cells-allocated`).
            let place = unsafe { Place::new(last) };
            if place.state().take(State::IDLE) {
                return Some(Taken::idle(place));
            }
            // Relaxed: a guess. Not left there: while the cell is taken, its word would be read in vain
            // each time.
            (home.last).store(core::ptr::null_mut(), Ordering::Relaxed);
        }
        self.take_by_hand(home)
    }

    /// Takes one of the next cells from the hand of a home on.
    #[inline(never)]
    fn take_by_hand(&self, home: &Home<T>) -> Option<Taken<'_, T>> {
        // Relaxed: guesses, both.
        let filled = self.filled.load(Ordering::Relaxed);
        let mut hand = home.hand.load(Ordering::Relaxed);
        for _ in 0..TRIES.min(filled) {
            if hand >= filled {
                hand = 0;
            }
            let place = self.place(hand as usize);
            hand += 1;
            if place.state().take(State::IDLE) {
                let ahead = hand + AHEAD - 1;
                if ahead < filled {
                    prefetch_to_write(self.place(ahead as usize).cell().cast(), size_of::<State>());
                }
                // Relaxed: a guess.
                home.hand.store(hand, Ordering::Relaxed);
                return Some(Taken::idle(place));
            }
        }
        self.search(home)
    }

    /// Takes a cell after all guesses were wrong.
    #[cold]
    #[inline(never)]
    fn search(&self, home: &Home<T>) -> Option<Taken<'_, T>> {
        loop {
            // Relaxed: a guess. Empty direct cells are used before mapped ones, and those before a
            // walk. A mapped cell that is empty is not kept during a walk that may find a value:
            // then this thread would have two cells, and could keep one from another thread.
            let is_filled = self.filled.load(Ordering::Relaxed) == self.direct;
            if let Some(taken) = is_filled.then(|| self.take_mapped()).flatten() {
                return Some(taken);
            }
            let takes = match self.walk(home) {
                Walk::Taken(place) => return Some(Taken::idle(place)),
                Walk::None { takes, empty: None } => takes,
                Walk::None {
                    empty: Some(place), ..
                } => {
                    if place.state().take(State::EMPTY) {
                        return Some(Taken::empty(place));
                    }
                    continue;
                }
            };
            // All direct cells were taken when the walk looked at them. If they still are, they
            // were when the map had none (`takes-counted`).
            if let Some(taken) = self.take_mapped() {
                return Some(taken);
            }
            match self.walk(home) {
                Walk::Taken(place) => return Some(Taken::idle(place)),
                Walk::None {
                    takes: again,
                    empty,
                } => {
                    if again == takes && empty.is_none() {
                        return None;
                    }
                }
            }
        }
    }

    /// Looks at each direct cell once, and takes the first idle value.
    fn walk(&self, home: &Home<T>) -> Walk<'_, T> {
        let (mut takes, mut empty) = (0_u64, None);
        for index in 0..self.direct {
            let place = self.place(index as usize);
            let mut seen = place.state().look();
            while seen.is_idle() {
                if place.state().take(State::IDLE) {
                    // Relaxed: a guess.
                    home.hand.store(index + 1, Ordering::Relaxed);
                    return Walk::Taken(place);
                }
                // Another thread was faster: what it gave before must be seen.
                seen = place.state().look();
            }
            if seen.is_empty() {
                empty = empty.or(Some(place));
            }
            // Each only increases, so the sum of all is the same only if each is.
            takes = takes.wrapping_add(seen.takes());
        }
        Walk::None { takes, empty }
    }

    /// Takes a cell from the map, with or without a value.
    fn take_mapped(&self) -> Option<Taken<'_, T>> {
        let index = self.mapped.as_ref()?.take()?;
        let place = self.place(self.direct as usize + index);
        let has_value = place.state().take_owned();
        Some(Taken { place, has_value })
    }

    /// The value of a cell that was taken, created if there is none.
    #[inline(always)]
    fn value_of<'a>(&'a self, taken: Taken<'a, T>) -> Place<'a, T> {
        if taken.has_value {
            taken.place
        } else {
            self.create(taken.place)
        }
    }

    /// Creates a value in an empty cell, which the caller owns.
    #[cold]
    #[inline(never)]
    fn create<'a>(&'a self, place: Place<'a, T>) -> Place<'a, T> {
        let vacant = Vacant { pool: self, place };
        let value = (self.init)();
        core::mem::forget(vacant);
        // SAFETY: the caller's cell, which has no value (`taken-alone`).
        unsafe { place.value().write(value) };
        self.note_filled(self.index_of(place));
        place
    }

    /// Notes that the cell with this index has had a value.
    fn note_filled(&self, index: usize) {
        if index < self.direct as usize {
            // Relaxed: a guess.
            self.filled.fetch_max(index as u32 + 1, Ordering::Relaxed);
        }
    }

    /// Calls `reset` for a value that is given back, and gives its cell back.
    ///
    /// # Safety
    ///
    /// The caller owns the cell, which has a value, and gives it up.
    #[inline(always)]
    unsafe fn give_back(&self, place: Place<'_, T>) {
        let unwinding = Unwinding(Vacant { pool: self, place });
        // SAFETY: the cell has a value, and no other owner (precondition).
        (self.reset)(unsafe { place.value().as_mut() });
        core::mem::forget(unwinding);
        self.give(place, State::IDLE);
    }

    /// Gives back a cell that the caller owns, in the state that its bytes have.
    #[inline(always)]
    fn give(&self, place: Place<'_, T>, state: u64) {
        if self.is_direct(place) {
            place.state().give(state);
            // Relaxed: a guess. It may be taken by now.
            (self.home().last).store(place.cell().as_ptr(), Ordering::Relaxed);
        } else {
            self.give_to_map(place, state);
        }
        #[cfg(feature = "std")]
        self.sleepers.wake_one();
    }

    #[inline(never)]
    fn give_to_map(&self, place: Place<'_, T>, state: u64) {
        let index = self.index_of(place) - self.direct as usize;
        place.state().give(state);
        if let Some(mapped) = &self.mapped {
            // SAFETY: the caller's cell, which is not in the map (`mapped-free`).
            unsafe { mapped.give(index) };
        }
    }

    #[inline(always)]
    fn is_direct(&self, place: Place<'_, T>) -> bool {
        let end = self.cells.as_ptr().wrapping_add(self.direct as usize);
        place.cell().as_ptr() < end
    }

    /// The index of a cell of this pool.
    fn index_of(&self, place: Place<'_, T>) -> usize {
        (place.cell().as_ptr().addr() - self.cells.addr().get()) / size_of::<Cell<T>>()
    }

    // Its figures.

    /// Returns the number of values that are taken. O(capacity / 64).
    ///
    /// A cell is taken while it has a guard, even a forgotten one, and while `init` or `reset` runs
    /// for it. The number is exact while no other thread changes it.
    ///
    /// ```
    /// let pool = flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {});
    /// let taken = pool.take();
    /// assert_eq!((pool.len(), pool.idle()), (1, 0));
    /// drop(taken);
    /// assert_eq!((pool.len(), pool.idle()), (0, 1));
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        let direct =
            (0..self.direct as usize).filter(|&it| self.place(it).state().look().is_taken());
        let mapped = self.mapped.as_ref();
        direct.count() + mapped.map_or(0, |map| map.capacity() - map.count())
    }

    /// Returns whether no value is taken. O(capacity / 64).
    ///
    /// The result is exact while no other thread changes it.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {}).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether every cell is taken. O(capacity / 64).
    ///
    /// The result is exact while no other thread changes it.
    ///
    /// ```
    /// assert!(flatslab::sync::SharedPool::<u64>::with_capacity(0, || 7, |_| {}).is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// Returns the number of cells. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {}).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of values that wait to be taken. O(capacity).
    ///
    /// The number is exact while no other thread changes it.
    ///
    /// ```
    /// let pool = flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {});
    /// assert_eq!(pool.idle(), 0);
    /// drop(pool.take());
    /// assert_eq!(pool.idle(), 1);
    /// ```
    #[must_use]
    pub fn idle(&self) -> usize {
        let cells = 0..self.capacity;
        cells
            .filter(|&it| self.place(it).state().look().is_idle())
            .count()
    }

    /// Returns the figures of the pool: values that are taken, cells, bytes. Does not allocate, and
    /// does not call the system.
    ///
    /// Cells with an idle value count as free. The bytes are those of the cells, without what the values
    /// have allocated. The figures are exact while no other thread changes the pool.
    ///
    /// # Complexity
    ///
    /// O(capacity / 64).
    ///
    /// ```
    /// let pool = flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {});
    /// let taken = pool.take();
    /// let stats = pool.stats();
    /// assert_eq!((stats.live, stats.free, stats.capacity), (1, 7, 8));
    /// # drop(taken);
    /// ```
    #[must_use]
    #[doc(alias = "metrics")]
    pub fn stats(&self) -> Stats {
        let live = self.len();
        Stats::new(live, self.capacity - live, self.capacity, self.bytes())
    }

    fn bytes(&self) -> usize {
        self.block.layout().size() + self.mapped.as_ref().map_or(0, FreeMap::bytes)
    }

    /// Returns a report on the pool's memory: its size, and which of the requested page options
    /// were obtained.
    ///
    /// It asks the system about [the pages](crate::memory::Pages), which takes microseconds or more,
    /// so it is meant for start-up and for diagnostics.
    ///
    /// ```
    /// let pool = flatslab::sync::SharedPool::<u64>::with_capacity(1000, || 7, |_| {});
    /// assert!(pool.memory().bytes() >= 1000 * 64);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.bytes(), self.block.source())
    }

    /// Drops the idle values, even if a destructor panics.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// ```
    /// let mut pool = flatslab::sync::SharedPool::<u64>::with_capacity(8, || 7, |_| {});
    /// drop(pool.take());
    /// pool.clear();
    /// assert_eq!(pool.idle(), 0);
    /// ```
    pub fn clear(&mut self) {
        Clearing {
            pool: self,
            next: 0,
        }
        .run();
    }

    /// Panics if `mapped-free` does not hold. No other thread may use the pool.
    #[cfg(any(test, fuzzing))]
    pub fn check(&self) {
        let is_free = |&index: &usize| !self.place(index).state().look().is_taken();
        let free = (self.direct as usize..self.capacity)
            .filter(is_free)
            .count();
        let mapped = self.mapped.as_ref().map_or(0, FreeMap::count);
        assert_eq!(free, mapped, "mapped-free");
    }
}

impl<'a, T> Taken<'a, T> {
    #[inline(always)]
    fn idle(place: Place<'a, T>) -> Self {
        let has_value = true;
        Taken { place, has_value }
    }

    fn empty(place: Place<'a, T>) -> Self {
        let has_value = false;
        Taken { place, has_value }
    }
}

/// A taken cell without a value, which is given back when user code unwinds.
struct Vacant<'a, T> {
    pool: &'a SharedPool<T>,
    place: Place<'a, T>,
}

impl<T> Drop for Vacant<'_, T> {
    #[cold]
    fn drop(&mut self) {
        self.pool.give(self.place, State::EMPTY);
    }
}

/// A taken cell whose value is dropped when `reset` unwinds.
struct Unwinding<'a, T>(Vacant<'a, T>);

impl<T> Drop for Unwinding<'_, T> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the cell has a value, which is dropped once: the cell is given back as empty.
        unsafe { self.0.place.value().drop_in_place() };
    }
}

/// Drops all idle values of a pool, including those after one whose destructor panics.
struct Clearing<'a, T> {
    pool: &'a mut SharedPool<T>,
    next: usize,
}

impl<T> Clearing<'_, T> {
    fn run(&mut self) {
        while self.next < self.pool.capacity {
            let place = self.pool.place(self.next);
            self.next += 1;
            if place.state().look().is_idle() {
                // The cell is empty before the destructor runs. Mapped ones stay in the map.
                place.state().give(State::EMPTY);
                // SAFETY: it had a value (`state-says-value`), and the pool is borrowed exclusively.
                unsafe { place.value().drop_in_place() };
            }
        }
    }
}

impl<T> Drop for Clearing<'_, T> {
    fn drop(&mut self) {
        self.run();
    }
}

/// Drops the idle values, and frees the memory.
impl<T> Drop for SharedPool<T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            self.clear();
        }
    }
}

/// Prints the number of values that are taken, and of all cells.
impl<T> fmt::Debug for SharedPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPool")
            .field("len", &self.len())
            .field("idle", &self.idle())
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// The options of a builder of shared pools.
pub struct Options<T> {
    capacity: usize,
    init: fn() -> T,
    reset: fn(&mut T),
}

impl<T> Clone for Options<T> {
    fn clone(&self) -> Self {
        Options { ..*self }
    }
}

impl<T> fmt::Debug for Options<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl<T> Build for SharedPool<T> {
    type Options = Options<T>;

    fn try_build(options: Options<T>, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let (capacity, init, reset) = (options.capacity, options.init, options.reset);
        let pool = SharedPool::try_new_in(capacity, DIRECT, init, reset, &source)?;
        Ok(pool)
    }
}

/// Options of a [`SharedPool`].
///
/// [`build`](Self::build) takes O(capacity), and panics like
/// [`with_capacity`](SharedPool::with_capacity). The cells and the map of free ones are in memory
/// of the given [pages](Pages), which are all touched at construction.
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::sync::SharedPool;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let builder = SharedPool::<Vec<u8>>::builder(Vec::new, Vec::clear);
/// let pool = builder.clone().capacity(100).pages(pages).try_build()?;
/// assert_eq!(pool.capacity(), 100);
/// assert!(builder.capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<SharedPool<T>> {
    /// Sets the number of cells, 0 by default.
    ///
    /// ```
    /// let builder = flatslab::sync::SharedPool::<u64>::builder(|| 7, |_| {});
    /// assert_eq!(builder.capacity(8).build().capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.options.capacity = cells;
        self
    }
}
