//! A pool in the caller's memory: on the stack, in a static, in a struct, in a box.

#[cfg(feature = "alloc")]
#[expect(clippy::disallowed_types, reason = "the box is the user's")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use super::kinds::InStorage;
use super::lent::Lent;
use super::memory::Cells;
use super::{Pool, PoolBox};
#[cfg(feature = "alloc")]
use crate::error::AllocError;
use crate::raw::atomic::Flag;
#[cfg(feature = "alloc")]
use crate::raw::memory;
#[cfg(feature = "alloc")]
use crate::raw::source::Source;

/// The box of a pool in a [`PoolStorage`]: a [`PoolBox`] of 16 bytes. Such memory is not aligned
/// so that the address of a cell leads to its pool.
pub type StorageBox<'p, T> = PoolBox<'p, T, InStorage>;

const _: () = assert!(size_of::<StorageBox<'_, u64>>() == 2 * size_of::<usize>());

/// Memory for a pool of `N` values without an allocator: in a static, on the stack, in a struct.
///
/// A cell takes the size of a value, and at least that of a pointer. A cell is not written to
/// before it is used.
///
/// # Examples
///
/// ```
/// use flatslab::pool::{InStorage, Pool, PoolStorage};
///
/// struct Order { quantity: u64 }
///
/// static STORAGE: PoolStorage<Order, 1024> = PoolStorage::new();
///
/// let pool: &Pool<'static, Order, InStorage> = STORAGE.claim().expect("not claimed yet");
/// assert!(STORAGE.claim().is_none());
/// let mut order = pool.alloc(Order { quantity: 100 });
/// order.quantity -= 10;
/// ```
pub struct PoolStorage<T, const N: usize> {
    cells: UnsafeCell<MaybeUninit<[StorageCell<T>; N]>>,
    claimed: Flag,
    #[cfg_attr(
        not(target_has_atomic = "8"),
        allow(dead_code, reason = "never claimed")
    )]
    pool: UnsafeCell<MaybeUninit<Pool<'static, T, InStorage>>>,
}

/// Room for a value, or for a link of the free list.
#[repr(C)]
union StorageCell<T> {
    _value: ManuallyDrop<T>,
    _link: Option<NonNull<u8>>,
}

// SAFETY: it has no values: those of an earlier pool in it are lost, and a claimed storage is
// borrowed for `'static` and does not move.
unsafe impl<T, const N: usize> Send for PoolStorage<T, N> {}
// SAFETY: all that a shared storage returns is its pool, once. That has no values yet, and moves
// to another thread only if its values may.
unsafe impl<T, const N: usize> Sync for PoolStorage<T, N> {}

impl<T, const N: usize> PoolStorage<T, N> {
    const FIRST: () = {
        let cell = Cells::<T, Lent>::LAYOUT;
        assert!(size_of::<StorageCell<T>>() == cell.size());
        assert!(align_of::<StorageCell<T>>() == cell.align());
    };

