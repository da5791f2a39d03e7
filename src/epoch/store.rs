//! All chunks of a slab: the table that keys are looked up in, and the chunks without an epoch.
//!
//! An unused chunk with memory is cached for the next epoch, up to a bound. The memory of the
//! others is freed: pages from the system are returned to it, other memory to its source. The
//! record stays, and is on the list of bare ones.
//!
//! If the source is the user's, the record is freed too: otherwise records lay between the free
//! parts of a source that has few bytes, so that none of them was large enough for a chunk. One
//! with a retired slot stays.
//!
//! Chunks without values of epochs that are not closed stay with these epochs, which use them
//! again. They are also listed here, for an epoch that needs memory and gets none: the ones that
//! lost their last value most recently are [noted](Noted), the others are linked, by class.
//!
//! Memory for the records of chunks is allocated for several chunks at once ([`RecordBlocks`]), but
//! for each if the source is the user's. The cells of chunks begin at pages if these are returned
//! to the system. Between them, a record of its own took all of each page that it reached into: one
//! of 4,200 bytes took two pages. With malloc, reads at random of a slab with records of their own
//! took 3 % longer.
//!
//! # Invariants
//!
//! * `chunk-has-place`: every chunk of the table belongs to an epoch, is being cleared, is on one
//!   of the lists of unused ones of its class, or is retired.
//! * `committed-is-chunks`: `committed` is the bytes of the memory of all chunks that have some.
//! * `store-whole`: user code, which an allocator or a source is, runs only while this is whole.
//! * `largest-cell`: `largest` is the bytes of a cell of the last class, and `small` is the smaller
//!   of that and [`SMALL`].
//! * `idle-linked`: the idle chunks of a class are linked from its `idle` on, whichever epoch has
//!   them. Chunks in `noted` are of epochs that are not closed, know their places, and are not
//!   idle.
//! * `record-blocks`: records are in the blocks of `records`, which stay until this is dropped. The
//!   last `left` records of a class's last block were not used; those of the other blocks all were.
//!   If the source is the user's, each record is a block of its own.

#[cfg(any(test, fuzzing))]
use alloc::collections::BTreeMap;
#[cfg(any(test, fuzzing))]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::contents::SMALL;
use super::key::{EpochKey, INDEX_BITS, Word};
use super::record::{ChunkPtr, Memory, Place, Plan};
use super::table::Table;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The chunks of a slab, by size class.
pub(super) struct Store {
    /// The slab's part of a place: added to an index it is the place of a key.
    place: u64,
    table: Table<ChunkPtr>,
    /// The generation that the slots of a new record begin with.
    first: Cell<Word>,
    /// Bytes of the records that are blocks of their own.
    own_bytes: Cell<usize>,
    records: RecordBlocks,
    /// An array of `class_count` classes.
    classes: Block,
    class_count: usize,
    pub(super) largest: usize,
    pub(super) small: usize,
    committed: Cell<usize>,
    max_bytes: usize,
    /// The most unused chunks of a class that keep their memory.
    bound: Cell<usize>,
    pub(super) noted: Noted,
    pub(super) source: Source,
}

/// A size class, and its unused chunks.
struct Class {
    plan: Plan,
    cached: Cell<Option<ChunkPtr>>,
    cached_count: Cell<usize>,
    bare: Cell<Option<ChunkPtr>>,
    idle: Cell<Option<ChunkPtr>>,
    /// Bytes of the cached chunks, and of the idle ones.
    cached_bytes: Cell<usize>,
    idle_bytes: Cell<usize>,
    records: Spare,
}

/// The limits of a store.
pub(super) struct Limits {
    pub(super) max_bytes: usize,
    pub(super) bound: usize,
}

