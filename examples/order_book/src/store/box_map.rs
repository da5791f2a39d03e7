//! A `Box` for each order, and a map from numbers to them.
//!
//! # Invariants
//!
//! * X1: `boxes` has the boxes of all live orders, from `Box::into_raw`, under their numbers.
//! * X2: a link is given by `insert` or `find`, and names a live order until `remove`: the
//!   caller of `open` promises it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;
use flatslab::BuildError;
use rustc_hash::FxBuildHasher;

/// Boxes, and the map.
pub struct BoxMapStore<O = Member<BoxLink>> {
    boxes: HashMap<u64, BoxLink, FxBuildHasher>,
    /// The last number given.
    number: u64,
    owner: PhantomData<O>,
}

/// The address of a boxed order, or the end of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxLink(Option<NonNull<()>>);

/// An order and its number.
struct Boxed<O> {
    number: u64,
    order: Order<BoxLink, O>,
}

impl BoxLink {
    #[inline]
    fn address<O>(self) -> NonNull<Boxed<O>> {
        self.0.expect("the link names an order").cast()
    }
}

impl<O: Copy> Store for BoxMapStore<O> {
    type Link = BoxLink;
    type Owner = O;

    const NONE: BoxLink = BoxLink(None);
    const ORDER_BYTES: usize = (size_of::<Boxed<O>>() + 8).next_multiple_of(16) + 2 * 17;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(BoxMapStore {
            boxes: HashMap::with_capacity_and_hasher(room.reserve(), FxBuildHasher),
            number: 0,
            owner: PhantomData,
        })
    }

    fn insert(&mut self, order: Order<BoxLink, O>) -> BoxLink {
        self.number += 1;
        let number = self.number;
        let boxed: *mut Boxed<O> = Box::into_raw(Box::new(Boxed { number, order }));
        let link = BoxLink(NonNull::new(boxed.cast()));
        self.boxes.insert(number, link);
        link
    }

    fn remove(&mut self, link: BoxLink) -> Order<BoxLink, O> {
        // SAFETY: by X1 and X2 the address came from `into_raw`, and is not used again.
        let boxed = unsafe { Box::from_raw(link.address::<O>().as_ptr()) };
        let Boxed { number, order } = *boxed;
        self.boxes.remove(&number);
        order
    }

    #[inline]
    fn order(&self, link: BoxLink) -> impl Deref<Target = Order<BoxLink, O>> {
        // SAFETY: by X2 the order is alive, and it is changed by `&mut self` alone.
        unsafe { &link.address().as_ref().order }
    }

    #[inline]
    fn order_mut(&mut self, link: BoxLink) -> impl DerefMut<Target = Order<BoxLink, O>> {
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
