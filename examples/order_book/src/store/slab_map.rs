//! The `slab` crate, and a map from numbers to slots. The order has its own number, for the
//! reports.
//!
//! The map grows with the books, as those of most books do.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use flatslab::BuildError;
use rustc_hash::FxBuildHasher;
use slab::Slab;
use std::ops::{Deref, DerefMut};

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;

/// An order and its number.
struct Numbered<O> {
    number: u64,
    order: Order<u32, O>,
}

/// [`Slab`], and std's `HashMap` as it is by default.
pub type SlabHashMapStore<O = Member<u32>> = SlabMap<RandomState, O>;

/// [`Slab`], and a `HashMap` with a shorter hash than std's.
pub type SlabMapStore<O = Member<u32>> = SlabMap<FxBuildHasher, O>;

/// [`Slab`], and a map from numbers to slots with this hash.
pub struct SlabMap<H, O> {
    orders: Slab<Numbered<O>>,
    slots: HashMap<u64, u32, H>,
    /// The last number given.
    number: u64,
}

impl<H: BuildHasher + Default, O: Copy> Store for SlabMap<H, O> {
    type Link = u32;
    type Owner = O;

    const NONE: u32 = u32::MAX;
    const ORDER_BYTES: usize = size_of::<Numbered<O>>() + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlabMap {
            orders: Slab::with_capacity(room.reserve()),
            slots: HashMap::with_capacity_and_hasher(room.reserve(), H::default()),
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<u32, O>) -> u32 {
        self.number += 1;
        let number = self.number;
        let slot = self.orders.insert(Numbered { number, order }) as u32;
        self.slots.insert(number, slot);
        slot
    }

    #[inline]
    fn remove(&mut self, link: u32) -> Order<u32, O> {
        let Numbered { number, order } = self.orders.remove(link as usize);
        self.slots.remove(&number);
        order
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
        self.orders[link as usize].number
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        self.slots.get(&id).copied()
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}
