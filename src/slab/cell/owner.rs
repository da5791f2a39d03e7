//! The steps that end a holder of a cell: a `Slot`, a reservation, a `SlotBox`,
//! a guard. Each of them may be the last holder of a dropped slab, and then frees
//! its memory.
//!
//! Every function here has this contract: the caller is the holder that its
//! name says, which exists (P1) and ends with the call. Where a function
//! returns `bool` or `Option`, it ends only on `true` or `Some`.

use super::place::{Live, Place};
use super::state::State;

impl<T> Place<T> {
    // A guard.

    /// # Safety
    ///
    /// The module's: the caller is a reader that was admitted.
    #[inline(always)]
    pub(crate) unsafe fn end_read(self) {
        // SAFETY: the caller keeps the place until here. `begin_read` admits
        // only where this comparison will hold again, so a borrow that ends
        // where it began costs nothing.
        unsafe {
            let live = self.live();
            let state = live.state().without_reader();
            live.set_state(state);
            if !state.is_plain() {
                live.end_borrow_of_doomed();
            }
        }
    }

    /// # Safety
    ///
    /// The module's: the caller is the writer that was admitted.
    #[inline(always)]
    pub(crate) unsafe fn end_write(self) {
        // SAFETY: the caller keeps the place until here, and is the one
        // exclusive borrow (S1).
        unsafe {
            let live = self.live();
            let state = live.state().without_exclusive();
            live.set_state(state);
            if !state.is_plain() {
                live.end_borrow_of_doomed();
            }
        }
    }

    /// Drops the value that a writer by key holds.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the writer that was admitted.
    pub(crate) unsafe fn destroy_by_writer(self) {
        // SAFETY: the caller keeps the place until here, and is the one borrow
        // of the value. User code has run since it was admitted, so the state
        // is read again.
        unsafe {
            let live: Live<'_, T> = self.live();
            live.destroy(live.state().dying());
        }
    }

    // A `Slot`.

    /// Drops the value, or leaves that to its last borrow.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the slot.
    #[inline(always)]
    pub(crate) unsafe fn drop_handle(self) {
        // SAFETY: the caller keeps the place until here; an owned value is not
        // borrowed.
        unsafe {
            let live = self.live();
            if live.state() == State::OWNED {
                live.destroy(State::DYING_UNHELD);
            } else {
                live.drop_uncommon_handle();
            }
        }
    }

    /// Leaks the value: its key owns it from now on. A slot without a value
    /// just goes, and so does the value of a slot whose slab is gone.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the slot.
    #[inline(always)]
    pub(crate) unsafe fn leak_handle(self) {
        // SAFETY: the caller keeps the place until here.
        unsafe {
            let live = self.live();
            if !live.exchange(State::OWNED, State::UNHELD) {
                live.leak_uncommon_handle();
            }
        }
    }

