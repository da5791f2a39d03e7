//! `Heap`: cells in segments of memory that the pool allocates, and a list of the free ones outside
//! of the cells.
//!
//! Segments are aligned to their size, a power of two. A mask turns the address of a cell into the
//! start of its segment, and the first word there points to the pool's [`Body`]. So the owner of a
//! cell is a bare pointer to it, and a cell has no metadata at all.
//!
//! ```text
//! segment 0: | pointer to the body | body | cell | cell | ... |
//! segment 1: | pointer to the body |      | cell | cell | ... |
//! ```
//!
//! # Tried
//!
//! The size of a segment. Times are relative to a box of 16 bytes that points to its pool (a
//! prototype with values of 64 bytes; Intel Xeon, medians of three runs). With *lines*, each header
//! is repeated, and bits of the segment's address choose one: three more instructions in every
//! free.
//!
//! | | 64 KiB | 256 KiB | 1 MiB | 2 MiB | 2 MiB, 64 lines | a header a page |
//! |---|---|---|---|---|---|---|
//! | FREE random, 8,192 live | 1.14 | 1.07 | 1.05 | 1.05 | 1.18 | 1.59 |
//! | CHURN LIFO of 8 bytes, 8,192 | 1.17 | 1.17 | 1.17 | 1.28 | 1.37 | 1.25 |
//! | FREE random, 1,048,576 | 5.24 | 2.50 | 1.56 | 1.45 | 1.30 | 12.1 |
//! | the same in huge pages | 5.18 | 4.74 | 3.32 | 2.55 | 1.25 | 8.42 |
//! | REMOVE random, 1,048,576 | 1.12 | 1.07 | .97 | 1.01 | 1.00 | 1.41 |
//!
//! The worst case of 2 MiB, a free at random in huge pages, takes 6.6 ns; a removal, which
//! also reads the value, takes 35 ns.
//!
//! # Invariants
//!
//! With those of `memory.rs`:
//!
//! * `segment-place`: cell `index` lies at [`place`](Geometry::place) from the first segment, which
//!   is aligned to the size of a segment; it does not reach into the next segment.
//! * `segment-word`: before a cell of a segment is first free, the first word of the segment points
//!   to the body, which is valid as long as the memory.
//! * `list-room`: the list has room for every cell that is not fresh.

use core::alloc::Layout;
use core::mem::offset_of;
use core::ptr::NonNull;

use super::memory::{Fresh, PoolMemory, refill_of};
use crate::error::AllocError;
use crate::raw::memory::{Block, LazyBlock};
use crate::raw::report::Report;
use crate::raw::source::Source;
use crate::raw::stack::{FreeStack, Lowered};

/// The memory of a pool on the heap, with a free list of 8 bytes a cell outside of the cells. Boxes
/// have 8 bytes.
// Untyped, so that dropping it does not involve the values' type: values may own boxes of their own
// pool.
#[derive(Debug)]
pub struct Heap {
    body: NonNull<Body>,
}

// SAFETY: other code only uses it as a marker: only its pool has a value of it or a reference to
// one, and a pool's own impls say which threads may have the pool.
unsafe impl Send for Heap {}
// SAFETY: as for `Send`: whether threads may share a pool is said by the pool's own impls.
unsafe impl Sync for Heap {}

impl core::panic::UnwindSafe for Heap {}
impl core::panic::RefUnwindSafe for Heap {}

// SAFETY: cells become free in `fill_up_to` alone, once each, when their memory is committed and
// the words of their segments are written (`segment-word`); a stack keeps what is pushed.
unsafe impl PoolMemory for Heap {
    type Way = ();
    type Rest = Lowered;

    #[inline]
    fn way(&self) {}

    #[inline]
    fn fresh(&self) -> &Fresh {
        &self.body().fresh
    }

    #[inline]
    fn free_cells(&self) -> usize {
        self.body().free.depth()
    }

    fn bytes(&self) -> usize {
        let body = self.body();
        body.block.bytes() + body.free.array_bytes()
    }

    #[inline]
    fn look(&self) -> Option<(NonNull<u8>, Lowered)> {
        self.body().free.look()
    }

