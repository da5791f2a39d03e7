//! A price-time book, written against the crate `intrusive-collections`: a tree of price levels for
//! each side, and a list of orders in each level. The same book is built three times, and its
//! source differs only in the adapters and in how a value is created: with `Box`, on two slabs, and
//! on two pools. All three must make the same trades.
//!
//! ```text
//! cargo run --example intrusive_book --features intrusive-collections
//! ```

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr::NonNull;

use flatslab::pool::{Pool, PoolBox};
use flatslab::{BoundedSlab, slab_adapter};
use intrusive_collections::{
    KeyAdapter, LinkedList, LinkedListLink, RBTree, RBTreeLink, intrusive_adapter,
};

const ORDERS: usize = 4096;
const LEVELS: usize = 256;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Side {
    Buy,
    Sell,
}

/// An event of the input: an order, or the cancellation of one.
#[derive(Clone, Copy)]
enum Event {
    Submit(Side, u64, u64, u64),
    Cancel(u64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Trade {
    buyer: u64,
    seller: u64,
    price: u64,
    quantity: u64,
}

/// An order that rests in a level.
struct Order {
    link: LinkedListLink,
    id: u64,
    quantity: Cell<u64>,
}

/// The book, for any memory: adapters `Orders` and `Levels`, and a type `Memory` that creates them
/// and the boxes.
macro_rules! book {
    (mod $name:ident { $($memory:item)* }) => {
        mod $name {
            use super::*;

            $($memory)*

            /// The orders of one price, the oldest first.
            pub(super) struct Level {
                link: RBTreeLink,
                price: u64,
                orders: RefCell<LinkedList<Orders>>,
            }

            impl KeyAdapter<'_> for Levels {
                type Key = u64;

                fn get_key(&self, level: &Level) -> u64 {
                    level.price
                }
            }

            pub(super) struct Book {
                memory: Memory,
                bids: RBTree<Levels>,
                asks: RBTree<Levels>,
                /// Where each resting order is.
                places: HashMap<u64, (Side, u64, NonNull<Order>)>,
                pub(super) trades: Vec<Trade>,
            }

            impl Book {
                pub(super) fn new() -> Self {
                    let memory = Memory::new();
                    Book {
                        bids: RBTree::new(memory.levels()),
                        asks: RBTree::new(memory.levels()),
                        memory,
                        places: HashMap::new(),
                        trades: Vec::new(),
                    }
                }

                pub(super) fn handle(&mut self, event: Event) {
                    match event {
                        Event::Submit(side, id, price, quantity) => {
                            let left = self.trade(side, id, price, quantity);
                            if left > 0 {
                                self.rest(side, id, price, left);
                            }
                        }
                        Event::Cancel(id) => self.cancel(id),
                    }
                }

                /// Trades with the best levels of the other side, and returns the quantity that is
                /// left.
                fn trade(&mut self, side: Side, id: u64, price: u64, mut quantity: u64) -> u64 {
                    while quantity > 0 {
                        let (mut best, crosses) = match side {
                            Side::Buy => (self.asks.front_mut(), u64::le as fn(&_, &_) -> bool),
                            Side::Sell => (self.bids.back_mut(), u64::ge as fn(&_, &_) -> bool),
                        };
                        let Some(level) = best.get().filter(|best| crosses(&best.price, &price))
                        else {
                            break;
                        };
                        let mut orders = level.orders.borrow_mut();
                        let order = orders.front().get().expect("a level has an order");
                        let traded = quantity.min(order.quantity.get());
                        let (buyer, seller) = match side {
                            Side::Buy => (id, order.id),
                            Side::Sell => (order.id, id),
                        };
                        self.trades.push(Trade {
                            buyer,
                            seller,
                            price: level.price,
                            quantity: traded,
                        });
                        quantity -= traded;
                        order.quantity.set(order.quantity.get() - traded);
                        if order.quantity.get() == 0 {
                            self.places.remove(&order.id);
                            drop(orders.pop_front());
                        }
                        let is_empty = orders.is_empty();
                        drop(orders);
                        if is_empty {
                            drop(best.remove());
                        }
                    }
                    quantity
                }

                fn side(&mut self, side: Side) -> &mut RBTree<Levels> {
                    match side {
                        Side::Buy => &mut self.bids,
                        Side::Sell => &mut self.asks,
                    }
                }

                fn rest(&mut self, side: Side, id: u64, price: u64, quantity: u64) {
                    let order = self.memory.order(Order {
                        link: LinkedListLink::new(),
                        id,
                        quantity: Cell::new(quantity),
                    });
                    if self.side(side).find(&price).is_null() {
                        let level = self.memory.level(Level {
                            link: RBTreeLink::new(),
                            price,
                            orders: RefCell::new(LinkedList::new(self.memory.orders())),
                        });
                        self.side(side).insert(level);
                    }
                    let level = self.side(side).find(&price).get().expect("inserted above");
                    let mut orders = level.orders.borrow_mut();
                    orders.push_back(order);
                    let place = orders.back().get_ptr().expect("the order is there");
                    drop(orders);
                    self.places.insert(id, (side, price, place));
                }

                fn cancel(&mut self, id: u64) {
                    let Some((side, price, place)) = self.places.remove(&id) else {
                        return;
                    };
                    let mut level = self.side(side).find_mut(&price);
                    let mut orders = level.get().expect("it has the order").orders.borrow_mut();
                    // SAFETY: an order is in `places` exactly while it is in the list of its level,
                    // and the list returned this pointer.
                    drop(unsafe { orders.cursor_mut_from_ptr(place.as_ptr()) }.remove());
                    let is_empty = orders.is_empty();
                    drop(orders);
                    if is_empty {
                        drop(level.remove());
                    }
                }

                pub(super) fn resting(&self) -> usize {
                    self.places.len()
                }
            }
        }
    };
}

book! {
    mod boxed {
        intrusive_adapter!(pub(super) Orders = Box<Order>: Order { link => LinkedListLink });
        intrusive_adapter!(pub(super) Levels = Box<Level>: Level { link => RBTreeLink });

        pub(super) struct Memory;

        impl Memory {
            fn new() -> Self {
                Memory
            }

            fn orders(&self) -> Orders {
                Orders::new()
            }

            fn levels(&self) -> Levels {
                Levels::new()
            }

            fn order(&self, order: Order) -> Box<Order> {
                Box::new(order)
            }

            fn level(&self, level: Level) -> Box<Level> {
                Box::new(level)
            }
        }
    }
}

book! {
    mod slabs {
        slab_adapter!(pub(super) Orders =
            &'static BoundedSlab<Order>: Order { link => LinkedListLink });
        slab_adapter!(pub(super) Levels = &'static BoundedSlab<Level>: Level { link => RBTreeLink });

        /// Slabs for as long as the program runs, so that the book may have lists that refer to
        /// them.
        pub(super) struct Memory {
            orders: &'static BoundedSlab<Order>,
            levels: &'static BoundedSlab<Level>,
        }

        impl Memory {
            fn new() -> Self {
                Memory {
                    orders: BoundedSlab::leak(ORDERS),
                    levels: BoundedSlab::leak(LEVELS),
                }
            }

            fn orders(&self) -> Orders {
                Orders::new(self.orders)
            }

            fn levels(&self) -> Levels {
                Levels::new(self.levels)
            }

            fn order(&self, order: Order) -> flatslab::SlotBox<Order> {
                self.orders.insert(order).expect("as many as there can be").into_box()
            }

            fn level(&self, level: Level) -> flatslab::SlotBox<Level> {
                self.levels.insert(level).expect("as many as there are prices").into_box()
            }
        }

        impl Book {
            /// Orders and levels that the slabs have.
            pub(super) fn in_use(&self) -> (usize, usize) {
                (self.memory.orders.len(), self.memory.levels.len())
            }
        }
    }
}

book! {
    mod pools {
        slab_adapter!(pub(super) Orders =
            PoolBox<'static, Order>: Order { link => LinkedListLink });
        slab_adapter!(pub(super) Levels = PoolBox<'static, Level>: Level { link => RBTreeLink });

        pub(super) struct Memory {
            orders: &'static Pool<'static, Order>,
            levels: &'static Pool<'static, Level>,
        }

        impl Memory {
            fn new() -> Self {
                Memory {
                    orders: Pool::leak(ORDERS),
                    levels: Pool::leak(LEVELS),
                }
            }

            fn orders(&self) -> Orders {
                Orders::new()
            }

            fn levels(&self) -> Levels {
                Levels::new()
            }

            fn order(&self, order: Order) -> PoolBox<'static, Order> {
                self.orders.alloc(order)
            }

            fn level(&self, level: Level) -> PoolBox<'static, Level> {
                self.levels.alloc(level)
            }
        }
    }
}

/// Orders around a price that wanders, and cancellations of recent ones.
fn events(count: u64) -> Vec<Event> {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut middle = 1_000;
    let mut events = Vec::new();
    for id in 0..count {
        middle = (middle + random(3) - 1).clamp(950, 1_050);
        let price = middle + random(21) - 10;
        let side = [Side::Buy, Side::Sell][random(2) as usize];
        events.push(Event::Submit(
            side,
            id,
            price.clamp(900, 1_100),
            1 + random(100),
        ));
        // Every order is cancelled in the end, unless it was traded.
        let recent = id.saturating_sub(random(50));
        events.push(Event::Cancel(recent));
        if let Some(old) = id.checked_sub(1_000) {
            events.push(Event::Cancel(old));
        }
    }
    events
}

fn main() {
    let mut boxed = boxed::Book::new();
    let mut slabs = slabs::Book::new();
    let mut pools = pools::Book::new();
    for event in events(20_000) {
        boxed.handle(event);
        slabs.handle(event);
        pools.handle(event);
    }
    assert_eq!(boxed.trades, slabs.trades);
    assert_eq!(boxed.trades, pools.trades);
    assert_eq!(boxed.resting(), slabs.resting());
    assert_eq!(boxed.resting(), pools.resting());
    let (orders, levels) = slabs.in_use();
    assert_eq!(orders, slabs.resting());
    println!(
        "{} trades, the same with Box, slabs and pools; {orders} orders rest in {levels} levels",
        boxed.trades.len()
    );
    let last = boxed.trades.last();
    println!("the last one: {last:?}");
}
