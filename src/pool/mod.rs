//! Pools of equal cells without metadata, for objects of one type that are created and dropped all
//! the time.
//!
//! An order of 64 bytes takes one cache line, and its owner is a pointer.
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
//! # When to use it
//!
//! Use a pool for objects that are created and dropped all the time, have one owner, and are
//! reached through that owner: orders, messages, nodes, connections. A box borrows its pool, so
//! these mistakes do not compile: freeing twice, freeing in another pool, and using a box after its
//! pool was dropped or [reset](Pool::reset).
//!
//! A pool has no keys, does not iterate over its values, and does not grow. Its boxes stay on one
//! thread, and a struct cannot hold both a pool and its boxes. If you need keys, use a
//! [`KeySlab`](crate::KeySlab). If you need handles that outlive their slab, or access to a shared
//! value, use a [`BoundedSlab`](crate::BoundedSlab).
//!
//! # Which pool
//!
//! | pool | memory | free list | box |
//! |---|---|---|---|
//! | [`Pool::with_capacity`] | the heap | 8 bytes a cell, outside of the cells | 8 bytes |
//! | [`PoolStorage::claim`], [`Pool::in_storage`] | the caller's: a static, the stack, [a box](#boxed-storages) | through the vacant cells | 16 bytes |
//! | [`RecyclingPool`] | the heap | 16 bytes a cell, outside of the cells | 16 bytes |
//!
//! A free list through the vacant cells takes no memory, but then no cell is smaller than a
//! pointer, and an allocation waits for the load of a cell. That cell is not in the cache if cells
//! were freed in random order. A [`RecyclingPool`] keeps the values of freed cells and uses them
//! again.
//!
//! # Boxed storages
//!
//! For a pool on the heap whose free list takes no memory, box a [`PoolStorage`]. Its capacity is a
//! constant. If the box is leaked, the pool is `'static`, and any struct can hold its boxes:
//!
//! ```
//! use flatslab::pool::{InStorage, Pool, PoolStorage, StorageBox};
//!
//! struct Engine {
//!     pool: &'static Pool<'static, u64, InStorage>,
//!     live: Vec<StorageBox<'static, u64>>,
//! }
//!
//! let storage: &'static PoolStorage<u64, 1024> = Box::leak(PoolStorage::boxed());
//! let mut engine = Engine { pool: storage.claim().unwrap(), live: Vec::new() };
//! engine.live.push(engine.pool.alloc(7));
//! ```
//!
//! If the storage is a field of a struct, it is freed with the struct. Each method that needs the
//! pool creates it, which is O(1):
//!
//! ```
//! use flatslab::pool::{Pool, PoolStorage};
//!
//! struct Decoder {
//!     scratch: Box<PoolStorage<[u8; 64], 256>>,
//! }
//!
//! impl Decoder {
//!     fn decode(&mut self, text: &str) -> usize {
//!         let pool = Pool::in_storage(&mut self.scratch);
//!         let fields: Vec<_> = text.split(' ').map(|field| {
//!             let mut cell = pool.alloc([0; 64]);
//!             cell[..field.len()].copy_from_slice(field.as_bytes());
//!             cell
//!         }).collect();
//!         fields.len()
//!     }
//! }
//!
//! let mut decoder = Decoder { scratch: PoolStorage::boxed() };
//! assert_eq!(decoder.decode("price quantity"), 2);
//! ```
//!
//! Such a pool is slower if cells are freed in random order, because an allocation learns the next
//! free cell only by loading a link from the last one. The following times are for 8,192 values of
//! 8 bytes, as multiples of those of a stack of bare pointers without any check, the *bare floor*
//! of BENCHMARKS.md, "Pools". An insertion after frees in random order takes 3.2 times as long (12
//! cycles), and 0.96 times in a pool from [`Pool::with_capacity`]. A random removal followed by an
//! insertion takes 1.8 times as long, and 1.2 times in that pool. If the cell that was allocated
//! last is freed first, these times are 1.2 and 1.04.
//!
//! # Pools in a struct
//!
//! A struct that holds a pool and its boxes needs a pool with a `'static` lifetime:
//! [leaked](Pool::leak), or in a static.
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
//! A pool from a builder, or a [`RecyclingPool`], is leaked with `Box::leak(Box::new(pool))`.
//!
//! In a signature, the lifetime of a pool is that of its memory, and the lifetime of a box is that
//! of its borrow of the pool:
//! `fn f<'p>(pool: &'p Pool<'_, Order>) -> PoolBox<'p, Order>`.
//!
//! # Values of several types
//!
//! A pool has values of one type. Boxes of several pools become boxes of one type by
//! [`unsize!`](crate::unsize), such as `PoolBox<'p, dyn Event>` of 16 bytes, and can then be in
//! one queue.
//!
//! # Rounds
//!
//! If a structure is built and thrown away in each round of a loop, forget its boxes at the end of
//! the round. One [`reset`](Pool::reset) then frees all their cells:
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
//! An allocation or a free is O(1) and takes a handful of instructions. The cell that was freed
//! last is allocated first, and a free does not touch the cell (in a storage it writes a link to
//! it). A cell has the size of its value, or one byte if that size is 0. [`CacheAligned`] aligns a
//! value to a cache line. Values of 64 bytes in a pool on the heap are always aligned to one.
//!
//! If no cell is free, [`alloc`](Pool::alloc) panics and [`try_alloc`](Pool::try_alloc) returns the
//! value. A box that is forgotten keeps its cell until the pool is [reset](Pool::reset) or dropped,
//! and its value is never dropped.
//!
//! A pool on the heap touches all its memory at construction, so no allocation faults, unless it
//! was built [`lazy`](Pool::builder). A storage is not touched before it is used: the first
//! allocation in a page may fault, unless [`prepare`](Pool::prepare) has touched the page.
//!
//! The cells of a pool on the heap lie in segments of 2 MiB (64 KiB on 32-bit targets), or larger
//! ones if eight cells need more. Each segment starts with a header of 128 or 192 bytes, and is
//! aligned to its size, so that the address of a value identifies its pool. The last segment is
//! only as long as needed, so a small pool takes little memory. But its address is still aligned to
//! 2 MiB, which costs address space and about 10 µs in the global allocator. If you need very many
//! small pools, use a [`BoundedSlab`](crate::BoundedSlab) for each, or one pool for all.
//!
//! # Threads
//!
//! A pool is `Send` if its values are, and not `Sync`. A box is not `Send`. It is `Sync` if its
//! value is, so references to values can be sent to other threads.
//!
//! So a struct with a [leaked](Pool::leak) pool and its boxes must be created on the thread that
//! uses it. A pool that was [claimed](PoolStorage::claim) elsewhere can be moved to that thread
//! before its first `'static` box is created.
//!
//! An interrupt handler counts as another thread: it can own a pool, but cannot share one with the
//! main loop. It can pass values on in [`SendBox`]es, which are made from boxes of a static pool and
//! return their cells when they are dropped. A handler that allocates claims its pool when it first
//! runs, and keeps it in a variable of its own; `&'static Pool` must not be passed to other
//! contexts. A handler that only receives boxes needs no pool: the main loop owns it and reclaims
//! the cells.
//!
//! # Without an allocator
//!
//! Without the feature `alloc` (`default-features = false`) the crate needs no allocator, and has
//! only pools in a [`PoolStorage`], and key slabs in a
//! [`KeySlabStorage`](crate::key_slab::KeySlabStorage).
//!
//! Firmware that only uses the `try_` methods of such a pool links no panic: an optimised build
//! contains none for `claim`, `try_alloc`, dropping a box, `reset`, `receive` and `reclaim`. A
//! program for Cortex-M whose panic handler cannot be linked checks that.

