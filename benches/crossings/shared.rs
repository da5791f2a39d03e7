//! Threads that use one container at the same time, each pinned to a core of its own.
//!
//! A figure is of one operation of one thread, while all threads are at work: a thread that
//! has timed all its batches goes on until the others have, too.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use flatslab_benches::operation::Setting;
use flatslab_benches::payload::{Payload, barrier, opaque, whole};
use flatslab_benches::run::Turn;
use flatslab_benches::threads::THREADS;
use flatslab_benches::{clock, machine};

use super::Store;

/// Operations of a batch.
pub(crate) const BATCH: usize = 256;
/// Values that a thread has at once.
const VALUES: usize = 64;

/// Slots for what is live, and for the values of all threads in a quick run.
fn capacity(setting: &Setting, threads: usize) -> usize {
    setting.live.max(2 * VALUES * threads)
}

/// A thread that has not ended a batch for so long is without its processor. Much longer than
/// a batch, much shorter than what a system gives to the next in line.
const ABSENT_NS: f64 = 200_000.0;

/// When a thread last ended a batch, in ticks: on a line of its own.
#[repr(align(128))]
struct Seen(AtomicU64);

/// As [`at_once_of`], in batches of [`BATCH`].
#[inline(always)]
pub(crate) fn at_once<F: FnMut(u64)>(
    setting: &Setting,
    threads: usize,
    in_one: usize,
    start: impl Fn() -> F + Sync,
) -> Turn {
    at_once_of(setting, threads, (BATCH, in_one), start)
}

/// Has all threads do something again and again; `start` makes what a thread needs for it, and
/// the operation is handed numbers, one after the other. `in_one` operations of a batch are timed
/// at once.
///
/// Only those batches count during which no thread was without its processor: the others were
/// alone with the container.
#[inline(always)]
pub(crate) fn at_once_of<F: FnMut(u64)>(
    setting: &Setting,
    threads: usize,
    (in_batch, in_one): (usize, usize),
    start: impl Fn() -> F + Sync,
) -> Turn {
    let (batches, most) = match setting.live < 1024 {
        true => (8, Duration::from_millis(10)),
        false => (64, Duration::from_millis(100)),
    };
    let absent = (ABSENT_NS * ticks_per_ns()) as u64;
    let (all_here, finished) = (Barrier::new(threads), AtomicUsize::new(0));
    let seen: Vec<Seen> = (0..threads).map(|_| Seen(AtomicU64::new(0))).collect();
    let one = |thread: usize| {
        machine::pin_to(thread);
        let mut operation = start();
        let overhead = clock::overhead();
        let mut ticks = Vec::with_capacity(batches * in_batch / in_one);
        let mut number = 0;
        // Says whether all threads were at work.
        let mut batch = |ticks: &mut Vec<f64>| {
            let first = clock::start();
            for _ in 0..in_batch / in_one {
                let begun = clock::start();
                for _ in 0..in_one {
                    operation(number);
                    number += 1;
                }
                let passed = (clock::stop() - begun).saturating_sub(overhead);
                ticks.push(passed as f64 / in_one as f64);
            }
            // Relaxed, as below: they say what counts, and publish nothing.
            seen[thread].0.store(clock::stop(), Ordering::Relaxed);
            let earliest = first - absent;
            seen.iter()
                .all(|seen| seen.0.load(Ordering::Relaxed) >= earliest)
        };
        all_here.wait();
        let begun = Instant::now();
        let mut counted = 0;
        while counted < batches + batches / 8 && begun.elapsed() < most {
            let before = ticks.len();
            let was_with_all = batch(&mut ticks);
            counted += usize::from(was_with_all);
            // Neither the first ones nor those of a thread that was alone.
            if counted <= batches / 8 || !was_with_all {
                ticks.truncate(before);
            }
        }
        finished.fetch_add(1, Ordering::Relaxed);
        while finished.load(Ordering::Relaxed) < threads {
            let before = ticks.len();
            batch(&mut ticks);
            ticks.truncate(before);
        }
        ticks
    };
    let all = std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || one(thread)))
            .collect();
        let joined = threads.into_iter().map(|it| it.join().expect("it ends"));
        joined.collect::<Vec<_>>().concat()
    });
    all.into()
}

