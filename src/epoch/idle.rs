//! Chunks without values of epochs that are not closed: at a limit, and where memory is refused,
//! they serve the epoch that needs them.
//!
//! Such a chunk stays its epoch's, which uses it again, and reports it when it is closed. Those
//! that lost their last value last are *noted*, a few of them, and left where they are, so that
//! values that come and go one by one, in a few epochs by turns, cost nothing more. One that
//! is noted no more and still has no value is *idle*, and goes behind the others of its epoch.

use core::cell::Cell;

use super::chunk::{ChunkPtr, Place};
use super::epoch_record::EpochPtr;
use super::raw_epochs::RawEpochs;
use crate::error::AllocError;

/// How many chunks are noted.
const PLACES: u8 = 8;

/// The chunks of all epochs that lost their last values last.
pub(super) struct Noted {
    chunks: [Cell<Option<ChunkPtr>>; PLACES as usize],
    /// The place whose turn is next.
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

    fn set(&self, place: Place, chunk: Option<ChunkPtr>) {
        self.chunks[place.0 as usize].set(chunk);
    }

    /// The place for another chunk.
    fn next(&self) -> Place {
        let place = self.turn.get();
        self.turn.set((place + 1) % PLACES);
        Place(place)
    }

    /// All places, that of the chunk that was noted first first.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let turn = self.turn.get();
        (0..PLACES).map(move |index| Place((turn + index) % PLACES))
    }
}

impl RawEpochs {
    /// A chunk of an epoch that is not closed has lost its last value, and is on the stack of open
    /// ones.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&self, chunk: ChunkPtr) {
        if chunk.noted.get().is_none() {
            let place = self.store.noted.next();
            self.settle(place);
            self.store.noted.set(place, Some(chunk));
            chunk.noted.set(Some(place));
        }
        chunk.note();
    }

    /// The chunk that is noted there is idle, unless it has values again.
    fn settle(&self, place: Place) {
        let Some(chunk) = self.store.noted.get(place) else {
            return;
        };
        let record = chunk.epoch.get().expect("U5: it is an epoch's");
        self.forget_idle(record, chunk);
        // If all its slots are retired, it has no value, and no room: it stays.
        if chunk.live() == 0 && chunk.has_room() {
            // SAFETY: the class of a chunk of the slab's.
            unsafe { record.list(chunk.class as usize) }.set_idle(chunk);
            self.store.link_idle(chunk);
        }
    }

    /// A chunk is taken from among the noted or idle ones, because it leaves its epoch, or is pinned,
    /// or used.
    pub(super) fn forget_idle(&self, record: EpochPtr, chunk: ChunkPtr) {
        if let Some(place) = chunk.noted.take() {
            self.store.noted.set(place, None);
            chunk.forget_note();
        }
        if chunk.idle.get() {
            // SAFETY: the class of a chunk of the slab's.
            unsafe { record.list(chunk.class as usize) }.unlink_idle(chunk);
            self.store.unlink_idle(chunk);
        }
    }

    /// An epoch gives up an idle chunk of that class, which is unused then; `false` if there is
    /// none.
    fn give_up(&self, class: usize) -> bool {
        let Some(chunk) = self.store.idle(class) else {
            return false;
        };
        let record = chunk.epoch.get().expect("U5: it is an epoch's");
        self.detach(record, chunk);
        self.store.put(chunk);
        true
    }

    /// Makes a chunk of a class unused for which there was no memory: one that an epoch does not
    /// need, or in the place of such ones of other classes. O(bytes of a chunk), of which each is
    /// one.
    ///
    /// # Errors
    ///
    /// The one that is given, if there are none.
    pub(super) fn take_over(&self, class: usize, error: AllocError) -> Result<(), AllocError> {
        self.store
            .noted
            .places()
            .for_each(|place| self.settle(place));
        if self.give_up(class) {
            return Ok(());
        }
        let bytes = match error {
            AllocError::Limit { .. } => self.store.excess(class),
            // The source may have it once it has as much back.
            _ => self.store.plan(class).data.size(),
        };
        if self.store.free_bytes(class) < bytes {
            return Err(error);
        }
        let before = self.store.committed();
        // The source may use this, so all is read each time.
        let is_enough = || self.store.committed() + bytes <= before;
        for other in (0..self.store.classes()).filter(|&other| other != class) {
            while !is_enough() && (self.store.give_back(other) || self.give_up(other)) {}
        }
        if !is_enough() {
            return Err(error);
        }
        self.store.grow(class)
    }
}
