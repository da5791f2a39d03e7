//! Slabs that are rewound together, against clones of all of them for each checkpoint.

use flatslab::key_slab::{
    ChangeError, Checkpoint, CheckpointSlab, LoggedSecondary, LoggedSlab, RewindError,
    SecondarySlab, SlabGroup,
};
use flatslab::{BoundedKeySlab, GenKey, KeySlab, key_type};
use proptest::prelude::*;

use crate::amount::amount;
use crate::message_of;

type Bodies = KeySlab<u64, GenKey>;
type Entries = SecondarySlab<u32, GenKey>;

/// Entities, with components of two kinds, and values that refer to them.
type World = (Bodies, (Entries, Entries), BoundedKeySlab<GenKey, GenKey>);

fn new_world() -> World {
    let links = BoundedKeySlab::with_capacity_and_key(6);
    (Bodies::with_key(), (Entries::new(), Entries::new()), links)
}

/// Changes entries under the keys of bodies, and returns what the changes returned.
fn change_entries(
    entries: &mut LoggedSecondary<u32, GenKey>,
    bodies: &mut LoggedSlab<u64, GenKey>,
    (step, which): (u8, u8),
) -> String {
    let new = u32::from(step) << 8 | u32::from(which);
    let body = bodies.keys().nth(usize::from(which) % bodies.len().max(1));
    let entry = entries
        .keys()
        .nth(usize::from(which) % entries.len().max(1));
    match (step % 12, body, entry) {
        (0..=3, Some(key), _) => format!("{:?}", entries.insert(bodies, key, new)),
        (4, _, Some(key)) => format!("{:?}", entries.try_remove(key)),
        (5, _, Some(key)) => {
            entries[key] ^= 1;
            format!("{:?}", entries.get_mut(key).map(|entry| *entry))
        }
        (6, ..) => {
            entries.prune(bodies);
            String::new()
        }
        (7, ..) => {
            entries.retain(|_, entry| entry % 3 > 0);
            String::new()
        }
        (8, ..) if which % 8 == 0 => {
            entries.clear();
            String::new()
        }
        (9, ..) => {
            let joined = entries.join_mut(bodies).take(3).map(|(key, body, entry)| {
                (*body, *entry) = (*body + 1, *entry + 1);
                key
            });
            format!("{:?}", joined.collect::<Vec<_>>())
        }
        (10, ..) => {
            entries
                .iter_mut()
                .take(2)
                .for_each(|(_, entry)| *entry += 5);
            String::new()
        }
        _ => String::new(),
    }
}

/// Changes a world, and returns what the changes returned.
fn change(world: &mut SlabGroup<World>, (step, which): (u8, u8)) -> String {
    let (bodies, (one, two), links) = world.parts_mut();
    let body = bodies.keys().nth(usize::from(which) % bodies.len().max(1));
    let link = links.keys().nth(usize::from(which) % links.len().max(1));
    match (step % 8, body, link) {
        (0..=1, ..) => format!("{:?}", bodies.try_insert(which.into())),
        (2, Some(key), _) => format!("{:?}", bodies.try_remove(key)),
        (3, Some(key), _) => format!("{:?}", links.try_insert(key)),
        (4, _, Some(key)) => format!("{:?}", links.try_remove(key)),
        (5, Some(key), _) => {
            bodies[key] += 1;
            String::new()
        }
        (6, ..) if which % 16 == 0 => {
            bodies.clear();
            String::new()
        }
        _ if which % 2 == 0 => change_entries(one, bodies, (step / 8, which)),
        _ => change_entries(two, bodies, (step / 8, which)),
    }
}

fn copy(world: &SlabGroup<World>) -> World {
    let (bodies, (one, two), links) = world.parts();
    (bodies.clone(), (one.clone(), two.clone()), links.clone())
}

/// All that a program can see of a world: its values, and the keys that come next.
fn seen(world: &World) -> String {
    let (bodies, entries, links) = world;
    let mut next = (bodies.clone(), links.clone());
    let bodies_next: Vec<_> = (0..bodies.used_slots() + 2)
        .map(|_| next.0.insert(0))
        .collect();
    let links_next: Vec<_> = (0..6)
        .map_while(|_| next.1.try_insert(bodies_next[0]).ok())
        .collect();
    let joined: Vec<_> = entries.0.join(bodies).collect();
    format!("{world:?} {joined:?} {bodies_next:?} {links_next:?}")
}