/// Ticks of the counter per nanosecond.
fn ticks_per_ns() -> f64 {
    static TICKS: OnceLock<f64> = OnceLock::new();
    *TICKS.get_or_init(clock::ticks_per_ns)
}

/// A value of a store that has room for it.
#[inline(always)]
fn make<S: Store<V>, V: Payload>(common: &S::Common, own: &S::Own, number: u64) -> S::Handle {
    S::make(common, own, V::of(number)).expect("it has room")
}

/// Moves a value out, and looks at its number.
#[inline(always)]
fn take_it<S: Store<V>, V: Payload>(common: &S::Common, handle: S::Handle, number: u64) {
    let value = S::take(common, handle);
    whole(&value);
    assert_eq!(value.number(), number, "{}", S::NAME);
}

/// A value that is moved out at once, on so many threads as the place among [`THREADS`] says.
#[inline(never)]
pub(crate) fn take<S: Store<V>, V: Payload, const AT: usize>(setting: Setting) -> Turn {
    let capacity = capacity(&setting, THREADS[AT]);
    let common = S::common(capacity);
    at_once(&setting, THREADS[AT], BATCH, || {
        let (own, common) = (S::own(capacity), &common);
        move |number| {
            barrier(common);
            let made = make::<S, V>(common, &own, number);
            take_it::<S, V>(common, opaque(made), number);
        }
    })
}

/// A value that is dropped at once.
#[inline(never)]
pub(crate) fn remove<S: Store<V>, V: Payload, const AT: usize>(setting: Setting) -> Turn {
    let capacity = capacity(&setting, THREADS[AT]);
    let common = S::common(capacity);
    at_once(&setting, THREADS[AT], BATCH, || {
        let (own, common) = (S::own(capacity), &common);
        move |number| {
            barrier(common);
            let made = make::<S, V>(common, &own, number);
            S::remove(common, opaque(made));
        }
    })
}

/// A value, and the oldest of the thread's is moved out: so many are timed at once.
#[inline(never)]
pub(crate) fn window<S: Store<V>, V: Payload, const AT: usize, const IN_ONE: usize>(
    setting: Setting,
) -> Turn {
    let capacity = capacity(&setting, THREADS[AT]);
    let common = S::common(capacity);
    at_once(&setting, THREADS[AT], IN_ONE, || {
        let (own, common) = (S::own(capacity), &common);
        let values = (0..VALUES as u64).map(|at| make::<S, V>(common, &own, at));
        let mut values: Vec<_> = values.collect();
        move |number| {
            barrier(common);
            let made = make::<S, V>(common, &own, number + VALUES as u64);
            let oldest = std::mem::replace(&mut values[number as usize % VALUES], made);
            take_it::<S, V>(common, oldest, number);
        }
    })
}

/// Values of the thread's own are read, one after the other.
#[inline(never)]
pub(crate) fn get<S: Store<V>, V: Payload, const AT: usize>(setting: Setting) -> Turn {
    let capacity = capacity(&setting, THREADS[AT]);
    let common = S::common(capacity);
    at_once(&setting, THREADS[AT], BATCH, || {
        let (own, common) = (S::own(capacity), &common);
        let values = (0..VALUES as u64).map(|at| make::<S, V>(common, &own, at));
        let values: Vec<_> = values.collect();
        move |number| {
            barrier(&own);
            let at = number as usize % VALUES;
            assert_eq!(S::number(common, &values[at]), at as u64, "{}", S::NAME);
        }
    })
}

/// All threads read one value.
#[inline(never)]
pub(crate) fn get_one<S: Store<V, Handle: Sync>, V: Payload, const AT: usize>(
    setting: Setting,
) -> Turn {
    let capacity = capacity(&setting, THREADS[AT]);
    let (common, own) = (S::common(capacity), S::own(capacity));
    let value = make::<S, V>(&common, &own, 7);
    at_once(&setting, THREADS[AT], BATCH, || {
        let (common, value) = (&common, &value);
        move |_| {
            barrier(common);
            assert_eq!(S::number(common, value), 7, "{}", S::NAME);
        }
    })
}
