//! Two million insertions into an empty container, every single one timed, each
//! container in a process of its own: what growth costs the insertion it hits.

mod peers;

use std::mem::MaybeUninit;
use std::process::ExitCode;

use flatslab_benches::arguments::Arguments;
use flatslab_benches::operation::Setting;
use flatslab_benches::run::{self, Case, Plan};
use flatslab_benches::subject::ours::{BoundedBySlot, GrowableAhead, GrowableBySlot, Plain};
use flatslab_benches::{Payload, Subject, clock, entries, machine, table};
use peers::{BoxOnMalloc, NexusUnbounded, SlabCrate, SlotMap, VecPush};

const PLAN: Plan = Plan {
    bench: "growth",
    grid: &[(2_000_000, &[8, 64])],
    quick_live: 51_200,
    runs: 5,
    references: &["slab"],
    columns: table::PERCENTILES,
    in_processes: true,
    stretches: Some(500),
    cases,
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    macro_rules! subjects {
        ($value:ty) => {
            entries!($value, fill: SlabCrate GrowableBySlot GrowableAhead BoundedBySlot Plain
                NexusUnbounded SlotMap VecPush BoxOnMalloc)
        };
    }
    vec![Case {
        rows: vec!["GROWTH"],
        turns: 1,
        entries: match bytes {
            8 => subjects!(u64),
            _ => subjects!([u64; 8]),
        },
    }]
}

fn fill<V: Payload, S: Subject<V>>(setting: Setting) -> Vec<f64> {
    let inserts = setting.live;
    // Buffers whose pages are there: their faults are not the container's.
    let mut times = vec![u32::MAX; inserts];
    let mut handles: Vec<MaybeUninit<S::Handle>> = Vec::with_capacity(inserts);
    for at in 0..inserts {
        // SAFETY: within the capacity; a byte to be overwritten.
        unsafe { handles.as_mut_ptr().add(at).cast::<u8>().write_volatile(0) };
    }
    // Made before the thread is pinned: a helper of its own runs elsewhere. The
    // container that does not grow shows what the machine itself costs.
    let grows = S::NAME != BoundedBySlot::<V>::NAME;
    let mut subject = S::with_capacity(if grows { 0 } else { inserts });
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
