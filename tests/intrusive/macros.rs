//! Every form of `slab_adapter!`.

use flatslab::intrusive::{PoolBoxOps, SlotBoxOps};
use flatslab::pool::{Pool, PoolBox};
use flatslab::{BoundedSlab, Slab, slab_adapter};
use intrusive_collections::{
    KeyAdapter, LinkedList, LinkedListAtomicLink, LinkedListLink, PointerOps, RBTree, RBTreeLink,
};

pub(crate) struct Plain {
    number: u64,
    link: LinkedListLink,
    tree: RBTreeLink,
}

fn plain(number: u64) -> Plain {
    Plain {
        number,
        link: LinkedListLink::new(),
        tree: RBTreeLink::new(),
    }
}

slab_adapter!(Static = &'static BoundedSlab<Plain>: Plain { link => LinkedListLink });
slab_adapter!(pub(crate) StaticTree = &'static Slab<Plain>: Plain { tree => RBTreeLink });
slab_adapter!(pub(crate) InPool = PoolBox<'static, Plain>: Plain { tree => RBTreeLink });

impl KeyAdapter<'_> for StaticTree {
    type Key = u64;

    fn get_key(&self, value: &Plain) -> u64 {
        value.number
    }
}

impl<'a> KeyAdapter<'a> for InPool {
    type Key = &'a u64;

    fn get_key(&self, value: &'a Plain) -> &'a u64 {
        &value.number
    }
}

/// A struct with slabs that are never dropped, and their collections.
struct Engine {
    slab: &'static BoundedSlab<Plain>,
    list: LinkedList<Static>,
    tree: RBTree<StaticTree>,
    pool: &'static Pool<'static, Plain>,
    pooled: RBTree<InPool>,
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_struct_has_leaked_slabs_and_their_collections() {
    let (slab, trees) = (BoundedSlab::leak(4), &*Box::leak(Box::new(Slab::new())));
    let mut engine = Engine {
        slab,
        list: LinkedList::new(Static::new(slab)),
        tree: RBTree::new(StaticTree::new(trees)),
        pool: Pool::leak(4),
        pooled: RBTree::default(),
    };
    let boxed = engine.slab.insert(plain(1)).ok().unwrap().into_box();
    engine.list.push_back(boxed);
    engine.tree.insert(trees.insert(plain(2)).into_box());
    engine.pooled.insert(engine.pool.alloc(plain(3)));
    assert_eq!(engine.pooled.find(&3).get().unwrap().number, 3);
    assert_eq!(engine.tree.find(&2).get().unwrap().number, 2);
    assert_eq!(engine.list.pop_back().unwrap().number, 1);
    assert!(slab.is_empty());
    drop(engine.tree);
    assert!(trees.is_empty());
}

/// Values of no size other than the link's, and with more alignment than their stamp.
#[repr(align(64))]
pub(crate) struct Aligned<T> {
    value: T,
    links: (u8, (u8, LinkedListLink)),
}

slab_adapter! {
    /// Generic, with a bound; the link is a field of a tuple of a tuple.
    #[must_use]
    pub(crate) Lines<'s, T> = &'s Slab<Aligned<T>>: Aligned<T> { links.1.1 => LinkedListLink }
    where
        T: Copy + 's
}

#[test]
fn generics_bounds_attributes_and_nested_fields_are_taken() {
    let text = String::from("text");
    let slab = Slab::new();
    let mut list = LinkedList::new(Lines::new(&slab));
    for value in [text.as_str(), "more"] {
        let links = (0, (0, LinkedListLink::new()));
        list.push_back(slab.insert(Aligned { value, links }).into_box());
    }
    assert_eq!(list.front().get().unwrap().value, "text");
    assert_eq!(list.pop_back().unwrap().value, "more");
    assert_eq!(slab.len(), 1);
}

/// Only a link: smaller than 17 bytes, so that the value is before its stamp.
struct Bare {
    link: LinkedListLink,
}

slab_adapter!(Bares<'s> = &'s BoundedSlab<Bare>: Bare { link => LinkedListLink });
slab_adapter!(PooledBares<'p> = PoolBox<'p, Bare>: Bare { link => LinkedListLink });

#[test]
fn a_value_that_is_only_a_link() {
    let bare = || Bare {
        link: LinkedListLink::new(),
    };
    let (slab, pool) = (BoundedSlab::with_capacity(3), Pool::with_capacity(3));
    let mut list = LinkedList::new(Bares::new(&slab));
    let mut pooled = LinkedList::new(PooledBares::NEW);
    for _ in 0..3 {
        list.push_back(slab.insert(bare()).ok().unwrap().into_box());
        pooled.push_front(pool.alloc(bare()));
    }
    drop(list.cursor_mut().remove());
    drop((list.pop_front(), pooled.pop_back()));
    assert_eq!((slab.len(), pool.len()), (2, 2));
    drop((list, pooled));
    assert_eq!((slab.len(), pool.len()), (0, 0));
}

/// A value that may be shared with other threads.
struct Shared {
    number: u64,
    link: LinkedListAtomicLink,
}

slab_adapter!(Shareds<'p> = PoolBox<'p, Shared>: Shared { link => LinkedListAtomicLink });

#[test]
fn another_thread_reads_a_list_of_values_that_may_be_shared() {
    let pool = Pool::with_capacity(3);
    let mut list = LinkedList::new(Shareds::default());
    for number in 0..3 {
        let link = LinkedListAtomicLink::new();
        list.push_back(pool.alloc(Shared { number, link }));
    }
    let list = &list;
    let sum = std::thread::scope(|scope| {
        let sum = scope.spawn(|| list.iter().map(|value| value.number).sum::<u64>());
        sum.join().unwrap()
    });
    assert_eq!(sum, 3);
}

/// The operations themselves, on values that no collection could have.
#[test]
fn values_of_no_size_are_found_by_their_addresses() {
    let (slab, pool) = (Slab::new(), Pool::with_capacity(2));
    let (slots, cells) = (SlotBoxOps::new(&slab), PoolBoxOps::default());
    for _ in 0..2 {
        let pointers = [(); 2].map(|()| slots.into_raw(slab.insert(()).into_box()));
        assert_ne!(pointers[0].addr(), pointers[1].addr());
        // SAFETY: straight from `into_raw`, each used once.
        drop(pointers.map(|pointer| unsafe { slots.from_raw(pointer) }));
        let pointers = [(); 2].map(|()| cells.into_raw(pool.alloc(())));
        // SAFETY: straight from `into_raw`, each used once.
        drop(pointers.map(|pointer| unsafe { cells.from_raw(pointer) }));
        assert_eq!((slab.len(), pool.len()), (0, 0));
    }
    assert!(format!("{slots:?} {cells:?}").contains("PoolBoxOps"));
}
