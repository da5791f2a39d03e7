//! Worlds: slabs and their entries that are cloned, compared, saved and rolled back, whatever their
//! values are.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flatslab::key_slab::{
    ChangeError, CheckpointSlab, InsertAtError, PatchError, RewindError, SecondaryEntry,
    SecondarySlab, SlabGroup,
};
use flatslab::{BoundedKeySlab, DisjointError, GenKey, Key, KeySlab};

use crate::amount::amount;
use crate::message_of;

/// What a value does that is told to panic.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Panics {
    Never,
    WhenCloned,
    WhenDropped,
}

/// A value that is counted while it lives, and may panic.
#[derive(Debug)]
struct Fragile {
    number: u32,
    panics: Panics,
    living: Rc<Cell<i32>>,
}

impl Fragile {
    fn new(living: &Rc<Cell<i32>>, number: u32, panics: Panics) -> Self {
        living.set(living.get() + 1);
        Fragile {
            number,
            panics,
            living: living.clone(),
        }
    }
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(self.panics != Panics::WhenCloned, "clone panics as asked");
        Fragile::new(&self.living, self.number, self.panics)
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.living.set(self.living.get() - 1);
        let panics = self.panics == Panics::WhenDropped && !std::thread::panicking();
        assert!(!panics, "drop panics as asked");
    }
}

fn panics(call: impl FnOnce()) -> String {
    message_of(AssertUnwindSafe(call))
}

#[test]
fn a_rewind_is_complete_if_destructors_panic() {
    type Part = KeySlab<Fragile, GenKey>;
    let living = Rc::new(Cell::new(0));
    let new = |number, panics| Fragile::new(&living, number, panics);
    let parts: (Part, Part, SecondarySlab<Fragile, GenKey>) = Default::default();
    let mut world = SlabGroup::from(parts);
    let (one, two, more) = world.parts_mut();
    let keys = [0, 1, 2].map(|number| one.insert(new(number, Panics::Never)));
    let other = two.insert(new(10, Panics::Never));
    more.insert(two, other, new(20, Panics::Never));
    let checkpoint = world.checkpoint();

    // Two checkpoints, with a value that panics in each part, in old slots and in new ones.
    for round in 0..2 {
        let (one, two, more) = world.parts_mut();
        one[keys[round]] = new(100, Panics::WhenDropped);
        one.insert(new(101, Panics::Never));
        two[other] = new(102, Panics::Never);
        let added = two.insert(new(103, Panics::Never));
        more.insert(two, added, new(104, Panics::Never));
        world.checkpoint();
    }
    let (_, two, more) = world.parts_mut();
    two[other].number = 105;
    more[other] = new(106, Panics::Never);

    let message = panics(|| world.rewind(checkpoint));
    assert_eq!(message, "drop panics as asked");
    let (one, two, more) = world.parts();
    assert_eq!(keys.map(|key| one[key].number), [0, 1, 2]);
    assert_eq!((one.len(), two.len(), more.len()), (3, 1, 1));
    assert_eq!((two[other].number, more[other].number), (10, 20));
    assert_eq!((world.checkpoints(), world.logged_changes()), (1, 0));
    // The second value that panics was dropped while the first panic went on.
    assert_eq!(living.get(), 5);
    drop(world);
    assert_eq!(living.get(), 0);
}

#[test]
fn a_clone_that_panics_is_not_logged_and_changes_nothing() {
    let living = Rc::new(Cell::new(0));
    let new = |number, panics| Fragile::new(&living, number, panics);
    let mut slab = CheckpointSlab::new();
    let key = slab.insert(new(0, Panics::WhenCloned));
    let fine = slab.insert(new(1, Panics::Never));
    let checkpoint = slab.checkpoint();
    for _ in 0..2 {
        assert!(panics(|| slab[key].number = 9).contains("clone panics"));
        assert!(panics(|| drop(slab.remove(key))).contains("clone panics"));
        assert!(panics(|| slab.clear()).contains("clone panics"));
        assert!(panics(|| slab.retain(|_, it| it.number > 5)).contains("clone panics"));
        assert!(panics(|| slab.values_mut().for_each(|it| it.number = 9)).contains("clone panics"));
    }
    assert_eq!((slab[key].number, slab[fine].number), (0, 1));
    assert_eq!(slab.len(), 2);
    assert!(panics(|| drop(slab.clone())).contains("clone panics"));
    slab[fine].number = 5;
    slab.rewind(checkpoint);
    assert_eq!((slab[key].number, slab[fine].number), (0, 1));
    drop(slab);
    assert_eq!(living.get(), 0);
}

