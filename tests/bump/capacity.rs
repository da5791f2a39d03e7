//! Arenas that have nothing, arenas of impossible sizes, bounded arenas in each state,
//! limits, and what an arena says of its memory.

use std::alloc::Layout;

use flatslab::AllocError;
use flatslab::bump::{Arena, ArenaVec};

use crate::common::random::{one_in, random, seed};
use crate::common::{amount, panics};
use crate::source::{Counted, Fault, with_fault};
use crate::values::{bytes, ignore};

const HUGE: [usize; 5] = [
    usize::MAX,
    usize::MAX - 7,
    isize::MAX as usize + 1,
    isize::MAX as usize,
    isize::MAX as usize - 7,
];

#[test]
fn an_empty_arena_has_no_chunk() {
    let source = Counted::new();
    with_fault(0, Fault::Panic, true, || {
        let mut arena = Arena::builder().pages(source.pages()).build();
        arena.reset();
        arena.shrink_to_fit();
        arena.alloc(());
        arena.alloc_slice_copy::<u64>(&[]);
        arena.alloc_str("");
        assert!(arena.alloc_fmt(format_args!("")).is_empty());
        assert!(arena.alloc_slice_iter(std::iter::empty::<u64>()).is_empty());
        assert!(ArenaVec::<u64>::new_in(&arena).into_slice().is_empty());
        arena.scope(|scope| scope.alloc_slice_fill(9, ()).len());
        let mark = arena.checkpoint();
        // SAFETY: nothing was allocated.
        unsafe { arena.rewind(mark) };
        assert_eq!((arena.allocated_bytes(), arena.chunks_allocated()), (0, 0));
        assert_eq!((arena.remaining(), arena.memory().bytes()), (0, 0));
    });
    source.expect_all_back();
}

#[test]
fn empty_arenas_share_nothing() {
    // Their positions are the same address, and a chunk of one is never the other's.
    let (one, other) = (Arena::new(), Arena::new());
    let a = one.alloc(1_u64);
    let b = other.alloc(2_u64);
    drop(Arena::new());
    assert_eq!((*a, *b), (1, 2));
    assert_eq!((one.chunks_allocated(), other.chunks_allocated()), (1, 1));
}

#[test]
fn impossible_sizes_are_errors() {
    let arena = Arena::new();
    for size in HUGE {
        assert!(Arena::try_with_capacity(size).is_err());
        assert!(Arena::try_bounded(size).is_err());
        assert!(Arena::builder().reserve(size).try_build().is_err());
        assert!(Arena::builder().bounded(size).try_build().is_err());
        assert!(arena.try_reserve(size).is_err());
        assert!(arena.try_alloc_slice_fill(size, 7_u8).is_err());
        assert!(arena.try_alloc_slice_fill(size, 7_u64).is_err());
        assert!(arena.try_alloc_boxed_slice(size, |_| 7_u16).is_err());
        assert!(ArenaVec::<u8>::new_in(&arena).try_reserve(size).is_err());
        assert!(ArenaVec::<u32>::new_in(&arena).try_reserve(size).is_err());
        let mut vec = ArenaVec::new_in(&arena);
        vec.push(7_u8);
        assert!(vec.try_reserve(size).is_err());
        assert_eq!(*vec, [7]);
    }
    for align in [1, 8, 4096] {
        let size = isize::MAX as usize + 1 - align;
        let layout = Layout::from_size_align(size, align).unwrap();
        assert!(arena.try_alloc_layout(layout).is_err());
    }
    assert!(panics(|| arena.alloc_slice_fill(usize::MAX, 7_u64)));
    assert!(panics(|| arena.reserve(usize::MAX)));
    assert!(panics(|| Arena::with_capacity(usize::MAX)));
    let error = arena.try_reserve(usize::MAX).unwrap_err();
    assert!(matches!(error, AllocError::TooManyBytes { .. }), "{error}");
    assert_eq!(*arena.alloc(7), 7);
}

#[test]
fn lengths_whose_bytes_wrap_are_errors() {
    let arena = Arena::bounded(64);
    let len = usize::MAX / 8 + 2;
    assert!(arena.try_alloc_slice_fill_default::<u64>(len).is_err());
    assert!(ArenaVec::<u64>::new_in(&arena).try_reserve(len).is_err());
    assert_eq!(arena.remaining(), 64);
}

