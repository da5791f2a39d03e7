//! flatslab's slabs as a [`Store`], with keys only and without `unsafe`.
//!
//! Inserted by key, an order belongs to the slab, and keys link it into an
//! intrusive list.

use flatslab::memory::{Pages, Report};
use flatslab::{BoundedSlab, Key, Slab};

use super::{Link, NoStore, Order, Store, StoreFull};

impl Link for Key {
    const NONE: Self = Key::NONE;
}

/// One slot: the order, its 8-byte stamp and its 8-byte entry in the free stack.
const SLOT_BYTES: usize = (8 + size_of::<Order<Key>>()).next_multiple_of(8) + 8;

/// Slots per chunk of the growable store: 48 KiB, room for two busy symbols. Small
/// enough that the store grows in a run with several symbols.
const CHUNK: usize = 1024;

/// [`BoundedSlab`]: allocates all memory at construction.
pub(crate) struct BoundedStore {
    orders: BoundedSlab<Order<Key>>,
}

impl BoundedStore {
    /// Room for `capacity` orders in these pages.
    ///
    /// # Errors
    ///
    /// If the slab cannot be that large or the pages cannot be had.
    pub(crate) fn with_capacity(capacity: usize, pages: Pages) -> Result<Self, NoStore> {
        let orders = BoundedSlab::builder()
            .capacity(capacity)
            .pages(pages)
            .try_build()?;
        Ok(BoundedStore { orders })
    }
}

/// [`Slab`]: grows by chunks and copies nothing.
pub(crate) struct GrowableStore {
    orders: Slab<Order<Key>>,
}

impl GrowableStore {
    /// An empty store with memory for so many orders, which grows from these pages.
    ///
    /// # Errors
    ///
    /// If the pages cannot be had.
    pub(crate) fn new(reserved: usize, pages: Pages) -> Result<Self, NoStore> {
        let orders = Slab::builder()
            .chunk_capacity(CHUNK)
            .reserve(reserved)
            .pages(pages)
            .try_build()?;
        Ok(GrowableStore { orders })
    }
}

macro_rules! store {
    ($store:ty) => {
        impl Store for $store {
            type Key = Key;

            fn insert(&mut self, order: Order<Key>) -> Result<Key, StoreFull> {
                self.orders.try_insert_key(order).map_err(|_| StoreFull {
                    len: self.orders.len(),
                })
            }

            fn remove(&mut self, key: Key) -> Order<Key> {
                self.orders.remove_by_key(key)
            }

            fn with<R>(&self, key: Key, f: impl FnOnce(&Order<Key>) -> R) -> R {
                f(&self.orders.get(key).expect("the key names an order"))
            }

            fn with_mut<R>(&mut self, key: Key, f: impl FnOnce(&mut Order<Key>) -> R) -> R {
                f(&mut self.orders.get_mut(key).expect("the key names an order"))
            }

            fn len(&self) -> usize {
                self.orders.len()
            }

            /// Capacity × slot.
            fn bytes_held(&self) -> usize {
                self.orders.capacity() * SLOT_BYTES
            }

            #[inline(always)]
            fn prefetch(&self, key: Key) {
                self.orders.prefetch(key);
            }

            fn memory(&self) -> Option<Report> {
                Some(self.orders.memory())
            }
        }
    };
}

store!(BoundedStore);
store!(GrowableStore);
