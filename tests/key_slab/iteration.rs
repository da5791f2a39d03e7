//! Iterators, from both ends.

use flatslab::{BoundedKeySlab, GenKey, Key, KeySlab};

use crate::program::{Count, Counted, LARGE};

#[derive(Clone, Debug, PartialEq)]
struct Padded(u32);

const SLOTS: u32 = if cfg!(miri) { 20 } else { 10_000 };
const MIDDLE: u32 = SLOTS / 2;

/// A slab of `slots` with the values for which `keep` says so.
fn sparse(slots: u32, keep: impl Fn(u32) -> bool) -> KeySlab<Padded> {
    let mut slab: KeySlab<Padded> = (0..slots)
        .map(|number| (Key::from_raw(number), Padded(number)))
        .collect();
    slab.retain(|_, value| keep(value.0));
    slab
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn every_value_is_visited_once_from_either_end() {
    for (name, keep) in [
        ("all", (|_| true) as fn(u32) -> bool),
        ("none", |_| false),
        ("first", |n| n == 0),
        ("last", |n| n == SLOTS - 1),
        ("a few", |n| n % 7 == 3),
        ("in the middle", |n| n + 2 >= MIDDLE && n < MIDDLE + 2),
    ] {
        let mut slab = sparse(SLOTS, keep);
        let expected: Vec<u32> = (0..SLOTS).filter(|n| keep(*n)).collect();
        assert!(
            slab.iter().map(|(_, v)| v.0).eq(expected.iter().copied()),
            "{name}"
        );
        assert!(slab.iter().all(|(key, v)| key.index() == v.0 as usize));
        assert!(
            slab.values()
                .rev()
                .map(|v| v.0)
                .eq(expected.iter().rev().copied()),
            "{name}"
        );
        assert!(
            slab.keys()
                .map(|key| key.index() as u32)
                .eq(expected.iter().copied())
        );
        let mut folded = Vec::new();
        slab.iter_mut().for_each(|(_, v)| folded.push(v.0));
        assert_eq!(folded, expected, "{name}");

        // From both ends in turn, then the rest at once.
        for taken in [0, 1, 2, 3, 8] {
            let mut values = slab.values_mut();
            let (mut front, mut back) = (Vec::new(), Vec::new());
            for turn in 0..taken {
                assert_eq!(values.len(), expected.len() - front.len() - back.len());
                if turn % 2 == 0 {
                    front.extend(values.next().map(|v| v.0));
                } else {
                    back.extend(values.next_back().map(|v| v.0));
                }
            }
            values.for_each(|v| front.push(v.0));
            front.extend(back.into_iter().rev());
            assert_eq!(front, expected, "{name}, {taken} taken");
        }
        let mut owned: Vec<u32> = slab.clone().into_iter().map(|(_, v)| v.0).collect();
        assert_eq!(owned, expected);
        owned.reverse();
        assert!(slab.drain().rev().map(|(_, v)| v.0).eq(owned));
        assert!(slab.is_empty());
    }
}

#[test]
fn an_iterator_that_is_through_stays_through() {
    let mut slab = sparse(3, |n| n == 1);
    let mut iter = slab.iter();
    assert_eq!(iter.clone().count(), 1);
    assert_eq!(
        iter.next_back().map(|(key, v)| (key.index(), v.0)),
        Some((1, 1))
    );
    assert_eq!(
        (iter.next(), iter.next_back(), iter.size_hint()),
        (None, None, (0, Some(0)))
    );
    let mut drain = slab.drain();
    assert!(drain.next().is_some() && drain.next().is_none() && drain.next_back().is_none());
}

#[test]
fn values_of_no_size_are_counted() {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let values = if cfg!(miri) { 50 } else { 5000 };
    let keys: Vec<_> = (0..values).map(|_| slab.insert(())).collect();
    assert_eq!(slab.iter().count(), values);
    assert!(slab.keys().eq(keys));
    let mut bounded = BoundedKeySlab::with_capacity(3);
    while bounded.insert(()).is_ok() {}
    assert_eq!(bounded.into_iter().count(), 3);
}

#[test]
fn dropping_what_was_not_visited_drops_it_once() {
    let count = Count::default();
    let mut slab: KeySlab<Counted<LARGE>> = KeySlab::new();
    for number in 0..7 {
        slab.insert(count.make(number));
    }
    let mut drain = slab.drain();
    drop((drain.next(), drain.next_back()));
    assert_eq!((count.alive(), drain.len()), (5, 5));
    core::mem::forget(drain);
    assert_eq!((count.alive(), slab.len()), (5, 5), "they stay in the slab");
    let mut values = slab.into_iter();
    drop((values.next(), values.next_back()));
    assert_eq!(count.alive(), 3);
    drop(values);
    assert_eq!(count.alive(), 0);
}

/// What `slab` and `slotmap` compile: a named iterator has no destructor, so its borrow ends with its
/// last use.
#[test]
fn the_first_key_is_removed_in_one_expression() {
    let mut slab = KeySlab::new();
    slab.insert_many(0..3, &mut Vec::new());
    assert_eq!(slab.remove(slab.keys().next().unwrap()), 0);
    assert_eq!(slab.remove(slab.iter().next_back().unwrap().0), 2);
    slab.insert(*slab.values().next().unwrap());
    assert!(slab.values().eq(&[1, 1]));
}

/// So that a struct can hold them.
#[test]
fn every_iterator_has_a_name_and_prints_what_is_left() {
    use flatslab::key_slab::{
        GetMany, Join, JoinMut, Keys, RemoveMany, SecondarySlab, Values, ValuesMut,
    };
    fn sent<I: Iterator + Send + Sync + std::fmt::Debug>(iterator: I) -> (usize, String) {
        let text = format!("{iterator:?}");
        (iterator.count(), text)
    }

    let (mut slab, mut more) = (KeySlab::with_key(), SecondarySlab::new());
    let keys: Vec<GenKey> = (0..3).map(|n| slab.insert(n)).collect();
    more.insert(&slab, keys[1], "more");
    let left = |name: &str, left: usize| (left, format!("{name} {{ left: {left}, .. }}"));
    let walk: Keys<'_, i32, GenKey> = slab.keys();
    assert_eq!(sent(walk.clone()), left("Keys", 3));
    let walk: Values<'_, i32, GenKey> = slab.values();
    assert_eq!(sent(walk.clone()), left("Values", 3));
    let walk: ValuesMut<'_, i32, GenKey> = slab.values_mut();
    assert_eq!(sent(walk), left("ValuesMut", 3));
    let walk: Join<'_, i32, &str, GenKey> = more.join(&slab);
    assert_eq!(walk.size_hint(), (0, Some(1)));
    assert_eq!(sent(walk.clone()), left("Join", 1));
    let walk: JoinMut<'_, i32, &str, GenKey> = more.join_mut(&mut slab);
    assert_eq!(format!("{walk:?}"), "JoinMut { left: 3, .. }");
    assert_eq!(sent(walk).0, 1);
    let walk: GetMany<'_, i32, GenKey> = slab.get_many(&keys);
    assert_eq!(walk.len(), 3);
    assert!(sent(walk.clone()).1.starts_with("GetMany([GenKey("));
    let walk: RemoveMany<'_, i32, GenKey> = slab.remove_many(&keys[1..]);
    assert_eq!((walk.len(), sent(walk).0, slab.len()), (2, 2, 1));
}
