//! The memory of an arena: chunks, each allocated from both ends.
//!
//! From the outside in: [`Chunks`] allocates, grows, frees and rewinds; [`List`] finds the chunk
//! for a request; [`Chunk`] is the header of a chunk. [`Refusal`] decides what a refused request
//! returns.
//!
//! Short values and copies are allocated from the high end, which moves down. Long ones, ones that
//! may grow in place, and ones that are filled step by step are allocated from the low end, which
//! moves up and stays a multiple of 8. Moving down takes one instruction less, because an end is
//! aligned by rounding down, and wastes nothing: a `u8` takes a byte. Long copies run upwards, and
//! are faster if each begins where the last one ended.
//!
//! A reset keeps the chunks, in the order in which they were added. Each is at least twice as large
//! as the one before it, and as large as the request it was added for. If the current chunk has no
//! room for a request, the first later chunk that is large enough becomes the current one. The
//! chunks in between are free again after the next reset. So requests of any size share chunks.
//!
//! It follows that there are few chunks (35 from 4 KiB to the end of the address space), and that
//! looking at all of them is quick. Memory is bounded too. A chunk is added if the rest of the last
//! one is too small for a request, or if the whole of it is. Either way the frame has taken more
//! than half of the new chunk, and the other chunks together are not larger than it. So all chunks
//! together have less than four times the bytes of the largest frame.
//!
//! Large requests once had chunks of their own, in a second list, and took the smallest one with
//! room. That needed fewer bytes, but each request had to walk over all of them: 16,000 requests of
//! 5,000 bytes took 50 ms, and in the next frame 4.9 s. If doubling stops at 64 MiB, single
//! allocations are bounded, but not the number of chunks.
//!
//! # Invariants
//!
//! * `ends-in-chunk`: `low <= high`, and `low` is a multiple of 8; both have the provenance of the
//!   current chunk, and what lies between is that chunk's and was not handed out since the last
//!   reset or rewind. Without a current chunk both are equal and dangling.
//! * `high-no-wrap`: `high` is at least [`SMALL`], so that subtracting a [`SMALL`] size from it
//!   does not wrap.
//! * `chunks-linked`: chunks are linked from `first` on through `next`. Those up to the current one
//!   are in use. Each is a block of `source` of the layout in its header. A request that is refused
//!   frees chunks that are not in use; so after each call of the source, links are read again.
//! * `sources-alone-run`: the only user code that runs in this file is that of a source of memory.
//! * `same-chunk-again`: a request meets the same chunk, and the same place in it, whether the
//!   later chunks existed already or are added. So a frame that repeats calls no allocator. The
//!   reasons: a chunk is added only at the end of the list, and only if no earlier one has room, so
//!   the first one with room is the same the next time. Whether a chunk has room depends on its
//!   size, and not on its address. And a request takes memory from the same end of a new chunk as
//!   of an existing one. Only a source that refuses can make the list longer than [`LOOKS`], past
//!   which chunks are added after the current one.
//! * `first-ends-kept`: `first_ends` are the first byte for requests and one past the last of the
//!   first chunk, or both [`NOWHERE`]. A reset reads them when the chunk's header is no longer in
//!   the caches: reading the header instead took two to three times as long.

use core::alloc::Layout;
use core::cell::Cell;
use core::convert::Infallible;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::{self, Block};
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// The low end is a multiple of this.
const STEP: usize = 8;

/// Requests of up to this many bytes, including their alignment, need no test for overflow.
const SMALL: usize = 1 << 16;

/// Bytes of the first chunk with its header, unless a request is larger: a page, less the
/// bytes that common allocators keep with a block.
const FIRST_CHUNK: usize = 4096 - 64;

/// The largest first chunk in bytes, unless a request is larger.
const LARGEST_FIRST_CHUNK: usize = 1 << 26;

/// The most chunks that one request looks at. Each chunk is at least twice as large as the one
/// before it unless the source has refused that, so no more than these fit into an address space of
/// 48 bits: 64 bytes doubled 42 times. With the requests of a source that refuses
/// ([`Chunks::allocate_most`](Chunks)) there are 64 steps in all.
pub(super) const LOOKS: usize = 42;

