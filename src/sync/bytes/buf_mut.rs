//! A buffer that is being filled, on any thread.

use core::borrow::{Borrow, BorrowMut};
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::buf::Buf;
use super::record::Record;
use crate::bytes::{Filling, NoRoom};

/// A buffer of a [`ByteArena`](super::ByteArena) with one owner, who fills it, on any thread.
/// `Send` and `Sync`.
///
/// It has a length, the bytes that were filled, and a capacity, which it was allocated with
/// and does not grow. [`freeze`](Self::freeze) makes it a [`Buf`], which is shared; dropped, it
/// gives its chunk back.
///
/// # Examples
///
/// ```
/// use flatslab::sync::bytes::ByteArena;
///
/// let arena = ByteArena::new();
/// let mut buf = arena.alloc(900)?;
/// let buf = std::thread::spawn(move || {
///     buf.extend_from_slice(b"hello").unwrap();
///     buf.freeze()
/// });
/// assert_eq!(*buf.join().unwrap(), *b"hello");
/// # Ok::<(), flatslab::bytes::RequestError>(())
/// ```
pub struct BufMut {
    /// Its one reference is this buffer's (U1).
    record: NonNull<Record>,
    /// Within the chunk.
    bytes: Filling,
}

// SAFETY: bytes that are its alone; the chunk is given back from any thread.
unsafe impl Send for BufMut {}
// SAFETY: as above.
unsafe impl Sync for BufMut {}

impl BufMut {
    /// # Safety
    ///
    /// The record's one reference becomes this one. The chunk has `capacity` bytes from `start`
    /// on; the first `len` are initialised.
    #[inline(always)]
    pub(super) unsafe fn new(
        record: NonNull<Record>,
        start: NonNull<u8>,
        len: usize,
        capacity: usize,
    ) -> Self {
        // SAFETY: says the caller; chunks are shorter than 2^32 bytes.
        let bytes = unsafe { Filling::new(start, len, capacity) };
        BufMut { record, bytes }
    }

    /// How many bytes are filled.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).unwrap().len(), 0);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte is filled.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert!(arena.alloc(900).unwrap().is_empty());
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }

    /// How many bytes there is room for in all.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc(900).unwrap().capacity(), 900);
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// How many bytes there is room for besides those that are filled.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// assert_eq!(arena.alloc_zeroed(900).unwrap().remaining(), 0);
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
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8).unwrap();
    /// buf.extend_from_slice(b"hello")?;
    /// assert!(buf.extend_from_slice(b" world").is_err());
    /// assert_eq!(*buf, *b"hello");
    /// # Ok::<(), flatslab::bytes::NoRoom>(())
    /// ```
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        self.bytes.extend_from_slice(bytes)
    }

    /// Changes the length; fills with `byte` what is added. O(bytes added).
    ///
    /// # Errors
    ///
    /// If the length passes the capacity.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8).unwrap();
    /// buf.resize(3, b'-')?;
    /// assert_eq!(*buf, *b"---");
    /// assert!(buf.resize(9, 0).is_err());
    /// # Ok::<(), flatslab::bytes::NoRoom>(())
    /// ```
    pub fn resize(&mut self, len: usize, byte: u8) -> Result<(), NoRoom> {
        self.bytes.resize(len, byte)
    }

    /// Shortens it to so many bytes; no effect on one that is not longer.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8).unwrap();
    /// buf.truncate(3);
    /// assert_eq!(buf.len(), 3);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Makes it empty.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8).unwrap();
    /// buf.clear();
    /// assert!(buf.is_empty() && buf.capacity() == 8);
    /// ```
    pub fn clear(&mut self) {
        self.bytes.truncate(0);
    }

    /// The bytes that are not filled, to be written by code that says afterwards how many it
    /// wrote, by [`set_len`](Self::set_len).
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(8).unwrap();
    /// buf.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first byte is written.
    /// unsafe { buf.set_len(1) };
    /// assert_eq!(*buf, [7]);
    /// ```
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.bytes.spare_capacity_mut()
    }

    /// Says how many bytes are filled.
    ///
    /// # Safety
    ///
    /// They are at most the capacity, and all of them are initialised.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc_zeroed(8).unwrap();
    /// buf.clear();
    /// // SAFETY: all were zeroed.
    /// unsafe { buf.set_len(8) };
    /// assert_eq!(*buf, [0; 8]);
    /// ```
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: says the caller.
        unsafe { self.bytes.set_len(len) };
    }

    /// Makes it a buffer that can be shared; O(1), copies nothing. It keeps the bytes that are
    /// filled.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let mut buf = arena.alloc(900).unwrap();
    /// buf.extend_from_slice(b"hello").unwrap();
    /// assert_eq!(*buf.freeze(), *b"hello");
    /// ```
    #[inline]
    #[must_use]
    pub fn freeze(self) -> Buf {
        let this = ManuallyDrop::new(self);
        // SAFETY: the one reference, and so many bytes are filled.
        unsafe { Buf::new(this.record, this.bytes.start(), this.bytes.len()) }
    }
}

impl Drop for BufMut {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the one reference, which is gone.
        unsafe { Record::give_back(self.record) };
    }
}

impl Deref for BufMut {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}

impl DerefMut for BufMut {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.as_mut_slice()
    }
}

impl AsRef<[u8]> for BufMut {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for BufMut {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Borrow<[u8]> for BufMut {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl BorrowMut<[u8]> for BufMut {
    fn borrow_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl From<BufMut> for Buf {
    fn from(buf: BufMut) -> Buf {
        buf.freeze()
    }
}

/// As a slice of bytes.
impl fmt::Debug for BufMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Fills the next bytes; an error beyond the capacity, with nothing of that piece written.
impl fmt::Write for BufMut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Fills the next bytes, as many as there is room for; none is written to a full buffer.
#[cfg(feature = "std")]
impl std::io::Write for BufMut {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let given = bytes.len().min(self.remaining());
        let _ = self.extend_from_slice(&bytes[..given]);
        Ok(given)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl core::panic::UnwindSafe for BufMut {}
impl core::panic::RefUnwindSafe for BufMut {}
