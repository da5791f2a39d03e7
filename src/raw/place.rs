//! A cell together with its home: what every handle, guard and box is made of,
//! and where the state machine's steps are taken. Those of the owners of a
//! cell, who may be its last, are in `owner.rs`.
//!
//! Each function is one event of the table in DESIGN.md. The comparison that
//! admits the usual case is in line; every other row of the event's column is
//! in a cold function beside it.
//!
//! # Invariants
//!
//! * P1: while a `Slot`, `VacantSlot`, `SlotBox`, `Ref` or `RefMut` of a place
//!   exists, its cell is not free, so cell and home are allocated (L1).
//! * P2: at most one `Slot`, `VacantSlot` or `SlotBox` of a place exists, and
//!   only while `O` is clear. (One that was forgotten, or given up as a raw
//!   pointer, leaves it clear for good.)
//! * P3: a cell that is pushed or counted down is not touched afterwards by
//!   whoever did it, except to write a pushed cell's state and to read a value
//!   out of it before any other code runs.

use core::ptr::NonNull;

use super::cell::CellPtr;
use super::home::{self, Home};
use super::stamp::State;
use crate::key::Key;

/// 16 bytes, `Copy`, with a niche; covariant in `T` and without a claim to it.
pub(crate) struct Place<T> {
    pub(super) cell: CellPtr<T>,
    pub(super) home: NonNull<Home>,
}

impl<T> Clone for Place<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

/// Every function asks of its caller that the place is *alive*: that a holder
/// as in P1, or the slab, keeps cell and home allocated when it is called.
/// Those that say *last use* may free them.
impl<T> Place<T> {
    #[inline(always)]
    pub(crate) fn new(cell: CellPtr<T>, home: NonNull<Home>) -> Self {
        Place { cell, home }
    }

