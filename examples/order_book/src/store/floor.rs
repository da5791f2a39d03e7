//! An array whose ids are indices that nothing compares, and that does not grow: how much of
//! a command is the store at all.

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;
use flatslab::BuildError;
use order_flow::command::NO_ID;
use std::ops::{Deref, DerefMut};

/// One array, and a stack of its free indices.
pub struct FloorStore<O = Member<u32>> {
    orders: Vec<Option<Order<u32, O>>>,
    free: Vec<u32>,
}

impl<O: Copy> Store for FloorStore<O> {
    type Link = u32;
    type Owner = O;

    const NONE: u32 = u32::MAX;
    const TRUSTS_IDS: bool = true;
    const ORDER_BYTES: usize = size_of::<Order<u32, O>>() + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(FloorStore {
            orders: vec![None; room.orders],
            free: (0..room.orders as u32).rev().collect(),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32, O>) -> u32 {
        let index = self.free.pop().expect("there is room for the most orders");
        self.orders[index as usize] = Some(order);
        index
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32, O> {
        self.free.push(link);
        self.orders[link as usize].expect("the link names an order")
    }

    #[inline]
    fn order(&self, link: u32) -> impl Deref<Target = Order<u32, O>> {
        let order = &self.orders[link as usize];
        order.as_ref().expect("the link names an order")
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> impl DerefMut<Target = Order<u32, O>> {
        let order = &mut self.orders[link as usize];
        order.as_mut().expect("the link names an order")
    }

    #[inline]
    fn id(&self, link: u32) -> u64 {
        u64::from(link)
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        (id != NO_ID).then_some(id as u32)
    }

    fn len(&self) -> usize {
        self.orders.len() - self.free.len()
    }
}
