//! Sorted maps against `BTreeMap`s: in their own nodes, in shared, bounded and logged ones; and
//! comparisons that panic or lie.

use std::collections::BTreeMap;
use std::ops::Bound;

use flatslab::collections::{Entry, Inner, Leaf, NodeStore, Nodes, SortedMap, SortedSlab, Tree};
use flatslab::key_slab::CheckpointSlab;
use flatslab::{BoundedKeySlab, Key, KeySlab};

use crate::fragile::{Fragile, LEFT, LIES};
use crate::random::{one_in, random, seed};
use crate::{message_of, steps};

fn bound(of: u64) -> Bound<u64> {
    match random(3) {
        0 => Bound::Included(of),
        1 => Bound::Excluded(of),
        _ => Bound::Unbounded,
    }
}

/// Whether a `BTreeMap` takes this range.
fn is_range(start: Bound<u64>, end: Bound<u64>) -> bool {
    match (start, end) {
        (Bound::Excluded(start), Bound::Excluded(end)) => start < end,
        (
            Bound::Included(start) | Bound::Excluded(start),
            Bound::Included(end) | Bound::Excluded(end),
        ) => start <= end,
        _ => true,
    }
}

/// Random operations on three trees in the same nodes, each of which does what a `BTreeMap` does.
fn trees_are_like_maps<N: NodeStore<u64, u64>>(nodes: &mut N, keys: u64, most: usize) {
    let mut trees = [Tree::new(); 3];
    let mut models: [BTreeMap<u64, u64>; 3] = Default::default();
    let (mut grows, mut ascends) = (true, 0);
    for step in 0..steps() {
        if step % (3 * keys) == 0 {
            grows = !grows;
        }
        let total: usize = models.iter().map(BTreeMap::len).sum();
        let at = random(3) as usize;
        let (tree, model) = (&mut trees[at], &mut models[at]);
        let key = match random(4) {
            0 => {
                ascends = (ascends + 1) % keys;
                ascends
            }
            _ => random(keys),
        };
        match random(24) {
            0..8 if grows && total < most => {
                assert_eq!(tree.insert(nodes, key, step), model.insert(key, step));
            }
            0..8 => assert_eq!(tree.remove(nodes, &key), model.remove(&key)),
            8 => assert_eq!(tree.pop_first(nodes), model.pop_first()),
            9 => assert_eq!(tree.pop_last(nodes), model.pop_last()),
            10 if total < most => {
                let value = *tree
                    .entry(nodes, key)
                    .and_modify(|it| *it += 1)
                    .or_insert(step);
                let expected = model.entry(key).and_modify(|it| *it += 1).or_insert(step);
                assert_eq!(value, *expected);
            }
            11 => {
                if let Entry::Occupied(entry) = tree.entry(nodes, key) {
                    assert_eq!(Some(entry.remove()), model.remove(&key));
                } else {
                    assert!(!model.contains_key(&key));
                }
            }
            12 => {
                if let Some(value) = tree.get_mut(nodes, &key) {
                    *value += 1;
                    *model.get_mut(&key).unwrap() += 1;
                } else {
                    assert!(!model.contains_key(&key));
                }
            }
            13..16 => {
                let (start, end) = (bound(key), bound(random(keys)));
                let mut range = tree.range(nodes, (start, end));
                if !is_range(start, end) {
                    assert_eq!(range.next(), None);
                    assert_eq!(range.next_back(), None);
                    continue;
                }
                let mut expected = model.range((start, end));
                // From both ends, in any order.
                loop {
                    let (next, other) = match random(2) {
                        0 => (range.next(), expected.next()),
                        _ => (range.next_back(), expected.next_back()),
                    };
                    assert_eq!(next, other);
                    if next.is_none() {
                        break;
                    }
                }
                assert_eq!((range.next(), range.next_back()), (None, None));
            }
            16 => {
                let (start, end) = (bound(key), bound(random(keys)));
                tree.for_each_mut(nodes, (start, end), |_, value| *value += 1);
                if is_range(start, end) {
                    model
                        .range_mut((start, end))
                        .for_each(|(_, value)| *value += 1);
                }
            }
            17 | 18 => {
                let start = bound(key);
                let mut cursor = tree.lower_bound(nodes, start.as_ref());
                let next = |model: &BTreeMap<u64, u64>, start| {
                    model
                        .range((start, Bound::Unbounded))
                        .next()
                        .map(|it| *it.0)
                };
                let mut expected = next(model, start);
                for _ in 0..random(20) {
                    assert_eq!(cursor.key(), expected);
                    if random(2) == 0 {
                        let removed = cursor.remove();
                        let value = expected.and_then(|key| model.remove(&key));
                        assert_eq!(removed, expected.zip(value));
                    } else {
                        cursor.move_next();
                    }
                    let from = expected.map_or(Bound::Unbounded, Bound::Excluded);
                    let Some(_) = expected else { break };
                    expected = next(model, from);
                }
            }
            19 => {
                let end = bound(key);
                let mut cursor = tree.upper_bound(nodes, end.as_ref());
                let mut range = model.range_mut((Bound::Unbounded, end));
                for _ in 0..random(40) {
                    assert_eq!(cursor.current(), range.next_back());
                    if cursor.key().is_none() {
                        break;
                    }
                    cursor.move_previous();
                }
            }
            20 if one_in(200) => {
                tree.retain(nodes, |key, value| (key + *value) % 3 == 0);
                model.retain(|key, value| (key + *value) % 3 == 0);
            }
            21 if one_in(400) && 2 * total < most => {
                let mut split = tree.split_off(nodes, &key).unwrap();
                let expected = model.split_off(&key);
                assert!(split.iter(nodes).eq(&expected));
                tree.check_order(nodes);
                let other = (at + 1) % 3;
                trees[other].append(nodes, &mut split).unwrap();
                models[other].extend(expected);
                assert!(split.is_empty());
            }
            22 if one_in(1000) => {
                tree.clear(nodes);
                model.clear();
            }
            _ => {
                assert_eq!(tree.get(nodes, &key), model.get(&key));
                assert_eq!(tree.contains(nodes, &key), model.contains_key(&key));
                assert_eq!(tree.first(nodes), model.first_key_value());
                assert_eq!(tree.last(nodes), model.last_key_value());
            }
        }
        if step % 64 == 0 {
            for (tree, model) in trees.iter().zip(&models) {
                tree.check_order(nodes);
                assert_eq!(tree.len(), model.len());
                assert!(tree.iter(nodes).eq(model));
                assert!(tree.iter(nodes).rev().eq(model.iter().rev()));
            }
        }
    }
    trees.iter_mut().for_each(|tree| tree.clear(nodes));
}

