//! `Ring`: a bounded queue of buffers, whose newest entry overwrites the oldest; its builder, and
//! the array of its entries.
//!
//! # Invariants
//!
//! * `entry-places`: the array has `mask + 1` places, a power of two and at least `capacity`. The
//!   value that was added as number `n` is at the place `n & mask`.
//! * `entry-numbers`: `first <= next <= first + capacity`. The values with numbers from `first` up
//!   to `next` are there, and no others. Neither number overflows: at one a nanosecond that takes
//!   centuries.

use core::alloc::Layout;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use super::RequestError;
use super::arena::ByteArena;
use super::arena_core::Class;
use super::buf::{Buf, BufMut};
use super::numbers::NUMBER_BITS;
use super::references::{Atomic, Local, References};
use super::sizes::LARGEST;
use super::stats::Stats;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError, SizeError};
use crate::memory::{Pages, Report};
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// A queue of at most a fixed number of buffers: first in, first out, and the newest overwrites the
/// oldest.
///
/// Use it if data arrives faster than it is read, and the newest counts: frames, ticks, log lines.
/// All memory is allocated at construction: buffers for the entries, and spare ones for entries
/// that were [popped](Self::pop) and are still read.
///
/// Each entry is popped once, so only one reader gets it. On one thread, several parts of a program
/// can read a ring with [`get`](Self::get) and [`iter`](Self::iter), which remove nothing. For
/// readers on threads of their own see [`sync`](crate::sync#each-entry-to-every-reader).
///
/// If readers keep more buffers than the spare ones, the ring keeps fewer entries until these
/// buffers are dropped, and does not stall. A `push` fails only if readers keep all buffers.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::Ring;
///
/// let mut ring = Ring::with_capacity(2, 1500);    // entries, maximum bytes of each
/// assert!(ring.push(b"first")?.is_none());
/// ring.push(b"second")?;
/// let evicted = ring.push(b"third")?.unwrap();
/// assert_eq!((evicted.sequence, evicted.len), (0, 5));
/// assert_eq!(ring.pop().unwrap(), *b"second");    // true lengths
/// # Ok::<(), flatslab::bytes::RequestError>(())
/// ```
pub struct Ring<R: References = Local> {
    entries: Entries<Buf<R>>,
    arena: ByteArena<R>,
    /// The arena's one class, whose buffers have room for `max_len` bytes.
    class: NonNull<Class<R>>,
    max_len: usize,
    /// Entries that were overwritten. The number of popped ones follows from the numbers of
    /// entries.
    evicted: u64,
}

// SAFETY: the class belongs to the arena, which is sent too; arena and entries are `Send`.
unsafe impl Send for Ring<Atomic> {}

/// The oldest entry, which a push overwrote.
///
/// If readers keep all spare buffers and the oldest entries too, these entries also leave the ring,
/// up to the first one that no reader keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evicted {
    /// Sequence number of the entry: the number of entries that were pushed before it.
    pub sequence: u64,
    /// Number of bytes of the entry.
    pub len: usize,
    /// Number of entries that left the ring: this one, and those that followed it.
    pub count: usize,
}

impl Ring {
    /// Creates a ring of `entries` entries of at most `max_len` bytes.
    ///
    /// Readers may keep one more buffer.
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
    /// let ring = flatslab::bytes::Ring::with_capacity(10, 1500);
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
    /// let ring = flatslab::bytes::Ring::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> Builder<Ring> {
        Builder::new(RingOptions::new())
    }
}

