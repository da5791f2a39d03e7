//! The figures of each container, and what they count.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
// Other tests make the same accesses to memory.
#![cfg(not(each_run))]

use flatslab::key_slab::{KeySlabStorage, PlainSlab};
use flatslab::pool::{Pool, PoolStorage, RecycledBox, RecyclingPool};
use flatslab::{
    BoundedKeySlab, BoundedSlab, Figure, FigureKind, FullError, GenKey, Key, KeySlab, Slab, Stats,
};

/// The peak, if this build counts it.
const fn counted(peak: usize) -> Option<usize> {
    if cfg!(feature = "stats") {
        Some(peak)
    } else {
        None
    }
}

/// The number of each figure that is there, by name; each name once.
fn value(stats: &Stats, name: &str) -> Option<u64> {
    let mut found = stats.iter().filter(|(it, _)| *it == name);
    let value = found.next().map(|(_, value)| value);
    assert!(found.next().is_none(), "{name} twice");
    value
}

#[test]
fn figures_are_printed_in_lines_that_the_iterator_has() {
    let slab = BoundedSlab::with_capacity(2);
    let slot = slab.insert(7_u64).unwrap();
    let stats = slab.stats();
    let lines: Vec<_> = stats.to_string().lines().map(str::to_owned).collect();
    let expected: Vec<_> = stats
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    assert_eq!(lines, expected);
    assert_eq!(value(&stats, "live"), Some(1));
    assert_eq!(value(&stats, "capacity"), Some(2));
    assert_eq!(value(&stats, "bytes"), Some(slab.memory().bytes() as u64));
    // Figures that this slab does not have are left out.
    assert_eq!(
        (value(&stats, "growths"), value(&stats, "retired")),
        (None, None)
    );
    drop(slot);
}

#[test]
fn a_bounded_slab_counts_its_peak_and_what_it_refused() {
    let slab = BoundedSlab::with_capacity(3);
    let mut slots: Vec<_> = (0..3).map(|n| slab.insert(n).unwrap()).collect();
    for _ in 0..2 {
        assert!(slab.insert(9).is_err());
    }
    assert!(slab.vacant_slot().is_err());
    slots.clear();
    let one = slab.insert(7).unwrap();
    let stats = slab.stats();
    assert_eq!((stats.live, stats.free, stats.capacity), (1, 2, 3));
    assert_eq!((stats.peak, stats.refusals), (counted(3), Some(3)));
    drop(one);
    // A slot without a value is in use, and not live.
    let slot = slab.insert(8).unwrap();
    slab.remove_by_key(slot.key());
    let stats = slab.stats();
    assert_eq!((stats.live, stats.free), (0, 2));
    drop(slot);
}

#[test]
fn the_peak_of_a_slab_is_there_before_anything_is_removed() {
    let slab = Slab::new();
    let slots: Vec<_> = (0..10).map(|n| slab.insert(n)).collect();
    assert_eq!(slab.stats().peak, counted(10));
    drop(slots);
    assert_eq!((slab.stats().live, slab.stats().peak), (0, counted(10)));
    slab.shrink_to_fit();
    assert_eq!((slab.stats().capacity, slab.stats().peak), (0, counted(10)));
}

#[test]
fn a_slab_counts_the_chunks_that_it_added() {
    let slab = Slab::<u64>::builder().chunk_capacity(64).build();
    assert_eq!(slab.stats().growths, Some(0));
    let keys: Vec<_> = (0..1000).map(|n| slab.insert_key(n)).collect();
    let added = slab.stats().growths.unwrap();
    assert_eq!(added, slab.chunks() as u64);
    for key in keys {
        slab.remove_by_key(key);
    }
    slab.shrink_to_fit();
    assert_eq!((slab.chunks(), slab.stats().growths), (0, Some(added)));
    slab.insert_key(1);
    assert_eq!(slab.stats().growths, Some(added + 1));
    assert_eq!(slab.stats().bytes, slab.memory().bytes());
}

