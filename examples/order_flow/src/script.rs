//! What happens to one symbol, by its own order numbers: messages of a feed, turned back
//! into what clients must have sent.
//!
//! A trade becomes an order from the other side, of its price and size. It trades with the
//! first order of the best level, so where a recorded trade names another one, that order
//! is reduced instead. What concerns no visible order is left out.

use std::collections::HashMap;

use crate::message::{Kind, Message, Outcome, Side};
use crate::naive::NaiveBook;

/// Prices of one side that an engine keeps on a page.
pub const PRICES_TO_A_PAGE: u32 = 64;

/// One step of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An order rests.
    Rest(Message),
    /// An order trades with this one, which is first in line. What is more than
    /// `quantity` rests.
    Take {
        /// The order that rests.
        id: u64,
        /// Shares that trade.
        quantity: u32,
        /// Shares that rest.
        surplus: u32,
        /// Dollars × 10,000.
        price: u32,
        /// The side of the order that rests.
        side: Side,
    },
    /// What the last step let rest is withdrawn.
    Withdraw,
    /// Part of an order is withdrawn.
    Reduce {
        /// The order.
        id: u64,
        /// Shares that are withdrawn.
        quantity: u32,
    },
    /// An order is withdrawn.
    Cancel {
        /// The order.
        id: u64,
    },
    /// An order is withdrawn, and another rests on its side.
    Replace {
        /// The order.
        id: u64,
        /// The one that rests.
        by: Message,
    },
}

/// Steps, and how large the book becomes.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The first steps, that only fill the book.
    pub opening: usize,
    /// For each step, the number of messages up to it.
    pub rows: Vec<usize>,
    /// Order numbers are below this one.
    pub ids: u64,
    /// Every price is a multiple of this; at least 1.
    pub tick: u32,
    /// The most pages of a side that have orders.
    pub pages: usize,
}

/// Of the pairs of a cancel and a new order on its side, every so many are replacements.
const REPLACED: usize = 2;
/// Of the trades that end a level, every so many leave a surplus that rests.
const SURPLUS: usize = 8;
/// Shares of it.
const SURPLUS_SHARES: u32 = 100;

impl Script {
    /// One step for each message that concerns a visible order. Orders are numbered from 0: an
    /// exchange's numbers may be any, and [`Traffic`](crate::traffic::Traffic) has a table
    /// of them.
    pub fn of_messages(messages: &[Message]) -> Self {
        let mut numbers = HashMap::new();
        let numbered = messages.iter().map(|message| {
            let next = numbers.len() as u64;
            let id = *numbers.entry(message.id).or_insert(next);
            Message { id, ..*message }
        });
        Self::new(&numbered.collect::<Vec<_>>(), 0, false)
    }

    /// The book that the first messages lead to, then the others: with replacements, and with
    /// orders that trade and rest, which a feed shows as two messages.
    pub fn after(first: usize, messages: &[Message]) -> Self {
        Self::new(messages, first, true)
    }

    fn new(messages: &[Message], first: usize, pairs: bool) -> Self {
        let mut book = NaiveBook::default();
        let adds = messages.iter().filter(|message| message.kind == Kind::Add);
        let tick = adds.fold(0, |tick, message| gcd(tick, message.price));
        let mut script = Script {
            tick: tick.max(1),
            ..Script::default()
        };
        for message in &messages[..first] {
            book.apply(message);
        }
        let mut row = first;
        for (side, price, id, size) in book.orders() {
            script.steps.push(Step::Rest(Message {
                id,
                price,
                size,
                kind: Kind::Add,
                side,
            }));
            script.rows.push(row);
            script.ids = script.ids.max(id + 1);
        }
        script.note_pages(&book);
        // In the order of arrival, which is that of their numbers.
        script.steps.sort_by_key(|step| match step {
            Step::Rest(message) => message.id,
            _ => 0,
        });
        script.opening = script.steps.len();
        let (mut replaceable, mut ending) = (0, 0);
        while let Some(message) = messages.get(row) {
            let Message { id, size, side, .. } = *message;
            let order = book.find(id);
            let is_first = book.first_in_line(side).map(|first| first.0) == Some(id);
            let top = book.top();
            let best = match side {
                Side::Buy => top.bid_size,
                Side::Sell => top.ask_size,
            };
            let outcome = book.apply(message);
            row += 1;
            let step = match (message.kind, outcome) {
                (Kind::Add, Outcome::Added) => Step::Rest(*message),
                (Kind::Execute, _) if order.is_some() && is_first => {
                    let alone = outcome == Outcome::Removed && u64::from(size) == best;
                    ending += usize::from(alone);
                    let has_surplus = pairs && alone && ending % SURPLUS == 0;
                    let (price, had, _) = order.expect("it is live");
                    Step::Take {
                        id,
                        // What the order does not have does not trade.
                        quantity: size.min(had),
                        surplus: if has_surplus { SURPLUS_SHARES } else { 0 },
                        price,
                        side,
                    }
                }
                (_, Outcome::Reduced) => Step::Reduce { id, quantity: size },
                (_, Outcome::Removed | Outcome::Excess) => {
                    let next = messages
                        .get(row)
                        .filter(|next| pairs && next.kind == Kind::Add && next.side == side);
                    replaceable += usize::from(next.is_some());
                    match next {
                        Some(by) if replaceable % REPLACED == 0 => {
                            book.apply(by);
                            row += 1;
                            Step::Replace { id, by: *by }
                        }
                        _ => Step::Cancel { id },
                    }
                }
                _ => continue,
            };
            if matches!(step, Step::Rest(_) | Step::Replace { .. }) {
                script.note_pages(&book);
            }
            script.ids = script.ids.max(id + 2);
            script.steps.push(step);
            script.rows.push(row);
            if matches!(step, Step::Take { surplus: 1.., .. }) {
                script.steps.push(Step::Withdraw);
                script.rows.push(row);
            }
        }
        script
    }

    /// Notes how many pages of prices each side of the book takes.
    fn note_pages(&mut self, book: &NaiveBook) {
        for side in [Side::Buy, Side::Sell] {
            let pages = book
                .prices(side)
                .map(|price| price / self.tick / PRICES_TO_A_PAGE);
            let (_, count) = pages.fold((None, 0), |(last, count), page| {
                (Some(page), count + usize::from(last != Some(page)))
            });
            self.pages = self.pages.max(count);
        }
    }
}

/// The greatest common divisor.
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
