//! `SendBox`: an owner of a value in a static pool that can be sent to another thread.
//!
//! # Invariants
//!
//! * `sent-owner`: a sent box is the only owner of its cell (`cell-owner`), which has a value. The
//!   pool is borrowed for `'static`: it is not moved, dropped or reset.
//! * `returned-shared`, of `storage.rs`: the list of returned cells is all that a sent box and its
//!   pool share.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::NonNull;

use super::memory::PoolMemory;
use super::storage::InStorage;
use super::{Pool, PoolBox};
#[cfg(doc)]
use super::{PoolStorage, StorageBox};
use crate::as_value::print_as_value;
use crate::raw::poison::poison_bytes;
use crate::unsizing::{Coercion, Unsize};

/// The owner of a value in a static pool, which can be sent to another thread or interrupt. Its
/// size is 16 bytes.
///
/// [`into_send`](PoolBox::into_send) creates it from a [`StorageBox`].
///
/// It derefs to its value. Dropping it drops the value on the current thread, and
/// [`into_inner`](Self::into_inner) moves it out. Both push the cell to a list of returned cells,
/// without a lock and without waiting. Only the pool's own thread makes such cells free again: when
/// an allocation finds no other free cell, it frees up to 16 of them, and
/// [`reclaim`](Pool::reclaim) frees all. So the list of free cells is never used by two threads.
/// [`receive`](Pool::receive) turns a sent box back into a box of the pool.
///
/// The pool counts the cell as taken until it is free again, in [`len`](Pool::len) and
/// [`is_full`](Pool::is_full): returned cells count too. If a sent box is forgotten, its cell stays
/// taken for ever.
///
/// # Cost
///
/// Sending and receiving do not write to memory. Dropping a sent box takes one compare-exchange,
/// which is repeated only if another sent box is dropped at the same time. Targets without
/// compare-exchange, such as thumbv6m, lack this type.
///
/// # Examples
///
/// An interrupt sends frames from its pool to the main loop. A thread stands in for the interrupt,
/// and a channel for a queue that needs no allocator (`examples/firmware.rs`).
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
///
/// use flatslab::pool::{PoolBox, PoolStorage, SendBox};
///
/// struct Frame { length: u16 }
///
/// static FRAMES: PoolStorage<Frame, 4> = PoolStorage::new();
///
/// let (sender, receiver) = mpsc::sync_channel::<SendBox<Frame>>(4);
/// let interrupt = thread::spawn(move || {
///     let pool = &*FRAMES.claim().expect("claimed nowhere else");
///     let mut lost = 0;
///     for length in 0..1000 {
///         match pool.try_alloc(Frame { length }) {
///             Ok(frame) => sender.send(PoolBox::into_send(frame)).unwrap(),
///             Err(_full) => lost += 1,
///         }
///     }
///     lost
/// });
/// let received = receiver.iter().map(|frame| frame.length).count(); // each is dropped here
/// assert_eq!(received + interrupt.join().unwrap(), 1000);
/// ```
#[must_use = "dropping it drops its value"]
pub struct SendBox<T: ?Sized> {
    /// Has the provenance of the pool's memory.
    value: NonNull<T>,
    way: NonNull<InStorage>,
    /// Owns a `T`.
    marker: PhantomData<T>,
}

const _: () = assert!(size_of::<SendBox<u64>>() == 2 * size_of::<usize>());

// SAFETY: the value is owned, and can be sent to another thread. Of the data that the box shares
// with its pool, it uses only the part that other threads may use at the same time
// (`returned-shared`).
unsafe impl<T: Send + ?Sized> Send for SendBox<T> {}
// SAFETY: by reference only the value is used.
unsafe impl<T: Sync + ?Sized> Sync for SendBox<T> {}

/// Moving the box does not move the value.
impl<T: ?Sized> Unpin for SendBox<T> {}

/// A cell without a value, or about to lose it; dropping this returns it to its pool.
struct Ended {
    cell: NonNull<u8>,
    /// Those of the value.
    bytes: usize,
    way: NonNull<InStorage>,
}

impl Drop for Ended {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made by the end of a sent box, so the pool stays where it is, and its memory
        // too, and this is the owner of the cell (`sent-owner`), which has room for a link. The
        // value is gone.
        unsafe {
            poison_bytes(self.cell, self.bytes);
            InStorage::returned(self.way).push(self.cell);
        }
    }
}

impl<T: ?Sized> SendBox<T> {
    #[inline]
    fn ended(&self) -> Ended {
        Ended {
            cell: self.value.cast(),
            bytes: size_of_val(&**self),
            way: self.way,
        }
    }

