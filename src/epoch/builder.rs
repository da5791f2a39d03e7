//! `EpochsBuilder`: options of epoch slabs.

use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;

use super::chunk::Plan;
use super::key::INDEX_BITS;
use super::raw_epochs::RawEpochs;
use super::sizes;
use super::store::Limits;
use super::word::MAX_SLOTS;
use super::{Bytes, Contents, EpochBytes, EpochSlab, Epochs, Values};
use crate::error::{AllocError, BuildError};
use crate::memory::Pages;
use crate::raw::source::Source;
use crate::raw::{chunk, memory};

/// The maximum number of places of a ring.
const MAX_EPOCHS: usize = 1 << 20;
/// The maximum bytes of a buffer, and of a chunk of buffers.
const MAX_BYTES: usize = 1 << 30;
/// The maximum number of chunks of a slab: a key has that many bits for it.
const MAX_CHUNKS: usize = 1 << INDEX_BITS;

/// Options of an [`EpochSlab`] or an [`EpochBytes`]. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::<[u8; 128]>::builder().chunk_capacity(100).epochs(4).try_build()?;
/// slab.insert([0; 128]);
/// assert_eq!(slab.stats().committed_bytes, 100 * 128);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct EpochsBuilder<C> {
    chunk_capacity: usize,
    chunk_bytes: usize,
    largest: usize,
    epochs: usize,
    cached_chunks: usize,
    reserve: usize,
    max_bytes: usize,
    pages: Pages,
    contents: PhantomData<fn() -> C>,
}

impl<C> EpochsBuilder<C> {
    const fn new() -> Self {
        EpochsBuilder {
            chunk_capacity: 64,
            chunk_bytes: 16 << 10,
            largest: 64 << 10,
            epochs: 16,
            cached_chunks: 32,
            reserve: 0,
            max_bytes: usize::MAX,
            pages: Pages::new(),
            contents: PhantomData,
        }
    }

    /// Number of places of the ring, for the current epoch and the previous ones that are not
    /// closed; 16 by default, from 1 to 2²⁰. An advance onto a place that is still taken closes
    /// that epoch.
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
        self.epochs = epochs;
        self
    }

    /// Maximum number of unused chunks of a size class that keep their memory; 32 by default.
    /// The next epoch takes them without a call of the allocator or a page fault. With 0 all
    /// memory is given back at once. [`Epochs::set_cached_chunks`] changes it later.
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
        self.cached_chunks = chunks;
        self
    }

    /// Maximum bytes of the cells of all chunks together; no limit by default. An insertion that
    /// would exceed it first gives back unused chunks of other size classes, and is refused if
    /// that is not enough.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().max_bytes(64 * 8).build();
    /// let keys: Vec<_> = (0..64).map(|value| slab.insert(value)).collect();
    /// assert_eq!(slab.try_insert(64).unwrap_err().into_inner(), 64);
    /// # drop(keys);
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Where the memory comes from. The system's pages are given back to the system chunk by
    /// chunk, other memory to where it came from.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// let slab = EpochSlab::<u64>::builder().pages(pages).build();
    /// # drop(slab);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// The slab, of these classes.
    fn assemble(
        self,
        plans: impl Fn(&Source) -> Result<Plans, BuildError>,
    ) -> Result<Epochs<C>, BuildError>
    where
        C: Contents,
    {
        in_range("epochs", self.epochs, 1, MAX_EPOCHS)?;
        let source = self.pages.into_source()?;
        let plans = plans(&source)?;
        if let Some(plan) = plans.iter().next() {
            check_reserve(self.reserve, &plan, self.max_bytes)?;
        }
        let limits = Limits {
            max_bytes: self.max_bytes,
            bound: self.cached_chunks.max(self.reserve),
        };
        let raw = RawEpochs::try_new(plans.iter(), self.epochs, limits, &source)?;
        for _ in 0..self.reserve {
            raw.store.grow(0)?;
        }
        Ok(Epochs {
            raw,
            contents: PhantomData,
        })
    }
}

