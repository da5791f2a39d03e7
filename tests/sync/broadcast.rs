//! A ring of one producer and several readers: order, refusals, gaps, readers that join and leave,
//! claims that are dropped, waiting.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use flatslab::sync::{
    BroadcastConsumer, BroadcastProducer, BroadcastReaders, BroadcastRing, Follower, Wait,
};
use flatslab::{BuildError, FullError};

use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};

fn ring<T: Copy>(
    entries: usize,
    consumers: usize,
    followers: usize,
) -> (BroadcastProducer<T>, BroadcastReaders<T>) {
    let builder = BroadcastRing::builder().entries(entries);
    let builder = builder.consumers(consumers).followers(followers);
    builder.build().split()
}

/// Odd in size and alignment, with bytes between its fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Wide(u8, u64, u16);

#[test]
fn each_consumer_gets_every_entry_and_a_full_ring_returns_the_value() {
    fn check<T: Copy + PartialEq + std::fmt::Debug>(value: impl Fn(u64) -> T) {
        for entries in [1, 2, 8] {
            for followers in [0, 2] {
                let (mut producer, readers) = ring(entries, 3, followers);
                let mut consumers: Vec<_> = (0..3).map(|_| readers.join().unwrap()).collect();
                assert!(readers.join().is_none());
                for round in 0..4 {
                    for at in 0..entries {
                        assert_eq!(producer.free(), entries - at);
                        let number = (round * entries + at) as u64;
                        assert_eq!(producer.sequence(), number);
                        assert_eq!(producer.push(value(number)), Ok(()));
                    }
                    assert_eq!(producer.push(value(7)), Err(FullError(value(7))));
                    for consumer in &mut consumers {
                        assert_eq!(producer.push(value(7)), Err(FullError(value(7))));
                        assert_eq!((consumer.len(), consumer.is_empty()), (entries, false));
                        for at in 0..entries {
                            let number = (round * entries + at) as u64;
                            assert_eq!(consumer.sequence(), number);
                            assert_eq!(consumer.pop(), Some(value(number)));
                        }
                        assert!(consumer.pop().is_none() && consumer.is_empty());
                    }
                }
                assert_eq!(producer.stats().refusals, Some(4 * 4));
            }
        }
    }
    check(|number| number);
    check(|number| Wide(number as u8, number, 3));
    check(|_| ());
    if amount(true, false) {
        check(|number| [number as u8; 3]);
        check(|number| if number % 2 == 0 { Some("even") } else { None });
    }
}

#[test]
fn without_consumers_nothing_is_refused() {
    let (mut producer, readers) = ring(4, 1, 1);
    for number in 0..100 {
        producer.push(number).unwrap();
    }
    let mut consumer = readers.join().unwrap();
    assert_eq!((consumer.sequence(), consumer.pop()), (100, None));
    for number in 100..104 {
        producer.push(number).unwrap();
    }
    assert!(producer.push(0).is_err());
    drop(consumer);
    assert_eq!(producer.push(104), Ok(()));
}

#[test]
fn a_follower_is_told_exactly_what_it_missed() {
    for entries in [1, 2, 8, 64] {
        let (mut producer, readers) = ring(entries, 1, 1);
        let mut follower = readers.follow().unwrap();
        assert!(readers.follow().is_none());
        let (mut read, mut next) = (0, 0);
        for round in 0..amount(200, 12) {
            for _ in 0..round % 100 {
                producer.push(next).unwrap();
                next += 1;
            }
            loop {
                match follower.pop() {
                    Ok(None) => break,
                    Ok(Some(value)) => {
                        assert_eq!(value, read);
                        read += 1;
                    }
                    Err(missed) => {
                        assert_eq!((missed.first, missed.count > 0), (read, true));
                        let text = missed.to_string();
                        assert!(text.contains(&missed.count.to_string()), "{text}");
                        read += missed.count;
                        // No more than an eighth of what is still there.
                        assert!(next - read >= (entries - entries / 8 - 1) as u64);
                    }
                }
                assert_eq!(follower.sequence(), read);
            }
            assert_eq!(read, next);
        }
        assert!(follower.missed() < next);
    }
}

