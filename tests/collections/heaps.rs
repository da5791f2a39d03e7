//! Heaps against sorted lists of pairs, and comparisons that panic or lie.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use flatslab::collections::{Heap, SlotError};
use flatslab::key_slab::SlabKey;
use flatslab::{AllocError, GenKey, Key, KeySlab};

use crate::fragile::{Fragile, LEFT};
use crate::random::{one_in, random, seed};
use crate::{message_of, steps};

/// Random operations on a heap, each of which does what a map from keys to priorities does.
fn is_like_a_map<K: SlabKey + Ord>(keys: &[K], capacity: usize) {
    let mut heap = Heap::<u64, K>::with_capacity(capacity);
    let mut other = Heap::<u64, K>::with_capacity(capacity);
    let mut model = BTreeMap::new();
    // Long runs of one direction, so that the heap is large and empty by turns.
    let mut grows = true;
    for step in 0..steps() {
        if step % 512 == 0 {
            grows = !grows;
        }
        let (key, priority) = (keys[random(keys.len() as u64) as usize], random(50));
        match random(12) {
            0..5 if grows => assert_eq!(heap.push(key, priority), Ok(model.insert(key, priority))),
            0..3 => {
                let first = heap.pop();
                assert_eq!(first.map(|it| it.0), model.values().min().copied());
                if let Some((priority, key)) = first {
                    assert_eq!(model.remove(&key), Some(priority));
                }
            }
            5..7 => assert_eq!(heap.remove(key), model.remove(&key)),
            7..9 => {
                let old = model
                    .get_mut(&key)
                    .map(|it| std::mem::replace(it, priority));
                assert_eq!(heap.change(key, priority), old);
            }
            9 => {
                let due = heap.pop_if(|least| *least < 10);
                let is_due = model.values().min().is_some_and(|least| *least < 10);
                assert_eq!(due.is_some(), is_due);
                if let Some((priority, key)) = due {
                    assert_eq!(model.remove(&key), Some(priority));
                }
            }
            10 => {
                if let Some(mut first) = heap.peek_mut() {
                    *first = priority;
                    model.insert(first.key(), priority);
                }
            }
            11 if one_in(200) => {
                let (key, priority) = (keys[0], 3);
                other.push(key, priority).unwrap();
                heap.append(&mut other).unwrap();
                model.insert(key, priority);
                assert!(other.is_empty());
            }
            _ if one_in(2000) => {
                heap.clear();
                model.clear();
            }
            _ => {
                assert_eq!(heap.priority(key), model.get(&key).copied());
                assert_eq!(heap.contains(key), model.contains_key(&key));
            }
        }
        assert_eq!(heap.len(), model.len());
        if step % 16 == 0 {
            assert!(heap.is_ordered());
            let mut all: Vec<_> = heap.iter().map(|(priority, key)| (key, priority)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(model.iter().map(|it| (*it.0, *it.1))));
        }
    }
}

#[test]
fn a_heap_is_like_a_map_from_keys_to_priorities() {
    seed(1);
    let keys: Vec<Key> = (0..200).map(Key::from_raw).collect();
    is_like_a_map(&keys, 200);
}

#[test]
fn a_heap_is_like_a_map_with_generations() {
    seed(2);
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let keys: Vec<GenKey> = (0..100).map(|_| slab.insert(())).collect();
    is_like_a_map(&keys, 100);
}

#[test]
fn the_key_of_an_earlier_value_is_not_taken_for_that_of_a_later_one() {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let mut heap = Heap::with_capacity(1);
    let first = slab.insert(());
    heap.push(first, 5).unwrap();
    slab.remove(first);
    let second = slab.insert(());
    assert_eq!(second.index(), first.index());
    assert_eq!((heap.priority(second), heap.remove(second)), (None, None));
    assert_eq!(heap.change(second, 1), None);
    assert_eq!(heap.push(second, 7), Ok(Some(5)));
    assert_eq!(heap.priority(first), None);
    assert_eq!(heap.pop(), Some((7, second)));
}

/// Two keys of the same slot, of which the second one is later.
fn two_of_a_slot() -> [GenKey; 2] {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    [(); 2].map(|()| {
        let key = slab.insert(());
        slab.remove(key);
        key
    })
}

#[test]
fn the_key_of_an_earlier_value_does_not_replace_that_of_a_later_one() {
    let [first, second] = two_of_a_slot();
    let (mut heap, mut other) = (Heap::with_capacity(2), Heap::with_capacity(2));
    let outdated = SlotError::Outdated { slot: 0 };
    heap.push(second, 7).unwrap();
    assert_eq!(heap.push(first, 5), Err(outdated));
    assert_eq!((heap.priority(second), heap.len()), (Some(7), 1));

    // Nor from another heap, which keeps all of its keys.
    let elsewhere = GenKey::from_raw(first.into_raw() + 1).unwrap();
    other.push(elsewhere, 1).unwrap();
    other.push(first, 5).unwrap();
    assert_eq!(heap.append(&mut other), Err(outdated));
    assert_eq!((heap.len(), other.len()), (1, 2));
    other.remove(first);
    assert_eq!(heap.append(&mut other), Ok(()));
    assert_eq!((heap.len(), other.len()), (2, 0));

    // It is the only one after the later one was removed.
    heap.remove(second);
    assert_eq!(heap.push(first, 5), Ok(None));
    assert_eq!(heap.push(second, 6), Ok(Some(5)));
}

