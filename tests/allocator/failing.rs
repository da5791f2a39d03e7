//! The n-th request for memory fails, for n = 1, 2, …: an error each time, the
//! value returned, nothing lost, nothing leaked.

use std::error::Error;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use flatslab::key_slab::{Checkpoint, CheckpointSlab, InsertAtError, SecondarySlab, SlabGroup};
use flatslab::{
    AllocError, BoundedKeySlab, BoundedSlab, BuildError, GenKey, Key, KeySlab, Slab, Slot,
};

use crate::common::{Audit, Wide, amount, wide};
use crate::{allocations, with_fuse, with_holes, with_values, without_leak, without_memory};

/// Runs `f` with each fuse until it passes, and checks that it leaks nothing.
/// Returns how often it failed.
pub(crate) fn each_failure<R, E: Into<BuildError>>(f: impl Fn() -> Result<R, E>) -> usize {
    let fails = |fuse| match with_fuse(fuse, &f) {
        Ok(_) => false,
        Err(error) => {
            let out = matches!(error.into(), BuildError::Memory(AllocError::OutOfMemory { bytes }) if bytes > 0);
            assert!(out);
            true
        }
    };
    (0..)
        .take_while(|&fuse| without_leak(|| fails(fuse)))
        .count()
}

#[test]
fn construction_that_fails_leaks_nothing() {
    // The cells, the stack, the header.
    let failures = each_failure(|| BoundedSlab::<u64>::try_with_capacity(100));
    assert_eq!(failures, 3);

    let builder = Slab::<Wide>::builder().chunk_capacity(8).reserve(100);
    let failures = each_failure(|| builder.clone().try_build());
    // 13 chunks, their table, the stack, the header.
    assert!(failures > 13, "{failures}");

    let failures = each_failure(|| Slab::<Wide>::try_with_capacity(100));
    assert!(failures >= 4, "{failures}");
}

#[test]
fn try_leak_that_fails_leaks_nothing() {
    static LEAKED: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    // The place of the slab, and its three blocks.
    for fuse in 0..4 {
        let result = without_leak(|| with_fuse(fuse, || BoundedSlab::<u64>::try_leak(8)));
        assert!(result.is_err());
    }
    let slab = BoundedSlab::<u64>::try_leak(8).unwrap();
    assert_eq!(*slab.insert(7).unwrap().get(), 7);
    // A static that refers to it tells leak checkers that it is not lost.
    LEAKED.store(std::ptr::from_ref(slab).cast_mut().cast(), Relaxed);
}

#[test]
fn a_refused_insertion_returns_the_value_and_the_slab_goes_on() {
    let values = amount(1000, 40);
    without_leak(|| {
        let slab = Slab::builder().chunk_capacity(4).build();
        let mut slots: Vec<Slot<(String, [u64; 64])>> = Vec::with_capacity(values);
        let mut failures = 0;
        for number in 0..values {
            // Every failure that this insertion can meet, then the insertion.
            // Wide, so that chunks of four are as large as a chunk has to be.
            let mut value = (number.to_string(), [0; 64]);
            for fuse in 0.. {
                match with_fuse(fuse, || slab.try_insert(value)) {
                    Ok(slot) => {
                        slots.push(slot);
                        break;
                    }
                    Err(full) => value = full.into_inner(),
                }
                assert_eq!(value.0, number.to_string());
                assert_eq!(slab.len(), slots.len());
                let result = without_memory(|| {
                    assert!(slab.try_vacant_slot().is_err());
                    slab.try_insert_with(|_| unreachable!("there is no slot"))
                });
                let error = result.unwrap_err();
                assert!(matches!(error, AllocError::OutOfMemory { .. }), "{error}");
                failures += 1;
            }
        }
        slab.audit();
        // Each growth can fail at least once; a chunk has four slots.
        assert!(failures >= values / 4, "{failures}");
        for (number, slot) in slots.iter().enumerate() {
            assert_eq!(slot.get().0, number.to_string());
        }
        drop(slab);
    });
}