#[test]
fn a_consumer_and_a_follower_read_the_same_ring() {
    let (mut producer, readers) = ring(8, 1, 1);
    let (mut consumer, mut follower) = (readers.join().unwrap(), readers.follow().unwrap());
    let mut refused = 0;
    for number in 0..100 {
        while producer.push(number) == Err(FullError(number)) {
            refused += 1;
            assert!(consumer.batch().take(3).count() > 0);
        }
    }
    assert!(refused > 0);
    let missed = follower.pop().unwrap_err();
    assert_eq!(follower.pop(), Ok(Some(missed.count)));
    assert_eq!(Some(99), consumer.batch().last());
}

#[test]
fn a_batch_frees_what_it_yielded_even_if_it_is_forgotten() {
    let (mut producer, readers) = ring(4, 1, 0);
    let mut consumer = readers.join().unwrap();
    for number in 0..4 {
        producer.push(number).unwrap();
    }
    let mut batch = consumer.batch();
    assert_eq!(
        (batch.len(), batch.next(), batch.next()),
        (4, Some(0), Some(1))
    );
    assert_eq!(format!("{batch:?}"), "BroadcastBatch { len: 2 }");
    assert_eq!(producer.free(), 0);
    drop(batch);
    assert_eq!(producer.free(), 2);
    let mut batch = consumer.batch();
    assert_eq!(batch.next(), Some(2));
    forget(batch);
    assert_eq!(
        (producer.free(), consumer.pop(), producer.free()),
        (2, Some(3), 4)
    );
    producer.push(4).unwrap();
    let mut batch = consumer.batch();
    assert_eq!(batch.next(), Some(4));
    forget(batch);
    assert_eq!((consumer.pop(), producer.free()), (None, 4));
}

/// The value that the closure had when it panicked was read.
#[test]
fn a_panic_in_the_middle_of_a_batch_frees_what_was_read() {
    let (mut producer, readers) = ring(4, 1, 0);
    let mut consumer = readers.join().unwrap();
    for number in 0..4 {
        producer.push(number).unwrap();
    }
    assert!(panics(|| {
        consumer
            .batch()
            .for_each(|number| assert!(number < 2, "on purpose"));
    }));
    assert_eq!((producer.free(), consumer.sequence()), (3, 3));
    assert_eq!((consumer.pop(), producer.free()), (Some(3), 4));
}

#[test]
fn entries_are_published_together_or_not_at_all() {
    let (mut producer, readers) = ring(4, 1, 1);
    let (mut consumer, mut follower) = (readers.join().unwrap(), readers.follow().unwrap());
    producer.push_deferred(0).unwrap();
    producer.push_deferred(1).unwrap();
    assert_eq!((consumer.pop(), follower.pop()), (None, Ok(None)));
    // A claim publishes what was deferred.
    let mut claim = producer.claim(2).unwrap();
    claim.push(7);
    assert_eq!(claim.remaining(), 1);
    assert_eq!(
        format!("{claim:?}"),
        "BroadcastClaim { len: 1, remaining: 1 }"
    );
    drop(claim);
    assert!(consumer.batch().eq([0, 1]));
    let mut claim = producer.claim(4).unwrap();
    claim.push(2);
    drop(claim);
    assert_eq!((producer.sequence(), consumer.pop()), (2, None));
    let mut claim = producer.claim(3).unwrap();
    claim.push(2);
    claim.push(3);
    assert_eq!(claim.publish(), 2);
    assert!(consumer.batch().eq([2, 3]));
    // The place of an entry that was dropped with its claim: the follower has not been in the way of it.
    for number in 0..4 {
        assert_eq!(follower.pop(), Ok(Some(number)));
    }
    assert!(producer.claim(4).is_some());
    assert_eq!(producer.claim(0).unwrap().publish(), 4);
}

#[test]
#[should_panic = "claim of more entries than the ring has"]
fn a_claim_of_more_than_the_capacity_is_a_mistake() {
    let (mut producer, _readers) = ring::<u8>(4, 1, 0);
    let _ = producer.claim(5);
}

#[test]
fn the_producer_sees_how_many_readers_there_are() {
    let (producer, readers) = ring::<u8>(4, 2, 2);
    assert_eq!((producer.consumers(), producer.followers()), (0, 0));
    let (journal, _feed) = (readers.join().unwrap(), readers.follow().unwrap());
    assert_eq!((producer.consumers(), producer.followers()), (1, 1));
    let panicked = thread::spawn(move || {
        let _journal = journal;
        std::panic::resume_unwind(Box::new("the journal's disk is full"));
    });
    assert!(panicked.join().is_err());
    assert_eq!((producer.consumers(), producer.followers()), (0, 1));
}

