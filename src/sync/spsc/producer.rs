//! The end of a ring that writes, and entries of bytes. The invariants are in `block.rs`.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

use super::block::{End, Place};
use crate::error::SizeError;
use crate::raw::atomic::Ordering;
use crate::raw::filling::Filling;
use crate::raw::report::Report;
use crate::raw::this_thread;
use crate::raw::touch::LINE;
use crate::stats::Stats;
use crate::sync::PushError;

/// Lines that are prefetched ahead of the producer.
const AHEAD: usize = 16;

/// The writing end of a [`SpscRing`](super::SpscRing): of bytes, or of [`Values`](super::Values).
///
/// After it is dropped the consumer can still pop all entries.
///
/// # Several entries at once
///
/// Each push writes a number that the consumer reads. While both ends work, that costs more than a
/// short entry. [`push_deferred`](Self::push_deferred) and [`Entry::defer`] do not write it. The
/// consumer finds a deferred entry after the next push that is not deferred, after
/// [`flush`](Self::flush), when a push, [`vacant_entry`](Self::vacant_entry) or
/// [`is_full`](Self::is_full) finds the ring full, and when the producer is dropped. So a batch of
/// deferred entries is found as a whole if the ring has places for all of them.
///
/// ```
/// # use flatslab::sync::SpscRing;
/// let (mut producer, mut consumer) = SpscRing::with_capacity(8, 1500).split();
/// producer.push_deferred(b"first")?;
/// producer.push_deferred(b"second")?;
/// assert!(consumer.pop().is_none());
/// producer.flush();
/// assert_eq!(*consumer.pop().unwrap(), *b"first");
/// assert_eq!(*consumer.pop().unwrap(), *b"second");
/// # Ok::<(), flatslab::sync::PushError>(())
/// ```
pub struct Producer<E: ?Sized = [u8]> {
    pub(super) end: End,
    /// Its own position. The position that was last published is before it by the number of
    /// deferred entries (`places-of-ends`).
    pub(super) tail: usize,
    /// The position at which the ring is full, as far as is known (`own-position`).
    limit: usize,
    /// Whether the consumer is on another thread, as far as is known.
    is_apart: bool,
    /// How often it found the ring full.
    refusals: u64,
    /// Contravariant: entries are put in, and not taken out.
    entries: PhantomData<fn(&E)>,
}

// SAFETY: data that is shared with the other end is atomic, or belongs to one end
// (`places-of-ends`). Everything that an end does needs it exclusively, except reading its numbers.
// The entries move to the other end's thread, and are `Send`.
unsafe impl<E: ?Sized + Send> Send for Producer<E> {}
// SAFETY: by reference only its numbers are read.
unsafe impl<E: ?Sized + Send> Sync for Producer<E> {}

