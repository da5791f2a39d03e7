//! An order gateway with its book, for one instrument: sessions with their own order ids, queues by
//! price and time, self-trade prevention, cancel and replace, day orders, a kill switch, a drop copy
//! to another thread, snapshots and restart. Everything is bounded, and a full container refuses.
//!
//! The order is in four collections at the same time: in the list of its price level, in that of its
//! session, in an index by the session's id for it, and in a heap of deadlines.
//!
//! ```text
//! cargo test --package gateway
//! ```
#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "commands, answers and reports, whose names say it"
)]

use std::fmt::Write as _;

use flatslab::collections::{Heap, Indexed, KeyIndex, Links, List, SortedSlab};
use flatslab::sync::{Consumer, Producer, SpscRing, Values};
use flatslab::{BoundedKeySlab, Stats, key_type, linked};
use serde::{Deserialize, Serialize};

key_type! {
    /// An order: its bits are the order id on the wire.
    #[derive(Serialize, Deserialize)]
    pub struct OrderKey(GenKey);
}
key_type! {
    /// A session.
    #[derive(Serialize, Deserialize)]
    pub struct SessionKey(GenKey);
}
key_type! {
    /// A price level of one side.
    #[derive(Serialize, Deserialize)]
    struct LevelKey;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Side {
    Buy,
    Sell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Life {
    GoodTillCancelled,
    Day { expires: u64 },
}

/// What happens to an order that would trade with another of its own firm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SelfTrade {
    CancelResting,
    CancelIncoming,
}

/// What a session calls an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Name {
    pub session: SessionKey,
    pub client_id: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub name: Name,
    pub side: Side,
    pub price: u32,
    pub open: u32,
    pub life: Life,
    in_level: Links<OrderKey, LevelKey>,
    of_session: Links<OrderKey, SessionKey>,
}

linked!(impl Linked<OrderKey, LevelKey> for Order { in_level });
linked!(impl Linked<OrderKey, SessionKey> for Order { of_session });

impl Indexed<Name> for Order {
    fn id(&self) -> &Name {
        &self.name
    }
}

#[derive(Serialize, Deserialize)]
struct Session {
    firm: u32,
    self_trade: SelfTrade,
    killed: bool,
    most_orders: usize,
    orders: List<OrderKey, SessionKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    UnknownSession,
    Killed,
    UnknownOrder,
    DuplicateId,
    TooManyOfSession,
    BookFull,
    SessionsFull,
    BadPrice,
    BadQuantity,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Accepted,
    Traded,
    Replaced,
    Cancelled,
    SelfTradeCancelled,
    Expired,
    Killed,
}

/// What the drop copy gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub sequence: u64,
    pub order: u64,
    pub session: u64,
    pub client_id: u64,
    pub quantity: u32,
    pub kind: Kind,
}

/// The reading side of the drop copy.
pub type Reports = Consumer<Values<Report>>;

/// The sending side of the drop copy: a full ring loses reports, and the sequence number says so.
struct DropCopy {
    ring: Producer<Values<Report>>,
    sequence: u64,
}

impl DropCopy {
    fn send(&mut self, key: OrderKey, name: Name, quantity: u32, kind: Kind) {
        self.sequence += 1;
        // Who reads it sees a gap.
        let _ = self.ring.push(Report {
            sequence: self.sequence,
            order: key.into_raw(),
            session: name.session.into_raw(),
            client_id: name.client_id,
            quantity,
            kind,
        });
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    pub refused_full: u64,
    pub refused_other: u64,
    pub trades: u64,
    pub expired: u64,
}

#[derive(Clone, Copy)]
pub struct Limits {
    pub sessions: usize,
    pub orders: usize,
    pub prices: u32,
    pub reports: usize,
}

/// Everything that a snapshot contains.
#[derive(Serialize, Deserialize)]
struct State {
    orders: BoundedKeySlab<Order, OrderKey>,
    sessions: BoundedKeySlab<Session, SessionKey>,
    levels: SortedSlab<(Side, u32), List<OrderKey, LevelKey>, LevelKey>,
    now: u64,
}

pub struct Gateway {
    state: State,
    /// Built again after a restart, as the deadlines are.
    by_name: KeyIndex<Name>,
    /// With the key, so that orders of one deadline expire in the same order after a restart.
    deadlines: Heap<(u64, OrderKey), OrderKey>,
    drop_copy: DropCopy,
    limits: Limits,
    metrics: Metrics,
}

#[derive(Debug)]
pub enum RestoreError {
    Format(postcard::Error),
    Memory(flatslab::AllocError),
    OtherLimits,
}

impl Gateway {
    pub fn new(limits: Limits) -> (Self, Reports) {
        let state = State {
            orders: BoundedKeySlab::with_capacity_and_key(limits.orders),
            sessions: BoundedKeySlab::with_capacity_and_key(limits.sessions),
            levels: SortedSlab::with_capacity(limits.orders),
            now: 0,
        };
        Self::with_state(state, limits)
    }

