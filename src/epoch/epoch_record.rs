//! The record of an epoch: its state, and what was counted. The [lists](List) of its chunks follow.
//!
//! Records are made on demand, kept until the slab is gone, and used again for other epochs.
//!
//! # Invariants
//!
//! * E1: `open` is the generation of an epoch that takes insertions, else 0. An epoch that is open or
//!   closing has no pinned chunk; of a pinned one all chunks are, and there is one at least. One that
//!   is entered is open.

use core::alloc::Layout;
use core::cell::Cell;
use core::num::NonZero;
use core::ops::Deref;
use core::ptr::NonNull;

use super::list::List;
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
    /// How many calls run within it.
    pub(super) entered: Cell<u64>,
    pub(super) closes_when_left: Cell<bool>,
    /// Of the user's.
    pub(super) tag: Cell<u64>,
    pub(super) chunks: Cell<usize>,
    pub(super) close_calls: Cell<u64>,
    pub(super) scanned: Cell<u64>,
    pub(super) recycled: Cell<u64>,
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
            entered: Cell::new(0),
            closes_when_left: Cell::new(false),
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
                start.add(1).cast::<List>().add(class).write(List::empty());
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
        debug_assert!(self.entered.get() == 0 && !self.closes_when_left.get());
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
