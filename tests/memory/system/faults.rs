//! Page faults, counted: none in steady operation, none after `prepare` or `reserve`,
//! and none in the removals that follow growth.

use std::alloc::Layout;
use std::hint::black_box;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use flatslab::key_slab::Storage;
use flatslab::memory::{MemorySource, Pages};
use flatslab::{
    AllocError, BoundedKeySlab, BoundedSlab, Builder, Key, KeySlab, Memory, PlainSlab, Slab,
    TrackedSlab,
};

use super::child::{faults, fewest_faults};

type Order = [u64; 8];

const LIVE: usize = 20_000;
const STEPS: usize = 1_000_000 / if cfg!(debug_assertions) { 4 } else { 1 };

/// The recipe of the guide's page `linux`: a map with twice the capacity never grows, and is
/// populated when it is created.
#[test]
#[cfg(feature = "allocator-api2")]
fn a_map_in_pages_neither_faults_nor_grows() {
    use flatslab::memory::PageAllocator;
    use hashbrown::{DefaultHashBuilder, HashMap};

    let pages = PageAllocator::try_new(Pages::system()).unwrap();
    let hasher = DefaultHashBuilder::default();
    let mut map = HashMap::with_capacity_and_hasher_in(2 * LIVE, hasher, pages.clone());
    let bytes = pages.memory().bytes();
    let mut id = 0_u64;
    let mut random = 1_u64;
    let mut ids = vec![u64::MAX; LIVE];
    ids.clear();
    // From the first insertion on.
    let found = faults(|| {
        for _ in 0..STEPS {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let at = (random >> 33) as usize % LIVE;
            if map.len() == LIVE {
                map.remove(&std::mem::replace(&mut ids[at], id)).unwrap();
            } else {
                ids.push(id);
            }
            map.insert(id, id);
            id += 1;
        }
    });
    assert_eq!(pages.memory().bytes(), bytes);
    // The map has 160 pages. Some of the stack and of the program may be new.
    assert!(found < 32, "{found} faults in {STEPS} steps");
}

/// Steady inserts and removals, among so many values.
fn steady<S>(
    slab: &mut S,
    insert: impl Fn(&mut S, Order) -> Key,
    remove: impl Fn(&mut S, Key) -> Order,
) {
    let mut keys: Vec<Key> = (0..LIVE).map(|n| insert(slab, [n as u64; 8])).collect();
    let mut random = 1_u64;
    let found = fewest_faults(|| {
        for step in 0..STEPS {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let at = (random >> 33) as usize % LIVE;
            black_box(remove(slab, keys[at]));
            keys[at] = insert(slab, [step as u64; 8]);
        }
    });
    assert_eq!(found, 0, "faults in {STEPS} steps");
}

#[test]
fn steady_operation_does_not_fault() {
    let pages = Pages::system();
    let mut slab = BoundedSlab::<Order>::builder()
        .capacity(LIVE + 10)
        .pages(pages.clone())
        .build();
    steady(
        &mut slab,
        |slab, order| slab.insert_key(order).unwrap(),
        |slab, key| slab.remove_by_key(key),
    );
    let mut slab = Slab::<Order>::builder()
        .reserve(LIVE + 10)
        .pages(pages.clone())
        .build();
    steady(
        &mut slab,
        |slab, order| slab.insert_key(order),
        |slab, key| slab.remove_by_key(key),
    );
    let mut slab = KeySlab::<Order>::builder()
        .reserve(LIVE + 10)
        .pages(pages)
        .build();
    steady(&mut slab, KeySlab::insert, KeySlab::remove);
}

fn remove_all<M: Memory>(slab: &TrackedSlab<Order, M>, keys: &mut Vec<Key>) {
    for key in keys.drain(..) {
        black_box(slab.remove_by_key(key));
    }
}

/// A vector for the keys whose pages are there.
fn keys() -> Vec<Key> {
    let mut keys = vec![Key::from_raw(7); 2 * LIVE];
    keys.clear();
    keys
}

