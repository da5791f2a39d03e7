//! Bounded key slabs in the caller's memory: a static, the stack, a struct. Without an allocator in
//! the library, too.

#![forbid(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Barrier;
use std::thread;

use flatslab::key_slab::{FixedStorage, InsertAtError, KeySlabStorage, PlainSlab, SlabKey};
use flatslab::{AllocError, BoundedKeySlab, FullError, GenKey, Key, key_type};

fn is_within<S, V>(storage: &S, value: &V) -> bool {
    let start = std::ptr::from_ref(storage).addr();
    let place = std::ptr::from_ref(value).addr();
    start <= place && place + size_of::<V>() <= start + size_of::<S>()
}

/// Counts drops.
#[derive(Clone, Default)]
struct Drops(Rc<Cell<u32>>);

struct Counted {
    drops: Drops,
    panics: bool,
}

impl Drops {
    fn value(&self) -> Counted {
        Counted {
            drops: self.clone(),
            panics: false,
        }
    }

    fn count(&self) -> u32 {
        self.0.get()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.0.set(self.drops.0.get() + 1);
        assert!(!self.panics, "a destructor panics");
    }
}

#[test]
fn a_static_is_claimed_once() {
    static STORAGE: KeySlabStorage<[u64; 4], 3> = KeySlabStorage::new();
    assert!(format!("{STORAGE:?}").contains("capacity: 3"));
    let mut slab: BoundedKeySlab<[u64; 4], GenKey> = STORAGE.claim().unwrap();
    assert!(STORAGE.claim().is_none());
    let keys: Vec<_> = (0..3).map(|n| slab.insert([n; 4]).unwrap()).collect();
    assert_eq!(slab.insert([3; 4]), Err(FullError([3; 4])));
    for (&key, n) in keys.iter().zip(0..) {
        assert!(slab[key] == [n; 4] && is_within(&STORAGE, &slab[key]));
    }
    // Its memory is not lent again.
    drop(slab);
    assert!(STORAGE.claim().is_none());
}

