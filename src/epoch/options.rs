//! The options of epoch slabs.

use core::marker::PhantomData;

use super::contents::Options;
use super::epochs::RawEpochs;
use super::key::INDEX_BITS;
use super::record::Plan;
use super::store::Limits;
use super::{Contents, EpochBytes, EpochSlab, Epochs};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::Pages;

/// The maximum number of places of a ring.
const MAX_EPOCHS: usize = 1 << 20;
/// The maximum number of chunks of a slab, for which a key has bits.
const MAX_CHUNKS: usize = 1 << INDEX_BITS;

impl<C: Contents> Build for Epochs<C> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let mut plans = C::size_classes(&options)?;
        BuildError::in_range("epochs", options.epochs, 1, MAX_EPOCHS)?;
        let source = pages.into_source()?;
        plans.round_to_pages(&source)?;
        plans.limit(&options)?;
        if let Some(plan) = plans.iter().next() {
            check_reserve(options.reserve, &plan, options.max_bytes)?;
        }
        let limits = Limits {
            max_bytes: options.max_bytes,
            bound: options.cached_chunks.max(options.reserve),
        };
        let raw = RawEpochs::try_new(plans.iter(), options.epochs, limits, &source)?;
        for _ in 0..options.reserve {
            raw.store.grow(0, raw.store.plan(0).slots)?;
        }
        raw.records
            .try_reserve(options.reserve.min(options.epochs))?;
        Ok(Epochs {
            raw,
            contents: PhantomData,
        })
    }
}

/// Checks that there can be this many chunks of this plan. Otherwise all memory would be allocated
/// and touched before the last of them is refused.
///
/// # Errors
///
/// If keys do not have enough bits for them, or their bytes exceed `isize::MAX` or `max_bytes`.
fn check_reserve(chunks: usize, plan: &Plan, max_bytes: usize) -> Result<(), BuildError> {
    BuildError::in_range("reserve", chunks, 0, MAX_CHUNKS)?;
    let slots = plan.slots as usize;
    let chunk_bytes = plan.data.size().saturating_add(plan.record_layout().size());
    let all = chunk_bytes.checked_mul(chunks);
    if all.is_none_or(|all| isize::try_from(all).is_err()) {
        let too_many = AllocError::TooManyBytes {
            slots: slots.saturating_mul(chunks),
            slot_bytes: chunk_bytes / slots,
        };
        return Err(too_many.into());
    }
    // Not more than the product above.
    let bytes = plan.data.size() * chunks;
    if bytes > max_bytes {
        let limit = max_bytes;
        return Err(AllocError::Limit { bytes, limit }.into());
    }
    Ok(())
}

impl<T> EpochSlab<T> {
    /// Returns a builder, with options for the slab's chunks, ring, memory and limits.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::builder().epochs(4).build();
    /// # drop(slab);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options::new())
    }
}

impl EpochBytes {
    /// Returns a builder, with options for the slab's chunks, ring, memory and limits.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::builder().epochs(4).build();
    /// # drop(bytes);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options::new())
    }
}