#[test]
fn dropped_checkpoints_drop_their_values_even_if_one_panics() {
    let living = Rc::new(Cell::new(0));
    let mut slab = CheckpointSlab::new();
    let key = slab.insert(Fragile::new(&living, 0, Panics::Never));
    for number in 1..10 {
        slab.checkpoint();
        slab[key] = Fragile::new(&living, number, Panics::Never);
    }
    assert_eq!(living.get(), 10);
    slab.keep_last(4);
    assert_eq!((living.get(), slab.logged_changes()), (5, 4));
    // The log has a clone that panics, between others.
    slab.checkpoint();
    slab[key].panics = Panics::WhenDropped;
    slab.checkpoint();
    slab[key].panics = Panics::Never;
    slab.checkpoint();
    slab[key].number = 10;
    assert!(panics(|| slab.keep_last(0)).contains("drop panics"));
    assert_eq!(
        (living.get(), slab.checkpoints(), slab.logged_changes()),
        (1, 0, 0)
    );
    let checkpoint = slab.checkpoint();
    slab[key].number = 11;
    slab.rewind(checkpoint);
    assert_eq!(slab[key].number, 10);
}

#[test]
fn iterators_that_are_forgotten_leave_what_they_have_not_yielded() {
    let living = Rc::new(Cell::new(0));
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let mut entries = SecondarySlab::new();
    for number in 0..5 {
        let key = slab.insert(());
        entries.insert(&slab, key, Fragile::new(&living, number, Panics::Never));
    }
    let mut drained = entries.drain();
    drained.next();
    std::mem::forget(drained);
    assert_eq!((entries.len(), living.get()), (4, 4));
    let mut logged = CheckpointSlab::<Fragile, GenKey>::from_iter(entries);
    let checkpoint = logged.checkpoint();
    // What only borrows has no destructor.
    logged.iter_mut().next_back().unwrap().1.number = 9;
    let _ = logged.vacant_entry();
    logged.rewind(checkpoint);
    let numbers: Vec<_> = logged.values().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    drop(logged);
    assert_eq!(living.get(), 0);
}

#[test]
fn a_clone_has_the_checkpoints_and_goes_its_own_way() {
    let mut world = CheckpointSlab::<String, GenKey>::with_key();
    let key = world.insert("one".to_string());
    let first = world.checkpoint();
    world[key].push_str(", two");
    let second = world.checkpoint();
    world.clear();

    let mut clone = world.clone();
    assert_eq!((&clone, clone.checkpoints()), (&world, 2));
    let theirs = clone.checkpoint();
    clone.rewind(second);
    assert_eq!((&*clone[key], world.len()), ("one, two", 0));
    clone.rewind(first);
    assert_eq!(&*clone[key], "one");
    assert_eq!(world.try_rewind(theirs), Err(RewindError::OtherSlab));
    assert_eq!(clone.try_rewind(second), Err(RewindError::OtherSlab));

    // What the one takes later is not the other's, whatever their numbers are.
    clone[key].push('!');
    let (of_clone, of_world) = (clone.checkpoint(), world.checkpoint());
    assert_eq!(clone.try_rewind(of_world), Err(RewindError::OtherSlab));
    assert_eq!(world.try_rewind(of_clone), Err(RewindError::OtherSlab));
    world.rewind(first);
    assert_eq!(&*world[key], "one");
    // A clone of a clone has the checkpoints of both.
    let mut third = clone.clone();
    third.clear();
    third.rewind(of_clone);
    assert_eq!(&*third[key], "one!");
    third.rewind(first);
    assert_eq!(third, world);
}

