//! Orders of 64 bytes, as a matching engine allocates them: a slab in place of
//! the allocator. The size of a value is here how much of an order is written.

mod allocators;
mod peers;

use std::hint::black_box;
use std::mem::MaybeUninit;

use flatslab_benches::prelude::*;
use flatslab_benches::subject::floors::{BareFloor, Floor, StampedFloor};
use flatslab_benches::subject::ours::{BoundedByKey, BoundedBySlot, GrowableBySlot};
use flatslab_benches::subject::pools::{PoolByBox, PoolInStorage};
#[cfg(feature = "allocators")]
use peers::BoxOnMimalloc;
use peers::{BoxOnMalloc, NexusBounded, Plurality, RustBox};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const PLAN: Plan = Plan {
    runs: 1,
    ..plan::of(
        "malloc",
        &[(1_000_000, &[8, 64])],
        6_400,
        &["Box, malloc", "floor"],
        cases,
    )
};

/// Allocations in memory that nothing has touched since the system gave it, except
/// what a container touches when it is made.
const FIRST: &str = "first allocation";

fn main() -> ExitCode {
    keep_what_is_freed();
    run::main(&PLAN)
}

fn cases(_: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    macro_rules! subjects {
        ($value:ty) => {
            [
                entries!($value, workloads: BoxOnMalloc RustBox),
                #[cfg(feature = "allocators")]
                entries!($value, workloads: BoxOnMimalloc),
                entries!($value, workloads: BareFloor Floor StampedFloor PoolByBox PoolInStorage
                    BoundedBySlot BoundedByKey GrowableBySlot NexusBounded Plurality),
            ]
            .concat()
        };
    }
    vec![Case {
        // In the order in which a turn runs them.
        rows: vec![
            FIRST,
            "linear allocation",
            "linear free, LIFO",
            "linear free, FIFO",
            "hot churn, LIFO (pair)",
            "hot churn, FIFO (pair)",
            "Swiss cheese",
        ],
        turns: 9,
        columns: &[
            Column::Nanoseconds,
            Column::Cycles,
            Column::Speed("Box, malloc"),
            Column::Ratio("floor"),
            Column::Ratio("floor, stamped"),
            Column::Value(Metric::Faults),
        ],
        entries: match bytes {
            8 => subjects!(Numbered),
            _ => subjects!([u64; 8]),
        },
    }]
}

/// An order of which the number is written, and nothing else.
#[derive(Clone, Copy)]
struct Numbered {
    number: u64,
    _rest: MaybeUninit<[u64; 7]>,
}

impl Payload for Numbered {
    #[inline(always)]
    fn of(number: u64) -> Self {
        Numbered {
            number,
            _rest: MaybeUninit::uninit(),
        }
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        self.number
    }

    #[inline(always)]
    fn number_mut(&mut self) -> &mut u64 {
        &mut self.number
    }
}

/// Has malloc give nothing back to the system: what has been touched once is
/// there for it as it is for a slab.
fn keep_what_is_freed() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    // SAFETY: two settings of the allocator.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX);
    }
}

/// Handles in bare memory, touched.
struct Handles<H>(Vec<MaybeUninit<H>>);

impl<H> Handles<H> {
    fn new(count: usize) -> Self {
        let mut memory: Vec<MaybeUninit<H>> = Vec::new();
        memory.resize_with(count, MaybeUninit::uninit);
        for place in &mut memory {
            // SAFETY: a byte of ours, to be overwritten.
            unsafe { place.as_mut_ptr().cast::<u8>().write_volatile(0) };
        }
        Handles(memory)
    }

    #[inline(always)]
    fn put(&mut self, at: usize, handle: H) {
        self.0[at].write(handle);
    }

    #[inline(always)]
    fn take(&mut self, at: usize) -> H {
        // SAFETY: the workloads take what was put, once.
        unsafe { self.0[at].assume_init_read() }
    }
}

const BURST: usize = 10_000;
const PLACES: usize = 16_384;

/// Gives back to the system what was freed, so that the first allocation of a turn
/// meets memory that was not touched. What mimalloc has is not malloc's to give back.
fn give_back_what_is_free() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    // SAFETY: what is free is in no one's use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The ticks of an operation, and the page faults of all.
fn measured(workload: impl FnOnce() -> f64) -> Measured {
    let before = machine::faults();
    let ticks = workload();
    let faults = machine::faults().zip(before);
    Measured {
        ticks: vec![ticks],
        faults: faults.map(|(after, before)| after - before),
        ..Measured::default()
    }
}

