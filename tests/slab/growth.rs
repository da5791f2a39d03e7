//! Growth and its opposite: `reserve`, `shrink_to_fit`, and chunks that are built ahead
//! by a helper thread or by `prepare`. `src/slab/tests/model.rs` shows that a
//! slab that builds ahead does the same as one that does not.

#[cfg(feature = "std")]
use flatslab::BuildError;
use flatslab::{AllocError, Key, Slab, Slot};

use crate::common::{Audit, Wide, amount, panics, wide};

fn chunks_of_four(count: u64) -> (Slab<Wide>, Vec<Slot<Wide>>) {
    let slab = Slab::builder().chunk_capacity(4).build();
    let slots = (0..count).map(|n| slab.insert(wide(n))).collect();
    (slab, slots)
}

fn keys_of(slots: &[Slot<Wide>]) -> Vec<usize> {
    slots.iter().map(|slot| slot.key().index()).collect()
}

#[test]
fn reserve_counts_from_the_present_len_and_by_whole_chunks() {
    let (slab, slots) = chunks_of_four(6);
    assert_eq!(slab.capacity(), 8);
    slab.reserve(2);
    assert_eq!(slab.capacity(), 8, "there is room for two");
    slab.reserve(3);
    assert_eq!(slab.capacity(), 12);
    slab.reserve(0);
    assert_eq!(slab.capacity(), 12);
    // The cells of stale slots are no room.
    slab.clear();
    slab.reserve(7);
    assert_eq!((slab.capacity(), slab.len()), (16, 0));
    assert_eq!(slab.audit_but_stale(), 6);
    drop(slots);
    slab.reserve(16);
    assert_eq!(slab.capacity(), 16);

    let lazy = Slab::<Wide>::new();
    lazy.reserve(0);
    assert_eq!(lazy.capacity(), 0);
}

