//! The order book: price levels over orders in a shared store.
//!
//! A level is an intrusive list in the order of arrival. The level holds the keys
//! of its first and last order, and each order the keys of its neighbours. An
//! order is removed from any position in constant time, and no list allocates.
//!
//! A side keeps its levels in a [`Tree`], the best one last. The trees of all symbols
//! have their nodes in common. A `Vec` sorted by price took a fifth longer a message.
//!
//! The maps take their memory from a [`PageAllocator`]. It cuts small blocks from
//! shared pages, so the maps of thousands of symbols share huge pages.
//!
//! # Invariants
//!
//! * B1: the keys in `ids`, in the ends of levels and in the links of orders are
//!   keys of orders in the store, and each order is in exactly one list.
//! * B2: a level has at least one order, and `total` is the sum of their sizes,
//!   none of them 0.
//! * B3: a level is in the tree of its side under the rank of its price.
//! * B4: `ids` of all symbols together have as many entries as the store.
//! * B5: an order's price, side and symbol are those of the list it is in.

use std::hint::black_box;

use flatslab::collections::{Nodes, Tree};
use flatslab::memory::{PageAllocator, Pages};
use hashbrown::hash_map::Entry;
use hashbrown::{DefaultHashBuilder, HashMap};
use order_flow::digest::Digest;
use order_flow::message::{Kind, Message, Outcome, Side};
use order_flow::top::Top;

use crate::store::{Link, Order, Store, StoreFull};

/// A vector in the market's memory.
type PagedVec<T> = allocator_api2::vec::Vec<T, PageAllocator>;

/// The keys of the live orders by their ids.
type Ids<K> = HashMap<u64, K, DefaultHashBuilder, PageAllocator>;

/// All orders at one price.
#[derive(Clone, Copy, Debug)]
struct Level<K> {
    /// Shares of all orders together.
    total: u64,
    price: u32,
    first: K,
    last: K,
}

/// One side of one symbol: the levels by their rank, the best one last.
type Levels<K> = Tree<i64, Level<K>>;

/// The rank of a price: higher for the better one.
fn rank(side: Side, price: u32) -> i64 {
    match side {
        Side::Buy => price.into(),
        Side::Sell => -i64::from(price),
    }
}

/// The orders of one symbol.
struct Book<K> {
    ids: Ids<K>,
    bids: Levels<K>,
    asks: Levels<K>,
}

impl<K> Book<K> {
    fn new(memory: &PageAllocator) -> Self {
        Book {
            ids: Ids::new_in(memory.clone()),
            bids: Levels::new(),
            asks: Levels::new(),
        }
    }

    fn side(&self, side: Side) -> &Levels<K> {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut Levels<K> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }
}

/// The books of all symbols, which share one store.
pub(crate) struct Market<S: Store> {
    store: S,
    books: PagedVec<Book<S::Key>>,
    nodes: Nodes<i64, Level<S::Key>>,
}

impl<S: Store> Market<S> {
    /// Empty books, whose maps take their memory from `memory`, and their levels from `levels`.
    pub(crate) fn with_memory(
        store: S,
        symbols: u32,
        memory: &PageAllocator,
        levels: Pages,
    ) -> Self {
        let mut books = PagedVec::with_capacity_in(symbols as usize, memory.clone());
        books.extend((0..symbols).map(|_| Book::new(memory)));
        Market {
            store,
            books,
            nodes: Nodes::builder().pages(levels).build(),
        }
    }

    /// Reserves room in each book for `orders` live orders and for `levels` prices on
    /// each side.
    ///
    /// # Errors
    ///
    /// The reason, if there is no memory.
    pub(crate) fn try_reserve(&mut self, orders: usize, levels: usize) -> Result<(), String> {
        for book in &mut self.books {
            book.ids
                .try_reserve(orders)
                .map_err(|error| format!("{error:?}"))?;
        }
        // Of both sides, and twice as many: removals leave nodes half as full.
        let entries = levels.saturating_mul(4 * self.books.len());
        self.nodes
            .try_reserve(entries)
            .map_err(|error| error.to_string())
    }

