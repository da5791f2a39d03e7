//! An order that rests in the book.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::book::LevelId;

/// A resting order, in the list of its level. Its price, side and symbol are those of the level.
///
/// `L` is what it is linked by, `O` what its owner keeps with it: with links of 4 bytes and a
/// client's number it has 20 bytes. Its quantity is never 0, so a slot needs no flag that tells
/// whether it has an order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Order<L, O> {
    /// The order that trades before this one.
    pub earlier: L,
    /// The order that trades after this one.
    pub later: L,
    /// Shares that rest.
    pub open: NonZeroU32,
    /// Where it rests.
    pub level: LevelId,
    /// Whose it is.
    pub owner: O,
}

const _: () = assert!(size_of::<Order<u32, u32>>() == 20);
