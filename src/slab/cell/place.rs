//! A cell together with its header: what every handle, guard and box is made of,
//! and where the state machine's steps are taken. The steps that end an owner
//! of a cell are in `owner.rs`.
//!
//! Each function is one event of the table in DESIGN.md. The comparison that
//! admits the usual case is in line; every other row of the event's column is
//! in a cold function next to it.
//!
//! # Invariants
//!
//! * P1: while a `Slot`, `VacantSlot`, `SlotBox`, `Ref` or `RefMut` of a place
//!   exists, or what a guard was mapped to, its cell is not free, so cell and
//!   header are allocated (L1).
//! * P2: at most one `Slot`, `VacantSlot` or `SlotBox` of a place exists, and
//!   only while `O` is clear. (One that was forgotten, or given up as a raw
//!   pointer, leaves it clear for good.)
//! * P3: after a cell is pushed or counted down, the function that did it only
//!   writes a pushed cell's state, and reads a value out of it before any other
//!   code runs.
//! * P4: a [`Live`] that came by key is not used after user code has run, which
//!   may shrink the slab, unless its cell cannot be free.

use core::marker::PhantomData;
use core::mem::{MaybeUninit, transmute};
use core::ptr::NonNull;

use super::header::{self, SlabHeader};
use super::layout::CellPtr;
use super::state::{Stamp, State};
use crate::key::Key;

/// 16 bytes, `Copy`, with a niche; covariant in `T`, without ownership.
///
/// The header's address stands in it as an integer (which keeps the pointer's provenance, as any
/// bytes do in a `MaybeUninit`). Two pointers side by side are stored as one vector of 16 bytes by
/// the compiler, and loaded one by one; Zen 4 cannot pass such a store on by renaming, so a handle
/// that went through memory and back took 15 cycles more (CHURN LIFO of 64 bytes, 32 cycles in place
/// of 20). A pointer beside an integer is never put into one vector.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
pub struct Place<T> {
    cell: CellPtr<T>,
    header: MaybeUninit<usize>,
}

impl<T> Clone for Place<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> Place<T> {
    #[inline(always)]
    pub(crate) fn new(cell: CellPtr<T>, header: NonNull<SlabHeader>) -> Self {
        // SAFETY: a pointer has the size of a `usize`, and any bytes are a `MaybeUninit`.
        let header = unsafe { transmute::<NonNull<SlabHeader>, MaybeUninit<usize>>(header) };
        Place { cell, header }
    }

    #[inline(always)]
    fn header(self) -> NonNull<SlabHeader> {
        // SAFETY: the bytes of such a pointer, from `new`.
        unsafe { transmute::<MaybeUninit<usize>, NonNull<SlabHeader>>(self.header) }
    }

    /// Cell and header, for a holder that forgets `T`; [`new`](Self::new) puts
    /// them together again.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> (NonNull<u8>, NonNull<SlabHeader>) {
        (self.cell.start(), self.header())
    }

    /// The place, known to be allocated for `'a`.
    ///
    /// # Safety
    ///
    /// Something keeps cell and header allocated, and the cell is stamped: a
    /// holder as in P1, or the slab under the condition of P4.
    #[inline(always)]
    pub(crate) unsafe fn live<'a>(self) -> Live<'a, T> {
        Live {
            place: self,
            alive: PhantomData,
        }
    }
}

/// A place whose cell and header are allocated for `'a`.
///
/// The one layer over the stamp's two halves and the value.
pub(crate) struct Live<'a, T> {
    place: Place<T>,
    alive: PhantomData<&'a ()>,
}

impl<T> Clone for Live<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Live<'_, T> {}

impl<'a, T> Live<'a, T> {
    #[inline(always)]
    pub(crate) fn place(self) -> Place<T> {
        self.place
    }