#[test]
fn a_bounded_arena_of_no_bytes_has_room_for_values_of_no_size() {
    let mut arena = Arena::bounded(0);
    for _ in 0..2 {
        arena.alloc(());
        assert_eq!(arena.alloc_slice_fill_with(9, drop).len(), 9);
        assert_eq!(arena.try_alloc(7_u8).unwrap_err().into_inner(), 7);
        assert_eq!(arena.try_boxed(7_u8).unwrap_err().into_inner(), 7);
        assert!(arena.try_alloc_layout(bytes(1)).is_err());
        assert_eq!((arena.remaining(), arena.chunks_allocated()), (0, 0));
        arena.scope(|scope| assert!(scope.try_alloc_str("text").is_err()));
        arena.reset();
    }
}

#[test]
fn a_full_bounded_arena_refuses_and_goes_on_after_a_reset() {
    let mut arena = Arena::bounded(60);
    assert_eq!(arena.allocated_bytes(), 64);
    for _ in 0..3 {
        assert_eq!(arena.remaining(), 64);
        // Too large for all of it: it stays where it is.
        assert!(arena.try_alloc([0_u64; 9]).is_err());
        assert_eq!(arena.remaining(), 64);
        let row = arena.alloc([7_u64; 7]);
        assert!(arena.try_alloc([8_u64; 2]).is_err());
        assert_eq!(*arena.alloc(9_u8), 9);
        assert_eq!(*arena.alloc_slice_copy(&[9_u8; 7]), [9; 7]);
        assert_eq!(arena.remaining(), 0);
        let error = arena.try_alloc_slice_copy(&[1_u8]).unwrap_err();
        assert!(matches!(error, AllocError::Limit { .. }), "{error}");
        assert!(panics(|| arena.alloc(1_u8)));
        assert!(panics(|| arena.alloc_str("text")));
        assert!(panics(|| arena.alloc_fmt(format_args!("{}", 7))));
        let values = vec![String::from("kept")];
        let full = arena.try_alloc_slice_from_vec(values).unwrap_err();
        assert_eq!(full.into_inner(), ["kept"]);
        assert_eq!(*row, [7; 7]);
        assert_eq!(arena.chunks_allocated(), 1);
        arena.reset();
    }
}

#[test]
fn a_bounded_arena_never_calls_the_allocator() {
    let source = Counted::new();
    let builder = Arena::builder().bounded(1000);
    let mut arena = builder.pages(source.pages()).build();
    let uses = || {
        for _ in 0..if cfg!(miri) { 2 } else { 20 } {
            arena.scope(|scope| while scope.try_alloc([7_u64; 3]).is_ok() {});
            while arena.try_alloc_slice_fill(9, 7_u8).is_ok() {}
            assert!(arena.try_alloc([0_u8; 10_000]).is_err());
            arena.reset();
        }
    };
    assert!(!with_fault(0, Fault::Panic, true, uses));
}

#[test]
fn a_bounded_arena_keeps_its_chunk_and_gets_no_other() {
    for size in [8, 64, 1 << 14] {
        let source = Counted::new();
        let builder = Arena::builder().bounded(size).pages(source.pages());
        let mut arena = builder.build();
        for _ in 0..2 {
            arena.shrink_to_fit();
            assert_eq!((arena.remaining(), arena.chunks_allocated()), (size, 1));
            arena.try_reserve(size).unwrap();
            let error = arena.try_reserve(size + 1).unwrap_err();
            assert!(matches!(error, AllocError::Limit { .. }), "{error}");
            assert_eq!(*arena.alloc(7_u8), 7);
            arena.shrink_to_fit();
            arena.reset();
        }
        drop(arena);
        source.expect_all_back();
    }
    // Neither past a limit, nor with more in reserve.
    let builder = Arena::builder().bounded(100);
    assert!(builder.clone().max_bytes(100).try_build().is_err());
    assert!(builder.clone().reserve(200).try_build().is_err());
    assert_eq!(builder.reserve(100).build().remaining(), 104);
}

#[test]
fn a_limit_counts_every_byte() {
    for limit in [72, 90, 1000, 5000, 100_000] {
        if cfg!(miri) && limit > 1000 {
            continue;
        }
        let source = Counted::new();
        let arena = Arena::builder().max_bytes(limit).pages(source.pages());
        let mut arena = arena.build();
        for round in 0..3 {
            let mut allocated = 0;
            while arena.try_alloc_slice_fill(24 + round, 7_u8).is_ok() {
                allocated += 24;
            }
            let error = arena.try_alloc([0_u64; 4]).map(drop);
            assert!(error.is_err() || round > 0);
            assert!(arena.try_alloc_layout(bytes(limit.max(1))).is_err());
            assert!(arena.memory().bytes() <= limit);
            assert_eq!(arena.memory().bytes(), source.bytes());
            assert!(
                allocated >= limit / 2 || limit < 200,
                "{allocated} of {limit}"
            );
            arena.reset();
        }
        assert!(panics(|| arena.alloc_slice_fill(limit + 1, 7_u8)));
        drop(arena);
        source.expect_all_back();
    }
    let error = Arena::builder().max_bytes(100).reserve(1000).try_build();
    assert!(error.is_err());
}

