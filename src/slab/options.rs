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

/// What a builder of bounded slabs has set.
#[derive(Clone, Debug)]
pub struct BoundedOptions {
    capacity: usize,
    lazy: bool,
}

impl<T> BoundedSlab<T> {
    /// A builder of a slab: where its memory comes from, and whether it is only reserved.
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
/// [`build`](Self::build) is O(capacity), or O(1) if the slab is lazy. It panics if the capacity
/// is 2^30 or more, or its bytes exceed `isize::MAX`. The [pages](Pages) are those of the cells and
/// of the free stack.
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
    /// Number of slots; 0 by default.
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }

    /// Only reserves the memory. The slab grows into its capacity, and access by key costs
    /// what it costs in a slab that does not grow.
    ///
    /// Slots are committed in order, when insertions come to slots that were never used. So an
    /// insertion may take a page fault, and now and then makes a system call.
    /// [`prepare`](BoundedSlab::prepare) makes and takes them in advance,
    /// [`shrink_to_fit`](BoundedSlab::shrink_to_fit) gives memory back.
    ///
    /// With [system pages](Pages) a capacity costs only address space: it may exceed the
    /// memory of the machine. Locking then locks each page as it is committed. Explicit huge
    /// pages cannot be reserved in this way:
    /// [`HugePages::Require`](crate::memory::HugePages::Require) is refused, and `Try` takes
    /// transparent ones. The global allocator may refuse more than the machine has.
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

/// What a builder of growable slabs has set.
#[derive(Clone, Debug)]
pub struct SlabOptions {
    chunk_capacity: usize,
    reserve: usize,
    touch_ahead: usize,
    #[cfg(feature = "std")]
    spare_chunks: usize,
}

impl SlabOptions {
    /// The binary logarithm of the slots of a chunk, rounded up and checked.
    fn shift<T>(&self) -> Result<u32, BuildError> {
        let limit = 1 << MAX_SLOTS.ilog2();
        BuildError::in_range("chunk_capacity", self.chunk_capacity, 0, limit)?;
        let smallest = const { 1 << grain::<T>() };
        let slots = self.chunk_capacity.max(smallest).next_power_of_two();
        match chunk::layout(CellPtr::<T>::LAYOUT, slots) {
            Ok(_) => Ok(slots.ilog2()),
            // Named as it was asked for, not rounded up.
            Err(_) => Err(BuildError::Memory(AllocError::TooManyBytes {
                slots: self.chunk_capacity,
                slot_bytes: CellPtr::<T>::SIZE,
            })),
        }
    }
}

impl<T> Slab<T> {
    /// A builder of a slab: its chunks, its first memory, and where memory comes from.
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
            chunk_capacity: 1 << Self::DEFAULT_SHIFT,
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
        let mut slab = Self::with_options(shift, options.touch_ahead, pages.into_source()?);
        slab.try_reserve(options.reserve)?;
        #[cfg(feature = "std")]
        slab.try_build_ahead(options.spare_chunks)?;
        Ok(slab)
    }
}

/// Options of a [`Slab`].
///
/// [`build`](Self::build) allocates only what was reserved and the spare chunks; O(slots of
/// those). It panics if a chunk, the reserve, rounded up to whole chunks, or the spare chunks come
/// to 2^30 slots or more, or their bytes exceed `isize::MAX`. The [pages](Pages) are those of the
/// chunks, of their table and of the free stack; of the system's, many chunks are mapped at once.
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
    /// Number of slots of a chunk, rounded up to a power of two. The default is 4096, or
    /// fewer if those would take more than 288 KiB.
    ///
    /// A chunk has at least the slots that fit into 16 KiB, each with its stamp of 8 bytes:
    /// 1024 for a `u64`, 128 for 64 bytes. Of values of more than 248 bytes it has at least
    /// those that fit into 1 KiB, and one from 505 bytes on. Access by key relies on that.
    ///
    /// A chunk is taken from the allocator at once. Its memory is touched as insertions come to
    /// it, [a stretch](Self::touch_ahead) at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// # use flatslab::Slab;
    /// let slab = Slab::<u64>::builder().chunk_capacity(2000).reserve(1).build();
    /// assert_eq!(slab.capacity(), 2048);
    /// ```
    pub const fn chunk_capacity(mut self, slots: usize) -> Self {
        self.options.chunk_capacity = slots;
        self
    }

    /// Sets how many slots of a new chunk have their memory touched at once, by the insertion that
    /// comes to the first of them; 0 for none, so that each insertion that comes to a new page
    /// pays for that.
    ///
    /// The default is half of the usual chunk, 2,048, for values of up to 40 bytes, a third of it,
    /// 1,366, for values of up to 64 bytes, and 0 for
    /// larger ones. With it fewer than one insertion in a thousand waits for the system: choose it
    /// for p99.9. Choose 0 for p99.99 and the longest insertion, as each page fault is then an
    /// insertion's own. [`spare_chunks`](Self::spare_chunks) and [`reserve`](Slab::reserve) spare
    /// insertions both. A table in the page of [`Slab`] says which percentile
    /// each setting gives.
    ///
    /// A stretch ends with its chunk, and is never of more slots than the slab has had before it:
    /// a slab of a few values touches one page. Memory that comes with its pages, as the
    /// [system's](crate::memory::Pages) does, is not touched. With the feature `os-memory` one call
    /// of the system provides a stretch (Linux 5.14).
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

    /// Number of values that the slab has room for at the start, allocated and touched; 0 by
    /// default.
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

    /// Number of spare chunks that a thread keeps built, touched and stamped; 0 by default,
    /// for no thread.
    ///
    /// An insertion that grows takes one of them, and the insertions that fill it do not
    /// fault. If the thread is late, out of memory, or was refused by the system, the
    /// insertion takes a chunk from the allocator itself;
    /// [`growth_stalls`](Slab::growth_stalls) counts those. Growth needs a larger free stack
    /// and table of chunks at every doubling. The thread builds these too, as many chunks
    /// ahead; if it is late, the insertion allocates them and no stall is counted. With eight
    /// spares of the default size, growth no longer shows in the slowest insertion of ten
    /// thousand (BENCHMARKS.md, "Growth"). A spare that was built for another place is
    /// stamped again, a few cells at an insertion: the next few after
    /// [`reserve`](Slab::reserve) or [`shrink_to_fit`](Slab::shrink_to_fit), and those that
    /// fill a hole which `shrink_to_fit` left.
    ///
    /// [`build`](Self::build) itself builds the first chunks. The thread inherits the cores
    /// and the signal mask of the thread that builds: build before you pin yourself to a
    /// core. It runs no code of yours except the allocator.
    /// [`try_build`](Self::try_build) aborts where the standard library does so when it
    /// starts a thread.
    ///
    /// Dropping the slab ends the thread and waits for it: for the chunk it is building, or a
    /// nap of less than a millisecond. So do not drop such a slab under a lock that the
    /// allocator needs, nor, on Windows, as a thread-local value, where threads can neither
    /// start nor end. Forgetting the slab leaves the thread asleep. A forked child has no such
    /// thread, and builds its chunks itself. It must not ask for more of the
    /// [system's pages](Pages), for the thread may have been asking for some when it was
    /// forked.
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