    /// Memory that is not used yet; a constant, so that a static can have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::PoolStorage;
    ///
    /// static STORAGE: PoolStorage<u64, 16> = PoolStorage::new();
    /// # let _ = &STORAGE;
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        let () = Self::FIRST;
        PoolStorage {
            cells: UnsafeCell::new(MaybeUninit::uninit()),
            claimed: Flag::new(false),
            pool: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Allocates a storage on the heap, cells and nothing else; O(1), and touches none of them.
    ///
    /// It is made in its place: `Box::new(PoolStorage::new())` may build it on the stack first,
    /// which overflows with many cells.
    ///
    /// # Panics
    ///
    /// If the allocator refuses, the program ends, as with `Box`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolStorage};
    ///
    /// let mut storage = PoolStorage::<[u64; 8], 1_000_000>::boxed();   // 64 MB
    /// let pool = Pool::in_storage(&mut *storage);
    /// assert_eq!(*pool.alloc([7; 8]), [7; 8]);
    /// ```
    #[cfg(feature = "alloc")]
    #[expect(clippy::disallowed_types, reason = "the box is the user's")]
    #[track_caller]
    #[must_use]
    pub fn boxed() -> Box<Self> {
        match Self::try_boxed() {
            Ok(storage) => storage,
            Err(error) => memory::fail(error),
        }
    }

    /// Allocates a storage on the heap, like [`boxed`](Self::boxed); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::PoolStorage;
    ///
    /// assert!(PoolStorage::<u64, 16>::try_boxed().is_ok());
    /// # #[cfg(target_pointer_width = "64")]
    /// assert!(PoolStorage::<u64, { 1 << 50 }>::try_boxed().is_err());
    /// ```
    #[cfg(feature = "alloc")]
    #[expect(clippy::disallowed_types, reason = "the box is the user's")]
    pub fn try_boxed() -> Result<Box<Self>, AllocError> {
        let () = Self::FIRST;
        // Its flag has a size, so it is never of none.
        let start = Source::GLOBAL.allocate(Layout::new::<Self>())?;
        let storage = start.cast::<Self>().as_ptr();
        // SAFETY: from the global allocator, with the layout of `Self`. All fields but the flag
        // may be uninitialised.
        unsafe {
            (&raw mut (*storage).claimed).write(Flag::new(false));
            Ok(Box::from_raw(storage))
        }
    }

    /// The pool of a static: the first call returns it, and every later call `None`. O(1); any
    /// thread may call it. Targets without an atomic swap lack this method; see
    /// [`Pool::in_storage`].
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::PoolStorage;
    ///
    /// static STORAGE: PoolStorage<u64, 16> = PoolStorage::new();
    ///
    /// let pool = STORAGE.claim().unwrap();
    /// assert_eq!(pool.capacity(), 16);
    /// assert!(STORAGE.claim().is_none());
    /// ```
    #[expect(clippy::mut_from_ref, reason = "given out once")]
    #[cfg(target_has_atomic = "8")]
    pub fn claim(&'static self) -> Option<&'static mut Pool<'static, T, InStorage>> {
        // Relaxed: one thread makes the first swap, and nothing was written to the memory that
        // another thread would have to see.
        if self
            .claimed
            .swap(true, crate::raw::atomic::Ordering::Relaxed)
        {
            return None;
        }
        let cells = NonNull::from(&self.cells).cast();
        // SAFETY: the only claim of a storage that is borrowed for `'static`, so nothing else uses
        // the cells or the pool: an earlier pool in it has ended.
        unsafe {
            let pool = Pool::in_cells(cells, N);
            Some((*self.pool.get()).write(pool))
        }
    }
}

impl<T, const N: usize> Default for PoolStorage<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> fmt::Debug for PoolStorage<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolStorage")
            .field("capacity", &N)
            .field("claimed", &self.claimed)
            .finish_non_exhaustive()
    }
}

impl<'s, T> Pool<'s, T, InStorage> {
    /// A pool in a storage that it borrows; O(1), does not write to the cells.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolStorage};
    ///
    /// let mut storage = PoolStorage::<u64, 16>::new();
    /// let pool = Pool::in_storage(&mut storage);
    /// let boxed = pool.alloc(7);
    /// assert_eq!((*boxed, pool.len()), (7, 1));
    /// ```
    pub fn in_storage<const N: usize>(storage: &'s mut PoolStorage<T, N>) -> Self {
        // SAFETY: the storage has `N` cells for a `T`, and is borrowed mutably for `'s`.
        unsafe { Self::in_cells(NonNull::from(storage.cells.get_mut()).cast(), N) }
    }

    /// # Safety
    ///
    /// `cells` is the start of `capacity` cells for a `T`, which nothing else uses for `'s`.
    unsafe fn in_cells(cells: NonNull<u8>, capacity: usize) -> Self {
        // SAFETY: the preconditions are the same; the pool lives no longer than `'s`.
        let memory = unsafe { Lent::new(Cells::<T, Lent>::ROW, capacity, cells) };
        Pool {
            memory,
            storage: PhantomData,
            values: PhantomData,
        }
    }
}
