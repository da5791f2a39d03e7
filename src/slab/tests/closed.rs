//! The second half of the state table: the slab is being dropped, or is gone,
//! and only handles are left to ask.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flatslab::{Key, Slot, SlotBox, TrackedSlab};

use super::table::{C, D, N, V, X};
use crate::common::{Drops, Guard, Hooked, Room, over_both_slabs, panics};

/// Drops a slab while `holder` holds a cell of it.
fn close<M: Room, H>(holder: impl FnOnce(&TrackedSlab<Hooked, M>) -> H) -> H {
    let slab = M::with_room::<Hooked>(2);
    let held = holder(&slab);
    slab.check();
    drop(slab);
    held
}

fn a_slot_outlives_its_slab_and_is_not_valid<M: Room>() {
    let make = || close::<M, _>(|slab| slab.try_insert(Hooked::plain()).unwrap());
    let slot = make();
    assert_eq!(slot.state_bits(), V | C);
    assert!(!slot.is_valid() && slot.try_get().is_err() && slot.try_get_mut().is_err());
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
        assert!(panics(|| consume(make())));
    }
}

fn a_stale_slot_outlives_its_slab<M: Room>() {
    let slot = close::<M, _>(|slab| {
        let slot = slab.try_insert(Hooked::plain()).unwrap();
        slab.remove_by_key(slot.key());
        slot
    });
    assert_eq!(slot.state_bits(), V | C);
    drop(slot);
}

fn a_reservation_filled_after_its_slab_owns_a_value_out_of_reach<M: Room>() {
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
        let drops = Drops::new();
        let vacant = close::<M, _>(|slab| slab.try_vacant_slot().unwrap());
        let slot = vacant.insert(drops.hooked());
        assert_eq!(slot.state_bits(), C, "{name}");
        assert!(!slot.is_valid() && slot.try_get().is_err() && slot.try_get_mut().is_err());
        assert!(slot.try_replace(Hooked::plain()).is_err());
        assert!(panics(|| slot.get()) && panics(|| slot.get_mut()));
        assert!(consume(slot), "{name}");
        assert_eq!(drops.count(), 1, "{name}");
    }
    drop(close::<M, _>(|slab| slab.try_vacant_slot().unwrap()));
}

fn a_guard_of_a_slot_outlives_the_slab_and_ends_its_value<M: Room>() {
    for exclusive in [false, true] {
        let slab = M::with_room::<Hooked>(2);
        let drops = Drops::new();
        let slot = slab.try_insert(drops.hooked()).unwrap();
        let guard = if exclusive {
            Guard::Exclusive(slot.get_mut())
        } else {
            Guard::Shared(slot.get())
        };
        drop(slab);
        assert_eq!(slot.state_bits(), D | C | if exclusive { X } else { N });
        assert!(!slot.is_valid() && slot.try_get().is_err());
        assert!(guard.value().is_armed() && drops.count() == 0);
        drop(guard);
        assert_eq!((drops.count(), slot.state_bits()), (1, V | C));
    }
}

fn a_box_keeps_its_value_after_the_slab<M: Room>() {
    let make = || {
        let drops = Drops::new();
        let boxed = close::<M, _>(|slab| slab.try_insert(drops.hooked()).unwrap().into_box());
        assert!(boxed.is_armed());
        (boxed, drops)
    };
    let (boxed, drops) = make();
    drop(boxed);
    assert_eq!(drops.count(), 1);

    let (boxed, drops) = make();
    let value = SlotBox::into_inner(boxed);
    assert_eq!(drops.count(), 0);
    drop(value);
    assert_eq!(drops.count(), 1);

    let (boxed, drops) = make();
    let slot = SlotBox::into_slot(boxed);
    assert_eq!((slot.state_bits(), drops.count()), (C, 0));
    drop(slot);
    assert_eq!(drops.count(), 1);

    let (boxed, drops) = make();
    drop(SlotBox::into_pin(boxed));
    assert_eq!(drops.count(), 1);
}

fn a_slab_may_be_dropped_by_a_destructor_of_its_values<M: Room>() {
    let slab = Rc::new(M::with_room::<Hooked>(2));
    let last = Rc::new(RefCell::new(None));
    let inner = last.clone();
    let slot = slab
        .try_insert(Hooked::new(move || drop(inner.take())))
        .unwrap();
    let other = slab.try_insert(Hooked::plain()).unwrap();
    *last.borrow_mut() = Some(slab);
    drop(slot);
    assert!(last.borrow().is_none());
    assert_eq!(other.state_bits(), V | C);
}

fn a_value_that_dies_after_its_slab_is_out_of_reach<M: Room>() {
    let slab = M::with_room::<Hooked>(2);
    let vacant = slab.try_vacant_slot().unwrap();
    let shelf: Rc<RefCell<Option<Rc<Slot<Hooked>>>>> = Rc::default();
    let seen = Rc::new(Cell::new(0));
    let (inner, met) = (shelf.clone(), seen.clone());
    let slot = Rc::new(vacant.insert(Hooked::new(move || {
        let slot = inner.take().unwrap();
        met.set(slot.state_bits());
        assert!(!slot.is_valid() && slot.try_get().is_err() && slot.try_get_mut().is_err());
    })));
    *shelf.borrow_mut() = Some(slot.clone());
    let guard = slot.get();
    drop(slab);
    drop(guard);
    assert_eq!((seen.get(), slot.state_bits()), (V | X | C, V | C));
}

fn a_doomed_value_met_during_slab_drop_is_reached_by_its_guards_alone<M: Room>() {
    let slab = M::with_room::<Hooked>(2);
    let slot = Rc::new(slab.try_insert(Hooked::plain()).unwrap());
    let seen = Rc::new(Cell::new(0));
    let (witness, met) = (slot.clone(), seen.clone());
    slab.try_insert(Hooked::new(move || {
        met.set(witness.state_bits());
        assert!(witness.try_get().is_err() && witness.try_get_mut().is_err());
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
    a_slot_outlives_its_slab_and_is_not_valid,
    a_stale_slot_outlives_its_slab,
    a_reservation_filled_after_its_slab_owns_a_value_out_of_reach,
    a_guard_of_a_slot_outlives_the_slab_and_ends_its_value,
    a_box_keeps_its_value_after_the_slab,
    a_slab_may_be_dropped_by_a_destructor_of_its_values,
    a_value_that_dies_after_its_slab_is_out_of_reach,
    a_doomed_value_met_during_slab_drop_is_reached_by_its_guards_alone,
);
