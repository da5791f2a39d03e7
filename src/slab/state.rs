//! The stamp: 8 bytes next to every value, a key and a state.
//!
//! The key is written when the chunk is built; a link takes its place while the value is
//! [retired](super::sent). The state is a small state machine, on which the soundness of the slabs
//! rests. Its questions and its steps are the functions below; `cell.rs` calls them. DESIGN.md
//! has the whole table, state by event.
//!
//! # Bits of the state
//!
//! | name | bit | meaning |
//! |---|---|---|
//! | `O` | 0 | unheld: no handle points to the cell. Its value is leaked, or the cell is free |
//! | `n` | 1 … 27 | readers, counted in units of 2 |
//! | `X` | 28 | exclusively borrowed: by a `RefMut`, a `SlotBox`, a running destructor; with one `n`: sent to another thread |
//! | `D` | 29 | doomed: the value is dropped when its last borrow ends |
//! | `C` | 30 | closed: the slab was dropped; handles count down to the release of the block |
//! | `V` | 31 | vacant: there is no value |
//!
//! The order of the bits makes each hot question one unsigned comparison. With `O` above `X`, a
//! read by handle or by key would need two; with `X` above `D`, the question whether there is a
//! value would. `V O` is a free cell. `V` alone is a cell that a reservation or a stale handle
//! holds. Zero is a value that a handle owns, and that is not borrowed.
//!
//! # Invariants
//!
//! * `readers-or-writer`: readers and `X` exclude each other, except that `X` with one `n` means a
//!   sent value. Neither occurs with `V`, except `V X`: a destructor runs.
//! * `borrow-keeps-value`: while there are readers or a `RefMut`, only the end of the last borrow
//!   removes the value: every other removal is refused, or sets `D`.
//! * `readers-fit`: the count of readers stays below `X`: a reader is admitted only if another one
//!   could still be counted.

use core::cell::Cell;

use crate::error::AccessError;
use crate::key::Key;

/// The two halves of a stamp.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct Stamp {
    /// Not read in a [sent](State::is_sent) state: another thread may use it (`link-at-key`).
    pub(super) key: Cell<Key>,
    pub(super) state: Cell<State>,
}

impl Stamp {
    pub(crate) fn key(&self) -> Key {
        self.key.get()
    }

    /// Returns whether the cell is free.
    pub(super) fn is_free(&self) -> bool {
        self.state.get() == State::FREE
    }

    /// Counts a reader next to a guard that already reads. Returns `false` if there are too many.
    #[must_use]
    pub(crate) fn begin_read_along(&self) -> bool {
        let step = self.state.get().read_along();
        if let Some(state) = step {
            self.state.set(state);
        }
        step.is_some()
    }
}

const _: () = assert!(size_of::<Stamp>() == 8 && align_of::<Stamp>() == 4);

/// The state half of a stamp.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct State(u32);

const UNHELD: u32 = 1;
const READER: u32 = 2;
const EXCLUSIVE: u32 = 1 << 28;
const DOOMED: u32 = 1 << 29;
const CLOSED: u32 = 1 << 30;
const VACANT: u32 = 1 << 31;
const READERS: u32 = EXCLUSIVE - READER;
/// The most readers of a value at a time.
pub(crate) const MAX_READERS: u32 = READERS / READER;

impl State {
    /// A value with a handle and without a borrow.
    pub(crate) const OWNED: State = State(0);
    /// A leaked value without a borrow.
    pub(crate) const UNHELD: State = State(UNHELD);
    /// A value that a `SlotBox` holds, or a `RefMut` that was borrowed through the handle.
    pub(crate) const EXCLUSIVE: State = State(EXCLUSIVE);
    /// A value that a `SendSlot` holds, or has returned.
    pub(crate) const SENT: State = State(EXCLUSIVE | READER);
    /// No value; a handle points to the cell.
    pub(crate) const HELD: State = State(VACANT);
    /// No value, no handle: on the free stack, or never used.
    pub(crate) const FREE: State = State(VACANT | UNHELD);
    /// The value's destructor runs; no handle points to the cell.
    pub(crate) const DYING_UNHELD: State = State(VACANT | EXCLUSIVE | UNHELD);
    /// A value that was put into a reservation after the slab was dropped.
    pub(crate) const OWNED_CLOSED: State = State(CLOSED);

    // Questions.

    /// One more reader is admitted, by handle or by key (`readers-or-writer`, `readers-fit`).
    #[inline]
    const fn admits_reader(self) -> bool {
        self.0 < EXCLUSIVE - READER
    }

    /// No flag is set: there is a value, and only readers may borrow it.
    #[inline]
    pub(crate) const fn is_plain(self) -> bool {
        self.0 < EXCLUSIVE
    }

    /// Access by key finds a value: the cell is neither vacant nor doomed.
    #[inline]
    pub(crate) const fn is_occupied(self) -> bool {
        self.0 < DOOMED
    }

    /// There is an initialised value, whether or not a key finds it.
    #[inline]
    pub(crate) const fn has_value(self) -> bool {
        self.0 < VACANT
    }

