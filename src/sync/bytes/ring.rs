//! How rings of one producer and one consumer are made.

use core::fmt;

use super::consumer::Consumer;
use super::producer::Producer;
use super::split::make;
use crate::error::{BuildError, SizeClassError};
use crate::memory::Pages;
use crate::raw::memory;
use crate::raw::report::Report;

/// A ring of entries of bytes, to be [split](Self::split) into its two ends.
///
/// First in, first out, for one producer and one consumer, each on a thread of its own; both
/// are wait-free. A full ring refuses. All memory, a block, is allocated and touched when it is
/// made, and goes with the last of the two ends. `Send` and `Sync`.
///
/// Each entry has room for `max_len` bytes, rounded up to a multiple of 16, and 16 bytes for
/// its length; bytes begin at a multiple of 16.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::Ring;
///
/// let (mut producer, mut consumer) = Ring::with_capacity(64, 1500).split();
/// let reader = std::thread::spawn(move || {
///     let mut sum = 0;
///     // Closed is asked first: what was pushed before that is found.
///     loop {
///         let closed = consumer.is_closed();
///         while let Some(frame) = consumer.pop() {
///             sum += frame.len();
///         }
///         if closed {
///             return sum;
///         }
///         std::thread::yield_now();
///     }
/// });
/// producer.push(b"hello")?;
/// producer.push(b"world!")?;
/// drop(producer);
/// assert_eq!(reader.join().unwrap(), 11);
/// # Ok::<(), flatslab::sync::bytes::PushError>(())
/// ```
pub struct Ring {
    producer: Producer,
    consumer: Consumer,
}

impl Ring {
    /// A ring of so many entries of `max_len` bytes at most; O(entries).
    ///
    /// # Panics
    ///
    /// As [`RingBuilder::build`].
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::with_capacity(10, 1500);
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(entries: usize, max_len: usize) -> Self {
        Self::builder().entries(entries).max_len(max_len).build()
    }

    /// As [`with_capacity`](Self::with_capacity); never panics or aborts.
    ///
    /// # Errors
    ///
    /// As for [`RingBuilder::try_build`].
    ///
    /// ```
    /// assert!(flatslab::sync::bytes::Ring::try_with_capacity(0, 1500).is_err());
    /// ```
    pub fn try_with_capacity(entries: usize, max_len: usize) -> Result<Self, BuildError> {
        Self::builder()
            .entries(entries)
            .max_len(max_len)
            .try_build()
    }

    /// A ring with other numbers than usual, or of other memory.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> RingBuilder {
        RingBuilder {
            entries: 1,
            max_len: 1500,
            pages: Pages::new(),
        }
    }

    /// The two ends, each of which may go to a thread of its own.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// ```
    #[inline]
    #[must_use]
    pub fn split(self) -> (Producer, Consumer) {
        (self.producer, self.consumer)
    }

    /// How many entries there are at most.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::Ring::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// The most bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::Ring::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.producer.max_len()
    }

    /// What memory was obtained.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::with_capacity(2, 1500);
    /// assert!(ring.memory().bytes() >= 2 * 1500);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.producer.memory()
    }
}

/// Its numbers.
impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("capacity", &self.capacity())
            .field("max_len", &self.max_len())
            .finish()
    }
}

/// How a [`Ring`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::Ring;
///
/// let (producer, _consumer) = Ring::builder().entries(100).max_len(9000).build().split();
/// assert_eq!((producer.capacity(), producer.max_len()), (100, 9000));
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing before `build`"]
pub struct RingBuilder {
    entries: usize,
    max_len: usize,
    pages: Pages,
}

impl RingBuilder {
    /// How many entries it has at most, 1 if not said.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::builder().entries(7).build();
    /// assert_eq!(ring.capacity(), 7);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// The most bytes of an entry, 1500 if not said. At most 2³² − 16.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::builder().max_len(40).build();
    /// assert_eq!(ring.max_len(), 40);
    /// ```
    pub const fn max_len(mut self, bytes: usize) -> Self {
        self.max_len = bytes;
        self
    }

    /// What memory it is to have.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    /// use flatslab::sync::bytes::Ring;
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
    /// If there is no entry, or one has no byte or too many; if what is required of the pages is
    /// not to be had. Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::Ring::builder().build();
    /// assert_eq!(ring.capacity(), 1);
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
    /// assert!(flatslab::sync::bytes::Ring::builder().entries(0).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<Ring, BuildError> {
        if self.entries == 0 || self.max_len == 0 {
            return Err(SizeClassError::Zero.into());
        }
        let source = self.pages.into_source()?;
        let (producer, consumer) = make(self.entries, self.max_len, &source)?;
        Ok(Ring { producer, consumer })
    }
}

impl fmt::Debug for RingBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingBuilder")
            .field("entries", &self.entries)
            .field("max_len", &self.max_len)
            .field("pages", &self.pages)
            .finish()
    }
}
