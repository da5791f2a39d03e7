//! Snapshots: a restored slab goes on as the original does, and what is no snapshot is an error.

use core::cell::Cell;
use core::fmt;

use flatslab::key_slab::{Bounded, Growable, Storage, as_map};
use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab, PlainSlab, key_type};
use serde::de::{self, DeserializeSeed, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{from_str, to_string};

use crate::amount::amount;
use crate::program::Numbers;
use crate::random::{one_in, random, seed};

/// One slab runs through; the other is written and read again and again.
fn both_go_on_alike<K, S>(
    make: impl Fn() -> PlainSlab<u32, K, S>,
    shrink: impl Fn(&mut PlainSlab<u32, K, S>),
    commands: usize,
) where
    K: Numbers,
    S: Storage,
{
    let (mut original, mut restored) = (make(), make());
    let mut keys: Vec<K> = Vec::new();
    for step in 0..commands {
        let value = step as u32;
        let key = (!keys.is_empty()).then(|| keys[random(keys.len() as u64) as usize]);
        match (random(64), key) {
            (0..=26, _) | (_, None) => {
                let key = original.try_insert(value).ok();
                assert_eq!(restored.try_insert(value).ok(), key);
                if let Some(key) = key {
                    if keys.len() < 300 {
                        keys.push(key);
                    } else {
                        keys[random(300) as usize] = key;
                    }
                }
            }
            (27..=50, Some(key)) => {
                assert_eq!(original.try_remove(key), restored.try_remove(key));
            }
            (51..=53, Some(key)) => {
                let out = K::detach(&mut original, key);
                assert_eq!(K::detach(&mut restored, key), out);
            }
            (54..=56, Some(key)) => {
                let back = K::reattach(&mut original, key, value);
                assert_eq!(K::reattach(&mut restored, key, value), back);
            }
            (57, Some(key)) => {
                let freed = K::free_detached(&mut original, key);
                assert_eq!(K::free_detached(&mut restored, key), freed);
            }
            (58, _) => {
                // Now and then the last generation, so that a slot retires.
                let last = (1 << 30) - 2;
                let generation = if one_in(20) { last } else { step as u32 % 50 };
                let key = K::of(random(200) as usize, generation);
                let put = original.insert_at(key, value).is_ok();
                assert_eq!(restored.insert_at(key, value).is_ok(), put);
            }
            (59, _) => {
                let slots = [random(200), random(200), random(200)];
                let values =
                    slots.map(|slot| (K::of(slot as usize, step as u32 % 300), step as u32));
                let put = original.try_extend(values).is_ok();
                assert_eq!(restored.try_extend(values).is_ok(), put);
            }
            (60, _) if one_in(20) => {
                original.clear();
                restored.clear();
            }
            (61, _) if one_in(10) => {
                original.retain(|_, value| *value % 3 != 0);
                restored.retain(|_, value| *value % 3 != 0);
            }
            (62, _) if one_in(10) => {
                shrink(&mut original);
                shrink(&mut restored);
            }
            (63, _) if one_in(8) => {
                let mut back = make();
                if one_in(2) {
                    let json = to_string(&restored).unwrap();
                    let mut input = serde_json::Deserializer::from_str(&json);
                    back.restore().deserialize(&mut input).unwrap();
                    input.end().unwrap();
                } else {
                    let bytes = postcard::to_allocvec(&restored).unwrap();
                    let mut input = postcard::Deserializer::from_bytes(&bytes);
                    back.restore().deserialize(&mut input).unwrap();
                    assert!(input.finalize().unwrap().is_empty());
                }
                restored = back;
                assert_eq!(restored, original);
                assert_eq!(
                    (restored.retired_slots(), restored.detached_slots()),
                    (original.retired_slots(), original.detached_slots())
                );
            }
            _ => {}
        }
    }
    assert_eq!(restored, original);
}

#[test]
fn keys_with_generations_are_those_of_a_slab_that_was_not_interrupted() {
    let commands = if cfg!(debug_assertions) {
        300_000
    } else {
        1_000_000
    };
    seed(1);
    both_go_on_alike::<GenKey, Growable>(
        KeySlab::with_key,
        KeySlab::shrink_to_fit,
        amount(commands, 300) as usize,
    );
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn other_keys_are_those_of_a_slab_that_was_not_interrupted() {
    let commands = if cfg!(debug_assertions) {
        50_000
    } else {
        200_000
    };
    let commands = amount(commands, 1000) as usize;
    seed(2);
    both_go_on_alike::<Key, Growable>(KeySlab::with_key, KeySlab::shrink_to_fit, commands);
    seed(3);
    both_go_on_alike::<Key, Bounded>(|| BoundedKeySlab::with_capacity(150), |_| {}, commands);
    seed(4);
    both_go_on_alike::<GenKey, Bounded>(
        || BoundedKeySlab::with_capacity_and_key(150),
        |_| {},
        commands,
    );
    seed(5);
    both_go_on_alike::<GenKey, Growable>(
        || KeySlab::builder_with_key().wrapping_generations().build(),
        KeySlab::shrink_to_fit,
        commands,
    );
}

key_type!(
    struct OrderKey;
);

#[test]
fn a_snapshot_says_all_there_is_to_say() {
    let mut slab: KeySlab<String, OrderKey> = KeySlab::with_key();
    let keys: Vec<_> = ["a", "b", "c"].map(|s| slab.insert(s.to_string())).into();
    slab.remove(keys[0]);
    slab.remove(keys[1]);
    let json = to_string(&slab).unwrap();
    assert_eq!(json, r#"[[[0,null],[0,null],[1,"c"]],[1,0],0]"#);
    let mut back: KeySlab<String, OrderKey> = from_str(&json).unwrap();
    assert_eq!(back, slab);
    assert_eq!(back.insert(String::new()), keys[1]);

    let mut slab = BoundedKeySlab::with_capacity(3);
    slab.insert(7).unwrap();
    let json = to_string(&slab).unwrap();
    assert_eq!(json, "[3,[[1,7]],[],0]");
    let back: BoundedKeySlab<i32> = from_str(&json).unwrap();
    assert_eq!((back.capacity(), &back), (3, &slab));

    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5).map(|n| slab.insert(n)).collect();
    slab.remove(keys[1]);
    slab.detach(keys[2]);
    slab.insert_at(GenKey::of(3, (1 << 30) - 2), 0).unwrap_err();
    slab.remove(keys[3]);
    slab.insert_at(GenKey::of(3, (1 << 30) - 2), 0).unwrap();
    slab.remove(GenKey::of(3, (1 << 30) - 2));
    slab.remove(keys[4]);
    slab.shrink_to_fit();
    assert_eq!(
        to_string(&slab).unwrap(),
        "[[[1,0],[2,null],[2147483650,null],[2147483646,null]],[1],2]"
    );
    let back: KeySlab<u32, GenKey> = from_str(&to_string(&slab).unwrap()).unwrap();
    assert_eq!(
        (back.retired_slots(), back.detached_slots(), back.len()),
        (1, 1, 1)
    );
}

/// Formats in which nothing and nothing there look the same.
#[test]
fn a_value_that_is_written_as_nothing_is_one() {
    let mut slab: KeySlab<Option<()>> = KeySlab::new();
    let keys = [None, Some(()), None].map(|value| slab.insert(value));
    slab.remove(keys[2]);
    let json = to_string(&slab).unwrap();
    let back: KeySlab<Option<()>> = from_str(&json).unwrap();
    assert_eq!((back.len(), back.contains(keys[0])), (2, true), "{json}");
    let bytes = postcard::to_allocvec(&slab).unwrap();
    let back: KeySlab<Option<()>> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(back, slab);
}

/// Each of these could not be read as a map: a key seemed to be forged.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn sparse_slabs_can_be_read() {
    let mut slab = BoundedKeySlab::with_capacity(2000);
    while slab.insert(7).is_ok() {}
    slab.retain(|key, _| key.index() >= 1000 && key.index() % 100 == 0);
    let back: BoundedKeySlab<i32> = from_str(&to_string(&slab).unwrap()).unwrap();
    assert_eq!(back, slab);

    let slots = if cfg!(miri) { 3_000 } else { 100_000 };
    let mut slab: KeySlab<u32> = (0..slots).map(|n| (Key::from_raw(n), n)).collect();
    slab.retain(|key, _| key.index() + 1 == slots as usize);
    let back: KeySlab<u32> = from_str(&to_string(&slab).unwrap()).unwrap();
    assert_eq!(
        (back, slab.vacant_key()),
        (slab.clone(), Key::from_raw(slots - 2))
    );
}

#[test]
fn what_is_no_snapshot_is_an_error() {
    for bad in [
        "[[[1,7]],[0],0]",               // free and taken
        "[[[0,null]],[],0]",             // vacant and not free
        "[[[0,null],[0,null]],[0,0],0]", // twice
        "[[[0,null]],[1],0]",            // of no slot
        "[[[0,null]],[64],0]",           // of no slot, in another word
        "[[[0,null]],[-1],0]",
        "[[[0,null]],[18446744073709551615],0]",
        "[[[2,null]],[0],0]", // a version
        "[[[1]],[],0]",
        "[[[0]],[],0]",
        "[[[0,7]],[0],0]", // a value that is none
        "[[],[],2]",       // a version
        "[[],[]]",
        "[[]]",
        "[]",
        "{}",
        "[[],[],0,0]",
    ] {
        assert!(from_str::<KeySlab<i32>>(bad).is_err(), "{bad}");
    }
    for bad in [
        "[[[2,7]],[0],0]",             // a value in a vacant slot
        "[[[4294967295,7]],[],0]",     // an odd version that no value has
        "[[[2147483647,7]],[],0]",     // neither has one
        "[[[2147483646,null]],[0],0]", // free and retired
        "[[[2147483650,null]],[0],0]", // free and kept
        "[[[2147483648,null]],[],0]",  // kept for no key
        "[[[4294967294,7]],[],0]",     // kept, and past the last one
        "[[[4,null]],[],0]",           // lost
        "[[],[],4294967295]",          // one with which none begins
        "[[],[],2147483646]",          // one with which every slot is retired
    ] {
        assert!(from_str::<KeySlab<i32, GenKey>>(bad).is_err(), "{bad}");
    }
    let mut slab: KeySlab<i32, GenKey> = from_str("[[],[],2147483644]").unwrap();
    let key = slab.insert(7);
    assert_eq!(key.generation(), (1 << 30) - 2);
    slab.remove(key);
    assert_eq!((slab.retired_slots(), slab.insert(8).index()), (1, 1));
    for bad in [
        "[1,[[1,7],[1,7]],[],0]",
        "[0,[[1,7]],[],0]",
        "[4,[],[],2]",
        "[1e30,[],[],0]",
        "[1073741824,[],[],0]",
        "[-1,[],[],0]",
        "[[],[],0]",
    ] {
        assert!(from_str::<BoundedKeySlab<i32>>(bad).is_err(), "{bad}");
    }
    assert!(from_str::<GenKey>("0").is_err());
}

/// The format finds a fault after the last part.
#[test]
fn what_ends_in_another_way_leaves_an_empty_slab() {
    let mut slab: KeySlab<i32, GenKey> = KeySlab::with_key();
    for bad in ["[[[1,7]],[],2", "[[[1,7]],[],2,99]", "[[[1,7]],[],2,]"] {
        let mut input = serde_json::Deserializer::from_str(bad);
        assert!(slab.restore().deserialize(&mut input).is_err());
        assert_eq!((slab.len(), slab.vacant_key()), (0, GenKey::of(0, 0)));
    }
    let mut bounded: BoundedKeySlab<i32> = BoundedKeySlab::with_capacity(3);
    for bad in ["[0,[[1,7]],[],0]", "[18446744073709551615,[[1,7]],[],0]"] {
        let mut input = serde_json::Deserializer::from_str(bad);
        assert!(bounded.restore().deserialize(&mut input).is_err());
    }
    assert!(bounded.is_empty());
}

#[test]
fn only_a_slab_without_a_past_is_restored() {
    fn refusal<K: Numbers, S: Storage>(slab: &mut PlainSlab<i32, K, S>, json: &str) -> String {
        let mut input = serde_json::Deserializer::from_str(json);
        let read = slab.restore().deserialize(&mut input);
        read.map_or_else(|error| error.to_string(), |()| String::new())
    }
    fn refused<K: Numbers, S: Storage>(slab: &mut PlainSlab<i32, K, S>, json: &str) -> bool {
        !refusal(slab, json).is_empty()
    }
    let json = "[[[1,7],[0,null]],[1],0]";
    let mut slab = KeySlab::new();
    let key = slab.insert(1);
    assert!(refused(&mut slab, json) && slab[key] == 1);
    slab.remove(key);
    assert!(!refused(&mut slab, json) && slab.len() == 1);
    assert_eq!((slab[key], slab.insert(8)), (7, Key::from_raw(1)));

    // Their generations would fall.
    let json = "[[[1,7]],[],0]";
    let mut slab: KeySlab<i32, GenKey> = KeySlab::with_key();
    let key = slab.insert(1);
    assert!(
        refusal(&mut slab, json)
            .starts_with("restore was refused: the slab must be empty, but has 1 value")
    );
    slab.remove(key);
    // What helps is named.
    assert!(refusal(&mut slab, json).contains("`reset_generations`"));
    slab.shrink_to_fit();
    assert!(refused(&mut slab, json) && slab.insert(2) != key);
    slab.clear();
    slab.reset_generations();
    assert!(!refused(&mut slab, json) && slab[key] == 7);

    // In other memory, with as many slots as there are.
    let json = "[9,[[1,7],[0,null]],[1],0]";
    for (capacity, is_enough) in [(0, false), (1, false), (2, true), (30, true)] {
        let mut slab = BoundedKeySlab::with_capacity(capacity);
        assert_eq!(refused(&mut slab, json), !is_enough);
        assert_eq!(
            (slab.len(), slab.capacity()),
            (usize::from(is_enough), capacity)
        );
        assert_eq!(
            slab.vacant_key().map(Key::index),
            (capacity > 0).then_some(is_enough.into())
        );
    }
    let mut slab = KeySlab::builder().reserve(1000).build();
    let capacity = slab.capacity();
    assert!(refused(&mut slab, "[[[1,7],[1,8]],[0],0]") && slab.is_empty());
    assert!(!refused(&mut slab, "[[[1,7],[1,8]],[],0]") && slab.len() == 2);
    assert_eq!(slab.capacity(), capacity);
}

#[test]
fn what_was_read_before_an_error_is_dropped() {
    thread_local!(static ALIVE: Cell<usize> = const { Cell::new(0) });
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }
    impl<'de> Deserialize<'de> for Counted {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            assert!(u32::deserialize(deserializer)? != 13, "a value that panics");
            ALIVE.set(ALIVE.get() + 1);
            Ok(Counted)
        }
    }
    let mut slab: KeySlab<Counted, GenKey> = KeySlab::with_key();
    let mut read = |json: &str| {
        let mut input = serde_json::Deserializer::from_str(json);
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            slab.restore().deserialize(&mut input).is_err()
        }));
        let next = slab.vacant_key();
        (
            panics.ok(),
            slab.len(),
            ALIVE.get(),
            next.index(),
            next.generation(),
        )
    };
    assert_eq!(read("[[[1,1],[3,1],[1,x]],[],0]"), (Some(true), 0, 0, 0, 0));
    assert_eq!(read("[[[1,1],[8,null],[1,13]],[],0]"), (None, 0, 0, 0, 0));
    assert_eq!(read("[[[1,1],[3,1]],[],-1]"), (Some(true), 0, 0, 0, 0));
    assert_eq!(read("[[[1,1],[3,1]],[],2]"), (Some(false), 2, 2, 2, 1));
    drop(slab);
    assert_eq!(ALIVE.get(), 0);
}

