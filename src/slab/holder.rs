//! The holders of a cell: what a guard, a `Slot`, a `VacantSlot` and a `SlotBox` are made of.
//!
//! A [`Holder`] is made where a cell was popped, a borrow was admitted, or a handle was given up.
//! Everything that ends it, or turns it into another kind, is here: the comparison for the usual
//! case is inlined, and every other row of the event's column in DESIGN.md is in a cold function.
//! Each of them may be the last holder of a dropped slab, and then frees its memory.
//!
//! # Invariants
//!
//! * `holder-is`: a `Holder` of a place is the one holder of that kind that its cell has (of readers,
//!   one for each that was admitted): a reader or writer that was admitted, the `Slot`, the
//!   reservation or the box of `one-handle`, or the one user of a popped cell. It ends when it is
//!   dropped or turned into another one, and what becomes of the cell follows from the kind. One that
//!   is forgotten stays a holder.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::cell::{Live, Place};
use super::state::State;
use crate::raw::poison::move_out;

/// A guard that reads.
pub(crate) const READER: u8 = 0;
/// A guard that writes.
pub(crate) const WRITER: u8 = 1;
/// A `Slot`.
pub(crate) const SLOT: u8 = 2;
/// A `VacantSlot`.
pub(crate) const RESERVATION: u8 = 3;
/// A `SlotBox`.
pub(crate) const BOX: u8 = 4;
/// A free cell that was popped. It is lost if it is dropped.
pub(crate) const POPPED: u8 = 5;

/// A cell that was popped, to be filled or reserved.
pub(crate) type Popped<T> = Holder<'static, T, POPPED>;

/// A holder of a cell, of one of the kinds above.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
pub struct Holder<'a, T, const KIND: u8> {
    place: Place<T>,
    alive: PhantomData<&'a ()>,
}

impl<'a, T, const KIND: u8> Holder<'a, T, KIND> {
    /// # Safety
    ///
    /// The caller is that holder (`holder-is`), and gives itself up.
    #[inline]
    pub(super) const unsafe fn new(place: Place<T>) -> Self {
        Holder {
            place,
            alive: PhantomData,
        }
    }

    #[inline]
    pub(super) fn live(&self) -> Live<'_, T> {
        // SAFETY: the holder exists, so its cell is stamped and stays (`holder-keeps-cell`).
        unsafe { self.place.live() }
    }

    #[cfg(feature = "intrusive-collections")]
    #[inline]
    pub(super) fn place(&self) -> Place<T> {
        self.place
    }

    /// The place, whose holder the caller becomes.
    #[inline]
    pub(super) fn into_place(self) -> Place<T> {
        ManuallyDrop::new(self).place
    }

    /// Sets the state, and turns the holder into one of another kind.
    ///
    /// # Safety
    ///
    /// In this state the cell has a holder of the other kind, and none of this one.
    #[inline]
    unsafe fn turn<const OTHER: u8>(self, state: State) -> Holder<'a, T, OTHER> {
        self.live().set_state(state);
        Holder {
            place: self.into_place(),
            alive: PhantomData,
        }
    }

    /// Borrows the value that a guard or a box has.
    #[inline]
    pub(super) fn value(&self) -> &T {
        const { assert!(matches!(KIND, READER | WRITER | BOX)) };
        // SAFETY: while this borrow is counted, the value is there, and is not written to except
        // through a writer or a box itself (`readers-or-writer`, `borrow-keeps-value`).
        unsafe { self.live().value().as_ref() }
    }

    /// Borrows the value that a writer or a box has.
    #[inline]
    pub(super) fn value_mut(&mut self) -> &mut T {
        const { assert!(matches!(KIND, WRITER | BOX)) };
        // SAFETY: while this holds `X`, the value is there, and only reached through it
        // (`readers-or-writer`, `borrow-keeps-value`).
        unsafe { self.live().value().as_mut() }
    }
}

