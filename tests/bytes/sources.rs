//! Arenas in memory of the test's own: which counts, refuses, panics, and uses the arena
//! that asks.

use std::cell::RefCell;
use std::rc::Rc;

use flatslab::Builder;
use flatslab::bytes::{Buf, ByteArena, RequestError, Ring};

use crate::common::amount;
use crate::source::{Counted, Fault, unless_it_panics, with_fault, with_hook};
use crate::{expect_owner, owned_by};

fn builder(source: &std::sync::Arc<Counted>) -> Builder<ByteArena> {
    let builder = ByteArena::builder().smallest(64).chunk_bytes(256);
    builder.largest(1024).pages(source.pages())
}

/// Uses an arena in every way that may ask for memory.
fn use_all(arena: &ByteArena) {
    let mut bufs: Vec<Buf> = Vec::new();
    let mut locs = Vec::new();
    for round in 0..2 {
        for number in 0..amount(12, 6) {
            let size = [60, 200, 1000, 10][usize::from(number) % 4];
            match unless_it_panics(|| arena.try_copy(&vec![number; size])) {
                Some(Ok(buf)) => bufs.push(buf),
                Some(Err(RequestError::Memory(_))) | None => {}
                Some(Err(error)) => panic!("{error}"),
            }
        }
        unless_it_panics(|| arena.prepare(100, 5).is_ok());
        if let Some(buf) = bufs.pop() {
            let mut head = buf;
            if let Some(next) = bufs.pop() {
                match head.set_next(next) {
                    Ok(before) => assert!(before.is_none()),
                    Err(error) => panic!("{error}"),
                }
            }
            locs.push((head[0], head.len(), head.into_loc()));
        }
        for buf in &bufs {
            expect_owner(buf, buf[0]);
        }
        for (number, len, loc) in &locs {
            let buf = arena.resolve(*loc).unwrap();
            assert_eq!(buf.len(), *len);
            expect_owner(&buf, *number);
        }
        if round == 0 {
            bufs.truncate(2);
            unless_it_panics(|| arena.shrink_to_fit());
        }
    }
    for (_, _, loc) in locs.drain(..1.min(locs.len())) {
        assert!(arena.release(loc).unwrap());
    }
}

#[test]
fn each_request_may_be_refused_or_panic() {
    for fault in [Fault::Refuse, Fault::Panic] {
        for goes_on in [false, true] {
            for limit in [usize::MAX, 3000] {
                let reaches = |left| {
                    let source = Counted::new();
                    let is_reached = with_fault(left, fault, goes_on, || {
                        let builder = builder(&source).max_bytes(limit);
                        if let Some(Ok(arena)) = unless_it_panics(|| builder.try_build()) {
                            use_all(&arena);
                        }
                    });
                    source.expect_all_back();
                    is_reached
                };
                let requests = amount(0..usize::MAX, 3..4);
                let reached = requests.take_while(|&left| reaches(left)).count();
                assert!(reached >= amount(8, 1), "{reached}");
            }
        }
    }
}

#[test]
fn a_refused_request_loses_nothing_and_succeeds_later() {
    let source = Counted::new();
    let arena = builder(&source).build();
    let mut bufs = Vec::new();
    let mut failures = 0;
    for number in 0..amount(100, 8) {
        let size = [60, 1000][usize::from(number) % 2];
        for left in 0.. {
            let mut result = None;
            let before = arena.stats().in_use();
            with_fault(left, Fault::Refuse, true, || {
                result = Some(arena.try_copy(&vec![number; size]));
            });
            match result.unwrap() {
                Ok(buf) => {
                    bufs.push(buf);
                    break;
                }
                Err(error) => assert!(matches!(error, RequestError::Memory(_))),
            }
            assert_eq!(arena.stats().in_use(), before);
            assert_eq!(arena.memory().bytes(), source.bytes());
            failures += 1;
        }
    }
    assert!(failures >= bufs.len() / 2);
    bufs.iter().for_each(|buf| expect_owner(buf, buf[0]));
    drop((bufs, arena));
    source.expect_all_back();
}

#[test]
fn an_arena_has_only_memory_of_its_source() {
    let source = Counted::new();
    let arena = builder(&source).build();
    assert_eq!(arena.memory().bytes(), source.bytes());
    let bufs: Vec<Buf> = (0..50).map(|number| owned_by(&arena, number, 64)).collect();
    assert_eq!(arena.memory().bytes(), source.bytes());
    assert!(arena.stats().chunk_bytes as usize <= source.bytes());
    drop((bufs, arena));
    source.expect_all_back();
}

#[test]
fn a_ring_whose_memory_is_refused_leaks_nothing() {
    // Serials, the home, bytes and headers, pages and banks, the hand, the entries.
    const REQUESTS: usize = 8;

    let faults = amount(2, 1);
    for fault in [Fault::Panic, Fault::Refuse].into_iter().take(faults) {
        let reaches = |left| {
            let source = Counted::new();
            let builder = Ring::builder()
                .entries(20)
                .max_len(100)
                .pages(source.pages());
            let is_reached = with_fault(left, fault, true, || {
                let built = unless_it_panics(|| builder.try_build());
                assert_eq!(matches!(built, Some(Ok(_))), left >= REQUESTS);
            });
            source.expect_all_back();
            is_reached
        };
        let reached = (0..).take_while(|&left| reaches(left)).count();
        assert_eq!(reached, REQUESTS);
    }
}

