//! `Slab`: grows by chunks, and never moves what it holds.

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
use crate::raw::chunk::MAX_SLOTS;
use crate::raw::chunk_table::Chunks;
use crate::raw::growable_home::{self, GrowableHome};
use crate::raw::home::{self, Home};
use crate::raw::memory::{self, Block};
use crate::raw::place::Place;
#[cfg(feature = "std")]
use crate::raw::spares::{Blueprint, Spares};
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

/// How many fresh cells go onto the stack when it runs empty.
///
/// A million insertions of `u64` into an empty slab, each timed, gave the same
/// mean from 4 to 16, more below, and in the tail (p99 / p99.9, ticks) 72 / 80
/// for 4, 82 / 86 for 8, 88 / 98 for 16, 154 / 168 for 64.
const REFILL: usize = 4;

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

    /// Makes room for `additional` values more than the present
    /// [`len`](Self::len), like `Vec`: allocated, touched, and with nothing left
    /// to do for the insertions that fill it. O(slots added, and free ones).
    ///
    /// # Panics
    ///
    /// If that comes to 2^30 slots or more, or a chunk's bytes pass
    /// `isize::MAX`. Where the allocator refuses the program ends, as with `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// slab.reserve(10_000);
    /// assert!(slab.capacity() >= 10_001);
    /// # drop(slot);
    /// ```
    #[track_caller]
    pub fn reserve(&self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Makes room, like [`reserve`](Self::reserve); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Where [`reserve`](Self::reserve) panics, before anything is allocated,
    /// or when the allocator refuses; chunks it gave until then are used.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::new();
    /// assert!(slab.try_reserve(10_000).is_ok());
    /// assert!(slab.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&self, additional: usize) -> Result<(), AllocError> {
        if additional == 0 {
            return Ok(());
        }
        if self.home.get() == home::unallocated() {
            let limit = MAX_SLOTS >> self.shift;
            growable_home::chunks_for(additional, self.shift, limit, 0)?;
        }
        let home = self.growable_home()?;
        // SAFETY: allocated, through the slab.
        let body = unsafe { home.as_ref() };
        let result = loop {
            // The allocator may itself use the slab: refuse and yet make room, or
            // take up what there was when it gets back what was outgrown.
            let (_, result) = self.grow(home, additional);
            if body.has_room(additional) {
                break Ok(());
            } else if result.is_err() {
                break result;
            }
        };
        body.bury_fresh::<T>();
        result
    }

    /// Adds the next chunk now if fewer slots are free than a chunk has, a
    /// [spare](SlabBuilder::spare_chunks) one or one built on this thread;
    /// O(slots of a chunk), and O(1) otherwise.
    ///
    /// For whoever has an idle moment: the insertions after it do not pay for
    /// growth, as many as a chunk has slots.
    /// [`spare_chunks`](SlabBuilder::spare_chunks) has a thread do it.
    ///
    /// # Errors
    ///
    /// As for [`try_reserve`](Self::try_reserve).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::builder().chunk_capacity(4).build();
    /// slab.prepare()?;
    /// for number in 0..4 {
    ///     slab.insert(number).leak();
    /// }
    /// assert_eq!(slab.growth_stalls(), 0);
    /// slab.insert(4).leak();
    /// assert_eq!(slab.growth_stalls(), 1);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn prepare(&self) -> Result<(), AllocError> {
        // SAFETY: allocated, through the slab, or the unallocated one.
        if unsafe { self.home().as_ref().free() } >= 1 << self.shift {
            return Ok(());
        }
        self.try_reserve(1 << self.shift)
    }

    /// How many insertions have had to build a chunk themselves; O(1).
    ///
    /// Those that found one [reserved](Self::reserve), [prepared](Self::prepare)
    /// or [built ahead](SlabBuilder::spare_chunks) are not among them, those that
    /// were refused one neither.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// slab.insert("the first chunk").leak();
    /// assert_eq!(slab.growth_stalls(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn growth_stalls(&self) -> usize {
        self.stalls.get()
    }

    /// Gives back the chunks in which no value, reservation, guard or stale
    /// [`Slot`] is left, and what the free stack no longer needs; O(slots).
    ///
    /// Keys of values do not change. The numbers of chunks that are given back
    /// are used again by the chunks to come, the lowest first. While one of
    /// them lies below a living chunk, the memory of one empty chunk is kept
    /// to stand in for it and for all like it.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::builder().chunk_capacity(2).build();
    /// let mut slots: Vec<_> = (0..6).map(|number| slab.insert(number)).collect();
    /// slots.drain(2..);
    /// slab.shrink();
    /// assert_eq!((slab.chunks(), slab.capacity()), (1, 2));
    /// ```
    pub fn shrink(&self) {
        if self.home.get() == home::unallocated() {
            return;
        }
        // SAFETY: made by `growable_home`, and allocated, through the slab.
        let body = unsafe { self.home.get().cast::<GrowableHome>().as_ref() };
        let released = body.shrink::<T>();
        self.chunks.set(body.chunks());
        self.expect_chunk(body.next_number());
        drop(released);
        drop(body.shrink_stack());
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

    /// A free cell when the stack is empty.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn claim_by_growing(&self) -> Place<T> {
        match self.try_claim_by_growing() {
            Ok(place) => place,
            Err(error) => memory::fail(error),
        }
    }

    #[cold]
    #[inline(never)]
    fn try_claim_by_growing(&self) -> Result<Place<T>, AllocError> {
        let mut refusal = None;
        loop {
            // The slab is looked at anew each time, and once more when it could
            // not grow: its allocator may itself use it.
            let home = self.growable_home()?;
            if let Some(place) = self.claim() {
                return Ok(place);
            }
            // SAFETY: allocated, through the slab.
            let body = unsafe { home.as_ref() };
            body.refill::<T>(REFILL);
            if let Some(place) = self.claim() {
                return Ok(place);
            }
            if let Some(error) = refusal {
                return Err(error);
            }
            let (built, result) = self.grow(home, 1);
            self.stalls.set(self.stalls.get() + usize::from(built));
            refusal = result.err();
        }
    }

    /// The home, made if there is none yet.
    fn growable_home(&self) -> Result<NonNull<GrowableHome>, AllocError> {
        if self.home.get() == home::unallocated() {
            let made = growable_home::try_new::<T>(self.shift);
            if self.home.get() == home::unallocated() {
                self.home.set(made?.cast());
            } else if let Ok(made) = made {
                // The allocator has used this slab meanwhile.
                // SAFETY: made above, seen by nobody, and no cell to remain.
                unsafe { home::close(made.cast(), 0) };
            }
        }
        Ok(self.home.get().cast())
    }

    /// Adds chunks until `slots` cells are free, and says whether any of them had
    /// to be built.
    fn grow(&self, home: NonNull<GrowableHome>, slots: usize) -> (bool, Result<(), AllocError>) {
        // SAFETY: allocated, through the slab.
        let body = unsafe { home.as_ref() };
        let (mut left_over, result) = body.grow::<T>(slots, || self.take_spare());
        self.chunks.set(body.chunks());
        self.expect_chunk(body.next_number());
        let built = left_over.built;
        if let Some(block) = left_over.take_stack() {
            self.free(block);
        }
        drop(left_over);
        (built, result)
    }

    /// A chunk that was built ahead, if there is one. Allocates nothing.
    fn take_spare(&self) -> Option<Block> {
        #[cfg(feature = "std")]
        if let Some(spares) = &self.spares {
            return spares.take();
        }
        None
    }

    /// Frees what was outgrown, or has the helper do it.
    fn free(&self, block: Block) {
        #[cfg(feature = "std")]
        if let Some(spares) = &self.spares {
            return spares.leave(block);
        }
        drop(block);
    }

    /// The next chunk to be built ahead will have this number.
    fn expect_chunk(&self, number: usize) {
        #[cfg(feature = "std")]
        if let Some(spares) = &self.spares {
            spares.expect(number);
        }
        let _ = number;
    }

    /// Has `count` chunks built ahead from now on.
    ///
    /// # Errors
    ///
    /// As for [`Spares::try_new`].
    #[cfg(feature = "std")]
    pub(crate) fn try_keep_spares(&mut self, count: usize) -> Result<(), AllocError> {
        if count > 0 {
            let first = self.chunks.get().bound >> self.shift;
            let spares = Spares::try_new(Blueprint::new::<T>(self.shift)?, count, first)?;
            self.spares = Some(spares);
        }
        Ok(())
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
