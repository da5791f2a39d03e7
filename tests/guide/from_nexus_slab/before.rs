//! The book of one instrument in a `BoundedSlab` of `nexus-slab` 0.8: a list of orders, by key, for
//! each price, and an entry for each order that a client may cancel.

use nexus_slab::{BoundedSlab, Entry, Full, Key};

use crate::random::{random, seed};

const PRICES: usize = 8;

struct Order {
    me: Key,
    client: u64,
    price: usize,
    open: u64,
    earlier: Key,
    later: Key,
}

/// The orders at one price, the oldest first.
#[derive(Clone, Copy)]
struct Level {
    first: Key,
    last: Key,
}

struct Book {
    orders: BoundedSlab<Order>,
    levels: [Level; PRICES],
    log: Vec<String>,
}

impl Book {
    fn new(capacity: usize) -> Self {
        let empty = Level {
            first: Key::NONE,
            last: Key::NONE,
        };
        Book {
            orders: BoundedSlab::with_capacity(capacity),
            levels: [empty; PRICES],
            log: Vec::new(),
        }
    }

    /// Appends an order to its level. The entry is its client's; the book has the key.
    fn place(&mut self, client: u64, price: usize, open: u64) -> Option<Entry<Order>> {
        let last = self.levels[price].last;
        let order = Order {
            me: Key::NONE,
            client,
            price,
            open,
            earlier: last,
            later: Key::NONE,
        };
        let entry = match self.orders.insert(order) {
            Ok(entry) => entry,
            Err(Full(order)) => {
                self.log.push(format!("refused {}", order.client));
                return None;
            }
        };
        let key = entry.key();
        entry.get_mut().me = key;
        match self.orders.get_mut(last) {
            Some(mut before) => before.later = key,
            None => self.levels[price].first = key,
        }
        self.levels[price].last = key;
        self.log.push(format!("placed {client}"));
        Some(entry)
    }

    /// Takes an order out of its level's list.
    fn unlink(&mut self, key: Key) {
        let order = self.orders.get(key).expect("a live order");
        let (price, earlier, later) = (order.price, order.earlier, order.later);
        drop(order);
        match self.orders.get_mut(earlier) {
            Some(mut before) => before.later = later,
            None => self.levels[price].first = later,
        }
        match self.orders.get_mut(later) {
            Some(mut after) => after.earlier = earlier,
            None => self.levels[price].last = earlier,
        }
    }

    fn cancel(&mut self, key: Key, client: u64) {
        // The slot may have another client's order by now: keys have no generation.
        let is_his = match self.orders.get(key) {
            Some(order) => order.client == client,
            None => false,
        };
        if !is_his {
            self.log.push(format!("no order of {client}"));
            return;
        }
        self.unlink(key);
        let order = self.orders.remove_by_key(key);
        assert!(order.me == key);
        self.log.push(format!("cancelled {client}: {}", order.open));
    }

    /// Trades with the orders at a price, the oldest first.
    fn take(&mut self, price: usize, mut quantity: u64) {
        while quantity > 0 {
            let key = self.levels[price].first;
            let Some(mut order) = self.orders.get_mut(key) else {
                break;
            };
            let traded = quantity.min(order.open);
            order.open -= traded;
            quantity -= traded;
            let (client, open) = (order.client, order.open);
            drop(order);
            self.log.push(format!("traded {traded} with {client}"));
            if open == 0 {
                self.unlink(key);
                self.orders.remove_by_key(key);
            }
        }
    }

    fn report(&mut self) {
        // SAFETY: no order is changed, removed or borrowed mutably in this function.
        let orders = unsafe { self.orders.untracked() };
        let mut open = [0; PRICES];
        for (price, level) in self.levels.iter().enumerate() {
            let mut key = level.first;
            while key.is_some() {
                open[price] += orders[key].open;
                key = orders[key].later;
            }
        }
        let (len, full) = (self.orders.len(), self.orders.is_full());
        self.log.push(format!("{open:?}: {len} orders, full: {full}"));
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut book = Book::new(24);
    // What clients have: the entry of an order, which may be gone.
    let mut entries: Vec<(u64, Entry<Order>)> = Vec::new();
    for client in 0..400 {
        let (price, quantity) = (random(PRICES as u64) as usize, 1 + random(50));
        match random(8) {
            0..=3 => {
                let entry = book.place(client, price, quantity);
                entries.extend(entry.map(|entry| (client, entry)));
            }
            4 | 5 if !entries.is_empty() => {
                let (client, entry) = &entries[random(entries.len() as u64) as usize];
                let (client, key) = (*client, entry.key());
                book.cancel(key, client);
            }
            6 => book.take(price, quantity),
            _ => entries.truncate(30),
        }
        if client % 50 == 0 {
            book.report();
        }
    }
    let left = book.orders.len();
    book.orders.clear();
    assert!(book.orders.is_empty() && entries.iter().all(|(_, entry)| !entry.is_valid()));
    book.log.push(format!("{left} left"));
    book.log
}
