//! The prices of one symbol.
//!
//! A side keeps its levels in a `Vec` sorted from the worst price to the best, which is
//! the last: most orders come and go near it, so that a new level moves few others.

use order_flow::message::Side;
use order_flow::top::Top;
use serde::{Deserialize, Serialize};

/// All orders at one price, a list in the order of arrival.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Level<L> {
    /// Shares that rest.
    pub(crate) open: u64,
    pub(crate) price: u32,
    /// The order that trades next.
    pub(crate) first: L,
    /// The newest order.
    pub(crate) last: L,
}

/// One side of one symbol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Levels<L> {
    pub(crate) side: Side,
    /// Strictly from the worst price to the best.
    pub(crate) sorted: Vec<Level<L>>,
}

impl<L> Levels<L> {
    fn new(side: Side, levels: usize) -> Self {
        Levels {
            side,
            sorted: Vec::with_capacity(levels),
        }
    }

    /// The index of the level of `price`, or where it belongs.
    #[inline]
    pub(crate) fn position(&self, price: u32) -> usize {
        self.sorted
            .partition_point(|level| self.side.is_worse(level.price, price))
    }

    /// Whether an order of the other side with this limit trades with the best level.
    #[inline]
    pub(crate) fn crossed_by(&self, limit: u32) -> bool {
        let best = self.sorted.last();
        best.is_some_and(|best| !self.side.is_worse(best.price, limit))
    }
}

/// Both sides of one symbol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Book<L> {
    pub(crate) bids: Levels<L>,
    pub(crate) asks: Levels<L>,
}

impl<L> Book<L> {
    /// An empty book with memory for so many levels of each side.
    pub(crate) fn new(levels: usize) -> Self {
        Book {
            bids: Levels::new(Side::Buy, levels),
            asks: Levels::new(Side::Sell, levels),
        }
    }

    /// Makes room for so many levels of each side.
    pub(crate) fn reserve(&mut self, levels: usize) {
        for side in [&mut self.bids, &mut self.asks] {
            side.sorted
                .reserve(levels.saturating_sub(side.sorted.len()));
        }
    }

    /// Levels that both sides have room for.
    pub(crate) fn room(&self) -> usize {
        self.bids.sorted.capacity().min(self.asks.sorted.capacity())
    }

    #[inline]
    pub(crate) fn side_mut(&mut self, side: Side) -> &mut Levels<L> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    /// The side that an order of `side` trades with.
    #[inline]
    pub(crate) fn opposite_mut(&mut self, side: Side) -> &mut Levels<L> {
        match side {
            Side::Buy => &mut self.asks,
            Side::Sell => &mut self.bids,
        }
    }

    /// The best prices, and the shares at them.
    pub(crate) fn top(&self) -> Top {
        let best = |levels: &Levels<L>| {
            let best = levels.sorted.last();
            best.map_or((0, 0), |level| (level.price, level.open))
        };
        let (ask, ask_size) = best(&self.asks);
        let (bid, bid_size) = best(&self.bids);
        Top {
            ask,
            ask_size,
            bid,
            bid_size,
        }
    }
}
