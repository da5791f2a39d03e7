//! Byte arenas whose buffers go to other threads.

use std::collections::{BTreeSet, HashSet};
use std::mem::forget;
use std::sync::mpsc;
use std::thread;

use flatslab::bytes::{self, Atomic, RequestError};
use flatslab::{AllocError, SizeError};

use crate::common::random::{random, seed};
use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};

type ByteArena = bytes::ByteArena<Atomic>;
type Buf = bytes::Buf<Atomic>;
type BufMut = bytes::BufMut<Atomic>;

/// A small arena.
fn small(source: &std::sync::Arc<Counted>) -> ByteArena {
    let builder = bytes::ByteArena::builder()
        .atomic()
        .smallest(16)
        .chunk_bytes(1024);
    builder.pages(source.pages()).build()
}

#[test]
fn a_buffer_has_what_was_written_and_begins_at_a_multiple_of_16() {
    let arena = bytes::ByteArena::builder()
        .atomic()
        .smallest(16)
        .growth(1.3)
        .build();
    for size in [0, 1, 15, 16, 17, 100, 1000, 4096] {
        let mut buf = arena.try_alloc(size).unwrap();
        assert_eq!(
            (buf.len(), buf.capacity(), buf.remaining()),
            (0, size, size)
        );
        assert_eq!(buf.spare_capacity_mut().as_ptr().addr() % 16, 0);
        buf.resize(size, 7).unwrap();
        assert!(buf.extend_from_slice(b"!").is_err());
        let buf = buf.freeze();
        assert!(*buf == vec![7; size] && arena.owns(&buf));
        assert_eq!(*arena.try_alloc_zeroed(size).unwrap(), vec![0; size][..]);
        assert_eq!(*arena.try_copy(&buf).unwrap(), *buf);
    }
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn what_is_too_large_is_refused_with_the_users_numbers() {
    let arena = bytes::ByteArena::builder()
        .atomic()
        .smallest(16)
        .largest(1000)
        .build();
    let largest = match arena.try_alloc(usize::MAX).unwrap_err() {
        RequestError::TooLarge(error) => {
            assert_eq!(error.size, usize::MAX);
            error.limit
        }
        error => panic!("{error:?}"),
    };
    assert!(largest >= 1000);
    assert!(arena.try_alloc(largest).is_ok());
    for size in [largest + 1, usize::MAX - 31, usize::MAX - 32] {
        let limit = largest;
        let error = RequestError::TooLarge(SizeError { size, limit });
        assert_eq!(arena.try_alloc(size).unwrap_err(), error);
        assert_eq!(arena.prepare(size, 1).unwrap_err(), error);
    }
    assert!(
        bytes::ByteArena::builder()
            .atomic()
            .smallest(0)
            .try_build()
            .is_err()
    );
    assert!(
        bytes::ByteArena::builder()
            .atomic()
            .largest(0)
            .try_build()
            .is_err()
    );
    assert!(
        bytes::ByteArena::builder()
            .atomic()
            .largest(usize::MAX)
            .try_build()
            .is_err()
    );
    let smallest = bytes::ByteArena::builder()
        .atomic()
        .chunk_bytes(1)
        .smallest(1)
        .build();
    assert_eq!(*smallest.copy(b"1"), *b"1");
}

#[test]
fn references_share_a_chunk_until_the_last_one() {
    let arena = bytes::ByteArena::atomic();
    let mut buf = arena.try_copy(b"hello world").unwrap();
    let head = buf.split_to(6);
    assert_eq!((&*head, &*buf), (&b"hello "[..], &b"world"[..]));
    assert_eq!(buf.references(), Some(2));
    assert_eq!(buf.try_slice(1..3).unwrap(), *b"or");
    assert!(buf.try_slice(2..6).is_none() && panics(|| buf.slice(6..)));
    assert!(buf.try_slice(..=usize::MAX).is_none());
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = buf.try_slice(3..2);
    assert!(reversed.is_none() && panics(|| buf.clone().advance(6)));
    buf.advance(1);
    buf.truncate(3);
    assert_eq!(buf, *b"orl");
    assert!(!head.release() && buf.is_unique());
    let mut buf: BufMut = buf.try_into_mut().unwrap();
    assert_eq!(buf.capacity(), 64 - 7);
    buf.resize(57, b'!').unwrap();
    buf[0] = b'O';
    let buf: Buf = buf.into();
    assert!(buf.starts_with(b"Orl!!") && buf.len() == 57);
    assert!(buf.release());
    assert_eq!(arena.reclaim(), 1);
}

#[test]
fn buffers_compare_and_hash_as_their_bytes() {
    let arena = bytes::ByteArena::atomic();
    let [one, two] = [b"one", b"two"].map(|bytes| arena.try_copy(bytes).unwrap());
    assert!(one < two && one == arena.try_copy(b"one").unwrap() && one == b"one"[..]);
    let set: HashSet<Buf> = [one.clone(), two.clone()].into();
    assert!(set.contains(&b"two"[..]) && !set.contains(&b"three"[..]));
    let ordered: BTreeSet<Buf> = [two, one].into();
    assert!(ordered.iter().map(|buf| buf[0]).eq(*b"ot"));
    assert_eq!(format!("{:?}", arena.try_copy(&[1, 2]).unwrap()), "[1, 2]");
    assert_eq!(
        format!("{:?}", arena.try_alloc_zeroed(2).unwrap()),
        "[0, 0]"
    );
    assert!(format!("{arena:?}").contains("in_use"));
    assert!(format!("{:?}", bytes::ByteArena::builder().atomic()).contains("growth"));
}

#[test]
fn chunks_that_were_dropped_elsewhere_are_used_before_new_ones() {
    let source = Counted::new();
    let arena = small(&source);
    let round = || -> BTreeSet<usize> {
        let bufs: Vec<Buf> = (0..20).map(|_| arena.try_copy(b"bytes").unwrap()).collect();
        let places = bufs.iter().map(|buf| buf.as_ptr().addr()).collect();
        thread::spawn(move || drop(bufs)).join().unwrap();
        places
    };
    let places = round();
    assert_eq!(places.len(), 20);
    arena.reclaim();
    let bytes = source.bytes();
    for _ in 0..5 {
        assert_eq!(round().len(), 20);
        assert_eq!(source.bytes(), bytes);
    }
    assert_eq!(arena.reclaim(), arena.reclaim() + 20);
    assert_eq!(arena.stats().in_use(), 0);
    arena.shrink_to_fit();
    assert_eq!(arena.stats().chunk_bytes, 0);
    drop(arena);
    source.expect_all_back();
}

#[test]
fn a_limit_counts_what_came_back() {
    let builder = bytes::ByteArena::builder()
        .atomic()
        .smallest(100)
        .largest(100)
        .chunk_bytes(1 << 10);
    let arena = builder.max_bytes(4 << 10).build();
    let mut bufs: Vec<Buf> = Vec::new();
    let error = loop {
        match arena.try_copy(&[1; 100]) {
            Ok(buf) => bufs.push(buf),
            Err(error) => break error,
        }
    };
    assert!(matches!(
        error,
        RequestError::Memory(AllocError::Limit { .. })
    ));
    assert!(bufs.len() > 5);
    let last = bufs.pop();
    thread::spawn(move || drop(last)).join().unwrap();
    bufs.push(arena.try_copy(&[2; 100]).unwrap());
    assert!(arena.try_alloc(1).is_err());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_arena_and_its_buffers_go_in_any_order_on_any_thread() {
    for order in 0..6 {
        let source = Counted::new();
        let arena = small(&source);
        let bufs: Vec<Buf> = (0..5).map(|_| arena.try_copy(b"bytes").unwrap()).collect();
        let clones = bufs.clone();
        let mutable = arena.try_alloc(3).unwrap();
        match order {
            0 => {
                drop(arena);
                assert!(bufs.iter().all(|buf| *buf == *b"bytes"));
                drop((bufs, mutable));
                assert!(source.bytes() > 0);
                drop(clones);
            }
            1 => {
                drop((bufs, clones));
                thread::spawn(move || drop((arena, mutable)))
                    .join()
                    .unwrap();
            }
            2 => {
                drop((bufs, clones, mutable));
                assert_eq!(arena.reclaim(), 6);
                drop(arena);
            }
            3 => {
                let dropper = thread::spawn(move || drop((bufs, mutable)));
                drop(arena);
                drop(clones);
                dropper.join().unwrap();
            }
            4 => thread::scope(|scope| {
                scope.spawn(move || drop(arena));
                scope.spawn(move || drop(bufs));
                scope.spawn(move || drop(clones));
                scope.spawn(move || drop(mutable.freeze()));
            }),
            _ => {
                // The arena works on another thread.
                let arena = thread::spawn(move || {
                    drop(bufs);
                    assert_eq!(*arena.try_copy(b"there").unwrap(), *b"there");
                    arena
                });
                let arena = arena.join().unwrap();
                drop((clones, mutable));
                assert_eq!(arena.stats().in_use(), 0);
            }
        }
        source.expect_all_back();
    }
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_forgotten_buffer_keeps_the_memory_and_its_clones() {
    let source = Counted::new();
    let arena = small(&source);
    let (kept, lost) = (
        arena.try_copy(b"kept").unwrap(),
        arena.try_copy(b"lost").unwrap(),
    );
    let clone = lost.clone();
    forget(lost);
    assert_eq!(clone.references(), Some(2));
    drop(clone);
    assert_eq!((arena.reclaim(), arena.stats().in_use()), (0, 2));
    drop(arena);
    assert_eq!(kept, *b"kept");
    drop(kept);
    assert!(source.bytes() > 0, "it stays for ever");
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_refusal_of_memory_loses_nothing() {
    for left in 0..amount(12, 5) {
        let source = Counted::new();
        let mut made = 0;
        with_fault(left, Fault::Refuse, false, || {
            let builder = bytes::ByteArena::builder()
                .atomic()
                .smallest(16)
                .chunk_bytes(256);
            let Ok(arena) = builder.pages(source.pages()).try_build() else {
                return;
            };
            let mut bufs = Vec::new();
            for number in 0..12_u8 {
                match arena.try_copy(&[number; 40]) {
                    Ok(buf) => bufs.push((number, buf)),
                    Err(error) => assert!(matches!(error, RequestError::Memory(_))),
                }
            }
            assert!(bufs.iter().all(|(number, buf)| *buf == [*number; 40]));
            made = bufs.len();
            assert!(made >= 11);
        });
        assert!(made <= 12);
        source.expect_all_back();
    }
}

#[test]
fn a_buffer_that_is_sent_around_has_its_bytes() {
    let source = Counted::new();
    let arena = small(&source);
    let count = amount(30_000, 12_u32);
    thread::scope(|scope| {
        let (to_one, from_arena) = mpsc::sync_channel::<BufMut>(8);
        let (to_two, from_one) = mpsc::sync_channel::<Buf>(8);
        scope.spawn(move || {
            for mut buf in from_arena {
                let number = buf.len() as u32;
                buf.extend_from_slice(&number.to_ne_bytes()).unwrap();
                let buf = buf.freeze();
                if to_two.send(buf.clone()).is_err() {
                    return;
                }
                assert!(buf.len() == number as usize + 4);
            }
        });
        scope.spawn(move || {
            for buf in from_one {
                let (bytes, end) = buf.split_at(buf.len() - 4);
                let number = bytes.len() as u32;
                assert_eq!(end, number.to_ne_bytes());
                assert!(bytes.iter().all(|&byte| byte == number as u8));
                if let Ok(mut buf) = buf.try_into_mut() {
                    buf.fill(0xff);
                }
            }
        });
        for number in 0..count {
            let len = (number % 70) as usize;
            let mut buf = arena.try_alloc(len + 4).unwrap();
            buf.resize(len, len as u8).unwrap();
            to_one.send(buf).unwrap();
        }
        drop(to_one);
        arena
    });
    source.expect_all_back();
}

#[test]
fn random_clones_and_drops_on_several_threads_lose_nothing() {
    let source = Counted::new();
    let arena = small(&source);
    let rounds = amount(300, 1);
    for round in 0..rounds {
        let bufs: Vec<Buf> = (0..8_u8)
            .map(|number| arena.try_copy(&[number; 33]).unwrap())
            .collect();
        thread::scope(|scope| {
            for thread in 0..3 {
                let mut mine = bufs.clone();
                scope.spawn(move || {
                    seed(round * 10 + thread);
                    for _ in 0..amount(100, 15) {
                        let index = random(mine.len() as u64) as usize;
                        if random(2) == 0 {
                            let clone = mine[index].slice(1..);
                            assert!(clone.iter().all(|&byte| byte == mine[index][0]));
                            mine.push(clone);
                        } else if mine.len() > 1 {
                            drop(mine.swap_remove(index));
                        }
                        mine.retain(|buf| !buf.is_empty());
                        if mine.is_empty() {
                            return;
                        }
                    }
                });
            }
            drop(bufs);
            drop(arena.try_copy(b"meantime").unwrap());
        });
        assert_eq!(arena.stats().in_use(), 0);
    }
    drop(arena);
    source.expect_all_back();
}

#[cfg(feature = "bytes")]
#[test]
fn a_buffer_becomes_bytes_of_the_crate_bytes() {
    let source = Counted::new();
    let arena = small(&source);
    let mut buf = arena.try_alloc(11).unwrap();
    ::bytes::BufMut::put_slice(&mut buf, b"hello world");
    let buf = buf.freeze();
    let bytes: ::bytes::Bytes = buf.clone().into();
    assert_eq!(buf.references(), Some(2));
    let tail = thread::spawn(move || bytes.slice(6..)).join().unwrap();
    drop((buf, arena));
    assert_eq!(&tail[..], b"world");
    drop(tail);
    source.expect_all_back();
}

#[test]
fn arenas_are_send_and_buffers_both() {
    fn send<T: Send>() -> usize {
        size_of::<T>()
    }
    fn both<T: Send + Sync>() -> usize {
        size_of::<T>()
    }
    let sizes = [send::<ByteArena>(), both::<Buf>(), both::<BufMut>()];
    assert_eq!(sizes[0], size_of::<usize>());
    // Three and four words of 64 bits, whatever a pointer has.
    assert!(sizes[1] <= 24 && sizes[2] <= 32, "{sizes:?}");
}

#[test]
fn a_chain_is_read_and_ends_on_another_thread() {
    let source = Counted::new();
    let (arena, other) = (small(&source), small(&source));
    let length = amount(1000, 20);
    let mut chain = arena.copy(b"last");
    for number in 0..length {
        let arena = if number % 3 == 0 { &other } else { &arena };
        let mut head = arena.copy(&[number as u8]);
        head.set_next(chain).unwrap();
        chain = head;
    }
    let tail = chain.next().unwrap();
    assert!(chain.clone().take_next().is_err(), "two references");
    drop(other);
    thread::spawn(move || {
        assert_eq!(chain.parts().count(), length + 1);
        assert!(chain.release());
    })
    .join()
    .unwrap();
    // The head came back, and the rest is one that this thread has.
    assert_eq!(tail.parts().last(), Some(&b"last"[..]));
    drop(tail);
    assert!(arena.reclaim() > 0);
    assert_eq!(arena.stats().in_use(), 0);
    drop(arena);
    source.expect_all_back();
}

/// Code for a connection is written once for both kinds of counts.
fn split_lines<R: bytes::References>(
    arena: &bytes::ByteArena<R>,
    text: &[u8],
) -> Vec<bytes::Buf<R>> {
    let mut rest = arena.copy(text);
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        lines.push(rest.split_to(end));
        rest.advance(1);
    }
    lines
}

#[test]
fn code_is_written_once_for_both_kinds_of_counts() {
    let text = b"one\ntwo\n";
    let local = split_lines(&bytes::ByteArena::new(), text);
    let atomic = split_lines(&bytes::ByteArena::atomic(), text);
    assert!(
        local
            .iter()
            .zip(&atomic)
            .all(|(one, other)| **one == **other)
    );
    thread::spawn(move || assert_eq!(atomic.len(), 2))
        .join()
        .unwrap();
}

/// Clones that readers elsewhere keep are told from those that the ring itself has.
#[test]
fn a_ring_with_atomic_counts_does_not_stall_at_entries_that_share_their_buffers() {
    let builder = bytes::Ring::builder().entries(4).max_len(16).in_flight(0);
    let mut ring = builder.atomic().build();
    let halves = |ring: &mut bytes::Ring<Atomic>| {
        let mut buf = ring.try_alloc().unwrap();
        buf.extend_from_slice(b"ab").unwrap();
        let mut rest = buf.freeze();
        (rest.split_to(1), rest)
    };
    for round in 0..20_u8 {
        let (first, second) = halves(&mut ring);
        ring.push_buf(first);
        ring.push_buf(second);
        let pushed = ring.push(&[round]);
        assert!(pushed.is_ok(), "{round}: {pushed:?}");
    }
    // A reader of a half keeps its buffer; the entries after it make room.
    ring.clear();
    let (first, second) = halves(&mut ring);
    let reader = first.clone();
    ring.push_buf(first);
    ring.push_buf(second);
    let filled: Vec<_> = std::iter::from_fn(|| ring.arena().try_alloc(16).ok()).collect();
    assert!(
        ring.push(b"more").is_err() && ring.len() == 2,
        "nothing is overwritten"
    );
    thread::spawn(move || drop(reader)).join().unwrap();
    assert_eq!(ring.push(b"more").unwrap().unwrap().count, 2);
    drop(filled);
}
