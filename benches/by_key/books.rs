//! One side of an order book: prices in order, and at each a queue of orders, of which nine of ten are
//! cancelled.

use std::collections::BTreeMap;

use flatslab::collections::{Links, List, SortedSlab};
use flatslab::{BoundedKeySlab, Key, linked};
use flatslab_benches::prelude::*;
use nexus_collections::btree::{BTree, BTreeNode};
use nexus_collections::list::{List as NexusList, ListNode};
use nexus_collections::rbtree::{RbNode, RbTree};
use nexus_collections::{btree, rbtree};
use nexus_slab::bounded::Slab as RawSlab;
use nexus_slab::rc::RcSlot;
use nexus_slab::rc::bounded::Slab as RcSlab;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{picks, timed};

pub(super) trait Side {
    const NAME: &str;
    /// What finds an order.
    type Handle;

    fn empty(orders: usize, prices: usize) -> Self;
    fn add(&mut self, price: u64, id: u32) -> Self::Handle;
    fn cancel(&mut self, order: Self::Handle) -> u32;

    /// Removes the oldest order of the lowest price.
    fn take_best(&mut self) -> u32;

    /// Only of an order that was taken.
    fn forget(&mut self, _: Self::Handle) {}
}

/// Most orders are at the lower prices.
fn price(random: &mut ChaCha8Rng, prices: u64) -> u64 {
    let at = random.random_range(0..prices);
    at.min(random.random_range(0..prices)) + random.random_range(0..8)
}

pub(super) fn book<S: Side>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let prices = (live as u64 / 32).clamp(100, 5_000);
    let picks = picks(&mut setting, count);
    let at: Vec<u64> = (0..live + count)
        .map(|_| price(&mut setting.random, prices))
        .collect();
    let mut side = S::empty(live + 1, prices as usize + 8);
    let mut handles: Vec<Option<S::Handle>> = Vec::with_capacity(live);
    for (id, &price) in at[count..].iter().enumerate() {
        handles.push(Some(side.add(price, id as u32)));
    }
    let step = setting.time(count, || {
        for (step, (&pick, &price)) in picks.iter().zip(&at).enumerate() {
            let id = if step % 10 == 0 {
                let id = side.take_best();
                let handle = handles[id as usize].take();
                side.forget(handle.expect("it was there"));
                id
            } else {
                let handle = handles[pick as usize].take();
                side.cancel(handle.expect("it is there"))
            };
            handles[id as usize] = Some(side.add(price, id));
        }
    });
    for (id, handle) in handles.into_iter().enumerate() {
        assert_eq!(side.cancel(handle.expect("it is there")), id as u32);
    }
    Turn::from([vec![step]])
}

struct Order {
    id: u32,
    shares: u64,
    in_level: Links,
}

linked!(impl Linked<Key, Key> for Order { in_level });

struct Level {
    shares: u64,
    orders: List,
}

/// Levels in a sorted slab: an order finds its level by its links.
pub(super) struct ByKey {
    levels: SortedSlab<u64, Level>,
    orders: BoundedKeySlab<Order>,
}

impl Side for ByKey {
    const NAME: &str = "SortedSlab, List";
    type Handle = Key;

    fn empty(orders: usize, prices: usize) -> Self {
        ByKey {
            levels: SortedSlab::with_capacity(prices),
            orders: BoundedKeySlab::with_capacity(orders),
        }
    }

    #[inline(always)]
    fn add(&mut self, price: u64, id: u32) -> Key {
        let level = self.levels.key_or_insert_with(price, |own| Level {
            shares: 0,
            orders: List::new(own),
        });
        let (_, level) = self.levels.get_mut_by_key(level).expect("it is there");
        let (shares, in_level) = (100, Links::new());
        level.shares += shares;
        let order = Order {
            id,
            shares,
            in_level,
        };
        let added = level.orders.push_back(&mut self.orders, order);
        added.expect("there is room")
    }

    #[inline(always)]
    fn cancel(&mut self, key: Key) -> u32 {
        let own = self.orders[key].in_level.owner().expect("it has a level");
        let (_, level) = self.levels.get_mut_by_key(own).expect("it is there");
        let removed = level.orders.remove(&mut self.orders, key);
        let order = removed.expect("it is in this level");
        level.shares -= order.shares;
        if level.orders.is_empty() {
            self.levels.remove_by_key(own);
        }
        order.id
    }

    #[inline(always)]
    fn take_best(&mut self) -> u32 {
        let (_, own) = self.levels.first().expect("it is not empty");
        let (_, level) = self.levels.get_by_key(own).expect("it is there");
        let first = level.orders.first().expect("no level is empty");
        self.cancel(first)
    }
}

/// Levels in a map of `std`, and orders as above.
pub(super) struct OnBTreeMap {
    levels: BTreeMap<u64, Level>,
    orders: BoundedKeySlab<Priced>,
}

