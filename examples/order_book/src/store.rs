//! Where the orders live, and what leads from an id on the wire to an order: one trait,
//! and an implementation for each store.
//!
//! | store | an id on the wire is | and leads to the order by |
//! |---|---|---|
//! | `Slab`, `BoundedSlab`, `slab`, a pool by hand | a slot and a number | the slot, whose number is compared |
//! | `KeySlab`, `BoundedKeySlab`, `slotmap` | the key | the key |
//! | `slab` or boxes, and a map | a number | the map |
//! | `Pool` | a number | a table with an entry for each number given so far |
//! | an array | a slot | the slot; late and forged ids are marked beforehand |

mod box_map;
mod by_hand;
mod floor;
mod keys;
mod pool;
mod slab_map;
mod slab_number;
mod slotmap;
mod slots;

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use ::flatslab::BuildError;

pub use self::box_map::BoxMapStore;
pub use self::by_hand::ByHandStore;
pub use self::floor::FloorStore;
pub use self::keys::{BoundedKeyStore, KeyStore};
pub use self::pool::PoolStore;
pub use self::slab_map::{SlabHashMapStore, SlabMap, SlabMapStore};
pub use self::slab_number::SlabNumberStore;
pub use self::slotmap::SlotMapStore;
pub use self::slots::{BoundedSlabStore, SlabStore};
use crate::order::Order;
use crate::sessions::Member;

/// What a store is made for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The most orders that are live at once.
    pub orders: usize,
    /// Whether a growing store reserves memory for them.
    pub reserved: bool,
}

impl Room {
    /// Orders that a growing store reserves memory for.
    pub fn reserve(self) -> usize {
        if self.reserved { self.orders } else { 0 }
    }
}

/// A store of resting orders.
///
/// A link is valid from the `insert` that returns it, or the `find` that finds it, to the
/// `remove` that takes it.
#[expect(clippy::len_without_is_empty, reason = "no one asks")]
pub trait Store: Sized {
    /// What levels, sessions and orders are linked by.
    type Link: Copy + PartialEq + Debug;
    /// What the owner of an order keeps with it.
    type Owner: Copy;

    /// The end of a list.
    const NONE: Self::Link;
    /// Whether it takes an id for that of a live order without a check: then a late or forged
    /// id has to be [`NO_ID`](order_flow::command::NO_ID), or another order is found.
    const TRUSTS_IDS: bool = false;
    /// What an order takes, with its id and its part of the list of free slots.
    const ORDER_BYTES: usize;

    /// An empty store.
    ///
    /// # Safety
    ///
    /// Not every store checks a link. Each one that is given to it came from its `insert` or
    /// `find`, and was not given to `remove` since.
    ///
    /// # Errors
    ///
    /// If there is no such memory.
    unsafe fn open(room: Room) -> Result<Self, BuildError>;
    /// Inserts an order.
    fn insert(&mut self, order: Order<Self::Link, Self::Owner>) -> Self::Link;
    /// Removes an order and returns it.
    fn remove(&mut self, link: Self::Link) -> Order<Self::Link, Self::Owner>;
    /// The order of a link.
    fn order(&self, link: Self::Link) -> impl Deref<Target = Order<Self::Link, Self::Owner>>;
    /// The order of a link, to change.
    fn order_mut(
        &mut self,
        link: Self::Link,
    ) -> impl DerefMut<Target = Order<Self::Link, Self::Owner>>;
    /// The id of an order, as on the wire.
    fn id(&self, link: Self::Link) -> u64;
    /// The live order of an id.
    fn find(&self, id: u64) -> Option<Self::Link>;
    /// The number of orders.
    fn len(&self) -> usize;
}

/// A store of the orders of sessions.
pub trait SessionStore: Store<Owner = Member<<Self as Store>::Link>> {}

impl<S: Store<Owner = Member<<S as Store>::Link>>> SessionStore for S {}

/// Fills the store and empties it again, so that all of its memory has been touched.
pub(crate) fn prefault<S: Store>(store: &mut S, orders: usize, order: Order<S::Link, S::Owner>) {
    let links: Vec<S::Link> = (0..orders).map(|_| store.insert(order)).collect();
    // The last first, so that slots are reused in the order of their addresses.
    for link in links.into_iter().rev() {
        store.remove(link);
    }
}

/// A slot and a number in an id.
fn joined(slot: u32, number: u32) -> u64 {
    u64::from(number) << 32 | u64::from(slot)
}

/// The slot and the number of an id.
fn parted(id: u64) -> (u32, u32) {
    (id as u32, (id >> 32) as u32)
}
