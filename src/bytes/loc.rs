//! `Loc`: a position of bytes, for tables.

use core::fmt;

use super::numbers::NUMBER_BITS;

/// Bits of a start and of a length.
const RANGE_BITS: u32 = 20;

const _: () = assert!(NUMBER_BITS + 2 * RANGE_BITS == 64);

/// The position of bytes of a [`ByteArena`](super::ByteArena): 16 bytes, `Copy`, without a
/// lifetime.
///
/// A position is checked at each use. It leads to the bytes that it was made of, or is an error:
/// once the buffer is gone or was mutable, the position is [`Stale`](LocError::Stale) for ever,
/// also if the memory is used again or was given back. No other buffer of the process has the
/// same serial.
///
/// [`Buf::into_loc`](super::Buf::into_loc) moves a reference into a position, which keeps the
/// bytes until [`release`](super::ByteArena::release). [`Buf::loc`](super::Buf::loc) makes one
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
