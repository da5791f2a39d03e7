//! An array that checks nothing and does not grow: how much of a command is the store at
//! all.
//!
//! # Invariants
//!
//! * Y1: every order whose index is not in `free` is initialised.
//! * Y2: a link is given by `insert` or `find`, and names a live order until `remove`; an id
//!   is [`NO_ID`] or that of a live order of this store: the caller of `open` promises it.

use std::mem::MaybeUninit;

use flatslab::BuildError;

use super::{NO_ID, Room, Store};
use crate::engine::order::Order;

/// One array, and a stack of its free indices.
pub struct FloorStore {
    orders: Vec<MaybeUninit<Order<u32>>>,
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
        let mut orders = Vec::new();
        // Writes to every page.
        orders.resize_with(room.orders, MaybeUninit::zeroed);
        Ok(FloorStore {
            orders,
            free: (0..room.orders as u32).rev().collect(),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32>) -> u32 {
        let index = self.free.pop().expect("there is room for the most orders");
        // SAFETY: the stack has indices of the array.
        unsafe { self.orders.get_unchecked_mut(index as usize) }.write(order);
        index
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32> {
        // SAFETY: by Y2 the index is of the array and not free; so there is room on the stack
        // for it, and by Y1 an order.
        unsafe {
            let len = self.free.len();
            self.free.as_mut_ptr().add(len).write(link);
            self.free.set_len(len + 1);
            self.orders.get_unchecked(link as usize).assume_init_read()
        }
    }

    #[inline]
    fn order(&self, link: u32) -> &Order<u32> {
        // SAFETY: by Y2 the index is of the array and not free, so by Y1 there is an order.
        unsafe { self.orders.get_unchecked(link as usize).assume_init_ref() }
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> &mut Order<u32> {
        // SAFETY: as in `order`.
        unsafe {
            self.orders
                .get_unchecked_mut(link as usize)
                .assume_init_mut()
        }
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
