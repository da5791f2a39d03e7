//! A pool of equal cells without a byte of metadata in them, for the hottest objects of
//! one size: an order of 64 bytes takes one cache line, and its owner is a pointer.
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//!
//! struct Order { price: u64, quantity: u64 }
//!
//! let pool = Pool::with_capacity(10_000);       // all memory allocated and touched now
//! let mut order: PoolBox<'_, Order> = pool.alloc(Order { price: 100, quantity: 20 });
//! order.quantity -= 10;                         // access as through a pointer
//! drop(order);                                  // drops the value, frees the cell
//! assert!(pool.is_empty());
//! ```
//!
//! # When to take it, and when not
//!
//! Take a pool for objects that are made and dropped all the time, have one owner, and
//! are reached by that owner: orders, messages, nodes, connections. What must not go
//! wrong is checked by the compiler: a box borrows its pool, so a double free, a free in
//! another pool, a use after the pool is gone or [reset](Pool::reset) cannot be written.
//!
//! A pool has no keys, does not iterate over its values, and does not grow; its boxes
//! stay on one thread, and a struct cannot hold a pool and its boxes. For keys take a
//! [`KeySlab`](crate::KeySlab), for handles that outlive their slab, or access while a
//! value is shared, a [`BoundedSlab`](crate::BoundedSlab).
//!
//! # Which pool
//!
//! | pool | memory | free list | box |
//! |---|---|---|---|
//! | [`Pool::with_capacity`] | its own | 8 bytes a cell, outside of the cells | 8 bytes |
//! | [`PoolStorage::claim`], [`Pool::in_storage`] | yours: a static, the stack | through the vacant cells | 16 bytes |
//! | [`RecyclingPool`] | its own | 16 bytes a cell, outside | 16 bytes |
//!
//! A free list through the vacant cells takes no memory, but an allocation waits for the
//! load of a cell, which is cold if cells were freed in random order; and no cell is
//! smaller than a pointer. The last pool keeps the values of freed cells, to be used
//! again.
//!
//! An engine that keeps boxes beside their pool has the pool for ever, [leaked](Pool::leak)
//! or in a static:
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//!
//! struct Engine {
//!     pool: &'static Pool<'static, u64>,
//!     live: Vec<PoolBox<'static, u64>>,
//! }
//!
//! let mut engine = Engine { pool: Pool::leak(1024), live: Vec::new() };
//! engine.live.push(engine.pool.alloc(7));
//! ```
//!
//! A pool of a builder, and a [`RecyclingPool`], is leaked with
//! `Box::leak(Box::new(pool))`.
//!
//! In signatures a pool has the lifetime of its memory, and a box that of the borrow:
//! `fn f<'p>(pool: &'p Pool<'_, Order>) -> PoolBox<'p, Order>`.
//!
//! # Rounds
//!
//! Where a structure is built and thrown away in each round, its boxes live in a scope of
//! the round. Forgotten and not dropped, they are all freed by one [`reset`](Pool::reset):
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//!
//! struct Node<'p> {
//!     value: u64,
//!     next: Option<PoolBox<'p, Node<'p>>>,
//! }
//!
//! let mut pool = Pool::with_capacity(100);
//! for _round in 0..3 {
//!     let mut list = None;
//!     for value in 0..100 {
//!         list = Some(pool.alloc(Node { value, next: list }));
//!     }
//!     assert_eq!(list.as_ref().unwrap().value, 99);
//!     core::mem::forget(list); // no destructor runs, no node is visited
//!     pool.reset();
//! }
//! ```
//!
//! # What it costs
//!
//! Allocation and free are O(1) and a handful of instructions, the last cell freed is the
//! first to be used again, and a free does not touch the cell. A cell takes the size of
//! its value; of a value without a size, one byte. [`CacheAligned`] begins a value on a
//! cache line; so does every value of 64 bytes in a pool with memory of its own.
//!
//! Such a pool's cells lie in segments of 2 MiB, or larger ones if eight cells need more
//! (64 KiB where pointers have 32 bits), each after a header of 128 or 192 bytes. Aligned to
//! their size, they lead from the address of a value to its pool. The last segment is only
//! as long as needed; so a small pool takes little memory, but an address that is aligned
//! to 2 MiB, which costs the global allocator 10 µs or so and address space. For very many
//! small pools take a [`BoundedSlab`](crate::BoundedSlab) each, or one pool for all.
//!
//! # Threads
//!
//! A pool is `Send` if its values are, and not `Sync`. A box is not `Send`; it is `Sync`
//! if its value is, so references to values may go to other threads.
//!
//! So an engine that keeps boxes is built on the thread that runs it, with
//! [`Pool::leak`] there. A pool that was [claimed](PoolStorage::claim) elsewhere can be
//! moved to that thread before its first box. An interrupt handler counts as another
//! thread: it can own a pool, but not share one with the main loop.
//!
//! # Without an allocator
//!
//! Without the feature `alloc` (`default-features = false`) only pools in a
//! [`PoolStorage`] are there, and the crate needs no allocator.

