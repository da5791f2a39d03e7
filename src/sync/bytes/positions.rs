//! Positions of buffers that go to other threads.
//!
//! Any thread that has a buffer makes a position of it, the arena's thread resolves and releases
//! them. That is the thread which takes chunks; so while a position is looked up no chunk is used
//! again, and what the position's number leads to is a record, whatever became of its buffers.
//! They may end, or become mutable, on other threads at any moment.
//!
//! # Invariants
//!
//! * P1: `serial` is 0, or one that no other chunk has or had. It is made by a thread that has a
//!   reference. Where it is not 0 the last drop brings the count to 0, which is not raised: what
//!   was given back with a serial has no count. A `BufMut` brings it to 0, too, and then the
//!   serial, before it sets the count to 1 and writes to the chunk.
//! * P2: `held` of the references are those of positions, or it is [`HELD_MOST`] and the count is
//!   saturated; or it is [`CLOSED`], and then no position holds one, and none will.
//! * P3: while there are references, so many bytes from the first on are filled as `filled` says.
//!   It is no less than the end of a buffer before a position is made of that, and 0 again with
//!   the serial.
//! * P4: a count that was raised from above 0 is that of a reference. If the serial is still the
//!   position's then, the chunk has not changed in between, and cannot while there is that
//!   reference. If not, the reference is dropped as any other. The chunk may have been given
//!   back in that case, by one who found a count of 1 and did not write to it; the reference
//!   is not the last then, for no one has taken that 1 away.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::ByteArena;
use super::buf::Buf;
use super::record::{MOST, Record, Shared};
use crate::bytes::{Loc, LocError};
use crate::raw::atomic::Ordering;

/// What `held` is when the arena is dropped.
const CLOSED: u32 = u32::MAX;

/// From here on references that positions hold are not counted; far above [`MOST`], so that
/// neither are references.
pub(super) const HELD_MOST: u32 = u32::MAX - 1;

const _: () = assert!(HELD_MOST > MOST);

impl Shared {
    /// The arena is dropped: gives back what positions hold; O(chunks) if any was ever made.
    ///
    /// # Safety
    ///
    /// The caller is the arena's thread, and takes no more chunks.
    #[inline]
    pub(super) unsafe fn close_positions(&self) {
        if self.serials.close() {
            // SAFETY: says the caller.
            unsafe { self.drop_held() };
        }
    }

    /// # Safety
    ///
    /// As for [`close_positions`](Self::close_positions).
    #[cold]
    #[inline(never)]
    unsafe fn drop_held(&self) {
        for chunk in self.local.chunks() {
            let record = chunk.cast::<Record>();
            // SAFETY: a chunk in use begins with its record (U1), also when it was given back, for
            // the arena's thread alone takes it from the stack.
            unsafe {
                // Acquire: pairs with the release in `hold`; what was read through the reference
                // happens before it is dropped.
                let held = record.as_ref().held.swap(CLOSED, Ordering::Acquire);
                for _ in 0..held {
                    // One that is saturated is not counted any more.
                    if record.as_ref().count().is_none() {
                        break;
                    }
                    // A position had it, and has it no more (P2).
                    Record::drop_ref(record);
                }
            }
        }
    }
}

impl Record {
    /// The serial of its positions, which have `end` bytes at most; the caller has a reference of
    /// so many.
    fn locate(&self, end: u32) -> Result<u64, LocError> {
        // Relaxed: the caller has had its reference since the serial was 0, or was given it after
        // that; so it is not one from before.
        let serial = self.serial.load(Ordering::Relaxed);
        let serial = if serial == 0 {
            self.serials().next()?
        } else if self.held.load(Ordering::Relaxed) == CLOSED {
            // Relaxed: it is certain only of what takes a reference, in `hold`.
            return Err(LocError::Closed);
        } else {
            serial
        };
        // Relaxed: so many bytes were filled before that was written, by the one who wrote it.
        if self.filled_or_link.load(Ordering::Relaxed) < end {
            // Release: pairs with the acquire in `filled`; the bytes were filled before.
            self.filled_or_link.fetch_max(end, Ordering::Release);
        }
        // Relaxed: a position is resolved by its count and its bytes, which are acquired.
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        match self.serial.compare_exchange(0, serial, order.0, order.1) {
            Ok(_) => Ok(serial),
            Err(made) => Ok(made),
        }
    }

    fn serials(&self) -> &super::serials::Serials {
        // SAFETY: there while the chunk is in use (U4).
        unsafe { &(*self.shared().as_ptr()).serials }
    }

    /// So many bytes from the first on are filled; of a chunk whose serial was found (P4).
    #[inline]
    fn filled(&self) -> usize {
        // Acquire: pairs with the release in `locate`; the bytes were written before they are
        // read, also if the position was made up.
        self.filled_or_link.load(Ordering::Acquire) as usize
    }

