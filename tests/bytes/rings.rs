//! A ring of buffers: order, overwriting, and the entries it says it has overwritten.

use std::collections::VecDeque;

use flatslab::SizeError;
use flatslab::bytes::{ByteArena, LocError, RequestError, Ring};

use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::source::Counted;

#[test]
fn entries_come_out_in_order_with_their_true_lengths() {
    let mut ring = Ring::with_capacity(4, 100);
    for len in [100, 0, 1, 37] {
        assert_eq!(ring.push(&vec![7; len]), Ok(None));
    }
    assert!(ring.is_full());
    let lens: Vec<_> = ring.iter().map(|entry| entry.len()).collect();
    assert_eq!(lens, [100, 0, 1, 37]);
    assert_eq!(ring.iter().next_back().unwrap().len(), 37);
    for len in [100, 0, 1, 37] {
        assert_eq!(ring.pop().unwrap(), vec![7; len][..]);
    }
    assert!(ring.pop().is_none() && ring.is_empty());
}

#[test]
fn the_newest_overwrites_the_oldest_and_says_which() {
    let mut ring = Ring::with_capacity(3, 8);
    for number in 0..20_u8 {
        let pushed = ring.push(&vec![number; usize::from(number) % 9]).unwrap();
        let expected = (number >= 3).then(|| {
            let oldest = number - 3;
            (u64::from(oldest), usize::from(oldest) % 9)
        });
        assert_eq!(pushed.map(|it| (it.sequence, it.len)), expected);
    }
    assert_eq!((ring.pushed(), ring.evicted(), ring.len()), (20, 17, 3));
    for (index, number) in (17..20).enumerate() {
        crate::expect_owner(ring.get(index).unwrap(), number);
    }
    assert!(ring.get(3).is_none() && ring.get(usize::MAX).is_none());
}

#[test]
fn sequence_numbers_count_what_was_popped_and_cleared() {
    let mut ring = Ring::with_capacity(2, 8);
    ring.push(b"0").unwrap();
    ring.push(b"1").unwrap();
    drop(ring.pop());
    ring.push(b"2").unwrap();
    assert_eq!(ring.push(b"3").unwrap().unwrap().sequence, 1);
    ring.clear();
    assert!(ring.is_empty() && ring.evicted() == 1);
    ring.push(b"4").unwrap();
    ring.push(b"5").unwrap();
    assert_eq!(ring.push(b"6").unwrap().unwrap().sequence, 4);
    assert_eq!((ring.pushed(), ring.evicted()), (7, 2));
}

#[test]
fn too_many_bytes_evict_nothing() {
    let mut ring = Ring::with_capacity(1, 5);
    ring.push(b"hello").unwrap();
    for size in [6, 16, 17, 100] {
        let error = RequestError::TooLarge(SizeError { size, limit: 5 });
        assert_eq!(ring.push(&vec![0; size]), Err(error));
    }
    assert_eq!((ring.pushed(), ring.evicted()), (1, 0));
    assert_eq!(ring.stats().too_large_errs, 4);
    assert_eq!(*ring.get(0).unwrap(), *b"hello");
}

#[test]
fn rings_without_entries_or_bytes_are_refused() {
    let builder = Ring::builder;
    assert!(builder().entries(0).try_build().is_err());
    assert!(builder().max_len(0).try_build().is_err());
    assert!(builder().entries(3).max_len(0).try_build().is_err());
    assert!(builder().max_len(usize::MAX).try_build().is_err());
    assert!(
        builder()
            .max_len(isize::MAX as usize + 1)
            .try_build()
            .is_err()
    );
    assert!(panics(|| Ring::with_capacity(0, 1)));
    assert!(format!("{:?}", builder().in_flight(9)).contains("in_flight: 9"));
    let ring = builder().in_flight(0).build();
    assert_eq!((ring.capacity(), ring.max_len()), (1, 1500));
    assert_eq!(ring.stats().classes()[0].chunks, 1);
}

