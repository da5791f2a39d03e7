//! The matching engine: price and time priority over the orders of a store.
//!
//! Who owns the orders, how they name them and what they are told is up to the engine's
//! [`Clients`]: sessions that name an order by its key (`sessions.rs`), or clients that number
//! their orders themselves (`numbers.rs`).
//!
//! # Invariants
//!
//! * E1: the ends of levels and the links of orders name orders in the store; each order is in
//!   exactly one list of a level, and known to the clients.
//! * E2: a level's shares are the sum of those of its orders.
//! * E3: no bid is at an ask or above.

use std::num::NonZeroU32;

use order_flow::message::Side;

use crate::book::{Books, LevelId, NoRoom, rank};
use crate::order::Order;
use crate::sessions::Sessions;
use crate::store::Store;

/// The books of all symbols over one store.
pub struct Engine<S: Store, C = Sessions<<S as Store>::Link>> {
    /// The orders.
    pub store: S,
    /// The prices.
    pub books: Books<S::Link>,
    /// The owners of the orders.
    pub clients: C,
}

/// The owners of the orders.
pub trait Clients<S: Store> {
    /// Notes that two orders trade.
    fn trade(&mut self, fill: &Fill, maker: &mut S::Owner, taker: &mut S::Owner);
    /// Notes that an order rests.
    fn rest(&mut self, store: &mut S, link: S::Link);
    /// Notes that an order rests no more.
    fn leave(&mut self, store: &mut S, order: &Order<S::Link, S::Owner>);
}

/// One trade.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Whose book it is.
    pub symbol: usize,
    /// The side of the order that rested.
    pub side: Side,
    /// The price of the order that rested.
    pub price: i64,
    /// Shares.
    pub quantity: u32,
}

/// A limit order that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// Whose book it is for.
    pub symbol: usize,
    /// Its side.
    pub side: Side,
    /// Its limit.
    pub price: i64,
    /// Shares.
    pub quantity: NonZeroU32,
    /// Whether what does not trade at once rests.
    pub rests: bool,
}

impl<S: Store, C: Clients<S>> Engine<S, C> {
    /// Enters an order: it trades with the orders that it crosses, and the rest of it rests.
    /// Returns the shares that did not trade, and where they rest, if they do.
    ///
    /// # Errors
    ///
    /// If it could need memory for a price that there is not; nothing has changed then.
    #[inline(always)]
    pub fn enter(
        &mut self,
        order: &Incoming,
        mut owner: S::Owner,
    ) -> Result<(u32, Option<S::Link>), NoRoom> {
        let opposite = opposite(order.side);
        let (limit, rank) = (rank(order.price, opposite), rank(order.price, order.side));
        if order.rests && !self.books.has_room(order.symbol, order.side, order.price) {
            return Err(NoRoom);
        }
        let mut open = order.quantity.get();
        while open > 0 {
            let (best, level) = self.books.best(order.symbol, opposite);
            if best < limit {
                break;
            }
            open -= self.trade(level, open, &mut owner);
        }
        match NonZeroU32::new(open) {
            Some(left) if order.rests => {
                let level = self.books.occupy(order.symbol, order.side, rank)?;
                Ok((open, Some(self.rest(level, left, owner))))
            }
            _ => Ok((open, None)),
        }
    }

    /// Trades with the first order of a level; returns how much.
    fn trade(&mut self, level: LevelId, open: u32, taker: &mut S::Owner) -> u32 {
        let maker = self.books.level(level).first;
        let (symbol, side, price) = self.books.place(level);
        let mut order = self.store.order_mut(maker);
        let quantity = open.min(order.open.get());
        let fill = Fill {
            symbol,
            side,
            price,
            quantity,
        };
        self.clients.trade(&fill, &mut order.owner, taker);
        match NonZeroU32::new(order.open.get() - quantity) {
            Some(left) => {
                order.open = left;
                self.books.level_mut(level).open -= u64::from(quantity);
            }
            None => {
                drop(order);
                self.remove(maker);
            }
        }
        quantity
    }

