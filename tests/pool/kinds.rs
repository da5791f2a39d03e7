//! A pool of each kind.

/// Runs the block with a pool of so many cells, a constant, of each kind of memory.
macro_rules! with_each_pool {
    ($capacity:expr, |$pool:ident: $value:ty| $body:block) => {{
        use flatslab::pool::{Pool, PoolStorage};
        let builder = || Pool::<$value>::builder().capacity($capacity);
        {
            #[allow(unused_mut, reason = "not every block resets it")]
            let mut $pool = builder().build();
            $body
        }
        {
            #[allow(unused_mut, reason = "not every block resets it")]
            let mut $pool = builder().lazy().build();
            $body
        }
        {
            let mut storage = PoolStorage::<$value, { $capacity }>::new();
            #[allow(unused_mut, reason = "not every block resets it")]
            let mut $pool = Pool::in_storage(&mut storage);
            $body
        }
    }};
}
pub(crate) use with_each_pool;

use std::sync::Mutex;

use flatslab::pool::{Pool, PoolMemory};

/// Panics unless each of the pool's cells but so many can be had, and no other one; they
/// are free again then.
#[track_caller]
pub(crate) fn assert_all_usable_but<T, M: PoolMemory>(pool: &Pool<'_, T, M>, taken: usize) {
    assert_eq!(pool.len(), taken);
    let cells: Vec<_> = std::iter::from_fn(|| pool.try_alloc_uninit().ok()).collect();
    assert_eq!(cells.len(), pool.capacity() - taken);
    assert!(pool.is_full());
    let mut addresses: Vec<_> = cells.iter().map(|cell| cell.as_ptr().addr()).collect();
    addresses.sort_unstable();
    let apart = size_of::<T>().max(1);
    assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= apart));
    drop(cells);
    assert_eq!(pool.len(), taken);
}

/// Keeps it until the program ends, where leak checkers find it.
pub(crate) fn keep<P: 'static>(pool: P) -> &'static P {
    keep_boxed(Box::new(pool))
}

pub(crate) fn keep_boxed<P: 'static>(pool: Box<P>) -> &'static P {
    struct Kept(#[expect(dead_code, reason = "leak checkers read it")] *const ());
    // SAFETY: never read.
    unsafe impl Send for Kept {}
    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

    let pool: &'static P = Box::leak(pool);
    KEPT.lock()
        .unwrap()
        .push(Kept(std::ptr::from_ref(pool).cast()));
    pool
}

pub(crate) fn forever<T: 'static, M: PoolMemory>(
    pool: Pool<'static, T, M>,
) -> &'static Pool<'static, T, M> {
    keep(pool)
}
