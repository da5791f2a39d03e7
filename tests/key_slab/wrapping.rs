//! How far generations are used up, and what happens when they wrap: a slot begins with the first
//! one again, whichever way its last value goes.

use flatslab::key_slab::{KeySlabStorage, SecondarySlab};
use flatslab::{BoundedKeySlab, GenKey, KeySlab, PlainSlab, key_type};

use crate::message_of;
use crate::program::Numbers;

const GENERATIONS: u32 = (1 << 30) - 1;

fn key(slot: usize, generation: u32) -> GenKey {
    GenKey::of(slot, generation)
}

fn last(slot: usize) -> GenKey {
    key(slot, GENERATIONS - 1)
}

fn wrapping<T>() -> KeySlab<T, GenKey> {
    KeySlab::builder_with_key().wrapping_generations().build()
}

#[test]
fn a_slot_begins_again_after_its_last_generation() {
    let mut slab = BoundedKeySlab::<&str, GenKey>::builder_with_key()
        .capacity(1)
        .wrapping_generations()
        .build();
    let before = key(0, GENERATIONS - 2);
    slab.insert_at(before, "last but one").unwrap();
    slab.remove(before);
    let last = slab.insert("last").unwrap();
    assert_eq!((last, slab.wear()), (key(0, GENERATIONS - 1), GENERATIONS));
    assert_eq!(slab.remove(last), "last");
    assert_eq!(
        (slab.wear(), slab.retired_slots(), slab.free_slots()),
        (0, 0, 1)
    );
    let first = slab.insert("first").unwrap();
    assert_eq!((first, slab.wear()), (key(0, 0), 1));
    // Those of the round before lead to no value until their turn comes again.
    assert_eq!(
        (slab.get(before), slab.get(last), slab[first]),
        (None, None, "first")
    );
    slab.remove(first);
    assert_eq!(slab.insert("second"), Ok(key(0, 1)));
}

/// Every way in which a value leaves its slot.
#[test]
fn whichever_way_the_last_value_goes_its_slot_wraps() {
    type Slab = KeySlab<String, GenKey>;
    fn check(what: &str, end: impl FnOnce(&mut Slab)) {
        let mut slab: Slab = wrapping();
        slab.insert("zero".to_string());
        slab.insert_at(last(1), "one".to_string()).unwrap();
        slab.insert_at(key(2, 7), "two".to_string()).unwrap();
        end(&mut slab);
        assert_eq!(
            (slab.retired_slots(), slab.detached_slots()),
            (0, 0),
            "{what}"
        );
        assert!(slab.wear() < 100, "{what}");
        let keys: Vec<_> = (0..4).map(|_| slab.insert(String::new())).collect();
        let again = keys.iter().find(|key| key.index() == 1);
        assert!(again.unwrap().generation() < 10, "{what}: {keys:?}");
        assert!(!slab.contains(last(1)), "{what}");
    }
    check("remove", |slab| drop(slab.remove(last(1))));
    check("try_remove", |slab| drop(slab.try_remove(last(1))));
    check("remove_many", |slab| drop(slab.remove_many(&[last(1)])));
    check("retain", |slab| slab.retain(|key, _| key != last(1)));
    check("drain", |slab| assert_eq!(slab.drain().count(), 3));
    check("drain, from the end", |slab| {
        assert_eq!(slab.drain().nth_back(1).unwrap().0, last(1));
    });
    check("drain, dropped", |slab| drop(slab.drain()));
    check("clear", KeySlab::clear);
    check("compact", |slab| {
        slab.remove(key(0, 0));
        slab.remove(key(2, 7));
        slab.compact(|_, from, to| (from, to) == (last(1), key(0, 1)));
        assert_eq!((slab.len(), slab.capacity()), (1, 1));
    });
    check("free_detached", |slab| {
        let value = slab.detach(last(1)).unwrap();
        slab.reattach(last(1), value);
        slab.detach(last(1));
        assert_eq!(slab.wear(), GENERATIONS);
        assert!(slab.free_detached(last(1)));
    });
}

#[test]
fn a_slot_wraps_though_a_destructor_panics() {
    struct Panics(bool);
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0, "this one panics");
        }
    }
    let mut slab = wrapping();
    slab.insert_at(last(0), Panics(true)).unwrap();
    slab.insert_at(last(1), Panics(false)).unwrap();
    assert_eq!(message_of(|| slab.clear()), "this one panics");
    assert_eq!((slab.len(), slab.retired_slots(), slab.wear()), (0, 0, 0));
    assert_eq!(slab.insert(Panics(false)), key(0, 0));
    assert_eq!(slab.insert(Panics(false)), key(1, 0));
}

