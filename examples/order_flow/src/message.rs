//! The messages of an exchange, and what they do to a book.

use serde::{Deserialize, Serialize};
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

/// The side of the book an order rests on.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    TryFromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(u8)]
pub enum Side {
    /// Bids: the highest price is the best.
    Buy,
    /// Asks: the lowest price is the best.
    Sell,
}

impl Side {
    /// Returns whether `a` is a worse price than `b` on this side.
    #[inline]
    pub fn is_worse(self, a: u32, b: u32) -> bool {
        match self {
            Side::Buy => a < b,
            Side::Sell => a > b,
        }
    }
}

/// The type of a message, numbered 1 to 7 in a LOBSTER file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new limit order.
    Add,
    /// Part of an order is withdrawn; the rest keeps its position in the list.
    Cancel,
    /// A whole order is withdrawn.
    Delete,
    /// A visible order trades, in part or as a whole.
    Execute,
    /// A hidden order trades: no visible order changes.
    Hidden,
    /// An auction: no visible order changes.
    Cross,
    /// Trading halts or resumes.
    Halt,
}

/// One message. Prices are dollars × 10,000, sizes are shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The exchange's number of the order; unique per symbol while it lives.
    pub id: u64,
    /// Limit price of the order, in dollars × 10,000.
    pub price: u32,
    /// Shares added or removed.
    pub size: u32,
    /// The type of the message.
    pub kind: Kind,
    /// The side of the resting order.
    pub side: Side,
}

/// What a message did to a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new order rests in the book.
    Added,
    /// An order became smaller.
    Reduced,
    /// An order was removed.
    Removed,
    /// An order was removed, and the message named more shares than it had.
    Excess,
    /// An order with the id of the add is live: not applied.
    Duplicate,
    /// No live order has this id: not applied.
    Unknown,
    /// The message concerns no visible order.
    Inert,
}

/// The number of messages of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindCounts {
    /// Of [`Kind::Add`].
    pub adds: u64,
    /// Of [`Kind::Cancel`].
    pub partial_cancels: u64,
    /// Of [`Kind::Delete`].
    pub deletes: u64,
    /// Of [`Kind::Execute`].
    pub executions: u64,
    /// Of [`Kind::Hidden`].
    pub hidden_executions: u64,
    /// Of [`Kind::Cross`].
    pub crosses: u64,
    /// Of [`Kind::Halt`].
    pub halts: u64,
}

impl KindCounts {
    /// Counts one message.
    pub fn count(&mut self, kind: Kind) {
        *match kind {
            Kind::Add => &mut self.adds,
            Kind::Cancel => &mut self.partial_cancels,
            Kind::Delete => &mut self.deletes,
            Kind::Execute => &mut self.executions,
            Kind::Hidden => &mut self.hidden_executions,
            Kind::Cross => &mut self.crosses,
            Kind::Halt => &mut self.halts,
        } += 1;
    }
}
