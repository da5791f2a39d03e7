//! flatslab's [`Pool`] as a [`Store`]: an order is alone on its cache line, and its
//! key is its address.
//!
//! A [`PoolBox`] borrows its pool, and a store cannot borrow from itself. So a key is
//! what [`PoolBox::into_raw`] makes of a box, one pointer, and `remove` takes the box
//! back. Nothing checks a key, as in the store of boxes.
//!
//! # Invariants
//!
//! * P1: `insert` returns a pointer from `PoolBox::into_raw` of a box of `orders`,
//!   which is never reset.
//! * P2: every key given to `with`, `with_mut` and `remove` came from `insert` of
//!   this store and has not been removed since: the caller of `with_capacity` promises
//!   it.

use std::ptr::NonNull;

use flatslab::memory::{Pages, Report};
use flatslab::pool::{CacheAligned, Pool, PoolBox};

use super::{Link, NoStore, Order, Store, StoreFull, prefetch_line};

/// A cell of the pool.
type Cell = CacheAligned<Order<PoolKey>>;

const _: () = assert!(size_of::<Cell>() == 64 && align_of::<Cell>() == 64);

/// The address of an order in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey(Option<NonNull<Cell>>);

const _: () = assert!(size_of::<PoolKey>() == 8);

impl Link for PoolKey {
    const NONE: Self = PoolKey(None);
}

impl PoolKey {
    fn address(self) -> NonNull<Cell> {
        self.0.expect("the key names an order")
    }
}

/// [`Pool`]: allocates all memory at construction.
#[derive(Debug)]
pub(crate) struct PoolStore {
    orders: Pool<'static, Cell>,
}

impl PoolStore {
    /// Room for `capacity` orders in these pages.
    ///
    /// # Safety
    ///
    /// Keys are not checked. Every key given to the store must come from its
    /// `insert`, and must not have been given to `remove` before.
    ///
    /// # Errors
    ///
    /// If the pool cannot be that large or the pages cannot be had.
    pub(crate) unsafe fn with_capacity(capacity: usize, pages: Pages) -> Result<Self, NoStore> {
        let orders = Pool::builder()
            .capacity(capacity)
            .pages(pages)
            .try_build()?;
        Ok(PoolStore { orders })
    }
}

impl Store for PoolStore {
    type Key = PoolKey;

    fn insert(&mut self, order: Order<PoolKey>) -> Result<PoolKey, StoreFull> {
        match self.orders.try_alloc(CacheAligned(order)) {
            Ok(boxed) => Ok(PoolKey(NonNull::new(PoolBox::into_raw(boxed)))),
            Err(_) => Err(StoreFull { len: self.len() }),
        }
    }

    fn remove(&mut self, key: PoolKey) -> Order<PoolKey> {
        // SAFETY: by P1 and P2 the pointer came from `into_raw` of a box of this pool,
        // which was not taken back. By P2 the key is not used again.
        let boxed = unsafe { self.orders.box_from_raw(key.address().as_ptr()) };
        PoolBox::into_inner(boxed).0
    }

    fn with<R>(&self, key: PoolKey, f: impl FnOnce(&Order<PoolKey>) -> R) -> R {
        // SAFETY: by P1 and P2 the order is alive. Only `&mut self` methods write to it
        // or free it, and none runs while `f` borrows from `&self`.
        f(unsafe { key.address().as_ref() })
    }

    fn with_mut<R>(&mut self, key: PoolKey, f: impl FnOnce(&mut Order<PoolKey>) -> R) -> R {
        // SAFETY: by P1 and P2 the order is alive. References to it exist only during
        // `with` and `with_mut`, and `&mut self` excludes another such call.
        f(unsafe { key.address().as_mut() })
    }

    fn len(&self) -> usize {
        self.orders.len()
    }

    #[inline(always)]
    fn prefetch(&self, key: PoolKey) {
        if let Some(address) = key.0 {
            prefetch_line(address.as_ptr());
        }
    }

    fn memory(&self) -> Option<Report> {
        Some(self.orders.memory())
    }

    /// Capacity × cell with its 8-byte entry in the free list. The headers of the
    /// segments, below 1 %, are not counted.
    fn bytes_held(&self) -> usize {
        self.orders.capacity() * (size_of::<Cell>() + 8)
    }
}
