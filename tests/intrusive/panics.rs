//! User code that panics: destructors of values, and comparisons of keys.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flatslab::{Slab, slab_adapter};
use intrusive_collections::{KeyAdapter, RBTree, RBTreeLink};

use crate::common::{Drops, Hooked, panics};
use crate::homes::{hooked, in_each_home, item};

in_each_home! {
    fn a_destructor_that_panics_frees_its_slot_and_the_rest_is_forgotten() {
        let (home, drops) = (home(), Drops::new());
        let mut list = list(&home);
        let mut pointers = Vec::new();
        for number in 0..4 {
            let hook = Hooked::new(move || assert_ne!(number, 1, "on purpose"));
            list.push_back(insert(&home, hooked(number, &drops, hook)));
            pointers.push(list.back().get_ptr().unwrap());
        }
        assert!(panics(|| list.clear()));
        assert!(list.is_empty());
        assert_eq!((drops.count(), home.len()), (2, 2));
        drop(list);
        for pointer in &pointers[2..] {
            // SAFETY: the list has forgotten it, and had the pointer from `into_raw`.
            drop(unsafe { home.box_from_raw(pointer.as_ptr()) });
        }
        assert_eq!((drops.count(), home.len()), (4, 0));
    }

    fn a_destructor_may_use_the_slab_and_other_lists() {
        let (home, drops) = (Rc::new(home()), Drops::new());
        let numbers = Rc::new(RefCell::new(Vec::new()));
        let mut outer = list(&home);
        for number in 0..3 {
            let (weak, drops_of_it) = (Rc::downgrade(&home), drops.clone());
            let seen = numbers.clone();
            let hook = Hooked::new(move || {
                let home = weak.upgrade().unwrap();
                let mut inner = list(&home);
                inner.push_back(insert(&home, item(10 + number, &drops_of_it)));
                seen.borrow_mut().push((number, home.len()));
            });
            outer.push_back(insert(&home, hooked(number, &drops, hook)));
        }
        drop(outer);
        assert_eq!(*numbers.borrow(), [(0, 4), (1, 3), (2, 2)]);
        assert_eq!((drops.count(), home.len()), (6, 0));
    }
}

/// A key whose comparison panics when it is told to.
#[derive(PartialEq, Eq, PartialOrd)]
struct Touchy(u64);

thread_local! {
    static FAIL: Cell<bool> = const { Cell::new(false) };
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
