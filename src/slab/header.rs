//! The header of a slab, to which handles point: the free stack, the counts, and the function
//! that frees the memory.
//!
//! A header is allocated when its slab is created and leaked at once, so that a handle may outlive
//! the slab; the last holder frees it (`last-holder`). It knows neither `T` nor how the memory is
//! divided: each kind of memory puts a header at the start of a larger block of its own.
//!
//! A function that may free the header takes the pointer from the allocation, never a
//! `&SlabHeader`: a reference argument is protected for the whole call, and a pointer derived from
//! it may not free its target. A slab keeps its header, so a reference to the header is allowed
//! while the slab is borrowed.
//!
//! # Invariants
//!
//! * `slots-sum`: `slots` = cells on the stack + `fresh` + cells that are not free.
//! * `stale-count`: `stale` counts the held cells whose holder is a `Slot` that
//!   lost its value, so `slots - free - stale` counts values and reservations.
//! * `closed-header`: after closing, only `remaining`, `sent`, `release`, the return stack and the
//!   closed stack of retired values are still used.
//! * `stacked-or-fresh`: every free cell is on the stack, or fresh: never used, and not pushed yet.
//! * `return-stacks`: a header from [`new`](SlabHeader::new) has a return stack and a stack of
//!   retired values. Other threads use only these, and only while `sent` is not 0.

use core::cell::Cell;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::NonNull;

use crate::raw::packed::{Packing, Word};
use crate::raw::returns::{Retired, Returns};
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;

#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct SlabHeader {
    /// First, so that a handle reaches the stack's top in one load.
    pub(crate) stack: FreeStack,
    slots: Cell<usize>,
    fresh: Cell<usize>,
    stale: Cell<usize>,
    remaining: Cell<usize>,
    /// Cells that were sent to other threads and are not free again.
    sent: Cell<usize>,
    /// Of these, the cells that were taken off the return stack and were not freed yet.
    taken: Cell<Word>,
    /// Cells that were taken off the stack of retired values, which were not dropped yet.
    taken_retired: Cell<Word>,
    /// The packing of the return stack, for the slab's thread.
    packing: Packing,
    release: Release,
    /// Number of cells that other threads returned and that were freed since.
    returned: Cell<u64>,
    /// The largest number of cells in use at the end of a stretch of insertions.
    #[cfg(feature = "stats")]
    peak: Cell<usize>,
    /// Last, and on cache lines of their own: only the slab's thread uses the fields before.
    stacks: MaybeUninit<Stacks>,
}

/// The stacks to which other threads push.
#[repr(C)]
struct Stacks {
    returns: Returns,
    retired: Retired,
}

const STACKS: usize = offset_of!(SlabHeader, stacks);

/// A function that frees all memory: cells, stack, and the block of the header itself. It takes the
/// pointer from the allocation.
pub(crate) type Release = unsafe fn(NonNull<SlabHeader>);

impl SlabHeader {
    /// Creates a header with an empty stack and `slots` fresh cells, whose numbers share words on
    /// the return stack according to `packing`.
    pub(crate) fn new(stack: FreeStack, slots: usize, packing: Packing, release: Release) -> Self {
        SlabHeader {
            stacks: MaybeUninit::new(Stacks {
                returns: Returns::new(packing),
                retired: Retired::new(),
            }),
            packing,
            ..Self::without_returns(stack, slots, release)
        }
    }

    const fn without_returns(stack: FreeStack, slots: usize, release: Release) -> Self {
        SlabHeader {
            stack,
            slots: Cell::new(slots),
            fresh: Cell::new(slots),
            stale: Cell::new(0),
            remaining: Cell::new(0),
            sent: Cell::new(0),
            taken: Cell::new(Word::EMPTY),
            taken_retired: Cell::new(Word::EMPTY),
            packing: Packing::NONE,
            release,
            returned: Cell::new(0),
            #[cfg(feature = "stats")]
            peak: Cell::new(0),
            stacks: MaybeUninit::uninit(),
        }
    }

    /// Returns the number of cells in all chunks.
    pub(crate) fn slots(&self) -> usize {
        self.slots.get()
    }

