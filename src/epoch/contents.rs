//! `Contents`: what an epoch slab can have.

use core::ptr::NonNull;

/// The contents of an epoch slab: [`Values`](super::Values) of one type, or [`Bytes`](super::Bytes). Sealed.
pub trait Contents: Sealed {
    #[doc(hidden)]
    const NEEDS_DROP: bool;

    /// # Safety
    ///
    /// The cell has a value of this type, which is not used afterwards.
    #[doc(hidden)]
    unsafe fn drop_in_place(cell: NonNull<u8>);
}

/// Contents are those of this crate.
pub trait Sealed {}
