//! `ByteArena`: the owner of the size classes, from which one thread allocates; and its builder.

use core::fmt;
use core::ptr::NonNull;

use super::RequestError;
use super::arena_core::{ArenaCore, Plan};
use super::buf::{Buf, BufMut};
use super::drop::OfClass;
use super::references::{Atomic, Local, References};
use super::sizes::{ClassSizes, LARGEST};
use super::stats::Stats;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::memory::Pages;
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// An allocator of byte buffers of any size, in size classes; see the [module](super).
///
/// The thread that owns the arena allocates. `R` says how references to its buffers are counted: by
/// that thread alone ([`Local`], the default), or by any thread ([`Atomic`]).
///
/// If the arena is dropped while buffers exist, dropping the last buffer frees the memory. This
/// takes O(n) for n chunks: 5 to 24 ms for 100,000 chunks in our measurements. If no buffers exist,
/// dropping the arena takes O(n), and O(buffers) if positions hold references, which it drops.
/// After the arena, the last drop also takes O(n) for the n buffers that are left of
/// [chains](Buf::set_next), and with [`Atomic`] counts each drop of a chain does for its buffers.
pub struct ByteArena<R: References = Local> {
    /// Valid until the arena is dropped and no buffer is in use (`core-stays`).
    core: NonNull<ArenaCore<R>>,
}

// SAFETY: by `owner-alone` all data that is not atomic belongs to the thread that has the arena,
// and after its drop to the thread that drops the last buffer, after all others.
unsafe impl Send for ByteArena<Atomic> {}

impl Default for ByteArena {
    fn default() -> Self {
        Self::new()
    }
}

impl ByteArena {
    /// Creates an arena whose classes double from 64 bytes to 1 MiB, with chunks of 1 MiB.
    ///
    /// It does not allocate a chunk yet. If the allocator refuses, the program aborts, as with
    /// `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.stats().chunk_bytes, 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Creates an arena like [`new`](Self::new), whose buffers can be sent to other threads.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::atomic();
    /// let buf = arena.copy(b"hello");
    /// std::thread::spawn(move || assert_eq!(buf, *b"hello")).join().unwrap();
    /// assert_eq!(arena.reclaim(), 1);
    /// ```
    #[must_use]
    pub fn atomic() -> ByteArena<Atomic> {
        Self::builder().atomic().build()
    }
}

