//! A size class: its chunks, most of them free or in use, some never used yet.
//!
//! # Invariants
//!
//! * C1: each header of the class's slabs that was made is free, and then on `free`, or not,
//!   and then not. `made` is their number.
//! * C2: `free` has room for all chunks of the class, of which there are `chunks` in `slabs`
//!   slabs.
//! * C3: slabs with headers to be made are linked from `fresh` on.

use core::cell::Cell;
use core::ptr::NonNull;

use super::header::Header;
use super::home::Home;
use super::slab::{Slab, SlabLink};
#[cfg(feature = "stats")]
use super::stats::Counter;
use crate::error::AllocError;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;
use crate::raw::touch::touch;

/// How many headers are made at once when no chunk is free. A page has 64 of them; an
/// allocation that finds none free pays for so many at most.
const REFILL: u32 = 16;

/// The chunks of one size. Aligned to its size, so that an index is shifted, not multiplied.
#[repr(C, align(128))]
pub(super) struct Class {
    /// First, so that a pointer to the class is one to its top.
    free: FreeStack,
    allocs: Cell<u64>,
    size: u32,
    closed: Cell<bool>,
    /// Among the home's classes.
    index: u8,
    home: NonNull<Home>,
    made: Cell<usize>,
    chunks: Cell<usize>,
    slabs: Cell<usize>,
    /// Bytes of these slabs that chunks are cut from.
    data_bytes: Cell<usize>,
    fresh: Cell<SlabLink>,
    #[cfg(feature = "stats")]
    pub(super) add_refs: Counter,
    #[cfg(feature = "stats")]
    pub(super) dec_refs: Counter,
}

impl Class {
    pub(super) fn new(size: u32, index: u8, home: NonNull<Home>, source: Source) -> Self {
        Class {
            free: FreeStack::empty(source),
            allocs: Cell::new(0),
            size,
            closed: Cell::new(false),
            index,
            home,
            made: Cell::new(0),
            chunks: Cell::new(0),
            slabs: Cell::new(0),
            data_bytes: Cell::new(0),
            fresh: Cell::new(None),
            #[cfg(feature = "stats")]
            add_refs: Counter::default(),
            #[cfg(feature = "stats")]
            dec_refs: Counter::default(),
        }
    }

    /// Bytes of a chunk.
    #[inline(always)]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    #[inline(always)]
    pub(super) fn index(&self) -> u8 {
        self.index
    }

    #[inline(always)]
    pub(super) fn home(&self) -> NonNull<Home> {
        self.home
    }

