//! `BoundedSlab`: one contiguous array of cells, allocated at construction.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::{AllocError, FullError};
use crate::key::Key;
use crate::raw::chunk;
use crate::raw::memory::{self, Block, LazyBlock};
use crate::raw::packed::Packing;
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::stack::FreeStack;
use crate::slab::cell::CellPtr;
use crate::slab::cells::{Cells, ShapedCells};
#[cfg(doc)]
use crate::slab::header;
use crate::slab::header::SlabHeader;
use crate::slab::holder::Popped;
use crate::slab::shape::{Shape, stamp_all};
use crate::slab::slot::{Slot, VacantSlot};
use crate::slab::{Memory, TrackedSlab, sent};

/// A slab of fixed capacity: one contiguous array, allocated and touched at construction.
///
/// It never allocates and never faults afterwards. (A slab that is built [`lazy`](Self::builder)
/// only reserves its memory at construction.) If no slot is free, an insertion fails with
/// [`FullError`] or [`AllocError::Full`]. All other methods are documented on [`TrackedSlab`].
///
/// A slot takes the size of a value (at least 4 bytes) and 8 bytes for its key and its state,
/// rounded up to the value's alignment (at least 4 bytes), and 8 bytes of the free stack.
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
pub type BoundedSlab<T> = TrackedSlab<T, Bounded>;

/// The memory of a [`BoundedSlab`]: one array of cells, and one free stack.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Bounded {
    header: NonNull<SlabHeader>,
    cells: NonNull<u8>,
    /// The cells of the keys below this are stamped. In a lazy slab these are the cells that
    /// were ever used, otherwise all cells.
    bound: Cell<usize>,
    /// Number of insertions that found no free cell.
    refusals: Cell<u64>,
}

/// The header is first, so that a pointer to it is also a pointer to the whole.
#[repr(C)]
struct BoundedHeader {
    header: SlabHeader,
    cells: LazyBlock,
}

/// # Safety
///
/// As for [`header::Release`]; `header` came from [`Bounded::try_new`].
unsafe fn release(header: NonNull<SlabHeader>) {
    let header = header.cast::<BoundedHeader>();
    // SAFETY: `try_new` leaked this block, and by `last-holder` this is the last use.
    unsafe {
        let source = header.as_ref().header.stack.source().clone();
        drop(Block::reclaim(header, &source));
    }
}

/// How the numbers of `capacity` cells share words on the return stack.
const fn packing<T>(capacity: usize) -> Packing {
    CellPtr::<T>::packing(Packing::below(capacity))
}

impl Bounded {
    /// Allocates memory for cells of `T`: every page is touched, and every cell is on the stack,
    /// in ascending order.
    ///
    /// # Errors
    ///
    /// If a limit is exceeded or the source refuses; nothing is leaked then.
    pub(super) fn try_new<T>(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = chunk::layout(CellPtr::<T>::LAYOUT, capacity)?;
        let block = chunk::allocate(layout, source)?;
        let stack = FreeStack::try_new(capacity, source)?;
        // SAFETY: laid out for that many cells, which are unused. Each is free
        // and pushed once; that touches every page of the stack too.
        unsafe {
            stamp_all::<T>(block.start(), capacity, Key::from_raw);
            stack.refill(chunk::cells(block.start(), CellPtr::<T>::SIZE, capacity));
        }
        let header = SlabHeader::new(stack, capacity, packing::<T>(capacity), release);
        header.remove_fresh(capacity);
        Self::with_header(header, LazyBlock::whole(block), capacity)
    }

    /// Reserves memory for cells of `T`, all of them fresh.
    ///
    /// # Errors
    ///
    /// As for [`try_new`](Self::try_new).
    pub(super) fn try_reserve<T>(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = chunk::layout(CellPtr::<T>::LAYOUT, capacity)?;
        let cells = LazyBlock::reserve(layout, 0, source)?;
        let stack = FreeStack::try_reserve(capacity, source)?;
        let header = SlabHeader::new(stack, capacity, packing::<T>(capacity), release);
        Self::with_header(header, cells, 0)
    }