mod aligned;
mod boxed;
#[cfg(feature = "alloc")]
mod builder;
#[cfg(feature = "alloc")]
mod heap;
mod home;
mod kinds;
mod lent;
mod memory;
#[cfg(feature = "alloc")]
mod recycling;
mod storage;

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

pub use aligned::CacheAligned;
pub use boxed::PoolBox;
#[cfg(feature = "alloc")]
pub use builder::PoolBuilder;
pub use kinds::{Heap, InStorage, PoolMemory};
#[cfg(feature = "alloc")]
pub use recycling::{RecycledBox, RecyclingPool, RecyclingPoolBuilder};
pub use storage::{PoolStorage, StorageBox};

use crate::error::{AllocError, CapacityError, Full};
use home::FreeCells;
use kinds::Kind;
use memory::{Memory, Vacated};

/// Panics because no cell is free, or ends the program if the allocator has refused memory.
#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: CapacityError) -> ! {
    #[cfg(feature = "alloc")]
    if let Some(error) = error.cause() {
        crate::raw::memory::fail(error);
    }
    panic!("the pool is full: all {} cells are taken", error.capacity())
}

/// A pool of equal cells for values of `T`, without metadata; see the
/// [module](self).
///
/// `'s` is how long its memory is there: `'static`, unless it is a
/// [storage](PoolStorage) of yours.
///
/// Dropping it releases the memory. Its values are those of its boxes, which are gone by
/// then; what was [leaked](PoolBox::leak) or forgotten is not dropped. So values may
/// own boxes of their own pool.
///
/// # Examples
///
/// A tree whose nodes own their children, in one pool:
///
/// ```
/// use flatslab::pool::{Pool, PoolBox};
///
/// struct Node<'p> {
///     value: u64,
///     children: [Option<PoolBox<'p, Node<'p>>>; 2],
/// }
///
/// let pool = Pool::with_capacity(3);
/// let leaf = |value| Some(pool.alloc(Node { value, children: [None, None] }));
/// let root = pool.alloc(Node { value: 2, children: [leaf(1), leaf(3)] });
/// assert_eq!(root.children.iter().flatten().map(|node| node.value).sum::<u64>(), 4);
/// drop(root);
/// assert!(pool.is_empty());
/// ```
pub struct Pool<'s, T, M: PoolMemory = Heap> {
    memory: <M as Kind>::Memory,
    storage: PhantomData<&'s ()>,
    /// Covariant in `T`, for it never gives out a value that was put in; owns none, and
    /// so drops none.
    values: PhantomData<fn() -> T>,
}

// SAFETY: boxes borrow the pool, so none is there when it moves to another thread, and no
// one else uses its memory. What goes along are values that were forgotten or given up as
// raw pointers: they may go there.
unsafe impl<T: Send, M: PoolMemory> Send for Pool<'_, T, M> {}

impl<T, M: PoolMemory> core::panic::RefUnwindSafe for Pool<'_, T, M> {}
impl<T, M: PoolMemory> core::panic::UnwindSafe for Pool<'_, T, M> {}