/// Returns the buffer. If there is none, panics or aborts as all methods of the family do.
#[inline]
#[track_caller]
fn or_fail<B>(result: Result<B, RequestError>) -> B {
    match result {
        Ok(buf) => buf,
        Err(error) => refused(error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refused(error: RequestError) -> ! {
    match error {
        RequestError::TooLarge(error) => panic!("{error}"),
        RequestError::Memory(error) => memory::fail(error),
    }
}

impl<R: References> ByteArena<R> {
    /// # Errors
    ///
    /// If the source refuses.
    pub(super) fn try_new(plan: Plan) -> Result<Self, AllocError> {
        let core = ArenaCore::try_new(plan)?;
        Ok(ByteArena { core })
    }

    #[inline]
    pub(super) fn core(&self) -> &ArenaCore<R> {
        // SAFETY: it is valid until this is dropped (`core-stays`).
        unsafe { self.core.as_ref() }
    }

    /// Returns an empty buffer with room for `size` bytes.
    ///
    /// It does not call the allocator if the class has an unused buffer.
    ///
    /// # Complexity
    ///
    /// O(1). If there is [no memory](super#if-there-is-no-memory), it frees at most 64 chunks of
    /// other classes, each in O(n / 64) for n buffers. Before it is refused, it reclaims all
    /// buffers that other threads returned.
    ///
    /// # Panics
    ///
    /// If `size` is above that of the largest class, or a limit is reached. If the allocator
    /// refuses, the program aborts, as with `Vec`. [`try_alloc`](Self::try_alloc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.alloc(900);
    /// assert_eq!((buf.len(), buf.capacity()), (0, 900));
    /// ```
    #[inline(always)]
    #[track_caller]
    #[must_use]
    #[doc(alias("acquire", "get_buffer"))]
    pub fn alloc(&self, size: usize) -> BufMut<R> {
        or_fail(self.try_alloc(size))
    }

    /// Returns an empty buffer with room for `size` bytes, or an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `size` is above that of the largest class. If there is no memory for another chunk, all
    /// chunks of other classes have buffers in use, or too little memory in [64 of
    /// them](super#if-there-is-no-memory), and no larger buffer is free.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.try_alloc(900).is_ok() && arena.try_alloc(usize::MAX).is_err());
    /// ```
    #[inline(always)]
    pub fn try_alloc(&self, size: usize) -> Result<BufMut<R>, RequestError> {
        let header = self.take(size)?;
        let start = header.header().start();
        // SAFETY: the header is mutable, and its buffer has `size` bytes.
        Ok(unsafe { BufMut::new(header, start, 0, size) })
    }

    /// Takes a header whose buffer has room for `size` bytes, and which is mutable from now on.
    /// Returns it with its class.
    #[inline(always)]
    fn take(&self, size: usize) -> Result<OfClass<R>, RequestError> {
        let core = self.core();
        let Some(class) = core.class_for(size) else {
            return Err(core.too_large(size));
        };
        core.take(class)
    }

    /// Returns a buffer of `size` bytes, all of them 0. O(n) for n bytes.
    ///
    /// # Panics
    ///
    /// If there is no buffer; see [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(*arena.alloc_zeroed(900), [0; 900]);
    /// ```
    #[inline]
    #[track_caller]
    #[must_use]
    #[doc(alias = "zeroed")]
    pub fn alloc_zeroed(&self, size: usize) -> BufMut<R> {
        or_fail(self.try_alloc_zeroed(size))
    }

    /// Returns a buffer of `size` bytes, all of them 0, or an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no buffer; see [`try_alloc`](Self::try_alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.try_alloc_zeroed(usize::MAX).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_zeroed(&self, size: usize) -> Result<BufMut<R>, RequestError> {
        let mut buf = self.try_alloc(size)?;
        buf.resize(size, 0).expect("its capacity");
        Ok(buf)
    }

    /// Returns a buffer with a copy of these bytes. O(n) for n bytes.
    ///
    /// # Panics
    ///
    /// If there is no buffer; see [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello"), *b"hello");
    /// ```
    #[inline(always)]
    #[track_caller]
    #[must_use]
    #[doc(alias("copy_from_slice", "put"))]
    pub fn copy(&self, bytes: &[u8]) -> Buf<R> {
        or_fail(self.try_copy(bytes))
    }

    /// Returns a buffer with a copy of these bytes, or an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no buffer; see [`try_alloc`](Self::try_alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.try_copy(&[0; 2_000_000]).is_err());
    /// ```
    #[inline(always)]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<Buf<R>, RequestError> {
        let header = self.take(bytes.len())?.pointer();
        // SAFETY: the header is mutable, and its buffer has room for these bytes.
        Ok(unsafe { Buf::filled(header, bytes) })
    }

    /// Allocates and touches memory for the next `count` buffers of `size` bytes, which then call
    /// no allocator and cause no page fault.
    ///
    /// Buffers of the class that other threads returned, or that are left of chains, are
    /// [reclaimed](Self::reclaim) first.
    ///
    /// # Complexity
    ///
    /// O(n) for `count`, the chunks of the class, and the reclaimed buffers.
    ///
    /// # Errors
    ///
    /// If there is no memory, or `size` is too large; see [`try_alloc`](Self::try_alloc). Memory
    /// that was allocated before the error is kept.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// arena.prepare(1500, 100)?;
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500)).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    pub fn prepare(&self, size: usize, count: usize) -> Result<(), RequestError> {
        let core = self.core();
        let class = core.class_for(size).ok_or_else(|| core.too_large(size))?;
        let prepared = core.reserve(class, count);
        prepared.map_err(RequestError::Memory)
    }

    /// Frees the buffers that other threads returned, and the rest of dropped
    /// [chains](Buf::set_next), and returns their number.
    ///
    /// It is seldom needed: an allocation that finds no free buffer of its class frees up to 16 of
    /// them.
    ///
    /// # Complexity
    ///
    /// O(n) for n buffers that it frees.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::atomic();
    /// let buf = arena.copy(b"hello");
    /// std::thread::spawn(move || drop(buf)).join().unwrap();
    /// assert_eq!(arena.reclaim(), 1);
    /// ```
    pub fn reclaim(&self) -> usize {
        self.core().reclaim_all()
    }

    /// Returns whether a buffer is from this arena.
    ///
    /// ```
    /// # use flatslab::bytes::ByteArena;
    /// let (arena, other) = (ByteArena::new(), ByteArena::new());
    /// let buf = arena.copy(b"hello");
    /// assert!(arena.owns(&buf) && !other.owns(&buf));
    /// ```
    #[must_use]
    pub fn owns(&self, buf: &Buf<R>) -> bool {
        buf.core() == self.core
    }

    /// Frees the chunks that have no buffer in use.
    ///
    /// The table of [positions](super::Loc) stays: up to 100 bytes for each chunk that there was at
    /// the same time.
    ///
    /// Buffers that other threads returned, or that are left of chains, are
    /// [reclaimed](Self::reclaim) first. An arena at its [limit](Self::builder) does not need this
    /// call: a request takes over a chunk of another class.
    ///
    /// # Complexity
    ///
    /// O(n) for the freed chunks and the reclaimed buffers.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// arena.shrink_to_fit();
    /// assert!(arena.stats().chunk_bytes > 0);
    /// drop(buf);
    /// arena.shrink_to_fit();
    /// assert_eq!(arena.stats().chunk_bytes, 0);
    /// ```
    pub fn shrink_to_fit(&self) {
        self.core().shrink_to_fit();
    }

    /// Returns statistics of the arena and its classes; does not allocate.
    ///
    /// Buffers that other threads returned, or that are left of chains, are
    /// [reclaimed](Self::reclaim) first.
    ///
    /// # Complexity
    ///
    /// O(n) for the classes and the reclaimed buffers.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.copy(b"hello");
    /// println!("{}", arena.stats());
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core().reclaim_all();
        Stats::of(self.core())
    }

    /// Returns a report on the memory of chunks, headers and tables: its size, and which of the
    /// requested page options were obtained.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let before = arena.memory().bytes();
    /// let _buf = arena.copy(b"hello");
    /// assert!(arena.memory().bytes() >= before + (1 << 20));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.memory_bytes(), self.source())
    }

    /// Bytes of chunks, headers and tables.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.core().all_bytes()
    }

    /// The source of the memory.
    pub(crate) fn source(&self) -> &Source {
        self.core().source()
    }

    /// Panics if an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check(&self) {
        self.core().check();
    }
}