/// A deserializer that loses what it is to fill.
#[test]
fn a_forgetful_deserializer_is_an_error() {
    #[derive(Debug)]
    struct Lost;
    impl fmt::Display for Lost {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("lost")
        }
    }
    impl std::error::Error for Lost {}
    impl de::Error for Lost {
        fn custom<T: fmt::Display>(_: T) -> Self {
            Lost
        }
    }
    struct Slots(u32);
    impl<'de> de::SeqAccess<'de> for Slots {
        type Error = Lost;
        fn next_element_seed<T: DeserializeSeed<'de>>(
            &mut self,
            seed: T,
        ) -> Result<Option<T::Value>, Lost> {
            self.0 += 1;
            if self.0 == 3 {
                core::mem::forget(seed);
                return Err(Lost);
            }
            seed.deserialize(Forgetful(self.0)).map(Some)
        }
    }
    struct Forgetful(u32);
    impl<'de> Deserializer<'de> for Forgetful {
        type Error = Lost;
        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Lost> {
            match self.0 {
                // The tuple of the slab, and a slot's.
                0 => visitor.visit_seq(Slots(0)),
                // The slots: `Slots(0)` counts from 1.
                _ => visitor.visit_u32(1),
            }
        }
        fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Lost> {
            visitor.visit_seq(SlotsOf(0))
        }
        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option
            unit unit_struct newtype_struct tuple tuple_struct map struct enum identifier
            ignored_any
        }
    }
    struct SlotsOf(u32);
    impl<'de> de::SeqAccess<'de> for SlotsOf {
        type Error = Lost;
        fn next_element_seed<T: DeserializeSeed<'de>>(
            &mut self,
            seed: T,
        ) -> Result<Option<T::Value>, Lost> {
            self.0 += 1;
            if self.0 > 2 {
                core::mem::forget(seed);
                return Err(Lost);
            }
            seed.deserialize(Forgetful(0)).map(Some)
        }
    }
    let mut slab: KeySlab<u32> = KeySlab::new();
    assert!(slab.restore().deserialize(Forgetful(0)).is_err());
    assert!(slab.is_empty());
    assert_eq!(slab.insert(7), Key::from_raw(0));
}