#[test]
fn what_an_arena_was_made_for_remains() {
    for capacity in [0, 1, 8, 100, 4000, 5000, 100_000] {
        let source = Counted::new();
        let build = || Arena::builder().reserve(capacity).pages(source.pages());
        let reserved = Arena::new();
        reserved.reserve(capacity);
        for mut arena in [Arena::with_capacity(capacity), build().build(), reserved] {
            let all = arena.remaining();
            assert!(all >= capacity, "{all} of {capacity}");
            assert_eq!(all, arena.allocated_bytes());
            let before = arena.checkpoint();
            arena.alloc_layout(bytes(capacity));
            assert_eq!(arena.remaining(), all - capacity.next_multiple_of(8));
            arena.reset();
            assert_eq!((arena.remaining(), arena.checkpoint()), (all, before));
            assert_eq!(arena.chunks_allocated(), capacity.min(1));
        }
    }
    // Twice, and after a first chunk that is too small.
    let arena = Arena::with_capacity(100);
    arena.reserve(10_000);
    assert!(arena.remaining() >= 10_000);
    arena.alloc(1_u64);
    arena.reserve(50_000);
    assert!(
        arena.remaining() < 50_000,
        "the rest of this chunk comes first"
    );
    arena.alloc_layout(bytes(50_000));
    assert_eq!(arena.chunks_allocated(), 3);
}

