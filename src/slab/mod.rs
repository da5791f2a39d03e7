//! The slabs: values addressed by handle or key, borrows tracked at run time.
//!
//! One generic type over the kind of its memory. What differs between the two
//! slabs is in `bounded.rs` and `growable.rs`: construction, growth, and what
//! an insertion does when no slot is free. The rest is written once: here the
//! insertions and the counts, in `keyed.rs` what goes by one key, in `iter.rs`
//! what concerns all values.
//!
//! | file | what |
//! |---|---|
//! | `slot.rs`, `slot_box.rs`, `guard.rs` | the handles; tracked borrows, of values and of their parts |
//! | `cell.rs`, `state.rs` | one cell: layout, and every event of its life; its state word |
//! | `header.rs` | what a handle points back to: stack, counts, release |
//! | `cells.rs`, `walk.rs`, `sent.rs` | a key's cell, and a free one; what is done to every cell; cells whose value another thread has |
//! | `keyed.rs`, `iter.rs` | what goes by one key; iteration, and what removes many |
//! | `bounded.rs`, `growable.rs`, `growth/`, `options.rs` | the slab with a bound; the slab that grows; the options of both |
//! | `check.rs` | the invariants, for tests |
//!
//! Invariants of the free stack are cited, too: F in `raw/stack.rs`.

pub(crate) mod bounded;
pub(crate) mod cell;
pub(crate) mod cells;
#[cfg(any(test, fuzzing))]
mod check;
pub(crate) mod growable;
mod growth;
pub(crate) mod guard;
pub(crate) mod header;
pub(crate) mod iter;
pub(crate) mod keyed;
mod options;
pub(crate) mod sent;
pub(crate) mod slot;
pub(crate) mod slot_box;
pub(crate) mod state;
#[cfg(test)]
mod tests;
pub(crate) mod walk;

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::{AllocError, FullError};
use crate::key::Key;
use crate::raw::held::Held;
use crate::raw::report::Report;
use crate::slab::cell::Place;
use crate::slab::cells::{Cells, SlabMemory, claim, look};
use crate::slab::header::SlabHeader;
use crate::slab::slot::{Slot, VacantSlot};
#[cfg(doc)]
use crate::{AccessError, Bounded, BoundedSlab, Growable, Slab};

/// Values of one type, accessed by handle or by key, with borrows tracked at run
/// time: the generic type of [`Slab`] and [`BoundedSlab`].
///
/// - [`BoundedSlab`]`<T>`, in [`Bounded`] memory: all allocated when it is made.
/// - [`Slab`]`<T>`, in [`Growable`] memory: grows by chunks, copies nothing.
///
/// Their pages have the constructors and insertions in which they differ. Code for
/// both is generic over [`Memory`], and inserts by
/// [`try_insert`](Self::try_insert),
/// [`try_insert_key`](Self::try_insert_key),
/// [`try_insert_with`](Self::try_insert_with) and
/// [`try_vacant_slot`](Self::try_vacant_slot).
///
/// # Absence and conflict
///
/// If there is no value, methods by key return `None`. If the value is borrowed, they
/// panic with key and reason before anything has changed; their `try_` forms return an
/// [`AccessError`]. So a value that is being read is never taken for one that is gone.
///
/// | method | no value | borrowed |
/// |---|---|---|
/// | [`get`](Self::get), [`get_mut`](Self::get_mut), [`get_copied`](Self::get_copied), [`slot`](Self::slot) | `None` | panics |
/// | [`try_get`](Self::try_get), [`try_get_mut`](Self::try_get_mut), [`try_slot`](Self::try_slot), [`try_remove_by_key`](Self::try_remove_by_key) | an error | an error |
/// | [`remove_by_key`](Self::remove_by_key) | panics | panics |
/// | [`iter`](Self::iter), [`iter_mut`](Self::iter_mut) | skip it | panic there |
/// | [`try_iter`](Self::try_iter), [`try_iter_mut`](Self::try_iter_mut) | skip it | yield an error |
/// | [`retain`](Self::retain), [`drain`](Self::drain), [`clear`](Self::clear) | skip it | panic at once |
/// | [`try_retain`](Self::try_retain), [`try_drain`](Self::try_drain) | skip it | leave it, and count it |
/// | [`try_clear`](Self::try_clear) | skips it | an error at once |
///
/// A value that was [sent](Slot::into_send) to another thread counts as borrowed. Access that meets
/// one first frees all slots that came back since, to tell whether it is gone: O(their number).
///
/// A value whose [`Slot`] was dropped while it was borrowed is *doomed*: it counts as
/// no value, and is dropped when that borrow ends.
///
/// Values never move. Slots are reused last in, first out; a fresh slab hands
/// out ascending keys from 0. Every operation is O(1), straight-line code and
/// free of allocation, unless it says otherwise.
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

