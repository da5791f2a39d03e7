//! The memory of an arena: chunks, each taken from both ends.
//!
//! Short values and copies are taken from the high end, which moves down. What is long, what
//! may grow where it stands, and what is filled step by step is taken from the low end,
//! which moves up and is kept a multiple of 8. To move down takes one instruction less, for
//! an end is aligned by rounding down; and it wastes nothing: a `u8` takes a byte. Long
//! copies run upwards, and are faster where they follow each other upwards.
//!
//! Chunks are kept when the arena is reset, in the order in which they were used; a frame
//! that repeats finds each chunk where it found it before, and calls no allocator.
//!
//! A request that the next chunk has no room for gets one of its own, a *large* one, and
//! the current chunk stays current. So one large request neither wastes what is left of a
//! chunk nor drives the doubling of chunks.
//!
//! # Invariants
//!
//! * B1: `low <= high`, and `low` is a multiple of 8; both have the provenance of the
//!   current chunk, and what lies between is that chunk's and was not handed out since the
//!   last reset or rewind. Without a current chunk both are equal and dangling.
//! * B2: `high` is at least [`SMALL`], so that to subtract a [`SMALL`] size from it does
//!   not wrap.
//! * B3: chunks are linked from `first` on through `next`; those up to the current one
//!   are in use. Large chunks are linked from `large.first` on; those up to `large.last`
//!   are in use. Each is a block of `source` of the layout in its header.
//! * B4: no user code runs in this file but that of a source of memory.
//! * B5: a request meets the same chunk, and the same place in it, whether the chunks
//!   after the current one were there already or are allocated: a frame that repeats
//!   calls no allocator. So a chunk that is there is passed over where one that was
//!   allocated would have been too small, and the first chunk is not left before
//!   something was taken of it, and what is taken of a new chunk is taken from the end that
//!   it is taken from in one that is there. Of the large chunks the smallest is taken that
//!   has room wherever it lies. `reserve` in the midst of a frame is the exception: its
//!   chunk is met, in the next frame, by what was taken before the reserve.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::list::{Chunk, HEADER, Link, List, STEP, fits, skipped, stepped};
use super::refusal::Refusal;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// Requests of at most so many bytes, alignment included, need no test for overflow.
const SMALL: usize = 1 << 16;

/// Bytes of the first chunk with its header, unless more is asked for: a page, less what
/// common allocators note with a block.
const FIRST_CHUNK: usize = 4096 - 64;

/// Chunks double up to this: beyond, to double would leave much memory unused.
const LARGEST_CHUNK: usize = 1 << 26;

/// An end of what is free of a chunk.
#[derive(Clone, Copy)]
pub(super) enum End {
    Low,
    /// For what is [`SMALL`].
    High,
}

/// Where an arena stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    low: NonNull<u8>,
    high: NonNull<u8>,
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
    low: Cell<NonNull<u8>>,
    high: Cell<NonNull<u8>>,
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

/// Where both ends are without a chunk: a multiple of 8 (B1), and high enough (B2).
const NOWHERE: NonNull<u8> = match NonNull::new(core::ptr::without_provenance_mut(SMALL)) {
    Some(nowhere) => nowhere,
    None => unreachable!(),
};

impl Chunks {
    /// An arena that has allocated nothing.
    pub(super) const fn new(source: Source) -> Self {
        Chunks {
            low: Cell::new(NOWHERE),
            high: Cell::new(NOWHERE),
            chunks: List::new(),
            large: List::new(),
            next_bytes: Cell::new(FIRST_CHUNK),
            bytes: Cell::new(0),
            max_bytes: Cell::new(usize::MAX),
            source,
        }
    }