    /// Whether it has that serial.
    #[inline]
    fn has(&self, serial: u64) -> bool {
        // Relaxed: a first look needs no more; the second one follows an acquire of the count.
        self.serial.load(Ordering::Relaxed) == serial
    }

    /// Counts one more reference, unless there is none.
    #[inline]
    fn try_add_ref(&self) -> bool {
        // Relaxed: the exchange says whether it is so.
        let mut count = self.count.load(Ordering::Relaxed);
        while count != 0 {
            // Acquire: pairs with the release in `try_own_located`; a serial that is stale since is
            // seen to be so (P4).
            let order = (Ordering::Acquire, Ordering::Relaxed);
            let raised = count + 1;
            match (self.count).compare_exchange_weak(count, raised, order.0, order.1) {
                Ok(_) => {
                    if count >= MOST {
                        self.saturate();
                    }
                    return true;
                }
                Err(found) => count = found,
            }
        }
        false
    }

    /// Makes the caller's reference one that a position holds, unless the arena was dropped.
    fn hold(&self) -> bool {
        // Not loaded first: of most buffers none is held.
        let mut held = 0;
        while held != CLOSED {
            let more = if held == HELD_MOST { held } else { held + 1 };
            // Release: what was read through the reference happens before it is dropped; pairs with
            // the acquire in `unhold` and `drop_held`.
            let order = (Ordering::Release, Ordering::Relaxed);
            match (self.held).compare_exchange_weak(held, more, order.0, order.1) {
                Ok(_) => return true,
                Err(found) => held = found,
            }
        }
        false
    }

    /// Makes a reference that a position holds the caller's, if there is one.
    fn unhold(&self) -> bool {
        let less = |held| match held {
            0 => None,
            // The count is saturated, too.
            HELD_MOST => Some(HELD_MOST),
            held => Some(held - 1),
        };
        // Acquire: pairs with the release in `hold`.
        let held = (self.held).fetch_update(Ordering::Acquire, Ordering::Relaxed, less);
        held.is_ok()
    }

    /// Sets how many references positions hold, as a test wants it.
    #[cfg(test)]
    pub(super) fn set_held(&self, held: u32) {
        self.held.store(held, Ordering::Relaxed);
    }
}

/// Positions. They are there where the platform has 64-bit atomics.
impl ByteArena {
    /// The buffer that a position leads to: one more reference; O(1), allocates nothing. Other
    /// threads may drop the last other reference at the same moment: then it is this one, or the
    /// position is stale.
    ///
    /// # Errors
    ///
    /// [`Stale`](LocError::Stale) if the buffer is gone, or is or was mutable since;
    /// [`Foreign`](LocError::Foreign) if the position is not one of this arena;
    /// [`Range`](LocError::Range) if it has more bytes than those that positions were made of.
    ///
    /// ```
    /// use flatslab::bytes::LocError;
    ///
    /// let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let loc = buf.slice(1..).loc();
    /// assert_eq!(arena.resolve(loc)?, *b"ello");
    /// std::thread::spawn(move || drop(buf)).join().unwrap();
    /// assert_eq!(arena.resolve(loc), Err(LocError::Stale));
    /// # Ok::<(), LocError>(())
    /// ```
    #[inline]
    pub fn resolve(&self, loc: Loc) -> Result<Buf, LocError> {
        let record = self.find(loc)?;
        // SAFETY: it is there until the arena's thread, which is this one, takes chunks.
        let at = unsafe { record.as_ref() };
        if !at.try_add_ref() {
            return Err(LocError::Stale);
        }
        // SAFETY: the reference that was added. If it is not one of that buffer it is dropped (P4).
        let buf = unsafe { Buf::new(record, Record::bytes(record), 0) };
        if !at.has(loc.serial()) {
            return Err(LocError::Stale);
        }
        if loc.start() + loc.len() > at.filled() {
            return Err(LocError::Range);
        }
        let buf = ManuallyDrop::new(buf);
        // SAFETY: the same reference; these bytes are filled (P3).
        Ok(unsafe { Buf::new(record, buf.start.add(loc.start()), loc.len()) })
    }

    /// Gives back the reference that a position holds, and says whether it was the last one:
    /// if not, the chunk stays in use while others read it. O(1).
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
    /// use flatslab::bytes::LocError;
    ///
    /// let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let second = buf.clone();
    /// let loc = std::thread::spawn(move || second.into_loc()).join().unwrap();
    /// assert!(!arena.release(loc)?);
    /// assert_eq!(arena.release(loc), Err(LocError::Stale));   // `buf` keeps its bytes
    /// assert_eq!(buf, *b"hello");
    /// # Ok::<(), LocError>(())
    /// ```
    pub fn release(&self, loc: Loc) -> Result<bool, LocError> {
        let record = self.find(loc)?;
        // SAFETY: as in `resolve`.
        let at = unsafe { record.as_ref() };
        if !at.unhold() {
            return Err(LocError::Stale);
        }
        // From here on there is a reference, so that the serial does not change. It may be one of
        // positions that were made since the first look.
        let error = if !at.has(loc.serial()) {
            LocError::Stale
        } else if loc.start() + loc.len() > at.filled() {
            LocError::Range
        } else {
            // SAFETY: a position had it, and has it no more (P2).
            return Ok(unsafe { Record::drop_ref(record) });
        };
        // The arena is there, so this is not refused.
        at.hold();
        Err(error)
    }

