//! The records of a slab's epochs: which are in use, and that there is always one for the
//! next advance.
//!
//! # Invariants
//!
//! * R1: every record of the table is either an epoch's or on the list of spare ones.
//! * R2: `spares >= owed`: one for each place of the ring that has no epoch, and one for each
//!   epoch of the ring that could stay pinned when it is closed, because it has had a chunk.
//!   So an advance needs no memory.

use core::cell::Cell;

use super::epoch_record::{EpochPtr, Kind};
use super::key::{Epoch, INDEX_BITS};
use crate::error::AllocError;
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The records of epochs.
pub(super) struct EpochRecords {
    /// Of the slab: added to an index it is the place of an epoch.
    place: u64,
    classes: usize,
    table: Row<EpochPtr>,
    spare: Cell<Option<EpochPtr>>,
    spares: Cell<usize>,
    owed: Cell<usize>,
    last: Cell<u64>,
    source: Source,
}

/// Why there is no such epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NoEpoch {
    Foreign,
    Over,
}

impl EpochRecords {
    /// Records for the permanent epoch and a ring.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn try_new(
        place: u64,
        classes: usize,
        ring: usize,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let records = EpochRecords {
            place,
            classes,
            table: Row::new(source.clone()),
            spare: Cell::new(None),
            spares: Cell::new(0),
            owed: Cell::new(0),
            last: Cell::new(0),
            source: source.clone(),
        };
        while records.spares.get() < ring + 1 {
            records.grow()?;
        }
        records.owed.set(ring);
        Ok(records)
    }

    /// The record of that epoch.
    #[inline(always)]
    pub(super) fn find(&self, epoch: Epoch) -> Result<EpochPtr, NoEpoch> {
        let index = epoch.place() ^ self.place;
        if index >> INDEX_BITS != 0 {
            return Err(NoEpoch::Foreign);
        }
        match self.table.get(index as usize) {
            Some(record) if record.generation.get() == epoch.generation() => Ok(record),
            _ => Err(NoEpoch::Over),
        }
    }

    /// The record of that epoch, if it takes insertions.
    #[inline(always)]
    pub(super) fn find_open(&self, epoch: Epoch) -> Option<EpochPtr> {
        // Of another slab it is beyond all records.
        let index = usize::try_from(epoch.place() ^ self.place).ok()?;
        let record = self.table.get(index)?;
        (record.open.get() == epoch.generation()).then_some(record)
    }

    /// All epochs that there are, in the order of their indices.
    pub(super) fn get(&self, index: usize) -> Option<EpochPtr> {
        self.table.get(index)
    }

    /// Adds a spare record.
    ///
    /// # Errors
    ///
    /// When the source refuses, or there are 2^30 records.
    #[cold]
    fn grow(&self) -> Result<(), AllocError> {
        let record = EpochPtr::allocate(self.classes, &self.source)?;
        // Again where the allocator has used the room.
        while self.table.len() == self.table.capacity() {
            self.table.try_reserve(self.table.len() + 1)?;
        }
        let index = self.table.len();
        if index >> INDEX_BITS != 0 {
            let bytes = record.layout().size();
            return Err(AllocError::OutOfMemory { bytes });
        }
        let record = EpochPtr::write(record, self.classes, self.place + index as u64);
        self.table.push(record);
        self.put_back(record);
        Ok(())
    }

    /// Adds a record that has no epoch to the spare ones.
    fn put_back(&self, record: EpochPtr) {
        record.next_free.set(self.spare.replace(Some(record)));
        self.spares.set(self.spares.get() + 1);
    }

    /// Begins an epoch with a record that is owed to the ring (R2).
    pub(super) fn open_owed(&self, kind: Kind, opened_at: u64) -> EpochPtr {
        self.owed.set(self.owed.get() - 1);
        self.open(kind, opened_at).expect("R2: one is owed")
    }

    /// Begins an epoch with a record that is not owed.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn try_open(&self, kind: Kind, opened_at: u64) -> Result<EpochPtr, AllocError> {
        loop {
            if self.spares.get() > self.owed.get() {
                if let Some(record) = self.open(kind, opened_at) {
                    return Ok(record);
                }
            }
            self.grow()?;
        }
    }

    fn open(&self, kind: Kind, opened_at: u64) -> Option<EpochPtr> {
        let record = self.spare.get()?;
        self.spare.set(record.next_free.take());
        self.spares.set(self.spares.get() - 1);
        // 2^64 epochs last for 500 years of one in a nanosecond.
        self.last.set(self.last.get() + 1);
        record.set_open(self.last.get(), kind, opened_at);
        Some(record)
    }

    /// Makes sure that the ring has a record for another epoch, should this one, which is to
    /// have its first chunk, stay pinned. Returns whether it was so before: else the allocator
    /// has run.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn replace(&self, record: EpochPtr) -> Result<bool, AllocError> {
        if record.replaced.get() || !matches!(record.kind.get(), Kind::Ring(_)) {
            return Ok(true);
        }
        if self.spares.get() <= self.owed.get() {
            self.grow()?;
            return Ok(false);
        }
        self.owed.set(self.owed.get() + 1);
        record.replaced.set(true);
        Ok(true)
    }

    /// The epoch leaves its place in the ring, to which a record is owed from now on: that
    /// which was set aside for it, or its own, which it then gives up.
    pub(super) fn leave_ring(&self, record: EpochPtr) {
        debug_assert!(record.replaced.get() || record.chunks.get() == 0);
        if !record.replaced.replace(false) {
            self.owed.set(self.owed.get() + 1);
        }
        record.kind.set(Kind::Outside);
    }

    /// The epoch is over: it is closed and has no chunks.
    pub(super) fn end(&self, record: EpochPtr) {
        debug_assert!(record.chunks.get() == 0 && record.open.get() == 0);
        record.generation.set(0);
        self.put_back(record);
    }

    /// Bytes of the records and their table.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.table.len() * EpochPtr::bytes(self.classes)
    }

    /// Panics where R1 or R2 does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, ring: usize) {
        let mut spares = 0;
        let mut next = self.spare.get();
        while let Some(record) = next {
            assert_eq!(
                record.generation.get(),
                0,
                "R1: a spare record has no epoch"
            );
            spares += 1;
            next = record.next_free.get();
        }
        assert_eq!(spares, self.spares.get(), "R1: the spare records");
        let records = || (0..self.table.len()).filter_map(|index| self.table.get(index));
        let used = records()
            .filter(|record| record.generation.get() != 0)
            .count();
        assert_eq!(spares + used, self.table.len(), "R1: used or spare");
        let in_ring = records()
            .filter(|record| record.generation.get() != 0)
            .filter(|record| matches!(record.kind.get(), Kind::Ring(_)));
        let replaced = in_ring.clone().filter(|record| record.replaced.get());
        let owed = ring - in_ring.clone().count() + replaced.count();
        assert_eq!(owed, self.owed.get(), "R2: what is owed");
        assert!(spares >= owed, "R2: is there");
    }
}

impl Drop for EpochRecords {
    fn drop(&mut self) {
        for index in 0..self.table.len() {
            if let Some(record) = self.table.get(index) {
                // SAFETY: written by `grow`, and the slab is gone.
                drop(unsafe { record.into_record(self.classes, &self.source) });
            }
        }
    }
}
