//! What the two ends of a ring share.
//!
//! A position counts places twice around, so that a full ring and an empty one are told apart
//! without a place that is left free, and without a division. Each end has its own position by
//! itself, and remembers the other's as it was when it looked last. So a push and a pop read no
//! line that the other end writes, until what was remembered is used up.
//!
//! # Invariants
//!
//! * J1: `head` and `tail` are below twice the capacity; the place of a position is that, less
//!   the capacity if it is not below that. `tail` is 0 to capacity positions after `head`,
//!   around the end.
//! * J2: the places from `head` up to `tail` have entries, and are the consumer's; the others
//!   are the producer's, which may have deferred entries in the first of them. Only the producer
//!   writes `tail`, only the consumer writes `head`, and each has the position it will write next,
//!   or wrote last.
//! * J3: the block is there until both ends are gone: the second to set `ended` frees it.
//! * J4: the consumer's own position is after `head` by a frame that is there, and by those that
//!   were forgotten since it was last written; it does not pass `tail`. `limit` is a capacity after
//!   what was `head`, `end` is what was `tail`.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::places::{Place, Places};
use crate::error::BuildError;
use crate::raw::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::raw::memory::Block;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// On a line of its own, and on the one that processors load with it.
#[repr(align(128))]
pub(super) struct Position(pub(super) AtomicUsize);

/// What both ends share, at the start of its block; the places follow.
pub(super) struct Shared {
    pub(super) head: Position,
    pub(super) tail: Position,
    /// The number of the thread that pops, or popped last; 0 if it is not known.
    pub(super) popping: AtomicUsize,
    /// Not 0 once one of the ends is gone.
    ended: AtomicU32,
    /// The one that this is in.
    block: Block,
}

/// What each end has.
pub(super) struct End {
    shared: NonNull<Shared>,
    first: NonNull<u8>,
    pub(super) capacity: usize,
    pub(super) places: Places,
}

/// Makes the two ends of a ring of that many entries, which are not 0.
///
/// # Errors
///
/// If entries are too many or too large, or the source refuses.
pub(super) fn make(
    capacity: usize,
    max_len: usize,
    source: &Source,
) -> Result<[End; 2], BuildError> {
    let places = Places::new(max_len)?;
    // A place has two bytes at least, so twice the capacity is a number.
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
    for number in 0..capacity {
        // SAFETY: below the capacity; no end is made yet. It says nothing of the bytes.
        unsafe { places.place(first, number).set_initialised(false) };
    }
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
        // SAFETY: there until this end is gone (J3).
        unsafe { self.shared.as_ref() }
    }

    /// The place of a position.
    #[inline(always)]
    pub(super) fn place(&self, position: usize) -> Place {
        let number = if position < self.capacity {
            position
        } else {
            position - self.capacity
        };
        // SAFETY: by J1 a position is below twice the capacity, so `number` is below it.
        unsafe { self.places.place(self.first, number) }
    }

    /// The position after that one.
    #[inline(always)]
    pub(super) fn after(&self, position: usize) -> usize {
        let next = position + 1;
        if next == 2 * self.capacity { 0 } else { next }
    }

    /// The position so many after that one; at most twice the capacity.
    #[inline(always)]
    pub(super) fn ahead(&self, position: usize, count: usize) -> usize {
        let ahead = position + count;
        if ahead < 2 * self.capacity {
            ahead
        } else {
            ahead - 2 * self.capacity
        }
    }

    /// How many positions it is from `head` to `tail`.
    #[inline(always)]
    pub(super) fn between(&self, head: usize, tail: usize) -> usize {
        if head <= tail {
            tail - head
        } else {
            tail + 2 * self.capacity - head
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        // Acquire: pairs with the release of the other end's drop; what it pushed or popped
        // before is found.
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
            // SAFETY: both ends are gone, so no one uses it (J3). The block is moved out of
            // itself, and then freed.
            drop(unsafe { self.shared.read() });
        }
    }
}
