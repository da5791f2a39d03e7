//! Byte arenas whose buffers go to other threads.

use core::fmt;
use core::ptr::NonNull;

use super::arena_builder::ByteArenaBuilder;
use super::buf::Buf;
use super::buf_mut::BufMut;
use super::record::{PREFIX, Record, Shared};
use crate::bytes::{self, RequestError, Stats, Trimmed};
use crate::error::{AllocError, BuildError};
use crate::raw::memory::{self, Block};
use crate::raw::report::Report;
use crate::raw::returns::Returns;

/// Buffers of any size, in size classes, that may go to other threads: the twin of the local
/// [`bytes::ByteArena`].
///
/// One thread allocates, that which has the arena: `Send`, not `Sync`. Its buffers are `Send` and
/// `Sync`, and are cloned and dropped on any thread. The last drop of a buffer, on whichever
/// thread, pushes its chunk on the arena's return stack, which the arena takes whole when no
/// chunk of a class is free, or in [`reclaim`](Self::reclaim).
///
/// Dropped while buffers are there, it leaves them its memory, which goes with the last one, on
/// whichever thread that is. References that positions hold are given back then, in O(chunks) if
/// there ever was a position.
///
/// # What it costs
///
/// A chunk has 32 bytes of record before the user's, which begin at a multiple of 16 (16 bytes
/// where the platform has no 64-bit atomics, and there are no positions). Counting is
/// atomic, but a drop that finds the only reference, of a buffer without positions, writes no
/// count. To give a chunk back is one compare-exchange, also on the arena's own thread. Chunks
/// come back in the order of the stack, and those that are free are used first; so more memory
/// is in use than by a local arena, whose last chunk is the next.
///
/// Buffers have [positions](crate::bytes::Loc), made on any thread, resolved and released here.
/// There are no chains and views.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::{Buf, ByteArena};
///
/// let arena = ByteArena::new();
/// let buf: Buf = arena.copy(b"hello world")?;
/// let head = buf.slice(..5);
/// std::thread::spawn(move || assert_eq!(head, *b"hello")).join().unwrap();
/// drop(arena);
/// assert_eq!(buf, *b"hello world");               // the memory goes with the last buffer
/// # Ok::<(), flatslab::bytes::RequestError>(())
/// ```
pub struct ByteArena {
    /// There until this is dropped (U4).
    shared: NonNull<Shared>,
}

// SAFETY: the local arena is touched through this alone, so by one thread at a time, until it is
// dropped; then by the last one, after all others (U3). All else that it shares with other
// threads is atomic.
unsafe impl Send for ByteArena {}

impl Default for ByteArena {
    fn default() -> Self {
        Self::new()
    }
}

impl ByteArena {
    /// # Errors
    ///
    /// When the source refuses.
    pub(super) fn try_from_local(local: bytes::ByteArena) -> Result<Self, AllocError> {
        let layout = core::alloc::Layout::new::<Shared>();
        let block = Block::allocate(layout, local.source())?;
        let shared = block.start().cast::<Shared>();
        let value = Shared::new(local, block);
        // SAFETY: the block has its layout, and is no one else's.
        unsafe { shared.write(value) };
        Ok(ByteArena { shared })
    }

    /// An arena whose classes double from 96 bytes, of which 32 are the record, to 1.5 MiB,
    /// with slabs of 1 MiB; none is allocated yet.
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(arena.stats().slab_bytes, 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An arena as [`new`](Self::new) makes it; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::sync::bytes::ByteArena::try_new().is_ok());
    /// ```
    pub fn try_new() -> Result<Self, AllocError> {
        match Self::builder().try_build() {
            Ok(arena) => Ok(arena),
            Err(BuildError::Memory(error)) => Err(error),
            Err(error) => memory::fail(error),
        }
    }

    /// An arena with other classes than usual, of other memory, or with a limit.
    ///
    /// ```
    /// let arena = flatslab::sync::bytes::ByteArena::builder().start(1500).build();
    /// assert_eq!(arena.stats().classes()[0].chunk_size, 1536);
    /// ```
    pub const fn builder() -> ByteArenaBuilder {
        ByteArenaBuilder::new()
    }

    #[inline(always)]
    pub(super) fn shared(&self) -> &Shared {
        // SAFETY: there until this is dropped (U4).
        unsafe { self.shared.as_ref() }
    }

    #[inline(always)]
    fn local(&self) -> &bytes::ByteArena {
        &self.shared().local
    }

    /// A chunk for so many bytes, with its record.
    #[inline(always)]
    fn take(&self, size: usize) -> Result<NonNull<Record>, RequestError> {
        let chunk = match self.local().pop_chunk(size.saturating_add(PREFIX)) {
            Some(chunk) => chunk,
            None => self.take_slow(size)?,
        };
        // SAFETY: taken from the local arena, and it has room for the record too.
        Ok(unsafe { Record::write(chunk, self.shared) })
    }

    /// As [`take`](Self::take), where no chunk of the class is free: those that came back first.
    #[cold]
    #[inline(never)]
    fn take_slow(&self, size: usize) -> Result<bytes::Chunk, RequestError> {
        self.reclaim();
        let chunk = self.local().take_chunk(size.saturating_add(PREFIX));
        chunk.map_err(|error| without_record(error, size))
    }

