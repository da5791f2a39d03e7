//! The options of both slabs.

use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::key::MAX_SLOTS;
use crate::memory::{PageOption, Pages};
use crate::raw::chunk;
use crate::slab::bounded::BoundedSlab;
use crate::slab::cell::CellPtr;
use crate::slab::growable::Slab;
use crate::slab::growth::table::grain;

/// The options that a builder of bounded slabs has been given.
#[derive(Clone, Debug)]
pub struct BoundedOptions {
    capacity: usize,
    lazy: bool,
}

impl<T> BoundedSlab<T> {
    /// Returns a builder of a slab, with options for its capacity, where its memory comes from, and
    /// whether the memory is only reserved.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().try_build()?;
    /// assert_eq!(slab.capacity(), 1 << 20);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(BoundedOptions {
            capacity: 0,
            lazy: false,
        })
    }
}

impl<T> Build for BoundedSlab<T> {
    type Options = BoundedOptions;

    fn try_build(options: BoundedOptions, pages: Pages) -> Result<Self, BuildError> {
        if options.lazy && pages.requires_explicit() {
            return Err(BuildError::Unsupported(PageOption::HugePages));
        }
        let source = pages.into_source()?;
        Ok(Self::try_new_in(options.capacity, options.lazy, &source)?)
    }
}

/// Options of a [`BoundedSlab`].
///
/// [`build`](Self::build) takes O(capacity), or O(1) if the slab is lazy. It panics if the capacity
/// is 2^30 or more, or its bytes exceed `isize::MAX`. The cells and the free stack are allocated
/// from the given [pages](Pages).
///
/// ```
/// use flatslab::BoundedSlab;
/// use flatslab::memory::{HugePages, Lock, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try).lock(Lock::Try);
/// let slab = BoundedSlab::<u64>::builder().capacity(100_000).pages(pages).try_build()?;
/// println!("{}", slab.memory());
/// assert!(BoundedSlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<BoundedSlab<T>> {
    /// Sets the number of slots. The default is 0.
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[doc(alias = "with_capacity")]
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }

    /// Reserves the memory instead of allocating it: the slab grows into its capacity, and access
    /// by key costs no more than in a slab that does not grow.
    ///
    /// Memory is committed in order, when insertions reach slots that were never used. So an
    /// insertion may take a page fault, and sometimes makes a system call.
    /// [`prepare`](BoundedSlab::prepare) does both in advance;
    /// [`shrink_to_fit`](BoundedSlab::shrink_to_fit) frees memory.
    ///
    /// With [system pages](Pages) the capacity costs only address space, and may exceed the memory
    /// of the machine. Locking then locks each page when it is committed. Explicit huge pages
    /// cannot be reserved in this way: [`HugePages::Require`](crate::memory::HugePages::Require) is
    /// refused, and `Try` takes transparent huge pages. The global allocator may refuse a capacity
    /// that exceeds the memory of the machine.
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().build();
    /// let key = slab.insert_key(7).unwrap();
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    pub const fn lazy(mut self) -> Self {
        self.options.lazy = true;
        self
    }
}

/// The options that a builder of growable slabs has been given.
#[derive(Clone, Debug)]
pub struct SlabOptions {
    /// `None` for the default, which a slab may replace by fewer slots.
    chunk_capacity: Option<usize>,
    reserve: usize,
    touch_ahead: usize,
    #[cfg(feature = "std")]
    spare_chunks: usize,
}

impl SlabOptions {
    /// Returns the binary logarithm of the slots of a chunk, rounded up and checked.
    fn shift<T>(&self) -> Result<u32, BuildError> {
        let Some(requested) = self.chunk_capacity else {
            return Ok(Slab::<T>::DEFAULT_SHIFT);
        };
        let limit = 1 << MAX_SLOTS.ilog2();
        BuildError::in_range("chunk_capacity", requested, 0, limit)?;
        let smallest = const { 1 << grain::<T>() };
        let slots = requested.max(smallest).next_power_of_two();
        match chunk::layout(CellPtr::<T>::LAYOUT, slots) {
            Ok(_) => Ok(slots.ilog2()),
            // The number that was asked for, not the rounded one.
            Err(_) => Err(BuildError::Memory(AllocError::TooManyBytes {
                slots: requested,
                slot_bytes: CellPtr::<T>::SIZE,
            })),
        }
    }
}

impl<T> Slab<T> {
    /// Returns a builder of a slab, with options for its chunks, its first memory, and where its
    /// memory comes from.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(2048).build();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.capacity(), 2048);
    /// # drop(slot);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(SlabOptions {
            chunk_capacity: None,
            reserve: 0,
            touch_ahead: Self::TOUCH_AHEAD,
            #[cfg(feature = "std")]
            spare_chunks: 0,
        })
    }
}

impl<T> Build for Slab<T> {
    type Options = SlabOptions;

    fn try_build(options: SlabOptions, pages: Pages) -> Result<Self, BuildError> {
        let shift = options.shift::<T>()?;
        #[cfg_attr(
            not(feature = "std"),
            expect(unused_mut, reason = "only a slab with a helper is changed")
        )]
        let mut slab = Self::with_options(
            shift,
            options.chunk_capacity.is_none(),
            options.touch_ahead,
            pages.into_source()?,
        );
        slab.try_reserve(options.reserve)?;
        #[cfg(feature = "std")]
        slab.try_build_ahead(options.spare_chunks)?;
        Ok(slab)
    }
}