#[test]
fn cloning_into_a_world_replaces_its_checkpoints() {
    type World = SlabGroup<(KeySlab<String, GenKey>, SecondarySlab<u64, GenKey>)>;
    let mut from = World::default();
    let (names, ages) = from.parts_mut();
    let keys: Vec<_> = (0..40).map(|at| names.insert(at.to_string())).collect();
    ages.insert(names, keys[3], 3);
    let first = from.checkpoint();
    let (names, ages) = from.parts_mut();
    names.clear();
    ages.clear();

    for room in [0, 100] {
        let mut into = World::default();
        let (names, _) = into.parts_mut();
        names.reserve(room);
        names.insert("old".to_string());
        let old = into.checkpoint();
        into.parts_mut().0.clear();
        into.clone_from(&from);
        assert_eq!((&into, into.checkpoints()), (&from, 1));
        assert_eq!(into.try_rewind(old), Err(RewindError::OtherSlab));
        into.rewind(first);
        let (names, ages) = into.parts();
        assert_eq!(
            (names.len(), &*names[keys[39]], ages[keys[3]]),
            (40, "39", 3)
        );
    }

    // A bounded slab has the capacity of the other one afterwards.
    let mut small = CheckpointSlab::from(BoundedKeySlab::<_>::with_capacity(2));
    let large = CheckpointSlab::from(BoundedKeySlab::<u8>::with_capacity(7));
    small.clone_from(&large);
    assert_eq!(small.capacity(), 7);
}

#[test]
fn cloning_into_a_world_that_panics_leaves_it_without_checkpoints() {
    type World = SlabGroup<(KeySlab<Fragile>, KeySlab<Fragile>)>;
    let living = Rc::new(Cell::new(0));
    let new = |number, panics| Fragile::new(&living, number, panics);
    // The value of the log, or of a part, panics.
    for is_logged in [false, true] {
        let mut from = World::default();
        let (one, two) = from.parts_mut();
        for number in 0..3 {
            one.insert(new(number, Panics::Never));
        }
        let key = two.insert(new(3, Panics::Never));
        two.insert(new(4, Panics::Never));
        from.checkpoint();
        from.parts_mut().1[key].number = 5;
        if is_logged {
            from.checkpoint();
            from.parts_mut().1[key].number = 6;
        }
        from.parts_mut().1[key].panics = Panics::WhenCloned;

        let mut into = World::default();
        let (one, _) = into.parts_mut();
        one.insert(new(7, Panics::Never));
        into.checkpoint();
        one_more(&mut into, &new);
        assert!(panics(|| into.clone_from(&from)).contains("clone panics"));
        assert_eq!((into.checkpoints(), into.logged_changes()), (0, 0));
        assert_eq!((into.parts().0.len(), into.parts().1.len()), (3, 0));
        let checkpoint = into.checkpoint();
        one_more(&mut into, &new);
        into.rewind(checkpoint);
        assert_eq!(into.parts().0.len(), 3);
    }
    assert_eq!(living.get(), 0);

    fn one_more(world: &mut World, new: &impl Fn(u32, Panics) -> Fragile) {
        world.parts_mut().0.insert(new(8, Panics::Never));
    }
}

#[test]
fn cloning_into_a_slab_leaves_each_slot_as_it_is_there() {
    fn check<K: flatslab::key_slab::SlabKey>() {
        let living = Rc::new(Cell::new(0));
        let mut random = 7_u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % n
        };
        let mut any = |panics: bool| {
            let mut slab = KeySlab::<Fragile, K>::with_key();
            let mut keys = Vec::new();
            for number in 0..below(30) as u32 {
                let panics = match panics && below(10) == 0 {
                    true => Panics::WhenCloned,
                    false => Panics::Never,
                };
                keys.push(slab.insert(Fragile::new(&living, number, panics)));
                if below(3) == 0 {
                    let key = keys.swap_remove(below(keys.len() as u64) as usize);
                    slab.remove(key);
                }
            }
            slab
        };
        let numbers = |slab: &KeySlab<Fragile, K>| {
            slab.iter()
                .map(|(key, it)| (key, it.number))
                .collect::<Vec<_>>()
        };
        for round in 0..amount(400, 20) {
            let (mut into, from) = (any(false), any(round % 2 == 0));
            let (before, there) = (numbers(&into), numbers(&from));
            if catch_unwind(AssertUnwindSafe(|| into.clone_from(&from))).is_ok() {
                assert_eq!(numbers(&into), there);
                assert_eq!(into.used_slots(), from.used_slots());
            } else {
                // Of the slots one part has what is there, and the rest what was here.
                for (key, number) in numbers(&into) {
                    assert!(there.contains(&(key, number)) || before.contains(&(key, number)));
                }
            }
            let free = into.free_slots();
            for _ in 0..free {
                into.insert(Fragile::new(&living, 0, Panics::Never));
            }
            assert_eq!(into.free_slots(), 0);
        }
        assert_eq!(living.get(), 0);
    }

    check::<Key>();
    check::<GenKey>();
}

