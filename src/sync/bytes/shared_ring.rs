//! A ring that any number of threads write to and read from.
//!
//! An entry's bytes lie in a chunk, which a writer fills while it has it alone; places have the
//! chunks' numbers. So a place changes by one operation, and no thread waits for another one
//! that copies. A thread that stops anywhere stops no other one: what it left undone, the move of
//! `head` or `tail`, the next one does.
//!
//! # Invariants
//!
//! * E1: positions go up from 0, and position `p` has the place `p % capacity`. A place is empty
//!   for `p`, then full with the entry of `p`, then empty for `p + capacity`, and so on.
//! * E2: `tail` goes from `p` to `p + 1` once place `p` was full with `p`; it is filled by an
//!   exchange that expects it to be empty for `p`. `head` goes from `p` to `p + 1` once the
//!   entry of `p` was taken, by an exchange that expects it to be there, where `head` was `p`. So
//!   each of them is at most one behind what it says, and entries are taken in their order.
//!   While `tail` is `p` though place `p` was filled, the entry may be taken; while `head` is `p`
//!   though its entry was taken, the place may be filled. No more: that takes a later `tail` or
//!   `head`. Who finds a place so moves the one that is behind.
//! * E3: each chunk is on the free map, or in one place that is full, or one thread's: a writer's,
//!   or a frame's. It is written by a writer that has it alone.

use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

use super::places::{Place, Places};
use super::shared_frame::{OwnedFrame, SharedFrame};
use super::shared_ring_builder::SharedRingBuilder;
use super::shared_word::{MOST_CHUNKS, Slot, Word};
use crate::bytes::{Evicted, RequestError};
use crate::error::{AllocError, BuildError};
use crate::raw::atomic::{AtomicU64, Ordering};
use crate::raw::free_map::FreeMap;
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// On a line of its own, and on the one that processors load with it.
#[repr(align(128))]
struct Position(AtomicU64);

/// A fixed number of entries, first in, first out, written and read by any number of threads; the
/// newest overwrites the oldest. `Send` and `Sync`.
///
/// It is for what arrives faster than it is read, of which the newest counts: frames, ticks, log
/// lines. All memory is there from the start: chunks for so many entries, for so many frames that
/// were [popped](Self::pop) and are still read, and two for each thread that writes at once.
/// Nothing is allocated afterwards.
///
/// Lock-free: a thread that stops, wherever it does, stops no other one. Where readers have more
/// frames than that, the ring keeps fewer entries until they are dropped. Only when readers and
/// writers have all chunks a `push` fails.
///
/// An entry has a sequence number: so many were pushed before it. By that a reader knows what it
/// has missed.
///
/// It is where there are 64-bit atomics.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::SharedRing;
///
/// let ring = SharedRing::with_capacity(2, 1500);  // entries, the most bytes of each
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| ring.push(b"hello").unwrap());
///     }
/// });
/// let (first, second) = (ring.pop().unwrap(), ring.pop().unwrap());
/// assert_eq!((first.sequence(), second.sequence()), (2, 3));
/// assert_eq!(*first, *b"hello");
/// assert!(ring.pop().is_none());
/// ```
pub struct SharedRing {
    head: Position,
    tail: Position,
    /// `capacity` of them.
    slots: NonNull<Slot>,
    /// The first chunk.
    first: NonNull<u8>,
    capacity: u64,
    places: Places,
    free: FreeMap,
    block: Block,
}

// SAFETY: positions and places are atomic; each chunk is one thread's at a time (E3).
unsafe impl Send for SharedRing {}
// SAFETY: as above.
unsafe impl Sync for SharedRing {}

/// An entry that was taken out; its chunk is the caller's.
pub(super) struct Taken {
    pub(super) position: u64,
    chunk: usize,
}