#[test]
fn reserve_does_not_change_the_order_of_free_slots() {
    let (slab, mut slots) = chunks_of_four(8);
    drop(slots.remove(5));
    drop(slots.remove(2));
    slab.reserve(9);
    slab.audit();
    let next: Vec<_> = (0..10).map(|n| slab.insert(wide(n))).collect();
    assert_eq!(keys_of(&next), [2, 5, 8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn a_reserve_that_cannot_be_says_so_before_it_allocates() {
    let (slab, _slots) = chunks_of_four(6);
    // Whole chunks below 2^30 slots; the number asked for, not rounded.
    let limit = (1 << 30) - 4;
    for (additional, requested) in [(1 << 30, (1 << 30) + 6), (usize::MAX, usize::MAX)] {
        assert_eq!(
            slab.try_reserve(additional),
            Err(AllocError::TooManySlots { requested, limit })
        );
    }
    assert!(panics(|| slab.reserve(usize::MAX)));
    assert_eq!(slab.capacity(), 8);
    slab.audit();
}

#[test]
fn shrink_keeps_keys_and_numbers_are_used_again_the_lowest_first() {
    let (slab, mut slots) = chunks_of_four(32);
    let kept = [slots.remove(29), slots.remove(13), slots.remove(1)];
    drop(slots);
    slab.shrink_to_fit();
    slab.audit();
    assert_eq!((slab.chunks(), slab.capacity(), slab.len()), (3, 12, 3));
    let values: Vec<_> = kept
        .iter()
        .map(|slot| (slot.key().index(), slot.get().0))
        .collect();
    assert_eq!(values, [(29, 29), (13, 13), (1, 1)]);
    assert!(
        kept.iter()
            .all(|slot| *slab.get(slot.key()).unwrap() == *slot.get())
    );
    // The keys of a hole are answered like any other.
    for hole in [4, 11, 16, 27] {
        let key = Key::from_raw(hole);
        assert!(slab.get(key).is_none() && slab.get_mut(key).is_none());
        assert!(!slab.contains_key(key) && slab.slot(key).is_none());
        assert!(slab.try_remove_by_key(key).is_err() && slab.get_copied(key).is_none());
        assert!(panics(|| slab.remove_by_key(key)));
        // SAFETY: no guard is alive, and nothing is removed.
        assert!(unsafe { slab.untracked().get(key).is_none() });
    }

    // The nine free cells, the last freed first, then the holes, then new
    // chunks.
    let more: Vec<_> = (100..130).map(|n| slab.insert(wide(n))).collect();
    assert_eq!(keys_of(&more)[..9], [31, 30, 28, 15, 14, 12, 3, 2, 0]);
    let then: Vec<usize> = (4..12).chain(16..28).chain(32..33).collect();
    assert_eq!(keys_of(&more)[9..], then);
    slab.audit();
    assert_eq!(slab.chunks(), 9);
}

#[test]
fn shrink_and_reserve_from_holes_keep_the_order() {
    let (slab, mut slots) = chunks_of_four(24);
    slots.drain(4..20);
    slab.shrink_to_fit();
    drop(slots.remove(0));
    assert_eq!(slab.chunks(), 2);
    // Four holes: chunks 1 and 2 are made, below the free cell.
    slab.reserve(8);
    slab.audit();
    let next: Vec<_> = (0..9).map(|n| slab.insert(wide(n))).collect();
    assert_eq!(keys_of(&next), [0, 4, 5, 6, 7, 8, 9, 10, 11]);
    // The next growth fills the remaining holes, then adds new chunks.
    slab.reserve(12);
    slab.audit();
    assert_eq!((slab.chunks(), slab.capacity()), (7, 28));
    let next: Vec<_> = (0..12).map(|n| slab.insert(wide(n))).collect();
    assert_eq!(keys_of(&next), (12..20).chain(24..28).collect::<Vec<_>>());
}

#[test]
fn a_slab_that_shrinks_to_nothing_starts_again_at_key_0() {
    for rounds in 1..amount(4, 3) {
        let slab = Slab::builder().chunk_capacity(4).build();
        for _ in 0..rounds {
            let slots: Vec<_> = (0..40).map(|n| slab.insert(wide(n))).collect();
            assert_eq!(keys_of(&slots), (0..40).collect::<Vec<_>>());
            slab.shrink_to_fit();
            assert_eq!(slab.chunks(), 10, "all are in use");
            drop(slots);
            slab.shrink_to_fit();
            slab.audit();
            assert_eq!((slab.chunks(), slab.capacity()), (0, 0));
            assert!(slab.is_full() && slab.is_empty());
        }
    }
    Slab::<Wide>::new().shrink_to_fit();
    let built = Slab::<Wide>::builder().reserve(100).build();
    built.shrink_to_fit();
    assert_eq!(built.capacity(), 0);
}

/// Fresh cells are not on the stack yet; they go and stay with their chunk.
#[test]
fn shrink_finds_fresh_cells_free() {
    let slab = Slab::builder().chunk_capacity(16).build();
    let slot = slab.insert(wide(7));
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), 16);
    let next: Vec<_> = (0..15).map(|n| slab.insert(wide(n))).collect();
    assert_eq!(keys_of(&next), (1..16).collect::<Vec<_>>());
    drop((next, slot));
    slab.audit();
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), 0);
    drop(slab.insert(wide(7)));
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), 0, "the other fifteen are fresh");
}

/// Chunks that are built ahead.
#[cfg(feature = "std")]
mod ahead {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::RefCell;
    use std::ptr::NonNull;
    use std::rc::{Rc, Weak};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use flatslab::memory::{MemorySource, Pages};

    use super::*;

    fn slab(chunk_capacity: usize, spare_chunks: usize) -> Slab<Wide> {
        Slab::builder()
            .chunk_capacity(chunk_capacity)
            .spare_chunks(spare_chunks)
            .build()
    }

    fn fill(slab: &Slab<Wide>, values: u64) -> Vec<Key> {
        (0..values)
            .map(|number| slab.insert(wide(number)).leak())
            .collect()
    }