    /// Returns the number of cells that were never used and are not on the stack yet.
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.get()
    }

    pub(crate) fn free(&self) -> usize {
        self.stack.depth() + self.fresh.get()
    }

    /// Returns the number of values and reservations.
    pub(crate) fn len(&self) -> usize {
        self.slots.get() - self.free() - self.stale.get()
    }

    /// Counts a handle that lost its value.
    pub(crate) fn count_stale(&self) {
        self.stale.set(self.stale.get() + 1);
    }

    /// Uncounts a handle without a value, which was dropped.
    pub(crate) fn uncount_stale(&self) {
        self.stale.set(self.stale.get() - 1);
    }

    pub(crate) fn sent(&self) -> usize {
        self.sent.get()
    }

    /// Counts a cell that was sent to another thread.
    #[inline]
    pub(crate) fn count_sent(&self) {
        let sent = self.sent.get();
        self.sent.set(sent + 1);
        if sent == 0 {
            self.retired().expect("a cell is sent").note_owner();
        }
    }

    /// Returns how many cells that other threads returned were freed.
    pub(crate) fn returned(&self) -> u64 {
        self.returned.get()
    }

    pub(crate) fn count_returned(&self, cells: usize) {
        self.returned.set(self.returned.get() + cells as u64);
    }

    /// Returns the largest number of cells in use at the same time, if that is counted.
    pub(crate) fn peak(&self) -> Option<usize> {
        #[cfg(feature = "stats")]
        return Some(self.peak.get().max(self.slots() - self.free()));
        #[cfg(not(feature = "stats"))]
        None
    }

    /// Notes the number of cells in use, before some of them become free: between two calls it only
    /// rises.
    #[inline]
    pub(crate) fn note_peak(&self) {
        #[cfg(feature = "stats")]
        self.peak
            .set(self.peak.get().max(self.slots() - self.free()));
    }

    /// Uncounts sent cells, which were returned.
    pub(crate) fn uncount_sent(&self, cells: usize) {
        self.sent.set(self.sent.get() - cells);
    }

    /// Returns the cells that were taken off the return stack and were not freed yet.
    pub(crate) fn taken(&self) -> Word {
        self.taken.get()
    }

    pub(crate) fn keep_taken(&self, rest: Word) {
        self.taken.set(rest);
    }

    /// How the numbers of cells share words on the return stack.
    pub(crate) fn packing(&self) -> Packing {
        self.packing
    }

    /// Returns the cells that were taken off the stack of retired values, which were not dropped
    /// yet.
    pub(crate) fn taken_retired(&self) -> Word {
        self.taken_retired.get()
    }

    pub(crate) fn keep_taken_retired(&self, rest: Word) {
        self.taken_retired.set(rest);
    }

    /// Returns the stack of retired values, if cells were sent that are not free again.
    #[inline]
    pub(crate) fn retired(&self) -> Option<&Retired> {
        self.stacks().map(|stacks| &stacks.retired)
    }

    /// Returns the return stack, if cells were sent that are not free again.
    #[inline]
    pub(crate) fn returns(&self) -> Option<&Returns> {
        self.stacks().map(|stacks| &stacks.returns)
    }

    #[inline]
    fn stacks(&self) -> Option<&Stacks> {
        // SAFETY: something was sent, so the header has had cells, and was made by `new`
        // (`return-stacks`).
        (self.sent.get() > 0).then(|| unsafe { self.stacks.assume_init_ref() })
    }

    /// Counts the cells of added chunks.
    pub(crate) fn add_slots(&self, slots: usize) {
        self.slots.set(self.slots.get() + slots);
    }

    /// Uncounts the cells of freed chunks, none of which is on the stack.
    pub(crate) fn remove_slots(&self, slots: usize) {
        self.slots.set(self.slots.get() - slots);
    }

    /// Counts added cells as fresh.
    pub(crate) fn add_fresh(&self, cells: usize) {
        self.fresh.set(self.fresh.get() + cells);
    }

    /// Uncounts fresh cells, which were pushed or taken.
    pub(crate) fn remove_fresh(&self, cells: usize) {
        self.fresh.set(self.fresh.get() - cells);
    }
}

