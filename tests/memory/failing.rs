//! Each request for memory fails in turn, by a refusal or by a panic of the source,
//! alone or with all that follow, in every builder and operation: values come back or
//! are dropped once, no slot is lost, and all memory comes back to the source.

use std::sync::Arc;

use flatslab::key_slab::{CheckpointSlab, Storage};
use flatslab::{
    AllocError, BoundedKeySlab, BoundedSlab, BuildError, GenKey, KeySlab, PlainSlab, Slab,
    TrackedSlab,
};

use crate::common::slabs::Room;
use crate::common::{Audit, Wide, wide};
use crate::source::{Counted, Fault, may_refuse, unless_it_panics, with_fault, without_fault};
use crate::values::{Sample, alive, with_each_value};

/// Runs `f` with each fault at each request. Returns how many requests there are.
fn each_fault(f: impl Fn(&Arc<Counted>)) -> usize {
    let mut most = 0;
    for fault in [Fault::Refuse, Fault::Panic] {
        for goes_on in [false, true] {
            // An interpreter has no time for all four.
            if cfg!(miri) && goes_on == (fault == Fault::Panic) {
                continue;
            }
            let reaches = |left| {
                let source = Counted::new();
                let is_reached = with_fault(left, fault, goes_on, || f(&source));
                source.expect_all_back();
                assert_eq!(alive(), 0, "a value is lost");
                is_reached
            };
            let requests = (0..).take_while(|&left| reaches(left)).count();
            most = most.max(requests);
        }
    }
    most
}

/// What was built, if nothing failed: then an error of memory.
fn built<S>(build: impl FnOnce() -> Result<S, BuildError>) -> Option<S> {
    match unless_it_panics(build)? {
        Ok(slab) => Some(slab),
        Err(BuildError::Memory(AllocError::OutOfMemory { bytes })) if bytes > 0 => None,
        Err(error) => panic!("{error}"),
    }
}

/// Each operation of a tracked slab that may ask for memory.
fn use_tracked<V: Sample, M: Room>(slab: Option<TrackedSlab<V, M>>) {
    let Some(slab) = slab else { return };
    let mut slots = Vec::with_capacity(32);
    let mut last = 0;
    let mut fill = |slots: &mut Vec<_>, count| {
        for _ in 0..count {
            last += 1;
            match unless_it_panics(|| slab.try_insert(V::new(last))) {
                Some(Ok(slot)) => slots.push((slot, last)),
                Some(Err(full)) => assert!(full.into_inner().is(last)),
                None => {}
            }
            assert_eq!(slab.len(), slots.len());
        }
    };
    fill(&mut slots, 7);
    // Holes in a growable slab.
    let mut index = 0;
    slots.retain(|_| {
        index += 1;
        index % 3 == 1
    });
    unless_it_panics(|| M::shrink(&slab));
    without_fault(|| slab.audit());
    unless_it_panics(|| M::try_reserve(&slab, 9).is_ok());
    without_fault(|| slab.audit());
    fill(&mut slots, 3);
    drop(unless_it_panics(|| slab.try_vacant_slot()));
    slots.truncate(1);
    unless_it_panics(|| M::shrink(&slab));
    without_fault(|| slab.audit());
    fill(&mut slots, 2);
    for (slot, number) in &slots {
        assert!(slot.get().is(*number));
    }
    // The handles last longer.
    drop(slab);
}

#[test]
fn every_request_of_a_bounded_slab_may_fail() {
    fn run<V: Sample>(lazy: bool) {
        let requests = each_fault(|source| {
            let builder = BoundedSlab::<V>::builder()
                .capacity(8)
                .pages(source.pages());
            let builder = if lazy { builder.lazy() } else { builder };
            use_tracked(built(|| builder.clone().try_build()));
        });
        assert_eq!(requests, 3, "the cells, the stack, the header");
    }
    with_each_value!(run, false);
    with_each_value!(run, true);
}