/// An end of the free part of a chunk.
#[derive(Clone, Copy)]
pub(super) enum End {
    Low,
    /// For [`SMALL`] requests.
    High,
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
    /// All chunks. The current one is the last one in use.
    list: List,
    first_ends: [Cell<NonNull<u8>>; 2],
    /// Bytes of a first chunk with its header.
    first_bytes: Cell<usize>,
    /// Bytes of all chunks with their headers, and the limit of them.
    bytes: Cell<usize>,
    max_bytes: Cell<usize>,
    source: Source,
    /// The number of the call of user code that is running, 0 if no call is; and the number of the
    /// last call that began.
    #[cfg(debug_assertions)]
    call: Cell<u64>,
    #[cfg(debug_assertions)]
    last_call: Cell<u64>,
}

/// A position of an arena, which [`rewind`](super::Arena::rewind) returns to.
///
/// # Examples
///
/// ```
/// let arena = flatslab::bump::Arena::with_capacity(1024);
/// arena.alloc(1);
/// let checkpoint = arena.checkpoint();
/// assert_eq!(*arena.alloc(42), 42);
/// // SAFETY: the reference is not used any more.
/// unsafe { arena.rewind(checkpoint) };
/// assert_eq!(arena.checkpoint(), checkpoint);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    low: NonNull<u8>,
    high: NonNull<u8>,
    current: Link,
    /// The call of user code that took the checkpoint.
    #[cfg(debug_assertions)]
    call: u64,
}

impl PartialEq for Checkpoint {
    fn eq(&self, other: &Self) -> bool {
        (self.low, self.high, self.current) == (other.low, other.high, other.current)
    }
}

impl Eq for Checkpoint {}

