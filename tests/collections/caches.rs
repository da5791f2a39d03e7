//! Caches against vectors in order of use, and ids whose hash panics or lies.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use flatslab::FullError;
use flatslab::collections::Lru;

use crate::random::{one_in, random, seed};
use crate::steps;

/// An entry of the model: the one used last comes first.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Entry {
    id: u64,
    value: u64,
    weight: u64,
    deadline: Option<u64>,
}

struct Model {
    entries: Vec<Entry>,
    capacity: usize,
    max_weight: u64,
}

impl Model {
    fn weight(&self) -> u64 {
        self.entries.iter().map(|entry| entry.weight).sum()
    }

    fn at(&self, id: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }

    /// Takes out what has to go for another entry of this weight.
    fn displace(&mut self, weight: u64) -> Vec<(u64, u64)> {
        let mut gone = Vec::new();
        while !self.entries.is_empty()
            && (self.weight() + weight > self.max_weight
                || self.entries.len() + usize::from(weight > 0) > self.capacity)
        {
            gone.extend(self.entries.pop().map(|entry| (entry.id, entry.value)));
        }
        gone
    }

    fn insert(&mut self, id: u64, value: u64, weight: u64) {
        self.entries.insert(
            0,
            Entry {
                id,
                value,
                weight,
                deadline: None,
            },
        );
    }
}

/// Random operations on a cache, each of which does what the model does.
fn is_like_a_vector(capacity: usize, max_weight: u64) {
    let mut cache = Lru::builder()
        .capacity(capacity)
        .max_weight(max_weight)
        .build();
    let mut model = Model {
        entries: Vec::new(),
        capacity: capacity.max(1),
        max_weight,
    };
    for step in 0..steps() / 8 {
        let id = random(24);
        let at = model.at(id);
        let in_model = at.map(|at| model.entries[at].value);
        match random(16) {
            0..3 => {
                let old = at.map(|at| model.entries.remove(at));
                let gone = match old {
                    Some(old) => Some((old.id, old.value)),
                    None => model.displace(1).pop(),
                };
                model.insert(id, step, 1);
                assert_eq!(cache.insert(id, step), gone);
            }
            3 => {
                let weight = random(12);
                let mut expected = Vec::new();
                let fits = weight.max(1) <= max_weight;
                if fits {
                    if let Some(at) = at {
                        let old = model.entries.remove(at);
                        expected.push((id, old.value));
                    }
                    expected.extend(model.displace(weight.max(1)));
                    model.insert(id, step, weight.max(1));
                }
                let mut gone = Vec::new();
                let displaced = |id, value| gone.push((id, value));
                let inserted = cache.insert_weighted(id, step, weight as u32, displaced);
                let refused = inserted.err().map(FullError::into_inner);
                assert_eq!((refused, gone), ((!fits).then_some((id, step)), expected));
            }
            4..7 => {
                if let Some(at) = at {
                    let entry = model.entries.remove(at);
                    model.entries.insert(0, entry);
                }
                match random(3) {
                    0 => assert_eq!(cache.get(&id).copied(), in_model),
                    1 => assert_eq!(cache.get_mut(&id).copied(), in_model),
                    _ => assert_eq!(cache.promote(&id), in_model.is_some()),
                }
            }
            7 => {
                assert_eq!(cache.peek(&id).copied(), in_model);
                assert_eq!(cache.contains(&id), in_model.is_some());
                if let Some(value) = cache.peek_mut(&id) {
                    *value += 1;
                    model.entries[at.unwrap()].value += 1;
                }
            }
            8 => {
                assert_eq!(cache.remove(&id), in_model.map(|value| (id, value)));
                at.map(|at| model.entries.remove(at));
            }
            9 => {
                let last = model.entries.last().map(|entry| (entry.id, entry.value));
                assert_eq!(cache.peek_lru().map(|(id, value)| (*id, *value)), last);
                if one_in(3) {
                    assert_eq!(cache.pop_lru(), last);
                    model.entries.pop();
                }
            }
            10 => {
                let entry = at.map(|at| model.entries[at]);
                assert_eq!(cache.deadline(&id), entry.and_then(|it| it.deadline));
                assert_eq!(
                    cache.weight_of(&id).map(u64::from),
                    entry.map(|it| it.weight)
                );
                let deadline = step + random(60);
                assert_eq!(cache.set_deadline(&id, deadline), at.is_some());
                if let Some(at) = at {
                    model.entries[at].deadline = Some(deadline);
                }
            }
            11 => {
                let deadlines = model.entries.iter().filter_map(|entry| entry.deadline);
                let first = deadlines.min();
                assert_eq!(cache.next_deadline(), first);
                let expired = cache.pop_expired(step);
                assert_eq!(expired.is_some(), first.is_some_and(|first| first <= step));
                if let Some((id, value)) = expired {
                    let entry = model.entries.remove(model.at(id).unwrap());
                    assert_eq!((entry.value, entry.deadline), (value, first));
                }
            }
            13 => {
                let weight = random(12).max(1);
                let mut expected = Vec::new();
                if let Some(at) = at.filter(|_| weight <= max_weight) {
                    let entry = model.entries.remove(at);
                    expected = model.displace(weight);
                    model.entries.insert(0, Entry { weight, ..entry });
                }
                let mut gone = Vec::new();
                let displaced = |id, value| gone.push((id, value));
                let is_set = cache.set_weight(&id, weight as u32, displaced);
                assert_eq!(
                    (is_set, gone),
                    (at.is_some() && weight <= max_weight, expected)
                );
            }
            14 => {
                let deadline = at.and_then(|at| model.entries[at].deadline.take());
                assert_eq!(cache.clear_deadline(&id), deadline);
                let failed = cache.try_get_or_insert_with(id, || Err(step));
                assert_eq!(failed.map(|found| *found.0), in_model.ok_or(step));
                if let Some(at) = at {
                    model.entries[..=at].rotate_right(1);
                }
            }
            12 => {
                let (value, gone) = cache.get_or_insert_with(id, || step);
                assert_eq!(*value, in_model.unwrap_or(step));
                match at {
                    Some(at) => {
                        let entry = model.entries.remove(at);
                        model.entries.insert(0, entry);
                        assert_eq!(gone, None);
                    }
                    None => {
                        assert_eq!(gone, model.displace(1).pop());
                        model.insert(id, step, 1);
                    }
                }
            }
            _ if one_in(20) => {
                cache.retain(|id, _| id % 4 != 1);
                model.entries.retain(|entry| entry.id % 4 != 1);
            }
            _ if one_in(20) => {
                let removed: Vec<_> = cache.extract_if(|id, _| id % 4 == 1).collect();
                let (gone, kept) = model.entries.iter().partition(|entry| entry.id % 4 == 1);
                model.entries = kept;
                let gone: Vec<Entry> = gone;
                assert!(gone.iter().rev().map(|it| (it.id, it.value)).eq(removed));
            }
            _ if one_in(20) => {
                model.capacity = 1 + random(20) as usize;
                let expected = model.displace(0);
                let mut gone = Vec::new();
                let resized = cache.try_resize(model.capacity, |id, value| gone.push((id, value)));
                assert_eq!((resized, gone), (Ok(()), expected));
            }
            _ if one_in(200) => {
                cache.clear();
                model.entries.clear();
            }
            _ => {}
        }
        assert_eq!(
            (cache.len(), cache.weight()),
            (model.entries.len(), model.weight())
        );
        if step % 8 == 0 {
            let order = model.entries.iter().map(|entry| (entry.id, entry.value));
            assert!(cache.iter().map(|(id, value)| (*id, *value)).eq(order));
        }
    }
}

