//! The facade of `slotmap` beside `slotmap`: random programs, snapshots of one read by the other,
//! and every panic's text.

use flatslab_compat_tests::{Random, implements, outcome, programs};
use real_slotmap::Key as _;
use slotmap::Key as _;

type Ours = slotmap::SlotMap<slotmap::DefaultKey, u64>;
type Theirs = real_slotmap::SlotMap<real_slotmap::DefaultKey, u64>;
type OurDense = slotmap::DenseSlotMap<slotmap::DefaultKey, u64>;
type TheirDense = real_slotmap::DenseSlotMap<real_slotmap::DefaultKey, u64>;

/// What a map has: the number of its values, whether that is 0, its pairs by all three iterators,
/// its keys, its values by both, and what the iterators say of their lengths.
type Entries = (usize, bool, [Vec<(u64, u64)>; 3], [Vec<u64>; 3], String);

/// What the program does to one of the crates. Keys are numbers here, as `as_ffi` gives them.
trait Map: Clone + Sized {
    fn insert(&mut self, value: u64) -> u64;
    fn insert_with_key(&mut self) -> u64;
    fn try_insert_with_key(&mut self, result: Result<u64, ()>) -> (u64, Result<u64, ()>);
    fn panicking_insert(&mut self) -> Result<u64, String>;
    fn remove(&mut self, key: u64) -> Option<u64>;
    fn detach(&mut self, key: u64) -> Option<u64>;
    fn reattach(&mut self, key: u64, value: u64) -> Result<(), String>;
    fn retain(&mut self, divisor: u64) -> Vec<(u64, u64)>;
    fn drain(&mut self, taken: usize) -> (Vec<(u64, u64)>, usize);
    fn disjoint(&mut self, keys: [u64; 3]) -> Option<[u64; 3]>;
    fn unchecked(&mut self, keys: [u64; 2]) -> [u64; 4];
    fn index(&mut self, key: u64, value: u64) -> Result<u64, String>;
    fn access(&mut self, key: u64) -> (Option<u64>, Option<u64>, bool);
    fn entries(&mut self) -> Entries;
    fn clone_from_grown(&mut self, values: u64);
    fn reserve(&mut self, additional: usize) -> (bool, bool);
    fn clear(&mut self);
    fn json(&self) -> String;
    fn from_json(json: &str) -> Result<Self, String>;
    fn values_and_memory(&self) -> (usize, usize);
    /// The keys and values as slices, and the capacity, where they are the same.
    fn slices(&mut self) -> Option<(Vec<u64>, Vec<u64>, usize)>;
}

macro_rules! map {
    ($map:ty, |$dense:ident| $slices:expr) => {
        impl Map for $map {
            fn values_and_memory(&self) -> (usize, usize) {
                (self.len(), self.capacity())
            }
            fn slices(&mut self) -> Option<(Vec<u64>, Vec<u64>, usize)> {
                let $dense = self;
                $slices
            }
            fn insert(&mut self, value: u64) -> u64 {
                self.insert(value).data().as_ffi()
            }
            fn insert_with_key(&mut self) -> u64 {
                let key = self
                    .insert_with_key(|key| key.data().as_ffi())
                    .data()
                    .as_ffi();
                assert_eq!(self[of(key)], key);
                key
            }
            fn try_insert_with_key(&mut self, result: Result<u64, ()>) -> (u64, Result<u64, ()>) {
                let mut seen = 0;
                let inserted = self.try_insert_with_key(|key| {
                    seen = key.data().as_ffi();
                    result
                });
                (seen, inserted.map(|key| key.data().as_ffi()))
            }
            fn panicking_insert(&mut self) -> Result<u64, String> {
                outcome(|| {
                    self.insert_with_key(|key| panic!("{key:?}"))
                        .data()
                        .as_ffi()
                })
            }
            fn remove(&mut self, key: u64) -> Option<u64> {
                self.remove(of(key))
            }
            fn detach(&mut self, key: u64) -> Option<u64> {
                self.detach(of(key))
            }
            fn reattach(&mut self, key: u64, value: u64) -> Result<(), String> {
                outcome(|| self.reattach(of(key), value))
            }
            fn retain(&mut self, divisor: u64) -> Vec<(u64, u64)> {
                let mut seen = Vec::new();
                self.retain(|key, value| {
                    seen.push((key.data().as_ffi(), *value));
                    *value += 1;
                    *value % divisor != 0
                });
                seen
            }
            fn drain(&mut self, taken: usize) -> (Vec<(u64, u64)>, usize) {
                let mut drain = self.drain();
                let taken = drain
                    .by_ref()
                    .take(taken)
                    .map(|(key, value)| (key.data().as_ffi(), value));
                (taken.collect(), drain.len())
            }
            fn disjoint(&mut self, keys: [u64; 3]) -> Option<[u64; 3]> {
                self.get_disjoint_mut(keys.map(of)).map(|values| {
                    values.map(|value| {
                        *value += 1;
                        *value
                    })
                })
            }
            fn unchecked(&mut self, keys: [u64; 2]) -> [u64; 4] {
                // SAFETY: the caller has two different keys of values.
                unsafe {
                    let [one, two] = self.get_disjoint_unchecked_mut(keys.map(of));
                    std::mem::swap(one, two);
                    let (one, two) = (*one, *two);
                    [
                        one,
                        two,
                        *self.get_unchecked(of(keys[0])),
                        *self.get_unchecked_mut(of(keys[1])),
                    ]
                }
            }
            fn index(&mut self, key: u64, value: u64) -> Result<u64, String> {
                outcome(|| std::mem::replace(&mut self[of(key)], value))?;
                outcome(|| self[of(key)])
            }
            fn access(&mut self, key: u64) -> (Option<u64>, Option<u64>, bool) {
                let key = of(key);
                (
                    self.get(key).copied(),
                    self.get_mut(key).copied(),
                    self.contains_key(key),
                )
            }
            fn entries(&mut self) -> Entries {
                let owned = self.clone().into_iter();
                let lengths = format!("{:?} {:?}", self.iter().size_hint(), owned.size_hint());
                let pairs = [
                    self.iter()
                        .map(|(key, value)| (key.data().as_ffi(), *value))
                        .collect(),
                    self.iter_mut()
                        .map(|(key, value)| (key.data().as_ffi(), *value))
                        .collect(),
                    owned
                        .map(|(key, value)| (key.data().as_ffi(), value))
                        .collect(),
                ];
                let parts = [
                    self.keys().map(|key| key.data().as_ffi()).collect(),
                    self.values().copied().collect(),
                    self.values_mut().map(|value| *value).collect(),
                ];
                (self.len(), self.is_empty(), pairs, parts, lengths)
            }
            fn clone_from_grown(&mut self, values: u64) {
                let mut other = Self::with_key();
                for value in 0..values {
                    let key = other.insert(value);
                    if value % 3 == 0 {
                        other.remove(key);
                    }
                }
                other.clone_from(self);
                *self = other;
            }
            fn reserve(&mut self, additional: usize) -> (bool, bool) {
                self.reserve(additional);
                let is_enough = self.capacity() >= self.len() + additional;
                (
                    is_enough,
                    self.try_reserve(isize::MAX as usize / 2).is_err(),
                )
            }
            fn clear(&mut self) {
                self.clear();
            }
            fn json(&self) -> String {
                serde_json::to_string(self).unwrap()
            }
            fn from_json(json: &str) -> Result<Self, String> {
                let map: Result<Self, _> = serde_json::from_str(json);
                map.map_err(|error| error.to_string())
            }
        }
    };
}

