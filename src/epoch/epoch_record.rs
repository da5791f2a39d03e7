//! The record of an epoch: its state, its chunks, and what was counted.
//!
//! Records are made on demand, kept until the slab is gone, and used again for other epochs.
//!
//! # Invariants
//!
//! * E1: `open` is the generation of an epoch that takes insertions, else 0. An epoch that is open or
//!   closing has no pinned chunk; of a pinned one all chunks are, and there is one at least.
//! * E2: the list of a class has each chunk of the epoch once. While the epoch is open, exactly
//!   those with a vacant slot are on the stack of open ones too, once. A full chunk leaves it
//!   with its last slot and comes back on top with the next removal: under random removals and
//!   insertions both branches go the same way nearly always.

use core::alloc::Layout;
use core::cell::Cell;
use core::num::NonZero;
use core::ops::Deref;
use core::ptr::NonNull;

use super::chunk::ChunkPtr;
use super::word::{END, Word};
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The state of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EpochState {
    /// It takes insertions: the current one, the permanent one, and those outside the ring that
    /// are not closed yet.
    Open,
    /// It takes no more insertions, but is not closed: a previous one of the ring.
    Closing,
    /// It is closed, and still has values. Their chunks stay.
    Pinned,
}

/// What an epoch belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Permanent,
    /// The place in the ring that has it until it is closed.
    Ring(u32),
    /// None: opened by name, by a guard or a scope; or closed.
    Outside,
}

/// The record's header; the lists of its classes follow.
#[repr(C)]
pub(super) struct EpochRecord {
    pub(super) open: Cell<u64>,
    /// 0 while the record is not used.
    pub(super) generation: Cell<u64>,
    /// Of an [`Epoch`](super::Epoch) that has this record.
    pub(super) place: u64,
    pub(super) state: Cell<EpochState>,
    pub(super) kind: Cell<Kind>,
    /// Of an unused record.
    pub(super) next_free: Cell<Option<EpochPtr>>,
    /// Whether there is a spare record for the case that this one stays pinned.
    pub(super) replaced: Cell<bool>,
    /// How often the slab had advanced when it began.
    pub(super) opened_at: Cell<u64>,
    /// Of the user's.
    pub(super) tag: Cell<u64>,
    pub(super) chunks: Cell<usize>,
    pub(super) close_calls: Cell<u64>,
    pub(super) scanned: Cell<u64>,
    pub(super) recycled: Cell<u64>,
}

/// The chunks of an epoch in a size class.
pub(super) struct List {
    pub(super) first: Cell<Option<ChunkPtr>>,
    /// Those with a vacant slot; the next insertion takes one of the first.
    pub(super) open: Cell<Option<ChunkPtr>>,
}

/// A record, which is there until the slab is gone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochPtr(NonNull<EpochRecord>);

impl Deref for EpochPtr {
    type Target = EpochRecord;

    #[inline(always)]
    fn deref(&self) -> &EpochRecord {
        // SAFETY: there until the slab is gone, whose methods alone have such a pointer; all
        // that changes is in cells.
        unsafe { self.0.as_ref() }
    }
}

/// The layout of a record with a list for each of `classes` classes.
fn layout(classes: usize) -> Layout {
    let bytes = size_of::<EpochRecord>() + classes * size_of::<List>();
    Layout::from_size_align(bytes, align_of::<EpochRecord>()).expect("there are few classes")
}

const _: () = assert!(align_of::<EpochRecord>() >= align_of::<List>());

impl EpochPtr {
    /// Bytes of a record.
    pub(super) fn bytes(classes: usize) -> usize {
        layout(classes).size()
    }

