//! Growth: insertions into an empty container, every single one timed.
//!
//! Each turn needs a process of its own: what one container did changes what the
//! allocator has in store for the next.

use std::mem::MaybeUninit;

use crate::operation::Setting;
use crate::payload::Payload;
use crate::subject::Subject;
use crate::{clock, machine};

/// Into a container that begins with nothing.
pub fn growing<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    each_insertion(S::with_capacity(0), setting.live)
}

/// Into a container that is made for as many values.
pub fn of_full_size<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    each_insertion(S::with_capacity(setting.live), setting.live)
}

/// The ticks of each insertion. The container was made before this thread is
/// pinned: a helper of its own runs elsewhere.
fn each_insertion<V: Payload, S: Subject<V>>(mut subject: S, inserts: usize) -> Vec<f64> {
    // Buffers whose pages are there: their faults are not the container's.
    let mut times = vec![u32::MAX; inserts];
    let mut handles: Vec<MaybeUninit<S::Handle>> = Vec::with_capacity(inserts);
    for at in 0..inserts {
        // SAFETY: within the capacity; a byte to be overwritten.
        unsafe { handles.as_mut_ptr().add(at).cast::<u8>().write_volatile(0) };
    }
    machine::pin();
    let overhead = clock::overhead();
    for (at, time) in times.iter_mut().enumerate() {
        let value = V::of(at as u64);
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