/// Checks that there can be that many chunks of this plan. Otherwise all memory would be
/// allocated and touched before the last of them is refused.
///
/// # Errors
///
/// If keys have not enough bits for them, or their bytes exceed `isize::MAX` or
/// `max_bytes`.
fn check_reserve(chunks: usize, plan: &Plan, max_bytes: usize) -> Result<(), BuildError> {
    in_range("reserve", chunks, 0, MAX_CHUNKS)?;
    let slots = plan.slots as usize;
    let chunk_bytes = plan.data.size().saturating_add(plan.record_bytes());
    let all = chunk_bytes.checked_mul(chunks);
    if all.is_none_or(|all| isize::try_from(all).is_err()) {
        let too_many = AllocError::TooManyBytes {
            slots: slots.saturating_mul(chunks),
            slot_bytes: chunk_bytes / slots,
        };
        return Err(too_many.into());
    }
    // Not more than what was multiplied above.
    let bytes = plan.data.size() * chunks;
    if bytes > max_bytes {
        return Err(AllocError::Limit { bytes }.into());
    }
    Ok(())
}

/// The plans of all size classes.
struct Plans {
    of: [Option<Plan>; sizes::CLASSES],
    len: usize,
}

impl Plans {
    fn iter(&self) -> impl ExactSizeIterator<Item = Plan> {
        (0..self.len).map(|class| self.of[class].expect("within the length"))
    }
}

/// The layout of the cells of a chunk: whole pages, where pages are given back.
fn data_layout(cells: Layout, source: &Source) -> Result<Layout, AllocError> {
    let Some(page) = source.page_size() else {
        return Ok(cells);
    };
    let bytes = cells.size();
    (bytes.checked_next_multiple_of(page))
        .and_then(|bytes| Layout::from_size_align(bytes, cells.align().max(page)).ok())
        .ok_or(AllocError::OutOfMemory { bytes })
}

fn in_range(option: &'static str, given: usize, min: usize, max: usize) -> Result<(), BuildError> {
    if (min..=max).contains(&given) {
        Ok(())
    } else {
        Err(BuildError::OutOfRange {
            option,
            given,
            min,
            max,
        })
    }
}

impl<T> EpochSlab<T> {
    /// Returns a builder, for other chunks than those of [`new`](Self::new), other memory, or
    /// limits.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::builder().epochs(4).build();
    /// # drop(slab);
    /// ```
    pub const fn builder() -> EpochsBuilder<Values<T>> {
        EpochsBuilder::new()
    }
}

impl<T> EpochsBuilder<Values<T>> {
    /// Number of values in a chunk; 64 by default, from 1 to 32,766.
    ///
    /// An epoch takes whole chunks, and a value that stays keeps its whole chunk: small chunks
    /// waste less, large ones are taken less often. In the system's pages a chunk takes whole
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
        self.chunk_capacity = values;
        self
    }

    /// Number of chunks that are allocated and touched in advance; none by default, at most 2³⁰.
    /// As many unused chunks keep their memory, also if [`cached_chunks`](Self::cached_chunks) is
    /// lower. If they exceed [`max_bytes`](Self::max_bytes), nothing is allocated, and the slab
    /// is not created.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// let slab = EpochSlab::<u64>::builder().reserve(10).build();
    /// assert_eq!(slab.stats().cached_chunks, 10);
    /// ```
    pub const fn reserve(mut self, chunks: usize) -> Self {
        self.reserve = chunks;
        self
    }

    /// Creates the slab.
    ///
    /// # Panics
    ///
    /// If an option is out of range, or a required option of the pages is unavailable. Aborts if
    /// the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::builder().build();
    /// # drop(slab);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> EpochSlab<T> {
        match self.try_build() {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates the slab; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`build`](Self::build) would panic or abort.
    ///
    /// ```
    /// use flatslab::epoch::EpochSlab;
    ///
    /// assert!(EpochSlab::<u64>::builder().chunk_capacity(0).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<EpochSlab<T>, BuildError> {
        let slots = self.chunk_capacity;
        in_range("chunk_capacity", slots, 1, MAX_SLOTS)?;
        self.assemble(|source| {
            let cell = Layout::new::<T>();
            let plan = Plan {
                cell: cell.size(),
                slots: slots as u32,
                data: data_layout(chunk::layout(cell, slots)?, source)?,
                lengths: false,
            };
            let mut of = [None; sizes::CLASSES];
            of[0] = Some(plan);
            Ok(Plans { of, len: 1 })
        })
    }
}

