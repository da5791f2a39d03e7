//! A reader for which the producer waits. The invariants are in `block.rs`.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

use super::block::{ABSENT, End, State, sequence, word};
use crate::raw::atomic::{AtomicU64, Ordering};
#[cfg(doc)]
use crate::sync::BroadcastProducer;

/// A reader of all entries of a [`BroadcastRing`](super::BroadcastRing), from
/// [`BroadcastReaders::join`](super::BroadcastReaders::join). The producer waits for it: no entry is
/// overwritten that it has not read.
///
/// Dropping it ends that, even if its thread panics: see [`BroadcastProducer::consumers`]. If it is
/// forgotten, the producer is refused once the ring is full, for ever.
/// It is `Send` and `Sync` if the values are `Send`.
pub struct BroadcastConsumer<T> {
    end: End,
    /// The number of its word.
    number: usize,
    /// The sequence of the entry that it reads next. That of its word is not after it.
    head: u64,
    /// The number of published entries, as far as is known.
    published: u64,
    /// Covariant: values are taken out, and not put in.
    values: PhantomData<fn() -> T>,
}

// SAFETY: what is shared is atomic, or entries that no one writes to (`readers-in-front`). Values come
// from the producer's thread, and are `Send`.
unsafe impl<T: Send> Send for BroadcastConsumer<T> {}
// SAFETY: by reference only its numbers are read.
unsafe impl<T: Send> Sync for BroadcastConsumer<T> {}

impl<T: Copy> BroadcastConsumer<T> {
    /// Reads the next entry. Returns `None` if there is none yet. O(1); wait-free.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
    /// let mut consumer = readers.join().unwrap();
    /// producer.push(7).unwrap();
    /// assert_eq!((consumer.pop(), consumer.pop()), (Some(7), None));
    /// ```
    #[inline]
    #[doc(alias("recv", "read", "next"))]
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.published && !self.look() {
            return None;
        }
        let value = self.take();
        self.give_back();
        Some(value)
    }

    /// Reads the entries that are there now.
    ///
    /// Their places are free for the producer when the iterator is dropped; entries that it has not
    /// yielded stay. If it is forgotten, the places become free with a later pop.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
    /// let mut consumer = readers.join().unwrap();
    /// for value in 1..=3 {
    ///     producer.push(value).unwrap();
    /// }
    /// assert_eq!(consumer.batch().take(2).sum::<i32>(), 3);
    /// assert_eq!(consumer.pop(), Some(3));
    /// ```
    #[inline]
    pub fn batch(&mut self) -> BroadcastBatch<'_, T> {
        self.look();
        BroadcastBatch { consumer: self }
    }

    /// Reads the next entry; waits until there is one, in the way that the ring was
    /// [built](crate::Builder::wait) for. Returns `None` once the producer is dropped and all entries
    /// were read.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
    /// let mut consumer = readers.join().unwrap();
    /// let reader = std::thread::spawn(move || std::iter::from_fn(|| consumer.pop_wait()).count());
    /// producer.push(7).unwrap();
    /// producer.push(8).unwrap();
    /// drop(producer);
    /// assert_eq!(reader.join().unwrap(), 2);
    /// ```
    #[inline]
    pub fn pop_wait(&mut self) -> Option<T> {
        #[cfg(feature = "std")]
        return self.wait_until(None);
        #[cfg(not(feature = "std"))]
        loop {
            let is_closed = self.is_closed();
            let value = self.pop();
            if value.is_some() || is_closed {
                return value;
            }
            self.wait();
        }
    }

    /// Waits until there are entries, in the way that the ring was [built](crate::Builder::wait) for, and
    /// returns them, like [`batch`](Self::batch). Returns `None` once the producer is dropped and all
    /// entries were read.
    ///
    /// ```
    /// # use flatslab::sync::BroadcastRing;
    /// let (mut producer, readers) = BroadcastRing::with_capacity(8, 1).split();
    /// let mut journal = readers.join().unwrap();
    /// let writer = std::thread::spawn(move || {
    ///     let mut written = 0;
    ///     while let Some(batch) = journal.batch_wait() {
    ///         written += batch.count();
    ///         // A file is synchronised here, once for all of them.
    ///     }
    ///     written
    /// });
    /// for entry in 0..8 {
    ///     producer.push(entry).unwrap();
    /// }
    /// drop(producer);
    /// assert_eq!(writer.join().unwrap(), 8);
    /// ```
    pub fn batch_wait(&mut self) -> Option<BroadcastBatch<'_, T>> {
        loop {
            // First: entries that were pushed before the end are found.
            let is_closed = self.is_closed();
            if self.look() {
                break;
            }
            if is_closed {
                return None;
            }
            self.wait();
        }
        Some(BroadcastBatch { consumer: self })
    }

    fn wait(&self) {
        #[cfg(feature = "std")]
        self.end.wait(self.head, None);
        #[cfg(not(feature = "std"))]
        self.end.wait(self.head);
    }

    /// Reads the next entry; waits until there is one, for at most `limit`. Returns `None` if none was
    /// pushed in that time, or once the producer is dropped and all entries were read.
    ///
    /// To tell the two apart, ask [`is_closed`](Self::is_closed) *before* the call: if it was closed, and
    /// there is no entry, all were read.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use flatslab::sync::BroadcastRing;
    /// let (_producer, readers) = BroadcastRing::<u64>::with_capacity(8, 1).split();
    /// let mut consumer = readers.join().unwrap();
    /// assert_eq!(consumer.pop_wait_for(Duration::from_millis(1)), None);
    /// ```
    #[cfg(feature = "std")]
    pub fn pop_wait_for(&mut self, limit: Duration) -> Option<T> {
        // A limit beyond the clock's range is no limit.
        self.wait_until(Instant::now().checked_add(limit))
    }

    #[cfg(feature = "std")]
    #[inline]
    fn wait_until(&mut self, end: Option<Instant>) -> Option<T> {
        loop {
            // First: entries that were pushed before the end are found.
            let is_closed = self.is_closed();
            let value = self.pop();
            if value.is_some() || is_closed || !self.end.wait(self.head, end) {
                return value;
            }
        }
    }

    /// Reads the entry at its own sequence, where one is published.
    #[inline(always)]
    fn take(&mut self) -> T {
        debug_assert!(self.head < self.published, "published-entries");
        let cell = self.end.cell_of(self.end.place(self.head));
        // SAFETY: the cell of a published entry (`published-entries`), to which no one writes before
        // this reader's word is further (`readers-in-front`); a ring of values of `T`.
        let value = unsafe { self.end.read::<T>(cell) };
        self.head += 1;
        value
    }
}

