//! Links of 4 bytes between values whose keys have generations: a queue of orders, of which any
//! can be cancelled by a key that may be stale.
//!
//! A client keeps a key for as long as it likes, so the key needs a generation: 8 bytes. A link
//! inside the queue never outlives its order, because an order is unlinked before it is removed.
//! So a link is the index of a slot, and `key_at` returns the key of the order that is there.
//!
//! ```text
//! cargo run --example small_links
//! ```
#![forbid(unsafe_code)]

use flatslab::{KeySlab, key_type};

key_type! {
    /// The id of an order, for clients.
    struct OrderKey(GenKey);
}

/// The index of a slot, or `END`.
type Link = u32;

const END: Link = Link::MAX;

struct Order {
    quantity: u32,
    previous: Link,
    next: Link,
}

/// Orders at one price, the oldest first.
struct Level {
    orders: KeySlab<Order, OrderKey>,
    first: Link,
    last: Link,
}

impl Level {
    fn new() -> Self {
        Level {
            orders: KeySlab::with_key(),
            first: END,
            last: END,
        }
    }

    /// Returns the order that a link refers to; `None` at the end.
    fn linked(&mut self, link: Link) -> Option<&mut Order> {
        let key = self.orders.key_at(link as usize)?;
        self.orders.get_mut(key)
    }

    fn add(&mut self, quantity: u32) -> OrderKey {
        let key = self.orders.insert(Order {
            quantity,
            previous: self.last,
            next: END,
        });
        let link = key.index() as Link;
        match self.linked(self.last) {
            Some(last) => last.next = link,
            None => self.first = link,
        }
        self.last = link;
        key
    }

    /// Removes an order; `None` if it was cancelled or filled before.
    fn cancel(&mut self, key: OrderKey) -> Option<u32> {
        let &Order { previous, next, .. } = self.orders.get(key)?;
        match self.linked(previous) {
            Some(order) => order.next = next,
            None => self.first = next,
        }
        match self.linked(next) {
            Some(order) => order.previous = previous,
            None => self.last = previous,
        }
        Some(self.orders.remove(key).quantity)
    }

    /// Removes the oldest order.
    fn fill(&mut self) -> Option<u32> {
        let key = self.orders.key_at(self.first as usize)?;
        self.cancel(key)
    }
}

fn main() {
    let mut level = Level::new();
    let keys = [10, 20, 30].map(|quantity| level.add(quantity));
    assert_eq!(level.cancel(keys[1]), Some(20));

    // The slot is used again, and the stale key does not cancel the new order.
    let new = level.add(40);
    assert_eq!(new.index(), keys[1].index());
    assert_eq!(level.cancel(keys[1]), None);

    let filled: Vec<u32> = std::iter::from_fn(|| level.fill()).collect();
    println!("filled in order: {filled:?}");
    println!("bytes of an order with its links: {}", size_of::<Order>());
    assert_eq!((filled, size_of::<Order>()), (vec![10, 30, 40], 12));
}
