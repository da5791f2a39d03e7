//! A frame that repeats calls no allocator after the first, whatever its sizes are and
//! whatever scopes it has; requests of any size share chunks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use flatslab::AllocError;
use flatslab::bump::{Arena, ArenaVec, Scope};
use flatslab::memory::{MemorySource, Pages};

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::source::{Counted, Fault, with_fault};
use crate::values::{bytes, ignore};

const SEEDS: u64 = if cfg!(miri) { 2 } else { 400 };

/// Runs frames; after the first of each none may ask for memory.
fn expect_quiet(arena: &mut Arena, what: &str, frame: impl Fn(&mut Arena)) {
    frame(arena);
    arena.reset();
    let asked = with_fault(0, Fault::Panic, true, || {
        for _ in 0..3 {
            frame(arena);
            arena.reset();
        }
    });
    assert!(!asked, "{what}");
}

/// A size: most are small, some large, up to some chunks.
fn size() -> usize {
    let most = match random(20) {
        0 => 100_000,
        1..3 => 12_000,
        3..7 => 2_000,
        _ => 200,
    };
    1 + random(most) as usize
}

fn alignment() -> usize {
    if one_in(6) { 1 << random(11) } else { 8 }
}

fn layout() -> Layout {
    Layout::from_size_align(size(), alignment()).unwrap()
}

