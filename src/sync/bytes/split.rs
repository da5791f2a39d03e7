//! The two ends of a ring.
//!
//! A position counts places twice around, so that a full ring and an empty one are told apart
//! without a place that is left free, and without a division. Each end has its own position by
//! itself, and remembers the other's as it was when it looked last. So a push and a pop read no
//! line that the other end writes, until what was remembered is used up.
//!
//! # Invariants
//!
//! * J1: `head` and `tail` are below twice the capacity; the place of a position is that, less
//!   the capacity if it is not below that. `tail` is 0 to capacity positions after `head`,
//!   around the end.
//! * J2: the places from `head` up to `tail` have entries, and are the consumer's; the others
//!   are the producer's. Only the producer writes `tail`, only the consumer writes `head`, and
//!   each has the position it will write next, or wrote last.
//! * J3: the block is there until both ends are gone: the second to set `ended` frees it.
//! * J4: the consumer's own position is at most one after `head`: by a frame that is there, or
//!   was forgotten. `limit` is a capacity after what was `head`, `end` is what was `tail`.

use core::alloc::Layout;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::places::{Place, Places};
use crate::bytes::{Filling, NoRoom};
use crate::error::BuildError;
use crate::raw::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// On a line of its own, and on the one that processors load with it.
#[repr(align(128))]
struct Position(AtomicUsize);

/// What both ends share, at the start of its block; the places follow.
struct Shared {
    head: Position,
    tail: Position,
    /// Not 0 once one of the ends is gone.
    ended: AtomicU32,
    /// The one that this is in.
    block: Block,
}

/// What each end has.
struct End {
    shared: NonNull<Shared>,
    first: NonNull<u8>,
    capacity: usize,
    places: Places,
}

/// Makes the two ends of a ring of so many entries, which are not 0.
///
/// # Errors
///
/// If entries are too many or too large, or the source refuses.
pub(super) fn make(
    capacity: usize,
    max_len: usize,
    source: &Source,
) -> Result<(Producer, Consumer), BuildError> {
    let places = Places::new(max_len)?;
    // A place has two bytes at least, so twice the capacity is a number.
    let (layout, offset) = places.layout(Layout::new::<Shared>(), capacity)?;
    let block = Block::allocate(layout, source)?;
    block.touch();
    let shared = block.start().cast::<Shared>();
    // SAFETY: the block begins with room for it, and the places follow at that offset.
    let first = unsafe {
        let first = block.start().add(offset);
        shared.write(Shared {
            head: Position(AtomicUsize::new(0)),
            tail: Position(AtomicUsize::new(0)),
            ended: AtomicU32::new(0),
            block,
        });
        first
    };
    let end = || End {
        shared,
        first,
        capacity,
        places,
    };
    let producer = Producer {
        end: end(),
        tail: 0,
        limit: capacity,
    };
    let consumer = Consumer {
        end: end(),
        head: 0,
        tail: 0,
    };
    Ok((producer, consumer))
}

impl End {
    #[inline(always)]
    fn shared(&self) -> &Shared {
        // SAFETY: there until this end is gone (J3).
        unsafe { self.shared.as_ref() }
    }

    /// The place of a position.
    #[inline(always)]
    fn place(&self, position: usize) -> Place {
        let number = if position < self.capacity {
            position
        } else {
            position - self.capacity
        };
        // SAFETY: below the capacity (J1).
        unsafe { self.places.place(self.first, number) }
    }

    /// The position after that one.
    #[inline(always)]
    fn after(&self, position: usize) -> usize {
        let next = position + 1;
        if next == 2 * self.capacity { 0 } else { next }
    }

    /// How many positions it is from `head` to `tail`.
    fn between(&self, head: usize, tail: usize) -> usize {
        if head <= tail {
            tail - head
        } else {
            tail + 2 * self.capacity - head
        }
    }

    fn is_closed(&self) -> bool {
        // Acquire: pairs with the release of the other end's drop; what it pushed or popped
        // before is found.
        self.shared().ended.load(Ordering::Acquire) != 0
    }

    fn memory(&self) -> Report {
        let block = &self.shared().block;
        Report::new(block.layout().size(), block.source())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Release: what this end did happens before the block is freed; pairs with the acquire
        // of the other end here, and in `is_closed`.
        if self.shared().ended.swap(1, Ordering::AcqRel) != 0 {
            // SAFETY: both ends are gone, so no one uses it (J3). The block is moved out of
            // itself, and then freed.
            drop(unsafe { self.shared.read() });
        }
    }
}

