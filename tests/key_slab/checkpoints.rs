//! A slab with checkpoints, against a clone for each checkpoint.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};

use flatslab::key_slab::{
    Bounded, Checkpoint, CheckpointIterMut, CheckpointSlab, InStorage, KeySlabStorage, RewindError,
    SlabKey, Storage,
};
use flatslab::{BoundedKeySlab, DisjointError, GenKey, Key, KeySlab, PlainSlab, key_type};
use proptest::prelude::*;

use crate::amount::amount;
use crate::message_of;
use crate::program::Numbers;

/// A value that is checked as a whole: the address of none is like that of another.
type Value = [u64; 3];

const fn value(number: u64) -> Value {
    [number, !number, number ^ 0x55]
}

/// The keys that the next insertions return.
fn next_keys<K: SlabKey, S: Storage>(slab: &PlainSlab<Value, K, S>) -> Vec<K>
where
    PlainSlab<Value, K, S>: Clone,
{
    let mut clone = slab.clone();
    (0..slab.used_slots() + 3)
        .map_while(|_| clone.try_insert(value(0)).ok())
        .collect()
}

/// Changes a slab, and returns what the change returned.
fn change<K: SlabKey, S: Storage>(
    slab: &mut CheckpointSlab<Value, K, S>,
    step: u8,
    which: u8,
) -> (Option<K>, Option<Value>) {
    let new = value(u64::from(step) << 8 | u64::from(which));
    let key = slab.keys().nth(usize::from(which) % slab.len().max(1));
    let other = slab.keys().next();
    match (step % 16, key) {
        (0..=2, _) => (slab.try_insert(new).ok(), None),
        (3, _) => match slab.try_vacant_entry() {
            Ok(entry) if which % 2 == 0 => (Some(entry.key()), Some(*entry.insert(new))),
            Ok(entry) => (Some(entry.key()), None),
            Err(_) => (None, None),
        },
        (4..=6, Some(key)) => (Some(key), slab.try_remove(key).ok()),
        (7, Some(key)) => (
            Some(key),
            slab.get_mut(key).map(|it| std::mem::replace(it, new)),
        ),
        (8, Some(key)) => {
            slab[key][1] ^= u64::from(which);
            (Some(key), Some(slab[key]))
        }
        (9, Some(key)) => match slab.get_disjoint_mut([key, other.unwrap()]) {
            Ok([a, b]) => {
                std::mem::swap(a, b);
                (Some(key), Some(*a))
            }
            Err(error) => {
                assert_eq!((error, Some(key)), (DisjointError::Overlapping, other));
                (None, None)
            }
        },
        (10, _) => {
            slab.retain(|_, it| it[0] % 3 != u64::from(which % 3));
            (None, None)
        }
        (11, _) if which % 8 == 0 => {
            slab.clear();
            (None, None)
        }
        (12, _) if which % 4 == 0 => {
            slab.values_mut().for_each(|it| it[2] += 1);
            (None, None)
        }
        (13, _) => {
            slab.iter_mut().take(2).for_each(|(_, it)| it[2] += 1);
            (None, None)
        }
        _ => (slab.try_insert(new).ok(), None),
    }
}

/// What is done after a checkpoint: the changes, and what each returned.
type Changes<K> = Vec<((u8, u8), (Option<K>, Option<Value>))>;

