//! `ci/loom.sh`: every order in which a producer and its readers can act. Each cell has a witness
//! (`End::read`, `End::write`).

use super::{BroadcastProducer, BroadcastReaders, BroadcastRing, Follower, Wait};
use crate::raw::atomic::thread;
use crate::raw::witness::{Memory, model, start};

fn ring(
    entries: usize,
    consumers: usize,
    followers: usize,
) -> (BroadcastProducer<u64>, BroadcastReaders<u64>) {
    let builder = BroadcastRing::builder().entries(entries);
    builder
        .consumers(consumers)
        .followers(followers)
        .build()
        .split()
}

#[test]
fn loom_the_write_of_an_entry_happens_before_its_read_and_the_read_before_the_next_write() {
    loom::model(|| {
        let (mut producer, readers) = ring(1, 1, 0);
        let mut consumer = readers.join().unwrap();
        let writer = thread::spawn(move || {
            let mut next = 0;
            for _ in 0..3 {
                if producer.push(next).is_ok() {
                    next += 1;
                }
            }
        });
        let mut expected = 0;
        for _ in 0..2 {
            if let Some(value) = consumer.pop() {
                assert_eq!(value, expected);
                expected += 1;
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn loom_a_reader_leaves_while_the_writer_wraps() {
    loom::model(|| {
        let (mut producer, readers) = ring(1, 2, 0);
        let (mut stays, mut leaves) = (readers.join().unwrap(), readers.join().unwrap());
        producer.push(0).unwrap();
        let leaver = thread::spawn(move || {
            let first = leaves.pop();
            drop(leaves);
            first
        });
        let reader = thread::spawn(move || (stays.pop(), stays));
        let was_pushed = producer.push(1).is_ok();
        assert_eq!(leaver.join().unwrap(), Some(0));
        let (first, mut stays) = reader.join().unwrap();
        assert_eq!(first, Some(0));
        assert_eq!(stays.pop(), was_pushed.then_some(1));
    });
}

#[test]
fn loom_a_reader_joins_while_the_writer_wraps() {
    for late in [false, true] {
        loom::model(move || {
            let (mut producer, readers) = ring(1, 1, 0);
            let joins = thread::spawn(move || {
                let mut consumer = readers.join().unwrap();
                let begins = consumer.sequence();
                if let Some(value) = consumer.pop() {
                    assert_eq!(value, begins);
                }
                begins
            });
            start(late);
            let mut next = 0;
            for _ in 0..3 {
                if producer.push(next).is_ok() {
                    next += 1;
                }
            }
            assert!(joins.join().unwrap() <= next);
        });
    }
}

/// The word that a reader gives up is taken by another one, which has read an entry before the
/// producer looks at the word.
#[test]
fn loom_a_word_is_handed_from_one_reader_to_the_next() {
    loom::model(|| {
        let (mut producer, readers) = ring(2, 1, 0);
        let mut first = readers.join().unwrap();
        producer.push(0).unwrap();
        let other = thread::spawn(move || {
            assert_eq!(first.pop(), Some(0));
            drop(first);
        });
        let joins = thread::spawn(move || {
            if let Some(mut second) = readers.join() {
                let begins = second.sequence();
                assert!(second.pop().is_none_or(|value| value == begins));
            }
        });
        let _ = producer.push(1);
        let _ = producer.push(2);
        other.join().unwrap();
        joins.join().unwrap();
    });
}

/// Reads two entries, if they are there, or is told what it missed. The values are the sequences;
/// returns the next one.
fn read_twice(follower: &mut Follower<u64>, mut expected: u64) -> u64 {
    for _ in 0..2 {
        match follower.pop() {
            Ok(None) => {}
            Ok(Some(value)) => {
                assert_eq!(value, expected);
                expected += 1;
            }
            Err(missed) => {
                assert_eq!(missed.first, expected);
                expected += missed.count;
            }
        }
    }
    expected
}

#[test]
fn loom_a_follower_reads_an_entry_or_is_told_that_it_missed_it() {
    for entries in [1, 2] {
        model(move |late| {
            let (mut producer, readers) = ring(entries, 0, 1);
            let mut follower = readers.follow().unwrap();
            let writer = thread::spawn(move || {
                for number in 0..3 {
                    producer.push(number).unwrap();
                }
            });
            start(late);
            let read = read_twice(&mut follower, 0);
            writer.join().unwrap();
            assert!(read <= 3);
        });
    }
}

/// It was lapped in the middle of an entry, and goes on while the writer does.
#[test]
fn loom_a_lapped_follower_begins_again() {
    model(|late| {
        let (mut producer, readers) = ring(1, 0, 1);
        let mut follower = readers.follow().unwrap();
        producer.push(0).unwrap();
        let cell = follower.start().unwrap().unwrap();
        producer.push(1).unwrap();
        let reader = thread::spawn(move || {
            // SAFETY: it has started to read this cell.
            assert_eq!(unsafe { follower.end.read::<u64>(cell) }, 0);
            follower.finish();
            read_twice(&mut follower, 1);
        });
        start(late);
        producer.push(2).unwrap();
        producer.push(3).unwrap();
        reader.join().unwrap();
    });
}

/// The reader has written to its word what was published long before.
#[test]
fn loom_as_many_pushes_succeed_as_places_were_free() {
    model(|late| {
        let (mut producer, readers) = ring(1, 1, 0);
        let joins = thread::spawn(move || readers.join().map(|consumer| consumer.sequence()));
        start(late);
        let _ = producer.push(0);
        for number in 0..producer.free() {
            producer.push(number as u64).unwrap();
        }
        assert!(joins.join().unwrap().is_some());
    });
}

#[test]
fn loom_a_claim_is_found_as_a_whole() {
    loom::model(|| {
        let (mut producer, readers) = ring(2, 1, 0);
        let mut consumer = readers.join().unwrap();
        let writer = thread::spawn(move || {
            let mut claim = producer.claim(2).unwrap();
            claim.push(0);
            claim.push(1);
            claim.publish();
        });
        let found: Vec<_> = consumer.batch().collect();
        assert!(found.is_empty() || found == [0, 1]);
        writer.join().unwrap();
        let rest: Vec<_> = consumer.batch().collect();
        assert_eq!(found.len() + rest.len(), 2);
    });
}

#[test]
fn loom_what_was_pushed_before_the_end_is_found_after_it() {
    loom::model(|| {
        let (mut producer, readers) = ring(1, 1, 0);
        let mut consumer = readers.join().unwrap();
        let writer = thread::spawn(move || producer.push(7).unwrap());
        let is_closed = consumer.is_closed();
        let value = consumer.pop();
        assert!(!is_closed || value == Some(7));
        writer.join().unwrap();
    });
}

#[test]
fn loom_a_reader_that_sleeps_is_woken() {
    loom::model(|| {
        let builder = BroadcastRing::builder().wait(Wait::Park);
        let (mut producer, readers) = builder.build().split();
        let mut consumer = readers.join().unwrap();
        let writer = thread::spawn(move || producer.push(7).unwrap());
        // A wake-up that is lost is a deadlock, which the model reports.
        assert_eq!(consumer.pop_wait(), Some(7));
        assert_eq!(consumer.pop_wait(), None);
        writer.join().unwrap();
    });
}

#[test]
fn loom_what_all_ends_did_happens_before_the_memory_is_freed() {
    loom::model(|| {
        let memory = Memory::new();
        let builder = BroadcastRing::<u64>::builder().pages(memory.pages());
        let (producer, readers) = builder.build().split();
        let consumer = readers.join().unwrap();
        let (first, second) = (memory.clone(), memory.clone());
        let threads = [
            thread::spawn(move || {
                first.touch();
                drop(producer);
            }),
            thread::spawn(move || {
                second.touch();
                drop(readers);
            }),
        ];
        memory.touch();
        drop(consumer);
        for thread in threads {
            thread.join().unwrap();
        }
        memory.expect_freed();
    });
}
