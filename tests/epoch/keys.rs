//! Keys that are stale, of another slab, or made up lead to nothing.

use std::collections::HashMap;

use flatslab::AccessError;
use flatslab::epoch::{Epoch, EpochBytes, EpochKey, EpochSlab, InsertError};

use crate::common::amount;
use crate::common::random::{random, seed};

const RING: usize = 3;

#[track_caller]
fn expect_missing(slab: &EpochSlab<u64>, key: EpochKey) {
    assert!(slab.get(key).is_none() && slab.get_mut(key).is_none());
    assert_eq!(slab.try_get(key).err(), Some(AccessError::Missing));
    assert_eq!(slab.try_get_mut(key).err(), Some(AccessError::Missing));
    assert_eq!(slab.try_take(key), Err(AccessError::Missing));
    assert_eq!(slab.take(key), None);
    assert!(!slab.contains_key(key) && slab.epoch_of(key).is_none());
}

/// A slab after twenty rounds: what is there, keys whose values are gone, and all epochs but
/// the permanent one.
struct Aged {
    slab: EpochSlab<u64>,
    live: HashMap<EpochKey, u64>,
    stale: Vec<EpochKey>,
    epochs: Vec<Epoch>,
}

fn aged(number: u64) -> Aged {
    seed(number);
    let slab = EpochSlab::builder().chunk_capacity(3).epochs(RING).build();
    let mut aged = Aged {
        slab,
        live: HashMap::new(),
        stale: Vec::new(),
        epochs: Vec::new(),
    };
    let mut next = 0;
    let rounds = amount(20, 6) * RING;
    for round in 0..rounds {
        let epoch = aged.slab.current();
        aged.epochs.push(epoch);
        let mut keys = Vec::new();
        for _ in 0..4 {
            next += 1;
            keys.push((aged.slab.insert(next), next));
        }
        for (key, value) in keys {
            if random(4) == 0 {
                aged.live.insert(key, value);
            } else {
                if round % 2 == 0 {
                    assert_eq!(aged.slab.take(key), Some(value));
                }
                aged.stale.push(key);
            }
        }
        if round % 2 == 1 {
            aged.slab.clear_epoch(epoch);
            let live = &mut aged.live;
            let gone: Vec<_> = (live.iter().map(|it| *it.0))
                .filter(|key| !aged.slab.contains_key(*key))
                .collect();
            live.retain(|key, _| !gone.contains(key));
            aged.stale.extend(gone);
        }
        aged.slab.advance();
    }
    assert!(aged.stale.len() > 2 * rounds && aged.live.len() > rounds / 8);
    aged
}