#[test]
fn insertions_after_prepare_and_their_removals_do_not_fault() {
    let builder = BoundedSlab::<Order>::builder().capacity(1 << 24).lazy();
    let slab = builder.pages(Pages::system()).build();
    let mut keys = keys();
    // What the code and this stack need is there.
    for _ in 0..10 {
        keys.push(slab.insert_key([7; 8]).unwrap());
    }
    remove_all(&slab, &mut keys);
    slab.prepare(LIVE).unwrap();
    let insertions = faults(|| {
        for number in 0..LIVE {
            keys.push(slab.insert_key([number as u64; 8]).unwrap());
        }
    });
    assert_eq!(insertions, 0, "prepared insertions");
    let removals = faults(|| remove_all(&slab, &mut keys));
    assert_eq!(removals, 0, "removals");
}

/// On the heap and on pages; reserved, prepared without a reserve, and with a bound.
#[test]
fn insertions_after_prepare_of_a_key_slab_and_their_removals_do_not_fault() {
    fn is_flat<S: Storage>(mut slab: PlainSlab<Order, Key, S>, name: &str) {
        let mut keys = keys();
        slab.prepare(LIVE).unwrap();
        let found = faults(|| {
            for number in 0..LIVE {
                keys.push(slab.try_insert([number as u64; 8]).unwrap());
            }
            for key in keys.drain(..) {
                black_box(slab.remove(key));
            }
        });
        assert_eq!(found, 0, "{name}");
    }
    is_flat(KeySlab::<Order>::new(), "nothing reserved");
    is_flat(KeySlab::<Order>::with_capacity(LIVE), "reserved");
    is_flat(BoundedKeySlab::<Order>::with_capacity(LIVE), "bounded");
    let pages = Pages::system();
    is_flat(KeySlab::<Order>::builder().pages(pages).build(), "pages");
}

/// The stack's memory was committed as slots were used, and not touched before they
/// were removed.
#[test]
fn removals_from_a_lazy_slab_do_not_fault() {
    let builder = BoundedSlab::<Order>::builder().capacity(1 << 24).lazy();
    let mut slab = builder.pages(Pages::system()).build();
    let mut keys = keys();
    for round in 0..2 {
        for number in 0..LIVE {
            keys.push(slab.insert_key([number as u64; 8]).unwrap());
        }
        black_box(slab.remove_by_key(keys.pop().unwrap()));
        let found = faults(|| remove_all(&slab, &mut keys));
        assert_eq!(found, 0, "removals, round {round}");
        slab.shrink_to_fit();
    }
}

#[test]
fn insertions_after_reserve_do_not_fault_nor_removals_after_growth() {
    let mut keys = keys();
    let slab = Slab::<Order>::builder().pages(Pages::system()).build();
    keys.push(slab.insert_key([7; 8]));
    slab.reserve(LIVE);
    let found = faults(|| (1..LIVE as u64).for_each(|n| keys.push(slab.insert_key([n; 8]))));
    assert_eq!(found, 0, "reserved insertions");
    drop(slab);
    keys.clear();

    let slab = Slab::<Order>::builder().pages(Pages::system()).build();
    (0..2 * LIVE as u64).for_each(|n| keys.push(slab.insert_key([n; 8])));
    assert!(slab.growth_stalls() > 5);
    black_box(slab.remove_by_key(keys.pop().unwrap()));
    let found = faults(|| remove_all(&slab, &mut keys));
    assert_eq!(found, 0, "removals after growth");
    drop(slab);

    let mut slab = KeySlab::<Order>::builder().pages(Pages::system()).build();
    let mut keys: Vec<Key> = (0..2 * LIVE as u64).map(|n| slab.insert([n; 8])).collect();
    black_box(slab.remove(keys.pop().unwrap()));
    let found = faults(|| {
        for key in keys.drain(..) {
            black_box(slab.remove(key));
        }
    });
    assert_eq!(found, 0, "removals from a plain slab after growth");
}