fn run<K, S>(mut slab: CheckpointSlab<Value, K, S>, program: &[(u8, u8)])
where
    K: SlabKey,
    S: Storage,
    PlainSlab<Value, K, S>: Clone + PartialEq + Debug,
{
    /// What the slab was at a checkpoint, and what was done since then, up to the next.
    struct Kept<K: SlabKey, S: Storage> {
        checkpoint: Checkpoint,
        state: PlainSlab<Value, K, S>,
        changes: Changes<K>,
    }
    let mut kept: Vec<Kept<K, S>> = Vec::new();
    let mut dropped = Vec::new();
    for &(step, which) in program {
        match step % 20 {
            16 | 17 => {
                let checkpoint = slab.checkpoint();
                let last = kept.last().filter(|last| last.checkpoint == checkpoint);
                match last {
                    Some(last) => assert_eq!(**slab, last.state),
                    None => kept.push(Kept {
                        checkpoint,
                        state: slab.parts().clone(),
                        changes: Vec::new(),
                    }),
                }
            }
            18 if !kept.is_empty() => {
                let at = usize::from(which) % kept.len();
                dropped.extend(kept.drain(at + 1..).map(|it| it.checkpoint));
                let last = &mut kept[at];
                slab.rewind(last.checkpoint);
                assert_eq!(**slab, last.state);
                assert_eq!(next_keys(&slab), next_keys(&last.state));
                assert_eq!(
                    (slab.used_slots(), slab.retired_slots(), slab.wear()),
                    (
                        last.state.used_slots(),
                        last.state.retired_slots(),
                        last.state.wear()
                    )
                );
                // The same changes give the same again.
                for &((step, which), gave) in &last.changes {
                    assert_eq!(change(&mut slab, step, which), gave);
                }
            }
            19 => {
                let count = kept.len().min(usize::from(which % 6));
                let old = kept.drain(..kept.len() - count);
                dropped.extend(old.map(|it| it.checkpoint));
                slab.keep_last(count);
            }
            _ => {
                let gave = change(&mut slab, step, which);
                if let Some(last) = kept.last_mut() {
                    last.changes.push(((step, which), gave));
                }
            }
        }
        assert_eq!(slab.checkpoints(), kept.len());
        let since = slab.logged_changes();
        let before = slab.parts().clone();
        for checkpoint in dropped.iter().take(3) {
            assert_eq!(slab.try_rewind(*checkpoint), Err(RewindError::Dropped));
        }
        assert_eq!((&**slab, slab.logged_changes()), (&before, since));
    }
}

fn any_program() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec(any::<(u8, u8)>(), 1..amount(300, 40))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: amount(200, if cfg!(each_run) { 1 } else { 2 }),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_rewound_slab_is_what_it_was_and_returns_the_same_keys(program in any_program()) {
        run(CheckpointSlab::new(), &program);
        run(CheckpointSlab::<_, GenKey>::with_key(), &program);
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn a_rewound_bounded_slab_is_what_it_was(program in any_program()) {
        run::<Key, Bounded>(BoundedKeySlab::with_capacity(9).into(), &program);
        run::<GenKey, Bounded>(BoundedKeySlab::with_capacity_and_key(9).into(), &program);
    }
}

#[test]
fn a_checkpoint_of_another_slab_is_refused() {
    let mut slab = CheckpointSlab::new();
    let mut other = CheckpointSlab::<u64>::new();
    let theirs = other.checkpoint();
    let key = slab.insert(7);
    assert_eq!(slab.try_rewind(theirs), Err(RewindError::OtherSlab));
    let ours = slab.checkpoint();
    slab[key] = 8;
    assert_eq!(slab.try_rewind(theirs), Err(RewindError::OtherSlab));
    assert_eq!(other.try_rewind(ours), Err(RewindError::OtherSlab));
    assert_eq!(
        (slab[key], slab.checkpoints(), slab.logged_changes()),
        (8, 1, 1)
    );
    assert_eq!(
        message_of(|| slab.rewind(theirs)),
        "rewind was refused: checkpoint is of another slab"
    );
    // A slab from the same memory is another one.
    let mut again = CheckpointSlab::from(slab.into_inner());
    assert_eq!(again.try_rewind(ours), Err(RewindError::OtherSlab));
    again.checkpoint();
    assert_eq!(again.try_rewind(ours), Err(RewindError::OtherSlab));
}

#[test]
fn a_checkpoint_stays_and_later_ones_end() {
    let mut slab = CheckpointSlab::new();
    let key = slab.insert(0);
    let first = slab.checkpoint();
    slab[key] = 1;
    let second = slab.checkpoint();
    slab[key] = 2;
    for _ in 0..3 {
        slab.rewind(first);
        assert_eq!((slab[key], slab.checkpoints()), (0, 1));
        slab[key] = 5;
        slab.remove(key);
    }
    // The numbers of checkpoints are not used again.
    let third = slab.checkpoint();
    assert_eq!(slab.try_rewind(second), Err(RewindError::Dropped));
    assert_ne!(second, third);
    slab.rewind(third);
    assert!(slab.is_empty());
    slab.rewind(first);
    assert_eq!(slab[key], 0);
}

