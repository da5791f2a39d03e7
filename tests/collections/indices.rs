//! Indices against hash maps, with hashers that collide, panic and lie.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};

use flatslab::collections::{
    AddError, IdState, Indexed, InsertIdError, KeyIndex, SlotError, Store,
};
use flatslab::key_slab::SlabKey;
use flatslab::{AllocError, BoundedKeySlab, GenKey, Key, KeySlab};

use crate::random::{one_in, random, seed};
use crate::{message_of, steps};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Order {
    id: u64,
    shares: u64,
}

impl Indexed<u64> for Order {
    fn id(&self) -> &u64 {
        &self.id
    }
}

fn order(id: u64) -> Order {
    Order { id, shares: id + 1 }
}

/// Random operations on an index and its slab, each of which does what a hash map does.
fn is_like_a_map<S, H>(store: &mut S, index: &mut KeyIndex<u64, H>, most: usize, ids: u64)
where
    S: Store<Value = Order>,
    H: BuildHasher,
{
    let mut model = HashMap::new();
    for step in 0..steps() {
        let id = random(ids);
        match random(8) {
            0..3 if model.len() < most => match index.insert(store, order(id)) {
                Ok(key) => assert_eq!(model.insert(id, key), None),
                Err(error) => {
                    assert_eq!(error, InsertIdError::Taken(order(id)));
                    assert!(model.contains_key(&id));
                }
            },
            3 | 4 => {
                let removed = index.remove(store, &id);
                assert_eq!(removed, model.remove(&id).map(|_| order(id)));
            }
            5 => {
                // Under another id, in the same slot.
                let Some(key) = model.get(&id).copied() else {
                    continue;
                };
                let new = random(ids);
                assert!(index.forget(store, key));
                assert!(!index.forget(store, key));
                *store.get_mut(key).unwrap() = order(new);
                match index.add(store, key) {
                    Ok(()) => {
                        model.remove(&id);
                        model.insert(new, key);
                    }
                    Err(error) => {
                        assert_eq!(error, AddError::Taken(model[&new]));
                        *store.get_mut(key).unwrap() = order(id);
                        index.add(store, key).unwrap();
                    }
                }
                assert_eq!(index.add(store, key), Ok(()));
            }
            _ => assert_eq!(index.get(store, &id), model.get(&id).copied()),
        }
        assert_eq!(index.len(), model.len());
        if step % 1024 == 0 {
            assert_eq!(index.stale(store), 0);
            for id in 0..ids {
                assert_eq!(index.get(store, &id), model.get(&id).copied());
            }
        }
    }
}

#[test]
fn an_index_is_like_a_map() {
    seed(1);
    let mut slab = KeySlab::new();
    is_like_a_map(&mut slab, &mut KeyIndex::with_capacity(300), 300, 500);
    let mut slab: KeySlab<Order, GenKey> = KeySlab::with_key();
    is_like_a_map(&mut slab, &mut KeyIndex::with_capacity(7), 7, 20);
}

#[test]
fn a_growing_index_is_like_a_map() {
    seed(2);
    for (ids, load) in [(40, 60), (3000, 60), (3000, 85), (700, 10)] {
        let mut slab = KeySlab::new();
        let builder = KeyIndex::builder().growing().max_load(load);
        is_like_a_map(&mut slab, &mut builder.build(), usize::MAX, ids);
    }
}

/// All ids have one of a few hashes, so that clusters are long.
#[derive(Clone, Copy)]
struct Few(u64);

impl BuildHasher for Few {
    type Hasher = FewHasher;

    fn build_hasher(&self) -> FewHasher {
        FewHasher(self.0, 0)
    }
}

struct FewHasher(u64, u64);

