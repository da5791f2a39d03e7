//! A generated flow of messages that resembles a busy hour of a real stock.
//!
//! It aims at the statistics of [`crate::stats`] and meets them by construction:
//!
//! * **Lives.** The life of an order is drawn when the order is added. The message
//!   that will remove it is reserved in a calendar, a ring of the coming messages.
//!   A message that is not reserved is an add or one of the rare kinds. Adds and
//!   removals therefore balance, and the mean life determines the number of live
//!   orders.
//! * **Draws** are stratified: of each 1,024 draws exactly one falls into each
//!   1/1024 of the distribution, in shuffled order. A quantile of a long flow
//!   hardly varies from seed to seed.
//! * **Rare kinds** have quotas: each message earns a fraction of one, and a
//!   whole one is spent at the next opportunity.
//! * **Executions** take the first order at a best price, or part of it. That widens
//!   the spread for the improving orders that wait. If the order had a long life
//!   left, the life goes to another order.
//! * **Standing orders.** Some hundreds of orders far from the best price have no
//!   reserved removal. They are most of the live orders, as in the real hour the
//!   orders that outlast it. They are removed only if the price reaches them.
//! * **Near and far.** Orders near the best price have shorter lives than others.
//! * **Prices.** An improving order (negative distance) needs a spread that is wide
//!   enough. If the spread is too narrow, the order waits. So distances stay as
//!   drawn, and the book never crosses.
//!
//! Only the ChaCha stream, integers and the exactly rounded operations of IEEE
//! floats are used: no logarithm whose last bit depends on the platform, no
//! sampling method that a new version of `rand` may change. A seed gives the same
//! messages on every platform and with every version.

use hashbrown::HashMap;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::message::{Kind, Message, Side};
use crate::naive::NaiveBook;
use crate::stats::CENT;

/// Messages of an hour, about; the unit of the quotas.
const HOUR: u64 = 92_000;

/// Per [`HOUR`]: partial cancels.
const CANCELS: u64 = 469;
/// Per [`HOUR`]: executions that leave part of the order.
const PARTIAL_EXECUTIONS: u64 = 1_111;
/// Per [`HOUR`]: executions that take the whole order.
const FULL_EXECUTIONS: u64 = 2_956;
/// Per [`HOUR`]: executions of hidden orders.
const HIDDEN: u64 = 2_204;

/// Price in cents at which the market opens and to which it is pulled back.
const OPEN: i64 = 58_500;
/// Cents between the first order of a side and the best price of the other side.
const FIRST_SPREAD: i64 = 10;
/// Deviation from [`OPEN`], in cents, at which improving orders come from one side
/// only. Far larger than an hour's movement: it bounds the price of long flows.
const PULL: i64 = 2_000;

/// How many coming messages can be reserved. Twice the longest life drawn; only
/// about half of all messages are reserved, so a free one is near.
const CALENDAR: usize = 16_384;

/// Standing orders kept in the book.
const STANDING: usize = 292;
/// Cents from the best price at which standing orders begin.
const STANDING_DISTANCE: i64 = 100;

/// Cents from the best price at which the orders of [`Flow::with_resting`] begin:
/// farther than the price moves within hours.
const RESTING_DISTANCE: i64 = 1_000;
/// Prices of a side at which they rest.
const RESTING_LEVELS: u64 = 64;

/// An order nearer to the best price than this, in cents, is a near one.
const NEAR_DISTANCE: i64 = 4;
/// Share of adds that are near: where [`DISTANCES`], rounded, reaches
/// [`NEAR_DISTANCE`].
const NEAR: f64 = 0.41;
/// Near orders draw their lives from this share of [`LIVES`], the shorter lives;
/// the other orders draw correspondingly more of the rest. An order that stayed at
/// the best price for thousands of messages would keep the spread narrow: with equal
/// lives for all, two of three improving orders never fitted.
const NEAR_LIVES: f64 = 0.5;
/// Lives of at least this many messages are rare. If their order trades early, they
/// are given to another order.
const LONG_LIFE: i64 = 265;

/// A distribution as (share of values below, value): linear in between, from
/// share 0 to share 1.
type Knots = [(f64, f64)];

