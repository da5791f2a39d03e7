//! A ring of one writer and several readers, each of which gets every entry.
//!
//! `block.rs` has the state that all ends share, and the invariants; `producer.rs`, `consumer.rs` and
//! `follower.rs` are the ends.

mod block;
mod consumer;
mod follower;
#[cfg(all(test, loom))]
mod models;
mod producer;
#[cfg(all(test, not(loom)))]
mod tests;

use core::fmt;
use core::marker::PhantomData;

pub use consumer::{BroadcastBatch, BroadcastConsumer};
pub use follower::{Follower, MissedError};
pub use producer::{BroadcastClaim, BroadcastProducer};

use block::{End, Sizes};

use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::report::Report;

/// A ring in which one producer writes, and of which each of several readers gets every entry: a
/// journal, a drop copy and a market data feed of one engine. The entries are values of a `Copy` type.
///
/// [`split`](Self::split) it into the producer and a handle by which readers join, on any thread and at
/// any time. A reader gets the entries that are published after it has joined. There are two kinds:
///
/// * A [`BroadcastConsumer`] *gates* the producer: no entry is overwritten before it was read. If one is
///   slow, pushes are refused; if one hangs, all are.
/// * A [`Follower`] does not. If it is slow, entries are overwritten, and it is told exactly which it
///   does not get.
///
/// Every entry has a *sequence*, the number of entries before it. Nothing is locked, and no operation
/// waits for another thread, unless its name says so. A consumer gates from the moment at which it begins
/// to join.
///
/// # Memory
///
/// One block, which is allocated and touched at construction, and freed with the last of the ends. An
/// entry takes the size of its value, and 4 bytes more if the ring may have followers; each reader that
/// the ring may have takes 128 bytes, and a follower two entries and 24 bytes more.
///
/// # Examples
///
/// ```
/// use flatslab::sync::{BroadcastRing, Wait};
///
/// #[derive(Clone, Copy)]
/// struct Report {
///     order: u64,
///     filled: u32,
/// }
///
/// let ring = BroadcastRing::<Report>::builder().entries(1024).consumers(2).followers(1).build();
/// let (mut producer, readers) = ring.split();
/// let mut journal = readers.join().unwrap();
/// let mut feed = readers.follow().unwrap();
///
/// let journal = std::thread::spawn(move || {
///     let mut filled = 0;
///     while let Some(reports) = journal.batch_wait() {
///         filled += reports.map(|report| report.filled).sum::<u32>();
///     }
///     filled
/// });
/// for order in 1..=100 {
///     let mut report = Report { order, filled: 10 };
///     while let Err(full) = producer.push(report) {
///         report = full.into_inner();
///         std::thread::yield_now();
///     }
/// }
/// drop(producer);
/// assert_eq!(journal.join().unwrap(), 1000);
/// assert!(feed.pop().is_ok_and(|report| report.unwrap().order == 1));
/// ```
pub struct BroadcastRing<T> {
    producer: BroadcastProducer<T>,
    readers: BroadcastReaders<T>,
}

/// How the readers of a [`BroadcastRing`] wait for an entry.
///
/// # Examples
///
/// ```
/// use flatslab::sync::{BroadcastRing, Wait};
///
/// let ring = BroadcastRing::<u64>::builder().entries(1024).wait(Wait::Spin).build();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Look again and again. For a thread that has a core of its own, and must not wait some
    /// microseconds for the system.
    Spin,
    /// Let other threads run in between.
    #[cfg(feature = "std")]
    Yield,
    /// Sleep until the producer publishes. A publication then looks whether a reader sleeps, and wakes
    /// it by a system call. What is published at the very moment at which a reader goes to sleep may
    /// reach it up to 50 µs later.
    #[cfg(feature = "std")]
    Park,
}

impl<T: Copy> BroadcastRing<T> {
    /// Creates a ring of at least `entries` entries, for at most `consumers` consumers at the same time.
    ///
    /// # Complexity
    ///
    /// O(n) for n entries.
    ///
    /// # Panics
    ///
    /// Panics if an argument is out of its range; see [`Builder::build`].
    ///
    /// ```
    /// let ring = flatslab::sync::BroadcastRing::<u64>::with_capacity(1000, 3);
    /// assert_eq!(ring.capacity(), 1024);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(entries: usize, consumers: usize) -> Self {
        Self::builder()
            .entries(entries)
            .consumers(consumers)
            .build()
    }

    /// Returns a builder, with options for the ring's entries, readers and memory.
    ///
    /// ```
    /// use flatslab::sync::BroadcastRing;
    ///
    /// let builder = BroadcastRing::<u64>::builder().entries(1000).consumers(2).followers(1);
    /// let (producer, readers) = builder.build().split();
    /// ```
    pub const fn builder() -> Builder<BroadcastRing<T>> {
        Builder::new(BroadcastOptions {
            entries: 1,
            consumers: 1,
            followers: 0,
            #[cfg(feature = "std")]
            wait: Wait::Yield,
            #[cfg(not(feature = "std"))]
            wait: Wait::Spin,
        })
    }
}

impl<T> BroadcastRing<T> {
    /// Splits the ring into its producer, and the handle by which readers join.
    #[inline]
    #[must_use]
    pub fn split(self) -> (BroadcastProducer<T>, BroadcastReaders<T>) {
        (self.producer, self.readers)
    }

