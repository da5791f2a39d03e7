//! What stands outside of the chunks: one header for each.
//!
//! Headers lie apart from the bytes, so that memory that is given back takes none of them
//! along, and a chunk is the user's alone. Each takes a cache line.
//!
//! # Invariants
//!
//! * H1: a header is in one of three states. *Free*: on its class's free stack; `filled` is
//!   [`FREE`]. *Mutable*: a `BufMut` has it, and nothing else. *Shared*: the count is that of
//!   its references, which are buffers, links, and references that positions hold.
//! * H2: of a shared header, `held` references are those of positions; `held` is at most the
//!   count.
//! * H3: `serial` is 0, or one that no other header has or had; 0 unless the header is shared.
//!   So a position whose serial is a header's leads to the bytes it was made of.
//! * H4: of a shared header, the first `filled` bytes of the chunk are initialised, and no one
//!   writes to them.
//! * H5: links make no cycle. `next` changes only while the header's one reference is borrowed
//!   exclusively, or is none: then no chain contains it but the one that it is borrowed
//!   through, and what it is linked to cannot lead back to it.
//! * H6: `others` is the count less one, so that the end and the saturation of the count are one
//!   test, of the sign. It is 0 unless the header is shared. Where it is below 0 the count is
//!   saturated: it stays so, and the chunk is never free again.

use core::cell::{Cell, UnsafeCell};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::buf::Buf;
use super::class::Class;
use super::home::Home;

/// What is noted of a chunk.
#[repr(C, align(64))]
pub(super) struct Header {
    others: Cell<i32>,
    held: Cell<u32>,
    filled: Cell<u32>,
    number: u32,
    serial: Cell<u64>,
    /// Of the chunk's bytes.
    start: NonNull<u8>,
    class: NonNull<Class>,
    next: UnsafeCell<Option<Buf>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 64);

/// More than a chunk has bytes.
const FREE: u32 = u32::MAX;

/// Far from both ends, so that no number of references that are added or dropped from here on
/// comes to an end before the count is set back to this.
const SATURATED: i32 = i32::MIN / 2;

impl Header {
    pub(super) fn new(number: u32, start: NonNull<u8>, class: NonNull<Class>) -> Self {
        Header {
            others: Cell::new(0),
            held: Cell::new(0),
            filled: Cell::new(FREE),
            number,
            serial: Cell::new(0),
            start,
            class,
            next: UnsafeCell::new(None),
        }
    }

    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    #[inline(always)]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    #[inline(always)]
    pub(super) fn class(&self) -> &Class {
        // SAFETY: the class is there as long as its slabs' headers.
        unsafe { self.class.as_ref() }
    }

    #[inline(always)]
    pub(super) fn serial(&self) -> u64 {
        self.serial.get()
    }

    /// Makes the header one that positions lead to (H3).
    pub(super) fn set_serial(&self, serial: u64) {
        self.serial.set(serial);
    }

    /// Makes all positions stale.
    #[inline(always)]
    pub(super) fn make_stale(&self) {
        self.serial.set(0);
    }

    /// How many bytes are initialised.
    #[inline(always)]
    pub(super) fn filled(&self) -> usize {
        self.filled.get() as usize
    }

    #[inline(always)]
    pub(super) fn is_unique(&self) -> bool {
        self.others.get() == 0
    }

    /// How many references a shared header has; none if they can no longer be counted.
    pub(super) fn count(&self) -> Option<usize> {
        let others = usize::try_from(self.others.get()).ok()?;
        Some(others + 1)
    }

