//! Segments: cells in memory that is aligned to a power of two, so that the
//! address of a cell leads to the header of its segment by a mask.
//!
//! So the owner of a cell is a bare pointer to it, and a cell has not one byte of
//! metadata: one header serves all the cells of a segment. Aligned headers would
//! share a few sets of the cache, which is why each is written in several lines,
//! and bits of the segment's address choose which of them is read
//! (DESIGN.md, "A pool without metadata").
//!
//! # Invariants
//!
//! * N1: cell `index` lies at [`offset`](Geometry::offset) from the first segment,
//!   which is aligned to `segment`; it does not reach into the next segment.
//! * N2: before a cell of a segment is used, every line of its header holds the
//!   same pointer.

use core::alloc::Layout;
use core::num::NonZero;
use core::ptr::NonNull;

use crate::error::AllocError;

/// Bytes of a segment, unless its cells need more; small where tests are
/// interpreted, so that they come to several.
const LEAST_SEGMENT: usize = if cfg!(miri) { 1 << 10 } else { 1 << 16 };

/// Lines of a header: a power of two.
const LINES: usize = if cfg!(miri) { 2 } else { 8 };

/// Bytes of a cache line.
const LINE: usize = 64;

/// A segment has room for so many cells at least.
const LEAST_CELLS: usize = 8;

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
    /// Segments with a header. The size of `cell` is a multiple of its alignment, and
    /// not 0.
    pub(crate) const fn new(cell: Layout) -> Self {
        let (size, align) = (cell.size(), cell.align());
        assert!(size > 0 && size % align == 0);
        let header = (LINES * LINE).next_multiple_of(align);
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

    /// One segment without a header, from any address that suits a cell: no cell
    /// leads to it.
    pub(crate) const fn without_header(cell: Layout) -> Self {
        Geometry {
            cell: cell.size(),
            segment: 0,
            header: 0,
            cells: usize::MAX,
        }
    }

    /// Bytes from one cell to the next.
    pub(crate) const fn cell(&self) -> usize {
        self.cell
    }

    /// The memory of so many cells: whole segments, the last one only as long as
    /// needed.
    ///
    /// # Errors
    ///
    /// When its bytes pass `isize::MAX`.
    pub(crate) fn layout(&self, capacity: usize) -> Result<Layout, AllocError> {
        let error = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: self.cell,
        };
        let Some(last) = capacity.checked_sub(1) else {
            return Ok(Layout::new::<()>());
        };
        (last / self.cells)
            .checked_mul(self.segment)
            .and_then(|bytes| bytes.checked_add(self.header))
            .and_then(|bytes| bytes.checked_add((last % self.cells + 1).checked_mul(self.cell)?))
            .and_then(|bytes| Layout::from_size_align(bytes, self.segment).ok())
            .ok_or(error)
    }

    /// Where a cell lies, from the start of the first segment.
    pub(crate) fn offset(&self, index: usize) -> usize {
        (index / self.cells) * self.segment + self.header + index % self.cells * self.cell
    }

    /// The cell that lies there, if one does.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn index(&self, offset: usize) -> Option<usize> {
        let (before, within) = match self.segment {
            0 => (0, offset),
            bytes => (offset / bytes, offset % bytes),
        };
        let at = within.checked_sub(self.header)?;
        let index = before * self.cells + at / self.cell;
        (at % self.cell == 0 && self.offset(index) == offset).then_some(index)
    }

    /// Writes the headers of the segments in which the cells `first..end` are the
    /// first of all to be used.
    ///
    /// # Safety
    ///
    /// `start` is that of memory for these cells.
    pub(crate) unsafe fn write_headers(
        &self,
        start: NonNull<u8>,
        first: usize,
        end: usize,
        pointer: NonNull<u8>,
    ) {
        for segment in first.div_ceil(self.cells)..end.div_ceil(self.cells) {
            for line in 0..LINES {
                // SAFETY: the first cell of the segment is within that memory, so its
                // header is, and is aligned (N1).
                unsafe {
                    let header = start.add(segment * self.segment + line * LINE);
                    header.cast::<NonNull<u8>>().write(pointer);
                }
            }
        }
    }

    /// What the header of a cell's segment says.
    ///
    /// # Safety
    ///
    /// The cell is one of such segments, whose headers are written (N2), and has the
    /// provenance of their memory.
    #[inline(always)]
    pub(crate) unsafe fn header_of(&self, cell: NonNull<u8>) -> NonNull<u8> {
        let address = cell.addr().get();
        let line = (address >> (self.segment.trailing_zeros() - LINE.trailing_zeros()))
            & ((LINES - 1) * LINE);
        let header = (address & !(self.segment - 1)) + line;
        // SAFETY: the memory begins at an address that is aligned and not null (N1),
        // so the masked one is not null, and by N2 a pointer is written there.
        unsafe {
            let header = cell.with_addr(NonZero::new_unchecked(header));
            header.cast::<NonNull<u8>>().read()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size: usize, align: usize) -> Geometry {
        Geometry::new(Layout::from_size_align(size, align).unwrap())
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
        ] {
            let geometry = geometry(size, align);
            assert!(geometry.segment.is_power_of_two() && geometry.cells >= LEAST_CELLS);
            let mut end = 0;
            for index in 0..3 * geometry.cells {
                let offset = geometry.offset(index);
                assert!(offset % align == 0 && offset >= end);
                let segment = offset / geometry.segment;
                assert_eq!(segment, (offset + size - 1) / geometry.segment);
                assert!(offset % geometry.segment >= LINES * LINE);
                assert_eq!(geometry.index(offset), Some(index));
                assert!(size == 1 || geometry.index(offset + 1).is_none());
                end = offset + size;
                assert_eq!(geometry.layout(index + 1).unwrap().size(), end);
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
            assert_eq!(cell.layout(0).unwrap().size(), 0);
        }
    }
}
