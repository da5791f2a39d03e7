//! `SlabBuilder`: how a growable slab is made.

use core::fmt;
use core::marker::PhantomData;

use crate::error::{AllocError, BuildError};
use crate::key::MAX_SLOTS;
use crate::memory::Pages;
use crate::raw::chunk;
use crate::raw::memory;
use crate::slab::TrackedSlab;
use crate::slab::cell::layout::CellPtr;
use crate::slab::growable::{Growable, Slab};
use crate::slab::growth::table::grain;

/// How a [`Slab`] is made. The order of the calls does not matter.
///
/// # Examples
///
/// ```
/// use flatslab::Slab;
///
/// let slab: Slab<u64> = Slab::builder().chunk_capacity(2000).reserve(5000).build();
/// assert_eq!(slab.capacity(), 6144); // chunks of 2048 slots, 3 of them
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct SlabBuilder<T> {
    chunk_capacity: usize,
    reserve: usize,
    #[cfg(feature = "std")]
    spare_chunks: usize,
    pages: Pages,
    values: PhantomData<fn() -> T>,
}

impl<T> TrackedSlab<T, Growable> {
    /// A slab with room for `capacity` values, all of it allocated and touched
    /// now; O(capacity). It may get more: chunks are whole.
    ///
    /// # Panics
    ///
    /// If that is 2^30 slots or more, or its bytes pass `isize::MAX`. Where the
    /// allocator refuses the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::with_capacity(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::builder().reserve(capacity).build()
    }

    /// Like [`with_capacity`](Self::with_capacity), but never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`with_capacity`](Self::with_capacity) panics, or the allocator
    /// refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::Slab::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        let slab = Self::new();
        slab.try_reserve(capacity)?;
        Ok(slab)
    }

    /// A slab with other chunks than usual, or with memory beforehand.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(2048).build();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.capacity(), 2048);
    /// # drop(slot);
    /// ```
    pub const fn builder() -> SlabBuilder<T> {
        SlabBuilder::new(1 << Self::DEFAULT_SHIFT)
    }
}

impl<T> SlabBuilder<T> {
    const fn new(chunk_capacity: usize) -> Self {
        SlabBuilder {
            chunk_capacity,
            reserve: 0,
            #[cfg(feature = "std")]
            spare_chunks: 0,
            pages: Pages::new(),
            values: PhantomData,
        }
    }

    /// Slots of a chunk, rounded up to a power of two. The default is 4096, or
    /// fewer where those would take more than 256 KiB.
    ///
    /// The fewest are as many as fit into 16 KiB, each with its stamp of 8 bytes:
    /// 1024 for a `u64`, 128 for 64 bytes; of values of more than 248 bytes as many
    /// as fit into 1 KiB, and one from 505 bytes on. Access by key relies on that.
    ///
    /// A chunk is taken from the allocator at once, and its memory page by page, as
    /// insertions come to it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().chunk_capacity(2000).reserve(1).build();
    /// assert_eq!(slab.capacity(), 2048);
    /// ```
    pub const fn chunk_capacity(mut self, slots: usize) -> Self {
        self.chunk_capacity = slots;
        self
    }

    /// Makes room for this many values beforehand, allocated and touched.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().reserve(10_000).build();
    /// assert!(slab.capacity() >= 10_000);
    /// ```
    pub const fn reserve(mut self, slots: usize) -> Self {
        self.reserve = slots;
        self
    }