/// Both ends if there is no chunk: a multiple of 8 (`ends-in-chunk`), and high enough
/// (`high-no-wrap`).
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
            list: List::new(),
            first_ends: [const { Cell::new(NOWHERE) }; 2],
            first_bytes: Cell::new(FIRST_CHUNK),
            bytes: Cell::new(0),
            max_bytes: Cell::new(usize::MAX),
            source,
            #[cfg(debug_assertions)]
            call: Cell::new(0),
            #[cfg(debug_assertions)]
            last_call: Cell::new(0),
        }
    }

    /// Runs user code for a method that is running. The memory that the method has taken is not
    /// handed out yet, so the code may only rewind to its own checkpoints. Debug builds note which
    /// call it is, for [`assert_valid`](Self::assert_valid).
    #[inline(always)]
    pub(super) fn run<R>(&self, code: impl FnOnce() -> R) -> R {
        #[cfg(debug_assertions)]
        let _ends = {
            /// At the end, the outer call is running again.
            struct Ends<'c>(&'c Chunks, u64);

            impl Drop for Ends<'_> {
                fn drop(&mut self) {
                    self.0.call.set(self.1);
                }
            }

            let ends = Ends(self, self.call.get());
            self.goes_on();
            ends
        };
        code()
    }

    /// Notes that the method has taken memory while user code runs: from here on that code must not
    /// rewind to its earlier checkpoints.
    #[inline]
    pub(super) fn goes_on(&self) {
        #[cfg(debug_assertions)]
        {
            self.last_call.set(self.last_call.get() + 1);
            self.call.set(self.last_call.get());
        }
    }

    /// Takes memory of this layout, whose size is not 0, from the low end.
    ///
    /// # Errors
    ///
    /// If the source refuses or the limit is reached: what `F` makes of that.
    #[inline]
    #[track_caller]
    pub(super) fn take_low<F: Refusal>(&self, layout: Layout) -> Result<NonNull<u8>, F::Error> {
        match self.take_low_here(layout) {
            Some(place) => Ok(place),
            None => self.take_elsewhere::<F>(End::Low, layout),
        }
    }

    /// Takes it from the current chunk.
    #[inline]
    fn take_low_here(&self, layout: Layout) -> Option<NonNull<u8>> {
        let place = self.find_low(layout)?;
        // SAFETY: `find_low` found so many bytes there, and nothing was taken since
        // (`look-then-take`).
        unsafe { self.commit_low(place, layout.size()) };
        Some(place)
    }

    /// Finds memory of this layout at the low end, which does not move before
    /// [`commit_low`](Self::commit_low).
    #[inline(always)]
    pub(super) fn find_low(&self, layout: Layout) -> Option<NonNull<u8>> {
        let low = self.low.get();
        // Nothing is skipped for an alignment of 8 (`ends-in-chunk`).
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
        Some(unsafe { low.add(skipped) })
    }

    /// Moves the low end up past memory that was found. No request and no user code ran in between
    /// (`look-then-take`).
    ///
    /// # Safety
    ///
    /// `place` was found at the low end with a layout of this size, and neither end has moved
    /// since.
    #[inline]
    pub(super) unsafe fn commit_low(&self, place: NonNull<u8>, size: usize) {
        // SAFETY: the chunk has that many bytes from there on (precondition).
        self.low.set(unsafe { place.add(stepped(size)) });
    }

    /// Finds memory of this [`SMALL`] layout at the high end, which does not move before
    /// [`commit`](Self::commit): it is faster to move it after a short value was written, see
    /// [`WRITTEN_FIRST`](super::place::WRITTEN_FIRST).
    #[inline(always)]
    pub(super) fn find(&self, layout: Layout) -> Option<NonNull<u8>> {
        debug_assert!(layout.size() + layout.align() <= SMALL);
        let high = self.high.get();
        // This does not wrap (`high-no-wrap`).
        let place = (high.addr().get() - layout.size()) & !(layout.align() - 1);
        if place < self.low.get().addr().get() {
            rarely();
            return None;
        }
        // SAFETY: not below the low end, as just compared, so the chunk's (`ends-in-chunk`).
        Some(unsafe { high.sub(high.addr().get() - place) })
    }

    /// Moves the high end down to memory that was found.
    ///
    /// # Safety
    ///
    /// [`find`](Self::find) returned `place`, and neither end has moved since.
    #[inline]
    pub(super) unsafe fn commit(&self, place: NonNull<u8>) {
        self.high.set(place);
    }

    /// Takes memory from another chunk than the current one.
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

    /// Takes memory from a later chunk, or from a new one.
    ///
    /// # Errors
    ///
    /// If the source refuses or the limit is reached.
    fn take_next(&self, from: End, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let needed = Chunk::layout_for(layout.size(), layout.align())?;
        let chunk = self.chunk_for(needed, layout.size())?;
        self.enter(Some(chunk));
        let place = match from {
            End::Low => self.take_low_here(layout),
            // SAFETY: `find` found the place, and nothing was taken since (`look-then-take`).
            End::High => (self.find(layout)).inspect(|place| unsafe { self.commit(*place) }),
        };
        // A chunk has room for such a layout at both ends, or at none.
        place.ok_or_else(|| self.limit(layout.size()))
    }

    /// The first chunk after the current one that is large enough for this layout, or a new one.
    /// Looks at [`LOOKS`] chunks at most. An error at the limit reports the bytes that were asked
    /// for, and not those of a chunk.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    fn chunk_for(&self, needed: Layout, asked: usize) -> Result<NonNull<Chunk>, AllocError> {
        let gap = match self.list.find_unused(needed.size()) {
            Ok(chunk) => return Ok(chunk),
            Err(gap) => gap,
        };
        let doubled = gap.largest.saturating_mul(2);
        let most = doubled.max(self.first_bytes.get());
        let added = self.add_chunk(gap, most, needed, asked);
        added.or_else(|error| self.chunk_in_place(needed, asked, error))
    }

    /// Adds a chunk of `bytes` bytes, or [as many as there are](Self::allocate_most).
    fn add_chunk(
        &self,
        gap: Gap,
        bytes: usize,
        needed: Layout,
        asked: usize,
    ) -> Result<NonNull<Chunk>, AllocError> {
        let chunk = self.allocate_most(bytes, needed, asked)?;
        // SAFETY: new, and allocated as long as it is on the list.
        unsafe { self.list.insert(gap, chunk) };
        self.note_first();
        Ok(chunk)
    }

    /// A chunk of this layout, which was refused, in the place of the chunks that are not in use.
    /// Frees at most [`LOOKS`] of them, and none if that leaves too little room below the limit.
    ///
    /// # Errors
    ///
    /// The given error if nothing is freed; otherwise that of the last request.
    #[cold]
    fn chunk_in_place(
        &self,
        needed: Layout,
        asked: usize,
        error: AllocError,
    ) -> Result<NonNull<Chunk>, AllocError> {
        let unused: usize = self.list.all_unused().take(LOOKS).map(|it| it.1).sum();
        let room = (self.max_bytes.get().saturating_add(unused)).checked_sub(self.bytes.get());
        if room.is_none_or(|room| room < needed.size()) {
            return Err(error);
        }
        let mut is_freed = false;
        for _ in 0..LOOKS {
            // The source may use this arena (`sources-alone-run`): from its present list.
            let mut unused = self.list.all_unused().map(|it| it.0);
            let Some(chunk) = unused.next() else {
                break;
            };
            self.list.unused().set(unused.next());
            self.list.frees.set(self.list.frees.get() + 1);
            self.note_first();
            // SAFETY: it is off the list, and was not in use: no value is in it, and no checkpoint
            // that may be rewound to is of it.
            self.run(|| unsafe { self.free(chunk) });
            is_freed = true;
        }
        if !is_freed {
            return Err(error);
        }
        let gap = match self.list.find_unused(needed.size()) {
            Ok(chunk) => return Ok(chunk),
            Err(gap) => gap,
        };
        self.add_chunk(gap, needed.size(), needed, asked)
    }

    /// The first chunk may have changed (`first-ends-kept`).
    fn note_first(&self) {
        let (start, end) = List::ends(self.list.first.get());
        self.first_ends[0].set(start);
        self.first_ends[1].set(end);
    }

    /// Makes `chunk` the current chunk and the last one in use.
    fn enter(&self, chunk: Link) {
        self.list.last.set(chunk);
        let (start, end) = List::ends(chunk);
        self.low.set(start);
        self.high.set(end);
    }

    /// Whether the current chunk is empty, or there is no chunk.
    fn is_untouched(&self) -> bool {
        List::ends(self.list.last.get()) == (self.low.get(), self.high.get())
    }

    /// Allocates a chunk of `bytes` bytes, or as many as the limit leaves. If the source refuses
    /// it, a chunk of a quarter, and so on, down to the size of `needed`. The chunk is on no list.
    ///
    /// Makes 21 requests at most: from an address space of 48 bits, in quarters, to 64 bytes.
    fn allocate_most(
        &self,
        bytes: usize,
        needed: Layout,
        asked: usize,
    ) -> Result<NonNull<Chunk>, AllocError> {
        let mut bytes = bytes;
        loop {
            #[cfg(test)]
            super::tests::step();
            let left = self.max_bytes.get().saturating_sub(self.bytes.get());
            bytes = bytes.min(left / STEP * STEP).max(needed.size());
            match self.allocate(bytes, needed.align(), asked) {
                Err(_) if bytes > needed.size() => bytes = bytes / 4 / STEP * STEP,
                result => return result,
            }
        }
    }

    /// The error of a request that finds no room for as many bytes. A bounded arena has no limit
    /// above the bytes that it has.
    #[cold]
    fn limit(&self, bytes: usize) -> AllocError {
        let limit = self.max_bytes.get().max(self.bytes.get());
        AllocError::Limit { bytes, limit }
    }

    /// Allocates a chunk of `bytes` bytes, a multiple of 8; it is on no list.
    fn allocate(
        &self,
        bytes: usize,
        align: usize,
        asked: usize,
    ) -> Result<NonNull<Chunk>, AllocError> {
        let Ok(layout) = Layout::from_size_align(bytes, align) else {
            return Err(AllocError::TooManyBytes {
                slots: 1,
                slot_bytes: bytes,
            });
        };
        let passes = || bytes > self.max_bytes.get().saturating_sub(self.bytes.get());
        if passes() {
            return Err(self.limit(asked));
        }
        // A source may run code that uses this arena (`sources-alone-run`): recheck.
        let block = self.run(|| Block::allocate(layout, &self.source))?;
        if passes() {
            return Err(self.limit(asked));
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
        // SAFETY: every chunk is longer than a header, and is aligned for it.
        unsafe { chunk.write(header) };
        Ok(chunk)
    }

    /// Makes sure that `bytes` bytes can be taken without an allocation. A request counts as its
    /// size, rounded up to a multiple of 8, plus the part of its alignment above 8. A request at a
    /// chunk's low end takes no more than that. Nor does one at the high end, rounded down to a
    /// multiple of 8: it leaves less than that multiple, or than its alignment, unused.
    ///
    /// A request that does not fit the current chunk reaches the chunk with all the room on the way
    /// from one chunk to the next.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), AllocError> {
        let needed = Chunk::layout_for(bytes, STEP)?;
        if stepped(bytes) <= self.remaining() {
            return Ok(());
        }
        let chunk = self.chunk_for(needed, bytes)?;
        // So that `remaining` shows it.
        if self.is_untouched() {
            self.enter(Some(chunk));
        }
        Ok(())
    }

    /// Allocates and touches a chunk of `bytes` bytes, which stays the only chunk.
    ///
    /// # Errors
    ///
    /// As for [`take_low`](Self::take_low).
    pub(super) fn bound(&self, bytes: usize) -> Result<(), AllocError> {
        if bytes > 0 {
            let layout = Chunk::layout_for(bytes, STEP)?;
            let chunk = self.allocate(layout.size(), layout.align(), bytes)?;
            self.list.first.set(Some(chunk));
            self.note_first();
            self.enter(Some(chunk));
            // So that `shrink_to_fit` keeps it.
            self.first_bytes.set(layout.size());
            // SAFETY: the bytes between the ends are the chunk's and not handed out
            // (`ends-in-chunk`).
            unsafe { touch(self.low.get(), 0, self.remaining()) };
        }
        self.max_bytes.set(0);
        Ok(())
    }

    /// Sets the limit of all chunks with their headers. Existing chunks past it stay.
    pub(super) fn set_max_bytes(&self, bytes: usize) {
        self.max_bytes.set(bytes);
    }

    /// Sets the bytes of the first chunk with its header.
    pub(super) fn set_first_bytes(&self, bytes: usize) {
        let bytes = bytes.clamp(LEAST_CHUNK, LARGEST_FIRST_CHUNK);
        self.first_bytes.set(bytes.next_multiple_of(STEP));
    }

    /// Frees memory at the low end if nothing else was taken there since, and its chunk is still
    /// the current one.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of this size, is not used any more, and was not freed
    /// since.
    pub(super) unsafe fn take_back(&self, place: NonNull<u8>, size: usize) {
        if self.is_last(place, size) {
            // From the end, and not from the caller's pointer (`ends-in-chunk`).
            // SAFETY: `place` is that many bytes below the low end, in the current chunk.
            self.low.set(unsafe { self.low.get().sub(stepped(size)) });
        }
    }

    /// Whether this memory ends at the low end.
    fn is_last(&self, place: NonNull<u8>, size: usize) -> bool {
        let Some(chunk) = self.list.last.get() else {
            return false;
        };
        let end = place.addr().get() + stepped(size);
        end == self.low.get().addr().get() && place.addr() > chunk.addr()
    }

    /// Changes the size of memory at the low end in place, if nothing was taken there since and
    /// there is room. Returns the same place, with provenance of the new size: the caller's pointer
    /// may be valid for the old size alone.
    ///
    /// # Safety
    ///
    /// `place` was taken here with a layout of size `old`, or resized to it. The memory past `new`
    /// is not used any more.
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
        // From the end, and not from the caller's pointer (`ends-in-chunk`).
        // SAFETY: the old memory ends at the low end (`is_last`), and there is room for the new
        // size up to the high end: both ends of it lie in the current chunk.
        unsafe {
            let start = self.low.get().sub(stepped(old));
            self.low.set(start.add(stepped(new)));
            Some(start)
        }
    }

    /// Number of bytes left in the current chunk.
    #[inline]
    pub(super) fn remaining(&self) -> usize {
        // This does not wrap (`ends-in-chunk`).
        self.high.get().addr().get() - self.low.get().addr().get()
    }

    /// Number of bytes of all chunks with their headers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Number of chunks, and bytes of their headers.
    pub(super) fn count(&self) -> (usize, usize) {
        let count = self.list.iter().count();
        (count, count * HEADER)
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Frees the chunks that are not in use. The first chunk is in use if it is not empty; if it is
    /// empty, it is freed only if it is larger than a first chunk usually is.
    pub(super) fn shrink_to_fit(&self) {
        let first = self.list.first.get();
        let is_large = (self.list.iter().next()).is_some_and(|it| it.1 > self.first_bytes.get());
        if is_large && first == self.list.last.get() && self.is_untouched() {
            self.enter(None);
        }
        let mut next = self.list.unused().take();
        self.note_first();
        while let Some(chunk) = next {
            // SAFETY: it is not freed (`chunks-linked`); it was taken off the list.
            next = unsafe { self.free(chunk) };
        }
    }

    /// Frees a chunk that is on no list, and returns the one after it.
    ///
    /// # Safety
    ///
    /// `chunk` came from [`allocate`](Self::allocate) of this arena. It is freed once, and not used
    /// any more.
    unsafe fn free(&self, chunk: NonNull<Chunk>) -> Link {
        // SAFETY: the chunk was leaked by `allocate`, with the layout in its header and from this
        // source (precondition).
        unsafe {
            let Chunk { next, layout } = chunk.read();
            self.bytes.set(self.bytes.get() - layout.size());
            drop(Block::from_start(chunk.cast(), layout, &self.source));
            next.get()
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            low: self.low.get(),
            high: self.high.get(),
            current: self.list.last.get(),
            #[cfg(debug_assertions)]
            call: self.call.get(),
        }
    }

    /// Panics if this is visibly not a checkpoint that can be rewound to now.
    #[cfg(debug_assertions)]
    pub(super) fn assert_valid(&self, checkpoint: Checkpoint) {
        assert!(
            checkpoint.call == self.call.get(),
            "rewind was refused: a method of the arena that ran after the checkpoint is still running"
        );
        let last = self.list.last.get();
        let mut in_use = self.list.iter().scan(false, |ended, (chunk, _)| {
            let was = *ended;
            *ended |= Some(chunk) == last;
            (!was && last.is_some()).then_some(chunk)
        });
        assert!(
            (checkpoint.current).is_none_or(|current| in_use.any(|chunk| chunk == current)),
            "rewind was refused: the checkpoint is of another arena, or its memory was freed since"
        );
        assert!(
            checkpoint.current != last
                || checkpoint.low <= self.low.get() && checkpoint.high >= self.high.get(),
            "rewind was refused: the memory of the checkpoint was freed since"
        );
    }

    /// Frees all memory that was taken since this checkpoint; O(1). Chunks that were allocated
    /// since then stay, to be used again.
    ///
    /// # Safety
    ///
    /// The checkpoint is from this arena, which since then was not reset, shrunk, or rewound to an
    /// earlier one. Memory that was taken since then is not used any more. If user code is
    /// [running](Self::run), the checkpoint was taken in the same call of it.
    pub(super) unsafe fn rewind(&self, checkpoint: Checkpoint) {
        self.enter(checkpoint.current.or(self.list.first.get()));
        if checkpoint.current.is_some() {
            self.low.set(checkpoint.low);
            self.high.set(checkpoint.high);
        }
    }

    /// Frees all memory; O(1).
    ///
    /// # Safety
    ///
    /// Memory that was taken is not used any more.
    pub(super) unsafe fn reset(&self) {
        self.list.last.set(self.list.first.get());
        let [low, high] = &self.first_ends;
        self.low.set(low.get());
        self.high.set(high.get());
    }

    /// Panics if an invariant of the memory does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        let (low, high) = (self.low.get(), self.high.get());
        assert!(low <= high, "ends-in-chunk: the order");
        assert!(
            low.addr().get() % STEP == 0,
            "ends-in-chunk: a multiple of 8"
        );
        assert!(high.addr().get() >= SMALL, "high-no-wrap: the high end");
        match self.list.last.get() {
            None => assert!(low == high && high == NOWHERE, "ends-in-chunk: nowhere"),
            Some(current) => {
                let (first, last) = List::ends(Some(current));
                assert!(
                    first <= low && high <= last,
                    "ends-in-chunk: the current chunk"
                );
                assert!(
                    self.list.iter().any(|(chunk, _)| chunk == current),
                    "chunks-linked: linked"
                );
            }
        }
        let first = List::ends(self.list.first.get());
        let [start, end] = &self.first_ends;
        assert_eq!((start.get(), end.get()), first, "first-ends-kept");
        let bytes: usize = self.list.iter().map(|it| it.1).sum();
        assert_eq!(bytes, self.bytes.get(), "the bytes");
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.list.last.set(None);
        self.shrink_to_fit();
    }
}

