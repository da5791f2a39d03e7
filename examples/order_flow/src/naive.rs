//! The book that messages lead to, as simple as possible: no store and no links. The generator
//! and the scripts of the engine follow it, and the books on stores are compared with it.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;

use crate::message::{Kind, Message, Outcome, Side};
use crate::top::Top;

/// The levels of a side by their price: id and size of each order, in the order of arrival.
type Levels = BTreeMap<u32, VecDeque<(u64, u32)>>;

/// The book of one symbol.
#[derive(Debug, Default)]
pub struct NaiveBook {
    bids: Levels,
    asks: Levels,
    /// Side and price of each order, so that only one level is searched for it.
    places: HashMap<u64, (Side, u32)>,
}

impl NaiveBook {
    /// Applies a message.
    pub fn apply(&mut self, message: &Message) -> Outcome {
        let &Message {
            id,
            price,
            size,
            kind,
            side,
        } = message;
        let place = self.place(id);
        let (found_side, found_price, index) = match (kind, place) {
            (Kind::Hidden | Kind::Cross | Kind::Halt, _) => return Outcome::Inert,
            (Kind::Add, Some(_)) => return Outcome::Duplicate,
            (Kind::Add, None) => {
                let line = self.side_mut(side).entry(price).or_default();
                line.push_back((id, size));
                self.places.insert(id, (side, price));
                return Outcome::Added;
            }
            (_, None) => return Outcome::Unknown,
            (_, Some(place)) => place,
        };
        let levels = self.side_mut(found_side);
        let line = levels.get_mut(&found_price).expect("it has the order");
        let has = line[index].1;
        let outcome = match kind {
            Kind::Delete => Outcome::Removed,
            _ if size < has => Outcome::Reduced,
            _ if size == has => Outcome::Removed,
            _ => Outcome::Excess,
        };
        if outcome == Outcome::Reduced {
            line[index].1 -= size;
        } else {
            line.remove(index);
            if line.is_empty() {
                levels.remove(&found_price);
            }
            self.places.remove(&id);
        }
        outcome
    }

    /// Returns the best prices, and the shares at them.
    pub fn top(&self) -> Top {
        let shares = |line: &VecDeque<(u64, u32)>| line.iter().map(|o| u64::from(o.1)).sum();
        let mut top = Top::default();
        if let Some((&price, line)) = self.best_level(Side::Sell) {
            (top.ask, top.ask_size) = (price, shares(line));
        }
        if let Some((&price, line)) = self.best_level(Side::Buy) {
            (top.bid, top.bid_size) = (price, shares(line));
        }
        top
    }

    /// Returns the best price of a side; `None` if the side is empty.
    pub fn best(&self, side: Side) -> Option<u32> {
        Some(*self.best_level(side)?.0)
    }

    /// Returns id and size of the order of a side that trades next.
    pub fn first_in_line(&self, side: Side) -> Option<(u64, u32)> {
        self.best_level(side)?.1.front().copied()
    }

    /// Returns price, size and side of a live order.
    pub fn find(&self, id: u64) -> Option<(u32, u32, Side)> {
        let (side, price, index) = self.place(id)?;
        let size = self.side(side)[&price][index].1;
        Some((price, size, side))
    }

    /// Returns the number of prices of a side that have orders.
    pub fn levels(&self, side: Side) -> usize {
        self.side(side).len()
    }

    /// Returns the prices of a side that have orders, ascending.
    pub fn prices(&self, side: Side) -> impl Iterator<Item = u32> {
        self.side(side).keys().copied()
    }

    /// Returns the number of live orders.
    pub fn live_orders(&self) -> usize {
        self.places.len()
    }

    /// Returns side, price, id and size of every order: bids before asks, from the worst price to
    /// the best, in the order of arrival.
    pub fn orders(&self) -> Vec<(Side, u32, u64, u32)> {
        let bids = self.bids.iter().map(|level| (Side::Buy, level));
        let asks = self.asks.iter().rev().map(|level| (Side::Sell, level));
        bids.chain(asks)
            .flat_map(|(side, (&price, line))| {
                line.iter().map(move |&(id, size)| (side, price, id, size))
            })
            .collect()
    }

    fn side(&self, side: Side) -> &Levels {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut Levels {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    fn best_level(&self, side: Side) -> Option<(&u32, &VecDeque<(u64, u32)>)> {
        match side {
            Side::Buy => self.bids.last_key_value(),
            Side::Sell => self.asks.first_key_value(),
        }
    }

    /// Side and price of a live order, and its position in the line of that price.
    fn place(&self, id: u64) -> Option<(Side, u32, usize)> {
        let &(side, price) = self.places.get(&id)?;
        let line = &self.side(side)[&price];
        let index = line.iter().position(|order| order.0 == id)?;
        Some((side, price, index))
    }
}
