//! The records of epochs and of chunks, which refer to each other.
//!
//! An epoch has a [record](EpochPtr) with its state and its counts. It is followed by a [`List`]
//! for each size class, of the chunks that the epoch has. Records of epochs are created on demand,
//! kept until the slab is dropped, and used again for other epochs.
//!
//! A [chunk](ChunkPtr) is cells that belong to one epoch. Its record is outside of them: a header
//! followed by the words of the slots, the lengths of buffers, and, with the feature `track`, the
//! places where values were inserted. The memory of the cells may be returned to the system, and
//! the record then stays. If the source is the user's, the record is freed with the memory; a
//! record that takes its index later begins with higher generations (`slot-generation-rises`).
//!
//! The entries of freed records in the tables lead to two empty records ([`ChunkPtr::none`],
//! [`EpochPtr::none`]), in which a look-up finds nothing.
//!
//! # Invariants
//!
//! Of an epoch:
//!
//! * `open-generation`: `open` is the generation of an epoch that takes insertions, else 0. An
//!   epoch that is open or closing has no pinned chunk. A pinned one has at least one chunk, and
//!   all its chunks are pinned. An epoch that is entered is open.
//! * `lists-follow`: a record is followed by `classes` lists in the same block, as many as its slab
//!   has classes. The empty one has none.
//! * `epoch-lists`: the list of a class has each chunk of the epoch once. Until the epoch is
//!   closed, each chunk with a vacant slot is on one of two stacks, once: chunks known to have no
//!   value are on the stack of idle ones, the others on that of open ones. A chunk leaves the stack
//!   with its last vacant slot, and the next removal puts it on top again: if removals and
//!   insertions are random, both branches go the same way nearly always.
//!
//! Of a chunk:
//!
//! * `vacant-list`: `free` begins a list, through the words of vacant slots, of all slots of the
//!   chunk that are vacant, each once; it ends with [`END`]. A chunk whose values are being dropped
//!   has no such list until it is [reset](ChunkPtr::reset).
//! * `count-to-event`: `usable` is the number of slots that are not retired. `count` is the number
//!   of removals up to the next one that is followed by more work, and becomes 0 at that one. In a
//!   chunk without a vacant slot that is not pinned it is 1, because the next removal makes the
//!   chunk open. In any other chunk it is the number of values, plus [`NOTED`] if the chunk is
//!   noted. So one test in a removal covers three events: the chunk was full, it lost its last
//!   value, or it was pinned and lost its last value.
//! * `record-rows`: its header is followed by a word for each slot; then, from `lengths` on, by a
//!   length for each, if its class has lengths, and an origin for each, with the feature `track`.
//! * `values-have-memory`: a chunk with a value has memory, and is on the list of its epoch or is
//!   being cleared. A chunk on a list of unused ones has no value.
//! * `chunk-memory`: if a chunk has memory, `data` is aligned for a cell and valid for all of them;
//!   nothing else uses it.

#[cfg(any(test, fuzzing))]
use alloc::collections::BTreeSet;
use core::alloc::Layout;
use core::cell::Cell;
use core::num::NonZero;
use core::ops::Deref;
#[cfg(feature = "track")]
use core::panic::Location;
use core::ptr::NonNull;

use super::key::{END, Epoch, EpochKey, Word};
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// The state of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EpochState {
    /// Takes insertions: the current epoch, the permanent one, and open ones outside of the ring.
    Open,
    /// Takes no more insertions, but is not closed: a previous epoch of the ring.
    Closing,
    /// Closed, but still has values, whose chunks stay.
    Pinned,
}

/// The place of an epoch in its slab.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Permanent,
    /// In the ring, at this place until it is closed.
    Ring(u32),
    /// Outside of the ring, opened by name, by a guard or by a scope; or closed.
    Outside,
}

