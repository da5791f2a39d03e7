//! Lists against `VecDeque`s, over every kind of store.

use std::collections::VecDeque;

use flatslab::collections::{InsertBesideError, LinkError, Linked, Links, List, Store};
use flatslab::key_slab::{CheckpointSlab, SlabKey};
use flatslab::{BoundedKeySlab, FullError, GenKey, Key, KeySlab, linked};

use crate::random::{one_in, random, seed};
use crate::steps;

/// A value in two lists at most, of owners of two types.
#[derive(Clone, Copy, Debug)]
struct Item<K: SlabKey> {
    number: u64,
    links: Links<K, Key>,
    others: Links<K, GenKey>,
}

impl<K: SlabKey> Linked<K, Key> for Item<K> {
    fn links(&self) -> &Links<K, Key> {
        &self.links
    }

    fn links_mut(&mut self) -> &mut Links<K, Key> {
        &mut self.links
    }
}

linked!(impl Linked<Key, GenKey> for Item<Key> { others });
linked!(impl Linked<GenKey, GenKey> for Item<GenKey> { others });

fn item<K: SlabKey>(number: u64) -> Item<K> {
    Item {
        number,
        links: Links::new(),
        others: Links::new(),
    }
}

/// Two of some lists.
fn two<L>(lists: &mut [L; 3], one: usize, other: usize) -> (&mut L, &mut L) {
    let [a, b, c] = lists;
    match (one, other) {
        (0, 1) => (a, b),
        (1, 2) => (b, c),
        (2, 0) => (c, a),
        _ => unreachable!(),
    }
}

/// A key, and the number of its value.
type Entry<K> = (K, u64);

