//! flatslab's pools.
//!
//! A box borrows its pool, and a subject hands out boxes of its own pool: here they
//! are boxes of a pool that is there for ever, as far as their type says. What
//! makes it true: the benches give back or forget every handle of a subject before
//! they drop it. A pool that is really [leaked](Pool::leak) would not do: a
//! container is made in each turn.

use std::ptr::NonNull;

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, StorageBox};

use super::subject;
use crate::payload::Payload;

/// The pool as its boxes see it: there for ever.
#[inline(always)]
fn lasting<P>(pool: &P) -> &'static P {
    // SAFETY: a subject's handles are gone, or forgotten, before it is dropped; what
    // they need of a pool is in memory that does not move with it.
    unsafe { &*core::ptr::from_ref(pool) }
}

macro_rules! pool {
    (
        $(#[$documentation:meta])*
        $subject:ident($container:ty) named $name:literal by $handle:ty;
        new($capacity:ident) $new:expr;
        pool($it:ident) $pool:expr;
    ) => {
        subject! {
            $(#[$documentation])*
            $subject($container) named $name by $handle;
            new($capacity) $new;
            insert($it, value) $pool.try_alloc(value).unwrap();
            get(_it, boxed) boxed.number();
            add(_it, boxed, number) *boxed.number_mut() += number;
            replace(_it, boxed, value) core::mem::replace(&mut **boxed, value);
            remove(_it, boxed) PoolBox::into_inner(boxed);
            free(_it, boxed) boxed;
            refill(_it, boxed, value) {
                let (old, vacant) = PoolBox::take(boxed);
                (old, PoolBox::write(vacant, value))
            };
            prefetch(_it, boxed) PoolBox::prefetch(boxed);
        }
    };
}

pool! {
    /// With its free list outside of the cells.
    PoolByBox(Pool<'static, V>) named "Pool, PoolBox" by PoolBox<'static, V>;
    new(capacity) Pool::with_capacity(capacity);
    pool(it) lasting(it);
}

pool! {
    /// In a storage, with boxes of 16 bytes and the free list through the vacant
    /// cells.
    PoolInStorage(Stored<V>) named "Pool, storage" by StorageBox<'static, V>;
    new(capacity) Stored::with_capacity(capacity);
    pool(it) it.pool();
}

/// A pool in a storage that is chosen at run time. Its boxes point to the pool, so it
/// must not move with the subject.
pub struct Stored<V> {
    pool: NonNull<Pool<'static, V, InStorage>>,
    /// The storage: words, as it is too large to be moved through the stack.
    _memory: Vec<u64>,
}

impl<V: Payload> Stored<V> {
    /// In the smallest of a few storages that has so many cells. They are all used
    /// once, as those of the other pools were touched.
    fn with_capacity(capacity: usize) -> Self {
        let stored = match capacity {
            0..=128 => Self::of::<128>(),
            129..=1024 => Self::of::<1024>(),
            1025..=8192 => Self::of::<8192>(),
            8193..=0x10_0000 => Self::of::<0x10_0000>(),
            _ => Self::of::<0x80_0000>(),
        };
        let cells = (0..capacity).map(|_| stored.pool().try_alloc_uninit().expect("a cell"));
        let cells: Vec<_> = cells.collect();
        cells.into_iter().rev().for_each(drop);
        stored
    }

    fn of<const CELLS: usize>() -> Self {
        const { assert!(align_of::<PoolStorage<V, CELLS>>() <= align_of::<u64>()) };
        let words = size_of::<PoolStorage<V, CELLS>>().div_ceil(size_of::<u64>());
        let mut memory = vec![0_u64; words];
        let storage = memory.as_mut_ptr().cast::<PoolStorage<V, CELLS>>();
        // SAFETY: of its size and alignment, and its own as long as the pool. Zeros are a
        // new storage: its flag is not set, the rest may be uninitialised.
        let pool = Pool::in_storage(unsafe { &mut *storage });
        Stored {
            pool: NonNull::from(Box::leak(Box::new(pool))),
            _memory: memory,
        }
    }
}

impl<V> Stored<V> {
    #[inline(always)]
    fn pool(&self) -> &'static Pool<'static, V, InStorage> {
        // SAFETY: as in `lasting`.
        unsafe { self.pool.as_ref() }
    }
}

impl<V> Drop for Stored<V> {
    fn drop(&mut self) {
        // SAFETY: from a box, in `of`; used no more.
        drop(unsafe { Box::from_raw(self.pool.as_ptr()) });
    }
}
