//! A map from numbers to places, for orders in the `slab` crate and for boxes. The order
//! has its own number, for the reports.
//!
//! The maps grow with the books, as those of most books do.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::ptr::NonNull;

use flatslab::BuildError;
use rustc_hash::FxBuildHasher;
use slab::Slab;

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;

/// An order and its number.
struct Numbered<L, O> {
    number: u64,
    order: Order<L, O>,
}

fn map<L, H: BuildHasher + Default>(room: Room) -> HashMap<u64, L, H> {
    HashMap::with_capacity_and_hasher(room.reserve(), H::default())
}

/// [`Slab`], and std's `HashMap` as it is by default.
pub type SlabHashMapStore<O = Member<u32>> = SlabMap<RandomState, O>;

/// [`Slab`], and a `HashMap` with a shorter hash.
pub type SlabMapStore<O = Member<u32>> = SlabMap<FxBuildHasher, O>;

/// [`Slab`], and a map from numbers to slots.
pub struct SlabMap<H, O> {
    orders: Slab<Numbered<u32, O>>,
    slots: HashMap<u64, u32, H>,
    /// The last number given.
    number: u64,
}

impl<H: BuildHasher + Default, O: Copy> Store for SlabMap<H, O> {
    type Link = u32;
    type Owner = O;
    type Ref<'a>
        = &'a Order<u32, O>
    where
        Self: 'a;
    type RefMut<'a>
        = &'a mut Order<u32, O>
    where
        Self: 'a;

    const NONE: u32 = u32::MAX;
    const ORDER_BYTES: usize = size_of::<Numbered<u32, O>>() + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlabMap {
            orders: Slab::with_capacity(room.reserve()),
            slots: map(room),
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
    fn order(&self, link: u32) -> &Order<u32, O> {
        &self.orders[link as usize].order
    }

    #[inline]
    fn order_mut(&mut self, link: u32) -> &mut Order<u32, O> {
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
pub struct BoxMapStore<O = Member<BoxLink>> {
    boxes: HashMap<u64, BoxLink, FxBuildHasher>,
    /// The last number given.
    number: u64,
    owner: PhantomData<O>,
}

/// The address of a boxed order, or the end of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxLink(Option<NonNull<()>>);

/// What is boxed.
type Boxed<O> = Numbered<BoxLink, O>;

impl BoxLink {
    #[inline]
    fn address<O>(self) -> NonNull<Boxed<O>> {
        self.0.expect("the link names an order").cast()
    }
}

impl<O: Copy> Store for BoxMapStore<O> {
    type Link = BoxLink;
    type Owner = O;
    type Ref<'a>
        = &'a Order<BoxLink, O>
    where
        Self: 'a;
    type RefMut<'a>
        = &'a mut Order<BoxLink, O>
    where
        Self: 'a;

    const NONE: BoxLink = BoxLink(None);
    const ORDER_BYTES: usize = (size_of::<Boxed<O>>() + 8).next_multiple_of(16) + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(BoxMapStore {
            boxes: map(room),
            number: 0,
            owner: PhantomData,
        })
    }

    fn insert(&mut self, order: Order<BoxLink, O>) -> BoxLink {
        self.number += 1;
        let number = self.number;
        let boxed: *mut Boxed<O> = Box::into_raw(Box::new(Numbered { number, order }));
        let link = BoxLink(NonNull::new(boxed.cast()));
        self.boxes.insert(number, link);
        link
    }

    fn remove(&mut self, link: BoxLink) -> Order<BoxLink, O> {
        // SAFETY: by X1 and X2 the address came from `into_raw`, and is not used again.
        let boxed = unsafe { Box::from_raw(link.address::<O>().as_ptr()) };
        let Numbered { number, order } = *boxed;
        self.boxes.remove(&number);
        order
    }

    #[inline]
    fn order(&self, link: BoxLink) -> &Order<BoxLink, O> {
        // SAFETY: by X2 the order is alive, and it is changed by `&mut self` alone.
        unsafe { &link.address().as_ref().order }
    }

    #[inline]
    fn order_mut(&mut self, link: BoxLink) -> &mut Order<BoxLink, O> {
        // SAFETY: by X2 the order is alive, and borrowed through `self` alone.
        unsafe { &mut link.address().as_mut().order }
    }

    #[inline]
    fn id(&self, link: BoxLink) -> u64 {
        // SAFETY: as in `order`.
        unsafe { link.address::<O>().as_ref().number }
    }

    #[inline]
    fn find(&self, id: u64) -> Option<BoxLink> {
        self.boxes.get(&id).copied()
    }

    fn len(&self) -> usize {
        self.boxes.len()
    }
}

impl<O> Drop for BoxMapStore<O> {
    fn drop(&mut self) {
        for link in self.boxes.values() {
            // SAFETY: by X1, and the store ends.
            drop(unsafe { Box::from_raw(link.address::<O>().as_ptr()) });
        }
    }
}
