//! The end of a ring that reads, and entries of bytes. The invariants are in `block.rs`.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use super::block::End;
use crate::raw::atomic::Ordering;
use crate::raw::this_thread;

/// The reading end of a [`SpscRing`](super::SpscRing): of bytes, or of [`Values`](super::Values).
///
/// After it is dropped, entries are never read, and
/// [`Producer::is_closed`](super::Producer::is_closed) returns `true`.
pub struct Consumer<E: ?Sized = [u8]> {
    pub(super) end: End,
    /// Its own position (`own-position`).
    pub(super) head: usize,
    /// The position at which the ring is empty, as far as is known (`own-position`).
    pub(super) tail: usize,
    /// The number of its thread, when it last told the producer.
    thread: usize,
    /// Covariant: entries are taken out, and not put in.
    entries: PhantomData<*const E>,
}

// SAFETY: data that is shared with the other end is atomic, or belongs to one end
// (`places-of-ends`). The entries come from the other end's thread, and are `Send`.
unsafe impl<E: ?Sized + Send> Send for Consumer<E> {}
// SAFETY: by reference only its numbers are read.
unsafe impl<E: ?Sized + Send> Sync for Consumer<E> {}

/// Entries of bytes.
impl Consumer {
    /// Takes the oldest entry. O(1); wait-free.
    ///
    /// Its place is free again when the frame is dropped. If the frame is forgotten, its place
    /// becomes free when a later frame is dropped, or when a pop finds no entry.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// let frame = consumer.pop().unwrap();
    /// assert_eq!(*frame, *b"hello");
    /// drop(frame);
    /// assert!(consumer.pop().is_none());
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<Frame<'_>> {
        if self.head == self.tail && !self.look() {
            return None;
        }
        let place = self.end.place(self.head);
        self.head = self.end.after(self.head);
        // SAFETY: it has an entry, and is the consumer's (`places-of-ends`).
        let len = unsafe { place.len() };
        Some(Frame {
            start: place.bytes(),
            len,
            consumer: self,
        })
    }

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (_producer, consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert_eq!(consumer.max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.end.places.max_len()
    }
}

/// Entries of any type.
impl<E: ?Sized> Consumer<E> {
    /// The end of a ring that is empty.
    pub(super) fn new(end: End) -> Self {
        Consumer {
            end,
            head: 0,
            tail: 0,
            thread: 0,
            entries: PhantomData,
        }
    }

    /// Reads the producer's position; returns whether there is an entry.
    #[inline]
    pub(super) fn look(&mut self) -> bool {
        // Relaxed: only this end writes it.
        let head = self.end.shared().head.0.load(Ordering::Relaxed);
        if head != self.head {
            // A frame was forgotten. It does not exist any more, because this borrows the consumer
            // too.
            self.give_back();
        }
        let thread = this_thread::number();
        if self.thread != thread {
            self.thread = thread;
            // Relaxed: a hint.
            self.end.shared().popping.store(thread, Ordering::Relaxed);
        }
        // Acquire: pairs with the release in `Producer::publish`; the entries before it are
        // written.
        self.tail = self.end.shared().tail.0.load(Ordering::Acquire);
        self.head != self.tail
    }

    /// Gives the places before its own position to the producer.
    #[inline(always)]
    pub(super) fn give_back(&mut self) {
        let head = &self.end.shared().head.0;
        // Release: pairs with the acquire in `Producer::look`; they were read.
        head.store(self.head, Ordering::Release);
    }

    /// Returns the number of entries that can be popped; the producer may have pushed more since.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(consumer.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Relaxed: nothing is read by it.
        let tail = self.end.shared().tail.0.load(Ordering::Relaxed);
        self.end.between(self.head, tail)
    }

    /// Returns whether there is no entry.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (_producer, consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert!(consumer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of entries of the ring.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (_producer, consumer) = SpscRing::with_capacity(2, 1500).split();
    /// assert_eq!(consumer.capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.end.capacity
    }

    /// Returns whether the producer was dropped.
    ///
    /// All its entries can still be popped: if this returns `true`, and a pop after that finds no
    /// entry, all entries were read.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// drop(producer);
    /// assert!(consumer.is_closed());
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.end.is_closed()
    }
}

/// Prints the number of entries and the like.
impl<E: ?Sized> fmt::Debug for Consumer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("max_len", &self.end.places.max_len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// An entry that was popped, from [`Consumer::pop`]. It derefs to its bytes, and is `Send` and
/// `Sync`.
///
/// Dropping it frees its place.
pub struct Frame<'a> {
    consumer: &'a mut Consumer,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: bytes that no one writes to, and the consumer.
unsafe impl Send for Frame<'_> {}
// SAFETY: by reference its bytes are read, and no one writes to them (`places-of-ends`).
unsafe impl Sync for Frame<'_> {}

impl Deref for Frame<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: an entry's bytes, in a place that is the consumer's until this is dropped
        // (`places-of-ends`).
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Frame<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Frame<'_> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}

/// Prints a slice of bytes.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<E: ?Sized> core::panic::UnwindSafe for Consumer<E> {}
impl<E: ?Sized> core::panic::RefUnwindSafe for Consumer<E> {}
impl core::panic::UnwindSafe for Frame<'_> {}
impl core::panic::RefUnwindSafe for Frame<'_> {}
