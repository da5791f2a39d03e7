//! The options of both containers.

#[cfg(all(doc, feature = "os-memory"))]
use super::PlainSlab;
use super::key::{GenerationKey, SlabKey};
use super::{BoundedKeySlab, KeySlab};
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// What a builder of key slabs has set.
#[derive(Clone, Debug)]
pub struct KeySlabOptions {
    reserve: usize,
    in_range: bool,
    wraps: bool,
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
        Builder::new(KeySlabOptions {
            reserve: 0,
            in_range: false,
            wraps: false,
        })
    }
}

impl<T, K: SlabKey> Build for KeySlab<T, K> {
    type Options = KeySlabOptions;

    fn try_build(options: KeySlabOptions, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let mut slab = Self::try_with_exact_capacity(options.reserve, &source, options.in_range)?;
        slab.wraps = options.wraps;
        Ok(slab)
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

    /// Lets a large slab grow in a range of addresses, so that no insertion copies.
    ///
    /// A block of 16 KiB or more becomes a range when it grows, and is copied once more then:
    /// addresses that are reserved, a GiB or 256 times what is used, and get their pages as these
    /// are touched. Growth opens 1 MiB of them in a system call or two. Where a range is used up,
    /// its values move to a larger one: by the tables of the processor, after which all cores
    /// forget where the pages were; a second time, or after a fork, as copies.
    ///
    /// In exchange:
    ///
    /// - The memory is not of the global allocator: its limits and profiles do not see it.
    ///   Where the system overcommits, which is usual, it may end the program when
    ///   pages are touched that it does not have.
    /// - It goes back to the system with the slab. Slabs that are made, filled and dropped again
    ///   and again are faster in the allocator's warm memory.
    /// - A process has 1024 ranges at most, and none while its addresses are limited
    ///   (`RLIMIT_AS`). Further slabs grow as if this was not set, as
    ///   do those with [pages](Builder::pages) of another source, with cells aligned to more than
    ///   4 KiB, and all of them where the system is not Linux of 64 bits.
    ///
    /// A refused opening is an error, as a refusal of the allocator is.
    /// [`prepare`](PlainSlab::prepare) touches the pages of the next insertions.
    ///
    /// ```
    /// use flatslab::KeySlab;
    ///
    /// let mut slab = KeySlab::<u64>::builder().grow_in_place().build();
    /// let keys: Vec<_> = (0..200_000).map(|number| slab.insert(number)).collect();
    /// assert_eq!(slab[keys[199_999]], 199_999);
    /// ```
    #[cfg(feature = "os-memory")]
    #[cfg_attr(docsrs, doc(cfg(feature = "os-memory")))]
    #[doc(alias = "in_range")]
    pub const fn grow_in_place(mut self) -> Self {
        self.options.in_range = true;
        self
    }
}

impl<T, K: GenerationKey> Builder<KeySlab<T, K>> {
    /// Lets generations wrap: a slot that has used its last one begins with the first one again,
    /// instead of being [retired](KeySlab::retired_slots). See
    /// [how long generations last](super::GenKey#how-long-generations-last).
    ///
    /// ```
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut slab: KeySlab<u64, GenKey> =
    ///     KeySlab::builder_with_key().wrapping_generations().build();
    /// let key = slab.insert(7);
    /// assert_eq!((slab[key], slab.wear()), (7, 1));
    /// ```
    pub const fn wrapping_generations(mut self) -> Self {
        self.options.wraps = true;
        self
    }
}

/// What a builder of bounded key slabs has set.
#[derive(Clone, Debug)]
pub struct BoundedKeySlabOptions {
    capacity: usize,
    lazy: bool,
    wraps: bool,
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
        Builder::new(BoundedKeySlabOptions {
            capacity: 0,
            lazy: false,
            wraps: false,
        })
    }
}

impl<T, K: SlabKey> Build for BoundedKeySlab<T, K> {
    type Options = BoundedKeySlabOptions;

    fn try_build(options: BoundedKeySlabOptions, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let mut slab = if options.lazy {
            Self::try_with_exact_capacity(options.capacity, &source, false)?
        } else {
            Self::try_touched(options.capacity, &source)?
        };
        slab.wraps = options.wraps;
        Ok(slab)
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

    /// Leaves the memory untouched: a generous bound costs address space alone, and an insertion
    /// that comes to a new page faults, unless [`prepare`](BoundedKeySlab::prepare) has touched it.
    ///
    /// ```
    /// use flatslab::BoundedKeySlab;
    ///
    /// let slab = BoundedKeySlab::<u64>::builder().capacity(1 << 24).lazy().build();
    /// assert_eq!(slab.capacity(), 1 << 24);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.options.lazy = true;
        self
    }
}

impl<T, K: GenerationKey> Builder<BoundedKeySlab<T, K>> {
    /// Lets generations wrap: a slot that has used its last one begins with the first one again,
    /// instead of being [retired](BoundedKeySlab::retired_slots). See
    /// [how long generations last](super::GenKey#how-long-generations-last).
    ///
    /// ```
    /// use flatslab::{BoundedKeySlab, GenKey};
    ///
    /// let mut slab: BoundedKeySlab<u64, GenKey> = BoundedKeySlab::builder_with_key()
    ///     .capacity(8)
    ///     .wrapping_generations()
    ///     .build();
    /// assert!(slab.insert(7).is_ok());
    /// ```
    pub const fn wrapping_generations(mut self) -> Self {
        self.options.wraps = true;
        self
    }
}