    #[inline]
    unsafe fn take(&self, rest: Lowered) {
        // SAFETY: `rest` is what `look` returned, and the stack has not changed since
        // (precondition).
        unsafe { self.body().free.lower(rest) };
    }

    #[inline]
    unsafe fn free(cell: NonNull<u8>, value: Layout, (): ()) {
        // SAFETY: a taken cell of such a memory (precondition), so the word of its segment points
        // to the body (`segment-word`), whose list has room for it (`list-room`). The segment has
        // the size that the pool computed from the same layout. The cell is not on the list, and
        // the caller gives it up (`cell-owner`).
        unsafe {
            let body = word_of(cell, segment_of(value));
            let body = body.cast::<Body>().as_ref();
            body.fresh.note_peak(|| body.free.depth());
            body.free.push(cell);
        }
    }

    fn refill(&self) -> Result<(), Option<AllocError>> {
        let body = self.body();
        let next = body.fresh.first(refill_of(body.geometry.cell));
        if next.is_empty() {
            return Err(None);
        }
        body.commit(next.end)?;
        // SAFETY: `commit` has committed the cells below `next.end`.
        unsafe { self.fill_up_to(next.end) };
        Ok(())
    }

    fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        let body = self.body();
        let fresh = body.fresh.first(cells.saturating_sub(body.free.depth()));
        if fresh.is_empty() {
            return Ok(());
        }
        body.commit(fresh.end)?;
        let bytes = body.geometry.place(fresh.start)..body.geometry.end(fresh.end);
        body.block.populate(bytes)?;
        body.free.touch();
        body.free.populate(0, body.free.capacity())
    }

    unsafe fn reset(&mut self) {
        let body = self.body();
        body.free.clear();
        body.fresh.reset();
        if !body.lazy {
            // SAFETY: all memory was allocated at the start.
            unsafe { self.fill_up_to(body.fresh.capacity()) };
        }
    }

    #[cfg(any(test, fuzzing))]
    fn for_each_free(&self, mut f: impl FnMut(usize)) {
        let body = self.body();
        for cell in body.free.entries().flatten() {
            let offset = cell.addr().get() - body.fresh.start().addr().get();
            f(body.geometry.index(offset).expect("a free cell is one"));
        }
    }
}

impl Heap {
    /// Allocates memory for `capacity` cells for a `T`, touched and free, or only reserved if
    /// `lazy`.
    ///
    /// # Errors
    ///
    /// If the sizes exceed the limits, or the source refuses; nothing is leaked then.
    pub(super) fn try_new<T>(
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        Self::try_new_with(const { Geometry::of::<T>() }, capacity, lazy, source)
    }

    fn try_new_with(
        geometry: Geometry,
        capacity: usize,
        lazy: bool,
        source: &Source,
    ) -> Result<Self, AllocError> {
        let layout = geometry.layout(capacity)?;
        let block = if lazy {
            LazyBlock::reserve(layout, size_of::<Header>(), source)?
        } else {
            let block = Block::allocate(layout, source)?;
            block.touch();
            LazyBlock::whole(block)
        };
        let free = free_list(capacity, lazy, source)?;
        let start = block.start();
        let body = Body {
            free,
            fresh: Fresh::new(capacity, start),
            geometry,
            block,
            lazy,
        };
        // SAFETY: there is room for a header before the first cell; it is committed, and aligned
        // like the segment. Only cells and the first words of segments are written otherwise.
        // Unless the pool is lazy, all cells and the whole list were allocated.
        unsafe {
            let place = start.add(offset_of!(Header, body)).cast::<Body>();
            place.write(body);
            let heap = Heap { body: place };
            if !lazy {
                heap.fill_up_to(capacity);
            }
            Ok(heap)
        }
    }

    #[inline]
    fn body(&self) -> &Body {
        // SAFETY: written in `try_new_with`, and valid until the drop.
        unsafe { self.body.as_ref() }
    }

