//! A ring of one producer and one consumer: order, refusals, entries and frames that are
//! dropped or forgotten, ends that go in any order.

use std::collections::VecDeque;
use std::mem::forget;
use std::thread;

use flatslab::sync::{Consumer, Entry, Frame, Producer, PushError, SpscRing};
use flatslab::{AllocError, BuildError, SizeError};

use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};

fn ring(entries: usize, max_len: usize) -> (Producer, Consumer) {
    SpscRing::with_capacity(entries, max_len).split()
}

#[test]
fn entries_come_out_in_order_with_their_true_lengths() {
    let (mut producer, mut consumer) = ring(4, 100);
    for round in 0..5 {
        for len in [100, 0, 1, 37] {
            assert_eq!(producer.push(&vec![round; len]), Ok(()));
        }
        assert!(producer.is_full() && consumer.len() == 4);
        assert_eq!(producer.push(b"refused"), Err(PushError::Full));
        assert!(producer.vacant_entry().is_none());
        for len in [100, 0, 1, 37] {
            assert_eq!(*consumer.pop().unwrap(), vec![round; len][..]);
        }
        assert!(consumer.pop().is_none() && producer.is_empty());
    }
}

/// A push that passes the end of the places that the producer knew to be free reads the consumer's
/// position again. It used to publish what was deferred, so the consumer found half of a batch.
#[test]
fn a_batch_that_fits_is_found_as_a_whole_wherever_it_begins() {
    const ENTRIES: u8 = 4;
    for batch in 1..=ENTRIES {
        let (mut producer, mut consumer) = ring(usize::from(ENTRIES), 100);
        for _ in 0..3 * ENTRIES {
            for value in 0..batch {
                assert!(consumer.pop().is_none());
                if value % 2 == 0 {
                    producer.push_deferred(&[value]).unwrap();
                } else {
                    let mut entry = producer.vacant_entry().unwrap();
                    entry.extend_from_slice(&[value]).unwrap();
                    entry.defer();
                }
            }
            assert!(consumer.pop().is_none());
            assert_eq!(producer.len(), usize::from(batch));
            producer.flush();
            for value in 0..batch {
                assert_eq!(*consumer.pop().unwrap(), [value]);
            }
        }
    }
}

#[test]
fn deferred_entries_are_found_after_the_next_push_a_flush_a_refusal_or_the_end() {
    let (mut producer, mut consumer) = ring(4, 100);
    let found = |consumer: &mut Consumer| {
        let mut found = Vec::new();
        while let Some(frame) = consumer.pop() {
            found.extend_from_slice(&frame);
        }
        found
    };
    producer.push_deferred(&[1]).unwrap();
    let mut entry = producer.vacant_entry().unwrap();
    entry.extend_from_slice(&[2]).unwrap();
    entry.defer();
    assert_eq!((producer.len(), consumer.len()), (2, 0));
    assert!(consumer.pop().is_none());
    producer.push(&[3]).unwrap();
    assert_eq!(found(&mut consumer), [1, 2, 3]);

    producer.push_deferred(&[4]).unwrap();
    producer.flush();
    assert_eq!(found(&mut consumer), [4]);
    producer.flush();
    assert_eq!(found(&mut consumer), []);

    for value in 5..9 {
        assert!(consumer.pop().is_none());
        producer.push_deferred(&[value]).unwrap();
    }
    assert_eq!(producer.push_deferred(&[0]), Err(PushError::Full));
    assert_eq!(found(&mut consumer), [5, 6, 7, 8]);

    // A producer may wait for room without a push.
    for value in 5..9 {
        producer.push_deferred(&[value]).unwrap();
    }
    assert!(consumer.pop().is_none());
    assert!(producer.is_full());
    assert_eq!(found(&mut consumer), [5, 6, 7, 8]);

    let long = producer.push_deferred(&[0; 101]);
    assert_eq!(
        long,
        Err(PushError::TooLarge(SizeError {
            size: 101,
            limit: producer.max_len()
        }))
    );
    producer.push_deferred(&[9]).unwrap();
    // An entry that is dropped or forgotten is none, and what was deferred before it stays.
    producer
        .vacant_entry()
        .unwrap()
        .extend_from_slice(&[0])
        .unwrap();
    #[expect(
        clippy::forget_non_drop,
        reason = "whether or not an entry has a destructor"
    )]
    forget(producer.vacant_entry());
    drop(producer);
    assert_eq!(found(&mut consumer), [9]);
    assert!(consumer.is_closed());
}

