//! `ci/loom.sh`: how threads can act on a map. Here a summary lists two words, or two summaries of
//! the level below: up to two words have one level, up to four two, up to eight three.
//!
//! The states at the start are written, not the result of operations. If a model is not about
//! spares, cells are given to their words. No closing has more than one pass: for that a word is
//! filled and emptied again during one look, by more threads than loom can try.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use std::vec;

use super::*;
use crate::raw::atomic::thread;

/// A map of these words with these bits, and this number of homes.
fn map(homes: usize, words: &[u64]) -> Arc<FreeMap> {
    let capacity = words.len() << BITS;
    let map = FreeMap::try_with(capacity, homes, &Source::GLOBAL, |word| words[word]);
    Arc::new(map.unwrap())
}

/// This number of words without a cell, of which one is listed in vain.
fn listed_in_vain(words: usize, word: usize) -> Arc<FreeMap> {
    let map = map(2, &vec![0; words]);
    map.list_from(0, word);
    map
}

impl FreeMap {
    fn home_at(&self, number: usize) -> &Home {
        self.homes().nth(number).unwrap()
    }

    fn give_in(&self, index: usize) {
        // SAFETY: no bit was set for it, so by the state at the start it is the caller's.
        unsafe { self.give_to_word(self.home_at(0), index) };
    }

    /// Takes the one cell of a word, if it is there, by a thread that is stopped before it closes
    /// the word.
    fn take_and_stop(&self, word: usize) {
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        let _ = self.word(word).compare_exchange(1, 0, order.0, order.1);
    }

    /// Takes one without the hint.
    fn take_by_search(&self, home: usize) -> Option<usize> {
        self.search(self.home_at(home))
    }
}

/// Each twice: with `late` the other thread runs first. Loom tries another order only of the last
/// access to an atomic, and begins with the thread that spawns.
fn model(f: impl Fn(bool) + Copy + Send + Sync + 'static) {
    for late in [false, true] {
        loom::model(move || f(late));
    }
}

/// With fewer preemptions than the other models: this number in each run, one more in the weekly
/// run.
fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let more = usize::from(!cfg!(each_run));
    builder.preemption_bound = Some(preemptions + more);
    builder.check(f);
}

/// Called after the threads were spawned.
fn start(late: bool) {
    if late {
        thread::yield_now();
    }
}

#[test]
fn loom_what_was_done_with_a_cell_happens_before_its_bit_is_cleared() {
    model(|late| {
        let map = map(1, &[0]);
        let witness = Arc::new(UnsafeCell::new(0));
        let (other, theirs) = (map.clone(), witness.clone());
        let giver = thread::spawn(move || {
            // SAFETY: no bit says that the cell is free; loom checks it.
            theirs.with_mut(|it| unsafe { *it += 1 });
            other.give_in(0);
        });
        start(late);
        if map.take_in(0).is_some() {
            // SAFETY: the cell is taken; loom reports an access without an order.
            witness.with_mut(|it| unsafe { *it += 1 });
        }
        giver.join().unwrap();
    });
}

/// Two threads that take one cell, use it and give it back.
fn use_in_turns(words: &'static [u64], homes: [usize; 2], give: fn(&FreeMap, &Home, usize)) {
    bounded(2, move || {
        let map = map(2, words);
        let witness = Arc::new(UnsafeCell::new(0));
        let uses = |home: usize| {
            let (map, witness) = (map.clone(), witness.clone());
            move || {
                let home = map.home_at(home);
                let Some(index) = map.take_from(home) else {
                    return;
                };
                // SAFETY: the cell is this thread's; loom checks it.
                witness.with_mut(|it| unsafe { *it += 1 });
                give(&map, home, index);
            }
        };
        let other = thread::spawn(uses(homes[1]));
        uses(homes[0])();
        other.join().unwrap();
        assert_eq!(map.take(), Some(0), "the cell is lost");
        assert_eq!(map.take(), None);
    });
}

#[test]
fn loom_what_a_thread_does_with_a_cell_happens_before_another_takes_it() {
    // SAFETY: the cell was taken from this map, and is given back once.
    use_in_turns(&[1], [0, 0], |map, home, index| unsafe {
        map.give_to_word(home, index)
    });
}

#[test]
fn loom_what_a_thread_does_with_a_cell_happens_before_another_takes_the_spare() {
    // SAFETY: the cell was taken from this map, and is given back once.
    use_in_turns(&[1, 0], [0, 0], |map, home, index| unsafe {
        map.give_at(home, index)
    });
}

#[test]
fn loom_what_a_thread_does_with_a_cell_happens_before_another_takes_the_spare_of_its_home() {
    // SAFETY: the cell was taken from this map, and is given back once.
    use_in_turns(&[1, 0], [0, 1], |map, home, index| unsafe {
        map.give_at(home, index)
    });
}

