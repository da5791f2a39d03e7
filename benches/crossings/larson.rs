//! The pattern of the *larson* bench: each of two threads has an array of objects of mixed
//! sizes, frees one at random and allocates another in its place; then the two exchange their
//! arrays, so that each frees what the other allocated.
//!
//! An exchange is not timed: a figure is of one object that is read and freed and one that is
//! allocated and written.

use std::sync::Barrier;

use crossbeam_queue::ArrayQueue;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::Payload;
use flatslab_benches::run::Turn;
use flatslab_benches::{clock, machine};
use rand::Rng;

use super::{Container, Store, wait_until};

type Small = u64;
type Middle = [u64; 8];
type Large = [u64; 25];

/// A store of objects of all sizes, a container for each.
pub(crate) trait Mixed:
    Store<Small, Handle: Send> + Store<Middle, Handle: Send> + Store<Large, Handle: Send>
{
}

impl<S> Mixed for S where
    S: Store<Small, Handle: Send> + Store<Middle, Handle: Send> + Store<Large, Handle: Send>
{
}

type Common<S> = (
    <S as Container<Small>>::Common,
    <S as Container<Middle>>::Common,
    <S as Container<Large>>::Common,
);

type Own<S> = (
    <S as Container<Small>>::Own,
    <S as Container<Middle>>::Own,
    <S as Container<Large>>::Own,
);

enum Object<S: Mixed> {
    Small(<S as Container<Small>>::Handle),
    Middle(<S as Container<Middle>>::Handle),
    Large(<S as Container<Large>>::Handle),
}

impl<S: Mixed> Object<S> {
    #[inline(always)]
    fn make(size: u8, number: u64, common: &Common<S>, own: &Own<S>) -> Self {
        fn value<V: Payload, S: Store<V>>(
            common: &S::Common,
            own: &S::Own,
            number: u64,
        ) -> S::Handle {
            S::make(common, own, V::of(number)).expect("it has room")
        }
        match size {
            0 => Object::Small(value::<Small, S>(&common.0, &own.0, number)),
            1 => Object::Middle(value::<Middle, S>(&common.1, &own.1, number)),
            _ => Object::Large(value::<Large, S>(&common.2, &own.2, number)),
        }
    }

    /// Reads its number, and frees it.
    #[inline(always)]
    fn end(self, common: &Common<S>) -> u64 {
        match self {
            Object::Small(it) => <S as Store<Small>>::end(&common.0, it),
            Object::Middle(it) => <S as Store<Middle>>::end(&common.1, it),
            Object::Large(it) => <S as Store<Large>>::end(&common.2, it),
        }
    }
}

/// Bits of a number that say in which place the object is.
const PLACE: u32 = 32;

/// Whether most of the longer stretch is in both: otherwise a thread was without its processor,
/// and the other was alone with the container.
fn are_at_once(a: (u64, u64), b: (u64, u64)) -> bool {
    let common = a.1.min(b.1).saturating_sub(a.0.max(b.0));
    let longer = (a.1 - a.0).max(b.1 - b.0);
    common * 4 >= longer * 3
}

/// One figure a batch of each thread, where both were at work.
#[inline(never)]
pub(crate) fn larson<S: Mixed>(setting: Setting) -> Turn {
    let batches = if setting.live < 1024 { 8 } else { 32 };
    // A quarter of the frees of a batch are then of what the other thread allocated.
    let batch = 4 * setting.live;
    let mut random = setting.random.clone();
    let mut sequence = |count: usize| -> Vec<(u32, u8)> {
        let mut one = || {
            (
                random.random_range(0..setting.live as u32),
                random.random_range(0..3),
            )
        };
        (0..count).map(|_| one()).collect()
    };
    // A batch begins somewhere in them.
    let sequences = [sequence(3 * batch), sequence(3 * batch)];
    // Of one size at the worst, of one thread at the worst; and some that are on their way back.
    let capacity = 2 * setting.live + 64;
    let common: Common<S> = (
        <S as Container<Small>>::common(capacity),
        <S as Container<Middle>>::common(capacity),
        <S as Container<Large>>::common(capacity),
    );
    // A thread may be one exchange ahead.
    let arrays = [(); 2].map(|()| ArrayQueue::<Vec<Option<Object<S>>>>::new(2));
    let all = Barrier::new(2);

    let one = |thread: usize| {
        machine::pin_to(thread);
        let own: Own<S> = (
            <S as Container<Small>>::own(capacity),
            <S as Container<Middle>>::own(capacity),
            <S as Container<Large>>::own(capacity),
        );
        let sequence = &sequences[thread];
        let mut stretches = Vec::with_capacity(batches);
        // Even numbers are of one thread, odd ones of the other.
        let (mut number, mut sum) = (thread as u64, 0_u64);
        let mut make = |place: usize, size: u8| {
            let object = Object::<S>::make(size, number << PLACE | place as u64, &common, &own);
            sum = sum.wrapping_add(number);
            number += 2;
            Some(object)
        };
        let (mut freed, mut wrong) = (0_u64, 0);
        let mut free = |place: usize, object: Option<Object<S>>| {
            let number = object.expect("each place has one").end(&common);
            // Counted: after a panic here the other thread would wait for ever.
            wrong += usize::from(number as u32 as usize != place);
            freed = freed.wrapping_add(number >> PLACE);
        };
        let first = sequence.iter().take(setting.live).enumerate();
        let mut array: Vec<_> = first.map(|(place, (_, size))| make(place, *size)).collect();
        all.wait();
        for at in 0..batches / 8 + batches {
            let from = at * 613 % (2 * batch);
            let begun = clock::start();
            for (place, size) in &sequence[from..from + batch] {
                let place = *place as usize;
                free(place, array[place].take());
                array[place] = make(place, *size);
            }
            if at >= batches / 8 {
                stretches.push((begun, clock::stop()));
            }
            let given = arrays[1 - thread].push(array);
            assert!(given.is_ok(), "neither is two ahead");
            array = Vec::new();
            wait_until(|| match arrays[thread].pop() {
                Some(other) => {
                    array = other;
                    true
                }
                None => false,
            });
        }
        for (place, object) in array.into_iter().enumerate() {
            free(place, object);
        }
        // What a thread has of its own outlives all that was made of it.
        all.wait();
        (stretches, sum.wrapping_sub(freed), wrong)
    };
    let given = std::thread::scope(|scope| {
        let one = &one;
        let threads = [0, 1].map(|thread| scope.spawn(move || one(thread)));
        threads.map(|it| it.join().expect("it ends"))
    });
    let [(first, left, wrong), (second, right, also_wrong)] = given;
    let name = <S as Container<Small>>::NAME;
    assert_eq!(
        (left.wrapping_add(right), wrong + also_wrong),
        (0, 0),
        "{name}"
    );
    let both = first
        .into_iter()
        .zip(second)
        .filter(|(a, b)| are_at_once(*a, *b));
    let both = both.flat_map(|(a, b)| [a, b]);
    let ticks = both.map(|(begun, stopped)| (stopped - begun) as f64 / batch as f64);
    ticks.collect::<Vec<_>>().into()
}
