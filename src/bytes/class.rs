//! A size class: what it counts, and its free buffers.
//!
//! A class knows neither headers nor chunks: what it links are pointers, which its home makes
//! and reads.
//!
//! # Invariants
//!
//! * C1: each header of the class's chunks that was made is free, and then on `free`, or not,
//!   and then not. `made` is their number.
//! * C2: `free` has room for all buffers of the class, of which there are `buffers` in `chunks`
//!   chunks.
//! * C3: chunks with headers to be made are linked from `fresh` on.
//! * C4: what other threads gave back is on `returns`, and, once the arena's thread took it,
//!   linked from `arrived` on; it counts as in use until it is free.

use core::cell::Cell;
use core::ptr::NonNull;

#[cfg(feature = "stats")]
use super::counters::Counter;
use crate::error::AllocError;
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;

/// The buffers of one size. Its size is a power of two, so that an index is shifted, not
/// multiplied.
#[repr(C)]
pub(super) struct Class {
    /// First, so that a pointer to the class is one to its top.
    free: FreeStack,
    allocs: Cell<u64>,
    size: u32,
    closed: Cell<bool>,
    home: NonNull<u8>,
    made: Cell<usize>,
    buffers: Cell<usize>,
    chunks: Cell<usize>,
    pub(super) fresh: Cell<Option<NonNull<u8>>>,
    pub(super) arrived: Cell<Word>,
    // With these two a clone and its drop take 1.3 to 1.6 times as long. The other counters
    // are on slow paths, or follow from `allocs`.
    #[cfg(feature = "stats")]
    pub(super) add_refs: Counter,
    #[cfg(feature = "stats")]
    pub(super) dec_refs: Counter,
    /// On lines of its own.
    pub(super) returns: Returns,
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Class>().is_power_of_two());

impl Class {
    pub(super) fn new(size: u32, home: NonNull<u8>, source: Source) -> Self {
        Class {
            free: FreeStack::empty(source),
            allocs: Cell::new(0),
            size,
            closed: Cell::new(false),
            home,
            made: Cell::new(0),
            buffers: Cell::new(0),
            chunks: Cell::new(0),
            fresh: Cell::new(None),
            arrived: Cell::new(Word::EMPTY),
            #[cfg(feature = "stats")]
            add_refs: Counter::default(),
            #[cfg(feature = "stats")]
            dec_refs: Counter::default(),
            returns: Returns::new(Packing::NONE),
        }
    }

    /// Bytes of a buffer.
    #[inline(always)]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// The home, which knows its type.
    #[inline(always)]
    pub(super) fn home(&self) -> NonNull<u8> {
        self.home
    }

    /// Takes the header that was pushed last.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<NonNull<u8>> {
        let header = self.free.pop()?;
        self.allocs.set(self.allocs.get().wrapping_add(1));
        Some(header)
    }

    /// Pushes a free header.
    ///
    /// # Safety
    ///
    /// It is the class's, made, free, and not on the stack.
    #[inline(always)]
    pub(super) unsafe fn push(&self, header: NonNull<u8>) {
        // SAFETY: it is not on the stack (precondition), which has room for all (C2).
        unsafe { self.free.push(header) };
    }

    /// Whether the arena was dropped.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    pub(super) fn allocs(&self) -> u64 {
        self.allocs.get()
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks.get()
    }

    /// Buffers of its chunks.
    pub(super) fn buffers(&self) -> usize {
        self.buffers.get()
    }

    /// Buffers that are in use.
    pub(super) fn in_use(&self) -> usize {
        self.made.get() - self.free.depth()
    }

    /// Headers that were made.
    #[cfg(any(test, fuzzing))]
    fn made(&self) -> usize {
        self.made.get()
    }

    pub(super) fn count_made(&self, more: usize) {
        self.made.set(self.made.get() + more);
    }

    /// Bytes of the free stack.
    pub(super) fn stack_bytes(&self) -> usize {
        self.free.array_bytes()
    }

    /// How many headers are on the free stack.
    pub(super) fn depth(&self) -> usize {
        self.free.depth()
    }

    /// The free headers, the next one first.
    pub(super) fn free(&self) -> impl Iterator<Item = NonNull<u8>> {
        self.free.entries().flatten()
    }

    /// Removes the free headers for which `keep` is false.
    pub(super) fn retain(&self, mut keep: impl FnMut(NonNull<u8>) -> bool) {
        self.free.retain(|entry| entry.is_none_or(&mut keep));
    }

    /// Makes room on the free stack for `more` buffers besides those there are. Amortized: the
    /// stack doubles, and is mostly empty when it does.
    ///
    /// # Errors
    ///
    /// When the source refuses; nothing has changed then.
    pub(super) fn make_room(&self, more: usize) -> Result<(), AllocError> {
        loop {
            // Read again: the allocator may have used the arena.
            let wanted = self.buffers.get() + more;
            let room = self.free.capacity();
            if wanted <= room {
                return Ok(());
            }
            let stack = FreeStack::try_new(wanted.max(room * 2), self.free.source())?;
            if stack.capacity() > self.free.capacity() {
                drop(self.free.move_to(stack));
            }
        }
    }

    /// Counts a chunk in for whose buffers [room was made](Self::make_room).
    pub(super) fn add(&self, buffers: u32) {
        self.chunks.set(self.chunks.get() + 1);
        self.buffers.set(self.buffers.get() + buffers as usize);
        assert!(self.buffers.get() <= self.free.capacity(), "C2");
    }

    /// Counts a chunk out, of whose buffers `made` were made.
    pub(super) fn subtract(&self, buffers: u32, made: u32) {
        self.chunks.set(self.chunks.get() - 1);
        self.buffers.set(self.buffers.get() - buffers as usize);
        self.made.set(self.made.get() - made as usize);
    }

    /// Gives the free stack's memory back where there is no buffer.
    pub(super) fn shrink(&self) -> Option<FreeStack> {
        let is_bare = self.buffers.get() == 0 && self.free.capacity() > 0;
        is_bare.then(|| {
            let empty = FreeStack::empty(self.free.source().clone());
            self.free.move_to(empty)
        })
    }

    /// Panics where C1 or C2 does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, mut is_free: impl FnMut(NonNull<u8>)) {
        let mut seen = alloc::collections::BTreeSet::new();
        self.free.check(|entry| {
            let header = entry.unwrap();
            is_free(header);
            seen.insert(header)
        });
        assert!(self.depth() <= self.made() && self.made() <= self.buffers());
        assert!(self.buffers() <= self.free.capacity(), "C2");
    }
}
