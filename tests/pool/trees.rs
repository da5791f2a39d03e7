//! Values that own boxes of their own pool.

use std::cell::Cell;
use std::mem::forget;

use flatslab::pool::{Heap, InStorage, Pool, PoolBox, PoolMemory, PoolStorage, StorageBox};

use crate::kinds::assert_all_usable_but;

/// A node that counts its drop.
struct Node<'p, 'c, M: PoolMemory> {
    number: u64,
    children: [Option<PoolBox<'p, Node<'p, 'c, M>, M>>; 2],
    drops: &'c Cell<usize>,
}

impl<M: PoolMemory> Drop for Node<'_, '_, M> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
    }
}

type Boxed<'p, 'c, M> = PoolBox<'p, Node<'p, 'c, M>, M>;

/// A binary tree of so many levels.
fn tree<'p, 'c, M: PoolMemory>(
    pool: &'p Pool<'_, Node<'p, 'c, M>, M>,
    levels: u32,
    drops: &'c Cell<usize>,
) -> Option<Boxed<'p, 'c, M>> {
    if levels == 0 {
        return None;
    }
    let boxed = pool.try_alloc_with(|| Node {
        number: levels.into(),
        children: [tree(pool, levels - 1, drops), tree(pool, levels - 1, drops)],
        drops,
    });
    Some(boxed.expect("a cell is free"))
}

fn sum<M: PoolMemory>(node: &Node<'_, '_, M>) -> u64 {
    let children = node.children.iter().flatten();
    node.number + children.map(|child| sum(child)).sum::<u64>()
}

const LEVELS: u32 = 4;
const NODES: usize = (1 << LEVELS) - 1;
/// 4 + 2 * 3 + 4 * 2 + 8 * 1.
const SUM: u64 = 26;

/// Builds, prunes and drops trees. The nodes borrow the pool as long as it lives.
fn grow<'p, 'c, M: PoolMemory>(pool: &'p Pool<'_, Node<'p, 'c, M>, M>, drops: &'c Cell<usize>) {
    for _ in 0..3 {
        drops.set(0);
        let mut root = tree(pool, LEVELS, drops).unwrap();
        assert!(pool.is_full() && sum(&root) == SUM);

        // A subtree in the other's place; the old one is dropped while it is replaced.
        let left = root.children[0].take();
        root.children[1] = left;
        assert_eq!((drops.get(), pool.len()), (NODES / 2, NODES - NODES / 2));
        assert_eq!(sum(&root), 4 + (SUM - 4) / 2);

        // The root goes, a child stays.
        let mut root = PoolBox::into_inner(root);
        let child = root.children[1].take().unwrap();
        drop(root);
        assert_eq!((drops.get(), pool.len()), (NODES / 2 + 1, NODES / 2));
        drop(child);
        assert_eq!(drops.get(), NODES);
        assert_all_usable_but(pool, 0);
    }
}

/// A list as long as the pool, whose drop goes through all of it.
struct Link<'p, M: PoolMemory>(u64, Tail<'p, M>);

type Tail<'p, M> = Option<PoolBox<'p, Link<'p, M>, M>>;

fn chain<'p, M: PoolMemory>(pool: &'p Pool<'_, Link<'p, M>, M>) -> Tail<'p, M> {
    let mut head: Tail<'p, M> = None;
    while !pool.is_full() {
        head = Some(pool.try_alloc(Link(pool.len() as u64, head)).ok().unwrap());
    }
    head
}

fn chains<'p, M: PoolMemory>(pool: &'p Pool<'_, Link<'p, M>, M>) {
    let mut head = chain(pool);
    let mut numbers = Vec::new();
    let mut next = head.as_deref();
    while let Some(link) = next {
        numbers.push(link.0);
        next = link.1.as_deref();
    }
    assert!(numbers.iter().rev().copied().eq(0..pool.capacity() as u64));
    // The third link's tail goes, then the rest.
    let third = head
        .as_mut()
        .and_then(|link| link.1.as_mut())
        .and_then(|link| link.1.as_mut());
    drop(third.unwrap().1.take());
    assert_eq!(pool.len(), 3);
    drop(head);
    assert_all_usable_but(pool, 0);
    // Every link but the first is out of reach then.
    forget(chain(pool));
    assert!(pool.is_full());
}

/// Runs the block with a pool of so many cells of each kind of memory, of which the
/// values' type tells.
macro_rules! with_own_pools {
    ($capacity:expr, $value:ident<$($lifetime:lifetime),*>, |$pool:ident| $body:block) => {{
        {
            let mut $pool = Pool::<$value<$($lifetime,)* Heap>>::with_capacity($capacity);
            $body
        }
        {
            let builder = Pool::<$value<$($lifetime,)* Heap>>::builder().capacity($capacity);
            let mut $pool = builder.lazy().build();
            $body
        }
        {
            type Storage<T> = PoolStorage<T, { $capacity }>;
            let mut storage = Storage::<$value<$($lifetime,)* InStorage>>::new();
            let mut $pool = Pool::in_storage(&mut storage);
            $body
        }
    }};
}

/// The pool is covariant in its values: nodes that borrow it shorter than it lives do not
/// keep it from being reset.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn trees_own_their_children_and_their_pool_is_reset_when_they_are_gone() {
    let drops = Cell::new(0);
    with_own_pools!(NODES, Node<'_, '_>, |pool| {
        grow(&pool, &drops);
        pool.reset();
        grow(&pool, &drops);
        forget(tree(&pool, LEVELS, &drops));
        assert_eq!((pool.len(), drops.get()), (NODES, NODES));
        pool.reset();
        grow(&pool, &drops);
    });
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_list_through_the_whole_pool_is_dropped_with_its_head() {
    with_own_pools!(40, Link<'_>, |pool| {
        chains(&pool);
        pool.reset();
        chains(&pool);
        pool.reset();
        assert_all_usable_but(&pool, 0);
    });
}

/// The boxes in the values are not dropped with the pool.
#[test]
fn a_pool_ends_with_forgotten_trees_in_it() {
    let drops = Cell::new(0);
    with_own_pools!(NODES, Node<'_, '_>, |pool| {
        drops.set(0);
        pool.reset();
        forget(tree(&pool, LEVELS, &drops));
        assert!(pool.is_full());
    });
    assert_eq!(drops.get(), 0);
}

/// A node can be moved from pool to pool, and each box knows its own.
#[test]
fn boxes_of_two_pools_free_their_own_cells() {
    let (mut one, mut two) = (PoolStorage::<u64, 4>::new(), PoolStorage::<u64, 4>::new());
    let (one, two) = (Pool::in_storage(&mut one), Pool::in_storage(&mut two));
    let mut boxes: Vec<StorageBox<'_, u64>> = Vec::new();
    for number in 0..3 {
        boxes.push(one.alloc(number));
        boxes.push(two.alloc(number + 10));
    }
    boxes.rotate_left(1);
    boxes.truncate(3);
    // 10, 1, 11.
    assert_eq!((one.len(), two.len()), (1, 2));
    assert!(boxes.iter().map(|boxed| **boxed).eq([10, 1, 11]));
    let (heap, other) = (Pool::with_capacity(4), Pool::with_capacity(4));
    let (mut a, mut b) = (heap.alloc(1), other.alloc(2));
    std::mem::swap(&mut a, &mut b);
    drop(a);
    assert_eq!((heap.len(), other.len(), *b), (1, 0, 1));
    drop(b);
    assert_all_usable_but(&heap, 0);
    assert_all_usable_but(&other, 0);
}
