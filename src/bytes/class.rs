//! A size class: what it counts, and its free buffers.
//!
//! A class knows neither headers nor chunks: what it links are pointers, which its home makes
//! and reads.
//!
//! The free buffers that came back last are in the class's *hand*, an array of a few pointers;
//! an allocation takes the last of them, and touches no header. The others are *banked*: a bit
//! each, beside the number of free buffers of their chunk, so that a chunk of which no buffer is
//! in use is known as such. Sixteen at a time go from the hand to the bank when the hand is
//! full, and back when it is empty. One array of all free buffers, as it was before, told
//! nothing of a chunk without a walk over all of them, so an arena at its limit refused requests
//! while most of its memory was free.
//!
//! # Invariants
//!
//! * C1: each header of the class's chunks that was made is free, and then either in the hand,
//!   from `bottom` up to `top`, once, or banked; or not free, and then neither. `made` is their number, and `banked` that of the banked ones.
//! * C2: the hand is an array of places up to `limit`: `entries`, a wide one of 1,280 places in a
//!   block of the class's own, or, in a home whose chunks are fixed, one that the home has. `top`
//!   comes to `limit` by a push that returns `true`, and is below it before the next. A null stands
//!   below `bottom`.
//! * C3: each chunk of the class is on that one of `lists` which its [state](State) says. `idle_bytes` is the sum of the bytes of the idle ones.
//! * C4: what other threads gave back is on `returns`, and, once the arena's thread took it,
//!   linked from `arrived` on; it counts as in use until it is free.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;

/// What can be had of a chunk; those of a class in one state are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Some buffers are in use, and some are banked; all were made.
    Partial,
    /// No buffer is in use, nor in the hand.
    Idle,
    /// Some buffers are in use, and others are to be made.
    Fresh,
    /// All buffers are in use, or in the hand.
    Full,
}

impl State {
    /// All of them, in the order in which an allocation looks for a chunk: what was made before
    /// what is to be made, which may not be touched yet.
    pub(super) const ALL: [State; 4] = [State::Partial, State::Idle, State::Fresh, State::Full];
}

/// A place of the hand.
type Entry = Option<NonNull<u8>>;

/// Places of the hand with the null below. They fill the class up to a power of two. With 31 of
/// them buffers that come and go by fifties took twice as long.
const PLACES: usize = 768 / size_of::<Entry>();

/// Places of a wide hand, of 10 KiB: a thousand buffers and some. Filling an arena with 1,024
/// buffers and emptying it at random took 10.8 ns a buffer with a narrow hand, and 5.0 with one
/// that had a place too few.
const WIDE_PLACES: usize = 1280;

/// The buffers of one size. Its size is a power of two, so that an index is shifted, not
/// multiplied.
#[repr(C)]
pub(super) struct Class {
    /// The place after the last entry of the hand. First, so that a pointer to the class is one
    /// to it.
    top: Cell<NonNull<Entry>>,
    /// The place after the last one, or, once the hand is closed, after the first.
    limit: Cell<NonNull<Entry>>,
    /// The place of the first entry.
    bottom: Cell<NonNull<Entry>>,
    allocs: Cell<u64>,
    size: u32,
    closed: Cell<bool>,
    home: NonNull<u8>,
    made: Cell<usize>,
    banked: Cell<usize>,
    buffers: Cell<usize>,
    chunks: Cell<usize>,
    lists: [Cell<Option<NonNull<u8>>>; State::ALL.len()],
    idle_bytes: Cell<usize>,
    pub(super) arrived: Cell<Word>,
    /// On lines of its own.
    pub(super) returns: Returns,
    entries: [Cell<Entry>; PLACES],
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Class>().is_power_of_two());

impl Class {
    /// Writes a class without chunks.
    ///
    /// # Safety
    ///
    /// `place` is valid for writes, and aligned. The class is not moved.
    pub(super) unsafe fn write(place: NonNull<Self>, size: u32, home: NonNull<u8>) {
        // SAFETY: the fields are within the class (precondition); the entry after the null and
        // the end of the array are within it, too.
        unsafe {
            let below = (&raw mut (*place.as_ptr()).entries).cast::<Entry>();
            let first = NonNull::new_unchecked(below.add(1));
            place.write(Class {
                top: Cell::new(first),
                bottom: Cell::new(first),
                limit: Cell::new(NonNull::new_unchecked(below.add(PLACES))),
                allocs: Cell::new(0),
                size,
                closed: Cell::new(false),
                home,
                made: Cell::new(0),
                banked: Cell::new(0),
                buffers: Cell::new(0),
                chunks: Cell::new(0),
                lists: [const { Cell::new(None) }; State::ALL.len()],
                idle_bytes: Cell::new(0),
                arrived: Cell::new(Word::EMPTY),
                returns: Returns::new(Packing::NONE),
                entries: [const { Cell::new(None) }; PLACES],
            });
        }
    }

