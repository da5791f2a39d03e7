//! Iterators over both slabs: their order, their `size_hint`, what they leave.

use flatslab::{BoundedSlab, Key, Slab, Slot, TrackedSlab};

use crate::common::{Audit, Drops, Room, over_both_slabs};

fn numbers<M: Room>(count: u64) -> (TrackedSlab<u64, M>, Vec<Slot<u64>>) {
    let slab = M::with_room(count as usize);
    let slots = (0..count).map(|n| slab.try_insert(n).unwrap()).collect();
    (slab, slots)
}

fn values_come_in_key_order_and_not_in_order_of_insertion<M: Room>() {
    let (slab, mut slots) = numbers::<M>(6);
    // The last one freed is the first one filled.
    for index in [4, 1, 2] {
        drop(slots.remove(index));
    }
    let again: Vec<_> = (10..13).map(|n| slab.try_insert(n).unwrap()).collect();
    let expected: Vec<(usize, u64)> = (0..6)
        .map(|index| {
            let key = Key::from_raw(index);
            let all = slots.iter().chain(&again);
            let value = all.filter(|slot| slot.key() == key).map(|slot| *slot.get());
            (key.index(), value.sum())
        })
        .collect();
    assert_ne!(
        expected,
        (0..6).map(|n| (n as usize, n)).collect::<Vec<_>>()
    );
    let flat = |(key, value): (Key, u64)| (key.index(), value);
    assert!(
        slab.iter()
            .map(|(key, value)| flat((key, *value)))
            .eq(expected.clone())
    );
    assert!(
        slab.iter_mut()
            .map(|(key, value)| flat((key, *value)))
            .eq(expected.clone())
    );
    assert!(slab.keys().map(Key::index).eq(0..6));
    assert!(slab.drain().map(flat).eq(expected));
    assert!(slab.is_empty());
}

fn the_try_forms_leave_what_is_borrowed<M: Room>() {
    let (slab, slots) = numbers::<M>(6);
    let read = slots[1].get();
    let written = slots[3].get_mut();
    let indices = |keys: &mut dyn Iterator<Item = Key>| keys.map(Key::index).collect::<Vec<_>>();
    assert_eq!(
        indices(
            &mut slab
                .try_iter()
                .filter_map(|(key, value)| value.ok().map(|_| key))
        ),
        [0, 1, 2, 4, 5]
    );
    assert_eq!(
        indices(
            &mut slab
                .try_iter_mut()
                .filter_map(|(key, value)| value.ok().map(|_| key))
        ),
        [0, 2, 4, 5]
    );
    assert_eq!(indices(&mut slab.keys()), [0, 1, 2, 3, 4, 5]);
    assert_eq!(slab.try_retain(|_, value| *value != 4), 2);
    assert_eq!(indices(&mut slab.keys()), [0, 1, 2, 3, 5]);
    assert_eq!(
        indices(&mut slab.try_drain().map(|(key, _)| key)),
        [0, 2, 5]
    );
    assert_eq!(indices(&mut slab.keys()), [1, 3]);
    assert_eq!((*read, *written), (1, 3));
    drop((read, written));
    assert_eq!(slab.audit_but_stale(), 4);
    let valid: Vec<_> = slots.iter().map(Slot::is_valid).collect();
    assert_eq!(valid, [false, true, false, true, false, false]);
}

/// A stale slot holds its cell out of use.
fn a_drained_slab_can_still_be_full<M: Room>() {
    let (slab, mut slots) = numbers::<M>(6);
    slots.extend((slots.len()..slab.capacity()).map(|_| slab.try_insert(7).unwrap()));
    assert_eq!(slab.drain().count(), slots.len());
    assert!(slab.is_empty() && slab.is_full());
    assert_eq!(slab.audit_but_stale(), slots.len());
    drop(slots);
    assert!(!slab.is_full());
    slab.audit();
}

fn all_values_can_be_borrowed_at_once<M: Room>() {
    let (slab, _slots) = numbers::<M>(6);
    {
        let mut all: Vec<_> = slab.iter_mut().collect();
        for (key, value) in &mut all {
            **value += key.into_raw() as u64;
        }
        assert!(slab.try_iter().all(|(_, value)| value.is_err()));
        assert!(slab.try_iter_mut().all(|(_, value)| value.is_err()));
        assert_eq!(slab.keys().count(), 6);
    }
    let readers: Vec<_> = slab.iter().chain(slab.iter()).collect();
    assert_eq!(
        readers.iter().map(|(_, value)| **value).sum::<u64>(),
        2 * (15 + 15)
    );
    drop(readers);
    assert_eq!(slab.iter_mut().count(), 6, "every borrow has ended");
}

