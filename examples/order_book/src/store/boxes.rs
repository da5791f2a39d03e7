//! The global allocator behind the [`Store`] trait: a `Box` per order, and its
//! address as the key. What it costs to do without a slab, in time and in
//! `unsafe`.
//!
//! # Invariants
//!
//! * X1: `insert` returns a pointer from `Box::into_raw`.
//! * X2: every key given to `with`, `with_mut` and `remove` came from `insert`
//!   of this store and has not been removed since: the promise made to `new`.

use std::ptr::NonNull;

use super::{Link, Order, Store, StoreFull};

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
#[derive(Debug)]
pub(crate) struct BoxStore {
    len: usize,
    most: usize,
}

impl BoxStore {
    /// A store without orders.
    ///
    /// # Safety
    ///
    /// Nothing checks a pointer. Whoever owns the store uses only keys that
    /// its `insert` returned, and none after its `remove`.
    pub(crate) unsafe fn new() -> Self {
        BoxStore { len: 0, most: 0 }
    }
}

impl Store for BoxStore {
    type Key = BoxKey;

    fn insert(&mut self, order: Order<BoxKey>) -> Result<BoxKey, StoreFull> {
        self.len += 1;
        self.most = self.most.max(self.len);
        Ok(BoxKey(NonNull::new(Box::into_raw(Box::new(order)))))
    }

    fn remove(&mut self, key: BoxKey) -> Order<BoxKey> {
        self.len -= 1;
        // SAFETY: by X1 and X2 the address is that of a box turned into a
        // pointer and not freed since; X2 rules out that it is used again.
        *unsafe { Box::from_raw(key.address().as_ptr()) }
    }

    fn with<R>(&self, key: BoxKey, f: impl FnOnce(&Order<BoxKey>) -> R) -> R {
        // SAFETY: by X1 and X2 the order is alive. It is only written through
        // `&mut self`, which cannot exist while `f` runs.
        f(unsafe { key.address().as_ref() })
    }

    fn with_mut<R>(&mut self, key: BoxKey, f: impl FnOnce(&mut Order<BoxKey>) -> R) -> R {
        // SAFETY: by X1 and X2 the order is alive, and `&mut self` means that
        // no other call, hence no other reference into it, exists.
        f(unsafe { key.address().as_mut() })
    }

    fn len(&self) -> usize {
        self.len
    }

    /// The most orders ever held × what a common `malloc` takes for one: the
    /// request and an 8-byte header, rounded up to 16. An estimate: another
    /// allocator rounds differently, and none says so.
    fn bytes_held(&self) -> usize {
        self.most * (size_of::<Order<BoxKey>>() + 8).next_multiple_of(16)
    }
}
