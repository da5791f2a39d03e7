//! flatslab behind the [`Store`] trait, by keys alone and without `unsafe`.
//!
//! An inserted order's handle is leaked: from then on the slab owns the order
//! and the key names it, as an intrusive list needs it.

use flatslab::{BoundedSlab, Key, Slab};

use super::{Link, Order, Store, StoreFull};

impl Link for Key {
    const NONE: Self = Key::NONE;
}

/// One slot: the order behind its 8-byte stamp, and the slot's entry in the
/// stack of free ones.
const SLOT_BYTES: usize = (8 + size_of::<Order<Key>>()).next_multiple_of(8) + 8;

/// Slots per chunk of the growable store: 48 KiB, room for two busy symbols.
/// Small enough that growth happens, and can be seen, in an ordinary run.
const CHUNK: usize = 1024;

/// [`BoundedSlab`]: all memory taken at the start.
pub(crate) struct BoundedStore {
    orders: BoundedSlab<Order<Key>>,
}

impl BoundedStore {
    /// Room for `capacity` orders.
    ///
    /// # Errors
    ///
    /// The reason, where the slab cannot be that large.
    pub(crate) fn with_capacity(capacity: usize) -> Result<Self, String> {
        match BoundedSlab::try_with_capacity(capacity) {
            Ok(orders) => Ok(BoundedStore { orders }),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// [`Slab`]: grows by a chunk, copies nothing.
pub(crate) struct GrowableStore {
    orders: Slab<Order<Key>>,
}

impl GrowableStore {
    /// A store that has no chunk yet.
    pub(crate) fn new() -> Self {
        GrowableStore {
            orders: Slab::builder().chunk_capacity(CHUNK).build(),
        }
    }
}

/// Both slabs have the same methods but for the name of the fallible insert.
macro_rules! store {
    ($store:ty, $insert:ident) => {
        impl Store for $store {
            type Key = Key;

            fn insert(&mut self, order: Order<Key>) -> Result<Key, StoreFull> {
                match self.orders.$insert(order) {
                    Ok(slot) => Ok(slot.leak()),
                    Err(_) => Err(StoreFull {
                        len: self.orders.len(),
                    }),
                }
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
        }
    };
}

store!(BoundedStore, insert);
store!(GrowableStore, try_insert);
