//! The epochs of a slab, without the type of its values.
//!
//! [`RawEpochs`] has the ring, and the epochs outside of it. It inserts, closes, and decides what
//! happens to the chunks. [`EpochRecords`] is the table of the epochs' records: which are in use,
//! and that there is always one for the next advance.
//!
//! *Chunks without values of an epoch that is not closed* stay with the epoch, which uses them
//! again, and reports them when it is closed. The last few that lost their last value are *noted*,
//! and left where they are, so that a few epochs that insert and remove values one by one, in turn,
//! cost nothing more. A chunk that is no longer noted and still has no value is *idle*, and is used
//! after the others of its epoch. If a limit is reached or memory is refused, idle chunks serve the
//! epoch that needs memory, as they are or freed for a new one (`refused.rs`).
//!
//! # Invariants
//!
//! * `ring-places`: the place `position` of the ring has its open epoch. Every epoch of kind
//!   `Ring(i)` is at place `i`, and all other epochs of the ring are closing. `current` is the
//!   ring's open epoch, or the one that was entered last and not left, which is open.
//! * `epochs-whole`: no user code runs while any of this is half changed: allocators run in
//!   [`make_room`](RawEpochs::make_room), [`open`](RawEpochs::open) and [`Store::trim`],
//!   destructors in `mod.rs`.
//! * `record-used-or-spare`: every record of the table is either used by an epoch or on one of the
//!   lists of spare ones: by its index, that of those that every slab has, or of late ones. A late
//!   one that is not owed may be freed.
//! * `record-owed`: `spares >= owed`: one for each place of the ring that has no epoch, and one for
//!   each epoch of the ring that could stay pinned when it is closed, because it has a chunk, or
//!   gets its first one.
//!   So an advance needs no memory.

#[cfg(any(test, fuzzing))]
use alloc::collections::BTreeMap;
use core::cell::Cell;

use super::error::{EpochError, Refusal};
use super::key::{Epoch, EpochKey, INDEX_BITS, Word};
use super::record::{ChunkPtr, EpochPtr, EpochState, Kind, List, Place, Plan, Vacated};
use super::store::{Limits, Store};
use super::table::Table;
use crate::error::{AccessError, AllocError, BuildError, MAX_EPOCH_SLABS};
use crate::raw::atomic::{Count, Ordering};
use crate::raw::refused::{Budget, MOST_FREED};
use crate::raw::row::Row;
use crate::raw::source::Source;

/// The records of epochs that are pinned at the same time, for which the table has room from the
/// start: a table that grows later stays where it is.
const PINNED: usize = 64;

/// The number of slabs that this process has created; each has a number of its own.
static SLABS: Count = Count::new(0);

/// Takes the number of the next slab, or `None` if all are taken.
fn take_number(slabs: &Count) -> Option<u64> {
    // Relaxed: each number is taken once, and no other memory is published with it.
    let next = |last: usize| last.checked_add(1).filter(|&next| next <= MAX_EPOCH_SLABS);
    let last = slabs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    last.ok().map(|last| last as u64 + 1)
}

/// An epoch slab without the type of its values.
pub(super) struct RawEpochs {
    current: Cell<EpochPtr>,
    permanent: EpochPtr,
    pub(super) store: Store,
    pub(super) records: EpochRecords,
    pub(super) ring: Row<Option<EpochPtr>>,
    position: Cell<usize>,
    pub(super) advances: Cell<u64>,
    pub(super) totals: Totals,
}

