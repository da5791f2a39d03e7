//! `SharedRef` and `OwnedRef`: a value that stays while it is read.
//!
//! They hold a pointer to the cell, not a reference: the end of a guard may drop the value and
//! give its cell to another thread, which a reference would have promised not to see.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

use super::cell::CellPtr;
use super::{SharedKey, SharedSlab};

/// A value of a [`SharedSlab`], which stays as long as this; from [`SharedSlab::get`].
///
/// The last guard of a value that was removed drops it. 16 bytes; making one and ending it are
/// a locked instruction each. A guard that is forgotten keeps its value, and the slot, until
/// the slab is [cleared](SharedSlab::clear) or dropped.
///
/// `Send` and `Sync` where `T` is both: wherever it ends, the value may be dropped. Its
/// functions are associated ones, so as not to hide the value's methods.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(1);
/// let key = slab.insert(String::from("kept")).unwrap();
/// let guard = slab.get(key).unwrap();
/// slab.remove(key);
/// assert_eq!(guard.len(), 4);
/// drop(guard);
/// assert!(slab.is_empty());
/// ```
#[must_use = "the guard ends at once"]
pub struct SharedRef<'a, T> {
    cell: CellPtr<T>,
    slab: &'a SharedSlab<T>,
}

/// A value of a [`SharedSlab`], and the `Arc` of the slab; from [`SharedSlab::get_owned`].
///
/// It is a [`SharedRef`] without a lifetime. Where it ends, the value may be dropped, and the
/// slab with all its values.
///
/// `Send` and `Sync` where `T` is both.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use flatslab::sync::{OwnedRef, SharedSlab};
///
/// struct Session { peer: OwnedRef<String> }
///
/// let names = Arc::new(SharedSlab::with_capacity(8));
/// let key = names.insert(String::from("peer")).unwrap();
/// let session = Session { peer: names.get_owned(key).unwrap() };
/// assert_eq!(*session.peer, "peer");
/// ```
#[must_use = "the guard ends at once"]
pub struct OwnedRef<T> {
    cell: CellPtr<T>,
    slab: Arc<SharedSlab<T>>,
}

// SAFETY: it gives a reference to the value (`Sync`), and may drop it (`Send`).
unsafe impl<T: Send + Sync> Send for SharedRef<'_, T> {}
// SAFETY: as above; a clone may drop it on another thread.
unsafe impl<T: Send + Sync> Sync for SharedRef<'_, T> {}
// SAFETY: as above, and so does the slab, if this is its last owner.
unsafe impl<T: Send + Sync> Send for OwnedRef<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for OwnedRef<T> {}

impl<'a, T> SharedRef<'a, T> {
    /// # Safety
    ///
    /// A reader of the value in this cell of this slab was counted, and becomes this guard.
    #[inline(always)]
    pub(super) unsafe fn new(slab: &'a SharedSlab<T>, cell: CellPtr<T>) -> Self {
        SharedRef { cell, slab }
    }

    /// The cell, whose reader the caller becomes.
    #[inline(always)]
    pub(super) fn into_cell(self) -> CellPtr<T> {
        let cell = self.cell;
        core::mem::forget(self);
        cell
    }

    /// The key of the value, also of a removed one; O(1).
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(SharedRef::key(&slab.get(key).unwrap()), key);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(guard: &Self) -> SharedKey {
        key(guard.slab, guard.cell)
    }

    /// Removes the value that is being read: its key leads to nothing from now on, and the last
    /// guard drops it, this one if there is no other. Whether this call removed it.
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let (one, two) = (slab.get(key).unwrap(), slab.get(key).unwrap());
    /// assert!(SharedRef::remove(one));
    /// assert_eq!((slab.get(key).is_none(), *two), (true, 7));
    /// assert!(!SharedRef::remove(two));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the guard ends with the removal"
    )]
    pub fn remove(guard: Self) -> bool {
        // SAFETY: allocated as long as the slab is (H1).
        unsafe { guard.cell.word().remove_by_reader() }
    }

    /// Another guard of the same value, also of a removed one; O(1), no allocation.
    ///
    /// An associated function, so that `guard.clone()` clones the value.
    ///
    /// # Panics
    ///
    /// With 4,194,303 guards of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let one = slab.get(key).unwrap();
    /// slab.remove(key);
    /// let two = SharedRef::clone(&one);
    /// drop(one);
    /// assert_eq!(*two, 7);
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the value's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        begin_along(guard.slab, guard.cell);
        SharedRef {
            cell: guard.cell,
            slab: guard.slab,
        }
    }
}

