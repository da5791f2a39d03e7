//! Statistics of a flow of messages: the number of each kind, and the lives, the
//! distances from the best price and the sizes of its orders.
//!
//! The same function measures generated and recorded flows, so that they can be
//! compared. Quantiles are nearest-rank: p90 is the smallest value that at least 90 %
//! of all values do not exceed.

use hashbrown::HashMap;
use serde::Serialize;

use crate::feed::book::{Market, Outcome};
use crate::feed::message::{Kind, KindCounts, Message, Side};
use crate::feed::store::{SlabCrateStore, StoreFull};

/// Price units (dollars × 10,000) in a cent.
pub(crate) const CENT: i64 = 100;

/// Four quantiles of one statistic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Quantiles {
    pub(crate) p10: i64,
    pub(crate) p50: i64,
    pub(crate) p90: i64,
    pub(crate) p99: i64,
}

impl Quantiles {
    /// Quantiles of `values`; all 0 if there are no values.
    pub(crate) fn of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        let at = |percent: usize| match values.len() {
            0 => 0,
            len => values[(len * percent).div_ceil(100) - 1],
        };
        Quantiles {
            p10: at(10),
            p50: at(50),
            p90: at(90),
            p99: at(99),
        }
    }
}

/// Messages that contradict the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Anomalies {
    /// The id is not that of a live order; not applied.
    pub(crate) unknown_ids: u64,
    /// An add with the id of a live order; not applied.
    pub(crate) duplicate_ids: u64,
    /// Removes more shares than the order has; removes the order.
    pub(crate) excess_reductions: u64,
}

/// The statistics of one symbol's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FlowStats {
    /// Messages of all kinds.
    pub(crate) messages: u64,
    pub(crate) kinds: KindCounts,
    pub(crate) anomalies: Anomalies,
    /// The most orders live at once.
    pub(crate) peak_live_orders: usize,
    /// Orders live after the last message.
    pub(crate) live_orders_at_end: usize,
    /// The most prices with orders on one side at once.
    pub(crate) peak_levels: usize,
    /// Messages from the add of an order to its removal; removed orders only.
    pub(crate) life_in_messages: Quantiles,
    /// Distance of a new order from the best price on its side before the add,
    /// positive if the order is worse. Adds to an empty side are left out.
    pub(crate) distance_in_cents: Quantiles,
    /// Shares of new orders.
    pub(crate) size_in_shares: Quantiles,
}

impl FlowStats {
    /// Replays the messages on a separate book and measures them.
    ///
    /// # Errors
    ///
    /// [`StoreFull`] if more orders are live at once than a store has keys.
    pub(crate) fn measure(messages: &[Message]) -> Result<Self, StoreFull> {
        let mut market = Market::new(SlabCrateStore::default(), 1);
        let mut stats = FlowStats {
            messages: messages.len() as u64,
            ..FlowStats::default()
        };
        let mut born = HashMap::new();
        let (mut lives, mut distances, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (now, message) in (0_i64..).zip(messages) {
            stats.kinds.count(message.kind);
            let best = market.best(0, message.side);
            match market.apply(0, message)? {
                Outcome::Added => {
                    born.insert(message.id, now);
                    sizes.push(i64::from(message.size));
                    distances.extend(best.map(|best| distance(message, best)));
                    stats.peak_live_orders = stats.peak_live_orders.max(market.len());
                    let levels = market.levels(0, message.side);
                    stats.peak_levels = stats.peak_levels.max(levels);
                }
                outcome @ (Outcome::Removed | Outcome::Excess) => {
                    lives.extend(born.remove(&message.id).map(|born| now - born));
                    stats.anomalies.excess_reductions += u64::from(outcome == Outcome::Excess);
                }
                Outcome::Duplicate => stats.anomalies.duplicate_ids += 1,
                Outcome::Unknown => stats.anomalies.unknown_ids += 1,
                Outcome::Reduced | Outcome::Inert => {}
            }
        }
        stats.live_orders_at_end = market.len();
        stats.life_in_messages = Quantiles::of(lives);
        stats.distance_in_cents = Quantiles::of(distances);
        stats.size_in_shares = Quantiles::of(sizes);
        Ok(stats)
    }
}

/// Cents by which an add is worse than `best`, rounded down.
fn distance(message: &Message, best: u32) -> i64 {
    debug_assert_eq!(message.kind, Kind::Add);
    let worse = match message.side {
        Side::Buy => i64::from(best) - i64::from(message.price),
        Side::Sell => i64::from(message.price) - i64::from(best),
    };
    worse.div_euclid(CENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_rank() {
        let of = |values: &[i64]| {
            let Quantiles { p10, p50, p90, p99 } = Quantiles::of(values.to_vec());
            [p10, p50, p90, p99]
        };
        let hundred: Vec<_> = (1..=100).rev().collect();
        assert_eq!(of(&hundred), [10, 50, 90, 99]);
        assert_eq!(of(&[7]), [7; 4]);
        assert_eq!(of(&[]), [0; 4]);
    }
}
