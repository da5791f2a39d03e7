//! A chunk: a block of bytes that is cut into buffers, and a block of their headers.
//!
//! # Invariants
//!
//! * L1: a chunk's record stands at the start of a block of its own, before the headers of its
//!   `buffers` buffers. Their bytes stand in `data`, a block of `data_layout`, one after the
//!   other.
//! * L2: the first `made` headers are there. Their numbers follow each other within a page of
//!   the directory, and each page begins at a header whose index is a multiple of its length.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::class::Class;
use super::counts::Counting;
use super::directory::{Directory, PAGE_HEADERS};
use super::header::Header;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::touch::touch;

pub(super) type ChunkLink<R> = Option<NonNull<Chunk<R>>>;

/// Buffers begin at a cache line where their size is a multiple of one.
const ALIGN: usize = 64;

/// The record of a chunk; its headers follow.
#[repr(C, align(64))]
pub(super) struct Chunk<R: Counting> {
    next: Cell<ChunkLink<R>>,
    next_fresh: Cell<ChunkLink<R>>,
    class: NonNull<Class>,
    data: NonNull<u8>,
    data_layout: Layout,
    buffers: u32,
    made: Cell<u32>,
    leaves: Cell<bool>,
}

/// The two blocks of a chunk that is not, or no longer, in use.
pub(super) struct Blocks {
    data: Block,
    headers: Block,
}

/// The bytes of a chunk and of its headers, before they are allocated.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    data: Layout,
    headers: Layout,
    pub(super) buffers: u32,
}

impl Plan {
    /// # Errors
    ///
    /// If the bytes exceed `isize::MAX`.
    pub(super) fn new<R: Counting>(data_bytes: usize, buffers: u32) -> Result<Self, AllocError> {
        let too_many = |slot_bytes| AllocError::TooManyBytes {
            slots: buffers as usize,
            slot_bytes,
        };
        let data = Layout::from_size_align(data_bytes, ALIGN);
        Ok(Plan {
            data: data.map_err(|_| too_many(data_bytes / buffers as usize))?,
            headers: headers_layout::<R>(buffers).ok_or(too_many(size_of::<Header<R>>()))?,
            buffers,
        })
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        self.data.size() + self.headers.size()
    }
}

/// The layout of a record and the headers after it.
fn headers_layout<R: Counting>(buffers: u32) -> Option<Layout> {
    let headers = Layout::array::<Header<R>>(buffers as usize).ok()?;
    let (layout, _) = Layout::new::<Chunk<R>>().extend(headers).ok()?;
    Some(layout)
}

impl Blocks {
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn allocate(plan: &Plan, source: &Source) -> Result<Self, AllocError> {
        Ok(Blocks {
            data: Block::allocate(plan.data, source)?,
            headers: Block::allocate(plan.headers, source)?,
        })
    }

    /// Makes the chunk of that plan; none of its headers are made yet.
    pub(super) fn into_chunk<R: Counting>(
        self,
        class: NonNull<Class>,
        plan: &Plan,
    ) -> NonNull<Chunk<R>> {
        let record = Chunk {
            next: Cell::new(None),
            next_fresh: Cell::new(None),
            class,
            data: self.data.leak_start(),
            data_layout: plan.data,
            buffers: plan.buffers,
            made: Cell::new(0),
            leaves: Cell::new(false),
        };
        let chunk = self.headers.leak_start().cast::<Chunk<R>>();
        // SAFETY: the block begins with room for the record (L1).
        unsafe { chunk.write(record) };
        chunk
    }
}

impl<R: Counting> Chunk<R> {
    /// Takes the blocks of a chunk back.
    ///
    /// # Safety
    ///
    /// It is not used any more, nor are its headers.
    pub(super) unsafe fn into_blocks(chunk: NonNull<Self>, source: &Source) -> Blocks {
        // SAFETY: by L1 leaked with these layouts, from that source; no one uses it any more
        // (precondition).
        unsafe {
            let it = chunk.read();
            let layout = headers_layout::<R>(it.buffers).expect("it was laid out so");
            Blocks {
                data: Block::from_start(it.data, it.data_layout, source),
                headers: Block::from_start(chunk.cast(), layout, source),
            }
        }
    }

    pub(super) fn next(&self) -> ChunkLink<R> {
        self.next.get()
    }

    pub(super) fn set_next(&self, next: ChunkLink<R>) {
        self.next.set(next);
    }

    pub(super) fn next_fresh(&self) -> ChunkLink<R> {
        self.next_fresh.get()
    }

    pub(super) fn set_next_fresh(&self, next: ChunkLink<R>) {
        self.next_fresh.set(next);
    }

    pub(super) fn class(&self) -> &Class {
        // SAFETY: a class is there as long as its chunks.
        unsafe { self.class.as_ref() }
    }

    pub(super) fn buffers(&self) -> u32 {
        self.buffers
    }

    /// Headers that are there.
    pub(super) fn made(&self) -> u32 {
        self.made.get()
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.buffers as usize * size_of::<Header<R>>();
        self.data_layout.size() + size_of::<Self>() + headers
    }

    /// Whether it is to leave its class.
    pub(super) fn leaves(&self) -> bool {
        self.leaves.get()
    }

    pub(super) fn set_leaves(&self) {
        self.leaves.set(true);
    }

    /// The header at `index`.
    pub(super) fn header(chunk: NonNull<Self>, index: u32) -> NonNull<Header<R>> {
        // SAFETY: the headers follow the record in its block (L1); a `Header` is as aligned as
        // the record.
        unsafe { chunk.add(1).cast::<Header<R>>().add(index as usize) }
    }

    /// The headers that are there.
    pub(super) fn headers(chunk: NonNull<Self>) -> impl Iterator<Item = NonNull<Header<R>>> {
        // SAFETY: the chunk is there, as each caller has it.
        let made = unsafe { chunk.as_ref() }.made();
        (0..made).map(move |index| Self::header(chunk, index))
    }

    /// Whether no buffer is in use.
    pub(super) fn is_empty(chunk: NonNull<Self>) -> bool {
        // SAFETY: these headers are there (L2).
        Self::headers(chunk).all(|header| unsafe { header.as_ref() }.is_free())
    }

    /// Makes the header at `index`, and touches its bytes if `touched`.
    ///
    /// # Safety
    ///
    /// `chunk` is the one, and of that directory; `index` is `made`, and below `buffers`.
    pub(super) unsafe fn make(
        &self,
        chunk: NonNull<Self>,
        index: u32,
        directory: &Directory<R>,
        touched: bool,
    ) {
        let header = Self::header(chunk, index);
        let number = if index % PAGE_HEADERS == 0 {
            directory.take(header)
        } else {
            // SAFETY: the one before is made (L2).
            let before = unsafe { Self::header(chunk, index - 1).as_ref() };
            directory.extend(before.number())
        };
        let size = self.class().size();
        // SAFETY: the buffer is within the block, and no one's; the header's place is within
        // the other (L1).
        unsafe {
            let start = self.data.add(index as usize * size);
            if touched {
                touch(start, 0, size);
            }
            header.write(Header::new(number, start, self.class));
        }
        self.made.set(index + 1);
    }

    /// Gives the numbers of its headers back.
    pub(super) fn give_numbers_back(chunk: NonNull<Self>, directory: &Directory<R>) {
        for header in Self::headers(chunk).step_by(PAGE_HEADERS as usize) {
            // SAFETY: `headers` gives those that were made (L2).
            directory.give_back(unsafe { header.as_ref() }.number());
        }
    }
}
