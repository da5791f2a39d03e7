//! `RawEpochs`: an epoch slab without the type of its values: its epochs, the ring, its chunks.
//!
//! # Invariants
//!
//! * H1: the place `position` of the ring has its open epoch; every epoch of kind
//!   `Ring(i)` is at place `i`, and the others of the ring are closing. `current` is the ring's open
//!   one, or the one that was entered last and not left, which is open.
//! * H2: no code of the user's runs while any of this is half changed: allocators run in
//!   [`make_room`](RawEpochs::make_room), [`open`](RawEpochs::open) and
//!   [`Store::trim`], destructors in `clear.rs`.

use core::cell::Cell;
use core::fmt;

use super::CloseReport;
use super::chunk::{ChunkPtr, Plan, Vacated};
use super::epoch_record::{EpochPtr, EpochState, Kind};
use super::epoch_records::{EpochRecords, NoEpoch};
use super::error::{EpochError, Refusal};
use super::key::{Epoch, EpochKey, INDEX_BITS};
use super::store::{Limits, Store};
use super::word::Word;
use crate::error::{AccessError, AllocError, BuildError};
use crate::raw::atomic::{Count, Ordering};
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The slabs of this process that were made; each has a number of its own.
static SLABS: Count = Count::new(0);

/// The number of the next slab; none once all are taken.
fn take_number(slabs: &Count) -> Option<u64> {
    let limit = (u64::MAX >> INDEX_BITS) as usize;
    // Relaxed: each number is taken once, and nothing else is to be seen with it.
    let next = |last: usize| last.checked_add(1).filter(|&next| next < limit);
    let last = slabs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    last.ok().map(|last| last as u64 + 1)
}

/// An epoch slab without the type of its values.
pub(super) struct RawEpochs {
    current: Cell<EpochPtr>,
    permanent: EpochPtr,
    pub(super) store: Store,
    pub(super) records: EpochRecords,
    ring: Row<Option<EpochPtr>>,
    position: Cell<usize>,
    pub(super) advances: Cell<u64>,
    pub(super) totals: Totals,
}

/// Counts since the slab was made.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) close_calls: Cell<u64>,
    pub(super) closed: Cell<u64>,
    pub(super) scanned: Cell<u64>,
    pub(super) recycled: Cell<u64>,
}

impl Totals {
    fn add(count: &Cell<u64>, more: u64) {
        count.set(count.get().wrapping_add(more));
    }
}

impl RawEpochs {
    /// Epochs with a ring of that length, whose first one is current.
    ///
    /// # Errors
    ///
    /// When the source refuses, or there are no numbers left for slabs.
    pub(super) fn try_new(
        plans: impl ExactSizeIterator<Item = Plan>,
        epochs: usize,
        limits: Limits,
        source: &Source,
    ) -> Result<Self, BuildError> {
        let place = take_number(&SLABS).ok_or(BuildError::TooManySlabs)? << INDEX_BITS;
        let records = EpochRecords::try_new(place, plans.len(), epochs, source)?;
        let ring = Row::new(source.clone());
        ring.try_reserve(epochs)?;
        let permanent = records.try_open(Kind::Permanent, 0)?;
        let current = records.open_owed(Kind::Ring(0), 0);
        for place in 0..epochs {
            ring.push((place == 0).then_some(current));
        }
        Ok(RawEpochs {
            current: Cell::new(current),
            permanent,
            store: Store::try_new(place, plans, limits, source)?,
            records,
            ring,
            position: Cell::new(0),
            advances: Cell::new(0),
            totals: Totals::default(),
        })
    }

    pub(super) fn current(&self) -> Epoch {
        self.current.get().epoch().expect("H1: it is open")
    }

    /// The open epoch of the ring.
    fn current_of_ring(&self) -> EpochPtr {
        self.ring.get(self.position.get()).flatten().expect("H1")
    }

