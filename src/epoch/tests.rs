//! What needs more than the public methods: the invariants after each step of a program, and
//! slots at the end of their generations.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use proptest::prelude::*;

use super::{Contents, EpochBytes, EpochKey, EpochSlab, EpochState, Epochs};
use crate::common::{amount, by_speed};
use crate::error::AllocError;
use crate::raw::source::Source;

#[path = "../../tests/epoch/program/mod.rs"]
mod program;

/// Walks the invariants.
struct Walk;

impl program::Check for Walk {
    fn check<C: Contents>(slab: &Epochs<C>) {
        slab.check();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn epochs_keep_their_invariants_at_every_step() {
    let length = 4..amount(300, 40);
    let config = ProptestConfig {
        cases: amount(by_speed(150, 50), 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let programs = proptest::collection::vec(any::<u8>(), length);
    proptest!(config, |(program in programs)| {
        let mut program = program;
        // Under an interpreter the rings are short.
        program[1] = amount(program[1], program[1] % 3);
        program::run::<Walk>(&program);
    });
}

/// A record that was made for a pinned epoch lies between chunks, and keeps their memory apart.
#[test]
fn a_ring_that_goes_on_comes_back_to_the_records_that_it_began_with() {
    let builder = EpochSlab::<u64>::builder().epochs(3);
    let slab = builder.chunk_capacity(2).build();
    let first = 4;
    let late = || {
        let records = slab.raw.records.in_use();
        records.filter(|&index| index >= first).count()
    };
    let keys: Vec<_> = (0..10)
        .map(|value| {
            slab.advance();
            slab.insert(value)
        })
        .collect();
    assert_eq!(late(), 7);
    for key in keys {
        assert!(slab.take(key).is_some());
    }
    assert!(late() > 0);
    for _ in 0..3 {
        let _ = slab.advance();
    }
    assert_eq!(late(), 0);
    // An epoch outside of it takes one of the others.
    let outside = slab.open();
    assert_eq!(late(), 1);
    slab.close(outside).unwrap();
    slab.check();
}

#[test]
fn a_retired_slot_is_never_used_again() {
    let slab = EpochSlab::<u64>::builder().chunk_capacity(2).build();
    let first = slab.insert(1);
    let (chunk, slot) = slab.raw.slot(first).unwrap();
    chunk.word(slot).set(chunk.word(slot).get().aged());
    let last = chunk.key(slot);
    assert!(slab.get(first).is_none());
    assert_eq!(slab.take(last), Some(1));
    assert!(slab.get(last).is_none() && chunk.word(slot).get().is_retired());
    slab.check();
    let keys: Vec<_> = (0..4).map(|value| slab.insert(value)).collect();
    assert!(
        keys.iter()
            .all(|key| (key.place(), key.slot()) != (last.place(), last.slot()))
    );
    slab.clear_epoch(slab.current());
    slab.check();
    let again: Vec<_> = (0..4).map(|value| slab.insert(value)).collect();
    assert!(
        again
            .iter()
            .all(|key| (key.place(), key.slot()) != (last.place(), last.slot()))
    );
    assert!(keys.iter().all(|key| slab.get(*key).is_none()));
}

#[test]
fn a_chunk_whose_slots_are_all_retired_is_put_away() {
    let slab = EpochSlab::<Rc<u64>>::builder().chunk_capacity(2).build();
    let counted = Rc::new(7);
    let keys = [0, 1].map(|_| slab.insert(counted.clone()));
    let last = keys.map(|key| {
        let (chunk, slot) = slab.raw.slot(key).unwrap();
        chunk.word(slot).set(chunk.word(slot).get().aged());
        chunk.key(slot)
    });
    slab.clear_epoch(slab.current());
    assert_eq!(Rc::strong_count(&counted), 1);
    slab.check();
    let next = slab.insert(counted.clone());
    assert!(
        last.iter()
            .all(|key| slab.get(*key).is_none() && key.place() != next.place())
    );
    slab.check();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn invariants_hold_in_a_program_with_pinned_epochs() {
    let slab = EpochSlab::<u64>::builder()
        .chunk_capacity(3)
        .epochs(2)
        .cached_chunks(1)
        .build();
    let mut kept: Vec<EpochKey> = Vec::new();
    for round in 0..30 {
        let keys: Vec<_> = (0..7).map(|value| slab.insert(value)).collect();
        slab.check();
        for (index, key) in keys.into_iter().enumerate() {
            if round % 3 == 0 && index == 4 {
                kept.push(key);
            } else {
                assert!(slab.take(key).is_some());
                slab.check();
            }
        }
        if round % 4 == 3 {
            assert_eq!(slab.take(kept.remove(0)), Some(4));
            slab.check();
        }
        slab.advance();
        slab.check();
    }
    // Two of the last rounds may still be in the ring.
    let pinned = slab
        .epochs()
        .filter(|epoch| epoch.state == EpochState::Pinned);
    assert!(pinned.count() + 1 >= kept.len() && !kept.is_empty());
    slab.shrink_to_fit();
    slab.check();
    for key in kept {
        assert_eq!(slab.take(key), Some(4));
        slab.check();
    }
    assert_eq!(slab.stats().live, 0);
}

/// Random steps on a slab of buffers whose source refuses at random.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn epochs_keep_their_invariants_while_the_source_refuses_at_random() {
    use crate::common::random::{one_in, random, seed};
    use crate::memory::Pages;
    use alloc::sync::Arc;

    for number in 0..amount(60, 2) {
        seed(number);
        let (source, is_limited) = (Arc::new(Refusing), one_in(2));
        let builder = EpochBytes::builder().chunk_bytes(512).largest(2048);
        let builder = builder
            .max_bytes(if is_limited { 8192 } else { usize::MAX })
            .cached_chunks(random(4) as usize)
            .epochs(1 + random(4) as usize);
        let bytes = builder.pages(Pages::from_source(source)).build();
        let mut kept: Vec<(EpochKey, Vec<u8>)> = Vec::new();
        let (mut gone, mut opened) = (Vec::new(), Vec::new());
        for step in 0..amount(600, 60) {
            // For some steps nearly all is refused, for others nothing.
            let odds = [0, 9, 2][step as usize / 20 % 3];
            REFUSES.set(odds);
            match random(16) {
                0..8 => {
                    let all = bytes.epochs().filter(|it| it.state == EpochState::Open);
                    let all: Vec<_> = all.map(|it| it.epoch).collect();
                    let epoch = all[random(all.len() as u64) as usize];
                    let value = vec![number as u8; random(2049) as usize];
                    if let Ok(key) = bytes.try_copy_in(epoch, &value) {
                        kept.push((key, value));
                    }
                }
                8..11 if !kept.is_empty() => {
                    let (key, _) = kept.swap_remove(random(kept.len() as u64) as usize);
                    assert!(bytes.remove(key));
                    gone.push(key);
                }
                11 => kept.drain(..).for_each(|(key, _)| {
                    assert!(bytes.remove(key));
                    gone.push(key);
                }),
                12 => drop(bytes.advance()),
                13 => opened.extend(bytes.try_open()),
                14 if !opened.is_empty() => {
                    let epoch = opened.swap_remove(random(opened.len() as u64) as usize);
                    bytes.close(epoch).unwrap();
                }
                15 if one_in(4) => {
                    bytes.shrink_to_fit();
                }
                _ => {}
            }
            bytes.check();
            let is_there =
                |(key, value): &(EpochKey, Vec<u8>)| *bytes.get(*key).unwrap() == **value;
            assert!(kept.iter().all(is_there));
            assert!(gone.iter().all(|key| !bytes.contains_key(*key)));
            if gone.len() > 200 {
                gone.drain(..100);
            }
        }
        REFUSES.set(0);
        let keys: usize = bytes
            .epochs()
            .map(|it| bytes.keys_in(it.epoch).count())
            .sum();
        assert_eq!(keys, kept.len());
    }
    REFUSES.set(0);
}

std::thread_local! {
    /// One request in so many is not refused; all if it is 0.
    static REFUSES: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

struct Refusing;

// SAFETY: the memory is that of the global allocator.
unsafe impl crate::memory::MemorySource for Refusing {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let odds = REFUSES.get();
        if odds > 0 && !crate::common::random::one_in(odds) {
            let bytes = layout.size();
            return Err(AllocError::OutOfMemory { bytes });
        }
        Source::GLOBAL.allocate(layout)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        // SAFETY: `allocate` got the block from there with this layout (precondition).
        unsafe { Source::GLOBAL.release(start, layout) };
    }
}
