//! The kinds of memory that a pool can have, by name.

#[cfg(feature = "alloc")]
use super::heap::Segments;
use super::lent::Lent;
use super::memory::{Cells, Memory};

/// A kind of memory: [`Heap`] or [`InStorage`]. Sealed.
pub trait PoolMemory: Kind {}

/// Memory that the pool allocates, and 8 bytes a cell for the free list, outside of the
/// cells. Boxes of 8 bytes.
#[derive(Debug)]
pub enum Heap {}

/// The caller's memory: a [`PoolStorage`](super::PoolStorage), with the free list in the
/// vacant cells. Boxes of 16 bytes.
#[derive(Debug)]
pub enum InStorage {}

impl PoolMemory for Heap {}
impl PoolMemory for InStorage {}

mod sealed {
    /// Leads from the name of a kind to its type.
    pub trait Kind: 'static {
        type Memory: super::Memory;
    }
}
pub(super) use sealed::Kind;

#[cfg(feature = "alloc")]
impl Kind for Heap {
    type Memory = Segments;
}

/// There is no heap: no pool of this kind can be made.
#[cfg(not(feature = "alloc"))]
impl Kind for Heap {
    type Memory = Lent;
}

impl Kind for InStorage {
    type Memory = Lent;
}

/// A cell of 64 bytes is one cache line.
const _: () = {
    assert!(Cells::<[u64; 8], Lent>::LAYOUT.size() == 64);
    #[cfg(feature = "alloc")]
    assert!(Cells::<[u64; 8], Segments>::LAYOUT.size() == 64);
};
