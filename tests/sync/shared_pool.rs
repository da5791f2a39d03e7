//! `SharedPool`: values that come back from other threads, panics, re-entrancy, sleeping threads.

use std::cell::Cell;
use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::thread;
#[cfg(feature = "std")]
use std::time::Duration;

use flatslab::sync::{Pooled, SharedPool};

use crate::common::{Drops, Hooked, amount, panics};

type Buffers = SharedPool<Vec<u8>>;

fn buffers(capacity: usize) -> Buffers {
    SharedPool::with_capacity(capacity, Vec::new, Vec::clear)
}

#[test]
fn a_buffer_that_another_thread_drops_returns_with_its_capacity() {
    let pool = Arc::new(buffers(1));
    let mut buffer = pool.take_owned().unwrap();
    buffer.extend([7; 1500]);
    let memory = buffer.as_ptr().addr();
    thread::spawn(move || assert_eq!(buffer.len(), 1500))
        .join()
        .unwrap();
    let buffer = pool.take().unwrap();
    assert_eq!((buffer.len(), buffer.as_ptr().addr()), (0, memory));
    assert!(buffer.capacity() >= 1500);
}

#[test]
fn reset_runs_on_the_thread_that_drops_the_guard() {
    let pool = SharedPool::with_capacity(1, || None, |it| *it = Some(thread::current().id()));
    let value = pool.take().unwrap();
    let other = thread::scope(|scope| {
        let other = scope.spawn(move || {
            drop(value);
            thread::current().id()
        });
        other.join().unwrap()
    });
    assert_eq!(*pool.take().unwrap(), Some(other));
}

#[test]
fn every_cell_has_a_value_of_its_own_and_no_more_are_taken() {
    let capacities: &[usize] = amount(&[0, 1, 2, 63, 64, 255, 256, 257, 300, 600], &[0, 1, 2, 257]);
    for &capacity in capacities {
        let pool = SharedPool::with_capacity(capacity, || 0_usize, |_| {});
        for round in 0..amount(3, 1) {
            let mut values: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
            assert_eq!((values.len(), pool.idle()), (capacity, 0));
            assert!(pool.is_full() && pool.take().is_none());
            for (number, value) in values.iter_mut().enumerate() {
                **value = round * 1000 + number;
            }
            let mut places: Vec<_> = values.iter().map(|it| std::ptr::from_ref(&**it)).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), capacity);
            for (number, value) in values.iter().enumerate() {
                assert_eq!(**value, round * 1000 + number);
            }
            drop(values);
            assert_eq!((pool.len(), pool.idle()), (0, capacity));
        }
    }
}

#[test]
fn an_idle_value_is_taken_before_another_one_is_created() {
    thread_local! {
        static CREATED: Cell<usize> = const { Cell::new(0) };
    }
    let pool = SharedPool::with_capacity(100, || CREATED.set(CREATED.get() + 1), |()| {});
    for _ in 0..100 {
        drop([(); 8].map(|()| pool.take().unwrap()));
    }
    assert_eq!((CREATED.get(), pool.idle()), (8, 8));
    Pooled::into_inner(pool.take().unwrap());
    assert_eq!(pool.idle(), 7);
}

#[test]
fn values_are_created_in_advance() {
    let mut pool = SharedPool::<u64>::with_capacity(300, || 1, |_| {});
    let kept = [(); 3].map(|()| Pooled::into_inner(pool.take().unwrap()));
    drop([(); 2].map(|()| pool.take()));
    let mut next = 10;
    pool.fill_with(|| {
        next += 1;
        next
    });
    assert_eq!((pool.idle(), next, kept), (300, 308, [1; 3]));
    pool.fill();
    let values: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    assert_eq!(values.iter().filter(|it| ***it == 1).count(), 2);
}

#[test]
fn a_closure_that_panics_keeps_what_it_has_created() {
    let mut pool = buffers(300);
    let mut left = 260;
    let fills = || {
        pool.fill_with(|| {
            left -= 1;
            assert!(left > 0, "enough");
            Vec::new()
        });
    };
    assert!(panics(fills));
    assert_eq!((pool.idle(), pool.len()), (259, 0));
    assert_eq!(std::iter::from_fn(|| pool.take().map(forget)).count(), 300);
}

#[test]
fn a_forgotten_guard_keeps_its_cell_and_nothing_else() {
    let mut pool = SharedPool::with_capacity(2, || 7_u64, |_| {});
    forget(pool.take());
    assert_eq!((pool.len(), pool.idle()), (1, 0));
    let value = pool.take();
    assert!(value.is_some() && pool.take().is_none());
    drop(value);
    pool.clear();
    pool.fill();
    assert_eq!((pool.len(), pool.idle()), (1, 1));
}

