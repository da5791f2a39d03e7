//! What both crates write, in a format that encodes nothing but the numbers it is told: the same
//! bytes, which each reads from the other.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes both, and reads each as the other's type.
fn crossed<O, T>(ours: &O, theirs: &T) -> (O, T)
where
    O: Serialize + DeserializeOwned,
    T: Serialize + DeserializeOwned,
{
    let bytes = bincode::serialize(ours).unwrap();
    assert_eq!(bytes, bincode::serialize(theirs).unwrap());
    let read = (bincode::deserialize(&bytes), bincode::deserialize(&bytes));
    (read.0.unwrap(), read.1.unwrap())
}

#[test]
fn slabs_have_the_same_bytes() {
    let (mut ours, mut theirs) = (slab::Slab::new(), real_slab::Slab::new());
    for number in 0..9_u16 {
        assert_eq!(ours.insert(number), theirs.insert(number));
    }
    for key in [0, 5, 3, 8] {
        assert_eq!(ours.remove(key), theirs.remove(key));
    }
    let (mut ours, mut theirs) = crossed(&ours, &theirs);
    assert!(ours.iter().eq(theirs.iter()));
    assert_eq!(ours.capacity(), theirs.capacity());
    for number in 0..9 {
        assert_eq!(ours.insert(number), theirs.insert(number));
    }
}

#[test]
fn maps_and_keys_have_the_same_bytes() {
    use real_slotmap::Key as _;
    use slotmap::Key as _;
    let (mut ours, mut theirs) = (slotmap::SlotMap::new(), real_slotmap::SlotMap::new());
    let mut more = (
        slotmap::SecondaryMap::new(),
        real_slotmap::SecondaryMap::new(),
    );
    let mut sparse = (
        slotmap::SparseSecondaryMap::new(),
        real_slotmap::SparseSecondaryMap::new(),
    );
    let mut dense = (
        slotmap::DenseSlotMap::new(),
        real_slotmap::DenseSlotMap::new(),
    );
    let keys: Vec<_> = (0..9_u8)
        .map(|n| (ours.insert(n), theirs.insert(n)))
        .collect();
    for n in 0..9_u8 {
        assert_eq!((dense.0.insert(n), dense.1.insert(n)), keys[n as usize]);
    }
    for &key in &keys[2..6] {
        more.0.insert(key.0, "more".to_string());
        more.1.insert(key.1, "more".to_string());
        sparse.0.insert(key.0, -1_i64);
        sparse.1.insert(key.1, -1_i64);
    }
    for &key in [0, 5, 3, 8].map(|index| &keys[index]) {
        assert_eq!(ours.remove(key.0), theirs.remove(key.1));
        assert_eq!(dense.0.remove(key.0), dense.1.remove(key.1));
    }
    let (mut ours, mut theirs) = crossed(&ours, &theirs);
    for number in 0..9 {
        let keys = (ours.insert(number), theirs.insert(number));
        assert_eq!(keys.0.data().as_ffi(), keys.1.data().as_ffi());
    }
    let (mut ours, mut theirs) = crossed(&dense.0, &dense.1);
    assert_eq!(ours.values_as_slice(), theirs.values_as_slice());
    for number in 0..9 {
        let keys = (ours.insert(number), theirs.insert(number));
        assert_eq!(keys.0.data().as_ffi(), keys.1.data().as_ffi());
    }
    let more = crossed(&more.0, &more.1);
    let sparse = crossed(&sparse.0, &sparse.1);
    for key in keys {
        assert_eq!(more.0.get(key.0), more.1.get(key.1));
        assert_eq!(sparse.0.get(key.0), sparse.1.get(key.1));
        let read = crossed(&key.0, &key.1);
        assert_eq!(read, key);
    }
}
