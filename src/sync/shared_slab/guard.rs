//! `SharedRef`: a value that stays while it is read, and keeps its slab by reference or by `Arc`;
//! and the iterator that returns a guard of each value.
//!
//! A guard holds a pointer to the cell, not a reference: dropping the guard may drop the value and
//! give the cell to another thread, which a reference would exclude until the call returns.

use alloc::sync::Arc;
use core::fmt;
use core::iter::FusedIterator;
use core::mem::ManuallyDrop;
use core::ops::Deref;

use super::SharedSlab;
use super::cell::{CellPtr, MOST_READERS, SharedKey, Slot};
use crate::as_value::print_as_value;
use crate::error::AccessError;

/// A guard of a value in a [`SharedSlab`]: the value is not dropped while the guard exists.
///
/// `S` is how the guard keeps the slab. [`SharedSlab::get`] borrows the slab, so its guard is a
/// `SharedRef<T, &SharedSlab<T>>` of 16 bytes. [`SharedSlab::get_owned`] clones the `Arc` of the
/// slab, so that a struct can hold the guard. The last owner of the slab drops it with all its
/// values, and that may be a guard.
///
/// The last guard of a removed value drops the value, or [leaves](Self::retire) that to another
/// thread. Creating a guard and dropping it take a locked instruction each. If a guard is
/// forgotten, its value stays in its slot until the slab is [cleared](SharedSlab::clear) or
/// dropped.
///
/// It is `Send` and `Sync` if `T` is both, because the value may be dropped where the guard is
/// dropped. Its functions are associated functions, so that they hide no method of the value.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use flatslab::sync::{SharedRef, SharedSlab};
///
/// struct Session { peer: SharedRef<String> }
///
/// let names = Arc::new(SharedSlab::with_capacity(8));
/// let key = names.insert(String::from("peer")).unwrap();
/// let guard = names.get(key).unwrap();
/// names.remove(key);
/// assert_eq!(*guard, "peer");
/// drop(guard);
/// assert!(names.is_empty());
///
/// let key = names.insert(String::from("other")).unwrap();
/// let session = Session { peer: names.get_owned(key).unwrap() };
/// drop(names);
/// assert_eq!(*session.peer, "other");
/// ```
#[must_use = "the guard ends at once"]
pub struct SharedRef<T, S: Deref<Target = SharedSlab<T>> = Arc<SharedSlab<T>>> {
    cell: CellPtr<T>,
    slab: S,
}

// SAFETY: it gives a reference to the value (`Sync`), and may drop it (`Send`). The reference or
// `Arc` that keeps the slab can be sent too.
unsafe impl<T: Send + Sync, S: Deref<Target = SharedSlab<T>> + Send> Send for SharedRef<T, S> {}
// SAFETY: as above; a clone may drop the value on another thread.
unsafe impl<T: Send + Sync, S: Deref<Target = SharedSlab<T>> + Sync> Sync for SharedRef<T, S> {}

impl<T, S: Deref<Target = SharedSlab<T>>> SharedRef<T, S> {
    /// # Safety
    ///
    /// A reader of the value in this cell of this slab was counted, and becomes this guard. `S` is
    /// `&SharedSlab<T>` or `Arc<SharedSlab<T>>`.
    #[inline(always)]
    pub(super) unsafe fn new(slab: S, cell: CellPtr<T>) -> Self {
        SharedRef { cell, slab }
    }

    #[inline]
    fn slot(guard: &Self) -> Slot<'_, T> {
        // SAFETY: the guard keeps the slab, and so the cell is allocated (`block-of-cells`,
        // `slot-allocated`).
        unsafe { Slot::new(guard.cell) }
    }

    /// Returns the cell, whose reader the caller becomes. `S` is a reference to the slab.
    #[inline(always)]
    pub(super) fn into_cell(self) -> CellPtr<T>
    where
        S: Copy,
    {
        let cell = self.cell;
        core::mem::forget(self);
        cell
    }

    /// Returns the key of the value, even of a removed one. O(1).
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
        let generation = Self::slot(guard).word().generation(guard.slab.mask);
        SharedKey::new(generation, guard.slab.index_of(guard.cell))
    }

    /// Returns the reference to the slab, or its `Arc`. O(1).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get_owned(key).unwrap();
    /// assert!(Arc::ptr_eq(SharedRef::slab(&guard), &slab));
    /// ```
    #[inline]
    #[must_use]
    pub fn slab(guard: &Self) -> &S {
        &guard.slab
    }

    /// Removes the value and drops the guard, and returns whether this call removed the value.
    ///
    /// The key is stale from now on. The last guard drops the value; that is this one if there is
    /// no other.
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
        Self::slot(&guard).word().remove_by_reader()
    }

    /// Drops the guard without running the value's destructor, for a thread on which no destructor
    /// may run, such as an audio callback.
    ///
    /// If the value was removed and this is its last guard, the value keeps its slot until
    /// [`reclaim`](SharedSlab::reclaim) drops it, on the thread that calls it. If the value is
    /// removed later, when it has no guards, the removal drops it. A guard with an `Arc` may be the
    /// last owner of the slab, and then drops the slab here with all its values: keep another
    /// owner.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate. If the value is left to `reclaim`, it takes as many locked
    /// instructions as an insertion, in addition to those of dropping a guard.
    ///
    /// ```
    /// use std::thread;
    ///
    /// use flatslab::sync::{SharedRef, SharedSlab};
    ///
    /// let samples = SharedSlab::with_capacity(8);
    /// let key = samples.insert(vec![0.5_f32; 512]).unwrap();
    /// let playing = samples.get(key).unwrap();
    /// thread::scope(|scope| {
    ///     samples.remove(key);                            // there is a guard: not dropped here,
    ///     scope.spawn(|| SharedRef::retire(playing));     // nor here,
    /// });
    /// assert_eq!(samples.reclaim(), 1);                   // but here
    /// ```
    #[inline]
    pub fn retire(guard: Self) {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: the guard is not used any more, and its reference or `Arc` is dropped once, after
        // the read has ended. This is the reader that was counted.
        unsafe {
            let slab = core::ptr::read(&guard.slab);
            slab.end_read_undropped(Self::slot(&guard));
        }
    }

    /// Returns another guard of the same value, even of a removed one. O(1); does not allocate.
    ///
    /// This is an associated function, so that `guard.clone()` clones the value.
    ///
    /// # Panics
    ///
    /// If the value has 4,194,303 guards.
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
    pub fn clone(guard: &Self) -> Self
    where
        S: Clone,
    {
        let slab = guard.slab.clone();
        if !Self::slot(guard).word().begin_read_along() {
            too_many(Self::key(guard));
        }
        SharedRef {
            cell: guard.cell,
            slab,
        }
    }
}

