//! Handles, guards and slabs that are forgotten: they leak what they hold and
//! nothing else. All tests here leak on purpose, which `ci/asan.sh` knows by the
//! name of the module.

use std::mem::forget;

use flatslab::{AccessError, BoundedSlab, Ref, RefMut};

use crate::common::{Audit, Counted, Drops, Room, over_both_slabs, panics};

/// Each handle and guard forgotten; then the slab is used and dropped.
fn forgotten_handles_and_guards_leak_and_nothing_else<M: Room>() {
    let slab = M::with_room::<Counted>(10);
    let drops = Drops::new();
    let make = |number| drops.value(number);
    let slot = slab.try_insert(make(1)).unwrap();
    forget(slot.get());
    assert!(slot.try_get_mut().is_err() && slot.get().number == 1);
    drop(slot);
    assert_eq!(drops.count(), 0, "doomed for ever");
    let slot = slab.try_insert(make(2)).unwrap();
    forget(slab.get_mut(slot.key()).unwrap());
    assert!(panics(|| slot.into_inner()));
    let key = slab.try_insert(make(3)).unwrap().leak();
    forget(slab.get_mut(key));
    assert!(slab.try_remove_by_key(key).is_err() && slab.contains_key(key));
    forget(slab.try_insert(make(4)).unwrap());
    forget(slab.try_insert(make(5)).unwrap().into_box());
    forget(slab.try_vacant_slot().unwrap());
    let stale = slab.try_insert(make(6)).unwrap();
    drop(slab.remove_by_key(stale.key()));
    forget(stale);
    assert_eq!(slab.audit_but_stale(), 1);
    assert_eq!((slab.len(), drops.count()), (6, 1));
    assert!(slab.try_clear().is_err());
    let alive = slab.try_insert(make(7)).unwrap();
    // Guards of parts: a reader keeps out writers, a writer everything.
    let read = slab.try_insert_key(make(8)).unwrap();
    forget(Ref::map(slab.get(read).unwrap(), |value| &value.number));
    assert!(slab.try_get(read).is_ok() && slab.try_get_mut(read).is_err());
    let written = slab.try_insert_key(make(9)).unwrap();
    let mut part = RefMut::map(slab.get_mut(written).unwrap(), |value| &mut value.number);
    *part += 1;
    forget(part);
    assert!(slab.try_get(written).is_err() && slab.contains_key(written));
    drop(slab);
    // The forgotten slot's value and the living slot's: they are not borrowed.
    assert_eq!(drops.count(), 3);
    assert!(!alive.is_valid());
}

over_both_slabs!(
    #[cfg_attr(miri, ignore = "leaks on purpose")]
    forgotten_handles_and_guards_leak_and_nothing_else,
);

/// A slab that is forgotten keeps its values.
#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn handles_of_a_forgotten_slab_go_on() {
    let slab = BoundedSlab::with_capacity(2);
    let slot = slab.insert(7).unwrap();
    forget(slab);
    assert!(slot.is_valid());
    assert_eq!(slot.into_inner(), 7);
}

/// 2^27 - 1 readers, and not one more.
#[test]
#[cfg_attr(any(miri, debug_assertions), ignore = "takes a release build")]
fn readers_saturate_to_a_refusal() {
    let slab = BoundedSlab::with_capacity(1);
    let slot = slab.insert(7).unwrap();
    for _ in 0..(1 << 27) - 1 {
        forget(slot.try_get().unwrap());
    }
    assert!(slot.try_get().is_err());
    let error = slab.try_get(slot.key()).unwrap_err();
    assert_eq!(error, AccessError::TooManyReaders);
    let (_, item) = slab.try_iter().next().unwrap();
    assert_eq!(item.unwrap_err(), AccessError::TooManyReaders);
    let error = slab.try_get_mut(slot.key()).unwrap_err();
    assert_eq!(error, AccessError::Borrowed);
    assert!(panics(|| slot.get()) && panics(|| slab.get(slot.key())));
    assert!(slot.is_valid() && slab.contains_key(slot.key()));
}
