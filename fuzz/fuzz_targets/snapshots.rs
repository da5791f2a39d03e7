//! Bytes as a snapshot of a `KeySlab` of either storage and either kind of keys: it is refused, or
//! a slab whose own snapshot is read again, and which hands out each free slot once.
#![no_main]

use std::collections::HashSet;

use flatslab::key_slab::{SlabKey, Storage};
use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab, PlainSlab};
use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeSeed;

/// More than the bytes of an input could ask for.
const CAPACITY: usize = 500;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind % 4 {
        0 => read::<Key, _>(rest, KeySlab::with_key),
        1 => read::<GenKey, _>(rest, KeySlab::with_key),
        2 => read::<Key, _>(rest, || BoundedKeySlab::with_capacity(CAPACITY)),
        _ => read::<GenKey, _>(rest, || BoundedKeySlab::with_capacity_and_key(CAPACITY)),
    }
});

fn read<K: SlabKey, S: Storage>(bytes: &[u8], make: impl Fn() -> PlainSlab<u8, K, S>) {
    let mut slab = make();
    let mut input = postcard::Deserializer::from_bytes(bytes);
    let is_read = slab.restore().deserialize(&mut input).is_ok();
    slab.check();
    if !is_read {
        assert!(slab.is_empty() && slab.used_slots() == 0);
        return;
    }
    let written = postcard::to_allocvec(&slab).expect("memory");
    let mut again = make();
    let mut input = postcard::Deserializer::from_bytes(&written);
    again
        .restore()
        .deserialize(&mut input)
        .expect("it was written");
    again.check();
    assert!(again == slab && again.used_slots() == slab.used_slots());
    let mut keys: HashSet<K> = slab.keys().collect();
    for _ in 0..slab.free_slots().min(CAPACITY) {
        let key = slab.try_insert(7).expect("a slot is free");
        assert_eq!(again.try_insert(7).ok(), Some(key));
        assert!(keys.insert(key), "{key:?} came twice");
    }
    slab.check();
}
