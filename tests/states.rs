//! Every cell of the state table, one after the other: the state a cell is in,
//! the event that meets it, the answer and the state it goes to.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{AnySlab, Hooked, Kind, panics};
use flatslab::{Key, Ref, RefMut, Slot, SlotBox, VacantSlot};

// The bits of the state word, named as in DESIGN.md.
const O: u32 = 1;
const N: u32 = 2;
const D: u32 = 1 << 28;
const X: u32 = 1 << 29;
const C: u32 = 1 << 30;
const V: u32 = 1 << 31;

/// An enum and a list of all of it.
macro_rules! listed {
    ($(#[$about:meta])* enum $name:ident, all in $all:ident { $($variant:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        enum $name { $($variant),* }

        const $all: &[$name] = &[$($name::$variant),*];
    };
}

listed! {
    /// What a cell is when the event comes.
    enum Row, all in ROWS {
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
}

listed! {
    /// What comes.
    enum Event, all in EVENTS {
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
    BoxDrop,
    BoxIntoInner,
    BoxIntoSlot,
    BoxIntoRaw,
    VacantDrop,
    VacantInsert,
}
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Yes,
    No,
    Panic,
}

use Answer::{No, Panic, Yes};
use Event::*;
use Row::*;

impl Row {
    fn state(self) -> u32 {
        match self {
            Owned => 0,
            Read => N,
            Written | Boxed => X,
            Keyed => O,
            KeyedRead => O | N,
            KeyedWritten => O | X,
            DoomedRead => O | D | N,
            DoomedWritten => O | D | X,
            Stale | Reserved => V,
            Dying => V | X | O,
            DyingStale => V | X,
            Free => V | O,
        }
    }

    fn has_slot(self) -> bool {
        matches!(self, Owned | Read | Written | Stale | DyingStale)
    }

    fn has_guard(self) -> bool {
        matches!(
            self,
            Read | Written | KeyedRead | KeyedWritten | DoomedRead | DoomedWritten
        )
    }
}

/// The table: the answer, and the state afterwards while what the event gave
/// (guard, box, reservation) is still held. `None` where the event cannot be.
fn expected(row: Row, event: Event) -> Option<(Answer, u32)> {
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
        KeyGet => match row {
            Owned => (Yes, N),
            Read => (Yes, 2 * N),
            Keyed => (Yes, O | N),
            KeyedRead => (Yes, O | (2 * N)),
            _ => (No, state),
        },
        KeyGetMut => match row {
            Owned => (Yes, X),
            Keyed => (Yes, O | X),
            _ => (No, state),
        },
        KeyRemove => match row {
            Owned => (Yes, V),
            Keyed => (Yes, V | O),
            _ => (No, state),
        },
        KeyContains => match row {
            Owned | Read | Written | Boxed | Keyed | KeyedRead | KeyedWritten => (Yes, state),
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
            Stale | Reserved | Dying | DyingStale | Free => (Yes, state),
            _ => (No, state),
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

enum Guard<'a> {
    Shared(Ref<'a, Hooked>),
    Exclusive(RefMut<'a, Hooked>),
}

impl Guard<'_> {
    fn value(&self) -> &Hooked {
        match self {
            Guard::Shared(guard) => guard,
            Guard::Exclusive(guard) => guard,
        }
    }
}

/// All that may hold the cell.
#[derive(Default)]
struct Holders<'a> {
    slot: Option<Slot<Hooked>>,
    vacant: Option<VacantSlot<Hooked>>,
    boxed: Option<SlotBox<Hooked>>,
    guard: Option<Guard<'a>>,
}

/// Lets `event` happen and says how it was answered and what state it left.
fn happen<'a, S: AnySlab<Hooked>>(
    slab: &'a S,
    key: Key,
    holders: &mut Holders<'a>,
    event: Event,
) -> (Answer, u32) {
    let state = || slab.state_bits(key).unwrap();
    let yes = |yes: bool| if yes { Yes } else { No };
    let answer = match event {
        KeyGet => {
            let guard = slab.get(key);
            return (yes(guard.is_some()), state());
        }
        KeyGetMut => {
            let guard = slab.get_mut(key);
            return (yes(guard.is_some()), state());
        }
        KeyRemove => {
            let removed = slab.try_remove_by_key(key);
            let answer = yes(removed.is_some());
            if removed.is_none() {
                assert!(panics(|| slab.remove_by_key(key)));
            }
            answer
        }
        KeyContains => yes(slab.contains_key(key)),
        Regain => match slab.slot(key) {
            Some(slot) => {
                assert!(slab.slot(key).is_none(), "there are never two owners");
                holders.slot = Some(slot);
                Yes
            }
            None => No,
        },
        Clear => {
            let cleared = slab.try_clear();
            if cleared.is_err() {
                assert!(panics(|| slab.clear()));
            }
            yes(cleared.is_ok())
        }
        LastBorrowEnds => {
            drop(holders.guard.take().unwrap());
            Yes
        }
        SlotGet => {
            let slot = holders.slot.as_ref().unwrap();
            let guard = slot.try_get();
            if guard.is_none() {
                assert!(panics(|| slot.get()));
                return (Panic, state());
            }
            return (Yes, state());
        }
        SlotGetMut => {
            let slot = holders.slot.as_ref().unwrap();
            let guard = slot.try_get_mut();
            if guard.is_none() {
                assert!(panics(|| slot.get_mut()));
                return (Panic, state());
            }
            return (Yes, state());
        }
        SlotReplace => {
            let slot = holders.slot.as_ref().unwrap();
            if panics(|| slot.replace(Hooked::plain())) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryReplace => {
            let slot = holders.slot.as_ref().unwrap();
            yes(slot.try_replace(Hooked::plain()).is_ok())
        }
        SlotAndModify => {
            let slot = holders.slot.as_ref().unwrap();
            let mut called = false;
            if panics(|| slot.and_modify(|_| called = true).key()) {
                Panic
            } else {
                yes(called)
            }
        }
        SlotDrop => {
            drop(holders.slot.take().unwrap());
            Yes
        }
        SlotLeak => {
            assert_eq!(holders.slot.take().unwrap().leak(), key);
            Yes
        }
        SlotIntoInner => {
            let slot = holders.slot.take().unwrap();
            if panics(|| slab.into_inner(slot)) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryIntoInner => match holders.slot.take().unwrap().try_into_inner() {
            Ok(_value) => Yes,
            Err(slot) => {
                holders.slot = Some(slot);
                No
            }
        },
        SlotTake => {
            let slot = holders.slot.take().unwrap();
            let vacant = &mut holders.vacant;
            if panics(|| *vacant = Some(slot.take().1)) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryTake => match holders.slot.take().unwrap().try_take() {
            Ok((_value, vacant)) => {
                holders.vacant = Some(vacant);
                Yes
            }
            Err(slot) => {
                holders.slot = Some(slot);
                No
            }
        },
        SlotIntoBox => {
            let slot = holders.slot.take().unwrap();
            let boxed = &mut holders.boxed;
            if panics(|| *boxed = Some(slot.into_box())) {
                Panic
            } else {
                Yes
            }
        }
        SlotTryIntoBox => match holders.slot.take().unwrap().try_into_box() {
            Ok(boxed) => {
                holders.boxed = Some(boxed);
                Yes
            }
            Err(slot) => {
                holders.slot = Some(slot);
                No
            }
        },
        BoxDrop => {
            drop(holders.boxed.take().unwrap());
            Yes
        }
        BoxIntoInner => {
            drop(SlotBox::into_inner(holders.boxed.take().unwrap()));
            Yes
        }
        BoxIntoSlot => {
            holders.slot = Some(SlotBox::into_slot(holders.boxed.take().unwrap()));
            Yes
        }
        BoxIntoRaw => {
            let pointer = SlotBox::into_raw(holders.boxed.take().unwrap());
            let between = state();
            // SAFETY: straight from `into_raw` of this slab's box.
            holders.boxed = Some(unsafe { slab.box_from_raw(pointer) });
            return (Yes, between);
        }
        VacantDrop => {
            drop(holders.vacant.take().unwrap());
            Yes
        }
        VacantInsert => {
            holders.slot = Some(holders.vacant.take().unwrap().insert(Hooked::plain()));
            Yes
        }
    };
    (answer, state())
}

/// Brings a cell into the row's state and lets the event happen; `dying` rows
/// do so from within the destructor.
fn drive<K: Kind>(row: Row, event: Event) -> (Answer, u32) {
    let slab = Rc::new(K::Slab::<Hooked>::with_room(4));
    let bystander = slab.insert(Hooked::plain()).unwrap();
    let result = if matches!(row, Dying | DyingStale) {
        drive_dying::<K>(&slab, row, event)
    } else {
        let slot = slab.insert(Hooked::plain()).unwrap();
        let key = slot.key();
        let mut holders = Holders::default();
        match row {
            Owned => holders.slot = Some(slot),
            Read | KeyedRead | DoomedRead => {
                holders.guard = Some(Guard::Shared(slab.get(key).unwrap()));
                holders.slot = Some(slot);
            }
            Written | KeyedWritten | DoomedWritten => {
                holders.guard = Some(Guard::Exclusive(slab.get_mut(key).unwrap()));
                holders.slot = Some(slot);
            }
            Boxed => holders.boxed = Some(slot.into_box()),
            Keyed => {
                slot.leak();
            }
            Stale => {
                slab.remove_by_key(key);
                holders.slot = Some(slot);
            }
            Reserved => holders.vacant = Some(slot.take().1),
            Free => drop(slot),
            Dying | DyingStale => unreachable!("driven from within a destructor"),
        }
        match row {
            KeyedRead | KeyedWritten => {
                holders.slot.take().unwrap().leak();
            }
            DoomedRead | DoomedWritten => drop(holders.slot.take()),
            _ => {}
        }
        assert_eq!(slab.state_bits(key), Some(row.state()), "building {row:?}");
        let result = happen(&*slab, key, &mut holders, event);
        if let Some(guard) = &holders.guard {
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

fn drive_dying<K: Kind>(slab: &Rc<K::Slab<Hooked>>, row: Row, event: Event) -> (Answer, u32) {
    let result = Rc::new(RefCell::new(None));
    let shelf: Rc<RefCell<Option<Slot<Hooked>>>> = Rc::default();
    let vacant = slab.vacant_slot().unwrap();
    let key = vacant.key();
    let hook = {
        let (slab, shelf, result) = (slab.clone(), shelf.clone(), result.clone());
        move || {
            assert_eq!(slab.state_bits(key), Some(row.state()), "building {row:?}");
            let mut holders = Holders {
                slot: shelf.take(),
                ..Holders::default()
            };
            *result.borrow_mut() = Some(happen(&*slab, key, &mut holders, event));
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
                (answer, format!("{state:#x}")),
                (expected.0, format!("{:#x}", expected.1)),
                "{row:?} {event:?}"
            );
            driven += 1;
        }
    }
    // 14 rows by key (6 events each), 6 that a borrow ends in, 5 rows with a
    // slot (13 events each), a box (4), a reservation (2).
    assert_eq!(driven, 14 * 6 + 6 + 5 * 13 + 4 + 2);
}

#[test]
fn a_borrow_ends_in_just_the_rows_that_have_a_guard() {
    for &row in ROWS {
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
    a_slot_outlives_its_slab_and_is_not_valid,
    a_stale_slot_outlives_its_slab,
    a_reservation_filled_after_its_slab_owns_what_nobody_reaches,
    a_guard_of_a_slot_outlives_the_slab_and_ends_its_value,
    a_box_keeps_its_value_after_the_slab,
    a_slab_may_go_while_one_of_its_destructors_runs,
    a_value_that_dies_after_its_slab_is_out_of_reach,
    a_doomed_value_met_during_slab_drop_is_out_of_reach_but_for_its_guards,
);