impl Store {
    /// A store without chunks, of these classes.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn try_new(
        place: u64,
        plans: impl ExactSizeIterator<Item = Plan>,
        limits: Limits,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let class_count = plans.len();
        let layout = Layout::array::<Class>(class_count).expect("there are few classes");
        let classes = Block::allocate(layout, source)?;
        let mut largest = 0;
        for (index, plan) in plans.enumerate() {
            largest = plan.cell;
            let class = Class {
                plan,
                cached: Cell::new(None),
                cached_count: Cell::new(0),
                bare: Cell::new(None),
                idle: Cell::new(None),
                cached_bytes: Cell::new(0),
                idle_bytes: Cell::new(0),
                records: Spare::new(),
            };
            // SAFETY: the block is laid out for `class_count` of them, and `index` is below that.
            unsafe { classes.start().cast().add(index).write(class) };
        }
        Ok(Store {
            place,
            table: Table::new(ChunkPtr::none(), source),
            first: Cell::new(Word::FIRST),
            own_bytes: Cell::new(0),
            records: RecordBlocks::new(source),
            classes,
            class_count,
            largest,
            small: largest.min(SMALL),
            committed: Cell::new(0),
            max_bytes: limits.max_bytes,
            bound: Cell::new(limits.bound),
            noted: Noted::new(),
            source: source.clone(),
        })
    }

    /// The chunk and the slot of a key, if they exist.
    #[inline]
    pub(super) fn find(&self, key: EpochKey) -> Option<(ChunkPtr, u32)> {
        // A place from another slab is beyond all chunks.
        let index = usize::try_from(key.place() ^ self.place).ok()?;
        let (chunk, slot) = (self.table.get(index)?, key.slot());
        // As words: callers index by the slot, and for a narrower type the compiler keeps both
        // widths.
        (u64::from(slot) < u64::from(chunk.slots)).then_some((chunk, slot))
    }

    pub(super) fn get(&self, index: usize) -> Option<ChunkPtr> {
        self.table.get(index)
    }

    pub(super) fn classes(&self) -> usize {
        self.class_count
    }

    fn class(&self, index: usize) -> &Class {
        assert!(index < self.class_count);
        // SAFETY: in bounds; `try_new` wrote all of them, and they stay as long as the store.
        unsafe { self.classes.start().cast().add(index).as_ref() }
    }

    /// The plan of the usual chunk of a class.
    #[inline]
    pub(super) fn plan(&self, class: usize) -> &Plan {
        &self.class(class).plan
    }

    /// The plan of a chunk.
    #[inline]
    pub(super) fn plan_of(&self, chunk: ChunkPtr) -> Plan {
        self.plan(chunk.class as usize).with_slots(chunk.slots)
    }

    /// Bytes of the memory of all chunks.
    pub(super) fn committed(&self) -> usize {
        self.committed.get()
    }

    /// Number of cached chunks.
    pub(super) fn cached(&self) -> usize {
        (0..self.class_count)
            .map(|class| self.class(class).cached_count.get())
            .sum()
    }

    /// Bytes of the tables, and of the records of the chunks.
    pub(super) fn record_bytes(&self) -> usize {
        let records = self.own_bytes.get() + self.records.bytes();
        self.table.bytes() + records + self.class_count * size_of::<Class>()
    }

    /// Adds a chunk to the idle ones.
    pub(super) fn link_idle(&self, chunk: ChunkPtr) {
        let class = self.class(chunk.class as usize);
        let next = class.idle.replace(Some(chunk));
        chunk.next_idle.set(next);
        chunk.previous_idle.set(None);
        if let Some(next) = next {
            next.previous_idle.set(Some(chunk));
        }
        chunk.idle.set(true);
        self.count(&class.idle_bytes, chunk, true);
    }

    /// Removes a chunk from the idle ones.
    pub(super) fn unlink_idle(&self, chunk: ChunkPtr) {
        let class = self.class(chunk.class as usize);
        let (previous, next) = (chunk.previous_idle.get(), chunk.next_idle.get());
        match previous {
            Some(previous) => previous.next_idle.set(next),
            None => class.idle.set(next),
        }
        if let Some(next) = next {
            next.previous_idle.set(previous);
        }
        chunk.idle.set(false);
        self.count(&class.idle_bytes, chunk, false);
    }

    /// Adds the bytes of a chunk to a count, or subtracts them.
    fn count(&self, count: &Cell<usize>, chunk: ChunkPtr, is_added: bool) {
        let (before, bytes) = (count.get(), self.plan_of(chunk).data.size());
        count.set(if is_added {
            before + bytes
        } else {
            before - bytes
        });
    }

    /// The chunk of a class that became idle last.
    pub(super) fn idle(&self, class: usize) -> Option<ChunkPtr> {
        self.class(class).idle.get()
    }

    /// Bytes of the unused chunks of all classes except one.
    pub(super) fn cached_bytes(&self, class: usize) -> usize {
        let others = (0..self.class_count).filter(|&other| other != class);
        others
            .map(|other| self.class(other).cached_bytes.get())
            .sum()
    }

    /// Bytes of the chunks without values of all classes except one, both unused and idle.
    pub(super) fn free_bytes(&self, class: usize) -> usize {
        let others = (0..self.class_count).filter(|&other| other != class);
        let idle = others.map(|other| self.class(other).idle_bytes.get());
        self.cached_bytes(class) + idle.sum::<usize>()
    }

    /// Bytes that must be freed before there is room for another chunk of this plan.
    pub(super) fn excess(&self, plan: &Plan) -> usize {
        let wanted = self.committed.get().saturating_add(plan.data.size());
        wanted.saturating_sub(self.max_bytes)
    }

    /// Takes an unused chunk with memory, if there is one; all its slots are vacant.
    pub(super) fn take(&self, class: usize) -> Option<ChunkPtr> {
        let class = self.class(class);
        let chunk = class.cached.get()?;
        class.cached.set(chunk.next.take());
        class.cached_count.set(class.cached_count.get() - 1);
        self.count(&class.cached_bytes, chunk, false);
        Some(chunk)
    }

    /// Caches a chunk that belongs to no epoch and has no value; see [`trim`](Self::trim).
    pub(super) fn put(&self, chunk: ChunkPtr) {
        debug_assert!(chunk.epoch.get().is_none() && chunk.memory.get() == Memory::Committed);
        // A retired chunk stays as it is, on no list and with its memory, because of the
        // generations of its slots (`slot-generation-rises`).
        if chunk.reopen() {
            let class = self.class(chunk.class as usize);
            chunk.next.set(class.cached.replace(Some(chunk)));
            class.cached_count.set(class.cached_count.get() + 1);
            self.count(&class.cached_bytes, chunk, true);
        }
    }

    /// Adds a chunk of this class, with so many slots, to the cached ones.
    ///
    /// # Errors
    ///
    /// If a limit is reached, or the source refuses.
    pub(super) fn grow(&self, class: usize, slots: u32) -> Result<(), AllocError> {
        let Class { plan, bare, .. } = self.class(class);
        let plan = plan.with_slots(slots);
        let bytes = plan.data.size();
        let limit = AllocError::Limit {
            bytes,
            limit: self.max_bytes,
        };
        let fits = || self.excess(&plan) == 0;
        if !fits() {
            return Err(limit);
        }
        let bare_with = |memory| {
            let chunk = bare.get()?;
            (chunk.memory.get() == memory && chunk.slots == slots).then_some(chunk)
        };
        if let Some(chunk) = bare_with(Memory::Discarded) {
            chunk.populate(&plan, &self.source)?;
            bare.set(chunk.next.take());
            self.committed.set(self.committed.get() + bytes);
            self.put(chunk);
            return Ok(());
        }
        let block = Block::allocate(plan.data, &self.source)?;
        block.touch();
        // The allocator may have used this store, so it is read now.
        let chunk = match bare_with(Memory::None) {
            Some(chunk) => {
                bare.set(chunk.next.take());
                chunk
            }
            None => self.try_write(class, &plan)?,
        };
        if !fits() {
            drop(self.put_away(chunk));
            return Err(limit);
        }
        chunk.put_block(block);
        self.committed.set(self.committed.get() + bytes);
        self.put(chunk);
        Ok(())
    }

    /// Whether records are in blocks that stay.
    fn has_record_blocks(&self) -> bool {
        !self.source.is_foreign()
    }

    /// The fewest slots of a chunk that is wanted with this plan. Chunks whose records stay all
    /// have the same size, so that each record serves again.
    pub(super) fn least_slots(&self, plan: &Plan) -> u32 {
        if self.has_record_blocks() {
            plan.slots
        } else {
            1
        }
    }

    /// A chunk without memory, on no list.
    fn try_write(&self, class: usize, plan: &Plan) -> Result<ChunkPtr, AllocError> {
        let layout = plan.record_layout();
        let spare = &self.class(class).records;
        let mut own = None;
        // Again if the allocator has used the room, or the records.
        let (record, index) = loop {
            if !self.has_record_blocks() && own.is_none() {
                own = Some(Block::allocate(layout, &self.source)?);
            }
            let Some(index) = self.table.next_index() else {
                self.table.make_room()?;
                continue;
            };
            if index >> INDEX_BITS != 0 {
                let bytes = layout.size();
                return Err(AllocError::OutOfMemory { bytes });
            }
            match own.take() {
                Some(block) => {
                    self.own_bytes.set(self.own_bytes.get() + layout.size());
                    break (block.leak_start(), index);
                }
                None => match spare.take(layout) {
                    Some(record) => break (record, index),
                    None => self.records.grow(spare, layout)?,
                },
            }
        };
        let (place, first) = (self.place + index as u64, self.first.get());
        // SAFETY: given out once, of this layout; valid until it is removed (`record-blocks`).
        let chunk = unsafe { ChunkPtr::write(record, plan, class, place, first) };
        self.table.insert(index, chunk);
        Ok(chunk)
    }

    /// Removes the record of a chunk without memory that is on no list, or lists it as a bare one:
    /// if its block stays, or a slot is retired, whose generation would be lost. Returns the block,
    /// which the caller drops. O(slots).
    fn put_away(&self, chunk: ChunkPtr) -> Option<Block> {
        let class = self.class(chunk.class as usize);
        let latest = match self.has_record_blocks() {
            true => None,
            false => chunk.latest_word(self.first.get()),
        };
        let Some(latest) = latest else {
            chunk.next.set(class.bare.replace(Some(chunk)));
            return None;
        };
        self.first.set(latest);
        let layout = self.plan_of(chunk).record_layout();
        self.own_bytes.set(self.own_bytes.get() - layout.size());
        self.table.remove((chunk.place - self.place) as usize);
        // SAFETY: `try_write` leaked it, a block of its own (`record-blocks`). No key leads to it
        // any more, and it was on no list.
        Some(unsafe { Block::from_start(chunk.record(), layout, &self.source) })
    }

    /// Frees the table if there are no records. Returns whether it did. A source of the user's may
    /// run.
    pub(super) fn free_table(&self) -> bool {
        self.table.clear_if_empty().is_some()
    }

    /// Sets how many unused chunks of a class keep their memory from now on.
    pub(super) fn set_bound(&self, chunks: usize) {
        self.bound.set(chunks);
    }

    /// Frees the memory of unused chunks above the bound. Returns the number of bytes. A source of
    /// the user's may run.
    pub(super) fn trim(&self) -> usize {
        self.give_back_above(|| self.bound.get())
    }

    /// Like [`trim`](Self::trim), for one class, and at most `most` chunks.
    pub(super) fn trim_some(&self, class: usize, most: usize) {
        let cached = &self.class(class).cached_count;
        for _ in 0..most {
            if cached.get() <= self.bound.get() || self.give_back(class).is_none() {
                break;
            }
        }
    }

    /// Frees the memory of all unused chunks. Returns the number of bytes. A source of the user's
    /// may run.
    pub(super) fn give_back_all(&self) -> usize {
        let bytes = self.give_back_above(|| 0);
        self.free_table();
        bytes
    }

    fn give_back_above(&self, kept: impl Fn() -> usize) -> usize {
        let mut bytes = 0;
        for index in 0..self.class_count {
            // The source may use this store, so all is read each time.
            while self.class(index).cached_count.get() > kept() {
                match self.give_back(index) {
                    Some(given) => bytes += given,
                    None => break,
                }
            }
        }
        bytes
    }

    /// Frees the memory of an unused chunk of a class. Returns its bytes, or `None` if the class
    /// has no such chunk, or the memory stays. A source of the user's may run.
    pub(super) fn give_back(&self, class: usize) -> Option<usize> {
        let chunk = self.take(class)?;
        let plan = self.plan_of(chunk);
        let mut block = None;
        if self.source.page_size().is_none() {
            block = chunk.take_block(&plan, &self.source);
        } else if !chunk.discard(&plan, &self.source) {
            // Locked pages stay, so freeing the others gains nothing.
            self.put(chunk);
            return None;
        }
        let bytes = plan.data.size();
        self.committed.set(self.committed.get() - bytes);
        let record = self.put_away(chunk);
        drop((block, record));
        Some(bytes)
    }

    /// Panics if an invariant of the store does not hold. `seen` has the chunks of the epochs.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, seen: &mut BTreeMap<u64, &'static str>) {
        let (mut committed, mut own_bytes) = (0, 0);
        self.table.check();
        for class in 0..self.classes() {
            let class = self.class(class);
            let (mut count, mut cached_bytes) = (0, 0);
            for (list, first) in [("cached", &class.cached), ("bare", &class.bare)] {
                let mut next = first.get();
                while let Some(chunk) = next {
                    chunk.check();
                    assert_eq!(chunk.live(), 0, "values-have-memory: unused");
                    assert!(chunk.epoch.get().is_none(), "chunk-has-place: no epoch's");
                    let cached = chunk.memory.get() == Memory::Committed;
                    assert_eq!(cached, list == "cached", "chunk-has-place: {list}");
                    assert_eq!(
                        seen.insert(chunk.place, list),
                        None,
                        "chunk-has-place: once"
                    );
                    count += usize::from(cached);
                    cached_bytes += usize::from(cached) * self.plan_of(chunk).data.size();
                    next = chunk.next.get();
                }
            }
            assert_eq!(
                count,
                class.cached_count.get(),
                "chunk-has-place: the cached ones"
            );
            let idle: Vec<_> =
                core::iter::successors(class.idle.get(), |chunk| chunk.next_idle.get()).collect();
            assert!(idle.iter().all(|chunk| chunk.idle.get()), "idle-linked");
            let idle = idle.iter().map(|&chunk| self.plan_of(chunk).data.size());
            let bytes = (cached_bytes, idle.sum::<usize>());
            let counted = (class.cached_bytes.get(), class.idle_bytes.get());
            assert_eq!(counted, bytes, "idle-linked: the bytes");
        }
        for chunk in self.table.records() {
            let plan = self.plan_of(chunk);
            own_bytes += plan.record_layout().size();
            if chunk.memory.get() == Memory::Committed {
                committed += plan.data.size();
            }
            let index = (chunk.place - self.place) as usize;
            assert_eq!(self.get(index), Some(chunk), "chunk-has-place: its index");
            let retired = (0..chunk.slots).all(|slot| chunk.word(slot).get().is_retired());
            assert!(
                seen.contains_key(&chunk.place) || retired,
                "chunk-has-place: lost"
            );
        }
        assert_eq!(committed, self.committed(), "committed-is-chunks");
        assert!(
            self.has_record_blocks() || own_bytes == self.own_bytes.get(),
            "record-blocks: the bytes"
        );
        for place in self.noted.places() {
            if let Some(chunk) = self.noted.get(place) {
                assert_eq!(chunk.noted.get(), Some(place), "idle-linked: its place");
                assert!(
                    !chunk.is_pinned() && !chunk.idle.get(),
                    "idle-linked: noted"
                );
                assert!(chunk.epoch.get().is_some(), "idle-linked: an epoch's");
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        for chunk in self.table.records() {
            let plan = self.plan_of(chunk);
            drop(chunk.take_block(&plan, &self.source));
            if !self.has_record_blocks() {
                let (record, layout) = (chunk.record(), plan.record_layout());
                // SAFETY: `try_write` leaked it (`record-blocks`), and it is not used any more.
                drop(unsafe { Block::from_start(record, layout, &self.source) });
            }
        }
    }
}

