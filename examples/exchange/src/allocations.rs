//! Calls of the allocator, counted while somebody asks: in all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator.
struct Counting;

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Relaxed: who asks has waited for the threads it asks about.
#[inline]
pub(crate) fn count() {
    if COUNTS.load(Ordering::Relaxed) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many calls there were while `f` ran, in all threads.
pub(crate) fn during<R>(f: impl FnOnce() -> R) -> (R, u64) {
    let before = CALLS.load(Ordering::SeqCst);
    COUNTS.store(true, Ordering::SeqCst);
    let result = f();
    COUNTS.store(false, Ordering::SeqCst);
    (result, CALLS.load(Ordering::SeqCst) - before)
}

/// Page faults of the process so far: those that were served from memory, and those that were not.
/// None where the system does not say.
pub(crate) fn page_faults() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may have blanks and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let minor: u64 = fields.nth(7)?.parse().ok()?;
    let major: u64 = fields.nth(1)?.parse().ok()?;
    Some(minor + major)
}
