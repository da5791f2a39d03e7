//! Memory that no buffer uses: at a limit, and where the source refuses, it serves any class.

use flatslab::bytes::{Atomic, Buf, BufMut, ByteArena, References, RequestError};
use flatslab::{AllocError, BuildError};

use crate::common::amount;
use crate::source::{Counted, Fault, with_fault};
use crate::{expect_owner, owned_by};

/// As many buffers as an arena has.
fn fill<R: References>(arena: &ByteArena<R>, size: usize) -> Vec<BufMut<R>> {
    std::iter::from_fn(|| arena.try_alloc(size).ok()).collect()
}

fn free_memory_serves_any_class<R: References>(arena: &ByteArena<R>) {
    let sizes = [100, 3000, 64, 20_000, 1, 600];
    for size in sizes.into_iter().cycle().take(3 * sizes.len()) {
        let bufs = fill(arena, size);
        assert!(!bufs.is_empty(), "{size} bytes after others");
        let bytes: usize = bufs.len() * size.next_power_of_two().max(64);
        let headers = bufs.len() * 64;
        let limit = arena.stats().chunk_bytes as usize;
        assert!(bytes + headers > limit / 3, "{size}: {bytes} of {limit}");
        assert!(matches!(
            arena.try_alloc(size),
            Err(RequestError::Memory(AllocError::Limit { .. }))
        ));
        drop(bufs);
    }
}

