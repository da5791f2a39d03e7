//! What the `slab` crate promises in its documentation, of a `KeySlab` with
//! plain keys. Where the crate says `usize` this says `Key`.

use flatslab::{Key, KeySlab};

use crate::message_of;

fn key(index: u32) -> Key {
    Key::from_raw(index)
}

#[test]
fn a_new_slab_is_empty_and_has_no_memory() {
    let slab = KeySlab::<u64>::new();
    assert_eq!((slab.len(), slab.capacity()), (0, 0));
    assert!(slab.is_empty());
    assert_eq!(KeySlab::<u64>::default(), slab);
}

#[test]
fn with_capacity_inserts_that_many_without_more_memory() {
    let mut slab = KeySlab::with_capacity(10);
    let capacity = slab.capacity();
    assert!(capacity >= 10);
    for number in 0..10 {
        assert_eq!(slab.insert(number), key(number));
    }
    assert_eq!((slab.len(), slab.capacity()), (10, capacity));
    let values = if cfg!(miri) { 100 } else { 10_000 };
    for number in 10..values {
        slab.insert(number);
    }
    assert!(slab.capacity() >= values as usize);
}

#[test]
fn a_value_is_found_changed_and_removed_under_its_key() {
    let mut slab = KeySlab::new();
    let hello = slab.insert("hello");
    let world = slab.insert("world");
    assert_eq!((slab[hello], slab[world]), ("hello", "world"));
    slab[world] = "earth";
    assert_eq!(slab.get(world), Some(&"earth"));
    assert_eq!(slab.remove(world), "earth");
    assert!(!slab.contains(world) && slab.contains(hello));
    assert_eq!(slab.get(world), None);
    assert_eq!(slab.get_mut(world), None);
    assert_eq!(slab.try_remove(world), None);
}

#[test]
fn a_removed_key_is_the_next_one() {
    let mut slab = KeySlab::new();
    let keys: Vec<_> = (0..4).map(|number| slab.insert(number)).collect();
    slab.remove(keys[1]);
    slab.remove(keys[3]);
    assert_eq!(slab.vacant_key(), keys[3]);
    assert_eq!(slab.insert(30), keys[3]);
    assert_eq!(slab.insert(10), keys[1]);
    assert_eq!(slab.insert(40), key(4));
}

#[test]
fn a_missing_key_panics_and_says_which() {
    let mut slab = KeySlab::new();
    let gone = slab.insert(7);
    slab.remove(gone);
    for message in [
        message_of(|| slab.clone()[gone]),
        message_of(|| slab.clone()[gone] = 8),
        message_of(|| slab.clone().remove(gone)),
    ] {
        assert_eq!(message, "there is no value at Key(0)");
    }
    assert_eq!(
        message_of(|| slab[Key::NONE]),
        "there is no value at Key::NONE"
    );
    assert_eq!(slab.get(key(1_000_000)), None);
}

#[test]
fn an_entry_knows_the_key_before_the_value_is_there() {
    let mut slab = KeySlab::new();
    let hello = {
        let entry = slab.vacant_entry();
        let at = entry.key();
        entry.insert((at, "hello"));
        at
    };
    assert_eq!(slab[hello], (hello, "hello"));
    drop(slab.vacant_entry());
    let _forgotten = core::mem::ManuallyDrop::new(slab.vacant_entry());
    assert_eq!((slab.len(), slab.vacant_key()), (1, key(1)));
}

#[test]
fn clear_and_drain_begin_again_at_key_0() {
    let mut slab: KeySlab<u32> = (0..5).map(|number| (key(number), number)).collect();
    slab.remove(key(2));
    slab.clear();
    assert!(slab.is_empty());
    assert_eq!(slab.insert(0), key(0));
    assert_eq!(slab.insert(1), key(1));
    let drained: Vec<_> = slab.drain().collect();
    assert_eq!(drained, [(key(0), 0), (key(1), 1)]);
    assert_eq!((slab.len(), slab.vacant_key()), (0, key(0)));
    assert!(slab.capacity() > 0);
}

#[test]
fn retain_asks_for_each_value_in_order() {
    let mut slab: KeySlab<u32> = (0..6).map(|number| (key(number), number)).collect();
    slab.remove(key(4));
    let mut asked = Vec::new();
    slab.retain(|key, value| {
        asked.push(key);
        *value += 10;
        *value % 2 == 0
    });
    assert_eq!(asked, [0, 1, 2, 3, 5].map(key));
    assert!(slab.iter().eq([(key(0), &10), (key(2), &12)]));
}

