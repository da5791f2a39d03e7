//! Boxes of a static pool that go to other threads, end there, or come back.

use std::mem::forget;
use std::sync::mpsc;
use std::thread;

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, SendBox};

use crate::common::{Drops, Hooked, panics};
use crate::kinds::assert_all_usable_but;

type Static<T> = &'static Pool<'static, T, InStorage>;

/// A pool of a static of its own.
macro_rules! claimed {
    ($type:ty, $capacity:expr) => {{
        static STORAGE: PoolStorage<$type, { $capacity }> = PoolStorage::new();
        let pool: Static<$type> = STORAGE.claim().unwrap();
        pool
    }};
}

fn send<T: Send>(pool: Static<T>, value: T) -> SendBox<T> {
    PoolBox::into_send(pool.try_alloc(value).expect("a free cell"))
}

fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(f).join().unwrap())
}

#[test]
fn a_value_that_ends_elsewhere_leaves_its_cell_to_the_pool() {
    let pool = claimed!(String, 2);
    let sent = send(pool, "one".to_owned());
    elsewhere(|| drop(sent));
    assert_eq!((pool.len(), pool.reclaim(), pool.len()), (1, 1, 0));
    let (one, two) = (send(pool, "one".to_owned()), send(pool, "two".to_owned()));
    let text = elsewhere(|| {
        assert_eq!(format!("{one} {two:?}"), "one \"two\"");
        drop(two);
        SendBox::into_inner(one)
    });
    assert_eq!(text, "one");
    // Without a `reclaim`, too.
    assert!(pool.is_full());
    let boxed = pool.try_alloc("three".to_owned()).unwrap();
    assert_eq!(pool.len(), 1);
    drop(boxed);
    assert_eq!(pool.reclaim(), 0);
    assert_all_usable_but(pool, 0);
}

/// An allocation does not pay for all that has ended elsewhere.
#[test]
fn an_allocation_frees_sixteen_cells_at_most() {
    let pool = claimed!(u64, 50);
    let sent: Vec<_> = (0..50).map(|n| send(pool, n)).collect();
    elsewhere(|| drop(sent));
    assert_eq!(pool.len(), 50);
    let boxed = pool.alloc(7);
    assert_eq!(pool.len(), 50 - 16 + 1);
    // What ends now is not lost beside what was taken and is not free yet.
    forget(pool.alloc_uninit());
    drop(PoolBox::into_send(boxed));
    assert_eq!(pool.reclaim(), 50 - 16 + 1);
    assert_all_usable_but(pool, 1);
}

#[test]
fn a_value_comes_back_as_the_box_that_it_was() {
    let pool = claimed!(u64, 1);
    let mut sent = send(pool, 7);
    let place = (&raw const *sent).addr();
    let sent = elsewhere(|| {
        *sent += 1;
        sent
    });
    let boxed = pool.receive(sent).unwrap();
    assert!(*boxed == 8 && (&raw const *boxed).addr() == place);
    // It may go again.
    let boxed = pool.receive(PoolBox::into_send(boxed)).unwrap();
    drop(boxed);
    assert_eq!((pool.len(), pool.reclaim()), (0, 0));
    assert_all_usable_but(pool, 0);
}

#[test]
fn another_pool_does_not_receive_a_value() {
    let (pool, other) = (claimed!(u64, 1), claimed!(u64, 1));
    let mut storage = PoolStorage::<u64, 1>::new();
    let third = Pool::in_storage(&mut storage);
    let sent = send(pool, 7);
    let sent = other.receive(sent).unwrap_err();
    let sent = third.receive(sent).unwrap_err();
    drop(pool.receive(sent).unwrap());
    for pool in [pool, other, &third] {
        assert_all_usable_but(pool, 0);
    }
}

#[test]
fn a_destructor_that_panics_elsewhere_gives_the_cell_back() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a destructor panics");
        }
    }
    let pool = claimed!(Panics, 1);
    let sent = send(pool, Panics);
    assert!(elsewhere(|| panics(|| drop(sent))));
    assert_eq!(pool.reclaim(), 1);
    forget(pool.alloc_uninit());
    assert!(pool.is_full());
}

#[test]
fn the_cell_of_a_box_that_is_forgotten_stays_taken() {
    let pool = claimed!(u64, 2);
    let sent = send(pool, 7);
    elsewhere(|| forget(sent));
    assert_eq!(pool.reclaim(), 0);
    assert_all_usable_but(pool, 1);
}