    /// The current epoch is that one, or the ring's. Returns which one was, unless that was the
    /// ring's.
    pub(super) fn set_entered(&self, record: Option<EpochPtr>) -> Option<EpochPtr> {
        let of_ring = self.current_of_ring();
        let last = self.current.replace(record.unwrap_or(of_ring));
        Some(last).filter(|&last| last != of_ring)
    }

    pub(super) fn permanent(&self) -> Epoch {
        self.permanent.epoch().expect("it is never closed")
    }

    pub(super) fn ring(&self) -> usize {
        self.ring.len()
    }

    // Insertion.

    /// Takes a vacant slot of an epoch that is open, if there is one without more ado.
    #[inline(always)]
    fn pop(&self, record: EpochPtr, class: usize) -> Option<(ChunkPtr, u32, Word)> {
        debug_assert!(class < self.store.classes());
        // SAFETY: callers pass a class of the slab's: 0, or that of a size up to the largest.
        unsafe { record.list(class) }.pop()
    }

    /// Makes room in an epoch that is open, or a step of it: the caller finds the epoch again,
    /// which the allocator may have closed.
    ///
    /// # Errors
    ///
    /// At a limit, or when the source refuses.
    #[cold]
    #[inline(never)]
    fn make_room(&self, record: EpochPtr, class: usize) -> Result<(), AllocError> {
        // SAFETY: `class` is below the number of the slab's classes.
        let list = unsafe { record.list(class) };
        if list.open.get().is_some() || !self.records.replace(record)? {
            return Ok(());
        }
        if let Some(chunk) = list.idle.get() {
            self.forget_idle(record, chunk);
            list.push_open(chunk);
            return Ok(());
        }
        match self.store.take(class) {
            Some(chunk) => {
                chunk.epoch.set(Some(record));
                record.chunks.set(record.chunks.get() + 1);
                list.add(chunk);
                Ok(())
            }
            None => {
                let grown = self.store.grow(class);
                grown.or_else(|error| self.take_over(class, error))
            }
        }
    }

    /// Takes a vacant slot of an epoch that takes insertions, if it has one.
    #[inline(always)]
    pub(super) fn claim_at_once(
        &self,
        epoch: Epoch,
        class: usize,
    ) -> Option<(ChunkPtr, u32, Word)> {
        self.pop(self.records.find_open(epoch)?, class)
    }

    /// Takes a vacant slot of an epoch; its word is still that of a vacant slot.
    ///
    /// # Errors
    ///
    /// If the epoch takes no insertions, or has no room and gets none.
    #[inline(always)]
    pub(super) fn claim(
        &self,
        epoch: Epoch,
        class: usize,
    ) -> Result<(ChunkPtr, u32, Word), Refusal> {
        match self.claim_at_once(epoch, class) {
            Some(claimed) => Ok(claimed),
            None => self.claim_with_room(Some(epoch), class),
        }
    }

    /// Takes a vacant slot of the current epoch, as [`claim`](Self::claim) does.
    ///
    /// # Errors
    ///
    /// If it has no room and gets none.
    #[inline(always)]
    pub(super) fn claim_current(&self, class: usize) -> Result<(ChunkPtr, u32, Word), Refusal> {
        match self.pop(self.current.get(), class) {
            Some(claimed) => Ok(claimed),
            None => self.claim_with_room(None, class),
        }
    }

    /// Takes a vacant slot of an epoch, or of the current one, where there was none. Not in
    /// line: the loop would cost every insertion six registers that are saved.
    ///
    /// # Errors
    ///
    /// Where [`claim`](Self::claim) has one.
    #[cold]
    #[inline(never)]
    fn claim_with_room(
        &self,
        epoch: Option<Epoch>,
        class: usize,
    ) -> Result<(ChunkPtr, u32, Word), Refusal> {
        loop {
            let record = match epoch {
                Some(epoch) => {
                    (self.records.find_open(epoch)).ok_or_else(|| self.why_not_open(epoch))
                }
                None => Ok(self.current.get()),
            }?;
            match self.pop(record, class) {
                Some(claimed) => return Ok(claimed),
                None => self.make_room(record, class)?,
            }
        }
    }