/// Entries of bytes.
impl Producer {
    /// Copies bytes into a new entry.
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes; wait-free; does not allocate.
    ///
    /// # Errors
    ///
    /// [`Full`](PushError::Full) if all places are taken, or [`TooLarge`](PushError::TooLarge) if
    /// there are more bytes than an entry has room for.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello")?;
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// # Ok::<(), flatslab::sync::PushError>(())
    /// ```
    #[inline]
    #[doc(alias("send", "write"))]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), PushError> {
        self.write(bytes)?;
        self.flush();
        self.prefetch(bytes.len());
        Ok(())
    }

    /// Copies bytes into a new entry that the consumer finds [later](Self#several-entries-at-once).
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes; wait-free; does not allocate.
    ///
    /// # Errors
    ///
    /// [`Full`](PushError::Full) if all places are taken, or [`TooLarge`](PushError::TooLarge) if
    /// there are more bytes than an entry has room for.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push_deferred(b"hello")?;
    /// assert!(consumer.pop().is_none());
    /// producer.push(b"world")?;
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// # Ok::<(), flatslab::sync::PushError>(())
    /// ```
    #[inline]
    pub fn push_deferred(&mut self, bytes: &[u8]) -> Result<(), PushError> {
        self.write(bytes)?;
        self.prefetch(bytes.len());
        Ok(())
    }

    /// Copies bytes into the next place, and moves on to the one after it.
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) -> Result<(), PushError> {
        if bytes.len() > self.max_len() {
            let error = SizeError::new(bytes.len(), self.max_len());
            return Err(PushError::TooLarge(error));
        }
        let place = self.vacant().ok_or(PushError::Full)?;
        // SAFETY: the producer's (`places-of-ends`), and it has room for `max_len` bytes.
        unsafe { place.fill(bytes) };
        self.tail = self.end.after(self.tail);
        Ok(())
    }

    /// Returns an entry that is filled in place and then [committed](Entry::commit), or `None` if
    /// the ring is full. O(1); wait-free.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.extend_from_slice(b"made in place").unwrap();
    /// entry.commit();
    /// assert_eq!(*consumer.pop().unwrap(), *b"made in place");
    /// ```
    #[inline]
    pub fn vacant_entry(&mut self) -> Option<Entry<'_>> {
        let place = self.vacant()?;
        // SAFETY: the producer's (`places-of-ends`), which the entry borrows, with room for that
        // many bytes.
        let bytes = unsafe { Filling::new(place.bytes(), 0, self.max_len()) };
        Some(Entry {
            producer: self,
            place,
            bytes,
        })
    }

    /// The next place, if there is one.
    #[inline(always)]
    fn vacant(&mut self) -> Option<Place> {
        self.has_room().then(|| self.end.place(self.tail))
    }

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert_eq!(producer.max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.end.places.max_len()
    }
}

/// Entries of any type.
impl<E: ?Sized> Producer<E> {
    /// The end of a ring that is empty.
    pub(super) fn new(end: End) -> Self {
        Producer {
            tail: 0,
            limit: end.capacity,
            is_apart: true,
            refusals: 0,
            entries: PhantomData,
            end,
        }
    }

    /// Publishes all deferred entries, so that the consumer finds them. O(1); wait-free.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push_deferred(b"hello")?;
    /// producer.flush();
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// # Ok::<(), flatslab::sync::PushError>(())
    /// ```
    #[inline]
    pub fn flush(&mut self) {
        self.publish();
    }

    /// Gives the places before its own position to the consumer.
    #[inline(always)]
    fn publish(&self) {
        // Release: pairs with the acquire in `Consumer::look`; the entries are written. By
        // reference on any thread: the number is the same one then.
        let tail = &self.end.shared().tail.0;
        tail.store(self.tail, Ordering::Release);
    }

    /// Returns whether the next place is free.
    #[inline(always)]
    pub(super) fn has_room(&mut self) -> bool {
        self.tail != self.limit || self.look()
    }

    /// Reads the consumer's position; returns whether there is a free place.
    ///
    /// Not inlined: otherwise each push would first ask for the number of this thread, which is a
    /// call in a shared library.
    #[inline(never)]
    fn look(&mut self) -> bool {
        // Acquire: pairs with the release in `Consumer::give_back`; the places before it are not
        // read any more.
        let head = self.end.shared().head.0.load(Ordering::Acquire);
        let capacity = self.end.capacity;
        self.limit = if head < capacity {
            head + capacity
        } else {
            head - capacity
        };
        // Relaxed: a hint.
        let popping = self.end.shared().popping.load(Ordering::Relaxed);
        self.is_apart = popping == 0 || popping != this_thread::number_if_any();
        let has_room = self.tail != self.limit;
        if !has_room {
            // The consumer frees no place of an entry that it does not find, and a producer that
            // waits for one would wait for ever. Only then: a batch that has room is found as a
            // whole.
            self.publish();
            self.refusals += 1;
        }
        has_room
    }