/// Panics unless each key leads to its own value, and that one to nothing else.
#[track_caller]
fn expect_own(aged: &Aged, key: EpochKey) {
    match aged.live.get(&key) {
        Some(value) => assert_eq!(aged.slab.get(key).as_deref(), Some(value)),
        None => expect_missing(&aged.slab, key),
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn stale_keys_lead_to_nothing_after_twenty_rounds() {
    let aged = aged(1);
    for key in &aged.stale {
        expect_missing(&aged.slab, *key);
    }
    for key in aged.live.keys() {
        expect_own(&aged, *key);
    }
    assert_eq!(aged.slab.stats().live, aged.live.len());
}

#[test]
fn a_key_leads_to_no_later_value_of_its_slot() {
    let slab = EpochSlab::builder().chunk_capacity(1).epochs(2).build();
    // All but the generation.
    let slot = |key: EpochKey| key.into_raw() & !(u128::MAX << 80);
    let mut stale: Vec<EpochKey> = Vec::new();
    for round in 0..amount(60, 12) {
        let key = slab.insert(round);
        for old in &stale {
            assert_eq!(slot(*old), slot(key), "the same slot");
            expect_missing(&slab, *old);
        }
        assert_eq!(slab.get(key).as_deref(), Some(&round));
        // It leaves by a removal, a clearing, or as the last one of a pinned chunk.
        match round % 3 {
            0 => assert_eq!(slab.take(key), Some(round)),
            1 => assert_eq!(slab.clear_epoch(slab.current()), 1),
            _ => {
                assert_eq!(slab.advance_and_close().1.pinned, 1);
                assert_eq!(slab.take(key), Some(round));
            }
        }
        expect_missing(&slab, key);
        stale.push(key);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn keys_of_another_slab_lead_to_nothing() {
    let (one, other) = (aged(1), aged(1));
    for key in other.stale.iter().chain(other.live.keys()) {
        expect_missing(&one.slab, *key);
    }
    assert_eq!(one.slab.stats().live, one.live.len());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_key_with_one_other_bit_never_leads_to_that_value() {
    let aged = aged(2);
    let every = amount(1, 20);
    let keys = aged.live.keys().chain(&aged.stale).step_by(every);
    for key in keys {
        for bit in 0..128 {
            if let Some(forged) = EpochKey::from_raw(key.into_raw() ^ 1 << bit) {
                assert!(forged != *key);
                expect_own(&aged, forged);
            }
        }
    }
    assert_eq!(aged.slab.stats().live, aged.live.len());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn random_bits_lead_to_nothing() {
    let aged = aged(3);
    let mut keys = 0;
    for _ in 0..amount(200_000, 500) {
        let raw = (0..8).fold(0_u128, |raw, _| raw << 16 | u128::from(random(1 << 16)));
        // Some of them with a slot that there is, of this slab, of generations that there are.
        let like_a_key = raw & !(0xfffc << 64);
        let place = aged.stale[0].into_raw() as u64 >> 30 << 30 | u64::from(raw as u8);
        let of_slab = like_a_key >> 64 << 64 | u128::from(place);
        let young = of_slab & !(0xffff_ffff_ff00_u128 << 80);
        for raw in [raw, like_a_key, of_slab, young] {
            if let Some(key) = EpochKey::from_raw(raw) {
                keys += 1;
                expect_own(&aged, key);
            }
        }
    }
    assert!(keys > amount(500_000, 1_250), "{keys}");
}

#[test]
fn bits_are_a_key_or_none() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let raw = key.into_raw();
    assert_eq!(EpochKey::from_raw(raw), Some(key));
    assert_eq!(EpochKey::from_raw(0), None);
    // No chunk has so many slots.
    for slot in [32_766, 32_767, 32_768, 65_535] {
        assert_eq!(EpochKey::from_raw(raw >> 80 << 80 | slot << 64), None);
    }
    // Nor one of no generation.
    assert_eq!(EpochKey::from_raw(1 << 64), None);
    assert!(EpochKey::from_raw(u128::MAX).is_none());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn epochs_that_are_over_stay_so_when_their_index_is_used_again() {
    let aged = aged(4);
    let there: Vec<_> = aged.slab.epochs().map(|stats| stats.epoch).collect();
    let over = aged.epochs.iter().filter(|epoch| !there.contains(epoch));
    let mut count = 0;
    for epoch in over {
        let error = aged.slab.try_insert_in(*epoch, 7).unwrap_err();
        assert_eq!(error, InsertError::Closed(7));
        assert!(aged.slab.epoch_stats(*epoch).is_none());
        assert_eq!(aged.slab.try_clear_epoch(*epoch), Ok(0));
        assert_eq!(aged.slab.keys_in(*epoch).count(), 0);
        count += 1;
    }
    assert!(count > RING);
    let used_again = |epoch: &Epoch| there.iter().any(|it| it.index() == epoch.index());
    assert!(
        aged.epochs
            .iter()
            .any(|it| !there.contains(it) && used_again(it))
    );
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn buffers_have_keys_of_their_own() {
    let (bytes, other) = (EpochBytes::new(), EpochBytes::new());
    let most = if cfg!(miri) { 10 } else { 200_u8 };
    let keys: Vec<_> = (0..most)
        .map(|it| bytes.try_copy_in(bytes.current(), &vec![it; usize::from(it)]))
        .map(Result::unwrap)
        .collect();
    let foreign = other.alloc(10).key();
    assert!(bytes.get(foreign).is_none() && !bytes.remove(foreign));
    for (number, key) in keys.iter().enumerate() {
        for bit in 0..128 {
            let forged = EpochKey::from_raw(key.into_raw() ^ 1 << bit);
            let Some(forged) = forged else { continue };
            // Or it is that of another one.
            let own = keys.iter().position(|key| *key == forged);
            let found = bytes.get(forged).map(|it| it.len());
            assert!(found == own && own != Some(number));
        }
    }
    for key in &keys {
        assert!(bytes.remove(*key) && !bytes.remove(*key));
    }
    let error = bytes.try_copy_in(other.current(), b"foreign").unwrap_err();
    assert_eq!(error, InsertError::Foreign(()));
}
