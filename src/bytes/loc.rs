//! `Loc`: a position of bytes, for tables; how it is made from a buffer whose references one thread
//! counts, and how it resolves to the buffer again.
//!
//! A position contains the number and the serial of its buffer. The number says which header to
//! look at. The header has that serial only as long as the buffer is the same, so it is safe to
//! look up any two words.

use core::fmt;
use core::mem::ManuallyDrop;

use super::arena::ByteArena;
use super::arena_core::ArenaCore;
use super::buf::Buf;
use super::numbers::NUMBER_BITS;
use super::references::Local;

/// Bits of a start and of a length.
const RANGE_BITS: u32 = 20;

const _: () = assert!(NUMBER_BITS + 2 * RANGE_BITS == 64);

/// A position of bytes in a [`ByteArena`], which can be stored in tables. It has 16 bytes, is
/// `Copy`, and has no lifetime.
///
/// A position is checked each time it is used. It resolves to the bytes that it was made of, or to
/// an error. Once the buffer is freed or was mutable, the position is [`Stale`](LocError::Stale)
/// for ever, even if the memory is used again or was freed. No two buffers of a process have the
/// same serial.
///
/// [`Buf::into_loc`](Buf::into_loc) moves a reference into a position, which keeps the bytes until
/// [`release`](ByteArena::release). [`Buf::loc`](Buf::loc) makes a position that does not keep the
/// bytes.
///
/// # Limits
///
/// A position contains a serial of 64 bits, the number of a buffer in 24 bits, and a start and a
/// length of 20 bits each. So an arena has at most 2²⁴ buffers, where a chunk of one to 64 buffers
/// takes 64 of the numbers. A part that begins more than 1,048,575 bytes into its buffer, or is
/// longer than that, has no position.
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
    /// Not 0, which is the serial of a buffer without a position.
    serial: u64,
    place: u64,
}

const _: () = assert!(size_of::<Loc>() == 16);

impl Loc {
    /// The position of a range, or `None` if the range is too large.
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

    #[inline]
    pub(super) fn serial(self) -> u64 {
        self.serial
    }

    #[inline]
    pub(super) fn number(self) -> u32 {
        (self.place >> (2 * RANGE_BITS)) as u32
    }

    /// Where the bytes begin in their buffer.
    #[inline]
    pub(super) fn start(self) -> usize {
        (self.place >> RANGE_BITS) as usize % (1 << RANGE_BITS)
    }

    /// Returns the number of bytes at the position.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert_eq!(buf.loc().len(), 5);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.place as usize % (1 << RANGE_BITS)
    }

    /// Returns whether there are no bytes at the position.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").loc().is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the position as two words, for tables of other libraries.
    ///
    /// They are meaningless outside of this process. The first is never 0, and `[u64::MAX; 2]`
    /// never resolves.
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

    /// Creates a position from two words.
    ///
    /// Any words are accepted. Using a position that was never made from a buffer returns an error.
    ///
    /// ```
    /// # use flatslab::bytes::{ByteArena, Loc, LocError};
    /// # let arena = ByteArena::new();
    /// assert_eq!(arena.resolve(Loc::from_raw([7, 7])).unwrap_err(), LocError::Foreign);
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_raw([serial, place]: [u64; 2]) -> Self {
        // 0 is the serial of a buffer without one; this serial is never used.
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

/// The reason why a position does not resolve, or cannot be made.
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
    /// The position is from another arena, or was never made.
    Foreign,
    /// The buffer was freed or became mutable, or a release finds that no position holds a
    /// reference.
    Stale,
    /// The range is longer than the buffer, or, for a new position, more than 20 bits can store.
    Range,
    /// The arena was dropped, so no position can be made.
    Closed,
    /// All 2⁶⁴ serials were used, or there is no memory for their record.
    TooMany,
}

impl fmt::Display for LocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LocError::Foreign => "position does not belong to this arena",
            LocError::Stale => "position is stale: its buffer was freed, or became mutable",
            LocError::Range => {
                let most = (1 << RANGE_BITS) - 1;
                return write!(
                    f,
                    "start and length must be within the buffer, and each at most {most} bytes"
                );
            }
            LocError::Closed => "arena of the buffer was dropped",
            LocError::TooMany => "no serial is left for the position, or no memory to note it",
        })
    }
}

impl core::error::Error for LocError {}

impl Buf {
    /// Returns the position of these bytes. O(1).
    ///
    /// The position holds no reference: it is stale once the last reference is dropped.
    ///
    /// # Panics
    ///
    /// If [`try_loc`](Self::try_loc) returns an error.
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

