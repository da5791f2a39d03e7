//! The book of one instrument in a `BoundedSlab`: a list of orders, by key, for each price, and the
//! key of each order that a client may cancel.

use flatslab::{BoundedSlab, Full, Key};

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

    /// Appends an order to its level. The slab owns it: no handle has to be kept.
    fn place(&mut self, client: u64, price: usize, open: u64) -> Option<Key> {
        let last = self.levels[price].last;
        let order = Order {
            me: Key::NONE,
            client,
            price,
            open,
            earlier: last,
            later: Key::NONE,
        };
        let key = match self.orders.insert_key(order) {
            Ok(key) => key,
            Err(Full(order)) => {
                self.log.push(format!("refused {}", order.client));
                return None;
            }
        };
        self.orders.get_mut(key).expect("just inserted").me = key;
        match self.orders.get_mut(last) {
            Some(mut before) => before.later = key,
            None => self.levels[price].first = key,
        }
        self.levels[price].last = key;
        self.log.push(format!("placed {client}"));
        Some(key)
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
    // What clients have: the key of an order, which may be gone.
    let mut keys: Vec<(u64, Key)> = Vec::new();
    for client in 0..400 {
        let (price, quantity) = (random(PRICES as u64) as usize, 1 + random(50));
        match random(8) {
            0..=3 => {
                let key = book.place(client, price, quantity);
                keys.extend(key.map(|key| (client, key)));
            }
            4 | 5 if !keys.is_empty() => {
                let (client, key) = keys[random(keys.len() as u64) as usize];
                book.cancel(key, client);
            }
            6 => book.take(price, quantity),
            _ => keys.truncate(30),
        }
        if client % 50 == 0 {
            book.report();
        }
    }
    let left = book.orders.len();
    book.orders.clear();
    let is_left = |(_, key): &(u64, Key)| book.orders.contains_key(*key);
    assert!(book.orders.is_empty() && !keys.iter().any(is_left));
    book.log.push(format!("{left} left"));
    book.log
}
