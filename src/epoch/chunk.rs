//! A chunk: cells that belong to one epoch, and their record, which lies elsewhere.
//!
//! The record is a header followed by the words of the slots, the lengths of buffers, and, with
//! the feature `track`, where each value was inserted. It stays until the slab is dropped,
//! because it has the generations. The memory of the cells may be given back.
//!
//! # Invariants
//!
//! * C1: `free` begins a list, through the words of vacant slots, of all slots of the chunk
//!   that are vacant, each once; it ends with [`END`]. With a chunk whose values are being
//!   dropped there is no such list until it is [reset](ChunkPtr::reset).
//! * C2: `usable` is the number of slots that are not retired. `count` says how many removals there
//!   are to the next one that is followed by more work, and comes to 0 at that: in a chunk without a
//!   vacant slot that is not pinned it is 1, for the next removal makes it open; in any other it is
//!   the number of values, and [`NOTED`] more if the chunk is noted. So a removal asks one question
//!   for three events: it was in a full chunk, was the last one of it, or of a pinned one.
//! * C3: a chunk with a value has memory, and is on the list of its epoch or is being
//!   cleared. A chunk on a list of unused ones has no value.
//! * C4: of a chunk with memory, `data` is aligned for a cell and valid for all of them; no
//!   one else uses it.

use core::alloc::Layout;
use core::cell::Cell;
use core::ops::Deref;
#[cfg(feature = "track")]
use core::panic::Location;
use core::ptr::NonNull;

use super::epoch_record::EpochPtr;
use super::key::EpochKey;
use super::word::{END, Word};
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;

/// Added to the count of a chunk that was noted as one without values, so that it is not noted each
/// time that its one value leaves. More than a chunk has slots.
const NOTED: u32 = 1 << 16;

/// Where a chunk is noted.
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
    /// Cells of a chunk, at most [`MAX_SLOTS`](super::word::MAX_SLOTS).
    pub(super) slots: u32,
    /// Of the memory of the cells.
    pub(super) data: Layout,
    /// Whether the slots have lengths.
    pub(super) lengths: bool,
}

/// The header of a record; see the file. What a removal from a full chunk needs comes first,
/// within 64 bytes: removals and insertions at random took 7 % longer where it was not.
#[repr(C)]
pub(super) struct Chunk {
    free: Cell<u32>,
    count: Cell<u32>,
    pub(super) slots: u32,
    pub(super) class: u32,
    data: Cell<NonNull<u8>>,
    /// That of the keys of its values.
    pub(super) place: u64,
    /// Whose it is; none of an unused chunk.
    pub(super) epoch: Cell<Option<EpochPtr>>,
    /// On the stack of chunks of the epoch that have a vacant slot, or on that of its idle ones.
    pub(super) next_open: Cell<Option<ChunkPtr>>,
    usable: Cell<u32>,
    pinned: Cell<bool>,
    /// Whether it is on that stack, or may not be put there.
    pub(super) listed: Cell<bool>,
    pub(super) memory: Cell<Memory>,
    /// Of one that is not the first on its stack. A chunk that becomes open writes it to the one below.
    pub(super) previous_open: Cell<Option<ChunkPtr>>,
    /// Bytes of a cell: those of the class.
    pub(super) cell_bytes: usize,
    /// The lengths of the buffers, which begin here: to compute it takes more instructions.
    lengths: NonNull<Cell<u32>>,
    /// On the list of all chunks of the epoch, or on a list of unused or doomed ones.
    pub(super) next: Cell<Option<ChunkPtr>>,
    pub(super) previous: Cell<Option<ChunkPtr>>,
    /// Of the idle chunks of the class, of all epochs.
    pub(super) next_idle: Cell<Option<ChunkPtr>>,
    pub(super) previous_idle: Cell<Option<ChunkPtr>>,
    /// Where it is noted as one that lost its last value.
    pub(super) noted: Cell<Option<Place>>,
    /// Whether it is on the stack of idle ones.
    pub(super) idle: Cell<bool>,
}

/// A chunk in the table of its slab: the records are there until the slab is gone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ChunkPtr(NonNull<Chunk>);

impl Deref for ChunkPtr {
    type Target = Chunk;

