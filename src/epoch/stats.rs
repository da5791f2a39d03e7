//! Statistics of a slab and its epochs, the keys of an epoch, and, with the feature `track`, the
//! values that pin chunks and where they were inserted.

use core::fmt;
#[cfg(feature = "track")]
use core::panic::Location;

use super::epochs::{RawEpochs, fraction};
use super::key::{Epoch, EpochKey};
#[cfg(feature = "track")]
use super::record::ChunkPtr;
use super::record::{EpochPtr, EpochState};
use crate::stats::{Figure, print_figures};

/// The statistics of an epoch.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{EpochSlab, EpochState};
///
/// let slab = EpochSlab::new();
/// let epoch = slab.current();
/// slab.insert(7_u64);
/// slab.advance();
/// slab.close(epoch).unwrap();
/// let stats = slab.epoch_stats(epoch).unwrap();
/// assert_eq!((stats.state, stats.live, stats.pinned_chunks), (EpochState::Pinned, 1, 1));
/// assert_eq!(stats.recycled_fraction(), Some(0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EpochStats {
    /// The epoch.
    pub epoch: Epoch,
    /// State of the epoch.
    pub state: EpochState,
    /// Number of advances of the slab since it was opened.
    pub age: u64,
    /// The epoch's [tag](super::Epochs::set_tag); 0 unless set.
    pub tag: u64,
    /// Number of values.
    pub live: usize,
    /// Number of chunks, including pinned ones.
    pub chunks: usize,
    /// Number of chunks that have values although the epoch is closed.
    pub pinned_chunks: usize,
    /// Bytes of the cells of its chunks.
    pub committed_bytes: usize,
    /// Bytes of its values, or the requested bytes of its buffers.
    pub live_bytes: usize,
    /// Number of calls of [`close`](super::Epochs::close) for it, including refused ones.
    pub close_calls: u64,
    /// Number of chunks when it was closed.
    pub scanned: u64,
    /// Number of those chunks that had no value, and became unused.
    pub recycled: u64,
}

impl EpochStats {
    /// Returns the fraction of its chunks that had no value when it was closed:
    /// [`recycled`](Self::recycled) / [`scanned`](Self::scanned).
    ///
    /// Returns `None` if it is not closed, or had no chunk. The fraction does not change later.
    #[must_use]
    pub fn recycled_fraction(&self) -> Option<f64> {
        fraction(self.recycled, self.scanned)
    }
}

/// The statistics of a slab. Totals count from its creation.
///
/// # Examples
///
/// ```
/// let slab = flatslab::epoch::EpochSlab::new();
/// slab.insert([0_u8; 128]);
/// let stats = slab.stats();
/// assert_eq!((stats.live, stats.live_bytes), (1, 128));
/// assert_eq!((stats.chunks, stats.committed_bytes), (1, 64 * 128));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of values.
    pub live: usize,
    /// Bytes of the values, or the requested bytes of the buffers.
    pub live_bytes: usize,
    /// Number of epochs that are not over: open, closing and pinned ones.
    pub epochs: usize,
    /// Number of closed epochs that still have values.
    pub pinned_epochs: usize,
    /// Number of chunks that belong to an epoch.
    pub chunks: usize,
    /// Number of chunks of closed epochs that have values.
    pub pinned_chunks: usize,
    /// Number of unused chunks that have memory.
    pub cached_chunks: usize,
    /// Bytes of the cells of all chunks that have memory.
    pub committed_bytes: usize,
    /// Bytes of the records of chunks and epochs and of the tables that find them, which are freed
    /// with the slab. Records of chunks are allocated up to 16 at a time; in a
    /// [`MemorySource`](crate::memory::MemorySource) each is allocated and freed with its chunk.
    pub record_bytes: usize,
    /// Number of advances.
    pub advances: u64,
    /// Number of calls of [`close`](super::Epochs::close), including refused ones.
    pub close_calls: u64,
    /// Number of epochs that were closed, by any means.
    pub closed: u64,
    /// Number of chunks of those epochs when they were closed.
    pub scanned: u64,
    /// Number of those chunks that had no value, and became unused.
    pub recycled: u64,
}