fn close_and_give(words: usize, closed: usize, given: usize) {
    model(move |late| {
        let map = listed_in_vain(words, closed);
        let other = map.clone();
        let giver = thread::spawn(move || other.give_in(given << BITS));
        start(late);
        assert!(map.close(closed));
        giver.join().unwrap();
        // By the summaries alone.
        assert_eq!(
            map.descend(map.levels - 1, 0, 0),
            Some(given),
            "the cell is lost"
        );
        assert_eq!(map.take_by_search(0), Some(given << BITS));
    });
}

#[test]
fn loom_closing_a_word_and_giving_into_it_leave_it_listed() {
    close_and_give(2, 1, 1);
}

#[test]
fn loom_closing_a_word_and_giving_into_it_leave_it_listed_on_two_levels() {
    close_and_give(3, 2, 2);
}

#[test]
fn loom_closing_a_word_and_giving_beside_it_leave_that_listed_on_two_levels() {
    close_and_give(4, 2, 3);
}

#[test]
fn loom_closing_a_word_and_giving_beside_it_leave_that_listed_on_three_levels() {
    close_and_give(6, 4, 5);
}

/// A thread gives and finds that, while another one closes.
fn close_and_find(words: usize, closed: usize, given: usize) {
    model(move |late| {
        let map = listed_in_vain(words, closed);
        let other = map.clone();
        let closer = thread::spawn(move || other.close(closed));
        start(late);
        map.give_in(given << BITS);
        let found = map.take_by_search(0);
        assert_eq!(found, Some(given << BITS), "no cell, but there is one");
        assert!(closer.join().unwrap(), "there is a note for each thread");
    });
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_closes_its_word() {
    close_and_find(2, 1, 1);
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_closes_its_word_on_two_levels() {
    close_and_find(3, 2, 2);
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_closes_beside_it_on_two_levels() {
    close_and_find(4, 2, 3);
}

/// A thread gives and finds that, while another one gives beside it.
fn list_and_find(words: usize, theirs: usize, mine: usize) {
    model(move |late| {
        let map = map(1, &vec![0; words]);
        let other = map.clone();
        let giver = thread::spawn(move || other.give_in(theirs));
        start(late);
        map.give_in(mine);
        assert!(
            map.take_by_search(0).is_some(),
            "no cell, but there are two"
        );
        giver.join().unwrap();
        assert!(map.take_by_search(0).is_some(), "a cell is lost");
        assert_eq!(map.take_by_search(0), None);
    });
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_lists_its_word() {
    list_and_find(2, 65, 64);
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_lists_its_word_on_two_levels() {
    list_and_find(3, 129, 128);
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_closes_its_word_and_lists_it() {
    model(|late| {
        let map = listed_in_vain(3, 2);
        let other = map.clone();
        let closer = thread::spawn(move || {
            assert!(other.close(2));
            other.give_in(129);
        });
        start(late);
        map.give_in(128);
        assert!(map.take_by_search(0).is_some(), "no cell, but there is one");
        closer.join().unwrap();
        assert!(map.take_by_search(0).is_some(), "a cell is lost");
    });
}

/// A thread takes the last cell of a word, and the other one gives one there and finds it.
fn take_the_last_and_find(words: usize, homes: [usize; 2]) {
    model(move |late| {
        let mut bits = vec![0; words];
        bits[words - 1] = 1;
        let map = map(2, &bits);
        let other = map.clone();
        let taker = thread::spawn(move || other.take_by_search(homes[1]));
        start(late);
        let given = ((words - 1) << BITS) + 1;
        map.give_in(given);
        let mine = map.take_by_search(homes[0]);
        assert!(mine.is_some(), "no cell, but there are as many as threads");
        let theirs = taker.join().unwrap();
        assert!(theirs.is_some() && theirs != mine);
        assert_eq!(map.take_by_search(0), None);
    });
}

#[test]
fn loom_there_is_a_cell_for_each_thread_that_gives_one() {
    take_the_last_and_find(2, [0, 0]);
}

#[test]
fn loom_there_is_a_cell_for_each_thread_that_gives_one_on_two_levels() {
    take_the_last_and_find(3, [0, 1]);
}

#[test]
fn loom_two_threads_take_different_cells() {
    loom::model(|| {
        let map = map(1, &[3]);
        let other = map.clone();
        let taker = thread::spawn(move || other.take());
        let mine = map.take();
        let theirs = taker.join().unwrap();
        assert!(mine.is_some() && theirs.is_some() && mine != theirs);
        assert_eq!(map.take(), None);
    });
}

#[test]
fn loom_two_homes_take_each_others_spares() {
    loom::model(|| {
        let map = map(2, &[0, 0]);
        assert!(map.home_at(0).spare.put(0) && map.home_at(1).spare.put(64));
        let other = map.clone();
        let taker = thread::spawn(move || other.take_from(other.home_at(0)));
        let mine = map.take_from(map.home_at(0));
        let theirs = taker.join().unwrap();
        assert!(mine.is_some() && theirs.is_some() && mine != theirs);
        assert_eq!(map.take(), None);
    });
}

/// The one free cell moves from a spare to a word, while a thread looks for it.
#[test]
fn loom_a_thread_finds_the_cell_that_another_moves() {
    for words in [2, 3] {
        model(move |late| {
            let map = map(2, &vec![0; words]);
            let last = (words - 1) << BITS;
            assert!(map.home_at(1).spare.put(last));
            let other = map.clone();
            let mover = thread::spawn(move || {
                // SAFETY: by the state at the start it is the thread's.
                unsafe { other.give_at(other.home_at(1), last + 1) };
                other.take_from(other.home_at(1))
            });
            start(late);
            let mine = map.take_from(map.home_at(0));
            assert!(mine.is_some(), "no cell, but there was always one");
            let theirs = mover.join().unwrap();
            assert!(theirs.is_some() && theirs != mine);
        });
    }
}

/// Two closings, of two words below one summary, while a third thread finds what it gave.
#[test]
fn loom_a_thread_finds_what_it_gave_while_two_others_close() {
    bounded(1, || {
        let map = map(2, &[0, 0]);
        map.list_from(0, 0);
        map.list_from(0, 1);
        let closers = [0, 1].map(|word| {
            let other = map.clone();
            thread::spawn(move || other.close(word))
        });
        map.give_in(64);
        assert_eq!(map.take_by_search(0), Some(64), "no cell, but there is one");
        for closer in closers {
            closer.join().unwrap();
        }
    });
}

/// The state in which a thread leaves the map that is stopped after it noted a word and, with
/// `hides`, cleared the bit that lists it.
fn stop_closing(map: &FreeMap, home: usize, word: usize, hides: bool) {
    assert!(map.home_at(home).note.begin(word));
    if hides {
        // Relaxed: before other threads begin.
        map.summary(0, word >> FAN)
            .fetch_and(!bit_of(word), Ordering::Relaxed);
    }
}

/// One closing ends, by listing what it finds, and then another one under the same note; a third
/// thread finds what it gave, which the first of them listed. (What hides the other words is a giver
/// that is stopped before it lists their summary.)
#[test]
fn loom_a_thread_finds_what_it_gave_after_two_closings_under_one_note() {
    bounded(1, || {
        let map = map(1, &[0; 4]);
        map.list_from(0, 0);
        stop_closing(&map, 0, 0, true);
        // Relaxed: before other threads begin.
        map.summary(0, 1)
            .fetch_or(bit_of(2) | bit_of(3), Ordering::Relaxed);
        let other = map.clone();
        let first = thread::spawn(move || {
            // The rest of that closing: the level above.
            other.unlist(1, 0);
            if !other.is_empty_now(1, 0) {
                other.list_from(1, 0);
            }
            other.home_at(0).note.end();
        });
        let other = map.clone();
        let second = thread::spawn(move || other.close(2));
        map.give_in(0);
        // Loom would not let both others run before the first access of the search.
        thread::yield_now();
        assert_eq!(map.take_by_search(0), Some(0), "no cell, but there is one");
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// Threads that have these cells, one each, of a map without others. Each of them gives its own and
/// takes one.
fn one_each(preemptions: usize, words: usize, cells: &'static [usize], homes: &'static [usize]) {
    bounded(preemptions, move || {
        let map = map(2, &vec![0; words]);
        let gives_and_takes = |number: usize| {
            let map = map.clone();
            move || {
                let home = map.home_at(homes[number]);
                // SAFETY: by the state at the start it is the thread's.
                unsafe { map.give_at(home, cells[number]) };
                let taken = map.take_from(home);
                taken.expect("refused, but there is a cell for each thread")
            }
        };
        let others = (1..cells.len()).map(|number| thread::spawn(gives_and_takes(number)));
        let others: Vec<_> = others.collect();
        let mut taken = vec![gives_and_takes(0)()];
        taken.extend(others.into_iter().map(|other| other.join().unwrap()));
        taken.sort_unstable();
        assert_eq!(taken, cells);
        assert_eq!(map.take_by_search(0), None);
    });
}

#[test]
fn loom_threads_that_share_a_word_and_have_a_cell_each_are_not_refused() {
    one_each(3, 1, &[0, 1], &[0, 0]);
}

#[test]
fn loom_threads_that_share_a_home_and_have_a_cell_each_are_not_refused() {
    one_each(3, 2, &[0, 64], &[0, 0]);
}

#[test]
fn loom_threads_that_have_a_home_and_a_cell_each_are_not_refused() {
    one_each(3, 2, &[0, 64], &[0, 1]);
}

#[test]
fn loom_threads_that_share_a_home_and_have_a_cell_each_are_not_refused_on_two_levels() {
    one_each(3, 3, &[0, 128], &[0, 0]);
}

#[test]
fn loom_three_threads_that_have_a_cell_each_are_not_refused() {
    one_each(1, 1, &[0, 1, 2], &[0, 0, 0]);
}

/// A thread prepares and then searches, while another one moves the only free cell of the map.
fn search_while_moved(
    map: impl Fn() -> Arc<FreeMap> + Copy + Send + Sync + 'static,
    moves: fn(&FreeMap) -> Option<usize>,
    prepares: fn(&FreeMap),
) {
    model(move |late| {
        let map = map();
        let other = map.clone();
        let mover = thread::spawn(move || moves(&other));
        start(late);
        prepares(&map);
        let mine = map.take_by_search(0);
        assert!(mine.is_some(), "no cell, but there was always one");
        let theirs = mover.join().unwrap();
        assert!(theirs != mine);
    });
}

/// From the first word to the second one.
fn moves_to_the_second_word(map: &FreeMap) -> Option<usize> {
    map.give_in(64);
    map.take_in(0)
}

#[test]
fn loom_a_thread_finds_the_cell_that_another_moves_from_a_hidden_word() {
    let hidden = || {
        let map = map(2, &[1, 0]);
        stop_closing(&map, 1, 0, true);
        map
    };
    search_while_moved(hidden, moves_to_the_second_word, |_| ());
}

#[test]
fn loom_a_thread_finds_the_cell_that_another_moves_from_the_word_that_it_closes() {
    let closes = |map: &FreeMap| assert!(map.close(0));
    search_while_moved(|| map(2, &[1, 0]), moves_to_the_second_word, closes);
}

/// While no closing can be noted.
#[test]
fn loom_a_thread_finds_the_cell_that_another_moves_to_a_spare() {
    let full = || {
        let map = map(1, &[1]);
        stop_closing(&map, 0, 0, false);
        map
    };
    let moves = |map: &FreeMap| {
        assert!(map.home_at(0).spare.put(1));
        map.take_in(0)
    };
    search_while_moved(full, moves, |_| ());
}

/// From a word to a spare and back, as several threads can: the spare is empty before and
/// afterwards.
#[test]
fn loom_a_thread_finds_the_cell_that_others_move_to_a_spare_and_back() {
    for hides in [false, true] {
        model(move |late| {
            let map = map(1, &[1]);
            stop_closing(&map, 0, 0, hides);
            let other = map.clone();
            let movers = thread::spawn(move || {
                assert!(other.home_at(0).spare.put(1));
                if let Some(index) = other.take_in(0) {
                    other.give_in(index);
                    let _ = other.home_at(0).spare.take();
                }
            });
            start(late);
            let mine = map.take_by_search(0);
            assert!(mine.is_some(), "no cell, but there was always one");
            movers.join().unwrap();
        });
    }
}

/// Two closings are noted: one hides the word from which the cell is moved, the other then hides
/// the word to which it was moved.
#[test]
fn loom_a_thread_finds_the_cell_that_another_moves_between_words_that_are_being_closed() {
    bounded(1, || {
        let map = map(2, &[0, 1]);
        stop_closing(&map, 1, 1, true);
        assert!(map.home_at(0).note.begin(0));
        let other = map.clone();
        let closer = thread::spawn(move || {
            other.close_noted(0);
            other.home_at(0).note.end();
        });
        let other = map.clone();
        let mover = thread::spawn(move || {
            other.give_in(0);
            other.take_and_stop(1);
        });
        let mine = map.take_by_search(0);
        assert!(mine.is_some(), "no cell, but there was always one");
        closer.join().unwrap();
        mover.join().unwrap();
    });
}

/// To and fro between two words, by threads that have not seen that these are hidden.
#[test]
fn loom_a_search_finds_a_word_while_others_move_the_cell_between_hidden_words() {
    bounded(0, || {
        let map = map(2, &[0, 1]);
        for word in [0, 1] {
            map.list_from(0, word);
            stop_closing(&map, word, word, false);
        }
        let other = map.clone();
        let search = thread::spawn(move || {
            // The next step of the closings; the search has seen it.
            for word in [0, 1] {
                other
                    .summary(0, 0)
                    .fetch_and(!bit_of(word), Ordering::Release);
            }
            // Only the look: the search may come too late, and cannot note a third closing.
            let found = other.find(&other.notes(Ordering::Acquire), 0);
            assert!(found.is_some(), "no word, but there was always a cell");
        });
        for (to, from) in [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1)] {
            map.give_in(to << BITS);
            map.take_and_stop(from);
        }
        search.join().unwrap();
    });
}