#[test]
fn a_refused_reserve_keeps_the_chunks_it_got() {
    let makings: [fn() -> Slab<Wide>; 2] = [|| with_values(12), with_holes];
    let reserve = |slab: Slab<Wide>, fuse| {
        let (len, chunks) = (slab.len(), slab.chunks());
        let result = with_fuse(fuse, || slab.try_reserve(10));
        assert_eq!(slab.len(), len);
        let free = slab.capacity() - len;
        match result {
            Ok(()) => assert_eq!((slab.chunks(), free), (chunks + 3, 12)),
            Err(AllocError::OutOfMemory { .. }) => assert!(slab.chunks() < chunks + 3),
            Err(error) => panic!("{error}"),
        }
        // What was reserved is there, and no more.
        without_memory(|| {
            let got = (0..).map_while(|number| slab.try_insert(wide(number)).ok());
            assert_eq!(got.map(Slot::leak).count(), free);
        });
        slab.audit();
        result.is_err()
    };
    without_leak(|| {
        for making in makings {
            let failures = (0..).take_while(|&fuse| reserve(making(), fuse)).count();
            assert!(failures >= 3, "each chunk can fail: {failures}");
        }
    });
}

#[test]
fn shrink_needs_no_memory() {
    let chunk_bytes = 4 * (size_of::<Wide>() + 8) as isize;
    for (slab, kept_for_holes) in [(with_values(12), 0), (with_holes(), chunk_bytes)] {
        let slots = amount(400, 80);
        slab.reserve(slots);
        let (chunks, full) = (slab.chunks(), crate::LIVE_BYTES.get());
        // Without memory for a smaller stack it keeps the large one.
        without_memory(|| slab.shrink_to_fit());
        let given_back = (chunks - slab.chunks()) as isize * chunk_bytes;
        assert!(given_back >= (slots as isize / 4 - 5) * chunk_bytes);
        let large_stack = crate::LIVE_BYTES.get();
        assert_eq!(full - large_stack, given_back - kept_for_holes);
        slab.audit();
        // With memory it takes the smaller one.
        slab.shrink_to_fit();
        assert!(
            large_stack - crate::LIVE_BYTES.get() > ((slots - 50) * size_of::<usize>()) as isize
        );
        slab.audit();

        slab.clear();
        slab.shrink_to_fit();
        assert_eq!((slab.chunks(), slab.capacity()), (0, 0));
        slab.audit();
    }
}

#[test]
fn no_operation_of_a_bounded_slab_allocates() {
    let slab = BoundedSlab::with_capacity(8);
    let operations = || {
        let slots: [_; 8] = std::array::from_fn(|n| slab.insert(n).unwrap());
        assert!(slab.insert(8).is_err());
        let keys: [_; 8] = std::array::from_fn(|n| slots[n].key());
        assert!(keys.iter().all(|&key| slab.get(key).is_some()));
        assert_eq!(
            slab.iter().count() + slab.iter_mut().count() + slab.keys().count(),
            24
        );
        assert_eq!(slab.get_copied(keys[0]), Some(0));
        slab.retain(|_, value| *value > 1);
        assert!(slab.drain().take(2).map(|(_, value)| value).eq([2, 3]));
        slab.clear();
        drop(slots);
        let (value, vacant) = slab.insert(7).unwrap().take();
        let boxed = vacant.insert(value).into_box();
        let slot = slab.insert_with(|vacant| vacant.key().index()).unwrap();
        drop(slab);
        drop((boxed, slot));
    };
    assert_eq!(allocations(|| without_memory(operations)), 0);
}

#[test]
fn a_reserve_past_the_limit_allocates_nothing() {
    let refused = allocations(|| {
        for slab in [
            Slab::<Wide>::new(),
            Slab::builder().chunk_capacity(1).build(),
        ] {
            for additional in [1 << 30, usize::MAX] {
                let result = slab.try_reserve(additional);
                assert!(matches!(result, Err(AllocError::TooManySlots { .. })));
            }
        }
    });
    assert_eq!(refused, 0);
}

#[cfg(feature = "std")]
mod spares {
    use std::alloc::{GlobalAlloc, Layout};
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::thread::{self, ThreadId};
    use std::time::{Duration, Instant};

    use flatslab::memory::{MemorySource, Pages};

    use super::*;
    use crate::{ALLOCATOR, HELPERS_GO_WITHOUT, IS_SERVED, REFUSALS};

