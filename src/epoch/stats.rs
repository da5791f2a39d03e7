//! Statistics of a slab and its epochs.

use super::close_report::fraction;
use super::epoch_record::{EpochPtr, EpochState};
use super::key::Epoch;
use super::raw_epochs::RawEpochs;
use core::fmt;

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
    /// Its state.
    pub state: EpochState,
    /// Number of advances of the slab since it was opened.
    pub age: u64,
    /// Its [tag](super::Epochs::set_tag); 0 unless set.
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
    /// Returns [`recycled`](Self::recycled) / [`scanned`](Self::scanned): the fraction of its
    /// chunks that had no value when it was closed. `None` before, and if it had no chunk. Does
    /// not change afterwards.
    #[must_use]
    pub fn recycled_fraction(&self) -> Option<f64> {
        fraction(self.recycled, self.scanned)
    }
}

/// The statistics of a slab; counts are since it was created.
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
    /// Number of epochs that are not over: open, closing or pinned ones.
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
    /// Bytes of the records of chunks and epochs, which are freed with the slab. Records of chunks
    /// are allocated several at a time, 16 at most.
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
    /// Returns [`recycled`](Self::recycled) / [`scanned`](Self::scanned): the fraction of all
    /// chunks that had no value when their epoch was closed. 1 if lifetimes and epochs agree;
    /// `None` if there were no chunks.
    #[must_use]
    pub fn recycled_fraction(&self) -> Option<f64> {
        fraction(self.recycled, self.scanned)
    }
}

impl RawEpochs {
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
            let plan = self.store.plan(chunk.class as usize);
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
            record_bytes: self.store.record_bytes() + self.records.bytes(),
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

/// An iterator over the statistics of all epochs that are not over, of
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