/// What can be seen of a tree's order from outside.
trait CheckOrder {
    fn check_order<N: NodeStore<u64, u64>>(&self, nodes: &N);
}

impl CheckOrder for Tree<u64, u64> {
    fn check_order<N: NodeStore<u64, u64>>(&self, nodes: &N) {
        assert!(self.iter(nodes).is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(self.iter(nodes).count(), self.len());
        for (key, value) in self.iter(nodes) {
            assert_eq!(self.get(nodes, key), Some(value));
        }
    }
}

#[test]
fn trees_in_common_nodes_are_like_maps() {
    seed(1);
    for keys in [10, 100, 3000] {
        let mut nodes = Nodes::new();
        trees_are_like_maps(&mut nodes, keys, usize::MAX);
        assert!(nodes.leaves().is_empty() && nodes.inners().is_empty());
    }
}

#[test]
fn trees_in_bounded_nodes_are_like_maps() {
    seed(2);
    // Room for the worst case: a third of the leaves full of one entry.
    let leaves = BoundedKeySlab::with_capacity(1000);
    let mut nodes = Nodes::from_stores(leaves, BoundedKeySlab::with_capacity(200));
    trees_are_like_maps(&mut nodes, 600, 900);
    assert!(nodes.leaves().is_empty() && nodes.inners().is_empty());
}

#[test]
fn trees_in_nodes_with_checkpoints_are_like_maps() {
    seed(3);
    let leaves = CheckpointSlab::<Leaf<u64, u64>>::new();
    let mut nodes = Nodes::from_stores(leaves, CheckpointSlab::<Inner<u64>>::new());
    let (leaves, inners) = nodes.stores_mut();
    let checkpoints = (leaves.checkpoint(), inners.checkpoint());
    trees_are_like_maps(&mut nodes, 400, usize::MAX);
    let (leaves, inners) = nodes.stores_mut();
    leaves.rewind(checkpoints.0);
    inners.rewind(checkpoints.1);
    assert!(leaves.is_empty() && inners.is_empty());
}

#[test]
fn a_map_is_filled_and_emptied_in_every_order() {
    let count = crate::amount::amount(20_000, 300);
    for order in 0..4_u64 {
        let mut map = SortedMap::new();
        let key = |i: u64| match order {
            0 => i,
            1 => count - i,
            2 => i * 7919 % 20_011,
            _ => (i % 2) * count + i,
        };
        for i in 0..count {
            assert_eq!(map.insert(key(i), i), None);
        }
        assert_eq!(map.len() as u64, count);
        assert!(map.iter().is_sorted_by(|a, b| a.0 < b.0));
        for i in 0..count {
            assert_eq!(map.get(&key(i)), Some(&i));
            assert_eq!(map.insert(key(i), i + 1), Some(i));
        }
        match order {
            0 => (0..count).for_each(|i| assert_eq!(map.pop_first(), Some((i, i + 1)))),
            1 => (0..count).for_each(|i| assert_eq!(map.pop_last(), Some((count - i, i + 1)))),
            _ => (0..count).for_each(|i| assert_eq!(map.remove(&key(i)), Some(i + 1))),
        }
        assert!(map.is_empty() && map.nodes().leaves().is_empty());
        assert!(map.nodes().inners().is_empty());
    }
}

#[test]
fn leaves_filled_in_ascending_order_are_full() {
    let map: SortedMap<u64, u64> = (0..1500).map(|key| (key, key)).collect();
    assert_eq!(map.nodes().leaves().len(), 100);
    let clone = map.clone();
    assert_eq!(clone, map);
    assert_eq!(format!("{:?}", clone.range(..2)), "Range { .. }");
}

#[test]
fn a_refused_node_changes_nothing() {
    seed(4);
    // With every number of leaves and of inner nodes.
    for leaves in 1..crate::amount::amount(40, 12) {
        for inners in 0..crate::amount::amount(6, 2) {
            let mut nodes = Nodes::from_stores(
                BoundedKeySlab::with_capacity(leaves),
                BoundedKeySlab::with_capacity(inners),
            );
            let mut tree = Tree::new();
            let mut model = BTreeMap::new();
            for _ in 0..700 {
                let (key, value) = (random(100_000), random(1000));
                let used = (nodes.leaves().len(), nodes.inners().len());
                match tree.try_insert(&mut nodes, key, value) {
                    Ok(old) => assert_eq!(old, model.insert(key, value)),
                    Err(error) => {
                        assert_eq!(error.into_inner(), value);
                        assert_eq!((nodes.leaves().len(), nodes.inners().len()), used);
                        assert!(!tree.contains(&nodes, &key));
                        break;
                    }
                }
            }
            tree.check_order(&nodes);
            assert!(tree.iter(&nodes).eq(&model));
            let before = tree.len();
            if tree.split_off(&mut nodes, &0).is_err() {
                assert_eq!((tree.len(), tree.iter(&nodes).count()), (before, before));
            }
        }
    }
}

#[test]
fn a_tree_in_the_nodes_of_another_one_is_refused() {
    let (mut one, mut two) = (Nodes::new(), Nodes::new());
    let (mut a, mut b, mut c) = (Tree::new(), Tree::new(), Tree::new());
    for key in 0..100_u64 {
        a.insert(&mut one, key, 0);
        // The same keys of nodes in `two` are of another tree.
        b.insert(&mut two, 1000 + key, 1);
        c.insert(&mut two, 2000 + key, 2);
    }
    // The first tree of both has the same number: answers are wrong, and nothing else changes.
    let expected: Vec<_> = c.iter(&two).map(|(key, value)| (*key, *value)).collect();
    for key in [5, 50, 1005, 2050] {
        message_of(|| c.clone().remove(&mut one, &key));
        message_of(|| c.clone().insert(&mut one, key, 9));
        message_of(|| c.clone().pop_first(&mut one));
        message_of(|| c.iter(&one).count());
    }
    let message = message_of(|| c.get(&one, &2000).copied()).unwrap();
    assert!(message.contains("used with other nodes"), "{message}");
    let message = message_of(|| c.first(&one).is_some()).unwrap();
    assert!(message.contains("used with other nodes"), "{message}");
    assert!(
        a.iter(&one).eq((0..100)
            .map(|key| (key, 0))
            .collect::<BTreeMap<_, _>>()
            .iter())
    );
    assert!(c.iter(&two).eq(expected.iter().map(|it| (&it.0, &it.1))));

    // An old copy: it may change its own tree for the worse, and no other one.
    let copy = b;
    for _ in 0..90 {
        b.pop_first(&mut two);
    }
    message_of(|| copy.clone().pop_last(&mut two));
    message_of(|| copy.clone().insert(&mut two, 1, 1));
    message_of(|| copy.iter(&two).count());
    assert!(c.iter(&two).eq(expected.iter().map(|it| (&it.0, &it.1))));
    let number = c.number().unwrap();
    let nodes = two.leaves().len() + two.inners().len();
    let freed = two.free_tree(number);
    assert!(freed > 7 && two.leaves().len() + two.inners().len() == nodes - freed);
    assert!(message_of(|| c.get(&two, &2000).copied()).is_some());
}

#[test]
fn old_copies_of_a_tree_end_and_change_no_other_tree() {
    for round in 0..crate::amount::amount(400, 4) {
        seed(round + 1);
        let mut nodes = Nodes::new();
        let (mut tree, mut honest) = (Tree::new(), Tree::new());
        for key in 0..40 {
            honest.insert(&mut nodes, key, key);
        }
        let mut copies = vec![tree];
        for _ in 0..crate::amount::amount(200, 60) {
            let mut copy = copies[random(copies.len() as u64) as usize];
            let used = match random(3) {
                0 => &mut copy,
                _ => &mut tree,
            };
            let key = random(100);
            // So many in a row that leaves come and go between the copies.
            for step in 0..random(20) {
                let message = message_of(|| match key % 10 {
                    0..4 => {
                        let _ = used.insert(&mut nodes, key + step, key);
                    }
                    4 => {
                        let _ = used.remove(&mut nodes, &(key + step));
                    }
                    5 => {
                        let _ = used.pop_first(&mut nodes);
                    }
                    6 => {
                        let _ = used.pop_last(&mut nodes);
                    }
                    7 => {
                        let _ = used.iter(&nodes).count();
                    }
                    8 => {
                        let _ = used.iter(&nodes).rev().count();
                    }
                    _ => used.for_each_mut(&mut nodes, .., |_, _| {}),
                });
                if let Some(message) = message {
                    assert!(message.contains("used with other nodes"), "{message}");
                }
            }
            copies.push(tree);
        }
        assert!(honest.iter(&nodes).map(|it| *it.0).eq(0..40));
    }
}

#[test]
fn a_comparison_that_panics_changes_nothing() {
    seed(5);
    let mut map = SortedMap::new();
    let mut model = BTreeMap::new();
    for step in 0..steps() / 10 {
        let key = random(500);
        LEFT.set(random(60));
        let operation = random(6);
        let message = message_of(|| match operation {
            0..3 => map.insert(Fragile(key), step),
            3 => map.remove(&Fragile(key)),
            4 => Some(*map.entry(Fragile(key)).or_insert(step)),
            _ => map
                .lower_bound(Bound::Included(&Fragile(key)))
                .remove()
                .map(|it| it.1),
        });
        LEFT.set(u64::MAX);
        match (&message, operation) {
            (Some(message), _) => assert!(message.contains("a comparison")),
            (None, 0..3) => {
                let _ = model.insert(key, step);
            }
            (None, 3) => {
                let _ = model.remove(&key);
            }
            (None, 4) => {
                model.entry(key).or_insert(step);
            }
            (None, _) => {
                let first = model.range(key..).next().map(|it| *it.0);
                first.and_then(|first| model.remove(&first));
            }
        }
        assert_eq!(map.len(), model.len());
        if step % 16 == 0 {
            assert!(
                map.iter()
                    .map(|(key, value)| (key.0, *value))
                    .eq(model.clone())
            );
        }
    }
}

#[test]
fn comparisons_that_lie_end_and_lose_no_other_tree() {
    seed(6);
    let mut nodes = Nodes::new();
    let (mut liar, mut honest) = (Tree::new(), Tree::new());
    for key in 0..200 {
        honest.insert(&mut nodes, Fragile(key), key);
    }
    for step in 0..steps() / 10 {
        LIES.set(true);
        let key = Fragile(random(300));
        message_of(|| match random(8) {
            0..4 => {
                let _ = liar.insert(&mut nodes, key, step);
            }
            4 => {
                let _ = liar.remove(&mut nodes, &key);
            }
            5 => {
                let _ = liar.pop_first(&mut nodes);
            }
            6 => {
                let _ = liar.range(&nodes, key..).count();
            }
            _ => {
                let _ = liar.upper_bound(&mut nodes, Bound::Excluded(&key)).remove();
            }
        });
        LIES.set(false);
        assert!(liar.iter(&nodes).count() <= 15 * nodes.leaves().len());
    }
    assert!(honest.iter(&nodes).map(|it| it.0.0).eq(0..200));
    assert!((0..200).all(|key| honest.get(&nodes, &Fragile(key)) == Some(&key)));
}

#[test]
fn a_sorted_slab_is_like_a_map_whose_values_have_keys() {
    seed(7);
    let mut slab = SortedSlab::<u64, String>::new();
    let mut model: BTreeMap<u64, (String, Key)> = BTreeMap::new();
    for step in 0..steps() / 4 {
        let (sort_key, text) = (random(200), step.to_string());
        match random(10) {
            0..3 => {
                let old = slab.insert(sort_key, text.clone());
                assert_eq!(old, model.get(&sort_key).map(|it| it.0.clone()));
                let key = slab.key_of(&sort_key).unwrap();
                // A value that is replaced keeps its slot.
                assert!(model.get(&sort_key).is_none_or(|it| it.1 == key));
                model.insert(sort_key, (text, key));
            }
            3 => {
                let mut given = None;
                let key = slab.key_or_insert_with(sort_key, |key| {
                    given = Some(key);
                    text.clone()
                });
                let there = model.entry(sort_key).or_insert((text, key));
                assert!(there.1 == key && given.is_none_or(|given| given == key));
            }
            4 => assert_eq!(
                slab.remove(&sort_key),
                model.remove(&sort_key).map(|it| it.0)
            ),
            5 => {
                if let Some((text, key)) = model.remove(&sort_key) {
                    assert_eq!(slab[key], text);
                    assert_eq!(slab.remove_by_key(key), Some((sort_key, text)));
                    assert_eq!(slab.remove_by_key(key), None);
                }
            }
            6 => assert_eq!(slab.pop_first(), model.pop_first().map(|it| (it.0, it.1.0))),
            7 => assert_eq!(slab.pop_last(), model.pop_last().map(|it| (it.0, it.1.0))),
            8 if one_in(100) => {
                slab.retain(|sort_key, key, text| {
                    assert_eq!(model[sort_key], (text.clone(), key));
                    sort_key % 2 == 0
                });
                model.retain(|sort_key, _| sort_key % 2 == 0);
            }
            _ => {
                let there = model.get(&sort_key);
                assert_eq!(slab.get(&sort_key), there.map(|it| &it.0));
                assert_eq!(
                    slab.first(),
                    model.first_key_value().map(|it| (*it.0, it.1.1))
                );
                assert_eq!(
                    slab.last(),
                    model.last_key_value().map(|it| (*it.0, it.1.1))
                );
            }
        }
        if step % 64 == 0 {
            slab.for_each_mut(100.., |_, _, text| text.push('x'));
            model.range_mut(100..).for_each(|(_, it)| it.0.push('x'));
            assert!(slab.iter().eq(model.iter().map(|it| (it.0, &it.1.0))));
            assert!(slab.keys(..).eq(model.iter().map(|it| (it.0, &it.1.1))));
            let back = slab.range(50..150).rev();
            assert!(back.eq(model.range(50..150).rev().map(|it| (it.0, &it.1.0))));
            assert_eq!(slab.len(), model.len());
        }
    }
    slab.clear();
    assert!(slab.is_empty() && slab.first().is_none());
}

#[test]
fn a_comparison_that_panics_leaves_a_tree_whole_that_is_split() {
    let mut nodes = Nodes::new();
    let mut tree = Tree::new();
    for key in 0..200 {
        tree.insert(&mut nodes, Fragile(key), key);
    }
    let used = (nodes.leaves().len(), nodes.inners().len());
    for left in 0..100 {
        LEFT.set(left);
        let split = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tree.split_off(&mut nodes, &Fragile(50)).unwrap()
        }));
        LEFT.set(u64::MAX);
        let Ok(mut split) = split else {
            assert_eq!((nodes.leaves().len(), nodes.inners().len()), used);
            assert!(tree.iter(&nodes).map(|it| *it.1).eq(0..200));
            continue;
        };
        assert!(left > 2);
        assert!(tree.iter(&nodes).map(|it| *it.1).eq(0..50));
        assert!(split.iter(&nodes).map(|it| *it.1).eq(50..200));
        split.clear(&mut nodes);
        return;
    }
    unreachable!("a split compares a few times only");
}

