//! Many values at once: the same as one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flatslab::{BoundedKeySlab, GenKey, KeySlab};

use crate::program::{Count, Counted, Numbers};

/// A slab with free slots in no order.
fn with_holes<K: Numbers>(count: &Count) -> KeySlab<Counted, K> {
    let mut slab = KeySlab::with_key();
    let keys: Vec<_> = (0..30).map(|n| slab.insert(count.make(n))).collect();
    for at in [3, 17, 4, 29, 11, 0, 8, 9, 21, 22, 23, 2] {
        slab.remove(keys[at]);
    }
    slab
}

fn the_keys_of_the_loop<K: Numbers>() {
    let count = Count::default();
    let mut slab = with_holes::<K>(&count);
    let mut one_by_one = slab.clone();
    let mut keys = Vec::new();
    slab.insert_many((100..120).map(|n| count.make(n)), &mut keys);
    let expected: Vec<_> = (100..120)
        .map(|n| one_by_one.insert(count.make(n)))
        .collect();
    assert_eq!(keys, expected);
    assert!(
        slab.get_many(&keys)
            .zip(100..)
            .all(|(value, n)| value.unwrap().number == n)
    );
    assert_eq!((slab.get_many(&keys).len(), slab.len()), (20, 38));
}

#[test]
fn many_get_the_keys_of_the_loop() {
    the_keys_of_the_loop::<flatslab::Key>();
    the_keys_of_the_loop::<GenKey>();
}

#[test]
fn what_has_no_room_is_left() {
    let mut slab: BoundedKeySlab<u32> = BoundedKeySlab::with_capacity(4);
    slab.insert(0).unwrap();
    let (mut values, mut keys) = (1..9, Vec::new());
    let full = slab.try_insert_many(&mut values, &mut keys).unwrap_err();
    assert_eq!((full.into_inner(), values.len(), keys.len()), (4, 4, 3));
    assert!(slab.get_many(&keys).flatten().eq(&[1, 2, 3]));
}

#[test]
fn an_iterator_that_panics_leaves_what_was_inserted() {
    let count = Count::default();
    let mut slab = with_holes::<GenKey>(&count);
    let mut keys = Vec::new();
    let values = (0..).map(|n| {
        assert!(n < 14, "the iterator panics");
        count.make(n)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| slab.insert_many(values, &mut keys))).is_err());
    assert_eq!((keys.len(), slab.len()), (14, 32));
    assert_eq!(
        (count.alive(), slab.get_many(&keys).flatten().count()),
        (32, 14)
    );
}

#[test]
fn a_key_that_stands_twice_removes_once() {
    let count = Count::default();
    let mut slab = with_holes::<GenKey>(&count);
    let keys: Vec<_> = slab.keys().collect();
    let twice = [keys[0], keys[1], keys[0], keys[1], GenKey::of(1 << 29, 3)];
    let mut removed = slab.remove_many(&twice);
    assert_eq!(removed.len(), 5);
    assert_eq!(removed.next().flatten().map(|value| value.number), Some(1));
    assert_eq!(removed.len(), 4);
    drop(removed); // goes on
    assert_eq!((slab.len(), slab.contains(keys[1])), (16, false));
    assert_eq!(count.alive(), 16);
    let mut removed = slab.remove_many(&keys[2..5]);
    assert!(removed.next().flatten().is_some());
    std::mem::forget(removed); // does not
    assert_eq!((slab.len(), slab.contains(keys[3])), (15, true));
    assert_eq!(slab.remove_many(&[]).count(), 0);
}

#[test]
fn a_destructor_that_panics_leaves_none_behind() {
    struct Bomb(u32, Count);
    impl Drop for Bomb {
        fn drop(&mut self) {
            drop(self.1.make::<0>(0));
            assert!(self.0 != 2, "a destructor panics");
        }
    }
    let mut slab: KeySlab<Bomb> = KeySlab::new();
    let mut keys = Vec::new();
    slab.insert_many((0..6).map(|n| Bomb(n, Count::default())), &mut keys);
    let panic = catch_unwind(AssertUnwindSafe(|| drop(slab.remove_many(&keys[..5]))));
    assert!(panic.is_err());
    assert_eq!((slab.len(), slab.contains(keys[5])), (1, true));
    assert_eq!(slab.vacant_key(), keys[4]);
}
