//! Guards of parts of values: they borrow the whole, and end it like any guard.

use std::cell::Cell;

use flatslab::{Key, MappedRef, MappedRefMut, Ref, RefMut, Slab, TrackedSlab};

use crate::common::{Audit, Counted, Drops, Room, over_both_slabs, panics};

/// A value with parts, whose drop is counted.
struct Pair {
    name: String,
    numbers: Vec<u64>,
    counted: Counted,
}

fn pair(drops: &Drops) -> Pair {
    Pair {
        name: "pair".into(),
        numbers: vec![1, 2, 3],
        counted: drops.value(7),
    }
}

fn a_part_is_read_while_the_whole_is_borrowed<M: Room>() {
    let slab = M::with_room(2);
    let slot = slab.try_insert(pair(&Drops::new())).unwrap();
    let key = slot.key();
    let name = Ref::map(slot.get(), |pair| &*pair.name);
    assert_eq!(
        (&*name, format!("{name} {name:?}")),
        ("pair", "pair \"pair\"".into())
    );
    assert!(slab.try_get_mut(key).is_err() && slab.try_get(key).is_ok());
    let end = MappedRef::map(name, |name| &name[2..]);
    assert_eq!(&*end, "ir");
    let end = MappedRef::filter_map(end, |end| end.strip_prefix('p')).unwrap_err();
    let end = MappedRef::filter_map(end, |end| end.strip_prefix('i')).unwrap();
    assert_eq!(&*end, "r");
    assert!(slab.try_get_mut(key).is_err());
    drop(end);

    let first = Ref::filter_map(slot.get(), |pair| pair.numbers.first())
        .ok()
        .unwrap();
    assert_eq!(*first, 1);
    let whole = Ref::filter_map(slot.get(), |pair| pair.numbers.get(9)).unwrap_err();
    assert_eq!(whole.counted.number, 7);
    drop(first);
    assert!(slab.try_get_mut(key).is_err(), "one reader is left");
    drop(whole);
    assert!(slab.try_get_mut(key).is_ok(), "every borrow has ended");
}

fn a_part_is_written_while_the_whole_is_borrowed<M: Room>() {
    let slab = M::with_room(2);
    let slot = slab.try_insert(pair(&Drops::new())).unwrap();
    let key = slot.key();
    let mut numbers = RefMut::map(slot.get_mut(), |pair| &mut pair.numbers);
    numbers.push(4);
    assert!(slab.try_get(key).is_err());
    let mut tail = MappedRefMut::map(numbers, |numbers| &mut numbers[2..]);
    tail[0] += 10;
    assert_eq!(format!("{tail:?}"), "[13, 4]");
    let tail = MappedRefMut::filter_map(tail, |tail| tail.get_mut(2)).unwrap_err();
    let mut last = MappedRefMut::filter_map(tail, |tail| tail.last_mut()).unwrap();
    *last += 20;
    assert_eq!(format!("{last}"), "24");
    assert!(slab.try_get(key).is_err());
    drop(last);

    let mut name = RefMut::filter_map(slot.get_mut(), |pair| Some(&mut pair.name))
        .ok()
        .unwrap();
    name.push('s');
    drop(name);
    let whole = RefMut::filter_map(slot.get_mut(), |pair| pair.numbers.get_mut(9)).unwrap_err();
    assert_eq!(
        (&*whole.name, &*whole.numbers),
        ("pairs", &[1, 2, 13, 24][..])
    );
    drop(whole);
    assert!(slab.try_get_mut(key).is_ok(), "every borrow has ended");
}

