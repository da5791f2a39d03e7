//! Places for entries, of one stride, after something else in a block: their lengths and bytes.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::{AllocError, BuildError};
use crate::raw::copy::copy;
use crate::raw::prefetch::prefetch_to_write;

/// Bytes begin at a multiple of this, and their length stands this many bytes before them.
pub(super) const ALIGN: usize = 16;

/// Lengths have 32 bits, and so have their sums with what a place has besides.
const MOST_BYTES: usize = u32::MAX as usize - (ALIGN - 1);

/// How large places are.
#[derive(Clone, Copy)]
pub(super) struct Places {
    max_len: usize,
    stride: usize,
}

/// One place: `max_len` bytes. Before them stand their length, in 4 bytes, and after that, in
/// one byte that only the producer uses, whether all of them are initialised.
#[derive(Clone, Copy)]
pub(super) struct Place(NonNull<u8>);

impl Places {
    /// # Errors
    ///
    /// If `max_len` exceeds the limit of an entry.
    pub(super) fn new(max_len: usize) -> Result<Self, BuildError> {
        BuildError::in_range("max_len", max_len, 1, MOST_BYTES)?;
        let too_large = AllocError::TooManyBytes {
            slots: 1,
            slot_bytes: max_len,
        };
        let stride = (max_len.checked_next_multiple_of(ALIGN))
            .and_then(|bytes| bytes.checked_add(ALIGN))
            .ok_or(too_large)?;
        Ok(Places { max_len, stride })
    }

    /// The layout of `before` followed by that many places, and where those begin.
    ///
    /// # Errors
    ///
    /// If their bytes pass the limit of a block.
    pub(super) fn layout(
        self,
        before: Layout,
        count: usize,
    ) -> Result<(Layout, usize), AllocError> {
        let bytes = self.stride.checked_mul(count);
        let places = bytes.and_then(|bytes| Layout::from_size_align(bytes, ALIGN).ok());
        (places.and_then(|places| before.extend(places).ok())).ok_or(AllocError::TooManyBytes {
            slots: count,
            slot_bytes: self.stride,
        })
    }

    /// The most bytes of an entry.
    #[inline(always)]
    pub(super) fn max_len(self) -> usize {
        self.max_len
    }

    /// The place with that number, of those that begin at `first`.
    ///
    /// # Safety
    ///
    /// `number` is below the number of places.
    #[inline(always)]
    pub(super) unsafe fn place(self, first: NonNull<u8>, number: usize) -> Place {
        // SAFETY: `number` is below the number of places (precondition).
        Place(unsafe { first.add(number * self.stride) })
    }
}

impl Place {
    /// Where the bytes begin.
    #[inline(always)]
    pub(super) fn bytes(self) -> NonNull<u8> {
        // SAFETY: a place has more bytes than that.
        unsafe { self.0.add(ALIGN) }
    }

    /// How many bytes were written.
    ///
    /// # Safety
    ///
    /// A length was, and no thread writes to it.
    #[inline(always)]
    pub(super) unsafe fn len(self) -> usize {
        // SAFETY: a length was written, and is not written to (precondition); a place is aligned to
        // more than that.
        unsafe { self.0.cast::<u32>().read() as usize }
    }

    /// Writes how many bytes are written.
    ///
    /// # Safety
    ///
    /// The place is the caller's alone.
    #[inline(always)]
    pub(super) unsafe fn set_len(self, len: usize) {
        // SAFETY: the place is the caller's alone (precondition), and begins with its length.
        unsafe { self.0.cast::<u32>().write(len as u32) };
    }

    /// Brings the lines of an entry of `len` bytes to this core, to be written; a hint.
    #[inline(always)]
    pub(super) fn prefetch_to_write(self, len: usize) {
        prefetch_to_write(self.0, ALIGN + len);
    }

    /// The byte after the length.
    #[inline(always)]
    fn flag(self) -> NonNull<bool> {
        // SAFETY: a place has more bytes than that before its own.
        unsafe { self.0.add(size_of::<u32>()).cast() }
    }

    /// Whether all bytes are initialised.
    ///
    /// # Safety
    ///
    /// [`set_initialised`](Self::set_initialised) was called, and the place is the caller's alone.
    #[cfg(feature = "std")]
    pub(super) unsafe fn is_initialised(self) -> bool {
        // SAFETY: it was written, and no one else has it (preconditions).
        unsafe { self.flag().read() }
    }

    /// Says whether all bytes are initialised.
    ///
    /// # Safety
    ///
    /// They are, if so; the place is the caller's alone.
    #[inline(always)]
    pub(super) unsafe fn set_initialised(self, all: bool) {
        // SAFETY: no one else has the place (precondition).
        unsafe { self.flag().write(all) };
    }

    /// Writes these bytes and their length.
    ///
    /// # Safety
    ///
    /// The place is the caller's alone, and has room for them.
    #[inline(always)]
    pub(super) unsafe fn fill(self, bytes: &[u8]) {
        // SAFETY: there is room, and no one else has the place (preconditions), so they do not
        // overlap.
        unsafe {
            copy(bytes.as_ptr(), self.bytes().as_ptr(), bytes.len());
            self.set_len(bytes.len());
        }
    }
}