/// A list of chunks, of which the first ones are in use.
struct List {
    first: Cell<Link>,
    /// The last one in use.
    last: Cell<Link>,
    /// How often chunks were freed by a request.
    frees: Cell<usize>,
}

/// The place to add a chunk at, if none was found.
#[derive(Clone, Copy)]
struct Gap {
    /// In a chunk that may be freed when a source runs, so it is not a reference.
    link: NonNull<Cell<Link>>,
    /// The last chunk in use when the gap was found, and how often chunks were freed.
    last: Link,
    frees: usize,
    /// Bytes of the largest chunk among those looked at and `last`.
    largest: usize,
}

impl List {
    const fn new() -> Self {
        List {
            first: Cell::new(None),
            last: Cell::new(None),
            frees: Cell::new(0),
        }
    }

    /// The link to the first chunk that is not in use.
    fn unused(&self) -> &Cell<Link> {
        match self.last.get() {
            None => &self.first,
            // SAFETY: no chunk of the list is freed (`chunks-linked`).
            Some(chunk) => unsafe { &(*chunk.as_ptr()).next },
        }
    }

    /// The first chunk that is not in use and has at least `bytes` bytes. Otherwise the end of the
    /// list, or the place after the chunks in use if the end is more than [`LOOKS`] chunks away: a
    /// request meets the same chunk in each frame (`same-chunk-again`). O(1): looks at that many
    /// chunks at most.
    fn find_unused(&self, bytes: usize) -> Result<NonNull<Chunk>, Gap> {
        let last = self.last.get();
        // SAFETY: no chunk of the list is freed (`chunks-linked`).
        let mut largest = last.map_or(0, |chunk| unsafe { chunk.as_ref() }.layout.size());
        let mut link = self.unused();
        for _ in 0..LOOKS {
            let Some(chunk) = link.get() else {
                let gap = Gap {
                    link: NonNull::from(link),
                    last,
                    frees: self.frees.get(),
                    largest,
                };
                return Err(gap);
            };
            #[cfg(test)]
            super::tests::step();
            // SAFETY: no chunk of the list is freed (`chunks-linked`).
            let it = unsafe { &*chunk.as_ptr() };
            if it.layout.size() >= bytes {
                return Ok(chunk);
            }
            largest = largest.max(it.layout.size());
            link = &it.next;
        }
        Err(Gap {
            link: NonNull::from(self.unused()),
            last,
            frees: self.frees.get(),
            largest,
        })
    }

