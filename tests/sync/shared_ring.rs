//! A ring of many writers and many readers: order, overwriting, frames that are kept, dropped or
//! forgotten, readers that sleep.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write};
use std::mem::forget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use flatslab::SizeError;
use flatslab::sync::{SharedFrame, SharedPushError, SharedRing};

use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};

#[test]
fn entries_come_out_in_order_with_their_true_lengths() {
    let ring = SharedRing::with_capacity(4, 100);
    for round in 0..5 {
        for len in [100, 0, 1, 37] {
            assert_eq!(ring.push(&vec![round; len]), Ok(None));
        }
        assert_eq!(ring.len(), 4);
        for (index, len) in [100, 0, 1, 37].into_iter().enumerate() {
            let frame = ring.pop().unwrap();
            assert_eq!(*frame, vec![round; len][..]);
            assert_eq!(frame.sequence, u64::from(round) * 4 + index as u64);
        }
        assert!(ring.pop().is_none() && ring.is_empty());
    }
    assert_eq!(ring.pushed(), 20);
}

#[test]
fn a_ring_does_as_a_queue() {
    for (number, capacity) in [1, 2, 3, 7].into_iter().enumerate() {
        seed(number as u64);
        let ring = SharedRing::builder()
            .entries(capacity)
            .max_len(30)
            .in_flight(2)
            .build();
        let mut queue: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let mut kept: Vec<(SharedFrame, Vec<u8>)> = Vec::new();
        let mut pushed = 0;
        for step in 0..amount(20_000, 40) {
            if random(5) < 3 {
                let bytes = vec![step as u8; random(31) as usize];
                let oldest = (queue.len() == capacity).then(|| queue.pop_front().unwrap());
                let evicted = ring.push(&bytes).unwrap();
                let evicted = evicted.map(|it| (it.sequence, it.len, it.count));
                assert_eq!(
                    evicted,
                    oldest.map(|(number, bytes)| (number, bytes.len(), 1))
                );
                queue.push_back((pushed, bytes));
                pushed += 1;
            } else {
                match (ring.pop(), queue.pop_front()) {
                    (Some(frame), Some((number, bytes))) => {
                        assert!(frame.sequence == number && *frame == bytes);
                        kept.push((frame, bytes));
                    }
                    (frame, expected) => assert!(frame.is_none() && expected.is_none()),
                }
                if kept.len() > 2 {
                    kept.swap_remove(random(3) as usize);
                }
            }
            assert!(kept.iter().all(|(frame, bytes)| **frame == *bytes));
            assert_eq!((ring.len(), ring.pushed()), (queue.len(), pushed));
        }
    }
}

#[test]
fn too_many_bytes_evict_nothing() {
    let ring = SharedRing::with_capacity(1, 5);
    ring.push(b"hello").unwrap();
    for size in [6, 16, 17, 100] {
        let error = SharedPushError::TooLarge(SizeError { size, limit: 5 });
        assert_eq!(ring.push(&vec![0; size]), Err(error));
    }
    assert_eq!(*ring.pop().unwrap(), *b"hello");
    assert_eq!(ring.pushed(), 1);
}