#[test]
fn the_position_of_an_overwritten_entry_is_stale() {
    let mut ring = Ring::with_capacity(2, 8);
    let mut locs = Vec::new();
    for number in 0..10_u8 {
        ring.push(&[number; 4]).unwrap();
        let newest = ring.get(ring.len() - 1).unwrap();
        locs.push(newest.loc());
        for (number, &loc) in locs.iter().enumerate() {
            match ring.arena().resolve(loc) {
                Ok(buf) => {
                    crate::expect_owner(&buf, number as u8);
                    assert!(number + 2 >= locs.len());
                }
                Err(error) => {
                    assert_eq!(error, LocError::Stale);
                    assert!(number + 2 < locs.len());
                }
            }
        }
    }
}

#[test]
fn an_entry_that_a_position_holds_is_not_overwritten_in_place() {
    let mut ring = Ring::builder().entries(1).max_len(8).in_flight(1).build();
    ring.push(b"held").unwrap();
    let loc = ring.get(0).unwrap().clone().into_loc();
    ring.push(b"next").unwrap().unwrap();
    ring.push(b"last").unwrap().unwrap();
    assert_eq!(ring.arena().resolve(loc).unwrap(), *b"held");
    assert!(ring.arena().release(loc).unwrap());
    assert_eq!(ring.pop().unwrap(), *b"last");
}

#[test]
fn buffers_that_were_filled_in_place_become_entries() {
    let mut ring = Ring::with_capacity(2, 8);
    let mut buf = ring.arena().try_alloc(8).unwrap();
    buf.extend_from_slice(b"mine").unwrap();
    let place = buf.as_ptr();
    assert!(ring.push_buf(buf).is_none());
    assert_eq!(ring.get(0).unwrap().as_ptr(), place);
    ring.push(b"next").unwrap();
    let evicted = ring.push_buf(ring.get(1).unwrap().clone()).unwrap();
    assert_eq!((evicted.sequence, evicted.len), (0, 4));
    assert_eq!((ring.pushed(), ring.evicted()), (3, 1));
    // The same buffer twice: neither is overwritten while the other is there.
    ring.push(b"more").unwrap();
    assert_eq!(ring.pop().unwrap(), *b"next");
    assert_eq!(ring.pop().unwrap(), *b"more");
}

#[test]
fn foreign_buffers_become_entries_and_are_not_overwritten_in_place() {
    let other = ByteArena::new();
    let mut ring = Ring::with_capacity(2, 8);
    // Longer than the ring's own may be.
    let foreign = other.try_copy(&[9; 100]).unwrap();
    let loc = foreign.loc();
    assert!(ring.push_buf(foreign).is_none());
    ring.push(b"own").unwrap();
    assert_eq!(ring.push(b"next").unwrap().unwrap().len, 100);
    assert!(other.resolve(loc).is_err());
    assert_eq!(other.stats().in_use(), 0);
    ring.push_buf(other.try_copy(b"kept").unwrap());
    drop(other);
    assert_eq!(ring.pop().unwrap(), *b"next");
    assert_eq!(ring.pop().unwrap(), *b"kept");
}

#[test]
fn an_entry_with_a_chain_gives_it_up_when_it_is_overwritten() {
    let other = ByteArena::new();
    let mut ring = Ring::builder().entries(1).max_len(8).in_flight(2).build();
    let mut head = ring.arena().try_copy(b"head").unwrap();
    head.set_next(other.try_copy(b"tail").unwrap()).unwrap();
    ring.push_buf(head);
    assert_eq!(ring.get(0).unwrap().chain_len(), 8);
    assert_eq!(ring.push(b"next").unwrap().unwrap().len, 4);
    assert_eq!(other.stats().in_use(), 0);
    assert_eq!(ring.get(0).unwrap().chain_len(), 4);
}

#[test]
fn a_slice_as_an_entry_leaves_the_whole_chunk_to_the_next() {
    let mut ring = Ring::with_capacity(1, 8);
    let buf = ring.arena().try_copy(b"12345678").unwrap();
    ring.push_buf(buf.slice(6..));
    drop(buf);
    assert_eq!(ring.push(b"87654321").unwrap().unwrap().len, 2);
    assert_eq!(ring.pop().unwrap(), *b"87654321");
}

