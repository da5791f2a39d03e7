//! A slab with owning slots (`nexus-slab` 0.8): its README, and the table of its methods.

use flatslab::{
    AccessError, BoundedSlab, CapacityError, Full, FullError, Key, Memory, Ref, RefMut, Slab, Slot,
    TrackedSlab, VacantSlot,
};

/// As many as there, and few for an interpreter.
const MANY: usize = if cfg!(miri) { 100 } else { 100_000 };

#[test]
fn bounded_slab() {
    // All memory allocated upfront.
    let slab = BoundedSlab::with_capacity(MANY);

    let slot = slab.insert(42).unwrap();
    assert_eq!(*slot.get(), 42);
    *slot.get_mut() = 100;
    assert_eq!(slab.into_inner(slot), 100);
    assert!(slab.is_empty());
}

#[test]
fn a_full_slab_gives_the_value_back() {
    let slab = BoundedSlab::with_capacity(1);
    let kept = slab.insert("kept".to_string()).unwrap();
    match slab.insert("refused".to_string()) {
        Err(Full(value)) => assert_eq!(value, "refused"),
        Ok(_) => unreachable!("the slab has one slot"),
    }
    let full: Full<String> = slab.insert("refused".to_string()).unwrap_err();
    assert_eq!(full.into_inner(), "refused");
    // The same type by both names.
    let full: FullError<u64> = Full(7);
    assert_eq!(full, Full(7));
    drop(kept);
}

#[test]
fn what_has_no_value_yet_says_how_many_slots_there_are() {
    let slab = BoundedSlab::<u64>::with_capacity(2);
    let held: [VacantSlot<u64>; 2] = [(), ()].map(|()| slab.vacant_slot().unwrap());
    let error: CapacityError = slab.insert_with(|_| unreachable!()).unwrap_err();
    assert_eq!(error.capacity(), Some(2));
    assert_eq!(slab.vacant_slot().unwrap_err(), error);
    assert!(error.to_string().contains('2'), "{error}");
    drop(held);
}

#[test]
fn one_error_serves_both_ways_of_inserting() {
    fn both(slab: &BoundedSlab<u64>) -> Result<[Slot<u64>; 2], CapacityError> {
        Ok([slab.insert(1)?, slab.insert_with(|_| 2)?])
    }

    assert!(both(&BoundedSlab::with_capacity(2)).is_ok());
    let second = both(&BoundedSlab::with_capacity(1)).unwrap_err();
    assert_eq!(second.capacity(), Some(1));
    // The value was dropped, and with it what there was of the error.
    let first = both(&BoundedSlab::with_capacity(0)).unwrap_err();
    assert_eq!(
        (first, first.capacity()),
        (CapacityError::NotInserted, None)
    );
    assert!(first.to_string().starts_with(&Full(1).to_string()));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn growable_slab() {
    // Lazy: no memory until the first insertion.
    let slab = Slab::new();
    assert_eq!(slab.capacity(), 0);
    assert_eq!(slab.into_inner(slab.insert(42)), 42);
    assert!(Slab::<u64>::with_capacity(MANY / 10).capacity() >= MANY / 10);

    let chunk = if cfg!(miri) { 64 } else { 8192 };
    let slab: Slab<u64> = Slab::builder().chunk_capacity(chunk).reserve(MANY).build();
    assert!(slab.capacity() >= MANY);
}

/// The slot leads to the slab that it is of: no comparison, and nothing that could be confused.
#[test]
fn a_slot_of_another_slab_leaves_that_one() {
    fn run<M: Memory, N: Memory>(one: &TrackedSlab<u64, M>, other: &TrackedSlab<u64, N>) {
        let kept = one.try_insert(1).unwrap();
        let foreign = other.try_insert(2).unwrap();
        assert_eq!(one.into_inner(foreign), 2);
        assert_eq!((one.len(), other.len()), (1, 0));
        assert_eq!((*kept.get(), other.free_slots()), (1, other.capacity()));
        assert_eq!(other.into_inner(kept), 1);
        assert!(one.is_empty());
    }

    let bounded = || BoundedSlab::with_capacity(4);
    run(&bounded(), &bounded());
    run(&bounded(), &Slab::new());
    run(&Slab::new(), &bounded());
    run(&Slab::new(), &Slab::new());

    // Also of one that is gone, whose values go with it.
    let slab = bounded();
    let orphan = bounded().insert(3).unwrap();
    assert!(!orphan.is_valid());
    assert!(crate::panics(|| slab.into_inner(orphan)));
    assert!(slab.is_empty());
}

#[test]
fn key_based_access() {
    let slab = BoundedSlab::with_capacity(MANY.min(1024));
    let slot = slab.insert(42).unwrap();
    let key: Key = slot.key();
    let value: Ref<'_, i32> = slab.get(key).unwrap();
    assert_eq!(*value, 42);
    drop(value);

    // SAFETY: no guard, and no other access while this one lasts.
    let accessor = unsafe { slab.untracked() };
    assert_eq!(accessor[key], 42);

    assert!(slab.contains_key(key));
    assert_eq!(slab.remove_by_key(key), 42);
    // The slot is stale, and its drop frees nothing twice.
    assert!(!slot.is_valid() && !slab.contains_key(key));
    drop(slot);
    slab.insert(7).unwrap().leak();
}

#[test]
fn self_referential_values() {
    struct Node {
        me: Key,
        parent: Option<Key>,
    }

    let slab = BoundedSlab::with_capacity(MANY.min(1024));
    let node = |parent| {
        let slot = slab.insert_with(|vacant| Node {
            me: vacant.key(),
            parent,
        });
        slot.unwrap().leak()
    };
    let root = node(None);
    let child = node(Some(root));
    let child = slab.get(child).unwrap();
    assert_eq!(child.parent, Some(root));
    assert_eq!(slab.get(child.me).unwrap().parent, Some(root));
}

#[test]
fn the_methods_of_a_slot() {
    let slab = BoundedSlab::with_capacity(2);
    let slot = slab.insert(1).unwrap();
    assert!(slot.is_valid());
    // An `Option` there, a `Result` here: `ok` makes the one of the other.
    let read: Option<Ref<'_, i32>> = slot.try_get().ok();
    assert!(slot.try_get_mut().ok().is_none());
    assert_eq!(slot.try_get_mut().unwrap_err(), AccessError::Borrowed);
    drop(read);
    let mut written: RefMut<'_, i32> = slot.try_get_mut().ok().unwrap();
    *written += 1;
    drop(written);
    assert_eq!(slot.replace(5), 2);
    assert_eq!(*slot.and_modify(|value| *value += 1).get(), 6);
    // SAFETY: valid, and not borrowed.
    assert_eq!(unsafe { *slot.get_unchecked() }, 6);
    let (value, vacant) = slot.take();
    let slot = vacant.insert(value + 1);
    assert_eq!(slot.into_inner(), 7);
    slab.clear();
}
