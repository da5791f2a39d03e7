//! `Slab`: grows by chunks, and never moves its values.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::key::Key;
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::slab::cell::CellPtr;
#[cfg(feature = "std")]
use crate::slab::growth::ahead::Ahead;
use crate::slab::growth::growable_header::GrowableHeader;
use crate::slab::growth::table::Chunks;
use crate::slab::header::{self, SlabHeader};
use crate::slab::holder::Popped;
use crate::slab::shape::Shape;
use crate::slab::slot::{Slot, VacantSlot};
use crate::slab::{Memory, TrackedSlab};

/// A slab that grows by chunks: no value is ever copied or moved.
///
/// If no slot is free, an insertion adds a chunk, of 4,096 slots or fewer unless the
/// [builder](Self::builder) says otherwise. If it cannot, [`insert`](Self::insert) panics or
/// aborts, as `Vec` does, and [`try_insert`](Self::try_insert) returns the value. If the allocator
/// refuses the first chunk, and no option has set its size, all chunks are a quarter as large, or
/// less, down to the smallest that [`chunk_capacity`](crate::Builder::chunk_capacity) permits.
/// Chunks are kept until [`shrink_to_fit`](Self::shrink_to_fit). All other methods are documented
/// on [`TrackedSlab`]. Slots are reused last in, first out, also across chunks.
///
/// A slot takes the size of a value (at least 4 bytes) and 8 bytes for its key and its state,
/// rounded up to the value's alignment (at least 4 bytes), and 8 to 16 bytes of the free stack.
///
/// # What growth costs an insertion
///
/// The system provides memory page by page, when it is first touched. With the default settings and
/// values of up to 64 bytes, one insertion in 1,366 touches the memory of the next slots, up to
/// 100 KiB (values of up to 40 bytes: one in 2,048). So the other insertions do not fault, and the
/// slowest insertion of a thousand does not wait for the system. With larger values, each insertion
/// that reaches a new page waits for that page alone.
///
/// Other settings spare more insertions. The table shows the time of an insertion when a program
/// that had been running for some time inserts two million values of 8 bytes (in parentheses: 64
/// bytes). The `slab` crate takes 1.6 µs (2.1) at p99.9, 4.1 µs (4.2) at p99.99, and 8.5 ms (9.4)
/// for the longest insertion.
///
/// | setting | p99.9 | p99.99 | the longest |
/// |---|---|---|---|
/// | default, values of up to 64 bytes | 30 ns (80): no wait | 16 µs (37): touches up to 100 KiB | 75 µs (85): also adds a chunk |
/// | [`touch_ahead(0)`](crate::Builder::touch_ahead), or larger values | 2.0 µs (2.1): a page fault | 4.6 µs (4.9): a page fault, or adds a chunk | 42 µs (54): adds a chunk |
/// | [`spare_chunks(8)`](crate::Builder::spare_chunks) | 80 ns (90): no wait | 0.7 µs (0.7): takes a spare chunk, while the thread keeps up | 44 µs (59): adds a chunk itself |
/// | [`prepare`](Slab::prepare) in idle moments, [`reserve`](Slab::reserve) at the start; [`BoundedSlab`](crate::BoundedSlab) | 20 ns (30): no wait | 0.3 µs (0.4): no wait | 66 µs (71): the machine; the slab does not wait within the prepared number |
/// | [`pages`](crate::Builder::pages) of the system | no wait | adds a populated chunk | asks the system for more chunks |
///
/// p99.9 and p99.99 are medians of five runs; the longest insertion is the lowest of the five.
/// Measured on an AMD EPYC (family 25, model 17). BENCHMARKS.md, "Growth", has the table that
/// `cargo bench --bench growth` prints.
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
pub type Slab<T> = TrackedSlab<T, Growable>;

