//! What the arena of [`sync::bytes`](crate::sync::bytes) needs of a local one: chunks by their
//! numbers, whose references it counts by itself.
//!
//! A chunk that was taken so is mutable (H1) until it is given back, and no buffer of this family
//! has it.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::class::Class;
use super::directory::NUMBER_BITS;
use super::header::Header;
use super::home::Home;
#[cfg(target_has_atomic = "64")]
use super::slab::Slab;
use super::{ByteArena, RequestError};
use crate::raw::source::Source;

/// Numbers are below this.
pub(crate) const NUMBERS: u32 = 1 << NUMBER_BITS;

/// A chunk without a buffer.
pub(crate) struct Chunk {
    pub(crate) start: NonNull<u8>,
    /// Below [`NUMBERS`].
    pub(crate) number: u32,
    /// Of its size, in the order of [`ByteArena::chunk_sizes`].
    pub(crate) class: u8,
}

impl Chunk {
    #[inline(always)]
    fn new(header: NonNull<Header>) -> Self {
        // SAFETY: a header that is not free keeps its home.
        let at = unsafe { header.as_ref() };
        Chunk {
            start: at.start(),
            number: at.number(),
            class: at.class().index(),
        }
    }
}

impl ByteArena {
    /// A chunk of the first class that fits, if one came back to it or was made before.
    #[inline(always)]
    pub(crate) fn pop_chunk(&self, size: usize) -> Option<Chunk> {
        let class = self.home().class_for(size)?;
        class.pop().map(Chunk::new)
    }

    /// A chunk for so many bytes.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub(crate) fn take_chunk(&self, size: usize) -> Result<Chunk, RequestError> {
        self.take(size).map(Chunk::new)
    }

    /// Where the chunk with that number begins.
    ///
    /// # Safety
    ///
    /// It was taken from this arena, and not given back.
    #[inline]
    pub(crate) unsafe fn chunk_start(&self, number: u32) -> NonNull<u8> {
        let header = self.home().directory().find(number);
        // SAFETY: a chunk that is in use has its number (D1), and its header is there.
        unsafe { header.unwrap_unchecked().as_ref().start() }
    }

    /// Where the chunk with that number begins, if it is in use.
    #[cfg(target_has_atomic = "64")]
    #[inline]
    pub(crate) fn find_chunk(&self, number: u32) -> Option<NonNull<u8>> {
        let header = self.home().directory().find(number)?;
        // SAFETY: the directory leads to headers that are there (D1).
        let at = unsafe { header.as_ref() };
        (!at.is_free()).then(|| at.start())
    }

    /// Where the chunks begin that are in use; O(chunks).
    #[cfg(target_has_atomic = "64")]
    pub(crate) fn chunks(&self) -> impl Iterator<Item = NonNull<u8>> {
        let headers = self.home().slabs().flat_map(Slab::headers);
        // SAFETY: these headers are there (L2).
        let headers = headers.map(|header| unsafe { header.as_ref() });
        let in_use = headers.filter(|header| !header.is_free());
        in_use.map(Header::start)
    }

    /// Bytes of a chunk of each class.
    pub(crate) fn chunk_sizes(&self) -> impl Iterator<Item = usize> {
        self.home().classes().iter().map(Class::size)
    }

    /// Gives the chunk with that number back.
    ///
    /// # Safety
    ///
    /// It was taken from this arena, is given back once, and not used any more.
    #[inline]
    pub(crate) unsafe fn give_chunk_back(&self, number: u32) {
        let header = self.home().directory().find(number);
        // SAFETY: as above; it is mutable, and no one's any more.
        unsafe { Header::free(header.unwrap_unchecked()) };
    }

    /// How many chunks are in use.
    pub(crate) fn chunks_in_use(&self) -> usize {
        let classes = self.home().classes().iter();
        classes.map(Class::in_use).sum()
    }

    /// Where its memory comes from.
    pub(crate) fn source(&self) -> &Source {
        self.home().source()
    }

    /// Frees all memory, that of chunks which were not given back too.
    ///
    /// # Safety
    ///
    /// No chunk of it is used any more, and it has no buffers.
    pub(crate) unsafe fn free(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the arena is gone, and says the caller that no chunk is in use.
        unsafe { Home::free(this.home) };
    }
}
