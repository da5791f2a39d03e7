//! Slabs: reserved, given back, moved from class to class, limited.

use flatslab::AllocError;
use flatslab::bytes::{Buf, ByteArena, ByteArenaBuilder, RequestError};

use crate::common::amount;
use crate::source::Counted;
use crate::{expect_owner, owned_by, small};

#[test]
fn what_is_reserved_needs_no_memory_afterwards() {
    let source = Counted::new();
    let builder = ByteArena::builder().slab_size(1000).pages(source.pages());
    let arena = builder.build();
    let many = amount(30, 30, 11);
    for (size, count) in [(100, many), (64, 0), (1, 1), (1000, 3), (0, many)] {
        arena.reserve(size, count).unwrap();
        let (mallocs, bytes) = (arena.stats().mallocs, source.bytes());
        let bufs: Vec<Buf> = (0..count).map(|_| owned_by(&arena, 7, size)).collect();
        assert_eq!((arena.stats().mallocs, source.bytes()), (mallocs, bytes));
        // What is in use does not count: as many besides.
        arena.reserve(size, count).unwrap();
        let mallocs = arena.stats().mallocs;
        let more: Vec<Buf> = (0..count).map(|_| owned_by(&arena, 8, size)).collect();
        assert_eq!(arena.stats().mallocs, mallocs);
        bufs.iter().for_each(|buf| expect_owner(buf, 7));
        drop((bufs, more));
        // There are enough now.
        arena.reserve(size, count).unwrap();
        assert_eq!(arena.stats().mallocs, mallocs);
    }
    let built = ByteArena::builder().reserve(100, 50).build();
    assert_eq!(built.stats().mallocs, 1);
    assert!(built.stats().classes()[1].free >= 50);
}

#[test]
fn a_reserve_past_the_limit_keeps_what_it_got() {
    let arena = ByteArena::builder()
        .start(64)
        .slab_size(256)
        .max_bytes(1300);
    let arena = arena.build();
    // A slab of four chunks has 256 bytes, a record and four headers.
    let error = arena.reserve(64, 9).unwrap_err();
    assert!(matches!(
        error,
        RequestError::Exhausted(AllocError::Limit { .. })
    ));
    let class = arena.stats().classes()[0];
    assert_eq!((class.slabs, class.chunks, class.free), (2, 8, 8));
    let bufs: Vec<Buf> = (0..8).map(|number| owned_by(&arena, number, 64)).collect();
    assert!(arena.alloc(64).is_err());
    assert!(bufs.iter().zip(0..).all(|(buf, number)| buf[0] == number));
}

