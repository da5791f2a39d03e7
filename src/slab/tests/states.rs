//! Every cell of the state table of a living slab: the state a cell is in, the
//! event that meets it, the answer and the state it goes to.

use std::cell::RefCell;
use std::rc::Rc;

use flatslab::sync::SendSlot;
use flatslab::{AccessError, Key, Ref, Slab, Slot, SlotBox, TrackedSlab};

use super::holders::{Value, happen};
use super::table::Event::*;
use super::table::Row::*;
use super::table::{
    Answer, CLOSING_ROWS, D, EVENTS, Event, N, O, ROWS, Row, SENT_ROWS, V, X, expected,
};
use crate::common::{Guard, Hooked, Room, over_both_slabs, panics};
use crate::slab::state::State;

type Holders<'a> = super::holders::Holders<'a, Hooked>;

impl Value for Hooked {
    const ASKS_TWICE: bool = true;

    fn plain() -> Self {
        Hooked::plain()
    }
}

/// Brings the cell of `slot` into the row's state.
fn bring_to<M: Room>(
    slab: &TrackedSlab<Hooked, M>,
    key: Key,
    slot: Slot<Hooked>,
    row: Row,
) -> Holders<'_> {
    let holders = Holders::default();
    match row {
        Owned => holders.slot.set(Some(slot)),
        Read | KeyedRead | DoomedRead => {
            let guard = Guard::Shared(slab.get(key).unwrap());
            holders.guards.borrow_mut().push(guard);
            holders.slot.set(Some(slot));
        }
        Written | KeyedWritten | DoomedWritten => {
            let guard = Guard::Exclusive(slab.get_mut(key).unwrap());
            holders.guards.borrow_mut().push(guard);
            holders.slot.set(Some(slot));
        }
        Boxed => holders.boxed.set(Some(slot.into_box())),
        // The value does not leave this thread.
        Sent => holders.sent.set(slot.begin_send().ok()),
        Retired => assert!(SendSlot::retire(slot.begin_send().ok().unwrap()).is_ok()),
        Keyed => {
            slot.leak();
        }
        Stale => {
            slab.remove_by_key(key);
            holders.slot.set(Some(slot));
        }
        Reserved => holders.vacant.set(Some(slot.take().1)),
        Free => drop(slot),
        _ => unreachable!("only while a destructor runs, or the slab goes"),
    }
    match row {
        KeyedRead | KeyedWritten => {
            holders.slot.take().unwrap().leak();
        }
        DoomedRead | DoomedWritten => drop(holders.slot.take()),
        _ => {}
    }
    holders
}

/// Brings a cell into the row's state and lets the event happen; `dying` rows
/// do so from within the destructor.
fn drive<M: Room>(row: Row, event: Event) -> (Answer, Option<u32>) {
    let slab = Rc::new(M::with_room::<Hooked>(4));
    let bystander = slab.try_insert(Hooked::plain()).unwrap();
    let result = if matches!(row, Dying | DyingStale) {
        drive_dying::<M>(&slab, row, event)
    } else {
        let slot = slab.try_insert(Hooked::plain()).unwrap();
        let key = slot.key();
        let holders = bring_to(&*slab, key, slot, row);
        assert_eq!(slab.state_bits(key), Some(row.state()), "building {row:?}");
        let result = happen(Some(&*slab), key, &holders, event);
        for guard in holders.guards.borrow().iter() {
            assert!(!guard.value().is_armed(), "the guard's value is untouched");
        }
        slab.check();
        drop(holders);
        slab.check();
        assert_eq!(
            slab.retired_values(),
            usize::from(row == Retired && event != Clear)
        );
        slab.reclaim();
        let _ = slab.try_remove_by_key(key);
        result
    };
    slab.check();
    // The cell can be used again, and the bystander is as before.
    let _ = bystander.try_get();
    drop(bystander);
    slab.check();
    assert_eq!(slab.len(), 0, "{row:?} {event:?}: nothing is lost");
    let all: Vec<_> = (0..4)
        .map(|_| slab.try_insert(Hooked::plain()).unwrap())
        .collect();
    assert_eq!(all.len(), slab.len());
    result
}

fn drive_dying<M: Room>(
    slab: &Rc<TrackedSlab<Hooked, M>>,
    row: Row,
    event: Event,
) -> (Answer, Option<u32>) {
    let result = Rc::new(RefCell::new(None));
    let shelf: Rc<RefCell<Option<Slot<Hooked>>>> = Rc::default();
    let vacant = slab.try_vacant_slot().unwrap();
    let key = vacant.key();
    let hook = {
        let (slab, shelf, result) = (slab.clone(), shelf.clone(), result.clone());
        move || {
            assert_eq!(slab.state_bits(key), Some(row.state()), "building {row:?}");
            let holders = Holders::default();
            holders.slot.set(shelf.take());
            *result.borrow_mut() = Some(happen(Some(&*slab), key, &holders, event));
            slab.check();
            *shelf.borrow_mut() = holders.slot.take();
        }
    };
    let slot = vacant.insert(Hooked::new(hook));
    match row {
        Dying => drop(slot),
        _ => {
            *shelf.borrow_mut() = Some(slot);
            // The bystander is cleared as well; its slot goes stale.
            slab.clear();
        }
    }
    drop(shelf.take());
    result.take().expect("the destructor ran")
}

fn every_cell_of_the_table<M: Room>() {
    let mut driven = 0;
    for &row in ROWS.iter().chain(SENT_ROWS) {
        for &event in EVENTS {
            let Some(expected) = expected(row, event) else {
                continue;
            };
            let (answer, state) = drive::<M>(row, event);
            assert_eq!(
                (answer, format!("{state:#x?}")),
                (expected.0, format!("{:#x?}", Some(expected.1))),
                "{row:?} {event:?}"
            );
            driven += 1;
        }
    }
    // 16 rows by key (13 events each), 6 that a borrow ends in, 5 rows with a
    // slot (13 events each), a box (4), a reservation (2).
    assert_eq!(driven, 16 * 13 + 6 + 5 * 13 + 4 + 2);
}

