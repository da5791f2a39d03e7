//! A ring of entries of bytes for two threads.
//!
//! `block.rs` has the state that the two ends share; `producer.rs` and `consumer.rs` are the ends.

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

/// A bounded queue of byte entries for one producer and one consumer, each on its own thread.
///
/// [`split`](Self::split) it into its two ends, both of which are wait-free. Entries are first in,
/// first out, and a full ring refuses entries. Only the one consumer gets each entry; for several
/// readers see [`sync`](crate::sync#each-entry-to-every-reader).
///
/// All memory is one block, which is allocated and touched at construction, and freed with the last
/// of the two ends. Each entry has room for `max_len` bytes, rounded up to a multiple of 16, and 16
/// bytes for its length; bytes begin at a multiple of 16. The ring is `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SpscRing;
///
/// let (mut producer, mut consumer) = SpscRing::with_capacity(64, 1500).split();
/// let reader = std::thread::spawn(move || {
///     let mut sum = 0;
///     // Asks first whether it is closed: entries pushed before that are found.
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
    /// Creates a ring of `entries` entries of at most `max_len` bytes.
    ///
    /// # Complexity
    ///
    /// O(n) for n entries.
    ///
    /// # Panics
    ///
    /// If an argument is out of its range; see [`Builder::build`].
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

    /// Returns a builder, with options for the ring's entries and memory.
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

    /// Splits the ring into its two ends, each of which can be sent to its own thread.
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

    /// Returns the maximum number of entries.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SpscRing::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SpscRing::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.producer.max_len()
    }

    /// Returns a report on the ring's memory: its size, and which of the requested page options
    /// were obtained.
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

/// Prints the number of entries and the like.
impl fmt::Debug for SpscRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpscRing")
            .field("capacity", &self.capacity())
            .field("max_len", &self.max_len())
            .finish()
    }
}

/// The options of a builder of rings.
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

/// Options of [rings](SpscRing) for two threads.
///
/// ```
/// use flatslab::sync::SpscRing;
///
/// let (producer, _consumer) = SpscRing::builder().entries(100).max_len(9000).build().split();
/// assert_eq!((producer.capacity(), producer.max_len()), (100, 9000));
/// ```
impl Builder<SpscRing> {
    /// Sets the maximum number of entries, 1 by default.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::builder().entries(7).build();
    /// assert_eq!(ring.capacity(), 7);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.options.entries = entries;
        self
    }

    /// Sets the maximum number of bytes of an entry: 1,500 by default, at most 2³² − 16.
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