fn limited() -> flatslab::Builder<ByteArena> {
    let (chunk, limit) = amount((64 << 10, 4 << 20), (4 << 10, 96 << 10));
    ByteArena::builder()
        .chunk_bytes(chunk)
        .largest(32 << 10)
        .max_bytes(limit)
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_arena_at_its_limit_whose_buffers_are_all_free_serves_any_class() {
    free_memory_serves_any_class(&limited().build());
}

/// Some requests were refused first.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_that_came_back_serve_the_first_request_of_any_class() {
    let arena = limited().atomic().build();
    let sizes = [100, 3000, 64, 20_000, 1, 600];
    for size in sizes.into_iter().cycle().take(2 * sizes.len()) {
        // It panics if it is refused.
        let first = arena.alloc(size);
        let bufs = fill(&arena, size);
        std::thread::spawn(move || drop((first, bufs)))
            .join()
            .unwrap();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_that_came_back_in_order_serve_the_first_request_of_another_class() {
    let (largest, limit) = amount((32 << 10, 4 << 20), (4 << 10, 16 << 10));
    let arena = limited().largest(largest).max_bytes(limit).atomic().build();
    let bufs = fill(&arena, 100);
    std::thread::spawn(move || drop(bufs)).join().unwrap();
    assert!(arena.try_alloc(3000).is_ok());
}

/// An arena with `count` full chunks of 8 buffers of 64 bytes, and no room.
fn full(builder: flatslab::Builder<ByteArena>, count: usize) -> (ByteArena, Vec<BufMut>) {
    let arena = builder.max_bytes(count * CHUNK).build();
    let bufs = fill(&arena, 64);
    assert_eq!(bufs.len(), 8 * count);
    (arena, bufs)
}

/// A chunk's bytes, its record, and 8 headers.
const CHUNK: usize = 512 + 64 + 8 * 64;

fn builder() -> flatslab::Builder<ByteArena> {
    ByteArena::builder()
        .smallest(64)
        .chunk_bytes(512)
        .largest(512)
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_one_chunk_of_which_no_buffer_is_in_use_is_found() {
    for which in 0..3 {
        let (arena, mut bufs) = full(builder(), 3);
        // All but one of each other chunk.
        let mut index = 0;
        bufs.retain(|_| {
            index += 1;
            (index - 1) % 8 == which + 2 && (index - 1) / 8 != which
        });
        assert_eq!(bufs.len(), 2);
        let large = arena.try_alloc(500).unwrap();
        assert!(arena.try_alloc(300).is_err(), "only one was free");
        assert_eq!(arena.stats().in_use(), 3);
        drop((large, bufs));
    }
}

#[test]
fn a_chunk_with_one_reference_of_any_kind_stays_its_classes() {
    let arena = builder().max_bytes(CHUNK).build();
    let refused = || assert!(arena.try_alloc(300).is_err());
    let loc = owned_by(&arena, 1, 60).into_loc();
    refused();
    let slice = arena.resolve(loc).unwrap().slice(..0);
    arena.release(loc).unwrap();
    refused();
    let mut head = owned_by(&arena, 2, 60);
    head.set_next(slice.clone()).unwrap();
    drop(slice);
    refused();
    let filled = head.try_into_mut().unwrap();
    refused();
    drop(filled);
    assert!(arena.try_alloc(300).is_ok());
}

#[test]
fn a_chunk_that_is_taken_over_makes_positions_stale() {
    let arena = builder().max_bytes(CHUNK).build();
    let locs: Vec<_> = (0..8).map(|it| owned_by(&arena, it, 60).loc()).collect();
    let large = owned_by(&arena, 9, 500);
    let again = large.loc();
    for loc in locs {
        assert!(arena.resolve(loc).is_err());
    }
    assert_eq!(arena.resolve(again).unwrap(), large);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_request_for_more_than_any_chunk_takes_the_place_of_several() {
    let builder = || {
        ByteArena::builder()
            .smallest(64)
            .chunk_bytes(512)
            .largest(4096)
    };
    let (arena, bufs) = full(builder(), 5);
    assert!(arena.try_alloc(4096).is_err());
    drop(bufs);
    let before = arena.stats().freed_chunks;
    let large = arena.try_alloc(4096).unwrap();
    // 4096 bytes, a record and a header: no more than are needed.
    assert_eq!(arena.stats().freed_chunks - before, 4);
    assert!(arena.try_alloc(64).is_ok());
    drop(large);
    // One that is not enough is not given back in vain.
    let (arena, mut bufs) = full(builder(), 5);
    bufs.truncate(16);
    let before = arena.stats();
    assert!(arena.try_alloc(4096).is_err());
    assert_eq!(arena.stats().freed_chunks, before.freed_chunks);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chunk_at_the_limit_has_as_many_buffers_as_there_is_room_for() {
    let arena = builder().max_bytes(CHUNK - 1).build();
    assert_eq!(fill(&arena, 64).len(), 7);
    let bytes = amount(1 << 20, 1 << 13);
    let arena = ByteArena::builder().chunk_bytes(bytes).max_bytes(bytes);
    let arena = arena.build();
    let bufs = fill(&arena, 64);
    assert_eq!(bufs.len(), (bytes - 64) / 128);
    assert_eq!(arena.stats().classes()[0].chunks, 1);
}

/// A source that refuses from now on.
fn refusing(f: impl FnOnce()) {
    assert!(with_fault(0, Fault::Refuse, true, f), "it is asked");
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_class_takes_over_a_chunk_where_the_source_refuses() {
    for (first, second) in [(64, 500), (500, 64), (64, 128)] {
        let source = Counted::new();
        let arena = builder().pages(source.pages()).build();
        let bufs: Vec<_> = (0..20).map(|_| owned_by(&arena, 1, first)).collect();
        let kept = bufs.last().cloned();
        refusing(|| assert!(arena.try_alloc(second).is_err() || second < first));
        drop(bufs);
        let bytes = source.bytes();
        refusing(|| {
            let buf = owned_by(&arena, 2, second);
            expect_owner(&buf, 2);
            let class = arena.stats();
            let class = class.classes().iter().find(|it| it.size >= second).unwrap();
            assert_eq!((class.chunks, class.in_use), (1, 1));
        });
        // Of a chunk of few buffers it asks for others first.
        assert!(
            source.bytes() == bytes || second < first,
            "no memory came or went"
        );
        expect_owner(&kept.unwrap(), 1);
        arena.shrink_to_fit();
        drop(arena);
        source.expect_all_back();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_source_that_refuses_is_asked_again_once_it_has_as_much_back() {
    let source = Counted::new();
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(512)
        .largest(8192);
    let arena = arena.pages(source.pages()).build();
    drop([(); 80].map(|()| owned_by(&arena, 1, 64)));
    let before = arena.stats();
    // One refusal: the first time that it is asked.
    let is_asked = with_fault(0, Fault::Refuse, false, || {
        expect_owner(&owned_by(&arena, 2, 4000), 2);
    });
    assert!(is_asked);
    let after = arena.stats();
    assert_eq!(after.freed_chunks - before.freed_chunks, 4);
    assert!(after.chunk_bytes <= before.chunk_bytes);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn how_much_memory_is_free_says_nothing_of_what_a_request_costs() {
    // As many buffers as a new one has: it is taken as it is; or as many bytes as it takes.
    for (size, freed) in [(500, 0), (4096, 4)] {
        for count in [8, amount(64, 16)] {
            let (arena, bufs) = full(builder().largest(4096), count);
            drop(bufs);
            let before = arena.stats();
            let _large = arena.try_alloc(size).unwrap();
            let after = arena.stats();
            assert_eq!(after.freed_chunks - before.freed_chunks, freed);
            assert_eq!(after.mallocs - before.mallocs, u64::from(freed > 0));
        }
    }
}

#[test]
fn what_is_given_back_is_all_that_is_idle() {
    let source = Counted::new();
    let arena: ByteArena<Atomic> = builder().atomic().pages(source.pages()).build();
    let mut bufs: Vec<Buf<Atomic>> = (0..amount(400, 40)).map(|_| arena.copy(&[7; 60])).collect();
    let mut index = 0;
    bufs.retain(|_| {
        index += 1;
        index % 20 == 0
    });
    arena.shrink_to_fit();
    let class = arena.stats().classes()[0];
    assert_eq!((class.chunks, class.in_use), (bufs.len(), bufs.len()));
    assert_eq!(arena.memory().bytes(), source.bytes());
}

/// Whether an arena, if it is built, serves requests of each size that it promises: alone, and one
/// after the other.
fn serves<R: References>(builder: &flatslab::Builder<ByteArena<R>>) -> bool {
    let build = || builder.clone().try_build();
    let arena = match build() {
        Ok(arena) => arena,
        Err(BuildError::OutOfRange { .. } | BuildError::TooManyClasses { .. }) => return false,
        Err(error) => panic!("{error}"),
    };
    let sizes: Vec<_> = (arena.stats().classes().iter()).map(|it| it.size).collect();
    for &size in sizes.iter().chain(sizes.iter().rev()).chain([&0, &1]) {
        assert!(
            arena.try_alloc(size).is_ok(),
            "{size} after others: {builder:?}"
        );
        let fresh = build().unwrap();
        assert_eq!(fresh.try_copy(&vec![7; size]).unwrap().len(), size);
    }
    true
}

/// A limit of a chunk, and of less, was accepted, and refused every request for good.
#[test]
#[cfg_attr(miri, ignore = "1,440 arenas with chunks of up to 16 MiB")]
fn an_arena_that_is_built_serves_each_size_that_it_promises() {
    let limits = [
        0,
        191,
        192,
        1000,
        4096,
        70_000,
        1 << 20,
        4 << 20,
        usize::MAX,
    ];
    let (mut built, mut refused) = (0, 0);
    for limit in limits {
        for smallest in [1, 64, 1500, 1 << 20] {
            for chunk in [
                None,
                Some(1),
                Some(4096),
                Some(1 << 20),
                Some(limit.clamp(1, 1 << 24)),
            ] {
                for largest in [None, Some(1), Some(2000), Some(1 << 20)] {
                    let mut builder = ByteArena::builder().smallest(smallest).max_bytes(limit);
                    if let Some(bytes) = chunk {
                        builder = builder.chunk_bytes(bytes);
                    }
                    if let Some(bytes) = largest {
                        builder = builder.largest(bytes);
                    }
                    let is_built = serves(&builder);
                    assert_eq!(serves(&builder.clone().atomic()), is_built);
                    built += usize::from(is_built);
                    refused += usize::from(!is_built);
                    // With a default the classes are those that the limit has room for.
                    let least = smallest.next_multiple_of(16) + 128;
                    assert!(
                        is_built || largest.is_some() || limit < least,
                        "{builder:?}"
                    );
                }
            }
        }
    }
    assert!(built > 300 && refused > 100, "{built} {refused}");
}

#[test]
fn a_limit_that_is_too_low_is_named_with_what_it_may_be() {
    let error = ByteArena::builder()
        .max_bytes(1000)
        .largest(1000)
        .try_build();
    let expected = BuildError::OutOfRange {
        option: "max_bytes",
        given: 1000,
        min: 1024 + 128,
        max: usize::MAX,
    };
    assert_eq!(error.err(), Some(expected));
}

#[test]
fn an_arena_with_a_limit_and_no_other_option_serves_several_classes_at_once() {
    let arena = ByteArena::builder().max_bytes(1 << 20).build();
    assert_eq!(arena.stats().classes().last().unwrap().size, 512 << 10);
    let bufs: Vec<_> = (6..16).map(|power| arena.alloc(1 << power)).collect();
    assert!(bufs.iter().all(|buf| buf.is_empty()));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_ring_that_is_built_takes_an_entry() {
    use flatslab::bytes::Ring;
    for entries in [0, 1, 2, amount(100, 10)] {
        for max_len in [0, 1, 16, 5000] {
            for in_flight in [0, 1, 3] {
                let builder = Ring::builder().entries(entries).max_len(max_len);
                match builder.in_flight(in_flight).try_build() {
                    Ok(mut ring) => {
                        for _ in 0..2 * entries {
                            ring.push(&vec![7; max_len]).unwrap();
                        }
                        assert_eq!(ring.pop().unwrap().len(), max_len);
                        assert!(ring.try_alloc().is_ok());
                    }
                    Err(error) => {
                        assert!(matches!(error, BuildError::OutOfRange { given: 0, .. }));
                        assert!(entries == 0 || max_len == 0);
                    }
                }
            }
        }
    }
}