/// How many chunks are noted.
const PLACES: u8 = 8;

/// The chunks of all epochs that lost their last value most recently.
pub(super) struct Noted {
    chunks: [Cell<Option<ChunkPtr>>; PLACES as usize],
    /// The place that is used next.
    turn: Cell<u8>,
}

impl Noted {
    pub(super) fn new() -> Self {
        Noted {
            chunks: [const { Cell::new(None) }; PLACES as usize],
            turn: Cell::new(0),
        }
    }

    pub(super) fn get(&self, place: Place) -> Option<ChunkPtr> {
        self.chunks[place.0 as usize].get()
    }

    pub(super) fn set(&self, place: Place, chunk: Option<ChunkPtr>) {
        self.chunks[place.0 as usize].set(chunk);
    }

    /// The place for another chunk.
    pub(super) fn next(&self) -> Place {
        let place = self.turn.get();
        self.turn.set((place + 1) % PLACES);
        Place(place)
    }

    /// All places, beginning with that of the chunk that was noted first.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let turn = self.turn.get();
        (0..PLACES).map(move |index| Place((turn + index) % PLACES))
    }
}

/// The maximum number of records of a block: with that many, little of a page is unused.
const MOST: usize = 16;

/// The records of a class that are not used yet.
struct Spare {
    next: Cell<NonNull<u8>>,
    left: Cell<usize>,
    given: Cell<usize>,
}