#[test]
fn wear_is_that_of_the_most_worn_slot() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    assert_eq!(slab.wear(), 0);
    let keys = [slab.insert(0), slab.insert(1)];
    assert_eq!(slab.wear(), 1);
    slab.remove(keys[0]);
    assert_eq!(slab.wear(), 1);
    let again = slab.insert(2);
    assert_eq!(slab.wear(), 2);
    // A detached value has used no more.
    slab.detach(again);
    assert_eq!(slab.wear(), 2);
    slab.free_detached(again);
    slab.insert_at(key(0, 99), 0).unwrap();
    assert_eq!(slab.wear(), 100);
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!((slab.used_slots(), slab.wear()), (0, 100));
    slab.insert_at(last(3), 0).unwrap();
    slab.remove(last(3));
    assert_eq!((slab.wear(), slab.retired_slots()), (GENERATIONS, 1));
    slab.reset_generations();
    assert_eq!(slab.wear(), 0);

    let mut plain = KeySlab::new();
    let first = plain.insert(0);
    plain.remove(first);
    plain.insert(0);
    assert_eq!(plain.wear(), 0);
}

/// A slot that begins at the floor has half of its generations before it can get there again.
#[test]
fn no_floor_takes_more_than_half_of_the_generations() {
    let half = 1 << 29;
    let mut slab = wrapping();
    // As if it had been shrunk many times: each slot that is cut off raises the floor by a step.
    let step = 1 << 16;
    for round in 1..=half / step {
        slab.insert_at(key(0, round * step - 1), 0).unwrap();
        slab.clear();
        slab.shrink_to_fit();
        assert_eq!((slab.used_slots(), slab.wear()), (0, round * step));
        if cfg!(miri) && round == 8 {
            return;
        }
    }
    assert_eq!(slab.insert(0), key(0, half));
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!(
        slab.used_slots(),
        1,
        "it would begin with the same generation again"
    );
    slab.insert_at(last(0), 0).unwrap();
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!((slab.used_slots(), slab.insert(0)), (0, key(0, half)));
}

#[test]
fn a_clone_wraps_as_its_original_does() {
    let mut slab = wrapping();
    slab.insert_at(last(0), 7).unwrap();
    let retires: KeySlab<i32, GenKey> = KeySlab::with_key();
    let mut clones = [slab.clone(), retires.clone(), retires.clone(), slab.clone()];
    clones[1].clone_from(&slab);
    clones[2].reserve(8);
    clones[2].clone_from(&slab);
    clones[3].clone_from(&retires);
    for (clone, wraps) in clones.iter_mut().zip([true, true, true, false]) {
        if clone.is_empty() {
            clone.insert_at(last(0), 7).unwrap();
        }
        clone.remove(last(0));
        assert_eq!(clone.retired_slots(), usize::from(!wraps));
    }
    // What is given up begins to wrap again.
    clones[0].reset_generations();
    clones[0].insert_at(last(0), 7).unwrap();
    clones[0].clear();
    assert_eq!(clones[0].retired_slots(), 0);
}

#[test]
fn entries_of_an_earlier_round_give_way() {
    let (mut slab, mut more) = (wrapping(), SecondarySlab::new());
    slab.insert_at(last(0), "old").unwrap();
    assert_eq!(more.insert(&slab, last(0), 1), None);
    slab.remove(last(0));
    let first = slab.insert("new");
    assert_eq!((first, more.get(first)), (key(0, 0), None));
    assert!(more.join(&slab).next().is_none() && more.join_mut(&mut slab).next().is_none());
    assert_eq!(more.try_insert(&slab, first, 2), Ok(None));
    assert_eq!(
        (more.get(last(0)), more.get(first), more.len()),
        (None, Some(&2), 1)
    );
    slab.remove(first);
    more.prune(&slab);
    assert!(more.is_empty());
}

