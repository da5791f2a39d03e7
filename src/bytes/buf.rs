//! `Buf`: a reference to the bytes of a buffer, which are not written to any more.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::ManuallyDrop;
use core::ops::{Bound, Deref, RangeBounds};
use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header, Part};
use super::{Atomic, Local, References};
use crate::raw::amount::Amount;
use crate::raw::copy::copy;

/// A shared, read-only reference to bytes of a [`ByteArena`](super::ByteArena).
///
/// `clone` and `drop` count references, O(1); the last one gives the buffer back, and up to 64 of
/// the [chain](Self::set_next) behind it, as far as that has no other references. The rest of a
/// longer one keeps its bytes, and the references of its links, until it is
/// [reclaimed](super::ByteArena::reclaim). A [slice](Self::slice) is a reference too. Buffers may
/// outlive their arena; the last one frees its memory, O(chunks), and a chain in an arena that was
/// dropped is freed at once, O(links). A count that reaches 2³¹, by references that were forgotten, stays there, and the
/// buffer is never used again.
///
/// With [`Local`] counts, the default, neither `Send` nor `Sync`; with [`Atomic`] ones both.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let arena = ByteArena::new();
/// let buf = arena.copy(b"hello world");
/// let head = buf.slice(..5);
/// drop(buf);
/// assert_eq!(head, *b"hello");
/// assert!(head.is_unique());
/// ```
#[repr(transparent)]
pub struct Buf<R: References = Local>(
    /// Of a shared header (H1), one of whose references is this one; within the bytes that are
    /// filled (H2).
    Part<R>,
);

// SAFETY: no one writes to the bytes while there are references, counts are atomic, and the
// last one gives the buffer back from any thread. The link changes only where there is one
// reference, borrowed exclusively (H3).
unsafe impl Send for Buf<Atomic> {}
// SAFETY: by reference the bytes are read, and the count is atomic.
unsafe impl Sync for Buf<Atomic> {}

const _: () = assert!(size_of::<Option<Buf>>() == 3 * size_of::<usize>());

impl<R: References> Buf<R> {
    /// # Safety
    ///
    /// The header is shared, and one of its references becomes this one. `len` bytes from
    /// `start` on are filled.
    #[inline(always)]
    pub(super) unsafe fn new(header: NonNull<Header<R>>, start: NonNull<u8>, len: usize) -> Self {
        let start = start.as_ptr();
        Buf(Part { start, len, header })
    }

    /// A buffer of these bytes.
    ///
    /// # Safety
    ///
    /// The header is mutable, and no one else's; its buffer has room for these bytes.
    #[inline(always)]
    pub(super) unsafe fn filled(header: NonNull<Header<R>>, bytes: &[u8]) -> Self {
        // SAFETY: there is room (precondition); what is copied is not of the buffer, which no
        // one else has.
        unsafe {
            let buf = Self::of_bytes(header, bytes);
            header.as_ref().share(bytes.len() as u32);
            buf
        }
    }

    /// A buffer of these bytes, whose header is shared already.
    ///
    /// # Safety
    ///
    /// The header is shared, with one reference, which becomes this one; so many bytes of it count
    /// as filled. No one else has it; its buffer has room for these bytes.
    #[inline(always)]
    pub(super) unsafe fn of_bytes(header: NonNull<Header<R>>, bytes: &[u8]) -> Self {
        // SAFETY: there is room (precondition); what is copied is not of the buffer, which no
        // one else has.
        unsafe {
            let start = header.as_ref().start();
            copy(bytes.as_ptr(), start.as_ptr(), bytes.len());
            Self::new(header, start, bytes.len())
        }
    }

    /// A link's reference, as the buffer it is.
    #[inline(always)]
    pub(super) fn of_link(link: &Option<Part<R>>) -> &Option<Self> {
        // SAFETY: `Buf` is transparent, and the reference that a link holds is borrowed as long.
        unsafe { &*core::ptr::from_ref(link).cast() }
    }

    /// As [`of_link`](Self::of_link).
    #[inline(always)]
    pub(super) fn of_link_mut(link: &mut Option<Part<R>>) -> &mut Option<Self> {
        // SAFETY: `Buf` is transparent, and the reference that a link holds is borrowed
        // exclusively as long.
        unsafe { &mut *core::ptr::from_mut(link).cast() }
    }

    /// The part, whose reference is none any more.
    #[inline(always)]
    pub(super) fn into_part(self) -> Part<R> {
        ManuallyDrop::new(self).0
    }

    #[inline(always)]
    pub(super) fn header(&self) -> &Header<R> {
        // SAFETY: a shared header keeps its core.
        unsafe { self.0.header.as_ref() }
    }

    /// Where it begins in its buffer.
    #[inline(always)]
    pub(super) fn offset(&self) -> usize {
        self.0.start.addr() - self.header().start().addr().get()
    }

    pub(super) fn core(&self) -> NonNull<ArenaCore<R>> {
        self.header().class().core()
    }

    /// Number of bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello").len(), 5);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether it has no bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Number of references to the buffer: `Buf`s, links of chains, and those that positions
    /// hold. `None` if there are 2³¹ or more, which are not counted.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let head = buf.slice(..2);
    /// assert_eq!(head.references(), Some(2));
    /// ```
    #[must_use]
    pub fn references(&self) -> Option<usize> {
        self.header().counts().count()
    }

