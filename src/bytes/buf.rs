//! A buffer that is shared.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::ManuallyDrop;
use core::ops::{Bound, Deref, RangeBounds};
use core::ptr::NonNull;

use super::buf_mut::BufMut;
use super::class::Class;
use super::header::Header;
use super::home::Home;
use super::loc::{Loc, LocError};
use crate::raw::copy::copy;

/// Bytes of a [`ByteArena`](super::ByteArena), shared and read only: one reference.
///
/// `clone` and `drop` count references, O(1); the last one gives the chunk back. A
/// [slice](Self::slice) is a reference too. Buffers may outlive their arena, whose memory goes
/// with the last of them. Counts that come to 2³¹, of references that were forgotten, stay
/// there, and the chunk is never used again.
///
/// Neither `Send` nor `Sync`: counts are plain.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let arena = ByteArena::new();
/// let buf = arena.copy(b"hello world")?;
/// let head = buf.slice(..5);
/// drop(buf);
/// assert_eq!(head, *b"hello");
/// assert!(head.is_unique());
/// # Ok::<(), flatslab::bytes::RequestError>(())
/// ```
// In this order a copy moves the first two at once and the header by itself, which is loaded in
// any case, and often again just after: a load of half of what was stored at once takes longer.
#[repr(C)]
pub struct Buf {
    /// Within the filled part of the chunk (H4), which has so many bytes from there on. Not a
    /// `NonNull`, so that it is the header that tells a buffer from none.
    start: *mut u8,
    len: usize,
    /// Shared (H1), and one of its references is this one.
    header: NonNull<Header>,
}

const _: () = assert!(size_of::<Option<Buf>>() == 3 * size_of::<usize>());

impl Buf {
    /// # Safety
    ///
    /// The header is shared, and one of its references becomes this one. So many bytes from
    /// `start` on are filled.
    #[inline(always)]
    pub(super) unsafe fn new(header: NonNull<Header>, start: NonNull<u8>, len: usize) -> Self {
        let start = start.as_ptr();
        Buf { start, len, header }
    }

    /// A buffer of these bytes.
    ///
    /// # Safety
    ///
    /// The header is mutable, and no one else's; its chunk has so many bytes.
    #[inline(always)]
    pub(super) unsafe fn filled(header: NonNull<Header>, bytes: &[u8]) -> Self {
        // SAFETY: says the caller; what is copied is not of the chunk, which no one else has.
        unsafe {
            let at = header.as_ref();
            let start = at.start();
            copy(bytes.as_ptr(), start.as_ptr(), bytes.len());
            at.share(bytes.len() as u32);
            Self::new(header, start, bytes.len())
        }
    }

    #[inline(always)]
    pub(super) fn header(&self) -> NonNull<Header> {
        self.header
    }

    #[inline(always)]
    pub(super) fn at(&self) -> &Header {
        // SAFETY: a shared header keeps its home.
        unsafe { self.header.as_ref() }
    }

    /// Where it begins in its chunk.
    #[inline(always)]
    fn offset(&self) -> usize {
        self.start.addr() - self.at().start().addr().get()
    }

    pub(super) fn home(&self) -> &Home {
        // SAFETY: as above.
        unsafe { self.at().class().home().as_ref() }
    }

    /// How many bytes it has.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello").unwrap().len(), 5);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").unwrap().is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many references the chunk has: buffers, links of chains, and those that positions
    /// hold. None if there were 2³¹ or more, and they are no longer counted.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let head = buf.slice(..2);
    /// assert_eq!(head.references(), Some(2));
    /// ```
    #[must_use]
    pub fn references(&self) -> Option<usize> {
        self.at().count()
    }

