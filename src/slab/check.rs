//! The invariants, walked; for tests and fuzzing.

use alloc::collections::BTreeSet;

use super::cell::CellPtr;
use super::cells::{Cells, Memory};
use super::state::State;
use crate::key::Key;

/// The key of the cell `count` below the top of the stack; `None` below the
/// bottom.
pub(crate) fn free_key<T, M: Memory>(cells: Cells<'_, T, M>, count: usize) -> Option<Key> {
    let entry = cells.header().stack.peek(count)??;
    // SAFETY: by `free-on-stack` a cell of this slab.
    Some(unsafe { CellPtr::<T>::new(entry).shared_key() })
}

/// Walks every invariant that can be walked, and panics on the first that does
/// not hold; O(slots · log slots), allocates.
pub(crate) fn check<T, M: Memory>(cells: Cells<'_, T, M>) {
    let header = cells.header();
    let mut free = BTreeSet::new();
    let (mut held, mut others, mut sent) = (0, 0, 0);
    for index in 0..cells.bound() {
        let Some(cell) = cells.at(index) else {
            continue;
        };
        let state = cell.state();
        state.check();
        if state.is_sent() {
            // Its key may be another thread's (`link-at-key`).
            (sent, others) = (sent + 1, others + 1);
            continue;
        }
        let key = cell.key();
        if key.is_none() {
            assert!(
                state == State::FREE,
                "table-entries: a hole is free for ever"
            );
            continue;
        }
        assert_eq!(key.index(), index, "a stamp's key is its cell's");
        if state == State::FREE {
            free.insert(cell.start());
        } else if state == State::HELD {
            held += 1;
        } else {
            others += 1;
        }
    }

    let unstamped = cells.unstamped() + cells.memory().unfilled();
    let all = free.len() + unstamped + held + others;
    assert_eq!(header.slots(), all, "slots-sum: slots");
    assert_eq!(
        free.len() + unstamped,
        header.free(),
        "slots-sum: free cells"
    );
    assert!(
        header.stale() <= held,
        "stale-count: a stale handle holds a cell"
    );
    assert_eq!(header.sent(), sent, "sent-count: what was sent");
    let taken = super::sent::taken(cells);
    assert!(
        taken <= header.sent(),
        "sent-count: what was taken was sent"
    );
    header
        .stack
        .check(|cell| cell.is_some_and(|cell| free.remove(&cell)));
    let fresh = free.len() + unstamped;
    assert_eq!(
        fresh,
        header.fresh(),
        "stacked-or-fresh: on the stack, or fresh"
    );
}

/// `check` finds what it looks for.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::bounded::BoundedSlab;
    use crate::slab::cell::Live;
    use crate::slab::header::SlabHeader;

    /// Breaks an invariant of a slab with two values, a reservation and two
    /// free cells, and leaks the slab: dropping it would not be sound.
    fn check_broken(break_it: impl FnOnce(&SlabHeader, &dyn Fn(u32) -> Live<'static, u64>)) {
        let slab = BoundedSlab::leak(5);
        slab.insert(1).unwrap().leak();
        slab.insert(2).unwrap().leak();
        core::mem::forget(slab.vacant_slot().unwrap());
        slab.check();
        break_it(slab.cells().header(), &|key| {
            slab.cells().get(Key::from_raw(key)).unwrap()
        });
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

    finds!(a_slot_too_many, "slots-sum: ", |header, _| header
        .add_slots(1));
    finds!(a_lost_cell, "slots-sum: free cells", |header, _| {
        header.stack.pop();
    });
    finds!(
        a_fresh_cell_too_many,
        "slots-sum: free cells",
        |header, _| header.add_fresh(1)
    );
    finds!(a_stale_slot_too_many, "stale-count", |header, _| {
        header.count_stale();
        header.count_stale();
    });
    finds!(a_sent_cell_too_many, "sent-count", |header, _| header
        .count_sent());
    finds!(
        a_cell_twice_on_the_stack,
        "free-on-stack: distinct",
        |header, _| {
            header.stack.pop();
            let top = header.stack.pop().unwrap();
            // SAFETY: breaks what it must, as is the purpose; the slab is leaked.
            unsafe {
                header.stack.push(top);
                header.stack.push(top);
            }
        }
    );
    finds!(
        an_overwritten_bottom,
        "stack-room: below the bottom",
        |header, place| {
            // SAFETY: breaks what it must, as is the purpose; the slab is leaked.
            unsafe { header.stack.overwrite_below(Some(place(3).start())) };
        }
    );
    finds!(
        a_freed_value_in_use,
        "free-on-stack: distinct",
        |header, place| {
            header.stack.pop();
            // SAFETY: breaks what it must, as is the purpose; the slab is leaked.
            unsafe { header.stack.push(place(0).start()) };
        }
    );
    finds!(
        a_doomed_value_without_a_borrow,
        "borrow-keeps-value: doomed",
        |_, place| {
            place(0).force_state(State::UNHELD.doomed());
        }
    );
    finds!(
        readers_of_a_written_value,
        "readers-or-writer",
        |_, place| {
            // One reader beside `X` would say that it was sent.
            let read = State::OWNED.read().and_then(State::read).unwrap().bits();
            place(0).force_state(State::of_bits(read | State::EXCLUSIVE.bits()));
        }
    );
    finds!(readers_of_no_value, "readers-or-writer", |_, place| {
        let read = State::OWNED.read().unwrap().bits();
        place(2).force_state(State::of_bits(read | State::HELD.bits()));
    });
    finds!(
        a_cell_closed_in_a_living_slab,
        "closed under",
        |_, place| place(0).force_state(State::UNHELD.closed())
    );
}
