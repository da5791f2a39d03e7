//! The order book: price levels over orders in a shared store.
//!
//! A level is an intrusive list, first come first served: it knows the keys
//! of its first and last order, and every order those of its neighbours. So
//! an order leaves from anywhere in line in constant time, and no list ever
//! allocates.
//!
//! A side keeps its levels in a `Vec` sorted from the worst price to the best:
//! the best is at hand as the last, and since most orders come and go near it,
//! inserting a level moves few others. A side has some hundred levels; for many
//! thousands a tree would be better.
//!
//! # Invariants
//!
//! * B1: the keys in `ids`, in the levels' ends and in the orders' links are
//!   keys of orders in the store, and each order is in exactly one list.
//! * B2: a level has at least one order, and `total` is the sum of their sizes,
//!   none of them 0.
//! * B3: levels are sorted, strictly, from worst to best.
//! * B4: `ids` of all symbols together have as many entries as the store.
//! * B5: an order's price, side and symbol are those of the list it is in.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::message::{Kind, Message, Side};
use crate::store::{Link, Order, Store, StoreFull};

/// All orders at one price, in the order they came.
#[derive(Clone, Debug)]
struct Level<K> {
    /// Shares, all orders together.
    total: u64,
    price: u32,
    first: K,
    last: K,
}

/// One side of one symbol.
#[derive(Debug)]
struct Levels<K> {
    side: Side,
    sorted: Vec<Level<K>>,
}

impl<K> Levels<K> {
    fn new(side: Side) -> Self {
        Levels {
            side,
            sorted: Vec::new(),
        }
    }

    /// Where the level of `price` is, or would be.
    fn position(&self, price: u32) -> usize {
        self.sorted
            .partition_point(|level| self.side.is_worse(level.price, price))
    }

    /// The level of a price that has orders.
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
    ids: HashMap<u64, K>,
    bids: Levels<K>,
    asks: Levels<K>,
}

impl<K> Book<K> {
    fn new() -> Self {
        Book {
            ids: HashMap::new(),
            bids: Levels::new(Side::Buy),
            asks: Levels::new(Side::Sell),
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

/// What a message did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A new order rests.
    Added,
    /// An order is smaller now.
    Reduced,
    /// An order has left.
    Removed,
    /// An order has left, and the message asked for more than it had.
    Excess,
    /// The id of an add is live already: not applied.
    Duplicate,
    /// No live order has this id: not applied.
    Unknown,
    /// The message concerns no visible order.
    Inert,
}

/// The top of one symbol's book: 0 where a side is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Top {
    /// Lowest price asked, dollars × 10,000.
    pub(crate) ask: u32,
    /// Shares at it.
    pub(crate) ask_size: u64,
    /// Highest price bid, dollars × 10,000.
    pub(crate) bid: u32,
    /// Shares at it.
    pub(crate) bid_size: u64,
}

/// The books of all symbols, over one store.
pub(crate) struct Market<S: Store> {
    store: S,
    books: Vec<Book<S::Key>>,
}

impl<S: Store> Market<S> {
    /// Empty books for `symbols` symbols.
    pub(crate) fn new(store: S, symbols: u32) -> Self {
        Market {
            store,
            books: (0..symbols).map(|_| Book::new()).collect(),
        }
    }

    /// Makes room for so many live orders in the index of each book.
    pub(crate) fn reserve_ids(&mut self, orders: usize) {
        for book in &mut self.books {
            book.ids.reserve(orders);
        }
    }

