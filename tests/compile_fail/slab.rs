//! What must not compile of tracked slabs, their handles and their guards.

use std::rc::Rc;

use flatslab::{
    AccessError, BoundedSlab, Builder, Drain, Growable, Iter, IterMut, Key, KeyError, Keys,
    MappedRef, MappedRefMut, Ref, RefMut, Slab, SlabUntrackedAccessor, Slot, SlotBox, TryIter,
    TryIterMut, UntrackedAccessor, VacantSlot,
};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn both<T: Send + Sync>() {}

// # Nothing goes to another thread

#[test]
fn types_of_one_thread() {
    local::<BoundedSlab<u64>>();
    local::<Slab<u64>>();
    local::<Slot<u64>>();
    local::<VacantSlot<u64>>();
    local::<SlotBox<u64>>();
    local::<Ref<'static, u64>>();
    local::<RefMut<'static, u64>>();
    local::<MappedRef<'static, u64>>();
    local::<MappedRefMut<'static, u64>>();
    local::<TryIter<'static, u64, Growable>>();
    local::<TryIterMut<'static, u64, Growable>>();
    local::<UntrackedAccessor<'static, u64>>();
    local::<SlabUntrackedAccessor<'static, u64>>();
    local::<Iter<'static, u64, Growable>>();
    local::<IterMut<'static, u64, Growable>>();
    local::<Keys<'static, u64, Growable>>();
    local::<Drain<'static, u64, Growable>>();
    both::<Key>();
    both::<AccessError>();
    both::<KeyError>();
    both::<Builder<Slab<Rc<u64>>>>();
}

#[test]
fn a_slot_goes_to_a_thread() {
    let slab = Slab::new();
    let slot = slab.insert(7).into_send();
    std::thread::spawn(move || drop(slot)).join().unwrap();
}

// The message names the type, whose page says `into_send`.
#[cfg(compile_fail)]
fn slot_sent() {
    let slab = Slab::new();
    let slot = slab.insert(7_u64);
    //~? cannot be sent between threads safely
    //~? required because it appears within the type `Slot<u64>`
    std::thread::spawn(move || drop(slot)).join().unwrap(); //~ E0277
}

#[cfg(compile_fail)]
fn sent_or_shared() {
    send::<BoundedSlab<u64>>(); //~ E0277
    sync::<BoundedSlab<u64>>(); //~ E0277
    send::<Slab<u64>>(); //~ E0277
    sync::<Slab<u64>>(); //~ E0277
    send::<Slot<u64>>(); //~ E0277
    sync::<Slot<u64>>(); //~ E0277
    send::<VacantSlot<u64>>(); //~ E0277
    sync::<VacantSlot<u64>>(); //~ E0277
    send::<SlotBox<u64>>(); //~ E0277
    sync::<SlotBox<u64>>(); //~ E0277
    send::<Ref<'static, u64>>(); //~ E0277
    sync::<Ref<'static, u64>>(); //~ E0277
    send::<RefMut<'static, u64>>(); //~ E0277
    sync::<RefMut<'static, u64>>(); //~ E0277
    send::<UntrackedAccessor<'static, u64>>(); //~ E0277
    send::<SlabUntrackedAccessor<'static, u64>>(); //~ E0277
    sync::<UntrackedAccessor<'static, u64>>(); //~ E0277
    sync::<SlabUntrackedAccessor<'static, u64>>(); //~ E0277
    send::<Iter<'static, u64, Growable>>(); //~ E0277
    sync::<Iter<'static, u64, Growable>>(); //~ E0277
    send::<IterMut<'static, u64, Growable>>(); //~ E0277
    sync::<IterMut<'static, u64, Growable>>(); //~ E0277
    send::<Keys<'static, u64, Growable>>(); //~ E0277
    sync::<Keys<'static, u64, Growable>>(); //~ E0277
    send::<Drain<'static, u64, Growable>>(); //~ E0277
    sync::<Drain<'static, u64, Growable>>(); //~ E0277
    send::<MappedRef<'static, u64>>(); //~ E0277
    send::<MappedRefMut<'static, u64>>(); //~ E0277
    send::<TryIter<'static, u64, Growable>>(); //~ E0277
    send::<TryIterMut<'static, u64, Growable>>(); //~ E0277
    sync::<MappedRef<'static, u64>>(); //~ E0277
    sync::<MappedRefMut<'static, u64>>(); //~ E0277
    sync::<TryIter<'static, u64, Growable>>(); //~ E0277
    sync::<TryIterMut<'static, u64, Growable>>(); //~ E0277
}