// | file | what |
// |---|---|
// | `memory.rs` | what a pool needs from its memory, and the cells that were never used |
// | `heap.rs`, `options.rs` | memory that the pool allocates; constructors and builder of such pools |
// | `storage.rs`, `links.rs` | the caller's memory; lists through the cells |
// | `boxed.rs`, `send_box.rs` | `PoolBox`; boxes that can be sent to other threads |
// | `recycling.rs`, `aligned.rs` | `RecyclingPool`; a value on lines of its own |

mod aligned;
mod boxed;
#[cfg(feature = "alloc")]
mod heap;
mod links;
mod memory;
#[cfg(feature = "alloc")]
mod options;
#[cfg(feature = "alloc")]
mod recycling;
#[cfg(target_has_atomic = "ptr")]
mod send_box;
mod storage;

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

pub use aligned::CacheAligned;
pub use boxed::PoolBox;
#[cfg(feature = "alloc")]
pub use heap::Heap;
#[cfg(not(feature = "alloc"))]
pub use memory::Heap;
pub use memory::PoolMemory;
#[cfg(feature = "alloc")]
pub use recycling::{RecycledBox, RecyclingPool};
#[cfg(target_has_atomic = "ptr")]
pub use send_box::SendBox;
pub use storage::{InStorage, PoolStorage, StorageBox};

use crate::error::{AllocError, FullError};
use crate::raw::held::Held;
use crate::stats::Stats;

