//! A pool in the caller's memory: on the stack, in a static, in a struct or in a box.
//!
//! The cells lie in a row. The pool itself holds the free list and everything else that a box
//! needs. A box points to its pool, which cannot move while it is borrowed.
//!
//! No function here that an allocation uses divides or indexes, so none can panic: firmware that
//! allocates with `try_` methods links no panic (`ci/bare_metal/no_panic.rs`).
//!
//! # Invariants
//!
//! With those of `memory.rs`:
//!
//! * `returned-rest`: from `taken` on, each cell holds the next one. They were taken from
//!   `returned`, which owned them (`cell-owner`), and are not free yet.
//! * `returned-shared`: `returned` is the only list that other threads use.

#[cfg(feature = "alloc")]
#[expect(clippy::disallowed_types, reason = "the box is the user's")]
use alloc::boxed::Box;
use core::alloc::Layout;
#[cfg(target_has_atomic = "ptr")]
use core::cell::Cell;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

#[cfg(target_has_atomic = "ptr")]
use super::links::Returned;
use super::links::{Link, Links};
use super::memory::{Fresh, PoolMemory, refill_of};
use super::{Pool, PoolBox};
use crate::error::AllocError;
use crate::raw::atomic::Flag;
#[cfg(feature = "alloc")]
use crate::raw::memory;
#[cfg(feature = "alloc")]
use crate::raw::source::Source;
use crate::raw::touch::touch;

/// The box of a pool in a [`PoolStorage`]: a [`PoolBox`] of 16 bytes.
///
/// The second word points to the pool, because the memory of a storage is not aligned so that the
/// address of a cell would tell.
pub type StorageBox<'p, T> = PoolBox<'p, T, InStorage>;

const _: () = assert!(size_of::<StorageBox<'_, u64>>() == 2 * size_of::<usize>());

/// Memory for a pool of `N` values that needs no allocator: in a static, on the stack or in a
/// struct.
///
/// A cell has the size of a value, and at least that of a pointer. A cell is not written to before
/// it is first used.
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
    _link: Link,
}

/// A cell of 64 bytes is one cache line.
const _: () = assert!(size_of::<StorageCell<[u64; 8]>>() == 64);

// SAFETY: it has no values: those of an earlier pool in it are lost, and a claimed storage is
// borrowed for `'static` and does not move.
unsafe impl<T, const N: usize> Send for PoolStorage<T, N> {}
// SAFETY: all that a shared storage returns is its pool, once. That has no values yet, and moves
// to another thread only if its values may.
unsafe impl<T, const N: usize> Sync for PoolStorage<T, N> {}

impl<T, const N: usize> PoolStorage<T, N> {
    /// Creates a storage. This is a `const fn`, so a static can hold it; its memory is not written
    /// to.
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
        PoolStorage {
            cells: UnsafeCell::new(MaybeUninit::uninit()),
            claimed: Flag::new(false),
            pool: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Allocates a storage on the heap. O(1).
    ///
    /// Only the cells are allocated, and none of them is touched. The storage is created in place,
    /// whereas `Box::new(PoolStorage::new())` may create it on the stack first, which overflows if
    /// there are many cells.
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

    /// Allocates a storage on the heap, or returns an error; never panics or aborts.
    ///
    /// Like [`boxed`](Self::boxed), it creates the storage in place.
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
        // The flag has a size, so the layout never has the size 0.
        let start = Source::GLOBAL.allocate(Layout::new::<Self>())?;
        let storage = start.cast::<Self>().as_ptr();
        // SAFETY: from the global allocator, with the layout of `Self`. All fields but the flag
        // may be uninitialised.
        unsafe {
            (&raw mut (*storage).claimed).write(Flag::new(false));
            Ok(Box::from_raw(storage))
        }
    }

    /// Returns the pool of a static at the first call, and `None` at every later one. O(1).
    ///
    /// Any thread may call it. Targets without an atomic swap lack this method; use
    /// [`Pool::in_storage`] there.
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
    /// Creates a pool that borrows this storage. O(1); does not write to the cells.
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
        let memory = unsafe { InStorage::new::<T>(cells, capacity) };
        Pool {
            memory,
            storage: PhantomData,
            values: PhantomData,
            not_sync: PhantomData,
        }
    }
}

/// The memory of a pool in a [`PoolStorage`], whose free list is in the vacant cells. Boxes have 16
/// bytes.
#[derive(Debug)]
#[repr(C)]
pub struct InStorage {
    free: Links,
    fresh: Fresh,
    /// Bytes from one cell to the next.
    cell: usize,
    /// Computed in a `const`, so that the compiler does the division.
    refill: usize,
    #[cfg(target_has_atomic = "ptr")]
    taken: Cell<Link>,
    #[cfg(target_has_atomic = "ptr")]
    returned: Returned,
}

// SAFETY: other code only uses it as a marker: only its pool has a value of it or a reference to
// one, and a pool's own impls say which threads may have the pool.
unsafe impl Send for InStorage {}
// SAFETY: as for `Send`: whether threads may share a pool is said by the pool's own impls.
unsafe impl Sync for InStorage {}