    /// Why nothing can be inserted into that epoch, which is not open.
    #[cold]
    fn why_not_open(&self, epoch: Epoch) -> Refusal {
        match self.records.find(epoch) {
            Ok(record) if record.state.get() == EpochState::Closing => Refusal::Closing(()),
            Ok(_) | Err(NoEpoch::Over) => Refusal::Closed(()),
            Err(NoEpoch::Foreign) => Refusal::Foreign(()),
        }
    }

    // Keys.

    /// The slot of a key whose value is there and not borrowed.
    ///
    /// # Errors
    ///
    /// Where it is not, or is borrowed.
    #[inline(always)]
    pub(super) fn idle(&self, key: EpochKey) -> Result<(ChunkPtr, u32), AccessError> {
        let Some((chunk, slot)) = self.store.find(key) else {
            return Err(AccessError::Missing);
        };
        let word = chunk.word(slot).get();
        if word == key.word() {
            Ok((chunk, slot))
        } else {
            Err(word.why_no_writer(key.word()))
        }
    }

    /// A reader comes by this key. Its end is that of a [`Ref`](super::Ref).
    ///
    /// # Errors
    ///
    /// If there is no value, or it is refused.
    #[inline(always)]
    pub(super) fn begin_read(&self, key: EpochKey) -> Result<(ChunkPtr, u32), AccessError> {
        let Some((chunk, slot)) = self.store.find(key) else {
            return Err(AccessError::Missing);
        };
        let word = chunk.word(slot);
        match word.get().read(key.word()) {
            Some(read) => {
                word.set(read);
                Ok((chunk, slot))
            }
            None => Err(word.get().why_no_reader(key.word())),
        }
    }

    /// The slot of a key whose value is there, borrowed or not.
    #[inline]
    pub(super) fn slot(&self, key: EpochKey) -> Option<(ChunkPtr, u32)> {
        (self.store.find(key)).filter(|(chunk, slot)| chunk.word(*slot).get().is_of(key.word()))
    }

    /// The value of a slot, which was idle, has left: its cell is vacant from now on.
    #[inline(always)]
    pub(super) fn push(&self, chunk: ChunkPtr, slot: u32, word: Word) {
        if chunk.push(slot, word) {
            self.end_of_push(chunk);
        }
    }

    /// A value was the last one of a pinned chunk, or in a full one.
    #[cold]
    #[inline(never)]
    fn end_of_push(&self, chunk: ChunkPtr) {
        match chunk.vacated() {
            Vacated::WasFull => self.reopen(chunk),
            Vacated::Last => self.recycle_pinned(chunk),
            Vacated::Emptied => self.note(chunk),
        }
    }

    /// A chunk that was full has a vacant slot.
    fn reopen(&self, chunk: ChunkPtr) {
        let is_empty = chunk.set_vacant();
        if let Some(record) = chunk.epoch.get() {
            // SAFETY: the class of a chunk of the slab's.
            unsafe { record.list(chunk.class as usize) }.push_open(chunk);
            if is_empty {
                self.note(chunk);
            }
        }
    }

    /// A pinned chunk has lost its last value.
    #[inline(never)]
    fn recycle_pinned(&self, chunk: ChunkPtr) {
        if let Some(record) = chunk.epoch.get() {
            self.detach(record, chunk);
            self.store.put(chunk);
            if record.chunks.get() == 0 {
                self.records.end(record);
            }
            self.store.trim();
        }
    }

    pub(super) fn detach(&self, record: EpochPtr, chunk: ChunkPtr) {
        self.forget_idle(record, chunk);
        // SAFETY: the class of a chunk of the slab's.
        unsafe { record.list(chunk.class as usize) }.remove(chunk);
        chunk.epoch.set(None);
        record.chunks.set(record.chunks.get() - 1);
    }

    // Epochs.