impl Spare {
    fn new() -> Self {
        Spare {
            next: Cell::new(NonNull::dangling()),
            left: Cell::new(0),
            given: Cell::new(0),
        }
    }

    /// A record of this layout, if one is left.
    fn take(&self, record: Layout) -> Option<NonNull<u8>> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.given.set(self.given.get() + 1);
        let start = self.next.get();
        // SAFETY: the block has this record (`record-blocks`), so its end is within it, or one past
        // it.
        self.next.set(unsafe { start.add(record.size()) });
        Some(start)
    }
}

/// The blocks of all classes.
struct RecordBlocks {
    blocks: Row<(NonNull<u8>, Layout)>,
    bytes: Cell<usize>,
    source: Source,
}

impl RecordBlocks {
    fn new(source: &Source) -> Self {
        RecordBlocks {
            blocks: Row::new(source.clone()),
            bytes: Cell::new(0),
            source: source.clone(),
        }
    }

    /// Allocates more records of a class, as many as it has, unless an allocator that runs
    /// has done so in between. For the first chunk it allocates one.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    fn grow(&self, spare: &Spare, record: Layout) -> Result<(), AllocError> {
        let block = |count: usize| {
            let bytes = record.size() * count;
            // Records are small: slots are at most 2^15.
            let layout = Layout::from_size_align(bytes, record.align()).expect("it is small");
            Ok((count, Block::allocate(layout, &self.source)?))
        };
        let wanted = spare.given.get().clamp(1, MOST);
        let (count, block) = block(wanted).or_else(|_: AllocError| block(1))?;
        // Again if the allocator has used the room.
        while self.blocks.len() == self.blocks.capacity() {
            self.blocks.try_reserve(self.blocks.len() + 1)?;
        }
        if spare.left.get() == 0 {
            let layout = block.layout();
            let start = block.leak_start();
            self.blocks.push((start, layout));
            self.bytes.set(self.bytes.get() + layout.size());
            spare.next.set(start);
            spare.left.set(count);
        }
        Ok(())
    }

    /// Bytes of the blocks and their table.
    fn bytes(&self) -> usize {
        self.bytes.get() + self.blocks.bytes()
    }
}

impl Drop for RecordBlocks {
    fn drop(&mut self) {
        for index in 0..self.blocks.len() {
            if let Some((start, layout)) = self.blocks.get(index) {
                // SAFETY: leaked by `grow`, of this layout and source; no record is used any more,
                // and none needs dropping.
                drop(unsafe { Block::from_start(start, layout, &self.source) });
            }
        }
    }
}
