//! The block of a ring, which its two ends share: their positions, and the places of entries.
//!
//! A position runs through all places twice before it starts again. So a full ring and an empty one
//! are told apart without leaving a place free, and without a division. The position of each end is
//! on lines of its own, and each end remembers the other's position as it was when it last looked.
//! So a push and a pop read no line that the other end writes, until the remembered positions are
//! used up.
//!
//! A place of a ring of values is a value. A [place](Place) of a ring of bytes is the length of an
//! entry and its bytes. All places of a ring have one stride.
//!
//! # Invariants
//!
//! * `positions-in-ring`: `head` and `tail` are below twice the capacity. The place of a position
//!   is the position, less the capacity if it is not below that. `tail` is 0 to capacity positions
//!   after `head`, around the end.
//! * `places-of-ends`: the places from `head` up to `tail` have entries, and belong to the
//!   consumer; the others belong to the producer, which may have deferred entries in the first of
//!   them. Only the producer writes `tail`, only the consumer writes `head`, and each has the
//!   position that it will write next, or wrote last.
//! * `block-until-both`: the block stays until both ends are dropped: the second one to set `ended`
//!   frees it.
//! * `own-position`: the consumer's own position is after `head` by a frame that exists, and by the
//!   frames that were forgotten since `head` was last written; it does not pass `tail`. `limit` is
//!   an earlier `head` plus the capacity, `end` is an earlier `tail`.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::{AllocError, BuildError};
use crate::raw::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::raw::copy::copy;
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::touch::prefetch_to_write;

/// On a line of its own, together with the line that processors load with it.
#[repr(align(128))]
pub(super) struct Position(pub(super) AtomicUsize);

/// The state that both ends share, at the start of its block; the places follow.
pub(super) struct Shared {
    pub(super) head: Position,
    pub(super) tail: Position,
    /// The number of the thread that pops, or popped last; 0 if it is not known.
    pub(super) popping: AtomicUsize,
    /// Not 0 once one of the ends is dropped.
    ended: AtomicU32,
    /// The block that this is in.
    block: Block,
}

/// The state of each end.
pub(super) struct End {
    shared: NonNull<Shared>,
    first: NonNull<u8>,
    pub(super) capacity: usize,
    pub(super) places: Places,
}

/// Makes the two ends of a ring of this number of byte entries, which is not 0.
///
/// # Errors
///
/// If entries are too many or too large, or the source refuses.
pub(super) fn make_bytes(
    capacity: usize,
    max_len: usize,
    source: &Source,
) -> Result<[End; 2], BuildError> {
    let ends = make(capacity, Places::of_bytes(max_len)?, source)?;
    let [End { first, places, .. }, _] = &ends;
    for number in 0..capacity {
        // SAFETY: below the capacity; neither end is used yet. `false` is always allowed.
        unsafe { places.place(*first, number).set_initialised(false) };
    }
    Ok(ends)
}

/// Makes the two ends of a ring of this number of values, which is not 0.
///
/// # Errors
///
/// If values are too many or too large, or the source refuses.
pub(super) fn make_values<T>(capacity: usize, source: &Source) -> Result<[End; 2], BuildError> {
    Ok(make(capacity, Places::of_values::<T>(), source)?)
}

/// # Errors
///
/// If the block would be too large, or the source refuses.
fn make(capacity: usize, places: Places, source: &Source) -> Result<[End; 2], AllocError> {
    // A block has at most `isize::MAX` bytes, so twice the capacity does not overflow; places
    // without bytes are limited in the same way.
    let (layout, offset) = places.layout(Layout::new::<Shared>(), capacity)?;
    let block = Block::allocate(layout, source)?;
    block.touch();
    let shared = block.start().cast::<Shared>();
    // SAFETY: the block begins with room for it, and the places follow at that offset.
    let first = unsafe {
        let first = block.start().add(offset);
        shared.write(Shared {
            head: Position(AtomicUsize::new(0)),
            tail: Position(AtomicUsize::new(0)),
            popping: AtomicUsize::new(0),
            ended: AtomicU32::new(0),
            block,
        });
        first
    };
    let end = || End {
        shared,
        first,
        capacity,
        places,
    };
    Ok([end(), end()])
}

impl End {
    #[inline(always)]
    pub(super) fn shared(&self) -> &Shared {
        // SAFETY: valid until this end is dropped (`block-until-both`).
        unsafe { self.shared.as_ref() }
    }

    /// The number of the place of a position; it is below the capacity, because a position is below
    /// twice that (`positions-in-ring`).
    #[inline(always)]
    fn number(&self, position: usize) -> usize {
        if position < self.capacity {
            position
        } else {
            position - self.capacity
        }
    }

    /// The place of a position, in a ring of bytes.
    #[inline(always)]
    pub(super) fn place(&self, position: usize) -> Place {
        // SAFETY: the number of a position is below that of places (`positions-in-ring`).
        unsafe { self.places.place(self.first, self.number(position)) }
    }

    /// The place of a position, in a ring of values.
    ///
    /// # Safety
    ///
    /// The ring is one of values of this type.
    #[inline(always)]
    pub(super) unsafe fn value<T>(&self, position: usize) -> NonNull<T> {
        // SAFETY: the places are values of this type (precondition), and the number is below theirs.
        unsafe { self.first.cast::<T>().add(self.number(position)) }
    }

