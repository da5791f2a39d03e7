//! An order that rests in the book.

use order_flow::message::Side;
use serde::{Deserialize, Serialize};

/// A resting order, in the lists of its price and of its session.
///
/// With links of 4 bytes it has 44, which leaves 4 for the version that `keys` adds, or the
/// number of `slab + number`, before the next multiple of 8; with the 8-byte keys of `slotmap`
/// it has 60, and its version fills a line of the cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Order<L> {
    /// The order that trades before this one.
    pub(crate) earlier: L,
    /// The order that trades after this one.
    pub(crate) later: L,
    /// The session's next order.
    pub(crate) newer: L,
    /// The session's order before this one.
    pub(crate) older: L,
    /// Dollars × 10,000.
    pub(crate) price: u32,
    /// Shares that rest.
    pub(crate) open: u32,
    /// Shares that have traded.
    pub(crate) filled: u32,
    /// Who entered it.
    pub(crate) session: u32,
    /// The client's own words, returned with each report.
    pub(crate) reference: [u32; 2],
    pub(crate) symbol: u16,
    pub(crate) side: Side,
}

impl<L: Copy> Order<L> {
    /// An order of no shares, for memory that is written before it is used.
    pub(crate) fn empty(none: L) -> Self {
        Order {
            earlier: none,
            later: none,
            newer: none,
            older: none,
            price: 0,
            open: 0,
            filled: 0,
            session: 0,
            reference: [0; 2],
            symbol: 0,
            side: Side::Buy,
        }
    }
}

const _: () = assert!(size_of::<Order<Option<slotmap::DefaultKey>>>() == 60);
const _: () = assert!(size_of::<Order<u32>>() == 44);
