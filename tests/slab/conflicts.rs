//! A value that is in use is never taken for one that is gone: what each method
//! answers where there is no value, and where it is borrowed.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flatslab::AccessError::{self, Borrowed, Missing, Owned};
use flatslab::{AllocError, BoundedSlab, Key, Memory, Ref, SlotBox, TrackedSlab};

use crate::common::values::expect_refusals;
use crate::common::{Audit, Drops, Hooked, Room, over_both_slabs};

/// The list whose tail was lost when `None` meant both.
#[path = "../../examples/intrusive_list.rs"]
#[allow(dead_code, reason = "it has a `main`")]
mod intrusive_list;

/// What `f` returns, or the text of its panic.
fn message<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    expect_refusals();
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| *payload.downcast::<String>().unwrap())
}

/// Checks that the panic names operation, key and reason.
#[track_caller]
fn expect_refused<R>(operation: &str, key: Key, f: impl FnOnce() -> R) {
    let text = message(f).err().expect("it is refused");
    let beginning = format!("{operation} was refused for {key:?}: it is ");
    assert!(text.starts_with(&beginning), "{text}");
    assert!(text.ends_with("borrowed"), "{text}");
}

/// Checks that a method answers as its `try_` form does, or panics.
#[track_caller]
fn agree(operation: &str, key: Key, tried: Result<(), AccessError>, is_some: impl Fn() -> bool) {
    match tried {
        Ok(()) => assert!(is_some(), "{operation}"),
        Err(Missing | Owned) => assert!(!is_some(), "{operation}"),
        Err(_) => expect_refused(operation, key, is_some),
    }
}

/// What `try_get`, `try_get_mut`, `try_slot` and, where it is refused,
/// `try_remove_by_key` answer. The other forms are checked against them.
type Answers = [Result<(), AccessError>; 4];

#[track_caller]
fn ask<T, M: Memory>(slab: &TrackedSlab<T, M>, key: Key) -> Answers {
    let get = slab.try_get(key).map(drop);
    agree("get", key, get, || slab.get(key).is_some());
    let get_mut = slab.try_get_mut(key).map(drop);
    agree("get_mut", key, get_mut, || slab.get_mut(key).is_some());
    let slot = slab.try_slot(key).map(|slot| _ = slot.leak());
    agree("slot", key, slot, || {
        slab.slot(key).map(|slot| slot.leak()).is_some()
    });
    let remove = get_mut.or_else(|_| {
        let removed = slab.try_remove_by_key(key).map(drop);
        let text = message(|| slab.remove_by_key(key)).err().unwrap();
        let beginning = format!("remove_by_key was refused for {key:?}: ");
        assert!(text.starts_with(&beginning), "{text}");
        removed
    });

    let [mut in_iter, mut in_iter_mut] = [Err(Missing); 2];
    for (_, item) in slab.try_iter().filter(|(at, _)| *at == key) {
        in_iter = item.map(drop);
    }
    for (_, item) in slab.try_iter_mut().filter(|(at, _)| *at == key) {
        in_iter_mut = item.map(drop);
    }
    assert_eq!((in_iter, in_iter_mut), (get, get_mut));
    assert_eq!(slab.contains_key(key), get != Err(Missing));
    [get, get_mut, slot, remove]
}

const FREE_TO_USE: [Result<(), AccessError>; 3] = [Ok(()), Ok(()), Ok(())];
const GONE: Answers = [Err(Missing); 4];