/// The record's header; the lists of its classes follow.
#[repr(C)]
pub(super) struct EpochRecord {
    pub(super) open: Cell<u64>,
    /// 0 while the record is not used.
    pub(super) generation: Cell<u64>,
    /// Part of the name of an [`Epoch`] that has this record.
    pub(super) place: u64,
    pub(super) state: Cell<EpochState>,
    pub(super) kind: Cell<Kind>,
    /// The next one, for an unused record.
    pub(super) next_free: Cell<Option<EpochPtr>>,
    /// Whether there is a spare record for the case that this one stays pinned.
    pub(super) replaced: Cell<bool>,
    /// The number of its lists.
    classes: u32,
    /// The number of advances of the slab when the epoch began.
    pub(super) opened_at: Cell<u64>,
    /// The number of calls that run within it.
    pub(super) entered: Cell<u64>,
    pub(super) closes_when_left: Cell<bool>,
    /// The user's number.
    pub(super) tag: Cell<u64>,
    pub(super) chunks: Cell<usize>,
    pub(super) close_calls: Cell<u64>,
    pub(super) scanned: Cell<u64>,
    pub(super) recycled: Cell<u64>,
}

/// A record of the table, which is valid until it is removed from there, or the empty one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochPtr(NonNull<EpochRecord>);

/// An empty record, which no one changes.
struct Empty<R>(R);

// SAFETY: no code writes to it: it is on no list, no epoch and no key has it, and a table that
// finds it goes on.
unsafe impl<R> Sync for Empty<R> {}

static NO_EPOCH: Empty<EpochRecord> = Empty(EpochRecord::new(0, 0));
static NO_CHUNK: Empty<Chunk> = Empty(Chunk::new(0, 0, 0, 0, NonNull::dangling()));

impl Deref for EpochPtr {
    type Target = EpochRecord;

    #[inline]
    fn deref(&self) -> &EpochRecord {
        // SAFETY: valid until it is removed from the table, and only methods of the slab have such
        // a pointer, which look it up again after user code has run; all that changes is in cells.
        unsafe { self.0.as_ref() }
    }
}

impl EpochRecord {
    /// The header of a record without an epoch.
    const fn new(place: u64, classes: u32) -> Self {
        EpochRecord {
            open: Cell::new(0),
            generation: Cell::new(0),
            place,
            state: Cell::new(EpochState::Closing),
            kind: Cell::new(Kind::Outside),
            next_free: Cell::new(None),
            replaced: Cell::new(false),
            classes,
            opened_at: Cell::new(0),
            entered: Cell::new(0),
            closes_when_left: Cell::new(false),
            tag: Cell::new(0),
            chunks: Cell::new(0),
            close_calls: Cell::new(0),
            scanned: Cell::new(0),
            recycled: Cell::new(0),
        }
    }
}

/// The layout of a record with a list for each of `classes` classes.
fn layout(classes: usize) -> Layout {
    let bytes = size_of::<EpochRecord>() + classes * size_of::<List>();
    Layout::from_size_align(bytes, align_of::<EpochRecord>()).expect("there are few classes")
}

const _: () = assert!(align_of::<EpochRecord>() >= align_of::<List>());

impl EpochPtr {
    /// The record of no epoch.
    pub(super) fn none() -> Self {
        EpochPtr(NonNull::from(&NO_EPOCH.0))
    }

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

