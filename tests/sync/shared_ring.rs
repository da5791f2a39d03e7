//! A ring of many writers and many readers: order, overwriting, frames that are kept, dropped or
//! forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::mem::forget;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use flatslab::bytes::RequestError;
use flatslab::sync::bytes::{SharedFrame, SharedRing};
use flatslab::{AllocError, BuildError};

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
            assert_eq!(frame.sequence(), u64::from(round) * 4 + index as u64);
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
        let chunks = ring.free_chunks();
        let mut queue: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let mut kept: Vec<(SharedFrame<'_>, Vec<u8>)> = Vec::new();
        let mut pushed = 0;
        for step in 0..amount(20_000, 2_000, 40) {
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
                        assert!(frame.sequence() == number && *frame == bytes);
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
            assert_eq!(ring.free_chunks(), chunks - queue.len() - kept.len());
        }
    }
}

#[test]
fn too_many_bytes_evict_nothing() {
    let ring = SharedRing::with_capacity(1, 5);
    ring.push(b"hello").unwrap();
    for size in [6, 16, 17, 100] {
        let error = RequestError::TooBig { size, largest: 5 };
        assert_eq!(ring.push(&vec![0; size]), Err(error));
    }
    assert_eq!(*ring.pop().unwrap(), *b"hello");
    assert_eq!(ring.pushed(), 1);
}

#[test]
fn where_readers_have_the_spare_chunks_the_ring_has_fewer_entries() {
    let builder = SharedRing::builder().entries(2).max_len(8).in_flight(0);
    let ring = builder.writers(1).build();
    assert_eq!(ring.free_chunks(), 4);
    let push = |number: u8| ring.push(&[number]).map(|it| it.map(|it| it.sequence));
    let mut kept = Vec::new();
    for number in 0..3 {
        assert_eq!(push(number), Ok(None));
        kept.push(ring.pop().unwrap());
    }
    assert_eq!((push(3), ring.free_chunks()), (Ok(None), 0));
    // One chunk is left, which is in the ring, so the entry in it makes room.
    assert_eq!((push(4), push(5)), (Ok(Some(3)), Ok(Some(4))));
    kept.push(ring.pop().unwrap());
    let error = RequestError::Exhausted(AllocError::Limit { bytes: 1 });
    assert_eq!(push(6), Err(error));
    for (frame, number) in kept.iter().zip([0, 1, 2, 5]) {
        assert_eq!(**frame, [number]);
    }
    kept.clear();
    assert_eq!(
        (push(7), push(8), push(9)),
        (Ok(None), Ok(None), Ok(Some(6)))
    );
    assert_eq!((ring.len(), ring.free_chunks()), (2, 2));
}

#[test]
fn a_forgotten_frame_takes_its_chunk_along_and_nothing_else() {
    let source = Counted::new();
    let builder = SharedRing::builder().entries(2).max_len(8);
    let ring = builder.pages(source.pages()).build();
    let chunks = ring.free_chunks();
    for number in 0..3 {
        ring.push(&[number]).unwrap();
        forget(ring.pop());
    }
    assert_eq!(ring.free_chunks(), chunks - 3);
    for number in 0..9 {
        ring.push(&[number]).unwrap();
    }
    assert_eq!(*ring.pop().unwrap(), [7]);
    drop(ring);
    source.expect_all_back();
}