    #[test]
    fn a_slab_whose_helper_gets_no_memory_builds_its_chunks_itself() {
        const ALIGNMENT: usize = 8192;
        #[repr(align(8192))]
        struct Page(u64);

        IS_SERVED.set(true);
        let slab = Slab::builder().chunk_capacity(1).spare_chunks(2).build();
        HELPERS_GO_WITHOUT.fetch_or(ALIGNMENT, Relaxed);
        let slots: Vec<_> = (0..20).map(|number| slab.insert(Page(number))).collect();
        while REFUSALS[ALIGNMENT.ilog2() as usize].load(Relaxed) == 0 {
            thread::yield_now();
        }
        let right = |(number, slot): (u64, &Slot<Page>)| slot.get().0 == number;
        assert!((0..20).zip(&slots).all(right));
        // The two that were built with the slab, perhaps one that was finished
        // in between for each, and no more.
        assert!((14..=18).contains(&slab.growth_stalls()));
        slab.audit();

        // When there is memory again, the next growth that misses a spare asks.
        HELPERS_GO_WITHOUT.fetch_and(!ALIGNMENT, Relaxed);
        let mut more = Vec::new();
        loop {
            let stalls = slab.growth_stalls();
            more.push(slab.insert(Page(0)));
            if slab.growth_stalls() == stalls {
                break;
            }
            thread::yield_now();
        }
        slab.audit();
    }

    /// Memory for this thread and for no helper.
    struct ForOne(ThreadId);

    // SAFETY: the memory is that of the global allocator.
    unsafe impl MemorySource for ForOne {
        fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            let bytes = layout.size();
            if thread::current().id() != self.0 {
                return Err(AllocError::OutOfMemory { bytes });
            }
            // SAFETY: the layout has a size.
            let start = NonNull::new(unsafe { ALLOCATOR.alloc(layout) });
            start.ok_or(AllocError::OutOfMemory { bytes })
        }

        unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
            // SAFETY: from `allocate`, with this layout.
            unsafe { ALLOCATOR.dealloc(start.as_ptr(), layout) };
        }
    }

    #[test]
    fn a_refused_insertion_costs_neither_a_spare_nor_a_stall() {
        let pages = Pages::from_source(Arc::new(ForOne(thread::current().id())));
        let builder = Slab::builder().chunk_capacity(1).spare_chunks(4);
        let slab: Slab<Wide> = builder.pages(pages).build();
        let mut slots = vec![slab.insert(wide(0))];
        slots.reserve(8);
        for _ in 0..3 {
            // The free stack has to grow, and cannot.
            assert!(without_memory(|| slab.try_insert(wide(1)).is_err()));
        }
        slots.extend((1..4).map(|number| slab.insert(wide(number))));
        assert_eq!(slab.growth_stalls(), 0, "four spares, four chunks");
        // The helper gets nothing: neither chunks nor arrays.
        slots.extend((4..40).map(|number| slab.insert(wide(number))));
        assert_eq!(slab.growth_stalls(), 36);
        slab.audit();

        let slab: Slab<Wide> = Slab::builder().chunk_capacity(1).build();
        let slots: Vec<_> = (0..4).map(|number| slab.insert(wide(number))).collect();
        assert!(without_memory(|| slab.try_insert(wide(4)).is_err()));
        assert_eq!((slab.growth_stalls(), slots.len()), (4, 4));
        slab.audit();
    }

    #[test]
    fn growth_needs_no_memory_where_the_helper_has_built_all_of_it() {
        let slab: Slab<Wide> = Slab::builder().chunk_capacity(1).spare_chunks(3).build();
        slab.insert(wide(0)).leak();
        let mut served = 0;
        let values = amount(40, 20);
        for number in 1..values {
            let begun = Instant::now();
            // The helper may sleep: then only a growth that succeeds wakes it.
            while begun.elapsed() < Duration::from_secs(1) {
                if let Ok(slot) = without_memory(|| slab.try_insert(wide(number))) {
                    slot.leak();
                    served += 1;
                    break;
                }
                thread::yield_now();
            }
            while slab.len() <= number as usize {
                slab.insert(wide(number)).leak();
            }
        }
        // All of them as a rule. Of 40 values the stack grew five times, the table twice.
        assert!(
            served > values - 1 - 5,
            "{served} insertions took what was built"
        );
        slab.audit();
    }

    #[test]
    fn spares_that_cannot_be_built_leak_nothing() {
        let builder = Slab::<Wide>::builder().chunk_capacity(64).spare_chunks(2);
        // The ring, its place, and two chunks. The memory that the standard
        // library takes for a thread afterwards must not be refused.
        for fuse in 0..4 {
            without_leak(|| {
                let result = with_fuse(fuse, || builder.clone().try_build());
                let error = result.unwrap_err();
                assert!(matches!(
                    error,
                    BuildError::Memory(AllocError::OutOfMemory { .. })
                ));
            });
        }
    }
}

