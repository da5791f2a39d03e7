//! Snapshots, through JSON.

use flatslab::key_slab::KeyLimit;
use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab, key_type};
use serde::de::DeserializeSeed;
use serde_json::{from_str, to_string};

key_type!(struct OrderKey);

impl serde::Serialize for OrderKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Key::from(*self).serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for OrderKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Key::deserialize(deserializer).map(Self::from)
    }
}

#[test]
fn a_slab_comes_back_under_its_own_keys() {
    let mut slab: KeySlab<String, OrderKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5).map(|n| slab.insert(format!("value {n}"))).collect();
    slab.remove(keys[1]);
    slab.remove(keys[3]);
    let json = to_string(&slab).unwrap();
    assert_eq!(json, r#"{"0":"value 0","2":"value 2","4":"value 4"}"#);
    let mut back: KeySlab<String, OrderKey> = from_str(&json).unwrap();
    assert_eq!(back, slab);
    assert_eq!(back.insert(String::new()), keys[1]);
    assert_eq!(to_string(&keys).unwrap(), "[0,1,2,3,4]");
    assert_eq!(from_str::<Vec<OrderKey>>("[0,1,2,3,4]").unwrap(), keys);
}

#[test]
fn a_bounded_slab_keeps_its_capacity() {
    let mut slab = BoundedKeySlab::with_capacity(3);
    slab.insert(7).unwrap();
    let json = to_string(&slab).unwrap();
    assert_eq!(json, r#"[3,{"0":7}]"#);
    let back: BoundedKeySlab<i32> = from_str(&json).unwrap();
    assert_eq!((back.capacity(), &back), (3, &slab));
    for bad in [
        r#"[3,{"3":7}]"#,
        "[3]",
        "[]",
        "{}",
        "[1e30,{}]",
        "[1073741824,{}]",
    ] {
        assert!(from_str::<BoundedKeySlab<i32>>(bad).is_err(), "{bad}");
    }
}

#[test]
fn generations_come_back_of_vacant_slots_too() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5000).map(|n| slab.insert(n)).collect();
    // Most slots go, and their generations are remembered.
    slab.retain(|key, _| key.index() < 3 && key.index() != 1);
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), 3);
    let json = to_string(&slab).unwrap();
    let limited = KeyLimit::<KeySlab<u32, GenKey>>::new(slab.capacity());
    let mut back = limited
        .deserialize(&mut serde_json::Deserializer::from_str(&json))
        .unwrap();
    assert_eq!(back, slab);
    for number in 0..9000 {
        let key = back.insert(number);
        assert!(!keys.contains(&key), "{key:?} came twice");
    }
    assert!(
        keys.iter()
            .all(|key| back.contains(*key) == slab.contains(*key))
    );

    let mut bounded: BoundedKeySlab<u32, GenKey> = BoundedKeySlab::with_capacity_and_key(2);
    let first = bounded.insert(1).unwrap();
    bounded.remove(first);
    let second = bounded.insert(2).unwrap();
    let third = bounded.insert(3).unwrap();
    bounded.remove(third);
    let json = to_string(&bounded).unwrap();
    assert_eq!(json, format!("[2,{{\"{}\":2}},[[1,2]]]", second.into_raw()));
    let back: BoundedKeySlab<u32, GenKey> = from_str(&json).unwrap();
    assert_eq!(
        (back.get(first), back.get(second), back.get(third)),
        (None, Some(&2), None)
    );
    assert_eq!(back.vacant_key(), bounded.vacant_key());
}

#[test]
fn a_dense_slab_is_no_forgery() {
    let mut slab: KeySlab<u8, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..9000).map(|_| slab.insert(7)).collect();
    slab.remove(keys[8999]);
    let back: KeySlab<u8, GenKey> = from_str(&to_string(&slab).unwrap()).unwrap();
    assert_eq!(back, slab);
    assert_eq!(back.vacant_key(), slab.vacant_key());
}

#[test]
fn what_cannot_be_is_an_error() {
    for bad in [
        r#"{"0":1,"0":2}"#,
        r#"{"4294967295":1}"#,
        r#"{"-1":1}"#,
        r#"{"x":1}"#,
        r#"[[0,1]]"#,
    ] {
        assert!(from_str::<KeySlab<i32>>(bad).is_err(), "{bad}");
    }
    for bad in [
        r#"[{"0":1},[],0]"#,               // an even version
        r#"[{},[[0,1]],0]"#,               // an odd one of a vacant slot
        r#"[{},[[0,4294967295]],0]"#,      // past the last one
        r#"[{},[[0,4],[0,2]],0]"#,         // falls
        r#"[{"4294967296":1},[[0,4]],0]"#, // of a slot that has a value
        r#"[{},[[1000000,4]],0]"#,         // of one past the limit
        r#"[{},[],3]"#,                    // an odd one that slots begin with
        r#"[{},[],131074]"#,               // one that no shrinking leaves
        r#"[{},[],4294967294]"#,           // one with which every slot is retired
        r#"[{},[]]"#,
        r#"[{}]"#,
    ] {
        assert!(from_str::<KeySlab<i32, GenKey>>(bad).is_err(), "{bad}");
    }
    let mut slab: KeySlab<i32, GenKey> = from_str("[{},[],131072]").unwrap();
    assert_eq!(slab.insert(7).generation(), 1 << 16);
    assert!(from_str::<GenKey>("0").is_err());
}

#[test]
fn a_forged_key_costs_no_memory() {
    let forged = r#"{"1000000000":1}"#;
    let message = from_str::<KeySlab<i32>>(forged).unwrap_err().to_string();
    assert!(
        message.contains("slot 1000000000") && message.contains("KeyLimit"),
        "{message}"
    );

    let read = |json: &str, limit| {
        KeyLimit::<KeySlab<i32>>::new(limit)
            .deserialize(&mut serde_json::Deserializer::from_str(json))
    };
    assert_eq!(read(r#"{"9":1}"#, 10).unwrap()[Key::from_raw(9)], 1);
    assert!(read(r#"{"9":1}"#, 9).is_err());
    let bounded = KeyLimit::<BoundedKeySlab<i32>>::new(9)
        .deserialize(&mut serde_json::Deserializer::from_str("[10,{}]"));
    assert!(bounded.is_err());
}
