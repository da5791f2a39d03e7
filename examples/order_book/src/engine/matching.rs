//! The matching engine: commands in, trades and answers out.
//!
//! # Invariants
//!
//! * E1: the ends of levels and sessions and the links of orders name orders in the store;
//!   each order is in exactly one list of a level and in its session's.
//! * E2: a level has at least one order; its `open` is the sum of theirs, none of them 0.
//! * E3: levels are sorted, strictly, from worst to best, and no bid is at an ask or above.
//! * E4: an order's price, side and symbol are those of its level.

use order_flow::digest::Digest;
use order_flow::message::Side;
use order_flow::top::Top;
use serde::{Deserialize, Serialize};

use crate::engine::book::{Book, Level};
use crate::engine::command::{Command, Kind, Refusal, Response};
use crate::engine::order::Order;
use crate::engine::store::Store;
use crate::engine::tape::{Tape, Trade};

/// All but the orders themselves: what a snapshot has beside the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State<L> {
    books: Vec<Book<L>>,
    /// The newest order of each session.
    sessions: Vec<L>,
    /// What went out.
    pub tape: Tape,
}

/// The books of all symbols over one store.
pub struct Engine<S: Store> {
    pub(crate) store: S,
    /// The books and the tape.
    pub state: State<S::Link>,
}

/// How large an engine is at the start.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Books.
    pub symbols: usize,
    /// Sessions that can enter orders.
    pub sessions: usize,
    /// Prices of a side that there is memory for.
    pub levels: usize,
}

impl<S: Store> Engine<S> {
    /// Empty books over an empty store.
    pub fn new(store: S, extent: Extent) -> Self {
        let books = (0..extent.symbols).map(|_| Book::new(extent.levels));
        let state = State {
            books: books.collect(),
            sessions: vec![S::NONE; extent.sessions],
            tape: Tape::default(),
        };
        Engine { store, state }
    }

    /// Makes room for so many prices of each side, as an engine that is restored has not.
    pub fn reserve(&mut self, levels: usize) {
        for book in &mut self.state.books {
            book.reserve(levels);
        }
    }

    /// Prices that every side has room for.
    pub fn room(&self) -> Option<usize> {
        self.state.books.iter().map(Book::room).min()
    }

    /// Carries out one command.
    #[inline]
    pub fn apply(&mut self, command: &Command) -> Response {
        let done = match command.kind {
            Kind::New => self.enter(command, command.side, command.symbol),
            Kind::Cancel => self.cancel(command),
            Kind::Replace => self.replace(command),
            Kind::Reduce => self.reduce(command),
            Kind::CancelAll => self.cancel_all(command),
        };
        done.unwrap_or_else(|refusal| {
            self.state.tape.refuse(refusal);
            Response::Refused(refusal)
        })
    }

    /// The live order that a command names, if it is the session's.
    #[inline]
    fn own(&self, command: &Command) -> Result<S::Link, Refusal> {
        let link = self.store.find(command.id).ok_or(Refusal::NoSuchOrder)?;
        match self.store.order(link).session == command.session {
            true => Ok(link),
            false => Err(Refusal::NotYours),
        }
    }

    fn cancel(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        self.remove(link);
        Ok(Response::Cancelled)
    }

    fn replace(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        if command.quantity == 0 || command.price == 0 {
            return Err(Refusal::Nothing);
        }
        let Order { side, symbol, .. } = self.remove(link);
        self.enter(command, side, symbol)
    }

    fn reduce(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        if command.quantity == 0 {
            return Err(Refusal::Nothing);
        }
        let mut order = self.store.order_mut(link);
        if command.quantity >= order.open {
            drop(order);
            self.remove(link);
            return Ok(Response::Cancelled);
        }
        order.open -= command.quantity;
        let (price, side, symbol) = (order.price, order.side, order.symbol);
        drop(order);
        let levels = self.state.books[symbol as usize].side_mut(side);
        let position = levels.position(price);
        levels.sorted[position].open -= u64::from(command.quantity);
        Ok(Response::Reduced)
    }

