//! An array whose ids are indices that nothing compares, and that does not grow: how much of
//! a command is the store at all.

use flatslab::BuildError;

use super::{NO_ID, Room, Store};
use crate::engine::order::Order;

/// One array, and a stack of its free indices.
pub struct FloorStore {
    orders: Vec<Order<u32>>,
    free: Vec<u32>,
}

impl Store for FloorStore {
    type Link = u32;
    type Ref<'a> = &'a Order<u32>;
    type RefMut<'a> = &'a mut Order<u32>;

    const NONE: u32 = u32::MAX;
    const TRUSTS_IDS: bool = true;
    const ORDER_BYTES: usize = size_of::<Order<u32>>() + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(FloorStore {
            orders: vec![Order::empty(Self::NONE); room.orders],
            free: (0..room.orders as u32).rev().collect(),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32>) -> u32 {
        let index = self.free.pop().expect("there is room for the most orders");
        self.orders[index as usize] = order;
        index
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32> {
        self.free.push(link);
        self.orders[link as usize]
    }

    #[inline]
    fn order(&self, link: u32) -> &Order<u32> {
        &self.orders[link as usize]
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> &mut Order<u32> {
        &mut self.orders[link as usize]
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