impl Hasher for FewHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.1 = bytes
            .iter()
            .fold(self.1, |sum, byte| sum + u64::from(*byte));
    }

    fn finish(&self) -> u64 {
        (self.1 % self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[test]
fn ids_of_few_hashes_overflow_many_groups_and_are_found() {
    seed(3);
    for hashes in [1, 3, 20] {
        let mut slab = KeySlab::new();
        let mut index = KeyIndex::with_capacity_and_hasher(250, Few(hashes));
        is_like_a_map(&mut slab, &mut index, 250, 400);
    }
}

#[test]
fn an_index_finds_every_id_while_it_grows() {
    let count = crate::amount::amount(20_000, 200);
    let mut slab = KeySlab::new();
    let mut index = KeyIndex::<u64>::builder().growing().build();
    for id in 0..count {
        index.insert(&mut slab, order(id)).unwrap();
        let seen = random(id + 1);
        assert_eq!(index.get(&slab, &seen), Some(Key::from_raw(seen as u32)));
        assert_eq!(index.get(&slab, &(id + 1)), None);
        if id % 3 == 2 {
            // From whichever table it is in.
            assert_eq!(
                index.remove(&mut slab, &(id / 3 * 2)).map(|it| it.id),
                Some(id / 3 * 2)
            );
            let again = index.insert(&mut slab, order(id / 3 * 2)).unwrap();
            assert_eq!(again.index() as u64, id / 3 * 2);
        }
    }
    assert_eq!((index.len(), index.stale(&slab)), (count as usize, 0));
    // A slot far above the others.
    let mut index = KeyIndex::<u64>::builder().growing().build();
    for id in (0..count).rev() {
        index.add(&slab, Key::from_raw(id as u32)).unwrap();
    }
    assert_eq!((index.len(), index.stale(&slab)), (count as usize, 0));
}

#[test]
fn an_index_without_room_refuses_and_loses_nothing() {
    let mut slab = KeySlab::new();
    let mut index = KeyIndex::<u64>::with_capacity(2);
    let keys = [0, 1, 2].map(|id| slab.insert(order(id)));
    index.add(&slab, keys[0]).unwrap();
    let error = SlotError::OutOfRange {
        slot: 2,
        capacity: 2,
    };
    assert_eq!(index.add(&slab, keys[2]), Err(AddError::OutOfRange(error)));
    assert_eq!(index.add(&slab, Key::NONE), Err(AddError::Missing));
    let refused = index.insert(&mut slab, order(7)).unwrap_err();
    assert_eq!((refused.into_inner(), slab.len()), (order(7), 3));

    // Stale entries take up room.
    slab.remove(keys[0]);
    let key = slab.insert(order(3));
    assert_eq!(
        (key, index.get(&slab, &0), index.get(&slab, &3)),
        (keys[0], None, None)
    );
    assert_eq!(index.add(&slab, keys[1]), Ok(()));
    assert_eq!(index.stale(&slab), 1);
    assert_eq!(index.add(&slab, key), Err(AddError::Full));
    let error = index.insert(&mut slab, order(8)).unwrap_err();
    assert_eq!(error, InsertIdError::Full(order(8)));
    assert_eq!(index.rebuild(&slab, slab.keys()), 1);
    assert_eq!((index.stale(&slab), index.get(&slab, &3)), (0, Some(key)));

    let most = (1 << 30) - 1;
    let error = KeyIndex::<u64>::try_with_capacity(most + 1).unwrap_err();
    assert!(matches!(error, AllocError::TooManySlots { limit, .. } if limit == most));
}

#[test]
fn a_full_index_is_asked_before_the_slab_counts_the_value() {
    let mut slab = BoundedKeySlab::with_capacity(4);
    let mut index = KeyIndex::<u64>::with_capacity(2);
    for id in 0..2 {
        index.insert(&mut slab, order(id)).unwrap();
    }
    let before = slab.stats();
    let error = index.insert(&mut slab, order(2)).unwrap_err();
    assert_eq!(error, InsertIdError::Full(order(2)));
    assert_eq!(slab.stats(), before);
    assert_eq!((before.peak, before.refusals), (Some(2), Some(0)));

    // A slab that is full as well counts that it refused one.
    let mut slab = BoundedKeySlab::with_capacity(1);
    let mut index = KeyIndex::<u64>::with_capacity(1);
    index.insert(&mut slab, order(0)).unwrap();
    assert!(index.insert(&mut slab, order(1)).is_err());
    assert_eq!(slab.stats().refusals, Some(1));

    // One that could grow does not.
    let mut slab = KeySlab::with_capacity(1);
    let mut index = KeyIndex::<u64>::with_capacity(1);
    index.insert(&mut slab, order(0)).unwrap();
    assert!(index.insert(&mut slab, order(1)).is_err());
    assert_eq!((slab.capacity(), slab.used_slots()), (1, 1));
}

#[test]
fn a_value_is_found_to_be_changed() {
    let mut slab = KeySlab::new();
    let mut index = KeyIndex::<u64>::with_capacity(2);
    let key = index.insert(&mut slab, order(7)).unwrap();
    let (found, value) = index.find_mut(&mut slab, &7).unwrap();
    value.shares = 99;
    assert_eq!((found, slab[key].shares), (key, 99));
    assert!(index.find_mut(&mut slab, &8).is_none());
}

#[test]
fn several_values_may_have_one_id() {
    seed(4);
    for grows in [false, true] {
        let mut slab = KeySlab::new();
        let builder = KeyIndex::<u64>::builder().capacity(if grows { 4 } else { 300 });
        let builder = if grows { builder.growing() } else { builder };
        let mut index = builder.build();
        let mut model: HashMap<u64, BTreeSet<Key>> = HashMap::new();
        for _ in 0..300 {
            let id = random(20);
            if random(3) > 0 {
                let key = slab.insert(order(id));
                assert_eq!(index.add_another(&slab, key), Ok(()));
                assert_eq!(index.add_another(&slab, key), Ok(()));
                model.entry(id).or_default().insert(key);
            } else {
                let key = index.get(&slab, &id);
                assert_eq!(
                    key.is_some(),
                    model.get(&id).is_some_and(|it| !it.is_empty())
                );
                let Some(key) = key else { continue };
                assert!(model.get_mut(&id).unwrap().remove(&key));
                assert!(index.forget(&slab, key));
                slab.remove(key);
            }
        }
        for id in 0..20 {
            let all: Vec<Key> = index.get_all(&slab, &id).collect();
            let distinct: BTreeSet<Key> = all.iter().copied().collect();
            assert_eq!(all.len(), distinct.len());
            assert_eq!(distinct, model.remove(&id).unwrap_or_default());
        }
    }
}

#[test]
fn a_search_for_all_ends_if_every_group_was_full_at_some_time() {
    for round in 0..crate::amount::amount(300, 3) {
        seed(round + 1);
        let mut slab = BoundedKeySlab::with_capacity(6 + random(30) as usize);
        let builder = KeyIndex::<u64>::builder().capacity(slab.capacity());
        let mut index = builder.max_load(85).build();
        for _ in 0..200 {
            let id = random(5);
            match slab.insert(order(id)) {
                Ok(key) if random(2) == 0 => index.add_another(&slab, key).unwrap(),
                Ok(key) => drop(slab.remove(key)),
                Err(_) => {}
            }
            for key in slab.keys().collect::<Vec<_>>() {
                if one_in(6) {
                    assert!(index.forget(&slab, key));
                    slab.remove(key);
                }
            }
            let all = index.get_all(&slab, &id).take(100).count();
            assert_eq!(all, slab.values().filter(|it| it.id == id).count());
        }
    }
}

#[test]
fn ids_whose_low_bits_are_zeros_are_spread() {
    for shift in [0, 13, 32, 44, 47, 50] {
        let state = IdState::new();
        let mut groups = vec![0_u32; 4096];
        for id in 0..4096_u64 {
            groups[(state.hash_one(id << shift) >> 52) as usize] += 1;
        }
        // Random numbers have 7 or 8.
        assert!(groups.iter().all(|count| *count < 20), "{shift}");
    }
}

#[test]
fn ids_may_be_borrowed_and_of_several_types() {
    struct Session {
        token: u64,
        user: String,
    }

    impl Indexed<u64> for Session {
        fn id(&self) -> &u64 {
            &self.token
        }
    }

    impl Indexed<str> for Session {
        fn id(&self) -> &str {
            &self.user
        }
    }

    let mut slab = KeySlab::new();
    let mut by_token = KeyIndex::<u64>::with_capacity(8);
    let mut by_user = KeyIndex::<str>::with_capacity(8);
    for (token, user) in [(7, "seven"), (8, "eight"), (9, "")] {
        let user = user.to_string();
        let key = by_token.insert(&mut slab, Session { token, user }).unwrap();
        by_user.add(&slab, key).unwrap();
    }
    let eight = by_user.get(&slab, "eight").unwrap();
    assert_eq!(by_token.get(&slab, &8), Some(eight));
    assert_eq!(slab[by_user.get(&slab, "").unwrap()].token, 9);
    assert!(by_user.forget(&slab, eight));
    assert_eq!(by_token.remove(&mut slab, &8).unwrap().user, "eight");
    assert_eq!(by_user.get(&slab, "eight"), None);
}

#[test]
fn a_stale_entry_finds_no_other_value() {
    let mut slab = BoundedKeySlab::with_capacity(4);
    let mut index = KeyIndex::<u64>::with_capacity(4);
    let key = index.insert(&mut slab, order(1)).unwrap();
    slab.remove(key);
    assert_eq!(index.get(&slab, &1), None);
    assert!(!index.forget(&slab, key) && index.remove(&mut slab, &1).is_none());
    let next = slab.insert(order(2)).unwrap();
    assert_eq!(
        (next, index.get(&slab, &1), index.get(&slab, &2)),
        (key, None, None)
    );
    // It finds a value that has its id again.
    slab[next].id = 1;
    assert_eq!(index.get(&slab, &1), Some(next));
    index.clear();
    assert_eq!((index.get(&slab, &1), index.is_empty()), (None, true));
}

#[test]
fn a_larger_index_finds_no_value_by_the_stale_entry_of_its_slot() {
    for (grows, others) in [(false, 0), (true, 0), (true, 5), (true, 14)] {
        let mut slab = KeySlab::new();
        let builder = KeyIndex::<u64>::builder().capacity(16);
        let builder = if grows { builder.growing() } else { builder };
        let mut index = builder.build();
        let keys = [1, 2].map(|id| index.insert(&mut slab, order(id)).unwrap());
        // The index grows, or has begun to.
        for id in 0..others {
            index.insert(&mut slab, order(100 + id)).unwrap();
        }
        slab.remove(keys[0]);
        assert_eq!(slab.insert(order(3)), keys[0]);
        slab.remove(keys[1]);
        assert_eq!(index.insert(&mut slab, order(4)), Ok(keys[1]));
        assert_eq!(index.stale(&slab), 2);

        index.try_grow(&slab, 500).unwrap();
        assert_eq!((index.stale(&slab), index.len()), (0, 1 + others as usize));
        assert_eq!(index.get(&slab, &3), None);
        assert!(index.get_all(&slab, &4).eq([keys[1]]));
        assert!(index.forget(&slab, keys[1]) && index.get(&slab, &4).is_none());
        assert!((0..others).all(|id| index.get(&slab, &(100 + id)).is_some()));
    }
}

#[test]
fn a_growing_index_finds_no_value_by_the_stale_entry_of_its_slot() {
    let mut slab = KeySlab::new();
    let mut index = KeyIndex::<u64>::builder().growing().max_load(85).build();
    for id in 0..16 {
        index.insert(&mut slab, order(id)).unwrap();
    }
    for slot in 0..16 {
        slab.remove(Key::from_raw(slot));
        slab.insert(order(1_000 + u64::from(slot)));
    }
    for id in 0..200 {
        index.insert(&mut slab, order(2_000 + id)).unwrap();
    }
    assert!((1_000..1_016).all(|id| index.get(&slab, &id).is_none()));
    assert!((2_000..2_200).all(|id| index.get(&slab, &id).is_some()));
}

thread_local! {
    /// The number of hashes before one panics.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Panics at times, and lies at times.
struct Fragile {
    lies: bool,
    inner: Few,
}

impl BuildHasher for Fragile {
    type Hasher = FewHasher;

    fn build_hasher(&self) -> FewHasher {
        let left = LEFT.get();
        LEFT.set(left.wrapping_sub(1));
        assert!(left > 0, "a hash");
        let shift = if self.lies { random(3) } else { 0 };
        Few(self.inner.0 + shift).build_hasher()
    }
}

#[test]
fn searches_end_and_values_stay_whatever_the_hasher_does() {
    seed(5);
    for (lies, hashes, rebuilds) in [(false, 5, false), (true, 1, false), (true, 50, true)] {
        let inner = Few(hashes);
        let mut index = KeyIndex::<u64, _>::with_capacity_and_hasher(200, Fragile { lies, inner });
        let mut slab = KeySlab::new();
        let mut live = 0;
        for _ in 0..steps() / 10 {
            let id = random(300);
            LEFT.set(if random(3) == 0 { random(6) } else { u64::MAX });
            let before = slab.len();
            match random(4) {
                0 | 1 => drop(message_of(|| index.insert(&mut slab, order(id)))),
                2 => drop(message_of(|| index.remove(&mut slab, &id))),
                _ => drop(message_of(|| index.forget(&slab, Key::from_raw(id as u32)))),
            }
            LEFT.set(u64::MAX);
            assert!(slab.len().abs_diff(before) <= 1);
            live = slab.len();
            let _ = (index.get(&slab, &id), index.stale(&slab));
            if rebuilds && one_in(500) {
                index.rebuild(&slab, slab.keys());
            }
        }
        assert_eq!(slab.iter().count(), live);
    }
    let state = IdState::new();
    let hashes: BTreeSet<u64> = (0..1000_u64).map(|id| state.hash_one(id)).collect();
    assert_eq!(hashes.len(), 1000);
    let texts = ["", "\0", "\0\0", "abcdefgh", "abcdefgh\0", "abcdefghi"];
    let hashes: BTreeSet<u64> = texts.iter().map(|text| state.hash_one(text)).collect();
    assert_eq!(hashes.len(), texts.len());
}

/// An id whose hash panics when it is told to.
#[derive(PartialEq, Eq)]
struct Bomb(u64);

impl Hash for Bomb {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let left = LEFT.get();
        LEFT.set(left.wrapping_sub(1));
        assert!(left > 0, "a hash");
        // Of few values, so that entries are outside of their homes, and are hashed when they move.
        (self.0 % 7).hash(state);
    }
}

impl Indexed<Bomb> for Bomb {
    fn id(&self) -> &Bomb {
        self
    }
}

#[test]
fn a_hash_that_panics_while_an_index_grows_leaves_no_value_without_an_entry() {
    let mut panics = 0;
    for fuse in 1..crate::amount::amount(30, 4) {
        let mut index = KeyIndex::<Bomb>::builder().growing().build();
        let mut slab = KeySlab::new();
        for id in 0..200 {
            LEFT.set(fuse);
            let message = message_of(|| index.insert(&mut slab, Bomb(id)));
            LEFT.set(u64::MAX);
            panics += usize::from(message.is_some());
            let values = slab.values().filter(|it| it.0 == id).count();
            assert_eq!(values, usize::from(message.is_none()));
            assert_eq!(index.get(&slab, &Bomb(id)).is_some(), message.is_none());
        }
    }
    assert!(panics > 0);
}

#[test]
fn an_index_has_the_bytes_that_its_page_says() {
    let index = KeyIndex::<u64>::with_capacity(100_000);
    assert!((1_150_000..=1_200_000).contains(&index.bytes()));
}

#[test]
fn a_key_of_any_type_is_indexed() {
    fn finds<K: SlabKey>(mut slab: KeySlab<Order, K>) {
        let mut index = KeyIndex::<u64>::with_capacity(3);
        let keys = [5, 6, 7].map(|id| index.insert(&mut slab, order(id)).unwrap());
        slab.remove(keys[1]);
        let key = slab.insert(order(8));
        assert_eq!(index.get(&slab, &7), Some(keys[2]));
        assert!(index.get(&slab, &6).is_none() && !index.forget(&slab, key));
    }

    flatslab::key_type!(struct Named);
    flatslab::key_type!(struct NamedWithGeneration(GenKey));
    finds::<Key>(KeySlab::new());
    finds::<GenKey>(KeySlab::with_key());
    finds::<Named>(KeySlab::with_key());
    finds::<NamedWithGeneration>(KeySlab::with_key());
}