    fn cancel_all(&mut self, command: &Command) -> Result<Response, Refusal> {
        let session = command.session as usize;
        if session >= self.state.sessions.len() {
            return Err(Refusal::Unknown);
        }
        let mut orders = 0;
        while self.state.sessions[session] != S::NONE {
            self.remove(self.state.sessions[session]);
            orders += 1;
        }
        Ok(Response::AllCancelled { orders })
    }

    /// Enters a limit order: trades with what it crosses, and lets the rest of it rest.
    #[inline]
    fn enter(&mut self, command: &Command, side: Side, symbol: u16) -> Result<Response, Refusal> {
        if command.quantity == 0 || command.price == 0 {
            return Err(Refusal::Nothing);
        }
        if usize::from(symbol) >= self.state.books.len()
            || command.session as usize >= self.state.sessions.len()
        {
            return Err(Refusal::Unknown);
        }
        let mut open = command.quantity;
        while open > 0
            && self.state.books[symbol as usize]
                .opposite_mut(side)
                .crossed_by(command.price)
        {
            open -= self.trade(command, side, symbol, open);
        }
        let traded = command.quantity - open;
        let id = (open > 0).then(|| self.rest(command, side, symbol, open));
        Ok(Response::Entered { traded, id })
    }

    /// Trades with the first order of the best level on the other side; returns how much.
    fn trade(&mut self, command: &Command, side: Side, symbol: u16, open: u32) -> u32 {
        let levels = self.state.books[symbol as usize].opposite_mut(side);
        let level = levels.sorted.last_mut().expect("it is crossed");
        let (maker, price) = (level.first, level.price);
        let mut order = self.store.order_mut(maker);
        let quantity = open.min(order.open);
        self.state.tape.trade(&Trade {
            symbol,
            side: order.side,
            price,
            quantity,
            maker: (order.session, order.reference),
            taker: (command.session, command.reference),
        });
        if quantity == order.open {
            drop(order);
            self.remove(maker);
        } else {
            order.open -= quantity;
            order.filled += quantity;
            level.open -= u64::from(quantity);
        }
        quantity
    }

    /// Puts what is left of an order at the end of its price, and returns its id.
    fn rest(&mut self, command: &Command, side: Side, symbol: u16, open: u32) -> u64 {
        let levels = self.state.books[symbol as usize].side_mut(side);
        let position = levels.position(command.price);
        let there = levels.sorted.get_mut(position);
        let there = there.filter(|level| level.price == command.price);
        let newest = &mut self.state.sessions[command.session as usize];
        let link = self.store.insert(Order {
            earlier: there.as_ref().map_or(S::NONE, |level| level.last),
            later: S::NONE,
            newer: S::NONE,
            older: *newest,
            price: command.price,
            open,
            filled: command.quantity - open,
            session: command.session,
            reference: command.reference,
            symbol,
            side,
        });
        if *newest != S::NONE {
            self.store.order_mut(*newest).newer = link;
        }
        *newest = link;
        match there {
            Some(level) => {
                self.store.order_mut(level.last).later = link;
                level.last = link;
                level.open += u64::from(open);
            }
            None => levels.sorted.insert(
                position,
                Level {
                    open: u64::from(open),
                    price: command.price,
                    first: link,
                    last: link,
                },
            ),
        }
        self.store.id(link)
    }

    /// Takes an order out of both of its lists and out of the store.
    #[inline]
    fn remove(&mut self, link: S::Link) -> Order<S::Link> {
        let order = self.store.remove(link);
        if order.newer != S::NONE {
            self.store.order_mut(order.newer).older = order.older;
        } else {
            self.state.sessions[order.session as usize] = order.older;
        }
        if order.older != S::NONE {
            self.store.order_mut(order.older).newer = order.newer;
        }
        let levels = self.state.books[order.symbol as usize].side_mut(order.side);
        let position = levels.position(order.price);
        let level = &mut levels.sorted[position];
        level.open -= u64::from(order.open);
        if order.earlier != S::NONE {
            self.store.order_mut(order.earlier).later = order.later;
        } else {
            level.first = order.later;
        }
        if order.later != S::NONE {
            self.store.order_mut(order.later).earlier = order.earlier;
        } else {
            level.last = order.earlier;
        }
        if level.first == S::NONE {
            levels.sorted.remove(position);
        }
        order
    }

