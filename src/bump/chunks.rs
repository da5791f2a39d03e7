//! The memory of an arena: a position that moves up through chunks.
//!
//! The position is kept a multiple of 8, so that values of that alignment or less need
//! no mask: `alloc::<u64>` is six instructions. A value that would not fill its multiple
//! of 8, a `u8` or 13 bytes, is taken from the end of the chunk instead, which moves down
//! and is as aligned as that value needs it: padded, a `u8` in a fresh arena takes 1.3
//! times as long, for eight times the cache. Chunks are kept when the arena is reset,
//! in the order in which they were used; a frame that repeats finds each chunk where it
//! found it before, and calls no allocator.
//!
//! A request that the next chunk has no room for gets one of its own, a *large* one, and
//! the position stays where it is. So one large request neither wastes what is left of a
//! chunk nor drives the doubling of chunks.
//!
//! # Invariants
//!
//! * B1: `position <= end`, and `position` is a multiple of 8, both with the provenance of
//!   the current chunk; what lies between is that chunk's and was not handed out since
//!   the last reset or rewind. Without a current chunk both are equal and dangling.
//! * B2: `end` is at most [`LAST_END`], and `position` at least [`SMALL`], so that to add a
//!   [`SMALL`] size to a position, or to subtract it from an end, does not wrap.
//! * B3: chunks are linked from `first` on through `next`; those up to the current one
//!   are in use. Large chunks are linked from `large.first` on; those up to `large.last`
//!   are in use. Each is a block of `source` of the layout in its header.
//! * B4: no user code runs in this file.

use core::alloc::Layout;
use core::cell::Cell;
use core::convert::Infallible;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// What the position is a multiple of.
pub(super) const STEP: usize = 8;

/// Requests of at most so many bytes, alignment included, need no test for overflow.
pub(super) const SMALL: usize = 1 << 16;

/// The highest end of a chunk.
const LAST_END: usize = usize::MAX - SMALL;

/// Bytes of the first chunk with its header, unless more is asked for: a page, less what
/// common allocators note with a block.
const FIRST_CHUNK: usize = 4096 - 64;

/// Chunks double up to this: beyond, to double would leave much memory unused.
const LARGEST_CHUNK: usize = 1 << 26;

/// What a chunk begins with. A cache line, so that values of 64 bytes fill one each: 32
/// bytes further on, where each lies in two, they take 1.5 times as long in warm frames.
#[repr(C, align(64))]
struct Chunk {
    next: Cell<Link>,
    /// Of the whole block.
    layout: Layout,
}

type Link = Option<NonNull<Chunk>>;

const HEADER: usize = size_of::<Chunk>();

impl Chunk {
    /// The first byte for requests, and one past the last.
    ///
    /// # Safety
    ///
    /// The chunk is there.
    unsafe fn bounds(chunk: NonNull<Chunk>) -> (NonNull<u8>, NonNull<u8>) {
        // SAFETY: says the caller; the block is longer than its header.
        unsafe {
            let bytes = chunk.as_ref().layout.size();
            (chunk.cast().add(HEADER), chunk.cast().add(bytes))
        }
    }
}

/// A list of chunks, of which the first ones are in use.
struct List {
    first: Cell<Link>,
    /// The last one in use.
    last: Cell<Link>,
}

impl List {
    const fn new() -> Self {
        List {
            first: Cell::new(None),
            last: Cell::new(None),
        }
    }

    /// Where the link to the first chunk that is not in use stands.
    fn unused(&self) -> &Cell<Link> {
        match self.last.get() {
            None => &self.first,
            // SAFETY: by B3 the chunk is there as long as the list.
            Some(chunk) => unsafe { &(*chunk.as_ptr()).next },
        }
    }

    /// Puts a chunk after those in use.
    fn insert(&self, chunk: NonNull<Chunk>) {
        let link = self.unused();
        // SAFETY: the chunk is there, says B3.
        unsafe { chunk.as_ref() }.next.set(link.get());
        link.set(Some(chunk));
    }

    fn iter(&self) -> impl Iterator<Item = NonNull<Chunk>> {
        // SAFETY: by B3 each chunk that is met is there.
        core::iter::successors(self.first.get(), |chunk| unsafe {
            chunk.as_ref().next.get()
        })
    }
}

