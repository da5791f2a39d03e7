//! `PoolBox`: the owner of a value in a pool.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::NonNull;

use super::Heap;
use super::memory::{PoolMemory, Vacated};
use crate::as_value::own_as_value;
use crate::raw::touch::prefetch;
use crate::unsizing::{Coercion, Unsize};

/// The owner of a value in a [`Pool`](super::Pool): dropping it drops the value and frees its cell.
///
/// It is one pointer, 8 bytes, or two for a pool in a [`PoolStorage`](super::PoolStorage).
///
/// [`unsize!`](crate::unsize) turns it into a box of a trait object or a slice, such as
/// `PoolBox<'p, dyn Event>`, which is 8 bytes larger.
///
/// A box borrows its pool. So it cannot outlive the pool, and its cell is freed once, in the right
/// pool. Its functions are associated functions, like those of `Box`, so that they hide no method
/// of the value. A box stays on the thread of its pool. References to its value can be sent to
/// other threads, and so can a [`SendBox`](super::SendBox), which is made from a box of a static
/// pool.
///
/// If a box is forgotten, its cell is taken until the pool is [reset](super::Pool::reset) or
/// dropped, and the value is never dropped.
///
/// # Examples
///
/// ```
/// use flatslab::pool::{Pool, PoolBox};
///
/// let pool = Pool::with_capacity(8);
/// let mut boxed: PoolBox<'_, Vec<u64>> = pool.alloc(vec![1]);
/// boxed.push(2);
/// assert_eq!(PoolBox::into_inner(boxed), [1, 2]);
/// assert!(pool.is_empty());
/// ```
#[must_use = "dropping a box drops its value"]
pub struct PoolBox<'p, T: ?Sized, M: PoolMemory = Heap> {
    /// Has the provenance of the pool's memory.
    value: NonNull<T>,
    way: M::Way,
    /// Owns a `T`, and borrows the pool.
    marker: PhantomData<(&'p (), T)>,
}

#[cfg(feature = "alloc")]
const _: () = {
    assert!(size_of::<PoolBox<'_, [u64; 8]>>() == size_of::<usize>());
    assert!(size_of::<Option<PoolBox<'_, u8>>>() == size_of::<usize>());
};

/// Moving the box does not move the value.
impl<T: ?Sized, M: PoolMemory> Unpin for PoolBox<'_, T, M> {}

// SAFETY: a shared box gives shared access to the value, and to nothing of the pool.
unsafe impl<T: Sync + ?Sized, M: PoolMemory> Sync for PoolBox<'_, T, M> {}

impl<'p, T: ?Sized, M: PoolMemory> PoolBox<'p, T, M> {
    /// # Safety
    ///
    /// The caller owns the cell (`cell-owner`), which holds a value of `T`, and gives it up. The
    /// cell and the way are valid for [`PoolMemory::free`] with the layout of the value, for all of
    /// `'p`.
    #[inline]
    pub(super) unsafe fn new(value: NonNull<T>, way: M::Way) -> Self {
        PoolBox {
            value,
            way,
            marker: PhantomData,
        }
    }

    #[inline]
    pub(super) fn into_parts(boxed: Self) -> (NonNull<T>, M::Way) {
        let parts = (boxed.value, boxed.way);
        core::mem::forget(boxed);
        parts
    }

    /// Prefetches the value into the cache. O(1). This is only a hint.
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let boxed = pool.alloc(7);
    /// PoolBox::prefetch(&boxed);
    /// ```
    #[inline]
    pub fn prefetch(boxed: &Self) {
        prefetch(boxed.value.cast(), size_of_val(&**boxed));
    }

    /// Gives up ownership of the value, and returns a reference to it. O(1).
    ///
    /// The value stays in its cell until the pool is [reset](super::Pool::reset) or dropped, and is
    /// never dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let value: &mut u64 = PoolBox::leak(pool.alloc(7));
    /// *value += 1;
    /// assert_eq!((*value, pool.len()), (8, 1));
    /// ```
    #[inline]
    #[must_use = "the value is lost with the reference"]
    pub fn leak(boxed: Self) -> &'p mut T
    where
        T: 'p,
    {
        let (mut value, _) = Self::into_parts(boxed);
        // SAFETY: the cell's only owner is this reference. The pool is borrowed for
        // `'p`, so its memory stays, and no reset makes the cell free.
        unsafe { value.as_mut() }
    }
}

impl<'p, T, M: PoolMemory> PoolBox<'p, T, M> {
    /// Moves the value out and frees its cell.
    ///
    /// # Complexity
    ///
    /// O(1), one copy of the value; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let boxed = pool.alloc(7);
    /// assert_eq!(PoolBox::into_inner(boxed), 7);
    /// ```
    #[inline]
    #[doc(alias("free", "remove"))]
    pub fn into_inner(boxed: Self) -> T {
        Self::take(boxed).0
    }

    /// Moves the value out and keeps the cell, which can be [written](PoolBox::write) again.
    ///
    /// # Complexity
    ///
    /// O(1), one copy of the value; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let (old, vacant) = PoolBox::take(pool.alloc(7));
    /// let boxed = PoolBox::write(vacant, old + 1);
    /// assert_eq!(*boxed, 8);
    /// ```
    #[inline]
    #[doc(alias = "remove")]
    pub fn take(boxed: Self) -> (T, PoolBox<'p, MaybeUninit<T>, M>) {
        let (value, way) = Self::into_parts(boxed);
        // SAFETY: the box owned the cell, and is forgotten: the value is read once. The new box
        // is the cell's only owner; its value may be uninitialised.
        unsafe { (value.read(), PoolBox::new(value.cast(), way)) }
    }

    /// Turns the box into a pointer to its value, for an intrusive collection. O(1).
    ///
    /// The pool's [`box_from_raw`](super::Pool::box_from_raw) turns the pointer back into a box.
    /// Until then, or until the pool is reset or dropped, the pointer is valid for reads and
    /// writes. It does not borrow the pool, which may move: a struct can hold a pool and such
    /// pointers.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::with_capacity(1);
    /// let pointer = PoolBox::into_raw(pool.alloc(7));
    /// // SAFETY: from `into_raw` of a box of this pool, and taken back once.
    /// let boxed = unsafe { pool.box_from_raw(pointer) };
    /// assert_eq!(*boxed, 7);
    /// ```
    #[inline]
    #[must_use = "the value is lost with the pointer"]
    pub fn into_raw(boxed: Self) -> *mut T {
        Self::into_parts(boxed).0.as_ptr()
    }
}

/// For intrusive collections, which keep nothing of a box but the address of its value.
#[cfg(feature = "intrusive-collections")]
impl<T> PoolBox<'_, T> {
    /// Turns a pointer from [`into_raw`](Self::into_raw) back into the box.
    ///
    /// # Safety
    ///
    /// `value` came from `into_raw` of a box of exactly this type, with the same lifetimes, and no
    /// box has been made from it since. It is that very pointer or a copy of it.
    #[inline]
    pub(crate) unsafe fn of_raw(value: NonNull<T>) -> Self {
        // SAFETY: the box that was given up owned the cell and its value, and no one has owned it
        // since (`cell-owner`). The pool is borrowed for the lifetime of that box, which is the
        // lifetime of this one. The pointer has the provenance of the pool's memory, and a box of
        // a pool on the heap has no other way.
        unsafe { PoolBox::new(value, ()) }
    }
}

impl<T: ?Sized, M: PoolMemory> PoolBox<'static, T, M> {
    /// Pins the value in its cell, without moving it. O(1).
    ///
    /// The pool must be borrowed for `'static`: [leaked](super::Pool::leak) or
    /// [claimed](super::PoolStorage::claim). In any other pool the memory of a pinned box that is
    /// forgotten would be used again without dropping the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool: &'static Pool<_> = Pool::leak(8);
    /// let mut pinned = PoolBox::into_pin(pool.alloc(async { 7 }));
    /// let _future = pinned.as_mut();
    /// ```
    #[inline]
    pub fn into_pin(boxed: Self) -> Pin<Self> {
        // SAFETY: the value is not moved: it is reached through the box alone, whose `Deref`
        // moves nothing, and whose drop drops it in place before the cell is freed. The pool
        // is borrowed for `'static`, so the cell of a box that is forgotten stays taken.
        unsafe { Pin::new_unchecked(boxed) }
    }
}