    /// Puts the fresh cells up to `end` on the list.
    ///
    /// # Safety
    ///
    /// `end` is from the number of used cells to the capacity; the memory of these cells and of
    /// their places on the list is committed.
    unsafe fn fill_up_to(&self, end: usize) {
        let body = self.body();
        let (fresh, geometry) = (&body.fresh, body.geometry);
        // SAFETY: the cells, their segments and room on the list are committed (precondition). Each
        // was fresh, so it is neither on the list nor taken (`cell-states`).
        unsafe {
            geometry.write_words(fresh.start(), fresh.used(), end, self.body.cast());
            let push = |cell| body.free.push(cell);
            fresh.push_up_to(end, |index| geometry.place(index), push);
        }
    }

    /// Reports on this memory and `more` bytes.
    pub(super) fn report(&self, more: usize) -> Report {
        Report::new(self.bytes() + more, self.body().block.source())
    }
}

/// Frees the memory; values that were forgotten in it are not dropped.
impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: written in `try_new_with`, and not used again: boxes borrow the pool, so there is
        // none. The body is moved out, and its drop frees the memory that it lay in.
        drop(unsafe { self.body.read() });
    }
}

/// The start of a segment: a pointer to the body. In the first segment the body follows it, on the
/// same cache line, so that a free in a small pool touches one line.
#[repr(C)]
struct Header {
    word: NonNull<u8>,
    body: Body,
}

/// What a pool and its boxes share.
#[repr(C)]
struct Body {
    /// First, so that a pointer to the body is also one to the top of the list.
    free: FreeStack,
    fresh: Fresh,
    geometry: Geometry,
    /// The cells, and this.
    block: LazyBlock,
    lazy: bool,
}

impl Body {
    /// Commits the memory of the fresh cells up to `end`, not 0.
    ///
    /// # Errors
    ///
    /// If the source refuses; nothing is lost then.
    fn commit(&self, end: usize) -> Result<(), AllocError> {
        self.block.commit(self.geometry.end(end))?;
        self.free.commit_ahead(end)
    }
}

/// A free list for `capacity` cells, with its memory only reserved if `lazy`.
///
/// # Errors
///
/// If the source refuses.
pub(super) fn free_list(
    capacity: usize,
    lazy: bool,
    source: &Source,
) -> Result<FreeStack, AllocError> {
    if lazy {
        FreeStack::try_reserve(capacity, source)
    } else {
        FreeStack::try_new(capacity, source)
    }
}

/// Bytes of a segment, unless its cells need more.
///
/// All headers fall into the same set of the first-level cache, so there should be few of them (see
/// the table above). Segments are smaller where addresses are scarce, and under an interpreter, so
/// that its tests have several segments.
const LEAST_SEGMENT: usize = if cfg!(miri) {
    1 << 10
} else if cfg!(target_pointer_width = "64") {
    1 << 21
} else {
    1 << 16
};

/// Bytes of a cache line.
const LINE: usize = 64;

/// The least number of cells of a segment.
const LEAST_CELLS: usize = 8;

/// What the first word of a segment is: a pointer to the body.
type Word = NonNull<u8>;

/// Bytes of a cell for a value of this layout, the size of which is a multiple of its alignment:
/// room for the value, and for one byte at least.
#[inline]
const fn cell_of(value: Layout) -> usize {
    match value.size() {
        0 => value.align(),
        size => size,
    }
}

/// A cell of 64 bytes is one cache line.
const _: () = assert!(cell_of(Layout::new::<[u64; 8]>()) == 64);

/// Bytes before the first cell of a segment, if the header has this size. The first cell begins on
/// a cache line, so a cell whose size is a cache line or a power of two lies in no more lines than
/// it needs.
#[inline]
const fn before_cells(header: usize, align: usize) -> usize {
    let align = if align > LINE { align } else { LINE };
    // Alignments are powers of two. `next_multiple_of` would divide.
    (header + align - 1) & !(align - 1)
}