/// Random operations on three lists, each of which does what a `VecDeque` does.
fn is_like_a_deque<S>(store: &mut S, capacity: usize)
where
    S: Store<Value = Item<<S as Store>::Key>>,
{
    let mut lists = [0, 1, 2].map(|owner| List::<S::Key>::new(Key::from_raw(owner)));
    let mut models: [VecDeque<Entry<S::Key>>; 3] = Default::default();
    let mut loose: Vec<Entry<S::Key>> = Vec::new();
    let mut next = 0;
    for step in 0..steps() {
        let at = random(3) as usize;
        let (list, model) = (&mut lists[at], &mut models[at]);
        let place = random(model.len() as u64 + 1) as usize;
        let there = model.get(place).copied();
        let total = |models: &[VecDeque<Entry<S::Key>>; 3], loose: &Vec<Entry<S::Key>>| {
            models.iter().map(VecDeque::len).sum::<usize>() + loose.len()
        };
        let operation = random(24);
        if operation < 5 {
            next += 1;
            let is_full = total(&models, &loose) == capacity;
            let (list, model) = (&mut lists[at], &mut models[at]);
            let (key, index) = match (operation, there) {
                (0, _) => (list.push_back(store, item(next)).ok(), model.len()),
                (1, _) => (list.push_front(store, item(next)).ok(), 0),
                (2, Some((other, _))) => {
                    let inserted = list.insert_before(store, other, item(next));
                    assert!(!matches!(inserted, Err(InsertBesideError::NotInList(_))));
                    (inserted.ok(), place)
                }
                (3, Some((other, _))) => {
                    (list.insert_after(store, other, item(next)).ok(), place + 1)
                }
                (4, Some(_)) => {
                    let mut cursor = list.cursor_front(store);
                    for _ in 0..place {
                        cursor.move_next();
                    }
                    (cursor.insert_before(item(next)).ok(), place)
                }
                _ => continue,
            };
            assert_eq!(key.is_none(), is_full);
            if let Some(key) = key {
                model.insert(index, (key, next));
            }
            continue;
        }
        match (operation, there) {
            (5, Some((key, number))) => {
                assert_eq!(list.remove(store, key).unwrap().number, number);
                assert_eq!(list.remove(store, key).unwrap_err(), LinkError::Missing);
                model.remove(place);
            }
            (6, Some(entry)) => {
                list.unlink(store, entry.0).unwrap();
                assert_eq!(list.unlink(store, entry.0), Err(LinkError::NotInList));
                model.remove(place);
                loose.push(entry);
            }
            (7, _) => {
                let value = list.pop_front(store).map(|value| value.number);
                assert_eq!(value, model.pop_front().map(|entry| entry.1));
            }
            (8, _) => {
                let value = list.pop_back(store);
                assert!(!value.is_some_and(|value| value.links.is_linked()));
                assert_eq!(
                    value.map(|value| value.number),
                    model.pop_back().map(|entry| entry.1)
                );
            }
            (9, _) => {
                let key = list.unlink_front(store);
                let entry = model.pop_front();
                assert_eq!(key, entry.map(|entry| entry.0));
                loose.extend(entry);
            }
            (10, _) => {
                let key = list.unlink_back(store);
                let entry = model.pop_back();
                assert_eq!(key, entry.map(|entry| entry.0));
                loose.extend(entry);
            }
            (11..15, _) => {
                let Some(entry) = loose.pop() else { continue };
                let index = match (operation, there) {
                    (11, _) => list.link_back(store, entry.0).map(|()| model.len()),
                    (12, _) => list.link_front(store, entry.0).map(|()| 0),
                    (13, Some(other)) => list.link_before(store, entry.0, other.0).map(|()| place),
                    (14, Some(other)) => {
                        list.link_after(store, entry.0, other.0).map(|()| place + 1)
                    }
                    _ => list.link_back(store, entry.0).map(|()| model.len()),
                };
                model.insert(index.unwrap(), entry);
                assert_eq!(list.link_back(store, entry.0), Err(LinkError::Linked));
            }
            (15, Some(entry)) => {
                list.move_to_back(store, entry.0).unwrap();
                model.remove(place);
                model.push_back(entry);
            }
            (16, Some(entry)) => {
                list.move_to_front(store, entry.0).unwrap();
                model.remove(place);
                model.push_front(entry);
            }
            (17, Some(entry)) => {
                let other = (at + 1) % 3;
                let (list, to) = two(&mut lists, at, other);
                list.move_to(store, entry.0, to).unwrap();
                models[at].remove(place);
                models[other].push_back(entry);
            }
            (18, Some(before)) if one_in(20) => {
                let other = (at + 1) % 3;
                let (list, from) = two(&mut lists, at, other);
                list.append_before(store, before.0, from).unwrap();
                let moved = std::mem::take(&mut models[other]);
                for entry in moved.into_iter().rev() {
                    models[at].insert(place, entry);
                }
            }
            (18, _) if one_in(20) => {
                let other = (at + 1) % 3;
                let (list, from) = two(&mut lists, at, other);
                list.append(store, from);
                let moved = std::mem::take(&mut models[other]);
                models[at].extend(moved);
            }
            (19, _) if one_in(20) => {
                let keep = |number: u64| number % 3 != 0;
                list.retain(store, |_, value| keep(value.number));
                model.retain(|entry| keep(entry.1));
            }
            (20, _) if one_in(20) => {
                list.for_each_mut(store, |_, value| value.number += 1);
                model.iter_mut().for_each(|entry| entry.1 += 1);
            }
            (21, Some(_)) => {
                let mut cursor = list.cursor_back(store);
                for _ in 0..model.len() - place - 1 {
                    cursor.move_previous();
                }
                if random(2) == 0 {
                    assert_eq!(cursor.unlink(), there.map(|entry| entry.0));
                    loose.extend(there);
                } else {
                    assert_eq!(cursor.remove().map(|it| it.number), there.map(|it| it.1));
                }
                model.remove(place);
                assert_eq!(cursor.key(), model.get(place).map(|entry| entry.0));
            }
            (22, _) if one_in(60) => {
                if random(2) == 0 {
                    list.clear(store);
                    model.clear();
                } else {
                    list.unlink_all(store);
                    loose.extend(model.drain(..));
                }
            }
            (23, Some(entry)) => {
                let owner = store.get(entry.0).unwrap().links.owner();
                assert_eq!(owner, Some(list.owner()));
                let other = &lists[(at + 1) % 3];
                assert!(!other.contains(store, entry.0));
            }
            _ => {}
        }
        if step % 16 == 0 {
            for (list, model) in lists.iter().zip(&models) {
                assert_eq!(list.check(store), Ok(()));
                let walk = list.iter(store).map(|(key, value)| (key, value.number));
                assert!(walk.eq(model.iter().copied()));
                let walk = list
                    .iter(store)
                    .rev()
                    .map(|(key, value)| (key, value.number));
                assert!(walk.eq(model.iter().rev().copied()));
                assert_eq!(list.len(), model.len());
                assert_eq!(list.first(), model.front().map(|entry| entry.0));
                assert_eq!(list.last(), model.back().map(|entry| entry.0));
            }
        }
    }
}

#[test]
fn a_list_is_like_a_deque_in_a_growing_slab() {
    seed(1);
    is_like_a_deque(&mut KeySlab::<Item<Key>>::new(), usize::MAX);
}