#[test]
#[cfg_attr(miri, ignore = "takes an interpreter minutes")]
fn every_request_of_a_growable_slab_may_fail() {
    fn run<V: Sample>() {
        let requests = each_fault(|source| {
            let builder = Slab::<V>::builder()
                .chunk_capacity(1)
                .reserve(1)
                .pages(source.pages());
            use_tracked(built(|| builder.clone().try_build()));
        });
        // The header, the table, the stack, a chunk.
        assert!(requests >= 4, "{requests}");
    }
    with_each_value!(run);
    let requests = each_fault(|source| {
        let slab = Slab::<Wide>::builder()
            .chunk_capacity(1)
            .pages(source.pages());
        let Some(slab) = built(|| slab.clone().try_build()) else {
            return;
        };
        for number in 0..if cfg!(miri) { 9 } else { 20 } {
            unless_it_panics(|| slab.try_insert_key(wide(number)).is_ok());
        }
        unless_it_panics(|| slab.prepare(1).is_ok());
        without_fault(|| slab.audit());
    });
    assert!(requests >= if cfg!(miri) { 9 } else { 20 }, "{requests}");
}

/// Each operation of a plain slab that may ask for memory.
fn use_plain<V: Sample, S: Storage>(
    slab: Option<PlainSlab<V, GenKey, S>>,
    resize: impl Fn(&mut PlainSlab<V, GenKey, S>, u32),
    clone: impl Fn(&PlainSlab<V, GenKey, S>) -> PlainSlab<V, GenKey, S>,
) {
    let Some(mut slab) = slab else { return };
    let mut keys = Vec::with_capacity(32);
    let mut last = 0;
    let mut fill = |slab: &mut PlainSlab<V, GenKey, S>, keys: &mut Vec<_>, count| {
        for _ in 0..count {
            last += 1;
            match unless_it_panics(|| slab.try_insert(V::new(last))) {
                Some(Ok(key)) => keys.push((key, last)),
                Some(Err(full)) => assert!(full.into_inner().is(last)),
                None => {}
            }
            assert_eq!(slab.len(), keys.len());
        }
        expect_no_slot_lost(slab);
    };
    fill(&mut slab, &mut keys, 7);
    for (key, number) in keys.drain(1.min(keys.len())..) {
        assert!(slab.remove(key).is(number));
    }
    // Chunks go, and leave the generations of their slots.
    unless_it_panics(|| resize(&mut slab, 0));
    expect_no_slot_lost(&mut slab);
    unless_it_panics(|| resize(&mut slab, 9));
    expect_no_slot_lost(&mut slab);
    fill(&mut slab, &mut keys, 6);
    // There is no other answer to a refusal than the end of the program.
    if !may_refuse() {
        if let Some(clone) = unless_it_panics(|| clone(&slab)) {
            assert_eq!(clone.len(), slab.len());
            drop(slab);
            slab = clone;
            expect_no_slot_lost(&mut slab);
        }
    }
    unless_it_panics(|| resize(&mut slab, 0));
    for (key, number) in &keys {
        assert!(slab[*key].is(*number));
    }
}