#[test]
fn values_are_inserted_under_keys_of_choice_and_rolled_back() {
    let mut slab = CheckpointSlab::<u32, GenKey>::with_key();
    let keys: Vec<_> = (0..6).map(|number| slab.insert(number)).collect();
    (1..5).for_each(|at| assert_eq!(slab.remove(keys[at]), at as u32));
    let state = slab.parts().clone();
    let checkpoint = slab.checkpoint();

    // From the middle of the free slots, and past all slots.
    let mut later = state.clone();
    let middle = (0..2).map(|_| later.insert(0)).last().unwrap();
    assert_eq!(slab.insert_at(middle, 20), Ok(()));
    assert!(matches!(
        slab.insert_at(middle, 21),
        Err(InsertAtError::Taken(21))
    ));
    let far = GenKey::from_raw(middle.into_raw() & u64::from(u32::MAX) << 32 | 30)
        .filter(|key| key.index() == 30)
        .or_else(|| {
            let mut other: KeySlab<u32, GenKey> = KeySlab::with_key();
            (0..31).map(|_| other.insert(0)).last()
        })
        .unwrap();
    assert_eq!(slab.insert_at(far, 30), Ok(()));
    slab.extend([(keys[0], 40), (keys[5], 45)]);
    assert_eq!((slab[middle], slab[far], slab[keys[0]]), (20, 30, 40));
    assert_eq!(
        slab.iter().rev().map(|(_, it)| *it).collect::<Vec<_>>(),
        [30, 45, 20, 40]
    );

    slab.rewind(checkpoint);
    assert_eq!((&**slab, slab.len()), (&state, 2));
    let mut again = state.clone();
    assert!((0..10).all(|_| slab.insert(0) == again.insert(0)));

    let collected: CheckpointSlab<u32, GenKey> = again.iter().map(|(key, it)| (key, *it)).collect();
    assert_eq!(&**collected, &again);
    assert_eq!(
        collected
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<_>>(),
        again.keys().collect::<Vec<_>>()
    );
}

#[test]
fn a_value_that_is_made_of_its_key_is_not_inserted_if_that_panics() {
    let mut slab = CheckpointSlab::<Key>::with_capacity(4);
    let mut bounded = BoundedKeySlab::with_capacity(1);
    assert!(panics(|| _ = slab.insert_with_key(|_| panic!("as asked"))).contains("as asked"));
    assert_eq!(
        slab.try_insert_with_key(|key| key),
        Ok(slab.keys().next().unwrap())
    );
    assert!(slab.iter().all(|(key, it)| key == *it) && slab.len() == 1);
    assert!(bounded.insert_with_key(|key| key).is_ok());
    assert!(bounded.insert_with_key(|_| unreachable!("full")).is_err());
}

