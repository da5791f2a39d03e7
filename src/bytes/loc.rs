//! `Loc`: a position of bytes, for tables; how one is made of a buffer whose references one thread
//! counts, and how it leads there again.
//!
//! A position has the number and the serial of its buffer. The number says which header to look at.
//! The serial is the header's as long as the buffer is that one, so any two words may be looked up.

use core::fmt;
use core::ptr::NonNull;

use super::arena::ByteArena;
use super::arena_core::{ArenaCore, Header};
use super::buf::Buf;
use super::numbers::NUMBER_BITS;
use super::references::{Local, References};

/// Bits of a start and of a length.
const RANGE_BITS: u32 = 20;

const _: () = assert!(NUMBER_BITS + 2 * RANGE_BITS == 64);

/// The position of bytes of a [`ByteArena`]: 16 bytes, `Copy`, without a
/// lifetime.
///
/// A position is checked at each use. It leads to the bytes that it was made of, or is an error:
/// once the buffer is gone or was mutable, the position is [`Stale`](LocError::Stale) for ever,
/// also if the memory is used again or was given back. No other buffer of the process has the
/// same serial.
///
/// [`Buf::into_loc`](Buf::into_loc) moves a reference into a position, which keeps the
/// bytes until [`release`](ByteArena::release). [`Buf::loc`](Buf::loc) makes one
/// that keeps nothing.
///
/// # Limits
///
/// It has room for a serial of 64 bits, the number of a buffer in 24 bits, and a start and a
/// length in 20 bits each. So an arena has 2²⁴ buffers at most (chunks of one to 64 buffers take
/// 64 of the numbers), and a part that begins more than 1,048,575 bytes into its buffer, or
/// is longer than that, has no position.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{ByteArena, LocError};
///
/// let arena = ByteArena::new();
/// let loc = arena.copy(b"hello").into_loc();
/// assert_eq!(*arena.resolve(loc)?, *b"hello");
/// assert!(arena.release(loc)?);                   // the last reference
/// assert_eq!(arena.resolve(loc).unwrap_err(), LocError::Stale);
/// # Ok::<(), LocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc {
    /// Not 0, so that it is not that of a buffer without a position.
    serial: u64,
    place: u64,
}

const _: () = assert!(size_of::<Loc>() == 16);

impl Loc {
    /// The position of a range; none if that does not fit.
    pub(super) fn new(serial: u64, number: u32, start: usize, len: usize) -> Option<Self> {
        let limit = 1 << RANGE_BITS;
        let fits = start < limit && len < limit;
        fits.then(|| Loc {
            serial,
            place: u64::from(number) << (2 * RANGE_BITS)
                | (start as u64) << RANGE_BITS
                | len as u64,
        })
    }

    #[inline(always)]
    pub(super) fn serial(self) -> u64 {
        self.serial
    }

    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        (self.place >> (2 * RANGE_BITS)) as u32
    }

    /// Where the bytes begin in their buffer.
    #[inline(always)]
    pub(super) fn start(self) -> usize {
        (self.place >> RANGE_BITS) as usize % (1 << RANGE_BITS)
    }

    /// Number of bytes it leads to.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert_eq!(buf.loc().len(), 5);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn len(self) -> usize {
        self.place as usize % (1 << RANGE_BITS)
    }

    /// Whether it leads to no bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").loc().is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The position as two words, for tables of other libraries. They mean nothing outside of
    /// this process. The first is never 0, and `[u64::MAX; 2]` leads nowhere.
    ///
    /// ```
    /// # use flatslab::bytes::{ByteArena, Loc};
    /// # let arena = ByteArena::new();
    /// let loc = arena.copy(b"hello").into_loc();
    /// assert_eq!(Loc::from_raw(loc.into_raw()), loc);
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_raw(self) -> [u64; 2] {
        [self.serial, self.place]
    }

    /// The position with these two words. Any words are accepted; one that leads nowhere is an
    /// error when it is used.
    ///
    /// ```
    /// # use flatslab::bytes::{ByteArena, Loc, LocError};
    /// # let arena = ByteArena::new();
    /// assert_eq!(arena.resolve(Loc::from_raw([7, 7])).unwrap_err(), LocError::Foreign);
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_raw([serial, place]: [u64; 2]) -> Self {
        // 0 is the serial of what has none; this one is never given out.
        let serial = if serial == 0 { u64::MAX } else { serial };
        Loc { serial, place }
    }
}

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loc")
            .field("serial", &self.serial)
            .field("buffer", &self.number())
            .field("start", &self.start())
            .field("len", &self.len())
            .finish()
    }
}