    /// Pins the value in its cell, without moving it. O(1).
    ///
    /// The memory of a pinned box that is forgotten is not used again.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{PoolBox, PoolStorage, SendBox};
    ///
    /// static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();
    ///
    /// let pool = &*STORAGE.claim().unwrap();
    /// let mut pinned = SendBox::into_pin(PoolBox::into_send(pool.alloc(7)));
    /// *pinned.as_mut() += 1;
    /// ```
    #[inline]
    pub fn into_pin(sent: Self) -> Pin<Self> {
        // SAFETY: the value is not moved: it is reached through the box alone, whose `Deref` moves
        // nothing, and whose drop drops it in place before the cell is given back. The cell of a
        // box that is forgotten stays taken (`sent-owner`).
        unsafe { Pin::new_unchecked(sent) }
    }
}

impl<T> SendBox<T> {
    /// Moves the value out and returns its cell to the pool.
    ///
    /// This is an associated function, like those of [`PoolBox`], so that it hides no method of the
    /// value.
    ///
    /// # Complexity
    ///
    /// O(1), one copy of the value; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{PoolBox, PoolStorage, SendBox};
    ///
    /// static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();
    ///
    /// let pool = &*STORAGE.claim().unwrap();
    /// let sent = PoolBox::into_send(pool.alloc(7));
    /// assert_eq!(SendBox::into_inner(sent), 7);
    /// ```
    #[inline]
    pub fn into_inner(sent: Self) -> T {
        let ended = sent.ended();
        let value = sent.value;
        core::mem::forget(sent);
        // SAFETY: the box owned the value (`sent-owner`) and is forgotten: it is read once, before
        // its cell is given back.
        let value = unsafe { value.read() };
        drop(ended);
        value
    }
}

impl<T: Send + ?Sized> PoolBox<'static, T, InStorage> {
    /// Turns the box into one that can be sent to another thread.
    ///
    /// The pool must be borrowed for `'static`, as [`claim`](PoolStorage::claim) returns it: any
    /// other pool could be dropped before the box. For values of a slab there is
    /// [`Slot::into_send`](crate::Slot::into_send).
    ///
    /// # Complexity
    ///
    /// O(1); moves and allocates nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{PoolBox, PoolStorage};
    ///
    /// static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();
    ///
    /// let pool = &*STORAGE.claim().unwrap();
    /// let sent = PoolBox::into_send(pool.alloc(7));
    /// std::thread::spawn(move || assert_eq!(*sent, 7)).join().unwrap();
    /// assert_eq!((pool.len(), pool.reclaim(), pool.len()), (1, 1, 0));
    /// ```
    #[inline]
    pub fn into_send(boxed: Self) -> SendBox<T> {
        let (value, way) = Self::into_parts(boxed);
        SendBox {
            value,
            way,
            marker: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> Unsize<U> for SendBox<T> {
    type Value = T;
    type Output = SendBox<U>;

    #[inline]
    fn unsize(self, coercion: Coercion<T, U>) -> SendBox<U> {
        let (value, way) = (self.value, self.way);
        core::mem::forget(self);
        SendBox {
            // SAFETY: the box owned the cell (`sent-owner`), and is forgotten. The pointer is to
            // the same value, with its provenance (`unsized-alike`).
            value: unsafe { coercion.apply(value) },
            way,
            marker: PhantomData,
        }
    }
}

impl<T> Pool<'_, T, InStorage> {
    /// Takes a value back from another thread, as a box of this pool.
    ///
    /// # Complexity
    ///
    /// O(1); moves and allocates nothing.
    ///
    /// # Errors
    ///
    /// Returns the sent box if it is from another pool.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{PoolBox, PoolStorage};
    ///
    /// static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();
    ///
    /// let pool = &*STORAGE.claim().unwrap();
    /// let mut sent = PoolBox::into_send(pool.alloc(7));
    /// let worker = std::thread::spawn(move || {
    ///     *sent += 1;
    ///     sent
    /// });
    /// let boxed = pool.receive(worker.join().unwrap()).unwrap();
    /// assert_eq!(*boxed, 8);
    /// drop(boxed);
    /// assert!(pool.is_empty());
    /// ```
    #[inline]
    pub fn receive(&self, sent: SendBox<T>) -> Result<PoolBox<'_, T, InStorage>, SendBox<T>> {
        let way = self.memory.way();
        if sent.way != way {
            return Err(sent);
        }
        let value = sent.value;
        core::mem::forget(sent);
        // SAFETY: the pool of the sent box has not moved or ended (`sent-owner`), so another one is
        // not in its place: this is it. The sent box owned the cell, and is forgotten.
        Ok(unsafe { PoolBox::new(value, way) })
    }

    /// Makes the cells free that [sent boxes](SendBox) returned, and returns their number.
    ///
    /// An allocation that finds no free cell does the same for up to 16 of them.
    ///
    /// # Complexity
    ///
    /// O(n) for n returned cells.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::pool::{PoolBox, PoolStorage};
    ///
    /// static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    ///
    /// let pool = &*STORAGE.claim().unwrap();
    /// drop(PoolBox::into_send(pool.alloc(7)));
    /// assert!(pool.is_full());
    /// assert_eq!(pool.reclaim(), 1);
    /// assert!(pool.is_empty());
    /// ```
    pub fn reclaim(&self) -> usize {
        self.memory.reclaim()
    }
}