/// What a dense map has, each by two ways.
macro_rules! slices {
    ($map:expr) => {{
        let map = $map;
        let keys = |keys: &[_]| -> Vec<u64> {
            let keys: &[_] = keys;
            keys.iter().map(|key| number(*key)).collect()
        };
        let (both_keys, both_values) = map.as_slices();
        let both = (keys(both_keys), both_values.to_vec());
        assert_eq!(both.0, keys(map.keys_as_slice()));
        assert_eq!(both.1, map.values_as_slice());
        map.values_as_mut_slice().reverse();
        let (mut_keys, mut_values) = map.as_mut_slices();
        assert_eq!(both.0, keys(mut_keys));
        mut_values.reverse();
        Some((both.0, both.1, map.capacity()))
    }};
}
mod ours {
    use super::*;
    fn of(key: u64) -> slotmap::DefaultKey {
        slotmap::KeyData::from_ffi(key).into()
    }
    fn number(key: slotmap::DefaultKey) -> u64 {
        key.data().as_ffi()
    }
    map!(Ours, |_map| None);
    map!(OurDense, |map| slices!(map));
}
mod theirs {
    use super::*;
    fn of(key: u64) -> real_slotmap::DefaultKey {
        real_slotmap::KeyData::from_ffi(key).into()
    }
    fn number(key: real_slotmap::DefaultKey) -> u64 {
        key.data().as_ffi()
    }
    map!(Theirs, |_map| None);
    map!(TheirDense, |map| slices!(map));
}

struct Pair<O, T> {
    ours: O,
    theirs: T,
    keys: Vec<u64>,
    /// Those of detached values; `slotmap` lets a value come back whose slot is free by then.
    detached: Vec<u64>,
}

/// Calls the same method of both, and compares what they return.
macro_rules! both {
    ($pair:expr, |$map:ident| $call:expr) => {{
        let ours = {
            let $map = &mut $pair.ours;
            $call
        };
        let theirs = {
            let $map = &mut $pair.theirs;
            $call
        };
        assert_eq!(ours, theirs);
        ours
    }};
}

impl<O: Map, T: Map> Pair<O, T> {
    /// A key that was handed out, or, now and then, any number.
    fn key(&self, random: &mut Random) -> u64 {
        match random.below(20) {
            0 => u64::from(u32::MAX) | (random.below(4) as u64) << 32,
            1 => (random.below(usize::MAX) as u64) << 1,
            2 => (random.below(30) as u64) << 32 | random.below(40) as u64,
            _ if self.keys.is_empty() => 0,
            _ => self.keys[random.below(self.keys.len())],
        }
    }

    fn check(&mut self) {
        both!(self, |map| map.entries());
        both!(self, |map| map.slices());
        // `slotmap` counts a slot more.
        let (values, capacity) = self.ours.values_and_memory();
        assert!(capacity >= values);
    }
}

