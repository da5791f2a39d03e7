//! Several values at once.

use core::fmt;
use core::ptr::NonNull;

use super::cell::Cell;
use super::key::SlabKey;
use super::{PlainSlab, Storage};

impl<T, K: SlabKey, S: Storage> PlainSlab<T, K, S> {
    /// Borrows several values at once, mutably; O(`N`²), without allocation.
    ///
    /// # Errors
    ///
    /// If a key opens no value, or two open the same one.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::KeySlab;
    /// use flatslab::key_slab::DisjointError;
    ///
    /// let mut slab = KeySlab::new();
    /// let (a, b) = (slab.insert(1), slab.insert(2));
    /// let [one, two] = slab.get_disjoint_mut([a, b]).unwrap();
    /// core::mem::swap(one, two);
    /// assert_eq!((slab[a], slab[b]), (2, 1));
    /// assert_eq!(slab.get_disjoint_mut([a, a]), Err(DisjointError::Overlapping));
    /// ```
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let mut indices = [0; N];
        let mut cells = [NonNull::dangling(); N];
        for (at, key) in keys.into_iter().enumerate() {
            let (index, version) = (key.index(), key.version());
            cells[at] = self.find(index, version).ok_or(DisjointError::Missing)?;
            if indices[..at].contains(&index) {
                return Err(DisjointError::Overlapping);
            }
            indices[at] = index;
        }
        // SAFETY: the cells are occupied, distinct because their indices are, and borrowed
        // as long as the slab is.
        Ok(cells.map(|mut cell| unsafe { cell.as_mut().value_mut() }))
    }

    /// Borrows several values at once, mutably, without a check.
    ///
    /// # Safety
    ///
    /// Each key opens a value ([`contains`](Self::contains) would return `true`), no two the same
    /// one, and a key type that is not of this crate has the same numbers each time.
    ///
    /// # Examples
    ///
    /// ```
    /// let mut slab = flatslab::KeySlab::new();
    /// let keys = [slab.insert(1), slab.insert(2)];
    /// // SAFETY: just inserted, into two slots.
    /// let [one, two] = unsafe { slab.get_disjoint_unchecked_mut(keys) };
    /// core::mem::swap(one, two);
    /// assert_eq!(slab[keys[0]], 2);
    /// ```
    #[must_use]
    pub unsafe fn get_disjoint_unchecked_mut<const N: usize>(
        &mut self,
        keys: [K; N],
    ) -> [&mut T; N] {
        // SAFETY: the keys open values, so their cells are occupied; they are distinct
        // (preconditions), and borrowed as long as the slab is.
        keys.map(|key| unsafe { self.place(key.index()).as_mut().value_mut() })
    }
}

/// Why several values could not be borrowed at once.
///
/// # Examples
///
/// ```
/// use flatslab::{Key, KeySlab, key_slab::DisjointError};
///
/// let mut slab = KeySlab::new();
/// let key = slab.insert(7);
/// let error = slab.get_disjoint_mut([key, Key::NONE]).unwrap_err();
/// assert_eq!(error, DisjointError::Missing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisjointError {
    /// A key opens no value.
    Missing,
    /// Two keys open the same value.
    Overlapping,
}

impl fmt::Display for DisjointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DisjointError::Missing => "there is no value at one of the keys",
            DisjointError::Overlapping => "two of the keys are of the same value",
        })
    }
}

impl core::error::Error for DisjointError {}