    #[inline(always)]
    fn deref(&self) -> &Chunk {
        // SAFETY: there until the slab is gone, whose methods alone have such a pointer; all
        // that changes is in cells.
        unsafe { self.0.as_ref() }
    }
}

/// The layout of a record.
struct RecordLayout {
    layout: Layout,
    #[cfg(feature = "track")]
    origins: usize,
}

impl Plan {
    fn record(&self) -> RecordLayout {
        // All sizes are small: slots are at most 2^15.
        let slots = self.slots as usize;
        let lengths = size_of::<Chunk>() + slots * size_of::<Word>();
        let words = if self.lengths { slots } else { 0 };
        let end = lengths + (words * size_of::<u32>()).next_multiple_of(size_of::<u64>());
        #[cfg(feature = "track")]
        let (origins, end) = (end, end + slots * size_of::<&Location<'static>>());
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

impl ChunkPtr {
    /// Writes the record of a new chunk without memory; its keys have that place.
    ///
    /// # Safety
    ///
    /// At `record` is memory of the plan's [layout](Plan::record_layout), which nothing else uses, and
    /// which stays until the slab is gone.
    pub(super) unsafe fn write(
        record: NonNull<u8>,
        plan: &Plan,
        class: usize,
        place: u64,
    ) -> ChunkPtr {
        let start = record.cast::<Chunk>();
        // SAFETY: the lengths follow the words, or the words end the block.
        let lengths = unsafe { start.add(1).cast::<Cell<Word>>().add(plan.slots as usize) };
        let header = Chunk {
            free: Cell::new(END),
            count: Cell::new(0),
            slots: plan.slots,
            class: class as u32,
            data: Cell::new(NonNull::dangling()),
            cell_bytes: plan.cell,
            lengths: lengths.cast(),
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
        };
        // SAFETY: the memory is laid out for the header and what follows (precondition).
        unsafe { start.write(header) };
        let chunk = ChunkPtr(start);
        for slot in 0..plan.slots {
            // SAFETY: within the record, which has a word for each slot.
            unsafe { chunk.word_place(slot).write(Cell::new(Word::FIRST)) };
        }
        if plan.lengths {
            for slot in 0..plan.slots {
                // SAFETY: within the record, which has a length for each slot of such a class.
                unsafe { chunk.length_place(slot).write(Cell::new(0)) };
            }
        }
        #[cfg(feature = "track")]
        for slot in 0..plan.slots {
            // SAFETY: within the record, which has an origin for each slot.
            unsafe { chunk.origin_place(plan, slot).write(Cell::new(None)) };
        }
        chunk.reset();
        chunk.set_open();
        chunk
    }

    #[inline(always)]
    fn word_place(self, slot: u32) -> NonNull<Cell<Word>> {
        // SAFETY: the words follow the header, one for each slot; `slot` is one of them.
        unsafe { self.0.add(1).cast::<Cell<Word>>().add(slot as usize) }
    }

    #[inline(always)]
    fn length_place(self, slot: u32) -> NonNull<Cell<u32>> {
        // SAFETY: they are one for each slot of such a class.
        unsafe { self.lengths.add(slot as usize) }
    }

    #[cfg(feature = "track")]
    fn origin_place(
        self,
        plan: &Plan,
        slot: u32,
    ) -> NonNull<Cell<Option<&'static Location<'static>>>> {
        // SAFETY: the origins are that far into a record of this plan, one for each slot.
        unsafe {
            let origins = self.0.cast::<u8>().add(plan.record().origins);
            origins.cast::<Cell<_>>().add(slot as usize)
        }
    }

    /// The word of a slot, which there is.
    #[inline(always)]
    pub(super) fn word<'a>(self, slot: u32) -> &'a Cell<Word> {
        debug_assert!(slot < self.slots);
        // SAFETY: written, and there until the slab is gone, whose guards do not outlive it.
        unsafe { self.word_place(slot).as_ref() }
    }

    /// The length of the buffer in a slot.
    #[inline(always)]
    pub(super) fn length<'a>(self, slot: u32) -> &'a Cell<u32> {
        debug_assert!(slot < self.slots);
        // SAFETY: as in `word`; the class has lengths, which `write` initialised.
        unsafe { self.length_place(slot).as_ref() }
    }

    /// Where the value of a slot was inserted.
    #[cfg(feature = "track")]
    pub(super) fn origin<'a>(
        self,
        plan: &Plan,
        slot: u32,
    ) -> &'a Cell<Option<&'static Location<'static>>> {
        debug_assert!(slot < self.slots);
        // SAFETY: as in `word`; `write` initialised the origins.
        unsafe { self.origin_place(plan, slot).as_ref() }
    }

    /// The cell of a slot, of a class with cells of that many bytes.
    #[inline(always)]
    pub(super) fn cell(self, slot: u32, bytes: usize) -> NonNull<u8> {
        debug_assert!(slot < self.slots);
        // SAFETY: of a chunk with memory within it (C4); else, with `wrapping`, no more than an
        // address.
        unsafe {
            let cell = self.data.get().as_ptr().wrapping_add(slot as usize * bytes);
            NonNull::new_unchecked(cell)
        }
    }

    /// Takes a vacant slot; its word is still that of a vacant slot.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(always)]
    pub(super) unsafe fn pop(self) -> (u32, Word) {
        let slot = self.free.get();
        let word = self.word(slot).get();
        self.free.set(word.next_free());
        self.count.set(self.count.get().wrapping_add(1));
        (slot, word)
    }

    /// The value of that slot, whose word this is, has left. Returns whether there is
    /// [more to do](Self::vacated).
    #[inline(always)]
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

    /// What is left to do after a value has left at which the count came to 0.
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

    /// It has no vacant slot any more.
    #[inline(always)]
    pub(super) fn set_full(self) {
        self.count.set(1);
    }

    /// It has a vacant slot again; whether it has no value.
    pub(super) fn set_vacant(self) -> bool {
        debug_assert!(self.has_room());
        self.count.set(self.usable.get() - 1);
        self.usable.get() == 1
    }

    /// It has no value, and is noted as such one.
    pub(super) fn note(self) {
        debug_assert!(self.live() == 0);
        self.count.set(NOTED);
    }

    /// It is not noted any more.
    pub(super) fn forget_note(self) {
        if self.has_room() && !self.pinned.get() {
            self.count.set(self.live());
        }
    }

    /// As [`push`](Self::push), of a slot that has no next generation.
    #[cold]
    #[inline(never)]
    fn retire(self, slot: u32, vacated: Word) -> bool {
        self.word(slot).set(vacated.freed(END));
        self.usable.set(self.usable.get() - 1);
        if !self.pinned.get() && !self.has_room() {
            // One value less, and one slot: it is as full as before.
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

    /// It has no value, and is not pinned any more; `false` if all its slots are retired.
    ///
    /// The list of vacant slots is as the removals left it: to put it in order would make the
    /// last of them O(slots).
    pub(super) fn reopen(self) -> bool {
        self.set_open();
        self.has_room()
    }

    /// It has no value, and is not pinned.
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

    /// It takes no more values, and is recycled when the last one leaves. It has some.
    pub(super) fn pin(self) {
        let live = self.live();
        debug_assert!(live > 0);
        self.count.set(live);
        self.pinned.set(true);
        self.listed.set(true);
    }

    /// The first vacant slot, or [`END`].
    #[cfg(any(test, fuzzing))]
    pub(super) fn free(self) -> u32 {
        self.free.get()
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn usable(self) -> usize {
        self.usable.get() as usize
    }

    /// A number of its own.
    #[cfg(any(test, fuzzing))]
    pub(super) fn index(self) -> u64 {
        self.place
    }

    /// Whether it has a vacant slot.
    pub(super) fn has_room(self) -> bool {
        self.free.get() != END
    }

    /// No key leads to its values any more, which are about to be dropped. Returns how many.
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

    /// Gives it memory: it has none.
    pub(super) fn put_block(self, block: Block) {
        debug_assert!(self.memory.get() == Memory::None);
        self.data.set(block.leak_start());
        self.memory.set(Memory::Committed);
    }
}

impl ChunkPtr {
    /// Gives the pages of its memory, which is not in use, back to the system; `false` if they
    /// stay.
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
}

/// What remains to be done after a value has left.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Vacated {
    /// It was the last of a pinned chunk.
    Last,
    /// It was in a chunk without a vacant slot, which is on no stack.
    WasFull,
    /// It was the last of a chunk that was not full.
    Emptied,
}