impl<T, S: Deref<Target = SharedSlab<T>>> Deref for SharedRef<T, S> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: counted, so the value exists, and is not written to (`readers-keep-value`,
        // `guard-counted`); the slab lives as long as the guard.
        unsafe { Self::slot(self).value().as_ref() }
    }
}

impl<T, S: Deref<Target = SharedSlab<T>>> Drop for SharedRef<T, S> {
    #[inline]
    fn drop(&mut self) {
        // The reference or `Arc` that keeps the slab is dropped afterwards, even on unwinding.
        // SAFETY: this is the reader that was counted.
        unsafe { self.slab.end_read(Self::slot(self)) };
    }
}

print_as_value!(impl [T, S: Deref<Target = SharedSlab<T>>] for SharedRef<T, S>, as T);

/// An iterator over the values of a [`SharedSlab`], from [`SharedSlab::iter`].
///
/// It is `Send` and `Sync` if `T` is both.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(2);
/// let key = slab.insert(7).unwrap();
/// let (first, value) = slab.iter().next().unwrap();
/// assert_eq!((first, *value), (key, 7));
/// ```
#[must_use = "an iterator does nothing before it is asked"]
pub struct Iter<'a, T> {
    slab: &'a SharedSlab<T>,
    next: usize,
}

impl<T> SharedSlab<T> {
    /// Iterates over the values, each with its key and a guard, in the order of slots.
    ///
    /// Each slot is read once: values that other threads insert or remove during the iteration may
    /// or may not be visited.
    ///
    /// # Complexity
    ///
    /// O(capacity) for a whole iteration.
    ///
    /// # Panics
    ///
    /// Its `next` panics if a value has 4,194,303 guards.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(8);
    /// let keys = [1, 2, 3].map(|number| slab.insert(number).unwrap());
    /// for (key, value) in &slab {
    ///     if *value == 2 {
    ///         assert!(slab.remove(key));
    ///     }
    /// }
    /// assert_eq!(slab.iter().map(|(_, value)| *value).sum::<i32>(), 4);
    /// # let _ = keys;
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }
}

impl<'a, T> IntoIterator for &'a SharedSlab<T> {
    type Item = (SharedKey, SharedRef<T, &'a SharedSlab<T>>);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(slab: &'a SharedSlab<T>) -> Self {
        Iter { slab, next: 0 }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (SharedKey, SharedRef<T, &'a SharedSlab<T>>);

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.slab.capacity() {
            let index = self.next;
            self.next += 1;
            // SAFETY: `index` is below the capacity (the condition of the loop).
            let slot = unsafe { self.slab.slot(index) };
            match slot.word().begin_any_read(self.slab.mask) {
                None => {}
                Some((generation, Ok(()))) => {
                    let key = SharedKey::new(generation, index);
                    // SAFETY: `begin_any_read` has counted the reader that the guard is
                    // (`guard-counted`).
                    return Some((key, unsafe { SharedRef::new(self.slab, slot.cell()) }));
                }
                Some((generation, Err(error))) => refused(SharedKey::new(generation, index), error),
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.slab.capacity() - self.next))
    }
}

impl<T> FusedIterator for Iter<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

/// Prints the number of slots that are not visited yet.
impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("slots_left", &(self.slab.capacity() - self.next))
            .finish_non_exhaustive()
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn refused(key: SharedKey, error: AccessError) -> ! {
    panic!("access was refused for {key:?}: {error}")
}

#[cold]
#[inline(never)]
#[track_caller]
fn too_many(key: SharedKey) -> ! {
    panic!(
        "SharedRef::clone was refused for {key:?}: the value has too many readers \
         (limit {MOST_READERS})"
    )
}