    /// Frees the cell of an unborrowed value on behalf of the slot (`held` is
    /// [`OWNED`](State::OWNED)) or the box ([`EXCLUSIVE`](State::EXCLUSIVE)).
    /// On `true` the caller [reads](Self::read) the value out at once.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the holder that `held` says.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn vacate(self, held: State) -> bool {
        // SAFETY: the caller keeps the place until here; in that state no one
        // else borrows the value.
        unsafe {
            let live = self.live();
            let usual = live.state() == held;
            if usual {
                live.free();
            }
            usual
        }
    }

    /// Copies out the value of a cell that was vacated a moment ago.
    ///
    /// After the push, not before it: as a function's last expression the
    /// value is copied once, straight to its destination.
    ///
    /// # Safety
    ///
    /// The caller vacated the cell, no other code has run since, and this is
    /// called once.
    #[inline(always)]
    pub(crate) unsafe fn read(self) -> T {
        // SAFETY: the memory is still there, and the value is the caller's (P3).
        unsafe { self.live().value().read() }
    }

    /// Moves out a value that was put into a reservation after the slab was
    /// gone; `None` for any other.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the slot.
    pub(crate) unsafe fn take_from_closed(self) -> Option<T> {
        // SAFETY: the caller keeps the place until here. The value is read
        // first: settling may release the cell.
        unsafe {
            let live = self.live();
            if live.state() != State::OWNED_CLOSED {
                return None;
            }
            let value = self.read();
            live.settle(live.state().unheld().vacated());
            Some(value)
        }
    }

    /// Moves the value out and leaves the cell to a reservation, which the
    /// caller becomes; `None` if it is not the slot's to give.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the slot.
    #[inline(always)]
    pub(crate) unsafe fn take_and_hold(self) -> Option<T> {
        // SAFETY: the caller keeps the place; an owned value is not borrowed,
        // and moved out once.
        unsafe {
            let live: Live<'_, T> = self.live();
            if live.state() != State::OWNED {
                return None;
            }
            let value = live.value().read();
            live.set_state(State::HELD);
            Some(value)
        }
    }

    // A reservation.

    /// Puts a value into the cell; the caller becomes the slot. The slab may be
    /// gone.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the reservation.
    #[inline(always)]
    pub(crate) unsafe fn fill_held(self, value: T) {
        // SAFETY: the caller keeps the place; a reservation's cell has no value
        // (V1).
        unsafe {
            let live: Live<'_, T> = self.live();
            live.value().write(value);
            live.set_state(live.state().owned());
        }
    }

    /// Gives an unfilled cell back.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the reservation.
    #[inline(always)]
    pub(crate) unsafe fn drop_reservation(self) {
        // SAFETY: the caller keeps the place until here, and is its one holder.
        unsafe {
            let live: Live<'_, T> = self.live();
            live.settle(live.state().unheld());
        }
    }

    // A `SlotBox`.

    /// Drops the value.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the box.
    #[inline(always)]
    pub(crate) unsafe fn drop_box(self) {
        // SAFETY: the caller keeps the place until here, and is the one
        // exclusive borrow.
        unsafe {
            let live = self.live();
            if live.state() == State::EXCLUSIVE {
                live.destroy(State::DYING_UNHELD);
            } else {
                self.drop_marked_box();
            }
        }
    }

    /// The end of its slab has marked the value, which changes nothing for its
    /// owner.
    #[cold]
    #[inline(never)]
    unsafe fn drop_marked_box(self) {
        // SAFETY: as in `drop_box`; the box becomes the slot, which ends.
        unsafe {
            self.unbox();
            self.drop_handle();
        }
    }

    /// The caller becomes a slot again.
    ///
    /// # Safety
    ///
    /// The module's: the caller is the box.
    #[inline(always)]
    pub(crate) unsafe fn unbox(self) {
        // SAFETY: the caller keeps the place, and is the one exclusive borrow.
        unsafe {
            let live: Live<'_, T> = self.live();
            live.set_state(live.state().owned());
        }
    }
}

/// The rows of the table that are not the usual one, under the same contract.
impl<T> Live<'_, T> {
    /// The last borrow of a doomed value drops it.
    #[cold]
    #[inline(never)]
    unsafe fn end_borrow_of_doomed(self) {
        debug_assert!(self.state().is_doomed() && self.state().has_value());
        self.try_destroy();
    }

    #[cold]
    #[inline(never)]
    unsafe fn drop_uncommon_handle(self) {
        let state = self.state();
        // SAFETY: as in the callers; each arm takes one row's step.
        unsafe {
            if state == State::OWNED_CLOSED {
                self.destroy(state.unheld().dying());
            } else if state.has_value() {
                // Borrowed, by key or by a guard that was forgotten.
                self.set_state(state.unheld().doomed());
            } else if state.is_dying() {
                // The destructor's end will find no handle.
                self.set_state(state.unheld());
            } else {
                if !state.is_closed() {
                    self.header().uncount_stale();
                }
                self.settle(state.unheld());
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn leak_uncommon_handle(self) {
        let state = self.state();
        if state.has_value() && state.is_borrowed() {
            self.set_state(state.unheld());
        } else {
            // SAFETY: the holder exists, and ends with this call (contract of this file).
            unsafe { self.drop_uncommon_handle() };
        }
    }
}