/// `get_copied` answers and panics where `get` does. A `Copy` value has no
/// destructor, so no row is dying.
fn a_copy_needs_a_value_without_a_writer<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slot = slab.try_insert(7).unwrap();
    let key = slot.key();
    let state = || slab.state_bits(key).unwrap();
    let copied = |expected| assert_eq!((slab.get_copied(key), state()), expected);
    let refused = |expected| {
        assert!(panics(|| slab.get_copied(key)));
        assert_eq!(state(), expected);
    };

    copied((Some(7), 0));
    let guard = slot.get();
    copied((Some(7), N));
    drop(guard);
    let guard = slot.get_mut();
    refused(X);
    drop(guard);
    slot.leak();
    copied((Some(7), O));
    let guard = slab.get(key).unwrap();
    copied((Some(7), O | N));
    drop(guard);
    let guard = slab.get_mut(key).unwrap();
    refused(O | X);
    drop(guard);

    let slot = slab.slot(key).unwrap();
    let guard = slab.get(key).unwrap();
    drop(slot);
    copied((None, O | D | N));
    drop(guard);
    copied((None, V | O));

    let vacant = slab.try_vacant_slot().unwrap();
    assert_eq!(vacant.key(), key);
    copied((None, V));
    let slot = vacant.insert(8);
    slab.remove_by_key(key);
    copied((None, V));
    drop(slot);

    let boxed = slab.try_insert(9).unwrap().into_box();
    assert_eq!(SlotBox::key(&boxed), key);
    refused(X);
    drop(SlotBox::into_slot(boxed));
    assert_eq!(slab.get_copied(Key::NONE), None);
}

/// One more reader would not count: it is refused, and said apart from a writer.
fn too_many_readers_are_a_conflict_of_their_own<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slot = slab.try_insert(7).unwrap();
    let key = slot.key();
    let guard = slot.get();
    let force = |bits| {
        let cell = slab.cells().get(key).unwrap();
        cell.force_state(State::of_bits(bits));
    };
    force(X - N);
    let refused = [
        slab.try_get(key).err(),
        slab.try_iter().next().unwrap().1.err(),
    ];
    assert_eq!(refused, [Some(AccessError::TooManyReaders); 2]);
    let refused = [slab.try_get_mut(key).err(), slab.try_clear().err()];
    assert_eq!(refused, [Some(AccessError::Borrowed); 2]);
    assert!(panics(|| slab.get(key)) && panics(|| slab.iter().next()));
    assert!(panics(|| Ref::clone(&guard)));
    assert_eq!(slab.get_copied(key), Some(7), "which counts no reader");
    assert_eq!(slab.state_bits(key), Some(X - N), "nothing has changed");
    force(X - 2 * N);
    drop(slab.get(key).unwrap());
    drop(Ref::clone(&guard));
    force(N);
    drop(guard);
    slab.check();
}

/// A chunk is given back when each of its cells is free, and in no other state.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chunk_stays_while_a_cell_of_it_is_not_free() {
    for (row, stays) in [
        (Owned, true),
        (Read, true),
        (Written, true),
        (Boxed, true),
        (Keyed, true),
        (KeyedRead, true),
        (KeyedWritten, true),
        (DoomedRead, true),
        (DoomedWritten, true),
        (Stale, true),
        (Reserved, true),
        (Sent, true),
        (Retired, true),
        (Free, false),
    ] {
        // The last cell of the second of three chunks.
        let slab = Slab::builder().chunk_capacity(2).build();
        let mut others: Vec<_> = (0..6).map(|_| slab.insert(Hooked::plain())).collect();
        let slot = others.remove(3);
        let key = slot.key();
        let holders = bring_to(&slab, key, slot, row);
        assert_eq!(slab.state_bits(key), Some(row.state()), "{row:?}");
        drop(others.remove(2));
        others.truncate(2);
        slab.check();
        slab.shrink_to_fit();
        slab.check();
        assert_eq!(slab.chunks(), 1 + usize::from(stays), "{row:?}");
        let left = stays.then_some(row.state());
        assert_eq!(slab.state_bits(key), left, "{row:?}");
        drop(holders);
        slab.check();
    }
}

#[test]
fn a_borrow_ends_in_just_the_rows_that_have_a_guard() {
    for &row in ROWS.iter().chain(SENT_ROWS).chain(CLOSING_ROWS) {
        assert_eq!(expected(row, LastBorrowEnds).is_some(), row.has_guard());
    }
}

/// The key after the last one leads to no cell.
fn a_key_past_the_last_slot_has_no_cell<M: Room>() {
    let slab = M::with_room::<u64>(3);
    let _first = slab.try_insert(0).unwrap();
    let past = slab.capacity() as u32;
    let _others: Vec<_> = (1..past)
        .map(|n| slab.try_insert(n.into()).unwrap())
        .collect();
    assert!(slab.state_bits(Key::from_raw(past - 1)).is_some());
    assert_eq!(slab.keys().size_hint(), (0, Some(slab.capacity())));
    assert_eq!(slab.state_bits(Key::from_raw(past)), None);
    assert_eq!(slab.state_bits(Key::NONE), None);
}

over_both_slabs!(
    #[cfg_attr(each_run, ignore = "weekly")]
    every_cell_of_the_table,
    a_copy_needs_a_value_without_a_writer,
    too_many_readers_are_a_conflict_of_their_own,
    a_key_past_the_last_slot_has_no_cell,
);