#[test]
fn a_window_keeps_the_log_as_small_as_its_frames() {
    const FRAMES: usize = 4;
    let mut slab: CheckpointSlab<u64, GenKey> = CheckpointSlab::with_key();
    let keys: Vec<_> = (0..50).map(|number| slab.insert(number)).collect();
    let mut bytes = 0;
    for frame in 0..amount(1000, 60) {
        let oldest = slab.checkpoint();
        slab.keep_last(FRAMES);
        for at in 0..10 {
            slab[keys[(frame * 7 + at) % 50]] = frame as u64;
        }
        assert!(slab.logged_changes() <= FRAMES * 10 && slab.checkpoints() <= FRAMES);
        if frame == 2 * FRAMES {
            bytes = slab.log_bytes();
        }
        if frame > 2 * FRAMES {
            assert_eq!(slab.log_bytes(), bytes, "nothing is allocated any more");
        }
        if frame % 9 == 0 {
            slab.rewind(oldest);
        }
    }
    slab.keep_last(0);
    slab[keys[0]] = 7;
    assert_eq!((slab.logged_changes(), slab.checkpoints()), (0, 0));
}

#[test]
fn the_log_has_stamps_for_all_slots_and_room_for_changes_after_a_checkpoint() {
    let mut slab: CheckpointSlab<u64> = CheckpointSlab::new();
    slab.reserve(100);
    let stamps = slab.log_bytes();
    assert!(stamps >= 4 * 100);
    let keys: Vec<_> = (0..100).map(|number| slab.insert(number)).collect();
    slab[keys[0]] = 7;
    slab.remove(keys[1]);
    assert_eq!(slab.log_bytes(), stamps);
    slab.checkpoint();
    slab[keys[0]] = 8;
    assert!(slab.log_bytes() >= stamps + 8 + 8);
}

#[test]
fn changes_are_logged_once_until_the_next_checkpoint() {
    let mut slab = CheckpointSlab::new();
    let keys = [1, 2, 3].map(|number| slab.insert(number));
    slab[keys[0]] = 10;
    assert_eq!(slab.logged_changes(), 0);
    slab.checkpoint();
    for number in 0..10 {
        slab[keys[0]] = number;
        slab.remove(keys[1]);
        assert_eq!(slab.insert(number), keys[1]);
        // New slots are not logged at all.
        let new = slab.insert(5);
        slab[new] = 6;
        slab.remove(new);
    }
    assert_eq!(slab.logged_changes(), 2);
    slab.checkpoint();
    slab[keys[0]] = 1;
    assert_eq!(
        slab.get_disjoint_mut([keys[0], Key::NONE]),
        Err(DisjointError::Missing)
    );
    assert_eq!(
        slab.get_disjoint_mut([keys[1], keys[1]]),
        Err(DisjointError::Overlapping)
    );
    assert_eq!(slab.logged_changes(), 3);
    let copy = *slab.get(keys[2]).unwrap();
    slab.retain(|_, number| *number != copy);
    assert_eq!((slab.get(keys[2]), slab.logged_changes()), (None, 4));
}

#[test]
fn growth_after_a_checkpoint_is_kept_and_its_values_are_not() {
    let mut slab: CheckpointSlab<u64, GenKey> = CheckpointSlab::with_key();
    let kept = slab.insert(7);
    let checkpoint = slab.checkpoint();
    slab[kept] = 8;
    let new: Vec<_> = (0..amount(5_000, 300)).map(|it| slab.insert(it)).collect();
    slab.remove(kept);
    let capacity = slab.capacity();
    slab.rewind(checkpoint);
    assert_eq!((slab.len(), slab[kept], slab.used_slots()), (1, 7, 1));
    assert_eq!(slab.capacity(), capacity);
    assert!(new.iter().all(|key| !slab.contains(*key)));
    let again: Vec<_> = (0..amount(5_000, 300)).map(|it| slab.insert(it)).collect();
    assert_eq!(again, new);
}

