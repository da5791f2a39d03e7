//! What containers ask the allocator for: never more often than the crate whose interface they
//! have, and no more bytes but 4 for each slot.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { calls: 0, live: 0 }) };
}

#[derive(Clone, Copy)]
struct Counts {
    /// Of `alloc` and `realloc`.
    calls: usize,
    live: usize,
}

impl Counts {
    fn change(calls: usize, asked: usize, freed: usize) {
        let mut counts = COUNTS.get();
        counts.calls += calls;
        // What came from another thread is freed here, too.
        counts.live = (counts.live + asked).saturating_sub(freed);
        COUNTS.set(counts);
    }
}

struct Counting;

// SAFETY: all is passed on to the system's allocator; the counts allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counts::change(1, layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Counts::change(0, 0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counts::change(1, size, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What it costs to make a container, and how many slots it has.
fn cost<C>(make: impl FnOnce() -> C, slots: impl FnOnce(&C) -> usize) -> (Counts, usize) {
    COUNTS.set(Counts { calls: 0, live: 0 });
    let container = black_box(make());
    let counts = COUNTS.get();
    let slots = slots(&container);
    drop(container);
    assert_eq!(COUNTS.get().live, 0, "all is freed");
    (counts, slots)
}

#[track_caller]
fn compare(name: &str, ours: (Counts, usize), theirs: Counts) {
    let (ours, slots) = ours;
    println!(
        "{name}: {} calls, {} bytes; there {} calls, {} bytes",
        ours.calls, ours.live, theirs.calls, theirs.live
    );
    // Large blocks begin on a line of the cache.
    let rounding = if ours.live > 1 << 16 { 64 } else { 0 };
    assert!(ours.calls <= theirs.calls, "{name}: calls");
    assert!(
        ours.live <= theirs.live + 4 * slots + rounding,
        "{name}: bytes"
    );
}

const NUMBERS: [usize; 8] = [0, 1, 4, 5, 16, 100, 1000, 10_000];

fn all<V: Copy>(value: V) {
    for n in NUMBERS {
        let bytes = size_of::<V>();
        let name = |how: &str| format!("{n} values of {bytes} bytes, {how}");
        macro_rules! slab {
            ($how:literal, $ours:expr, $theirs:expr) => {
                compare(
                    &name(concat!("slab ", $how)),
                    cost(|| $ours, |slab| slab.capacity()),
                    cost(|| $theirs, |_| 0).0,
                );
            };
        }
        macro_rules! filled {
            ($container:expr) => {{
                let mut container = $container;
                for _ in 0..n {
                    container.insert(black_box(value));
                }
                container
            }};
        }
        slab!(
            "inserted",
            filled!(slab::Slab::new()),
            filled!(real_slab::Slab::new())
        );
        slab!(
            "inserted with capacity",
            filled!(slab::Slab::with_capacity(n)),
            filled!(real_slab::Slab::with_capacity(n))
        );
        slab!(
            "collected",
            (0..n).map(|key| (key, value)).collect::<slab::Slab<V>>(),
            (0..n)
                .map(|key| (key, value))
                .collect::<real_slab::Slab<V>>()
        );
        slab!(
            "cloned",
            filled!(slab::Slab::new()).clone(),
            filled!(real_slab::Slab::new()).clone()
        );
        slab!(
            "shrunk",
            {
                let mut slab = filled!(slab::Slab::new());
                slab.retain(|key, _| key < n / 2);
                slab.shrink_to_fit();
                slab
            },
            {
                let mut slab = filled!(real_slab::Slab::new());
                slab.retain(|key, _| key < n / 2);
                slab.shrink_to_fit();
                slab
            }
        );
        macro_rules! slotmap {
            ($how:literal, $ours:expr, $theirs:expr) => {
                compare(
                    &name(concat!("slotmap ", $how)),
                    cost(|| $ours, |map| map.capacity()),
                    cost(|| $theirs, |_| 0).0,
                );
            };
        }
        slotmap!(
            "inserted",
            filled!(slotmap::SlotMap::new()),
            filled!(real_slotmap::SlotMap::new())
        );
        slotmap!(
            "inserted with capacity",
            filled!(slotmap::SlotMap::with_capacity(n)),
            filled!(real_slotmap::SlotMap::with_capacity(n))
        );
        slotmap!(
            "cloned",
            filled!(slotmap::SlotMap::new()).clone(),
            filled!(real_slotmap::SlotMap::new()).clone()
        );
        macro_rules! secondary {
            ($crate_name:ident) => {{
                let mut map = $crate_name::SecondaryMap::new();
                for index in 1..=n as u64 {
                    let key = $crate_name::KeyData::from_ffi(1 << 32 | index);
                    map.insert($crate_name::DefaultKey::from(key), black_box(value));
                }
                map
            }};
        }
        compare(
            &name("secondary map"),
            cost(|| secondary!(slotmap), |_| 0),
            cost(|| secondary!(real_slotmap), |_| 0).0,
        );
    }
}

#[test]
fn containers_ask_for_no_more_than_4_bytes_a_slot_more() {
    all(7_u64);
    all([7_u8; 8]);
    all([7_u64; 8]);
    all([7_u64; 25]);
    all([7_u8; 200]);
    all("value");
}

#[test]
fn containers_themselves_have_64_bytes_at_most() {
    assert!(size_of::<slab::Slab<u64>>() <= 64);
    assert!(size_of::<slotmap::SlotMap<slotmap::DefaultKey, u64>>() <= 64);
    assert!(
        size_of::<slotmap::SecondaryMap<slotmap::DefaultKey, u64>>()
            <= size_of::<real_slotmap::SecondaryMap<real_slotmap::DefaultKey, u64>>()
    );
}
