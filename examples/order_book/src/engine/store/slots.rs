//! flatslab's tracked `Slab`, which lends guards: keys without generations, and a number in
//! each order as in `slab + number`.

use std::ops::{Deref, DerefMut};

use flatslab::{BuildError, Key, Slab};

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

/// [`Slab`] of numbered orders.
pub struct SlotStore {
    orders: Slab<Numbered>,
    /// The last number given.
    number: u32,
}

impl Store for SlotStore {
    type Link = Key;
    type Ref<'a> = Lent<flatslab::Ref<'a, Numbered>>;
    type RefMut<'a> = Lent<flatslab::RefMut<'a, Numbered>>;

    const NONE: Key = Key::NONE;
    /// The order, its 8-byte stamp and its 8-byte entry in the free stack.
    const ORDER_BYTES: usize = size_of::<Numbered>() + 8 + 8;

    unsafe fn open(room: Room) -> Result<Self, BuildError> {
        Ok(SlotStore {
            orders: Slab::builder().reserve(room.reserve()).try_build()?,
            number: 0,
        })
    }

    #[inline]
    fn insert(&mut self, order: Order<Key>) -> Key {
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.orders.insert_key(Numbered { order, number })
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