#[test]
fn building_with_more_than_the_limit_reserved_fails() {
    let builder = || {
        ByteArena::builder()
            .start(64)
            .slab_size(256)
            .max_bytes(1300)
    };
    assert!(builder().reserve(64, 8).try_build().is_ok());
    assert!(builder().reserve(64, 9).try_build().is_err());
    assert!(builder().reserve(257, 1).try_build().is_err());
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
fn trim_gives_back_what_it_says_and_nothing_in_use() {
    let source = Counted::new();
    let builder = ByteArena::builder().slab_size(512).pages(source.pages());
    let arena = builder.build();
    let count = amount(200, 100, 16);
    let mut bufs: Vec<Buf> = (0..count)
        .map(|number| owned_by(&arena, number as u8, [20, 100, 500][number % 3]))
        .collect();
    let bytes_of = |arena: &ByteArena| (arena.memory().bytes(), arena.stats().slab_bytes as usize);
    for keep in [17, 3, usize::MAX] {
        thin_out(&mut bufs, keep);
        let before = (source.bytes(), bytes_of(&arena));
        let slabs_before: usize = arena.stats().classes().iter().map(|it| it.slabs).sum();
        let counted = arena.stats().trimmed_slabs;
        let trimmed = arena.trim();
        let after = (source.bytes(), bytes_of(&arena));
        let slabs: usize = arena.stats().classes().iter().map(|it| it.slabs).sum();
        assert_eq!(before.0 - after.0, trimmed.bytes);
        assert_eq!(before.1.0 - after.1.0, trimmed.bytes);
        assert_eq!(slabs_before - slabs, trimmed.slabs);
        assert_eq!(arena.stats().trimmed_slabs - counted, trimmed.slabs as u64);
        assert!(before.1.1 - after.1.1 <= trimmed.bytes);
        assert_eq!(arena.memory().bytes(), source.bytes());
        assert!(trimmed.slabs > 0);
        for buf in &bufs {
            expect_owner(buf, buf[0]);
        }
        assert_eq!(arena.stats().in_use(), bufs.len());
        // A second one finds nothing.
        assert_eq!(arena.trim(), flatslab::bytes::Trimmed::default());
        // And the arena works.
        let numbers = 0..amount(60, 60, 12);
        let more: Vec<Buf> = numbers.map(|number| owned_by(&arena, number, 90)).collect();
        more.iter().for_each(|buf| expect_owner(buf, buf[0]));
    }
    bufs.clear();
    arena.trim();
    assert_eq!(arena.stats().slab_bytes, 0);
    let trimmed = arena.trim();
    assert_eq!((trimmed.slabs, trimmed.bytes), (0, 0));
    drop(arena);
    source.expect_all_back();
}

#[test]
fn a_slab_with_one_reference_of_any_kind_stays() {
    let arena = small(64);
    let filled = arena.alloc(60).unwrap();
    let loc = owned_by(&arena, 1, 60).into_loc();
    let mut head = owned_by(&arena, 2, 60);
    head.set_next(owned_by(&arena, 3, 60)).unwrap();
    let slice = owned_by(&arena, 4, 60).slice(..0);
    assert_eq!(arena.trim().slabs, 0);
    drop(filled);
    assert_eq!(arena.trim().slabs, 1);
    expect_owner(&arena.resolve(loc).unwrap(), 1);
    arena.release(loc).unwrap();
    assert_eq!(arena.trim().slabs, 1);
    assert_eq!(head.chain_len(), 120);
    drop(head);
    assert_eq!(arena.trim().slabs, 2);
    drop(slice);
    assert_eq!(arena.trim().slabs, 1);
    assert_eq!(arena.trim().slabs, 0);
}

#[test]
fn slabs_whose_chunks_were_never_made_are_given_back_too() {
    let arena = ByteArena::builder().start(16).slab_size(4096).build();
    // 256 chunks, of which a few are made.
    drop(owned_by(&arena, 1, 16));
    assert_eq!(arena.trim().slabs, 1);
    let kept = owned_by(&arena, 2, 16);
    assert_eq!(arena.trim().slabs, 0);
    let bufs: Vec<Buf> = (0..255).map(|_| owned_by(&arena, 3, 16)).collect();
    assert_eq!(arena.stats().classes()[0].slabs, 1);
    expect_owner(&kept, 2);
    bufs.iter().for_each(|buf| expect_owner(buf, 3));
}

#[test]
fn the_limit_is_not_passed() {
    for limit in [0, 100, 1000, 5000] {
        let source = Counted::new();
        let builder = ByteArena::builder()
            .start(64)
            .slab_size(512)
            .max_bytes(limit);
        let arena = builder.pages(source.pages()).build();
        let mut bufs = Vec::new();
        let error = loop {
            match arena.copy(&[7; 60]) {
                Ok(buf) => bufs.push(buf),
                Err(error) => break error,
            }
            assert!(arena.stats().slab_bytes as usize <= limit);
        };
        assert!(matches!(
            error,
            RequestError::Exhausted(AllocError::Limit { .. })
        ));
        assert!(std::error::Error::source(&error).is_some());
        // 512 bytes, a record and 8 headers.
        assert_eq!(bufs.len(), limit / (512 + 64 + 8 * 64) * 8);
        bufs.iter().for_each(|buf| expect_owner(buf, 7));
        if bufs.pop().is_some() {
            assert!(arena.alloc(60).is_ok());
        }
    }
}

/// An arena of one slab of 1024 bytes with its headers, but not of two.
fn for_one_slab() -> ByteArenaBuilder {
    ByteArena::builder()
        .start(64)
        .slab_size(1024)
        .max_bytes(2300)
}

#[test]
fn a_slab_that_is_not_in_use_moves_to_larger_chunks() {
    let arena = for_one_slab().build();
    let small: Vec<Buf> = (0..16).map(|number| owned_by(&arena, number, 64)).collect();
    assert!(arena.alloc(512).is_err(), "in use");
    assert_eq!(arena.stats().moved_slabs, 0);
    small.iter().for_each(|buf| expect_owner(buf, buf[0]));
    drop(small);
    let large = [1, 2].map(|number| owned_by(&arena, number, 512));
    let stats = arena.stats();
    assert_eq!((stats.moved_slabs, stats.mallocs), (1, 1));
    assert_eq!(
        (stats.classes()[0].slabs, stats.classes()[0].chunks),
        (0, 0)
    );
    assert_eq!(
        (stats.classes()[3].slabs, stats.classes()[3].chunks),
        (1, 2)
    );
    assert!(arena.alloc(512).is_err() && arena.alloc(64).is_err());
    large.iter().for_each(|buf| expect_owner(buf, buf[0]));
}

#[test]
fn a_slab_that_is_not_in_use_moves_to_smaller_chunks() {
    let arena = for_one_slab().build();
    drop(owned_by(&arena, 1, 512));
    // More chunks: it needs a larger block of headers.
    let small: Vec<Buf> = (0..16).map(|number| owned_by(&arena, number, 64)).collect();
    let stats = arena.stats();
    assert_eq!((stats.moved_slabs, stats.classes()[0].chunks), (1, 16));
    assert!(stats.slab_bytes <= 2300);
    assert!(arena.alloc(64).is_err() && arena.alloc(512).is_err());
    small.iter().for_each(|buf| expect_owner(buf, buf[0]));
    drop(small);
    // And back, again and again.
    for round in 0..20 {
        let size = [512, 64, 1024, 256][round % 4];
        expect_owner(&owned_by(&arena, round as u8, size), round as u8);
    }
    assert_eq!(arena.stats().moved_slabs, 21);
    assert_eq!(arena.stats().mallocs, 1);
}

#[test]
fn slabs_that_are_too_small_to_move_make_way() {
    let arena = ByteArena::builder().start(64).slab_size(256).largest(1024);
    let arena = arena.max_bytes(1300).build();
    let small: Vec<Buf> = (0..8).map(|number| owned_by(&arena, number, 64)).collect();
    assert!(arena.alloc(1024).is_err());
    drop(small);
    assert!(arena.alloc(1024).is_ok());
    let stats = arena.stats();
    assert_eq!((stats.moved_slabs, stats.trimmed_slabs), (0, 2));
}

#[test]
fn a_reserve_does_not_give_back_what_it_has_made() {
    let arena = ByteArena::builder().start(64).slab_size(256).largest(1024);
    let arena = arena.max_bytes(3000).build();
    assert!(arena.reserve(1024, 3).is_err());
    let stats = arena.stats();
    assert_eq!((stats.classes()[4].slabs, stats.trimmed_slabs), (2, 0));
}

#[test]
fn a_request_at_the_limit_takes_a_larger_chunk() {
    let arena = ByteArena::builder().start(64).slab_size(1024).largest(512);
    let arena = arena.max_bytes(1024 + 4 * 128).build();
    let kept = owned_by(&arena, 1, 500);
    let small = owned_by(&arena, 2, 60);
    let in_use: Vec<usize> = (arena.stats().classes().iter())
        .map(|class| class.in_use)
        .collect();
    assert_eq!(in_use, [0, 0, 0, 2]);
    assert!(arena.alloc(60).is_err() && arena.alloc(500).is_err());
    expect_owner(&kept, 1);
    expect_owner(&small, 2);
    drop(small);
    expect_owner(&owned_by(&arena, 3, 500), 3);
}

#[test]
fn slabs_move_where_the_source_refuses() {
    use crate::source::{Fault, with_fault};
    let source = Counted::new();
    let arena = ByteArena::builder().slab_size(1024).pages(source.pages());
    let arena = arena.build();
    let kept = owned_by(&arena, 9, 100);
    drop(owned_by(&arena, 1, 200));
    // Of 64 bytes it would need more headers, of 512 not; but a free stack.
    arena.reserve(512, 1).unwrap();
    let bufs = [1, 2].map(|number| owned_by(&arena, number, 512));
    let is_reached = with_fault(0, Fault::Refuse, false, || {
        let buf = arena.copy(&[3; 512]).unwrap();
        expect_owner(&buf, 3);
        assert_eq!(arena.stats().moved_slabs, 1);
        assert_eq!(arena.stats().malloc_errs, 1);
    });
    assert!(is_reached);
    bufs.iter().for_each(|buf| expect_owner(buf, buf[0]));
    expect_owner(&kept, 9);
    drop((bufs, kept, arena));
    source.expect_all_back();
}

/// A request that found one slab to be taken, too large for the limit with the headers of
/// small chunks, was refused, and succeeded when it was made again.
#[test]
fn a_request_is_not_refused_where_a_slab_that_was_given_up_makes_room() {
    let builder = ByteArena::builder().start(64).slab_size(256).largest(4096);
    let arena = builder.max_bytes(4096 + 256).build();
    drop(owned_by(&arena, 1, 4096));
    // The slab of 4096 bytes would have 64 headers, of 4096 bytes together.
    let buf = arena.copy(&[2; 60]);
    assert!(buf.is_ok(), "a slab of 256 bytes has room");
}

/// It asked for memory, and touched it, until there was none.
#[test]
fn a_reserve_past_all_numbers_asks_for_nothing() {
    use crate::source::{Fault, with_fault};
    for count in [(1 << 24) + 1, isize::MAX as usize, usize::MAX] {
        let source = Counted::new();
        let arena = ByteArena::builder().slab_size(4096).pages(source.pages());
        let arena = arena.build();
        let is_reached = with_fault(0, Fault::Refuse, true, || {
            assert!(matches!(
                arena.reserve(64, count),
                Err(RequestError::Exhausted(AllocError::TooManySlots { .. }))
            ));
        });
        assert!(!is_reached, "{count}");
    }
}
