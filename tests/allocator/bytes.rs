//! Byte arenas and rings where the n-th request fails, where the allocator uses the arena
//! that asks, and what they take from it and give back.

use std::cell::{Cell, RefCell};

use flatslab::bytes::{Buf, ByteArena, RequestError, Ring};
use flatslab::{AllocError, BuildError};

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::failing::each_failure;
use crate::{Call, allocations, with_conduct, with_fuse, without_leak, without_memory};

fn small() -> ByteArena {
    ByteArena::builder()
        .smallest(64)
        .chunk_bytes(256)
        .largest(1024)
        .build()
}

/// Whether all bytes are the same: by one comparison of memory, each with the next, which
/// takes an interpreter no longer than a few bytes. Allocates nothing.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes[1..] == bytes[..bytes.len() - 1]
}

/// Panics unless all bytes are the same, and so many.
#[track_caller]
fn expect_whole(buf: &Buf, len: usize) {
    assert_eq!(buf.len(), len);
    assert!(is_whole(buf), "{buf:?}");
}

fn out_of_memory<T>(result: Result<T, RequestError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(RequestError::Memory(AllocError::OutOfMemory { bytes: 1.. })) => None,
        Err(error) => panic!("{error}"),
    }
}

/// A program that makes an arena and uses it in every way. Whether something was refused.
fn use_all(numbers: u8) -> bool {
    let builder = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(256)
        .largest(1024);
    let arena = match builder.prepare(64, 5).try_build() {
        Ok(arena) => arena,
        Err(BuildError::Memory(AllocError::OutOfMemory { bytes: 1.. })) => return true,
        Err(error) => panic!("{error}"),
    };
    let mut is_refused = out_of_memory(arena.prepare(200, 2)).is_none();
    let mut chain: Option<Buf> = None;
    let mut loc = None;
    for number in 0..numbers {
        let len = [60, 200, 1000][usize::from(number) % 3];
        let Some(mut buf) = out_of_memory(arena.try_alloc(len)) else {
            is_refused = true;
            continue;
        };
        buf.resize(len, number).unwrap();
        let mut buf = buf.freeze();
        if let Some(next) = chain.take() {
            buf.set_next(next).unwrap();
        }
        loc.get_or_insert_with(|| buf.clone().into_loc());
        chain = Some(buf);
    }
    if let Some(chain) = &chain {
        let lens = chain.parts().map(|part| {
            assert!(is_whole(part));
            part.len()
        });
        assert!(lens.sum::<usize>() > 0);
    }
    if let Some(loc) = loc {
        let first = arena.resolve(loc).unwrap();
        expect_whole(&first, first.len());
        assert!(!arena.release(loc).unwrap());
    }
    drop(chain);
    assert_eq!(arena.stats().in_use(), 0);
    arena.shrink_to_fit();
    assert_eq!(arena.stats().chunk_bytes, 0);
    is_refused |= out_of_memory(arena.try_copy(&[7; 60])).is_none();

    let mut ring = match Ring::builder().entries(4).max_len(100).try_build() {
        Ok(ring) => ring,
        Err(BuildError::Memory(AllocError::OutOfMemory { bytes: 1.. })) => return true,
        Err(error) => panic!("{error}"),
    };
    for number in 0..9 {
        ring.push(&[number; 100]).unwrap();
        expect_whole(ring.get(0).unwrap(), 100);
    }
    assert_eq!(ring.evicted(), 5);
    is_refused
}

#[test]
fn each_request_of_a_program_may_find_no_memory() {
    let numbers = amount(12, 6);
    let refused = |fuse| without_leak(|| with_fuse(fuse, || use_all(numbers)));
    // Some of the requests under an interpreter, whose time goes with the square of them.
    let step = amount(1, 5);
    let fuses = (0..).step_by(step).take_while(|&fuse| refused(fuse));
    let failures = fuses.count() * step;
    assert!(failures > amount(30, 20), "{failures}");
}