impl<T, M: PoolMemory> Pool<'_, T, M> {
    #[inline(always)]
    fn home(&self) -> &home::Home<<M::Memory as Memory>::Free> {
        // SAFETY: it is there as long as the memory.
        unsafe { self.memory.home().as_ref() }
    }

    /// A free cell, now the caller's (H2), or the error of having none.
    #[inline(always)]
    fn claim(&self) -> Result<NonNull<T>, CapacityError> {
        match self.home().free.pop() {
            Some(cell) => Ok(cell.cast()),
            None => self.claim_fresh(),
        }
    }

    /// [`claim`](Self::claim) if only cells that were never used can be free.
    #[cold]
    #[inline(never)]
    fn claim_fresh(&self) -> Result<NonNull<T>, CapacityError> {
        let cell = (self.memory.refill()).and_then(|()| self.home().free.pop().ok_or(None));
        cell.map(NonNull::cast)
            .map_err(|cause| CapacityError::new(self.capacity(), cause))
    }

    /// As [`claim`](Self::claim), without the error: that is returned in memory, so every
    /// allocation would need room on the stack for it.
    #[inline(always)]
    fn claim_if_any(&self) -> Option<NonNull<T>> {
        match self.home().free.pop() {
            Some(cell) => Some(cell.cast()),
            None => self.claim_fresh_if_any(),
        }
    }

    #[cold]
    #[inline(never)]
    fn claim_fresh_if_any(&self) -> Option<NonNull<T>> {
        self.claim_fresh().ok()
    }

    /// As [`claim`](Self::claim), or panics.
    #[inline(always)]
    #[track_caller]
    fn claim_or_fail(&self) -> NonNull<T> {
        match self.home().free.pop() {
            Some(cell) => cell.cast(),
            None => self.claim_fresh_or_fail(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn claim_fresh_or_fail(&self) -> NonNull<T> {
        match self.claim_fresh() {
            Ok(cell) => cell,
            Err(error) => fail(error),
        }
    }

    /// Puts a value into a free cell; O(1), no allocation.
    ///
    /// # Panics
    ///
    /// If all cells are taken. If the allocator refuses memory to a
    /// [lazy](PoolBuilder::lazy) pool, the program ends, as with `Box`. This holds for every
    /// method that has a `try_` form.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::with_capacity(1);
    /// let boxed = pool.alloc(7);
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc(&self, value: T) -> PoolBox<'_, T, M> {
        let way = self.memory.way();
        let cell = self.claim_or_fail();
        // SAFETY: a cell of this pool with room for a `T`, which was claimed, so the box is
        // its only owner (H2).
        unsafe {
            cell.write(value);
            PoolBox::new(cell, way)
        }
    }

    /// As [`alloc`](Self::alloc); never panics or aborts.
    ///
    /// # Errors
    ///
    /// Gives the value back if no cell is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Full;
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::with_capacity(1);
    /// let boxed = pool.try_alloc(7).unwrap();
    /// assert_eq!(pool.try_alloc(8).unwrap_err(), Full(8));
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    pub fn try_alloc(&self, value: T) -> Result<PoolBox<'_, T, M>, Full<T>> {
        let way = self.memory.way();
        let Some(cell) = self.claim_if_any() else {
            return Err(Full(value));
        };
        // SAFETY: as in `alloc`.
        unsafe {
            cell.write(value);
            Ok(PoolBox::new(cell, way))
        }
    }

    /// Puts the value that `f` returns into a free cell; O(1) besides `f`, no allocation. A
    /// large value is built in the cell, if the compiler inlines `f`.
    ///
    /// `f` may use the pool. If it panics, the cell is free again. It is not called if no cell
    /// is free.
    ///
    /// # Panics
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::with_capacity(1);
    /// let message = pool.alloc_with(|| [0_u8; 1500]);
    /// assert_eq!(message.len(), 1500);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_with(&self, f: impl FnOnce() -> T) -> PoolBox<'_, T, M> {
        let way = self.memory.way();
        // SAFETY: just claimed, with this way.
        unsafe { Self::build(self.claim_or_fail(), way, f) }
    }

    /// As [`alloc_with`](Self::alloc_with); panics only if `f` does, and never aborts.
    ///
    /// # Errors
    ///
    /// If no cell is free; `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(0);
    /// assert!(pool.try_alloc_with(|| unreachable!()).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_with(
        &self,
        f: impl FnOnce() -> T,
    ) -> Result<PoolBox<'_, T, M>, CapacityError> {
        let way = self.memory.way();
        // SAFETY: just claimed, with this way.
        Ok(unsafe { Self::build(self.claim()?, way, f) })
    }

    /// Builds a value in a cell; the cell is free again if `f` panics.
    ///
    /// # Safety
    ///
    /// The cell was claimed from a pool of this type that is borrowed for `'p`, whose way this
    /// is. The caller gives it up.
    #[inline(always)]
    unsafe fn build<'p>(
        cell: NonNull<T>,
        way: <M::Memory as Memory>::Way,
        f: impl FnOnce() -> T,
    ) -> PoolBox<'p, T, M> {
        // SAFETY: the cell was claimed and has room for a `T` (precondition). Its only owner
        // is first the guard, then the box (H2).
        unsafe {
            let vacated = Vacated::<T, M::Memory>::new(cell, way);
            cell.write(f());
            core::mem::forget(vacated);
            PoolBox::new(cell, way)
        }
    }

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
    pub fn try_alloc_uninit(&self) -> Result<PoolBox<'_, MaybeUninit<T>, M>, CapacityError> {
        let way = self.memory.way();
        let cell = self.claim()?.cast();
        // SAFETY: as in `alloc_uninit`.
        Ok(unsafe { PoolBox::new(cell, way) })
    }

    /// Takes back a box that was given up with [`PoolBox::into_raw`] or
    /// [`PoolBox::leak`]; O(1).
    ///
    /// # Safety
    ///
    /// * `pointer` came from one of these functions, of a box of this pool. Since then no
    ///   box was made of it, and the pool was not reset.
    /// * The cell holds a value of this very `T`, lifetimes included, which was neither
    ///   dropped nor moved out.
    /// * While there is the box, the value is used through it alone. When the box has
    ///   dropped or moved it, no pointer or reference from before is used any more.
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
        // SAFETY: the address is that of a cell of ours, says the caller, with a value of
        // `T`. The caller was its owner (H2) and gives it up. The cell's pointer is made
        // with the provenance of our memory: that of `pointer` may cover the value alone.
        unsafe {
            let address = NonNull::new_unchecked(pointer).addr();
            let cell = self.home().cell_at(address);
            PoolBox::new(cell.cast(), self.memory.way())
        }
    }

    /// How many cells have an owner; O(1). A value counts until its destructor has
    /// returned, and one that was leaked or forgotten counts until the pool is reset.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::with_capacity(8);
    /// let boxed = pool.alloc(7);
    /// assert_eq!(pool.len(), 1);
    /// # drop(boxed);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.home().len()
    }

    /// Whether [`len`](Self::len) is 0; O(1).
    ///
    /// ```
    /// assert!(flatslab::pool::Pool::<u64>::with_capacity(8).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cells there are; O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::pool::Pool::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.home().capacity()
    }

    /// Whether the next allocation fails; O(1).
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::with_capacity(1);
    /// let boxed = pool.alloc(7);
    /// assert!(pool.is_full());
    /// # drop(boxed);
    /// ```
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len() == self.capacity()
    }

    /// Touches the memory of all cells that were never used, so that no allocation
    /// waits for the system to provide a page; O(bytes). For pools in a storage and
    /// [lazy](PoolBuilder::lazy) ones; of any other all is there from the start.
    ///
    /// # Errors
    ///
    /// When the system refuses the memory; the pool is as it was then. Never in a
    /// storage.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolStorage};
    ///
    /// let mut storage = PoolStorage::<u64, 16>::new();
    /// let pool = Pool::in_storage(&mut storage);
    /// pool.prefault()?;
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    pub fn prefault(&self) -> Result<(), AllocError> {
        self.memory.prefault()
    }

    /// Makes all cells free, in the order of a new pool; O(capacity), and O(1) where the
    /// free list goes through the cells of a storage or the pool is lazy.
    ///
    /// No box is there any more. What was leaked or forgotten loses its cell and is not
    /// dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let mut pool = Pool::with_capacity(2);
    /// let sum = *PoolBox::leak(pool.alloc(3)) + *PoolBox::leak(pool.alloc(4));
    /// assert!(sum == 7 && pool.is_full());
    /// pool.reset();
    /// assert!(pool.is_empty());
    /// ```
    pub fn reset(&mut self) {
        // SAFETY: boxes, claims and leaked references borrow the pool, so none of them is
        // used again; whoever has a raw pointer makes no box of it after a reset.
        unsafe { self.memory.reset() };
    }
}

/// Prints how full it is, not what is in it.
impl<T, M: PoolMemory> fmt::Debug for Pool<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// What tests look through.
#[cfg(any(test, fuzzing))]
impl<T, M: PoolMemory> Pool<'_, T, M> {
    /// Panics where an invariant does not hold; O(cells), allocates.
    pub fn check(&self) {
        self.home().check();
    }
}
