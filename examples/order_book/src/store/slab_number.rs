//! The `slab` crate, and what is written by hand around it: a number in each order, which
//! tells it from the orders that had its slot before.

use flatslab::BuildError;
use slab::Slab;
use std::ops::{Deref, DerefMut};

use super::{Room, Store, joined, parted};
use crate::order::Order;
use crate::sessions::Member;

/// An order and its number.
struct Numbered<O> {
    order: Order<u32, O>,
    number: u32,
}

/// The layout of the private `Entry` of the `slab` crate, for its size.
#[expect(dead_code, reason = "only its size is of interest")]
enum Entry<O> {
    Vacant(usize),
    Occupied(Numbered<O>),
}

/// [`Slab`] of numbered orders.
pub struct SlabNumberStore<O = Member<u32>> {
    orders: Slab<Numbered<O>>,
    /// The last number given.
    number: u32,
}

impl<O: Copy> Store for SlabNumberStore<O> {
    type Link = u32;
    type Owner = O;

    const NONE: u32 = u32::MAX;
    const ORDER_BYTES: usize = size_of::<Entry<O>>();

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlabNumberStore {
            orders: Slab::with_capacity(room.reserve()),
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32, O>) -> u32 {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.orders.insert(Numbered { order, number }) as u32
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32, O> {
        self.orders.remove(link as usize).order
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
        (numbered.number == number).then_some(slot)
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}