/// Bytes of a segment with this many bytes before its first cell.
#[inline]
const fn segment_bytes(cell: usize, before: usize) -> usize {
    let least = match cell.checked_mul(LEAST_CELLS) {
        Some(bytes) => bytes.checked_add(before),
        None => None,
    };
    // If cells are larger, there is no memory for eight of them, and so none for a pool: its
    // layout is refused.
    match least {
        Some(bytes) if bytes <= LEAST_SEGMENT => LEAST_SEGMENT,
        Some(bytes) => match bytes.checked_next_power_of_two() {
            Some(bytes) => bytes,
            None => 1 << (usize::BITS - 1),
        },
        None => 1 << (usize::BITS - 1),
    }
}

/// Bytes of a segment of cells for a value of this layout: a constant, unless the type of the value
/// is known only at run time.
#[inline]
const fn segment_of(value: Layout) -> usize {
    segment_bytes(
        cell_of(value),
        before_cells(size_of::<Header>(), value.align()),
    )
}

/// The first word of a cell's segment, which has this many bytes.
///
/// # Safety
///
/// The cell is in a segment whose header is written (`segment-word`), and has the provenance of its
/// memory.
#[inline]
unsafe fn word_of(cell: NonNull<u8>, segment: usize) -> Word {
    let header = cell.as_ptr().map_addr(|address| address & !(segment - 1));
    // SAFETY: the segment begins there (`segment-place`) with a pointer (`segment-word`).
    unsafe { header.cast::<Word>().read() }
}

/// Where the cells of one layout lie. Computed in a `const`, so that a mask is an immediate
/// operand.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    /// Bytes from one cell to the next.
    cell: usize,
    /// Bytes of a segment and its alignment.
    segment: usize,
    /// Bytes before its first cell.
    header: usize,
    /// Number of its cells.
    cells: usize,
}

impl Geometry {
    /// The geometry of cells for a `T`.
    const fn of<T>() -> Self {
        Self::new(Layout::new::<T>(), Layout::new::<Header>())
    }

    /// The geometry of cells for a value of this layout, in segments with a header of at least this
    /// size, of which only the first word is used here.
    const fn new(value: Layout, header: Layout) -> Self {
        assert!(value.size() % value.align() == 0);
        assert!(header.size() >= size_of::<Word>() && header.align() <= LINE);
        let cell = cell_of(value);
        let header = before_cells(header.size(), value.align());
        let segment = segment_bytes(cell, header);
        // There may be no room for even one such cell. It counts as one, so that the pool is
        // refused because of its bytes.
        let cells = match (segment - header) / cell {
            0 => 1,
            cells => cells,
        };
        Geometry {
            cell,
            segment,
            header,
            cells,
        }
    }

    /// Where a cell lies, in bytes from the start. The machine code of a division by a variable may
    /// contain a panic, although this divisor is never zero; storages therefore do not divide.
    fn place(&self, index: usize) -> usize {
        (index / self.cells) * self.segment + self.header + index % self.cells * self.cell
    }

    /// The end of the cells before `index`, not 0.
    fn end(&self, index: usize) -> usize {
        self.place(index - 1) + self.cell
    }

    /// The index of the cell at this offset, if a cell begins there.
    #[cfg(any(test, fuzzing))]
    fn index(&self, offset: usize) -> Option<usize> {
        let (before, within) = (offset / self.segment, offset % self.segment);
        let at = within.checked_sub(self.header)?;
        let index = before * self.cells + at / self.cell;
        (at % self.cell == 0 && self.place(index) == offset).then_some(index)
    }