    /// Returns the position of these bytes, or an error; never panics.
    ///
    /// # Errors
    ///
    /// [`Range`](LocError::Range) if the start or the length exceeds the limit of a
    /// [position](Loc); [`Closed`](LocError::Closed) if the arena was dropped;
    /// [`TooMany`](LocError::TooMany) if no serial is left.
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
            let serial = self.arena_core().serials.next();
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

    /// Moves this reference into a position, which keeps the bytes. O(1).
    ///
    /// The bytes stay until the position is [released](ByteArena::release), or the arena is
    /// dropped. If buffers may have 1 MiB or more, use [`try_into_loc`](Self::try_into_loc).
    ///
    /// # Panics
    ///
    /// If [`try_into_loc`](Self::try_into_loc) returns the buffer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let loc = arena.copy(b"hello").into_loc();
    /// assert_eq!(arena.resolve(loc).unwrap(), *b"hello");
    /// arena.release(loc).unwrap();
    /// ```
    #[track_caller]
    #[must_use = "the position holds a reference"]
    #[doc(alias("into_raw", "retain"))]
    pub fn into_loc(self) -> Loc {
        match self.try_loc() {
            Ok(loc) => self.held_by(loc),
            Err(error) => panic!("{error}"),
        }
    }

    /// Moves this reference into a position, or returns it if there can be no position; never
    /// panics.
    ///
    /// # Errors
    ///
    /// Returns the buffer if [`try_loc`](Self::try_loc) returns an error.
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
        let held = &self.arena_core().held;
        held.set(held.get() + 1);
        // The position has the reference now.
        let _ = self.into_part();
        loc
    }

    fn arena_core(&self) -> &ArenaCore<Local> {
        self.header().class().core_here().expect("of one thread")
    }
}

/// A call, so that the constant is not loaded on the way of the bytes that are in range.
#[cold]
#[inline(never)]
fn out_of_range() -> LocError {
    LocError::Range
}

impl ByteArena {
    /// Returns another reference to the bytes at a position. O(1).
    ///
    /// # Errors
    ///
    /// [`Stale`](LocError::Stale) if the buffer was freed, or is or was mutable since;
    /// [`Foreign`](LocError::Foreign) if the position is not from this arena;
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
    #[inline]
    pub fn resolve(&self, loc: Loc) -> Result<Buf, LocError> {
        Ok(Buf::clone(&*self.find(loc)?))
    }

    /// Drops the reference that a position holds, and returns whether it was the last one. O(1).
    ///
    /// References of positions are counted for each buffer, and not noted in each position. If a
    /// buffer has two positions, of which one holds a reference, releasing either of them drops it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`resolve`](Self::resolve), and [`Stale`](LocError::Stale) if no
    /// position holds a reference to the buffer, as after another release.
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
    #[doc(alias("free", "decref"))]
    pub fn release(&self, loc: Loc) -> Result<bool, LocError> {
        let mut buf = self.find(loc)?;
        if !buf.header().counts().unhold() {
            return Err(LocError::Stale);
        }
        let held = &self.core().held;
        held.set(held.get().saturating_sub(1));
        // SAFETY: the reference was a position's, which no longer has it (`held-counted`); it is taken
        // once.
        Ok(unsafe { ManuallyDrop::take(&mut buf) }.release())
    }

    /// The bytes at a position, by a reference that something else has: it is looked at and cloned,
    /// and given up only for what had it.
    #[inline]
    fn find(&self, loc: Loc) -> Result<ManuallyDrop<Buf>, LocError> {
        if let Some(header) = self.core().directory().find(loc.number()) {
            // SAFETY: the directory leads to valid headers (`page-headers`).
            let at = unsafe { header.as_ref() };
            // No position's serial is 0.
            if at.counts().serial() == loc.serial() {
                if loc.start() + loc.len() > at.filled() {
                    return Err(out_of_range());
                }
                // SAFETY: the header is shared, because it has a serial (`serial-once`); these bytes
                // are filled.
                let buf = unsafe { Buf::new(header, at.start().add(loc.start()), loc.len()) };
                return Ok(ManuallyDrop::new(buf));
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

    /// Panics if `held-counted`, `serial-once` or the number of held references does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check_positions(&self) {
        use super::references::References;

        self.check();
        let mut held = 0;
        for header in self.core().directory().headers() {
            // SAFETY: the directory leads to valid headers (`page-headers`).
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