/// It would be freed twice, or on the wrong thread.
#[test]
fn values_that_own_sent_boxes_of_their_own_pool_end_anywhere() {
    struct Node(#[expect(dead_code, reason = "dropped")] Option<SendBox<Node>>);
    let pool = claimed!(Node, 20);
    let mut list = None;
    for _ in 0..20 {
        list = Some(send(pool, Node(list)));
    }
    elsewhere(|| drop(list));
    assert_eq!(pool.reclaim(), 20);
    let list = send(pool, Node(None));
    let list = send(pool, Node(Some(list)));
    drop(pool.receive(list).ok().unwrap());
    assert_eq!((pool.len(), pool.reclaim()), (1, 1));
    assert_all_usable_but(pool, 0);
}

/// While its destructor runs the cell is taken, whatever that does.
#[test]
fn a_destructor_may_use_the_pool() {
    static STORAGE: PoolStorage<(Local, u64), 2> = PoolStorage::new();
    /// Only ever dropped on the thread of the pool.
    struct Local(Option<Static<(Local, u64)>>);
    // SAFETY: the test neither uses nor drops it on another thread.
    unsafe impl Send for Local {}
    impl Drop for Local {
        fn drop(&mut self) {
            if let Some(pool) = self.0 {
                assert_eq!(pool.reclaim(), 0);
                let boxed = pool.try_alloc((Local(None), 2)).ok().unwrap();
                assert!(pool.try_alloc((Local(None), 3)).is_err());
                drop(PoolBox::into_send(boxed));
            }
        }
    }
    let pool: Static<_> = STORAGE.claim().unwrap();
    drop(send(pool, (Local(Some(pool)), 1)));
    assert_eq!(pool.reclaim(), 2);
    assert_all_usable_but(pool, 0);
}

#[test]
fn values_of_every_layout_may_go() {
    #[repr(align(128))]
    struct Wide(#[expect(dead_code, reason = "size")] u8);

    fn check<T: Send + 'static>(pool: Static<T>, make: fn() -> T) {
        for _round in 0..3 {
            let sent: Vec<_> = (0..pool.capacity()).map(|_| send(pool, make())).collect();
            elsewhere(move || {
                for sent in sent {
                    assert_eq!((&raw const *sent).addr() % align_of::<T>(), 0);
                }
            });
        }
        assert_eq!(pool.reclaim(), pool.capacity());
        assert_all_usable_but(pool, 0);
    }
    check(claimed!((), 3), || ());
    check(claimed!(u8, 3), || 7);
    check(claimed!([u8; 13], 19), || [7; 13]);
    check(claimed!(Wide, 3), || Wide(7));
    check(claimed!(Box<u64>, 18), || Box::new(7));
}

#[test]
fn a_pinned_value_stays_until_it_is_dropped() {
    let pool = claimed!((u64, std::marker::PhantomPinned), 1);
    let sent = send(pool, (7, std::marker::PhantomPinned));
    let place = (&raw const *sent).addr();
    let pinned = SendBox::into_pin(sent);
    elsewhere(|| {
        let moved = Box::new(pinned);
        assert_eq!((&raw const **moved).addr(), place);
    });
    assert_eq!(pool.reclaim(), 1);
}

/// The one that claimed it, not the one that made the static or ends the values.
#[test]
fn a_pool_belongs_to_the_thread_that_uses_it_first() {
    static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    let (sender, receiver) = mpsc::channel();
    let there = thread::spawn(move || {
        let pool = &*pool;
        for n in 0..4 {
            sender.send(send(pool, n)).unwrap();
        }
        drop(sender);
        // Some end here while others do there.
        let mut made = 4;
        while made < if cfg!(miri) { 12 } else { 1000 } {
            match pool.try_alloc(made) {
                Ok(boxed) => {
                    made += 1;
                    if made % 3 == 0 {
                        drop(boxed);
                    } else {
                        drop(PoolBox::into_send(boxed));
                    }
                }
                Err(_full) => thread::yield_now(),
            }
        }
    });
    assert_eq!(receiver.iter().map(|sent| *sent).sum::<u64>(), 6);
    there.join().unwrap();
}

/// No counter of drops crosses threads: these end where they were made.
#[test]
fn each_value_is_dropped_once() {
    static STORAGE: PoolStorage<Shown, 3> = PoolStorage::new();
    /// Never sent: `into_send` asks for the bound alone.
    struct Shown(#[expect(dead_code, reason = "dropped")] Hooked);
    // SAFETY: it stays on the thread of the test.
    unsafe impl Send for Shown {}
    let (pool, drops): (Static<Shown>, _) = (STORAGE.claim().unwrap(), Drops::new());
    drop(send(pool, Shown(drops.hooked())));
    assert_eq!(drops.count(), 1);
    let inner = SendBox::into_inner(send(pool, Shown(drops.hooked())));
    assert_eq!(drops.count(), 1);
    drop(inner);
    let boxed = pool.receive(send(pool, Shown(drops.hooked()))).ok();
    assert_eq!(drops.count(), 2);
    drop(boxed);
    assert_eq!((drops.count(), pool.reclaim()), (3, 2));
}

/// A leaked pool that is taken back may have cells that were returned and not reclaimed.
#[test]
fn a_pool_that_is_taken_back_and_reset_has_each_cell_once() {
    let storage: *mut PoolStorage<u64, 2> = Box::into_raw(Box::default());
    // SAFETY: the storage is freed below, when nothing uses it any more.
    let pool = Box::into_raw(Box::new(Pool::in_storage(unsafe { &mut *storage })));
    {
        // SAFETY: the reference is not used after this block.
        let pool: Static<u64> = unsafe { &*pool };
        drop(send(pool, 7));
        drop(send(pool, 8));
    }
    // SAFETY: from `into_raw`, and nothing refers to it.
    let mut pool = unsafe { Box::from_raw(pool) };
    pool.reset();
    let both = [pool.alloc(1), pool.alloc(2)];
    assert_eq!((*both[0], *both[1]), (1, 2));
    assert!(pool.is_full() && pool.try_alloc(3).is_err());
    drop(both);
    drop(pool);
    // SAFETY: from `into_raw`, and its pool is gone.
    drop(unsafe { Box::from_raw(storage) });
}