    /// References that positions hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn held(&self) -> u32 {
        self.held.get()
    }

    pub(super) fn is_free(&self) -> bool {
        self.filled.get() == FREE
    }

    /// From free to mutable.
    #[inline(always)]
    pub(super) fn take(&self) {
        debug_assert!(self.is_free());
        self.filled.set(0);
    }

    /// From mutable to shared, with one reference.
    #[inline(always)]
    pub(super) fn share(&self, filled: u32) {
        debug_assert!(self.is_unique());
        self.filled.set(filled);
    }

    /// From shared, with one reference, to mutable.
    #[inline(always)]
    pub(super) fn unshare(&self) {
        debug_assert!(self.is_unique());
        self.make_stale();
    }

    /// Counts one more reference.
    #[inline(always)]
    pub(super) fn add_ref(&self) {
        #[cfg(feature = "stats")]
        self.class().add_refs.add();
        let others = self.others.get().wrapping_add(1);
        // Stored before it is tested, so that both are one instruction.
        self.others.set(others);
        if others < 0 {
            self.saturate();
        }
    }

    // Not inlined, so that what calls it needs the count's place alone.
    #[cold]
    #[inline(never)]
    fn saturate(&self) {
        self.others.set(SATURATED);
    }

    /// Gives one reference back, and says whether it was the last one.
    ///
    /// # Safety
    ///
    /// The header is shared, and the caller has one of its references, which is none from now
    /// on. If it was the last the header is not used any more.
    #[inline(always)]
    pub(super) unsafe fn drop_ref(header: NonNull<Header>) -> bool {
        // SAFETY: the caller's reference keeps it there.
        let it = unsafe { header.as_ref() };
        it.count_dropped();
        // SAFETY: as above; where none is left no one else has it (H1).
        it.uncount() && unsafe { Self::end(header) }
    }

    /// Notes for the statistics that a reference is dropped.
    #[inline(always)]
    fn count_dropped(&self) {
        #[cfg(feature = "stats")]
        self.class().dec_refs.add();
    }

    /// Counts one reference less, and says whether the count came to its end, or is saturated.
    #[inline(always)]
    fn uncount(&self) -> bool {
        let others = self.others.get().wrapping_sub(1);
        // Stored before it is tested, so that both are one instruction.
        self.others.set(others);
        others < 0
    }

    /// After a count [came to its end](Self::uncount), or was saturated: makes the header ready
    /// to be free in the one case.
    #[inline(always)]
    fn is_over(&self) -> bool {
        if self.others.get() != -1 {
            self.saturate();
            return false;
        }
        self.others.set(0);
        true
    }

    /// Makes a header free that was shared, unless its count is saturated, and says so.
    ///
    /// # Safety
    ///
    /// Its count [came to its end](Self::uncount), or is saturated. In the first case the caller
    /// has it, and does not use it any more.
    #[inline(never)]
    unsafe fn end(header: NonNull<Header>) -> bool {
        // SAFETY: a header that is not free keeps its home.
        let it = unsafe { header.as_ref() };
        let is_over = it.is_over();
        if is_over {
            it.make_stale();
            // SAFETY: says the caller.
            unsafe { Self::free(header) };
        }
        is_over
    }

    /// Makes a header free that was mutable, or is stale; so too what it is linked to, if the
    /// link holds the last reference.
    ///
    /// # Safety
    ///
    /// The caller has the header: it is not free, and has no reference. It is not used any
    /// more.
    #[inline(always)]
    pub(super) unsafe fn free(header: NonNull<Header>) {
        // SAFETY: a header that is not free keeps its home.
        let it = unsafe { header.as_ref() };
        debug_assert!(!it.is_free() && it.serial() == 0);
        let class = it.class();
        // SAFETY: no one else has the header, so no one borrows its link.
        if class.is_closed() || unsafe { it.next() }.is_some() {
            // SAFETY: says the caller.
            return unsafe { Self::free_chain(header) };
        }
        it.filled.set(FREE);
        // SAFETY: it is the class's, and no one's; the stack has room for all of them.
        unsafe { class.push(header) };
    }

    /// As [`free`](Self::free), of a header with a link, or of an arena that was dropped; along
    /// the chain, without recursion.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free).
    #[inline(never)]
    unsafe fn free_chain(header: NonNull<Header>) {
        let mut header = header;
        loop {
            // SAFETY: a header that is not free keeps its home.
            let it = unsafe { header.as_ref() };
            it.make_stale();
            it.filled.set(FREE);
            // SAFETY: no one else has the header, so no one borrows its link.
            let next = unsafe { (*it.next.get()).take() };
            let class = it.class();
            // SAFETY: it is the class's, and no one's; the stack has room for all of them.
            unsafe { class.push(header) };
            if class.is_closed() {
                // SAFETY: it was one of those that remained, and nothing of the home is used
                // below.
                unsafe { Home::ended(class.home()) };
            }
            let Some(next) = next else {
                return;
            };
            // Not dropped, which would recurse.
            header = ManuallyDrop::new(next).header();
            // SAFETY: the link's reference keeps it there, and is none from now on.
            let it = unsafe { header.as_ref() };
            it.count_dropped();
            if !(it.uncount() && it.is_over()) {
                return;
            }
        }
    }

    /// Notes that a reference is a position's from now on.
    pub(super) fn hold(&self) {
        self.held.set(self.held.get().saturating_add(1));
    }

    /// Notes that a position's reference is so no longer; false if positions have none.
    pub(super) fn unhold(&self) -> bool {
        match self.held.get() {
            0 => return false,
            // Saturated, and so is the count.
            u32::MAX => {}
            held => self.held.set(held - 1),
        }
        true
    }

    /// Gives back all references that positions hold.
    ///
    /// # Safety
    ///
    /// The home is there until this returns. If no reference is left the header is not used
    /// any more.
    pub(super) unsafe fn drop_held(header: NonNull<Header>) {
        // SAFETY: says the caller.
        while unsafe { header.as_ref().held.get() } > 0 {
            // SAFETY: as above.
            let it = unsafe { header.as_ref() };
            if it.others.get() < 0 {
                return;
            }
            it.held.set(it.held.get() - 1);
            // SAFETY: a position had it (H2), and has it no more.
            unsafe { Self::drop_ref(header) };
        }
    }

    /// What it is linked to.
    ///
    /// # Safety
    ///
    /// While the reference is used the link does not change (H5).
    #[inline]
    pub(super) unsafe fn next(&self) -> &Option<Buf> {
        // SAFETY: says the caller.
        unsafe { &*self.next.get() }
    }

    /// What it is linked to, to be changed.
    ///
    /// # Safety
    ///
    /// The caller has the header's one reference borrowed exclusively as long, and the header
    /// is stale, so that positions lead to no other.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller borrows a handle exclusively"
    )]
    pub(super) unsafe fn next_mut(&self) -> &mut Option<Buf> {
        // SAFETY: says the caller.
        unsafe { &mut *self.next.get() }
    }

    /// Sets the count as a test wants it.
    #[cfg(test)]
    pub(super) fn set_count(&self, count: u32) {
        self.others.set((count - 1) as i32);
    }

    /// Sets how many references positions hold, as a test wants it.
    #[cfg(test)]
    pub(super) fn set_held(&self, held: u32) {
        self.held.set(held);
    }
}