    fn with_header(header: SlabHeader, cells: LazyBlock, bound: usize) -> Result<Self, AllocError> {
        let source = header.stack.source().clone();
        let start = cells.start();
        let body = BoundedHeader { header, cells };
        let header = Block::leak(body, &source).map_err(|(error, _)| error)?;
        Ok(Bounded {
            header: NonNull::from(header).cast(),
            cells: start,
            bound: Cell::new(bound),
            refusals: Cell::new(0),
        })
    }

    fn body(&self) -> &BoundedHeader {
        // SAFETY: made by `with_header`, and allocated while the slab lives.
        unsafe { self.header.cast::<BoundedHeader>().as_ref() }
    }
}

impl ShapedCells<'_, Bounded> {
    /// Makes a cell free when the stack is empty: one that was returned, or one of a lazy slab that
    /// was never used.
    ///
    /// # Errors
    ///
    /// `None` if every cell is taken; an error if the system refuses memory.
    #[cold]
    #[inline(never)]
    fn free_some(self) -> Result<(), Option<AllocError>> {
        if sent::refill(self) {
            return Ok(());
        }
        let refusals = &self.memory().refusals;
        self.refill()
            .inspect_err(|_| refusals.set(refusals.get() + 1))
    }

    /// Pushes a few fresh cells on the empty stack.
    ///
    /// # Errors
    ///
    /// `None` if no cell is fresh; an error if the system refuses memory.
    fn refill(self) -> Result<(), Option<AllocError>> {
        let count = self.shape().refill.min(self.header().fresh());
        if count == 0 {
            return Err(None);
        }
        let cells = self.stamp_fresh(count, false)?;
        // SAFETY: just stamped, fresh so far, and room for every cell.
        unsafe { self.header().stack.refill(cells) };
        self.header().remove_fresh(count);
        Ok(())
    }

    /// Commits, stamps and returns the next `count` fresh cells; touches all their pages if
    /// `touch`. They still count as fresh.
    ///
    /// # Errors
    ///
    /// If the system refuses; nothing has changed then.
    fn stamp_fresh(
        self,
        count: usize,
        touch: bool,
    ) -> Result<impl DoubleEndedIterator<Item = NonNull<u8>> + use<>, AllocError> {
        let body = self.memory().body();
        let (first, end) = (self.memory().bound.get(), self.memory().bound.get() + count);
        let size = self.shape().layout.size();
        body.cells.commit(end * size)?;
        let stack = &body.header.stack;
        stack.commit_ahead(end)?;
        if touch {
            body.cells.populate(first * size..end * size)?;
            stack.populate(first, end)?;
        } else {
            // Also the page of their stack entries, so that no removal faults. The stack is
            // empty here, and the pages of the entries before are touched.
            stack.touch_place(end - 1);
        }
        // SAFETY: below the capacity, so within the block; those cells are committed, and not in
        // use.
        unsafe {
            let start = self.memory().cells.add(first * size);
            let key = |local| Key::from_raw(first as u32 + local);
            self.shape().stamp_all(start, count, key);
            self.memory().bound.set(end);
            Ok(chunk::cells(start, size, count))
        }
    }

    /// Stamps cells and pushes them until `slots` are on the stack, or no cell is fresh.
    fn prepare(self, slots: usize) -> Result<(), AllocError> {
        let header = self.header();
        let count = slots
            .saturating_sub(header.stack.depth())
            .min(header.fresh());
        if count > 0 {
            let cells = self.stamp_fresh(count, true)?;
            // SAFETY: just stamped, fresh so far, and room for every cell.
            unsafe { header.stack.push_below(count, cells) };
            header.remove_fresh(count);
        }
        Ok(())
    }

    /// Makes the free cells after the last cell in use fresh again, and frees their memory.
    ///
    /// # Safety
    ///
    /// No one walks over the cells.
    unsafe fn release_tail(self) {
        let size = self.shape().layout.size();
        let mut end = self.memory().bound.get();
        // SAFETY: the index is below the bound, so the cell is stamped.
        let stamp = |index| unsafe {
            let cell = self.start(Key::from_raw(index as u32));
            self.shape().stamp_of(cell)
        };
        while end > 0 && stamp(end - 1).is_free() {
            end -= 1;
        }
        let body = self.memory().body();
        let first = self.memory().cells.addr().get();
        (body.header.stack).retain(|cell| cell.addr().get() - first < end * size);
        body.header.add_fresh(self.memory().bound.get() - end);
        self.memory().bound.set(end);
        body.cells.decommit(end * size);
        // Room remains for the cells in use, which will be pushed when they are freed.
        body.header.stack.decommit(end);
    }
}

