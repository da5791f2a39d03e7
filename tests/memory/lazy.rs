//! Bounded slabs that are only reserved: they grow into their capacity, and give
//! back what lies past the last slot in use.

use std::collections::BTreeMap;
use std::mem::forget;

use flatslab::memory::{HugePages, PageOption, Pages};
use flatslab::{BoundedSlab, BuildError, Key, SlotBox};

use crate::common::random::{one_in, random, seed};
use crate::common::{Audit, Wide, wide};
use crate::source::Counted;
use crate::values::{Sample, alive, with_each_value};

/// Each kind of memory that a lazy slab can have.
fn kinds() -> Vec<Pages> {
    vec![
        Pages::new(),
        Counted::new().pages(),
        #[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
        Pages::system(),
        #[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
        Pages::new().huge(HugePages::Transparent),
    ]
}

fn lazy<T>(capacity: usize, pages: &Pages) -> BoundedSlab<T> {
    let builder = BoundedSlab::builder().capacity(capacity).lazy();
    builder.pages(pages.clone()).build()
}

#[test]
fn a_slab_of_no_slots_is_full() {
    fn run<V: Sample>() {
        for pages in kinds() {
            for is_lazy in [false, true] {
                let builder = BoundedSlab::<V>::builder().pages(pages.clone());
                let mut slab = if is_lazy { builder.lazy() } else { builder }.build();
                slab.prepare(7).unwrap();
                slab.shrink_to_fit();
                assert!(slab.is_full() && slab.insert(V::new(7)).is_err());
                assert_eq!((slab.capacity(), slab.keys().count()), (0, 0));
                slab.audit();
            }
        }
    }
    with_each_value!(run);
    assert_eq!(alive(), 0);
}

#[test]
fn keys_ascend_and_every_slot_can_be_had() {
    fn run<V: Sample>() {
        for pages in kinds() {
            let capacity = if cfg!(miri) { 9 } else { 37 };
            let mut slab = lazy::<V>(capacity, &pages);
            for round in 0..2 {
                for index in 0..capacity {
                    let key = slab.insert_key(V::new(index as u64)).ok().unwrap();
                    assert_eq!(key.index(), index, "round {round}");
                }
                assert!(slab.is_full() && slab.insert_key(V::new(0)).is_err());
                let right = |(key, value): (Key, flatslab::Ref<V>)| value.is(key.index() as u64);
                assert!(slab.iter().all(right));
                slab.clear();
                slab.shrink_to_fit();
                slab.audit();
                slab.shrink_to_fit();
            }
        }
    }
    with_each_value!(run);
    assert_eq!(alive(), 0);
}

/// The first of the slots that are as if they were never used, by the order in which slots
/// are handed out: these come last, and ascend.
fn first_fresh<T>(slab: &mut BoundedSlab<T>) -> usize {
    let mut reserved = Vec::new();
    while let Ok(vacant) = slab.vacant_slot() {
        reserved.push(vacant);
    }
    let mut first = slab.capacity();
    while let Some(vacant) = reserved.pop() {
        // Dropped in this order, they go back as they were.
        if vacant.key().index() + 1 == first {
            first -= 1;
        }
    }
    slab.shrink_to_fit();
    first
}

