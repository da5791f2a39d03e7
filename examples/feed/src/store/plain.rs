//! flatslab's [`KeySlab`] as a [`Store`]: plain references, no stamp.

use flatslab::memory::{Pages, Report};
use flatslab::{Key, KeySlab};

use super::{NoStore, Order, Store, StoreFull};

/// One slot: the order, in which the side of the market leaves room for "vacant",
/// and its 4-byte entry in the stack of free slots.
const SLOT_BYTES: usize = size_of::<Option<Order<Key>>>() + 4;

const _: () = assert!(SLOT_BYTES == 36);

/// [`KeySlab`]: plain references, grows as a `Vec` does.
pub(crate) struct KeyStore {
    orders: KeySlab<Order<Key>>,
}

impl KeyStore {
    /// An empty store with memory for so many orders, which grows from these pages.
    ///
    /// # Errors
    ///
    /// If the pages cannot be had.
    pub(crate) fn new(reserved: usize, pages: Pages) -> Result<Self, NoStore> {
        let orders = KeySlab::builder()
            .reserve(reserved)
            .pages(pages)
            .try_build()?;
        Ok(KeyStore { orders })
    }
}

impl Store for KeyStore {
    type Key = Key;

    fn insert(&mut self, order: Order<Key>) -> Result<Key, StoreFull> {
        let len = self.orders.len();
        self.orders.try_insert(order).map_err(|_| StoreFull { len })
    }

    fn remove(&mut self, key: Key) -> Order<Key> {
        self.orders.remove(key)
    }

    fn with<R>(&self, key: Key, f: impl FnOnce(&Order<Key>) -> R) -> R {
        f(&self.orders[key])
    }

    fn with_mut<R>(&mut self, key: Key, f: impl FnOnce(&mut Order<Key>) -> R) -> R {
        f(&mut self.orders[key])
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