fn every_row_of_the_table_by_key<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let leaked = || slab.try_insert_key(7).unwrap();
    let copied = |key| message(|| slab.get_copied(key));
    let answers = |key| ask(&slab, key);

    let key = leaked();
    assert_eq!(answers(key)[..3], FREE_TO_USE);
    assert_eq!(copied(key), Ok(Some(7)));
    assert_eq!(slab.try_remove_by_key(key), Ok(7));

    let slot = slab.try_insert(7).unwrap();
    assert_eq!(answers(slot.key())[..3], [Ok(()), Ok(()), Err(Owned)]);
    assert_eq!(slab.try_remove_by_key(slot.key()), Ok(7));
    assert_eq!(answers(slot.key()), GONE, "the slot is stale");
    assert_eq!(copied(slot.key()), Ok(None));
    drop(slot);

    // Read: another reader may come.
    let key = leaked();
    let reader = slab.get(key).unwrap();
    let read = [Ok(()), Err(Borrowed), Ok(()), Err(Borrowed)];
    assert_eq!(answers(key), read);
    assert_eq!(copied(key), Ok(Some(7)));
    let slot = slab.slot(key).unwrap();
    let read_and_owned = [Ok(()), Err(Borrowed), Err(Owned), Err(Borrowed)];
    assert_eq!(answers(key), read_and_owned);
    drop(slot);
    assert_eq!(answers(key), GONE, "the value is doomed");
    assert_eq!(copied(key), Ok(None));
    drop(reader);

    let key = leaked();
    let writer = slab.get_mut(key).unwrap();
    assert_eq!(answers(key), [Err(Borrowed); 4]);
    expect_refused("get_copied", key, || slab.get_copied(key));
    drop(writer);
    let slot = slab.slot(key).unwrap();
    let writer = slab.get_mut(key).unwrap();
    let written_and_owned = [Err(Borrowed), Err(Borrowed), Err(Owned), Err(Borrowed)];
    assert_eq!(answers(key), written_and_owned);
    drop(slot);
    assert_eq!(answers(key), GONE, "the value is doomed");
    drop(writer);

    let boxed = slab.try_insert(7).unwrap().into_box();
    let key = SlotBox::key(&boxed);
    assert_eq!(answers(key), written_and_owned);
    expect_refused("get_copied", key, || slab.get_copied(key));
    drop(boxed);

    assert_eq!(answers(key), GONE, "the slot is free");
    let vacant = slab.try_vacant_slot().unwrap();
    assert_eq!(answers(vacant.key()), GONE, "the slot is reserved");
    drop(vacant);
    for key in [5_000, 1 << 30, u32::MAX].map(Key::from_raw) {
        assert_eq!(answers(key), GONE, "{key:?}");
        assert_eq!(copied(key), Ok(None));
        let text = message(|| slab.remove_by_key(key)).unwrap_err();
        assert!(text.ends_with("the slab has no such slot"), "{text}");
    }
    slab.audit();
}

/// A value whose destructor runs is gone for all who ask, and in no one's way.
fn a_dying_value_is_no_conflict<M: Room>() {
    for leaks in [false, true] {
        let slab = Rc::new(M::with_room::<Hooked>(4));
        let bystander = slab.try_insert(Hooked::plain()).unwrap();
        let vacant = slab.try_vacant_slot().unwrap();
        let (key, asked) = (vacant.key(), Rc::new(Cell::new(false)));
        let (inner, done) = (slab.clone(), asked.clone());
        let slot = vacant.insert(Hooked::new(move || {
            assert_eq!(ask(&*inner, key), GONE);
            assert!(inner.iter().all(|(at, _)| at != key));
            assert!(inner.iter_mut().all(|(at, _)| at != key));
            assert_eq!(inner.retain(|at, _| at != key), 0);
            assert_eq!(inner.drain().count(), 1);
            inner.clear();
            done.set(true);
        }));
        if leaks {
            slot.leak();
            slab.retain(|at, _| at != key);
        } else {
            drop(slot);
        }
        assert!(asked.get() && !bystander.is_valid());
        drop(bystander);
        slab.audit();
    }
}

fn an_iterator_panics_at_the_borrowed_value_and_goes_on_after_it<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let slots: Vec<_> = (0..4).map(|n| slab.try_insert(n).unwrap()).collect();
    let writer = slots[1].get_mut();
    let reader = slots[2].get();

    let mut iter = slab.iter();
    assert_eq!(iter.next().map(|(_, value)| *value), Some(0));
    expect_refused("iter", slots[1].key(), || iter.next().is_some());
    assert!(iter.map(|(_, value)| *value).eq([2, 3]));

    let mut iter = slab.iter_mut();
    assert_eq!(iter.next().map(|(_, value)| *value), Some(0));
    for key in [slots[1].key(), slots[2].key()] {
        expect_refused("iter_mut", key, || iter.next().is_some());
    }
    assert!(iter.map(|(_, value)| *value).eq([3]));

    let seen: Vec<_> = slab
        .try_iter()
        .map(|(_, value)| value.map(|value| *value))
        .collect();
    assert_eq!(seen, [Ok(0), Err(Borrowed), Ok(2), Ok(3)]);
    let seen: Vec<_> = slab
        .try_iter_mut()
        .map(|(_, value)| value.map(|value| *value))
        .collect();
    assert_eq!(seen, [Ok(0), Err(Borrowed), Err(Borrowed), Ok(3)]);
    drop((writer, reader));
    assert_eq!((&slab).into_iter().count(), 4);
}

/// Does something while the value at a key is borrowed.
type While<M> = fn(&TrackedSlab<u64, M>, Key, &dyn Fn());

