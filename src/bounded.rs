//! `BoundedSlab`: one contiguous array of cells, all of it there from the start.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::{AllocError, Borrowed, CapacityError, Full};
use crate::guard::{Ref, RefMut};
use crate::iter::{Drain, Iter, IterMut, Keys};
use crate::key::Key;
use crate::keyed::keyed_methods;
use crate::raw::bounded_home;
use crate::raw::cell::CellPtr;
use crate::raw::chunk::cell_at;
use crate::raw::home::{self, Home};
use crate::raw::memory::{self, Block};
use crate::raw::place::Place;
use crate::raw::walk::{self, Cells};
use crate::slot::Slot;
use crate::slot_box::SlotBox;
use crate::untracked::UntrackedAccessor;
use crate::vacant_slot::VacantSlot;

/// A slab of fixed capacity: one contiguous array, allocated and touched when
/// it is made, and no allocation ever after.
///
/// Values are reached through owning [`Slot`]s or by [`Key`]; both at once
/// where that is wanted, for borrows are tracked at run time. Slots are reused
/// last in, first out; a fresh slab hands out ascending keys from 0. Every
/// operation is O(1) and straight-line code, save those that say otherwise.
///
/// A slot costs the size of a value, 8 bytes of stamp and 8 of free stack.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::with_capacity(100_000);
/// let slot = slab.insert(42).unwrap();
/// *slot.get_mut() = 100;
/// let key = slot.key();
/// assert_eq!(*slab.get(key).unwrap(), 100);
/// assert_eq!(slot.into_inner(), 100);
/// assert!(slab.get(key).is_none());
/// ```
pub struct BoundedSlab<T> {
    home: NonNull<Home>,
    cells: NonNull<u8>,
    capacity: usize,
    /// Invariant in `T`, like the handles.
    values: PhantomData<*mut T>,
}