#[test]
fn a_batch_is_waited_for_and_the_last_one_is_not_lost() {
    for wait in [Wait::Spin, Wait::Yield, Wait::Park] {
        let builder = BroadcastRing::builder().entries(4).wait(wait);
        let (mut producer, readers) = builder.build().split();
        let mut journal = readers.join().unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut next = 0;
                while let Some(batch) = journal.batch_wait() {
                    assert!(batch.len() > 0);
                    for value in batch {
                        assert_eq!(value, next);
                        next += 1;
                    }
                }
                next
            });
            let count = amount(1000, 20);
            for number in 0..count {
                while producer.push(number).is_err() {
                    thread::yield_now();
                }
            }
            drop(producer);
            assert_eq!(reader.join().unwrap(), count);
        });
    }
}

#[test]
#[should_panic = "claim is full"]
fn a_claim_takes_no_more_entries_than_were_claimed() {
    let (mut producer, _readers) = ring(4, 1, 0);
    let mut claim = producer.claim(1).unwrap();
    claim.push(0);
    claim.push(1);
}

/// A batch that fits is not found in parts, wherever it begins.
#[test]
fn deferred_entries_are_found_together() {
    for (batch, followers) in [(1, 0), (3, 0), (4, 0), (3, 1)] {
        let (mut producer, readers) = ring(4, 1, followers);
        let mut consumer = readers.join().unwrap();
        let _idle = readers.follow();
        for round in 0..12 {
            for at in 0..batch {
                producer.push_deferred(round * batch + at).unwrap();
                assert!(consumer.is_empty());
            }
            producer.flush();
            assert!(consumer.batch().eq(round * batch..(round + 1) * batch));
        }
        producer.push_deferred(7).unwrap();
        drop(producer);
        assert_eq!((consumer.pop(), consumer.is_closed()), (Some(7), true));
    }
}

/// `[n, !n, ...]`: an entry that was torn is seen.
type Canary = [u64; 5];

fn canary(number: u64) -> Canary {
    [number, !number, number ^ 7, number.rotate_left(9), number]
}

fn consume(mut consumer: BroadcastConsumer<Canary>) -> u64 {
    let begins = consumer.sequence();
    let mut next = begins;
    loop {
        for value in consumer.batch().take(3) {
            assert_eq!(value, canary(next));
            next += 1;
        }
        match consumer.pop_wait() {
            None => return next,
            Some(value) => assert_eq!(value, canary(next)),
        }
        next += 1;
    }
}