    /// The record of a chunk that has a position's serial; it may end at any moment.
    #[inline]
    fn find(&self, loc: Loc) -> Result<NonNull<Record>, LocError> {
        if let Some(chunk) = self.shared().local.find_chunk(loc.number()) {
            let record = chunk.cast::<Record>();
            // SAFETY: a chunk in use begins with its record (U1). No position's serial is 0.
            if unsafe { record.as_ref() }.has(loc.serial()) {
                return Ok(record);
            }
        }
        Err(self.not_found(loc))
    }

    #[cold]
    #[inline(never)]
    fn not_found(&self, loc: Loc) -> LocError {
        if self.shared().serials.knows(loc.serial()) {
            LocError::Stale
        } else {
            LocError::Foreign
        }
    }
}

/// Positions. They are there where the platform has 64-bit atomics.
impl Buf {
    /// The position of these bytes, on any thread. It keeps nothing: it is stale once the last
    /// reference is gone. O(1), allocates nothing.
    ///
    /// The first position of a buffer takes a number that all threads take from the same count.
    /// From then on the drop of the last reference writes to its count.
    ///
    /// # Panics
    ///
    /// Where [`try_loc`](Self::try_loc) returns an error.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
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
    /// use flatslab::bytes::LocError;
    ///
    /// let arena = flatslab::sync::bytes::ByteArena::new();
    /// let large = arena.alloc_zeroed(1 << 20).unwrap().freeze();
    /// assert_eq!(large.try_loc(), Err(LocError::Range));
    /// let head = large.slice(..5);
    /// drop(arena);
    /// assert_eq!(head.try_loc(), Err(LocError::Closed));
    /// ```
    pub fn try_loc(&self) -> Result<Loc, LocError> {
        let record = self.record();
        // SAFETY: it is there (U1).
        let first = unsafe { Record::bytes(NonNull::from(record)) };
        let start = self.start.addr().get() - first.addr().get();
        // Chunks are shorter than 2^32 bytes.
        let serial = record.locate((start + self.len()) as u32)?;
        Loc::new(serial, record.number(), start, self.len()).ok_or(LocError::Range)
    }

    /// Moves this reference into a position, which keeps the bytes until
    /// [`release`](ByteArena::release), or until the arena is dropped; on any thread. O(1),
    /// allocates nothing. Where buffers may have 1 MiB or more, or another thread may drop the
    /// arena, take [`try_into_loc`](Self::try_into_loc).
    ///
    /// # Panics
    ///
    /// Where [`try_into_loc`](Self::try_into_loc) returns the buffer, which is dropped.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// let loc = std::thread::spawn(move || buf.into_loc()).join().unwrap();
    /// assert_eq!(arena.resolve(loc).unwrap(), *b"hello");
    /// assert!(arena.release(loc).unwrap());
    /// ```
    #[track_caller]
    #[must_use = "the position holds a reference"]
    pub fn into_loc(self) -> Loc {
        match self.move_to_loc() {
            Ok(loc) => loc,
            Err((_, error)) => panic!("{error}"),
        }
    }

    /// As [`into_loc`](Self::into_loc).
    ///
    /// # Errors
    ///
    /// Where [`try_loc`](Self::try_loc) returns one; the buffer comes back. So no reference is
    /// lost when another thread drops the arena: either it is given back then, or comes back
    /// here.
    ///
    /// ```
    /// # let arena = flatslab::sync::bytes::ByteArena::new();
    /// let buf = arena.copy(b"hello").unwrap();
    /// drop(arena);
    /// let buf = buf.try_into_loc().unwrap_err();
    /// assert_eq!(buf, *b"hello");
    /// ```
    pub fn try_into_loc(self) -> Result<Loc, Buf> {
        self.move_to_loc().map_err(|(buf, _)| buf)
    }

    fn move_to_loc(self) -> Result<Loc, (Buf, LocError)> {
        match self.try_loc() {
            Ok(_) if !self.record().hold() => Err((self, LocError::Closed)),
            Ok(loc) => {
                // The position has the reference.
                let _held = ManuallyDrop::new(self);
                Ok(loc)
            }
            Err(error) => Err((self, error)),
        }
    }
}