/// Panics because no cell is free, or aborts if the allocator has refused memory.
#[cold]
#[inline(never)]
#[track_caller]
fn fail(error: AllocError) -> ! {
    if let AllocError::Full { capacity } = error {
        panic!("pool is full (capacity {capacity})");
    }
    #[cfg(feature = "alloc")]
    crate::raw::memory::fail(error);
    #[cfg(not(feature = "alloc"))]
    panic!("{error}");
}

/// A pool of boxes for values of one type, in equal cells without metadata; see the [module](self).
///
/// `'s` is the lifetime of its memory: `'static`, unless the pool borrows a [storage](PoolStorage).
///
/// Dropping a pool frees its memory. All its boxes are dropped by then. Values that were
/// [leaked](PoolBox::leak) or forgotten are not dropped, which is why values can own boxes of their
/// own pool.
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
    memory: M,
    storage: PhantomData<&'s ()>,
    /// Covariant in `T`: a pool never returns a value that was put in. It owns no values, and so
    /// drops none.
    values: PhantomData<fn() -> T>,
    /// A pool is for one thread, whatever its memory is.
    not_sync: PhantomData<Cell<()>>,
}

// SAFETY: boxes borrow the pool, so there is none when it moves to another thread, and nothing
// else uses its memory. Values that were forgotten or given up as raw pointers move with it,
// and are `Send`.
unsafe impl<T: Send, M: PoolMemory> Send for Pool<'_, T, M> {}

impl<T, M: PoolMemory> core::panic::RefUnwindSafe for Pool<'_, T, M> {}
impl<T, M: PoolMemory> core::panic::UnwindSafe for Pool<'_, T, M> {}

/// A box of a cell that was claimed.
type Vacant<'p, T, M> = PoolBox<'p, MaybeUninit<T>, M>;