/// Of a value whose slot goes while a part is borrowed.
fn the_end_of_a_mapped_guard_drops_a_doomed_value_once<M: Room>() {
    /// Holds a guard of the value at the key, and dooms it.
    type Hold<'a, M> = &'a dyn Fn(&TrackedSlab<Pair, M>, Key, &dyn Fn());

    let drops = Drops::new();
    let slab = M::with_room(2);
    let doomed = |hold: Hold<'_, M>| {
        let before = drops.count();
        let slot = slab.try_insert(pair(&drops)).unwrap();
        let (key, slot) = (slot.key(), Cell::new(Some(slot)));
        hold(&slab, key, &|| {
            drop(slot.take());
            assert!(!slab.contains_key(key));
            assert_eq!((drops.count(), slab.len()), (before, 1));
        });
        assert_eq!((drops.count(), slab.len()), (before + 1, 0));
        slab.audit();
    };
    doomed(&|slab, key, doom| {
        let name = Ref::map(slab.get(key).unwrap(), |pair| &*pair.name);
        doom();
        assert_eq!(&*MappedRef::map(name, |name| &name[1..]), "air");
    });
    doomed(&|slab, key, doom| {
        let whole = slab.get(key).unwrap();
        doom();
        let one = Ref::map(Ref::clone(&whole), |pair| &pair.numbers);
        let two = Ref::filter_map(whole, |pair| pair.numbers.get(3)).unwrap_err();
        assert_eq!(*one, two.numbers);
        drop(two);
        assert_eq!(one.len(), 3, "it lives as long as its last reader");
    });
    doomed(&|slab, key, doom| {
        let mut numbers = RefMut::map(slab.get_mut(key).unwrap(), |pair| &mut pair.numbers);
        doom();
        numbers.clear();
        let numbers = MappedRefMut::filter_map(numbers, |numbers| numbers.first_mut()).unwrap_err();
        assert!(numbers.is_empty());
    });
    // A closure that panics ends the borrow, and with it the value.
    doomed(&|slab, key, doom| {
        let whole = slab.get(key).unwrap();
        doom();
        assert!(panics(|| Ref::map(whole, |_| -> &u64 {
            panic!("in the closure")
        })));
    });
}

/// Slab and slot go first; the guard holds the value and the memory.
fn a_mapped_guard_outlives_the_slab<M: Room>() {
    for exclusive in [false, true] {
        let drops = Drops::new();
        let slab = M::with_room(2);
        let slot = slab.try_insert(pair(&drops)).unwrap();
        if exclusive {
            let mut name = RefMut::map(slot.get_mut(), |pair| &mut pair.name);
            drop(slab);
            name.push('s');
            assert_eq!((drops.count(), &**name), (0, "pairs"));
            drop(name);
        } else {
            let name = Ref::map(slot.get(), |pair| &*pair.name);
            drop(slab);
            assert_eq!((drops.count(), &*name), (0, "pair"));
            drop(name);
        }
        assert!(!slot.is_valid() && drops.count() == 1);
    }
}

fn a_closure_that_panics_ends_the_borrow_and_loses_nothing<M: Room>() {
    fn fail<T: ?Sized, U: ?Sized>(_: &T) -> &U {
        panic!("in the closure")
    }
    fn fail_mut<T: ?Sized, U: ?Sized>(_: &mut T) -> &mut U {
        panic!("in the closure")
    }
    let slab = M::with_room(2);
    let drops = Drops::new();
    let slot = slab.try_insert(pair(&drops)).unwrap();
    let name = || Ref::map(slot.get(), |pair| &*pair.name);
    let name_mut = || RefMut::map(slot.get_mut(), |pair| &mut pair.name);
    let ways: [&dyn Fn(); 8] = [
        &|| drop(Ref::map(slot.get(), fail::<_, u64>)),
        &|| {
            drop(Ref::filter_map(slot.get(), |pair| {
                Some(fail::<_, u64>(pair))
            }))
        },
        &|| drop(RefMut::map(slot.get_mut(), fail_mut::<_, u64>)),
        &|| {
            drop(RefMut::filter_map(slot.get_mut(), |pair| {
                Some(fail_mut::<_, u64>(pair))
            }))
        },
        &|| drop(MappedRef::map(name(), fail::<_, u64>)),
        &|| {
            drop(MappedRef::filter_map(name(), |name| {
                Some(fail::<_, u64>(name))
            }))
        },
        &|| drop(MappedRefMut::map(name_mut(), fail_mut::<_, u64>)),
        &|| {
            drop(MappedRefMut::filter_map(name_mut(), |name| {
                Some(fail_mut::<_, u64>(name))
            }))
        },
    ];
    for (number, way) in ways.iter().enumerate() {
        assert!(panics(way), "{number}");
        assert!(slot.try_get_mut().is_ok(), "{number}: the borrow has ended");
    }
    assert_eq!((&*slot.get().name, drops.count()), ("pair", 0));
}

/// The closure may use the slab, and doom the value it is shown.
fn a_closure_may_end_everything_but_its_own_borrow<M: Room>() {
    let slab = M::with_room(2);
    let drops = Drops::new();
    let slot = slab.try_insert(pair(&drops)).unwrap();
    let key = slot.key();
    let slot = Cell::new(Some(slot));
    let name = Ref::map(slab.get(key).unwrap(), |pair| {
        drop(slot.take());
        slab.clear();
        M::shrink(&slab);
        slab.try_insert_key(self::pair(&drops)).unwrap();
        &pair.name
    });
    assert_eq!((&**name, drops.count(), slab.len()), ("pair", 0, 2));
    drop(name);
    assert_eq!((drops.count(), slab.len()), (1, 1));
    slab.audit();
}

