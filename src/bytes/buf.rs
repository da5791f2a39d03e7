//! The two kinds of buffer: `BufMut`, which its one owner fills, and `Buf`, a reference to bytes
//! that are not written to any more. [`BufMut::freeze`] turns the first into the second, and
//! [`Buf::try_into_mut`] does the reverse; neither copies bytes.
//!
//! [`BufMut::split_to`] turns only the first bytes into a `Buf`. The `BufMut` then has one of the
//! references of a shared header, and writes only to the bytes after all that `Buf`s read. Its drop
//! must subtract that reference, where the drop of an unsplit one frees the buffer. It finds out by
//! a word that it needs in any case: the class, which only the second has (`class-of-mutable`).
//!
//! A reader of `std` needs initialised bytes. A header says whether all bytes of its buffer are
//! initialised (`all-initialised`), so that they are filled with zeros once, and not for each read.
//! The number of initialised bytes would be exact, but a header has room for one bit, for the whole
//! buffer.

use core::borrow::{Borrow, BorrowMut};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Bound, Deref, DerefMut, RangeBounds};
use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header, Part};
use super::drop::{OfClass, Reference};
use super::references::{Atomic, Local, References};
use crate::error::Amount;
use crate::error::SizeError;
use crate::raw::copy::copy;
use crate::raw::filling::Filling;

/// A buffer of a [`ByteArena`](super::ByteArena) with one owner, which fills it.
///
/// Its length is the number of filled bytes. Its capacity does not grow. [`freeze`](Self::freeze)
/// turns it into a [`Buf`], which can be shared. Dropping it frees the buffer in O(1); if it has a
/// link or its arena was dropped, it does as much as the last drop of a [`Buf`]. With [`Local`]
/// counts, the default, it is neither `Send` nor `Sync`; with [`Atomic`] counts it is both.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
///
/// let arena = ByteArena::new();
/// let mut buf = arena.alloc(900);
/// assert_eq!((buf.len(), buf.capacity()), (0, 900));
/// buf.extend_from_slice(b"hello")?;
/// buf[0] = b'H';
/// assert_eq!(*buf.freeze(), *b"Hello");
/// # Ok::<(), flatslab::SizeError>(())
/// ```
pub struct BufMut<R: References = Local> {
    /// Mutable, or shared with one of its references (`header-state`).
    header: NonNull<Header<R>>,
    /// The header's class if that is mutable, and `None` if it is shared (`class-of-mutable`). A
    /// drop pushes the header on the hand of the class, and the next allocation of the class waits
    /// for that push. If the class were read from the header, which comes from that hand itself,
    /// this would take twice as long where sizes alternate.
    class: Option<NonNull<Class<R>>>,
    /// The bytes of the header's buffer, or those after all that others refer to.
    bytes: Filling,
}

// SAFETY: the bytes are its alone, and it gives them back from any thread. The header's counts are
// atomic, and of those that have a shared header only this one uses `is_initialised`.
unsafe impl Send for BufMut<Atomic> {}
// SAFETY: by reference the filled bytes are read.
unsafe impl Sync for BufMut<Atomic> {}

const _: () = assert!(size_of::<Option<BufMut>>() == 3 * size_of::<usize>() + 8);

impl<R: References> BufMut<R> {
    /// # Safety
    ///
    /// The header is mutable. Its buffer has `capacity` bytes from `start` on; the first `len` of
    /// them, and all before `start`, are initialised.
    #[inline]
    pub(super) unsafe fn new(
        header: OfClass<R>,
        start: NonNull<u8>,
        len: usize,
        capacity: usize,
    ) -> Self {
        // SAFETY: the bytes are its alone (precondition), and fewer than 2^32 (`sizes-increase`).
        let bytes = unsafe { Filling::new(start, len, capacity) };
        BufMut {
            header: header.pointer(),
            class: Some(header.class()),
            bytes,
        }
    }

    #[inline]
    fn header(&self) -> &Header<R> {
        // SAFETY: the header is not free (`header-state`), so its core and chunk stay
        // (`core-stays`).
        unsafe { self.header.as_ref() }
    }

    /// Returns the number of filled bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).len(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether no byte is filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.alloc(900).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }

    /// Returns the number of bytes, filled or not.
    ///
    /// It is the size that was requested. The buffer may have more bytes, up to the size of its
    /// class; [`try_reclaim`](Self::try_reclaim) makes them available.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).capacity(), 900);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the number of bytes that are not filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc_zeroed(900).remaining(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    /// Copies these bytes to the end of the filled ones. O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// If there is no room for all of them; none is copied then.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8);
    /// buf.extend_from_slice(b"hello")?;
    /// assert!(buf.extend_from_slice(b" world").is_err());
    /// assert_eq!(*buf, *b"hello");
    /// # Ok::<(), flatslab::SizeError>(())
    /// ```
    #[inline]
    #[doc(alias("put_slice", "write", "append"))]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), SizeError> {
        self.bytes.extend_from_slice(bytes)
    }

    /// Changes the number of filled bytes, and fills added ones with `byte`. O(n) for n added
    /// bytes.
    ///
    /// # Errors
    ///
    /// If the length exceeds the capacity.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8);
    /// buf.resize(3, b'-')?;
    /// assert_eq!(*buf, *b"---");
    /// assert!(buf.resize(9, 0).is_err());
    /// # Ok::<(), flatslab::SizeError>(())
    /// ```
    pub fn resize(&mut self, len: usize, byte: u8) -> Result<(), SizeError> {
        self.bytes.resize(len, byte)
    }

    /// Shortens the buffer to its first `len` filled bytes; does nothing if it is not longer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8);
    /// buf.truncate(3);
    /// assert_eq!(buf.len(), 3);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Sets the length to 0.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8);
    /// buf.clear();
    /// assert!(buf.is_empty() && buf.capacity() == 8);
    /// ```
    pub fn clear(&mut self) {
        self.bytes.truncate(0);
    }

    /// Fills the next bytes by one call of a reader's `read`, and returns how many it has read.
    ///
    /// The reader is a socket, a file or the like. It reads at most [`remaining`](Self::remaining)
    /// bytes.
    ///
    /// Use it instead of a `resize` to the capacity, a `read` and a `truncate`, which fill the room
    /// with zeros each time. This method does that only once for each buffer of the arena: the
    /// first time that it reads into the buffer, it fills the whole size class with zeros,
    /// O(class). Later calls are O(1), even if the buffer was dropped and allocated again, unless
    /// [`spare_capacity_mut`](Self::spare_capacity_mut) lent its bytes. To do it in advance, read
    /// from [`std::io::empty`] into each buffer.
    ///
    /// To read fewer bytes than there is room for, use [`take`](std::io::Read::take) of the reader.
    ///
    /// | result | meaning |
    /// |---|---|
    /// | `Ok(0)` | the end of the input |
    /// | `StorageFull` | the buffer is full, which is no fault of the connection: [split off](Self::split_to) what is complete, [reclaim](Self::try_reclaim) room, or take another buffer |
    /// | `WouldBlock`, `Interrupted` | later again; at once again |
    /// | other errors | those of the connection |
    ///
    /// The slice that the reader gets contains bytes that earlier buffers left there.
    ///
    /// # Errors
    ///
    /// [`StorageFull`](std::io::ErrorKind::StorageFull) if the buffer is full; `read` is not called
    /// then. Otherwise returns the errors of the reader, including `Interrupted` and `WouldBlock`.
    /// The length is unchanged in both cases.
    ///
    /// # Panics
    ///
    /// If the reader reports more bytes than it had room for, or panics itself. The length is
    /// unchanged then.
    ///
    /// ```
    /// use std::io::Read;
    ///
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// # let mut socket = &b"4 received"[..];
    /// let mut buf = arena.alloc(1500);
    /// assert_eq!(buf.read_from(&mut Read::take(&mut socket, 2))?, 2);
    /// assert_eq!(buf.read_from(&mut socket)?, 8);   // appended to the first
    /// assert_eq!(*buf, *b"4 received");
    /// assert_eq!(buf.read_from(&mut socket)?, 0);   // end of the input
    /// buf.resize(1500, 0).unwrap();
    /// let error = buf.read_from(&mut socket).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "std")]
    #[cfg_attr(docsrs, doc(cfg(feature = "std")))]
    pub fn read_from(
        &mut self,
        reader: &mut (impl std::io::Read + ?Sized),
    ) -> std::io::Result<usize> {
        if self.remaining() > 0 && !self.header().is_initialised() {
            self.initialise();
        }
        // SAFETY: all bytes are initialised (`all-initialised`), or filled.
        unsafe { self.bytes.read_from(reader) }
    }

    /// Fills all bytes that are not filled with zeros, including those beyond the capacity: the
    /// buffer may be allocated with another capacity later.
    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    fn initialise(&mut self) {
        let header = self.header();
        let filled = self.before() + self.len();
        // SAFETY: the bytes of the class's size are the buffer's, which no one else has. The
        // filled ones and those before are initialised, as `new` says; so all are.
        unsafe {
            let unfilled = header.start().add(filled);
            unfilled.write_bytes(0, header.class().size() - filled);
            header.set_initialised();
        }
    }

    /// Bytes of the buffer before this part of it, all of which are initialised; see
    /// [`new`](Self::new).
    #[inline]
    fn before(&self) -> usize {
        self.bytes.start().addr().get() - self.header().start().addr().get()
    }

    /// Returns the bytes that are not filled, for code that writes to them and then calls
    /// [`set_len`](Self::set_len).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8);
    /// buf.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first byte is written.
    /// unsafe { buf.set_len(1) };
    /// assert_eq!(*buf, [7]);
    /// ```
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.header().set_uninitialised();
        self.bytes.spare_capacity_mut()
    }

    /// Sets the number of filled bytes.
    ///
    /// # Safety
    ///
    /// `len` is at most the capacity, and the first `len` bytes are initialised.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8);
    /// buf.clear();
    /// // SAFETY: all were zeroed.
    /// unsafe { buf.set_len(8) };
    /// assert_eq!(*buf, [0; 8]);
    /// ```
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: the first `len` bytes are initialised (precondition).
        unsafe { self.bytes.set_len(len) };
    }

    /// Splits off the first `count` filled bytes as a [`Buf`], and goes on filling the rest. O(1);
    /// copies nothing and does not allocate.
    ///
    /// Both share one buffer of the arena. The bytes that were filled after `count` stay filled in
    /// this one, and its capacity shrinks by `count`. It counts as a reference: while it exists, the
    /// `Buf` is neither [unique](Buf::is_unique) nor can its [link](Buf::set_next) be changed. They
    /// may be dropped in any order, with [`Atomic`] counts on any threads; the last one frees the
    /// buffer. [`try_reclaim`](Self::try_reclaim) makes the room of the first bytes available again
    /// once they were dropped.
    ///
    /// # Panics
    ///
    /// If fewer bytes are filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// # let mut socket = &b"first\nsecond\nthi"[..];
    /// let mut buf = arena.alloc(1500);
    /// buf.read_from(&mut socket)?;
    /// let mut lines = Vec::new();
    /// while let Some(end) = buf.iter().position(|&byte| byte == b'\n') {
    ///     lines.push(buf.split_to(end + 1));
    /// }
    /// assert_eq!(lines, [&b"first\n"[..], b"second\n"]);
    /// assert_eq!(*buf, *b"thi");                     // the next read adds to it
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "the first bytes are dropped with the result"]
    pub fn split_to(&mut self, count: usize) -> Buf<R> {
        let (start, len) = (self.bytes.start(), self.len());
        assert!(
            count <= len,
            "cannot split off {}: the buffer has {}",
            Amount::bytes(count),
            Amount::bytes(len)
        );
        // All that others refer to ends before, and so does the new `Buf` (`bytes-filled`).
        let before = (self.before() + count) as u32;
        self.class = None;
        self.header().share(before);
        ArenaCore::tallies_of(self.header()).add_refs.add::<R>();
        self.header().counts().add();
        // SAFETY: the header is shared, and its new reference becomes the `Buf`; the `count` bytes
        // are filled, and no longer this one's. Those after them are this one's alone, as before.
        unsafe {
            self.bytes = Filling::new(start.add(count), len - count, self.capacity() - count);
            Buf::new(self.header, start, count)
        }
    }

    /// Splits off all filled bytes, like [`split_to`](Self::split_to). O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(900);
    /// buf.extend_from_slice(b"hello").unwrap();
    /// assert_eq!(buf.split(), *b"hello");
    /// assert_eq!((buf.len(), buf.capacity()), (0, 895));
    /// ```
    #[must_use = "the filled bytes are dropped with the result"]
    pub fn split(&mut self) -> Buf<R> {
        self.split_to(self.len())
    }

    /// Makes room for at least `additional` more bytes within the same buffer of the arena, and
    /// returns whether there is room; does not allocate.
    ///
    /// The capacity becomes all bytes up to the end of the size class, which may be more than were
    /// requested; `additional` may be 0. If that is not enough, and everything that was [split
    /// off](Self::split_to) was dropped, the filled bytes move to the start of the buffer. All
    /// positions of the buffer become stale then.
    ///
    /// # Complexity
    ///
    /// O(1), or O(n) for n filled bytes that move.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(900);                // of the class of 1,024 bytes
    /// assert!(buf.try_reclaim(1024) && !buf.try_reclaim(1025));
    /// assert_eq!(buf.capacity(), 1024);
    ///
    /// buf.extend_from_slice(b"hello world").unwrap();
    /// let hello = buf.split_to(6);
    /// assert!(!buf.try_reclaim(1019));               // `hello` still has its bytes
    /// drop(hello);
    /// assert!(buf.try_reclaim(1019));
    /// assert_eq!((&*buf, buf.remaining()), (&b"world"[..], 1019));
    /// ```
    #[doc(alias = "reserve")]
    pub fn try_reclaim(&mut self, additional: usize) -> bool {
        let (before, len, size) = (self.before(), self.len(), self.header().class().size());
        // SAFETY: the bytes up to the end of the class's size are the buffer's, and no one else has
        // those after the filled ones (`bytes-filled`).
        self.bytes = unsafe { Filling::new(self.bytes.start(), len, size - before) };
        self.remaining() >= additional || self.move_to_start(additional)
    }

    /// Moves the filled bytes to the start of the buffer, if this is the only reference, and there
    /// is room for `additional` more then.
    #[cold]
    #[inline(never)]
    fn move_to_start(&mut self, additional: usize) -> bool {
        let (start, len) = (self.header().start(), self.len());
        let size = self.header().class().size();
        if size - len < additional || !self.header().counts().is_unique() {
            return false;
        }
        // Before the bytes change that positions without a reference refer to.
        self.header().unshare();
        // SAFETY: this is the only reference, so all bytes of the buffer are its alone. The first
        // `len` are initialised by the copy. The header has no reference but this one, and no
        // position resolves to it.
        unsafe {
            start.copy_from(self.bytes.start(), len);
            self.bytes = Filling::new(start, len, size);
            self.class = class_if_mutable(self.header());
        }
        true
    }

    /// Turns the buffer into one that can be shared and is not written to any more. O(1); copies
    /// nothing.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(900);
    /// buf.extend_from_slice(b"hello").unwrap();
    /// assert_eq!(*buf.freeze(), *b"hello");
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "seal")]
    pub fn freeze(self) -> Buf<R> {
        let this = ManuallyDrop::new(self);
        // The bytes before are initialised; the sum is not above the buffer's size.
        let filled = (this.before() + this.len()) as u32;
        this.header().share(filled);
        // SAFETY: shared now, with this reference (`header-state`), and its bytes are filled
        // (`bytes-filled`).
        unsafe { Buf::new(this.header, this.bytes.start(), this.len()) }
    }
}