#[test]
fn the_later_key_is_known_where_generations_wrap() {
    let of = |generation: u64| GenKey::from_raw((2 * generation + 1) << 32).unwrap();
    let last = (1 << 30) - 2;
    let (near, far) = (1 << 20, (1 << 29) - 6);
    for (earlier, later) in [
        (last, 0),
        (last, near),
        (last - 2, far),
        (0, 1),
        (7, far),
        (near, last / 2),
    ] {
        let mut heap = Heap::with_capacity(1);
        assert_eq!(heap.push(of(earlier), 1), Ok(None));
        assert_eq!(heap.push(of(later), 2), Ok(Some(1)));
        assert!(
            heap.push(of(earlier), 3).is_err(),
            "{earlier} after {later}"
        );
        assert_eq!(heap.push(of(later), 4), Ok(Some(2)));
    }
}

#[test]
fn a_forged_key_is_refused_and_takes_no_memory() {
    let mut heap = Heap::with_capacity(4);
    let bytes = heap.bytes();
    for raw in [4, 1 << 29, u32::MAX - 1, u32::MAX] {
        let error = SlotError::OutOfRange {
            slot: raw as usize,
            capacity: 4,
        };
        assert_eq!(heap.push(Key::from_raw(raw), 0), Err(error));
        assert_eq!(heap.remove(Key::from_raw(raw)), None);
        assert_eq!(heap.change(Key::from_raw(raw), 0), None);
    }
    assert_eq!((heap.len(), heap.bytes()), (0, bytes));
    let most = (1 << 30) - 1;
    let error = Heap::<u64>::try_with_capacity(most + 1).unwrap_err();
    assert!(matches!(error, AllocError::TooManySlots { limit, .. } if limit == most));
}

#[test]
fn a_heap_that_grows_keeps_its_keys() {
    let mut heap = Heap::with_capacity(2);
    for raw in 0..100 {
        heap.try_grow(raw + 1).unwrap();
        let priority = Reverse(raw % 7);
        heap.push(Key::from_raw(raw as u32), priority).unwrap();
    }
    heap.try_grow(1).unwrap();
    assert_eq!((heap.len(), heap.capacity()), (100, 100));
    assert!(heap.is_ordered());
    let mut last = Reverse(6);
    while let Some((priority, _)) = heap.pop() {
        assert!(priority >= last);
        last = priority;
    }
}

#[test]
fn a_comparison_that_panics_loses_no_key() {
    seed(3);
    let mut heap = Heap::with_capacity(100);
    let mut there = std::collections::BTreeSet::new();
    for step in 0..steps() / 10 {
        let raw = random(100) as u32;
        let (key, priority) = (Key::from_raw(raw), Fragile(random(20)));
        LEFT.set(random(8));
        let before = heap.len();
        match random(4) {
            0 | 1 => {
                let message = message_of(|| heap.push(key, priority));
                assert!(message.is_none_or(|message| message.contains("a comparison")));
                there.insert(raw);
            }
            2 => {
                // What was to be removed is still there.
                if message_of(|| heap.remove(key)).is_none() {
                    there.remove(&raw);
                }
            }
            _ => {
                let first = heap.peek().map(|first| first.1.into_raw());
                if message_of(|| heap.pop()).is_none() {
                    first.map(|first| there.remove(&first));
                }
            }
        }
        LEFT.set(u64::MAX);
        assert!(heap.len().abs_diff(before) <= 1);
        let mut keys: Vec<u32> = heap.iter().map(|(_, key)| key.into_raw()).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(there.iter().copied()));
        if step % 16 == 0 {
            // Whatever the order is, all keys are placed.
            let _ = heap.is_ordered();
        }
    }
}

#[test]
fn comparisons_that_lie_lose_no_key() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Liar;

    impl PartialOrd for Liar {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Liar {
        fn cmp(&self, _: &Self) -> Ordering {
            [Ordering::Less, Ordering::Equal, Ordering::Greater][random(3) as usize]
        }
    }

    seed(4);
    let mut heap = Heap::with_capacity(64);
    let mut count = 0;
    for _ in 0..steps() / 10 {
        let key = Key::from_raw(random(64) as u32);
        if random(2) == 0 {
            count += usize::from(heap.push(key, Liar).unwrap().is_none());
        } else {
            count -= usize::from(heap.remove(key).is_some());
        }
        let _ = heap.is_ordered();
        assert_eq!(heap.len(), count);
    }
    while heap.pop().is_some() {
        count -= 1;
    }
    assert_eq!(count, 0);
}
