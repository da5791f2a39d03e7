//! The order book: price levels over orders in a shared store.
//!
//! A level is an intrusive list in the order of arrival. The level holds the keys
//! of its first and last order, and each order the keys of its neighbours. An
//! order is removed from any position in constant time, and no list allocates.
//!
//! A side keeps its levels in a `Vec` sorted from the worst price to the best.
//! The best is the last element. Most orders come and go near the best price, so
//! inserting a level moves few others. A side has some hundred levels; for many
//! thousands a tree would be better.
//!
//! The maps and the levels take their memory from a [`PageAllocator`]. It cuts small
//! blocks from shared pages, so the maps of thousands of symbols share huge pages.
//!
//! # Invariants
//!
//! * B1: the keys in `ids`, in the ends of levels and in the links of orders are
//!   keys of orders in the store, and each order is in exactly one list.
//! * B2: a level has at least one order, and `total` is the sum of their sizes,
//!   none of them 0.
//! * B3: levels are sorted, strictly, from worst to best.
//! * B4: `ids` of all symbols together have as many entries as the store.
//! * B5: an order's price, side and symbol are those of the list it is in.

use std::hint::black_box;

use flatslab::memory::PageAllocator;
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
#[derive(Clone, Debug)]
struct Level<K> {
    /// Shares of all orders together.
    total: u64,
    price: u32,
    first: K,
    last: K,
}

/// One side of one symbol.
#[derive(Debug)]
struct Levels<K> {
    side: Side,
    sorted: PagedVec<Level<K>>,
}

impl<K> Levels<K> {
    fn new(side: Side, memory: PageAllocator) -> Self {
        Levels {
            side,
            sorted: PagedVec::new_in(memory),
        }
    }

    /// The index of the level of `price`, or where to insert it.
    fn position(&self, price: u32) -> usize {
        self.sorted
            .partition_point(|level| self.side.is_worse(level.price, price))
    }

    /// The level of `price`, which has orders.
    fn at(&mut self, price: u32) -> &mut Level<K> {
        let position = self.position(price);
        let level = &mut self.sorted[position];
        debug_assert_eq!(level.price, price);
        level
    }

    fn best(&self) -> Option<&Level<K>> {
        self.sorted.last()
    }
}

/// The orders of one symbol.
#[derive(Debug)]
struct Book<K> {
    ids: Ids<K>,
    bids: Levels<K>,
    asks: Levels<K>,
}

impl<K> Book<K> {
    fn new(memory: &PageAllocator) -> Self {
        Book {
            ids: Ids::new_in(memory.clone()),
            bids: Levels::new(Side::Buy, memory.clone()),
            asks: Levels::new(Side::Sell, memory.clone()),
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
}

impl<S: Store> Market<S> {
    /// Empty books, whose maps and levels take their memory from `memory`.
    pub(crate) fn with_memory(store: S, symbols: u32, memory: &PageAllocator) -> Self {
        let mut books = PagedVec::with_capacity_in(symbols as usize, memory.clone());
        books.extend((0..symbols).map(|_| Book::new(memory)));
        Market { store, books }
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
            for side in [&mut book.bids, &mut book.asks] {
                side.sorted
                    .try_reserve_exact(levels)
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(())
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
        let Market { store, books } = self;
        let book = &mut books[symbol as usize];
        let Entry::Vacant(entry) = book.ids.entry(id) else {
            return Ok(Outcome::Duplicate);
        };
        let levels = match side {
            Side::Buy => &mut book.bids,
            Side::Sell => &mut book.asks,
        };
        let position = levels.position(price);
        let mut order = Order {
            id,
            price,
            size,
            symbol,
            previous: S::Key::NONE,
            next: S::Key::NONE,
            side,
        };
        let key = match levels.sorted.get_mut(position) {
            Some(level) if level.price == price => {
                order.previous = level.last;
                let key = store.insert(order)?;
                store.with_mut(level.last, |last| last.next = key);
                level.last = key;
                level.total += u64::from(size);
                key
            }
            _ => {
                let key = store.insert(order)?;
                let level = Level {
                    total: u64::from(size),
                    price,
                    first: key,
                    last: key,
                };
                levels.sorted.insert(position, level);
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
            book.side_mut(side).at(price).total -= u64::from(message.size);
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
        let Market { store, books } = self;
        let order = store.remove(key);
        let levels = books[symbol as usize].side_mut(order.side);
        let position = levels.position(order.price);
        let level = &mut levels.sorted[position];
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
            levels.sorted.remove(position);
        }
    }

    /// Live orders, all symbols together.
    pub(crate) fn len(&self) -> usize {
        self.store.len()
    }

    /// Best prices of one symbol, and the shares at them.
    pub(crate) fn top(&self, symbol: u32) -> Top {
        let best = |side| match self.books[symbol as usize].side(side).best() {
            Some(level) => (level.price, level.total),
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
            for level in book.bids.sorted.iter().chain(&book.asks.sorted) {
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
            for levels in [&book.bids, &book.asks] {
                let side = levels.side;
                for pair in levels.sorted.windows(2) {
                    if !side.is_worse(pair[0].price, pair[1].price) {
                        return Err(format!(
                            "symbol {symbol}, {side:?}: level {} is before {} (B3)",
                            pair[0].price, pair[1].price
                        ));
                    }
                }
                for level in &levels.sorted {
                    listed +=
                        self.check_level(symbol, side, level, &book.ids)
                            .map_err(|fault| {
                                format!("symbol {symbol}, {side:?} {}: {fault}", level.price)
                            })?;
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