/// The class of the header of a `BufMut` that has the only reference, unless it has a link
/// (`class-of-mutable`).
///
/// # Safety
///
/// As for [`Header::next`].
unsafe fn class_if_mutable<R: References>(header: &Header<R>) -> Option<NonNull<Class<R>>> {
    // SAFETY: nothing else changes the link meanwhile (precondition, `no-cycle`).
    let is_linked = unsafe { header.next() }.is_some();
    (!is_linked).then_some(header.class_pointer())
}

impl<R: References> Drop for BufMut<R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the buffer is dropped, so the header, or its reference, is given up once. With a
        // class it is mutable, of this class, and has no link (`class-of-mutable`).
        unsafe {
            match self.class {
                Some(class) => ArenaCore::free_unlinked(OfClass::new(self.header, class)),
                None => ArenaCore::drop_shared(Reference::new(self.header)),
            }
        }
    }
}

impl<R: References> Deref for BufMut<R> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl<R: References> DerefMut for BufMut<R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut_slice()
    }
}

impl<R: References> AsRef<[u8]> for BufMut<R> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<R: References> AsMut<[u8]> for BufMut<R> {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl<R: References> Borrow<[u8]> for BufMut<R> {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<R: References> BorrowMut<[u8]> for BufMut<R> {
    fn borrow_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl<R: References> From<BufMut<R>> for Buf<R> {
    fn from(buf: BufMut<R>) -> Self {
        buf.freeze()
    }
}

/// Prints a slice of bytes.
impl<R: References> fmt::Debug for BufMut<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Fills the next bytes. Returns an error if a piece does not fit; nothing of that piece is written
/// then.
impl<R: References> fmt::Write for BufMut<R> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Fills the next bytes, as many as there is room for; writes nothing to a full buffer.
#[cfg(feature = "std")]
impl<R: References> std::io::Write for BufMut<R> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let given = bytes.len().min(self.remaining());
        let _ = self.extend_from_slice(&bytes[..given]);
        Ok(given)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<R: References> core::panic::UnwindSafe for BufMut<R> {}
impl<R: References> core::panic::RefUnwindSafe for BufMut<R> {}

/// A shared, read-only reference to bytes of a [`ByteArena`](super::ByteArena).
///
/// `clone` and `drop` count references in O(1). A [slice](Self::slice) is a reference too. Dropping
/// the last reference frees the buffer, and up to 64 buffers of the [chain](Self::set_next) that
/// follows it, up to one that has other references. The rest of a longer chain keeps its bytes, and
/// the references of its links, until it is [reclaimed](super::ByteArena::reclaim).
///
/// Buffers may outlive their arena. Dropping the last of them then frees the memory of the arena,
/// O(n) for n chunks, and what is left of its [chains](Self::set_next), O(n) for n links. If
/// forgotten references bring a count to 2³¹, it stays there, and the buffer is never used again.
///
/// With [`Local`] counts, the default, it is neither `Send` nor `Sync`; with [`Atomic`] counts it
/// is both.
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
    /// A part of a shared header (`header-state`), one of whose references is this one; within the
    /// bytes that are filled (`bytes-filled`).
    Part<R>,
);

// SAFETY: no one writes to the bytes while there are references, counts are atomic, and the
// last one gives the buffer back from any thread. The link changes only where there is one
// reference, borrowed exclusively (`no-cycle`).
unsafe impl Send for Buf<Atomic> {}
// SAFETY: by reference the bytes are read, and the count is atomic.
unsafe impl Sync for Buf<Atomic> {}

const _: () = assert!(size_of::<Option<Buf>>() == 3 * size_of::<usize>());

impl<R: References> Buf<R> {
    /// # Safety
    ///
    /// The header is shared, and one of its references becomes this one. `len` bytes from
    /// `start` on are filled.
    #[inline]
    pub(super) unsafe fn new(header: NonNull<Header<R>>, start: NonNull<u8>, len: usize) -> Self {
        let start = start.as_ptr();
        Buf(Part { start, len, header })
    }