impl Stats {
    /// Returns the fraction of all chunks that had no value when their epoch was closed:
    /// [`recycled`](Self::recycled) / [`scanned`](Self::scanned).
    ///
    /// It is 1 if lifetimes and epochs agree. Returns `None` if there were no chunks.
    #[must_use]
    pub fn recycled_fraction(&self) -> Option<f64> {
        fraction(self.recycled, self.scanned)
    }
}

impl Stats {
    /// Iterates over the fields: pairs of a name and a value.
    ///
    /// [`figures`](Self::figures) also says which of them are counters.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// slab.insert(7);
    /// assert!(slab.stats().iter().any(|figure| figure == ("live", 1)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.figures().map(|figure| (figure.name, figure.value))
    }

    /// Iterates over the same figures, each with its name, its value and its kind.
    ///
    /// Those from `advances` on are counters. The others are gauges.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// for figure in slab.stats().figures() {
    ///     println!("# TYPE slab_{} {}", figure.name, figure.kind);
    /// }
    /// ```
    pub fn figures(&self) -> impl Iterator<Item = Figure> + use<> {
        [
            Figure::gauge("live", self.live as u64),
            Figure::gauge("live_bytes", self.live_bytes as u64),
            Figure::gauge("epochs", self.epochs as u64),
            Figure::gauge("pinned_epochs", self.pinned_epochs as u64),
            Figure::gauge("chunks", self.chunks as u64),
            Figure::gauge("pinned_chunks", self.pinned_chunks as u64),
            Figure::gauge("cached_chunks", self.cached_chunks as u64),
            Figure::gauge("committed_bytes", self.committed_bytes as u64),
            Figure::gauge("record_bytes", self.record_bytes as u64),
            Figure::counter("advances", self.advances),
            Figure::counter("close_calls", self.close_calls),
            Figure::counter("closed", self.closed),
            Figure::counter("scanned", self.scanned),
            Figure::counter("recycled", self.recycled),
        ]
        .into_iter()
    }
}

/// Prints each field in a line of its own.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_figures(self.iter(), f)
    }
}

impl RawEpochs {
    /// Bytes of the records and tables.
    pub(super) fn record_bytes(&self) -> usize {
        self.store.record_bytes() + self.records.bytes() + self.ring.bytes()
    }

    pub(super) fn stats_of(&self, record: EpochPtr) -> Option<EpochStats> {
        let mut stats = EpochStats {
            epoch: record.epoch()?,
            state: record.state.get(),
            age: self.advances.get() - record.opened_at.get(),
            tag: record.tag.get(),
            live: 0,
            chunks: record.chunks.get(),
            pinned_chunks: 0,
            committed_bytes: 0,
            live_bytes: 0,
            close_calls: record.close_calls.get(),
            scanned: record.scanned.get(),
            recycled: record.recycled.get(),
        };
        for chunk in self.chunks_of(record) {
            let plan = self.store.plan_of(chunk);
            stats.live += chunk.live() as usize;
            stats.pinned_chunks += usize::from(chunk.is_pinned());
            stats.committed_bytes += plan.data.size();
            if plan.lengths {
                let taken = (0..chunk.slots).filter(|&slot| chunk.word(slot).get().has_value());
                let lengths = taken.map(|slot| chunk.length(slot).get() as usize);
                stats.live_bytes += lengths.sum::<usize>();
            } else {
                stats.live_bytes += chunk.live() as usize * plan.cell;
            }
        }
        Some(stats)
    }

