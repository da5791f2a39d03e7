//! The bytes that each container reports are those that its source gave, with all side tables.

use std::alloc::Layout;
use std::sync::Arc;

use flatslab::bump::Arena;
use flatslab::bytes::{Atomic, ByteArena, Ring};
use flatslab::collections::{Heap, Indexed, KeyIndex, Lru, TimerWheel};
use flatslab::epoch::{EpochBytes, EpochSlab};
use flatslab::key_slab::{CheckpointSlab, PlainSlab, Storage};
use flatslab::memory::{Pages, Report};
use flatslab::pool::Pool;
use flatslab::sync::{BroadcastRing, SharedPool, SharedRing, SharedSlab, SpscRing};
use flatslab::{BoundedKeySlab, BoundedSlab, GenKey, Key, KeySlab, Slab, TrackedSlab};

use crate::common::Room;
use crate::source::Counted;

/// What each container of this crate says of its memory at the end of each step.
struct Ledger {
    source: Arc<Counted>,
    name: &'static str,
}

impl Ledger {
    fn new(name: &'static str) -> (Ledger, Pages) {
        let source = Counted::new();
        let pages = source.pages();
        (Ledger { source, name }, pages)
    }

    #[track_caller]
    fn check(&self, report: Report) {
        self.check_bytes(report.bytes());
    }

    #[track_caller]
    fn check_bytes(&self, bytes: usize) {
        assert_eq!(bytes, self.source.bytes(), "{}", self.name);
    }

    /// The container is dropped.
    #[track_caller]
    fn end(self) {
        self.source.expect_all_back();
    }
}

#[test]
fn collections_report_all_bytes_that_their_source_gave() {
    let (ledger, pages) = Ledger::new("Heap");
    let mut heap = Heap::<u64>::builder().capacity(100).pages(pages).build();
    ledger.check_bytes(heap.bytes());
    heap.try_grow(300).unwrap();
    ledger.check_bytes(heap.bytes());
    drop(heap);
    ledger.end();

    let (ledger, pages) = Ledger::new("TimerWheel");
    let builder = TimerWheel::<Key>::builder().capacity(100);
    let mut wheel = builder.pages(pages).build();
    ledger.check_bytes(wheel.bytes());
    wheel.try_grow(300).unwrap();
    ledger.check_bytes(wheel.bytes());
    drop(wheel);
    ledger.end();

    let (ledger, pages) = Ledger::new("Lru");
    let mut cache = Lru::builder().capacity(20).pages(pages).build();
    for id in 0..50_u64 {
        cache.insert(id, id);
    }
    ledger.check_bytes(cache.bytes());
    cache.set_deadline(&49, 5);
    ledger.check_bytes(cache.bytes());
    cache.try_resize(90, |_, _| unreachable!()).unwrap();
    ledger.check_bytes(cache.bytes());
    drop(cache);
    ledger.end();

    struct Named(u64);
    impl Indexed<u64> for Named {
        fn id(&self) -> &u64 {
            &self.0
        }
    }
    let (ledger, pages) = Ledger::new("KeyIndex");
    let builder = KeyIndex::<u64>::builder().growing();
    let mut index = builder.pages(pages).build();
    let mut values = KeySlab::new();
    for id in 0..300 {
        index.insert(&mut values, Named(id)).unwrap();
        // Also while there are two tables.
        ledger.check_bytes(index.bytes());
    }
    drop(index);
    ledger.end();
}

