//! Values that move to lower slots, and clones into memory that is there.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab};

use crate::program::{Count, Counted, Numbers};

#[test]
fn the_last_values_fill_the_first_free_slots() {
    let count = Count::default();
    let mut slab: KeySlab<Counted> = KeySlab::new();
    for n in 0..10 {
        slab.insert(count.make(n));
    }
    slab.retain(|key, _| ![0, 3, 4, 9].contains(&key.index()));
    let mut moved = Vec::new();
    slab.compact(|value, from, to| {
        moved.push((value.number, from.index(), to.index()));
        true
    });
    assert_eq!(moved, [(8, 8, 0), (7, 7, 3), (6, 6, 4)]);
    assert_eq!((slab.capacity(), slab.len(), count.alive()), (6, 6, 6));
    assert!(
        slab.values()
            .map(|value| value.number)
            .eq([8, 1, 2, 7, 6, 5])
    );
    slab.compact(|_, _, _| panic!("nothing is left to move"));
    assert_eq!(slab.insert(count.make(1)).index(), 6);
}

#[test]
fn generations_go_on_and_slots_that_are_out_stay() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..8).map(|n| slab.insert(n)).collect();
    let value = slab.detach(keys[0]).unwrap();
    for gone in [1, 2, 3] {
        slab.remove(keys[gone]);
    }
    slab.insert_at(GenKey::of(2, (1 << 30) - 2), 0).unwrap();
    slab.remove(GenKey::of(2, (1 << 30) - 2));
    let mut new = Vec::new();
    slab.compact(|value, from, to| {
        assert_eq!(from, keys[*value as usize]);
        new.push(to);
        true
    });
    assert_eq!(new, [GenKey::of(1, 1), GenKey::of(3, 1)]);
    assert_eq!((slab[new[0]], slab[new[1]], slab.used_slots()), (7, 6, 6));
    assert!(
        keys.iter()
            .filter(|key| slab.contains(**key))
            .eq(&[keys[4], keys[5]])
    );
    slab.reattach(keys[0], value);
    assert_eq!(
        (slab.len(), slab.retired_slots(), slab.detached_slots()),
        (5, 1, 0)
    );
    // Slots that were cut off begin with the generations after those they had.
    assert_eq!(slab.insert(9), GenKey::of(6, 1));
}

#[test]
fn a_refusal_or_a_panic_leaves_the_rest() {
    let count = Count::default();
    let mut slab: KeySlab<Counted> = KeySlab::new();
    for n in 0..6 {
        slab.insert(count.make(n));
    }
    slab.remove(Key::from_raw(0));
    slab.remove(Key::from_raw(1));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        slab.compact(|_, _, to| {
            assert!(to.index() == 0, "it panics");
            true
        });
    }));
    assert!(panic.is_err());
    assert!(slab.keys().map(Key::index).eq([0, 2, 3, 4]));
    slab.compact(|_, _, _| false);
    assert!(slab.keys().map(Key::index).eq([0, 2, 3, 4]));
    assert_eq!((slab.capacity(), count.alive()), (5, 4));
    assert_eq!(
        [slab.insert(count.make(0)), slab.insert(count.make(0))].map(Key::index),
        [1, 5]
    );
}

#[test]
fn a_clone_uses_the_memory_there_is() {
    let mut source: KeySlab<String, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = ["a", "b", "c"].map(|s| source.insert(s.into())).into();
    source.remove(keys[1]);
    let mut slab: KeySlab<String, GenKey> = KeySlab::with_capacity_and_key(9);
    let old = slab.insert("old".into());
    slab.clone_from(&source);
    assert_eq!((&slab, slab.capacity()), (&source, 9));
    assert_eq!((slab.vacant_key(), &*slab[old]), (source.vacant_key(), "a"));
    let mut small = KeySlab::with_capacity_and_key(2);
    small.clone_from(&source);
    assert_eq!(small, source);

    let mut source = BoundedKeySlab::with_capacity(3);
    source.insert(1).unwrap();
    for capacity in [2, 3, 4] {
        let mut slab = BoundedKeySlab::with_capacity(capacity);
        slab.insert(2).unwrap();
        slab.clone_from(&source);
        assert_eq!((&slab, slab.capacity()), (&source, 3));
    }
}

#[test]
fn a_value_that_panics_when_it_is_cloned_ends_the_copy() {
    #[derive(Debug)]
    struct Bad(u32);
    impl Clone for Bad {
        fn clone(&self) -> Self {
            assert!(self.0 != 3, "a clone panics");
            Bad(self.0)
        }
    }
    let mut source: KeySlab<Bad, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5).map(|n| source.insert(Bad(n))).collect();
    source.remove(keys[0]);
    let mut slab: KeySlab<Bad, GenKey> = KeySlab::with_capacity_and_key(9);
    slab.insert(Bad(7));
    let panic = catch_unwind(AssertUnwindSafe(|| slab.clone_from(&source)));
    assert!(panic.is_err());
    assert!(slab.keys().eq([keys[1], keys[2]]));
    assert_eq!(
        (slab.insert(Bad(1)).index(), slab.insert(Bad(1)).index()),
        (0, 3)
    );
}