    /// A buffer of no bytes, with room for `size`; O(1).
    ///
    /// Allocates nothing where a chunk of the class is free, came back, or was made before.
    ///
    /// # Errors
    ///
    /// If the size is above that of the largest chunk without its record, or there is no memory
    /// for another slab, and no larger chunk free.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.alloc(900)?;
    /// assert_eq!((buf.len(), buf.capacity()), (0, 900));
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<BufMut, RequestError> {
        let record = self.take(size)?;
        // SAFETY: its one reference, of a chunk with so many bytes.
        Ok(unsafe { BufMut::new(record, Record::bytes(record), 0, size) })
    }

    /// A buffer of `size` bytes, all of them 0; O(size).
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(*arena.alloc_zeroed(900)?, [0; 900]);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    pub fn alloc_zeroed(&self, size: usize) -> Result<BufMut, RequestError> {
        let mut buf = self.alloc(size)?;
        buf.resize(size, 0).expect("its capacity");
        Ok(buf)
    }

    /// A buffer with these bytes; O(bytes).
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello")?, *b"hello");
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline]
    pub fn copy(&self, bytes: &[u8]) -> Result<Buf, RequestError> {
        let record = self.take(bytes.len())?;
        // SAFETY: its one reference, of a chunk with so many bytes, which no one else has.
        unsafe {
            let start = Record::bytes(record);
            crate::raw::copy::copy(bytes.as_ptr(), start.as_ptr(), bytes.len());
            Ok(Buf::new(record, start, bytes.len()))
        }
    }

    /// Makes sure that `count` buffers of `size` bytes can be allocated, besides those there
    /// are, without a call of the allocator and without a page fault; O(count).
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc); what was made stays.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// arena.reserve(1500, 100)?;
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500).unwrap()).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    pub fn reserve(&self, size: usize, count: usize) -> Result<(), RequestError> {
        self.reclaim();
        let reserved = self.local().reserve(size.saturating_add(PREFIX), count);
        reserved.map_err(|error| without_record(error, size))
    }

    /// Takes the chunks that came back since the last time, and says how many; O(chunks). An
    /// allocation does as much where no chunk of its class is free.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// std::thread::spawn(move || drop(buf)).join().unwrap();
    /// assert_eq!(arena.reclaim(), 1);
    /// ```
    pub fn reclaim(&self) -> usize {
        // SAFETY: the arena's thread.
        unsafe { self.shared().reclaim() }
    }

    /// Whether a buffer is of this arena.
    ///
    /// ```
    /// # use flatslab::sync::bytes::ByteArena;
    /// let (arena, other) = (ByteArena::new(), ByteArena::new());
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert!(arena.owns(&buf) && !other.owns(&buf));
    /// ```
    #[must_use]
    pub fn owns(&self, buf: &Buf) -> bool {
        buf.record().shared() == self.shared
    }

    /// Gives the memory of slabs back of which no chunk is in use, after it has
    /// [reclaimed](Self::reclaim); O(chunks).
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(arena.trim().slabs, 0);
    /// drop(buf);
    /// assert_eq!(arena.trim().slabs, 1);
    /// ```
    pub fn trim(&self) -> Trimmed {
        self.reclaim();
        self.local().trim()
    }

    /// What the arena has, and what was done with it, after it has [reclaimed](Self::reclaim).
    /// Sizes of chunks are those with their records. References are not counted, those that
    /// positions hold neither, nor are links, of which there are none here.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let _buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(arena.stats().in_use(), 1);
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.reclaim();
        self.local().stats()
    }

    /// What memory was obtained: slabs, headers and all tables.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let before = arena.memory().bytes();
    /// let _buf = arena.copy(b"hello").unwrap();
    /// assert!(arena.memory().bytes() >= before + (1 << 20));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        let bytes = self.local().memory().bytes() + self.shared().block.layout().size();
        Report::new(bytes, self.local().source())
    }

    /// Panics where an invariant of the local arena does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check(&self) {
        self.local().check();
    }
}

/// As the local arena says it of a chunk, of a request for so many bytes.
#[cold]
fn without_record(error: RequestError, size: usize) -> RequestError {
    match error {
        RequestError::TooBig { largest, .. } => RequestError::TooBig {
            size,
            largest: largest - PREFIX,
        },
        RequestError::Exhausted(_) => error,
    }
}

impl Drop for ByteArena {
    fn drop(&mut self) {
        // SAFETY: the arena's thread, until it has settled; what is shared is not used after
        // that, but by the last one (U3, U4).
        unsafe {
            let it = self.shared.as_ref();
            #[cfg(target_has_atomic = "64")]
            it.close_positions();
            it.take_back(it.returns.close());
            let out = it.local.chunks_in_use();
            if Returns::settle(NonNull::from(&it.returns), out) {
                Shared::free(self.shared);
            }
        }
    }
}

/// Bytes and chunks in use, those that came back and were not reclaimed among them.
impl fmt::Debug for ByteArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteArena")
            .field("slab_bytes", &self.local().stats().slab_bytes)
            .field("in_use", &self.local().chunks_in_use())
            .finish_non_exhaustive()
    }
}

impl core::panic::UnwindSafe for ByteArena {}
impl core::panic::RefUnwindSafe for ByteArena {}