    #[inline(always)]
    pub(super) fn header(self) -> &'a SlabHeader {
        // SAFETY: a `Live` is a cell that is allocated for `'a`, and its header with it (L1).
        unsafe { self.place.header().as_ref() }
    }

    #[inline(always)]
    fn stamp(self) -> &'a Stamp {
        // SAFETY: allocated and stamped; by V2 the borrow meets no other.
        unsafe { self.place.cell.stamp().as_ref() }
    }

    /// The key in the stamp, which is not to be read where the value is
    /// [sent](State::is_sent) (X4): what comes by key or walks has the key from elsewhere.
    #[inline(always)]
    pub(crate) fn key(self) -> Key {
        self.stamp().key()
    }

    #[inline(always)]
    pub(crate) fn state(self) -> State {
        self.stamp().state.get()
    }

    /// The step from the present state to this one is in the table.
    #[inline(always)]
    pub(super) fn set_state(self, state: State) {
        self.stamp().state.set(state);
    }

    /// The address of the value, whether or not there is one.
    #[inline(always)]
    pub(crate) fn value(self) -> NonNull<T> {
        // SAFETY: a `Live` is a cell that is allocated.
        unsafe { self.place.cell.value() }
    }

    /// Goes from one state to another; `false` where the state is different.
    #[inline(always)]
    pub(super) fn exchange(self, from: State, to: State) -> bool {
        let found = self.state() == from;
        if found {
            self.set_state(to);
        }
        found
    }

    /// Takes a step, unless it is refused.
    #[inline(always)]
    fn step(self, step: impl FnOnce(State) -> Option<State>) -> bool {
        match step(self.state()) {
            Some(state) => {
                self.set_state(state);
                true
            }
            None => false,
        }
    }

    // Filling a cell.

    /// Puts a value into a cell just popped: owned from now on.
    ///
    /// # Safety
    ///
    /// The caller has popped the cell, and makes its one handle.
    #[inline(always)]
    pub(crate) unsafe fn fill(self, value: T) {
        // SAFETY: free, so without a value (V1), and the caller's alone (F2).
        unsafe { self.value().write(value) };
        self.set_state(State::OWNED);
    }

    /// Reserves a cell just popped.
    ///
    /// # Safety
    ///
    /// The caller has popped the cell, and makes its reservation.
    #[inline(always)]
    pub(crate) unsafe fn hold(self) {
        self.set_state(State::HELD);
    }

    // Borrowing.

    /// A reader comes, by handle or by key; `false` if it is refused. Its end
    /// is [`end_read`](Place::end_read).
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin_read(self) -> bool {
        self.step(State::read)
    }

    /// A reader comes by a guard that reads already; `false` with too many. Its
    /// end is [`end_read`](Place::end_read).
    #[must_use]
    pub(crate) fn begin_read_along(self) -> bool {
        self.stamp().begin_read_along()
    }

    /// A writer comes, by handle or by key; `false` if it is refused. Its end
    /// is [`end_write`](Place::end_write).
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin_write(self) -> bool {
        self.step(State::write)
    }

    /// A handle becomes a box; `false` if it is refused.
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin_box(self) -> bool {
        self.exchange(State::OWNED, State::EXCLUSIVE)
    }

    /// A handle becomes one for another thread; `false` if it is refused.
    #[inline(always)]
    #[must_use]
    pub(super) fn begin_sent(self) -> bool {
        self.exchange(State::OWNED, State::SENT)
    }

    /// A handle is made for a leaked value; `false` if there is none.
    #[must_use]
    pub(crate) fn regain_handle(self) -> bool {
        self.step(State::regain)
    }

    /// Replaces an owned, unborrowed value.
    ///
    /// # Errors
    ///
    /// Returns `value` where there is no such one.
    #[inline(always)]
    pub(crate) fn replace(self, value: T) -> Result<T, T> {
        if self.state() == State::OWNED {
            // SAFETY: there is a value (V1), and it is not borrowed.
            Ok(unsafe { self.value().replace(value) })
        } else {
            Err(value)
        }
    }

    // Removing by key.

    /// Frees the cell of an unborrowed value. A handle that the value has
    /// becomes stale and keeps the cell. On `true` the caller
    /// [reads](Place::read) the value out at once; on `false`, where there is
    /// no value or it is borrowed, nothing has changed.
    #[inline(always)]
    #[must_use]
    pub(crate) fn vacate_by_key(self) -> bool {
        if self.state() == State::UNHELD {
            // SAFETY: no handle and no borrow, and the slab is not closed.
            unsafe { self.free() };
            true
        } else {
            self.quarantine()
        }
    }

    /// Takes an owned value from its handle, which keeps the cell: the handle
    /// can never come to point at another value.
    #[cold]
    #[inline(never)]
    fn quarantine(self) -> bool {
        let owned = self.exchange(State::OWNED, State::HELD);
        if owned {
            self.header().count_stale();
        }
        owned
    }

    /// Drops the value in place, unless it is borrowed or there is none. User
    /// code runs.
    pub(super) fn try_destroy(self) -> bool {
        let state = self.state();
        let free = state.has_value() && !state.is_borrowed();
        if free {
            // SAFETY: there is a value, and it is not borrowed.
            unsafe { self.destroy(state.dying()) };
        }
        free
    }

    /// Drops the value in place. It is out of reach before its destructor runs
    /// and its cell is not free before that has returned or unwound.
    ///
    /// # Safety
    ///
    /// There is a value, not borrowed except by the caller, who ends, and
    /// `dying` is its state's [`dying`](State::dying). May free cell and header:
    /// the caller does not use them afterwards, unless something else keeps
    /// them allocated.
    #[inline(always)]
    pub(super) unsafe fn destroy(self, dying: State) {
        struct Settle<'a, T>(Live<'a, T>);

        impl<T> Drop for Settle<'_, T> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: `X` in a dying state keeps the cell from being freed
                // and the header from being released (L1), whatever the
                // destructor did. The state is read again: the destructor may
                // have dropped the handle, or the slab.
                unsafe {
                    if self.0.state() == State::DYING_UNHELD {
                        self.0.free();
                    } else {
                        self.0.settle_the_dead();
                    }
                }
            }
        }

        // SAFETY: the value is not borrowed, and from here on cannot be: `V X`
        // answers every question in `state.rs` with no. It is dropped once, for
        // by V1 it is gone with `V`. Without a destructor no other code runs,
        // and the cell goes straight to its end.
        unsafe {
            if !core::mem::needs_drop::<T>() && dying == State::DYING_UNHELD {
                return self.free();
            }
            self.set_state(dying);
            let settle = Settle(self);
            self.value().drop_in_place();
            drop(settle);
        }
    }

    /// The end of a destructor where a handle or a closed slab is concerned.
    #[cold]
    #[inline(never)]
    unsafe fn settle_the_dead(self) {
        // SAFETY: the destructor that `destroy` ran has returned or unwound, so the value is
        // gone, and nothing uses the cell after it settles (P3).
        unsafe { self.settle(self.state().without_exclusive()) };
    }

    /// The cell has lost its value and comes to `state`: the free stack, the
    /// countdown or its handle gets it.
    ///
    /// # Safety
    ///
    /// The value is gone; `state` says so, and whether a handle and the slab
    /// are left. May free cell and header.
    pub(super) unsafe fn settle(self, state: State) {
        debug_assert!(!state.has_value() && !state.is_borrowed());
        self.set_state(state);
        match (state.is_unheld(), state.is_closed()) {
            // SAFETY: without a handle the cell is only the slab's.
            (true, false) => unsafe { self.free() },
            // SAFETY: closed, so the cell was counted (L2).
            (true, true) => unsafe { header::count_down(self.place.header()) },
            (false, false) => self.header().count_stale(),
            (false, true) => {}
        }
    }

    /// Puts the cell on the free stack.
    ///
    /// First the push, for the next insertion waits for its store of the
    /// stack's top, then the state (64 bytes, CHURN LIFO, ratio to the `slab`
    /// crate: 0.66, the other way round 0.94).
    ///
    /// # Safety
    ///
    /// The slab is not closed; no value, no borrow, no handle except the
    /// caller's, who ends (P3).
    #[inline(always)]
    pub(super) unsafe fn free(self) {
        // SAFETY: not on the stack yet, for a cell on the stack is in state
        // `V O` and has no holder that could call this (P1, F2).
        unsafe { self.header().stack.push(self.place.cell.start()) };
        self.set_state(State::FREE);
    }

    // The slab goes.

    /// The slab is dropped while the value is borrowed.
    pub(super) fn doom(self) {
        self.set_state(self.state().doomed());
    }

    /// The slab is gone, and the cell is not free: it is counted (L2).
    pub(super) fn close(self) {
        self.set_state(self.state().closed());
    }
}

impl<T> Live<'_, T> {
    #[inline(always)]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.place.cell.start()
    }
}

/// Views for tests, and ways to break invariants.
#[cfg(test)]
impl<T> Live<'_, T> {
    #[cfg(test)]
    pub(crate) fn force_state(self, state: State) {
        self.set_state(state);
    }
}
