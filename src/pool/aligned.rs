//! `CacheAligned`: a value that begins on a cache line.

use core::fmt;
use core::ops::{Deref, DerefMut};

/// A value that begins on a cache line of 64 bytes and shares none of its lines.
///
/// It is for types without such an alignment of their own; a `#[repr(align(64))]` type needs no
/// wrapper. The size is rounded up to a multiple of 64 bytes, so fewer small values fit into a
/// cache: smaller cells can be faster if values are used in random order.
///
/// # Examples
///
/// ```
/// use flatslab::pool::{CacheAligned, Pool};
///
/// struct Quote { bid: u64, ask: u64 }
///
/// let pool = Pool::with_capacity(8);
/// let quote = pool.alloc(CacheAligned(Quote { bid: 99, ask: 101 }));
/// assert_eq!((&raw const *quote).addr() % 64, 0);
/// assert_eq!(quote.ask - quote.bid, 2);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(align(64))]
pub struct CacheAligned<T>(
    /// The value.
    pub T,
);

impl<T> From<T> for CacheAligned<T> {
    #[inline]
    fn from(value: T) -> Self {
        CacheAligned(value)
    }
}

impl<T> Deref for CacheAligned<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CacheAligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for CacheAligned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for CacheAligned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
