//! `ci/loom.sh`: every order in which the two ends of a ring can act.

use loom::sync::Arc;

use super::{Consumer, Producer, SpscRing};
use crate::raw::atomic::{AtomicUsize, Ordering, thread};
use crate::raw::witness::{Memory, Witnesses};

fn make(capacity: usize) -> (Producer, Consumer, Arc<Witnesses>) {
    let (mut producer, consumer) = SpscRing::with_capacity(capacity, 16).split();
    let first = producer.vacant_entry().unwrap().as_ptr();
    let witnesses = Witnesses::new(first, 32, capacity);
    (producer, consumer, witnesses)
}

fn push(producer: &mut Producer, witnesses: &Witnesses, value: u8) -> bool {
    let Some(mut entry) = producer.vacant_entry() else {
        return false;
    };
    witnesses.write(entry.as_ptr(), value);
    entry.extend_from_slice(&[value]).unwrap();
    entry.commit();
    true
}

fn pop(consumer: &mut Consumer, witnesses: &Witnesses) -> Option<u8> {
    let frame = consumer.pop()?;
    let value = witnesses.read(frame.as_ptr());
    assert_eq!(*frame, [value]);
    Some(value)
}

#[test]
fn loom_the_write_of_an_entry_happens_before_its_read() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(2);
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || {
            assert!(push(&mut producer, &theirs, 1));
            assert!(push(&mut producer, &theirs, 2));
        });
        let mut expected = 1;
        for _ in 0..3 {
            if let Some(value) = pop(&mut consumer, &witnesses) {
                assert_eq!(value, expected);
                expected += 1;
            }
        }
        writer.join().unwrap();
    });
}

/// Pushes an entry that the consumer finds later.
fn defer(producer: &mut Producer, witnesses: &Witnesses, value: u8) {
    let mut entry = producer.vacant_entry().unwrap();
    witnesses.write(entry.as_ptr(), value);
    entry.extend_from_slice(&[value]).unwrap();
    entry.defer();
}

#[test]
fn loom_the_writes_of_deferred_entries_happen_before_their_reads() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(3);
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || {
            defer(&mut producer, &theirs, 1);
            defer(&mut producer, &theirs, 2);
            producer.flush();
            // Found when the producer is dropped.
            defer(&mut producer, &theirs, 3);
        });
        let mut expected = 1;
        for _ in 0..3 {
            if let Some(value) = pop(&mut consumer, &witnesses) {
                assert_eq!(value, expected);
                expected += 1;
            }
        }
        writer.join().unwrap();
        assert!(consumer.is_closed());
        while let Some(value) = pop(&mut consumer, &witnesses) {
            assert_eq!(value, expected);
            expected += 1;
        }
        assert_eq!(expected, 4);
    });
}

/// The producer reads the consumer's position in the middle of a batch, because it does not know
/// yet that a place is free again.
#[test]
fn loom_a_deferred_entry_is_found_only_after_a_flush_or_a_refusal() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(2);
        assert!(push(&mut producer, &witnesses, 1));
        let flushing = Arc::new(AtomicUsize::new(0));
        let (theirs, told) = (witnesses.clone(), flushing.clone());
        let writer = thread::spawn(move || {
            defer(&mut producer, &theirs, 2);
            let has_room = producer.vacant_entry().is_some();
            if has_room {
                defer(&mut producer, &theirs, 3);
                told.store(1, Ordering::Relaxed);
                producer.flush();
            }
            has_room
        });
        let mut found = 0;
        let mut early = false;
        for _ in 0..2 {
            if let Some(value) = pop(&mut consumer, &witnesses) {
                found += 1;
                assert_eq!(value, found);
                early |= value > 1 && flushing.load(Ordering::Relaxed) == 0;
            }
        }
        let had_room = writer.join().unwrap();
        assert!(!(had_room && early));
    });
}

#[test]
fn loom_a_full_ring_of_deferred_entries_is_found_by_the_consumer() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(1);
        defer(&mut producer, &witnesses, 1);
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || push(&mut producer, &theirs, 2));
        let first = pop(&mut consumer, &witnesses);
        let pushed = writer.join().unwrap();
        assert!(first.is_none_or(|value| value == 1));
        let found = usize::from(first.is_some()) + {
            let mut found = 0;
            while pop(&mut consumer, &witnesses).is_some() {
                found += 1;
            }
            found
        };
        assert_eq!(found, 1 + usize::from(pushed));
    });
}

#[test]
fn loom_the_read_of_an_entry_happens_before_its_place_is_written_again() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(1);
        assert!(push(&mut producer, &witnesses, 1));
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || {
            let mut value = 2;
            for _ in 0..3 {
                if push(&mut producer, &theirs, value) {
                    value += 1;
                }
            }
        });
        let mut expected = 1;
        for _ in 0..3 {
            if let Some(value) = pop(&mut consumer, &witnesses) {
                assert_eq!(value, expected);
                expected += 1;
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn loom_a_forgotten_frame_is_read_before_its_place_is_written_again() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(1);
        assert!(push(&mut producer, &witnesses, 1));
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || push(&mut producer, &theirs, 2));
        let frame = consumer.pop().unwrap();
        assert_eq!(witnesses.read(frame.as_ptr()), 1);
        core::mem::forget(frame);
        let second = pop(&mut consumer, &witnesses);
        let pushed = writer.join().unwrap();
        assert!(second.is_none() || (pushed && second == Some(2)));
    });
}

#[test]
fn loom_what_was_pushed_before_an_end_is_found_after_it() {
    loom::model(|| {
        let (mut producer, mut consumer, witnesses) = make(1);
        let theirs = witnesses.clone();
        let writer = thread::spawn(move || {
            assert!(push(&mut producer, &theirs, 1));
        });
        let closed = consumer.is_closed();
        let value = pop(&mut consumer, &witnesses);
        assert!(!closed || value == Some(1));
        writer.join().unwrap();
    });
}

#[test]
fn loom_what_both_ends_did_happens_before_the_memory_is_freed() {
    loom::model(|| {
        let memory = Memory::new();
        let builder = SpscRing::builder().max_len(16).pages(memory.pages());
        let (producer, consumer) = builder.build().split();
        let theirs = memory.clone();
        let writer = thread::spawn(move || {
            theirs.touch();
            drop(producer);
        });
        memory.touch();
        drop(consumer);
        writer.join().unwrap();
        memory.expect_freed();
    });
}
