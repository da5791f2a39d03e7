//! `BoundedSlab`: one contiguous array of cells, all of it there from the start.

use core::ptr::NonNull;

use crate::error::{AllocError, CapacityError, Full};
use crate::key::Key;
use crate::raw::chunk;
use crate::raw::memory::{self, Block};
use crate::raw::stack::FreeStack;
#[cfg(doc)]
use crate::slab::cell::home;
use crate::slab::cell::home::Home;
use crate::slab::cell::layout::{self, CellPtr};
use crate::slab::cell::place::Place;
use crate::slab::cell::walk::Lookup;
use crate::slab::slot::Slot;
use crate::slab::vacant_slot::VacantSlot;
use crate::slab::{Kind, Memory, TrackedSlab};

/// A slab of fixed capacity: one contiguous array, allocated and touched when
/// it is made. It never allocates afterwards.
///
/// Here are the constructors and the insertions, which fail with [`Full`] or
/// [`CapacityError`] when no slot is free. Everything else is that of
/// [`TrackedSlab`], and on this page too.
///
/// A slot costs the size of a value, 8 bytes of stamp and 8 of free stack.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::with_capacity(100_000);
/// let slot = slab.insert(42).unwrap();
/// *slot.get_mut() = 100;
/// let key = slot.key();
/// assert_eq!(*slab.get(key).unwrap(), 100);
/// assert_eq!(slot.into_inner(), 100);
/// assert!(slab.get(key).is_none());
/// ```
pub type BoundedSlab<T> = TrackedSlab<T, Bounded>;

/// The memory of a [`BoundedSlab`]: one array of cells, and one free stack.
#[expect(
    missing_debug_implementations,
    reason = "users cannot have a value of it"
)]
pub struct Bounded {
    home: NonNull<Home>,
    cells: NonNull<u8>,
    capacity: usize,
}

/// The home is first, so that a pointer to it is one to the whole.
#[repr(C)]
struct BoundedHome {
    home: Home,
    cells: Block,
}

/// # Safety
///
/// As for [`home::Release`]; `home` came from [`Bounded::try_new`].
unsafe fn release(home: NonNull<Home>) {
    // SAFETY: `try_new` leaked this block, and by L2 this is the last use.
    drop(unsafe { Block::reclaim(home.cast::<BoundedHome>()) });
}

impl Bounded {
    /// Memory for cells of `T`: every page touched, every cell on the stack,
    /// ascending.
    ///
    /// # Errors
    ///
    /// Past the limits, or when the allocator refuses; nothing is leaked then.
    fn try_new<T>(capacity: usize) -> Result<Self, AllocError> {
        let block = chunk::allocate(chunk::layout(CellPtr::<T>::LAYOUT, capacity)?)?;
        let stack = FreeStack::try_new(capacity)?;
        let cells = block.start();
        // SAFETY: laid out for that many cells, which are unused. Each is free
        // and pushed once; that touches every page of the stack too.
        unsafe {
            layout::stamp_all::<T>(cells, capacity, Key::from_raw);
            stack.refill(chunk::cells(cells, CellPtr::<T>::SIZE, capacity).map(Some));
        }
        let home = Home::new(stack, capacity, release);
        home.remove_fresh(capacity);
        let body = BoundedHome { home, cells: block };
        let home = Block::leak(body).map_err(|(error, _)| error)?.cast();
        Ok(Bounded {
            home,
            cells,
            capacity,
        })
    }
}

// SAFETY: the home is kept by the slab, and its one chunk has `capacity` cells,
// all stamped when it was built.
unsafe impl Lookup for Bounded {
    #[inline(always)]
    fn home(&self) -> NonNull<Home> {
        self.home
    }

    #[inline(always)]
    fn bound(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    unsafe fn cell<T>(&self, key: Key) -> CellPtr<T> {
        // SAFETY: the chunk has `capacity` cells of `T`, says the caller, and
        // its layout fits `isize`.
        CellPtr::new(unsafe { self.cells.add(key.index() * CellPtr::<T>::SIZE) })
    }

    #[inline(always)]
    fn row_end(&self, _: Key) -> usize {
        self.capacity
    }

    #[inline(always)]
    fn changes(&self) -> u64 {
        0
    }
}

impl Kind for Bounded {
    const NAME: &'static str = "BoundedSlab";

