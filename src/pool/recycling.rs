//! `RecyclingPool`: a pool that keeps the values of freed cells and uses them again.
//!
//! # Invariants
//!
//! * `idle-cells`: the cells in `idle` are distinct, taken cells of the pool, each with a value and
//!   no other owner. `idle` has room for every cell that ever had a box.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::heap::free_list;
use super::options::Options;
use super::{Pool, PoolBox, fail};
use crate::as_value::print_as_value;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::{Pages, Report};
use crate::raw::memory;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;
use crate::stats::Stats;

/// A pool that keeps the values of freed cells, and hands them out again after the caller has reset
/// them. It is for objects that are expensive to create, such as buffers that have grown.
///
/// Dropping a box keeps its value as it is. Before that, remove everything that must not stay, such
/// as a secret or an open socket. A panic keeps the value too: a box that is dropped while its
/// value is half changed returns the value in that state, and the next box gets it. So the closure
/// that [resets](Self::alloc_or_reuse) a value must set every part of it, and not only the parts
/// that complete operations change. To create all values in advance, allocate until the pool is
/// full, then drop the boxes.
///
/// Boxes stay on the thread of their pool. For values that come back from other threads there is
/// [`SharedPool`](crate::sync::SharedPool).
///
/// A cell takes the size of its value, plus 16 bytes for two free lists. The kept values are
/// dropped with the pool, or when it is [cleared](Self::clear). A value cannot borrow from its own
/// pool. [`Builder::recycle`](crate::Builder::recycle) creates a pool with options.
///
/// # Examples
///
/// ```
/// use flatslab::pool::{Pool, RecyclingPool};
///
/// let pool: RecyclingPool<Vec<u8>> = Pool::builder().capacity(8).recycle().build();
/// let mut buffer = pool.alloc_or_reuse(|| Vec::with_capacity(1500), Vec::clear);
/// buffer.extend(b"a frame");
/// let memory = buffer.as_ptr();
/// drop(buffer);
/// let buffer = pool.alloc_or_reuse(|| Vec::with_capacity(1500), Vec::clear);
/// assert!(buffer.is_empty() && buffer.as_ptr() == memory);
/// ```
pub struct RecyclingPool<T> {
    pool: Pool<'static, MaybeUninit<T>>,
    idle: FreeStack,
    /// Invariant in `T`: the pool owns values, and returns ones that were put in.
    values: PhantomData<*mut T>,
}

// SAFETY: boxes borrow the pool, so there is none when it moves to another thread. Its values
// move with it, and are `Send`.
unsafe impl<T: Send> Send for RecyclingPool<T> {}