fn step<O: Map, T: Map>(pair: &mut Pair<O, T>, random: &mut Random, value: u64) {
    let key = pair.key(random);
    match random.below(60) {
        0..16 => {
            let key = both!(pair, |map| Map::insert(map, value));
            pair.keys.push(key);
        }
        16..18 => {
            let key = both!(pair, |map| Map::insert_with_key(map));
            pair.keys.push(key);
        }
        18..20 => {
            let result = if random.once_in(2) {
                Ok(value)
            } else {
                Err(())
            };
            let (_, key) = both!(pair, |map| Map::try_insert_with_key(map, result));
            pair.keys.extend(key);
        }
        20 => drop(both!(pair, |map| map.panicking_insert())),
        21..32 => drop(both!(pair, |map| Map::remove(map, key))),
        32..35 => {
            if both!(pair, |map| Map::detach(map, key)).is_some() {
                pair.detached.push(key);
            }
        }
        35..38 => {
            let key = match random.below(4) {
                0 => key,
                _ => pair.detached.pop().unwrap_or(key),
            };
            drop(both!(pair, |map| Map::reattach(map, key, value)));
        }
        38..40 => drop(both!(pair, |map| Map::retain(map, 2 + value % 5))),
        40 => {
            let taken = random.below(4);
            both!(pair, |map| Map::drain(map, taken));
        }
        41 => both!(pair, |map| Map::clear(map)),
        42..45 => drop(both!(pair, |map| Map::access(map, key))),
        45..47 => drop(both!(pair, |map| Map::index(map, key, value))),
        47..50 => {
            let keys = [key, pair.key(random), pair.key(random)];
            both!(pair, |map| map.disjoint(keys));
        }
        50 => {
            let (.., [keys, ..], _) = pair.theirs.entries();
            if let [one, .., two] = keys[..] {
                both!(pair, |map| map.unchecked([one, two]));
            }
        }
        51..53 => {
            let (ours, theirs) = (pair.ours.clone(), pair.theirs.clone());
            (pair.ours, pair.theirs) = (ours, theirs);
        }
        53 => {
            let values = random.below(20) as u64;
            both!(pair, |map| map.clone_from_grown(values));
        }
        54 => {
            let additional = random.below(40);
            both!(pair, |map| Map::reserve(map, additional));
        }
        _ => {
            // What one writes, the other reads.
            let json = both!(pair, |map| map.json());
            both!(pair, |map| {
                *map = Map::from_json(&json).unwrap();
            });
            pair.detached.clear();
        }
    }
}

fn compare<O: Map, T: Map>(ours: &O, theirs: &T) {
    for seed in 0..programs(200) {
        let mut random = Random::new(seed);
        let mut pair = Pair {
            ours: ours.clone(),
            theirs: theirs.clone(),
            keys: Vec::new(),
            detached: Vec::new(),
        };
        for value in 0..250 {
            step(&mut pair, &mut random, value);
            pair.check();
        }
        let json = both!(pair, |map| map.json());
        let (values, _) = pair.theirs.values_and_memory();
        assert_eq!(O::from_json(&json).unwrap().values_and_memory().0, values);
        for _ in 0..50 {
            both!(pair, |map| Map::insert(map, 0));
        }
    }
}

#[test]
fn random_programs_return_what_slotmap_returns() {
    compare(&Ours::new(), &Theirs::new());
}

#[test]
fn random_programs_return_what_dense_slot_maps_return() {
    compare(&OurDense::new(), &TheirDense::new());
}

#[test]
fn dense_maps_have_the_capacity_that_was_asked_for() {
    for capacity in [0, 1, 3, 4, 10, 1000] {
        let ours = OurDense::with_capacity(capacity);
        assert_eq!(
            ours.capacity(),
            TheirDense::with_capacity(capacity).capacity()
        );
    }
}

fn compare_forged<O: Map, T: Map>() {
    for slots in [
        r#"[]"#,
        r#"[{"value":1,"version":1}]"#,
        r#"[{"value":null,"version":1}]"#,
        r#"[{"value":1,"version":6},{"value":1,"version":1}]"#,
        r#"[{"value":null,"version":0},{"value":null,"version":1}]"#,
        r#"[{"value":null,"version":0},{"value":1,"version":2}]"#,
        r#"[{"value":null,"version":6},{"value":1,"version":7},{"value":null,"version":8}]"#,
        r#"[{"version":0,"value":null},{"version":7,"value":1}]"#,
        r#"[{"value":null}]"#,
        r#"{}"#,
    ] {
        let (ours, theirs) = (O::from_json(slots), T::from_json(slots));
        let is_ok = ours.is_ok();
        if let (Ok(mut ours), Ok(mut theirs)) = (ours.clone(), theirs.clone()) {
            assert_eq!(Map::entries(&mut ours), Map::entries(&mut theirs));
            for value in 0..4 {
                assert_eq!(
                    Map::insert(&mut ours, value),
                    Map::insert(&mut theirs, value)
                );
            }
        } else {
            assert_eq!(is_ok, theirs.is_ok(), "{slots}");
            let cause = |error: String| error.split(" at line").next().map(str::to_string);
            let unlike = [
                slots == "{}",
                slots.contains("null}]") && !slots.contains("version"),
            ];
            if unlike == [false, false] {
                assert_eq!(ours.err().and_then(cause), theirs.err().and_then(cause));
            }
        }
    }
    // Past the versions that there are here.
    let late = r#"[{"value":null,"version":0},{"value":1,"version":4294967295}]"#;
    assert!(O::from_json(late).is_err());
    let late = r#"[{"value":null,"version":0},{"value":null,"version":4294967294}]"#;
    let mut map = O::from_json(late).unwrap();
    assert_eq!(map.insert(1), 1 << 32 | 2); // the slot takes no value
}

