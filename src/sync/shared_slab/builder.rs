//! How a `SharedSlab` is made of other memory than usual.

use core::fmt;
use core::marker::PhantomData;

use super::SharedSlab;
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::memory;

/// How a [`SharedSlab`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::sync::SharedSlab;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = SharedSlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 100);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct SharedSlabBuilder<T> {
    capacity: usize,
    pages: Pages,
    values: PhantomData<fn() -> T>,
}

impl<T> SharedSlab<T> {
    /// A slab of other memory than usual.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder() -> SharedSlabBuilder<T> {
        SharedSlabBuilder {
            capacity: 0,
            pages: Pages::new(),
            values: PhantomData,
        }
    }
}

impl<T> SharedSlabBuilder<T> {
    /// Number of slots; none by default.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.capacity = slots;
        self
    }

    /// Where the memory comes from, of the cells and of the map of the free ones. The
    /// [system's pages](Pages) are all touched when the slab is made.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    /// use flatslab::sync::SharedSlab;
    ///
    /// let pages = Pages::new().huge(HugePages::Transparent);
    /// let slab = SharedSlab::<u64>::builder().capacity(8).pages(pages).build();
    /// assert!(slab.is_empty());
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Makes the slab; O(capacity).
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](SharedSlab::with_capacity); if a required option of the pages
    /// is unavailable.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(8).build();
    /// assert!(slab.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> SharedSlab<T> {
        match self.try_build() {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the slab, like [`build`](Self::build); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses; nothing is leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// assert!(SharedSlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<SharedSlab<T>, BuildError> {
        let source = self.pages.into_source()?;
        Ok(SharedSlab::try_new_in(self.capacity, &source)?)
    }
}

impl<T> Clone for SharedSlabBuilder<T> {
    fn clone(&self) -> Self {
        SharedSlabBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T> fmt::Debug for SharedSlabBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlabBuilder")
            .field("capacity", &self.capacity)
            .field("pages", &self.pages)
            .finish()
    }
}
