//! Byte arenas: buffers of any size for a network, in size classes, with reference counts,
//! chains, positions that fit in a table, and a ring.
//!
//! ```
//! use flatslab::bytes::{Buf, BufMut, ByteArena, Loc};
//!
//! let arena = ByteArena::new();
//! let mut buf: BufMut = arena.alloc(900)?;        // unique; length 0, capacity 900
//! buf.extend_from_slice(b"hello")?;
//! let buf: Buf = buf.freeze();                    // shared; O(1), copies nothing
//! let head = buf.slice(..4);                      // one more reference
//! let loc: Loc = buf.into_loc();                  // moves the reference; 16 bytes, `Copy`
//! let again: Buf = arena.resolve(loc)?;           // one more reference
//! assert_eq!((&*head, &*again), (&b"hell"[..], &b"hello"[..]));
//! arena.release(loc)?;                            // gives the position's reference back
//! drop(head);
//! assert!(again.release());                       // the last one: the chunk is free
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to take it, and when not
//!
//! Take it for bytes of different lengths that come and go: frames, messages, values of a
//! cache; that are read by several parts of a program, and noted in its tables. A buffer takes
//! a chunk of the first class that fits, in O(1); after a warm-up, or a
//! [`reserve`](ByteArena::reserve), the allocator is called no more.
//!
//! For objects of one type take a slab or a [`Pool`](crate::pool::Pool); for what is needed
//! during one message a [`bump::Arena`](crate::bump::Arena). All of it stays on one thread; for
//! buffers and rings that do not there is [`sync::bytes`](crate::sync::bytes).
//!
//! # What is what
//!
//! | type | is | `Send` | `Sync` |
//! |---|---|---|---|
//! | [`ByteArena`] | the size classes and their slabs | no | no |
//! | [`BufMut`] | a buffer with one owner, who fills it | no | no |
//! | [`Buf`] | a reference to bytes; `clone`, `slice` and `next` make more | no | no |
//! | [`Loc`] | a position: 16 bytes, `Copy`; leads to a `Buf`, or is an error | yes | yes |
//! | [`Ring`] | a number of buffers; the newest overwrites the oldest | no | no |
//! | [`SlabRing`]`<T>` | the same, of values of one type | if `T` is | if `T` is |
//! | [`Stats`], the errors | figures | yes | yes |
//!
//! # What it costs
//!
//! A chunk takes 64 bytes of header besides its own, and 8 on a free stack. Headers lie in
//! blocks of their own. Classes double from 64 bytes to 1 MiB unless the builder says
//! otherwise, so up to half of a chunk is not used; a [growth](ByteArenaBuilder::growth) of
//! 1.25 wastes a fifth at most, of more slabs.
//!
//! An allocation that finds no free chunk makes 16 more of its slab, and one that finds no
//! slab asks for memory, which is not touched; [`reserve`](ByteArena::reserve) does both
//! beforehand, and touches it.
//!
//! # Coming from `bytes`
//!
//! | there | here |
//! |---|---|
//! | `BytesMut::with_capacity(n)` | [`ByteArena::alloc`]; it does not grow |
//! | `freeze`, `slice`, `split_to`, `advance`, `truncate`, `clone` | the same |
//! | `Bytes::copy_from_slice` | [`ByteArena::copy`] |
//! | `Bytes::try_into_mut` | [`Buf::try_into_mut`] |
//! | `Chain` | [`Buf::set_next`], [`Buf::parts`] |
//!
//! # Coming from `go-slab`
//!
//! | there | here |
//! |---|---|
//! | `NewArena(start, slabSize, growth, malloc)` | [`ByteArena::builder`] |
//! | `Alloc`, `AddRef`, `DecRef` | [`alloc`](ByteArena::alloc) and [`freeze`](BufMut::freeze), `clone`, [`release`](Buf::release) or `drop` |
//! | `GetNext`, `SetNext` | [`Buf::next`]; [`Buf::set_next`], which refuses what could make a cycle |
//! | `BufToLoc`, `LocToBuf`, `LocAddRef`, `LocDecRef` | [`Buf::loc`], [`Buf::into_loc`]; [`resolve`](ByteArena::resolve), [`release`](ByteArena::release) |
//! | `Owns`, `Stats` | [`owns`](ByteArena::owns), [`stats`](ByteArena::stats) |

