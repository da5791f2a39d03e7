//! Tests that need more than the public methods: steps are counted, and the invariants are
//! walked.

use core::alloc::Layout;
use core::cell::Cell;

use super::Arena;
use super::chunks::LOOKS;
use crate::common::amount;

std::thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts a chunk that is looked at, or a request to a source.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

fn steps<R>(f: impl FnOnce() -> R) -> usize {
    let before = STEPS.get();
    f();
    STEPS.get() - before
}

fn bytes(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

/// Each request had a chunk of its own, and in the second frame walked over all of them.
#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
fn a_request_takes_few_steps_whatever_earlier_frames_left() {
    let mut arena = Arena::new();
    let requests = amount(16_000, 300);
    for size in [5000, 5000, 6000, 9, 70_000, 5000, 100, 3000] {
        for _ in 0..requests.min((100 << 20) / size) {
            let steps = steps(|| arena.alloc_layout(bytes(size)));
            assert!(steps <= 16, "{size}: {steps}");
        }
        arena.check();
        arena.reset();
    }
    assert!(arena.chunks_allocated() <= LOOKS);
}

/// The frames that would leave most: each begins with a request that no chunk has room for.
#[test]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
fn memory_is_bounded_by_the_largest_frame() {
    let mut arena = Arena::new();
    let mut largest = 4096;
    for round in 0..amount(2000, 100) {
        let first = 4000 + round * 97;
        arena.alloc_layout(bytes(first));
        let rest = round * 7919 % (first * 2);
        for _ in 0..rest / 1000 {
            arena.alloc_layout(bytes(1000));
        }
        largest = largest.max(first + rest);
        let all = arena.allocated_bytes();
        assert!(all <= 4 * largest, "{all} for frames of {largest}");
        arena.reset();
    }
    arena.check();
    assert!(arena.chunks_allocated() < 12);
}

/// A chunk of twice the size was refused, and so was all that is less than needed.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
#[cfg(feature = "std")]
#[cfg_attr(miri, ignore = "counts steps, which an interpreter does not change")]
fn a_source_that_refuses_is_asked_few_times() {
    use core::ptr::NonNull;
    use std::alloc::{GlobalAlloc, System};
    use std::sync::Arc;

    use crate::AllocError;
    use crate::memory::{MemorySource, Pages};

    /// Refuses more than 8 KiB.
    struct Small;

    // SAFETY: the memory is that of the system's allocator.
    unsafe impl MemorySource for Small {
        fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            let bytes = layout.size();
            let is_small = bytes <= 8192;
            // SAFETY: an arena asks for chunks, which have a header, so the layout has bytes.
            let start = is_small.then(|| unsafe { System.alloc(layout) });
            start
                .and_then(NonNull::new)
                .ok_or(AllocError::OutOfMemory { bytes })
        }

        unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
            // SAFETY: from `allocate` with this layout.
            unsafe { System.dealloc(start.as_ptr(), layout) };
        }
    }

    let pages = Pages::from_source(Arc::new(Small));
    let mut arena = Arena::builder().pages(pages).build();
    let requests = amount(5000, 100);
    for size in [3000, 7000, 100, 5000, 8000, 3000] {
        for _ in 0..requests {
            let steps = steps(|| arena.alloc_layout(bytes(size)));
            assert!(steps <= 64, "{size}: {steps}");
        }
        assert!(arena.try_alloc_layout(bytes(9000)).is_err());
        // The same frame again finds its chunks.
        arena.reset();
        let before = arena.chunks_allocated();
        for _ in 0..requests {
            arena.alloc_layout(bytes(size));
        }
        assert_eq!(arena.chunks_allocated(), before, "{size}");
        arena.check();
        arena.reset();
    }
}