    /// A buffer of these bytes.
    ///
    /// # Safety
    ///
    /// The header is mutable, and has no other owner; its buffer has room for these bytes.
    #[inline(always)]
    pub(super) unsafe fn filled(header: NonNull<Header<R>>, bytes: &[u8]) -> Self {
        // SAFETY: no one else has the header, whose buffer has room for the bytes (precondition); it is
        // shared below.
        let buf = unsafe { Self::of_bytes(header, bytes) };
        buf.header().share(bytes.len() as u32);
        buf
    }

    /// A buffer of these bytes, whose header is shared already.
    ///
    /// # Safety
    ///
    /// The header is shared, with one reference, which becomes this one, and as many of its bytes
    /// count as filled. It has no other owner; its buffer has room for these bytes.
    #[inline(always)]
    pub(super) unsafe fn of_bytes(header: NonNull<Header<R>>, bytes: &[u8]) -> Self {
        // SAFETY: there is room (precondition); the copied bytes are not in the buffer, which has
        // no other owner.
        unsafe {
            let start = header.as_ref().start();
            copy(bytes.as_ptr(), start.as_ptr(), bytes.len());
            Self::new(header, start, bytes.len())
        }
    }

    /// The reference, which the caller gives up.
    #[inline]
    pub(super) fn into_reference(self) -> Reference<R> {
        // SAFETY: this has a reference of the header, and gives it up (`held-reference`).
        unsafe { Reference::new(self.into_part().header) }
    }