    /// The layout of `capacity` cells: whole segments, the last one only as long as needed. The
    /// header of the first segment is always part of it.
    ///
    /// # Errors
    ///
    /// If the size exceeds `isize::MAX` bytes.
    fn layout(&self, capacity: usize) -> Result<Layout, AllocError> {
        let error = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: self.cell,
        };
        // No cell needs to find the header.
        let align = if capacity == 0 { LINE } else { self.segment };
        // A last segment that is full reaches to its last cell.
        let before = capacity.saturating_sub(1) / self.cells;
        before
            .checked_mul(self.segment)
            .and_then(|bytes| bytes.checked_add(self.header))
            .and_then(|bytes| {
                bytes.checked_add((capacity - before * self.cells).checked_mul(self.cell)?)
            })
            .and_then(|bytes| Layout::from_size_align(bytes, align).ok())
            .ok_or(error)
    }

    /// Writes the first word of each segment whose first cell is in `first..end`.
    ///
    /// # Safety
    ///
    /// `start` is the start of memory laid out for `end` cells (`segment-place`), whose headers
    /// nothing else uses.
    unsafe fn write_words(&self, start: NonNull<u8>, first: usize, end: usize, word: Word) {
        for segment in first.div_ceil(self.cells)..end.div_ceil(self.cells) {
            // SAFETY: the first cell of the segment is within that memory, so its header
            // is, and is aligned (`segment-place`).
            unsafe {
                let header = start.add(segment * self.segment);
                header.cast::<Word>().write(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::memory::Block;
    use crate::raw::source::Source;

    fn geometry(size: usize, align: usize) -> Geometry {
        let cell = Layout::from_size_align(size, align).unwrap();
        Geometry::new(cell, Layout::new::<[usize; 9]>())
    }

    #[test]
    fn cells_lie_in_order_aligned_and_within_their_segments() {
        for (size, align) in [
            (1, 1),
            (8, 8),
            (12, 4),
            (64, 64),
            (72, 8),
            (4096, 4096),
            (1 << 16, 8),
            (1 << 20, 8),
        ] {
            let geometry = geometry(size, align);
            assert!(geometry.segment.is_power_of_two() && geometry.cells >= LEAST_CELLS);
            assert_eq!(geometry.layout(0).unwrap().size(), geometry.header);
            // Cells near the beginning and the end of the first segments.
            let mut end = 0;
            for segment in 0..3 {
                let first = segment * geometry.cells;
                for index in
                    (first..first + 4).chain(first + geometry.cells - 4..first + geometry.cells)
                {
                    let offset = geometry.place(index);
                    assert!(offset % align == 0 && offset >= end);
                    assert!(size % LINE != 0 || offset % LINE == 0);
                    assert_eq!(offset / geometry.segment, segment);
                    assert_eq!((offset + size - 1) / geometry.segment, segment);
                    assert!(offset % geometry.segment >= size_of::<[usize; 9]>());
                    assert_eq!(geometry.index(offset), Some(index));
                    assert!(size == 1 || geometry.index(offset + 1).is_none());
                    end = offset + size;
                    assert_eq!(geometry.layout(index + 1).unwrap().size(), end);
                }
                assert!(geometry.index((segment + 1) * geometry.segment).is_none());
            }
        }
    }

    #[test]
    fn capacity_arithmetic_does_not_wrap() {
        let half = isize::MAX as usize / 2;
        for (cell, capacity) in [
            (geometry(8, 8), usize::MAX),
            (geometry(8, 8), isize::MAX as usize / 8 + 1),
            (geometry(1 << 16, 8), usize::MAX / 2),
            (geometry(half, 1), 1),
            // No power of two has room for it, which once caused a division by zero.
            (geometry(isize::MAX as usize, 1), 1),
            (geometry(isize::MAX as usize, 1), usize::MAX),
        ] {
            assert_eq!(
                cell.layout(capacity),
                Err(AllocError::TooManyBytes {
                    slots: capacity,
                    slot_bytes: cell.cell
                })
            );
            assert_eq!(cell.layout(0).map(|layout| layout.size()), Ok(cell.header));
        }
    }

    #[test]
    fn every_cell_leads_to_the_word_of_its_segment() {
        let geometry = geometry(48, 16);
        let cells = 2 * geometry.cells + 3;
        let block = Block::allocate(geometry.layout(cells).unwrap(), &Source::GLOBAL).unwrap();
        let word = NonNull::<u64>::dangling().cast();
        // SAFETY: memory for these cells; headers are written before they are read.
        unsafe {
            geometry.write_words(block.start(), 0, 1, word);
            geometry.write_words(block.start(), 1, cells, word);
            for index in [0, 1, geometry.cells - 1, geometry.cells, cells - 1] {
                let cell = block.start().add(geometry.place(index));
                assert_eq!(word_of(cell, geometry.segment), word);
            }
        }
    }
}