    /// Bytes of a buffer.
    #[inline(always)]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// The home, which knows its type.
    #[inline(always)]
    pub(super) fn home(&self) -> NonNull<u8> {
        self.home
    }

    /// Takes the header of the hand that was pushed last.
    #[inline(always)]
    pub(super) fn pop(&self) -> Option<NonNull<u8>> {
        // SAFETY: an entry, or the null below them (C2).
        let (place, header) = unsafe {
            let place = self.top.get().sub(1);
            (place, place.read()?)
        };
        self.top.set(place);
        self.allocs.set(self.allocs.get().wrapping_add(1));
        Some(header)
    }

    /// Pushes a free header on the hand. Returns whether the caller is to
    /// [take some off](Self::drop_lowest) before anything else is pushed, or the
    /// [hand is closed](Self::close_hand) and to be [emptied](Self::discard).
    ///
    /// # Safety
    ///
    /// It is the class's, made, free, and not in the hand.
    #[inline(always)]
    pub(super) unsafe fn push(&self, header: NonNull<u8>) -> bool {
        let place = self.top.get();
        // SAFETY: there is room, for after each push that used the last place some were taken
        // off (C2).
        let top = unsafe {
            place.write(Some(header));
            place.add(1)
        };
        self.top.set(top);
        top == self.limit.get()
    }

    /// Pushes free headers on the hand, the last of which is popped first. The top stays in a
    /// register: through memory each push would wait for the one before.
    ///
    /// # Safety
    ///
    /// Each is as for [`push`](Self::push), and they leave a place of the hand.
    #[inline]
    pub(super) unsafe fn push_all(&self, headers: impl Iterator<Item = NonNull<u8>>) {
        let mut top = self.top.get();
        for header in headers {
            // SAFETY: there is room for all of them (precondition).
            unsafe {
                top.write(Some(header));
                top = top.add(1);
            }
        }
        self.top.set(top);
        debug_assert!(top < self.limit.get());
    }

    /// The layout of a wide hand.
    pub(super) const WIDE_HAND: Layout = Layout::new::<[Entry; WIDE_PLACES]>();

    /// Whether the hand is not the array of the class itself.
    fn is_widened(&self) -> bool {
        // SAFETY: the second place of the array.
        let first = unsafe { (&raw const self.entries).cast::<Entry>().add(1) };
        self.bottom.get().as_ptr().cast_const() != first
    }

    /// Whether the hand is narrow, and has no room for so many buffers.
    pub(super) fn wants_wide_hand(&self, buffers: usize) -> bool {
        buffers >= PLACES && !self.is_widened()
    }

    /// The start of the wide hand, if there is one, for its end; not in a home whose chunks are
    /// fixed.
    pub(super) fn wide_hand(&self) -> Option<NonNull<u8>> {
        // SAFETY: the null stands below the first entry, in the same block (C2).
        (self.is_widened()).then(|| unsafe { self.bottom.get().sub(1).cast() })
    }

    /// The bytes of a hand from which nothing is banked, with room for all buffers.
    pub(super) fn hand_of_all(&self) -> Option<Layout> {
        // The null below, and a place that no push comes to.
        Layout::array::<Entry>(self.buffers.get().checked_add(2)?).ok()
    }

    /// Moves to a hand in that memory. The one before is the caller's.
    ///
    /// # Safety
    ///
    /// It is of that layout, which has at least two places and more than there are entries, and stays
    /// as long as the class.
    pub(super) unsafe fn widen(&self, hand: NonNull<u8>, layout: Layout) {
        let (below, depth) = (hand.cast::<Entry>(), self.depth());
        let places = layout.size() / size_of::<Entry>();
        debug_assert!(depth + 1 < places);
        // SAFETY: there is room for the null, and for the entries after it (precondition); the two
        // hands are distinct.
        unsafe {
            below.write(None);
            let bottom = below.add(1);
            bottom.copy_from_nonoverlapping(self.bottom.get(), depth);
            self.bottom.set(bottom);
            self.top.set(bottom.add(depth));
            self.limit.set(below.add(places));
        }
    }