impl<R: References> Ring<R> {
    /// Copies bytes into a new entry, and returns which entry it overwrote, if any.
    ///
    /// The oldest entry is overwritten if the ring is full, or readers keep all spare buffers. If
    /// the buffer of that entry begins a chain, the push frees as many buffers of it as a
    /// [drop](Buf) does.
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes; does not allocate. If readers keep all spare buffers and the oldest
    /// entries, also O(m) for m entries that they keep.
    ///
    /// # Errors
    ///
    /// If there are more bytes than [`max_len`](Self::max_len), or readers keep all buffers.
    /// Nothing is overwritten then.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(1, 5);
    /// assert!(ring.push(b"hello")?.is_none());
    /// assert!(ring.push(b"too long").is_err());
    /// assert_eq!(ring.push(b"again")?.unwrap().len, 5);
    /// # Ok::<(), RequestError>(())
    /// ```
    #[inline(always)]
    #[doc(alias("append", "write"))]
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Evicted>, RequestError> {
        if bytes.len() > self.max_len {
            return Err(self.too_large(bytes.len()));
        }
        // Read once: the compiler cannot always see that a copy does not change it.
        let next = self.entries.next;
        if !self.entries.is_full() {
            if let Ok(buf) = self.copy(bytes) {
                // SAFETY: `is_full` was false, and `copy` adds no entry.
                unsafe { self.entries.push_as(next, buf) };
                return Ok(None);
            }
        }
        if let Some(evicted) = self.overwrite(bytes) {
            return Ok(Some(evicted));
        }
        let evicted = self.replace(bytes)?;
        Ok(evicted.map(|(len, count)| self.evicted_last(len, count)))
    }

    /// Copies bytes into a buffer of the arena's one class.
    #[inline(always)]
    fn copy(&self, bytes: &[u8]) -> Result<Buf<R>, RequestError> {
        // SAFETY: the arena is valid, and so are its classes.
        let class = unsafe { self.class.as_ref() };
        // SAFETY: `push` has compared the length with `max_len`, for which there is room; the bytes
        // are filled just below.
        if let Some(header) = unsafe { class.pop_shared(bytes.len() as u32) } {
            // SAFETY: it is shared and no one else's, and its buffer has room for `max_len` bytes.
            return Ok(unsafe { Buf::of_bytes(header, bytes) });
        }
        let header = self.arena.core().take_fresh(class)?.pointer();
        // SAFETY: it is mutable, and its buffer has room for `max_len` bytes.
        Ok(unsafe { Buf::filled(header, bytes) })
    }

    /// Overwrites the oldest entry in its buffer, if there is one, and no other reference to its
    /// buffer.
    #[inline(always)]
    fn overwrite(&mut self, bytes: &[u8]) -> Option<Evicted> {
        let reusable = |buf: &&Buf<R>| buf.is_of(self.class) && buf.may_be_overwritten();
        self.entries.front().filter(reusable)?;
        let sequence = self.entries.first();
        self.evicted += 1;
        // SAFETY: there is an entry, and its buffer is from the class, whose buffers have room for
        // `max_len` bytes.
        let len = unsafe {
            let entry = self.entries.rotate();
            let len = entry.len();
            entry.overwrite(bytes);
            len
        };
        Some(Evicted {
            sequence,
            len,
            count: 1,
        })
    }

    /// Overwrites the oldest entry, if a reader has it too. Returns the length that the entry had,
    /// and the number of entries that left: a result of more words would be put together in memory,
    /// and copied.
    #[cold]
    #[inline(never)]
    fn replace(&mut self, bytes: &[u8]) -> Result<Option<(usize, usize)>, RequestError> {
        match self.copy(bytes) {
            Ok(buf) => Ok(self.push_buf(buf).map(|evicted| (evicted.len, 1))),
            Err(error) => {
                let evicted = self.evict_unread().ok_or(error)?;
                let buf = self.copy(bytes)?;
                // There is room: at least one entry was evicted.
                self.entries.push(buf);
                Ok(Some(evicted))
            }
        }
    }

    /// Drops the oldest entries until one leaves a buffer free. Returns the length of the oldest,
    /// and the number of dropped entries. If readers keep all, drops nothing. O(entries dropped),
    /// or O(entries) if nothing is dropped.
    ///
    /// Entries may share a buffer, which is free after the last of them.
    fn evict_unread(&mut self) -> Option<(usize, usize)> {
        let class = self.class;
        let is_ours = move |buf: &&Buf<R>| buf.is_of(class);
        let mut count = 0;
        let is_free = self.entries.iter().any(|buf| {
            count += 1;
            is_ours(&buf) && buf.header().counts().set_aside()
        });
        let seen = self.entries.iter().take(count).filter(is_ours);
        seen.for_each(|buf| buf.header().counts().restore());
        if !is_free {
            return None;
        }
        let len = self.entries.front()?.len();
        for _ in 0..count {
            drop(self.entries.pop());
        }
        self.evicted += count as u64;
        Some((len, count))
    }