    /// Writes an unused record, whose epochs have this place.
    pub(super) fn write(record: Block, classes: usize, place: u64) -> EpochPtr {
        debug_assert!(record.layout() == layout(classes));
        let start = record.leak_start().cast::<EpochRecord>();
        let header = EpochRecord::new(place, classes as u32);
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
    /// The record is not used afterwards, and is from this source.
    pub(super) unsafe fn into_record(self, source: &Source) -> Block {
        let layout = layout(self.classes as usize);
        // SAFETY: `write` leaked a block of this layout and source, and it is not used any more
        // (precondition).
        unsafe { Block::from_start(self.0.cast(), layout, source) }
    }

    /// The lists of all classes of the slab.
    #[inline]
    pub(super) fn lists<'a>(self) -> &'a [List] {
        let count = self.classes as usize;
        // SAFETY: so many follow the header, and stay as long as it (`lists-follow`).
        unsafe { NonNull::slice_from_raw_parts(self.0.add(1).cast(), count).as_ref() }
    }

    /// The list of the class of a chunk that is from the same slab.
    pub(super) fn list_of<'a>(self, chunk: ChunkPtr) -> &'a List {
        &self.lists()[chunk.class as usize]
    }

    /// The epoch that has this record.
    pub(super) fn epoch(self) -> Option<Epoch> {
        Some(Epoch::new(self.place, NonZero::new(self.generation.get())?))
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

    /// Makes the epoch take no more insertions.
    pub(super) fn set_closing(self) {
        self.open.set(0);
        self.state.set(EpochState::Closing);
    }
}

/// The chunks of an epoch in a size class.
pub(super) struct List {
    pub(super) first: Cell<Option<ChunkPtr>>,
    /// Chunks with a vacant slot; the next insertion takes a slot of the first.
    pub(super) open: Cell<Option<ChunkPtr>>,
    /// Chunks without values, which no insertion uses while there are open ones.
    pub(super) idle: Cell<Option<ChunkPtr>>,
}

/// Puts a chunk on top of a stack.
fn push(stack: &Cell<Option<ChunkPtr>>, chunk: ChunkPtr) {
    let below = stack.replace(Some(chunk));
    chunk.next_open.set(below);
    if let Some(below) = below {
        below.previous_open.set(Some(chunk));
    }
}

/// Takes a chunk off a stack that it is on.
fn unlink(stack: &Cell<Option<ChunkPtr>>, chunk: ChunkPtr) {
    let below = chunk.next_open.get();
    if stack.get() == Some(chunk) {
        // The next one is the first then, whose `previous_open` is not read.
        stack.set(below);
        return;
    }
    let above = chunk.previous_open.get().expect("it is not the first");
    above.next_open.set(below);
    if let Some(below) = below {
        below.previous_open.set(Some(above));
    }
}

impl List {
    pub(super) fn empty() -> Self {
        List {
            first: Cell::new(None),
            open: Cell::new(None),
            idle: Cell::new(None),
        }
    }

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
        push(&self.open, chunk);
    }

    /// Moves a chunk without values from the open ones to the idle ones.
    pub(super) fn set_idle(&self, chunk: ChunkPtr) {
        unlink(&self.open, chunk);
        push(&self.idle, chunk);
    }

    /// Takes a chunk off the stack of idle ones, that it is on.
    pub(super) fn unlink_idle(&self, chunk: ChunkPtr) {
        unlink(&self.idle, chunk);
    }

    /// Takes a vacant slot of the chunk on top of the stack, if there is one. A chunk without
    /// further vacant slots leaves the stack.
    #[inline]
    pub(super) fn pop(&self) -> Option<(ChunkPtr, u32, Word)> {
        let chunk = self.open.get()?;
        // SAFETY: on the stack, so it has a vacant slot (`epoch-lists`).
        let (slot, word) = unsafe { chunk.pop() };
        if word.next_free() == END {
            self.open.set(chunk.next_open.get());
            chunk.listed.set(false);
            chunk.set_full();
        }
        Some((chunk, slot, word))
    }

    /// Takes a chunk off the list. It is on no stack, or the stacks are not used any more.
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

    /// The chunks. While it iterates, only the chunk that was returned last may be removed from the
    /// list.
    pub(super) fn chunks(&self) -> impl Iterator<Item = ChunkPtr> {
        let mut next = self.first.get();
        core::iter::from_fn(move || {
            let chunk = next?;
            next = chunk.next.get();
            Some(chunk)
        })
    }
}

/// Added to the count of a chunk that is noted as one without values, so that it is not noted again
/// each time that its one value leaves. Larger than the slots of any chunk.
const NOTED: u32 = 1 << 16;

/// The place where a chunk is noted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place(pub(super) u8);

/// Whether a chunk has memory for its cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Memory {
    /// It has none: `data` is dangling.
    None,
    /// It has a block, whose pages were given back to the system.
    Discarded,
    /// It has a block.
    Committed,
}

/// What the chunks of a size class have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bytes from one cell to the next.
    pub(super) cell: usize,
    /// Cells of a chunk, at most [`MAX_SLOTS`](super::key::MAX_SLOTS).
    pub(super) slots: u32,
    /// Of the memory of the cells.
    pub(super) data: Layout,
    /// Whether the slots have lengths.
    pub(super) lengths: bool,
}