fn run(program: &[(u8, u8)]) {
    /// What the world was at a checkpoint, and what was done since, up to the next.
    struct Kept {
        checkpoint: Checkpoint,
        state: World,
        changes: Vec<((u8, u8), String)>,
    }
    let mut world = SlabGroup::from(new_world());
    let mut kept: Vec<Kept> = Vec::new();
    for &(step, which) in program {
        match step % 20 {
            17 => {
                let checkpoint = world.checkpoint();
                if kept.last().is_none_or(|last| last.checkpoint != checkpoint) {
                    kept.push(Kept {
                        checkpoint,
                        state: copy(&world),
                        changes: Vec::new(),
                    });
                }
            }
            18 if !kept.is_empty() => {
                kept.truncate(usize::from(which) % kept.len() + 1);
                let last = kept.last().unwrap();
                world.rewind(last.checkpoint);
                assert_eq!(seen(&copy(&world)), seen(&last.state));
                for (what, gave) in &last.changes {
                    assert_eq!(&change(&mut world, *what), gave);
                }
            }
            19 => {
                let count = kept.len().min(usize::from(which % 6));
                kept.drain(..kept.len() - count);
                world.keep_last(count);
            }
            16 if which % 4 == 0 => world.shrink_to_fit(),
            _ => {
                let gave = change(&mut world, (step, which));
                if let Some(last) = kept.last_mut() {
                    last.changes.push(((step, which), gave));
                }
            }
        }
        assert_eq!(world.checkpoints(), kept.len());
        // What belongs to a body is that body's: it was inserted with its key.
        let (bodies, (one, two), _) = world.parts();
        let (joined, pruned) = (one.join(bodies).count(), |mut entries: Entries| {
            entries.prune(bodies);
            entries.len()
        });
        assert_eq!(joined, pruned(one.clone()));
        assert!(two.len() >= pruned(two.clone()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        // More in the optimised run of each week.
        cases: if cfg!(debug_assertions) { amount(200, 2) } else { 20_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_rewound_world_is_what_it_was_and_continues_as_it_did(
        program in proptest::collection::vec(any::<(u8, u8)>(), 1..amount(300, 30))
    ) {
        run(&program);
    }
}

/// The loop of a simulation that is written first: each step takes a checkpoint, the repeated ones
/// too.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_step_that_takes_a_checkpoint_may_be_repeated() {
    const WINDOW: usize = 4;
    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new()));
    let mut frames: Vec<Checkpoint> = Vec::new();
    let step = |world: &mut SlabGroup<(Bodies, Entries)>| {
        let before = world.checkpoint();
        world.keep_last(WINDOW);
        let (bodies, entries) = world.parts_mut();
        let key = bodies.insert(1);
        entries.insert(bodies, key, 1);
        for (_, body, entry) in entries.join_mut(bodies) {
            (*body, *entry) = (*body + 1, *entry + 2);
        }
        before
    };
    for frame in 0..40 {
        frames.push(step(&mut world));
        if frame % 3 == 2 {
            let late = frames.len() - 1 - frame % WINDOW;
            let repeated = frames.split_off(late);
            world.rewind(repeated[0]);
            for _ in &repeated {
                frames.push(step(&mut world));
            }
            assert_eq!(frames[late], repeated[0], "one checkpoint of one state");
        }
        assert_eq!(world.parts().0.len(), frame + 1);
    }
    assert_eq!(world.checkpoints(), WINDOW);
}

#[test]
fn a_checkpoint_without_a_change_is_the_last_one() {
    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new()));
    let first = world.checkpoint();
    assert_eq!((world.checkpoint(), world.checkpoints()), (first, 1));
    let (bodies, _) = world.parts_mut();
    let key = bodies.insert(7);
    let second = world.checkpoint();
    assert_ne!(first, second);
    // A change of any part is a change.
    let (bodies, entries) = world.parts_mut();
    entries.insert(bodies, key, 1);
    let third = world.checkpoint();
    assert_ne!(second, third);
    let (_, entries) = world.parts_mut();
    entries[key] = 2;
    entries.remove(key);
    let fourth = world.checkpoint();
    assert_eq!((world.checkpoint(), world.checkpoints()), (fourth, 4));
    world.rewind(third);
    assert_eq!((world.checkpoint(), world.checkpoints()), (third, 3));
    world.keep_last(0);
    assert_ne!(world.checkpoint(), third, "there was none any more");
    assert_eq!(world.try_rewind(third), Err(RewindError::Dropped));
}

