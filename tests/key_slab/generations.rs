//! What keys with generations promise, as `slotmap` does: a key whose value is
//! gone never opens another one.

use flatslab::key_slab::InsertAtError;
use flatslab::{BoundedKeySlab, GenKey, KeySlab, key_type};

use crate::message_of;
use crate::program::{Count, Counted, LARGE};

fn key(slot: u64, generation: u64) -> GenKey {
    GenKey::from_raw((generation * 2 + 1) << 32 | slot).unwrap()
}

const LAST_GENERATION: u64 = (1 << 30) - 2;

#[test]
fn a_stale_key_opens_nothing_ever_after() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let mut stale = Vec::new();
    let values = if cfg!(miri) { 60 } else { 1000 };
    for number in 0..values {
        let key = slab.insert(number);
        assert_eq!(slab[key], number);
        for &old in &stale {
            assert_eq!((slab.get(old), slab.contains(old)), (None, false));
        }
        assert_eq!(slab.remove(key), number);
        assert_eq!(slab.try_remove(key), None);
        if number % 50 == 0 {
            stale.push(key);
        }
    }
    assert_eq!(slab.insert(7).generation(), values);
    assert_eq!(
        message_of(|| slab.clone().remove(stale[1])),
        "there is no value at GenKey(slot 0, generation 50)"
    );
}

#[test]
fn generations_survive_clear_drain_retain_and_clone() {
    let mut slab: KeySlab<u32, GenKey> = KeySlab::with_key();
    let mut seen = std::collections::HashSet::new();
    for round in 0..12 {
        let keys: Vec<_> = (0..5).map(|number| slab.insert(number)).collect();
        for key in keys {
            assert!(seen.insert(key), "{key:?} came twice, in round {round}");
        }
        match round % 4 {
            0 => slab.clear(),
            1 => drop(slab.drain()),
            2 => slab.retain(|_, _| false),
            _ => {
                slab.clear();
                slab = slab.clone();
            }
        }
    }
    assert_eq!(slab.vacant_key().generation(), 12);
}

#[test]
fn generations_survive_the_memory_of_their_slots() {
    let count = Count::default();
    let mut slab: KeySlab<Counted<LARGE>, GenKey> = KeySlab::with_key();
    let mut seen = std::collections::HashSet::new();
    for round in 1..6 {
        for number in 0..7 * round {
            assert!(seen.insert(slab.insert(count.make(number))));
        }
        slab.retain(|key, _| key.index() < 8 && round % 2 == 1);
        slab.shrink_to_fit();
        let kept = if round % 2 == 1 {
            8.min(7 * round as usize)
        } else {
            0
        };
        assert_eq!(slab.capacity(), kept);
        for key in seen.iter().filter(|key| key.index() >= slab.capacity()) {
            assert!(!slab.contains(*key));
        }
        slab = slab.clone();
        slab.clear();
    }
    let floor = slab.vacant_key();
    assert!(floor.generation() > 1);
    slab.reset_generations();
    assert_eq!(slab.vacant_key(), key(0, 0));
}

#[test]
fn a_slot_without_a_generation_left_retires() {
    let mut slab: BoundedKeySlab<&str, GenKey> = BoundedKeySlab::with_capacity_and_key(2);
    let last = key(0, LAST_GENERATION);
    slab.insert_at(last, "last").unwrap();
    assert_eq!(slab[last], "last");
    assert_eq!(
        (slab.remove(last), slab.retired_slots(), slab.len()),
        ("last", 1, 0)
    );
    assert_eq!((slab.free_slots(), slab.capacity()), (1, 2));

    let other = slab.insert("other").unwrap();
    assert_eq!(other.index(), 1);
    assert!(slab.insert("no slot is left").is_err());
    assert_eq!(
        slab.insert_at(last, "again"),
        Err(InsertAtError::Outdated("again"))
    );
    let clone = slab.clone();
    assert_eq!((clone.retired_slots(), clone.len()), (1, 1));
    slab.clear();
    assert_eq!((slab.retired_slots(), slab.free_slots()), (1, 1));
    assert!(
        message_of(|| clone.clone().reset_generations())
            .ends_with("must be empty, but has 1 value")
    );
    slab.reset_generations();
    assert_eq!((slab.retired_slots(), slab.free_slots()), (0, 2));
    assert_eq!(slab.insert("first"), Ok(key(0, 0)));
}

#[test]
fn a_retired_slot_is_not_cut_off() {
    let count = Count::default();
    let mut slab: KeySlab<Counted<LARGE>, GenKey> = KeySlab::with_key();
    let last = key(9, LAST_GENERATION);
    slab.insert_at(last, count.make(0)).unwrap();
    slab.reserve(30);
    drop(slab.remove(last));
    slab.shrink_to_fit();
    assert_eq!((slab.capacity(), slab.retired_slots()), (10, 1));
    let slots: Vec<_> = (0..11)
        .map(|n| slab.insert(count.make(n)).index())
        .collect();
    assert_eq!(slots, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]);
}