/// The header of a record; see the file. The fields that a removal from a full chunk needs come
/// first, within 64 bytes: otherwise random removals and insertions took 7 % longer.
#[repr(C)]
pub(super) struct Chunk {
    free: Cell<u32>,
    count: Cell<u32>,
    pub(super) slots: u32,
    pub(super) class: u32,
    data: Cell<NonNull<u8>>,
    /// Part of the keys of its values.
    pub(super) place: u64,
    /// The epoch of the chunk; `None` if it is unused.
    pub(super) epoch: Cell<Option<EpochPtr>>,
    /// The next chunk on the epoch's stack of chunks with a vacant slot, or on that of idle ones.
    pub(super) next_open: Cell<Option<ChunkPtr>>,
    usable: Cell<u32>,
    pinned: Cell<bool>,
    /// Whether it is on that stack, or may not be put there.
    pub(super) listed: Cell<bool>,
    pub(super) memory: Cell<Memory>,
    /// The previous chunk, if this is not the first on its stack. A chunk that becomes open writes
    /// it to the one below.
    pub(super) previous_open: Cell<Option<ChunkPtr>>,
    /// Bytes of a cell, the same for the whole class.
    pub(super) cell_bytes: usize,
    /// The lengths of the buffers, which begin here: computing the address takes more instructions.
    lengths: NonNull<Cell<u32>>,
    /// The next chunk on the list of all chunks of the epoch, or on a list of unused or doomed
    /// ones.
    pub(super) next: Cell<Option<ChunkPtr>>,
    pub(super) previous: Cell<Option<ChunkPtr>>,
    /// The next of the idle chunks of the class, of all epochs.
    pub(super) next_idle: Cell<Option<ChunkPtr>>,
    pub(super) previous_idle: Cell<Option<ChunkPtr>>,
    /// The place where it is noted as a chunk that lost its last value.
    pub(super) noted: Cell<Option<Place>>,
    /// Whether it is on the stack of idle ones.
    pub(super) idle: Cell<bool>,
}

/// A chunk in the table of its slab, whose record is valid until it is removed from there; or the
/// empty one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ChunkPtr(NonNull<Chunk>);

impl Deref for ChunkPtr {
    type Target = Chunk;

    #[inline]
    fn deref(&self) -> &Chunk {
        // SAFETY: valid until it is removed from the table, which takes that it has no value, and
        // is on no list. Only methods of the slab have such a pointer: to a chunk with a value, or
        // found after user code has run. All that changes is in cells.
        unsafe { self.0.as_ref() }
    }
}

impl Chunk {
    /// The header of a chunk without memory and without values.
    const fn new(
        slots: u32,
        class: u32,
        cell_bytes: usize,
        place: u64,
        lengths: NonNull<Cell<u32>>,
    ) -> Self {
        Chunk {
            free: Cell::new(END),
            count: Cell::new(0),
            slots,
            class,
            data: Cell::new(NonNull::dangling()),
            cell_bytes,
            lengths,
            place,
            epoch: Cell::new(None),
            next: Cell::new(None),
            previous: Cell::new(None),
            next_open: Cell::new(None),
            previous_open: Cell::new(None),
            next_idle: Cell::new(None),
            previous_idle: Cell::new(None),
            noted: Cell::new(None),
            idle: Cell::new(false),
            usable: Cell::new(0),
            pinned: Cell::new(false),
            listed: Cell::new(false),
            memory: Cell::new(Memory::None),
        }
    }
}

/// The place where a value was inserted.
#[cfg(feature = "track")]
pub(super) type Origin = Option<&'static Location<'static>>;

/// The layout of a record.
struct RecordLayout {
    layout: Layout,
    #[cfg(feature = "track")]
    origins: usize,
}

impl Plan {
    /// The plan of a chunk of this class with so many slots, which are not more than usual.
    pub(super) fn with_slots(self, slots: u32) -> Plan {
        debug_assert!((1..=self.slots).contains(&slots));
        if slots == self.slots {
            return self;
        }
        // Fewer bytes than usual.
        let data = Layout::from_size_align(self.cell * slots as usize, self.data.align());
        Plan {
            slots,
            data: data.expect("fewer bytes"),
            ..self
        }
    }