/// Counts since the slab was created.
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
    /// Epochs with a ring of this length, whose first one is current.
    ///
    /// # Errors
    ///
    /// If the source refuses, or there are no numbers left for slabs.
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
        self.current.get().epoch().expect("ring-places: it is open")
    }

    /// The open epoch of the ring.
    fn current_of_ring(&self) -> EpochPtr {
        self.ring
            .get(self.position.get())
            .flatten()
            .expect("ring-places")
    }

    /// Makes this epoch the current one, or the ring's if `None`. Returns the epoch that was
    /// current, unless it was the ring's.
    fn set_entered(&self, record: Option<EpochPtr>) -> Option<EpochPtr> {
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

    /// Takes a vacant slot of an epoch that is open, if the top chunk of its stack has one.
    #[inline]
    fn pop(&self, record: EpochPtr, class: usize) -> Option<(ChunkPtr, u32, Word)> {
        debug_assert!(class < self.store.classes());
        // SAFETY: callers pass a class of the slab's: 0, or that of a size up to the largest. The
        // record has a list for each (`lists-follow`).
        unsafe { record.lists().get_unchecked(class) }.pop()
    }

    /// Makes room in an epoch that is open, or does a step of it. The caller looks for the epoch
    /// again, which the allocator may have closed.
    ///
    /// # Errors
    ///
    /// If a limit is reached, or the source refuses.
    #[cold]
    #[inline(never)]
    fn make_room(
        &self,
        record: EpochPtr,
        class: usize,
        budget: &mut Budget,
    ) -> Result<(), AllocError> {
        let list = &record.lists()[class];
        if list.open.get().is_some() {
            return Ok(());
        }
        match self.records.replace(record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The record is looked up again, with more memory in the source.
            Err(_) if self.free_some(budget) => return Ok(()),
            Err(error) => return Err(error),
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
                let grown = self.store.grow(class, self.store.plan(class).slots);
                grown.or_else(|error| self.take_over(class, error, budget))
            }
        }
    }

    /// Takes a vacant slot of an epoch that takes insertions, if it has one.
    #[inline]
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
    #[inline]
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

    /// Takes a vacant slot of the current epoch, like [`claim`](Self::claim).
    ///
    /// # Errors
    ///
    /// If it has no room and gets none.
    #[inline]
    pub(super) fn claim_current(&self, class: usize) -> Result<(ChunkPtr, u32, Word), Refusal> {
        match self.pop(self.current.get(), class) {
            Some(claimed) => Ok(claimed),
            None => self.claim_with_room(None, class),
        }
    }

    /// Takes a vacant slot of an epoch, or of the current one, if there was none. Not inlined: the
    /// loop would make every insertion save six registers.
    ///
    /// # Errors
    ///
    /// The errors of [`claim`](Self::claim).
    #[cold]
    #[inline(never)]
    fn claim_with_room(
        &self,
        epoch: Option<Epoch>,
        class: usize,
    ) -> Result<(ChunkPtr, u32, Word), Refusal> {
        let mut budget = Budget::new();
        loop {
            let record = match epoch {
                Some(epoch) => {
                    (self.records.find_open(epoch)).ok_or_else(|| self.why_not_open(epoch))
                }
                None => Ok(self.current.get()),
            }?;
            match self.pop(record, class) {
                Some(claimed) => return Ok(claimed),
                None => self.make_room(record, class, &mut budget)?,
            }
        }
    }

    /// The reason why nothing can be inserted into this epoch, which is not open.
    #[cold]
    fn why_not_open(&self, epoch: Epoch) -> Refusal {
        match self.records.find(epoch) {
            Ok(record) if record.state.get() == EpochState::Closing => Refusal::Closing(()),
            Ok(_) | Err(NoEpoch::Over) => Refusal::Closed(()),
            Err(NoEpoch::Foreign) => Refusal::Foreign(()),
        }
    }

    // Keys.

    /// The slot of a key whose value exists and is not borrowed.
    ///
    /// # Errors
    ///
    /// If it does not exist, or is borrowed.
    #[inline]
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

    /// Counts a reader with this key, which a [`Ref`](super::Ref) subtracts again.
    ///
    /// # Errors
    ///
    /// If there is no value, or it is refused.
    #[inline]
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

    /// The slot of a key whose value exists, borrowed or not.
    #[inline]
    pub(super) fn slot(&self, key: EpochKey) -> Option<(ChunkPtr, u32)> {
        (self.store.find(key)).filter(|(chunk, slot)| chunk.word(*slot).get().is_of(key.word()))
    }

    /// Makes the cell of a slot vacant, whose value was not borrowed and has left.
    #[inline]
    pub(super) fn push(&self, chunk: ChunkPtr, slot: u32, word: Word) {
        if chunk.push(slot, word) {
            self.end_of_push(chunk);
        }
    }

    /// Handles a value that was the last one of a pinned chunk, or in a full one.
    #[cold]
    #[inline(never)]
    fn end_of_push(&self, chunk: ChunkPtr) {
        match chunk.vacated() {
            Vacated::WasFull => self.reopen(chunk),
            Vacated::Last => self.recycle_pinned(chunk),
            Vacated::Emptied => self.note(chunk),
        }
    }

    /// Makes a chunk open that was full and has a vacant slot.
    fn reopen(&self, chunk: ChunkPtr) {
        let is_empty = chunk.set_vacant();
        if let Some(record) = chunk.epoch.get() {
            record.list_of(chunk).push_open(chunk);
            if is_empty {
                self.note(chunk);
            }
        }
    }

    /// Recycles a pinned chunk that has lost its last value.
    #[inline(never)]
    fn recycle_pinned(&self, chunk: ChunkPtr) {
        if let Some(record) = chunk.epoch.get() {
            let class = chunk.class as usize;
            self.detach(record, chunk);
            self.store.put(chunk);
            if record.chunks.get() == 0 {
                self.records.end(record);
            }
            self.store.trim_some(class, MOST_FREED);
        }
    }

    fn detach(&self, record: EpochPtr, chunk: ChunkPtr) {
        self.forget_idle(record, chunk);
        record.list_of(chunk).remove(chunk);
        chunk.epoch.set(None);
        record.chunks.set(record.chunks.get() - 1);
    }

    // Epochs.

    /// The chunks of an epoch. While it iterates, only the chunk that was returned last may be
    /// removed.
    pub(super) fn chunks_of(&self, record: EpochPtr) -> impl Iterator<Item = ChunkPtr> {
        record.lists().iter().flat_map(List::chunks)
    }

    /// Gives up the record that was set aside for the epoch of the ring that takes insertions, if
    /// that has no chunk yet. It gets one again before its first chunk.
    pub(super) fn forget_replaced(&self) {
        let record = self.current_of_ring();
        if record.chunks.get() == 0 {
            self.records.forget_replaced(record);
        }
    }

    /// Opens the next epoch of the ring; the current one takes no more insertions. Closes the epoch
    /// that has its place in the ring.
    pub(super) fn advance(&self) -> Epoch {
        self.current_of_ring().set_closing();
        let next = self.open_next();
        self.store.trim();
        next
    }

    /// Like [`advance`](Self::advance), but also closes the epoch that was current.
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

    /// Begins the next epoch of the ring, after the one before has stopped. No other code runs.
    fn open_next(&self) -> Epoch {
        self.open_next_after(self.current.get() == self.current_of_ring())
    }

    /// Like [`open_next`](Self::open_next); `was_current` if the one before was the current one.
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
    /// If the source refuses.
    pub(super) fn open(&self) -> Result<Epoch, AllocError> {
        let mut budget = Budget::new();
        loop {
            match self.records.try_open(Kind::Outside, self.advances.get()) {
                Ok(record) => return Ok(record.epoch().expect("it has begun")),
                Err(error) if !self.free_some(&mut budget) => return Err(error),
                Err(_) => {}
            }
        }
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

    /// Closes an epoch, trims the unused chunks, and measures the time.
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

    /// Closes an epoch that is closing: its place in the ring becomes free, its empty chunks become
    /// unused, and the others pinned.
    fn close_epoch(&self, record: EpochPtr) -> CloseReport {
        debug_assert!(record.state.get() == EpochState::Closing);
        let epoch = record.epoch().expect("it is closing");
        if let Kind::Ring(place) = record.kind.get() {
            self.ring.set(place as usize, None);
            self.records.leave_ring(record);
        }
        let (mut scanned, mut pinned, mut live) = (0, 0, 0);
        for list in record.lists() {
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

    /// Takes all chunks from an epoch and puts them before those of the list, which no key refers
    /// to. Returns the number of their values. A pinned epoch is over then.
    pub(super) fn doom(&self, record: EpochPtr, doomed: &mut Option<ChunkPtr>) -> usize {
        let mut live = 0;
        for list in record.lists() {
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
        self.records.forget_replaced(record);
        if record.state.get() == EpochState::Pinned {
            self.records.end(record);
        }
        live
    }

    // Epochs that are entered.

    /// Enters an epoch.
    ///
    /// # Errors
    ///
    /// If it cannot be entered.
    pub(super) fn enter(&self, epoch: Epoch) -> Result<Entered<'_>, EpochError> {
        let record = self.records.find(epoch).map_err(|reason| match reason {
            NoEpoch::Foreign => EpochError::Foreign,
            NoEpoch::Over => EpochError::Closed,
        })?;
        match (record.kind.get(), record.state.get()) {
            (Kind::Ring(_), _) => return Err(EpochError::InRing),
            (_, EpochState::Open) => {}
            (_, EpochState::Closing | EpochState::Pinned) => return Err(EpochError::Closed),
        }
        record.entered.set(record.entered.get() + 1);
        Ok(Entered {
            raw: self,
            record,
            previous: self.set_entered(Some(record)),
        })
    }

    /// Closes an epoch whose guard is dropped, now or when the epoch is left.
    pub(super) fn close_when_left(&self, epoch: Epoch) {
        if let Ok(record) = self.records.find(epoch) {
            record.closes_when_left.set(true);
        }
    }

    // Chunks without values of epochs that are not closed.

    /// Notes a chunk of an epoch that is not closed, which has lost its last value, and is on the
    /// stack of open ones.
    #[cold]
    #[inline(never)]
    fn note(&self, chunk: ChunkPtr) {
        if chunk.noted.get().is_none() {
            let place = self.store.noted.next();
            self.settle(place);
            self.store.noted.set(place, Some(chunk));
            chunk.noted.set(Some(place));
        }
        chunk.note();
    }

    /// Makes the chunk idle that is noted at this place, unless it has values again.
    pub(super) fn settle(&self, place: Place) {
        let Some(chunk) = self.store.noted.get(place) else {
            return;
        };
        let record = chunk.epoch.get().expect("idle-linked: it is an epoch's");
        self.forget_idle(record, chunk);
        // If all its slots are retired, it has no value, and no room: it stays.
        if chunk.live() == 0 && chunk.has_room() {
            record.list_of(chunk).set_idle(chunk);
            self.store.link_idle(chunk);
        }
    }

    /// Takes a chunk from the noted or idle ones, because it leaves its epoch, or is pinned, or
    /// used.
    fn forget_idle(&self, record: EpochPtr, chunk: ChunkPtr) {
        if let Some(place) = chunk.noted.take() {
            self.store.noted.set(place, None);
            chunk.forget_note();
        }
        if chunk.idle.get() {
            record.list_of(chunk).unlink_idle(chunk);
            self.store.unlink_idle(chunk);
        }
    }

    /// Makes an idle chunk of this class unused, which its epoch gives up; returns `false` if no
    /// chunk is idle.
    pub(super) fn give_up(&self, class: usize) -> bool {
        let Some(chunk) = self.store.idle(class) else {
            return false;
        };
        let record = chunk.epoch.get().expect("idle-linked: it is an epoch's");
        self.detach(record, chunk);
        if record.chunks.get() == 0 {
            self.records.forget_replaced(record);
        }
        self.store.put(chunk);
        true
    }

    /// Panics if an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self) {
        self.records.check(self.ring());
        let mut seen = BTreeMap::new();
        for record in self.records.table.records() {
            let state = record.state.get();
            if record.generation.get() == 0 {
                assert_eq!(
                    record.chunks.get(),
                    0,
                    "record-used-or-spare: a spare record has no chunks"
                );
                continue;
            }
            let open = if state == EpochState::Open {
                record.generation.get()
            } else {
                0
            };
            assert_eq!(record.open.get(), open, "open-generation: open");
            let mut chunks = 0;
            for chunk in self.chunks_of(record) {
                chunk.check();
                chunks += 1;
                assert_eq!(chunk.epoch.get(), Some(record), "epoch-lists: its own");
                assert_eq!(
                    seen.insert(chunk.place, "an epoch"),
                    None,
                    "epoch-lists: once"
                );
                let pinned = state == EpochState::Pinned;
                assert_eq!(chunk.is_pinned(), pinned, "open-generation: pinned");
                let list = record.list_of(chunk);
                let open = times_on_stack(list.open.get(), chunk);
                let idle = times_on_stack(list.idle.get(), chunk);
                if !pinned {
                    assert_eq!(
                        chunk.listed.get(),
                        open + idle == 1,
                        "epoch-lists: the stack"
                    );
                    assert_eq!(
                        open + idle,
                        usize::from(chunk.has_room()),
                        "epoch-lists: once"
                    );
                }
                assert_eq!(idle, usize::from(chunk.idle.get()), "epoch-lists: idle");
            }
            assert_eq!(record.chunks.get(), chunks, "epoch-lists: all");
            assert!(
                chunks > 0 || state != EpochState::Pinned,
                "open-generation: over"
            );
            let replaced = !matches!(record.kind.get(), Kind::Ring(_)) || record.replaced.get();
            assert!(
                chunks == 0 || replaced,
                "record-owed: a record for the ring"
            );
        }
        self.store.check(&mut seen);
    }
}

/// How often a chunk is on a stack.
#[cfg(any(test, fuzzing))]
fn times_on_stack(stack: Option<ChunkPtr>, chunk: ChunkPtr) -> usize {
    let stack = core::iter::successors(stack, |above| above.next_open.get());
    stack.filter(|&it| it == chunk).count()
}

/// An epoch that is entered, and left when this is dropped.
pub(super) struct Entered<'s> {
    raw: &'s RawEpochs,
    record: EpochPtr,
    /// The epoch that was entered before; `None` if that was the ring's.
    previous: Option<EpochPtr>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let Entered {
            raw,
            record,
            previous,
        } = *self;
        raw.set_entered(previous);
        record.entered.set(record.entered.get() - 1);
        if record.entered.get() == 0 && record.closes_when_left.take() {
            record.set_closing();
            raw.close_closing(record);
        }
    }
}