impl EpochBytes {
    /// Returns a builder, for other chunks than those of [`new`](Self::new), other memory, or
    /// limits.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::builder().epochs(4).build();
    /// # drop(bytes);
    /// ```
    pub const fn builder() -> EpochsBuilder<Bytes> {
        EpochsBuilder::new()
    }
}

impl EpochsBuilder<Bytes> {
    /// Bytes of a chunk; 16 KiB by default. A chunk has at least one buffer, and at most 32,766.
    ///
    /// ```
    /// use flatslab::epoch::EpochBytes;
    ///
    /// let bytes = EpochBytes::builder().chunk_bytes(4096).build();
    /// bytes.alloc(100);
    /// assert_eq!(bytes.stats().committed_bytes, 4096);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// Maximum bytes of a buffer, rounded up to a size class; 64 KiB by default, from 1 to 2³⁰.
    ///
    /// ```
    /// use flatslab::epoch::EpochBytes;
    ///
    /// let bytes = EpochBytes::builder().largest(1 << 20).build();
    /// assert_eq!(bytes.alloc(1 << 20).len(), 1 << 20);
    /// ```
    pub const fn largest(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// Creates the slab.
    ///
    /// # Panics
    ///
    /// If an option is out of range, or a required option of the pages is unavailable. Aborts if
    /// the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::builder().build();
    /// # drop(bytes);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> EpochBytes {
        match self.try_build() {
            Ok(bytes) => bytes,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates the slab; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`build`](Self::build) would panic or abort.
    ///
    /// ```
    /// use flatslab::epoch::EpochBytes;
    ///
    /// assert!(EpochBytes::builder().epochs(0).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<EpochBytes, BuildError> {
        let (chunk_bytes, largest) = (self.chunk_bytes, self.largest);
        in_range("chunk_bytes", chunk_bytes, 1, MAX_BYTES)?;
        in_range("largest", largest, 1, MAX_BYTES)?;
        self.assemble(|source| {
            let mut of = [None; sizes::CLASSES];
            let len = sizes::class_of(largest) + 1;
            for (class, plan) in of.iter_mut().enumerate().take(len) {
                let size = sizes::size_of_class(class);
                let cell = Layout::from_size_align(size, sizes::ALIGN).expect("within the limit");
                let slots = (chunk_bytes / size).clamp(1, MAX_SLOTS);
                *plan = Some(Plan {
                    cell: size,
                    slots: slots as u32,
                    data: data_layout(chunk::layout(cell, slots)?, source)?,
                    lengths: true,
                });
            }
            Ok(Plans { of, len })
        })
    }
}

impl<C> Clone for EpochsBuilder<C> {
    fn clone(&self) -> Self {
        EpochsBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<C> fmt::Debug for EpochsBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochsBuilder")
            .field("chunk_capacity", &self.chunk_capacity)
            .field("chunk_bytes", &self.chunk_bytes)
            .field("largest", &self.largest)
            .field("epochs", &self.epochs)
            .field("cached_chunks", &self.cached_chunks)
            .field("reserve", &self.reserve)
            .field("max_bytes", &self.max_bytes)
            .field("pages", &self.pages)
            .finish()
    }
}