    /// The shared store.
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    /// Applies one message to one symbol's book.
    ///
    /// # Errors
    ///
    /// [`StoreFull`] if an add finds no room; the books are unchanged.
    #[inline]
    pub(crate) fn apply(&mut self, symbol: u32, message: &Message) -> Result<Outcome, StoreFull> {
        Ok(match message.kind {
            Kind::Add => return self.add(symbol, message),
            Kind::Cancel | Kind::Execute => self.reduce(symbol, message),
            Kind::Delete => self.delete(symbol, message.id),
            Kind::Hidden | Kind::Cross | Kind::Halt => Outcome::Inert,
        })
    }

    /// The key of the order that a message names, if the order is live.
    #[inline]
    fn look_up(&self, symbol: u32, message: &Message) -> Option<S::Key> {
        match message.kind {
            Kind::Hidden | Kind::Cross | Kind::Halt => None,
            _ => self.books[symbol as usize].ids.get(&message.id).copied(),
        }
    }

    /// Looks up the order of the next message, so that its entry of the map is in the
    /// cache when that message is applied. The result is not used: the present message
    /// may add or remove the order.
    #[inline]
    pub(crate) fn look_ahead(&self, symbol: u32, message: &Message) {
        black_box(self.look_up(symbol, message).is_some());
    }

    /// As [`look_ahead`](Self::look_ahead), and prefetches the order too.
    #[inline]
    pub(crate) fn prefetch(&self, symbol: u32, message: &Message) {
        if let Some(key) = self.look_up(symbol, message) {
            self.store.prefetch(key);
        }
    }

    fn add(&mut self, symbol: u32, message: &Message) -> Result<Outcome, StoreFull> {
        let &Message {
            id,
            price,
            size,
            side,
            ..
        } = message;
        let Market {
            store,
            books,
            nodes,
        } = self;
        let book = &mut books[symbol as usize];
        let Entry::Vacant(entry) = book.ids.entry(id) else {
            return Ok(Outcome::Duplicate);
        };
        let levels = match side {
            Side::Buy => &mut book.bids,
            Side::Sell => &mut book.asks,
        };
        let mut order = Order {
            id,
            price,
            size,
            symbol,
            previous: S::Key::NONE,
            next: S::Key::NONE,
            side,
        };
        let key = match levels.get_mut(nodes, &rank(side, price)) {
            Some(level) => {
                order.previous = level.last;
                let key = store.insert(order)?;
                store.with_mut(level.last, |last| last.next = key);
                level.last = key;
                level.total += u64::from(size);
                key
            }
            None => {
                let key = store.insert(order)?;
                let level = Level {
                    total: u64::from(size),
                    price,
                    first: key,
                    last: key,
                };
                levels.insert(nodes, rank(side, price), level);
                key
            }
        };
        entry.insert(key);
        Ok(Outcome::Added)
    }

    fn reduce(&mut self, symbol: u32, message: &Message) -> Outcome {
        let book = &mut self.books[symbol as usize];
        let Some(&key) = book.ids.get(&message.id) else {
            return Outcome::Unknown;
        };
        let (had, price, side) = self.store.with_mut(key, |order| {
            let had = order.size;
            // An order to be removed keeps its size, which `unlink` subtracts
            // from the level.
            if message.size < had {
                order.size = had - message.size;
            }
            (had, order.price, order.side)
        });
        if message.size < had {
            let level = book.side(side).get_mut(&mut self.nodes, &rank(side, price));
            level.expect("it has the order").total -= u64::from(message.size);
            return Outcome::Reduced;
        }
        book.ids.remove(&message.id);
        self.unlink(symbol, key);
        if message.size > had {
            Outcome::Excess
        } else {
            Outcome::Removed
        }
    }

    fn delete(&mut self, symbol: u32, id: u64) -> Outcome {
        match self.books[symbol as usize].ids.remove(&id) {
            Some(key) => {
                self.unlink(symbol, key);
                Outcome::Removed
            }
            None => Outcome::Unknown,
        }
    }

    /// Removes an order from its level and the store; its id is removed already.
    fn unlink(&mut self, symbol: u32, key: S::Key) {
        let Market {
            store,
            books,
            nodes,
        } = self;
        let order = store.remove(key);
        let levels = books[symbol as usize].side_mut(order.side);
        let rank = rank(order.side, order.price);
        let level = levels.get_mut(nodes, &rank).expect("it has the order");
        level.total -= u64::from(order.size);
        if order.previous != S::Key::NONE {
            store.with_mut(order.previous, |previous| previous.next = order.next);
        } else {
            level.first = order.next;
        }
        if order.next != S::Key::NONE {
            store.with_mut(order.next, |next| next.previous = order.previous);
        } else {
            level.last = order.previous;
        }
        if level.first == S::Key::NONE {
            levels.remove(nodes, &rank);
        }
    }

