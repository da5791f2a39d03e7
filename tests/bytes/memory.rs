//! Chunks: prepared, given back, limited.

use flatslab::AllocError;
use flatslab::bytes::{Buf, ByteArena, RequestError};

use crate::common::amount;
use crate::source::Counted;
use crate::{expect_owner, owned_by, shrunk, small};

#[test]
fn what_is_reserved_needs_no_memory_afterwards() {
    let source = Counted::new();
    let builder = ByteArena::builder().chunk_bytes(1000).pages(source.pages());
    let arena = builder.build();
    let many = amount(30, 11);
    for (size, count) in [(100, many), (64, 0), (1, 1), (1000, 3), (0, many)] {
        arena.prepare(size, count).unwrap();
        let (mallocs, bytes) = (arena.stats().mallocs, source.bytes());
        let bufs: Vec<Buf> = (0..count).map(|_| owned_by(&arena, 7, size)).collect();
        assert_eq!((arena.stats().mallocs, source.bytes()), (mallocs, bytes));
        // What is in use does not count: as many besides.
        arena.prepare(size, count).unwrap();
        let mallocs = arena.stats().mallocs;
        let more: Vec<Buf> = (0..count).map(|_| owned_by(&arena, 8, size)).collect();
        assert_eq!(arena.stats().mallocs, mallocs);
        bufs.iter().for_each(|buf| expect_owner(buf, 7));
        drop((bufs, more));
        // There are enough now.
        arena.prepare(size, count).unwrap();
        assert_eq!(arena.stats().mallocs, mallocs);
    }
    let built = ByteArena::builder().prepare(100, 50).build();
    assert_eq!(built.stats().mallocs, 1);
    assert!(built.stats().classes()[1].free >= 50);
}

#[test]
fn a_reserve_past_the_limit_keeps_what_it_got() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(256)
        .max_bytes(1300);
    let arena = arena.build();
    // A slab of four chunks has 256 bytes, a record and four headers.
    let error = arena.prepare(64, 9).unwrap_err();
    assert!(matches!(
        error,
        RequestError::Memory(AllocError::Limit { .. })
    ));
    let class = arena.stats().classes()[0];
    assert_eq!((class.chunks, class.buffers, class.free), (2, 8, 8));
    let bufs: Vec<Buf> = (0..8).map(|number| owned_by(&arena, number, 64)).collect();
    assert!(arena.try_alloc(64).is_err());
    assert!(bufs.iter().zip(0..).all(|(buf, number)| buf[0] == number));
}

#[test]
fn building_with_more_than_the_limit_reserved_fails() {
    let builder = || {
        ByteArena::builder()
            .smallest(64)
            .chunk_bytes(256)
            .max_bytes(1300)
    };
    assert!(builder().prepare(64, 8).try_build().is_ok());
    assert!(builder().prepare(64, 9).try_build().is_err());
    assert!(builder().prepare(257, 1).try_build().is_err());
}

/// Drops every buffer but one in `keep`.
fn thin_out(bufs: &mut Vec<Buf>, keep: usize) {
    let mut index = 0;
    bufs.retain(|_| {
        index += 1;
        index % keep == 1
    });
}

#[test]
fn a_shrink_gives_back_what_is_not_in_use() {
    let source = Counted::new();
    let builder = ByteArena::builder().chunk_bytes(512).pages(source.pages());
    let arena = builder.build();
    let count = amount(200, 16);
    let mut bufs: Vec<Buf> = (0..count)
        .map(|number| owned_by(&arena, number as u8, [20, 100, 500][number % 3]))
        .collect();
    let chunks = || -> usize { arena.stats().classes().iter().map(|it| it.chunks).sum() };
    for keep in [17, 3, usize::MAX] {
        thin_out(&mut bufs, keep);
        let before = (source.bytes(), arena.stats().chunk_bytes, chunks());
        let freed = shrunk(&arena);
        assert_eq!(before.2 - chunks(), freed as usize);
        assert!(freed > 0 && arena.stats().chunk_bytes < before.1);
        assert!(before.0 - source.bytes() >= (before.1 - arena.stats().chunk_bytes) as usize);
        assert_eq!(arena.memory().bytes(), source.bytes());
        for buf in &bufs {
            expect_owner(buf, buf[0]);
        }
        assert_eq!(arena.stats().in_use(), bufs.len());
        // A second one finds nothing.
        assert_eq!(shrunk(&arena), 0);
        // And the arena works.
        let numbers = 0..amount(60, 12);
        let more: Vec<Buf> = numbers.map(|number| owned_by(&arena, number, 90)).collect();
        more.iter().for_each(|buf| expect_owner(buf, buf[0]));
    }
    bufs.clear();
    arena.shrink_to_fit();
    assert_eq!(arena.stats().chunk_bytes, 0);
    assert_eq!(shrunk(&arena), 0);
    drop(arena);
    source.expect_all_back();
}