    /// Memory of that layout, whose size is not 0, from the low end.
    ///
    /// # Errors
    ///
    /// When the source refuses, or the limit is reached: what `F` makes of it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn take_low<F: Refusal>(&self, layout: Layout) -> Result<NonNull<u8>, F::Error> {
        match self.take_low_here(layout) {
            Some(place) => Ok(place),
            None => self.take_elsewhere::<F>(End::Low, layout),
        }
    }

    /// From the current chunk.
    #[inline(always)]
    fn take_low_here(&self, layout: Layout) -> Option<NonNull<u8>> {
        let low = self.low.get();
        // By B1 nothing is skipped for an alignment of 8.
        let skipped = match layout.align() {
            ..=STEP => 0,
            _ => skipped(low, layout),
        };
        let room = self.remaining();
        if skipped > room || stepped(layout.size()) > room - skipped {
            rarely();
            return None;
        }
        // SAFETY: the chunk has that many bytes from there on, as just compared.
        unsafe {
            let place = low.add(skipped);
            self.low.set(place.add(stepped(layout.size())));
            Some(place)
        }
    }

    /// Memory of that layout, which is [`SMALL`], at the high end. That does not move before
    /// [`commit`](Self::commit): to move it after a short value is written is what
    /// processors want, see [`WRITTEN_FIRST`](super::place::WRITTEN_FIRST).
    #[inline(always)]
    pub(super) fn find(&self, layout: Layout) -> Option<NonNull<u8>> {
        debug_assert!(layout.size() + layout.align() <= SMALL);
        let high = self.high.get();
        // By B2 this does not wrap.
        let place = (high.addr().get() - layout.size()) & !(layout.align() - 1);
        if place < self.low.get().addr().get() {
            rarely();
            return None;
        }
        // SAFETY: not below the low end, as just compared, so the chunk's (B1).
        Some(unsafe { high.sub(high.addr().get() - place) })
    }

    /// Moves the high end down to memory that was found. No request, and no user code, was
    /// in between (A1).
    #[inline(always)]
    pub(super) fn commit(&self, place: NonNull<u8>) {
        self.high.set(place);
    }

    /// From another chunk than the current one.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn take_elsewhere<F: Refusal>(
        &self,
        from: End,
        layout: Layout,
    ) -> Result<NonNull<u8>, F::Error> {
        match self.take_next(from, layout) {
            Ok(place) => Ok(place),
            Err(error) => Err(F::refuse(error)),
        }
    }

    /// From the next chunk, or one that is allocated.
    ///
    /// # Errors
    ///
    /// When the source refuses, or the limit is reached.
    fn take_next(&self, from: End, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // As it was when there was no chunk (B5).
        if self.is_at_the_start() {
            return self.take_large(layout);
        }
        let next = match self.chunks.unused().get() {
            Some(chunk) => chunk,
            None => match self.chunk_for(layout) {
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
        let place = match from {
            End::Low => self.take_low_here(layout),
            End::High => self.find(layout).inspect(|place| self.commit(*place)),
        };
        // A chunk has room for such a layout at both ends, or at none.
        place.ok_or(AllocError::Limit {
            bytes: layout.size(),
        })
    }

    /// Makes a chunk, the next or the last one in use, the current one; the first is
    /// next if there is none.
    fn enter(&self, chunk: Link) {
        self.chunks.last.set(chunk);
        // SAFETY: by B3 it is there.
        let (start, end) =
            chunk.map_or((NOWHERE, NOWHERE), |chunk| unsafe { Chunk::bounds(chunk) });
        self.low.set(start);
        self.high.set(end);
    }

    /// Whether nothing is taken of the first chunk, and it is the current one.
    fn is_at_the_start(&self) -> bool {
        let current = self.chunks.last.get();
        let unused = (self.low.get(), self.high.get());
        current == self.chunks.first.get()
            // SAFETY: by B3 it is there.
            && current.is_some_and(|it| unsafe { Chunk::bounds(it) } == unused)
    }

    /// The bytes of a chunk for this request, of the usual size or what the limit leaves
    /// of it; `None` if it has no room for it. Whether what is skipped for the alignment
    /// fits too is seen when the chunk is there (B5).
    fn chunk_for(&self, layout: Layout) -> Option<usize> {
        let left = self.max_bytes.get().saturating_sub(self.bytes.get());
        let bytes = self.next_bytes.get().min(left / STEP * STEP);
        let needed = HEADER.checked_add(layout.size())?;
        (needed <= bytes).then_some(bytes)
    }

    /// Memory in a chunk of its own.
    fn take_large(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let needed = Chunk::layout_for(layout.size(), layout)?.size();
        let mut link = self.large.unused();
        let mut best: Option<(&Cell<Link>, NonNull<Chunk>, usize)> = None;
        while let Some(chunk) = link.get() {
            // SAFETY: by B3 it is there.
            let it = unsafe { &*chunk.as_ptr() };
            let bytes = it.layout.size();
            // Not whether it fits where this one happens to lie (B5).
            if bytes >= needed && best.is_none_or(|(.., least)| bytes < least) {
                best = Some((link, chunk, bytes));
            }
            link = &it.next;
        }
        let chunk = match best {
            Some((link, chunk, _)) => {
                // SAFETY: by B3 it is there.
                link.set(unsafe { chunk.as_ref() }.next.get());
                chunk
            }
            None => self.allocate(layout.size(), layout)?,
        };
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
        let layout = Chunk::layout_for(room, layout)?;
        let bytes = layout.size();
        let passes = || bytes > self.max_bytes.get().saturating_sub(self.bytes.get());
        if passes() {
            return Err(AllocError::Limit { bytes });
        }
        // A source may run code that uses this arena: from here on all is read again.
        let block = Block::allocate(layout, &self.source)?;
        if passes() {
            return Err(AllocError::Limit { bytes });
        }
        if block.start().addr().get() < SMALL {
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
        fits(self.low.get(), self.high.get(), layout)
    }

    /// Makes sure that so many bytes can be taken, one after the other, without an
    /// allocation.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), AllocError> {
        let too_many = AllocError::TooManyBytes {
            slots: 1,
            slot_bytes: bytes,
        };
        let layout = Layout::from_size_align(bytes, STEP).map_err(|_| too_many)?;
        let next = self.chunks.unused().get().filter(|chunk| {
            // SAFETY: by B3 it is there.
            let (start, end) = unsafe { Chunk::bounds(*chunk) };
            fits(start, end, layout)
        });
        if self.has_room(layout) {
            return Ok(());
        }
        let chunk = match next {
            Some(chunk) => chunk,
            None => {
                let chunk = self.allocate(bytes.max(self.next_bytes.get() - HEADER), layout)?;
                self.chunks.insert(chunk);
                chunk
            }
        };
        // Without a current chunk there is no room to be seen. The first chunk is not left
        // at its start, to which it comes back when what is taken of it is given back.
        let current = self.chunks.last.get();
        if current.is_none() || current == self.chunks.first.get() {
            self.enter(Some(chunk));
        }
        Ok(())
    }

    /// Makes the chunk that is to be the only one, of so many bytes, touched.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    pub(super) fn bound(&self, bytes: usize) -> Result<(), AllocError> {
        if bytes > 0 {
            let chunk = self.allocate(bytes, Layout::new::<Chunk>())?;
            self.chunks.insert(chunk);
            self.enter(Some(chunk));
            // SAFETY: between these nothing is in use (B1).
            unsafe { touch(self.low.get(), 0, self.remaining()) };
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
        self.next_bytes.set(bytes.next_multiple_of(STEP));
    }

    /// Where the arena stands.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            low: self.low.get(),
            high: self.high.get(),
            current: self.chunks.last.get(),
            large: self.large.last.get(),
        }
    }

    /// Panics where it can be seen that a mark is not one to rewind to.
    #[cfg(debug_assertions)]
    pub(super) fn check_mark(&self, mark: Mark) {
        let in_use = |list: &List, chunk: Link| {
            let Some(last) = list.last.get() else {
                return chunk.is_none();
            };
            let before_last = list.iter().take_while(|&it| it != last);
            chunk.is_none_or(|chunk| before_last.chain([last]).any(|it| it == chunk))
        };
        assert!(
            in_use(&self.chunks, mark.current) && in_use(&self.large, mark.large),
            "a checkpoint of another arena, or of memory that was made free since"
        );
        assert!(
            mark.current != self.chunks.last.get()
                || mark.low <= self.low.get() && mark.high >= self.high.get(),
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
            self.low.set(mark.low);
            self.high.set(mark.high);
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

    /// Takes back what was taken from the low end if nothing else was taken there since, in a
    /// chunk that is the current one still.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of that size, and is not used any more.
    pub(super) unsafe fn take_back(&self, place: NonNull<u8>, size: usize) {
        if self.is_last(place, size) {
            // From the end, and not from the caller's pointer (B1).
            // SAFETY: `place` is so many bytes below, in the current chunk.
            self.low.set(unsafe { self.low.get().sub(stepped(size)) });
        }
    }

    /// Whether this ends at the low end.
    fn is_last(&self, place: NonNull<u8>, size: usize) -> bool {
        let Some(chunk) = self.chunks.last.get() else {
            return false;
        };
        let end = place.addr().get() + stepped(size);
        end == self.low.get().addr().get() && place.addr() > chunk.addr()
    }

    /// Changes the size of what was taken from the low end where it stands, if that is
    /// possible: nothing was taken there since, and there is room. Returns the same place, valid
    /// for the new size: the caller's pointer may be valid for the old size alone.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of size `old`, or changed to it. The memory
    /// past `new` is not used any more.
    #[inline]
    pub(super) unsafe fn resize(
        &self,
        place: NonNull<u8>,
        old: usize,
        new: usize,
    ) -> Option<NonNull<u8>> {
        let room = || self.high.get().addr().get() - place.addr().get();
        if !self.is_last(place, old) || new > room() || stepped(new) > room() {
            return None;
        }
        // From the end, and not from the caller's pointer (B1).
        // SAFETY: both lie in the current chunk.
        unsafe {
            let start = self.low.get().sub(stepped(old));
            self.low.set(start.add(stepped(new)));
            Some(start)
        }
    }

    /// Bytes left in the current chunk.
    #[inline(always)]
    pub(super) fn remaining(&self) -> usize {
        // By B1 this does not wrap.
        self.high.get().addr().get() - self.low.get().addr().get()
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
        let (low, high) = (self.low.get(), self.high.get());
        assert!(low <= high, "B1: the order");
        assert!(low.addr().get() % STEP == 0, "B1: a multiple of 8");
        assert!(high.addr().get() >= SMALL, "B2: the high end");
        match self.chunks.last.get() {
            None => assert!(low == high && high == NOWHERE, "B1: nowhere"),
            Some(current) => {
                // SAFETY: by B3 it is there.
                let (first, last) = unsafe { Chunk::bounds(current) };
                assert!(first <= low && high <= last, "B1: the current chunk");
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

/// Has the compiler lay the branch that calls this behind the others. That a branch ends in
/// a call of a cold function is not enough: the hot one is jumped to then, in a loop of
/// allocations, which takes up to 1.9 times as long.
#[cold]
#[inline(always)]
fn rarely() {}