    /// Adds a chunk after those in use: at the gap, unless other chunks are in use since it was
    /// found, or the one was freed that it is in.
    ///
    /// # Safety
    ///
    /// The gap was found in this list. The chunk is on no list, and is not freed while it is on one
    /// (`chunks-linked`).
    unsafe fn insert(&self, gap: Gap, chunk: NonNull<Chunk>) {
        // SAFETY: the gap's link is in the list, or in a chunk of it which was not freed since it was
        // found. The chunk is valid (precondition).
        unsafe {
            let link = match (self.last.get(), self.frees.get()) == (gap.last, gap.frees) {
                true => gap.link.as_ref(),
                false => self.unused(),
            };
            chunk.as_ref().next.set(link.get());
            link.set(Some(chunk));
        }
    }

    /// All chunks, with their bytes.
    fn iter(&self) -> impl Iterator<Item = (NonNull<Chunk>, usize)> + use<> {
        // SAFETY: no chunk of the list is freed (`chunks-linked`).
        unsafe { Self::iter_from(self.first.get()) }
    }

    /// All chunks that are not in use.
    fn all_unused(&self) -> impl Iterator<Item = (NonNull<Chunk>, usize)> + use<> {
        // SAFETY: no chunk of the list is freed (`chunks-linked`).
        unsafe { Self::iter_from(self.unused().get()) }
    }

