//! Iterators over both slabs: order, what is skipped, what is said beforehand,
//! and capacity made and given back.

mod common;

use common::{AnySlab, Drops, Kind, panics};
use flatslab::{BoundedSlab, Key, Slab, Slot};

fn numbers<K: Kind>(count: u64) -> (K::Slab<u64>, Vec<Slot<u64>>) {
    let slab = K::Slab::with_room(count as usize);
    let slots = (0..count).map(|n| slab.insert(n).unwrap()).collect();
    (slab, slots)
}

fn values_come_in_key_order_whatever_order_they_went_in<K: Kind>() {
    let (slab, mut slots) = numbers::<K>(6);
    // The last one freed is the first one filled.
    for index in [4, 1, 2] {
        drop(slots.remove(index));
    }
    let again: Vec<_> = (10..13).map(|n| slab.insert(n).unwrap()).collect();
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

fn what_is_borrowed_is_skipped_and_stays<K: Kind>() {
    let (slab, slots) = numbers::<K>(6);
    let read = slots[1].get();
    let written = slots[3].get_mut();
    let indices = |keys: &mut dyn Iterator<Item = Key>| keys.map(Key::index).collect::<Vec<_>>();
    assert_eq!(
        indices(&mut slab.iter().map(|(key, _)| key)),
        [0, 1, 2, 4, 5]
    );
    assert_eq!(
        indices(&mut slab.iter_mut().map(|(key, _)| key)),
        [0, 2, 4, 5]
    );
    assert_eq!(indices(&mut slab.keys()), [0, 1, 2, 3, 4, 5]);
    slab.retain(|_, value| *value != 4);
    assert_eq!(indices(&mut slab.keys()), [0, 1, 2, 3, 5]);
    assert_eq!(indices(&mut slab.drain().map(|(key, _)| key)), [0, 2, 5]);
    assert_eq!(indices(&mut slab.keys()), [1, 3]);
    assert_eq!((*read, *written), (1, 3));
    drop((read, written));
    slab.check();
    let valid: Vec<_> = slots.iter().map(Slot::is_valid).collect();
    assert_eq!(valid, [false, true, false, true, false, false]);
}

/// A cell that a stale slot holds is out of use until the slot is gone.
fn a_drained_slab_can_still_be_full<K: Kind>() {
    let (slab, slots) = numbers::<K>(6);
    assert_eq!(slab.drain().count(), 6);
    assert!(slab.is_empty() && slab.is_full());
    slab.check();
    drop(slots);
    assert!(!slab.is_full());
    slab.check();
}

fn all_values_can_be_borrowed_at_once<K: Kind>() {
    let (slab, _slots) = numbers::<K>(6);
    {
        let mut all: Vec<_> = slab.iter_mut().collect();
        for (key, value) in &mut all {
            **value += key.into_raw() as u64;
        }
        assert!(slab.iter().next().is_none() && slab.iter_mut().next().is_none());
        assert_eq!(slab.keys().count(), 6);
    }
    let readers: Vec<_> = slab.iter().chain(slab.iter()).collect();
    assert_eq!(
        readers.iter().map(|(_, value)| **value).sum::<u64>(),
        2 * (15 + 15)
    );
    drop(readers);
    assert!(
        slab.state_bits(Key::from_raw(5)) == Some(0),
        "every borrow has ended"
    );
}

fn an_iterator_knows_how_many_there_can_be<K: Kind>() {
    let (slab, mut slots) = numbers::<K>(6);
    slots.truncate(4);
    let slots_there = slab.capacity();
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
    let slot = slab.insert(7).unwrap();
    assert!(drain.next().is_none());
    drop(drain);
    assert!(slot.is_valid());
}

fn a_clone_goes_on_from_where_it_was_made<K: Kind>() {
    let (slab, _slots) = numbers::<K>(4);
    let mut iter = slab.iter();
    let mut keys = slab.keys();
    assert!(iter.next().is_some() && keys.next().is_some());
    let (again, keys_again) = (iter.clone(), keys.clone());
    assert_eq!((iter.count(), keys.count()), (3, 3));
    assert!(again.map(|(_, value)| *value).eq(1..4));
    assert!(keys_again.map(Key::index).eq(1..4));
}

fn iterators_print_what_is_left_to_visit<K: Kind>() {
    let (slab, _slots) = numbers::<K>(4);
    let mut iter = slab.iter();
    iter.next();
    assert_eq!(format!("{iter:?}"), "Iter { keys: 1..4, .. }");
    assert_eq!(
        format!("{:?}", slab.iter_mut()),
        "IterMut { keys: 0..4, .. }"
    );
    assert_eq!(format!("{:?}", slab.keys()), "Keys { keys: 0..4, .. }");
    assert_eq!(format!("{:?}", slab.drain()), "Drain { keys: 0..4, .. }");
}

fn what_a_drain_does_not_come_to_is_dropped_with_it<K: Kind>() {
    let slab = K::Slab::with_room(6);
    let drops = Drops::new();
    for number in 0..6 {
        slab.insert(drops.value(number)).unwrap().leak();
    }
    let mut drain = slab.drain();
    let (key, first) = drain.next().unwrap();
    assert_eq!((key.index(), first.number, drops.count()), (0, 0, 0));
    drop(drain);
    assert_eq!((drops.count(), slab.len()), (5, 0));
    drop(first);
    assert_eq!(drops.count(), 6);
    slab.check();
}

over_both_slabs!(
    values_come_in_key_order_whatever_order_they_went_in,
    what_is_borrowed_is_skipped_and_stays,
    a_drained_slab_can_still_be_full,
    all_values_can_be_borrowed_at_once,
    an_iterator_knows_how_many_there_can_be,
    a_clone_goes_on_from_where_it_was_made,
    iterators_print_what_is_left_to_visit,
    what_a_drain_does_not_come_to_is_dropped_with_it,
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

// Room.

fn chunks_of_four(count: u64) -> (Slab<u64>, Vec<Slot<u64>>) {
    let slab = Slab::builder().chunk_capacity(4).build();
    let slots = (0..count).map(|n| slab.insert(n)).collect();
    (slab, slots)
}

fn keys_of(slots: &[Slot<u64>]) -> Vec<usize> {
    slots.iter().map(|slot| slot.key().index()).collect()
}

#[test]
fn reserve_counts_from_the_present_len_and_by_whole_chunks() {
    let (slab, slots) = chunks_of_four(6);
    assert_eq!(slab.capacity(), 8);
    slab.reserve(2);
    assert_eq!(slab.capacity(), 8, "there is room for two");
    slab.reserve(3);
    assert_eq!(slab.capacity(), 12);
    slab.reserve(0);
    assert_eq!(slab.capacity(), 12);
    // Stale slots hold cells that are no room.
    slab.clear();
    slab.reserve(7);
    assert_eq!((slab.capacity(), slab.len()), (16, 0));
    slab.check();
    drop(slots);
    slab.reserve(16);
    assert_eq!(slab.capacity(), 16);

    let lazy = Slab::<u64>::new();
    lazy.reserve(0);
    assert_eq!(lazy.capacity(), 0);
}

#[test]
fn reserve_does_not_change_the_order_of_free_slots() {
    let (slab, mut slots) = chunks_of_four(8);
    drop(slots.remove(5));
    drop(slots.remove(2));
    slab.reserve(9);
    slab.check();
    let next: Vec<_> = (0..10).map(|n| slab.insert(n)).collect();
    assert_eq!(keys_of(&next), [2, 5, 8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn a_reserve_that_cannot_be_says_so_before_it_allocates() {
    use flatslab::AllocError;
    let (slab, _slots) = chunks_of_four(6);
    // Whole chunks below 2^30 slots; what was asked for, not rounded.
    let limit = (1 << 30) - 4;
    for (additional, requested) in [(1 << 30, (1 << 30) + 6), (usize::MAX, usize::MAX)] {
        assert_eq!(
            slab.try_reserve(additional),
            Err(AllocError::TooManySlots { requested, limit })
        );
    }
    assert!(panics(|| slab.reserve(usize::MAX)));
    assert_eq!(slab.capacity(), 8);
    slab.check();
}

#[test]
fn shrink_keeps_keys_and_numbers_are_used_again_the_lowest_first() {
    let (slab, mut slots) = chunks_of_four(32);
    let kept = [slots.remove(29), slots.remove(13), slots.remove(1)];
    drop(slots);
    slab.shrink();
    slab.check();
    assert_eq!((slab.chunks(), slab.capacity(), slab.len()), (3, 12, 3));
    let values: Vec<_> = kept
        .iter()
        .map(|slot| (slot.key().index(), *slot.get()))
        .collect();
    assert_eq!(values, [(29, 29), (13, 13), (1, 1)]);
    assert!(
        kept.iter()
            .all(|slot| *slab.get(slot.key()).unwrap() == *slot.get())
    );
    // A hole's keys are asked for like any other.
    for hole in [4, 11, 16, 27] {
        let key = Key::from_raw(hole);
        assert!(slab.get(key).is_none() && slab.get_mut(key).is_none());
        assert!(!slab.contains_key(key) && slab.slot(key).is_none());
        assert!(slab.try_remove_by_key(key).is_none() && slab.get_copied(key).is_none());
        assert!(panics(|| slab.remove_by_key(key)));
        // SAFETY: no guard is alive, and nothing is removed.
        assert!(unsafe { slab.untracked().get(key).is_none() });
    }

    // The nine free cells in the order in which they were freed, then the
    // holes, then beyond.
    let more: Vec<_> = (100..130).map(|n| slab.insert(n)).collect();
    assert_eq!(keys_of(&more)[..9], [31, 30, 28, 15, 14, 12, 3, 2, 0]);
    let then: Vec<usize> = (4..12).chain(16..28).chain(32..33).collect();
    assert_eq!(keys_of(&more)[9..], then);
    slab.check();
    assert_eq!(slab.chunks(), 9);
}

#[test]
fn shrink_and_reserve_from_holes_keep_the_order() {
    let (slab, mut slots) = chunks_of_four(24);
    slots.drain(4..20);
    slab.shrink();
    drop(slots.remove(0));
    assert_eq!(slab.chunks(), 2);
    // Four holes: chunks 1 and 2 are made, below the free cell.
    slab.reserve(8);
    slab.check();
    let next: Vec<_> = (0..9).map(|n| slab.insert(n)).collect();
    assert_eq!(keys_of(&next), [0, 4, 5, 6, 7, 8, 9, 10, 11]);
    // The next growth takes the rest, and then beyond.
    slab.reserve(12);
    slab.check();
    assert_eq!((slab.chunks(), slab.capacity()), (7, 28));
    let next: Vec<_> = (0..12).map(|n| slab.insert(n)).collect();
    assert_eq!(keys_of(&next), (12..20).chain(24..28).collect::<Vec<_>>());
}

#[test]
fn a_slab_that_shrinks_to_nothing_begins_anew() {
    for rounds in 1..4 {
        let slab = Slab::builder().chunk_capacity(4).build();
        for _ in 0..rounds {
            let slots: Vec<_> = (0..40).map(|n| slab.insert(n)).collect();
            assert_eq!(keys_of(&slots), (0..40).collect::<Vec<_>>());
            slab.shrink();
            assert_eq!(slab.chunks(), 10, "all are in use");
            drop(slots);
            slab.shrink();
            slab.check();
            assert_eq!((slab.chunks(), slab.capacity()), (0, 0));
            assert!(slab.is_full() && slab.is_empty());
        }
    }
    Slab::<u64>::new().shrink();
    let built = Slab::<u64>::builder().reserve(100).build();
    built.shrink();
    assert_eq!(built.capacity(), 0);
}

/// Fresh cells, which are not on the stack yet, go with their chunk or stay.
#[test]
fn shrink_finds_fresh_cells_free() {
    let slab = Slab::builder().chunk_capacity(16).build();
    let slot = slab.insert(7);
    slab.shrink();
    slab.check();
    assert_eq!(slab.capacity(), 16);
    let next: Vec<_> = (0..15).map(|n| slab.insert(n)).collect();
    assert_eq!(keys_of(&next), (1..16).collect::<Vec<_>>());
    drop(next);
    drop(slot);
    slab.shrink();
    assert_eq!(slab.capacity(), 0);
}
