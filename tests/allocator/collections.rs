//! Collections by key whose memory is refused, and what they allocate.

use std::collections::BTreeMap;

use flatslab::collections::{
    AddError, DenseSlab, Heap, Indexed, KeyIndex, Links, List, Lru, Nodes, SortedMap, SortedSlab,
    TimerWheel, Tree,
};
#[cfg(feature = "serde")]
use flatslab::key_slab::Patch;
use flatslab::key_slab::{CheckpointSlab, PatchError};
use flatslab::{BoundedKeySlab, GenKey, Key, linked};

use crate::common::amount;
use crate::failing::each_failure;
use crate::{allocations, with_fuse, without_leak};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Order {
    id: u64,
    links: Links,
}

linked!(impl Linked<Key, Key> for Order { links });

impl Indexed<u64> for Order {
    fn id(&self) -> &u64 {
        &self.id
    }
}

fn order(id: u64) -> Order {
    Order {
        id,
        links: Links::new(),
    }
}

#[test]
fn construction_that_is_refused_leaks_nothing() {
    assert_eq!(each_failure(|| Heap::<u64>::try_with_capacity(100)), 2);
    assert_eq!(each_failure(|| KeyIndex::<u64>::try_with_capacity(100)), 1);
    let builder = SortedMap::<u64, u64>::builder().capacity(100);
    assert_eq!(each_failure(|| builder.clone().try_build()), 2);
    assert_eq!(
        each_failure(|| TimerWheel::<Key>::try_with_capacity(100)),
        3
    );
    assert_eq!(each_failure(|| Lru::<u64, u64>::try_with_capacity(100)), 3);
    let reserved = || {
        let mut slab = SortedSlab::<u64, u64>::new();
        slab.try_reserve(100).map(|()| slab)
    };
    assert_eq!(each_failure(reserved), 3);
}

#[test]
fn a_dense_slab_that_is_refused_memory_returns_the_value() {
    without_leak(|| {
        let mut slab = DenseSlab::<Box<u32>, GenKey>::with_key();
        for number in 0..100 {
            let mut value = Box::new(number);
            for fuse in 0.. {
                let before = slab.len();
                match with_fuse(fuse, || slab.try_insert(value)) {
                    Ok(_) => break,
                    Err(refused) => value = refused.into_inner(),
                }
                assert_eq!((slab.len(), slab.slots().len()), (before, before));
            }
        }
        assert!(slab.values_as_slice().iter().map(|it| **it).eq(0..100));
    });
}

/// The bits, and the memory of new slots.
#[test]
fn a_difference_that_is_refused_memory_changes_nothing() {
    without_leak(|| {
        let mut leader = CheckpointSlab::<u32, GenKey>::with_key();
        let keys: Vec<GenKey> = (0..100).map(|number| leader.insert(number)).collect();
        leader.remove(keys[3]);
        let mut replica = leader.parts().clone();
        let checkpoint = leader.checkpoint();
        (100..400).for_each(|number| assert!(leader.insert(number).index() < 400));
        leader.remove(keys[7]);
        let mut refused = 0;
        for fuse in 0.. {
            let patch = leader.changes_since(checkpoint).unwrap().to_patch();
            let before = replica.clone();
            match with_fuse(fuse, || replica.apply(patch)) {
                Ok(()) => break,
                Err(error) => assert!(matches!(error, PatchError::NoMemory(_)), "{error}"),
            }
            assert_eq!(replica, before);
            refused += 1;
        }
        assert_eq!((refused, &replica), (3, leader.parts()));
        assert_eq!(replica.insert(0), leader.insert(0));
    });
}

/// A number in it claims no memory that its own bytes do not pay for.
#[cfg(feature = "serde")]
#[test]
fn a_difference_of_many_slots_that_it_does_not_name_is_refused_without_memory() {
    let mut leader = CheckpointSlab::<u32>::new();
    let checkpoint = leader.checkpoint();
    leader.insert(7);
    let changes = leader.changes_since(checkpoint).unwrap();
    let mut forged = serde_json::to_value(&changes).unwrap();
    forged[1] = (1 << 29).into();
    let patch: Patch<u32> = serde_json::from_value(forged).unwrap();
    let mut replica = flatslab::KeySlab::<u32>::new();
    let refused = with_fuse(0, || replica.apply(patch));
    let slot = 1 << 29;
    assert_eq!(refused, Err(PatchError::Inconsistent { slot }));
}

#[test]
fn a_heap_that_is_refused_more_memory_is_what_it_was() {
    without_leak(|| {
        let mut heap = Heap::with_capacity(4);
        for raw in 0..4 {
            heap.push(Key::from_raw(raw), raw).unwrap();
        }
        for fuse in 0..2 {
            assert!(with_fuse(fuse, || heap.try_grow(100)).is_err());
            assert!(heap.push(Key::from_raw(4), 4).is_err());
            assert!(heap.is_ordered());
        }
        heap.try_grow(100).unwrap();
        heap.push(Key::from_raw(4), 4).unwrap();
        let popped: Vec<u32> = std::iter::from_fn(|| heap.pop()).map(|it| it.0).collect();
        assert_eq!(popped, [0, 1, 2, 3, 4]);
    });
}

#[test]
fn a_wheel_that_is_refused_more_memory_is_what_it_was() {
    without_leak(|| {
        let mut wheel = TimerWheel::with_capacity(4);
        for raw in 0..4 {
            wheel.start(Key::from_raw(raw), raw.into()).unwrap();
        }
        for fuse in 0..2 {
            assert!(with_fuse(fuse, || wheel.try_grow(100)).is_err());
            assert!(wheel.start(Key::from_raw(4), 4).is_err());
            assert_eq!((wheel.capacity(), wheel.len()), (4, 4));
        }
        wheel.try_grow(100).unwrap();
        wheel.start(Key::from_raw(99), 4).unwrap();
        let popped: Vec<u64> = (0..5).map(|now| wheel.pop_due(now).unwrap().0).collect();
        assert_eq!(popped, [0, 1, 2, 3, 4]);
    });
}

