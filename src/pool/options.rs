//! How pools on the heap are made: with a capacity, or by a builder.

use core::marker::PhantomData;

use super::Pool;
use super::heap::Heap;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::{PageOption, Pages, Report};
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;

impl<T> Pool<'static, T> {
    /// Creates a pool of `capacity` cells; O(capacity). Allocates all the memory of the pool and
    /// touches every page of it. A pool of no cells is always full.
    ///
    /// # Panics
    ///
    /// If its bytes exceed `isize::MAX`. If the allocator refuses, the program ends, as with
    /// `Vec`.
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

    /// As [`with_capacity`](Self::with_capacity); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If its bytes exceed `isize::MAX`, or the allocator refuses.
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

    /// Creates a pool that is never dropped, so that its boxes have a `'static` lifetime.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](Self::with_capacity).
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

    /// As [`leak`](Self::leak); never panics or aborts.
    ///
    /// # Errors
    ///
    /// As [`try_with_capacity`](Self::try_with_capacity).
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
        let pool = Block::leak(pool, &Source::GLOBAL).map_err(|(error, _pool)| error)?;
        // SAFETY: leaked, so it is never freed, and never borrowed mutably.
        Ok(unsafe { pool.as_ref() })
    }

    /// A builder of a pool: where its memory comes from, and whether it is only reserved.
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

    /// A pool with memory from `source`, only reserved if `lazy`.
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

    /// The pool's memory, and which of the requested page options were obtained. Asks the system
    /// about [its pages](crate::memory::Pages): for the start and for diagnostics.
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

/// What a builder of pools has set.
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

    /// Where the memory comes from.
    ///
    /// # Errors
    ///
    /// If a page option is unavailable, or cannot be had of memory that is only reserved.
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
/// [`build`](Self::build) is O(capacity), or O(1) if the pool is lazy. It panics if the bytes of
/// the pool exceed `isize::MAX`. The [pages](Pages) are those of the cells and of the free list.
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
    /// Number of cells of the pool; 0 by default.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.options.capacity = cells;
        self
    }

    /// Only reserves the memory, and fills the free list as cells are first used: construction
    /// is O(1). An allocation may take a page fault, and now and then makes a system call;
    /// [`prepare`](Pool::prepare) makes and takes those of the next allocations at once.
    ///
    /// As with a lazy [`BoundedSlab`](crate::BoundedSlab), a capacity of the
    /// [system's pages](Pages) costs address space alone, and explicit huge pages cannot be
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