    fn record(&self) -> RecordLayout {
        // All sizes are small: slots are at most 2^15.
        let slots = self.slots as usize;
        let lengths = size_of::<Chunk>() + slots * size_of::<Word>();
        let words = if self.lengths { slots } else { 0 };
        let end = lengths + (words * size_of::<u32>()).next_multiple_of(size_of::<u64>());
        #[cfg(feature = "track")]
        let (origins, end) = (end, end + slots * size_of::<Cell<Origin>>());
        let layout = Layout::from_size_align(end, align_of::<Chunk>().max(align_of::<u64>()));
        RecordLayout {
            layout: layout.expect("a record is small"),
            #[cfg(feature = "track")]
            origins,
        }
    }

    /// The layout of the record of a chunk. Its size is a multiple of its alignment.
    pub(super) fn record_layout(&self) -> Layout {
        self.record().layout
    }
}

/// Writes a row of cells with this value, and returns its end.
///
/// # Safety
///
/// `row` is valid for writes of so many cells, and aligned.
unsafe fn write_row<V: Copy>(row: NonNull<Cell<V>>, value: V, len: u32) -> NonNull<Cell<V>> {
    for index in 0..len as usize {
        // SAFETY: a place of the row, which is valid for writes (precondition).
        unsafe { row.add(index).write(Cell::new(value)) };
    }
    // SAFETY: the end of the row, in the same block (precondition).
    unsafe { row.add(len as usize) }
}

impl ChunkPtr {
    /// The record of no chunk.
    pub(super) fn none() -> Self {
        ChunkPtr(NonNull::from(&NO_CHUNK.0))
    }