    /// Prefetches a place that is written soon: its lines are where the consumer read them. It
    /// assumes entries as long as the last one, and looks so far ahead that [`AHEAD`] lines are on
    /// their way. With both ends at work, frames of 64 and 900 bytes take .6 and .7 of the time
    /// that they take without it (benches/ATTEMPTS.md, "Other yardsticks"). A place that the
    /// consumer may be reading is not prefetched, and no place is if both ends are on one thread,
    /// whose core has all lines.
    #[inline(always)]
    fn prefetch(&self, len: usize) {
        let len = len.min(AHEAD * LINE);
        let ahead = AHEAD >> (len / LINE + 1).ilog2();
        if self.is_apart_from(ahead) {
            let place = self.end.place(self.end.ahead(self.tail, ahead));
            place.prefetch_to_write(len);
        }
    }

    /// Whether the consumer is on another thread, and not at the place that is so far ahead, as far as is
    /// known.
    #[inline(always)]
    pub(super) fn is_apart_from(&self, ahead: usize) -> bool {
        self.is_apart && ahead < self.end.between(self.tail, self.limit)
    }

    /// Returns the number of places that are taken: by entries, including deferred ones, and by a
    /// frame that the consumer reads.
    ///
    /// The consumer may have freed some of them since.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(producer.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Relaxed: nothing is read by it.
        let head = self.end.shared().head.0.load(Ordering::Relaxed);
        self.end.between(head, self.tail)
    }

    /// Returns the number of places that are free. As many pushes succeed, whatever the consumer does.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(producer.free(), 1);
    /// ```
    #[must_use]
    pub fn free(&self) -> usize {
        self.capacity() - self.len()
    }

    /// Returns the figures of the ring: how many places have entries or are free, its bytes, and how
    /// often the producer found it full. O(1).
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::of_values(1).split();
    /// producer.push(7).unwrap();
    /// producer.push(8).unwrap_err();
    /// let stats = producer.stats();
    /// assert_eq!((stats.live, stats.free, stats.refusals), (1, 0, Some(1)));
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        let (len, capacity) = (self.len(), self.capacity());
        let bytes = self.memory().bytes();
        let mut stats = Stats::new(len, capacity - len, capacity, bytes);
        stats.refusals = Some(self.refusals);
        stats
    }

    /// Returns whether no place is taken.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert!(producer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a push would be refused now.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(1, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert!(producer.is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        let is_full = self.len() == self.capacity();
        if is_full {
            self.publish();
        }
        is_full
    }

    /// Returns the maximum number of entries of the ring.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert_eq!(producer.capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.end.capacity
    }

    /// Returns whether the consumer was dropped. Entries pushed after that are never read.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (producer, consumer) = SpscRing::with_capacity(2, 1500).split();
    /// drop(consumer);
    /// assert!(producer.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.end.is_closed()
    }

    pub(super) fn memory(&self) -> Report {
        self.end.memory()
    }
}

/// Publishes the deferred entries.
impl<E: ?Sized> Drop for Producer<E> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Prints the number of entries and the like.
impl<E: ?Sized> fmt::Debug for Producer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("max_len", &self.end.places.max_len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// An entry that is being filled, from [`Producer::vacant_entry`].
///
/// Its length is the number of filled bytes, its capacity the maximum number of bytes of an entry.
/// The consumer gets it when it is [committed](Self::commit). If it is dropped or forgotten,
/// nothing is committed, and the next entry takes its place. It is `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// # use flatslab::sync::SpscRing;
/// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
/// producer.vacant_entry().unwrap().extend_from_slice(b"dropped").unwrap();
/// let mut entry = producer.vacant_entry().unwrap();
/// entry.extend_from_slice(b"hello")?;
/// entry[0] = b'H';
/// entry.commit();
/// assert_eq!(*consumer.pop().unwrap(), *b"Hello");
/// assert!(consumer.pop().is_none());
/// # Ok::<(), flatslab::SizeError>(())
/// ```
#[must_use = "an entry that is dropped is not pushed"]
pub struct Entry<'a> {
    producer: &'a mut Producer,
    /// The place at the producer's tail.
    place: Place,
    bytes: Filling,
}

