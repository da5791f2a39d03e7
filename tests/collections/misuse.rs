//! Lists that are misused: a call panics or refuses, no other list changes, and every walk ends.

use flatslab::collections::{LinkError, Links, List};
use flatslab::key_slab::SlabKey;
use flatslab::{GenKey, Key, KeySlab, linked};

use crate::random::{random, seed};
use crate::{message_of, steps};

#[derive(Clone, Copy, Debug)]
struct Item {
    number: u64,
    links: Links,
}

linked!(impl Linked<Key, Key> for Item { links });

fn item(number: u64) -> Item {
    Item {
        number,
        links: Links::new(),
    }
}

/// One step of a program that uses these lists of this slab as it likes: with any key, old copies,
/// values that are removed while they are linked, links that are copied.
fn misuse(slab: &mut KeySlab<Item>, lists: &mut [List], copies: &mut Vec<List>, key: Key) {
    let at = random(lists.len() as u64) as usize;
    let other = Key::from_raw(random(40) as u32);
    let mut copy = match copies.len() as u64 {
        0 => lists[at],
        count => copies[random(count) as usize],
    };
    let mut another = copy;
    let list = if random(6) == 0 {
        &mut copy
    } else {
        &mut lists[at]
    };
    match random(20) {
        0 | 1 => {
            let _ = list.push_back(slab, item(1));
        }
        2 => {
            let _ = list.push_front(slab, item(2));
        }
        3 => {
            let _ = list.remove(slab, key);
        }
        4 => {
            let _ = list.unlink(slab, key);
        }
        5 => {
            let _ = list.link_back(slab, key);
        }
        6 => {
            let _ = list.link_after(slab, key, other);
        }
        7 => {
            let _ = list.link_before(slab, key, other);
        }
        8 => {
            let _ = list.move_to_back(slab, key);
        }
        9 => {
            let _ = list.move_to_front(slab, key);
        }
        10 => {
            let _ = list.pop_front(slab);
        }
        11 => {
            let _ = list.unlink_back(slab);
        }
        12 => {
            let len = list.len();
            assert!(list.iter(slab).count() <= len);
        }
        13 => list.retain(slab, |_, _| random(2) == 0),
        14 => {
            let mut cursor = list.cursor_back(slab);
            cursor.move_previous();
            {
                let _ = cursor.insert_after(item(3));
            };
            {
                let _ = cursor.store().try_remove(other);
            };
            cursor.move_next();
            {
                let _ = cursor.remove();
            };
        }
        15 => copies.push(*list),
        // Past the lists.
        16 => {
            let _ = slab.try_remove(key);
        }
        17 => {
            let _ = slab.insert(item(4));
        }
        18 => {
            if let (Some(from), Some(to)) = (slab.get(other).copied(), slab.get_mut(key)) {
                to.links = from.links;
            }
        }
        _ => list.append(slab, &mut another),
    }
}

#[test]
fn no_misuse_of_some_lists_changes_another_one() {
    seed(1);
    for _ in 0..(steps() / 200).max(2) {
        let mut slab = KeySlab::new();
        let mut honest = List::new(Key::from_raw(0));
        let theirs: Vec<Key> = (0..5)
            .map(|number| honest.push_back(&mut slab, item(number)).unwrap())
            .collect();
        let mut lists = [1, 2, 2].map(|owner| List::new(Key::from_raw(owner)));
        let mut copies = Vec::new();
        for _ in 0..100 {
            // Any key but those of the other list, whose values are not to be removed.
            let key = Key::from_raw(random(40) as u32);
            let key = if theirs.contains(&key) {
                Key::NONE
            } else {
                key
            };
            if let Some(message) = message_of(|| {
                // `other` may be one of theirs: it is not in these lists, so it is refused.
                misuse_without(&mut slab, &theirs, |slab| {
                    misuse(slab, &mut lists, &mut copies, key);
                });
            }) {
                assert!(message.contains("is not linked as the list"), "{message}");
            }
            if slab.len() > 60 {
                break;
            }
        }
        assert_eq!(honest.check(&slab), Ok(()));
        assert!(honest.iter(&slab).map(|(_, item)| item.number).eq(0..5));
        assert!(
            honest
                .iter(&slab)
                .map(|(key, _)| key)
                .eq(theirs.iter().copied())
        );
    }
}