    /// The next position.
    #[inline(always)]
    pub(super) fn after(&self, position: usize) -> usize {
        let next = position + 1;
        if next == 2 * self.capacity { 0 } else { next }
    }

    /// The position `count` further; `count` is at most twice the capacity.
    #[inline(always)]
    pub(super) fn ahead(&self, position: usize, count: usize) -> usize {
        let ahead = position + count;
        if ahead < 2 * self.capacity {
            ahead
        } else {
            ahead - 2 * self.capacity
        }
    }

    /// The number of positions from `head` to `tail`.
    #[inline(always)]
    pub(super) fn between(&self, head: usize, tail: usize) -> usize {
        if head <= tail {
            tail - head
        } else {
            tail + 2 * self.capacity - head
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the release of the other end's drop; entries that it pushed or popped
        // before are found.
        self.shared().ended.load(Ordering::Acquire) != 0
    }

    pub(super) fn memory(&self) -> Report {
        let block = &self.shared().block;
        Report::new(block.layout().size(), block.source())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Release: what this end did happens before the block is freed; pairs with the acquire
        // of the other end here, and in `is_closed`.
        if self.shared().ended.swap(1, Ordering::AcqRel) != 0 {
            // SAFETY: both ends are dropped, so nothing uses it (`block-until-both`). The block is
            // moved out of itself, and then freed.
            drop(unsafe { self.shared.read() });
        }
    }
}

/// Bytes begin at a multiple of this, and their length is this many bytes before them.
const ALIGN: usize = 16;

/// Lengths have 32 bits, and so do their sums with the rest of a place.
const MOST_BYTES: usize = u32::MAX as usize - (ALIGN - 1);

/// The sizes of places.
#[derive(Clone, Copy)]
pub(super) struct Places {
    max_len: usize,
    stride: usize,
    align: usize,
}

/// One place: `max_len` bytes. Before them is their length, in 4 bytes, and after that, in one byte
/// that only the producer uses, whether all of them are initialised.
#[derive(Clone, Copy)]
pub(super) struct Place(NonNull<u8>);

impl Places {
    /// # Errors
    ///
    /// If `max_len` exceeds the limit of an entry.
    pub(super) fn of_bytes(max_len: usize) -> Result<Self, BuildError> {
        BuildError::in_range("max_len", max_len, 1, MOST_BYTES)?;
        let too_large = AllocError::TooManyBytes {
            slots: 1,
            slot_bytes: max_len,
        };
        let stride = (max_len.checked_next_multiple_of(ALIGN))
            .and_then(|bytes| bytes.checked_add(ALIGN))
            .ok_or(too_large)?;
        Ok(Places {
            max_len,
            stride,
            align: ALIGN,
        })
    }

    pub(super) fn of_values<T>() -> Self {
        Places {
            max_len: size_of::<T>(),
            stride: size_of::<T>(),
            align: align_of::<T>(),
        }
    }

    /// The layout of `before` followed by this number of places, and the offset of the places.
    ///
    /// # Errors
    ///
    /// If it exceeds the limit of a block.
    pub(super) fn layout(
        self,
        before: Layout,
        count: usize,
    ) -> Result<(Layout, usize), AllocError> {
        // At least a byte each, so that there are no more places than bytes of a block.
        let bytes = self.stride.max(1).checked_mul(count);
        let places = bytes.and_then(|bytes| Layout::from_size_align(bytes, self.align).ok());
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

    /// The place with this number, where the places begin at `first`.
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

    /// The number of bytes that were written.
    ///
    /// # Safety
    ///
    /// A length was written, and no thread writes to it.
    #[inline(always)]
    pub(super) unsafe fn len(self) -> usize {
        // SAFETY: a length was written, and is not written to (precondition); a place is aligned to
        // more than that.
        unsafe { self.0.cast::<u32>().read() as usize }
    }

    /// Writes the number of bytes that are written.
    ///
    /// # Safety
    ///
    /// Only the caller uses the place.
    #[inline(always)]
    pub(super) unsafe fn set_len(self, len: usize) {
        // SAFETY: the place is the caller's alone (precondition), and begins with its length.
        unsafe { self.0.cast::<u32>().write(len as u32) };
    }

    /// Brings the lines of an entry of `len` bytes to this core, for writing; a hint.
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
    /// [`set_initialised`](Self::set_initialised) was called, and only the caller uses the place.
    #[cfg(feature = "std")]
    pub(super) unsafe fn is_initialised(self) -> bool {
        // SAFETY: it was written, and no one else has it (preconditions).
        unsafe { self.flag().read() }
    }

    /// Sets whether all bytes are initialised.
    ///
    /// # Safety
    ///
    /// They are initialised if `all`, and only the caller uses the place.
    #[inline(always)]
    pub(super) unsafe fn set_initialised(self, all: bool) {
        // SAFETY: no one else has the place (precondition).
        unsafe { self.flag().write(all) };
    }

    /// Writes these bytes and their length.
    ///
    /// # Safety
    ///
    /// Only the caller uses the place, which has room for the bytes.
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