/// Random programs against a map.
#[test]
fn entries_are_those_of_a_map() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let mut entries = SecondarySlab::<String, GenKey>::with_capacity(4);
    let mut model: HashMap<GenKey, String> = HashMap::new();
    let mut keys = Vec::new();
    let mut random = 1_u64;
    let mut below = |n: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % n
    };
    for step in 0..if cfg!(miri) { 200 } else { 4_000_u64 } {
        let key = keys.get(below(keys.len().max(1))).copied();
        match (below(12), key) {
            (0..=2, _) => keys.push(slab.insert(step)),
            (3, Some(key)) => {
                slab.try_remove(key);
            }
            (4, _) => {
                entries.prune(&slab);
                model.retain(|key, _| slab.contains(*key));
            }
            (5, Some(key)) => assert_eq!(entries.try_remove(key), model.remove(&key)),
            (6, Some(key)) => match entries.entry(&slab, key) {
                Ok(entry) => {
                    assert_eq!(entry.key(), key);
                    let text = entry.and_modify(|it| it.push('.')).or_default();
                    let theirs = model.entry(key).and_modify(|it| it.push('.')).or_default();
                    assert_eq!(text, theirs);
                    // The entry of an earlier value in the slot is gone.
                    model.retain(|it, _| it.index() != key.index() || *it == key);
                }
                Err(error) => {
                    assert!(matches!(error, InsertAtError::Missing(())) && !slab.contains(key))
                }
            },
            (7, Some(key)) => match entries.entry(&slab, key) {
                Ok(SecondaryEntry::Occupied(mut entry)) if step % 2 == 0 => {
                    assert_eq!(Some(entry.get()), model.get(&key));
                    let old = entry.insert(step.to_string());
                    assert_eq!(Some(old), model.insert(key, step.to_string()));
                }
                Ok(SecondaryEntry::Occupied(entry)) => {
                    assert_eq!(Some(entry.remove()), model.remove(&key))
                }
                Ok(SecondaryEntry::Vacant(entry)) => {
                    assert!(!model.contains_key(&key));
                    *entry.insert(String::new()) += "new";
                    model.retain(|it, _| it.index() != key.index());
                    model.insert(key, "new".to_string());
                }
                Err(_) => assert!(!slab.contains(key)),
            },
            (8, _) if below(30) == 0 => {
                let mut drained = entries.drain();
                let some: Vec<_> = drained.by_ref().take(2).collect();
                assert!(some.iter().all(|(key, it)| model.get(key) == Some(it)));
                assert_eq!(drained.len(), model.len().saturating_sub(2));
                drop(drained);
                model.clear();
            }
            (9, Some(key)) => {
                let other = *keys.last().unwrap();
                match entries.get_disjoint_mut([key, other]) {
                    Ok([one, two]) => {
                        assert_eq!(
                            (Some(&*one), Some(&*two)),
                            (model.get(&key), model.get(&other))
                        );
                    }
                    Err(DisjointError::Overlapping) => assert!(key == other),
                    Err(_) => assert!(!model.contains_key(&key) || !model.contains_key(&other)),
                }
            }
            (_, Some(key)) => {
                let set = entries.try_insert(&slab, key, step.to_string());
                if set.is_ok() {
                    model.retain(|it, _| it.index() != key.index());
                    model.insert(key, step.to_string());
                }
            }
            _ => {}
        }
        assert_eq!(entries.len(), model.len());
        assert!(entries.iter().all(|(key, it)| model.get(&key) == Some(it)));
        assert!(
            entries
                .keys()
                .zip(entries.values())
                .all(|(key, it)| model[&key] == *it)
        );
    }
    entries.values_mut().for_each(|it| it.clear());
    let collected: SecondarySlab<_, _> = entries.clone().into_iter().collect();
    assert_eq!(collected, entries);
}

#[test]
fn joins_read_one_side_and_write_the_other() {
    let mut places: CheckpointSlab<i32, GenKey> = CheckpointSlab::with_key();
    let mut speeds = SecondarySlab::new();
    let keys: Vec<_> = (0..5).map(|at| places.insert(at * 10)).collect();
    for at in [1, 3] {
        speeds.insert(&places, keys[at], 1);
    }
    let mut plain = places.parts().clone();
    let checkpoint = places.checkpoint();
    for (_, place, speed) in speeds.join_entries_mut(&places) {
        *speed += *place;
    }
    assert_eq!((speeds[keys[1]], speeds[keys[3]]), (11, 31));
    for (_, place, speed) in places.join_values_mut(&speeds) {
        *place += *speed;
    }
    for (_, place, speed) in speeds.join_values_mut(&mut plain) {
        *place += *speed;
    }
    assert_eq!((&**places, places.logged_changes()), (&plain, 2));
    assert!(
        speeds
            .join(&places)
            .map(|(key, ..)| key)
            .eq([keys[1], keys[3]])
    );
    places.rewind(checkpoint);
    assert_eq!(
        places.values().copied().collect::<Vec<_>>(),
        [0, 10, 20, 30, 40]
    );

    // Both in a group: what is written is logged.
    let mut world = SlabGroup::from((plain, speeds));
    let before = world.clone();
    let checkpoint = world.checkpoint();
    let (places, speeds) = world.parts_mut();
    for (_, place, speed) in speeds.join_entries_mut(places) {
        *speed -= *place;
    }
    for (_, place, speed) in places.join_values_mut(speeds) {
        *place += *speed;
    }
    speeds.values_mut().rev().for_each(|it| *it += 1);
    assert_eq!(world.logged_changes(), 4);
    assert_ne!(world, before);
    world.rewind(checkpoint);
    assert_eq!(world, before);
}

