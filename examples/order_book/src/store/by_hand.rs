//! A pool written by hand, as trading firms have it: a `Vec` of orders, a stack of free
//! indices, and a number in each order.
//!
//! A free slot has the number 0, which no order has: so an order that is gone is not found.

use flatslab::BuildError;
use std::ops::{Deref, DerefMut};

use super::{Room, Store, joined, parted};
use crate::order::Order;
use crate::sessions::Member;

/// An order and its number.
struct Numbered<O> {
    order: Order<u32, O>,
    /// 0 in a free slot.
    number: u32,
}

/// The pool.
pub struct ByHandStore<O = Member<u32>> {
    orders: Vec<Numbered<O>>,
    free: Vec<u32>,
    /// The last number given.
    number: u32,
}

impl<O: Copy> Store for ByHandStore<O> {
    type Link = u32;
    type Owner = O;

    const NONE: u32 = u32::MAX;
    /// The order, its number and its entry in the stack of free indices.
    const ORDER_BYTES: usize = size_of::<Numbered<O>>() + 4;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(ByHandStore {
            orders: Vec::with_capacity(room.reserve()),
            free: Vec::with_capacity(room.reserve()),
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32, O>) -> u32 {
        self.number = self.number.wrapping_add(1).max(1);
        let number = self.number;
        match self.free.pop() {
            Some(slot) => {
                self.orders[slot as usize] = Numbered { order, number };
                slot
            }
            None => {
                self.orders.push(Numbered { order, number });
                self.orders.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32, O> {
        let numbered = &mut self.orders[link as usize];
        numbered.number = 0;
        self.free.push(link);
        numbered.order
    }

    #[inline]
    fn order(&self, link: u32) -> impl Deref<Target = Order<u32, O>> {
        &self.orders[link as usize].order
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> impl DerefMut<Target = Order<u32, O>> {
        &mut self.orders[link as usize].order
    }

    #[inline]
    fn id(&self, link: u32) -> u64 {
        joined(link, self.orders[link as usize].number)
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        let (slot, number) = parted(id);
        let numbered = self.orders.get(slot as usize)?;
        (numbered.number == number && number != 0).then_some(slot)
    }

    fn len(&self) -> usize {
        self.orders.len() - self.free.len()
    }
}