#[cfg(any(test, fuzzing))]
impl SlabHeader {
    pub(crate) fn stale(&self) -> usize {
        self.stale.get()
    }
}

/// Starts the countdown of `last-holder` for a dropped slab: `remaining` cells are not free, and
/// `sent` more cells are with other threads. If there are no such cells, frees the memory now.
///
/// # Safety
///
/// The header is allocated. Its slab is being dropped and no longer uses it. Its return
/// stack is closed, unless nothing was sent.
pub(crate) unsafe fn close(header: NonNull<SlabHeader>, remaining: usize, sent: usize) {
    // SAFETY: the header is allocated (precondition). If no cell remains, none is reachable, so by
    // `last-holder` this is the last use. If cells are with other threads, the return stack says
    // whether this is the last use; if it is not, nothing is used after the answer.
    unsafe {
        if remaining > 0 {
            header.as_ref().remaining.set(remaining);
        }
        let out = sent + usize::from(remaining > 0);
        let last = match sent {
            0 => remaining == 0,
            _ => Returns::settle(returns(header), out),
        };
        if last {
            release(header);
        }
    }
}

/// Frees all memory.
///
/// # Safety
///
/// This is its last use.
unsafe fn release(header: NonNull<SlabHeader>) {
    // SAFETY: this is the last use of the header (precondition), which is what `release`
    // asks for; the function was read before.
    unsafe {
        let release = header.as_ref().release;
        release(header);
    }
}

/// Returns the return stack, for any thread. By pointer, because other threads use the fields next
/// to it.
///
/// # Safety
///
/// The header is allocated, and was made by [`SlabHeader::new`].
pub(crate) unsafe fn returns(header: NonNull<SlabHeader>) -> NonNull<Returns> {
    // SAFETY: a field of the header, which is allocated (precondition).
    unsafe { header.byte_add(STACKS + offset_of!(Stacks, returns)).cast() }
}

/// Returns the stack of retired values, for any thread.
///
/// # Safety
///
/// As for [`returns`].
pub(crate) unsafe fn retired(header: NonNull<SlabHeader>) -> NonNull<Retired> {
    // SAFETY: a field of the header, which is allocated (precondition).
    unsafe { header.byte_add(STACKS + offset_of!(Stacks, retired)).cast() }
}

/// Counts out a sent cell of a closed header, on any thread.
///
/// # Safety
///
/// The header is closed; the cell was counted by the return stack, and is not used again.
pub(crate) unsafe fn leave(header: NonNull<SlabHeader>) {
    // SAFETY: the cell was out, so by `last-holder` the header is allocated until here, and if it
    // was the last this is the last use.
    unsafe {
        if Returns::leave(returns(header)) {
            release(header);
        }
    }
}

/// Counts out a cell of a closed header that was not sent.
///
/// # Safety
///
/// The header is closed; the cell was counted, and is not used again.
#[cold]
#[inline(never)]
pub(crate) unsafe fn count_down(header: NonNull<SlabHeader>) {
    // SAFETY: the cell was counted, so by `last-holder` the header is allocated until here. All
    // cells that were not sent count together as one of the sent cells, if there are any.
    unsafe {
        let (remaining, sent) = (
            header.as_ref().remaining.get() - 1,
            header.as_ref().sent.get(),
        );
        header.as_ref().remaining.set(remaining);
        if remaining == 0 {
            match sent {
                0 => release(header),
                _ => leave(header),
            }
        }
    }
}

/// Returns the header of a slab that has no memory yet: always empty, and never written to.
pub(crate) const fn unallocated() -> NonNull<SlabHeader> {
    NonNull::new((&raw const UNALLOCATED.0).cast_mut()).expect("a static")
}

struct Shared(SlabHeader);

// SAFETY: only read. The header has no cell that could be popped, pushed, held
// or counted, and `close` with nothing remaining writes nothing.
unsafe impl Sync for Shared {}

static UNALLOCATED: Shared = Shared(SlabHeader::without_returns(
    FreeStack::empty(Source::GLOBAL),
    0,
    release_nothing,
));

unsafe fn release_nothing(_: NonNull<SlabHeader>) {}
