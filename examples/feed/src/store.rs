//! Where the orders live: one trait with seven implementations.
//!
//! The book accesses an order only through a [`Store`] and the store's key type, so
//! replacing the allocator changes nothing else. Access is by closure: a guard would
//! need a lifetime in the trait, and the book uses an order for one expression only.
//!
//! `bytes_held` is computed, not measured: a counting global allocator would slow
//! down the store of boxes, which it is meant to observe. Each store documents what
//! it counts.
//!
//! | store | memory with `--pages huge` | `prefetch` |
//! |---|---|---|
//! | flatslab's slabs | orders and free slots in huge pages | the slab's `prefetch` |
//! | flatslab's pool | orders and free list in huge pages | prefetches the address, which is the key |
//! | `slab` | the global allocator: its `Vec` takes no other | reads the entry |
//! | `Box` | the global allocator | prefetches the address, which is the key |
//! | the floor | array and stack in huge pages | prefetches the address |

mod boxes;
mod flatslab;
mod floor;
mod plain;
mod pool;
mod slab_crate;

use ::flatslab::memory::Report;
use ::flatslab::{AllocError, BuildError};
use order_flow::message::Side;

pub(crate) use self::boxes::{BoxKey, BoxStore};
pub(crate) use self::flatslab::{BoundedStore, GrowableStore};
pub(crate) use self::floor::{FloorKey, FloorStore};
pub(crate) use self::plain::KeyStore;
pub(crate) use self::pool::{PoolKey, PoolStore};
pub(crate) use self::slab_crate::{SlabCrateStore, SlabKey};

/// A resting order, linked to its neighbours in the list of its price.
///
/// The compiler orders the fields by alignment, so the only padding is at the end:
/// 32 bytes with the 4-byte keys of a slab, two orders to a cache line; 40 bytes
/// with pointers, which the pool pads to a line of 64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<K> {
    /// The exchange's number of the order.
    pub(crate) id: u64,
    /// Dollars × 10,000.
    pub(crate) price: u32,
    /// Remaining shares.
    pub(crate) size: u32,
    /// Index of the symbol: all symbols share one store.
    pub(crate) symbol: u32,
    /// The order that trades before this one.
    pub(crate) previous: K,
    /// The order that trades after this one.
    pub(crate) next: K,
    /// Buy or sell.
    pub(crate) side: Side,
}

const _: () = assert!(size_of::<Order<::flatslab::Key>>() == 32);
const _: () = assert!(size_of::<Order<SlabKey>>() == 32);
const _: () = assert!(size_of::<Order<FloorKey>>() == 32);
const _: () = assert!(size_of::<Order<BoxKey>>() == 40);
const _: () = assert!(size_of::<Order<PoolKey>>() == 40);

/// A key with a null value, for the ends of a list.
pub(crate) trait Link: Copy + Eq {
    /// No order.
    const NONE: Self;
}

/// The store has no room for another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreFull {
    /// The number of orders in the store.
    pub(crate) len: usize,
}

/// Why a store could not be built.
#[derive(Debug)]
pub(crate) enum NoStore {
    /// More orders than it has keys, in words.
    TooManyOrders(String),
    /// There is no such memory, in words.
    Memory(String),
}

impl From<BuildError> for NoStore {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Memory(AllocError::TooManySlots { .. }) => {
                NoStore::TooManyOrders(error.to_string())
            }
            _ => NoStore::Memory(error.to_string()),
        }
    }
}

/// An allocator of orders.
///
/// A key is valid from the `insert` that returns it to the `remove` that takes it.
/// The slabs panic on a key of a vacant slot. The pool, the store of boxes and the floor
/// do not check keys.
pub(crate) trait Store {
    /// The key of one order.
    type Key: Link;

    /// Inserts an order.
    fn insert(&mut self, order: Order<Self::Key>) -> Result<Self::Key, StoreFull>;
    /// Removes an order and returns it.
    fn remove(&mut self, key: Self::Key) -> Order<Self::Key>;
    /// Calls `f` with an order.
    fn with<R>(&self, key: Self::Key, f: impl FnOnce(&Order<Self::Key>) -> R) -> R;
    /// Calls `f` with an order to change.
    fn with_mut<R>(&mut self, key: Self::Key, f: impl FnOnce(&mut Order<Self::Key>) -> R) -> R;
    /// The number of orders.
    fn len(&self) -> usize;
    /// Bytes that the store has allocated for its orders.
    fn bytes_held(&self) -> usize;

    /// Starts to load an order that is needed soon into the cache. The default does
    /// nothing.
    #[inline(always)]
    fn prefetch(&self, key: Self::Key) {
        let _ = key;
    }

    /// What memory the store has obtained. `None` if it cannot tell.
    fn memory(&self) -> Option<Report> {
        None
    }
}

/// Starts to load the cache line of an address. The address need not be valid. Does
/// nothing on other architectures than x86-64.
#[inline(always)]
fn prefetch_line<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: x86-64 always has the instruction, and it faults at no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