    fn with_state(state: State, limits: Limits) -> (Self, Reports) {
        let (ring, consumer) = SpscRing::of_values(limits.reports).split();
        let gateway = Gateway {
            state,
            by_name: KeyIndex::with_capacity(limits.orders),
            deadlines: Heap::with_capacity(limits.orders),
            drop_copy: DropCopy { ring, sequence: 0 },
            limits,
            metrics: Metrics::default(),
        };
        (gateway, consumer)
    }

    pub fn snapshot(&self) -> Vec<u8> {
        postcard::to_allocvec(&self.state).expect("a vector grows")
    }

    pub fn restore(bytes: &[u8], limits: Limits) -> Result<(Self, Reports), RestoreError> {
        let mut state: State = postcard::from_bytes(bytes).map_err(RestoreError::Format)?;
        if state.orders.capacity() != limits.orders {
            return Err(RestoreError::OtherLimits);
        }
        let prepared = (state.orders.prepare(limits.orders))
            .and_then(|()| state.sessions.prepare(limits.sessions))
            .and_then(|()| state.levels.try_reserve(limits.orders));
        prepared.map_err(RestoreError::Memory)?;
        let (mut gateway, consumer) = Self::with_state(state, limits);
        let orders = &gateway.state.orders;
        gateway.by_name.rebuild(orders, orders.keys());
        for (key, order) in orders {
            if let Life::Day { expires } = order.life {
                let _ = gateway.deadlines.push(key, (expires, key));
            }
        }
        Ok((gateway, consumer))
    }

    pub fn log_on(
        &mut self,
        firm: u32,
        self_trade: SelfTrade,
        most_orders: usize,
    ) -> Result<SessionKey, Refusal> {
        let entry = self.state.sessions.vacant_entry();
        let entry = entry.map_err(|_| Refusal::SessionsFull)?;
        let key = entry.key();
        entry.insert(Session {
            firm,
            self_trade,
            killed: false,
            most_orders,
            orders: List::new(key),
        });
        Ok(key)
    }

    fn counted<T>(&mut self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        match result {
            Err(Refusal::BookFull | Refusal::SessionsFull | Refusal::TooManyOfSession) => {
                self.metrics.refused_full += 1;
            }
            Err(_) => self.metrics.refused_other += 1,
            Ok(_) => {}
        }
        result
    }

    /// Places an order; returns its id, also if it has traded completely.
    pub fn place(
        &mut self,
        session: SessionKey,
        client_id: u64,
        side: Side,
        price: u32,
        open: u32,
        life: Life,
    ) -> Result<OrderKey, Refusal> {
        let name = Name { session, client_id };
        let (in_level, of_session) = (Links::new(), Links::new());
        let placed = self.try_place(Order {
            name,
            side,
            price,
            open,
            life,
            in_level,
            of_session,
        });
        self.counted(placed)
    }

    fn try_place(&mut self, order: Order) -> Result<OrderKey, Refusal> {
        let State {
            orders,
            sessions,
            now,
            ..
        } = &mut self.state;
        let Order {
            name,
            open,
            life,
            price,
            ..
        } = order;
        let session = sessions
            .get_mut(name.session)
            .ok_or(Refusal::UnknownSession)?;
        if session.killed {
            return Err(Refusal::Killed);
        }
        if session.orders.len() == session.most_orders {
            return Err(Refusal::TooManyOfSession);
        }
        if self.by_name.get(orders, &name).is_some() {
            return Err(Refusal::DuplicateId);
        }
        check(self.limits, price, open)?;
        if matches!(life, Life::Day { expires } if expires <= *now) {
            return Err(Refusal::Expired);
        }
        let key = (self.by_name.insert(orders, order)).map_err(|_| Refusal::BookFull)?;
        session.orders.link_back(orders, key).expect("a new order");
        if let Life::Day { expires } = life {
            let pushed = self.deadlines.push(key, (expires, key));
            pushed.expect("a heap for all orders");
        }
        self.drop_copy.send(key, name, open, Kind::Accepted);
        self.trade_and_queue(key);
        Ok(key)
    }