    /// Whether this is the only reference to its buffer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert!(buf.is_unique());
    /// let _second = buf.clone();
    /// assert!(!buf.is_unique());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.header().counts().is_unique()
    }

    /// A part of the bytes, which shares the buffer; O(1).
    ///
    /// # Panics
    ///
    /// If the range is not within the bytes. [`try_slice`](Self::try_slice) returns `None`.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert_eq!(buf.slice(1..3), *b"el");
    /// ```
    #[track_caller]
    #[must_use]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let (start, end) = bounds(range, self.len());
        match self.part(start, end) {
            Some(part) => part,
            None => panic!(
                "the range {start}..{end} is not within {}",
                Amount::bytes(self.len())
            ),
        }
    }

    /// A part of the bytes, which shares the buffer, if the range is within them; O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert_eq!(buf.try_slice(3..).unwrap(), *b"lo");
    /// assert!(buf.try_slice(3..6).is_none());
    /// ```
    #[must_use]
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Option<Self> {
        let (start, end) = bounds(range, self.len());
        self.part(start, end)
    }

    #[inline]
    fn part(&self, start: usize, end: usize) -> Option<Self> {
        if start > end || end > self.len() {
            return None;
        }
        let mut part = self.clone();
        // SAFETY: `start` is at most the length, so the result is within the bytes or at their end.
        part.0.start = unsafe { part.0.start.add(start) };
        part.0.len = end - start;
        Some(part)
    }

    /// Shortens this reference to its first `len` bytes; no effect if it is not longer. The
    /// buffer stays whole.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello");
    /// buf.truncate(2);
    /// assert_eq!(buf, *b"he");
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.0.len = self.0.len.min(len);
    }

    /// Removes the first `count` bytes from this reference, after they were read; O(1).
    ///
    /// # Panics
    ///
    /// If it has fewer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello");
    /// buf.advance(2);
    /// assert_eq!(buf, *b"llo");
    /// ```
    #[track_caller]
    pub fn advance(&mut self, count: usize) {
        assert!(
            count <= self.len(),
            "cannot advance by {count} in {}",
            Amount::bytes(self.0.len)
        );
        // SAFETY: within the bytes, or one past them.
        self.0.start = unsafe { self.0.start.add(count) };
        self.0.len -= count;
    }

    /// Splits off the first `count` bytes, which share the buffer; O(1).
    ///
    /// # Panics
    ///
    /// If it has fewer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.copy(b"hello");
    /// assert_eq!(buf.split_to(2), *b"he");
    /// assert_eq!(buf, *b"llo");
    /// ```
    #[track_caller]
    #[must_use = "`advance` drops the first bytes"]
    pub fn split_to(&mut self, count: usize) -> Self {
        let head = self.slice(..count);
        self.advance(count);
        head
    }

    /// Whether its buffer is of that class.
    #[inline(always)]
    pub(super) fn is_of(&self, class: NonNull<Class<R>>) -> bool {
        self.header().class_pointer() == class
    }

    /// Whether the buffer has this reference alone, and no link, so that another value may take
    /// its place.
    #[inline(always)]
    pub(super) fn may_be_overwritten(&self) -> bool {
        self.is_unique() && self.link_ref().is_none()
    }

    /// Makes it a buffer of other bytes, in the same place. All positions of the old ones are
    /// stale.
    ///
    /// # Safety
    ///
    /// It [may be overwritten](Self::may_be_overwritten), and the buffer has room for these bytes.
    #[inline(always)]
    pub(super) unsafe fn overwrite(&mut self, bytes: &[u8]) {
        // Once: for all the compiler knows, the writes below change this reference.
        let header = self.0.header;
        self.header().unshare();
        // SAFETY: mutable now, and this was its reference; there is room (precondition).
        self.0 = unsafe { Self::filled(header, bytes) }.into_part();
    }

    /// Drops this reference, and returns whether it was the last one.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let second = buf.clone();
    /// assert!(!buf.release());
    /// assert!(second.release());
    /// ```
    #[inline]
    pub fn release(self) -> bool {
        let this = ManuallyDrop::new(self);
        // SAFETY: this reference, which is gone.
        unsafe { ArenaCore::drop_ref(this.0.header) }
    }
}

/// The start and the end of a range within `len` bytes. An end past `usize::MAX` is that.
fn bounds(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
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
impl<R: References> Clone for Buf<R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        ArenaCore::tallies_of(self.header()).add_refs.add::<R>();
        self.header().counts().add();
        Buf(self.0)
    }
}

impl<R: References> Drop for Buf<R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this reference, which is gone.
        unsafe { ArenaCore::drop_quietly(self.0.header) };
    }
}

impl<R: References> Deref for Buf<R> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: the `len` bytes are filled, and no one writes to them (H2).
        unsafe { core::slice::from_raw_parts(self.0.start, self.0.len) }
    }
}

impl<R: References> AsRef<[u8]> for Buf<R> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<R: References> Borrow<[u8]> for Buf<R> {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<R: References> PartialEq for Buf<R> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<R: References> Eq for Buf<R> {}

impl<R: References> PartialEq<[u8]> for Buf<R> {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl<R: References> PartialEq<&[u8]> for Buf<R> {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}

impl<R: References, const N: usize> PartialEq<[u8; N]> for Buf<R> {
    fn eq(&self, other: &[u8; N]) -> bool {
        **self == *other
    }
}

impl<R: References, const N: usize> PartialEq<&[u8; N]> for Buf<R> {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == **other
    }
}

impl<R: References> PartialOrd for Buf<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: References> Ord for Buf<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

/// As the slice does.
impl<R: References> Hash for Buf<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// As a slice of bytes.
impl<R: References> fmt::Debug for Buf<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<R: References> core::panic::UnwindSafe for Buf<R> {}
impl<R: References> core::panic::RefUnwindSafe for Buf<R> {}
