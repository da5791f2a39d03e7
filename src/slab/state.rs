//! The stamp: eight bytes next to every value, a key and a state.
//!
//! The key is written when the chunk is built, and gives its place to a link while the
//! value is [retired](super::sent). The state is one small
//! machine, and the soundness of the slabs is that machine. Its questions and
//! its steps are below, a named function each; `cell.rs` says
//! when each is asked and taken. DESIGN.md has the whole table, state by event.
//!
//! # Bits of the state
//!
//! | name | bit | meaning |
//! |---|---|---|
//! | `O` | 0 | unheld: no handle points here. The value is leaked, or the cell is free |
//! | `n` | 1 … 27 | readers, counted in units of 2 |
//! | `X` | 28 | exclusively borrowed: by a `RefMut`, a `SlotBox`, a running destructor; with one `n`: sent to another thread |
//! | `D` | 29 | doomed: the value dies with its last borrow |
//! | `C` | 30 | closed: the slab is gone; handles count down to the release of the block |
//! | `V` | 31 | vacant: there is no value |
//!
//! The order makes each hot question one unsigned comparison: with `O` above
//! `X`, reading by handle and by key would need two; with `X` above `D`, asking
//! whether there is a value would. Free is `V O`. `V` alone is held, by a
//! reservation or a stale handle. Zero is a value that one handle owns, without
//! a borrow.
//!
//! # Invariants
//!
//! * `readers-or-writer`: readers and `X` exclude each other, but for one `n` that says of an `X`
//!   that the value was sent; and neither occurs with `V`, except `V X`: a destructor runs.
//! * `borrow-keeps-value`: with readers or a `RefMut` outstanding, only their
//!   end makes the value go: everything else is refused, or sets `D`.
//! * `readers-fit`: readers stay below `X`: a reader is admitted only while one
//!   more would still count.

use core::cell::Cell;

use crate::error::AccessError;
use crate::key::Key;

/// The two halves of a stamp.
#[repr(C)]
pub(crate) struct Stamp {
    /// Not to be read where the state is [sent](State::is_sent): it may be another thread's
    /// (`link-at-key`).
    pub(super) key: Cell<Key>,
    pub(super) state: Cell<State>,
}

impl Stamp {
    pub(crate) fn key(&self) -> Key {
        self.key.get()
    }

    /// A reader comes by a guard that reads already; `false` with too many.
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

impl State {
    /// A value, one handle, no borrow.
    pub(crate) const OWNED: State = State(0);
    /// A leaked value, no borrow.
    pub(crate) const UNHELD: State = State(UNHELD);
    /// A value that a `SlotBox`, or a `RefMut` that came by handle, holds.
    pub(crate) const EXCLUSIVE: State = State(EXCLUSIVE);
    /// A value that a `SendSlot` holds, or that was given back by one.
    pub(crate) const SENT: State = State(EXCLUSIVE | READER);
    /// No value; a handle points here.
    pub(crate) const HELD: State = State(VACANT);
    /// No value, no handle: on the free stack, or never used.
    pub(crate) const FREE: State = State(VACANT | UNHELD);
    /// The value's destructor runs; no handle points here.
    pub(crate) const DYING_UNHELD: State = State(VACANT | EXCLUSIVE | UNHELD);
    /// A value put into a reservation after the slab was gone.
    pub(crate) const OWNED_CLOSED: State = State(CLOSED);

    // Questions.

    /// One more reader may come, by handle or by key (`readers-or-writer`, `readers-fit`).
    #[inline(always)]
    const fn admits_reader(self) -> bool {
        self.0 < EXCLUSIVE - READER
    }

    /// No flag is set: there is a value, and at most readers borrow it.
    #[inline(always)]
    pub(crate) const fn is_plain(self) -> bool {
        self.0 < EXCLUSIVE
    }

    /// There is a value for those who ask by key: neither vacant nor doomed.
    #[inline(always)]
    pub(crate) const fn is_occupied(self) -> bool {
        self.0 < DOOMED
    }

    /// There is an initialised value, reachable or not.
    #[inline(always)]
    pub(crate) const fn has_value(self) -> bool {
        self.0 < VACANT
    }

    /// A guard, a box, or a running destructor is on the cell.
    pub(crate) const fn is_borrowed(self) -> bool {
        self.0 & (EXCLUSIVE | READERS) != 0
    }

    /// There is a value for those who ask by key, and it is borrowed: between
    /// the first reader and the flags that make it unreachable.
    pub(crate) const fn is_in_use(self) -> bool {
        self.0.wrapping_sub(READER) < DOOMED - READER
    }

    /// The value is with another thread, or has come back from there and the slab does not know
    /// yet.
    #[inline(always)]
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

    /// No handle points here.
    pub(crate) const fn is_unheld(self) -> bool {
        self.0 & UNHELD != 0
    }

    /// Why the value cannot be had, for the message of a panic.
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

    /// Why a reader by key was refused.
    pub(crate) const fn why_no_reader(self) -> AccessError {
        if !self.is_occupied() {
            AccessError::Missing
        } else if self.0 & EXCLUSIVE != 0 {
            AccessError::Borrowed
        } else {
            AccessError::TooManyReaders
        }
    }

    /// Why a writer or a removal by key was refused.
    pub(crate) const fn why_no_writer(self) -> AccessError {
        if self.is_occupied() {
            AccessError::Borrowed
        } else {
            AccessError::Missing
        }
    }

    /// Why no handle was made. A handle is named before a borrow: it stays
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

    /// A reader comes, by handle or by key.
    #[inline(always)]
    pub(crate) fn read(self) -> Option<Self> {
        self.admits_reader().then(|| State(self.0 + READER))
    }

    /// A reader comes by a guard that reads already, so whatever is said of the
    /// value by others.
    pub(crate) fn read_along(self) -> Option<Self> {
        let readers = State(self.0 & (EXCLUSIVE - 1));
        readers.admits_reader().then(|| State(self.0 + READER))
    }

    /// A writer comes, by handle or by key.
    #[inline(always)]
    pub(crate) fn write(self) -> Option<Self> {
        (self.0 <= UNHELD).then_some(State(self.0 | EXCLUSIVE))
    }

    /// A handle is made for a leaked value that is at most read.
    pub(crate) fn regain(self) -> Option<Self> {
        (self.is_plain() && self.is_unheld()).then_some(State(self.0 & !UNHELD))
    }

    // Steps.

    #[inline(always)]
    #[must_use]
    pub(crate) const fn without_reader(self) -> Self {
        State(self.0 - READER)
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn without_exclusive(self) -> Self {
        State(self.0 & !EXCLUSIVE)
    }

    /// The handle is gone, or its value was leaked.
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

    /// The destructor starts: the value is out of reach, the cell not free.
    #[must_use]
    pub(crate) const fn dying(self) -> Self {
        State(VACANT | EXCLUSIVE | (self.0 & (UNHELD | CLOSED)))
    }

    /// The value was moved out.
    #[must_use]
    pub(crate) const fn vacated(self) -> Self {
        self.dying().without_exclusive()
    }

    /// A handle owns the value, whatever happened to the slab: a reservation
    /// was filled, or a `SlotBox` became a `Slot` again.
    #[inline(always)]
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
