//! `VacantEntry`: where the next value goes.

use core::fmt;

use super::key::{Inside, SlabKey};
use super::{Growable, PlainSlab, Storage};
use crate::key::Key;

/// The slot that the next insertion fills; made by
/// [`vacant_entry`](PlainSlab::vacant_entry).
///
/// It takes nothing before [`insert`](Self::insert): dropping or forgetting it
/// changes nothing.
///
/// # Examples
///
/// ```
/// use flatslab::{Key, KeySlab};
///
/// struct Node { me: Key }
///
/// let mut slab = KeySlab::new();
/// let entry = slab.vacant_entry();
/// let me = entry.key();
/// let node = entry.insert(Node { me });
/// assert_eq!(node.me, me);
/// ```
#[must_use = "an entry does nothing before `insert`"]
pub struct VacantEntry<'a, T, K: SlabKey = Key, S: Storage = Growable> {
    /// It has a [next place](PlainSlab::next_place), and keeps it: nothing else
    /// uses the slab while it is borrowed.
    slab: &'a mut PlainSlab<T, K, S>,
    /// The numbers and not the key, whose methods may return others later.
    index: usize,
    version: u32,
}

impl<'a, T, K: SlabKey, S: Storage> VacantEntry<'a, T, K, S> {
    /// # Safety
    ///
    /// `place` is the slab's [next place](PlainSlab::next_place).
    #[inline]
    pub(super) unsafe fn new(slab: &'a mut PlainSlab<T, K, S>, place: (usize, u32)) -> Self {
        debug_assert!(slab.next_place() == Some(place));
        let (index, version) = place;
        VacantEntry {
            slab,
            index,
            version,
        }
    }

    /// The key that the value will have.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let entry = slab.vacant_entry();
    /// let key = entry.key();
    /// entry.insert(7);
    /// assert_eq!(slab[key], 7);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(&self) -> K {
        K::new(self.index, self.version, Inside)
    }

    /// Puts the value in; O(1), no allocation, cannot fail.
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// *slab.vacant_entry().insert(7) += 1;
    /// assert_eq!(slab.values().next(), Some(&8));
    /// ```
    #[inline]
    pub fn insert(self, value: T) -> &'a mut T {
        // SAFETY: there was a next place when the entry was made, and the slab is
        // borrowed since.
        unsafe { self.slab.fill_next(value) }
    }
}

/// Prints the key.
impl<T, K: SlabKey, S: Storage> fmt::Debug for VacantEntry<'_, T, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VacantEntry")
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}
