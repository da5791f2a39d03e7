//! User code that panics: nothing is lost, nothing dropped twice, and the cell is free.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flatslab::pool::{Pool, PoolBox, PoolMemory, RecycledBox, RecyclingPool};

use crate::common::{Counted, Drops, Hooked, panics};
use crate::kinds::{assert_all_usable_but, with_each_pool};

const CELLS: usize = 3;

#[test]
fn a_closure_that_panics_frees_its_cell() {
    with_each_pool!(CELLS, |pool: Counted| {
        let drops = Drops::new();
        let first = pool.alloc(drops.value(1));
        let free = pool.alloc_uninit();
        let place = free.as_ptr().addr();
        drop(free);
        for _ in 0..5 {
            assert!(panics(|| pool.try_alloc_with(|| panic!("on purpose"))));
            assert_eq!((pool.len(), drops.count()), (1, 0));
        }
        // It has made its value before it panics.
        assert!(panics(|| pool.try_alloc_with(|| {
            let _value = drops.value(2);
            panic!("on purpose");
        })));
        assert_eq!((pool.len(), drops.count()), (1, 1));
        let second = pool.alloc(drops.value(3));
        assert_eq!((&raw const *second).addr(), place, "last in, first out");
        drop((first, second));
        assert_eq!(drops.count(), 3);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

/// What a panic of `f` says.
fn message<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| drop(f()))).unwrap_err();
    *payload.downcast::<String>().expect("a formatted message")
}