/// Why a position leads nowhere, or cannot be made.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{ByteArena, LocError};
///
/// let (arena, other) = (ByteArena::new(), ByteArena::new());
/// let loc = arena.copy(b"hello").into_loc();
/// assert_eq!(other.resolve(loc).unwrap_err(), LocError::Foreign);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocError {
    /// It is of another arena, or was never made.
    Foreign,
    /// The buffer is gone or became mutable, or, of a release, no position holds a reference.
    Stale,
    /// It has more bytes than the buffer, or, of one that is to be made, more than 20 bits say.
    Range,
    /// The arena was dropped, so no position is to be made.
    Closed,
    /// All 2⁶⁴ serials were given out, or there is no memory to note that.
    TooMany,
}

impl fmt::Display for LocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LocError::Foreign => "the position is not one of this arena",
            LocError::Stale => "the position leads to a buffer that is gone",
            LocError::Range => "the range is outside of the buffer, or too long for a position",
            LocError::Closed => "the arena of the buffer was dropped",
            LocError::TooMany => "there are no more positions",
        })
    }
}

impl core::error::Error for LocError {}

impl Buf {
    /// The position of these bytes. It holds no reference: it is stale once the last reference
    /// is dropped. O(1).
    ///
    /// # Panics
    ///
    /// Where [`try_loc`](Self::try_loc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let loc = buf.loc();
    /// assert_eq!(arena.resolve(loc).unwrap(), buf);
    /// drop(buf);
    /// assert!(arena.resolve(loc).is_err());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn loc(&self) -> Loc {
        match self.try_loc() {
            Ok(loc) => loc,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`loc`](Self::loc).
    ///
    /// # Errors
    ///
    /// [`Range`](LocError::Range) if the bytes are more than a [position](Loc) has room for;
    /// [`Closed`](LocError::Closed) if the arena was dropped; [`TooMany`](LocError::TooMany).
    ///
    /// ```
    /// use flatslab::bytes::{ByteArena, LocError};
    ///
    /// let arena = ByteArena::new();
    /// let large = arena.alloc_zeroed(1 << 20).freeze();
    /// assert_eq!(large.try_loc(), Err(LocError::Range));
    /// assert!(large.slice(1..).try_loc().is_ok());
    /// ```
    #[inline]
    pub fn try_loc(&self) -> Result<Loc, LocError> {
        let header = self.header();
        let counts = header.counts();
        if header.class().is_closed() {
            return Err(LocError::Closed);
        }
        if counts.serial() == 0 {
            // SAFETY: a shared header keeps its core.
            let serial = unsafe { self.core().as_ref() }.serials.next();
            let serial = serial.ok_or(LocError::TooMany)?;
            // Again: the source of the serials' memory may have used the buffer, or dropped the
            // arena.
            if header.class().is_closed() {
                return Err(LocError::Closed);
            }
            if counts.serial() == 0 {
                counts.set_serial(serial);
            }
        }
        let loc = Loc::new(counts.serial(), header.number(), self.offset(), self.len());
        loc.ok_or(LocError::Range)
    }