    fn assert_filled(slab: &Slab<Wide>, keys: &[Key]) {
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(key.index(), number, "keys ascend without a gap");
            assert_eq!(*slab.get(key).unwrap(), wide(number as u64));
        }
        assert_eq!(slab.len(), keys.len());
        slab.audit();
    }

    /// Waits for the helper.
    fn wait_for(what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the helper does nothing"
            );
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_chunk_is_whole_whether_the_helper_or_the_caller_built_it() {
        // More than one chunk has, and more than are built ahead.
        let (more, large) = amount((50_000, 64), (28, 16));
        for (chunk, spares) in [(1, 1), (2, 3), (8, 4), (large, 1)] {
            let slab = slab(chunk, spares);
            let keys = fill(&slab, chunk as u64 + more);
            assert_filled(&slab, &keys);
            assert!(slab.growth_stalls() <= slab.chunks() - spares);
        }
    }

    #[test]
    fn the_first_spares_are_there_when_the_slab_is() {
        let slab = slab(16, 3);
        assert_eq!(slab.capacity(), 0);
        let keys = fill(&slab, 48);
        assert_eq!(slab.growth_stalls(), 0);
        assert_filled(&slab, &keys);
    }

    #[test]
    fn spares_stay_usable_when_reserve_and_shrink_change_the_chunks() {
        let slab = slab(4, 2);
        let mut keys = fill(&slab, 5);
        // Takes the number for which a spare was built.
        slab.reserve(9);
        keys.extend((5..40).map(|number| slab.insert(wide(number)).leak()));
        assert_filled(&slab, &keys);
        // Gives numbers back; one of them is a hole.
        for key in keys.drain(8..) {
            slab.remove_by_key(key);
        }
        for key in keys.drain(..4) {
            slab.remove_by_key(key);
        }
        slab.shrink_to_fit();
        slab.audit();
        assert_eq!(slab.chunks(), 1);
        let more = amount(200, 12);
        let more: Vec<_> = (0..more)
            .map(|number| slab.insert(wide(number)).leak())
            .collect();
        for (number, &key) in more.iter().enumerate() {
            assert_eq!(*slab.get(key).unwrap(), wide(number as u64));
        }
        assert_eq!(slab.len(), 4 + more.len());
        slab.audit();
    }

    #[test]
    fn handles_outlive_a_slab_with_a_helper() {
        let slab = slab(2, 2);
        let slots: Vec<Slot<Wide>> = (0..20).map(|number| slab.insert(wide(number))).collect();
        drop(slab);
        assert!(slots.iter().all(|slot| !slot.is_valid()));
    }

    #[test]
    fn a_slab_may_be_dropped_while_its_helper_builds() {
        for values in 0..amount(200, 6) {
            let slab = slab(4, 3);
            fill(&slab, values);
        }
    }

    /// Counts its bytes.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    // SAFETY: the memory is that of the system's allocator.
    unsafe impl MemorySource for Counted {
        fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            let bytes = layout.size();
            self.0.fetch_add(bytes, Ordering::Relaxed);
            // SAFETY: the layout has a size.
            let start = NonNull::new(unsafe { System.alloc(layout) });
            start.ok_or(AllocError::OutOfMemory { bytes })
        }

        unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
            self.0.fetch_sub(layout.size(), Ordering::Relaxed);
            // SAFETY: from `allocate`, with this layout.
            unsafe { System.dealloc(start.as_ptr(), layout) };
        }
    }

    fn counted(spare_chunks: usize) -> (Slab<Wide>, Arc<Counted>) {
        let counted = Arc::new(Counted::default());
        let pages = Pages::from_source(counted.clone());
        let builder = Slab::builder().chunk_capacity(1).pages(pages);
        (builder.spare_chunks(spare_chunks).build(), counted)
    }

    #[test]
    fn whenever_a_slab_is_dropped_nothing_that_was_built_ahead_is_lost() {
        for values in 0..amount(300, 6) {
            let (slab, counted) = counted(1 + values as usize % 4);
            let keys = fill(&slab, values);
            match values % 3 {
                // What is built ahead is of another size than is wanted then.
                0 => slab.reserve(amount(50, 9)),
                1 => {
                    for key in keys {
                        slab.remove_by_key(key);
                    }
                    slab.shrink_to_fit();
                    fill(&slab, 5);
                }
                _ => {}
            }
            slab.audit();
            drop(slab);
            assert_eq!(counted.0.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn what_is_kept_for_growth_is_given_back_by_shrink() {
        let (slab, counted) = counted(1);
        let is_all = || counted.0.load(Ordering::Relaxed) == slab.memory().bytes();
        let keys = fill(&slab, 1 << 6);
        // A stack and a table for twice as many.
        wait_for(is_all);
        let full = slab.memory().bytes();
        for key in keys {
            slab.remove_by_key(key);
        }
        slab.shrink_to_fit();
        wait_for(is_all);
        let given_back = full - slab.memory().bytes();
        let arrays = (64 + 128 + 128) * size_of::<usize>();
        assert!(given_back >= 64 * size_of::<Wide>() + arrays);
    }

    #[test]
    fn values_may_borrow_from_the_stack_of_the_thread() {
        let text = String::from("not for ever");
        let slab: Slab<&str> = Slab::builder().chunk_capacity(1).spare_chunks(1).build();
        let slots: Vec<_> = text.split(' ').map(|word| slab.insert(word)).collect();
        assert_eq!(*slots[2].get(), "ever");
    }

    #[test]
    #[cfg_attr(windows, ignore = "waits for ever, as `Builder::spare_chunks` says")]
    fn a_slab_of_a_thread_ends_with_it() {
        thread_local! {
            static SLAB: Slab<String> =
                Slab::builder().chunk_capacity(1).spare_chunks(3).build();
            static SLOTS: RefCell<Vec<Slot<String>>> = const { RefCell::new(Vec::new()) };
        }
        let fill = || {
            SLAB.with(|slab| {
                let texts = (0..9).map(|number| slab.insert(number.to_string()));
                SLOTS.with_borrow_mut(|slots| slots.extend(texts));
                assert_eq!(slab.len(), 9);
            });
        };
        thread::spawn(fill).join().unwrap();
        // The other order: the slots are dropped after their slab.
        let slots_first = move || {
            SLOTS.with(|_| ());
            fill();
        };
        thread::spawn(slots_first).join().unwrap();
    }

    /// Uses its slab when it dies.
    struct Restless(Weak<Slab<Option<Restless>>>, u32);

    impl Drop for Restless {
        fn drop(&mut self) {
            let Some(slab) = self.0.upgrade() else {
                return;
            };
            if self.1 % 4 == 1 {
                slab.shrink_to_fit();
                slab.prepare(1).unwrap();
            } else if self.1 % 4 == 2 {
                slab.reserve(3);
            }
            let heir = (self.1 > 3).then(|| Restless(self.0.clone(), self.1 / 2));
            slab.insert(heir).leak();
        }
    }

    #[test]
    fn destructors_may_use_a_slab_that_builds_ahead() {
        let slab = Rc::new(Slab::builder().chunk_capacity(1).spare_chunks(2).build());
        for round in 0..amount(400, 8) {
            drop(slab.insert(Some(Restless(Rc::downgrade(&slab), round))));
            if round % 7 == 0 {
                slab.retain(|key, _| key.index() % 3 != 0);
                slab.shrink_to_fit();
            }
            slab.audit();
        }
        assert!(!slab.is_empty());
    }

    #[test]
    fn too_many_spares_are_an_error() {
        for spares in [1 << 30, usize::MAX] {
            let builder = Slab::<Wide>::builder()
                .chunk_capacity(64)
                .spare_chunks(spares);
            assert!(matches!(
                builder.try_build(),
                Err(BuildError::Memory(AllocError::TooManySlots { .. }))
            ));
        }
    }

    #[test]
    fn prepare_builds_one_chunk_when_one_is_needed() {
        let slab: Slab<Wide> = Slab::builder().chunk_capacity(4).build();
        for _ in 0..3 {
            slab.prepare(4).unwrap();
            assert_eq!((slab.chunks(), slab.growth_stalls()), (1, 0));
        }
        let keys = fill(&slab, 2);
        slab.prepare(4).unwrap();
        assert_eq!(slab.chunks(), 2, "two slots are fewer than a chunk has");
        assert_filled(&slab, &keys);
        let mut keys = keys;
        keys.extend((2..8).map(|number| slab.insert(wide(number)).leak()));
        assert_eq!(slab.growth_stalls(), 0);
        keys.push(slab.insert(wide(8)).leak());
        assert_eq!(slab.growth_stalls(), 1);
        assert_filled(&slab, &keys);
    }

    #[test]
    fn a_helper_that_slept_is_woken() {
        let slab = slab(2, 1);
        for _ in 0..if cfg!(miri) { 3 } else { 30 } {
            // Until a growth finds that a chunk has been built.
            wait_for(|| {
                let (chunks, stalls) = (slab.chunks(), slab.growth_stalls());
                while slab.chunks() == chunks {
                    slab.insert(wide(0)).leak();
                }
                slab.growth_stalls() == stalls
            });
        }
        slab.audit();
    }
}

/// It built, and took no value.
#[test]
#[cfg(feature = "std")]
fn a_slab_without_options_serves_from_a_region_that_is_smaller_than_a_chunk() {
    use flatslab::memory::{Pages, Region};
    use std::sync::Arc;

    // A chunk has 96 KiB, and the free stack 32 KiB: either of them is refused.
    for bytes in [24 << 10, 40 << 10, 100 << 10] {
        let region = || Arc::new(Region::try_new(bytes, Pages::new()).unwrap()).pages();
        let slab = Slab::<[u64; 2]>::builder().pages(region()).build();
        let slots: Vec<_> = std::iter::from_fn(|| slab.try_insert([7; 2]).ok()).collect();
        assert!(slots.len() * 48 > bytes / 3, "{} in {bytes}", slots.len());
        assert_eq!(slab.capacity(), slots.len());
        let reserved = Slab::<[u64; 2]>::builder().pages(region()).build();
        reserved.try_reserve(10).unwrap();
        // A size that was set stays.
        let builder = Slab::<[u64; 2]>::builder().chunk_capacity(8192);
        assert!(builder.pages(region()).build().try_insert([7; 2]).is_err());
        // The default too, where it is asked for.
        let builder = Slab::<[u64; 2]>::builder().chunk_capacity(4096);
        assert!(builder.pages(region()).build().try_insert([7; 2]).is_err());
    }
}

/// A free stack for ten million values was refused, and the chunks became smaller for good.
#[test]
#[cfg(feature = "std")]
fn a_refused_reserve_leaves_the_size_of_chunks_if_one_of_them_fits() {
    use flatslab::memory::{Pages, Region};
    use std::sync::Arc;

    let region = Arc::new(Region::try_new(3 << 20, Pages::new()).unwrap());
    let slab = Slab::<u64>::builder().pages(region.pages()).build();
    assert!(slab.try_reserve(10_000_000).is_err());
    slab.insert_key(7);
    assert_eq!(slab.capacity(), 4096);
}

/// Twice the room was asked for, and nothing less.
#[test]
#[cfg(feature = "std")]
fn a_free_stack_that_cannot_double_grows_by_what_is_needed() {
    use flatslab::memory::{Pages, Region};
    use std::sync::Arc;

    let bytes = amount(300 << 10, 4 << 10);
    let region = Arc::new(Region::try_new(bytes, Pages::new()).unwrap());
    let slab = Slab::<u64>::builder().chunk_capacity(amount(1024, 4));
    let slab = slab.pages(region.pages()).build();
    let count = std::iter::from_fn(|| slab.try_insert_key(7).ok()).count();
    let unused = region.free_bytes();
    assert!(
        unused < 3 * bytes / 10,
        "{count} values, {unused} bytes are unused"
    );
}
