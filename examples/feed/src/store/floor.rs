//! A [`Store`] that checks nothing and never faults: what no store can be faster than
//! by much, to judge the others by.
//!
//! # Invariants
//!
//! * Y1: every order whose index is not in `free` is initialised.
//! * Y2: every key given to `with`, `with_mut` and `remove` came from `insert` of this
//!   store and has not been removed since: the caller of `with_capacity` promises it.

use std::mem::MaybeUninit;

use allocator_api2::vec::Vec;
use flatslab::memory::{PageAllocator, Pages, Report};

use super::{Link, NoStore, Order, Store, StoreFull, prefetch_line};

/// An index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloorKey(u32);

impl Link for FloorKey {
    const NONE: Self = FloorKey(u32::MAX);
}

/// One array and a stack of its free indices, all memory touched beforehand.
#[derive(Debug)]
pub(crate) struct FloorStore {
    orders: Vec<MaybeUninit<Order<FloorKey>>, PageAllocator>,
    free: Vec<u32, PageAllocator>,
}

impl FloorStore {
    /// A store with room for so many orders, in these pages.
    ///
    /// # Safety
    ///
    /// Keys are not checked. Every key given to the store must come from its
    /// `insert`, and must not have been given to `remove` before.
    ///
    /// # Errors
    ///
    /// If there is no memory, or more orders than keys.
    pub(crate) unsafe fn with_capacity(capacity: usize, pages: Pages) -> Result<Self, NoStore> {
        let last =
            u32::try_from(capacity).map_err(|error| NoStore::TooManyOrders(error.to_string()))?;
        let pages = PageAllocator::try_new(pages)?;
        let mut orders: Vec<MaybeUninit<Order<FloorKey>>, _> = Vec::new_in(pages.clone());
        let mut free = Vec::new_in(pages);
        orders
            .try_reserve_exact(capacity)
            .and_then(|()| free.try_reserve_exact(capacity))
            .map_err(|error| NoStore::Memory(error.to_string()))?;
        // Writes to every page.
        orders.resize_with(capacity, MaybeUninit::zeroed);
        free.extend((0..last).rev());
        Ok(FloorStore { orders, free })
    }
}

impl Store for FloorStore {
    type Key = FloorKey;

    #[inline(always)]
    fn insert(&mut self, order: Order<FloorKey>) -> Result<FloorKey, StoreFull> {
        let Some(index) = self.free.pop() else {
            return Err(StoreFull { len: self.len() });
        };
        // SAFETY: the stack has indices of the array.
        unsafe { self.orders.get_unchecked_mut(index as usize) }.write(order);
        Ok(FloorKey(index))
    }

    #[inline(always)]
    fn remove(&mut self, key: FloorKey) -> Order<FloorKey> {
        // SAFETY: by Y2 the index is of the array and not free; so there is room on
        // the stack for it, and by Y1 an order.
        unsafe {
            let len = self.free.len();
            self.free.as_mut_ptr().add(len).write(key.0);
            self.free.set_len(len + 1);
            self.orders.get_unchecked(key.0 as usize).assume_init_read()
        }
    }

    #[inline(always)]
    fn with<R>(&self, key: FloorKey, f: impl FnOnce(&Order<FloorKey>) -> R) -> R {
        // SAFETY: by Y2 the index is of the array and not free, so by Y1 there is an
        // order.
        f(unsafe { self.orders.get_unchecked(key.0 as usize).assume_init_ref() })
    }

    #[inline(always)]
    fn with_mut<R>(&mut self, key: FloorKey, f: impl FnOnce(&mut Order<FloorKey>) -> R) -> R {
        // SAFETY: as in `with`.
        f(unsafe {
            self.orders
                .get_unchecked_mut(key.0 as usize)
                .assume_init_mut()
        })
    }

    fn len(&self) -> usize {
        self.orders.len() - self.free.len()
    }

    #[inline(always)]
    fn prefetch(&self, key: FloorKey) {
        prefetch_line(self.orders.as_ptr().wrapping_add(key.0 as usize));
    }

    fn memory(&self) -> Option<Report> {
        Some(self.orders.allocator().memory())
    }

    /// The array and the stack.
    fn bytes_held(&self) -> usize {
        self.orders.capacity() * size_of::<Order<FloorKey>>() + self.free.capacity() * 4
    }
}