/// An order that has its price, by which its level is found.
struct Priced {
    price: u64,
    id: u32,
    shares: u64,
    in_level: Links,
}

linked!(impl Linked<Key, Key> for Priced { in_level });

impl Side for OnBTreeMap {
    const NAME: &str = "BTreeMap, List";
    type Handle = Key;

    fn empty(orders: usize, _: usize) -> Self {
        OnBTreeMap {
            levels: BTreeMap::new(),
            orders: BoundedKeySlab::with_capacity(orders),
        }
    }

    #[inline(always)]
    fn add(&mut self, price: u64, id: u32) -> Key {
        let level = self.levels.entry(price).or_insert_with(|| Level {
            shares: 0,
            orders: List::new(Key::from_raw(price as u32)),
        });
        let (shares, in_level) = (100, Links::new());
        level.shares += shares;
        let order = Priced {
            price,
            id,
            shares,
            in_level,
        };
        let added = level.orders.push_back(&mut self.orders, order);
        added.expect("there is room")
    }

    #[inline(always)]
    fn cancel(&mut self, key: Key) -> u32 {
        let price = self.orders[key].price;
        let level = self.levels.get_mut(&price).expect("it is there");
        let removed = level.orders.remove(&mut self.orders, key);
        let order = removed.expect("it is in this level");
        level.shares -= order.shares;
        if level.orders.is_empty() {
            self.levels.remove(&price);
        }
        order.id
    }

    #[inline(always)]
    fn take_best(&mut self) -> u32 {
        let (_, level) = self.levels.first_key_value().expect("it is not empty");
        let first = level.orders.first().expect("no level is empty");
        self.cancel(first)
    }
}

pub(super) struct NexusOrder {
    id: u32,
    price: u64,
    shares: u64,
}

struct NexusLevel {
    shares: u64,
    orders: NexusList<NexusOrder>,
}

macro_rules! nexus_book {
    ($name:ident, $label:expr, $tree:ty, $node:ty, $module:ident) => {
        pub(super) struct $name {
            levels: $tree,
            nodes: RawSlab<$node>,
            orders: RcSlab<ListNode<NexusOrder>>,
        }

        impl Side for $name {
            const NAME: &str = $label;
            type Handle = RcSlot<ListNode<NexusOrder>>;

            fn empty(orders: usize, prices: usize) -> Self {
                // SAFETY: all orders, and with them all levels, are gone before the slabs are dropped.
                let (nodes, orders) = unsafe {
                    (
                        RawSlab::with_capacity(prices),
                        RcSlab::with_capacity(orders),
                    )
                };
                $name {
                    levels: <$tree>::new(),
                    nodes,
                    orders,
                }
            }

            #[inline(always)]
            fn add(&mut self, price: u64, id: u32) -> Self::Handle {
                let level = match self.levels.entry(&self.nodes, price) {
                    $module::Entry::Occupied(entry) => entry.into_mut(),
                    $module::Entry::Vacant(entry) => {
                        let orders = NexusList::new();
                        let added = entry.try_insert(NexusLevel { shares: 0, orders });
                        added.ok().expect("there is room")
                    }
                };
                let shares = 100;
                level.shares += shares;
                let order = NexusOrder { id, price, shares };
                let added = level.orders.try_push_back(&self.orders, order);
                added.ok().expect("there is room")
            }

            #[inline(always)]
            fn cancel(&mut self, handle: Self::Handle) -> u32 {
                let (price, id, shares) = {
                    let order = &handle.borrow().value;
                    (order.price, order.id, order.shares)
                };
                let level = self.levels.get_mut(&price).expect("it is there");
                level.orders.unlink(&handle, &self.orders);
                level.shares -= shares;
                if level.orders.is_empty() {
                    self.levels.remove(&self.nodes, &price);
                }
                self.orders.free(handle);
                id
            }

            #[inline(always)]
            fn take_best(&mut self) -> u32 {
                let (&price, _) = self.levels.first_key_value().expect("it is not empty");
                let level = self.levels.get_mut(&price).expect("it is there");
                let handle = level.orders.pop_front().expect("no level is empty");
                let (id, shares) = {
                    let order = &handle.borrow().value;
                    (order.id, order.shares)
                };
                level.shares -= shares;
                if level.orders.is_empty() {
                    self.levels.remove(&self.nodes, &price);
                }
                self.orders.free(handle);
                id
            }

            #[inline(always)]
            fn forget(&mut self, handle: Self::Handle) {
                self.orders.free(handle);
            }
        }
    };
}

nexus_book!(
    OnRbTree, "nexus RbTree, List",
    RbTree<u64, NexusLevel>, RbNode<u64, NexusLevel>, rbtree
);
nexus_book!(
    OnBTree, "nexus BTree, List",
    BTree<u64, NexusLevel, 8>, BTreeNode<u64, NexusLevel, 8>, btree
);
