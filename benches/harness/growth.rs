//! Growth: insertions into an empty container, every single one timed.
//!
//! In programs of four kinds, for what a growth costs is the allocator's to say: one that has
//! just been started, one that has freed a large block, as each does that has read a file, and
//! two with other allocators. And at a pace, which is that of a busy second, and not of a loop.
//!
//! Each turn needs a process of its own: what one container did changes what the
//! allocator has in store for the next.

use std::mem::MaybeUninit;

use crate::operation::Setting;
use crate::payload::Payload;
use crate::subject::Subject;
use crate::{clock, machine};

/// The name of the bench.
pub const BENCH: &str = "growth";

/// In a program that has just been started.
pub const FRESH: &str = "GROWTH";
/// In one that has freed a block of almost 32 MiB.
pub const RUNNING: &str = "GROWTH, running";
/// On mimalloc.
pub const MIMALLOC: &str = "GROWTH, mimalloc";
/// On jemalloc.
pub const JEMALLOC: &str = "GROWTH, jemalloc";
/// A million insertions a second, in a running program.
pub const PACED: &str = "GROWTH, a million a second";

/// A file that was read: as large a block as raises the threshold of glibc's allocator to the
/// highest it takes. With its header and whole pages it may have 32 MiB: one of 32 MiB alone
/// has a page more, and raises nothing.
const FREED: usize = (32 << 20) - (64 << 10);

/// What a program does that has been running.
fn have_run() {
    let mut block = vec![0_u8; FREED];
    for byte in block.iter_mut().step_by(4096) {
        *byte = 1;
    }
    std::hint::black_box(&block);
}

/// Into a container that begins with nothing.
pub fn growing<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    each_insertion(S::with_capacity(0), setting.live, 0)
}

/// The same in a program that has been running.
pub fn growing_in_running<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    have_run();
    growing::<V, S>(setting)
}

/// The same, a million a second.
pub fn paced<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    have_run();
    each_insertion(S::with_capacity(0), setting.live, MICROSECOND)
}

/// Into a container that is made for as many values.
pub fn of_full_size<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    each_insertion(S::with_capacity(setting.live), setting.live, 0)
}

/// The same in a program that has been running.
pub fn of_full_size_in_running<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    have_run();
    of_full_size::<V, S>(setting)
}

/// The same, a million a second.
pub fn paced_of_full_size<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    have_run();
    each_insertion(S::with_capacity(setting.live), setting.live, MICROSECOND)
}

/// In nanoseconds.
const MICROSECOND: u64 = 1000;

/// The ticks of each insertion, of which one begins every so many nanoseconds, or as soon as the
/// one before it is done. The container was made before this thread is
/// pinned: a helper of its own runs elsewhere.
fn each_insertion<V: Payload, S: Subject<V>>(
    mut subject: S,
    inserts: usize,
    nanoseconds: u64,
) -> Vec<f64> {
    // Buffers whose pages are there: their faults are not the container's.
    let mut times = vec![u32::MAX; inserts];
    let mut handles: Vec<MaybeUninit<S::Handle>> = Vec::with_capacity(inserts);
    for at in 0..inserts {
        // SAFETY: within the capacity; a byte to be overwritten.
        unsafe { handles.as_mut_ptr().add(at).cast::<u8>().write_volatile(0) };
    }
    machine::pin();
    let overhead = clock::overhead();
    let pace = (nanoseconds as f64 * clock::ticks_per_ns()) as u64;
    let mut due = clock::start();
    for (at, time) in times.iter_mut().enumerate() {
        let value = V::of(at as u64);
        // One that is late is made up for: the next ones begin at once.
        due += pace;
        while pace > 0 && clock::start() < due {
            std::hint::spin_loop();
        }
        let begun = clock::start();
        let handle = subject.insert(value);
        let ticks = clock::stop() - begun;
        *time = ticks.saturating_sub(overhead).min(u64::from(u32::MAX)) as u32;
        handles.push(MaybeUninit::new(handle));
    }
    for (at, handle) in handles.iter().enumerate() {
        // SAFETY: written above.
        let found = subject.get(unsafe { handle.assume_init_ref() });
        assert_eq!(found, at as u64, "{}: a wrong value", S::NAME);
    }
    // The process ends: to take it all down again would only take time.
    std::mem::forget(subject);
    times.into_iter().map(f64::from).collect()
}
