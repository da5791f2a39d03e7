//! `SharedSlab` between threads: nothing is lost, doubled, or reached by a stale key.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier};
use std::thread;

use flatslab::sync::{SharedKey, SharedRef, SharedSlab};

use crate::common::amount;
use crate::common::random::{random, seed};

const THREADS: u64 = 4;

/// A value that shows whether it is whole, and counts those of its kind.
struct Whole<'a> {
    numbers: [u64; 3],
    alive: &'a AtomicUsize,
}

impl<'a> Whole<'a> {
    fn new(number: u64, alive: &'a AtomicUsize) -> Self {
        alive.fetch_add(1, Relaxed);
        Whole {
            numbers: [number, !number, number.rotate_left(7)],
            alive,
        }
    }

    fn number(&self) -> u64 {
        let number = self.numbers[0];
        assert_eq!(self.numbers, [number, !number, number.rotate_left(7)]);
        number
    }
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        self.number();
        self.numbers = [0; 3];
        assert!(
            self.alive.fetch_sub(1, Relaxed) > 0,
            "a value is dropped twice"
        );
    }
}

#[test]
fn threads_lose_double_and_confuse_no_value() {
    let rounds = amount(30_000, 20);
    for capacity in [1, 3, 80, 2000] {
        let alive = AtomicUsize::new(0);
        let slab = SharedSlab::with_capacity(capacity);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (slab, alive) = (&slab, &alive);
                scope.spawn(move || {
                    seed(thread + 1);
                    let mut mine: Vec<(SharedKey, u64)> = Vec::new();
                    let mut gone: Vec<SharedKey> = Vec::new();
                    for round in 0..rounds {
                        let number = thread << 32 | round;
                        match random(6) {
                            0..3 => match slab.insert(Whole::new(number, alive)) {
                                Ok(key) => mine.push((key, number)),
                                Err(full) => assert_eq!(full.into_inner().number(), number),
                            },
                            3 => {
                                if let Some((key, number)) = mine.pop() {
                                    assert_eq!(slab.get(key).unwrap().number(), number);
                                    // Others may hold it: iterators below.
                                    assert!(slab.remove(key) && !slab.remove(key));
                                    gone.push(key);
                                }
                            }
                            4 => {
                                if let Some(key) = gone.pop() {
                                    assert!(slab.get(key).is_none() && !slab.remove(key));
                                }
                            }
                            _ => {
                                for (key, value) in slab.iter().take(3) {
                                    value.number();
                                    assert_eq!(SharedRef::key(&value), key);
                                }
                            }
                        }
                    }
                    for (key, number) in mine {
                        assert_eq!(slab.get(key).unwrap().number(), number);
                        assert!(slab.remove(key));
                    }
                });
            }
        });
        assert_eq!((alive.load(Relaxed), slab.len()), (0, 0));
        // Every slot is still there, once.
        for number in 0..capacity {
            assert!(slab.insert(Whole::new(number as u64, &alive)).is_ok());
        }
        assert!(slab.is_full() && slab.insert(Whole::new(0, &alive)).is_err());
        drop(slab);
        assert_eq!(alive.load(Relaxed), 0);
    }
}

#[test]
fn one_thread_inserts_and_another_removes() {
    let values = amount(100_000, 50);
    let slab = SharedSlab::with_capacity(20);
    let (send, receive) = sync_channel(10);
    let sum: u64 = thread::scope(|scope| {
        let slab = &slab;
        scope.spawn(move || {
            for number in 0..values {
                let key = loop {
                    match slab.insert(number) {
                        Ok(key) => break key,
                        Err(_) => thread::yield_now(),
                    }
                };
                send.send(key).unwrap();
            }
        });
        receive.iter().map(|key| slab.try_take(key).unwrap()).sum()
    });
    assert_eq!(sum, (0..values).sum::<u64>());
    assert!(slab.is_empty());
}

#[test]
fn an_insertion_takes_the_slots_of_other_threads_before_it_is_refused() {
    // Several shards. One thread takes all, another gives them back.
    let capacity = amount(5_000, 600);
    let slab = SharedSlab::with_capacity(capacity);
    let mut keys: Vec<_> = (0..capacity)
        .map(|number| slab.insert(number).unwrap())
        .collect();
    assert!(slab.insert(0).is_err());
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in keys.drain(..).rev().step_by(2) {
                assert!(slab.remove(key));
            }
        });
    });
    let free = capacity.div_ceil(2);
    assert_eq!(slab.len(), capacity - free);
    assert_eq!((0..).take_while(|_| slab.insert(0).is_ok()).count(), free);
}