    /// Moves this reference into a position, which keeps the bytes until it is
    /// [released](ByteArena::release), or the arena is dropped. O(1). If buffers may have
    /// 1 MiB or more, use [`try_into_loc`](Self::try_into_loc).
    ///
    /// # Panics
    ///
    /// Where [`try_into_loc`](Self::try_into_loc) returns the buffer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let loc = arena.copy(b"hello").into_loc();
    /// assert_eq!(arena.resolve(loc).unwrap(), *b"hello");
    /// arena.release(loc).unwrap();
    /// ```
    #[track_caller]
    #[must_use = "the position holds a reference"]
    pub fn into_loc(self) -> Loc {
        match self.try_loc() {
            Ok(loc) => self.held_by(loc),
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`into_loc`](Self::into_loc).
    ///
    /// # Errors
    ///
    /// Returns the buffer where [`try_loc`](Self::try_loc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let large = arena.alloc_zeroed(1 << 20).freeze();
    /// let large = large.try_into_loc().unwrap_err();
    /// assert_eq!(large.len(), 1 << 20);
    /// ```
    pub fn try_into_loc(self) -> Result<Loc, Buf> {
        match self.try_loc() {
            Ok(loc) => Ok(self.held_by(loc)),
            Err(_) => Err(self),
        }
    }

    fn held_by(self, loc: Loc) -> Loc {
        self.header().counts().hold();
        // SAFETY: a shared header keeps its core.
        let held = unsafe { &self.core().as_ref().held };
        held.set(held.get() + 1);
        // The position has the reference now.
        let _ = self.into_part();
        loc
    }
}

impl ByteArena {
    /// Another reference to the bytes that a position leads to; O(1).
    ///
    /// # Errors
    ///
    /// [`Stale`](LocError::Stale) if the buffer is gone, or is or was mutable since;
    /// [`Foreign`](LocError::Foreign) if the position is not one of this arena;
    /// [`Range`](LocError::Range) if it has bytes that were not filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let loc = buf.slice(1..).loc();
    /// assert_eq!(arena.resolve(loc)?, *b"ello");
    /// drop(buf);
    /// assert_eq!(arena.resolve(loc), Err(flatslab::bytes::LocError::Stale));
    /// # Ok::<(), flatslab::bytes::LocError>(())
    /// ```
    #[inline(always)]
    pub fn resolve(&self, loc: Loc) -> Result<Buf, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared, for it has a serial (`serial-once`).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        self.core().tallies().add_refs.add::<Local>();
        at.counts().add();
        // SAFETY: the reference was just added; these bytes are filled.
        Ok(unsafe { Buf::new(header, at.start().add(loc.start()), loc.len()) })
    }

    /// Gives back the reference that a position holds, and returns whether it was the last one.
    /// O(1).
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
    /// let buf = arena.copy(b"hello");
    /// let loc = buf.clone().into_loc();
    /// assert!(!arena.release(loc)?);
    /// assert_eq!(arena.release(loc), Err(LocError::Stale));   // `buf` keeps its bytes
    /// assert_eq!(buf, *b"hello");
    /// # Ok::<(), LocError>(())
    /// ```
    pub fn release(&self, loc: Loc) -> Result<bool, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared (`serial-once`).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        if !at.counts().unhold() {
            return Err(LocError::Stale);
        }
        let held = &self.core().held;
        held.set(held.get().saturating_sub(1));
        // SAFETY: a position had it, and has it no more (`held-counted`).
        Ok(unsafe { ArenaCore::drop_ref(header) })
    }

    /// The header that a position leads to.
    #[inline(always)]
    fn find(&self, loc: Loc) -> Result<NonNull<Header<Local>>, LocError> {
        if let Some(header) = self.core().directory().find(loc.number()) {
            // SAFETY: the directory leads to headers that are there (`page-headers`).
            let counts = unsafe { header.as_ref() }.counts();
            // No position's serial is 0.
            if counts.serial() == loc.serial() {
                return Ok(header);
            }
        }
        Err(self.not_found(loc))
    }

    #[cold]
    #[inline(never)]
    fn not_found(&self, loc: Loc) -> LocError {
        if self.core().serials.knows(loc.serial()) {
            LocError::Stale
        } else {
            LocError::Foreign
        }
    }

    /// Panics where `held-counted`, `serial-once` or the number of held references does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check_positions(&self) {
        use super::arena_core::Chunk;

        self.check();
        let mut held = 0;
        for header in self.core().chunks().flat_map(Chunk::headers) {
            // SAFETY: `headers` gives those that were made (`headers-made`).
            let at = unsafe { header.as_ref() };
            let (counts, count) = (at.counts(), at.counts().count());
            held += u64::from(counts.held());
            assert!(counts.serial() == 0 || !at.is_free(), "serial-once");
            assert!(
                count.is_none_or(|count| counts.held() as usize <= count),
                "held-counted"
            );
        }
        assert_eq!(held, self.core().held.get(), "the references of positions");
    }
}
