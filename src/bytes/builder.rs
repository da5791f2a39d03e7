//! How byte arenas are made.

use core::fmt;

use super::ByteArena;
use super::home::{Home, Plan};
use super::sizes::{Classes, LARGEST_CHUNK};
use crate::error::{BuildError, SizeClassError};
use crate::memory::Pages;
use crate::raw::memory;

/// How a [`ByteArena`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let arena = ByteArena::builder().start(256).growth(1.5).largest(9000).try_build()?;
/// let sizes: Vec<_> = arena.stats().classes().iter().map(|class| class.chunk_size).collect();
/// assert_eq!(sizes, [256, 384, 576, 864, 1296, 1952, 2928, 4400, 6608, 9920]);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct ByteArenaBuilder {
    start: usize,
    growth: f64,
    slab_size: usize,
    largest: Option<usize>,
    max_bytes: usize,
    reserve: Option<(usize, usize)>,
    pages: Pages,
}

impl ByteArena {
    /// An arena with other classes than usual, of other memory, or with a limit.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().start(1500).build();
    /// assert_eq!(arena.stats().classes()[0].chunk_size, 1504);
    /// ```
    pub const fn builder() -> ByteArenaBuilder {
        ByteArenaBuilder {
            start: 64,
            growth: 2.0,
            slab_size: 1 << 20,
            largest: None,
            max_bytes: usize::MAX,
            reserve: None,
            pages: Pages::new(),
        }
    }
}

impl ByteArenaBuilder {
    /// Bytes of the smallest chunk, 64 if not said; rounded up to a multiple of 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().start(10).build();
    /// assert_eq!(arena.stats().classes()[0].chunk_size, 16);
    /// ```
    pub const fn start(mut self, bytes: usize) -> Self {
        self.start = bytes;
        self
    }

    /// How much larger the chunks of each class are than those of the one before, 2.0 if not
    /// said; sizes are rounded up to multiples of 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().growth(1.25).build();
    /// assert_eq!(arena.stats().classes()[1].chunk_size, 80);
    /// ```
    pub const fn growth(mut self, factor: f64) -> Self {
        self.growth = factor;
        self
    }

    /// Bytes of a slab, from which chunks of one class are cut, 1 MiB if not said. A chunk that
    /// is larger has a slab of its own, and there are 2²⁰ chunks in a slab at most.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().slab_size(4096).build();
    /// let _buf = arena.alloc(1000).unwrap();
    /// assert_eq!(arena.stats().classes()[4].chunks, 4);
    /// ```
    pub const fn slab_size(mut self, bytes: usize) -> Self {
        self.slab_size = bytes;
        self
    }

    /// Bytes of the largest request, those of a slab if not said; rounded up to a chunk of the
    /// class it falls in. At most 2³² − 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().largest(1 << 24).build();
    /// assert!(arena.alloc(1 << 24).is_ok());
    /// ```
    pub const fn largest(mut self, bytes: usize) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// The most bytes that all slabs may have together, with their headers.
    ///
    /// At the limit a class takes a slab of which another class uses no chunk; else a request
    /// takes a chunk of a larger class, if one is free; else it is refused. A slab stays its
    /// class's while one of its chunks is in use, so the limit should be many times the bytes of
    /// a [slab](Self::slab_size) for each class: for 16 MiB, slabs of 256 KiB.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.alloc(1000).is_err());            // a slab of 1 MiB and its headers
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Chunks for so many requests of that size are there from the start, and touched; see
    /// [`ByteArena::reserve`].
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().reserve(1500, 100).build();
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500).unwrap()).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// ```
    pub const fn reserve(mut self, size: usize, count: usize) -> Self {
        self.reserve = Some((size, count));
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// let arena = flatslab::bytes::ByteArena::builder().pages(pages).build();
    /// # drop(arena);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
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
    /// let arena = flatslab::bytes::ByteArena::builder().build();
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
    /// Where [`build`](Self::build) panics, or the allocator refuses. Of the classes: a growth
    /// factor that is not finite and above 1, a size of 0, one above 2³² − 16, or more
    /// than 64 classes up to the largest request.
    ///
    /// ```
    /// use flatslab::bytes::ByteArena;
    ///
    /// assert!(ByteArena::builder().growth(f64::NAN).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<ByteArena, BuildError> {
        let slab_size = self.slab_size;
        if slab_size > LARGEST_CHUNK {
            let (size, limit) = (slab_size, LARGEST_CHUNK);
            return Err(SizeClassError::TooLarge { size, limit }.into());
        }
        if slab_size == 0 {
            return Err(SizeClassError::Zero.into());
        }
        let largest = self.largest.unwrap_or(slab_size.max(self.start));
        let home = Home::try_new(Plan {
            classes: Classes::new(self.start, self.growth, largest)?,
            slab_size,
            max_bytes: self.max_bytes,
            source: self.pages.into_source()?,
        })?;
        let arena = ByteArena { home };
        if let Some((size, count)) = self.reserve {
            arena.reserve_for_build(size, count)?;
        }
        Ok(arena)
    }
}

impl fmt::Debug for ByteArenaBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteArenaBuilder")
            .field("start", &self.start)
            .field("growth", &self.growth)
            .field("slab_size", &self.slab_size)
            .field("largest", &self.largest)
            .field("max_bytes", &self.max_bytes)
            .field("reserve", &self.reserve)
            .field("pages", &self.pages)
            .finish()
    }
}