type Large = [u8; LARGE];
const LARGE: usize = 10 << 10;

#[test]
fn a_key_slab_that_gets_no_memory_returns_the_value_and_goes_on() {
    let failures = each_failure(|| BoundedKeySlab::<u64>::try_with_capacity(100));
    assert_eq!(failures, 1);
    let failures = each_failure(|| KeySlab::<Large>::try_with_capacity(80));
    assert_eq!(failures, 1);
    let failures = each_failure(|| KeySlab::<u64>::new().prepare(5));
    assert_eq!(failures, 1);

    without_leak(|| {
        let mut slab: KeySlab<(String, Large), GenKey> = KeySlab::with_key();
        let mut keys = Vec::with_capacity(40);
        let mut failures = 0;
        for number in 0..40 {
            let mut value = (number.to_string(), [0; LARGE]);
            for fuse in 0.. {
                match with_fuse(fuse, || slab.try_insert(value)) {
                    Ok(key) => {
                        keys.push(key);
                        break;
                    }
                    Err(full) => value = full.into_inner(),
                }
                failures += 1;
                assert_eq!((slab.len(), slab.free_slots()), (keys.len(), 0));
                let entry = without_memory(|| slab.try_vacant_entry().map(drop));
                assert!(matches!(entry, Err(AllocError::OutOfMemory { .. })));
            }
        }
        // From 1 on it doubles six times.
        assert!(failures >= 7, "{failures}");
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(slab[*key].0, number.to_string());
        }
    });
}

#[test]
fn a_value_that_cannot_be_put_under_its_key_comes_back() {
    without_leak(|| {
        let value = |text: String| (text, [0; LARGE]);
        let mut slab: KeySlab<(String, Large)> = KeySlab::new();
        slab.insert(value("first".to_string()));
        let far = Key::from_raw(80);
        for fuse in 0.. {
            let capacity = slab.capacity();
            let put = [(far, value(format!("fuse {fuse}")))];
            match with_fuse(fuse, || slab.try_extend(put)) {
                Ok(()) => break,
                Err(error) => {
                    assert!(matches!(error, InsertAtError::NoMemory(..)));
                    assert!(error.source().is_some());
                    assert_eq!(error.into_inner().0, format!("fuse {fuse}"));
                }
            }
            assert!(slab.capacity() >= capacity && slab.len() == 1);
            // The free slots are those there were, each once.
            let free = slab.free_slots();
            let mut keys: Vec<_> = (0..free)
                .map(|_| slab.insert(value(String::new())))
                .collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!((keys.len(), slab.free_slots()), (free, 0));
            for key in keys {
                slab.remove(key);
            }
        }
        assert!(slab.contains(far) && slab.len() == 2);
    });
}

#[test]
fn a_key_slab_keeps_its_block_where_it_gets_no_smaller_one() {
    without_leak(|| {
        let mut slab = KeySlab::<u64>::with_capacity(100_000);
        let key = slab.insert(7);
        without_memory(|| slab.shrink_to_fit());
        assert_eq!((slab[key], slab.capacity()), (7, 100_000));
        assert_eq!(slab.vacant_key().index(), 1);
        slab.shrink_to_fit();
        assert_eq!((slab[key], slab.capacity()), (7, 1));
        slab.remove(key);
        without_memory(|| slab.shrink_to_fit());
        assert_eq!(slab.capacity(), 0);
        assert_eq!(slab.insert(8), key);
    });
}

