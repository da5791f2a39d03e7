//! How rings of buffers are made.

use core::fmt;

use super::ByteArena;
use super::ring::Ring;
use super::slab_ring::SlabRing;
use crate::error::{BuildError, SizeClassError};
use crate::memory::Pages;
use crate::raw::memory;

/// How a [`Ring`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::Ring;
///
/// let ring = Ring::builder().entries(1024).max_len(1500).in_flight(8).try_build()?;
/// assert_eq!((ring.capacity(), ring.max_len()), (1024, 1500));
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct RingBuilder {
    entries: usize,
    max_len: usize,
    in_flight: usize,
    pages: Pages,
}

impl RingBuilder {
    /// How many entries there are at most; 1 if not said. With those in flight they are 2²⁴ at
    /// most.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// The most bytes of an entry, 1,500 if not said.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::Ring::builder().max_len(4).build();
    /// assert!(ring.push(b"hello").is_err());
    /// ```
    pub const fn max_len(mut self, bytes: usize) -> Self {
        self.max_len = bytes;
        self
    }

    /// How many popped buffers readers may keep without taking room from entries; 1 if not
    /// said.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::Ring::builder().entries(1).in_flight(2).build();
    /// let kept = [b"a", b"b"].map(|bytes| {
    ///     ring.push(bytes).unwrap();
    ///     ring.pop().unwrap()
    /// });
    /// ring.push(b"c").unwrap();
    /// # drop(kept);
    /// ```
    pub const fn in_flight(mut self, buffers: usize) -> Self {
        self.in_flight = buffers;
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::bytes::Ring;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let ring = Ring::builder().pages(Pages::new().huge(HugePages::Try)).build();
    /// # drop(ring);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Makes the ring; O(entries).
    ///
    /// # Panics
    ///
    /// If there is no entry, or one has no byte or more than a chunk; if what is required of
    /// the pages is not to be had. Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::builder().build();
    /// assert!(ring.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> Ring {
        match self.try_build() {
            Ok(ring) => ring,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the ring; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bytes::Ring::builder().entries(0).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<Ring, BuildError> {
        if self.entries == 0 || self.max_len == 0 {
            return Err(SizeClassError::Zero.into());
        }
        let buffers = self.entries.saturating_add(self.in_flight);
        let chunk = self.max_len.saturating_add(15) / 16 * 16;
        // One slab where that is not more than a slab may have.
        let slab_size = chunk.saturating_mul(buffers).min(chunk.max(LARGEST_SLAB));
        let arena = ByteArena::builder()
            .start(self.max_len)
            .largest(self.max_len)
            .slab_size(slab_size)
            .reserve(self.max_len, buffers)
            .pages(self.pages)
            .try_build()?;
        arena.home().forbid_growth();
        let entries = SlabRing::try_new_in(self.entries, arena.home().source())?;
        Ok(Ring::new(entries, arena, self.max_len))
    }
}

/// Slabs of a large ring have so many bytes.
const LARGEST_SLAB: usize = 1 << 26;

impl fmt::Debug for RingBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingBuilder")
            .field("entries", &self.entries)
            .field("max_len", &self.max_len)
            .field("in_flight", &self.in_flight)
            .field("pages", &self.pages)
            .finish()
    }
}

impl Ring {
    /// A ring with other numbers than usual, or of other memory.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> RingBuilder {
        RingBuilder {
            entries: 1,
            max_len: 1500,
            in_flight: 1,
            pages: Pages::new(),
        }
    }
}