/// All ways in which the value of a leaked key can be in use.
fn uses<M: Room>() -> [While<M>; 5] {
    [
        |slab, key, act| {
            let _reader = slab.get(key).unwrap();
            act();
        },
        |slab, key, act| {
            let _writer = slab.get_mut(key).unwrap();
            act();
        },
        |slab, key, act| {
            let _mapped = Ref::map(slab.get(key).unwrap(), |value| value);
            act();
        },
        |slab, key, act| {
            let boxed = slab.slot(key).unwrap().into_box();
            act();
            SlotBox::into_slot(boxed).leak();
        },
        |slab, key, act| {
            let slot = slab.slot(key).unwrap();
            let reader = slot.get();
            act();
            drop(reader);
            slot.leak();
        },
    ]
}

fn a_removal_of_many_is_refused_before_anything_changes<M: Room>() {
    for in_use in uses::<M>() {
        let slab = M::with_room::<u64>(6);
        let free = slab.try_insert(0).unwrap();
        let keys: Vec<_> = (0..3).map(|n| slab.try_insert_key(n).unwrap()).collect();
        let owned = slab.try_insert(3).unwrap();
        let stale = slab.try_insert(4).unwrap();
        slab.remove_by_key(stale.key());
        drop(free);

        in_use(&slab, keys[1], &|| {
            let before = (slab.len(), slab.free_slots(), slab.next_key());
            expect_refused("retain", keys[1], || {
                slab.retain(|_, _| unreachable!("asked, and refused"))
            });
            expect_refused("drain", keys[1], || drop(slab.drain()));
            expect_refused("clear", keys[1], || slab.clear());
            assert_eq!(slab.try_clear(), Err(Borrowed));
            assert_eq!((slab.len(), slab.free_slots(), slab.next_key()), before);
            assert_eq!(slab.keys().count(), 4);
            assert!(owned.is_valid() && slab.get_copied(keys[2]) == Some(2));
            assert_eq!(slab.audit_but_stale(), 1);
        });

        // When the borrow has ended, nothing is in the way.
        assert_eq!(slab.retain(|_, value| *value < 2), 0);
        assert!(slab.drain().map(|(_, value)| value).eq([0, 1]));
        slab.clear();
        drop((owned, stale));
        slab.audit();
    }
}

fn the_try_forms_leave_what_is_in_use_and_count_it<M: Room>() {
    for in_use in uses::<M>() {
        let slab = M::with_room::<u64>(4);
        let keys: Vec<_> = (0..4).map(|n| slab.try_insert_key(n).unwrap()).collect();
        in_use(&slab, keys[1], &|| {
            let mut asked = Vec::new();
            let left = slab.try_retain(|key, value| {
                asked.push(key);
                *value != 2
            });
            assert_eq!((left, asked), (1, vec![keys[0], keys[2], keys[3]]));
            let mut drain = slab.try_drain();
            assert_eq!(drain.left(), 0, "it has not come to it");
            assert!(drain.by_ref().map(|(key, _)| key).eq([keys[0], keys[3]]));
            assert_eq!((drain.next(), drain.left()), (None, 1));
            drop(drain);
            assert!(slab.keys().eq([keys[1]]));
        });
        assert_eq!(slab.get_copied(keys[1]), Some(1), "as it was");
        assert_eq!(slab.remove_by_key(keys[1]), 1);
        slab.audit();
    }
}

/// A doomed value is no value: it goes with its last borrow, and is in no one's
/// way before.
fn a_doomed_value_is_no_conflict<M: Room>() {
    let slab = M::with_room(4);
    let drops = Drops::new();
    let slot = slab.try_insert(drops.value(1)).unwrap();
    let guard = slab.get(slot.key()).unwrap();
    drop(slot);
    slab.try_insert_key(drops.value(2)).unwrap();
    assert_eq!(slab.iter().count() + slab.iter_mut().count(), 2);
    assert_eq!(slab.retain(|_, value| value.number == 2), 0);
    assert_eq!(slab.drain().map(|(_, value)| value.number).sum::<u64>(), 2);
    slab.clear();
    assert_eq!(slab.try_clear().ok(), Some(()));
    assert_eq!((guard.number, slab.len(), drops.count()), (1, 1, 1));
    drop(guard);
    assert_eq!((slab.len(), drops.count()), (0, 2));
    slab.audit();
}

