//! How the references to a buffer are counted: on one thread, or on many.
//!
//! `R: References` is the choice, and the type that counts in each header: [`Local`] or [`Atomic`].
//! The choice also decides how a buffer and an arena are freed. That is in `drop.rs`, next to the
//! code that both have in common, and depends on [`References::ATOMIC`].
//!
//! # Invariants
//!
//! * `count-less-one` (local): `others` is the count less one, so that one test, of the sign, finds
//!   both the end of the count and its saturation. It is 0 unless the header is shared, or is left
//!   of a chain: then it is the link to the header that was left before. Below 0 the count is
//!   saturated: it stays so, and the buffer is never free again.
//! * `held-counted` (local): `held` references are those of positions, at most the count.
//! * `serial-once` (local): `serial` is 0, or a number that no other header has or had; it is 0
//!   unless the header is shared. So a position with the serial of a header refers to the bytes
//!   that it was made of.
//! * `count-saturates` (atomic): `count` is at least the number of references. At [`MOST`] or more
//!   it is saturated: drops that see it do not lower it, and clones set it to a number that the
//!   threads which saw it before cannot bring below [`MOST`]. The buffer is never returned then.

#![expect(
    private_interfaces,
    reason = "`References` is sealed: no one else can name a `Word`"
)]

use core::cell::Cell;
use core::fmt;

#[cfg(feature = "stats")]
use crate::raw::atomic::Count;
use crate::raw::atomic::{AtomicU32, Ordering};
use crate::raw::packed::Word;

/// The way in which references to a buffer are counted: [`Local`] or [`Atomic`]. Sealed.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{Buf, ByteArena, References};
///
/// fn greet<R: References>(arena: &ByteArena<R>) -> Buf<R> {
///     arena.copy(b"hello")
/// }
///
/// assert_eq!(greet(&ByteArena::new()), *greet(&ByteArena::atomic()));
/// ```
pub trait References: Sized + 'static {
    /// True if other threads count, too.
    #[doc(hidden)]
    const ATOMIC: bool;

    /// Creates the counts of a free header.
    #[doc(hidden)]
    fn new() -> Self;

    /// Sets the count of a free header to one reference.
    #[doc(hidden)]
    fn start(&self);

    /// Returns whether the caller's reference is the only one. If no other thread borrows that
    /// reference, no thread can make another.
    #[doc(hidden)]
    fn is_unique(&self) -> bool;

    /// Returns the number of references, or `None` if they are no longer counted.
    #[doc(hidden)]
    fn count(&self) -> Option<usize>;

    /// Counts one more reference.
    #[doc(hidden)]
    fn add(&self);

    /// Counts one reference less. Returns `true` if none is left or the count is saturated;
    /// [`is_over`](Self::is_over) tells the two apart.
    #[doc(hidden)]
    fn subtract(&self) -> bool;

    /// Returns whether no reference is left, after [`subtract`](Self::subtract) returned `true`;
    /// the header is the caller's then.
    #[doc(hidden)]
    fn is_over(&self) -> bool;

    /// Makes all positions stale.
    #[doc(hidden)]
    fn make_stale(&self);

    /// Takes the link that [`set_link`](Self::set_link) noted: the header that was returned, or
    /// left of a chain, before this one. Called once for each link.
    #[doc(hidden)]
    fn link(&self) -> Word;

    /// Notes the header that was returned before. The caller has this header, which has no
    /// reference.
    #[doc(hidden)]
    fn set_link(&self, below: Word);

    /// Takes one of the references that positions hold, which becomes the caller's. Returns `false`
    /// if positions hold no counted reference.
    #[doc(hidden)]
    fn take_held(&self) -> bool;

    /// Subtracts one reference while the owner of several asks whether they are all that exist;
    /// returns `true` if so. [`restore`](Self::restore) adds it again before anything else counts.
    #[doc(hidden)]
    fn set_aside(&self) -> bool;

    /// Adds the reference that was [set aside](Self::set_aside).
    #[doc(hidden)]
    fn restore(&self);

    /// Panics unless these are the counts of a free header.
    #[doc(hidden)]
    #[cfg(any(test, fuzzing))]
    fn check_free(&self);

    /// Sets the count.
    #[doc(hidden)]
    #[cfg(all(test, not(loom)))]
    fn set_count(&self, count: u32);
}

/// Counts for one thread, the default: `Buf` is neither `Send` nor `Sync`.
///
/// ```
/// use flatslab::bytes::{Buf, ByteArena, Local};
///
/// let buf: Buf<Local> = ByteArena::new().copy(b"hello");
/// let same: Buf = buf;
/// # drop(same);
/// ```
#[repr(C)]
pub struct Local {
    others: Cell<i32>,
    held: Cell<u32>,
    serial: Cell<u64>,
}