/// What becomes of a request that is refused. A type, so that the call that may refuse
/// returns in a register what its caller needs, and the rest of the function needs no
/// stack.
pub(super) trait Refusal {
    type Error;

    /// From another chunk than the current one.
    #[track_caller]
    fn take(chunks: &Chunks, layout: Layout) -> Result<NonNull<u8>, Self::Error>;

    #[track_caller]
    fn refuse(error: AllocError) -> Self::Error;
}

/// The program ends, or panics.
pub(super) struct Fails;

impl Refusal for Fails {
    type Error = Infallible;

    #[cold]
    #[inline(never)]
    fn take(chunks: &Chunks, layout: Layout) -> Result<NonNull<u8>, Infallible> {
        chunks
            .take_elsewhere(layout)
            .map_err(|error| memory::fail(error))
    }

    #[cold]
    fn refuse(error: AllocError) -> Infallible {
        memory::fail(error)
    }
}

/// The caller learns that, and not why.
pub(super) struct Refuses;

impl Refusal for Refuses {
    type Error = ();

    #[cold]
    #[inline(never)]
    fn take(chunks: &Chunks, layout: Layout) -> Result<NonNull<u8>, ()> {
        chunks.take_elsewhere(layout).map_err(drop)
    }

    #[cold]
    fn refuse(_: AllocError) {}
}

/// The caller learns why.
pub(super) struct Explains;

impl Refusal for Explains {
    type Error = AllocError;

    #[cold]
    #[inline(never)]
    fn take(chunks: &Chunks, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        chunks.take_elsewhere(layout)
    }

    #[cold]
    fn refuse(error: AllocError) -> AllocError {
        error
    }
}

/// Memory that was found, and where the position is to stand after it.
#[must_use = "found, and not taken"]
pub(super) struct Room {
    pub(super) place: NonNull<u8>,
    next: NonNull<u8>,
}

/// Where an arena stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    position: NonNull<u8>,
    end: NonNull<u8>,
    current: Link,
    large: Link,
}

/// The memory of an arena.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct Chunks {
    position: Cell<NonNull<u8>>,
    end: Cell<NonNull<u8>>,
    /// The current chunk is the last one in use.
    chunks: List,
    large: List,
    /// Bytes of the next chunk with its header.
    next_bytes: Cell<usize>,
    /// Bytes of all chunks with their headers, and the most there may be.
    bytes: Cell<usize>,
    max_bytes: Cell<usize>,
    source: Source,
}

/// Where the position of an arena without a chunk stands.
const NOWHERE: NonNull<u8> = match NonNull::new(core::ptr::without_provenance_mut(SMALL)) {
    Some(nowhere) => nowhere,
    None => unreachable!(),
};

impl Chunks {
    /// An arena that has allocated nothing.
    pub(super) const fn new(source: Source) -> Self {
        Chunks {
            position: Cell::new(NOWHERE),
            end: Cell::new(NOWHERE),
            chunks: List::new(),
            large: List::new(),
            next_bytes: Cell::new(FIRST_CHUNK),
            bytes: Cell::new(0),
            max_bytes: Cell::new(usize::MAX),
            source,
        }
    }