    /// The start of the record.
    pub(super) fn record(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// Writes the record of a new chunk without memory, whose keys have this place, and at first
    /// the generation of `first`.
    ///
    /// # Safety
    ///
    /// At `record` is memory of the plan's [layout](Plan::record_layout), which nothing else uses,
    /// and which stays as long as the record is in the table.
    pub(super) unsafe fn write(
        record: NonNull<u8>,
        plan: &Plan,
        class: usize,
        place: u64,
        first: Word,
    ) -> ChunkPtr {
        let start = record.cast::<Chunk>();
        let with_lengths = if plan.lengths { plan.slots } else { 0 };
        // SAFETY: the memory is laid out for the header, and for a word, a length, if the class has
        // them, and an origin of each slot (precondition, `record-rows`).
        unsafe {
            let lengths = write_row(start.add(1).cast(), first, plan.slots).cast();
            start.write(Chunk::new(
                plan.slots,
                class as u32,
                plan.cell,
                place,
                lengths,
            ));
            write_row(lengths, 0, with_lengths);
            #[cfg(feature = "track")]
            write_row::<Origin>(record.add(plan.record().origins).cast(), None, plan.slots);
        }
        let chunk = ChunkPtr(start);
        chunk.reset();
        chunk.set_open();
        chunk
    }

    /// The word of a slot.
    #[inline]
    pub(super) fn word<'a>(self, slot: u32) -> &'a Cell<Word> {
        debug_assert!(slot < self.slots);
        // SAFETY: one for each slot (`record-rows`), valid as long as the record, which stays while
        // a slot has a value; guards are of values.
        unsafe {
            self.0
                .add(1)
                .cast::<Cell<Word>>()
                .add(slot as usize)
                .as_ref()
        }
    }

    /// The length of the buffer in a slot.
    #[inline]
    pub(super) fn length<'a>(self, slot: u32) -> &'a Cell<u32> {
        debug_assert!(slot < self.slots);
        // SAFETY: as in `word`; the class has lengths (`record-rows`).
        unsafe { self.lengths.add(slot as usize).as_ref() }
    }

    /// Where the value of a slot was inserted.
    #[cfg(feature = "track")]
    pub(super) fn origin<'a>(self, plan: &Plan, slot: u32) -> &'a Cell<Origin> {
        debug_assert!(slot < self.slots);
        let offset = plan.record().origins + slot as usize * size_of::<Cell<Origin>>();
        // SAFETY: as in `word`; the origins are that far into a record of this plan (`record-rows`).
        unsafe { self.0.byte_add(offset).cast().as_ref() }
    }

    /// The cell of a slot, of a class with cells of that many bytes.
    #[inline]
    pub(super) fn cell(self, slot: u32, bytes: usize) -> NonNull<u8> {
        debug_assert!(slot < self.slots);
        // SAFETY: if the chunk has memory, this is within it (`chunk-memory`). Otherwise, with
        // `wrapping`, it is only an address.
        unsafe {
            let cell = self.data.get().as_ptr().wrapping_add(slot as usize * bytes);
            NonNull::new_unchecked(cell)
        }
    }

    /// Takes a vacant slot; its word is still that of a vacant slot.
    ///
    /// # Safety
    ///
    /// The chunk has a vacant slot.
    #[inline]
    pub(super) unsafe fn pop(self) -> (u32, Word) {
        let slot = self.free.get();
        let word = self.word(slot).get();
        self.free.set(word.next_free());
        self.count.set(self.count.get().wrapping_add(1));
        (slot, word)
    }

    /// Adds a slot whose value has left, and whose word this is, to the vacant ones. Returns
    /// whether there is [more to do](Self::vacated).
    #[inline]
    pub(super) fn push(self, slot: u32, word: Word) -> bool {
        let (vacated, is_last) = word.vacated(self.free.get());
        if is_last {
            return self.retire(slot, vacated);
        }
        self.word(slot).set(vacated);
        self.free.set(slot);
        // Stored before it is tested, so that both are one instruction.
        let count = self.count.get().wrapping_sub(1);
        self.count.set(count);
        count == 0
    }

    /// The work that is left after a removal at which the count became 0.
    pub(super) fn vacated(self) -> Vacated {
        // The usual one first; a pinned chunk counts as listed.
        if !self.listed.get() {
            Vacated::WasFull
        } else if self.pinned.get() {
            Vacated::Last
        } else {
            Vacated::Emptied
        }
    }

    /// Notes that it has no vacant slot any more.
    #[inline]
    pub(super) fn set_full(self) {
        self.count.set(1);
    }

    /// Notes that it has a vacant slot again; returns whether it has no value.
    pub(super) fn set_vacant(self) -> bool {
        debug_assert!(self.has_room());
        self.count.set(self.usable.get() - 1);
        self.usable.get() == 1
    }

    /// Notes that it has no value and is noted.
    pub(super) fn note(self) {
        debug_assert!(self.live() == 0);
        self.count.set(NOTED);
    }

    /// Notes that it is no longer noted.
    pub(super) fn forget_note(self) {
        if self.has_room() && !self.pinned.get() {
            self.count.set(self.live());
        }
    }

    /// Like [`push`](Self::push), for a slot that has no next generation.
    #[cold]
    #[inline(never)]
    fn retire(self, slot: u32, vacated: Word) -> bool {
        self.word(slot).set(vacated.freed(END));
        self.usable.set(self.usable.get() - 1);
        if !self.pinned.get() && !self.has_room() {
            // One value and one slot less: it is as full as before.
            return false;
        }
        self.count.set(self.count.get() - 1);
        self.count.get() == 0
    }

    /// Makes all slots vacant that are not retired, in their order.
    pub(super) fn reset(self) {
        let (mut free, mut usable) = (END, 0);
        for slot in (0..self.slots).rev() {
            let word = self.word(slot).get().freed(free);
            self.word(slot).set(word);
            if !word.is_retired() {
                free = slot;
                usable += 1;
            }
        }
        self.free.set(free);
        self.usable.set(usable);
    }

    /// Makes a chunk without values usable that was pinned; returns `false` if all its slots are
    /// retired.
    ///
    /// The list of vacant slots is as the removals left it: putting it in order would make the last
    /// removal O(slots).
    pub(super) fn reopen(self) -> bool {
        self.set_open();
        self.has_room()
    }

    /// Sets the count of a chunk that has no value, and is not pinned.
    fn set_open(self) {
        self.pinned.set(false);
        self.count.set(u32::from(!self.has_room()));
    }

    /// Number of values.
    pub(super) fn live(self) -> u32 {
        if !self.is_pinned() && !self.has_room() {
            return self.usable.get();
        }
        self.count.get() % NOTED
    }

    pub(super) fn is_pinned(self) -> bool {
        self.pinned.get()
    }

    /// Makes it take no more values, and be recycled when the last one leaves. It has values.
    pub(super) fn pin(self) {
        let live = self.live();
        debug_assert!(live > 0);
        self.count.set(live);
        self.pinned.set(true);
        self.listed.set(true);
    }

    /// Whether it has a vacant slot.
    pub(super) fn has_room(self) -> bool {
        self.free.get() != END
    }

    /// Makes its values unreachable by keys, as they are about to be dropped. Returns their number.
    pub(super) fn doom(self) -> u32 {
        for slot in 0..self.slots {
            let word = self.word(slot).get();
            if word.has_value() {
                self.word(slot).set(word.doomed());
            }
        }
        self.live()
    }

    /// The key of a value that is borrowed, if one is.
    pub(super) fn first_borrowed(self) -> Option<EpochKey> {
        let borrowed = |&slot: &u32| self.word(slot).get().is_borrowed();
        let slot = (0..self.slots).find(borrowed)?;
        Some(self.key(slot))
    }

    /// The key of a slot with a value.
    #[inline]
    pub(super) fn key(self, slot: u32) -> EpochKey {
        EpochKey::new(self.place, slot, self.word(slot).get())
    }

    /// Takes the memory away, which the caller frees or puts back.
    pub(super) fn take_block(self, plan: &Plan, source: &Source) -> Option<Block> {
        if self.memory.replace(Memory::None) == Memory::None {
            return None;
        }
        let data = self.data.replace(NonNull::dangling());
        // SAFETY: `put_block` leaked it, of this plan and source, and takes it back once.
        Some(unsafe { Block::from_start(data, plan.data, source) })
    }

    /// Sets its memory. It had no memory before.
    pub(super) fn put_block(self, block: Block) {
        debug_assert!(self.memory.get() == Memory::None);
        self.data.set(block.leak_start());
        self.memory.set(Memory::Committed);
    }

    /// Returns the pages of its memory, which is not in use, to the system; `false` if they stay.
    pub(super) fn discard(self, plan: &Plan, source: &Source) -> bool {
        let Some(block) = self.take_block(plan, source) else {
            return false;
        };
        let given = block.discard() > 0 || plan.data.size() == 0;
        self.put_block(block);
        if given {
            self.memory.set(Memory::Discarded);
        }
        given
    }

    /// Populates the pages of its memory, so that no access faults.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    pub(super) fn populate(self, plan: &Plan, source: &Source) -> Result<(), AllocError> {
        if let Some(block) = self.take_block(plan, source) {
            let result = block.populate(0, plan.data.size());
            self.put_block(block);
            if result.is_err() {
                self.memory.set(Memory::Discarded);
            }
            result?;
        }
        Ok(())
    }