#[test]
fn a_cache_is_like_a_vector_in_order_of_use() {
    seed(1);
    for capacity in [0, 1, 2, 15] {
        is_like_a_vector(capacity, u64::MAX);
    }
}

#[test]
fn a_cache_that_is_bounded_by_weight_is_like_a_vector_in_order_of_use() {
    seed(2);
    is_like_a_vector(20, 30);
    is_like_a_vector(5, 9);
}

#[test]
fn with_a_smaller_bound_of_the_weight_those_used_longest_ago_go() {
    let mut cache = Lru::builder().capacity(9).max_weight(0).build();
    assert_eq!(cache.max_weight(), 1);
    cache.set_max_weight(100, |_: u32, _: ()| unreachable!());
    for id in 1..5 {
        let inserted = cache.insert_weighted(id, (), 20, |_, ()| unreachable!());
        inserted.unwrap();
    }
    let mut gone = Vec::new();
    cache.set_max_weight(45, |id, ()| gone.push(id));
    assert_eq!((gone, cache.weight()), (vec![1, 2], 40));
    // Another value of an id has a weight of its own.
    assert_eq!(cache.insert(4, ()), Some((4, ())));
    assert_eq!(cache.weight(), 21);
}

#[test]
fn a_value_that_is_too_heavy_comes_back_and_displaces_nothing() {
    let mut cache = Lru::builder().capacity(9).max_weight(100).build();
    cache.insert_weighted("a", 1, 60, |_, _| ()).unwrap();
    cache.set_deadline("a", 7);
    let refused = cache.insert_weighted("a", 2, 101, |_, _| unreachable!());
    assert_eq!(refused, Err(FullError(("a", 2))));
    assert!(!cache.set_weight("a", 101, |_, _| unreachable!()));
    assert!(!cache.set_weight("b", 1, |_, _| unreachable!()));
    assert_eq!(
        (cache.peek("a"), cache.weight(), cache.deadline("a")),
        (Some(&1), 60, Some(7))
    );
    assert!(cache.set_weight("a", 100, |_, _| unreachable!()));
    assert_eq!(
        (cache.weight_of("a"), cache.deadline("a")),
        (Some(100), Some(7))
    );
}

