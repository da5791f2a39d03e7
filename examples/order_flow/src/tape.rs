//! What went out: trades and refusals, as a hash that is the same whatever the store.

use serde::{Deserialize, Serialize};

use crate::command::Refusal;
use crate::message::Side;

/// Two orders have traded.
#[derive(Clone, Copy, Debug)]
pub struct Trade {
    /// Whose book it is.
    pub symbol: u16,
    /// The side of the order that rested.
    pub side: Side,
    /// Dollars × 10,000.
    pub price: u32,
    /// Shares.
    pub quantity: u32,
    /// Whose order rested, and what the client said of it.
    pub maker: (u32, [u32; 2]),
    /// Who came later, and what the client said of it.
    pub taker: (u32, [u32; 2]),
}

/// All trades and refusals so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tape {
    /// Number of trades.
    pub trades: u64,
    /// Shares of all trades.
    pub shares: u64,
    /// Of every trade and refusal, in their order.
    pub hash: u64,
    /// By reason.
    pub refused: [u64; Refusal::COUNT],
}

impl Tape {
    #[inline]
    fn mix(&mut self, word: u64) {
        // As in rustc-hash: short, and enough to tell two tapes apart.
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// Adds a trade.
    #[inline]
    pub fn trade(&mut self, trade: &Trade) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        self.trades += 1;
        self.shares += u64::from(trade.quantity);
        self.mix(u64::from(trade.symbol) << 1 | trade.side as u64);
        self.mix(pair(trade.price, trade.quantity));
        self.mix(pair(trade.maker.0, trade.taker.0));
        self.mix(pair(trade.maker.1[0], trade.maker.1[1]));
        self.mix(pair(trade.taker.1[0], trade.taker.1[1]));
    }

    /// Adds a refusal.
    #[inline]
    pub fn refuse(&mut self, refusal: Refusal) {
        self.refused[refusal as usize] += 1;
        self.mix(u64::MAX - refusal as u64);
    }
}
