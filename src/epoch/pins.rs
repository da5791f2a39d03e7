//! Where the values that pin chunks were inserted: feature `track`.

use core::fmt;
use core::panic::Location;

use super::chunk::ChunkPtr;
use super::key::{Epoch, EpochKey};
use super::raw_epochs::RawEpochs;
use super::{Contents, Epochs};

/// A value that pins a chunk, and where it was inserted.
///
/// # Examples
///
/// ```
/// let slab = flatslab::epoch::EpochSlab::new();
/// let key = slab.insert("a session"); // here
/// slab.advance_and_close();
/// let pin = slab.pinned_by().next().unwrap();
/// assert_eq!((pin.key, pin.site.file()), (key, file!()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pin {
    /// The key of the value.
    pub key: EpochKey,
    /// Its epoch, which is closed.
    pub epoch: Epoch,
    /// The [tag](Epochs::set_tag) of the epoch.
    pub tag: u64,
    /// Where the value was inserted.
    pub site: &'static Location<'static>,
}

impl<C: Contents> Epochs<C> {
    /// Returns an iterator over the values that pin chunks of closed epochs, with the source
    /// locations where they were inserted: values that belong into another epoch, or are
    /// forgotten. O(slots of the slab) for all of them. Needs the feature `track`, which stores
    /// the location of every insertion, 8 bytes a slot.
    ///
    /// The slab may be used during the iteration.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert("a session");
    /// slab.advance_and_close();
    /// assert_eq!(slab.pinned_by().count(), 1);
    /// ```
    pub fn pinned_by(&self) -> PinnedBy<'_> {
        PinnedBy::new(&self.raw)
    }
}

impl RawEpochs {
    /// Notes where a value was inserted.
    #[inline]
    #[track_caller]
    pub(super) fn note_origin(&self, chunk: ChunkPtr, slot: u32) {
        let plan = self.store.plan(chunk.class as usize);
        chunk.origin(plan, slot).set(Some(Location::caller()));
    }

    pub(super) fn pin(&self, chunk: ChunkPtr, slot: u32) -> Option<Pin> {
        let record = chunk.epoch.get()?;
        if !chunk.word(slot).get().has_value() {
            return None;
        }
        let plan = self.store.plan(chunk.class as usize);
        Some(Pin {
            key: chunk.key(slot),
            epoch: record.epoch()?,
            tag: record.tag.get(),
            site: chunk.origin(plan, slot).get()?,
        })
    }
}

/// An iterator over what pins closed epochs, of [`pinned_by`](super::Epochs::pinned_by).
#[derive(Clone)]
#[must_use = "iterators are lazy"]
pub struct PinnedBy<'s> {
    raw: &'s RawEpochs,
    chunk: usize,
    slot: u32,
}

impl<'s> PinnedBy<'s> {
    pub(super) fn new(raw: &'s RawEpochs) -> Self {
        PinnedBy {
            raw,
            chunk: 0,
            slot: 0,
        }
    }
}

impl Iterator for PinnedBy<'_> {
    type Item = Pin;

    fn next(&mut self) -> Option<Pin> {
        loop {
            let chunk = self.raw.store.get(self.chunk)?;
            if self.slot == chunk.slots || !chunk.is_pinned() {
                (self.chunk, self.slot) = (self.chunk + 1, 0);
                continue;
            }
            self.slot += 1;
            if let Some(pin) = self.raw.pin(chunk, self.slot - 1) {
                return Some(pin);
            }
        }
    }
}

impl fmt::Debug for PinnedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBy").finish_non_exhaustive()
    }
}
