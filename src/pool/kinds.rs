//! The kinds of memory that a pool can have, by name.

#[cfg(feature = "alloc")]
use super::heap::{Made, Segments};
use super::lent::Lent;
use super::memory::{Cells, Memory};
#[cfg(feature = "alloc")]
use crate::raw::links::Links;
#[cfg(feature = "alloc")]
use crate::raw::stack::FreeStack;

/// A kind of memory: [`Heap`], [`Intrusive`] or [`InStorage`]. Sealed.
pub trait PoolMemory: Kind {}

/// Memory of the pool's own, and 8 bytes a cell for the free list, outside of the
/// cells. Boxes of 8 bytes.
#[derive(Debug)]
pub enum Heap {}

/// Memory of the pool's own, and a free list through the vacant cells. Boxes of 8
/// bytes.
#[derive(Debug)]
pub enum Intrusive {}

/// The caller's memory: a [`PoolStorage`](super::PoolStorage), and a free list through
/// the vacant cells. Boxes of 16 bytes.
#[derive(Debug)]
pub enum InStorage {}

/// A kind of memory that the pool allocates: [`Heap`] or [`Intrusive`]. Sealed.
#[cfg(feature = "alloc")]
pub trait OwnMemory: PoolMemory + sealed::Own {}

#[cfg(feature = "alloc")]
impl OwnMemory for Heap {}
#[cfg(feature = "alloc")]
impl OwnMemory for Intrusive {}

impl PoolMemory for Heap {}
impl PoolMemory for Intrusive {}
impl PoolMemory for InStorage {}

mod sealed {
    /// Leads from the name of a kind to what it is.
    pub trait Kind: 'static {
        type Memory: super::Memory;
    }

    /// The same of a kind whose memory is allocated.
    #[cfg(feature = "alloc")]
    pub trait Own: Kind<Memory: super::Made> {}
    #[cfg(feature = "alloc")]
    impl<M: Kind<Memory: super::Made>> Own for M {}
}
pub(super) use sealed::Kind;

#[cfg(feature = "alloc")]
impl Kind for Heap {
    type Memory = Segments<FreeStack>;
}

#[cfg(feature = "alloc")]
impl Kind for Intrusive {
    type Memory = Segments<Links>;
}

/// There is no heap: no pool of this kind can be made.
#[cfg(not(feature = "alloc"))]
impl Kind for Heap {
    type Memory = Lent;
}

#[cfg(not(feature = "alloc"))]
impl Kind for Intrusive {
    type Memory = Lent;
}

impl Kind for InStorage {
    type Memory = Lent;
}

/// A cell of 64 bytes is one cache line.
const _: () = {
    assert!(Cells::<[u64; 8], Lent>::LAYOUT.size() == 64);
    #[cfg(feature = "alloc")]
    assert!(Cells::<[u64; 8], Segments<FreeStack>>::LAYOUT.size() == 64);
    #[cfg(feature = "alloc")]
    assert!(Cells::<[u64; 8], Segments<Links>>::LAYOUT.size() == 64);
};