#[test]
fn many_values_and_entries_that_get_no_memory_come_back() {
    without_leak(|| {
        let mut slab: KeySlab<String, GenKey> = KeySlab::with_key();
        let mut keys = Vec::with_capacity(100);
        let mut values: Vec<_> = (0..100).rev().map(|n| n.to_string()).collect();
        let mut refused = 0;
        for fuse in 0.. {
            let mut taken = values.drain(..).rev();
            let inserted = with_fuse(fuse % 4, || slab.try_insert_many(&mut taken, &mut keys));
            let mut left: Vec<_> = inserted
                .err()
                .into_iter()
                .map(|full| full.into_inner())
                .collect();
            left.extend(taken);
            left.reverse();
            values = left;
            assert_eq!(keys.len() + values.len(), 100);
            if values.is_empty() {
                break;
            }
            refused += 1;
        }
        assert!(refused > 0);
        assert!(
            slab.get_many(&keys)
                .zip(0..)
                .all(|(value, n)| *value.unwrap() == n.to_string())
        );

        let mut more = SecondarySlab::new();
        let mut refused = 0;
        for &key in &keys {
            let mut entry = slab[key].clone();
            for fuse in 0.. {
                match with_fuse(fuse, || more.try_insert(&slab, key, entry)) {
                    Ok(old) => {
                        assert!(old.is_none());
                        break;
                    }
                    Err(error) => entry = error.into_inner(),
                }
                refused += 1;
                assert!(!more.contains(key));
            }
        }
        assert!(refused > 5);
        assert!(more.join(&slab).all(|(_, value, entry)| value == entry));
        assert_eq!(more.len(), 100);
    });
}

#[test]
#[cfg(feature = "serde")]
fn a_snapshot_that_gets_no_memory_leaves_an_empty_slab() {
    use serde::de::DeserializeSeed;

    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let mut keys = Vec::new();
    slab.insert_many(0..300, &mut keys);
    slab.retain(|_, value| *value % 3 != 0);
    let bytes = postcard::to_allocvec(&slab).unwrap();
    without_leak(|| {
        let mut back: KeySlab<u64, GenKey> = KeySlab::with_key();
        let mut failures = 0;
        for fuse in 0.. {
            let mut input = postcard::Deserializer::from_bytes(&bytes);
            let read = with_fuse(fuse, || back.restore().deserialize(&mut input));
            if read.is_ok() {
                break;
            }
            failures += 1;
            assert!(back.is_empty() && back.used_slots() == 0);
        }
        // The slots, and the bits of the free ones.
        assert!(failures > 2, "{failures}");
        assert_eq!((&back, back.vacant_key()), (&slab, slab.vacant_key()));
    });
}

/// A slab and entries of its values, under one list of checkpoints.
type World = SlabGroup<(KeySlab<Wide, GenKey>, SecondarySlab<Wide, GenKey>)>;

/// Every change that a group's slabs offer in a form that returns an error. Returns the checkpoint
/// that was taken.
fn try_change(world: &mut World, number: u64) -> Result<Option<Checkpoint>, ()> {
    if number % 13 == 0 {
        return world.try_checkpoint().map(Some).map_err(|_| ());
    }
    let (slab, entries) = world.parts_mut();
    let key = slab.keys().nth(number as usize % slab.len().max(1));
    let entry = entries.iter().next().map(|(key, _)| key);
    let new = wide(number);
    let done = match (number % 13, key, entry) {
        (1 | 5, ..) => slab.try_insert(new).is_ok(),
        (2, ..) => slab
            .try_vacant_entry()
            .map(|entry| entry.insert(new))
            .is_ok(),
        (3 | 6 | 9, Some(key), _) => entries.try_insert(slab, key, new).is_ok(),
        (4, Some(key), _) => slab.try_remove(key).is_ok(),
        (7, _, Some(key)) => entries.try_remove(key).is_ok(),
        (8, Some(key), _) => slab.try_get_mut(key).map(|value| *value = new).is_ok(),
        (10, _, Some(key)) => entries.try_get_mut(key).map(|value| *value = new).is_ok(),
        (11, ..) => match number / 13 % 4 {
            0 => slab
                .try_iter_mut()
                .map(|all| all.for_each(|(_, it)| *it = new))
                .is_ok(),
            1 => entries
                .try_iter_mut()
                .map(|all| all.for_each(|(_, it)| *it = new))
                .is_ok(),
            2 => slab.try_retain(|key, _| key.index() % 3 > 0).is_ok(),
            _ => entries.try_retain(|key, _| key.index() % 4 > 0).is_ok(),
        },
        (12, ..) if number % 5 == 0 => slab.try_clear().is_ok(),
        (12, ..) if number % 7 == 0 => entries.try_clear().is_ok(),
        _ => true,
    };
    if done { Ok(None) } else { Err(()) }
}

