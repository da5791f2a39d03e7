//! A ring of values of one producer and one consumer: order, refusals, batches that are dropped or
//! forgotten, values of odd sizes and alignments.

use std::collections::VecDeque;
use std::mem::forget;
use std::thread;

use flatslab::sync::{Batch, Consumer, Producer, SpscRing, Values};
use flatslab::{BuildError, FullError};

use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};

/// Odd in size and alignment, with bytes between its fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(128))]
struct Wide(u8, u64, u16);

#[test]
fn values_come_out_in_order_and_a_full_ring_returns_them() {
    fn check<T: Copy + PartialEq + std::fmt::Debug>(value: impl Fn(usize) -> T) {
        for capacity in 1..5 {
            let (mut producer, mut consumer) = SpscRing::of_values(capacity).split();
            for round in 0..4 {
                for at in 0..capacity {
                    assert_eq!(producer.free(), capacity - at);
                    assert_eq!(producer.push(value(round * capacity + at)), Ok(()));
                }
                assert!(producer.is_full() && consumer.len() == capacity);
                assert_eq!(producer.push(value(7)), Err(FullError(value(7))));
                assert_eq!(producer.push_deferred(value(8)), Err(FullError(value(8))));
                for at in 0..capacity {
                    assert_eq!(consumer.pop(), Some(value(round * capacity + at)));
                }
                assert!(consumer.pop().is_none() && producer.is_empty());
                assert_eq!(producer.stats().refusals, Some(2 * (round as u64 + 1)));
            }
        }
    }
    check(|number| number);
    check(|number| Wide(number as u8, number as u64, 3));
    check(|number| [number as u8; 3]);
    check(|_| ());
    check(|number| if number % 2 == 0 { Some("even") } else { None });
}

#[test]
fn a_batch_frees_what_it_yielded_and_leaves_the_rest() {
    let (mut producer, mut consumer) = SpscRing::of_values(4).split();
    for value in 0..4 {
        producer.push(value).unwrap();
    }
    let mut batch = consumer.batch();
    assert_eq!(
        (batch.len(), batch.next(), batch.next()),
        (4, Some(0), Some(1))
    );
    assert_eq!(format!("{batch:?}"), "Batch { len: 2 }");
    // Nothing is free before the end of the batch, and what is pushed before that is not in it.
    assert!(producer.push(4).is_err());
    drop(batch);
    producer.push(4).unwrap();
    assert!(consumer.batch().eq([2, 3, 4]));
    assert_eq!(
        (producer.len(), consumer.peek(), consumer.batch().next()),
        (0, None, None)
    );
    producer.push(5).unwrap();
    assert_eq!(
        (consumer.peek(), producer.len(), consumer.pop()),
        (Some(5), 1, Some(5))
    );
}

#[test]
fn the_places_of_a_forgotten_batch_are_freed_later() {
    let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    producer.push(1).unwrap();
    producer.push(2).unwrap();
    let mut batch = consumer.batch();
    assert_eq!(batch.next(), Some(1));
    forget(batch);
    assert_eq!(producer.free(), 0);
    assert_eq!(consumer.pop(), Some(2));
    assert_eq!(producer.free(), 2);
    producer.push(3).unwrap();
    let mut batch = consumer.batch();
    assert_eq!(batch.next(), Some(3));
    forget(batch);
    assert_eq!(consumer.pop(), None);
    assert_eq!(producer.free(), 2);
}

#[test]
fn a_panic_in_the_middle_of_a_batch_frees_what_was_read() {
    let (mut producer, mut consumer) = SpscRing::of_values(4).split();
    for number in 0..4 {
        producer.push(number).unwrap();
    }
    assert!(panics(|| {
        consumer
            .batch()
            .for_each(|number| assert!(number < 2, "on purpose"));
    }));
    assert_eq!(
        (producer.free(), consumer.pop(), producer.free()),
        (3, Some(3), 4)
    );
}

#[test]
fn deferred_values_are_found_together() {
    let (mut producer, mut consumer) = SpscRing::of_values(8).split();
    for value in 0..3 {
        producer.push_deferred(value).unwrap();
        assert_eq!(consumer.pop(), None);
    }
    producer.flush();
    assert!(consumer.batch().eq([0, 1, 2]));
    producer.push_deferred(3).unwrap();
    drop(producer);
    assert_eq!((consumer.pop(), consumer.is_closed()), (Some(3), true));
}

