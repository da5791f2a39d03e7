//! flatslab's `Slab` and `BoundedSlab`, by key and by a number in each order.
//!
//! Their keys have no generations: a key names a slot. So an id on the wire is a key and a
//! number, and the engine compares the number, as with the `slab` crate. Access by key lends
//! guards, which count who reads and who writes.

use std::ops::{Deref, DerefMut};

use flatslab::{Bounded, BoundedSlab, BuildError, Growable, Key, Memory, Slab, TrackedSlab};

use super::keys::full;
use super::{Room, Store, joined, parted};
use crate::order::Order;
use crate::sessions::Member;

/// An order and its number.
pub struct Numbered<O> {
    order: Order<Key, O>,
    number: u32,
}

/// A guard of a numbered order.
struct Lent<G>(G);

impl<O, G: Deref<Target = Numbered<O>>> Deref for Lent<G> {
    type Target = Order<Key, O>;

    #[inline]
    fn deref(&self) -> &Order<Key, O> {
        &self.0.order
    }
}

impl<O, G: DerefMut<Target = Numbered<O>>> DerefMut for Lent<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Order<Key, O> {
        &mut self.0.order
    }
}

/// [`Slab`]: grows chunk by chunk.
pub type SlabStore<O = Member<Key>> = Slots<Growable, O>;

/// [`BoundedSlab`]: has room for the most orders from the start.
pub type BoundedSlabStore<O = Member<Key>> = Slots<Bounded, O>;

/// Either of them.
pub struct Slots<M: Memory, O> {
    orders: TrackedSlab<Numbered<O>, M>,
    /// The last number given.
    number: u32,
}

/// How each of them is built.
pub(crate) trait Open: Sized {
    fn open(room: Room) -> Result<Self, BuildError>;
}

impl<O> Open for Slab<Numbered<O>> {
    fn open(room: Room) -> Result<Self, BuildError> {
        Slab::builder().reserve(room.reserve()).try_build()
    }
}

impl<O> Open for BoundedSlab<Numbered<O>> {
    fn open(room: Room) -> Result<Self, BuildError> {
        BoundedSlab::builder().capacity(room.orders).try_build()
    }
}

impl<M: Memory, O: Copy> Store for Slots<M, O>
where
    TrackedSlab<Numbered<O>, M>: Open,
{
    type Link = Key;
    type Owner = O;

    const NONE: Key = Key::NONE;
    /// The order, its 8-byte stamp and its 8-byte entry in the free stack.
    const ORDER_BYTES: usize = size_of::<Numbered<O>>() + 8 + 8;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(Slots {
            orders: Open::open(room)?,
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<Key, O>) -> Key {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        let inserted = self.orders.try_insert_key(Numbered { order, number });
        inserted.unwrap_or_else(|_| full(self.orders.len()))
    }

    #[inline]
    fn remove(&mut self, link: Key) -> Order<Key, O> {
        self.orders.remove_by_key(link).order
    }

    #[inline]
    fn order(&self, link: Key) -> impl Deref<Target = Order<Key, O>> {
        Lent(self.orders.get(link).expect("the link names an order"))
    }

    #[inline]
    fn order_mut(&mut self, link: Key) -> impl DerefMut<Target = Order<Key, O>> {
        Lent(self.orders.get_mut(link).expect("the link names an order"))
    }

    #[inline]
    fn id(&self, link: Key) -> u64 {
        let numbered = self.orders.get(link).expect("the link names an order");
        joined(link.into_raw(), numbered.number)
    }

    #[inline]
    fn find(&self, id: u64) -> Option<Key> {
        let (slot, number) = parted(id);
        let key = Key::from_raw(slot);
        let numbered = self.orders.get(key)?;
        (numbered.number == number).then_some(key)
    }

    fn len(&self) -> usize {
        self.orders.len()
    }
}