/// The result of closing an epoch.
///
/// # Examples
///
/// ```
/// let slab = flatslab::epoch::EpochSlab::new();
/// slab.insert(7);
/// let (_, report) = slab.advance_and_close();
/// assert_eq!((report.scanned, report.recycled, report.pinned, report.live), (1, 0, 1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CloseReport {
    /// The closed epoch.
    pub epoch: Epoch,
    /// Number of chunks that it had.
    pub scanned: usize,
    /// Number of those chunks that had no value, and became unused.
    pub recycled: usize,
    /// Number of those chunks that had values. Each stays until its last value leaves.
    pub pinned: usize,
    /// Number of values in the pinned chunks.
    pub live: usize,
    /// Bytes of unused chunks that were freed, see
    /// [`cached_chunks`](crate::Builder::cached_chunks).
    pub released_bytes: usize,
    /// Time that the closing took.
    #[cfg(feature = "std")]
    pub elapsed: core::time::Duration,
}

impl CloseReport {
    /// Returns the fraction of its chunks that had no value: [`recycled`](Self::recycled) /
    /// [`scanned`](Self::scanned).
    ///
    /// It is 1 if lifetimes and the epoch agree. Returns `None` if the epoch had no chunk.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.take(slab.insert(7));
    /// assert_eq!(slab.advance_and_close().1.recycled_fraction(), Some(1.0));
    /// ```
    #[must_use]
    pub fn recycled_fraction(&self) -> Option<f64> {
        fraction(self.recycled as u64, self.scanned as u64)
    }
}

