//! The `slotmap` crate: the key is the id.

use flatslab::BuildError;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

use super::{Room, Store};
use crate::engine::order::Order;

type Link = Option<DefaultKey>;

/// [`SlotMap`].
pub struct SlotMapStore {
    orders: SlotMap<DefaultKey, Order<Link>>,
}

#[inline(always)]
fn key(link: Link) -> DefaultKey {
    link.expect("the link names an order")
}

impl Store for SlotMapStore {
    type Link = Link;
    type Ref<'a> = &'a Order<Link>;
    type RefMut<'a> = &'a mut Order<Link>;

    const NONE: Link = None;
    const ORDER_BYTES: usize = size_of::<Order<Link>>() + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlotMapStore {
            orders: SlotMap::with_capacity(room.reserve()),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<Link>) -> Link {
        Some(self.orders.insert(order))
    }

    #[inline]
    fn remove(&mut self, link: Link) -> Order<Link> {
        let order = self.orders.remove(key(link));
        order.expect("the link names an order")
    }

    #[inline]
    fn order(&self, link: Link) -> &Order<Link> {
        &self.orders[key(link)]
    }

    #[inline]
    fn order_mut(&mut self, link: Link) -> &mut Order<Link> {
        &mut self.orders[key(link)]
    }

    #[inline]
    fn id(&self, link: Link) -> u64 {
        key(link).data().as_ffi()
    }

    #[inline]
    fn find(&self, id: u64) -> Option<Link> {
        let key = DefaultKey::from(KeyData::from_ffi(id));
        self.orders.contains_key(key).then_some(Some(key))
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}