    #[inline(always)]
    unsafe fn claim_when_empty<T>(&self) -> Result<Place<T>, Option<AllocError>> {
        Err(None)
    }
}

impl Memory for Bounded {}

impl<T> TrackedSlab<T, Bounded> {
    /// A slab of `capacity` slots; O(capacity). Allocates everything it will
    /// ever use, and touches every page of it. A slab of no slots is always
    /// full.
    ///
    /// # Panics
    ///
    /// If `capacity` is 2^30 or more, or its bytes pass `isize::MAX`. Where the
    /// allocator refuses the program ends, as with `Vec`.
    /// [`try_with_capacity`](Self::try_with_capacity) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::<u64>::with_capacity(8);
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::try_with_capacity(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// A slab of `capacity` slots, like [`with_capacity`](Self::with_capacity);
    /// never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `capacity` is 2^30 or more, its bytes pass `isize::MAX`, or the
    /// allocator refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// assert!(BoundedSlab::<u64>::try_with_capacity(8).is_ok());
    /// assert!(BoundedSlab::<u64>::try_with_capacity(1 << 30).is_err());
    /// ```
    pub fn try_with_capacity(capacity: usize) -> Result<Self, AllocError> {
        // SAFETY: made for cells of `T`.
        Ok(unsafe { Self::new_in(Bounded::try_new::<T>(capacity)?) })
    }

    /// A slab that lives for ever, for handles without a lifetime in a static
    /// or across a whole program.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](Self::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Key};
    ///
    /// struct Node { me: Key, parent: Key }
    ///
    /// let slab = BoundedSlab::<Node>::leak(1024);
    /// let root = slab.insert_with(|s| Node { me: s.key(), parent: Key::NONE }).unwrap();
    /// let parent = root.leak();
    /// let child = slab.insert_with(|s| Node { me: s.key(), parent }).unwrap();
    /// assert_eq!(child.get().parent, parent);
    /// assert_eq!(child.get().me, child.key());
    /// ```
    #[track_caller]
    #[must_use]
    pub fn leak(capacity: usize) -> &'static Self
    where
        T: 'static,
    {
        match Self::try_leak(capacity) {
            Ok(slab) => slab,
            Err(error) => memory::fail(error),
        }
    }

    /// A slab that lives for ever, like [`leak`](Self::leak); never panics or
    /// aborts.
    ///
    /// # Errors
    ///
    /// As [`try_with_capacity`](Self::try_with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab: &'static BoundedSlab<u64> = BoundedSlab::try_leak(8).unwrap();
    /// assert!(BoundedSlab::<u64>::try_leak(usize::MAX).is_err());
    /// # let _ = slab;
    /// ```
    pub fn try_leak(capacity: usize) -> Result<&'static Self, AllocError>
    where
        T: 'static,
    {
        let slab = Self::try_with_capacity(capacity)?;
        let slab = Block::leak(slab).map_err(|(error, _slab)| error)?;
        // SAFETY: leaked, so valid for ever, and never reached mutably.
        Ok(unsafe { slab.as_ref() })
    }

    /// Puts a value into a free slot; O(1), no allocation.
    ///
    /// The slot owns the value: `slab.insert(7).unwrap().key()` drops both at the
    /// semicolon, and leaves the key of nothing.
    /// [`insert_key`](Self::insert_key) keeps the value.
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Full};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// assert_eq!(slab.insert(8).unwrap_err(), Full(8));
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn insert(&self, value: T) -> Result<Slot<T>, Full<T>> {
        self.try_insert(value)
    }

    /// Puts a value into a free slot and gives it to its key: it stays until it
    /// is removed by key, taken back into a [`slot`](Self::slot), or dropped
    /// with the slab. O(1), no allocation.
    ///
    /// The same as [`insert`](Self::insert) and [`Slot::leak`].
    ///
    /// # Errors
    ///
    /// Gives the value back when no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::{BoundedSlab, Full};
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let key = slab.insert_key(7).unwrap();
    /// assert_eq!(slab.insert_key(8), Err(Full(8)));
    /// assert_eq!(slab.remove_by_key(key), 7);
    /// ```
    #[inline]
    pub fn insert_key(&self, value: T) -> Result<Key, Full<T>> {
        self.try_insert_key(value)
    }

    /// Builds a value that knows its key and address; O(1) besides `f`, no
    /// allocation.
    ///
    /// The slot is reserved while `f` runs, and `f` may use the slab. If `f`
    /// panics the slot is given back. When no slot is free, `f` is not called.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let slot = slab.insert_with(|vacant| vacant.key()).unwrap();
    /// assert_eq!(*slot.get(), slot.key());
    /// ```
    #[inline]
    pub fn insert_with<F>(&self, f: F) -> Result<Slot<T>, CapacityError>
    where
        F: FnOnce(&VacantSlot<T>) -> T,
    {
        self.try_insert_with(f)
    }

    /// Reserves a slot, to be filled later; O(1), no allocation.
    ///
    /// # Errors
    ///
    /// When no slot is free.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let vacant = slab.vacant_slot().unwrap();
    /// assert!(slab.is_full());
    /// let slot = vacant.insert(7);
    /// # drop(slot);
    /// ```
    #[inline]
    pub fn vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError> {
        self.try_vacant_slot()
    }
}
