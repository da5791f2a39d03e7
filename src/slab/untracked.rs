//! Access by key without borrow tracking.

use core::fmt;
use core::ops::{Index, IndexMut};

use crate::key::Key;
use crate::slab::bounded::Bounded;
use crate::slab::cell::cells::Cells;
use crate::slab::cell::sent;
use crate::slab::growable::Growable;
use crate::slab::{Memory, TrackedSlab};

/// Access to the values of a slab by key, without borrow tracking.
///
/// Made by [`TrackedSlab::untracked`], whose contract holds: the caller makes sure
/// that no two references conflict. Each access still checks that there is a value,
/// and that it is neither doomed nor held by a `RefMut` or a `SlotBox`.
///
/// # Examples
///
/// ```
/// let slab = flatslab::BoundedSlab::with_capacity(8);
/// let key = slab.insert_key(7).unwrap();
/// // SAFETY: nothing else uses the values while `values` is in use.
/// let mut values = unsafe { slab.untracked() };
/// values[key] += 1;
/// assert_eq!(values.get(key), Some(&8));
/// // SAFETY: there is a value at `key`.
/// assert_eq!(unsafe { *values.get_unchecked(key) }, 8);
/// ```
pub struct UntrackedAccessor<'a, T, M: Memory = Bounded> {
    slab: &'a TrackedSlab<T, M>,
}

/// The [`UntrackedAccessor`] of a [`Slab`](crate::Slab).
pub type SlabUntrackedAccessor<'a, T> = UntrackedAccessor<'a, T, Growable>;

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Access by key that tracks no borrows, but still checks whether there is
    /// a value.
    ///
    /// # Safety
    ///
    /// While a shared reference from the accessor lives, nothing else writes
    /// to, mutably borrows, replaces or removes that value. While a mutable one
    /// lives, nothing else reads, writes, borrows, replaces or removes it. That
    /// is for any means: guards, handles, [`get_copied`](Self::get_copied),
    /// [`Slot::replace`](crate::Slot::replace), iterators, `clear`, `retain`,
    /// `drain`, other accessors. The end of a doomed value's last guard counts as
    /// its removal. Inserting is fine.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// // SAFETY: nothing else uses the values while `values` is in use.
    /// let mut values = unsafe { slab.untracked() };
    /// values[key] += 1;
    /// assert_eq!(values[key], 8);
    /// ```
    #[inline]
    pub unsafe fn untracked(&self) -> UntrackedAccessor<'_, T, M> {
        UntrackedAccessor { slab: self }
    }
}

impl<'a, T, M: Memory> UntrackedAccessor<'a, T, M> {
    #[inline(always)]
    fn cells(&self) -> Cells<'a, T, M> {
        self.slab.cells()
    }

    /// Borrows the value at `key`; O(1). `None` if there is none, or it is mutably
    /// borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// // SAFETY: nothing else uses the values while `values` is in use.
    /// let values = unsafe { slab.untracked() };
    /// assert_eq!(values.get(key), Some(&7));
    /// assert_eq!(values.get(flatslab::Key::NONE), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        let cell = self.cells().get(key)?;
        // SAFETY: plain, so there is a value without an exclusive borrow; that
        // it is neither written to nor removed is `untracked`'s contract.
        (cell.state().is_plain()).then(|| unsafe { cell.value().as_ref() })
    }

    /// Borrows the value at `key` mutably; O(1). `None` if there is none, or it is
    /// mutably borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// // SAFETY: nothing else uses the values while `values` is in use.
    /// let mut values = unsafe { slab.untracked() };
    /// *values.get_mut(key).unwrap() += 1;
    /// assert_eq!(values[key], 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let cell = self.cells().get(key)?;
        // SAFETY: plain, so there is a value without an exclusive borrow, which
        // may be pinned; that nothing else uses it is `untracked`'s contract.
        (cell.state().is_plain()).then(|| unsafe { cell.value().as_mut() })
    }

    /// Borrows the value at `key`, without any check: an address and a load.
    ///
    /// # Safety
    ///
    /// Besides the contract of [`untracked`](TrackedSlab::untracked): there is
    /// a value at `key` in this slab, [`get`](Self::get) would find it.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// // SAFETY: there is a value at `key`, and nothing else uses it.
    /// assert_eq!(unsafe { *slab.untracked().get_unchecked(key) }, 7);
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn get_unchecked(&self, key: Key) -> &T {
        // SAFETY: there is a value at `key`, and no conflicting access (preconditions).
        unsafe { self.cells().get_unchecked(key).value().as_ref() }
    }

    /// Borrows the value at `key` mutably, without any check: an address and a load.
    ///
    /// # Safety
    ///
    /// Besides the contract of [`untracked`](TrackedSlab::untracked): there is
    /// a value at `key` in this slab, [`get_mut`](Self::get_mut) would find it.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// // SAFETY: there is a value at `key`, and nothing else uses it.
    /// unsafe { *slab.untracked().get_unchecked_mut(key) += 1 };
    /// assert_eq!(slab.remove_by_key(key), 8);
    /// ```
    #[inline]
    #[must_use]
    pub unsafe fn get_unchecked_mut(&mut self, key: Key) -> &mut T {
        // SAFETY: there is a value at `key`, and no conflicting access (preconditions).
        unsafe { self.cells().get_unchecked(key).value().as_mut() }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse<T, M: Memory>(cells: Cells<'_, T, M>, key: Key) -> ! {
    let reason = match cells.get(key) {
        Some(cell) => sent::look_again(cells, cell).why_refused(),
        None => "the slab has no such slot",
    };
    panic!("untracked access was refused for {key:?}: {reason}")
}

/// # Panics
///
/// If there is no value at the key, or it is mutably borrowed.
impl<T, M: Memory> Index<Key> for UntrackedAccessor<'_, T, M> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: Key) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => refuse(self.cells(), key),
        }
    }
}

/// # Panics
///
/// If there is no value at the key, or it is mutably borrowed.
impl<T, M: Memory> IndexMut<Key> for UntrackedAccessor<'_, T, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: Key) -> &mut T {
        let cells = self.cells();
        match self.get_mut(key) {
            Some(value) => value,
            None => refuse(cells, key),
        }
    }
}

/// Prints how full the slab is, and no value: one may be borrowed.
impl<T, M: Memory> fmt::Debug for UntrackedAccessor<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntrackedAccessor")
            .field("slab", self.slab)
            .finish()
    }
}