#[test]
fn bytes_of_an_entry_may_be_pushed_again() {
    let mut ring = Ring::with_capacity(2, 8);
    ring.push(b"one").unwrap();
    ring.push(b"two").unwrap();
    let oldest = ring.get(0).unwrap().clone();
    ring.push(&oldest).unwrap();
    assert_eq!(ring.pop().unwrap(), *b"two");
    assert_eq!(ring.pop().unwrap(), *b"one");
}

#[test]
fn entries_that_were_popped_outlive_the_ring() {
    let source = Counted::new();
    let builder = Ring::builder().entries(3).max_len(8).pages(source.pages());
    let mut ring = builder.build();
    for number in 0..5 {
        ring.push(&[number; 8]).unwrap();
    }
    let (popped, clone) = (ring.pop().unwrap(), ring.get(1).unwrap().clone());
    drop(ring);
    crate::expect_owner(&popped, 2);
    drop(popped);
    crate::expect_owner(&clone, 4);
    drop(clone);
    source.expect_all_back();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_ring_allocates_when_it_is_made_and_never_again() {
    let source = Counted::new();
    let builder = Ring::builder().entries(10).max_len(40).in_flight(3);
    let mut ring = builder.pages(source.pages()).build();
    let bytes = source.bytes();
    let mut kept = VecDeque::new();
    for number in 0..amount(1000, 60) {
        ring.push(&[number as u8; 40]).unwrap();
        if number % 3 == 0 {
            kept.extend(ring.pop());
        }
        if kept.len() > 3 {
            kept.pop_front();
        }
        let _loc = ring.get(0).map(|entry| entry.loc());
    }
    assert_eq!((source.bytes(), ring.stats().mallocs), (bytes, 1));
    drop((ring, kept));
    source.expect_all_back();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_ring_does_as_a_queue() {
    for (number, capacity) in [1, 2, 3, 7].into_iter().enumerate() {
        seed(number as u64);
        let mut ring = Ring::builder()
            .entries(capacity)
            .max_len(30)
            .in_flight(2)
            .build();
        let mut queue: VecDeque<Vec<u8>> = VecDeque::new();
        let (mut pushed, mut evicted) = (0, 0);
        let mut kept = Vec::new();
        for step in 0..amount(20_000, 40) {
            match random(8) {
                0..5 => {
                    let bytes = vec![step as u8; random(31) as usize];
                    let expected = if queue.len() == capacity {
                        evicted += 1;
                        let len = queue.pop_front().unwrap().len();
                        Some((pushed - capacity as u64, len))
                    } else {
                        None
                    };
                    let result = ring.push(&bytes).unwrap();
                    assert_eq!(result.map(|it| (it.sequence, it.len)), expected);
                    pushed += 1;
                    queue.push_back(bytes);
                }
                5 | 6 => {
                    let (got, expected) = (ring.pop(), queue.pop_front());
                    assert_eq!(got.as_deref(), expected.as_deref());
                    // Two are kept by readers.
                    kept.extend(got.zip(expected));
                    if kept.len() > 2 {
                        kept.swap_remove(random(3) as usize);
                    }
                }
                _ if random(20) == 0 => {
                    ring.clear();
                    queue.clear();
                }
                _ => {
                    let index = random(capacity as u64 + 1) as usize;
                    let expected = queue.get(index).map(|it| &it[..]);
                    assert_eq!(ring.get(index).map(|it| &**it), expected);
                }
            }
            assert!(
                ring.iter()
                    .map(|it| &**it)
                    .eq(queue.iter().map(|it| &it[..]))
            );
            assert!(kept.iter().all(|(got, expected)| **got == **expected));
            assert_eq!(
                (ring.len(), ring.is_full()),
                (queue.len(), queue.len() == capacity)
            );
            assert_eq!((ring.pushed(), ring.evicted()), (pushed, evicted));
        }
    }
}

#[test]
fn a_ring_prints_its_numbers() {
    let mut ring = Ring::with_capacity(2, 8);
    ring.push(b"1").unwrap();
    let text = format!("{ring:?}");
    assert!(
        text.contains("len: 1") && text.contains("capacity: 2"),
        "{text}"
    );
}
