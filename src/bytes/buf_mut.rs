//! `BufMut`: a buffer that its one owner fills.
//!
//! A reader of `std` wants initialised bytes. A header says of its buffer whether all of them are
//! (H4), so that they are filled with zeros once, and not for each read. The number of initialised
//! bytes would be exact, but a header has room for one bit, of the whole buffer.

use core::borrow::{Borrow, BorrowMut};
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header};
use super::buf::Buf;
use super::filling::Filling;
use super::{Atomic, Local, References};
use crate::error::SizeError;

/// A buffer of a [`ByteArena`](super::ByteArena) with one owner, who fills it.
///
/// Its length is the number of filled bytes. Its capacity does not grow.
/// [`freeze`](Self::freeze) makes it a [`Buf`], which can be shared; dropping it gives the buffer
/// back, O(1), or does as the last drop of a [`Buf`] if it has a link, or its arena is gone. With [`Local`] counts, the default, neither `Send` nor `Sync`; with
/// [`Atomic`] ones both.
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
    /// Mutable (H1), and this buffer's.
    header: NonNull<Header<R>>,
    /// The header's. A drop pushes onto its stack, and the next allocation of the class waits for
    /// that push: with the class read from the header, which comes from the stack itself, twice
    /// as long where sizes alternate.
    class: NonNull<Class<R>>,
    /// Of the header.
    bytes: Filling,
}

// SAFETY: the bytes are its alone, and it gives them back from any thread.
unsafe impl Send for BufMut<Atomic> {}
// SAFETY: by reference the filled bytes are read.
unsafe impl Sync for BufMut<Atomic> {}

impl<R: References> BufMut<R> {
    /// # Safety
    ///
    /// The header is mutable, no one else's, and of that class. Its buffer has `capacity` bytes
    /// from `start` on; the first `len`, and all before, are initialised.
    #[inline(always)]
    pub(super) unsafe fn new(
        header: NonNull<Header<R>>,
        class: NonNull<Class<R>>,
        start: NonNull<u8>,
        len: usize,
        capacity: usize,
    ) -> Self {
        // SAFETY: the bytes are its alone (precondition), and fewer than 2^32 (S1).
        let bytes = unsafe { Filling::new(start, len, capacity) };
        BufMut {
            header,
            class,
            bytes,
        }
    }

    /// An empty buffer.
    ///
    /// # Safety
    ///
    /// The header is mutable, no one else's, and of that class; its buffer has `capacity` bytes.
    #[inline(always)]
    pub(super) unsafe fn from_header(
        header: NonNull<Header<R>>,
        class: NonNull<Class<R>>,
        capacity: usize,
    ) -> Self {
        // SAFETY: the header is mutable, of that class, with `capacity` bytes (precondition).
        unsafe { Self::new(header, class, header.as_ref().start(), 0, capacity) }
    }

    #[inline(always)]
    fn header(&self) -> &Header<R> {
        // SAFETY: a mutable header keeps its core.
        unsafe { self.header.as_ref() }
    }

    /// Number of filled bytes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).len(), 0);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte is filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert!(arena.alloc(900).is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }

