//! Random programs at a limit: no request is refused for which there is memory.

use proptest::prelude::*;

use super::steps;
use crate::bytes::arena_core::{ArenaCore, Chunk, State};
use crate::bytes::{ByteArena, References, RequestError};
use crate::common::{amount, by_speed};

/// Panics if an idle chunk, or the place of some, could serve a request that was just refused.
fn expect_no_room<R: References>(core: &ArenaCore<R>, size: usize) {
    let size = core.class_for(size).unwrap().size();
    let idle = || {
        let classes = core.classes().iter();
        classes.flat_map(|class| Chunk::list(class, State::Idle))
    };
    assert!(idle().all(|chunk| chunk.room_for(size) == 0));
    let bytes: usize = idle().map(|chunk| chunk.bytes).sum();
    let (of_one, of_none) = ArenaCore::<R>::bytes_of_one(size);
    assert!(core.bytes_left() + bytes < of_one + of_none);
    for class in core.classes().iter().filter(|class| class.size() >= size) {
        assert_eq!(class.free(), 0, "a larger buffer is free");
    }
}

fn run<R: References>(arena: &ByteArena<R>, steps: &[(u8, u16)]) {
    let mut bufs = Vec::new();
    for &(step, number) in steps {
        let number = usize::from(number);
        match step % 8 {
            0..4 => {
                let size = 1 << (number % 11);
                match arena.try_alloc(size) {
                    Ok(buf) => bufs.push(buf),
                    Err(RequestError::Memory(_)) => expect_no_room(arena.core(), size),
                    Err(error) => panic!("{error}"),
                }
            }
            4..6 if !bufs.is_empty() => drop(bufs.swap_remove(number % bufs.len())),
            6 => bufs.truncate(number % 64),
            7 if number % 16 == 0 => arena.shrink_to_fit(),
            _ => {}
        }
        arena.check();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_request_at_the_limit_is_refused_only_if_no_memory_is_free() {
    let length = 1..amount(600, 80);
    let config = ProptestConfig {
        cases: amount(by_speed(600, 200), 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<(u8, u16)>(), length);
    let limits = (2128_usize..9000, 1_usize..2000);
    proptest!(config, |(program in programs, (limit, chunk) in limits)| {
        let builder = || {
            let builder = ByteArena::builder().smallest(16).growth(2.5).largest(1024);
            builder.chunk_bytes(chunk).max_bytes(limit)
        };
        run(&builder().build(), &program);
        run(&builder().atomic().build(), &program);
    });
}

#[test]
#[cfg_attr(miri, ignore = "a quarter of a million chunks")]
fn numbers_of_idle_chunks_serve_another_class() {
    let builder = ByteArena::builder().smallest(16).growth(2.0).largest(64);
    let arena = builder.chunk_bytes(16).build();
    let bufs: Vec<_> = core::iter::from_fn(|| arena.try_alloc(16).ok()).collect();
    // Each chunk of one buffer takes a page of numbers.
    assert_eq!(bufs.len(), 1 << 18);
    assert!(arena.try_alloc(64).is_err());
    drop(bufs);
    let larger: Vec<_> = (0..1000).map(|_| arena.alloc(64)).collect();
    arena.check();
    drop(larger);
}

/// 1,024 of them were reclaimed, and the request was refused.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn all_buffers_that_came_back_are_reclaimed_before_a_request_is_refused() {
    let builder = ByteArena::builder().atomic().smallest(16).largest(1024);
    let most = if cfg!(miri) { 1 << 16 } else { 1 << 20 };
    let arena = builder.chunk_bytes(1024).max_bytes(most).build();
    let mut bufs: Vec<_> = core::iter::from_fn(|| arena.try_alloc(16).ok()).collect();
    // One of each chunk stays.
    let mut index = 0;
    let (kept, gone): (Vec<_>, Vec<_>) = bufs.drain(..).partition(|_| {
        index += 1;
        index % 64 == 1
    });
    drop(gone);
    assert!(arena.try_alloc(1024).is_err());
    assert_eq!(arena.core().classes()[0].in_use(), kept.len());
    arena.check();
    drop(kept);
    assert!(arena.try_alloc(1024).is_ok());
    arena.check();
}

/// Chunks of one buffer of 64 bytes, all idle, and no room.
fn full_of_small_chunks(chunks: usize) -> ByteArena {
    let builder = ByteArena::builder().chunk_bytes(64).largest(1 << 16);
    let arena = builder.max_bytes(chunks * 192).build();
    let bufs: Vec<_> = core::iter::from_fn(|| arena.try_alloc(64).ok()).collect();
    assert_eq!(bufs.len(), chunks);
    arena
}

/// One request freed 87,382 chunks.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_request_at_a_limit_frees_and_looks_at_a_bounded_number_of_chunks() {
    let chunks = amount(20_000, 400);
    // The memory of few chunks, and of many.
    for size in [128, 1 << 12, 1 << 16] {
        let arena = full_of_small_chunks(chunks);
        let needed = (size + 128_usize).div_ceil(192);
        let mut refusals = 0;
        loop {
            let before = arena.core().counters().freed_chunks.get();
            let mut buf = None;
            let steps = steps(|| buf = arena.try_alloc(size).ok());
            let freed = arena.core().counters().freed_chunks.get() - before;
            assert!(freed <= 64 && steps <= 256, "{size}: {freed} {steps}");
            arena.check();
            if buf.is_some() || needed > chunks {
                break;
            }
            refusals += 1;
        }
        assert!(refusals <= needed / 64, "{size}: {refusals}");
    }
}

/// The directory of 131,072 chunks was copied at once.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_chunk_that_is_added_copies_a_few_entries_of_the_directory() {
    use crate::raw::row::MOST_COPIED;
    let arena = ByteArena::builder().chunk_bytes(64).build();
    MOST_COPIED.set(0);
    let bufs: Vec<_> = (0..amount(20_000, 300)).map(|_| arena.alloc(64)).collect();
    assert!((1..=64).contains(&MOST_COPIED.get()));
    drop(bufs);
}

