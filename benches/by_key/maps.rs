//! Sorted maps: a B+ tree in two slabs beside trees of `std` and of `nexus-collections`.

use std::collections::BTreeMap;

use flatslab::collections::{SortedMap, SortedSlab};
use flatslab_benches::prelude::*;
use nexus_collections::btree::{BTree, BTreeNode};
use nexus_collections::rbtree::{RbNode, RbTree};
use nexus_slab::bounded::Slab as RawSlab;
use rand::Rng;

use crate::{numbers, picks, timed};

pub(super) trait Map {
    const NAME: &str;

    fn empty(capacity: usize) -> Self;
    fn get(&self, key: u64) -> Option<u64>;
    fn insert(&mut self, key: u64, value: u64);
    fn remove(&mut self, key: u64) -> Option<u64>;
    fn pop_first(&mut self) -> Option<(u64, u64)>;
    fn sum(&self) -> u64;
}

pub(super) fn map<M: Map>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let keys = numbers(&mut setting, live + count);
    let (there, others) = keys.split_at(live);
    let picks = picks(&mut setting, count);
    let mut map = M::empty(live + 1);
    let mut rows = Vec::new();
    rows.push(setting.time(live, || {
        for &key in there {
            map.insert(key, key);
        }
    }));
    let mut sum = 0_u64;
    rows.push(setting.time(count, || {
        for &pick in &picks {
            sum = sum.wrapping_add(map.get(there[pick as usize]).expect("it is there"));
        }
    }));
    let expected = picks.iter().map(|pick| there[*pick as usize]);
    assert_eq!(sum, expected.fold(0, u64::wrapping_add));
    let mut found = 0;
    rows.push(setting.time(count, || {
        for &key in others {
            found += usize::from(map.get(key).is_some());
        }
    }));
    assert_eq!(found, 0);
    let mut now = there.to_vec();
    rows.push(setting.time(count, || {
        for (&pick, &key) in picks.iter().zip(others) {
            let old = std::mem::replace(&mut now[pick as usize], key);
            assert!(map.remove(old).is_some());
            map.insert(key, key);
        }
    }));
    rows.push(setting.time(live, || sum = opaque(map.sum())));
    assert_eq!(sum, now.iter().copied().fold(0, u64::wrapping_add));
    // A time that passes: each first one comes again later.
    let span = u64::MAX / 4;
    let steps: Vec<u64> = (0..count)
        .map(|_| setting.random.random_range(1..span))
        .collect();
    let mut queue = M::empty(live + 1);
    for at in 0..live as u64 {
        queue.insert(at * (span / live as u64), 0);
    }
    rows.push(setting.time(count, || {
        for &step in &steps {
            let (key, _) = queue.pop_first().expect("it is not empty");
            // Times wrap, and are reset where that would disturb their order.
            queue.insert(key / 2 + step / 2 + 1, 0);
        }
    }));
    let mut last = 0;
    let mut popped = 0;
    rows.push(setting.time(live, || {
        while let Some((key, _)) = map.pop_first() {
            popped += usize::from(last <= key);
            last = key;
        }
    }));
    assert_eq!(popped, live);
    Turn(rows.into_iter().map(|ticks| vec![ticks].into()).collect())
}

/// The methods of a map of its own.
macro_rules! map_methods {
    () => {
        #[inline(always)]
        fn get(&self, key: u64) -> Option<u64> {
            self.get(&key).copied()
        }

        #[inline(always)]
        fn insert(&mut self, key: u64, value: u64) {
            self.insert(key, value);
        }

        #[inline(always)]
        fn remove(&mut self, key: u64) -> Option<u64> {
            self.remove(&key)
        }

        #[inline(always)]
        fn pop_first(&mut self) -> Option<(u64, u64)> {
            self.pop_first()
        }

        fn sum(&self) -> u64 {
            self.iter().map(|it| *it.1).fold(0, u64::wrapping_add)
        }
    };
}

impl Map for SortedMap<u64, u64> {
    const NAME: &str = "SortedMap";

    fn empty(capacity: usize) -> Self {
        SortedMap::with_capacity(capacity)
    }

    map_methods!();
}

impl Map for SortedSlab<u64, u64> {
    const NAME: &str = "SortedSlab";

    fn empty(capacity: usize) -> Self {
        SortedSlab::with_capacity(capacity)
    }

    map_methods!();
}

impl Map for BTreeMap<u64, u64> {
    const NAME: &str = "BTreeMap";

    fn empty(_: usize) -> Self {
        BTreeMap::new()
    }

    map_methods!();
}

/// A map of `nexus-collections`, with the slab of its nodes.
macro_rules! nexus_map {
    ($name:ident, $tree:ty, $node:ty, $label:expr, $nodes:expr) => {
        pub(super) struct $name {
            tree: $tree,
            slab: RawSlab<$node>,
        }

        impl Map for $name {
            const NAME: &str = $label;

            fn empty(capacity: usize) -> Self {
                // SAFETY: the tree is cleared before the slab is dropped.
                let slab = unsafe { RawSlab::with_capacity($nodes(capacity) + 16) };
                $name {
                    tree: <$tree>::new(),
                    slab,
                }
            }

            #[inline(always)]
            fn get(&self, key: u64) -> Option<u64> {
                self.tree.get(&key).copied()
            }

            #[inline(always)]
            fn insert(&mut self, key: u64, value: u64) {
                let _ = self.tree.try_insert(&self.slab, key, value);
            }

            #[inline(always)]
            fn remove(&mut self, key: u64) -> Option<u64> {
                self.tree.remove(&self.slab, &key)
            }

            #[inline(always)]
            fn pop_first(&mut self) -> Option<(u64, u64)> {
                self.tree.pop_first(&self.slab)
            }

            fn sum(&self) -> u64 {
                self.tree.values().copied().fold(0, u64::wrapping_add)
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.tree.clear(&self.slab);
            }
        }
    };
}

nexus_map!(NexusBTree, BTree<u64, u64, 8>, BTreeNode<u64, u64, 8>, "nexus BTree", |n| n / 2);
nexus_map!(NexusRbTree, RbTree<u64, u64>, RbNode<u64, u64>, "nexus RbTree", |n| n);
