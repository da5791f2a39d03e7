//! The messages of an exchange.

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
pub(crate) enum Side {
    /// Bids: the highest price is the best.
    Buy,
    /// Asks: the lowest price is the best.
    Sell,
}

impl Side {
    /// Whether `a` is a worse price than `b` on this side.
    pub(crate) fn is_worse(self, a: u32, b: u32) -> bool {
        match self {
            Side::Buy => a < b,
            Side::Sell => a > b,
        }
    }
}

/// The type of a message, numbered 1 to 7 in a LOBSTER file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
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
pub(crate) struct Message {
    /// The exchange's number of the order; unique per symbol while it lives.
    pub(crate) id: u64,
    /// Limit price of the order, in dollars × 10,000.
    pub(crate) price: u32,
    /// Shares added or removed.
    pub(crate) size: u32,
    /// The type of the message.
    pub(crate) kind: Kind,
    /// The side of the resting order.
    pub(crate) side: Side,
}

/// The number of messages of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct KindCounts {
    pub(crate) adds: u64,
    pub(crate) partial_cancels: u64,
    pub(crate) deletes: u64,
    pub(crate) executions: u64,
    pub(crate) hidden_executions: u64,
    pub(crate) crosses: u64,
    pub(crate) halts: u64,
}

impl KindCounts {
    /// Counts one message.
    pub(crate) fn count(&mut self, kind: Kind) {
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