#[test]
fn a_slab_in_a_storage_wraps() {
    key_type!(struct TimerKey(GenKey));
    static TIMERS: KeySlabStorage<u8, 8, TimerKey> = KeySlabStorage::with_key();
    let timers = TIMERS.claim().expect("not claimed yet");
    let mut timers: BoundedKeySlab<u8, TimerKey> = timers.wrapping_generations();
    let mut storage = KeySlabStorage::<u8, 8>::new();
    let mut borrowed = PlainSlab::in_storage(&mut storage).wrapping_generations();
    for round in 0..2 {
        for slot in 0..8 {
            timers.insert_at(last(slot).into(), 7).unwrap();
            borrowed.insert_at(last(slot), 7).unwrap();
        }
        assert!(timers.is_full() && borrowed.is_full(), "{round}");
        timers.clear();
        borrowed.retain(|_, _| false);
        assert_eq!((timers.free_slots(), borrowed.free_slots()), (8, 8));
    }
    assert_eq!(borrowed.insert(7).map(GenKey::generation), Ok(0));
}

#[cfg(feature = "serde")]
mod snapshots {
    use flatslab::key_slab::Storage;
    use flatslab::{BoundedKeySlab, GenKey, KeySlab, PlainSlab};
    use serde::de::DeserializeSeed;
    use serde_json::{from_str, to_string};

    use super::{last, wrapping};

    fn restore<S: Storage>(slab: &mut PlainSlab<i32, GenKey, S>, json: &str) -> bool {
        let mut input = serde_json::Deserializer::from_str(json);
        let read = slab.restore().deserialize(&mut input);
        read.and_then(|()| input.end()).is_ok()
    }

    fn retires<S: Storage>(slab: &mut PlainSlab<i32, GenKey, S>) -> bool {
        slab.clear();
        slab.insert_at(last(0), 7).unwrap();
        slab.clear();
        slab.retired_slots() == 1
    }

    #[test]
    fn a_snapshot_says_that_generations_wrap() {
        let mut slab = wrapping();
        slab.insert_at(last(0), 7).unwrap();
        let json = to_string(&slab).unwrap();
        assert_eq!(json, "[[[2147483645,7]],[],1]");
        let mut back: KeySlab<i32, GenKey> = from_str(&json).unwrap();
        slab.remove(last(0));
        back.remove(last(0));
        assert_eq!(slab.insert(8), back.insert(8));
        assert_eq!(to_string(&back).unwrap(), "[[[1,8]],[],1]");

        let builder = BoundedKeySlab::<i32, GenKey>::builder_with_key().capacity(2);
        let json = to_string(&builder.clone().wrapping_generations().build()).unwrap();
        assert_eq!(json, "[2,[],[],1]");
        assert!(!retires(
            &mut from_str::<BoundedKeySlab<i32, GenKey>>(&json).unwrap()
        ));
        let json = to_string(&builder.build()).unwrap();
        assert!(retires(
            &mut from_str::<BoundedKeySlab<i32, GenKey>>(&json).unwrap()
        ));
    }

    #[test]
    fn generations_wrap_if_those_of_either_slab_did() {
        let (wraps, retired) = ("[[],[],1]", "[[[2147483646,null]],[],0]");
        for json in [wraps, retired] {
            let mut slab = wrapping();
            assert!(restore(&mut slab, json));
            // What the other one had retired is free when all is.
            assert_eq!(slab.retired_slots(), usize::from(json == retired));
            assert!(!retires(&mut slab));
            assert_eq!(slab.retired_slots(), 0);
        }
        let mut slab = KeySlab::with_key();
        // Nothing of one that could not be read.
        for bad in ["[[],[],1", "[[],[],1,2]", "[[],[0],1]"] {
            assert!(!restore(&mut slab, bad) && slab.is_empty(), "{bad}");
        }
        assert!(retires(&mut slab));
        slab.reset_generations();
        assert!(restore(&mut slab, wraps) && !retires(&mut slab));
    }

    #[test]
    fn a_forged_floor_is_refused() {
        let half = 1 << 30;
        let snapshot = |floor: u32| format!("[[],[],{floor}]");
        for (floor, is_one) in [(half + 1, true), (half + 3, false), (u32::MAX, false)] {
            let read = from_str::<KeySlab<i32, GenKey>>(&snapshot(floor));
            assert_eq!(read.is_ok(), is_one, "{floor}");
        }
        // Where they do not wrap it may be later, but not in a slab in which they will.
        let late = snapshot(half + 2);
        assert!(restore(&mut KeySlab::with_key(), &late) && !restore(&mut wrapping(), &late));
        for bad in ["[4,[],[],3]", "[4,[],[],2]"] {
            assert!(
                from_str::<BoundedKeySlab<i32, GenKey>>(bad).is_err(),
                "{bad}"
            );
        }
        assert!(from_str::<KeySlab<i32>>("[[],[],1]").is_err());
    }
}