    /// Whether this is the chunk's one reference.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert!(buf.is_unique());
    /// let _second = buf.clone();
    /// assert!(!buf.is_unique());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.at().is_unique()
    }

    /// A part of the bytes, which shares the chunk; O(1).
    ///
    /// # Panics
    ///
    /// If the range is not within the bytes. [`try_slice`](Self::try_slice) returns `None`.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(buf.slice(1..3), *b"el");
    /// ```
    #[track_caller]
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Buf {
        let (start, end) = bounds(range, self.len);
        match self.part(start, end) {
            Some(part) => part,
            None => panic!("the range {start}..{end} is not within {} bytes", self.len),
        }
    }

    /// A part of the bytes, which shares the chunk, if the range is within them; O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(buf.try_slice(3..).unwrap(), *b"lo");
    /// assert!(buf.try_slice(3..6).is_none());
    /// ```
    #[must_use]
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<Buf> {
        let (start, end) = bounds(range, self.len);
        self.part(start, end)
    }

    #[inline]
    fn part(&self, start: usize, end: usize) -> Option<Buf> {
        if start > end || end > self.len {
            return None;
        }
        let mut part = self.clone();
        // SAFETY: within the bytes.
        part.start = unsafe { part.start.add(start) };
        part.len = end - start;
        Some(part)
    }

    /// Shortens this reference to the first bytes; no effect if it has no more. The chunk
    /// stays whole.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello").unwrap();
    /// buf.truncate(2);
    /// assert_eq!(buf, *b"he");
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Drops the first bytes from this reference, as they are read; O(1).
    ///
    /// # Panics
    ///
    /// If it has fewer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello").unwrap();
    /// buf.advance(2);
    /// assert_eq!(buf, *b"llo");
    /// ```
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        assert!(
            count <= self.len,
            "cannot advance by {count} in {} bytes",
            self.len
        );
        // SAFETY: within the bytes, or one past them.
        self.start = unsafe { self.start.add(count) };
        self.len -= count;
    }

    /// Splits the first bytes off, which share the chunk; O(1).
    ///
    /// # Panics
    ///
    /// If it has fewer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello").unwrap();
    /// assert_eq!(buf.split_to(2), *b"he");
    /// assert_eq!(buf, *b"llo");
    /// ```
    #[track_caller]
    #[must_use = "`advance` drops the first bytes"]
    pub fn split_to(&mut self, count: usize) -> Buf {
        let head = self.slice(..count);
        self.advance(count);
        head
    }

    /// Makes it a buffer to be filled, if it is the chunk's one reference; O(1). It begins
    /// where this reference does, has its bytes, and room up to the chunk's end. A chain that
    /// follows stays linked.
    ///
    /// All positions of the buffer are stale from then on.
    ///
    /// # Errors
    ///
    /// If there are other references; the buffer comes back.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let second = buf.clone();
    /// let buf = buf.try_into_mut().unwrap_err();
    /// drop(second);
    /// let mut buf = buf.try_into_mut().unwrap();
    /// buf[0] = b'H';
    /// assert_eq!(*buf, *b"Hello");
    /// ```
    pub fn try_into_mut(self) -> Result<BufMut, Buf> {
        if !self.is_unique() {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        let at = this.at();
        at.unshare();
        let before = this.offset();
        let capacity = at.class().size() - before;
        // SAFETY: mutable now, and this was its reference (H1).
        Ok(unsafe {
            let start = NonNull::new_unchecked(this.start);
            BufMut::new(this.header, start, this.len, capacity)
        })
    }

    /// Whether its chunk is of that class.
    #[inline(always)]
    pub(super) fn is_of(&self, class: NonNull<Class>) -> bool {
        core::ptr::eq(self.at().class(), class.as_ptr())
    }

    /// Whether the chunk has this reference alone, and no link, so that another value may take
    /// its place.
    #[inline(always)]
    pub(super) fn may_be_overwritten(&self) -> bool {
        self.is_unique() && self.next_ref().is_none()
    }

    /// Makes it a buffer of other bytes, in the same chunk. All positions of the old ones are
    /// stale.
    ///
    /// # Safety
    ///
    /// It [may be overwritten](Self::may_be_overwritten), and the chunk has so many bytes.
    #[inline(always)]
    pub(super) unsafe fn overwrite(&mut self, bytes: &[u8]) {
        self.at().unshare();
        // SAFETY: mutable now, and this was its reference; the chunk has room, says the caller.
        let filled = ManuallyDrop::new(unsafe { Self::filled(self.header, bytes) });
        (self.start, self.len) = (filled.start, filled.len);
    }

    /// Drops this reference, and says whether it was the last one.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let second = buf.clone();
    /// assert!(!buf.release());
    /// assert!(second.release());
    /// ```
    #[inline]
    pub fn release(self) -> bool {
        let this = ManuallyDrop::new(self);
        // SAFETY: this reference, which is gone.
        unsafe { Header::drop_ref(this.header) }
    }

    /// The position of these bytes. It keeps nothing: it is stale once the last reference is
    /// gone. O(1).
    ///
    /// # Panics
    ///
    /// Where [`try_loc`](Self::try_loc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
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
    /// [`Closed`](LocError::Closed) if the arena was dropped; [`Exhausted`](LocError::Exhausted).
    ///
    /// ```
    /// use flatslab::bytes::{ByteArena, LocError};
    ///
    /// let arena = ByteArena::new();
    /// let large = arena.alloc_zeroed(1 << 20).unwrap().freeze();
    /// assert_eq!(large.try_loc(), Err(LocError::Range));
    /// assert!(large.slice(1..).try_loc().is_ok());
    /// ```
    #[inline]
    pub fn try_loc(&self) -> Result<Loc, LocError> {
        let at = self.at();
        if at.class().is_closed() {
            return Err(LocError::Closed);
        }
        let start = self.offset();
        if at.serial() == 0 {
            let serial = self.home().serials().next();
            at.set_serial(serial.ok_or(LocError::Exhausted)?);
        }
        Loc::new(at.serial(), at.number(), start, self.len).ok_or(LocError::Range)
    }

    /// Moves this reference into a position, which keeps the bytes until
    /// [`release`](super::ByteArena::release), or until the arena is dropped. O(1). Where
    /// buffers may have 1 MiB or more, take [`try_into_loc`](Self::try_into_loc).
    ///
    /// # Panics
    ///
    /// Where [`try_into_loc`](Self::try_into_loc) returns the buffer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let loc = arena.copy(b"hello").unwrap().into_loc();
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
    /// Where [`try_loc`](Self::try_loc) returns one; the buffer comes back.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let large = arena.alloc_zeroed(1 << 20).unwrap().freeze();
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
        let this = ManuallyDrop::new(self);
        this.at().hold();
        this.home().count_held();
        loc
    }
}