    /// The chunks of an epoch, as long as no chunk comes or goes but for the one that was
    /// returned.
    pub(super) fn chunks_of(&self, record: EpochPtr) -> impl Iterator<Item = ChunkPtr> {
        (0..self.store.classes()).flat_map(move |class| {
            // SAFETY: `class` is below the number of the slab's classes.
            unsafe { record.list(class) }.chunks()
        })
    }

    /// The current epoch takes no more insertions; there is a next one. Closes the epoch that
    /// has its place in the ring.
    pub(super) fn advance(&self) -> Epoch {
        self.current_of_ring().set_closing();
        let next = self.open_next();
        self.store.trim();
        next
    }

    /// As [`advance`](Self::advance); closes the epoch that was current, too.
    pub(super) fn advance_and_close(&self) -> (Epoch, CloseReport) {
        let mut next = None;
        let report = self.timed(|| {
            let last = self.current_of_ring();
            last.set_closing();
            let is_current = self.current.get() == last;
            let report = self.close_epoch(last);
            next = Some(self.open_next_after(is_current));
            report
        });
        (next.expect("it has begun"), report)
    }

    /// Begins the next epoch of the ring: the one before has stopped. No other code runs.
    fn open_next(&self) -> Epoch {
        self.open_next_after(self.current.get() == self.current_of_ring())
    }

    /// As [`open_next`](Self::open_next); `was_current` if the one before was the current one.
    fn open_next_after(&self, was_current: bool) -> Epoch {
        let position = (self.position.get() + 1) % self.ring.len();
        if let Some(last) = self.ring.get(position).flatten() {
            self.close_epoch(last);
        }
        self.advances.set(self.advances.get() + 1);
        let kind = Kind::Ring(position as u32);
        let next = self.records.open_owed(kind, self.advances.get());
        self.ring.set(position, Some(next));
        self.position.set(position);
        if was_current {
            self.current.set(next);
        }
        next.epoch().expect("it has begun")
    }

    /// Opens an epoch outside the ring.
    ///
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn open(&self) -> Result<Epoch, AllocError> {
        let record = self.records.try_open(Kind::Outside, self.advances.get())?;
        Ok(record.epoch().expect("it has begun"))
    }

    /// Closes an epoch: an open one only if it is outside the ring, and not the permanent one.
    ///
    /// # Errors
    ///
    /// If it may not be closed, or was closed before.
    pub(super) fn close(&self, epoch: Epoch) -> Result<CloseReport, EpochError> {
        Totals::add(&self.totals.close_calls, 1);
        let record = self.records.find(epoch).map_err(|reason| match reason {
            NoEpoch::Foreign => EpochError::Foreign,
            NoEpoch::Over => EpochError::Closed,
        })?;
        record
            .close_calls
            .set(record.close_calls.get().saturating_add(1));
        match (record.state.get(), record.kind.get()) {
            (EpochState::Open, Kind::Permanent) => Err(EpochError::Permanent),
            (EpochState::Open, Kind::Ring(_)) => Err(EpochError::Current),
            (EpochState::Pinned, _) => Err(EpochError::Closed),
            (EpochState::Open, Kind::Outside) if record.entered.get() > 0 => {
                Err(EpochError::Entered)
            }
            (EpochState::Open, Kind::Outside) | (EpochState::Closing, _) => {
                record.set_closing();
                Ok(self.close_closing(record))
            }
        }
    }

    /// Closes an epoch that is closing, and trims the unused chunks.
    pub(super) fn close_closing(&self, record: EpochPtr) -> CloseReport {
        self.timed(|| self.close_epoch(record))
    }

    /// Closes an epoch, trims the unused chunks, and says how long it took.
    fn timed(&self, close: impl FnOnce() -> CloseReport) -> CloseReport {
        #[cfg(feature = "std")]
        let begun = std::time::Instant::now();
        let report = close();
        CloseReport {
            released_bytes: self.store.trim(),
            #[cfg(feature = "std")]
            elapsed: begun.elapsed(),
            ..report
        }
    }

