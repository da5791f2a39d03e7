//! All chunks of a slab: the table that keys lead through, and those that no epoch has.
//!
//! An unused chunk with memory is cached for the next epoch, up to a bound; beyond it the
//! memory is given back: to the system, where it is in pages of the system's, else to where
//! it came from. The record stays, and is on the list of bare ones.
//!
//! # Invariants
//!
//! * U1: every chunk of the table is an epoch's, is being cleared, is on one of the lists of
//!   unused ones of its class, or is retired.
//! * U2: `committed` is the bytes of the memory of all chunks that have some.
//! * U3: code of the user's, which an allocator or a source is, runs only while this is whole.
//! * U5: the idle chunks of a class are linked from its `idle` on, whichever epoch has them. Those in
//!   `noted` are of epochs that are not closed, know their places, and are not idle.
//! * U4: `largest` is the bytes of a cell of the last class, and `small` that or
//!   [`SMALL`](sizes::SMALL), if that is less.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use super::chunk::{ChunkPtr, Memory, Plan};
use super::idle::Noted;
use super::key::{EpochKey, INDEX_BITS};
use super::record_blocks::{RecordBlocks, Spare};
use super::sizes;
use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The chunks of a slab, by size class.
pub(super) struct Store {
    /// Of the slab: added to an index it is the place of a key.
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

/// What a store is to be like.
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
    /// When the source refuses.
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
            small: largest.min(sizes::SMALL),
            committed: Cell::new(0),
            max_bytes: limits.max_bytes,
            bound: Cell::new(limits.bound),
            noted: Noted::new(),
            source: source.clone(),
        })
    }

    /// The chunk and the slot of a key, if there are such.
    #[inline(always)]
    pub(super) fn find(&self, key: EpochKey) -> Option<(ChunkPtr, u32)> {
        // Of another slab it is beyond all chunks.
        let index = usize::try_from(key.place() ^ self.place).ok()?;
        let (chunk, slot) = (self.table.get(index)?, key.slot());
        // As words: callers index by the slot, and of a narrower one the compiler makes both.
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

    /// The lists of unused chunks of a class.
    #[cfg(any(test, fuzzing))]
    pub(super) fn unused(&self, class: usize) -> (Option<ChunkPtr>, Option<ChunkPtr>) {
        let class = self.class(class);
        (class.cached.get(), class.bare.get())
    }

    /// The idle chunks of a class, and how many.
    #[cfg(any(test, fuzzing))]
    pub(super) fn idle_of(&self, class: usize) -> (Option<ChunkPtr>, usize) {
        let class = self.class(class);
        (class.idle.get(), class.idle_count.get())
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn cached_of(&self, class: usize) -> usize {
        self.class(class).cached_count.get()
    }

    /// Bytes of the tables, and of the records of the chunks.
    pub(super) fn record_bytes(&self) -> usize {
        self.table.bytes() + self.records.bytes() + self.class_count * size_of::<Class>()
    }

    /// A chunk of an epoch is idle.
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

    /// A chunk is not idle any more.
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

    /// The idle chunk of a class that was idle last.
    pub(super) fn idle(&self, class: usize) -> Option<ChunkPtr> {
        self.class(class).idle.get()
    }

    /// Bytes of the chunks without values of all classes but one, both unused and idle.
    pub(super) fn free_bytes(&self, class: usize) -> usize {
        let others = (0..self.class_count).filter(|&other| other != class);
        let free = others.map(|other| {
            let other = self.class(other);
            (other.cached_count.get() + other.idle_count.get()) * other.plan.data.size()
        });
        free.sum()
    }

    /// Bytes that have to go before there is room for another chunk of a class.
    pub(super) fn excess(&self, class: usize) -> usize {
        let wanted = self
            .committed
            .get()
            .saturating_add(self.plan(class).data.size());
        wanted.saturating_sub(self.max_bytes)
    }

    /// Takes an unused chunk with memory, if one is there; all its slots are vacant.
    pub(super) fn take(&self, class: usize) -> Option<ChunkPtr> {
        let class = self.class(class);
        let chunk = class.cached.get()?;
        class.cached.set(chunk.next.take());
        class.cached_count.set(class.cached_count.get() - 1);
        Some(chunk)
    }

    /// Caches a chunk that is no epoch's and has no value; see [`trim`](Self::trim).
    pub(super) fn put(&self, chunk: ChunkPtr) {
        debug_assert!(chunk.epoch.get().is_none() && chunk.memory.get() == Memory::Committed);
        // One that is retired stays where it is: on no list, with its memory.
        if chunk.reopen() {
            let class = self.class(chunk.class as usize);
            chunk.next.set(class.cached.replace(Some(chunk)));
            class.cached_count.set(class.cached_count.get() + 1);
        }
    }

    /// Adds a chunk of that class to those that are cached.
    ///
    /// # Errors
    ///
    /// At a limit, or when the source refuses.
    pub(super) fn grow(&self, class: usize) -> Result<(), AllocError> {
        let Class { plan, bare, .. } = self.class(class);
        let bytes = plan.data.size();
        let fits = || self.excess(class) == 0;
        if !fits() {
            self.make_way(class);
        }
        if !fits() {
            return Err(AllocError::Limit { bytes });
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
            // A chunk without memory is lost to no one.
            chunk.next.set(bare.replace(Some(chunk)));
            return Err(AllocError::Limit { bytes });
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
        // Again where the allocator has used the room, or the records.
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
        // SAFETY: given out once, of this layout; there until this is dropped (B1).
        let chunk = unsafe { ChunkPtr::write(record, plan, class, self.place + index) };
        self.table.push(chunk);
        Ok(chunk)
    }

    /// How many unused chunks of a class keep their memory from now on.
    pub(super) fn set_bound(&self, chunks: usize) {
        self.bound.set(chunks);
    }

    /// Gives back the memory of unused chunks that are more than are to be cached. Returns
    /// how many bytes. A source of the user's may run.
    pub(super) fn trim(&self) -> usize {
        self.give_back_above(|| self.bound.get())
    }

    /// Gives back the memory of all unused chunks. Returns how many bytes. A source of the
    /// user's may run.
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

    /// Gives back the memory of unused chunks of other classes, until there is room for a chunk of
    /// this one; none where that is in vain. A source of the user's may run.
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

    /// Gives back the memory of an unused chunk of a class; `false` if there is none, or it
    /// stays. A source of the user's may run.
    pub(super) fn give_back(&self, index: usize) -> bool {
        let class = self.class(index);
        let Some(chunk) = self.take(index) else {
            return false;
        };
        let mut block = None;
        if self.source.page_size().is_none() {
            block = chunk.take_block(&class.plan, &self.source);
        } else if !chunk.discard(&class.plan, &self.source) {
            // Locked pages stay, so nothing is gained with the others.
            self.put(chunk);
            return false;
        }
        chunk.next.set(class.bare.replace(Some(chunk)));
        self.committed
            .set(self.committed.get() - class.plan.data.size());
        drop(block);
        true
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