impl<T> RecyclingPool<T> {
    /// Creates a pool with `capacity` cells.
    ///
    /// It allocates all memory of the pool now, except what the values themselves allocate.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// If the pool needs more than `isize::MAX` bytes. If the allocator refuses, the program
    /// aborts, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::RecyclingPool;
    ///
    /// let pool: RecyclingPool<Vec<u8>> = RecyclingPool::with_capacity(8);
    /// assert_eq!((pool.capacity(), pool.idle()), (8, 0));
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(pool) => pool,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a pool with `capacity` cells, or returns an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the pool needs more than `isize::MAX` bytes, or the allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::RecyclingPool;
    ///
    /// assert!(RecyclingPool::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_new_in(capacity, false, &Source::GLOBAL)
    }

    /// Creates a pool with memory from `source`, which is only reserved if `lazy`.
    pub(super) fn try_new_in(
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        // First the larger one: it may pass the limits.
        let pool = Pool::try_new_in(capacity, lazy, source)?;
        let idle = free_list(capacity, lazy, source)?;
        if !lazy {
            idle.touch();
        }
        Ok(RecyclingPool {
            pool,
            idle,
            values: PhantomData,
        })
    }

    /// Returns a box with a kept value after calling `reset` on it, or with a new one from `init`
    /// if no value is kept.
    ///
    /// `reset` and `init` may use the pool. If `init` panics, the cell is freed. If `reset` panics,
    /// the value is dropped first. Neither is called if no cell is free.
    ///
    /// # Complexity
    ///
    /// O(1) besides `reset` and `init`; the pool does not allocate.
    ///
    /// # Panics
    ///
    /// If every cell has a box. If the allocator refuses memory to a [lazy](Builder::lazy) pool,
    /// the program aborts, as with `Box`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::builder().capacity(1).recycle().build();
    /// drop(pool.alloc_or_reuse(|| 7, |_| {}));
    /// let boxed = pool.alloc_or_reuse(|| 0, |value| *value += 1);
    /// assert_eq!(*boxed, 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_or_reuse(
        &self,
        init: impl FnOnce() -> T,
        reset: impl FnOnce(&mut T),
    ) -> RecycledBox<'_, T> {
        match self.pop_idle() {
            Some(value) => self.reuse(value, reset),
            None => self.alloc_new_or_fail(init),
        }
    }

    /// Returns a box with a kept or a new value, or an error if no cell is free.
    ///
    /// Like [`alloc_or_reuse`](Self::alloc_or_reuse), but panics only if `init` or `reset` does,
    /// and never aborts.
    ///
    /// # Errors
    ///
    /// If every cell has a box, or the allocator refuses memory to a lazy pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::<u64>::builder().capacity(0).recycle().build();
    /// assert!(pool.try_alloc_or_reuse(|| 7, |_| {}).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_or_reuse(
        &self,
        init: impl FnOnce() -> T,
        reset: impl FnOnce(&mut T),
    ) -> Result<RecycledBox<'_, T>, AllocError> {
        match self.pop_idle() {
            Some(value) => Ok(self.reuse(value, reset)),
            None => self.alloc_new(init),
        }
    }

    /// Takes a kept value.
    #[inline]
    fn pop_idle(&self) -> Option<PoolBox<'_, T>> {
        let cell = self.idle.pop()?;
        // SAFETY: it was idle, so it has a value and no other owner (`idle-cells`).
        Some(unsafe { self.take_back(cell.cast()) })
    }

    /// Resets a kept value, which is dropped if `reset` panics.
    #[inline]
    fn reuse<'p>(
        &'p self,
        mut value: PoolBox<'p, T>,
        reset: impl FnOnce(&mut T),
    ) -> RecycledBox<'p, T> {
        reset(&mut value);
        RecycledBox::new(self, value)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn alloc_new_or_fail(&self, init: impl FnOnce() -> T) -> RecycledBox<'_, T> {
        match self.alloc_new(init) {
            Ok(boxed) => boxed,
            Err(error) => fail(error),
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_new(&self, init: impl FnOnce() -> T) -> Result<RecycledBox<'_, T>, AllocError> {
        let vacant = self.pool.try_alloc_with(MaybeUninit::uninit)?;
        // Room for the cell when its box is dropped (`idle-cells`).
        self.idle.commit_ahead(self.pool.used())?;
        Ok(RecycledBox::new(self, PoolBox::write(vacant, init())))
    }

    /// # Safety
    ///
    /// The cell is a taken one of this pool, from a [`RecycledBox`], and holds a value of `T`. The
    /// caller owns it, and gives it up.
    #[inline]
    unsafe fn take_back(&self, value: NonNull<T>) -> PoolBox<'_, T> {
        // SAFETY: the pointer came from `into_raw` in `RecycledBox::new`, and the caller gives up
        // the cell (precondition). The pool is never reset. Its boxes are of `MaybeUninit<T>`, of
        // which this one holds a value (precondition).
        unsafe { PoolBox::assume_init(self.pool.box_from_raw(value.as_ptr().cast())) }
    }

    /// Returns the number of boxes, forgotten ones included. O(1).
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::builder().capacity(8).recycle().build();
    /// let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    /// assert_eq!((pool.len(), pool.idle()), (1, 0));
    /// drop(boxed);
    /// assert_eq!((pool.len(), pool.idle()), (0, 1));
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.len() - self.idle()
    }

    /// Returns whether there are no boxes. O(1).
    ///
    /// ```
    /// assert!(flatslab::pool::Pool::<u64>::builder().recycle().build().is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of kept values, which wait to be used again. O(1).
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).recycle().build();
    /// assert_eq!(pool.idle(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn idle(&self) -> usize {
        self.idle.depth()
    }

    /// Returns the number of cells. O(1).
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).recycle().build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.pool.capacity()
    }

    /// Returns the figures of the pool: boxes, cells, bytes, and what was counted. O(1); does not
    /// allocate.
    ///
    /// `peak` is the largest number of boxes at the same time since the pool was created. It is
    /// counted with the feature `stats`.
    ///
    /// ```
    /// let pool = flatslab::pool::RecyclingPool::with_capacity(8);
    /// drop(pool.alloc_or_reuse(|| 7, |_| {}));
    /// let stats = pool.stats();
    /// assert_eq!((stats.live, stats.free), (0, 8));
    /// ```
    #[must_use]
    #[doc(alias("metrics", "high_water"))]
    pub fn stats(&self) -> Stats {
        let cells = self.pool.stats();
        Stats {
            live: self.len(),
            free: cells.free + self.idle(),
            bytes: cells.bytes + self.idle.array_bytes(),
            // The peak of taken cells is that of boxes: a cell is taken only if no value is kept.
            ..cells
        }
    }

    /// Returns whether every cell has a box, so that the next allocation fails. O(1).
    ///
    /// The cells of kept values count as free.
    ///
    /// ```
    /// let pool = flatslab::pool::RecyclingPool::with_capacity(1);
    /// let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    /// assert!(pool.is_full());
    /// drop(boxed);
    /// assert!(!pool.is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// Drops the kept values, even if a destructor panics.
    ///
    /// # Complexity
    ///
    /// O(n) for n kept values.
    ///
    /// ```
    /// let mut pool = flatslab::pool::Pool::builder().capacity(8).recycle().build();
    /// drop(pool.alloc_or_reuse(|| vec![7], Vec::clear));
    /// pool.clear();
    /// assert_eq!(pool.idle(), 0);
    /// ```
    pub fn clear(&mut self) {
        /// Drops the other values if the destructor of one panics.
        struct Rest<'p, T>(&'p RecyclingPool<T>);

        impl<T> Rest<'_, T> {
            fn drop_all(&self) {
                while let Some(value) = self.0.pop_idle() {
                    drop(value);
                }
            }
        }

        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                self.drop_all();
            }
        }

        Rest(self).drop_all();
    }

    /// Returns a report on the pool's memory: its size, and which of the requested page options
    /// were obtained.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(1000).recycle().build();
    /// assert!(pool.memory().bytes() >= 1000 * (8 + 8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.pool.memory.report(self.idle.array_bytes())
    }

    /// Panics if `idle-cells` does not hold.
    #[cfg(any(test, fuzzing))]
    pub fn check(&self) {
        self.pool.check();
        assert!(self.idle.depth() <= self.pool.len(), "idle-cells: taken");
        let mut seen = alloc::collections::BTreeSet::new();
        self.idle.check(|cell| seen.insert(cell));
    }
}