    /// Returns the maximum number of entries, a power of two. O(1).
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// Returns a report on the ring's memory: its size, and which of the requested page options were
    /// obtained.
    ///
    /// ```
    /// let ring = flatslab::sync::BroadcastRing::<u64>::with_capacity(1024, 3);
    /// assert!(ring.memory().bytes() >= 1024 * 8 + 3 * 128);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.producer.memory()
    }
}

/// Prints the number of entries.
impl<T> fmt::Debug for BroadcastRing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastRing")
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// The handle by which readers join a [`BroadcastRing`], on any thread. It is `Send` and `Sync` if the
/// values are `Send`: threads borrow it, or share it in an `Arc`.
///
/// # Examples
///
/// ```
/// use flatslab::sync::BroadcastRing;
///
/// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
/// producer.push(1).unwrap();
/// let mut consumer = readers.join().unwrap();
/// assert!(readers.join().is_none());
/// producer.push(2).unwrap();
/// assert_eq!((consumer.pop(), consumer.pop()), (Some(2), None));
///
/// drop(consumer);
/// assert!(readers.join().is_some());
/// ```
pub struct BroadcastReaders<T> {
    end: End,
    /// Covariant: values are taken out, and not put in.
    values: PhantomData<fn() -> T>,
}

// SAFETY: it reads and writes words, which are atomic. Values go to the threads of readers that join,
// and are `Send`.
unsafe impl<T: Send> Send for BroadcastReaders<T> {}
// SAFETY: as above; readers may join on several threads at once.
unsafe impl<T: Send> Sync for BroadcastReaders<T> {}

impl<T: Copy> BroadcastReaders<T> {
    /// Adds a reader for which the producer waits. It reads the entries that are published from now on,
    /// those that are deferred now among them: [`flush`](BroadcastProducer::flush) before a reader joins
    /// that must not get them. Returns `None` if there are as many consumers as the ring was built for.
    ///
    /// The [`sequence`](BroadcastConsumer::sequence) of a reader that comes back, less the one that it had
    /// when it left, is the number of entries that it has missed. A reader may join after the end, and
    /// finds nothing.
    ///
    /// # Complexity
    ///
    /// O(consumers); takes no lock, does not allocate.
    #[must_use]
    pub fn join(&self) -> Option<BroadcastConsumer<T>> {
        BroadcastConsumer::join(&self.end)
    }

    /// Adds a reader for which the producer does not wait. It reads the entries that are published from
    /// now on. Returns `None` if there are as many followers as the ring was built for: none, unless
    /// [`followers`](Builder::followers) was called.
    ///
    /// # Complexity
    ///
    /// O(followers); takes no lock, does not allocate.
    #[must_use]
    pub fn follow(&self) -> Option<Follower<T>> {
        Follower::join(&self.end)
    }
}

impl<T> fmt::Debug for BroadcastReaders<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastReaders").finish_non_exhaustive()
    }
}

/// The options of a builder of broadcast rings.
#[derive(Clone, Debug)]
pub struct BroadcastOptions {
    entries: usize,
    consumers: usize,
    followers: usize,
    wait: Wait,
}

/// More readers of one kind than any ring has.
const MOST_READERS: usize = 1 << 16;

/// More entries than any ring has: the numbers of cells, spares included, have 32 bits.
const MOST_ENTRIES: usize = 1 << 30;

impl<T: Copy> Build for BroadcastRing<T> {
    type Options = BroadcastOptions;

    fn try_build(options: BroadcastOptions, pages: Pages) -> Result<Self, BuildError> {
        let BroadcastOptions {
            entries,
            consumers,
            followers,
            wait,
        } = options;
        BuildError::in_range("entries", entries, 1, MOST_ENTRIES)?;
        BuildError::in_range("consumers", consumers, 0, MOST_READERS)?;
        BuildError::in_range("followers", followers, 0, MOST_READERS)?;
        let sizes = Sizes {
            capacity: entries.next_power_of_two(),
            consumers,
            followers,
        };
        let end = End::make::<T>(sizes, wait, &pages.into_source()?)?;
        Ok(BroadcastRing {
            readers: BroadcastReaders {
                end: end.share(),
                values: PhantomData,
            },
            producer: BroadcastProducer::new(end),
        })
    }
}

/// Options of [broadcast rings](BroadcastRing).
///
/// ```
/// use flatslab::sync::{BroadcastRing, Wait};
///
/// let builder = BroadcastRing::<u64>::builder().entries(1000).consumers(2).followers(1);
/// let (producer, _readers) = builder.wait(Wait::Park).build().split();
/// assert_eq!(producer.capacity(), 1024);
/// ```
impl<T: Copy> Builder<BroadcastRing<T>> {
    /// Sets the number of entries: 1 by default, at most 2³⁰, rounded up to a power of two.
    pub const fn entries(mut self, entries: usize) -> Self {
        self.options.entries = entries;
        self
    }

    /// Sets the maximum number of consumers at the same time: 1 by default, at most 65,536.
    pub const fn consumers(mut self, consumers: usize) -> Self {
        self.options.consumers = consumers;
        self
    }

    /// Sets the maximum number of followers at the same time: none by default, at most 65,536.
    pub const fn followers(mut self, followers: usize) -> Self {
        self.options.followers = followers;
        self
    }

    /// Sets how readers wait in `pop_wait`: [`Yield`](Wait::Yield) by default, without `std`
    /// [`Spin`](Wait::Spin).
    pub const fn wait(mut self, wait: Wait) -> Self {
        self.options.wait = wait;
        self
    }
}