#[test]
fn forged_snapshots_are_read_as_slotmap_reads_them() {
    compare_forged::<Ours, Theirs>();
}

#[test]
fn forged_snapshots_are_read_as_dense_slot_maps_read_them() {
    compare_forged::<OurDense, TheirDense>();
}

/// A secondary map of either kind and either crate, by keys as numbers.
trait Secondary: Clone + PartialEq {
    fn insert(&mut self, key: u64, value: u64) -> Option<u64>;
    fn remove(&mut self, key: u64) -> Option<u64>;
    fn entry(&mut self, key: u64, value: u64, what: usize) -> Option<(u64, u64)>;
    fn access(
        &mut self,
        key: u64,
        value: u64,
    ) -> (Option<u64>, Option<u64>, bool, Result<u64, String>);
    fn disjoint(&mut self, keys: [u64; 3]) -> Option<[u64; 3]>;
    fn unchecked(&mut self, keys: [u64; 2]) -> [u64; 4];
    fn retain(&mut self, divisor: u64);
    fn drain(&mut self, taken: usize) -> usize;
    fn clear(&mut self);
    fn entries(&mut self) -> Entries;
    fn extend(&mut self, pairs: &[(u64, u64)]);
    fn json(&self) -> String;
    fn from_json(json: &str) -> Self;
}

macro_rules! secondary {
    ($module:ident, $crate_name:ident, $map:ident, $entries:ident) => {
        mod $module {
            use super::{Entries, Secondary, outcome};
            use $crate_name::{DefaultKey, Key as _, KeyData, $entries::Entry};

            fn of(key: u64) -> DefaultKey {
                KeyData::from_ffi(key).into()
            }
            fn pairs(pairs: impl Iterator<Item = (DefaultKey, u64)>) -> Vec<(u64, u64)> {
                let mut pairs: Vec<_> = pairs
                    .map(|(key, value)| (key.data().as_ffi(), value))
                    .collect();
                pairs.sort();
                pairs
            }
            fn values(values: impl Iterator<Item = u64>) -> Vec<u64> {
                let mut values: Vec<_> = values.collect();
                values.sort();
                values
            }

            impl Secondary for $crate_name::$map<DefaultKey, u64> {
                fn insert(&mut self, key: u64, value: u64) -> Option<u64> {
                    self.insert(of(key), value)
                }
                fn remove(&mut self, key: u64) -> Option<u64> {
                    self.remove(of(key))
                }
                fn entry(&mut self, key: u64, value: u64, what: usize) -> Option<(u64, u64)> {
                    let entry = self.entry(of(key))?;
                    let key = entry.key().data().as_ffi();
                    Some((
                        key,
                        match (what, entry) {
                            (0, entry) => *entry.or_insert(value),
                            (1, entry) => *entry.or_default(),
                            (2, entry) => *entry
                                .and_modify(|value| *value /= 2)
                                .or_insert_with(|| value),
                            (3, Entry::Occupied(mut entry)) => {
                                assert_eq!(entry.get(), &*self_copy(entry.get()));
                                *entry.get_mut() /= 2;
                                assert_eq!(entry.key().data().as_ffi(), key);
                                entry.insert(value)
                            }
                            (4, Entry::Occupied(entry)) => entry.remove(),
                            (5, Entry::Occupied(entry)) => {
                                let (same, value) = entry.remove_entry();
                                assert_eq!(same.data().as_ffi(), key);
                                value
                            }
                            (_, Entry::Occupied(entry)) => *entry.into_mut(),
                            (6, Entry::Vacant(entry)) => {
                                assert_eq!(entry.key().data().as_ffi(), key);
                                *entry.insert(value)
                            }
                            (_, Entry::Vacant(_)) => u64::MAX,
                        },
                    ))
                }
                fn access(
                    &mut self,
                    key: u64,
                    value: u64,
                ) -> (Option<u64>, Option<u64>, bool, Result<u64, String>) {
                    let key = of(key);
                    let replaced = outcome(|| std::mem::replace(&mut self[key], value));
                    let found = outcome(|| self[key]);
                    assert_eq!(found.is_ok(), replaced.is_ok());
                    let got = (self.get(key).copied(), self.get_mut(key).copied());
                    (got.0, got.1, self.contains_key(key), found)
                }
                fn disjoint(&mut self, keys: [u64; 3]) -> Option<[u64; 3]> {
                    self.get_disjoint_mut(keys.map(of)).map(|values| {
                        values.map(|value| {
                            *value = value.wrapping_add(1);
                            *value
                        })
                    })
                }
                fn unchecked(&mut self, keys: [u64; 2]) -> [u64; 4] {
                    // SAFETY: the caller has two different keys of values.
                    unsafe {
                        let [one, two] = self.get_disjoint_unchecked_mut(keys.map(of));
                        std::mem::swap(one, two);
                        let (one, two) = (*one, *two);
                        [
                            one,
                            two,
                            *self.get_unchecked(of(keys[0])),
                            *self.get_unchecked_mut(of(keys[1])),
                        ]
                    }
                }
                fn retain(&mut self, divisor: u64) {
                    self.retain(|key, value| {
                        *value = value.wrapping_add(key.data().as_ffi());
                        *value % divisor != 0
                    });
                }
                fn drain(&mut self, taken: usize) -> usize {
                    let mut drain = self.drain();
                    drain.by_ref().take(taken).count() + drain.len()
                }
                fn clear(&mut self) {
                    self.clear();
                }
                fn entries(&mut self) -> Entries {
                    let owned = self.clone().into_iter();
                    let lengths = format!("{} {}", owned.len(), self.iter().len());
                    (
                        self.len(),
                        self.is_empty(),
                        [
                            pairs(self.iter().map(|(key, value)| (key, *value))),
                            pairs(self.iter_mut().map(|(key, value)| (key, *value))),
                            pairs(owned),
                        ],
                        [
                            values(self.keys().map(|key| key.data().as_ffi())),
                            values(self.values().copied()),
                            values(self.values_mut().map(|value| *value)),
                        ],
                        lengths,
                    )
                }
                fn extend(&mut self, pairs: &[(u64, u64)]) {
                    Extend::extend(self, pairs.iter().map(|(key, value)| (of(*key), *value)));
                    Extend::extend(self, pairs.iter().map(|(key, value)| (of(*key), value)));
                    let again: Self = pairs
                        .iter()
                        .map(|(key, value)| (of(*key), *value))
                        .collect();
                    assert!(again.len() <= pairs.len());
                }
                fn json(&self) -> String {
                    serde_json::to_string(self).unwrap()
                }
                fn from_json(json: &str) -> Self {
                    serde_json::from_str(json).unwrap()
                }
            }

            fn self_copy(value: &u64) -> Box<u64> {
                Box::new(*value)
            }
        }
    };
}
secondary!(our_dense, slotmap, SecondaryMap, secondary);
secondary!(their_dense, real_slotmap, SecondaryMap, secondary);
secondary!(our_sparse, slotmap, SparseSecondaryMap, sparse_secondary);
secondary!(
    their_sparse,
    real_slotmap,
    SparseSecondaryMap,
    sparse_secondary
);

