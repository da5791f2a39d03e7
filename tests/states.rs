//! Every cell of the state table, one after the other: the state a cell is in,
//! the event that meets it, the answer and the state it goes to.

mod common;
#[path = "common/holders.rs"]
mod holders;
#[path = "common/table.rs"]
mod table;

use std::cell::RefCell;
use std::rc::Rc;

use common::{AnySlab, Hooked, Kind, panics};
use flatslab::{Key, Slot, SlotBox};
use holders::{Guard, Value, happen};
use table::Event::*;
use table::Row::*;
use table::{Answer, C, CLOSING_ROWS, D, EVENTS, Event, N, O, ROWS, Row, V, X, expected};

type Holders<'a> = holders::Holders<'a, Hooked>;

impl Value for Hooked {
    fn plain() -> Self {
        Hooked::plain()
    }
}

/// Brings the cell of `slot` into the row's state.
fn bring_to<S: AnySlab<Hooked>>(slab: &S, key: Key, slot: Slot<Hooked>, row: Row) -> Holders<'_> {
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
fn drive<K: Kind>(row: Row, event: Event) -> (Answer, Option<u32>) {
    let slab = Rc::new(K::Slab::<Hooked>::with_room(4));
    let bystander = slab.insert(Hooked::plain()).unwrap();
    let result = if matches!(row, Dying | DyingStale) {
        drive_dying::<K>(&slab, row, event)
    } else {
        let slot = slab.insert(Hooked::plain()).unwrap();
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
        slab.try_remove_by_key(key);
        result
    };
    slab.check();
    // Whatever happened, the cell can be used again, and the bystander was left alone.
    let _ = bystander.try_get();
    drop(bystander);
    slab.check();
    assert_eq!(slab.len(), 0, "{row:?} {event:?}: nothing is lost");
    let all: Vec<_> = (0..4)
        .map(|_| slab.insert(Hooked::plain()).unwrap())
        .collect();
    assert_eq!(all.len(), slab.len());
    result
}