    /// Trades an order that is in no level, and appends what is left to its level.
    fn trade_and_queue(&mut self, key: OrderKey) {
        while let Some(resting) = self.opposite(key) {
            let State {
                orders, sessions, ..
            } = &mut self.state;
            let [incoming, other] = (orders.get_disjoint_mut([key, resting])).expect("two orders");
            let ours = &sessions[incoming.name.session];
            if ours.firm == sessions[other.name.session].firm {
                match ours.self_trade {
                    SelfTrade::CancelResting => self.finish(resting, Kind::SelfTradeCancelled),
                    SelfTrade::CancelIncoming => {
                        return self.finish(key, Kind::SelfTradeCancelled);
                    }
                }
                continue;
            }
            let quantity = incoming.open.min(other.open);
            incoming.open -= quantity;
            other.open -= quantity;
            let (is_done, other_is_done) = (incoming.open == 0, other.open == 0);
            self.metrics.trades += 1;
            self.drop_copy
                .send(key, incoming.name, quantity, Kind::Traded);
            self.drop_copy
                .send(resting, other.name, quantity, Kind::Traded);
            if other_is_done {
                self.remove(resting);
            }
            if is_done {
                self.remove(key);
                return;
            }
        }
        let State { orders, levels, .. } = &mut self.state;
        let place = (orders[key].side, orders[key].price);
        let level = levels.key_or_insert_with(place, List::new);
        levels[level]
            .link_back(orders, key)
            .expect("it is in no level");
    }

    /// The order that an incoming one trades with first.
    fn opposite(&self, key: OrderKey) -> Option<OrderKey> {
        let State { orders, levels, .. } = &self.state;
        let price = orders[key].price;
        let (_, level) = match orders[key].side {
            Side::Buy => levels.keys((Side::Sell, 0)..=(Side::Sell, price)).next()?,
            Side::Sell => levels
                .keys((Side::Buy, price)..=(Side::Buy, u32::MAX))
                .next_back()?,
        };
        levels[*level].first()
    }

    /// Reports the end of an order, and removes it.
    fn finish(&mut self, key: OrderKey, kind: Kind) {
        let order = &self.state.orders[key];
        self.drop_copy.send(key, order.name, order.open, kind);
        self.remove(key);
    }

    /// Takes an order out of its level, if it is in one.
    fn unqueue(&mut self, key: OrderKey) {
        let State { orders, levels, .. } = &mut self.state;
        if let Some(level) = orders[key].in_level.owner() {
            levels[level].unlink(orders, key).expect("its level");
            if levels[level].is_empty() {
                levels.remove_by_key(level);
            }
        }
    }

    fn remove(&mut self, key: OrderKey) {
        self.unqueue(key);
        let State {
            orders, sessions, ..
        } = &mut self.state;
        self.by_name.forget(orders, key);
        self.deadlines.remove(key);
        let session = &mut sessions[orders[key].name.session];
        session.orders.remove(orders, key).expect("its session");
    }

    fn find(&self, session: SessionKey, client_id: u64) -> Result<OrderKey, Refusal> {
        if !self.state.sessions.contains(session) {
            return Err(Refusal::UnknownSession);
        }
        let name = Name { session, client_id };
        (self.by_name.get(&self.state.orders, &name)).ok_or(Refusal::UnknownOrder)
    }

    /// Cancels by the client's id.
    pub fn cancel(&mut self, session: SessionKey, client_id: u64) -> Result<(), Refusal> {
        let found = self.find(session, client_id);
        let key = self.counted(found)?;
        self.finish(key, Kind::Cancelled);
        Ok(())
    }