impl<T, M: PoolMemory> Pool<'_, T, M> {
    /// Takes a free cell, or returns the error of a full pool.
    #[inline]
    fn claim(&self) -> Result<Vacant<'_, T, M>, AllocError> {
        match self.pop() {
            Some(vacant) => Ok(vacant),
            None => self.claim_fresh(),
        }
    }

    /// Takes the cell that was freed last.
    #[inline]
    fn pop(&self) -> Option<Vacant<'_, T, M>> {
        let way = self.memory.way();
        let cell = self.memory.pop()?.cast();
        // SAFETY: just taken from this memory, so the box is its only owner (`cell-owner`); its value
        // may be uninitialised.
        Some(unsafe { PoolBox::new(cell, way) })
    }

    /// Like [`claim`](Self::claim), if only cells that were never used can be free.
    #[cold]
    #[inline(never)]
    fn claim_fresh(&self) -> Result<Vacant<'_, T, M>, AllocError> {
        let vacant = (self.memory.refill()).and_then(|()| self.pop().ok_or(None));
        vacant.map_err(|cause| {
            self.memory.fresh().count_refusal();
            cause.unwrap_or(AllocError::Full {
                capacity: self.capacity(),
            })
        })
    }

    /// Like [`claim_fresh`](Self::claim_fresh), without the error: an error is returned in memory,
    /// so every allocation would need room on the stack for it.
    #[cold]
    #[inline(never)]
    fn claim_fresh_if_any(&self) -> Option<Vacant<'_, T, M>> {
        self.claim_fresh().ok()
    }

    /// Moves a value into a cell from `look`, and takes the cell.
    ///
    /// The order matters, and so does the cold function that is passed the value. If the list
    /// changed first, or one write followed both paths, the compiler would copy a value that is
    /// behind a reference to the stack first, in other widths than it is moved out in. A removal
    /// soon after would wait for all of these stores.
    ///
    /// # Safety
    ///
    /// The cell and the rest came from a look at the free list of this pool, which has not changed
    /// since; the way is its memory's.
    #[inline]
    unsafe fn put(
        &self,
        way: M::Way,
        (cell, rest): (NonNull<u8>, M::Rest),
        value: T,
    ) -> PoolBox<'_, T, M> {
        let cell = cell.cast::<T>();
        // SAFETY: a free cell with room for a `T` (`cell-memory`), on which the list does not
        // depend any more; to move a value runs no user code. The cell has a value then, and the box
        // is its only owner (`cell-owner`).
        unsafe {
            cell.write(value);
            self.memory.take(rest);
            PoolBox::new(cell, way)
        }
    }

    /// Moves a value into a cell that was never used.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn put_fresh_or_fail(&self, held: Held<T>) -> PoolBox<'_, T, M> {
        PoolBox::write(self.claim_fresh_or_fail(), held.value)
    }

    /// Moves a value into a cell that was never used, or returns it.
    #[cold]
    #[inline(never)]
    fn put_fresh(&self, held: Held<T>) -> Result<PoolBox<'_, T, M>, FullError<T>> {
        match self.claim_fresh_if_any() {
            Some(vacant) => Ok(PoolBox::write(vacant, held.value)),
            None => Err(FullError(held.value)),
        }
    }

    /// Like [`claim`](Self::claim), but panics if no cell is free.
    #[inline]
    #[track_caller]
    fn claim_or_fail(&self) -> Vacant<'_, T, M> {
        match self.pop() {
            Some(vacant) => vacant,
            None => self.claim_fresh_or_fail(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn claim_fresh_or_fail(&self) -> Vacant<'_, T, M> {
        match self.claim_fresh() {
            Ok(vacant) => vacant,
            Err(error) => fail(error),
        }
    }

    /// Moves a value into a free cell, and returns a box that owns it.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// If no cell is free. If the allocator refuses memory to a [lazy](Pool::builder) pool, the
    /// program aborts, as with `Box`. Both hold for every method that has a `try_` form.
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
    #[doc(alias("insert", "push", "emplace", "acquire"))]
    pub fn alloc(&self, value: T) -> PoolBox<'_, T, M> {
        let way = self.memory.way();
        let Some(free) = self.memory.look() else {
            return self.put_fresh_or_fail(Held::new(value));
        };
        // SAFETY: `look` returned `free`, and the list has not changed since.
        unsafe { self.put(way, free, value) }
    }

    /// Moves a value into a free cell, or returns it in an error; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if no cell is free, or the allocator refuses memory to a lazy pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::FullError;
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::with_capacity(1);
    /// let boxed = pool.try_alloc(7).unwrap();
    /// assert_eq!(pool.try_alloc(8).unwrap_err(), FullError(8));
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    pub fn try_alloc(&self, value: T) -> Result<PoolBox<'_, T, M>, FullError<T>> {
        let way = self.memory.way();
        let Some(free) = self.memory.look() else {
            return self.put_fresh(Held::new(value));
        };
        // SAFETY: `look` returned `free`, and the list has not changed since.
        Ok(unsafe { self.put(way, free, value) })
    }

    /// Calls `f`, moves the value that it returns into a free cell, and returns a box that owns the
    /// value.
    ///
    /// If the compiler inlines `f`, a large value is created directly in the cell. `f` may use the
    /// pool. It is not called if no cell is free. If it panics, the cell is freed.
    ///
    /// # Complexity
    ///
    /// O(1) besides `f`; does not allocate.
    ///
    /// # Panics
    ///
    /// If no cell is free, or if `f` panics.
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
    #[doc(alias("insert_with", "emplace_with"))]
    pub fn alloc_with(&self, f: impl FnOnce() -> T) -> PoolBox<'_, T, M> {
        Self::build(self.claim_or_fail(), f)
    }

    /// Calls `f` and moves the value that it returns into a free cell, or returns an error.
    ///
    /// Like [`alloc_with`](Self::alloc_with), but panics only if `f` does, and never aborts.
    ///
    /// # Errors
    ///
    /// If no cell is free, or the allocator refuses memory to a lazy pool. `f` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(0);
    /// assert!(pool.try_alloc_with(|| unreachable!()).is_err());
    /// ```
    #[inline]
    pub fn try_alloc_with(&self, f: impl FnOnce() -> T) -> Result<PoolBox<'_, T, M>, AllocError> {
        Ok(Self::build(self.claim()?, f))
    }

    /// Builds a value in its cell, which is freed if `f` panics.
    #[inline]
    fn build<'p>(mut vacant: Vacant<'p, T, M>, f: impl FnOnce() -> T) -> PoolBox<'p, T, M> {
        vacant.write(f());
        // SAFETY: the value was just written, and has no other owner.
        unsafe { PoolBox::assume_init(vacant) }
    }

    /// Takes a free cell and returns it without a value; [`PoolBox::write`] fills it later.
    ///
    /// # Complexity
    ///
    /// O(1); does not allocate.
    ///
    /// # Panics
    ///
    /// If no cell is free.
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
    #[doc(alias("claim", "vacant_slot"))]
    pub fn alloc_uninit(&self) -> PoolBox<'_, MaybeUninit<T>, M> {
        self.claim_or_fail()
    }

    /// Takes a free cell and returns it without a value, or returns an error; never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// If no cell is free, or the allocator refuses memory to a lazy pool.
    ///
    /// # Examples
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(0);
    /// assert!(pool.try_alloc_uninit().is_err());
    /// ```
    #[inline]
    pub fn try_alloc_uninit(&self) -> Result<PoolBox<'_, MaybeUninit<T>, M>, AllocError> {
        self.claim()
    }

    /// Turns a pointer from [`PoolBox::into_raw`] or [`PoolBox::leak`] back into a box. O(1).
    ///
    /// # Safety
    ///
    /// * `pointer` was returned by one of these functions, for a box of this pool. Since then it
    ///   was not turned into a box, and the pool was not reset.
    /// * The cell holds a value of exactly this `T`, including its lifetimes, which was neither
    ///   dropped nor moved out.
    /// * While the box exists, the value is used only through it. Once the box has dropped or moved
    ///   the value, no earlier pointer or reference to it is used.
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
        // caller is its owner (`cell-owner`) and gives it up (preconditions). The cell's pointer
        // gets the provenance of the pool's memory; that of `pointer` may cover the value alone.
        unsafe {
            let address = NonNull::new_unchecked(pointer).addr();
            let cell = self.memory.fresh().cell_at(address);
            PoolBox::new(cell.cast(), self.memory.way())
        }
    }

    /// Returns the number of taken cells. O(1).
    ///
    /// A value counts until its destructor has returned. A value that was leaked or forgotten
    /// counts until the pool is reset.
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
        self.used() - self.memory.free_cells()
    }

    /// Number of cells that have ever been taken.
    fn used(&self) -> usize {
        self.memory.fresh().used()
    }

    /// Returns whether no cell is taken. O(1).
    ///
    /// ```
    /// assert!(flatslab::pool::Pool::<u64>::with_capacity(8).is_empty());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of cells. O(1).
    ///
    /// ```
    /// assert_eq!(flatslab::pool::Pool::<u64>::with_capacity(8).capacity(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.memory.fresh().capacity()
    }

    /// Returns the figures of the pool: cells, bytes, and what was counted. O(1); does not allocate.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::with_capacity(8);
    /// let boxed = pool.alloc(7);
    /// let stats = pool.stats();
    /// assert_eq!((stats.live, stats.free, stats.refusals), (1, 7, Some(0)));
    /// println!("{stats}");
    /// # drop(boxed);
    /// ```
    #[must_use]
    #[doc(alias("metrics", "high_water"))]
    pub fn stats(&self) -> Stats {
        let (live, capacity) = (self.len(), self.capacity());
        Stats {
            peak: self.memory.fresh().peak(self.memory.free_cells()),
            refusals: Some(self.memory.fresh().refusals()),
            ..Stats::new(live, capacity - live, capacity, self.memory.bytes())
        }
    }

    /// Returns whether all cells are taken, so that the next allocation fails. O(1).
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

    /// Allocates and touches the memory of the next `cells` allocations, so that none of them waits
    /// for the system to provide a page.
    ///
    /// If fewer cells are free, it touches the memory of all of them. This is for pools in a
    /// storage and for [lazy](Pool::builder) pools; other pools touch all their memory at
    /// construction.
    ///
    /// # Complexity
    ///
    /// O(n) for n bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory; the pool is unchanged then. A pool in a storage never
    /// returns an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolStorage};
    ///
    /// let mut storage = PoolStorage::<u64, 16>::new();
    /// let pool = Pool::in_storage(&mut storage);
    /// pool.prepare(16)?;
    /// # Ok::<(), flatslab::AllocError>(())
    /// ```
    #[doc(alias("touch", "prefault", "warm_up"))]
    pub fn prepare(&self, cells: usize) -> Result<(), AllocError> {
        self.memory.prepare(cells)
    }

    /// Frees all cells, in the order of a new pool.
    ///
    /// No box exists at this point, because boxes borrow the pool. Values that were leaked or
    /// forgotten are not dropped.
    ///
    /// # Complexity
    ///
    /// O(capacity), or O(1) if the pool is in a storage or [lazy](Pool::builder).
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
        // SAFETY: boxes, claims and leaked references borrow the pool, so none of them is used
        // again. No box is made from a raw pointer after a reset (`box_from_raw`).
        unsafe { self.memory.reset() };
    }
}

/// Prints the number of taken cells and the capacity, not the values.
impl<T, M: PoolMemory> fmt::Debug for Pool<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// For tests.
#[cfg(any(test, fuzzing))]
impl<T, M: PoolMemory> Pool<'_, T, M> {
    /// Panics if an invariant does not hold; O(cells), allocates.
    pub fn check(&self) {
        self.memory.check();
    }
}