impl SharedRing {
    /// # Errors
    ///
    /// If there are too many chunks, or they are too large, or the source refuses.
    pub(super) fn try_new(
        capacity: usize,
        chunks: usize,
        max_len: usize,
        source: &Source,
    ) -> Result<Self, BuildError> {
        let places = Places::new(max_len)?;
        if chunks > MOST_CHUNKS {
            let (requested, limit) = (chunks, MOST_CHUNKS);
            return Err(AllocError::TooManySlots { requested, limit }.into());
        }
        let slots = Layout::array::<Slot>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<Slot>(),
        })?;
        let (layout, offset) = places.layout(slots, chunks)?;
        let free = FreeMap::try_new(chunks, source)?;
        let block = Block::allocate(layout, source)?;
        block.touch();
        let slots = block.start().cast::<Slot>();
        for position in 0..capacity {
            let word = Word::empty(position as u64).into_atomic();
            // SAFETY: within the block, which no one else has yet.
            unsafe { slots.add(position).write(Slot::new(word)) };
        }
        Ok(SharedRing {
            head: Position(AtomicU64::new(0)),
            tail: Position(AtomicU64::new(0)),
            slots,
            // SAFETY: the chunks begin there, within the block.
            first: unsafe { block.start().add(offset) },
            capacity: capacity as u64,
            places,
            free,
            block,
        })
    }

    /// A ring of so many entries of `max_len` bytes at most; one frame besides may be kept, and
    /// two threads may write at once. O(entries).
    ///
    /// # Panics
    ///
    /// As [`SharedRingBuilder::build`].
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::with_capacity(10, 1500);
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
    /// As for [`SharedRingBuilder::try_build`].
    ///
    /// ```
    /// assert!(flatslab::sync::bytes::SharedRing::try_with_capacity(0, 1500).is_err());
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
    /// let ring = flatslab::sync::bytes::SharedRing::builder().entries(10).build();
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    pub const fn builder() -> SharedRingBuilder {
        SharedRingBuilder::new()
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot {
        // SAFETY: below the capacity.
        unsafe { self.slots.add((position % self.capacity) as usize).as_ref() }
    }

    #[inline(always)]
    fn place(&self, chunk: usize) -> Place {
        // SAFETY: a chunk's number, from the free map, which has as many.
        unsafe { self.places.place(self.first, chunk) }
    }

    /// Copies these bytes into a new entry, the newest. Of a full ring it overwrites the oldest,
    /// and says which that was; so too of one that is not full, where readers have all spare
    /// chunks. O(bytes), lock-free; allocates nothing.
    ///
    /// Where other threads push at the same time it may overwrite several: `count` says how many,
    /// and `sequence` and `len` are those of the first.
    ///
    /// # Errors
    ///
    /// If they are more than [`max_len`](Self::max_len), or readers and writers have all chunks.
    /// Nothing is overwritten then.
    ///
    /// ```
    /// # use flatslab::sync::bytes::SharedRing;
    /// let ring = SharedRing::with_capacity(1, 5);
    /// assert!(ring.push(b"hello")?.is_none());
    /// assert!(ring.push(b"too long").is_err());
    /// assert_eq!(ring.push(b"again")?.unwrap().len, 5);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    pub fn push(&self, bytes: &[u8]) -> Result<Option<Evicted>, RequestError> {
        // SAFETY: the place is this call's alone, and has so many bytes.
        self.push_with(bytes.len(), |place| unsafe { place.fill(bytes) })
    }

    /// Pushes what `fill` writes to a place, with its length.
    #[inline]
    pub(super) fn push_with(
        &self,
        len: usize,
        fill: impl FnOnce(Place),
    ) -> Result<Option<Evicted>, RequestError> {
        if len > self.max_len() {
            return Err(self.too_big(len));
        }
        let mut evicted = None;
        let oldest = self.blocking(self.tail());
        let chunk = match oldest.and_then(|oldest| self.take_up_to(oldest)) {
            Some(taken) => self.evict(&mut evicted, taken),
            None => match self.free.take() {
                Some(chunk) => chunk,
                None => {
                    let taken = self.take().ok_or_else(|| exhausted(len))?;
                    self.evict(&mut evicted, taken)
                }
            },
        };
        fill(self.place(chunk));
        while let Err(oldest) = self.add(chunk) {
            if let Some(taken) = self.take_up_to(oldest) {
                let chunk = self.evict(&mut evicted, taken);
                // SAFETY: it was taken from there, and is this call's alone (E3).
                unsafe { self.free.give(chunk) };
            }
        }
        Ok(evicted)
    }

    /// Notes an entry that a push overwrites, and returns its chunk.
    #[inline]
    fn evict(&self, evicted: &mut Option<Evicted>, taken: Taken) -> usize {
        match evicted {
            Some(evicted) => evicted.count += 1,
            None => {
                *evicted = Some(Evicted {
                    sequence: taken.position,
                    // SAFETY: an entry's chunk, and this thread's alone (E3).
                    len: unsafe { self.place(taken.chunk).len() },
                    count: 1,
                });
            }
        }
        taken.chunk
    }

    #[inline(always)]
    fn tail(&self) -> u64 {
        // Acquire: pairs with the release in `pass`; the place before it is seen full.
        self.tail.0.load(Ordering::Acquire)
    }

    /// The position of the entry that has the place of that one: of a full ring, the oldest.
    #[inline(always)]
    fn blocking(&self, tail: u64) -> Option<u64> {
        // Relaxed: a guess, which the exchange of who takes it checks.
        let found = Word::from_atomic(self.slot(tail).load(Ordering::Relaxed));
        let oldest = tail.wrapping_sub(self.capacity);
        found.is_full_at(oldest).then_some(oldest)
    }

    /// Adds a chunk as the newest entry; or the position of the oldest, if the ring is full.
    #[inline]
    fn add(&self, chunk: usize) -> Result<(), u64> {
        loop {
            let tail = self.tail();
            let slot = self.slot(tail);
            let empty = Word::empty(tail).into_atomic();
            let full = Word::full(tail, chunk).into_atomic();
            // Release: pairs with the acquire in `take_up_to`; the chunk is written. Acquire:
            // pairs with the release of who emptied the place, or, if it fails, filled it.
            match slot.compare_exchange(empty, full, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    Self::pass(&self.tail, tail);
                    return Ok(());
                }
                Err(found) => {
                    let found = Word::from_atomic(found);
                    let oldest = tail.wrapping_sub(self.capacity);
                    let taken = Word::empty(tail + self.capacity);
                    if found.is_full_at(tail) || found == taken {
                        // Another writer's, who has not moved the tail yet; it may have been
                        // taken since.
                        Self::pass(&self.tail, tail);
                    } else if found.is_full_at(oldest) {
                        // All from there to the tail were added, and that was not taken.
                        return Err(oldest);
                    }
                    // Else the tail has moved since.
                }
            }
        }
    }

    /// Takes the oldest entry, unless its position is after that one; or there is none.
    #[inline]
    fn take_up_to(&self, last: u64) -> Option<Taken> {
        loop {
            // Acquire: pairs with the release in `pass`; the place before it is seen empty.
            let position = self.head.0.load(Ordering::Acquire);
            if position > last {
                return None;
            }
            let slot = self.slot(position);
            // Acquire: pairs with the release of who emptied it.
            let word = slot.load(Ordering::Acquire);
            let found = Word::from_atomic(word);
            let later = position + self.capacity;
            let next = Word::empty(later);
            if found.is_full_at(position) {
                // Acquire: pairs with the release in `add`; the chunk is written. Release: pairs
                // with the acquire in `add`. Nothing of it was read before, so that a failure
                // needs no order.
                let taken = slot.compare_exchange(
                    word,
                    next.into_atomic(),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                if taken.is_ok() {
                    Self::pass(&self.head, position);
                    let chunk = found.chunk();
                    return Some(Taken { position, chunk });
                }
            } else if found == next || found.is_full_at(later) {
                // Another thread's, who has not moved the head yet; the place may have been
                // filled since.
                Self::pass(&self.head, position);
            } else if found == Word::empty(position) {
                return None;
            }
            // Else the head has moved since.
        }
    }

    /// Moves the head or the tail past a position that was taken or filled (E2).
    #[inline(always)]
    fn pass(end: &Position, position: u64) {
        let next = position + 1;
        // Release: pairs with the acquire of who reads it. Where it fails another thread has done
        // as much.
        let _ = (end.0).compare_exchange(position, next, Ordering::Release, Ordering::Relaxed);
    }

    /// Takes the oldest entry; O(1), lock-free. Its chunk is the ring's again once the frame is
    /// dropped; that of one that is forgotten is lost to the ring.
    ///
    /// ```
    /// # use flatslab::sync::bytes::SharedRing;
    /// let ring = SharedRing::with_capacity(2, 1500);
    /// ring.push(b"hello")?;
    /// assert_eq!(*ring.pop().unwrap(), *b"hello");
    /// assert!(ring.pop().is_none());
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<SharedFrame<'_>> {
        let taken = self.take()?;
        // SAFETY: taken just now.
        Some(unsafe { SharedFrame::new(self, taken) })
    }

    /// As [`pop`](Self::pop); the frame keeps the ring, and may go wherever it likes. One more
    /// exchange than that, for the count of the `Arc`, and one when it is dropped.
    ///
    /// ```
    /// # use flatslab::sync::bytes::SharedRing;
    /// use std::sync::Arc;
    ///
    /// let ring = Arc::new(SharedRing::with_capacity(2, 1500));
    /// ring.push(b"hello")?;
    /// let frame = ring.pop_owned().unwrap();
    /// drop(ring);
    /// std::thread::spawn(move || assert_eq!(*frame, *b"hello")).join().unwrap();
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[expect(clippy::disallowed_types, reason = "the `Arc` is the user's")]
    pub fn pop_owned(self: &alloc::sync::Arc<Self>) -> Option<OwnedFrame> {
        let taken = self.take()?;
        // SAFETY: taken just now.
        Some(unsafe { OwnedFrame::new(self.clone(), taken) })
    }

    /// The oldest entry.
    #[inline]
    fn take(&self) -> Option<Taken> {
        self.take_up_to(u64::MAX)
    }

    /// The bytes of an entry.
    ///
    /// # Safety
    ///
    /// It was taken from this ring, and not given back.
    #[inline]
    pub(super) unsafe fn bytes_of(&self, taken: &Taken) -> &[u8] {
        let place = self.place(taken.chunk);
        // SAFETY: an entry's chunk, and of the one who has it alone (E3): so many bytes are
        // written.
        unsafe { core::slice::from_raw_parts(place.bytes().as_ptr(), place.len()) }
    }

    /// Takes an entry's chunk back.
    ///
    /// # Safety
    ///
    /// It was taken from this ring, is given back once, and not used any more.
    #[inline]
    pub(super) unsafe fn give_back(&self, taken: &Taken) {
        // SAFETY: its chunk is no one's from now on (E3).
        unsafe { self.free.give(taken.chunk) };
    }

    /// How many entries there are; other threads may have changed that since.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::SharedRing::with_capacity(2, 1500).len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Relaxed: a figure.
        let head = self.head.0.load(Ordering::Relaxed);
        let len = self.pushed().saturating_sub(head);
        len.min(self.capacity) as usize
    }

    /// Whether there is none.
    ///
    /// ```
    /// assert!(flatslab::sync::bytes::SharedRing::with_capacity(2, 1500).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries there are at most.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::SharedRing::with_capacity(2, 1500).capacity(), 2);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// The most bytes of an entry.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::SharedRing::with_capacity(2, 1500).max_len(), 1500);
    /// ```
    #[inline]
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.places.max_len()
    }

    /// How many entries were pushed since the ring was made.
    ///
    /// ```
    /// assert_eq!(flatslab::sync::bytes::SharedRing::with_capacity(2, 1500).pushed(), 0);
    /// ```
    #[must_use]
    pub fn pushed(&self) -> u64 {
        // Relaxed: a figure.
        self.tail.0.load(Ordering::Relaxed)
    }

    /// Chunks that no entry, frame or writer has; exact while no thread uses the ring.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::builder().entries(2).in_flight(3).build();
    /// assert_eq!(ring.free_chunks(), 2 + 3 + 2 * 2);
    /// ```
    #[must_use]
    pub fn free_chunks(&self) -> usize {
        self.free.count()
    }

    /// What memory was obtained.
    ///
    /// ```
    /// let ring = flatslab::sync::bytes::SharedRing::with_capacity(2, 1500);
    /// assert!(ring.memory().bytes() >= 2 * 1500);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.block.layout().size() + self.free.bytes();
        Report::new(bytes, self.block.source())
    }

    /// Pushes no bytes and stops before the tail is moved.
    #[cfg(all(test, not(loom)))]
    pub(super) fn push_and_stop(&self) {
        let (tail, chunk) = (self.tail(), self.free.take().unwrap());
        // SAFETY: taken just now (E3).
        unsafe { self.place(chunk).fill(&[]) };
        let word = Word::full(tail, chunk).into_atomic();
        let before = self.slot(tail).swap(word, Ordering::AcqRel);
        assert!(Word::from_atomic(before) == Word::empty(tail));
    }

    /// Takes the oldest entry and stops before the head is moved.
    #[cfg(all(test, not(loom)))]
    pub(super) fn pop_and_stop(&self) -> SharedFrame<'_> {
        let position = self.head.0.load(Ordering::Acquire);
        let next = Word::empty(position + self.capacity).into_atomic();
        let found = Word::from_atomic(self.slot(position).swap(next, Ordering::AcqRel));
        assert!(found.is_full_at(position));
        let chunk = found.chunk();
        // SAFETY: taken just now.
        unsafe { SharedFrame::new(self, Taken { position, chunk }) }
    }

    /// Where the bytes of the first chunk begin.
    #[cfg(all(test, loom))]
    pub(super) fn first_chunk(&self) -> *const u8 {
        self.place(0).bytes().as_ptr()
    }

    #[cold]
    fn too_big(&self, size: usize) -> RequestError {
        let largest = self.max_len();
        RequestError::TooBig { size, largest }
    }
}

#[cold]
fn exhausted(bytes: usize) -> RequestError {
    RequestError::Exhausted(AllocError::Limit { bytes })
}

/// Its numbers.
impl fmt::Debug for SharedRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRing")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("pushed", &self.pushed())
            .finish_non_exhaustive()
    }
}

impl core::panic::UnwindSafe for SharedRing {}
impl core::panic::RefUnwindSafe for SharedRing {}