// # Handles and slabs are invariant in their value

// A handle that could be shortened would let a short-lived reference in, to be read through
// the slab afterwards.
#[test]
fn lifetimes_that_are_kept() {
    type Text = &'static str;
    fn slot(slot: Slot<Text>) -> Slot<Text> {
        slot
    }
    fn vacant(slot: VacantSlot<Text>) -> VacantSlot<Text> {
        slot
    }
    fn boxed(slot: SlotBox<Text>) -> SlotBox<Text> {
        slot
    }
    fn guard<'g>(guard: RefMut<'g, Text>) -> RefMut<'g, Text> {
        guard
    }
    fn bounded(slab: BoundedSlab<Text>) -> BoundedSlab<Text> {
        slab
    }
    fn growable(slab: Slab<Text>) -> Slab<Text> {
        slab
    }
    // A shared guard only reads, and may be shortened.
    fn shared<'g, 'a>(guard: Ref<'g, Text>) -> Ref<'g, &'a str> {
        guard
    }
    fn shared_part<'g, 'a>(guard: MappedRef<'g, Text>) -> MappedRef<'g, &'a str> {
        guard
    }
    fn part<'g>(guard: MappedRefMut<'g, Text>) -> MappedRefMut<'g, Text> {
        guard
    }
    // For a shorter time, either.
    fn short<'l: 's, 's>(guard: MappedRef<'l, Text>) -> MappedRef<'s, Text> {
        guard
    }
    fn short_mut<'l: 's, 's>(guard: MappedRefMut<'l, Text>) -> MappedRefMut<'s, Text> {
        guard
    }
}

#[cfg(compile_fail)]
fn part_shortened<'g, 'a>(guard: MappedRefMut<'g, &'static str>) -> MappedRefMut<'g, &'a str> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn part_lengthened<'l: 's, 's>(guard: MappedRef<'s, u64>) -> MappedRef<'l, u64> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn mutable_part_lengthened<'l: 's, 's>(guard: MappedRefMut<'s, u64>) -> MappedRefMut<'l, u64> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slot_shortened<'a>(slot: Slot<&'static str>) -> Slot<&'a str> {
    slot //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn vacant_slot_shortened<'a>(slot: VacantSlot<&'static str>) -> VacantSlot<&'a str> {
    slot //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slot_box_shortened<'a>(slot: SlotBox<&'static str>) -> SlotBox<&'a str> {
    slot //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn guard_shortened<'g, 'a>(guard: RefMut<'g, &'static str>) -> RefMut<'g, &'a str> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn bounded_slab_shortened<'a>(slab: BoundedSlab<&'static str>) -> BoundedSlab<&'a str> {
    slab //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slab_shortened<'a>(slab: Slab<&'static str>) -> Slab<&'a str> {
    slab //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn iterator_shortened<'s, 'a>(
    iter: IterMut<'s, &'static str, Growable>,
) -> IterMut<'s, &'a str, Growable> {
    iter //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn drain_shortened<'s, 'a>(
    drain: Drain<'s, &'static str, Growable>,
) -> Drain<'s, &'a str, Growable> {
    drain //~ lifetime may not live long enough
}

// # A value may not outlive what it borrows

#[test]
fn what_a_value_borrows_ends_last() {
    let text = String::from("text");
    let slab = Slab::new();
    slab.insert(text.as_str()).leak();
}

