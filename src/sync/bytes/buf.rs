//! A buffer that is shared between threads.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::ManuallyDrop;
use core::ops::{Deref, RangeBounds};
use core::ptr::NonNull;

use super::buf_mut::BufMut;
use super::record::Record;
use crate::bytes::bounds;

/// Bytes of a [`ByteArena`](super::ByteArena), shared and read only: one reference. `Send` and
/// `Sync`.
///
/// `clone` and `drop` count references atomically, O(1), on any thread; the last one gives the
/// chunk back to the arena. A [slice](Self::slice) is a reference too. Buffers may outlive their
/// arena, whose memory goes with the last of them. Counts that come to 2³¹, of references that
/// were forgotten, stay there, and the chunk is never used again.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::ByteArena;
///
/// let arena = ByteArena::new();
/// let buf = arena.copy(b"hello world")?;
/// let head = buf.slice(..5);
/// std::thread::spawn(move || drop(buf)).join().unwrap();
/// assert_eq!(head, *b"hello");
/// assert!(head.is_unique());
/// # Ok::<(), flatslab::bytes::RequestError>(())
/// ```
pub struct Buf {
    /// Within the filled part of the chunk, which has so many bytes from there on.
    pub(super) start: NonNull<u8>,
    len: usize,
    /// One of its references is this one (U1).
    record: NonNull<Record>,
}

const _: () = assert!(size_of::<Option<Buf>>() == 3 * size_of::<usize>());

// SAFETY: no one writes to the bytes while there are references, counts are atomic, and the
// last one gives the chunk back from any thread.
unsafe impl Send for Buf {}
// SAFETY: as above.
unsafe impl Sync for Buf {}

impl Buf {
    /// # Safety
    ///
    /// One of the record's references becomes this one. So many bytes from `start` on are filled.
    #[inline(always)]
    pub(super) unsafe fn new(record: NonNull<Record>, start: NonNull<u8>, len: usize) -> Self {
        Buf { start, len, record }
    }

    #[inline(always)]
    pub(super) fn record(&self) -> &Record {
        // SAFETY: this reference keeps it (U1).
        unsafe { self.record.as_ref() }
    }

    /// How many bytes it has.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").unwrap().is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many references the chunk has; other threads may have changed that since. None if
    /// there were 2³¹ or more, and they are no longer counted.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let head = buf.slice(..2);
    /// assert_eq!(head.references(), Some(2));
    /// ```
    #[must_use]
    pub fn references(&self) -> Option<usize> {
        self.record().count()
    }

    /// Whether this is the chunk's one reference. No other thread makes another then, unless it
    /// clones this same one, or has the arena and resolves a position.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// assert!(buf.is_unique());
    /// let _second = buf.clone();
    /// assert!(!buf.is_unique());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.record().is_unique()
    }

    /// A part of the bytes, which shares the chunk; O(1).
    ///
    /// # Panics
    ///
    /// If the range is not within the bytes. [`try_slice`](Self::try_slice) returns `None`.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// where this reference does, has its bytes, and room up to the chunk's end. Positions are
    /// stale from then on.
    ///
    /// # Errors
    ///
    /// If there are other references, those of positions among them; the buffer comes back.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let second = buf.clone();
    /// let buf = buf.try_into_mut().unwrap_err();
    /// drop(second);
    /// let mut buf = buf.try_into_mut().unwrap();
    /// buf[0] = b'H';
    /// assert_eq!(*buf, *b"Hello");
    /// ```
    pub fn try_into_mut(self) -> Result<BufMut, Buf> {
        if !self.record().try_own() {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: it is there (U1).
        let first = unsafe { Record::bytes(this.record) };
        let before = this.start.addr().get() - first.addr().get();
        let capacity = this.record().room() - before;
        // SAFETY: this was the only reference, and is its; the chunk has so many bytes.
        Ok(unsafe { BufMut::new(this.record, this.start, this.len, capacity) })
    }

    /// Drops this reference, and says whether it was the last one.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let second = buf.clone();
    /// assert!(!buf.release());
    /// assert!(second.release());
    /// ```
    #[inline]
    pub fn release(self) -> bool {
        let this = ManuallyDrop::new(self);
        // SAFETY: this reference, which is gone.
        unsafe { Record::drop_ref(this.record) }
    }
}

/// One more reference; O(1).
impl Clone for Buf {
    #[inline]
    fn clone(&self) -> Self {
        self.record().add_ref();
        Buf { ..*self }
    }
}

impl Drop for Buf {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference, which is gone.
        unsafe { Record::drop_ref(self.record) };
    }
}

impl Deref for Buf {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: so many bytes are filled, and no one writes to them while there are
        // references (U1).
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
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
