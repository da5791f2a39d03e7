//! A pool of equal cells without a byte of metadata in them, for the hottest objects of
//! one size: an order of 64 bytes takes one cache line, and its owner is a pointer.
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//!
//! struct Order { price: u64, quantity: u64 }
//!
//! let pool = Pool::with_capacity(10_000);       // all memory allocated and touched now
//! let mut order: PoolBox<'_, Order> = pool.alloc(Order { price: 100, quantity: 20 }).unwrap();
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
//! engine.live.push(engine.pool.alloc(7).unwrap());
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
//!         list = Some(pool.alloc(Node { value, next: list }).unwrap());
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
/// let leaf = |value| Some(pool.alloc(Node { value, children: [None, None] }).unwrap());
/// let root = pool.alloc(Node { value: 2, children: [leaf(1), leaf(3)] }).unwrap();
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

    /// A free cell, now the caller's (H2); `None` when all are taken, or when the source
    /// of a lazy pool refuses.
    #[inline(always)]
    fn claim(&self) -> Option<NonNull<T>> {
        match self.home().free.pop() {
            Some(cell) => Some(cell.cast()),
            None => self.claim_fresh(),
        }
    }

    /// [`claim`](Self::claim) when only cells that were never used can be free. Without
    /// the error, which would be returned in memory: room on the stack in every
    /// allocation.
    #[cold]
    #[inline(never)]
    fn claim_fresh(&self) -> Option<NonNull<T>> {
        self.reserve_fresh().ok()
    }

    /// A free cell, or the error of having none.
    #[inline(always)]
    fn reserve(&self) -> Result<NonNull<T>, CapacityError> {
        match self.home().free.pop() {
            Some(cell) => Ok(cell.cast()),
            None => self.reserve_fresh(),
        }
    }

    /// [`reserve`](Self::reserve) when only cells that were never used can be free.
    #[cold]
    #[inline(never)]
    fn reserve_fresh(&self) -> Result<NonNull<T>, CapacityError> {
        let cell = (self.memory.refill()).and_then(|()| self.home().free.pop().ok_or(None));
        cell.map(NonNull::cast)
            .map_err(|cause| CapacityError::new(self.capacity(), cause))
    }

    /// Puts a value into a free cell; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// Gives the value back when no cell is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Full;
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::with_capacity(1);
    /// let boxed = pool.alloc(7).unwrap();
    /// assert_eq!(pool.alloc(8).unwrap_err(), Full(8));
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    pub fn alloc(&self, value: T) -> Result<PoolBox<'_, T, M>, Full<T>> {
        let way = self.memory.way();
        let Some(cell) = self.claim() else {
            return Err(Full(value));
        };
        // SAFETY: a cell of ours that has room for a `T`, and no other owner.
        unsafe {
            cell.write(value);
            Ok(PoolBox::new(cell, way))
        }
    }

    /// Builds a value in its cell; O(1) besides `f`, no allocation.
    ///
    /// What `f` returns is written straight into the cell as far as the compiler sees
    /// through it, so a large value is not copied. `f` may use the pool. If it panics the
    /// cell is free again; when no cell is free, it is not called.
    ///
    /// # Errors
    ///
    /// When no cell is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::with_capacity(1);
    /// let message = pool.alloc_with(|| [0_u8; 1500]).unwrap();
    /// assert_eq!(message.len(), 1500);
    /// assert!(pool.alloc_with(|| unreachable!()).is_err());
    /// ```
    #[inline]
    pub fn alloc_with(&self, f: impl FnOnce() -> T) -> Result<PoolBox<'_, T, M>, CapacityError> {
        let way = self.memory.way();
        let cell = self.reserve()?;
        // SAFETY: a cell of ours that has room for a `T`, and no other owner: first the
        // guard, then the box.
        unsafe {
            let vacated = Vacated::<T, M::Memory>::new(cell, way);
            cell.write(f());
            core::mem::forget(vacated);
            Ok(PoolBox::new(cell, way))
        }
    }

    /// Takes a free cell without a value, to be [written](PoolBox::write) later; O(1), no
    /// allocation.
    ///
    /// # Errors
    ///
    /// When no cell is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let vacant = pool.alloc_uninit().unwrap();
    /// let boxed = PoolBox::write(vacant, 7);
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    pub fn alloc_uninit(&self) -> Result<PoolBox<'_, MaybeUninit<T>, M>, CapacityError> {
        let way = self.memory.way();
        let cell = self.reserve()?.cast();
        // SAFETY: a cell of ours, with no other owner, whose value may be uninitialised.
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
    /// let pointer = PoolBox::into_raw(pool.alloc(7).unwrap());
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
    /// let boxed = pool.alloc(7).unwrap();
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
    /// let boxed = pool.alloc(7).unwrap();
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
    /// let sum = *PoolBox::leak(pool.alloc(3).unwrap()) + *PoolBox::leak(pool.alloc(4).unwrap());
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
