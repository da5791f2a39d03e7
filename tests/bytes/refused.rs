//! Memory that the source refuses, although the arena has it: of chunks that no buffer uses.

use std::sync::Arc;

use flatslab::Builder;
use flatslab::bytes::{BufMut, ByteArena, References};
use flatslab::memory::{Pages, Region};

use crate::common::amount;
use crate::source::{Counted, Fault, with_fault};

fn region(bytes: usize) -> Arc<Region> {
    Arc::new(Region::try_new(bytes, Pages::new()).unwrap())
}

/// As many buffers as an arena has, but at most `most`.
fn fill<R: References>(arena: &ByteArena<R>, size: usize, most: usize) -> Vec<BufMut<R>> {
    let bufs = std::iter::from_fn(|| arena.try_alloc(size).ok());
    bufs.take(most).collect()
}

/// Larger ones were refused for good, with half of the region free.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_of_one_class_that_came_and_went_leave_room_for_larger_ones() {
    let builder = || {
        let builder = ByteArena::builder().chunk_bytes(1024);
        builder.largest(48 << 10).pages(region(96 << 10).pages())
    };
    fn serves<R: References>(arena: &ByteArena<R>) {
        let sizes = [48 << 10, 100, 48 << 10, 1000, 20_000, 64, 48 << 10];
        for &size in &sizes[..amount(7, 3)] {
            drop(fill(arena, size, usize::MAX));
            // 1 + a 64th of 40 chunks of the smallest class.
            let larger = [(); 2].map(|()| arena.try_alloc(48 << 10).is_ok());
            assert!(larger.contains(&true), "after buffers of {size}");
        }
    }
    serves(&builder().build());
    serves(&builder().atomic().build());
}

/// The last idle chunk stayed in the middle of the region.
#[test]
fn no_idle_chunk_stays_in_the_middle() {
    let region = region(64 << 10);
    let builder = ByteArena::builder().chunk_bytes(512).largest(32 << 10);
    let arena = builder.pages(region.pages()).build();
    drop(arena.alloc(30_000));
    for &middle in &[0, 10, 20][..amount(3, 1)] {
        let mut bufs = fill(&arena, 500, usize::MAX);
        // It is dropped first, and so it is the last on the list of idle chunks.
        drop(bufs.remove(middle));
        drop(bufs);
        assert!(arena.try_alloc(30_000).is_ok());
    }
}

/// Holes in the region had a few bytes too few for a chunk of another class.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chunk_of_a_class_fits_where_one_of_another_class_was() {
    let arena = ByteArena::builder().growth(1.3).chunk_bytes(5000);
    let arena = arena.largest(4000).build();
    let sizes: Vec<_> = arena.stats().classes().iter().map(|it| it.size).collect();
    for size in sizes {
        let before = arena.stats().chunk_bytes as usize;
        let buf = arena.alloc(size);
        let added = arena.stats().chunk_bytes as usize - before;
        let headers = 64 * (1 + 5000 / size);
        assert_eq!(added, 5000 + headers, "{size}");
        drop(buf);
    }
}

/// A smaller chunk was tried at a limit alone.
#[test]
fn a_source_that_refuses_a_chunk_is_asked_for_a_smaller_one() {
    let all = [48 << 10, 100 << 10, 400 << 10];
    for &bytes in &all[..amount(3, 1)] {
        let region = region(bytes);
        let arena = ByteArena::builder().pages(region.pages()).build();
        for &size in &[64, 1500, 64][..amount(3, 1)] {
            let bufs = fill(&arena, size, usize::MAX);
            // A quarter of what is left beside the arena itself, which is tens of kilobytes.
            let used: usize = bufs.iter().map(|buf| buf.capacity() + 64).sum();
            assert!(used > (bytes - (32 << 10)) / 8, "{size}: {used} of {bytes}");
        }
    }
}

