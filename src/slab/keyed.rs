//! Operations by key: access, removal, turning a value back into a slot; and access without
//! borrow tracking.
//!
//! If there is no value at a key, the methods say so: `None`. If the value is borrowed in a way
//! that excludes the call, that is a *conflict*: a method without `try_` panics with the key and
//! the reason, and its `try_` form returns an [`AccessError`]. A node that is being read must not
//! be taken for the end of its list. The hot path only asks whether access is possible; if it is
//! not, a cold function finds out which of the two it was.

use core::fmt;
use core::ops::{Index, IndexMut};
use core::ptr::NonNull;

#[cfg(doc)]
use crate::SlotBox;
use crate::error::{AccessError, DisjointError};
use crate::key::Key;
use crate::raw::touch::prefetch;
use crate::slab::bounded::Bounded;
use crate::slab::cell::{CellPtr, Live};
use crate::slab::cells::Cells;
use crate::slab::growable::Growable;
use crate::slab::guard::{Ref, RefMut};
use crate::slab::holder::Holder;
use crate::slab::slot::Slot;
use crate::slab::state::State;
use crate::slab::{Memory, TrackedSlab, sent, walk};

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Removes the value that a slot owns, and returns it.
    ///
    /// This is [`Slot::into_inner`]. A slot of another slab is accepted too: the value is then
    /// removed from that slab.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate, and copies the value once.
    ///
    /// # Panics
    ///
    /// Panics where [`Slot::into_inner`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slab.into_inner(slot), 7);
    /// assert!(slab.is_empty());
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "take")]
    pub fn into_inner(&self, slot: Slot<T>) -> T {
        slot.into_inner()
    }

    /// Borrows the value with this key.
    ///
    /// Returns `None` if there is no value. Any key is accepted.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is mutably borrowed (a [`SlotBox`] counts), or if there are already 2^27
    /// - 1 readers. [`try_get`](Self::try_get) returns an error instead, which tells these apart.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{Key, Slab};
    ///
    /// let slab = Slab::new();
    /// let key = slab.insert_key(7);
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// assert!(slab.get(Key::NONE).is_none());
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: Key) -> Option<Ref<'_, T>> {
        let cell = self.cells().get(key)?;
        match Ref::try_new(cell) {
            Some(guard) => Some(guard),
            None => {
                self.refuse_if_occupied("get", cell);
                None
            }
        }
    }

    /// Borrows the value with this key, like [`get`](Self::get), in O(1).
    ///
    /// # Errors
    ///
    /// Returns [`Missing`](AccessError::Missing) if there is no value,
    /// [`Borrowed`](AccessError::Borrowed) if it is mutably borrowed, and
    /// [`TooManyReaders`](AccessError::TooManyReaders) if there are already 2^27 - 1 readers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{AccessError, Key, Slab};
    ///
    /// let slab = Slab::new();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.try_get(slot.key()).as_deref(), Ok(&7));
    /// let guard = slot.get_mut();
    /// assert_eq!(slab.try_get(slot.key()).unwrap_err(), AccessError::Borrowed);
    /// assert_eq!(slab.try_get(Key::NONE).unwrap_err(), AccessError::Missing);
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_get(&self, key: Key) -> Result<Ref<'_, T>, AccessError> {
        let cell = self.cells().get(key).ok_or(AccessError::Missing)?;
        Ref::try_new(cell).ok_or_else(|| self.conflict(cell).why_no_reader())
    }

    /// Borrows the value with this key mutably. The borrow is tracked at run time.
    ///
    /// Returns `None` if there is no value. Any key is accepted.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is borrowed (a [`SlotBox`] counts). [`try_get_mut`](Self::try_get_mut)
    /// returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// *slab.get_mut(key).unwrap() += 1;
    /// assert_eq!(*slab.get(key).unwrap(), 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut(&self, key: Key) -> Option<RefMut<'_, T>> {
        let cell = self.cells().get(key)?;
        match RefMut::try_new(cell) {
            Some(guard) => Some(guard),
            None => {
                self.refuse_if_occupied("get_mut", cell);
                None
            }
        }
    }

    /// Borrows the value with this key mutably, like [`get_mut`](Self::get_mut).
    ///
    /// # Errors
    ///
    /// Returns [`Missing`](AccessError::Missing) if there is no value, and
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{AccessError, Slab};
    ///
    /// let slab = Slab::new();
    /// let key = slab.insert_key(7);
    /// *slab.try_get_mut(key).unwrap() += 1;
    /// let reader = slab.get(key).unwrap();
    /// assert_eq!(slab.try_get_mut(key).unwrap_err(), AccessError::Borrowed);
    /// # drop(reader);
    /// ```
    #[inline]
    pub fn try_get_mut(&self, key: Key) -> Result<RefMut<'_, T>, AccessError> {
        let cell = self.cells().get(key).ok_or(AccessError::Missing)?;
        RefMut::try_new(cell).ok_or_else(|| self.conflict(cell).why_no_writer())
    }

    /// Copies the value with this key, without a guard and without a write to memory.
    ///
    /// Returns `None` if there is no value. Any key is accepted.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// Panics if the value is mutably borrowed (a [`SlotBox`] counts). [`try_get`](Self::try_get)
    /// returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// assert_eq!(slab.get_copied(key), Some(7));
    /// slab.remove_by_key(key);
    /// assert_eq!(slab.get_copied(key), None);
    /// ```
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_copied(&self, key: Key) -> Option<T>
    where
        T: Copy,
    {
        let cell = self.cells().get(key)?;
        if cell.state().is_plain() {
            // SAFETY: a plain state has a value that is not written to.
            Some(unsafe { *cell.value().as_ref() })
        } else {
            self.refuse_if_occupied("get_copied", cell);
            None
        }
    }

    /// Prefetches the value with this key: a hint to the processor, for a value that will be used
    /// soon.
    ///
    /// Accesses no value, checks only the range of keys, and cannot fault. Does nothing on
    /// processors other than x86_64 and aarch64. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let (first, second) = (slab.insert_key(1), slab.insert_key(2));
    /// slab.prefetch(second);
    /// assert_eq!(*slab.get(first).unwrap() + *slab.get(second).unwrap(), 3);
    /// ```
    #[inline]
    pub fn prefetch(&self, key: Key) {
        if let Some(cell) = self.cells().get(key) {
            prefetch(cell.start(), CellPtr::<T>::SIZE);
        }
    }

    /// Returns `true` if there is a value with this key, whether or not it is borrowed. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// let guard = slot.get_mut();
    /// assert!(slab.contains_key(slot.key()));
    /// assert!(!slab.contains_key(flatslab::Key::NONE));
    /// # drop(guard);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias("contains", "is_valid", "is_alive"))]
    pub fn contains_key(&self, key: Key) -> bool {
        match self.cells().get(key) {
            Some(cell) => {
                let state = cell.state();
                state.is_plain() || state.is_occupied() && self.conflict(cell).is_occupied()
            }
            None => false,
        }
    }

    /// Removes the value with this key, and returns it.
    ///
    /// A [`Slot`] that owned the value becomes stale; its cell stays out of use until the slot is
    /// dropped.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate, and copies the value once.
    ///
    /// # Panics
    ///
    /// Panics if there is no value with this key, or if it is borrowed; nothing has changed then.
    /// [`try_remove_by_key`](Self::try_remove_by_key) returns an error instead, which tells these
    /// apart.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.remove_by_key(slot.key()), 7);
    /// assert!(!slot.is_valid());
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("remove", "free", "erase", "release"))]
    pub fn remove_by_key(&self, key: Key) -> T {
        match self.cells().get(key) {
            Some(cell) => {
                if !cell.vacate_by_key() {
                    self.refuse("remove_by_key", key);
                }
                // SAFETY: the cell was just vacated for this call: the value is moved out once.
                unsafe { cell.read() }
            }
            None => self.refuse("remove_by_key", key),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, operation: &str, key: Key) -> ! {
        match self.cells().get(key) {
            Some(cell) => refuse(operation, key, self.conflict(cell)),
            None => panic!("{operation} was refused for {key:?}: the slab has no such slot"),
        }
    }

    /// Panics if there is a value, after access by key was refused. The hot paths only ask
    /// whether access is possible.
    ///
    /// It takes the cell: keeping the key for it would cost the hot path an instruction. It
    /// returns nothing: if it returned the `None` that follows, the compiler could not tell that
    /// there is no guard to drop (`get_mut`: twice the instructions).
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse_if_occupied(&self, operation: &str, cell: Live<'_, T>) {
        let state = self.conflict(cell);
        if state.is_occupied() {
            refuse(operation, walk::key_of(self.cells(), cell), state);
        }
    }

    /// Returns the state of a cell that has refused access by key, after returned slots were
    /// freed.
    pub(super) fn conflict(&self, cell: Live<'_, T>) -> State {
        sent::look_again(self.cells(), cell)
    }

    /// Removes the value with this key, and returns it, like
    /// [`remove_by_key`](Self::remove_by_key).
    ///
    /// # Errors
    ///
    /// Returns [`Missing`](AccessError::Missing) if there is no value, and
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed; nothing has changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{AccessError, Slab};
    ///
    /// let slab = Slab::new();
    /// let key = slab.insert_key(7);
    /// assert_eq!(slab.try_remove_by_key(key), Ok(7));
    /// assert_eq!(slab.try_remove_by_key(key), Err(AccessError::Missing));
    /// ```
    #[inline]
    #[doc(alias = "try_remove")]
    pub fn try_remove_by_key(&self, key: Key) -> Result<T, AccessError> {
        let cell = self.cells().get(key).ok_or(AccessError::Missing)?;
        if cell.vacate_by_key() {
            // SAFETY: the cell was just vacated for this call: the value is moved out once.
            Ok(unsafe { cell.read() })
        } else {
            Err(self.conflict(cell).why_no_writer())
        }
    }

    /// Turns a value that the slab owns back into a [`Slot`], even while it is being read.
    ///
    /// Returns `None` if there is no value, or if the value already has a handle: there are never
    /// two owners. Any key is accepted. O(1).
    ///
    /// # Panics
    ///
    /// Panics if the value has no handle and is mutably borrowed. [`try_slot`](Self::try_slot)
    /// returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// let slot = slab.slot(key).unwrap();
    /// assert!(slab.slot(key).is_none());
    /// drop(slot);
    /// assert!(!slab.contains_key(key));
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("entry", "from_key"))]
    pub fn slot(&self, key: Key) -> Option<Slot<T>> {
        match self.try_slot(key) {
            Ok(slot) => Some(slot),
            Err(AccessError::Missing | AccessError::Owned) => None,
            Err(_) => self.refuse("slot", key),
        }
    }

    /// Turns a value that the slab owns back into a [`Slot`], like [`slot`](Self::slot).
    ///
    /// # Errors
    ///
    /// Returns [`Missing`](AccessError::Missing) if there is no value,
    /// [`Owned`](AccessError::Owned) if it has a handle, and [`Borrowed`](AccessError::Borrowed) if
    /// it has no handle and is mutably borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{AccessError, Slab};
    ///
    /// let slab = Slab::new();
    /// let key = slab.insert_key(7);
    /// let writer = slab.get_mut(key).unwrap();
    /// assert_eq!(slab.try_slot(key).unwrap_err(), AccessError::Borrowed);
    /// drop(writer);
    /// let slot = slab.try_slot(key).unwrap();
    /// assert_eq!(slab.try_slot(key).unwrap_err(), AccessError::Owned);
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn try_slot(&self, key: Key) -> Result<Slot<T>, AccessError> {
        let cell = self.cells().get(key).ok_or(AccessError::Missing)?;
        match Holder::try_regain(cell) {
            Some(holder) => Ok(Slot::of(holder)),
            None => Err(self.conflict(cell).why_no_handle()),
        }
    }
}

