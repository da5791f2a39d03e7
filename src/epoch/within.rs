//! `within`: an epoch that is entered and left any number of times.
//!
//! While a closure runs within an epoch, that is where insertions go which name none. The epoch
//! that was current before is on the stack of the calls, so entering allocates nothing, calls are
//! left in the reverse order, by a panic too, and no guard can be forgotten or dropped out of turn.
//! An epoch is not closed while it is entered: so what the calls have is there.

use super::epoch_record::{EpochPtr, EpochState, Kind};
use super::epoch_records::NoEpoch;
use super::error::EpochError;
use super::key::Epoch;
use super::raw_epochs::RawEpochs;
use super::{Contents, Epochs};

/// An epoch that is entered; left when this is dropped.
struct Entered<'s> {
    raw: &'s RawEpochs,
    record: EpochPtr,
    /// The one that was entered before; none if that was the ring's.
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

impl<C: Contents> Epochs<C> {
    /// Runs a closure within an epoch: until it returns or panics, that is the
    /// [current](Self::current) one, to which everything belongs that is inserted or allocated
    /// and names no epoch. Returns what the closure returns. O(1), allocates nothing.
    ///
    /// An epoch is entered any number of times, until it is closed, also within itself or another
    /// one, which is current again afterwards. Use it for work that comes in pieces, such as that
    /// for a session or a frame, in functions that do not know for which. The ring advances as
    /// always; its epochs are current again once all others are left.
    ///
    /// # Errors
    ///
    /// If the epoch is over or closed, belongs to another slab, or is one of the ring, whose epochs
    /// are current by turns. The closure is not called then.
    ///
    /// ```
    /// use flatslab::epoch::{EpochError, EpochSlab};
    ///
    /// let slab = EpochSlab::new();
    /// let sessions = [slab.open(), slab.open()];
    /// let handle = |message: &'static str| slab.insert(message);
    /// for round in 0..3 {
    ///     let session = sessions[round % 2];
    ///     let key = slab.within(session, || handle("hello"))?;
    ///     assert_eq!(slab.epoch_of(key), Some(session));
    /// }
    /// assert_eq!(slab.clear_epoch(sessions[0]), 2);
    /// slab.close(sessions[0])?;
    /// assert_eq!(slab.within(sessions[0], || ()), Err(EpochError::Closed));
    /// # Ok::<(), EpochError>(())
    /// ```
    pub fn within<R>(&self, epoch: Epoch, f: impl FnOnce() -> R) -> Result<R, EpochError> {
        let _entered = self.raw.enter(epoch)?;
        Ok(f())
    }
}

impl RawEpochs {
    /// Enters an epoch.
    ///
    /// # Errors
    ///
    /// If that cannot be entered.
    fn enter(&self, epoch: Epoch) -> Result<Entered<'_>, EpochError> {
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

    /// The guard of an epoch that is entered is dropped.
    pub(super) fn close_when_left(&self, epoch: Epoch) {
        if let Ok(record) = self.records.find(epoch) {
            record.closes_when_left.set(true);
        }
    }
}
