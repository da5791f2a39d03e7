//! One cell: a value and a word, addressed by a bare pointer.
//!
//! The word has the state in its lowest two bits, and above how often the cell was taken.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::SharedPool;
#[cfg(not(all(test, not(loom))))]
use crate::raw::atomic::AtomicU64;
use crate::raw::atomic::Ordering;
#[cfg(all(test, not(loom)))]
use crate::sync::counted::AtomicU64;

/// A cell begins at a line, so that values of different threads are on different lines. Cells of 24
/// bytes without that took a tenth longer between two threads.
#[repr(C, align(64))]
pub(super) struct Cell<T> {
    state: State,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Cell<T> {
    /// Writes the word of a cell without a value.
    ///
    /// # Safety
    ///
    /// `cell` is allocated, and the caller's.
    pub(super) unsafe fn write_empty(cell: NonNull<Self>) {
        // SAFETY: allocated, and the caller's (precondition). No reference to the value, which is
        // not initialised, is created.
        unsafe { (&raw mut (*cell.as_ptr()).state).write(State(AtomicU64::new(State::EMPTY))) };
    }
}

/// The state of a cell, with its transitions.
#[repr(transparent)]
pub(super) struct State(AtomicU64);

/// What was seen of a [`State`].
#[derive(Clone, Copy)]
pub(super) struct Seen(u64);

impl State {
    pub(super) const EMPTY: u64 = 0;
    pub(super) const IDLE: u64 = 1;
    const TAKEN: u64 = 2;
    /// The bits of the state.
    const KIND: u64 = 3;
    /// A taking. 2^62 of them take longer than any computer lasts.
    const ONE: u64 = 4;

    /// Takes the cell, if it is in this state: the caller owns it then (`taken-alone`).
    #[inline(always)]
    pub(super) fn take(&self, from: u64) -> bool {
        // Relaxed: checked by the exchange.
        let seen = self.0.load(Ordering::Relaxed);
        let taken = (seen & !Self::KIND) + Self::ONE + Self::TAKEN;
        // Acquire: pairs with the release in `give`. Release: a search that sees the cell taken
        // sees what this thread gave before (`takes-counted`). Relaxed where it fails: nothing was
        // learnt.
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        seen & Self::KIND == from
            && (self.0)
                .compare_exchange(seen, taken, order.0, order.1)
                .is_ok()
    }

    /// Notes that the cell is taken, for the caller, which took it from the map. Returns whether it
    /// has a value.
    pub(super) fn take_owned(&self) -> bool {
        // Relaxed, both: the map has acquired what the thread that gave the cell wrote; others read
        // the word for statistics only.
        let seen = self.0.load(Ordering::Relaxed);
        self.0
            .store((seen & !Self::KIND) + Self::TAKEN, Ordering::Relaxed);
        seen & Self::KIND == Self::IDLE
    }

    /// Gives the cell up, in this state.
    #[inline(always)]
    pub(super) fn give(&self, state: u64) {
        // Relaxed: no one else writes to it (`taken-alone`).
        let taken = self.0.load(Ordering::Relaxed);
        // Release: pairs with the acquire of the thread that takes the cell.
        self.0
            .store((taken & !Self::KIND) + state, Ordering::Release);
    }

    #[inline]
    pub(super) fn look(&self) -> Seen {
        // Acquire: pairs with the release in `take`: what that thread gave before is seen
        // (`takes-counted`).
        Seen(self.0.load(Ordering::Acquire))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.look().is_empty()
    }
}

impl Seen {
    pub(super) fn is_empty(self) -> bool {
        self.0 & State::KIND == State::EMPTY
    }

    pub(super) fn is_idle(self) -> bool {
        self.0 & State::KIND == State::IDLE
    }

    pub(super) fn is_taken(self) -> bool {
        self.0 & State::KIND == State::TAKEN
    }

    /// How often the cell was taken.
    pub(super) fn takes(self) -> u64 {
        self.0 / State::ONE
    }
}

/// A cell of a pool that is borrowed for `'a`.
///
/// # Invariants
///
/// * `place-allocated`: for `'a` the cell is allocated, with its word written (`cells-allocated`).
pub(super) struct Place<'a, T>(NonNull<Cell<T>>, PhantomData<&'a SharedPool<T>>);

impl<T> Clone for Place<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<'_, T> {}

impl<'a, T> Place<'a, T> {
    /// # Safety
    ///
    /// `place-allocated` holds.
    #[inline(always)]
    pub(super) unsafe fn new(cell: NonNull<Cell<T>>) -> Self {
        Place(cell, PhantomData)
    }

    #[inline(always)]
    pub(super) fn cell(self) -> NonNull<Cell<T>> {
        self.0
    }

    #[inline(always)]
    pub(super) fn state(self) -> &'a State {
        // SAFETY: allocated and written (`place-allocated`). The reference covers the word alone.
        unsafe { &(*self.0.as_ptr()).state }
    }

    /// The address of the value, whether or not there is one.
    #[inline(always)]
    pub(super) fn value(self) -> NonNull<T> {
        // SAFETY: allocated (`place-allocated`), and the address of a field is not null.
        unsafe { NonNull::new_unchecked((&raw mut (*self.0.as_ptr()).value).cast()) }
    }
}
