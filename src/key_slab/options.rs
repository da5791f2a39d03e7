//! The builders' options of both key slabs.

#[cfg(all(doc, feature = "os-memory"))]
use super::PlainSlab;
use super::key::{GenerationKey, SlabKey};
use super::{BoundedKeySlab, KeySlab};
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// The options that a builder of key slabs has been given.
#[derive(Clone, Debug)]
pub struct KeySlabOptions {
    reserve: usize,
    in_range: bool,
    wraps: bool,
}

impl<T> KeySlab<T> {
    /// Returns a builder of a slab, with options for its first memory, and where its memory comes
    /// from.
    ///
    /// Its keys are [`Key`](crate::Key)s; for others use
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
    /// Returns a builder of a slab whose keys are of a type of your choice.
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
        slab.set_wraps(options.wraps);
        Ok(slab)
    }
}

/// Options of a [`KeySlab`].
///
/// [`build`](Self::build) allocates the reserved memory, and panics where [`KeySlab::reserve`]
/// does. To grow, the slab takes a larger block from the same [pages](Pages), and frees the old
/// one. System pages are all populated when they are allocated.
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
    /// Sets the number of values that the slab has memory for at construction. The default is 0.
    ///
    /// ```
    /// let slab = flatslab::KeySlab::<u64>::builder().reserve(100).build();
    /// assert!(slab.free_slots() >= 100);
    /// ```
    pub const fn reserve(mut self, slots: usize) -> Self {
        self.options.reserve = slots;
        self
    }

    /// Lets a large slab grow within a reserved range of addresses, so that growth does not copy
    /// its values.
    ///
    /// A block of 16 KiB or more moves into such a range the next time it grows, and is copied this
    /// one time. A range reserves 1 GiB of addresses, or 256 times what is used if that is more;
    /// pages are provided when they are touched. Each growth opens 1 MiB of the range, in a system
    /// call or two. When a range is used up, the values move to a larger one. The first time, the
    /// system moves the pages by changing the page tables, after which every core has to reload its
    /// address translations; a second time, or after a fork, the values are copied.
    ///
    /// The price:
    ///
    /// - The memory does not come from the global allocator, so its limits and profiles do not see
    ///   it. If the system overcommits, which is usual, it may end the program when the program
    ///   touches pages that the system does not have.
    /// - The memory is returned to the system when the slab is dropped. For slabs that are created,
    ///   filled and dropped again and again, the allocator's warm memory is faster.
    /// - A process has at most 1024 ranges, and none while its addresses are limited (`RLIMIT_AS`).
    ///   Further slabs grow as if this option was not set. So do slabs with [pages](Builder::pages)
    ///   of another source, slabs with cells aligned to more than 4 KiB, and all slabs on systems
    ///   other than 64-bit Linux.
    ///
    /// If the system refuses to open a part of a range, the operation fails as if the allocator
    /// refused. [`prepare`](PlainSlab::prepare) touches the pages of the next insertions.
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
    /// Lets generations wrap: a slot that has used its last generation starts again with the first
    /// one, instead of being [retired](KeySlab::retired_slots).
    ///
    /// See [how long generations last](super::GenKey#how-long-generations-last).
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

/// The options that a builder of bounded key slabs has been given.
#[derive(Clone, Debug)]
pub struct BoundedKeySlabOptions {
    capacity: usize,
    lazy: bool,
    wraps: bool,
}

impl<T> BoundedKeySlab<T> {
    /// Returns a builder of a slab, with options for its capacity, and where its memory comes from.
    ///
    /// Its keys are [`Key`](crate::Key)s; for others use
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
    /// Returns a builder of a slab whose keys are of a type of your choice.
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
        slab.set_wraps(options.wraps);
        Ok(slab)
    }
}

/// Options of a [`BoundedKeySlab`].
///
/// [`build`](Self::build) takes O(capacity), or O(1) and one allocation if the slab is lazy. It
/// panics where [`BoundedKeySlab::with_capacity`] does. The cells and the free stack are allocated
/// from the given [pages](Pages). System pages are all populated at construction, also of a lazy
/// slab.
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
    /// Sets the number of slots. The default is 0.
    ///
    /// ```
    /// let slab = flatslab::BoundedKeySlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }

    /// Leaves the memory untouched at construction.
    ///
    /// A generous bound then costs only address space, and an insertion that reaches a new page
    /// faults, unless [`prepare`](BoundedKeySlab::prepare) has touched the page.
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
    /// Lets generations wrap: a slot that has used its last generation starts again with the first
    /// one, instead of being [retired](BoundedKeySlab::retired_slots).
    ///
    /// See [how long generations last](super::GenKey#how-long-generations-last).
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
