//! Checkpoints: what obeys the contract of `rewind` works, and what does not panics in a
//! debug build where it can be seen.

use flatslab::bump::{Arena, ArenaVec, BoundedArena};

#[cfg(debug_assertions)]
use crate::common::panics;
use crate::values::bytes;
#[cfg(debug_assertions)]
use crate::values::ignore;

#[test]
fn rewinding_gives_back_what_was_allocated_since() {
    let arena = BoundedArena::with_capacity(1000);
    let kept = arena.alloc(1_u64);
    let mark = arena.checkpoint();
    for number in 0..50_u64 {
        assert_eq!(*arena.alloc([number; 9]), [number; 9]);
        // SAFETY: nothing that was allocated since is used.
        unsafe { arena.rewind(mark) };
        assert_eq!(arena.checkpoint(), mark);
    }
    assert_eq!(*kept, 1);
}

#[test]
fn checkpoints_nest_over_chunks_and_large_requests() {
    let arena = Arena::builder().chunk_bytes(256).build();
    let empty = arena.checkpoint();
    for round in 0..if cfg!(miri) { 2 } else { 3_u64 } {
        let outer = arena.alloc([round; 4]);
        let mut kept: Vec<&mut [u64]> = Vec::new();
        let mut marks = Vec::new();
        for depth in 0..if cfg!(miri) { 8 } else { 12_u64 } {
            marks.push(arena.checkpoint());
            kept.push(arena.alloc_slice_fill(1 + depth as usize * 9, depth));
            if depth % 4 == 3 {
                arena.alloc_layout(bytes(100_000));
            }
        }
        let chunks = arena.chunks_allocated();
        while let Some(mark) = marks.pop() {
            kept.pop();
            // SAFETY: what was allocated since is no longer in `kept`.
            unsafe { arena.rewind(mark) };
            arena.alloc_slice_fill(20, u64::MAX);
            let right = |(row, depth): (&&mut [u64], u64)| row.iter().all(|it| *it == depth);
            assert!(kept.iter().zip(0..).all(right));
            // SAFETY: the row of `u64::MAX` is not used.
            unsafe { arena.rewind(mark) };
        }
        assert_eq!((*outer, arena.chunks_allocated()), ([round; 4], chunks));
        // SAFETY: nothing is used any more.
        unsafe { arena.rewind(empty) };
    }
}

#[test]
fn a_checkpoint_of_an_empty_arena_leads_to_its_start() {
    let arena = Arena::new();
    let mark = arena.checkpoint();
    arena.reserve(10_000);
    let first = std::ptr::from_mut(arena.alloc(1_u64)).addr();
    arena.alloc([2_u64; 9]);
    arena.alloc_layout(bytes(1_000_000));
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(std::ptr::from_mut(arena.alloc(3_u64)).addr(), first);
    assert_eq!(arena.chunks_allocated(), 2);
}

#[test]
fn a_reserve_between_is_no_harm() {
    let mut arena = Arena::new();
    arena.alloc(1_u64);
    arena.reset();
    let mark = arena.checkpoint();
    arena.reserve(100_000);
    arena.alloc([2_u64; 1000]);
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(*arena.alloc([3_u64; 1000]), [3; 1000]);
    // SAFETY: nothing is used any more.
    unsafe { arena.rewind(mark) };
    assert_eq!(arena.checkpoint(), mark);
}

#[test]
fn a_vector_from_before_that_keeps_its_room_is_no_harm() {
    let arena = Arena::new();
    let mut vec = ArenaVec::with_capacity_in(10, &arena);
    let mark = arena.checkpoint();
    arena.alloc([1_u64; 10]);
    vec.extend(0..10_u64);
    vec.truncate(5);
    // SAFETY: the row is not used; the vector has neither grown nor ended.
    unsafe { arena.rewind(mark) };
    arena.alloc([2_u64; 10]);
    assert!(vec.iter().copied().eq(0..5));
}

#[test]
#[cfg(debug_assertions)]
fn foreign_and_stale_checkpoints_panic_in_debug_builds() {
    let other = Arena::new();
    other.alloc(1_u64);
    let foreign = other.checkpoint();
    other.alloc_layout(bytes(100_000));
    let foreign_large = other.checkpoint();

    let mut arena = Arena::builder().chunk_bytes(256).build();
    let rewind = |arena: &Arena, mark| {
        // SAFETY: not at all; it panics first.
        panics(|| unsafe { arena.rewind(mark) })
    };
    assert!(rewind(&arena, foreign) && rewind(&arena, foreign_large));
    arena.alloc(1_u64);
    let early = arena.checkpoint();
    arena.alloc(2_u64);
    let late = arena.checkpoint();
    // SAFETY: nothing is used.
    unsafe { arena.rewind(early) };
    assert!(rewind(&arena, late), "memory that is free by now");

    arena.alloc_layout(bytes(100_000));
    let large = arena.checkpoint();
    // SAFETY: nothing is used.
    unsafe { arena.rewind(early) };
    assert!(rewind(&arena, large), "no large chunk is in use");

    (0..100).for_each(|number| ignore(arena.alloc(number)));
    let in_later_chunk = arena.checkpoint();
    arena.reset();
    assert!(rewind(&arena, in_later_chunk) && rewind(&arena, foreign));
    arena.alloc_layout(bytes(100_000));
    let large = arena.checkpoint();
    arena.reset();
    assert!(rewind(&arena, large));
    arena.shrink();
    assert!(rewind(&arena, in_later_chunk) && rewind(&arena, large));
    assert_eq!(*arena.alloc(7), 7);
}
