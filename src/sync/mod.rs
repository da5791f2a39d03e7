//! Across threads.

// The helper threads' modules are added here.

#[cfg(target_has_atomic = "64")]
mod shared_slab;
#[cfg(target_has_atomic = "64")]
pub use shared_slab::{Iter, OwnedRef, SharedKey, SharedRef, SharedSlab, SharedSlabBuilder};