#[test]
fn an_error_of_a_logged_insertion_has_its_value() {
    let mut slab = CheckpointSlab::from(BoundedKeySlab::with_capacity(2));
    let error = slab.insert_at(Key::from_raw(2), 7).unwrap_err();
    assert_eq!(error.into_inner(), 7);
    assert_eq!(slab.try_get_mut(Key::NONE), Err(ChangeError::Missing));
    let extended = catch_unwind(AssertUnwindSafe(|| {
        slab.extend([(Key::from_raw(0), 1), (Key::NONE, 2)])
    }));
    assert!(extended.is_err() && slab.len() == 1);
}

#[test]
fn a_mapped_slab_has_the_same_keys_before_and_after() {
    fn check<K: flatslab::key_slab::SlabKey, S: flatslab::key_slab::Storage>(
        mut slab: flatslab::PlainSlab<u32, K, S>,
    ) {
        let keys: Vec<K> = (0..9).map(|it| slab.try_insert(it).unwrap()).collect();
        for at in [3, 0, 7] {
            slab.remove(keys[at]);
        }
        let mut copy = slab.clone();
        let mut seen = Vec::new();
        let mut texts = slab.map(|key, number| {
            seen.push(key);
            format!("{key:?} {number}")
        });
        assert_eq!(seen, copy.keys().collect::<Vec<_>>());
        for (key, number) in &copy {
            assert_eq!(texts[key], format!("{key:?} {number}"));
        }
        while let Ok(key) = copy.try_insert(0) {
            if copy.len() > 20 {
                break;
            }
            assert_eq!(texts.try_insert(String::new()).ok(), Some(key));
        }
        assert_eq!(texts.len().min(20), copy.len().min(20));
    }

    check(KeySlab::new());
    check(KeySlab::<_, GenKey>::with_key());
    check(BoundedKeySlab::with_capacity(12));
    check(BoundedKeySlab::<_, GenKey>::with_capacity_and_key(12));
}

#[test]
fn a_map_that_panics_drops_each_value_once() {
    let living = Rc::new(Cell::new(0));
    let mut slab: KeySlab<Fragile, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..6)
        .map(|it| slab.insert(Fragile::new(&living, it, Panics::Never)))
        .collect();
    slab.remove(keys[1]);
    slab.detach(keys[4]);
    let message = panics(|| {
        let _ = slab.map(|_, it| {
            assert!(it.number < 3, "as asked");
            (it, String::from("more"))
        });
    });
    assert!(message.contains("as asked"));
    assert_eq!(living.get(), 0);
}

#[test]
fn a_bounded_slab_is_made_of_a_growable_one_or_of_values() {
    let mut slab: KeySlab<String, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..5).map(|it: i32| slab.insert(it.to_string())).collect();
    slab.remove(keys[1]);
    let (copy, capacity) = (slab.clone(), slab.capacity());
    let mut bounded = BoundedKeySlab::from(slab);
    assert_eq!(bounded, copy);
    assert_eq!(bounded.capacity(), capacity);
    assert_eq!(bounded.insert("new".to_string()).unwrap().index(), 1);

    let values = copy.iter().map(|(key, it)| (key, it.clone()));
    let mut collected: BoundedKeySlab<String, GenKey> = values.collect();
    assert_eq!(collected, copy);
    assert_eq!((collected.capacity(), collected.free_slots()), (5, 1));
    assert_eq!(collected.insert(String::new()).unwrap().index(), 1);
    assert!(collected.insert(String::new()).is_err());
    let none: BoundedKeySlab<u8> = std::iter::empty().collect();
    assert_eq!(none.capacity(), 0);
}