/// A kind of memory for a [`TrackedSlab`]: [`Bounded`] or [`Growable`]. Sealed.
pub trait Memory: SlabMemory {}

impl<T, M: Memory> TrackedSlab<T, M> {
    /// # Safety
    ///
    /// The memory was made for cells of `T`.
    #[inline(always)]
    const unsafe fn new_in(memory: M) -> Self {
        TrackedSlab {
            memory,
            values: PhantomData,
        }
    }

    #[inline(always)]
    fn cells(&self) -> Cells<'_, T, M> {
        // SAFETY: the memory was made for cells of `T` (`new_in`).
        unsafe { Cells::new(&self.memory) }
    }

    /// What every place of this slab leads back to.
    pub(crate) fn header_address(&self) -> NonNull<SlabHeader> {
        self.memory.header()
    }

    /// A free cell, off the stack, if there is one without growing.
    #[inline(always)]
    fn claim(&self) -> Option<Place<T>> {
        claim(&self.memory)
    }

    /// A free cell, off the stack.
    #[inline(always)]
    fn try_claim(&self) -> Result<Place<T>, Option<AllocError>> {
        match self.claim() {
            Some(place) => Ok(place),
            // SAFETY: the memory was made for cells of `T` (`new_in`).
            None => unsafe { self.memory.claim_when_empty() },
        }
    }

    /// Inserts a value into a free slot; O(1), and for a [`Slab`] in which none is
    /// free the allocation of a chunk. Never panics or aborts.
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
                // SAFETY: the cell was just popped: free, and no one else has it (`free-on-stack`).
                Ok(place) => Ok(unsafe { Slot::fill(place, value) }),
                Err(_) => Err(FullError(value)),
            };
        }
        let Some((place, lowered)) = look(&self.memory) else {
            return self.insert_when_empty(Held::new(value));
        };
        // SAFETY: a free cell, which is off the stack before other code runs (`free-on-stack`). The
        // value is written first: if the stack changed first, the compiler would copy a value that
        // lies behind a reference to a place of its own.
        unsafe {
            let slot = Slot::fill(place, value);
            self.cells().header().stack.lower(lowered);
            Ok(slot)
        }
    }

    /// [`try_insert`](Self::try_insert) if the stack is empty. It is given the value: see
    /// [`Held`].
    #[cold]
    #[inline(never)]
    fn insert_when_empty(&self, held: Held<T>) -> Result<Slot<T>, FullError<T>> {
        // SAFETY: the memory was made for cells of `T` (`new_in`).
        match unsafe { self.memory.claim_when_empty() } {
            // SAFETY: the cell was just popped: free, and no one else has it (`free-on-stack`).
            Ok(place) => Ok(unsafe { Slot::fill(place, held.value) }),
            Err(_) => Err(FullError(held.value)),
        }
    }

    /// Builds a value that knows its key and address; O(1) besides `f`, and for
    /// a [`Slab`] in which no slot is free the allocation of a chunk. Panics and
    /// aborts only if `f` does.
    ///
    /// The slot is reserved while `f` runs, and `f` may use the slab. If `f`
    /// panics the slot is given back.
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
    pub fn try_insert_with<F>(&self, f: F) -> Result<Slot<T>, AllocError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.try_vacant_slot()?;
        let value = f(&vacant);
        Ok(vacant.insert(value))
    }

    /// Reserves a slot, to be filled later; O(1), and for a [`Slab`] in which
    /// none is free the allocation of a chunk. Never panics or aborts.
    ///
    /// # Errors
    ///
    /// When no slot is free and the slab cannot grow.
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
            // SAFETY: the cell was just popped: free, and no one else has it (`free-on-stack`).
            Ok(place) => Ok(unsafe { VacantSlot::hold(place) }),
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

    /// Inserts a value into a free slot and gives it to its key: it stays until it
    /// is removed by key, taken back into a [`slot`](Self::slot), or dropped
    /// with the slab. O(1), and for a [`Slab`] in which none is free the
    /// allocation of a chunk. Never panics or aborts.
    ///
    /// The same as [`try_insert`](Self::try_insert) and [`Slot::leak`].
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

    /// Frees the slots of values that were handed to other threads and have ended there
    /// ([`SendSlot`](crate::sync::SendSlot)), drops those that were
    /// [retired](crate::sync::SendSlot::retire) there before this call, and returns their number;
    /// O(that number) besides the destructors, and O(1) if none was handed over. Allocates
    /// nothing, and panics only if a destructor does: the other retired values wait for the next
    /// call then.
    ///
    /// `len`, `free_slots`, new iterators and a conflict with such a value free slots too. An
    /// insertion that finds no free slot frees a few, as does `is_full`: no insertion pays for
    /// all values that other threads dropped. [`reclaim_some`](Self::reclaim_some) frees as
    /// many as you ask for. Retired values are dropped by no insertion and no access: only here,
    /// by [`clear`](Self::clear), [`try_clear`](Self::try_clear), [`retain`](Self::retain),
    /// [`drain`](Self::drain), and with the slab. Until then they count as borrowed.
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
    /// [retired](crate::sync::SendSlot::retire) and that [`reclaim`](Self::reclaim) has not dropped
    /// yet. Their slots are in use.
    ///
    /// # Complexity
    ///
    /// O(that number): it counts them.
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

    /// Frees the slots of values that have ended on other threads. Runs no user code.
    #[inline]
    fn free_returned(&self) {
        sent::free_returned(self.cells(), usize::MAX);
    }

    /// Like [`reclaim`](Self::reclaim), but frees at most `most` slots, first those whose values
    /// have ended, for a loop with little time in each round; O(`most`) besides the destructors.
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
        let freed = sent::free_returned(self.cells(), most);
        freed + sent::drop_retired(self.cells(), most - freed)
    }

    /// Number of values and reservations; O(1), and O(slots that came back) if values were
    /// handed to [other threads](Self::reclaim).
    ///
    /// A value counts until its destructor has returned. The cell of a stale [`Slot`]
    /// does not count.
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

    /// Whether [`len`](Self::len) is 0; O(1), and like `len` if values were handed to other
    /// threads.
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

    /// Number of slots, in all chunks; O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(flatslab::BoundedSlab::<u64>::with_capacity(8).capacity(), 8);
    /// assert_eq!(flatslab::Slab::<u64>::new().capacity(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.cells().header().slots()
    }

    /// The slab's memory, and which of the requested page options were obtained. Asks
    /// the system about [its pages](crate::memory::Pages): for the start and for
    /// diagnostics.
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

    /// Number of free slots, which insertions fill without growing; O(1), and O(slots that
    /// came back) if values were handed to [other threads](Self::reclaim).
    ///
    /// `capacity() - len()` is more if a stale [`Slot`] keeps a slot out of use: that
    /// slot is neither a value nor free.
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

    /// Whether the next insertion fails ([`BoundedSlab`]) or has to grow
    /// ([`Slab`]); O(1). Stale slots keep cells out of use, so this can be so
    /// with fewer values than [`capacity`](Self::capacity). If no slot is free it first
    /// frees a few of those that came back from [other threads](Self::reclaim).
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
        self.cells().header().free() == 0 && !sent::refill(self.cells())
    }
}

/// Drops every value that is not borrowed, in key order; a borrowed one goes
/// with its last borrow, and what a [`SlotBox`](crate::SlotBox) owns stays. The
/// memory goes with the last handle; handles that are left refuse access.
impl<T, M: Memory> Drop for TrackedSlab<T, M> {
    fn drop(&mut self) {
        // SAFETY: the slab's use of its memory ends here.
        unsafe { walk::close(self.cells()) };
    }
}

/// Prints how full it is, not what is in it.
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
    /// Panics where an invariant does not hold; O(slots · log slots), allocates.
    pub fn check(&self) {
        check::check(self.cells());
    }

    /// The key of the free slot that lies below `count` others on the free
    /// stack; O(1).
    pub fn free_key(&self, count: usize) -> Option<Key> {
        check::free_key(self.cells(), count)
    }

    /// The state word at `key`.
    pub fn state_bits(&self, key: Key) -> Option<u32> {
        Some(self.cells().get(key)?.state().bits())
    }
}
