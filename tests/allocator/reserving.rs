//! What was reserved is not allocated later: a witness over every `reserve`, `try_reserve`,
//! `try_reserve_…` and `prepare`.

use flatslab::bump::{Arena, ArenaVec};
use flatslab::bytes::{ByteArena, References};
use flatslab::epoch::EpochSlab;
use flatslab::key_slab::{CheckpointSlab, SecondarySlab, SlabGroup};
use flatslab::pool::Pool;
use flatslab::{BoundedKeySlab, BoundedSlab, GenKey, KeySlab, Slab};

use crate::common::amount::amount;
use crate::{Wide, allocations, wide};

/// Numbers of values to reserve for: around the sizes of blocks and chunks. More in the optimised
/// run of each week.
fn counts() -> impl Iterator<Item = usize> {
    const SOME: [usize; 15] = [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33, 64, 65, 100, 257];
    let more = if cfg!(debug_assertions) { 1 } else { 600 };
    SOME.into_iter()
        .chain((0..more).map(|at| amount(1_000, 70) - at))
}

/// Asserts that `f` does not allocate.
#[track_caller]
fn allocates_nothing(f: impl FnOnce()) {
    assert_eq!(allocations(f), 0, "it was reserved");
}

#[test]
fn values_that_a_key_slab_reserved_for_allocate_nothing() {
    for (count, before) in counts().flat_map(|count| [(count, 0), (count, 7)]) {
        type Reserve = fn(&mut KeySlab<Wide, GenKey>, usize);
        let reserves: [Reserve; 5] = [
            |slab, count| slab.reserve(count),
            |slab, count| slab.try_reserve(count).unwrap(),
            |slab, count| slab.reserve_exact(count),
            |slab, count| slab.try_reserve_exact(count).unwrap(),
            |slab, count| slab.prepare(count).unwrap(),
        ];
        for reserve in reserves {
            let mut slab = KeySlab::with_key();
            (0..before).for_each(|it| {
                slab.insert(wide(it));
            });
            reserve(&mut slab, count);
            allocates_nothing(|| {
                (0..count).for_each(|_| {
                    slab.try_insert(wide(0)).unwrap();
                });
                slab.clear();
            });
        }
    }
}

#[test]
fn values_that_a_tracked_slab_reserved_for_allocate_nothing() {
    for count in counts() {
        type Reserve = fn(&Slab<Wide>, usize);
        let reserves: [Reserve; 3] = [
            |slab, count| slab.reserve(count),
            |slab, count| slab.try_reserve(count).unwrap(),
            |slab, count| slab.prepare(count).unwrap(),
        ];
        for (reserve, before) in reserves.into_iter().flat_map(|it| [(it, 0), (it, 7)]) {
            let slab = Slab::builder().chunk_capacity(4).build();
            (0..before).for_each(|it| {
                slab.insert_key(wide(it));
            });
            reserve(&slab, count);
            allocates_nothing(|| {
                (0..count).for_each(|_| {
                    slab.insert_key(wide(0));
                });
                slab.clear();
            });
        }
        let slab = BoundedSlab::with_capacity(count);
        slab.prepare(count).unwrap();
        allocates_nothing(|| {
            (0..count).for_each(|_| {
                slab.insert_key(wide(0)).unwrap();
            })
        });
    }
}

/// Frames of a group: checkpoints, changes of values that are there, insertions and removals.
#[test]
fn frames_that_a_group_reserved_for_allocate_nothing() {
    const WINDOW: usize = 4;
    for values in counts() {
        let mut world = SlabGroup::from((
            KeySlab::<Wide, GenKey>::with_key(),
            SecondarySlab::<Wide, GenKey>::new(),
            BoundedKeySlab::<Wide, GenKey>::with_capacity_and_key(values),
        ));
        let (slab, entries, bounded) = world.parts_mut();
        slab.try_reserve(values).unwrap();
        entries.try_reserve(values).unwrap();
        bounded.try_reserve(values).unwrap();
        slab.try_reserve_changes((WINDOW + 1) * values).unwrap();
        entries.try_reserve_changes((WINDOW + 1) * values).unwrap();
        bounded.try_reserve_changes((WINDOW + 1) * values).unwrap();
        world.try_reserve_checkpoints(WINDOW + 1).unwrap();
        let mut kept = Vec::with_capacity(values);
        allocates_nothing(|| {
            let mut last = world.checkpoint();
            for frame in 0..3 * WINDOW {
                let (slab, entries, bounded) = world.parts_mut();
                kept.clear();
                for _ in slab.len()..values {
                    let key = slab.insert(wide(1));
                    entries.insert(slab, key, wide(2));
                    kept.extend(bounded.try_insert(wide(3)));
                }
                entries
                    .join_mut(slab)
                    .for_each(|(_, value, entry)| *value = *entry);
                bounded.values_mut().for_each(|value| *value = wide(4));
                slab.retain(|key, _| key.index() % 3 > 0);
                entries.prune(slab);
                kept.iter().for_each(|&key| {
                    let _ = bounded.try_remove(key);
                });
                if frame % 3 == 2 {
                    world.rewind(last);
                }
                last = world.checkpoint();
                world.keep_last(WINDOW);
            }
        });
    }
}

