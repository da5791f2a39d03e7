//! What is done to every cell of a slab: clearing, closing, checking.
//!
//! A walk goes by key, asks for each cell when it comes to it, and holds no
//! pointer across a destructor: user code may insert, remove, clear or grow
//! behind it and before it. When a destructor panics the walk goes on with the
//! rest while the panic unwinds.

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use super::cell::CellPtr;
use super::home::{self, Home};
use super::place::Place;
use super::stamp::State;
use crate::error::Borrowed;
use crate::guard::RefMut;
use crate::key::Key;

/// Where the two kinds of slab differ: how a key leads to a cell.
///
/// # Safety
///
/// While the slab lives, `home` is allocated, and what `cell` returns is an
/// allocated, stamped cell of `T`: one of that home, or one that is free for
/// ever and has no key.
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
    // Chunks that destructors add are not visited: that could go on for ever.
    let keys = 0..cells.bound();
    for place in keys.clone().filter_map(|index| cells.place_at(index)) {
        // SAFETY: alive through the slab.
        let state = unsafe { place.state() };
        if state.has_value() && state.is_borrowed() {
            return Err(Borrowed);
        }
    }
    destroy_all(cells, keys);
    Ok(())
}

/// Drops the values at these keys, but for those that are borrowed when the
/// walk comes to them.
pub(crate) fn destroy_all<T, C: Cells<T>>(cells: &C, keys: Range<usize>) {
    struct Rest<'c, T, C: Cells<T>> {
        cells: &'c C,
        keys: Range<usize>,
        values: PhantomData<*mut T>,
    }

    impl<T, C: Cells<T>> Rest<'_, T, C> {
        fn run(&mut self) {
            for index in self.keys.by_ref() {
                if let Some(place) = self.cells.place_at(index) {
                    // SAFETY: alive through the slab.
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

    // Should a destructor unwind out of it, the drop walks on.
    Rest {
        cells,
        keys,
        values: PhantomData,
    }
    .run();
}

/// Drops the values that `keep` denies, but for those that are borrowed when
/// the walk comes to them.
pub(crate) fn retain<T, C, F>(cells: &C, mut keep: F)
where
    C: Cells<T>,
    F: FnMut(Key, &mut T) -> bool,
{
    for index in 0..cells.bound() {
        let Some(place) = cells.place_at(index) else {
            continue;
        };
        // SAFETY: alive through the slab, and later through the guard, which
        // ends the borrow if `keep` unwinds. The state is read again behind
        // `keep`, which may have dropped the value's handle, or leaked it.
        unsafe {
            if !place.begin_write_by_key() {
                continue;
            }
            let mut value = RefMut::new(place);
            if !keep(place.key(), &mut value) {
                core::mem::forget(value);
                place.destroy(place.state().dying());
            }
        }
    }
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
        values: PhantomData<*mut T>,
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
        values: PhantomData,
    }
    .destroy_all();
}

/// The key of the cell `count` below the top of the stack; `None` below the
/// bottom. For tests.
#[cfg(any(test, fuzzing))]
pub(crate) fn free_key<T, C: Cells<T>>(cells: &C, count: usize) -> Option<Key> {
    // SAFETY: alive through the slab.
    let home = unsafe { cells.home().as_ref() };
    let entry = home.entry(home.depth().checked_sub(count + 1)?)?;
    // SAFETY: by F2 a cell of this slab.
    Some(unsafe { CellPtr::<T>::new(entry).key() })
}

/// Walks every invariant that can be walked, and panics on the first that does
/// not hold; O(slots · log slots), allocates. For tests.
#[cfg(any(test, fuzzing))]
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
        if key.is_none() {
            assert!(state == State::FREE, "T1: a hole is free for ever");
            continue;
        }
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

/// What `check` looks for it finds.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoundedSlab;

    /// Breaks an invariant of a slab with two values, a reservation and two
    /// free cells, and leaks the slab: dropping it would not be sound.
    fn check_broken(break_it: impl FnOnce(&Home, &dyn Fn(u32) -> Place<u64>)) {
        let slab = BoundedSlab::leak(5);
        slab.insert(1).unwrap().leak();
        slab.insert(2).unwrap().leak();
        core::mem::forget(slab.vacant_slot().unwrap());
        slab.check();
        // SAFETY: leaked, so alive for ever.
        let home = unsafe { slab.home().as_ref() };
        break_it(home, &|key| slab.place(Key::from_raw(key)).unwrap());
        slab.check();
    }

    macro_rules! finds {
        ($name:ident, $says:literal, $break_it:expr) => {
            #[test]
            #[should_panic(expected = $says)]
            #[cfg_attr(miri, ignore = "leaks what it has broken")]
            fn $name() {
                check_broken($break_it);
            }
        };
    }

    finds!(a_slot_too_many, "H1: slots", |home, _| home.add_slots(1));
    finds!(a_lost_cell, "H1: free cells", |home, _| {
        // SAFETY: the slab is leaked, and the cell never used again.
        unsafe { home::pop(NonNull::from(home)) };
    });
    finds!(a_fresh_cell_too_many, "H1: free cells", |home, _| home
        .add_fresh(1));
    finds!(a_stale_slot_too_many, "H2", |home, _| {
        home.count_stale();
        home.count_stale();
    });
    finds!(a_cell_twice_on_the_stack, "F2: distinct", |home, _| {
        let top = home.entry(home.depth() - 1).unwrap();
        // SAFETY: breaks what it must, as is the purpose; the slab is leaked.
        unsafe {
            home::pop(NonNull::from(home));
            home::pop(NonNull::from(home));
            home::push(NonNull::from(home), top);
            home::push(NonNull::from(home), top);
        }
    });
    finds!(an_overwritten_null, "F1: the null", |home, place| {
        // SAFETY: the slab is leaked; there is room below the bottom for the
        // null that this overwrites.
        unsafe {
            let top = home.entry(0);
            while home::pop(NonNull::from(home)).is_some() {}
            home.write_below_bottom(top);
            home::push(NonNull::from(home), place(3).start());
            home::push(NonNull::from(home), place(4).start());
        }
    });
    finds!(a_freed_value_in_use, "F2: distinct", |home, place| {
        // SAFETY: as above.
        unsafe {
            home::pop(NonNull::from(home));
            home::push(NonNull::from(home), place(0).start());
        }
    });
    finds!(a_doomed_value_nobody_borrows, "S2: doomed", |_, place| {
        // SAFETY: as above.
        unsafe { place(0).doom(State::KEYED) };
    });
    finds!(readers_beside_a_writer, "S1", |_, place| {
        // SAFETY: as above.
        unsafe { place(0).set_state(State::EXCLUSIVE.with_reader()) };
    });
    finds!(readers_of_no_value, "S1", |_, place| {
        // SAFETY: as above.
        unsafe { place(2).set_state(State::HELD.with_reader()) };
    });
    finds!(
        a_cell_closed_in_a_living_slab,
        "closed under",
        |_, place| {
            // SAFETY: as above.
            unsafe { place(0).close(State::KEYED) };
        }
    );
}
