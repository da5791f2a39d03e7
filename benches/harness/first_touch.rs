//! First touch: what it costs to build a container and to fill it for the first
//! time, in time and in page faults, and that none is left afterwards.
//!
//! Each turn needs a process of its own, in which no page has been used before.

use std::hint::black_box;
use std::mem::ManuallyDrop;

use rand::Rng;

use crate::operation::{Cursor, Handles, Setting};
use crate::payload::{Payload, barrier};
use crate::run::{Measured, Turn};
use crate::subject::Subject;
use crate::{clock, machine};

/// The rows that [`times`] gives, per slot and per value.
pub const TIMES: [&str; 2] = ["BUILD", "FIRST FILL"];

/// The rows that [`faults`] gives.
pub const FAULTS: [&str; 3] = [
    "faults of BUILD",
    "faults of FIRST FILL",
    "faults of 1,000,000 in steady state",
];

const STEADY: usize = 1_000_000;

/// Ticks of building, and of the first insertion into each slot.
pub fn times<V: Payload, S: Subject<V>>(mut setting: Setting) -> Turn {
    machine::pin();
    setting.overhead = clock::overhead();
    setting.timed = setting.live;
    let mut handles = Handles::new(&setting);
    let handles = handles.cursor();
    let begun = clock::start();
    let mut subject = ManuallyDrop::new(S::with_capacity(setting.live));
    let build = (clock::stop() - begun) as f64 / setting.live as f64;
    let fill = setting.batches(|at| {
        barrier(&*subject);
        handles.put(at, subject.insert(V::of(at as u64)));
    });
    Turn(vec![vec![build].into(), fill.into()])
}

/// Minor faults of building, of filling, and of a million removals and insertions
/// in random places of a full container.
pub fn faults<V: Payload, S: Subject<V>>(setting: Setting) -> Turn {
    counted::<V, S>(setting).map(Measured::faults).into()
}

/// The same of a container that must have none in steady state.
pub fn faults_none_in_steady_state<V: Payload, S: Subject<V>>(setting: Setting) -> Turn {
    let counted = counted::<V, S>(setting);
    let name = S::NAME;
    assert_eq!(counted[2], 0, "{name}: {}", FAULTS[2]);
    counted.map(Measured::faults).into()
}

fn counted<V: Payload, S: Subject<V>>(mut setting: Setting) -> [u64; 3] {
    let live = setting.live;
    let mut handles = Handles::new(&setting);
    let handles = handles.cursor();
    let places = (0..STEADY).map(|_| setting.random.random_range(0..live as u32));
    let places: Vec<u32> = places.collect();
    let now = || machine::faults().expect("a system that counts faults");
    // Once on a small one: the pages of the program itself.
    let mut small = S::with_capacity(64);
    fill::<V, S>(&mut small, &handles, 64);
    steady::<V, S>(&mut small, &handles, &[0, 1, 2, 1]);
    drop(small);

    let before = now();
    let mut subject = ManuallyDrop::new(S::with_capacity(live));
    let built = now();
    fill::<V, S>(&mut subject, &handles, live);
    let filled = now();
    steady::<V, S>(&mut subject, &handles, &places);
    [built - before, filled - built, now() - filled]
}

#[inline(never)]
fn fill<V: Payload, S: Subject<V>>(subject: &mut S, handles: &Cursor<S::Handle>, count: usize) {
    for at in 0..count {
        barrier(subject);
        handles.put(at, subject.insert(V::of(at as u64)));
    }
}

#[inline(never)]
fn steady<V: Payload, S: Subject<V>>(subject: &mut S, handles: &Cursor<S::Handle>, places: &[u32]) {
    for &place in places {
        let place = place as usize;
        barrier(subject);
        let value = subject.remove(handles.take(place));
        barrier(subject);
        handles.put(place, subject.insert(black_box(value)));
    }
}