    /// Keeps this many spare chunks built, touched and stamped, by a thread of
    /// its own; 0, the default, is none.
    ///
    /// An insertion that grows takes one of them, and those that fill it do not
    /// fault. Where the thread is late, out of memory, or was refused by the system,
    /// the insertion takes a chunk from the allocator itself;
    /// [`growth_stalls`](Slab::growth_stalls) counts those. A larger free stack
    /// and table of chunks, which growth needs at every doubling, the thread has
    /// ready too, from so many chunks before; where it is late with these, the
    /// insertion allocates them and no stall is counted. With eight spares of
    /// the default size, growth no longer shows in the slowest insertion of ten
    /// thousand (BENCHMARKS.md, "Growth"). A spare that was built for another
    /// place is stamped again, a few cells at an insertion: the next few after
    /// [`reserve`](Slab::reserve) or [`shrink_to_fit`](Slab::shrink_to_fit), and those that
    /// fill a hole which `shrink_to_fit` left.
    ///
    /// [`build`](Self::build) itself builds the first chunks. The thread inherits
    /// the cores and the signal mask of the thread that builds: build before you
    /// pin yourself to a core. It runs no code of yours except the allocator.
    ///
    /// Dropping the slab ends the thread and waits for it: for the chunk it is
    /// building, or a nap of less than a millisecond. So do not drop such a slab
    /// under a lock that the allocator needs, nor, on Windows, as a thread-local
    /// value, where threads can neither start nor end. Forgetting the slab leaves
    /// the thread asleep. A forked child has no such thread, and builds its
    /// chunks itself; of the [system's pages](Pages) it must not ask for more, for
    /// the thread may have been asking for some when it was forked.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().chunk_capacity(64).spare_chunks(2).build();
    /// for number in 0..128 {
    ///     slab.insert_key(number);
    /// }
    /// assert_eq!(slab.growth_stalls(), 0);
    /// ```
    #[cfg(feature = "std")]
    pub const fn spare_chunks(mut self, chunks: usize) -> Self {
        self.spare_chunks = chunks;
        self
    }

    /// What memory it is to have. Chunks, table and free stack come from there;
    /// of the [system's pages](Pages), many chunks are mapped at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Slab;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// let slab = Slab::<u64>::builder().pages(pages).reserve(10_000).try_build()?;
    /// println!("{}", slab.memory());
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Makes the slab; allocates only what was reserved and the spare chunks,
    /// O(slots of those).
    ///
    /// # Panics
    ///
    /// If a chunk, the reserve, rounded up to whole chunks, or the spare chunks
    /// come to 2^30 slots or more, or their bytes pass `isize::MAX`; if what is
    /// required of the pages is not to be had. Where the allocator refuses the
    /// program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().build();
    /// assert!(slab.is_empty());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> Slab<T> {
        match self.try_build() {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// Makes the slab, like [`build`](Self::build); never panics, nor aborts but
    /// where the standard library does so when it starts a thread.
    ///
    /// # Errors
    ///
    /// Where [`build`](Self::build) panics, or the allocator refuses; nothing
    /// is leaked then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// assert!(Slab::<u64>::builder().chunk_capacity(1 << 30).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<Slab<T>, BuildError> {
        let shift = self.shift()?;
        #[cfg_attr(not(feature = "std"), expect(unused_mut))]
        let mut slab = Slab::with_shift(shift, self.pages.into_source()?);
        slab.try_reserve(self.reserve)?;
        #[cfg(feature = "std")]
        slab.try_build_ahead(self.spare_chunks)?;
        Ok(slab)
    }

    /// The binary logarithm of the slots of a chunk, rounded up and checked.
    fn shift(&self) -> Result<u32, AllocError> {
        let limit = 1 << MAX_SLOTS.ilog2();
        if self.chunk_capacity > limit {
            return Err(AllocError::TooManySlots {
                requested: self.chunk_capacity,
                limit,
            });
        }
        let smallest = const { 1 << grain::<T>() };
        let slots = self.chunk_capacity.max(smallest).next_power_of_two();
        match chunk::layout(CellPtr::<T>::LAYOUT, slots) {
            Ok(_) => Ok(slots.ilog2()),
            // Named as it was asked for, not rounded up.
            Err(_) => Err(AllocError::TooManyBytes {
                slots: self.chunk_capacity,
                slot_bytes: CellPtr::<T>::SIZE,
            }),
        }
    }
}

impl<T> Clone for SlabBuilder<T> {
    fn clone(&self) -> Self {
        SlabBuilder {
            pages: self.pages.clone(),
            ..*self
        }
    }
}

impl<T> fmt::Debug for SlabBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("SlabBuilder");
        fields
            .field("chunk_capacity", &self.chunk_capacity)
            .field("reserve", &self.reserve);
        #[cfg(feature = "std")]
        fields.field("spare_chunks", &self.spare_chunks);
        fields.field("pages", &self.pages).finish()
    }
}