/// All slots are values or free, and the free ones can be had without memory.
fn expect_no_slot_lost<V: Sample, S: Storage>(slab: &mut PlainSlab<V, GenKey, S>) {
    let (len, capacity) = (slab.len(), slab.capacity());
    assert_eq!(slab.iter().count(), len, "`len` is the number of values");
    assert_eq!(len + slab.free_slots(), capacity, "a slot is lost");
    // A key slab has thousands of slots where values are small.
    if capacity < 50 {
        let entry = |_| slab.try_insert(V::new(0)).expect("a slot is free");
        let keys: Vec<_> = (len..capacity).map(entry).collect();
        assert_eq!((slab.capacity(), slab.free_slots()), (capacity, 0));
        for key in keys.into_iter().rev() {
            slab.remove(key);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "chunks of thousands of slots")]
fn every_request_of_a_key_slab_may_fail() {
    fn growable<V: Sample>() {
        let requests = each_fault(|source| {
            let builder = KeySlab::builder_with_key().reserve(3).pages(source.pages());
            let resize = |slab: &mut KeySlab<V, GenKey>, slots| match slots {
                0 => slab.shrink_to_fit(),
                _ => drop((
                    slab.try_reserve(slots as usize),
                    slab.prepare(10 + slots as usize),
                )),
            };
            use_plain(built(|| builder.clone().try_build()), resize, Clone::clone);
        });
        assert!(requests >= 3, "{requests}");
    }
    fn bounded<V: Sample>() {
        let requests = each_fault(|source| {
            let builder = BoundedKeySlab::builder_with_key()
                .capacity(8)
                .pages(source.pages());
            let slab: Option<BoundedKeySlab<V, GenKey>> = built(|| builder.clone().try_build());
            use_plain(slab, |slab, _| slab.prepare(8).unwrap(), Clone::clone);
        });
        assert!(requests >= 2, "{requests}");
    }
    // Without optimization each copy of a large value has its place on the stack.
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
        with_each_value!(growable);
        with_each_value!(bounded);
    });
    thread.unwrap().join().unwrap();
}

/// Of a slot that was used, of one that was not, and of one that was given back and came again,
/// with a later generation; after a refusal each.
#[test]
fn an_entry_that_was_had_needs_no_memory_to_be_filled() {
    fn entries<K: flatslab::key_slab::SlabKey + std::fmt::Debug>() {
        let source = Counted::new();
        let builder = KeySlab::<u64, K>::builder_with_key().pages(source.pages());
        let mut slab = builder.try_build().unwrap();
        let fill = |slab: &mut KeySlab<u64, K>, value| {
            let full = slab.free_slots() == 0;
            let (before, capacity) = (slab.len(), slab.capacity());
            with_fault(0, Fault::Refuse, true, || {
                assert_eq!(slab.try_vacant_entry().is_err(), full);
            });
            assert_eq!((slab.len(), slab.capacity()), (before, capacity));
            let entry = slab.try_vacant_entry().unwrap();
            let key = entry.key();
            let asked = with_fault(0, Fault::Refuse, true, || *entry.insert(value) += 1);
            assert!(!asked, "no memory is asked for");
            assert_eq!((slab[key], slab.len()), (value + 1, before + 1));
            key
        };
        let first = fill(&mut slab, 0);
        let first_slots = slab.capacity() as u64;
        let rest: Vec<K> = (1..2 * first_slots)
            .map(|number| fill(&mut slab, number))
            .collect();
        for key in &rest {
            let _ = slab.remove(*key);
        }
        let again = fill(&mut slab, 7);
        let _ = slab.remove(again);
        slab.shrink_to_fit();
        assert_eq!(slab.capacity(), 1);
        for number in 1..=first_slots {
            fill(&mut slab, number);
        }
        assert_eq!((slab[first], slab.len() as u64), (1, first_slots + 1));
        assert!(slab.capacity() as u64 > first_slots);
        drop(slab);
        source.expect_all_back();
    }
    entries::<flatslab::Key>();
    entries::<GenKey>();
}

#[test]
#[cfg_attr(miri, ignore = "large values")]
fn a_panic_of_the_source_while_a_key_slab_grows_loses_no_slot() {
    use crate::values::Large;

    let requests = each_fault(|source| {
        let builder = KeySlab::<Large, GenKey>::builder_with_key().pages(source.pages());
        let mut slab = without_fault(|| {
            let mut slab = builder.clone().try_build().unwrap();
            let keys: Vec<_> = (0..8)
                .map(|number| slab.insert(Large::new(number)))
                .collect();
            keys.iter().for_each(|&key| drop(slab.remove(key)));
            slab.shrink_to_fit();
            slab
        });
        assert_eq!((slab.capacity(), slab.len()), (0, 0));
        unless_it_panics(|| slab.try_reserve(8).is_ok());
        assert_eq!(slab.len(), 0);
        without_fault(|| expect_no_slot_lost(&mut slab));
    });
    assert!(requests >= 1, "{requests}");
}