impl<T> OwnedRef<T> {
    /// # Safety
    ///
    /// A reader of the value in this cell of this slab was counted, and becomes this guard.
    #[inline(always)]
    pub(super) unsafe fn new(slab: Arc<SharedSlab<T>>, cell: CellPtr<T>) -> Self {
        OwnedRef { cell, slab }
    }

    /// The key of the value, also of a removed one; O(1).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{OwnedRef, SharedSlab};
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(OwnedRef::key(&slab.get_owned(key).unwrap()), key);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(guard: &Self) -> SharedKey {
        key(&guard.slab, guard.cell)
    }

    /// The slab that the value is in; O(1).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{OwnedRef, SharedSlab};
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get_owned(key).unwrap();
    /// assert!(Arc::ptr_eq(OwnedRef::slab(&guard), &slab));
    /// ```
    #[inline]
    #[must_use]
    pub fn slab(guard: &Self) -> &Arc<SharedSlab<T>> {
        &guard.slab
    }

    /// Removes the value that is being read: its key leads to nothing from now on, and the last
    /// guard drops it, this one if there is no other. Whether this call removed it.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{OwnedRef, SharedSlab};
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// assert!(OwnedRef::remove(slab.get_owned(key).unwrap()));
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the guard ends with the removal"
    )]
    pub fn remove(guard: Self) -> bool {
        // SAFETY: allocated as long as the slab is (H1).
        unsafe { guard.cell.word().remove_by_reader() }
    }

    /// Another guard of the same value, also of a removed one; O(1), no allocation.
    ///
    /// # Panics
    ///
    /// With 4,194,303 guards of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{OwnedRef, SharedSlab};
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let one = slab.get_owned(key).unwrap();
    /// let two = OwnedRef::clone(&one);
    /// drop((one, slab));
    /// assert_eq!(*two, 7);
    /// ```
    #[inline]
    #[track_caller]
    #[expect(
        clippy::should_implement_trait,
        reason = "a method would hide the value's own"
    )]
    pub fn clone(guard: &Self) -> Self {
        let slab = guard.slab.clone();
        begin_along(&slab, guard.cell);
        OwnedRef {
            cell: guard.cell,
            slab,
        }
    }
}

#[inline(always)]
fn key<T>(slab: &SharedSlab<T>, cell: CellPtr<T>) -> SharedKey {
    // SAFETY: allocated as long as the slab is (H1).
    let generation = unsafe { cell.word().generation(slab.mask) };
    SharedKey::new(generation, slab.index_of(cell))
}

#[inline(always)]
#[track_caller]
fn begin_along<T>(slab: &SharedSlab<T>, cell: CellPtr<T>) {
    // SAFETY: allocated as long as the slab is (H1).
    if !unsafe { cell.word().begin_read_along() } {
        too_many(key(slab, cell));
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_many(key: SharedKey) -> ! {
    panic!("a clone was refused for {key:?}: it has too many readers")
}

impl<T> Deref for SharedRef<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: counted, so the value is there, and is not written to (S2, H3).
        unsafe { self.cell.value().as_ref() }
    }
}

impl<T> Deref for OwnedRef<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as for `SharedRef`; the slab lives as long as this.
        unsafe { self.cell.value().as_ref() }
    }
}

impl<T> Drop for SharedRef<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reader that was counted.
        unsafe { self.slab.end_read(self.cell) };
    }
}

impl<T> Drop for OwnedRef<T> {
    #[inline]
    fn drop(&mut self) {
        // The slab is dropped afterwards, on unwinding too.
        // SAFETY: this is the reader that was counted.
        unsafe { self.slab.end_read(self.cell) };
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for SharedRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for SharedRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Debug> fmt::Debug for OwnedRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the value.
impl<T: fmt::Display> fmt::Display for OwnedRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