impl<T> BoundedSlab<T> {
    /// A slab of `capacity` slots; O(capacity). Allocates everything it will
    /// ever use, and touches every page of it. A slab of no slots is always
    /// full.
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or its bytes pass `isize::MAX`. Where the
    /// allocator refuses the program ends, as with `Vec`.
    /// [`try_with_capacity`](Self::try_with_capacity) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// A slab of `capacity` slots, like [`with_capacity`](Self::with_capacity);
    /// never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, its bytes pass `isize::MAX`, or the
    /// allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// assert!(BoundedSlab::<u64>::try_with_capacity(8).is_ok());
    /// assert!(BoundedSlab::<u64>::try_with_capacity(1 << 30).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        let (home, cells) = bounded_home::try_new::<T>(capacity)?;
        Ok(BoundedSlab {
            home,
            cells,
            capacity,
            values: PhantomData,
        })
    }

    /// A slab that lives for ever, for handles without a lifetime in a static
    /// or across a whole program.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](Self::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Key};
    ///
    /// struct Node { me: Key, parent: Option<Key> }
    ///
    /// let slab = BoundedSlab::<Node>::leak(1024);
    /// let root = slab.try_insert_with(|s| Node { me: s.key(), parent: None }).unwrap();
    /// let root_key: Key = root.leak();
    /// let child = slab
    ///     .try_insert_with(|s| Node { me: s.key(), parent: Some(root_key) })
    ///     .unwrap();
    /// assert_eq!(child.get().parent, Some(root_key));
    /// assert_eq!(child.get().me, child.key());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn leak(capacity: usize) -> &'static Self
    where
        T: 'static,
    {
        match Self::try_leak(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// A slab that lives for ever, like [`leak`](Self::leak); never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// As [`try_with_capacity`](Self::try_with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab: &'static BoundedSlab<u64> = BoundedSlab::try_leak(8).unwrap();
    /// assert!(BoundedSlab::<u64>::try_leak(usize::MAX).is_err());
    /// # let _ = slab;
    /// ```
    pub fn try_leak(capacity: usize) -> Result<&'static Self, AllocError>
    where
        T: 'static,
    {
        let slab = Self::try_with_capacity(capacity)?;
        let slab = Block::leak(slab).map_err(|(error, _slab)| error)?;
        // SAFETY: leaked, so valid for ever, and never reached mutably.
        Ok(unsafe { slab.as_ref() })
    }

    /// Puts a value into a free slot; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Full};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8).unwrap_err(), Full(8));
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn insert(&self, value: T) -> Result<Slot<T>, Full<T>> {
        match self.claim() {
            // SAFETY: alive through the slab, and just popped: the caller's
            // alone, whose one handle this becomes.
            Some(place) => unsafe {
                place.fill(value);
                Ok(Slot::new(place))
            },
            None => Err(Full(value)),
        }
    }

    /// The same as [`insert`](Self::insert), under the name the growable slab
    /// has for what may fail.
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Full};
    ///
    /// let slab = BoundedSlab::with_capacity(0);
    /// assert_eq!(slab.try_insert(7).unwrap_err(), Full(7));
    /// ```
    #[inline]
    pub fn try_insert(&self, value: T) -> Result<Slot<T>, Full<T>> {
        self.insert(value)
    }

    /// Builds a value in the knowledge of its key and address; O(1) beside
    /// `f`, no allocation.
    ///
    /// The slot is reserved while `f` runs, which may use the slab. It is given
    /// back if `f` panics. When no slot is free, `f` is not called.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.insert_with(|vacant| vacant.key()).unwrap();
    /// assert_eq!(*slot.get(), slot.key());
    /// ```
    #[inline]
    pub fn insert_with<F>(&self, f: F) -> Result<Slot<T>, CapacityError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.vacant_slot()?;
        let value = f(&vacant);
        Ok(vacant.insert(value))
    }

    /// The same as [`insert_with`](Self::insert_with), under the name the
    /// growable slab has for what may fail.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::with_capacity(0);
    /// assert!(slab.try_insert_with(|vacant| vacant.key()).is_err());
    /// ```
    #[inline]
    pub fn try_insert_with<F>(&self, f: F) -> Result<Slot<T>, CapacityError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        self.insert_with(f)
    }

    /// Reserves a slot, to be filled later; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let vacant = slab.vacant_slot().unwrap();
    /// assert!(slab.is_full());
    /// let slot = vacant.insert(7);
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError> {
        match self.claim() {
            // SAFETY: alive through the slab, and just popped: the caller's
            // alone, whose one handle this becomes.
            Some(place) => unsafe {
                place.hold();
                Ok(VacantSlot::new(place))
            },
            None => Err(CapacityError::full(self.capacity)),
        }
    }

    /// The same as [`vacant_slot`](Self::vacant_slot), under the name the
    /// growable slab has for what may fail.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// assert!(BoundedSlab::<u64>::with_capacity(0).try_vacant_slot().is_err());
    /// ```
    #[inline]
    pub fn try_vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError> {
        self.vacant_slot()
    }

    /// How many slots there are; O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(flatslab::BoundedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether the next insertion fails; O(1). Stale slots hold cells out of
    /// use, so this can be so with fewer than `capacity` values.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// slab.clear();
    /// assert!(slab.is_full() && slab.is_empty());
    /// drop(slot);
    /// assert!(!slab.is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        // SAFETY: alive through the slab.
        unsafe { self.home.as_ref().free() == 0 }
    }

    /// A free cell, off the stack.
    #[inline(always)]
    fn claim(&self) -> Option<Place<T>> {
        // The home is read once, before the value is written, which the
        // compiler could not tell from an overwriting of `self.home`.
        let home = self.home;
        // SAFETY: allocated, through the slab.
        let cell = unsafe { home::pop(home)? };
        Some(Place::new(CellPtr::new(cell), home))
    }

    /// The cell of a key that has one.
    ///
    /// # Safety
    ///
    /// The key is below the capacity.
    #[inline(always)]
    pub(crate) unsafe fn cell_unchecked(&self, key: Key) -> CellPtr<T> {
        // SAFETY: the chunk has `capacity` cells.
        unsafe { cell_at(self.cells, key.index()) }
    }
}

// SAFETY: the home is kept by the slab, and its one chunk has `capacity` cells,
// all stamped when it was built.
unsafe impl<T> Cells<T> for BoundedSlab<T> {
    #[inline(always)]
    fn home(&self) -> NonNull<Home> {
        self.home
    }

    #[inline(always)]
    fn bound(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    fn cell(&self, key: Key) -> Option<CellPtr<T>> {
        if key.index() < self.capacity {
            // SAFETY: below the capacity.
            Some(unsafe { self.cell_unchecked(key) })
        } else {
            None
        }
    }
}

keyed_methods!(
    BoundedSlab,
    UntrackedAccessor,
    bounded,
    "flatslab::BoundedSlab::with_capacity(8)",
    "slab.insert(7).unwrap()"
);