/// The chunk that is refused is that of the next insertion, and its memory is touched then.
#[test]
fn a_refused_chunk_loses_no_slot_and_no_stretch_that_is_touched_ahead() {
    let source = Counted::new();
    let slab = Slab::<u64>::builder()
        .chunk_capacity(1024)
        .touch_ahead(300)
        .pages(source.pages())
        .build();
    let mut keys: Vec<_> = (0..1024).map(|value| slab.insert_key(value)).collect();
    for _ in 0..3 {
        with_fault(0, Fault::Refuse, true, || {
            let refused = slab.try_insert_key(1024).expect_err("no chunk is had");
            assert_eq!(refused.into_inner(), 1024);
        });
        assert_eq!(slab.len(), 1024);
    }
    keys.extend((1024..4000).map(|value| slab.insert_key(value)));
    slab.audit();
    for (value, key) in (0..).zip(keys) {
        assert_eq!(slab.remove_by_key(key), value);
    }
    drop(slab);
    source.expect_all_back();
}

/// Where the slab has no other answer than the end of the program, the source panics.
#[test]
fn a_log_whose_memory_fails_is_rewound() {
    type Log = CheckpointSlab<u64, GenKey>;
    // Keys of free slots, which the random program would return later.
    fn some_keys(slab: &Log) -> Vec<GenKey> {
        without_fault(|| {
            let mut copy = slab.parts().clone();
            (0..60).map(|number| copy.insert(number)).collect()
        })
    }

    let changes: [fn(&mut Log); 9] = [
        |slab| {
            for key in some_keys(slab).into_iter().rev() {
                let _ = slab.insert_at(key, 5);
            }
        },
        |slab| {
            let keys = some_keys(slab);
            let _ = slab.try_extend(keys.into_iter().step_by(3).map(|key| (key, 5)));
        },
        // Half of the log is cloned, then the slab is changed.
        |slab| {
            slab.checkpoint();
            slab.values_mut().rev().take(3).for_each(|it| *it = 9);
            *slab = slab.clone();
            slab.clear();
        },
        |slab| slab.clear(),
        |slab| slab.retain(|_, number| number % 2 == 0),
        |slab| slab.values_mut().for_each(|number| *number += 1),
        |slab| {
            let keys: Vec<_> = slab.keys().collect();
            keys.into_iter().for_each(|key| slab[key] = 7);
        },
        |slab| {
            while let Some(key) = slab.keys().next() {
                slab.remove(key);
            }
        },
        |slab| {
            for number in 0..100 {
                slab.insert(number);
            }
        },
    ];
    for change in changes {
        let requests = each_panic(|source| {
            let (mut slab, checkpoint, state) = without_fault(|| {
                let slab = KeySlab::builder_with_key().pages(source.pages());
                let mut slab: KeySlab<u64, GenKey> = slab.build();
                let keys: Vec<_> = (0..40).map(|number| slab.insert(number)).collect();
                keys.iter().step_by(3).for_each(|&key| {
                    slab.remove(key);
                });
                let mut slab = CheckpointSlab::from(slab);
                let checkpoint = slab.checkpoint();
                let state = slab.parts().clone();
                (slab, checkpoint, state)
            });
            let _ = unless_it_panics(|| change(&mut slab));
            without_fault(|| {
                slab.rewind(checkpoint);
                assert_eq!(**slab, state);
                let mut state = state;
                for number in 0..60 {
                    assert_eq!(slab.insert(number), state.insert(number));
                }
            });
        });
        assert!(requests > 1, "{requests}");
    }
}

/// Runs `f` with a panic at each request. Returns how many requests there are.
fn each_panic(f: impl Fn(&Arc<Counted>)) -> usize {
    let reaches = |left| {
        let source = Counted::new();
        let is_reached = with_fault(left, Fault::Panic, false, || f(&source));
        source.expect_all_back();
        is_reached
    };
    (0..).take_while(|&left| reaches(left)).count()
}
