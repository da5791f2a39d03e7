//! How a `Slab` adds memory and frees it: the cold functions of insertion.
//!
//! | file | content |
//! |---|---|
//! | `growable_header.rs`, `table.rs` | the memory of a growable slab; its table of chunks, and chunks that are in no table |
//! | `ahead.rs` | chunks and arrays built ahead by a helper thread, with the loom models |

#[cfg(feature = "std")]
pub(crate) mod ahead;
pub(crate) mod growable_header;
pub(crate) mod table;

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
#[cfg(feature = "std")]
use crate::key::Key;
use crate::key::MAX_SLOTS;
#[cfg(feature = "std")]
use crate::raw::chunk;
use crate::raw::memory::{self, Block};
use crate::slab::cell::{CellPtr, Place};
use crate::slab::cells::Cells;
use crate::slab::growable::Growable;
#[cfg(feature = "std")]
use crate::slab::growth::ahead::Ahead;
use crate::slab::growth::growable_header::{Array, GrowableHeader, Supplies};
use crate::slab::growth::table::ChunkShape;
use crate::slab::header::{close, unallocated};
use crate::slab::holder::{Holder, Popped};
use crate::slab::shape::Shape;
#[cfg(feature = "std")]
use crate::slab::shape::stamp_all;
use crate::slab::{TrackedSlab, sent};
#[cfg(doc)]
use crate::{Builder, Slot};

impl<T> TrackedSlab<T, Growable> {
    /// Reserves room for at least `additional` more values than the present [`len`](Self::len),
    /// like `Vec::reserve`.
    ///
    /// The memory is allocated and touched, so the insertions that fill it neither allocate nor
    /// fault.
    ///
    /// # Complexity
    ///
    /// O(slots added + free slots).
    ///
    /// # Panics
    ///
    /// Panics if the slab would have 2^30 slots or more, rounded up to whole chunks, or the bytes
    /// of all chunks would exceed `isize::MAX`. If the allocator refuses, the program aborts, as
    /// with `Vec`.
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
    #[doc(alias = "reserve_chunks")]
    pub fn reserve(&self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves room like [`reserve`](Self::reserve); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`reserve`](Self::reserve) panics, before anything is allocated, or
    /// if the allocator refuses. Chunks that were allocated before the refusal are kept.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::new();
    /// assert!(slab.try_reserve(10_000).is_ok());
    /// assert!(slab.try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&self, additional: usize) -> Result<(), AllocError> {
        // Returned slots count as free. Otherwise a program that reserves before each burst
        // would grow forever.
        let missing = additional.saturating_sub(self.cells().header().free());
        sent::free_returned(self.cells().shaped(), missing);
        // SAFETY: the memory was made for cells of `T`.
        unsafe { self.memory.try_reserve::<T>(additional) }
    }

    /// Makes sure that `slots` slots are free and their memory is touched, so that the next `slots`
    /// insertions neither allocate nor fault.
    ///
    /// Call it in idle moments of the program. It first [frees](Self::reclaim_some) slots that
    /// other threads returned, then adds chunks: a [spare chunk](Builder::spare_chunks) if there is
    /// one, and others that it builds on this thread.
    ///
    /// # Complexity
    ///
    /// O(slots added + free slots), or O(1) if that many slots are free.
    ///
    /// # Errors
    ///
    /// Returns an error where [`try_reserve`](Self::try_reserve) does.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::builder().chunk_capacity(2048).build();
    /// slab.prepare(2048)?;
    /// for number in 0..2048 {
    ///     slab.insert(number).leak();
    /// }
    /// assert_eq!(slab.growth_stalls(), 0);
    /// slab.insert(2048).leak();
    /// assert_eq!(slab.growth_stalls(), 1);
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[doc(alias("touch", "prefault", "warm_up"))]
    pub fn prepare(&self, slots: usize) -> Result<(), AllocError> {
        self.try_reserve(slots)
    }

    /// Returns the number of insertions that had to allocate a chunk themselves. O(1).
    ///
    /// Insertions that found a chunk [reserved](Self::reserve), [prepared](Self::prepare) or [built
    /// ahead](Builder::spare_chunks) are not counted, nor are insertions that failed because the
    /// allocator refused. Allocations of the free stack and of the table of chunks, which an
    /// insertion may have to make when their size doubles, are not counted either.
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
        self.memory.stalls.get()
    }

    /// Frees the chunks that have no value, reservation, guard or stale [`Slot`], and the part of
    /// the free stack that is no longer needed.
    ///
    /// The keys of values do not change. New chunks take the numbers of the freed ones, the lowest
    /// first. While such a number is below the number of a chunk in use, the memory of one empty
    /// chunk is kept, until the slab grows after the last of these numbers has been taken. All
    /// chunks are kept if this is called within [`retain`](Self::retain), while an iterator of this
    /// slab is alive, or after one was forgotten.
    ///
    /// # Complexity
    ///
    /// O(slots).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::builder().chunk_capacity(2048).build();
    /// let mut slots: Vec<_> = (0..5000).map(|number| slab.insert(number)).collect();
    /// slots.drain(1000..);
    /// slab.shrink_to_fit();
    /// assert_eq!((slab.chunks(), slab.capacity()), (1, 2048));
    /// ```
    pub fn shrink_to_fit(&self) {
        self.free_returned();
        self.memory.shrink();
    }

    /// Starts a helper thread that builds `count` chunks ahead.
    ///
    /// # Errors
    ///
    /// If they would exceed the limits, or the allocator refuses.
    #[cfg(feature = "std")]
    pub(crate) fn try_build_ahead(&mut self, count: usize) -> Result<(), AllocError> {
        let shift = self.memory.shift.get();
        let layout = ChunkShape::of::<T>().chunk(shift)?;
        let numbers = MAX_SLOTS >> shift;
        let slots = count.saturating_mul(1 << shift);
        if growable_header::chunks_for(slots, layout, shift, numbers, 0)? > 0 {
            let source = self.memory.source.clone();
            let build = move |number: usize| {
                let block = chunk::allocate(layout, &source)?;
                // The number is a guess: in a slab that is full of chunks the
                // next one fills a hole.
                let first = (number.min(numbers - 1) << shift) as u32;
                let key = |local| Key::from_raw(first + local);
                // SAFETY: a block of this layout, still unused.
                unsafe { stamp_all::<T>(block.start(), 1 << shift, key) };
                Ok(block)
            };
            let first = self.memory.chunks.get().bound >> shift;
            let source = &self.memory.source;
            let ahead = Ahead::try_new(source, layout, count, first, build)?;
            self.memory.ahead = Some(ahead);
            self.memory.expect_growth();
        }
        Ok(())
    }
}

