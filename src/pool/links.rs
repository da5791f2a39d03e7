//! A free list without memory of its own: each free cell holds the address of the
//! next.
//!
//! What takes no memory takes time: a pop waits for the load of the cell, which is
//! cold after removals in random order (BENCHMARKS.md, "The pool"). Where there is
//! memory for it a [`FreeStack`](crate::raw::stack::FreeStack) is the better list. A
//! prototype, in multiples of that stack's time (Intel Xeon, medians of three runs):
//!
//! | values of | INSERT, cells freed at random | FREE random | CHURN random | CHURN LIFO |
//! |---|---|---|---|---|
//! | 64 bytes, 8,192 live | 1.66 | 3.1 | 1.04 | .99 |
//! | 64 bytes, 1,048,576 live | 6.0 | 23 | 1.06 | 1.00 |
//! | 8 bytes, 8,192 live | 1.64 | 1.9 | 1.01 | .90 |
//!
//! # Invariants
//!
//! * K1: from `head` on, each cell holds the next one, or `None` in the last;
//!   they are pairwise distinct free cells of the list's owner, `depth` of them.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// What a free cell holds.
type Link = Option<NonNull<u8>>;

const _: () = assert!(size_of::<Link>() == size_of::<usize>());

/// Free cells, the last one first.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct Links {
    head: Cell<Link>,
    depth: Cell<usize>,
}

impl Links {
    /// What a cell has room for at least, to be put on a list.
    pub(crate) const LEAST_CELL: Layout = Layout::new::<Link>();

    pub(crate) const fn new() -> Self {
        Links {
            head: Cell::new(None),
            depth: Cell::new(0),
        }
    }

    /// Cells there are.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth.get()
    }

    /// The cell that was pushed last, and the link to the one before it.
    #[inline(always)]
    pub(crate) fn look(&self) -> Option<(NonNull<u8>, Link)> {
        let cell = self.head.get()?;
        // SAFETY: by K1 it holds the next one, for no one has used it since.
        Some((cell, unsafe { cell.cast::<Link>().read() }))
    }

    /// Takes the cell that was [looked at](Self::look), whose memory may have been used since.
    ///
    /// # Safety
    ///
    /// This is the link that came with it, and the list has not changed since. If the memory was
    /// used, the list was not looked at after that.
    #[inline(always)]
    pub(crate) unsafe fn take(&self, next: Link) {
        self.head.set(next);
        self.depth.set(self.depth.get() - 1);
    }

    /// Adds a free cell.
    ///
    /// # Safety
    ///
    /// The cell is the owner's, free before any other code runs, and not on the
    /// list. It has the size and alignment of [`LEAST_CELL`](Self::LEAST_CELL) at
    /// least. Until it is popped or the list cleared, its memory stays, and no one
    /// else uses it: [`look`](Self::look) reads it.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, cell: NonNull<u8>) {
        // SAFETY: the cell has room for a link, and no one else uses it (precondition).
        unsafe { cell.cast::<Link>().write(self.head.get()) };
        self.head.set(Some(cell));
        self.depth.set(self.depth.get() + 1);
    }

    /// Removes all cells.
    pub(crate) fn clear(&self) {
        self.head.set(None);
        self.depth.set(0);
    }

    /// The cells, in the order in which they would be popped.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn cells(&self) -> impl Iterator<Item = NonNull<u8>> {
        // SAFETY: by K1 each cell that is met holds the next one.
        core::iter::successors(self.head.get(), |cell| unsafe {
            cell.cast::<Link>().read()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(links: &Links) -> Link {
        let (cell, next) = links.look()?;
        // SAFETY: just looked at.
        unsafe { links.take(next) };
        Some(cell)
    }

    #[test]
    fn cells_come_back_last_in_first_out() {
        let mut memory = [0_usize; 3];
        let first = NonNull::from(&mut memory).cast::<usize>();
        // SAFETY: the tests use indices below 3, the length of the array.
        let cell = |index| unsafe { first.add(index).cast::<u8>() };
        let links = Links::new();
        assert_eq!((pop(&links), links.depth()), (None, 0));
        for index in 0..3 {
            // SAFETY: distinct cells of the size and alignment of a link.
            unsafe { links.push(cell(index)) };
        }
        assert!(links.cells().eq([2, 1, 0].map(cell)));
        assert_eq!((pop(&links), links.depth()), (Some(cell(2)), 2));
        links.clear();
        assert_eq!((pop(&links), links.depth()), (None, 0));
    }
}
