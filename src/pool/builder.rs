//! `PoolBuilder`, and how pools on the heap are made.

use core::fmt;
use core::marker::PhantomData;

use super::Pool;
use super::heap::Segments;
use super::memory::Cells;
use crate::error::{AllocError, BuildError};
use crate::memory::{PageOption, Pages, Report};
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;

/// Options of a [`Pool`] on the heap. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::pool::Pool;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let pool = Pool::<[u64; 8]>::builder().capacity(100_000).pages(pages).try_build()?;
/// println!("{}", pool.memory());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct PoolBuilder<T> {
    capacity: usize,
    lazy: bool,
    pages: Pages,
    marker: PhantomData<fn() -> T>,
}

impl<T> Pool<'static, T> {
    /// A pool of `capacity` cells; O(capacity). Allocates all the memory of the pool and touches
    /// every page of it. A pool of no cells is always full.
    ///
    /// # Panics
    ///
    /// If its bytes pass `isize::MAX`. If the allocator refuses, the program ends, as with
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
    /// If its bytes pass `isize::MAX`, or the allocator refuses.
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

    /// A pool that is never dropped, so that its boxes have a `'static` lifetime.
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
    pub const fn builder() -> PoolBuilder<T> {
        PoolBuilder {
            capacity: 0,
            lazy: false,
            pages: Pages::new(),
            marker: PhantomData,
        }
    }
}

impl<T> Pool<'static, T> {
    /// A pool with memory from `source`, only reserved if `lazy`.
    pub(super) fn try_new_in(
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let geometry = Cells::<T, Segments>::GEOMETRY;
        Ok(Pool {
            memory: Segments::try_new(geometry, capacity, lazy, source)?,
            storage: PhantomData,
            values: PhantomData,
        })
    }

    /// The pool's memory, and which of the requested page options were obtained. Asks the system
    /// about [its pages](Pages): for the start and for diagnostics.
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

impl<T> PoolBuilder<T> {
    /// Number of cells of the pool; 0 by default.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).build();
    /// assert_eq!(pool.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, cells: usize) -> Self {
        self.capacity = cells;
        self
    }

    /// Where the memory comes from: that of the cells and of the free list.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    /// use flatslab::pool::Pool;
    ///
    /// let pages = Pages::new().huge(HugePages::Transparent);
    /// let pool = Pool::<u64>::builder().capacity(8).pages(pages).build();
    /// # drop(pool);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Only reserves the memory, and fills the free list as cells are first used: construction
    /// is O(1). An allocation may take a page fault, and now and then makes a system call;
    /// [`prefault`](Pool::prefault) makes and takes all of them at once.
    ///
    /// As with a lazy [`BoundedSlab`](crate::BoundedSlabBuilder::lazy), a capacity of
    /// the [system's pages](Pages) costs address space alone, and explicit huge pages
    /// cannot be reserved in this way.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::builder().capacity(1 << 20).lazy().build();
    /// assert_eq!(*pool.alloc(7), 7);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.lazy = true;
        self
    }

    /// Makes the pool; O(capacity), and O(1) if it is [lazy](Self::lazy).
    ///
    /// # Panics
    ///
    /// If its bytes pass `isize::MAX`; if a required page option is unavailable. If the
    /// allocator refuses, the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::builder().capacity(8).build();
    /// assert!(pool.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> Pool<'static, T> {
        match self.try_build() {
            Ok(pool) => pool,
            Err(error) => memory::fail(error),
        }
    }

    /// As [`build`](Self::build); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`build`](Self::build) would panic, or the allocator refuses; nothing is leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// assert!(Pool::<u64>::builder().capacity(usize::MAX).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<Pool<'static, T>, BuildError> {
        let (capacity, lazy, source) = self.into_parts()?;
        Ok(Pool::try_new_in(capacity, lazy, &source)?)
    }

    /// Capacity, laziness, and where the memory comes from.
    pub(super) fn into_parts(self) -> Result<(usize, bool, Source), BuildError> {
        if self.lazy && self.pages.requires_explicit() {
            return Err(BuildError::Unsupported(PageOption::HugePages));
        }
        Ok((self.capacity, self.lazy, self.pages.into_source()?))
    }
}

impl<T> Clone for PoolBuilder<T> {
    fn clone(&self) -> Self {
        PoolBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T> fmt::Debug for PoolBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("capacity", &self.capacity)
            .field("lazy", &self.lazy)
            .field("pages", &self.pages)
            .finish()
    }
}
