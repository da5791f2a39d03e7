//! The two kinds of slabs: one that grows, and one that does not.

#[cfg(doc)]
use super::{BoundedKeySlab, KeySlab};

/// Whether a slab grows: [`Bounded`] or [`Growable`]. Sealed.
pub trait Storage: sealed::Kind {}

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

/// A capacity that grows with the values: of a [`KeySlab`].
#[derive(Debug)]
pub enum Growable {}

impl Storage for Bounded {}
impl Storage for Growable {}

impl sealed::Kind for Bounded {
    const NAME: &'static str = "BoundedKeySlab";
    const BOUNDED: bool = true;
}

impl sealed::Kind for Growable {
    const NAME: &'static str = "KeySlab";
    const BOUNDED: bool = false;
}