    /// Number of bytes, filled or not.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).capacity(), 900);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Number of bytes that are not filled.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc_zeroed(900).remaining(), 0);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    /// Fills the next bytes with these; O(bytes).
    ///
    /// # Errors
    ///
    /// If there is no room for all of them; none is written then.
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
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), SizeError> {
        self.bytes.extend_from_slice(bytes)
    }

    /// Changes the length; fills with `byte` what is added. O(bytes added).
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

    /// Shortens it to its first `len` bytes; no effect if it is not longer.
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

    /// Fills the next bytes by one call of the reader's `read`: a socket, a file. Returns how
    /// many, at most [`remaining`](Self::remaining).
    ///
    /// Call it in place of a `resize` to the capacity, a `read` and a `truncate`, which fill the
    /// room with zeros each time. This does so once for each buffer of the arena: the first time
    /// that the buffer is read into, its whole size class is filled with zeros, O(class). After
    /// that it is O(1), also if the buffer was dropped and allocated again, unless
    /// [`spare_capacity_mut`](Self::spare_capacity_mut) lent its bytes. To have it done
    /// beforehand, read from [`std::io::empty`] into each buffer.
    ///
    /// 0 is the end of the input, as `read` says it. It is also what a full buffer returns,
    /// without a call of `read`: make sure that there is room. For fewer bytes than there is room
    /// for, [`take`](std::io::Read::take) so many of the reader.
    ///
    /// The reader sees in its slice what earlier buffers left there.
    ///
    /// # Errors
    ///
    /// Those of the reader, also `Interrupted` and `WouldBlock`; the length is unchanged then.
    ///
    /// # Panics
    ///
    /// If the reader says that it has read more bytes than it was given room for. The length is
    /// unchanged then, and if the reader panics.
    ///
    /// ```
    /// use std::io::Read;
    ///
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// # let mut socket = &b"4 received"[..];
    /// let mut buf = arena.alloc(1500);
    /// assert_eq!(buf.read_from(&mut Read::take(&mut socket, 2))?, 2);
    /// assert_eq!(buf.read_from(&mut socket)?, 8);   // after what is there
    /// assert_eq!(*buf, *b"4 received");
    /// assert_eq!(buf.read_from(&mut socket)?, 0);   // the end
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
        // SAFETY: all bytes are initialised (H4), or filled.
        unsafe { self.bytes.read_from(reader) }
    }

    /// Fills all bytes with zeros that are not filled, those beyond the capacity too: the buffer
    /// may be allocated with another one.
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
            header.set_initialised(true);
        }
    }

    /// Bytes of the buffer before this part of it; all initialised, as [`new`](Self::new) says.
    #[inline(always)]
    fn before(&self) -> usize {
        self.bytes.start().addr().get() - self.header().start().addr().get()
    }

    /// The bytes that are not filled, for code that writes to them and then calls
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
        // SAFETY: it says nothing of them. They may be made uninitialised again.
        unsafe { self.header().set_initialised(false) };
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

    /// Turns it into a buffer that can be shared, with the filled bytes; O(1), copies nothing.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(900);
    /// buf.extend_from_slice(b"hello").unwrap();
    /// assert_eq!(*buf.freeze(), *b"hello");
    /// ```
    #[inline]
    #[must_use]
    pub fn freeze(self) -> Buf<R> {
        let this = ManuallyDrop::new(self);
        let header = this.header();
        // What lies before is initialised; the sum is not above the buffer's size.
        header.share((this.before() + this.len()) as u32);
        // SAFETY: shared now, with this reference (H1), and its bytes are filled (H2).
        unsafe { Buf::new(this.header, this.bytes.start(), this.len()) }
    }
}

impl<R: References> Buf<R> {
    /// Turns it into a buffer that can be filled, if it is the only reference; O(1). The result
    /// has the bytes of this reference, and room up to the end of the buffer. A chain that
    /// follows stays linked.
    ///
    /// All positions of the buffer become stale.
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
    pub fn try_into_mut(self) -> Result<BufMut<R>, Self> {
        if !self.header().counts().is_unique() {
            return Err(self);
        }
        self.header().unshare();
        let capacity = self.header().class().size() - self.offset();
        let class = self.header().class_pointer();
        let part = self.into_part();
        // SAFETY: mutable now, and this was its reference (H1); `start` is within its bytes.
        Ok(unsafe {
            let start = NonNull::new_unchecked(part.start);
            BufMut::new(part.header, class, start, part.len, capacity)
        })
    }
}

impl<R: References> Drop for BufMut<R> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is this buffer's, which is gone, and of its class.
        unsafe { ArenaCore::free(self.header, self.class) };
    }
}

impl<R: References> Deref for BufMut<R> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl<R: References> DerefMut for BufMut<R> {
    #[inline(always)]
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

/// As a slice of bytes.
impl<R: References> fmt::Debug for BufMut<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Fills the next bytes; an error beyond the capacity, with nothing of that piece written.
impl<R: References> fmt::Write for BufMut<R> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Fills the next bytes, as many as there is room for; none is written to a full buffer.
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
