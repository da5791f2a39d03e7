//! `XorLinkedList` and `RBTree`, whose links store addresses as integers. Miri's strict provenance
//! forbids that, and so does its model of tree borrows: these tests run with stacked borrows and
//! without that option (`ci/miri.sh`).

use std::cell::Cell;
use std::collections::BTreeMap;

use flatslab::{Slab, slab_adapter};
use intrusive_collections::{Bound, KeyAdapter, RBTree, RBTreeLink};

use crate::common::random::{one_in, random, seed};
use crate::common::{Drops, Hooked, amount, panics};
use crate::homes::{ROOM, bounded, growable, in_each_home, item};

in_each_home! {
    #[cfg_attr(miri, ignore = "links that are integers")]
    fn a_xor_list_returns_boxes() {
        let (home, drops) = (home(), Drops::new());
        let mut xor = xor(&home);
        for number in [2, 3] {
            xor.push_front(insert(&home, item(number, &drops)));
        }
        xor.back_mut().insert_after(insert(&home, item(1, &drops)));
        let numbers: Vec<_> = xor.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [3, 2, 1]);
        let mut cursor = xor.front_mut();
        cursor.move_next();
        assert_eq!(cursor.remove().unwrap().number, 2);
        assert_eq!((drops.count(), home.len()), (1, 2));
        assert_eq!(xor.pop_back().unwrap().number, 1);
        drop(xor);
        assert_eq!((drops.count(), home.len()), (3, 0));
    }

    #[cfg_attr(miri, ignore = "links that are integers")]
    fn a_value_is_removed_from_a_tree_by_the_pointer_that_a_cursor_returned() {
        let (home, drops) = (home(), Drops::new());
        let (mut list, mut tree) = (list(&home), tree(&home));
        let mut pointers = Vec::new();
        for number in 0..4 {
            let boxed = insert(&home, item(number, &drops));
            pointers.push(tree.insert(boxed).as_cursor().get_ptr().unwrap());
        }
        assert_eq!(tree.iter().map(|item| item.number).sum::<u64>(), 6);
        for pointer in &pointers[1..3] {
            // SAFETY: the value is in the tree.
            let removed = unsafe { tree.cursor_mut_from_ptr(pointer.as_ptr()) }.remove();
            list.push_back(removed.unwrap());
        }
        tree.insert(list.pop_front().unwrap());
        assert!(tree.iter().map(|item| item.number).eq([0, 1, 3]));
        drop(tree);
        assert_eq!((drops.count(), home.len()), (3, 1));
    }

    #[cfg_attr(miri, ignore = "links that are integers")]
    fn a_tree_orders_boxes_and_returns_them() {
        let (home, drops) = (home(), Drops::new());
        let mut tree = tree(&home);
        for number in [5, 1, 4, 2, 3, 4] {
            tree.insert(insert(&home, item(number, &drops)));
        }
        let numbers: Vec<_> = tree.iter().map(|item| item.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 4, 5]);
        assert_eq!(tree.find_mut(&4).remove().unwrap().number, 4);
        let next = tree.lower_bound(Bound::Excluded(&4));
        assert_eq!(next.get().unwrap().number, 5);
        assert_eq!(tree.front_mut().remove().unwrap().number, 1);
        assert_eq!((drops.count(), home.len()), (2, 4));
        let new = insert(&home, item(6, &drops));
        let old = tree.back_mut().replace_with(new).ok().unwrap();
        assert_eq!(old.number, 5);
        drop(old);
        let taken = tree.take();
        assert!(tree.is_empty());
        drop(taken);
        assert_eq!((drops.count(), home.len()), (7, 0));
    }

    #[cfg_attr(miri, ignore = "links that are integers")]
    fn trees_agree_with_a_model() {
        for program in 0..amount(200, 3) {
            seed(1000 + program);
            let (home, drops) = (home(), Drops::new());
            let mut tree = tree(&home);
            let mut model = BTreeMap::new();
            let mut inserted = 0;
            for _ in 0..amount(200, 30) {
                let key = random(16);
                match random(6) {
                    0..3 if home.len() < ROOM && !model.contains_key(&key) => {
                        inserted += 1;
                        let boxed = insert(&home, item(key, &drops));
                        boxed.seen.set(inserted);
                        tree.insert(boxed);
                        model.insert(key, inserted);
                    }
                    0..5 => {
                        let removed = tree.find_mut(&key).remove();
                        let seen = removed.map(|boxed| boxed.seen.get());
                        assert_eq!(seen, model.remove(&key));
                    }
                    _ if one_in(8) => {
                        tree.clear();
                        model.clear();
                    }
                    _ => {
                        let removed = tree.back_mut().remove().map(|boxed| boxed.number);
                        assert_eq!(removed, model.pop_last().map(|(key, _)| key));
                    }
                }
                let pairs = tree.iter().map(|item| (item.number, item.seen.get()));
                assert!(pairs.eq(model.iter().map(|(key, seen)| (*key, *seen))));
                assert_eq!(home.len(), model.len());
                assert_eq!(drops.count() + model.len(), inserted as usize);
            }
            drop(tree);
            assert_eq!((home.len(), drops.count()), (0, inserted as usize));
        }
    }
}