fn a_guard_is_cloned_and_its_value_is_not<M: Room>() {
    let slab = M::with_room(2);
    let slot = slab.try_insert(pair(&Drops::new())).unwrap();
    let one = slot.get();
    let two = Ref::clone(&one);
    assert!(std::ptr::eq(&*one, &*two));
    drop(one);
    assert!(slot.try_get_mut().is_err());
    let three = Ref::clone(&two);
    drop((two, three));
    assert!(slot.try_get_mut().is_ok());
}

fn a_guard_of_a_part_is_cloned_and_the_part_is_not<M: Room>() {
    let drops = Drops::new();
    let slab = M::with_room(2);
    let slot = slab.try_insert(pair(&drops)).unwrap();
    let one = Ref::map(slot.get(), |pair| &*pair.name);
    let two = MappedRef::clone(&one);
    assert!(std::ptr::eq(&*one, &*two));
    drop(one);
    assert!(slot.try_get_mut().is_err(), "one reader is left");
    let three = MappedRef::map(MappedRef::clone(&two), |name| &name[1..]);
    drop(two);
    assert_eq!(&*three, "air");
    assert!(slot.try_get_mut().is_err(), "one reader is left");
    drop(three);
    assert!(slot.try_get_mut().is_ok(), "every borrow has ended");

    // Of a doomed value, whose slab goes too.
    let key = slot.leak();
    let one = Ref::map(slab.get(key).unwrap(), |pair| &pair.numbers);
    drop(slab.slot(key).unwrap());
    assert!(!slab.contains_key(key));
    let two = MappedRef::clone(&one);
    drop(one);
    assert_eq!((two.len(), drops.count(), slab.len()), (3, 0, 1));
    drop(two);
    assert_eq!((drops.count(), slab.len()), (1, 0));
    slab.audit();

    let slot = slab.try_insert(pair(&drops)).unwrap();
    let one = Ref::map(slot.get(), |pair| &pair.numbers);
    drop(slab);
    let two = MappedRef::clone(&one);
    drop(one);
    assert_eq!((two.len(), drops.count()), (3, 1));
    drop(two);
    assert!(!slot.is_valid() && drops.count() == 2);
}

over_both_slabs!(
    a_part_is_read_while_the_whole_is_borrowed,
    a_part_is_written_while_the_whole_is_borrowed,
    the_end_of_a_mapped_guard_drops_a_doomed_value_once,
    a_mapped_guard_outlives_the_slab,
    a_closure_that_panics_ends_the_borrow_and_loses_nothing,
    a_closure_may_end_everything_but_its_own_borrow,
    a_guard_is_cloned_and_its_value_is_not,
    a_guard_of_a_part_is_cloned_and_the_part_is_not,
);

/// Wide pointers, parts of no size, values on either side of their stamp.
#[test]
fn any_part_of_any_value_can_be_borrowed() {
    let slab = Slab::new();
    let slot = slab.insert([1_u64; 32]);
    let half = Ref::map(slot.get(), |all| &all[16..]);
    let shown: MappedRef<'_, dyn std::fmt::Debug> = MappedRef::map(half, |half| &half[0] as _);
    assert_eq!(format!("{:?}", &*shown), "1");
    drop(shown);
    let nothing = RefMut::map(slot.get_mut(), |all| &mut all[32..]);
    assert!(nothing.is_empty());
    drop(nothing);

    let empty = Slab::new();
    let slot = empty.insert(());
    let whole = Ref::map(slot.get(), |unit| unit);
    let again = MappedRef::clone(&whole);
    assert!(std::ptr::eq(&*MappedRef::map(whole, |unit| unit), &*again));

    // What the value borrows outlives the guard of the slab.
    let text = String::from("text");
    let kept: &str = {
        let texts = Slab::new();
        let slot = texts.insert(text.as_str());
        let part = Ref::map(slot.get(), |text| text);
        *part
    };
    assert_eq!(kept, "text");
    assert_eq!(size_of::<MappedRef<'_, u64>>(), 4 * size_of::<usize>());
    assert_eq!(size_of::<MappedRefMut<'_, u64>>(), 4 * size_of::<usize>());
    assert_eq!(
        size_of::<Option<MappedRef<'_, u64>>>(),
        4 * size_of::<usize>()
    );
}
