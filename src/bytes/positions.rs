//! Positions of buffers whose references one thread counts.

use core::ptr::NonNull;

use super::arena::ByteArena;
use super::arena_core::{ArenaCore, Header};
use super::buf::Buf;
use super::loc::{Loc, LocError};
use super::{Local, References};

impl Buf {
    /// The position of these bytes. It holds no reference: it is stale once the last reference
    /// is dropped. O(1).
    ///
    /// # Panics
    ///
    /// Where [`try_loc`](Self::try_loc) returns an error.
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

    /// As [`loc`](Self::loc).
    ///
    /// # Errors
    ///
    /// [`Range`](LocError::Range) if the bytes are more than a [position](Loc) has room for;
    /// [`Closed`](LocError::Closed) if the arena was dropped; [`TooMany`](LocError::TooMany).
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
            // SAFETY: a shared header keeps its core.
            let serial = unsafe { self.core().as_ref() }.serials.next();
            counts.set_serial(serial.ok_or(LocError::TooMany)?);
        }
        let loc = Loc::new(counts.serial(), header.number(), self.offset(), self.len());
        loc.ok_or(LocError::Range)
    }

    /// Moves this reference into a position, which keeps the bytes until it is
    /// [released](ByteArena::release), or the arena is dropped. O(1). If buffers may have
    /// 1 MiB or more, use [`try_into_loc`](Self::try_into_loc).
    ///
    /// # Panics
    ///
    /// Where [`try_into_loc`](Self::try_into_loc) returns the buffer.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let loc = arena.copy(b"hello").into_loc();
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
    /// Returns the buffer where [`try_loc`](Self::try_loc) returns an error.
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
        // SAFETY: a shared header keeps its core.
        let held = unsafe { &self.core().as_ref().held };
        held.set(held.get() + 1);
        // The position has the reference now.
        let _ = self.into_part();
        loc
    }
}

impl ByteArena {
    /// Another reference to the bytes that a position leads to; O(1).
    ///
    /// # Errors
    ///
    /// [`Stale`](LocError::Stale) if the buffer is gone, or is or was mutable since;
    /// [`Foreign`](LocError::Foreign) if the position is not one of this arena;
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
    #[inline(always)]
    pub fn resolve(&self, loc: Loc) -> Result<Buf, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared, for it has a serial (N3).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        self.core().tallies().add_refs.add::<Local>();
        at.counts().add();
        // SAFETY: the reference was just added; these bytes are filled.
        Ok(unsafe { Buf::new(header, at.start().add(loc.start()), loc.len()) })
    }

    /// Gives back the reference that a position holds, and returns whether it was the last one.
    /// O(1).
    ///
    /// References of positions are counted for each buffer, not noted in each position: of two
    /// positions of a buffer of which one holds a reference, either gives it back.
    ///
    /// # Errors
    ///
    /// As for [`resolve`](Self::resolve); and [`Stale`](LocError::Stale) if no position holds a
    /// reference on the buffer, as after another release.
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
    pub fn release(&self, loc: Loc) -> Result<bool, LocError> {
        let header = self.find(loc)?;
        // SAFETY: it is there, and shared (N3).
        let at = unsafe { header.as_ref() };
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        if !at.counts().unhold() {
            return Err(LocError::Stale);
        }
        let held = &self.core().held;
        held.set(held.get().saturating_sub(1));
        // SAFETY: a position had it, and has it no more (N2).
        Ok(unsafe { ArenaCore::drop_ref(header) })
    }

    /// The header that a position leads to.
    #[inline(always)]
    fn find(&self, loc: Loc) -> Result<NonNull<Header<Local>>, LocError> {
        if let Some(header) = self.core().directory().find(loc.number()) {
            // SAFETY: the directory leads to headers that are there (D1).
            let counts = unsafe { header.as_ref() }.counts();
            // No position's serial is 0.
            if counts.serial() == loc.serial() {
                return Ok(header);
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

    /// Panics where N2, N3 or the number of held references does not hold.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    pub fn check_positions(&self) {
        use super::arena_core::Chunk;

        self.check();
        let mut held = 0;
        for header in self.core().chunks().flat_map(Chunk::headers) {
            // SAFETY: `headers` gives those that were made (L2).
            let at = unsafe { header.as_ref() };
            let (counts, count) = (at.counts(), at.counts().count());
            held += u64::from(counts.held());
            assert!(counts.serial() == 0 || !at.is_free(), "N3");
            assert!(
                count.is_none_or(|count| counts.held() as usize <= count),
                "N2"
            );
        }
        assert_eq!(held, self.core().held.get(), "the references of positions");
    }
}