    /// The store, for its figures.
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    /// Applies one message to one symbol's book.
    ///
    /// # Errors
    ///
    /// [`StoreFull`] where an add finds no room; the books are as before.
    #[inline]
    pub(crate) fn apply(&mut self, symbol: u32, message: &Message) -> Result<Outcome, StoreFull> {
        Ok(match message.kind {
            Kind::Add => return self.add(symbol, message),
            Kind::Cancel | Kind::Execute => self.reduce(symbol, message),
            Kind::Delete => self.delete(symbol, message.id),
            Kind::Hidden | Kind::Cross | Kind::Halt => Outcome::Inert,
        })
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
            // An order about to leave keeps its size: its level must still
            // subtract it.
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

    /// Takes an order that `ids` no longer has out of its level and the store.
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

    /// Orders live, all symbols together.
    pub(crate) fn len(&self) -> usize {
        self.store.len()
    }

    /// Best prices and the shares there.
    pub(crate) fn top(&self, symbol: u32) -> Top {
        let book = &self.books[symbol as usize];
        let (ask, ask_size) = book
            .asks
            .best()
            .map_or((0, 0), |level| (level.price, level.total));
        let (bid, bid_size) = book
            .bids
            .best()
            .map_or((0, 0), |level| (level.price, level.total));
        Top {
            ask,
            ask_size,
            bid,
            bid_size,
        }
    }

    /// The best price of a side, `None` where it is empty.
    pub(crate) fn best(&self, symbol: u32, side: Side) -> Option<u32> {
        Some(self.books[symbol as usize].side(side).best()?.price)
    }

    /// Id and size of the order that trades next on a side.
    pub(crate) fn first_in_line(&self, symbol: u32, side: Side) -> Option<(u64, u32)> {
        let level = self.books[symbol as usize].side(side).best()?;
        Some(self.store.with(level.first, |order| (order.id, order.size)))
    }

    /// Price, size and side of a live order.
    pub(crate) fn find(&self, symbol: u32, id: u64) -> Option<(u32, u32, Side)> {
        let key = *self.books[symbol as usize].ids.get(&id)?;
        Some(
            self.store
                .with(key, |order| (order.price, order.size, order.side)),
        )
    }

    /// Calls `visit` with every order: by symbol, bids then asks, from the
    /// worst price to the best, first come first.
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

    /// A number that two markets share only if their books are the same, order
    /// by order, up to the odds of a 64-bit hash.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        self.walk(|order| {
            digest.add(u64::from(order.symbol) << 1 | u64::from(order.side == Side::Buy));
            digest.add(order.id);
            digest.add(u64::from(order.price) << 32 | u64::from(order.size));
        });
        digest.finish()
    }

    /// Walks every invariant of the module header.
    ///
    /// # Errors
    ///
    /// The first one that does not hold, in words.
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
                            "symbol {symbol}, {side:?}: level {} stands before {} (B3)",
                            pair[0].price, pair[1].price
                        ));
                    }
                }
                for level in &levels.sorted {
                    listed += self.check_level(symbol, side, level, &book.ids)?;
                }
            }
            if listed != book.ids.len() {
                return Err(format!(
                    "symbol {symbol}: {listed} orders in line, {} in the map (B1)",
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
        ids: &HashMap<u64, S::Key>,
    ) -> Result<usize, String> {
        let place = || format!("symbol {symbol}, {side:?} {}", level.price);
        let (mut count, mut total) = (0, 0);
        let (mut previous, mut key) = (S::Key::NONE, level.first);
        while key != S::Key::NONE {
            let order = self.store.with(key, |order| *order);
            if ids.get(&order.id) != Some(&key) {
                return Err(format!(
                    "{}: order {} is not in the map (B1)",
                    place(),
                    order.id
                ));
            }
            if order.previous != previous {
                return Err(format!(
                    "{}: order {} points back wrongly (B1)",
                    place(),
                    order.id
                ));
            }
            if order.price != level.price || order.side != side || order.symbol as usize != symbol {
                return Err(format!(
                    "{}: order {} is in a wrong line (B5)",
                    place(),
                    order.id
                ));
            }
            if order.size == 0 {
                return Err(format!("{}: order {} is empty (B2)", place(), order.id));
            }
            count += 1;
            total += u64::from(order.size);
            (previous, key) = (key, order.next);
        }
        if previous != level.last {
            return Err(format!(
                "{}: the line ends before its last order (B1)",
                place()
            ));
        }
        if count == 0 || total != level.total {
            return Err(format!(
                "{}: {count} orders of {total} shares, {} noted (B2)",
                place(),
                level.total
            ));
        }
        Ok(count)
    }
}

/// Gives the orders back one by one: a store of boxes does not know them.
impl<S: Store> Drop for Market<S> {
    fn drop(&mut self) {
        for book in &mut self.books {
            for (_, key) in book.ids.drain() {
                self.store.remove(key);
            }
        }
    }
}

/// FNV-1a over words, with a final mix: short, and the same everywhere.
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SlabCrateStore;

    fn market_of_two() -> Market<SlabCrateStore> {
        let mut market = Market::new(SlabCrateStore::default(), 1);
        for id in [1, 2] {
            let message = Message {
                id,
                price: 500,
                size: 10,
                kind: Kind::Add,
                side: Side::Buy,
            };
            assert_eq!(market.apply(0, &message), Ok(Outcome::Added));
        }
        market.check().unwrap();
        market
    }

    /// The check says nothing unless each of these makes it speak.
    #[test]
    fn check_finds_each_kind_of_damage() {
        type Damage = fn(&mut Market<SlabCrateStore>);
        let damages: [(&str, Damage); 5] = [
            ("(B1)", |market| {
                market.books[0].bids.sorted[0].last = Link::NONE
            }),
            ("(B1)", |market| market.books[0].bids.sorted.clear()),
            ("(B2)", |market| market.books[0].bids.sorted[0].total += 1),
            ("(B3)", |market| {
                let level = market.books[0].bids.sorted[0].clone();
                market.books[0].bids.sorted.push(level);
            }),
            ("(B5)", |market| market.books[0].bids.sorted[0].price += 1),
        ];
        for (name, damage) in damages {
            let mut market = market_of_two();
            damage(&mut market);
            let error = market.check().unwrap_err();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn check_finds_an_order_that_no_map_knows() {
        let mut market = market_of_two();
        let key = market.books[0].ids[&1];
        let order = market.store.with(key, |order| *order);
        market.store.insert(order).unwrap();
        assert!(market.check().unwrap_err().contains("(B4)"));
    }
}