/// Why an entry was not pushed.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::{PushError, Ring};
///
/// let (mut producer, _consumer) = Ring::with_capacity(1, 5).split();
/// let error = PushError::TooBig { size: 6, max_len: 5 };
/// assert_eq!(producer.push(b"hello!"), Err(error));
/// assert_eq!(producer.push(b"hello"), Ok(()));
/// assert_eq!(producer.push(b"hello"), Err(PushError::Full));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// All places have entries.
    Full,
    /// An entry has no room for so many bytes.
    TooBig {
        /// The bytes that were given.
        size: usize,
        /// The most bytes of an entry.
        max_len: usize,
    },
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PushError::Full => f.write_str("the ring is full"),
            PushError::TooBig { size, max_len } => {
                write!(
                    f,
                    "{size} bytes were given, and an entry has {max_len} at most"
                )
            }
        }
    }
}

impl core::error::Error for PushError {}

/// The end of a [`Ring`](super::Ring) that entries are pushed to. `Send` and `Sync`.
///
/// Dropped, it leaves the consumer what was pushed.
pub struct Producer {
    end: End,
    /// Its own position (J2).
    tail: usize,
    /// Where the ring is full, as far as is known (J4).
    limit: usize,
}

// SAFETY: what is shared with the other end is atomic, or one end's by J2; all that an end does
// needs it exclusively, but to read its numbers.
unsafe impl Send for Producer {}
// SAFETY: as above.
unsafe impl Sync for Producer {}

impl Producer {
    /// Copies these bytes into a new entry; O(bytes), wait-free, allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Full`](PushError::Full), or [`TooBig`](PushError::TooBig).
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
    /// producer.push(b"hello")?;
    /// assert_eq!(*consumer.pop().unwrap(), *b"hello");
    /// # Ok::<(), flatslab::sync::bytes::PushError>(())
    /// ```
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), PushError> {
        let max_len = self.max_len();
        if bytes.len() > max_len {
            let size = bytes.len();
            return Err(PushError::TooBig { size, max_len });
        }
        let place = self.vacant().ok_or(PushError::Full)?;
        // SAFETY: the producer's (J2), and it has room for `max_len` bytes.
        unsafe { place.fill(bytes) };
        self.advance();
        Ok(())
    }

    /// An entry to be filled in place and [committed](Entry::commit); O(1), wait-free. None if
    /// the ring is full.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// # use std::io::Read;
    /// # let mut socket = &b"received"[..];
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.resize(1500, 0).unwrap();
    /// let count = socket.read(&mut entry).unwrap();
    /// entry.truncate(count);
    /// entry.commit();
    /// assert_eq!(*consumer.pop().unwrap(), *b"received");
    /// ```
    #[inline]
    pub fn reserve(&mut self) -> Option<Entry<'_>> {
        let place = self.vacant()?;
        // SAFETY: the producer's (J2), which the entry borrows, with room for so many bytes.
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
        if self.tail == self.limit && !self.look() {
            return None;
        }
        Some(self.end.place(self.tail))
    }

    /// Looks how far the consumer is, and whether there is a place.
    #[inline]
    fn look(&mut self) -> bool {
        // Acquire: pairs with the release in `Consumer::give_back`; the places before it are
        // read no more.
        let head = self.end.shared().head.0.load(Ordering::Acquire);
        let capacity = self.end.capacity;
        self.limit = if head < capacity {
            head + capacity
        } else {
            head - capacity
        };
        self.tail != self.limit
    }

    /// Gives the place at the tail, which has an entry, to the consumer.
    #[inline(always)]
    fn advance(&mut self) {
        self.tail = self.end.after(self.tail);
        // Release: pairs with the acquire in `Consumer::look`; the entry is written.
        let tail = &self.end.shared().tail.0;
        tail.store(self.tail, Ordering::Release);
    }

    /// How many places are taken: by entries, and by a frame that the consumer reads. The
    /// consumer may have given some of them back since.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(producer.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Relaxed: nothing is read by it.
        let head = self.end.shared().head.0.load(Ordering::Relaxed);
        self.end.between(head, self.tail)
    }

    /// Whether no place is taken.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (producer, _consumer) = Ring::with_capacity(2, 1500).split();
    /// assert!(producer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a push would be refused now.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(1, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert!(producer.is_full());
    /// ```
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// How many entries there are at most.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (producer, _consumer) = Ring::with_capacity(2, 1500).split();
    /// assert_eq!(producer.capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.end.capacity
    }

    /// The most bytes of an entry.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (producer, _consumer) = Ring::with_capacity(2, 1500).split();
    /// assert_eq!(producer.max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.end.places.max_len()
    }

    /// Whether the consumer is gone. What is pushed then is read by no one.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (producer, consumer) = Ring::with_capacity(2, 1500).split();
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