/// The fraction of the scanned chunks that were recycled, if there were any.
pub(super) fn fraction(recycled: u64, scanned: u64) -> Option<f64> {
    (scanned > 0).then(|| recycled as f64 / scanned as f64)
}

/// The records of epochs.
pub(super) struct EpochRecords {
    /// The slab's part of a place: added to an index it is the place of an epoch.
    place: u64,
    classes: usize,
    table: Table<EpochPtr>,
    /// Records that every slab has: those of the permanent epoch and of a ring.
    first: usize,
    /// Spare ones of these, which are used first.
    spare: Cell<Option<EpochPtr>>,
    /// The other spare ones, which lie anywhere between chunks.
    late: Cell<Option<EpochPtr>>,
    /// Number of both.
    spares: Cell<usize>,
    owed: Cell<usize>,
    last: Cell<u64>,
    source: Source,
}

/// The reason why there is no such epoch.
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
    /// If the source refuses.
    pub(super) fn try_new(
        place: u64,
        classes: usize,
        ring: usize,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let records = EpochRecords {
            place,
            classes,
            table: Table::new(EpochPtr::none(), source),
            first: ring + 1,
            spare: Cell::new(None),
            late: Cell::new(None),
            spares: Cell::new(0),
            owed: Cell::new(0),
            last: Cell::new(0),
            source: source.clone(),
        };
        records.table.try_reserve(ring + 1 + PINNED)?;
        while records.spares.get() < records.first {
            records.grow()?;
        }
        records.owed.set(ring);
        Ok(records)
    }

    /// The record of that epoch.
    #[inline]
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
    #[inline]
    pub(super) fn find_open(&self, epoch: Epoch) -> Option<EpochPtr> {
        // A place from another slab is beyond all records.
        let index = usize::try_from(epoch.place() ^ self.place).ok()?;
        let record = self.table.get(index)?;
        (record.open.get() == epoch.generation()).then_some(record)
    }

    /// The epoch whose record has this index.
    pub(super) fn get(&self, index: usize) -> Option<EpochPtr> {
        self.table.get(index)
    }

    /// Adds a spare record.
    ///
    /// # Errors
    ///
    /// If the source refuses, or there are 2^30 records.
    #[cold]
    fn grow(&self) -> Result<(), AllocError> {
        let record = EpochPtr::allocate(self.classes, &self.source)?;
        // Again if the allocator has used the room.
        let index = loop {
            match self.table.next_index() {
                Some(index) => break index,
                None => self.table.make_room()?,
            }
        };
        if index >> INDEX_BITS != 0 {
            let bytes = record.layout().size();
            return Err(AllocError::OutOfMemory { bytes });
        }
        let record = EpochPtr::write(record, self.classes, self.place + index as u64);
        self.table.insert(index, record);
        self.put_back(record);
        Ok(())
    }

    /// Makes sure that this many epochs of the ring can [get their first chunk](Self::replace)
    /// without another record.
    ///
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn try_reserve(&self, epochs: usize) -> Result<(), AllocError> {
        while self.spares.get() < self.owed.get() + epochs {
            self.grow()?;
        }
        Ok(())
    }

    /// Adds a record that has no epoch to the spare ones.
    fn put_back(&self, record: EpochPtr) {
        let list = match self.index(record) < self.first {
            true => &self.spare,
            false => &self.late,
        };
        record.next_free.set(list.replace(Some(record)));
        self.spares.set(self.spares.get() + 1);
    }

    /// Takes a record off a list of spare ones.
    fn take_spare(&self, list: &Cell<Option<EpochPtr>>) -> Option<EpochPtr> {
        let record = list.get()?;
        list.set(record.next_free.take());
        self.spares.set(self.spares.get() - 1);
        Some(record)
    }

    fn index(&self, record: EpochPtr) -> usize {
        (record.place - self.place) as usize
    }

    /// Begins an epoch with a record that is owed to the ring (`record-owed`).
    pub(super) fn open_owed(&self, kind: Kind, opened_at: u64) -> EpochPtr {
        self.owed.set(self.owed.get() - 1);
        self.open(kind, opened_at)
            .expect("record-owed: one is owed")
    }

    /// Begins an epoch with a record that is not owed.
    ///
    /// # Errors
    ///
    /// If the source refuses.
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
        // So a ring that goes on comes back to the first ones.
        let lists = match kind {
            Kind::Outside => [&self.late, &self.spare],
            Kind::Ring(_) | Kind::Permanent => [&self.spare, &self.late],
        };
        let record = lists.into_iter().find_map(|list| self.take_spare(list))?;
        // 2^64 epochs last for 500 years at one a nanosecond.
        self.last.set(self.last.get() + 1);
        record.set_open(self.last.get(), kind, opened_at);
        Some(record)
    }

    /// Makes sure that the ring has a record for another epoch in case this one, which gets its
    /// first chunk now, stays pinned. Returns whether that was so before; otherwise the allocator
    /// has run.
    ///
    /// # Errors
    ///
    /// If the source refuses.
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

    /// Takes an epoch from its place in the ring, to which a record is owed from now on: the one
    /// that was set aside for it, or its own, which it then gives up.
    pub(super) fn leave_ring(&self, record: EpochPtr) {
        debug_assert!(record.replaced.get() || record.chunks.get() == 0);
        if !record.replaced.replace(false) {
            self.owed.set(self.owed.get() + 1);
        }
        record.kind.set(Kind::Outside);
    }

    /// Notes that an epoch of the ring that has no chunks any more cannot stay pinned: the record
    /// that was set aside is not owed for it.
    fn forget_replaced(&self, record: EpochPtr) {
        debug_assert!(record.chunks.get() == 0);
        if matches!(record.kind.get(), Kind::Ring(_)) && record.replaced.replace(false) {
            self.owed.set(self.owed.get() - 1);
        }
    }

    /// Frees spare records that are not owed, at most `most`. Returns whether there was one. Those
    /// that every slab has stay where they are. A source of the user's may run.
    pub(super) fn free_spares(&self, most: usize) -> bool {
        let mut is_any = false;
        for _ in 0..most {
            if self.spares.get() == self.owed.get() {
                break;
            }
            let Some(record) = self.take_spare(&self.late) else {
                break;
            };
            self.table.remove(self.index(record));
            // SAFETY: written by `grow`; it has no epoch, and is not in the table or on the list
            // any more.
            drop(unsafe { record.into_record(&self.source) });
            is_any = true;
        }
        is_any
    }

    /// Ends an epoch that is closed and has no chunks.
    pub(super) fn end(&self, record: EpochPtr) {
        debug_assert!(record.chunks.get() == 0 && record.open.get() == 0);
        record.generation.set(0);
        self.put_back(record);
    }

    /// Bytes of the records and their table.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.table.count() * EpochPtr::bytes(self.classes)
    }

    /// The indices of the records of epochs.
    #[cfg(test)]
    pub(super) fn in_use(&self) -> impl Iterator<Item = usize> {
        let records = self.table.records();
        let used = records.filter(|record| record.generation.get() != 0);
        used.map(|record| self.index(record))
    }

    /// Panics if an invariant of the records does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, ring: usize) {
        let mut spares = 0;
        for (list, is_late) in [(&self.spare, false), (&self.late, true)] {
            let mut next = list.get();
            while let Some(record) = next {
                assert_eq!(
                    record.generation.get(),
                    0,
                    "record-used-or-spare: a spare record has no epoch"
                );
                assert_eq!(self.index(record) >= self.first, is_late);
                spares += 1;
                next = record.next_free.get();
            }
        }
        assert_eq!(
            spares,
            self.spares.get(),
            "record-used-or-spare: the spare records"
        );
        self.table.check();
        let records = || self.table.records();
        let used = records()
            .filter(|record| record.generation.get() != 0)
            .count();
        assert_eq!(
            spares + used,
            self.table.count(),
            "record-used-or-spare: used or spare"
        );
        let in_ring = records()
            .filter(|record| record.generation.get() != 0)
            .filter(|record| matches!(record.kind.get(), Kind::Ring(_)));
        let replaced = in_ring.clone().filter(|record| record.replaced.get());
        let owed = ring - in_ring.clone().count() + replaced.count();
        assert_eq!(owed, self.owed.get(), "record-owed: what is owed");
        assert!(spares >= owed, "record-owed: is there");
    }
}

impl Drop for EpochRecords {
    fn drop(&mut self) {
        for record in self.table.records() {
            // SAFETY: written by `grow`, and the slab is dropped.
            drop(unsafe { record.into_record(&self.source) });
        }
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
