//! Lists without memory of their own: each cell on one holds the address of the next.
//!
//! [`Links`] are the free cells of a pool in a storage. Such a list takes no memory but costs time:
//! a pop waits for the load of the cell, which is not in the cache after removals in random order
//! (BENCHMARKS.md, "Pools"). Where there is memory for it, a
//! [`FreeStack`](crate::raw::stack::FreeStack) is the better list. Times of a
//! prototype, as multiples of that stack's (Intel Xeon, medians of three runs):
//!
//! | values of | INSERT, cells freed at random | FREE random | CHURN random | CHURN LIFO |
//! |---|---|---|---|---|
//! | 64 bytes, 8,192 live | 1.66 | 3.1 | 1.04 | .99 |
//! | 64 bytes, 1,048,576 live | 6.0 | 23 | 1.06 | 1.00 |
//! | 8 bytes, 8,192 live | 1.64 | 1.9 | 1.01 | .90 |
//!
//! [`Returned`] are the cells that other threads returned. As with the [return
//! stack](crate::raw::returns::Returns) of the slabs, any thread pushes, but only the owner takes,
//! and always takes all, so no tag is needed. This list has pointers instead of numbers, since the
//! cells of a pool have none, and cannot be closed, since its pool is never dropped.
//!
//! # Invariants
//!
//! * `free-links`: from `head` on, each cell holds the next one, or `None` in the last; they are
//!   pairwise distinct free cells of the list's owner, `depth` of them.
//! * `returned-links`: from `top` on, each cell holds the next one, or `None` in the last. They are
//!   pairwise distinct cells, of the size and alignment of a link at least, and owned by this list
//!   (`cell-owner`).

use core::cell::Cell;
#[cfg(target_has_atomic = "ptr")]
use core::ptr;
use core::ptr::NonNull;

#[cfg(target_has_atomic = "ptr")]
use crate::raw::atomic::{AtomicPtr, Ordering};

/// What a cell on a list holds.
pub(super) type Link = Option<NonNull<u8>>;

const _: () = assert!(size_of::<Link>() == size_of::<usize>());

/// Free cells, the last one first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Links {
    head: Cell<Link>,
    depth: Cell<usize>,
}

impl Links {
    pub(super) const fn new() -> Self {
        Links {
            head: Cell::new(None),
            depth: Cell::new(0),
        }
    }

    /// Cells there are.
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth.get()
    }

    /// The cell that was pushed last, and the link in it.
    #[inline]
    pub(super) fn look(&self) -> Option<(NonNull<u8>, Link)> {
        let cell = self.head.get()?;
        // SAFETY: by `free-links` it holds the next one, because no one has used it since.
        Some((cell, unsafe { cell.cast::<Link>().read() }))
    }

    /// Takes the cell that [`look`](Self::look) returned. Its memory may have been used since.
    ///
    /// # Safety
    ///
    /// `next` was returned with the cell, and the list has not changed since. If the memory was
    /// used, `look` was not called after that.
    #[inline]
    pub(super) unsafe fn take(&self, next: Link) {
        self.head.set(next);
        self.depth.set(self.depth.get() - 1);
    }

    /// Adds a free cell.
    ///
    /// # Safety
    ///
    /// The cell is owned by the list's owner, free before any other code runs, and not on the list.
    /// It has at least the size and alignment of a link. Until it is popped or the list is cleared,
    /// its memory stays valid, and nothing else uses it: [`look`](Self::look) reads it.
    #[inline]
    pub(super) unsafe fn push(&self, cell: NonNull<u8>) {
        // SAFETY: the cell has room for a link, and no one else uses it (precondition).
        unsafe { cell.cast::<Link>().write(self.head.get()) };
        self.head.set(Some(cell));
        self.depth.set(self.depth.get() + 1);
    }

    /// Removes all cells.
    pub(super) fn clear(&self) {
        self.head.set(None);
        self.depth.set(0);
    }

    /// The cells, in the order in which they would be popped.
    #[cfg(any(test, fuzzing))]
    pub(super) fn cells(&self) -> impl Iterator<Item = NonNull<u8>> {
        // SAFETY: by `free-links` each cell that is met holds the next one.
        core::iter::successors(self.head.get(), |cell| unsafe {
            cell.cast::<Link>().read()
        })
    }
}

/// Cells that any thread pushes, and the owner of the pool takes.
#[cfg(target_has_atomic = "ptr")]
#[derive(Debug)]
pub(super) struct Returned {
    top: AtomicPtr<u8>,
}

#[cfg(target_has_atomic = "ptr")]
impl Returned {
    pub(super) fn new() -> Self {
        Returned {
            top: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns a cell to the pool. An interrupt may come at any point and push too; then the
    /// exchange fails here and is repeated.
    ///
    /// # Safety
    ///
    /// The caller owns the cell, which is from a pool and has room for a link, and gives it up. Its
    /// memory stays valid until the owner of the pool has taken it.
    #[inline]
    pub(super) unsafe fn push(&self, cell: NonNull<u8>) {
        // Relaxed: the link is only written down.
        let mut below = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: it has room for a link, and is the caller's until it is pushed
            // (precondition).
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

    /// Takes all cells, for the owner of the pool: returns the first, which holds the
    /// [next](Self::next).
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
        // SAFETY: by `returned-links` it holds a link, and only the thread that took it uses it
        // (precondition).
        unsafe { cell.cast::<Link>().read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(links: &Links) -> Link {
        let (cell, next) = links.look()?;
        // SAFETY: `look` returned `next`, and nothing has used the links since.
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