    /// Closes an epoch that is closing: its place in the ring is free, its empty chunks are
    /// unused, the others pinned.
    fn close_epoch(&self, record: EpochPtr) -> CloseReport {
        debug_assert!(record.state.get() == EpochState::Closing);
        let epoch = record.epoch().expect("it is closing");
        if let Kind::Ring(place) = record.kind.get() {
            self.ring.set(place as usize, None);
            self.records.leave_ring(record);
        }
        let (mut scanned, mut pinned, mut live) = (0, 0, 0);
        for class in 0..self.store.classes() {
            // SAFETY: `class` is below the number of the slab's classes.
            let list = unsafe { record.list(class) };
            list.open.set(None);
            for chunk in list.chunks() {
                scanned += 1;
                if chunk.live() == 0 {
                    self.detach(record, chunk);
                    self.store.put(chunk);
                } else {
                    self.forget_idle(record, chunk);
                    chunk.pin();
                    pinned += 1;
                    live += chunk.live() as usize;
                }
            }
        }
        let recycled = scanned - pinned;
        record.state.set(EpochState::Pinned);
        record.scanned.set(scanned as u64);
        record.recycled.set(recycled as u64);
        Totals::add(&self.totals.closed, 1);
        Totals::add(&self.totals.scanned, scanned as u64);
        Totals::add(&self.totals.recycled, recycled as u64);
        if pinned == 0 {
            self.records.end(record);
        }
        CloseReport {
            epoch,
            scanned,
            recycled,
            pinned,
            live,
            released_bytes: 0,
            #[cfg(feature = "std")]
            elapsed: core::time::Duration::ZERO,
        }
    }

    /// Takes all chunks from an epoch and puts them before those of the list, which no key
    /// leads to. Returns how many values they have. A pinned epoch is over then.
    pub(super) fn doom(&self, record: EpochPtr, doomed: &mut Option<ChunkPtr>) -> usize {
        let mut live = 0;
        for class in 0..self.store.classes() {
            // SAFETY: `class` is below the number of the slab's classes.
            let list = unsafe { record.list(class) };
            list.open.set(None);
            for chunk in list.chunks() {
                self.forget_idle(record, chunk);
                live += chunk.doom() as usize;
                chunk.epoch.set(None);
                chunk.next.set(doomed.replace(chunk));
            }
            list.first.set(None);
        }
        record.chunks.set(0);
        if record.state.get() == EpochState::Pinned {
            self.records.end(record);
        }
        live
    }
}

/// An iterator over the keys of an epoch's values, of
/// [`keys_in`](super::Epochs::keys_in).
#[derive(Clone)]
#[must_use = "iterators are lazy"]
pub struct KeysIn<'s> {
    raw: &'s RawEpochs,
    epoch: Epoch,
    chunk: usize,
    slot: u32,
}

impl<'s> KeysIn<'s> {
    pub(super) fn new(raw: &'s RawEpochs, epoch: Epoch) -> Self {
        KeysIn {
            raw,
            epoch,
            chunk: 0,
            slot: 0,
        }
    }
}

impl Iterator for KeysIn<'_> {
    type Item = EpochKey;

    fn next(&mut self) -> Option<EpochKey> {
        loop {
            // Looked up at each step: the slab may have been used in between.
            let chunk = self.raw.store.get(self.chunk)?;
            let record = self.raw.records.find(self.epoch).ok()?;
            if self.slot == chunk.slots || chunk.epoch.get() != Some(record) {
                (self.chunk, self.slot) = (self.chunk + 1, 0);
                continue;
            }
            let slot = self.slot;
            self.slot += 1;
            if chunk.word(slot).get().has_value() {
                return Some(chunk.key(slot));
            }
        }
    }
}

impl fmt::Debug for KeysIn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeysIn").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_slabs_end_and_do_not_begin_again() {
        let limit = (u64::MAX >> INDEX_BITS) as usize;
        let slabs = Count::new(limit - 3);
        let last = [(); 4].map(|()| take_number(&slabs));
        let expected = [limit as u64 - 2, limit as u64 - 1].map(Some);
        assert_eq!(last, [expected[0], expected[1], None, None]);
    }
}
