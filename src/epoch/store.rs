//! All chunks of a slab: the table that keys are looked up in, and the chunks without an epoch.
//!
//! An unused chunk with memory is cached for the next epoch, up to a bound. The memory of the
//! others is freed: pages from the system are returned to it, other memory to its source. The
//! record stays, and is on the list of bare ones.
//!
//! Chunks without values of epochs that are not closed stay with these epochs, which use them
//! again. They are also listed here, for an epoch that needs memory and gets none: the ones that
//! lost their last value most recently are [noted](Noted), the others are linked, by class.
//!
//! Memory for the records of chunks is allocated for several chunks at once ([`RecordBlocks`]). The
//! cells of chunks begin at pages if these are returned to the system. Between them, a record of
//! its own took all of each page that it reached into: one of 4,200 bytes took two pages.
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
//! * `record-blocks`: the blocks of the table stay until this is dropped. The last `left` records
//!   of a class's last block were not used; those of the other blocks all were.

#[cfg(any(test, fuzzing))]
use alloc::collections::BTreeMap;
#[cfg(any(test, fuzzing))]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::contents::SMALL;
use super::key::{EpochKey, INDEX_BITS};
use super::record::{ChunkPtr, Memory, Place, Plan};
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The chunks of a slab, by size class.
pub(super) struct Store {
    /// The slab's part of a place: added to an index it is the place of a key.
    place: u64,
    table: Row<ChunkPtr>,
    records: RecordBlocks,
    classes: NonNull<Class>,
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
    idle_count: Cell<usize>,
    records: Spare,
}

/// The limits of a store.
pub(super) struct Limits {
    pub(super) max_bytes: usize,
    pub(super) bound: usize,
}

