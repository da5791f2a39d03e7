//! One thread, and several, without a model checker.

use super::*;
use crate::common::amount;
use std::collections::BTreeSet;
use std::vec::Vec;

fn map(capacity: usize, shards: usize) -> FreeMap {
    FreeMap::try_with_shards(capacity, shards, &Source::GLOBAL).unwrap()
}

fn take_all(map: &FreeMap) -> BTreeSet<usize> {
    let all: Vec<_> = core::iter::from_fn(|| map.take()).collect();
    let set: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "a cell twice");
    assert_eq!(map.count(), 0);
    set
}

#[test]
fn every_cell_is_taken_once_from_every_shard() {
    let most = amount(20_000, 5_000, 1_100);
    for capacity in [0, 1, 2, 63, 64, 65, 511, 512, 513, 1024, 1025, most] {
        for home in [0, 1, usize::MAX] {
            let map = map(capacity, MOST_SHARDS);
            assert_eq!((map.capacity(), map.count()), (capacity, capacity));
            let home = home.min(map.shards - 1);
            let taken: BTreeSet<_> =
                core::iter::from_fn(|| map.take_from(map.record(home))).collect();
            assert_eq!(taken.len(), capacity);
            assert!(taken.last().is_none_or(|&last| last < capacity));
            assert_eq!((map.take_from(map.record(home)), map.count()), (None, 0));
        }
    }
}

#[test]
fn the_word_that_was_given_to_last_is_taken_from_next() {
    let map = map(600, MOST_SHARDS);
    let taken: Vec<_> = take_all(&map).into_iter().collect();
    for index in [3, 599, 64, 65, 511, 512] {
        // SAFETY: taken.
        unsafe { map.give_at(map.record(0), taken[index]) };
    }
    assert_eq!(map.take_from(map.record(0)), Some(512));
    // SAFETY: taken.
    unsafe { map.give_at(map.record(1), 512) };
    // A thread that begins elsewhere finds them all the same.
    assert_eq!(take_all(&map).len(), 6);
}

#[test]
fn a_single_cell_is_found_through_every_level() {
    // 5,000 words: three levels of summaries.
    let map = map(5_000 * 64, 1);
    assert_eq!(map.levels, 3);
    (0..5_000).for_each(|word| map.take_word(word));
    for index in [0, 319_999, 4095 * 64, 4096 * 64 + 63, 64, 8000] {
        // SAFETY: taken.
        unsafe { map.give_at(map.record(0), index) };
        map.set_hint(0, 3_000);
        assert_eq!(map.take_from(map.record(0)), Some(index));
        map.set_hint(0, 1_500);
        assert_eq!(map.take_from(map.record(0)), None);
    }
    // All summaries are closed by now, or the search would not have ended.
    assert_eq!(map.descend(0), None);
}

#[test]
fn a_map_that_is_full_changes_no_summary_for_one_cell() {
    let map = map(512, 1);
    let taken = take_all(&map);
    // SAFETY: taken.
    unsafe { map.give_at(map.record(0), *taken.first().unwrap()) };
    let closings = map.record(0).begun.load(Ordering::Relaxed);
    for _ in 0..10 {
        let index = map.take_from(map.record(0)).unwrap();
        // SAFETY: taken.
        unsafe { map.give_at(map.record(0), index) };
    }
    assert_eq!(map.record(0).begun.load(Ordering::Relaxed), closings);
}

#[test]
fn capacities_past_the_limit_are_refused() {
    for capacity in [MAX_SLOTS + 1, usize::MAX] {
        let result = FreeMap::try_new(capacity, &Source::GLOBAL);
        assert!(matches!(
            result.err(),
            Some(AllocError::TooManySlots { requested, .. }) if requested == capacity
        ));
    }
}

#[test]
fn threads_lose_and_double_no_cell() {
    let map = map(130, MOST_SHARDS);
    let rounds = amount(20_000, 400, 60);
    std::thread::scope(|scope| {
        for seed in 1..=4_usize {
            let map = &map;
            scope.spawn(move || {
                let mut mine = Vec::new();
                for round in 0..rounds {
                    if (round / 40 + seed) % 3 == 0 {
                        if let Some(index) = mine.pop() {
                            // SAFETY: taken.
                            unsafe { map.give(index) };
                        }
                    } else {
                        mine.extend(map.take());
                    }
                }
                // SAFETY: taken.
                mine.into_iter()
                    .for_each(|index| unsafe { map.give(index) });
            });
        }
    });
    assert_eq!(map.count(), 130);
    assert_eq!(take_all(&map).len(), 130);
}