#[test]
fn what_is_reserved_needs_no_allocator() {
    for already in [0, 8, 100, 5000] {
        for resets in [false, true] {
            for reserved in [1, 8, 4000, 5000, 100_000] {
                if cfg!(miri) && (already == 8 || reserved == 8) {
                    continue;
                }
                let source = Counted::new();
                let mut arena = Arena::builder().pages(source.pages()).build();
                let mut left = already;
                while left > 0 {
                    let size = left.min(100);
                    arena.alloc_layout(bytes(size));
                    left -= size;
                }
                if resets {
                    arena.reset();
                }
                for part in [reserved, reserved / 2 / 8 * 8, 8] {
                    let is_slow = cfg!(miri) && reserved / part.max(1) > 100;
                    if part == 0 || part > reserved || is_slow {
                        continue;
                    }
                    arena.reserve(reserved);
                    let uses = || {
                        (0..reserved / part).for_each(|_| ignore(arena.alloc_layout(bytes(part))))
                    };
                    assert!(
                        !with_fault(0, Fault::Refuse, true, uses),
                        "{already} {resets} {reserved}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_an_arena_says_of_its_memory_is_so() {
    let source = Counted::new();
    let mut arena = Arena::builder().pages(source.pages()).build();
    for size in [8, 5000, 16, 100_000, 4000, 64] {
        let before = arena.remaining();
        arena.alloc_layout(bytes(size));
        let after = arena.remaining();
        assert!(
            after == before
                || after + size == before
                || arena.chunks_allocated() > 1
                || before == 0
        );
        let all = arena.allocated_bytes_including_metadata();
        assert_eq!((all, all), (source.bytes(), arena.memory().bytes()));
        let headers = all - arena.allocated_bytes();
        assert_eq!(headers % arena.chunks_allocated(), 0);
        assert!(format!("{arena:?}").contains(&all.to_string()));
    }
    let all = arena.allocated_bytes();
    arena.shrink_to_fit();
    assert_eq!(arena.allocated_bytes(), all, "all of it is in use");
    arena.reset();
    assert_eq!(arena.allocated_bytes(), all);
    arena.shrink_to_fit();
    assert_eq!(arena.chunks_allocated(), 1);
    assert_eq!(arena.memory().bytes(), source.bytes());
    arena.shrink_to_fit();
    assert_eq!(*arena.alloc(7), 7);
    drop(arena);
    source.expect_all_back();
}

#[test]
fn chunks_may_have_any_size() {
    for chunk_bytes in [0, 1, 7, 33, 63, 64, 100, 4093, usize::MAX] {
        if chunk_bytes == usize::MAX && cfg!(miri) {
            continue;
        }
        let mut arena = Arena::builder().chunk_bytes(chunk_bytes).build();
        for _ in 0..2 {
            for number in 0..if cfg!(miri) { 12 } else { 30_u64 } {
                assert_eq!(*arena.alloc(number), number);
                assert_eq!(
                    arena.alloc_slice_fill(number as usize, 7_u8).len(),
                    number as usize
                );
            }
            arena.reset();
        }
    }
}

/// The first chunk was at its start again, which no request leaves for the next one.
#[test]
fn what_is_reserved_stays_when_the_first_chunk_is_given_back() {
    let arena = Arena::new();
    let mut vec = ArenaVec::new_in(&arena);
    vec.push(1_u64);
    arena.reserve(10_000);
    let before = arena.allocated_bytes();
    drop(vec);
    arena.alloc_layout(bytes(10_000));
    assert_eq!(arena.allocated_bytes(), before);
}

/// What an allocation counts of what was reserved.
fn counted(layout: Layout) -> usize {
    layout.size().next_multiple_of(8) + layout.align().saturating_sub(8)
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "takes room")] [u8; 64]);

/// Takes memory from either end until as much as that is counted.
fn use_up(arena: &Arena, bytes: usize) {
    let mut left = bytes;
    // Each counts 8 at least.
    while left >= 8 {
        let size = 1 + random(1 + random(left as u64)) as usize;
        let align = 1 << random(if one_in(3) { 10 } else { 4 });
        let any = Layout::from_size_align(size, align).unwrap();
        let operation = random(8);
        let layout = match operation {
            0 => Layout::new::<[u16; 3]>(),
            1 => Layout::new::<u128>(),
            // Aligned by its address, which the symbolic check of Miri does not see.
            2 if !cfg!(miri) => Layout::new::<Line>(),
            3 | 4 => Layout::array::<u8>(size.min(300)).unwrap(),
            _ => any,
        };
        let counts = counted(layout);
        let is_met = match operation {
            _ if counts > left => arena.try_alloc(7_u8).is_ok(),
            0 => arena.try_alloc([7_u16; 3]).is_ok(),
            1 => arena.try_alloc(7_u128).is_ok(),
            2 if !cfg!(miri) => arena.try_alloc(Line([7; 64])).is_ok(),
            3 | 4 => arena
                .try_alloc_slice_copy(&[7_u8; 300][..layout.size()])
                .is_ok(),
            _ => arena.try_alloc_layout(layout).is_ok(),
        };
        assert!(is_met, "{layout:?} of {left}");
        left -= if counts > left { 8 } else { counts };
    }
}

/// A chunk of the usual size was asked for and nothing smaller; what alignments skip was not
/// counted.
#[test]
fn a_reserve_holds_what_it_promises_or_does_not_fit() {
    let (mut kept, mut refused) = (0, 0);
    for number in 0..amount(4000, 16) {
        seed(number);
        let source = Counted::new();
        let limit = match random(4) {
            0 => usize::MAX,
            1 => 72 + random(2000) as usize,
            _ => 72 + random(100_000) as usize,
        };
        let mut builder = Arena::builder().max_bytes(limit).pages(source.pages());
        if one_in(2) {
            builder = builder.chunk_bytes(random(10_000) as usize);
        }
        let mut arena = builder.build();
        for _ in 0..random(4) {
            for _ in 0..random(20) {
                let most = 1 + random(if one_in(5) { 20_000 } else { 500 });
                let _ = arena.try_alloc_layout(bytes(random(most) as usize));
                let _ = arena.try_alloc_slice_copy(&[7_u8; 100][..random(100) as usize]);
            }
            if one_in(2) {
                arena.reset();
            }
            if one_in(4) {
                arena.shrink_to_fit();
            }
            let most = if one_in(3) { 100_000 } else { 2000 };
            let reserved = random(most) as usize;
            let before = source.bytes();
            // Now and then the source has not as much as a doubled chunk takes.
            let faults = if one_in(3) { 0 } else { usize::MAX };
            let mut result = Ok(());
            let has_refused = with_fault(faults, Fault::Refuse, false, || {
                result = arena.try_reserve(reserved);
            });
            match result {
                Ok(()) => {
                    kept += 1;
                    let asked = with_fault(0, Fault::Panic, true, || use_up(&arena, reserved));
                    assert!(!asked, "{number}: {reserved}");
                }
                Err(AllocError::Limit { bytes, .. }) => {
                    refused += 1;
                    let needed = reserved.next_multiple_of(8) + 64;
                    assert_eq!(bytes, reserved);
                    assert!(before + needed > limit, "{reserved} at {before} of {limit}");
                    assert_eq!(source.bytes(), before);
                }
                // Nothing smaller does.
                Err(AllocError::OutOfMemory { bytes }) if has_refused => {
                    assert_eq!(bytes, reserved.next_multiple_of(8) + 64);
                }
                Err(error) => panic!("{number}: {error}"),
            }
            assert!(source.bytes() <= limit);
        }
    }
    assert!(kept > 10 && refused > 3, "{kept} kept, {refused} refused");
}

/// It said the bytes of the chunk that was to be added for it, 96 of 32.
#[test]
fn an_error_at_the_limit_says_the_bytes_of_the_request() {
    for (arena, most) in [
        (Arena::bounded(0), 0),
        (Arena::bounded(24), 24 + 64),
        (Arena::builder().max_bytes(80).build(), 80),
    ] {
        let limit = |bytes| {
            let limit = most;
            Some(AllocError::Limit { bytes, limit })
        };
        assert_eq!(arena.try_alloc_layout(bytes(32)).err(), limit(32));
        assert_eq!(arena.try_alloc_with(|| [7_u64; 5]).err(), limit(40));
        assert_eq!(arena.try_alloc_slice_copy(&[7_u8; 33]).err(), limit(33));
        assert_eq!(arena.try_alloc_str(&"7".repeat(41)).err(), limit(41));
        assert_eq!(arena.try_reserve(39).err(), limit(39));
        let mut vec = ArenaVec::<u32>::new_in(&arena);
        assert_eq!(vec.try_reserve(9).err(), limit(36));
        let aligned = Layout::from_size_align(100, 1024).unwrap();
        assert_eq!(arena.try_alloc_layout(aligned).err(), limit(100));
        let error = arena.try_alloc_layout(bytes(32)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("memory limit of {most} bytes has no room for 32 bytes more")
        );
    }
}

/// The next doubled chunk was asked for, and no second try made.
#[test]
fn what_fits_the_limit_is_not_refused() {
    let builder = || Arena::builder().max_bytes(2000);
    let arena = builder().build();
    assert_eq!(arena.try_reserve(100), Ok(()));
    assert_eq!(arena.allocated_bytes_including_metadata(), 2000);
    assert_eq!(builder().reserve(2000 - 64).build().remaining(), 2000 - 64);
    let error = builder().reserve(2000 - 63).try_build().map(drop);
    let refused = AllocError::Limit {
        bytes: 1937,
        limit: 2000,
    };
    assert_eq!(error, Err(refused.into()));
    // As with an allocation.
    let arena = builder().build();
    arena.alloc_layout(bytes(2000 - 64));
    let error = arena.try_alloc_slice_copy(&[1]).map(drop);
    assert!(matches!(error, Err(AllocError::Limit { .. })));
    assert!(
        builder()
            .build()
            .try_alloc_layout(bytes(2000 - 63))
            .is_err()
    );
}

/// A limit below the least chunk was accepted, and refused every request.
#[test]
fn an_arena_that_is_built_serves_a_request() {
    for limit in [0, 1, 64, 71, 72, 100, 1 << 20, usize::MAX] {
        for chunk in [None, Some(0), Some(72), Some(4096), Some(usize::MAX)] {
            let mut builder = Arena::builder().max_bytes(limit);
            if let Some(bytes) = chunk {
                builder = builder.chunk_bytes(bytes);
            }
            match builder.try_build() {
                Ok(arena) => {
                    assert_eq!(arena.try_alloc(7_u8).map(|it| *it), Ok(7), "{limit}");
                }
                Err(error) => {
                    let expected = flatslab::BuildError::OutOfRange {
                        option: "max_bytes",
                        given: limit,
                        min: 72,
                        max: usize::MAX,
                    };
                    assert!(error == expected && limit < 72);
                }
            }
        }
    }
}

/// Chunks that a reset had kept were in the way for good.
#[test]
#[cfg(feature = "std")]
fn chunks_that_are_not_in_use_make_way_at_a_limit_and_where_the_source_refuses() {
    use flatslab::memory::{Pages, Region};
    use std::sync::Arc;

    let region = Arc::new(Region::try_new(64 << 10, Pages::new()).unwrap());
    let limited = Arena::builder().max_bytes(64 << 10).build();
    for mut arena in [limited, Arena::builder().pages(region.pages()).build()] {
        for _ in 0..2 {
            for size in [3000, 5000, 12_000, 20_000] {
                assert!(arena.try_alloc_layout(bytes(size)).is_ok());
            }
            arena.reset();
            arena.alloc(7_u64);
            let place = arena.try_alloc_layout(bytes(55_000)).unwrap();
            // SAFETY: the memory was just allocated.
            unsafe { place.write_bytes(7, 55_000) };
            // What is in use stays.
            assert!(arena.try_alloc_layout(bytes(20_000)).is_err());
            arena.reset();
        }
    }
}
