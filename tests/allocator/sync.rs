//! Shared slabs and pools where the n-th request fails.

use flatslab::sync::{SharedPool, SharedSlab};

use crate::failing::each_failure;
use crate::{allocations, without_leak, without_memory};

#[test]
fn construction_that_fails_leaks_nothing() {
    // The cells, the map of the free ones, and that of those given back.
    let failures = each_failure(|| SharedSlab::<u64>::try_with_capacity(1000));
    assert_eq!(failures, 3);
    let failures = each_failure(|| SharedSlab::<u64>::builder().capacity(1).try_build());
    assert_eq!(failures, 3);
}

#[test]
fn a_slab_that_is_made_allocates_nothing() {
    without_leak(|| {
        let slab = SharedSlab::with_capacity(100);
        let mut keys = [None; 100];
        let uses = || {
            without_memory(|| {
                for round in 0..3 {
                    for key in &mut keys {
                        *key = slab.insert(round).ok();
                    }
                    assert!(slab.insert(round).is_err());
                    for key in keys.into_iter().flatten() {
                        assert_eq!(*slab.get(key).unwrap(), round);
                        assert!(slab.remove(key));
                    }
                }
            });
        };
        assert_eq!(allocations(uses), 0);
        assert!(slab.is_empty());
    });
}

#[test]
fn the_construction_of_a_pool_that_fails_leaks_nothing() {
    // The cells; of more than 256, also the map of the free ones.
    let failures = each_failure(|| SharedPool::try_with_capacity(256, || 0_u64, |_| {}));
    assert_eq!(failures, 1);
    let failures = each_failure(|| {
        SharedPool::builder(|| 0_u64, |_| {})
            .capacity(257)
            .try_build()
    });
    assert_eq!(failures, 2);
}

#[test]
fn a_pool_that_is_made_allocates_nothing() {
    without_leak(|| {
        let pool = SharedPool::with_capacity(300, || 0_u64, |it| *it = 0);
        let mut values = [const { None }; 300];
        let mut uses = || {
            without_memory(|| {
                for round in 1..4 {
                    for value in &mut values {
                        *value = pool.take();
                        **value.as_mut().unwrap() += round;
                    }
                    assert!(pool.take().is_none());
                    for value in &mut values {
                        assert_eq!(*value.take().unwrap(), round);
                    }
                }
            });
        };
        assert_eq!(allocations(&mut uses), 0);
        assert!(pool.is_empty());
    });
}