/// A count far from both ends, so that however many references are added or dropped from here on,
/// none of the ends is reached before the count is set back to this.
const SATURATED: i32 = i32::MIN / 2;

impl References for Local {
    const ATOMIC: bool = false;

    fn new() -> Self {
        Local {
            others: Cell::new(0),
            held: Cell::new(0),
            serial: Cell::new(0),
        }
    }

    #[inline]
    fn start(&self) {
        debug_assert!(self.is_unique());
    }

    #[inline]
    fn is_unique(&self) -> bool {
        self.others.get() == 0
    }

    fn count(&self) -> Option<usize> {
        let others = usize::try_from(self.others.get()).ok()?;
        // 2^31 references are still counted, but reported as `None`, like atomic counts.
        Some(others + 1).filter(|&count| count < 1 << 31)
    }

    #[inline]
    fn add(&self) {
        let others = self.others.get().wrapping_add(1);
        // Stored before it is tested, so that both are one instruction.
        self.others.set(others);
        if others < 0 {
            self.saturate();
        }
    }

    #[inline]
    fn subtract(&self) -> bool {
        let others = self.others.get().wrapping_sub(1);
        // Stored before it is tested, so that both are one instruction.
        self.others.set(others);
        others < 0
    }

    #[inline]
    fn is_over(&self) -> bool {
        if self.others.get() != -1 {
            self.saturate();
            return false;
        }
        self.others.set(0);
        true
    }

    #[inline]
    fn make_stale(&self) {
        self.serial.set(0);
    }

    #[inline]
    fn link(&self) -> Word {
        Word::of_narrow(self.others.take() as u32)
    }

    fn set_link(&self, below: Word) {
        self.others.set(below.narrow() as i32);
    }

    fn take_held(&self) -> bool {
        self.held.get() > 0 && self.others.get() >= 0 && self.unhold()
    }

    fn set_aside(&self) -> bool {
        let others = self.others.get();
        // A saturated count is as far from its end as before (`count-less-one`).
        self.others.set(others.wrapping_sub(1));
        others == 0
    }

    fn restore(&self) {
        self.others.set(self.others.get().wrapping_add(1));
    }

    #[cfg(any(test, fuzzing))]
    fn check_free(&self) {
        assert!(self.is_unique() && self.held.get() == 0 && self.serial.get() == 0);
    }

    #[cfg(all(test, not(loom)))]
    fn set_count(&self, count: u32) {
        self.others.set((count - 1) as i32);
    }
}

impl Local {
    // Not inlined, so that the caller only needs the address of the count.
    #[cold]
    #[inline(never)]
    fn saturate(&self) {
        self.others.set(SATURATED);
    }

    #[inline]
    pub(super) fn serial(&self) -> u64 {
        self.serial.get()
    }

    /// Gives the header a serial, so that positions can refer to it (`serial-once`).
    pub(super) fn set_serial(&self, serial: u64) {
        self.serial.set(serial);
    }

    /// Number of references that positions hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn held(&self) -> u32 {
        self.held.get()
    }

    /// Makes a reference one that a position holds.
    pub(super) fn hold(&self) {
        self.held.set(self.held.get().saturating_add(1));
    }

    /// Makes a reference one that no position holds; returns `false` if positions hold none.
    pub(super) fn unhold(&self) -> bool {
        match self.held.get() {
            0 => return false,
            // Saturated, and so is the count.
            u32::MAX => {}
            held => self.held.set(held - 1),
        }
        true
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn set_held(&self, held: u32) {
        self.held.set(held);
    }
}

/// Atomic counts: buffers can be cloned and dropped on any thread.
///
/// ```
/// use flatslab::bytes::{Atomic, Buf, ByteArena};
///
/// let buf: Buf<Atomic> = ByteArena::atomic().copy(b"hello");
/// std::thread::spawn(move || drop(buf)).join().unwrap();
/// ```
#[repr(C)]
pub struct Atomic {
    count: AtomicU32,
    /// For a buffer that was returned, the one below it on the return stack. For a buffer in a
    /// ring, references that are [set aside](References::set_aside).
    link: AtomicU32,
}

/// The count from which on references are not counted.
pub(super) const MOST: u32 = if cfg!(loom) { 3 } else { 1 << 31 };

/// A count far from both ends of the saturated range, so that however many threads count at once,
/// none of the ends is reached before one of them sets it back to this.
const ATOMIC_SATURATED: u32 = MOST + (MOST >> 1);

impl References for Atomic {
    const ATOMIC: bool = true;

    fn new() -> Self {
        Atomic {
            count: AtomicU32::new(0),
            link: AtomicU32::new(0),
        }
    }

    #[inline]
    fn start(&self) {
        // Relaxed: the caller alone has it, and the thread that gets it from the caller finds this.
        self.count.store(1, Ordering::Relaxed);
        self.link.store(0, Ordering::Relaxed);
    }

