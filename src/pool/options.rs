//! The options of pools on the heap.

use super::{Pool, RecyclingPool};
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::{PageOption, Pages};
use crate::raw::source::Source;

/// What a builder of pools has set.
#[derive(Clone, Debug)]
pub struct Options {
    capacity: usize,
    lazy: bool,
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
    fn source(&self, pages: Pages) -> Result<Source, BuildError> {
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

impl<T> Build for RecyclingPool<T> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let source = options.source(pages)?;
        let pool = RecyclingPool::try_new_in(options.capacity, options.lazy, &source)?;
        Ok(pool)
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