#[test]
fn a_panic_while_a_frame_is_read_gives_its_chunk_back() {
    let ring = SharedRing::with_capacity(1, 8);
    let chunks = ring.free_chunks();
    ring.push(b"bytes").unwrap();
    assert!(panics(|| {
        let frame = ring.pop().unwrap();
        assert_ne!(*frame, *b"bytes", "on purpose");
    }));
    assert_eq!(ring.free_chunks(), chunks);
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let builder = SharedRing::builder;
    assert!(SharedRing::try_with_capacity(0, 1).is_err());
    assert!(SharedRing::try_with_capacity(1, 0).is_err());
    assert!(SharedRing::try_with_capacity(1, usize::MAX).is_err());
    assert!(panics(|| SharedRing::with_capacity(0, 1)));
    for many in [usize::MAX, usize::MAX / 2, 1 << 24] {
        let too_many = [
            builder().entries(many),
            builder().in_flight(many),
            builder().writers(many),
        ];
        for builder in too_many {
            let error = builder.max_len(1).try_build().unwrap_err();
            let expected = matches!(error, BuildError::Memory(AllocError::TooManySlots { .. }));
            assert!(expected, "{error:?}");
        }
    }
    for left in 0..2 {
        let source = Counted::new();
        let reached = with_fault(left, Fault::Refuse, false, || {
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
    assert_eq!(ring.memory().bytes(), bytes);
    for number in 0..amount(1000, 300, 24_u32) {
        ring.push(&[number as u8; 40]).unwrap();
        if number % 3 == 0 {
            assert_eq!(ring.pop().unwrap().as_ptr().addr() % 16, 0);
        }
    }
    assert_eq!(source.bytes(), bytes);
    drop(ring);
    source.expect_all_back();
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
    let ring = builder.writers(writers as usize).in_flight(readers).build();
    let chunks = ring.free_chunks();
    let count = amount(20_000, 150, 6_u64);
    let (evicted, writing) = (AtomicU64::new(0), AtomicUsize::new(writers as usize));
    let popped = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for writer in 0..writers {
            let (ring, evicted, writing) = (&ring, &evicted, &writing);
            scope.spawn(move || {
                for number in 0..count {
                    if let Some(it) = ring.push(&entry(writer, number)).unwrap() {
                        evicted.fetch_add(it.count as u64, SeqCst);
                    }
                }
                writing.fetch_sub(1, SeqCst);
            });
        }
        for _ in 0..readers {
            let (ring, writing, popped) = (&ring, &writing, &popped);
            scope.spawn(move || {
                let (mut mine, mut last) = (Vec::new(), None);
                loop {
                    let ended = writing.load(SeqCst) == 0;
                    while let Some(frame) = ring.pop() {
                        assert!(last.replace(frame.sequence()) < Some(frame.sequence()));
                        mine.push((frame.sequence(), writer_and_number(&frame)));
                    }
                    if ended {
                        break;
                    }
                    thread::yield_now();
                }
                popped.lock().unwrap().extend(mine);
            });
        }
    });
    while let Some(frame) = ring.pop() {
        let entry = (frame.sequence(), writer_and_number(&frame));
        popped.lock().unwrap().extend([entry]);
    }
    let popped = popped.into_inner().unwrap();
    let all = popped.len() as u64 + evicted.into_inner();
    assert_eq!((all, ring.pushed()), (writers * count, writers * count));
    assert_eq!(ring.free_chunks(), chunks);
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
    let text = format!("{ring:?} {:?}", SharedRing::builder().writers(7));
    assert!(text.contains("len: 1, capacity: 2, pushed: 1") && text.contains("writers: 7"));
    assert_eq!(format!("{:?}", ring.pop().unwrap()), "[1, 2]");
}

#[test]
fn a_frame_that_owns_its_ring_keeps_it() {
    let source = Counted::new();
    let builder = SharedRing::builder().entries(2).max_len(8);
    let ring = Arc::new(builder.pages(source.pages()).build());
    let chunks = ring.free_chunks();
    assert!(SharedRing::pop_owned(&ring).is_none());
    ring.push(b"first").unwrap();
    ring.push(b"second").unwrap();
    let [first, second] = [(); 2].map(|()| SharedRing::pop_owned(&ring).unwrap());
    assert_eq!(ring.free_chunks(), chunks - 2);
    drop(first);
    assert_eq!(ring.free_chunks(), chunks - 1);
    drop(ring);
    let reader = thread::spawn(move || {
        assert_eq!((&*second, second.sequence()), (&b"second"[..], 1));
        assert_eq!(format!("{second:?}"), format!("{:?}", b"second"));
    });
    reader.join().unwrap();
    source.expect_all_back();
}
