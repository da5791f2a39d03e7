//! The `slotmap` crate: the key is the id.

use flatslab::BuildError;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use std::ops::{Deref, DerefMut};

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;

type Link = Option<DefaultKey>;

/// [`SlotMap`].
pub struct SlotMapStore<O: Copy = Member<Link>> {
    orders: SlotMap<DefaultKey, Order<Link, O>>,
}

#[inline(always)]
fn key(link: Link) -> DefaultKey {
    link.expect("the link names an order")
}

impl<O: Copy> Store for SlotMapStore<O> {
    type Link = Link;
    type Owner = O;

    const NONE: Link = None;
    const ORDER_BYTES: usize = size_of::<Order<Link, O>>() + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlotMapStore {
            orders: SlotMap::with_capacity(room.reserve()),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<Link, O>) -> Link {
        Some(self.orders.insert(order))
    }

    #[inline]
    fn remove(&mut self, link: Link) -> Order<Link, O> {
        let order = self.orders.remove(key(link));
        order.expect("the link names an order")
    }

    #[inline]
    fn order(&self, link: Link) -> impl Deref<Target = Order<Link, O>> {
        &self.orders[key(link)]
    }

    #[inline]
    fn order_mut(&mut self, link: Link) -> impl DerefMut<Target = Order<Link, O>> {
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