#[test]
fn a_slab_counts_the_slots_that_threads_returned_and_retired() {
    use flatslab::sync::SendSlot;

    let slab = BoundedSlab::with_capacity(8);
    let slots: Vec<_> = (0..6).map(|n| slab.insert(n).unwrap()).collect();
    let mut sent: Vec<_> = slots.into_iter().map(|slot| slot.into_send()).collect();
    let retired = sent.split_off(4);
    let kept = slab.receive(sent.pop().unwrap()).unwrap();
    std::thread::spawn(move || {
        drop(sent);
        retired
            .into_iter()
            .for_each(|sent| SendSlot::retire(sent).unwrap());
    })
    .join()
    .unwrap();
    // Returned slots are freed first; retired values wait.
    let stats = slab.stats();
    assert_eq!((stats.live, stats.returned), (3, Some(3)));
    assert_eq!(slab.reclaim(), 2);
    let stats = slab.stats();
    assert_eq!(
        (stats.live, stats.returned, stats.peak),
        (1, Some(5), counted(6))
    );
    drop(kept);
}

#[test]
fn a_key_slab_counts_its_growths_and_its_peak() {
    let mut slab = KeySlab::new();
    let keys: Vec<_> = (0..100).map(|n: u64| slab.insert(n)).collect();
    let stats = slab.stats();
    // 4, 8, 16, 32, 64, 128.
    assert_eq!((stats.capacity, stats.growths), (128, Some(6)));
    for key in &keys[50..] {
        slab.remove(*key);
    }
    let stats = slab.stats();
    assert_eq!((stats.live, stats.free, stats.peak), (50, 78, Some(100)));
    assert_eq!(stats.bytes, slab.memory().bytes());
    slab.reserve_exact(200);
    assert_eq!(slab.stats().growths, Some(7));
    slab.reserve_exact(1);
    slab.shrink_to_fit();
    assert_eq!(slab.stats().growths, Some(7));
    assert_eq!(KeySlab::<u64>::with_capacity(9).stats().growths, Some(0));
    // Bounded slabs do not grow.
    let bounded = BoundedKeySlab::<u64>::with_capacity(4);
    assert_eq!(bounded.stats().growths, None);
    assert_eq!(bounded.stats().bytes, bounded.memory().bytes());
    let slab = KeySlab::<u64, GenKey>::with_capacity_and_key(1);
    assert_eq!(slab.stats().retired, Some(0));
}

#[test]
fn a_bounded_key_slab_counts_what_it_refused() {
    let mut slab = BoundedKeySlab::with_capacity(2);
    assert_eq!(slab.stats().refusals, Some(0));
    let keys = [1, 2].map(|value| slab.insert(value).unwrap());
    assert_eq!(slab.insert(3), Err(FullError(3)));
    assert_eq!(slab.try_insert(4), Err(FullError(4)));
    assert!(slab.vacant_entry().is_err() && slab.try_vacant_entry().is_err());
    assert_eq!(slab.stats().refusals, Some(4));
    // What asks, or names a slot, is not refused because the slab is full.
    assert_eq!(slab.vacant_key(), None);
    assert!(slab.insert_at(keys[0], 5).is_err());
    assert!(slab.insert_at(Key::from_raw(2), 5).is_err());
    slab.remove(keys[0]);
    slab.insert(6).unwrap();
    assert_eq!(slab.stats().refusals, Some(4));
    // A slab counts on if it becomes a clone, and a clone counts from 0.
    assert_eq!(slab.clone().stats().refusals, Some(0));
    slab.clone_from(&BoundedKeySlab::with_capacity(0));
    assert!(slab.insert(7).is_err());
    slab.clone_from(&BoundedKeySlab::with_capacity(0));
    assert_eq!(slab.stats().refusals, Some(5));

    // Values that are not passed in registers.
    let mut slab = BoundedKeySlab::<[u64; 32], GenKey>::with_capacity_and_key(0);
    assert_eq!(slab.insert([7; 32]).unwrap_err().into_inner(), [7; 32]);
    assert_eq!(slab.stats().refusals, Some(1));

    let mut storage = KeySlabStorage::<u64, 1>::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    slab.insert(1).unwrap();
    assert!(slab.insert(2).is_err());
    assert_eq!(
        (slab.stats().refusals, slab.stats().growths),
        (Some(1), None)
    );
    // The same word tells whether generations wrap.
    let mut slab = slab.wrapping_generations();
    assert!(slab.insert(2).is_err());
    assert_eq!(
        (slab.stats().refusals, slab.stats().retired),
        (Some(2), Some(0))
    );
}