    /// Cancels by the id on the wire, which may be late, forged, or of another session.
    pub fn cancel_by_wire(&mut self, session: SessionKey, id: u64) -> Result<(), Refusal> {
        let orders = &self.state.orders;
        let is_theirs = |key: &OrderKey| {
            orders
                .get(*key)
                .is_some_and(|order| order.name.session == session)
        };
        let key = OrderKey::from_raw(id).filter(is_theirs);
        let key = self.counted(key.ok_or(Refusal::UnknownOrder))?;
        self.finish(key, Kind::Cancelled);
        Ok(())
    }

    /// Less quantity at the same price keeps its place in the queue; all else loses it.
    pub fn replace(
        &mut self,
        session: SessionKey,
        client_id: u64,
        new_id: u64,
        price: u32,
        open: u32,
    ) -> Result<(), Refusal> {
        let replaced = self.try_replace(session, client_id, new_id, price, open);
        self.counted(replaced)
    }

    fn try_replace(
        &mut self,
        session: SessionKey,
        client_id: u64,
        new_id: u64,
        price: u32,
        open: u32,
    ) -> Result<(), Refusal> {
        let key = self.find(session, client_id)?;
        check(self.limits, price, open)?;
        if new_id != client_id && self.find(session, new_id).is_ok() {
            return Err(Refusal::DuplicateId);
        }
        let orders = &mut self.state.orders;
        let keeps_place = price == orders[key].price && open <= orders[key].open;
        self.by_name.forget(orders, key);
        orders[key].name.client_id = new_id;
        self.by_name.add(orders, key).expect("a new id");
        if !keeps_place {
            self.unqueue(key);
        }
        let order = &mut self.state.orders[key];
        (order.price, order.open) = (price, open);
        self.drop_copy.send(key, order.name, open, Kind::Replaced);
        if !keeps_place {
            self.trade_and_queue(key);
        }
        Ok(())
    }

    /// Cancels all orders of a session, the oldest first, and refuses new ones; returns how many.
    pub fn kill(&mut self, session: SessionKey) -> Result<usize, Refusal> {
        let killed = self
            .state
            .sessions
            .get_mut(session)
            .ok_or(Refusal::UnknownSession)?;
        killed.killed = true;
        let mut cancelled = 0;
        while let Some(key) = self.state.sessions[session].orders.first() {
            self.finish(key, Kind::Killed);
            cancelled += 1;
        }
        Ok(cancelled)
    }

    /// Moves on by one tick; expires the day orders that are due.
    pub fn tick(&mut self) {
        self.state.now += 1;
        let now = self.state.now;
        while let Some((_, key)) = self.deadlines.pop_if(|(expires, _)| *expires <= now) {
            self.finish(key, Kind::Expired);
            self.metrics.expired += 1;
        }
    }

    pub fn order(&self, key: OrderKey) -> Option<&Order> {
        self.state.orders.get(key)
    }

    /// The best price of each side.
    pub fn best(&self) -> (Option<u32>, Option<u32>) {
        let levels = &self.state.levels;
        let bid = levels.keys(..(Side::Sell, 0)).next_back();
        let ask = levels.keys((Side::Sell, 0)..).next();
        (
            bid.map(|((_, price), _)| *price),
            ask.map(|((_, price), _)| *price),
        )
    }

    /// The figures of the orders, the sessions and the drop copy, which counts what it lost.
    pub fn stats(&self) -> ([Stats; 3], Metrics) {
        let (orders, sessions) = (self.state.orders.stats(), self.state.sessions.stats());
        (
            [orders, sessions, self.drop_copy.ring.stats()],
            self.metrics,
        )
    }

    pub fn metrics_text(&self) -> String {
        let mut text = String::new();
        let containers = ["orders", "sessions", "drop_copy"];
        for (container, stats) in containers.into_iter().zip(self.stats().0) {
            for (name, value) in stats.iter() {
                let of = format!("{{container=\"{container}\"}}");
                let _ = writeln!(text, "gateway_{name}{of} {value}");
            }
        }
        text
    }
}

/// Checks what a client may choose.
fn check(limits: Limits, price: u32, open: u32) -> Result<(), Refusal> {
    if price >= limits.prices {
        return Err(Refusal::BadPrice);
    }
    if open == 0 {
        return Err(Refusal::BadQuantity);
    }
    Ok(())
}
