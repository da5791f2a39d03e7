//! `Contents`: what an epoch slab can have.

use core::ptr::NonNull;

use super::plans::{Options, Plans};
use crate::error::BuildError;

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
pub trait Sealed {
    /// The chunks of each size class, before they are rounded to pages.
    fn size_classes(options: &Options) -> Result<Plans, BuildError>;
}
