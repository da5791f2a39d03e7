//! `BoundedSlabBuilder`: how a bounded slab is made of other memory than usual.

use core::fmt;
use core::marker::PhantomData;

use crate::error::BuildError;
use crate::memory::{PageOption, Pages};
use crate::raw::memory;
use crate::slab::TrackedSlab;
use crate::slab::bounded::{Bounded, BoundedSlab};

/// How a [`BoundedSlab`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
/// use flatslab::memory::{HugePages, Lock, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try).lock(Lock::Try);
/// let slab = BoundedSlab::<u64>::builder().capacity(100_000).pages(pages).try_build()?;
/// println!("{}", slab.memory());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct BoundedSlabBuilder<T> {
    capacity: usize,
    lazy: bool,
    pages: Pages,
    values: PhantomData<fn() -> T>,
}

impl<T> TrackedSlab<T, Bounded> {
    /// A slab of other memory than usual, or of memory that is only reserved.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().try_build()?;
    /// assert_eq!(slab.capacity(), 1 << 20);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub const fn builder() -> BoundedSlabBuilder<T> {
        BoundedSlabBuilder::new()
    }
}

impl<T> BoundedSlabBuilder<T> {
    const fn new() -> Self {
        BoundedSlabBuilder {
            capacity: 0,
            lazy: false,
            pages: Pages::new(),
            values: PhantomData,
        }
    }

    /// Slots of the slab; none if not said.
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.capacity = slots;
        self
    }

    /// What memory it is to have: cells, free stack and all.
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Transparent);
    /// let slab = BoundedSlab::<u64>::builder().capacity(8).pages(pages).build();
    /// # drop(slab);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Only reserves the memory: it grows into its capacity, and its access by
    /// key is that of a slab that does not grow.
    ///
    /// Slots are committed in order, as insertions come to slots that were never
    /// used, so an insertion may take a page fault, and now and then a system
    /// call. [`prepare`](BoundedSlab::prepare) takes them beforehand,
    /// [`shrink_to_fit`](BoundedSlab::shrink_to_fit) gives memory back.
    ///
    /// Of the [system's pages](Pages) a capacity costs address space alone: more
    /// than the machine has memory is fine. Locking then means each page as it
    /// comes. Explicit huge pages cannot be reserved in this way:
    /// [`HugePages::Require`](crate::memory::HugePages::Require) is refused, and
    /// `Try` takes transparent ones. The global allocator may refuse more than
    /// the machine has.
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().build();
    /// let key = slab.insert_key(7).unwrap();
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.lazy = true;
        self
    }

    /// Makes the slab; O(capacity), and O(1) if it is [lazy](Self::lazy).
    ///
    /// # Panics
    ///
    /// If the capacity is 2^30 or more, or its bytes pass `isize::MAX`; if what is
    /// required of the pages is not to be had. Where the allocator refuses the
    /// program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::builder().capacity(8).build();
    /// assert!(slab.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> BoundedSlab<T> {
        match self.try_build() {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the slab, like [`build`](Self::build); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses; nothing is
    /// leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// assert!(BoundedSlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<BoundedSlab<T>, BuildError> {
        if self.lazy && self.pages.requires_explicit() {
            return Err(BuildError::Unsupported(PageOption::HugePages));
        }
        let source = self.pages.into_source()?;
        Ok(BoundedSlab::try_new_in(self.capacity, self.lazy, &source)?)
    }
}

impl<T> Clone for BoundedSlabBuilder<T> {
    fn clone(&self) -> Self {
        BoundedSlabBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T> fmt::Debug for BoundedSlabBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedSlabBuilder")
            .field("capacity", &self.capacity)
            .field("lazy", &self.lazy)
            .field("pages", &self.pages)
            .finish()
    }
}
