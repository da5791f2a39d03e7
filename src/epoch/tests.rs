//! What needs more than the public methods: the invariants after each step of a program, and
//! slots at the end of their generations.

use alloc::rc::Rc;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Contents, EpochKey, EpochSlab, EpochState, Epochs};
use crate::common::amount;

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
        cases: amount(150, 1),
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