/// All workloads on one container.
fn workloads<V: Payload, S: Subject<V>>(setting: Setting) -> [Measured; 7] {
    let orders = setting.live;
    let (burst, bursts) = (BURST.min(orders), (orders / BURST).max(2));
    give_back_what_is_free();
    let mut subject = S::with_capacity(orders);
    let mut handles = Handles::new(orders);
    // Once over everything: no page faults later.
    let first = measured(|| fill(&mut subject, &mut handles, orders));
    let sum: u64 = (0..orders)
        .map(|at| subject.remove(handles.take(at)).number())
        .sum();
    assert_eq!(
        sum,
        (0..orders as u64).sum::<u64>(),
        "{} lost an order",
        S::NAME
    );
    let mut toggles = toggles(orders, setting.random);

    let allocation = measured(|| fill(&mut subject, &mut handles, orders));
    free(&mut subject, &mut handles, orders, true);
    let [lifo, fifo] = [true, false].map(|newest_first| {
        fill(&mut subject, &mut handles, orders);
        measured(|| free(&mut subject, &mut handles, orders, newest_first))
    });
    let [churn_lifo, churn_fifo] = [true, false].map(|newest_first| {
        measured(|| {
            let pairs = (0..bursts).map(|_| {
                fill(&mut subject, &mut handles, burst)
                    + free(&mut subject, &mut handles, burst, newest_first)
            });
            pairs.sum::<f64>() / bursts as f64
        })
    });
    let cheese = measured(|| swiss_cheese(&mut subject, &mut handles, &mut toggles));
    [
        first, allocation, lifo, fifo, churn_lifo, churn_fifo, cheese,
    ]
}

/// Ticks for each allocation.
#[inline(never)]
fn fill<V: Payload, S: Subject<V>>(
    subject: &mut S,
    handles: &mut Handles<S::Handle>,
    count: usize,
) -> f64 {
    let begun = clock::start();
    for at in 0..count {
        barrier(subject);
        handles.put(at, subject.insert(V::of(at as u64)));
    }
    (clock::stop() - begun) as f64 / count as f64
}

/// Ticks for each free.
#[inline(never)]
fn free<V: Payload, S: Subject<V>>(
    subject: &mut S,
    handles: &mut Handles<S::Handle>,
    count: usize,
    newest_first: bool,
) -> f64 {
    let begun = clock::start();
    if newest_first {
        for at in (0..count).rev() {
            barrier(subject);
            subject.free(handles.take(at));
        }
    } else {
        for at in 0..count {
            barrier(subject);
            subject.free(handles.take(at));
        }
    }
    (clock::stop() - begun) as f64 / count as f64
}

/// Places to be toggled, and which of them are taken.
struct Toggles {
    order: Vec<u32>,
    taken: Vec<bool>,
}

fn toggles(orders: usize, mut random: ChaCha8Rng) -> Toggles {
    let places = PLACES.min(orders);
    Toggles {
        order: (0..orders)
            .map(|_| random.random_range(0..places as u32))
            .collect(),
        taken: vec![false; places],
    }
}

/// Ticks for each toggle: an order where there was none, or none where there
/// was one.
#[inline(never)]
fn swiss_cheese<V: Payload, S: Subject<V>>(
    subject: &mut S,
    handles: &mut Handles<S::Handle>,
    toggles: &mut Toggles,
) -> f64 {
    let begun = clock::start();
    for &place in &toggles.order {
        let place = place as usize;
        let taken = &mut toggles.taken[place];
        barrier(subject);
        if *taken {
            subject.free(handles.take(place));
        } else {
            handles.put(place, subject.insert(V::of(place as u64)));
        }
        *taken = !*taken;
    }
    let ticks = (clock::stop() - begun) as f64 / toggles.order.len() as f64;
    for (place, taken) in toggles.taken.iter_mut().enumerate() {
        if core::mem::take(taken) {
            let found = subject.remove(handles.take(place)).number();
            assert_eq!(found, place as u64, "{} lost an order", S::NAME);
        }
    }
    black_box(ticks)
}
