//! A map from numbers to places, for orders in the `slab` crate and for boxes. The order
//! has its own number, for the reports.
//!
//! The maps grow with the books, as those of most books do.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ptr::NonNull;

use flatslab::BuildError;
use rustc_hash::FxBuildHasher;
use slab::Slab;

use super::{Room, Store};
use crate::engine::order::Order;

/// An order and its number.
struct Numbered<L> {
    number: u64,
    order: Order<L>,
}

fn map<L, H: BuildHasher + Default>(room: Room) -> HashMap<u64, L, H> {
    HashMap::with_capacity_and_hasher(room.reserve(), H::default())
}

/// [`Slab`], and std's `HashMap` as it is by default.
pub type SlabHashMapStore = SlabMap<RandomState>;

/// [`Slab`], and a `HashMap` with a shorter hash.
pub type SlabMapStore = SlabMap<FxBuildHasher>;

/// [`Slab`], and a map from numbers to slots.
pub struct SlabMap<H> {
    orders: Slab<Numbered<u32>>,
    slots: HashMap<u64, u32, H>,
    /// The last number given.
    number: u64,
}

impl<H: BuildHasher + Default> Store for SlabMap<H> {
    type Link = u32;
    type Ref<'a>
        = &'a Order<u32>
    where
        Self: 'a;
    type RefMut<'a>
        = &'a mut Order<u32>
    where
        Self: 'a;

    const NONE: u32 = u32::MAX;
    const ORDER_BYTES: usize = size_of::<Numbered<u32>>() + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlabMap {
            orders: Slab::with_capacity(room.reserve()),
            slots: map(room),
            number: 0,
        })
    }

    fn insert(&mut self, order: Order<u32>) -> u32 {
        self.number += 1;
        let number = self.number;
        let slot = self.orders.insert(Numbered { number, order }) as u32;
        self.slots.insert(number, slot);
        slot
    }

    fn remove(&mut self, link: u32) -> Order<u32> {
        let Numbered { number, order } = self.orders.remove(link as usize);
        self.slots.remove(&number);
        order
    }

    #[inline]
    fn order(&self, link: u32) -> &Order<u32> {
        &self.orders[link as usize].order
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> &mut Order<u32> {
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

/// A `Box` for each order, and a map from numbers to them.
///
/// # Invariants
///
/// * X1: `boxes` has the boxes of all live orders, from `Box::into_raw`, under their numbers.
/// * X2: a link is given by `insert` or `find`, and names a live order until `remove`: the
///   caller of `open` promises it.
pub struct BoxMapStore {
    boxes: HashMap<u64, BoxLink, FxBuildHasher>,
    /// The last number given.
    number: u64,
}

/// The address of an order, or the end of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxLink(Option<NonNull<BoxedOrder>>);

/// What is boxed.
pub(crate) struct BoxedOrder(Numbered<BoxLink>);

impl BoxLink {
    #[inline]
    fn address(self) -> NonNull<BoxedOrder> {
        self.0.expect("the link names an order")
    }
}

impl Store for BoxMapStore {
    type Link = BoxLink;
    type Ref<'a> = &'a Order<BoxLink>;
    type RefMut<'a> = &'a mut Order<BoxLink>;

    const NONE: BoxLink = BoxLink(None);
    const ORDER_BYTES: usize = (size_of::<BoxedOrder>() + 8).next_multiple_of(16) + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(BoxMapStore {
            boxes: map(room),
            number: 0,
        })
    }

    fn insert(&mut self, order: Order<BoxLink>) -> BoxLink {
        self.number += 1;
        let number = self.number;
        let boxed = Box::into_raw(Box::new(BoxedOrder(Numbered { number, order })));
        let link = BoxLink(NonNull::new(boxed));
        self.boxes.insert(number, link);
        link
    }

    fn remove(&mut self, link: BoxLink) -> Order<BoxLink> {
        // SAFETY: by X1 and X2 the address came from `into_raw`, and is not used again.
        let boxed = unsafe { Box::from_raw(link.address().as_ptr()) };
        let Numbered { number, order } = boxed.0;
        self.boxes.remove(&number);
        order
    }

    #[inline]
    fn order(&self, link: BoxLink) -> &Order<BoxLink> {
        // SAFETY: by X2 the order is alive, and it is changed by `&mut self` alone.
        unsafe { &link.address().as_ref().0.order }
    }

    #[inline]
    fn order_mut(&mut self, link: BoxLink) -> &mut Order<BoxLink> {
        // SAFETY: by X2 the order is alive, and borrowed through `self` alone.
        unsafe { &mut link.address().as_mut().0.order }
    }

    #[inline]
    fn id(&self, link: BoxLink) -> u64 {
        // SAFETY: as in `order`.
        unsafe { link.address().as_ref().0.number }
    }

    #[inline]
    fn find(&self, id: u64) -> Option<BoxLink> {
        self.boxes.get(&id).copied()
    }

    fn len(&self) -> usize {
        self.boxes.len()
    }
}

impl Drop for BoxMapStore {
    fn drop(&mut self) {
        for link in self.boxes.values() {
            // SAFETY: by X1, and the store ends.
            drop(unsafe { Box::from_raw(link.address().as_ptr()) });
        }
    }
}