#[cfg(compile_fail)]
fn what_a_value_borrows_ends_first() {
    let slab = Slab::new();
    let text = String::from("text");
    slab.insert(text.as_str()).leak(); //~ E0597
}

#[cfg(compile_fail)]
fn what_a_bounded_value_borrows_ends_first() {
    let slab = BoundedSlab::with_capacity(1);
    let text = String::from("text");
    slab.insert(text.as_str()).unwrap().leak(); //~ E0597
}

#[cfg(compile_fail)]
fn what_a_slot_borrows_ends_first() {
    let slot;
    let text = String::from("text");
    let slab = Slab::new();
    slot = slab.insert(text.as_str()); //~ E0597
}

#[cfg(compile_fail)]
fn what_drained_values_borrow_ends_first() {
    let mut drained = Vec::new();
    let slab = Slab::new();
    let text = String::from("text");
    slab.insert(text.as_str()).leak(); //~ E0597
    drained.extend(slab.drain());
}

// # An iterator may not outlive its slab, nor may what it gives

#[test]
fn iterators_end_before_their_slab() {
    let slab = Slab::new();
    slab.insert(7).leak();
    let (iter, iter_mut, keys, drain) = (slab.iter(), slab.iter_mut(), slab.keys(), slab.drain());
    drop((iter, iter_mut, keys, drain));
    drop(slab);
}

#[cfg(compile_fail)]
fn iter_after_its_slab() {
    let slab = Slab::<u64>::new();
    let iter = slab.iter();
    drop(slab); //~ E0505
    drop(iter);
}

#[cfg(compile_fail)]
fn iter_mut_after_its_slab() {
    let slab = Slab::<u64>::new();
    let iter = slab.iter_mut();
    drop(slab); //~ E0505
    drop(iter);
}

#[cfg(compile_fail)]
fn keys_after_their_slab() {
    let slab = Slab::<u64>::new();
    let keys = slab.keys();
    drop(slab); //~ E0505
    drop(keys);
}

#[cfg(compile_fail)]
fn drain_after_its_slab() {
    let slab = Slab::<u64>::new();
    let drain = slab.drain();
    drop(slab); //~ E0505
    drop(drain);
}

#[cfg(compile_fail)]
fn item_after_its_slab() {
    let slab = Slab::<u64>::new();
    let first = slab.iter().next();
    drop(slab); //~ E0505
    drop(first);
}

#[cfg(compile_fail)]
fn reference_kept_from_retain() {
    let slab = Slab::<u64>::new();
    slab.insert(7).leak();
    let mut kept = None;
    slab.retain(|_, value| {
        kept = Some(value); //~ E0521
        true
    });
    kept;
}

// # A guard may not outlive what it came from

#[test]
fn guard_ends_before_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let guard = slot.get();
    drop(guard);
    drop(slot);
}

#[cfg(compile_fail)]
fn guard_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let guard = slot.get();
    drop(slot); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn mutable_guard_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let guard = slot.get_mut();
    drop(slot); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn guard_after_its_slab() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    let guard = slab.get(key);
    drop(slab); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn mutable_guard_after_its_slab() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    let guard = slab.get_mut(key);
    drop(slab); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn reference_of_an_accessor_after_its_slab() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    // SAFETY: never run.
    let values = unsafe { slab.untracked() };
    let value = &values[key];
    drop(slab); //~ E0505
    assert_eq!(*value, 7);
}

// # No two references from one accessor

#[test]
fn one_reference_of_an_accessor_at_a_time() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    // SAFETY: no guard is alive, and nothing is removed.
    let mut values = unsafe { slab.untracked() };
    values[key] = 8;
    let value = &values[key];
    assert_eq!(*value, 8);
}

#[cfg(compile_fail)]
fn write_under_an_indexed_reference() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    // SAFETY: never run.
    let mut values = unsafe { slab.untracked() };
    let value = &values[key];
    values[key] = 8; //~ E0502
    assert_eq!(*value, 8);
}