    /// Describes the last `count` entries that were overwritten, the first of which had `len`
    /// bytes.
    #[inline]
    fn evicted_last(&self, len: usize, count: usize) -> Evicted {
        Evicted {
            sequence: self.entries.first() - count as u64,
            len,
            count,
        }
    }

    #[cold]
    #[inline(never)]
    fn too_large(&self, size: usize) -> RequestError {
        let _ = self.arena.core().too_large(size);
        RequestError::TooLarge(SizeError::new(size, self.max_len))
    }

    /// Returns a buffer of the ring, which is filled in place and then [pushed](Self::push_buf).
    ///
    /// If there is no spare buffer, the oldest entries leave as in a push, and
    /// [`evicted`](Self::evicted) counts them.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate. If readers keep all spare buffers, O(n) for the n oldest entries
    /// that they keep too, and for all entries if they keep all.
    ///
    /// # Errors
    ///
    /// If readers keep all buffers.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// # let mut socket = &b"received"[..];
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// let mut buf = ring.try_alloc()?;
    /// if buf.read_from(&mut socket).unwrap() > 0 {
    ///     ring.push_buf(buf);
    /// }
    /// assert_eq!(ring.pop().unwrap(), *b"received");
    /// # Ok::<(), RequestError>(())
    /// ```
    pub fn try_alloc(&mut self) -> Result<BufMut<R>, RequestError> {
        match self.arena.try_alloc(self.max_len) {
            Ok(buf) => Ok(buf),
            Err(error) => {
                self.evict_unread().ok_or(error)?;
                self.arena.try_alloc(self.max_len)
            }
        }
    }

    /// Adds a buffer as the newest entry, without a copy, and returns which entry it overwrote, if
    /// any. O(1).
    ///
    /// The buffer may be from [`try_alloc`](Self::try_alloc), or any other.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// let mut buf = ring.try_alloc()?;
    /// buf.extend_from_slice(b"made in place").unwrap();
    /// assert!(ring.push_buf(buf).is_none());
    /// assert_eq!(ring.pop().unwrap(), *b"made in place");
    /// # Ok::<(), RequestError>(())
    /// ```
    pub fn push_buf(&mut self, buf: impl Into<Buf<R>>) -> Option<Evicted> {
        let buf = buf.into();
        let oldest = self.entries.push(buf)?;
        self.evicted += 1;
        Some(self.evicted_last(oldest.len(), 1))
    }

    /// Removes the oldest entry and returns it. O(1).
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// ring.push(b"hello")?;
    /// assert_eq!(ring.pop().unwrap(), *b"hello");
    /// assert!(ring.pop().is_none());
    /// # Ok::<(), RequestError>(())
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<Buf<R>> {
        self.entries.pop()
    }

