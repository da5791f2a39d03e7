//! `SharedKey`: a slot and its generation, in eight bytes.

use core::fmt;
use core::num::NonZeroU64;

#[cfg(doc)]
use super::SharedSlab;

/// The key of a value in a [`SharedSlab`]: 8 bytes, `Copy`, and `Option<SharedKey>` has 8
/// bytes too.
///
/// It has the slot and its generation: after the value is gone, the key never leads to a value
/// again, even if the slot is reused. The generation has 40 bits, and 34 in a slab of more
/// than 2^24 slots; a slot whose generations are used up is retired, unless the slab was built so
/// that they [wrap](SharedSlab#how-long-a-slab-lasts).
///
/// A key does not name its slab: in another one it leads to nothing, or to the value whose key
/// has the same bits; so does a key [made](Self::from_raw) of any bits.
///
/// Keys are ordered by generation, then by slot.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(1);
/// let first = slab.insert("first").unwrap();
/// assert!(slab.remove(first));
/// let second = slab.insert("second").unwrap();
/// assert!(slab.get(first).is_none()); // the same slot, not the same value
/// assert_eq!(*slab.get(second).unwrap(), "second");
/// assert_eq!(size_of_val(&Some(second)), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SharedKey(NonZeroU64);

const _: () = assert!(size_of::<SharedKey>() == 8 && size_of::<Option<SharedKey>>() == 8);

impl SharedKey {
    /// The key of the value that has this generation, in place and not 0, and this slot.
    #[inline(always)]
    pub(super) fn new(generation: u64, index: usize) -> Self {
        debug_assert!(generation != 0 && generation & index as u64 == 0);
        // SAFETY: generations begin at 1 and are never 0 (S3).
        SharedKey(unsafe { NonZeroU64::new_unchecked(generation | index as u64) })
    }

    /// The key's bits, to store or send: never 0. A poller whose tokens are keys may reserve 0 for
    /// what is no connection, and where the capacity is not 2²⁴ also `u64::MAX`: that is the last
    /// generation of the slot with that number. Where a token is a `usize` and pointers have 32
    /// bits, `as usize` loses the generation.
    ///
    /// ```
    /// use flatslab::sync::{SharedKey, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(SharedKey::from_raw(key.into_raw()), Some(key));
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        self.0.get()
    }

    /// The key with these bits; `None` if they are 0.
    ///
    /// A key that no slab handed out behaves like one whose value is gone.
    ///
    /// ```
    /// use flatslab::sync::{SharedKey, SharedSlab};
    ///
    /// assert_eq!(SharedKey::from_raw(0), None);
    /// let slab = SharedSlab::<u64>::with_capacity(1);
    /// assert!(slab.get(SharedKey::from_raw(7).unwrap()).is_none());
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_raw(raw: u64) -> Option<Self> {
        match NonZeroU64::new(raw) {
            Some(raw) => Some(SharedKey(raw)),
            None => None,
        }
    }
}

/// Prints the key's bits: `SharedKey(0x1000002)`.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({:#x})", self.0)
    }
}