    /// A guard, a box, or a running destructor uses the value.
    pub(crate) const fn is_borrowed(self) -> bool {
        self.0 & (EXCLUSIVE | READERS) != 0
    }

    /// Access by key finds a value, and it is borrowed: between the first reader and the flags
    /// that make it unreachable.
    pub(crate) const fn is_in_use(self) -> bool {
        self.0.wrapping_sub(READER) < DOOMED - READER
    }

    /// Another thread has the value, or has returned it and the slab does not know yet.
    #[inline]
    pub(crate) const fn is_sent(self) -> bool {
        self.0 & (VACANT | EXCLUSIVE | READERS) == EXCLUSIVE | READER
    }

    pub(crate) const fn is_doomed(self) -> bool {
        self.0 & DOOMED != 0
    }

    pub(crate) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// The value's destructor runs.
    pub(crate) const fn is_dying(self) -> bool {
        self.0 & (VACANT | EXCLUSIVE) == VACANT | EXCLUSIVE
    }

    /// No handle points to the cell.
    pub(crate) const fn is_unheld(self) -> bool {
        self.0 & UNHELD != 0
    }

    /// Returns why access is refused, for the message of a panic.
    pub(crate) const fn why_refused(self) -> &'static str {
        if self.is_closed() {
            "its slab is gone"
        } else if !self.has_value() {
            "there is no value"
        } else if self.is_doomed() {
            "it was removed and its last borrow has not ended"
        } else if self.is_sent() {
            "it was sent to another thread, or retired there and not reclaimed"
        } else if self.0 & EXCLUSIVE != 0 {
            "it is mutably borrowed"
        } else if self.admits_reader() {
            "it is borrowed"
        } else {
            "it has too many readers"
        }
    }

    /// Returns why a reader by key was refused.
    pub(crate) const fn why_no_reader(self) -> AccessError {
        if !self.is_occupied() {
            AccessError::Missing
        } else if self.0 & EXCLUSIVE != 0 {
            AccessError::Borrowed
        } else {
            AccessError::TooManyReaders
        }
    }

    /// Returns why a writer or a removal by key was refused.
    pub(crate) const fn why_no_writer(self) -> AccessError {
        if self.is_occupied() {
            AccessError::Borrowed
        } else {
            AccessError::Missing
        }
    }

    /// Returns why no handle was made. `Owned` comes before `Borrowed`: the handle is still there
    /// when the borrow has ended.
    pub(crate) const fn why_no_handle(self) -> AccessError {
        if !self.is_occupied() {
            AccessError::Missing
        } else if !self.is_unheld() {
            AccessError::Owned
        } else {
            AccessError::Borrowed
        }
    }

    // Steps that may be refused.

    /// Adds a reader, by handle or by key.
    #[inline]
    pub(crate) fn read(self) -> Option<Self> {
        self.admits_reader().then(|| State(self.0 + READER))
    }

    /// Adds a reader next to a guard that already reads, whatever flags are set.
    pub(crate) fn read_along(self) -> Option<Self> {
        let readers = State(self.0 & (EXCLUSIVE - 1));
        readers.admits_reader().then(|| State(self.0 + READER))
    }

    /// Adds a writer, by handle or by key.
    #[inline]
    pub(crate) fn write(self) -> Option<Self> {
        (self.0 <= UNHELD).then_some(State(self.0 | EXCLUSIVE))
    }

    /// Adds a handle to a leaked value that only readers borrow.
    pub(crate) fn regain(self) -> Option<Self> {
        (self.is_plain() && self.is_unheld()).then_some(State(self.0 & !UNHELD))
    }

    // Steps.

    #[inline]
    #[must_use]
    pub(crate) const fn without_reader(self) -> Self {
        State(self.0 - READER)
    }

    #[inline]
    #[must_use]
    pub(crate) const fn without_exclusive(self) -> Self {
        State(self.0 & !EXCLUSIVE)
    }

    /// Removes the handle: it was dropped, or its value was leaked.
    #[must_use]
    pub(crate) const fn unheld(self) -> Self {
        State(self.0 | UNHELD)
    }

    #[must_use]
    pub(crate) const fn doomed(self) -> Self {
        State(self.0 | DOOMED)
    }

    #[must_use]
    pub(crate) const fn closed(self) -> Self {
        State(self.0 | CLOSED)
    }

    /// Starts the destructor: the value is unreachable, and the cell is not free.
    #[must_use]
    pub(crate) const fn dying(self) -> Self {
        State(VACANT | EXCLUSIVE | (self.0 & (UNHELD | CLOSED)))
    }

    /// Marks the value as moved out.
    #[must_use]
    pub(crate) const fn vacated(self) -> Self {
        self.dying().without_exclusive()
    }

    /// Makes a handle the owner, whether or not the slab was dropped: a reservation was filled, or
    /// a `SlotBox` became a `Slot` again.
    #[inline]
    #[must_use]
    pub(crate) const fn owned(self) -> Self {
        State(self.0 & CLOSED)
    }
}

