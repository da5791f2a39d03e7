//! The system's allocator, and counts of what is asked of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts within a [`Stretch`] alone: what is timed pays for a branch.
pub(crate) struct Counting;

static IS_COUNTED: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
fn is_counted() -> bool {
    IS_COUNTED.load(Ordering::Relaxed)
}

#[cold]
#[inline(never)]
fn count(allocated: usize) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let before = BYTES.fetch_add(allocated, Ordering::Relaxed);
    MOST.fetch_max(before.wrapping_add(allocated), Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn count_free(bytes: usize) {
    BYTES.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_counted() {
            count(layout.size());
        }
        // SAFETY: says the caller.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if is_counted() {
            count_free(layout.size());
        }
        // SAFETY: says the caller.
        unsafe { System.dealloc(place, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_counted() {
            count(size.wrapping_sub(layout.size()));
        }
        // SAFETY: says the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// While it is there the allocator counts: calls that get memory, and the most bytes that
/// were allocated at once. There is one at a time.
pub(crate) struct Stretch(());

impl Stretch {
    pub(crate) fn begin() -> Self {
        for count in [&CALLS, &BYTES, &MOST] {
            count.store(0, Ordering::Relaxed);
        }
        IS_COUNTED.store(true, Ordering::Relaxed);
        Stretch(())
    }

    pub(crate) fn calls(&self) -> usize {
        CALLS.load(Ordering::Relaxed)
    }

    pub(crate) fn most_bytes(&self) -> usize {
        MOST.load(Ordering::Relaxed)
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        IS_COUNTED.store(false, Ordering::Relaxed);
    }
}
