//! The system's allocator, and counts of what is asked of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts by plain loads and stores: the bench has one thread, and a locked instruction would
/// slow those down that call the allocator.
pub(crate) struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
fn count(allocated: usize) {
    CALLS.store(CALLS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let bytes = BYTES.load(Ordering::Relaxed).wrapping_add(allocated);
    BYTES.store(bytes, Ordering::Relaxed);
    MOST.store(MOST.load(Ordering::Relaxed).max(bytes), Ordering::Relaxed);
}

// SAFETY: the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: says the caller.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let bytes = BYTES.load(Ordering::Relaxed);
        BYTES.store(bytes.wrapping_sub(layout.size()), Ordering::Relaxed);
        // SAFETY: says the caller.
        unsafe { System.dealloc(place, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.wrapping_sub(layout.size()));
        // SAFETY: says the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// The calls that get memory, and the most bytes that were allocated at once, of a stretch.
pub(crate) struct Stretch {
    calls: usize,
    bytes: usize,
}

impl Stretch {
    pub(crate) fn begin() -> Self {
        let bytes = BYTES.load(Ordering::Relaxed);
        MOST.store(bytes, Ordering::Relaxed);
        Stretch {
            calls: CALLS.load(Ordering::Relaxed),
            bytes,
        }
    }

    pub(crate) fn calls(&self) -> usize {
        CALLS.load(Ordering::Relaxed) - self.calls
    }

    pub(crate) fn most_bytes(&self) -> usize {
        MOST.load(Ordering::Relaxed) - self.bytes
    }
}
