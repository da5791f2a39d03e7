//! `ArenaBuilder`: arenas with options.

use super::Arena;
use super::chunks::Chunks;
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::memory;

/// Options of an [`Arena`]. The order of the calls does not matter.
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
    /// A builder of an arena: where its memory comes from, and how much it may be.
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

    /// Bytes that [`build`](Self::build) allocates, as [`Arena::reserve`]; 0 by default.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().reserve(10_000).build();
    /// assert!(arena.allocated_bytes() >= 10_000);
    /// ```
    pub const fn reserve(mut self, bytes: usize) -> Self {
        self.reserve = bytes;
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
        self.chunk_bytes = Some(bytes);
        self
    }

    /// The most bytes that all chunks may have together, with their headers of 64 bytes. A
    /// chunk that would pass the limit is made smaller, down to what is needed. An allocation
    /// that needs more panics, or returns [`AllocError::Limit`](crate::AllocError::Limit).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Where the memory comes from.
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
    /// If what is reserved passes the limit or `isize::MAX` bytes; if a required page option is
    /// unavailable. If the allocator refuses, the program ends, as with `Vec`.
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

    /// As [`build`](Self::build); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`build`](Self::build) would panic, or the allocator refuses.
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
