//! Values under keys of the caller's choice.

use std::error::Error;

use flatslab::key_slab::InsertAtError;
use flatslab::{AllocError, BoundedKeySlab, GenKey, Key, KeySlab};

use crate::program::{Count, Counted, LARGE};

fn key(index: u32) -> Key {
    Key::from_raw(index)
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_value_comes_back_under_its_key_and_slots_below_are_free() {
    let mut slab = KeySlab::new();
    slab.insert_at(key(5000), "high").unwrap();
    slab.insert_at(key(3), "low").unwrap();
    assert_eq!(
        (slab[key(5000)], slab[key(3)], slab.len()),
        ("high", "low", 2)
    );
    let keys: Vec<_> = (0..4).map(|_| slab.insert("new").index()).collect();
    assert_eq!(keys, [0, 1, 2, 4]);
    let error = slab.insert_at(key(5000), "again").unwrap_err();
    assert_eq!(error, InsertAtError::Taken("again"));
}

#[test]
fn a_slot_that_is_taken_by_its_key_is_not_handed_out_again() {
    let mut slab: KeySlab<u32> = (0..10).map(|number| (key(number), number)).collect();
    for gone in [2, 5, 8] {
        slab.remove(key(gone));
    }
    slab.insert_at(key(5), 50).unwrap();
    assert_eq!(
        [slab.insert(0), slab.insert(0), slab.insert(0)],
        [8, 2, 10].map(key)
    );
}

#[test]
fn keys_out_of_reach_are_errors_with_the_value() {
    let mut bounded = BoundedKeySlab::with_capacity(4);
    let error = bounded.insert_at(key(4), "four").unwrap_err();
    assert_eq!(
        error,
        InsertAtError::OutOfRange {
            value: "four",
            index: 4,
            limit: 4
        }
    );
    assert_eq!(
        error.to_string(),
        "slot index of this key must be less than 4, but is 4"
    );
    assert!(bounded.is_empty() && bounded.free_slots() == 4);

    let mut slab = KeySlab::new();
    for far in [Key::NONE, key(1 << 30), key((1 << 30) - 1)] {
        let error = slab.insert_at(far, "far").unwrap_err();
        assert!(matches!(error, InsertAtError::OutOfRange { .. }), "{error}");
        assert!(error.source().is_none());
    }
    assert_eq!(slab.capacity(), 0);
}

#[test]
fn a_bounded_slab_is_made_from_its_values() {
    let saved = [(key(3), "three"), (key(0), "zero"), (key(3), "later")];
    let mut slab = BoundedKeySlab::with_capacity(5);
    slab.try_extend(saved).unwrap();
    assert_eq!((slab.len(), slab[key(3)], slab.capacity()), (2, "later", 5));
    assert_eq!(
        [slab.insert("a"), slab.insert("b")],
        [Ok(key(1)), Ok(key(2))]
    );
    let refused = BoundedKeySlab::with_capacity(3).try_extend(saved);
    assert_eq!(refused.unwrap_err().into_inner(), "three");
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn touching_memory_changes_no_value() {
    const SLOTS: usize = if cfg!(miri) { 1100 } else { 5000 };
    let mut slab = BoundedKeySlab::with_capacity(SLOTS);
    slab.insert_at(key(1000), 7_u64).unwrap();
    let next = slab.vacant_key();
    slab.prepare(SLOTS).unwrap();
    assert_eq!(
        (slab[key(1000)], slab.len(), slab.vacant_key()),
        (7, 1, next)
    );
    while slab.insert(8).is_ok() {}
    slab.prepare(usize::MAX).unwrap();
    assert!(slab.is_full() && slab.values().filter(|value| **value == 8).count() == SLOTS - 1);
    BoundedKeySlab::<u64>::with_capacity(0).prepare(1).unwrap();

    let mut slab = KeySlab::from_iter([(key(0), 7_u64), (key(2), 8)]);
    slab.prepare(SLOTS).unwrap();
    assert!(slab.free_slots() >= SLOTS && slab.values().eq(&[7, 8]));
    let capacity = slab.capacity();
    assert_eq!(
        (0..SLOTS).map(|_| slab.insert(9).index()).max(),
        Some(SLOTS + 1)
    );
    assert_eq!(slab.capacity(), capacity);
    assert!(slab.prepare(usize::MAX).is_err());
    assert_eq!((slab.capacity(), slab.len()), (capacity, SLOTS + 2));
}

#[test]
fn what_extend_cannot_put_in_comes_back_and_the_rest_stays() {
    let count = Count::default();
    let mut slab: BoundedKeySlab<Counted<LARGE>> = BoundedKeySlab::with_capacity(4);
    let values = [1, 9, 2].map(|at| (key(at), count.make(u64::from(at))));
    let error = slab.try_extend(values).unwrap_err();
    assert_eq!((slab.len(), error.into_inner().number), (1, 9));
    assert_eq!(count.alive(), 1);
    assert_eq!(slab.vacant_key(), Some(key(0)));
    assert!(slab.contains(key(1)));
}

#[test]
fn capacities_that_cannot_be_are_errors() {
    assert!(matches!(
        BoundedKeySlab::<u64>::try_with_capacity(1 << 30).unwrap_err(),
        AllocError::TooManySlots {
            requested: 0x4000_0000,
            ..
        }
    ));
    for capacity in [1 << 30, usize::MAX, usize::MAX - 4095] {
        let error = KeySlab::<u64>::try_with_capacity(capacity).unwrap_err();
        assert!(
            matches!(error, AllocError::TooManySlots { requested, .. } if requested == capacity)
        );
    }
    // Keys with a generation: their cells are made in place. A function with a value of
    // this size on its stack is what AddressSanitizer cannot compile.
    type Huge = [u8; isize::MAX as usize / 64];
    let mut slab = KeySlab::<Huge, GenKey>::with_key();
    assert!(matches!(
        slab.try_reserve(100).unwrap_err(),
        AllocError::TooManyBytes { slots: 100, .. }
    ));
    assert_eq!(slab.capacity(), 0);
    assert!(matches!(
        BoundedKeySlab::<Huge, GenKey>::try_with_capacity_and_key(100).unwrap_err(),
        AllocError::TooManyBytes { slots: 100, .. }
    ));
}

/// Neither its memory nor the order of the free slots.
#[test]
fn a_refused_value_changes_nothing() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    for _ in 0..3 {
        slab.insert(0);
    }
    slab.clear();
    slab.shrink_to_fit();
    let key =
        |slot: u64, generation: u64| GenKey::from_raw((generation * 2 + 1) << 32 | slot).unwrap();
    let (next, capacity) = (slab.vacant_key(), slab.capacity());
    assert!(slab.try_extend([(key(1_000_000, 0), 1)]).is_err());
    assert!(slab.insert_at(key(1_000_000, 0), 1).is_err());
    assert_eq!((slab.vacant_key(), slab.capacity()), (next, capacity));
    slab.try_extend([(key(5, 7), 1)]).unwrap();
    assert!(slab.try_extend([(key(5, 6), 1)]).is_err());
    assert_eq!((slab[key(5, 7)], slab.insert(2).index()), (1, 4));
}
