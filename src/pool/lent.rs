//! The caller's memory: cells in a row, and the home in the pool.
//!
//! No function here divides or indexes, so none can panic: firmware that allocates by `try_`
//! methods links no panic (`ci/bare_metal/no_panic.rs`).

use core::alloc::Layout;
#[cfg(target_has_atomic = "ptr")]
use core::cell::Cell;
use core::ptr::NonNull;

use super::home::{Home, Places, refill_of};
use super::links::Links;
use super::memory::{Cells, Memory};
#[cfg(target_has_atomic = "ptr")]
use super::returned::Returned;
use crate::error::AllocError;

/// Cells one after the other. Made in a `const`: the division is the compiler's.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Bytes from one cell to the next.
    cell: usize,
    refill: usize,
}

impl Places for Row {
    #[inline]
    fn refill(&self) -> usize {
        self.refill
    }

    #[inline]
    fn offset(&self, index: usize) -> usize {
        index * self.cell
    }

    #[cfg(any(test, fuzzing))]
    fn index(&self, offset: usize) -> Option<usize> {
        (offset % self.cell == 0).then_some(offset / self.cell)
    }
}

impl<T> Cells<T, Lent> {
    /// Where they lie.
    pub(super) const ROW: Row = {
        let cell = Self::LAYOUT.size();
        Row {
            cell,
            refill: refill_of(cell),
        }
    };
}

/// The memory of a pool in a storage. The home lies in the pool itself: boxes borrow the pool, so
/// it does not move while they point to it.
///
/// # Invariants
///
/// * L1: from `taken` on, each cell holds the next one; they are taken from `returned`, which owned
///   them (H2), and not free yet.
/// * L2: only `returned` is used by other threads.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
#[repr(C)]
pub struct Lent {
    /// First, so that a pointer to this is one to the home.
    home: Home<Links, Row>,
    #[cfg(target_has_atomic = "ptr")]
    taken: Cell<Option<NonNull<u8>>>,
    #[cfg(target_has_atomic = "ptr")]
    returned: Returned,
}

impl Lent {
    /// # Safety
    ///
    /// `cells` is the start of `capacity` cells in that row, which nothing else uses as long
    /// as this is used.
    pub(super) unsafe fn new(row: Row, capacity: usize, cells: NonNull<u8>) -> Self {
        // SAFETY: the preconditions are the same, and this keeps the home.
        let home = unsafe { Home::new(Links::new(), capacity, row, cells) };
        Lent {
            home,
            #[cfg(target_has_atomic = "ptr")]
            taken: Cell::new(None),
            #[cfg(target_has_atomic = "ptr")]
            returned: Returned::new(),
        }
    }
}

/// Cells that other threads gave back.
#[cfg(target_has_atomic = "ptr")]
impl Lent {
    /// The list of the memory that `way` leads to.
    ///
    /// # Safety
    ///
    /// `way` is of a memory that stays where it is for `'a`.
    #[inline]
    pub(super) unsafe fn returned<'a>(way: NonNull<Lent>) -> &'a Returned {
        // SAFETY: alive for `'a` (precondition). Only this field is borrowed: the caller may be on
        // another thread (L2).
        unsafe { &(*way.as_ptr()).returned }
    }

    /// Makes up to `most` of the returned cells free; returns how many.
    fn free_returned(&self, most: usize) -> usize {
        let mut next = self.taken.get().or_else(|| self.returned.take());
        let mut freed = 0;
        while freed < most {
            let Some(cell) = next else { break };
            // SAFETY: a cell that was returned, which holds the next one (L1), and which this
            // now owns and gives up.
            unsafe {
                next = Returned::next(cell);
                self.home.free.push(cell);
            }
            freed += 1;
        }
        self.taken.set(next);
        freed
    }

    /// Makes all of the returned cells free; returns how many.
    pub(super) fn reclaim(&self) -> usize {
        let mut freed = 0;
        if self.taken.get().is_some() {
            freed += self.free_returned(usize::MAX);
        }
        freed + self.free_returned(usize::MAX)
    }
}

// SAFETY: nothing else uses the cells as long as this is used (precondition of `new`). They lie
// in a row; there are no headers.
unsafe impl Memory for Lent {
    type Free = Links;
    type Places = Row;
    type Way = NonNull<Lent>;

    const LEAST_CELL: Layout = Links::LEAST_CELL;

    #[inline(always)]
    fn home(&self) -> NonNull<Home<Links, Row>> {
        NonNull::from(&self.home)
    }

    #[inline(always)]
    fn way(&self) -> Self::Way {
        NonNull::from(self)
    }

    #[inline(always)]
    unsafe fn home_of<T>(_: NonNull<u8>, way: Self::Way) -> NonNull<Home<Links, Row>> {
        way.cast()
    }

    /// Returned cells come first, up to as many as of the fresh ones: their memory was used before,
    /// and an allocation must not pay for all that other threads have ended.
    fn refill(&self) -> Result<(), Option<AllocError>> {
        #[cfg(target_has_atomic = "ptr")]
        if self.free_returned(self.home.places().refill()) > 0 {
            return Ok(());
        }
        let next = self.home.next_fresh();
        if next.is_empty() {
            return Err(None);
        }
        // SAFETY: the memory of all cells is valid, and links need no room of their own.
        unsafe { self.home.push_fresh(next.end) };
        Ok(())
    }

    fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        self.home.touch_fresh(cells);
        Ok(())
    }

    /// No cell is out: that takes a pool that is borrowed for `'static`. Cells that were returned
    /// may be there still, in a pool that was leaked and taken back.
    unsafe fn reset(&mut self) {
        #[cfg(target_has_atomic = "ptr")]
        {
            self.taken.set(None);
            self.returned.take();
        }
        // SAFETY: the preconditions are the same.
        unsafe { self.home.forget_all() };
    }
}
