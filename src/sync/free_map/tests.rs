//! One thread, and several, without a model checker.

use super::*;
use crate::common::amount;
use crate::sync::counted;
use std::collections::BTreeSet;
use std::vec::Vec;

fn map(capacity: usize, homes: usize) -> FreeMap {
    FreeMap::try_with(capacity, homes, &Source::GLOBAL, |_| u64::MAX).unwrap()
}

fn taken(capacity: usize) -> FreeMap {
    FreeMap::try_with(capacity, MOST_HOMES, &Source::GLOBAL, |_| 0).unwrap()
}

fn home(map: &FreeMap, number: usize) -> &Home {
    map.homes().nth(number).unwrap()
}

fn take_all(map: &FreeMap) -> BTreeSet<usize> {
    let all: Vec<_> = core::iter::from_fn(|| map.take()).collect();
    let set: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "a cell twice");
    assert_eq!(map.count(), 0);
    set
}

/// What is listed (`listed-or-noted`), where no one is in the midst of anything: what is not empty
/// is listed, and nothing else.
fn check(map: &FreeMap) {
    let mut listed = word_count(map.capacity);
    for level in 0..map.levels {
        for below in 0..listed {
            let is_listed =
                map.summary(level, below >> FAN).load(Ordering::Relaxed) & bit_of(below);
            let bits = map.listed(level, below).load(Ordering::Relaxed);
            assert_eq!(is_listed != 0, bits != 0, "level {level}, {below}");
        }
        listed = listing(listed);
    }
    assert!(
        map.notes(Ordering::Relaxed)
            .iter()
            .all(|&bits| Note::word(bits).is_none())
    );
}