#[test]
fn a_panic_while_a_weight_is_raised_leaves_the_weight_before() {
    let mut cache = Lru::<u64, ()>::builder().capacity(9).max_weight(90).build();
    for id in 0..9 {
        cache.insert_weighted(id, (), 10, |_, ()| ()).unwrap();
    }
    let panics = || assert!(cache.set_weight(&0, 40, |id, ()| assert!(id == 1, "a function")));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(
        (cache.len(), cache.weight(), cache.weight_of(&0)),
        (7, 70, Some(10))
    );
    let mut gone = Vec::new();
    assert!(cache.set_weight(&0, 40, |id, ()| gone.push(id)));
    assert_eq!((gone, cache.weight()), (vec![3], 90));
}

#[test]
fn a_cache_has_the_bytes_that_its_page_says() {
    fn check<Id: Hash + Eq, T>() {
        let entries = 10_000;
        let bytes = Lru::<Id, T>::with_capacity(entries).bytes();
        let most = entries * (size_of::<Option<(Id, T, u32)>>() + 24);
        assert!(
            (most - entries / 2..=most).contains(&bytes),
            "{bytes} of {most}"
        );
    }
    check::<u64, u64>();
    check::<u32, u32>();
    check::<(), ()>();
    check::<String, [u64; 3]>();
    check::<u8, [u16; 5]>();
    assert_eq!(size_of::<Option<(u64, u64, u32)>>() + 24, 56);
}

#[test]
fn a_cache_that_is_resized_has_the_bytes_of_a_new_one() {
    let mut cache = Lru::<u64, u64>::with_capacity(1_000);
    cache.try_resize(1_001, |_, _| unreachable!()).unwrap();
    assert_eq!(cache.bytes(), Lru::<u64, u64>::with_capacity(1_001).bytes());
}

#[test]
fn a_cache_is_iterated_by_reference_from_both_ends() {
    let mut cache = Lru::with_capacity(3);
    for id in 0..3 {
        cache.insert(id, id * 10);
    }
    let mut seen = Vec::new();
    for (id, value) in &cache {
        seen.push((*id, *value));
    }
    assert_eq!(seen, [(2, 20), (1, 10), (0, 0)]);
    assert!(cache.iter().rev().map(|it| *it.0).eq(0..3));
    assert_eq!(
        (cache.iter().len(), format!("{:?}", cache.iter())),
        (3, "{2: 20, 1: 10, 0: 0}".into())
    );
}

#[test]
fn entries_that_were_not_reached_stay() {
    let mut cache = Lru::with_capacity(4);
    for id in 0..4 {
        cache.insert(id, ());
    }
    assert_eq!(cache.extract_if(|id, ()| *id > 0).next(), Some((1, ())));
    assert!(cache.iter().map(|it| *it.0).eq([3, 2, 0]));
}

thread_local! {
    /// How many hashes are left until one panics.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// An id whose hash panics at some time.
#[derive(PartialEq, Eq, Debug, Clone, Copy)]
struct Fragile(u64);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let left = LEFT.get();
        assert!(left > 0, "a hash that panics");
        LEFT.set(left - 1);
        self.0.hash(state);
    }
}

