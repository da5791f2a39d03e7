//! The slabs and arenas under a global allocator that fails, that uses the slab it serves,
//! and that remembers what it gave.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
#![allow(
    clippy::large_enum_variant,
    clippy::result_large_err,
    reason = "values are wide, so that chunks can be small"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../program/mod.rs"]
mod program;

#[cfg(not(each_run))]
mod arenas;
#[cfg(not(each_run))]
mod bytes;
#[cfg(not(each_run))]
mod collections;
#[cfg(not(each_run))]
mod epoch;
mod failing;
mod meddling;
#[cfg(not(each_run))]
mod pools;
#[cfg(not(each_run))]
mod programs;
mod remembering;
#[cfg(not(each_run))]
mod reserving;
#[cfg(target_has_atomic = "64")]
#[cfg(not(each_run))]
mod sync;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::panicking;

use flatslab::Slab;

use common::{Wide, wide};

/// The system's allocator, which tells a test of each call. Its state belongs to
/// the thread, so that tests run side by side.
struct UnderTest;

#[global_allocator]
static ALLOCATOR: UnderTest = UnderTest;

/// The moments of a call at which a test says what the allocator does.
#[derive(Clone, Copy)]
enum Call {
    /// Memory is asked for. If the test says `false` it is refused.
    Asked,
    Given(*mut u8, Layout),
    /// Memory comes back; what it held is overwritten next.
    Returned(*mut u8, Layout),
    Freed,
}

/// What a test does at each call.
type Conduct = fn(Call) -> bool;

/// What a test does within one call, and how many calls come before that.
type Hook = (usize, fn());

/// Filled into memory that is freed: neither a stamp, nor a pointer, nor a value
/// that is intact.
const POISON: u8 = 0xa5;

thread_local! {
    static CONDUCT: Cell<Option<Conduct>> = const { Cell::new(None) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    /// Requests until all are refused.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
    /// Runs once.
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
    /// The slab that is used within calls.
    static SHARED: Cell<*const Slab<Wide>> = const { Cell::new(std::ptr::null()) };
    /// Whether [`HELPERS_GO_WITHOUT`] does not concern this thread.
    static IS_SERVED: Cell<bool> = const { Cell::new(false) };
}

/// An alignment that threads get no memory of, but those that are served. Tests
/// tell their helper threads by it. The bits of several may be set.
static HELPERS_GO_WITHOUT: AtomicUsize = AtomicUsize::new(0);
/// How often each alignment was refused, by the logarithm.
static REFUSALS: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

fn conduct(call: Call) -> bool {
    CONDUCT.get().is_none_or(|conduct| conduct(call))
}

// SAFETY: everything is the system allocator's, or null.
unsafe impl GlobalAlloc for UnderTest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if HELPERS_GO_WITHOUT.load(Relaxed) & layout.align() != 0 && !IS_SERVED.get() {
            REFUSALS[layout.align().ilog2() as usize].fetch_add(1, Relaxed);
            return null_mut();
        }
        if !conduct(Call::Asked) {
            return null_mut();
        }
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's word.
        let start = unsafe { System.alloc(layout) };
        conduct(Call::Given(start, layout));
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        conduct(Call::Returned(start, layout));
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's word: a block of that many bytes, no longer used.
        unsafe {
            start.write_bytes(POISON, layout.size());
            System.dealloc(start, layout);
        }
        conduct(Call::Freed);
    }
}

/// The conduct of an allocator that fails from one request on, or runs a hook.
fn fail_or_run_hook(call: Call) -> bool {
    let is_refused = match (call, FUSE.get()) {
        (Call::Given(..) | Call::Returned(..), _) => return true,
        (Call::Asked, Some(0)) => true,
        (Call::Asked, Some(left)) => {
            FUSE.set(Some(left - 1));
            false
        }
        (Call::Asked | Call::Freed, _) => false,
    };
    match HOOK.take() {
        Some((0, hook)) => hook(),
        Some((left, hook)) => HOOK.set(Some((left - 1, hook))),
        None => {}
    }
    // A test that fails gets the memory for its message.
    !is_refused || panicking()
}

/// Runs `f` with `conduct`.
fn with_conduct<R>(conduct: Conduct, f: impl FnOnce() -> R) -> R {
    CONDUCT.set(Some(conduct));
    let result = f();
    CONDUCT.set(None);
    result
}

/// Runs `f`; it gets memory as often as `fuse` says.
fn with_fuse<R>(fuse: usize, f: impl FnOnce() -> R) -> R {
    FUSE.set(Some(fuse));
    let result = with_conduct(fail_or_run_hook, f);
    FUSE.set(None);
    result
}

/// Runs `f` without memory.
fn without_memory<R>(f: impl FnOnce() -> R) -> R {
    with_fuse(0, f)
}

/// Runs `f`, and `hook` with `slab` [`shared`] after `calls` calls. `None` if
/// there were not so many.
fn with_hook<R>(slab: &Slab<Wide>, calls: usize, hook: fn(), f: impl FnOnce() -> R) -> Option<R> {
    SHARED.set(slab);
    HOOK.set(Some((calls, hook)));
    let result = with_conduct(fail_or_run_hook, f);
    FUSE.set(None);
    SHARED.set(std::ptr::null());
    HOOK.take().is_none().then_some(result)
}

/// The slab that is used within calls.
fn shared<'a>() -> &'a Slab<Wide> {
    // SAFETY: set by a test that has the slab borrowed until it is reset.
    unsafe { SHARED.get().as_ref() }.expect("set around the call")
}

/// Runs `f`, which has to give back what it takes.
#[track_caller]
fn without_leak<R>(f: impl FnOnce() -> R) -> R {
    let before = LIVE_BYTES.get();
    let result = f();
    assert_eq!(LIVE_BYTES.get(), before, "memory is lost");
    result
}

/// How often `f` allocates.
fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    f();
    ALLOCATIONS.get() - before
}

/// A slab of chunks of four with the values `0..count` at their keys.
fn with_values(count: u64) -> Slab<Wide> {
    let slab = Slab::builder().chunk_capacity(4).build();
    (0..count).for_each(|number| {
        slab.insert(wide(number)).leak();
    });
    slab
}

/// Two chunks of four, the first and the last of four, full of values.
fn with_holes() -> Slab<Wide> {
    let slab = with_values(16);
    slab.retain(|key, _| !(4..12).contains(&key.index()));
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), slab.capacity(), slab.len()), (2, 8, 8));
    slab
}
