//! `ByteArena`: the owner of the size classes, from which one thread allocates.

use core::fmt;
use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header, Plan};
use super::buf::Buf;
use super::buf_mut::BufMut;
use super::stats::Stats;
use super::{Atomic, Local, References, RequestError};
use crate::error::AllocError;
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;

/// An allocator of byte buffers of any size, in size classes; see the [module](super).
///
/// The thread that has the arena allocates. `R` says how references to its buffers are
/// counted: by that thread alone ([`Local`], the default), or by any thread ([`Atomic`]).
///
/// If it is dropped while buffers exist, the last of them frees its memory, O(chunks): 5 to 24 ms
/// for 100,000 of them where this was measured. The drop itself, if there are none, is O(chunks), and
/// O(buffers) if positions hold references, which it gives back.
pub struct ByteArena<R: References = Local> {
    /// There until this is dropped and no buffer is in use (A1).
    core: NonNull<ArenaCore<R>>,
}

// SAFETY: by A5 what is not atomic is the thread's that has the arena, and after its drop the
// last one's, after all others.
unsafe impl Send for ByteArena<Atomic> {}

impl Default for ByteArena {
    fn default() -> Self {
        Self::new()
    }
}

impl ByteArena {
    /// Creates an arena whose classes double from 64 bytes to 1 MiB, with chunks of 1 MiB, and
    /// allocates no chunk yet.
    ///
    /// If the allocator refuses, the program ends, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.stats().chunk_bytes, 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Creates an arena like [`new`](Self::new), whose buffers may go to other threads.
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

/// The buffer, or the family's rule where there is none.
#[inline(always)]
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
    /// When the source refuses.
    pub(super) fn try_new(plan: Plan) -> Result<Self, AllocError> {
        let core = ArenaCore::try_new(plan)?;
        Ok(ByteArena { core })
    }

    #[inline(always)]
    pub(super) fn core(&self) -> &ArenaCore<R> {
        // SAFETY: it is there until this is dropped (A1).
        unsafe { self.core.as_ref() }
    }

    /// Returns an empty buffer with room for `size` bytes; O(1). At a limit, where a chunk is taken
    /// over from another class, O(buffers of a chunk / 64).
    ///
    /// Does not call the allocator if the class has an unused buffer.
    ///
    /// # Panics
    ///
    /// If the size is above that of the largest class, or a limit is reached. If the allocator
    /// refuses, the program ends, as with `Vec`. [`try_alloc`](Self::try_alloc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.alloc(900);
    /// assert_eq!((buf.len(), buf.capacity()), (0, 900));
    /// ```
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn alloc(&self, size: usize) -> BufMut<R> {
        or_fail(self.try_alloc(size))
    }

    /// As [`alloc`](Self::alloc); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the size is above that of the largest class; if there is no memory for another chunk, no
    /// chunk of another class is without a buffer in use, and no larger buffer is free.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.try_alloc(900).is_ok() && arena.try_alloc(usize::MAX).is_err());
    /// ```
    #[inline(always)]
    pub fn try_alloc(&self, size: usize) -> Result<BufMut<R>, RequestError> {
        let (header, class) = self.take(size)?;
        // SAFETY: the header is mutable, of that class, and its buffer has `size` bytes.
        Ok(unsafe { BufMut::from_header(header, class, size) })
    }

    /// A header of a buffer with room for `size` bytes, mutable from now on, and its class.
    #[inline(always)]
    fn take(&self, size: usize) -> Result<(NonNull<Header<R>>, NonNull<Class<R>>), RequestError> {
        let core = self.core();
        let Some(class) = core.class_for(size) else {
            return Err(core.too_large(size));
        };
        core.take(class)
    }

    /// Returns a buffer of `size` bytes, all of them 0; O(size).
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(*arena.alloc_zeroed(900), [0; 900]);
    /// ```
    #[inline]
    #[track_caller]
    #[must_use]
    pub fn alloc_zeroed(&self, size: usize) -> BufMut<R> {
        or_fail(self.try_alloc_zeroed(size))
    }

    /// As [`alloc_zeroed`](Self::alloc_zeroed); never panics or aborts.
    ///
    /// # Errors
    ///
    /// As for [`try_alloc`](Self::try_alloc).
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

    /// Returns a buffer with a copy of these bytes; O(bytes).
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello"), *b"hello");
    /// ```
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn copy(&self, bytes: &[u8]) -> Buf<R> {
        or_fail(self.try_copy(bytes))
    }

    /// As [`copy`](Self::copy); never panics or aborts.
    ///
    /// # Errors
    ///
    /// As for [`try_alloc`](Self::try_alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.try_copy(&[0; 2_000_000]).is_err());
    /// ```
    #[inline(always)]
    pub fn try_copy(&self, bytes: &[u8]) -> Result<Buf<R>, RequestError> {
        let (header, _) = self.take(bytes.len())?;
        // SAFETY: the header is mutable, and its buffer has room for these bytes.
        Ok(unsafe { Buf::filled(header, bytes) })
    }

    /// Allocates and touches memory, so that the next `count` buffers of `size` bytes call no
    /// allocator and cause no page fault; O(count). Buffers of the class that came back,
    /// or are left of chains, are [reclaimed](Self::reclaim) first, O(their number).
    ///
    /// # Errors
    ///
    /// As for [`try_alloc`](Self::try_alloc); what was allocated before that is kept.
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

    /// Frees the buffers that came back from other threads, and those that are left of long
    /// [chains](Buf::set_next) that were dropped. Returns their number; O(that number).
    ///
    /// It is seldom needed: an allocation that finds no free buffer of its class frees up to 16
    /// of them.
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

    /// Whether a buffer is of this arena.
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

    /// Gives back the chunks of which no buffer is in use; O(those chunks). Buffers that
    /// came back, or are left of chains, are [reclaimed](Self::reclaim) first, O(their number).
    ///
    /// An arena at its [limit](Self::builder) needs no such call: a request takes over a chunk of
    /// another class.
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

    /// Statistics of the arena and its classes; allocates nothing. O(classes). Buffers that came
    /// back, or are left of chains, are [reclaimed](Self::reclaim) first, O(their number).
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

    /// The memory of chunks, headers and tables, and which of the requested page options were
    /// obtained.
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

    /// Where they come from.
    pub(crate) fn source(&self) -> &Source {
        self.core().source()
    }

    /// Panics where an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check(&self) {
        self.core().check();
    }
}

impl<R: References> Drop for ByteArena<R> {
    fn drop(&mut self) {
        // SAFETY: the core is there until the arena is dropped (A1), which is now; nothing
        // uses the arena afterwards.
        unsafe { ArenaCore::close(self.core) };
    }
}

/// Bytes and buffers in use.
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
