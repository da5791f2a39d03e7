//! Constructors and builder of pools on the heap.

use core::marker::PhantomData;

use super::Pool;
use super::heap::Heap;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::{PageOption, Pages, Report};
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;

impl<T> Pool<'static, T> {
    /// Creates a pool with `capacity` cells.
    ///
    /// It allocates all memory of the pool now, and touches every page of it. A pool with no cells
    /// is always full.
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
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::<u64>::with_capacity(8);
    /// assert_eq!(pool.capacity(), 8);
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
    /// use flatslab::pool::Pool;
    ///
    /// assert!(Pool::<u64>::try_with_capacity(8).is_ok());
    /// assert!(Pool::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::try_new_in(capacity, false, &Source::GLOBAL)
    }

    /// Creates a pool that is never dropped, so its boxes have a `'static` lifetime.
    ///
    /// # Panics
    ///
    /// If the pool needs more than `isize::MAX` bytes. If the allocator refuses, the program
    /// aborts, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool: &'static Pool<u64> = Pool::leak(8);
    /// let boxed: PoolBox<'static, u64> = pool.alloc(7);
    /// assert_eq!(*boxed, 7);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn leak(capacity: usize) -> &'static Self
    where
        T: 'static,
    {
        match Self::try_leak(capacity) {
            Ok(pool) => pool,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a pool that is never dropped, or returns an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the pool needs more than `isize::MAX` bytes, or the allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// let pool: &'static Pool<u64> = Pool::try_leak(8)?;
    /// # let _ = pool;
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn try_leak(capacity: usize) -> Result<&'static Self, AllocError>
    where
        T: 'static,
    {
        let pool = Self::try_with_capacity(capacity)?;
        Ok(Block::leak(pool, &Source::GLOBAL).map_err(|(error, _pool)| error)?)
    }

    /// Returns a builder, with options for the pool's capacity and memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::<u64>::builder().capacity(1 << 20).lazy().build();
    /// assert_eq!(pool.capacity(), 1 << 20);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options::new())
    }

    /// Creates a pool with memory from `source`, which is only reserved if `lazy`.
    pub(super) fn try_new_in(
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        Ok(Pool {
            memory: Heap::try_new::<T>(capacity, lazy, source)?,
            storage: PhantomData,
            values: PhantomData,
            not_sync: PhantomData,
        })
    }

    /// Returns a report on the pool's memory: its size, and which of the requested page options
    /// were obtained.
    ///
    /// It asks the system about [the pages](crate::memory::Pages), so it is meant for start-up and
    /// for diagnostics.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(1000);
    /// assert!(pool.memory().bytes() >= 1000 * (8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.memory.report(0)
    }
}

/// The options of a builder of pools.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) capacity: usize,
    pub(super) lazy: bool,
}

impl Options {
    pub(super) const fn new() -> Self {
        Options {
            capacity: 0,
            lazy: false,
        }
    }

    /// Opens the source of the memory.
    ///
    /// # Errors
    ///
    /// If a page option is unavailable, or is not possible for memory that is only reserved.
    pub(super) fn source(&self, pages: Pages) -> Result<Source, BuildError> {
        if self.lazy && pages.requires_explicit() {
            return Err(BuildError::Unsupported(PageOption::HugePages));
        }
        pages.into_source()
    }
}

impl<T> Build for Pool<'static, T> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let source = options.source(pages)?;
        Ok(Pool::try_new_in(options.capacity, options.lazy, &source)?)
    }
}

/// Options of a [`Pool`] on the heap.
///
/// [`build`](Self::build) takes O(capacity), or O(1) if the pool is lazy. It panics if the pool
/// needs more than `isize::MAX` bytes. Both the cells and the free list are in memory of the given
/// [pages](Pages).
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::pool::Pool;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let pool = Pool::<[u64; 8]>::builder().capacity(100_000).pages(pages).try_build()?;
/// println!("{}", pool.memory());
/// assert!(Pool::<u64>::builder().capacity(usize::MAX).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<Pool<'static, T>> {
    /// Sets the number of cells of the pool, 0 by default.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.options.capacity = cells;
        self
    }

    /// Reserves the memory only, and fills the free list when cells are first used, so that
    /// construction takes O(1).
    ///
    /// An allocation may then cause a page fault, and occasionally makes a system call.
    /// [`prepare`](Pool::prepare) does both in advance for the next allocations.
    ///
    /// As with a lazy [`BoundedSlab`](crate::BoundedSlab), unused capacity takes only address space
    /// if the memory is from the [system's pages](Pages), and explicit huge pages cannot be
    /// reserved in this way.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::builder().capacity(1 << 20).lazy().build();
    /// assert_eq!(*pool.alloc(7), 7);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.options.lazy = true;
        self
    }
}
