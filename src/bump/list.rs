//! Chunks, and lists of them.
//!
//! B3 is an invariant of [`chunks`](super::chunks), which owns the lists: it frees no chunk
//! that is on one.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;

/// What the low end is a multiple of.
pub(super) const STEP: usize = 8;

/// What a chunk begins with. A cache line, so that values of 64 bytes fill one each: 32
/// bytes further on, where each lies in two, they take 1.5 times as long in warm frames.
#[repr(C, align(64))]
pub(super) struct Chunk {
    pub(super) next: Cell<Link>,
    /// Of the whole block.
    pub(super) layout: Layout,
}

pub(super) type Link = Option<NonNull<Chunk>>;

pub(super) const HEADER: usize = size_of::<Chunk>();

impl Chunk {
    /// The first byte for requests, and one past the last.
    ///
    /// # Safety
    ///
    /// The chunk is there.
    pub(super) unsafe fn bounds(chunk: NonNull<Chunk>) -> (NonNull<u8>, NonNull<u8>) {
        // SAFETY: says the caller; the block is longer than its header.
        unsafe {
            let bytes = chunk.as_ref().layout.size();
            (chunk.cast().add(HEADER), chunk.cast().add(bytes))
        }
    }

    /// The layout of a chunk with room for `room` bytes, and for that layout. A chunk has
    /// that room wherever it lies, whatever its own alignment is, if it is as long: each
    /// is aligned to its header.
    pub(super) fn layout_for(room: usize, layout: Layout) -> Result<Layout, AllocError> {
        let align = layout.align().max(align_of::<Chunk>());
        // What the header does not fill of the first multiple of the alignment.
        let skipped = align - HEADER.min(align);
        HEADER
            .checked_add(skipped)
            .and_then(|bytes| bytes.checked_add(room))
            .and_then(|bytes| bytes.checked_next_multiple_of(STEP))
            .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
            .ok_or(AllocError::TooManyBytes {
                slots: 1,
                slot_bytes: layout.size(),
            })
    }
}

/// A list of chunks, of which the first ones are in use.
pub(super) struct List {
    pub(super) first: Cell<Link>,
    /// The last one in use.
    pub(super) last: Cell<Link>,
}

impl List {
    pub(super) const fn new() -> Self {
        List {
            first: Cell::new(None),
            last: Cell::new(None),
        }
    }

    /// Where the link to the first chunk that is not in use stands.
    pub(super) fn unused(&self) -> &Cell<Link> {
        match self.last.get() {
            None => &self.first,
            // SAFETY: by B3 the chunk is there as long as the list.
            Some(chunk) => unsafe { &(*chunk.as_ptr()).next },
        }
    }

    /// Puts a chunk after those in use.
    pub(super) fn insert(&self, chunk: NonNull<Chunk>) {
        let link = self.unused();
        // SAFETY: the chunk is there, says B3.
        unsafe { chunk.as_ref() }.next.set(link.get());
        link.set(Some(chunk));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NonNull<Chunk>> {
        // SAFETY: by B3 each chunk that is met is there.
        core::iter::successors(self.first.get(), |chunk| unsafe {
            chunk.as_ref().next.get()
        })
    }
}

/// A size rounded up to what the low end is a multiple of.
/// `next_multiple_of` tests for a remainder first: two instructions more.
#[inline(always)]
pub(super) const fn stepped(size: usize) -> usize {
    // Sizes are `isize::MAX` at most.
    (size + (STEP - 1)) & !(STEP - 1)
}

/// Bytes to be skipped from `start` on.
pub(super) fn skipped(start: NonNull<u8>, layout: Layout) -> usize {
    start.addr().get().wrapping_neg() & (layout.align() - 1)
}

/// Whether such a request fits between the two.
pub(super) fn fits(start: NonNull<u8>, end: NonNull<u8>, layout: Layout) -> bool {
    let room = end.addr().get() - start.addr().get();
    let skipped = skipped(start, layout);
    skipped <= room && stepped(layout.size()) <= room - skipped
}