fn compare_secondary<O: Secondary, T: Secondary>(ours: O, theirs: T) {
    struct Pair<O, T> {
        ours: O,
        theirs: T,
    }
    let empty = Pair { ours, theirs };
    for seed in 0..programs(100) {
        let mut random = Random::new(seed);
        let mut pair = Pair {
            ours: empty.ours.clone(),
            theirs: empty.theirs.clone(),
        };
        for value in 0..200 {
            let mut key = || match random.below(30) {
                0 => u64::from(u32::MAX) | 1 << 32,
                // Versions that are later than others only if they start again.
                1 => 0xffff_ffff << 32 | (1 + random.below(9) as u64),
                2 => 0x8000_0001 << 32 | (1 + random.below(9) as u64),
                // A slot of which no map's key is.
                3 => (random.below(6) as u64) << 33 | 1 << 32,
                _ => (random.below(6) as u64) << 33 | 1 << 32 | (1 + random.below(9) as u64),
            };
            let keys = [key(), key(), key()];
            let [key, ..] = keys;
            match random.below(20) {
                0..6 => drop(both!(pair, |map| Secondary::insert(map, key, value))),
                6..9 => drop(both!(pair, |map| Secondary::remove(map, key))),
                9..13 => {
                    let what = random.below(8);
                    // There a late key has no entry even in an empty slot.
                    if key >> 32 < 1 << 31 {
                        both!(pair, |map| Secondary::entry(map, key, value, what));
                    }
                }
                13 => drop(both!(pair, |map| map.access(key, value))),
                14 => drop(both!(pair, |map| map.disjoint(keys))),
                15 => {
                    let ([_, _, owned], ..) = {
                        let entries = pair.theirs.entries();
                        (entries.2, ())
                    };
                    if let [(one, _), .., (two, _)] = owned[..] {
                        both!(pair, |map| map.unchecked([one, two]));
                    }
                }
                16 => both!(pair, |map| Secondary::retain(map, 2 + value % 5)),
                17 => {
                    let taken = random.below(4);
                    match random.below(3) {
                        0 => drop(both!(pair, |map| Secondary::drain(map, taken))),
                        1 => both!(pair, |map| Secondary::clear(map)),
                        _ => both!(pair, |map| Secondary::extend(
                            map,
                            &keys.map(|key| (key, value))
                        )),
                    }
                }
                18 => {
                    let (ours, theirs) = (pair.ours.clone(), pair.theirs.clone());
                    assert!(ours == pair.ours && theirs == pair.theirs);
                    (pair.ours, pair.theirs) = (ours, theirs);
                }
                // What has a value in slot 0 is written, and not read.
                _ if pair.theirs.entries().2[0]
                    .iter()
                    .any(|(key, _)| *key as u32 == 0) => {}
                _ => {
                    // What one writes, the other reads. There is a slot as far as the map reached.
                    let (ours, theirs) = (pair.ours.json(), pair.theirs.json());
                    pair.ours = O::from_json(&theirs);
                    pair.theirs = T::from_json(&ours);
                }
            }
            both!(pair, |map| map.entries());
        }
    }
}

#[test]
fn random_programs_return_what_secondary_maps_return() {
    compare_secondary(
        slotmap::SecondaryMap::new(),
        real_slotmap::SecondaryMap::new(),
    );
}

#[test]
fn random_programs_return_what_sparse_secondary_maps_return() {
    compare_secondary(
        slotmap::SparseSecondaryMap::new(),
        real_slotmap::SparseSecondaryMap::new(),
    );
}