    /// The chunks that are linked from one on, with their bytes.
    ///
    /// # Safety
    ///
    /// They are not freed before they are returned.
    unsafe fn iter_from(mut next: Link) -> impl Iterator<Item = (NonNull<Chunk>, usize)> {
        core::iter::from_fn(move || {
            let chunk = next?;
            // SAFETY: a chunk is read before it is returned, and so before it is freed (precondition).
            let it = unsafe { chunk.as_ref() };
            next = it.next.get();
            Some((chunk, it.layout.size()))
        })
    }

    /// The first byte for requests of a chunk of the list, and one past the last.
    fn ends(chunk: Link) -> (NonNull<u8>, NonNull<u8>) {
        let Some(chunk) = chunk else {
            return (NOWHERE, NOWHERE);
        };
        // SAFETY: not freed (`chunks-linked`); its block is longer than the header.
        unsafe {
            let bytes = chunk.as_ref().layout.size();
            (chunk.cast().add(HEADER), chunk.cast().add(bytes))
        }
    }
}

/// The header of a chunk. It is a cache line long, so that values of 64 bytes fill one line each:
/// if they began 32 bytes later, so that each lay in two lines, warm frames would take 1.5 times as
/// long.
#[repr(C, align(64))]
struct Chunk {
    next: Cell<Link>,
    /// The layout of the whole block.
    layout: Layout,
}