#[test]
fn a_group_whose_logs_are_refused_is_what_it_was() {
    without_leak(|| {
        let mut world = World::from((KeySlab::with_key(), SecondarySlab::new()));
        let copy = |world: &World| (world.parts().0.clone(), world.parts().1.clone());
        let mut states = Vec::new();
        let mut failures = 0;
        for number in 0..amount(400, 60) {
            let (state, logged) = (copy(&world), world.logged_changes());
            for fuse in 0.. {
                if let Ok(checkpoint) = with_fuse(fuse, || try_change(&mut world, number)) {
                    states.extend(checkpoint.map(|it| (it, state)));
                    break;
                }
                failures += 1;
                assert_eq!(
                    (copy(&world), world.logged_changes()),
                    (state.clone(), logged)
                );
            }
        }
        assert!(failures > amount(10, 5), "{failures}");
        for (checkpoint, state) in states.into_iter().rev() {
            with_fuse(0, || world.rewind(checkpoint));
            assert_eq!(copy(&world), state);
        }
    });
}

#[test]
fn a_slab_with_a_free_slot_does_not_ask_for_memory_that_it_does_not_need() {
    // A full slab refuses, without a word to the allocator.
    let mut slab = CheckpointSlab::from(BoundedKeySlab::<u64>::with_capacity(4));
    let keys: Vec<_> = (0..4)
        .map(|number| slab.try_insert(number).unwrap())
        .collect();
    slab.checkpoint();
    without_memory(|| assert!(slab.try_insert(4).is_err() && slab.try_vacant_entry().is_err()));
    // A slot that was changed since the checkpoint is logged, so it needs no memory.
    slab.remove(keys[2]);
    without_memory(|| {
        assert_eq!(slab.try_insert(5).unwrap(), keys[2]);
        slab.remove(keys[2]);
        let entry = slab.try_vacant_entry().unwrap();
        assert_eq!(*entry.insert(6), 6);
    });
    // A slot without a value needs no room for one: of 8 changes, as many as the first block has.
    let mut slab = CheckpointSlab::from(BoundedKeySlab::<[u64; 100]>::with_capacity(9));
    let keys: Vec<_> = (0..9)
        .map(|it| slab.try_insert([it; 100]).unwrap())
        .collect();
    keys.iter().for_each(|&key| {
        slab.remove(key);
    });
    slab.checkpoint();
    let bytes = slab.log_bytes();
    (0..8).for_each(|it| {
        slab.try_insert([it; 100]).unwrap();
    });
    assert!(slab.log_bytes() < bytes + 100 * 8);
}

#[test]
#[cfg(feature = "std")]
fn a_region_that_is_refused_leaks_nothing_and_one_that_cannot_list_its_parts_refuses() {
    use std::sync::Arc;

    use flatslab::memory::{Pages, Region};

    // The block, and the list of its free parts.
    assert_eq!(each_failure(|| Region::try_new(8192, Pages::new())), 2);

    without_leak(|| {
        let region = Arc::new(Region::try_new(64 << 10, Pages::new()).unwrap());
        let pages = region.pages();
        let build = || {
            let builder = BoundedSlab::<u64>::builder().capacity(100);
            builder.pages(pages.clone()).try_build()
        };
        assert!(each_failure(build) > 0);
        assert_eq!(region.free_bytes(), region.len());
        let slab = build().unwrap();
        let key = slab.insert_key(7).unwrap();
        assert_eq!(*slab.get(key).unwrap(), 7);
        drop(slab);
        // The list has room for what there was before.
        let again = |times| allocations(|| (0..times).for_each(|_| drop(build().unwrap())));
        let times = amount(100, 10);
        assert_eq!(again(times), times * again(1));
    });
}