// SAFETY: the place at the tail is the producer's (`places-of-ends`), which is borrowed
// exclusively.
unsafe impl Send for Entry<'_> {}
// SAFETY: by reference only its bytes are read.
unsafe impl Sync for Entry<'_> {}

impl<'a> Entry<'a> {
    /// Pushes the entry with its filled bytes. O(1).
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.vacant_entry().unwrap().commit();
    /// assert!(consumer.pop().unwrap().is_empty());
    /// ```
    #[inline]
    pub fn commit(self) {
        let (producer, len) = self.finish();
        producer.flush();
        producer.prefetch(len);
    }

    /// Pushes the entry with its filled bytes for the consumer to find
    /// [later](Producer#several-entries-at-once). O(1).
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.vacant_entry().unwrap().defer();
    /// assert!(consumer.pop().is_none());
    /// producer.flush();
    /// assert!(consumer.pop().unwrap().is_empty());
    /// ```
    #[inline]
    pub fn defer(self) {
        let (producer, len) = self.finish();
        producer.prefetch(len);
    }

    /// Ends the entry; returns the producer, whose tail is after it, and the length.
    #[inline(always)]
    fn finish(self) -> (&'a mut Producer, usize) {
        let len = self.bytes.len();
        // SAFETY: the producer's (`places-of-ends`); it has no more bytes than that.
        unsafe { self.place.set_len(len) };
        let producer = self.producer;
        producer.tail = producer.end.after(producer.tail);
        (producer, len)
    }