impl<T> BroadcastConsumer<T> {
    /// Joins a ring, whose entries are of this type.
    pub(super) fn join(end: &End) -> Option<Self> {
        let (number, head) = end.join(State::Gating)?;
        Some(BroadcastConsumer {
            end: end.share(),
            number,
            head,
            published: head,
            values: PhantomData,
        })
    }

    #[inline(always)]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the number of the word that this reader took (`own-words`).
        unsafe { &self.end.word(self.number).at }
    }

    /// Reads how many entries are published; returns whether there is one to read.
    #[inline]
    fn look(&mut self) -> bool {
        // Relaxed: only this reader writes it.
        if sequence(self.word().load(Ordering::Relaxed)) != self.head {
            // A batch was forgotten.
            self.give_back();
        }
        // SAFETY: the number of the word that this reader took (`own-words`).
        unsafe { self.end.word(self.number).note_thread() };
        self.published = self.end.published();
        self.head != self.published
    }

    /// Gives the places before its own sequence to the producer.
    #[inline(always)]
    fn give_back(&mut self) {
        let word = word(self.head, State::Gating);
        // Release: pairs with the acquire in `BroadcastProducer::slowest`; they were read.
        self.word().store(word, Ordering::Release);
    }

    /// Returns the sequence of the entry that it reads next: the number of entries before it. O(1).
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.head
    }

    /// Returns the number of entries that can be read; the producer may have pushed more since. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        (self.end.published() - self.head) as usize
    }

    /// Returns whether there is no entry to read. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the producer was dropped. O(1).
    ///
    /// All its entries can still be read: if this returns `true`, and a pop after that finds no entry,
    /// all entries were read.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.end.is_closed()
    }
}

/// Lets the producer go on without it.
impl<T> Drop for BroadcastConsumer<T> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `BroadcastProducer::slowest`; what it read, it has read.
        self.word().store(ABSENT, Ordering::Release);
    }
}

/// Prints the sequence and the like.
impl<T> fmt::Debug for BroadcastConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastConsumer")
            .field("sequence", &self.head)
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// The entries that a consumer found, from [`BroadcastConsumer::batch`]; an iterator over copies of
/// them.
///
/// Dropping it frees the places of the entries that it yielded.
#[must_use = "it reads nothing before it is iterated over"]
pub struct BroadcastBatch<'a, T: Copy> {
    consumer: &'a mut BroadcastConsumer<T>,
}

impl<T: Copy> Iterator for BroadcastBatch<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let consumer = &mut *self.consumer;
        (consumer.head != consumer.published).then(|| consumer.take())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.consumer.published - self.consumer.head) as usize;
        (left, Some(left))
    }
}

impl<T: Copy> ExactSizeIterator for BroadcastBatch<'_, T> {}
impl<T: Copy> FusedIterator for BroadcastBatch<'_, T> {}

impl<T: Copy> Drop for BroadcastBatch<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}

/// Prints the number of entries that are left.
impl<T: Copy> fmt::Debug for BroadcastBatch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastBatch")
            .field("len", &self.len())
            .finish()
    }
}
