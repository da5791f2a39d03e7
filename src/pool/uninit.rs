//! Boxes of cells without a value, and of raw pointers.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::memory::Memory;
use super::{Pool, PoolBox, PoolMemory};
use crate::error::AllocError;

impl<T, M: PoolMemory> Pool<'_, T, M> {
    /// Claims a free cell without a value, to be [written](PoolBox::write) later; O(1), no
    /// allocation.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let vacant = pool.alloc_uninit();
    /// let boxed = PoolBox::write(vacant, 7);
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_uninit(&self) -> PoolBox<'_, MaybeUninit<T>, M> {
        let way = self.memory.way();
        // SAFETY: just claimed, so the box is its only owner (H2); its value may be
        // uninitialised.
        unsafe { PoolBox::new(self.claim_or_fail().cast(), way) }
    }

    /// As [`alloc_uninit`](Self::alloc_uninit); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If no cell is free.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(0);
    /// assert!(pool.try_alloc_uninit().is_err());
    /// ```
    #[inline]
    pub fn try_alloc_uninit(&self) -> Result<PoolBox<'_, MaybeUninit<T>, M>, AllocError> {
        let way = self.memory.way();
        let cell = self.claim()?.cast();
        // SAFETY: just claimed, so the box is its only owner (H2); its value may be
        // uninitialised.
        Ok(unsafe { PoolBox::new(cell, way) })
    }

    /// Makes a box of a pointer that [`PoolBox::into_raw`] or [`PoolBox::leak`] returned; O(1).
    ///
    /// # Safety
    ///
    /// * `pointer` came from one of these functions, of a box of this pool. Since then no box
    ///   was made of it, and the pool was not reset.
    /// * The cell holds a value of this very `T`, including its lifetimes, which was neither
    ///   dropped nor moved out.
    /// * While the box exists, the value is used through it alone. When the box has dropped or
    ///   moved the value, no earlier pointer or reference to it is used any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let pointer = PoolBox::into_raw(pool.alloc(7));
    /// // SAFETY: straight from `into_raw`, and used once.
    /// let boxed = unsafe { pool.box_from_raw(pointer) };
    /// assert_eq!(PoolBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    pub unsafe fn box_from_raw(&self, pointer: *mut T) -> PoolBox<'_, T, M> {
        // SAFETY: `pointer` is the address of a cell of this pool with a value of `T`, and the
        // caller is its owner (H2) and gives it up (preconditions). The cell's pointer gets the
        // provenance of the pool's memory; that of `pointer` may cover the value alone.
        unsafe {
            let address = NonNull::new_unchecked(pointer).addr();
            let cell = self.home().cell_at(address);
            PoolBox::new(cell.cast(), self.memory.way())
        }
    }
}