#[test]
fn where_readers_have_the_spare_buffers_the_ring_has_fewer_entries() {
    let builder = SharedRing::builder().entries(2).max_len(8).in_flight(2);
    let ring = builder.build();
    let push = |number: u8| ring.push(&[number]).map(|it| it.map(|it| it.sequence));
    let mut kept = Vec::new();
    for number in 0..3 {
        assert_eq!(push(number), Ok(None));
        kept.push(ring.pop().unwrap());
    }
    // One buffer is left, and then it is in the ring, so the entry in it makes room.
    assert_eq!(
        (push(3), push(4), push(5)),
        (Ok(None), Ok(Some(3)), Ok(Some(4)))
    );
    kept.push(ring.pop().unwrap());
    assert_eq!(push(6), Err(SharedPushError::Full));
    for (frame, number) in kept.iter().zip([0, 1, 2, 5]) {
        assert_eq!(**frame, [number]);
    }
    kept.clear();
    assert_eq!(
        (push(7), push(8), push(9)),
        (Ok(None), Ok(None), Ok(Some(6)))
    );
    assert_eq!((ring.len(), ring.pushed(), ring.evicted()), (2, 9, 3));
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_forgotten_frame_takes_its_buffer_along_and_nothing_else() {
    let ring = SharedRing::builder()
        .entries(2)
        .max_len(8)
        .in_flight(3)
        .build();
    for number in 0..3 {
        ring.push(&[number]).unwrap();
        forget(ring.pop());
    }
    for number in 0..9 {
        ring.push(&[number]).unwrap();
    }
    assert_eq!(ring.len(), 2);
    assert_eq!(*ring.pop().unwrap(), [7]);
}

#[test]
fn a_panic_while_a_frame_is_read_gives_its_buffer_back() {
    let ring = SharedRing::builder().max_len(8).in_flight(0).build();
    for _ in 0..3 {
        assert!(ring.push(b"bytes").unwrap().is_none());
        assert!(panics(|| {
            let frame = ring.pop().unwrap();
            assert_ne!(*frame, *b"bytes", "on purpose");
        }));
    }
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let builder = SharedRing::builder;
    assert!(builder().entries(0).try_build().is_err());
    assert!(builder().max_len(0).try_build().is_err());
    assert!(builder().max_len(usize::MAX).try_build().is_err());
    assert!(panics(|| SharedRing::with_capacity(0, 1)));
    for many in [usize::MAX, usize::MAX / 2, 1 << 24] {
        let rings = [builder().entries(many), builder().in_flight(many)];
        for (builder, option) in rings.into_iter().zip(["entries", "in_flight"]) {
            let error = builder.max_len(1).try_build().unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("{option} must be "))
                    && error.to_string().ends_with(&format!("but is {many}"))
            );
        }
    }
    for left in 0..4 {
        let source = Counted::new();
        let reached = with_fault(left, Fault::Refuse, true, || {
            assert!(builder().pages(source.pages()).try_build().is_err());
        });
        assert!(reached);
        source.expect_all_back();
    }
}

#[test]
fn a_ring_allocates_when_it_is_made_and_never_again() {
    let source = Counted::new();
    let builder = SharedRing::builder().entries(10).max_len(40).in_flight(3);
    let ring = builder.pages(source.pages()).build();
    let bytes = source.bytes();
    for number in 0..amount(1000, 24_u32) {
        ring.push(&[number as u8; 40]).unwrap();
        if number % 3 == 0 {
            assert_eq!(ring.pop().unwrap().as_ptr().addr() % 16, 0);
        }
    }
    assert_eq!(source.bytes(), bytes);
    let frame = ring.pop().unwrap();
    drop(ring);
    // Its memory goes with the last frame, on whichever thread that is.
    assert_eq!(frame.len(), 40);
    thread::spawn(move || drop(frame)).join().unwrap();
    source.expect_all_back();
}

#[test]
fn a_reader_sleeps_until_there_is_an_entry_or_the_ring_is_closed() {
    let ring = SharedRing::with_capacity(4, 8);
    thread::scope(|scope| {
        let readers = [(); 3].map(|()| {
            scope.spawn(|| {
                let popped = std::iter::from_fn(|| ring.pop_wait());
                popped.map(|frame| usize::from(frame[0])).sum::<usize>()
            })
        });
        for number in 0..amount(2000, 10_u32) {
            // No entry is overwritten, so each is read.
            while ring.len() == ring.capacity() {
                thread::yield_now();
            }
            assert_eq!(ring.push(&[(number % 7) as u8]), Ok(None));
        }
        ring.close();
        let sum: usize = readers.map(|reader| reader.join().unwrap()).iter().sum();
        let expected: u32 = (0..amount(2000, 10_u32)).map(|number| number % 7).sum();
        assert_eq!(sum, expected as usize);
    });
    assert_eq!(ring.push(b"late"), Err(SharedPushError::Closed));
    assert!(ring.is_closed() && ring.pop_wait().is_none());
}

#[test]
fn a_closed_ring_gives_what_it_has_and_then_ends() {
    let ring = SharedRing::with_capacity(2, 8);
    ring.push(b"1").unwrap();
    ring.push(b"2").unwrap();
    ring.close();
    ring.close();
    assert_eq!(*ring.pop_wait().unwrap(), *b"1");
    assert_eq!(*ring.pop_wait_for(Duration::MAX).unwrap(), *b"2");
    assert!(ring.pop_wait().is_none() && ring.pop_wait_for(Duration::MAX).is_none());
}

