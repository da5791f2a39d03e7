//! `RecyclingPool`: a pool that keeps the values of freed cells and uses them again.
//!
//! # Invariants
//!
//! * `idle-cells`: the cells in `idle` are distinct, taken cells of the pool, each with a value and
//!   no other owner; there is room for every cell that ever had a box.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::heap::free_list;
use super::options::Options;
use super::{Pool, PoolBox, fail};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::{Pages, Report};
use crate::raw::memory;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;

/// A pool that keeps the values of freed cells. The next box gets one of them, after a reset,
/// instead of a new one. For objects that are expensive to make, such as buffers that have
/// grown.
///
/// Dropping a box keeps its value as it is: remove what must not stay, such as a secret or an
/// open socket, before that. So does a panic: a box that is dropped while its value is half changed
/// gives the value back so, and the next box gets it. The reset has to put every part in order, not
/// only what complete operations leave. To make all values in advance, allocate until the pool is full,
/// then drop the boxes.
///
/// A cell takes the size of its value, and 16 bytes for two free lists. The kept values are
/// dropped with the pool, or when it is [cleared](Self::clear). A value cannot borrow from its
/// own pool. [`Builder::recycle`](crate::Builder::recycle) makes a pool with options.
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
    /// Invariant in `T`: it owns values, and returns some that were put in.
    values: PhantomData<*mut T>,
}

// SAFETY: boxes borrow the pool, so there is none when it moves to another thread. Its values
// move with it, and are `Send`.
unsafe impl<T: Send> Send for RecyclingPool<T> {}

impl<T> RecyclingPool<T> {
    /// Creates a pool of `capacity` cells; O(capacity). Allocates all the memory of the pool,
    /// except what its values allocate.
    ///
    /// # Panics
    ///
    /// As [`Pool::with_capacity`].
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

    /// As [`with_capacity`](Self::with_capacity); never panics or aborts.
    ///
    /// # Errors
    ///
    /// As [`Pool::try_with_capacity`].
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

    /// A pool with memory from `source`, only reserved if `lazy`.
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

    /// Returns a box of a value that was used before, after a call of `reset`, or of a new one
    /// that `init` makes; O(1) besides these. The pool does not allocate.
    ///
    /// Both may use the pool. If `init` panics, the cell is free again. If `reset` panics, the
    /// value is dropped first. Neither is called if no cell is free.
    ///
    /// # Panics
    ///
    /// As [`Pool::alloc`].
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
        match self.idle.pop() {
            // SAFETY: an idle cell, which was popped.
            Some(cell) => unsafe { self.reuse(cell.cast(), reset) },
            None => self.alloc_new_or_fail(init),
        }
    }

    /// As [`alloc_or_reuse`](Self::alloc_or_reuse); panics only if `init` or `reset` does, and
    /// never aborts.
    ///
    /// # Errors
    ///
    /// If no cell is free.
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
        match self.idle.pop() {
            // SAFETY: an idle cell, which was popped.
            Some(cell) => Ok(unsafe { self.reuse(cell.cast(), reset) }),
            None => self.alloc_new(init),
        }
    }

    /// # Safety
    ///
    /// The cell was popped from `idle`.
    #[inline(always)]
    unsafe fn reuse(&self, cell: NonNull<T>, reset: impl FnOnce(&mut T)) -> RecycledBox<'_, T> {
        // SAFETY: it was idle, so it has a value and no other owner (`idle-cells`). The value is
        // dropped if `reset` panics.
        let mut value = unsafe { self.take_back(cell) };
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
    /// The cell is a taken one of this pool, from a [`RecycledBox`], with a value of `T`. The
    /// caller owns it, and gives it up.
    #[inline(always)]
    unsafe fn take_back(&self, value: NonNull<T>) -> PoolBox<'_, T> {
        // SAFETY: the pointer came from `into_raw` in `RecycledBox::new`, and the caller gives up
        // the cell (precondition). The pool is never reset. Its boxes are of `MaybeUninit<T>`, of
        // which this one holds a value (precondition).
        unsafe { PoolBox::assume_init(self.pool.box_from_raw(value.as_ptr().cast())) }
    }

    /// Number of boxes, including forgotten ones; O(1).
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

    /// Whether [`len`](Self::len) is 0; O(1).
    ///
    /// ```
    /// assert!(flatslab::pool::Pool::<u64>::builder().recycle().build().is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of kept values, to be used again; O(1).
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

    /// Number of cells; O(1).
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

    /// Whether all cells have a box, so that the next allocation fails; O(1). Cells of kept
    /// values count as free.
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

    /// Drops the kept values, even if a destructor panics; O(kept values).
    ///
    /// ```
    /// let mut pool = flatslab::pool::Pool::builder().capacity(8).recycle().build();
    /// drop(pool.alloc_or_reuse(|| vec![7], Vec::clear));
    /// pool.clear();
    /// assert_eq!(pool.idle(), 0);
    /// ```
    pub fn clear(&mut self) {
        /// Continues if the destructor of a value panics.
        struct Rest<'p, T>(&'p RecyclingPool<T>);

        impl<T> Rest<'_, T> {
            fn drop_all(&self) {
                while let Some(cell) = self.0.idle.pop() {
                    // SAFETY: it was idle, so it has a value and no other owner (`idle-cells`).
                    drop(unsafe { self.0.take_back(cell.cast()) });
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

    /// The pool's memory, and which of the requested page options were obtained.
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

/// Prints how full it is, not what is in it.
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
    /// Keeps the values of freed cells and uses them again: see [`RecyclingPool`].
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

/// Options of a [`RecyclingPool`]: those of a [`Pool`], and [`build`](Self::build) panics as its.
/// The [pages](Pages) are those of the list of kept values too.
///
/// ```
/// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).recycle().build();
/// assert!(pool.is_empty());
/// ```
impl<T> Builder<RecyclingPool<T>> {
    /// Number of cells of the pool; 0 by default.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().recycle().capacity(8).build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.options.capacity = cells;
        self
    }

    /// Only reserves the memory, and fills the free lists as cells are first used.
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

/// The owner of a value in a [`RecyclingPool`]: dropping it keeps the value for the next box;
/// O(1), no allocation.
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
    #[inline(always)]
    fn new(pool: &'p RecyclingPool<T>, value: PoolBox<'p, T>) -> Self {
        // SAFETY: the pointer of a box is never null.
        let value = unsafe { NonNull::new_unchecked(PoolBox::into_raw(value)) };
        RecycledBox { value, pool }
    }

    /// Moves the value out of the pool, which does not keep it, and frees the cell; O(1).
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

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for RecycledBox<'_, T> {
    #[inline(always)]
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

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for RecycledBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for RecycledBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
