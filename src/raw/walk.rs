//! What is done to every cell of a slab: clearing, closing, checking.
//!
//! A walk goes by key, asks for each cell when it comes to it, and holds no
//! pointer across a destructor: user code may insert, remove, clear or grow
//! behind it and before it. When a destructor panics the walk goes on with the
//! rest while the panic unwinds.

use core::ptr::NonNull;

use super::cell::CellPtr;
use super::home::{self, Home};
use super::place::Place;
use super::stamp::State;
use crate::error::Borrowed;
use crate::key::Key;

/// Where the two kinds of slab differ: how a key leads to a cell.
///
/// # Safety
///
/// While the slab lives, `home` is allocated, and what `cell` returns is an
/// allocated, stamped cell of `T` of that home.
pub(crate) unsafe trait Cells<T> {
    fn home(&self) -> NonNull<Home>;

    /// Keys from here on have no cell.
    fn bound(&self) -> usize;

    /// The cell of a key, if it has one.
    fn cell(&self, key: Key) -> Option<CellPtr<T>>;

    /// The same with its home.
    #[inline(always)]
    fn place(&self, key: Key) -> Option<Place<T>> {
        Some(Place::new(self.cell(key)?, self.home()))
    }

    /// [`place`](Self::place) by number.
    fn place_at(&self, index: usize) -> Option<Place<T>> {
        self.place(Key::from_raw(u32::try_from(index).ok()?))
    }
}

/// Drops every value; those that have a handle leave it stale.
///
/// # Errors
///
/// When one is borrowed, before any is dropped.
pub(crate) fn try_clear<T, C: Cells<T>>(cells: &C) -> Result<(), Borrowed> {
    struct Rest<'c, T, C: Cells<T>> {
        cells: &'c C,
        next: usize,
        /// Chunks that destructors add are not visited: that could go on for ever.
        end: usize,
        values: core::marker::PhantomData<*mut T>,
    }

    impl<T, C: Cells<T>> Rest<'_, T, C> {
        fn run(&mut self) {
            while self.next < self.end {
                let place = self.cells.place_at(self.next);
                self.next += 1;
                if let Some(place) = place {
                    // SAFETY: alive through the slab. What was borrowed since
                    // the check stays.
                    unsafe {
                        let state = place.state();
                        if state.has_value() && !state.is_borrowed() {
                            place.destroy(state.dying());
                        }
                    }
                }
            }
        }
    }

    impl<T, C: Cells<T>> Drop for Rest<'_, T, C> {
        fn drop(&mut self) {
            self.run();
        }
    }

    let end = cells.bound();
    for place in (0..end).filter_map(|index| cells.place_at(index)) {
        // SAFETY: alive through the slab.
        let state = unsafe { place.state() };
        if state.has_value() && state.is_borrowed() {
            return Err(Borrowed);
        }
    }
    // Should a destructor unwind out of it, the drop walks on.
    Rest {
        cells,
        next: 0,
        end,
        values: core::marker::PhantomData,
    }
    .run();
    Ok(())
}

/// The slab is dropped: every value that is not borrowed goes now, in key
/// order, a borrowed one with its last borrow, and the memory with the last
/// holder.
///
/// # Safety
///
/// The slab's own use of its memory ends here.
pub(crate) unsafe fn close<T, C: Cells<T>>(cells: &C) {
    struct Closing<'c, T, C: Cells<T>> {
        cells: &'c C,
        next: usize,
        destroyed: bool,
        values: core::marker::PhantomData<*mut T>,
    }

    impl<T, C: Cells<T>> Closing<'_, T, C> {
        /// Walks until a walk finds nothing to destroy: a destructor may fill a
        /// reservation, leak it, or end a guard behind the walk.
        fn destroy_all(&mut self) {
            loop {
                while self.next < self.cells.bound() {
                    let place = self.cells.place_at(self.next);
                    self.next += 1;
                    if let Some(place) = place {
                        self.visit(place);
                    }
                }
                if !core::mem::take(&mut self.destroyed) {
                    return;
                }
                self.next = 0;
            }
        }

        fn visit(&mut self, place: Place<T>) {
            // SAFETY: alive, for the memory is not given back before `seal`.
            unsafe {
                let state = place.state();
                if !state.has_value() {
                    // Free, held, or dying further up the call stack.
                } else if state.is_borrowed() {
                    place.doom(state);
                } else {
                    self.destroyed = true;
                    place.destroy(state.dying());
                }
            }
        }

        /// Hands the memory to those who still hold cells. No user code runs.
        fn seal(&mut self) {
            let mut remaining = 0;
            for place in (0..self.cells.bound()).filter_map(|index| self.cells.place_at(index)) {
                // SAFETY: alive, as above.
                unsafe {
                    let state = place.state();
                    if state != State::FREE {
                        place.close(state);
                        remaining += 1;
                    }
                }
            }
            // SAFETY: the slab's use ends, and exactly the cells that are not
            // free were counted (L2).
            unsafe { home::close(self.cells.home(), remaining) };
        }
    }

    impl<T, C: Cells<T>> Drop for Closing<'_, T, C> {
        fn drop(&mut self) {
            // Nothing is left to destroy but on unwinding out of a destructor;
            // should a second one panic then, the program ends here.
            self.destroy_all();
            self.seal();
        }
    }

    Closing {
        cells,
        next: 0,
        destroyed: false,
        values: core::marker::PhantomData,
    }
    .destroy_all();
}

/// Walks every invariant that can be walked, and panics on the first that does
/// not hold; O(slots · log slots), allocates. For tests.
#[cfg_attr(
    not(test),
    expect(clippy::disallowed_types, reason = "for tests, and after the fact")
)]
pub(crate) fn check<T, C: Cells<T>>(cells: &C) {
    // SAFETY: alive through the slab.
    let home = unsafe { cells.home().as_ref() };
    let mut free = alloc::collections::BTreeSet::new();
    let (mut held, mut others) = (0, 0);
    for index in 0..cells.bound() {
        let Some(place) = cells.place_at(index) else {
            continue;
        };
        // SAFETY: alive through the slab.
        let (key, state) = unsafe { (place.key(), place.state()) };
        assert_eq!(key.index(), index, "a stamp's key is its cell's");
        state.check();
        if state == State::FREE {
            free.insert(place.start());
        } else if state == State::HELD {
            held += 1;
        } else {
            others += 1;
        }
    }

    assert_eq!(home.slots(), free.len() + held + others, "H1: slots");
    assert_eq!(free.len(), home.free(), "H1: free cells");
    assert!(home.stale() <= held, "H2: a stale handle holds a cell");
    assert_eq!(home.entry_below_bottom(), None, "F1: the null");
    for index in 0..home.depth() {
        let entry = home.entry(index).expect("F2: no null within the stack");
        assert!(free.remove(&entry), "F2: distinct free cells of this slab");
    }
    assert_eq!(free.len(), home.fresh(), "F3: stacked, or fresh");
}