/// Every function here that has a `T` has this contract: the memory was made
/// for cells of `T`.
impl Growable {
    /// Takes a free cell when the stack is empty.
    ///
    /// # Safety
    ///
    /// The `impl`'s.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn try_claim_by_growing<T>(&self) -> Result<Popped<T>, AllocError> {
        // SAFETY: the memory was made for cells of `T` (precondition).
        let cells = unsafe { Cells::<T, _>::new(self) };
        if sent::refill(cells.shaped()) {
            if let Some(popped) = cells.claim() {
                return Ok(popped);
            }
        }
        // SAFETY: the memory was made for cells of `T` (precondition), and so of this shape.
        let fresh = unsafe { self.claim_fresh(const { Shape::of::<T>() }) };
        let cell = match fresh {
            Some(cell) => cell,
            // SAFETY: the memory was made for cells of `T` (precondition), and so of these.
            None => unsafe { self.try_claim_of_new_chunk(const { &ChunkShape::of::<T>() })? },
        };
        let place = Place::new(CellPtr::new(cell), self.header.get());
        // SAFETY: just taken: free, and no one else has it (`free-on-stack`, `fresh-keys`).
        Ok(unsafe { Holder::new(place) })
    }

    /// Takes a fresh cell, if there is one.
    ///
    /// # Safety
    ///
    /// The memory was made for cells of this shape.
    #[inline]
    unsafe fn claim_fresh(&self, shape: Shape) -> Option<NonNull<u8>> {
        // SAFETY: the slab has cells of this shape (precondition).
        let (cell, stamped) = unsafe { self.body()?.take_fresh(shape)? };
        if stamped {
            // One more key has a cell; the cells of the other keys stay. Field by field: a copy
            // of all three fields would wait for the store of the last one.
            let mut chunks = self.chunks.get();
            chunks.bound += 1;
            chunks.unstamped -= 1;
            self.chunks.set(chunks);
        }
        Some(cell)
    }

    /// Takes a free cell when no cell is on the stack and none is fresh: adds a chunk.
    ///
    /// # Safety
    ///
    /// The memory was made for these cells.
    #[cold]
    #[inline(never)]
    unsafe fn try_claim_of_new_chunk(&self, cells: &ChunkShape) -> Result<NonNull<u8>, AllocError> {
        let mut refusal = None;
        let error = loop {
            // The allocator may use the slab. So look for a free cell after
            // each call, even after a refusal.
            let body = match self.growable_header(*cells) {
                Ok(body) => body,
                Err(error) => break error,
            };
            // SAFETY: the memory was made for these cells (precondition).
            let fresh = || unsafe { self.claim_fresh(cells.shape) };
            let cell = body.header.stack.pop().or_else(fresh);
            if let Some(cell) = cell {
                return Ok(cell);
            }
            if let Some(error) = refusal {
                break error;
            }
            let (built, result) = self.grow(body, 1, false);
            self.stalls.set(self.stalls.get() + usize::from(built));
            refusal = result.err();
        };
        self.refusals.set(self.refusals.get() + 1);
        Err(error)
    }

    /// # Safety
    ///
    /// The `impl`'s.
    unsafe fn try_reserve<T>(&self, additional: usize) -> Result<(), AllocError> {
        if additional == 0 {
            return Ok(());
        }
        if self.header.get() == unallocated() {
            let shift = self.shift.get();
            let layout = ChunkShape::of::<T>().chunk(shift)?;
            let numbers = MAX_SLOTS >> shift;
            growable_header::chunks_for(additional, layout, shift, numbers, 0)?;
        }
        let body = self.growable_header(const { ChunkShape::of::<T>() })?;
        let result = loop {
            // The allocator may use the slab: it may make room although it refuses, or use
            // up the room while the outgrown arrays are freed. So recheck.
            let (_, result) = self.grow(body, additional, true);
            if body.has_room(additional) {
                break Ok(());
            } else if result.is_err() {
                break result;
            }
        };
        body.touch_fresh();
        body.bury_fresh();
        self.chunks.set(body.chunks());
        result
    }

    fn shrink(&self) {
        let Some(body) = self.body() else {
            return;
        };
        // A walk goes by pointer through the chunks (`counted-walk`).
        if self.walks.get() == 0 {
            let released = body.shrink();
            self.note_growth(body);
            drop(released);
        }
        let stack = body.shrink_stack();
        self.expect_growth();
        drop(stack);
        self.free_unwanted();
    }

    /// Returns the header, and creates it if there is none yet.
    #[inline]
    fn growable_header(&self, cells: ChunkShape) -> Result<&GrowableHeader, AllocError> {
        loop {
            match self.body() {
                Some(body) => return Ok(body),
                None => self.try_make_header(cells)?,
            }
        }
    }

    /// Creates the header, unless the allocator does so by using this slab.
    #[cold]
    #[inline(never)]
    fn try_make_header(&self, cells: ChunkShape) -> Result<(), AllocError> {
        let shift = self.shift.get();
        let made = growable_header::try_new(cells, shift, self.touch_ahead, &self.source);
        if self.header.get() == unallocated() {
            self.header.set(made?.cast());
        } else if let Ok(made) = made {
            // SAFETY: made above, not shared, and without a cell.
            unsafe { close(made.cast(), 0, 0) };
        }
        Ok(())
    }

    /// Adds chunks until `slots` cells are free, and touches them if `touch`. Returns whether a
    /// chunk had to be allocated. If the source refuses the first chunk, smaller ones are added.
    fn grow(
        &self,
        body: &GrowableHeader,
        slots: usize,
        touch: bool,
    ) -> (bool, Result<(), AllocError>) {
        loop {
            let (mut left_over, result) = self.gather(body, slots, touch);
            body.add(slots, &mut left_over);
            let is_other =
                result.is_err() && left_over.is_for_one && self.take_smaller_chunks(body);
            let built = left_over.built;
            self.settle(body, left_over);
            if !is_other {
                return (built, result);
            }
        }
    }

    /// Notes a growth, and frees what it has left over. A source of the user's may run.
    #[cold]
    #[inline(never)]
    fn settle(&self, body: &GrowableHeader, mut left_over: Supplies) {
        self.note_growth(body);
        for array in [Array::Stack, Array::Table] {
            if let Some(block) = left_over.take_array(array) {
                self.free(array, block);
            }
        }
    }

    /// Allocates the missing blocks for `slots` free cells, or takes those that the helper has: see
    /// [`GrowableHeader::gather`].
    #[cold]
    #[inline(never)]
    fn gather(
        &self,
        body: &GrowableHeader,
        slots: usize,
        touch: bool,
    ) -> (Supplies, Result<(), AllocError>) {
        body.gather(slots, touch, &|| self.take_ahead(), &|array, layout| {
            self.take_array_ahead(array, layout)
        })
    }

    /// Makes chunks smaller, because the source has refused what one needs, if there is no chunk, the
    /// helper has none either, and no option has set their size. Returns `false` otherwise.
    #[cold]
    #[inline(never)]
    pub(super) fn take_smaller_chunks(&self, body: &GrowableHeader) -> bool {
        #[cfg(feature = "std")]
        if self.ahead.is_some() {
            return false;
        }
        if !self.is_any_size {
            return false;
        }
        let smaller = body.smaller_chunks();
        smaller.inspect(|&shift| self.shift.set(shift)).is_some()
    }

    /// The table has changed.
    fn note_growth(&self, body: &GrowableHeader) {
        self.chunks.set(body.chunks());
        self.expect_growth();
    }

    /// Tells the helper, if there is one, what the next growths need.
    fn expect_growth(&self) {
        #[cfg(feature = "std")]
        if let (Some(ahead), Some(body)) = (&self.ahead, self.body()) {
            ahead.expect(body.next_number());
            for array in [Array::Stack, Array::Table] {
                ahead.want_array(array, body.successor(array, ahead.count()));
            }
        }
    }

    /// Wakes the helper, so that it frees blocks that are no longer wanted.
    fn free_unwanted(&self) {
        #[cfg(feature = "std")]
        if let Some(ahead) = &self.ahead {
            ahead.wake();
        }
    }

    /// Returns the header, if there is one yet.
    #[inline]
    pub(super) fn body(&self) -> Option<&GrowableHeader> {
        let header = self.header.get();
        // SAFETY: made by `growable_header`, and allocated while the slab lives.
        (header != unallocated()).then(|| unsafe { header.cast::<GrowableHeader>().as_ref() })
    }

    /// Returns how many chunks were added since the slab was created.
    pub(super) fn chunks_added(&self) -> u64 {
        self.body().map_or(0, GrowableHeader::chunks_added)
    }

    /// Returns the bytes of all blocks.
    pub(super) fn bytes_of_blocks(&self) -> usize {
        #[allow(unused_mut, reason = "only `std` has more")]
        let mut bytes = self.body().map_or(0, GrowableHeader::bytes);
        #[cfg(feature = "std")]
        if let Some(ahead) = &self.ahead {
            bytes += ahead.bytes();
        }
        bytes
    }

    /// Takes a chunk that was built ahead, if there is one. Does not allocate.
    fn take_ahead(&self) -> Option<Block> {
        #[cfg(feature = "std")]
        if let Some(ahead) = &self.ahead {
            return ahead.take();
        }
        None
    }

    /// Takes an array of this layout that was allocated ahead, if there is one. Does not
    /// allocate.
    fn take_array_ahead(&self, array: Array, layout: Layout) -> Option<Block> {
        #[cfg(feature = "std")]
        if let Some(ahead) = &self.ahead {
            return ahead.take_array(array, layout);
        }
        let _ = (array, layout);
        None
    }

    /// Frees an outgrown array, or leaves it to the helper.
    fn free(&self, array: Array, block: Block) {
        #[cfg(feature = "std")]
        if let Some(ahead) = &self.ahead {
            return ahead.leave(array, block);
        }
        let _ = array;
        drop(block);
    }
}