#[test]
fn insertions_after_a_checkpoint_allocate_nothing_if_they_were_reserved() {
    for count in counts() {
        let mut slab: CheckpointSlab<Wide, GenKey> = CheckpointSlab::with_key();
        let keys: Vec<_> = (0..count / 2)
            .map(|it| slab.insert(wide(it as u64)))
            .collect();
        keys.iter().for_each(|&key| {
            slab.remove(key);
        });
        slab.checkpoint();
        slab.try_reserve(count).unwrap();
        allocates_nothing(|| {
            (0..count).for_each(|_| {
                slab.try_insert(wide(0)).unwrap();
            })
        });
    }
}

#[test]
fn memory_that_an_arena_reserved_is_not_allocated_later() {
    for count in counts() {
        let arena = Arena::new();
        arena.reserve(count * size_of::<Wide>());
        allocates_nothing(|| {
            let mut values = ArenaVec::new_in(&arena);
            values.reserve(count);
            (0..count).for_each(|it| values.push(wide(it as u64)));
        });
        let arena = Arena::new();
        arena.try_reserve(count * 8).unwrap();
        allocates_nothing(|| (0..count).for_each(|it| *arena.alloc(0) = it as u64));
    }
}

#[test]
fn splitting_reclaiming_and_joining_a_buffer_allocates_nothing() {
    fn lines<R: References>(arena: &ByteArena<R>) {
        let mut buf = arena.alloc(900);
        allocates_nothing(|| {
            for _ in 0..100 {
                assert!(buf.try_reclaim(100));
                buf.resize(buf.len() + 90, 7).unwrap();
                let (mut front, second) = (buf.split_to(40), buf.split_to(30));
                assert!(front.try_unsplit(second).is_ok());
                drop(front);
                drop(buf.split());
            }
        });
    }
    lines(&ByteArena::new());
    lines(&ByteArena::atomic());
}

#[test]
fn cells_that_a_pool_prepared_are_not_allocated_later() {
    for count in counts() {
        let pool = Pool::with_capacity(count);
        pool.prepare(count).unwrap();
        let mut boxes = Vec::with_capacity(count);
        allocates_nothing(|| (0..count).for_each(|_| boxes.push(pool.alloc(wide(0)))));
    }
}

#[test]
fn buffers_that_an_arena_prepared_are_not_allocated_later() {
    for (count, size) in counts().flat_map(|count| [(count, 16), (count, 900)]) {
        let arena = ByteArena::new();
        arena.prepare(size, count).unwrap();
        let mut buffers = Vec::with_capacity(count);
        allocates_nothing(|| (0..count).for_each(|_| buffers.push(arena.alloc(size))));
    }
}

#[test]
fn chunks_that_an_epoch_slab_reserved_are_not_allocated_later() {
    for chunks in counts() {
        let builder = || {
            EpochSlab::builder()
                .chunk_capacity(4)
                .epochs(8)
                .reserve(chunks)
        };
        let slab = builder().build();
        allocates_nothing(|| {
            (0..4 * chunks).for_each(|it| {
                slab.insert(wide(it as u64));
            });
        });
        // Each in an epoch of its own, and permanent ones.
        let slab = builder().build();
        allocates_nothing(|| {
            for it in 0..chunks.min(8) {
                slab.insert(wide(it as u64));
                slab.advance();
            }
        });
        let slab = builder().build();
        allocates_nothing(|| {
            (0..4 * chunks).for_each(|it| {
                slab.try_insert_in(slab.permanent(), wide(it as u64))
                    .unwrap();
            });
        });
    }
}
