//! Entries for the values of another slab.

use std::collections::BTreeMap;

use flatslab::key_slab::{InsertAtError, SecondarySlab};
use flatslab::{BoundedKeySlab, GenKey, KeySlab};

use crate::amount::amount;
use crate::message_of;
use crate::program::{Count, Counted, Numbers};

#[test]
fn the_next_value_of_a_slot_has_no_entry() {
    let count = Count::default();
    let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    let mut more: SecondarySlab<Counted, GenKey> = SecondarySlab::new();
    let old = slab.insert("old");
    assert!(more.insert(&slab, old, count.make(1)).is_none());
    assert_eq!(more.insert(&slab, old, count.make(2)).unwrap().number, 1);
    slab.remove(old);
    let new = slab.insert("new");
    assert_eq!(new.index(), old.index());
    assert!(more.get(new).is_none() && more.contains(old));
    // It is dropped, and not given to somebody who asks about another one.
    assert!(more.insert(&slab, new, count.make(3)).is_none());
    assert_eq!((more.len(), count.alive(), more[new].number), (1, 1, 3));
    assert!(!more.contains(old) && more.try_remove(old).is_none());
    more[new].number = 4;
    assert_eq!((more.remove(new).number, more.is_empty()), (4, true));
    assert_eq!(
        message_of(move || more.remove(new)),
        "there is no value at GenKey(slot 0, generation 1)"
    );
}

#[test]
fn a_key_that_opens_nothing_takes_no_memory() {
    let mut slab: BoundedKeySlab<(), GenKey> = BoundedKeySlab::with_capacity_and_key(3);
    let mut more: SecondarySlab<u64, GenKey> = SecondarySlab::new();
    let key = slab.insert(()).unwrap();
    for forged in [
        GenKey::of((1 << 30) - 1, 0),
        GenKey::of(u32::MAX as usize, 0),
    ] {
        let error = more.try_insert(&slab, forged, 7).unwrap_err();
        assert_eq!(error, InsertAtError::Missing(7));
    }
    assert_eq!(more.memory().bytes(), 0);
    more.insert(&slab, key, 7);
    slab.remove(key);
    assert_eq!(
        more.try_insert(&slab, key, 8),
        Err(InsertAtError::Missing(8))
    );
    assert_eq!(
        message_of(move || more.insert(&slab, key, 8)),
        "insert was refused: no value has this key"
    );
}

#[test]
fn an_entry_of_a_later_value_is_not_overwritten() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let mut other = slab.clone();
    let early = other.insert(0);
    let gone = slab.insert(0);
    slab.remove(gone);
    let late = slab.insert(0);
    let mut more = SecondarySlab::new();
    more.insert(&slab, late, 1);
    assert_eq!(
        more.try_insert(&other, early, 2),
        Err(InsertAtError::Outdated(2))
    );
    assert!(more.iter().eq([(late, &1)]));
}

#[test]
fn entries_are_visited_with_their_values() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..10).map(|n| slab.insert(n)).collect();
    let mut more: SecondarySlab<u32, GenKey> = SecondarySlab::new();
    for at in [1, 4, 5, 9] {
        more.insert(&slab, keys[at], 10 * at as u32);
    }
    slab.remove(keys[4]);
    slab.remove(keys[5]);
    let again = slab.insert(50);
    assert_eq!(again.index(), 5);
    assert!(
        more.join(&slab)
            .eq([(keys[1], &1, &10), (keys[9], &9, &90)])
    );
    for (_, value, entry) in more.join_mut(&mut slab) {
        core::mem::swap(value, entry);
    }
    assert_eq!(
        (slab[keys[9]], more[keys[9]], slab[again], more[keys[5]]),
        (90, 9, 50, 50)
    );
    let (mut clone, all) = (more.clone(), more.len());
    assert_eq!(clone, more);
    more.prune(&slab);
    assert_eq!((all, more.len()), (4, 2));
    clone.retain(|_, entry| *entry == 40);
    assert_eq!(format!("{clone:?}"), "{GenKey(slot 4, generation 0): 40}");
    for (_, entry) in &mut clone {
        *entry += 1;
    }
    assert!((&clone).into_iter().eq([(keys[4], &41)]));
    clone.clear();
    assert!(clone.is_empty() && clone.insert(&slab, again, 7).is_none());
    assert_eq!((clone.len(), clone[again]), (1, 7));
}