/// Slots that became free without a value in them: only a few bytes of each were written.
#[test]
fn free_slots_that_never_had_a_value_are_prepared() {
    type Large = [u64; 4096];
    const SLOTS: usize = 200;
    fn check<S: Storage>(slab: &mut PlainSlab<Large, Key, S>) {
        slab.prepare(SLOTS - 1).unwrap();
        let mut keys = vec![Key::NONE; SLOTS];
        let mut at = 0;
        let found = fewest_faults(|| {
            for _ in 0..SLOTS / 4 {
                keys[at] = slab.try_insert([7; 4096]).unwrap();
                at += 1;
            }
        });
        assert_eq!(found, 0);
        assert!(keys[..at].iter().all(|key| slab[*key] == [7; 4096]));
    }
    let mut slab: KeySlab<Large> = KeySlab::new();
    slab.insert_at(Key::from_raw(SLOTS as u32 - 1), [1; 4096])
        .unwrap();
    check(&mut slab.clone());
    check(&mut slab);
    let mut slab: BoundedKeySlab<Large> = BoundedKeySlab::with_capacity(SLOTS);
    slab.insert_at(Key::from_raw(SLOTS as u32 - 1), [1; 4096])
        .unwrap();
    check(&mut slab);
}

/// The last cell of a clone ends in a page in which nothing was written.
#[test]
fn the_end_of_the_last_free_slot_is_prepared() {
    type Value = [u64; 500];
    let found = [100, 200, 300, 400, 500].map(|slots| {
        let mut slab: KeySlab<Value> = KeySlab::new();
        let keys: Vec<Key> = (0..slots).map(|_| slab.insert([1; 500])).collect();
        slab.remove(keys[slots - 1]);
        let mut clone = slab.clone();
        clone.prepare(1).unwrap();
        faults(|| {
            black_box(clone.insert([2; 500]));
        })
    });
    assert_eq!(found.into_iter().min(), Some(0), "{found:?}");
}

/// Memory that no one has touched, whatever the allocator has kept of other tests.
struct Untouched;

// SAFETY: a mapping of its own for each block.
unsafe impl MemorySource for Untouched {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        assert!(layout.align() <= 4096);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let block = unsafe { libc::mmap(null_mut(), layout.size(), access, kind, -1, 0) };
        assert_ne!(block, libc::MAP_FAILED);
        Ok(NonNull::new(block.cast()).unwrap())
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        // SAFETY: a mapping of `allocate` (precondition).
        let failed = unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
        assert_eq!(failed, 0);
    }
}

fn untouched() -> Builder<Slab<Order>> {
    Slab::builder().pages(Pages::from_source(Arc::new(Untouched)))
}

/// The insertions, of so many, that faulted, and the most faults of one.
fn faulting(slab: &Slab<Order>, insertions: usize) -> (usize, i64) {
    let (mut faulted, mut most) = (0, 0);
    for number in 0..insertions as u64 {
        let found = faults(|| {
            black_box(slab.insert_key([number; 8]));
        });
        faulted += usize::from(found > 0);
        most = most.max(found);
    }
    (faulted, most)
}

/// The faults of an insertion that touches ahead are those of its stretch, and of nothing else.
#[test]
fn fewer_than_one_insertion_in_a_thousand_faults_by_default() {
    const INSERTIONS: usize = 300_000;
    let slot = size_of::<Order>() + 8;
    let stretch = (1366 * slot / 4096) as i64 + 2;
    // Warm: what the code, this stack and the allocator need is there.
    faulting(&untouched().build(), 20_000);

    let (faulted, most) = faulting(&untouched().build(), INSERTIONS);
    assert!(faulted < INSERTIONS / 1000, "{faulted} insertions faulted");
    // That which adds a chunk may need a larger table too.
    assert!(
        most <= stretch + 8,
        "{most} faults, {stretch} pages of a stretch"
    );

    let (faulted, most) = faulting(&untouched().touch_ahead(0).build(), INSERTIONS);
    assert!(faulted > INSERTIONS / 100, "{faulted} insertions faulted");
    assert!(
        most <= 12,
        "{most} faults of a page, a larger table and its bits"
    );
}

