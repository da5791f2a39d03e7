//! Chains of buffers: each buffer may be linked to a next one.

use core::fmt;
use core::iter::FusedIterator;

use super::arena_core::ArenaCore;
use super::buf::Buf;
use super::references::References;

/// The error of a change to the link of a buffer that has other references, because a chain may
/// contain it.
///
/// It returns the buffer that was to be linked.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let mut head = arena.copy(b"hello");
/// let other = head.clone();
/// assert!(head.take_next().is_err());
/// let error = head.set_next(other).unwrap_err();
/// assert_eq!(error.into_inner(), head);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SharedError<T = ()>(T);

impl<T> SharedError<T> {
    /// Returns the buffer that was not linked.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// # let mut head = arena.copy(b"hello");
    /// # let other = head.clone();
    /// let other = head.set_next(other).unwrap_err().into_inner();
    /// # drop(other);
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Prints `SharedError(..)` for any `T`, so that `unwrap` works for all of them.
impl<T> fmt::Debug for SharedError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedError(..)")
    }
}

impl<T> fmt::Display for SharedError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("buffer is shared: it has other references")
    }
}

impl<T> core::error::Error for SharedError<T> {}

/// A buffer can be linked to a next buffer, and that one to another: a chain. The link is part of
/// the buffer, so all references to a buffer have the same link. A link holds one reference to the
/// next buffer.
///
/// A link can change only while its buffer has one reference. Then the only chain that contains the
/// buffer is the one through which it was reached, and so no cycle can be made. The buffer that it
/// is linked to may have other references: several chains may end in the same buffer.
///
/// Dropping the first buffer of a chain frees the buffers that follow, up to one that has other
/// references. The drop frees up to 64 of them. Later calls free the rest: an allocation that finds
/// no free buffer frees some, and [`reclaim`](super::ByteArena::reclaim) frees all. Until then the
/// links of the rest hold their references. [`is_unique`](Buf::is_unique) counts them, and
/// positions still resolve to the bytes.
///
/// If the arena of the buffers was dropped, the rest is freed by later drops of its other buffers,
/// one for each, and all that is left by the last one, in O(n) for n buffers. A call counts as the
/// last if links may hold all other buffers after it: chains that end in the same buffer, or in one
/// of another arena, count as one for this. Whatever gives up or links a buffer of that arena may be
/// this call, also an allocation of another arena that goes on with a chain which leads there. With
/// [atomic](super::Atomic) counts each drop of a chain frees all of it, in O(n): a count of links
/// that all threads write would make every link cost three times as much. A program that cannot
/// wait so long drops the arena last, or [takes](Buf::take_next) the chain apart, a few buffers at a
/// time.
impl<R: References> Buf<R> {
    /// Returns another reference to the next buffer of the chain. O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// assert!(head.next().is_none());
    /// head.set_next(arena.copy(b" world"))?;
    /// assert_eq!(head.next().unwrap(), *b" world");
    /// # Ok::<(), flatslab::bytes::SharedError<_>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<Self> {
        self.next_ref().cloned()
    }

    /// Borrows the next buffer of the chain. O(1).
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// head.set_next(arena.copy(b" world"))?;
    /// assert_eq!(head.next_ref().unwrap(), b" world");
    /// # Ok::<(), flatslab::bytes::SharedError<_>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn next_ref(&self) -> Option<&Self> {
        ArenaCore::tallies_of(self.header()).get_nexts.add::<R>();
        self.link_ref()
    }

    /// The next buffer of the chain.
    #[inline]
    pub(super) fn link_ref(&self) -> Option<&Self> {
        // SAFETY: to change the link takes the buffer's one reference, borrowed exclusively;
        // this one is borrowed as long as the result.
        unsafe { self.header().next() }.as_ref()
    }

    /// Borrows the next buffer of the chain mutably, to replace it or to link it to others. O(1).
    ///
    /// All positions of this buffer become stale.
    ///
    /// # Errors
    ///
    /// If this buffer has other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// head.set_next(arena.copy(b" world")).unwrap();
    /// *head.next_mut()?.unwrap() = arena.copy(b" there");
    /// assert_eq!(head.parts().collect::<Vec<_>>(), [b"hello", &b" there"[..]]);
    /// # Ok::<(), flatslab::bytes::SharedError>(())
    /// ```
    #[inline]
    pub fn next_mut(&mut self) -> Result<Option<&mut Self>, SharedError> {
        let counts = self.header().counts();
        // Else a position would resolve to another reference, which reads the link.
        if counts.is_unique() {
            counts.make_stale();
        }
        ArenaCore::tallies_of(self.header()).get_nexts.add::<R>();
        Ok(self.link()?.as_mut())
    }

    /// Links this buffer to another, and returns the buffer that it was linked to. O(1), unless the
    /// arena of this buffer was dropped, and this counts as the last call: see above.
    ///
    /// The two buffers may be from different arenas.
    ///
    /// # Errors
    ///
    /// Returns `next` if this buffer has other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// assert!(head.set_next(arena.copy(b" world"))?.is_none());
    /// let replaced = head.set_next(arena.copy(b" there"))?;
    /// assert_eq!(replaced.unwrap(), *b" world");
    /// # Ok::<(), flatslab::bytes::SharedError<_>>(())
    /// ```
    #[inline]
    pub fn set_next(&mut self, next: Self) -> Result<Option<Self>, SharedError<Self>> {
        ArenaCore::tallies_of(self.header()).set_nexts.add::<R>();
        match self.link() {
            Ok(link) => {
                let replaced = link.replace(next);
                if replaced.is_none() {
                    ArenaCore::linked(self.header());
                }
                Ok(replaced)
            }
            Err(SharedError(())) => Err(SharedError(next)),
        }
    }

    /// Removes the link of this buffer, and returns the rest of the chain. O(1).
    ///
    /// # Errors
    ///
    /// If this buffer has other references.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// head.set_next(arena.copy(b" world")).unwrap();
    /// assert_eq!(head.take_next()?.unwrap(), *b" world");
    /// assert!(head.next().is_none());
    /// # Ok::<(), flatslab::bytes::SharedError>(())
    /// ```
    #[inline]
    pub fn take_next(&mut self) -> Result<Option<Self>, SharedError> {
        ArenaCore::tallies_of(self.header()).set_nexts.add::<R>();
        let taken = self.link()?.take();
        if taken.is_some() {
            ArenaCore::count_links(self.header(), -1);
        }
        Ok(taken)
    }

    /// The link, if it may change. A caller that keeps the reference makes positions stale first.
    #[inline]
    fn link(&mut self) -> Result<&mut Option<Self>, SharedError> {
        let header = self.header();
        if !header.counts().is_unique() {
            return Err(SharedError(()));
        }
        // SAFETY: this is the one reference, borrowed as long as the result; no position resolves
        // to another.
        Ok(unsafe { header.next_mut() })
    }

    /// Iterates over the parts of a chain: the bytes of this buffer and of each that follows.
    ///
    /// It serves vectored output: `chain.parts().map(IoSlice::new)`.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// head.set_next(arena.copy(b" world")).unwrap();
    /// assert_eq!(head.parts().collect::<Vec<_>>().concat(), b"hello world");
    /// ```
    #[inline]
    pub fn parts(&self) -> Parts<'_, R> {
        Parts { next: Some(self) }
    }

    /// Returns the number of bytes in this buffer and in those that follow it in the chain. O(n)
    /// for n links.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let mut head = arena.copy(b"hello");
    /// head.set_next(arena.copy(b" world")).unwrap();
    /// assert_eq!((head.len(), head.chain_len()), (5, 11));
    /// ```
    #[must_use]
    pub fn chain_len(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }
}

/// An iterator over the bytes of each buffer of a chain, from [`parts`](Buf::parts).
#[must_use = "iterators are lazy"]
pub struct Parts<'b, R: References> {
    next: Option<&'b Buf<R>>,
}

impl<R: References> Clone for Parts<'_, R> {
    fn clone(&self) -> Self {
        Parts { next: self.next }
    }
}

impl<'b, R: References> Iterator for Parts<'b, R> {
    type Item = &'b [u8];

    #[inline]
    fn next(&mut self) -> Option<&'b [u8]> {
        let buf = self.next?;
        self.next = buf.next_ref();
        Some(buf)
    }
}

impl<R: References> FusedIterator for Parts<'_, R> {}

impl<R: References> fmt::Debug for Parts<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.clone().map(<[u8]>::len))
            .finish()
    }
}
