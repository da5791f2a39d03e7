//! The pattern of the *cache-scratch* bench: one thread allocates small objects next to each
//! other and hands one to each thread, which frees it; then each allocates an object, writes it
//! many times and frees it, again and again. An allocator that gives a thread the memory back
//! that came from another has two threads write to one line: passive false sharing.
//!
//! A figure is of one write.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::barrier;
use flatslab_benches::run::Turn;
use flatslab_benches::threads::THREADS;

use super::Container;
use super::shared::at_once_of;
use super::stores::{Malloc, On, Sends, Sharded, Shared};
use crate::allocators::Allocator;

/// What is written: through a shared reference, as some stores give no other.
pub(crate) type Value<const WORDS: usize> = [AtomicU64; WORDS];

/// A container that lends its values, to be written in place.
pub(crate) trait Lends<V>: Container<V> {
    /// Looks the value up once, and works on it.
    fn work<R>(common: &Self::Common, handle: &Self::Handle, work: impl FnOnce(&V) -> R) -> R;
}

/// How each store lends a value.
macro_rules! lends {
    ($($store:ty $([$allocator:ident])?, $($bound:ident)+, |$common:pat_param, $handle:ident| $lent:expr;)*) => {
        $(impl<V: $($bound +)+ $(, $allocator: Allocator)?> Lends<V> for $store {
            #[inline(always)]
            fn work<R>(
                $common: &Self::Common,
                $handle: &Self::Handle,
                work: impl FnOnce(&V) -> R,
            ) -> R {
                work($lent)
            }
        })*
    };
}

lends! {
    Sends, Send, |(), sent| sent;
    Shared, Send Sync, |slab, key| &slab.get(*key).expect("it is there");
    Sharded, Send Sync, |slab, key| &slab.get(*key).expect("it is there");
    Malloc, Sized, |(), boxed| boxed;
    On<A> [A], Sized, |(), boxed| boxed.value();
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

#[inline(always)]
fn make<const WORDS: usize, S: Container<Value<WORDS>>>(
    common: &S::Common,
    own: &S::Own,
    number: u64,
) -> S::Handle {
    let value = std::array::from_fn(|_| AtomicU64::new(number));
    S::make(common, own, value).expect("it has room")
}

/// So many threads.
#[inline(never)]
pub(crate) fn scratch<S: Lends<Value<WORDS>, Handle: Send>, const WORDS: usize, const AT: usize>(
    setting: Setting,
) -> Turn {
    let threads = THREADS[AT];
    let count = OBJECTS * threads;
    let capacity = 2 * SPARE * count;
    let common = S::common(capacity);
    // It lives as long as what was made of it.
    let first_own = S::own(capacity);
    // An allocator that was used before has its free memory here and there.
    let made = (0..SPARE * count).map(|_| make::<WORDS, S>(&common, &first_own, 0));
    let address = |object: &S::Handle| S::work(&common, object, |it| it.as_ptr().addr());
    let mut made: Vec<S::Handle> = made.collect();
    made.sort_by_key(address);
    let span = |from: &usize| address(&made[from + count - 1]) - address(&made[*from]);
    let closest = (0..=made.len() - count).min_by_key(span).expect("one");
    let after = made.split_off(closest + count);
    let close = made.split_off(closest);
    made.into_iter()
        .chain(after)
        .for_each(|it| S::remove(&common, it));
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
    let mut turn = at_once_of(&setting, threads, (LIVES, LIVES), || {
        let (own, common) = (S::own(capacity), &common);
        let (thread, objects) = queue.pop().expect("one for each");
        for (at, object) in objects.into_iter().enumerate() {
            let number = S::work(common, &object, |it| it[0].load(Ordering::Relaxed));
            assert_eq!(number as usize, at * threads + thread, "{}", S::NAME);
            S::remove(common, object);
        }
        move |number| {
            let objects: [S::Handle; OBJECTS] =
                std::array::from_fn(|_| black_box(make::<WORDS, S>(common, &own, number)));
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
            objects.into_iter().for_each(|it| S::remove(common, it));
        }
    });
    let writes = (OBJECTS * WRITES) as f64;
    for row in &mut turn.0 {
        row.ticks.iter_mut().for_each(|ticks| *ticks /= writes);
    }
    turn
}