/// Its numbers.
impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("max_len", &self.max_len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// An entry that is being filled, from [`Producer::reserve`].
///
/// It has a length, of what is filled, and a capacity, the most bytes of an entry. The consumer
/// gets it once it is [committed](Self::commit); dropped or forgotten, it commits nothing, and
/// its place is the next one's. `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// # use flatslab::sync::bytes::Ring;
/// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
/// producer.reserve().unwrap().extend_from_slice(b"dropped").unwrap();
/// let mut entry = producer.reserve().unwrap();
/// entry.extend_from_slice(b"hello")?;
/// entry[0] = b'H';
/// entry.commit();
/// assert_eq!(*consumer.pop().unwrap(), *b"Hello");
/// assert!(consumer.pop().is_none());
/// # Ok::<(), flatslab::bytes::NoRoom>(())
/// ```
#[must_use = "an entry that is dropped is not pushed"]
pub struct Entry<'a> {
    producer: &'a mut Producer,
    /// The one at the producer's tail.
    place: Place,
    bytes: Filling,
}

// SAFETY: bytes that are its alone.
unsafe impl Send for Entry<'_> {}
// SAFETY: as above.
unsafe impl Sync for Entry<'_> {}

impl Entry<'_> {
    /// Pushes it, with the bytes that are filled; O(1).
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
    /// producer.reserve().unwrap().commit();
    /// assert!(consumer.pop().unwrap().is_empty());
    /// ```
    #[inline]
    pub fn commit(self) {
        // SAFETY: the producer's (J2); it has no more bytes than that.
        unsafe { self.place.set_len(self.bytes.len()) };
        self.producer.advance();
    }

    /// How many bytes there is room for in all.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 1500).split();
    /// assert_eq!(producer.reserve().unwrap().capacity(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Fills the next bytes with these; O(bytes).
    ///
    /// # Errors
    ///
    /// If there is no room for all of them; none is written then.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 8).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.extend_from_slice(b"hello")?;
    /// assert!(entry.extend_from_slice(b" world").is_err());
    /// assert_eq!(*entry, *b"hello");
    /// # Ok::<(), flatslab::bytes::NoRoom>(())
    /// ```
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.bytes.extend_from_slice(bytes)
    }

    /// Changes the length; fills with `byte` what is added. O(bytes added).
    ///
    /// # Errors
    ///
    /// If the length passes the capacity.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 8).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.resize(3, b'-')?;
    /// assert_eq!(*entry, *b"---");
    /// assert!(entry.resize(9, 0).is_err());
    /// # Ok::<(), flatslab::bytes::NoRoom>(())
    /// ```
    pub fn resize(&mut self, len: usize, byte: u8) -> Result<(), NoRoom> {
        self.bytes.resize(len, byte)
    }

    /// Shortens it to so many bytes; no effect on one that is not longer.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 8).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.extend_from_slice(b"hello").unwrap();
    /// entry.truncate(2);
    /// assert_eq!(*entry, *b"he");
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// The bytes that are not filled, to be written by code that says afterwards how many it
    /// wrote, by [`set_len`](Self::set_len).
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 8).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first byte is written.
    /// unsafe { entry.set_len(1) };
    /// assert_eq!(*entry, [7]);
    /// ```
    pub fn spare_capacity_mut(&mut self) -> &mut [core::mem::MaybeUninit<u8>] {
        self.bytes.spare_capacity_mut()
    }

    /// Says how many bytes are filled.
    ///
    /// # Safety
    ///
    /// They are at most the capacity, and all of them are initialised.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, _consumer) = Ring::with_capacity(2, 8).split();
    /// let mut entry = producer.reserve().unwrap();
    /// entry.resize(8, 1).unwrap();
    /// entry.truncate(0);
    /// // SAFETY: all were filled.
    /// unsafe { entry.set_len(8) };
    /// assert_eq!(*entry, [1; 8]);
    /// ```
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: says the caller.
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

