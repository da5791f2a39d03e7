//! A slab: a block of bytes that is cut into chunks, and a block of their headers.
//!
//! # Invariants
//!
//! * L1: a slab's record stands at the start of a block of its own, before the headers, of
//!   which there is room for `room`, not less than `chunks`. The chunks stand in `data`, a
//!   block of `data_layout`, one after the other.
//! * L2: the first `made` headers are there. Their numbers follow each other within a page of
//!   the directory, and each page begins at a header whose index is a multiple of its length.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::class::Class;
use super::directory::PAGE_HEADERS;
use super::header::Header;
use super::home::Home;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::touch::touch;

pub(super) type SlabLink = Option<NonNull<Slab>>;

/// Chunks begin at a cache line where their size is a multiple of one.
const ALIGN: usize = 64;

/// The record of a slab; its headers follow.
#[repr(C, align(64))]
pub(super) struct Slab {
    next: Cell<SlabLink>,
    next_fresh: Cell<SlabLink>,
    class: NonNull<Class>,
    data: NonNull<u8>,
    data_layout: Layout,
    room: u32,
    chunks: u32,
    made: Cell<u32>,
    leaves: Cell<bool>,
}

/// The two blocks of a slab that is not, or no longer, in use.
pub(super) struct Blocks {
    data: Block,
    headers: Block,
}

/// The layout of a slab's bytes.
pub(super) fn data_layout(bytes: usize) -> Result<Layout, AllocError> {
    Layout::from_size_align(bytes, ALIGN).map_err(|_| AllocError::TooManyBytes {
        slots: 1,
        slot_bytes: bytes,
    })
}

/// The layout of a record and so many headers.
pub(super) fn headers_layout(chunks: u32) -> Result<Layout, AllocError> {
    let headers = Layout::array::<Header>(chunks as usize).ok();
    headers
        .and_then(|headers| Layout::new::<Slab>().extend(headers).ok())
        .map(|(layout, _)| layout)
        .ok_or(AllocError::TooManyBytes {
            slots: chunks as usize,
            slot_bytes: size_of::<Header>(),
        })
}

impl Blocks {
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn allocate(
        data: Layout,
        headers: Layout,
        source: &Source,
    ) -> Result<Self, AllocError> {
        Ok(Blocks {
            data: Block::allocate(data, source)?,
            headers: Block::allocate(headers, source)?,
        })
    }

    /// Replaces the block of headers where it has no room for so many.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn with_room(self, chunks: u32, source: &Source) -> Result<Self, AllocError> {
        let layout = headers_layout(chunks)?;
        if layout.size() <= self.headers.layout().size() {
            return Ok(self);
        }
        let headers = Block::allocate(layout, source)?;
        Ok(Blocks { headers, ..self })
    }

    /// Bytes of the block that is cut into chunks.
    pub(super) fn data_bytes(&self) -> usize {
        self.data.layout().size()
    }

    /// Bytes of both.
    pub(super) fn bytes(&self) -> usize {
        self.data.layout().size() + self.headers.layout().size()
    }

    /// Makes the slab; none of its headers are made yet.
    pub(super) fn into_slab(self, class: NonNull<Class>, chunks: u32) -> NonNull<Slab> {
        let data_layout = self.data.layout();
        let headers = self.headers.layout().size() - size_of::<Slab>();
        let record = Slab {
            next: Cell::new(None),
            next_fresh: Cell::new(None),
            class,
            data: self.data.leak_start(),
            data_layout,
            room: (headers / size_of::<Header>()) as u32,
            chunks,
            made: Cell::new(0),
            leaves: Cell::new(false),
        };
        let slab = self.headers.leak_start().cast::<Slab>();
        // SAFETY: the block begins with room for the record (L1).
        unsafe { slab.write(record) };
        slab
    }
}

