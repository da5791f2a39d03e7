//! The `slab` crate as a [`Store`]: one `Vec`, copied when it grows.

use std::hint::black_box;

use super::{Link, Order, Store, StoreFull};

/// A key of the `slab` crate, truncated to 4 bytes so that its orders are as small
/// as flatslab's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlabKey(u32);

impl Link for SlabKey {
    const NONE: Self = SlabKey(u32::MAX);
}

/// [`slab::Slab`].
#[derive(Default)]
pub(crate) struct SlabCrateStore {
    orders: slab::Slab<Order<SlabKey>>,
}

/// The layout of the private `Entry` of the `slab` crate, for its size.
#[expect(dead_code, reason = "only its size is of interest")]
enum SlabEntry {
    Vacant(usize),
    Occupied(Order<SlabKey>),
}

impl Store for SlabCrateStore {
    type Key = SlabKey;

    fn insert(&mut self, order: Order<SlabKey>) -> Result<SlabKey, StoreFull> {
        let len = self.orders.len();
        // Keys are below `u32::MAX`, which is `NONE`.
        if len < u32::MAX as usize {
            Ok(SlabKey(self.orders.insert(order) as u32))
        } else {
            Err(StoreFull { len })
        }
    }

    fn remove(&mut self, key: SlabKey) -> Order<SlabKey> {
        self.orders.remove(key.0 as usize)
    }

    fn with<R>(&self, key: SlabKey, f: impl FnOnce(&Order<SlabKey>) -> R) -> R {
        f(&self.orders[key.0 as usize])
    }

    fn with_mut<R>(&mut self, key: SlabKey, f: impl FnOnce(&mut Order<SlabKey>) -> R) -> R {
        f(&mut self.orders[key.0 as usize])
    }

    fn len(&self) -> usize {
        self.orders.len()
    }

    /// Reads the entry: the crate has no other way to its address. A load instead of a
    /// hint, but nothing waits for its result.
    #[inline(always)]
    fn prefetch(&self, key: SlabKey) {
        black_box(self.orders.contains(key.0 as usize));
    }

    /// Capacity × entry. During growth the old `Vec` exists too; it is not counted.
    fn bytes_held(&self) -> usize {
        self.orders.capacity() * size_of::<SlabEntry>()
    }
}
