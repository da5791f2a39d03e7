//! Values dropped in bulk.

use core::marker::PhantomData;

use super::Contents;
use super::chunk::ChunkPtr;
use super::epoch_records::NoEpoch;
use super::error::EpochError;
use super::key::Epoch;
use super::raw_epochs::RawEpochs;

/// Chunks of no epoch, whose values no key leads to: to be dropped.
///
/// If a destructor panics, the rest is dropped before the panic continues.
struct Doomed<'h, C: Contents> {
    raw: &'h RawEpochs,
    first: Option<ChunkPtr>,
    /// The slot of the first chunk whose turn it is.
    slot: u32,
    contents: PhantomData<C>,
}

impl<C: Contents> Doomed<'_, C> {
    fn drop_all(&mut self) {
        while let Some(chunk) = self.first {
            if C::NEEDS_DROP {
                let bytes = chunk.cell_bytes;
                while self.slot < chunk.slots {
                    let slot = self.slot;
                    self.slot += 1;
                    if chunk.word(slot).get().is_doomed() {
                        // SAFETY: by W2 initialised, and each slot has its turn once; the chunk
                        // is no one else's until it is put away below.
                        unsafe { C::drop_in_place(chunk.cell(slot, bytes)) };
                    }
                }
            }
            self.slot = 0;
            self.first = chunk.next.take();
            chunk.reset();
            self.raw.store.put(chunk);
        }
    }
}

impl<C: Contents> Drop for Doomed<'_, C> {
    fn drop(&mut self) {
        self.drop_all();
        self.raw.store.trim();
    }
}

fn drop_values<C: Contents>(raw: &RawEpochs, first: Option<ChunkPtr>) {
    let mut doomed = Doomed::<C> {
        raw,
        first,
        slot: 0,
        contents: PhantomData,
    };
    doomed.drop_all();
}

/// Drops the values of an epoch, if there is such one; see
/// [`clear_epoch`](super::Epochs::clear_epoch).
///
/// # Errors
///
/// If one is borrowed, or the epoch belongs to another slab; nothing has changed then.
pub(super) fn try_clear<C: Contents>(raw: &RawEpochs, epoch: Epoch) -> Result<usize, EpochError> {
    let record = match raw.records.find(epoch) {
        Ok(record) => record,
        Err(NoEpoch::Over) => return Ok(0),
        Err(NoEpoch::Foreign) => return Err(EpochError::Foreign),
    };
    for chunk in raw.chunks_of(record) {
        if let Some(key) = chunk.first_borrowed() {
            return Err(EpochError::Borrowed(key));
        }
    }
    let mut doomed = None;
    let live = raw.doom(record, &mut doomed);
    drop_values::<C>(raw, doomed);
    Ok(live)
}

/// Drops the values of an epoch, whether or not they are borrowed, and closes it.
///
/// # Safety
///
/// No guard or reference of its values is used from now on.
pub(super) unsafe fn end<C: Contents>(raw: &RawEpochs, epoch: Epoch) {
    if let Ok(record) = raw.records.find(epoch) {
        record.set_closing();
        let mut doomed = None;
        raw.doom(record, &mut doomed);
        // No chunks are left: this frees the record.
        raw.close_closing(record);
        drop_values::<C>(raw, doomed);
    }
}

/// Drops the values of all epochs, whether or not they are borrowed.
///
/// # Safety
///
/// The slab is gone: no key, guard or reference is used from now on.
pub(super) unsafe fn drop_all<C: Contents>(raw: &RawEpochs) {
    let mut doomed = None;
    let mut index = 0;
    while let Some(record) = raw.records.get(index) {
        if record.generation.get() != 0 {
            raw.doom(record, &mut doomed);
        }
        index += 1;
    }
    drop_values::<C>(raw, doomed);
}
