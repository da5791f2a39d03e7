//! flatslab's `KeySlab` and `BoundedKeySlab`, by keys with generations: the key is the id.
//!
//! Orders are linked by slot, in four bytes: an order is taken out of its lists when it is
//! removed, so a link needs no generation.

use flatslab::key_slab::{PlainSlab, Storage};
use flatslab::{BoundedKeySlab, BuildError, GenKey, KeySlab};
use std::ops::{Deref, DerefMut};

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;

/// A slot.
type Link = u32;

/// [`KeySlab`]: grows in a range.
pub type KeyStore<O = Member<Link>> = Keys<KeySlab<Order<Link, O>, GenKey>>;

/// [`BoundedKeySlab`]: has room for the most orders from the start.
pub type BoundedKeyStore<O = Member<Link>> = Keys<BoundedKeySlab<Order<Link, O>, GenKey>>;

/// Either of them.
pub struct Keys<S> {
    /// The slab.
    pub orders: S,
}

/// What tells the two apart.
pub(crate) trait Open: Sized {
    fn open(room: Room) -> Result<Self, BuildError>;
}

impl<O> Open for KeySlab<Order<Link, O>, GenKey> {
    fn open(room: Room) -> Result<Self, BuildError> {
        KeySlab::builder_with_key()
            .reserve(room.reserve())
            .grow_in_place()
            .try_build()
    }
}

impl<O> Open for BoundedKeySlab<Order<Link, O>, GenKey> {
    fn open(room: Room) -> Result<Self, BuildError> {
        BoundedKeySlab::builder_with_key()
            .capacity(room.orders)
            .try_build()
    }
}

impl<O, S: Storage> Keys<PlainSlab<Order<Link, O>, GenKey, S>> {
    #[inline(always)]
    fn key(&self, link: Link) -> GenKey {
        let key = self.orders.key_at(link as usize);
        key.expect("the link names an order")
    }
}

impl<O: Copy, S: Storage> Store for Keys<PlainSlab<Order<Link, O>, GenKey, S>>
where
    PlainSlab<Order<Link, O>, GenKey, S>: Open,
{
    type Link = Link;
    type Owner = O;

    const NONE: Link = u32::MAX;
    /// The order, its version and its entry in the stack of free slots.
    const ORDER_BYTES: usize = size_of::<Order<Link, O>>() + 4 + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        let orders = Open::open(room)?;
        Ok(Keys { orders })
    }

    #[inline]
    fn insert(&mut self, order: Order<Link, O>) -> Link {
        let inserted = self.orders.try_insert(order);
        let key = inserted.unwrap_or_else(|_| full(self.orders.len()));
        key.index() as Link
    }

    #[inline]
    fn remove(&mut self, link: Link) -> Order<Link, O> {
        self.orders.remove(self.key(link))
    }

    #[inline]
    fn order(&self, link: Link) -> impl Deref<Target = Order<Link, O>> {
        &self.orders[self.key(link)]
    }

    #[inline]
    fn order_mut(&mut self, link: Link) -> impl DerefMut<Target = Order<Link, O>> {
        let key = self.key(link);
        &mut self.orders[key]
    }

    #[inline]
    fn id(&self, link: Link) -> u64 {
        self.key(link).into_raw()
    }

    #[inline]
    fn find(&self, id: u64) -> Option<Link> {
        let key = GenKey::from_raw(id)?;
        self.orders.contains(key).then_some(key.index() as Link)
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}

#[cold]
#[inline(never)]
pub(super) fn full(orders: usize) -> ! {
    panic!("there is no room after {orders} orders")
}