/// The memory of a [`Slab`]: chunks of equal size, with one free stack for all of them.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Growable {
    pub(super) header: Cell<NonNull<SlabHeader>>,
    pub(super) chunks: Cell<Chunks>,
    /// Number of walks that have begun and not ended. No chunk is freed while there is one. 64
    /// bits on every target, so that forgotten walks never make it overflow.
    pub(super) walks: Cell<u64>,
    /// The binary logarithm of the slots of a chunk. It decreases only while there is no chunk.
    pub(super) shift: Cell<u32>,
    /// Whether no option has set the size of a chunk, so that it [may
    /// decrease](Growable::take_smaller_chunks).
    pub(super) is_any_size: bool,
    /// Number of slots whose memory is touched at once.
    pub(super) touch_ahead: usize,
    /// Number of insertions that had to build a chunk.
    pub(super) stalls: Cell<usize>,
    /// Number of insertions for which there was no memory.
    pub(super) refusals: Cell<u64>,
    #[cfg(feature = "std")]
    pub(super) ahead: Option<Ahead>,
    /// Where all memory comes from.
    pub(super) source: Source,
}

impl Growable {
    /// Has no memory yet; its chunks will have `1 << shift` slots.
    const fn new(shift: u32, is_any_size: bool, touch_ahead: usize, source: Source) -> Self {
        Growable {
            header: Cell::new(header::unallocated()),
            chunks: Cell::new(Chunks::NONE),
            walks: Cell::new(0),
            shift: Cell::new(shift),
            is_any_size,
            touch_ahead,
            stalls: Cell::new(0),
            refusals: Cell::new(0),
            #[cfg(feature = "std")]
            ahead: None,
            source,
        }
    }
}

// SAFETY: the header is made once and kept by the slab, and a key below the bound
// names a cell of one of its chunks (`table-entries`), all built and stamped.
unsafe impl Memory for Growable {
    const NAME: &'static str = "Slab";

    #[inline]
    fn header(&self) -> NonNull<SlabHeader> {
        self.header.get()
    }

    #[inline]
    fn bound(&self) -> usize {
        self.chunks.get().bound
    }

    fn unstamped(&self) -> usize {
        self.chunks.get().unstamped
    }

    #[inline]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T> {
        // SAFETY: the key is below the bound (precondition), which is that of the chunks
        // that the header has now.
        unsafe { self.chunks.get().cell(key) }
    }

    unsafe fn cell_of(&self, shape: &Shape, key: Key) -> NonNull<u8> {
        let grain = self.body().expect("a cell has a header").grain();
        // SAFETY: as in `cell`.
        unsafe { (self.chunks.get()).start(key, grain, shape.layout.size()) }
    }

    #[inline]
    fn row_end(&self, key: Key) -> usize {
        // SAFETY: made by `growable_header`, and allocated while the slab lives.
        let body = unsafe { self.header.get().cast::<GrowableHeader>().as_ref() };
        body.row_end(key.index())
    }

    #[cfg(any(test, fuzzing))]
    fn unfilled(&self) -> usize {
        self.body().map_or(0, GrowableHeader::unfilled)
    }

    #[inline]
    fn begin_walk(&self) {
        self.walks.set(self.walks.get() + 1);
    }

    #[inline]
    unsafe fn end_walk(&self) {
        self.walks.set(self.walks.get() - 1);
    }

    #[inline]
    unsafe fn claim_when_empty<T>(&self) -> Result<Popped<T>, Option<AllocError>> {
        // SAFETY: the memory was made for cells of `T` (precondition).
        unsafe { self.try_claim_by_growing() }.map_err(Some)
    }

    fn memory(&self) -> Report {
        Report::new(Memory::bytes(self), &self.source)
    }

    fn bytes(&self) -> usize {
        self.bytes_of_blocks()
    }

    fn refusals(&self) -> u64 {
        self.refusals.get()
    }

    fn growths(&self) -> Option<u64> {
        Some(self.chunks_added())
    }
}

impl<T> TrackedSlab<T, Growable> {
    /// The binary logarithm of the slots of a chunk by default: 4096 slots, or fewer if these would
    /// take more than 288 KiB, the size of 4096 values of 64 bytes with their stamps.
    pub(super) const DEFAULT_SHIFT: u32 = {
        let fitting = (288 << 10) / CellPtr::<T>::SIZE;
        if fitting >= 4096 {
            12
        } else if fitting >= 1 {
            fitting.ilog2()
        } else {
            0
        }
    };

