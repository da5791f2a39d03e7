//! The state table: the answer to each event in each row, and the state that
//! follows. `DESIGN.md` prints it.

// The bits of the state word, named as in DESIGN.md.
pub const O: u32 = 1;
pub const N: u32 = 2;
pub const X: u32 = 1 << 28;
pub const D: u32 = 1 << 29;
pub const C: u32 = 1 << 30;
pub const V: u32 = 1 << 31;

/// An enum and lists of its variants.
macro_rules! listed {
    ($(#[$about:meta])* enum $name:ident { $(all of $all:ident { $($variant:ident,)* })* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name { $($($variant),*),* }

        $(pub const $all: &[$name] = &[$($name::$variant),*];)*
    };
}

listed! {
    /// What a cell is when the event meets it.
    enum Row {
        all of ROWS {
            Owned,
            Read,
            Written,
            Boxed,
            Keyed,
            KeyedRead,
            KeyedWritten,
            DoomedRead,
            DoomedWritten,
            Stale,
            Reserved,
            Dying,
            DyingStale,
            Free,
        }
        all of SENT_ROWS {
            Sent,
            Retired,
        }
        // The slab is being dropped or is gone; only handles can be asked.
        all of CLOSING_ROWS {
            CondemnedRead,
            CondemnedWritten,
            CondemnedBoxed,
            ClosedStale,
            ClosedReserved,
            ClosedOwned,
            ClosedRead,
            ClosedWritten,
            ClosedBoxed,
            ClosedDying,
        }
    }
}

listed! {
    /// What meets a cell.
    enum Event {
        all of EVENTS {
            KeyGet,
            KeyGetMut,
            KeyRemove,
            KeyContains,
            SlotGet,
            SlotGetMut,
            SlotDrop,
            SlotIntoInner,
            SlotTryIntoInner,
            SlotTake,
            SlotTryTake,
            SlotIntoBox,
            SlotTryIntoBox,
            SlotReplace,
            SlotTryReplace,
            SlotAndModify,
            SlotLeak,
            Regain,
            LastBorrowEnds,
            Clear,
            Iterate,
            IterateMut,
            ListKeys,
            RetainKeep,
            RetainDrop,
            DrainOut,
            DrainDropped,
            BoxDrop,
            BoxIntoInner,
            BoxIntoSlot,
            BoxIntoRaw,
            VacantDrop,
            VacantInsert,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Yes,
    No,
    Panic,
}

use Answer::{No, Panic, Yes};
use Event::*;
use Row::*;

impl Row {
    pub fn state(self) -> u32 {
        match self {
            Owned => 0,
            Read => N,
            Written | Boxed => X,
            Sent | Retired => X | N,
            Keyed => O,
            KeyedRead => O | N,
            KeyedWritten => O | X,
            DoomedRead => O | D | N,
            DoomedWritten => O | D | X,
            Stale | Reserved => V,
            Dying => V | X | O,
            DyingStale => V | X,
            Free => V | O,
            CondemnedRead => D | N,
            CondemnedWritten | CondemnedBoxed => D | X,
            ClosedStale | ClosedReserved => V | C,
            ClosedOwned => C,
            ClosedRead => D | C | N,
            ClosedWritten => D | C | X,
            ClosedBoxed => X | C,
            ClosedDying => V | X | C,
        }
    }

    pub fn has_slot(self) -> bool {
        matches!(
            self,
            Owned
                | Read
                | Written
                | Stale
                | DyingStale
                | CondemnedRead
                | CondemnedWritten
                | ClosedStale
                | ClosedOwned
                | ClosedRead
                | ClosedWritten
                | ClosedDying
        )
    }

    pub fn has_guard(self) -> bool {
        matches!(
            self,
            Read | Written
                | KeyedRead
                | KeyedWritten
                | DoomedRead
                | DoomedWritten
                | CondemnedRead
                | CondemnedWritten
                | ClosedRead
                | ClosedWritten
        )
    }
}

/// The rows of a slab that is being dropped or is gone. After the last holder
/// the state is the one with which the cell was released.
fn expected_closing(row: Row, event: Event) -> Option<(Answer, u32)> {
    let state = row.state();
    Some(match event {
        BoxDrop | BoxIntoInner if matches!(row, CondemnedBoxed | ClosedBoxed) => {
            (Yes, V | O | (state & C))
        }
        BoxIntoSlot if matches!(row, CondemnedBoxed | ClosedBoxed) => (Yes, state & C),
        VacantDrop if row == ClosedReserved => (Yes, V | O | C),
        VacantInsert if row == ClosedReserved => (Yes, C),
        LastBorrowEnds if row.has_guard() => (Yes, V | (state & C)),
        _ if !row.has_slot() => return None,
        SlotGet | SlotGetMut | SlotReplace => (Panic, state),
        SlotTryReplace | SlotAndModify => (No, state),
        SlotDrop | SlotLeak if row == ClosedOwned => (Yes, V | O | C),
        SlotDrop | SlotLeak => (Yes, state | O),
        SlotIntoInner | SlotTryIntoInner if row == ClosedOwned => (Yes, V | O | C),
        SlotTake | SlotIntoBox if row == ClosedOwned => (Panic, V | O | C),
        SlotIntoInner | SlotTake | SlotIntoBox => (Panic, state | O),
        SlotTryIntoInner | SlotTryTake | SlotTryIntoBox => (No, state),
        _ => return None,
    })
}

/// The table: the answer, and the state afterwards, while the guard, box or
/// reservation that the event gave is still held. `None` where the event cannot
/// happen.
pub fn expected(row: Row, event: Event) -> Option<(Answer, u32)> {
    if CLOSING_ROWS.contains(&row) {
        return expected_closing(row, event);
    }
    let state = row.state();
    let slot_gone = match row {
        Owned => V | O,
        Read => O | D | N,
        Written => O | D | X,
        Stale => V | O,
        DyingStale => V | X | O,
        _ => state,
    };
    Some(match event {
        KeyGet | Iterate => match row {
            Owned => (Yes, N),
            Read => (Yes, 2 * N),
            Keyed => (Yes, O | N),
            KeyedRead => (Yes, O | (2 * N)),
            _ => (No, state),
        },
        KeyGetMut | IterateMut => match row {
            Owned => (Yes, X),
            Keyed => (Yes, O | X),
            _ => (No, state),
        },
        RetainKeep => match row {
            Owned | Keyed => (Yes, state),
            _ => (No, state),
        },
        KeyRemove | RetainDrop | DrainOut | DrainDropped => match row {
            Owned => (Yes, V),
            Keyed => (Yes, V | O),
            _ => (No, state),
        },
        KeyContains | ListKeys => match row {
            Owned | Read | Written | Boxed | Keyed | KeyedRead | KeyedWritten | Sent | Retired => {
                (Yes, state)
            }
            _ => (No, state),
        },
        Regain => match row {
            Keyed => (Yes, 0),
            KeyedRead => (Yes, N),
            _ => (No, state),
        },
        Clear => match row {
            Owned => (Yes, V),
            Keyed => (Yes, V | O),
            Read | Written | Boxed | KeyedRead | KeyedWritten | Sent => (No, state),
            Retired => (Yes, V | O),
            _ => (Yes, state),
        },
        LastBorrowEnds => match row {
            Read | Written => (Yes, 0),
            KeyedRead | KeyedWritten => (Yes, O),
            DoomedRead | DoomedWritten => (Yes, V | O),
            _ => return None,
        },
        BoxDrop | BoxIntoInner | BoxIntoSlot | BoxIntoRaw if row != Boxed => return None,
        BoxDrop | BoxIntoInner => (Yes, V | O),
        BoxIntoSlot => (Yes, 0),
        BoxIntoRaw => (Yes, X),
        VacantDrop | VacantInsert if row != Reserved => return None,
        VacantDrop => (Yes, V | O),
        VacantInsert => (Yes, 0),
        _ if !row.has_slot() => return None,
        SlotGet => match row {
            Owned => (Yes, N),
            Read => (Yes, 2 * N),
            _ => (Panic, state),
        },
        SlotGetMut | SlotReplace if row == Owned => (Yes, if event == SlotGetMut { X } else { 0 }),
        SlotGetMut | SlotReplace => (Panic, state),
        SlotTryReplace => (if row == Owned { Yes } else { No }, state),
        SlotAndModify => match row {
            Owned => (Yes, 0),
            Stale | DyingStale => (No, state),
            _ => (Panic, state),
        },
        SlotDrop => (Yes, slot_gone),
        SlotLeak => match row {
            Owned => (Yes, O),
            Stale => (Yes, V | O),
            _ => (Yes, state | O),
        },
        SlotIntoInner | SlotTake | SlotIntoBox if row != Owned => (Panic, slot_gone),
        SlotTryIntoInner | SlotTryTake | SlotTryIntoBox if row != Owned => (No, state),
        SlotIntoInner | SlotTryIntoInner => (Yes, V | O),
        SlotTake | SlotTryTake => (Yes, V),
        SlotIntoBox | SlotTryIntoBox => (Yes, X),
    })
}
