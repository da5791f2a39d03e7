//! Values that are kept and used again. What panics, and what is forgotten, is in the
//! files of these names.

use std::cell::Cell;

use flatslab::AllocError;
use flatslab::pool::{Pool, RecycledBox, RecyclingPool};

use crate::common::{Counted, Drops};

fn pools<T>(capacity: usize) -> [RecyclingPool<T>; 2] {
    let builder = Pool::builder().capacity(capacity).recycle();
    [builder.clone().build(), builder.lazy().build()]
}

#[test]
fn values_are_handed_out_again_last_in_first_out() {
    for pool in pools::<Counted>(40) {
        let (drops, made) = (Drops::new(), Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            drops.value(made.get())
        };
        let mut boxes: Vec<_> = (0..40).map(|_| pool.alloc_or_reuse(make, |_| {})).collect();
        assert!(boxes.iter().map(|boxed| boxed.number).eq(1..=40));
        assert!(
            pool.try_alloc_or_reuse(|| unreachable!(), |_| unreachable!())
                .is_err()
        );
        boxes.swap(3, 30);
        let order: Vec<_> = boxes
            .iter()
            .map(|b| (b.number, (&raw const **b).addr()))
            .collect();
        // Dropped from the first to the last.
        drop(boxes);
        assert_eq!((pool.len(), pool.idle(), drops.count()), (0, 40, 0));
        let again: Vec<_> = (0..40)
            .map(|_| {
                let reset = |value: &mut Counted| value.number += 100;
                pool.alloc_or_reuse(|| unreachable!(), reset)
            })
            .collect();
        let found = again
            .iter()
            .map(|b| (b.number - 100, (&raw const **b).addr()));
        assert!(found.eq(order.into_iter().rev()));
        assert_eq!((made.get(), drops.count()), (40, 0));
        drop(again);
        drop(pool);
        assert_eq!(drops.count(), 40, "with the pool, once each");
    }
}

#[test]
fn a_value_that_is_moved_out_is_not_kept() {
    for pool in pools(2) {
        let drops = Drops::new();
        let boxed = pool.alloc_or_reuse(|| drops.value(1), |_| unreachable!());
        let value = RecycledBox::into_inner(boxed);
        assert_eq!((pool.len(), pool.idle(), drops.count()), (0, 0, 0));
        let boxed = pool.alloc_or_reuse(|| drops.value(2), |_| unreachable!());
        assert_eq!((boxed.number, value.number), (2, 1));
        drop((boxed, value));
        assert_eq!((pool.idle(), drops.count()), (1, 1));
    }
}

#[test]
fn cleared_values_are_dropped_and_boxes_get_new_ones() {
    for mut pool in pools(3) {
        let drops = Drops::new();
        for round in 1..4 {
            let make = || pool.try_alloc_or_reuse(|| drops.value(7), |_| unreachable!());
            let all: Vec<_> = (0..3).map(|_| make().unwrap()).collect();
            assert!(make().is_err());
            drop(all);
            pool.clear();
            assert_eq!((pool.len(), pool.idle(), drops.count()), (0, 0, 3 * round));
        }
        pool.clear();
        assert_eq!(drops.count(), 9);
    }
}

#[test]
fn a_recycling_pool_of_no_cells_is_full() {
    for mut pool in pools::<u64>(0) {
        let error = pool.try_alloc_or_reuse(|| unreachable!(), |_| unreachable!());
        assert_eq!(error.unwrap_err(), AllocError::Full { capacity: 0 });
        assert_eq!((pool.len(), pool.idle(), pool.is_empty()), (0, 0, true));
        pool.clear();
    }
}

#[test]
fn values_without_a_size_are_kept_and_counted() {
    for pool in pools::<()>(70) {
        let made = Cell::new(0);
        for _ in 0..2 {
            let make = || made.set(made.get() + 1);
            let all: Vec<_> = (0..70)
                .map(|_| pool.try_alloc_or_reuse(make, |()| {}))
                .collect();
            assert!(all.iter().all(Result::is_ok) && pool.len() == 70);
        }
        assert_eq!((made.get(), pool.idle()), (70, 70));
    }
}