    /// Returns the entry `index` places after the oldest. O(1).
    ///
    /// Once the entry is overwritten, a clone of it counts as a buffer that a reader keeps.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// ring.push(b"hello")?;
    /// assert_eq!(ring.get(0).unwrap(), b"hello");
    /// # Ok::<(), RequestError>(())
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "read")]
    pub fn get(&self, index: usize) -> Option<&Buf<R>> {
        self.entries.get(index)
    }

    /// Iterates over the entries, from the oldest to the newest.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// ring.push(b"hello")?;
    /// assert_eq!(ring.iter().map(|entry| entry.len()).sum::<usize>(), 5);
    /// # Ok::<(), RequestError>(())
    /// ```
    pub fn iter(&self) -> RingIter<'_, R> {
        RingIter {
            ring: self,
            left: 0..self.len(),
        }
    }

    /// Drops all entries. O(n) for n entries.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// ring.push(b"hello")?;
    /// ring.clear();
    /// assert!(ring.is_empty());
    /// # Ok::<(), RequestError>(())
    /// ```
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the number of entries.
    ///
    /// ```
    /// assert_eq!(flatslab::bytes::Ring::with_capacity(2, 1500).len(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the ring has no entries.
    ///
    /// ```
    /// assert!(flatslab::bytes::Ring::with_capacity(2, 1500).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether the next push overwrites the oldest entry.
    ///
    /// ```
    /// assert!(!flatslab::bytes::Ring::with_capacity(2, 1500).is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.is_full()
    }

    /// Returns the maximum number of entries.
    ///
    /// ```
    /// assert_eq!(flatslab::bytes::Ring::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Returns the maximum number of bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::bytes::Ring::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.max_len
    }

    /// Returns the number of entries pushed since the ring was created.
    ///
    /// ```
    /// assert_eq!(flatslab::bytes::Ring::with_capacity(2, 1500).pushed(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn pushed(&self) -> u64 {
        self.entries.next()
    }

    /// Returns the number of entries that were overwritten.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(2, 1500);
    /// for _ in 0..5 {
    ///     ring.push(b"hello")?;
    /// }
    /// assert_eq!(ring.evicted(), 3);
    /// # Ok::<(), RequestError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Returns the arena of the entries, which [resolves](ByteArena::resolve) their positions.
    ///
    /// It has one class, and neither grows nor shrinks.
    ///
    /// ```
    /// # use flatslab::bytes::{Ring, RequestError};
    /// let mut ring = Ring::with_capacity(1, 1500);
    /// ring.push(b"hello")?;
    /// let loc = ring.get(0).unwrap().loc();
    /// assert_eq!(ring.arena().resolve(loc).unwrap(), *b"hello");
    /// ring.push(b"again")?;
    /// assert!(ring.arena().resolve(loc).is_err());
    /// # Ok::<(), RequestError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn arena(&self) -> &ByteArena<R> {
        &self.arena
    }

    /// Returns statistics of the arena.
    ///
    /// Entries that were overwritten in place are not counted as allocations.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::with_capacity(2, 1500);
    /// assert_eq!(ring.stats().classes()[0].buffers, 3);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.arena.stats()
    }

    /// Returns a report on the memory of the ring and its arena: its size, and which of the
    /// requested page options were obtained.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::with_capacity(2, 1500);
    /// assert!(ring.memory().bytes() > ring.arena().memory().bytes());
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let array = self.entries.array.layout().size();
        Report::new(self.arena.memory_bytes() + array, self.arena.source())
    }
}

/// Prints the number of entries, and of those overwritten.
impl<R: References> fmt::Debug for Ring<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("pushed", &self.pushed())
            .field("evicted", &self.evicted)
            .finish_non_exhaustive()
    }
}

/// The options of a builder of rings.
#[derive(Clone, Debug)]
pub struct RingOptions {
    pub(crate) entries: usize,
    pub(crate) max_len: usize,
    pub(crate) in_flight: usize,
}

impl RingOptions {
    pub(crate) const fn new() -> Self {
        RingOptions {
            entries: 1,
            max_len: 1500,
            in_flight: 1,
        }
    }
}

/// Bytes of a chunk of a large ring.
const LARGEST_CHUNK: usize = 1 << 26;

impl<R: References> Build for Ring<R> {
    type Options = RingOptions;

    fn try_build(options: RingOptions, pages: Pages) -> Result<Self, BuildError> {
        let RingOptions {
            entries,
            max_len,
            in_flight,
        } = options;
        // Each has a buffer of its own, with a number.
        let most = 1 << NUMBER_BITS;
        BuildError::in_range("in_flight", in_flight, 0, most - 1)?;
        BuildError::in_range("entries", entries, 1, most - in_flight)?;
        BuildError::in_range("max_len", max_len, 1, LARGEST)?;
        let buffers = entries + in_flight;
        let size = max_len.saturating_add(15) / 16 * 16;
        // One chunk if that does not exceed the limit of a chunk.
        let chunk_bytes = size.saturating_mul(buffers).min(size.max(LARGEST_CHUNK));
        let arena: ByteArena<R> = ByteArena::builder()
            .smallest(max_len)
            .largest(max_len)
            .chunk_bytes(chunk_bytes)
            .prepare(max_len, buffers)
            .pages(pages)
            .of()
            .try_build()?;
        arena.core().fix()?;
        Ok(Ring {
            class: NonNull::from(arena.core().last_class()),
            entries: Entries::try_new(entries, arena.core().source())?,
            arena,
            max_len,
            evicted: 0,
        })
    }
}

