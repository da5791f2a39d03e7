//! The caller's memory: cells in a row, and the home in the pool.

use core::alloc::Layout;
use core::ptr::NonNull;

use super::home::Home;
use super::links::Links;
use super::memory::Memory;
use super::segment::Geometry;
use crate::error::AllocError;

/// The memory of a pool in a storage. The home lies in the pool itself: boxes borrow the pool, so
/// it does not move while they point to it.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Lent {
    home: Home<Links>,
}

impl Lent {
    /// # Safety
    ///
    /// `cells` is the start of `capacity` cells of that geometry, which nothing else uses as long
    /// as this is used.
    pub(super) unsafe fn new(geometry: Geometry, capacity: usize, cells: NonNull<u8>) -> Self {
        // SAFETY: the preconditions are the same, and this keeps the home.
        let home = unsafe { Home::new(Links::new(), capacity, geometry, cells) };
        Lent { home }
    }
}

// SAFETY: nothing else uses the cells as long as this is used (precondition of `new`). They lie
// in a row; there are no headers.
unsafe impl Memory for Lent {
    type Free = Links;
    type Way = NonNull<Home<Links>>;

    const LEAST_CELL: Layout = Links::LEAST_CELL;
    const HEADER: Option<Layout> = None;

    #[inline(always)]
    fn home(&self) -> NonNull<Home<Links>> {
        NonNull::from(&self.home)
    }

    #[inline(always)]
    fn way(&self) -> Self::Way {
        self.home()
    }

    #[inline(always)]
    unsafe fn home_of(_: &Geometry, _: NonNull<u8>, way: Self::Way) -> NonNull<Home<Links>> {
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
