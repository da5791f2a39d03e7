//! Messages of the benchmark, the lines of its reports, each store, and an engine without one.

#![allow(dead_code, reason = "each test uses some of it")]

use flatslab_engine::WireReport;
use order_book::book::LevelId;
use order_book::matching::Engine;
use order_book::numbers::{Event, Numbers, Report, Reports, Terms};
use order_book::store::{
    BoundedKeyStore, BoundedSlabStore, BoxMapStore, ByHandStore, FloorStore, KeyStore, PoolStore,
    Room, SlabHashMapStore, SlabMapStore, SlabNumberStore, SlabStore, SlotMapStore, Store,
};
use order_flow::message::Side;
use order_flow::message::Side::{Buy, Sell};

/// One message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    New(Terms),
    Cancel(u64),
    Modify(Terms),
}

pub(crate) fn new(number: u64, side: Side, quantity: u32, price: i64, rests: bool) -> Message {
    Message::New(Terms {
        number,
        sequence: 0,
        price,
        quantity,
        side,
        rests,
    })
}

pub(crate) fn modify(number: u64, quantity: u32, price: i64) -> Message {
    match new(number, Buy, quantity, price, true) {
        Message::New(terms) => Message::Modify(terms),
        other => other,
    }
}

/// The message of a text: `buy`, `sell`, `modify`, a number and `shares@price`; `lift` and `hit`
/// the same, to buy and to sell at once or not at all; `cancel` and a number.
pub(crate) fn message(text: &str) -> Message {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = words[1].parse().expect(text);
    if words[0] == "cancel" {
        return Message::Cancel(number);
    }
    let (quantity, price) = words[2].split_once('@').expect(text);
    let (quantity, price) = (quantity.parse().expect(text), price.parse().expect(text));
    match words[0] {
        "buy" => new(number, Buy, quantity, price, true),
        "lift" => new(number, Buy, quantity, price, false),
        "sell" => new(number, Sell, quantity, price, true),
        "hit" => new(number, Sell, quantity, price, false),
        "modify" => modify(number, quantity, price),
        _ => panic!("{text} is no message"),
    }
}

/// Keeps the reports.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub Vec<Report>);

impl Reports for Kept {
    fn push(&mut self, report: Report) {
        self.0.push(report);
    }
}

/// An engine of any kind.
pub(crate) trait Plays {
    /// Carries out the message of this sequence number.
    fn play(&mut self, sequence: u64, message: &Message);
    /// The best price of a side.
    fn best(&mut self, side: Side) -> Option<i64>;
    /// Shares that rest at a price.
    fn depth(&mut self, side: Side, price: i64) -> u64;
    /// The reports since the last time.
    fn reports(&mut self) -> Vec<Report>;
}

impl<S: Store<Owner = u32>> Plays for Engine<S, Numbers<Kept>> {
    fn play(&mut self, sequence: u64, message: &Message) {
        match *message {
            Message::New(terms) => {
                let _ = self.new_order(&Terms { sequence, ..terms });
            }
            Message::Cancel(number) => self.cancel_order(number, sequence),
            Message::Modify(terms) => self.modify_order(&Terms { sequence, ..terms }),
        }
    }

    fn best(&mut self, side: Side) -> Option<i64> {
        match self.books.best(0, side).1 {
            LevelId::NONE => None,
            level => Some(self.books.place(level).2),
        }
    }

    fn depth(&mut self, side: Side, price: i64) -> u64 {
        let level = self.books.find(0, side, price);
        level.map_or(0, |level| self.books.level(level).open)
    }

    fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.clients.reports.0)
    }
}

/// What is done with an engine on each store.
pub(crate) trait Job {
    fn run<S: Store<Owner = u32>>(&mut self, name: &str, engine: Engine<S, Numbers<Kept>>);
}

/// Does it on every store.
pub(crate) fn on_every_store(orders: usize, pages: usize, numbers: usize, job: &mut impl Job) {
    macro_rules! on {
        ($($store:ident)*) => {$(
            let room = Room { orders, reserved: false };
            // SAFETY: the engine gives the store its own links alone, and asks it for ids of
            // orders that rest where the store trusts ids.
            let store = unsafe { $store::<u32>::open(room) }.unwrap();
            let engine = Engine::numbered(store, pages, numbers, Kept::default());
            job.run(stringify!($store), engine);
        )*};
    }
    on!(BoundedKeyStore KeyStore SlabStore BoundedSlabStore ByHandStore SlabNumberStore
        SlotMapStore SlabMapStore SlabHashMapStore BoxMapStore PoolStore FloorStore);
}