impl core::panic::UnwindSafe for InStorage {}
impl core::panic::RefUnwindSafe for InStorage {}

// SAFETY: nothing else uses the cells as long as this is used (precondition of `new`). They become
// free in `refill`, once each, and are linked when they are.
unsafe impl PoolMemory for InStorage {
    type Way = NonNull<InStorage>;
    type Rest = Link;

    #[inline]
    fn way(&self) -> Self::Way {
        NonNull::from(self)
    }

    #[inline]
    fn fresh(&self) -> &Fresh {
        &self.fresh
    }

    #[inline]
    fn free_cells(&self) -> usize {
        self.free.depth()
    }

    fn bytes(&self) -> usize {
        self.fresh.capacity() * self.cell
    }

    #[inline]
    fn look(&self) -> Option<(NonNull<u8>, Link)> {
        self.free.look()
    }

    #[inline]
    unsafe fn take(&self, rest: Link) {
        // SAFETY: `rest` is what `look` returned, and the list has not changed since
        // (precondition).
        unsafe { self.free.take(rest) };
    }

    #[inline]
    unsafe fn free(cell: NonNull<u8>, _: Layout, way: Self::Way) {
        // SAFETY: the memory is alive and where it was (precondition). A taken cell of it, which is
        // not on the list, has room for a link, and is given up (`cell-owner`).
        unsafe {
            let memory = way.as_ref();
            memory.fresh.note_peak(|| memory.free.depth());
            memory.free.push(cell);
        }
    }

    /// Returned cells come first, as many at a time as fresh ones. Their memory was used before,
    /// and one allocation must not pay for every cell that other threads returned.
    fn refill(&self) -> Result<(), Option<AllocError>> {
        #[cfg(target_has_atomic = "ptr")]
        if self.free_returned(self.refill) > 0 {
            return Ok(());
        }
        let next = self.fresh.first(self.refill);
        if next.is_empty() {
            return Err(None);
        }
        // SAFETY: the memory of all cells is valid (`cell-memory`). Each was fresh, so it is
        // neither on the list nor taken (`cell-states`); links need no room of their own.
        unsafe {
            let push = |cell| self.free.push(cell);
            self.fresh
                .push_up_to(next.end, |index| index * self.cell, push);
        }
        Ok(())
    }

    fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        let missing = cells.saturating_sub(self.free.depth());
        let fresh = self.fresh.first(missing);
        if !fresh.is_empty() {
            let (from, to) = (fresh.start * self.cell, fresh.end * self.cell);
            // SAFETY: the memory of fresh cells is valid and not in use (`cell-states`,
            // `cell-memory`).
            unsafe { touch(self.fresh.start(), from, to) };
        }
        Ok(())
    }

    /// No cell is shared with another thread: that takes a pool borrowed for `'static`. A pool that
    /// was leaked and then taken back may still have returned cells.
    unsafe fn reset(&mut self) {
        #[cfg(target_has_atomic = "ptr")]
        {
            self.taken.set(None);
            self.returned.take();
        }
        self.free.clear();
        self.fresh.reset();
    }

    #[cfg(any(test, fuzzing))]
    fn for_each_free(&self, mut f: impl FnMut(usize)) {
        for cell in self.free.cells() {
            let offset = cell.addr().get() - self.fresh.start().addr().get();
            assert_eq!(offset % self.cell, 0, "a free cell is one");
            f(offset / self.cell);
        }
    }
}

impl InStorage {
    /// # Safety
    ///
    /// `cells` is the start of `capacity` cells for a `T`, which nothing else uses as long as this
    /// is used.
    unsafe fn new<T>(cells: NonNull<u8>, capacity: usize) -> Self {
        InStorage {
            free: Links::new(),
            fresh: Fresh::new(capacity, cells),
            cell: size_of::<StorageCell<T>>(),
            refill: const { refill_of(size_of::<StorageCell<T>>()) },
            #[cfg(target_has_atomic = "ptr")]
            taken: Cell::new(None),
            #[cfg(target_has_atomic = "ptr")]
            returned: Returned::new(),
        }
    }
}

/// Cells that other threads gave back.
#[cfg(target_has_atomic = "ptr")]
impl InStorage {
    /// The list of returned cells of the memory that `way` points to.
    ///
    /// # Safety
    ///
    /// `way` is from a memory that is valid and does not move for `'a`.
    #[inline]
    pub(super) unsafe fn returned<'a>(way: NonNull<InStorage>) -> &'a Returned {
        // SAFETY: alive for `'a` (precondition). Only this field is borrowed: the caller may be on
        // another thread (`returned-shared`).
        unsafe { &(*way.as_ptr()).returned }
    }

    /// Makes up to `most` of the returned cells free; returns how many.
    fn free_returned(&self, most: usize) -> usize {
        self.fresh.note_peak(|| self.free.depth());
        let mut next = self.taken.get().or_else(|| self.returned.take());
        let mut freed = 0;
        while freed < most {
            let Some(cell) = next else { break };
            // SAFETY: a cell that was returned, which holds the next one (`returned-rest`), and
            // which this now owns and gives up.
            unsafe {
                next = Returned::next(cell);
                self.free.push(cell);
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