#[test]
fn a_ring_does_as_a_queue() {
    for (number, capacity) in [1, 2, 3, 7].into_iter().enumerate() {
        seed(number as u64);
        let (mut producer, mut consumer) = ring(capacity, 30);
        let mut queue: VecDeque<Vec<u8>> = VecDeque::new();
        for step in 0..amount(20_000, 40) {
            let bytes = vec![step as u8; random(31) as usize];
            match random(6) {
                0 | 1 => {
                    let refused = queue.len() == capacity;
                    assert_eq!(producer.push(&bytes).is_err(), refused);
                    if !refused {
                        queue.push_back(bytes);
                    }
                }
                2 => match producer.vacant_entry() {
                    None => assert_eq!(queue.len(), capacity),
                    Some(mut entry) => {
                        entry.extend_from_slice(&bytes).unwrap();
                        match random(2) {
                            // Not committed.
                            0 => {}
                            _ => {
                                entry.commit();
                                queue.push_back(bytes);
                            }
                        }
                    }
                },
                3..5 => {
                    let frame = consumer.pop();
                    assert_eq!(frame.as_deref(), queue.pop_front().as_deref());
                }
                _ => {
                    let frame = consumer.pop();
                    assert_eq!(frame.as_deref(), queue.pop_front().as_deref());
                    forget(frame);
                    if queue.is_empty() {
                        // Gives the place back that was forgotten.
                        assert!(consumer.pop().is_none());
                    } else if producer.is_full() {
                        assert_eq!(*consumer.pop().unwrap(), queue.pop_front().unwrap()[..]);
                    }
                }
            }
            assert_eq!(consumer.len(), queue.len());
            assert!(producer.len() >= queue.len());
            if consumer.is_empty() {
                assert!(consumer.pop().is_none() && producer.is_empty());
            }
            if producer.len() > queue.len() {
                // A forgotten frame's place, which the next one gives back.
                if let Some(frame) = consumer.pop() {
                    assert_eq!(*frame, queue.pop_front().unwrap()[..]);
                }
            }
            assert_eq!(producer.len(), queue.len());
        }
    }
}

#[test]
fn what_has_no_room_is_refused_and_nothing_is_pushed() {
    let (mut producer, mut consumer) = ring(1, 5);
    for size in [6, 15, 16, 17, 100] {
        let error = PushError::TooLarge(SizeError { size, limit: 5 });
        assert_eq!(producer.push(&vec![0; size]), Err(error));
    }
    let mut entry = producer.vacant_entry().unwrap();
    assert_eq!(entry.capacity(), 5);
    assert!(entry.extend_from_slice(b"123456").is_err() && entry.resize(6, 0).is_err());
    assert_eq!(entry.spare_capacity_mut().len(), 5);
    entry.extend_from_slice(b"12345").unwrap();
    assert!(entry.spare_capacity_mut().is_empty());
    entry.commit();
    assert_eq!(*consumer.pop().unwrap(), *b"12345");
    assert!(consumer.pop().is_none());
}

#[test]
fn an_entry_does_not_show_what_its_place_had_before() {
    let (mut producer, mut consumer) = ring(1, 16);
    producer.push(&[7; 16]).unwrap();
    drop(consumer.pop());
    let mut entry = producer.vacant_entry().unwrap();
    assert!(entry.is_empty());
    entry.extend_from_slice(b"new").unwrap();
    entry.commit();
    assert_eq!(*consumer.pop().unwrap(), *b"new");
}

#[test]
fn bytes_begin_at_a_multiple_of_16() {
    let (mut producer, mut consumer) = ring(5, 33);
    for _ in 0..12 {
        producer.push(&[1; 33]).unwrap();
        assert_eq!(consumer.pop().unwrap().as_ptr().addr() % 16, 0);
    }
}

#[test]
fn a_forgotten_frame_holds_its_place_until_the_next_look() {
    let (mut producer, mut consumer) = ring(2, 8);
    for round in 0..6 {
        producer.push(&[round]).unwrap();
        forget(consumer.pop());
        assert_eq!((producer.len(), consumer.len()), (1, 0));
        assert!(consumer.pop().is_none());
        assert_eq!(producer.len(), 0);
        // Or until the next frame is dropped.
        producer.push(&[round]).unwrap();
        producer.push(&[round + 1]).unwrap();
        forget(consumer.pop());
        assert_eq!(producer.push(&[9]), Err(PushError::Full));
        assert_eq!(*consumer.pop().unwrap(), [round + 1]);
        assert!(producer.is_empty());
    }
}

#[test]
fn a_panic_while_an_entry_is_filled_commits_nothing() {
    let (mut producer, mut consumer) = ring(1, 8);
    assert!(panics(|| {
        let mut entry = producer.vacant_entry().unwrap();
        entry.extend_from_slice(b"half").unwrap();
        panic!("on purpose");
    }));
    producer.push(b"whole").unwrap();
    assert!(panics(|| {
        let frame = consumer.pop().unwrap();
        assert_ne!(*frame, *b"whole", "on purpose");
    }));
    assert!(consumer.pop().is_none() && producer.is_empty());
}

