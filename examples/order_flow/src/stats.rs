//! Statistics of a flow of messages: the number of each kind, and the lives, the
//! distances from the best price and the sizes of its orders.
//!
//! The same function measures generated and recorded flows, so that they can be
//! compared. Quantiles are nearest-rank: p90 is the smallest value that at least 90 %
//! of all values do not exceed.

use hashbrown::HashMap;
use serde::Serialize;

use crate::message::{Kind, KindCounts, Message, Outcome, Side};
use crate::naive::NaiveBook;

/// Price units (dollars × 10,000) in a cent.
pub const CENT: i64 = 100;

/// Four quantiles of one statistic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    /// The 10th percentile.
    pub p10: i64,
    /// The median.
    pub p50: i64,
    /// The 90th percentile.
    pub p90: i64,
    /// The 99th percentile.
    pub p99: i64,
}

impl Quantiles {
    /// Returns the quantiles of `values`; all 0 if there are no values.
    pub fn of(mut values: Vec<i64>) -> Self {
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
pub struct Anomalies {
    /// The id is not that of a live order; not applied.
    pub unknown_ids: u64,
    /// An add with the id of a live order; not applied.
    pub duplicate_ids: u64,
    /// Removes more shares than the order has; removes the order.
    pub excess_reductions: u64,
}

/// The statistics of one symbol's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowStats {
    /// Messages of all kinds.
    pub messages: u64,
    /// Messages of each kind.
    pub kinds: KindCounts,
    /// Those that contradict the book.
    pub anomalies: Anomalies,
    /// The most orders live at once.
    pub peak_live_orders: usize,
    /// Orders live after the last message.
    pub live_orders_at_end: usize,
    /// The most prices with orders on one side at once.
    pub peak_levels: usize,
    /// Messages from the add of an order to its removal; removed orders only.
    pub life_in_messages: Quantiles,
    /// Distance of a new order from the best price on its side before the add,
    /// positive if the order is worse. Adds to an empty side are left out.
    pub distance_in_cents: Quantiles,
    /// Shares of new orders.
    pub size_in_shares: Quantiles,
}

impl FlowStats {
    /// Replays the messages on a separate book and measures them.
    pub fn measure(messages: &[Message]) -> Self {
        let mut book = NaiveBook::default();
        let mut stats = FlowStats {
            messages: messages.len() as u64,
            ..FlowStats::default()
        };
        let mut born = HashMap::new();
        let (mut lives, mut distances, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (now, message) in (0_i64..).zip(messages) {
            stats.kinds.count(message.kind);
            let best = book.best(message.side);
            match book.apply(message) {
                Outcome::Added => {
                    born.insert(message.id, now);
                    sizes.push(i64::from(message.size));
                    distances.extend(best.map(|best| distance(message, best)));
                    stats.peak_live_orders = stats.peak_live_orders.max(book.live_orders());
                    let levels = book.levels(message.side);
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
        stats.live_orders_at_end = book.live_orders();
        stats.life_in_messages = Quantiles::of(lives);
        stats.distance_in_cents = Quantiles::of(distances);
        stats.size_in_shares = Quantiles::of(sizes);
        stats
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
    use crate::lobster;

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

    #[test]
    fn the_real_hour_has_the_statistics_the_flow_aims_at() {
        let Some(messages) = lobster::hour() else {
            return;
        };
        let stats = FlowStats::measure(&messages);
        assert_eq!(stats.messages, 91_997);
        let kinds = stats.kinds;
        assert_eq!(
            (kinds.adds, kinds.partial_cancels, kinds.deletes),
            (44_256, 469, 41_004)
        );
        assert_eq!((kinds.executions, kinds.hidden_executions), (4_067, 2_201));
        assert_eq!((kinds.crosses, kinds.halts), (0, 0));
        let anomalies = stats.anomalies;
        assert_eq!(anomalies.unknown_ids, 84);
        assert_eq!(
            (anomalies.duplicate_ids, anomalies.excess_reductions),
            (0, 0)
        );
        assert_eq!(
            (stats.peak_live_orders, stats.live_orders_at_end),
            (413, 380)
        );
        let quantiles = |[p10, p50, p90, p99]: [i64; 4]| Quantiles { p10, p50, p90, p99 };
        assert_eq!(stats.life_in_messages, quantiles([2, 19, 265, 3_974]));
        assert_eq!(stats.distance_in_cents, quantiles([-3, 8, 74, 174]));
        assert_eq!(stats.size_in_shares, quantiles([17, 100, 200, 1_000]));
    }
}
