//! Clients that number their orders themselves, each number once at a time, from 0 on without
//! large gaps: a table leads from a number to the key of the order.
//!
//! A key has a generation, so the table is not written when an order trades: a cancel that comes
//! after that finds a key of no order.
//!
//! # Invariants
//!
//! * N1: the table has the id of each order under its number; the bit of a number is set exactly
//!   if its order rests.

use std::num::NonZeroU32;

use order_flow::command::{NO_ID, Refusal};
use order_flow::message::Side;

use crate::book::Books;
use crate::matching::{Clients, Engine, Fill, Incoming};
use crate::order::Order;
use crate::store::Store;

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was accepted.
    Accepted,
    /// It traded with an order that rested, at the price of that.
    Traded {
        /// The number of the order that rested.
        maker: u64,
    },
    /// It was cancelled, or the rest of it, which does not rest.
    Cancelled,
    /// It has another price or quantity.
    Modified,
    /// It was not cancelled, because it does not rest.
    CancelRejected,
    /// It was not modified, because it does not rest.
    ModifyRejected,
}

/// What the client is told. What an event has no use for is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What happened.
    pub event: Event,
    /// Of the message that it happened upon.
    pub sequence: u64,
    /// The order that the message was about.
    pub number: u64,
    /// Of the order; of a trade, the price of the order that rested.
    pub price: i64,
    /// Shares of the order; of a trade, those that traded.
    pub quantity: u32,
    /// Of the order.
    pub side: Side,
}

impl Report {
    /// A report of a message about an order that there is not.
    pub fn of_none(event: Event, number: u64, sequence: u64) -> Self {
        Report {
            event,
            sequence,
            number,
            price: 0,
            quantity: 0,
            side: Side::Buy,
        }
    }
}

/// Takes the reports.
pub trait Reports {
    /// Takes one.
    fn push(&mut self, report: Report);
}

/// One client's numbers, and its reports.
pub struct Numbers<R> {
    /// By number.
    ids: Vec<u64>,
    /// A bit for each number.
    resting: Vec<u64>,
    /// Of the message that is carried out.
    sequence: u64,
    side: Side,
    /// The way out.
    pub reports: R,
}

/// A new order, or what is to become of one.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The order.
    pub number: u64,
    /// Of the message.
    pub sequence: u64,
    /// In ticks: any but the lowest and the highest number.
    pub price: i64,
    /// Shares.
    pub quantity: u32,
    /// Its side.
    pub side: Side,
    /// Whether what does not trade at once rests.
    pub rests: bool,
}

impl<R: Reports, S: Store<Owner = u32>> Clients<S> for Numbers<R> {
    #[inline(always)]
    fn trade(&mut self, fill: &Fill, maker: &mut u32, taker: &mut u32) {
        self.reports.push(Report {
            event: Event::Traded {
                maker: u64::from(*maker),
            },
            sequence: self.sequence,
            number: u64::from(*taker),
            price: fill.price,
            quantity: fill.quantity,
            side: self.side,
        });
    }

    #[inline(always)]
    fn rest(&mut self, store: &mut S, link: S::Link) {
        let number = store.order(link).owner as usize;
        self.ids[number] = store.id(link);
        self.resting[number / 64] |= 1 << (number % 64);
    }

    #[inline(always)]
    fn leave(&mut self, _: &mut S, order: &Order<S::Link, u32>) {
        let number = order.owner as usize;
        self.resting[number / 64] &= !(1 << (number % 64));
    }
}

impl<R: Reports> Numbers<R> {
    /// No order. Numbers are below `limit`, which is less than 2³².
    fn new(limit: usize, reports: R) -> Self {
        let limit = limit.min(u32::MAX as usize);
        // Written, so that no page of it is a fault of an order.
        let mut ids = Vec::new();
        ids.resize_with(limit, || std::hint::black_box(NO_ID));
        Numbers {
            ids,
            resting: vec![0; limit.div_ceil(64)],
            sequence: 0,
            side: Side::Buy,
            reports,
        }
    }