    /// The part, whose reference this no longer counts.
    #[inline]
    pub(super) fn into_part(self) -> Part<R> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    pub(super) fn header(&self) -> &Header<R> {
        // SAFETY: the header is shared (`header-state`), so its core and chunk stay (`core-stays`).
        unsafe { self.0.header.as_ref() }
    }

    /// The offset in its buffer.
    #[inline]
    pub(super) fn offset(&self) -> usize {
        self.0.start.addr() - self.header().start().addr().get()
    }

    pub(super) fn core(&self) -> NonNull<ArenaCore<R>> {
        self.header().class().core()
    }

    /// Returns the number of bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.copy(b"hello").len(), 5);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns whether there are no bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.copy(b"").is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Returns the number of references to the buffer: `Buf`s, links of chains, those that
    /// positions hold, and the [`BufMut`] that it was [split off](BufMut::split_to) from.
    ///
    /// Returns `None` if there are 2³¹ or more, which are not counted.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let head = buf.slice(..2);
    /// assert_eq!(head.references(), Some(2));
    /// ```
    #[must_use]
    #[doc(alias("refcount", "ref_count"))]
    pub fn references(&self) -> Option<usize> {
        self.header().counts().count()
    }

    /// Returns whether this is the only reference to its buffer.
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

    /// Returns a part of the bytes, which shares the buffer. O(1).
    ///
    /// # Panics
    ///
    /// If the range is not within the bytes; [`try_slice`](Self::try_slice) returns `None`.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// assert_eq!(buf.slice(1..3), *b"el");
    /// ```
    #[track_caller]
    #[must_use]
    #[doc(alias = "slice_ref")]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Self {
        let (start, end) = bounds(range, self.len());
        match self.part(start, end) {
            Some(part) => part,
            None => panic!(
                "range {start}..{end} is out of bounds of a buffer of {}",
                Amount::bytes(self.len())
            ),
        }
    }