// SAFETY: the header is kept by the slab, and its one chunk has as many cells as the
// bound says at least, all of them below it stamped.
unsafe impl Memory for Bounded {
    const NAME: &'static str = "BoundedSlab";

    #[inline]
    fn header(&self) -> NonNull<SlabHeader> {
        self.header
    }

    #[inline]
    fn bound(&self) -> usize {
        self.bound.get()
    }

    fn unstamped(&self) -> usize {
        self.body().header.slots() - self.bound.get()
    }

    #[inline]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T> {
        // SAFETY: the key is below the bound (precondition), so the cell lies within the
        // chunk, whose layout fits `isize`.
        CellPtr::new(unsafe { self.cells.add(key.index() * CellPtr::<T>::SIZE) })
    }

    unsafe fn cell_of(&self, shape: &Shape, key: Key) -> NonNull<u8> {
        // SAFETY: as in `cell`.
        unsafe { self.cells.add(key.index() * shape.layout.size()) }
    }

    #[inline]
    fn row_end(&self, _: Key) -> usize {
        self.bound.get()
    }

    #[inline]
    unsafe fn claim_when_empty<T>(&self) -> Result<Popped<T>, Option<AllocError>> {
        // SAFETY: the memory was made for cells of `T` (precondition).
        let cells = unsafe { Cells::<T, _>::new(self) };
        cells.shaped().free_some()?;
        cells.claim().ok_or(None)
    }

    fn memory(&self) -> Report {
        Report::new(self.bytes(), self.body().header.stack.source())
    }

    fn bytes(&self) -> usize {
        let body = self.body();
        body.cells.bytes() + body.header.stack.array_bytes() + size_of::<BoundedHeader>()
    }

    fn refusals(&self) -> u64 {
        self.refusals.get()
    }

    fn growths(&self) -> Option<u64> {
        None
    }
}

impl<T> TrackedSlab<T, Bounded> {
    /// Creates a slab of `capacity` slots, with all its memory allocated and touched.
    ///
    /// A slab of capacity 0 is always full.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 2^30 or more, or its bytes exceed `isize::MAX`. If the allocator
    /// refuses, the program aborts, as with `Vec`. [`try_with_capacity`](Self::try_with_capacity)
    /// returns the error.
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