impl<T, const KIND: u8> Drop for Holder<'_, T, KIND> {
    #[inline]
    fn drop(&mut self) {
        let live = self.live();
        let state = live.state();
        let usual = match KIND {
            BOX => State::EXCLUSIVE,
            _ => State::OWNED,
        };
        match KIND {
            READER => live.end_borrow(state.without_reader()),
            WRITER => live.end_borrow(state.without_exclusive()),
            // SAFETY: a reservation has no value, and ends here (`holder-is`).
            RESERVATION => unsafe { live.settle(state.unheld()) },
            // SAFETY: the slot or the box ends here (`holder-is`). In this state there is a value,
            // which no one else borrows.
            SLOT | BOX if state == usual => unsafe { live.destroy(State::DYING_UNHELD) },
            // SAFETY: the slot ends here (`holder-is`).
            SLOT => unsafe { live.drop_uncommon_handle() },
            // SAFETY: the box ends here (`holder-is`).
            BOX => drop_marked_box(unsafe { Holder::new(self.place) }),
            _ => {}
        }
    }
}

/// Drops a value that was marked when its slab was dropped: as that of a slot.
#[cold]
#[inline(never)]
fn drop_marked_box<T>(boxed: Holder<'static, T, BOX>) {
    drop(boxed.into_slot());
}

impl<'a, T> Holder<'a, T, READER> {
    #[inline]
    pub(super) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        // SAFETY: `begin_read` has admitted this reader (`holder-is`).
        cell.begin_read()
            .then(|| unsafe { Holder::new(cell.place()) })
    }

    /// Adds a reader. Returns `None` if there are too many.
    pub(super) fn try_clone(&self) -> Option<Self> {
        // SAFETY: `begin_read_along` has admitted this reader (`holder-is`).
        (self.live().begin_read_along()).then(|| unsafe { Holder::new(self.place) })
    }
}

impl<'a, T> Holder<'a, T, WRITER> {
    #[inline]
    pub(super) fn try_new(cell: Live<'a, T>) -> Option<Self> {
        // SAFETY: `begin_write` has admitted this writer (`holder-is`).
        (cell.begin_write()).then(|| unsafe { Holder::new(cell.place()) })
    }

    /// Drops the value in place instead of ending the borrow.
    pub(super) fn destroy(self) {
        let this = ManuallyDrop::new(self);
        let dying = this.live().state().dying();
        // SAFETY: the one borrow of the value, which ends (`holder-is`). User code has run since it
        // was admitted, so the state was read again.
        unsafe { this.live().destroy(dying) };
    }
}

impl<T> Popped<T> {
    /// Puts a value into the cell; a handle owns it from now on.
    #[inline]
    pub(super) fn fill(self, value: T) -> Holder<'static, T, SLOT> {
        // SAFETY: popped, so without a value (`state-tells-value`), and this one's alone
        // (`free-on-stack`). The state is that of a value with a handle.
        unsafe {
            self.live().value().write(value);
            self.turn(State::OWNED)
        }
    }

    /// Reserves the cell.
    #[inline]
    pub(super) fn hold(self) -> Holder<'static, T, RESERVATION> {
        // SAFETY: popped, so this one's alone. The state is that of a reserved cell.
        unsafe { self.turn(State::HELD) }
    }
}

impl<T> Holder<'static, T, RESERVATION> {
    /// Puts a value into the cell. The slab may have been dropped.
    #[inline]
    pub(super) fn fill(self, value: T) -> Holder<'static, T, SLOT> {
        // SAFETY: the cell of a reservation has no value (`state-tells-value`), and `owned` is the
        // state of one with a value and a handle.
        unsafe {
            self.live().value().write(value);
            let owned = self.live().state().owned();
            self.turn(owned)
        }
    }
}

impl<T> Holder<'static, T, BOX> {
    /// Ends the borrow.
    #[inline]
    pub(super) fn into_slot(self) -> Holder<'static, T, SLOT> {
        let owned = self.live().state().owned();
        // SAFETY: the one exclusive borrow ends; `owned` is the state with the handle alone.
        unsafe { self.turn(owned) }
    }
}