#[test]
fn a_replica_follows_by_differences() {
    let mut leader: CheckpointSlab<String, GenKey> = CheckpointSlab::with_key();
    let mut keys: Vec<_> = (0..50)
        .map(|it: u32| leader.insert(it.to_string()))
        .collect();
    let mut sent = leader.checkpoint();
    let mut replica = leader.parts().clone();
    for frame in 0..amount(200, 20) {
        for at in 0..5 {
            let which = (frame * 7 + at * 13) % keys.len();
            match at {
                0 => drop(leader.try_remove(keys[which])),
                1 => keys[which] = leader.insert(frame.to_string()),
                2 if frame % 50 == 49 => leader.clear(),
                3 if frame % 3 == 0 => {
                    // A checkpoint between those that are sent.
                    leader.checkpoint();
                }
                _ => {
                    if let Some(text) = leader.get_mut(keys[which]) {
                        text.push('.');
                    }
                }
            }
        }
        let changes = leader.changes_since(sent).unwrap();
        let changed: Vec<_> = changes.iter().collect();
        assert!(changed.len() <= 60);
        let mut slots: Vec<_> = changed.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), changed.len(), "each slot once");
        for (slot, value) in changed {
            assert_eq!(value, leader.get_at(slot));
        }
        let patch = received(&changes);
        assert_eq!(replica.apply(patch), Ok(()));
        assert_eq!(&replica, leader.parts());
        sent = leader.checkpoint();
        leader.keep_last(1);
    }
    let (mut one, mut two) = (leader.into_inner(), replica);
    assert!((0..60).all(|_| one.insert(String::new()) == two.insert(String::new())));

    #[cfg(feature = "serde")]
    fn received(
        changes: &flatslab::key_slab::Changes<'_, String, GenKey, flatslab::key_slab::Growable>,
    ) -> flatslab::key_slab::Patch<String> {
        let bytes = postcard::to_allocvec(changes).unwrap();
        let json = serde_json::to_string(changes).unwrap();
        let patch = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(
            serde_json::from_str::<flatslab::key_slab::Patch<_>>(&json).unwrap(),
            patch
        );
        patch
    }

    #[cfg(not(feature = "serde"))]
    fn received(
        changes: &flatslab::key_slab::Changes<'_, String, GenKey, flatslab::key_slab::Growable>,
    ) -> flatslab::key_slab::Patch<String> {
        changes.to_patch()
    }
}

#[test]
fn a_replica_follows_a_group() {
    type World = (
        KeySlab<String, GenKey>,
        (SecondarySlab<u32, GenKey>, KeySlab<u8>),
    );
    let mut world = SlabGroup::from(World::default());
    let mut sent = world.checkpoint();
    let mut replica: World = world.clone_parts();
    for frame in 0..amount(150, 20) as u32 {
        let (names, (ages, numbers)) = world.parts_mut();
        let new = names.insert(frame.to_string());
        let keys: Vec<_> = names.keys().collect();
        let any = keys[(frame * 7) as usize % keys.len()];
        ages.insert(names, any, frame);
        match frame % 5 {
            0 => names[any].push('.'),
            1 => drop(names.try_remove(any)),
            2 => ages.prune(names),
            3 => drop(ages.insert(names, new, 1)),
            _ if frame % 20 == 4 => ages.clear(),
            _ => drop(ages.try_remove(any)),
        }
        numbers.insert(frame as u8);
        if frame % 30 == 29 {
            numbers.clear();
        }
        if frame % 3 == 0 {
            if let Ok([one, two]) = ages.get_disjoint_mut([any, new]) {
                std::mem::swap(one, two);
            }
            world.checkpoint();
            continue;
        }
        let (of_names, (of_ages, of_numbers)) = world.changes_since(sent).unwrap();
        replica.0.apply(of_names.to_patch()).unwrap();
        replica.1.0.apply(of_ages.to_patch()).unwrap();
        replica.1.1.apply(of_numbers.to_patch()).unwrap();
        let (names, (ages, numbers)) = world.parts();
        assert_eq!(
            (&replica.0, &replica.1.0, &replica.1.1),
            (names, ages, numbers)
        );
        sent = world.checkpoint();
        world.keep_last(1);
    }
    // A difference of a slab is none of a secondary slab.
    let mut names = CheckpointSlab::from(replica.0);
    let checkpoint = names.checkpoint();
    let key = names.insert("one".to_string());
    names.remove(key);
    let patch = names.changes_since(checkpoint).unwrap().to_patch();
    let mut entries = SecondarySlab::<String, GenKey>::new();
    assert!(matches!(
        entries.apply(patch),
        Err(PatchError::Inconsistent { .. })
    ));
}

#[test]
fn a_difference_of_another_state_is_refused() {
    let mut slab = CheckpointSlab::new();
    slab.insert(1);
    let first = slab.checkpoint();
    let base = slab.parts().clone();
    slab.insert(2);
    let patch = slab.changes_since(first).unwrap().to_patch();
    assert_eq!(patch.slots(), 1);
    let mut other = slab.parts().clone();
    assert_eq!(other.apply(patch.clone()), Err(PatchError::OtherState));
    let mut replica = base;
    assert_eq!(replica.apply(patch), Ok(()));
    slab.keep_last(0);
    assert_eq!(slab.changes_since(first).err(), Some(RewindError::Dropped));
}