type Link = Option<NonNull<Chunk>>;

const HEADER: usize = size_of::<Chunk>();

/// Bytes of the smallest chunk.
pub(super) const LEAST_CHUNK: usize = HEADER + STEP;

impl Chunk {
    /// The layout of a chunk with room for `room` bytes of this alignment. A chunk of this many
    /// bytes has that room at any address and with any alignment of its own, because each chunk is
    /// aligned to its header.
    fn layout_for(room: usize, align: usize) -> Result<Layout, AllocError> {
        let align = align.max(align_of::<Chunk>());
        // The part of the first multiple of the alignment that the header does not fill.
        let skipped = align - HEADER.min(align);
        HEADER
            .checked_add(skipped)
            .and_then(|bytes| bytes.checked_add(room))
            .and_then(|bytes| bytes.checked_next_multiple_of(STEP))
            .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
            .ok_or(AllocError::TooManyBytes {
                slots: 1,
                slot_bytes: room,
            })
    }
}

/// A size rounded up to a multiple of [`STEP`]. `next_multiple_of` tests for a remainder first: two
/// more instructions.
#[inline]
const fn stepped(size: usize) -> usize {
    // Sizes are `isize::MAX` at most.
    (size + (STEP - 1)) & !(STEP - 1)
}

/// Bytes to skip from `start` on.
fn skipped(start: NonNull<u8>, layout: Layout) -> usize {
    start.addr().get().wrapping_neg() & (layout.align() - 1)
}

