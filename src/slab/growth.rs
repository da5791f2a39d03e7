//! How a `Slab` gets more memory, and gives it back: everything that insertion
//! leaves to cold functions.

use core::ptr::NonNull;

use super::Slab;
use crate::error::AllocError;
use crate::raw::chunk::MAX_SLOTS;
use crate::raw::growable_home::{self, GrowableHome};
use crate::raw::home;
use crate::raw::memory::{self, Block};
use crate::raw::place::Place;
#[cfg(feature = "std")]
use crate::raw::spares::{Blueprint, Spares};
use crate::raw::walk::Cells;
#[cfg(doc)]
use crate::{SlabBuilder, Slot};

/// How many fresh cells go onto the stack when it runs empty.
///
/// A million insertions of `u64` into an empty slab, each timed, gave the same
/// mean from 4 to 16, more below, and in the tail (p99 / p99.9, ticks) 72 / 80
/// for 4, 82 / 86 for 8, 88 / 98 for 16, 154 / 168 for 64.
const REFILL: usize = 4;

impl<T> Slab<T> {
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

    /// A free cell when the stack is empty.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn claim_by_growing(&self) -> Place<T> {
        match self.try_claim_by_growing() {
            Ok(place) => place,
            Err(error) => memory::fail(error),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn try_claim_by_growing(&self) -> Result<Place<T>, AllocError> {
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
}
