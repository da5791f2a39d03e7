//! The stamp: eight bytes beside every value, a key and a state.
//!
//! The key is written once, when the chunk is built. The state is one small
//! machine, and the soundness of the typed slabs is that machine: which
//! question each operation asks of it and which step it takes is below, one
//! named function each; when they are asked stands in `place.rs`. DESIGN.md
//! has the whole table, state by event.
//!
//! # Bits of the state
//!
//! | name | bit | meaning |
//! |---|---|---|
//! | `O` | 0 | no handle points here: the value is leaked, or the cell is free |
//! | `n` | 1 … 27 | readers, counted in units of 2 |
//! | `X` | 28 | exclusively borrowed: by a `RefMut`, a `SlotBox`, a running destructor |
//! | `D` | 29 | doomed: the value dies with its last borrow |
//! | `C` | 30 | the slab is gone; handles count down to the release of the block |
//! | `V` | 31 | vacant: there is no value |
//!
//! Rising from `O` to `V` in this order, so that each hot question is one
//! unsigned comparison: with `O` above `X`, reading by handle and by key would
//! need two; with `X` above `D`, asking whether there is a value would. Free is `V O`; `V` alone is held, by a reservation or a stale
//! handle. Zero is a value that one handle owns and nobody borrows.
//!
//! # Invariants
//!
//! * S1: readers and `X` exclude each other, and neither stands beside `V`,
//!   except `V X`: a destructor runs.
//! * S2: with readers or a `RefMut` outstanding, only their end makes the value
//!   go: everyone else is refused, or sets `D`.
//! * S3: readers stay below `X`: a reader is admitted only while one more
//!   would still count.

use core::cell::Cell;

use crate::key::Key;

/// The two halves of a stamp. Only the state ever changes.
#[repr(C)]
pub(crate) struct Stamp {
    key: Key,
    state: Cell<State>,
}

const _: () = assert!(size_of::<Stamp>() == 8 && align_of::<Stamp>() == 4);

impl Stamp {
    /// The stamp of a cell that nobody has used yet.
    pub(crate) const fn free(key: Key) -> Self {
        Stamp {
            key,
            state: Cell::new(State::FREE),
        }
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> Key {
        self.key
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> State {
        self.state.get()
    }

    #[inline(always)]
    pub(crate) fn set_state(&self, state: State) {
        self.state.set(state);
    }
}

/// The state half of a stamp.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct State(u32);

const KEYED: u32 = 1;
const READER: u32 = 2;
const EXCLUSIVE: u32 = 1 << 28;
const DOOMED: u32 = 1 << 29;
const CLOSED: u32 = 1 << 30;
const VACANT: u32 = 1 << 31;
const READERS: u32 = EXCLUSIVE - READER;

const _: () = assert!(
    KEYED < READER
        && READERS < EXCLUSIVE
        && EXCLUSIVE < DOOMED
        && DOOMED < CLOSED
        && CLOSED < VACANT
);

impl State {
    /// A value, one handle, no borrow.
    pub(crate) const OWNED: State = State(0);
    /// A leaked value, no borrow.
    pub(crate) const KEYED: State = State(KEYED);
    /// A value a `SlotBox` or, coming from its handle, a `RefMut` holds.
    pub(crate) const EXCLUSIVE: State = State(EXCLUSIVE);
    /// No value; a handle points here.
    pub(crate) const HELD: State = State(VACANT);
    /// No value, no handle: on the free stack, or never used.
    pub(crate) const FREE: State = State(VACANT | KEYED);
    /// No value any more: its destructor runs, and no handle points here.
    pub(crate) const DYING_UNHELD: State = State(VACANT | EXCLUSIVE | KEYED);
    /// A handle points here; neither value nor slab are left.
    pub(crate) const HELD_CLOSED: State = State(VACANT | CLOSED);
    /// A value put into a reservation after the slab was gone.
    pub(crate) const OWNED_CLOSED: State = State(CLOSED);

    /// The bits, for tests.
    #[cfg(any(test, fuzzing))]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    // Questions.

    /// One more reader may come, by handle or by key (S1, S3).
    #[inline(always)]
    pub(crate) const fn admits_reader(self) -> bool {
        self.0 < EXCLUSIVE - READER
    }

    /// A writer may come by key; by handle the state is `OWNED` and nothing else.
    #[inline(always)]
    pub(crate) const fn admits_writer_by_key(self) -> bool {
        self.0 <= KEYED
    }

    /// What a guard left behind asks for nothing more: no flag is up.
    #[inline(always)]
    pub(crate) const fn is_plain(self) -> bool {
        self.0 < EXCLUSIVE
    }

    /// There is a value for those who ask by key: neither vacant nor doomed.
    #[inline(always)]
    pub(crate) const fn is_occupied(self) -> bool {
        self.0 < DOOMED
    }

    /// There is an initialised value, whoever may reach it.
    #[inline(always)]
    pub(crate) const fn has_value(self) -> bool {
        self.0 < VACANT
    }

    /// A guard, a box, or a running destructor is on the cell.
    pub(crate) const fn is_borrowed(self) -> bool {
        self.0 & (EXCLUSIVE | READERS) != 0
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
        self.0 & KEYED != 0
    }

    /// A leaked value a handle may be had for: unborrowed or read, not doomed.
    pub(crate) const fn admits_handle(self) -> bool {
        self.0 < EXCLUSIVE && self.0 & KEYED != 0
    }

    /// Why the value is not to be had, for the message of a panic.
    pub(crate) const fn why_refused(self) -> &'static str {
        if self.is_closed() {
            "its slab is gone"
        } else if !self.has_value() {
            "there is no value"
        } else if self.is_doomed() {
            "it was removed and its last borrow has not ended"
        } else if self.0 & EXCLUSIVE != 0 {
            "it is mutably borrowed"
        } else if self.admits_reader() {
            "it is borrowed"
        } else {
            "it has too many readers"
        }
    }

    /// S1 and S3, and that the slab is not gone; for tests.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn check(self) {
        let (readers, exclusive) = (self.0 & READERS != 0, self.0 & EXCLUSIVE != 0);
        assert!(!(readers && exclusive), "S1: {:#x}", self.0);
        if !self.has_value() {
            assert!(!readers && !self.is_doomed(), "S1: {:#x}", self.0);
        }
        assert!(
            !self.is_doomed() || self.is_borrowed(),
            "S2: doomed with no borrow left: {:#x}",
            self.0
        );
        assert!(
            !self.is_closed(),
            "closed under a living slab: {:#x}",
            self.0
        );
    }

