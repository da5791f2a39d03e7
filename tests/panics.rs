//! User code that panics, in every place where user code can run: no value and
//! no slot is lost, and none is dropped twice.

mod common;

use std::rc::Rc;

use common::{AnySlab, Drops, Hooked, Kind, panics};
use flatslab::{Slot, SlotBox};

/// Checks that the slab is whole and every slot of it can be had.
fn assert_whole<T, S: AnySlab<T>>(slab: &S, value: impl Fn() -> T) {
    slab.check();
    assert!(slab.is_empty());
    let all: Vec<_> = (0..4).map(|_| slab.insert(value()).unwrap()).collect();
    slab.check();
    assert_eq!(slab.len(), 4);
    drop(all);
}

fn bomb() -> Hooked {
    Hooked::new(|| panic!("a destructor panics"))
}

fn insert_with_gives_the_slot_back<K: Kind>() {
    let slab = K::Slab::<u64>::with_room(4);
    assert!(panics(|| slab.insert_with(|_| panic!("the closure panics"))));
    assert_whole(&slab, || 7);
}

fn and_modify_ends_the_borrow<K: Kind>() {
    let slab = K::Slab::<u64>::with_room(4);
    let slot = slab.insert(7).unwrap();
    assert!(panics(|| {
        slot.and_modify(|value| {
            *value = 8;
            panic!("the closure panics");
        });
    }));
    assert_eq!(*slot.get_mut(), 8);
}

fn a_guard_ends_while_a_panic_unwinds<K: Kind>() {
    let slab = K::Slab::<u64>::with_room(4);
    let slot = slab.insert(7).unwrap();
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
fn a_destructor_that_panics_frees_its_cell<K: Kind>() {
    type Way<S> = (&'static str, fn(&S, Slot<Hooked>));
    let ways: [Way<K::Slab<Hooked>>; 6] = [
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
    ];
    for (name, way) in ways {
        let slab = K::Slab::<Hooked>::with_room(4);
        let slot = slab.insert(bomb()).unwrap();
        assert!(panics(|| way(&slab, slot)), "{name}");
        assert_whole(&slab, Hooked::plain);
    }
}

fn clear_goes_on_behind_a_destructor_that_panics<K: Kind>() {
    let slab = K::Slab::<Box<dyn std::any::Any>>::with_room(4);
    let drops = Drops::new();
    let first = slab.insert(Box::new(drops.value(1))).unwrap();
    slab.insert(Box::new(bomb())).unwrap().leak();
    slab.insert(Box::new(drops.value(2))).unwrap().leak();
    assert!(panics(|| slab.clear()));
    assert_eq!(drops.count(), 2);
    assert!(slab.is_empty() && !first.is_valid());
    slab.check();
    drop(first);
    assert_whole(&slab, || Box::new(()) as Box<dyn std::any::Any>);
}

fn a_panicking_destructor_in_slab_drop_loses_no_other_value<K: Kind>() {
    let drops = Drops::new();
    let slab = K::Slab::<Box<dyn std::any::Any>>::with_room(6);
    let first = slab.insert(Box::new(drops.value(1))).unwrap();
    let armed = slab.insert(Box::new(bomb())).unwrap();
    slab.insert(Box::new(drops.value(2))).unwrap().leak();
    let vacant = slab.vacant_slot().unwrap();
    let boxed = slab.insert(Box::new(drops.value(3))).unwrap().into_box();
    assert!(panics(|| drop(slab)));
    assert_eq!(drops.count(), 2, "the box keeps its value");
    assert!(!first.is_valid() && !armed.is_valid());
    drop((first, armed));
    drop(vacant.insert(Box::new(drops.value(4))));
    drop(boxed);
    assert_eq!(drops.count(), 4);
}

fn a_panicking_destructor_in_a_closed_slab_still_releases_it<K: Kind>() {
    let slab = K::Slab::<Hooked>::with_room(4);
    let vacant = slab.vacant_slot().unwrap();
    let boxed = slab.insert(bomb()).unwrap().into_box();
    let slot = slab.insert(bomb()).unwrap();
    let guard = slot.get();
    drop(slab);
    assert!(panics(|| drop(boxed)));
    assert!(panics(|| drop(guard)));
    drop(slot);
    let slot = vacant.insert(bomb());
    // The last holder: Miri's leak check sees whether the memory went.
    assert!(panics(|| drop(slot)));
}

fn a_refused_removal_dooms_the_value_and_frees_it_with_the_last_guard<K: Kind>() {
    type Way = fn(Slot<common::Counted>);
    let ways: [Way; 3] = [
        |slot| drop(slot.into_inner()),
        |slot| drop(slot.take()),
        |slot| drop(slot.into_box()),
    ];
    for way in ways {
        let slab = K::Slab::with_room(4);
        let drops = Drops::new();
        let slot = slab.insert(drops.value(7)).unwrap();
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

fn a_pinned_value_is_dropped_before_its_cell_is_free<K: Kind>() {
    let slab = Rc::new(K::Slab::<Hooked>::with_room(1));
    let vacant = slab.vacant_slot().unwrap();
    let key = vacant.key();
    let inner = slab.clone();
    let boxed = vacant
        .insert(Hooked::new(move || {
            // Whatever is inserted now gets another cell, or none.
            if let Ok(slot) = inner.insert(Hooked::plain()) {
                assert_ne!(slot.key(), key);
            }
            panic!("and then it panics");
        }))
        .into_box();
    assert!(panics(|| drop(SlotBox::into_pin(boxed))));
    assert_eq!(slab.insert(Hooked::plain()).unwrap().key(), key);
}

over_both_slabs!(
    insert_with_gives_the_slot_back,
    and_modify_ends_the_borrow,
    a_guard_ends_while_a_panic_unwinds,
    a_destructor_that_panics_frees_its_cell,
    clear_goes_on_behind_a_destructor_that_panics,
    a_panicking_destructor_in_slab_drop_loses_no_other_value,
    a_panicking_destructor_in_a_closed_slab_still_releases_it,
    a_refused_removal_dooms_the_value_and_frees_it_with_the_last_guard,
    a_pinned_value_is_dropped_before_its_cell_is_free,
);