    /// Returns a part of the bytes, which shares the buffer, or `None` if the range is not within
    /// them. O(1).
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
        part.0.start = part.0.start.wrapping_add(start);
        part.0.len = end - start;
        Some(part)
    }

    /// Shortens this reference to its first `len` bytes; does nothing if it is not longer.
    ///
    /// The buffer stays whole.
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

    /// Removes the first `count` bytes from this reference, after they were read. O(1).
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
            "cannot advance by {}: the buffer has {}",
            Amount::bytes(count),
            Amount::bytes(self.0.len)
        );
        self.0.start = self.0.start.wrapping_add(count);
        self.0.len -= count;
    }

    /// Splits off the first `count` bytes, and returns them as a reference to the same buffer.
    /// O(1).
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

    /// Appends a part of the same buffer that begins where this one ends. O(1); copies nothing.
    ///
    /// # Errors
    ///
    /// Returns `other` if it is from another buffer, or does not begin where this one ends.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut tail = arena.copy(b"hello world");
    /// let mut head = tail.split_to(5);
    /// head.try_unsplit(tail)?;
    /// assert_eq!(head, *b"hello world");
    /// assert!(head.try_unsplit(arena.copy(b"!")).is_err());
    /// # Ok::<(), flatslab::bytes::Buf>(())
    /// ```
    #[doc(alias("join", "try_join", "unsplit"))]
    pub fn try_unsplit(&mut self, other: Self) -> Result<(), Self> {
        let end = self.0.start.wrapping_add(self.0.len);
        if self.0.header != other.0.header || end != other.0.start {
            return Err(other);
        }
        // Both are filled bytes of one buffer.
        self.0.len += other.0.len;
        Ok(())
    }

    /// Whether its buffer is from this class.
    #[inline]
    pub(super) fn is_of(&self, class: NonNull<Class<R>>) -> bool {
        self.header().class_pointer() == class
    }

    /// Whether the buffer has only this reference and no link, so that other bytes may take its
    /// place.
    #[inline]
    pub(super) fn may_be_overwritten(&self) -> bool {
        self.is_unique() && self.link_ref().is_none()
    }

    /// Replaces the bytes by others, in the same buffer. All positions of the old ones become
    /// stale.
    ///
    /// # Safety
    ///
    /// [`may_be_overwritten`](Self::may_be_overwritten) is true, and the buffer has room for these
    /// bytes.
    #[inline(always)]
    pub(super) unsafe fn overwrite(&mut self, bytes: &[u8]) {
        // Once: for all the compiler knows, the writes below change this reference.
        let header = self.0.header;
        self.header().unshare();
        // SAFETY: mutable now, and this was its reference; there is room (precondition).
        self.0 = unsafe { Self::filled(header, bytes) }.into_part();
    }

    /// Turns this into a buffer that can be filled, if it is the only reference. O(1).
    ///
    /// The result has the bytes of this reference, and room up to the end of the buffer. A chain
    /// that follows stays linked, also to what is [split off](BufMut::split_to) later. All positions
    /// of the buffer become stale.
    ///
    /// # Errors
    ///
    /// Returns the buffer if there are other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello");
    /// let second = buf.clone();
    /// let buf = buf.try_into_mut().unwrap_err();
    /// drop(second);
    /// let mut buf = buf.try_into_mut().unwrap();
    /// buf[0] = b'H';
    /// assert_eq!(*buf, *b"Hello");
    /// ```
    #[doc(alias("make_mut", "into_mut"))]
    pub fn try_into_mut(self) -> Result<BufMut<R>, Self> {
        if !self.header().counts().is_unique() {
            return Err(self);
        }
        self.header().unshare();
        let capacity = self.header().class().size() - self.offset();
        // SAFETY: this is the only reference, and no position resolves to another.
        let class = unsafe { class_if_mutable(self.header()) };
        let Part { start, len, header } = self.into_part();
        // SAFETY: this was the header's reference (`header-state`), so its bytes are this one's
        // alone. `start` is within them; those before it and the first `len` are filled.
        let bytes = unsafe { Filling::new(NonNull::new_unchecked(start), len, capacity) };
        Ok(BufMut {
            header,
            class,
            bytes,
        })
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
    #[doc(alias("free", "decref"))]
    pub fn release(self) -> bool {
        ArenaCore::drop_ref(self.into_reference())
    }
}

