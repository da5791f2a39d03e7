//! What a slab and its epochs report.

use super::CloseReport;
use super::epoch_record::{EpochPtr, EpochState};
use super::key::Epoch;
use super::raw_epochs::RawEpochs;

/// What an epoch has, and what its closing found.
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
    /// Which it is.
    pub epoch: Epoch,
    /// Where it stands.
    pub state: EpochState,
    /// How often the slab has advanced since it began.
    pub age: u64,
    /// Its [tag](super::Epochs::set_tag); 0 unless set.
    pub tag: u64,
    /// Values.
    pub live: usize,
    /// Chunks, those that are pinned among them.
    pub chunks: usize,
    /// Chunks that stay because they have values, though it is closed.
    pub pinned_chunks: usize,
    /// Bytes of the cells of its chunks.
    pub committed_bytes: usize,
    /// Bytes of its values, or of its buffers as they were asked for.
    pub live_bytes: usize,
    /// How often it was asked to be closed, refusals among them.
    pub close_calls: u64,
    /// Chunks it had when it was closed.
    pub scanned: u64,
    /// Those of them that had no value, and became unused.
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

/// What a slab has, and what was counted since it was made.
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
    /// Values.
    pub live: usize,
    /// Bytes of the values, or of the buffers as they were asked for.
    pub live_bytes: usize,
    /// Epochs that are not over: open, closing, or pinned.
    pub epochs: usize,
    /// Epochs that are closed and still have values.
    pub pinned_epochs: usize,
    /// Chunks of epochs.
    pub chunks: usize,
    /// Chunks of closed epochs that stay because they have values.
    pub pinned_chunks: usize,
    /// Chunks of no epoch that have memory.
    pub cached_chunks: usize,
    /// Bytes of the cells of all chunks that have memory.
    pub committed_bytes: usize,
    /// Bytes of the records of chunks and epochs: they stay until the slab is gone.
    pub record_bytes: usize,
    /// How often the slab has advanced.
    pub advances: u64,
    /// How often [`close`](super::Epochs::close) was called, refusals among them.
    pub close_calls: u64,
    /// Epochs that were closed, by whatever means.
    pub closed: u64,
    /// Chunks that they had then.
    pub scanned: u64,
    /// Those of them that had no value.
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

impl CloseReport {
    /// Returns [`recycled`](Self::recycled) / [`scanned`](Self::scanned): the fraction of its
    /// chunks that had no value. 1 if lifetimes and the epoch agree; `None` if it had no chunk.
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

fn fraction(recycled: u64, scanned: u64) -> Option<f64> {
    (scanned > 0).then(|| recycled as f64 / scanned as f64)
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
        for of_epoch in self.all_stats() {
            stats.live += of_epoch.live;
            stats.live_bytes += of_epoch.live_bytes;
            stats.epochs += 1;
            stats.pinned_epochs += usize::from(of_epoch.state == EpochState::Pinned);
            stats.chunks += of_epoch.chunks;
            stats.pinned_chunks += of_epoch.pinned_chunks;
        }
        stats
    }

    /// Of all epochs that are not over, in the order of their indices.
    pub(super) fn all_stats(&self) -> impl Iterator<Item = EpochStats> {
        let mut index = 0;
        core::iter::from_fn(move || {
            loop {
                let record = self.records.get(index)?;
                index += 1;
                if let Some(stats) = self.stats_of(record) {
                    return Some(stats);
                }
            }
        })
    }
}
