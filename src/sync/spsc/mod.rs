//! A ring of entries for two threads: bytes, or values of one type.
//!
//! `block.rs` has the state that the two ends share; `producer.rs` and `consumer.rs` are the ends,
//! and what they do with bytes; `values.rs` is what they do with values.

mod block;
mod consumer;
#[cfg(all(test, loom))]
mod models;
mod producer;
mod values;

pub use consumer::{Consumer, Frame};
pub use producer::{Entry, Producer};
pub use values::{Batch, Values};

use core::fmt;

use block::End;

use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::report::Report;

/// A bounded queue for one producer and one consumer, each on its own thread: of byte entries, or of
/// values of a `Copy` type.
///
/// [`split`](Self::split) it into its two ends, both of which are wait-free. Entries are first in,
/// first out, and a full ring refuses entries. Only the one consumer gets each entry; for several
/// readers see [`sync`](crate::sync#each-entry-to-every-reader).
///
/// All memory is one block, which is allocated and touched at construction, and freed with the last
/// of the two ends. A byte entry has room for `max_len` bytes, rounded up to a multiple of 16, and 16
/// bytes for its length; bytes begin at a multiple of 16. A value takes its own size, and at least a byte. The ring is
/// `Send` and `Sync`, if the values are `Send`.
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
///
/// Values, without an encoding:
///
/// ```
/// use flatslab::sync::SpscRing;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Fill {
///     order: u64,
///     quantity: u32,
/// }
///
/// let (mut producer, mut consumer) = SpscRing::of_values(1024).split();
/// producer.push(Fill { order: 7, quantity: 100 }).unwrap();
/// assert_eq!(consumer.pop(), Some(Fill { order: 7, quantity: 100 }));
/// ```
pub struct SpscRing<E: ?Sized = [u8]> {
    producer: Producer<E>,
    consumer: Consumer<E>,
}

/// Entries that are values of a `Copy` type.
impl<T: Copy> SpscRing<Values<T>> {
    /// Creates a ring of `entries` values.
    ///
    /// # Complexity
    ///
    /// O(n) for n entries.
    ///
    /// # Panics
    ///
    /// Panics if `entries` is 0, or the values take more than `isize::MAX` bytes. If the allocator
    /// refuses, the program aborts, as with `Vec`.
    ///
    /// ```
    /// use flatslab::sync::{SpscRing, Values};
    ///
    /// let ring = SpscRing::<Values<[u32; 10]>>::of_values(1024);
    /// assert_eq!(ring.capacity(), 1024);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn of_values(entries: usize) -> Self {
        SpscRing::builder().entries(entries).values().build()
    }
}

/// Entries of bytes.
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

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::SpscRing::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.producer.max_len()
    }
}

/// Entries of any type.
impl<E: ?Sized> SpscRing<E> {
    fn new([first, second]: [End; 2]) -> Self {
        SpscRing {
            producer: Producer::new(first),
            consumer: Consumer::new(second),
        }
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
    pub fn split(self) -> (Producer<E>, Consumer<E>) {
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
impl<E: ?Sized> fmt::Debug for SpscRing<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpscRing")
            .field("capacity", &self.capacity())
            .field("max_len", &self.producer.end.places.max_len())
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
        block::make_bytes(options.entries, options.max_len, &source).map(SpscRing::new)
    }
}

impl<T: Copy> Build for SpscRing<Values<T>> {
    type Options = SpscOptions;

    fn try_build(options: SpscOptions, pages: Pages) -> Result<Self, BuildError> {
        BuildError::in_range("entries", options.entries, 1, usize::MAX)?;
        let source = pages.into_source()?;
        block::make_values::<T>(options.entries, &source).map(SpscRing::new)
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

    /// Makes entries values of a `Copy` type. The maximum number of bytes of an entry means nothing
    /// then.
    ///
    /// ```
    /// let ring = flatslab::sync::SpscRing::builder().entries(7).values::<u64>().build();
    /// assert_eq!(ring.capacity(), 7);
    /// ```
    pub fn values<T: Copy>(self) -> Builder<SpscRing<Values<T>>> {
        self.map(|options| options)
    }
}
