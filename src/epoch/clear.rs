//! Values dropped in bulk.

use core::marker::PhantomData;

use super::Contents;
use super::chunk::ChunkPtr;
use super::eras::NoEpoch;
use super::error::ClearError;
use super::home::Home;
use super::key::Epoch;

/// Chunks of no epoch, whose values no key leads to: to be dropped.
///
/// When a destructor panics the rest is dropped all the same, then the panic goes on.
struct Doomed<'h, C: Contents> {
    home: &'h Home,
    first: Option<ChunkPtr>,
    /// The slot of the first chunk whose turn it is.
    slot: u32,
    contents: PhantomData<C>,
}

impl<C: Contents> Doomed<'_, C> {
    fn drop_all(&mut self) {
        while let Some(chunk) = self.first {
            if C::NEEDS_DROP {
                let bytes = self.home.store.plan(chunk.class as usize).cell;
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
            self.home.store.put(chunk);
        }
    }
}

impl<C: Contents> Drop for Doomed<'_, C> {
    fn drop(&mut self) {
        self.drop_all();
        self.home.store.trim();
    }
}

fn drop_values<C: Contents>(home: &Home, first: Option<ChunkPtr>) {
    let mut doomed = Doomed::<C> {
        home,
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
/// If one is borrowed, or it is another slab's epoch; nothing has changed then.
pub(super) fn try_clear<C: Contents>(home: &Home, epoch: Epoch) -> Result<usize, ClearError> {
    let era = match home.eras.find(epoch) {
        Ok(era) => era,
        Err(NoEpoch::Over) => return Ok(0),
        Err(NoEpoch::Foreign) => return Err(ClearError::Foreign),
    };
    for chunk in home.chunks_of(era) {
        if let Some(key) = chunk.first_borrowed() {
            return Err(ClearError::Borrowed(key));
        }
    }
    let mut doomed = None;
    let live = home.doom(era, &mut doomed);
    drop_values::<C>(home, doomed);
    Ok(live)
}

/// Drops the values of an epoch, whether or not they are borrowed, and closes it.
///
/// # Safety
///
/// No guard or reference of its values is used from now on.
pub(super) unsafe fn end<C: Contents>(home: &Home, epoch: Epoch) {
    if let Ok(era) = home.eras.find(epoch) {
        era.stop();
        let mut doomed = None;
        home.doom(era, &mut doomed);
        // No chunks are left: this frees the record.
        home.close_closing(era);
        drop_values::<C>(home, doomed);
    }
}

/// Drops the values of all epochs, whether or not they are borrowed.
///
/// # Safety
///
/// The slab is gone: no key, guard or reference is used from now on.
pub(super) unsafe fn drop_all<C: Contents>(home: &Home) {
    let mut doomed = None;
    let mut index = 0;
    while let Some(era) = home.eras.get(index) {
        if era.era.get() != 0 {
            home.doom(era, &mut doomed);
        }
        index += 1;
    }
    drop_values::<C>(home, doomed);
}