#[test]
fn dropping_the_pool_drops_the_idle_values() {
    let drops = Drops::new();
    let mut pool = SharedPool::with_capacity(300, || unreachable!(), |_| {});
    pool.fill_with(|| drops.value(7));
    drop(pool.take());
    drop(Pooled::into_inner(pool.take().unwrap()));
    assert_eq!(drops.count(), 1);
    drop(pool);
    assert_eq!(drops.count(), 300);
}

#[test]
fn a_guard_may_be_the_last_owner() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Alive;
    impl Drop for Alive {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let create = || {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Alive
    };
    let pool = Arc::new(SharedPool::with_capacity(3, create, |_| {}));
    let (one, two) = (pool.take_owned().unwrap(), pool.take_owned().unwrap());
    drop(pool);
    drop(one);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 2);
    thread::spawn(move || drop(two)).join().unwrap();
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    // Moved out by the last owner.
    let pool = Arc::new(SharedPool::with_capacity(3, create, |_| {}));
    let value = pool.take_owned().unwrap();
    drop(pool);
    drop(Pooled::into_inner(value));
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn a_destructor_that_panics_keeps_no_other_from_running() {
    let drops = Drops::new();
    let mut pool = SharedPool::with_capacity(300, || unreachable!(), |_| {});
    let mut number = 0;
    pool.fill_with(|| {
        number += 1;
        let counted = drops.value(number);
        Hooked::new(move || {
            let number = counted.number;
            drop(counted);
            assert!(number != 5, "in the destructor");
        })
    });
    assert!(panics(|| drop(pool)));
    assert_eq!(drops.count(), 300);
}

#[test]
fn init_and_reset_may_use_the_pool() {
    static POOL: OnceLock<SharedPool<u32>> = OnceLock::new();
    thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
    }
    fn nested() -> u32 {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth < 5 {
            // The cells of the outer calls are taken.
            let inner = POOL.get().unwrap().take();
            assert_eq!(inner.is_none(), depth >= 2, "{depth}");
            drop(inner);
        }
        DEPTH.set(depth);
        depth
    }
    let pool = POOL.get_or_init(|| SharedPool::with_capacity(3, nested, |_| _ = nested()));
    let value = pool.take().unwrap();
    assert!(pool.len() == 1);
    drop(value);
    assert_eq!((pool.len(), pool.idle()), (0, 3));
}

#[test]
fn values_of_any_size_and_alignment() {
    #[derive(Clone, Copy)]
    #[repr(align(4096))]
    struct Page(u64);

    fn check<T: Copy + 'static>(value: fn() -> T, is_whole: fn(&T) -> bool) {
        let capacity = amount(260, 5);
        let pool = SharedPool::with_capacity(capacity, value, |_| {});
        let values: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        for value in &values {
            assert!(std::ptr::from_ref(&**value).is_aligned() && is_whole(value));
        }
        assert_eq!(values.len(), capacity);
    }
    check(|| (), |()| true);
    check(|| 7_u8, |it| *it == 7);
    check(|| [7_u64; 7], |it| *it == [7; 7]);
    check(|| [7_u8; 3000], |it| *it == [7; 3000]);
    if !cfg!(miri) {
        check(|| Page(7), |it| it.0 == 7);
    }
}

#[test]
fn guards_print_their_values() {
    let pool = SharedPool::with_capacity(2, || 7, |_| {});
    let value = pool.take().unwrap();
    assert_eq!(format!("{value:?} {value}"), "7 7");
    assert!(std::ptr::eq(*Pooled::pool(&value), &pool));
    let text = format!("{pool:?}");
    assert!(text.contains("len: 1, idle: 0, capacity: 2"), "{text}");
}

/// A value of which two owners at once would tear a copy.
struct Canary {
    words: [u64; 8],
    uses: u64,
}

impl Canary {
    fn new() -> Self {
        Canary {
            words: [0; 8],
            uses: 0,
        }
    }

    fn reset(&mut self) {
        self.check();
        self.words = [0; 8];
    }

    fn write(&mut self, number: u64) {
        assert_eq!(self.words, [0; 8], "the value was not reset");
        self.words = [number; 8];
        self.uses += 1;
    }

    fn check(&self) {
        assert!(self.words.iter().all(|&word| word == self.words[0]), "torn");
    }
}