#[test]
fn a_slab_with_one_reference_of_any_kind_stays() {
    let arena = small(64);
    let filled = arena.try_alloc(60).unwrap();
    let loc = owned_by(&arena, 1, 60).into_loc();
    let mut head = owned_by(&arena, 2, 60);
    head.set_next(owned_by(&arena, 3, 60)).unwrap();
    let slice = owned_by(&arena, 4, 60).slice(..0);
    assert_eq!(shrunk(&arena), 0);
    drop(filled);
    assert_eq!(shrunk(&arena), 1);
    expect_owner(&arena.resolve(loc).unwrap(), 1);
    arena.release(loc).unwrap();
    assert_eq!(shrunk(&arena), 1);
    assert_eq!(head.chain_len(), 120);
    drop(head);
    assert_eq!(shrunk(&arena), 2);
    drop(slice);
    assert_eq!(shrunk(&arena), 1);
    assert_eq!(shrunk(&arena), 0);
}

#[test]
fn slabs_whose_chunks_were_never_made_are_given_back_too() {
    let arena = ByteArena::builder().smallest(16).chunk_bytes(4096).build();
    // 256 chunks, of which a few are made.
    drop(owned_by(&arena, 1, 16));
    assert_eq!(shrunk(&arena), 1);
    let kept = owned_by(&arena, 2, 16);
    assert_eq!(shrunk(&arena), 0);
    let bufs: Vec<Buf> = (0..255).map(|_| owned_by(&arena, 3, 16)).collect();
    assert_eq!(arena.stats().classes()[0].chunks, 1);
    expect_owner(&kept, 2);
    bufs.iter().for_each(|buf| expect_owner(buf, 3));
}

#[test]
fn the_limit_is_not_passed() {
    for limit in [200, 700, 1500, 5000] {
        let source = Counted::new();
        let builder = ByteArena::builder()
            .smallest(64)
            .chunk_bytes(512)
            .largest(64)
            .max_bytes(limit);
        let arena = builder.pages(source.pages()).build();
        let mut bufs = Vec::new();
        let error = loop {
            match arena.try_copy(&[7; 60]) {
                Ok(buf) => bufs.push(buf),
                Err(error) => break error,
            }
            assert!(arena.stats().chunk_bytes as usize <= limit);
        };
        assert!(matches!(
            error,
            RequestError::Memory(AllocError::Limit { .. })
        ));
        assert!(std::error::Error::source(&error).is_some());
        // 512 bytes, a record and 8 headers; the last one has fewer.
        let chunk = 512 + 64 + 8 * 64;
        let last = (limit % chunk).saturating_sub(64) / 128;
        assert_eq!(bufs.len(), limit / chunk * 8 + last);
        bufs.iter().for_each(|buf| expect_owner(buf, 7));
        bufs.pop();
        assert!(arena.try_alloc(60).is_ok());
    }
}

#[test]
fn a_reserve_does_not_give_back_what_it_has_made() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(256)
        .largest(1024);
    let arena = arena.max_bytes(3000).build();
    assert!(arena.prepare(1024, 3).is_err());
    let stats = arena.stats();
    assert_eq!((stats.classes()[4].chunks, stats.freed_chunks), (2, 0));
}

#[test]
fn a_request_at_the_limit_takes_a_larger_buffer() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(1024)
        .largest(512);
    let arena = arena.max_bytes(1024 + 3 * 64).build();
    let kept = owned_by(&arena, 1, 500);
    let small = owned_by(&arena, 2, 60);
    let in_use: Vec<usize> = (arena.stats().classes().iter())
        .map(|class| class.in_use)
        .collect();
    assert_eq!(in_use, [0, 0, 0, 2]);
    assert!(arena.try_alloc(60).is_err() && arena.try_alloc(500).is_err());
    expect_owner(&kept, 1);
    expect_owner(&small, 2);
    drop(small);
    expect_owner(&owned_by(&arena, 3, 500), 3);
}

#[test]
fn a_request_that_the_source_refuses_takes_a_larger_buffer() {
    use crate::source::{Fault, with_fault};
    let source = Counted::new();
    let arena = ByteArena::builder().chunk_bytes(1024).pages(source.pages());
    let arena = arena.build();
    let kept = owned_by(&arena, 9, 500);
    let is_reached = with_fault(0, Fault::Refuse, true, || {
        expect_owner(&arena.try_copy(&[3; 200]).unwrap(), 3);
        // It was asked for a chunk, and for one of a buffer.
        assert_eq!(arena.stats().malloc_errs, 2);
        assert!(arena.try_alloc(1024).is_err());
    });
    assert!(is_reached);
    expect_owner(&kept, 9);
    drop((kept, arena));
    source.expect_all_back();
}

/// It asked for memory, and touched it, until there was none.
#[test]
fn a_reserve_past_all_numbers_asks_for_nothing() {
    use crate::source::{Fault, with_fault};
    for count in [(1 << 24) + 1, isize::MAX as usize, usize::MAX] {
        let source = Counted::new();
        let arena = ByteArena::builder().chunk_bytes(4096).pages(source.pages());
        let arena = arena.build();
        let is_reached = with_fault(0, Fault::Refuse, true, || {
            assert!(matches!(
                arena.prepare(64, count),
                Err(RequestError::Memory(AllocError::TooManySlots { .. }))
            ));
        });
        assert!(!is_reached, "{count}");
    }
}