/// After `clear` a slab with plain keys uses no slot, and growth copies none.
#[test]
fn a_cleared_slab_that_grew_is_rewound() {
    fn check<K: SlabKey>() {
        let mut slab: CheckpointSlab<u64, K> = CheckpointSlab::with_key();
        let keys: Vec<_> = (0..9).map(|number| slab.insert(number)).collect();
        for gone in [3, 7, 5] {
            slab.remove(keys[gone]);
        }
        let state = slab.parts().clone();
        let first = slab.checkpoint();
        slab[keys[0]] = 70;
        slab.clear();
        let second = slab.checkpoint();
        for number in 0..amount(1000, 100) {
            slab.insert(number);
        }
        slab.clear();
        slab.insert(9);
        slab.rewind(second);
        assert!(slab.is_empty());
        slab.insert(10);
        slab.rewind(first);
        assert_eq!(**slab, state);
        let again: Vec<_> = (0..4).map(|number| slab.insert(number).index()).collect();
        assert_eq!(again, [5, 7, 3, 9]);
    }
    check::<Key>();
    check::<GenKey>();
}

/// The key of the last generation of a slot.
fn last_key(slot: usize) -> GenKey {
    GenKey::of(slot, (1 << 30) - 2)
}

#[test]
fn a_slot_that_retired_takes_values_again_after_a_rewind() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    slab.insert_at(last_key(1), 7).unwrap();
    let mut slab = CheckpointSlab::from(slab);
    let checkpoint = slab.checkpoint();
    slab.remove(last_key(1));
    assert_eq!((slab.retired_slots(), slab.len()), (1, 0));
    slab.insert(8);
    slab.clear();
    slab.rewind(checkpoint);
    assert_eq!(
        (slab.retired_slots(), slab.len(), slab[last_key(1)]),
        (0, 1, 7)
    );
    slab.clear();
    assert_eq!(slab.retired_slots(), 1);
    slab.rewind(checkpoint);
    assert_eq!((slab.retired_slots(), slab[last_key(1)]), (0, 7));
}

#[test]
fn slots_that_retired_before_their_generations_wrap_are_free() {
    let mut storage: KeySlabStorage<u64, 3, GenKey> = KeySlabStorage::with_key();
    let mut slab = PlainSlab::in_storage(&mut storage);
    slab.insert_at(last_key(0), 7).unwrap();
    slab.insert_at(last_key(2), 8).unwrap();
    slab.remove(last_key(0));
    assert_eq!(slab.retired_slots(), 1);
    let slab = slab.wrapping_generations();
    let mut slab: CheckpointSlab<u64, GenKey, InStorage<'_>> = slab.into();
    assert_eq!((slab.retired_slots(), slab.free_slots()), (0, 2));
    let checkpoint = slab.checkpoint();
    for _ in 0..3 {
        slab.clear();
        while slab.try_insert(9).is_ok() {}
        assert_eq!(slab.len(), 3);
        slab.rewind(checkpoint);
        assert_eq!((slab.len(), slab[last_key(2)]), (1, 8));
    }
}

#[test]
fn detached_slots_stay_detached() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let keys = [1, 2, 3].map(|number| slab.insert(number));
    slab.detach(keys[1]);
    let mut slab = CheckpointSlab::from(slab);
    let checkpoint = slab.checkpoint();
    slab.clear();
    slab.insert(4);
    slab.rewind(checkpoint);
    assert!(slab.is_detached(keys[1]) && slab.detached_slots() == 1);
    assert!(slab.values().eq(&[1, 3]));
    let mut slab = slab.into_inner();
    slab.reattach(keys[1], 2);
    assert!(slab.values().eq(&[1, 2, 3]));
}

