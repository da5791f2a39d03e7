//! What clients send to a matching engine, and what it answers.

use zerocopy::{Immutable, IntoBytes, TryFromBytes};

use crate::message::Side;

/// No order has this id, in any engine.
pub const NO_ID: u64 = u64::MAX;

/// A command as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Command {
    /// The order it is about, by the id that the engine gave it.
    pub id: u64,
    /// Dollars × 10,000.
    pub price: u32,
    /// Shares: of a new order, or those a [`Kind::Reduce`] withdraws.
    pub quantity: u32,
    /// Who sends it.
    pub session: u32,
    /// The client's own words.
    pub reference: [u32; 2],
    /// Whose book it is for.
    pub symbol: u16,
    /// What is asked for.
    pub kind: Kind,
    /// Of a new order.
    pub side: Side,
}

const _: () = assert!(size_of::<Command>() == 32);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, Immutable)]
#[repr(u8)]
pub enum Kind {
    /// Enter a limit order: it trades with what crosses it, and the rest of it rests.
    New,
    /// Withdraw an order.
    Cancel,
    /// Withdraw an order and enter another on the same side, which has a new id and
    /// comes after those that are there.
    Replace,
    /// Withdraw part of an order, which keeps its place; if that is all, the order.
    Reduce,
    /// Withdraw all orders of the session.
    CancelAll,
}

/// What the engine answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// A new order has traded, rests, or both.
    Entered {
        /// Shares that traded at once.
        traded: u32,
        /// The id of what rests, if any of it does.
        id: Option<u64>,
    },
    /// The order is smaller.
    Reduced,
    /// The order is gone.
    Cancelled,
    /// The session has no order left.
    AllCancelled {
        /// How many it had.
        orders: u32,
    },
    /// Nothing has changed.
    Refused(Refusal),
}

impl Response {
    /// The answer as a number, with the id.
    pub fn to_word(self) -> u64 {
        match self {
            Response::Entered { traded, id } => u64::from(traded) << 3 ^ id.unwrap_or(NO_ID),
            Response::Reduced => 1,
            Response::Cancelled => 2,
            Response::AllCancelled { orders } => u64::from(orders) << 3 | 3,
            Response::Refused(refusal) => (refusal as u64) << 3 | 4,
        }
    }
}

/// Why nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No order has this id: it is filled, cancelled, or the id was never given.
    NoSuchOrder,
    /// The order is another session's.
    NotYours,
    /// No shares, or no price.
    Nothing,
    /// No symbol, session or order of a client has this number.
    Unknown,
    /// The price is between two ticks.
    OffTick,
    /// There is no memory for another price.
    NoRoom,
    /// An order that rests has this number.
    NumberInUse,
}

impl Refusal {
    /// Number of reasons.
    pub const COUNT: usize = 7;
}