#[test]
fn keys_are_those_of_slotmap() {
    let mut random = Random::new(1);
    for _ in 0..1000 {
        let number = (random.below(usize::MAX) as u64) << 1 ^ random.below(1 << 40) as u64;
        let (ours, theirs) = (
            slotmap::KeyData::from_ffi(number),
            real_slotmap::KeyData::from_ffi(number),
        );
        assert_eq!(ours.as_ffi(), theirs.as_ffi());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        let json = serde_json::to_string(&ours).unwrap();
        assert_eq!(json, serde_json::to_string(&theirs).unwrap());
        assert_eq!(
            serde_json::from_str::<slotmap::KeyData>(&json).unwrap(),
            ours
        );
    }
    for json in [
        r#"{"idx":0,"version":4}"#,
        r#"{"idx":4294967295,"version":7}"#,
        r#"{"idx":3,"version":0}"#,
    ] {
        let ours: slotmap::DefaultKey = serde_json::from_str(json).unwrap();
        let theirs: real_slotmap::DefaultKey = serde_json::from_str(json).unwrap();
        assert_eq!(ours.data().as_ffi(), theirs.data().as_ffi());
        assert_eq!(
            (ours.is_null(), format!("{ours:?}")),
            (theirs.is_null(), format!("{theirs:?}"))
        );
    }
    let (ours, theirs) = (
        slotmap::DefaultKey::null(),
        real_slotmap::DefaultKey::null(),
    );
    assert_eq!(ours.data().as_ffi(), theirs.data().as_ffi());
    assert_eq!(
        (ours, ours.is_null()),
        (slotmap::DefaultKey::default(), true)
    );
    assert_eq!(size_of::<Option<slotmap::DefaultKey>>(), 8);
}

mod user_key {
    use std::cell::Cell;

    std::thread_local! {
        pub(super) static DATA: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts how often its data is taken.
    #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub(super) struct Counted(slotmap::KeyData);

    impl From<slotmap::KeyData> for Counted {
        fn from(data: slotmap::KeyData) -> Self {
            Counted(data)
        }
    }

    // SAFETY: all is that of the data.
    unsafe impl slotmap::Key for Counted {
        fn data(&self) -> slotmap::KeyData {
            DATA.set(DATA.get() + 1);
            self.0
        }
    }
}

#[test]
fn each_operation_takes_the_data_of_a_key_once() {
    let mut map: slotmap::SlotMap<user_key::Counted, u64> = slotmap::SlotMap::with_key();
    let mut dense = slotmap::SecondaryMap::new();
    let mut sparse = slotmap::SparseSecondaryMap::new();
    let mut slice = slotmap::DenseSlotMap::with_key();
    let key = map.insert(1);
    let other = map.insert(2);
    assert_eq!([slice.insert(1), slice.insert(2)], [key, other]);
    let once = |what: &str, operation: &mut dyn FnMut(), times: usize| {
        user_key::DATA.set(0);
        operation();
        assert_eq!(user_key::DATA.get(), times, "{what}");
    };
    once("get", &mut || assert!(map.get(key).is_some()), 1);
    once("get_mut", &mut || assert!(map.get_mut(key).is_some()), 1);
    once("contains_key", &mut || assert!(map.contains_key(key)), 1);
    once("index", &mut || assert_eq!(map[key], 1), 1);
    once(
        "disjoint",
        &mut || assert!(map.get_disjoint_mut([key, other]).is_some()),
        2,
    );
    // SAFETY: a key of a value.
    once(
        "unchecked",
        &mut || assert_eq!(unsafe { *map.get_unchecked(key) }, 1),
        1,
    );
    once("detach", &mut || assert!(map.detach(key).is_some()), 1);
    once("reattach", &mut || map.reattach(key, 1), 1);
    once(
        "dense insert",
        &mut || assert_eq!(dense.insert(key, 1), None),
        1,
    );
    once(
        "dense again",
        &mut || assert_eq!(dense.insert(key, 2), Some(1)),
        1,
    );
    once("dense get", &mut || assert_eq!(dense.get(key), Some(&2)), 1);
    once(
        "dense entry",
        &mut || assert!(dense.entry(key).is_some()),
        1,
    );
    once(
        "dense disjoint",
        &mut || assert!(dense.get_disjoint_mut([key]).is_some()),
        1,
    );
    once(
        "dense remove",
        &mut || assert_eq!(dense.remove(key), Some(2)),
        1,
    );
    once(
        "sparse insert",
        &mut || assert_eq!(sparse.insert(key, 1), None),
        1,
    );
    once(
        "sparse get",
        &mut || assert_eq!(sparse.get(key), Some(&1)),
        1,
    );
    once(
        "sparse get_mut",
        &mut || assert!(sparse.get_mut(key).is_some()),
        1,
    );
    once(
        "sparse entry",
        &mut || assert!(sparse.entry(key).is_some()),
        1,
    );
    once(
        "sparse disjoint",
        &mut || assert!(sparse.get_disjoint_mut([key]).is_some()),
        1,
    );
    once(
        "sparse remove",
        &mut || assert_eq!(sparse.remove(key), Some(1)),
        1,
    );
    once("remove", &mut || assert_eq!(map.remove(key), Some(1)), 1);
    once("slice get", &mut || assert!(slice.get(key).is_some()), 1);
    once(
        "slice get_mut",
        &mut || assert!(slice.get_mut(key).is_some()),
        1,
    );
    once(
        "slice contains",
        &mut || assert!(slice.contains_key(key)),
        1,
    );
    once("slice index", &mut || assert_eq!(slice[key], 1), 1);
    once(
        "slice disjoint",
        &mut || assert!(slice.get_disjoint_mut([key, other]).is_some()),
        2,
    );
    // SAFETY: a key of a value.
    once(
        "slice unchecked",
        &mut || assert_eq!(unsafe { *slice.get_unchecked(key) }, 1),
        1,
    );
    once("slice iter", &mut || assert_eq!(slice.iter().count(), 2), 0);
    // The last value takes the position of the removed one: its key is asked for its slot.
    once(
        "slice detach",
        &mut || assert!(slice.detach(key).is_some()),
        2,
    );
    once("slice reattach", &mut || slice.reattach(key, 1), 1);
    once(
        "slice remove the last",
        &mut || assert!(slice.remove(key).is_some()),
        1,
    );
}

#[test]
fn a_panicking_closure_or_destructor_loses_nothing() {
    use std::cell::Cell;

    struct Drops<'a>(&'a Cell<usize>, bool);
    impl Drop for Drops<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(!self.1, "as the test wants it");
        }
    }

    let drops = Cell::new(0);
    let mut map = slotmap::SlotMap::new();
    let keys: Vec<_> = (0..6).map(|n| map.insert(Drops(&drops, n == 2))).collect();
    assert!(outcome(|| map.insert_with_key(|_| panic!("closure"))).is_err());
    assert_eq!((map.len(), drops.get()), (6, 0));
    assert!(
        outcome(|| map.retain(|key, _| if key == keys[1] {
            panic!("closure")
        } else {
            true
        }))
        .is_err()
    );
    assert_eq!(map.len(), 6);
    // The third one panics: what has not been visited stays, as in `slotmap`.
    assert!(outcome(|| map.clear()).is_err());
    assert_eq!((map.len(), drops.get()), (3, 3));
    assert!(keys[3..].iter().all(|key| map.contains_key(*key)));
    drop(map);
    assert_eq!(drops.get(), 6);
}