    /// Where the cell starts.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.cell.start()
    }

    /// # Safety
    ///
    /// Alive.
    #[inline(always)]
    pub(crate) unsafe fn key(self) -> Key {
        // SAFETY: alive.
        unsafe { self.cell.key() }
    }

    /// # Safety
    ///
    /// Alive.
    #[inline(always)]
    pub(crate) unsafe fn state(self) -> State {
        // SAFETY: alive.
        unsafe { self.cell.state() }
    }

    /// # Safety
    ///
    /// Alive.
    #[inline(always)]
    pub(crate) unsafe fn value(self) -> NonNull<T> {
        // SAFETY: alive.
        unsafe { self.cell.value() }
    }

    /// # Safety
    ///
    /// Alive, and not used again but by who looks for a broken state.
    #[cfg(test)]
    pub(crate) unsafe fn set_state(self, state: State) {
        // SAFETY: alive.
        unsafe { self.cell.set_state(state) };
    }

    // Filling a cell.

    /// Puts a value into a popped or held cell: owned from now on.
    ///
    /// # Safety
    ///
    /// Alive, and the cell is the caller's alone: just popped, or held by its
    /// reservation.
    #[inline(always)]
    pub(crate) unsafe fn fill(self, value: T) {
        // SAFETY: alive; there is no value to overwrite, the cell being free
        // or held (V1), and nobody else looks at it (F2, P2).
        unsafe {
            self.cell.value().write(value);
            self.cell.set_state(State::OWNED);
        }
    }

    /// Reserves a popped cell.
    ///
    /// # Safety
    ///
    /// Alive, and just popped by the caller.
    #[inline(always)]
    pub(crate) unsafe fn hold(self) {
        // SAFETY: alive; popped, so free and the caller's alone (F2).
        unsafe { self.cell.set_state(State::HELD) };
    }

    /// [`fill`](Self::fill) for a reservation, whose slab may be gone.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the cell's reservation.
    #[inline(always)]
    pub(crate) unsafe fn fill_held(self, value: T) {
        // SAFETY: alive; a reservation's cell has no value (V1), and is held,
        // with or without its slab, until the reservation ends.
        unsafe {
            if self.cell.state() == State::HELD {
                self.fill(value);
            } else {
                debug_assert!(self.cell.state() == State::HELD_CLOSED);
                self.cell.value().write(value);
                self.cell.set_state(State::OWNED_CLOSED);
            }
        }
    }

    // Borrowing.

    /// A reader comes, by handle or by key; `false` if it is refused.
    ///
    /// # Safety
    ///
    /// Alive; on `true`, [`end_read`](Self::end_read) is called at most once.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn begin_read(self) -> bool {
        // SAFETY: alive.
        unsafe {
            let state = self.cell.state();
            let admitted = state.admits_reader();
            if admitted {
                self.cell.set_state(state.with_reader());
            }
            admitted
        }
    }

    /// A reader goes.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is a reader that [`begin_read`](Self::begin_read)
    /// admitted. Last use.
    #[inline(always)]
    pub(crate) unsafe fn end_read(self) {
        // SAFETY: alive; the caller is counted. `begin_read` admits only where
        // this comparison will hold again, so a borrow that ends where it
        // began costs nothing.
        unsafe {
            let state = self.cell.state().without_reader();
            self.cell.set_state(state);
            if !state.is_plain() {
                self.borrow_of_doomed_ended();
            }
        }
    }

    /// A writer comes by handle; `false` if it is refused.
    ///
    /// # Safety
    ///
    /// Alive, and the caller has the handle; on `true`,
    /// [`end_write`](Self::end_write) is called at most once.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn begin_write(self) -> bool {
        // SAFETY: alive.
        unsafe {
            let admitted = self.cell.state() == State::OWNED;
            if admitted {
                self.cell.set_state(State::EXCLUSIVE);
            }
            admitted
        }
    }

    /// A writer comes by key; `false` if it is refused.
    ///
    /// # Safety
    ///
    /// Alive; on `true`, [`end_write`](Self::end_write) is called at most once.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn begin_write_by_key(self) -> bool {
        // SAFETY: alive.
        unsafe {
            let state = self.cell.state();
            let admitted = state.admits_writer_by_key();
            if admitted {
                self.cell.set_state(state.with_exclusive());
            }
            admitted
        }
    }

    /// A writer goes.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the writer that was admitted. Last use.
    #[inline(always)]
    pub(crate) unsafe fn end_write(self) {
        // SAFETY: alive; the caller is the one exclusive borrow (S1).
        unsafe {
            let state = self.cell.state().without_exclusive();
            self.cell.set_state(state);
            if !state.is_plain() {
                self.borrow_of_doomed_ended();
            }
        }
    }

    /// The last borrow of a doomed value finishes the job.
    #[cold]
    #[inline(never)]
    unsafe fn borrow_of_doomed_ended(self) {
        // SAFETY: alive, as in the callers; with no borrow left the value is
        // nobody's (S2).
        unsafe {
            let state = self.cell.state();
            debug_assert!(state.is_doomed() && state.has_value());
            if !state.is_borrowed() {
                self.destroy(state.dying());
            }
        }
    }

    // Destroying.

    /// Drops the value in place. It is out of reach before its destructor runs
    /// and its cell is not free before that has returned or unwound.
    ///
    /// # Safety
    ///
    /// Alive; there is a value, not borrowed (but by the caller, who ends), and
    /// `dying` is its state's [`dying`](State::dying). Last use, unless the
    /// caller keeps the place alive by other means.
    #[inline(always)]
    pub(crate) unsafe fn destroy(self, dying: State) {
        struct Settle<T>(Place<T>);

        impl<T> Drop for Settle<T> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: `X` in a dying state keeps the cell from being freed
                // and the home from being released (L1), whatever the
                // destructor did; the state is read again, for the destructor
                // may have dropped the handle, or the slab.
                unsafe {
                    if self.0.cell.state() == State::DYING_UNHELD {
                        self.0.free();
                    } else {
                        self.0.settle();
                    }
                }
            }
        }

        // SAFETY: alive, and nobody borrows the value. From here on nobody can:
        // every question in `stamp.rs` is answered no by `V X`. The value is
        // dropped once, for by V1 it is gone with `V`. Without a destructor
        // nobody can look meanwhile, and the cell goes straight to its end.
        unsafe {
            if !core::mem::needs_drop::<T>() && dying == State::DYING_UNHELD {
                return self.free();
            }
            self.cell.set_state(dying);
            let settle = Settle(self);
            self.cell.value().drop_in_place();
            drop(settle);
        }
    }

    /// Ends a destructor's hold where a handle or a closed slab is concerned.
    #[cold]
    #[inline(never)]
    unsafe fn settle(self) {
        // SAFETY: alive, as in `destroy`.
        unsafe {
            self.vacated(self.cell.state().without_exclusive());
        }
    }

    /// The cell has lost its value and comes to `state`: the free stack, the
    /// countdown or its handle gets it.
    ///
    /// # Safety
    ///
    /// Alive; the value is gone, and `state` says so and whether a handle and
    /// the slab are left. Last use.
    pub(super) unsafe fn vacated(self, state: State) {
        debug_assert!(!state.has_value() && !state.is_borrowed());
        // SAFETY: alive, as in the callers. Without a handle the cell is
        // nobody's but the slab's, or, that gone, the countdown's (L2).
        unsafe {
            self.cell.set_state(state);
            match (state.is_unheld(), state.is_closed()) {
                (true, false) => self.free(),
                (true, true) => home::count_down(self.home),
                (false, false) => self.home.as_ref().count_stale(),
                (false, true) => {}
            }
        }
    }

    /// Puts the cell on the free stack.
    ///
    /// First the push, whose store of the stack's top the next insertion waits
    /// for, then the state (64 bytes, CHURN LIFO, ratio to the `slab` crate:
    /// 0.66, the other way round 0.94).
    ///
    /// # Safety
    ///
    /// Alive, the slab not closed; no value, no borrow, no handle but the
    /// caller's, who ends. Last use (P3).
    #[inline(always)]
    pub(super) unsafe fn free(self) {
        // SAFETY: as the caller says: not on the stack yet, for a cell on the
        // stack is in state `V O` and has no holder to call this (P1, F2).
        unsafe {
            home::push(self.home, self.cell.start());
            self.cell.set_state(State::FREE);
        }
    }

    // By key.

    /// [`vacate_by_handle`](Self::vacate_by_handle) by key: a handle the value
    /// has becomes stale and keeps the cell. `false` where there is no value,
    /// or it is borrowed.
    ///
    /// # Safety
    ///
    /// Alive through the slab.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn vacate_by_key(self) -> bool {
        // SAFETY: alive. Nobody borrows or holds a keyed value.
        unsafe {
            if self.cell.state() == State::KEYED {
                self.free();
                true
            } else {
                self.quarantine()
            }
        }
    }

    /// Takes an owned value from its handle, which keeps the cell: it can never
    /// come to point at another value.
    #[cold]
    #[inline(never)]
    unsafe fn quarantine(self) -> bool {
        // SAFETY: alive, as in the caller.
        unsafe {
            let owned = self.cell.state() == State::OWNED;
            if owned {
                self.cell.set_state(State::HELD);
                self.home.as_ref().count_stale();
            }
            owned
        }
    }

    /// A handle is made for a leaked value; `false` if there is none.
    ///
    /// # Safety
    ///
    /// Alive; on `true` the caller makes the one handle.
    #[must_use]
    pub(crate) unsafe fn regain_handle(self) -> bool {
        // SAFETY: alive; `O` says that there is no handle (P2).
        unsafe {
            let state = self.cell.state();
            let admitted = state.admits_handle();
            if admitted {
                self.cell.set_state(state.held());
            }
            admitted
        }
    }

    // The slab goes.

    /// The slab is being dropped while the value is borrowed.
    ///
    /// # Safety
    ///
    /// Alive; `state` is the present one, with a value and a borrow.
    pub(crate) unsafe fn doom(self, state: State) {
        // SAFETY: alive.
        unsafe { self.cell.set_state(state.doomed()) };
    }

    /// The slab is gone, and the cell is not free.
    ///
    /// # Safety
    ///
    /// Alive; `state` is the present one, and the cell is counted (L2).
    pub(crate) unsafe fn close(self, state: State) {
        // SAFETY: alive.
        unsafe { self.cell.set_state(state.closed()) };
    }
}