/// Drops the kept values, and frees the memory.
impl<T> Drop for RecyclingPool<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Prints the number of boxes and cells, not the values.
impl<T> fmt::Debug for RecyclingPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecyclingPool")
            .field("len", &self.len())
            .field("idle", &self.idle())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl<T> Build for RecyclingPool<T> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let source = options.source(pages)?;
        let pool = RecyclingPool::try_new_in(options.capacity, options.lazy, &source)?;
        Ok(pool)
    }
}

impl<T> Builder<Pool<'static, T>> {
    /// Returns a builder of a [`RecyclingPool`], which keeps the values of freed cells and uses them
    /// again.
    ///
    /// ```
    /// use flatslab::pool::{Pool, RecyclingPool};
    ///
    /// let pool: RecyclingPool<Vec<u8>> = Pool::builder().capacity(8).recycle().build();
    /// let buffer = pool.alloc_or_reuse(Vec::new, Vec::clear);
    /// # drop(buffer);
    /// ```
    pub fn recycle(self) -> Builder<RecyclingPool<T>> {
        self.of()
    }
}

/// The options of a [`RecyclingPool`] are those of a [`Pool`], and [`build`](Self::build) panics in
/// the same cases. The list of kept values is also in memory of the given [pages](Pages).
///
/// ```
/// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).recycle().build();
/// assert!(pool.is_empty());
/// ```
impl<T> Builder<RecyclingPool<T>> {
    /// Sets the number of cells of the pool, 0 by default.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().recycle().capacity(8).build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.options.capacity = cells;
        self
    }

    /// Reserves the memory only, and fills the free lists when cells are first used.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().recycle().capacity(8).lazy().build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.options.lazy = true;
        self
    }
}

/// The owner of a value in a [`RecyclingPool`]: dropping it keeps the value for the next box. O(1);
/// does not allocate.
///
/// # Examples
///
/// ```
/// use flatslab::pool::{Pool, RecycledBox};
///
/// let pool = Pool::builder().capacity(1).recycle().build();
/// let boxed: RecycledBox<'_, u64> = pool.alloc_or_reuse(|| 7, |_| {});
/// assert_eq!(RecycledBox::into_inner(boxed), 7);
/// assert_eq!(pool.idle(), 0);
/// ```
#[must_use = "dropping a box gives its value back to the pool"]
pub struct RecycledBox<'p, T> {
    value: NonNull<T>,
    /// Invariant in `T`: the value returns to the pool.
    pool: &'p RecyclingPool<T>,
}

// SAFETY: a shared box gives shared access to the value, and to nothing of the pool.
unsafe impl<T: Sync> Sync for RecycledBox<'_, T> {}

impl<'p, T> RecycledBox<'p, T> {
    #[inline]
    fn new(pool: &'p RecyclingPool<T>, value: PoolBox<'p, T>) -> Self {
        let (value, ()) = PoolBox::into_parts(value);
        RecycledBox { value, pool }
    }

    /// Moves the value out of the pool, which does not keep it, and frees the cell. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, RecycledBox};
    ///
    /// let pool = Pool::builder().capacity(1).recycle().build();
    /// let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    /// assert_eq!(RecycledBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let (value, pool) = (boxed.value, boxed.pool);
        core::mem::forget(boxed);
        // SAFETY: the box owned the cell, and is forgotten.
        PoolBox::into_inner(unsafe { pool.take_back(value) })
    }
}

impl<T> Deref for RecycledBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for RecycledBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns the value, and is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

/// Keeps the value for the next box.
impl<T> Drop for RecycledBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a taken cell with a value, whose owner this was; it had a box, so there is room
        // for it (`idle-cells`).
        unsafe { self.pool.idle.push(self.value.cast()) };
    }
}

print_as_value!(impl [T] for RecycledBox<'_, T>, as T);