#[test]
fn a_dense_map_whose_clone_panics_is_empty_and_works() {
    use std::cell::Cell;

    struct Fragile<'a>(&'a Cell<usize>, u32);
    impl Clone for Fragile<'_> {
        fn clone(&self) -> Self {
            assert!(self.1 != 3, "as the test wants it");
            self.0.set(self.0.get() + 1);
            Fragile(self.0, self.1)
        }
    }
    impl Drop for Fragile<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }

    let living = Cell::new(0);
    let new = |number| {
        living.set(living.get() + 1);
        Fragile(&living, number)
    };
    let (mut map, mut source) = (slotmap::DenseSlotMap::new(), slotmap::DenseSlotMap::new());
    let keys: Vec<_> = (10..17).map(|number| map.insert(new(number))).collect();
    for number in 0..5 {
        source.insert(new(number));
    }
    assert!(outcome(|| map.clone_from(&source)).is_err());
    assert_eq!((map.len(), map.keys().count(), living.get()), (0, 0, 5));
    assert!(keys.iter().all(|key| map.get(*key).is_none()));
    let key = map.insert(new(20));
    assert_eq!(
        (map[key].1, map.remove(key).map(|value| value.1)),
        (20, Some(20))
    );
    drop((map, source));
    assert_eq!(living.get(), 0);
}

#[test]
fn values_of_dense_maps_are_dropped_in_the_order_of_slotmap() {
    use std::cell::RefCell;

    struct Noted<'a>(&'a RefCell<Vec<u32>>, u32);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
            assert!(self.1 != 100, "as the test wants it");
        }
    }

    // All that drops several values, with and without one whose destructor panics.
    macro_rules! dropped {
        ($crate_name:ident, $panics:expr) => {{
            let log = RefCell::new(Vec::new());
            let mut results = Vec::new();
            for way in 0..6 {
                let mut map = $crate_name::DenseSlotMap::new();
                let numbers = [0, 1, 2, if $panics { 100 } else { 3 }, 4, 5, 6];
                let keys = numbers.map(|number| map.insert(Noted(&log, number)));
                let result = match way {
                    0 => outcome(|| map.retain(|_, value| value.1 % 4 == 1)),
                    1 => outcome(|| map.clear()),
                    2 => outcome(|| drop(map.drain().nth(1))),
                    3 => outcome(|| drop(std::mem::take(&mut map).into_iter().nth(1))),
                    4 => outcome(|| drop(std::mem::take(&mut map))),
                    _ => outcome(|| drop(map.remove(keys[3]))),
                };
                let left: Vec<_> = map.values().map(|value| value.1).collect();
                log.borrow_mut().push(u32::MAX);
                for value in map.values_mut() {
                    value.1 %= 100;
                }
                let next = map.insert(Noted(&log, 7)).data().as_ffi();
                results.push((result, left, next));
            }
            (results, log.take())
        }};
    }
    for panics in [false, true] {
        assert_eq!(dropped!(slotmap, panics), dropped!(real_slotmap, panics));
    }
}