/// Options of a [`Slab`].
///
/// [`build`](Self::build) allocates the reserved chunks and the spare chunks, in O(slots of
/// these). It panics if a chunk, the reserve (rounded up to whole chunks) or the spare chunks have
/// 2^30 slots or more, or their bytes exceed `isize::MAX`. The chunks, their table and the free
/// stack are allocated from the given [pages](Pages). Of system pages, many chunks are mapped at
/// once.
///
/// ```
/// use flatslab::Slab;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let builder = Slab::<u64>::builder().chunk_capacity(2000).reserve(5000);
/// let slab = builder.pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 6144); // chunks of 2048 slots, 3 of them
/// assert!(Slab::<u64>::builder().chunk_capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<Slab<T>> {
    /// Sets the number of slots of a chunk, which is rounded up to a power of two. The default is
    /// 4096, or fewer if these would take more than 288 KiB.
    ///
    /// A chunk has at least as many slots as fit into 16 KiB, each with its stamp of 8 bytes: 1024
    /// for a `u64`, 128 for a value of 64 bytes. For values of more than 248 bytes it has at least
    /// as many as fit into 1 KiB, and at least one for values of more than 504 bytes. Access by key
    /// relies on this.
    ///
    /// A chunk is allocated as a whole. Its memory is touched as insertions reach it, [some slots
    /// at a time](Self::touch_ahead).
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().chunk_capacity(2000).reserve(1).build();
    /// assert_eq!(slab.capacity(), 2048);
    /// ```
    pub const fn chunk_capacity(mut self, slots: usize) -> Self {
        self.options.chunk_capacity = Some(slots);
        self
    }

    /// Sets how many slots of a new chunk have their memory touched at once, by the insertion that
    /// reaches the first of them. With 0, each insertion that reaches a new page touches that page
    /// itself.
    ///
    /// The default depends on the size of the values: 2,048 (half of the usual chunk) up to 40
    /// bytes, 1,366 (a third) up to 64 bytes, and 0 for larger values. With the default, fewer than
    /// one insertion in a thousand waits for the system: choose it for a low p99.9. Choose 0 for a
    /// low p99.99 and a short longest insertion: each insertion then waits for at most its own page
    /// fault. With [`spare_chunks`](Self::spare_chunks) or [`reserve`](Slab::reserve), insertions
    /// neither touch memory ahead nor fault. A table on the page of [`Slab`] lists the percentiles
    /// for each setting.
    ///
    /// The touched slots are all in one chunk, and never more than the slab had before them: a slab
    /// of a few values touches one page. Memory that is populated when it is allocated, such as
    /// [system pages](crate::memory::Pages), is not touched. With the feature `os-memory`, one
    /// system call populates all these slots (Linux 5.14 or later).
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().touch_ahead(0).build();
    /// slab.insert_key(7);
    /// ```
    pub const fn touch_ahead(mut self, slots: usize) -> Self {
        self.options.touch_ahead = slots;
        self
    }

    /// Sets the number of values that the slab has room for at construction; their memory is
    /// allocated and touched. The default is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().reserve(10_000).build();
    /// assert!(slab.capacity() >= 10_000);
    /// ```
    pub const fn reserve(mut self, slots: usize) -> Self {
        self.options.reserve = slots;
        self
    }

    /// Sets the number of spare chunks that a thread keeps built, touched and stamped. The default
    /// is 0: no thread is started.
    ///
    /// An insertion that grows the slab takes one of them, and the insertions that fill it do not
    /// fault. If the thread is late, out of memory, or was refused by the system, the insertion
    /// allocates a chunk itself; [`growth_stalls`](Slab::growth_stalls) counts these insertions.
    /// Whenever the number of chunks doubles, growth also needs a larger free stack and a larger
    /// table of chunks. The thread builds these too, the same number of chunks ahead; if it is
    /// late, the insertion allocates them, and no stall is counted. With eight spare chunks of the
    /// default size, growth no longer shows in the slowest insertion of ten thousand
    /// (BENCHMARKS.md, "Growth").
    ///
    /// A spare chunk that was built for another place is stamped again, a few cells at each
    /// insertion. This happens with the next few chunks after [`reserve`](Slab::reserve) or
    /// [`shrink_to_fit`](Slab::shrink_to_fit), and with chunks that fill a hole left by
    /// `shrink_to_fit`.
    ///
    /// [`build`](Self::build) itself builds the first chunks. The thread inherits the cores and the
    /// signal mask of the thread that builds, so build the slab before you pin that thread to a
    /// core. The helper thread runs no code of yours except the allocator.
    /// [`try_build`](Self::try_build) aborts where the standard library aborts when it starts a
    /// thread.
    ///
    /// Dropping the slab stops the thread and waits for it: for the chunk that it is building, or
    /// for a nap of less than a millisecond. So do not drop such a slab while holding a lock that
    /// the allocator needs, nor, on Windows, in the destructor of a thread-local value, where
    /// threads can neither start nor end. If the slab is forgotten, the thread stays asleep. A
    /// forked child has no such thread, and builds its chunks itself. It must not ask for more
    /// [system pages](Pages), because the thread may have been asking for some at the moment of the
    /// fork.
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
        self.options.spare_chunks = chunks;
        self
    }
}