#[test]
fn a_hash_that_panics_leaves_the_cache_as_it_was() {
    type Operation = fn(&mut Lru<Fragile, u64>) -> bool;
    let order = |cache: &Lru<Fragile, u64>| -> Vec<(u64, u64)> {
        cache.iter().map(|(id, value)| (id.0, *value)).collect()
    };
    let operations: [Operation; 9] = [
        |cache| cache.insert(Fragile(7), 7).is_some(),
        |cache| cache.get(&Fragile(0)).is_some(),
        |cache| cache.remove(&Fragile(0)).is_some(),
        |cache| cache.pop_lru().is_some(),
        |cache| cache.pop_expired(9).is_some(),
        |cache| cache.clear_deadline(&Fragile(1)).is_some(),
        |cache| cache.set_weight(&Fragile(2), 3, |_, _| ()),
        |cache| cache.extract_if(|id, _| id.0 == 1).next().is_some(),
        |cache| {
            cache.insert_weighted(Fragile(7), 7, 3, |_, _| ()).unwrap();
            cache.contains(&Fragile(7))
        },
    ];
    for operation in operations {
        let mut left = 0;
        loop {
            let mut cache = Lru::with_capacity(3);
            for id in 0..3 {
                cache.insert(Fragile(id), id);
            }
            cache.set_deadline(&Fragile(1), 5);
            let before = order(&cache);
            LEFT.set(left);
            let ended = catch_unwind(AssertUnwindSafe(|| operation(&mut cache)));
            LEFT.set(u32::MAX);
            if let Ok(did) = ended {
                assert!(did && left > 0);
                break;
            }
            // Only the last look, for whether it is there, panicked.
            if cache.contains(&Fragile(7)) {
                break;
            }
            assert_eq!(order(&cache), before);
            assert!(
                before
                    .iter()
                    .all(|(id, value)| cache.peek(&Fragile(*id)) == Some(value))
            );
            left += 1;
        }
    }
}

#[test]
fn the_bounds_hold_after_a_panic_while_they_are_lowered() {
    type Lowers = fn(&mut Lru<Fragile, u64>, bool);
    let lowers: [Lowers; 2] = [
        |cache, panics| {
            let lowered = cache.try_resize(2, |_, _| assert!(!panics, "a function that panics"));
            lowered.unwrap();
        },
        |cache, panics| {
            cache.set_max_weight(25, |_, _| assert!(!panics, "a function that panics"));
        },
    ];
    for lower in lowers {
        // In the function, in the first hash, and in the third one.
        for (panics, hashes, len) in [(true, u32::MAX, 8), (false, 0, 9), (false, 2, 7)] {
            let mut cache = Lru::<Fragile, u64>::builder()
                .capacity(9)
                .max_weight(90)
                .build();
            for id in 0..9 {
                let inserted = cache.insert_weighted(Fragile(id), id, 10, |_, _| ());
                inserted.unwrap();
            }
            LEFT.set(hashes);
            let ended = catch_unwind(AssertUnwindSafe(|| lower(&mut cache, panics)));
            LEFT.set(u32::MAX);
            assert!(ended.is_err());
            assert_eq!((cache.len(), cache.weight()), (len, 10 * len as u64));
            for id in 20..40 {
                assert!(cache.len() <= cache.capacity() && cache.weight() <= cache.max_weight());
                cache.insert(Fragile(id), id);
            }
            lower(&mut cache, false);
            assert!(cache.capacity() == 2 || cache.max_weight() == 25);
            assert!(cache.len() <= cache.capacity() && cache.weight() <= cache.max_weight());
        }
    }
}

/// An id with another hash each time.
#[derive(PartialEq, Eq)]
struct Liar(u64);

impl Hash for Liar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        random(u64::MAX).hash(state);
    }
}

#[test]
fn a_hash_that_lies_loses_no_entry_and_no_room() {
    seed(3);
    let mut cache = Lru::with_capacity(8);
    let mut displaced = 0;
    for id in 0..200 {
        displaced += usize::from(cache.insert(Liar(id), ()).is_some());
        assert!(cache.len() <= 8);
    }
    assert_eq!(displaced + cache.len(), 200);
    assert!(cache.iter().map(|(id, ())| id.0).eq((192..200).rev()));
    cache.clear();
    assert!(cache.is_empty());
}

/// Panics when it is dropped, the first time.
struct Bomb<'a>(&'a Cell<bool>);

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        assert!(!self.0.replace(false), "a destructor that panics");
    }
}

#[test]
fn a_destructor_that_panics_leaves_the_other_entries() {
    let armed = Cell::new(true);
    let mut cache = Lru::with_capacity(3);
    for id in 0..3 {
        cache.insert(id, Bomb(&armed));
    }
    assert!(catch_unwind(AssertUnwindSafe(|| cache.clear())).is_err());
    assert_eq!(cache.len(), 2);
    assert!(cache.contains(&1) && cache.contains(&2) && !cache.contains(&0));
    cache.retain(|id, _| *id == 2);
    assert!(cache.insert(0, Bomb(&armed)).is_none() && cache.len() == 2);
}