    /// Live orders, all symbols together.
    pub(crate) fn len(&self) -> usize {
        self.store.len()
    }

    /// Best prices of one symbol, and the shares at them.
    pub(crate) fn top(&self, symbol: u32) -> Top {
        let best = |side| match self.books[symbol as usize].side(side).last(&self.nodes) {
            Some((_, level)) => (level.price, level.total),
            None => (0, 0),
        };
        let (ask, ask_size) = best(Side::Sell);
        let (bid, bid_size) = best(Side::Buy);
        Top {
            ask,
            ask_size,
            bid,
            bid_size,
        }
    }

    /// Calls `visit` with every order: by symbol, bids before asks, from the worst
    /// price to the best, in the order of arrival.
    pub(crate) fn walk(&self, mut visit: impl FnMut(&Order<S::Key>)) {
        for book in &self.books {
            for (_, level) in book
                .bids
                .iter(&self.nodes)
                .chain(book.asks.iter(&self.nodes))
            {
                let mut key = level.first;
                while key != S::Key::NONE {
                    key = self.store.with(key, |order| {
                        visit(order);
                        order.next
                    });
                }
            }
        }
    }

    /// A hash of every order in the order of [`walk`](Self::walk): different books
    /// have different digests, up to the chance of a 64-bit collision.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.walk(|order| {
            digest.add(u64::from(order.symbol) << 1 | u64::from(order.side == Side::Buy));
            digest.add(order.id);
            digest.add(u64::from(order.price) << 32 | u64::from(order.size));
        });
        digest.finish()
    }

    /// Checks every invariant of the module header.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut mapped = 0;
        for (symbol, book) in self.books.iter().enumerate() {
            mapped += book.ids.len();
            let mut listed = 0;
            for (side, levels) in [(Side::Buy, &book.bids), (Side::Sell, &book.asks)] {
                for (&at, level) in levels.iter(&self.nodes) {
                    let name = || format!("symbol {symbol}, {side:?} {}", level.price);
                    if at != rank(side, level.price) {
                        return Err(format!("{} has another rank (B3)", name()));
                    }
                    listed += self
                        .check_level(symbol, side, level, &book.ids)
                        .map_err(|fault| format!("{}: {fault}", name()))?;
                }
            }
            if listed != book.ids.len() {
                return Err(format!(
                    "symbol {symbol}: {listed} orders in levels, {} in the map (B1)",
                    book.ids.len()
                ));
            }
        }
        if mapped != self.store.len() {
            return Err(format!(
                "{mapped} orders in the maps, {} in the store (B4)",
                self.store.len()
            ));
        }
        Ok(())
    }

    /// Checks one level and returns how many orders it has.
    fn check_level(
        &self,
        symbol: usize,
        side: Side,
        level: &Level<S::Key>,
        ids: &Ids<S::Key>,
    ) -> Result<usize, String> {
        let (mut count, mut total) = (0, 0);
        let (mut previous, mut key) = (S::Key::NONE, level.first);
        while key != S::Key::NONE {
            let order = self.store.with(key, |order| *order);
            let fault = |fault| Err(format!("order {} {fault}", order.id));
            if ids.get(&order.id) != Some(&key) {
                return fault("is not in the map (B1)");
            }
            if order.previous != previous {
                return fault("has a wrong link to the previous one (B1)");
            }
            if order.price != level.price || order.side != side || order.symbol as usize != symbol {
                return fault("is in the wrong list (B5)");
            }
            if order.size == 0 {
                return fault("is empty (B2)");
            }
            count += 1;
            total += u64::from(order.size);
            (previous, key) = (key, order.next);
        }
        if previous != level.last {
            return Err("the list does not end with its last order (B1)".to_owned());
        }
        if count == 0 || total != level.total {
            return Err(format!(
                "{count} orders with {total} shares, {} noted (B2)",
                level.total
            ));
        }
        Ok(count)
    }
}

/// Removes the orders one by one: a store of boxes does not track them.
impl<S: Store> Drop for Market<S> {
    fn drop(&mut self) {
        for book in &mut self.books {
            for (_, key) in book.ids.drain() {
                self.store.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