/// Options of an [`EpochSlab`] or [`EpochBytes`].
///
/// [`Pages`] from the system are returned to it chunk by chunk; other memory is returned to
/// its source.
///
/// ```
/// use flatslab::epoch::EpochSlab;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = EpochSlab::<u64>::builder().epochs(4).pages(pages).try_build()?;
/// assert!(EpochSlab::<u64>::builder().epochs(0).try_build().is_err());
/// # drop(slab);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<C: Contents> Builder<Epochs<C>> {
    /// Sets the number of places of the ring: 16 by default, from 1 to 2²⁰.
    ///
    /// The ring has the current epoch and the previous ones that are not closed. An advance onto a
    /// place that still has an epoch closes it.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().epochs(2).build();
    /// let first = slab.current();
    /// slab.advance();
    /// slab.advance();                                   // closes the first
    /// assert!(slab.close(first).is_err());
    /// ```
    pub const fn epochs(mut self, epochs: usize) -> Self {
        self.options.epochs = epochs;
        self
    }

    /// Sets the maximum number of unused chunks of a size class that keep their memory, 32 by
    /// default.
    ///
    /// The next epoch takes them without a call of the allocator or a page fault. With 0 the memory
    /// of every chunk is freed once it is unused. [`Epochs::set_cached_chunks`] changes the number
    /// later.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().cached_chunks(0).build();
    /// slab.insert(7);
    /// slab.clear_epoch(slab.current());
    /// assert_eq!(slab.stats().committed_bytes, 0);
    /// ```
    pub const fn cached_chunks(mut self, chunks: usize) -> Self {
        self.options.cached_chunks = chunks;
        self
    }

    /// Sets the limit of the bytes of the cells of all chunks; there is no limit by default.
    ///
    /// The records of chunks and epochs come on top of it, with a word for the state of each slot:
    /// for values of 8 bytes they take more than the cells
    /// ([`record_bytes`](super::Stats::record_bytes)).
    ///
    /// The limit must have room for a chunk of the largest class. An insertion that would exceed it
    /// first frees unused chunks of other size classes, then takes chunks without values from
    /// epochs that are not closed, and is refused if that is not enough. The report of closing an
    /// epoch does not include chunks that were taken from it.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().max_bytes(64 * 8).build();
    /// let permanent = slab.permanent();
    /// let keys = [(); 64].map(|()| slab.try_insert_in(permanent, 7).unwrap());
    /// assert_eq!(slab.try_insert(64).unwrap_err().into_inner(), 64);
    /// for key in keys {
    ///     slab.take(key);
    /// }
    /// assert!(slab.try_insert(64).is_ok());             // in a chunk of the permanent epoch
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes;
        self
    }
}

/// Options that only an [`EpochSlab`] has.
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::<[u8; 128]>::builder().chunk_capacity(100).epochs(4).try_build()?;
/// slab.insert([0; 128]);
/// assert_eq!(slab.stats().committed_bytes, 100 * 128);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<EpochSlab<T>> {
    /// Sets the number of values in a chunk: 64 by default, from 1 to 32,766.
    ///
    /// An epoch takes whole chunks, and a value that stays keeps its whole chunk. So small chunks
    /// waste less, and large chunks are taken less often. A chunk in the system's pages takes whole
    /// pages.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<[u8; 4096]>::builder().chunk_capacity(1).build();
    /// slab.insert([0; 4096]);
    /// assert_eq!(slab.stats().committed_bytes, 4096);
    /// ```
    pub const fn chunk_capacity(mut self, values: usize) -> Self {
        self.options.chunk_capacity = values;
        self
    }

    /// Sets the number of chunks that are allocated and touched at construction: 0 by default, at
    /// most 2³⁰. Insertions that these chunks have room for allocate nothing.
    ///
    /// The same number of unused chunks keep their memory, even if
    /// [`cached_chunks`](Self::cached_chunks) is lower. If the chunks exceed `max_bytes`, nothing
    /// is allocated, and the slab is not created.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().reserve(10).build();
    /// assert_eq!(slab.stats().cached_chunks, 10);
    /// ```
    pub const fn reserve(mut self, chunks: usize) -> Self {
        self.options.reserve = chunks;
        self
    }
}

/// Options that only [`EpochBytes`] has.
///
/// ```
/// use flatslab::epoch::EpochBytes;
///
/// let bytes = EpochBytes::builder().chunk_bytes(4096).largest(1 << 20).try_build()?;
/// assert_eq!(bytes.alloc(1 << 20).len(), 1 << 20);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl Builder<EpochBytes> {
    /// Sets the bytes of a chunk, 16 KiB by default. A chunk has at least one buffer, and at most
    /// 32,766.
    ///
    /// ```
    /// use flatslab::epoch::EpochBytes;
    ///
    /// let bytes = EpochBytes::builder().chunk_bytes(4096).build();
    /// bytes.alloc(100);
    /// assert_eq!(bytes.stats().committed_bytes, 4096);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.options.chunk_bytes = bytes;
        self
    }

    /// Sets the maximum bytes of a buffer, from 1 to 2³⁰. They are rounded up to a size class.
    ///
    /// The default is 64 KiB, or less if a chunk of that class would exceed
    /// [`max_bytes`](Self::max_bytes).
    ///
    /// ```
    /// use flatslab::epoch::EpochBytes;
    ///
    /// let bytes = EpochBytes::builder().largest(1 << 20).build();
    /// assert_eq!(bytes.alloc(1 << 20).len(), 1 << 20);
    /// ```
    pub const fn largest(mut self, bytes: usize) -> Self {
        self.options.largest = Some(bytes);
        self
    }
}