#[test]
fn a_destructor_that_panics_leaves_the_other_values_in_order() {
    struct Bomb(u64);

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(self.0 != 3, "a bomb");
        }
    }

    let mut slab = SortedSlab::<u64, Bomb>::new();
    for number in [5, 3, 1, 4, 2] {
        slab.insert(number, Bomb(number));
    }
    assert_eq!(message_of(|| slab.clear()).as_deref(), Some("a bomb"));
    assert!(slab.iter().map(|(_, bomb)| bomb.0).eq([4, 5]));
    assert_eq!(slab.len(), 2);
    slab.insert(3, Bomb(3));
    assert!(message_of(|| slab.retain(|sort_key, _, _| *sort_key > 4)).is_some());
    assert!(slab.iter().map(|(_, bomb)| bomb.0).eq([4, 5]));
}

#[test]
fn trees_of_nodes_that_are_put_together_again_have_other_numbers() {
    let (mut leaves, mut inners) = (KeySlab::new(), KeySlab::new());
    let (mut one, mut two) = (Tree::new(), Tree::new());
    one.insert(&mut Nodes::from_stores(&mut leaves, &mut inners), 1, 1);
    two.insert(&mut Nodes::from_stores(&mut leaves, &mut inners), 2, 2);
    assert_ne!(one.number(), two.number());
    let mut nodes = Nodes::from_stores(leaves, inners);
    assert_eq!(nodes.free_tree(two.number().unwrap()), 1);
    assert_eq!(one.get(&nodes, &1), Some(&1));
}

