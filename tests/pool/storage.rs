//! Pools in memory of the caller's: a static, the stack, a struct, the heap.

use std::marker::PhantomPinned;
use std::pin::Pin;
use std::sync::Barrier;
use std::thread;

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, StorageBox};

use crate::common::{Counted, Drops, Hooked};
use crate::kinds::{assert_all_usable_but, keep_boxed};

fn is_within<S>(storage: &S, address: usize) -> bool {
    let start = std::ptr::from_ref(storage).addr();
    (start..start + size_of::<S>()).contains(&address)
}

#[test]
fn a_static_is_claimed_once() {
    static STORAGE: PoolStorage<[u64; 8], 3> = PoolStorage::new();
    assert!(format!("{STORAGE:?}").contains("capacity: 3"));
    let pool: &'static mut Pool<'static, [u64; 8], InStorage> = STORAGE.claim().unwrap();
    assert!(STORAGE.claim().is_none());
    // It is given out mutably, and so may be reset.
    std::mem::forget(pool.try_alloc([1; 8]));
    assert_all_usable_but(pool, 1);
    pool.reset();
    assert_all_usable_but(pool, 0);
    let pool: &'static Pool<'_, _, _> = pool;
    let boxed: StorageBox<'static, [u64; 8]> = pool.alloc([7; 8]);
    assert!(is_within(&STORAGE, (&raw const *boxed).addr()));
    assert!(STORAGE.claim().is_none());
    assert_eq!(*boxed, [7; 8]);
}

