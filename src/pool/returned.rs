//! The cells of a pool that were given back on other threads.
//!
//! As with the [return stack](crate::raw::returns::Returns) of the slabs, any thread pushes, and
//! only the owner takes, and takes all: so no tag is needed. This one has pointers in place of
//! numbers, since the cells of a pool have none, and does not close, since its pool never ends.
//!
//! # Invariants
//!
//! * E1: from `top` on, each cell holds the next one, or `None` in the last. They are pairwise
//!   distinct cells, of the size and alignment of a link at least, and owned by this list (H2 of
//!   `home.rs`).

use core::ptr::{self, NonNull};

use crate::raw::atomic::{AtomicPtr, Ordering};

type Link = Option<NonNull<u8>>;

/// Cells that any thread pushes, and the owner of the pool takes.
pub(super) struct Returned {
    top: AtomicPtr<u8>,
}

impl Returned {
    pub(super) fn new() -> Self {
        Returned {
            top: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Gives a cell back. An interrupt may come at any point, and push too: then the exchange fails
    /// here, and is tried again.
    ///
    /// # Safety
    ///
    /// The caller owns the cell, a pool's that has room for a link, and gives it up. Its memory
    /// stays until the owner of the pool has taken it.
    #[inline]
    pub(super) unsafe fn push(&self, cell: NonNull<u8>) {
        // Relaxed: the link is only written down.
        let mut below = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: it has room for a link, and is the caller's until it is pushed (precondition).
            unsafe { cell.cast::<Link>().write(NonNull::new(below)) };
            // Release: pairs with the acquire in `take`; later pushes continue it. The end of the
            // value and the link happen before the cell is used again.
            match self.top.compare_exchange_weak(
                below,
                cell.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => below = found,
            }
        }
    }

    /// The owner of the pool takes all cells: the first, which holds the [next](Self::next).
    #[inline]
    pub(super) fn take(&self) -> Link {
        // Relaxed: nothing is read by it. An empty list is not written to.
        if self.top.load(Ordering::Relaxed).is_null() {
            return None;
        }
        // Acquire: pairs with the release in `push`.
        NonNull::new(self.top.swap(ptr::null_mut(), Ordering::Acquire))
    }

    /// What a cell that was taken holds.
    ///
    /// # Safety
    ///
    /// The cell was taken from here, and not used since.
    #[inline]
    pub(super) unsafe fn next(cell: NonNull<u8>) -> Link {
        // SAFETY: by E1 it holds a link, and only who took it uses it (precondition).
        unsafe { cell.cast::<Link>().read() }
    }
}