#[test]
fn memory_goes_with_the_last_end_in_any_order() {
    for order in 0..4 {
        let source = Counted::new();
        let builder = SpscRing::builder()
            .entries(3)
            .max_len(8)
            .pages(source.pages());
        let (mut producer, mut consumer) = builder.build().split();
        producer.push(b"left").unwrap();
        assert!(!producer.is_closed() && !consumer.is_closed());
        match order {
            0 => {
                drop(producer);
                assert!(consumer.is_closed());
                assert_eq!(*consumer.pop().unwrap(), *b"left");
                assert!(consumer.pop().is_none());
                drop(consumer);
            }
            1 => {
                forget(consumer.pop());
                drop(consumer);
                assert!(producer.is_closed());
                producer.push(b"unread").unwrap();
                drop(producer);
            }
            2 => thread::spawn(move || drop((producer, consumer)))
                .join()
                .unwrap(),
            _ => thread::scope(|scope| {
                scope.spawn(move || drop(producer));
                scope.spawn(move || drop(consumer));
            }),
        }
        source.expect_all_back();
    }
    let source = Counted::new();
    drop(SpscRing::builder().pages(source.pages()).build());
    source.expect_all_back();
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let try_new = |entries, max_len| {
        let builder = SpscRing::builder().entries(entries).max_len(max_len);
        builder.try_build()
    };
    assert!(try_new(0, 1).is_err() && try_new(1, 0).is_err());
    for entries in [
        usize::MAX,
        usize::MAX / 2 + 1,
        usize::MAX / 32,
        usize::MAX / 64,
    ] {
        let error = try_new(entries, 1).unwrap_err();
        assert!(
            matches!(error, BuildError::Memory(AllocError::TooManyBytes { .. })),
            "{error:?}"
        );
    }
    assert!(try_new(1, usize::MAX).is_err());
    assert!(try_new(1, u32::MAX as usize).is_err());
    assert!(panics(|| SpscRing::with_capacity(0, 1)));
    let source = Counted::new();
    let refused = with_fault(0, Fault::Refuse, false, || {
        let builder = SpscRing::builder().pages(source.pages());
        assert!(builder.try_build().is_err());
    });
    assert!(refused);
    source.expect_all_back();
}

#[test]
fn all_memory_is_there_from_the_start() {
    let source = Counted::new();
    let builder = SpscRing::builder()
        .entries(4)
        .max_len(40)
        .pages(source.pages());
    let ring = builder.build();
    let bytes = source.bytes();
    assert_eq!(ring.memory().bytes(), bytes);
    let (mut producer, mut consumer) = ring.split();
    for number in 0..20 {
        producer.push(&[number; 40]).unwrap();
        assert_eq!(*consumer.pop().unwrap(), [number; 40]);
        assert_eq!(source.bytes(), bytes);
    }
}

#[test]
fn both_ends_run_on_threads_of_their_own() {
    for (capacity, number) in [(1, 1), (3, 2), (64, 3)] {
        let (mut producer, mut consumer) = ring(capacity, 24);
        let count = amount(20_000, 20_u64);
        thread::scope(|scope| {
            scope.spawn(move || {
                seed(number);
                for number in 0..count {
                    let bytes = [number.to_ne_bytes(); 3].concat();
                    let bytes = &bytes[..8 + random(17) as usize];
                    if number % 3 == 0 {
                        loop {
                            let Some(mut entry) = producer.vacant_entry() else {
                                thread::yield_now();
                                continue;
                            };
                            entry.extend_from_slice(bytes).unwrap();
                            entry.commit();
                            break;
                        }
                    } else {
                        while producer.push(bytes) == Err(PushError::Full) {
                            thread::yield_now();
                        }
                    }
                }
            });
            scope.spawn(move || {
                let mut expected = 0_u64;
                loop {
                    let closed = consumer.is_closed();
                    while let Some(frame) = consumer.pop() {
                        let first = expected.to_ne_bytes();
                        assert!(frame.len() >= 8 && frame.len() <= 24);
                        for (index, &byte) in frame.iter().enumerate() {
                            assert_eq!(byte, first[index % 8]);
                        }
                        if expected % 5 == 0 {
                            forget(frame);
                        }
                        expected += 1;
                    }
                    if closed {
                        break;
                    }
                    thread::yield_now();
                }
                assert_eq!(expected, count);
            });
        });
    }
}

#[test]
fn numbers_and_bytes_are_printed() {
    let (mut producer, mut consumer) = ring(2, 8);
    let mut entry = producer.vacant_entry().unwrap();
    entry.extend_from_slice(&[1, 2]).unwrap();
    assert_eq!(format!("{entry:?}"), "[1, 2]");
    entry.commit();
    let text = format!("{producer:?} {consumer:?}");
    assert!(text.contains("len: 1, capacity: 2, max_len: 8, closed: false"));
    assert_eq!(format!("{:?}", consumer.pop().unwrap()), "[1, 2]");
    let text = format!("{:?}", SpscRing::builder().entries(7).build());
    assert!(text.contains("capacity: 7"), "{text}");
    let errors = [
        PushError::Full,
        PushError::TooLarge(SizeError { size: 9, limit: 8 }),
    ];
    assert!(errors.iter().all(|error| !error.to_string().is_empty()));
}

#[test]
fn ends_entries_and_frames_are_send_and_sync() {
    fn both<T: Send + Sync>() -> usize {
        size_of::<T>()
    }
    let sizes = [
        both::<SpscRing>(),
        both::<Producer>(),
        both::<Consumer>(),
        both::<Entry<'_>>(),
        both::<Frame<'_>>(),
    ];
    assert!(sizes.iter().all(|&size| size > 0));
}