macro_rules! refused {
    ($($name:ident in $kind:ident)*) => {
        $(#[test]
        #[cfg_attr(miri, ignore = "links that are integers")]
        fn $name() {
            use $kind::*;
            let (one, two, drops) = (home(), home(), Drops::new());
            let (mut xor, mut tree) = (xor(&one), tree(&one));
            let foreign = || insert(&two, item(7, &drops));
            assert!(panics(|| xor.push_back(foreign())));
            assert!(panics(|| tree.insert(foreign()).is_null()));
            assert!(xor.is_empty() && tree.is_empty());
            tree.insert(insert(&one, item(1, &drops)));
            assert!(panics(|| tree.front_mut().replace_with(foreign()).is_ok()));
            assert!(panics(|| tree.entry(&5).or_insert(foreign()).is_null()));
            // Each of them was dropped, and its slot is free; the value is where it was.
            assert_eq!((drops.count(), two.len(), one.len()), (4, 0, 1));
            assert_eq!(tree.iter().count(), 1);
            drop(tree);
            assert_eq!((drops.count(), one.len()), (5, 0));
        })*
    };
}

refused! {
    a_tree_refuses_a_box_of_another_bounded_slab in bounded
    a_tree_refuses_a_box_of_another_growable_slab in growable
}

/// A key whose comparison panics when it is told to.
#[derive(PartialEq, Eq)]
struct Touchy(u64);

thread_local! {
    static FAIL: Cell<bool> = const { Cell::new(false) };
}

impl PartialOrd for Touchy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Touchy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        assert!(!FAIL.get(), "on purpose");
        self.0.cmp(&other.0)
    }
}

struct Node {
    number: u64,
    link: RBTreeLink,
    _hook: Hooked,
}

slab_adapter!(Nodes<'s> = &'s Slab<Node>: Node { link => RBTreeLink });

impl KeyAdapter<'_> for Nodes<'_> {
    type Key = Touchy;

    fn get_key(&self, node: &Node) -> Touchy {
        Touchy(node.number)
    }
}

#[test]
#[cfg_attr(miri, ignore = "links that are integers")]
fn a_comparison_that_panics_forgets_the_new_value_alone() {
    let (slab, drops) = (Slab::new(), Drops::new());
    let node = |number| {
        let boxed = slab.insert(Node {
            number,
            link: RBTreeLink::new(),
            _hook: drops.hooked(),
        });
        boxed.into_box()
    };
    let mut tree = RBTree::new(Nodes::new(&slab));
    for number in [2, 1, 3] {
        tree.insert(node(number));
    }
    FAIL.set(true);
    assert!(panics(|| tree.find(&Touchy(2)).is_null()));
    assert!(panics(|| tree.find_mut(&Touchy(2)).remove()));
    assert!(panics(|| tree.entry(&Touchy(4)).or_insert(node(4))));
    assert_eq!((slab.len(), drops.count()), (3, 0));
    // The address is kept, so that the test leaks nothing.
    let new = node(5);
    let pointer = flatslab::SlotBox::into_raw(new);
    // SAFETY: straight from `into_raw`, and used once.
    let new = unsafe { slab.box_from_raw(pointer) };
    assert!(panics(|| tree.insert(new).is_null()));
    FAIL.set(false);
    assert_eq!((slab.len(), drops.count()), (4, 0));
    assert_eq!(tree.iter().count(), 3);
    // SAFETY: the tree has forgotten the value.
    drop(unsafe { slab.box_from_raw(pointer) });
    tree.insert(node(6));
    assert_eq!(tree.iter().map(|node| node.number).sum::<u64>(), 12);
    drop(tree);
    assert_eq!((slab.len(), drops.count()), (0, 5));
}
