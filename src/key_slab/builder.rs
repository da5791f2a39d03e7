//! How a `KeySlab` or a `BoundedKeySlab` is made of other memory than usual, and
//! what memory it has.

use core::fmt;
use core::marker::PhantomData;

use super::free::FreeIndices;
use super::key::SlabKey;
use super::storage::sealed::Cells;
use super::storage::{Array, Chunks, Storage};
use super::{BoundedKeySlab, KeySlab, PlainSlab};
use crate::error::{AllocError, BuildError};
use crate::key::Key;
use crate::memory::Pages;
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// How a [`KeySlab`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = KeySlab::<u64>::builder().reserve(10_000).pages(pages).try_build()?;
/// assert!(slab.capacity() >= 10_000);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct KeySlabBuilder<T, K = Key> {
    reserve: usize,
    pages: Pages,
    values: PhantomData<fn() -> (T, K)>,
}

/// How a [`BoundedKeySlab`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedKeySlab;
/// use flatslab::memory::{Lock, Pages};
///
/// let pages = Pages::new().lock(Lock::Try);
/// let slab = BoundedKeySlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 100);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct BoundedKeySlabBuilder<T, K = Key> {
    capacity: usize,
    pages: Pages,
    values: PhantomData<fn() -> (T, K)>,
}

impl<T> PlainSlab<T, Key, Chunks> {
    /// A slab of other memory than usual, or with memory beforehand. Its keys are
    /// [`Key`]s; for others there is [`builder_with_key`](PlainSlab::builder_with_key).
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().reserve(100).build();
    /// assert!(slab.capacity() >= 100);
    /// ```
    pub const fn builder() -> KeySlabBuilder<T, Key> {
        Self::builder_with_key()
    }
}

impl<T> PlainSlab<T, Key, Array> {
    /// A slab of other memory than usual. Its keys are [`Key`]s; for others there
    /// is [`builder_with_key`](PlainSlab::builder_with_key).
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder() -> BoundedKeySlabBuilder<T, Key> {
        Self::builder_with_key()
    }
}

impl<T, K: SlabKey> PlainSlab<T, K, Chunks> {
    /// A slab of other memory than usual, or with memory beforehand, whose keys
    /// are of a type of your choice.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::builder_with_key().reserve(100).build();
    /// let key: GenKey = slab.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    pub const fn builder_with_key() -> KeySlabBuilder<T, K> {
        KeySlabBuilder {
            reserve: 0,
            pages: Pages::new(),
            values: PhantomData,
        }
    }

    /// An empty slab whose memory comes from `source`, of which `same` is a clone.
    pub(super) const fn new_in(source: Source, same: Source) -> Self {
        // SAFETY: made for these cells; no capacity yet.
        unsafe { Self::from_parts(Chunks::new::<K::Cell<T>>(source), FreeIndices::empty(same)) }
    }
}

impl<T, K: SlabKey> PlainSlab<T, K, Array> {
    /// A slab of other memory than usual, whose keys are of a type of your choice.
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, GenKey};
    ///
    /// let slab: BoundedKeySlab<u64, GenKey> =
    ///     BoundedKeySlab::builder_with_key().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder_with_key() -> BoundedKeySlabBuilder<T, K> {
        BoundedKeySlabBuilder {
            capacity: 0,
            pages: Pages::new(),
            values: PhantomData,
        }
    }

    /// A slab of `capacity` slots whose memory comes from `source`.
    pub(super) fn try_new_in(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let storage = <Array as Cells>::try_new::<K::Cell<T>>(capacity, source)?;
        let free = FreeIndices::try_new(capacity, source)?;
        // SAFETY: made for these cells, with that capacity.
        Ok(unsafe { Self::from_parts(storage, free) })
    }
}

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// What memory the slab has, and what was obtained of what was asked for. Asks
    /// the system about [its pages](crate::memory::Pages): for the start and for
    /// diagnostics.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 4));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.storage.bytes() + self.free.bytes();
        Report::new(bytes, self.storage.source())
    }
}

impl<T, K: SlabKey> KeySlabBuilder<T, K> {
    /// Gets memory for this many values beforehand.
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().reserve(100).build();
    /// assert!(slab.free_slots() >= 100);
    /// ```
    pub const fn reserve(mut self, slots: usize) -> Self {
        self.reserve = slots;
        self
    }

    /// What memory it is to have: chunks, table and free stack. Of the
    /// [system's pages](Pages), many chunks are mapped at once.
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Transparent);
    /// let slab = KeySlab::<u64>::builder().pages(pages).build();
    /// assert!(slab.is_empty());
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Makes the slab; allocates what was reserved, O(chunks).
    ///
    /// # Panics
    ///
    /// As [`reserve`](PlainSlab::reserve); if what is required of the pages is not
    /// to be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().build();
    /// assert!(slab.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> KeySlab<T, K> {
        match self.try_build() {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the slab, like [`build`](Self::build); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::KeySlab::<u64>::builder().reserve(usize::MAX).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<KeySlab<T, K>, BuildError> {
        let source = self.pages.into_source()?;
        let mut slab = KeySlab::new_in(source.clone(), source);
        slab.try_reserve(self.reserve)?;
        Ok(slab)
    }
}

impl<T, K: SlabKey> BoundedKeySlabBuilder<T, K> {
    /// Slots of the slab; none if not said.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.capacity = slots;
        self
    }

    /// What memory it is to have: cells and free stack. The
    /// [system's pages](Pages) are all there when the slab is made.
    ///
    /// ```
    /// use flatslab::BoundedKeySlab;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Transparent);
    /// let slab = BoundedKeySlab::<u64>::builder().capacity(8).pages(pages).build();
    /// assert!(slab.is_empty());
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Makes the slab; O(1) besides the allocator.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](PlainSlab::with_capacity); if what is required of the
    /// pages is not to be had.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(8).build();
    /// assert!(slab.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> BoundedKeySlab<T, K> {
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
    /// use flatslab::BoundedKeySlab;
    ///
    /// assert!(BoundedKeySlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<BoundedKeySlab<T, K>, BuildError> {
        let source = self.pages.into_source()?;
        Ok(BoundedKeySlab::try_new_in(self.capacity, &source)?)
    }
}

impl<T, K> Clone for KeySlabBuilder<T, K> {
    fn clone(&self) -> Self {
        KeySlabBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T, K> Clone for BoundedKeySlabBuilder<T, K> {
    fn clone(&self) -> Self {
        BoundedKeySlabBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T, K> fmt::Debug for KeySlabBuilder<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySlabBuilder")
            .field("reserve", &self.reserve)
            .field("pages", &self.pages)
            .finish()
    }
}

impl<T, K> fmt::Debug for BoundedKeySlabBuilder<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedKeySlabBuilder")
            .field("capacity", &self.capacity)
            .field("pages", &self.pages)
            .finish()
    }
}
