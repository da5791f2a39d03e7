//! How pools on the heap are made.

use core::marker::PhantomData;

use super::Pool;
use super::heap::Segments;
use super::memory::Cells;
use super::options::Options;
use crate::builder::Builder;
use crate::error::AllocError;
use crate::memory::Report;
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
        let geometry = Cells::<T, Segments>::GEOMETRY;
        Ok(Pool {
            memory: Segments::try_new(geometry, capacity, lazy, source)?,
            storage: PhantomData,
            values: PhantomData,
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