impl<T: ?Sized> Deref for SendBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value (`sent-owner`), and is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for SendBox<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns the value (`sent-owner`), and is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

/// Drops the value on this thread and returns its cell, even if the value's destructor panics.
impl<T: ?Sized> Drop for SendBox<T> {
    #[inline]
    fn drop(&mut self) {
        let _ended = self.ended();
        // SAFETY: the box's own (`sent-owner`), dropped once. Its cell is given back after that.
        unsafe { self.value.drop_in_place() };
    }
}

print_as_value!(impl [T: ?Sized] for SendBox<T>, as T);

/// `ci/loom.sh`: every order in which a pool's thread and the threads that drop its values can act.
#[cfg(all(test, loom, feature = "alloc"))]
mod models {
    use std::boxed::Box;
    use std::vec::Vec;

    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::pool::{PoolStorage, StorageBox};
    use crate::raw::witness::{Witnesses, model, start};

    /// Writes to its cell's witness when it is created and when it is dropped.
    struct Value {
        number: u8,
        witnesses: Arc<Witnesses>,
    }

    type Static = &'static Pool<'static, Value, InStorage>;

    /// A pool of `N` cells, and their witnesses.
    fn claimed<const N: usize>() -> (Static, Arc<Witnesses>) {
        let storage: &'static PoolStorage<Value, N> = Box::leak(Box::default());
        let pool: Static = storage.claim().unwrap();
        let first = pool.alloc_uninit().as_ptr().cast();
        (pool, Witnesses::new(first, size_of::<Value>(), N))
    }

    fn alloc(
        pool: Static,
        witnesses: &Arc<Witnesses>,
        number: u8,
    ) -> Option<StorageBox<'static, Value>> {
        let witnesses = witnesses.clone();
        // A value that found no cell would have no witness.
        let boxed = pool.try_alloc_with(|| Value { number, witnesses }).ok()?;
        boxed.witnesses.write((&raw const *boxed).cast(), number);
        Some(boxed)
    }

    fn send(pool: Static, witnesses: &Arc<Witnesses>, number: u8) -> Option<SendBox<Value>> {
        alloc(pool, witnesses, number).map(PoolBox::into_send)
    }

    impl Value {
        fn check(&self) {
            let found = self.witnesses.read((&raw const *self).cast());
            assert_eq!(found, self.number);
        }
    }

    impl Drop for Value {
        fn drop(&mut self) {
            self.check();
            self.witnesses.write((&raw const *self).cast(), 0);
        }
    }

    #[test]
    fn loom_the_end_of_a_sent_box_happens_before_its_cell_is_used_again() {
        model(|late| {
            let (pool, witnesses) = claimed::<1>();
            let sent = send(pool, &witnesses, 1).unwrap();
            let remote = thread::spawn(move || drop(sent));
            start(late);
            let mut number = 2;
            while number < 4 {
                match send(pool, &witnesses, number) {
                    Some(sent) => {
                        sent.check();
                        drop(sent);
                        number += 1;
                    }
                    None => thread::yield_now(),
                }
            }
            remote.join().unwrap();
            pool.reclaim();
            assert!(pool.is_empty());
            pool.check();
        });
    }

    #[test]
    fn loom_sent_boxes_that_end_at_once_lose_no_cell() {
        model(|late| {
            let (pool, witnesses) = claimed::<3>();
            let mut sent: Vec<_> = (1..=3)
                .map(|number| send(pool, &witnesses, number).unwrap())
                .collect();
            let third = sent.pop();
            let remotes: Vec<_> = (sent.into_iter())
                .map(|sent| thread::spawn(move || drop(sent)))
                .collect();
            start(late);
            drop(third);
            let early = pool.reclaim();
            for remote in remotes {
                remote.join().unwrap();
            }
            assert_eq!(early + pool.reclaim(), 3);
            assert!(pool.is_empty());
            pool.check();
        });
    }

    #[test]
    fn loom_a_cell_that_came_back_goes_out_again_while_another_comes() {
        model(|late| {
            let (pool, witnesses) = claimed::<2>();
            let [one, two] = [1, 2].map(|number| send(pool, &witnesses, number).unwrap());
            let remote = thread::spawn(move || {
                drop(one);
                drop(two);
            });
            start(late);
            // The cell that is below another's link may be pushed again at the same time.
            for number in 3..5 {
                if let Some(sent) = send(pool, &witnesses, number) {
                    sent.check();
                    drop(sent);
                }
            }
            remote.join().unwrap();
            pool.reclaim();
            assert!(pool.is_empty());
            pool.check();
        });
    }
}