fn what_user_code_borrows_during_a_walk_is_left_and_counted<M: Room>() {
    let slab = M::with_room::<u64>(4);
    let keys: Vec<_> = (0..4).map(|n| slab.try_insert_key(n).unwrap()).collect();
    let guard = RefCell::new(None);
    let left = slab.retain(|key, _| {
        if key == keys[0] {
            *guard.borrow_mut() = slab.get(keys[2]);
        }
        key != keys[1]
    });
    assert_eq!(left, 1);
    assert!(slab.keys().eq([keys[0], keys[2], keys[3]]));
    drop(guard);

    // Doomed during the walk: no value, and not counted.
    let slot = RefCell::new(slab.slot(keys[3]));
    let guard = RefCell::new(None);
    let left = slab.retain(|key, _| {
        if key == keys[0] {
            *guard.borrow_mut() = slab.get(keys[3]);
            drop(slot.take());
        }
        true
    });
    assert_eq!((left, slab.len()), (0, 3));
    drop(guard);

    let mut drain = slab.drain();
    assert_eq!(drain.next(), Some((keys[0], 0)));
    let writer = slab.get_mut(keys[2]).unwrap();
    assert_eq!((drain.next(), drain.left()), (None, 1));
    drop(drain);
    assert_eq!(*writer, 2);
    drop(writer);
    slab.clear();
    slab.audit();
}

/// `clear` promises nothing of what a destructor borrows while it runs: such a
/// value stays.
fn what_a_destructor_borrows_during_clear_stays<M: Room>() {
    let slab = Rc::new(M::with_room::<Hooked>(4));
    let first = slab.try_vacant_slot().unwrap();
    let second = slab.try_insert(Hooked::plain()).unwrap();
    let key = second.key();
    assert!(first.key() < key);
    let boxed = Rc::new(Cell::new(None));
    let (shelf, hook_slot) = (boxed.clone(), Cell::new(Some(second)));
    let hook = move || shelf.set(hook_slot.take().map(|slot| slot.into_box()));
    first.insert(Hooked::new(hook)).leak();
    slab.clear();
    assert!(slab.keys().eq([key]));
    assert_eq!(slab.try_clear(), Err(Borrowed));
    drop(boxed.take());
    slab.clear();
    slab.audit();
}

/// With `None` for both, the tail that was being read was taken for the end: its
/// link stayed, and what was pushed after it was lost.
fn a_list_does_not_take_an_entry_that_is_being_read_for_its_end<M: Room>() {
    let slab = M::with_room(6);
    let mut list = intrusive_list::List::new(&slab);
    let keys: Vec<_> = (0..3).map(|n| list.push_back(n).unwrap()).collect();
    for (at, &key) in keys.iter().enumerate() {
        let read = list.get(key).unwrap();
        assert_eq!(list.values(), [0, 1, 2], "a walk goes through it");
        let neighbours = keys.iter().enumerate();
        for (_, &other) in neighbours.filter(|(other, _)| other.abs_diff(at) == 1) {
            expect_refused("get_mut", key, || list.remove(other));
        }
        expect_refused("remove_by_key", key, || list.remove(key));
        if key == keys[2] {
            expect_refused("get_mut", key, || list.push_back(3));
        }
        assert_eq!((list.values(), slab.len()), (vec![0, 1, 2], 3));
        assert_eq!(*read, at as u64);
    }
    assert_eq!(
        list.push_back(3).map(|_| list.values()),
        Ok(vec![0, 1, 2, 3])
    );
    assert_eq!(list.remove(keys[1]), Some(1));
    assert_eq!(list.values(), [0, 2, 3]);
    let writer = slab.get_mut(keys[2]).unwrap();
    expect_refused("get", keys[2], || list.values());
    drop(writer);
    slab.audit();
}

over_both_slabs!(
    every_row_of_the_table_by_key,
    a_dying_value_is_no_conflict,
    an_iterator_panics_at_the_borrowed_value_and_goes_on_after_it,
    a_removal_of_many_is_refused_before_anything_changes,
    the_try_forms_leave_what_is_in_use_and_count_it,
    a_doomed_value_is_no_conflict,
    what_user_code_borrows_during_a_walk_is_left_and_counted,
    what_a_destructor_borrows_during_clear_stays,
    a_list_does_not_take_an_entry_that_is_being_read_for_its_end,
);

#[test]
fn errors_say_what_is_wrong() {
    let texts = [
        (Missing, "no value has this key"),
        (Borrowed, "value is already borrowed"),
        (AccessError::TooManyReaders, "value has too many readers"),
        (Owned, "value already has a handle"),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
        let _: &dyn std::error::Error = &error;
    }
    let slab = BoundedSlab::<u64>::with_capacity(3);
    let all: Vec<_> = (0..3).map(|_| slab.vacant_slot().unwrap()).collect();
    let capacity = all.len();
    assert_eq!(
        slab.vacant_slot().unwrap_err(),
        AllocError::Full { capacity }
    );
}
