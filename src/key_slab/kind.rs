//! The kinds of slabs: one that grows, and those that do not.

use core::marker::PhantomData;

#[cfg(doc)]
use super::{BoundedKeySlab, KeySlab, KeySlabStorage};

/// Whether a slab grows: [`Growable`], or [`Bounded`] and [`InStorage`]. Sealed.
pub trait Storage: sealed::Kind {}

/// A fixed capacity: [`Bounded`] or [`InStorage`]. Sealed.
pub trait FixedStorage: Storage {}

mod sealed {
    pub trait Kind {
        /// For errors of snapshots.
        const NAME: &'static str;
        const BOUNDED: bool;
    }
}

/// A fixed capacity: of a [`BoundedKeySlab`].
#[derive(Debug)]
pub enum Bounded {}

/// A fixed capacity in a [`KeySlabStorage`] that is borrowed for `'s`.
#[derive(Debug)]
pub struct InStorage<'s>(PhantomData<&'s ()>);

/// A capacity that grows with the values: of a [`KeySlab`].
#[derive(Debug)]
pub enum Growable {}

impl Storage for Bounded {}
impl Storage for Growable {}
impl Storage for InStorage<'_> {}

impl FixedStorage for Bounded {}
impl FixedStorage for InStorage<'_> {}

impl sealed::Kind for Bounded {
    const NAME: &'static str = "BoundedKeySlab";
    const BOUNDED: bool = true;
}

impl sealed::Kind for InStorage<'_> {
    const NAME: &'static str = Bounded::NAME;
    const BOUNDED: bool = true;
}

impl sealed::Kind for Growable {
    const NAME: &'static str = "KeySlab";
    const BOUNDED: bool = false;
}