fn follow(mut follower: Follower<Canary>) -> u64 {
    let mut next = follower.sequence();
    loop {
        match follower.pop_wait() {
            Ok(None) => return next,
            Ok(Some(value)) => {
                assert_eq!(value, canary(next));
                next += 1;
            }
            Err(missed) => {
                assert_eq!(missed.first, next);
                next += missed.count;
            }
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn nothing_is_lost_torn_or_twice_on_several_threads() {
    let count = amount(30_000, 150);
    for (entries, wait) in [
        (1, Wait::Yield),
        (4, Wait::Park),
        (64, Wait::Yield),
        (8, Wait::Park),
    ] {
        let builder = BroadcastRing::builder()
            .entries(entries)
            .consumers(2)
            .followers(2);
        let (mut producer, readers) = builder.wait(wait).build().split();
        let consumers = [(); 2].map(|()| readers.join().unwrap());
        let followers = [(); 2].map(|()| readers.follow().unwrap());
        thread::scope(|scope| {
            let consumers = consumers.map(|it| scope.spawn(|| consume(it)));
            let followers = followers.map(|it| scope.spawn(|| follow(it)));
            for number in 0..count {
                while producer.push(canary(number)).is_err() {
                    thread::yield_now();
                }
            }
            drop(producer);
            for reader in consumers.into_iter().chain(followers) {
                assert_eq!(reader.join().unwrap(), count);
            }
        });
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn readers_join_and_leave_while_the_producer_goes_on() {
    let count = amount(30_000, 100);
    let (mut producer, readers) = ring(4, 2, 2);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let mut consumer = readers.join().unwrap();
                    let begins = consumer.sequence();
                    for next in begins..begins + 5 {
                        let Some(value) = consumer.pop_wait_for(Duration::from_millis(1)) else {
                            break;
                        };
                        assert_eq!(value, canary(next));
                    }
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let mut follower = readers.follow().unwrap();
                    let mut next = follower.sequence();
                    for _ in 0..5 {
                        match follower.pop() {
                            Ok(None) => thread::yield_now(),
                            Ok(Some(value)) => {
                                assert_eq!(value, canary(next));
                                next += 1;
                            }
                            Err(missed) => next += missed.count,
                        }
                    }
                }
            });
        }
        for number in 0..count {
            while producer.push(canary(number)).is_err() {
                thread::yield_now();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reader_waits_no_longer_than_it_may_and_is_told_of_the_end() {
    for wait in [Wait::Spin, Wait::Yield, Wait::Park] {
        let builder = BroadcastRing::builder().entries(4).followers(1).wait(wait);
        let (mut producer, readers) = builder.build().split();
        let (mut consumer, mut follower) = (readers.join().unwrap(), readers.follow().unwrap());
        assert_eq!(consumer.pop_wait_for(Duration::ZERO), None);
        assert_eq!(consumer.pop_wait_for(Duration::from_millis(2)), None);
        assert_eq!(follower.pop_wait_for(Duration::from_millis(2)), Ok(None));
        producer.push(7).unwrap();
        assert_eq!(consumer.pop_wait_for(Duration::MAX), Some(7));
        assert_eq!(follower.pop_wait(), Ok(Some(7)));
        producer.push(8).unwrap();
        drop((producer, readers));
        assert_eq!((consumer.pop_wait(), consumer.pop_wait()), (Some(8), None));
        assert_eq!(
            (follower.pop_wait(), follower.pop_wait()),
            (Ok(Some(8)), Ok(None))
        );
        assert!(follower.is_closed() && consumer.is_closed());
    }
}

#[test]
fn all_memory_is_one_block_that_goes_with_the_last_end() {
    for order in 0..4 {
        let source = Counted::new();
        let builder = BroadcastRing::builder()
            .entries(100)
            .consumers(3)
            .followers(2);
        let ring = builder.pages(source.pages()).build();
        assert_eq!(
            (ring.memory().bytes(), ring.capacity()),
            (source.bytes(), 128)
        );
        let text = format!("{ring:?}");
        assert!(text.contains("capacity: 128"), "{text}");
        let (mut producer, readers) = ring.split();
        let (consumer, follower) = (readers.join().unwrap(), readers.follow().unwrap());
        producer.push([7_u8; 3]).unwrap();
        for text in [
            format!("{producer:?}"),
            format!("{consumer:?}"),
            format!("{follower:?}"),
        ] {
            assert!(text.contains("sequence: "), "{text}");
        }
        assert!(source.bytes() > 0);
        let mut parts: [Option<Box<dyn std::any::Any>>; 4] = [
            Some(Box::new(producer)),
            Some(Box::new(readers)),
            Some(Box::new(consumer)),
            Some(Box::new(follower)),
        ];
        for at in 0..4 {
            parts[(order + at) % 4] = None;
        }
        source.expect_all_back();
    }
}

#[test]
fn a_ring_that_cannot_be_made_is_an_error() {
    let builder = BroadcastRing::<u64>::builder;
    for (builder, option) in [
        (builder().entries(0), "entries"),
        (builder().entries(usize::MAX), "entries"),
        (builder().consumers(1 << 17), "consumers"),
        (builder().followers(1 << 17), "followers"),
    ] {
        let error = builder.try_build().unwrap_err();
        assert!(
            matches!(error, BuildError::OutOfRange { option: name, .. } if name == option),
            "{error:?}"
        );
    }
    let source = Counted::new();
    let refused = with_fault(0, Fault::Refuse, false, || {
        assert!(builder().pages(source.pages()).try_build().is_err());
    });
    assert!(refused);
    source.expect_all_back();
    let huge = BroadcastRing::<[u8; 1 << 40]>::builder().entries(1 << 30);
    assert!(huge.try_build().is_err());
}
