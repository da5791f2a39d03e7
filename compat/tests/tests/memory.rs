//! What containers ask the allocator for: never more often than the crate whose interface they
//! have, and no more bytes but 4 for each slot.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts::NONE) };
}

#[derive(Clone, Copy)]
struct Counts {
    /// Of `alloc` and `realloc`.
    calls: usize,
    live: usize,
    /// The most that was live at once.
    peak: usize,
}

impl Counts {
    const NONE: Counts = Counts {
        calls: 0,
        live: 0,
        peak: 0,
    };

    fn change(calls: usize, asked: usize, freed: usize) {
        let mut counts = COUNTS.get();
        counts.calls += calls;
        // What came from another thread is freed here, too.
        counts.live = (counts.live + asked).saturating_sub(freed);
        counts.peak = counts.peak.max(counts.live);
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
    COUNTS.set(Counts::NONE);
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
        slotmap!(
            "dense, inserted",
            filled!(slotmap::DenseSlotMap::new()),
            filled!(real_slotmap::DenseSlotMap::new())
        );
        slotmap!(
            "dense, inserted with capacity",
            filled!(slotmap::DenseSlotMap::with_capacity(n)),
            filled!(real_slotmap::DenseSlotMap::with_capacity(n))
        );
        slotmap!(
            "dense, cloned",
            filled!(slotmap::DenseSlotMap::new()).clone(),
            filled!(real_slotmap::DenseSlotMap::new()).clone()
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

/// `slab` allocates for as many values as the input announces, before it reads one.
#[test]
fn a_forged_length_takes_little_memory() {
    fn read<V: serde::de::DeserializeOwned>(announced: u64) -> usize {
        COUNTS.set(Counts::NONE);
        let read = bincode::deserialize::<slab::Slab<V>>(&announced.to_le_bytes());
        let counts = COUNTS.get();
        assert!(read.is_err());
        counts.peak
    }
    for announced in [1_000, 1_000_000, (1 << 30) - 5, 1 << 30, 1 << 40, u64::MAX] {
        for peak in [
            read::<[u64; 32]>(announced),
            read::<u8>(announced),
            read::<()>(announced),
        ] {
            assert!(peak <= (1 << 20) + 4096, "{announced} values: {peak} bytes");
        }
        // The same kind: what a map announces.
        COUNTS.set(Counts::NONE);
        let read = bincode::deserialize::<slotmap::SlotMap<slotmap::DefaultKey, [u64; 32]>>(
            &announced.to_le_bytes(),
        );
        let peak = COUNTS.get().peak;
        assert!(
            read.is_err() && peak <= 2 << 20,
            "{announced} values: {peak} bytes"
        );
    }
}

/// A slab has the same capacity as in `slab` if it takes less than what is allocated ahead.
#[test]
fn a_slab_that_is_read_has_as_many_slots_as_its_input_announces() {
    for values in [0, 1, 5, 1000, 3912] {
        let ours: slab::Slab<[u64; 32]> = (0..values).map(|key| (key, [7; 32])).collect();
        let bytes = bincode::serialize(&ours).unwrap();
        let ours: slab::Slab<[u64; 32]> = bincode::deserialize(&bytes).unwrap();
        let theirs: real_slab::Slab<[u64; 32]> = bincode::deserialize(&bytes).unwrap();
        assert_eq!(ours.capacity(), theirs.capacity());
        assert!(ours.iter().eq(theirs.iter()));
    }
}

#[test]
fn a_slab_larger_than_what_is_allocated_ahead_is_read() {
    let ours: slab::Slab<[u64; 32]> = (0..9000).map(|key| (key, [key as u64; 32])).collect();
    let bytes = bincode::serialize(&ours).unwrap();
    let read: slab::Slab<[u64; 32]> = bincode::deserialize(&bytes).unwrap();
    assert!(read.iter().eq(ours.iter()));
}