#[test]
#[cfg(feature = "std")]
fn a_key_slab_counts_the_insertions_that_got_no_memory() {
    use std::sync::Arc;

    use flatslab::memory::{Pages, Region};

    let region = Arc::new(Region::try_new(4096, Pages::new()).unwrap());
    let mut slab = KeySlab::<u64>::builder().pages(region.pages()).build();
    while slab.try_insert(7).is_ok() {}
    assert!(slab.try_vacant_entry().is_err());
    assert!(slab.insert_at(Key::from_raw(100_000), 7).is_err());
    assert!(slab.try_extend([(Key::from_raw(100_000), 7)]).is_err());
    let stats = slab.stats();
    assert_eq!((stats.refusals, stats.free), (Some(4), 0));
    assert!(stats.growths.unwrap() > 0);
    // Memory that no value waits for is not counted.
    assert!(slab.try_reserve(1_000_000).is_err() && slab.prepare(1_000_000).is_err());
    assert!(slab.try_reserve_exact(1_000_000).is_err());
    assert_eq!(slab.stats().refusals, Some(4));
}

#[test]
fn each_figure_says_whether_it_only_increases() {
    fn counters(figures: impl Iterator<Item = Figure>) -> Vec<&'static str> {
        let counters = figures.filter(|figure| figure.kind == FigureKind::Counter);
        counters.map(|figure| figure.name).collect()
    }
    fn pairs(figures: impl Iterator<Item = Figure>) -> Vec<(&'static str, u64)> {
        figures.map(|figure| (figure.name, figure.value)).collect()
    }
    let slab = Slab::<u64>::new().stats();
    assert_eq!(
        counters(slab.figures()),
        ["refusals", "growths", "returned"]
    );
    assert!(pairs(slab.figures()).into_iter().eq(slab.iter()));
    let keys = KeySlab::<u64>::new().stats();
    assert_eq!(counters(keys.figures()), ["refusals", "growths"]);
    assert!(pairs(keys.figures()).into_iter().eq(keys.iter()));
    let pool = Pool::<u64>::with_capacity(1).stats();
    assert_eq!(counters(pool.figures()), ["refusals"]);

    let epochs = flatslab::epoch::EpochSlab::<u64>::new().stats();
    assert_eq!(
        counters(epochs.figures()),
        ["advances", "close_calls", "closed", "scanned", "recycled"]
    );
    assert!(pairs(epochs.figures()).into_iter().eq(epochs.iter()));
    let bytes = flatslab::bytes::ByteArena::new().stats();
    let gauges: Vec<_> = (bytes.figures())
        .filter(|figure| figure.kind == FigureKind::Gauge)
        .map(|figure| figure.name)
        .collect();
    assert_eq!(gauges, ["size_classes", "held_by_locs", "chunk_bytes"]);
    assert!(pairs(bytes.figures()).into_iter().eq(bytes.iter()));
    let class = bytes.classes()[0];
    assert_eq!(counters(class.figures()), ["allocs"]);
    assert!(pairs(class.figures()).into_iter().eq(class.iter()));
    let words = [FigureKind::Counter, FigureKind::Gauge].map(|kind| kind.to_string());
    assert_eq!(words, ["counter", "gauge"]);
}

#[test]
fn a_pool_counts_its_peak_and_what_it_refused() {
    let pool = Pool::with_capacity(4);
    let boxes: Vec<_> = (0..3).map(|n| pool.alloc(n)).collect();
    drop(boxes);
    let boxes: Vec<_> = core::iter::from_fn(|| pool.try_alloc(7).ok())
        .take(4)
        .collect();
    assert!(pool.try_alloc(8).is_err() && pool.try_alloc_uninit().is_err());
    let stats = pool.stats();
    assert_eq!((stats.live, stats.free, stats.capacity), (4, 0, 4));
    assert_eq!((stats.peak, stats.refusals), (counted(4), Some(2)));
    assert_eq!(stats.bytes, pool.memory().bytes());
    drop(boxes);
    let mut pool = pool;
    pool.reset();
    assert_eq!(
        (pool.stats().peak, pool.stats().refusals),
        (counted(0), Some(2))
    );
}