#[test]
fn a_call_that_panics_inserts_nothing() {
    let mut slab = SortedSlab::<u64, u64>::new();
    assert!(message_of(|| slab.key_or_insert_with(1, |_| panic!("no value"))).is_some());
    assert!(slab.is_empty() && slab.key_of(&1).is_none());
    let mut map = SortedMap::<u64, u64>::new();
    assert!(message_of(|| *map.entry(1).or_insert_with(|| panic!("no value"))).is_some());
    assert!(map.is_empty() && map.get(&1).is_none());
}

#[cfg(feature = "serde")]
#[test]
fn a_map_is_saved_as_a_map() {
    let map: SortedMap<u64, u64> = (0..100).map(|key| (key * 3, key)).collect();
    let as_std: BTreeMap<u64, u64> = map.iter().map(|it| (*it.0, *it.1)).collect();
    let bytes = postcard::to_allocvec(&map).unwrap();
    assert_eq!(bytes, postcard::to_allocvec(&as_std).unwrap());
    assert_eq!(
        postcard::from_bytes::<SortedMap<u64, u64>>(&bytes).unwrap(),
        map
    );
}

#[test]
fn common_traits_are_there() {
    fn is<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    is::<SortedMap<u64, u64>>();
    is::<SortedSlab<u64, String>>();
    is::<Nodes<u64, u64>>();
    is::<Tree<u64, KeySlab<u64>>>();
    is::<flatslab::collections::Heap<u64>>();
    is::<flatslab::collections::KeyIndex<str>>();
    is::<flatslab::collections::List>();
}