#[test]
fn a_ring_of_more_entries_than_numbers_asks_for_no_memory() {
    for builder in [
        Ring::builder().entries(usize::MAX),
        Ring::builder().in_flight(usize::MAX),
        Ring::builder().entries(1 << 24).in_flight(1),
    ] {
        let source = Counted::new();
        let builder = builder.max_len(16).pages(source.pages());
        let is_reached = with_fault(0, Fault::Refuse, true, || {
            assert!(builder.try_build().is_err());
        });
        assert!(!is_reached);
        source.expect_all_back();
    }
}

type Kept = Rc<RefCell<Vec<Buf>>>;

#[test]
fn a_source_may_use_the_arena_that_asks() {
    let hooks: [fn(&ByteArena, &Kept); 5] = [
        |arena, kept| {
            // More than a slab: the request that waits finds other memory than it asked for.
            for number in 100..109 {
                kept.borrow_mut().extend(arena.try_copy(&[number; 60]));
            }
        },
        |arena, kept| {
            kept.borrow_mut().extend(arena.try_copy(&[110; 1000]));
        },
        |arena, _| {
            arena.shrink_to_fit();
        },
        |arena, kept| {
            drop(kept.take());
            let _ = arena.prepare(60, 9);
            arena.shrink_to_fit();
        },
        |arena, kept| {
            let loc = arena.try_copy(&[111; 60]).map(Buf::into_loc);
            if let Ok(loc) = loc {
                kept.borrow_mut().extend(arena.resolve(loc));
                arena.release(loc).unwrap();
            }
        },
    ];
    let operations: [fn(&ByteArena) -> Vec<Buf>; 5] = [
        |arena| vec![owned_by(arena, 1, 60)],
        |arena| {
            let buf = |number| owned_by(arena, number, 60);
            (0..9).map(buf).collect()
        },
        |arena| {
            arena.prepare(200, 3).unwrap();
            vec![owned_by(arena, 2, 200)]
        },
        |arena| {
            drop([(); 5].map(|()| owned_by(arena, 3, 60)));
            arena.shrink_to_fit();
            Vec::new()
        },
        |arena| vec![owned_by(arena, 4, 1000), owned_by(arena, 5, 60)],
    ];
    let calls = amount(0..usize::MAX, 2..3);
    let both = amount(true, false);
    for limit in [usize::MAX, 8000] {
        for operation in operations.into_iter().step_by(amount(1, 3)) {
            for (number, hook) in hooks.into_iter().enumerate() {
                // On each run under Miri each hook with one of the limits.
                if !both && (number % 2 == 0) == (limit == usize::MAX) {
                    continue;
                }
                for calls in calls.clone() {
                    let source = Counted::new();
                    let arena = Rc::new(builder(&source).max_bytes(limit).build());
                    let kept = Kept::default();
                    let run = {
                        let (arena, kept) = (arena.clone(), kept.clone());
                        Rc::new(move || hook(&arena, &kept))
                    };
                    let is_run = with_hook(calls, run, || {
                        let bufs = operation(&arena);
                        bufs.iter().for_each(|buf| expect_owner(buf, buf[0]));
                    });
                    kept.borrow()
                        .iter()
                        .for_each(|buf| expect_owner(buf, buf[0]));
                    assert_eq!(arena.stats().in_use(), kept.borrow().len());
                    assert_eq!(arena.memory().bytes(), source.bytes());
                    drop((kept, arena));
                    source.expect_all_back();
                    if is_run.is_none() {
                        break;
                    }
                }
            }
        }
    }
}

/// The room that is made for a chunk's numbers may be taken by what is added when the class then
/// asks for a wide hand.
#[test]
fn a_source_may_add_chunks_while_one_with_a_wide_hand_is_added() {
    for calls in 0.. {
        let source = Counted::new();
        let builder = ByteArena::builder().smallest(64).chunk_bytes(100 * 64);
        let arena = Rc::new(builder.pages(source.pages()).build());
        let kept = Kept::default();
        let run = {
            let (arena, kept) = (arena.clone(), kept.clone());
            Rc::new(move || {
                for (number, size) in [(1, 100), (2, 200), (3, 500), (4, 1000)] {
                    kept.borrow_mut()
                        .extend(arena.try_copy(&vec![number; size]));
                }
            })
        };
        let is_run = with_hook(calls, run, || {
            let buf = owned_by(&arena, 5, 10);
            expect_owner(&buf, 5);
        });
        kept.borrow()
            .iter()
            .for_each(|buf| expect_owner(buf, buf[0]));
        assert_eq!(arena.stats().in_use(), kept.borrow().len());
        drop((kept, arena));
        source.expect_all_back();
        if is_run.is_none() {
            assert!(calls > 4, "bytes, headers, room for numbers, the hand");
            break;
        }
    }
}

#[test]
fn a_chain_is_given_back_to_each_source() {
    let sources = [Counted::new(), Counted::new()];
    let [one, other] = sources.each_ref().map(|source| builder(source).build());
    let mut tail = owned_by(&other, 2, 100);
    tail.set_next(owned_by(&one, 3, 100)).unwrap();
    let mut head = owned_by(&one, 1, 100);
    head.set_next(tail).unwrap();
    let _loc = head.clone().into_loc();
    drop((one, other));
    assert!(sources.iter().all(|source| source.bytes() > 0));
    drop(head);
    sources.into_iter().for_each(Counted::expect_all_back);
}
