//! The caller's memory: cells in a row, and the home in the pool.
//!
//! No function here divides or indexes, so none can panic.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::home::{Home, Places, refill_of};
use super::links::Links;
use super::memory::{Cells, Memory};
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
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Lent {
    home: Home<Links, Row>,
}

impl Lent {
    /// # Safety
    ///
    /// `cells` is the start of `capacity` cells in that row, which nothing else uses as long
    /// as this is used.
    pub(super) unsafe fn new(row: Row, capacity: usize, cells: NonNull<u8>) -> Self {
        // SAFETY: the preconditions are the same, and this keeps the home.
        let home = unsafe { Home::new(Links::new(), capacity, row, cells) };
        Lent { home }
    }
}

// SAFETY: nothing else uses the cells as long as this is used (precondition of `new`). They lie
// in a row; there are no headers.
unsafe impl Memory for Lent {
    type Free = Links;
    type Places = Row;
    type Way = NonNull<Home<Links, Row>>;

    const LEAST_CELL: Layout = Links::LEAST_CELL;

    #[inline(always)]
    fn home(&self) -> NonNull<Home<Links, Row>> {
        NonNull::from(&self.home)
    }

    #[inline(always)]
    fn way(&self) -> Self::Way {
        self.home()
    }

    #[inline(always)]
    unsafe fn home_of<T>(_: NonNull<u8>, way: Self::Way) -> NonNull<Home<Links, Row>> {
        way
    }

    fn refill(&self) -> Result<(), Option<AllocError>> {
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

    unsafe fn reset(&mut self) {
        // SAFETY: the preconditions are the same.
        unsafe { self.home.forget_all() };
    }
}