fn size_hint_bounds_what_can_still_come<M: Room>() {
    let (slab, mut slots) = numbers::<M>(6);
    slots.truncate(4);
    // Slots that were never used may be left out.
    let slots_there = slab.iter().size_hint().1.unwrap();
    assert!((6..=slab.capacity()).contains(&slots_there));
    assert_eq!(slab.iter().size_hint(), (0, Some(slots_there)));
    assert_eq!(slab.iter_mut().size_hint(), (0, Some(slots_there)));
    assert_eq!(slab.keys().size_hint(), (0, Some(slots_there)));
    let mut iter = slab.iter();
    iter.next();
    assert_eq!(iter.size_hint(), (0, Some(slots_there - 1)));
    let mut iter = slab.iter_mut();
    iter.next();
    assert_eq!(iter.size_hint(), (0, Some(slots_there - 1)));
    let mut drain = slab.drain();
    assert_eq!(drain.size_hint(), (0, Some(slots_there)));
    assert_eq!(drain.by_ref().count(), 4);
    assert_eq!(drain.size_hint(), (0, Some(0)));
    // Fused, though there is a value again.
    drop(slots);
    let slot = slab.try_insert(7).unwrap();
    assert!(drain.next().is_none());
    drop(drain);
    assert!(slot.is_valid());
}

fn a_clone_continues_where_the_iterator_is<M: Room>() {
    let (slab, _slots) = numbers::<M>(4);
    let mut iter = slab.iter();
    let mut keys = slab.keys();
    assert!(iter.next().is_some() && keys.next().is_some());
    let (again, keys_again) = (iter.clone(), keys.clone());
    assert_eq!((iter.count(), keys.count()), (3, 3));
    assert!(again.map(|(_, value)| *value).eq(1..4));
    assert!(keys_again.map(Key::index).eq(1..4));
}

fn iterators_print_what_is_left_to_visit<M: Room>() {
    let (slab, _slots) = numbers::<M>(4);
    let end = slab.keys().size_hint().1.unwrap();
    assert!((4..=slab.capacity()).contains(&end));
    let mut iter = slab.iter();
    iter.next();
    assert_eq!(
        format!("{iter:?}"),
        format!("Iter {{ keys: 1..{end}, .. }}")
    );
    assert_eq!(
        format!("{:?}", slab.iter_mut()),
        format!("IterMut {{ keys: 0..{end}, .. }}")
    );
    assert_eq!(
        format!("{:?}", slab.keys()),
        format!("Keys {{ keys: 0..{end}, .. }}")
    );
    assert_eq!(
        format!("{:?}", slab.drain()),
        format!("Drain {{ keys: 0..{end}, .. }}")
    );
    assert_eq!(
        format!("{:?}", slab.try_iter()),
        format!("TryIter {{ keys: 0..{end}, .. }}")
    );
    assert_eq!(
        format!("{:?}", slab.try_iter_mut()),
        format!("TryIterMut {{ keys: 0..{end}, .. }}")
    );
}

fn a_dropped_drain_drops_the_values_not_visited<M: Room>() {
    let slab = M::with_room(6);
    let drops = Drops::new();
    for number in 0..6 {
        slab.try_insert(drops.value(number)).unwrap().leak();
    }
    let mut drain = slab.drain();
    let (key, first) = drain.next().unwrap();
    assert_eq!((key.index(), first.number, drops.count()), (0, 0, 0));
    drop(drain);
    assert_eq!((drops.count(), slab.len()), (5, 0));
    drop(first);
    assert_eq!(drops.count(), 6);
    slab.audit();
}

over_both_slabs!(
    values_come_in_key_order_and_not_in_order_of_insertion,
    the_try_forms_leave_what_is_borrowed,
    a_drained_slab_can_still_be_full,
    all_values_can_be_borrowed_at_once,
    size_hint_bounds_what_can_still_come,
    a_clone_continues_where_the_iterator_is,
    iterators_print_what_is_left_to_visit,
    a_dropped_drain_drops_the_values_not_visited,
);

#[test]
fn both_slabs_can_be_looped_over() {
    let bounded = BoundedSlab::with_capacity(4);
    let growable = Slab::new();
    let mut sum = 0;
    bounded.insert(3).unwrap().leak();
    growable.insert(4).leak();
    for (_, value) in &bounded {
        sum += *value;
    }
    for (_, value) in &growable {
        sum += *value;
    }
    assert_eq!(sum, 7);
    assert_eq!(BoundedSlab::<u64>::with_capacity(0).iter().count(), 0);
    assert_eq!(Slab::<u64>::new().drain().count(), 0);
    Slab::<u64>::new().retain(|_, _| unreachable!("there is no value"));
}