#[derive(Clone, Copy)]
#[repr(align(512))]
struct Aligned(#[expect(dead_code, reason = "takes room")] [u8; 300]);

/// One of the allocations that take from either end of a chunk.
macro_rules! request {
    ($arena:expr) => {
        match random(10) {
            0 => ignore($arena.alloc(7_u8)),
            1 => ignore($arena.alloc([7_u16; 3])),
            2 => ignore($arena.alloc(7_u128)),
            3 => ignore($arena.alloc([7_u64; 30])),
            // Aligned by its address, which the symbolic check of Miri does not see.
            4 if !cfg!(miri) => ignore($arena.alloc(Aligned([7; 300]))),
            5 | 6 => ignore($arena.alloc_slice_copy(&[7_u8; 12_000][..size() % 12_000])),
            7 => ignore($arena.alloc_slice_fill(size() / 4, 7_u32)),
            _ => ignore($arena.alloc_layout(layout())),
        }
    };
}

/// A vector that grows, and ends; another allocation in between or not.
fn scratch(arena: &Arena) {
    let mut vec = ArenaVec::with_capacity_in(size() / 8, arena);
    if one_in(2) {
        arena.alloc_layout(layout());
    }
    vec.push(7_u64);
    vec.reserve(size() / 8);
}

#[test]
fn a_frame_of_random_sizes_calls_the_allocator_once() {
    for number in 0..SEEDS {
        let source = Counted::new();
        seed(number);
        let mut builder = Arena::builder().pages(source.pages());
        if one_in(2) {
            builder = builder.chunk_bytes(random(20_000) as usize);
        }
        let mut arena = builder.build();
        if one_in(4) {
            arena.reserve(random(10_000) as usize);
        }
        // The second frame finds the chunks of the first.
        for frame in 0..if cfg!(miri) { 2 } else { 3 } {
            let requests = 1 + random(if cfg!(miri) { 20 } else { 200 });
            expect_quiet(&mut arena, &format!("{number}, {frame}"), |arena| {
                seed(number * 10 + frame);
                for _ in 0..requests {
                    if one_in(5) {
                        scratch(arena);
                    } else if one_in(20) {
                        arena.reserve(random(20_000) as usize);
                    } else {
                        request!(arena);
                    }
                }
            });
        }
        drop(arena);
        source.expect_all_back();
    }
}

#[test]
fn a_frame_of_random_scopes_calls_the_allocator_once() {
    fn level(mut scope: Scope<'_, '_>, depth: u64) {
        for _ in 0..random(if cfg!(miri) { 4 } else { 10 }) {
            if depth > 0 && one_in(3) {
                scope.scope(|inner| level(inner, depth - 1));
            } else {
                request!(scope);
            }
        }
    }

    for number in 0..SEEDS {
        let source = Counted::new();
        let mut arena = Arena::builder().pages(source.pages()).build();
        for frame in 0..if cfg!(miri) { 2 } else { 3 } {
            expect_quiet(&mut arena, &format!("{number}, {frame}"), |arena| {
                seed(number * 10 + frame);
                level(arena.as_scope(), 3);
                arena.scope(|scope| level(scope, 3));
            });
        }
    }
}

/// The first frame meets no chunk, the second meets all: the same request went to a
/// later chunk, and the last ones to a new one.
#[test]
fn a_frame_that_begins_with_a_large_request_calls_the_allocator_once() {
    let source = Counted::new();
    let arena = Arena::builder().pages(source.pages()).build();
    arena.alloc(1_u8);
    let first = arena.allocated_bytes();
    drop(arena);
    for sizes in [
        [first + 1000, 8, first + 1000],
        [first * 3, first / 2, first * 2],
    ] {
        let mut arena = Arena::builder().pages(source.pages()).build();
        expect_quiet(&mut arena, "large first", |arena| {
            for size in sizes {
                arena.alloc_layout(bytes(size));
            }
        });
    }
}

/// Only one end of the first chunk was taken from, and the other was looked at: each value
/// had a chunk of its own.
#[test]
fn a_frame_of_values_fills_its_chunks() {
    // Single bytes are so many that an interpreter takes minutes for them.
    let (smallest, filled) = amount((1, 20_000), (16, 8_000));
    for bytes in [1, 16, 100].into_iter().filter(|&bytes| bytes >= smallest) {
        let source = Counted::new();
        let mut arena = Arena::builder().pages(source.pages()).build();
        expect_quiet(&mut arena, "values", |arena| {
            for _ in 0..filled / bytes {
                match bytes {
                    1 => ignore(arena.alloc(7_u8)),
                    16 => ignore(arena.alloc(7_u128)),
                    _ => ignore(arena.alloc([7_u8; 100])),
                }
            }
        });
        assert!(arena.chunks_allocated() <= 4, "{bytes}: {arena:?}");
    }
}

/// Each large request had a chunk of its own, of which another frame with larger ones used
/// none.
#[test]
fn frames_of_any_sizes_share_their_chunks() {
    let source = Counted::new();
    let mut arena = Arena::builder().pages(source.pages()).build();
    let mut largest = 4096;
    for round in 0..amount(300, 20) {
        seed(round);
        let mut taken = 0;
        let requests = 1 + random(60);
        let most = 1 + random(20_000);
        for _ in 0..requests {
            let size = 1 + random(most) as usize;
            arena.alloc_layout(bytes(size));
            // What an aligned end skips, and a chunk's header.
            taken += size.next_multiple_of(8) + 64;
        }
        largest = largest.max(taken);
        let all = source.bytes();
        assert!(all < 4 * largest, "{all} for frames of {largest}");
        arena.reset();
    }
    assert!(arena.chunks_allocated() <= 16, "{arena:?}");
}

/// Memory whose second block begins so that what follows the header of a chunk is aligned
/// to a page, and no other does.
#[derive(Default)]
struct SecondIsAligned(AtomicUsize);

// SAFETY: the memory is that of the system's allocator.
unsafe impl MemorySource for SecondIsAligned {
    fn allocate(&self, asked: Layout) -> Result<NonNull<u8>, AllocError> {
        let offset = match (self.0.fetch_add(1, SeqCst), asked.align()) {
            (1, ..=64) => 4096 - 64,
            (_, ..=64) => 128,
            _ => 0,
        };
        // SAFETY: the layout has a size, and the block so many bytes.
        let start = unsafe { System.alloc(Self::layout(asked)).add(offset) };
        NonNull::new(start).ok_or(AllocError::OutOfMemory {
            bytes: asked.size(),
        })
    }

    unsafe fn release(&self, start: NonNull<u8>, asked: Layout) {
        let offset = start.addr().get() % 8192;
        // SAFETY: from `allocate`, which has added that to a multiple of it.
        unsafe { System.dealloc(start.as_ptr().sub(offset), Self::layout(asked)) };
    }
}

impl SecondIsAligned {
    fn layout(asked: Layout) -> Layout {
        Layout::from_size_align(asked.size() + 8192, 8192).unwrap()
    }
}

/// A request took a chunk that has room for it only where it lies; in the second frame
/// another request had taken that, and left one that lies elsewhere.
#[test]
fn chunks_are_taken_wherever_they_lie() {
    let source = Arc::new(SecondIsAligned::default());
    let pages = Pages::from_source(source.clone());
    let mut arena = Arena::builder().pages(pages).build();
    let (plain, page) = (
        bytes(100_000),
        Layout::from_size_align(100_000, 4096).unwrap(),
    );
    let mut asked = 0;
    for frame in 0..3 {
        let mut root = arena.as_scope();
        for layouts in [[plain, plain], [plain, page], [page, plain]] {
            root.scope(|scope| layouts.map(|layout| scope.alloc_layout(layout).addr()));
        }
        arena.reset();
        if frame == 0 {
            asked = source.0.load(SeqCst);
        }
    }
    assert_eq!(
        source.0.load(SeqCst),
        asked,
        "the first frame asked for all"
    );
}

#[test]
fn a_large_request_gets_no_more_than_it_needs() {
    let source = Counted::new();
    let mut arena = Arena::builder().pages(source.pages()).build();
    arena.alloc(1_u64);
    let first = source.bytes();
    arena.alloc_layout(bytes(1 << 20));
    let all = first + (1 << 20) + 64;
    assert_eq!(source.bytes(), all);
    // Then the chunks double.
    arena.alloc(1_u64);
    assert_eq!(source.bytes(), all + 2 * (all - first));
    // From the beginning once chunks are freed: with each of these rounds they doubled.
    for _ in 0..5 {
        arena.reset();
        arena.shrink_to_fit();
        assert_eq!(source.bytes(), first);
        for _ in 0..2 {
            arena.alloc([1_u64; 400]);
        }
        assert_eq!(source.bytes(), 3 * first);
    }
}

/// The first chunk stayed, which a large request had made large.
#[test]
fn a_large_first_chunk_is_freed_by_a_shrink() {
    let source = Counted::new();
    let mut arena = Arena::builder().pages(source.pages()).build();
    let kept = arena.alloc_layout(bytes(1 << 20));
    arena.shrink_to_fit();
    // SAFETY: it is in use, so it is there.
    unsafe { kept.write(7) };
    assert_eq!(source.bytes(), (1 << 20) + 64);
    arena.reset();
    arena.shrink_to_fit();
    assert_eq!((source.bytes(), arena.remaining()), (0, 0));
    assert_eq!(*arena.alloc(7), 7);
    arena.reset();
    arena.shrink_to_fit();
    assert_eq!(arena.chunks_allocated(), 1);
}
