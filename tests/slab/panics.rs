//! User code that panics, in every place where user code can run: no value and
//! no slot is lost, and none is dropped twice.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::{Key, Slab, Slot, SlotBox, TrackedSlab};

use crate::common::{Audit, Counted, Drops, Hooked, Room, over_both_slabs, panics};

/// Checks that the slab is empty and each of four slots can be used.
fn assert_whole<T, M: Room>(slab: &TrackedSlab<T, M>, value: impl Fn() -> T) {
    slab.audit();
    assert!(slab.is_empty());
    let all: Vec<_> = (0..4).map(|_| slab.try_insert(value()).unwrap()).collect();
    slab.audit();
    assert_eq!(slab.len(), 4);
    drop(all);
}

fn bomb() -> Hooked {
    Hooked::new(|| panic!("a destructor panics"))
}

fn insert_with_gives_the_slot_back<M: Room>() {
    let slab = M::with_room::<u64>(4);
    assert!(panics(
        || slab.try_insert_with(|_| panic!("the closure panics"))
    ));
    assert_whole(&slab, || 7);
}

fn and_modify_ends_the_borrow<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slot = slab.try_insert(7).unwrap();
    assert!(panics(|| {
        slot.and_modify(|value| {
            *value = 8;
            panic!("the closure panics");
        });
    }));
    assert_eq!(*slot.get_mut(), 8);
}

fn a_guard_ends_while_a_panic_unwinds<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slot = slab.try_insert(7).unwrap();
    assert!(panics(|| {
        let _guard = slot.get_mut();
        panic!("under a guard");
    }));
    assert!(panics(|| {
        let _guard = slab.get(slot.key());
        panic!("under a guard");
    }));
    assert_eq!(*slot.get_mut(), 7);
}

