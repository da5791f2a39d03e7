//! Values that leave, and come back under their keys.

use flatslab::key_slab::InsertAtError;
use flatslab::{BoundedKeySlab, GenKey, KeySlab, key_type};

use crate::message_of;
use crate::program::{Count, Counted, Numbers};

key_type!(
    struct OrderKey(GenKey);
);

#[test]
fn a_slot_is_kept_until_its_value_is_back() {
    let count = Count::default();
    let mut slab: KeySlab<Counted, OrderKey> = KeySlab::with_key();
    let (first, second) = (slab.insert(count.make(1)), slab.insert(count.make(2)));
    let value = slab.detach(first).unwrap();
    assert_eq!(
        (slab.len(), slab.detached_slots(), slab.free_slots()),
        (1, 1, 2)
    );
    assert!(slab.get(first).is_none() && !slab.contains(first));
    assert!(slab.try_remove(first).is_none() && slab.detach(first).is_none());
    assert_eq!(slab.keys().collect::<Vec<_>>(), [second]);
    let others = [3, 4, 5].map(|n| slab.insert(count.make(n)));
    assert!(others.iter().all(|key| key.index() > 1));
    slab.reattach(first, value);
    assert_eq!(
        (slab[first].number, slab.detached_slots(), slab.len()),
        (1, 0, 5)
    );
    let error = slab.try_reattach(first, count.make(9)).unwrap_err();
    assert_eq!(error.to_string(), "no value is detached from this key");
    drop(error);
    assert_eq!(count.alive(), 5);
    assert_eq!(slab.remove(first).number, 1);
    assert_eq!(slab.insert(count.make(6)).index(), 0);
}

/// `remove` and `reattach` must not fill a slot that is on the free stack.
#[test]
fn a_free_slot_is_not_a_kept_one() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let key = slab.insert(1);
    slab.remove(key);
    assert!(slab.try_reattach(key, 2).is_err() && !slab.free_detached(key));
    let next = slab.insert(3);
    assert!(slab.try_reattach(key, 2).is_err() && slab.try_reattach(next, 2).is_err());
    assert_eq!(slab.detach(next), Some(3));
    // Of an earlier and a later generation, of another slot, of none.
    for other in [(0, 0), (0, 2), (1, 1), (1 << 20, 1)] {
        assert!(slab.try_reattach(GenKey::of(other.0, other.1), 4).is_err());
    }
    slab.reattach(next, 4);
    assert_eq!(slab[next], 4);
    assert_eq!(
        message_of(move || slab.reattach(next, 5)),
        "reattach was refused: no value is detached from GenKey(slot 0, generation 1)"
    );
}

#[test]
fn what_is_done_to_all_values_leaves_kept_slots() {
    let count = Count::default();
    let mut slab: KeySlab<Counted, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..8).map(|n| slab.insert(count.make(n))).collect();
    let value = slab.detach(keys[5]).unwrap();
    let kept = |slab: &KeySlab<Counted, GenKey>| {
        let mut slab = slab.clone();
        assert_eq!(slab.detached_slots(), 1);
        slab.reattach(keys[5], count.make(50));
        slab[keys[5]].number == 50
    };
    slab.retain(|key, _| key.index() < 2);
    assert!(kept(&slab));
    slab.shrink_to_fit();
    assert_eq!((slab.used_slots(), slab.capacity()), (6, 6));
    assert!(kept(&slab));
    assert_eq!(slab.drain().count(), 2);
    assert!(kept(&slab));
    slab.insert(count.make(1));
    slab.clear();
    assert!(kept(&slab));
    slab.compact(|_, _, _| panic!("there is no value"));
    assert!(kept(&slab));
    let refused = slab.insert_at(GenKey::of(5, 90), count.make(9));
    assert!(matches!(refused, Err(InsertAtError::Detached(_))));
    drop(refused);
    let refused = slab.try_extend([(GenKey::of(5, 90), count.make(9))]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "slot of this key is reserved for a detached value"
    );
    while slab.used_slots() < 10 {
        assert_ne!(slab.insert(count.make(0)).index(), 5);
    }
    slab.reattach(keys[5], value);
    assert_eq!((slab[keys[5]].number, slab.len()), (5, count.alive()));

    slab.clear();
    slab.insert_at(GenKey::of(5, 90), count.make(9)).unwrap();
    slab.detach(GenKey::of(5, 90));
    slab.reset_generations();
    assert!(slab.try_reattach(GenKey::of(5, 90), count.make(9)).is_err());
    assert_eq!(
        (slab.insert(count.make(1)), slab.detached_slots()),
        (GenKey::of(0, 0), 0)
    );
}

#[test]
fn a_slot_that_is_given_up_is_free_or_retires() {
    let mut slab: BoundedKeySlab<(), GenKey> = BoundedKeySlab::with_capacity_and_key(1);
    let key = slab.insert(()).unwrap();
    slab.detach(key);
    assert!(slab.is_full() && slab.is_empty() && slab.insert(()).is_err());
    assert!(slab.free_detached(key) && !slab.is_full());
    assert!(slab.try_reattach(key, ()).is_err());
    let last = GenKey::of(0, (1 << 30) - 2);
    slab.insert_at(last, ()).unwrap();
    slab.detach(last);
    slab.reattach(last, ());
    slab.detach(last);
    assert_eq!((slab.retired_slots(), slab.detached_slots()), (0, 1));
    assert!(slab.free_detached(last) && !slab.free_detached(last));
    assert_eq!(
        (slab.retired_slots(), slab.detached_slots(), slab.is_full()),
        (1, 0, true)
    );
}