#[test]
fn a_list_is_like_a_deque_with_generations() {
    seed(2);
    let mut slab: KeySlab<Item<GenKey>, GenKey> = KeySlab::with_key();
    is_like_a_deque(&mut slab, usize::MAX);
}

#[test]
fn a_list_is_like_a_deque_in_a_bounded_slab() {
    seed(3);
    is_like_a_deque(&mut BoundedKeySlab::<Item<Key>>::with_capacity(24), 24);
}

#[test]
fn a_list_is_like_a_deque_in_a_slab_with_checkpoints() {
    seed(4);
    let mut slab = CheckpointSlab::<Item<Key>>::new();
    let first = slab.checkpoint();
    is_like_a_deque(&mut slab, usize::MAX);
    slab.rewind(first);
    assert!(slab.is_empty());
}

#[test]
fn a_value_is_in_several_lists_at_the_same_time() {
    let mut slab = KeySlab::<Item<Key>>::new();
    let mut owners: KeySlab<(), GenKey> = KeySlab::with_key();
    let mut list = List::new(Key::from_raw(7));
    let mut other = List::new(owners.insert(()));
    let keys: Vec<Key> = (0..4)
        .map(|number| list.push_back(&mut slab, item(number)).unwrap())
        .collect();
    for key in keys.iter().rev() {
        other.link_back(&mut slab, *key).unwrap();
    }
    list.unlink(&mut slab, keys[1]).unwrap();
    other.move_to_back(&mut slab, keys[2]).unwrap();
    let numbers = |walk: &mut dyn Iterator<Item = (Key, &Item<Key>)>| -> Vec<u64> {
        walk.map(|(_, item)| item.number).collect()
    };
    assert_eq!(numbers(&mut list.iter(&slab)), [0, 2, 3]);
    assert_eq!(numbers(&mut other.iter(&slab)), [3, 1, 0, 2]);
    assert_eq!(slab[keys[1]].others.owner(), Some(other.owner()));
    assert_eq!(slab[keys[1]].links.owner(), None);
}

#[test]
fn a_full_slab_returns_the_value_and_changes_nothing() {
    let mut slab = BoundedKeySlab::<Item<Key>>::with_capacity(1);
    let mut list = List::new(Key::from_raw(0));
    let key = list.push_back(&mut slab, item(1)).unwrap();
    let before = list;
    let FullError(value) = list.push_front(&mut slab, item(2)).unwrap_err();
    assert_eq!(value.number, 2);
    let error = list.insert_after(&mut slab, key, item(3)).unwrap_err();
    assert!(matches!(error, InsertBesideError::Full(value) if value.number == 3));
    let error = list
        .insert_before(&mut slab, Key::NONE, item(4))
        .unwrap_err();
    assert_eq!(error.to_string(), "the other value is not in this list");
    assert_eq!(error.into_inner().number, 4);
    assert_eq!((list, list.check(&slab)), (before, Ok(())));
}

#[cfg(feature = "serde")]
#[test]
fn a_list_and_its_values_are_saved_and_restored() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Saved {
        number: u64,
        links: Links,
    }

    linked!(impl Linked<Key, Key> for Saved { links });

    let links = Links::new();
    let mut slab = BoundedKeySlab::<Saved>::with_capacity(8);
    let mut list = List::new(Key::from_raw(3));
    let keys = [1, 2, 3].map(|number| {
        let key = slab.insert(Saved { number, links }).unwrap();
        list.link_front(&mut slab, key).unwrap();
        key
    });
    let bytes = postcard::to_allocvec(&(&list, &slab)).unwrap();
    let (mut list, mut slab): (List, BoundedKeySlab<Saved>) = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(list.check(&slab), Ok(()));
    list.move_to_back(&mut slab, keys[2]).unwrap();
    let numbers = list.iter(&slab).map(|(_, value)| value.number);
    assert!(numbers.eq([2, 1, 3]));
    assert_eq!(slab[keys[0]].links.owner(), Some(list.owner()));
}

#[cfg(feature = "serde")]
#[test]
fn a_list_that_was_forged_to_be_full_takes_no_value() {
    let mut slab = KeySlab::<Item<Key>>::new();
    let bytes = postcard::to_allocvec(&(u32::MAX, u32::MAX, u32::MAX, 7_u32)).unwrap();
    let mut list: List = postcard::from_bytes(&bytes).unwrap();
    let message = crate::message_of(|| list.push_back(&mut slab, item(1))).unwrap();
    assert!(message.contains("is not linked as the list"), "{message}");
    assert!(slab.is_empty() && list.first().is_none());
}