/// A page, and then no more than twice what is there.
#[test]
fn a_small_slab_touches_about_as_much_as_it_has() {
    faulting(&untouched().build(), 20_000);
    for values in [1, 10, 50, 100, 500, 1000] {
        let slab = untouched().build();
        let found = faults(|| {
            for number in 0..values {
                black_box(slab.insert_key([number; 8]));
            }
        });
        let pages = (values as usize * (size_of::<Order>() + 8)).div_ceil(4096) as i64;
        assert!(
            found <= 2 * pages + 6,
            "{values} values: {found} faults, {pages} pages"
        );
    }
}

/// A container with a bound has its memory.
#[test]
fn a_bounded_key_slab_and_its_clone_never_fault() {
    fn of_a_fill(mut slab: BoundedKeySlab<Order>) -> i64 {
        let mut keys = keys();
        faults(|| {
            while !slab.is_full() {
                keys.push(slab.insert([7; 8]).unwrap());
            }
            for key in keys.drain(..) {
                black_box(slab.remove(key));
            }
        })
    }
    // What the code needs is there.
    of_a_fill(BoundedKeySlab::with_capacity(10));

    let mut slab = BoundedKeySlab::with_capacity(LIVE);
    slab.insert([7; 8]).unwrap();
    assert_eq!(of_a_fill(slab.clone()), 0, "a clone");
    assert_eq!(of_a_fill(slab), 0, "with_capacity");
    let built = BoundedKeySlab::builder().capacity(LIVE).build();
    assert_eq!(of_a_fill(built), 0, "built");

    // More than the allocator can have kept.
    let mut lazy = BoundedKeySlab::<Order>::builder()
        .capacity(20 * LIVE)
        .lazy()
        .build();
    let made = faults(|| {
        black_box(lazy.insert([7; 8]).unwrap());
    });
    assert!(made <= 4, "{made} faults of one insertion");
    let filled = faults(|| while lazy.insert([7; 8]).is_ok() {});
    assert!(filled > 100, "{filled} faults");
}

/// A clone has touched what the original has: all, or the slots in use.
#[test]
fn the_clone_of_a_slab_that_was_never_touched_touches_the_slots_in_use_alone() {
    type Slab = BoundedKeySlab<Order>;
    // 74,000 pages, of which a few are used.
    const CAPACITY: usize = 1 << 22;
    const FEW: i64 = 64;

    fn of_a_clone(slab: &Slab) -> i64 {
        let mut clone = None;
        let of_clone = faults(|| clone = Some(slab.clone()));
        let clone = clone.unwrap();
        assert_eq!(
            (clone.len(), clone.capacity()),
            (slab.len(), slab.capacity())
        );
        of_clone
    }

    let mut lazy = Slab::builder().capacity(CAPACITY).lazy().build();
    let keys: Vec<_> = (0..9).map(|n| lazy.insert([n; 8]).unwrap()).collect();
    lazy.remove(keys[3]);
    let found = of_a_clone(&lazy);
    assert!(found < FEW, "{found} faults");
    let mut other = Slab::with_capacity(1);
    let found = faults(|| other.clone_from(&lazy));
    assert!(found < FEW, "{found} faults of clone_from");
    assert_eq!(other.insert([7; 8]), lazy.insert([7; 8]));
    drop((lazy, other));

    #[cfg(feature = "serde")]
    {
        let json = format!("[{CAPACITY},[],[],0]");
        let read: Slab = serde_json::from_str(&json).unwrap();
        assert_eq!(read.capacity(), CAPACITY);
        let found = of_a_clone(&read);
        assert!(found < FEW, "{found} faults");
    }

    // Of a slab whose free slots were all prepared, and of its clone.
    let mut prepared = Slab::builder().capacity(20 * LIVE).lazy().build();
    prepared.prepare(LIVE).unwrap();
    let found = of_a_clone(&prepared);
    assert!(found < FEW, "{found} faults");
    prepared.prepare(usize::MAX).unwrap();
    let mut clone = prepared.clone().clone();
    let found = faults(|| while clone.insert([7; 8]).is_ok() {});
    assert!(found <= 4, "{found} faults");
}