#[test]
fn the_entry_of_a_detached_value_stays() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let (kept, gone) = (slab.insert(1), slab.insert(2));
    let mut more = SecondarySlab::new();
    more.insert(&slab, kept, 10);
    more.insert(&slab, gone, 20);
    let value = slab.detach(kept).unwrap();
    slab.detach(gone);
    assert!(slab.is_detached(kept) && slab.free_detached(gone));
    more.prune(&slab);
    slab.reattach(kept, value);
    assert!(more.join(&slab).eq([(kept, &1, &10)]));
    assert_eq!(more.len(), 1);
}

#[test]
fn entries_do_as_a_map() {
    let count = Count::default();
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let mut more: SecondarySlab<Counted, GenKey> = SecondarySlab::new();
    let mut model: BTreeMap<GenKey, u64> = BTreeMap::new();
    let mut random = 7_u64;
    let mut live: Vec<GenKey> = Vec::new();
    for step in 0..amount(20_000, 30) {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
        let number = (random >> 33) as usize;
        let key = live.get(number / 8 % live.len().max(1)).copied();
        match (number % 8, key) {
            (0..=2, _) if live.len() < 40 => live.push(slab.insert(0)),
            (3, Some(key)) => {
                slab.remove(key);
                live.retain(|other| *other != key);
            }
            (4 | 5, Some(key)) => {
                // Of an earlier value in the slot there is none any more.
                model.retain(|other, _| other.index() != key.index() || *other == key);
                let old = more
                    .insert(&slab, key, count.make(step))
                    .map(|old| old.number);
                assert_eq!(old, model.insert(key, step));
            }
            (6, Some(key)) => {
                assert_eq!(
                    more.try_remove(key).map(|old| old.number),
                    model.remove(&key)
                );
            }
            (7, _) if number % 64 == 7 => {
                more.prune(&slab);
                model.retain(|key, _| slab.contains(*key));
            }
            _ => {}
        }
        assert_eq!((more.len(), count.alive()), (model.len(), model.len()));
        assert!(
            more.iter()
                .map(|(key, entry)| (key, entry.number))
                .eq(model.clone())
        );
        assert_eq!(
            more.join(&slab).count(),
            model.keys().filter(|key| slab.contains(**key)).count()
        );
    }
}

/// A key type whose numbers change between calls confuses its author alone: what a walk removes is
/// what it visited.
#[test]
fn a_key_that_lies_removes_nothing_else_from_a_walk() {
    use std::cell::Cell;

    use flatslab::key_slab::NamedKey;

    thread_local!(static LIES: Cell<bool> = const { Cell::new(false) });
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    struct Liar(GenKey);
    impl NamedKey for Liar {
        type Inner = GenKey;
        fn from_inner(inner: GenKey) -> Self {
            Liar(inner)
        }
        fn into_inner(self) -> GenKey {
            if LIES.get() {
                return GenKey::of(9 - self.0.index(), 0);
            }
            self.0
        }
    }

    let count = Count::default();
    let mut slab: KeySlab<Counted, Liar> = KeySlab::with_key();
    let mut more: SecondarySlab<Counted, Liar> = SecondarySlab::new();
    for number in 0..10 {
        let key = slab.insert(count.make(number));
        more.insert(&slab, key, count.make(number));
    }
    LIES.set(true);
    let mut visited = Vec::new();
    more.retain(|_, entry| {
        visited.push(entry.number);
        entry.number % 2 == 1
    });
    slab.retain(|_, value| value.number % 3 == 0);
    assert!(visited.into_iter().eq(0..10));
    assert!(
        more.iter()
            .map(|(_, entry)| entry.number)
            .eq([1, 3, 5, 7, 9])
    );
    assert!(slab.values().map(|value| value.number).eq([0, 3, 6, 9]));
    // Whatever is joined with whatever.
    assert!(more.join(&slab).count() + more.join_mut(&mut slab).count() <= 20);
    more.prune(&slab);
    slab.drain().take(2).for_each(drop);
    drop((slab, more));
    assert_eq!(count.alive(), 0);
}