/// Panics with the key and the reason of a conflict.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn refuse(operation: &str, key: Key, state: State) -> ! {
    let reason = state.why_refused();
    panic!("{operation} was refused for {key:?}: {reason}")
}

/// Access to the values of a slab by key, without borrow tracking.
///
/// Created by [`TrackedSlab::untracked`], whose safety contract holds for as long as the accessor
/// is used: the caller makes sure that no two references conflict. Each access still checks that
/// there is a value, and that it is neither doomed nor held by a `RefMut` or a `SlotBox`.
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
    /// Returns an accessor by key that tracks no borrows, but still checks whether there is a
    /// value.
    ///
    /// # Safety
    ///
    /// While a shared reference from the accessor is alive, nothing else writes to, mutably
    /// borrows, replaces or removes that value. While a mutable reference is alive, nothing else
    /// reads, writes, borrows, replaces or removes it. This holds for any means: guards, handles,
    /// [`get_copied`](Self::get_copied), [`Slot::replace`](crate::Slot::replace), iterators,
    /// `clear`, `retain`, `drain`, other accessors. Dropping the last guard of a doomed value
    /// counts as removing it. Inserting values is allowed.
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
    #[doc(alias("get_untracked", "get_untracked_mut"))]
    pub unsafe fn untracked(&self) -> UntrackedAccessor<'_, T, M> {
        UntrackedAccessor { slab: self }
    }
}

