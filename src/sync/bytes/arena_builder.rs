//! How byte arenas for several threads are made.

use core::fmt;

use super::arena::ByteArena;
use super::record::PREFIX;
use crate::bytes;
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::memory;

/// How a [`ByteArena`] is made. The order of the calls does not matter.
///
/// Sizes of requests are the user's bytes: 32 are added for the record of each chunk, and the
/// sum is rounded up to the chunk of a class.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::ByteArena;
///
/// let arena = ByteArena::builder().start(224).growth(1.5).largest(1500).try_build()?;
/// let sizes: Vec<_> = arena.stats().classes().iter().map(|class| class.chunk_size).collect();
/// assert_eq!(sizes, [256, 384, 576, 864, 1296, 1952]);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct ByteArenaBuilder {
    local: bytes::ByteArenaBuilder,
}

/// What the local arena is asked for; 0 stays an error.
const fn with_record(size: usize) -> usize {
    if size == 0 {
        0
    } else {
        size.saturating_add(PREFIX)
    }
}

impl ByteArenaBuilder {
    pub(super) const fn new() -> Self {
        ByteArenaBuilder {
            local: bytes::ByteArena::builder().start(64 + PREFIX),
        }
    }

    /// Bytes of a request that fills the smallest chunk, 64 if not said.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().start(10).build();
    /// assert_eq!(arena.stats().classes()[0].chunk_size, 48);
    /// ```
    pub fn start(mut self, bytes: usize) -> Self {
        self.local = self.local.start(with_record(bytes));
        self
    }

    /// How much larger the chunks of each class are than those of the one before, 2.0 if not
    /// said; sizes are rounded up to multiples of 16.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().growth(1.25).build();
    /// assert_eq!(arena.stats().classes()[1].chunk_size, 128);
    /// ```
    pub fn growth(mut self, factor: f64) -> Self {
        self.local = self.local.growth(factor);
        self
    }

    /// Bytes of a slab, from which chunks of one class are cut, 1 MiB if not said. A chunk that
    /// is larger has a slab of its own, and there are 2²⁰ chunks in a slab at most.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().slab_size(4096).build();
    /// let _buf = arena.alloc(500).unwrap();
    /// assert_eq!(arena.stats().slab_bytes / 4096, 1);
    /// ```
    pub fn slab_size(mut self, bytes: usize) -> Self {
        self.local = self.local.slab_size(bytes);
        self
    }

    /// Bytes of the largest request, those of a slab without a record if not said; rounded up to
    /// a chunk of the class it falls in. At most 2³² − 48.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().largest(1 << 24).build();
    /// assert!(arena.alloc(1 << 24).is_ok());
    /// ```
    pub fn largest(mut self, bytes: usize) -> Self {
        self.local = self.local.largest(with_record(bytes));
        self
    }

    /// The most bytes that all slabs may have together, with their headers; as for the
    /// [local arena](crate::bytes::ByteArenaBuilder::max_bytes).
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.alloc(1000).is_err());            // a slab of 1 MiB and its headers
    /// ```
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.local = self.local.max_bytes(bytes);
        self
    }

    /// Chunks for so many requests of that size are there from the start, and touched; see
    /// [`ByteArena::reserve`].
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().reserve(1500, 100).build();
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500).unwrap()).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// ```
    pub fn reserve(mut self, size: usize, count: usize) -> Self {
        self.local = self.local.reserve(size.saturating_add(PREFIX), count);
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// let arena = flatslab::sync::bytes::ByteArena::builder().pages(pages).build();
    /// # drop(arena);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.local = self.local.pages(pages);
        self
    }

    /// Makes the arena.
    ///
    /// # Panics
    ///
    /// If there are no such size classes; if what is reserved passes a limit; if what is
    /// required of the pages is not to be had. Where the allocator refuses the program ends, as
    /// with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().build();
    /// # drop(arena);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> ByteArena {
        match self.try_build() {
            Ok(arena) => arena,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the arena; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses; of the classes as for the
    /// [local arena](crate::bytes::ByteArenaBuilder::try_build). Sizes in them are with records.
    ///
    /// ```
    /// use flatslab::sync::bytes::ByteArena;
    ///
    /// assert!(ByteArena::builder().growth(f64::NAN).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<ByteArena, BuildError> {
        let local = self.local.try_build()?;
        Ok(ByteArena::try_from_local(local)?)
    }
}

impl fmt::Debug for ByteArenaBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.local.fmt(f)
    }
}