#[test]
fn of_several_threads_one_claims_a_static() {
    const THREADS: usize = if cfg!(miri) { 3 } else { 8 };
    const ROUNDS: usize = if cfg!(miri) { 4 } else { 20 };
    static STORAGES: [KeySlabStorage<u64, 4>; ROUNDS] = [const { KeySlabStorage::new() }; ROUNDS];
    let barrier = Barrier::new(THREADS);
    let claimed: usize = thread::scope(|scope| {
        let claim = || {
            let mut won = 0;
            for storage in &STORAGES {
                barrier.wait();
                if let Some(mut slab) = storage.claim() {
                    let key = slab.insert(7).unwrap();
                    assert_eq!((slab[key], slab.len()), (7, 1));
                    won += 1;
                }
            }
            won
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(claim)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(claimed, ROUNDS, "one thread each time");
}

/// It is an ordinary slab, and `Send` as that is.
#[test]
fn a_slab_with_values_goes_to_another_thread() {
    static STORAGE: KeySlabStorage<String, 3> = KeySlabStorage::new();
    let mut slab = STORAGE.claim().unwrap();
    let key = slab.insert("here".to_owned()).unwrap();
    let there = thread::spawn(move || {
        slab[key].push_str(" and there");
        slab
    });
    let mut slab = there.join().unwrap();
    assert_eq!(slab.remove(key), "here and there");
}

/// Values that are no other thread's business: the claiming thread makes them.
#[test]
fn a_static_of_values_that_are_not_send_is_claimed_by_any_thread() {
    static STORAGE: KeySlabStorage<Counted, 2> = KeySlabStorage::new();
    let there = thread::spawn(|| {
        let (drops, mut slab) = (Drops::default(), STORAGE.claim().unwrap());
        drop(slab.insert(drops.value()));
        drop(slab);
        drops.count()
    });
    assert_eq!(there.join().unwrap(), 1);
}

#[test]
fn each_value_is_dropped_once() {
    let drops = Drops::default();
    let mut storage: KeySlabStorage<Counted, 5> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let keys: Vec<_> = (0..5)
        .map(|_| slab.insert(drops.value()).ok().unwrap())
        .collect();
    assert!(slab.insert(drops.value()).is_err());
    assert_eq!(drops.count(), 1, "the refused one");
    drop(slab.remove(keys[1]));
    assert!(slab.try_remove(keys[1]).is_none());
    assert_eq!(drops.count(), 2);
    slab.retain(|key, _| key != keys[0]);
    assert_eq!(drops.count(), 3);
    drop(slab.insert(drops.value()));
    slab.clear();
    assert_eq!((drops.count(), slab.len(), slab.free_slots()), (7, 0, 5));
    for _ in 0..3 {
        drop(slab.insert(drops.value()));
    }
    assert_eq!(slab.drain().take(2).count(), 2);
    assert_eq!(drops.count(), 10);
    for _ in 0..3 {
        drop(slab.insert(drops.value()));
    }
    let mut rest = slab.into_iter();
    drop(rest.next());
    drop(rest);
    assert_eq!(drops.count(), 13);
}

#[test]
fn a_forgotten_slab_drops_nothing_and_its_storage_is_used_again() {
    let drops = Drops::default();
    let mut storage: KeySlabStorage<Counted, 3> = KeySlabStorage::new();
    for round in 0..3 {
        let mut slab = PlainSlab::in_storage(&mut storage);
        assert!(slab.is_empty() && slab.iter().next().is_none());
        let keys: Vec<_> = (0..3)
            .map(|_| slab.insert(drops.value()).ok().unwrap())
            .collect();
        // Generations, too, begin again.
        assert!(keys.iter().all(|key| key.generation() == 0));
        if round == 1 {
            drop(slab);
        } else {
            std::mem::forget(slab);
        }
    }
    assert_eq!(drops.count(), 3);
    // Nor is a slab of a static dropped that is forgotten.
    static STORAGE: KeySlabStorage<Counted, 3> = KeySlabStorage::new();
    let mut slab = STORAGE.claim().unwrap();
    drop(slab.insert(drops.value()));
    std::mem::forget(slab);
    assert_eq!(drops.count(), 3);
    assert!(STORAGE.claim().is_none());
}

#[test]
fn the_rest_is_dropped_when_a_destructor_panics() {
    let drops = Drops::default();
    let mut storage: KeySlabStorage<Counted, 5> = KeySlabStorage::new();
    for cleared in [true, false] {
        drops.0.set(0);
        let mut slab = PlainSlab::in_storage(&mut storage);
        for n in 0..5 {
            let panics = n == 2;
            let value = Counted {
                panics,
                drops: drops.clone(),
            };
            slab.insert(value).ok().unwrap();
        }
        let ended = if cleared {
            let ended = catch_unwind(AssertUnwindSafe(|| slab.clear()));
            assert_eq!((slab.len(), slab.free_slots()), (0, 5));
            drop(slab);
            ended
        } else {
            catch_unwind(AssertUnwindSafe(move || drop(slab)))
        };
        assert!(ended.is_err());
        assert_eq!(drops.count(), 5);
    }
}

/// Fills a slab of each layout, and looks at every value, before and after some left.
fn fill<T: PartialEq + std::fmt::Debug, K: SlabKey, S: FixedStorage>(
    slab: &mut PlainSlab<T, K, S>,
    make: fn(usize) -> T,
) {
    for _round in 0..if cfg!(miri) { 2 } else { 3 } {
        let capacity = slab.capacity();
        assert!(slab.is_empty() && slab.free_slots() == capacity);
        let mut keys: Vec<K> = Vec::new();
        for n in 0..capacity {
            assert_eq!(slab.vacant_key(), slab.vacant_entry().ok().map(|e| e.key()));
            keys.push(slab.insert(make(n)).unwrap());
        }
        assert_eq!(slab.insert(make(0)), Err(FullError(make(0))));
        let full = AllocError::Full { capacity };
        assert_eq!(slab.vacant_entry().unwrap_err(), full);
        assert_eq!(slab.vacant_key(), None);
        let align = align_of::<T>();
        for (n, &key) in keys.iter().enumerate() {
            assert_eq!(slab[key], make(n));
            assert_eq!(std::ptr::from_ref(&slab[key]).addr() % align, 0);
            assert_eq!(slab.try_key_of(&slab[key]), Some(key));
        }
        for &key in keys.iter().step_by(2) {
            slab.remove(key);
        }
        for (n, &key) in keys.iter().enumerate().step_by(2).rev() {
            let entry = slab.vacant_entry().unwrap();
            assert_eq!(*entry.insert(make(n)), make(n));
            assert!(slab.contains(key) == (size_of::<K>() == 4), "a stale key");
        }
        assert!(slab.is_full() && slab.values().zip(0..).all(|(v, n)| *v == make(n)));
        assert_eq!(slab.drain().count(), capacity);
    }
}

#[test]
fn values_of_every_layout_fit() {
    #[derive(PartialEq, Debug)]
    #[repr(align(128))]
    struct Wide(u8);

    fn all<const N: usize>() {
        macro_rules! with_keys {
            ($type:ty, $make:expr) => {{
                let mut storage: KeySlabStorage<$type, N> = KeySlabStorage::new();
                fill(&mut PlainSlab::in_storage(&mut storage), $make);
                let mut storage: KeySlabStorage<$type, N, Key> = KeySlabStorage::with_key();
                fill(&mut PlainSlab::in_storage(&mut storage), $make);
                let mut storage: Box<KeySlabStorage<$type, N, Key>> = Box::default();
                fill(&mut PlainSlab::in_storage(&mut storage), $make);
            }};
        }
        with_keys!((), |_| ());
        with_keys!(u8, |n| n as u8);
        with_keys!([u16; 3], |n| [n as u16; 3]);
        with_keys!(u64, |n| n as u64);
        with_keys!(u128, |n| n as u128);
        with_keys!(Wide, |n| Wide(n as u8));
        with_keys!(Option<Box<usize>>, |n| Some(Box::new(n)));
        const LARGE: usize = if cfg!(miri) { 200 } else { 5000 };
        with_keys!([u8; LARGE], |n| [n as u8; LARGE]);
    }
    all::<0>();
    all::<1>();
    all::<2>();
    all::<{ if cfg!(miri) { 3 } else { 7 } }>();
}

#[test]
fn no_slot_is_always_full() {
    static STORAGE: KeySlabStorage<u64, 0> = KeySlabStorage::new();
    let mut slab = STORAGE.claim().unwrap();
    assert!(slab.is_full() && slab.is_empty() && slab.capacity() == 0);
    assert_eq!(slab.insert(7), Err(FullError(7)));
    assert_eq!(slab.prepare(10), Ok(()));
    let key = GenKey::from_raw(1 << 32).unwrap();
    assert!(slab.get(key).is_none() && slab.try_remove(key).is_none());
    assert!(matches!(
        slab.insert_at(key, 7),
        Err(InsertAtError::OutOfRange { limit: 0, .. })
    ));
    slab.clear();
    slab.reset_generations();
    assert!(slab.into_iter().next().is_none());
}

#[test]
fn forged_keys_and_those_of_other_storages_open_no_other_slabs_values() {
    let mut storages: [KeySlabStorage<u64, 4>; 2] = [const { KeySlabStorage::new() }; 2];
    let [one, two] = &mut storages;
    let (mut one, mut two) = (PlainSlab::in_storage(one), PlainSlab::in_storage(two));
    let first = one.insert(1).unwrap();
    assert!(two.get(first).is_none() && two.try_remove(first).is_none());
    let second = two.insert(2).unwrap();
    // The same numbers: a key opens what its slab has under them.
    assert!(first == second && one[second] == 1 && two[first] == 2);
    two.remove(second);
    two.insert(3).unwrap();
    assert_eq!((two.get(first), one[first]), (None, 1));
    for index in [0, 1, 3, 4, 5, u32::MAX] {
        for version in [1_u32, 3, (1 << 31) - 3, (1 << 31) - 1] {
            let Some(key) = GenKey::from_raw(u64::from(version) << 32 | u64::from(index)) else {
                continue;
            };
            assert_eq!(one.get(key).is_some(), key == first);
            assert_eq!(one.get_mut(key).is_some(), key == first);
            assert_eq!(one.contains(key), key == first);
            assert!(one.get_disjoint_mut([first, key]).is_err());
            one.prefetch(key);
        }
    }
    let mut storage: KeySlabStorage<u64, 4, Key> = KeySlabStorage::with_key();
    let mut plain = PlainSlab::in_storage(&mut storage);
    for raw in [0, 3, 4, 1 << 30, u32::MAX] {
        assert_eq!(plain.try_remove(Key::from_raw(raw)), None);
        assert!(plain.key_at(raw as usize).is_none());
    }
}

#[test]
fn keys_of_a_declared_type_keep_storages_apart() {
    key_type!(struct TimerKey(GenKey));
    static TIMERS: KeySlabStorage<u32, 4, TimerKey> = KeySlabStorage::with_key();
    let mut timers = TIMERS.claim().unwrap();
    let key: TimerKey = timers.insert(7).unwrap();
    assert_eq!(timers.remove(key), 7);
    let next = timers.insert(8).unwrap();
    assert!(timers.get(key).is_none() && next.index() == key.index());
}

#[test]
fn values_come_back_under_their_keys() {
    let mut storage: KeySlabStorage<&str, 4> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let key = slab.insert("timer").unwrap();
    assert_eq!(slab.detach(key), Some("timer"));
    assert!((0..3).all(|_| slab.insert("other").is_ok()) && slab.is_full());
    slab.reattach(key, "again");
    assert_eq!(slab[key], "again");
    slab.clear();
    let late = GenKey::from_raw(9 << 32 | 2).unwrap();
    assert_eq!(slab.insert_at(late, "late"), Ok(()));
    assert_eq!(slab[late], "late");
    let past = GenKey::from_raw(9 << 32 | 4).unwrap();
    assert!(slab.try_extend([(past, "past")]).is_err());
}

#[test]
fn a_storage_is_part_of_a_struct_and_its_values_borrow() {
    struct App {
        _first: u8,
        storage: KeySlabStorage<u16, 5>,
        name: String,
    }
    let mut app = App {
        _first: 1,
        storage: KeySlabStorage::default(),
        name: "app".to_owned(),
    };
    let mut slab = PlainSlab::in_storage(&mut app.storage);
    let key = slab.insert(7).unwrap();
    assert_eq!((slab[key], app.name.as_str()), (7, "app"));
    let number = slab[key];
    drop(slab);
    assert!(format!("{:?}", app.storage).contains("capacity: 5"));

    let mut storage: KeySlabStorage<&u16, 2> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let key = slab.insert(&number).unwrap();
    slab.prepare(2).unwrap();
    assert_eq!(*slab[key], 7);
}

/// What it does is what a slab on the heap does, key for key.
#[cfg(feature = "alloc")]
#[test]
fn a_slab_in_a_storage_does_as_one_on_the_heap() {
    fn compare<K: SlabKey, const N: usize>(mut storage: KeySlabStorage<u32, N, K>) {
        let mut slab = PlainSlab::in_storage(&mut storage);
        let mut heap: BoundedKeySlab<u32, K> = BoundedKeySlab::with_capacity_and_key(N);
        let (mut keys, mut state) = (Vec::new(), 1_u32);
        let mut random = |end: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % end.max(1)
        };
        for n in 0..if cfg!(miri) { 80 } else { 20_000 } {
            match random(20) {
                0..10 => {
                    let inserted = slab.insert(n);
                    assert_eq!(inserted, heap.insert(n));
                    keys.extend(inserted);
                }
                10..19 if !keys.is_empty() => {
                    let key = keys[random(keys.len())];
                    assert_eq!(slab.try_remove(key), heap.try_remove(key));
                }
                _ => {
                    let bit = random(3);
                    slab.retain(|_, value| *value >> bit & 1 == 0);
                    heap.retain(|_, value| *value >> bit & 1 == 0);
                }
            }
            assert_eq!(slab, heap);
            assert_eq!(slab.vacant_key(), heap.vacant_key());
            assert_eq!(slab.used_slots(), heap.used_slots());
            keys.truncate(64);
        }
    }
    compare(KeySlabStorage::<_, 7, Key>::with_key());
    compare(KeySlabStorage::<_, 7, GenKey>::with_key());
    compare(KeySlabStorage::<_, 33, GenKey>::with_key());
}

/// Only a clone has memory of the allocator's.
#[cfg(feature = "alloc")]
#[test]
fn a_clone_has_memory_of_its_own() {
    static STORAGE: KeySlabStorage<String, 3> = KeySlabStorage::new();
    let mut slab = STORAGE.claim().unwrap();
    let key = slab.insert("value".to_owned()).unwrap();
    let old = slab.insert("old".to_owned()).unwrap();
    slab.remove(old);
    let mut clone = slab.clone();
    assert!(clone == slab && clone.capacity() == 3 && clone.vacant_key() == slab.vacant_key());
    assert!(is_within(&STORAGE, &slab[key]) && !is_within(&STORAGE, &clone[key]));
    clone[key].push('s');
    // As many slots: cloned into the memory that is there.
    slab.clone_from(&clone);
    assert!(is_within(&STORAGE, &slab[key]) && slab[key] == "values");
    // Not as many: it leaves its storage.
    let other = BoundedKeySlab::with_capacity_and_key(9);
    slab.clone_from(&other);
    assert!(slab.capacity() == 9 && slab.is_empty());
    drop(slab.insert("elsewhere".to_owned()));
    assert!(slab.values().all(|value| !is_within(&STORAGE, value)));
    assert!(STORAGE.claim().is_none());
    assert!(clone.memory().bytes() >= 3 * size_of::<String>());
}

#[cfg(feature = "alloc")]
#[test]
fn the_report_has_the_bytes_of_the_storage() {
    let mut storage: KeySlabStorage<u64, 100, Key> = KeySlabStorage::with_key();
    let slab = PlainSlab::in_storage(&mut storage);
    let slot = size_of::<Option<u64>>() + 4;
    assert_eq!(slab.memory().bytes(), 100 * slot);
}