#[test]
fn a_panic_in_the_middle_leaves_a_log_that_rewinds() {
    let mut slab = CheckpointSlab::new();
    let keys = [1, 2, 3, 4].map(|number| slab.insert(number));
    let state = slab.parts().clone();
    let checkpoint = slab.checkpoint();
    let mut left = 2;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        slab.retain(|_, _| {
            left -= 1;
            assert!(left >= 0, "as planned");
            false
        });
    }));
    assert!(panic.is_err() && slab.len() == 2);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        for number in slab.values_mut() {
            *number += 10;
            assert!(*number < 14, "as planned");
        }
    }));
    assert!(panic.is_err());
    assert!(message_of(|| slab[keys[0]] = 5).starts_with("there is no value at"));
    slab.rewind(checkpoint);
    assert_eq!(**slab, state);
}

#[test]
fn a_slab_unwinds_if_its_values_do() {
    fn unwinds<T: UnwindSafe + RefUnwindSafe>() {}
    unwinds::<CheckpointSlab<u64, GenKey>>();
}

#[test]
fn entries_and_iterators_that_are_dropped_early_change_nothing() {
    let mut slab = CheckpointSlab::new();
    let keys = [1, 2, 3].map(|number| slab.insert(number));
    slab.remove(keys[0]);
    slab.remove(keys[2]);
    let state = slab.parts().clone();
    let checkpoint = slab.checkpoint();
    for _ in 0..2 {
        assert_eq!(slab.try_vacant_entry().unwrap().key(), keys[2]);
    }
    let mut iterator: CheckpointIterMut<'_, i32> = slab.iter_mut();
    assert_eq!(
        (iterator.len(), iterator.next()),
        (1, Some((keys[1], &mut 2)))
    );
    assert_eq!(**slab, state);
    slab.remove(keys[1]);
    assert_eq!(
        [slab.insert(4), slab.insert(5), slab.insert(6)],
        [keys[1], keys[2], keys[0]]
    );
    slab.rewind(checkpoint);
    assert_eq!(**slab, state);
    assert_eq!([slab.insert(4), slab.insert(5)], [keys[2], keys[0]]);
}

#[test]
fn values_of_no_size_and_of_a_large_alignment_are_rewound() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(128))]
    struct Wide(u8);

    fn check<T: Copy + PartialEq + Debug, K: SlabKey>(old: T, new: T) {
        let mut slab: CheckpointSlab<T, K> = CheckpointSlab::with_key();
        let keys = [(); 20].map(|()| slab.insert(old));
        slab.remove(keys[4]);
        let checkpoint = slab.checkpoint();
        slab.values_mut().for_each(|value| *value = new);
        slab.remove(keys[7]);
        slab.remove(keys[0]);
        for _ in 0..20 {
            slab.insert(new);
        }
        slab.rewind(checkpoint);
        assert_eq!((slab.len(), slab.used_slots()), (19, 20));
        assert!(slab.values().all(|value| *value == old));
        assert_eq!(slab.insert(old).index(), keys[4].index());
    }
    check::<_, Key>((), ());
    check::<_, GenKey>((), ());
    check::<_, Key>(Wide(1), Wide(2));
    check::<_, GenKey>(Wide(1), Wide(2));
    check::<_, Key>(Some(&7), None);
}

#[test]
fn keys_of_a_type_of_their_own_rewind_too() {
    key_type!(
        struct BodyKey(GenKey);
    );
    let mut bodies: CheckpointSlab<f64, BodyKey> = CheckpointSlab::with_key();
    let key = bodies.insert(1.0);
    let checkpoint = bodies.checkpoint();
    bodies.remove(key);
    let other = bodies.insert(2.0);
    assert!(!bodies.contains(key) && other != key);
    bodies.rewind(checkpoint);
    assert!(bodies.contains(key) && !bodies.contains(other));
    for (_, value) in &mut bodies {
        *value += 1.0;
    }
    assert_eq!(format!("{bodies:?}"), format!("{:?}", **bodies));
    assert!((&bodies).into_iter().eq([(key, &2.0)]));
}

#[test]
fn it_moves_to_another_thread_with_its_checkpoints() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let mut slab = CheckpointSlab::default();
    is_shared(&slab);
    is_shared(&slab.iter_mut());
    let key: Key = slab.insert(7);
    let checkpoint = slab.checkpoint();
    slab[key] = 8;
    let slab = std::thread::spawn(move || {
        slab.rewind(checkpoint);
        slab
    });
    assert_eq!(slab.join().unwrap()[key], 7);
}
