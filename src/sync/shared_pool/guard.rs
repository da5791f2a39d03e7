//! `Pooled`: a value of a pool, which returns to it; and the methods that take one.
//!
//! A guard holds a pointer to the cell, not a reference: dropping the guard gives the cell to
//! another thread, which a reference would exclude until the call returns.

use alloc::sync::Arc;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
#[cfg(feature = "std")]
use std::time::{Duration, Instant};

use super::cell::{Cell, Place, State};
use super::{SharedPool, Taken};
use crate::as_value::print_as_value;

/// A value that was taken from a [`SharedPool`]: dropping it resets the value and gives it back.
///
/// `P` is how the guard keeps the pool. [`SharedPool::take`] borrows the pool, so its guard is a
/// `Pooled<T, &SharedPool<T>>` of 16 bytes. [`SharedPool::take_owned`] clones the `Arc` of the pool,
/// so that a struct can hold the guard, and a queue can send it. The last owner of the pool drops
/// it with all its idle values, and that may be a guard.
///
/// If a guard is forgotten, its cell stays taken, and its value is never dropped. The functions of a
/// guard are associated functions, so that they hide no method of the value.
///
/// It is `Send` if `T` is, and `Sync` if `T` is `Send` and `Sync`.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use flatslab::sync::{Pooled, SharedPool};
///
/// struct Frame { bytes: Pooled<Vec<u8>> }
///
/// let pool = Arc::new(SharedPool::with_capacity(8, Vec::new, Vec::clear));
/// let mut frame = Frame { bytes: pool.take_owned().unwrap() };
/// frame.bytes.extend(b"a frame");
/// assert_eq!(std::thread::spawn(move || frame.bytes.len()).join().unwrap(), 7);
/// let mut again = pool.take().unwrap();
/// assert!(again.is_empty() && again.capacity() >= 7);
/// ```
#[must_use = "dropping it gives the value back to the pool"]
pub struct Pooled<T, P: Deref<Target = SharedPool<T>> = Arc<SharedPool<T>>> {
    cell: NonNull<Cell<T>>,
    pool: P,
}

// SAFETY: it owns the value, which may be used and given back on another thread (`taken-alone`).
unsafe impl<T: Send, P: Deref<Target = SharedPool<T>> + Send> Send for Pooled<T, P> {}
// SAFETY: a shared guard gives shared references to the value, and to what keeps the pool.
unsafe impl<T: Sync, P: Deref<Target = SharedPool<T>> + Sync> Sync for Pooled<T, P> {}

impl<T> SharedPool<T> {
    /// Takes an idle value, or a new one if there is none and a cell is empty.
    ///
    /// Returns `None` if all cells were taken at one moment during the call. A program that never
    /// has more values than cells is therefore never refused, even if a thread is stopped within an
    /// operation; of pools of more than 256 cells, [a thread that is stopped while it gives a cell
    /// back](crate::sync::SharedSlab::insert) may hide a cell. If `init` panics, the cell is empty again.
    ///
    /// # Complexity
    ///
    /// O(1) besides `init` (see [above](Self#how-long-an-operation-takes)); the pool does not
    /// allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = SharedPool::with_capacity(1, || vec![7], Vec::clear);
    /// let value = pool.take().unwrap();
    /// assert_eq!(*value, [7]);
    /// assert!(pool.take().is_none());
    /// drop(value);
    /// assert!(pool.take().unwrap().is_empty());
    /// ```
    #[inline]
    #[doc(alias("acquire", "pull", "get"))]
    pub fn take(&self) -> Option<Pooled<T, &SharedPool<T>>> {
        Some(self.guard(self.take_cell()?))
    }

    /// Takes a value like [`take`](Self::take), with a guard that owns an `Arc` of the pool, for
    /// threads and tasks without a scope.
    ///
    /// # Complexity
    ///
    /// O(1) besides `init`; the pool does not allocate. It also counts in the `Arc`, twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = Arc::new(SharedPool::with_capacity(1, || 7, |_| {}));
    /// let value = pool.take_owned().unwrap();
    /// drop(pool);
    /// assert_eq!(std::thread::spawn(move || *value).join().unwrap(), 7);
    /// ```
    #[inline]
    pub fn take_owned(self: &Arc<Self>) -> Option<Pooled<T>> {
        Some(self.take()?.into_owned(self))
    }

    /// Takes a value like [`take`](Self::take); sleeps until there is one.
    ///
    /// A value that comes back wakes one sleeping thread. A thread that takes a value without
    /// waiting may be faster than that one, which then sleeps again. So that giving a value back
    /// costs nothing more while no thread sleeps, the processor may hide the beginning of a sleep
    /// from a thread that gives back at the same moment: a sleeping thread therefore looks itself
    /// after 50 µs, after 100 µs more, and so on, each time after twice as long.
    ///
    /// ```
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = SharedPool::with_capacity(1, || 7, |_| {});
    /// let value = pool.take();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert_eq!(*pool.take_wait(), 7));
    ///     drop(value);
    /// });
    /// ```
    #[cfg(feature = "std")]
    pub fn take_wait(&self) -> Pooled<T, &SharedPool<T>> {
        loop {
            if let Some(guard) = self.take_until(None) {
                return guard;
            }
        }
    }

