//! How shared rings are made.

use core::fmt;

use super::shared_ring::SharedRing;
use crate::error::{BuildError, SizeClassError};
use crate::memory::Pages;
use crate::raw::memory;

/// How a [`SharedRing`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::SharedRing;
///
/// let builder = SharedRing::builder().entries(100).max_len(9000);
/// let ring = builder.in_flight(8).writers(4).try_build()?;
/// assert_eq!((ring.capacity(), ring.max_len()), (100, 9000));
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct SharedRingBuilder {
    entries: usize,
    max_len: usize,
    in_flight: usize,
    writers: usize,
    pages: Pages,
}

impl SharedRingBuilder {
    pub(super) const fn new() -> Self {
        SharedRingBuilder {
            entries: 1,
            max_len: 1500,
            in_flight: 1,
            writers: 2,
            pages: Pages::new(),
        }
    }

    /// How many entries it has at most, 1 if not said.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().entries(7).build();
    /// assert_eq!(ring.capacity(), 7);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// The most bytes of an entry, 1500 if not said. At most 2³² − 16.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().max_len(40).build();
    /// assert_eq!(ring.max_len(), 40);
    /// ```
    pub const fn max_len(mut self, bytes: usize) -> Self {
        self.max_len = bytes;
        self
    }

    /// How many popped frames may be there at once, 1 if not said, while the ring keeps all its
    /// entries.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().in_flight(2).build();
    /// let kept = [b"a", b"b"].map(|bytes| {
    ///     ring.push(bytes).unwrap();
    ///     ring.pop().unwrap()
    /// });
    /// ring.push(b"c").unwrap();
    /// # drop(kept);
    /// ```
    pub const fn in_flight(mut self, frames: usize) -> Self {
        self.in_flight = frames;
        self
    }

    /// How many threads may push at once, 2 if not said, and never fail while no more frames are
    /// there than said.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().writers(16).build();
    /// assert_eq!(ring.free_chunks(), 1 + 1 + 2 * 16);
    /// ```
    pub const fn writers(mut self, threads: usize) -> Self {
        self.writers = threads;
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    /// use flatslab::sync::bytes::SharedRing;
    ///
    /// let ring = SharedRing::builder().pages(Pages::new().huge(HugePages::Try)).build();
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
    /// If there is no entry, or one has no byte or too many, or there are more than 2²⁴ chunks in
    /// all; if what is required of the pages is not to be had. Where the allocator refuses the
    /// program ends, as with `Vec`.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().build();
    /// assert!(ring.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> SharedRing {
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
    /// assert!(flatslab::sync::bytes::SharedRing::builder().entries(0).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<SharedRing, BuildError> {
        if self.entries == 0 || self.max_len == 0 {
            return Err(SizeClassError::Zero.into());
        }
        // A writer has one chunk, and another one while it gives back what it has evicted.
        let besides = (self.writers.saturating_mul(2)).saturating_add(self.in_flight);
        let chunks = self.entries.saturating_add(besides);
        let source = self.pages.into_source()?;
        SharedRing::try_new(self.entries, chunks, self.max_len, &source)
    }
}

impl fmt::Debug for SharedRingBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRingBuilder")
            .field("entries", &self.entries)
            .field("max_len", &self.max_len)
            .field("in_flight", &self.in_flight)
            .field("writers", &self.writers)
            .field("pages", &self.pages)
            .finish()
    }
}