#[test]
fn values_that_are_sent_around_have_one_owner_each() {
    let rounds = amount(20_000, 20);
    for &capacity in amount::<&[usize]>(&[1, 3, 4, 300], &[1, 3]) {
        let pool = Arc::new(SharedPool::with_capacity(
            capacity,
            Canary::new,
            Canary::reset,
        ));
        let mut uses = 0;
        thread::scope(|scope| {
            let (senders, receivers): (Vec<_>, Vec<_>) =
                (0..3).map(|_| mpsc::channel::<Pooled<Canary>>()).unzip();
            let threads = receivers.into_iter().enumerate().map(|(mine, receiver)| {
                let (pool, senders) = (pool.clone(), senders.clone());
                scope.spawn(move || {
                    let mut uses = 0;
                    for round in 0..rounds {
                        if let Some(mut value) = pool.take_owned() {
                            value.write(round * 3 + mine as u64);
                            uses += 1;
                            match round % 4 {
                                0 => drop(value),
                                1 if round % 64 == 1 => Pooled::into_inner(value).check(),
                                _ => drop(senders[(mine + 1) % 3].send(value)),
                            }
                        }
                        if round % 2 == 0 {
                            for value in receiver.try_iter() {
                                value.check();
                            }
                        }
                    }
                    uses
                })
            });
            let threads: Vec<_> = threads.collect();
            drop(senders);
            uses = threads.into_iter().map(|it| it.join().unwrap()).sum();
        });
        assert!(uses > 0);
        assert_eq!(pool.len(), 0);
        assert!(pool.idle() <= capacity);
    }
}

#[test]
fn a_program_with_no_more_values_than_cells_is_never_refused() {
    for capacity in [2, 3] {
        let pool = SharedPool::with_capacity(capacity, Canary::new, Canary::reset);
        let start = Barrier::new(capacity);
        thread::scope(|scope| {
            for thread in 0..capacity as u64 {
                let (pool, start) = (&pool, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..amount(50_000, 30) {
                        let mut value = pool.take().expect("refused");
                        value.write(round * 10 + thread);
                    }
                });
            }
        });
        assert!(pool.is_empty() && pool.idle() <= capacity);
    }
}

#[test]
#[cfg(feature = "std")]
fn sleeping_threads_get_the_values_that_come_back() {
    let pool = SharedPool::with_capacity(2, Canary::new, Canary::reset);
    let total = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..5_u64 {
            let (pool, total) = (&pool, &total);
            scope.spawn(move || {
                for round in 0..amount(2_000, 5) {
                    let mut value = pool.take_wait();
                    value.write(round * 10 + thread);
                    if round % 16 == 3 {
                        thread::yield_now();
                    }
                    if round % 32 == 5 {
                        Pooled::into_inner(value).check();
                    }
                    total.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 5 * amount(2_000, 5) as usize);
    assert_eq!(pool.len(), 0);
}

#[test]
#[cfg(feature = "std")]
fn waiting_ends_at_its_limit() {
    let pool = Arc::new(buffers(1));
    let value = pool.take_wait_for(Duration::ZERO).unwrap();
    assert!(pool.take_wait_for(Duration::ZERO).is_none());
    assert!(pool.take_wait_for_owned(Duration::from_millis(2)).is_none());
    drop(value);
    drop(pool.take_wait_for(Duration::MAX).unwrap());
    let value = pool.take_wait_owned();
    let theirs = pool.clone();
    let other = thread::spawn(move || theirs.take_wait_for(Duration::MAX).is_some());
    drop(value);
    assert!(other.join().unwrap());
}

#[test]
#[cfg(feature = "std")]
fn init_of_a_thread_that_slept_may_use_the_pool() {
    static POOL: OnceLock<SharedPool<Vec<u8>>> = OnceLock::new();
    thread_local! {
        static CREATES: Cell<bool> = const { Cell::new(false) };
    }
    fn init() -> Vec<u8> {
        let pool = POOL.get().unwrap();
        // The only cell is this thread's: no one is woken, and no lock is held.
        assert!(pool.take_wait_for(Duration::from_millis(1)).is_none());
        CREATES.set(true);
        Vec::new()
    }
    let pool = POOL.get_or_init(|| SharedPool::with_capacity(1, init, Vec::clear));
    let value = pool.take().unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            drop(pool.take_wait());
            CREATES.get()
        });
        thread::sleep(Duration::from_millis(2));
        drop(Pooled::into_inner(value));
        assert!(other.join().unwrap());
    });
}
