//! Slab allocators with flat memory and flat latency, for programs judged by
//! their slowest operation.
#![no_std]
#![warn(rustdoc::all)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod bounded;
#[cfg(doctest)]
mod compile_fail;
mod error;
mod guard;
mod key;
mod keyed;
mod raw;
mod slab;
mod slot;
mod slot_box;
mod untracked;
mod vacant_slot;

pub use bounded::BoundedSlab;
pub use error::{AllocError, Borrowed, CapacityError, Full};
pub use guard::{Ref, RefMut};
pub use key::Key;
pub use slab::{Slab, SlabBuilder};
pub use slot::Slot;
pub use slot_box::SlotBox;
pub use untracked::{SlabUntrackedAccessor, UntrackedAccessor};
pub use vacant_slot::VacantSlot;