#[test]
fn a_pool_in_a_storage_has_the_same_figures() {
    let mut storage = PoolStorage::<u64, 4>::new();
    let pool = Pool::in_storage(&mut storage);
    let boxes: Vec<_> = (0..4).map(|n| pool.alloc(n)).collect();
    assert!(pool.try_alloc(8).is_err());
    drop(boxes);
    let stats = pool.stats();
    assert_eq!((stats.live, stats.free, stats.peak), (0, 4, counted(4)));
    assert_eq!((stats.refusals, stats.bytes), (Some(1), 4 * 8));
}

#[test]
fn a_recycling_pool_has_a_peak_of_boxes_and_not_of_kept_values() {
    let mut pool = RecyclingPool::with_capacity(4);
    for _ in 0..3 {
        let _boxes: [_; 2] = core::array::from_fn(|_| pool.alloc_or_reuse(|| 7, |_| {}));
    }
    let stats = pool.stats();
    assert_eq!((stats.live, stats.free, stats.peak), (0, 4, counted(2)));
    assert_eq!(stats.bytes, pool.memory().bytes());
    // Values that are taken out or dropped give their cells back.
    let boxes: [_; 3] = core::array::from_fn(|_| pool.alloc_or_reuse(|| 7, |_| {}));
    assert_eq!(boxes.map(RecycledBox::into_inner), [7; 3]);
    pool.clear();
    assert_eq!((pool.stats().live, pool.stats().peak), (0, counted(3)));
}

#[test]
#[cfg(feature = "std")]
fn the_peak_of_a_storage_counts_boxes_that_were_sent() {
    use flatslab::pool::PoolBox;

    static STORAGE: PoolStorage<u64, 4> = PoolStorage::new();

    let pool = &*STORAGE.claim().unwrap();
    let sent: Vec<_> = (0..3).map(|n| PoolBox::into_send(pool.alloc(n))).collect();
    std::thread::spawn(move || drop(sent)).join().unwrap();
    assert_eq!(pool.reclaim(), 3);
    assert_eq!((pool.stats().live, pool.stats().peak), (0, counted(3)));
}

#[test]
fn a_slab_that_becomes_a_clone_counts_on() {
    let (mut slab, mut larger) = (KeySlab::new(), KeySlab::new());
    (0..10).for_each(|n| _ = slab.insert(n));
    (0..1000).for_each(|n| _ = larger.insert(n));
    let before = slab.stats().growths.unwrap();
    slab.clone_from(&larger);
    assert_eq!(slab.stats().growths, Some(before + 1));
}

#[test]
#[cfg(feature = "std")]
fn a_shared_slab_has_figures() {
    use flatslab::sync::SharedSlab;

    let slab = SharedSlab::with_capacity(8);
    let key = slab.insert(7_u64).unwrap();
    let stats = slab.stats();
    assert_eq!((stats.live, stats.free, stats.capacity), (1, 7, 8));
    assert_eq!(
        (stats.bytes, stats.retired),
        (slab.memory().bytes(), Some(0))
    );
    slab.remove(key);
    assert_eq!(slab.stats().live, 0);
}

#[test]
fn a_report_on_memory_has_an_iterator_too() {
    let slab = BoundedSlab::<u64>::with_capacity(100);
    let report = slab.memory();
    let figures: Vec<_> = report.iter().collect();
    assert_eq!(
        figures,
        [("bytes", report.bytes() as u64), ("shortfalls", 0)]
    );
}

#[test]
fn a_slab_with_epochs_prints_each_field_in_a_line() {
    let slab = flatslab::epoch::EpochSlab::new();
    slab.insert(7_u64);
    slab.advance_and_close();
    let stats = slab.stats();
    let names: Vec<_> = stats.iter().map(|(name, _)| name).collect();
    // Each field, in the order of the struct.
    let fields = format!("{stats:?}");
    let fields: Vec<_> = fields
        .trim_start_matches("Stats { ")
        .split(", ")
        .filter_map(|field| field.split(':').next())
        .collect();
    assert_eq!(names, fields);
    assert!(
        stats.to_string().contains("\npinned_epochs: 1\n"),
        "{stats}"
    );
}