fn class_layout(classes: usize) -> Layout {
    Layout::array::<Class>(classes).expect("there are few classes")
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
        let block = Block::allocate(class_layout(class_count), source)?;
        let start = block.leak_start().cast();
        let mut largest = 0;
        for (index, plan) in plans.enumerate() {
            largest = plan.cell;
            let class = Class {
                plan,
                cached: Cell::new(None),
                cached_count: Cell::new(0),
                bare: Cell::new(None),
                idle: Cell::new(None),
                idle_count: Cell::new(0),
                records: Spare::new(),
            };
            // SAFETY: the block is laid out for `class_count` of them, and `index` is below that.
            unsafe { start.add(index).write(class) };
        }
        Ok(Store {
            place,
            table: Row::new(source.clone()),
            records: RecordBlocks::new(source),
            classes: start,
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
    #[inline(always)]
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
        unsafe { self.classes.add(index).as_ref() }
    }

    #[inline]
    pub(super) fn plan(&self, class: usize) -> &Plan {
        &self.class(class).plan
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
        self.table.bytes() + self.records.bytes() + self.class_count * size_of::<Class>()
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
        class.idle_count.set(class.idle_count.get() + 1);
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
        class.idle_count.set(class.idle_count.get() - 1);
    }

    /// The chunk of a class that became idle last.
    pub(super) fn idle(&self, class: usize) -> Option<ChunkPtr> {
        self.class(class).idle.get()
    }

    /// Bytes of the chunks without values of all classes except one, both unused and idle.
    pub(super) fn free_bytes(&self, class: usize) -> usize {
        let others = (0..self.class_count).filter(|&other| other != class);
        let free = others.map(|other| {
            let other = self.class(other);
            (other.cached_count.get() + other.idle_count.get()) * other.plan.data.size()
        });
        free.sum()
    }

    /// Bytes that must be freed before there is room for another chunk of a class.
    pub(super) fn excess(&self, class: usize) -> usize {
        let wanted = self
            .committed
            .get()
            .saturating_add(self.plan(class).data.size());
        wanted.saturating_sub(self.max_bytes)
    }

    /// Takes an unused chunk with memory, if there is one; all its slots are vacant.
    pub(super) fn take(&self, class: usize) -> Option<ChunkPtr> {
        let class = self.class(class);
        let chunk = class.cached.get()?;
        class.cached.set(chunk.next.take());
        class.cached_count.set(class.cached_count.get() - 1);
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
        }
    }

    /// Adds a chunk of this class to the cached ones.
    ///
    /// # Errors
    ///
    /// If a limit is reached, or the source refuses.
    pub(super) fn grow(&self, class: usize) -> Result<(), AllocError> {
        let Class { plan, bare, .. } = self.class(class);
        let bytes = plan.data.size();
        let limit = AllocError::Limit {
            bytes,
            limit: self.max_bytes,
        };
        let fits = || self.excess(class) == 0;
        if !fits() {
            self.make_way(class);
        }
        if !fits() {
            return Err(limit);
        }
        if let Some(chunk) = bare.get().filter(|it| it.memory.get() == Memory::Discarded) {
            chunk.populate(plan, &self.source)?;
            bare.set(chunk.next.take());
            self.committed.set(self.committed.get() + bytes);
            self.put(chunk);
            return Ok(());
        }
        let block = Block::allocate(plan.data, &self.source)?;
        block.touch();
        // The allocator may have used this store, so it is read now.
        let chunk = match bare.get() {
            Some(chunk) if chunk.memory.get() == Memory::None => {
                bare.set(chunk.next.take());
                chunk
            }
            _ => self.try_write(class, plan)?,
        };
        if !fits() {
            // A chunk without memory stays usable.
            chunk.next.set(bare.replace(Some(chunk)));
            return Err(limit);
        }
        chunk.put_block(block);
        self.committed.set(self.committed.get() + bytes);
        self.put(chunk);
        Ok(())
    }

    /// A chunk without memory, on no list.
    fn try_write(&self, class: usize, plan: &Plan) -> Result<ChunkPtr, AllocError> {
        let layout = plan.record_layout();
        let spare = &self.class(class).records;
        // Again if the allocator has used the room, or the records.
        let record = loop {
            if self.table.len() >> INDEX_BITS != 0 {
                let bytes = layout.size();
                return Err(AllocError::OutOfMemory { bytes });
            }
            if self.table.len() == self.table.capacity() {
                self.table.try_reserve(self.table.len() + 1)?;
                continue;
            }
            match spare.take(layout) {
                Some(record) => break record,
                None => self.records.grow(spare, layout)?,
            }
        };
        let index = self.table.len() as u64;
        // SAFETY: given out once, of this layout; valid until this is dropped (`record-blocks`).
        let chunk = unsafe { ChunkPtr::write(record, plan, class, self.place + index) };
        self.table.push(chunk);
        Ok(chunk)
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

    /// Frees the memory of all unused chunks. Returns the number of bytes. A source of the user's
    /// may run.
    pub(super) fn give_back_all(&self) -> usize {
        self.give_back_above(|| 0)
    }

    fn give_back_above(&self, kept: impl Fn() -> usize) -> usize {
        let mut bytes = 0;
        for index in 0..self.class_count {
            let class = self.class(index);
            // The source may use this store, so all is read each time.
            while class.cached_count.get() > kept() && self.give_back(index) {
                bytes += class.plan.data.size();
            }
        }
        bytes
    }

    /// Frees the memory of unused chunks of other classes, until there is room for a chunk of this
    /// one; frees nothing if that cannot be enough. A source of the user's may run.
    #[cold]
    #[inline(never)]
    fn make_way(&self, class: usize) {
        let others = || (0..self.class_count).filter(|&other| other != class);
        let unused = others().map(|other| {
            let other = self.class(other);
            other.cached_count.get() * other.plan.data.size()
        });
        if unused.sum::<usize>() < self.excess(class) {
            return;
        }
        // The source may use this store, so all is read each time.
        for other in others() {
            while self.excess(class) > 0 && self.give_back(other) {}
        }
    }

    /// Frees the memory of an unused chunk of a class; returns `false` if it has none, or the
    /// memory stays. A source of the user's may run.
    pub(super) fn give_back(&self, index: usize) -> bool {
        let class = self.class(index);
        let Some(chunk) = self.take(index) else {
            return false;
        };
        let mut block = None;
        if self.source.page_size().is_none() {
            block = chunk.take_block(&class.plan, &self.source);
        } else if !chunk.discard(&class.plan, &self.source) {
            // Locked pages stay, so freeing the others gains nothing.
            self.put(chunk);
            return false;
        }
        chunk.next.set(class.bare.replace(Some(chunk)));
        self.committed
            .set(self.committed.get() - class.plan.data.size());
        drop(block);
        true
    }

    /// Panics if an invariant of the store does not hold. `seen` has the chunks of the epochs.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, seen: &mut BTreeMap<u64, &'static str>) {
        let mut committed = 0;
        for class in 0..self.classes() {
            let class = self.class(class);
            let mut count = 0;
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
            assert_eq!(idle.len(), class.idle_count.get(), "idle-linked: how many");
        }
        for index in 0.. {
            let Some(chunk) = self.get(index) else { break };
            if chunk.memory.get() == Memory::Committed {
                committed += self.plan(chunk.class as usize).data.size();
            }
            let retired = (0..chunk.slots).all(|slot| chunk.word(slot).get().is_retired());
            assert!(
                seen.contains_key(&chunk.place) || retired,
                "chunk-has-place: lost"
            );
        }
        assert_eq!(committed, self.committed(), "committed-is-chunks");
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
        for index in 0..self.table.len() {
            if let Some(chunk) = self.get(index) {
                let plan = self.plan(chunk.class as usize);
                drop(chunk.take_block(plan, &self.source));
            }
        }
        let layout = class_layout(self.class_count);
        // SAFETY: leaked when this was made; nothing of it needs dropping.
        drop(unsafe { Block::from_start(self.classes.cast(), layout, &self.source) });
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
    /// meanwhile has done so. For the first chunk it allocates one.
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