#[test]
fn a_difference_is_applied_whole_if_a_destructor_panics() {
    let living = Rc::new(Cell::new(0));
    let new = |number, panics| Fragile::new(&living, number, panics);
    let mut slab = CheckpointSlab::new();
    let keys = [0, 1, 2].map(|number| slab.insert(new(number, Panics::Never)));
    let checkpoint = slab.checkpoint();
    let mut replica = slab.parts().clone();
    // In the middle of the changes, whatever their order is.
    replica[keys[1]] = new(1, Panics::WhenDropped);
    slab[keys[0]].number = 5;
    slab.remove(keys[1]);
    slab[keys[2]].number = 7;
    slab.insert(new(8, Panics::Never));
    slab.insert(new(9, Panics::Never));
    let patch = slab.changes_since(checkpoint).unwrap().to_patch();
    assert!(panics(|| replica.apply(patch).unwrap()).contains("drop panics"));
    let numbers = |slab: &KeySlab<Fragile>| slab.values().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!(numbers(&replica), numbers(slab.parts()));
    drop((slab, replica));
    assert_eq!(living.get(), 0);
}

/// What a game saves: entities, their components, a scene graph, and eight frames to roll back.
#[cfg(feature = "serde")]
mod saved {
    use super::*;
    use flatslab::key_type;
    use serde::{Deserialize, Serialize};

    key_type! {
        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        struct Entity(GenKey);
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Node {
        name: String,
        parent: Option<Entity>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct World {
        nodes: CheckpointSlab<Node, Entity>,
        health: SecondarySlab<u32, Entity>,
        moved: SlabGroup<(KeySlab<f32, Entity>, SecondarySlab<f32, Entity>)>,
        tick: u64,
    }

    fn world() -> World {
        let mut world = World::default();
        let root = world.nodes.insert(Node {
            name: "root".to_string(),
            parent: None,
        });
        for at in 0..5 {
            let name = at.to_string();
            let key = world.nodes.insert(Node {
                name,
                parent: Some(root),
            });
            world.health.insert(&world.nodes, key, at);
            let (places, speeds) = world.moved.parts_mut();
            let place = places.insert(at as f32);
            speeds.insert(places, place, 0.5);
        }
        let third = world.nodes.keys().nth(2).unwrap();
        world.nodes.remove(third);
        world.nodes.checkpoint();
        world
    }

    #[test]
    fn a_world_is_saved_and_read() {
        let world = world();
        let json = serde_json::to_string(&world).unwrap();
        let bytes = postcard::to_allocvec(&world).unwrap();
        let binary = bincode_1::serialize(&world).unwrap();
        let read: [World; 3] = [
            serde_json::from_str(&json).unwrap(),
            postcard::from_bytes(&bytes).unwrap(),
            bincode_1::deserialize(&binary).unwrap(),
        ];
        for mut read in read {
            assert_eq!(read, world);
            let mut copy = world.clone();
            assert_eq!((read.nodes.checkpoints(), copy.nodes.checkpoints()), (0, 1));
            let node = |name: &str| Node {
                name: name.to_string(),
                parent: None,
            };
            assert!(
                (0..3).all(|_| read.nodes.insert(node("new")) == copy.nodes.insert(node("new")))
            );
            // It goes on with checkpoints.
            let before = read.clone();
            let checkpoint = read.nodes.checkpoint();
            read.nodes.clear();
            read.nodes.rewind(checkpoint);
            assert_eq!(read, before);
        }
    }

    #[test]
    fn a_snapshot_of_a_slab_is_none_of_entries() {
        let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
        let keys = [1, 2].map(|number| slab.insert(number));
        slab.remove(keys[0]);
        let json = serde_json::to_string(&slab).unwrap();
        let error = serde_json::from_str::<SecondarySlab<u32, GenKey>>(&json).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the snapshot is not of a secondary slab"),
            "{error}"
        );
        let mut more = SecondarySlab::new();
        more.insert(&slab, keys[1], 7);
        let json = serde_json::to_string(&more).unwrap();
        let read: SecondarySlab<u32, GenKey> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, more);
        // As a slab it has no free slot.
        let slab: KeySlab<u32, GenKey> = serde_json::from_str(&json).unwrap();
        assert_eq!((slab.len(), slab.detached_slots()), (1, 1));
    }
}