impl<T> Holder<'static, T, SLOT> {
    /// Adds a handle to a leaked value. Returns `None` if the value is not leaked, or exclusively
    /// borrowed.
    pub(super) fn try_regain(cell: Live<'_, T>) -> Option<Self> {
        // SAFETY: `regain` has made the handle, which is this one and no other (`one-handle`).
        (cell.step(State::regain)).then(|| unsafe { Holder::new(cell.place()) })
    }

    /// Borrows the value exclusively.
    ///
    /// # Errors
    ///
    /// Returns the slot if this is refused.
    #[inline]
    pub(super) fn try_into_box(self) -> Result<Holder<'static, T, BOX>, Self> {
        if self.live().state() == State::OWNED {
            // SAFETY: there is a value, which no one borrows. The state is that of a box.
            Ok(unsafe { self.turn(State::EXCLUSIVE) })
        } else {
            Err(self)
        }
    }

    /// Moves the value out, and turns the slot into a reservation of the cell.
    ///
    /// # Errors
    ///
    /// Returns the slot if the value is borrowed or gone.
    #[inline]
    pub(super) fn try_take(self) -> Result<(T, Holder<'static, T, RESERVATION>), Self> {
        if self.live().state() != State::OWNED {
            return Err(self);
        }
        // SAFETY: an owned value is not borrowed. It is moved out once: the state is that of a
        // reservation, without a value.
        unsafe { Ok((move_out(self.live().value()), self.turn(State::HELD))) }
    }

    /// Moves the value out, and frees the cell.
    ///
    /// # Errors
    ///
    /// Returns the slot if the value is borrowed or gone, unless it was put into a reservation after
    /// the slab was dropped.
    #[inline]
    pub(super) fn try_into_inner(self) -> Result<T, Self> {
        // SAFETY: the slot ends without a drop if it vacates the cell. The value is read once, and
        // before any other code runs.
        unsafe {
            if self.live().vacate(State::OWNED) {
                Ok(ManuallyDrop::new(self).live().read())
            } else {
                self.try_into_inner_uncommonly()
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn try_into_inner_uncommonly(self) -> Result<T, Self> {
        if self.live().state() != State::OWNED_CLOSED {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        let live = this.live();
        // SAFETY: there is a value, and the slot ends (`holder-is`). The value is read first:
        // settling may release the cell.
        unsafe {
            let value = live.read();
            live.settle(live.state().unheld().vacated());
            Ok(value)
        }
    }

    /// Leaks the value: the slab owns it from now on. A slot without a value is only dropped; the
    /// value of a slot whose slab is gone is dropped.
    #[inline]
    pub(super) fn leak(self) {
        let this = ManuallyDrop::new(self);
        if !this.live().exchange(State::OWNED, State::UNHELD) {
            // SAFETY: the slot ends here (`holder-is`).
            unsafe { this.live().leak_uncommon_handle() };
        }
    }
}

/// Steps of holders that end. If a function is `unsafe`, the caller is that holder, which exists
/// (`holder-keeps-cell`), and ends with the call; of one that returns a `bool`, only on `true`.
impl<T> Live<'_, T> {
    /// Ends a borrow, which leaves this state. A borrow that ends where it began costs nothing:
    /// borrows are only admitted in a state in which this comparison will hold again.
    #[inline]
    fn end_borrow(self, state: State) {
        self.set_state(state);
        if !state.is_plain() {
            self.end_borrow_of_doomed();
        }
    }

    /// Drops a doomed value if this was its last borrow.
    #[cold]
    #[inline(never)]
    fn end_borrow_of_doomed(self) {
        debug_assert!(self.state().is_doomed() && self.state().has_value());
        self.try_destroy();
    }

    /// Frees the cell of an unborrowed value on behalf of the slot (`held` is
    /// [`OWNED`](State::OWNED)) or the box ([`EXCLUSIVE`](State::EXCLUSIVE)).
    /// On `true` the caller [reads](Self::read) the value out at once.
    #[inline]
    #[must_use]
    pub(super) unsafe fn vacate(self, held: State) -> bool {
        let usual = self.state() == held;
        if usual {
            // SAFETY: in that state no one else borrows the value, and the caller ends.
            unsafe { self.free() };
        }
        usual
    }

    /// Copies out the value of a cell that was vacated a moment ago.
    ///
    /// After the push, not before it: as a function's last expression the
    /// value is copied once, straight to its destination.
    ///
    /// # Safety
    ///
    /// The caller vacated the cell, or takes the value from it; no other code has run since, and
    /// this is called once.
    #[inline]
    pub(super) unsafe fn read(self) -> T {
        // SAFETY: the memory is still there, and the value is the caller's (`settled-cell`).
        unsafe { move_out(self.value()) }
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
                // Borrowed by key, or by a guard that was forgotten.
                self.set_state(state.unheld().doomed());
            } else if state.is_dying() {
                // The cell is freed when the destructor ends, as no handle is left.
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
            // SAFETY: the slot exists, and ends with this call (contract above).
            unsafe { self.drop_uncommon_handle() };
        }
    }
}