/// A slot is in use while it has a value, a handle that lost its value, a reservation,
/// a box, or a guard that was forgotten.
#[test]
#[cfg_attr(miri, ignore = "forgets a guard")]
fn what_holds_a_slot_keeps_it_from_being_released() {
    for pages in kinds() {
        for holder in 0..5 {
            let mut slab = lazy::<Wide>(3_000, &pages);
            let slots: Vec<_> = (0..2_000).map(|n| slab.insert(wide(n)).unwrap()).collect();
            let last = slab.insert(wide(2_000)).unwrap();
            let more: Vec<_> = (0..500).map(|n| slab.insert(wide(n)).unwrap()).collect();
            drop((slots, more));
            let key = last.key();
            let check = |slab: &mut BoundedSlab<Wide>| {
                slab.shrink_to_fit();
                // The last slot in use is 2,000; the 500 after it are fresh.
                assert_eq!(first_fresh(slab), 2_001);
                let is_stale = holder == 1;
                assert_eq!(slab.audit_but_stale(), usize::from(is_stale));
            };
            match holder {
                0 => {
                    check(&mut slab);
                    assert_eq!(*last.get(), 2_000);
                    drop(last);
                }
                1 => {
                    assert_eq!(slab.remove_by_key(key), 2_000);
                    check(&mut slab);
                    drop(last);
                }
                2 => {
                    let (value, vacant) = last.take();
                    check(&mut slab);
                    assert_eq!(vacant.key(), key);
                    assert_eq!(*vacant.insert(value).get(), 2_000);
                }
                3 => {
                    let boxed = last.into_box();
                    check(&mut slab);
                    assert_eq!(SlotBox::into_inner(boxed), 2_000);
                }
                _ => {
                    forget(last.get());
                    drop(last);
                    check(&mut slab);
                    assert!(slab.get(key).is_none(), "it is doomed");
                    continue;
                }
            }
            slab.shrink_to_fit();
            assert_eq!(first_fresh(&mut slab), 0);
            slab.audit();
            assert_eq!(slab.insert_key(wide(7)).unwrap().index(), 0);
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn insertions_in_a_loop_over_a_growing_slab_end() {
    for pages in kinds() {
        let slab = lazy::<Wide>(60, &pages);
        slab.insert_key(wide(0)).unwrap();
        slab.insert_key(wide(1)).unwrap();
        let mut seen = 0;
        for _ in slab.iter() {
            seen += 1;
            for number in 0..10 {
                let _ = slab.insert_key(wide(seen * 10 + number));
            }
        }
        assert_eq!(seen, 60, "all that there were, used or not");
        slab.audit();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn random_steps_do_as_a_map() {
    const CAPACITY: usize = if cfg!(miri) { 30 } else { 400 };
    for (number, pages) in kinds().iter().enumerate() {
        seed(number as u64 + 1);
        let mut slab = lazy::<Wide>(CAPACITY, pages);
        let mut model = BTreeMap::new();
        let mut slots = Vec::new();
        for step in 0..if cfg!(miri) { 60 } else { 20_000 } {
            match random(100) {
                0 => {
                    slab.shrink_to_fit();
                    let used = first_fresh(&mut slab);
                    let last = model.keys().next_back().map_or(0, |last| last + 1);
                    assert_eq!(used, last, "the bound is past the last slot in use");
                }
                1 => slab.prepare(random(60) as usize).unwrap(),
                2 => {
                    slab.retain(|key, _| key.index() % 2 == 0);
                    model.retain(|key, _| key % 2 == 0);
                    slots.retain(|slot: &flatslab::Slot<Wide>| slot.is_valid());
                }
                3 => {
                    slots.clear();
                    slab.clear();
                    model.clear();
                }
                4..60 => match slab.insert(wide(step)) {
                    Ok(slot) => {
                        assert_eq!(model.insert(slot.key().index(), step), None);
                        slots.push(slot);
                    }
                    Err(_) => assert_eq!(model.len(), CAPACITY),
                },
                _ if slots.is_empty() => {}
                _ => {
                    let slot = slots.swap_remove(random(slots.len() as u64) as usize);
                    let number = model.remove(&slot.key().index()).unwrap();
                    assert_eq!(slot.into_inner(), number);
                }
            }
            assert_eq!(slab.len(), model.len());
            if one_in(50) {
                slab.audit();
                let same =
                    |(key, value): (Key, flatslab::Ref<Wide>)| value.0 == model[&key.index()];
                assert!(slab.iter().all(same));
            }
        }
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn prepared_slots_are_handed_out_after_those_that_were_freed() {
    for pages in kinds() {
        let slab = lazy::<u64>(100, &pages);
        let slots: Vec<_> = (0..10).map(|number| slab.insert(number).unwrap()).collect();
        drop(slots);
        let next = slab.next_key();
        slab.prepare(50).unwrap();
        assert_eq!(slab.next_key(), next);
        slab.audit();
        slab.prepare(1_000).unwrap();
        assert_eq!((slab.free_slots(), slab.len()), (100, 0));
        slab.audit();
    }
}

#[test]
fn explicit_huge_pages_cannot_be_reserved() {
    for capacity in [0, 100] {
        let builder = BoundedSlab::<u64>::builder().capacity(capacity).lazy();
        let built = builder
            .pages(Pages::new().huge(HugePages::Require))
            .try_build();
        let refused = BuildError::Unsupported(PageOption::HugePages);
        assert_eq!(built.err(), Some(refused));
    }
}

#[test]
fn a_capacity_past_the_limits_is_an_error_and_no_panic() {
    for pages in kinds() {
        for capacity in [1 << 30, usize::MAX] {
            let builder = BoundedSlab::<u64>::builder().capacity(capacity).lazy();
            assert!(builder.pages(pages.clone()).try_build().is_err());
        }
    }
    let builder = BoundedSlab::<[u8; isize::MAX as usize / 1000]>::builder().capacity(2_000);
    assert!(matches!(
        builder.lazy().try_build(),
        Err(BuildError::Memory(_))
    ));
}
