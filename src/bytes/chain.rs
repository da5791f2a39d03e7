//! Chains of buffers: each may be linked to a next one.

use core::fmt;

use super::buf::Buf;

/// The buffer has other references, so its link may not be changed: a chain may contain it.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let mut head = arena.copy(b"hello").unwrap();
/// let other = head.clone();
/// assert!(head.take_next().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared;

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the buffer has other references")
    }
}

impl core::error::Error for Shared {}

/// The buffer has other references, so it was not linked; the one that was to be next comes
/// back.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let mut head = arena.copy(b"hello").unwrap();
/// let other = head.clone();
/// let error = head.set_next(other).unwrap_err();
/// assert_eq!(error.into_inner(), head);
/// ```
pub struct NotLinked(Buf);

impl NotLinked {
    /// The buffer that was to be next.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// # let mut head = arena.copy(b"hello").unwrap();
    /// # let other = head.clone();
    /// let other = head.set_next(other).unwrap_err().into_inner();
    /// # drop(other);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Buf {
        self.0
    }
}

impl fmt::Debug for NotLinked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotLinked(..)")
    }
}

impl fmt::Display for NotLinked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shared.fmt(f)
    }
}

impl core::error::Error for NotLinked {}

/// A buffer may be linked to a next one, and so on: a chain. The link is the chunk's, so all
/// references to it have the same; it holds one reference on the next.
///
/// It changes only where the buffer has one reference. Then no chain contains it, but the one
/// through which it was reached, and so no cycle can be made. What it is linked to may have
/// others: several chains may end in one.
impl Buf {
    /// The next buffer of the chain; one more reference to it. O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// assert!(head.next().is_none());
    /// head.set_next(arena.copy(b" world").unwrap())?;
    /// assert_eq!(head.next().unwrap(), *b" world");
    /// # Ok::<(), flatslab::bytes::NotLinked>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<Buf> {
        self.home().counters().get_nexts.add();
        self.next_ref().cloned()
    }

    /// The next buffer of the chain; O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// head.set_next(arena.copy(b" world").unwrap())?;
    /// assert_eq!(head.next_ref().unwrap(), b" world");
    /// # Ok::<(), flatslab::bytes::NotLinked>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next_ref(&self) -> Option<&Buf> {
        // SAFETY: to change the link takes the chunk's one reference, borrowed exclusively;
        // this one is borrowed as long as the result.
        unsafe { self.at().next() }.as_ref()
    }

    /// The next buffer of the chain, to be replaced or linked to others; O(1). All positions of
    /// this buffer are stale from then on.
    ///
    /// # Errors
    ///
    /// If this buffer has other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// head.set_next(arena.copy(b" world").unwrap()).unwrap();
    /// *head.next_mut()?.unwrap() = arena.copy(b" there").unwrap();
    /// assert_eq!(head.parts().collect::<Vec<_>>(), [b"hello", &b" there"[..]]);
    /// # Ok::<(), flatslab::bytes::Shared>(())
    /// ```
    #[inline]
    pub fn next_mut(&mut self) -> Result<Option<&mut Buf>, Shared> {
        let at = self.at();
        // Else a position would lead to another reference, which reads the link.
        if at.is_unique() {
            at.make_stale();
        }
        Ok(self.link()?.as_mut())
    }

    /// Links this buffer to another, and returns the one it was linked to; O(1). They may be of
    /// different arenas.
    ///
    /// # Errors
    ///
    /// If this buffer has other references; the other one comes back.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// assert!(head.set_next(arena.copy(b" world").unwrap())?.is_none());
    /// let replaced = head.set_next(arena.copy(b" there").unwrap())?;
    /// assert_eq!(replaced.unwrap(), *b" world");
    /// # Ok::<(), flatslab::bytes::NotLinked>(())
    /// ```
    #[inline]
    pub fn set_next(&mut self, next: Buf) -> Result<Option<Buf>, NotLinked> {
        self.home().counters().set_nexts.add();
        match self.link() {
            Ok(link) => Ok(link.replace(next)),
            Err(Shared) => Err(NotLinked(next)),
        }
    }

    /// Ends the chain with this buffer, and returns what followed; O(1).
    ///
    /// # Errors
    ///
    /// If this buffer has other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// head.set_next(arena.copy(b" world").unwrap()).unwrap();
    /// assert_eq!(head.take_next()?.unwrap(), *b" world");
    /// assert!(head.next().is_none());
    /// # Ok::<(), flatslab::bytes::Shared>(())
    /// ```
    #[inline]
    pub fn take_next(&mut self) -> Result<Option<Buf>, Shared> {
        Ok(self.link()?.take())
    }

    /// The link, if it may be changed. A caller that keeps it makes positions stale first.
    #[inline]
    fn link(&mut self) -> Result<&mut Option<Buf>, Shared> {
        let at = self.at();
        if !at.is_unique() {
            return Err(Shared);
        }
        // SAFETY: this is the one reference, borrowed as long as the result; no position leads
        // to another.
        Ok(unsafe { at.next_mut() })
    }

    /// The bytes of this buffer, and of those that follow in the chain, for vectored output:
    /// `chain.parts().map(IoSlice::new)`.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// head.set_next(arena.copy(b" world").unwrap()).unwrap();
    /// assert_eq!(head.parts().collect::<Vec<_>>().concat(), b"hello world");
    /// ```
    #[inline]
    #[must_use]
    pub fn parts(&self) -> Parts<'_> {
        Parts { next: Some(self) }
    }

    /// How many bytes the chain has from this buffer on; O(links).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello").unwrap();
    /// head.set_next(arena.copy(b" world").unwrap()).unwrap();
    /// assert_eq!((head.len(), head.chain_len()), (5, 11));
    /// ```
    #[must_use]
    pub fn chain_len(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }
}

/// The bytes of a chain, buffer by buffer; see [`Buf::parts`].
#[derive(Clone)]
pub struct Parts<'a> {
    next: Option<&'a Buf>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let buf = self.next?;
        self.next = buf.next_ref();
        Some(buf)
    }
}

impl core::iter::FusedIterator for Parts<'_> {}

/// How many bytes are left.
impl fmt::Debug for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.clone().map(<[u8]>::len).sum();
        f.debug_struct("Parts").field("bytes", &bytes).finish()
    }
}