    /// Memory for a record.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn allocate(classes: usize, source: &Source) -> Result<Block, AllocError> {
        Block::allocate(layout(classes), source)
    }

    /// Writes an unused record; epochs that have it have that place.
    pub(super) fn write(record: Block, classes: usize, place: u64) -> EpochPtr {
        debug_assert!(record.layout() == layout(classes));
        let start = record.leak_start().cast::<EpochRecord>();
        let header = EpochRecord {
            open: Cell::new(0),
            generation: Cell::new(0),
            place,
            state: Cell::new(EpochState::Closing),
            kind: Cell::new(Kind::Outside),
            next_free: Cell::new(None),
            replaced: Cell::new(false),
            opened_at: Cell::new(0),
            tag: Cell::new(0),
            chunks: Cell::new(0),
            close_calls: Cell::new(0),
            scanned: Cell::new(0),
            recycled: Cell::new(0),
        };
        // SAFETY: the record is a new block, laid out for the header and a list for each class.
        unsafe {
            start.write(header);
            for class in 0..classes {
                start.add(1).cast::<List>().add(class).write(List {
                    first: Cell::new(None),
                    open: Cell::new(None),
                });
            }
        }
        EpochPtr(start)
    }

    /// The record's memory, which the caller frees.
    ///
    /// # Safety
    ///
    /// It is not used afterwards; it was written for that many classes, and is from this source.
    pub(super) unsafe fn into_record(self, classes: usize, source: &Source) -> Block {
        // SAFETY: `write` leaked a block of this layout and source, and it is not used any more
        // (precondition).
        unsafe { Block::from_start(self.0.cast(), layout(classes), source) }
    }

    /// The list of a class, which there is.
    ///
    /// # Safety
    ///
    /// The slab has that class.
    #[inline(always)]
    pub(super) unsafe fn list<'a>(self, class: usize) -> &'a List {
        // SAFETY: the slab has the class (precondition); the lists of its classes follow the
        // header, and stay until the slab is gone.
        unsafe { self.0.add(1).cast::<List>().add(class).as_ref() }
    }

    /// The epoch that has this record.
    pub(super) fn epoch(self) -> Option<super::Epoch> {
        Some(super::Epoch::new(
            self.place,
            NonZero::new(self.generation.get())?,
        ))
    }

    /// Begins another epoch with this record, which has no chunks.
    pub(super) fn set_open(self, generation: u64, kind: Kind, opened_at: u64) {
        debug_assert!(self.generation.get() == 0 && self.chunks.get() == 0);
        self.open.set(generation);
        self.generation.set(generation);
        self.state.set(EpochState::Open);
        self.kind.set(kind);
        self.replaced.set(false);
        self.opened_at.set(opened_at);
        self.tag.set(0);
        self.close_calls.set(0);
        self.scanned.set(0);
        self.recycled.set(0);
    }

    /// It takes no more insertions.
    pub(super) fn set_closing(self) {
        self.open.set(0);
        self.state.set(EpochState::Closing);
    }
}

impl List {
    /// Adds a chunk without values.
    pub(super) fn add(&self, chunk: ChunkPtr) {
        let first = self.first.replace(Some(chunk));
        chunk.next.set(first);
        chunk.previous.set(None);
        if let Some(first) = first {
            first.previous.set(Some(chunk));
        }
        self.push_open(chunk);
    }

    /// Puts a chunk on the stack of open ones.
    pub(super) fn push_open(&self, chunk: ChunkPtr) {
        chunk.listed.set(true);
        chunk.next_open.set(self.open.replace(Some(chunk)));
    }

    /// Takes a vacant slot of the chunk on top of the stack, if there is one. With its last one
    /// the chunk leaves the stack.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<(ChunkPtr, u32, Word)> {
        let chunk = self.open.get()?;
        // SAFETY: on the stack, so it has a vacant slot (E2).
        let (slot, word) = unsafe { chunk.pop() };
        if word.next_free() == END {
            self.open.set(chunk.next_open.get());
            chunk.listed.set(false);
        }
        Some((chunk, slot, word))
    }

    /// Takes a chunk off the list. It is not on the stack of open ones, or that is given up.
    pub(super) fn remove(&self, chunk: ChunkPtr) {
        let (previous, next) = (chunk.previous.get(), chunk.next.get());
        match previous {
            Some(previous) => previous.next.set(next),
            None => self.first.set(next),
        }
        if let Some(next) = next {
            next.previous.set(previous);
        }
    }

    /// The chunks, as long as the list does not change but for the one that was returned.
    pub(super) fn chunks(&self) -> impl Iterator<Item = ChunkPtr> {
        let mut next = self.first.get();
        core::iter::from_fn(move || {
            let chunk = next?;
            next = chunk.next.get();
            Some(chunk)
        })
    }
}