/// The reports as the lines that the consensus is of: sorted by message and kind.
pub(crate) fn lines(reports: &[Report]) -> String {
    let mut wired: Vec<WireReport> = reports.iter().map(|&report| report.into()).collect();
    wired.sort_by_key(|report| (report.sequence, report.kind));
    let mut text = String::new();
    for WireReport {
        kind,
        side,
        sequence,
        number,
        price,
        quantity,
        maker,
        taker,
        ..
    } in wired
    {
        use std::fmt::Write;
        let line = match kind {
            0 | 3 => writeln!(text, "{kind},{sequence},{side},{number},{price},{quantity}"),
            1 => writeln!(text, "1,{sequence},{price},{quantity},{maker},{taker}"),
            2 => writeln!(text, "2,{sequence},{side},{number},{price}"),
            _ => writeln!(text, "{kind},{sequence},{number}"),
        };
        line.unwrap();
    }
    text.pop();
    text
}

/// The engine as plainly as can be: all orders that rest, in the order of arrival, with what is left
/// of their shares.
#[derive(Debug, Default)]
pub(crate) struct Naive {
    orders: Vec<Terms>,
    kept: Vec<Report>,
}

impl Naive {
    fn enter(&mut self, mut order: Terms) {
        while order.quantity > 0 {
            let crosses = |it: &Terms| match order.side {
                Buy => it.side == Sell && it.price <= order.price,
                Sell => it.side == Buy && it.price >= order.price,
            };
            let crossed = self.orders.iter_mut().enumerate();
            let best = crossed
                .filter(|(_, it)| crosses(it))
                .min_by_key(|(_, it)| match it.side {
                    Buy => !it.price,
                    Sell => it.price,
                });
            let Some((at, maker)) = best else { break };
            let quantity = maker.quantity.min(order.quantity);
            maker.quantity -= quantity;
            order.quantity -= quantity;
            let event = Event::Traded {
                maker: maker.number,
            };
            self.kept.push(Report {
                price: maker.price,
                quantity,
                ..order.report(event)
            });
            if maker.quantity == 0 {
                self.orders.remove(at);
            }
        }
        if order.quantity > 0 && order.rests {
            self.orders.push(order);
        } else if order.quantity > 0 {
            self.kept.push(order.report(Event::Cancelled));
        }
    }
}

impl Plays for Naive {
    fn play(&mut self, sequence: u64, message: &Message) {
        let (number, rejected) = match *message {
            Message::New(terms) => (terms.number, Event::Accepted),
            Message::Cancel(number) => (number, Event::CancelRejected),
            Message::Modify(terms) => (terms.number, Event::ModifyRejected),
        };
        let at = self.orders.iter().position(|it| it.number == number);
        match (*message, at) {
            (Message::New(terms), None) if terms.quantity > 0 => {
                let order = Terms { sequence, ..terms };
                self.kept.push(order.report(Event::Accepted));
                self.enter(order);
            }
            (Message::New(_), _) => {}
            (Message::Cancel(_), Some(at)) => {
                let order = self.orders.remove(at);
                let report = order.report(Event::Cancelled);
                self.kept.push(Report { sequence, ..report });
            }
            (Message::Modify(terms), Some(at)) if terms.quantity > 0 => {
                let side = self.orders.remove(at).side;
                let order = Terms {
                    sequence,
                    side,
                    ..terms
                };
                self.kept.push(order.report(Event::Modified));
                self.enter(order);
            }
            _ => self.kept.push(Report::of_none(rejected, number, sequence)),
        }
    }

    fn best(&mut self, side: Side) -> Option<i64> {
        let prices = (self.orders.iter().filter(|it| it.side == side)).map(|it| it.price);
        match side {
            Buy => prices.max(),
            Sell => prices.min(),
        }
    }

    fn depth(&mut self, side: Side, price: i64) -> u64 {
        let there = (self.orders.iter()).filter(|it| it.side == side && it.price == price);
        there.map(|it| u64::from(it.quantity)).sum()
    }

    fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.kept)
    }
}
