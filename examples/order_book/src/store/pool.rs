//! flatslab's `Pool`: an order is alone on its lines of the cache, and its link is its
//! address. What leads from a number to it is a table with an entry for each number given
//! so far, which only grows.
//!
//! # Invariants
//!
//! * P1: `boxes` has under its number the box of each live order, from `PoolBox::into_raw`,
//!   and nothing under all others.
//! * P2: a link is given by `insert` or `find`, and names a live order until `remove`: the
//!   caller of `open` promises it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{Room, Store};
use crate::order::Order;
use crate::sessions::Member;
use flatslab::BuildError;
use flatslab::pool::{CacheAligned, Pool, PoolBox};

type Cell<O> = CacheAligned<Numbered<O>>;

/// An order and its number.
#[derive(Debug)]
struct Numbered<O> {
    order: Order<PoolLink, O>,
    number: u32,
}

/// The address of an order, or the end of a list. Aligned as four bytes, so that an order and
/// its number fill a line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(Rust, packed(4))]
pub struct PoolLink(Option<NonNull<()>>);

const _: () = assert!(size_of::<Cell<Member<PoolLink>>>() == 64);

impl PoolLink {
    #[inline]
    fn address<O>(self) -> NonNull<Cell<O>> {
        let address = self.0;
        address.expect("the link names an order").cast()
    }
}

/// [`Pool`], and the table.
pub struct PoolStore<O = Member<PoolLink>> {
    orders: Pool<'static, Cell<O>>,
    boxes: Vec<PoolLink>,
}

impl<O: Copy + 'static> Store for PoolStore<O> {
    type Link = PoolLink;
    type Owner = O;

    const NONE: PoolLink = PoolLink(None);
    /// Without the table, which has 8 bytes for each order there was.
    const ORDER_BYTES: usize = size_of::<Cell<O>>() + 8;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(PoolStore {
            orders: Pool::builder().capacity(room.orders).try_build()?,
            boxes: Vec::with_capacity(4 * room.orders),
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<PoolLink, O>) -> PoolLink {
        let number = self.boxes.len() as u32;
        let boxed = self
            .orders
            .try_alloc(CacheAligned(Numbered { order, number }));
        let boxed = boxed.expect("there is room for the most orders");
        let link = PoolLink(NonNull::new(PoolBox::into_raw(boxed).cast()));
        self.boxes.push(link);
        link
    }

    #[inline]
    fn remove(&mut self, link: PoolLink) -> Order<PoolLink, O> {
        // SAFETY: by P1 and P2 the pointer came from `into_raw` of a box of this pool, and
        // is not used again.
        let boxed = unsafe { self.orders.box_from_raw(link.address::<O>().as_ptr()) };
        let Numbered { order, number } = PoolBox::into_inner(boxed).0;
        self.boxes[number as usize] = Self::NONE;
        order
    }

    #[inline]
    fn order(&self, link: PoolLink) -> impl Deref<Target = Order<PoolLink, O>> {
        // SAFETY: by P2 the order is alive, and it is changed by `&mut self` alone.
        unsafe { &link.address().as_ref().0.order }
    }

    #[inline]
    fn order_mut(&mut self, link: PoolLink) -> impl DerefMut<Target = Order<PoolLink, O>> {
        // SAFETY: by P2 the order is alive, and borrowed through `self` alone.
        unsafe { &mut link.address().as_mut().0.order }
    }

    #[inline]
    fn id(&self, link: PoolLink) -> u64 {
        // SAFETY: as in `order`.
        u64::from(unsafe { link.address::<O>().as_ref().0.number })
    }

    #[inline]
    fn find(&self, id: u64) -> Option<PoolLink> {
        let link = *self.boxes.get(id as usize)?;
        (link != Self::NONE).then_some(link)
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}