impl<R: References> Drop for ByteArena<R> {
    fn drop(&mut self) {
        // SAFETY: the core is valid until the arena is dropped (`core-stays`), which is now;
        // nothing uses the arena afterwards.
        unsafe { ArenaCore::close(self.core) };
    }
}

/// Prints the bytes and the buffers in use.
impl<R: References> fmt::Debug for ByteArena<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteArena")
            .field("chunk_bytes", &self.core().chunk_bytes())
            .field("in_use", &self.stats().in_use())
            .finish_non_exhaustive()
    }
}

impl<R: References> core::panic::UnwindSafe for ByteArena<R> {}
impl<R: References> core::panic::RefUnwindSafe for ByteArena<R> {}

/// The options of a builder of byte arenas.
#[derive(Clone, Debug)]
pub struct Options {
    smallest: usize,
    growth: f64,
    chunk_bytes: Option<usize>,
    largest: Option<usize>,
    max_bytes: usize,
    prepare: Option<(usize, usize)>,
}

impl Options {
    const fn new() -> Self {
        Options {
            smallest: 64,
            growth: 2.0,
            chunk_bytes: None,
            largest: None,
            max_bytes: usize::MAX,
            prepare: None,
        }
    }

    /// Bytes of a chunk. If the limit is low, a fraction of it, so that several classes have
    /// chunks.
    fn chunk_bytes(&self) -> usize {
        let of_limit = (self.max_bytes / CHUNKS_WITHIN_LIMIT).max(1);
        self.chunk_bytes.unwrap_or(CHUNK_BYTES.min(of_limit))
    }

    /// The size classes that have room for a chunk of one buffer within the limit.
    ///
    /// # Errors
    ///
    /// If an option is out of its range, or the limit is too low.
    fn classes<R: References>(&self) -> Result<ClassSizes, BuildError> {
        let (smallest, growth) = (self.smallest, self.growth);
        let bytes_of = |size| {
            let (of_one, of_none) = ArenaCore::<R>::bytes_of_one(size);
            of_one + of_none
        };
        let classes = match self.largest {
            Some(largest) => ClassSizes::new(smallest, growth, largest)?,
            None => {
                let largest = self.chunk_bytes.unwrap_or(CHUNK_BYTES).max(smallest);
                let classes = ClassSizes::new(smallest, growth, largest)?;
                classes.up_to(|size| bytes_of(size) <= self.max_bytes)
            }
        };
        let min = bytes_of(classes.largest());
        BuildError::in_range("max_bytes", self.max_bytes, min, usize::MAX)?;
        Ok(classes)
    }
}

/// Bytes of a chunk, if no option says how many.
const CHUNK_BYTES: usize = 1 << 20;

/// About how many chunks a limit has room for, if no option sets the size of a chunk: a few for
/// each class.
const CHUNKS_WITHIN_LIMIT: usize = 64;

impl ByteArena {
    /// Returns a builder, with options for the arena's classes, limit and memory.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().smallest(1500).build();
    /// assert_eq!(arena.stats().classes()[0].size, 1504);
    /// ```
    pub const fn builder() -> Builder<ByteArena> {
        Builder::new(Options::new())
    }
}

