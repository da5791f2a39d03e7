//! `ci/loom.sh`: every way two threads can meet in a map.

use loom::cell::UnsafeCell;
use loom::sync::Arc;

use super::*;
use crate::raw::atomic::thread;

/// Two words of which the second has one cell, 64; all are taken, and both are listed.
fn taken() -> Arc<FreeMap> {
    let map = FreeMap::try_new(65, &Source::GLOBAL).unwrap();
    map.take_word(0);
    map.take_word(1);
    Arc::new(map)
}

#[test]
fn loom_what_a_thread_does_with_a_cell_happens_before_another_takes_it() {
    loom::model(|| {
        let map = Arc::new(FreeMap::try_new(1, &Source::GLOBAL).unwrap());
        let witness = Arc::new(UnsafeCell::new(0));
        let uses = {
            let (map, witness) = (map.clone(), witness.clone());
            move || {
                let Some(index) = map.take() else { return };
                // SAFETY: the cell is this thread's; loom checks it.
                witness.with_mut(|it| unsafe { *it += 1 });
                // SAFETY: taken.
                unsafe { map.give(index) };
            }
        };
        let other = thread::spawn(uses.clone());
        uses();
        other.join().unwrap();
        assert_eq!(map.take(), Some(0), "the cell is lost");
    });
}

#[test]
fn loom_closing_a_word_and_giving_into_it_leave_it_listed() {
    loom::model(|| {
        let map = taken();
        let other = map.clone();
        // SAFETY: taken.
        let giver = thread::spawn(move || unsafe { other.give(64) });
        map.close(1);
        giver.join().unwrap();
        map.set_hint(0, 0);
        assert_eq!(map.take(), Some(64), "the cell is lost");
    });
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_closes_its_word() {
    loom::model(|| {
        let map = taken();
        let other = map.clone();
        let closer = thread::spawn(move || other.close(1));
        // SAFETY: taken.
        unsafe { map.give(64) };
        map.set_hint(0, 0);
        assert_eq!(map.take(), Some(64), "no cell, but there is one");
        closer.join().unwrap();
    });
}

#[test]
fn loom_a_thread_finds_what_it_gave_while_another_lists_its_word() {
    loom::model(|| {
        let map = Arc::new(FreeMap::try_new(66, &Source::GLOBAL).unwrap());
        map.take_word(0);
        map.take_word(1);
        map.close(1);
        let other = map.clone();
        // SAFETY: taken.
        let giver = thread::spawn(move || unsafe { other.give(65) });
        // SAFETY: taken.
        unsafe { map.give(64) };
        map.set_hint(0, 0);
        assert!(map.take().is_some(), "no cell, but there are two");
        giver.join().unwrap();
    });
}

#[test]
fn loom_two_threads_take_different_cells() {
    loom::model(|| {
        let map = Arc::new(FreeMap::try_new(2, &Source::GLOBAL).unwrap());
        let other = map.clone();
        let taker = thread::spawn(move || other.take());
        let mine = map.take();
        let theirs = taker.join().unwrap();
        assert!(mine.is_some() && theirs.is_some() && mine != theirs);
        assert_eq!(map.take(), None);
    });
}
