//! `Slab`: grows by chunks, and never moves what it holds.

mod growth;

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::{AllocError, Borrowed, CapacityError, Full};
use crate::guard::{Ref, RefMut};
use crate::iter::{Drain, Iter, IterMut, Keys};
use crate::key::Key;
use crate::keyed::keyed_methods;
use crate::raw::cell::CellPtr;
use crate::raw::chunk_table::Chunks;
use crate::raw::home::{self, Home};
use crate::raw::place::Place;
#[cfg(feature = "std")]
use crate::raw::spares::Spares;
use crate::raw::walk::{self, Cells};
use crate::slab_builder::SlabBuilder;
use crate::slot::Slot;
use crate::slot_box::SlotBox;
use crate::untracked::SlabUntrackedAccessor;
use crate::vacant_slot::VacantSlot;

/// A slab that grows: by independent chunks, so that nothing is ever copied or
/// moved, and an insertion that grows pays for one chunk.
///
/// Values are reached through owning [`Slot`]s or by [`Key`]; both at once
/// where that is wanted, for borrows are tracked at run time. Slots are reused
/// last in, first out, across chunks too; a fresh slab hands out ascending
/// keys from 0. Every operation is O(1) and straight-line code, save growth and
/// those that say otherwise.
///
/// A slot costs the size of a value, 8 bytes of stamp and 8 to 16 of free stack.
///
/// # Examples
///
/// ```
/// use flatslab::Slab;
///
/// let slab: Slab<u64> = Slab::builder().chunk_capacity(8192).reserve(100_000).build();
/// let slot = slab.insert(7);
/// assert_eq!(*slot.get(), 7);
/// assert_eq!(*slab.get(slot.key()).unwrap(), 7);
/// ```
pub struct Slab<T> {
    home: Cell<NonNull<Home>>,
    chunks: Cell<Chunks>,
    /// The binary logarithm of the slots of a chunk.
    shift: u32,
    /// Insertions that had to build a chunk.
    stalls: Cell<usize>,
    #[cfg(feature = "std")]
    spares: Option<Spares>,
    /// Invariant in `T`, like the handles.
    values: PhantomData<*mut T>,
}

impl<T> Slab<T> {
    /// The slots of a chunk unless a builder says otherwise: 4096, or fewer
    /// where those would take more than 256 KiB.
    const DEFAULT_SHIFT: u32 = {
        let fitting = (256 << 10) / CellPtr::<T>::SIZE;
        if fitting >= 4096 {
            12
        } else if fitting >= 1 {
            fitting.ilog2()
        } else {
            0
        }
    };