fn drive_dying<K: Kind>(
    slab: &Rc<K::Slab<Hooked>>,
    row: Row,
    event: Event,
) -> (Answer, Option<u32>) {
    let result = Rc::new(RefCell::new(None));
    let shelf: Rc<RefCell<Option<Slot<Hooked>>>> = Rc::default();
    let vacant = slab.vacant_slot().unwrap();
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

fn every_cell_of_the_table<K: Kind>() {
    let mut driven = 0;
    for &row in ROWS {
        for &event in EVENTS {
            let Some(expected) = expected(row, event) else {
                continue;
            };
            let (answer, state) = drive::<K>(row, event);
            assert_eq!(
                (answer, format!("{state:#x?}")),
                (expected.0, format!("{:#x?}", Some(expected.1))),
                "{row:?} {event:?}"
            );
            driven += 1;
        }
    }
    // 14 rows by key (13 events each), 6 that a borrow ends in, 5 rows with a
    // slot (13 events each), a box (4), a reservation (2).
    assert_eq!(driven, 14 * 13 + 6 + 5 * 13 + 4 + 2);
}

/// A copy is to be had of what could be read, but for the number of readers.
/// (What can be copied has no destructor, so nothing is ever dying.)
fn a_copy_needs_a_value_that_nobody_writes<K: Kind>() {
    let slab = K::Slab::<u64>::with_room(4);
    let slot = slab.insert(7).unwrap();
    let key = slot.key();
    let state = || slab.state_bits(key).unwrap();
    let copied = |expected| assert_eq!((slab.get_copied(key), state()), expected);

    copied((Some(7), 0));
    let guard = slot.get();
    copied((Some(7), N));
    drop(guard);
    let guard = slot.get_mut();
    copied((None, X));
    drop(guard);
    slot.leak();
    copied((Some(7), O));
    let guard = slab.get(key).unwrap();
    copied((Some(7), O | N));
    drop(guard);
    let guard = slab.get_mut(key).unwrap();
    copied((None, O | X));
    drop(slab.slot(key));
    drop(guard);

    let slot = slab.slot(key).unwrap();
    let guard = slab.get(key).unwrap();
    drop(slot);
    copied((None, O | D | N));
    drop(guard);
    copied((None, V | O));

    let vacant = slab.vacant_slot().unwrap();
    assert_eq!(vacant.key(), key);
    copied((None, V));
    let slot = vacant.insert(8);
    slab.remove_by_key(key);
    copied((None, V));
    drop(slot);

    let boxed = slab.insert(9).unwrap().into_box();
    assert_eq!(SlotBox::key(&boxed), key);
    copied((None, X));
    drop(SlotBox::into_slot(boxed));
    assert_eq!(slab.get_copied(Key::NONE), None);
}

/// A chunk is given back when each of its cells is free, and in no other state.
#[test]
fn a_chunk_stays_while_a_cell_of_it_is_not_free() {
    use flatslab::Slab;
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
        slab.shrink();
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
    for &row in ROWS.iter().chain(CLOSING_ROWS) {
        assert_eq!(expected(row, LastBorrowEnds).is_some(), row.has_guard());
    }
}

// After the slab is gone there is no key to ask by: the second table.

/// A slab that is dropped while `holder` holds a cell, in the state it has then.
fn close<K: Kind, H>(holder: impl FnOnce(&K::Slab<Hooked>) -> H) -> H {
    let slab = K::Slab::<Hooked>::with_room(2);
    let held = holder(&slab);
    slab.check();
    drop(slab);
    held
}

fn a_slot_outlives_its_slab_and_is_not_valid<K: Kind>() {
    let slot = close::<K, _>(|slab| slab.insert(Hooked::plain()).unwrap());
    assert_eq!(slot.state_bits(), V | C);
    assert!(!slot.is_valid() && slot.try_get().is_none() && slot.try_get_mut().is_none());
    assert!(slot.try_replace(Hooked::plain()).is_err());
    assert_eq!(slot.key(), Key::from_raw(0));
    let slot = slot.try_into_inner().err().unwrap();
    let slot = slot.try_take().err().unwrap();
    let slot = slot.try_into_box().err().unwrap();
    assert_eq!(slot.leak(), Key::from_raw(0));
    for consume in [
        (|slot: Slot<Hooked>| drop(slot.into_inner())) as fn(Slot<Hooked>),
        |slot| drop(slot.take()),
        |slot| drop(slot.into_box()),
    ] {
        let slot = close::<K, _>(|slab| slab.insert(Hooked::plain()).unwrap());
        assert!(panics(|| consume(slot)));
    }
}

fn a_stale_slot_outlives_its_slab<K: Kind>() {
    let slot = close::<K, _>(|slab| {
        let slot = slab.insert(Hooked::plain()).unwrap();
        slab.remove_by_key(slot.key());
        slot
    });
    assert_eq!(slot.state_bits(), V | C);
    drop(slot);
}

fn a_reservation_filled_after_its_slab_owns_what_nobody_reaches<K: Kind>() {
    type Consume = fn(Slot<Hooked>) -> bool;
    // What a slot in state `C` answers, and whether it lets the value out.
    let ways: [(Consume, &str); 6] = [
        (|slot| panics(move || slot.take()), "take"),
        (|slot| panics(move || slot.into_box()), "into_box"),
        (|slot| !panics(move || slot.into_inner()), "into_inner"),
        (|slot| slot.try_into_inner().is_ok(), "try_into_inner"),
        (|slot| slot.leak() == Key::from_raw(0), "leak"),
        (|slot| !panics(move || drop(slot)), "drop"),
    ];
    for (consume, name) in ways {
        let dropped = Rc::new(std::cell::Cell::new(0));
        let vacant = close::<K, _>(|slab| slab.vacant_slot().unwrap());
        let count = dropped.clone();
        let slot = vacant.insert(Hooked::new(move || count.set(count.get() + 1)));
        assert_eq!(slot.state_bits(), C, "{name}");
        assert!(!slot.is_valid() && slot.try_get().is_none() && slot.try_get_mut().is_none());
        assert!(slot.try_replace(Hooked::plain()).is_err());
        assert!(panics(|| slot.get()) && panics(|| slot.get_mut()));
        assert!(consume(slot), "{name}");
        assert_eq!(dropped.get(), 1, "{name}");
    }
    drop(close::<K, _>(|slab| slab.vacant_slot().unwrap()));
}

fn a_guard_of_a_slot_outlives_the_slab_and_ends_its_value<K: Kind>() {
    for exclusive in [false, true] {
        let slab = K::Slab::<Hooked>::with_room(2);
        let dropped = Rc::new(std::cell::Cell::new(0));
        let count = dropped.clone();
        let slot = slab
            .insert(Hooked::new(move || count.set(count.get() + 1)))
            .unwrap();
        let guard = if exclusive {
            Guard::Exclusive(slot.get_mut())
        } else {
            Guard::Shared(slot.get())
        };
        drop(slab);
        assert_eq!(slot.state_bits(), D | C | if exclusive { X } else { N });
        assert!(!slot.is_valid() && slot.try_get().is_none());
        assert!(guard.value().is_armed() && dropped.get() == 0);
        drop(guard);
        assert_eq!((dropped.get(), slot.state_bits()), (1, V | C));
    }
}

fn a_box_keeps_its_value_after_the_slab<K: Kind>() {
    let make = || {
        let dropped = Rc::new(std::cell::Cell::new(0));
        let count = dropped.clone();
        let boxed = close::<K, _>(|slab| {
            let hooked = Hooked::new(move || count.set(count.get() + 1));
            slab.insert(hooked).unwrap().into_box()
        });
        assert!(boxed.is_armed());
        (boxed, dropped)
    };
    let (boxed, dropped) = make();
    drop(boxed);
    assert_eq!(dropped.get(), 1);

    let (boxed, dropped) = make();
    let value = SlotBox::into_inner(boxed);
    assert_eq!(dropped.get(), 0);
    drop(value);
    assert_eq!(dropped.get(), 1);

    let (boxed, dropped) = make();
    let slot = SlotBox::into_slot(boxed);
    assert_eq!((slot.state_bits(), dropped.get()), (C, 0));
    drop(slot);
    assert_eq!(dropped.get(), 1);

    let (boxed, dropped) = make();
    drop(SlotBox::into_pin(boxed));
    assert_eq!(dropped.get(), 1);
}

fn a_slab_may_go_while_one_of_its_destructors_runs<K: Kind>() {
    let slab = Rc::new(K::Slab::<Hooked>::with_room(2));
    let last = Rc::new(RefCell::new(None));
    let inner = last.clone();
    let slot = slab
        .insert(Hooked::new(move || drop(inner.take())))
        .unwrap();
    let other = slab.insert(Hooked::plain()).unwrap();
    *last.borrow_mut() = Some(slab);
    drop(slot);
    assert!(last.borrow().is_none());
    assert_eq!(other.state_bits(), V | C);
}

fn a_value_that_dies_after_its_slab_is_out_of_reach<K: Kind>() {
    let slab = K::Slab::<Hooked>::with_room(2);
    let vacant = slab.vacant_slot().unwrap();
    let shelf: Rc<RefCell<Option<Rc<Slot<Hooked>>>>> = Rc::default();
    let seen = Rc::new(std::cell::Cell::new(0));
    let (inner, met) = (shelf.clone(), seen.clone());
    let slot = Rc::new(vacant.insert(Hooked::new(move || {
        let slot = inner.take().unwrap();
        met.set(slot.state_bits());
        assert!(!slot.is_valid() && slot.try_get().is_none() && slot.try_get_mut().is_none());
    })));
    *shelf.borrow_mut() = Some(slot.clone());
    let guard = slot.get();
    drop(slab);
    drop(guard);
    assert_eq!((seen.get(), slot.state_bits()), (V | X | C, V | C));
}

fn a_doomed_value_met_during_slab_drop_is_out_of_reach_but_for_its_guards<K: Kind>() {
    let slab = K::Slab::<Hooked>::with_room(2);
    let slot = Rc::new(slab.insert(Hooked::plain()).unwrap());
    let seen = Rc::new(std::cell::Cell::new(0));
    let (witness, met) = (slot.clone(), seen.clone());
    slab.insert(Hooked::new(move || {
        met.set(witness.state_bits());
        assert!(witness.try_get().is_none() && witness.try_get_mut().is_none());
        assert!(witness.try_replace(Hooked::plain()).is_err());
        assert!(!witness.is_valid());
    }))
    .unwrap()
    .leak();
    let guard = slot.get();
    drop(slab);
    assert_eq!(seen.get(), D | N, "doomed, and its slot lives");
    drop(guard);
    assert_eq!(slot.state_bits(), V | C);
}

over_both_slabs!(
    every_cell_of_the_table,
    a_copy_needs_a_value_that_nobody_writes,
    a_slot_outlives_its_slab_and_is_not_valid,
    a_stale_slot_outlives_its_slab,
    a_reservation_filled_after_its_slab_owns_what_nobody_reaches,
    a_guard_of_a_slot_outlives_the_slab_and_ends_its_value,
    a_box_keeps_its_value_after_the_slab,
    a_slab_may_go_while_one_of_its_destructors_runs,
    a_value_that_dies_after_its_slab_is_out_of_reach,
    a_doomed_value_met_during_slab_drop_is_out_of_reach_but_for_its_guards,
);