/// Runs a step that may remove, or copy the links of, any value but these.
fn misuse_without(slab: &mut KeySlab<Item>, theirs: &[Key], step: impl FnOnce(&mut KeySlab<Item>)) {
    let before: Vec<Item> = theirs.iter().map(|key| slab[*key]).collect();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(slab)));
    for (key, before) in theirs.iter().zip(before) {
        match slab.get_mut(*key) {
            Some(now) => assert_eq!(now.links, before.links),
            // Removed past the lists, which is not what is tested here.
            None => {
                let again = slab.insert_at(*key, before);
                assert!(again.is_ok());
            }
        }
    }
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_value_that_was_removed_while_it_was_linked_is_noticed_before_anything_changes() {
    for removed in 0..4 {
        for used in (0..4).filter(|used| *used != removed) {
            let mut slab = KeySlab::new();
            let mut list = List::new(Key::from_raw(9));
            let keys: Vec<Key> = (0..4)
                .map(|number| list.push_back(&mut slab, item(number)).unwrap())
                .collect();
            slab.remove(keys[removed]);
            let (links, before): (Vec<_>, _) =
                (slab.values().map(|item| item.links).collect(), list);
            let are_neighbours = removed.abs_diff(used) == 1;
            let message = message_of(|| list.remove(&mut slab, keys[used]));
            assert_eq!(message.is_some(), are_neighbours);
            if are_neighbours {
                assert_eq!(list, before);
                assert!(slab.values().map(|item| item.links).eq(links.clone()));
                let message = message_of(|| list.unlink(&mut slab, keys[used]));
                assert!(message.is_some() && list == before);
                assert!(slab.values().map(|item| item.links).eq(links.clone()));
            }
            assert!(list.check(&slab).is_err());
            let message = message_of(|| list.iter(&slab).count()).unwrap();
            assert!(message.contains("is not linked"), "{message}");
        }
    }
}

#[test]
fn a_list_that_is_used_with_another_slab_refuses() {
    let (mut one, mut two) = (KeySlab::new(), KeySlab::new());
    let (mut list, mut other) = (List::new(Key::from_raw(1)), List::new(Key::from_raw(2)));
    let key = list.push_back(&mut one, item(1)).unwrap();
    let there = other.push_back(&mut two, item(2)).unwrap();
    assert_eq!(key, there);
    let before = (list, other);
    assert_eq!(
        list.remove(&mut two, key).unwrap_err(),
        LinkError::NotInList
    );
    assert_eq!(list.link_back(&mut two, key), Err(LinkError::Linked));
    assert!(message_of(|| list.push_back(&mut two, item(3))).is_some());
    assert!(message_of(|| list.pop_front(&mut two)).is_some());
    assert_eq!(((list, other), one.len(), two.len()), (before, 1, 1));
    assert_eq!((list.check(&one), other.check(&two)), (Ok(()), Ok(())));
    assert!(list.check(&two).is_err());
}

#[test]
fn a_list_without_an_owner_takes_no_value() {
    let mut slab = KeySlab::new();
    let mut list = List::<Key, Key>::new(SlabKey::NONE);
    assert!(message_of(|| list.push_back(&mut slab, item(1))).is_some());
    let key = slab.insert(item(2));
    assert!(message_of(|| list.link_front(&mut slab, key)).is_some());
    assert_eq!(
        list.remove(&mut slab, key).unwrap_err(),
        LinkError::NotInList
    );
    assert!(!list.contains(&slab, key) && !slab[key].links.is_linked());
    assert_eq!((list.len(), slab.len()), (0, 1));
    assert_eq!(list.pop_front(&mut slab).map(|item| item.number), None);
}

#[test]
fn a_stale_key_with_a_generation_is_refused() {
    #[derive(Debug)]
    struct Versioned {
        links: Links<GenKey, Key>,
    }

    linked!(impl Linked<GenKey, Key> for Versioned { links });

    let mut slab: KeySlab<Versioned, GenKey> = KeySlab::with_key();
    let mut list = List::new(Key::from_raw(0));
    let links = Links::new();
    let first = list.push_back(&mut slab, Versioned { links }).unwrap();
    list.remove(&mut slab, first).unwrap();
    let second = list.push_back(&mut slab, Versioned { links }).unwrap();
    assert_eq!(second.index(), first.index());
    assert_eq!(list.unlink(&mut slab, first), Err(LinkError::Missing));
    assert_eq!(
        list.link_before(&mut slab, second, first),
        Err(LinkError::Missing)
    );
    assert!(list.cursor_at(&mut slab, first).is_err());
    assert_eq!(list.check(&slab), Ok(()));
}

#[test]
fn a_callback_that_panics_leaves_the_list_whole() {
    let mut slab = KeySlab::new();
    let mut list = List::new(Key::from_raw(0));
    for number in 0..6 {
        list.push_back(&mut slab, item(number)).unwrap();
    }
    let message = message_of(|| {
        list.retain(&mut slab, |_, item| {
            assert!(item.number < 3, "enough");
            item.number != 1
        });
    });
    assert_eq!(message.as_deref(), Some("enough"));
    assert_eq!((list.check(&slab), list.len()), (Ok(()), 5));
    assert!(message_of(|| list.for_each_mut(&mut slab, |_, _| panic!("at once"))).is_some());
    assert!(
        list.iter(&slab)
            .map(|(_, item)| item.number)
            .eq([0, 2, 3, 4, 5])
    );
}
