//! A second order book for tests, as simple as possible: no store, no links, and a
//! search for every order.

use std::collections::{BTreeMap, VecDeque};

use crate::feed::book::{Outcome, Top};
use crate::feed::message::{Kind, Message, Side};

#[derive(Default)]
pub(crate) struct NaiveBook {
    bids: BTreeMap<u32, VecDeque<(u64, u32)>>,
    asks: BTreeMap<u32, VecDeque<(u64, u32)>>,
}

impl NaiveBook {
    pub(crate) fn apply(&mut self, message: &Message) -> Outcome {
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
                self.side(side)
                    .entry(price)
                    .or_default()
                    .push_back((id, size));
                return Outcome::Added;
            }
            (_, None) => return Outcome::Unknown,
            (_, Some(place)) => place,
        };
        let levels = self.side(found_side);
        let line = levels.get_mut(&found_price).unwrap();
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
        }
        outcome
    }

    pub(crate) fn top(&self) -> Top {
        let shares = |line: &VecDeque<(u64, u32)>| line.iter().map(|o| u64::from(o.1)).sum();
        let mut top = Top::default();
        if let Some((&price, line)) = self.asks.first_key_value() {
            (top.ask, top.ask_size) = (price, shares(line));
        }
        if let Some((&price, line)) = self.bids.last_key_value() {
            (top.bid, top.bid_size) = (price, shares(line));
        }
        top
    }

    /// Side, price, id and size of every order, in the order of
    /// [`Market::walk`](crate::feed::book::Market::walk).
    pub(crate) fn orders(&self) -> Vec<(Side, u32, u64, u32)> {
        let bids = self.bids.iter().map(|level| (Side::Buy, level));
        let asks = self.asks.iter().rev().map(|level| (Side::Sell, level));
        bids.chain(asks)
            .flat_map(|(side, (&price, line))| {
                line.iter().map(move |&(id, size)| (side, price, id, size))
            })
            .collect()
    }

    fn side(&mut self, side: Side) -> &mut BTreeMap<u32, VecDeque<(u64, u32)>> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    fn place(&self, id: u64) -> Option<(Side, u32, usize)> {
        [(Side::Buy, &self.bids), (Side::Sell, &self.asks)]
            .into_iter()
            .find_map(|(side, levels)| {
                levels.iter().find_map(|(&price, line)| {
                    let index = line.iter().position(|order| order.0 == id)?;
                    Some((side, price, index))
                })
            })
    }
}
