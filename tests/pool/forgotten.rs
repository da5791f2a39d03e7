//! Boxes and pools that are forgotten: they keep their cells and nothing else. All tests
//! here may leak on purpose, which `ci/asan.sh` knows by the name of the module.

use std::mem::{ManuallyDrop, forget};

use flatslab::pool::{Pool, PoolBox, PoolStorage, RecycledBox};

use crate::common::{Counted, Drops};
use crate::kinds::{assert_all_usable_but, with_each_pool};

#[test]
#[cfg_attr(miri, ignore = "the values that are forgotten leak their counters")]
fn what_was_forgotten_is_not_dropped_and_its_cells_are_free_after_a_reset() {
    with_each_pool!(6, |pool: Counted| {
        for _ in 0..2 {
            let drops = Drops::new();
            forget(pool.try_alloc(drops.value(1)));
            forget(pool.try_alloc_uninit());
            PoolBox::leak(pool.alloc(drops.value(2))).number = 3;
            let _ = PoolBox::into_raw(pool.alloc(drops.value(4)));
            let (value, vacant) = PoolBox::take(pool.alloc(drops.value(5)));
            forget(vacant);
            let last = pool.alloc(drops.value(6));
            assert!(pool.is_full() && pool.try_alloc_uninit().is_err());
            drop((value, last));
            assert_eq!(drops.count(), 2);
            assert_all_usable_but(&pool, 5);
            pool.reset();
            assert_all_usable_but(&pool, 0);
            assert_eq!(drops.count(), 2);
        }
        forget(pool.try_alloc(Drops::new().value(7)));
    });
}

/// The same with values that own no memory, for the interpreter.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn forgotten_cells_are_free_after_a_reset_in_their_first_order() {
    with_each_pool!(20, |pool: [u64; 8]| {
        let place = |boxed: &[u64; 8]| (&raw const *boxed).addr();
        let mut first = Vec::new();
        for round in 0..4 {
            let mut places = Vec::new();
            let mut boxes: Vec<_> = (0..20).map(|n| pool.alloc([n; 8])).collect();
            places.extend(boxes.iter().map(|boxed| place(boxed)));
            if round == 0 {
                first.clone_from(&places);
            }
            assert_eq!(places, first, "the order of a new pool");
            // Some are freed before, in another order.
            boxes.swap(0, 19);
            boxes.truncate(20 - 5 * round);
            boxes.reverse();
            let left = boxes.len();
            boxes.into_iter().for_each(forget);
            assert_all_usable_but(&pool, left);
            pool.reset();
            assert_eq!((pool.len(), pool.capacity()), (0, 20));
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn boxes_of_a_forgotten_pool_leave_nothing_but_its_memory() {
    let drops = Drops::new();
    let pool = Pool::with_capacity(2);
    drop(pool.try_alloc(drops.value(1)));
    forget(pool);
    let mut storage = PoolStorage::<Counted, 2>::new();
    for _ in 0..3 {
        let pool = Pool::in_storage(&mut storage);
        drop(pool.try_alloc(drops.value(1)));
        forget(pool.try_alloc(drops.value(2)));
        let _ = ManuallyDrop::new(pool);
        assert_all_usable_but(&Pool::in_storage(&mut storage), 0);
    }
    assert_eq!(drops.count(), 4);
}

#[test]
#[cfg_attr(miri, ignore = "the values that are forgotten leak their counters")]
fn a_forgotten_box_of_a_recycling_pool_keeps_its_cell() {
    let drops = Drops::new();
    let mut pool = Pool::builder().capacity(3).recycle().build();
    let make = || drops.value(1);
    forget(pool.try_alloc_or_reuse(make, |_| {}));
    drop(pool.try_alloc_or_reuse(make, |_| {}));
    assert_eq!((pool.len(), pool.idle()), (1, 1));
    for _ in 0..2 {
        let boxes: Vec<RecycledBox<'_, Counted>> =
            std::iter::from_fn(|| pool.try_alloc_or_reuse(make, |_| {}).ok()).collect();
        assert_eq!((boxes.len(), pool.len()), (2, 3));
        drop(boxes);
        pool.clear();
        assert_eq!((pool.len(), pool.idle()), (1, 0));
    }
    assert_eq!(drops.count(), 4);
    forget(pool.try_alloc_or_reuse(make, |_| {}));
    drop(pool);
    assert_eq!(drops.count(), 4, "none of the forgotten");
}