#[test]
fn construction_that_fails_leaks_nothing() {
    // The serials and the home.
    assert_eq!(each_failure(|| ByteArena::builder().try_build()), 2);
    // With atomic counts there are no positions.
    let failures = each_failure(|| ByteArena::builder().atomic().try_build());
    assert_eq!(failures, 1);
    // And bytes, headers, and the two tables of the directory. It does without a wide hand.
    let failures = each_failure(|| ByteArena::builder().prepare(100, 9).try_build());
    assert_eq!(failures, 6);
    let ring = || Ring::builder().entries(10).max_len(100).try_build();
    // And the hand, and the entries.
    assert_eq!(each_failure(ring), 8);
}

#[test]
fn a_refused_request_keeps_what_there_is() {
    without_leak(|| {
        let arena = small();
        let mut bufs: Vec<Buf> = Vec::with_capacity(100);
        let mut failures = 0;
        for number in 0..amount(100, 12) {
            for fuse in 0.. {
                match with_fuse(fuse, || arena.try_copy(&[number; 250])) {
                    Ok(buf) => {
                        bufs.push(buf);
                        break;
                    }
                    Err(error) => assert!(std::error::Error::source(&error).is_some()),
                }
                failures += 1;
                assert_eq!(arena.stats().in_use(), bufs.len());
            }
        }
        // Each of them has a slab, of two blocks.
        assert!(failures >= 2 * bufs.len());
        bufs.iter().for_each(|buf| expect_whole(buf, 250));
    });
}

#[test]
fn an_arena_allocates_nothing_after_a_reserve() {
    let arena = small();
    for (size, count) in [(60, 100), (1000, 10), (0, 200)] {
        arena.prepare(size, count).unwrap();
        let mut bufs: Vec<Buf> = Vec::with_capacity(count);
        let uses = || {
            without_memory(|| {
                for number in 0..count {
                    let mut buf = arena.try_copy(&[number as u8; 1000][..size]).unwrap();
                    if let Some(next) = bufs.pop() {
                        buf.set_next(next).unwrap();
                    }
                    bufs.push(buf);
                }
                let loc = bufs.pop().unwrap().into_loc();
                let chain = arena.resolve(loc).unwrap();
                assert_eq!(chain.parts().count(), count);
                arena.release(loc).unwrap();
            });
        };
        assert_eq!(allocations(uses), 0);
        assert_eq!(arena.stats().in_use(), 0);
    }
}

#[test]
fn a_ring_allocates_nothing_after_its_construction() {
    let mut ring = Ring::builder().entries(10).max_len(40).in_flight(2).build();
    let mut kept: [Option<Buf>; 2] = [None, None];
    let uses = || {
        without_memory(|| {
            for number in 0..amount(10_000, 100) {
                ring.push(&[number as u8; 40]).unwrap();
                if number % 3 == 0 {
                    let place = number / 3 % 2;
                    kept[place] = None;
                    kept[place] = ring.pop();
                }
                let loc = ring.get(0).map(|entry| entry.clone().into_loc());
                if let Some(loc) = loc {
                    assert!(!ring.arena().release(loc).unwrap());
                }
            }
            ring.clear();
            assert!(ring.stats().to_owned().allocs > 0);
        });
    };
    assert_eq!(allocations(uses), 0);
}

#[test]
fn a_shrink_gives_back_what_it_says() {
    without_leak(|| {
        let arena = small();
        let bufs: Vec<Buf> = (0..20)
            .map(|it| arena.try_copy(&[it; 60]).unwrap())
            .collect();
        let kept = bufs[7].clone();
        drop(bufs);
        let shrink = || {
            let before = (crate::LIVE_BYTES.get(), arena.memory().bytes());
            without_memory(|| arena.shrink_to_fit());
            let given = before.0 - crate::LIVE_BYTES.get();
            assert_eq!(given, (before.1 - arena.memory().bytes()) as isize);
            given
        };
        assert!(shrink() > 3 * (256 + 4 * 64));
        expect_whole(&kept, 60);
        drop(kept);
        // The chunk, and the stack of a class without chunks.
        assert!(shrink() > 256 + 4 * 64);
        assert_eq!(shrink(), 0);
    });
}

#[test]
fn the_last_buffer_gives_the_memory_back() {
    let before = crate::LIVE_BYTES.get();
    let arena = small();
    let bufs = [1, 2].map(|number| arena.try_copy(&[number; 60]).unwrap());
    let _loc = bufs[0].clone().into_loc();
    drop(arena);
    let [one, other] = bufs;
    drop(one);
    assert!(crate::LIVE_BYTES.get() > before);
    expect_whole(&other, 60);
    drop(other);
    assert_eq!(crate::LIVE_BYTES.get(), before);
}