    /// The word with the latest generation of all vacant slots, and of `first`; `None` if a slot is
    /// retired.
    pub(super) fn latest_word(self, first: Word) -> Option<Word> {
        let mut words = (0..self.slots).map(|slot| self.word(slot).get());
        words.try_fold(first, |latest, word| {
            (!word.is_retired()).then(|| latest.no_earlier_than(word))
        })
    }

    /// Panics if an invariant of a chunk does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(self) {
        let mut vacant = BTreeSet::new();
        let mut next = self.free.get();
        while next != END {
            assert!(
                next < self.slots && vacant.insert(next),
                "vacant-list: each once"
            );
            let word = self.word(next).get();
            assert!(word.is_vacant(), "vacant-list: vacant");
            next = word.next_free();
        }
        let all = |is: fn(Word) -> bool| {
            (0..self.slots)
                .filter(|&slot| is(self.word(slot).get()))
                .count()
        };
        assert_eq!(all(Word::is_vacant), vacant.len(), "vacant-list: all");
        let retired = all(Word::is_retired);
        assert_eq!(
            self.usable.get() as usize + retired,
            self.slots as usize,
            "count-to-event: usable"
        );
        let live = all(Word::has_value);
        assert_eq!(live, self.live() as usize, "count-to-event: the count");
        assert!(
            live == 0 || !self.idle.get(),
            "epoch-lists: an idle one has no value"
        );
        assert!(
            live > 0 || !self.is_pinned(),
            "count-to-event: the last value has left"
        );
        let has_memory = self.memory.get() == Memory::Committed;
        assert!(has_memory || live == 0, "values-have-memory: memory");
    }
}

/// The work that remains after a value has left.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Vacated {
    /// It was the last value of a pinned chunk.
    Last,
    /// Its chunk had no vacant slot, and is on no stack.
    WasFull,
    /// It was the last value of a chunk that was not full.
    Emptied,
}