mod buf;
mod buf_mut;
mod builder;
mod chain;
mod class;
mod directory;
mod filling;
mod header;
mod home;
#[cfg(feature = "bytes")]
mod interop;
mod loc;
mod remote;
mod ring;
mod ring_builder;
mod serials;
mod sizes;
mod slab;
mod slab_ring;
mod stats;
#[cfg(test)]
mod tests;
#[cfg(feature = "zerocopy")]
mod views;

use core::fmt;
use core::ptr::NonNull;

pub use buf::Buf;
pub(crate) use buf::bounds;
pub use buf_mut::BufMut;
pub use builder::ByteArenaBuilder;
pub use chain::{NotLinked, Parts, Shared};
pub(crate) use filling::Filling;
pub use filling::NoRoom;
pub use loc::{Loc, LocError};
pub(crate) use remote::{Chunk, NUMBERS};
pub use ring::{Evicted, Ring};
pub use ring_builder::RingBuilder;
#[cfg(target_has_atomic = "64")]
pub(crate) use serials::take_words;
pub(crate) use sizes::MOST_CLASSES;
pub use slab_ring::SlabRing;
pub use stats::{ClassStats, Stats};
#[cfg(feature = "zerocopy")]
pub use views::ViewError;

use crate::error::{AllocError, BuildError, SizeClassError};
use crate::raw::memory;
use crate::raw::report::Report;
use header::Header;
use home::Home;

/// Buffers of any size, in size classes; see the [module](self).
///
/// Dropped while buffers are there, it leaves them its memory, which goes with the last one.
/// References that positions hold are given back then.
pub struct ByteArena {
    /// There until this is dropped and no chunk is in use (A1).
    home: NonNull<Home>,
}

/// Why there is no buffer.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{ByteArena, RequestError};
///
/// let error = ByteArena::new().alloc(usize::MAX).unwrap_err();
/// assert_eq!(error, RequestError::TooBig { size: usize::MAX, largest: 1 << 20 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// More bytes were asked for than the largest chunk has.
    TooBig {
        /// The bytes asked for.
        size: usize,
        /// The bytes of the largest chunk.
        largest: usize,
    },
    /// No chunk of the class is free, and there is no memory for more.
    Exhausted(AllocError),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            RequestError::TooBig { size, largest } => write!(
                f,
                "a buffer of {size} bytes was asked for, the largest chunk has {largest}"
            ),
            RequestError::Exhausted(_) => {
                f.write_str("no chunk is free, and there is no memory for more")
            }
        }
    }
}

impl core::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            RequestError::TooBig { .. } => None,
            RequestError::Exhausted(error) => Some(error),
        }
    }
}

/// What [`ByteArena::trim`] gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trimmed {
    /// Slabs.
    pub slabs: usize,
    /// Their bytes, with those of their headers and of free stacks.
    pub bytes: usize,
}

impl Default for ByteArena {
    fn default() -> Self {
        Self::new()
    }
}

impl ByteArena {
    /// An arena whose classes double from 64 bytes to 1 MiB, with slabs of 1 MiB; none is
    /// allocated yet.
    ///
    /// Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::new();
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
    /// assert!(flatslab::bytes::ByteArena::try_new().is_ok());
    /// ```
    pub fn try_new() -> Result<Self, AllocError> {
        match Self::builder().try_build() {
            Ok(arena) => Ok(arena),
            Err(BuildError::Memory(error)) => Err(error),
            Err(error) => memory::fail(error),
        }
    }

