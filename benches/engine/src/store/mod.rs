//! Stores that are compared in the record alone.
//!
//! | store | an id on the wire is | and leads to the order by |
//! |---|---|---|
//! | `slab` or boxes, and a map with a short hash | a number | the map |
//! | `Pool` | a number | a table with an entry for each number given so far |
//! | an array | a slot | the slot; late and forged ids are marked beforehand |

mod box_map;
mod floor;
mod pool;

use order_book::sessions::Member;
use order_book::store::SlabMap;
use rustc_hash::FxBuildHasher;

pub use self::box_map::BoxMapStore;
pub use self::floor::FloorStore;
pub use self::pool::PoolStore;

/// The `slab` crate, and a `HashMap` with a shorter hash than std's.
pub type SlabMapStore<O = Member<u32>> = SlabMap<FxBuildHasher, O>;
