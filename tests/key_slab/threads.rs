//! A slab goes from thread to thread, and is read by several at once.

use std::thread;

use flatslab::key_slab::{Iter, IterMut};
use flatslab::{BoundedKeySlab, GenKey, KeySlab};

const VALUES: u64 = if cfg!(miri) { 50 } else { 10_000 };

#[test]
fn a_book_built_on_one_thread_is_run_on_another() {
    let mut book: KeySlab<String, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..VALUES)
        .map(|number| book.insert(number.to_string()))
        .collect();
    let (book, keys) = thread::spawn(move || {
        for key in keys.iter().step_by(2) {
            book.remove(*key);
        }
        book.insert("another thread's".to_string());
        (book, keys)
    })
    .join()
    .unwrap();
    assert_eq!(book.len() as u64, VALUES / 2 + 1);
    assert!(!book.contains(keys[0]));
    assert_eq!(book[keys[1]], "1");
}

#[test]
fn several_threads_read_one_slab() {
    let mut slab = BoundedKeySlab::with_capacity(VALUES as usize);
    for number in 0..VALUES {
        slab.insert(number).unwrap();
    }
    let sum = |values: Iter<'_, u64>| values.map(|(_, value)| *value).sum::<u64>();
    let sums = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| sum(slab.iter()))).collect();
        let iter = slab.iter();
        let moved = scope.spawn(move || sum(iter));
        let mut sums: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        sums.push(moved.join().unwrap());
        sums
    });
    assert_eq!(sums, [VALUES * (VALUES - 1) / 2; 4]);
}

#[test]
fn one_thread_changes_what_another_iterates() {
    let mut slab = KeySlab::new();
    let key = slab.insert(1);
    let iter: IterMut<'_, i32> = slab.iter_mut();
    thread::scope(|scope| {
        scope.spawn(move || iter.for_each(|(_, value)| *value += 1));
    });
    assert_eq!(slab[key], 2);
}

/// Compiles only where a longer-lived value serves as a shorter-lived one.
#[test]
fn a_slab_and_its_iterators_are_covariant() {
    fn shorter<'a>(slab: KeySlab<&'static str>, _: &'a str) -> KeySlab<&'a str> {
        slab
    }
    fn iterate<'a>(iter: Iter<'a, &'static str>) -> Iter<'a, &'a str> {
        iter
    }
    let mut slab = KeySlab::new();
    let key = slab.insert("static");
    assert_eq!(iterate(slab.iter()).count(), 1);
    let local = String::from("local");
    let mut slab = shorter(slab, &local);
    let other = slab.insert(&local);
    assert_eq!((slab[key], slab[other]), ("static", "local"));
}