    // Steps.

    #[inline(always)]
    #[must_use]
    pub(crate) const fn with_reader(self) -> Self {
        State(self.0 + READER)
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn without_reader(self) -> Self {
        State(self.0 - READER)
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn with_exclusive(self) -> Self {
        State(self.0 | EXCLUSIVE)
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn without_exclusive(self) -> Self {
        State(self.0 & !EXCLUSIVE)
    }

    /// The last handle left, or the value was leaked.
    #[must_use]
    pub(crate) const fn unheld(self) -> Self {
        State(self.0 | KEYED)
    }

    /// A handle was made for a leaked value.
    #[must_use]
    pub(crate) const fn held(self) -> Self {
        State(self.0 & !KEYED)
    }

    #[must_use]
    pub(crate) const fn doomed(self) -> Self {
        State(self.0 | DOOMED)
    }

    #[must_use]
    pub(crate) const fn closed(self) -> Self {
        State(self.0 | CLOSED)
    }

    /// The destructor starts: no value for anybody, and not free either.
    #[must_use]
    pub(crate) const fn dying(self) -> Self {
        State(VACANT | EXCLUSIVE | (self.0 & (KEYED | CLOSED)))
    }

    /// The value was moved out.
    #[must_use]
    pub(crate) const fn vacated(self) -> Self {
        State(VACANT | (self.0 & (KEYED | CLOSED)))
    }

    /// A `SlotBox` became a `Slot` again, whatever befell the slab meanwhile.
    #[must_use]
    pub(crate) const fn unboxed(self) -> Self {
        State(self.0 & CLOSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [u32; 16] = {
        let mut all = [0; 16];
        let mut bits = 0;
        while bits < 16 {
            all[bits as usize] = bits << 28;
            bits += 1;
        }
        all
    };

    #[test]
    fn no_state_with_a_flag_admits_a_reader_or_a_writer() {
        for flags in ALL.into_iter().filter(|&flags| flags != 0) {
            for low in [0, KEYED, READER, READER | KEYED, READERS] {
                let state = State(flags | low);
                assert!(!state.admits_reader(), "{:x}", state.bits());
                assert!(!state.admits_writer_by_key(), "{:x}", state.bits());
                assert!(!state.admits_handle(), "{:x}", state.bits());
                assert!(!state.is_plain(), "{:x}", state.bits());
            }
        }
    }

    #[test]
    fn readers_saturate_below_the_flags_with_and_without_a_handle() {
        for held in [0, KEYED] {
            let mut state = State((READERS - 4 * READER) | held);
            let mut admitted = 0;
            while state.admits_reader() {
                state = state.with_reader();
                admitted += 1;
                assert!(state.is_plain(), "the guard's end must find no flag");
            }
            assert_eq!(admitted, 4);
            assert_eq!(state.why_refused(), "it has too many readers");
            assert!(state.without_reader().admits_reader());
        }
    }

    #[test]
    fn only_the_unborrowed_admit_a_writer() {
        assert!(State::OWNED.admits_writer_by_key());
        assert!(State::KEYED.admits_writer_by_key());
        assert!(!State::OWNED.with_reader().admits_writer_by_key());
        assert!(!State::KEYED.with_exclusive().admits_writer_by_key());
    }

    #[test]
    fn dying_keeps_who_holds_the_cell_and_whether_the_slab_is_gone() {
        assert_eq!(State::KEYED.dying().bits(), State::DYING_UNHELD.bits());
        let state = State(DOOMED | CLOSED | KEYED).dying();
        assert!(state.is_dying() && state.is_closed() && state.is_unheld() && !state.is_doomed());
        assert!(!State::OWNED.dying().is_unheld());
    }
}
