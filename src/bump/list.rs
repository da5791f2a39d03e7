//! Chunks, and lists of them.
//!
//! B3 is an invariant of [`chunks`](super::chunks), which owns the lists: it frees no chunk
//! that is on one.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;

/// The low end is a multiple of this.
pub(super) const STEP: usize = 8;

/// Most chunks that one request looks at. Each chunk is at least twice as large as the one
/// before it unless the source has refused that, so no more than these fit into an address
/// space of 48 bits: 64 bytes doubled 42 times. With the requests of a source that refuses
/// ([`Chunks::allocate_most`](super::chunks::Chunks)) there are 64 steps in all.
pub(super) const LOOKS: usize = 42;

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

/// Bytes of the least chunk.
pub(super) const LEAST_CHUNK: usize = HEADER + STEP;

impl Chunk {
    /// The first byte for requests, and one past the last.
    ///
    /// # Safety
    ///
    /// `chunk` is the header of a chunk that is not freed.
    pub(super) unsafe fn bounds(chunk: NonNull<Chunk>) -> (NonNull<u8>, NonNull<u8>) {
        // SAFETY: the header is valid (precondition), and the block is longer than it.
        unsafe {
            let bytes = chunk.as_ref().layout.size();
            (chunk.cast().add(HEADER), chunk.cast().add(bytes))
        }
    }

    /// The layout of a chunk with room for `room` bytes of that alignment. A chunk of as many
    /// bytes has that room wherever it lies, whatever its own alignment is: each is aligned to
    /// its header.
    pub(super) fn layout_for(room: usize, align: usize) -> Result<Layout, AllocError> {
        let align = align.max(align_of::<Chunk>());
        // What the header does not fill of the first multiple of the alignment.
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

/// A list of chunks, of which the first ones are in use.
pub(super) struct List {
    pub(super) first: Cell<Link>,
    /// The last one in use.
    pub(super) last: Cell<Link>,
}

/// Where to add a chunk, if none was found.
#[derive(Clone, Copy)]
pub(super) struct Gap<'l> {
    link: &'l Cell<Link>,
    /// The last chunk in use when the gap was found.
    last: Link,
    /// Bytes of the largest chunk that was looked at, and of that one.
    pub(super) largest: usize,
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
            // SAFETY: by B3 no chunk of the list is freed.
            Some(chunk) => unsafe { &(*chunk.as_ptr()).next },
        }
    }

    /// The first chunk that is not in use and has at least `bytes` bytes. If there is none, the
    /// end of the list, or the place after the chunks in use if the end is more than [`LOOKS`]
    /// chunks away. O(1): looks at that many chunks at most.
    pub(super) fn find_unused(&self, bytes: usize) -> Result<NonNull<Chunk>, Gap<'_>> {
        let last = self.last.get();
        // SAFETY: by B3 no chunk of the list is freed.
        let mut largest = last.map_or(0, |chunk| unsafe { chunk.as_ref() }.layout.size());
        let mut link = self.unused();
        for _ in 0..LOOKS {
            let Some(chunk) = link.get() else {
                let gap = Gap {
                    link,
                    last,
                    largest,
                };
                return Err(gap);
            };
            #[cfg(test)]
            super::tests::step();
            // SAFETY: by B3 no chunk of the list is freed.
            let it = unsafe { &*chunk.as_ptr() };
            if it.layout.size() >= bytes {
                return Ok(chunk);
            }
            largest = largest.max(it.layout.size());
            link = &it.next;
        }
        Err(Gap {
            link: self.unused(),
            last,
            largest,
        })
    }

    /// Adds a chunk after those in use: at the gap, unless others are in use since it was
    /// found.
    pub(super) fn insert(&self, gap: Gap<'_>, chunk: NonNull<Chunk>) {
        let link = match self.last.get() == gap.last {
            true => gap.link,
            false => self.unused(),
        };
        // SAFETY: by B3 the chunk is not freed while it is on the list.
        unsafe { chunk.as_ref() }.next.set(link.get());
        link.set(Some(chunk));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = NonNull<Chunk>> {
        // SAFETY: by B3 no chunk of the list is freed.
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
