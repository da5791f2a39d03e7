//! The steps of those who own a cell: a `Slot`, a reservation, a `SlotBox`. At
//! most one of them exists at a time (P2), and any of them may be the last that
//! keeps the memory of a slab that is gone.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::home;
use super::place::Place;
use super::stamp::State;

impl<T> Place<T> {
    // A `Slot` goes.

    /// A handle is dropped: its value with it, or with its last borrow.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the handle. Last use.
    #[inline(always)]
    pub(crate) unsafe fn drop_handle(self) {
        // SAFETY: alive; an owned value nobody borrows goes now.
        unsafe {
            if self.cell.state() == State::OWNED {
                self.destroy(State::DYING_UNHELD);
            } else {
                self.drop_uncommon_handle();
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn drop_uncommon_handle(self) {
        // SAFETY: alive, as in the callers; each arm takes one row's step.
        unsafe {
            let state = self.cell.state();
            if state == State::OWNED_CLOSED {
                self.destroy(state.unheld().dying());
            } else if state.has_value() {
                // Borrowed, by key or by a guard that was forgotten.
                self.cell.set_state(state.unheld().doomed());
            } else if state.is_dying() {
                // The destructor's end will find that nobody comes any more.
                self.cell.set_state(state.unheld());
            } else {
                if !state.is_closed() {
                    self.home.as_ref().uncount_stale();
                }
                self.vacated(state.unheld());
            }
        }
    }

    /// A handle leaks its value: the key owns it from now on. A handle without
    /// a value just goes.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the handle. Last use.
    #[inline(always)]
    pub(crate) unsafe fn leak_handle(self) {
        // SAFETY: alive.
        unsafe {
            if self.cell.state() == State::OWNED {
                self.cell.set_state(State::KEYED);
            } else {
                self.leak_uncommon_handle();
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn leak_uncommon_handle(self) {
        // SAFETY: alive, as in the caller.
        unsafe {
            let state = self.cell.state();
            if state.has_value() && state.is_borrowed() {
                self.cell.set_state(state.unheld());
            } else {
                self.drop_uncommon_handle();
            }
        }
    }

    /// Frees the cell of an owned value on behalf of its handle. On `true` the
    /// caller [reads](Self::read) the value out at once; on `false` nothing
    /// has changed.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the handle; on `true` it ends.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn vacate_by_handle(self) -> bool {
        // SAFETY: alive; nobody borrows an owned value.
        unsafe {
            let owned = self.cell.state() == State::OWNED;
            if owned {
                self.free();
            }
            owned
        }
    }

    /// Copies out the value of a cell that was vacated a moment ago.
    ///
    /// Behind the push, not before it: as a function's last expression the
    /// value is copied once, straight to where the caller wants it.
    ///
    /// # Safety
    ///
    /// Alive; the caller vacated the cell, no other code has run since, and
    /// this is called once.
    #[inline(always)]
    pub(crate) unsafe fn read(self) -> T {
        // SAFETY: the value is still there, and nobody's (P3).
        unsafe { self.cell.value().read() }
    }

    /// Moves out a value that was put into a reservation after the slab was
    /// gone; `None` for any other.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the handle; on `Some` it ends. Last use then.
    pub(crate) unsafe fn take_from_closed(self) -> Option<T> {
        // SAFETY: alive. The value is read first: the countdown may release
        // the cell.
        unsafe {
            let state = self.cell.state();
            if state != State::OWNED_CLOSED {
                return None;
            }
            let value = self.read();
            self.vacated(state.unheld().vacated());
            Some(value)
        }
    }

    /// Moves the value out and leaves the cell to a reservation; `None` if it
    /// is not the handle's to give.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the handle; on `Some` it becomes the
    /// reservation.
    #[inline(always)]
    pub(crate) unsafe fn take_and_hold(self) -> Option<T> {
        // SAFETY: alive; nobody borrows an owned value, and it is moved out once.
        unsafe {
            if self.cell.state() != State::OWNED {
                return None;
            }
            let value = self.cell.value().read();
            self.cell.set_state(State::HELD);
            Some(value)
        }
    }

    /// Puts `value` in the place of an owned, unborrowed one.
    ///
    /// # Errors
    ///
    /// Gives `value` back where there is no such one.
    ///
    /// # Safety
    ///
    /// Alive, and the caller has the handle.
    #[inline(always)]
    pub(crate) unsafe fn replace(self, value: T) -> Result<T, T> {
        // SAFETY: alive; nobody borrows an owned value.
        unsafe {
            if self.cell.state() == State::OWNED {
                Ok(self.cell.value().replace(value))
            } else {
                Err(value)
            }
        }
    }

    // A reservation goes.

    /// A reservation is dropped unfilled.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the reservation. Last use.
    #[inline(always)]
    pub(crate) unsafe fn drop_reservation(self) {
        // SAFETY: alive; the cell is held by the caller alone, who ends.
        unsafe {
            if self.cell.state() == State::HELD {
                self.free();
            } else {
                debug_assert!(self.cell.state() == State::HELD_CLOSED);
                home::count_down(self.home);
            }
        }
    }

    // A box.

    /// A box is dropped, and its value with it.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the box. Last use.
    #[inline(always)]
    pub(crate) unsafe fn drop_box(self) {
        // SAFETY: alive; the one exclusive borrow is the caller's, who ends.
        // The end of its slab may have marked the value, which changes nothing
        // for its owner.
        unsafe {
            let state = self.cell.state();
            if state == State::EXCLUSIVE {
                self.destroy(State::DYING_UNHELD);
            } else {
                self.drop_marked_box();
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn drop_marked_box(self) {
        // SAFETY: alive, as in the caller.
        unsafe { self.destroy(self.cell.state().unheld().dying()) };
    }

    /// [`vacate_by_handle`](Self::vacate_by_handle) for a box.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the box; on `true` it ends.
    #[inline(always)]
    #[must_use]
    pub(crate) unsafe fn vacate_by_box(self) -> bool {
        // SAFETY: alive; the one exclusive borrow is the caller's.
        unsafe {
            let unmarked = self.cell.state() == State::EXCLUSIVE;
            if unmarked {
                self.free();
            }
            unmarked
        }
    }

    /// Moves the value of a box that the end of its slab has marked into
    /// `spare`.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the box, who ends. Last use.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn take_by_marked_box(self, spare: &mut MaybeUninit<T>) -> NonNull<T> {
        // SAFETY: alive; the value is the caller's alone. It is read first:
        // the countdown may release the cell.
        unsafe {
            let value = NonNull::from(spare.write(self.read()));
            self.vacated(self.cell.state().unheld().vacated());
            value
        }
    }

    /// A box becomes a handle again.
    ///
    /// # Safety
    ///
    /// Alive, and the caller is the box, who ends.
    #[inline(always)]
    pub(crate) unsafe fn unbox(self) {
        // SAFETY: alive; the one exclusive borrow is the caller's.
        unsafe { self.cell.set_state(self.cell.state().unboxed()) };
    }
}
