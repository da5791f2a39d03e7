//! Slabs that grow in a range of addresses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flatslab::memory::Pages;
use flatslab::{GenKey, Key, KeySlab};

use crate::amount::amount;
use crate::program::{Count, Counted, Numbers};

/// More than a block may have.
const MANY: u32 = if cfg!(miri) { 300 } else { 300_000 };

fn in_range<T, K: flatslab::key_slab::SlabKey>() -> KeySlab<T, K> {
    KeySlab::builder_with_key().grow_in_place().build()
}

/// Whether there are ranges here, so that a large slab has one.
fn has_ranges() -> bool {
    let mut slab = in_range::<u64, Key>();
    slab.insert_many(0..u64::from(MANY), &mut Vec::new());
    let has = slab.memory().range_bytes().is_some();
    assert!(
        has || cfg!(not(any(
            miri,
            all(target_os = "linux", target_pointer_width = "64")
        )))
    );
    has
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_large_slab_grows_where_it_is() {
    let count = Count::default();
    let mut slab = in_range::<Counted, GenKey>();
    let mut keys = vec![slab.insert(count.make(0))];
    assert_eq!((slab.capacity(), slab.memory().range_bytes()), (4, None));
    let (mut places, mut place) = (0, core::ptr::null());
    for number in 1..MANY {
        keys.push(slab.insert(count.make(u64::from(number))));
        if slab.memory().range_bytes().is_some() && !core::ptr::eq(place, &raw const slab[keys[0]])
        {
            (places, place) = (places + 1, &raw const slab[keys[0]]);
        }
    }
    if has_ranges() && cfg!(not(miri)) {
        assert_eq!(places, 1);
    }
    assert!(
        keys.iter()
            .enumerate()
            .all(|(at, key)| slab[*key].number == at as u64)
    );
    for key in keys.iter().step_by(2) {
        slab.remove(*key);
    }
    assert_eq!(
        (slab.len(), count.alive()),
        (MANY as usize / 2, MANY as usize / 2)
    );
    let last = slab.vacant_key();
    assert_eq!(last.index(), MANY as usize - 2);
    // With indices on the stack.
    slab.reserve(2 * MANY as usize);
    assert_eq!(slab.vacant_key(), last);
    assert!(
        keys.iter()
            .skip(1)
            .step_by(2)
            .all(|key| slab.contains(*key))
    );
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), MANY as usize);
    assert_eq!(slab.vacant_key(), last);
    slab.retain(|key, _| key.index() < 5);
    slab.shrink_to_fit();
    assert_eq!((slab.capacity(), slab.len()), (4, 2));
    assert_eq!(slab.memory().range_bytes(), None);
    assert!(slab.memory().bytes() < 400);
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!((slab.capacity(), count.alive()), (0, 0));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_range_shrinks_and_grows_again() {
    let mut slab = in_range::<u64, Key>();
    for round in 0..3 {
        let mut keys = Vec::new();
        slab.insert_many(0..u64::from(MANY), &mut keys);
        let kept = MANY as usize / 4 * 3;
        slab.retain(|key, _| key.index() < kept);
        slab.shrink_to_fit();
        assert_eq!((slab.capacity(), slab.len()), (kept, kept));
        assert_eq!(
            slab.memory().range_bytes().is_some(),
            has_ranges(),
            "{round}"
        );
        slab.prepare(1000).unwrap();
        assert!(slab.iter().all(|(key, value)| key.index() as u64 == *value));
        assert_eq!(slab.insert(1).index(), kept);
        slab.clear();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_clone_of_a_slab_in_a_range_is_in_one() {
    let mut slab = in_range::<u32, GenKey>();
    slab.insert_many(0..MANY, &mut Vec::new());
    slab.retain(|_, value| *value % 3 == 0);
    let mut clone = slab.clone();
    assert_eq!(clone, slab);
    assert_eq!(clone.memory().range_bytes().is_some(), has_ranges());
    assert_eq!(clone.insert(7), slab.insert(7));
    let old = core::mem::replace(&mut slab, clone);
    assert!(
        old.into_iter()
            .take(5)
            .map(|(_, value)| value)
            .eq([0, 7, 3, 6, 9].into_iter().filter(|n| *n != 7).chain([12]))
    );
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn slabs_beside_each_other_have_their_own() {
    let mut slabs: Vec<_> = (0..amount(40, 3)).map(|_| in_range::<u64, Key>()).collect();
    for (slab, n) in slabs.iter_mut().zip(0..) {
        slab.insert_many(
            (0..u64::from(MANY) / 2).map(|value| value + n),
            &mut Vec::new(),
        );
    }
    for (slab, n) in slabs.iter().zip(0..) {
        assert!(slab.values().zip(0..).all(|(value, at)| *value == at + n));
    }
}

#[test]
fn pages_of_another_source_are_blocks() {
    if cfg!(miri) {
        return;
    }
    let slab = KeySlab::<u64>::builder()
        .grow_in_place()
        .pages(Pages::system())
        .reserve(MANY as usize);
    if let Ok(slab) = slab.try_build() {
        assert_eq!(slab.memory().range_bytes(), None);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn cells_of_all_sizes_move() {
    fn moved<T: Copy + PartialEq + core::fmt::Debug>(make: fn(u32) -> T, count: u32) {
        let mut slab = in_range::<T, GenKey>();
        let mut keys = Vec::new();
        slab.insert_many((0..count).map(make), &mut keys);
        assert!(keys.iter().zip(0..).all(|(key, n)| slab[*key] == make(n)));
        assert!(
            slab.values()
                .all(|value| (&raw const *value).addr() % align_of::<T>() == 0)
        );
        slab.retain(|key, _| key.index() % 2 == 0);
        slab.compact(|_, _, _| true);
        assert_eq!(slab.used_slots(), keys.len().div_ceil(2));
    }
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(128))]
    struct Wide(u32);
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(8192))]
    struct TooWide(u32);
    moved(|n| n as u8, MANY);
    moved(|n| [n; 3], MANY / 2);
    moved(Wide, MANY / 10);
    moved(TooWide, MANY / 100);
    moved(|_| (), MANY);
    moved(|n| [n; 5000], if cfg!(miri) { 20 } else { 800 });
}

#[test]
fn a_refused_opening_gives_the_value_back() {
    let mut slab = in_range::<u64, Key>();
    slab.insert_many(0..u64::from(MANY), &mut Vec::new());
    for slots in [1 << 30, usize::MAX] {
        assert!(slab.try_reserve(slots).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| slab.reserve(slots))).is_err());
    }
    assert_eq!(slab.len(), MANY as usize);
    assert_eq!(slab.insert(7).index(), MANY as usize);
}

/// The keys do not depend on where the cells are.
#[test]
fn the_same_keys_as_in_blocks() {
    let (mut blocks, mut range) = (KeySlab::<u32, GenKey>::with_key(), in_range());
    let mut random = 3_u64;
    let mut keys: Vec<GenKey> = Vec::new();
    for step in 0..MANY {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        let number = (random >> 33) as usize;
        match number % 8 {
            0 if !keys.is_empty() => {
                let key = keys.swap_remove(number / 8 % keys.len());
                assert_eq!(blocks.try_remove(key), range.try_remove(key));
            }
            1 if number % (MANY as usize) < 16 => {
                blocks.shrink_to_fit();
                range.shrink_to_fit();
            }
            2 if number % (MANY as usize) < 16 => {
                let key = GenKey::of(number % (2 * MANY as usize), 40);
                assert_eq!(blocks.insert_at(key, step), range.insert_at(key, step));
            }
            _ => {
                keys.push(blocks.insert(step));
                assert_eq!(range.insert(step), keys[keys.len() - 1]);
            }
        }
    }
    assert_eq!(blocks, range);
}