/// Options of [rings](Ring) for one thread, and of rings for several threads (`sync::SharedRing`).
///
/// ```
/// use flatslab::bytes::Ring;
///
/// let ring = Ring::builder().entries(1024).max_len(1500).in_flight(8).try_build()?;
/// assert_eq!((ring.capacity(), ring.max_len()), (1024, 1500));
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<C: Build<Options = RingOptions>> Builder<C> {
    /// Sets the maximum number of entries, 1 by default. With the buffers in flight it is at most
    /// 2²⁴.
    ///
    /// ```
    /// let ring = flatslab::bytes::Ring::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn entries(mut self, entries: usize) -> Self {
        self.options.entries = entries;
        self
    }

    /// Sets the maximum number of bytes of an entry, 1,500 by default.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::Ring::builder().max_len(4).build();
    /// assert!(ring.push(b"hello").is_err());
    /// ```
    pub const fn max_len(mut self, bytes: usize) -> Self {
        self.options.max_len = bytes;
        self
    }

    /// Sets the number of popped buffers that readers may keep without taking room from entries, 1
    /// by default.
    ///
    /// ```
    /// let mut ring = flatslab::bytes::Ring::builder().entries(1).in_flight(2).build();
    /// let kept = [b"a", b"b"].map(|bytes| {
    ///     ring.push(bytes).unwrap();
    ///     ring.pop().unwrap()
    /// });
    /// ring.push(b"c").unwrap();
    /// # drop(kept);
    /// ```
    pub const fn in_flight(mut self, buffers: usize) -> Self {
        self.options.in_flight = buffers;
        self
    }
}

impl Builder<Ring> {
    /// Returns a builder with the same options of a ring whose entries can be sent to other
    /// threads.
    ///
    /// ```
    /// use flatslab::bytes::Ring;
    ///
    /// let mut ring = Ring::builder().atomic().build();
    /// ring.push(b"hello").unwrap();
    /// let entry = ring.pop().unwrap();
    /// std::thread::spawn(move || assert_eq!(entry, *b"hello")).join().unwrap();
    /// ```
    pub fn atomic(self) -> Builder<Ring<Atomic>> {
        self.of()
    }
}

/// An iterator over the entries of a ring, from [`iter`](Ring::iter).
#[must_use = "iterators are lazy"]
pub struct RingIter<'r, R: References> {
    ring: &'r Ring<R>,
    left: Range<usize>,
}

impl<R: References> Clone for RingIter<'_, R> {
    fn clone(&self) -> Self {
        RingIter {
            ring: self.ring,
            left: self.left.clone(),
        }
    }
}

impl<'r, R: References> Iterator for RingIter<'r, R> {
    type Item = &'r Buf<R>;

    #[inline]
    fn next(&mut self) -> Option<&'r Buf<R>> {
        self.ring.get(self.left.next()?)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<R: References> DoubleEndedIterator for RingIter<'_, R> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.ring.get(self.left.next_back()?)
    }
}

impl<R: References> ExactSizeIterator for RingIter<'_, R> {}
impl<R: References> FusedIterator for RingIter<'_, R> {}

impl<R: References> fmt::Debug for RingIter<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingIter")
            .field("left", &self.left.len())
            .finish_non_exhaustive()
    }
}

/// The entries of a ring, in one array: a fixed number of values, first in, first out; the newest
/// overwrites the oldest.
struct Entries<T> {
    array: Block,
    capacity: usize,
    mask: usize,
    // The numbers of the oldest and of the next value, which are all that a push or a pop changes.
    // With the places and the length apart, a write and a read took a fifth longer.
    first: u64,
    next: u64,
    values: PhantomData<T>,
}

// SAFETY: it owns its values, as an array of them would.
unsafe impl<T: Send> Send for Entries<T> {}
// SAFETY: through a shared reference values are only lent as `&T` (`entry-places`).
unsafe impl<T: Sync> Sync for Entries<T> {}

