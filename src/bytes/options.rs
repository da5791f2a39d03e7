//! The options of byte arenas.

use super::arena::ByteArena;
use super::arena_core::{ArenaCore, Plan};
use super::sizes::{Classes, LARGEST};
use super::{Atomic, Local, References, RequestError};
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// What a builder of byte arenas has set.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) smallest: usize,
    pub(super) growth: f64,
    chunk_bytes: Option<usize>,
    largest: Option<usize>,
    pub(super) max_bytes: usize,
    pub(super) prepare: Option<(usize, usize)>,
}

impl Options {
    pub(super) const fn new() -> Self {
        Options {
            smallest: 64,
            growth: 2.0,
            chunk_bytes: None,
            largest: None,
            max_bytes: usize::MAX,
            prepare: None,
        }
    }

    /// Bytes of a chunk. With a limit that is low it is a part of that, so that several classes
    /// have chunks.
    fn chunk_bytes(&self) -> usize {
        let of_limit = (self.max_bytes / CHUNKS_WITHIN_LIMIT).max(1);
        self.chunk_bytes.unwrap_or(CHUNK_BYTES.min(of_limit))
    }

    /// The size classes, of which each has room for a chunk of one buffer within the limit.
    ///
    /// # Errors
    ///
    /// If an option is out of its range, or the limit is too low.
    fn classes<R: References>(&self) -> Result<Classes, BuildError> {
        let (smallest, growth) = (self.smallest, self.growth);
        let bytes_of = |size| {
            let (of_one, of_none) = ArenaCore::<R>::bytes_of_one(size);
            of_one + of_none
        };
        let classes = match self.largest {
            Some(largest) => Classes::new(smallest, growth, largest)?,
            None => {
                let largest = self.chunk_bytes.unwrap_or(CHUNK_BYTES).max(smallest);
                let classes = Classes::new(smallest, growth, largest)?;
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

/// How many chunks there are within a limit, about, if no option says how many bytes they have: a
/// few for each class.
const CHUNKS_WITHIN_LIMIT: usize = 64;

impl ByteArena {
    /// A builder of an arena: its classes, its limit, and where its memory comes from.
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
/// Of the classes [`try_build`](Self::try_build) refuses a growth factor that is not finite and
/// above 1, a size of 0, one above 2³² − 16, and more than 64 classes.
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
    /// Bytes of the smallest buffers, 64 by default; rounded up to a multiple of 16.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().smallest(10).build();
    /// assert_eq!(arena.stats().classes()[0].size, 16);
    /// ```
    pub const fn smallest(mut self, bytes: usize) -> Self {
        self.options.smallest = bytes;
        self
    }

    /// The factor between the sizes of a class and of the next one, 2.0 by default; sizes are
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

    /// Bytes of a chunk, from which buffers of one class are cut; by default 1 MiB, or a 64th of
    /// [`max_bytes`](Self::max_bytes), if that is less. A larger buffer has a chunk of its own, a
    /// chunk has 2²⁰ buffers at most, and one that would exceed the limit has fewer.
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

    /// Bytes of the largest request, rounded up to the size of a class; at most 2³² − 16. By
    /// default those that were set with [`chunk_bytes`](Self::chunk_bytes), or 1 MiB, but no more
    /// than the limit has room for.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().largest(1 << 24).build();
    /// assert_eq!(arena.alloc(1 << 24).capacity(), 1 << 24);
    /// ```
    pub const fn largest(mut self, bytes: usize) -> Self {
        self.options.largest = Some(bytes);
        self
    }

    /// The most bytes of all chunks together, with their headers; no limit by default. At least
    /// 128 more than those of the largest buffer.
    ///
    /// At the limit a request takes a chunk over from another class, if there is one of which no
    /// buffer is in use, or a free buffer of a larger class, or is refused. A chunk of which one
    /// buffer is in use belongs to its class, so chunks should be small: by default a 64th of the
    /// limit.
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

    /// [Prepares](ByteArena::prepare) `count` buffers of `size` bytes when the arena is made.
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
    /// A builder of an arena whose buffers go to other threads, with the same options.
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