    /// Returns the number of bytes, filled or not.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert_eq!(producer.vacant_entry().unwrap().capacity(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the number of bytes that are not filled.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 1500).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.extend_from_slice(b"hello").unwrap();
    /// assert_eq!(entry.remaining(), entry.capacity() - 5);
    /// ```
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.capacity() - self.len()
    }

    /// Copies these bytes to the end of the filled ones. O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// If there is no room for all of them; none is copied then.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.extend_from_slice(b"hello")?;
    /// assert!(entry.extend_from_slice(b" world").is_err());
    /// assert_eq!(*entry, *b"hello");
    /// # Ok::<(), flatslab::SizeError>(())
    /// ```
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), SizeError> {
        self.bytes.extend_from_slice(bytes)
    }

    /// Changes the number of filled bytes, and fills added ones with `byte`. O(n) for n added
    /// bytes.
    ///
    /// # Errors
    ///
    /// If the length exceeds the capacity.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.resize(3, b'-')?;
    /// assert_eq!(*entry, *b"---");
    /// assert!(entry.resize(9, 0).is_err());
    /// # Ok::<(), flatslab::SizeError>(())
    /// ```
    pub fn resize(&mut self, len: usize, byte: u8) -> Result<(), SizeError> {
        self.bytes.resize(len, byte)
    }

    /// Shortens the entry to its first `len` filled bytes; does nothing if it is not longer.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.extend_from_slice(b"hello").unwrap();
    /// entry.truncate(2);
    /// assert_eq!(*entry, *b"he");
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Fills the next bytes by one call of a reader's `read`, and returns how many it has read.
    ///
    /// The reader is a socket, a file or the like. It reads at most [`remaining`](Self::remaining)
    /// bytes.
    ///
    /// The room is not filled with zeros each time, but once for each place of the ring, when it is
    /// read into for the first time, in O([`capacity`](Self::capacity)); and again after
    /// [`spare_capacity_mut`](Self::spare_capacity_mut) lent its bytes. Otherwise the method adds
    /// O(1) to the call.
    ///
    /// A result of 0 means the end of the input, as with `read`. The slice that the reader gets
    /// contains bytes that earlier entries left there.
    ///
    /// # Errors
    ///
    /// [`StorageFull`](std::io::ErrorKind::StorageFull) if the entry is full; `read` is not called
    /// then. Otherwise returns the errors of the reader, including `Interrupted` and `WouldBlock`.
    /// The length is unchanged in both cases.
    ///
    /// # Panics
    ///
    /// If the reader reports more bytes than it had room for, or panics itself. The length is
    /// unchanged then.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// # let mut socket = &b"received"[..];
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// if entry.read_from(&mut socket)? > 0 {
    ///     entry.commit();
    /// }
    /// assert_eq!(*consumer.pop().unwrap(), *b"received");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "std")]
    #[cfg_attr(docsrs, doc(cfg(feature = "std")))]
    pub fn read_from(
        &mut self,
        reader: &mut (impl std::io::Read + ?Sized),
    ) -> std::io::Result<usize> {
        // SAFETY: the producer's (`places-of-ends`), and the ring has written it.
        let all = unsafe { self.place.is_initialised() };
        if self.remaining() > 0 && !all {
            self.initialise();
        }
        // SAFETY: all bytes are initialised, as just said or done, or filled.
        unsafe { self.bytes.read_from(reader) }
    }

    /// Fills all bytes that are not filled with zeros.
    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    fn initialise(&mut self) {
        for byte in self.bytes.spare_capacity_mut() {
            byte.write(0);
        }
        // SAFETY: the filled ones are initialised, and now the others.
        unsafe { self.place.set_initialised(true) };
    }

    /// Returns the bytes that are not filled, for code that writes to them and then calls
    /// [`set_len`](Self::set_len).
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first byte is written.
    /// unsafe { entry.set_len(1) };
    /// assert_eq!(*entry, [7]);
    /// ```
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: `false` is always allowed. The bytes may be made uninitialised again.
        unsafe { self.place.set_initialised(false) };
        self.bytes.spare_capacity_mut()
    }

    /// Sets the number of filled bytes.
    ///
    /// # Safety
    ///
    /// `len` is at most the capacity, and the first `len` bytes are initialised.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    /// let mut entry = producer.vacant_entry().unwrap();
    /// entry.resize(8, 1).unwrap();
    /// entry.truncate(0);
    /// // SAFETY: all were filled.
    /// unsafe { entry.set_len(8) };
    /// assert_eq!(*entry, [1; 8]);
    /// ```
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: the first `len` bytes are initialised, and at most the capacity (precondition).
        unsafe { self.bytes.set_len(len) };
    }
}

impl Deref for Entry<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl DerefMut for Entry<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut_slice()
    }
}

/// Prints a slice of bytes.
impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl AsRef<[u8]> for Entry<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Entry<'_> {
    #[inline]
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Fills the next bytes. Returns an error if a piece does not fit; nothing of that piece is written
/// then.
///
/// ```
/// use std::fmt::Write;
///
/// # use flatslab::sync::SpscRing;
/// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
/// let mut entry = producer.vacant_entry().unwrap();
/// write!(entry, "order {}", 7)?;
/// entry.commit();
/// assert_eq!(*consumer.pop().unwrap(), *b"order 7");
/// # Ok::<(), std::fmt::Error>(())
/// ```
impl fmt::Write for Entry<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Fills the next bytes, as many as there is room for; writes nothing to a full entry.
#[cfg(feature = "std")]
impl std::io::Write for Entry<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let given = bytes.len().min(self.remaining());
        let _ = self.extend_from_slice(&bytes[..given]);
        Ok(given)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<E: ?Sized> core::panic::UnwindSafe for Producer<E> {}
impl<E: ?Sized> core::panic::RefUnwindSafe for Producer<E> {}
impl core::panic::UnwindSafe for Entry<'_> {}
impl core::panic::RefUnwindSafe for Entry<'_> {}