    /// Memory for a value of `T`, which has a size.
    ///
    /// # Errors
    ///
    /// When the source refuses, or the limit is reached: what `F` makes of it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn take_value<T, F: Refusal>(&self) -> Result<NonNull<T>, F::Error> {
        if let Some(room) = self.find_value::<T>() {
            let place = room.place.cast();
            self.commit(room);
            return Ok(place);
        }
        self.take_elsewhere_value::<T, F>()
    }

    /// From another chunk than the current one.
    ///
    /// # Errors
    ///
    /// As for [`take_value`](Self::take_value).
    #[inline(always)]
    #[track_caller]
    pub(super) fn take_elsewhere_value<T, F: Refusal>(&self) -> Result<NonNull<T>, F::Error> {
        rarely(|| F::take(self, const { Layout::new::<T>() })).map(NonNull::cast)
    }

    /// Memory of that layout.
    ///
    /// # Errors
    ///
    /// As for [`take_value`](Self::take_value).
    #[inline(always)]
    #[track_caller]
    pub(super) fn take<F: Refusal>(&self, layout: Layout) -> Result<NonNull<u8>, F::Error> {
        let room = self.find::<F>(layout)?;
        let place = room.place;
        self.commit(room);
        Ok(place)
    }

    /// Memory for a value of `T` in the current chunk; the position does not move before
    /// [`commit`](Self::commit): to move it after a short value is written is what
    /// processors want, see [`WRITTEN_FIRST`](super::place::WRITTEN_FIRST).
    #[inline(always)]
    pub(super) fn find_value<T>(&self) -> Option<Room> {
        let layout = const { Layout::new::<T>() };
        if const { size_of::<T>() + align_of::<T>() <= SMALL } {
            self.find_here::<true>(layout)
        } else {
            self.find_here::<false>(layout)
        }
    }

    /// Memory of that layout, from the current chunk or another; the position does not move
    /// before [`commit`](Self::commit).
    ///
    /// # Errors
    ///
    /// As for [`take_value`](Self::take_value).
    #[inline(always)]
    #[track_caller]
    pub(super) fn find<F: Refusal>(&self, layout: Layout) -> Result<Room, F::Error> {
        match self.find_here::<false>(layout) {
            Some(room) => Ok(room),
            // Taken already: the position stays where it is now.
            None => rarely(|| F::take(self, layout)).map(|place| Room {
                place,
                next: self.position.get(),
            }),
        }
    }

    /// Moves the position past memory that was found. No request, and no user code, was
    /// in between (A1).
    #[inline(always)]
    pub(super) fn commit(&self, room: Room) {
        self.position.set(room.next);
    }

    /// Memory for a value of `T` at the end of the current chunk, which does not move before
    /// [`commit_at_end`](Self::commit_at_end). Size and alignment are [`SMALL`] together.
    #[inline(always)]
    pub(super) fn find_at_end<T>(&self) -> Option<NonNull<T>> {
        debug_assert!(size_of::<T>() + align_of::<T>() <= SMALL);
        let end = self.end.get();
        // By B2 the difference does not wrap.
        let place = (end.addr().get() - size_of::<T>()) & !(align_of::<T>() - 1);
        if place < self.position.get().addr().get() {
            return None;
        }
        // SAFETY: not below the position, as just compared, so in the chunk (B1).
        Some(unsafe { end.sub(end.addr().get() - place) }.cast())
    }

    /// Moves the end before memory that was found there; otherwise as
    /// [`commit`](Self::commit).
    #[inline(always)]
    pub(super) fn commit_at_end(&self, place: NonNull<u8>) {
        self.end.set(place);
    }

    /// In the current chunk. Size and alignment are [`SMALL`] together if it says so.
    #[inline(always)]
    fn find_here<const IS_SMALL: bool>(&self, layout: Layout) -> Option<Room> {
        let position = self.position.get();
        let (size, align) = (layout.size(), layout.align());
        let skipped = if align <= STEP {
            0
        } else {
            position.addr().get().wrapping_neg() & (align - 1)
        };
        let end = self.end.get().addr().get();
        let fits = if IS_SMALL {
            // By B2 the sum does not wrap.
            position.addr().get() + (skipped + stepped(size)) <= end
        } else {
            // By B1 the position does not pass the end.
            let room = end - position.addr().get();
            skipped <= room && stepped(size) <= room - skipped
        };
        if !fits {
            return None;
        }
        // SAFETY: the chunk has that many bytes from the position on, as just compared.
        unsafe {
            let place = position.add(skipped);
            let next = place.add(stepped(size));
            Some(Room { place, next })
        }
    }

    /// From the next chunk, or one that is allocated.
    ///
    /// # Errors
    ///
    /// When the source refuses, or the limit is reached.
    fn take_elsewhere(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let next = match self.chunks.unused().get() {
            Some(chunk) => chunk,
            None => match self.chunk_for(layout, self.next_bytes.get()) {
                Some(bytes) => self.add_chunk(bytes, layout)?,
                None => return self.take_large(layout),
            },
        };
        // SAFETY: by B3 it is there.
        let (start, end) = unsafe { Chunk::bounds(next) };
        if !fits(start, end, layout) {
            return self.take_large(layout);
        }
        self.enter(Some(next));
        let room = self.find_here::<false>(layout).ok_or(AllocError::Limit {
            bytes: layout.size(),
        })?;
        let place = room.place;
        self.commit(room);
        Ok(place)
    }

    /// Makes a chunk, the next or the last one in use, the current one; the first is
    /// next if there is none.
    fn enter(&self, chunk: Link) {
        self.chunks.last.set(chunk);
        // SAFETY: by B3 it is there.
        let (start, end) =
            chunk.map_or((NOWHERE, NOWHERE), |chunk| unsafe { Chunk::bounds(chunk) });
        self.position.set(start);
        self.end.set(end);
    }

    /// The bytes of a chunk for this request, of the usual size; `None` if it has no
    /// room for it.
    fn chunk_for(&self, layout: Layout, bytes: usize) -> Option<usize> {
        // No chunk is aligned to less than this.
        let skipped = layout.align().saturating_sub(align_of::<Chunk>());
        let needed = HEADER.checked_add(skipped)?.checked_add(layout.size())?;
        (needed <= bytes).then_some(bytes)
    }

    /// Memory in a chunk of its own.
    fn take_large(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let mut link = self.large.unused();
        while let Some(chunk) = link.get() {
            // SAFETY: by B3 it is there.
            let (it, (start, end)) = unsafe { (&*chunk.as_ptr(), Chunk::bounds(chunk)) };
            if fits(start, end, layout) {
                link.set(it.next.get());
                return Ok(self.enter_large(chunk, layout));
            }
            link = &it.next;
        }
        let chunk = self.allocate(layout.size(), layout)?;
        Ok(self.enter_large(chunk, layout))
    }

    /// Memory from a large chunk that is on no list and has room for it.
    fn enter_large(&self, chunk: NonNull<Chunk>, layout: Layout) -> NonNull<u8> {
        self.large.insert(chunk);
        self.large.last.set(Some(chunk));
        // SAFETY: by B3 it is there, and has room for the request, says the caller.
        unsafe {
            let (start, _) = Chunk::bounds(chunk);
            start.add(skipped(start, layout))
        }
    }

    /// A chunk of so many bytes, or, where the source refuses them, as large as the
    /// request needs it; next in the list.
    fn add_chunk(&self, bytes: usize, layout: Layout) -> Result<NonNull<Chunk>, AllocError> {
        let chunk = match self.allocate(bytes - HEADER, Layout::new::<u64>()) {
            Ok(chunk) => {
                let next = bytes.saturating_mul(2).min(LARGEST_CHUNK).max(bytes);
                self.next_bytes.set(next);
                chunk
            }
            Err(_) => self.allocate(layout.size(), layout)?,
        };
        self.chunks.insert(chunk);
        Ok(chunk)
    }

    /// A chunk with room for `room` bytes, and for that layout; on no list.
    fn allocate(&self, room: usize, layout: Layout) -> Result<NonNull<Chunk>, AllocError> {
        let align = layout.align().max(align_of::<Chunk>());
        // What the header does not fill of the first multiple of the alignment.
        let skipped = align - HEADER.min(align);
        let bytes = HEADER
            .checked_add(skipped)
            .and_then(|bytes| bytes.checked_add(room))
            .and_then(|bytes| bytes.checked_next_multiple_of(STEP));
        let too_many = AllocError::TooManyBytes {
            slots: 1,
            slot_bytes: layout.size(),
        };
        let layout = bytes
            .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
            .ok_or(too_many)?;
        let bytes = layout.size();
        if bytes > self.max_bytes.get().saturating_sub(self.bytes.get()) {
            return Err(AllocError::Limit { bytes });
        }
        // A source may run code that uses this arena: from here on all is read again.
        let block = Block::allocate(layout, &self.source)?;
        let start = block.start().addr().get();
        if start > LAST_END - bytes || start < SMALL {
            return Err(AllocError::OutOfMemory { bytes });
        }
        self.bytes.set(self.bytes.get() + bytes);
        let chunk = block.leak_start().cast::<Chunk>();
        let header = Chunk {
            next: Cell::new(None),
            layout,
        };
        // SAFETY: the block begins with room for a header, and is aligned for it.
        unsafe { chunk.write(header) };
        Ok(chunk)
    }

    /// Whether the next request is met without an allocation.
    pub(super) fn has_room(&self, layout: Layout) -> bool {
        fits(self.position.get(), self.end.get(), layout)
    }

    /// Makes sure that so many bytes can be taken, one after the other, without an
    /// allocation.
    ///
    /// # Errors
    ///
    /// As for [`take_value`](Self::take_value).
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), AllocError> {
        let too_many = AllocError::TooManyBytes {
            slots: 1,
            slot_bytes: bytes,
        };
        let layout = Layout::from_size_align(bytes, STEP).map_err(|_| too_many)?;
        // SAFETY: by B3 the next chunk is there.
        let next = (self.chunks.unused().get()).map(|chunk| unsafe { Chunk::bounds(chunk) });
        if self.has_room(layout) || next.is_some_and(|(start, end)| fits(start, end, layout)) {
            return Ok(());
        }
        let chunk = self.allocate(bytes.max(self.next_bytes.get() - HEADER), layout)?;
        self.chunks.insert(chunk);
        Ok(())
    }

    /// Makes the chunk that is to be the only one, of so many bytes, touched.
    ///
    /// # Errors
    ///
    /// As for [`take_value`](Self::take_value).
    pub(super) fn bound(&self, bytes: usize) -> Result<(), AllocError> {
        if bytes > 0 {
            let chunk = self.allocate(bytes, Layout::new::<Chunk>())?;
            self.chunks.insert(chunk);
            self.enter(Some(chunk));
            // SAFETY: between these nothing is in use (B1).
            unsafe { touch(self.position.get(), 0, self.remaining()) };
        }
        self.max_bytes.set(0);
        Ok(())
    }

    /// The most bytes that all chunks may have together, with their headers; those that
    /// there are stay.
    pub(super) fn set_max_bytes(&self, bytes: usize) {
        self.max_bytes.set(bytes);
    }

    /// Bytes of the first chunk that is to be allocated.
    pub(super) fn set_next_bytes(&self, bytes: usize) {
        let bytes = bytes.clamp(HEADER + STEP, LARGEST_CHUNK);
        self.next_bytes.set(bytes);
    }

    /// Where the arena stands.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            position: self.position.get(),
            end: self.end.get(),
            current: self.chunks.last.get(),
            large: self.large.last.get(),
        }
    }

    /// Panics where it can be seen that a mark is not one to rewind to.
    #[cfg(debug_assertions)]
    pub(super) fn check_mark(&self, mark: Mark) {
        let in_use = |list: &List, chunk: Link| {
            let last = list.last.get();
            chunk.is_none()
                || list
                    .iter()
                    .take_while(|&it| Some(it) != last)
                    .chain(last)
                    .any(|it| Some(it) == chunk)
        };
        assert!(
            in_use(&self.chunks, mark.current) && in_use(&self.large, mark.large),
            "a checkpoint of another arena, or of memory that was made free since"
        );
        assert!(
            mark.current != self.chunks.last.get()
                || mark.position <= self.position.get() && mark.end >= self.end.get(),
            "a checkpoint of memory that was made free since"
        );
    }

    /// Makes all memory free that was taken since that mark; O(1). Chunks that were
    /// allocated since then stay, to be used again.
    ///
    /// # Safety
    ///
    /// The mark is this arena's; it was neither reset nor shrunk since then, nor rewound
    /// to an earlier mark. What was taken since then is not used any more.
    pub(super) unsafe fn rewind(&self, mark: Mark) {
        self.large.last.set(mark.large);
        self.enter(mark.current.or(self.chunks.first.get()));
        if mark.current.is_some() {
            self.position.set(mark.position);
            self.end.set(mark.end);
        }
    }

    /// Makes all memory free; O(1).
    ///
    /// # Safety
    ///
    /// What was taken is not used any more.
    pub(super) unsafe fn reset(&self) {
        self.large.last.set(None);
        self.enter(self.chunks.first.get());
    }

    /// Takes back what was taken last if nothing else was taken since, in a chunk that
    /// is the current one still.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of that size, and is not used any more.
    pub(super) unsafe fn take_back(&self, place: NonNull<u8>, size: usize) {
        if self.is_last(place, size) {
            self.position.set(place);
        }
    }

    /// Whether nothing was taken after this, in the chunk that is current.
    fn is_last(&self, place: NonNull<u8>, size: usize) -> bool {
        let Some(chunk) = self.chunks.last.get() else {
            return false;
        };
        let end = place.addr().get() + stepped(size);
        end == self.position.get().addr().get() && place.addr() > chunk.addr()
    }

    /// Changes the size of what was taken last where it stands, if that is possible:
    /// nothing was taken since, and there is room.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of size `old`, or changed to it. The memory
    /// past `new` is not used any more.
    #[inline]
    pub(super) unsafe fn resize(&self, place: NonNull<u8>, old: usize, new: usize) -> bool {
        let room = || self.end.get().addr().get() - place.addr().get();
        if !self.is_last(place, old) || stepped(new) > room() {
            return false;
        }
        // From the position, and not from the caller's pointer (B1).
        // SAFETY: both lie in the current chunk.
        unsafe {
            let start = self.position.get().sub(stepped(old));
            self.position.set(start.add(stepped(new)));
        }
        true
    }

    /// Bytes left in the current chunk.
    pub(super) fn remaining(&self) -> usize {
        self.end.get().addr().get() - self.position.get().addr().get()
    }

    /// Bytes of all chunks with their headers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// How many chunks there are, and the bytes of their headers.
    pub(super) fn count(&self) -> (usize, usize) {
        let count = self.chunks.iter().chain(self.large.iter()).count();
        (count, count * HEADER)
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Frees the chunks that are not in use.
    pub(super) fn shrink(&self) {
        for list in [&self.chunks, &self.large] {
            let mut next = list.unused().take();
            while let Some(chunk) = next {
                // SAFETY: by B3 it is there, and now on no list.
                next = unsafe { self.free(chunk) };
            }
        }
    }

    /// Frees a chunk that is on no list, and returns the one after it.
    ///
    /// # Safety
    ///
    /// It is there, and not used any more.
    unsafe fn free(&self, chunk: NonNull<Chunk>) -> Link {
        // SAFETY: leaked in `allocate`, with that layout, from that source.
        unsafe {
            let Chunk { next, layout } = chunk.read();
            self.bytes.set(self.bytes.get() - layout.size());
            drop(Block::from_start(chunk.cast(), layout, &self.source));
            next.get()
        }
    }

    /// Panics where B1 to B3 do not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        let (position, end) = (self.position.get(), self.end.get());
        assert!(position <= end, "B1: the order");
        assert!(position.addr().get() % STEP == 0, "B1: a multiple of 8");
        assert!(end.addr().get() <= LAST_END, "B2: the end");
        assert!(position.addr().get() >= SMALL, "B2: the position");
        match self.chunks.last.get() {
            None => assert!(position == end && end == NOWHERE, "B1: nowhere"),
            Some(current) => {
                // SAFETY: by B3 it is there.
                let (first, last) = unsafe { Chunk::bounds(current) };
                assert!(first <= position && end <= last, "B1: the current chunk");
                assert!(
                    self.chunks.iter().any(|chunk| chunk == current),
                    "B3: linked"
                );
            }
        }
        if let Some(last) = self.large.last.get() {
            assert!(self.large.iter().any(|chunk| chunk == last), "B3: linked");
        }
        let all = self.chunks.iter().chain(self.large.iter());
        // SAFETY: by B3 each is there.
        let bytes: usize = all
            .map(|chunk| unsafe { chunk.as_ref() }.layout.size())
            .sum();
        assert_eq!(bytes, self.bytes.get(), "the bytes");
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.chunks.last.set(None);
        self.large.last.set(None);
        self.shrink();
    }
}

/// Calls `f`, which lays its code out of the way: a cold call alone does not.
#[cold]
#[inline(always)]
#[track_caller]
fn rarely<T>(f: impl FnOnce() -> T) -> T {
    f()
}

/// A size, or the distance of two places, rounded up to what the position is a multiple of.
/// `next_multiple_of` tests for a remainder first: two instructions more.
#[inline(always)]
const fn stepped(size: usize) -> usize {
    // Sizes are `isize::MAX` at most.
    (size + (STEP - 1)) & !(STEP - 1)
}

/// Bytes to be skipped from `start` on.
fn skipped(start: NonNull<u8>, layout: Layout) -> usize {
    start.addr().get().wrapping_neg() & (layout.align() - 1)
}

/// Whether such a request fits between the two.
fn fits(start: NonNull<u8>, end: NonNull<u8>, layout: Layout) -> bool {
    let room = end.addr().get() - start.addr().get();
    let skipped = skipped(start, layout);
    skipped <= room && stepped(layout.size()) <= room - skipped
}