#[derive(Serialize, Deserialize)]
struct Book {
    #[serde(with = "as_map")]
    orders: KeySlab<String, OrderKey>,
}

fn from_map(json: &str) -> serde_json::Result<KeySlab<i32>> {
    as_map::deserialize(&mut serde_json::Deserializer::from_str(json))
}

#[test]
fn a_map_is_that_of_the_slab_crate() {
    let mut orders: KeySlab<String, OrderKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5)
        .map(|n| orders.insert(format!("value {n}")))
        .collect();
    orders.remove(keys[1]);
    orders.remove(keys[3]);
    let json = to_string(&Book { orders }).unwrap();
    assert_eq!(
        json,
        r#"{"orders":{"0":"value 0","2":"value 2","4":"value 4"}}"#
    );
    let mut book: Book = from_str(&json).unwrap();
    // As there: the last of the free slots first.
    assert_eq!(book.orders.insert(String::new()), keys[3]);
    assert_eq!(book.orders.insert(String::new()), keys[1]);
    let bytes = postcard::to_allocvec(&book).unwrap();
    let back: Book = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(back.orders, book.orders);

    for bad in [
        r#"{"0":1,"0":2}"#,
        r#"{"4294967295":1}"#,
        r#"{"-1":1}"#,
        r#"{"x":1}"#,
        r#"[[0,1]]"#,
    ] {
        assert!(from_map(bad).is_err(), "{bad}");
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_number_in_a_map_claims_no_memory() {
    let message = from_map(r#"{"1000000000":1}"#).unwrap_err().to_string();
    assert!(message.contains("but is 1000000000"), "{message}");
    // Judged by all entries, wherever the highest one stands.
    let entries = |count: usize| -> String {
        let few = (1..count)
            .map(|n| format!(r#","{n}":1"#))
            .collect::<String>();
        format!(r#"{{"9599":1{few}}}"#)
    };
    assert_eq!(from_map(&entries(600)).unwrap().len(), 600);
    assert!(from_map(&entries(599)).is_err());
}
