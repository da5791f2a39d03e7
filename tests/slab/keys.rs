//! Keys as the way in: values that belong to their keys, keys as numbers, and
//! how many slots are free.

use flatslab::{BoundedSlab, FullError, Key, Slab};

use crate::common::{Audit, Room, over_both_slabs};

fn a_value_inserted_by_key_stays_until_it_is_removed<M: Room>() {
    let slab = M::with_room::<u64>(2);
    // What it is easily mistaken for: the slot goes at the semicolon.
    let gone = slab.try_insert(7).unwrap().key();
    assert!(!slab.contains_key(gone) && slab.is_empty());

    let key = slab.try_insert_key(7).unwrap();
    assert_eq!(key, gone, "the same slot");
    assert_eq!((slab.get_copied(key), slab.len()), (Some(7), 1));
    let slot = slab.slot(key).expect("no handle is left");
    assert_eq!(slot.leak(), key);
    assert_eq!(slab.remove_by_key(key), 7);
    slab.audit();
}

/// A chunk may have any number of these.
type Wide = [u64; 80];

/// A stale slot's cell is neither a value nor free.
fn free_slots_counts_what_can_be_inserted_without_growing<M: Room>() {
    let slab = M::with_room::<Wide>(4);
    M::try_reserve(&slab, 4).unwrap();
    assert_eq!(slab.free_slots(), 4);
    let mut slots: Vec<_> = (0..3).map(|n| slab.try_insert([n; 80]).unwrap()).collect();
    let vacant = slab.try_vacant_slot().unwrap();
    assert_eq!(slab.free_slots(), 0);
    drop(vacant);
    slab.clear();
    assert_eq!((slab.len(), slab.free_slots()), (0, 1));
    assert_eq!(slab.capacity() - slab.len(), 4, "which is not what is free");
    slots.pop();
    assert_eq!((slab.free_slots(), slab.is_full()), (2, false));
    let keys: Vec<_> = (0..2)
        .map(|n| slab.try_insert_key([n; 80]).unwrap())
        .collect();
    assert_eq!((slab.free_slots(), slab.is_full()), (0, true));
    drop((slots, slab.drain()));
    assert_eq!((slab.free_slots(), keys.len()), (4, 2));
}

over_both_slabs!(
    a_value_inserted_by_key_stays_until_it_is_removed,
    free_slots_counts_what_can_be_inserted_without_growing,
);

#[test]
fn a_full_slab_gives_the_value_back() {
    let slab = BoundedSlab::with_capacity(1);
    let key = slab.insert_key("first").unwrap();
    assert_eq!(slab.insert_key("second"), Err(FullError("second")));
    assert_eq!(slab.try_insert_key("second"), Err(FullError("second")));
    assert_eq!(slab.get_copied(key), Some("first"));
    let slab = Slab::builder().chunk_capacity(1).build();
    let keys = [slab.insert_key(1), slab.insert_key(2)];
    assert_eq!(keys.map(|key| slab.remove_by_key(key)), [1, 2]);
}

#[test]
fn a_key_is_a_number_and_back() {
    let limit = (1 << 30) - 1;
    for index in [0, 1, 41, limit - 1] {
        let key = Key::try_from(index).unwrap();
        assert_eq!((usize::from(key), u32::from(key)), (index, index as u32));
        assert_eq!(key, Key::from_raw(index as u32));
        assert_eq!(key.to_string(), index.to_string());
    }
    // Neither `NONE` nor any other key that no slab has comes out of a number.
    for index in [
        limit,
        1 << 30,
        u32::MAX as usize,
        u32::MAX as usize - 1,
        usize::MAX,
    ] {
        let error = Key::try_from(index).unwrap_err();
        assert_eq!(error.index(), index);
        let text = format!("index must be less than {limit}, but is {index}");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_link_without_an_end_is_none() {
    #[derive(Default)]
    struct Node {
        next: Key,
    }
    let node = Node::default();
    assert!(node.next.is_none() && node.next == Key::NONE);
    assert_eq!(format!("{0} {0:?}", node.next), "none Key::NONE");
    assert_eq!(
        format!("[{:>6}] [{:<6}]", Key::NONE, Key::from_raw(7)),
        "[  none] [7     ]"
    );
    assert!(Slab::<Node>::new().get(node.next).is_none());
}