/// The start and the end of a range within `len` bytes. An end past `usize::MAX` becomes
/// `usize::MAX`.
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

/// Adds a reference; O(1).
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
        // SAFETY: gives up this reference, which is not used any more.
        ArenaCore::drop_quietly(unsafe { Reference::new(self.0.header) });
    }
}

impl<R: References> Deref for Buf<R> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the `len` bytes are filled, and no one writes to them (`bytes-filled`).
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

/// Hashes the bytes as a slice does.
impl<R: References> Hash for Buf<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// Prints a slice of bytes.
impl<R: References> fmt::Debug for Buf<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<R: References> core::panic::UnwindSafe for Buf<R> {}
impl<R: References> core::panic::RefUnwindSafe for Buf<R> {}

/// Reads from the front, like [`advance`](Buf::advance).
#[cfg(feature = "bytes")]
impl<R: References> bytes::Buf for Buf<R> {
    #[inline]
    fn remaining(&self) -> usize {
        self.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        self
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        Buf::advance(self, count);
    }
}

#[cfg(feature = "bytes")]
// SAFETY: `chunk_mut` returns the unfilled bytes from the end of the filled ones on, so bytes that
// were written there are the next ones that `advance_mut` counts as filled.
unsafe impl<R: References> bytes::BufMut for BufMut<R> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, count: usize) {
        let room = self.remaining();
        assert!(
            count <= room,
            "cannot advance by {}: the buffer has room for {}",
            Amount::bytes(count),
            Amount::bytes(room)
        );
        // SAFETY: the caller has written those bytes (precondition), for which there was room.
        unsafe { self.set_len(self.len() + count) };
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut bytes::buf::UninitSlice {
        bytes::buf::UninitSlice::uninit(self.spare_capacity_mut())
    }
}

/// Makes a `Bytes` that owns the buffer, and drops it with its last clone. It copies no bytes, but
/// allocates a box for its own count from the global allocator. A buffer with local counts cannot
/// become a `Bytes`, which is `Send` and `Sync`.
#[cfg(feature = "bytes")]
impl From<Buf<Atomic>> for bytes::Bytes {
    fn from(buf: Buf<Atomic>) -> Self {
        bytes::Bytes::from_owner(buf)
    }
}