    pub(super) fn stats(&self) -> Stats {
        let mut stats = Stats {
            cached_chunks: self.store.cached(),
            committed_bytes: self.store.committed(),
            record_bytes: self.record_bytes(),
            advances: self.advances.get(),
            close_calls: self.totals.close_calls.get(),
            closed: self.totals.closed.get(),
            scanned: self.totals.scanned.get(),
            recycled: self.totals.recycled.get(),
            ..Stats::default()
        };
        for of_epoch in AllStats::new(self) {
            stats.live += of_epoch.live;
            stats.live_bytes += of_epoch.live_bytes;
            stats.epochs += 1;
            stats.pinned_epochs += usize::from(of_epoch.state == EpochState::Pinned);
            stats.chunks += of_epoch.chunks;
            stats.pinned_chunks += of_epoch.pinned_chunks;
        }
        stats
    }
}

/// An iterator over the statistics of all epochs that are not over, from
/// [`epochs`](super::Epochs::epochs).
#[derive(Clone)]
#[must_use = "iterators are lazy"]
pub struct AllStats<'s> {
    raw: &'s RawEpochs,
    index: usize,
}

impl<'s> AllStats<'s> {
    pub(super) fn new(raw: &'s RawEpochs) -> Self {
        AllStats { raw, index: 0 }
    }
}

impl Iterator for AllStats<'_> {
    type Item = EpochStats;

    fn next(&mut self) -> Option<EpochStats> {
        loop {
            let record = self.raw.records.get(self.index)?;
            self.index += 1;
            if let Some(stats) = self.raw.stats_of(record) {
                return Some(stats);
            }
        }
    }
}

impl fmt::Debug for AllStats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllStats").finish_non_exhaustive()
    }
}

/// An iterator over the keys of an epoch's values, from [`keys_in`](super::Epochs::keys_in).
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
            // Looked up at each step: the slab may have been used in between, and another chunk be
            // at the index, with fewer slots.
            let chunk = self.raw.store.get(self.chunk)?;
            let record = self.raw.records.find(self.epoch).ok()?;
            if self.slot >= chunk.slots || chunk.epoch.get() != Some(record) {
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
#[cfg(feature = "track")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pin {
    /// The key of the value.
    pub key: EpochKey,
    /// Epoch of the value, which is closed.
    pub epoch: Epoch,
    /// The [tag](super::Epochs::set_tag) of the epoch.
    pub tag: u64,
    /// The source location of the insertion.
    pub site: &'static Location<'static>,
}

#[cfg(feature = "track")]
impl RawEpochs {
    /// Stores the source location where a value was inserted.
    #[inline]
    #[track_caller]
    pub(super) fn note_origin(&self, chunk: ChunkPtr, slot: u32) {
        let plan = self.store.plan_of(chunk);
        chunk.origin(&plan, slot).set(Some(Location::caller()));
    }

    pub(super) fn pin(&self, chunk: ChunkPtr, slot: u32) -> Option<Pin> {
        let record = chunk.epoch.get()?;
        if !chunk.word(slot).get().has_value() {
            return None;
        }
        let plan = self.store.plan_of(chunk);
        Some(Pin {
            key: chunk.key(slot),
            epoch: record.epoch()?,
            tag: record.tag.get(),
            site: chunk.origin(&plan, slot).get()?,
        })
    }
}

/// An iterator over the values that pin closed epochs, from
/// [`pinned_by`](super::Epochs::pinned_by).
#[cfg(feature = "track")]
#[derive(Clone)]
#[must_use = "iterators are lazy"]
pub struct PinnedBy<'s> {
    raw: &'s RawEpochs,
    chunk: usize,
    slot: u32,
}

#[cfg(feature = "track")]
impl<'s> PinnedBy<'s> {
    pub(super) fn new(raw: &'s RawEpochs) -> Self {
        PinnedBy {
            raw,
            chunk: 0,
            slot: 0,
        }
    }
}

#[cfg(feature = "track")]
impl Iterator for PinnedBy<'_> {
    type Item = Pin;

    fn next(&mut self) -> Option<Pin> {
        loop {
            let chunk = self.raw.store.get(self.chunk)?;
            if self.slot >= chunk.slots || !chunk.is_pinned() {
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

#[cfg(feature = "track")]
impl fmt::Debug for PinnedBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBy").finish_non_exhaustive()
    }
}