/// The ways a value can be dropped in place, each by one holder.
fn a_destructor_that_panics_frees_its_cell<M: Room>() {
    type Way<S> = (&'static str, fn(&S, Slot<Hooked>));
    let ways: [Way<TrackedSlab<Hooked, M>>; 9] = [
        ("slot drop", |_, slot| drop(slot)),
        ("box drop", |_, slot| drop(slot.into_box())),
        ("pinned box drop", |_, slot| {
            drop(SlotBox::into_pin(slot.into_box()))
        }),
        ("end of Ref", |slab, slot| {
            let guard = slab.get(slot.key());
            drop(slot);
            drop(guard);
        }),
        ("end of RefMut", |slab, slot| {
            let guard = slab.get_mut(slot.key());
            drop(slot);
            drop(guard);
        }),
        ("clear", |slab, slot| {
            slot.leak();
            slab.clear();
        }),
        ("retain", |slab, slot| {
            slot.leak();
            slab.retain(|_, _| false);
        }),
        ("retain, doomed", |slab, slot| {
            let mut slot = Some(slot);
            slab.retain(|_, _| slot.take().is_none());
        }),
        ("drain dropped", |slab, slot| {
            slot.leak();
            drop(slab.drain());
        }),
    ];
    for (name, way) in ways {
        let slab = M::with_room::<Hooked>(4);
        let slot = slab.try_insert(bomb()).unwrap();
        assert!(panics(|| way(&slab, slot)), "{name}");
        assert_whole(&slab, Hooked::plain);
    }
}

fn clear_goes_on_after_a_destructor_panics<M: Room>() {
    let slab = M::with_room::<Box<dyn std::any::Any>>(4);
    let drops = Drops::new();
    let first = slab.try_insert(Box::new(drops.value(1))).unwrap();
    slab.try_insert(Box::new(bomb())).unwrap().leak();
    slab.try_insert(Box::new(drops.value(2))).unwrap().leak();
    assert!(panics(|| slab.clear()));
    assert_eq!(drops.count(), 2);
    assert!(slab.is_empty() && !first.is_valid());
    assert_eq!(slab.audit_but_stale(), 1);
    drop(first);
    assert_whole(&slab, || Box::new(()) as Box<dyn std::any::Any>);
}

fn a_dropped_drain_goes_on_after_a_destructor_panics<M: Room>() {
    let slab = M::with_room::<Box<dyn std::any::Any>>(4);
    let drops = Drops::new();
    slab.try_insert(Box::new(drops.value(1))).unwrap().leak();
    let stale = slab.try_insert(Box::new(bomb())).unwrap();
    slab.try_insert(Box::new(drops.value(2))).unwrap().leak();
    assert!(panics(|| {
        let mut drain = slab.drain();
        assert!(drain.next().is_some());
    }));
    assert_eq!(drops.count(), 2);
    drop(stale);
    assert_whole(&slab, || Box::new(()) as Box<dyn std::any::Any>);
}

/// The value that was moved out belongs to the loop; the drain drops the rest.
fn a_drain_whose_loop_panics_removes_the_rest<M: Room>() {
    let slab = M::with_room(4);
    let drops = Drops::new();
    for number in 0..4 {
        slab.try_insert(drops.value(number)).unwrap().leak();
    }
    assert!(panics(|| {
        for (_, value) in slab.drain() {
            assert!(value.number < 1, "the loop panics");
        }
    }));
    assert_eq!(drops.count(), 4);
    assert_whole(&slab, || drops.value(8));
}

fn retain_keeps_the_value_it_panics_over_and_all_after_it<M: Room>() {
    let slab = M::with_room(4);
    let drops = Drops::new();
    let slots: Vec<_> = (0..4)
        .map(|number| slab.try_insert(drops.value(number)).unwrap())
        .collect();
    assert!(panics(|| slab.retain(|_, value| {
        assert!(value.number < 2, "the closure panics");
        false
    })));
    assert_eq!(drops.count(), 2);
    let valid: Vec<_> = slots.iter().map(Slot::is_valid).collect();
    assert_eq!(valid, [false, false, true, true]);
    assert!(slots[2].try_get_mut().is_ok(), "the borrow has ended");
    assert_eq!(slab.audit_but_stale(), 2);
    drop(slots);
    assert_whole(&slab, || drops.value(8));
}

fn a_panicking_destructor_in_slab_drop_loses_no_other_value<M: Room>() {
    let drops = Drops::new();
    let slab = M::with_room::<Box<dyn std::any::Any>>(6);
    let first = slab.try_insert(Box::new(drops.value(1))).unwrap();
    let armed = slab.try_insert(Box::new(bomb())).unwrap();
    slab.try_insert(Box::new(drops.value(2))).unwrap().leak();
    let vacant = slab.try_vacant_slot().unwrap();
    let boxed = slab
        .try_insert(Box::new(drops.value(3)))
        .unwrap()
        .into_box();
    assert!(panics(|| drop(slab)));
    assert_eq!(drops.count(), 2, "the box keeps its value");
    assert!(!first.is_valid() && !armed.is_valid());
    drop((first, armed));
    drop(vacant.insert(Box::new(drops.value(4))));
    drop(boxed);
    assert_eq!(drops.count(), 4);
}

fn a_panicking_destructor_in_a_closed_slab_still_releases_it<M: Room>() {
    let slab = M::with_room::<Hooked>(4);
    let vacant = slab.try_vacant_slot().unwrap();
    let boxed = slab.try_insert(bomb()).unwrap().into_box();
    let slot = slab.try_insert(bomb()).unwrap();
    let guard = slot.get();
    drop(slab);
    assert!(panics(|| drop(boxed)));
    assert!(panics(|| drop(guard)));
    drop(slot);
    let slot = vacant.insert(bomb());
    // The last holder: Miri's leak check sees whether the memory went.
    assert!(panics(|| drop(slot)));
}

fn a_refused_removal_dooms_the_value_and_frees_it_with_the_last_guard<M: Room>() {
    type Way = fn(Slot<Counted>);
    let ways: [Way; 3] = [
        |slot| drop(slot.into_inner()),
        |slot| drop(slot.take()),
        |slot| drop(slot.into_box()),
    ];
    for way in ways {
        let slab = M::with_room(4);
        let drops = Drops::new();
        let slot = slab.try_insert(drops.value(7)).unwrap();
        let key = slot.key();
        let guard = slab.get(key).unwrap();
        assert!(panics(|| way(slot)));
        assert!(!slab.contains_key(key) && slab.get(key).is_none());
        assert_eq!((guard.number, drops.count(), slab.len()), (7, 0, 1));
        drop(guard);
        assert_eq!((drops.count(), slab.len()), (1, 0));
        assert_whole(&slab, || drops.value(8));
    }
}

/// The destructor notes what it sees, since a failed assertion in it would look
/// like the panic that is expected.
fn a_pinned_value_keeps_its_cell_while_its_destructor_runs<M: Room>() {
    for bomb in [false, true] {
        let slab = Rc::new(M::with_room::<Hooked>(1));
        let vacant = slab.try_vacant_slot().unwrap();
        let key = vacant.key();
        let (inner, seen) = (slab.clone(), Rc::new(Cell::new(None)));
        let met = seen.clone();
        let boxed = vacant
            .insert(Hooked::new(move || {
                let other = inner.try_insert(Hooked::plain());
                met.set(Some(other.map_or(Key::NONE, |slot| slot.key())));
                assert!(!bomb, "and then it panics");
            }))
            .into_box();
        assert_eq!(panics(|| drop(SlotBox::into_pin(boxed))), bomb);
        assert!(
            seen.get().is_some_and(|other| other != key),
            "its cell was free"
        );
        slab.audit();
        assert!(slab.is_empty());
    }
}

/// `Slab::insert_with`; the test above is of `try_insert_with`.
#[test]
fn insert_with_that_panics_gives_the_slot_of_a_growable_slab_back() {
    let slab = Slab::<u64>::builder().chunk_capacity(2).build();
    assert!(panics(|| slab.insert_with(|_| panic!("the closure panics"))));
    slab.audit();
    assert!(slab.is_empty());
    assert_eq!(slab.insert(7).key().index(), 0);
}

over_both_slabs!(
    insert_with_gives_the_slot_back,
    and_modify_ends_the_borrow,
    a_guard_ends_while_a_panic_unwinds,
    a_destructor_that_panics_frees_its_cell,
    clear_goes_on_after_a_destructor_panics,
    a_dropped_drain_goes_on_after_a_destructor_panics,
    a_drain_whose_loop_panics_removes_the_rest,
    retain_keeps_the_value_it_panics_over_and_all_after_it,
    a_panicking_destructor_in_slab_drop_loses_no_other_value,
    a_panicking_destructor_in_a_closed_slab_still_releases_it,
    a_refused_removal_dooms_the_value_and_frees_it_with_the_last_guard,
    a_pinned_value_keeps_its_cell_while_its_destructor_runs,
);