    /// Prefetches the place of a number: numbers are in no order, and the table fits no cache.
    #[inline(always)]
    fn prefetch(&self, number: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(place) = self.ids.get(number) {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: a hint, of a reference's address.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(place).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = number;
    }

    #[inline(always)]
    fn rests(&self, number: usize) -> bool {
        self.resting[number / 64] >> (number % 64) & 1 == 1
    }
}

impl<R: Reports, S: Store<Owner = u32>> Engine<S, Numbers<R>> {
    /// An empty book of one symbol over an empty store, for order numbers below `limit`.
    pub fn numbered(store: S, pages: usize, limit: usize, reports: R) -> Self {
        Engine {
            store,
            books: Books::new(1, pages, S::NONE),
            clients: Numbers::new(limit, reports),
        }
    }

    /// Enters a new order.
    ///
    /// # Errors
    ///
    /// If it has no shares, a price that is none, a number above the limit or that of an order that
    /// rests, or there is no memory for its price. Nothing has changed then.
    #[inline(always)]
    pub fn new_order(&mut self, terms: &Terms) -> Result<(), Refusal> {
        let number = terms.number as usize;
        self.clients.prefetch(number);
        let order = incoming(terms)?;
        if terms.number >= self.clients.ids.len() as u64 {
            return Err(Refusal::Unknown);
        }
        if self.clients.rests(number) {
            return Err(Refusal::NumberInUse);
        }
        if order.rests && !self.books.has_room(0, terms.side, terms.price) {
            return Err(Refusal::NoRoom);
        }
        self.clients.reports.push(terms.report(Event::Accepted));
        let open = self.admit(terms, &order);
        if open > 0 && !order.rests {
            self.clients.reports.push(terms.report(Event::Cancelled));
        }
        Ok(())
    }

    /// Cancels an order.
    #[inline(always)]
    pub fn cancel_order(&mut self, number: u64, sequence: u64) {
        let mut report = Report::of_none(Event::CancelRejected, number, sequence);
        if let Some(link) = self.find(number) {
            let level = self.store.order(link).level;
            (_, report.side, report.price) = self.books.place(level);
            report.event = Event::Cancelled;
            self.remove(link);
        }
        self.clients.reports.push(report);
    }

    /// Withdraws an order and enters it again with another price and quantity, on its side and
    /// after the orders that are there. It is rejected, and nothing changes, if it does not rest,
    /// or the new terms would be refused.
    #[inline(always)]
    pub fn modify_order(&mut self, terms: &Terms) {
        let mut terms = *terms;
        let found = self.find(terms.number).and_then(|link| {
            let level = self.store.order(link).level;
            (_, terms.side, _) = self.books.place(level);
            let order = incoming(&terms).ok()?;
            let fits = self.books.has_room(0, terms.side, terms.price);
            fits.then_some((link, order))
        });
        let Some((link, order)) = found else {
            let report = Report::of_none(Event::ModifyRejected, terms.number, terms.sequence);
            return self.clients.reports.push(report);
        };
        self.remove(link);
        self.clients.reports.push(terms.report(Event::Modified));
        self.admit(&terms, &order);
    }

    /// Lets an order trade and rest that fits; returns the shares that did not trade.
    #[inline(always)]
    fn admit(&mut self, terms: &Terms, order: &Incoming) -> u32 {
        self.clients.sequence = terms.sequence;
        self.clients.side = terms.side;
        let entered = self.enter(order, terms.number as u32);
        entered.expect("there is room").0
    }

    /// The order of a number, if it rests.
    #[inline(always)]
    fn find(&self, number: u64) -> Option<S::Link> {
        let number = usize::try_from(number).ok()?;
        let id = *self.clients.ids.get(number)?;
        if S::TRUSTS_IDS && !self.clients.rests(number) {
            return None;
        }
        self.store.find(id)
    }
}

impl Terms {
    /// The report of an event of this order.
    pub fn report(&self, event: Event) -> Report {
        Report {
            event,
            sequence: self.sequence,
            number: self.number,
            price: self.price,
            quantity: self.quantity,
            side: self.side,
        }
    }
}

/// An order of these terms.
#[inline(always)]
fn incoming(terms: &Terms) -> Result<Incoming, Refusal> {
    if matches!(terms.price, i64::MIN | i64::MAX) {
        return Err(Refusal::Nothing);
    }
    Ok(Incoming {
        symbol: 0,
        side: terms.side,
        price: terms.price,
        quantity: NonZeroU32::new(terms.quantity).ok_or(Refusal::Nothing)?,
        rests: terms.rests,
    })
}
