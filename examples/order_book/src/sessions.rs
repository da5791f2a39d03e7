//! Sessions that enter orders and name them by their keys.
//!
//! # Invariants
//!
//! * S1: the orders of a session are a list, from `newest` by `older`, and back by `newer`; each
//!   order is in that of its session.

use std::num::NonZeroU32;

use engine_trial::stores::Subject;
use order_flow::command::{Command, Kind, Refusal, Response};
use order_flow::digest::Digest;
use order_flow::message::Side;
use order_flow::program::Failure;
use order_flow::tape::{Tape, Trade};
use order_flow::top::Top;
use order_flow::traffic::Extent;
use serde::{Deserialize, Serialize};

use crate::book::{Books, LevelId, NoRoom};
use crate::matching::{Clients, Engine, Fill, Incoming};
use crate::order::Order;
use crate::store::{Room, SessionStore, prefault};

/// What a session keeps with each of its orders.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Member<L> {
    /// The session's next order.
    pub(crate) newer: L,
    /// The session's order before this one.
    pub(crate) older: L,
    /// Shares that have traded.
    pub(crate) filled: u32,
    pub(crate) session: u32,
    /// The client's own words, returned with each report.
    pub(crate) reference: [u32; 2],
}

impl<L: Copy> Member<L> {
    /// What a new order of a session begins with.
    fn new(command: &Command, none: L) -> Self {
        Member {
            newer: none,
            older: none,
            filled: 0,
            session: command.session,
            reference: command.reference,
        }
    }

    /// What the sessions keep with an order of none of them.
    pub(crate) fn of_none(none: L) -> Self {
        Member {
            newer: none,
            older: none,
            filled: 0,
            session: u32::MAX,
            reference: [0; 2],
        }
    }
}

/// The sessions, and all that went out to them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sessions<L> {
    /// The newest order of each session.
    newest: Vec<L>,
    /// Prices are multiples of this.
    tick: u32,
    /// What went out.
    pub tape: Tape,
}

impl<S: SessionStore> Clients<S> for Sessions<S::Link> {
    #[inline]
    fn trade(&mut self, fill: &Fill, maker: &mut Member<S::Link>, taker: &mut Member<S::Link>) {
        maker.filled += fill.quantity;
        taker.filled += fill.quantity;
        self.tape.trade(&Trade {
            symbol: fill.symbol as u16,
            side: fill.side,
            price: fill.price as u32 * self.tick,
            quantity: fill.quantity,
            maker: (maker.session, maker.reference),
            taker: (taker.session, taker.reference),
        });
    }

    #[inline]
    fn rest(&mut self, store: &mut S, link: S::Link) {
        let mut order = store.order_mut(link);
        let newest = &mut self.newest[order.owner.session as usize];
        let older = std::mem::replace(newest, link);
        order.owner.older = older;
        drop(order);
        if older != S::NONE {
            store.order_mut(older).owner.newer = link;
        }
    }

    #[inline]
    fn leave(&mut self, store: &mut S, order: &Order<S::Link, Member<S::Link>>) {
        let Member {
            newer,
            older,
            session,
            ..
        } = order.owner;
        if newer != S::NONE {
            store.order_mut(newer).owner.older = older;
        } else {
            self.newest[session as usize] = older;
        }
        if older != S::NONE {
            store.order_mut(older).owner.newer = newer;
        }
    }
}

impl<S: SessionStore> Engine<S> {
    /// Empty books over an empty store.
    pub fn new(store: S, extent: Extent) -> Self {
        Engine {
            store,
            books: Books::new(extent.symbols, extent.pages, S::NONE),
            clients: Sessions {
                newest: vec![S::NONE; extent.sessions],
                tick: extent.tick,
                tape: Tape::default(),
            },
        }
    }

    /// The live order that a command names, if it is the session's.
    #[inline]
    fn own(&self, command: &Command) -> Result<S::Link, Refusal> {
        let link = self.store.find(command.id).ok_or(Refusal::NoSuchOrder)?;
        match self.store.order(link).owner.session == command.session {
            true => Ok(link),
            false => Err(Refusal::NotYours),
        }
    }

    #[inline]
    fn submit(
        &mut self,
        command: &Command,
        symbol: usize,
        side: Side,
    ) -> Result<Response, Refusal> {
        let (price, quantity) = self.sound(command)?;
        if symbol >= self.symbols() || command.session as usize >= self.clients.newest.len() {
            return Err(Refusal::Unknown);
        }
        let order = Incoming {
            symbol,
            side,
            price,
            quantity,
            rests: true,
        };
        let (open, link) = (self.enter(&order, Member::new(command, S::NONE)))?;
        Ok(Response::Entered {
            traded: command.quantity - open,
            id: link.map(|link| self.store.id(link)),
        })
    }

    /// The price, in ticks, and the shares that a command names.
    #[inline]
    fn sound(&self, command: &Command) -> Result<(i64, NonZeroU32), Refusal> {
        let quantity = NonZeroU32::new(command.quantity).ok_or(Refusal::Nothing)?;
        if command.price == 0 {
            return Err(Refusal::Nothing);
        }
        let (price, rest) = (
            command.price / self.clients.tick,
            command.price % self.clients.tick,
        );
        match rest {
            0 => Ok((price.into(), quantity)),
            _ => Err(Refusal::OffTick),
        }
    }

