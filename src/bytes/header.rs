//! What is noted of a buffer, outside of its bytes: one header for each.
//!
//! Headers lie apart from the bytes, so that memory that is given back takes none of them
//! along, and a buffer is the user's alone. Each takes a cache line.
//!
//! # Invariants
//!
//! * H1: a header is in one of three states. *Free*: in its class's hand, or banked; `filled` is
//!   [`FREE`]. *Mutable*: a `BufMut` has it, and nothing else. *Shared*: the count is that of
//!   its references, which are `Buf`s, links, and references that positions hold. There is a fourth,
//!   *given back*: without a reference, and stale. Where other threads count it is on its class's
//!   return stack; on one thread it is left of a chain, and on the list of its home.
//! * H2: `filled` is written by the arena's thread alone. Of a shared header of one thread, the
//!   first `filled` bytes are initialised. Of any shared header no one writes to the bytes.
//! * H3: links make no cycle. `next` changes only while the header's one reference is borrowed
//!   exclusively, or is none: then no chain contains it but the one that it is borrowed
//!   through, and what it is linked to cannot lead back to it.
//! * H4: if `is_initialised`, all bytes of the buffer are initialised, those beyond its capacity
//!   too. Who has a mutable header writes and reads it, no one else; it stays while the header is
//!   shared or free.

use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;

use super::class::Class;
use super::references::References;

/// The number of a header in the directory.
///
/// Three bytes, so that the fourth is a place of its own: the arena's thread reads the number of
/// a header while another thread, which has the buffer, writes H4.
#[derive(Clone, Copy)]
struct Number([u8; NUMBER_BYTES]);

/// Bytes of a number.
pub(super) const NUMBER_BYTES: usize = 3;

impl Number {
    fn new(number: u32) -> Self {
        let [low, middle, high, rest] = number.to_le_bytes();
        debug_assert!(rest == 0);
        Number([low, middle, high])
    }

    #[inline(always)]
    fn get(self) -> u32 {
        let Number([low, middle, high]) = self;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

/// What is noted of a buffer.
#[repr(C, align(64))]
pub(super) struct Header<R: References> {
    counts: R,
    filled: Cell<u32>,
    number: Number,
    is_initialised: Cell<bool>,
    /// Of the buffer's bytes.
    start: NonNull<u8>,
    class: NonNull<Class>,
    next: UnsafeCell<Option<Part<R>>>,
}

#[cfg(all(target_pointer_width = "64", not(all(test, loom))))]
const _: () = {
    assert!(size_of::<Header<super::Local>>() == 64);
    assert!(size_of::<Header<super::Atomic>>() == 64);
};

/// A reference to a part of a buffer, without what counts it.
// In this order a copy moves the first two at once and the header by itself, which is loaded in
// any case, and often again just after: a load of half of what was stored at once takes longer.
// With the header first, clone and drop took 1.3 times as long as those of `Rc<[u8]>`.
#[repr(C)]
pub(super) struct Part<R: References> {
    /// Not a `NonNull`, so that it is the header that tells a part from none.
    pub(super) start: *mut u8,
    pub(super) len: usize,
    pub(super) header: NonNull<Header<R>>,
}

impl<R: References> Clone for Part<R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: References> Copy for Part<R> {}

/// More than a buffer has bytes.
const FREE: u32 = u32::MAX;

impl<R: References> Header<R> {
    pub(super) fn new(number: u32, start: NonNull<u8>, class: NonNull<Class>) -> Self {
        Header {
            counts: R::new(),
            filled: Cell::new(FREE),
            number: Number::new(number),
            is_initialised: Cell::new(false),
            start,
            class,
            next: UnsafeCell::new(None),
        }
    }

    #[inline(always)]
    pub(super) fn counts(&self) -> &R {
        &self.counts
    }

    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        self.number.get()
    }

    /// Whether all bytes of a mutable header's buffer are initialised (H4).
    #[cfg(feature = "std")]
    pub(super) fn is_initialised(&self) -> bool {
        self.is_initialised.get()
    }

    /// Says of a mutable header whether all bytes of its buffer are initialised (H4).
    ///
    /// # Safety
    ///
    /// They are, if so.
    #[inline(always)]
    pub(super) unsafe fn set_initialised(&self, all: bool) {
        self.is_initialised.set(all);
    }

    #[inline(always)]
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    #[inline(always)]
    pub(super) fn class_pointer(&self) -> NonNull<Class> {
        self.class
    }

    #[inline(always)]
    pub(super) fn class(&self) -> &Class {
        // SAFETY: the class is there as long as the headers of its chunks.
        unsafe { self.class.as_ref() }
    }

    /// How many bytes are initialised, on one thread.
    #[inline(always)]
    pub(super) fn filled(&self) -> usize {
        self.filled.get() as usize
    }

    pub(super) fn is_free(&self) -> bool {
        self.filled.get() == FREE
    }

    /// From free to mutable.
    #[inline(always)]
    pub(super) fn take(&self) {
        debug_assert!(self.is_free());
        self.filled.set(0);
        self.counts.start();
    }

    /// From free to shared, with one reference: [`take`](Self::take) and [`share`](Self::share) in
    /// one store.
    #[inline(always)]
    pub(super) fn take_shared(&self, filled: u32) {
        debug_assert!(self.is_free());
        // Where other threads count, no more than that it is not free.
        self.filled.set(if R::ATOMIC { 0 } else { filled });
        self.counts.start();
    }

    /// To free; the header's class puts it on its stack.
    #[inline(always)]
    pub(super) fn set_free(&self) {
        debug_assert!(!self.is_free());
        self.filled.set(FREE);
    }

    /// From mutable to shared, with one reference.
    #[inline(always)]
    pub(super) fn share(&self, filled: u32) {
        debug_assert!(self.counts.is_unique());
        if !R::ATOMIC {
            self.filled.set(filled);
        }
    }

    /// From shared, with one reference, to mutable.
    #[inline(always)]
    pub(super) fn unshare(&self) {
        debug_assert!(self.counts.is_unique());
        self.counts.make_stale();
    }

    /// What it is linked to.
    ///
    /// # Safety
    ///
    /// While the result is used the link does not change (H3).
    #[inline(always)]
    pub(super) unsafe fn next(&self) -> &Option<Part<R>> {
        // SAFETY: no one changes it (precondition).
        unsafe { &*self.next.get() }
    }

    /// What it is linked to, to be changed.
    ///
    /// # Safety
    ///
    /// The caller has the header's one reference borrowed exclusively as long as the result, or
    /// the header has none and is the caller's; and the header is stale, so that positions lead
    /// to no other.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller borrows a handle exclusively"
    )]
    pub(super) unsafe fn next_mut(&self) -> &mut Option<Part<R>> {
        // SAFETY: no one else has the link (precondition).
        unsafe { &mut *self.next.get() }
    }
}