/// The start and the end of a range of so many bytes. An end past `usize::MAX` is that.
pub(crate) fn bounds(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    (start, end)
}

/// One more reference; O(1).
impl Clone for Buf {
    #[inline(always)]
    fn clone(&self) -> Self {
        self.at().add_ref();
        Buf { ..*self }
    }
}

impl Drop for Buf {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this reference, which is gone.
        unsafe { Header::drop_ref(self.header) };
    }
}

impl Deref for Buf {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes are filled, and no one writes to them (H4).
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }
}

impl AsRef<[u8]> for Buf {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Buf {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Buf {
    fn eq(&self, other: &Buf) -> bool {
        **self == **other
    }
}

impl Eq for Buf {}

impl PartialEq<[u8]> for Buf {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq<&[u8]> for Buf {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Buf {
    fn eq(&self, other: &[u8; N]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Buf {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == **other
    }
}

impl PartialOrd for Buf {
    fn partial_cmp(&self, other: &Buf) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Buf {
    fn cmp(&self, other: &Buf) -> Ordering {
        (**self).cmp(&**other)
    }
}

/// As the slice does.
impl Hash for Buf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// As a slice of bytes.
impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl core::panic::UnwindSafe for Buf {}
impl core::panic::RefUnwindSafe for Buf {}