#[test]
fn a_thread_that_removes_can_insert_whatever_the_others_do() {
    // Each thread has a slot of its own, so none is ever refused one.
    let rounds = amount(50_000, 40);
    let slab = SharedSlab::with_capacity(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..rounds {
                    let key = slab.insert(round).expect("a slot for each thread");
                    assert_eq!(slab.try_take(key), Ok(round));
                }
            });
        }
    });
    assert!(slab.is_empty());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn threads_that_have_no_more_values_than_slots_are_not_refused() {
    // As many regions as there can be, so that threads which take the last of 64 slots at once find
    // a note each. In each round a thread has all its values once: the slab is nearly full.
    let (rounds, each) = (amount(2_000, 1), 1024 / THREADS as usize);
    let slab = SharedSlab::with_capacity(1024);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let slab = &slab;
            scope.spawn(move || {
                seed(thread + 1);
                let mut keys = Vec::new();
                for _ in 0..rounds {
                    while keys.len() < each {
                        keys.push(slab.insert(thread).expect("a slot for each value"));
                    }
                    for _ in 0..random(each as u64) {
                        let key = keys.swap_remove(random(keys.len() as u64) as usize);
                        assert_eq!(slab.try_take(key), Ok(thread));
                    }
                }
            });
        }
    });
    assert!(slab.len() <= slab.capacity());
}

#[test]
fn of_many_threads_one_removes_a_value_and_the_last_reader_drops_it() {
    for _ in 0..amount(500, 6) {
        let alive = AtomicUsize::new(0);
        let slab = SharedSlab::with_capacity(1);
        let key = slab
            .insert(Whole::new(7, &alive))
            .unwrap_or_else(|_| panic!());
        let (removed, barrier) = (AtomicUsize::new(0), Barrier::new(THREADS as usize));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (slab, removed, barrier) = (&slab, &removed, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let guard = slab.get(key);
                    let done = match guard {
                        Some(guard) if thread % 2 == 0 => {
                            assert_eq!(guard.number(), 7);
                            SharedRef::remove(guard)
                        }
                        guard => {
                            let done = slab.remove(key);
                            guard.iter().for_each(|guard| assert_eq!(guard.number(), 7));
                            done
                        }
                    };
                    removed.fetch_add(usize::from(done), Relaxed);
                    assert!(slab.get(key).is_none());
                });
            }
        });
        assert_eq!((removed.into_inner(), alive.load(Relaxed)), (1, 0));
        assert!(slab.is_empty());
    }
}

#[test]
fn a_stale_key_never_leads_to_the_next_value() {
    let slab = SharedSlab::with_capacity(1);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (slab, stop) = (&slab, &stop);
        let (send, receive) = sync_channel::<SharedKey>(1);
        scope.spawn(move || {
            for key in receive {
                // The value of a key is the key.
                for _ in 0..amount(50, 3) {
                    if let Some(value) = slab.get(key) {
                        assert_eq!(*value, key);
                    }
                }
            }
            stop.store(true, Relaxed);
        });
        for _ in 0..amount(20_000, 50) {
            if let Ok(key) = slab.insert_with(|key| key) {
                let _ = send.try_send(key);
                assert!(slab.remove(key));
            }
        }
        drop(send);
    });
    assert!(stop.into_inner() && slab.is_empty());
}

#[test]
fn owned_guards_end_on_any_thread() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    let slab = Arc::new(SharedSlab::with_capacity(8));
    let keys: Vec<_> = (0..8)
        .map(|number| slab.insert(Whole::new(number, &ALIVE)).ok().unwrap())
        .collect();
    let threads: Vec<_> = keys
        .iter()
        .map(|&key| {
            let guard = slab.get_owned(key).unwrap();
            thread::spawn(move || {
                let more = SharedRef::clone(&guard);
                assert!(SharedRef::remove(guard));
                more.number()
            })
        })
        .collect();
    drop(slab);
    let sum: u64 = threads.into_iter().map(|it| it.join().unwrap()).sum();
    assert_eq!((sum, ALIVE.load(Relaxed)), (28, 0));
}