#[test]
fn a_cache_that_is_refused_more_memory_is_what_it_was() {
    without_leak(|| {
        let mut cache = Lru::with_capacity(4);
        for id in 0..4 {
            cache.insert(id, id);
        }
        let mut fuse = 0;
        while with_fuse(fuse, || cache.try_resize(100, |_, _| unreachable!())).is_err() {
            assert_eq!((cache.capacity(), cache.len()), (4, 4));
            assert_eq!(cache.insert(7, 7), Some((0, 0)));
            assert_eq!(cache.remove(&7), Some((7, 7)));
            cache.insert(0, 0);
            for id in 1..4 {
                assert_eq!(cache.get(&id), Some(&id));
            }
            fuse += 1;
        }
        // What was granted is kept, so each attempt needs less.
        assert_eq!(fuse, 2);
        assert!(with_fuse(0, || cache.try_reserve_deadlines()).is_err());
        assert_eq!(cache.next_deadline(), None);
        for id in 4..100 {
            assert_eq!(cache.insert(id, id), None);
        }
        assert!(cache.set_deadline(&99, 5) && cache.len() == 100);
        assert_eq!(cache.pop_expired(5), Some((99, 99)));
    });
}

#[test]
fn a_cache_that_was_not_resized_allocates_nothing_for_deadlines_that_it_had_reserved() {
    let mut fuse = 0;
    loop {
        let mut cache = Lru::with_capacity(4);
        cache.try_reserve_deadlines().unwrap();
        let resized = with_fuse(fuse, || cache.try_resize(100, |_, _| unreachable!()));
        let requests = allocations(|| {
            for id in 0..cache.capacity() as u64 {
                cache.insert(id, id);
                assert!(cache.set_deadline(&id, 100 - id));
            }
        });
        assert_eq!(
            (requests, cache.next_deadline()),
            (0, Some(101 - cache.len() as u64))
        );
        if resized.is_ok() {
            break;
        }
        assert_eq!(cache.capacity(), 4);
        fuse += 1;
    }
    assert_eq!(fuse, 5);
}

#[test]
fn an_index_that_is_refused_memory_goes_on_with_the_table_that_it_has() {
    let count = amount(2000, 60);
    without_leak(|| {
        let mut slab = BoundedKeySlab::with_capacity(count as usize);
        let keys: Vec<Key> = (0..count)
            .map(|id| slab.insert(order(id)).unwrap())
            .collect();
        let mut index = KeyIndex::<u64>::builder().growing().build();
        let mut refusals = 0;
        for (at, key) in keys.iter().enumerate() {
            // Refused as long as the table has room without it.
            match with_fuse(0, || index.add(&slab, *key)) {
                Ok(()) => {}
                Err(AddError::NoMemory(_)) => {
                    refusals += 1;
                    assert_eq!(index.get(&slab, &(at as u64)), None);
                    index.add(&slab, *key).unwrap();
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(index.len(), at + 1);
        }
        assert!(refusals > 1, "{refusals}");
        assert_eq!(index.stale(&slab), 0);
        assert!((0..count).all(|id| index.get(&slab, &id) == Some(keys[id as usize])));
    });
}

#[test]
fn a_tree_that_is_refused_a_node_is_what_it_was() {
    let count = amount(3000, 100);
    without_leak(|| {
        let (mut nodes, mut tree) = (Nodes::new(), Tree::new());
        let mut model = BTreeMap::new();
        let mut refusals = 0;
        for step in 0..count {
            let key = step * 7919 % 10_007;
            let mut fuse = 0;
            while with_fuse(fuse, || tree.try_insert(&mut nodes, key, step)).is_err() {
                assert!(!tree.contains(&nodes, &key));
                assert_eq!(tree.len(), model.len());
                refusals += 1;
                fuse += 1;
            }
            model.insert(key, step);
        }
        assert!(refusals > 2 && tree.iter(&nodes).eq(&model));
    });
}

#[test]
fn nothing_is_allocated_after_construction() {
    let mut orders = BoundedKeySlab::with_capacity(100);
    let mut index = KeyIndex::<u64>::with_capacity(100);
    let mut heap = Heap::with_capacity(100);
    let mut levels = SortedSlab::<u64, u64>::with_capacity(100);
    let mut timeouts = TimerWheel::with_capacity(100);
    let mut cache = Lru::with_capacity(30);
    cache.try_reserve_deadlines().unwrap();
    let mut list = List::new(Key::from_raw(0));
    let requests = allocations(|| {
        for step in 0..amount(20_000, 300) {
            if orders.len() == 50 {
                let oldest = list.first().unwrap();
                assert!(index.forget(&orders, oldest) && heap.remove(oldest).is_some());
                timeouts.stop(oldest);
                list.pop_front(&mut orders).unwrap();
            }
            let key = index.insert(&mut orders, order(step)).unwrap();
            list.link_back(&mut orders, key).unwrap();
            heap.push(key, step * 31 % 64).unwrap();
            levels.insert(step * 31 % 100, step);
            timeouts.start(key, step + step * 31 % 500).unwrap();
            timeouts.pop_due(step);
            cache.insert(step * 31 % 64, step);
            cache.set_deadline(&(step * 31 % 64), step + 20);
            cache.pop_expired(step);
            if step % 3 == 0 {
                levels.pop_first();
            }
            assert_eq!(list.iter(&orders).count(), orders.len());
        }
    });
    assert_eq!(requests, 0);
}