#[test]
fn a_limit_of_time_ends_a_sleep() {
    let ring = SharedRing::with_capacity(2, 8);
    let begun = Instant::now();
    let limit = Duration::from_millis(5);
    assert!(ring.pop_wait_for(limit).is_none() && begun.elapsed() >= limit);
    assert!(ring.pop_wait_for(Duration::ZERO).is_none());
    ring.push(b"1").unwrap();
    assert_eq!(*ring.pop_wait_for(Duration::ZERO).unwrap(), *b"1");
}

/// The bytes of an entry: who wrote it, its number, and what follows from both.
fn entry(writer: u64, number: u64) -> Vec<u8> {
    let len = 16 + ((writer * 7 + number) % 25) as usize;
    let mut bytes = [writer.to_ne_bytes(), number.to_ne_bytes()].concat();
    bytes.resize(len, (writer ^ number) as u8);
    bytes
}

fn writer_and_number(bytes: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    let (writer, number) = (word(0), word(8));
    assert_eq!(*bytes, entry(writer, number)[..]);
    (writer, number)
}

/// Writers and readers at once: each entry is popped or overwritten once, whole; each writer's
/// come out in their order.
fn run(capacity: usize, writers: u64, readers: usize) {
    let builder = SharedRing::builder().entries(capacity).max_len(40);
    let ring = builder.in_flight(readers).build();
    let count = amount(20_000, 6_u64);
    let evicted = AtomicU64::new(0);
    let popped = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let (mut mine, mut last) = (Vec::new(), None);
                while let Some(frame) = ring.pop_wait() {
                    assert!(last.replace(frame.sequence) < Some(frame.sequence));
                    mine.push((frame.sequence, writer_and_number(&frame)));
                }
                popped.lock().unwrap().extend(mine);
            });
        }
        let writers: Vec<_> = (0..writers)
            .map(|writer| {
                let (ring, evicted) = (&ring, &evicted);
                scope.spawn(move || {
                    for number in 0..count {
                        if let Some(it) = ring.push(&entry(writer, number)).unwrap() {
                            evicted.fetch_add(it.count as u64, SeqCst);
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|it| it.join().unwrap());
        ring.close();
    });
    while let Some(frame) = ring.pop() {
        let entry = (frame.sequence, writer_and_number(&frame));
        popped.lock().unwrap().extend([entry]);
    }
    let popped = popped.into_inner().unwrap();
    let evicted = evicted.into_inner();
    assert_eq!(popped.len() as u64 + evicted, writers * count);
    assert_eq!((ring.pushed(), ring.evicted()), (writers * count, evicted));
    let mut last = BTreeMap::new();
    for &(writer, number) in popped.values() {
        let before = last.insert(writer, number);
        assert!(before < Some(number), "{writer}: {before:?} {number}");
    }
}

#[test]
fn writers_overwrite_each_others_entries() {
    run(1, 2, 0);
    run(3, 3, 0);
}

#[test]
fn writers_and_readers_lose_and_double_nothing() {
    run(1, 1, 1);
    run(1, 2, 2);
    run(5, 2, 1);
    run(4, 1, 2);
}

#[test]
fn numbers_and_bytes_are_printed() {
    let ring = SharedRing::with_capacity(2, 8);
    ring.push(&[1, 2]).unwrap();
    let text = format!("{ring:?} {:?}", SharedRing::builder().in_flight(7));
    assert!(text.contains("len: 1, capacity: 2, pushed: 1") && text.contains("in_flight: 7"));
    let text = format!("{:?}", ring.pop().unwrap());
    assert!(text.contains("sequence: 0") && text.contains("[1, 2]"));
}

/// Uses the ring while it is printed.
struct Reentrant<'r>(&'r SharedRing, String);

impl Write for Reentrant<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(b"printed").unwrap();
        self.1.push_str(text);
        Ok(())
    }
}

#[test]
fn what_a_ring_is_printed_to_may_use_the_ring() {
    let ring = SharedRing::with_capacity(2, 8);
    let mut text = Reentrant(&ring, String::new());
    write!(text, "{ring:?}").unwrap();
    assert!(text.1.contains("len: 0, capacity: 2, pushed: 0"));
    assert_eq!(ring.len(), 2);
}
