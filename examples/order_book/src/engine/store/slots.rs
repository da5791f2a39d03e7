//! flatslab's `Slab` and `BoundedSlab`, by key and by a number in each order.
//!
//! Their keys have no generations: a key names a slot. So an id on the wire is a key and a
//! number, and the engine compares the number, as with the `slab` crate. Access by key lends
//! guards, which count who reads and who writes.

use std::ops::{Deref, DerefMut};

use flatslab::{Bounded, BoundedSlab, BuildError, Growable, Key, Memory, Slab, TrackedSlab};

use super::keys::full;
use super::{Room, Store, joined, parted};
use crate::engine::order::Order;

/// An order and its number.
pub struct Numbered {
    order: Order<Key>,
    number: u32,
}

/// A guard of a numbered order.
pub struct Lent<G>(G);

impl<G: Deref<Target = Numbered>> Deref for Lent<G> {
    type Target = Order<Key>;

    #[inline]
    fn deref(&self) -> &Order<Key> {
        &self.0.order
    }
}

impl<G: DerefMut<Target = Numbered>> DerefMut for Lent<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Order<Key> {
        &mut self.0.order
    }
}

/// [`Slab`]: grows chunk by chunk.
pub type SlabStore = Slots<Growable>;

/// [`BoundedSlab`]: has room for the most orders from the start.
pub type BoundedSlabStore = Slots<Bounded>;

/// Either of them.
pub struct Slots<M: Memory> {
    orders: TrackedSlab<Numbered, M>,
    /// The last number given.
    number: u32,
}

/// How each of them is built.
pub(crate) trait Open: Sized {
    fn open(room: Room) -> Result<Self, BuildError>;
}

impl Open for Slab<Numbered> {
    fn open(room: Room) -> Result<Self, BuildError> {
        Slab::builder().reserve(room.reserve()).try_build()
    }
}

impl Open for BoundedSlab<Numbered> {
    fn open(room: Room) -> Result<Self, BuildError> {
        BoundedSlab::builder().capacity(room.orders).try_build()
    }
}

impl<M: Memory> Store for Slots<M>
where
    TrackedSlab<Numbered, M>: Open,
{
    type Link = Key;
    type Ref<'a>
        = Lent<flatslab::Ref<'a, Numbered>>
    where
        Self: 'a;
    type RefMut<'a>
        = Lent<flatslab::RefMut<'a, Numbered>>
    where
        Self: 'a;

    const NONE: Key = Key::NONE;
    /// The order, its 8-byte stamp and its 8-byte entry in the free stack.
    const ORDER_BYTES: usize = size_of::<Numbered>() + 8 + 8;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(Slots {
            orders: Open::open(room)?,
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<Key>) -> Key {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        let inserted = self.orders.try_insert_key(Numbered { order, number });
        inserted.unwrap_or_else(|_| full(self.orders.len()))
    }

    #[inline]
    fn remove(&mut self, link: Key) -> Order<Key> {
        self.orders.remove_by_key(link).order
    }

    #[inline]
    fn order(&self, link: Key) -> Self::Ref<'_> {
        Lent(self.orders.get(link).expect("the link names an order"))
    }

    #[inline]
    fn order_mut(&mut self, link: Key) -> Self::RefMut<'_> {
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