#[cfg(any(test, fuzzing))]
impl State {
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Any bits, possible or not.
    #[cfg(test)]
    pub(crate) const fn of_bits(bits: u32) -> Self {
        State(bits)
    }

    /// `readers-or-writer`, `borrow-keeps-value`, and that the slab is not gone.
    pub(crate) fn check(self) {
        let (readers, exclusive) = (self.0 & READERS != 0, self.0 & EXCLUSIVE != 0);
        assert!(
            !(readers && exclusive) || self.is_sent(),
            "readers-or-writer: {:#x}",
            self.0
        );
        assert!(
            self.has_value() || !readers && !self.is_doomed(),
            "readers-or-writer: {:#x}",
            self.0
        );
        assert!(
            !self.is_doomed() || self.is_borrowed(),
            "borrow-keeps-value: doomed with no borrow left: {:#x}",
            self.0
        );
        assert!(
            !self.is_closed(),
            "closed under a living slab: {:#x}",
            self.0
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_with_a_flag_admits_a_reader_or_a_writer() {
        for flags in (1..16).map(|flags| flags << 28) {
            for low in [0, UNHELD, READER, READER | UNHELD, READERS] {
                let state = State(flags | low);
                assert!(state.read().is_none(), "{:x}", state.bits());
                assert!(state.write().is_none(), "{:x}", state.bits());
                assert!(state.regain().is_none(), "{:x}", state.bits());
                assert!(!state.is_plain(), "{:x}", state.bits());
            }
        }
    }

    #[test]
    fn readers_saturate_below_the_flags_with_and_without_a_handle() {
        for held in [0, UNHELD] {
            let mut state = State((READERS - 4 * READER) | held);
            let mut admitted = 0;
            while let Some(next) = state.read() {
                state = next;
                admitted += 1;
                assert!(state.is_plain(), "the guard's end must find no flag");
            }
            assert_eq!(admitted, 4);
            assert_eq!(state.why_refused(), "it has too many readers");
            assert!(state.without_reader().read().is_some());
        }
    }

    #[test]
    fn only_the_unborrowed_admit_a_writer() {
        for state in [State::OWNED, State::UNHELD] {
            assert!(
                state
                    .write()
                    .is_some_and(|written| written.write().is_none())
            );
            assert!(state.read().is_some_and(|read| read.write().is_none()));
        }
    }

    #[test]
    fn a_guard_is_cloned_in_every_state_it_can_be_in_until_readers_are_too_many() {
        for flags in [0, UNHELD, DOOMED, DOOMED | UNHELD, DOOMED | CLOSED] {
            let one = State(flags | READER);
            let two = one.read_along().unwrap();
            assert!(two.without_reader() == one);
            let many = State(flags | (READERS - READER));
            let last = many.read_along().unwrap();
            assert!(last.read_along().is_none(), "{flags:x}");
        }
    }

    #[test]
    fn a_refusal_says_whether_there_is_a_value() {
        use AccessError::{Borrowed, Missing, Owned, TooManyReaders};
        let no_value = [DOOMED | READER, DOOMED | EXCLUSIVE, CLOSED, VACANT];
        for bits in no_value.into_iter().chain([VACANT | EXCLUSIVE]) {
            for state in [State(bits), State(bits | UNHELD)] {
                assert_eq!(state.why_no_reader(), Missing, "{bits:x}");
                assert_eq!(state.why_no_writer(), Missing, "{bits:x}");
                assert_eq!(state.why_no_handle(), Missing, "{bits:x}");
                assert!(!state.is_in_use(), "{bits:x}");
            }
        }
        for (bits, for_readers) in [(EXCLUSIVE, Borrowed), (READERS, TooManyReaders)] {
            assert_eq!(State(bits).why_no_reader(), for_readers);
            assert_eq!(State(bits).why_no_writer(), Borrowed);
            assert_eq!(State(bits).why_no_handle(), Owned);
            assert_eq!(State(bits | UNHELD).why_no_handle(), Borrowed);
            assert!(State(bits).is_in_use() && State(bits | UNHELD).is_in_use());
        }
        assert!(State(READER).is_in_use() && State(READER | UNHELD).is_in_use());
        assert!(!State::OWNED.is_in_use() && !State::UNHELD.is_in_use());
    }

    #[test]
    fn only_a_leaked_value_is_regained() {
        assert!(State::UNHELD.regain() == Some(State::OWNED));
        assert!(State::OWNED.regain().is_none());
        assert!(State::FREE.regain().is_none());
    }

    #[test]
    fn dying_keeps_who_holds_the_cell_and_whether_the_slab_is_gone() {
        assert!(State::UNHELD.dying() == State::DYING_UNHELD);
        let state = State(DOOMED | CLOSED | UNHELD).dying();
        assert!(state.is_dying() && state.is_closed() && state.is_unheld() && !state.is_doomed());
        assert!(!State::OWNED.dying().is_unheld());
    }
}
