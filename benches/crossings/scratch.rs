//! The pattern of the *cache-scratch* bench: one thread allocates small objects next to each
//! other and hands one to each thread, which frees it; then each allocates an object, writes it
//! many times and frees it, again and again. An allocator that gives a thread the memory back
//! that came from another has two threads write to one line: passive false sharing.
//!
//! A figure is of one write.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use flatslab::BoundedSlab;
use flatslab::sync::{SendSlot, SharedKey, SharedSlab};
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::barrier;
use flatslab_benches::run::Turn;
use flatslab_benches::threads::{MALLOC, SHARDED, SHARED, SLAB};

use super::heaps::{Heap, HeapBox, On};
use super::shared::at_once_of;
use super::stores::{Malloc, Sends, Sharded, Shared};

/// What is written: through a shared reference, as some stores give no other.
pub(crate) type Value<const WORDS: usize> = [AtomicU64; WORDS];

/// Where values are that are written in place.
pub(crate) trait Scratch<V> {
    const NAME: &'static str;
    /// What all threads have.
    type Common: Sync;
    /// What a thread has of its own.
    type Own;
    type Handle: Send;

    fn common(capacity: usize) -> Self::Common;

    fn own(capacity: usize) -> Self::Own;

    fn make(common: &Self::Common, own: &Self::Own, value: V) -> Self::Handle;

    /// Looks the value up once, and works on it.
    fn work<R>(common: &Self::Common, handle: &Self::Handle, work: impl FnOnce(&V) -> R) -> R;

    fn end(common: &Self::Common, handle: Self::Handle);
}

impl<V: Send> Scratch<V> for Sends {
    const NAME: &'static str = SLAB;
    type Common = ();
    type Own = BoundedSlab<V>;
    type Handle = SendSlot<V>;

    fn common(_: usize) {}

    fn own(capacity: usize) -> BoundedSlab<V> {
        BoundedSlab::with_capacity(capacity)
    }

    #[inline(always)]
    fn make((): &(), slab: &BoundedSlab<V>, value: V) -> SendSlot<V> {
        slab.insert(value).expect("it has room").into_send()
    }

    #[inline(always)]
    fn work<R>((): &(), sent: &SendSlot<V>, work: impl FnOnce(&V) -> R) -> R {
        work(sent)
    }

    #[inline(always)]
    fn end((): &(), sent: SendSlot<V>) {
        drop(sent);
    }
}

impl<V: Send + Sync> Scratch<V> for Shared {
    const NAME: &'static str = SHARED;
    type Common = SharedSlab<V>;
    type Own = ();
    type Handle = SharedKey;

    fn common(capacity: usize) -> SharedSlab<V> {
        SharedSlab::with_capacity(capacity)
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(slab: &SharedSlab<V>, (): &(), value: V) -> SharedKey {
        slab.insert(value).expect("it has room")
    }

    #[inline(always)]
    fn work<R>(slab: &SharedSlab<V>, key: &SharedKey, work: impl FnOnce(&V) -> R) -> R {
        work(&slab.get(*key).expect("it is there"))
    }

    #[inline(always)]
    fn end(slab: &SharedSlab<V>, key: SharedKey) {
        assert!(slab.remove(key), "it is there");
    }
}

impl<V: Send + Sync> Scratch<V> for Sharded {
    const NAME: &'static str = SHARDED;
    type Common = sharded_slab::Slab<V>;
    type Own = ();
    type Handle = usize;

    fn common(_: usize) -> sharded_slab::Slab<V> {
        sharded_slab::Slab::new()
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(slab: &sharded_slab::Slab<V>, (): &(), value: V) -> usize {
        slab.insert(value).expect("it has room")
    }

    #[inline(always)]
    fn work<R>(slab: &sharded_slab::Slab<V>, key: &usize, work: impl FnOnce(&V) -> R) -> R {
        work(&slab.get(*key).expect("it is there"))
    }

    #[inline(always)]
    fn end(slab: &sharded_slab::Slab<V>, key: usize) {
        assert!(slab.remove(key), "it is there");
    }
}

impl<V: Send> Scratch<V> for Malloc {
    const NAME: &'static str = MALLOC;
    type Common = ();
    type Own = ();
    type Handle = Box<V>;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> Box<V> {
        Box::new(value)
    }