    /// Creates a slab of `capacity` slots, like [`with_capacity`](Self::with_capacity); never
    /// panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error if `capacity` is 2^30 or more, its bytes exceed `isize::MAX`, or the
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
        Self::try_new_in(capacity, false, &Source::GLOBAL)
    }

    /// Creates a slab with memory from `source`, which is only reserved if `lazy`.
    pub(super) fn try_new_in(
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let memory = if lazy {
            Bounded::try_reserve::<T>(capacity, source)?
        } else {
            Bounded::try_new::<T>(capacity, source)?
        };
        // SAFETY: made for cells of `T`.
        Ok(unsafe { Self::new_in(memory) })
    }

    /// Commits and touches the memory for the next `slots` insertions of a [lazy](Self::builder)
    /// slab, or for all its free slots if it has fewer.
    ///
    /// These insertions and the removals of their values then make no system call and cause no page
    /// fault. Slots that other threads [returned](Self::reclaim) are freed first. A slab that is
    /// not lazy has all its memory already.
    ///
    /// # Complexity
    ///
    /// O(slots), and O(free slots) more if some are on the free stack. O(1) if the slab is not
    /// lazy. Both O(n) more for n returned slots.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses the memory. Memory that is committed stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().try_build()?;
    /// slab.prepare(10_000)?;
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[doc(alias("touch", "prefault", "warm_up"))]
    pub fn prepare(&self, slots: usize) -> Result<(), AllocError> {
        self.free_returned();
        self.cells().shaped().prepare(slots)
    }

    /// Frees the memory after the last slot in use: whole [system pages](crate::memory::Pages) that
    /// a [lazy](Self::builder) slab no longer needs.
    ///
    /// Later insertions commit them again. With memory from another source, it only resets the
    /// slots. A slot is in use while it has a value, a [`Slot`], a reservation or a guard.
    ///
    /// # Complexity
    ///
    /// O(slots ever used).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let mut slab = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy().try_build()?;
    /// let slots: Vec<_> = (0..10_000).map(|number| slab.insert(number).unwrap()).collect();
    /// drop(slots);
    /// slab.shrink_to_fit();
    /// assert_eq!(slab.insert_key(7).unwrap().index(), 0);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.free_returned();
        // SAFETY: an exclusive borrow, so no iterator is there.
        unsafe { self.cells().shaped().release_tail() };
    }

    /// Creates a slab that is never dropped, for a static or for the whole program.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`with_capacity`](Self::with_capacity) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Key};
    ///
    /// struct Node { me: Key, parent: Key }
    ///
    /// let slab = BoundedSlab::<Node>::leak(1024);
    /// let root = slab.insert_with(|s| Node { me: s.key(), parent: Key::NONE }).unwrap();
    /// let parent = root.leak();
    /// let child = slab.insert_with(|s| Node { me: s.key(), parent }).unwrap();
    /// assert_eq!(child.get().parent, parent);
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

    /// Creates a slab that is never dropped, like [`leak`](Self::leak); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`try_with_capacity`](Self::try_with_capacity) does, or if the
    /// allocator refuses the memory of the slab itself.
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
        Ok(Block::leak(slab, &Source::GLOBAL).map_err(|(error, _slab)| error)?)
    }

    /// Inserts a value into a free slot, and returns the handle that owns it.
    ///
    /// The slot owns the value: `slab.insert(7).unwrap().key()` drops the value at the semicolon,
    /// and returns a key without a value. [`insert_key`](Self::insert_key) keeps the value.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, FullError};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8).unwrap_err(), FullError(8));
    /// # drop(slot);
    /// ```
    #[inline]
    #[doc(alias("emplace", "push", "alloc", "try_insert"))]
    pub fn insert(&self, value: T) -> Result<Slot<T>, FullError<T>> {
        self.try_insert(value)
    }

    /// Inserts a value into a free slot, and returns its key.
    ///
    /// The slab owns the value until it is removed by key, turned back into a [`Slot`] by
    /// [`slot`](Self::slot), or dropped with the slab. This is [`insert`](Self::insert) followed by
    /// [`Slot::leak`].
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, FullError};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let key = slab.insert_key(7).unwrap();
    /// assert_eq!(slab.insert_key(8), Err(FullError(8)));
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    #[inline]
    #[doc(alias = "add")]
    pub fn insert_key(&self, value: T) -> Result<Key, FullError<T>> {
        self.try_insert_key(value)
    }

    /// Inserts a value that `f` builds from the key and the address of its slot.
    ///
    /// The slot is reserved while `f` runs, and `f` may use the slab. If `f` panics, the slot is
    /// freed.
    ///
    /// # Complexity
    ///
    /// O(1), and the time of `f`; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free; `f` is not called then.
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
    #[doc(alias("insert_with_key", "emplace_with"))]
    pub fn insert_with<F>(&self, f: F) -> Result<Slot<T>, AllocError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        self.try_insert_with(f)
    }

    /// Reserves a slot, to be filled later.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error if no slot is free.
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
    #[doc(alias("vacant_entry", "claim"))]
    pub fn vacant_slot(&self) -> Result<VacantSlot<T>, AllocError> {
        self.try_vacant_slot()
    }
}