/// It served one buffer where it had room for a hundred.
#[test]
fn a_chunk_that_is_taken_over_has_headers_for_its_new_class() {
    let builder = || ByteArena::builder().chunk_bytes(8192).largest(8192);
    let count = 8192 / 64;
    // The bytes of a chunk, and headers for either class.
    let limit = 8192 + 64 + count * 64;
    let limited = builder().max_bytes(limit).build();
    let region = region(24 << 10);
    let refused = builder().pages(region.pages()).build();
    for (arena, least) in [(&limited, count), (&refused, count / 4)] {
        drop(fill(arena, 8192, usize::MAX));
        let bufs = fill(arena, 64, usize::MAX);
        assert!(bufs.len() >= least, "{}", bufs.len());
        let class = arena.stats().classes()[0];
        assert!(class.buffers / class.chunks >= least / 4);
    }
}

/// The headers of its former class took half of the limit.
#[test]
fn a_chunk_that_is_taken_over_gives_the_headers_of_its_former_class_back() {
    let limit = 2 * (8192 + 64 + 128 * 64);
    let arena = ByteArena::builder().chunk_bytes(8192).largest(8192);
    let arena = arena.max_bytes(limit).build();
    drop(fill(&arena, 64, usize::MAX));
    assert_eq!(arena.stats().chunk_bytes as usize, limit);
    let bufs = fill(&arena, 8192, usize::MAX);
    // Instead of two.
    assert_eq!(bufs.len(), 3);
    assert!(arena.stats().chunk_bytes as usize <= 4 * (8192 + 128));
}

/// A request looks for memory in rounds, and each of them freed 64 chunks.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_refused_request_frees_a_bounded_number_of_chunks() {
    fn frees_64<R: References>(builder: &Builder<ByteArena<R>>) {
        let source = Counted::new();
        let arena = builder.clone().pages(source.pages()).build();
        let bufs: Vec<_> = (0..amount(2000, 300))
            .map(|_| arena.copy(&[1; 60]))
            .collect();
        drop(bufs);
        // No statistics before: they reclaim what was returned.
        let reached = with_fault(0, Fault::Refuse, true, || {
            assert!(arena.try_alloc(1 << 19).is_err());
        });
        assert!(reached);
        assert_eq!(arena.stats().freed_chunks, 64);
    }
    let builder = ByteArena::builder().chunk_bytes(64).smallest(64);
    let builder = builder.growth(2.0).largest(1 << 20);
    frees_64(&builder);
    frees_64(&builder.atomic());
}

/// It built, and served nothing.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_arena_without_options_serves_from_a_region_that_is_smaller_than_a_chunk() {
    fn serves<R: References>(builder: &Builder<ByteArena<R>>) {
        let all = [64 << 10, 200 << 10, 900 << 10];
        for &bytes in &all[..amount(3, 1)] {
            let region = region(bytes);
            let arena = builder.clone().pages(region.pages()).build();
            let sizes: Vec<_> = arena.stats().classes().iter().map(|it| it.size).collect();
            let room = region.free_bytes() - 4096 - 1024;
            for size in sizes.into_iter().filter(|size| size + 128 <= room) {
                assert!(arena.try_alloc(size).is_ok(), "{size} of {bytes}");
            }
        }
    }
    serves(&ByteArena::builder());
    serves(&ByteArena::builder().atomic());
}

/// A source that refuses for good costs a request no more than a few calls, and no chunk that
/// serves it.
#[test]
fn chunks_that_are_in_use_stay_where_the_source_refuses() {
    let region = region(64 << 10);
    let arena = ByteArena::builder().chunk_bytes(512).largest(16 << 10);
    let arena = arena.pages(region.pages()).build();
    let mut bufs = fill(&arena, 60, usize::MAX);
    for buf in &mut bufs {
        buf.extend_from_slice(&[7; 60]).unwrap();
    }
    // One of each chunk stays.
    let kept: Vec<_> = bufs.into_iter().step_by(8).collect();
    for size in [16 << 10, 500, 128] {
        assert!(arena.try_alloc(size).is_err(), "{size}");
    }
    assert!(kept.iter().all(|buf| **buf == [7; 60]));
    assert_eq!(arena.stats().in_use(), kept.len());
    drop(kept);
    assert!((0..3).any(|_| arena.try_alloc(16 << 10).is_ok()));
}
