//! The tracked slabs: values accessed by handle or key, with borrows tracked at run time.
//!
//! There is one generic type, over the kind of its memory. The two slabs differ in
//! construction, growth, and what an insertion does when no slot is free: see
//! `bounded.rs` and `growable.rs`. Everything else is written once: the insertions and
//! counts here, access and removal by one key in `keyed.rs`, operations on all values in
//! `iter.rs`.
//!
//! | file | content |
//! |---|---|
//! | `slot.rs`, `slot_box.rs`, `dyn_slot_box.rs`, `guard.rs` | the handles; the guards of values and of their parts |
//! | `cell.rs`, `holder.rs`, `state.rs`, `shape.rs` | one cell: its layout and every event of its life; what holds it; its state word; its layout for cold code, which does not know the type of its value |
//! | `header.rs` | the header that handles point to: free stack, counts, release of the memory |
//! | `cells.rs`, `walk.rs`, `sent.rs` | the cell of a key, and a free cell; walks over all cells; cells whose value another thread has |
//! | `keyed.rs`, `iter.rs` | access and removal by key; iteration and bulk removal |
//! | `bounded.rs`, `growable.rs`, `growth/`, `options.rs` | the slab with a bound; the slab that grows; the options of both |
//! | `check.rs` | the check of the invariants, for tests |
//!
//! Invariants of the free stack (F) are cited too; they are in `raw/stack.rs`.

pub(crate) mod bounded;
pub(crate) mod cell;
pub(crate) mod cells;
#[cfg(any(test, fuzzing))]
mod check;
pub(crate) mod dyn_slot_box;
pub(crate) mod growable;
mod growth;
pub(crate) mod guard;
pub(crate) mod header;
mod holder;
pub(crate) mod iter;
pub(crate) mod keyed;
mod options;
pub(crate) mod sent;
pub(crate) mod shape;
pub(crate) mod slot;
pub(crate) mod slot_box;
pub(crate) mod state;
#[cfg(all(test, feature = "threads"))]
mod tests;
pub(crate) mod walk;

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::{AllocError, FullError};
use crate::key::Key;
use crate::raw::held::Held;
use crate::raw::report::Report;
use crate::slab::cells::Cells;
pub use crate::slab::cells::Memory;
use crate::slab::header::SlabHeader;
use crate::slab::holder::{Holder, Popped};
use crate::slab::slot::{Slot, VacantSlot};
use crate::stats::Stats;
#[cfg(doc)]
use crate::{AccessError, Bounded, BoundedSlab, Growable, Slab};

