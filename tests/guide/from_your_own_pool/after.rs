//! Orders of a venue in a `KeySlab`. The generation in a key tells an order from those that had its
//! slot before.

use std::collections::VecDeque;

use flatslab::{GenKey, KeySlab};

use crate::random::{random, seed};

struct Order {
    client: u64,
    open: u64,
    legs: Vec<u64>,
}

struct Venue {
    orders: KeySlab<Order, GenKey>,
    queue: VecDeque<GenKey>,
    log: Vec<String>,
}

impl Venue {
    fn place(&mut self, client: u64, open: u64) -> u64 {
        let legs = (0..open % 4).collect();
        let key = self.orders.insert(Order { client, open, legs });
        self.queue.push_back(key);
        self.log.push(format!("placed {client}"));
        key.into_raw()
    }

    fn cancel(&mut self, wire: u64, client: u64) {
        // No order: also for a number that no key has.
        let order = GenKey::from_raw(wire).and_then(|key| self.orders.try_remove(key));
        match order {
            Some(order) => {
                assert!(order.client == client);
                let (open, legs) = (order.open, order.legs.len());
                self.log.push(format!("cancelled {client}: {open}, {legs} legs"));
            }
            None => self.log.push(format!("too late: {client}")),
        }
    }

    /// Fills the oldest orders. The keys of those that were cancelled are still in the queue.
    fn fill(&mut self, mut quantity: u64) {
        while quantity > 0 {
            let Some(&key) = self.queue.front() else { break };
            let Some(order) = self.orders.get_mut(key) else {
                self.queue.pop_front();
                continue;
            };
            let filled = quantity.min(order.open);
            order.open -= filled;
            quantity -= filled;
            self.log.push(format!("filled {}: {filled}", order.client));
            if order.open == 0 {
                self.orders.remove(key);
                self.queue.pop_front();
            }
        }
    }

    fn report(&mut self) {
        let clients: Vec<u64> = self.orders.values().map(|it| it.client).collect();
        let open: u64 = self.orders.values().map(|it| it.open).sum();
        let len = self.orders.len();
        self.log.push(format!("{clients:?}: {open} in {len} orders"));
    }

    fn close(&mut self) {
        for (_, order) in self.orders.drain() {
            self.log.push(format!("closed {}: {}", order.client, order.open));
        }
        self.queue.clear();
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut venue = Venue {
        orders: KeySlab::with_capacity_and_key(16),
        queue: VecDeque::new(),
        log: Vec::new(),
    };
    // What clients have: the number of an order on the wire, and who placed it.
    let mut wires: Vec<(u64, u64)> = Vec::new();
    for client in 0..400 {
        let quantity = 1 + random(60);
        match random(8) {
            0..=3 => wires.push((venue.place(client, quantity), client)),
            4 | 5 if !wires.is_empty() => {
                let at = wires.len() - 1 - random(wires.len().min(20) as u64) as usize;
                let (wire, client) = wires[at];
                venue.cancel(wire, client);
            }
            6 => venue.fill(3 * quantity),
            _ => venue.report(),
        }
    }
    venue.close();
    venue.log
}