/// It looked at all chunks for each chunk that it added.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_reserve_looks_at_each_chunk_a_few_times() {
    let chunks = amount(1 << 18, 200);
    let arena = ByteArena::builder().smallest(16).largest(16);
    let arena = arena.chunk_bytes(16).build();
    let mut bufs: Vec<_> = (0..chunks).map(|_| arena.alloc(16)).collect();
    // A full arena has nothing to look at.
    assert!(steps(|| assert!(arena.prepare(16, 0).is_ok())) == 0);
    if !cfg!(miri) {
        let full = steps(|| assert!(arena.prepare(16, 1).is_err()));
        assert!(full <= 64, "{full}");
    }
    bufs.truncate(chunks / 256);
    arena.shrink_to_fit();
    let looked = steps(|| {
        // Numbers for all but one: nothing is made.
        let before = arena.stats();
        let is_refused = arena.prepare(16, (1 << 18) - bufs.len() + 1).is_err();
        assert!(is_refused && arena.stats().mallocs == before.mallocs);
        arena.prepare(16, chunks - bufs.len()).unwrap();
    });
    assert!(looked <= 4 * chunks, "{looked}");
    assert_eq!(arena.core().classes()[0].free(), chunks - bufs.len());
    arena.check();
    // Chunks that are not made whole come first, wherever they are on their list.
    let arena = ByteArena::builder().smallest(16).largest(16);
    let arena = arena.chunk_bytes(64).build();
    let bufs: Vec<_> = (0..50).map(|_| arena.alloc(16)).collect();
    drop(bufs);
    let before = arena.core().classes()[0].chunks();
    arena.prepare(16, 4 * before).unwrap();
    assert_eq!(arena.core().classes()[0].chunks(), before);
}

/// More buffers than a wide hand has places, in and out in any order, then all the memory for
/// another class.
fn through_hands_of_both_widths<R: References>(arena: &ByteArena<R>) {
    let most = 3000;
    let mut bufs = Vec::new();
    for round in 0..3 {
        let fill = [40, 700, most][round];
        while bufs.len() < fill {
            let mut buf = arena.alloc(16);
            buf.extend_from_slice(&(bufs.len() as u32).to_le_bytes())
                .unwrap();
            bufs.push(buf);
        }
        arena.check();
        // At random, and the first in between.
        let mut random = 1_u64;
        while bufs.len() > fill / 9 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            bufs.swap_remove((random >> 33) as usize % bufs.len());
            if bufs.len() % 61 == 0 {
                drop(arena.alloc(16));
                arena.core().reclaim_all();
                arena.check();
            }
        }
        bufs.retain(|buf| buf.len() == 4);
    }
    let mut numbers: Vec<_> = bufs.iter().map(|buf| buf.to_vec()).collect();
    numbers.sort();
    numbers.dedup();
    assert!(numbers.len() > 10);
    drop(bufs);
    arena.shrink_to_fit();
    arena.check();
    assert!(
        arena
            .stats()
            .classes()
            .iter()
            .all(|class| class.chunks == 0)
    );
    drop(arena.alloc(1000));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of buffers")]
fn a_hand_is_widened_and_what_has_no_place_in_it_is_banked() {
    through_hands_of_both_widths(&ByteArena::builder().chunk_bytes(8 << 10).build());
    let shared = ByteArena::builder().chunk_bytes(8 << 10).atomic();
    through_hands_of_both_widths(&shared.build());
}

/// One that is dropped before its buffers keeps the hand that they are pushed on.
#[test]
fn a_wide_hand_goes_with_the_last_buffer() {
    let arena = ByteArena::builder().chunk_bytes(4 << 10).build();
    let bufs: Vec<_> = (0..150).map(|_| arena.alloc(16)).collect();
    let class = arena.core().class_for(16).unwrap();
    assert!(class.is_widened());
    drop(arena);
    drop(bufs);
}