/// Values of one type, accessed by handle or by key, with borrows tracked at run time: the generic
/// type of [`Slab`] and [`BoundedSlab`].
///
/// - [`BoundedSlab`]`<T>` has [`Bounded`] memory, all of it allocated at construction.
/// - [`Slab`]`<T>` has [`Growable`] memory: it grows by chunks, and copies nothing.
///
/// The constructors and insertion methods that differ are documented on the two aliases. Code for
/// both is generic over [`Memory`], and inserts values by [`try_insert`](Self::try_insert),
/// [`try_insert_key`](Self::try_insert_key), [`try_insert_with`](Self::try_insert_with) and
/// [`try_vacant_slot`](Self::try_vacant_slot).
///
/// Values never move. Slots are reused last in, first out; a new slab returns ascending keys from
/// 0. Every operation is O(1), runs straight-line code and does not allocate, unless its
/// documentation says otherwise.
///
/// A slab, its handles and its guards stay on the thread that created the slab: they are neither
/// `Send` nor `Sync`. [`Slot::into_send`] turns a slot into a handle for another thread.
///
/// # Absence and conflict
///
/// If there is no value, methods by key return `None`. If the value is borrowed, they panic with
/// the key and the reason before anything has changed; their `try_` forms return an
/// [`AccessError`]. So a value that is being read is never taken for a value that was removed.
///
/// | method | no value | borrowed value |
/// |---|---|---|
/// | [`get`](Self::get), [`get_mut`](Self::get_mut), [`get_copied`](Self::get_copied), [`slot`](Self::slot) | `None` | panics |
/// | [`try_get`](Self::try_get), [`try_get_mut`](Self::try_get_mut), [`try_slot`](Self::try_slot), [`try_remove_by_key`](Self::try_remove_by_key) | an error | an error |
/// | [`remove_by_key`](Self::remove_by_key) | panics | panics |
/// | [`iter`](Self::iter), [`iter_mut`](Self::iter_mut) | skipped | panics when it is reached |
/// | [`try_iter`](Self::try_iter), [`try_iter_mut`](Self::try_iter_mut) | skipped | yields an error |
/// | [`retain`](Self::retain), [`drain`](Self::drain), [`clear`](Self::clear) | skipped | panics before the first removal |
/// | [`try_retain`](Self::try_retain), [`try_drain`](Self::try_drain) | skipped | skipped and counted |
/// | [`try_clear`](Self::try_clear) | skipped | an error before the first removal |
///
/// A value that was [sent](Slot::into_send) to another thread counts as borrowed. If an access
/// finds such a value, it first frees all slots that other threads have returned, to see whether
/// the value was dropped. This takes O(n) for n returned slots.
///
/// A value whose [`Slot`] was dropped while the value was borrowed is *doomed*: it counts as
/// absent, and is dropped when its last borrow ends.
///
/// # Examples
///
/// ```
/// use flatslab::{BoundedSlab, FullError, Key, Memory, Slab, TrackedSlab};
///
/// fn insert_all<M: Memory>(slab: &TrackedSlab<u64, M>, n: u64) -> Result<Vec<Key>, FullError<u64>> {
///     (0..n).map(|value| slab.try_insert_key(value)).collect()
/// }
///
/// assert_eq!(insert_all(&Slab::new(), 3).unwrap().len(), 3);
/// assert_eq!(insert_all(&BoundedSlab::with_capacity(2), 3).unwrap_err(), FullError(2));
/// ```
pub struct TrackedSlab<T, M: Memory> {
    memory: M,
    /// Invariant in `T`, like the handles.
    values: PhantomData<*mut T>,
}

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Creates a slab over this memory.
    ///
    /// # Safety
    ///
    /// The memory was made for cells of `T`.
    #[inline]
    const unsafe fn new_in(memory: M) -> Self {
        TrackedSlab {
            memory,
            values: PhantomData,
        }
    }

    #[inline]
    fn cells(&self) -> Cells<'_, T, M> {
        // SAFETY: the memory was made for cells of `T` (`new_in`).
        unsafe { Cells::new(&self.memory) }
    }

    /// The header that every place of this slab points to.
    pub(crate) fn header_address(&self) -> NonNull<SlabHeader> {
        self.memory.header()
    }

    /// Takes a free cell off the stack; grows if the stack is empty.
    #[inline]
    fn try_claim(&self) -> Result<Popped<T>, Option<AllocError>> {
        match self.cells().claim() {
            Some(popped) => Ok(popped),
            // SAFETY: the memory was made for cells of `T` (`new_in`).
            None => unsafe { self.memory.claim_when_empty() },
        }
    }

    /// Inserts a value into a free slot, and returns the handle that owns it. Never panics or
    /// aborts.
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, a [`Slab`] allocates a chunk.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, FullError};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.try_insert(7).unwrap();
    /// assert_eq!(slab.try_insert(8).unwrap_err(), FullError(8));
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn try_insert(&self, value: T) -> Result<Slot<T>, FullError<T>> {
        if Held::<T>::IN_REGISTERS {
            return match self.try_claim() {
                Ok(popped) => Ok(Slot::fill(popped, value)),
                Err(_) => Err(FullError(value)),
            };
        }
        let Some((place, lowered)) = self.cells().look() else {
            return self.insert_when_empty(Held::new(value));
        };
        // SAFETY: a free cell, which is off the stack before other code runs (`free-on-stack`). The
        // value is written first: if the stack changed first, the compiler would copy a value that
        // lies behind a reference to a place of its own.
        unsafe {
            let slot = Slot::fill(Holder::new(place), value);
            self.cells().header().stack.lower(lowered);
            Ok(slot)
        }
    }

    /// Does what [`try_insert`](Self::try_insert) does if the stack is empty. It takes the value by
    /// value: see [`Held`].
    #[cold]
    #[inline(never)]
    fn insert_when_empty(&self, held: Held<T>) -> Result<Slot<T>, FullError<T>> {
        // SAFETY: the memory was made for cells of `T` (`new_in`).
        match unsafe { self.memory.claim_when_empty() } {
            Ok(popped) => Ok(Slot::fill(popped, held.value)),
            Err(_) => Err(FullError(held.value)),
        }
    }

    /// Inserts a value that `f` builds from the key and the address of its slot.
    ///
    /// The slot is reserved while `f` runs, and `f` may use the slab. If `f` panics, the slot is
    /// freed. Panics or aborts only if `f` does.
    ///
    /// # Complexity
    ///
    /// O(1), and the time of `f`. If no slot is free, a [`Slab`] allocates a chunk.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow; `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.try_insert_with(|vacant| vacant.key()).unwrap();
    /// assert_eq!(*slot.get(), slot.key());
    /// ```
    #[inline]
    pub fn try_insert_with<F>(&self, f: F) -> Result<Slot<T>, AllocError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.try_vacant_slot()?;
        let value = f(&vacant);
        Ok(vacant.insert(value))
    }

    /// Reserves a slot, to be filled later. Never panics or aborts.
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, a [`Slab`] allocates a chunk.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let vacant = slab.try_vacant_slot().unwrap();
    /// assert!(slab.is_full() && slab.try_vacant_slot().is_err());
    /// assert_eq!(*vacant.insert(7).get(), 7);
    /// ```
    #[inline]
    pub fn try_vacant_slot(&self) -> Result<VacantSlot<T>, AllocError> {
        match self.try_claim() {
            Ok(popped) => Ok(VacantSlot::hold(popped)),
            Err(cause) => Err(cause.unwrap_or_else(|| self.full())),
        }
    }

    #[cold]
    fn full(&self) -> AllocError {
        let capacity = self.capacity();
        // Bounded: no insertion pays for all that other threads retired.
        match sent::count_retired(self.cells(), sent::BATCH) {
            0 => AllocError::Full { capacity },
            retired => AllocError::FullWithRetired { capacity, retired },
        }
    }

    /// Inserts a value into a free slot, and returns its key. Never panics or aborts.
    ///
    /// The slab owns the value until it is removed by key, turned back into a [`Slot`] by
    /// [`slot`](Self::slot), or dropped with the slab. This is [`try_insert`](Self::try_insert)
    /// followed by [`Slot::leak`].
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, a [`Slab`] allocates a chunk.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, FullError};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let key = slab.try_insert_key(7).unwrap();
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// assert_eq!(slab.try_insert_key(8), Err(FullError(8)));
    /// ```
    #[inline]
    pub fn try_insert_key(&self, value: T) -> Result<Key, FullError<T>> {
        Ok(self.try_insert(value)?.leak())
    }

    /// Frees the slots that other threads returned, drops the values that they retired, and returns
    /// the number of both.
    ///
    /// A thread returns a slot when it drops the [`SendSlot`](crate::sync::SendSlot) that owns its
    /// value, or moves the value out. It may also [retire](crate::sync::SendSlot::retire) the
    /// value, so that the slab drops it. This call drops the values that were retired before it
    /// began. If a destructor panics, the remaining retired values wait for the next call.
    ///
    /// `len`, `free_slots`, new iterators and an access that finds such a value free returned slots
    /// too. An insertion that finds no free slot frees a few, and so does `is_full`: no insertion
    /// pays for all values that other threads dropped. [`reclaim_some`](Self::reclaim_some) frees
    /// as many as you ask for.
    ///
    /// Retired values are not dropped by insertions and accesses, but only by this method,
    /// [`reclaim_some`](Self::reclaim_some), [`clear`](Self::clear),
    /// [`try_clear`](Self::try_clear), [`retain`](Self::retain), [`drain`](Self::drain), and when
    /// the slab is dropped. Until then they count as borrowed.
    ///
    /// # Complexity
    ///
    /// O(n) for the number returned, and the time of the destructors; O(1) if no value was sent.
    /// Does not allocate, and panics only if a destructor does.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(8);
    /// let sent = slab.insert(7).unwrap().into_send();
    /// std::thread::spawn(move || drop(sent)).join().unwrap();
    /// assert_eq!(slab.reclaim(), 1);
    /// ```
    #[inline]
    pub fn reclaim(&self) -> usize {
        self.reclaim_some(usize::MAX)
    }

    /// Returns the number of values that other threads have
    /// [retired](crate::sync::SendSlot::retire) and that the slab has not dropped yet. Their slots
    /// are in use.
    ///
    /// # Complexity
    ///
    /// O(n) for the number returned: it counts them.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SendSlot;
    ///
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let sent = slab.insert(7).unwrap().into_send();
    /// std::thread::spawn(move || SendSlot::retire(sent).unwrap()).join().unwrap();
    /// assert!(slab.insert(8).is_err());
    /// assert_eq!((slab.retired_values(), slab.reclaim(), slab.retired_values()), (1, 1, 0));
    /// assert!(slab.insert(8).is_ok());
    /// ```
    #[inline]
    #[must_use]
    pub fn retired_values(&self) -> usize {
        sent::count_retired(self.cells(), usize::MAX)
    }

    /// Frees the slots that other threads returned. Runs no user code.
    #[inline]
    fn free_returned(&self) {
        sent::free_returned(self.cells().shaped(), usize::MAX);
    }

    /// Frees or drops like [`reclaim`](Self::reclaim), but at most `most` slots: for a loop that
    /// has little time in each round.
    ///
    /// Returned slots are freed before retired values are dropped.
    ///
    /// # Complexity
    ///
    /// O(`most`), and the time of the destructors.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(8);
    /// let sent = [1, 2, 3].map(|value| slab.insert(value).unwrap().into_send());
    /// std::thread::spawn(move || drop(sent)).join().unwrap();
    /// assert_eq!(slab.reclaim_some(2), 2);
    /// assert_eq!(slab.reclaim_some(2), 1);
    /// ```
    #[inline]
    pub fn reclaim_some(&self, most: usize) -> usize {
        let freed = sent::free_returned(self.cells().shaped(), most);
        freed + sent::drop_retired(self.cells(), most - freed)
    }

    /// Returns the number of values and reservations.
    ///
    /// A value counts until its destructor has returned. The cell of a stale [`Slot`] does not
    /// count.
    ///
    /// # Complexity
    ///
    /// O(1), or O(n) for n slots that [other threads](Self::reclaim) returned, which it frees
    /// first.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let slot = slab.insert(7);
    /// assert_eq!(slab.len(), 1);
    /// drop(slot);
    /// assert_eq!(slab.len(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.free_returned();
        self.cells().header().len()
    }

    /// Returns `true` if [`len`](Self::len) is 0. Takes as long as `len`.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// assert!(slab.is_empty());
    /// let slot = slab.insert(7);
    /// assert!(!slab.is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots, in all chunks. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(flatslab::BoundedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// assert_eq!(flatslab::Slab::<u64>::new().capacity(), 0);
    /// ```
    #[inline]
    #[must_use]
    #[doc(alias = "max_capacity")]
    pub fn capacity(&self) -> usize {
        self.cells().header().slots()
    }

    /// Returns a report about the slab's memory: its bytes, and which of the requested page options
    /// were obtained.
    ///
    /// It asks the system about [its pages](crate::memory::Pages), so call it at the start of a
    /// program or for diagnostics.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::with_capacity(1000);
    /// assert!(slab.memory().bytes() >= 1000 * (8 + 8 + 8));
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        self.memory.memory()
    }

    /// Returns the figures of the slab: values, slots, bytes, and what was counted.
    ///
    /// # Complexity
    ///
    /// O(1), or O(n) for n slots that [other threads](Self::reclaim) returned, which it frees
    /// first. Does not allocate, and does not call the system.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert!(slab.insert(8).is_err());
    /// let stats = slab.stats();
    /// assert_eq!((stats.live, stats.capacity, stats.refusals), (1, 1, Some(1)));
    /// println!("{stats}");
    /// # drop(slot);
    /// ```
    #[must_use]
    #[doc(alias("metrics", "high_water"))]
    pub fn stats(&self) -> Stats {
        let (live, free, capacity) = (self.len(), self.free_slots(), self.capacity());
        let header = self.cells().header();
        Stats {
            peak: header.peak(),
            refusals: Some(self.memory.refusals()),
            growths: self.memory.growths(),
            returned: Some(header.returned()),
            ..Stats::new(live, free, capacity, self.memory.bytes())
        }
    }

    /// Returns the number of free slots, which insertions fill without growing.
    ///
    /// This is less than `capacity() - len()` if a stale [`Slot`] keeps a slot out of use: that
    /// slot has no value and is not free.
    ///
    /// # Complexity
    ///
    /// O(1), or O(n) for n slots that [other threads](Self::reclaim) returned, which it frees
    /// first.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(3);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slab.free_slots(), 2);
    /// slab.remove_by_key(slot.key());
    /// assert_eq!((slab.capacity() - slab.len(), slab.free_slots()), (3, 2));
    /// drop(slot);
    /// assert_eq!(slab.free_slots(), 3);
    /// ```
    #[inline]
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.free_returned();
        self.cells().header().free()
    }

    /// Returns `true` if no slot is free: the next insertion fails ([`BoundedSlab`]) or has to grow
    /// ([`Slab`]).
    ///
    /// Stale slots keep cells out of use, so a slab can be full with fewer values than
    /// [`capacity`](Self::capacity).
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, it first frees a few of the slots that [other
    /// threads](Self::reclaim) returned.
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
        self.cells().header().free() == 0 && !sent::refill(self.cells().shaped())
    }
}

/// Drops every value that is not borrowed, in key order. A borrowed value is dropped when its last
/// borrow ends; the value of a [`SlotBox`](crate::SlotBox) stays in the box. The memory is freed
/// with the last handle; the remaining handles refuse access.
impl<T, M: Memory> Drop for TrackedSlab<T, M> {
    fn drop(&mut self) {
        // SAFETY: the slab's use of its memory ends here.
        unsafe { walk::close(self.cells()) };
    }
}

/// Prints the number of values and the capacity, not the values.
impl<T, M: Memory> fmt::Debug for TrackedSlab<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(M::NAME)
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// Views for tests.
#[cfg(any(test, fuzzing))]
impl<T, M: Memory> TrackedSlab<T, M> {
    /// Panics if an invariant does not hold. O(slots · log slots); allocates.
    pub fn check(&self) {
        check::check(self.cells());
    }

    /// Returns the key of the free slot that lies below `count` others on the free stack. O(1).
    pub fn free_key(&self, count: usize) -> Option<Key> {
        check::free_key(self.cells(), count)
    }

    /// Returns the state word of the slot with this key.
    pub fn state_bits(&self, key: Key) -> Option<u32> {
        Some(self.cells().get(key)?.state().bits())
    }
}