// At every call, within each other.

thread_local! {
    static ARENA: Cell<*const ByteArena> = const { Cell::new(std::ptr::null()) };
    static KEPT: RefCell<[Option<Buf>; 40]> = const { RefCell::new([const { None }; 40]) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static MEDDLED: Cell<u32> = const { Cell::new(0) };
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// A step on the arena that is served: takes, links, drops, holds, or gives memory back.
fn use_shared(arena: &ByteArena) {
    let place = random(40) as usize;
    let take = |place: usize| KEPT.with_borrow_mut(|kept| kept[place].take());
    let put = |buf: Option<Buf>| {
        let old = KEPT.with_borrow_mut(|kept| std::mem::replace(&mut kept[place], buf));
        drop(old);
    };
    match random(12) {
        0..6 => {
            let len = [0, 60, 120, 250, 500, 1000][random(6) as usize];
            let number = random(256) as u8;
            if let Ok(mut buf) = arena.try_alloc(len) {
                buf.resize(len, number).unwrap();
                put(Some(buf.freeze()));
            }
        }
        6 => {
            let (head, next) = (take(place), take((place + 1) % 40));
            if let (Some(mut head), Some(next)) = (head, next) {
                drop(head.set_next(next));
                put(Some(head));
            }
        }
        7 => {
            if let Some(buf) = take(place) {
                let loc = buf.clone().into_loc();
                assert_eq!(arena.resolve(loc).unwrap(), buf);
                assert!(!arena.release(loc).unwrap());
            }
        }
        8 | 9 => put(None),
        10 => {
            let _ = arena.prepare(random(1000) as usize, random(6) as usize);
        }
        _ => {
            arena.shrink_to_fit();
        }
    }
}

/// What the allocator does at each call: a step, and one request in six is refused.
fn meddle(call: Call) -> bool {
    // SAFETY: set by the test that has the arena, until it is reset.
    let Some(arena) = (unsafe { ARENA.get().as_ref() }) else {
        return true;
    };
    if std::thread::panicking() {
        return true;
    }
    if DEPTH.get() < 3 && one_in(3) {
        DEPTH.set(DEPTH.get() + 1);
        MEDDLED.set(MEDDLED.get() + 1);
        use_shared(arena);
        DEPTH.set(DEPTH.get() - 1);
    }
    let is_refused = matches!(call, Call::Asked) && one_in(6);
    REFUSED.set(REFUSED.get() + u32::from(is_refused));
    !is_refused
}

#[test]
fn an_allocator_may_use_the_arena_at_every_call() {
    let (programs, steps) = amount((200, 400), (2, 20));
    // Makes the thread's state, which lasts longer than a program.
    KEPT.with_borrow_mut(|kept| kept[0] = None);
    for number in 1..=programs {
        seed(number);
        let limit = if number % 2 == 0 { usize::MAX } else { 6000 };
        without_leak(|| {
            let builder = ByteArena::builder()
                .smallest(64)
                .chunk_bytes(256)
                .largest(1024);
            let arena = builder.max_bytes(limit).build();
            ARENA.set(&raw const arena);
            for _ in 0..steps {
                with_conduct(meddle, || use_shared(&arena));
                KEPT.with_borrow(|kept| {
                    for buf in kept.iter().flatten() {
                        expect_whole(buf, buf.len());
                    }
                });
                let stats = arena.stats();
                assert!(stats.chunk_bytes as usize <= limit);
                for class in stats.classes() {
                    assert_eq!(class.free + class.in_use, class.buffers);
                }
            }
            ARENA.set(std::ptr::null());
            KEPT.with_borrow_mut(|kept| kept.iter_mut().for_each(|buf| *buf = None));
            assert_eq!(arena.stats().in_use(), 0, "program {number}");
            arena.shrink_to_fit();
            assert_eq!(arena.stats().chunk_bytes, 0);
        });
    }
    assert!(MEDDLED.get() > 0 && REFUSED.get() > 0);
}
