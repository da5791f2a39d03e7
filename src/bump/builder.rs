//! How arenas are made of other memory than usual.

use super::Arena;
use super::chunks::Chunks;
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::memory;

/// How an [`Arena`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::bump::Arena;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let arena = Arena::builder().reserve(1 << 20).pages(pages).try_build()?;
/// println!("{}", arena.memory());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct ArenaBuilder {
    bounded: Option<usize>,
    reserve: usize,
    chunk_bytes: Option<usize>,
    max_bytes: usize,
    pages: Pages,
}

impl Arena {
    /// An arena of other memory than usual, or with a limit.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn builder() -> ArenaBuilder {
        ArenaBuilder {
            bounded: None,
            reserve: 0,
            chunk_bytes: None,
            max_bytes: usize::MAX,
            pages: Pages::new(),
        }
    }
}

impl ArenaBuilder {
    /// One chunk of `bytes` bytes, as of [`Arena::bounded`]: [`build`](Self::build) allocates
    /// and touches it, and the arena never calls the allocator afterwards.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().bounded(1024).build();
    /// assert_eq!(arena.remaining(), 1024);
    /// assert!(arena.try_alloc_slice_fill(1025, 7_u8).is_err());
    /// ```
    pub const fn bounded(mut self, bytes: usize) -> Self {
        self.bounded = Some(bytes);
        self
    }

    /// Bytes that are allocated at once, as by [`Arena::reserve`]; none if not said.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().reserve(10_000).build();
    /// assert!(arena.allocated_bytes() >= 10_000);
    /// ```
    pub const fn reserve(mut self, bytes: usize) -> Self {
        self.reserve = bytes;
        self
    }

    /// Bytes of the first chunk with its header, 4 KiB if not said, at most 64 MiB; each
    /// further chunk has twice as many as the one before it, or more.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().chunk_bytes(1 << 16).build();
    /// arena.alloc(7);
    /// assert_eq!(arena.allocated_bytes_including_metadata(), 1 << 16);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = Some(bytes);
        self
    }

    /// The most bytes that all chunks may have together, with their headers of 64 bytes. A
    /// chunk that would pass it is made smaller, down to what is needed. What needs more
    /// panics, or is refused with [`AllocError::Limit`](crate::AllocError::Limit).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::memory::Pages;
    ///
    /// let arena = flatslab::bump::Arena::builder().pages(Pages::new()).build();
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
    /// If what is reserved passes the limit or `isize::MAX` bytes; if what is required of
    /// the pages is not to be had. Where the allocator refuses the program ends, as with
    /// `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().build();
    /// # drop(arena);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> Arena {
        match self.try_build() {
            Ok(arena) => arena,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the arena; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::builder().reserve(usize::MAX).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<Arena, BuildError> {
        let chunks = Chunks::new(self.pages.into_source()?);
        chunks.set_max_bytes(self.max_bytes);
        if let Some(bytes) = self.chunk_bytes {
            chunks.set_first_bytes(bytes);
        }
        if let Some(bytes) = self.bounded {
            chunks.bound(bytes)?;
        }
        if self.reserve > 0 {
            chunks.reserve(self.reserve)?;
        }
        Ok(Arena { chunks })
    }
}