/// Each of these is filled, emptied, filled again and shrunk, so that every side table exists: free
/// indices, records, headers, lists of chunks and of what other threads returned. What a helper
/// thread has ready is counted in `tests/slab/growth.rs`.
#[test]
fn every_container_reports_all_bytes_that_its_source_gave() {
    let many = if cfg!(miri) { 40 } else { 10_000 };

    fn tracked<M: Room>(
        name: &'static str,
        many: u64,
        make: impl FnOnce(Pages) -> TrackedSlab<u64, M>,
    ) {
        let (ledger, pages) = Ledger::new(name);
        let slab = make(pages);
        ledger.check(slab.memory());
        for _ in 0..2 {
            let slots: Vec<_> = (0..many).map_while(|n| slab.try_insert(n).ok()).collect();
            ledger.check(slab.memory());
            // What other threads return.
            let mut sent: Vec<_> = slots.into_iter().map(|slot| slot.into_send()).collect();
            let kept = sent.split_off(sent.len() / 2);
            std::thread::spawn(move || drop(sent)).join().unwrap();
            ledger.check(slab.memory());
            drop(kept);
            slab.reclaim();
            M::try_reserve(&slab, many as usize / 2).unwrap();
            ledger.check(slab.memory());
            M::shrink(&slab);
            ledger.check(slab.memory());
        }
        drop(slab);
        ledger.end();
    }
    tracked("BoundedSlab", many, |pages| {
        let builder = BoundedSlab::builder().capacity(many as usize);
        builder.pages(pages).build()
    });
    tracked("BoundedSlab, lazy", many, |pages| {
        let builder = BoundedSlab::builder().capacity(many as usize).lazy();
        builder.pages(pages).build()
    });
    tracked("Slab", many, |pages| {
        Slab::builder().chunk_capacity(16).pages(pages).build()
    });

    fn by_key<S: Storage>(
        name: &'static str,
        many: u64,
        make: impl FnOnce(Pages) -> PlainSlab<u64, GenKey, S>,
    ) {
        let (ledger, pages) = Ledger::new(name);
        let mut slab = make(pages);
        ledger.check(slab.memory());
        while slab.len() < many as usize && slab.try_insert(7).is_ok() {
            ledger.check(slab.memory());
        }
        slab.retain(|key, _| key.index() % 7 == 0);
        ledger.check(slab.memory());
        let clone = slab.clone();
        drop(slab);
        ledger.check(clone.memory());
        drop(clone);
        ledger.end();
    }
    by_key("KeySlab", many / 10, |pages| {
        KeySlab::builder_with_key().pages(pages).build()
    });
    by_key("BoundedKeySlab", many / 10, |pages| {
        let builder = BoundedKeySlab::builder_with_key().capacity(1000);
        builder.pages(pages).build()
    });
    by_key("BoundedKeySlab, lazy", many / 10, |pages| {
        let builder = BoundedKeySlab::builder_with_key().capacity(1000).lazy();
        builder.pages(pages).build()
    });

    let (ledger, pages) = Ledger::new("SharedSlab");
    let slab = SharedSlab::builder().capacity(100).pages(pages).build();
    ledger.check(slab.memory());
    let keys: Vec<_> = (0..100_u64).map(|n| slab.insert(n).unwrap()).collect();
    ledger.check(slab.memory());
    keys.into_iter().for_each(|key| assert!(slab.remove(key)));
    ledger.check(slab.memory());
    drop(slab);
    ledger.end();

    let (ledger, pages) = Ledger::new("SharedPool");
    let builder = SharedPool::builder(|| 7_u64, |_| {}).capacity(300);
    let mut pool = builder.pages(pages).build();
    ledger.check(pool.memory());
    pool.fill();
    drop(pool.take());
    assert_eq!(pool.stats().bytes, pool.memory().bytes());
    ledger.check(pool.memory());
    drop(pool);
    ledger.end();

    let (ledger, pages) = Ledger::new("Pool");
    let pool = Pool::<u64>::builder().capacity(100).pages(pages).build();
    ledger.check(pool.memory());
    let boxes: Vec<_> = (0..100).map(|n| pool.alloc(n)).collect();
    ledger.check(pool.memory());
    drop(boxes);
    ledger.check(pool.memory());
    drop(pool);
    ledger.end();

    let (ledger, pages) = Ledger::new("RecyclingPool");
    let builder = Pool::<u64>::builder().capacity(100).recycle();
    let mut pool = builder.pages(pages).build();
    ledger.check(pool.memory());
    drop([(); 9].map(|()| pool.alloc_or_reuse(|| 7, |_| {})));
    ledger.check(pool.memory());
    pool.clear();
    ledger.check(pool.memory());
    drop(pool);
    ledger.end();

    for max_bytes in [None, Some(1 << 20)] {
        let (ledger, pages) = Ledger::new("Arena");
        let mut builder = Arena::builder();
        if let Some(bytes) = max_bytes {
            builder = builder.max_bytes(bytes);
        }
        let mut arena = builder.pages(pages).build();
        ledger.check(arena.memory());
        for round in 0..3 {
            for size in [1, 5000, 100, 70_000] {
                arena.alloc_layout(Layout::array::<u8>(size * (round + 1)).unwrap());
                ledger.check(arena.memory());
            }
            arena.reset();
            ledger.check(arena.memory());
        }
        arena.shrink_to_fit();
        ledger.check(arena.memory());
        drop(arena);
        ledger.end();
    }

    fn buffers<R: flatslab::bytes::References>(
        name: &'static str,
        make: impl FnOnce(Pages) -> ByteArena<R>,
    ) {
        let (ledger, pages) = Ledger::new(name);
        let arena = make(pages);
        ledger.check(arena.memory());
        for round in 1..4 {
            let mut all = Vec::new();
            let sizes = [1, 100, 1000, 5000, 100_000];
            for size in &sizes[..if cfg!(miri) { 3 } else { 5 }] {
                for _ in 0..if cfg!(miri) { 2 } else { 20 } {
                    all.extend(arena.try_alloc(size * round));
                    ledger.check(arena.memory());
                }
            }
            let half = all.split_off(all.len() / 2);
            drop(all);
            arena.shrink_to_fit();
            ledger.check(arena.memory());
            drop(half);
            arena.shrink_to_fit();
            ledger.check(arena.memory());
        }
        drop(arena);
        ledger.end();
    }
    buffers("ByteArena", |pages| {
        ByteArena::builder()
            .chunk_bytes(1 << 14)
            .pages(pages)
            .build()
    });
    buffers::<Atomic>("ByteArena, atomic counts", |pages| {
        let builder = ByteArena::builder().atomic().chunk_bytes(1 << 14);
        builder.pages(pages).build()
    });
    buffers("ByteArena, with a limit", |pages| {
        let builder = ByteArena::builder().chunk_bytes(1 << 14);
        builder.max_bytes(1 << 20).pages(pages).build()
    });

    // Entries more than once around the ring.
    macro_rules! ring {
        ($ring:ident) => {{
            let (ledger, pages) = Ledger::new(stringify!($ring));
            let ring = $ring::builder().entries(20).max_len(300).pages(pages);
            #[allow(unused_mut, reason = "a shared ring needs no exclusive borrow")]
            let mut ring = ring.build();
            ledger.check(ring.memory());
            for _ in 0..100 {
                ring.push(&[7; 300]).unwrap();
                ledger.check(ring.memory());
            }
            drop(ring);
            ledger.end();
        }};
    }
    ring!(Ring);
    ring!(SharedRing);

    let (ledger, pages) = Ledger::new("SpscRing");
    let ring = SpscRing::builder()
        .entries(20)
        .max_len(300)
        .pages(pages)
        .build();
    ledger.check(ring.memory());
    drop(ring);
    ledger.end();

    let (ledger, pages) = Ledger::new("SpscRing of values");
    let ring = SpscRing::builder()
        .entries(20)
        .pages(pages)
        .values::<[u64; 3]>();
    let ring = ring.build();
    ledger.check(ring.memory());
    drop(ring);
    ledger.end();

    let (ledger, pages) = Ledger::new("BroadcastRing");
    let ring = BroadcastRing::<[u64; 3]>::builder()
        .entries(20)
        .consumers(3)
        .followers(2);
    let ring = ring.pages(pages).build();
    ledger.check(ring.memory());
    drop(ring);
    ledger.end();

    let (ledger, pages) = Ledger::new("EpochSlab");
    let slab = EpochSlab::<u64>::builder().epochs(4).pages(pages).build();
    ledger.check(slab.memory());
    for round in 0..4 {
        let keys: Vec<_> = (0..many).map(|n| slab.insert(n)).collect();
        ledger.check(slab.memory());
        slab.advance();
        for (at, key) in keys.into_iter().enumerate() {
            if at % 100 != round {
                slab.take(key);
            }
        }
        ledger.check(slab.memory());
    }
    for _ in 0..if cfg!(miri) { 9 } else { 100 } {
        slab.insert(7);
        slab.advance_and_close();
        ledger.check(slab.memory());
    }
    slab.shrink_to_fit();
    ledger.check(slab.memory());
    drop(slab);
    ledger.end();

    let (ledger, pages) = Ledger::new("EpochBytes");
    let bytes = EpochBytes::builder().epochs(4).pages(pages).build();
    ledger.check(bytes.memory());
    let sizes = [1, 100, 1000, 5000, 60_000];
    for &size in &sizes[..if cfg!(miri) { 3 } else { 5 }] {
        for _ in 0..if cfg!(miri) { 2 } else { 100 } {
            drop(bytes.alloc(size));
            ledger.check(bytes.memory());
        }
        bytes.advance();
    }
    bytes.shrink_to_fit();
    ledger.check(bytes.memory());
    drop(bytes);
    ledger.end();

    let (ledger, pages) = Ledger::new("CheckpointSlab");
    let mut slab = CheckpointSlab::from(KeySlab::<u64>::builder().pages(pages).build());
    for round in 0..20 {
        slab.checkpoint();
        for _ in 0..round {
            slab.insert(round);
        }
        slab.values_mut().for_each(|value| *value += 1);
        ledger.check(slab.memory());
    }
    slab.clear();
    slab.keep_last(0);
    slab.shrink_to_fit();
    ledger.check(slab.memory());
    drop(slab);
    ledger.end();
}