impl<R: References> Build for ByteArena<R> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        BuildError::in_range("chunk_bytes", options.chunk_bytes(), 1, LARGEST)?;
        let arena = ByteArena::try_new(Plan {
            classes: options.classes::<R>()?,
            chunk_bytes: options.chunk_bytes(),
            max_bytes: options.max_bytes,
            source: pages.into_source()?,
        })?;
        if let Some((size, count)) = options.prepare {
            arena.prepare(size, count).map_err(|error| match error {
                RequestError::Memory(error) => BuildError::Memory(error),
                RequestError::TooLarge(error) => BuildError::OutOfRange {
                    option: "prepare",
                    given: error.size,
                    min: 0,
                    max: error.limit,
                },
            })?;
        }
        Ok(arena)
    }
}

/// Options of [byte arenas](ByteArena).
///
/// [`try_build`](Self::try_build) refuses these options: a growth factor that is not finite or not
/// above 1, a size of 0, a size above 2³² − 16, and more than 64 classes.
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let arena = ByteArena::builder().smallest(256).growth(1.5).largest(9000).try_build()?;
/// let sizes: Vec<_> = arena.stats().classes().iter().map(|class| class.size).collect();
/// assert_eq!(sizes, [256, 384, 576, 864, 1296, 1952, 2928, 4400, 6608, 9920]);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<R: References> Builder<ByteArena<R>> {
    /// Sets the bytes of the smallest buffers, 64 by default. They are rounded up to a multiple of
    /// 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().smallest(10).build();
    /// assert_eq!(arena.stats().classes()[0].size, 16);
    /// ```
    pub const fn smallest(mut self, bytes: usize) -> Self {
        self.options.smallest = bytes;
        self
    }

    /// Sets the factor between the sizes of a class and of the next one, 2.0 by default. Sizes are
    /// rounded up to multiples of 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().growth(1.25).build();
    /// assert_eq!(arena.stats().classes()[1].size, 80);
    /// ```
    pub const fn growth(mut self, factor: f64) -> Self {
        self.options.growth = factor;
        self
    }

    /// Sets the bytes of a chunk, from which buffers of one class are cut.
    ///
    /// The default is 1 MiB, or a 64th of [`max_bytes`](Self::max_bytes) if that is less. A larger
    /// buffer has a chunk of its own. A chunk has at most 2²⁰ buffers. It is smaller if it would
    /// exceed the limit, or the allocator refuses it.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().chunk_bytes(4096).build();
    /// let _buf = arena.alloc(500);
    /// assert_eq!(arena.stats().chunk_bytes / 4096, 1);
    /// ```
    pub const fn chunk_bytes(mut self, bytes: usize) -> Self {
        self.options.chunk_bytes = Some(bytes);
        self
    }

    /// Sets the bytes of the largest request, at most 2³² − 16. They are rounded up to the size of
    /// a class.
    ///
    /// The default is the value of [`chunk_bytes`](Self::chunk_bytes) if it was set, or 1 MiB, but
    /// no more than the limit has room for.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().largest(1 << 24).build();
    /// assert_eq!(arena.alloc(1 << 24).capacity(), 1 << 24);
    /// ```
    pub const fn largest(mut self, bytes: usize) -> Self {
        self.options.largest = Some(bytes);
        self
    }

    /// Sets the limit of the bytes of all chunks with their headers; there is no limit by default.
    ///
    /// The limit must be at least 128 bytes more than the largest buffer. At the limit a request
    /// takes over a chunk of another class that has no buffer in use, or takes a free buffer of a
    /// larger class, or is refused. A chunk belongs to its class while one of its buffers is in
    /// use, so chunks should be small: by default a 64th of the limit.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().max_bytes(1 << 20).build();
    /// let small: Vec<_> = std::iter::from_fn(|| arena.try_alloc(100).ok()).collect();
    /// assert!(small.len() > 5000 && arena.try_alloc(3000).is_err());
    /// drop(small);
    /// assert!(arena.try_alloc(3000).is_ok());
    /// ```
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes;
        self
    }

    /// Prepares `count` buffers of `size` bytes when the arena is created; see
    /// [`ByteArena::prepare`].
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().prepare(1500, 100).build();
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500)).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// ```
    pub const fn prepare(mut self, size: usize, count: usize) -> Self {
        self.options.prepare = Some((size, count));
        self
    }
}

impl Builder<ByteArena<Local>> {
    /// Returns a builder with the same options of an arena whose buffers can be sent to other
    /// threads.
    ///
    /// ```
    /// use flatslab::bytes::{Atomic, ByteArena};
    ///
    /// let arena: ByteArena<Atomic> = ByteArena::builder().smallest(1500).atomic().build();
    /// # drop(arena);
    /// ```
    pub fn atomic(self) -> Builder<ByteArena<Atomic>> {
        self.of()
    }
}