/// As a slice of bytes.
impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The end of a [`Ring`](super::Ring) that entries are popped from. `Send` and `Sync`.
pub struct Consumer {
    end: End,
    /// Its own position (J4).
    head: usize,
    /// Where the ring is empty, as far as is known (J4).
    tail: usize,
}

// SAFETY: as for `Producer`.
unsafe impl Send for Consumer {}
// SAFETY: as for `Producer`.
unsafe impl Sync for Consumer {}

impl Consumer {
    /// Takes the oldest entry; O(1), wait-free. Its place is the producer's again once the frame
    /// is dropped; where that is forgotten, once the next frame is, or a pop finds none.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
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
        // SAFETY: it has an entry, and is the consumer's (J2).
        let len = unsafe { place.len() };
        Some(Frame {
            start: place.bytes(),
            len,
            consumer: self,
        })
    }

    /// Looks how far the producer is, and whether there is an entry.
    #[inline]
    fn look(&mut self) -> bool {
        // Relaxed: only this end writes it.
        let head = self.end.shared().head.0.load(Ordering::Relaxed);
        if head != self.head {
            // A frame was forgotten. It is no more, for this borrows the consumer too.
            self.give_back();
        }
        // Acquire: pairs with the release in `Producer::advance`; the entries before it are
        // written.
        self.tail = self.end.shared().tail.0.load(Ordering::Acquire);
        self.head != self.tail
    }

    /// Gives the places before its own position to the producer.
    #[inline(always)]
    fn give_back(&mut self) {
        let head = &self.end.shared().head.0;
        // Release: pairs with the acquire in `Producer::look`; they were read.
        head.store(self.head, Ordering::Release);
    }

    /// How many entries there are to pop; the producer may have pushed more since.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, consumer) = Ring::with_capacity(2, 1500).split();
    /// producer.push(b"hello").unwrap();
    /// assert_eq!(consumer.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Relaxed: nothing is read by it.
        let tail = self.end.shared().tail.0.load(Ordering::Relaxed);
        self.end.between(self.head, tail)
    }

    /// Whether there is none.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (_producer, consumer) = Ring::with_capacity(2, 1500).split();
    /// assert!(consumer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there are at most.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (_producer, consumer) = Ring::with_capacity(2, 1500).split();
    /// assert_eq!(consumer.capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.end.capacity
    }

    /// The most bytes of an entry.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (_producer, consumer) = Ring::with_capacity(2, 1500).split();
    /// assert_eq!(consumer.max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.end.places.max_len()
    }

    /// Whether the producer is gone. All that it pushed is there to be popped: who asks this
    /// first and then finds no entry has read all.
    ///
    /// ```
    /// # use flatslab::sync::bytes::Ring;
    /// let (mut producer, mut consumer) = Ring::with_capacity(2, 1500).split();
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

/// Its numbers.
impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("max_len", &self.max_len())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// An entry that was popped, from [`Consumer::pop`]: its bytes. `Send` and `Sync`.
///
/// Its place is the producer's again once it is dropped.
pub struct Frame<'a> {
    consumer: &'a mut Consumer,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: bytes that no one writes to, and the consumer.
unsafe impl Send for Frame<'_> {}
// SAFETY: as above.
unsafe impl Sync for Frame<'_> {}

impl Deref for Frame<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: an entry's bytes, in a place that is the consumer's until this is dropped (J2).
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Frame<'_> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}

/// As a slice of bytes.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl core::panic::UnwindSafe for Producer {}
impl core::panic::RefUnwindSafe for Producer {}
impl core::panic::UnwindSafe for Consumer {}
impl core::panic::RefUnwindSafe for Consumer {}
impl core::panic::UnwindSafe for Entry<'_> {}
impl core::panic::RefUnwindSafe for Entry<'_> {}
impl core::panic::UnwindSafe for Frame<'_> {}
impl core::panic::RefUnwindSafe for Frame<'_> {}