impl<T> Entries<T> {
    /// Allocates and touches the array.
    ///
    /// # Errors
    ///
    /// If the bytes exceed `isize::MAX`, or the source refuses.
    fn try_new(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let places = capacity.checked_next_power_of_two();
        let layout = places.and_then(|places| Layout::array::<T>(places).ok());
        let layout = layout.ok_or(AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })?;
        let array = Block::allocate(layout, source)?;
        array.touch();
        Ok(Entries {
            array,
            capacity,
            mask: capacity.next_power_of_two() - 1,
            first: 0,
            next: 0,
            values: PhantomData,
        })
    }

    /// The place of the value with this number.
    #[inline]
    fn place(&self, number: u64) -> NonNull<T> {
        // SAFETY: at most the mask, so within the array (`entry-places`).
        unsafe {
            self.array
                .start()
                .cast::<T>()
                .add(number as usize & self.mask)
        }
    }

    /// Adds a value, the newest. Returns the oldest one if the ring was full. O(1).
    #[inline(always)]
    fn push(&mut self, value: T) -> Option<T> {
        if self.capacity == 0 {
            return Some(value);
        }
        let oldest = self.is_full().then(|| self.pop()).flatten();
        // SAFETY: it was not full, or one value has left (`entry-numbers`).
        unsafe { self.push_as(self.next, value) };
        oldest
    }

    /// Adds a value, the newest, with the number `next`.
    ///
    /// # Safety
    ///
    /// The ring is not full, and that is the number of its next value.
    #[inline(always)]
    unsafe fn push_as(&mut self, next: u64, value: T) {
        debug_assert!(!self.is_full() && next == self.next);
        // SAFETY: a place without a value: the numbers of existing values differ by less than the
        // capacity (`entry-places`, `entry-numbers`).
        unsafe { self.place(next).write(value) };
        self.next = next + 1;
    }

    /// Takes the oldest value; O(1).
    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: it has a value (`entry-numbers`), and none from now on.
        let value = unsafe { self.place(self.first).read() };
        self.first += 1;
        Some(value)
    }

    /// The oldest value; O(1).
    #[inline]
    fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Makes the oldest value the newest, and returns it.
    ///
    /// # Safety
    ///
    /// The ring is not empty.
    #[inline(always)]
    unsafe fn rotate(&mut self) -> &mut T {
        debug_assert!(!self.is_empty());
        let (oldest, newest) = (self.place(self.first), self.place(self.next));
        if oldest != newest {
            // SAFETY: it has a value, and the other place none: they are one place if all places
            // have values (`entry-places`, `entry-numbers`).
            unsafe { newest.copy_from_nonoverlapping(oldest, 1) };
        }
        self.first += 1;
        self.next += 1;
        // SAFETY: by `entry-places` the newest place has a value now; the ring is borrowed
        // exclusively.
        unsafe { { newest }.as_mut() }
    }

    /// The number of the oldest value, or of the next one if the ring is empty: the number of
    /// values that were added and have left.
    #[inline]
    fn first(&self) -> u64 {
        self.first
    }

    /// How many values were added.
    #[inline]
    fn next(&self) -> u64 {
        self.next
    }

    /// How many values there are.
    #[inline]
    fn len(&self) -> usize {
        // At most the capacity (`entry-numbers`).
        (self.next - self.first) as usize
    }

    /// Whether there are no values.
    #[inline]
    fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Whether the next push overwrites the oldest value.
    #[inline]
    fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// How many values there is room for.
    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value `index` after the oldest.
    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: it has a value (`entry-numbers`).
        (index < self.len()).then(|| unsafe { self.place(self.first + index as u64).as_ref() })
    }

    /// The values, the oldest first.
    fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len()).map(|index| self.get(index).expect("below the length"))
    }

    /// Drops all entries.
    fn clear(&mut self) {
        while let Some(entry) = self.pop() {
            drop(entry);
        }
    }
}

impl<T> Drop for Entries<T> {
    fn drop(&mut self) {
        self.clear();
    }
}