/// Numbers without a pattern.
fn scatter(state: &mut u64) -> usize {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    (*state >> 33) as usize
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn every_cell_is_taken_once_from_every_home() {
    let most = amount(20_000, 130);
    for capacity in [0, 1, 2, 63, 64, 65, 511, 512, 513, 1024, 1025, most] {
        if capacity > most {
            continue;
        }
        for number in [0, 1, usize::MAX] {
            let map = map(capacity, MOST_HOMES);
            assert_eq!((map.capacity(), map.count()), (capacity, capacity));
            check(&map);
            let home = home(&map, number.min(map.home_count - 1));
            let taken: BTreeSet<_> = core::iter::from_fn(|| map.take_from(home)).collect();
            assert_eq!(taken.len(), capacity);
            assert!(taken.last().is_none_or(|&last| last < capacity));
            assert_eq!((map.take_from(home), map.count()), (None, 0));
            check(&map);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
fn the_spare_is_taken_next_then_the_word_that_was_given_to_last() {
    let map = map(600, MOST_HOMES);
    take_all(&map);
    let mine = home(&map, 0);
    for index in [3, 599, 64, 65, 511, 512] {
        // SAFETY: the cell was taken from this map, and is given back once.
        unsafe { map.give_at(mine, index) };
    }
    assert_eq!(map.count(), 6);
    assert_eq!(
        (map.take_from(mine), map.take_from(mine)),
        (Some(3), Some(512))
    );
    for index in [512, 3] {
        // SAFETY: the cell was taken from this map, and is given back once.
        unsafe { map.give_at(home(&map, 1), index) };
    }
    // A thread of another home finds them all the same.
    assert_eq!(take_all(&map).len(), 6);
    check(&map);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_single_cell_is_found_through_every_level() {
    // 5,000 words: three levels of summaries.
    let map = taken(5_000 * 64);
    assert_eq!(map.levels, 3);
    let spare = 7;
    for index in [0, 319_999, 4095 * 64, 4096 * 64 + 63, 64, 8000] {
        for given in [spare, index] {
            // SAFETY: the cell was taken from this map, and is given back once.
            unsafe { map.give_at(home(&map, 0), given) };
        }
        for number in [3, 0] {
            let home = home(&map, number);
            home.hint.store(3_000, Ordering::Relaxed);
            // The bit from elsewhere, then the spare from there.
            assert_eq!(
                map.take_from(home),
                Some(if number == 0 { spare } else { index })
            );
        }
        assert_eq!(map.take_from(home(&map, 5)), None);
        check(&map);
    }
}

#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
#[cfg_attr(
    not(feature = "std"),
    ignore = "a thread's home depends on how deep its stack is"
)]
fn to_give_and_to_take_at_random_places_are_two_locked_operations() {
    let capacity = amount(100_000, 200);
    for free in [0, 1, 10, capacity / 10] {
        let map = map(capacity, MOST_HOMES);
        let mut state = 1;
        let mut mine: Vec<_> = take_all(&map).into_iter().collect();
        let mut give = |mine: &mut Vec<usize>| {
            let index = mine.swap_remove(scatter(&mut state) % mine.len());
            // SAFETY: the cell was taken from this map, and is given back once.
            unsafe { map.give(index) };
        };
        (0..free).for_each(|_| give(&mut mine));
        // What is in the spare comes to be the cell that was given last.
        give(&mut mine);
        mine.push(map.take().unwrap());
        let rounds = amount(1_000, 50);
        let changes = counted::changes(|| {
            for _ in 0..rounds {
                give(&mut mine);
                mine.push(map.take().unwrap());
            }
        });
        assert!(
            changes <= 2 * rounds,
            "{changes} in {rounds} rounds, {free} free"
        );
        check(&map);
    }
}

#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
fn what_one_operation_changes_is_bounded() {
    let capacity = amount(300_000, 200);
    let map = map(capacity, MOST_HOMES);
    let levels = map.levels as usize;
    let (mut mine, mut state) = (Vec::new(), 1);
    let (mut given, mut took) = (0, 0);
    // Until none is free, then down and up at random places.
    for round in 0..amount(10, 4) {
        loop {
            let changes = counted::changes(|| mine.extend(map.take()));
            took = took.max(changes);
            if mine.len() == capacity || (round > 1 && scatter(&mut state) % 1000 == 0) {
                break;
            }
        }
        while !mine.is_empty() && (round == 0 || scatter(&mut state) % 1000 != 0) {
            let index = mine.swap_remove(scatter(&mut state) % mine.len());
            // SAFETY: the cell was taken from this map, and is given back once.
            let changes = counted::changes(|| unsafe { map.give(index) });
            given = given.max(changes);
        }
        check(&map);
    }
    assert!(given <= 1 + levels, "{given}");
    assert!(took <= 2 + 2 * levels, "{took}");
}

#[test]
fn to_take_one_of_several_cells_of_a_word_is_one_locked_operation() {
    let map = map(640, MOST_HOMES);
    // The last one closes the word.
    for _ in 1..64 {
        assert_eq!(counted::changes(|| assert!(map.take().is_some())), 1);
    }
    check(&map);
}

#[test]
fn another_pass_of_a_closing_is_counted_and_keeps_its_word() {
    let note = Note(AtomicU64::new(0));
    assert!(note.begin(5));
    let first = note.0.load(Ordering::Relaxed);
    note.begin_again();
    let second = note.0.load(Ordering::Relaxed);
    assert_eq!((Note::word(first), Note::word(second)), (Some(5), Some(5)));
    assert_ne!(first, second);
    note.end();
    assert!(note.begin(7));
    let next = note.0.load(Ordering::Relaxed);
    assert_eq!(Note::word(next), Some(7));
    assert!(next > second);
}

#[test]
fn a_closing_that_is_stopped_hides_nothing() {
    for capacity in [130, 64 * 64 * 3] {
        let map = taken(capacity);
        let levels = map.levels;
        for level in 0..levels {
            // As if by a thread that is stopped after its first step on that level.
            let stopped = 1 << (FAN * level);
            assert!(home(&map, 1).note.begin(stopped));
            for below in [stopped, stopped + 1] {
                // SAFETY: taken; the first one is in the spare.
                unsafe {
                    map.give_at(home(&map, 0), 0);
                    map.give_at(home(&map, 0), below << BITS);
                }
                assert_eq!(map.take_from(home(&map, 0)), Some(0));
                let place = below >> (FAN * level);
                let summary = map.summary(level, place >> FAN);
                if place == stopped >> (FAN * level) {
                    summary.fetch_and(!bit_of(place), Ordering::Relaxed);
                    home(&map, 0).hint.store(0, Ordering::Relaxed);
                }
                assert_eq!(map.take_from(home(&map, 0)), Some(below << BITS));
                assert_eq!(map.take_from(home(&map, 0)), None);
            }
            home(&map, 1).note.end();
            check(&map);
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn more_closings_than_notes_lose_no_cell() {
    let map = map(130, MOST_HOMES);
    for home in map.homes() {
        assert!(home.note.begin(0));
    }
    assert_eq!(take_all(&map).len(), 130);
    assert_eq!(map.take(), None);
    map.homes().for_each(|home| home.note.end());
    assert_eq!(map.take(), None);
    check(&map);
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

/// Threads that take and give, each of which has at most `most` cells, which are there for it.
fn take_and_give(capacity: usize, threads: usize, most: usize) {
    let map = map(capacity, MOST_HOMES);
    let rounds = amount(20_000, 60);
    std::thread::scope(|scope| {
        for seed in 1..=threads {
            let map = &map;
            scope.spawn(move || {
                let mut mine = Vec::new();
                let mut state = seed as u64;
                for round in 0..rounds {
                    if (round / 40 + seed) % 3 == 0 || mine.len() == most {
                        if !mine.is_empty() {
                            let index = mine.swap_remove(scatter(&mut state) % mine.len());
                            // SAFETY: the cell was taken from this map, and is given back once.
                            unsafe { map.give(index) };
                        }
                    } else {
                        mine.extend(map.take());
                    }
                }
                // SAFETY: the cell was taken from this map, and is given back once.
                mine.into_iter()
                    .for_each(|index| unsafe { map.give(index) });
            });
        }
    });
    assert_eq!(map.count(), capacity);
    assert_eq!(take_all(&map).len(), capacity);
    check(&map);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn threads_lose_and_double_no_cell() {
    take_and_give(130, 4, usize::MAX);
    take_and_give(amount(5_000, 65), 3, 40);
}