    fn cancel(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        self.remove(link);
        Ok(Response::Cancelled)
    }

    fn replace(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        let (price, _) = self.sound(command)?;
        let level = self.store.order(link).level;
        let (symbol, side, _) = self.books.place(level);
        if !self.books.has_room(symbol, side, price) {
            return Err(Refusal::NoRoom);
        }
        self.remove(link);
        self.submit(command, symbol, side)
    }

    fn withdraw(&mut self, command: &Command) -> Result<Response, Refusal> {
        let link = self.own(command)?;
        if command.quantity == 0 {
            return Err(Refusal::Nothing);
        }
        Ok(match self.reduce(link, command.quantity) {
            true => Response::Reduced,
            false => Response::Cancelled,
        })
    }

    fn cancel_all(&mut self, command: &Command) -> Result<Response, Refusal> {
        let session = command.session as usize;
        if session >= self.clients.newest.len() {
            return Err(Refusal::Unknown);
        }
        let mut orders = 0;
        while self.clients.newest[session] != S::NONE {
            self.remove(self.clients.newest[session]);
            orders += 1;
        }
        Ok(Response::AllCancelled { orders })
    }

    /// The number of books.
    pub fn symbols(&self) -> usize {
        self.books.symbols()
    }

    /// The price of a level, in dollars × 10,000.
    fn price(&self, level: LevelId) -> u32 {
        self.books.place(level).2 as u32 * self.clients.tick
    }
}

impl<S: SessionStore> Subject for Engine<S> {
    const TRUSTS_IDS: bool = S::TRUSTS_IDS;
    const ORDER_BYTES: usize = S::ORDER_BYTES;

    fn open(extent: Extent, orders: usize, reserved: bool) -> Result<Self, Failure> {
        Ok(Engine::new(opened(Room { orders, reserved })?, extent))
    }

    #[inline]
    fn apply(&mut self, command: &Command) -> Response {
        let done = match command.kind {
            Kind::New => self.submit(command, command.symbol.into(), command.side),
            Kind::Cancel => self.cancel(command),
            Kind::Replace => self.replace(command),
            Kind::Reduce => self.withdraw(command),
            Kind::CancelAll => self.cancel_all(command),
        };
        done.unwrap_or_else(|refusal| {
            self.clients.tape.refuse(refusal);
            Response::Refused(refusal)
        })
    }

    fn top(&self, symbol: usize) -> Top {
        let [(bid, bid_size), (ask, ask_size)] =
            [Side::Buy, Side::Sell].map(|side| match self.books.best(symbol, side).1 {
                LevelId::NONE => (0, 0),
                level => (self.price(level), self.books.level(level).open),
            });
        Top {
            ask,
            ask_size,
            bid,
            bid_size,
        }
    }

    fn orders(&self) -> usize {
        self.store.len()
    }

    fn tape(&self) -> &Tape {
        &self.clients.tape
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.add(self.clients.tape.hash);
        for symbol in 0..self.symbols() {
            for side in [Side::Buy, Side::Sell] {
                for level in self.books.levels(symbol, side) {
                    let price = u64::from(self.price(level));
                    let mut link = self.books.level(level).first;
                    while link != S::NONE {
                        let order = self.store.order(link);
                        let Member {
                            session, filled, ..
                        } = order.owner;
                        digest.add(price << 32 | u64::from(order.open.get()));
                        digest.add(u64::from(session) << 32 | u64::from(filled));
                        digest.add((symbol as u64) << 1 | side as u64);
                        link = order.later;
                    }
                }
            }
        }
        digest.finish()
    }

    fn check(&self) -> Result<(), String> {
        Engine::check(self)?;
        let mut owned = 0;
        for (session, &newest) in self.clients.newest.iter().enumerate() {
            let (mut newer, mut link) = (S::NONE, newest);
            while link != S::NONE {
                let order = self.store.order(link);
                if order.owner.newer != newer || order.owner.session as usize != session {
                    return Err(format!("session {session}: a wrong link or order (S1)"));
                }
                owned += 1;
                (newer, link) = (link, order.owner.older);
            }
        }
        match owned == self.store.len() {
            true => Ok(()),
            false => Err(format!("{} orders, {owned} owned (S1)", self.store.len())),
        }
    }
}

impl From<NoRoom> for Refusal {
    fn from(NoRoom: NoRoom) -> Self {
        Refusal::NoRoom
    }
}

/// An empty store. A reserved one has been filled and emptied, so that its memory has been touched.
///
/// # Errors
///
/// [`Failure::Run`], if there is no such memory.
pub fn opened<S: SessionStore>(room: Room) -> Result<S, Failure> {
    // SAFETY: the engine gives the store its own links alone, by E1 of its module.
    let opened = unsafe { S::open(room) };
    let mut store = opened
        .map_err(|error| Failure::Run(format!("no room for {} orders: {error}", room.orders)))?;
    if room.reserved {
        let empty = Order {
            earlier: S::NONE,
            later: S::NONE,
            open: NonZeroU32::MIN,
            level: LevelId::NONE,
            owner: Member::of_none(S::NONE),
        };
        prefault(&mut store, room.orders, empty);
    }
    Ok(store)
}