    /// Puts an order at the end of its level.
    #[inline(always)]
    fn rest(&mut self, level: LevelId, open: NonZeroU32, owner: S::Owner) -> S::Link {
        let there = self.books.level_mut(level);
        let link = self.store.insert(Order {
            earlier: there.last,
            later: S::NONE,
            open,
            level,
            owner,
        });
        there.open += u64::from(open.get());
        let last = std::mem::replace(&mut there.last, link);
        if last == S::NONE {
            there.first = link;
        } else {
            self.store.order_mut(last).later = link;
        }
        self.clients.rest(&mut self.store, link);
        link
    }

    /// Takes an order out of its level and out of the store.
    #[inline(always)]
    pub fn remove(&mut self, link: S::Link) -> Order<S::Link, S::Owner> {
        let order = self.store.remove(link);
        let level = self.books.level_mut(order.level);
        level.open -= u64::from(order.open.get());
        if order.earlier == S::NONE {
            level.first = order.later;
        } else {
            self.store.order_mut(order.earlier).later = order.later;
        }
        if order.later == S::NONE {
            level.last = order.earlier;
        } else {
            self.store.order_mut(order.later).earlier = order.earlier;
        }
        if order.earlier == order.later {
            // Both are the end of the list.
            self.books.vacate(order.level);
        }
        self.clients.leave(&mut self.store, &order);
        order
    }

    /// Withdraws shares of an order, which keeps its place; all of them, and the order is gone.
    /// Returns whether it still rests.
    pub fn reduce(&mut self, link: S::Link, quantity: u32) -> bool {
        let mut order = self.store.order_mut(link);
        let left = order.open.get().saturating_sub(quantity);
        let Some(left) = NonZeroU32::new(left) else {
            drop(order);
            self.remove(link);
            return false;
        };
        order.open = left;
        let level = order.level;
        drop(order);
        self.books.level_mut(level).open -= u64::from(quantity);
        true
    }

    /// Checks every invariant of the module header, and those of the books.
    ///
    /// # Errors
    ///
    /// The first one that does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        self.books.check()?;
        let mut listed = 0;
        for symbol in 0..self.books.symbols() {
            let [bid, ask] = [Side::Buy, Side::Sell].map(|side| self.books.best(symbol, side).1);
            if bid != LevelId::NONE && ask != LevelId::NONE {
                let (bid, ask) = (self.books.place(bid).2, self.books.place(ask).2);
                if bid >= ask {
                    return Err(format!("symbol {symbol} is crossed: {bid}, {ask} (E3)"));
                }
            }
            for side in [Side::Buy, Side::Sell] {
                for level in self.books.levels(symbol, side) {
                    listed += self.check_level(level)?;
                }
            }
        }
        match listed == self.store.len() {
            true => Ok(()),
            false => Err(format!(
                "{} orders, {listed} in levels (E1)",
                self.store.len()
            )),
        }
    }

    /// Checks one level and returns how many orders it has.
    fn check_level(&self, at: LevelId) -> Result<usize, String> {
        let (symbol, side, price) = self.books.place(at);
        let failed = |what: &str| Err(format!("symbol {symbol}, {side:?} {price}: {what}"));
        let level = self.books.level(at);
        let (mut count, mut open) = (0, 0);
        let (mut earlier, mut link) = (S::NONE, level.first);
        while link != S::NONE {
            let order = self.store.order(link);
            if order.earlier != earlier || order.level != at {
                return failed("a wrong link, or an order of another level (E1)");
            }
            count += 1;
            open += u64::from(order.open.get());
            (earlier, link) = (link, order.later);
        }
        match earlier == level.last && count > 0 && open == level.open {
            true => Ok(count),
            false => failed("other orders or shares (E1, E2)"),
        }
    }
}

/// The side that an order of `side` trades with.
#[inline(always)]
fn opposite(side: Side) -> Side {
    match side {
        Side::Buy => Side::Sell,
        Side::Sell => Side::Buy,
    }
}
