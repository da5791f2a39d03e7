//! A ring of entries of bytes for two threads.
//!
//! `block.rs`: what the two ends share; `producer.rs`, `consumer.rs`: the ends.

mod block;
mod consumer;
#[cfg(all(test, loom))]
mod models;
mod producer;

pub use consumer::{Consumer, Frame};
pub use producer::{Entry, Producer};

use core::fmt;

use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::report::Report;

/// A bounded queue of byte entries for one producer and one consumer, each on its own thread:
/// [`split`](Self::split) it into its two ends.
///
/// First in, first out; both ends are wait-free. Each entry goes to the one consumer; for
/// several see [`sync`](crate::sync#each-entry-to-every-reader). A full ring refuses entries. All memory, one
/// block, is allocated and touched when the ring is made, and freed with the last of the two
/// ends. `Send` and `Sync`.
///
/// Each entry has room for `max_len` bytes, rounded up to a multiple of 16, and 16 bytes for
/// its length; bytes begin at a multiple of 16.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SpscRing;
///
/// let (mut producer, mut consumer) = SpscRing::with_capacity(64, 1500).split();
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
/// # Ok::<(), flatslab::sync::PushError>(())
/// ```
pub struct SpscRing {
    producer: Producer,
    consumer: Consumer,
}

impl SpscRing {
    /// Creates a ring of `entries` entries of at most `max_len` bytes; O(entries).
    ///
    /// # Panics
    ///
    /// As [`Builder::build`].
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::with_capacity(10, 1500);
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(entries: usize, max_len: usize) -> Self {
        Self::builder().entries(entries).max_len(max_len).build()
    }

    /// A builder of a ring: its entries, and where its memory comes from.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> Builder<SpscRing> {
        Builder::new(SpscOptions {
            entries: 1,
            max_len: 1500,
        })
    }

    /// Splits the ring into its two ends, each of which may go to its own thread.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// ```
    #[inline]
    #[must_use]
    pub fn split(self) -> (Producer, Consumer) {
        (self.producer, self.consumer)
    }

    /// Most entries that the ring can have.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SpscRing::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// The most bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SpscRing::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.producer.max_len()
    }

    /// The ring's memory, and which of the requested page options were obtained.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::with_capacity(2, 1500);
    /// assert!(ring.memory().bytes() >= 2 * 1500);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.producer.memory()
    }
}

/// Its numbers.
impl fmt::Debug for SpscRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpscRing")
            .field("capacity", &self.capacity())
            .field("max_len", &self.max_len())
            .finish()
    }
}

/// What a builder of rings has set.
#[derive(Clone, Debug)]
pub struct SpscOptions {
    entries: usize,
    max_len: usize,
}

impl Build for SpscRing {
    type Options = SpscOptions;

    fn try_build(options: SpscOptions, pages: Pages) -> Result<Self, BuildError> {
        BuildError::in_range("entries", options.entries, 1, usize::MAX)?;
        let source = pages.into_source()?;
        let [first, second] = block::make(options.entries, options.max_len, &source)?;
        let (producer, consumer) = (Producer::new(first), Consumer::new(second));
        Ok(SpscRing { producer, consumer })
    }
}

/// Options of [rings](SpscRing) of two threads.
///
/// ```
/// use flatslab::sync::SpscRing;
///
/// let (producer, _consumer) = SpscRing::builder().entries(100).max_len(9000).build().split();
/// assert_eq!((producer.capacity(), producer.max_len()), (100, 9000));
/// ```
impl Builder<SpscRing> {
    /// The most entries; 1 by default.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::builder().entries(7).build();
    /// assert_eq!(ring.capacity(), 7);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.options.entries = entries;
        self
    }

    /// The most bytes of an entry; 1,500 by default, at most 2³² − 16.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::builder().max_len(40).build();
    /// assert_eq!(ring.max_len(), 40);
    /// ```
    pub const fn max_len(mut self, bytes: usize) -> Self {
        self.options.max_len = bytes;
        self
    }
}