impl Slab {
    /// Takes the blocks of a slab back.
    ///
    /// # Safety
    ///
    /// It is not used any more, nor are its headers.
    pub(super) unsafe fn into_blocks(slab: NonNull<Slab>, source: &Source) -> Blocks {
        // SAFETY: by L1 leaked with these layouts, from that source.
        unsafe {
            let it = slab.read();
            let layout = headers_layout(it.room).expect("it was laid out so");
            Blocks {
                data: Block::from_start(it.data, it.data_layout, source),
                headers: Block::from_start(slab.cast(), layout, source),
            }
        }
    }

    pub(super) fn next(&self) -> SlabLink {
        self.next.get()
    }

    pub(super) fn set_next(&self, next: SlabLink) {
        self.next.set(next);
    }

    pub(super) fn next_fresh(&self) -> SlabLink {
        self.next_fresh.get()
    }

    pub(super) fn set_next_fresh(&self, next: SlabLink) {
        self.next_fresh.set(next);
    }

    pub(super) fn class(&self) -> &Class {
        // SAFETY: a class is there as long as its slabs.
        unsafe { self.class.as_ref() }
    }

    pub(super) fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Headers that are there.
    pub(super) fn made(&self) -> u32 {
        self.made.get()
    }

    /// Bytes of the block that is cut into chunks.
    pub(super) fn data_bytes(&self) -> usize {
        self.data_layout.size()
    }

    /// Bytes of both blocks.
    pub(super) fn bytes(&self) -> usize {
        let headers = self.room as usize * size_of::<Header>();
        self.data_bytes() + size_of::<Slab>() + headers
    }

    /// Whether it is to leave its class.
    pub(super) fn leaves(&self) -> bool {
        self.leaves.get()
    }

    pub(super) fn set_leaves(&self) {
        self.leaves.set(true);
    }

    /// The header at `index`.
    pub(super) fn header(slab: NonNull<Slab>, index: u32) -> NonNull<Header> {
        // SAFETY: the headers follow the record in its block (L1); a `Header` is as aligned as
        // the record.
        unsafe { slab.add(1).cast::<Header>().add(index as usize) }
    }

    /// The headers that are there.
    pub(super) fn headers(slab: NonNull<Slab>) -> impl Iterator<Item = NonNull<Header>> {
        // SAFETY: the slab is there, as each caller has it.
        let made = unsafe { slab.as_ref() }.made();
        (0..made).map(move |index| Self::header(slab, index))
    }

    /// Whether no chunk is in use.
    pub(super) fn is_empty(slab: NonNull<Slab>) -> bool {
        // SAFETY: these headers are there (L2).
        Self::headers(slab).all(|header| unsafe { header.as_ref() }.is_free())
    }

    /// Makes the header at `index`, and touches its chunk if `touch`.
    ///
    /// # Safety
    ///
    /// `slab` is the one, and is the home's; `index` is `made`, and below `chunks`.
    pub(super) unsafe fn make(&self, slab: NonNull<Slab>, index: u32, home: &Home, touch: bool) {
        let header = Self::header(slab, index);
        let number = if index % PAGE_HEADERS == 0 {
            home.directory().take(header, slab)
        } else {
            // SAFETY: the one before is made (L2).
            let before = unsafe { Self::header(slab, index - 1).as_ref() };
            home.directory().extend(before.number())
        };
        let size = self.class().size();
        // SAFETY: the chunk is within the block, and no one's; the header's place is within
        // the other (L1).
        unsafe {
            let start = self.data.add(index as usize * size);
            if touch {
                self::touch(start, 0, size);
            }
            header.write(Header::new(number, start, self.class));
        }
        self.made.set(index + 1);
    }

    /// Gives the numbers of its headers back.
    pub(super) fn give_numbers_back(slab: NonNull<Slab>, home: &Home) {
        for header in Self::headers(slab).step_by(PAGE_HEADERS as usize) {
            // SAFETY: it is there (L2).
            home.directory()
                .give_back(unsafe { header.as_ref() }.number());
        }
    }
}