#[test]
fn a_living_value_keeps_its_entry_and_a_new_one_finds_none() {
    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new()));
    let (bodies, entries) = world.parts_mut();
    let old = bodies.insert(1);
    entries.insert(bodies, old, 10);
    let before = world.checkpoint();

    let (bodies, entries) = world.parts_mut();
    bodies.remove(old);
    entries.prune(bodies);
    let new = bodies.insert(2);
    entries.insert(bodies, new, 20);
    world.rewind(before);

    let (bodies, entries) = world.parts_mut();
    assert_eq!((bodies[old], entries[old]), (1, 10));
    let other = bodies.insert(3);
    assert_eq!(entries.get(other), None);
    assert_eq!(entries.insert(bodies, other, 30), None);
    bodies.remove(old);
    let again = bodies.insert(4);
    assert_eq!((again, entries.get(again)), (new, None));
}

/// What happens without a group: its page names this cause.
#[test]
fn a_secondary_slab_beside_a_rewound_slab_says_why_it_refuses() {
    let mut slab = SlabGroup::from(Bodies::with_key());
    let mut entries = Entries::new();
    let first = slab.insert(1);
    let checkpoint = slab.checkpoint();
    slab.remove(first);
    let second = slab.insert(2);
    entries.insert(&slab, second, 2);
    slab.rewind(checkpoint);
    assert_eq!(
        message_of(|| entries.insert(&slab, first, 1)),
        "insert was refused: slot of this key has had its generation or a later one"
    );
}

#[test]
fn parts_keep_their_values_and_return_with_them() {
    key_type!(
        struct BodyKey(GenKey);
    );
    let mut bodies: KeySlab<u8, BodyKey> = KeySlab::with_key();
    let mut entries = SecondarySlab::new();
    let key = bodies.insert(1);
    entries.insert(&bodies, key, 2_u8);
    let mut group = SlabGroup::from((bodies, entries, KeySlab::<u8>::new()));
    assert_eq!(format!("{group:?}"), format!("{:?}", group.parts()));
    let before = group.checkpoint();
    let (_, entries, plain) = group.parts_mut();
    plain.insert(3);
    for (_, entry) in &mut *entries {
        *entry += 1;
    }
    assert_eq!(entries.try_remove(key), Ok(3));
    assert_eq!(entries.try_remove(key), Err(ChangeError::Missing));
    group.rewind(before);
    let (bodies, entries, plain) = group.into_inner();
    assert_eq!((bodies[key], entries[key], plain.len()), (1, 2, 0));
}

#[test]
fn a_log_that_is_shrunk_has_what_it_needs() {
    let bounded = BoundedKeySlab::<u64>::with_capacity(100);
    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new(), bounded));
    let stamps = world.log_bytes();
    assert_eq!(stamps, 100 * 4);
    let first = world.checkpoint();
    let (bodies, entries, bounded) = world.parts_mut();
    for number in 0..50 {
        let key = bodies.insert(number);
        entries.insert(bodies, key, 1);
        bounded.try_insert(number).unwrap();
    }
    let second = world.checkpoint();
    let (bodies, entries, bounded) = world.parts_mut();
    bodies.clear();
    entries.clear();
    bounded.clear();
    let before = world.log_bytes();
    world.shrink_to_fit();
    assert!(world.log_bytes() < before);
    world.rewind(second);
    let (bodies, entries, bounded) = world.parts();
    assert_eq!((entries.join(bodies).count(), bounded.len()), (50, 50));
    world.rewind(first);
    world.keep_last(0);
    world.shrink_to_fit();
    assert_eq!(
        world.log_bytes(),
        stamps,
        "a bounded slab has stamps for all slots"
    );
}