/// Life of an order in messages: the measured distribution, with two differences.
/// The standing orders replace the tail. There are fewer lives around the 90th
/// percentile, because lives given to other orders add some there.
const LIVES: &Knots = &[
    (0.00, 0.5),
    (0.07, 1.5),
    (0.16, 2.5),
    (0.20, 4.0),
    (0.30, 7.0),
    (0.40, 12.0),
    (0.50, 18.9),
    (0.60, 30.0),
    (0.70, 52.0),
    (0.80, 101.0),
    (0.90, 214.0),
    (0.95, 560.0),
    (0.98, 1_750.0),
    (0.99, 3_980.0),
    (1.00, 8_000.0),
];

/// Cents from the best price on the order's side, positive if the order is worse.
const DISTANCES: &Knots = &[
    (0.000, -40.0),
    (0.010, -15.0),
    (0.050, -5.0),
    (0.080, -3.5),
    (0.115, -2.5),
    (0.202, -0.5),
    (0.280, 0.5),
    (0.400, 3.0),
    (0.500, 8.0),
    (0.700, 18.0),
    (0.800, 32.0),
    (0.900, 74.0),
    (0.950, 124.0),
    (0.990, 174.0),
    (0.999, 464.0),
    (1.000, 1_000.0),
];

/// Shares of a new order: odd lots and round numbers.
const SIZES: &Knots = &[
    (0.000, 0.5),
    (0.090, 16.5),
    (0.115, 17.5),
    (0.225, 18.5),
    (0.330, 25.5),
    (0.375, 99.5),
    (0.375, 99.75),
    (0.885, 100.25),
    (0.885, 199.75),
    (0.960, 200.25),
    (0.980, 999.5),
    (0.997, 1_000.5),
    (1.000, 5_000.0),
];

/// The value below which `share` of the distribution lies, rounded.
fn quantile(knots: &Knots, share: f64) -> i64 {
    let upper = knots
        .partition_point(|knot| knot.0 <= share)
        .clamp(1, knots.len() - 1);
    let (from, to) = (knots[upper - 1], knots[upper]);
    let value = from.1 + (share - from.0) / (to.0 - from.0) * (to.1 - from.1);
    (value + 0.5).floor() as i64
}

/// Random numbers that do not depend on a crate's version.
pub struct Random(ChaCha8Rng);

impl Random {
    /// Begins the numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Draws a number below `limit`. The bias of the multiplication is below 2⁻⁴⁰ for the
    /// limits used here.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// At least 0, less than 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Draws shares, one from each stratum before any stratum repeats.
#[derive(Default)]
struct Strata {
    shuffled: Vec<u16>,
}

impl Strata {
    const COUNT: u16 = 1_024;