#[test]
fn an_older_generation_is_refused_and_a_later_one_is_not() {
    let mut slab: KeySlab<&str, GenKey> = KeySlab::with_key();
    let first = slab.insert("first");
    slab.remove(first);
    let refused = slab.insert_at(first, "again");
    assert_eq!(refused, Err(InsertAtError::Outdated("again")));
    slab.insert_at(key(0, 9), "later").unwrap();
    assert_eq!(slab[key(0, 9)], "later");
    // `extend` replaces values of the same and of earlier generations.
    slab.extend([(key(0, 9), "same"), (key(0, 12), "later still")]);
    assert_eq!(
        (slab.get(key(0, 9)), slab[key(0, 12)]),
        (None, "later still")
    );
    assert!(slab.try_extend([(key(0, 11), "earlier")]).is_err());
    assert_eq!((slab.len(), slab[key(0, 12)]), (1, "later still"));
}

#[test]
fn forged_keys_open_nothing_that_is_vacant() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let (a, b) = (slab.insert(1), slab.insert(2));
    slab.remove(a);
    for version in (0..40).chain(u64::from(u32::MAX) - 40..=u64::from(u32::MAX)) {
        for slot in [0, 1, 2, u64::from(u32::MAX)] {
            let raw = version << 32 | slot;
            let Some(forged) = GenKey::from_raw(raw) else {
                assert!(version % 2 == 0 || version > LAST_GENERATION * 2 + 1);
                continue;
            };
            assert_eq!(forged.into_raw(), raw);
            assert_eq!(slab.get(forged).is_some(), forged == b, "{forged:?}");
        }
    }
}

#[test]
fn keys_print_slot_and_generation() {
    assert_eq!(format!("{:?}", key(3, 7)), "GenKey(slot 3, generation 7)");
    assert_eq!(key(3, 7).to_string(), "3:7");
}

#[test]
fn a_worn_slot_does_not_wear_out_those_after_it() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let worn = key(0, LAST_GENERATION - 1);
    slab.insert_at(worn, 1).unwrap();
    slab.remove(worn);
    slab.shrink_to_fit();
    assert_eq!(slab.vacant_key(), key(0, LAST_GENERATION));
    assert_eq!(slab.insert(2), key(0, LAST_GENERATION));
    assert_eq!(slab.insert(3), key(1, 0));
}

#[test]
fn slots_that_were_cut_off_come_back_with_later_generations() {
    let count = Count::default();
    let mut slab: KeySlab<Counted<LARGE>, GenKey> = KeySlab::with_key();
    let keys: Vec<_> = (0..20).map(|n| slab.insert(count.make(n))).collect();
    slab.clear();
    slab.shrink_to_fit();
    slab.reserve(20);
    let slots: Vec<_> = (0..24).map(|n| slab.insert(count.make(n))).collect();
    assert!(slots.iter().map(|key| key.index()).eq(0..24));
    assert!(slots.iter().all(|key| !keys.contains(key)));
}

key_type!(pub struct OrderKey);
key_type! {
    /// With generations.
    struct SessionKey(GenKey);
}

#[test]
fn a_key_type_of_ones_own_is_a_key() {
    let mut orders: KeySlab<u64, OrderKey> = KeySlab::with_key();
    let mut sessions: BoundedKeySlab<OrderKey, SessionKey> =
        BoundedKeySlab::with_capacity_and_key(1);
    let order = orders.insert(7);
    let session = sessions.insert(order).unwrap();
    assert_eq!(orders[sessions[session]], 7);
    assert_eq!(
        (size_of::<OrderKey>(), size_of::<Option<SessionKey>>()),
        (4, 8)
    );
    assert_eq!(
        format!("{order:?} {:?}", flatslab::Key::from(order)),
        "OrderKey(Key(0)) Key(0)"
    );
    assert_eq!(OrderKey::from(flatslab::Key::from_raw(0)), order);
    sessions.remove(session);
    assert_eq!(SessionKey::from_raw(session.into_raw()), Some(session));
    assert_eq!((session.index(), session.generation()), (0, 0));
    assert!(OrderKey::NONE.is_none() && order.is_some());
    assert_eq!(OrderKey::from_raw(order.into_raw()).index(), 0);
    assert!(!sessions.contains(session));
    assert_eq!(GenKey::from(session).index(), 0);
}

/// The floor that shrinking leaves does not keep the slots made later.
#[test]
fn a_worn_slab_still_shrinks() {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    for round in 0..3 {
        for _ in 0..if cfg!(miri) { 3 } else { 1 << 16 } {
            let key = slab.insert(());
            slab.remove(key);
        }
        slab.shrink_to_fit();
        assert_eq!(slab.capacity(), 0, "{round}");
        let keys: Vec<_> = (0..100).map(|_| slab.insert(())).collect();
        slab.clear();
        slab.shrink_to_fit();
        assert_eq!(slab.capacity(), 0, "{round}");
        assert!(keys.iter().all(|key| !slab.contains(*key)));
    }
}

/// Pollers reserve them for what is no connection.
#[test]
fn the_upper_half_of_the_numbers_is_no_key() {
    key_type!(struct Session(GenKey));
    for raw in [1 << 63, u64::MAX - (1 << 32), u64::MAX - 1, u64::MAX] {
        assert_eq!(
            (GenKey::from_raw(raw), Session::from_raw(raw)),
            (None, None)
        );
    }
    // The last generation there is.
    let last = key(u64::from(u32::MAX), LAST_GENERATION).into_raw();
    assert!(last < 1 << 63);
    assert_eq!(GenKey::from_raw(last + (2 << 32)), None);
}