#[test]
#[cfg_attr(miri, ignore = "20,000 values; the model shrinks smaller chunks")]
fn shrink_to_fit_frees_what_is_behind_the_last_value() {
    let mut slab = KeySlab::new();
    for number in 0..20_000 {
        slab.insert(number);
    }
    let capacity = slab.capacity();
    slab.retain(|_, number| *number == 5_000);
    slab.shrink_to_fit();
    assert!(slab.capacity() < capacity && slab.capacity() > 5_000);
    assert_eq!(slab[key(5_000)], 5_000);
    // The slots before it are free, in no order that is promised.
    assert!(slab.insert(1) < key(5_000));
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!(slab.capacity(), 0);
    assert_eq!(slab.insert(7), key(0));
}

#[test]
fn key_of_finds_a_value_by_its_address() {
    let mut slab = KeySlab::new();
    let keys: Vec<_> = (0..if cfg!(miri) { 100 } else { 10_000_u64 })
        .map(|_| slab.insert(7_u64))
        .collect();
    for &at in &keys {
        assert_eq!(slab.key_of(&slab[at]), at);
    }
    let other = 7_u64;
    assert_eq!(
        message_of(|| slab.key_of(&other)),
        "key_of was refused: the reference is not to a value of this slab"
    );
    let mut units = KeySlab::new();
    let unit = [units.insert(()), units.insert(()), units.insert(())];
    assert_eq!(unit.map(|at| units.key_of(&units[at])), unit);
}

#[test]
fn several_values_at_once_are_different_ones() {
    use flatslab::key_slab::DisjointError::{Missing, Overlapping};

    let mut slab: KeySlab<u32> = (0..3).map(|number| (key(number), number)).collect();
    let [a, b, c] = slab.get_disjoint_mut([key(2), key(0), key(1)]).unwrap();
    (*a, *b, *c) = (*b, *c, *a);
    assert!(slab.values().eq(&[1, 2, 0]));
    assert_eq!(slab.get_disjoint_mut([key(1), key(1)]), Err(Overlapping));
    assert_eq!(slab.get_disjoint_mut([key(1), key(3)]), Err(Missing));
    assert_eq!(slab.get_disjoint_mut([]), Ok([]));
}

#[test]
fn collecting_keeps_keys_and_the_last_value_of_a_key() {
    let slab: KeySlab<_> = [(key(5), "five"), (key(0), "zero"), (key(5), "later")]
        .into_iter()
        .collect();
    assert_eq!(
        (slab.len(), slab[key(5)], slab[key(0)]),
        (2, "later", "zero")
    );
    let mut more = slab;
    more.extend([(key(1), "one")]);
    assert_eq!([more.insert("a"), more.insert("b")], [key(2), key(3)]);
}

#[test]
fn a_clone_is_equal_and_hands_out_the_same_keys() {
    let mut slab: KeySlab<_> = (0..10)
        .map(|number| (key(number), number.to_string()))
        .collect();
    for gone in [3, 7, 1] {
        slab.remove(key(gone));
    }
    let mut clone = slab.clone();
    assert_eq!(clone, slab);
    for _ in 0..5 {
        assert_eq!(clone.insert(String::new()), slab.insert(String::new()));
    }
    clone[key(0)].push('!');
    assert_ne!(clone, slab);
}

#[test]
fn it_prints_a_map() {
    let mut slab = KeySlab::new();
    slab.insert("zero");
    assert_eq!(format!("{slab:?}"), r#"{Key(0): "zero"}"#);
    assert_eq!(format!("{:?}", slab.iter()), "Iter { left: 1, .. }");
    assert_eq!(
        format!("{:?}", slab.vacant_entry()),
        "VacantEntry { key: Key(1), .. }"
    );
}

/// Cells of large blocks begin at a line within them, and those of small ones at their start. Of
/// values that are aligned as any block is, the shrunk block once ended before the cell.
#[test]
fn values_aligned_to_16_bytes_survive_a_large_block() {
    // Where an allocator maps no block of less than this from now on, lines begin elsewhere.
    drop(std::hint::black_box(vec![1_u8; 8 << 20]));
    for shift in 0..8 {
        let _shift = std::hint::black_box(vec![0_u8; 16 * shift + 24]);
        let mut slab = KeySlab::<u128>::with_capacity(10_000);
        let _behind = std::hint::black_box(vec![0_u8; 4_000]);
        let key = slab.insert(u128::MAX / 3);
        slab.shrink_to_fit();
        let _other = std::hint::black_box(vec![7_u8; 100]);
        assert_eq!((slab[key], slab.capacity()), (u128::MAX / 3, 1));
    }
}