    /// The headers of the hand that were pushed first, `most` at most.
    pub(super) fn lowest(&self, most: usize) -> impl Iterator<Item = NonNull<u8>> + use<> {
        let (bottom, count) = (self.bottom.get(), most.min(self.depth()));
        // SAFETY: below the top, so entries (C2).
        (0..count).filter_map(move |index| unsafe { bottom.add(index).read() })
    }

    /// Takes those off the hand that were pushed first, `most` at most, which the caller has
    /// banked.
    pub(super) fn drop_lowest(&self, most: usize) {
        let (bottom, depth) = (self.bottom.get(), self.depth());
        let count = most.min(depth);
        // SAFETY: the entries lie within the hand (C2).
        unsafe {
            bottom.copy_from(bottom.add(count), depth - count);
            self.top.set(bottom.add(depth - count));
        }
    }

    /// Whether the arena was dropped.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// The arena is dropped.
    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    /// Forgets what is in the hand, for good: from now on each push says so.
    pub(super) fn close_hand(&self) {
        self.discard();
        // SAFETY: the place after the first entry.
        self.limit.set(unsafe { self.top.get().add(1) });
    }

    /// Forgets what is in the hand.
    pub(super) fn discard(&self) {
        self.top.set(self.bottom.get());
    }

    pub(super) fn allocs(&self) -> u64 {
        self.allocs.get()
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks.get()
    }

    /// Buffers of its chunks.
    pub(super) fn buffers(&self) -> usize {
        self.buffers.get()
    }

    /// Buffers that are in use.
    pub(super) fn in_use(&self) -> usize {
        self.made.get() - self.free()
    }

    /// Headers that are free.
    pub(super) fn free(&self) -> usize {
        self.depth() + self.banked.get()
    }

    /// Headers that are in the hand.
    pub(super) fn depth(&self) -> usize {
        // SAFETY: both point into the hand, the top not below the first entry (C2).
        unsafe { self.top.get().offset_from(self.bottom.get()) as usize }
    }

    pub(super) fn count_made(&self, more: usize) {
        self.made.set(self.made.get() + more);
    }

    pub(super) fn count_banked(&self, more: usize) {
        self.banked.set(self.banked.get() + more);
    }

    pub(super) fn count_unbanked(&self, fewer: usize) {
        self.banked.set(self.banked.get() - fewer);
    }

    /// The first chunk in that state.
    pub(super) fn list(&self, state: State) -> &Cell<Option<NonNull<u8>>> {
        &self.lists[state as usize]
    }

    /// Bytes of its idle chunks.
    pub(super) fn idle_bytes(&self) -> &Cell<usize> {
        &self.idle_bytes
    }

    /// Counts a chunk in.
    pub(super) fn add(&self, buffers: u32) {
        self.chunks.set(self.chunks.get() + 1);
        self.buffers.set(self.buffers.get() + buffers as usize);
    }

    /// Counts a chunk out, of whose buffers `made` were made, all of which are banked.
    pub(super) fn subtract(&self, buffers: u32, made: u32) {
        self.chunks.set(self.chunks.get() - 1);
        self.buffers.set(self.buffers.get() - buffers as usize);
        self.made.set(self.made.get() - made as usize);
        self.count_unbanked(made as usize);
    }

    /// Panics where C1 or C2 does not hold.
    #[cfg(any(test, fuzzing))]
    pub(super) fn check(&self, mut is_free: impl FnMut(NonNull<u8>)) {
        let mut seen = alloc::collections::BTreeSet::new();
        // SAFETY: the place below the hand (C2).
        let below = unsafe { self.bottom.get().sub(1).read() };
        assert!(below.is_none(), "C2: the null");
        assert!(self.top.get() < self.limit.get(), "C2: the limit");
        for header in self.lowest(usize::MAX) {
            is_free(header);
            assert!(seen.insert(header), "C1: once");
        }
        assert!(self.free() <= self.made.get() && self.made.get() <= self.buffers());
    }
}