impl<'a, T, M: Memory> UntrackedAccessor<'a, T, M> {
    #[inline]
    fn cells(&self) -> Cells<'a, T, M> {
        self.slab.cells()
    }

    /// Borrows the value with this key. Returns `None` if there is no value, or if it is mutably
    /// borrowed. O(1).
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

    /// Borrows the value with this key mutably. Returns `None` if there is no value, or if it is
    /// mutably borrowed. O(1).
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

    /// Borrows several values mutably at once.
    ///
    /// # Complexity
    ///
    /// O(`N`²); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error if a key has no value, or one that is mutably borrowed, and if two keys
    /// are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{DisjointError, Slab};
    ///
    /// let slab = Slab::new();
    /// let (a, b) = (slab.insert_key(1), slab.insert_key(2));
    /// // SAFETY: nothing else uses the values while `values` is in use.
    /// let mut values = unsafe { slab.untracked() };
    /// let [one, two] = values.get_disjoint_mut([a, b]).unwrap();
    /// core::mem::swap(one, two);
    /// assert_eq!((values[a], values[b]), (2, 1));
    /// assert_eq!(values.get_disjoint_mut([a, a]), Err(DisjointError::Overlapping));
    /// ```
    #[doc(alias("get2_mut", "get_many_mut"))]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        keys: [Key; N],
    ) -> Result<[&mut T; N], DisjointError> {
        let cells = self.cells();
        let mut values = [NonNull::dangling(); N];
        for (at, &key) in keys.iter().enumerate() {
            let cell = cells.get(key).filter(|cell| cell.state().is_plain());
            values[at] = cell.ok_or(DisjointError::Missing)?.value();
            if keys[..at].contains(&key) {
                return Err(DisjointError::Overlapping);
            }
        }
        // SAFETY: each cell is plain, so there is a value without an exclusive borrow, which may
        // be pinned; different keys are of different cells; that nothing else uses them is
        // `untracked`'s contract.
        Ok(values.map(|mut value| unsafe { value.as_mut() }))
    }

    /// Borrows the value with this key without any check: an address computation and a load.
    ///
    /// # Safety
    ///
    /// The contract of [`untracked`](TrackedSlab::untracked) holds, and there is a value with this
    /// key in this slab: [`get`](Self::get) would find it.
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

    /// Borrows the value with this key mutably without any check: an address computation and a
    /// load.
    ///
    /// # Safety
    ///
    /// The contract of [`untracked`](TrackedSlab::untracked) holds, and there is a value with this
    /// key in this slab: [`get_mut`](Self::get_mut) would find it.
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
fn refuse_untracked<T, M: Memory>(cells: Cells<'_, T, M>, key: Key) -> ! {
    let reason = match cells.get(key) {
        Some(cell) => sent::look_again(cells, cell).why_refused(),
        None => "the slab has no such slot",
    };
    panic!("untracked access was refused for {key:?}: {reason}")
}

/// Borrows the value with this key.
///
/// # Panics
///
/// Panics if there is no value with this key, or if it is mutably borrowed.
impl<T, M: Memory> Index<Key> for UntrackedAccessor<'_, T, M> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: Key) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => refuse_untracked(self.cells(), key),
        }
    }
}

/// Borrows the value with this key mutably.
///
/// # Panics
///
/// Panics if there is no value with this key, or if it is mutably borrowed.
impl<T, M: Memory> IndexMut<Key> for UntrackedAccessor<'_, T, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: Key) -> &mut T {
        let cells = self.cells();
        match self.get_mut(key) {
            Some(value) => value,
            None => refuse_untracked(cells, key),
        }
    }
}

/// Prints the number of values and the capacity of the slab, and no values: one may be borrowed.
impl<T, M: Memory> fmt::Debug for UntrackedAccessor<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntrackedAccessor")
            .field("slab", self.slab)
            .finish()
    }
}