    fn draw(&mut self, random: &mut Random) -> f64 {
        if self.shuffled.is_empty() {
            self.shuffled.extend(0..Self::COUNT);
            for last in (1..self.shuffled.len()).rev() {
                self.shuffled
                    .swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        let stratum = self.shuffled.pop().expect("refilled when empty");
        (f64::from(stratum) + random.share()) / f64::from(Self::COUNT)
    }
}

/// Counts how many messages of a rare kind are due.
struct Quota {
    per_hour: u64,
    /// In units of 1/[`HOUR`] message.
    earned: u64,
}

impl Quota {
    fn new(per_hour: u64) -> Self {
        Quota {
            per_hour,
            earned: 0,
        }
    }

    fn earn(&mut self) {
        self.earned += self.per_hour;
    }

    fn is_due(&self) -> bool {
        self.earned >= HOUR
    }

    fn spend(&mut self) {
        self.earned -= HOUR;
    }
}

/// An endless iterator over the messages.
pub struct Flow {
    random: Random,
    /// The book after the messages so far.
    book: NaiveBook,
    /// Index of the next message, resting orders not counted.
    now: u64,
    /// Resting orders still to be added.
    resting: usize,
    next_id: u64,
    /// For each of the coming messages, the order it will remove; 0 for none.
    calendar: Vec<u64>,
    /// For each order in the calendar, the index of its removal, and its life.
    due: HashMap<u64, (u64, i64)>,
    /// Ids of live standing orders.
    standing: Vec<u64>,
    /// Distances of improving orders that wait for a wider spread.
    waiting: Vec<i64>,
    /// Long lives of orders that traded early.
    unlived: Vec<i64>,
    distances: Strata,
    sizes: Strata,
    lives: Strata,
    near_lives: Strata,
    cancels: Quota,
    partial_executions: Quota,
    full_executions: Quota,
    hidden: Quota,
}

impl Flow {
    /// Begins the flow of a seed.
    pub fn new(seed: u64) -> Self {
        Flow {
            random: Random::new(seed),
            book: NaiveBook::default(),
            now: 0,
            resting: 0,
            next_id: 1,
            calendar: vec![0; CALENDAR],
            due: HashMap::new(),
            standing: Vec::new(),
            waiting: Vec::new(),
            unlived: Vec::new(),
            distances: Strata::default(),
            sizes: Strata::default(),
            lives: Strata::default(),
            near_lives: Strata::default(),
            cancels: Quota::new(CANCELS),
            partial_executions: Quota::new(PARTIAL_EXECUTIONS),
            full_executions: Quota::new(FULL_EXECUTIONS),
            hidden: Quota::new(HIDDEN),
        }
    }

    /// Adds so many orders far from the best price as soon as there is one: they only
    /// make the book larger.
    pub fn with_resting(mut self, orders: usize) -> Self {
        self.resting = orders;
        self
    }

    /// The add of a resting order, if one is due.
    fn rest(&mut self) -> Option<Message> {
        let left = self.resting.checked_sub(1)?;
        let bid = self.book.best(Side::Buy)?;
        let ask = self.book.best(Side::Sell)?;
        self.resting = left;
        let away = RESTING_DISTANCE + self.random.below(RESTING_LEVELS) as i64;
        let (price, side) = match self.resting % 2 {
            0 => (i64::from(bid) - away * CENT, Side::Buy),
            _ => (i64::from(ask) + away * CENT, Side::Sell),
        };
        let id = self.next_id;
        self.next_id += 1;
        Some(Message {
            id,
            price: price as u32,
            size: quantile(SIZES, self.random.share()) as u32,
            kind: Kind::Add,
            side,
        })
    }

    /// The calendar's entry for the message that is `ahead` messages away.
    fn reserved(&mut self, ahead: u64) -> &mut u64 {
        &mut self.calendar[(self.now + ahead) as usize % CALENDAR]
    }

    /// A message about a live order.
    fn about(&self, kind: Kind, id: u64, size: u32) -> Message {
        let (price, _, side) = self.book.find(id).expect("the order is live");
        Message {
            id,
            price,
            size,
            kind,
            side,
        }
    }

    /// The message that removes an order at the end of its life. The order trades if
    /// it is the first at the best price, a trade is due and no improving order waits
    /// for that trade.
    fn removal(&mut self, id: u64) -> Message {
        self.due.remove(&id);
        let (_, size, side) = self.book.find(id).expect("only live orders are reserved");
        let kind = if self.full_executions.is_due()
            && self.waiting.is_empty()
            && self.book.first_in_line(side) == Some((id, size))
        {
            self.full_executions.spend();
            Kind::Execute
        } else {
            Kind::Delete
        };
        self.about(kind, id, size)
    }

    /// A message of a kind that has a quota, if one is due and possible.
    fn rare(&mut self) -> Option<Message> {
        // At random, or the kinds would come at regular intervals.
        if self.random.below(4) != 0 {
            return None;
        }
        let side = if self.random.below(2) == 0 {
            Side::Buy
        } else {
            Side::Sell
        };
        if self.hidden.is_due() {
            let price = self.book.best(side)?;
            self.hidden.spend();
            let size = quantile(SIZES, self.random.share()) as u32;
            return Some(Message {
                id: 0,
                price,
                size,
                kind: Kind::Hidden,
                side,
            });
        }
        if self.full_executions.is_due() && !self.waiting.is_empty() {
            let (id, size) = self.book.first_in_line(side)?;
            self.full_executions.spend();
            self.release(id);
            return Some(self.about(Kind::Execute, id, size));
        }
        if self.partial_executions.is_due() {
            let (id, size) = self.book.first_in_line(side)?;
            if size > 1 {
                self.partial_executions.spend();
                let part = 1 + self.random.below(u64::from(size) - 1) as u32;
                return Some(self.about(Kind::Execute, id, part));
            }
        }
        if self.cancels.is_due() {
            let ahead = self.random.below(256);
            let id = *self.reserved(ahead);
            if id != 0 {
                let (_, size, _) = self.book.find(id)?;
                if size > 1 {
                    self.cancels.spend();
                    return Some(self.about(Kind::Cancel, id, size.div_ceil(2)));
                }
            }
        }
        None
    }

    fn add(&mut self) -> Message {
        let id = self.next_id;
        self.next_id += 1;
        let (distance, side, cents) = self.place();
        let size = quantile(SIZES, self.sizes.draw(&mut self.random)) as u32;
        if distance >= STANDING_DISTANCE && self.standing.len() < STANDING {
            self.standing.push(id);
        } else {
            let life = if distance < NEAR_DISTANCE {
                quantile(LIVES, NEAR_LIVES * self.near_lives.draw(&mut self.random))
            } else if let Some(life) = self.unlived.pop() {
                life
            } else {
                quantile(LIVES, other_lives(self.lives.draw(&mut self.random)))
            };
            self.reserve(id, life);
        }
        Message {
            id,
            price: (cents * CENT) as u32,
            size,
            kind: Kind::Add,
            side,
        }
    }

    /// Distance, side and price in cents of the next add.
    fn place(&mut self) -> (i64, Side, i64) {
        let cents = |price: u32| i64::from(price) / CENT;
        let bid = self.book.best(Side::Buy).map(cents);
        let ask = self.book.best(Side::Sell).map(cents);
        let (bid, ask) = match (bid, ask) {
            (Some(bid), Some(ask)) => (bid, ask),
            // The first order of a side.
            (None, ask) => {
                let bid = ask.map_or(OPEN - FIRST_SPREAD / 2, |ask| ask - FIRST_SPREAD);
                return (0, Side::Buy, bid.max(1));
            }
            (Some(bid), None) => return (0, Side::Sell, bid + FIRST_SPREAD),
        };
        let fits = |distance: i64| ask - bid > -distance;
        let distance = match self.waiting.iter().position(|&distance| fits(distance)) {
            Some(position) => self.waiting.remove(position),
            None => loop {
                let distance = quantile(DISTANCES, self.distances.draw(&mut self.random));
                if fits(distance) {
                    break distance;
                }
                self.waiting.push(distance);
            },
        };
        let above_open = ((bid + ask) / 2 - OPEN).clamp(-PULL, PULL);
        let buys = if distance < 0 {
            PULL - above_open
        } else {
            PULL
        };
        if self.random.below(2 * PULL as u64) < buys as u64 {
            (distance, Side::Buy, (bid - distance).max(1))
        } else {
            (distance, Side::Sell, ask + distance)
        }
    }

    /// Cancels the reserved removal of an order, or removes it from `standing`.
    fn release(&mut self, id: u64) {
        if let Some((due, life)) = self.due.remove(&id) {
            self.calendar[due as usize % CALENDAR] = 0;
            if life >= LONG_LIFE {
                self.unlived.push(life);
            }
        } else if let Some(position) = self.standing.iter().position(|&other| other == id) {
            self.standing.swap_remove(position);
        }
    }

    /// Reserves the free message nearest to `life` messages from now. Later and
    /// earlier messages are tried in turn, so that taken ones neither lengthen nor
    /// shorten lives on average.
    fn reserve(&mut self, id: u64, life: i64) {
        let life = life.clamp(1, CALENDAR as i64 / 2);
        for step in 0..CALENDAR as i64 {
            let away = if step % 2 == 1 {
                step / 2 + 1
            } else {
                -(step / 2)
            };
            let ahead = life + away;
            if ahead >= 1 && ahead < CALENDAR as i64 {
                let reserved = self.reserved(ahead as u64);
                if *reserved == 0 {
                    *reserved = id;
                    let due = self.now + ahead as u64;
                    self.due.insert(id, (due, life));
                    return;
                }
            }
        }
        // Does not happen: about half of the calendar is free. The order would become
        // a standing one.
        self.standing.push(id);
    }
}

/// The share of [`LIVES`] from which an order that is not near draws its life. The
/// near orders take their part of the shorter lives, so this has fewer of them;
/// together they follow the distribution.
fn other_lives(share: f64) -> f64 {
    let density_below = (1.0 - NEAR / NEAR_LIVES) / (1.0 - NEAR);
    let below = NEAR_LIVES * density_below;
    if share < below {
        share / density_below
    } else {
        NEAR_LIVES + (share - below) * (1.0 - NEAR)
    }
}

impl Iterator for Flow {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        if let Some(message) = self.rest() {
            self.book.apply(&message);
            return Some(message);
        }
        for quota in [
            &mut self.cancels,
            &mut self.partial_executions,
            &mut self.full_executions,
            &mut self.hidden,
        ] {
            quota.earn();
        }
        let message = match std::mem::take(self.reserved(0)) {
            0 => match self.rare() {
                Some(message) => message,
                None => self.add(),
            },
            id => self.removal(id),
        };
        self.book.apply(&message);
        self.now += 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests;