impl<'p, T: ?Sized, U: ?Sized, M: PoolMemory> Unsize<U> for PoolBox<'p, T, M> {
    type Value = T;
    type Output = PoolBox<'p, U, M>;

    #[inline]
    fn unsize(self, coercion: Coercion<T, U>) -> Self::Output {
        let (value, way) = Self::into_parts(self);
        // SAFETY: the box owned the cell, and is forgotten. The pointer is to the same value, with
        // its provenance, and tells the value's layout (`unsized-alike`).
        unsafe { PoolBox::new(coercion.apply(value), way) }
    }
}

impl<'p, T, M: PoolMemory> PoolBox<'p, MaybeUninit<T>, M> {
    /// Writes a value to the cell. O(1).
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
    pub fn write(mut boxed: Self, value: T) -> PoolBox<'p, T, M> {
        boxed.deref_mut().write(value);
        // SAFETY: the value was just written, and has no other owner.
        unsafe { Self::assume_init(boxed) }
    }

    /// Asserts that the cell holds a value. O(1).
    ///
    /// # Safety
    ///
    /// The cell holds a valid value of `T` that has no other owner. A value that was
    /// [taken](PoolBox::take) or dropped is not one, although its bytes are still there.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{Pool, PoolBox};
    ///
    /// let pool = Pool::<[u64; 512]>::with_capacity(1);
    /// let mut vacant = pool.alloc_uninit();
    /// // SAFETY: zeroes are such an array.
    /// let boxed = unsafe {
    ///     vacant.as_mut_ptr().write_bytes(0, 1);
    ///     PoolBox::assume_init(vacant)
    /// };
    /// assert_eq!(boxed[511], 0);
    /// ```
    #[inline]
    pub unsafe fn assume_init(boxed: Self) -> PoolBox<'p, T, M> {
        let (value, way) = Self::into_parts(boxed);
        // SAFETY: the cell holds a value (precondition). This box is forgotten, so the new one
        // is its only owner.
        unsafe { PoolBox::new(value.cast(), way) }
    }
}

impl<T: ?Sized, M: PoolMemory> Deref for PoolBox<'_, T, M> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value, and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, M: PoolMemory> DerefMut for PoolBox<'_, T, M> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns the value, and is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

/// Drops the value and frees its cell, even if the value's destructor panics.
impl<T: ?Sized, M: PoolMemory> Drop for PoolBox<'_, T, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box owned the cell, and is not used any more. While the destructor runs
        // the cell is taken, so no allocation gets it; it is freed when `_vacated` is dropped. The
        // layout of the value is that for which its pool was made, also of an unsized value
        // (`unsized-alike`).
        unsafe {
            let cell = NonNull::new_unchecked(self.value.as_ptr() as *mut ManuallyDrop<T>);
            let _vacated = Vacated::<_, M>::new(cell, self.way);
            self.value.drop_in_place();
        }
    }
}

own_as_value!(impl [T: ?Sized, M: PoolMemory] for PoolBox<'_, T, M>, as T);