    #[inline(always)]
    fn home(&self) -> &Home {
        // SAFETY: it is there until this is dropped (A1).
        unsafe { self.home.as_ref() }
    }

    /// A buffer of no bytes, with room for `size`; O(1).
    ///
    /// Allocates nothing where a chunk of the class is free or was made before.
    ///
    /// # Errors
    ///
    /// If the size is above the largest chunk's, or there is no memory for another slab, and no
    /// larger chunk free.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.alloc(900)?;
    /// assert_eq!((buf.len(), buf.capacity()), (0, 900));
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline(always)]
    pub fn alloc(&self, size: usize) -> Result<BufMut, RequestError> {
        let header = self.take(size)?;
        // SAFETY: it is mutable, and its chunk has so many bytes.
        Ok(unsafe { BufMut::from_header(header, size) })
    }

    /// A chunk for so many bytes, whose header is mutable from now on.
    #[inline(always)]
    fn take(&self, size: usize) -> Result<NonNull<Header>, RequestError> {
        let home = self.home();
        let Some(class) = home.class_for(size) else {
            return Err(home.too_big(size));
        };
        home.take(class)
    }

    /// A buffer of `size` bytes, all of them 0; O(size).
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
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
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello")?, *b"hello");
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    #[inline(always)]
    pub fn copy(&self, bytes: &[u8]) -> Result<Buf, RequestError> {
        let header = self.take(bytes.len())?;
        // SAFETY: it is mutable, and its chunk has so many bytes.
        Ok(unsafe { Buf::filled(header, bytes) })
    }

    /// Makes sure that `count` buffers of `size` bytes can be allocated, besides those there
    /// are, without a call of the allocator and without a page fault; O(count).
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc); what was made stays.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// arena.reserve(1500, 100)?;
    /// let mallocs = arena.stats().mallocs;
    /// let bufs: Vec<_> = (0..100).map(|_| arena.alloc(1500).unwrap()).collect();
    /// assert_eq!(arena.stats().mallocs, mallocs);
    /// # drop(bufs);
    /// # Ok::<(), flatslab::bytes::RequestError>(())
    /// ```
    pub fn reserve(&self, size: usize, count: usize) -> Result<(), RequestError> {
        let home = self.home();
        let class = home.class_for(size).ok_or_else(|| home.too_big(size))?;
        let reserved = home.reserve(class, count);
        reserved.map_err(RequestError::Exhausted)
    }

    /// As [`reserve`](Self::reserve), with the errors of a builder.
    fn reserve_for_build(&self, size: usize, count: usize) -> Result<(), BuildError> {
        match self.reserve(size, count) {
            Ok(()) => Ok(()),
            Err(RequestError::Exhausted(error)) => Err(error.into()),
            Err(RequestError::TooBig { size, largest }) => {
                let limit = largest;
                Err(SizeClassError::TooLarge { size, limit }.into())
            }
        }
    }

    /// The buffer that a position leads to: one more reference; O(1).
    ///
    /// # Errors
    ///
    /// [`Stale`](LocError::Stale) if the buffer is gone, or is or was mutable since;
    /// [`Foreign`](LocError::Foreign) if the position is not one of this arena;
    /// [`Range`](LocError::Range) if it has bytes that were not filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let loc = buf.slice(1..).loc();
    /// assert_eq!(arena.resolve(loc)?, *b"ello");
    /// drop(buf);
    /// assert_eq!(arena.resolve(loc), Err(flatslab::bytes::LocError::Stale));
    /// # Ok::<(), flatslab::bytes::LocError>(())
    /// ```
    #[inline(always)]
    pub fn resolve(&self, loc: Loc) -> Result<Buf, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared, for it has a serial (H3).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        at.add_ref();
        // SAFETY: the reference was just added; these bytes are filled.
        Ok(unsafe { Buf::new(header, at.start().add(loc.start()), loc.len()) })
    }

    /// Gives back the reference that a position holds, and says whether it was the last one:
    /// if not, the chunk stays in use while others read it. O(1).
    ///
    /// References of positions are counted for each buffer, not noted in each position: of two
    /// positions of a buffer of which one holds a reference, either gives it back.
    ///
    /// # Errors
    ///
    /// As for [`resolve`](Self::resolve); and [`Stale`](LocError::Stale) if no position holds a
    /// reference on the buffer, as after another release.
    ///
    /// ```
    /// use flatslab::bytes::{ByteArena, LocError};
    ///
    /// let arena = ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let loc = buf.clone().into_loc();
    /// assert!(!arena.release(loc)?);
    /// assert_eq!(arena.release(loc), Err(LocError::Stale));   // `buf` keeps its bytes
    /// assert_eq!(buf, *b"hello");
    /// # Ok::<(), LocError>(())
    /// ```
    pub fn release(&self, loc: Loc) -> Result<bool, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared (H3).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        if !at.unhold() {
            return Err(LocError::Stale);
        }
        self.home().count_unheld();
        // SAFETY: a position had it, and has it no more (H2).
        Ok(unsafe { Header::drop_ref(header) })
    }

    /// The header that a position leads to.
    #[inline(always)]
    fn find(&self, loc: Loc) -> Result<NonNull<Header>, LocError> {
        if let Some(header) = self.home().directory().find(loc.number()) {
            // SAFETY: the directory leads to headers that are there (D1). No position's serial is 0.
            let serial = unsafe { header.as_ref() }.serial();
            if serial == loc.serial() {
                return Ok(header);
            }
        }
        Err(self.not_found(loc))
    }

    #[cold]
    #[inline(never)]
    fn not_found(&self, loc: Loc) -> LocError {
        if self.home().serials().knows(loc.serial()) {
            LocError::Stale
        } else {
            LocError::Foreign
        }
    }

    /// Whether a buffer is of this arena.
    ///
    /// ```
    /// # use flatslab::bytes::ByteArena;
    /// let (arena, other) = (ByteArena::new(), ByteArena::new());
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert!(arena.owns(&buf) && !other.owns(&buf));
    /// ```
    #[must_use]
    pub fn owns(&self, buf: &Buf) -> bool {
        buf.at().class().home() == self.home
    }

    /// Gives the memory of slabs back of which no chunk is in use; O(chunks).
    ///
    /// There is seldom need for it where the arena has a [limit](ByteArenaBuilder::max_bytes):
    /// a class that has no memory takes such slabs from others by itself.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(arena.trim().slabs, 0);
    /// drop(buf);
    /// assert_eq!(arena.trim().slabs, 1);
    /// assert_eq!(arena.stats().slab_bytes, 0);
    /// ```
    pub fn trim(&self) -> Trimmed {
        self.home().trim()
    }

    /// What the arena has, and what was done with it; O(classes), allocates nothing.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.copy(b"hello").unwrap();
    /// println!("{}", arena.stats());
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.home().stats()
    }

    /// What memory was obtained: slabs, headers and all tables.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let before = arena.memory().bytes();
    /// let _buf = arena.copy(b"hello").unwrap();
    /// assert!(arena.memory().bytes() >= before + (1 << 20));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.home().all_bytes(), self.home().source())
    }

    /// Panics where an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check(&self) {
        self.home().check();
    }
}

impl Drop for ByteArena {
    fn drop(&mut self) {
        // SAFETY: the arena is gone.
        unsafe { Home::close(self.home) };
    }
}

/// Bytes and chunks in use.
impl fmt::Debug for ByteArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteArena")
            .field("slab_bytes", &self.home().slab_bytes())
            .field("in_use", &self.stats().in_use())
            .finish_non_exhaustive()
    }
}

impl core::panic::UnwindSafe for ByteArena {}
impl core::panic::RefUnwindSafe for ByteArena {}
