//! A [`Store`] without a slab: a `Box` per order, whose address is the key. It
//! shows what that costs in time and in `unsafe`.
//!
//! # Invariants
//!
//! * X1: `insert` returns a pointer from `Box::into_raw`.
//! * X2: every key given to `with`, `with_mut` and `remove` came from `insert` of
//!   this store and has not been removed since: the caller of `new` promises it.

use std::ptr::NonNull;

use super::{Link, Order, Store, StoreFull, prefetch_line};

/// The address of a boxed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxKey(Option<NonNull<Order<BoxKey>>>);

impl Link for BoxKey {
    const NONE: Self = BoxKey(None);
}

impl BoxKey {
    fn address(self) -> NonNull<Order<BoxKey>> {
        self.0.expect("the key names an order")
    }
}

/// A `Box` per order.
///
/// It counts its orders, but does not track them: orders that are not removed leak.
#[derive(Debug)]
pub(crate) struct BoxStore {
    len: usize,
    /// The highest `len` so far.
    peak: usize,
}

impl BoxStore {
    /// An empty store.
    ///
    /// # Safety
    ///
    /// Keys are not checked. Every key given to the store must come from its
    /// `insert`, and must not have been given to `remove` before.
    pub(crate) unsafe fn new() -> Self {
        BoxStore { len: 0, peak: 0 }
    }
}

impl Store for BoxStore {
    type Key = BoxKey;

    fn insert(&mut self, order: Order<BoxKey>) -> Result<BoxKey, StoreFull> {
        self.len += 1;
        self.peak = self.peak.max(self.len);
        Ok(BoxKey(NonNull::new(Box::into_raw(Box::new(order)))))
    }

    fn remove(&mut self, key: BoxKey) -> Order<BoxKey> {
        self.len -= 1;
        // SAFETY: by X1 and X2 the pointer came from `Box::into_raw` and the box
        // is not freed. By X2 the key is not used again.
        *unsafe { Box::from_raw(key.address().as_ptr()) }
    }

    fn with<R>(&self, key: BoxKey, f: impl FnOnce(&Order<BoxKey>) -> R) -> R {
        // SAFETY: by X1 and X2 the order is alive. Only `&mut self` methods write
        // to it or free it, and none runs while `f` borrows from `&self`.
        f(unsafe { key.address().as_ref() })
    }

    fn with_mut<R>(&mut self, key: BoxKey, f: impl FnOnce(&mut Order<BoxKey>) -> R) -> R {
        // SAFETY: by X1 and X2 the order is alive. References to it exist only
        // during `with` and `with_mut`, and `&mut self` excludes another such call.
        f(unsafe { key.address().as_mut() })
    }

    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn prefetch(&self, key: BoxKey) {
        if let Some(address) = key.0 {
            prefetch_line(address.as_ptr());
        }
    }

    /// The peak number of orders × what a common `malloc` takes for one: the request
    /// and an 8-byte header, rounded up to 16. An estimate: other allocators round
    /// differently.
    fn bytes_held(&self) -> usize {
        self.peak * (size_of::<Order<BoxKey>>() + 8).next_multiple_of(16)
    }
}