#[cfg(compile_fail)]
fn write_under_a_reference_from_get() {
    let slab = Slab::new();
    let key = slab.insert(7).leak();
    // SAFETY: never run.
    let mut values = unsafe { slab.untracked() };
    let value = values.get(key);
    values[key] = 8; //~ E0502
    assert_eq!(value, Some(&7));
}

// # A reservation that a closure sees stays with the slab

#[test]
fn key_of_a_reservation() {
    let slab = Slab::new();
    let mut key = Key::NONE;
    slab.insert_with(|vacant| {
        key = vacant.key();
        7
    })
    .leak();
}

#[cfg(compile_fail)]
fn reservation_kept() {
    let slab = Slab::new();
    let mut kept = None;
    slab.insert_with(|vacant| {
        kept = Some(vacant); //~ E0521
        7
    })
    .leak();
    kept;
}

// # No two references by equal keys, nor one that outlives its handle

#[test]
fn references_one_after_the_other() {
    let slab = Slab::new();
    let mut slot = slab.insert(7);
    let key = slot.key();
    // SAFETY: no guard is alive, and nothing is removed.
    let mut values = unsafe { slab.untracked() };
    *values.get_mut(key).unwrap() = 8;
    // SAFETY: there is a value at `key`.
    unsafe { *values.get_unchecked_mut(key) = 9 };
    // SAFETY: there is a value at `key`.
    assert_eq!(unsafe { *values.get_unchecked(key) }, 9);
    // SAFETY: there is a value, and no other borrow.
    unsafe { *slot.get_unchecked_mut() = 10 };
    // SAFETY: there is a value, and no other borrow.
    assert_eq!(unsafe { *slot.get_unchecked() }, 10);
    drop(slot.try_get());
    drop(slot.try_get_mut());
    drop(slot);
}

#[cfg(compile_fail)]
fn two_references_by_equal_keys() {
    let slab = Slab::<u64>::new();
    // SAFETY: never run.
    let mut values = unsafe { slab.untracked() };
    let one = values.get_mut(Key::NONE);
    let two = values.get_mut(Key::NONE); //~ E0499
    drop((one, two));
}

#[cfg(compile_fail)]
fn two_unchecked_references_by_equal_keys() {
    let slab = Slab::<u64>::new();
    // SAFETY: never run.
    let mut values = unsafe { slab.untracked() };
    // SAFETY: never run.
    let one = unsafe { values.get_unchecked_mut(Key::NONE) };
    // SAFETY: never run.
    let two = unsafe { values.get_unchecked_mut(Key::NONE) }; //~ E0499
    (*one, *two) = (1, 2);
}

#[cfg(compile_fail)]
fn write_under_an_unchecked_reference() {
    let slab = Slab::<u64>::new();
    // SAFETY: never run.
    let mut values = unsafe { slab.untracked() };
    // SAFETY: never run.
    let value = unsafe { values.get_unchecked(Key::NONE) };
    values[Key::NONE] = 8; //~ E0502
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn two_unchecked_references_of_a_slot() {
    let slab = Slab::new();
    let mut slot = slab.insert(7);
    // SAFETY: never run.
    let one = unsafe { slot.get_unchecked_mut() };
    // SAFETY: never run.
    let two = unsafe { slot.get_unchecked_mut() }; //~ E0499
    (*one, *two) = (1, 2);
}

#[cfg(compile_fail)]
fn tried_guard_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let guard = slot.try_get();
    drop(slot); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn tried_mutable_guard_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let guard = slot.try_get_mut();
    drop(slot); //~ E0505
    drop(guard);
}

#[cfg(compile_fail)]
fn unchecked_reference_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    // SAFETY: never run.
    let value = unsafe { slot.get_unchecked() };
    drop(slot); //~ E0505
    assert_eq!(*value, 7);
}

// Nor is there a kind of memory that is not the crate's.
#[cfg(compile_fail)]
fn own_kind_of_memory() {
    enum Mine {}
    unsafe impl flatslab::Memory for Mine {} //~ E0046
}