    /// Takes the chunk that came back last.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<NonNull<Header>> {
        let header = self.free.pop()?.cast::<Header>();
        self.allocs.set(self.allocs.get().wrapping_add(1));
        // SAFETY: a free header's slab is there (C1).
        unsafe { header.as_ref().take() };
        Some(header)
    }

    /// Makes a header free.
    ///
    /// # Safety
    ///
    /// It is the class's, made, and no one's.
    #[inline(always)]
    pub(super) unsafe fn push(&self, header: NonNull<Header>) {
        // SAFETY: says the caller; there is room (C2).
        unsafe { self.free.push(header.cast()) };
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

    pub(super) fn slabs(&self) -> usize {
        self.slabs.get()
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks.get()
    }

    /// Bytes of the slabs that chunks are cut from.
    pub(super) fn data_bytes(&self) -> usize {
        self.data_bytes.get()
    }

    /// Chunks that are in use.
    pub(super) fn in_use(&self) -> usize {
        self.made.get() - self.free.depth()
    }

    /// Bytes of the free stack.
    pub(super) fn stack_bytes(&self) -> usize {
        self.free.array_bytes()
    }

    /// How many chunks are on the free stack.
    pub(super) fn depth(&self) -> usize {
        self.free.depth()
    }

    /// Makes room on the free stack for `more` chunks besides those there are. Amortized: the
    /// stack doubles, and is mostly empty when it does.
    ///
    /// # Errors
    ///
    /// When the source refuses; nothing has changed then.
    pub(super) fn make_room(&self, more: usize) -> Result<(), AllocError> {
        loop {
            // Read again: the allocator may have used the arena.
            let wanted = self.chunks.get() + more;
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

    /// Adds a slab for whose chunks [room was made](Self::make_room).
    pub(super) fn add(&self, slab: NonNull<Slab>) {
        // SAFETY: the slab was just made, and is the home's from now on.
        let it = unsafe { slab.as_ref() };
        self.slabs.set(self.slabs.get() + 1);
        self.data_bytes.set(self.data_bytes.get() + it.data_bytes());
        self.chunks.set(self.chunks.get() + it.chunks() as usize);
        assert!(self.chunks.get() <= self.free.capacity(), "C2");
        it.set_next_fresh(self.fresh.replace(Some(slab)));
    }

    /// Makes the next headers, and pushes them, if any are left to be made: a few, or `most`.
    /// Touches their chunks if `touch`.
    pub(super) fn refill(&self, most: Option<usize>, touch: bool) -> bool {
        let Some(slab) = self.fresh.get() else {
            return false;
        };
        let most = most.map_or(REFILL, |most| u32::try_from(most).unwrap_or(u32::MAX));
        // SAFETY: the home's slabs are there (C3).
        let (it, home) = unsafe { (slab.as_ref(), self.home.as_ref()) };
        let made = it.made()..it.chunks().min(it.made().saturating_add(most));
        for index in made.clone() {
            // SAFETY: the next one of them, whose chunk no one uses.
            unsafe { it.make(slab, index, home, touch) };
        }
        self.made.set(self.made.get() + made.len());
        for index in made.rev() {
            // SAFETY: just made, so no one's.
            unsafe { self.push(Slab::header(slab, index)) };
        }
        if it.made() == it.chunks() {
            self.fresh.set(it.next_fresh());
        }
        true
    }

    /// Writes to every page of the chunks that are taken next, which may have been made without.
    pub(super) fn touch_free(&self, count: usize) {
        for header in self.free.entries().flatten().take(count) {
            // SAFETY: a free header is there, and no one uses its chunk (C1).
            unsafe { touch(header.cast::<Header>().as_ref().start(), 0, self.size()) };
        }
    }

    /// Forgets the slabs that are marked to leave, whose chunks are all free.
    pub(super) fn forget_leaving(&self) {
        // SAFETY: the home is there as long as its classes.
        let directory = unsafe { self.home.as_ref() }.directory();
        // SAFETY: a free header is there, and so is its slab (C1).
        let stays = |header: NonNull<Header>| unsafe {
            let slab = directory.slab(header.as_ref().number());
            !slab.as_ref().leaves()
        };
        self.free
            .retain(|entry| entry.is_none_or(|header| stays(header.cast())));
        let mut kept: SlabLink = None;
        let mut slab = self.fresh.take();
        while let Some(it) = slab {
            // SAFETY: the home's slabs are there (C3).
            let fresh = unsafe { it.as_ref() };
            slab = fresh.next_fresh();
            if !fresh.leaves() {
                fresh.set_next_fresh(kept);
                kept = Some(it);
            }
        }
        self.fresh.set(kept);
    }

    /// Counts out a slab that leaves.
    pub(super) fn subtract(&self, slab: &Slab) {
        self.slabs.set(self.slabs.get() - 1);
        self.data_bytes
            .set(self.data_bytes.get() - slab.data_bytes());
        self.chunks.set(self.chunks.get() - slab.chunks() as usize);
        self.made.set(self.made.get() - slab.made() as usize);
    }

    /// Gives the free stack's memory back where there is no chunk.
    pub(super) fn shrink(&self) -> Option<FreeStack> {
        let is_bare = self.chunks.get() == 0 && self.free.capacity() > 0;
        is_bare.then(|| {
            let empty = FreeStack::empty(self.free.source().clone());
            self.free.move_to(empty)
        })
    }

    /// Panics where C1 to C3 do not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        let mut seen = alloc::collections::BTreeSet::new();
        self.free.check(|entry| {
            let header = entry.unwrap().cast::<Header>();
            // SAFETY: a free header's slab is there (C1).
            let it = unsafe { header.as_ref() };
            assert!(it.is_free() && it.is_unique());
            assert!(it.held() == 0 && it.serial() == 0);
            // SAFETY: no one borrows a free header's link.
            assert!(unsafe { it.next() }.is_none(), "a free header has no link");
            assert!(core::ptr::eq(it.class(), self), "C1: its class");
            seen.insert(header)
        });
        assert!(self.free.depth() <= self.made.get() && self.made.get() <= self.chunks.get());
        assert!(self.chunks.get() <= self.free.capacity(), "C2");
    }
}