    #[inline]
    fn is_unique(&self) -> bool {
        // Acquire: pairs with the release in `subtract`; what others read happens before the
        // caller writes.
        self.count.load(Ordering::Acquire) == 1
    }

    fn count(&self) -> Option<usize> {
        // Relaxed: only a number. The caller's own reference keeps the count above 0.
        let count = self.count.load(Ordering::Relaxed);
        (count < MOST).then_some(count as usize)
    }

    #[inline]
    fn add(&self) {
        // Relaxed: the caller's own reference keeps the count above 0, and another thread gets the
        // new reference from the caller.
        if self.count.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.saturate();
        }
    }

    #[inline]
    fn subtract(&self) -> bool {
        // The usual case needs no write: if the reference that is dropped is the only one, no other
        // thread counts.
        if self.is_unique() {
            return true;
        }
        // Decided from this value and not from the result of the subtraction below. After that,
        // other threads may have returned the buffer, and setting the count would write to the
        // buffer's next use. Threads that read the count before it reached `MOST` still subtract,
        // but there are fewer of them than threads. Relaxed: nothing is read by it.
        if self.count.load(Ordering::Relaxed) >= MOST {
            return false;
        }
        // Release: what was read through this reference happens before the buffer is used again;
        // pairs with the acquire in `is_unique`, here and for the last reference.
        if self.count.fetch_sub(1, Ordering::Release) != 1 {
            return false;
        }
        // Acquire: pairs with the release of all other references. They were dropped, so the count
        // is 0.
        self.count.load(Ordering::Acquire);
        true
    }

    #[inline]
    fn is_over(&self) -> bool {
        true
    }

    #[inline]
    fn make_stale(&self) {}

    #[inline]
    fn link(&self) -> Word {
        // Relaxed: the acquire of the stack orders it.
        Word::of_narrow(self.link.load(Ordering::Relaxed))
    }

    #[inline]
    fn set_link(&self, below: Word) {
        // Relaxed: the release of the push orders it.
        self.link.store(below.narrow(), Ordering::Relaxed);
    }

    fn take_held(&self) -> bool {
        false
    }

    fn set_aside(&self) -> bool {
        // Relaxed: the ring's owner alone writes it while the buffer is in use, and the thread that
        // takes the buffer off the return stack finds what was written last, by the release of the
        // push.
        let aside = self.link.load(Ordering::Relaxed) + 1;
        self.link.store(aside, Ordering::Relaxed);
        // Acquire: as in `is_unique`.
        self.count.load(Ordering::Acquire) == aside
    }

    fn restore(&self) {
        // Relaxed: as above.
        let aside = self.link.load(Ordering::Relaxed);
        self.link.store(aside - 1, Ordering::Relaxed);
    }

    #[cfg(any(test, fuzzing))]
    fn check_free(&self) {}

    #[cfg(all(test, not(loom)))]
    fn set_count(&self, count: u32) {
        self.count.store(count, Ordering::Relaxed);
    }
}

impl Atomic {
    #[cold]
    #[inline(never)]
    fn saturate(&self) {
        // Relaxed: nothing is read by it, and the buffer is never given back (`count-saturates`).
        self.count.store(ATOMIC_SATURATED, Ordering::Relaxed);
    }
}

/// Prints the number of references, as far as they are counted.
impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.count()).finish()
    }
}

/// Prints the number of references, as far as they are counted.
impl fmt::Debug for Atomic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Atomic").field(&self.count()).finish()
    }
}

/// A number that increases with each reference, also on other threads if these count. Without the
/// feature `stats` it does not exist: clone and drop would take 1.3 to 1.6 times as long, and
/// longer if several threads counted.
#[derive(Default)]
pub(super) struct Tally(#[cfg(feature = "stats")] Count);

impl Tally {
    #[inline]
    #[cfg_attr(
        not(feature = "stats"),
        expect(clippy::unused_self, reason = "counts nothing")
    )]
    pub(super) fn add<R: References>(&self) {
        #[cfg(feature = "stats")]
        if R::ATOMIC {
            // Relaxed, here and below: only statistics.
            self.0.fetch_add(1, Ordering::Relaxed);
        } else {
            let next = self.0.load(Ordering::Relaxed).wrapping_add(1);
            self.0.store(next, Ordering::Relaxed);
        }
    }

    #[cfg(feature = "stats")]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

/// The counts of references.
#[derive(Default)]
// Not on the lines that the arena's thread writes to.
#[cfg_attr(feature = "stats", repr(align(128)))]
pub(super) struct Tallies {
    pub(super) add_refs: Tally,
    pub(super) dec_refs: Tally,
    pub(super) dec_ref_zeroes: Tally,
    pub(super) get_nexts: Tally,
    pub(super) set_nexts: Tally,
}
