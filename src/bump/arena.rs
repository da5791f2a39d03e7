//! `Arena`: its constructors, builder, reset and statistics.

use core::fmt;

use super::chunks::{Checkpoint, Chunks, LEAST_CHUNK};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::{Pages, Report};
use crate::raw::memory;
use crate::raw::source::Source;

/// Scratch memory of mixed types that grows by chunks; see the [module](super).
///
/// Values stay until the arena is [reset](Self::reset) or dropped, and are **not dropped** then.
pub struct Arena {
    pub(super) chunks: Chunks,
}

// SAFETY: the arena owns its chunks. What was allocated borrows it, so none of that is alive
// when it moves to another thread.
unsafe impl Send for Arena {}

impl core::panic::UnwindSafe for Arena {}
impl core::panic::RefUnwindSafe for Arena {}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

/// Panics or aborts on an error.
#[inline]
#[track_caller]
fn or_fail<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => memory::fail(error),
    }
}

impl Arena {
    /// Creates an arena without memory. O(1); allocates nothing.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.allocated_bytes(), 0);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Arena {
            chunks: Chunks::new(Source::GLOBAL),
        }
    }

    /// Creates an arena with room for at least `bytes` bytes. It grows when it is full.
    ///
    /// # Panics
    ///
    /// If `bytes` exceeds `isize::MAX`. If the allocator refuses, the program aborts, as with
    /// `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::with_capacity(10_000);
    /// assert!(arena.remaining() >= 10_000);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        or_fail(Self::try_with_capacity(bytes))
    }

    /// Creates an arena with room for at least `bytes` bytes; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `bytes` exceeds `isize::MAX`, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(bytes: usize) -> Result<Self, AllocError> {
        let arena = Self::new();
        arena.try_reserve(bytes)?;
        Ok(arena)
    }

    /// Creates an arena that has one chunk of `bytes` bytes, and never grows.
    ///
    /// The size is rounded up to a multiple of 8. The chunk is allocated and touched now, and the
    /// arena never calls the allocator afterwards. If there is no room left in the chunk, methods
    /// that allocate panic, and their `try_` forms return an error.
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` exceeds `isize::MAX`. If the allocator refuses, the program aborts, as with
    /// `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::bump::Arena;
    ///
    /// let mut arena = Arena::bounded(64);
    /// let row = arena.alloc_slice_fill_with(8, |index| index as u64);
    /// assert_eq!(row[7], 7);
    /// assert_eq!(arena.try_alloc(7).unwrap_err().into_inner(), 7);
    /// arena.reset();
    /// assert_eq!(*arena.alloc(7), 7);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn bounded(bytes: usize) -> Self {
        or_fail(Self::try_bounded(bytes))
    }

    /// Creates an arena that has one chunk of `bytes` bytes and never grows; never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// If `bytes` exceeds `isize::MAX`, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::try_bounded(usize::MAX).is_err());
    /// ```
    pub fn try_bounded(bytes: usize) -> Result<Self, AllocError> {
        let arena = Self::new();
        arena.chunks.bound(bytes)?;
        Ok(arena)
    }

    /// Returns a builder, with options for the arena's memory, limit and chunks.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options {
            bounded: None,
            reserve: 0,
            chunk_bytes: None,
            max_bytes: usize::MAX,
        })
    }

    /// Reserves room for at least `bytes` more bytes.
    ///
    /// Until the next reset, rewind or [`shrink_to_fit`](Self::shrink_to_fit), allocations of up to
    /// `bytes` bytes in total do not call the allocator, whatever their sizes and their order.
    ///
    /// An allocation counts as its size, rounded up to a multiple of 8, plus its alignment less 8
    /// if that is above 8. A vector that grows counts once for each capacity that it has. The room
    /// is in one piece: a single allocation may take all of it.
    ///
    /// The room is also given up if a later request needs more than there is, and the allocator
    /// refuses it a chunk: the request then frees chunks that are not in use, 42 at most, and asks
    /// again.
    ///
    /// # Complexity
    ///
    /// O(1): looks at 42 chunks at most, and allocates a chunk if none of them has the room.
    ///
    /// # Panics
    ///
    /// If `bytes` exceeds `isize::MAX`, or the limit is reached. If the allocator refuses, the
    /// program aborts, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// arena.reserve(10_000);
    /// let before = arena.allocated_bytes();
    /// arena.alloc([0_u8; 10_000]);
    /// assert_eq!(arena.allocated_bytes(), before);
    /// ```
    #[track_caller]
    pub fn reserve(&self, bytes: usize) {
        or_fail(self.try_reserve(bytes));
    }

    /// Reserves room for at least `bytes` more bytes; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `bytes` exceeds `isize::MAX`. If a chunk of `bytes` and a header of 64 bytes would exceed
    /// the limit, or the allocator refuses such a chunk. A larger chunk is requested first; its
    /// refusal is not an error.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::new().try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&self, bytes: usize) -> Result<(), AllocError> {
        self.chunks.reserve(bytes)
    }

    /// Frees the chunks that are not in use.
    ///
    /// After a [`reset`](Self::reset) these are all chunks but the first. The first is freed too if
    /// it is larger than a first chunk usually is. The chunk of a [bounded](Self::bounded) arena is
    /// never freed.
    ///
    /// # Complexity
    ///
    /// O(n) for n chunks.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// arena.alloc([0_u8; 100_000]);
    /// arena.reset();
    /// arena.shrink_to_fit();
    /// assert!(arena.allocated_bytes() < 100_000);
    /// ```
    #[doc(alias = "trim")]
    pub fn shrink_to_fit(&mut self) {
        self.chunks.shrink_to_fit();
    }

    /// Frees everything that was allocated. O(1).
    ///
    /// The chunks are kept, and values are not dropped.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::bounded(8);
    /// arena.alloc(42_u64);
    /// arena.reset();
    /// assert_eq!(arena.remaining(), 8);
    /// ```
    #[doc(alias = "clear")]
    pub fn reset(&mut self) {
        // SAFETY: what was allocated borrows the arena, which is borrowed mutably here, so
        // none of it is used any more.
        unsafe { self.chunks.reset() };
    }

    /// Returns the current position of the arena, which [`rewind`](Self::rewind) returns to. O(1).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.checkpoint(), arena.checkpoint());
    /// ```
    #[must_use]
    #[doc(alias = "mark")]
    pub fn checkpoint(&self) -> Checkpoint {
        self.chunks.checkpoint()
    }

    /// Frees everything that was allocated since this checkpoint. O(1).
    ///
    /// [`scope`](Self::scope) is the safe form.
    ///
    /// # Safety
    ///
    /// - The checkpoint is from this arena. Since it was taken, the arena was not reset, shrunk, or
    ///   rewound to an earlier checkpoint.
    /// - Nothing that was allocated since then is used any more. Dropping a box or a vector is a
    ///   use.
    /// - Nothing that was allocated before has grown, shrunk or been freed since then: vectors and
    ///   other collections have the memory that they had, and were not dropped.
    /// - No method of this arena that was called since then is still running. A method that was
    ///   called before may be running if the code that rewinds was called by it (a closure, an
    ///   iterator, a clone, a formatter, a destructor, a source of memory) and the method has done
    ///   nothing since the checkpoint. That is: the checkpoint was taken in the same call of that
    ///   code, and a formatter has written nothing in between.
    ///
    /// So the closure of [`alloc_with`](Self::alloc_with) may rewind to a checkpoint that it has
    /// taken itself. It must not rewind to one that was taken before the call: the memory of its
    /// value may be allocated already, and the rewind would free it.
    ///
    /// Debug builds panic if they notice that the first or the last condition is broken. They do
    /// not always notice.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let kept: *mut u64 = arena.alloc(1);
    /// let checkpoint = arena.checkpoint();
    /// arena.alloc([0_u8; 1000]);
    /// // SAFETY: the reference to the zeroes is not used any more.
    /// unsafe { arena.rewind(checkpoint) };
    /// assert_eq!(arena.checkpoint(), checkpoint);
    /// ```
    pub unsafe fn rewind(&self, checkpoint: Checkpoint) {
        #[cfg(debug_assertions)]
        self.chunks.assert_valid(checkpoint);
        // SAFETY: the conditions of this function include those of that one.
        unsafe { self.chunks.rewind(checkpoint) };
    }

    /// Returns the number of bytes of all chunks without their headers. O(n) for n chunks.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert_eq!(arena.allocated_bytes(), 1024);
    /// ```
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.chunks.bytes() - self.chunks.count().1
    }

    /// Returns the number of bytes of all chunks with their headers. O(1).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert!(arena.allocated_bytes_including_metadata() > 1024);
    /// ```
    #[must_use]
    #[doc(alias = "capacity")]
    pub fn allocated_bytes_including_metadata(&self) -> usize {
        self.chunks.bytes()
    }

    /// Returns the number of bytes left in the current chunk. O(1).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// arena.alloc(7_u8);
    /// assert_eq!(arena.remaining(), 1024 - 1);
    /// ```
    #[must_use]
    #[doc(alias = "chunk_capacity")]
    pub fn remaining(&self) -> usize {
        self.chunks.remaining()
    }

    /// Returns the number of chunks. O(n) for n chunks.
    ///
    /// ```
    /// assert_eq!(flatslab::bump::Arena::new().chunks_allocated(), 0);
    /// ```
    #[must_use]
    #[doc(alias = "iter_allocated_chunks")]
    pub fn chunks_allocated(&self) -> usize {
        self.chunks.count().0
    }

    /// Returns a report on the arena's memory: its size, and which of the requested page options
    /// were obtained.
    ///
    /// It asks the system about [the pages](crate::memory::Pages), so it is meant for start-up and
    /// for diagnostics.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert!(arena.memory().bytes() >= 1024);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.chunks.bytes(), self.chunks.source())
    }

    /// Panics if an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    pub fn check(&self) {
        self.chunks.check();
    }
}