#[test]
fn of_several_threads_one_claims_a_static() {
    const THREADS: usize = if cfg!(miri) { 3 } else { 8 };
    static STORAGES: [PoolStorage<u64, 4>; 20] = [const { PoolStorage::new() }; 20];
    let barrier = Barrier::new(THREADS);
    let rounds = if cfg!(miri) { 4 } else { 20 };
    let claimed = thread::scope(|scope| {
        let claim = || {
            let mut won = 0;
            for (round, storage) in STORAGES.iter().take(rounds).enumerate() {
                barrier.wait();
                if let Some(pool) = storage.claim() {
                    let boxed = pool.alloc(round as u64);
                    assert_eq!((*boxed, pool.len()), (round as u64, 1));
                    won += 1;
                }
            }
            won
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(claim)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(claimed, rounds, "one thread each time");
}

/// Values that are no other thread's business: the claiming thread makes them.
#[test]
fn a_static_of_values_that_are_not_send_is_claimed_by_any_thread() {
    static STORAGE: PoolStorage<Counted, 2> = PoolStorage::new();
    let drops = thread::spawn(|| {
        let (drops, pool) = (Drops::new(), STORAGE.claim().unwrap());
        drop(pool.try_alloc(drops.value(1)));
        drops.count()
    });
    assert_eq!(drops.join().unwrap(), 1);
    assert!(STORAGE.claim().is_none());
}

#[test]
fn a_storage_serves_one_pool_after_the_other() {
    let drops = Drops::new();
    let mut storage = PoolStorage::<Counted, 3>::default();
    for round in 0..3 {
        let pool = Pool::in_storage(&mut storage);
        let boxes: Vec<_> = (0..3).map(|n| pool.alloc(drops.value(n))).collect();
        assert!(pool.is_full() && boxes.iter().map(|b| b.number).eq(0..3));
        drop(boxes);
        assert_eq!(drops.count(), 3 * (round + 1));
        assert_all_usable_but(&pool, 0);
    }
}

#[test]
fn a_pool_moves_while_it_has_no_boxes() {
    let mut storage = PoolStorage::<u64, 3>::new();
    let pool = Pool::in_storage(&mut storage);
    let leaked = PoolBox::into_raw(pool.alloc(7));
    let moved = Box::new(pool);
    let boxed = moved.alloc(8);
    // SAFETY: from `into_raw` of a box of this pool, which has moved since.
    let first = unsafe { moved.box_from_raw(leaked) };
    assert_eq!((*first, *boxed), (7, 8));
    drop((first, boxed));
    assert_all_usable_but(&moved, 0);
    let heap = Pool::with_capacity(3);
    let leaked = PoolBox::into_raw(heap.alloc(7));
    let moved = Box::new(heap);
    // SAFETY: as above.
    assert_eq!(*unsafe { moved.box_from_raw(leaked) }, 7);
    assert_all_usable_but(&moved, 0);
}

#[test]
fn a_storage_is_part_of_a_struct_or_on_the_heap() {
    struct Engine {
        _first: u8,
        storage: PoolStorage<u16, 5>,
        name: String,
    }
    let mut engine = Engine {
        _first: 1,
        storage: PoolStorage::new(),
        name: "engine".to_string(),
    };
    let range = std::ptr::from_ref(&engine).addr();
    let pool = Pool::in_storage(&mut engine.storage);
    let boxed = pool.alloc(7);
    let place = (&raw const *boxed).addr();
    assert!((range..range + size_of::<Engine>()).contains(&place));
    assert_eq!((*boxed, engine.name.as_str()), (7, "engine"));
    drop(boxed);
    assert_all_usable_but(&pool, 0);

    let mut storage = Box::new(PoolStorage::<[u8; 3], 5>::new());
    let pool = Pool::in_storage(&mut *storage);
    let boxes: Vec<_> = (0..5).map(|n| pool.alloc([n; 3])).collect();
    assert!(pool.is_full() && boxes.iter().zip(0..).all(|(b, n)| **b == [n; 3]));
    drop(boxes);
    assert_all_usable_but(&pool, 0);
}

#[test]
fn a_pinned_value_stays_until_it_is_dropped() {
    static STORAGE: PoolStorage<(Option<Hooked>, PhantomPinned), 2> = PoolStorage::new();
    let pool: &'static Pool<'_, _, _> = STORAGE.claim().unwrap();
    let drops = Drops::new();
    let boxed = pool
        .try_alloc((Some(drops.hooked()), PhantomPinned))
        .ok()
        .unwrap();
    let place = (&raw const *boxed).addr();
    let pinned: Pin<StorageBox<'static, _>> = PoolBox::into_pin(boxed);
    let moved = Box::new(pinned);
    assert_eq!((&raw const **moved).addr(), place);
    let other = pool.alloc_uninit();
    assert!(pool.is_full() && other.as_ptr().addr() != place);
    drop(moved);
    assert_eq!((drops.count(), pool.len()), (1, 1));
    drop(other);
    assert_all_usable_but(pool, 0);
}

#[test]
fn a_storage_on_the_heap_is_made_in_its_place_and_has_nothing_but_cells() {
    const CELLS: usize = if cfg!(miri) { 64 } else { 1 << 20 };
    // More than a thread's stack.
    let mut storage = PoolStorage::<[u64; 8], CELLS>::boxed();
    let besides = size_of_val(&*storage) - CELLS * size_of::<[u64; 8]>();
    assert!(besides <= 256, "{besides} bytes beside the cells");
    for round in 0..2 {
        let pool = Pool::in_storage(&mut storage);
        assert_eq!((pool.len(), pool.capacity()), (0, CELLS));
        let boxed = pool.alloc([round; 8]);
        assert_eq!(*boxed, [round; 8]);
        // Lost with its pool, without harm.
        std::mem::forget(pool.alloc([7; 8]));
    }
}

#[test]
fn a_leaked_storage_gives_a_static_pool_once() {
    struct Engine {
        pool: &'static Pool<'static, Counted, InStorage>,
        live: Vec<StorageBox<'static, Counted>>,
    }

    let drops = Drops::default();
    let storage: &'static PoolStorage<Counted, 4> = keep_boxed(PoolStorage::boxed());
    let pool = storage.claim().unwrap();
    assert!(storage.claim().is_none());
    let mut engine = Engine {
        pool,
        live: Vec::new(),
    };
    for number in 0..4 {
        engine.live.push(engine.pool.alloc(drops.value(number)));
    }
    assert!(engine.pool.try_alloc(drops.value(4)).is_err());
    drop(engine.live.swap_remove(1));
    assert!(is_within(
        storage,
        (&raw const *engine.pool.alloc(drops.value(5))).addr()
    ));
    drop(engine.live);
    assert!(engine.pool.is_empty());
    assert_eq!(drops.count(), 6);
}