    /// An empty slab that allocates nothing before the first insertion.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// assert_eq!(slab.capacity(), 0);
    /// let slot = slab.insert(7);
    /// assert!(slab.capacity() > 0);
    /// # drop(slot);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self::with_shift(Self::DEFAULT_SHIFT)
    }

    pub(crate) const fn with_shift(shift: u32) -> Self {
        Slab {
            home: Cell::new(home::unallocated()),
            chunks: Cell::new(Chunks::NONE),
            shift,
            stalls: Cell::new(0),
            #[cfg(feature = "std")]
            spares: None,
            values: PhantomData,
        }
    }

    /// A slab with room for `capacity` values, all of it allocated and touched
    /// now; O(capacity). It may get more: chunks are whole.
    ///
    /// # Panics
    ///
    /// If that is 2^30 slots or more, or its bytes pass `isize::MAX`. Where the
    /// allocator refuses the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::with_capacity(100);
    /// assert!(slab.capacity() >= 100);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::builder().reserve(capacity).build()
    }

    /// Like [`with_capacity`](Self::with_capacity), but never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`with_capacity`](Self::with_capacity) panics, or the allocator
    /// refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::Slab::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        Self::builder().reserve(capacity).try_build()
    }

    /// A slab with other chunks than usual, or with memory beforehand.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(64).build();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.capacity(), 64);
    /// # drop(slot);
    /// ```
    pub const fn builder() -> SlabBuilder<T> {
        SlabBuilder::new(1 << Self::DEFAULT_SHIFT)
    }

    /// Puts a value into a free slot; O(1), and where none is free the building
    /// of a chunk.
    ///
    /// # Panics
    ///
    /// At the limit of keys, 2^30 slots. Where the allocator refuses the
    /// program ends, as with `Vec`. [`try_insert`](Self::try_insert) gives the
    /// value back.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// assert_eq!(slot.into_inner(), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&self, value: T) -> Slot<T> {
        let place = match self.claim() {
            Some(place) => place,
            None => self.claim_by_growing(),
        };
        // SAFETY: alive through the slab, and just popped: the caller's alone,
        // whose one handle this becomes.
        unsafe {
            place.fill(value);
            Slot::new(place)
        }
    }

    /// Puts a value into a free slot, like [`insert`](Self::insert); never
    /// panics or aborts.
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// assert_eq!(*slab.try_insert(7).unwrap().get(), 7);
    /// ```
    #[inline]
    pub fn try_insert(&self, value: T) -> Result<Slot<T>, Full<T>> {
        let place = match self.claim() {
            Some(place) => place,
            None => match self.try_claim_by_growing() {
                Ok(place) => place,
                Err(_) => return Err(Full(value)),
            },
        };
        // SAFETY: as in `insert`.
        unsafe {
            place.fill(value);
            Ok(Slot::new(place))
        }
    }

    /// Builds a value in the knowledge of its key and address; O(1) beside `f`,
    /// and where no slot is free the building of a chunk.
    ///
    /// The slot is reserved while `f` runs, which may use the slab. It is given
    /// back if `f` panics.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert), before `f` is called.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert_with(|vacant| vacant.key());
    /// assert_eq!(*slot.get(), slot.key());
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert_with<F>(&self, f: F) -> Slot<T>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.vacant_slot();
        let value = f(&vacant);
        vacant.insert(value)
    }

    /// Builds a value in the knowledge of its key and address, like
    /// [`insert_with`](Self::insert_with); panics and aborts only if `f` does.
    ///
    /// # Errors
    ///
    /// When no slot is free and the slab cannot grow; `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.try_insert_with(|vacant| vacant.key()).unwrap();
    /// assert_eq!(*slot.get(), slot.key());
    /// ```
    #[inline]
    pub fn try_insert_with<F>(&self, f: F) -> Result<Slot<T>, CapacityError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.try_vacant_slot()?;
        let value = f(&vacant);
        Ok(vacant.insert(value))
    }

    /// Reserves a slot, to be filled later; O(1), and where none is free the
    /// building of a chunk.
    ///
    /// # Panics
    ///
    /// As [`insert`](Self::insert).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let vacant = slab.vacant_slot();
    /// assert_eq!(*vacant.insert(7).get(), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vacant_slot(&self) -> VacantSlot<T> {
        let place = match self.claim() {
            Some(place) => place,
            None => self.claim_by_growing(),
        };
        // SAFETY: alive through the slab, and just popped: the caller's alone,
        // whose one handle this becomes.
        unsafe {
            place.hold();
            VacantSlot::new(place)
        }
    }

    /// Reserves a slot, like [`vacant_slot`](Self::vacant_slot); never panics
    /// or aborts.
    ///
    /// # Errors
    ///
    /// When no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// assert_eq!(*slab.try_vacant_slot().unwrap().insert(7).get(), 7);
    /// ```
    #[inline]
    pub fn try_vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError> {
        let place = match self.claim() {
            Some(place) => place,
            None => match self.try_claim_by_growing() {
                Ok(place) => place,
                Err(cause) => return Err(CapacityError::cannot_grow(self.capacity(), cause)),
            },
        };
        // SAFETY: as in `vacant_slot`.
        unsafe {
            place.hold();
            Ok(VacantSlot::new(place))
        }
    }

    /// How many slots the living chunks have; O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(flatslab::Slab::<u64>::new().capacity(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        // SAFETY: alive through the slab.
        unsafe { self.home().as_ref().slots() }
    }

    /// How many chunks there are; O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(8).reserve(20).build();
    /// assert_eq!(slab.chunks(), 3);
    /// ```
    #[inline]
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.capacity() >> self.shift
    }

    /// Whether the next insertion has to grow; O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(1).build();
    /// assert!(slab.is_full());
    /// drop(slab.insert(7));
    /// assert!(!slab.is_full());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        // SAFETY: alive through the slab.
        unsafe { self.home().as_ref().free() == 0 }
    }

    /// A free cell, off the stack.
    #[inline(always)]
    fn claim(&self) -> Option<Place<T>> {
        // The home is read once, before the value is written, which the
        // compiler could not tell from an overwriting of `self.home`.
        let home = self.home.get();
        // SAFETY: allocated, through the slab; or the unallocated one, which
        // is always empty.
        let cell = unsafe { home::pop(home)? };
        Some(Place::new(CellPtr::new(cell), home))
    }

    /// The cell of a key that has one.
    ///
    /// # Safety
    ///
    /// The key is below the bound.
    #[inline(always)]
    pub(crate) unsafe fn cell_unchecked(&self, key: Key) -> CellPtr<T> {
        // SAFETY: below the bound; the chunks are those of the home now.
        unsafe { self.chunks.get().cell(self.shift, key) }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the home is made once and kept by the slab, and a key below the bound
// names a cell of one of its chunks (G1), all built and stamped.
unsafe impl<T> Cells<T> for Slab<T> {
    #[inline(always)]
    fn home(&self) -> NonNull<Home> {
        self.home.get()
    }

    #[inline(always)]
    fn bound(&self) -> usize {
        self.chunks.get().bound
    }

    #[inline(always)]
    fn cell(&self, key: Key) -> Option<CellPtr<T>> {
        if key.index() < self.bound() {
            // SAFETY: below the bound.
            Some(unsafe { self.cell_unchecked(key) })
        } else {
            None
        }
    }
}

keyed_methods!(
    Slab,
    SlabUntrackedAccessor,
    growable,
    "flatslab::Slab::new()",
    "slab.insert(7)"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insertions_into_reserved_memory_find_all_of_it_on_the_stack() {
        let slab = Slab::<u64>::builder().chunk_capacity(8).reserve(50).build();
        // SAFETY: alive through the slab.
        let home = unsafe { slab.home().as_ref() };
        assert_eq!((home.fresh(), home.depth()), (0, 56));
    }
}