/// What the guide says to those who change their program.
#[test]
fn values_of_a_dense_slab_have_the_order_of_slotmap() {
    let mut random = Random::new(1);
    let mut ours = flatslab::collections::DenseSlab::<u64, flatslab::GenKey>::with_key();
    let mut theirs = TheirDense::new();
    let mut keys = Vec::new();
    for value in 0..programs(5000) {
        match random.below(100) {
            0..60 => keys.push((ours.insert(value), theirs.insert(value))),
            60..90 if !keys.is_empty() => {
                let (our, their) = keys.swap_remove(random.below(keys.len()));
                assert_eq!(ours.try_remove(our), theirs.remove(their));
            }
            90 => {
                let mut visited = [Vec::new(), Vec::new()];
                ours.retain(|_, value| {
                    visited[0].push(*value);
                    *value % 3 > 0
                });
                theirs.retain(|_, value| {
                    visited[1].push(*value);
                    *value % 3 > 0
                });
                assert_eq!(visited[0], visited[1]);
            }
            91 if random.once_in(5) => {
                let owned = (ours.clone().into_iter(), theirs.clone().into_iter());
                assert!((owned.0.map(|pair| pair.1)).eq(owned.1.map(|pair| pair.1)));
                let drained = (ours.drain(), theirs.drain());
                assert!((drained.0.map(|pair| pair.1)).eq(drained.1.map(|pair| pair.1)));
                keys.clear();
            }
            _ => {}
        }
        assert_eq!(ours.values_as_slice(), theirs.values_as_slice());
    }
}

#[test]
fn an_iterator_over_a_dense_map_is_cloned_with_what_is_left() {
    let mut map = slotmap::DenseSlotMap::new();
    let keys: Vec<_> = (0..5).map(|n: i32| map.insert(n.to_string())).collect();
    let mut all = map.into_iter();
    assert_eq!(all.next(), Some((keys[0], "0".to_string())));
    assert!(all.clone().eq(all.clone()) && all.clone().len() == 4);
    assert!(all.map(|(key, _)| key).eq(keys[1..].iter().copied()));
}

#[test]
fn auto_traits_are_those_of_slotmap() {
    use std::cell::Cell;
    use std::marker::PhantomPinned;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::rc::Rc;

    macro_rules! compare {
        ($($value:ty),*; $types:tt) => {$(
            compare!(@ $value; $types);
        )*};
        (@ $value:ty; [$($($module:ident)::+ $(<$lifetime:lifetime>)?),* $(,)?]) => {$(
            compare!(@@
                slotmap::$($module)::+<$($lifetime,)? slotmap::DefaultKey, $value>,
                real_slotmap::$($module)::+<$($lifetime,)? real_slotmap::DefaultKey, $value>);
        )*};
        (@@ $ours:ty, $theirs:ty) => {
            let name = stringify!($theirs);
            assert_eq!(implements!($ours: Send), implements!($theirs: Send), "{name}");
            assert_eq!(implements!($ours: Sync), implements!($theirs: Sync), "{name}");
            assert_eq!(implements!($ours: Unpin), implements!($theirs: Unpin), "{name}");
            assert_eq!(implements!($ours: UnwindSafe), implements!($theirs: UnwindSafe), "{name} UnwindSafe");
            assert_eq!(implements!($ours: RefUnwindSafe), implements!($theirs: RefUnwindSafe), "{name} RefUnwindSafe");
        };
    }
    compare!(u8, Cell<u8>, Rc<u8>, &'static mut u8, PhantomPinned; [
        SlotMap, DenseSlotMap, SecondaryMap, SparseSecondaryMap,
        basic::IntoIter, basic::Iter<'static>, basic::IterMut<'static>, basic::Drain<'static>,
        basic::Keys<'static>, basic::Values<'static>, basic::ValuesMut<'static>,
        dense::IntoIter, dense::Iter<'static>, dense::IterMut<'static>, dense::Drain<'static>,
        dense::Keys<'static>, dense::Values<'static>, dense::ValuesMut<'static>,
        secondary::IntoIter, secondary::Iter<'static>, secondary::IterMut<'static>,
        secondary::Drain<'static>, secondary::Entry<'static>,
        sparse_secondary::IntoIter, sparse_secondary::Iter<'static>,
        sparse_secondary::IterMut<'static>, sparse_secondary::Drain<'static>,
        sparse_secondary::Entry<'static>,
    ]);
}

/// These compile: what is covariant there is here.
#[allow(dead_code, reason = "only has to compile")]
mod variance {
    use slotmap::{
        DefaultKey, DenseSlotMap, SecondaryMap, SlotMap, SparseSecondaryMap, basic, dense,
    };

    fn map<'a>(map: SlotMap<DefaultKey, &'static str>) -> SlotMap<DefaultKey, &'a str> {
        map
    }
    fn slice<'a>(map: DenseSlotMap<DefaultKey, &'static str>) -> DenseSlotMap<DefaultKey, &'a str> {
        map
    }
    fn slice_iter<'a>(
        iter: dense::Iter<'static, DefaultKey, &'static str>,
    ) -> dense::Iter<'a, DefaultKey, &'a str> {
        iter
    }
    /// Declared before the values that its own refer to, which a `SlotMap` must not be.
    fn slice_of_later_values() {
        let mut map = DenseSlotMap::new();
        let value = "value".to_string();
        map.insert(&value);
    }
    fn dense<'a>(map: SecondaryMap<DefaultKey, &'static str>) -> SecondaryMap<DefaultKey, &'a str> {
        map
    }
    fn sparse<'a>(
        map: SparseSecondaryMap<DefaultKey, &'static str>,
    ) -> SparseSecondaryMap<DefaultKey, &'a str> {
        map
    }
    fn iter<'a>(
        iter: basic::Iter<'static, DefaultKey, &'static str>,
    ) -> basic::Iter<'a, DefaultKey, &'a str> {
        iter
    }
}
