//! The allocator of a process, chosen by the row that it measures.
//!
//! One program with three allocators, and not three programs: they are compiled alike, and the
//! choice is a load and a comparison in each call, the same for all.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

use flatslab_benches::growth;
use flatslab_benches::run::ROW;
#[cfg(feature = "allocators")]
use mimalloc::MiMalloc;
#[cfg(not(feature = "allocators"))]
use std::alloc::System as MiMalloc;
#[cfg(not(all(feature = "allocators", unix, not(target_env = "musl"))))]
use std::alloc::System as Jemalloc;
#[cfg(all(feature = "allocators", unix, not(target_env = "musl")))]
use tikv_jemallocator::Jemalloc;

/// Whether the program is built with it.
pub(crate) const HAS_MIMALLOC: bool = cfg!(feature = "allocators");
/// Whether the program is built with it: it does not build for every platform.
pub(crate) const HAS_JEMALLOC: bool =
    cfg!(all(feature = "allocators", unix, not(target_env = "musl")));

/// The allocator of the system, or that which the row names that the process was started for.
pub(crate) struct ByRow {
    choice: AtomicU8,
}

const UNKNOWN: u8 = 0;
const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;
const JEMALLOC: u8 = 3;

impl ByRow {
    pub(crate) const fn new() -> Self {
        ByRow {
            choice: AtomicU8::new(UNKNOWN),
        }
    }

    #[inline(always)]
    fn choice(&self) -> u8 {
        match self.choice.load(Ordering::Relaxed) {
            UNKNOWN => self.choose(),
            choice => choice,
        }
    }

    /// Before the first block is allocated, so that all come from the same. Allocates nothing.
    #[cold]
    fn choose(&self) -> u8 {
        // SAFETY: no other thread is there yet that could change the environment; the text stays
        // where it is.
        let row = unsafe {
            let row = libc::getenv(ROW.as_ptr());
            if row.is_null() {
                c""
            } else {
                CStr::from_ptr(row)
            }
        };
        let is = |name: &str| row.to_bytes() == name.as_bytes();
        let choice = if is(growth::MIMALLOC) {
            MIMALLOC
        } else if is(growth::JEMALLOC) {
            JEMALLOC
        } else {
            SYSTEM
        };
        self.choice.store(choice, Ordering::Relaxed);
        choice
    }
}

// SAFETY: each of the three is one, and all blocks of a process are of the same.
unsafe impl GlobalAlloc for ByRow {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the preconditions are the same.
        unsafe {
            match self.choice() {
                MIMALLOC => MiMalloc.alloc(layout),
                JEMALLOC => Jemalloc.alloc(layout),
                _ => System.alloc(layout),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the preconditions are the same.
        unsafe {
            match self.choice() {
                MIMALLOC => MiMalloc.dealloc(block, layout),
                JEMALLOC => Jemalloc.dealloc(block, layout),
                _ => System.dealloc(block, layout),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the preconditions are the same.
        unsafe {
            match self.choice() {
                MIMALLOC => MiMalloc.alloc_zeroed(layout),
                JEMALLOC => Jemalloc.alloc_zeroed(layout),
                _ => System.alloc_zeroed(layout),
            }
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the preconditions are the same.
        unsafe {
            match self.choice() {
                MIMALLOC => MiMalloc.realloc(block, layout, size),
                JEMALLOC => Jemalloc.realloc(block, layout, size),
                _ => System.realloc(block, layout, size),
            }
        }
    }
}