/// Prints the number of bytes, not the values.
impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.chunks.bytes())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

/// The options of a builder of arenas.
#[derive(Clone, Debug)]
pub struct Options {
    bounded: Option<usize>,
    reserve: usize,
    chunk_bytes: Option<usize>,
    max_bytes: usize,
}

impl Build for Arena {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        BuildError::in_range("max_bytes", options.max_bytes, LEAST_CHUNK, usize::MAX)?;
        let chunks = Chunks::new(pages.into_source()?);
        chunks.set_max_bytes(options.max_bytes);
        if let Some(bytes) = options.chunk_bytes {
            chunks.set_first_bytes(bytes);
        }
        if let Some(bytes) = options.bounded {
            chunks.bound(bytes)?;
        }
        if options.reserve > 0 {
            chunks.reserve(options.reserve)?;
        }
        Ok(Arena { chunks })
    }
}

/// Options of an [`Arena`].
///
/// [`build`](Self::build) panics if the reserved bytes exceed the limit or `isize::MAX`.
///
/// ```
/// use flatslab::bump::Arena;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let arena = Arena::builder().reserve(1 << 20).pages(pages).try_build()?;
/// println!("{}", arena.memory());
/// assert!(Arena::builder().reserve(usize::MAX).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl Builder<Arena> {
    /// Sets the memory of the arena to one chunk of `bytes` bytes, like [`Arena::bounded`].
    ///
    /// [`build`](Self::build) allocates and touches it, and the arena never calls the allocator
    /// afterwards.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().bounded(1024).build();
    /// assert_eq!(arena.remaining(), 1024);
    /// assert!(arena.try_alloc_slice_fill(1025, 7_u8).is_err());
    /// ```
    pub const fn bounded(mut self, bytes: usize) -> Self {
        self.options.bounded = Some(bytes);
        self
    }

    /// Sets the number of bytes that [`build`](Self::build) reserves with [`Arena::reserve`], 0 by
    /// default.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().reserve(10_000).build();
    /// assert!(arena.allocated_bytes() >= 10_000);
    /// ```
    pub const fn reserve(mut self, bytes: usize) -> Self {
        self.options.reserve = bytes;
        self
    }

    /// Sets the bytes of the first chunk with its header: 4 KiB by default, at most 64 MiB.
    ///
    /// Each further chunk has at least twice as many as the one before it.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().chunk_bytes(1 << 16).build();
    /// arena.alloc(7);
    /// assert_eq!(arena.allocated_bytes_including_metadata(), 1 << 16);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.options.chunk_bytes = Some(bytes);
        self
    }

    /// Sets the limit of the bytes of all chunks with their headers of 64 bytes. The limit is at
    /// least 72.
    ///
    /// A chunk that would exceed the limit is made smaller, down to the size that the allocation
    /// needs. An allocation that needs more panics, or returns [`AllocError::Limit`].
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::builder().max_bytes(1 << 20).build();
    /// assert!(arena.try_alloc_slice_fill(1 << 20, 7_u8).is_err());
    /// ```
    #[doc(alias("set_allocation_limit", "allocation_limit"))]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes;
        self
    }
}
