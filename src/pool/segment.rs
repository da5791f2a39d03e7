//! Segments: cells in memory that is aligned to a power of two, so that the
//! address of a cell leads to the header of its segment by a mask.
//!
//! So the owner of a cell is a bare pointer to it, and a cell has not one byte of
//! metadata: one header serves all the cells of a segment.
//!
//! # Tried
//!
//! The size of a segment, in multiples of the time of a box of 16 bytes that holds the home
//! (a prototype; values of 64 bytes; Intel Xeon, medians of three runs). With *lines*, each
//! header is repeated, and bits of the segment's address choose one: three instructions more
//! in every free.
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
//! * N1: cell `index` lies at [`offset`](Places::offset) from the first segment,
//!   which is aligned to `segment`; it does not reach into the next segment.
//! * N2: before a cell of a segment is used, the first word of the segment holds a
//!   pointer, the same in all of them.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::home::{Places, refill_of};
use crate::error::AllocError;

/// Bytes of a segment, unless its cells need more.
///
/// All headers lie in the same set of the first level of cache, so there should be
/// few of them (see the table above). Less where addresses are few; and where tests are
/// interpreted, so that cells come to several segments.
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

/// What the first word of a segment is.
type Word = NonNull<u8>;

/// Where cells of one layout lie. Made in a `const`, so that a mask is an
/// immediate of the instruction.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Bytes from one cell to the next.
    cell: usize,
    /// Bytes of a segment and its alignment.
    segment: usize,
    /// Where its first cell lies.
    header: usize,
    /// How many cells it has.
    cells: usize,
}

impl Geometry {
    /// Segments with a header of at least that size, of which only the first word is
    /// used here; the first cell begins on a cache line, so cells of a line or a power of
    /// two lie in no more lines than they need. The size of `cell` is a multiple of its
    /// alignment, and not 0.
    pub(crate) const fn new(cell: Layout, header: Layout) -> Self {
        let (size, align) = (cell.size(), cell.align());
        assert!(size > 0 && size % align == 0);
        assert!(header.size() >= size_of::<Word>() && header.align() <= LINE);
        let header = header
            .size()
            .next_multiple_of(if align > LINE { align } else { LINE });
        let least = match size.checked_mul(LEAST_CELLS) {
            Some(bytes) => bytes.checked_add(header),
            None => None,
        };
        let segment = match least {
            Some(bytes) => bytes.checked_next_power_of_two(),
            None => None,
        };
        // Of larger cells there is no memory for eight, and so for one pool: its
        // layout is refused.
        let segment = match segment {
            Some(bytes) if bytes > LEAST_SEGMENT => bytes,
            Some(_) => LEAST_SEGMENT,
            None => 1 << (usize::BITS - 1),
        };
        // There may be no room for one such cell. It counts, so that it is refused for
        // its bytes.
        let cells = match (segment - header) / size {
            0 => 1,
            cells => cells,
        };
        Geometry {
            cell: size,
            segment,
            header,
            cells,
        }
    }

    /// Bytes from one cell to the next.
    pub(crate) const fn cell(&self) -> usize {
        self.cell
    }

    /// The memory of `capacity` cells: whole segments, the last one only as long as
    /// needed. The header of the first one is always there.
    ///
    /// # Errors
    ///
    /// When its bytes exceed `isize::MAX`.
    pub(crate) fn layout(&self, capacity: usize) -> Result<Layout, AllocError> {
        let error = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: self.cell,
        };
        // No cell has to lead to the header.
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

    /// Writes the first word of the segments in which a cell of `first..end` is the first
    /// of all.
    ///
    /// # Safety
    ///
    /// `start` is that of memory laid out for `end` cells (N1), whose headers no one
    /// else uses.
    pub(crate) unsafe fn write_headers(
        &self,
        start: NonNull<u8>,
        first: usize,
        end: usize,
        word: Word,
    ) {
        for segment in first.div_ceil(self.cells)..end.div_ceil(self.cells) {
            // SAFETY: the first cell of the segment is within that memory, so its header
            // is, and is aligned (N1).
            unsafe {
                let header = start.add(segment * self.segment);
                header.cast::<Word>().write(word);
            }
        }
    }

    /// The first word of a cell's segment.
    ///
    /// # Safety
    ///
    /// The cell is one of such segments, whose headers are written (N2), and has the
    /// provenance of their memory.
    #[inline(always)]
    pub(crate) unsafe fn header_of(&self, cell: NonNull<u8>) -> Word {
        let header = cell
            .as_ptr()
            .map_addr(|address| address & !(self.segment - 1));
        // SAFETY: the segment begins there (N1) with a pointer (N2).
        unsafe { header.cast::<Word>().read() }
    }
}

impl Places for Geometry {
    fn refill(&self) -> usize {
        refill_of(self.cell)
    }

    fn offset(&self, index: usize) -> usize {
        (index / self.cells) * self.segment + self.header + index % self.cells * self.cell
    }

    #[cfg(any(test, fuzzing))]
    fn index(&self, offset: usize) -> Option<usize> {
        let (before, within) = (offset / self.segment, offset % self.segment);
        let at = within.checked_sub(self.header)?;
        let index = before * self.cells + at / self.cell;
        (at % self.cell == 0 && self.offset(index) == offset).then_some(index)
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
            // About the beginning and the end of the first segments.
            let mut end = 0;
            for segment in 0..3 {
                let first = segment * geometry.cells;
                for index in
                    (first..first + 4).chain(first + geometry.cells - 4..first + geometry.cells)
                {
                    let offset = geometry.offset(index);
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
            // No power of two has room for it: that was a division by zero.
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
            geometry.write_headers(block.start(), 0, 1, word);
            geometry.write_headers(block.start(), 1, cells, word);
            for index in [0, 1, geometry.cells - 1, geometry.cells, cells - 1] {
                let cell = block.start().add(geometry.offset(index));
                assert_eq!(geometry.header_of(cell), word);
            }
        }
    }
}