/// What a container keeps that had many values, has none, and was shrunk.
#[test]
fn an_emptied_container_that_is_shrunk_keeps_no_side_table_but_those_its_page_names() {
    let many = if cfg!(miri) { 100 } else { 100_000 };

    let (ledger, pages) = Ledger::new("Slab");
    let slab = Slab::<u64>::builder()
        .chunk_capacity(16)
        .pages(pages)
        .build();
    slab.remove_by_key(slab.insert_key(7));
    let fresh = ledger.source.bytes();
    let keys: Vec<_> = (0..many).map(|n| slab.insert_key(n)).collect();
    for key in keys {
        slab.remove_by_key(key);
    }
    slab.shrink_to_fit();
    assert!(ledger.source.bytes() <= fresh, "{}", ledger.name);
    drop(slab);
    ledger.end();

    let (ledger, pages) = Ledger::new("KeySlab");
    let mut slab = KeySlab::<u64, GenKey>::builder_with_key()
        .pages(pages)
        .build();
    for n in 0..many {
        slab.insert(n);
    }
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!(ledger.source.bytes(), 0, "{}", ledger.name);
    drop(slab);
    ledger.end();

    let (ledger, pages) = Ledger::new("Arena");
    let mut arena = Arena::builder().pages(pages).build();
    arena.alloc(7);
    let fresh = ledger.source.bytes();
    for n in 0..many {
        arena.alloc(n);
    }
    arena.reset();
    arena.shrink_to_fit();
    assert!(ledger.source.bytes() <= fresh, "{}", ledger.name);
    drop(arena);
    ledger.end();

    // Positions are never used twice, so their table stays.
    let (ledger, pages) = Ledger::new("ByteArena");
    let arena = ByteArena::builder()
        .chunk_bytes(1 << 14)
        .pages(pages)
        .build();
    drop(arena.alloc(1000));
    arena.shrink_to_fit();
    let fresh = ledger.source.bytes();
    let all: Vec<_> = (0..many / 4).map(|_| arena.alloc(1000)).collect();
    let classes = arena.stats();
    let chunks: usize = classes.classes().iter().map(|class| class.chunks).sum();
    drop(all);
    arena.shrink_to_fit();
    let kept = ledger.source.bytes() - fresh;
    assert!(kept <= 100 * chunks, "{}: {kept} bytes", ledger.name);
    drop(arena);
    ledger.end();

    // Keys are never valid again, so the records of chunks stay, and nothing else.
    let (ledger, pages) = Ledger::new("EpochSlab");
    let slab = EpochSlab::<u64>::builder().pages(pages).build();
    for n in 0..many {
        slab.insert(n);
    }
    slab.clear_epoch(slab.current());
    slab.shrink_to_fit();
    assert_eq!(
        ledger.source.bytes(),
        slab.stats().record_bytes,
        "{}",
        ledger.name
    );
    drop(slab);
    ledger.end();
}