/// Makes the compiler place the branch that calls this after the others. It is not enough that a
/// branch ends in a call of a cold function: then the hot branch of a loop of allocations was
/// reached by a jump, which took up to 1.9 times as long.
#[cold]
#[inline(always)]
fn rarely() {}

/// The outcome of a refused request. It is a type parameter so that the cold call returns what its
/// caller needs in a register, and the rest of the function needs no stack.
pub(super) trait Refusal {
    type Error;

    /// The error of a function that was passed a value.
    type Refused<T>;

    fn refused<T>(error: Self::Error, value: T) -> Self::Refused<T>;

    /// The error without the value, which is dropped.
    fn error<T>(refused: Self::Refused<T>) -> Self::Error;

    #[track_caller]
    fn refuse(error: AllocError) -> Self::Error;
}

/// Panics, or aborts the program.
pub(super) struct Fails;

impl Refusal for Fails {
    type Error = Infallible;
    type Refused<T> = Infallible;

    fn refused<T>(error: Infallible, _: T) -> Infallible {
        error
    }

    fn error<T>(refused: Infallible) -> Infallible {
        refused
    }

    #[cold]
    fn refuse(error: AllocError) -> Infallible {
        memory::fail(error)
    }
}

/// Returns the value, without the reason.
pub(super) struct Refuses;

impl Refusal for Refuses {
    type Error = ();
    type Refused<T> = T;

    fn refused<T>((): (), value: T) -> T {
        value
    }

    fn error<T>(refused: T) {
        drop(refused);
    }

    #[cold]
    fn refuse(_: AllocError) {}
}

/// Returns the reason, and drops the value.
pub(super) struct Explains;

impl Refusal for Explains {
    type Error = AllocError;
    type Refused<T> = AllocError;

    fn refused<T>(error: AllocError, _: T) -> AllocError {
        error
    }

    fn error<T>(refused: AllocError) -> AllocError {
        refused
    }

    #[cold]
    fn refuse(error: AllocError) -> AllocError {
        error
    }
}

/// The value of a function that [`Fails`].
#[inline]
pub(super) fn done<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
