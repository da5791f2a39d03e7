//! What the closing of an epoch found.

use super::key::Epoch;

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
    /// The epoch.
    pub epoch: Epoch,
    /// Number of chunks that it had.
    pub scanned: usize,
    /// Number of those chunks that had no value, and are unused now.
    pub recycled: usize,
    /// Number of the other chunks. Each stays until its last value leaves.
    pub pinned: usize,
    /// Number of values in the pinned chunks.
    pub live: usize,
    /// Bytes of unused chunks that were given back, see
    /// [`cached_chunks`](crate::Builder::cached_chunks).
    pub released_bytes: usize,
    /// Time that the closing took.
    #[cfg(feature = "std")]
    pub elapsed: core::time::Duration,
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

pub(super) fn fraction(recycled: u64, scanned: u64) -> Option<f64> {
    (scanned > 0).then(|| recycled as f64 / scanned as f64)
}