#[test]
fn a_full_pool_panics_and_says_how_many_cells_it_has() {
    const FULL: &str = "pool is full (capacity 3)";
    with_each_pool!(CELLS, |pool: Counted| {
        let drops = Drops::new();
        let boxes: Vec<_> = (0..3)
            .map(|number| pool.alloc(drops.value(number)))
            .collect();
        assert_eq!(message(|| pool.alloc(drops.value(4))), FULL);
        assert_eq!(drops.count(), 1, "the value that found no cell is dropped");
        assert_eq!(message(|| pool.alloc_with(|| unreachable!())), FULL);
        assert_eq!(message(|| pool.alloc_uninit()), FULL);
        assert_eq!(pool.len(), 3);
        drop(boxes);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
    for builder in [Pool::builder(), Pool::builder().lazy()] {
        let pool = builder.capacity(CELLS).recycle().build();
        let boxes: Vec<_> = (0..3).map(|n| pool.alloc_or_reuse(|| n, |_| {})).collect();
        let full = || pool.alloc_or_reuse(|| unreachable!(), |_| unreachable!());
        assert_eq!(message(full), FULL);
        drop(boxes);
        assert_eq!(*pool.alloc_or_reuse(|| unreachable!(), |_| {}), 2);
    }
}

/// The closure takes and keeps cells, then panics.
#[test]
fn a_closure_that_used_the_pool_and_panics_frees_its_own_cell_alone() {
    with_each_pool!(CELLS, |pool: Counted| {
        let drops = Drops::new();
        let mut kept = Vec::new();
        assert!(panics(|| pool.try_alloc_with(|| {
            kept.push(pool.alloc(drops.value(1)));
            kept.push(pool.alloc(drops.value(2)));
            assert!(pool.is_full());
            drop(kept.swap_remove(0));
            panic!("on purpose");
        })));
        assert_eq!((kept[0].number, drops.count()), (2, 1));
        assert_all_usable_but(&pool, 1);
        drop(kept);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

#[test]
fn a_destructor_that_panics_frees_its_cell() {
    type End<M> = fn(PoolBox<'_, Hooked, M>);
    fn ends<M: PoolMemory>() -> [End<M>; 4] {
        [
            |boxed| drop(boxed),
            |boxed| drop(PoolBox::into_inner(boxed)),
            |boxed| {
                // The value is dropped after its box has become a vacant one.
                let (value, vacant) = PoolBox::take(boxed);
                drop(value);
                drop(vacant);
            },
            |mut boxed| *boxed = Hooked::plain(),
        ]
    }
    fn run<M: PoolMemory>(pool: &Pool<'_, Hooked, M>) {
        for end in ends::<M>() {
            let ran = Rc::new(Cell::new(0));
            let seen = ran.clone();
            let boxed = pool.alloc(Hooked::new(move || {
                seen.set(seen.get() + 1);
                panic!("on purpose");
            }));
            let other = pool.alloc(Hooked::plain());
            assert!(panics(|| end(boxed)));
            assert_eq!(ran.get(), 1);
            assert_all_usable_but(pool, 1);
            drop(other);
            assert_all_usable_but(pool, 0);
        }
    }
    with_each_pool!(CELLS, |pool: Hooked| {
        run(&pool);
        pool.reset();
    });
}

/// A panic unwinds through a frame that owns boxes.
#[test]
fn boxes_that_are_unwound_free_their_cells() {
    with_each_pool!(CELLS, |pool: Counted| {
        let drops = Drops::new();
        assert!(panics(|| {
            let _first = pool.alloc(drops.value(1));
            let _vacant = pool.alloc_uninit();
            let _second = pool.alloc(drops.value(2));
            panic!("on purpose");
        }));
        assert_eq!(drops.count(), 2);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

fn recycling(capacity: usize) -> [RecyclingPool<Hooked>; 2] {
    let builder = Pool::builder().capacity(capacity).recycle();
    [builder.clone().build(), builder.lazy().build()]
}

/// That many boxes can be had, of new values; they are taken out of the pool then.
#[track_caller]
fn assert_new(pool: &RecyclingPool<Hooked>, count: usize) {
    let make = || pool.try_alloc_or_reuse(Hooked::plain, |_| panic!("a value is left"));
    let boxes: Vec<_> = (0..count).map(|_| make().unwrap()).collect();
    assert!(make().is_err());
    boxes
        .into_iter()
        .for_each(|boxed| drop(RecycledBox::into_inner(boxed)));
}

#[test]
fn a_closure_of_a_recycling_pool_that_panics_loses_no_cell() {
    for pool in recycling(2) {
        let drops = Drops::new();
        assert!(panics(
            || pool.try_alloc_or_reuse(|| panic!("init"), |_| unreachable!())
        ));
        assert_eq!((pool.len(), pool.idle()), (0, 0));
        assert_new(&pool, 2);

        // Of two values that are kept, the one that `reset` panics over is dropped.
        let other = Drops::new();
        let one = pool.try_alloc_or_reuse(|| other.hooked(), |_| unreachable!());
        let two = pool.try_alloc_or_reuse(|| drops.hooked(), |_| unreachable!());
        drop((one, two));
        assert_eq!(pool.idle(), 2);
        let two = pool.alloc_or_reuse(|| unreachable!(), |_| {});
        let one = pool.alloc_or_reuse(|| unreachable!(), |_| {});
        drop(one);
        drop(two);
        assert!(panics(|| pool.try_alloc_or_reuse(
            || unreachable!(),
            |value| {
                assert!(value.is_armed());
                panic!("reset");
            }
        )));
        assert_eq!((pool.len(), pool.idle()), (0, 1));
        assert_eq!(drops.count() + other.count(), 1);
        drop(RecycledBox::into_inner(
            pool.alloc_or_reuse(|| unreachable!(), |_| {}),
        ));
        assert_eq!((drops.count(), other.count()), (1, 1));
        assert_new(&pool, 2);
    }
}

#[test]
fn values_that_are_kept_are_all_dropped_where_one_panics() {
    // The one that panics is dropped first, between others, last.
    for bomb in 0..3 {
        for by_drop in [false, true] {
            for mut pool in recycling(4) {
                let drops = Drops::new();
                let mut boxes = Vec::new();
                for number in 0..3 {
                    let value = drops.clone();
                    boxes.push(pool.try_alloc_or_reuse(
                        || {
                            Hooked::new(move || {
                                drop(value.hooked());
                                assert_ne!(number, bomb, "on purpose");
                            })
                        },
                        |_| unreachable!(),
                    ));
                }
                drop(boxes);
                assert_eq!((pool.idle(), drops.count()), (3, 0));
                if by_drop {
                    assert!(panics(|| drop(pool)));
                    assert_eq!(drops.count(), 3);
                } else {
                    assert!(panics(|| pool.clear()));
                    assert_eq!((drops.count(), pool.idle(), pool.len()), (3, 0, 0));
                    assert_new(&pool, 4);
                }
            }
        }
    }
}
