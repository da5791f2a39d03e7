//! Where the orders live: one trait, four answers.
//!
//! The book reaches an order only through a [`Store`] and the store's own kind
//! of key, so that replacing the allocator replaces nothing else. Access is by
//! closure: a guard would need a lifetime in the trait, and the book never
//! holds an order for longer than one expression.
//!
//! `bytes_held` is arithmetic, not a measurement: a counting global allocator
//! would slow down exactly the store it is meant to observe. Each store says
//! what it counts.

mod boxes;
mod flatslab;
mod slab_crate;

pub(crate) use self::boxes::{BoxKey, BoxStore};
pub(crate) use self::flatslab::{BoundedStore, GrowableStore};
pub(crate) use self::slab_crate::{SlabCrateStore, SlabKey};
use crate::message::Side;

/// A resting order, linked to its neighbours in line at the same price.
///
/// The compiler orders the fields by alignment, widest first, so nothing is
/// lost between them and the tail padding is all there is: 32 bytes with the
/// 4-byte keys of a slab, two to a cache line; 40 with pointers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<K> {
    /// The exchange's number of the order.
    pub(crate) id: u64,
    /// Dollars × 10,000.
    pub(crate) price: u32,
    /// Shares left.
    pub(crate) size: u32,
    /// Index of the symbol: all symbols share one store.
    pub(crate) symbol: u32,
    /// The order in front of this one, first to trade.
    pub(crate) previous: K,
    /// The order behind this one.
    pub(crate) next: K,
    /// Buy or sell.
    pub(crate) side: Side,
}

const _: () = assert!(size_of::<Order<::flatslab::Key>>() == 32);
const _: () = assert!(size_of::<Order<SlabKey>>() == 32);
const _: () = assert!(size_of::<Order<BoxKey>>() <= 64);

/// A key that can also say "nobody", for the ends of a list.
pub(crate) trait Link: Copy + Eq {
    /// No order.
    const NONE: Self;
}

/// The store has no room for another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreFull {
    /// Orders the store holds.
    pub(crate) len: usize,
}

/// An allocator of orders.
///
/// A key is valid from the `insert` that returned it to the `remove` that
/// consumed it. The slabs panic on any other key, where they can tell.
pub(crate) trait Store {
    /// Names one order.
    type Key: Link;

    /// Takes an order in.
    fn insert(&mut self, order: Order<Self::Key>) -> Result<Self::Key, StoreFull>;
    /// Gives the order back, and its place to the next one.
    fn remove(&mut self, key: Self::Key) -> Order<Self::Key>;
    /// Looks at an order.
    fn with<R>(&self, key: Self::Key, f: impl FnOnce(&Order<Self::Key>) -> R) -> R;
    /// Changes an order.
    fn with_mut<R>(&mut self, key: Self::Key, f: impl FnOnce(&mut Order<Self::Key>) -> R) -> R;
    /// Orders held.
    fn len(&self) -> usize;
    /// Bytes the store has taken from the system for its orders.
    fn bytes_held(&self) -> usize;
}