    /// The number of slots whose memory is touched at once by default: half of a chunk, so that two
    /// insertions of 4,096 touch memory, or a third. A quarter (1,024) is too little: an insertion
    /// that touches memory also slows the next ones down, and they would be more than one in a
    /// thousand.
    ///
    /// 0 if a third of a chunk is more than 100 KiB: touching more would show at p99.99.
    pub(super) const TOUCH_AHEAD: usize = {
        let (half, third) = (4096_usize / 2, 4096_usize.div_ceil(3));
        let most = (100 << 10) / CellPtr::<T>::SIZE;
        if half <= most {
            half
        } else if third <= most {
            third
        } else {
            0
        }
    };

    /// Creates an empty slab. It allocates at the first insertion.
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
        Self::with_options(Self::DEFAULT_SHIFT, true, Self::TOUCH_AHEAD, Source::GLOBAL)
    }

    /// Creates a slab with room for at least `capacity` values, in whole chunks, allocated and
    /// touched.
    ///
    /// # Complexity
    ///
    /// O(capacity).
    ///
    /// # Panics
    ///
    /// Panics if that is 2^30 slots or more, or their bytes exceed `isize::MAX`. If the allocator
    /// refuses, the program aborts, as with `Vec`.
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

    /// Creates a slab with room for at least `capacity` values, like
    /// [`with_capacity`](Self::with_capacity); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`with_capacity`](Self::with_capacity) panics, or if the allocator
    /// refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(flatslab::Slab::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        let slab = Self::new();
        slab.try_reserve(capacity)?;
        Ok(slab)
    }

    pub(crate) const fn with_options(
        shift: u32,
        is_any_size: bool,
        touch_ahead: usize,
        source: Source,
    ) -> Self {
        // SAFETY: no cell yet, and `T` decides what the chunks are made for.
        unsafe { Self::new_in(Growable::new(shift, is_any_size, touch_ahead, source)) }
    }

    /// Inserts a value into a free slot, and returns the handle that owns it.
    ///
    /// The slot owns the value: `slab.insert(7).key()` drops the value at the semicolon, and
    /// returns a key without a value. [`insert_key`](Self::insert_key) keeps the value.
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, it allocates a chunk.
    ///
    /// # Panics
    ///
    /// Panics if the slab would exceed the limit of keys, 2^30 slots. If the allocator refuses, the
    /// program aborts, as with `Vec`. [`try_insert`](Self::try_insert) returns the value instead.
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
    #[doc(alias("emplace", "push", "alloc"))]
    pub fn insert(&self, value: T) -> Slot<T> {
        Slot::fill(self.claim_or_grow(), value)
    }

    /// Inserts a value into a free slot, and returns its key.
    ///
    /// The slab owns the value until it is removed by key, turned back into a [`Slot`] by
    /// [`slot`](Self::slot), or dropped with the slab. This is [`insert`](Self::insert) followed by
    /// [`Slot::leak`].
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, it allocates a chunk.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does.
    /// [`try_insert_key`](Self::try_insert_key) returns the value instead.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let key = slab.insert_key(7);
    /// assert_eq!(*slab.get(key).unwrap(), 7);
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "add")]
    pub fn insert_key(&self, value: T) -> Key {
        self.insert(value).leak()
    }

    /// Inserts a value that `f` builds from the key and the address of its slot.
    ///
    /// The slot is reserved while `f` runs, and `f` may use the slab. If `f` panics, the slot is
    /// freed.
    ///
    /// # Complexity
    ///
    /// O(1), and the time of `f`. If no slot is free, it allocates a chunk.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does, before `f` is called.
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
    #[doc(alias("insert_with_key", "emplace_with"))]
    pub fn insert_with<F>(&self, f: F) -> Slot<T>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        let vacant = self.vacant_slot();
        let value = f(&vacant);
        vacant.insert(value)
    }

    /// Reserves a slot, to be filled later.
    ///
    /// # Complexity
    ///
    /// O(1). If no slot is free, it allocates a chunk.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`insert`](Self::insert) does.
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
    #[doc(alias("vacant_entry", "claim"))]
    pub fn vacant_slot(&self) -> VacantSlot<T> {
        VacantSlot::hold(self.claim_or_grow())
    }

    /// Returns the number of chunks. O(1).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::<u64>::builder().chunk_capacity(2048).reserve(5000).build();
    /// assert_eq!(slab.chunks(), 3);
    /// ```
    #[inline]
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.capacity() >> self.memory.shift.get()
    }

    #[inline]
    #[track_caller]
    fn claim_or_grow(&self) -> Popped<T> {
        match self.cells().claim() {
            Some(popped) => popped,
            None => self.claim_by_growing(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn claim_by_growing(&self) -> Popped<T> {
        // SAFETY: the memory was made for cells of `T`.
        match unsafe { self.memory.try_claim_by_growing() } {
            Ok(popped) => popped,
            Err(error) => memory::fail(error),
        }
    }
}

impl<T> Default for TrackedSlab<T, Growable> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn insertions_into_reserved_memory_find_all_of_it_on_the_stack() {
        let slab = Slab::<u64>::builder().chunk_capacity(8).reserve(50).build();
        let header = slab.cells().header();
        assert_eq!((header.fresh(), header.stack.depth()), (0, 56));
    }

    /// No insertion pays for those after it.
    #[test]
    #[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
    fn an_insertion_stamps_its_own_cell_alone() {
        let slab = Slab::<u64>::builder().chunk_capacity(64).build();
        for inserted in 1..=200 {
            slab.insert_key(7);
            let stamped = slab.cells().bound();
            assert_eq!(
                (stamped, slab.cells().header().stack.depth()),
                (inserted, 0)
            );
        }
        slab.check();
    }

    /// A chunk that fills a hole is no different.
    #[test]
    fn an_insertion_into_a_hole_stamps_its_own_cell_alone() {
        const SLOTS: usize = if cfg!(miri) { 4 } else { 64 };
        let slab = Slab::<u64>::builder()
            .chunk_capacity(SLOTS)
            .touch_ahead(0)
            .build();
        let keys: Vec<_> = (0..5 * SLOTS as u64)
            .map(|it| slab.insert_key(it))
            .collect();
        for key in &keys[SLOTS..4 * SLOTS] {
            slab.remove_by_key(*key);
        }
        slab.shrink_to_fit();
        assert_eq!((slab.chunks(), slab.capacity()), (2, 2 * SLOTS));
        let keyed = |keys: &[Key]| {
            let cells = keys.iter().map(|key| slab.cells().get(*key).unwrap());
            cells.filter(|cell| cell.key().is_some()).count()
        };
        for inserted in 1..=3 * SLOTS {
            // A grain is one slot in these tests.
            assert_eq!(slab.insert_key(0), keys[SLOTS + inserted - 1]);
            assert_eq!(keyed(&keys[SLOTS..4 * SLOTS]), inserted);
            slab.check();
            let values = slab.iter().count();
            assert_eq!((values, slab.len()), (2 * SLOTS + inserted, values));
        }
        assert_eq!(slab.growth_stalls(), 5 + 3);
    }

    #[test]
    fn a_walk_goes_on_where_a_hole_is_filled_beside_it() {
        const SLOTS: usize = 4;
        let slab = Slab::<u64>::builder()
            .chunk_capacity(SLOTS)
            .touch_ahead(0)
            .build();
        let keys: Vec<_> = (0..4 * SLOTS as u64)
            .map(|it| slab.insert_key(it))
            .collect();
        for key in &keys[SLOTS..3 * SLOTS] {
            slab.remove_by_key(*key);
        }
        slab.shrink_to_fit();
        // Each insertion is one grain further, before and behind the walk.
        let mut seen = Vec::new();
        for (key, value) in slab.iter() {
            assert_eq!(key.index() as u64, *value);
            seen.push(*value);
            if seen.len() <= 2 * SLOTS {
                let added = slab.insert_with(|vacant| vacant.key().index() as u64);
                assert_eq!(added.leak(), keys[SLOTS + seen.len() - 1]);
            }
            slab.check();
        }
        let all: Vec<u64> = (0..4 * SLOTS as u64).collect();
        assert_eq!(seen, all);
    }

    /// The keys where stretches begin, and the end of the last one.
    fn stretches<T: Default>(slab: &Slab<T>, insertions: usize) -> Vec<usize> {
        let mut ends = Vec::new();
        for _ in 0..insertions {
            slab.insert_key(T::default());
            let body = slab.memory.header.get().cast::<GrowableHeader>();
            // SAFETY: an insertion has made the header, which stays until the slab is dropped.
            let ready_to = unsafe { body.as_ref() }.ready_to();
            if ends.last() != Some(&ready_to) {
                ends.push(ready_to);
            }
        }
        slab.check();
        ends
    }

    #[test]
    #[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
    fn a_stretch_doubles_up_to_its_length_and_never_crosses_a_chunk() {
        // Cells of 16 bytes, 256 to a page.
        let slab = Slab::<u64>::builder()
            .chunk_capacity(1024)
            .touch_ahead(600)
            .build();
        let expected = [256, 512, 1024, 1624, 2048, 2648, 3072];
        assert_eq!(stretches(&slab, 3072), expected);
        let slab = Slab::<u64>::builder()
            .chunk_capacity(1024)
            .touch_ahead(0)
            .build();
        assert_eq!(stretches(&slab, 3072), [1024, 2048, 3072]);
        let slab = Slab::<u64>::builder()
            .chunk_capacity(64)
            .touch_ahead(600)
            .build();
        assert_eq!(stretches(&slab, 256), [64, 128, 192, 256]);
        // Nothing is touched of what is reserved, or built ahead.
        let slab = Slab::<u64>::builder()
            .chunk_capacity(1024)
            .reserve(1)
            .build();
        assert_eq!(stretches(&slab, 1024), [0]);
        let usual = Slab::<u64>::new();
        let halves = [4096, 6144, 8192, 10240, 12288];
        assert!(stretches(&usual, 12288).ends_with(&halves));
        let wide = Slab::<[u64; 8]>::new();
        let thirds = [4096, 5462, 6828, 8192, 9558, 10924, 12288];
        assert!(stretches(&wide, 12288).ends_with(&thirds));
    }

    #[test]
    #[cfg(all(feature = "os-memory", target_os = "linux"))]
    #[cfg_attr(miri, ignore = "asks the system for pages")]
    fn memory_that_comes_with_its_pages_is_not_touched() {
        let pages = crate::memory::Pages::new().huge(crate::memory::HugePages::Try);
        let slab = Slab::<u64>::builder()
            .chunk_capacity(1024)
            .touch_ahead(300)
            .pages(pages)
            .build();
        assert_eq!(stretches(&slab, 3072), [1024, 2048, 3072]);
    }

    #[test]
    fn values_whose_stretch_would_be_long_are_touched_page_by_page() {
        assert_eq!(Slab::<u64>::TOUCH_AHEAD, 2048);
        assert_eq!(Slab::<[u32; 10]>::TOUCH_AHEAD, 2048);
        assert_eq!(Slab::<[u64; 6]>::TOUCH_AHEAD, 1366);
        assert_eq!(Slab::<[u64; 8]>::TOUCH_AHEAD, 1366);
        assert_eq!(Slab::<[u64; 9]>::TOUCH_AHEAD, 0);
        assert_eq!(Slab::<[u64; 8]>::DEFAULT_SHIFT, 12);
        // A stretch is more than a thousand insertions wherever there is one.
        const { assert!(Slab::<u8>::TOUCH_AHEAD > 1000) };
    }
}
