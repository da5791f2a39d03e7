//! Where cells and indices are in a range, and when a block becomes one.

use core::ptr::NonNull;

/// Bytes that are opened together: a page of any machine. Under an interpreter an opening has
/// exactly the bytes it needs.
pub(in super::super) const GRAIN: usize = if cfg!(miri) { 8 } else { 64 << 10 };

/// Bytes of cells that growth opens: less than a huge page of 2 MiB, which would be cleared at
/// one touch. Under an interpreter three cells of 16 bytes.
pub(in super::super) const STEP: usize = if cfg!(miri) { 48 } else { 1 << 20 };

/// A block of so many bytes becomes a range when it grows. It is copied once, to pages that are
/// touched first: from 1 MiB on that took 300 µs, from 16 KiB what the machine's own interruptions take.
pub(in super::super) const THRESHOLD: usize = if cfg!(miri) { 256 } else { 16 << 10 };

/// A reserved range.
#[derive(Clone, Copy)]
pub(in super::super) struct Range {
    pub(in super::super) cells: NonNull<u8>,
    pub(in super::super) indices: NonNull<u8>,
    /// The binary logarithm of its bytes.
    pub(in super::super) log: u8,
}

/// Sizes of a cell and an index.
#[derive(Clone, Copy)]
pub(in super::super) struct Sizes {
    pub(in super::super) cell: usize,
    pub(in super::super) index: usize,
}

impl Sizes {
    /// How many cells, and as many indices, a range can have.
    pub(in super::super) fn most_slots(self, log: u8) -> usize {
        ((1 << log) - 2 * GRAIN) / (self.cell + self.index)
    }

    /// Bytes from the first cell to the first index: in one mapping, which an interpreter has not.
    #[cfg(not(miri))]
    pub(super) fn indices_at(self, log: u8) -> usize {
        (self.most_slots(log) * self.cell).next_multiple_of(GRAIN)
    }

    /// Bytes that are open for so many cells, and for as many indices.
    pub(in super::super) fn opened(self, slots: usize) -> [usize; 2] {
        [self.cell, self.index].map(|size| (slots * size).next_multiple_of(GRAIN))
    }
}
