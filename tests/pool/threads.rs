//! What may go to other threads: a pool with all its values, references to values.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use flatslab::pool::{Pool, PoolBox};

use crate::kinds::{assert_all_usable_but, with_each_pool};

#[test]
fn a_pool_moves_to_another_thread_with_what_was_leaked_in_it() {
    with_each_pool!(4, |pool: u64| {
        let first = PoolBox::into_raw(pool.alloc(7)).addr();
        drop(pool.try_alloc(8));
        let mut pool = thread::scope(|scope| {
            let there = scope.spawn(move || {
                assert_eq!(pool.len(), 1);
                let boxed = pool.alloc(9);
                assert!((&raw const *boxed).addr() != first);
                drop(boxed);
                assert_all_usable_but(&pool, 1);
                pool
            });
            there.join().unwrap()
        });
        assert_all_usable_but(&pool, 1);
        pool.reset();
        assert_all_usable_but(&pool, 0);
    });
}

#[test]
fn a_recycling_pool_moves_to_another_thread_with_the_values_it_keeps() {
    let pool = Pool::builder().capacity(2).recycle().build();
    let first = pool.alloc_or_reuse(|| vec![7], |_| {});
    drop(first);
    let kept = thread::spawn(move || {
        let boxed = pool.alloc_or_reuse(|| unreachable!(), |value| value.push(8));
        (boxed.as_slice() == [7, 8], pool.len(), pool.idle())
    });
    assert_eq!(kept.join().unwrap(), (true, 1, 0));
}

#[test]
fn other_threads_read_and_write_values_through_references_to_their_boxes() {
    with_each_pool!(3, |pool: AtomicU64| {
        let boxes: Vec<_> = (0..3).map(|n| pool.alloc(AtomicU64::new(n))).collect();
        thread::scope(|scope| {
            for _ in 0..2 {
                // `&PoolBox`, and so `&T`.
                let boxes = &boxes;
                scope.spawn(move || {
                    for boxed in boxes {
                        boxed.fetch_add(10, Relaxed);
                    }
                });
            }
            // The pool itself is used here.
            assert!(pool.try_alloc(AtomicU64::new(3)).is_err());
        });
        assert!(
            boxes
                .iter()
                .zip(0..)
                .all(|(b, n)| b.load(Relaxed) == n + 20)
        );
        drop(boxes);
        // A `&mut` to a value, while the pool is in use.
        let mut boxed = pool.alloc(AtomicU64::new(1));
        let value: &mut AtomicU64 = &mut boxed;
        thread::scope(|scope| {
            scope.spawn(move || *value.get_mut() += 1);
            drop(pool.try_alloc(AtomicU64::new(3)));
        });
        assert_eq!(boxed.load(Relaxed), 2);
        drop(boxed);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}
