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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Message {
    New {
        number: u64,
        side: Side,
        quantity: u32,
        price: i64,
        rests: bool,
    },
    Cancel(u64),
    Modify {
        number: u64,
        quantity: u32,
        price: i64,
    },
}

pub(crate) fn buy(number: u64, quantity: u32, price: i64) -> Message {
    new(number, Buy, quantity, price, true)
}

pub(crate) fn sell(number: u64, quantity: u32, price: i64) -> Message {
    new(number, Sell, quantity, price, true)
}

/// Buys at once or not at all.
pub(crate) fn take_asks(number: u64, quantity: u32, price: i64) -> Message {
    new(number, Buy, quantity, price, false)
}

/// Sells at once or not at all.
pub(crate) fn take_bids(number: u64, quantity: u32, price: i64) -> Message {
    new(number, Sell, quantity, price, false)
}

pub(crate) fn new(number: u64, side: Side, quantity: u32, price: i64, rests: bool) -> Message {
    Message::New {
        number,
        side,
        quantity,
        price,
        rests,
    }
}

pub(crate) fn cancel(number: u64) -> Message {
    Message::Cancel(number)
}

pub(crate) fn modify(number: u64, quantity: u32, price: i64) -> Message {
    Message::Modify {
        number,
        quantity,
        price,
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
            Message::New {
                number,
                side,
                quantity,
                price,
                rests,
            } => {
                let terms = Terms {
                    number,
                    sequence,
                    price,
                    quantity,
                    side,
                    rests,
                };
                let _ = self.new_order(&terms);
            }
            Message::Cancel(number) => self.cancel_order(number, sequence),
            Message::Modify {
                number,
                quantity,
                price,
            } => self.modify_order(&Terms {
                number,
                sequence,
                price,
                quantity,
                side: Buy,
                rests: true,
            }),
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

/// An order of the engine without a store.
#[derive(Clone, Copy, Debug)]
struct NaiveOrder {
    number: u64,
    side: Side,
    open: u32,
    price: i64,
}

/// The engine as plainly as can be: all orders that rest, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Naive {
    orders: Vec<NaiveOrder>,
    kept: Vec<Report>,
}

impl Naive {
    fn enter(&mut self, sequence: u64, mut order: NaiveOrder, rests: bool) {
        while order.open > 0 {
            let crosses = |it: &&NaiveOrder| match order.side {
                Buy => it.side == Sell && it.price <= order.price,
                Sell => it.side == Buy && it.price >= order.price,
            };
            let best = (self.orders.iter().filter(crosses)).min_by_key(|it| match it.side {
                Buy => -i128::from(it.price),
                Sell => i128::from(it.price),
            });
            let Some(number) = best.map(|it| it.number) else {
                break;
            };
            let at = self
                .orders
                .iter()
                .position(|it| it.number == number)
                .unwrap();
            let maker = &mut self.orders[at];
            let quantity = maker.open.min(order.open);
            maker.open -= quantity;
            order.open -= quantity;
            self.kept.push(Report {
                event: Event::Traded { maker: number },
                sequence,
                number: order.number,
                price: maker.price,
                quantity,
                side: order.side,
            });
            if maker.open == 0 {
                self.orders.remove(at);
            }
        }
        if order.open > 0 && rests {
            self.orders.push(order);
        } else if order.open > 0 {
            self.tell(Event::Cancelled, sequence, order);
        }
    }

    fn tell(&mut self, event: Event, sequence: u64, order: NaiveOrder) {
        self.kept.push(Report {
            event,
            sequence,
            number: order.number,
            price: order.price,
            quantity: order.open,
            side: order.side,
        });
    }
}

impl Plays for Naive {
    fn play(&mut self, sequence: u64, message: &Message) {
        let (number, event) = match *message {
            Message::New { number, .. } => (number, Event::Accepted),
            Message::Cancel(number) => (number, Event::CancelRejected),
            Message::Modify { number, .. } => (number, Event::ModifyRejected),
        };
        let at = self.orders.iter().position(|it| it.number == number);
        let nothing = NaiveOrder {
            number,
            side: Buy,
            open: 0,
            price: 0,
        };
        match (*message, at) {
            (
                Message::New {
                    side,
                    quantity,
                    price,
                    rests,
                    ..
                },
                None,
            ) if quantity > 0 => {
                let order = NaiveOrder {
                    number,
                    side,
                    open: quantity,
                    price,
                };
                self.tell(event, sequence, order);
                self.enter(sequence, order, rests);
            }
            (Message::New { .. }, _) => {}
            (Message::Cancel(_), Some(at)) => {
                let order = self.orders.remove(at);
                self.tell(Event::Cancelled, sequence, order);
            }
            (
                Message::Modify {
                    quantity, price, ..
                },
                Some(at),
            ) if quantity > 0 => {
                let order = NaiveOrder {
                    open: quantity,
                    price,
                    ..self.orders.remove(at)
                };
                self.tell(Event::Modified, sequence, order);
                self.enter(sequence, order, true);
            }
            _ => self.tell(event, sequence, nothing),
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
        there.map(|it| u64::from(it.open)).sum()
    }

    fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.kept)
    }
}
