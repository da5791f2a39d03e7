//! Pools under an allocator that fails: an error, nothing lost, nothing leaked, and no
//! allocation after construction.

use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use flatslab::pool::{Pool, PoolBox, PoolMemory, RecycledBox};
use flatslab::{AllocError, Builder};

use crate::common::panics;
use crate::failing::each_failure;
use crate::{allocations, with_fuse, without_leak, without_memory};

type Value = (String, [u64; 7]);

fn builders() -> [Builder<Pool<'static, Value>>; 2] {
    let builder = Pool::builder().capacity(100);
    [builder.clone(), builder.lazy()]
}

#[test]
fn construction_of_a_pool_that_fails_leaks_nothing() {
    // The cells with the home before them, and the stack.
    assert_eq!(each_failure(|| Pool::<Value>::try_with_capacity(100)), 2);
    for builder in builders() {
        assert_eq!(each_failure(|| builder.clone().try_build()), 2);
        // And the stack of the values that are kept.
        assert_eq!(each_failure(|| builder.clone().recycle().try_build()), 3);
    }
    // Without cells, there is the home alone.
    assert_eq!(each_failure(|| Pool::<Value>::try_with_capacity(0)), 1);
}

#[test]
fn try_leak_of_a_pool_that_fails_leaks_nothing() {
    static LEAKED: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    for fuse in 0..3 {
        let result = without_leak(|| with_fuse(fuse, || Pool::<u64>::try_leak(8)));
        assert!(matches!(result, Err(AllocError::OutOfMemory { .. })));
    }
    let pool = Pool::<u64>::try_leak(8).unwrap();
    assert_eq!(*pool.alloc(7), 7);
    // A static that refers to it tells leak checkers that it is not lost.
    LEAKED.store(std::ptr::from_ref(pool).cast_mut().cast(), Relaxed);
}

fn operations<M: PoolMemory>(pool: &mut Pool<'_, u64, M>) {
    let boxes: [_; 8] = std::array::from_fn(|n| pool.alloc(n as u64));
    assert!(pool.try_alloc(8).is_err() && pool.try_alloc_with(|| 8).is_err());
    assert!(pool.try_alloc_uninit().is_err() && pool.is_full());
    assert!(boxes.iter().zip(0..).all(|(boxed, n)| **boxed == n));
    drop(boxes);
    pool.prepare(pool.capacity()).unwrap();
    let boxed = pool.alloc_with(|| 7);
    let (value, vacant) = PoolBox::take(boxed);
    let pointer = PoolBox::into_raw(PoolBox::write(vacant, value));
    // SAFETY: straight from `into_raw`, and used once.
    let boxed = unsafe { pool.box_from_raw(pointer) };
    assert_eq!(PoolBox::into_inner(boxed), 7);
    *PoolBox::leak(pool.alloc(7)) += 1;
    pool.reset();
    assert!(pool.is_empty());
}

#[test]
fn no_operation_of_a_pool_allocates() {
    fn run<M: PoolMemory>(mut pool: Pool<'_, u64, M>) {
        let within = || {
            operations(&mut pool);
            operations(&mut pool);
            drop(pool);
        };
        assert_eq!(allocations(|| without_memory(within)), 0);
    }
    let builder = || Pool::<u64>::builder().capacity(8);
    run(builder().build());
    run(builder().lazy().build());
    let mut storage = flatslab::pool::PoolStorage::<u64, 8>::new();
    run(Pool::in_storage(&mut storage));

    for builder in [builder(), builder().lazy()] {
        let mut pool = builder.recycle().build();
        let within = || {
            for _ in 0..2 {
                let make = |n| pool.alloc_or_reuse(|| n as u64, |_| {});
                let boxes: [_; 8] = std::array::from_fn(make);
                assert!(pool.try_alloc_or_reuse(|| 8, |_| {}).is_err());
                drop(boxes);
            }
            // Kept in reverse order twice.
            let boxed = pool.alloc_or_reuse(|| 7, |_| {});
            assert_eq!(RecycledBox::into_inner(boxed), 0);
            pool.clear();
            drop(pool);
        };
        assert_eq!(allocations(|| without_memory(within)), 0);
    }
}

/// What its end and its boxes free is all that it took, whatever panicked in between.
#[test]
fn pools_and_their_values_leak_nothing() {
    for builder in builders() {
        without_leak(|| {
            let value = |number: u64| (number.to_string(), [number; 7]);
            let pool = builder.clone().build();
            let boxes: Vec<_> = (0..90).map(|n| pool.alloc(value(n))).collect();
            let given = panics(|| {
                pool.try_alloc_with(|| {
                    let _value = value(91);
                    std::panic::resume_unwind(Box::new(()))
                })
            });
            assert!(given && boxes[89].0 == "89");
            drop(boxes);
            let pool = builder.clone().recycle().build();
            let make = |n| pool.alloc_or_reuse(|| value(n), |_| {});
            let boxes: Vec<_> = (0..90).map(make).collect();
            drop(boxes);
            assert_eq!(pool.idle(), 90);
        });
    }
}
