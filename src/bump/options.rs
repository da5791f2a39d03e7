//! The options of arenas.

use super::Arena;
use super::chunks::Chunks;
use super::list::LEAST_CHUNK;
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// What a builder of arenas has set.
#[derive(Clone, Debug)]
pub struct Options {
    bounded: Option<usize>,
    reserve: usize,
    chunk_bytes: Option<usize>,
    max_bytes: usize,
}

impl Arena {
    /// A builder of an arena: where its memory comes from, and how much it may be.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options {
            bounded: None,
            reserve: 0,
            chunk_bytes: None,
            max_bytes: usize::MAX,
        })
    }
}

impl Build for Arena {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        BuildError::in_range("max_bytes", options.max_bytes, LEAST_CHUNK, usize::MAX)?;
        let chunks = Chunks::new(pages.into_source()?);
        chunks.set_max_bytes(options.max_bytes);
        if let Some(bytes) = options.chunk_bytes {
            chunks.set_first_bytes(bytes);
        }
        if let Some(bytes) = options.bounded {
            chunks.bound(bytes)?;
        }
        if options.reserve > 0 {
            chunks.reserve(options.reserve)?;
        }
        Ok(Arena { chunks })
    }
}

/// Options of an [`Arena`].
///
/// [`build`](Self::build) panics if the reserved bytes pass the limit or `isize::MAX`.
///
/// ```
/// use flatslab::bump::Arena;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let arena = Arena::builder().reserve(1 << 20).pages(pages).try_build()?;
/// println!("{}", arena.memory());
/// assert!(Arena::builder().reserve(usize::MAX).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl Builder<Arena> {
    /// One chunk of `bytes` bytes, as of [`Arena::bounded`]: [`build`](Self::build) allocates
    /// and touches it, and the arena never calls the allocator afterwards.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().bounded(1024).build();
    /// assert_eq!(arena.remaining(), 1024);
    /// assert!(arena.try_alloc_slice_fill(1025, 7_u8).is_err());
    /// ```
    pub const fn bounded(mut self, bytes: usize) -> Self {
        self.options.bounded = Some(bytes);
        self
    }

    /// Bytes that [`build`](Self::build) allocates, as [`Arena::reserve`]; 0 by default.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().reserve(10_000).build();
    /// assert!(arena.allocated_bytes() >= 10_000);
    /// ```
    pub const fn reserve(mut self, bytes: usize) -> Self {
        self.options.reserve = bytes;
        self
    }

    /// Bytes of the first chunk with its header, at most 64 MiB; 4 KiB by default. Each further
    /// chunk has at least twice as many as the one before it.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().chunk_bytes(1 << 16).build();
    /// arena.alloc(7);
    /// assert_eq!(arena.allocated_bytes_including_metadata(), 1 << 16);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.options.chunk_bytes = Some(bytes);
        self
    }

    /// The most bytes that all chunks may have together, with their headers of 64 bytes; at least 72.
    /// A chunk that would pass the limit is made smaller, down to what is needed. An allocation
    /// that needs more panics, or returns [`AllocError::Limit`](crate::AllocError::Limit).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes;
        self
    }
}