/// `clear` ends the use of slots that a rewind uses again.
#[test]
fn a_log_that_is_shrunk_while_no_slot_is_used_has_the_stamps_of_its_checkpoints() {
    let mut slab = CheckpointSlab::<u64>::new();
    let first = slab.insert(7);
    let checkpoint = slab.checkpoint();
    slab.clear();
    slab.shrink_to_fit();
    slab.rewind(checkpoint);
    assert_eq!(slab.try_get_mut(first), Ok(&mut 7));
    for _ in 0..2 {
        let (one, two) = (slab.insert(8), slab.insert(9));
        slab.remove(first);
        slab.remove(one);
        slab.remove(two);
        slab.rewind(checkpoint);
        assert!(slab.iter().eq([(first, &7)]));
    }

    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new()));
    let (bodies, entries) = world.parts_mut();
    let keys = [0, 1, 2].map(|number| bodies.insert(number));
    entries.insert(bodies, keys[0], 0);
    let checkpoint = world.checkpoint();
    world.parts_mut().1.clear();
    world.shrink_to_fit();
    for _ in 0..3 {
        world.rewind(checkpoint);
        let (bodies, entries) = world.parts_mut();
        assert!(entries.iter().eq([(keys[0], &0)]));
        keys[1..]
            .iter()
            .for_each(|&key| assert_eq!(entries.insert(bodies, key, 1), None));
        keys.iter()
            .for_each(|&key| assert!(entries.try_remove(key).is_ok()));
    }
}

#[test]
fn a_panic_in_retain_leaves_logs_that_rewind() {
    let mut world = SlabGroup::from((Bodies::with_key(), Entries::new()));
    let (bodies, entries) = world.parts_mut();
    for number in 0..4 {
        let key = bodies.insert(number);
        entries.insert(bodies, key, number as u32);
    }
    let before = world.checkpoint();
    let (bodies, entries) = world.parts_mut();
    let mut left = 2;
    message_of(|| {
        entries.retain(|_, _| {
            left -= 1;
            assert!(left >= 0, "as {}", "planned");
            false
        });
    });
    assert_eq!(entries.len(), 2);
    bodies.clear();
    entries.clear();
    world.rewind(before);
    let (bodies, entries) = world.parts();
    assert!(entries.join(bodies).map(|(_, _, entry)| *entry).eq(0..4));
}

/// Methods of a key type of the program's own may return any numbers.
#[test]
fn keys_that_change_their_numbers_reach_no_slot_that_is_not_logged() {
    use std::cell::Cell;

    use flatslab::key_slab::NamedKey;

    thread_local! { static LIE: Cell<u32> = const { Cell::new(0) }; }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    struct Liar(GenKey);

    impl NamedKey for Liar {
        type Inner = GenKey;

        fn from_inner(inner: GenKey) -> Self {
            Liar(inner)
        }

        fn into_inner(self) -> GenKey {
            let calls = LIE.get();
            LIE.set(calls.saturating_sub(1));
            match calls {
                1 => GenKey::from_raw(self.0.into_raw() ^ 1).unwrap(),
                2 => GenKey::from_raw(self.0.into_raw() | 0xffff).unwrap(),
                3 => GenKey::from_raw(self.0.into_raw() ^ 2 << 32).unwrap(),
                _ => self.0,
            }
        }
    }

    let mut group = SlabGroup::from((
        KeySlab::<u64, Liar>::with_key(),
        SecondarySlab::<u64, Liar>::new(),
    ));
    let (slab, entries) = group.parts_mut();
    let keys = [10, 11, 12].map(|number| slab.insert(number));
    for key in keys {
        entries.insert(slab, key, key.0.into_raw());
    }
    let before = group.checkpoint();
    let state = format!("{group:?}");
    for lie in 1..amount(30, 12) {
        let (slab, entries) = group.parts_mut();
        LIE.set(lie);
        for key in keys {
            let _ = entries.try_insert(slab, key, 1);
            let _ = entries.try_get_mut(key).map(|entry| *entry += 1);
            let _ = entries.try_remove(key);
            let _ = slab.try_remove(key);
            entries.retain(|key, _| key.into_inner() == keys[0].0);
            let _ = entries.try_insert(slab, key, 2);
        }
        LIE.set(0);
        group.rewind(before);
        assert_eq!(format!("{group:?}"), state);
    }
}
