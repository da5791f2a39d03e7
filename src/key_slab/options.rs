//! The options of both containers.

use super::key::SlabKey;
use super::{BoundedKeySlab, KeySlab};
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// What a builder of key slabs has set.
#[derive(Clone, Debug)]
pub struct KeySlabOptions {
    reserve: usize,
}

impl<T> KeySlab<T> {
    /// A builder of a slab: its first memory, and where memory comes from. Its keys are
    /// [`Key`](crate::Key)s; for others there is
    /// [`builder_with_key`](KeySlab::builder_with_key).
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().reserve(100).build();
    /// assert!(slab.capacity() >= 100);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Self::builder_with_key()
    }
}

impl<T, K: SlabKey> KeySlab<T, K> {
    /// A builder of a slab whose keys are of a type of your choice.
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> = KeySlab::builder_with_key().reserve(100).build();
    /// let key: GenKey = slab.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    pub const fn builder_with_key() -> Builder<Self> {
        Builder::new(KeySlabOptions { reserve: 0 })
    }
}

impl<T, K: SlabKey> Build for KeySlab<T, K> {
    type Options = KeySlabOptions;

    fn try_build(options: KeySlabOptions, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        Ok(Self::try_with_exact_capacity(options.reserve, &source)?)
    }
}

/// Options of a [`KeySlab`].
///
/// [`build`](Self::build) allocates what was reserved, and panics as [`KeySlab::reserve`]. Growth
/// takes a larger block from the same [pages](Pages), and gives the old one back; the system's
/// are all touched then.
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = KeySlab::<u64>::builder().reserve(10_000).pages(pages).try_build()?;
/// assert!(slab.capacity() >= 10_000);
/// assert!(KeySlab::<u64>::builder().reserve(usize::MAX).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T, K: SlabKey> Builder<KeySlab<T, K>> {
    /// Number of values that the slab has memory for at the start; 0 by default.
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().reserve(100).build();
    /// assert!(slab.free_slots() >= 100);
    /// ```
    pub const fn reserve(mut self, slots: usize) -> Self {
        self.options.reserve = slots;
        self
    }
}

/// What a builder of bounded key slabs has set.
#[derive(Clone, Debug)]
pub struct BoundedKeySlabOptions {
    capacity: usize,
}

impl<T> BoundedKeySlab<T> {
    /// A builder of a slab: its capacity, and where its memory comes from. Its keys are
    /// [`Key`](crate::Key)s; for others there is
    /// [`builder_with_key`](BoundedKeySlab::builder_with_key).
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Self::builder_with_key()
    }
}

impl<T, K: SlabKey> BoundedKeySlab<T, K> {
    /// A builder of a slab whose keys are of a type of your choice.
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, GenKey};
    ///
    /// let slab: BoundedKeySlab<u64, GenKey> =
    ///     BoundedKeySlab::builder_with_key().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder_with_key() -> Builder<Self> {
        Builder::new(BoundedKeySlabOptions { capacity: 0 })
    }
}

impl<T, K: SlabKey> Build for BoundedKeySlab<T, K> {
    type Options = BoundedKeySlabOptions;

    fn try_build(options: BoundedKeySlabOptions, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        Ok(Self::try_with_exact_capacity(options.capacity, &source)?)
    }
}

/// Options of a [`BoundedKeySlab`].
///
/// [`build`](Self::build) is O(1) besides the allocator, and panics as
/// [`BoundedKeySlab::with_capacity`]. The [pages](Pages) are those of the cells and of the free
/// stack; the system's are all touched when the slab is made.
///
/// ```
/// use flatslab::BoundedKeySlab;
/// use flatslab::memory::{Lock, Pages};
///
/// let pages = Pages::new().lock(Lock::Try);
/// let slab = BoundedKeySlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 100);
/// assert!(BoundedKeySlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T, K: SlabKey> Builder<BoundedKeySlab<T, K>> {
    /// Number of slots; 0 by default.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }
}