    #[inline(always)]
    fn work<R>((): &(), boxed: &Box<V>, work: impl FnOnce(&V) -> R) -> R {
        work(boxed)
    }

    #[inline(always)]
    fn end((): &(), boxed: Box<V>) {
        drop(boxed);
    }
}

impl<V: Send, H: Heap> Scratch<V> for On<H> {
    const NAME: &'static str = H::NAME;
    type Common = ();
    type Own = ();
    type Handle = HeapBox<V, H>;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> HeapBox<V, H> {
        HeapBox::new(value)
    }

    #[inline(always)]
    fn work<R>((): &(), boxed: &HeapBox<V, H>, work: impl FnOnce(&V) -> R) -> R {
        work(boxed.value())
    }

    #[inline(always)]
    fn end((): &(), boxed: HeapBox<V, H>) {
        drop(boxed);
    }
}

/// Objects that a thread has at once: so many that some lie next to another thread's, wherever a
/// line begins.
const OBJECTS: usize = 8;
/// Writes of an object while it lives.
const WRITES: usize = 256;
/// How often all objects of a thread are made, written and freed in a batch: so few that it is
/// short even where writes wait for the other thread's.
const LIVES: usize = 2;
/// How many times as many are allocated at first as are handed out: those that lie closest.
const SPARE: usize = 8;

fn value<const WORDS: usize>(number: u64) -> Value<WORDS> {
    std::array::from_fn(|_| AtomicU64::new(number))
}

/// So many threads.
#[inline(never)]
pub(crate) fn turn<const WORDS: usize, S: Scratch<Value<WORDS>>>(
    setting: &Setting,
    threads: usize,
) -> Turn {
    let count = OBJECTS * threads;
    let capacity = 2 * SPARE * count;
    let common = S::common(capacity);
    // It lives as long as what was made of it.
    let first_own = S::own(capacity);
    // An allocator that was used before has its free memory here and there.
    let made = (0..SPARE * count).map(|_| S::make(&common, &first_own, value(0)));
    let address = |object: &S::Handle| S::work(&common, object, |it| it.as_ptr().addr());
    let mut made: Vec<S::Handle> = made.collect();
    made.sort_by_key(address);
    let span = |from: &usize| address(&made[from + count - 1]) - address(&made[*from]);
    let closest = (0..=made.len() - count).min_by_key(span).expect("one");
    let after = made.split_off(closest + count);
    let close = made.split_off(closest);
    made.into_iter()
        .chain(after)
        .for_each(|it| S::end(&common, it));
    // Dealt in turns: neighbours go to different threads.
    let mut handed: Vec<Vec<S::Handle>> = (0..threads).map(|_| Vec::new()).collect();
    for (at, object) in close.into_iter().enumerate() {
        S::work(&common, &object, |it| {
            it[0].store(at as u64, Ordering::Relaxed)
        });
        handed[at % threads].push(object);
    }
    let queue = ArrayQueue::new(threads);
    for (thread, objects) in handed.into_iter().enumerate() {
        assert!(queue.push((thread, objects)).is_ok(), "it has room");
    }
    let mut turn = at_once_of(setting, threads, (LIVES, LIVES), || {
        let (own, common) = (S::own(capacity), &common);
        let (thread, objects) = queue.pop().expect("one for each");
        for (at, object) in objects.into_iter().enumerate() {
            let number = S::work(common, &object, |it| it[0].load(Ordering::Relaxed));
            assert_eq!(number as usize, at * threads + thread, "{}", S::NAME);
            S::end(common, object);
        }
        move |number| {
            let objects: [S::Handle; OBJECTS] =
                std::array::from_fn(|_| black_box(S::make(common, &own, value(number))));
            for object in &objects {
                S::work(common, object, |it| {
                    for write in 0..WRITES {
                        let word = &it[write % WORDS];
                        // Relaxed, and no atomic step: no other thread has the object.
                        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        barrier(it);
                    }
                    let sum: u64 = it.iter().map(|it| it.load(Ordering::Relaxed)).sum();
                    let right = number * WORDS as u64 + WRITES as u64;
                    assert_eq!(sum, right, "{}", S::NAME);
                });
            }
            objects.into_iter().for_each(|it| S::end(common, it));
        }
    });
    let writes = (OBJECTS * WRITES) as f64;
    for row in &mut turn.0 {
        row.ticks.iter_mut().for_each(|ticks| *ticks /= writes);
    }
    turn
}