    /// The number of books.
    pub fn symbols(&self) -> usize {
        self.state.books.len()
    }

    /// The best prices of a symbol, and the shares at them.
    pub fn top(&self, symbol: usize) -> Top {
        self.state.books[symbol].top()
    }

    /// A hash of the tape and of every order that rests, in the order in which they trade:
    /// the same for all stores.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.add(self.state.tape.hash);
        for book in &self.state.books {
            for level in book.bids.sorted.iter().chain(&book.asks.sorted) {
                let mut link = level.first;
                while link != S::NONE {
                    let order = self.store.order(link);
                    digest.add(u64::from(order.price) << 32 | u64::from(order.open));
                    digest.add(u64::from(order.session) << 32 | u64::from(order.filled));
                    digest.add(u64::from(order.symbol) << 1 | order.side as u64);
                    link = order.later;
                }
            }
        }
        digest.finish()
    }

    /// Checks every invariant of the module header.
    ///
    /// # Errors
    ///
    /// The first one that does not hold, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut listed = 0;
        for (symbol, book) in self.state.books.iter().enumerate() {
            let top = book.top();
            if top.bid >= top.ask && top.ask != 0 {
                return Err(format!("symbol {symbol} is crossed: {top} (E3)"));
            }
            for levels in [&book.bids, &book.asks] {
                let is_sorted =
                    |pair: &[Level<S::Link>]| levels.side.is_worse(pair[0].price, pair[1].price);
                if !levels.sorted.windows(2).all(is_sorted) {
                    return Err(format!("symbol {symbol}: levels are not sorted (E3)"));
                }
                for level in &levels.sorted {
                    listed += self.check_level(symbol, levels.side, level)?;
                }
            }
        }
        let mut owned = 0;
        for (session, &newest) in self.state.sessions.iter().enumerate() {
            let (mut newer, mut link) = (S::NONE, newest);
            while link != S::NONE {
                let order = self.store.order(link);
                if order.newer != newer || order.session as usize != session {
                    return Err(format!("session {session}: a wrong link or order (E1)"));
                }
                owned += 1;
                (newer, link) = (link, order.older);
            }
        }
        if listed != self.store.len() || owned != listed {
            let live = self.store.len();
            return Err(format!(
                "{live} orders, {listed} in levels, {owned} owned (E1)"
            ));
        }
        Ok(())
    }

    /// Checks one level and returns how many orders it has.
    fn check_level(
        &self,
        symbol: usize,
        side: Side,
        level: &Level<S::Link>,
    ) -> Result<usize, String> {
        let place = || format!("symbol {symbol}, {side:?} {}", level.price);
        let (mut count, mut open) = (0, 0);
        let (mut earlier, mut link) = (S::NONE, level.first);
        while link != S::NONE {
            let order = self.store.order(link);
            if order.earlier != earlier {
                return Err(format!("{}: a wrong link (E1)", place()));
            }
            if (order.price, order.side, usize::from(order.symbol)) != (level.price, side, symbol) {
                return Err(format!("{}: an order of another list (E4)", place()));
            }
            if order.open == 0 {
                return Err(format!("{}: an order of no shares (E2)", place()));
            }
            count += 1;
            open += u64::from(order.open);
            (earlier, link) = (link, order.later);
        }
        if earlier != level.last || count == 0 || open != level.open {
            return Err(format!("{}: {count} orders, {open} shares (E2)", place()));
        }
        Ok(count)
    }
}