    /// Takes a value like [`take`](Self::take); sleeps until there is one, for at most `limit`.
    ///
    /// Returns `None` if all cells were taken at the end of that time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = SharedPool::with_capacity(1, || 7, |_| {});
    /// let value = pool.take_wait_for(Duration::from_millis(1)).unwrap();
    /// assert!(pool.take_wait_for(Duration::from_millis(1)).is_none());
    /// # drop(value);
    /// ```
    #[cfg(feature = "std")]
    pub fn take_wait_for(&self, limit: Duration) -> Option<Pooled<T, &SharedPool<T>>> {
        // A limit beyond the clock's range is no limit.
        self.take_until(Some(limit))
    }

    /// Takes a value like [`take_wait`](Self::take_wait), with a guard that owns an `Arc` of the
    /// pool.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = Arc::new(SharedPool::with_capacity(1, || 7, |_| {}));
    /// assert_eq!(*pool.take_wait_owned(), 7);
    /// ```
    #[cfg(feature = "std")]
    pub fn take_wait_owned(self: &Arc<Self>) -> Pooled<T> {
        self.take_wait().into_owned(self)
    }

    /// Takes a value like [`take_wait_for`](Self::take_wait_for), with a guard that owns an `Arc` of
    /// the pool.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use flatslab::sync::SharedPool;
    ///
    /// let pool = Arc::new(SharedPool::with_capacity(1, || 7, |_| {}));
    /// assert!(pool.take_wait_for_owned(Duration::ZERO).is_some());
    /// ```
    #[cfg(feature = "std")]
    pub fn take_wait_for_owned(self: &Arc<Self>, limit: Duration) -> Option<Pooled<T>> {
        Some(self.take_wait_for(limit)?.into_owned(self))
    }

    #[cfg(feature = "std")]
    fn take_until(&self, limit: Option<Duration>) -> Option<Pooled<T, &SharedPool<T>>> {
        if let Some(taken) = self.take_cell() {
            return Some(self.guard(taken));
        }
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        // `init` runs here, after the thread has left the sleepers.
        let taken = self.sleepers.wait(end, || self.take_cell())?;
        Some(self.guard(taken))
    }

    /// The guard of a cell that was taken.
    #[inline(always)]
    fn guard<'a>(&'a self, taken: Taken<'a, T>) -> Pooled<T, &'a SharedPool<T>> {
        Pooled {
            cell: self.value_of(taken).cell(),
            pool: self,
        }
    }
}

impl<T> Pooled<T, &SharedPool<T>> {
    /// The same guard, which keeps the pool by a clone of `pool`, whose guard it is.
    #[inline(always)]
    fn into_owned(self, pool: &Arc<SharedPool<T>>) -> Pooled<T> {
        debug_assert!(core::ptr::eq(self.pool, &**pool));
        let cell = ManuallyDrop::new(self).cell;
        Pooled {
            cell,
            pool: pool.clone(),
        }
    }
}

impl<T, P: Deref<Target = SharedPool<T>>> Pooled<T, P> {
    #[inline(always)]
    fn place(guard: &Self) -> Place<'_, T> {
        // SAFETY: the guard keeps the pool, and so the cell is allocated (`cells-allocated`,
        // `place-allocated`).
        unsafe { Place::new(guard.cell) }
    }

    /// Moves the value out of the pool, which does not get it back, and leaves its cell empty. O(1).
    ///
    /// ```
    /// use flatslab::sync::{Pooled, SharedPool};
    ///
    /// let pool = SharedPool::with_capacity(1, || 7, |_| {});
    /// assert_eq!(Pooled::into_inner(pool.take().unwrap()), 7);
    /// assert_eq!((pool.len(), pool.idle()), (0, 0));
    /// ```
    #[inline]
    pub fn into_inner(guard: Self) -> T {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: the guard is not used any more, and its reference or `Arc` is dropped once, after
        // the cell was given back. The guard owns the value, which is moved out once.
        let (pool, value) = unsafe {
            let place = Self::place(&guard);
            (core::ptr::read(&guard.pool), place.value().read())
        };
        pool.give(Self::place(&guard), State::EMPTY);
        value
    }

    /// Returns the reference to the pool, or its `Arc`. O(1).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flatslab::sync::{Pooled, SharedPool};
    ///
    /// let pool = Arc::new(SharedPool::with_capacity(1, || 7, |_| {}));
    /// let value = pool.take_owned().unwrap();
    /// assert!(Arc::ptr_eq(Pooled::pool(&value), &pool));
    /// ```
    #[inline]
    #[must_use]
    pub fn pool(guard: &Self) -> &P {
        &guard.pool
    }
}

impl<T, P: Deref<Target = SharedPool<T>>> Deref for Pooled<T, P> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard owns the value, and is borrowed (`taken-alone`).
        unsafe { Self::place(self).value().as_ref() }
    }
}

impl<T, P: Deref<Target = SharedPool<T>>> DerefMut for Pooled<T, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard owns the value, and is borrowed exclusively (`taken-alone`).
        unsafe { Self::place(self).value().as_mut() }
    }
}

/// Resets the value, and gives it back to the pool.
impl<T, P: Deref<Target = SharedPool<T>>> Drop for Pooled<T, P> {
    #[inline]
    fn drop(&mut self) {
        // The reference or `Arc` that keeps the pool is dropped afterwards, even on unwinding.
        // SAFETY: the guard owns the cell, which has a value (`taken-alone`).
        unsafe { self.pool.give_back(Self::place(self)) };
    }
}

print_as_value!(impl [T, P: Deref<Target = SharedPool<T>>] for Pooled<T, P>, as T);