/// A model of random pushes, pops and batches.
#[test]
fn every_order_of_operations_agrees_with_a_queue() {
    seed(7);
    for capacity in 1..7 {
        let (mut producer, mut consumer) = SpscRing::of_values(capacity).split();
        let (mut queue, mut deferred, mut next) = (VecDeque::new(), VecDeque::new(), 0_u32);
        for _ in 0..amount(2_000, 50) {
            match random(6) {
                0 | 1 => {
                    let is_full = producer.len() == capacity;
                    assert_eq!(producer.push(next).is_err(), is_full);
                    queue.append(&mut deferred);
                    if !is_full {
                        queue.push_back(next);
                    }
                    next += 1;
                }
                2 => {
                    match producer.push_deferred(next) {
                        Ok(()) => deferred.push_back(next),
                        Err(FullError(value)) => {
                            assert_eq!((value, producer.len()), (next, capacity));
                            queue.append(&mut deferred);
                        }
                    }
                    next += 1;
                }
                3 => {
                    producer.flush();
                    queue.append(&mut deferred);
                }
                4 => assert_eq!(consumer.pop(), queue.pop_front()),
                _ => {
                    let most = random(capacity as u64 + 1) as usize;
                    for value in consumer.batch().take(most) {
                        assert_eq!(Some(value), queue.pop_front());
                    }
                }
            }
            assert_eq!(consumer.len(), queue.len());
            assert_eq!(producer.len(), queue.len() + deferred.len());
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn nothing_is_lost_or_torn_between_two_threads() {
    let count = amount(200_000, 200) as u64;
    for capacity in [1, 2, 64] {
        let (mut producer, mut consumer) = SpscRing::of_values(capacity).split();
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..count {
                    while producer.push([number, !number, number ^ 7]).is_err() {
                        thread::yield_now();
                    }
                }
            });
            let mut expected = 0;
            while expected < count {
                for value in consumer.batch() {
                    assert_eq!(value, [expected, !expected, expected ^ 7]);
                    expected += 1;
                }
                if let Some(value) = consumer.pop() {
                    assert_eq!(value, [expected, !expected, expected ^ 7]);
                    expected += 1;
                } else {
                    thread::yield_now();
                }
            }
            assert!(consumer.pop().is_none());
        });
    }
}

#[test]
fn a_ring_that_cannot_be_made_is_an_error() {
    let builder = SpscRing::builder().entries(0).values::<u64>();
    assert!(matches!(
        builder.try_build(),
        Err(BuildError::OutOfRange { .. })
    ));
    for entries in [usize::MAX, usize::MAX / 2, isize::MAX as usize] {
        assert!(
            SpscRing::builder()
                .entries(entries)
                .values::<u64>()
                .try_build()
                .is_err()
        );
        assert!(
            SpscRing::builder()
                .entries(entries)
                .values::<()>()
                .try_build()
                .is_err()
        );
    }
    let source = Counted::new();
    let refused = with_fault(0, Fault::Refuse, false, || {
        let builder = SpscRing::builder().entries(8).values::<Wide>();
        assert!(builder.pages(source.pages()).try_build().is_err());
    });
    assert!(refused);
    source.expect_all_back();
}

#[test]
fn ends_of_values_are_as_send_as_the_values() {
    fn both<T: Send + Sync>() -> usize {
        size_of::<T>()
    }
    let sizes = [
        both::<SpscRing<Values<u64>>>(),
        both::<Producer<Values<u64>>>(),
        both::<Consumer<Values<u64>>>(),
        both::<Batch<'_, u64>>(),
    ];
    assert!(sizes.iter().all(|&size| size > 0));
}

#[test]
fn ends_of_values_may_be_used_after_a_panic() {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    fn both<T: UnwindSafe + RefUnwindSafe>() -> usize {
        size_of::<T>()
    }
    let sizes = [
        both::<SpscRing<Values<u64>>>(),
        both::<Producer<Values<u64>>>(),
        both::<Consumer<Values<u64>>>(),
    ];
    assert!(sizes.iter().all(|&size| size > 0));
}
