//! Collections in slabs with checkpoints: a rewind restores lists and trees with their values.

use flatslab::collections::{Heap, Indexed, KeyIndex, Links, List, Nodes, Tree};
use flatslab::key_slab::{CheckpointSlab, LoggedSlab, SlabGroup};
use flatslab::{Key, KeySlab, linked};

use crate::random::{random, seed};
use crate::steps;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Order {
    id: u64,
    links: Links,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    orders: List,
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

/// A random change of a world of levels and orders.
fn change(levels: &mut LoggedSlab<Level>, orders: &mut LoggedSlab<Order>, id: u64) {
    let keys: Vec<Key> = levels.keys().collect();
    let level = keys.get(random(keys.len() as u64 + 1) as usize).copied();
    match (random(6), level) {
        (0, _) | (_, None) => {
            let entry = levels.try_vacant_entry().unwrap();
            let key = entry.key();
            entry.insert(Level {
                orders: List::new(key),
            });
        }
        (1, Some(level)) => {
            levels[level].orders.clear(orders);
            levels.remove(level);
        }
        (2 | 3, Some(level)) => {
            let list = &mut levels[level].orders;
            list.push_back(orders, order(id)).unwrap();
        }
        (4, Some(level)) => {
            let _ = levels[level].orders.pop_front(orders);
        }
        (_, Some(level)) => {
            if let Some(key) = levels[level].orders.first() {
                levels[level].orders.move_to_back(orders, key).unwrap();
            }
        }
    }
}

#[test]
fn a_group_rewinds_lists_with_their_owners() {
    seed(1);
    let mut group = SlabGroup::from((KeySlab::<Level>::new(), KeySlab::<Order>::new()));
    let mut saved = Vec::new();
    for step in 0..steps() / 20 {
        match random(8) {
            0 => {
                let (levels, orders) = group.parts();
                saved.push((levels.clone(), orders.clone()));
                let checkpoint = group.checkpoint();
                let (levels, orders) = saved.pop().unwrap();
                saved.push((levels, orders));
                if random(2) == 0 {
                    let (levels, orders) = group.parts_mut();
                    for _ in 0..10 {
                        change(levels, orders, step);
                    }
                    group.rewind(checkpoint);
                    let (levels, orders) = group.parts();
                    let (was_levels, was_orders) = saved.last().unwrap();
                    assert!(levels.iter().eq(was_levels.iter()));
                    assert!(orders.iter().eq(was_orders.iter()));
                }
                saved.clear();
            }
            _ => {
                let (levels, orders) = group.parts_mut();
                change(levels, orders, step);
            }
        }
        let (levels, orders) = group.parts();
        let listed: usize = levels.values().map(|level| level.orders.len()).sum();
        assert_eq!(listed, orders.len());
        for level in levels.values() {
            assert_eq!(level.orders.check(orders), Ok(()));
        }
    }
}

#[test]
fn a_tree_is_rewound_with_its_nodes() {
    seed(2);
    let leaves = CheckpointSlab::new();
    let mut nodes = Nodes::from_stores(leaves, CheckpointSlab::new());
    let mut tree = Tree::new();
    for _ in 0..(steps() / 200).max(2) {
        for _ in 0..random(60) {
            tree.insert(&mut nodes, random(2000), random(10));
        }
        let expected: Vec<(u64, u64)> = tree.iter(&nodes).map(|it| (*it.0, *it.1)).collect();
        let (leaves, inners) = nodes.stores_mut();
        let checkpoints = (leaves.checkpoint(), inners.checkpoint());
        let saved = tree;
        for _ in 0..random(300) {
            match random(3) {
                0 => {
                    let _ = tree.insert(&mut nodes, random(2000), 11);
                }
                1 => {
                    let _ = tree.remove(&mut nodes, &random(2000));
                }
                _ => {
                    let _ = tree.pop_first(&mut nodes);
                }
            }
        }
        let (leaves, inners) = nodes.stores_mut();
        leaves.rewind(checkpoints.0);
        inners.rewind(checkpoints.1);
        tree = saved;
        assert!(
            tree.iter(&nodes)
                .eq(expected.iter().map(|it| (&it.0, &it.1)))
        );
        if tree.len() > 1500 {
            tree.clear(&mut nodes);
        }
    }
}

#[test]
fn an_index_and_a_heap_are_built_again_after_a_rewind() {
    let mut orders = CheckpointSlab::<Order>::new();
    let mut index = KeyIndex::<u64>::with_capacity(100);
    let mut heap = Heap::with_capacity(100);
    for id in 0..50 {
        let key = index.insert(&mut orders, order(id)).unwrap();
        heap.push(key, id).unwrap();
    }
    let checkpoint = orders.checkpoint();
    for id in 0..40 {
        let key = index.get(&orders, &id).unwrap();
        heap.remove(key).unwrap();
        index.remove(&mut orders, &id).unwrap();
        index.insert(&mut orders, order(1000 + id)).unwrap();
    }
    orders.rewind(checkpoint);
    assert_eq!(index.rebuild(&orders, orders.keys()), 0);
    heap.clear();
    for (key, order) in &orders {
        heap.push(key, order.id).unwrap();
    }
    assert_eq!((index.len(), index.stale(&orders), heap.len()), (50, 0, 50));
    for id in 0..50 {
        assert_eq!(index.get(&orders, &id).map(|key| orders[key].id), Some(id));
        assert_eq!(heap.pop().map(|it| it.0), Some(id));
    }
}
